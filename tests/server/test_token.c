/* SPDX-License-Identifier: Apache-2.0 */
#include "hg_test.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "server/access/token.h"

START_TEST(a_token_has_its_id_in_it_and_nothing_to_quote)
{
    struct hgi_token_text token;
    uint32_t id = 0;

    ck_assert(hgi_hash_start());
    hgi_token_make(0x0badcafe, &token);
    ck_assert_uint_eq(strlen(token.text), HGI_TOKEN_LEN);
    ck_assert_int_eq(memcmp(token.text, "hg_0badcafe_", 12), 0);
    ck_assert_uint_eq(strspn(token.text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                         "0123456789-_"),
                      HGI_TOKEN_LEN);
    ck_assert(hgi_token_id(hg_slice_text(token.text), &id));
    ck_assert_uint_eq(id, 0x0badcafe);
    ck_assert_slice_eq(hgi_token_id_of(&token), "0badcafe");
}
END_TEST

START_TEST(two_tokens_of_one_id_are_two)
{
    struct hgi_token_text one;
    struct hgi_token_text other;

    ck_assert(hgi_hash_start());
    hgi_token_make(1, &one);
    hgi_token_make(1, &other);
    ck_assert_str_ne(one.text, other.text);
}
END_TEST

START_TEST(what_is_no_token_has_no_id)
{
    static const char *const texts[] = {
        "",
        "hg_",
        "hg_0badcafe_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",   /* one too short */
        "hg_0badcafe_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", /* one too long */
        "hg_0BADCAFE_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "hg_0badcafg_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "hg-0badcafe_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "hg_0badcafe-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    };
    static const char nul[] = "hg_0badcaf\0_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    uint32_t id = 7;

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        ck_assert_msg(!hgi_token_id(hg_slice_text(texts[i]), &id), "\"%s\" has one", texts[i]);
    }
    ck_assert(!hgi_token_id(hg_slice_of(nul, HGI_TOKEN_LEN), &id));
    ck_assert_uint_eq(id, 7);
}
END_TEST

START_TEST(the_bearer_scheme_is_read_in_any_case_and_no_other_is)
{
    ck_assert_slice_eq(hgi_token_of_bearer(hg_slice_text("Bearer hg_x")), "hg_x");
    ck_assert_slice_eq(hgi_token_of_bearer(hg_slice_text("bEARER hg_x")), "hg_x");
    ck_assert_uint_eq(hgi_token_of_bearer(hg_slice_text("Bearer ")).len, 0);
    ck_assert_uint_eq(hgi_token_of_bearer(hg_slice_text("Bearerhg_x")).len, 0);
    ck_assert_uint_eq(hgi_token_of_bearer(hg_slice_text("Basic hg_xyz")).len, 0);
    ck_assert_uint_eq(hgi_token_of_bearer(hg_slice_text("hg_x")).len, 0);
    ck_assert_uint_eq(hgi_token_of_bearer(hg_slice_of(NULL, 0)).len, 0);
}
END_TEST

HGI_SUITE("server.token", 20, a_token_has_its_id_in_it_and_nothing_to_quote,
          two_tokens_of_one_id_are_two, what_is_no_token_has_no_id,
          the_bearer_scheme_is_read_in_any_case_and_no_other_is)
