/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of single messages of herdgate.v1.Cache; what holds for all is in test_codec. */
#include "hg_test.h"

#include "codec_scene.h"

START_TEST(a_get_comes_back_field_by_field)
{
    struct hgi_msg_get get;

    set_up();
    ck_assert_int_eq(hgi_get_request_decode(hex(hgi_golden_get_request), &arena, &get, sentence),
                     HG_OK);
    ck_assert_slice_eq(get.cache, "c");
    ck_assert_int_eq(get.key.kind, HG_KEY_KEY_HASH);
    ck_assert_slice_eq(get.key.bytes, "h");
    ck_assert_int_eq(get.mode, HG_MODE_ALLOW_STALE);
    ck_assert_int_eq(get.max_age_ms, 0);
    ck_assert_uint_eq(get.min_generation, 1792000000000002);
    tear_down();
}
END_TEST

START_TEST(a_get_without_a_key_has_kind_0_and_one_without_max_age_minus_1)
{
    struct hgi_msg_get get;

    set_up();
    ck_assert_int_eq(hgi_get_request_decode(hex("0a0163"), &arena, &get, sentence), HG_OK);
    ck_assert_int_eq((int)get.key.kind, 0);
    ck_assert_int_eq(get.max_age_ms, -1);
    ck_assert_uint_eq(get.min_generation, 0);
    /* A key without a kind is no key either. */
    ck_assert_int_eq(hgi_get_request_decode(hex("1200"), &arena, &get, sentence), HG_OK);
    ck_assert_int_eq((int)get.key.kind, 0);
    tear_down();
}
END_TEST

START_TEST(a_huge_max_age_is_clamped_to_ten_years)
{
    struct hgi_msg_get get;

    set_up();
    ck_assert_int_eq(hgi_get_request_decode(hex("20ffffffffffffffffff01"), &arena, &get, sentence),
                     HG_OK);
    ck_assert_int_eq(get.max_age_ms, 315576000000);
    tear_down();
}
END_TEST

START_TEST(a_mode_that_nobody_knows_is_refused)
{
    struct hgi_msg_get get;
    struct hgi_msg_batch batch;

    set_up();
    ck_assert_int_eq(hgi_get_request_decode(hex("1804"), &arena, &get, sentence), HG_OK);
    ck_assert_int_eq(hgi_get_request_decode(hex("1805"), &arena, &get, sentence),
                     HG_INVALID_ARGUMENT);
    ck_assert_str_eq(sentence, "mode is 5; it must be 0 to 4");
    ck_assert_int_eq(hgi_get_request_decode(hex("18ffffffffffffffffff01"), &arena, &get, sentence),
                     HG_INVALID_ARGUMENT);
    ck_assert_str_eq(sentence, "mode is -1; it must be 0 to 4");
    ck_assert_int_eq(hgi_batch_request_decode(hex("12001805"), &arena, &batch, sentence),
                     HG_INVALID_ARGUMENT);
    ck_assert_str_eq(sentence, "mode is 5; it must be 0 to 4");
    tear_down();
}
END_TEST

/* protobuf: the last of several kinds counts; of one kind twice, the last too. */
START_TEST(the_last_kind_of_a_key_counts)
{
    struct hgi_msg_get get;

    set_up();
    ck_assert_int_eq(hgi_get_request_decode(hex("1212"
                                                "0a0161"
                                                "1a080a0275311202"
                                                "6b31"
                                                "0a0162"
                                                "1200"),
                                            &arena, &get, sentence),
                     HG_OK);
    ck_assert_int_eq(get.key.kind, HG_KEY_KEY_HASH);
    ck_assert_uint_eq(get.key.bytes.len, 0);
    tear_down();
}
END_TEST

