/* SPDX-License-Identifier: Apache-2.0 */
#include "hg_test.h"

#include "proto/sp.h"

#define MESSAGE_MAX 64u

/* A frame of `words` routing words (the last one ends) and a body of `body_len` bytes 'b'. */
static size_t frame(enum hgi_sp_transport transport, uint32_t words, size_t body_len,
                    unsigned char *ret_bytes)
{
    struct hgi_sp_route route = {.len = words * 4};
    size_t len;

    for (uint32_t i = 0; i < words; i++) {
        route.bytes[i * 4 + 3] = (unsigned char)(i + 1);
    }
    if (words) {
        route.bytes[(words - 1) * 4] = 0x80;
    }
    len = hgi_sp_head(transport, &route, body_len, ret_bytes);
    memset(ret_bytes + len, 'b', body_len);
    return len + body_len;
}

static enum hgi_sp_cut cut(enum hgi_sp_transport transport, const void *bytes, size_t len,
                           struct hgi_sp_frame *ret_frame, size_t *ret_consumed, size_t *ret_needed)
{
    return hgi_sp_cut(transport, hg_slice_of(bytes, len), MESSAGE_MAX, ret_frame, ret_consumed,
                      ret_needed);
}

/* Bytes written by hand after the prefix of a message whose length field says `length`. */
static enum hgi_sp_cut cut_raw(enum hgi_sp_transport transport, uint64_t length,
                               const unsigned char *message, size_t message_len, size_t *ret_needed)
{
    unsigned char bytes[256] = {1};
    size_t prefix = transport == HGI_SP_IPC ? 9 : 8;
    struct hgi_sp_frame got;
    size_t consumed = 0;

    for (size_t i = 0; i < 8; i++) {
        bytes[prefix - 8 + i] = (unsigned char)(length >> (56 - 8 * i) & 0xff);
    }
    if (message_len) {
        memcpy(bytes + prefix, message, message_len);
    }
    return cut(transport, bytes, prefix + message_len, &got, &consumed, ret_needed);
}

static const enum hgi_sp_transport both[] = {HGI_SP_IPC, HGI_SP_TCP};

START_TEST(frame_given_byte_by_byte_is_cut_at_its_last_byte)
{
    for (size_t t = 0; t < 2; t++) {
        unsigned char bytes[128];
        size_t prefix = both[t] == HGI_SP_IPC ? 9 : 8;
        size_t len = frame(both[t], 2, 10, bytes);
        struct hgi_sp_frame got;
        size_t consumed = 0;
        size_t needed;

        ck_assert_uint_eq(len, prefix + 18);
        for (size_t have = 0; have < len; have++) {
            needed = 99;
            ck_assert_int_eq(cut(both[t], bytes, have, &got, &consumed, &needed), HGI_SP_MORE);
            ck_assert_uint_eq(needed, have < prefix ? 0 : len);
        }
        ck_assert_int_eq(cut(both[t], bytes, len, &got, &consumed, &needed), HGI_SP_FRAME);
        ck_assert_uint_eq(consumed, len);
        ck_assert_slice_eq(got.body, "bbbbbbbbbb");
        ck_assert_uint_eq(got.route.len, 8);
        ck_assert_int_eq(memcmp(got.route.bytes, "\0\0\0\1\x80\0\0\2", 8), 0);
        ck_assert_ptr_eq(got.body.data, bytes + prefix + 8);
    }
}
END_TEST

START_TEST(many_frames_in_one_input_are_cut_one_after_the_other)
{
    for (size_t t = 0; t < 2; t++) {
        unsigned char bytes[1024];
        struct hgi_sp_frame got;
        size_t len = 0;
        size_t at = 0;
        size_t consumed = 0;
        size_t needed = 0;

        for (size_t i = 0; i < 10; i++) {
            len += frame(both[t], 1, i, bytes + len);
        }
        for (size_t i = 0; i < 10; i++) {
            ck_assert_int_eq(cut(both[t], bytes + at, len - at, &got, &consumed, &needed),
                             HGI_SP_FRAME);
            ck_assert_uint_eq(got.body.len, i);
            at += consumed;
        }
        ck_assert_uint_eq(at, len);
        ck_assert_int_eq(cut(both[t], bytes + at, 0, &got, &consumed, &needed), HGI_SP_MORE);
        ck_assert_uint_eq(needed, 0);
    }
}
END_TEST

START_TEST(message_shorter_than_one_word_is_bad)
{
    for (size_t t = 0; t < 2; t++) {
        for (uint64_t length = 0; length < 4; length++) {
            size_t needed = 0;

            ck_assert_int_eq(cut_raw(both[t], length, NULL, 0, &needed), HGI_SP_BAD);
        }
    }
}
END_TEST

