/* SPDX-License-Identifier: Apache-2.0 */
/* Looking into a real server: which loads are under way, ending one, and why a key is answered as
 * it is. (The rules one by one, on a fake clock: server.inspect.) */
#include <stdio.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "served.h"
#include "herdgate/inspect.h"
#include "herdgate/lease.h"

#define SCRIPTED "key = \"bytes\" value = \"bytes\" loader = \"script\" "
#define HOUR_MS  3600000u
#define WAIT_MS  20000

static const char caches[] =
    "cache \"plain\" { " SCRIPTED "ttl = \"1h\" jitter = 0 }\n"
    "cache \"old\" { " SCRIPTED
    "ttl = \"1ms\" stale_ttl = \"1h\" jitter = 0 mode = \"revalidate\" }\n"
    "cache \"backoff\" { " SCRIPTED "ttl = \"1h\" error_backoff = \"1h\" }\n"
    "cache \"unloaded\" { key = \"bytes\" value = \"bytes\" ttl = \"1h\" }\n";

static struct crowd_answer *ask(struct fixture *f, const char *cache, const char *key)
{
    return served_ask(f, cache, key, HG_MODE_FRESH);
}

static void ask_and_wait(struct fixture *f, const char *cache, const char *key)
{
    crowd_wait_for(&f->crowd, ask(f, cache, key));
}

/* The caller gives the reply back. */
static int64_t loader_pid(struct fixture *f)
{
    struct hg_loaders loaders;
    int64_t pid;

    ck_assert_int_eq(hg_client_list_loaders(f->d.client, NULL, &loaders, NULL), HG_OK);
    ck_assert_uint_eq(loaders.count, 1);
    pid = loaders.loaders[0].pid;
    hg_loaders_deinit(&loaders);
    return pid;
}

static void list(struct fixture *f, const char *cache, uint32_t max, struct hg_flights *ret_flights)
{
    const struct hg_list_flights request = {.cache = cache, .flights_max = max};
    struct hg_error error;

    ck_assert_msg(hg_client_list_flights(f->d.client, &request, ret_flights, &error) == HG_OK, "%s",
                  error.text);
}

static struct hg_explanation explain(struct fixture *f, const char *cache, const char *key)
{
    const struct hg_explain request = {.cache = cache, .key = daemon_key(key)};
    struct hg_explanation said;
    struct hg_error error;

    ck_assert_msg(hg_client_explain(f->d.client, &request, &said, &error) == HG_OK, "%s",
                  error.text);
    return said;
}

/* The rule, and what its sentence begins with. */
static struct hg_explanation expect_rule(struct fixture *f, const char *cache, const char *key,
                                         const char *rule, const char *sentence)
{
    struct hg_explanation said = explain(f, cache, key);

    ck_assert_slice_eq(said.rule, rule);
    ck_assert_msg(said.sentence.len >= strlen(sentence) &&
                      memcmp(said.sentence.data, sentence, strlen(sentence)) == 0,
                  "%.*s", (int)said.sentence.len, (const char *)said.sentence.data);
    return said;
}

static void expect_bare_rule(struct fixture *f, const char *cache, const char *key,
                             const char *rule, const char *sentence)
{
    struct hg_explanation said = expect_rule(f, cache, key, rule, sentence);

    ck_assert(!said.has_entry);
    ck_assert(!said.has_flight);
    ck_assert_uint_eq(said.answer_count, 0);
    hg_explanation_deinit(&said);
}

/* ---- flights ---- */

static void wait_no_flights(struct fixture *f)
{
    int64_t end_ms = hgi_clock_now().boot_ms + WAIT_MS;
    uint64_t total = 1;

    while (total > 0) {
        struct hg_flights flights;

        ck_assert_int_lt(hgi_clock_now().boot_ms, end_ms);
        list(f, NULL, 0, &flights);
        total = flights.total;
        hg_flights_deinit(&flights);
    }
}

/* Holds loads of "k" (with 4 followers) and "other" in "plain". */
static void hold_loads(struct fixture *f)
{
    hgi_script_set(&f->d.script, "* gate %/go\n");
    for (int i = 0; i < 5; i++) {
        ask(f, "plain", "k");
        hgi_script_await(&f->d.script, "k", 1);
    }
    ask(f, "plain", "other");
    hgi_script_await(&f->d.script, "other", 1);
    daemon_wait_metric(&f->d, "plain", "waiting", 6);
}

