/* SPDX-License-Identifier: Apache-2.0 */
#include "server/loader/inbox.h"

#include <unistd.h>

#include "base/check.h"
#include "hg_test.h"

/* Nothing looks into the engine's cache here: its address tells loads apart. */
static struct hgi_cache *const engine = (struct hgi_cache *)(uintptr_t)64;

static void start(struct hgi_inbox *inbox, uint64_t id, const char *key)
{
    const struct hgi_load_order order = {
        .cache = engine, .load_id = id, .key = hg_slice_text(key), .attempt = 1};

    hgi_inbox_start(inbox, 0, HG_TYPE_BYTES, &order);
}

/* How often loader-io has been woken since the last look. */
static uint64_t wakes_of(const struct hgi_inbox *inbox)
{
    uint64_t count = 0;

    return read(inbox->wake_fd, &count, sizeof(count)) < 0 ? 0 : count;
}

/* Takes and ends what is there; the ids add up to the sum, and so many are cancelled. */
static void check_mail(struct hgi_inbox *inbox, uint64_t id_sum, size_t cancel_count)
{
    struct hgi_mail mail;
    struct hgi_node *node;

    ck_assert(hgi_inbox_take(inbox, &mail) == (id_sum > 0));
    while ((node = hgi_list_pop_front(&mail.cancels)) != NULL) {
        ck_assert_uint_gt(cancel_count--, 0);
    }
    ck_assert_uint_eq(cancel_count, 0);
    while ((node = hgi_list_pop_front(&mail.loads)) != NULL) {
        struct hgi_load *load = HGI_CONTAINER(node, struct hgi_load, node);

        ck_assert_uint_ge(id_sum, load->load_id);
        id_sum -= load->load_id;
        hgi_inbox_end(inbox, load);
    }
    ck_assert_uint_eq(id_sum, 0);
}

START_TEST(a_load_wakes_loader_io_at_once)
{
    struct hgi_inbox inbox;

    ck_assert(hgi_inbox_init(&inbox));
    start(&inbox, 1, "k");
    ck_assert_uint_eq(wakes_of(&inbox), 1);
    check_mail(&inbox, 1, 0);
    hgi_inbox_deinit(&inbox);
}
END_TEST

START_TEST(held_loads_come_in_one_go_and_wake_loader_io_once)
{
    struct hgi_inbox inbox;

    ck_assert(hgi_inbox_init(&inbox));
    hgi_inbox_hold(&inbox);
    start(&inbox, 1, "k");
    hgi_inbox_hold(&inbox);
    start(&inbox, 2, "l");
    hgi_inbox_release();
    ck_assert_uint_eq(wakes_of(&inbox), 0);
    check_mail(&inbox, 0, 0);
    hgi_inbox_cancel(&inbox, engine, 2);
    check_mail(&inbox, 0, 0);
    (void)wakes_of(&inbox);
    hgi_inbox_release();
    ck_assert_uint_eq(wakes_of(&inbox), 1);
    check_mail(&inbox, 3, 1);
    hgi_inbox_hold(&inbox);
    hgi_inbox_release();
    ck_assert_uint_eq(wakes_of(&inbox), 0);
    hgi_inbox_deinit(&inbox);
}
END_TEST

START_TEST(what_another_inbox_is_given_meanwhile_is_not_held)
{
    struct hgi_inbox inbox;
    struct hgi_inbox other;

    ck_assert(hgi_inbox_init(&inbox));
    ck_assert(hgi_inbox_init(&other));
    hgi_inbox_hold(&inbox);
    start(&other, 1, "k");
    ck_assert_uint_eq(wakes_of(&other), 1);
    check_mail(&other, 1, 0);
    hgi_inbox_release();
    hgi_inbox_deinit(&other);
    hgi_inbox_deinit(&inbox);
}
END_TEST

HGI_SUITE("server.inbox", 10, a_load_wakes_loader_io_at_once,
          held_loads_come_in_one_go_and_wake_loader_io_once,
          what_another_inbox_is_given_meanwhile_is_not_held)
