/* SPDX-License-Identifier: Apache-2.0 */
/* How fresh an answer is, through a real server: what an old value is good for when the loader
 * fails, who loads again, how values end apart, and reading from a generation on. (The rules one by
 * one, on a fake clock: server.freshness.) */
#include <stdio.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "served.h"

#define SCRIPTED "key = \"bytes\" value = \"bytes\" loader = \"script\" "
#define HOUR_MS  3600000u
#define WAIT_MS  20000

static const char caches[] =
    "cache \"plain\" { " SCRIPTED "ttl = \"1h\" }\n"
    "cache \"exact\" { " SCRIPTED "ttl = \"1h\" jitter = 0 }\n"
    "cache \"kept\" { " SCRIPTED "ttl = \"1ms\" jitter = 0 stale_if_error = \"1h\" }\n"
    "cache \"backoff\" { " SCRIPTED "ttl = \"1h\" error_backoff = \"1h\" }\n"
    "cache \"elect\" { " SCRIPTED "ttl = \"1h\" on_error = \"elect\" }\n"
    "cache \"lonely\" { " SCRIPTED "ttl = \"1h\" alone = \"on\" wait_budget = \"100ms\" "
    "load_timeout = \"1m\" }\n"
    "cache \"ahead\" { " SCRIPTED "ttl = \"2s\" jitter = 0 refresh_ahead = \"90%\" }\n"
    "cache \"xfetch\" { " SCRIPTED "ttl = \"1s\" jitter = 0 refresh_ahead = \"xfetch\" }\n";

static struct crowd_answer *ask(struct fixture *f, const char *cache, const char *key)
{
    return served_ask(f, cache, key, HG_MODE_FRESH);
}

static struct crowd_answer *ask_and_wait(struct fixture *f, const char *cache, const char *key)
{
    struct crowd_answer *answer = ask(f, cache, key);

    crowd_wait_for(&f->crowd, answer);
    return answer;
}

static void check_value(const struct crowd_answer *answer, enum hg_source source, const char *value)
{
    ck_assert_msg(answer->status == HG_OK, "%s: %s", hg_status_name(answer->status), answer->text);
    ck_assert_int_eq(answer->source, source);
    ck_assert_str_eq(answer->value, value);
}

static uint64_t invalidate(struct fixture *f, const char *cache, const char *text)
{
    struct hg_key key = daemon_key(text);
    struct hg_invalidate request = {.cache = cache, .keys = &key, .key_count = 1};
    struct hg_report report;
    struct hg_error error;
    uint64_t generation;

    ck_assert_msg(hg_client_invalidate(f->d.client, &request, &report, &error) == HG_OK, "%s",
                  error.text);
    generation = report.generation;
    hg_report_deinit(&report);
    return generation;
}

/* Its ttl is 1 ms. */
static void wait_expired(struct fixture *f, const char *cache, const char *key)
{
    struct hg_answer answer;
    enum hg_outcome outcome = HG_VALUE;

    while (outcome != HG_NOT_CACHED) {
        ck_assert_int_eq(daemon_read(&f->d, cache, key, HG_MODE_PEEK, &answer, NULL), HG_OK);
        outcome = answer.outcome;
        hg_answer_deinit(&answer);
    }
}

/* ---- when the loader fails ---- */

START_TEST(an_old_value_answers_for_a_loader_that_fails)
{
    struct fixture f;
    struct crowd_answer *answer;

    served_setup(&f, caches);
    hgi_script_set(&f.d.script, "k fail 14 no backend\n");
    ck_assert_int_eq(daemon_put(&f.d, "kept", "k", "old"), HG_OK);
    wait_expired(&f, "kept", "k");
    answer = ask_and_wait(&f, "kept", "k");
    check_value(answer, HG_SOURCE_STALE, "old");
    ck_assert_uint_ge(answer->age_ms, 1);
    ck_assert_uint_eq(hgi_script_loads(&f.d.script, "k"), 1);
    ck_assert_uint_eq(daemon_metric(&f.d, "kept", "kept_hit"), 1);
    wait_expired(&f, "kept", "k"); /* and for nobody who only looks */
    invalidate(&f, "kept", "k");
    answer = ask_and_wait(&f, "kept", "k");
    ck_assert_int_eq(answer->status, HG_UNAVAILABLE);
    ck_assert_str_eq(answer->text, "no backend");
    served_teardown(&f);
}
END_TEST

