/* SPDX-License-Identifier: Apache-2.0 */
#include "hg_test.h"

#include "base/kind.h"
#include "proto/codec.h"
#include "proto/value.h"

#define VALUE_MAX 65536u

static enum hg_outcome outcome;
static int64_t expires_at_ms;
static struct hgi_value_user user;
static char sentence[HGI_SENTENCE_MAX];

static enum hg_status check(enum hg_value_type type, struct hg_slice value, enum hg_outcome given)
{
    outcome = given;
    sentence[0] = '\0';
    return hgi_value_check(type, value, VALUE_MAX, &outcome, &expires_at_ms, &user, sentence);
}

static enum hg_status check_json(const char *text)
{
    return check(HG_TYPE_JSON, hg_slice_text(text), HG_VALUE);
}

static enum hg_status check_auth(const struct hg_auth *auth, enum hg_outcome given)
{
    struct hg_bytes bytes;
    enum hg_status status;

    hgi_bytes_init(&bytes, &hgi_heap);
    ck_assert(hgi_auth_encode(auth, &bytes));
    status = check(HG_TYPE_AUTH, hgi_bytes_slice(&bytes), given);
    hgi_bytes_deinit(&bytes);
    return status;
}

START_TEST(an_auth_value_gives_out_its_user_trimmed_and_of_a_keys_length)
{
    char long_user[HG_KEY_MAX + 2];
    struct hg_auth auth = {.user_id = hg_slice_text("  u1 "), .allowed = true};

    ck_assert_int_eq(check_auth(&auth, HG_VALUE), HG_OK);
    ck_assert(user.len == 2 && memcmp(user.bytes, "u1", 2) == 0);
    auth.allowed = false;
    ck_assert_int_eq(check_auth(&auth, HG_DENIED), HG_OK);
    ck_assert_uint_eq(user.len, 2);
    ck_assert_int_eq(check(HG_TYPE_AUTH, hg_slice_of(NULL, 0), HG_DENIED), HG_OK);
    ck_assert_uint_eq(user.len, 0);
    user.len = 7;
    ck_assert_int_eq(check(HG_TYPE_BYTES, hg_slice_text("v"), HG_VALUE), HG_OK);
    ck_assert_uint_eq(user.len, 0);
    memset(long_user, 'u', sizeof(long_user));
    auth.user_id = hg_slice_of(long_user, HG_KEY_MAX);
    ck_assert_int_eq(check_auth(&auth, HG_DENIED), HG_OK);
    ck_assert_uint_eq(user.len, HG_KEY_MAX);
    auth.user_id = hg_slice_of(long_user, HG_KEY_MAX + 1);
    ck_assert_int_eq(check_auth(&auth, HG_DENIED), HG_INVALID_ARGUMENT);
    ck_assert_str_eq(sentence, "the auth value's user_id is 1025 bytes; at most 1024 are allowed");
}
END_TEST

START_TEST(any_bytes_are_a_bytes_value)
{
    ck_assert_int_eq(check(HG_TYPE_BYTES, hg_slice_of("\0\xff{", 3), HG_VALUE), HG_OK);
    ck_assert_int_eq(check(HG_TYPE_BYTES, hg_slice_of(NULL, 0), HG_VALUE), HG_OK);
    ck_assert_int_eq(outcome, HG_VALUE);
}
END_TEST

START_TEST(a_value_may_have_the_limit_and_not_one_byte_more)
{
    static char big[VALUE_MAX + 1];

    for (enum hg_value_type type = HG_TYPE_BYTES; type <= HG_TYPE_AUTH; type++) {
        ck_assert_int_eq(check(type, hg_slice_of(big, VALUE_MAX + 1), HG_VALUE),
                         HG_INVALID_ARGUMENT);
        ck_assert_str_eq(sentence, "the value is 65537 bytes; at most 65536 are allowed");
    }
    ck_assert_int_eq(check(HG_TYPE_BYTES, hg_slice_of(big, VALUE_MAX), HG_VALUE), HG_OK);
    ck_assert_int_eq(check(HG_TYPE_AUTH, hg_slice_of(big, VALUE_MAX + 1), HG_DENIED),
                     HG_INVALID_ARGUMENT);
}
END_TEST

START_TEST(any_well_formed_json_is_a_json_value)
{
    static const char *const texts[] = {"{}",
                                        "[]",
                                        "null",
                                        "true",
                                        " 1 ",
                                        "-0.5e3",
                                        "\"text\"",
                                        "\"\\u0000\"",
                                        "[[[]]]",
                                        "{\"a\":1,\"a\":2}",
                                        "123456789012345678901234567890",
                                        "{\"deep\":{\"er\":[1,2,{}]}}"};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        ck_assert_msg(check_json(texts[i]) == HG_OK, "%s: %s", texts[i], sentence);
        ck_assert_int_eq(outcome, HG_VALUE);
    }
}
END_TEST