START_TEST(a_held_load_is_listed_with_its_followers)
{
    struct fixture f;
    struct hg_flights flights;
    struct hg_explanation said;

    served_setup(&f, caches);
    hold_loads(&f);
    list(&f, NULL, 0, &flights);
    ck_assert_uint_eq(flights.total, 2);
    ck_assert_uint_eq(flights.count, 2);
    ck_assert_slice_eq(flights.flights[0].cache, "plain");
    ck_assert_slice_eq(flights.flights[0].leader, "loader");
    ck_assert_slice_eq(flights.flights[0].phase, "sent");
    ck_assert_int_eq(flights.flights[0].pid, loader_pid(&f));
    ck_assert_uint_eq(flights.flights[0].followers, 4);
    ck_assert_uint_eq(flights.flights[1].followers, 0);
    ck_assert_int_ge(flights.flights[0].left_ms, 0);
    ck_assert(!flights.flights[0].is_fenced);
    said = expect_rule(&f, "plain", "k", "joins",
                       "joins: nothing to serve; a read waits with 4 followers for flight ");
    ck_assert(said.has_flight);
    ck_assert_uint_eq(said.flight.id, flights.flights[0].id);
    ck_assert(hgi_slice_equal(said.digest, flights.flights[0].digest));
    ck_assert(!hgi_slice_equal(said.digest, flights.flights[1].digest));
    hg_explanation_deinit(&said);
    hg_flights_deinit(&flights);
    list(&f, "plain", 1, &flights);
    ck_assert_uint_eq(flights.count, 1);
    ck_assert_uint_eq(flights.total, 2);
    hg_flights_deinit(&flights);
    list(&f, "backoff", 0, &flights);
    ck_assert_uint_eq(flights.total, 0);
    hg_flights_deinit(&flights);
    hgi_script_touch(&f.d.script, "go");
    crowd_wait(&f.crowd);
    wait_no_flights(&f);
    served_teardown(&f);
}
END_TEST

START_TEST(who_waits_for_a_killed_flight_is_told_and_the_key_is_free)
{
    struct fixture f;
    struct hg_kill_flight kill_k = {.cache = "plain"};
    struct hg_flights flights;
    struct hg_flight killed;
    struct hg_error error;

    served_setup(&f, caches);
    hold_loads(&f);
    list(&f, "plain", 0, &flights);
    kill_k.id = flights.flights[0].id;
    hg_flights_deinit(&flights);
    ck_assert_msg(hg_client_kill_flight(f.d.client, &kill_k, &killed, &error) == HG_OK, "%s",
                  error.text);
    ck_assert_uint_eq(killed.id, kill_k.id);
    ck_assert_uint_eq(killed.followers, 4);
    hg_flight_deinit(&killed);
    for (int i = 0; i < 5; i++) {
        crowd_wait_for(&f.crowd, &f.crowd.answers[i]);
        ck_assert_int_eq(f.crowd.answers[i].status, HG_CANCELLED);
    }
    ck_assert(!crowd_is_answered(&f.crowd, &f.crowd.answers[5])); /* another flight goes on */
    hgi_script_set(&f.d.script, "k value new\n");
    ask_and_wait(&f, "plain", "k");
    ck_assert_str_eq(f.crowd.answers[6].value, "new");
    ck_assert_int_eq(hg_client_kill_flight(f.d.client, &kill_k, &killed, &error), HG_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(error.text, "is under way in cache \"plain\""));
    hgi_script_touch(&f.d.script, "go");
    crowd_wait(&f.crowd);
    wait_no_flights(&f);
    served_teardown(&f);
}
END_TEST

START_TEST(a_caller_that_leads_is_listed_with_its_process_and_its_lease_can_be_ended)
{
    struct fixture f;
    const struct hg_read lead = {.cache = "plain", .key = daemon_key("k"), .lead = true};
    struct hg_kill_flight kill_k = {.cache = "plain"};
    struct hg_leased leased = {.cache = "plain"};
    struct hg_renewed renewed;
    struct hg_answer answer;
    struct hg_flights flights;
    struct hg_flight killed;
    struct hg_error error;

    served_setup(&f, caches);
    ck_assert_int_eq(hg_client_get_or_load(f.d.client, &lead, &answer, NULL), HG_OK);
    ck_assert_int_eq(answer.source, HG_SOURCE_LEASED);
    leased.lease = answer.lease;
    hg_answer_deinit(&answer);
    list(&f, "plain", 0, &flights);
    ck_assert_uint_eq(flights.total, 1);
    ck_assert_slice_eq(flights.flights[0].leader, "caller");
    ck_assert_int_eq(flights.flights[0].pid, getpid());
    kill_k.id = flights.flights[0].id;
    hg_flights_deinit(&flights);
    ck_assert_int_eq(hg_client_renew(f.d.client, &leased, &renewed, NULL), HG_OK);
    ck_assert_int_eq(hg_client_kill_flight(f.d.client, &kill_k, &killed, NULL), HG_OK);
    hg_flight_deinit(&killed);
    ck_assert_int_eq(hg_client_renew(f.d.client, &leased, &renewed, &error), HG_ABORTED);
    served_teardown(&f);
}
END_TEST

