/* SPDX-License-Identifier: Apache-2.0 */
/* The seeds' tests again, under their names, through a real server: herdgated, a loader child, the
 * client library. A seed's sleep is a gate or a counter here. All but budget_scales_with_timeout,
 * which takes a minute. (The whole set on a fake clock: server.seeds.) */
#include "served.h"

static const char caches[] =
    "cache \"cold\" { key = \"bytes\" value = \"bytes\" loader = \"script\" ttl = \"60s\" }\n"
    "cache \"stale\" { key = \"bytes\" value = \"bytes\" loader = \"script\" ttl = \"1ms\" "
    "stale_ttl = \"60s\" }\n"
    "cache \"each\" { key = \"bytes\" value = \"bytes\" loader = \"script\" ttl = \"60s\" on_error "
    "= \"each\" }\n";

static void check_value(const struct crowd_answer *answer, enum hg_source source, const char *value)
{
    ck_assert_msg(answer->status == HG_OK, "%s: %s", hg_status_name(answer->status), answer->text);
    ck_assert_int_eq(answer->outcome, HG_VALUE);
    ck_assert_int_eq(answer->source, source);
    ck_assert_str_eq(answer->value, value);
}

static void check_peek(struct fixture *f, const char *cache, const char *key, const char *value)
{
    struct hg_answer answer;
    struct hg_error error;

    ck_assert_msg(daemon_read(&f->d, cache, key, HG_MODE_PEEK, &answer, &error) == HG_OK, "%s",
                  error.text);
    ck_assert_int_eq(answer.outcome, HG_VALUE);
    ck_assert_slice_eq(answer.value, value);
    hg_answer_deinit(&answer);
}

static void clear(struct fixture *f, const char *cache)
{
    struct hg_clear request = {.cache = cache};
    struct hg_reports reports;
    struct hg_error error;

    ck_assert_msg(hg_client_clear(f->d.client, &request, &reports, &error) == HG_OK, "%s",
                  error.text);
    ck_assert_uint_eq(reports.count, 1);
    hg_reports_deinit(&reports);
}

/* ---- Aether: singleflight ---- */

START_TEST(cache_singleflight_notifies_only_followers_for_completed_key)
{
    struct fixture f;
    struct crowd_answer *leader_a;
    struct crowd_answer *leader_b;
    struct crowd_answer *follower_a;
    struct crowd_answer *follower_b;

    served_setup(&f, caches);
    hgi_script_set(&f.d.script, "key-a gate %/a\nkey-b gate %/b\n");
    leader_a = served_ask(&f, "cold", "key-a", HG_MODE_FRESH);
    leader_b = served_ask(&f, "cold", "key-b", HG_MODE_FRESH);
    hgi_script_await(&f.d.script, NULL, 2);
    follower_a = served_ask(&f, "cold", "key-a", HG_MODE_FRESH);
    follower_b = served_ask(&f, "cold", "key-b", HG_MODE_FRESH);
    daemon_wait_metric(&f.d, "cold", "waiting", 4);
    hgi_script_touch(&f.d.script, "b");
    crowd_wait_for(&f.crowd, leader_b);
    crowd_wait_for(&f.crowd, follower_b);
    ck_assert(!crowd_is_answered(&f.crowd, leader_a));
    ck_assert(!crowd_is_answered(&f.crowd, follower_a));
    hgi_script_touch(&f.d.script, "a");
    crowd_wait(&f.crowd);
    check_value(leader_a, HG_SOURCE_LOADED, "key-a");
    check_value(leader_b, HG_SOURCE_LOADED, "key-b");
    check_value(follower_a, HG_SOURCE_JOINED, "key-a");
    check_value(follower_b, HG_SOURCE_JOINED, "key-b");
    ck_assert_uint_eq(daemon_metric(&f.d, "cold", "in_flight"), 0);
    served_teardown(&f);
}
END_TEST

