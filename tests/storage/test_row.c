/* SPDX-License-Identifier: Apache-2.0 */
/* A row is the entry it was made of, and one that we would not write is no entry. */
#include "base/check.h"
#include "hg_test.h"
#include "storage/snapshot/row.h"

static const struct hgi_now now = {.boot_ms = 1000000, .wall_ms = 1700000000000};

static struct hgi_entry entry_of(void)
{
    struct hgi_entry entry = {
        .key = hg_slice_text("key"),
        .value = hg_slice_text("value"),
        .etag = hg_slice_text("v1"),
        .outcome = HG_VALUE,
        .born = 7,
        .published_ms = now.boot_ms - 100,
        .ttl_ms = 1000,
        .stale_ttl_ms = 3000,
    };

    return entry;
}

static struct hgi_row row_of(const struct hgi_entry *entry)
{
    struct hgi_row row;

    ck_assert(hgi_row_of_entry(entry, &now, &row));
    return row;
}

static enum hgi_row_state read_at(const struct hgi_row *row, int64_t down_ms,
                                  struct hgi_entry *ret_entry)
{
    static struct hg_slice tags[HGI_TAGS_MAX];
    struct hgi_now then = {.boot_ms = 50, .wall_ms = now.wall_ms + down_ms};

    return hgi_row_to_entry(row, &then, tags, ret_entry);
}

START_TEST(an_entry_comes_back_with_its_age_on_another_boot_clock)
{
    struct hgi_entry entry = entry_of();
    struct hgi_row row = row_of(&entry);
    struct hgi_entry back;

    ck_assert_int_eq(row.age_ms, 100);
    ck_assert_int_eq(read_at(&row, 500, &back), HGI_ROW_USABLE);
    ck_assert_slice_eq(back.key, "key");
    ck_assert_slice_eq(back.value, "value");
    ck_assert_slice_eq(back.etag, "v1");
    ck_assert_uint_eq(back.born, 7);
    ck_assert_int_eq(50 - back.published_ms, 600);
    ck_assert_int_eq(read_at(&row, 2900, &back), HGI_ROW_USABLE);
    ck_assert_int_eq(read_at(&row, 2901, &back), HGI_ROW_OVER);
    ck_assert_int_eq(read_at(&row, -1, &back), HGI_ROW_OVER); /* saved in this clock's future */
}
END_TEST

START_TEST(an_entry_that_is_over_is_no_row)
{
    struct hgi_entry entry = entry_of();
    struct hgi_row row;

    entry.published_ms = now.boot_ms - entry.stale_ttl_ms;
    ck_assert(hgi_row_of_entry(&entry, &now, &row));
    entry.published_ms--;
    ck_assert(!hgi_row_of_entry(&entry, &now, &row));
}
END_TEST

START_TEST(a_row_that_we_would_not_write_is_wrong)
{
    struct hgi_entry entry = entry_of();
    const struct hgi_row good = row_of(&entry);
    struct hgi_row rows[7];
    struct hgi_entry back;

    for (size_t i = 0; i < HGI_COUNT_OF(rows); i++) {
        rows[i] = good;
    }
    rows[0].outcome = 99;
    rows[1].key = hg_slice_of(NULL, 0);
    rows[2].age_ms = -1;
    rows[3].ttl_ms = HGI_ROW_TIME_MAX + 1;
    rows[4].tags = hg_slice_of("\x05\x00"
                               "ab",
                               4);
    rows[5].saved_ms = -1;
    rows[6].born = (int64_t)HGI_BORN_MAX + 1; /* a table would keep another number */
    for (size_t i = 0; i < HGI_COUNT_OF(rows); i++) {
        ck_assert_msg(read_at(&rows[i], 0, &back) == HGI_ROW_WRONG, "row %zu", i);
    }
}
END_TEST

/* A table would take it for a younger one. */
START_TEST(a_row_older_than_a_table_can_tell_is_over)
{
    struct hgi_entry entry = entry_of();
    struct hgi_row row = row_of(&entry);
    struct hgi_entry back;

    row.stale_ttl_ms = HGI_ROW_TIME_MAX;
    row.age_ms = HGI_ROW_AGE_MAX - 500;
    ck_assert_int_eq(read_at(&row, 500, &back), HGI_ROW_USABLE);
    ck_assert_int_eq(read_at(&row, 501, &back), HGI_ROW_OVER);
}
END_TEST