START_TEST(what_is_not_json_is_refused_with_its_place)
{
    static const char *const texts[] = {"",      " ",    "{",        "}",        "{\"a\":}", "[1,]",
                                        "nul",   "01",   "'a'",      "{a:1}",    "\"open",   "1 2",
                                        "{} {}", "\xff", "\"\xc3\"", "\"\x01\"", "[1] x"};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        ck_assert_msg(check_json(texts[i]) == HG_INVALID_ARGUMENT, "%s", texts[i]);
        ck_assert_ptr_nonnull(strstr(sentence, "the JSON value "));
        ck_assert_ptr_nonnull(strstr(sentence, "(line "));
    }
    ck_assert_int_eq(check_json("{\n  \"secret\": x}"), HG_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(sentence, "line 2"));
    ck_assert_ptr_null(strstr(sentence, "secret"));
    ck_assert_int_eq(check(HG_TYPE_JSON, hg_slice_of("1\0", 2), HG_VALUE), HG_INVALID_ARGUMENT);
    ck_assert_int_eq(check(HG_TYPE_JSON, hg_slice_of("[1\0,2]", 7), HG_VALUE), HG_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(sentence, "NUL byte"));
    ck_assert_int_eq(check_json("1e999"), HG_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(sentence, "too large"));
}
END_TEST

START_TEST(json_nested_without_end_is_refused)
{
    static char deep[VALUE_MAX];

    memset(deep, '[', sizeof(deep));
    ck_assert_int_eq(check(HG_TYPE_JSON, hg_slice_of(deep, sizeof(deep)), HG_VALUE),
                     HG_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(sentence, "nested more than 2,048 deep"));
}
END_TEST

START_TEST(an_allowed_auth_value_stays_a_value)
{
    struct hg_auth auth = {.user_id = hg_slice_text("u"), .allowed = true};

    expires_at_ms = 0;
    ck_assert_int_eq(check_auth(&auth, HG_VALUE), HG_OK);
    ck_assert_int_eq(outcome, HG_VALUE);
    ck_assert_int_eq(expires_at_ms, 0);
}
END_TEST

START_TEST(an_auth_value_that_is_not_allowed_is_denied)
{
    struct hg_auth auth = {.user_id = hg_slice_text("u"), .allowed = false};

    ck_assert_int_eq(check_auth(&auth, HG_VALUE), HG_OK);
    ck_assert_int_eq(outcome, HG_DENIED);
    ck_assert_int_eq(check_auth(&auth, HG_DENIED), HG_OK);
    ck_assert_int_eq(outcome, HG_DENIED);
    /* Nothing said is nothing allowed. */
    ck_assert_int_eq(check(HG_TYPE_AUTH, hg_slice_of(NULL, 0), HG_VALUE), HG_OK);
    ck_assert_int_eq(outcome, HG_DENIED);
}
END_TEST

START_TEST(the_earlier_of_not_after_and_expires_at_counts)
{
    struct hg_auth auth = {.allowed = true, .not_after_ms = 2000};

    expires_at_ms = 0;
    ck_assert_int_eq(check_auth(&auth, HG_VALUE), HG_OK);
    ck_assert_int_eq(expires_at_ms, 2000);
    expires_at_ms = 1999;
    ck_assert_int_eq(check_auth(&auth, HG_VALUE), HG_OK);
    ck_assert_int_eq(expires_at_ms, 1999);
    expires_at_ms = 2001;
    ck_assert_int_eq(check_auth(&auth, HG_VALUE), HG_OK);
    ck_assert_int_eq(expires_at_ms, 2000);
    auth.not_after_ms = 0;
    expires_at_ms = 5;
    ck_assert_int_eq(check_auth(&auth, HG_VALUE), HG_OK);
    ck_assert_int_eq(expires_at_ms, 5);
    auth.allowed = false;
    auth.not_after_ms = 4;
    ck_assert_int_eq(check_auth(&auth, HG_DENIED), HG_OK);
    ck_assert_int_eq(expires_at_ms, 4);
}
END_TEST

START_TEST(a_refused_value_changes_neither_outcome_nor_end)
{
    struct hg_auth auth = {.allowed = true, .not_after_ms = 1000};

    expires_at_ms = 2000;
    ck_assert_int_eq(check_auth(&auth, HG_DENIED), HG_INVALID_ARGUMENT);
    ck_assert_int_eq(outcome, HG_DENIED);
    ck_assert_int_eq(expires_at_ms, 2000);
    auth.not_after_ms = -1;
    auth.allowed = false;
    ck_assert_int_eq(check_auth(&auth, HG_VALUE), HG_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(sentence, "not_after_ms is -1"));
    ck_assert_int_eq(outcome, HG_VALUE);
    ck_assert_int_eq(expires_at_ms, 2000);
}
END_TEST

