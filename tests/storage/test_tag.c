/* SPDX-License-Identifier: Apache-2.0 */
/* Names and their numbers, held or not. */
#include "hg_test.h"
#include "storage/table/tag.h"

struct fixture {
    struct hgi_test_allocator memory;
    struct hgi_tags tags;
};

static void setup(struct fixture *f)
{
    hgi_test_allocator_init(&f->memory);
    ck_assert(hgi_tags_init(&f->tags, &f->memory.allocator));
}

static void teardown(struct fixture *f)
{
    hgi_tags_deinit(&f->tags);
    ck_assert_uint_eq(f->memory.out_count, 0);
}

START_TEST(holders_of_a_name_share_one_record)
{
    struct fixture f;
    struct hgi_tag *first;
    struct hgi_tag *second;

    setup(&f);
    first = hgi_tags_hold(&f.tags, hg_slice_text("plan"));
    second = hgi_tags_hold(&f.tags, hg_slice_text("plan"));
    ck_assert_ptr_nonnull(first);
    ck_assert_ptr_eq(first, second);
    hgi_tags_release(&f.tags, first);
    hgi_tags_invalidate(&f.tags, hg_slice_text("plan"), 9, false);
    ck_assert_uint_eq(hgi_tag_hard(second), 9);
    ck_assert_uint_eq(hgi_tag_soft(second), 0);
    hgi_tags_release(&f.tags, second);
    teardown(&f);
}
END_TEST

START_TEST(a_number_outlives_those_who_held_the_name)
{
    struct fixture f;
    struct hgi_tag *tag;

    setup(&f);
    tag = hgi_tags_hold(&f.tags, hg_slice_text("plan"));
    ck_assert_ptr_nonnull(tag);
    hgi_tags_invalidate(&f.tags, hg_slice_text("plan"), 9, false);
    hgi_tags_invalidate(&f.tags, hg_slice_text("plan"), 12, true);
    hgi_tags_release(&f.tags, tag);
    ck_assert_uint_ge(hgi_tags_number(&f.tags, hg_slice_text("plan")), 12);
    tag = hgi_tags_hold(&f.tags, hg_slice_text("plan"));
    ck_assert_ptr_nonnull(tag);
    ck_assert_uint_ge(hgi_tag_hard(tag), 9);
    ck_assert_uint_ge(hgi_tag_soft(tag), 12);
    hgi_tags_release(&f.tags, tag);
    teardown(&f);
}
END_TEST

START_TEST(a_name_that_nobody_holds_is_invalidated_too)
{
    struct fixture f;

    setup(&f);
    ck_assert_uint_eq(hgi_tags_number(&f.tags, hg_slice_text("plan")), 0);
    ck_assert_uint_eq(hgi_tags_last(&f.tags), 0);
    hgi_tags_invalidate(&f.tags, hg_slice_text("plan"), 7, false);
    ck_assert_uint_eq(hgi_tags_number(&f.tags, hg_slice_text("plan")), 7);
    ck_assert_uint_eq(hgi_tags_last(&f.tags), 7);
    teardown(&f);
}
END_TEST

HGI_SUITE("storage.tag", 20, holders_of_a_name_share_one_record,
          a_number_outlives_those_who_held_the_name, a_name_that_nobody_holds_is_invalidated_too)
