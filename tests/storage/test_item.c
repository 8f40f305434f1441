/* SPDX-License-Identifier: Apache-2.0 */
/* An item is the entry it was made of, however its times are kept. */
#include "base/bytes.h"
#include "hg_test.h"
#include "storage/table/item.h"

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

static struct hgi_entry entry_of(void)
{
    return (struct hgi_entry){.key = hg_slice_text("key"),
                              .value = hg_slice_text("value"),
                              .etag = hg_slice_text("v1"),
                              .outcome = HG_VALUE,
                              .born = (UINT64_C(1) << 53) - 1,
                              .published_ms = 123456789,
                              .ttl_ms = 1000,
                              .stale_ttl_ms = 5000,
                              .load_ms = 7};
}

static struct hgi_view travel(struct fixture *f, const struct hgi_entry *entry, uint32_t *ret_place)
{
    struct hgi_view view;

    *ret_place = hgi_item_create(&f->region, &f->tags, entry, 3);
    ck_assert_uint_ne(*ret_place, 0);
    ck_assert(hgi_view_read(&f->region.memory, *ret_place, &view));
    ck_assert_uint_eq(hgi_item_taken(&f->region, *ret_place), hgi_item_size(entry));
    ck_assert_uint_eq(hgi_item_serial(&f->region, *ret_place), 3);
    ck_assert(hgi_slice_equal(view.key, entry->key));
    ck_assert(hgi_slice_equal(view.value, entry->value));
    ck_assert(hgi_slice_equal(view.etag, entry->etag));
    ck_assert_uint_eq(view.born, entry->born);
    ck_assert_int_eq(view.outcome, entry->outcome);
    ck_assert_int_eq(view.published_ms, entry->published_ms);
    ck_assert_int_eq(view.ttl_ms, entry->ttl_ms);
    ck_assert_int_eq(view.stale_ttl_ms, entry->stale_ttl_ms);
    ck_assert_int_eq(view.expires_wall_ms, entry->expires_wall_ms);
    ck_assert_int_eq(view.expires_boot_ms, entry->expires_boot_ms);
    ck_assert_uint_eq(view.tag_count, entry->tag_count);
    ck_assert(!view.is_softened && !view.is_refused);
    return view;
}

START_TEST(an_item_is_the_entry_it_was_made_of)
{
    struct hgi_entry entry = entry_of();
    struct hgi_view view;
    struct fixture f;
    uint32_t place;

    setup(&f);
    view = travel(&f, &entry, &place);
    ck_assert_int_eq(view.keep_ms, 5000);
    ck_assert_int_eq(view.load_ms, 7);
    hgi_item_destroy(&f.region, &f.tags, place);
    entry.outcome = HG_DENIED;
    entry.value = hg_slice_of(NULL, 0);
    entry.etag = hg_slice_of(NULL, 0);
    entry.published_ms = -5; /* before this boot */
    (void)travel(&f, &entry, &place);
    hgi_item_destroy(&f.region, &f.tags, place);
    teardown(&f);
}
END_TEST

START_TEST(the_plain_one_is_as_small_as_it_was_meant_to_be)
{
    struct hgi_entry entry = entry_of();
    char key[41] = "a key of forty bytes, as they often are";
    char value[101] = "";

    memset(key + 39, '.', 1);
    memset(value, 'v', 100);
    entry.key = hg_slice_text(key);
    entry.value = hg_slice_text(value);
    entry.etag = hg_slice_of(NULL, 0);
    ck_assert_uint_eq(hgi_item_size(&entry), 188);
}
END_TEST

START_TEST(times_that_few_have_are_kept_too)
{
    struct hg_slice tags[] = {hg_slice_text("red"), hg_slice_text("blue")};
    struct hgi_entry entry = entry_of();
    struct hg_slice names[2];
    struct hgi_view view;
    struct fixture f;
    uint32_t place;

    setup(&f);
    entry.tags = tags;
    entry.tag_count = 2;
    entry.ttl_ms = INT64_C(10) * 365 * 24 * 3600 * 1000;
    entry.stale_ttl_ms = entry.ttl_ms + 1;
    entry.keep_ms = entry.ttl_ms + 2;
    entry.expires_wall_ms = 1700000000123;
    entry.expires_boot_ms = 99;
    entry.load_ms = 1000000;
    view = travel(&f, &entry, &place);
    ck_assert_int_eq(view.keep_ms, entry.keep_ms);
    ck_assert_int_eq(view.load_ms, 65535); /* longer counts as that */
    hgi_item_tag_names(&f.tags, &view, names);
    ck_assert(hgi_slice_equal(names[0], tags[0]) && hgi_slice_equal(names[1], tags[1]));
    hgi_item_destroy(&f.region, &f.tags, place);
    teardown(&f);
}
END_TEST

START_TEST(an_edit_stays_in_place_as_long_as_there_is_room)
{
    struct hgi_entry entry = entry_of();
    struct hgi_view view;
    struct fixture f;
    uint32_t place;
    uint32_t copy;

    setup(&f);
    view = travel(&f, &entry, &place);
    view.born = 12;
    view.published_ms = 13;
    view.is_softened = true;
    ck_assert(hgi_item_edit(&f.region, place, &view));
    ck_assert(hgi_view_read(&f.region.memory, place, &view));
    ck_assert_uint_eq(view.born, 12);
    ck_assert_int_eq(view.published_ms, 13);
    ck_assert(view.is_softened);
    view.refresh_after_ms = 1;
    ck_assert(!hgi_item_edit(&f.region, place, &view));
    copy = hgi_item_copy(&f.region, &f.tags, place, &view);
    ck_assert_uint_ne(copy, 0);
    hgi_item_destroy(&f.region, &f.tags, place);
    ck_assert(hgi_view_read(&f.region.memory, copy, &view));
    ck_assert_slice_eq(view.value, "value");
    ck_assert_int_eq(view.refresh_after_ms, 1);
    ck_assert_uint_eq(hgi_item_serial(&f.region, copy), 3);
    view.refresh_after_ms = 0; /* what has the room keeps it */
    ck_assert(hgi_item_edit(&f.region, copy, &view));
    ck_assert(hgi_view_read(&f.region.memory, copy, &view));
    ck_assert_int_eq(view.refresh_after_ms, 0);
    ck_assert_int_eq(view.ttl_ms, 1000);
    hgi_item_destroy(&f.region, &f.tags, copy);
    teardown(&f);
}
END_TEST

START_TEST(without_memory_for_a_tag_there_is_no_item_and_no_hold)
{
    struct hg_slice tags[] = {hg_slice_text("red"), hg_slice_text("blue")};
    struct hgi_entry entry = entry_of();
    struct fixture f;

    setup(&f);
    entry.tags = tags;
    entry.tag_count = 2;
    f.memory.fail_at = 2;
    ck_assert_uint_eq(hgi_item_create(&f.region, &f.tags, &entry, 1), 0);
    teardown(&f);
}
END_TEST

HGI_SUITE("storage.item", 20, an_item_is_the_entry_it_was_made_of,
          the_plain_one_is_as_small_as_it_was_meant_to_be, times_that_few_have_are_kept_too,
          an_edit_stays_in_place_as_long_as_there_is_room,
          without_memory_for_a_tag_there_is_no_item_and_no_hold)
