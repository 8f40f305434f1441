/* SPDX-License-Identifier: Apache-2.0 */
/* Flight policies and freshness beyond the first version: elect, alone, jitter, min_generation and
 * the successor flight, stale_if_error, the memory of failures, refresh ahead. */
#include <stdio.h>

#include "engine.h"

/* ---- elect ---- */

/* nora-registry 1.3.3, test 9. */
START_TEST(failed_leader_hands_over_to_one_new_leader)
{
    struct hgi_policy policy = engine_policy();
    struct engine *e;
    struct engine_call *callers[8];

    policy.on_error = HGI_ON_ERROR_ELECT;
    e = engine_create(&policy);
    for (int i = 0; i < 8; i++) {
        callers[i] = engine_get(e, "pkg");
    }
    engine_error(e, 0, HG_UNAVAILABLE, "first fetch fails");
    ck_assert_refused(callers[0], HG_UNAVAILABLE);
    ck_assert_uint_eq(e->load_count, 2); /* exactly one of the seven leads */
    engine_value(e, 1, "42");
    ck_assert_answer(callers[1], HG_SOURCE_LOADED, "42");
    for (int i = 2; i < 8; i++) {
        ck_assert_answer(callers[i], HG_SOURCE_JOINED, "42");
    }
    ck_assert_uint_eq(e->load_count, 2);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_fallthrough_leader), 7);
    engine_destroy(e);
}
END_TEST

START_TEST(an_elected_leaders_flight_is_joined_by_newcomers_and_may_fail_in_turn)
{
    struct hgi_policy policy = engine_policy();
    struct engine *e;
    struct engine_call *a;
    struct engine_call *b;
    struct engine_call *late;

    policy.on_error = HGI_ON_ERROR_ELECT;
    e = engine_create(&policy);
    a = engine_get(e, "k");
    b = engine_get(e, "k");
    engine_error(e, 0, HG_UNAVAILABLE, "one");
    late = engine_get(e, "k");
    engine_error(e, 1, HG_UNAVAILABLE, "two");
    ck_assert_str_eq(a->message, "one");
    ck_assert_str_eq(b->message, "two");
    ck_assert_uint_eq(e->load_count, 3);
    engine_value(e, 2, "v");
    ck_assert_answer(late, HG_SOURCE_LOADED, "v");
    engine_destroy(e);
}
END_TEST

START_TEST(the_elected_leave_a_successor_its_slot)
{
    struct hgi_policy policy = engine_policy();
    struct engine *e;
    struct engine_call *b;
    struct engine_call *newer;
    struct engine_call *late;

    policy.on_error = HGI_ON_ERROR_ELECT;
    e = engine_create(&policy);
    engine_get(e, "k");
    b = engine_get(e, "k");
    newer = engine_read_from(e, "k", engine_invalidate(e, "other").generation);
    engine_error(e, 0, HG_UNAVAILABLE, "one");
    late = engine_get(e, "k");
    engine_value(e, 1, "v");
    ck_assert_answer(newer, HG_SOURCE_LOADED, "v");
    ck_assert_answer(late, HG_SOURCE_JOINED, "v");
    engine_value(e, 2, "w");
    ck_assert_answer(b, HG_SOURCE_LOADED, "w");
    engine_destroy(e);
}
END_TEST

/* ---- alone ---- */

START_TEST(a_follower_past_its_budget_loads_alone_if_it_has_time_left)
{
    struct hgi_policy policy = engine_policy();
    struct engine *e;
    struct engine_call *leader;
    struct engine_call *patient;
    struct engine_call *hasty;

    policy.alone = true;
    policy.wait_budget_ms = 100;
    policy.load_timeout_ms = 5000;
    e = engine_create(&policy);
    leader = engine_read_with(e, "k", HG_MODE_FRESH, -1, 3000);
    patient = engine_read_with(e, "k", HG_MODE_FRESH, -1, 3000);
    hasty = engine_read_with(e, "k", HG_MODE_FRESH, -1, 100);
    engine_pass(e, 100);
    ck_assert_refused(hasty, HG_DEADLINE_EXCEEDED);
    ck_assert_int_eq(patient->answers, 0);
    ck_assert_uint_eq(e->load_count, 2);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_fallthrough_budget), 2);
    engine_value(e, 1, "own");
    ck_assert_answer(patient, HG_SOURCE_LOADED, "own");
    engine_value(e, 0, "first");
    ck_assert_answer(leader, HG_SOURCE_LOADED, "first");
    engine_destroy(e);
}
END_TEST