START_TEST(all_four_kinds_of_key_come_back)
{
    struct hgi_msg_batch batch;

    set_up();
    ck_assert_int_eq(
        hgi_batch_request_decode(hex(hgi_golden_batch_request), &arena, &batch, sentence), HG_OK);
    ck_assert_uint_eq(batch.key_count, 5);
    ck_assert_int_eq(batch.keys[0].kind, HG_KEY_BYTES);
    ck_assert(hgi_slice_equal(batch.keys[0].bytes, hg_slice_of("b\0b", 3)));
    ck_assert_int_eq(batch.keys[1].kind, HG_KEY_KEY_HASH);
    ck_assert_slice_eq(batch.keys[1].bytes, "hash");
    ck_assert_int_eq(batch.keys[2].kind, HG_KEY_USER_API_KEY);
    ck_assert_slice_eq(batch.keys[2].user_id, "u1");
    ck_assert_slice_eq(batch.keys[2].api_key_id, "k1");
    ck_assert_int_eq(batch.keys[3].kind, HG_KEY_API_KEY_FEATURE);
    ck_assert_slice_eq(batch.keys[3].user_id, "u2");
    ck_assert_slice_eq(batch.keys[3].api_key_id, "k2");
    ck_assert(batch.keys[3].is_standalone);
    ck_assert_int_eq((int)batch.keys[4].kind, 0);
    ck_assert_int_eq(batch.mode, HG_MODE_PEEK);
    ck_assert_int_eq(batch.max_age_ms, 500);
    ck_assert_uint_eq(batch.min_generation, 91);
    tear_down();
}
END_TEST

START_TEST(an_empty_batch_is_refused)
{
    struct hgi_msg_batch batch;
    struct hgi_msg_invalidate invalidate;

    set_up();
    ck_assert_int_eq(hgi_batch_request_decode(hex("0a0163"), &arena, &batch, sentence),
                     HG_INVALID_ARGUMENT);
    ck_assert_str_eq(sentence, "the batch is empty; it must have 1 to 256 keys");
    ck_assert_int_eq(hgi_invalidate_request_decode(hex("0a0163"), &arena, &invalidate, sentence),
                     HG_INVALID_ARGUMENT);
    ck_assert_str_eq(sentence, "the invalidation names nothing; it must have a key, a tag or a "
                               "prefix (Admin/Clear empties a whole cache)");
    /* "soft" alone says how, not what. */
    ck_assert_int_eq(hgi_invalidate_request_decode(hex("2801"), &arena, &invalidate, sentence),
                     HG_INVALID_ARGUMENT);
    tear_down();
}
END_TEST

/* The tiniest two-part keys cost the most memory for their bytes: 256 of them must still fit. */
START_TEST(a_batch_holds_256_keys_and_not_one_more)
{
    struct hgi_msg_batch batch;
    struct hgi_msg_invalidate invalidate;

    set_up();
    for (unsigned i = 0; i < HGI_BATCH_KEYS_MAX; i++) {
        hgi_hex("12081a060a017512016b", &bytes);
    }
    ck_assert_msg(hgi_batch_request_decode(hgi_bytes_slice(&bytes), &arena, &batch, sentence) ==
                      HG_OK,
                  "%s", sentence);
    ck_assert_uint_eq(batch.key_count, 256);
    ck_assert_slice_eq(batch.keys[255].api_key_id, "k");
    hgi_arena_reset(&arena, HGI_ARENA_BUDGET_MIN);
    ck_assert_int_eq(
        hgi_invalidate_request_decode(hgi_bytes_slice(&bytes), &arena, &invalidate, sentence),
        HG_OK);

    hgi_hex("1200", &bytes);
    hgi_arena_reset(&arena, 0); /* refused before it costs memory */
    ck_assert_int_eq(hgi_batch_request_decode(hgi_bytes_slice(&bytes), &arena, &batch, sentence),
                     HG_INVALID_ARGUMENT);
    ck_assert_str_eq(sentence, "257 keys in one batch; at most 256 are allowed");
    ck_assert_int_eq(
        hgi_invalidate_request_decode(hgi_bytes_slice(&bytes), &arena, &invalidate, sentence),
        HG_INVALID_ARGUMENT);
    ck_assert_str_eq(sentence, "257 keys in one invalidation; at most 256 are allowed");
    tear_down();
}
END_TEST

