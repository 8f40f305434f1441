/* SPDX-License-Identifier: Apache-2.0 */
/* Refreshes: when one begins, what it brings, and how long a failed one keeps quiet. */
#include <stdio.h>

#include "base/check.h"
#include "engine.h"

enum { TTL_MS = 100, STALE_TTL_MS = 1000000 };

/* A cache whose values stay stale for long, with one stale value in it. */
static struct engine *stale(uint32_t max_loads, uint32_t queue_max)
{
    struct hgi_policy policy = engine_policy();
    struct engine *e;

    policy.stale_ttl_ms = STALE_TTL_MS;
    policy.max_loads = max_loads;
    policy.queue_max = queue_max;
    policy.mode = HG_MODE_REVALIDATE;
    e = engine_create(&policy);
    engine_put(e, "k", "old");
    engine_pass(e, TTL_MS + 1);
    return e;
}

static struct engine_call *revalidate(struct engine *e)
{
    struct engine_call *c = engine_read(e, "k", HG_MODE_REVALIDATE);

    ck_assert_answer(c, HG_SOURCE_STALE, "old");
    return c;
}

/* How long the pause after a failed refresh lasts: the first millisecond at which a read begins the
 * next. */
static int64_t pause_after_failure(struct engine *e)
{
    size_t before = e->load_count;
    int64_t pause_ms = 0;

    engine_error(e, before - 1, HG_UNAVAILABLE, "down");
    for (;;) {
        revalidate(e);
        if (e->load_count > before) {
            return pause_ms;
        }
        engine_pass(e, 1);
        pause_ms++;
        ck_assert_int_le(pause_ms, 20000);
        e->call_count--; /* answered, and the record of calls is bounded */
        memset(&e->calls[e->call_count], 0, sizeof(e->calls[0]));
    }
}

START_TEST(a_stale_value_is_answered_at_once_while_one_refresh_runs)
{
    struct engine *e = stale(16, 16);

    for (int i = 0; i < 10; i++) {
        revalidate(e);
    }
    ck_assert_uint_eq(e->load_count, 1);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_refresh), 1);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_load), 1);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_stale_hit), 10);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_miss), 0);
    engine_value(e, 0, "new");
    ck_assert_answer(engine_read(e, "k", HG_MODE_REVALIDATE), HG_SOURCE_FRESH, "new");
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_coalesced), 0);
    engine_pass(e, TTL_MS + 1); /* stale again: the next one, without a pause */
    ck_assert_answer(engine_read(e, "k", HG_MODE_REVALIDATE), HG_SOURCE_STALE, "new");
    ck_assert_uint_eq(e->load_count, 2);
    engine_destroy(e);
}
END_TEST

START_TEST(a_fresh_reader_joins_the_refresh_that_runs)
{
    struct engine *e = stale(16, 16);
    struct engine_call *joined;

    revalidate(e);
    joined = engine_read(e, "k", HG_MODE_FRESH);
    ck_assert_waiting(joined);
    ck_assert_uint_eq(e->load_count, 1);
    engine_value(e, 0, "new");
    ck_assert_answer(joined, HG_SOURCE_JOINED, "new");
    engine_destroy(e);
}
END_TEST

START_TEST(no_refresh_begins_beside_a_load_that_runs)
{
    struct engine *e = stale(16, 16);

    engine_read(e, "k", HG_MODE_FRESH);
    revalidate(e);
    ck_assert_uint_eq(e->load_count, 1);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_refresh), 0);
    engine_destroy(e);
}
END_TEST

START_TEST(a_joined_refresh_goes_on_when_its_followers_leave)
{
    struct engine *e = stale(16, 16);
    struct engine_call *joined;

    e->holds_sends = true;
    revalidate(e);
    joined = engine_read(e, "k", HG_MODE_FRESH);
    hgi_cache_leave(e->cache, &joined->call, &e->now);
    ck_assert(!e->loads[0].is_cancelled);
    engine_send(e, 0);
    engine_value(e, 0, "new");
    ck_assert_answer(engine_read(e, "k", HG_MODE_PEEK), HG_SOURCE_FRESH, "new");
    engine_destroy(e);
}
END_TEST

