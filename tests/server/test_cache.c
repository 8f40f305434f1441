/* SPDX-License-Identifier: Apache-2.0 */
/* Reading: modes, ages, deadlines, leaving, stopping, and memory that runs out. */
#include <stdio.h>

#include "base/check.h"
#include "engine.h"

/* ---- modes ---- */

enum state { NOTHING, FRESH, STALE, OVER, ABSENT_FRESH, ABSENT_OVER };
enum expected { HIT, HIT_STALE, HIT_AND_REFRESH, HIT_ABSENT, LOADS, NOT_CACHED };

static struct engine *engine_in(enum state state)
{
    struct engine *e = engine_create(NULL);

    switch (state) {
    case NOTHING:
        break;
    case FRESH:
        engine_put(e, "k", "v");
        engine_pass(e, 100);
        break;
    case STALE:
        engine_put(e, "k", "v");
        engine_pass(e, 101);
        break;
    case OVER:
        engine_put(e, "k", "v");
        engine_pass(e, 301);
        break;
    case ABSENT_FRESH:
        engine_put_negative(e, "k", HG_ABSENT);
        engine_pass(e, 50);
        break;
    case ABSENT_OVER:
        engine_put_negative(e, "k", HG_ABSENT);
        engine_pass(e, 51);
        break;
    }
    return e;
}

static void check_mode(enum state state, enum hg_mode mode, enum expected expected)
{
    struct engine *e = engine_in(state);
    struct engine_call *c = engine_read(e, "k", mode);
    bool loads = expected == LOADS || expected == HIT_AND_REFRESH;

    ck_assert_uint_eq(e->load_count, loads);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_hit), expected == HIT);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_stale_hit),
                      expected == HIT_STALE || expected == HIT_AND_REFRESH);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_negative_hit), expected == HIT_ABSENT);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_miss),
                      expected == LOADS || expected == NOT_CACHED);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_refresh), expected == HIT_AND_REFRESH);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_load), loads);
    switch (expected) {
    case HIT:
        ck_assert_answer(c, HG_SOURCE_FRESH, "v");
        break;
    case HIT_STALE:
    case HIT_AND_REFRESH:
        ck_assert_answer(c, HG_SOURCE_STALE, "v");
        break;
    case HIT_ABSENT:
        ck_assert_negative(c, HG_SOURCE_FRESH, HG_ABSENT);
        break;
    case LOADS:
        ck_assert_waiting(c);
        break;
    case NOT_CACHED:
        ck_assert_negative(c, HG_SOURCE_NONE, HG_NOT_CACHED);
        break;
    }
    engine_destroy(e);
}

START_TEST(each_mode_does_with_each_age_what_it_says)
{
    static const struct {
        enum state state;
        enum expected fresh;
        enum expected allow_stale;
        enum expected revalidate;
        enum expected peek;
    } rows[] = {
        {NOTHING, LOADS, LOADS, LOADS, NOT_CACHED},
        {FRESH, HIT, HIT, HIT, HIT},
        {STALE, LOADS, HIT_STALE, HIT_AND_REFRESH, NOT_CACHED},
        {OVER, LOADS, LOADS, LOADS, NOT_CACHED},
        {ABSENT_FRESH, HIT_ABSENT, HIT_ABSENT, HIT_ABSENT, HIT_ABSENT},
        {ABSENT_OVER, LOADS, LOADS, LOADS, NOT_CACHED},
    };

    for (size_t i = 0; i < HGI_COUNT_OF(rows); i++) {
        check_mode(rows[i].state, HG_MODE_FRESH, rows[i].fresh);
        check_mode(rows[i].state, HG_MODE_ALLOW_STALE, rows[i].allow_stale);
        check_mode(rows[i].state, HG_MODE_REVALIDATE, rows[i].revalidate);
        check_mode(rows[i].state, HG_MODE_PEEK, rows[i].peek);
    }
}
END_TEST

