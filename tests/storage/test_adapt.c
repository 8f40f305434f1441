/* SPDX-License-Identifier: Apache-2.0 */
/* Other bounds and shorter lifetimes for a table that is in use. */
#include <stdio.h>

#include "table_scene.h"

#define MANY 5000

static void fill(struct fixture *f, size_t count, enum hg_outcome outcome)
{
    char key[32];

    for (size_t i = 0; i < count; i++) {
        struct hgi_entry entry;

        snprintf(key, sizeof(key), "%d-%zu", (int)outcome, i);
        entry = entry_of(f, key, outcome == HG_VALUE ? "value" : "", 1);
        entry.outcome = outcome;
        ck_assert_int_eq(hgi_table_insert(f->table, &entry, true), HGI_STORED);
    }
}

static enum hgi_found find(struct fixture *f, const char *key)
{
    return hgi_table_lookup(f->table, hg_slice_text(key), -1, &f->now, &f->value, &f->found);
}

START_TEST(fewer_entries_are_evicted_down_to_at_once)
{
    const struct hgi_table_bounds bounds = {100, 64 << 20};
    struct fixture f;

    setup(&f, MANY, 64 << 20);
    fill(&f, MANY, HG_VALUE);
    hgi_table_set_bounds(f.table, &bounds);
    ck_assert_uint_eq(stats_of(&f).entries, 100);
    fill(&f, MANY, HG_VALUE);
    ck_assert_uint_eq(stats_of(&f).entries, 100);
    teardown(&f);
}
END_TEST

START_TEST(so_are_fewer_bytes)
{
    const struct hgi_table_bounds bounds = {MANY, 65536};
    struct fixture f;

    setup(&f, MANY, 64 << 20);
    fill(&f, MANY, HG_VALUE);
    ck_assert_uint_gt(stats_of(&f).bytes, 65536);
    hgi_table_set_bounds(f.table, &bounds);
    ck_assert_uint_le(stats_of(&f).bytes, 65536);
    ck_assert_uint_gt(stats_of(&f).entries, 100);
    teardown(&f);
}
END_TEST

START_TEST(negatives_keep_to_their_eighth)
{
    const struct hgi_table_bounds bounds = {800, 64 << 20};
    struct fixture f;

    setup(&f, 8 * MANY, 64 << 20);
    fill(&f, 200, HG_ABSENT);
    fill(&f, 500, HG_VALUE);
    hgi_table_set_bounds(f.table, &bounds);
    ck_assert_uint_eq(stats_of(&f).negatives, 100);
    ck_assert_uint_eq(stats_of(&f).entries, 600); /* no value had to go */
    teardown(&f);
}
END_TEST

START_TEST(bounds_may_rise_to_what_they_were)
{
    const struct hgi_table_bounds low = {10, 65536};
    const struct hgi_table_bounds high = {MANY, 64 << 20};
    const struct hgi_table_bounds higher = {MANY, 256 << 20};
    struct fixture f;

    setup(&f, MANY, 64 << 20);
    hgi_table_set_bounds(f.table, &low);
    ck_assert(hgi_table_takes_bounds(f.table, &high));
    ck_assert(!hgi_table_takes_bounds(f.table, &higher));
    hgi_table_set_bounds(f.table, &high);
    fill(&f, MANY, HG_VALUE);
    ck_assert_uint_eq(stats_of(&f).entries, MANY);
    teardown(&f);
}
END_TEST

START_TEST(lifetimes_are_cut_and_never_longer)
{
    const struct hgi_table_lifetimes most = {50, 1000, 1000, 20};
    struct hgi_entry entry;
    struct fixture f;

    setup(&f, 2 * MANY, 64 << 20);
    fill(&f, MANY, HG_VALUE); /* ttl 100, stale_ttl 300 */
    fill(&f, 10, HG_DENIED);
    entry = entry_of(&f, "kept", "v", 1);
    entry.keep_ms = 5000;
    ck_assert_int_eq(hgi_table_insert(f.table, &entry, true), HGI_STORED);
    hgi_table_shorten(f.table, &most);
    ck_assert_int_eq(find(&f, "1-4999"), HGI_FRESH);
    ck_assert_int_eq(f.found.ttl_left_ms, 50);
    ck_assert_int_eq(f.found.stale_left_ms, 300);
    pass(&f, 21);
    ck_assert_int_eq(find(&f, "3-9"), HGI_MISS);
    pass(&f, 30);
    ck_assert_int_eq(find(&f, "1-0"), HGI_STALE);
    pass(&f, 250);
    ck_assert_int_eq(find(&f, "1-0"), HGI_MISS);
    ck_assert_int_eq(find(&f, "kept"), HGI_KEPT);
    pass(&f, 700);
    ck_assert_int_eq(find(&f, "kept"), HGI_MISS);
    teardown(&f);
}
END_TEST

HGI_SUITE("storage.adapt", 20, fewer_entries_are_evicted_down_to_at_once, so_are_fewer_bytes,
          negatives_keep_to_their_eighth, bounds_may_rise_to_what_they_were,
          lifetimes_are_cut_and_never_longer)
