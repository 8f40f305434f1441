/* SPDX-License-Identifier: Apache-2.0 */
/* table_scene: a table of the test's own with an integer clock.
 * Owns:     the table, until teardown.
 * Threads:  one.
 * Limits:   those that setup is given.
 * Errors:   asserts; teardown asserts that nothing is left allocated.
 * Not here: tests. */
#ifndef TABLE_SCENE_H
#define TABLE_SCENE_H

#include "hg_test.h"
#include "storage/table/table.h"

struct fixture {
    struct hgi_test_allocator memory;
    struct hgi_metrics metrics;
    struct hgi_table *table;
    struct hgi_now now;
    struct hg_bytes value;
    struct hgi_found_entry found;
};

static inline void setup(struct fixture *f, size_t max_entries, size_t max_bytes)
{
    struct hgi_table_bounds bounds = {max_entries, max_bytes};

    memset(f, 0, sizeof(*f));
    hgi_test_allocator_init(&f->memory);
    hgi_bytes_init(&f->value, &hgi_heap);
    f->now.boot_ms = 1000000;
    f->now.wall_ms = 1700000000000;
    f->table = hgi_table_create(&f->memory.allocator, &bounds, &f->metrics);
    ck_assert_ptr_nonnull(f->table);
}

static inline void teardown(struct fixture *f)
{
    hgi_bytes_deinit(&f->value);
    hgi_table_destroy(&f->table);
    ck_assert_ptr_null(f->table);
    ck_assert_uint_eq(f->memory.out_count, 0);
}

static inline void pass(struct fixture *f, int64_t ms)
{
    f->now.boot_ms += ms;
    f->now.wall_ms += ms;
}

static inline struct hgi_entry entry_of(const struct fixture *f, const char *key, const char *value,
                                        uint64_t born)
{
    struct hgi_entry entry = {
        .key = hg_slice_text(key),
        .value = hg_slice_text(value),
        .outcome = HG_VALUE,
        .born = born,
        .published_ms = f->now.boot_ms,
        .ttl_ms = 100,
        .stale_ttl_ms = 300,
    };

    return entry;
}

static inline enum hgi_insert put(struct fixture *f, const char *key, const char *value,
                                  uint64_t born)
{
    struct hgi_entry entry = entry_of(f, key, value, born);

    return hgi_table_insert(f->table, &entry, false);
}

static inline enum hgi_insert put_absent(struct fixture *f, const char *key)
{
    struct hgi_entry entry = entry_of(f, key, "", 1);

    entry.outcome = HG_ABSENT;
    entry.stale_ttl_ms = entry.ttl_ms;
    return hgi_table_insert(f->table, &entry, false);
}

static inline enum hgi_found look(struct fixture *f, const char *key)
{
    return hgi_table_lookup(f->table, hg_slice_text(key), -1, &f->now, &f->value, &f->found);
}

static inline struct hgi_table_stats stats_of(struct fixture *f)
{
    struct hgi_table_stats stats;

    hgi_table_stats(f->table, &stats);
    return stats;
}

#endif