START_TEST(an_old_value_answers_for_a_loader_that_dies)
{
    struct fixture f;
    bool is_new = false;

    served_setup(&f, caches);
    hgi_script_set(&f.d.script, "k die\n");
    ck_assert_int_eq(daemon_put(&f.d, "kept", "k", "old"), HG_OK);
    wait_expired(&f, "kept", "k");
    check_value(ask_and_wait(&f, "kept", "k"), HG_SOURCE_STALE, "old");
    ck_assert_uint_eq(hgi_script_loads(&f.d.script, "k"), 2); /* a lost load is tried twice */
    hgi_script_set(&f.d.script, "k value new\n");
    daemon_wait_loader_running(&f.d, 2);
    while (!is_new) { /* until the pause after the failure is over */
        struct hg_answer answer;

        ck_assert_int_eq(daemon_read(&f.d, "kept", "k", HG_MODE_FRESH, &answer, NULL), HG_OK);
        is_new = answer.source != HG_SOURCE_STALE;
        ck_assert_slice_eq(answer.value, is_new ? "new" : "old");
        hg_answer_deinit(&answer);
    }
    served_teardown(&f);
}
END_TEST

START_TEST(a_failure_is_remembered_until_the_key_is_invalidated)
{
    struct fixture f;
    struct hg_read read = {.cache = "backoff", .key = daemon_key("k")};
    struct hg_answer answer;
    struct hg_error error;

    served_setup(&f, caches);
    hgi_script_set(&f.d.script, "k fail 14 no backend\n");
    ck_assert_int_eq(hg_client_get_or_load(f.d.client, &read, &answer, &error), HG_UNAVAILABLE);
    ck_assert_int_eq(error.source, HG_SOURCE_LOADED);
    hgi_script_set(&f.d.script, "k value back\n");
    ck_assert_int_eq(hg_client_get_or_load(f.d.client, &read, &answer, &error), HG_UNAVAILABLE);
    ck_assert_int_eq(error.source, HG_SOURCE_JOINED);
    ck_assert_str_eq(error.text, "no backend");
    ck_assert_uint_gt(error.retry_after_ms, HOUR_MS / 2);
    ck_assert_uint_le(error.retry_after_ms, HOUR_MS);
    ck_assert_uint_eq(hgi_script_loads(&f.d.script, "k"), 1);
    ck_assert_uint_eq(daemon_metric(&f.d, "backoff", "failure_hit"), 1);
    invalidate(&f, "backoff", "k");
    check_value(ask_and_wait(&f, "backoff", "k"), HG_SOURCE_LOADED, "back");
    served_teardown(&f);
}
END_TEST

/* ---- who loads again ---- */

/* nora-registry 1.3.3, test 9. */
START_TEST(failed_leader_hands_over_to_one_new_leader)
{
    struct fixture f;
    size_t leaders = 0;

    served_setup(&f, caches);
    hgi_script_set(&f.d.script, "pkg gate %/go\npkg fail 14 first fetch fails\n");
    ask(&f, "elect", "pkg");
    hgi_script_await(&f.d.script, "pkg", 1);
    for (int i = 1; i < 8; i++) {
        ask(&f, "elect", "pkg");
    }
    daemon_wait_metric(&f.d, "elect", "waiting", 8);
    hgi_script_set(&f.d.script, "pkg value 42\n");
    hgi_script_touch(&f.d.script, "go");
    crowd_wait(&f.crowd);
    ck_assert_int_eq(f.crowd.answers[0].status, HG_UNAVAILABLE);
    ck_assert_str_eq(f.crowd.answers[0].text, "first fetch fails");
    for (int i = 1; i < 8; i++) {
        leaders += f.crowd.answers[i].source == HG_SOURCE_LOADED;
        check_value(&f.crowd.answers[i], f.crowd.answers[i].source, "42");
    }
    ck_assert_uint_eq(leaders, 1); /* the others joined it; nobody loads alone */
    ck_assert_uint_eq(hgi_script_loads(&f.d.script, "pkg"), 2);
    served_teardown(&f);
}
END_TEST