START_TEST(an_answer_comes_back_field_by_field)
{
    struct hgi_msg_answer answer;

    set_up();
    ck_assert_int_eq(hgi_answer_decode(hex(hgi_golden_answer), &arena, &answer, sentence), HG_OK);
    ck_assert_int_eq(answer.status, HG_OK);
    ck_assert_slice_eq(answer.message, "m");
    ck_assert_uint_eq(answer.retry_after_ms, 11);
    ck_assert_int_eq(answer.outcome, HG_VALUE);
    ck_assert_int_eq(answer.source, HG_SOURCE_STALE);
    ck_assert_slice_eq(answer.value, "{\"a\":1}");
    ck_assert_int_eq(answer.value_type, HG_TYPE_JSON);
    ck_assert(answer.is_fenced);
    ck_assert_uint_eq(answer.generation, 1792000000000001);
    ck_assert_uint_eq(answer.age_ms, 12);
    ck_assert_uint_eq(answer.ttl_left_ms, 13);
    ck_assert_uint_eq(answer.stale_left_ms, 14);
    ck_assert_uint_eq(answer.lease_id, 15);
    ck_assert_uint_eq(answer.lease_epoch, 16);
    ck_assert_uint_eq(answer.lease_ttl_ms, 17);
    tear_down();
}
END_TEST

START_TEST(an_answer_with_an_unknown_enum_is_refused_alone_and_in_a_batch)
{
    struct hgi_msg_answer answer;
    struct hgi_msg_batch_reply reply;

    set_up();
    ck_assert_int_eq(hgi_answer_decode(hex("2004"), &arena, &answer, sentence),
                     HG_INVALID_ARGUMENT);
    ck_assert_str_eq(sentence, "outcome is 4; it must be 0 to 3");
    ck_assert_int_eq(hgi_answer_decode(hex("2806"), &arena, &answer, sentence),
                     HG_INVALID_ARGUMENT);
    ck_assert_str_eq(sentence, "source is 6; it must be 0 to 5");
    ck_assert_int_eq(hgi_answer_decode(hex("3804"), &arena, &answer, sentence),
                     HG_INVALID_ARGUMENT);
    ck_assert_str_eq(sentence, "value_type is 4; it must be 0 to 3");
    ck_assert_int_eq(hgi_batch_reply_decode(hex("0a000a022004"), &arena, &reply, sentence),
                     HG_INVALID_ARGUMENT);
    ck_assert_str_eq(sentence, "outcome is 4; it must be 0 to 3");
    tear_down();
}
END_TEST

START_TEST(a_batch_of_256_answers_fits_its_budget)
{
    struct hgi_msg_answer answers[HGI_BATCH_KEYS_MAX];
    struct hgi_msg_batch_reply reply = {answers, HGI_BATCH_KEYS_MAX};

    set_up();
    for (size_t i = 0; i < HGI_BATCH_KEYS_MAX; i++) {
        memset(&answers[i], 0, sizeof(answers[i]));
        answers[i].status = HG_NOT_FOUND;
        answers[i].message = hg_slice_text("m");
        answers[i].value = hg_slice_text("v");
        answers[i].generation = i;
    }
    ck_assert(hgi_batch_reply_encode(&reply, &bytes));
    hgi_arena_reset(&arena, hgi_arena_budget(bytes.len));
    ck_assert_msg(hgi_batch_reply_decode(hgi_bytes_slice(&bytes), &arena, &reply, sentence) ==
                      HG_OK,
                  "%s", sentence);
    ck_assert_uint_eq(reply.answer_count, 256);
    ck_assert_uint_eq(reply.answers[255].generation, 255);
    tear_down();
}
END_TEST

START_TEST(a_put_comes_back_field_by_field)
{
    struct hgi_msg_put put;

    set_up();
    ck_assert_int_eq(hgi_put_request_decode(hex(hgi_golden_put_request), &arena, &put, sentence),
                     HG_OK);
    ck_assert_slice_eq(put.cache, "c");
    ck_assert_slice_eq(put.key.user_id, "u");
    ck_assert_slice_eq(put.key.api_key_id, "k");
    ck_assert_int_eq(put.outcome, HG_VALUE);
    ck_assert_slice_eq(put.value, "v");
    ck_assert_int_eq(put.ttl_ms, 51);
    ck_assert_int_eq(put.stale_ttl_ms, 52);
    ck_assert_int_eq(put.expires_at_ms, 1893456000000);
    ck_assert(put.has_if_generation);
    ck_assert_uint_eq(put.if_generation.generation, 53);
    ck_assert_uint_eq(put.if_generation.epoch, 54);
    ck_assert_uint_eq(put.tag_count, 2);
    ck_assert_slice_eq(put.tags[0], "red");
    tear_down();
}
END_TEST