/* The leader's process dies when the follower has just joined. */
START_TEST(cache_singleflight_leader_drop_before_follower_first_poll_does_not_lose_wakeup)
{
    struct fixture f;
    struct crowd_answer *follower;

    served_setup(&f, caches);
    hgi_script_set(&f.d.script, "k gate %/go\nk die\n");
    served_ask(&f, "cold", "k", HG_MODE_FRESH);
    hgi_script_await(&f.d.script, "k", 1);
    follower = served_ask(&f, "cold", "k", HG_MODE_FRESH);
    daemon_wait_metric(&f.d, "cold", "follower_wait", 1);
    hgi_script_set(&f.d.script, "k value again\n");
    hgi_script_touch(&f.d.script, "go");
    crowd_wait(&f.crowd);
    check_value(follower, HG_SOURCE_JOINED, "again");
    ck_assert_uint_eq(hgi_script_loads(&f.d.script, "k"), 2);
    served_teardown(&f);
}
END_TEST

START_TEST(cache_singleflight_leader_drop_broadcasts_to_all_followers)
{
    enum { CLIENTS = 8, EACH = CROWD_MAX }; /* 2,048 followers */
    const struct hg_client_options options = {.unanswered_max = EACH};
    static struct crowd crowds[CLIENTS];
    struct hg_read request = {.cache = "cold", .key = daemon_key("broadcast")};
    struct hg_client *clients[CLIENTS];
    struct fixture f;

    served_setup(&f, caches);
    hgi_script_set(&f.d.script, "broadcast gate %/go\nbroadcast value v\n");
    served_ask(&f, "cold", "broadcast", HG_MODE_FRESH);
    hgi_script_await(&f.d.script, "broadcast", 1);
    for (int i = 0; i < CLIENTS; i++) {
        ck_assert_int_eq(hg_client_open(f.d.ipc_url, &options, &clients[i], NULL), HG_OK);
        crowd_init(&crowds[i]);
        for (int j = 0; j < EACH; j++) {
            crowd_read(&crowds[i], clients[i], &request);
        }
    }
    daemon_wait_metric(&f.d, "cold", "waiting", CLIENTS * EACH + 1);
    hgi_script_touch(&f.d.script, "go");
    for (int i = 0; i < CLIENTS; i++) {
        crowd_wait(&crowds[i]);
        for (int j = 0; j < EACH; j++) {
            check_value(&crowds[i].answers[j], HG_SOURCE_JOINED, "v");
        }
        hg_client_close(&clients[i]);
        crowd_deinit(&crowds[i]);
    }
    ck_assert_uint_eq(daemon_metric(&f.d, "cold", "coalesced"), CLIENTS * EACH);
    ck_assert_uint_eq(daemon_metric(&f.d, "cold", "in_flight"), 0);
    served_teardown(&f);
}
END_TEST

START_TEST(cache_singleflight_clear_wakes_old_followers_without_removing_replacement)
{
    struct fixture f;
    struct crowd_answer *old_leader;
    struct crowd_answer *old_follower;
    struct crowd_answer *replacement_follower;

    served_setup(&f, caches);
    hgi_script_set(&f.d.script, "k gate %/old\nk value old\n");
    old_leader = served_ask(&f, "cold", "k", HG_MODE_FRESH);
    hgi_script_await(&f.d.script, "k", 1);
    old_follower = served_ask(&f, "cold", "k", HG_MODE_FRESH);
    daemon_wait_metric(&f.d, "cold", "waiting", 2);
    hgi_script_set(&f.d.script, "k gate %/new\nk value new\n");
    clear(&f, "cold");
    hgi_script_await(&f.d.script, "k", 2); /* the old follower leads the replacement */
    replacement_follower = served_ask(&f, "cold", "k", HG_MODE_FRESH);
    daemon_wait_metric(&f.d, "cold", "waiting", 3);
    hgi_script_touch(&f.d.script, "old");
    crowd_wait_for(&f.crowd, old_leader);
    check_value(old_leader, HG_SOURCE_LOADED, "old");
    ck_assert_uint_eq(daemon_metric(&f.d, "cold", "in_flight"), 1);
    ck_assert(!crowd_is_answered(&f.crowd, replacement_follower));
    hgi_script_touch(&f.d.script, "new");
    crowd_wait(&f.crowd);
    check_value(old_follower, HG_SOURCE_LOADED, "new");
    check_value(replacement_follower, HG_SOURCE_JOINED, "new");
    served_teardown(&f);
}
END_TEST

