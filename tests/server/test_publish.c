/* SPDX-License-Identifier: Apache-2.0 */
/* What a load came to: kept, not kept, refused, lost, late. */
#include <stdio.h>

#include "base/check.h"
#include "engine.h"

static struct hgi_result value_of(const char *value)
{
    struct hgi_result result = {
        .status = HG_OK, .outcome = HG_VALUE, .value = hg_slice_text(value)};

    return result;
}

static struct engine *with_on_error(enum hgi_on_error on_error, bool expired_is_denied)
{
    struct hgi_policy policy = engine_policy();

    policy.on_error = on_error;
    policy.expired_is_denied = expired_is_denied;
    return engine_create(&policy);
}

/* ---- values and lifetimes ---- */

START_TEST(a_loaded_value_is_published_with_the_birth_of_its_load)
{
    struct engine *e = engine_create(NULL);
    uint64_t born = hgi_cache_generation(e->cache);
    struct engine_call *c = engine_get(e, "k");

    engine_put(e, "other", "v"); /* takes a number while the load runs */
    engine_value(e, 0, "v");
    ck_assert_answer(c, HG_SOURCE_LOADED, "v");
    ck_assert_uint_eq(c->generation, born);
    ck_assert_int_eq(c->age_ms, 0);
    ck_assert_int_eq(c->ttl_left_ms, 100);
    ck_assert_int_eq(c->stale_left_ms, 300);
    ck_assert_uint_eq(engine_get(e, "k")->generation, born);
    engine_destroy(e);
}
END_TEST

START_TEST(age_counts_from_publishing_not_from_the_start_of_the_load)
{
    struct engine *e = engine_create(NULL);

    engine_get(e, "k");
    engine_pass(e, 500);
    engine_value(e, 0, "v");
    engine_pass(e, 100);
    ck_assert_answer(engine_get(e, "k"), HG_SOURCE_FRESH, "v");
    engine_destroy(e);
}
END_TEST

START_TEST(each_load_that_was_sent_tells_its_time_and_each_hit_its_age)
{
    struct engine *e = engine_create(NULL);
    struct hgi_cache_stats stats;

    engine_get(e, "k");
    engine_pass(e, 500);
    engine_value(e, 0, "v");
    engine_pass(e, 30);
    engine_get(e, "k");
    engine_get(e, "lost");
    engine_pass(e, 7);
    engine_lost(e, 1);
    engine_pass(e, 40);
    engine_lost(e, 2);
    hgi_cache_stats(e->cache, &stats);
    ck_assert_uint_eq(hgi_histogram_total(&stats.load_time), 3);
    ck_assert_uint_eq(stats.load_time.sum_ms, 500 + 7 + 40);
    ck_assert_uint_eq(hgi_histogram_total(&stats.age), 1);
    ck_assert_uint_eq(stats.age.sum_ms, 30);
    engine_destroy(e);
}
END_TEST

START_TEST(a_loaders_lifetimes_only_shorten_the_caches)
{
    static const struct {
        int64_t ttl_ms, stale_ttl_ms, fresh_ms, served_ms;
    } rows[] = {
        {0, 0, 100, 300},     {40, 0, 40, 300}, {40, 200, 40, 200},
        {500, 900, 100, 300}, {0, 60, 60, 60},
    };

    for (size_t i = 0; i < HGI_COUNT_OF(rows); i++) {
        struct engine *e = engine_create(NULL);
        struct hgi_result result = value_of("v");

        result.lifetime.ttl_ms = rows[i].ttl_ms;
        result.lifetime.stale_ttl_ms = rows[i].stale_ttl_ms;
        engine_get(e, "k");
        engine_result(e, 0, &result);
        engine_pass(e, rows[i].fresh_ms);
        ck_assert_answer(engine_read(e, "k", HG_MODE_PEEK), HG_SOURCE_FRESH, "v");
        engine_pass(e, 1);
        ck_assert_int_eq(engine_read(e, "k", HG_MODE_PEEK)->outcome, HG_NOT_CACHED);
        if (rows[i].served_ms > rows[i].fresh_ms) {
            engine_pass(e, rows[i].served_ms - rows[i].fresh_ms - 1);
            ck_assert_answer(engine_read(e, "k", HG_MODE_ALLOW_STALE), HG_SOURCE_STALE, "v");
            engine_pass(e, 1);
        }
        ck_assert_waiting(engine_read(e, "k", HG_MODE_ALLOW_STALE));
        engine_destroy(e);
    }
}
END_TEST

