/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "table_scene.h"

START_TEST(an_older_birth_never_replaces_a_newer_entry)
{
    struct fixture f;

    setup(&f, 100, 1 << 20);
    ck_assert_int_eq(put(&f, "k", "new", 5), HGI_STORED);
    ck_assert_int_eq(put(&f, "k", "old", 4), HGI_SUPERSEDED);
    look(&f, "k");
    ck_assert_slice_eq(hgi_bytes_slice(&f.value), "new");
    ck_assert_int_eq(put(&f, "k", "same", 5), HGI_STORED);
    look(&f, "k");
    ck_assert_slice_eq(hgi_bytes_slice(&f.value), "same");
    teardown(&f);
}
END_TEST

START_TEST(remove_spares_an_entry_born_after)
{
    struct fixture f;

    setup(&f, 100, 1 << 20);
    put(&f, "k", "v", 5);
    ck_assert(!hgi_table_remove(f.table, hg_slice_text("k"), 4));
    ck_assert_int_eq(look(&f, "k"), HGI_FRESH);
    ck_assert(hgi_table_remove(f.table, hg_slice_text("k"), 5));
    ck_assert_int_eq(look(&f, "k"), HGI_MISS);
    ck_assert(!hgi_table_remove(f.table, hg_slice_text("k"), 5));
    put(&f, "k", "v", 5);
    hgi_table_clear(f.table, 6);
    ck_assert(!hgi_table_remove(f.table, hg_slice_text("k"), 6)); /* cleared: not live */
    teardown(&f);
}
END_TEST

START_TEST(clear_drops_all_born_before_and_refuses_what_began_before)
{
    struct fixture f;
    char key[16];

    setup(&f, 100, 1 << 20);
    for (int i = 0; i < 40; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        put(&f, key, "v", 3);
    }
    ck_assert_uint_eq(hgi_table_clear(f.table, 4), 40);
    ck_assert_uint_eq(stats_of(&f).entries, 0);
    ck_assert_int_eq(look(&f, "k1"), HGI_MISS);
    ck_assert_int_eq(put(&f, "k1", "late", 3), HGI_SUPERSEDED);
    ck_assert_int_eq(put(&f, "k1", "new", 4), HGI_STORED);
    ck_assert_int_eq(look(&f, "k1"), HGI_FRESH);
    ck_assert_uint_eq(stats_of(&f).entries, 1);
    ck_assert_uint_eq(hgi_table_clear(f.table, 5), 1);
    ck_assert_uint_eq(hgi_table_clear(f.table, 6), 0);
    teardown(&f);
}
END_TEST

START_TEST(the_sweep_gives_back_what_is_over_or_cleared_without_a_read)
{
    struct fixture f;
    char key[16];

    setup(&f, 100, 1 << 20);
    for (int i = 0; i < 50; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        put(&f, key, "v", 3);
    }
    ck_assert_uint_gt(stats_of(&f).bytes, 0);
    pass(&f, 301);
    put(&f, "young", "v", 3);
    for (int i = 0; i < 20; i++) {
        hgi_table_sweep(f.table, &f.now, 16);
    }
    ck_assert_uint_eq(stats_of(&f).entries, 1);
    ck_assert_uint_eq(hgi_metric_get(&f.metrics, HGI_METRIC_expired), 50);
    hgi_table_clear(f.table, 9);
    for (int i = 0; i < 20; i++) {
        hgi_table_sweep(f.table, &f.now, 16);
    }
    ck_assert_uint_eq(stats_of(&f).bytes, 0);
    ck_assert_uint_eq(hgi_metric_get(&f.metrics, HGI_METRIC_expired), 50);
    teardown(&f);
}
END_TEST

START_TEST(the_table_never_holds_more_entries_than_its_bound)
{
    struct fixture f;
    char key[16];

    setup(&f, 64, 1 << 20);
    for (int i = 0; i < 1000; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        ck_assert_int_eq(put(&f, key, "v", 1), HGI_STORED);
        ck_assert_uint_le(stats_of(&f).entries, 64);
    }
    ck_assert_uint_eq(stats_of(&f).entries, 64);
    ck_assert_uint_eq(hgi_metric_get(&f.metrics, HGI_METRIC_evicted), 1000 - 64);
    teardown(&f);
}
END_TEST

