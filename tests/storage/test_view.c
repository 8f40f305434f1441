/* SPDX-License-Identifier: Apache-2.0 */
/* What can be an entry and what cannot, and when one is over. */
#include "hg_test.h"
#include "storage/flat/view.h"

/* A reader may hold any number for a place, and find anything there. */
START_TEST(nonsense_is_no_item_and_harms_nothing)
{
    unsigned char bytes[8192];
    const struct hgi_memory memory = {bytes, sizeof(bytes)};
    struct hgi_view view;

    memset(bytes, 0xff, sizeof(bytes));
    ck_assert(!hgi_view_read(&memory, 64, &view)); /* a value of 4 GiB */
    ck_assert(!hgi_view_read(&memory, sizeof(bytes) / HGI_WORD_BYTES - 2, &view));
    ck_assert(!hgi_view_read(&memory, UINT32_MAX, &view));
    ck_assert(!hgi_view_read_of(&memory, UINT32_MAX, hg_slice_text("k"), &view));
}
END_TEST

START_TEST(an_entry_whose_parts_reach_behind_the_memory_is_none)
{
    unsigned char bytes[256] = {0};
    const struct hgi_memory memory = {bytes, sizeof(bytes)};
    struct hgi_item *item = (struct hgi_item *)(void *)bytes;
    struct hgi_view view;

    item->head.key_len = 8;
    item->head.value_len = sizeof(bytes) - sizeof(*item) - 8;
    ck_assert(hgi_view_read(&memory, 0, &view));
    item->head.value_len++;
    ck_assert(!hgi_view_read(&memory, 0, &view));
    item->head.value_len = 0;
    item->head.tag_count = HGI_TAGS_MAX;
    ck_assert(hgi_view_read(&memory, 0, &view));
    item->head.tag_count++;
    ck_assert(!hgi_view_read(&memory, 0, &view));
}
END_TEST

START_TEST(an_entry_is_over_behind_what_it_is_kept_for_and_at_its_hard_end_on_either_clock)
{
    struct hgi_view view = {.published_ms = 1000, .keep_ms = 50};

    ck_assert(!hgi_view_is_over(&view, &(struct hgi_now){.boot_ms = 1050, .wall_ms = 1}));
    ck_assert(hgi_view_is_over(&view, &(struct hgi_now){.boot_ms = 1051, .wall_ms = 1}));
    view.expires_wall_ms = 500;
    view.expires_boot_ms = 1020;
    ck_assert(!hgi_view_is_over(&view, &(struct hgi_now){.boot_ms = 1019, .wall_ms = 499}));
    ck_assert(hgi_view_is_over(&view, &(struct hgi_now){.boot_ms = 1020, .wall_ms = 499}));
    ck_assert(hgi_view_is_over(&view, &(struct hgi_now){.boot_ms = 1001, .wall_ms = 500}));
}
END_TEST

HGI_SUITE("storage.view", 20, nonsense_is_no_item_and_harms_nothing,
          an_entry_whose_parts_reach_behind_the_memory_is_none,
          an_entry_is_over_behind_what_it_is_kept_for_and_at_its_hard_end_on_either_clock)
