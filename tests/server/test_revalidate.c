/* SPDX-License-Identifier: Apache-2.0 */
/* Revalidation: a load is given what is cached, and may say that it is right still. */
#include "engine.h"

/* A cache with one value that is stale, and its etag. */
static struct engine *stale_with(struct hgi_policy policy)
{
    struct hgi_result result = {.status = HG_OK,
                                .outcome = HG_VALUE,
                                .value = hg_slice_text("old"),
                                .lifetime = {.etag = hg_slice_text("v1")}};
    struct engine *e;

    policy.mode = HG_MODE_REVALIDATE;
    e = engine_create(&policy);
    engine_get(e, "k");
    engine_result(e, 0, &result);
    engine_pass(e, policy.ttl_ms + 1);
    return e;
}

static struct engine *stale(void)
{
    return stale_with(engine_policy());
}

/* Load 1 refreshes the stale value. */
static void begin_refresh(struct engine *e)
{
    ck_assert_answer(engine_read(e, "k", HG_MODE_REVALIDATE), HG_SOURCE_STALE, "old");
    ck_assert_uint_eq(e->load_count, 2);
}

START_TEST(a_load_is_given_the_old_value_and_its_etag)
{
    struct engine *e = stale();

    ck_assert(!e->loads[0].has_old);
    begin_refresh(e);
    ck_assert(e->loads[1].has_old);
    ck_assert_str_eq(e->loads[1].old_value, "old");
    ck_assert_str_eq(e->loads[1].etag, "v1");
    engine_value(e, 1, "new");
    /* A value without an etag is given without one. */
    engine_pass(e, 101);
    engine_read(e, "k", HG_MODE_REVALIDATE);
    ck_assert_str_eq(e->loads[2].old_value, "new");
    ck_assert_str_eq(e->loads[2].etag, "");
    engine_destroy(e);
}
END_TEST

START_TEST(unchanged_rearms_the_ttl_and_keeps_value_and_etag)
{
    struct engine *e = stale();
    struct engine_call *c;

    begin_refresh(e);
    engine_unchanged(e, 1);
    c = engine_get(e, "k");
    ck_assert_answer(c, HG_SOURCE_FRESH, "old");
    ck_assert_int_eq(c->age_ms, 0);
    ck_assert_int_eq(c->ttl_left_ms, 100);
    ck_assert_int_eq(c->stale_left_ms, 300);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_unchanged), 1);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_unconfirmed), 0);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_load_error), 0);
    engine_pass(e, 101);
    ck_assert_answer(engine_read(e, "k", HG_MODE_REVALIDATE), HG_SOURCE_STALE, "old");
    ck_assert_str_eq(e->loads[2].etag, "v1");
    engine_destroy(e);
}
END_TEST

START_TEST(callers_who_waited_get_the_old_value_as_loaded)
{
    struct engine *e = stale();
    struct engine_call *leader = engine_get(e, "k");
    struct engine_call *follower = engine_get(e, "k");

    engine_unchanged(e, 1);
    ck_assert_answer(leader, HG_SOURCE_LOADED, "old");
    ck_assert_answer(follower, HG_SOURCE_JOINED, "old");
    ck_assert_int_eq(leader->age_ms, 0);
    ck_assert_int_eq(leader->ttl_left_ms, 100);
    engine_destroy(e);
}
END_TEST

START_TEST(a_value_past_its_stale_ttl_can_still_be_confirmed)
{
    struct hgi_policy policy = engine_policy();
    struct engine_call *c;
    struct engine *e;

    policy.stale_if_error_ms = 1000;
    e = stale_with(policy);
    engine_pass(e, 500);
    c = engine_get(e, "k");
    ck_assert_waiting(c);
    ck_assert_str_eq(e->loads[1].old_value, "old");
    engine_unchanged(e, 1);
    ck_assert_answer(c, HG_SOURCE_LOADED, "old");
    ck_assert_answer(engine_get(e, "k"), HG_SOURCE_FRESH, "old");
    engine_destroy(e);
}
END_TEST

START_TEST(negatives_and_nothing_are_not_given)
{
    struct hgi_policy policy = engine_policy();
    struct engine *e = engine_create(&policy);

    engine_put_negative(e, "absent", HG_ABSENT);
    engine_pass(e, 1);
    engine_read_with(e, "absent", HG_MODE_FRESH, 0, 0);
    engine_get(e, "never seen");
    ck_assert(!e->loads[0].has_old);
    ck_assert(!e->loads[1].has_old);
    engine_destroy(e);
}
END_TEST