START_TEST(without_a_timeout_alone_gives_the_budget_and_one_load)
{
    struct hgi_policy policy = engine_policy();
    struct engine *e;
    struct engine_call *follower;

    policy.alone = true;
    policy.wait_budget_ms = 100;
    policy.load_timeout_ms = 500;
    e = engine_create(&policy);
    e->holds_sends = true; /* so that no load times out before its caller */
    engine_get(e, "k");
    follower = engine_get(e, "k");
    engine_pass(e, 599);
    ck_assert_int_eq(follower->answers, 0);
    engine_pass(e, 1);
    ck_assert_refused(follower, HG_DEADLINE_EXCEEDED);
    engine_destroy(e);
}
END_TEST

/* ---- jitter ---- */

START_TEST(jitter_only_shortens_by_its_share_and_spreads)
{
    struct hgi_policy policy = engine_policy();
    struct engine *e;
    int64_t least = INT64_MAX;
    int64_t most = 0;

    policy.ttl_ms = 100000;
    policy.stale_ttl_ms = 100000;
    policy.jitter_percent = 10;
    e = engine_create(&policy);
    for (int i = 0; i < 200; i++) {
        char key[16];
        struct engine_call *c;

        snprintf(key, sizeof(key), "k%d", i);
        engine_put(e, key, "v");
        c = engine_get(e, key);
        ck_assert_int_eq(c->ttl_left_ms, c->stale_left_ms); /* it serves nothing stale */
        least = c->ttl_left_ms < least ? c->ttl_left_ms : least;
        most = c->ttl_left_ms > most ? c->ttl_left_ms : most;
        ck_assert_int_eq(engine_get(e, key)->ttl_left_ms, c->ttl_left_ms); /* drawn once */
    }
    ck_assert_int_ge(least, 90000);
    ck_assert_int_le(most, 100000);
    ck_assert_int_lt(least, 92000);
    ck_assert_int_gt(most, 98000);
    engine_destroy(e);
}
END_TEST

/* ---- min_generation ---- */

START_TEST(a_reader_is_never_given_what_was_born_before_its_generation)
{
    struct engine *e = engine_create(NULL);
    struct engine_call *c;

    engine_put(e, "k", "old");
    engine_put(e, "other", "x");
    c = engine_read_from(e, "k", hgi_cache_generation(e->cache));
    ck_assert_int_eq(c->answers, 0);                              /* a miss for this reader ... */
    ck_assert_answer(engine_get(e, "k"), HG_SOURCE_FRESH, "old"); /* ... and for nobody else */
    engine_value(e, 0, "new");
    ck_assert_answer(c, HG_SOURCE_LOADED, "new");
    ck_assert_answer(engine_get(e, "k"), HG_SOURCE_FRESH, "new");
    engine_destroy(e);
}
END_TEST

START_TEST(a_generation_above_the_counter_is_refused)
{
    struct engine *e = engine_create(NULL);

    ck_assert_refused(engine_read_from(e, "k", hgi_cache_generation(e->cache) + 1),
                      HG_FAILED_PRECONDITION);
    ck_assert_uint_eq(e->load_count, 0);
    engine_destroy(e);
}
END_TEST

START_TEST(a_flight_that_gave_its_slot_away_is_not_joined_when_the_successor_fails)
{
    struct engine *e = engine_create(NULL);
    struct engine_call *late;

    (void)engine_get(e, "k");
    (void)engine_invalidate(e, "other");
    (void)engine_read_from(e, "k", hgi_cache_generation(e->cache));
    engine_error(e, 1, HG_UNAVAILABLE, "down");
    late = engine_get(e, "k");
    ck_assert_uint_eq(e->load_count, 3);
    engine_value(e, 2, "late");
    ck_assert_answer(late, HG_SOURCE_LOADED, "late");
    engine_destroy(e);
}
END_TEST

START_TEST(a_newer_reader_refused_for_want_of_room_costs_the_flight_no_slot)
{
    struct hgi_policy policy = engine_policy();
    struct engine_call *newer;
    struct engine_call *joiner;
    struct engine *e;

    policy.max_loads = 1;
    policy.queue_max = 0;
    e = engine_create(&policy);
    (void)engine_get(e, "k");
    (void)engine_invalidate(e, "other");
    newer = engine_read_from(e, "k", hgi_cache_generation(e->cache));
    ck_assert_refused(newer, HG_RESOURCE_EXHAUSTED);
    joiner = engine_get(e, "k");
    ck_assert_waiting(joiner);
    engine_value(e, 0, "v");
    ck_assert_answer(joiner, HG_SOURCE_JOINED, "v");
    engine_destroy(e);
}
END_TEST

