/* SPDX-License-Identifier: Apache-2.0 */
/* The seeds' tests, one by one, under their own names and with their numbers: 16 of Aether's
 * auth_runtime, 5 of nora-registry 1.2.2. A seed's task or future is a call parked in the engine;
 * its sleeps are time that passes on the fake clock. */
#include <stdio.h>

#include "engine.h"

static struct engine *aether(int64_t ttl_ms, int64_t stale_ttl_ms)
{
    struct hgi_policy policy = engine_policy();

    policy.ttl_ms = ttl_ms;
    policy.stale_ttl_ms = stale_ttl_ms;
    policy.load_timeout_ms = 60000;
    policy.wait_budget_ms = 100000;
    return engine_create(&policy);
}

/* ---- Aether: singleflight ---- */

START_TEST(cache_singleflight_notifies_only_followers_for_completed_key)
{
    struct engine *e = aether(60000, 60000);
    struct engine_call *leader_a = engine_get(e, "key-a");
    struct engine_call *leader_b = engine_get(e, "key-b");
    struct engine_call *follower_a = engine_get(e, "key-a");
    struct engine_call *follower_b = engine_get(e, "key-b");

    engine_value(e, 1, "b");
    ck_assert_answer(follower_b, HG_SOURCE_JOINED, "b");
    ck_assert_answer(leader_b, HG_SOURCE_LOADED, "b");
    engine_pass(e, 20);
    ck_assert_int_eq(follower_a->answers, 0);
    ck_assert_int_eq(leader_a->answers, 0);
    engine_value(e, 0, "a");
    ck_assert_answer(follower_a, HG_SOURCE_JOINED, "a");
    ck_assert_uint_eq(engine_stats(e).in_flight, 0);
    ck_assert_uint_eq(engine_stats(e).waiting, 0);
    engine_destroy(e);
}
END_TEST

/* Here the wake-up cannot be lost: the leader ends between the follower's joining and its first
 * look. */
START_TEST(cache_singleflight_leader_drop_before_follower_first_poll_does_not_lose_wakeup)
{
    struct engine *e = aether(60000, 60000);
    struct engine_call *follower;

    engine_get(e, "before-first-poll");
    follower = engine_get(e, "before-first-poll");
    engine_lost(e, 0); /* the leader is gone */
    engine_value(e, 1, "again");
    ck_assert_answer(follower, HG_SOURCE_JOINED, "again");
    engine_destroy(e);
}
END_TEST

START_TEST(cache_singleflight_leader_drop_broadcasts_to_all_followers)
{
    enum { FOLLOWER_COUNT = 2048 };
    struct engine *e = aether(60000, 60000);
    struct engine_call *followers[FOLLOWER_COUNT];

    engine_get(e, "broadcast");
    for (int i = 0; i < FOLLOWER_COUNT; i++) {
        followers[i] = engine_get(e, "broadcast");
    }
    ck_assert_uint_eq(engine_stats(e).waiting, FOLLOWER_COUNT + 1);
    engine_value(e, 0, "v");
    for (int i = 0; i < FOLLOWER_COUNT; i++) {
        ck_assert_answer(followers[i], HG_SOURCE_JOINED, "v");
    }
    ck_assert_uint_eq(engine_stats(e).waiting, 0);
    ck_assert_uint_eq(engine_stats(e).in_flight, 0);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_coalesced), FOLLOWER_COUNT);
    engine_destroy(e);
}
END_TEST

START_TEST(cache_singleflight_clear_wakes_old_followers_without_removing_replacement)
{
    struct engine *e = aether(60000, 60000);
    uint64_t old_generation = hgi_cache_generation(e->cache);
    struct engine_call *old_leader = engine_get(e, "clear-replacement");
    struct engine_call *old_follower = engine_get(e, "clear-replacement");
    struct engine_call *replacement_follower;

    engine_clear(e);
    ck_assert_uint_ne(hgi_cache_generation(e->cache), old_generation);
    ck_assert_uint_eq(e->load_count, 2); /* the old follower leads the replacement */
    replacement_follower = engine_get(e, "clear-replacement");
    engine_value(e, 0, "old");
    ck_assert_answer(old_leader, HG_SOURCE_LOADED, "old");
    ck_assert_uint_eq(engine_stats(e).in_flight, 1);
    ck_assert_int_eq(replacement_follower->answers, 0);
    engine_value(e, 1, "new");
    ck_assert_answer(old_follower, HG_SOURCE_LOADED, "new");
    ck_assert_answer(replacement_follower, HG_SOURCE_JOINED, "new");
    ck_assert_uint_eq(engine_stats(e).in_flight, 0);
    engine_destroy(e);
}
END_TEST