START_TEST(unchanged_of_nothing_is_an_error)
{
    struct hgi_policy policy = engine_policy();
    struct engine *e = engine_create(&policy);
    struct engine_call *c = engine_get(e, "k");

    engine_unchanged(e, 0);
    ck_assert_refused(c, HG_INTERNAL);
    ck_assert_str_eq(c->message, "the loader said \"unchanged\" of a value it was not given");
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_load_error), 1);
    engine_destroy(e);
}
END_TEST

/* I1: what was invalidated while the load ran does not come back by it. */
START_TEST(an_invalidated_value_is_not_confirmed)
{
    struct engine *e = stale();
    struct engine_call *leader = engine_get(e, "k");
    struct engine_call *follower = engine_get(e, "k");

    engine_invalidate(e, "k");
    ck_assert_uint_eq(e->load_count, 3); /* the follower's own, and it is given nothing */
    ck_assert(!e->loads[2].has_old);
    engine_unchanged(e, 1);
    ck_assert_waiting(leader); /* the overtaken load's beginner looked again, and follows */
    ck_assert_waiting(follower);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_unconfirmed), 1);
    engine_value(e, 2, "new");
    ck_assert_answer(leader, HG_SOURCE_JOINED, "new");
    ck_assert_answer(follower, HG_SOURCE_LOADED, "new");
    engine_destroy(e);
}
END_TEST

START_TEST(a_cleared_value_is_not_confirmed)
{
    struct engine *e = stale();
    struct engine_call *leader = engine_get(e, "k");

    engine_clear(e);
    engine_unchanged(e, 1);
    ck_assert_waiting(leader);
    ck_assert(!e->loads[2].has_old);
    engine_value(e, 2, "new");
    ck_assert_answer(leader, HG_SOURCE_LOADED, "new");
    engine_destroy(e);
}
END_TEST

START_TEST(a_put_in_between_is_not_overwritten)
{
    struct engine *e = stale();
    uint64_t token = hgi_cache_generation(e->cache);

    begin_refresh(e);
    engine_put(e, "k", "put");
    ck_assert(e->loads[1].is_cancelled);
    engine_unchanged(e, 1);
    ck_assert_answer(engine_get(e, "k"), HG_SOURCE_FRESH, "put");
    ck_assert_int_eq(engine_put_if(e, "k", "late", token), HG_ABORTED);
    engine_destroy(e);
}
END_TEST

/* Two values with one birth: the load knew the first. */
START_TEST(a_value_that_took_the_old_ones_place_is_not_confirmed)
{
    struct engine *e = stale();
    uint64_t token = hgi_cache_generation(e->cache);
    struct engine_call *c;

    ck_assert_int_eq(engine_put_if(e, "k", "one", token), HG_OK);
    engine_pass(e, 101);
    c = engine_get(e, "k");
    ck_assert_str_eq(e->loads[1].old_value, "one");
    ck_assert_int_eq(engine_put_if(e, "k", "two", token), HG_OK);
    engine_unchanged(e, 1);
    ck_assert_answer(c, HG_SOURCE_FRESH, "two"); /* sent back to look, and there it was */
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_unconfirmed), 1);
    engine_destroy(e);
}
END_TEST

START_TEST(an_evicted_value_is_loaded_anew)
{
    struct hgi_policy policy = engine_policy();
    struct engine_call *c;
    struct engine *e;

    policy.max_entries = 1;
    e = stale_with(policy);
    c = engine_get(e, "k");
    engine_put(e, "other", "value");
    engine_unchanged(e, 1);
    ck_assert_waiting(c);
    ck_assert(!e->loads[2].has_old);
    engine_value(e, 2, "new");
    ck_assert_answer(c, HG_SOURCE_LOADED, "new");
    engine_destroy(e);
}
END_TEST

static void invalidate_tag(struct engine *e, const char *tag, bool is_soft)
{
    struct hg_slice slice = hg_slice_text(tag);
    struct hgi_cover cover = {.tags = &slice, .tag_count = 1, .is_soft = is_soft};
    struct hgi_report report;

    hgi_cache_invalidate_cover(e->cache, &cover, &e->now, &report);
}