START_TEST(a_reader_newer_than_a_flight_starts_the_successor)
{
    struct engine *e = engine_create(NULL);
    struct engine_call *old = engine_get(e, "k");
    struct engine_call *newer;
    struct engine_call *joiner;

    engine_put(e, "other", "x"); /* the counter moves on; the flight of k is not fenced */
    newer = engine_read_from(e, "k", hgi_cache_generation(e->cache));
    ck_assert_uint_eq(e->load_count, 2);
    joiner = engine_get(e, "k"); /* the successor has the slot */
    engine_value(e, 1, "new");
    ck_assert_answer(newer, HG_SOURCE_LOADED, "new");
    ck_assert_answer(joiner, HG_SOURCE_JOINED, "new");
    ck_assert_int_eq(old->answers, 0);
    engine_value(e, 0, "old");
    ck_assert_answer(old, HG_SOURCE_LOADED, "old");
    ck_assert(!old->is_fenced);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_superseded), 1);
    ck_assert_answer(engine_get(e, "k"), HG_SOURCE_FRESH, "new");
    engine_destroy(e);
}
END_TEST

/* ---- stale_if_error ---- */

static struct engine *with_stale_if_error(void)
{
    struct hgi_policy policy = engine_policy(); /* ttl 100, stale_ttl 300 */

    policy.stale_if_error_ms = 1000;
    return engine_create(&policy);
}

START_TEST(an_old_value_answers_a_failed_load_and_nobody_else)
{
    struct engine *e = with_stale_if_error();
    struct engine_call *leader;
    struct engine_call *follower;
    struct engine_call *strict;

    engine_put(e, "k", "old");
    engine_pass(e, 400); /* past stale_ttl */
    ck_assert_int_eq(engine_read(e, "k", HG_MODE_PEEK)->outcome, HG_NOT_CACHED);
    leader = engine_get(e, "k");
    follower = engine_read(e, "k", HG_MODE_ALLOW_STALE);
    strict = engine_read_with(e, "k", HG_MODE_FRESH, 50, 0);
    ck_assert_int_eq(leader->answers, 0);
    engine_error(e, 0, HG_UNAVAILABLE, "away");
    ck_assert_answer(leader, HG_SOURCE_STALE, "old");
    ck_assert_int_eq(leader->age_ms, 400);
    ck_assert_answer(follower, HG_SOURCE_STALE, "old");
    ck_assert_refused(strict, HG_UNAVAILABLE); /* it allows no such age */
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_kept_hit), 2);
    engine_destroy(e);
}
END_TEST

START_TEST(until_the_pause_is_over_the_old_value_answers_without_a_load)
{
    struct engine *e = with_stale_if_error();

    engine_put(e, "k", "old");
    engine_pass(e, 400);
    engine_get(e, "k");
    engine_error(e, 0, HG_UNAVAILABLE, "away");
    ck_assert_answer(engine_get(e, "k"), HG_SOURCE_STALE, "old");
    ck_assert_uint_eq(e->load_count, 1);
    engine_pass(e, 100); /* the longest first pause */
    engine_get(e, "k");
    ck_assert_uint_eq(e->load_count, 2);
    engine_destroy(e);
}
END_TEST

START_TEST(an_invalidated_value_never_answers_a_failed_load)
{
    struct engine *e = with_stale_if_error();
    struct engine_call *c;

    engine_put(e, "k", "old");
    engine_put(e, "j", "old");
    engine_pass(e, 400);
    engine_invalidate(e, "k");
    c = engine_get(e, "k");
    engine_error(e, 0, HG_UNAVAILABLE, "away");
    ck_assert_refused(c, HG_UNAVAILABLE);
    engine_clear(e);
    c = engine_get(e, "j");
    engine_error(e, 1, HG_UNAVAILABLE, "away");
    ck_assert_refused(c, HG_UNAVAILABLE);
    engine_destroy(e);
}
END_TEST

START_TEST(what_a_loader_says_of_the_request_is_no_reason_for_old_values)
{
    struct engine *e = with_stale_if_error();
    struct engine_call *c;

    engine_put(e, "k", "old");
    engine_pass(e, 400);
    c = engine_get(e, "k");
    engine_error(e, 0, HG_PERMISSION_DENIED, "not you");
    ck_assert_refused(c, HG_PERMISSION_DENIED);
    c = engine_get(e, "k"); /* nor in the pause that follows */
    ck_assert_int_eq(c->answers, 0);
    engine_error(e, 1, HG_UNAVAILABLE, "away");
    ck_assert_answer(c, HG_SOURCE_STALE, "old");
    ck_assert_answer(engine_get(e, "k"), HG_SOURCE_STALE, "old");
    ck_assert_uint_eq(e->load_count, 2);
    engine_destroy(e);
}
END_TEST

