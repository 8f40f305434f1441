/* SPDX-License-Identifier: Apache-2.0 */
#include "hg_test.h"

#include <stdio.h>

#include "base/digest.h"
#include "base/hash.h"

static struct hgi_digest_key counting_key(void)
{
    struct hgi_digest_key key;

    for (size_t i = 0; i < sizeof(key.bytes); i++) {
        key.bytes[i] = (unsigned char)i;
    }
    return key;
}

static void check_hex(const unsigned char *bytes, const char *expected)
{
    char hex[2 * HGI_DIGEST_BYTES + 1];

    for (size_t i = 0; i < HGI_DIGEST_BYTES; i++) {
        snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
    }
    ck_assert_str_eq(hex, expected);
}

START_TEST(the_digest_is_keyed_blake2b_256)
{
    struct hgi_digest_key key = counting_key();
    struct hgi_digest digest;

    ck_assert(hgi_hash_start());
    digest = hgi_digest(&key, hg_slice_text("the same text"));
    check_hex(digest.bytes, "0a8d114f3a1a61ff8ed32046b3130a97825a457394e38245a804d0463abdae21");
}
END_TEST

/* What is on disk was made with it: it must not change. */
START_TEST(a_derived_key_is_libsodiums)
{
    struct hgi_digest_key key = counting_key();
    struct hgi_digest_key derived;

    ck_assert(hgi_hash_start());
    derived = hgi_digest_key_derive(&key, HGI_KEY_USE_TOKENS);
    check_hex(derived.bytes, "f1638996bd9a166d2c5fc8990671df61e77ec0481c4ec10edad33987e2916e8d");
}
END_TEST

START_TEST(each_use_has_a_key_of_its_own)
{
    struct hgi_digest_key key = hgi_digest_key_new();
    struct hgi_digest_key tokens = hgi_digest_key_derive(&key, HGI_KEY_USE_TOKENS);
    struct hgi_digest_key seal = hgi_digest_key_derive(&key, HGI_KEY_USE_TOKEN_FILE);
    struct hgi_digest_key keys = hgi_digest_key_derive(&key, HGI_KEY_USE_CACHE_KEYS);

    ck_assert_int_ne(memcmp(&tokens, &seal, sizeof(tokens)), 0);
    ck_assert_int_ne(memcmp(&tokens, &keys, sizeof(tokens)), 0);
    ck_assert_int_ne(memcmp(&seal, &keys, sizeof(seal)), 0);
    ck_assert_int_ne(memcmp(&key, &tokens, sizeof(key)), 0);
}
END_TEST

START_TEST(digests_are_equal_only_in_every_bit)
{
    struct hgi_digest_key key = hgi_digest_key_new();
    struct hgi_digest one = hgi_digest(&key, hg_slice_text("a"));
    struct hgi_digest other = hgi_digest(&key, hg_slice_text("a"));

    ck_assert(hgi_digest_equal(&one, &other));
    for (size_t bit = 0; bit < 8 * sizeof(other.bytes); bit++) {
        other.bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        ck_assert(!hgi_digest_equal(&one, &other));
        other.bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    other = hgi_digest(&key, hg_slice_text("b"));
    ck_assert(!hgi_digest_equal(&one, &other));
}
END_TEST

HGI_SUITE("base.digest", 20, the_digest_is_keyed_blake2b_256, a_derived_key_is_libsodiums,
          each_use_has_a_key_of_its_own, digests_are_equal_only_in_every_bit)
