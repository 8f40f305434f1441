/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "hg_test.h"
#include "storage/table/table.h"

/* A table of the test's own with an integer clock. */
struct fixture {
    struct hgi_test_allocator memory;
    struct hgi_metrics metrics;
    struct hgi_table *table;
    struct hgi_now now;
    struct hg_bytes value;
    struct hgi_found_entry found;
};

static void setup(struct fixture *f, size_t max_entries, size_t max_bytes)
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

static void teardown(struct fixture *f)
{
    hgi_bytes_deinit(&f->value);
    hgi_table_destroy(&f->table);
    ck_assert_ptr_null(f->table);
    ck_assert_uint_eq(f->memory.out_count, 0);
}

static void pass(struct fixture *f, int64_t ms)
{
    f->now.boot_ms += ms;
    f->now.wall_ms += ms;
}

static struct hgi_entry entry_of(const struct fixture *f, const char *key, const char *value,
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

static enum hgi_insert put(struct fixture *f, const char *key, const char *value, uint64_t born)
{
    struct hgi_entry entry = entry_of(f, key, value, born);

    return hgi_table_insert(f->table, &entry, false);
}

static enum hgi_insert put_absent(struct fixture *f, const char *key)
{
    struct hgi_entry entry = entry_of(f, key, "", 1);

    entry.outcome = HG_ABSENT;
    entry.stale_ttl_ms = entry.ttl_ms;
    return hgi_table_insert(f->table, &entry, false);
}

static enum hgi_found look(struct fixture *f, const char *key)
{
    return hgi_table_lookup(f->table, hg_slice_text(key), -1, &f->now, &f->value, &f->found);
}

static struct hgi_table_stats stats_of(struct fixture *f)
{
    struct hgi_table_stats stats;

    hgi_table_stats(f->table, &stats);
    return stats;
}

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

START_TEST(what_is_unsaved_stays_so_through_growth)
{
    enum { ENTRIES = 900 };
    struct fixture f;
    struct hgi_batch batch;
    size_t taken = 0;
    char key[16];

    setup(&f, 1000, 1 << 20);
    ck_assert(hgi_batch_init(&batch, &hgi_heap, 50, 4096));
    for (int i = 0; i < ENTRIES; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        put(&f, key, "value", 2);
    }
    while (hgi_table_take_unsaved(f.table, &batch)) {
        taken += batch.count;
    }
    ck_assert_uint_eq(taken, ENTRIES);
    hgi_batch_deinit(&batch);
    teardown(&f);
}
END_TEST

START_TEST(unsaved_entries_are_taken_once_and_again_after_mark)
{
    struct fixture f;
    struct hgi_batch batch;
    struct hgi_entry saved;
    size_t taken = 0;
    char key[16];

    setup(&f, 100, 1 << 20);
    ck_assert(hgi_batch_init(&batch, &hgi_heap, 4, 4096));
    saved = entry_of(&f, "restored", "v", 1);
    hgi_table_insert(f.table, &saved, true);
    for (int i = 0; i < 10; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        put(&f, key, "value", 2);
    }
    hgi_table_remove(f.table, hg_slice_text("k3"), 2);
    while (hgi_table_take_unsaved(f.table, &batch)) {
        ck_assert_uint_le(batch.count, 4);
        for (size_t i = 0; i < batch.count; i++) {
            ck_assert_slice_eq(batch.entries[i].value, "value");
            ck_assert_uint_eq(batch.entries[i].born, 2);
        }
        taken += batch.count;
    }
    ck_assert_uint_eq(taken, 9);
    hgi_table_mark_unsaved(f.table);
    taken = 0;
    while (hgi_table_take_unsaved(f.table, &batch)) {
        taken += batch.count;
    }
    ck_assert_uint_eq(taken, 10);
    put(&f, "late", "value", 2);
    hgi_table_clear(f.table, 3);
    ck_assert(!hgi_table_take_unsaved(f.table, &batch));
    hgi_batch_deinit(&batch);
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

HGI_SUITE("storage.table", 20, an_entry_is_fresh_up_to_its_ttl_then_stale_then_gone,
          a_readers_max_age_makes_it_stale_for_that_reader_only,
          nothing_is_served_at_or_after_expires_at_on_either_clock,
          a_negative_is_fresh_or_a_miss_never_stale, an_older_birth_never_replaces_a_newer_entry,
          remove_spares_an_entry_born_after,
          clear_drops_all_born_before_and_refuses_what_began_before,
          the_sweep_gives_back_what_is_over_or_cleared_without_a_read,
          the_table_never_holds_more_entries_than_its_bound,
          the_table_never_holds_more_bytes_than_its_bound,
          an_entry_too_large_for_the_bound_is_not_stored_and_drops_the_older_one,
          a_value_larger_than_a_shards_share_finds_room_in_all_of_them,
          one_hit_wonders_do_not_push_out_hot_entries, a_flood_of_negatives_takes_at_most_an_eighth,
          a_negative_may_take_a_positives_place_until_it_has_its_eighth,
          a_positive_replaces_a_negative_of_its_key_and_the_other_way_round,
          a_bound_of_one_entry_works, the_pause_before_a_refresh_belongs_to_one_birth,
          what_is_unsaved_stays_so_through_growth,
          unsaved_entries_are_taken_once_and_again_after_mark,
          every_failing_allocation_leaves_a_table_that_works,
          a_table_that_cannot_be_made_leaks_nothing, random_operations_agree_with_a_naive_model)
