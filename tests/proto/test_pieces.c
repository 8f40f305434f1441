/* SPDX-License-Identifier: Apache-2.0 */
/* Packed by hand, unpacked by protobuf-c. That the order of the fields is the one others pack them
 * in is held by the golden bytes of test_codec. */
#include "hg_test.h"

#include "base/check.h"
#include "base/kind.h"
#include "proto/codec.h"
#include "proto/envelope.h"

#define ROUNDS 20000u

static uint64_t state = 0x9e3779b97f4a7c15u;

/* xorshift64: the same inputs every time. */
static uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* A number of any length, a third of them 0. */
static uint64_t number(unsigned bits)
{
    uint64_t word = next_random() % 3 ? next_random() : 0;

    return word >> (64 - bits + next_random() % bits);
}

static enum hg_status some_status(void)
{
    static const enum hg_status some[] = {HG_OK, HG_OK, HG_UNKNOWN, HG_NOT_FOUND,
                                          HG_UNAUTHENTICATED};

    return some[next_random() % HGI_COUNT_OF(some)];
}

static struct hg_slice some_bytes(size_t max)
{
    static unsigned char noise[4096];

    if (!noise[0]) {
        memset(noise, 'n', sizeof(noise));
    }
    return hg_slice_of(noise, number(12) % (max + 1));
}

static struct hgi_msg_answer some_answer(void)
{
    return (struct hgi_msg_answer){
        .status = some_status(),
        .message = some_bytes(256),
        .retry_after_ms = (uint32_t)number(32),
        .outcome = (enum hg_outcome)(next_random() % (HG_DENIED + 1)),
        .source = (enum hg_source)(next_random() % (HG_SOURCE_LEASED + 1)),
        .value = some_bytes(4096),
        .value_type = (enum hg_value_type)(next_random() % (HG_TYPE_AUTH + 1)),
        .is_fenced = next_random() % 2,
        .generation = number(64),
        .age_ms = number(64),
        .ttl_left_ms = number(64),
        .stale_left_ms = number(64),
        .lease_id = number(64),
        .lease_epoch = number(64),
        .lease_ttl_ms = number(64),
    };
}

static void check_equal(const struct hgi_msg_answer *a, const struct hgi_msg_answer *b)
{
    ck_assert_int_eq(a->status, b->status);
    ck_assert(hgi_slice_equal(a->message, b->message));
    ck_assert_uint_eq(a->retry_after_ms, b->retry_after_ms);
    ck_assert_int_eq(a->outcome, b->outcome);
    ck_assert_int_eq(a->source, b->source);
    ck_assert(hgi_slice_equal(a->value, b->value));
    ck_assert_int_eq(a->value_type, b->value_type);
    ck_assert_int_eq(a->is_fenced, b->is_fenced);
    ck_assert_uint_eq(a->generation, b->generation);
    ck_assert_uint_eq(a->age_ms, b->age_ms);
    ck_assert_uint_eq(a->ttl_left_ms, b->ttl_left_ms);
    ck_assert_uint_eq(a->stale_left_ms, b->stale_left_ms);
    ck_assert_uint_eq(a->lease_id, b->lease_id);
    ck_assert_uint_eq(a->lease_epoch, b->lease_epoch);
    ck_assert_uint_eq(a->lease_ttl_ms, b->lease_ttl_ms);
}