START_TEST(what_is_no_auth_value_is_refused)
{
    ck_assert_int_eq(check(HG_TYPE_AUTH, hg_slice_text("{\"allowed\":true}"), HG_VALUE),
                     HG_INVALID_ARGUMENT);
    ck_assert_str_eq(sentence, "these 16 bytes are not a valid AuthValue");
}
END_TEST

/* 64 KiB of empty attributes would take megabytes; the count is checked first. */
START_TEST(an_auth_value_of_many_parts_is_refused_by_number)
{
    static unsigned char parts[VALUE_MAX];

    for (size_t i = 0; i < VALUE_MAX; i += 2) {
        parts[i] = 5 << 3 | 2;
    }
    ck_assert_int_eq(check(HG_TYPE_AUTH, hg_slice_of(parts, VALUE_MAX), HG_VALUE),
                     HG_INVALID_ARGUMENT);
    ck_assert_str_eq(sentence, "32768 attributes in one auth value; at most 256 are allowed");
    for (size_t i = 0; i < VALUE_MAX; i += 2) {
        parts[i] = 9 << 3 | 2; /* a field nobody knows */
    }
    ck_assert_int_eq(check(HG_TYPE_AUTH, hg_slice_of(parts, VALUE_MAX), HG_VALUE),
                     HG_RESOURCE_EXHAUSTED);
}
END_TEST

START_TEST(absent_comes_without_a_value)
{
    for (enum hg_value_type type = HG_TYPE_BYTES; type <= HG_TYPE_AUTH; type++) {
        ck_assert_int_eq(check(type, hg_slice_of(NULL, 0), HG_ABSENT), HG_OK);
        ck_assert_int_eq(outcome, HG_ABSENT);
        ck_assert_int_eq(check(type, hg_slice_text("x"), HG_ABSENT), HG_INVALID_ARGUMENT);
        ck_assert_ptr_nonnull(strstr(sentence, "ABSENT comes with a value of 1 bytes"));
    }
}
END_TEST

START_TEST(denied_has_a_value_only_in_auth_caches_and_only_one_that_denies)
{
    struct hg_auth auth = {.allowed = true};

    for (enum hg_value_type type = HG_TYPE_BYTES; type <= HG_TYPE_AUTH; type++) {
        ck_assert_int_eq(check(type, hg_slice_of(NULL, 0), HG_DENIED), HG_OK);
        ck_assert_int_eq(outcome, HG_DENIED);
    }
    ck_assert_int_eq(check(HG_TYPE_BYTES, hg_slice_text("x"), HG_DENIED), HG_INVALID_ARGUMENT);
    ck_assert_int_eq(check(HG_TYPE_JSON, hg_slice_text("1"), HG_DENIED), HG_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(sentence, "outside auth caches"));
    ck_assert_int_eq(check_auth(&auth, HG_DENIED), HG_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(sentence, "it must say false"));
}
END_TEST

START_TEST(nothing_else_is_an_outcome_to_keep)
{
    ck_assert_int_eq(check(HG_TYPE_BYTES, hg_slice_of(NULL, 0), HG_NOT_CACHED),
                     HG_INVALID_ARGUMENT);
    ck_assert_str_eq(sentence, "the outcome is 0; it must be VALUE (1), ABSENT (2) or DENIED (3)");
    ck_assert_int_eq(check(HG_TYPE_BYTES, hg_slice_text("v"), (enum hg_outcome)7),
                     HG_INVALID_ARGUMENT);
    ck_assert_int_eq(check((enum hg_value_type)9, hg_slice_text("v"), HG_VALUE),
                     HG_INVALID_ARGUMENT);
}
END_TEST

HGI_SUITE("proto.value", 20, any_bytes_are_a_bytes_value,
          an_auth_value_gives_out_its_user_trimmed_and_of_a_keys_length,
          a_value_may_have_the_limit_and_not_one_byte_more, any_well_formed_json_is_a_json_value,
          what_is_not_json_is_refused_with_its_place, json_nested_without_end_is_refused,
          an_allowed_auth_value_stays_a_value, an_auth_value_that_is_not_allowed_is_denied,
          the_earlier_of_not_after_and_expires_at_counts,
          a_refused_value_changes_neither_outcome_nor_end, what_is_no_auth_value_is_refused,
          an_auth_value_of_many_parts_is_refused_by_number, absent_comes_without_a_value,
          denied_has_a_value_only_in_auth_caches_and_only_one_that_denies,
          nothing_else_is_an_outcome_to_keep)
