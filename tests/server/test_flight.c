/* SPDX-License-Identifier: Apache-2.0 */
/* Flights: who joins, who queues, what a failed, late or overtaken load means to whom. */
#include <stdio.h>

#include "base/check.h"
#include "engine.h"

static size_t running_load(const struct engine *e, const char *key)
{
    for (size_t i = 0; i < e->load_count; i++) {
        if (!e->loads[i].is_ended && strcmp(e->loads[i].key, key) == 0) {
            return i;
        }
    }
    ck_abort_msg("no load of %s is running", key);
    return 0;
}

/* ---- one load per key ---- */

START_TEST(an_order_names_its_key_attempt_and_timeout_and_ids_are_never_reused)
{
    struct engine *e = engine_create(NULL);

    for (int i = 0; i < 20; i++) {
        engine_get(e, "k");
        ck_assert_str_eq(e->loads[i].key, "k");
        ck_assert_uint_eq(e->loads[i].attempt, 1);
        for (int j = 0; j < i; j++) {
            ck_assert_uint_ne(e->loads[j].load_id, e->loads[i].load_id);
        }
        engine_error(e, (size_t)i, HG_UNAVAILABLE, "down"); /* nothing is remembered: next loads */
    }
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_load), 20);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_load_error), 20);
    engine_destroy(e);
}
END_TEST

START_TEST(one_waiter_more_than_waiters_max_is_refused_with_a_hint)
{
    struct hgi_policy policy = engine_policy();
    struct engine *e;
    struct engine_call *third;
    struct engine_call *fourth;

    policy.waiters_max = 3;
    e = engine_create(&policy);
    engine_get(e, "k");
    engine_get(e, "k");
    third = engine_get(e, "k");
    fourth = engine_get(e, "k");
    ck_assert_waiting(third);
    ck_assert_refused(fourth, HG_RESOURCE_EXHAUSTED);
    ck_assert_uint_gt(fourth->retry_after_ms, 0);
    ck_assert_str_ne(fourth->message, "");
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_refused), 1);
    ck_assert_waiting(engine_get(e, "other"));
    engine_value(e, 0, "v");
    ck_assert_answer(third, HG_SOURCE_JOINED, "v");
    engine_destroy(e);
}
END_TEST

static size_t bytes_of_one_small_entry(void)
{
    struct engine *e = engine_create(NULL);
    size_t bytes;

    engine_put(e, "k", "v");
    bytes = (size_t)engine_stats(e).bytes;
    engine_destroy(e);
    return bytes;
}

/* nora and the seeds: what a flight brings is not read again from the cache. */
START_TEST(followers_get_the_flights_own_result_whatever_became_of_it_in_the_cache)
{
    struct hgi_policy policy = engine_policy();
    char big[61];

    memset(big, 'x', sizeof(big) - 1);
    big[sizeof(big) - 1] = 0;
    policy.max_entries = 1;
    policy.max_bytes = bytes_of_one_small_entry() + 20;
    for (int way = 0; way < 3; way++) {
        struct engine *e = engine_create(&policy);
        struct engine_call *leader = engine_get(e, "k");
        struct engine_call *follower = engine_get(e, "k");
        struct hgi_result result = {.status = HG_OK,
                                    .outcome = HG_VALUE,
                                    .value = hg_slice_text(way == 0 ? big : "v"),
                                    .lifetime = {.no_store = way == 1, .ttl_ms = way == 2}};

        engine_result(e, 0, &result);
        e->now.boot_ms += 2;
        ck_assert_answer(leader, HG_SOURCE_LOADED, way == 0 ? big : "v");
        ck_assert_answer(follower, HG_SOURCE_JOINED, way == 0 ? big : "v");
        ck_assert_int_eq(follower->ttl_left_ms, way == 2);
        ck_assert_uint_eq(engine_metric(e, HGI_METRIC_not_stored), way == 0);
        ck_assert_negative(engine_read(e, "k", HG_MODE_PEEK), HG_SOURCE_NONE, HG_NOT_CACHED);
        ck_assert_uint_eq(e->load_count, 1);
        engine_destroy(e);
    }
}
END_TEST

/* ---- max_loads and its queue ---- */