START_TEST(a_call_without_a_mode_gets_the_caches_own)
{
    static const enum hg_mode modes[] = {HG_MODE_FRESH, HG_MODE_ALLOW_STALE, HG_MODE_REVALIDATE,
                                         HG_MODE_PEEK};
    static const size_t loads[] = {1, 0, 1, 0};

    for (size_t i = 0; i < HGI_COUNT_OF(modes); i++) {
        struct hgi_policy policy = engine_policy();
        struct engine *e;
        struct engine_call *c;

        policy.mode = modes[i];
        e = engine_create(&policy);
        engine_put(e, "k", "v");
        engine_pass(e, 101);
        c = engine_read(e, "k", HG_MODE_DEFAULT);
        ck_assert_uint_eq(e->load_count, loads[i]);
        ck_assert_int_eq(c->answers, modes[i] != HG_MODE_FRESH);
        ck_assert_int_eq(c->source == HG_SOURCE_STALE,
                         modes[i] == HG_MODE_ALLOW_STALE || modes[i] == HG_MODE_REVALIDATE);
        engine_destroy(e);
    }
}
END_TEST

START_TEST(a_hit_tells_its_age_what_is_left_and_its_birth)
{
    struct engine *e = engine_create(NULL);
    struct engine_call *c;
    uint64_t born;

    engine_put(e, "k", "v");
    born = hgi_cache_generation(e->cache);
    engine_put(e, "other", "v");
    engine_pass(e, 30);
    c = engine_get(e, "k");
    ck_assert_int_eq(c->age_ms, 30);
    ck_assert_int_eq(c->ttl_left_ms, 70);
    ck_assert_int_eq(c->stale_left_ms, 270);
    ck_assert_uint_eq(c->generation, born);
    ck_assert(!c->is_fenced);
    engine_pass(e, 90);
    c = engine_read(e, "k", HG_MODE_ALLOW_STALE);
    ck_assert_int_eq(c->age_ms, 120);
    ck_assert_int_eq(c->ttl_left_ms, 0);
    ck_assert_int_eq(c->stale_left_ms, 180);
    engine_destroy(e);
}
END_TEST

START_TEST(a_readers_max_age_sends_only_that_reader_to_load)
{
    struct engine *e = engine_create(NULL);
    struct engine_call *picky;

    engine_put(e, "k", "v");
    engine_pass(e, 50);
    ck_assert_answer(engine_read_with(e, "k", HG_MODE_FRESH, 50, 0), HG_SOURCE_FRESH, "v");
    picky = engine_read_with(e, "k", HG_MODE_FRESH, 49, 0);
    ck_assert_waiting(picky);
    ck_assert_answer(engine_get(e, "k"), HG_SOURCE_FRESH, "v"); /* the entry stays for others */
    ck_assert_negative(engine_read_with(e, "k", HG_MODE_PEEK, 49, 0), HG_SOURCE_NONE,
                       HG_NOT_CACHED);
    ck_assert_answer(engine_read_with(e, "k", HG_MODE_ALLOW_STALE, 0, 0), HG_SOURCE_STALE, "v");
    engine_error(e, 0, HG_UNAVAILABLE, "down");
    ck_assert_refused(picky, HG_UNAVAILABLE);
    ck_assert_answer(engine_get(e, "k"), HG_SOURCE_FRESH, "v");
    engine_destroy(e);
}
END_TEST

START_TEST(a_revalidating_reader_with_a_max_age_gets_the_value_and_a_refresh)
{
    struct engine *e = engine_create(NULL);

    engine_put(e, "k", "v");
    engine_pass(e, 50);
    ck_assert_answer(engine_read_with(e, "k", HG_MODE_REVALIDATE, 49, 0), HG_SOURCE_STALE, "v");
    ck_assert_uint_eq(e->load_count, 1);
    engine_value(e, 0, "v2");
    ck_assert_answer(engine_read_with(e, "k", HG_MODE_FRESH, 0, 0), HG_SOURCE_FRESH, "v2");
    engine_destroy(e);
}
END_TEST

