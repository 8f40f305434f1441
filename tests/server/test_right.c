/* SPDX-License-Identifier: Apache-2.0 */
#include "hg_test.h"

#include "server/access/right.h"

#define BIT(word) (1u << HGI_VERB_##word)

static const struct hgi_grant grants[] = {
    {"auth", BIT(READ) | BIT(LOAD)},
    {HGI_EVERY_CACHE, BIT(READ)},
    {"auth", BIT(CLEAR)},
    {"users", BIT(WRITE)},
};
static const struct hgi_principal gateway = {.name = "gateway", .grants = grants, .grant_count = 4};
static const struct hgi_principal nobody = {.name = "nobody"};

static bool may(const char *cache, enum hgi_verb verb)
{
    return hgi_principal_may(&gateway, hg_slice_text(cache), verb);
}

START_TEST(who_was_granted_nothing_may_nothing)
{
    for (enum hgi_verb verb = HGI_VERB_READ; verb <= HGI_VERB_ADMIN; verb++) {
        ck_assert(!hgi_principal_may(&nobody, hg_slice_text("auth"), verb));
        ck_assert(!hgi_principal_may(&nobody, hg_slice_text(HGI_EVERY_CACHE), verb));
        ck_assert(!hgi_principal_may_all(&nobody, verb));
        ck_assert(!hgi_principal_may_any(&nobody, verb));
    }
}
END_TEST

START_TEST(grants_add_up_for_each_cache)
{
    ck_assert(may("auth", HGI_VERB_READ) && may("auth", HGI_VERB_LOAD));
    ck_assert(may("auth", HGI_VERB_CLEAR));
    ck_assert(!may("auth", HGI_VERB_WRITE) && !may("auth", HGI_VERB_ADMIN));
    ck_assert(may("users", HGI_VERB_WRITE) && may("users", HGI_VERB_READ));
    ck_assert(!may("users", HGI_VERB_LOAD) && !may("users", HGI_VERB_CLEAR));
}
END_TEST

START_TEST(the_star_covers_what_has_no_name_yet_and_only_its_own_verbs)
{
    ck_assert(may("anything", HGI_VERB_READ));
    ck_assert(!may("anything", HGI_VERB_LOAD));
    ck_assert(!may("auth2", HGI_VERB_LOAD) && !may("aut", HGI_VERB_LOAD));
    ck_assert(hgi_principal_may_all(&gateway, HGI_VERB_READ));
    ck_assert(!hgi_principal_may_all(&gateway, HGI_VERB_LOAD));
    ck_assert(!hgi_principal_may_all(&gateway, HGI_VERB_WRITE));
    ck_assert(hgi_principal_may_any(&gateway, HGI_VERB_WRITE));
    ck_assert(!hgi_principal_may_any(&gateway, HGI_VERB_ADMIN));
}
END_TEST

START_TEST(verbs_are_read_with_commas_or_blanks)
{
    hgi_verbs verbs = 0;
    char wrong[16];

    ck_assert(hgi_verbs_parse("read,load , clear write  admin", &verbs, wrong, sizeof(wrong)));
    ck_assert_uint_eq(verbs, BIT(READ) | BIT(LOAD) | BIT(WRITE) | BIT(CLEAR) | BIT(ADMIN));
    ck_assert(hgi_verbs_parse("clear", &verbs, wrong, sizeof(wrong)));
    ck_assert_uint_eq(verbs, BIT(CLEAR));
}
END_TEST

START_TEST(what_is_no_verb_is_named_and_changes_nothing)
{
    hgi_verbs verbs = 7;
    char wrong[8];

    ck_assert(!hgi_verbs_parse("read, reed, load", &verbs, wrong, sizeof(wrong)));
    ck_assert_str_eq(wrong, "reed");
    ck_assert(!hgi_verbs_parse("READ", &verbs, wrong, sizeof(wrong)));
    ck_assert_str_eq(wrong, "READ");
    ck_assert(!hgi_verbs_parse("everything-at-once", &verbs, wrong, sizeof(wrong)));
    ck_assert_str_eq(wrong, "everyth");
    ck_assert(!hgi_verbs_parse(" , ", &verbs, wrong, sizeof(wrong)));
    ck_assert_str_eq(wrong, "");
    ck_assert_uint_eq(verbs, 7);
}
END_TEST

START_TEST(the_verbs_are_listed_for_people)
{
    char list[HGI_VERBS_LIST_MAX];

    hgi_verbs_list(list);
    ck_assert_str_eq(list, "read, load, write, clear and admin");
    ck_assert_str_eq(hgi_verb_name(HGI_VERB_WRITE), "write");
    ck_assert_ptr_null(hgi_verb_name((enum hgi_verb)99));
}
END_TEST

HGI_SUITE("server.right", 20, who_was_granted_nothing_may_nothing, grants_add_up_for_each_cache,
          the_star_covers_what_has_no_name_yet_and_only_its_own_verbs,
          verbs_are_read_with_commas_or_blanks, what_is_no_verb_is_named_and_changes_nothing,
          the_verbs_are_listed_for_people)