START_TEST(stale_if_error_ends_with_its_time)
{
    struct engine *e = with_stale_if_error();
    struct engine_call *c;

    engine_put(e, "k", "old");
    engine_pass(e, 1301);
    c = engine_get(e, "k");
    engine_error(e, 0, HG_UNAVAILABLE, "away");
    ck_assert_refused(c, HG_UNAVAILABLE);
    engine_destroy(e);
}
END_TEST

/* ---- the memory of failures ---- */

static struct engine *with_error_backoff(void)
{
    struct hgi_policy policy = engine_policy();

    policy.error_backoff_ms = 100;
    policy.max_entries = 128; /* 16 failures */
    return engine_create(&policy);
}

START_TEST(a_failure_is_remembered_and_tells_how_long)
{
    struct engine *e = with_error_backoff();
    struct engine_call *c;

    engine_get(e, "k");
    engine_error(e, 0, HG_UNAVAILABLE, "away");
    engine_pass(e, 40);
    c = engine_get(e, "k");
    ck_assert_refused(c, HG_UNAVAILABLE);
    ck_assert_str_eq(c->message, "away");
    ck_assert_uint_eq(c->retry_after_ms, 60);
    ck_assert_int_eq(c->source, HG_SOURCE_JOINED);
    ck_assert_uint_eq(e->load_count, 1);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_failure_hit), 1);
    engine_pass(e, 60);
    engine_get(e, "k");
    ck_assert_uint_eq(e->load_count, 2);
    engine_error(e, 1, HG_UNAVAILABLE, "still");
    engine_pass(e, 199); /* twice as long now */
    ck_assert_str_eq(engine_get(e, "k")->message, "still");
    engine_pass(e, 1);
    engine_get(e, "k");
    ck_assert_uint_eq(e->load_count, 3);
    engine_value(e, 2, "v");
    engine_pass(e, 301);
    engine_get(e, "k");
    engine_error(e, 3, HG_UNAVAILABLE, "anew");
    engine_pass(e, 100); /* a success made it forget how often it had failed */
    engine_get(e, "k");
    ck_assert_uint_eq(e->load_count, 5);
    engine_destroy(e);
}
END_TEST

START_TEST(a_put_an_invalidation_and_a_clear_forget_failures)
{
    struct engine *e = with_error_backoff();

    engine_get(e, "a");
    engine_error(e, 0, HG_UNAVAILABLE, "away");
    engine_put(e, "a", "v");
    ck_assert_answer(engine_get(e, "a"), HG_SOURCE_FRESH, "v");
    engine_get(e, "b");
    engine_error(e, 1, HG_UNAVAILABLE, "away");
    engine_invalidate(e, "b");
    engine_get(e, "b");
    ck_assert_uint_eq(e->load_count, 3);
    engine_error(e, 2, HG_UNAVAILABLE, "away");
    engine_clear(e);
    engine_get(e, "b");
    ck_assert_uint_eq(e->load_count, 4);
    engine_destroy(e);
}
END_TEST

START_TEST(failures_are_remembered_up_to_their_bound)
{
    struct engine *e = with_error_backoff();

    for (size_t i = 0; i < 17; i++) {
        char key[8];

        snprintf(key, sizeof(key), "k%zu", i);
        engine_get(e, key);
        engine_error(e, i, HG_UNAVAILABLE, "away");
    }
    engine_get(e, "k1");
    ck_assert_uint_eq(e->load_count, 17); /* remembered */
    engine_get(e, "k0");
    ck_assert_uint_eq(e->load_count, 18); /* the oldest is not */
    engine_destroy(e);
}
END_TEST

/* ---- refresh ahead ---- */

