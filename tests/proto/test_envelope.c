/* SPDX-License-Identifier: Apache-2.0 */
#include "hg_test.h"

#include "base/kind.h"
#include "codec_samples.h"
#include "proto/envelope.h"

static struct hg_bytes bytes;
static struct hgi_arena arena;
static struct hgi_request request;
static char sentence[HGI_SENTENCE_MAX];

static void set_up(void)
{
    hgi_bytes_init(&bytes, &hgi_heap);
    hgi_arena_init(&arena, HGI_ARENA_BUDGET_MIN);
    memset(&request, 0, sizeof(request));
}

static void tear_down(void)
{
    hgi_bytes_deinit(&bytes);
    hgi_arena_deinit(&arena);
}

static enum hg_status decode_hex(const char *digits)
{
    bytes.len = 0;
    hgi_hex(digits, &bytes);
    return hgi_request_decode(hgi_bytes_slice(&bytes), &arena, &request, sentence);
}

START_TEST(every_method_is_found_by_its_path_and_by_no_other)
{
    for (enum hgi_method method = HGI_METHOD_NONE + 1; method < HGI_METHOD_COUNT; method++) {
        const char *path = hgi_method_info(method)->path;

        ck_assert_int_eq(hgi_method_find(hg_slice_text(path)), method);
        ck_assert_int_eq(hgi_method_find(hg_slice_of(path, strlen(path) - 1)), HGI_METHOD_NONE);
        /* The NUL behind the path is part of this one. */
        ck_assert_int_eq(hgi_method_find(hg_slice_of(path, strlen(path) + 1)), HGI_METHOD_NONE);
    }
    ck_assert_int_eq(hgi_method_find(hg_slice_text("")), HGI_METHOD_NONE);
    ck_assert_int_eq(hgi_method_find(hg_slice_text("herdgate.v1.cache/get")), HGI_METHOD_NONE);
}
END_TEST

START_TEST(what_changes_a_cache_is_marked_and_needs_more_than_reading)
{
    static const enum hgi_method changing[] = {
        HGI_METHOD_PUT,           HGI_METHOD_INVALIDATE,  HGI_METHOD_FULFIL,
        HGI_METHOD_RELEASE,       HGI_METHOD_CLEAR,       HGI_METHOD_RELOAD_LOADER,
        HGI_METHOD_SAVE_SNAPSHOT, HGI_METHOD_KILL_FLIGHT, HGI_METHOD_REVOKE_TOKEN};
    size_t count = 0;

    for (enum hgi_method method = HGI_METHOD_NONE + 1; method < HGI_METHOD_COUNT; method++) {
        const struct hgi_method_info *info = hgi_method_info(method);

        count += info->mutates;
        ck_assert_msg(!info->mutates || info->right != HGI_RIGHT_DATA, "%s", info->path);
        ck_assert_msg(!strstr(info->path, ".Admin/") || info->right == HGI_RIGHT_ADMIN, "%s",
                      info->path);
    }
    for (size_t i = 0; i < sizeof(changing) / sizeof(changing[0]); i++) {
        ck_assert(hgi_method_info(changing[i])->mutates);
    }
    ck_assert_uint_eq(count, sizeof(changing) / sizeof(changing[0]));
}
END_TEST

START_TEST(a_request_comes_back_field_by_field)
{
    set_up();
    ck_assert_int_eq(decode_hex(hgi_golden_request), HG_OK);
    ck_assert_int_eq(request.method, HGI_METHOD_PUT);
    ck_assert_slice_eq(request.path, "herdgate.v1.Cache/Put");
    ck_assert_uint_eq(request.timeout_ms, 1500);
    ck_assert_slice_eq(request.payload, "payload");
    ck_assert_slice_eq(request.op_id, "0123456789abcdef");
    ck_assert_uint_eq(request.metadata_count, 2);
    ck_assert_slice_eq(request.metadata[0].name, "authorization");
    ck_assert_slice_eq(request.metadata[0].value, "Bearer t");
    ck_assert_slice_eq(request.metadata[1].name, "traceparent");
    ck_assert_slice_eq(request.metadata[1].value, "00");
    /* It was read where it lies. */
    ck_assert_uint_eq(arena.used_bytes, 0);
    tear_down();
}
END_TEST

START_TEST(an_unknown_method_is_no_error_and_keeps_its_path)
{
    set_up();
    ck_assert_int_eq(decode_hex("0a036e6f70"), HG_OK);
    ck_assert_int_eq(request.method, HGI_METHOD_NONE);
    ck_assert_slice_eq(request.path, "nop");
    ck_assert_int_eq(decode_hex(""), HG_OK);
    ck_assert_int_eq(request.method, HGI_METHOD_NONE);
    ck_assert_uint_eq(request.path.len, 0);
    tear_down();
}
END_TEST

START_TEST(an_op_id_has_16_bytes_or_none)
{
    set_up();
    ck_assert_int_eq(decode_hex("2a00"), HG_OK);
    ck_assert_uint_eq(request.op_id.len, 0);
    ck_assert_int_eq(decode_hex("2a1000112233445566778899aabbccddeeff"), HG_OK);
    ck_assert_uint_eq(request.op_id.len, 16);
    ck_assert_int_eq(decode_hex("2a0f00112233445566778899aabbccddee"), HG_INVALID_ARGUMENT);
    ck_assert_str_eq(sentence, "the op_id has 15 bytes; it must have 16, or be left out");
    ck_assert_int_eq(decode_hex("2a1100112233445566778899aabbccddeeff00"), HG_INVALID_ARGUMENT);
    ck_assert_str_eq(sentence, "the op_id has 17 bytes; it must have 16, or be left out");
    tear_down();
}
END_TEST

