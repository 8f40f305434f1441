/* SPDX-License-Identifier: Apache-2.0 */
/* A row of the snapshot whose checksum was right all the same: its numbers, then key, value, tags
 * and etag, each with its length. What is taken for an entry goes into a table and is served. The
 * same input is also read as the bytes of a row. */
#include "base/kind.h"
#include "fuzz.h"
#include "storage/snapshot/row.h"

#define WALL_MS INT64_C(1700000000000)
#define BOOT_MS INT64_C(1000000)

static struct hgi_row read_row(struct hg_slice input)
{
    int64_t numbers[9];
    struct hgi_row row;

    for (size_t i = 0; i < HGI_COUNT_OF(numbers); i++) {
        numbers[i] = (int64_t)fuzz_number(&input, 8);
    }
    row = (struct hgi_row){
        .outcome = numbers[0],
        .born = numbers[1],
        .saved_ms = numbers[2],
        .age_ms = numbers[3],
        .ttl_ms = numbers[4],
        .stale_ttl_ms = numbers[5],
        .expires_ms = numbers[6],
        .expires_left_ms = numbers[7],
        .over_ms = numbers[8],
    };
    row.key = fuzz_sized(&input);
    row.value = fuzz_sized(&input);
    row.tags = fuzz_sized(&input);
    row.etag = fuzz_sized(&input);
    return row;
}

/* Nothing lives longer than it would have. */
static void check_times(const struct hgi_row *row, const struct hgi_entry *entry,
                        const struct hgi_now *now)
{
    HGI_BUG_ON(entry->published_ms > now->boot_ms - row->age_ms);
    HGI_BUG_ON(now->boot_ms - entry->published_ms > entry->stale_ttl_ms);
    HGI_BUG_ON(entry->ttl_ms > entry->stale_ttl_ms);
    if (row->expires_ms) {
        HGI_BUG_ON(entry->expires_wall_ms != row->expires_ms);
        HGI_BUG_ON(entry->expires_boot_ms - now->boot_ms > row->expires_ms - now->wall_ms);
        HGI_BUG_ON(entry->expires_boot_ms <= now->boot_ms);
    }
}

/* Written again, now, it is the same entry. */
static void check_again(const struct hgi_entry *entry, const struct hgi_now *now)
{
    struct hg_slice tags[HGI_TAGS_MAX];
    struct hgi_entry again;
    struct hg_bytes bytes;
    struct hgi_row row;

    hgi_bytes_init(&bytes, &hgi_heap);
    HGI_BUG_ON(!hgi_row_of_entry(entry, now, &row));
    if (!hgi_row_tags_set(&row, entry, &bytes)) {
        HGI_BUG_ON(!fuzz_has_failed());
        hgi_bytes_deinit(&bytes);
        return;
    }
    HGI_BUG_ON(hgi_row_to_entry(&row, now, tags, &again) != HGI_ROW_USABLE);
    HGI_BUG_ON(again.published_ms != entry->published_ms || again.born != entry->born ||
               again.tag_count != entry->tag_count ||
               again.expires_boot_ms != entry->expires_boot_ms);
    hgi_bytes_deinit(&bytes);
}

static void serve(const struct hgi_entry *entry, const struct hgi_now *now)
{
    static struct hgi_metrics metrics;
    const struct hgi_table_bounds bounds = {.max_entries = 64, .max_bytes = 1u << 18};
    struct hgi_table *table = hgi_table_create(&hgi_heap, &bounds, &metrics);
    struct hgi_found_entry found;
    struct hg_bytes value;

    if (!table) {
        HGI_BUG_ON(!fuzz_has_failed());
        return;
    }
    hgi_bytes_init(&value, &hgi_heap);
    if (hgi_table_insert(table, entry, true) == HGI_STORED &&
        hgi_table_lookup(table, entry->key, -1, now, &value, &found) != HGI_MISS) {
        HGI_BUG_ON(found.outcome != entry->outcome || found.born != entry->born);
        HGI_BUG_ON(!hgi_slice_equal(hgi_bytes_slice(&value), entry->value));
        HGI_BUG_ON(found.stale_left_ms < 0 || found.stale_left_ms > entry->stale_ttl_ms);
    }
    hgi_bytes_deinit(&value);
    hgi_table_destroy(&table);
}

static void try_row(const struct hgi_row *row)
{
    const struct hgi_now now = {.boot_ms = BOOT_MS, .wall_ms = WALL_MS};
    struct hg_slice tags[HGI_TAGS_MAX];
    struct hgi_entry entry;

    if (hgi_row_to_entry(row, &now, tags, &entry) == HGI_ROW_USABLE) {
        check_times(row, &entry, &now);
        check_again(&entry, &now);
        serve(&entry, &now);
    }
}

/* Bytes that are a row are that row when it is written again. */
static void try_bytes(struct hg_slice input)
{
    struct hgi_row row;
    struct hgi_row again;
    unsigned char *bytes;
    size_t len;

    if (!hgi_row_read(input, &row)) {
        return;
    }
    bytes = hgi_alloc(&hgi_heap, hgi_row_size(&row) + HGI_ROW_NUMBERS_MAX);
    if (!bytes) {
        HGI_BUG_ON(!fuzz_has_failed());
        return;
    }
    len = hgi_row_write(&row, bytes);
    HGI_BUG_ON(!hgi_row_read(hg_slice_of(bytes, len), &again));
    HGI_BUG_ON(again.outcome != row.outcome || again.saved_ms != row.saved_ms ||
               again.age_ms != row.age_ms || again.ttl_ms != row.ttl_ms ||
               again.stale_ttl_ms != row.stale_ttl_ms || again.expires_ms != row.expires_ms ||
               again.expires_left_ms != row.expires_left_ms);
    HGI_BUG_ON(!hgi_slice_equal(again.key, row.key) || !hgi_slice_equal(again.tags, row.tags) ||
               !hgi_slice_equal(again.etag, row.etag) || !hgi_slice_equal(again.value, row.value));
    row.born = 1;
    try_row(&row);
    hgi_free(&hgi_heap, bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hgi_row row = read_row(hg_slice_of(data, size));

    fuzz_memory_may_fail(true);
    try_row(&row);
    try_bytes(hg_slice_of(data, size));
    fuzz_memory_may_fail(false);
    return 0;
}