START_TEST(body_of_the_limit_is_cut_and_one_byte_more_is_bad)
{
    for (size_t t = 0; t < 2; t++) {
        for (uint32_t words = 1; words <= HGI_SP_WORDS_MAX; words++) {
            unsigned char bytes[256];
            struct hgi_sp_frame got;
            size_t consumed = 0;
            size_t needed = 0;
            size_t len = frame(both[t], words, MESSAGE_MAX, bytes);

            ck_assert_int_eq(cut(both[t], bytes, len, &got, &consumed, &needed), HGI_SP_FRAME);
            ck_assert_uint_eq(got.body.len, MESSAGE_MAX);
            len = frame(both[t], words, MESSAGE_MAX + 1, bytes);
            ck_assert_int_eq(cut(both[t], bytes, len, &got, &consumed, &needed), HGI_SP_BAD);
            /* ... and it is bad before its body is here. */
            ck_assert_int_eq(cut(both[t], bytes, len - MESSAGE_MAX - 1, &got, &consumed, &needed),
                             HGI_SP_BAD);
        }
    }
}
END_TEST

START_TEST(length_that_no_route_can_excuse_is_bad_from_the_length_alone)
{
    for (size_t t = 0; t < 2; t++) {
        size_t needed = 0;

        ck_assert_int_eq(cut_raw(both[t], MESSAGE_MAX + HGI_SP_ROUTE_MAX, NULL, 0, &needed),
                         HGI_SP_MORE);
        ck_assert_uint_eq(needed, (both[t] == HGI_SP_IPC ? 9 : 8) + MESSAGE_MAX + HGI_SP_ROUTE_MAX);
        ck_assert_int_eq(cut_raw(both[t], MESSAGE_MAX + HGI_SP_ROUTE_MAX + 1, NULL, 0, &needed),
                         HGI_SP_BAD);
        ck_assert_int_eq(cut_raw(both[t], UINT64_C(1) << 63, NULL, 0, &needed), HGI_SP_BAD);
        ck_assert_int_eq(cut_raw(both[t], UINT64_MAX, NULL, 0, &needed), HGI_SP_BAD);
    }
}
END_TEST

START_TEST(length_does_not_overflow_where_nothing_is_too_long)
{
    unsigned char bytes[9];
    struct hgi_sp_frame got;
    size_t consumed = 0;
    size_t needed = 0;

    memset(bytes, 0xff, sizeof(bytes));
    bytes[0] = 1;
    ck_assert_int_eq(
        hgi_sp_cut(HGI_SP_IPC, hg_slice_of(bytes, 9), SIZE_MAX, &got, &consumed, &needed),
        HGI_SP_BAD);
}
END_TEST

START_TEST(ipc_frame_of_another_kind_is_bad_from_its_first_byte)
{
    unsigned char bytes[128];
    struct hgi_sp_frame got;
    size_t consumed = 0;
    size_t needed = 0;
    size_t len = frame(HGI_SP_IPC, 1, 1, bytes);

    for (unsigned kind = 0; kind < 256; kind++) {
        bytes[0] = (unsigned char)kind;
        ck_assert_int_eq(cut(HGI_SP_IPC, bytes, 1, &got, &consumed, &needed),
                         kind == 1 ? HGI_SP_MORE : HGI_SP_BAD);
        ck_assert_int_eq(cut(HGI_SP_IPC, bytes, len, &got, &consumed, &needed),
                         kind == 1 ? HGI_SP_FRAME : HGI_SP_BAD);
    }
}
END_TEST

START_TEST(one_to_eight_words_are_a_route_and_nine_are_bad)
{
    for (size_t t = 0; t < 2; t++) {
        unsigned char nine[64] = {0};
        size_t needed = 0;

        for (uint32_t words = 1; words <= HGI_SP_WORDS_MAX; words++) {
            unsigned char bytes[256];
            struct hgi_sp_frame got;
            size_t consumed = 0;
            size_t len = frame(both[t], words, 3, bytes);

            ck_assert_int_eq(cut(both[t], bytes, len, &got, &consumed, &needed), HGI_SP_FRAME);
            ck_assert_uint_eq(got.route.len, words * 4);
            ck_assert_slice_eq(got.body, "bbb");
        }
        nine[32] = 0x80;
        ck_assert_int_eq(cut_raw(both[t], 36, nine, 36, &needed), HGI_SP_BAD);
        /* Eight words without an end are enough to know. */
        ck_assert_int_eq(cut_raw(both[t], 36, nine, 32, &needed), HGI_SP_BAD);
        ck_assert_int_eq(cut_raw(both[t], 36, nine, 31, &needed), HGI_SP_MORE);
    }
}
END_TEST

