/* SPDX-License-Identifier: Apache-2.0 */
#include "hg_test.h"

#include <stdio.h>

#include "base/bytes.h"
#include "base/kind.h"

static char sentence[HGI_SENTENCE_MAX];

static struct hg_key key_of(enum hg_key_kind kind, const char *a, const char *b)
{
    struct hg_key key = {.kind = kind};

    if (kind == HG_KEY_BYTES || kind == HG_KEY_KEY_HASH) {
        key.bytes = hg_slice_text(a);
    } else {
        key.user_id = hg_slice_text(a);
        key.api_key_id = hg_slice_text(b);
    }
    return key;
}

static struct hg_key feature(const char *user_id, const char *api_key_id, bool is_standalone)
{
    struct hg_key key = key_of(HG_KEY_API_KEY_FEATURE, user_id, api_key_id);

    key.is_standalone = is_standalone;
    return key;
}

static enum hgi_key_type type_for(enum hg_key_kind kind)
{
    switch (kind) {
    case HG_KEY_BYTES:
        return HGI_KEYS_BYTES;
    case HG_KEY_KEY_HASH:
        return HGI_KEYS_KEY_HASH;
    case HG_KEY_USER_API_KEY:
        return HGI_KEYS_USER_API_KEY;
    case HG_KEY_API_KEY_FEATURE:
        return HGI_KEYS_API_KEY_FEATURE;
    }
    ck_abort();
}

static struct hgi_key encoded(struct hg_key key)
{
    struct hgi_key out;
    enum hg_status status = hgi_key_encode(type_for(key.kind), &key, &out, sentence);

    ck_assert_msg(status == HG_OK, "refused: %s", sentence);
    return out;
}

static void refused(struct hg_key key, const char *expected)
{
    struct hgi_key out = {.len = 77};

    ck_assert_int_eq(hgi_key_encode(type_for(key.kind), &key, &out, sentence), HG_INVALID_ARGUMENT);
    ck_assert_str_eq(sentence, expected);
    ck_assert_uint_eq(out.len, 77);
}

static bool same(struct hg_key a, struct hg_key b)
{
    struct hgi_key a_key = encoded(a);
    struct hgi_key b_key = encoded(b);

    return hgi_slice_equal(hgi_key_slice(&a_key), hgi_key_slice(&b_key));
}

START_TEST(empty_keys_are_refused_by_the_seeds_rules)
{
    refused(key_of(HG_KEY_BYTES, "", NULL), "the key is empty");
    refused(key_of(HG_KEY_BYTES, NULL, NULL), "the key is empty");
    refused(key_of(HG_KEY_KEY_HASH, "", NULL), "the key's key_hash is empty");
    refused(key_of(HG_KEY_USER_API_KEY, "", "k"), "the key's user_id is empty");
    refused(key_of(HG_KEY_USER_API_KEY, "u", ""), "the key's api_key_id is empty");
    refused(feature("u", "", false), "the key's api_key_id is empty");
    refused(feature("", "", true), "the key's api_key_id is empty");
    refused(feature("", "k", false),
            "the key's user_id is empty; only a standalone key may leave it out");
    (void)encoded(feature("", "k", true));
    (void)encoded(feature("u", "k", true));
}
END_TEST

START_TEST(white_space_alone_is_an_empty_typed_key)
{
    refused(key_of(HG_KEY_KEY_HASH, " \t\r\n\v\f", NULL), "the key's key_hash is empty");
    refused(key_of(HG_KEY_USER_API_KEY, "  ", "k"), "the key's user_id is empty");
    refused(key_of(HG_KEY_USER_API_KEY, "u", "\n"), "the key's api_key_id is empty");
    refused(feature(" ", "k", false),
            "the key's user_id is empty; only a standalone key may leave it out");
}
END_TEST

START_TEST(typed_parts_are_trimmed_and_bytes_are_not)
{
    ck_assert(same(key_of(HG_KEY_KEY_HASH, " a b\n", NULL), key_of(HG_KEY_KEY_HASH, "a b", NULL)));
    ck_assert(same(key_of(HG_KEY_USER_API_KEY, " u", "k "), key_of(HG_KEY_USER_API_KEY, "u", "k")));
    ck_assert(same(feature("\tu", " k ", false), feature("u", "k", false)));
    ck_assert(!same(key_of(HG_KEY_BYTES, " a", NULL), key_of(HG_KEY_BYTES, "a", NULL)));
}
END_TEST