START_TEST(who_has_waited_long_enough_loads_alone)
{
    struct fixture f;
    struct crowd_answer *leader;
    struct crowd_answer *follower;

    served_setup(&f, caches);
    hgi_script_set(&f.d.script, "k gate %/go\nk value first\n");
    leader = ask(&f, "lonely", "k");
    hgi_script_await(&f.d.script, "k", 1);
    hgi_script_set(&f.d.script, "k value own\n");
    follower = ask_and_wait(&f, "lonely", "k");
    check_value(follower, HG_SOURCE_LOADED, "own");
    ck_assert(!crowd_is_answered(&f.crowd, leader));
    ck_assert_uint_eq(daemon_metric(&f.d, "lonely", "fallthrough_budget"), 1);
    ck_assert_uint_eq(hgi_script_loads(&f.d.script, "k"), 2);
    hgi_script_touch(&f.d.script, "go");
    crowd_wait(&f.crowd);
    check_value(leader, HG_SOURCE_LOADED, "first");
    served_teardown(&f);
}
END_TEST

/* ---- reading from a generation on ---- */

static void check_read(struct hg_client *client, const struct hg_read *read, enum hg_source source,
                       const char *value)
{
    struct hg_answer answer;
    struct hg_error error;

    ck_assert_msg(hg_client_get_or_load(client, read, &answer, &error) == HG_OK, "%s", error.text);
    ck_assert_int_eq(answer.source, source);
    ck_assert_slice_eq(answer.value, value);
    ck_assert_uint_ge(answer.generation, read->min_generation);
    hg_answer_deinit(&answer);
}

/* The writer tells the reader its invalidation's number, here of another key: what changed in the
 * backend may be more than what was invalidated. */
START_TEST(a_reader_told_of_an_invalidation_reads_nothing_older)
{
    struct fixture f;
    struct hg_client *reader;
    struct hg_read read = {.cache = "plain", .key = daemon_key("k")};
    struct hg_answer answer;

    served_setup(&f, caches);
    ck_assert_int_eq(hg_client_open(f.d.tcp_url, NULL, &reader, NULL), HG_OK);
    hgi_script_set(&f.d.script, "k value new\n");
    ck_assert_int_eq(daemon_put(&f.d, "plain", "k", "old"), HG_OK);
    check_read(reader, &read, HG_SOURCE_FRESH, "old");
    read.min_generation = invalidate(&f, "plain", "other");
    ck_assert_int_eq(hg_client_get(reader, &read, &answer, NULL), HG_OK);
    ck_assert_int_eq(answer.outcome, HG_NOT_CACHED);
    hg_answer_deinit(&answer);
    check_read(reader, &read, HG_SOURCE_LOADED, "new");
    check_read(reader, &read, HG_SOURCE_FRESH, "new");
    hg_client_close(&reader);
    served_teardown(&f);
}
END_TEST

START_TEST(a_reader_newer_than_the_running_load_does_not_wait_for_it)
{
    struct fixture f;
    struct hg_client *reader;
    struct hg_read read = {.cache = "plain", .key = daemon_key("k")};
    struct crowd_answer *before;

    served_setup(&f, caches);
    ck_assert_int_eq(hg_client_open(f.d.tcp_url, NULL, &reader, NULL), HG_OK);
    hgi_script_set(&f.d.script, "k gate %/go\nk value old\n");
    before = ask(&f, "plain", "k");
    hgi_script_await(&f.d.script, "k", 1);
    hgi_script_set(&f.d.script, "k value new\n");
    read.min_generation = invalidate(&f, "plain", "other");
    check_read(reader, &read, HG_SOURCE_LOADED, "new");
    ck_assert(!crowd_is_answered(&f.crowd, before));
    hgi_script_touch(&f.d.script, "go");
    crowd_wait(&f.crowd);
    check_value(before, HG_SOURCE_LOADED, "old");
    check_read(reader, &read, HG_SOURCE_FRESH, "new"); /* the old load did not come over it */
    hg_client_close(&reader);
    served_teardown(&f);
}
END_TEST