/* ---- Aether: value cache ---- */

START_TEST(value_cache_coalesces_concurrent_loads_for_same_key)
{
    struct fixture f;

    served_setup(&f, caches);
    hgi_script_set(&f.d.script, "same-key gate %/go\nsame-key value 42\n");
    for (int i = 0; i < 16; i++) {
        served_ask(&f, "cold", "same-key", HG_MODE_FRESH);
    }
    daemon_wait_metric(&f.d, "cold", "waiting", 16);
    hgi_script_touch(&f.d.script, "go");
    crowd_wait(&f.crowd);
    for (int i = 0; i < 16; i++) {
        ck_assert_str_eq(f.crowd.answers[i].value, "42");
    }
    ck_assert_uint_eq(hgi_script_loads(&f.d.script, "same-key"), 1);
    served_teardown(&f);
}
END_TEST

START_TEST(value_cache_shares_leader_failure_without_follower_reload)
{
    struct fixture f;
    struct crowd_answer *leader;
    struct crowd_answer *follower;

    served_setup(&f, caches);
    hgi_script_set(&f.d.script,
                   "failed-key gate %/go\nfailed-key fail 14 forced cache load failure\n");
    leader = served_ask(&f, "cold", "failed-key", HG_MODE_FRESH);
    hgi_script_await(&f.d.script, "failed-key", 1);
    follower = served_ask(&f, "cold", "failed-key", HG_MODE_FRESH);
    daemon_wait_metric(&f.d, "cold", "follower_wait", 1);
    hgi_script_touch(&f.d.script, "go");
    crowd_wait(&f.crowd);
    ck_assert_int_eq(leader->status, HG_UNAVAILABLE);
    ck_assert_int_eq(follower->status, HG_UNAVAILABLE);
    ck_assert_str_eq(leader->text, "forced cache load failure");
    ck_assert_str_eq(follower->text, "forced cache load failure");
    ck_assert_int_eq(leader->error_source, HG_SOURCE_LOADED);
    ck_assert_int_eq(follower->error_source, HG_SOURCE_JOINED);
    ck_assert_uint_eq(hgi_script_loads(&f.d.script, "failed-key"), 1);
    served_teardown(&f);
}
END_TEST

START_TEST(value_cache_loads_different_keys_without_global_blocking)
{
    struct fixture f;

    served_setup(&f, caches);
    hgi_script_set(&f.d.script, "* gate %/go\n");
    served_ask(&f, "cold", "key-a", HG_MODE_FRESH);
    served_ask(&f, "cold", "key-b", HG_MODE_FRESH);
    hgi_script_await(&f.d.script, NULL, 2); /* both are under way before either may end */
    hgi_script_touch(&f.d.script, "go");
    crowd_wait(&f.crowd);
    check_value(&f.crowd.answers[0], HG_SOURCE_LOADED, "key-a");
    check_value(&f.crowd.answers[1], HG_SOURCE_LOADED, "key-b");
    served_teardown(&f);
}
END_TEST

/* ttl is 1 ms: reads until it has passed, which is a condition and no race. */
static void wait_stale(struct fixture *f, const char *key)
{
    struct hg_answer answer;
    enum hg_source source = HG_SOURCE_NONE;

    while (source != HG_SOURCE_STALE) {
        ck_assert_int_eq(daemon_read(&f->d, "stale", key, HG_MODE_ALLOW_STALE, &answer, NULL),
                         HG_OK);
        source = answer.source;
        hg_answer_deinit(&answer);
    }
}

