/* SPDX-License-Identifier: Apache-2.0 */
#include "hg_test.h"

#include "server/rpc/inflight.h"

static struct hgi_sp_route route_of(uint32_t id)
{
    return hgi_sp_route_of(id);
}

static enum hgi_inflight_add add(struct hgi_inflight *inflight, uint32_t id)
{
    struct hgi_sp_route route = route_of(id);

    return hgi_inflight_add(inflight, &route);
}

static bool take_out(struct hgi_inflight *inflight, uint32_t id)
{
    struct hgi_sp_route route = route_of(id);

    return hgi_inflight_remove(inflight, &route);
}

START_TEST(route_is_there_from_add_to_remove)
{
    struct hgi_inflight inflight;

    hgi_inflight_init(&inflight);
    ck_assert(!take_out(&inflight, 1));
    ck_assert_int_eq(add(&inflight, 1), HGI_INFLIGHT_ADDED);
    ck_assert_int_eq(add(&inflight, 1), HGI_INFLIGHT_THERE);
    ck_assert_uint_eq(inflight.count, 1);
    ck_assert(take_out(&inflight, 1));
    ck_assert(!take_out(&inflight, 1));
    ck_assert_uint_eq(inflight.count, 0);
    hgi_inflight_deinit(&inflight);
}
END_TEST

START_TEST(routes_that_differ_in_a_later_word_are_two)
{
    struct hgi_sp_route a = {.bytes = {0, 0, 0, 1, 0x80, 0, 0, 1}, .len = 8};
    struct hgi_sp_route b = {.bytes = {0, 0, 0, 1, 0x80, 0, 0, 2}, .len = 8};
    struct hgi_inflight inflight;

    hgi_inflight_init(&inflight);
    ck_assert_int_eq(hgi_inflight_add(&inflight, &a), HGI_INFLIGHT_ADDED);
    ck_assert_int_eq(hgi_inflight_add(&inflight, &b), HGI_INFLIGHT_ADDED);
    ck_assert(hgi_inflight_remove(&inflight, &a));
    ck_assert(hgi_inflight_remove(&inflight, &b));
    hgi_inflight_deinit(&inflight);
}
END_TEST

/* Against a plain array of flags: ids come and go in every order, walks wrap and close gaps. */
START_TEST(random_adds_and_removes_agree_with_a_naive_set)
{
    enum { IDS = 300 };
    bool model[IDS] = {false};
    struct hgi_inflight inflight;
    uint32_t count = 0;
    uint32_t random = 12345;

    hgi_inflight_init(&inflight);
    for (size_t step = 0; step < 200000; step++) {
        uint32_t id;

        random = random * 1664525u + 1013904223u;
        id = (random >> 8) % IDS;
        if (random >> 31) {
            ck_assert_int_eq(add(&inflight, id * 64),
                             model[id] ? HGI_INFLIGHT_THERE : HGI_INFLIGHT_ADDED);
            count += model[id] ? 0 : 1;
            model[id] = true;
        } else {
            ck_assert(take_out(&inflight, id * 64) == model[id]);
            count -= model[id] ? 1 : 0;
            model[id] = false;
        }
        ck_assert_uint_eq(inflight.count, count);
    }
    for (uint32_t id = 0; id < IDS; id++) {
        ck_assert(take_out(&inflight, id * 64) == model[id]);
    }
    hgi_inflight_deinit(&inflight);
}
END_TEST

HGI_SUITE("server.inflight", 20, route_is_there_from_add_to_remove,
          routes_that_differ_in_a_later_word_are_two,
          random_adds_and_removes_agree_with_a_naive_set)