START_TEST(a_max_age_beyond_the_ttl_does_not_lengthen_it)
{
    struct engine *e = engine_create(NULL);

    engine_put(e, "k", "v");
    engine_pass(e, 101);
    ck_assert_waiting(engine_read_with(e, "k", HG_MODE_FRESH, 100000, 0));
    ck_assert_uint_eq(e->load_count, 1);
    engine_destroy(e);
}
END_TEST

START_TEST(a_negative_is_replaced_by_a_put_and_replaces_a_value)
{
    struct engine *e = engine_create(NULL);

    engine_put_negative(e, "k", HG_DENIED);
    ck_assert_negative(engine_get(e, "k"), HG_SOURCE_FRESH, HG_DENIED);
    ck_assert_uint_eq(engine_stats(e).negatives, 1);
    engine_put(e, "k", "v");
    ck_assert_answer(engine_get(e, "k"), HG_SOURCE_FRESH, "v");
    ck_assert_uint_eq(engine_stats(e).negatives, 0);
    engine_put_negative(e, "k", HG_ABSENT);
    ck_assert_negative(engine_get(e, "k"), HG_SOURCE_FRESH, HG_ABSENT);
    ck_assert_uint_eq(engine_stats(e).entries, 1);
    engine_destroy(e);
}
END_TEST

START_TEST(a_value_past_its_expires_at_is_served_to_nobody)
{
    for (int clock = 0; clock < 2; clock++) {
        struct engine *e = engine_create(NULL);
        struct hgi_result result = {.status = HG_OK,
                                    .outcome = HG_VALUE,
                                    .value = hg_slice_text("v"),
                                    .lifetime = {.expires_at_ms = e->now.wall_ms + 200}};
        struct engine_call *c = engine_get(e, "k");

        engine_result(e, 0, &result);
        ck_assert_int_eq(c->ttl_left_ms, 100);
        ck_assert_int_eq(c->stale_left_ms, 200);
        e->now.boot_ms += 150;
        e->now.wall_ms += clock ? 150 : -100000; /* the second time it is set back */
        ck_assert_answer(engine_read(e, "k", HG_MODE_ALLOW_STALE), HG_SOURCE_STALE, "v");
        e->now.boot_ms += clock ? 0 : 50;
        e->now.wall_ms += clock ? 50 : 0;
        ck_assert_negative(engine_read(e, "k", HG_MODE_PEEK), HG_SOURCE_NONE, HG_NOT_CACHED);
        ck_assert_waiting(engine_read(e, "k", HG_MODE_ALLOW_STALE));
        ck_assert_uint_eq(engine_metric(e, HGI_METRIC_expired), 1);
        engine_destroy(e);
    }
}
END_TEST

START_TEST(keys_are_bytes_and_one_byte_more_is_another_key)
{
    struct engine *e = engine_create(NULL);
    struct hgi_put put = {.outcome = HG_VALUE, .value = hg_slice_text("v")};
    struct hgi_entry entry;
    char sentence[HGI_MESSAGE_MAX];

    put.key = hg_slice_of("a\0b", 3);
    ck_assert_int_eq(hgi_cache_put(e->cache, &put, &e->now, &entry, sentence), HG_OK);
    ck_assert_negative(engine_read(e, "a", HG_MODE_PEEK), HG_SOURCE_NONE, HG_NOT_CACHED);
    put.key = hg_slice_of("a", 1);
    ck_assert_int_eq(hgi_cache_put(e->cache, &put, &e->now, &entry, sentence), HG_OK);
    ck_assert_uint_eq(engine_stats(e).entries, 2);
    engine_destroy(e);
}
END_TEST

/* The first look finds the value and no memory to copy it into; the second, under the flight lock,
 * finds both: as if a load had ended in between. */