START_TEST(loads_beyond_max_loads_wait_their_turn_first_come_first_served)
{
    struct hgi_policy policy = engine_policy();
    struct engine *e;
    struct engine_call *calls[6];
    char key[8];

    policy.max_loads = 2;
    e = engine_create(&policy);
    for (int i = 0; i < 6; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        calls[i] = engine_get(e, key);
    }
    ck_assert_uint_eq(e->load_count, 2);
    ck_assert_uint_eq(engine_stats(e).queued, 4);
    for (size_t i = 0; i < 6; i++) {
        snprintf(key, sizeof(key), "k%zu", i);
        ck_assert_str_eq(e->loads[i].key, key);
        ck_assert_uint_eq(e->load_count, i + 2 < 6 ? i + 2 : 6);
        engine_value(e, i, key);
        ck_assert_answer(calls[i], HG_SOURCE_LOADED, key);
    }
    ck_assert_uint_eq(engine_stats(e).queued, 0);
    ck_assert_uint_eq(engine_stats(e).in_flight, 0);
    engine_destroy(e);
}
END_TEST

START_TEST(a_queued_load_is_joined_like_any_other)
{
    struct hgi_policy policy = engine_policy();
    struct engine *e;
    struct engine_call *beginner;
    struct engine_call *follower;

    policy.max_loads = 1;
    e = engine_create(&policy);
    engine_get(e, "k");
    beginner = engine_get(e, "q");
    follower = engine_get(e, "q");
    ck_assert_uint_eq(engine_stats(e).queued, 1);
    engine_value(e, 0, "v");
    engine_value(e, 1, "w");
    ck_assert_answer(beginner, HG_SOURCE_LOADED, "w");
    ck_assert_answer(follower, HG_SOURCE_JOINED, "w");
    engine_destroy(e);
}
END_TEST

START_TEST(one_load_more_than_the_queue_holds_is_refused_with_a_hint)
{
    struct hgi_policy policy = engine_policy();
    struct engine *e;
    struct engine_call *second;
    struct engine_call *third;

    policy.max_loads = 1;
    policy.queue_max = 1;
    e = engine_create(&policy);
    engine_get(e, "a");
    second = engine_get(e, "b");
    third = engine_get(e, "c");
    ck_assert_waiting(second);
    ck_assert_refused(third, HG_RESOURCE_EXHAUSTED);
    ck_assert_uint_gt(third->retry_after_ms, 0);
    ck_assert_waiting(engine_get(e, "b")); /* joining needs no place */
    engine_value(e, 0, "v");
    ck_assert_waiting(engine_get(e, "c"));
    engine_destroy(e);
}
END_TEST

START_TEST(a_queued_load_with_no_waiter_left_is_dropped)
{
    struct hgi_policy policy = engine_policy();
    struct engine *e;
    struct engine_call *left;

    policy.max_loads = 1;
    e = engine_create(&policy);
    engine_get(e, "k");
    left = engine_get(e, "left");
    engine_read_with(e, "timed out", HG_MODE_FRESH, -1, 100);
    engine_get(e, "wanted");
    hgi_cache_leave(e->cache, &left->call, &e->now);
    engine_pass(e, 100);
    ck_assert_uint_eq(engine_stats(e).queued, 1);
    engine_value(e, 0, "v");
    ck_assert_uint_eq(e->load_count, 2);
    ck_assert_str_eq(e->loads[1].key, "wanted");
    engine_destroy(e);
}
END_TEST

/* A loader that blocks is sent a few loads at once; the executor holds the others. */
START_TEST(a_load_not_yet_sent_is_cancelled_when_nobody_waits_for_it)
{
    struct engine *e = engine_create(NULL);
    struct engine_call *c;

    e->holds_sends = true;
    c = engine_get(e, "k");
    hgi_cache_leave(e->cache, &c->call, &e->now);
    ck_assert(e->loads[0].is_cancelled);
    ck_assert_uint_eq(engine_stats(e).in_flight, 1);
    c = engine_get(e, "k"); /* the key is free: its own load */
    ck_assert_uint_eq(e->load_count, 2);
    engine_send(e, 0); /* crossed with the cancel: it starts no timeout */
    engine_error(e, 0, HG_CANCELLED, "not sent");
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_late), 1);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_load_error), 0);
    engine_send(e, 1);
    engine_value(e, 1, "v");
    ck_assert_answer(c, HG_SOURCE_LOADED, "v");
    engine_destroy(e);
}
END_TEST

