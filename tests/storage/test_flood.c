/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "hg_test.h"
#include "storage/table/table.h"

/* Instrumented builds get a tenth of it: the same ground, ten times less often. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FLOOD 500000
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define FLOOD 500000
#endif
#endif
#ifndef FLOOD
#define FLOOD 5000000
#endif

static enum hgi_insert insert(struct hgi_table *table, const struct hgi_now *now, const char *key,
                              enum hg_outcome outcome)
{
    struct hgi_entry entry = {
        .key = hg_slice_text(key),
        .value = hg_slice_text(outcome == HG_VALUE ? "v" : ""),
        .outcome = outcome,
        .born = 1,
        .published_ms = now->boot_ms,
        .ttl_ms = 100,
        .stale_ttl_ms = 100,
    };

    return hgi_table_insert(table, &entry, false);
}

/* The default bounds of a cache, with positives at 7/8 of them. */
START_TEST(five_million_unknown_keys_leave_the_positives_and_their_hits)
{
    enum { ENTRIES = 16384, POSITIVES = ENTRIES / 8 * 7 };
    struct hgi_table_bounds bounds = {ENTRIES, 64 << 20};
    struct hgi_now now = {.boot_ms = 1000000, .wall_ms = 1700000000000};
    struct hgi_metrics metrics = {0};
    struct hgi_table *table = hgi_table_create(&hgi_heap, &bounds, &metrics);
    struct hgi_table_stats stats;
    struct hgi_found_entry found;
    struct hg_bytes value;
    char key[24];
    size_t hits = 0;
    size_t during = 0;

    ck_assert_ptr_nonnull(table);
    hgi_bytes_init(&value, &hgi_heap);
    for (int i = 0; i < POSITIVES; i++) {
        snprintf(key, sizeof(key), "real%d", i);
        ck_assert_int_eq(insert(table, &now, key, HG_VALUE), HGI_STORED);
    }
    hgi_table_stats(table, &stats);
    ck_assert_uint_eq(stats.entries, POSITIVES);
    for (int i = 0; i < FLOOD; i++) {
        snprintf(key, sizeof(key), "unknown%d", i);
        ck_assert_int_eq(insert(table, &now, key, HG_ABSENT), HGI_STORED);
        snprintf(key, sizeof(key), "real%d", i % POSITIVES); /* and the hit rate meanwhile */
        during +=
            hgi_table_lookup(table, hg_slice_text(key), -1, &now, &value, &found) == HGI_FRESH;
    }
    ck_assert_uint_eq(during, FLOOD);
    hgi_table_stats(table, &stats);
    ck_assert_uint_eq(stats.entries - stats.negatives, POSITIVES);
    ck_assert_uint_eq(stats.negatives, ENTRIES / 8);
    for (int i = 0; i < POSITIVES; i++) {
        snprintf(key, sizeof(key), "real%d", i);
        hits += hgi_table_lookup(table, hg_slice_text(key), -1, &now, &value, &found) == HGI_FRESH;
    }
    ck_assert_uint_eq(hits, POSITIVES);
    hgi_bytes_deinit(&value);
    hgi_table_destroy(&table);
}
END_TEST

HGI_SUITE("storage.flood", 60, five_million_unknown_keys_leave_the_positives_and_their_hits)