START_TEST(looking_in_is_for_who_administers)
{
    struct fixture f;
    const struct hg_list_flights list_all = {.cache = NULL};
    const struct hg_kill_flight kill_one = {.cache = "plain", .id = 1};
    const struct hg_explain explain_k = {.cache = "plain", .key = daemon_key("k")};
    const struct hg_explain explain_none = {.cache = "none", .key = daemon_key("k")};
    struct hg_explanation said;
    struct hg_flights flights;
    struct hg_client *reader;
    struct hg_flight flight;

    served_setup(&f, caches);
    ck_assert_int_eq(hg_client_open(f.d.tcp_url, NULL, &reader, NULL), HG_OK);
    ck_assert_int_eq(hg_client_list_flights(reader, &list_all, &flights, NULL),
                     HG_PERMISSION_DENIED);
    ck_assert_int_eq(hg_client_kill_flight(reader, &kill_one, &flight, NULL), HG_PERMISSION_DENIED);
    ck_assert_int_eq(hg_client_explain(reader, &explain_k, &said, NULL), HG_PERMISSION_DENIED);
    hg_client_close(&reader);
    ck_assert_int_eq(hg_client_kill_flight(f.d.client, &kill_one, &flight, NULL), HG_NOT_FOUND);
    ck_assert_int_eq(hg_client_explain(f.d.client, &explain_none, &said, NULL), HG_NOT_FOUND);
    served_teardown(&f);
}
END_TEST

/* ---- explain ---- */

START_TEST(a_key_is_explained_from_nothing_to_fresh)
{
    struct fixture f;
    struct hg_key keys[2] = {daemon_key("k"), daemon_key("k2")};
    struct hg_batch batch = {.cache = "plain", .keys = keys, .key_count = 2};
    struct hg_explanation said;
    struct hg_answers answers;

    served_setup(&f, caches);
    expect_bare_rule(&f, "plain", "k", "nothing",
                     "nothing: not cached, and no load is under way; a read begins one");
    expect_bare_rule(&f, "unloaded", "k", "nothing",
                     "nothing: not cached, and no load is under way; a read finds nothing");
    ask_and_wait(&f, "plain", "k");
    said = expect_rule(&f, "plain", "k", "fresh", "fresh: age ");
    ck_assert(said.has_entry);
    ck_assert_int_eq(said.entry.outcome, HG_VALUE);
    ck_assert_uint_eq(said.entry.ttl_ms, HOUR_MS);
    ck_assert_uint_le(said.entry.generation, said.generation);
    ck_assert_uint_eq(said.answer_count, 1);
    ck_assert_int_eq(said.answers[0].source, HG_SOURCE_LOADED);
    ck_assert_int_eq(said.answers[0].outcome, HG_VALUE);
    ck_assert_uint_eq(said.answers[0].generation, said.entry.generation);
    ck_assert_int_le(said.answers[0].at_ms, hgi_clock_now().wall_ms);
    hg_explanation_deinit(&said);
    /* A batch's answers are answers, too, and the newest comes first. */
    ck_assert_int_eq(hg_client_batch_get_or_load(f.d.client, &batch, &answers, NULL), HG_OK);
    hg_answers_deinit(&answers);
    said = explain(&f, "plain", "k");
    ck_assert_uint_eq(said.answer_count, 2);
    ck_assert_int_eq(said.answers[0].source, HG_SOURCE_FRESH);
    ck_assert_int_eq(said.answers[1].source, HG_SOURCE_LOADED);
    hg_explanation_deinit(&said);
    for (int i = 0; i < 40; i++) {
        ask_and_wait(&f, "plain", "k");
    }
    said = explain(&f, "plain", "k");
    ck_assert_uint_eq(said.answer_count, 32);
    hg_explanation_deinit(&said);
    served_teardown(&f);
}
END_TEST

START_TEST(a_negative_answer_is_explained_as_one)
{
    struct fixture f;
    struct hg_explanation said;

    served_setup(&f, caches);
    hgi_script_set(&f.d.script, "k absent\n");
    ask_and_wait(&f, "plain", "k");
    said = expect_rule(&f, "plain", "k", "fresh", "fresh: absent, age ");
    ck_assert_int_eq(said.entry.outcome, HG_ABSENT);
    hg_explanation_deinit(&said);
    served_teardown(&f);
}
END_TEST