/* ---- load_timeout ---- */

START_TEST(load_timeout_runs_from_sending)
{
    struct engine *e = engine_create(NULL);
    struct engine_call *c;

    e->holds_sends = true;
    c = engine_read_with(e, "k", HG_MODE_FRESH, -1, 100000);
    engine_pass(e, 3000);
    ck_assert_waiting(c);
    engine_send(e, 0);
    engine_pass(e, 999);
    ck_assert_waiting(c);
    engine_pass(e, 1);
    ck_assert_refused(c, HG_DEADLINE_EXCEEDED);
    ck_assert_int_eq(c->source, HG_SOURCE_LOADED);
    engine_destroy(e);
}
END_TEST

START_TEST(a_load_past_its_timeout_answers_all_keeps_its_place_and_comes_late)
{
    struct hgi_policy policy = engine_policy();
    struct engine *e;
    struct engine_call *leader;
    struct engine_call *follower;
    struct engine_call *next;

    policy.max_loads = 1;
    e = engine_create(&policy);
    leader = engine_get(e, "k");
    follower = engine_get(e, "k");
    engine_pass(e, 1000);
    ck_assert_refused(leader, HG_DEADLINE_EXCEEDED);
    ck_assert_refused(follower, HG_DEADLINE_EXCEEDED);
    ck_assert_str_eq(follower->message, leader->message);
    ck_assert_int_eq(follower->source, HG_SOURCE_JOINED);
    ck_assert(e->loads[0].is_cancelled);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_load_error), 1);
    next = engine_get(e, "k"); /* the slot is free, the place is not */
    ck_assert_uint_eq(e->load_count, 1);
    ck_assert_uint_eq(engine_stats(e).in_flight, 1);
    ck_assert_uint_eq(engine_stats(e).queued, 1);
    engine_value(e, 0, "late");
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_late), 1);
    ck_assert_waiting(next);
    ck_assert_uint_eq(e->load_count, 2);
    engine_value(e, 1, "v");
    ck_assert_answer(next, HG_SOURCE_LOADED, "v");
    engine_destroy(e);
}
END_TEST

START_TEST(every_load_due_at_one_tick_ends_at_it)
{
    struct engine *e = engine_create(NULL);
    struct engine_call *calls[10];
    char key[8];

    for (int i = 0; i < 10; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        calls[i] = engine_get(e, key);
        engine_pass(e, 1);
    }
    engine_pass(e, 995); /* 0 to 5 are due */
    for (int i = 0; i < 10; i++) {
        ck_assert_int_eq(calls[i]->answers, i <= 5);
    }
    engine_destroy(e);
}
END_TEST

/* ---- errors ---- */

START_TEST(under_share_everybody_gets_the_same_error_cut_at_256_bytes)
{
    struct engine *e = engine_create(NULL);
    struct engine_call *calls[32];
    char text[281];
    struct hgi_result result = {
        .status = HG_PERMISSION_DENIED,
        .message = {text, sizeof(text) - 1},
        .retry_after_ms = 70,
    };

    memset(text, 'e', sizeof(text) - 1);
    text[sizeof(text) - 1] = 0;
    for (int i = 0; i < 32; i++) {
        calls[i] = engine_get(e, "k");
    }
    engine_result(e, 0, &result);
    for (int i = 0; i < 32; i++) {
        ck_assert_refused(calls[i], HG_PERMISSION_DENIED);
        ck_assert_uint_eq(strlen(calls[i]->message), 256);
        ck_assert_uint_eq(calls[i]->retry_after_ms, 70);
        ck_assert_int_eq(calls[i]->source, i ? HG_SOURCE_JOINED : HG_SOURCE_LOADED);
    }
    ck_assert_uint_eq(e->load_count, 1);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_coalesced), 31);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_fallthrough_leader), 0);
    engine_destroy(e);
}
END_TEST

static struct engine *each(uint32_t max_loads, uint32_t queue_max)
{
    struct hgi_policy policy = engine_policy();