START_TEST(the_table_never_holds_more_bytes_than_its_bound)
{
    struct fixture f;
    char key[16];
    char value[500];

    setup(&f, 10000, 20000);
    memset(value, 'x', sizeof(value) - 1);
    value[sizeof(value) - 1] = 0;
    for (int i = 0; i < 200; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        ck_assert_int_eq(put(&f, key, value, 1), HGI_STORED);
        ck_assert_uint_le(stats_of(&f).bytes, 20000);
    }
    ck_assert_uint_ge(stats_of(&f).bytes, 18000);
    teardown(&f);
}
END_TEST

START_TEST(an_entry_too_large_for_the_bound_is_not_stored_and_drops_the_older_one)
{
    struct fixture f;
    char value[2000];

    setup(&f, 100, 1000);
    memset(value, 'x', sizeof(value) - 1);
    value[sizeof(value) - 1] = 0;
    ck_assert_int_eq(put(&f, "k", "v", 1), HGI_STORED);
    ck_assert_int_eq(put(&f, "k", value, 2), HGI_NOT_STORED);
    ck_assert_int_eq(look(&f, "k"), HGI_MISS);
    ck_assert_uint_eq(hgi_metric_get(&f.metrics, HGI_METRIC_not_stored), 1);
    teardown(&f);
}
END_TEST

START_TEST(one_hit_wonders_do_not_push_out_hot_entries)
{
    struct fixture f;
    char key[24];
    int kept = 0;

    setup(&f, 200, 1 << 20);
    for (int i = 0; i < 100; i++) {
        snprintf(key, sizeof(key), "hot%d", i);
        put(&f, key, "v", 1);
        look(&f, key);
        look(&f, key);
    }
    for (int i = 0; i < 5000; i++) {
        snprintf(key, sizeof(key), "once%d", i);
        put(&f, key, "v", 1);
        snprintf(key, sizeof(key), "hot%d", i % 100);
        look(&f, key);
    }
    for (int i = 0; i < 100; i++) {
        snprintf(key, sizeof(key), "hot%d", i);
        kept += look(&f, key) == HGI_FRESH;
    }
    ck_assert_int_ge(kept, 95);
    teardown(&f);
}
END_TEST

/* The bounds are the table's: no shard alone could give so much room. */
START_TEST(a_value_larger_than_a_shards_share_finds_room_in_all_of_them)
{
    static char large[3 << 20];
    struct fixture f;
    char small[900];
    char key[24];

    memset(large, 'l', sizeof(large) - 1);
    memset(small, 's', sizeof(small) - 1);
    small[sizeof(small) - 1] = '\0';
    setup(&f, 4096, 4 << 20); /* four shards */
    for (int i = 0; i < 4000; i++) {
        snprintf(key, sizeof(key), "small%d", i);
        ck_assert_int_eq(put(&f, key, small, 1), HGI_STORED);
    }
    ck_assert_int_eq(put(&f, "large", large, 1), HGI_STORED);
    ck_assert_int_eq(look(&f, "large"), HGI_FRESH);
    ck_assert_uint_le(stats_of(&f).bytes, 4 << 20);
    ck_assert_uint_gt(stats_of(&f).entries, 500);
    teardown(&f);
}
END_TEST

START_TEST(a_flood_of_negatives_takes_at_most_an_eighth)
{
    struct fixture f;
    char key[24];
    int kept = 0;

    setup(&f, 800, 1 << 20);
    for (int i = 0; i < 700; i++) {
        snprintf(key, sizeof(key), "real%d", i);
        put(&f, key, "v", 1);
    }
    for (int i = 0; i < 20000; i++) {
        snprintf(key, sizeof(key), "unknown%d", i);
        ck_assert_int_eq(put_absent(&f, key), HGI_STORED);
        ck_assert_uint_le(stats_of(&f).negatives, 100);
    }
    ck_assert_uint_eq(stats_of(&f).negatives, 100);
    for (int i = 0; i < 700; i++) {
        snprintf(key, sizeof(key), "real%d", i);
        kept += look(&f, key) == HGI_FRESH;
    }
    ck_assert_int_eq(kept, 700);
    teardown(&f);
}
END_TEST