START_TEST(an_invalidation_comes_back_field_by_field)
{
    struct hgi_msg_invalidate invalidate;

    set_up();
    ck_assert_int_eq(hgi_invalidate_request_decode(hex(hgi_golden_invalidate_request), &arena,
                                                   &invalidate, sentence),
                     HG_OK);
    ck_assert_uint_eq(invalidate.key_count, 5);
    ck_assert_uint_eq(invalidate.tag_count, 2);
    ck_assert_slice_eq(invalidate.tags[0], "red");
    ck_assert(hgi_slice_equal(invalidate.tags[1], hg_slice_of("b\0le", 4)));
    ck_assert_slice_eq(invalidate.prefix, "u4");
    ck_assert(invalidate.is_soft);
    ck_assert_int_eq(hgi_invalidate_request_decode(hex("1a0174"), &arena, &invalidate, sentence),
                     HG_OK);
    ck_assert_uint_eq(invalidate.key_count, 0);
    ck_assert(!invalidate.is_soft && invalidate.prefix.len == 0);
    ck_assert_int_eq(hgi_invalidate_request_decode(hex("220175"), &arena, &invalidate, sentence),
                     HG_OK);
    tear_down();
}
END_TEST

/* Appends `count` tags "t" under the field's tag byte. */
static struct hg_slice tags_of(const char *field, size_t count)
{
    bytes.len = 0;
    for (size_t i = 0; i < count; i++) {
        hgi_hex(field, &bytes);
        hgi_hex("0174", &bytes);
    }
    return hgi_bytes_slice(&bytes);
}

START_TEST(tags_are_bounded_in_number_and_in_length)
{
    char long_tag[2 * (3 + HG_TAG_MAX + 1) + 1];
    struct hgi_msg_put put;
    struct hgi_msg_invalidate invalidate;

    set_up();
    ck_assert_int_eq(hgi_put_request_decode(tags_of("4a", 16), &arena, &put, sentence), HG_OK);
    ck_assert_uint_eq(put.tag_count, 16);
    ck_assert_int_eq(hgi_put_request_decode(tags_of("4a", 17), &arena, &put, sentence),
                     HG_INVALID_ARGUMENT);
    ck_assert_str_eq(sentence, "17 tags in one put; at most 16 are allowed");
    ck_assert_int_eq(
        hgi_invalidate_request_decode(tags_of("1a", 256), &arena, &invalidate, sentence), HG_OK);
    ck_assert_uint_eq(invalidate.tag_count, 256);
    ck_assert_int_eq(
        hgi_invalidate_request_decode(tags_of("1a", 257), &arena, &invalidate, sentence),
        HG_INVALID_ARGUMENT);
    ck_assert_str_eq(sentence, "257 tags in one invalidation; at most 256 are allowed");
    ck_assert_int_eq(hgi_put_request_decode(hex("4a01744a00"), &arena, &put, sentence),
                     HG_INVALID_ARGUMENT);
    ck_assert_str_eq(sentence, "tag 2 has 0 bytes; it must have 1 to 128");
    memset(long_tag, '6', sizeof(long_tag) - 1);
    long_tag[sizeof(long_tag) - 1] = '\0';
    memcpy(long_tag, "4a8001", 6);
    long_tag[2 * (3 + HG_TAG_MAX)] = '\0';
    ck_assert_int_eq(hgi_put_request_decode(hex(long_tag), &arena, &put, sentence), HG_OK);
    memcpy(long_tag, "4a8101", 6);
    long_tag[2 * (3 + HG_TAG_MAX)] = '6';
    ck_assert_int_eq(hgi_put_request_decode(hex(long_tag), &arena, &put, sentence),
                     HG_INVALID_ARGUMENT);
    ck_assert_str_eq(sentence, "tag 1 has 129 bytes; it must have 1 to 128");
    tear_down();
}
END_TEST

