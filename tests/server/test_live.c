/* SPDX-License-Identifier: Apache-2.0 */
#include "hg_test.h"

#include "base/thread.h"
#include "server/rpc/live.h"

static struct hgi_live live;
static struct hgi_node conn;
static struct hgi_live_call call;

static void setup(void)
{
    memset(&call, 0xee, sizeof(call)); /* enter sets all of it */
    hgi_live_init(&live);
    hgi_list_init(&conn);
    hgi_live_enter(&live, &call, &conn);
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
    ck_assert(!hgi_live_unpin(&live, &call)); /* what it waited for still has it */
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

START_TEST(a_call_that_ends_while_it_is_pinned_is_freed_by_the_pin)
{
    setup();
    ck_assert_ptr_eq(hgi_live_take_first(&live, &conn), &call);
    ck_assert(hgi_live_answer(&live, &call));
    ck_assert(!hgi_live_end(&live, &call));
    ck_assert(!hgi_live_wait_idle(&live, 0));
    ck_assert(hgi_live_unpin(&live, &call));
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
    hgi_live_enter(&live, &later, &conn);
    hgi_live_enter(&live, &other, &other_conn);
    hgi_live_set_due(&live, &later, 200);
    hgi_live_set_due(&live, &other, 150);
    ck_assert_ptr_eq(hgi_live_take_first(&live, &conn), &call);
    ck_assert_ptr_eq(hgi_live_take_first(&live, &conn), &later);
    ck_assert_ptr_null(hgi_live_take_first(&live, &conn));
    ck_assert(!hgi_live_unpin(&live, &call));
    ck_assert(!hgi_live_unpin(&live, &later));
    ck_assert_ptr_eq(hgi_live_take_due(&live, 1000), &other);
    ck_assert(!hgi_live_unpin(&live, &other));
    ck_assert(hgi_live_end(&live, &other));
    answer_and_end(&call);
    answer_and_end(&later);
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

HGI_SUITE("server.live", 60, a_call_is_answered_by_the_first_who_comes,
          an_answered_call_has_no_deadline_and_no_connection,
          a_call_that_ends_while_it_is_pinned_is_freed_by_the_pin,
          calls_come_out_by_connection_and_by_time, who_waits_for_idle_is_woken_by_the_last_end)
