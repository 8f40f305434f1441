/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "hg_test.h"
#include "server/rpc/ops.h"

#define PUT   1
#define CLEAR 2
#define ALICE 1000
#define BOB   1001

struct fixture {
    struct hgi_ops *ops;
    struct hgi_now now;
    struct hg_bytes reply;
    struct hgi_node waiters;
};

static void setup(struct fixture *f)
{
    memset(f, 0, sizeof(*f));
    f->ops = hgi_ops_create();
    ck_assert_ptr_nonnull(f->ops);
    f->now.boot_ms = 1000;
    hgi_bytes_init(&f->reply, &hgi_heap);
    hgi_list_init(&f->waiters);
}

static void teardown(struct fixture *f)
{
    hgi_bytes_deinit(&f->reply);
    hgi_ops_destroy(&f->ops);
    ck_assert_ptr_null(f->ops);
}

/* Op ids are 16 bytes: the number, padded. */
static enum hgi_op_state begin(struct fixture *f, uint32_t principal, uint64_t number,
                               uint32_t method, const char *request, struct hgi_node *waiter,
                               struct hgi_op **ret_op)
{
    unsigned char id[16] = {0};

    memcpy(id, &number, sizeof(number));
    return hgi_ops_begin(f->ops, principal, hg_slice_of(id, sizeof(id)), method,
                         hg_slice_text(request), &f->now, waiter, ret_op, &f->reply);
}

static void do_once(struct fixture *f, uint32_t principal, uint64_t number, const char *reply)
{
    struct hgi_node waiter;
    struct hgi_op *op = NULL;

    hgi_list_init(&waiter);
    ck_assert_int_eq(begin(f, principal, number, PUT, "request", &waiter, &op), HGI_OP_FIRST);
    hgi_ops_end(f->ops, op, hg_slice_text(reply), &f->waiters);
    ck_assert(hgi_list_is_empty(&f->waiters));
}

START_TEST(a_repeated_operation_gets_the_first_ones_reply)
{
    struct fixture f;
    struct hgi_op *op = NULL;

    setup(&f);
    do_once(&f, ALICE, 1, "reply one");
    do_once(&f, ALICE, 2, "reply two");
    ck_assert_int_eq(begin(&f, ALICE, 1, PUT, "request", NULL, &op), HGI_OP_REPEATED);
    ck_assert_slice_eq(hgi_bytes_slice(&f.reply), "reply one");
    ck_assert_ptr_null(op);
    teardown(&f);
}
END_TEST

START_TEST(one_under_way_is_waited_for_and_answers_all_who_wait)
{
    struct fixture f;
    struct hgi_node waiters[3];
    struct hgi_op *op = NULL;
    struct hgi_op *other = NULL;

    setup(&f);
    ck_assert_int_eq(begin(&f, ALICE, 1, PUT, "request", NULL, &op), HGI_OP_FIRST);
    for (size_t i = 0; i < 3; i++) {
        hgi_list_init(&waiters[i]);
        ck_assert_int_eq(begin(&f, ALICE, 1, PUT, "request", &waiters[i], &other), HGI_OP_WAITING);
    }
    ck_assert_ptr_null(other);
    hgi_ops_end(f.ops, op, hg_slice_text("reply"), &f.waiters);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_ptr_eq(hgi_list_pop_front(&f.waiters), &waiters[i]);
    }
    ck_assert(hgi_list_is_empty(&f.waiters));
    teardown(&f);
}
END_TEST

START_TEST(an_id_used_for_another_payload_or_method_is_told_apart)
{
    struct fixture f;
    struct hgi_op *op = NULL;

    setup(&f);
    do_once(&f, ALICE, 1, "reply");
    ck_assert_int_eq(begin(&f, ALICE, 1, PUT, "another", NULL, &op), HGI_OP_MISMATCH);
    ck_assert_int_eq(begin(&f, ALICE, 1, CLEAR, "request", NULL, &op), HGI_OP_MISMATCH);
    ck_assert_int_eq(begin(&f, ALICE, 1, PUT, "request", NULL, &op), HGI_OP_REPEATED);
    teardown(&f);
}
END_TEST