START_TEST(an_answer_in_a_reply_comes_back_field_by_field)
{
    char sentence[HGI_SENTENCE_MAX];
    struct hgi_arena arena;
    struct hg_bytes bytes;

    hgi_arena_init(&arena, 0);
    hgi_bytes_init(&bytes, &hgi_heap);
    for (unsigned i = 0; i < ROUNDS; i++) {
        const struct hgi_msg_answer answer = some_answer();
        const struct hgi_reply reply = {.status = some_status(),
                                        .message = some_bytes(256),
                                        .retry_after_ms = (uint32_t)number(32)};
        struct hgi_pieces payload;
        struct hgi_pieces whole;
        struct hgi_reply got_reply;
        struct hgi_msg_answer got;

        hgi_answer_pieces(&answer, &payload);
        hgi_reply_pieces(&reply, &payload, &whole);
        bytes.len = 0;
        ck_assert(hgi_pieces_append(&whole, &bytes));
        ck_assert_uint_eq(bytes.len, whole.len);
        hgi_arena_reset(&arena, HGI_ARENA_BUDGET_MIN);
        ck_assert_int_eq(hgi_reply_decode(hgi_bytes_slice(&bytes), &arena, &got_reply), HG_OK);
        ck_assert_int_eq(got_reply.status, reply.status);
        ck_assert(hgi_slice_equal(got_reply.message, reply.message));
        ck_assert_uint_eq(got_reply.retry_after_ms, reply.retry_after_ms);
        ck_assert_int_eq(hgi_answer_decode(got_reply.payload, &arena, &got, sentence), HG_OK);
        check_equal(&answer, &got);
    }
    hgi_bytes_deinit(&bytes);
    hgi_arena_deinit(&arena);
}
END_TEST

START_TEST(the_longest_of_each_number_finds_room)
{
    struct hgi_msg_answer answer = {.status = HG_UNAUTHENTICATED,
                                    .message = hg_slice_text("m"),
                                    .retry_after_ms = UINT32_MAX,
                                    .outcome = HG_DENIED,
                                    .source = HG_SOURCE_LEASED,
                                    .value = hg_slice_text("v"),
                                    .value_type = HG_TYPE_AUTH,
                                    .is_fenced = true,
                                    .generation = UINT64_MAX,
                                    .age_ms = UINT64_MAX,
                                    .ttl_left_ms = UINT64_MAX,
                                    .stale_left_ms = UINT64_MAX,
                                    .lease_id = UINT64_MAX,
                                    .lease_epoch = UINT64_MAX,
                                    .lease_ttl_ms = UINT64_MAX};
    const struct hgi_reply reply = {
        .status = HG_UNAUTHENTICATED, .message = hg_slice_text("m"), .retry_after_ms = UINT32_MAX};
    struct hgi_pieces payload;
    struct hgi_pieces whole;

    hgi_answer_pieces(&answer, &payload);
    hgi_reply_pieces(&reply, &payload, &whole);
    ck_assert_uint_le(payload.own_len, HGI_PIECES_OWN_MAX);
    ck_assert_uint_le(whole.count, HGI_PIECES_MAX);
    ck_assert_uint_gt(whole.len, payload.len);
}
END_TEST

START_TEST(nothing_is_no_field_but_an_element)
{
    struct hgi_pieces nothing;
    struct hgi_pieces outer;
    struct hg_bytes bytes;

    hgi_bytes_init(&bytes, &hgi_heap);
    hgi_pieces_init(&nothing);
    hgi_pieces_init(&outer);
    hgi_pieces_nest(&outer, 3, &nothing);
    hgi_pieces_number(&outer, 1, 0);
    hgi_pieces_fixed64(&outer, 2, 0);
    hgi_pieces_bytes(&outer, 4, hg_slice_of(NULL, 0));
    ck_assert_uint_eq(outer.len, 0);
    ck_assert(hgi_pieces_append(&outer, &bytes));
    ck_assert_uint_eq(bytes.len, 0);
    ck_assert(hgi_pieces_append_element(&nothing, 1, &bytes));
    ck_assert_uint_eq(bytes.len, 2);
    ck_assert_int_eq(memcmp(bytes.data, "\x0a\x00", 2), 0);
    hgi_bytes_deinit(&bytes);
}
END_TEST

HGI_SUITE("proto.pieces", 30, an_answer_in_a_reply_comes_back_field_by_field,
          the_longest_of_each_number_finds_room, nothing_is_no_field_but_an_element)
