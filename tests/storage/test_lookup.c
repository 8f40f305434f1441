/* SPDX-License-Identifier: Apache-2.0 */
/* What a read finds: by age, by clock, by reader. */
#include <stdio.h>

#include "table_scene.h"

START_TEST(an_entry_is_fresh_up_to_its_ttl_then_stale_then_gone)
{
    struct fixture f;

    setup(&f, 100, 1 << 20);
    ck_assert_int_eq(put(&f, "k", "v", 7), HGI_STORED);
    pass(&f, 100);
    ck_assert_int_eq(look(&f, "k"), HGI_FRESH);
    ck_assert_slice_eq(hgi_bytes_slice(&f.value), "v");
    ck_assert_uint_eq(f.found.born, 7);
    ck_assert_int_eq(f.found.age_ms, 100);
    ck_assert_int_eq(f.found.ttl_left_ms, 0);
    ck_assert_int_eq(f.found.stale_left_ms, 200);
    pass(&f, 1);
    ck_assert_int_eq(look(&f, "k"), HGI_STALE);
    pass(&f, 199);
    ck_assert_int_eq(look(&f, "k"), HGI_STALE);
    pass(&f, 1);
    ck_assert_int_eq(look(&f, "k"), HGI_MISS);
    ck_assert_uint_eq(hgi_metric_get(&f.metrics, HGI_METRIC_expired), 1);
    ck_assert_uint_eq(stats_of(&f).entries, 0);
    teardown(&f);
}
END_TEST

START_TEST(a_readers_max_age_makes_it_stale_for_that_reader_only)
{
    struct fixture f;

    setup(&f, 100, 1 << 20);
    put(&f, "k", "v", 1);
    pass(&f, 50);
    ck_assert_int_eq(hgi_table_lookup(f.table, hg_slice_text("k"), 49, &f.now, &f.value, &f.found),
                     HGI_STALE);
    ck_assert_int_eq(hgi_table_lookup(f.table, hg_slice_text("k"), 50, &f.now, &f.value, &f.found),
                     HGI_FRESH);
    pass(&f, 51);
    ck_assert_int_eq(hgi_table_lookup(f.table, hg_slice_text("k"), 999, &f.now, &f.value, &f.found),
                     HGI_STALE);
    teardown(&f);
}
END_TEST

START_TEST(nothing_is_served_at_or_after_expires_at_on_either_clock)
{
    struct fixture f;
    struct hgi_entry entry;

    setup(&f, 100, 1 << 20);
    entry = entry_of(&f, "k", "v", 1);
    entry.expires_wall_ms = f.now.wall_ms + 50;
    entry.expires_boot_ms = f.now.boot_ms + 50;
    hgi_table_insert(f.table, &entry, false);
    pass(&f, 49);
    ck_assert_int_eq(look(&f, "k"), HGI_FRESH);
    ck_assert_int_eq(f.found.ttl_left_ms, 1);
    ck_assert_int_eq(f.found.stale_left_ms, 1);
    f.now.wall_ms -= 1000000; /* the wall clock is set back: boot time still ends it */
    pass(&f, 1);
    ck_assert_int_eq(look(&f, "k"), HGI_MISS);
    entry.published_ms = f.now.boot_ms;
    entry.expires_wall_ms = f.now.wall_ms + 50;
    entry.expires_boot_ms = f.now.boot_ms + 50;
    hgi_table_insert(f.table, &entry, false);
    f.now.wall_ms += 50; /* set forward: the wall clock ends it */
    ck_assert_int_eq(look(&f, "k"), HGI_MISS);
    teardown(&f);
}
END_TEST

START_TEST(a_negative_is_fresh_or_a_miss_never_stale)
{
    struct fixture f;

    setup(&f, 100, 1 << 20);
    put_absent(&f, "k");
    pass(&f, 100);
    ck_assert_int_eq(look(&f, "k"), HGI_FRESH);
    ck_assert_int_eq(f.found.outcome, HG_ABSENT);
    ck_assert_int_eq(hgi_table_lookup(f.table, hg_slice_text("k"), 10, &f.now, &f.value, &f.found),
                     HGI_MISS);
    pass(&f, 1);
    ck_assert_int_eq(look(&f, "k"), HGI_MISS);
    teardown(&f);
}
END_TEST

/* As a batch reads: its keys' memory first, then each by its hash. */
START_TEST(what_is_fetched_is_found_by_its_hash_and_other_keys_are_not)
{
    const struct hg_slice keys[] = {hg_slice_text("a"), hg_slice_text("b"), hg_slice_text("none"),
                                    hg_slice_text("")};
    uint64_t hashes[4];
    struct fixture f;

    setup(&f, 100, 1 << 20);
    put(&f, "a", "of a", 1);
    put(&f, "b", "of b", 1);
    hgi_table_fetch(f.table, keys, 4, hashes);
    for (size_t i = 0; i < 4; i++) {
        ck_assert_uint_eq(hashes[i], hgi_table_hash(f.table, keys[i]));
        ck_assert_int_eq(
            hgi_table_lookup_hashed(f.table, hashes[i], keys[i], -1, &f.now, &f.value, &f.found),
            i < 2 ? HGI_FRESH : HGI_MISS);
    }
    teardown(&f);
}
END_TEST

/* Else looking whether something is there would keep it there. */
START_TEST(a_look_without_the_value_is_no_read)
{
    struct fixture f;
    char key[24];

    setup(&f, 100, 1 << 20);
    put(&f, "looked at", "v", 1);
    put(&f, "read", "v", 1);
    for (int i = 0; i < 5000; i++) {
        ck_assert_int_ne(
            hgi_table_lookup(f.table, hg_slice_text("looked at"), -1, &f.now, NULL, &f.found),
            HGI_STALE);
        ck_assert_int_eq(look(&f, "read"), HGI_FRESH);
        snprintf(key, sizeof(key), "once%d", i);
        put(&f, key, "v", 1);
    }
    ck_assert_int_eq(look(&f, "looked at"), HGI_MISS);
    teardown(&f);
}
END_TEST

HGI_SUITE("storage.lookup", 20, an_entry_is_fresh_up_to_its_ttl_then_stale_then_gone,
          a_readers_max_age_makes_it_stale_for_that_reader_only,
          nothing_is_served_at_or_after_expires_at_on_either_clock,
          a_negative_is_fresh_or_a_miss_never_stale,
          what_is_fetched_is_found_by_its_hash_and_other_keys_are_not,
          a_look_without_the_value_is_no_read)
