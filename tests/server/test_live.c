/* SPDX-License-Identifier: Apache-2.0 */
#include <sched.h>
#include <stdlib.h>

#include "hg_test.h"

#include "base/thread.h"
#include "server/rpc/live.h"

static struct hgi_live live;
static struct hgi_node conn;
static struct hgi_live_call call;

/* A call that goes on after its turn. */
static void keep(struct hgi_live_call *which, struct hgi_node *of_conn)
{
    hgi_live_begin(which, of_conn);
    ck_assert(!hgi_live_end_turn(&live, which));
}

static void setup(void)
{
    memset(&call, 0xee, sizeof(call)); /* begin sets all of it */
    hgi_live_init(&live);
    hgi_list_init(&conn);
    keep(&call, &conn);
}

static void answer_and_end(struct hgi_live_call *which)
{
    ck_assert(hgi_live_answer(&live, which));
    ck_assert(hgi_live_end(&live, which));
}

START_TEST(a_call_is_answered_by_the_first_who_comes)
{
    setup();
    hgi_live_set_due(&live, &call, 100);
    ck_assert_ptr_null(hgi_live_take_due(&live, 99));
    ck_assert_ptr_eq(hgi_live_take_due(&live, 100), &call);
    ck_assert_ptr_null(hgi_live_take_due(&live, 100));
    ck_assert(!hgi_live_answer(&live, &call));
    ck_assert(!hgi_live_release(&live, &call)); /* what it waited for still has it */
    ck_assert(hgi_live_end(&live, &call));
    hgi_live_deinit(&live);
}
END_TEST

START_TEST(an_answered_call_has_no_deadline_and_no_connection)
{
    setup();
    hgi_live_set_due(&live, &call, 100);
    ck_assert(hgi_live_answer(&live, &call));
    ck_assert_ptr_null(hgi_live_take_due(&live, 100));
    ck_assert_ptr_null(hgi_live_take_first(&live, &conn));
    hgi_live_set_due(&live, &call, 100); /* too late for one */
    ck_assert_ptr_null(hgi_live_take_due(&live, 100));
    ck_assert(hgi_live_end(&live, &call));
    hgi_live_deinit(&live);
}
END_TEST

START_TEST(a_call_that_ends_while_it_is_held_is_freed_by_its_holder)
{
    setup();
    ck_assert_ptr_eq(hgi_live_take_first(&live, &conn), &call);
    ck_assert(hgi_live_answer(&live, &call));
    ck_assert(!hgi_live_end(&live, &call));
    ck_assert(!hgi_live_wait_idle(&live, 0));
    ck_assert(hgi_live_release(&live, &call));
    ck_assert(hgi_live_wait_idle(&live, 0));
    hgi_live_deinit(&live);
}
END_TEST

START_TEST(calls_come_out_by_connection_and_by_time)
{
    struct hgi_live_call later;
    struct hgi_live_call other;
    struct hgi_node other_conn;

    setup();
    hgi_list_init(&other_conn);
    keep(&later, &conn);
    keep(&other, &other_conn);
    hgi_live_set_due(&live, &later, 200);
    hgi_live_set_due(&live, &other, 150);
    ck_assert_ptr_eq(hgi_live_take_first(&live, &conn), &call);
    ck_assert_ptr_eq(hgi_live_take_first(&live, &conn), &later);
    ck_assert_ptr_null(hgi_live_take_first(&live, &conn));
    ck_assert(!hgi_live_release(&live, &call));
    ck_assert(!hgi_live_release(&live, &later));
    ck_assert_ptr_eq(hgi_live_take_due(&live, 1000), &other);
    ck_assert(!hgi_live_release(&live, &other));
    ck_assert(hgi_live_end(&live, &other));
    answer_and_end(&call);
    answer_and_end(&later);
    hgi_live_deinit(&live);
}
END_TEST

START_TEST(a_call_that_ends_in_its_turn_was_never_kept)
{
    struct hgi_live_call brief;

    setup();
    answer_and_end(&call);
    hgi_live_begin(&brief, &conn);
    ck_assert(hgi_live_wait_idle(&live, 0));
    ck_assert_ptr_null(hgi_live_take_first(&live, &conn));
    ck_assert(hgi_live_answer(&live, &brief));
    ck_assert(!hgi_live_answer(&live, &brief));
    ck_assert(!hgi_live_end(&live, &brief)); /* its turn has it */
    ck_assert(hgi_live_end_turn(&live, &brief));
    ck_assert_ptr_null(hgi_live_take_first(&live, &conn));
    hgi_live_deinit(&live);
}
END_TEST

