/* SPDX-License-Identifier: Apache-2.0 */
/* What a reload changes of a cache that serves. */
#include <stdio.h>

#include "engine.h"

static void adapt(struct engine *e, const struct hgi_policy *policy)
{
    ck_assert_int_eq(engine_adapt(e, policy, true), HG_OK);
}

START_TEST(entries_stay_with_the_smaller_of_both_lifetimes)
{
    struct hgi_policy policy = engine_policy(); /* ttl 100, stale_ttl 300 */
    struct engine *e = engine_create(&policy);

    engine_put(e, "k", "v");
    policy.ttl_ms = 1000;
    policy.stale_ttl_ms = 1000;
    adapt(e, &policy);
    engine_put(e, "later", "v");
    engine_pass(e, 101);
    ck_assert_answer(engine_read(e, "k", HG_MODE_ALLOW_STALE), HG_SOURCE_STALE, "v");
    ck_assert_answer(engine_read(e, "later", HG_MODE_PEEK), HG_SOURCE_FRESH, "v");
    policy.ttl_ms = 50;
    policy.stale_ttl_ms = 200;
    adapt(e, &policy);
    ck_assert_answer(engine_read(e, "later", HG_MODE_ALLOW_STALE), HG_SOURCE_STALE, "v");
    ck_assert_int_eq(e->calls[e->call_count - 1].stale_left_ms, 200 - 101);
    engine_pass(e, 100);
    ck_assert_int_eq(engine_read(e, "later", HG_MODE_PEEK)->outcome, HG_NOT_CACHED);
    ck_assert_int_eq(engine_read(e, "k", HG_MODE_PEEK)->outcome, HG_NOT_CACHED);
    engine_destroy(e);
}
END_TEST

START_TEST(negatives_are_cut_to_their_own_ttl)
{
    struct hgi_policy policy = engine_policy(); /* negative_ttl 50 */
    struct engine *e = engine_create(&policy);

    engine_put(e, "value", "v");
    engine_put_negative(e, "absent", HG_ABSENT);
    policy.negative_ttl_ms = 10;
    adapt(e, &policy);
    engine_pass(e, 11);
    ck_assert_int_eq(engine_read(e, "absent", HG_MODE_PEEK)->outcome, HG_NOT_CACHED);
    ck_assert_answer(engine_read(e, "value", HG_MODE_PEEK), HG_SOURCE_FRESH, "v");
    engine_destroy(e);
}
END_TEST

START_TEST(a_load_under_way_is_stored_by_the_new_policy)
{
    struct hgi_policy policy = engine_policy();
    struct engine *e = engine_create(&policy);
    struct engine_call *c = engine_get(e, "k");

    policy.ttl_ms = 10;
    policy.stale_ttl_ms = 10;
    adapt(e, &policy);
    engine_value(e, 0, "v");
    ck_assert_answer(c, HG_SOURCE_LOADED, "v");
    ck_assert_int_eq(c->ttl_left_ms, 10);
    engine_pass(e, 11);
    ck_assert_int_eq(engine_read(e, "k", HG_MODE_PEEK)->outcome, HG_NOT_CACHED);
    engine_destroy(e);
}
END_TEST

START_TEST(queued_loads_get_the_places_that_are_new)
{
    struct hgi_policy policy = engine_policy();
    struct engine *e;

    policy.max_loads = 1;
    e = engine_create(&policy);
    engine_get(e, "a");
    engine_get(e, "b");
    engine_get(e, "c");
    ck_assert_uint_eq(e->load_count, 1);
    policy.max_loads = 2;
    adapt(e, &policy);
    ck_assert_uint_eq(e->load_count, 2);
    for (size_t i = 0; i < 3; i++) {
        engine_value(e, i, "v");
        ck_assert_answer(&e->calls[i], HG_SOURCE_LOADED, "v");
    }
    engine_destroy(e);
}
END_TEST

START_TEST(fewer_entries_are_what_was_read)
{
    struct hgi_policy policy = engine_policy();
    struct engine *e;
    char key[16];

    policy.ttl_ms = policy.stale_ttl_ms = 1000000;
    policy.max_entries = 100;
    e = engine_create(&policy);
    for (int i = 0; i < 100; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        engine_put(e, key, "v");
    }
    engine_read(e, "k7", HG_MODE_PEEK);
    engine_read(e, "k7", HG_MODE_PEEK);
    policy.max_entries = 10;
    adapt(e, &policy);
    ck_assert_uint_eq(engine_stats(e).entries, 10);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_evicted), 90);
    ck_assert_answer(engine_read(e, "k7", HG_MODE_PEEK), HG_SOURCE_FRESH, "v");
    engine_destroy(e);
}
END_TEST