START_TEST(no_two_keys_become_the_same_bytes)
{
    /* moved separators, moved bytes, the same text as another kind, the flag alone */
    const struct hg_key keys[] = {
        key_of(HG_KEY_BYTES, "ab", NULL),
        key_of(HG_KEY_KEY_HASH, "ab", NULL),
        key_of(HG_KEY_USER_API_KEY, "a", "b"),
        key_of(HG_KEY_USER_API_KEY, "ab", "c"),
        key_of(HG_KEY_USER_API_KEY, "a", "bc"),
        key_of(HG_KEY_USER_API_KEY, "a:b", "c"),
        key_of(HG_KEY_USER_API_KEY, "a", "b:c"),
        feature("a", "b", false),
        feature("a", "b", true),
        feature("", "ab", true),
        feature("ab", "c", false),
        feature("a", "bc", false),
        {.kind = HG_KEY_BYTES, .bytes = {"a\0b", 3}},
        {.kind = HG_KEY_BYTES, .bytes = {"a", 1}},
        {.kind = HG_KEY_BYTES, .bytes = {"\0\1a\0\1b", 6}},
    };
    const size_t count = sizeof(keys) / sizeof(keys[0]);

    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < count; j++) {
            ck_assert_msg(same(keys[i], keys[j]) == (i == j), "keys %zu and %zu", i, j);
        }
    }
}
END_TEST

START_TEST(key_of_1024_bytes_is_taken_and_of_1025_refused)
{
    char text[HG_KEY_MAX + 2];
    struct hg_key key;

    memset(text, 'x', sizeof(text));
    for (int kind = HG_KEY_BYTES; kind <= HG_KEY_API_KEY_FEATURE; kind++) {
        bool is_pair = kind == HG_KEY_USER_API_KEY || kind == HG_KEY_API_KEY_FEATURE;

        key = (struct hg_key){.kind = (enum hg_key_kind)kind, .bytes = {text, HG_KEY_MAX}};
        key.user_id = hg_slice_of(text, 24);
        key.api_key_id = hg_slice_of(text, HG_KEY_MAX - 24);
        (void)encoded(key);
        key.bytes.len++;
        key.api_key_id.len++;
        refused(key, "the key is 1025 bytes; at most 1024 are allowed");
        /* What trimming takes off is not counted. */
        if (is_pair) {
            text[0] = ' ';
            (void)encoded(key);
            text[0] = 'x';
        }
    }
}
END_TEST

START_TEST(a_cache_takes_only_its_kinds)
{
    static const struct {
        enum hgi_key_type type;
        unsigned kinds; /* bit per hg_key_kind */
    } rows[] = {
        {HGI_KEYS_BYTES, 1u << HG_KEY_BYTES},
        {HGI_KEYS_KEY_HASH, 1u << HG_KEY_KEY_HASH},
        {HGI_KEYS_USER_API_KEY, 1u << HG_KEY_USER_API_KEY},
        {HGI_KEYS_API_KEY_FEATURE, 1u << HG_KEY_API_KEY_FEATURE},
        {HGI_KEYS_AUTH, 1u << HG_KEY_KEY_HASH | 1u << HG_KEY_USER_API_KEY},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (int kind = 0; kind <= 5; kind++) {
            struct hg_key key = {.kind = (enum hg_key_kind)kind,
                                 .bytes = {"a", 1},
                                 .user_id = {"u", 1},
                                 .api_key_id = {"k", 1}};
            struct hgi_key out;
            bool is_taken = (rows[i].kinds >> kind & 1u) != 0;

            ck_assert_int_eq(hgi_key_encode(rows[i].type, &key, &out, sentence),
                             is_taken ? HG_OK : HG_INVALID_ARGUMENT);
        }
    }
    struct hg_key key = key_of(HG_KEY_BYTES, "a", NULL);
    struct hgi_key out;
    ck_assert_int_eq(hgi_key_encode(HGI_KEYS_AUTH, &key, &out, sentence), HG_INVALID_ARGUMENT);
    ck_assert_str_eq(
        sentence,
        "a key of kind bytes does not fit: this cache's keys are auth (key_hash or user_api_key)");
}
END_TEST