START_TEST(a_tag_of_the_old_value_forbids_to_confirm_it)
{
    struct hg_slice tag = hg_slice_text("red");
    struct hgi_result tagged = {.status = HG_OK,
                                .outcome = HG_VALUE,
                                .value = hg_slice_text("old"),
                                .lifetime = {.tags = &tag, .tag_count = 1}};

    for (int is_soft = 0; is_soft < 2; is_soft++) {
        struct hgi_policy policy = engine_policy();
        struct engine *e = engine_create(&policy);
        struct engine_call *c;

        engine_get(e, "k");
        engine_result(e, 0, &tagged);
        engine_pass(e, 101);
        c = engine_get(e, "k");
        ck_assert_str_eq(e->loads[1].old_value, "old");
        invalidate_tag(e, "red", is_soft);
        engine_unchanged(e, 1);
        ck_assert_waiting(c);
        ck_assert_int_eq(e->loads[2].has_old, is_soft); /* softened: there, and stale */
        engine_value(e, 2, "new");
        ck_assert_answer(c, HG_SOURCE_LOADED, "new");
        engine_destroy(e);
    }
}
END_TEST

/* I1: a soft invalidation fences loads as a hard one does. */
START_TEST(what_is_softened_while_the_load_runs_stays_stale)
{
    struct hg_slice key = hg_slice_text("k");
    struct hgi_cover cover = {.keys = &key, .key_count = 1, .is_soft = true};
    struct hgi_report report;
    struct engine *e = stale();
    struct engine_call *c = engine_get(e, "k");

    hgi_cache_invalidate_cover(e->cache, &cover, &e->now, &report);
    engine_unchanged(e, 1);
    ck_assert_waiting(c);
    ck_assert_answer(engine_read(e, "k", HG_MODE_ALLOW_STALE), HG_SOURCE_STALE, "old");
    engine_value(e, 2, "new");
    ck_assert_answer(c, HG_SOURCE_LOADED, "new");
    engine_destroy(e);
}
END_TEST

START_TEST(what_was_softened_before_the_load_is_fresh_again)
{
    struct hg_slice key = hg_slice_text("k");
    struct hgi_cover cover = {.keys = &key, .key_count = 1, .is_soft = true};
    struct hgi_report report;
    struct engine *e = stale();

    hgi_cache_invalidate_cover(e->cache, &cover, &e->now, &report);
    begin_refresh(e);
    engine_unchanged(e, 1);
    ck_assert_answer(engine_get(e, "k"), HG_SOURCE_FRESH, "old");
    engine_destroy(e);
}
END_TEST

START_TEST(given_lifetimes_count_as_with_a_value)
{
    struct hgi_result unchanged = {.status = HG_OK,
                                   .outcome = HG_VALUE,
                                   .is_unchanged = true,
                                   .lifetime = {.ttl_ms = 40, .stale_ttl_ms = 80}};
    struct engine *e = stale();
    struct engine_call *c;

    begin_refresh(e);
    engine_result(e, 1, &unchanged);
    c = engine_get(e, "k");
    ck_assert_int_eq(c->ttl_left_ms, 40);
    ck_assert_int_eq(c->stale_left_ms, 80);
    engine_destroy(e);
}
END_TEST

/* A fixture whose value has expires_at 250 ms from its load. */
static struct engine *expiring(bool expired_is_denied)
{
    struct hgi_policy policy = engine_policy();
    struct hgi_result result = {
        .status = HG_OK, .outcome = HG_VALUE, .value = hg_slice_text("old")};
    struct engine *e;

    policy.expired_is_denied = expired_is_denied;
    e = engine_create(&policy);
    engine_get(e, "k");
    result.lifetime.expires_at_ms = e->now.wall_ms + 250;
    engine_result(e, 0, &result);
    engine_pass(e, 150);
    return e;
}

/* I5: a hard end stays one. */
START_TEST(expires_at_only_comes_nearer)
{
    struct hgi_result unchanged = {.status = HG_OK, .outcome = HG_VALUE, .is_unchanged = true};
    struct engine_call *c;
    struct engine *e = expiring(false);

    c = engine_get(e, "k");
    engine_unchanged(e, 1);
    ck_assert_answer(c, HG_SOURCE_LOADED, "old");
    ck_assert_int_eq(c->ttl_left_ms, 100);
    ck_assert_int_eq(c->stale_left_ms, 100); /* not 300: it ends at its expires_at */
    engine_pass(e, 99);
    ck_assert_answer(engine_get(e, "k"), HG_SOURCE_FRESH, "old");
    engine_pass(e, 1);
    ck_assert_waiting(engine_get(e, "k"));
    engine_destroy(e);
    e = expiring(false);
    c = engine_get(e, "k");
    unchanged.lifetime.expires_at_ms = e->now.wall_ms + 20;
    engine_result(e, 1, &unchanged);
    ck_assert_answer(c, HG_SOURCE_LOADED, "old");
    ck_assert_int_eq(c->stale_left_ms, 20);
    engine_pass(e, 20);
    ck_assert_waiting(engine_get(e, "k"));
    engine_destroy(e);
}
END_TEST