START_TEST(absent_and_denied_are_answers_that_live_negative_ttl)
{
    static const enum hg_outcome outcomes[] = {HG_ABSENT, HG_DENIED};

    for (size_t i = 0; i < 2; i++) {
        struct engine *e = engine_create(NULL);
        struct hgi_result result = {.status = HG_OK, .outcome = outcomes[i]};
        struct engine_call *leader = engine_get(e, "k");
        struct engine_call *follower = engine_get(e, "k");

        engine_result(e, 0, &result);
        ck_assert_negative(leader, HG_SOURCE_LOADED, outcomes[i]);
        ck_assert_negative(follower, HG_SOURCE_JOINED, outcomes[i]);
        ck_assert_int_eq(leader->ttl_left_ms, 50);
        engine_pass(e, 50);
        ck_assert_negative(engine_get(e, "k"), HG_SOURCE_FRESH, outcomes[i]);
        ck_assert_uint_eq(engine_metric(e, HGI_METRIC_negative_hit), 1);
        engine_pass(e, 1);
        ck_assert_waiting(engine_read(e, "k", HG_MODE_ALLOW_STALE));
        ck_assert_uint_eq(engine_metric(e, HGI_METRIC_load_error), 0);
        engine_destroy(e);
    }
}
END_TEST

START_TEST(what_must_not_be_kept_is_answered_and_takes_the_old_value_with_it)
{
    struct engine *e = engine_create(NULL);
    struct hgi_result result = value_of("secret");
    struct engine_call *c;

    engine_put(e, "k", "old");
    engine_pass(e, 150);
    c = engine_get(e, "k");
    result.lifetime.no_store = true;
    engine_result(e, 0, &result);
    ck_assert_answer(c, HG_SOURCE_LOADED, "secret");
    ck_assert_int_eq(c->ttl_left_ms, 0);
    ck_assert_int_eq(c->stale_left_ms, 0);
    ck_assert(!c->is_fenced);
    ck_assert_waiting(engine_read(e, "k", HG_MODE_ALLOW_STALE));
    engine_destroy(e);
}
END_TEST

START_TEST(what_must_not_be_kept_leaves_a_newer_value_alone)
{
    struct engine *e = engine_create(NULL);
    struct hgi_result unkept = value_of("older");
    struct hgi_result expired = value_of("older");

    unkept.lifetime.no_store = true;
    expired.lifetime.expires_at_ms = e->now.wall_ms - 1;
    engine_get(e, "a");
    engine_get(e, "b");
    engine_put(e, "other", "v");
    ck_assert_int_eq(engine_put_if(e, "a", "newer", hgi_cache_generation(e->cache)), HG_OK);
    ck_assert_int_eq(engine_put_if(e, "b", "newer", hgi_cache_generation(e->cache)), HG_OK);
    engine_result(e, 0, &unkept);
    engine_result(e, 1, &expired);
    ck_assert_answer(engine_get(e, "a"), HG_SOURCE_FRESH, "newer");
    ck_assert_answer(engine_get(e, "b"), HG_SOURCE_FRESH, "newer");
    engine_destroy(e);
}
END_TEST