/* Until the refresh has brought its value, of one letter. */
static void wait_refreshed(struct fixture *f, const char *key, char value)
{
    struct hg_answer answer;
    bool is_there = false;

    while (!is_there) {
        ck_assert_int_eq(daemon_read(&f->d, "stale", key, HG_MODE_ALLOW_STALE, &answer, NULL),
                         HG_OK);
        is_there = answer.value.len == 1 && *(const char *)answer.value.data == value;
        hg_answer_deinit(&answer);
    }
}

START_TEST(value_cache_legacy_stale_lookup_returns_without_invoking_loader)
{
    struct fixture f;
    struct crowd_answer *first;
    struct crowd_answer *second;

    served_setup(&f, caches);
    ck_assert_int_eq(daemon_put(&f.d, "stale", "hot-key", "1"), HG_OK);
    wait_stale(&f, "hot-key");
    first = served_ask(&f, "stale", "hot-key", HG_MODE_ALLOW_STALE);
    second = served_ask(&f, "stale", "hot-key", HG_MODE_ALLOW_STALE);
    crowd_wait(&f.crowd);
    check_value(first, HG_SOURCE_STALE, "1");
    check_value(second, HG_SOURCE_STALE, "1");
    ck_assert_uint_eq(hgi_script_loads(&f.d.script, NULL), 0);
    served_teardown(&f);
}
END_TEST

START_TEST(value_cache_stale_revalidation_returns_immediately_and_refreshes_in_background)
{
    struct fixture f;
    struct crowd_answer *answer;

    served_setup(&f, caches);
    hgi_script_set(&f.d.script, "revalidate-key gate %/go\nrevalidate-key value 2\n");
    daemon_put(&f.d, "stale", "revalidate-key", "1");
    wait_stale(&f, "revalidate-key");
    answer = served_ask(&f, "stale", "revalidate-key", HG_MODE_REVALIDATE);
    crowd_wait_for(&f.crowd, answer); /* the refresh is held at its gate */
    check_value(answer, HG_SOURCE_STALE, "1");
    hgi_script_await(&f.d.script, "revalidate-key", 1);
    ck_assert_uint_eq(daemon_metric(&f.d, "stale", "refresh"), 1);
    hgi_script_touch(&f.d.script, "go");
    wait_refreshed(&f, "revalidate-key", '2');
    served_teardown(&f);
}
END_TEST

START_TEST(value_cache_fresh_hit_does_not_build_background_refresh_future)
{
    struct fixture f;
    struct crowd_answer *answer;

    served_setup(&f, caches);
    ck_assert_int_eq(daemon_put(&f.d, "cold", "fresh-key", "1"), HG_OK);
    answer = served_ask(&f, "cold", "fresh-key", HG_MODE_REVALIDATE);
    crowd_wait(&f.crowd);
    check_value(answer, HG_SOURCE_FRESH, "1");
    ck_assert_uint_eq(daemon_metric(&f.d, "cold", "refresh"), 0);
    ck_assert_uint_eq(hgi_script_loads(&f.d.script, NULL), 0);
    served_teardown(&f);
}
END_TEST

START_TEST(value_cache_stale_revalidation_starts_only_one_refresh_per_key)
{
    struct fixture f;

    served_setup(&f, caches);
    hgi_script_set(&f.d.script, "single-refresh-key gate %/go\nsingle-refresh-key value 2\n");
    daemon_put(&f.d, "stale", "single-refresh-key", "1");
    wait_stale(&f, "single-refresh-key");
    for (int i = 0; i < 33; i++) {
        struct crowd_answer *answer =
            served_ask(&f, "stale", "single-refresh-key", HG_MODE_REVALIDATE);

        crowd_wait_for(&f.crowd, answer); /* at once: the refresh is held at its gate */
        check_value(answer, HG_SOURCE_STALE, "1");
    }
    hgi_script_await(&f.d.script, "single-refresh-key", 1);
    ck_assert_uint_eq(hgi_script_loads(&f.d.script, "single-refresh-key"), 1);
    ck_assert_uint_eq(daemon_metric(&f.d, "stale", "refresh"), 1);
    hgi_script_touch(&f.d.script, "go");
    wait_refreshed(&f, "single-refresh-key", '2');
    served_teardown(&f);
}
END_TEST