    policy.on_error = HGI_ON_ERROR_EACH;
    policy.max_loads = max_loads;
    policy.queue_max = queue_max;
    return engine_create(&policy);
}

START_TEST(under_each_the_followers_load_for_themselves_inside_max_loads)
{
    struct engine *e = each(2, 2);
    struct engine_call *calls[7];
    size_t refused = 0;

    for (int i = 0; i < 7; i++) {
        calls[i] = engine_get(e, "k");
    }
    engine_error(e, 0, HG_UNAVAILABLE, "down");
    ck_assert_refused(calls[0], HG_UNAVAILABLE);
    /* two load, two wait in the queue, two find no room */
    ck_assert_uint_eq(e->load_count, 3);
    ck_assert_uint_eq(engine_stats(e).queued, 2);
    for (int i = 1; i < 7; i++) {
        refused += calls[i]->answers == 1;
        if (calls[i]->answers) {
            ck_assert_refused(calls[i], HG_RESOURCE_EXHAUSTED);
            ck_assert_uint_gt(calls[i]->retry_after_ms, 0);
        }
    }
    ck_assert_uint_eq(refused, 2);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_fallthrough_leader), 6);
    for (size_t i = 1; i < 5; i++) {
        engine_value(e, i, "v");
    }
    for (int i = 1; i < 5; i++) {
        ck_assert_answer(calls[i], HG_SOURCE_LOADED, "v");
    }
    ck_assert_answer(engine_get(e, "k"), HG_SOURCE_FRESH, "v");
    engine_destroy(e);
}
END_TEST

START_TEST(under_each_a_load_of_ones_own_fails_for_its_caller_only)
{
    struct engine *e = each(16, 16);
    struct engine_call *calls[3];

    for (int i = 0; i < 3; i++) {
        calls[i] = engine_get(e, "k");
    }
    engine_error(e, 0, HG_UNAVAILABLE, "first");
    engine_error(e, 1, HG_INTERNAL, "second");
    ck_assert_refused(calls[1], HG_INTERNAL);
    ck_assert_int_eq(calls[1]->source, HG_SOURCE_LOADED);
    ck_assert_waiting(calls[2]);
    engine_value(e, 2, "v");
    ck_assert_answer(calls[2], HG_SOURCE_LOADED, "v");
    ck_assert_uint_eq(e->load_count, 3);
    engine_destroy(e);
}
END_TEST

START_TEST(nobody_joins_the_own_load_of_another)
{
    struct engine *e = each(16, 16);
    struct engine_call *own;
    struct engine_call *newcomer;

    engine_get(e, "k");
    own = engine_get(e, "k");
    engine_error(e, 0, HG_UNAVAILABLE, "down");
    newcomer = engine_get(e, "k");
    ck_assert_uint_eq(e->load_count, 3);
    engine_value(e, 1, "own");
    ck_assert_answer(own, HG_SOURCE_LOADED, "own");
    ck_assert_waiting(newcomer);
    engine_value(e, 2, "new");
    ck_assert_answer(newcomer, HG_SOURCE_LOADED, "new");
    engine_destroy(e);
}
END_TEST

START_TEST(under_each_the_followers_load_even_if_the_leader_has_left)
{
    struct engine *e = each(16, 16);
    struct engine_call *leader = engine_get(e, "k");
    struct engine_call *follower = engine_get(e, "k");

    hgi_cache_leave(e->cache, &leader->call, &e->now);
    engine_error(e, 0, HG_UNAVAILABLE, "down");
    ck_assert_waiting(follower);
    ck_assert_uint_eq(e->load_count, 2);
    engine_value(e, 1, "v");
    ck_assert_answer(follower, HG_SOURCE_LOADED, "v");
    engine_destroy(e);
}
END_TEST

START_TEST(under_each_a_follower_whose_time_is_up_loads_nothing)
{
    struct engine *e = each(16, 16);
    struct engine_call *late;
    struct engine_call *patient;

    engine_get(e, "k");
    late = engine_read_with(e, "k", HG_MODE_FRESH, -1, 1000);
    patient = engine_read_with(e, "k", HG_MODE_FRESH, -1, 2000);
    engine_pass(e, 1000); /* the load times out and so does a caller */
    ck_assert_refused(late, HG_DEADLINE_EXCEEDED);
    ck_assert_waiting(patient);
    ck_assert_uint_eq(e->load_count, 2);
    engine_destroy(e);
}
END_TEST