START_TEST(the_winner_looks_again_before_it_loads)
{
    struct engine *e = engine_create(NULL);
    struct hgi_test_allocator poor;
    struct engine_call *c;

    engine_put(e, "k", "v");
    hgi_test_allocator_init(&poor);
    poor.fail_at = 1;
    hgi_bytes_deinit(&e->scratch);
    hgi_bytes_init(&e->scratch, &poor.allocator);
    c = engine_get(e, "k");
    ck_assert_answer(c, HG_SOURCE_FRESH, "v");
    ck_assert_uint_eq(poor.calls, 2);
    ck_assert_uint_eq(e->load_count, 0);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_hit), 1);
    engine_destroy(e);
    ck_assert_uint_eq(poor.out_count, 0);
}
END_TEST

/* ---- a cache without a loader; its own copies ---- */

static void note_status(struct hgi_call *call, const struct hgi_answer *answer)
{
    HGI_CONTAINER(call, struct engine_call, call)->status = answer->status;
    HGI_CONTAINER(call, struct engine_call, call)->answers++;
    HGI_CONTAINER(call, struct engine_call, call)->outcome = answer->outcome;
}

static enum hg_status read_once(struct hgi_cache *cache, const char *key, enum hg_mode mode,
                                const struct hgi_now *now)
{
    struct engine_call c = {
        .call = {.key = hg_slice_text(key), .mode = mode, .max_age_ms = -1, .done = note_status}};
    struct hg_bytes scratch;

    hgi_bytes_init(&scratch, &hgi_heap);
    hgi_cache_read(cache, &c.call, &scratch, now);
    hgi_bytes_deinit(&scratch);
    ck_assert_int_eq(c.answers, 1);
    return c.status;
}

START_TEST(a_cache_without_a_loader_serves_puts_and_says_so_on_a_miss)
{
    struct hgi_policy policy = engine_policy();
    char name[] = "plain";
    struct hgi_cache_options options = {.name = name, .policy = &policy, .start_generation = 7};
    struct hgi_cache *cache = hgi_cache_create(&hgi_heap, &options);
    struct hgi_put put = {
        .key = hg_slice_text("k"), .outcome = HG_VALUE, .value = hg_slice_text("v")};
    struct hgi_now now = {1000, 2000};
    struct hgi_entry entry;
    char sentence[HGI_MESSAGE_MAX];

    ck_assert_ptr_nonnull(cache);
    policy.ttl_ms = 1; /* they were copied */
    name[0] = 'P';
    ck_assert_str_eq(hgi_cache_name(cache), "plain");
    ck_assert_int_eq(hgi_cache_policy(cache)->ttl_ms, 100);
    ck_assert_uint_eq(hgi_cache_generation(cache), 7);
    ck_assert_int_eq(read_once(cache, "k", HG_MODE_FRESH, &now), HG_FAILED_PRECONDITION);
    ck_assert_int_eq(read_once(cache, "k", HG_MODE_PEEK, &now), HG_OK);
    ck_assert_int_eq(hgi_cache_put(cache, &put, &now, &entry, sentence), HG_OK);
    ck_assert_uint_eq(entry.born, 8);
    ck_assert_int_eq(entry.ttl_ms, 100);
    ck_assert_int_eq(read_once(cache, "k", HG_MODE_FRESH, &now), HG_OK);
    now.boot_ms += 150;
    ck_assert_int_eq(read_once(cache, "k", HG_MODE_REVALIDATE, &now), HG_OK);
    ck_assert_int_eq(read_once(cache, "k", HG_MODE_FRESH, &now), HG_FAILED_PRECONDITION);
    hgi_cache_stop(cache, &now);
    hgi_cache_destroy(&cache);
    ck_assert_ptr_null(cache);
    hgi_cache_destroy(&cache);
}
END_TEST