START_TEST(absent_and_denied_from_a_refresh_replace_the_stale_value_at_once)
{
    static const enum hg_outcome outcomes[] = {HG_ABSENT, HG_DENIED};

    for (size_t i = 0; i < 2; i++) {
        struct engine *e = stale(16, 16);
        struct hgi_result result = {.status = HG_OK, .outcome = outcomes[i]};

        revalidate(e);
        engine_result(e, 0, &result);
        ck_assert_negative(engine_read(e, "k", HG_MODE_ALLOW_STALE), HG_SOURCE_FRESH, outcomes[i]);
        engine_pass(e, 51);
        ck_assert_waiting(engine_read(e, "k", HG_MODE_ALLOW_STALE));
        engine_destroy(e);
    }
}
END_TEST

START_TEST(a_failed_refresh_keeps_the_stale_value_until_its_limit)
{
    struct engine *e = engine_create(NULL); /* stale for 300 ms */

    engine_put(e, "k", "old");
    engine_pass(e, 150);
    engine_read(e, "k", HG_MODE_REVALIDATE);
    engine_error(e, 0, HG_UNAVAILABLE, "down");
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_load_error), 1);
    engine_pass(e, 150);
    ck_assert_answer(engine_read(e, "k", HG_MODE_REVALIDATE), HG_SOURCE_STALE, "old");
    engine_pass(e, 1);
    ck_assert_waiting(engine_read(e, "k", HG_MODE_REVALIDATE));
    engine_destroy(e);
}
END_TEST

START_TEST(the_pause_after_failures_doubles_from_100_ms_to_10_s_and_is_jittered)
{
    static const int64_t whole_ms[] = {100, 200, 400, 800, 1600, 3200, 6400, 10000, 10000, 10000};
    struct engine *e = stale(16, 16);
    bool is_jittered = false;

    revalidate(e);
    for (size_t i = 0; i < HGI_COUNT_OF(whole_ms); i++) {
        int64_t pause_ms = pause_after_failure(e);

        ck_assert_int_ge(pause_ms, whole_ms[i] / 2);
        ck_assert_int_le(pause_ms, whole_ms[i]);
        is_jittered = is_jittered || (pause_ms > whole_ms[i] / 2 && pause_ms < whole_ms[i]);
    }
    ck_assert(is_jittered);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_refresh), HGI_COUNT_OF(whole_ms) + 1);
    engine_destroy(e);
}
END_TEST

START_TEST(keys_that_failed_together_do_not_come_back_together)
{
    enum { KEY_COUNT = 50 };
    struct engine *e = stale(KEY_COUNT, 16);
    bool is_back[KEY_COUNT] = {false};
    int moments = 0;
    char key[16];

    for (int i = 0; i < KEY_COUNT; i++) {
        snprintf(key, sizeof(key), "j%d", i);
        engine_put(e, key, "old");
    }
    engine_pass(e, TTL_MS + 1);
    for (int i = 0; i < KEY_COUNT; i++) {
        snprintf(key, sizeof(key), "j%d", i);
        engine_read(e, key, HG_MODE_REVALIDATE);
        engine_error(e, (size_t)i, HG_UNAVAILABLE, "down");
    }
    for (int ms = 0; ms <= 100; ms++, engine_pass(e, 1)) {
        size_t before = e->load_count;

        for (int i = 0; i < KEY_COUNT; i++) {
            size_t count = e->load_count;

            if (is_back[i]) {
                continue;
            }
            snprintf(key, sizeof(key), "j%d", i);
            engine_read(e, key, HG_MODE_REVALIDATE);
            is_back[i] = e->load_count > count;
        }
        moments += e->load_count > before;
    }
    ck_assert_uint_eq(e->load_count, 2 * KEY_COUNT);
    ck_assert_int_gt(moments, 10);
    engine_destroy(e);
}
END_TEST

START_TEST(a_refresh_that_succeeds_forgets_the_pauses_before)
{
    struct engine *e = stale(16, 16);

    revalidate(e);
    for (int i = 0; i < 4; i++) {
        pause_after_failure(e);
    }
    engine_value(e, e->load_count - 1, "old"); /* published anew under its old name */
    engine_pass(e, TTL_MS + 1);
    revalidate(e);
    ck_assert_int_le(pause_after_failure(e), 100);
    engine_destroy(e);
}
END_TEST

