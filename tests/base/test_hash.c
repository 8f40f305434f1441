/* SPDX-License-Identifier: Apache-2.0 */
#include "hg_test.h"

#include "base/hash.h"

START_TEST(the_hash_is_siphash_2_4)
{
    /* Appendix A of the SipHash paper. */
    struct hgi_hash_key key;
    unsigned char input[15];

    for (size_t i = 0; i < sizeof(key.bytes); i++) {
        key.bytes[i] = (unsigned char)i;
    }
    for (size_t i = 0; i < sizeof(input); i++) {
        input[i] = (unsigned char)i;
    }
    ck_assert(hgi_hash(&key, hg_slice_of(input, sizeof(input))) == UINT64_C(0xa129ca6149be45e5));
}
END_TEST

START_TEST(the_key_decides_the_hash)
{
    struct hgi_hash_key a = hgi_hash_key_new();
    struct hgi_hash_key b = hgi_hash_key_new();
    struct hg_slice text = hg_slice_text("the same text");

    ck_assert_int_ne(memcmp(&a, &b, sizeof(a)), 0);
    ck_assert(hgi_hash(&a, text) == hgi_hash(&a, hg_slice_text("the same text")));
    ck_assert(hgi_hash(&a, text) != hgi_hash(&b, text));
    ck_assert(hgi_hash(&a, text) != hgi_hash(&a, hg_slice_text("the same texu")));
    ck_assert(hgi_hash(&a, hg_slice_of(NULL, 0)) == hgi_hash(&a, hg_slice_text("")));
}
END_TEST

START_TEST(random_bytes_fill_what_they_are_asked_for_and_no_more)
{
    unsigned char bytes[66] = {0};
    unsigned seen = 0;

    for (int i = 0; i < 64; i++) {
        hgi_random(bytes + 1, 64);
        for (size_t n = 1; n <= 64; n++) {
            seen |= bytes[n];
        }
        ck_assert_uint_eq(bytes[0], 0);
        ck_assert_uint_eq(bytes[65], 0);
    }
    ck_assert_uint_eq(seen, 0xff);
}
END_TEST

HGI_SUITE("base.hash", 20, the_hash_is_siphash_2_4, the_key_decides_the_hash,
          random_bytes_fill_what_they_are_asked_for_and_no_more)