START_TEST(unchanged_but_expired_is_as_a_value_that_is)
{
    struct hgi_result unchanged = {.status = HG_OK, .outcome = HG_VALUE, .is_unchanged = true};
    struct engine *e = expiring(false);
    struct engine_call *c = engine_get(e, "k");

    unchanged.lifetime.expires_at_ms = e->now.wall_ms;
    engine_result(e, 1, &unchanged);
    ck_assert_refused(c, HG_FAILED_PRECONDITION);
    engine_destroy(e);
    e = expiring(true);
    c = engine_get(e, "k");
    unchanged.lifetime.expires_at_ms = e->now.wall_ms;
    engine_result(e, 1, &unchanged);
    ck_assert_negative(c, HG_SOURCE_LOADED, HG_DENIED);
    ck_assert_negative(engine_get(e, "k"), HG_SOURCE_FRESH, HG_DENIED);
    engine_destroy(e);
}
END_TEST

/* What a replaced process says of the old value may be wrong by now. */
START_TEST(an_outdated_process_confirms_nothing)
{
    struct hgi_result unchanged = {
        .status = HG_OK, .outcome = HG_VALUE, .is_unchanged = true, .is_outdated = true};
    struct engine *e = stale();
    struct engine_call *c = engine_get(e, "k");

    engine_result(e, 1, &unchanged);
    ck_assert_waiting(c);
    ck_assert_str_eq(e->loads[2].old_value, "old");
    engine_unchanged(e, 2);
    ck_assert_answer(c, HG_SOURCE_LOADED, "old");
    engine_destroy(e);
}
END_TEST

START_TEST(a_lost_loads_second_try_is_given_it_again)
{
    struct engine *e = stale();
    struct engine_call *c = engine_get(e, "k");

    engine_lost(e, 1);
    ck_assert_uint_eq(e->loads[2].attempt, 2);
    ck_assert_str_eq(e->loads[2].old_value, "old");
    engine_unchanged(e, 2);
    ck_assert_answer(c, HG_SOURCE_LOADED, "old");
    engine_destroy(e);
}
END_TEST

START_TEST(after_unchanged_the_pause_of_failed_refreshes_is_over)
{
    struct engine *e = stale();

    for (size_t load = 1; load <= 8; load++) { /* the pause has doubled to its longest */
        engine_get(e, "k");
        engine_error(e, load, HG_UNAVAILABLE, "down");
    }
    engine_get(e, "k");
    engine_unchanged(e, 9);
    engine_pass(e, 101);
    engine_read(e, "k", HG_MODE_REVALIDATE);
    ck_assert_uint_eq(e->load_count, 11);
    engine_destroy(e);
}
END_TEST

HGI_SUITE("server.revalidate", 20, a_load_is_given_the_old_value_and_its_etag,
          unchanged_rearms_the_ttl_and_keeps_value_and_etag,
          callers_who_waited_get_the_old_value_as_loaded,
          a_value_past_its_stale_ttl_can_still_be_confirmed, negatives_and_nothing_are_not_given,
          unchanged_of_nothing_is_an_error, an_invalidated_value_is_not_confirmed,
          a_cleared_value_is_not_confirmed, a_put_in_between_is_not_overwritten,
          a_value_that_took_the_old_ones_place_is_not_confirmed, an_evicted_value_is_loaded_anew,
          a_tag_of_the_old_value_forbids_to_confirm_it,
          what_is_softened_while_the_load_runs_stays_stale,
          what_was_softened_before_the_load_is_fresh_again, given_lifetimes_count_as_with_a_value,
          expires_at_only_comes_nearer, unchanged_but_expired_is_as_a_value_that_is,
          an_outdated_process_confirms_nothing, a_lost_loads_second_try_is_given_it_again,
          after_unchanged_the_pause_of_failed_refreshes_is_over)