START_TEST(a_value_too_large_to_keep_is_answered_and_takes_the_old_one_with_it)
{
    struct hgi_policy policy = engine_policy();
    struct engine *e;
    struct engine_call *c;
    char big[61];

    memset(big, 'x', sizeof(big) - 1);
    big[sizeof(big) - 1] = 0;
    e = engine_create(NULL);
    engine_put(e, "k", "old");
    policy.max_bytes = (size_t)engine_stats(e).bytes + 10;
    engine_destroy(e);
    e = engine_create(&policy);
    ck_assert_int_eq(engine_put(e, "k", "old"), HG_OK);
    engine_pass(e, 150);
    c = engine_get(e, "k");
    engine_value(e, 0, big);
    ck_assert_answer(c, HG_SOURCE_LOADED, big);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_not_stored), 1);
    ck_assert_waiting(engine_read(e, "k", HG_MODE_ALLOW_STALE));
    engine_destroy(e);
}
END_TEST

/* ---- already expired ---- */

START_TEST(a_value_that_comes_expired_is_an_error_shared_by_all_and_drops_the_old_entry)
{
    struct engine *e = with_on_error(HGI_ON_ERROR_EACH, false);
    struct hgi_result result = value_of("expired");
    struct engine_call *calls[4];

    engine_put(e, "k", "old");
    engine_pass(e, 150);
    for (int i = 0; i < 4; i++) {
        calls[i] = engine_get(e, "k");
    }
    result.lifetime.expires_at_ms = e->now.wall_ms;
    engine_result(e, 0, &result);
    for (int i = 0; i < 4; i++) {
        ck_assert_refused(calls[i], HG_FAILED_PRECONDITION);
        ck_assert_str_eq(calls[i]->value, "");
        ck_assert_str_ne(calls[i]->message, "");
    }
    ck_assert_uint_eq(e->load_count, 1); /* never tried again */
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_load_error), 1);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_fallthrough_leader), 0);
    ck_assert_uint_eq(engine_stats(e).entries, 0);
    engine_destroy(e);
}
END_TEST

START_TEST(in_an_auth_cache_what_comes_expired_is_denied_and_carries_no_value)
{
    struct engine *e = with_on_error(HGI_ON_ERROR_SHARE, true);
    struct hgi_result result = value_of("allowed");
    struct engine_call *leader;
    struct engine_call *follower;

    engine_put(e, "k", "old");
    engine_pass(e, 150);
    leader = engine_get(e, "k");
    follower = engine_get(e, "k");
    result.lifetime.expires_at_ms = e->now.wall_ms;
    engine_result(e, 0, &result);
    ck_assert_negative(leader, HG_SOURCE_LOADED, HG_DENIED);
    ck_assert_negative(follower, HG_SOURCE_JOINED, HG_DENIED);
    ck_assert_negative(engine_read(e, "k", HG_MODE_ALLOW_STALE), HG_SOURCE_FRESH, HG_DENIED);
    engine_pass(e, 51);
    ck_assert_waiting(engine_read(e, "k", HG_MODE_ALLOW_STALE)); /* the old one is gone */
    engine_destroy(e);
}
END_TEST

START_TEST(an_overtaken_load_that_comes_expired_drops_nothing)
{
    struct engine *e = engine_create(NULL);
    struct hgi_result result = value_of("expired");
    struct engine_call *beginner = engine_get(e, "k");

    engine_put(e, "k", "new");
    result.lifetime.expires_at_ms = e->now.wall_ms - 1;
    engine_result(e, 0, &result);
    ck_assert_refused(beginner, HG_FAILED_PRECONDITION);
    ck_assert_answer(engine_get(e, "k"), HG_SOURCE_FRESH, "new");
    engine_destroy(e);
}
END_TEST

/* ---- lost loads ---- */

START_TEST(a_lost_load_is_begun_once_more_with_a_new_birth_and_a_new_timeout)
{
    struct engine *e = engine_create(NULL);
    struct engine_call *leader = engine_read_with(e, "k", HG_MODE_FRESH, -1, 60000);
    struct engine_call *follower = engine_get(e, "k");

    engine_pass(e, 900);
    engine_put(e, "other", "v");
    engine_lost(e, 0);
    ck_assert_uint_eq(e->load_count, 2);
    ck_assert_uint_eq(e->loads[1].attempt, 2);
    ck_assert_str_eq(e->loads[1].key, "k");
    ck_assert_uint_eq(engine_stats(e).in_flight, 1);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_lost), 1);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_load_error), 0);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_load), 2);
    engine_pass(e, 999); /* the old timeout does not end the new load */
    ck_assert_waiting(leader);
    engine_value(e, 1, "v");
    ck_assert_answer(leader, HG_SOURCE_LOADED, "v");
    ck_assert_answer(follower, HG_SOURCE_JOINED, "v");
    ck_assert_uint_eq(leader->generation, hgi_cache_generation(e->cache));
    engine_destroy(e);
}
END_TEST