START_TEST(if_generation_0_is_a_condition_and_none_is_not)
{
    struct hgi_msg_put put;

    set_up();
    ck_assert_int_eq(hgi_put_request_decode(hex("4200"), &arena, &put, sentence), HG_OK);
    ck_assert(put.has_if_generation);
    ck_assert_uint_eq(put.if_generation.generation, 0);
    ck_assert_int_eq(hgi_put_request_decode(hex("0a0163"), &arena, &put, sentence), HG_OK);
    ck_assert(!put.has_if_generation);
    tear_down();
}
END_TEST

START_TEST(times_of_a_put_that_mean_nothing_are_refused)
{
    struct hgi_msg_put put = {.ttl_ms = 7};

    set_up();
    ck_assert_int_eq(hgi_put_request_decode(hex("2880bcaece9709"), &arena, &put, sentence), HG_OK);
    ck_assert_int_eq(put.ttl_ms, 315576000000);
    put.ttl_ms = 7;
    ck_assert_int_eq(hgi_put_request_decode(hex("2881bcaece9709"), &arena, &put, sentence),
                     HG_INVALID_ARGUMENT);
    ck_assert_str_eq(sentence,
                     "ttl_ms is 315576000001; at most 315576000000 milliseconds are allowed");
    ck_assert_int_eq(hgi_put_request_decode(hex("30ffffffffffffffffff01"), &arena, &put, sentence),
                     HG_INVALID_ARGUMENT);
    ck_assert_str_eq(sentence, "stale_ttl_ms is 18446744073709551615; at most 315576000000 "
                               "milliseconds are allowed");
    ck_assert_int_eq(hgi_put_request_decode(hex("38ffffffffffffffffff01"), &arena, &put, sentence),
                     HG_INVALID_ARGUMENT);
    ck_assert_str_eq(sentence, "expires_at_ms is -1; it must be unix milliseconds from 0 (none) "
                               "to 253402300799999");
    /* Microseconds by mistake. */
    ck_assert_int_eq(hgi_put_request_decode(hex("3880c09ca2e9c2ae03"), &arena, &put, sentence),
                     HG_INVALID_ARGUMENT);
    ck_assert_int_eq(put.ttl_ms, 7);
    tear_down();
}
END_TEST

START_TEST(an_outcome_of_a_put_that_nobody_knows_is_refused)
{
    struct hgi_msg_put put;

    set_up();
    ck_assert_int_eq(hgi_put_request_decode(hex("1804"), &arena, &put, sentence),
                     HG_INVALID_ARGUMENT);
    ck_assert_str_eq(sentence, "outcome is 4; it must be 0 to 3");
    tear_down();
}
END_TEST

START_TEST(a_generation_reply_must_have_its_token)
{
    struct hgi_msg_token token;

    set_up();
    ck_assert_int_eq(hgi_generation_reply_decode(hex(""), &arena, &token, sentence),
                     HG_INVALID_ARGUMENT);
    ck_assert_int_eq(
        hgi_generation_reply_decode(hex(hgi_golden_generation_reply), &arena, &token, sentence),
        HG_OK);
    ck_assert_uint_eq(token.generation, 71);
    ck_assert_uint_eq(token.epoch, 72);
    tear_down();
}
END_TEST

HGI_SUITE("proto.codec_cache", 20, a_get_comes_back_field_by_field,
          a_get_without_a_key_has_kind_0_and_one_without_max_age_minus_1,
          a_huge_max_age_is_clamped_to_ten_years, a_mode_that_nobody_knows_is_refused,
          the_last_kind_of_a_key_counts, all_four_kinds_of_key_come_back, an_empty_batch_is_refused,
          a_batch_holds_256_keys_and_not_one_more, an_answer_comes_back_field_by_field,
          an_answer_with_an_unknown_enum_is_refused_alone_and_in_a_batch,
          a_batch_of_256_answers_fits_its_budget, a_put_comes_back_field_by_field,
          an_invalidation_comes_back_field_by_field, tags_are_bounded_in_number_and_in_length,
          if_generation_0_is_a_condition_and_none_is_not,
          times_of_a_put_that_mean_nothing_are_refused,
          an_outcome_of_a_put_that_nobody_knows_is_refused, a_generation_reply_must_have_its_token)