START_TEST(a_negative_may_take_a_positives_place_until_it_has_its_eighth)
{
    struct fixture f;
    char key[24];

    setup(&f, 80, 1 << 20);
    for (int i = 0; i < 80; i++) {
        snprintf(key, sizeof(key), "real%d", i);
        put(&f, key, "v", 1);
    }
    for (int i = 0; i < 30; i++) {
        snprintf(key, sizeof(key), "unknown%d", i);
        put_absent(&f, key);
    }
    ck_assert_uint_eq(stats_of(&f).entries, 80);
    ck_assert_uint_eq(stats_of(&f).negatives, 10);
    teardown(&f);
}
END_TEST

START_TEST(a_positive_replaces_a_negative_of_its_key_and_the_other_way_round)
{
    struct fixture f;

    setup(&f, 80, 1 << 20);
    put_absent(&f, "k");
    put(&f, "k", "v", 2);
    ck_assert_int_eq(look(&f, "k"), HGI_FRESH);
    ck_assert_int_eq(f.found.outcome, HG_VALUE);
    ck_assert_uint_eq(stats_of(&f).negatives, 0);
    ck_assert_int_eq(put_absent(&f, "k"), HGI_SUPERSEDED); /* born 1 */
    ck_assert_uint_eq(stats_of(&f).entries, 1);
    teardown(&f);
}
END_TEST

START_TEST(a_bound_of_one_entry_works)
{
    struct fixture f;

    setup(&f, 1, 1 << 20);
    put(&f, "a", "v", 1);
    put(&f, "b", "v", 1);
    ck_assert_int_eq(look(&f, "a"), HGI_MISS);
    ck_assert_int_eq(look(&f, "b"), HGI_FRESH);
    put_absent(&f, "c");
    ck_assert_int_eq(look(&f, "c"), HGI_FRESH);
    ck_assert_int_eq(put(&f, "d", "v", 1), HGI_STORED);
    ck_assert_uint_eq(stats_of(&f).entries, 1);
    teardown(&f);
}
END_TEST

START_TEST(the_pause_before_a_refresh_belongs_to_one_birth)
{
    struct fixture f;

    setup(&f, 10, 1 << 20);
    put(&f, "k", "v", 3);
    hgi_table_set_refresh_after(f.table, hg_slice_text("k"), 2, 5, 6, true);
    look(&f, "k");
    ck_assert_int_eq(f.found.refresh_after_ms, 0);
    hgi_table_set_refresh_after(f.table, hg_slice_text("k"), 3, 5, 6, true);
    look(&f, "k");
    ck_assert_int_eq(f.found.refresh_after_ms, 5);
    ck_assert_int_eq(f.found.refresh_backoff_ms, 6);
    ck_assert(f.found.is_refused);
    put(&f, "k", "v2", 4);
    look(&f, "k");
    ck_assert_int_eq(f.found.refresh_after_ms, 0);
    ck_assert(!f.found.is_refused);
    teardown(&f);
}
END_TEST

START_TEST(every_failing_allocation_leaves_a_table_that_works)
{
    for (size_t n = 1; n < 60; n++) {
        struct fixture f;
        char key[16];

        setup(&f, 100, 1 << 20);
        f.memory.fail_at = n;
        for (int i = 0; i < 50; i++) {
            snprintf(key, sizeof(key), "k%d", i);
            if (put(&f, key, "v", 1) == HGI_NOT_STORED) {
                ck_assert_int_eq(look(&f, key), HGI_MISS);
            } else {
                ck_assert_int_eq(look(&f, key), HGI_FRESH);
            }
        }
        ck_assert_uint_ge(stats_of(&f).entries, 49);
        teardown(&f);
    }
}
END_TEST

START_TEST(a_table_that_cannot_be_made_leaks_nothing)
{
    struct hgi_metrics metrics = {.values = {0}};
    struct hgi_table_bounds bounds = {5000, 16 << 20};
    struct hgi_table *table = NULL;
    size_t n = 1;

    do {
        struct hgi_test_allocator memory;

        hgi_test_allocator_init(&memory);
        memory.fail_at = n++;
        table = hgi_table_create(&memory.allocator, &bounds, &metrics);
        hgi_table_destroy(&table);
        ck_assert_uint_eq(memory.out_count, 0);
        if (memory.fail_at) {
            break; /* no allocation was left to fail */
        }
    } while (n < 100);
    ck_assert_uint_gt(n, 3);
    ck_assert_uint_lt(n, 100);
}
END_TEST