/* ---- Aether: value cache ---- */

START_TEST(value_cache_coalesces_concurrent_loads_for_same_key)
{
    struct engine *e = aether(60000, 60000);
    struct engine_call *callers[16];

    for (int i = 0; i < 16; i++) {
        callers[i] = engine_get(e, "same-key");
    }
    engine_pass(e, 25);
    engine_value(e, 0, "42");
    for (int i = 0; i < 16; i++) {
        ck_assert_answer(callers[i], i ? HG_SOURCE_JOINED : HG_SOURCE_LOADED, "42");
    }
    ck_assert_uint_eq(e->load_count, 1);
    engine_destroy(e);
}
END_TEST

START_TEST(value_cache_shares_leader_failure_without_follower_reload)
{
    struct engine *e = aether(60000, 60000);
    struct engine_call *leader = engine_get(e, "failed-key");
    struct engine_call *follower = engine_get(e, "failed-key");

    engine_error(e, 0, HG_UNAVAILABLE, "forced cache load failure");
    ck_assert_refused(leader, HG_UNAVAILABLE);
    ck_assert_refused(follower, HG_UNAVAILABLE);
    ck_assert_str_eq(leader->message, "forced cache load failure");
    ck_assert_str_eq(follower->message, "forced cache load failure");
    ck_assert_int_eq(leader->source, HG_SOURCE_LOADED);
    ck_assert_int_eq(follower->source, HG_SOURCE_JOINED);
    ck_assert_uint_eq(e->load_count, 1);
    engine_destroy(e);
}
END_TEST

START_TEST(value_cache_loads_different_keys_without_global_blocking)
{
    struct engine *e = aether(60000, 60000);
    struct engine_call *a = engine_get(e, "key-a");
    struct engine_call *b = engine_get(e, "key-b");

    ck_assert_uint_eq(engine_stats(e).in_flight, 2);
    engine_pass(e, 50);
    engine_value(e, 0, "1");
    engine_value(e, 1, "2");
    ck_assert_answer(a, HG_SOURCE_LOADED, "1");
    ck_assert_answer(b, HG_SOURCE_LOADED, "2");
    ck_assert_uint_eq(e->load_count, 2);
    engine_destroy(e);
}
END_TEST

START_TEST(value_cache_legacy_stale_lookup_returns_without_invoking_loader)
{
    struct engine *e = aether(10, 1000);

    ck_assert_int_eq(engine_put(e, "hot-key", "1"), HG_OK);
    engine_pass(e, 20);
    ck_assert_answer(engine_read(e, "hot-key", HG_MODE_ALLOW_STALE), HG_SOURCE_STALE, "1");
    ck_assert_answer(engine_read(e, "hot-key", HG_MODE_ALLOW_STALE), HG_SOURCE_STALE, "1");
    ck_assert_uint_eq(e->load_count, 0);
    engine_destroy(e);
}
END_TEST

START_TEST(value_cache_stale_revalidation_returns_immediately_and_refreshes_in_background)
{
    struct engine *e = aether(5, 1000);

    engine_put(e, "revalidate-key", "1");
    engine_pass(e, 15);
    ck_assert_answer(engine_read(e, "revalidate-key", HG_MODE_REVALIDATE), HG_SOURCE_STALE, "1");
    ck_assert_uint_eq(e->load_count, 1);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_refresh), 1);
    engine_value(e, 0, "2");
    ck_assert_answer(engine_read(e, "revalidate-key", HG_MODE_PEEK), HG_SOURCE_FRESH, "2");
    engine_destroy(e);
}
END_TEST

START_TEST(value_cache_fresh_hit_does_not_build_background_refresh_future)
{
    struct engine *e = aether(30000, 60000);

    engine_put(e, "fresh-key", "1");
    ck_assert_answer(engine_read(e, "fresh-key", HG_MODE_REVALIDATE), HG_SOURCE_FRESH, "1");
    ck_assert_uint_eq(e->load_count, 0);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_refresh), 0);
    engine_destroy(e);
}
END_TEST