START_TEST(a_stale_value_is_explained_with_what_the_mode_makes_of_it)
{
    struct fixture f;
    struct hg_explanation said;
    int64_t end_ms;

    served_setup(&f, caches);
    ck_assert_int_eq(daemon_put(&f.d, "old", "k", "v"), HG_OK);
    end_ms = hgi_clock_now().boot_ms + WAIT_MS;
    for (said = explain(&f, "old", "k"); hgi_slice_equal(said.rule, hg_slice_text("fresh"));
         said = explain(&f, "old", "k")) {
        ck_assert_int_lt(hgi_clock_now().boot_ms, end_ms);
        hg_explanation_deinit(&said);
    }
    hg_explanation_deinit(&said);
    said = expect_rule(&f, "old", "k", "stale", "stale: age ");
    ck_assert_ptr_nonnull(memmem(said.sentence.data, said.sentence.len, "of ttl 1 ms", 11));
    ck_assert_ptr_nonnull(memmem(said.sentence.data, said.sentence.len,
                                 "in the cache's mode, revalidate, it is served, and loaded behind",
                                 64));
    ck_assert_uint_eq(said.entry.ttl_left_ms, 0);
    ck_assert_uint_gt(said.entry.stale_left_ms, 0);
    hg_explanation_deinit(&said);
    served_teardown(&f);
}
END_TEST

START_TEST(a_remembered_failure_is_explained)
{
    struct fixture f;
    struct hg_explanation said;

    served_setup(&f, caches);
    hgi_script_set(&f.d.script, "k fail 14 no backend\n");
    ask_and_wait(&f, "backoff", "k");
    ask_and_wait(&f, "backoff", "k");
    said = expect_rule(&f, "backoff", "k", "failed_lately",
                       "failed_lately: nothing to serve, and after a failed load none begins for "
                       "another ");
    ck_assert_uint_gt(said.failure_left_ms, HOUR_MS / 2);
    ck_assert_uint_eq(said.answer_count, 2);
    ck_assert_int_eq(said.answers[0].status, HG_UNAVAILABLE);
    ck_assert_int_eq(said.answers[0].source, HG_SOURCE_JOINED);
    ck_assert_int_eq(said.answers[1].source, HG_SOURCE_LOADED);
    hg_explanation_deinit(&said);
    served_teardown(&f);
}
END_TEST

START_TEST(the_command_lists_kills_and_explains)
{
    struct fixture f;
    char output[4096];
    char id[24];
    struct hg_flights flights;
    const char *const list_argv[] = {HGI_BUILD_DIR "/bin/herdgate", "-e", f.d.ipc_url, "flights",
                                     NULL};
    const char *const kill_argv[] = {
        HGI_BUILD_DIR "/bin/herdgate", "-e", f.d.ipc_url, "flights", "plain", "--kill", id, NULL};
    const char *const explain_argv[] = {
        HGI_BUILD_DIR "/bin/herdgate", "-e", f.d.ipc_url, "explain", "plain", "k", NULL};

    served_setup(&f, caches);
    hold_loads(&f);
    ck_assert_int_eq(daemon_run(list_argv, output, sizeof(output)), 0);
    ck_assert_ptr_nonnull(strstr(output, "  loader  sent "));
    list(&f, "plain", 0, &flights);
    snprintf(id, sizeof(id), "%llu", (unsigned long long)flights.flights[0].id);
    hg_flights_deinit(&flights);
    ck_assert_int_eq(daemon_run(kill_argv, output, sizeof(output)), 0);
    crowd_wait_for(&f.crowd, &f.crowd.answers[0]);
    ck_assert_int_eq(f.crowd.answers[0].status, HG_CANCELLED);
    ck_assert_int_eq(daemon_run(explain_argv, output, sizeof(output)), 0);
    ck_assert_int_eq(strncmp(output, "nothing: ", 9), 0);
    ck_assert_ptr_nonnull(strstr(output, "  CANCELLED  "));
    hgi_script_touch(&f.d.script, "go");
    served_teardown(&f);
}
END_TEST

HGI_SUITE("e2e.inspect", 60, a_held_load_is_listed_with_its_followers,
          who_waits_for_a_killed_flight_is_told_and_the_key_is_free,
          a_caller_that_leads_is_listed_with_its_process_and_its_lease_can_be_ended,
          looking_in_is_for_who_administers, a_key_is_explained_from_nothing_to_fresh,
          a_negative_answer_is_explained_as_one,
          a_stale_value_is_explained_with_what_the_mode_makes_of_it,
          a_remembered_failure_is_explained, the_command_lists_kills_and_explains)