START_TEST(value_cache_clear_rejects_old_stale_revalidation_result)
{
    struct fixture f;
    struct crowd_answer *answer;

    served_setup(&f, caches);
    hgi_script_set(&f.d.script, "gen-key gate %/go\ngen-key value 2\n");
    daemon_put(&f.d, "stale", "gen-key", "1");
    wait_stale(&f, "gen-key");
    answer = served_ask(&f, "stale", "gen-key", HG_MODE_REVALIDATE);
    crowd_wait_for(&f.crowd, answer);
    hgi_script_await(&f.d.script, "gen-key", 1);
    clear(&f, "stale");
    daemon_put(&f.d, "stale", "gen-key", "3");
    hgi_script_touch(&f.d.script, "go");
    daemon_wait_metric(&f.d, "stale", "late", 1); /* the overtaken refresh has ended */
    answer = served_ask(&f, "stale", "gen-key", HG_MODE_ALLOW_STALE);
    crowd_wait_for(&f.crowd, answer);
    ck_assert_str_eq(answer->value, "3");
    served_teardown(&f);
}
END_TEST

START_TEST(value_cache_cold_stale_followers_do_not_reload_after_fresh_ttl)
{
    struct fixture f;
    struct crowd_answer *answer;

    served_setup(&f, caches);
    hgi_script_set(&f.d.script, "cold-hot-key value 1\n");
    answer = served_ask(&f, "stale", "cold-hot-key", HG_MODE_ALLOW_STALE);
    crowd_wait(&f.crowd);
    check_value(answer, HG_SOURCE_LOADED, "1");
    wait_stale(&f, "cold-hot-key");
    answer = served_ask(&f, "stale", "cold-hot-key", HG_MODE_ALLOW_STALE);
    crowd_wait(&f.crowd);
    check_value(answer, HG_SOURCE_STALE, "1");
    ck_assert_uint_eq(hgi_script_loads(&f.d.script, "cold-hot-key"), 1);
    served_teardown(&f);
}
END_TEST

START_TEST(value_cache_clear_releases_same_key_followers)
{
    struct fixture f;
    struct crowd_answer *leader;
    struct crowd_answer *follower;

    served_setup(&f, caches);
    hgi_script_set(&f.d.script, "stuck-key gate %/never\nstuck-key value 1\n");
    leader = served_ask(&f, "cold", "stuck-key", HG_MODE_FRESH);
    hgi_script_await(&f.d.script, "stuck-key", 1);
    follower = served_ask(&f, "cold", "stuck-key", HG_MODE_FRESH);
    daemon_wait_metric(&f.d, "cold", "waiting", 2);
    hgi_script_set(&f.d.script, "stuck-key value 2\n");
    clear(&f, "cold");
    crowd_wait_for(&f.crowd, follower);
    check_value(follower, HG_SOURCE_LOADED, "2");
    ck_assert(!crowd_is_answered(&f.crowd, leader));
    hgi_script_touch(&f.d.script, "never");
    served_teardown(&f);
}
END_TEST