START_TEST(a_load_of_ones_own_queues_behind_those_that_came_before)
{
    struct engine *e = each(1, 16);
    struct engine_call *queued;

    engine_get(e, "k");
    engine_get(e, "k"); /* will have to load for itself */
    queued = engine_get(e, "waits longer");
    engine_error(e, 0, HG_UNAVAILABLE, "down");
    ck_assert_uint_eq(e->load_count, 2);
    ck_assert_str_eq(e->loads[1].key, "waits longer");
    engine_value(e, 1, "v");
    ck_assert_answer(queued, HG_SOURCE_LOADED, "v");
    ck_assert_str_eq(e->loads[2].key, "k");
    engine_destroy(e);
}
END_TEST

START_TEST(a_load_of_ones_own_is_stored_under_the_same_rule)
{
    struct engine *e = each(16, 16);
    struct engine_call *own;

    engine_get(e, "k");
    own = engine_get(e, "k");
    engine_error(e, 0, HG_UNAVAILABLE, "down");
    engine_put(e, "other", "v");
    ck_assert_int_eq(engine_put_if(e, "k", "newer", hgi_cache_generation(e->cache)), HG_OK);
    engine_value(e, 1, "older");
    ck_assert_answer(own, HG_SOURCE_LOADED, "older"); /* born before: answered, not stored */
    ck_assert_int_eq(own->ttl_left_ms, 0);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_superseded), 1);
    ck_assert_answer(engine_get(e, "k"), HG_SOURCE_FRESH, "newer");
    engine_destroy(e);
}
END_TEST

/* ---- the wait budget ---- */

static struct engine *budget(int64_t wait_budget_ms, enum hgi_on_fenced on_fenced)
{
    struct hgi_policy policy = engine_policy();

    policy.load_timeout_ms = 100000;
    policy.wait_budget_ms = wait_budget_ms;
    policy.on_fenced = on_fenced;
    return engine_create(&policy);
}

START_TEST(the_wait_budget_bounds_followers_not_the_beginner)
{
    struct engine *e = budget(500, HGI_ON_FENCED_DELIVER);
    struct engine_call *beginner = engine_read_with(e, "k", HG_MODE_FRESH, -1, 2000);
    struct engine_call *follower = engine_read_with(e, "k", HG_MODE_FRESH, -1, 2000);
    struct engine_call *impatient = engine_read_with(e, "k", HG_MODE_FRESH, -1, 300);

    engine_pass(e, 300);
    ck_assert_refused(impatient, HG_DEADLINE_EXCEEDED);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_fallthrough_budget), 0); /* its own time was up */
    engine_pass(e, 199);
    ck_assert_waiting(follower);
    engine_pass(e, 1);
    ck_assert_refused(follower, HG_DEADLINE_EXCEEDED);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_fallthrough_budget), 1);
    engine_pass(e, 1499);
    ck_assert_waiting(beginner);
    engine_pass(e, 1);
    ck_assert_refused(beginner, HG_DEADLINE_EXCEEDED);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_fallthrough_budget), 1);
    engine_destroy(e);
}
END_TEST

START_TEST(a_follower_without_a_timeout_counts_as_one_whose_budget_was_up)
{
    struct engine *e = budget(500, HGI_ON_FENCED_DELIVER);
    struct engine_call *follower;

    engine_get(e, "k");
    follower = engine_get(e, "k");
    engine_pass(e, 500);
    ck_assert_refused(follower, HG_DEADLINE_EXCEEDED);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_fallthrough_budget), 1);
    engine_destroy(e);
}
END_TEST