START_TEST(message_that_ends_before_its_last_word_is_bad)
{
    const unsigned char zeros[16] = {0};

    for (size_t t = 0; t < 2; t++) {
        size_t needed = 0;

        ck_assert_int_eq(cut_raw(both[t], 4, zeros, 4, &needed), HGI_SP_BAD);
        ck_assert_int_eq(cut_raw(both[t], 6, zeros, 6, &needed), HGI_SP_BAD);
        ck_assert_int_eq(cut_raw(both[t], 8, zeros, 8, &needed), HGI_SP_BAD);
        ck_assert_int_eq(cut_raw(both[t], 8, zeros, 4, &needed), HGI_SP_MORE);
    }
}
END_TEST

START_TEST(bad_and_more_leave_the_frame_untouched)
{
    unsigned char bytes[128];
    struct hgi_sp_frame got;
    struct hgi_sp_frame before;
    size_t consumed = 77;
    size_t needed = 0;
    size_t len = frame(HGI_SP_TCP, 1, 5, bytes);

    memset(&got, 0x5a, sizeof(got));
    before = got;
    ck_assert_int_eq(cut(HGI_SP_TCP, bytes, len - 1, &got, &consumed, &needed), HGI_SP_MORE);
    bytes[8] = 0;
    ck_assert_int_eq(cut(HGI_SP_TCP, bytes, len, &got, &consumed, &needed), HGI_SP_BAD);
    ck_assert_int_eq(memcmp(&got, &before, sizeof(got)), 0);
    ck_assert_uint_eq(consumed, 77);
}
END_TEST

START_TEST(handshake_is_what_nng_writes)
{
    unsigned char bytes[HGI_SP_HANDSHAKE_LEN];

    hgi_sp_handshake(HGI_SP_REP, bytes);
    ck_assert_int_eq(memcmp(bytes, "\0SP\0\0\x31\0\0", 8), 0);
    hgi_sp_handshake(HGI_SP_REQ, bytes);
    ck_assert_int_eq(memcmp(bytes, "\0SP\0\0\x30\0\0", 8), 0);
}
END_TEST

START_TEST(handshake_of_the_other_side_is_taken_and_any_wrong_byte_is_not)
{
    unsigned char bytes[HGI_SP_HANDSHAKE_LEN];

    hgi_sp_handshake(HGI_SP_REQ, bytes);
    ck_assert(hgi_sp_handshake_is(HGI_SP_REQ, bytes));
    ck_assert(!hgi_sp_handshake_is(HGI_SP_REP, bytes));
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] ^= 1;
        ck_assert(!hgi_sp_handshake_is(HGI_SP_REQ, bytes));
        bytes[i] ^= 1;
    }
}
END_TEST

START_TEST(route_of_an_id_gives_the_id_back)
{
    const uint32_t ids[] = {0, 1, 0x01020304, 0x7fffffff};
    struct hgi_sp_route two = {.len = 8};

    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        struct hgi_sp_route route = hgi_sp_route_of(ids[i]);

        ck_assert_uint_eq(route.len, 4);
        ck_assert_uint_eq(route.bytes[0] & 0x80u, 0x80u);
        ck_assert_uint_eq(hgi_sp_route_id(&route), ids[i]);
    }
    two.bytes[7] = 9;
    ck_assert_uint_eq(hgi_sp_route_id(&two), 0);
}
END_TEST

START_TEST(routes_are_equal_by_all_their_words)
{
    struct hgi_sp_route a = hgi_sp_route_of(5);
    struct hgi_sp_route b = hgi_sp_route_of(5);

    ck_assert(hgi_sp_route_equal(&a, &b));
    b.bytes[20] = 1; /* past its end */
    ck_assert(hgi_sp_route_equal(&a, &b));
    b.len = 8;
    ck_assert(!hgi_sp_route_equal(&a, &b));
    b = hgi_sp_route_of(6);
    ck_assert(!hgi_sp_route_equal(&a, &b));
}
END_TEST

HGI_SUITE("proto.sp", 20, frame_given_byte_by_byte_is_cut_at_its_last_byte,
          many_frames_in_one_input_are_cut_one_after_the_other,
          message_shorter_than_one_word_is_bad, body_of_the_limit_is_cut_and_one_byte_more_is_bad,
          length_that_no_route_can_excuse_is_bad_from_the_length_alone,
          length_does_not_overflow_where_nothing_is_too_long,
          ipc_frame_of_another_kind_is_bad_from_its_first_byte,
          one_to_eight_words_are_a_route_and_nine_are_bad,
          message_that_ends_before_its_last_word_is_bad, bad_and_more_leave_the_frame_untouched,
          handshake_is_what_nng_writes,
          handshake_of_the_other_side_is_taken_and_any_wrong_byte_is_not,
          route_of_an_id_gives_the_id_back, routes_are_equal_by_all_their_words)