START_TEST(a_restored_entry_is_served_for_the_time_it_has_left_and_falls_to_a_clear)
{
    struct engine *e = engine_create(NULL);
    struct hgi_entry entry = {.key = hg_slice_text("k"),
                              .value = hg_slice_text("v"),
                              .outcome = HG_VALUE,
                              .born = 999,
                              .published_ms = e->now.boot_ms - 60,
                              .ttl_ms = 100,
                              .stale_ttl_ms = 300};
    struct engine_call *c;

    ck_assert_int_eq(hgi_cache_restore(e->cache, &entry), HGI_STORED);
    c = engine_get(e, "k");
    ck_assert_answer(c, HG_SOURCE_FRESH, "v");
    ck_assert_int_eq(c->ttl_left_ms, 40);
    ck_assert_uint_eq(c->generation, 999);
    ck_assert_uint_eq(engine_clear(e).dropped, 1);
    ck_assert_waiting(engine_get(e, "k"));
    engine_destroy(e);
}
END_TEST

/* ---- deadlines ---- */

START_TEST(a_caller_waits_as_long_as_it_said_and_its_load_goes_on)
{
    struct engine *e = engine_create(NULL);
    struct engine_call *beginner = engine_read_with(e, "k", HG_MODE_FRESH, -1, 200);
    struct engine_call *follower = engine_read_with(e, "k", HG_MODE_FRESH, -1, 300);
    struct engine_call *patient = engine_read_with(e, "k", HG_MODE_FRESH, -1, 900);

    engine_pass(e, 199);
    ck_assert_waiting(beginner);
    engine_pass(e, 1);
    ck_assert_refused(beginner, HG_DEADLINE_EXCEEDED);
    ck_assert_str_ne(beginner->message, "");
    engine_pass(e, 100);
    ck_assert_refused(follower, HG_DEADLINE_EXCEEDED);
    ck_assert_waiting(patient);
    ck_assert(!e->loads[0].is_cancelled);
    engine_value(e, 0, "v");
    ck_assert_answer(patient, HG_SOURCE_JOINED, "v");
    ck_assert_uint_eq(e->load_count, 1);
    engine_destroy(e);
}
END_TEST

START_TEST(a_load_nobody_waits_for_any_more_still_publishes)
{
    struct engine *e = engine_create(NULL);

    engine_read_with(e, "k", HG_MODE_FRESH, -1, 200);
    engine_pass(e, 200);
    ck_assert_uint_eq(engine_stats(e).waiting, 0);
    ck_assert_uint_eq(engine_stats(e).in_flight, 1);
    ck_assert(!e->loads[0].is_cancelled);
    engine_value(e, 0, "v");
    ck_assert_answer(engine_get(e, "k"), HG_SOURCE_FRESH, "v");
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_late), 0);
    engine_destroy(e);
}
END_TEST

START_TEST(a_caller_without_a_timeout_waits_for_the_wait_budget)
{
    struct hgi_policy policy = engine_policy();
    struct engine *e;
    struct engine_call *beginner;

    policy.load_timeout_ms = 100000;
    e = engine_create(&policy);
    beginner = engine_get(e, "k");
    engine_pass(e, 4999);
    ck_assert_waiting(beginner);
    engine_pass(e, 1);
    ck_assert_refused(beginner, HG_DEADLINE_EXCEEDED);
    engine_destroy(e);
}
END_TEST

START_TEST(nobody_waits_longer_than_two_minutes)
{
    struct hgi_policy policy = engine_policy();
    struct engine *e;
    struct engine_call *long_timeout;
    struct engine_call *long_budget;

    policy.load_timeout_ms = 1000000;
    policy.wait_budget_ms = 1000000;
    e = engine_create(&policy);
    long_timeout = engine_read_with(e, "a", HG_MODE_FRESH, -1, 500000);
    long_budget = engine_get(e, "b");
    engine_pass(e, 119999);
    ck_assert_waiting(long_timeout);
    ck_assert_waiting(long_budget);
    engine_pass(e, 1);
    ck_assert_refused(long_timeout, HG_DEADLINE_EXCEEDED);
    ck_assert_refused(long_budget, HG_DEADLINE_EXCEEDED);
    engine_destroy(e);
}
END_TEST