START_TEST(a_batch_reads_each_key_from_the_generation_on)
{
    struct fixture f;
    struct hg_key keys[2] = {daemon_key("a"), daemon_key("b")};
    struct hg_batch request = {.cache = "plain", .keys = keys, .key_count = 2};
    struct hg_answers answers;
    struct hg_stored stored;
    struct hg_put put = {.cache = "plain", .key = keys[1], .value = hg_slice_text("put")};

    served_setup(&f, caches);
    ck_assert_int_eq(daemon_put(&f.d, "plain", "a", "old"), HG_OK);
    ck_assert_int_eq(hg_client_put(f.d.client, &put, &stored, NULL), HG_OK);
    request.min_generation = stored.generation;
    ck_assert_int_eq(hg_client_batch_get_or_load(f.d.client, &request, &answers, NULL), HG_OK);
    ck_assert_int_eq(answers.answers[0].source, HG_SOURCE_LOADED);
    ck_assert_slice_eq(answers.answers[0].value, "a");
    ck_assert_int_eq(answers.answers[1].source, HG_SOURCE_FRESH);
    ck_assert_slice_eq(answers.answers[1].value, "put");
    hg_answers_deinit(&answers);
    request.min_generation++;
    ck_assert_int_eq(hg_client_batch_get_or_load(f.d.client, &request, &answers, NULL), HG_OK);
    ck_assert_int_eq(answers.answers[0].status, HG_FAILED_PRECONDITION);
    ck_assert_int_eq(answers.answers[1].status, HG_FAILED_PRECONDITION);
    hg_answers_deinit(&answers);
    served_teardown(&f);
}
END_TEST

START_TEST(a_generation_from_the_future_is_refused)
{
    struct fixture f;
    struct hg_read read = {.cache = "plain", .key = daemon_key("k"), .min_generation = UINT64_MAX};
    struct hg_answer answer;
    struct hg_error error;

    served_setup(&f, caches);
    ck_assert_int_eq(hg_client_get(f.d.client, &read, &answer, &error), HG_FAILED_PRECONDITION);
    ck_assert_ptr_nonnull(strstr(error.text, "min_generation"));
    ck_assert_int_eq(hg_client_get_or_load(f.d.client, &read, &answer, &error),
                     HG_FAILED_PRECONDITION);
    ck_assert_uint_eq(hgi_script_loads(&f.d.script, NULL), 0);
    served_teardown(&f);
}
END_TEST

/* ---- how values end ---- */

START_TEST(values_stored_together_do_not_end_together_unless_jitter_is_0)
{
    struct fixture f;
    uint64_t least_ms = HOUR_MS;
    uint64_t most_ms = 0;

    served_setup(&f, caches);
    for (int i = 0; i < 40; i++) {
        struct hg_answer answer;
        uint64_t ttl_ms;
        char key[8];

        snprintf(key, sizeof(key), "k%d", i);
        ck_assert_int_eq(daemon_put(&f.d, "plain", key, "v"), HG_OK);
        ck_assert_int_eq(daemon_put(&f.d, "exact", key, "v"), HG_OK);
        ck_assert_int_eq(daemon_read(&f.d, "exact", key, HG_MODE_PEEK, &answer, NULL), HG_OK);
        ck_assert_uint_eq(answer.age_ms + answer.ttl_left_ms, HOUR_MS);
        hg_answer_deinit(&answer);
        ck_assert_int_eq(daemon_read(&f.d, "plain", key, HG_MODE_PEEK, &answer, NULL), HG_OK);
        ttl_ms = answer.age_ms + answer.ttl_left_ms;
        least_ms = ttl_ms < least_ms ? ttl_ms : least_ms;
        most_ms = ttl_ms > most_ms ? ttl_ms : most_ms;
        hg_answer_deinit(&answer);
    }
    ck_assert_uint_ge(least_ms, HOUR_MS / 10 * 9);
    ck_assert_uint_le(most_ms, HOUR_MS);
    ck_assert_uint_gt(most_ms - least_ms, HOUR_MS / 100); /* of a tenth */
    served_teardown(&f);
}
END_TEST

