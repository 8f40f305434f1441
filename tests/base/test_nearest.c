/* SPDX-License-Identifier: Apache-2.0 */
#include "hg_test.h"

#include "base/nearest.h"

static const char *nearest_of(const char *word, const char *const *known, size_t count)
{
    const char *best = NULL;

    for (size_t i = 0; i < count; i++) {
        (void)hgi_nearer(word, known[i], &best);
    }
    return best ? best : "none";
}

static const char *const verbs[] = {"get", "load", "put", "del", "clear", "caches", "health"};

#define NEAREST(word) nearest_of(word, verbs, sizeof(verbs) / sizeof(verbs[0]))

START_TEST(a_letter_more_less_other_or_swapped_is_a_slip)
{
    ck_assert_str_eq(NEAREST("loadd"), "load");
    ck_assert_str_eq(NEAREST("lod"), "load");
    ck_assert_str_eq(NEAREST("lead"), "load");
    ck_assert_str_eq(NEAREST("hleath"), "health");
    ck_assert_str_eq(NEAREST("caches"), "caches");
}
END_TEST

START_TEST(an_abbreviation_of_three_letters_is_near)
{
    ck_assert_str_eq(NEAREST("delete"), "del");
    ck_assert_str_eq(NEAREST("cac"), "caches");
    ck_assert_str_eq(NEAREST("ca"), "none");
}
END_TEST

START_TEST(another_word_is_not_suggested)
{
    static char long_word[66];

    memset(long_word, 'g', sizeof(long_word) - 1);
    ck_assert_str_eq(NEAREST("watch"), "none");
    ck_assert_str_eq(NEAREST(""), "none");
    ck_assert_str_eq(NEAREST(long_word), "none");
}
END_TEST

START_TEST(the_nearest_wins_and_of_equals_the_first)
{
    static const char *const known[] = {"stats", "states", "status"};

    ck_assert_str_eq(nearest_of("statuss", known, 3), "status");
    ck_assert_str_eq(nearest_of("statxs", known, 3), "stats");
}
END_TEST

HGI_SUITE("base.nearest", 20, a_letter_more_less_other_or_swapped_is_a_slip,
          an_abbreviation_of_three_letters_is_near, another_word_is_not_suggested,
          the_nearest_wins_and_of_equals_the_first)