START_TEST(a_call_sent_back_after_its_time_begins_no_load)
{
    struct hgi_policy policy = engine_policy();
    struct engine *e;
    struct engine_call *c;

    policy.on_fenced = HGI_ON_FENCED_RELOAD;
    e = engine_create(&policy);
    c = engine_read_with(e, "k", HG_MODE_FRESH, -1, 100);
    e->now.boot_ms += 100; /* due, but the tick has not come yet */
    engine_clear(e);
    ck_assert_refused(c, HG_DEADLINE_EXCEEDED);
    ck_assert_uint_eq(e->load_count, 1);
    engine_destroy(e);
}
END_TEST

/* ---- leaving ---- */

START_TEST(a_caller_that_leaves_is_told_at_once_and_leaves_alone)
{
    struct engine *e = engine_create(NULL);
    struct engine_call *beginner = engine_get(e, "k");
    struct engine_call *follower = engine_get(e, "k");
    struct engine_call *other = engine_get(e, "k");

    hgi_cache_leave(e->cache, &follower->call, &e->now);
    ck_assert_refused(follower, HG_CANCELLED);
    hgi_cache_leave(e->cache, &beginner->call, &e->now);
    ck_assert_refused(beginner, HG_CANCELLED);
    ck_assert_waiting(other);
    ck_assert_uint_eq(engine_stats(e).waiting, 1);
    engine_value(e, 0, "v");
    ck_assert_answer(other, HG_SOURCE_JOINED, "v");
    hgi_cache_leave(e->cache, &other->call, &e->now); /* answered already: nothing happens */
    ck_assert_answer(other, HG_SOURCE_JOINED, "v");
    engine_destroy(e);
}
END_TEST

START_TEST(a_fenced_load_whose_beginner_leaves_is_cancelled)
{
    struct engine *e = engine_create(NULL);
    struct engine_call *beginner = engine_get(e, "k");

    engine_clear(e);
    ck_assert(!e->loads[0].is_cancelled);
    hgi_cache_leave(e->cache, &beginner->call, &e->now);
    ck_assert_refused(beginner, HG_CANCELLED);
    ck_assert(e->loads[0].is_cancelled);
    ck_assert_uint_eq(engine_stats(e).in_flight, 1); /* until it has ended */
    engine_value(e, 0, "v");
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_late), 1);
    ck_assert_uint_eq(engine_stats(e).in_flight, 0);
    engine_destroy(e);
}
END_TEST

/* ---- stopping ---- */

START_TEST(a_stopped_cache_ends_its_waiters_and_still_serves_hits)
{
    struct hgi_policy policy = engine_policy();
    struct engine *e;
    struct engine_call *beginner;
    struct engine_call *follower;
    struct engine_call *queued;

    policy.max_loads = 1;
    e = engine_create(&policy);
    engine_put(e, "hot", "v");
    beginner = engine_get(e, "k");
    follower = engine_get(e, "k");
    queued = engine_get(e, "queued");
    hgi_cache_stop(e->cache, &e->now);
    ck_assert_refused(beginner, HG_UNAVAILABLE);
    ck_assert_refused(follower, HG_UNAVAILABLE);
    ck_assert_refused(queued, HG_UNAVAILABLE);
    ck_assert_str_ne(queued->message, "");
    ck_assert(e->loads[0].is_cancelled);
    ck_assert_uint_eq(engine_stats(e).queued, 0);
    ck_assert_refused(engine_get(e, "new"), HG_UNAVAILABLE);
    ck_assert_answer(engine_get(e, "hot"), HG_SOURCE_FRESH, "v");
    engine_pass(e, 150);
    ck_assert_answer(engine_read(e, "hot", HG_MODE_REVALIDATE), HG_SOURCE_STALE, "v");
    ck_assert_uint_eq(e->load_count, 1); /* no refresh either */
    engine_value(e, 0, "late");
    ck_assert_negative(engine_read(e, "k", HG_MODE_PEEK), HG_SOURCE_NONE, HG_NOT_CACHED);
    ck_assert_uint_eq(e->load_count, 1); /* the queue was dropped */
    engine_destroy(e);
}
END_TEST

