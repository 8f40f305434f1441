/* SPDX-License-Identifier: Apache-2.0 */
/* What holds for every message: each test walks all rows of messages.def, auth values, requests and
 * replies. The rules of single messages are in test_codec_cache and test_codec_admin. */
#include "codec_table.h"

#define RANDOM_INPUTS 20000u

static struct hg_bytes input;
static struct hg_bytes output;
static struct hgi_arena arena;
static char sentence[HGI_SENTENCE_MAX];

static void set_up(size_t budget_bytes)
{
    hgi_bytes_init(&input, &hgi_heap);
    hgi_bytes_init(&output, &hgi_heap);
    hgi_arena_init(&arena, budget_bytes);
}

static void tear_down(void)
{
    hgi_bytes_deinit(&input);
    hgi_bytes_deinit(&output);
    hgi_arena_deinit(&arena);
}

/* One attempt on a fresh arena with the budget the server would give. The bytes lie in memory of
 * exactly their size, so that a sanitizer sees a read behind them. */
static enum hg_status attempt(const struct codec_case *row, struct hg_slice bytes)
{
    void *exact = hgi_alloc(&hgi_heap, bytes.len);
    enum hg_status status;

    ck_assert_ptr_nonnull(exact);
    if (bytes.len) {
        memcpy(exact, bytes.data, bytes.len);
    }
    hgi_arena_reset(&arena, hgi_arena_budget(bytes.len));
    output.len = 0;
    sentence[0] = '\0';
    status = row->recode(hg_slice_of(exact, bytes.len), &arena, &output, sentence);
    hgi_free(&hgi_heap, exact);
    ck_assert_msg(status == HG_OK || status == HG_INVALID_ARGUMENT ||
                      status == HG_RESOURCE_EXHAUSTED,
                  "%s: status %d", row->name, (int)status);
    ck_assert_msg((status == HG_OK) == (sentence[0] == '\0'), "%s: \"%s\"", row->name, sentence);
    ck_assert_msg(arena.used_bytes <= arena.budget_bytes, "%s", row->name);
    return status;
}

START_TEST(samples_are_what_another_implementation_packs)
{
    set_up(0);
    for (size_t i = 0; i < CODEC_CASE_COUNT; i++) {
        struct hg_bytes sample;

        hgi_bytes_init(&sample, &hgi_heap);
        input.len = 0;
        hgi_hex(codec_cases[i].golden, &input);
        ck_assert(codec_cases[i].encode_sample(&sample));
        ck_assert_msg(sample.len == input.len, "%s: %zu bytes, not %zu", codec_cases[i].name,
                      sample.len, input.len);
        /* Fields may stand in another order; once decoded and packed again they do not. */
        ck_assert_msg(attempt(&codec_cases[i], hgi_bytes_slice(&input)) == HG_OK, "%s: %s",
                      codec_cases[i].name, sentence);
        ck_assert_msg(hgi_slice_equal(hgi_bytes_slice(&output), hgi_bytes_slice(&sample)), "%s",
                      codec_cases[i].name);
        ck_assert_msg(attempt(&codec_cases[i], hgi_bytes_slice(&sample)) == HG_OK, "%s: %s",
                      codec_cases[i].name, sentence);
        ck_assert_msg(hgi_slice_equal(hgi_bytes_slice(&output), hgi_bytes_slice(&sample)), "%s",
                      codec_cases[i].name);
        hgi_bytes_deinit(&sample);
    }
    tear_down();
}
END_TEST

START_TEST(encoding_appends_and_keeps_what_was_there)
{
    set_up(0);
    for (size_t i = 0; i < CODEC_CASE_COUNT; i++) {
        input.len = 0;
        output.len = 0;
        ck_assert(codec_cases[i].encode_sample(&input));
        ck_assert(hgi_bytes_set(&output, hg_slice_text("before")));
        ck_assert(codec_cases[i].encode_sample(&output));
        ck_assert_uint_eq(output.len, input.len + 6);
        ck_assert_int_eq(memcmp(output.data, "before", 6), 0);
        ck_assert_int_eq(memcmp(output.data + 6, input.data, input.len), 0);
    }
    tear_down();
}
END_TEST

