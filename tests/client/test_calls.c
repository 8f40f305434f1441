/* SPDX-License-Identifier: Apache-2.0 */
#include "hg_test.h"

#include "client/calls.h"

struct caller {
    struct hgi_call call;
    unsigned ends;
    struct hg_error error;
};

static void on_end(struct hgi_call *call, const struct hg_error *error, struct hg_slice reply)
{
    struct caller *caller = (struct caller *)call;

    (void)reply;
    ck_assert(hgi_calls_is_ending());
    caller->ends++;
    if (error) {
        caller->error = *error;
    }
}

static struct caller caller_new(bool mutates)
{
    struct caller caller = {.call = {.mutates = mutates, .end = on_end}};

    return caller;
}

START_TEST(ids_go_round_without_zero_and_without_those_in_flight)
{
    struct caller first = caller_new(false);
    struct caller second = caller_new(false);
    struct caller last = caller_new(false);
    struct caller next = caller_new(false);
    struct hgi_calls calls;

    ck_assert(hgi_calls_init(&calls));
    ck_assert(hgi_calls_insert(&calls, &first.call, 1, 10));
    ck_assert(hgi_calls_insert(&calls, &second.call, 1, 10));
    ck_assert_uint_eq(first.call.id, 1);
    ck_assert_uint_eq(second.call.id, 2);
    calls.last_id = 0x7ffffffe;
    ck_assert(hgi_calls_insert(&calls, &last.call, 1, 10));
    ck_assert_uint_eq(last.call.id, 0x7fffffff);
    hgi_calls_take(&calls, &second.call);
    ck_assert(hgi_calls_insert(&calls, &next.call, 1, 10));
    ck_assert_uint_eq(next.call.id, 2);
    ck_assert_ptr_eq(hgi_calls_find(&calls, 1), &first.call);
    ck_assert_ptr_null(hgi_calls_find(&calls, 3));
    (void)hgi_calls_take_all(&calls);
    ck_assert_uint_eq(hgi_calls_count(&calls), 0);
    hgi_calls_deinit(&calls);
}
END_TEST

START_TEST(calls_due_are_taken_in_order_and_the_others_stay)
{
    struct caller late = caller_new(false);
    struct caller sooner = caller_new(true);
    struct caller later = caller_new(false);
    struct hgi_calls calls;
    struct hgi_call *chain;

    ck_assert(hgi_calls_init(&calls));
    ck_assert_int_eq(hgi_calls_first_due_ms(&calls), INT64_MAX);
    ck_assert(hgi_calls_insert(&calls, &late.call, 20, 20));
    ck_assert(hgi_calls_insert(&calls, &sooner.call, 10, 10));
    ck_assert(hgi_calls_insert(&calls, &later.call, 30, 30));
    ck_assert_int_eq(hgi_calls_first_due_ms(&calls), 10);
    chain = hgi_calls_take_due(&calls, 20);
    ck_assert_ptr_eq(chain, &sooner.call);
    ck_assert_ptr_eq(chain->next, &late.call);
    ck_assert_uint_eq(hgi_calls_count(&calls), 1);
    hgi_calls_end_late(chain, "ipc:///x", "");
    ck_assert_uint_eq(sooner.ends, 1);
    ck_assert_uint_eq(late.ends, 1);
    ck_assert_uint_eq(later.ends, 0);
    ck_assert(sooner.error.is_done_unknown);
    ck_assert(!late.error.is_done_unknown);
    ck_assert_int_eq(late.error.status, HG_DEADLINE_EXCEEDED);
    ck_assert(!hgi_calls_is_ending());
    (void)hgi_calls_take_all(&calls);
    hgi_calls_deinit(&calls);
}
END_TEST

START_TEST(call_that_was_never_sent_was_not_done)
{
    struct caller unsent = caller_new(true);
    struct caller sent = caller_new(true);
    struct hg_bytes body;
    struct hg_bytes back;
    struct hgi_calls calls;

    ck_assert(hgi_calls_init(&calls));
    ck_assert(hgi_calls_insert(&calls, &sent.call, 10, 10));
    ck_assert(hgi_calls_insert(&calls, &unsent.call, 10, 10));
    hgi_bytes_init(&body, &hgi_heap);
    ck_assert(hgi_bytes_set(&body, hg_slice_text("sent")));
    hgi_calls_wait(&calls, &sent.call, &body);
    ck_assert_ptr_null(body.data);
    ck_assert(hgi_bytes_set(&body, hg_slice_text("unsent")));
    hgi_calls_wait(&calls, &unsent.call, &body);
    ck_assert_ptr_eq(hgi_calls_next_waiting(&calls, &back), &sent.call);
    ck_assert_slice_eq(hgi_bytes_slice(&back), "sent");
    hgi_bytes_deinit(&back);
    hgi_calls_end_lost(hgi_calls_take_all(&calls), "ipc:///x", "gone");
    ck_assert(sent.error.is_done_unknown);
    ck_assert(!unsent.error.is_done_unknown);
    ck_assert_ptr_nonnull(strstr(sent.error.text, "not known"));
    ck_assert_str_eq(unsent.error.text, "cannot connect to ipc:///x: gone");
    ck_assert_ptr_null(hgi_calls_next_waiting(&calls, &back));
    hgi_calls_deinit(&calls);
}
END_TEST

HGI_SUITE("client.calls", 20, ids_go_round_without_zero_and_without_those_in_flight,
          calls_due_are_taken_in_order_and_the_others_stay, call_that_was_never_sent_was_not_done)