START_TEST(principals_do_not_share_ids)
{
    struct fixture f;
    struct hgi_op *op = NULL;

    setup(&f);
    do_once(&f, ALICE, 1, "for alice");
    ck_assert_int_eq(begin(&f, BOB, 1, PUT, "request", NULL, &op), HGI_OP_FIRST);
    hgi_ops_end(f.ops, op, hg_slice_text("for bob"), &f.waiters);
    ck_assert_int_eq(begin(&f, ALICE, 1, PUT, "request", NULL, &op), HGI_OP_REPEATED);
    ck_assert_slice_eq(hgi_bytes_slice(&f.reply), "for alice");
    teardown(&f);
}
END_TEST

START_TEST(an_operation_is_remembered_for_120_s_and_no_longer)
{
    struct fixture f;
    struct hgi_op *op = NULL;

    setup(&f);
    do_once(&f, ALICE, 1, "reply");
    f.now.boot_ms += HGI_OPS_KEEP_MS;
    ck_assert_int_eq(begin(&f, ALICE, 1, PUT, "request", NULL, &op), HGI_OP_REPEATED);
    f.now.boot_ms += 1;
    ck_assert_int_eq(begin(&f, ALICE, 1, PUT, "request", NULL, &op), HGI_OP_FIRST);
    hgi_ops_end(f.ops, op, hg_slice_text("anew"), &f.waiters);
    teardown(&f);
}
END_TEST

START_TEST(the_oldest_of_65536_makes_room_and_the_others_stay)
{
    struct fixture f;
    struct hgi_op *op = NULL;

    setup(&f);
    for (uint64_t i = 1; i <= HGI_OPS_MAX + 1; i++) {
        do_once(&f, ALICE, i, "reply");
    }
    ck_assert_int_eq(begin(&f, ALICE, 3, PUT, "request", NULL, &op), HGI_OP_REPEATED);
    ck_assert_int_eq(begin(&f, ALICE, 1, PUT, "request", NULL, &op), HGI_OP_FIRST);
    hgi_ops_end(f.ops, op, hg_slice_text("anew"), &f.waiters);
    teardown(&f);
}
END_TEST

START_TEST(what_is_under_way_is_never_forgotten)
{
    struct fixture f;
    struct hgi_op *slow = NULL;
    struct hgi_op *op = NULL;
    struct hgi_node waiter;

    setup(&f);
    hgi_list_init(&waiter);
    ck_assert_int_eq(begin(&f, ALICE, 1, PUT, "request", NULL, &slow), HGI_OP_FIRST);
    f.now.boot_ms += 10 * HGI_OPS_KEEP_MS;
    ck_assert_int_eq(begin(&f, ALICE, 1, PUT, "request", &waiter, &op), HGI_OP_WAITING);
    hgi_ops_end(f.ops, slow, hg_slice_text("at last"), &f.waiters);
    ck_assert_ptr_eq(hgi_list_pop_front(&f.waiters), &waiter);
    teardown(&f);
}
END_TEST

START_TEST(more_principals_than_the_bound_are_refused)
{
    struct fixture f;
    struct hgi_op *op = NULL;

    setup(&f);
    for (uint32_t i = 0; i < HGI_PRINCIPALS_MAX; i++) {
        do_once(&f, i, 1, "reply");
    }
    ck_assert_int_eq(begin(&f, HGI_PRINCIPALS_MAX, 1, PUT, "request", NULL, &op), HGI_OP_NO_ROOM);
    ck_assert_int_eq(begin(&f, 0, 2, PUT, "request", NULL, &op), HGI_OP_FIRST);
    hgi_ops_end(f.ops, op, hg_slice_text("reply"), &f.waiters);
    teardown(&f);
}
END_TEST

HGI_SUITE("server.ops", 20, a_repeated_operation_gets_the_first_ones_reply,
          one_under_way_is_waited_for_and_answers_all_who_wait,
          an_id_used_for_another_payload_or_method_is_told_apart, principals_do_not_share_ids,
          an_operation_is_remembered_for_120_s_and_no_longer,
          the_oldest_of_65536_makes_room_and_the_others_stay, what_is_under_way_is_never_forgotten,
          more_principals_than_the_bound_are_refused)