START_TEST(a_call_that_is_answered_in_its_turn_and_ends_later_is_freed_by_its_end)
{
    struct hgi_live_call slow;

    setup();
    answer_and_end(&call);
    hgi_live_begin(&slow, &conn);
    ck_assert(hgi_live_answer(&live, &slow));
    ck_assert(!hgi_live_end_turn(&live, &slow));
    ck_assert_ptr_null(hgi_live_take_first(&live, &conn));
    ck_assert(hgi_live_end(&live, &slow));
    hgi_live_deinit(&live);
}
END_TEST

START_TEST(a_deadline_can_come_in_a_calls_turn)
{
    struct hgi_live_call bound;

    setup();
    answer_and_end(&call);
    hgi_live_begin(&bound, &conn);
    hgi_live_set_due(&live, &bound, 100);
    ck_assert_ptr_eq(hgi_live_take_due(&live, 100), &bound);
    ck_assert(!hgi_live_end_turn(&live, &bound));
    ck_assert(!hgi_live_release(&live, &bound));
    ck_assert(!hgi_live_wait_idle(&live, 0));
    ck_assert(!hgi_live_answer(&live, &bound));
    ck_assert(hgi_live_end(&live, &bound));
    ck_assert(hgi_live_wait_idle(&live, 0));
    hgi_live_deinit(&live);
}
END_TEST

static void *_Atomic passed;

/* Ends each call it is passed, as a loader's thread does while the call's turn goes on. */
static void end_passed(void *arg)
{
    size_t *freed = arg;

    for (;;) {
        struct hgi_live_call *which = atomic_exchange(&passed, NULL);

        if (which == &call) {
            return;
        }
        if (which) {
            ck_assert(hgi_live_answer(&live, which));
            if (hgi_live_end(&live, which)) {
                (*freed)++;
                free(which);
            }
        } else {
            sched_yield();
        }
    }
}

START_TEST(a_turn_and_an_end_at_once_free_a_call_once)
{
    enum { CALLS = 2000 };
    struct hgi_thread thread;
    size_t freed_by_end = 0;
    size_t freed_by_turn = 0;

    setup();
    ck_assert(hgi_thread_start(&thread, "end", end_passed, &freed_by_end));
    for (size_t i = 0; i < CALLS; i++) {
        struct hgi_live_call *which = malloc(sizeof(*which));

        ck_assert_ptr_nonnull(which);
        hgi_live_begin(which, &conn);
        atomic_store(&passed, which);
        if (hgi_live_end_turn(&live, which)) {
            freed_by_turn++;
            free(which);
        }
        while (atomic_load(&passed)) {
            sched_yield();
        }
    }
    answer_and_end(&call);
    atomic_store(&passed, &call);
    hgi_thread_join(&thread);
    ck_assert_uint_eq(freed_by_end + freed_by_turn, CALLS);
    ck_assert(hgi_live_wait_idle(&live, 0));
    ck_assert_ptr_null(hgi_live_take_first(&live, &conn));
    hgi_live_deinit(&live);
}
END_TEST

static void end_it(void *arg)
{
    answer_and_end(arg);
}

START_TEST(who_waits_for_idle_is_woken_by_the_last_end)
{
    struct hgi_thread thread;

    setup();
    ck_assert(!hgi_live_wait_idle(&live, 1));
    ck_assert(hgi_thread_start(&thread, "end", end_it, &call));
    ck_assert(hgi_live_wait_idle(&live, 20000));
    hgi_thread_join(&thread);
    hgi_live_deinit(&live);
}
END_TEST

HGI_SUITE("server.live", 60, a_call_that_ends_in_its_turn_was_never_kept,
          a_call_that_is_answered_in_its_turn_and_ends_later_is_freed_by_its_end,
          a_deadline_can_come_in_a_calls_turn, a_turn_and_an_end_at_once_free_a_call_once,
          a_call_is_answered_by_the_first_who_comes,
          an_answered_call_has_no_deadline_and_no_connection,
          a_call_that_ends_while_it_is_held_is_freed_by_its_holder,
          calls_come_out_by_connection_and_by_time, who_waits_for_idle_is_woken_by_the_last_end)