START_TEST(stats_count_what_is_there_and_what_waits)
{
    struct hgi_policy policy = engine_policy();
    struct engine *e;
    struct hgi_cache_stats stats;

    policy.max_loads = 2;
    e = engine_create(&policy);
    engine_put(e, "a", "v");
    engine_put_negative(e, "b", HG_ABSENT);
    for (int i = 0; i < 3; i++) {
        engine_get(e, "x");
        engine_get(e, "y");
        engine_get(e, "z");
    }
    stats = engine_stats(e);
    ck_assert_uint_eq(stats.entries, 2);
    ck_assert_uint_eq(stats.negatives, 1);
    ck_assert_uint_gt(stats.bytes, 4);
    ck_assert_uint_eq(stats.in_flight, 2);
    ck_assert_uint_eq(stats.queued, 1);
    ck_assert_uint_eq(stats.waiting, 9);
    ck_assert_uint_eq(stats.generation, hgi_cache_generation(e->cache));
    ck_assert_uint_eq(stats.counters[HGI_METRIC_miss], 9);
    ck_assert_uint_eq(stats.counters[HGI_METRIC_follower_wait], 6);
    ck_assert_uint_eq(stats.counters[HGI_METRIC_put], 2);
    engine_destroy(e);
}
END_TEST

START_TEST(the_tick_gives_back_what_is_over_and_the_bound_evicts)
{
    struct hgi_policy policy = engine_policy();
    struct engine *e;
    char key[16];

    policy.max_entries = 8;
    e = engine_create(&policy);
    for (int i = 0; i < 20; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        engine_put(e, key, "v");
    }
    ck_assert_uint_eq(engine_stats(e).entries, 8);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_evicted), 12);
    engine_pass(e, 301);
    ck_assert_uint_eq(engine_stats(e).entries, 0);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_expired), 8);
    engine_destroy(e);
}
END_TEST

/* ---- memory that runs out ---- */

START_TEST(a_cache_that_cannot_be_made_leaks_nothing)
{
    struct hgi_policy policy = engine_policy();
    struct hgi_cache_options options = {.name = "poor", .policy = &policy};
    size_t n = 1;

    for (;; n++) {
        struct hgi_test_allocator memory;
        struct hgi_cache *cache;

        hgi_test_allocator_init(&memory);
        memory.fail_at = n;
        cache = hgi_cache_create(&memory.allocator, &options);
        ck_assert_int_eq(cache != NULL, memory.fail_at != 0);
        hgi_cache_destroy(&cache);
        ck_assert_uint_eq(memory.out_count, 0);
        if (memory.fail_at) {
            break; /* no allocation was left to fail */
        }
    }
    ck_assert_uint_gt(n, 4);
}
END_TEST

/* What each key's value must be after every step of the script, whatever failed on the way: the
 * newest, or nothing. */
static void check_newest(struct engine *e, const char *key, const char *newest)
{
    struct engine_call *c = engine_read(e, key, HG_MODE_PEEK);

    ck_assert_int_eq(c->answers, 1);
    ck_assert_int_eq(c->status, HG_OK);
    if (c->outcome == HG_VALUE) {
        ck_assert_str_eq(c->value, newest);
    } else {
        ck_assert_int_eq(c->outcome, HG_NOT_CACHED);
    }
}

static void end_loads(struct engine *e, const char *value)
{
    for (size_t i = 0; i < e->load_count; i++) {
        if (!e->loads[i].is_ended) {
            engine_value(e, i, value);
        }
    }
}