START_TEST(more_memory_than_there_was_is_refused_and_changes_nothing)
{
    struct hgi_policy policy = engine_policy();
    struct engine *e = engine_create(&policy);
    struct hgi_policy other = policy;

    other.ttl_ms = 5;
    other.max_bytes *= 16;
    ck_assert(!hgi_cache_takes_bounds(e->cache, &other));
    ck_assert_int_eq(engine_adapt(e, &other, true), HG_FAILED_PRECONDITION);
    ck_assert_int_eq(hgi_cache_policy(e->cache)->ttl_ms, policy.ttl_ms);
    ck_assert(hgi_cache_takes_bounds(e->cache, &policy));
    engine_destroy(e);
}
END_TEST

START_TEST(without_memory_nothing_has_changed)
{
    struct hgi_policy policy = engine_policy();
    struct engine *e = engine_create(&policy);
    struct hgi_policy other = policy;

    other.ttl_ms = 5;
    e->memory.fail_at = 1;
    ck_assert_int_eq(engine_adapt(e, &other, true), HG_RESOURCE_EXHAUSTED);
    e->memory.fail_at = 0;
    ck_assert_int_eq(hgi_cache_policy(e->cache)->ttl_ms, policy.ttl_ms);
    engine_destroy(e);
}
END_TEST

START_TEST(terms_that_are_dropped_have_changed_nothing)
{
    struct hgi_policy policy = engine_policy();
    struct engine *e = engine_create(&policy);
    struct hgi_policy other = policy;
    struct hgi_terms *terms;

    other.ttl_ms = 5;
    ck_assert_int_eq(hgi_cache_make_terms(e->cache, &other, NULL, &terms), HG_OK);
    ck_assert_int_eq(hgi_cache_policy(e->cache)->ttl_ms, policy.ttl_ms);
    hgi_cache_drop_terms(e->cache, &terms);
    ck_assert_ptr_null(terms);
    ck_assert_int_eq(hgi_cache_policy(e->cache)->ttl_ms, policy.ttl_ms);
    (void)engine_get(e, "k");
    ck_assert_uint_eq(e->load_count, 1); /* it has its loader still */
    engine_value(e, 0, "v");
    engine_destroy(e);
}
END_TEST

START_TEST(a_loader_may_come_and_go)
{
    struct hgi_policy policy = engine_policy();
    struct engine *e = engine_create_with(&policy, false);
    struct engine_call *c = engine_get(e, "k");

    ck_assert_int_eq(c->status, HG_FAILED_PRECONDITION);
    ck_assert_int_eq(engine_adapt(e, &policy, true), HG_OK);
    c = engine_get(e, "k");
    ck_assert_uint_eq(e->load_count, 1);
    ck_assert_int_eq(engine_adapt(e, &policy, false), HG_OK);
    ck_assert_int_eq(engine_get(e, "l")->status, HG_FAILED_PRECONDITION);
    engine_value(e, 0, "v"); /* what was under way goes on */
    ck_assert_answer(c, HG_SOURCE_LOADED, "v");
    engine_destroy(e);
}
END_TEST

START_TEST(a_policy_once_seen_stays_readable)
{
    struct hgi_policy policy = engine_policy();
    struct engine *e = engine_create(&policy);
    const struct hgi_policy *before = hgi_cache_policy(e->cache);

    for (int i = 1; i <= 100; i++) {
        policy.ttl_ms = i;
        adapt(e, &policy);
    }
    ck_assert_int_eq(before->ttl_ms, engine_policy().ttl_ms);
    ck_assert_int_eq(hgi_cache_policy(e->cache)->ttl_ms, 100);
    engine_destroy(e);
}
END_TEST

HGI_SUITE("server.adapt", 20, entries_stay_with_the_smaller_of_both_lifetimes,
          negatives_are_cut_to_their_own_ttl, a_load_under_way_is_stored_by_the_new_policy,
          queued_loads_get_the_places_that_are_new, fewer_entries_are_what_was_read,
          more_memory_than_there_was_is_refused_and_changes_nothing,
          without_memory_nothing_has_changed, terms_that_are_dropped_have_changed_nothing,
          a_loader_may_come_and_go, a_policy_once_seen_stays_readable)