START_TEST(a_lost_or_late_refresh_makes_a_pause_too)
{
    for (int way = 0; way < 2; way++) {
        struct engine *e = stale(16, 16);

        revalidate(e);
        if (way) {
            engine_pass(e, 1000);
            ck_assert(e->loads[0].is_cancelled);
        } else {
            engine_lost(e, 0);
        }
        revalidate(e);
        ck_assert_uint_eq(e->load_count, 1); /* not begun again by itself, nor by this read */
        ck_assert_uint_eq(engine_metric(e, HGI_METRIC_load_error), 1);
        engine_pass(e, 100);
        revalidate(e);
        ck_assert_uint_eq(e->load_count, 2);
        engine_destroy(e);
    }
}
END_TEST

START_TEST(a_fresh_reader_does_not_wait_for_the_pause)
{
    struct engine *e = stale(16, 16);

    revalidate(e);
    engine_error(e, 0, HG_UNAVAILABLE, "down");
    ck_assert_waiting(engine_read(e, "k", HG_MODE_FRESH));
    ck_assert_uint_eq(e->load_count, 2);
    engine_destroy(e);
}
END_TEST

START_TEST(a_lost_refresh_somebody_joined_is_begun_again_for_them)
{
    struct engine *e = stale(16, 16);
    struct engine_call *joined;

    revalidate(e);
    joined = engine_read(e, "k", HG_MODE_FRESH);
    engine_lost(e, 0);
    ck_assert_uint_eq(e->load_count, 2);
    engine_lost(e, 1);
    ck_assert_refused(joined, HG_UNAVAILABLE);
    revalidate(e);
    ck_assert_uint_eq(e->load_count, 2); /* the pause */
    engine_destroy(e);
}
END_TEST

START_TEST(a_refresh_waits_in_the_queue_and_is_left_out_beyond_its_bound)
{
    struct engine *e = stale(1, 1);

    engine_put(e, "k2", "old");
    engine_pass(e, TTL_MS + 1);
    engine_get(e, "busy");
    revalidate(e);
    ck_assert_uint_eq(engine_stats(e).queued, 1);
    ck_assert_answer(engine_read(e, "k2", HG_MODE_REVALIDATE), HG_SOURCE_STALE, "old");
    ck_assert_uint_eq(engine_stats(e).queued, 1);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_refresh), 1);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_refused), 0); /* nobody was refused anything */
    engine_value(e, 0, "v");
    ck_assert_str_eq(e->loads[1].key, "k");
    engine_read(e, "k2", HG_MODE_REVALIDATE); /* the next read tries again */
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_refresh), 2);
    engine_value(e, 1, "new");
    ck_assert_str_eq(e->loads[2].key, "k2");
    engine_destroy(e);
}
END_TEST

START_TEST(no_refresh_begins_without_a_read)
{
    struct engine *e = stale(16, 16);

    for (int i = 0; i < 100; i++) {
        engine_pass(e, 100);
    }
    ck_assert_uint_eq(e->load_count, 0);
    engine_destroy(e);
}
END_TEST

HGI_SUITE("server.refresh", 60, a_stale_value_is_answered_at_once_while_one_refresh_runs,
          a_fresh_reader_joins_the_refresh_that_runs, no_refresh_begins_beside_a_load_that_runs,
          a_joined_refresh_goes_on_when_its_followers_leave,
          absent_and_denied_from_a_refresh_replace_the_stale_value_at_once,
          a_failed_refresh_keeps_the_stale_value_until_its_limit,
          the_pause_after_failures_doubles_from_100_ms_to_10_s_and_is_jittered,
          keys_that_failed_together_do_not_come_back_together,
          a_refresh_that_succeeds_forgets_the_pauses_before,
          a_lost_or_late_refresh_makes_a_pause_too, a_fresh_reader_does_not_wait_for_the_pause,
          a_lost_refresh_somebody_joined_is_begun_again_for_them,
          a_refresh_waits_in_the_queue_and_is_left_out_beyond_its_bound,
          no_refresh_begins_without_a_read)