static void script(struct engine *e)
{
    char key[16];

    for (int i = 0; i < 20; i++) { /* more deadlines and flights than a heap's first room */
        snprintf(key, sizeof(key), "k%d", i);
        engine_get(e, key);
        engine_get(e, key);
    }
    engine_clear(e);
    end_loads(e, "after clear, or fenced");
    engine_get(e, "a");
    engine_get(e, "a");
    end_loads(e, "a1");
    check_newest(e, "a", "a1");
    engine_put(e, "a", "a2");
    check_newest(e, "a", "a2");
    engine_get(e, "b");
    engine_get(e, "b");
    engine_put(e, "b", "b2");
    end_loads(e, "b1");
    check_newest(e, "b", "b2");
    engine_put_if(e, "b", "b3", hgi_cache_generation(e->cache));
    engine_pass(e, 150);
    engine_read(e, "b", HG_MODE_REVALIDATE);
    engine_read(e, "b", HG_MODE_FRESH);
    engine_invalidate(e, "b");
    check_newest(e, "b", "nothing");
    engine_get(e, "c");
    engine_get(e, "c");
    engine_get(e, "c");
    for (size_t i = 0; i < e->load_count; i++) {
        if (!e->loads[i].is_ended) {
            engine_error(e, i, HG_INTERNAL, "bad"); /* on_error = each: followers load */
            break;
        }
    }
    end_loads(e, "c1");
    engine_clear(e);
    check_newest(e, "a", "nothing");
    check_newest(e, "c", "nothing");
}

START_TEST(whatever_allocation_fails_every_call_is_answered_once_and_nothing_old_comes_back)
{
    size_t n = 1;
    bool is_over = false;

    for (; !is_over; n++) {
        struct hgi_policy policy = engine_policy();
        struct engine *e;

        policy.on_error = HGI_ON_ERROR_EACH;
        policy.on_fenced = n % 2 ? HGI_ON_FENCED_DELIVER : HGI_ON_FENCED_RELOAD;
        e = engine_create(&policy);
        e->memory.fail_at = n;
        script(e);
        is_over = e->memory.fail_at != 0;
        e->memory.fail_at = 0;
        engine_destroy(e); /* answered once each, nothing out */
    }
    ck_assert_uint_gt(n, 50);
}
END_TEST

HGI_SUITE("server.cache", 60, each_mode_does_with_each_age_what_it_says,
          a_call_without_a_mode_gets_the_caches_own, a_hit_tells_its_age_what_is_left_and_its_birth,
          a_readers_max_age_sends_only_that_reader_to_load,
          a_revalidating_reader_with_a_max_age_gets_the_value_and_a_refresh,
          a_max_age_beyond_the_ttl_does_not_lengthen_it,
          a_negative_is_replaced_by_a_put_and_replaces_a_value,
          a_value_past_its_expires_at_is_served_to_nobody,
          keys_are_bytes_and_one_byte_more_is_another_key, the_winner_looks_again_before_it_loads,
          a_cache_without_a_loader_serves_puts_and_says_so_on_a_miss,
          a_restored_entry_is_served_for_the_time_it_has_left_and_falls_to_a_clear,
          a_caller_waits_as_long_as_it_said_and_its_load_goes_on,
          a_load_nobody_waits_for_any_more_still_publishes,
          a_caller_without_a_timeout_waits_for_the_wait_budget,
          nobody_waits_longer_than_two_minutes, a_call_sent_back_after_its_time_begins_no_load,
          a_caller_that_leaves_is_told_at_once_and_leaves_alone,
          a_fenced_load_whose_beginner_leaves_is_cancelled,
          a_stopped_cache_ends_its_waiters_and_still_serves_hits,
          stats_count_what_is_there_and_what_waits,
          the_tick_gives_back_what_is_over_and_the_bound_evicts,
          a_cache_that_cannot_be_made_leaks_nothing,
          whatever_allocation_fails_every_call_is_answered_once_and_nothing_old_comes_back)