START_TEST(a_load_lost_again_is_unavailable_for_all_whatever_on_error)
{
    for (int on_error = 0; on_error < 2; on_error++) {
        struct engine *e = with_on_error(on_error ? HGI_ON_ERROR_EACH : HGI_ON_ERROR_SHARE, false);
        struct engine_call *calls[3];

        for (int i = 0; i < 3; i++) {
            calls[i] = engine_get(e, "k");
        }
        engine_lost(e, 0);
        engine_lost(e, 1);
        for (int i = 0; i < 3; i++) {
            ck_assert_refused(calls[i], HG_UNAVAILABLE);
            ck_assert_str_ne(calls[i]->message, "");
        }
        ck_assert_uint_eq(e->load_count, 2);
        ck_assert_uint_eq(engine_metric(e, HGI_METRIC_lost), 2);
        ck_assert_uint_eq(engine_metric(e, HGI_METRIC_load_error), 1);
        ck_assert_waiting(engine_get(e, "k")); /* the key is free */
        ck_assert_uint_eq(e->loads[2].attempt, 1);
        engine_destroy(e);
    }
}
END_TEST

START_TEST(the_second_try_of_a_lost_load_may_time_out_like_the_first)
{
    struct engine *e = engine_create(NULL);
    struct engine_call *c = engine_get(e, "k");

    engine_pass(e, 600);
    engine_lost(e, 0);
    engine_pass(e, 999);
    ck_assert_waiting(c);
    engine_pass(e, 1);
    ck_assert_refused(c, HG_DEADLINE_EXCEEDED);
    ck_assert(e->loads[1].is_cancelled);
    engine_lost(e, 1); /* given up already: the place comes back, nothing else */
    ck_assert_uint_eq(e->load_count, 2);
    ck_assert_uint_eq(engine_stats(e).in_flight, 0);
    engine_destroy(e);
}
END_TEST

START_TEST(a_lost_load_nobody_waits_for_is_not_begun_again_and_its_place_goes_on)
{
    struct hgi_policy policy = engine_policy();
    struct engine *e;

    policy.max_loads = 1;
    e = engine_create(&policy);
    engine_read_with(e, "k", HG_MODE_FRESH, -1, 100);
    engine_get(e, "queued");
    engine_pass(e, 100);
    engine_lost(e, 0);
    ck_assert_uint_eq(e->load_count, 2);
    ck_assert_str_eq(e->loads[1].key, "queued");
    engine_destroy(e);
}
END_TEST

START_TEST(a_load_lost_after_it_was_overtaken_sends_its_beginner_back_to_look)
{
    struct engine *e = engine_create(NULL);
    struct engine_call *beginner = engine_get(e, "k");
    struct engine_call *waiting = engine_get(e, "w");

    engine_put(e, "k", "new");
    ck_assert_waiting(beginner);
    engine_lost(e, 0);
    ck_assert_answer(beginner, HG_SOURCE_FRESH, "new");
    ck_assert(!beginner->is_fenced);
    engine_clear(e);
    engine_lost(e, 1); /* nothing is there: it leads a load of its own */
    ck_assert_waiting(waiting);
    ck_assert_uint_eq(e->load_count, 3);
    engine_value(e, 2, "w");
    ck_assert_answer(waiting, HG_SOURCE_LOADED, "w");
    ck_assert(!waiting->is_fenced);
    engine_destroy(e);
}
END_TEST