START_TEST(the_wait_budget_is_one_for_all_rounds_of_a_call)
{
    struct engine *e = budget(500, HGI_ON_FENCED_DELIVER);
    struct engine_call *first;
    struct engine_call *second;
    struct engine_call *follower;

    first = engine_read_with(e, "k", HG_MODE_FRESH, -1, 60000);
    second = engine_read_with(e, "k", HG_MODE_FRESH, -1, 60000);
    follower = engine_read_with(e, "k", HG_MODE_FRESH, -1, 60000);
    engine_pass(e, 400);
    engine_clear(e); /* the second leads now, the follower follows it */
    ck_assert_uint_eq(e->load_count, 2);
    engine_pass(e, 99);
    ck_assert_waiting(follower);
    engine_pass(e, 1);
    ck_assert_refused(follower, HG_DEADLINE_EXCEEDED);
    ck_assert_waiting(first);
    ck_assert_waiting(second);
    engine_destroy(e);
}
END_TEST

/* ---- rounds ---- */

START_TEST(a_call_is_sent_back_to_look_three_times_and_then_aborted)
{
    struct engine *e = budget(100000, HGI_ON_FENCED_RELOAD);
    struct engine_call *beginner = engine_get(e, "k");
    struct engine_call *follower = engine_get(e, "k");

    for (size_t round = 1; round <= 3; round++) {
        engine_clear(e);
        ck_assert_waiting(beginner);
        ck_assert_waiting(follower);
        ck_assert_uint_eq(e->load_count, round + 1);
    }
    engine_clear(e);
    ck_assert_refused(beginner, HG_ABORTED);
    ck_assert_refused(follower, HG_ABORTED);
    ck_assert_str_ne(follower->message, "");
    ck_assert_uint_eq(e->load_count, 4);
    engine_destroy(e);
}
END_TEST

START_TEST(a_call_sent_back_three_times_still_gets_the_fourth_load)
{
    struct engine *e = budget(100000, HGI_ON_FENCED_DELIVER);
    struct engine_call *follower;
    struct engine_call *beginners[4];

    beginners[0] = engine_get(e, "k");
    for (size_t i = 1; i < 4; i++) {
        beginners[i] = engine_get(e, "k");
    }
    follower = engine_get(e, "k");
    for (int round = 0; round < 3; round++) {
        engine_clear(e);
    }
    ck_assert_uint_eq(e->load_count, 4);
    engine_value(e, running_load(e, "k"), "overtaken");
    ck_assert_answer(beginners[0], HG_SOURCE_LOADED, "overtaken");
    ck_assert(beginners[0]->is_fenced);
    engine_value(e, 3, "new");
    ck_assert_answer(beginners[3], HG_SOURCE_LOADED, "new");
    ck_assert(!beginners[3]->is_fenced);
    ck_assert_answer(follower, HG_SOURCE_JOINED, "new");
    engine_destroy(e);
}
END_TEST

HGI_SUITE("server.flight", 60, an_order_names_its_key_attempt_and_timeout_and_ids_are_never_reused,
          one_waiter_more_than_waiters_max_is_refused_with_a_hint,
          followers_get_the_flights_own_result_whatever_became_of_it_in_the_cache,
          loads_beyond_max_loads_wait_their_turn_first_come_first_served,
          a_queued_load_is_joined_like_any_other,
          one_load_more_than_the_queue_holds_is_refused_with_a_hint,
          a_queued_load_with_no_waiter_left_is_dropped,
          a_load_not_yet_sent_is_cancelled_when_nobody_waits_for_it, load_timeout_runs_from_sending,
          a_load_past_its_timeout_answers_all_keeps_its_place_and_comes_late,
          every_load_due_at_one_tick_ends_at_it,
          under_share_everybody_gets_the_same_error_cut_at_256_bytes,
          under_each_the_followers_load_for_themselves_inside_max_loads,
          under_each_a_load_of_ones_own_fails_for_its_caller_only,
          nobody_joins_the_own_load_of_another,
          under_each_the_followers_load_even_if_the_leader_has_left,
          under_each_a_follower_whose_time_is_up_loads_nothing,
          a_load_of_ones_own_queues_behind_those_that_came_before,
          a_load_of_ones_own_is_stored_under_the_same_rule,
          the_wait_budget_bounds_followers_not_the_beginner,
          a_follower_without_a_timeout_counts_as_one_whose_budget_was_up,
          the_wait_budget_is_one_for_all_rounds_of_a_call,
          a_call_is_sent_back_to_look_three_times_and_then_aborted,
          a_call_sent_back_three_times_still_gets_the_fourth_load)