START_TEST(value_cache_direct_insert_rejects_older_inflight_publication)
{
    struct fixture f;
    struct crowd_answer *leader;
    struct crowd_answer *follower;

    served_setup(&f, caches);
    hgi_script_set(&f.d.script, "insert-key gate %/go\ninsert-key value 1\n");
    leader = served_ask(&f, "cold", "insert-key", HG_MODE_FRESH);
    hgi_script_await(&f.d.script, "insert-key", 1);
    follower = served_ask(&f, "cold", "insert-key", HG_MODE_FRESH);
    daemon_wait_metric(&f.d, "cold", "waiting", 2);
    ck_assert_int_eq(daemon_put(&f.d, "cold", "insert-key", "2"), HG_OK);
    crowd_wait_for(&f.crowd, follower);
    check_value(follower, HG_SOURCE_JOINED, "2");
    hgi_script_touch(&f.d.script, "go");
    crowd_wait(&f.crowd);
    check_value(leader, HG_SOURCE_LOADED, "1");
    ck_assert(leader->is_fenced);
    check_peek(&f, "cold", "insert-key", "2");
    served_teardown(&f);
}
END_TEST

START_TEST(value_cache_clear_prevents_old_leader_from_reinserting_stale_value)
{
    struct fixture f;
    struct crowd_answer *leader;
    struct crowd_answer *fresh;

    served_setup(&f, caches);
    hgi_script_set(&f.d.script, "epoch-key gate %/go\nepoch-key value 1\n");
    leader = served_ask(&f, "cold", "epoch-key", HG_MODE_FRESH);
    hgi_script_await(&f.d.script, "epoch-key", 1);
    clear(&f, "cold");
    hgi_script_set(&f.d.script, "epoch-key value 2\n");
    fresh = served_ask(&f, "cold", "epoch-key", HG_MODE_FRESH);
    crowd_wait_for(&f.crowd, fresh);
    check_value(fresh, HG_SOURCE_LOADED, "2");
    hgi_script_touch(&f.d.script, "go");
    crowd_wait(&f.crowd);
    check_value(leader, HG_SOURCE_LOADED, "1");
    check_peek(&f, "cold", "epoch-key", "2");
    served_teardown(&f);
}
END_TEST

/* ---- nora-registry 1.2.2: coalesced ---- */

START_TEST(coalesces_concurrent_callers_to_single_fetch)
{
    struct fixture f;

    served_setup(&f, caches);
    hgi_script_set(&f.d.script, "pkg gate %/go\npkg value 7\n");
    for (int i = 0; i < 32; i++) {
        served_ask(&f, "cold", "pkg", HG_MODE_FRESH);
    }
    daemon_wait_metric(&f.d, "cold", "waiting", 32);
    hgi_script_touch(&f.d.script, "go");
    crowd_wait(&f.crowd);
    for (int i = 0; i < 32; i++) {
        ck_assert_str_eq(f.crowd.answers[i].value, "7");
    }
    ck_assert_uint_eq(hgi_script_loads(&f.d.script, "pkg"), 1);
    ck_assert_uint_eq(daemon_metric(&f.d, "cold", "coalesced"), 31);
    ck_assert_uint_eq(daemon_metric(&f.d, "cold", "in_flight"), 0);
    served_teardown(&f);
}
END_TEST

START_TEST(distinct_keys_do_not_block)
{
    struct fixture f;
    struct crowd_answer *a;
    struct crowd_answer *b;

    served_setup(&f, caches);
    hgi_script_set(&f.d.script, "a gate %/go\na value 1\nb value 2\n");
    a = served_ask(&f, "each", "a", HG_MODE_FRESH);
    hgi_script_await(&f.d.script, "a", 1);
    b = served_ask(&f, "each", "b", HG_MODE_FRESH);
    crowd_wait_for(&f.crowd, b);
    check_value(b, HG_SOURCE_LOADED, "2");
    ck_assert(!crowd_is_answered(&f.crowd, a));
    hgi_script_touch(&f.d.script, "go");
    crowd_wait(&f.crowd);
    check_value(a, HG_SOURCE_LOADED, "1");
    ck_assert_uint_eq(hgi_script_loads(&f.d.script, NULL), 2);
    served_teardown(&f);
}
END_TEST