/* Nothing of these caches is ever stale, so a refresh can only be one ahead of the end. */
static void read_until_refreshed(struct fixture *f, const char *cache)
{
    int64_t end_ms = hgi_clock_now().boot_ms + WAIT_MS;

    while (daemon_metric(&f->d, cache, "refresh") == 0) {
        struct hg_answer answer;

        ck_assert_int_lt(hgi_clock_now().boot_ms, end_ms);
        ck_assert_int_eq(daemon_read(&f->d, cache, "k", HG_MODE_FRESH, &answer, NULL), HG_OK);
        hg_answer_deinit(&answer);
    }
}

START_TEST(a_value_that_is_read_is_refreshed_before_it_ends)
{
    struct fixture f;

    served_setup(&f, caches);
    read_until_refreshed(&f, "ahead");
    hgi_script_set(&f.d.script, "k delay 50\n"); /* what a draw of xfetch is measured against */
    read_until_refreshed(&f, "xfetch");
    served_teardown(&f);
}
END_TEST

/* ---- telling what is set ---- */

static const struct hg_cache_info *find_cache(const struct hg_caches *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++) {
        if (hgi_slice_equal(list->caches[i].name, hg_slice_text(name))) {
            return &list->caches[i];
        }
    }
    ck_abort_msg("no cache %s", name);
}

START_TEST(the_policy_of_each_cache_can_be_asked_for)
{
    struct fixture f;
    struct hg_caches list;

    served_setup(&f, caches);
    ck_assert_int_eq(hg_client_list_caches(f.d.client, NULL, &list, NULL), HG_OK);
    ck_assert_uint_eq(find_cache(&list, "plain")->jitter_percent, 10);
    ck_assert_slice_eq(find_cache(&list, "plain")->on_error, "share");
    ck_assert_slice_eq(find_cache(&list, "plain")->refresh_ahead, "off");
    ck_assert(!find_cache(&list, "plain")->alone);
    ck_assert_uint_eq(find_cache(&list, "plain")->stale_if_error_ms, 0);
    ck_assert_uint_eq(find_cache(&list, "plain")->error_backoff_ms, 0);
    ck_assert_uint_eq(find_cache(&list, "exact")->jitter_percent, 0);
    ck_assert_uint_eq(find_cache(&list, "kept")->stale_if_error_ms, HOUR_MS);
    ck_assert_uint_eq(find_cache(&list, "backoff")->error_backoff_ms, HOUR_MS);
    ck_assert_slice_eq(find_cache(&list, "elect")->on_error, "elect");
    ck_assert(find_cache(&list, "lonely")->alone);
    ck_assert_slice_eq(find_cache(&list, "ahead")->refresh_ahead, "90%");
    ck_assert_slice_eq(find_cache(&list, "xfetch")->refresh_ahead, "xfetch");
    hg_caches_deinit(&list);
    served_teardown(&f);
}
END_TEST

HGI_SUITE("e2e.freshness", 60, an_old_value_answers_for_a_loader_that_fails,
          an_old_value_answers_for_a_loader_that_dies,
          a_failure_is_remembered_until_the_key_is_invalidated,
          failed_leader_hands_over_to_one_new_leader, who_has_waited_long_enough_loads_alone,
          a_reader_told_of_an_invalidation_reads_nothing_older,
          a_reader_newer_than_the_running_load_does_not_wait_for_it,
          a_batch_reads_each_key_from_the_generation_on, a_generation_from_the_future_is_refused,
          values_stored_together_do_not_end_together_unless_jitter_is_0,
          a_value_that_is_read_is_refreshed_before_it_ends,
          the_policy_of_each_cache_can_be_asked_for)
