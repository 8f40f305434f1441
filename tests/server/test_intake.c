/* SPDX-License-Identifier: Apache-2.0 */
#include "hg_test.h"

#include "server/rpc/intake.h"

#define MESSAGE_MAX (1024u * 1024)
#define SMALL       65536u

/* As a read would: at most what there is room for. Returns how much that was. */
static size_t feed(struct hgi_intake *intake, const unsigned char *bytes, size_t len)
{
    struct hg_bytes *to = &intake->bytes;
    size_t room;

    hgi_intake_pack(intake);
    ck_assert(hgi_intake_make_room(intake));
    room = to->capacity - to->len;
    ck_assert_uint_gt(room, 0);
    len = len < room ? len : room;
    memcpy(to->data + to->len, bytes, len);
    to->len += len;
    return len;
}

static void frame(uint32_t id, size_t body_len, struct hg_bytes *ret_bytes)
{
    struct hgi_sp_route route = hgi_sp_route_of(id);
    unsigned char head[HGI_SP_HEAD_MAX];
    size_t head_len = hgi_sp_head(HGI_SP_TCP, &route, body_len, head);

    ck_assert(hgi_bytes_append(ret_bytes, hg_slice_of(head, head_len)));
    ck_assert(hgi_bytes_reserve(ret_bytes, body_len));
    memset(ret_bytes->data + ret_bytes->len, 'b', body_len);
    ret_bytes->len += body_len;
}

static void greet(struct hgi_intake *intake)
{
    unsigned char hello[HGI_SP_HANDSHAKE_LEN];
    struct hgi_sp_frame got;

    hgi_sp_handshake(HGI_SP_REQ, hello);
    ck_assert_uint_eq(feed(intake, hello, sizeof(hello)), sizeof(hello));
    ck_assert_int_eq(hgi_intake_next(intake, &got), HGI_SP_MORE);
}

START_TEST(handshake_comes_first_and_only_a_req_peers_will_do)
{
    unsigned char hello[HGI_SP_HANDSHAKE_LEN];
    struct hgi_intake intake;
    struct hgi_sp_frame got;

    hgi_intake_init(&intake, HGI_SP_TCP, MESSAGE_MAX);
    ck_assert_int_eq(hgi_intake_next(&intake, &got), HGI_SP_MORE);
    hgi_sp_handshake(HGI_SP_REQ, hello);
    for (size_t i = 0; i < sizeof(hello); i++) {
        ck_assert(!intake.is_greeted);
        feed(&intake, hello + i, 1);
        ck_assert_int_eq(hgi_intake_next(&intake, &got), HGI_SP_MORE);
    }
    ck_assert(intake.is_greeted);
    hgi_intake_deinit(&intake);

    hgi_intake_init(&intake, HGI_SP_TCP, MESSAGE_MAX);
    hgi_sp_handshake(HGI_SP_REP, hello);
    feed(&intake, hello, sizeof(hello));
    ck_assert_int_eq(hgi_intake_next(&intake, &got), HGI_SP_BAD);
    hgi_intake_deinit(&intake);
}
END_TEST

START_TEST(frame_stays_the_next_one_until_it_is_taken)
{
    struct hgi_intake intake;
    struct hgi_sp_frame got;
    struct hg_bytes bytes;

    hgi_bytes_init(&bytes, &hgi_heap);
    hgi_intake_init(&intake, HGI_SP_TCP, MESSAGE_MAX);
    greet(&intake);
    frame(1, 3, &bytes);
    frame(2, 4, &bytes);
    feed(&intake, bytes.data, bytes.len);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(hgi_intake_next(&intake, &got), HGI_SP_FRAME);
        ck_assert_uint_eq(hgi_sp_route_id(&got.route), 1);
        hgi_intake_pack(&intake); /* parked: packing keeps it */
    }
    hgi_intake_take(&intake);
    ck_assert_int_eq(hgi_intake_next(&intake, &got), HGI_SP_FRAME);
    ck_assert_uint_eq(hgi_sp_route_id(&got.route), 2);
    ck_assert_uint_eq(got.body.len, 4);
    hgi_intake_take(&intake);
    ck_assert_int_eq(hgi_intake_next(&intake, &got), HGI_SP_MORE);
    ck_assert_uint_eq(hgi_intake_held(&intake), 0);
    ck_assert_uint_eq(intake.frame_count, 2);
    hgi_intake_deinit(&intake);
    hgi_bytes_deinit(&bytes);
}
END_TEST

START_TEST(buffer_grows_with_the_bytes_that_came_and_is_small_again_after)
{
    struct hgi_intake intake;
    struct hgi_sp_frame got;
    struct hg_bytes bytes;
    size_t fed = 0;

    hgi_bytes_init(&bytes, &hgi_heap);
    hgi_intake_init(&intake, HGI_SP_TCP, MESSAGE_MAX);
    greet(&intake);
    frame(1, MESSAGE_MAX, &bytes);
    /* The announced length alone reserves nothing. */
    fed += feed(&intake, bytes.data, 100);
    ck_assert_int_eq(hgi_intake_next(&intake, &got), HGI_SP_MORE);
    ck_assert_uint_eq(intake.bytes.capacity, SMALL);
    while (fed < bytes.len) {
        fed += feed(&intake, bytes.data + fed, bytes.len - fed);
        ck_assert_uint_le(intake.bytes.capacity, fed * 2 > SMALL ? fed * 2 : SMALL);
        ck_assert_int_eq(hgi_intake_next(&intake, &got),
                         fed < bytes.len ? HGI_SP_MORE : HGI_SP_FRAME);
    }
    ck_assert_uint_eq(got.body.len, MESSAGE_MAX);
    hgi_intake_take(&intake);
    hgi_intake_pack(&intake);
    ck_assert(hgi_intake_make_room(&intake));
    ck_assert_uint_eq(intake.bytes.capacity, SMALL);
    hgi_intake_deinit(&intake);
    hgi_bytes_deinit(&bytes);
}
END_TEST

START_TEST(start_of_the_next_frame_survives_the_shrinking)
{
    struct hgi_intake intake;
    struct hgi_sp_frame got;
    struct hg_bytes bytes;
    size_t fed = 0;

    hgi_bytes_init(&bytes, &hgi_heap);
    hgi_intake_init(&intake, HGI_SP_TCP, MESSAGE_MAX);
    greet(&intake);
    frame(1, 3 * SMALL, &bytes);
    frame(2, 10, &bytes);
    while (fed < bytes.len - 1) {
        fed += feed(&intake, bytes.data + fed, bytes.len - 1 - fed);
    }
    ck_assert_int_eq(hgi_intake_next(&intake, &got), HGI_SP_FRAME);
    hgi_intake_take(&intake);
    ck_assert_int_eq(hgi_intake_next(&intake, &got), HGI_SP_MORE);
    feed(&intake, bytes.data + fed, 1);
    ck_assert_uint_eq(intake.bytes.capacity, SMALL);
    ck_assert_int_eq(hgi_intake_next(&intake, &got), HGI_SP_FRAME);
    ck_assert_uint_eq(hgi_sp_route_id(&got.route), 2);
    ck_assert_slice_eq(got.body, "bbbbbbbbbb");
    hgi_intake_deinit(&intake);
    hgi_bytes_deinit(&bytes);
}
END_TEST

HGI_SUITE("server.intake", 20, handshake_comes_first_and_only_a_req_peers_will_do,
          frame_stays_the_next_one_until_it_is_taken,
          buffer_grows_with_the_bytes_that_came_and_is_small_again_after,
          start_of_the_next_frame_survives_the_shrinking)