/* Fails the first, second, ... allocation of an encoder until it gets through. */
START_TEST(an_encoder_out_of_memory_leaves_the_bytes_as_they_were)
{
    for (size_t i = 0; i < CODEC_CASE_COUNT; i++) {
        struct hgi_test_allocator test;
        struct hg_bytes bytes;
        bool is_done = false;

        for (size_t fail_at = 1; !is_done; fail_at++) {
            ck_assert_uint_lt(fail_at, 100);
            hgi_test_allocator_init(&test);
            hgi_bytes_init(&bytes, &test.allocator);
            ck_assert(hgi_bytes_append(&bytes, hg_slice_text("before")));
            /* No room left, so that the encoder has to ask. */
            bytes.capacity = bytes.len;
            test.fail_at = fail_at;
            is_done = codec_cases[i].encode_sample(&bytes);
            if (!is_done) {
                ck_assert_msg(bytes.len == 6, "%s", codec_cases[i].name);
                ck_assert_int_eq(memcmp(bytes.data, "before", 6), 0);
            }
            hgi_bytes_deinit(&bytes);
            ck_assert_msg(test.out_count == 0, "%s", codec_cases[i].name);
            ck_assert_msg(!is_done || fail_at > 1, "%s", codec_cases[i].name);
        }
    }
}
END_TEST

START_TEST(any_beginning_of_a_message_gets_a_status)
{
    size_t refused = 0;

    set_up(0);
    for (size_t i = 0; i < CODEC_CASE_COUNT; i++) {
        input.len = 0;
        hgi_hex(codec_cases[i].golden, &input);
        for (size_t len = 0; len < input.len; len++) {
            refused += attempt(&codec_cases[i], hg_slice_of(input.data, len)) != HG_OK;
        }
    }
    ck_assert_uint_gt(refused, 500);
    tear_down();
}
END_TEST

START_TEST(any_changed_byte_gets_a_status)
{
    size_t refused = 0;

    set_up(0);
    for (size_t i = 0; i < CODEC_CASE_COUNT; i++) {
        input.len = 0;
        hgi_hex(codec_cases[i].golden, &input);
        for (size_t at = 0; at < input.len; at++) {
            unsigned char kept = input.data[at];

            for (unsigned bit = 0; bit < 8; bit++) {
                input.data[at] = (unsigned char)(kept ^ 1u << bit);
                refused += attempt(&codec_cases[i], hgi_bytes_slice(&input)) != HG_OK;
            }
            input.data[at] = kept;
        }
    }
    ck_assert_uint_gt(refused, 1000);
    tear_down();
}
END_TEST

/* What is read where it lies needs none. */
START_TEST(no_budget_is_a_clean_refusal)
{
    size_t needed = 0;

    set_up(0);
    for (size_t i = 0; i < CODEC_CASE_COUNT; i++) {
        enum hg_status status;
        size_t budget = 0;

        input.len = 0;
        hgi_hex(codec_cases[i].golden, &input);
        /* Every budget up to the one that suffices. */
        do {
            hgi_arena_reset(&arena, budget);
            status = codec_cases[i].recode(hgi_bytes_slice(&input), &arena, &output, sentence);
            ck_assert_msg(status == HG_OK || status == HG_RESOURCE_EXHAUSTED, "%s: %d",
                          codec_cases[i].name, (int)status);
            ck_assert_uint_le(arena.used_bytes, budget);
            budget += 16;
        } while (status != HG_OK);
        needed += budget > 16;
        ck_assert_uint_lt(budget, HGI_ARENA_BUDGET_MIN);
    }
    ck_assert_uint_ge(needed, CODEC_CASE_COUNT - 2);
    tear_down();
}
END_TEST

/* 1 MiB of the two-byte field `tag` 0. */
static void fill_with_field(unsigned char tag)
{
    const size_t len = 1u << 20;

    input.len = 0;
    ck_assert(hgi_bytes_reserve(&input, len));
    for (size_t i = 0; i < len; i += 2) {
        input.data[i] = tag;
        input.data[i + 1] = 0;
    }
    input.len = len;
}