START_TEST(tags_are_read_as_they_were_written_and_a_cut_column_is_refused)
{
    struct hg_slice names[2] = {hg_slice_text("tplan"), hg_slice_text("uann")};
    struct hg_slice back[HGI_TAGS_MAX];
    struct hgi_entry entry = entry_of();
    struct hgi_row row = row_of(&entry);
    struct hg_bytes bytes;
    size_t count = 0;

    hgi_bytes_init(&bytes, &hgi_heap);
    entry.tags = names;
    entry.tag_count = 2;
    ck_assert(hgi_row_tags_set(&row, &entry, &bytes));
    ck_assert(hgi_row_tags_get(row.tags, back, &count));
    ck_assert_uint_eq(count, 2);
    ck_assert_slice_eq(back[0], "tplan");
    ck_assert_slice_eq(back[1], "uann");
    for (size_t len = 1; len < row.tags.len; len++) {
        bool is_between = len == 2 + strlen("tplan"); /* one whole name */

        ck_assert(hgi_row_tags_get(hg_slice_of(row.tags.data, len), back, &count) == is_between);
    }
    hgi_bytes_deinit(&bytes);
}
END_TEST

START_TEST(a_row_is_read_as_it_was_written_and_cut_short_it_is_refused_or_another)
{
    struct hgi_entry entry = entry_of();
    struct hgi_row row = row_of(&entry);
    unsigned char bytes[HGI_ROW_NUMBERS_MAX + 32];
    struct hgi_row back;
    size_t len;

    row.tags = hg_slice_of("\x00\x01t", 3);
    row.expires_ms = HGI_ROW_TIME_MAX;
    row.expires_left_ms = 127;
    row.stale_ttl_ms = 128;
    ck_assert_uint_le(hgi_row_size(&row) + HGI_ROW_NUMBERS_MAX, sizeof(bytes));
    len = hgi_row_write(&row, bytes);
    ck_assert(hgi_row_read(hg_slice_of(bytes, len), &back));
    ck_assert_slice_eq(back.key, "key");
    ck_assert_slice_eq(back.value, "value");
    ck_assert_slice_eq(back.etag, "v1");
    ck_assert_uint_eq(back.tags.len, 3);
    ck_assert_int_eq(back.outcome, HG_VALUE);
    ck_assert_int_eq(back.saved_ms, now.wall_ms);
    ck_assert_int_eq(back.age_ms, 100);
    ck_assert_int_eq(back.ttl_ms, 1000);
    ck_assert_int_eq(back.stale_ttl_ms, 128);
    ck_assert_int_eq(back.expires_ms, HGI_ROW_TIME_MAX);
    ck_assert_int_eq(back.expires_left_ms, 127);
    for (size_t cut = 0; cut < len; cut++) {
        bool is_read = hgi_row_read(hg_slice_of(bytes, cut), &back);

        /* What comes last is the value, whose length is what is left. */
        ck_assert(is_read == (cut >= len - strlen("value")));
    }
}
END_TEST

START_TEST(a_number_that_does_not_end_is_no_row)
{
    unsigned char bytes[64];
    struct hgi_row back;

    memset(bytes, 0x80, sizeof(bytes));
    ck_assert(!hgi_row_read(hg_slice_of(bytes, sizeof(bytes)), &back));
    memset(bytes, 0xff, sizeof(bytes));
    bytes[9] = 0x7f;
    ck_assert(!hgi_row_read(hg_slice_of(bytes, sizeof(bytes)), &back));
    memset(bytes, 0, 7);
    bytes[7] = 60; /* a key longer than what is there */
    memset(bytes + 8, 0, sizeof(bytes) - 8);
    ck_assert(!hgi_row_read(hg_slice_of(bytes, sizeof(bytes)), &back));
}
END_TEST

HGI_SUITE("storage.row", 20, an_entry_comes_back_with_its_age_on_another_boot_clock,
          an_entry_that_is_over_is_no_row, a_row_that_we_would_not_write_is_wrong,
          a_row_older_than_a_table_can_tell_is_over,
          tags_are_read_as_they_were_written_and_a_cut_column_is_refused,
          a_row_is_read_as_it_was_written_and_cut_short_it_is_refused_or_another,
          a_number_that_does_not_end_is_no_row)