START_TEST(at_most_16_metadata_pairs_are_taken)
{
    set_up();
    for (unsigned i = 0; i < HGI_METADATA_MAX; i++) {
        hgi_hex("22060a016e120176", &bytes);
    }
    ck_assert_int_eq(hgi_request_decode(hgi_bytes_slice(&bytes), &arena, &request, sentence),
                     HG_OK);
    ck_assert_uint_eq(request.metadata_count, HGI_METADATA_MAX);
    ck_assert_slice_eq(request.metadata[15].value, "v");
    hgi_hex("2200", &bytes);
    hgi_arena_reset(&arena, 0); /* refused before it costs memory */
    ck_assert_int_eq(hgi_request_decode(hgi_bytes_slice(&bytes), &arena, &request, sentence),
                     HG_INVALID_ARGUMENT);
    ck_assert_str_eq(sentence, "17 metadata pairs in one request; at most 16 are allowed");
    tear_down();
}
END_TEST

START_TEST(bytes_that_are_no_request_leave_the_structure_alone)
{
    set_up();
    request.timeout_ms = 77;
    ck_assert_int_eq(decode_hex("0a05"), HG_INVALID_ARGUMENT);
    ck_assert_str_eq(sentence, "these 2 bytes are not a valid Request");
    ck_assert_int_eq(decode_hex("2a01ff"), HG_INVALID_ARGUMENT);
    ck_assert_uint_eq(request.timeout_ms, 77);
    tear_down();
}
END_TEST

START_TEST(fields_of_a_later_version_are_passed_over)
{
    set_up();
    ck_assert_int_eq(decode_hex("0a036e6f70"
                                "b20604ffffffff" /* field 102, four bytes */
                                "10e807"),
                     HG_OK);
    ck_assert_slice_eq(request.path, "nop");
    ck_assert_uint_eq(request.timeout_ms, 1000);
    tear_down();
}
END_TEST

START_TEST(a_reply_comes_back_field_by_field)
{
    struct hgi_reply reply;

    set_up();
    hgi_hex(hgi_golden_reply, &bytes);
    ck_assert_int_eq(hgi_reply_decode(hgi_bytes_slice(&bytes), &arena, &reply), HG_OK);
    ck_assert_int_eq(reply.status, HG_RESOURCE_EXHAUSTED);
    ck_assert_slice_eq(reply.message, "queue full");
    ck_assert_slice_eq(reply.payload, "p");
    ck_assert_uint_eq(reply.retry_after_ms, 250);
    tear_down();
}
END_TEST

START_TEST(status_numbers_travel_as_they_are_and_unknown_ones_become_unknown)
{
    set_up();
    for (unsigned number = 0; number < 20; number++) {
        struct hgi_reply reply = {.status = (enum hg_status)number};
        bool is_known = number <= 16 && number != 6 && number != 11 && number != 15;

        bytes.len = 0;
        ck_assert(hgi_reply_encode(&reply, &bytes));
        ck_assert_int_eq(hgi_reply_decode(hgi_bytes_slice(&bytes), &arena, &reply), HG_OK);
        ck_assert_uint_eq((unsigned)reply.status, is_known ? number : (unsigned)HG_UNKNOWN);
    }
    tear_down();
}
END_TEST

START_TEST(an_empty_reply_is_ok_and_takes_no_bytes)
{
    struct hgi_reply reply = {.status = HG_OK};

    set_up();
    ck_assert(hgi_reply_encode(&reply, &bytes));
    ck_assert_uint_eq(bytes.len, 0);
    reply.status = HG_INTERNAL;
    ck_assert_int_eq(hgi_reply_decode(hgi_bytes_slice(&bytes), &arena, &reply), HG_OK);
    ck_assert_int_eq(reply.status, HG_OK);
    tear_down();
}
END_TEST

START_TEST(a_reply_is_packed_into_reserved_bytes_without_an_allocation)
{
    struct hgi_test_allocator test;
    struct hg_bytes reserved;

    hgi_test_allocator_init(&test);
    hgi_bytes_init(&reserved, &test.allocator);
    ck_assert(hgi_bytes_reserve(&reserved, 4096));
    test.calls = 0;
    ck_assert(hgi_answer_encode(&hgi_sample_answer, &reserved));
    ck_assert(hgi_reply_encode(&hgi_sample_reply, &reserved));
    ck_assert(hgi_batch_reply_encode(&hgi_sample_batch_reply, &reserved));
    ck_assert_uint_eq(test.calls, 0);
    hgi_bytes_deinit(&reserved);
    ck_assert_uint_eq(test.out_count, 0);
}
END_TEST

HGI_SUITE("proto.envelope", 20, every_method_is_found_by_its_path_and_by_no_other,
          what_changes_a_cache_is_marked_and_needs_more_than_reading,
          a_request_comes_back_field_by_field, an_unknown_method_is_no_error_and_keeps_its_path,
          an_op_id_has_16_bytes_or_none, at_most_16_metadata_pairs_are_taken,
          bytes_that_are_no_request_leave_the_structure_alone,
          fields_of_a_later_version_are_passed_over, a_reply_comes_back_field_by_field,
          status_numbers_travel_as_they_are_and_unknown_ones_become_unknown,
          an_empty_reply_is_ok_and_takes_no_bytes,
          a_reply_is_packed_into_reserved_bytes_without_an_allocation)