START_TEST(value_cache_stale_revalidation_starts_only_one_refresh_per_key)
{
    struct engine *e = aether(5, 1000);

    engine_put(e, "single-refresh-key", "1");
    engine_pass(e, 15);
    ck_assert_answer(engine_read(e, "single-refresh-key", HG_MODE_REVALIDATE), HG_SOURCE_STALE,
                     "1");
    for (int i = 0; i < 32; i++) {
        ck_assert_answer(engine_read(e, "single-refresh-key", HG_MODE_REVALIDATE), HG_SOURCE_STALE,
                         "1");
    }
    ck_assert_uint_eq(e->load_count, 1);
    engine_value(e, 0, "2");
    ck_assert_answer(engine_get(e, "single-refresh-key"), HG_SOURCE_FRESH, "2");
    engine_destroy(e);
}
END_TEST

START_TEST(value_cache_clear_rejects_old_stale_revalidation_result)
{
    struct engine *e = aether(5, 1000);

    engine_put(e, "revalidate-generation-key", "1");
    engine_pass(e, 15);
    engine_read(e, "revalidate-generation-key", HG_MODE_REVALIDATE);
    ck_assert_uint_eq(e->load_count, 1);
    engine_clear(e);
    engine_put(e, "revalidate-generation-key", "3");
    engine_value(e, 0, "2");
    ck_assert_answer(engine_get(e, "revalidate-generation-key"), HG_SOURCE_FRESH, "3");
    ck_assert_uint_eq(engine_stats(e).in_flight, 0);
    engine_destroy(e);
}
END_TEST

START_TEST(value_cache_cold_stale_followers_do_not_reload_after_fresh_ttl)
{
    struct engine *e = aether(10, 1000);
    struct engine_call *leader = engine_read(e, "cold-hot-key", HG_MODE_ALLOW_STALE);

    engine_value(e, 0, "1");
    ck_assert_answer(leader, HG_SOURCE_LOADED, "1");
    engine_pass(e, 25);
    ck_assert_answer(engine_read(e, "cold-hot-key", HG_MODE_ALLOW_STALE), HG_SOURCE_STALE, "1");
    ck_assert_uint_eq(e->load_count, 1);
    engine_destroy(e);
}
END_TEST

START_TEST(value_cache_clear_releases_same_key_followers)
{
    struct engine *e = aether(60000, 60000);
    struct engine_call *leader = engine_get(e, "stuck-key");
    struct engine_call *follower;

    engine_pass(e, 10);
    follower = engine_get(e, "stuck-key");
    engine_pass(e, 10);
    engine_clear(e);
    ck_assert_uint_eq(e->load_count, 2);
    engine_value(e, 1, "2");
    ck_assert_answer(follower, HG_SOURCE_LOADED, "2");
    ck_assert_int_eq(leader->answers, 0);
    engine_destroy(e);
}
END_TEST

START_TEST(value_cache_direct_insert_rejects_older_inflight_publication)
{
    struct engine *e = aether(60000, 60000);
    struct engine_call *leader = engine_get(e, "insert-key");
    struct engine_call *follower = engine_get(e, "insert-key");

    engine_put(e, "insert-key", "2");
    ck_assert_answer(follower, HG_SOURCE_JOINED, "2");
    ck_assert_uint_eq(e->load_count, 1);
    engine_value(e, 0, "1");
    ck_assert_answer(leader, HG_SOURCE_LOADED, "1");
    ck_assert(leader->is_fenced);
    ck_assert_answer(engine_get(e, "insert-key"), HG_SOURCE_FRESH, "2");
    engine_destroy(e);
}
END_TEST

START_TEST(value_cache_clear_prevents_old_leader_from_reinserting_stale_value)
{
    struct engine *e = aether(60000, 60000);
    struct engine_call *leader = engine_get(e, "epoch-key");
    struct engine_call *fresh;

    engine_clear(e);
    fresh = engine_get(e, "epoch-key");
    engine_value(e, 1, "2");
    ck_assert_answer(fresh, HG_SOURCE_LOADED, "2");
    engine_value(e, 0, "1");
    ck_assert_answer(leader, HG_SOURCE_LOADED, "1");
    ck_assert(leader->is_fenced);
    ck_assert_answer(engine_get(e, "epoch-key"), HG_SOURCE_FRESH, "2");
    engine_destroy(e);
}
END_TEST

/* ---- nora-registry 1.2.2: coalesced ---- */

static struct engine *nora(void)
{
    struct hgi_policy policy = engine_policy();

    policy.on_error = HGI_ON_ERROR_EACH;
    policy.wait_budget_ms = 5000;
    policy.load_timeout_ms = 60000;
    return engine_create(&policy);
}

