/* SPDX-License-Identifier: Apache-2.0 */
/* Names and their numbers, held or not. */
#include "base/bytes.h"
#include "hg_test.h"
#include "storage/table/tag.h"

struct fixture {
    struct hgi_test_allocator memory;
    struct hgi_region region;
    struct hgi_tags tags;
};

static void setup(struct fixture *f)
{
    hgi_test_allocator_init(&f->memory);
    ck_assert(hgi_region_init(&f->region, 1 << 16));
    ck_assert(hgi_tags_init(&f->tags, &f->memory.allocator, &f->region));
}

static void teardown(struct fixture *f)
{
    hgi_tags_deinit(&f->tags);
    hgi_region_deinit(&f->region);
    ck_assert_uint_eq(f->memory.out_count, 0);
}

static uint64_t hard_of(struct fixture *f, uint32_t place)
{
    uint64_t hard = 0;
    uint64_t soft;

    ck_assert(hgi_tag_numbers_read(&f->region.memory, place, &hard, &soft));
    return hard;
}

static uint64_t soft_of(struct fixture *f, uint32_t place)
{
    uint64_t hard;
    uint64_t soft = 0;

    ck_assert(hgi_tag_numbers_read(&f->region.memory, place, &hard, &soft));
    return soft;
}

START_TEST(holders_of_a_name_share_one_record)
{
    struct fixture f;
    uint32_t first;
    uint32_t second;

    setup(&f);
    first = hgi_tags_hold(&f.tags, hg_slice_text("plan"));
    second = hgi_tags_hold(&f.tags, hg_slice_text("plan"));
    ck_assert_uint_ne(first, 0);
    ck_assert_uint_eq(first, second);
    ck_assert(hgi_slice_equal(hgi_tags_name(&f.tags, first), hg_slice_text("plan")));
    hgi_tags_release(&f.tags, first);
    hgi_tags_invalidate(&f.tags, hg_slice_text("plan"), 9, false);
    ck_assert_uint_eq(hard_of(&f, second), 9);
    ck_assert_uint_eq(soft_of(&f, second), 0);
    hgi_tags_release(&f.tags, second);
    teardown(&f);
}
END_TEST

START_TEST(a_number_outlives_those_who_held_the_name)
{
    struct fixture f;
    uint32_t tag;

    setup(&f);
    tag = hgi_tags_hold(&f.tags, hg_slice_text("plan"));
    ck_assert_uint_ne(tag, 0);
    hgi_tags_invalidate(&f.tags, hg_slice_text("plan"), 9, false);
    hgi_tags_invalidate(&f.tags, hg_slice_text("plan"), 12, true);
    hgi_tags_release(&f.tags, tag);
    ck_assert_uint_ge(hgi_tags_number(&f.tags, hg_slice_text("plan")), 12);
    tag = hgi_tags_hold(&f.tags, hg_slice_text("plan"));
    ck_assert_uint_ne(tag, 0);
    ck_assert_uint_ge(hard_of(&f, tag), 9);
    ck_assert_uint_ge(soft_of(&f, tag), 12);
    hgi_tags_release(&f.tags, tag);
    teardown(&f);
}
END_TEST

START_TEST(a_name_that_nobody_holds_is_invalidated_too)
{
    struct fixture f;

    setup(&f);
    ck_assert_uint_eq(hgi_tags_number(&f.tags, hg_slice_text("plan")), 0);
    ck_assert_uint_eq(hgi_front_tags_last(hgi_front_of(&f.region.memory)), 0);
    hgi_tags_invalidate(&f.tags, hg_slice_text("plan"), 7, false);
    ck_assert_uint_eq(hgi_tags_number(&f.tags, hg_slice_text("plan")), 7);
    ck_assert_uint_eq(hgi_front_tags_last(hgi_front_of(&f.region.memory)), 7);
    teardown(&f);
}
END_TEST

/* A reader may hold any number for a place. */
START_TEST(a_place_that_can_be_none_is_told_apart)
{
    struct fixture f;
    uint64_t hard;
    uint64_t soft;

    setup(&f);
    ck_assert(!hgi_tag_numbers_read(&f.region.memory, 7, &hard, &soft));
    ck_assert(!hgi_tag_numbers_read(&f.region.memory, UINT32_MAX - 1, &hard, &soft));
    ck_assert(!hgi_tag_numbers_read(&f.region.memory, (1 << 16) / 4 - 2, &hard, &soft));
    teardown(&f);
}
END_TEST

HGI_SUITE("storage.tag", 20, a_place_that_can_be_none_is_told_apart,
          holders_of_a_name_share_one_record, a_number_outlives_those_who_held_the_name,
          a_name_that_nobody_holds_is_invalidated_too)