START_TEST(a_lost_load_does_not_survive_a_clear_between_its_tries)
{
    struct hgi_policy policy = engine_policy();
    struct engine *e;
    struct engine_call *c;

    policy.on_fenced = HGI_ON_FENCED_RELOAD;
    e = engine_create(&policy);
    c = engine_get(e, "k");
    engine_lost(e, 0);
    engine_clear(e);
    ck_assert_uint_eq(e->load_count, 3);
    engine_value(e, 1, "old");
    ck_assert_waiting(c);
    engine_value(e, 2, "new");
    ck_assert_answer(c, HG_SOURCE_LOADED, "new");
    engine_destroy(e);
}
END_TEST

/* ---- strangers ---- */

START_TEST(ids_that_are_not_outstanding_are_counted_late_and_dropped)
{
    struct engine *e = engine_create(NULL);
    struct hgi_result result = value_of("v");
    struct engine_call *c = engine_get(e, "k");

    hgi_cache_load_done(e->cache, 999999, &result, &e->now);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_late), 1);
    hgi_cache_load_lost(e->cache, 999999, &e->now);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_late), 2);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_lost), 0);
    hgi_cache_load_sent(e->cache, 999999, 0, &e->now);
    ck_assert_waiting(c);
    engine_value(e, 0, "v");
    hgi_cache_load_done(e->cache, e->loads[0].load_id, &result, &e->now); /* twice */
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_late), 3);
    ck_assert_answer(c, HG_SOURCE_LOADED, "v");
    engine_destroy(e);
}
END_TEST

START_TEST(sent_said_twice_does_not_lengthen_the_timeout)
{
    struct engine *e = engine_create(NULL);
    struct engine_call *c = engine_get(e, "k");

    engine_pass(e, 600);
    hgi_cache_load_sent(e->cache, e->loads[0].load_id, 0, &e->now);
    engine_pass(e, 400);
    ck_assert_refused(c, HG_DEADLINE_EXCEEDED);
    engine_destroy(e);
}
END_TEST

START_TEST(an_error_leaves_what_is_cached_alone)
{
    struct engine *e = engine_create(NULL);
    struct engine_call *c;

    engine_put(e, "k", "v");
    engine_pass(e, 150);
    c = engine_get(e, "k");
    engine_error(e, 0, HG_INTERNAL, "bad row");
    ck_assert_refused(c, HG_INTERNAL);
    ck_assert_str_eq(c->message, "bad row");
    ck_assert_answer(engine_read(e, "k", HG_MODE_ALLOW_STALE), HG_SOURCE_STALE, "v");
    engine_destroy(e);
}
END_TEST

HGI_SUITE("server.publish", 60, a_loaded_value_is_published_with_the_birth_of_its_load,
          age_counts_from_publishing_not_from_the_start_of_the_load,
          each_load_that_was_sent_tells_its_time_and_each_hit_its_age,
          a_loaders_lifetimes_only_shorten_the_caches,
          absent_and_denied_are_answers_that_live_negative_ttl,
          what_must_not_be_kept_is_answered_and_takes_the_old_value_with_it,
          what_must_not_be_kept_leaves_a_newer_value_alone,
          a_value_too_large_to_keep_is_answered_and_takes_the_old_one_with_it,
          a_value_that_comes_expired_is_an_error_shared_by_all_and_drops_the_old_entry,
          in_an_auth_cache_what_comes_expired_is_denied_and_carries_no_value,
          an_overtaken_load_that_comes_expired_drops_nothing,
          a_lost_load_is_begun_once_more_with_a_new_birth_and_a_new_timeout,
          a_load_lost_again_is_unavailable_for_all_whatever_on_error,
          the_second_try_of_a_lost_load_may_time_out_like_the_first,
          a_lost_load_nobody_waits_for_is_not_begun_again_and_its_place_goes_on,
          a_load_lost_after_it_was_overtaken_sends_its_beginner_back_to_look,
          a_lost_load_does_not_survive_a_clear_between_its_tries,
          ids_that_are_not_outstanding_are_counted_late_and_dropped,
          sent_said_twice_does_not_lengthen_the_timeout, an_error_leaves_what_is_cached_alone)