START_TEST(coalesces_concurrent_callers_to_single_fetch)
{
    struct engine *e = nora();
    struct engine_call *callers[32];

    for (int i = 0; i < 32; i++) {
        callers[i] = engine_get(e, "pkg");
    }
    engine_pass(e, 50);
    engine_value(e, 0, "7");
    for (int i = 0; i < 32; i++) {
        ck_assert_answer(callers[i], i ? HG_SOURCE_JOINED : HG_SOURCE_LOADED, "7");
    }
    ck_assert_uint_eq(e->load_count, 1);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_coalesced), 31);
    ck_assert_uint_eq(engine_stats(e).in_flight, 0);
    engine_destroy(e);
}
END_TEST

START_TEST(distinct_keys_do_not_block)
{
    struct engine *e = nora();
    struct engine_call *a = engine_get(e, "a");
    struct engine_call *b = engine_get(e, "b");

    engine_value(e, 1, "2");
    ck_assert_answer(b, HG_SOURCE_LOADED, "2");
    ck_assert_int_eq(a->answers, 0);
    engine_value(e, 0, "1");
    ck_assert_answer(a, HG_SOURCE_LOADED, "1");
    ck_assert_uint_eq(e->load_count, 2);
    engine_destroy(e);
}
END_TEST

START_TEST(leader_failure_falls_through_to_followers)
{
    struct engine *e = nora();
    struct engine_call *callers[8];

    for (int i = 0; i < 8; i++) {
        callers[i] = engine_get(e, "pkg");
    }
    engine_pass(e, 30);
    engine_error(e, 0, HG_UNAVAILABLE, "first fetch fails");
    ck_assert_refused(callers[0], HG_UNAVAILABLE);
    ck_assert_uint_eq(e->load_count, 8); /* each follower fetches for itself */
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_fallthrough_leader), 7);
    for (size_t i = 1; i < 8; i++) {
        engine_value(e, i, "99");
        ck_assert_answer(callers[i], HG_SOURCE_LOADED, "99");
    }
    engine_destroy(e);
}
END_TEST

/* The load is lost: its child died, and no waiter is left. */
START_TEST(leader_cancellation_releases_key)
{
    struct engine *e = nora();
    struct engine_call *leader = engine_get(e, "pkg");
    struct engine_call *fresh;

    engine_pass(e, 50);
    ck_assert_uint_eq(engine_stats(e).in_flight, 1);
    hgi_cache_leave(e->cache, &leader->call, &e->now);
    ck_assert_refused(leader, HG_CANCELLED);
    engine_lost(e, 0);
    ck_assert_uint_eq(engine_stats(e).in_flight, 0);
    ck_assert_uint_eq(e->load_count, 1);
    fresh = engine_get(e, "pkg");
    ck_assert_uint_eq(e->load_count, 2);
    engine_value(e, 1, "2");
    ck_assert_answer(fresh, HG_SOURCE_LOADED, "2");
    engine_destroy(e);
}
END_TEST

/* nora: 2 x timeout + 3 s. The rule itself is the configuration's (tests/server/test_config.c);
 * here, that a follower waits exactly its budget: 63 s for a loader of 30 s, 3 s for one of 0. */
START_TEST(budget_scales_with_timeout)
{
    static const int64_t load_timeouts_s[] = {30, 0};

    for (size_t i = 0; i < 2; i++) {
        struct hgi_policy policy = engine_policy();
        struct engine *e;
        struct engine_call *follower;

        policy.wait_budget_ms = hgi_policy_wait_budget_ms(load_timeouts_s[i] * 1000);
        ck_assert_int_eq(policy.wait_budget_ms, i ? 3000 : 63000);
        policy.load_timeout_ms = 600000;
        e = engine_create(&policy);
        engine_read_with(e, "pkg", HG_MODE_FRESH, -1, 120000);
        follower = engine_read_with(e, "pkg", HG_MODE_FRESH, -1, 120000);
        engine_pass(e, policy.wait_budget_ms - 1);
        ck_assert_int_eq(follower->answers, 0);
        engine_pass(e, 1);
        ck_assert_refused(follower, HG_DEADLINE_EXCEEDED);
        ck_assert_uint_eq(engine_metric(e, HGI_METRIC_fallthrough_budget), 1);
        engine_destroy(e);
    }
}
END_TEST

HGI_SUITE("server.seeds", 20, cache_singleflight_notifies_only_followers_for_completed_key,
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
          leader_failure_falls_through_to_followers, leader_cancellation_releases_key,
          budget_scales_with_timeout)