START_TEST(decoding_gives_the_key_back)
{
    const struct hg_key keys[] = {
        key_of(HG_KEY_BYTES, "ab", NULL),
        key_of(HG_KEY_KEY_HASH, "hash", NULL),
        key_of(HG_KEY_USER_API_KEY, "u", "k"),
        feature("", "k", true),
        feature("u", "k", false),
    };

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        struct hgi_key canonical = encoded(keys[i]);
        struct hg_key back;

        ck_assert(hgi_key_decode(hgi_key_slice(&canonical), &back));
        ck_assert_int_eq(back.kind, keys[i].kind);
        ck_assert(hgi_slice_equal(back.bytes, keys[i].bytes));
        ck_assert(hgi_slice_equal(back.user_id, keys[i].user_id));
        ck_assert(hgi_slice_equal(back.api_key_id, keys[i].api_key_id));
        ck_assert(back.is_standalone == keys[i].is_standalone);
    }
}
END_TEST

START_TEST(a_form_cut_short_or_drawn_long_is_not_decoded)
{
    const struct hg_key keys[] = {key_of(HG_KEY_BYTES, "ab", NULL),
                                  key_of(HG_KEY_USER_API_KEY, "u", "k"), feature("u", "k", true)};

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        struct hgi_key canonical = encoded(keys[i]);
        struct hg_key back = {.kind = HG_KEY_BYTES, .user_id = {"mark", 4}};

        for (size_t len = 0; len < canonical.len; len++) {
            ck_assert(!hgi_key_decode(hg_slice_of(canonical.data, len), &back));
        }
        canonical.data[canonical.len] = 0;
        ck_assert(!hgi_key_decode(hg_slice_of(canonical.data, canonical.len + 1), &back));
        canonical.data[0] = 9;
        ck_assert(!hgi_key_decode(hgi_key_slice(&canonical), &back));
        ck_assert_slice_eq(back.user_id, "mark");
    }
    struct hg_key back;
    ck_assert(!hgi_key_decode(hg_slice_of(NULL, 0), &back));
}
END_TEST

START_TEST(the_standalone_flag_is_one_byte_of_0_or_1)
{
    struct hgi_key canonical = encoded(feature("u", "k", true));
    struct hg_key back;

    canonical.data[canonical.len - 1] = 2;
    ck_assert(!hgi_key_decode(hgi_key_slice(&canonical), &back));
    canonical.data[canonical.len - 1] = 0;
    ck_assert(hgi_key_decode(hgi_key_slice(&canonical), &back));
    ck_assert(!back.is_standalone);
}
END_TEST

START_TEST(names_parse_to_what_they_name)
{
    for (int i = HGI_KEYS_BYTES; i <= HGI_KEYS_AUTH; i++) {
        enum hgi_key_type type;

        ck_assert(hgi_key_type_parse(hgi_key_type_name((enum hgi_key_type)i), &type));
        ck_assert_int_eq(type, i);
    }
    for (int i = HG_TYPE_BYTES; i <= HG_TYPE_AUTH; i++) {
        enum hg_value_type type;

        ck_assert(hgi_value_type_parse(hgi_value_type_name((enum hg_value_type)i), &type));
        ck_assert_int_eq(type, i);
    }
    for (int i = HG_MODE_DEFAULT; i <= HG_MODE_PEEK; i++) {
        enum hg_mode mode;

        ck_assert(hgi_mode_parse(hgi_mode_name((enum hg_mode)i), &mode));
        ck_assert_int_eq(mode, i);
    }
    enum hgi_key_type type = HGI_KEYS_AUTH;
    ck_assert(!hgi_key_type_parse("keyhash", &type));
    ck_assert_int_eq(type, HGI_KEYS_AUTH);
    ck_assert_ptr_null(hgi_key_type_name((enum hgi_key_type)0));
    ck_assert_ptr_null(hgi_key_type_name((enum hgi_key_type)6));
}
END_TEST

HGI_SUITE("base.kind", 20, empty_keys_are_refused_by_the_seeds_rules,
          white_space_alone_is_an_empty_typed_key, typed_parts_are_trimmed_and_bytes_are_not,
          no_two_keys_become_the_same_bytes, key_of_1024_bytes_is_taken_and_of_1025_refused,
          a_cache_takes_only_its_kinds, decoding_gives_the_key_back,
          a_form_cut_short_or_drawn_long_is_not_decoded, the_standalone_flag_is_one_byte_of_0_or_1,
          names_parse_to_what_they_name)