/* A naive model: an array of what should be there. Bounds are never reached, so nothing is evicted.
 */
#define MODEL_KEYS 64

struct model {
    bool is_there[MODEL_KEYS];
    uint64_t born[MODEL_KEYS];
    int64_t published_ms[MODEL_KEYS];
    uint64_t cleared;
};

static enum hgi_found model_look(const struct model *m, const struct fixture *f, int k)
{
    int64_t age = f->now.boot_ms - m->published_ms[k];

    if (!m->is_there[k] || m->born[k] < m->cleared || age > 300) {
        return HGI_MISS;
    }
    return age <= 100 ? HGI_FRESH : HGI_STALE;
}

START_TEST(random_operations_agree_with_a_naive_model)
{
    struct fixture f;
    struct model m;
    uint64_t generation = 10;
    uint32_t random = 12345;
    char key[16];

    setup(&f, 10000, 64 << 20); /* several shards */
    memset(&m, 0, sizeof(m));
    for (int step = 0; step < 50000; step++) {
        random = random * 1664525u + 1013904223u;
        int k = (int)(random >> 8) % MODEL_KEYS;
        uint64_t born = generation - (random >> 16) % 3;

        snprintf(key, sizeof(key), "k%d", k);
        switch ((random >> 24) % 8) {
        case 0:
        case 1: {
            bool is_newer = !m.is_there[k] || m.born[k] <= born;
            enum hgi_insert expected = born >= m.cleared && is_newer ? HGI_STORED : HGI_SUPERSEDED;

            /* What is over may or may not have been dropped by a lookup: the model forgets it too.
             */
            if (model_look(&m, &f, k) == HGI_MISS && m.is_there[k]) {
                hgi_table_remove(f.table, hg_slice_text(key), UINT64_MAX);
                m.is_there[k] = false;
                expected = born >= m.cleared ? HGI_STORED : HGI_SUPERSEDED;
            }
            ck_assert_int_eq(put(&f, key, key, born), expected);
            if (expected == HGI_STORED) {
                m.is_there[k] = true;
                m.born[k] = born;
                m.published_ms[k] = f.now.boot_ms;
            }
            break;
        }
        case 2:
            hgi_table_remove(f.table, hg_slice_text(key), UINT64_MAX);
            m.is_there[k] = false;
            break;
        case 3:
            if (random % 50 == 0) {
                m.cleared = ++generation;
                hgi_table_clear(f.table, generation);
            }
            break;
        case 4:
            hgi_table_sweep(f.table, &f.now, 64);
            break;
        case 5:
            pass(&f, (int64_t)(random % 20));
            break;
        default:
            ck_assert_int_eq(look(&f, key), model_look(&m, &f, k));
            break;
        }
    }
    teardown(&f);
}
END_TEST

HGI_SUITE("storage.table", 20, an_older_birth_never_replaces_a_newer_entry,
          remove_spares_an_entry_born_after,
          clear_drops_all_born_before_and_refuses_what_began_before,
          the_sweep_gives_back_what_is_over_or_cleared_without_a_read,
          the_table_never_holds_more_entries_than_its_bound,
          the_table_never_holds_more_bytes_than_its_bound,
          an_entry_too_large_for_the_bound_is_not_stored_and_drops_the_older_one,
          one_hit_wonders_do_not_push_out_hot_entries,
          a_value_larger_than_a_shards_share_finds_room_in_all_of_them,
          a_flood_of_negatives_takes_at_most_an_eighth,
          a_negative_may_take_a_positives_place_until_it_has_its_eighth,
          a_positive_replaces_a_negative_of_its_key_and_the_other_way_round,
          a_bound_of_one_entry_works, the_pause_before_a_refresh_belongs_to_one_birth,
          every_failing_allocation_leaves_a_table_that_works,
          a_table_that_cannot_be_made_leaks_nothing, random_operations_agree_with_a_naive_model)
