/* SPDX-License-Identifier: Apache-2.0 */
#include "hg_test.h"

#include <sched.h>

#include "base/check.h"
#include "base/thread.h"
#include "server/rpc/share.h"

struct caller {
    struct hgi_turn turn;
    struct hgi_share *share;
    int calls;
    bool ends_at_once;
};

static void on_call(struct hgi_turn *turn)
{
    struct caller *caller = HGI_CONTAINER(turn, struct caller, turn);

    caller->calls++;
    if (caller->ends_at_once) {
        hgi_share_end_turn(caller->share);
    }
}

static void caller_init(struct caller *caller, struct hgi_share *share)
{
    *caller = (struct caller){.turn = {.call = on_call}, .share = share};
}

START_TEST(places_are_counted_and_come_back)
{
    struct hgi_share share;

    hgi_share_init(&share, 2, 0);
    ck_assert(hgi_share_book(&share));
    ck_assert(hgi_share_book(&share));
    ck_assert(!hgi_share_book(&share));
    ck_assert(!hgi_share_book(&share)); /* a refusal takes nothing */
    hgi_share_unbook(&share);
    ck_assert(hgi_share_book(&share));
    ck_assert_uint_eq(share.open_count, 2);
    hgi_share_deinit(&share);
}
END_TEST

static void end_many(struct hgi_share *share, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        ck_assert(hgi_share_book(share));
        hgi_share_end(share);
    }
}

START_TEST(half_of_all_places_held_by_who_has_ended_are_too_many)
{
    struct hgi_share share;

    hgi_share_init(&share, 5, 0);
    ck_assert(!hgi_share_is_clogged(&share));
    end_many(&share, 2);
    ck_assert(!hgi_share_is_clogged(&share));
    ck_assert(hgi_share_book(&share)); /* one that lives is nothing to it */
    ck_assert(!hgi_share_is_clogged(&share));
    end_many(&share, 1);
    ck_assert(hgi_share_is_clogged(&share));
    hgi_share_unbook_ended(&share);
    ck_assert(!hgi_share_is_clogged(&share));
    ck_assert_uint_eq(hgi_share_open_count(&share), 3);
    hgi_share_deinit(&share);
}
END_TEST

START_TEST(of_many_places_a_few_hundred_are)
{
    struct hgi_share share;

    hgi_share_init(&share, 10000, 0);
    end_many(&share, HGI_SHARE_CLOG - 1);
    ck_assert(!hgi_share_is_clogged(&share));
    end_many(&share, 1);
    ck_assert(hgi_share_is_clogged(&share));
    hgi_share_deinit(&share);
}
END_TEST

START_TEST(turns_beyond_the_share_wait_and_are_called_in_order)
{
    struct hgi_share share;
    struct caller callers[5];

    hgi_share_init(&share, 1, 2);
    for (size_t i = 0; i < 5; i++) {
        caller_init(&callers[i], &share);
        ck_assert_int_eq(hgi_share_begin_turn(&share, &callers[i].turn), i < 2);
    }
    for (size_t i = 2; i < 5; i++) {
        hgi_share_end_turn(&share);
        for (size_t c = 0; c < 5; c++) {
            ck_assert_int_eq(callers[c].calls, c >= 2 && c <= i);
        }
    }
    /* Two have a turn still, and nobody is in line. */
    hgi_share_end_turn(&share);
    ck_assert(hgi_share_begin_turn(&share, &callers[0].turn));
    ck_assert(!hgi_share_begin_turn(&share, &callers[1].turn));
    hgi_share_end_turn(&share);
    ck_assert_int_eq(callers[1].calls, 1);
    hgi_share_end_turn(&share);
    hgi_share_end_turn(&share);
    hgi_share_deinit(&share);
}
END_TEST

START_TEST(a_turn_that_ends_while_it_is_called_hands_on)
{
    struct hgi_share share;
    struct caller callers[4];

    hgi_share_init(&share, 1, 1);
    for (size_t i = 0; i < 4; i++) {
        caller_init(&callers[i], &share);
        callers[i].ends_at_once = true;
        ck_assert_int_eq(hgi_share_begin_turn(&share, &callers[i].turn), i == 0);
    }
    hgi_share_end_turn(&share);
    for (size_t i = 0; i < 4; i++) {
        ck_assert_int_eq(callers[i].calls, i > 0);
    }
    ck_assert(hgi_share_begin_turn(&share, &callers[0].turn));
    hgi_share_end_turn(&share);
    hgi_share_deinit(&share);
}
END_TEST

START_TEST(without_a_bound_nobody_waits)
{
    struct hgi_share share;
    struct caller callers[100];

    hgi_share_init(&share, 1, 0);
    for (size_t i = 0; i < 100; i++) {
        caller_init(&callers[i], &share);
        ck_assert(hgi_share_begin_turn(&share, &callers[i].turn));
    }
    for (size_t i = 0; i < 100; i++) {
        hgi_share_end_turn(&share);
        ck_assert_int_eq(callers[i].calls, 0);
    }
    hgi_share_deinit(&share);
}
END_TEST

#define THREADS 4
#define ROUNDS  5000

/* Shared by the threads below: how many hold a turn, and how many turns there were. */
struct storm {
    struct hgi_share share;
    _Atomic int holding;
    _Atomic int turns;
    _Atomic bool has_failed;
};

struct walker {
    struct hgi_turn turn;
    struct storm *storm;
    _Atomic bool is_called;
};

static void on_walker(struct hgi_turn *turn)
{
    atomic_store(&HGI_CONTAINER(turn, struct walker, turn)->is_called, true);
}

static void walk(void *arg)
{
    struct walker *walker = arg;
    struct storm *storm = walker->storm;

    for (int i = 0; i < ROUNDS; i++) {
        atomic_store(&walker->is_called, false);
        if (!hgi_share_begin_turn(&storm->share, &walker->turn)) {
            while (!atomic_load(&walker->is_called)) {
                sched_yield();
            }
        }
        if (atomic_fetch_add(&storm->holding, 1) >= 2) {
            atomic_store(&storm->has_failed, true);
        }
        atomic_fetch_add(&storm->turns, 1);
        atomic_fetch_sub(&storm->holding, 1);
        hgi_share_end_turn(&storm->share);
    }
}

START_TEST(threads_never_hold_more_turns_than_there_are)
{
    struct storm storm = {.turns = 0};
    struct walker walkers[THREADS];
    struct hgi_thread threads[THREADS];

    hgi_share_init(&storm.share, 1, 2);
    for (size_t i = 0; i < THREADS; i++) {
        walkers[i] = (struct walker){.turn = {.call = on_walker}, .storm = &storm};
        ck_assert(hgi_thread_start(&threads[i], "walker", walk, &walkers[i]));
    }
    for (size_t i = 0; i < THREADS; i++) {
        hgi_thread_join(&threads[i]);
    }
    ck_assert(!atomic_load(&storm.has_failed));
    ck_assert_int_eq(atomic_load(&storm.turns), THREADS * ROUNDS);
    hgi_share_deinit(&storm.share);
}
END_TEST

HGI_SUITE("server.share", 60, places_are_counted_and_come_back,
          half_of_all_places_held_by_who_has_ended_are_too_many, of_many_places_a_few_hundred_are,
          turns_beyond_the_share_wait_and_are_called_in_order,
          a_turn_that_ends_while_it_is_called_hands_on, without_a_bound_nobody_waits,
          threads_never_hold_more_turns_than_there_are)