START_TEST(leader_failure_falls_through_to_followers)
{
    struct fixture f;
    size_t successes = 0;

    served_setup(&f, caches);
    hgi_script_set(&f.d.script, "pkg gate %/go\npkg fail 14 first fetch fails\n");
    served_ask(&f, "each", "pkg", HG_MODE_FRESH);
    hgi_script_await(&f.d.script, "pkg", 1);
    for (int i = 1; i < 8; i++) {
        served_ask(&f, "each", "pkg", HG_MODE_FRESH);
    }
    daemon_wait_metric(&f.d, "each", "waiting", 8);
    hgi_script_set(&f.d.script, "pkg value 99\n");
    hgi_script_touch(&f.d.script, "go");
    crowd_wait(&f.crowd);
    for (int i = 1; i < 8; i++) {
        successes += f.crowd.answers[i].status == HG_OK;
    }
    ck_assert_int_eq(f.crowd.answers[0].status, HG_UNAVAILABLE);
    ck_assert_uint_eq(successes, 7);
    ck_assert_uint_eq(hgi_script_loads(&f.d.script, "pkg"), 8);
    ck_assert_uint_eq(daemon_metric(&f.d, "each", "fallthrough_leader"), 7);
    served_teardown(&f);
}
END_TEST

/* The load is lost: its child dies while the only caller waits; the second attempt dies too. The
 * key is free and the next call loads cleanly. */
START_TEST(leader_cancellation_releases_key)
{
    struct fixture f;
    struct crowd_answer *leader;
    struct crowd_answer *fresh;

    served_setup(&f, caches);
    hgi_script_set(&f.d.script, "pkg die\n");
    leader = served_ask(&f, "cold", "pkg", HG_MODE_FRESH);
    crowd_wait(&f.crowd);
    ck_assert_int_eq(leader->status, HG_UNAVAILABLE);
    ck_assert_uint_eq(hgi_script_loads(&f.d.script, "pkg"), 2);
    ck_assert_uint_eq(daemon_metric(&f.d, "cold", "in_flight"), 0);
    hgi_script_set(&f.d.script, "pkg value 2\n");
    /* The second death in a row is followed by a short pause, and calls are told so at once. */
    daemon_wait_loader_running(&f.d, 2);
    fresh = served_ask(&f, "cold", "pkg", HG_MODE_FRESH);
    crowd_wait(&f.crowd);
    check_value(fresh, HG_SOURCE_LOADED, "2");
    served_teardown(&f);
}
END_TEST

HGI_SUITE("e2e.seeds", 60, cache_singleflight_notifies_only_followers_for_completed_key,
          cache_singleflight_leader_drop_before_follower_first_poll_does_not_lose_wakeup,
          cache_singleflight_leader_drop_broadcasts_to_all_followers,
          cache_singleflight_clear_wakes_old_followers_without_removing_replacement,
          value_cache_coalesces_concurrent_loads_for_same_key,
          value_cache_shares_leader_failure_without_follower_reload,
          value_cache_loads_different_keys_without_global_blocking,
          value_cache_legacy_stale_lookup_returns_without_invoking_loader,
          value_cache_stale_revalidation_returns_immediately_and_refreshes_in_background,
          value_cache_fresh_hit_does_not_build_background_refresh_future,
          value_cache_stale_revalidation_starts_only_one_refresh_per_key,
          value_cache_clear_rejects_old_stale_revalidation_result,
          value_cache_cold_stale_followers_do_not_reload_after_fresh_ttl,
          value_cache_clear_releases_same_key_followers,
          value_cache_direct_insert_rejects_older_inflight_publication,
          value_cache_clear_prevents_old_leader_from_reinserting_stale_value,
          coalesces_concurrent_callers_to_single_fetch, distinct_keys_do_not_block,
          leader_failure_falls_through_to_followers, leader_cancellation_releases_key)