START_TEST(a_fresh_read_in_the_last_part_of_the_ttl_refreshes_once)
{
    struct hgi_policy policy = engine_policy();
    struct engine *e;

    policy.refresh_ahead_percent = 20; /* of 100 ms */
    e = engine_create(&policy);
    engine_put(e, "k", "old");
    engine_pass(e, 79);
    ck_assert_answer(engine_get(e, "k"), HG_SOURCE_FRESH, "old");
    ck_assert_uint_eq(e->load_count, 0);
    engine_pass(e, 1);
    ck_assert_answer(engine_read(e, "k", HG_MODE_PEEK), HG_SOURCE_FRESH, "old");
    ck_assert_answer(engine_read(e, "k", HG_MODE_ALLOW_STALE), HG_SOURCE_FRESH, "old");
    ck_assert_uint_eq(e->load_count, 0); /* those never start one */
    ck_assert_answer(engine_get(e, "k"), HG_SOURCE_FRESH, "old");
    ck_assert_answer(engine_get(e, "k"), HG_SOURCE_FRESH, "old");
    ck_assert_uint_eq(e->load_count, 1);
    engine_value(e, 0, "new");
    ck_assert_answer(engine_get(e, "k"), HG_SOURCE_FRESH, "new");
    ck_assert_uint_eq(e->load_count, 1);
    engine_destroy(e);
}
END_TEST

START_TEST(a_failed_refresh_ahead_pauses_and_the_value_stays)
{
    struct hgi_policy policy = engine_policy();
    struct engine *e;

    policy.refresh_ahead_percent = 90;
    policy.ttl_ms = 10000;
    policy.stale_ttl_ms = 10000;
    e = engine_create(&policy);
    engine_put(e, "k", "old");
    engine_pass(e, 2000);
    engine_get(e, "k");
    engine_error(e, 0, HG_UNAVAILABLE, "away");
    ck_assert_answer(engine_get(e, "k"), HG_SOURCE_FRESH, "old");
    ck_assert_uint_eq(e->load_count, 1);
    engine_pass(e, 100);
    engine_get(e, "k");
    ck_assert_uint_eq(e->load_count, 2);
    engine_destroy(e);
}
END_TEST

/* XFetch: with a load of 100 ms, a read d ms before the end refreshes with probability exp(-d /
 * 100). */
START_TEST(xfetch_draws_the_sooner_the_nearer_the_end)
{
    struct hgi_policy policy = engine_policy();
    int early = 0;
    int late = 0;

    policy.refresh_ahead_is_random = true;
    policy.ttl_ms = 1000;
    policy.stale_ttl_ms = 1000;
    policy.load_timeout_ms = 60000;
    for (int i = 0; i < 2; i++) {
        struct engine *e = engine_create(&policy);

        for (int n = 0; n < 300; n++) {
            char key[16];
            size_t loads = e->load_count;

            snprintf(key, sizeof(key), "k%d", n);
            engine_get(e, key);
            engine_pass(e, 100);
            engine_value(e, loads, "v");
            engine_pass(e, i ? 990 : 800); /* 10 or 200 ms before its end */
            engine_get(e, key);
            if (e->load_count == loads + 2) {
                *(i ? &late : &early) += 1;
                engine_value(e, loads + 1, "v");
            }
        }
        engine_destroy(e);
    }
    ck_assert_int_gt(early, 15); /* exp(-2) of 300 is 41 */
    ck_assert_int_lt(early, 80);
    ck_assert_int_gt(late, 250); /* exp(-0.1) of 300 is 271 */
    ck_assert_int_lt(late, 299);
}
END_TEST

HGI_SUITE("server.freshness", 20, failed_leader_hands_over_to_one_new_leader,
          an_elected_leaders_flight_is_joined_by_newcomers_and_may_fail_in_turn,
          the_elected_leave_a_successor_its_slot,
          a_follower_past_its_budget_loads_alone_if_it_has_time_left,
          without_a_timeout_alone_gives_the_budget_and_one_load,
          jitter_only_shortens_by_its_share_and_spreads,
          a_reader_is_never_given_what_was_born_before_its_generation,
          a_generation_above_the_counter_is_refused,
          a_reader_newer_than_a_flight_starts_the_successor,
          a_newer_reader_refused_for_want_of_room_costs_the_flight_no_slot,
          a_flight_that_gave_its_slot_away_is_not_joined_when_the_successor_fails,
          an_old_value_answers_a_failed_load_and_nobody_else,
          until_the_pause_is_over_the_old_value_answers_without_a_load,
          an_invalidated_value_never_answers_a_failed_load,
          what_a_loader_says_of_the_request_is_no_reason_for_old_values,
          stale_if_error_ends_with_its_time, a_failure_is_remembered_and_tells_how_long,
          a_put_an_invalidation_and_a_clear_forget_failures,
          failures_are_remembered_up_to_their_bound,
          a_fresh_read_in_the_last_part_of_the_ttl_refreshes_once,
          a_failed_refresh_ahead_pauses_and_the_value_stays,
          xfetch_draws_the_sooner_the_nearer_the_end)