/* docs/notes/001-substrate.md 7: left alone, these become 47 and 71 MB. attempt() checks the
 * budget. */
START_TEST(a_mebibyte_of_tiny_fields_stays_inside_the_budget)
{
    set_up(0);
    for (unsigned field = 1; field <= 5; field++) {
        fill_with_field((unsigned char)(field << 3 | 2)); /* empty bytes or empty messages */
        for (size_t i = 0; i < CODEC_CASE_COUNT; i++) {
            ck_assert_msg(attempt(&codec_cases[i], hgi_bytes_slice(&input)) != HG_OK, "%s field %u",
                          codec_cases[i].name, field);
        }
    }
    fill_with_field(15 << 3); /* an unknown number */
    for (size_t i = 0; i < CODEC_CASE_COUNT; i++) {
        ck_assert_msg(attempt(&codec_cases[i], hgi_bytes_slice(&input)) == HG_RESOURCE_EXHAUSTED,
                      "%s", codec_cases[i].name);
    }
    tear_down();
}
END_TEST

/* xorshift64: the same inputs every time. */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

START_TEST(random_bytes_get_a_status)
{
    uint64_t state = 0x9e3779b97f4a7c15u;
    size_t accepted = 0;

    set_up(0);
    ck_assert(hgi_bytes_reserve(&input, 128));
    for (size_t i = 0; i < CODEC_CASE_COUNT; i++) {
        for (unsigned n = 0; n < RANDOM_INPUTS; n++) {
            input.len = next_random(&state) % 128;
            for (size_t at = 0; at < input.len; at++) {
                uint64_t word = next_random(&state);

                /* Half of them small numbers, or no tag would ever be one of ours. */
                input.data[at] = (unsigned char)(word & 0x100 ? word & 0xff : word & 0x1f);
            }
            accepted += attempt(&codec_cases[i], hgi_bytes_slice(&input)) == HG_OK;
        }
    }
    ck_assert_uint_gt(accepted, 1000); /* not all of it is noise */
    tear_down();
}
END_TEST

/* Splices of valid messages reach deeper than noise: repeated singular fields, merged keys. */
START_TEST(spliced_messages_get_a_status)
{
    uint64_t state = 0x2545f4914f6cdd1du;

    set_up(0);
    for (size_t i = 0; i < CODEC_CASE_COUNT; i++) {
        struct hg_bytes golden;

        hgi_bytes_init(&golden, &hgi_heap);
        hgi_hex(codec_cases[i].golden, &golden);
        input.len = 0;
        ck_assert(hgi_bytes_append(&input, hgi_bytes_slice(&golden)));
        ck_assert(hgi_bytes_append(&input, hgi_bytes_slice(&golden)));
        /* protobuf: of two singular fields the last counts, repeated ones add up. */
        ck_assert_msg(attempt(&codec_cases[i], hgi_bytes_slice(&input)) == HG_OK, "%s: %s",
                      codec_cases[i].name, sentence);
        for (unsigned n = 0; n < RANDOM_INPUTS / 10; n++) {
            size_t from = next_random(&state) % golden.len;
            size_t to = next_random(&state) % golden.len;

            input.len = 0;
            ck_assert(hgi_bytes_append(&input, hg_slice_of(golden.data, to)));
            ck_assert(hgi_bytes_append(&input, hg_slice_of(golden.data + from, golden.len - from)));
            (void)attempt(&codec_cases[i], hgi_bytes_slice(&input));
        }
        hgi_bytes_deinit(&golden);
    }
    tear_down();
}
END_TEST

HGI_SUITE("proto.codec", 60, samples_are_what_another_implementation_packs,
          encoding_appends_and_keeps_what_was_there,
          an_encoder_out_of_memory_leaves_the_bytes_as_they_were,
          any_beginning_of_a_message_gets_a_status, any_changed_byte_gets_a_status,
          no_budget_is_a_clean_refusal, a_mebibyte_of_tiny_fields_stays_inside_the_budget,
          random_bytes_get_a_status, spliced_messages_get_a_status)
