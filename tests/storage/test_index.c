/* SPDX-License-Identifier: Apache-2.0 */
/* The index: what is found, what a reader sees while it changes, and that it grows. */
#include <stdio.h>

#include "base/thread.h"
#include "hg_test.h"
#include "storage/table/index.h"

struct fixture {
    struct hgi_test_allocator memory;
    struct hgi_region region;
    struct hgi_tags tags;
    struct hgi_index index;
};

static void setup(struct fixture *f, size_t region_size)
{
    memset(f, 0, sizeof(*f));
    hgi_test_allocator_init(&f->memory);
    ck_assert(hgi_region_init(&f->region, region_size));
    hgi_front_of(&f->region.memory)->hash_key = hgi_hash_key_new();
    ck_assert(hgi_tags_init(&f->tags, &f->memory.allocator, &f->region));
    ck_assert(hgi_index_init(&f->index, &f->region, 0));
}

static void teardown(struct fixture *f)
{
    hgi_tags_deinit(&f->tags);
    hgi_region_deinit(&f->region);
    ck_assert_uint_eq(f->memory.out_count, 0);
}

static uint32_t item_of(struct fixture *f, const char *key, const char *value)
{
    struct hgi_entry entry = {.key = hg_slice_text(key),
                              .value = hg_slice_text(value),
                              .outcome = HG_VALUE,
                              .ttl_ms = 1,
                              .stale_ttl_ms = 1};
    uint32_t place = hgi_item_create(&f->region, &f->tags, &entry, 1);

    ck_assert_uint_ne(place, 0);
    return place;
}

static uint64_t hash_of(const struct fixture *f, const char *key)
{
    return hgi_hash(&hgi_front_of(&f->region.memory)->hash_key, hg_slice_text(key));
}

START_TEST(ten_thousand_keys_are_found_through_all_growth_and_gone_when_removed)
{
    enum { KEYS = 10000 };
    static uint32_t places[KEYS];
    struct hgi_reading reading;
    struct hgi_view view;
    struct fixture f;
    char key[16];
    size_t listed = 0;

    setup(&f, 8 << 20);
    for (int i = 0; i < KEYS; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        places[i] = item_of(&f, key, key);
        ck_assert(hgi_index_insert(&f.index, hash_of(&f, key), places[i]));
    }
    ck_assert_uint_gt(hgi_index_buckets(&f.index), KEYS / HGI_BUCKET_SLOTS);
    ck_assert_uint_le(hgi_index_buckets(&f.index), KEYS / 2);
    for (size_t i = 0; i < hgi_index_buckets(&f.index); i++) {
        uint32_t items[HGI_BUCKET_ITEMS_MAX];

        listed += hgi_index_items(&f.index, i, items);
    }
    ck_assert_uint_eq(listed, KEYS);
    for (int i = 0; i < KEYS; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        ck_assert_int_eq(hgi_reading_begin(&f.region.memory, f.index.front, hash_of(&f, key),
                                           hg_slice_text(key), &reading),
                         HGI_READ_ITEM);
        ck_assert(hgi_slice_equal(reading.view.value, hg_slice_text(key)));
        ck_assert(hgi_reading_holds(&reading));
        hgi_index_remove(&f.index, hash_of(&f, key), places[i]);
        ck_assert(!hgi_reading_holds(&reading));
        hgi_item_destroy(&f.region, &f.tags, places[i]);
        ck_assert_uint_eq(hgi_index_find(&f.index, hash_of(&f, key), hg_slice_text(key), &view), 0);
        ck_assert_int_eq(hgi_reading_begin(&f.region.memory, f.index.front, hash_of(&f, key),
                                           hg_slice_text(key), &reading),
                         HGI_READ_NONE);
    }
    teardown(&f);
}
END_TEST

START_TEST(room_for_items_that_are_expected_is_made_at_once_and_keeps_what_is_there)
{
    enum { KEYS = 5000 };
    static uint32_t places[KEYS];
    struct hgi_view view;
    struct fixture f;
    char key[16];
    size_t buckets;

    setup(&f, 8 << 20);
    for (int i = 0; i < KEYS; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        places[i] = item_of(&f, key, key);
        ck_assert(hgi_index_insert(&f.index, hash_of(&f, key), places[i]));
        if (i == 10) {
            hgi_index_expect(&f.index, KEYS);
            buckets = hgi_index_buckets(&f.index);
        }
        ck_assert(i < 10 || hgi_index_buckets(&f.index) == buckets);
    }
    hgi_index_expect(&f.index, 1); /* it never shrinks */
    hgi_index_expect(&f.index, SIZE_MAX / 8);
    ck_assert_uint_eq(hgi_index_buckets(&f.index), buckets);
    for (int i = 0; i < KEYS; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        ck_assert_uint_eq(hgi_index_find(&f.index, hash_of(&f, key), hg_slice_text(key), &view),
                          places[i]);
        hgi_index_remove(&f.index, hash_of(&f, key), places[i]);
        hgi_item_destroy(&f.region, &f.tags, places[i]);
    }
    teardown(&f);
}
END_TEST

/* All in one bucket, as an attacker would have it. */
START_TEST(a_bucket_takes_so_many_and_no_more)
{
    uint32_t places[HGI_BUCKET_ITEMS_MAX];
    struct fixture f;
    char key[16];
    uint32_t more;

    setup(&f, 8 << 20);
    for (uint32_t i = 0; i < HGI_BUCKET_ITEMS_MAX; i++) {
        snprintf(key, sizeof(key), "k%u", i);
        places[i] = item_of(&f, key, key);
        f.index.count = 0; /* it never grows */
        ck_assert(hgi_index_insert(&f.index, (uint64_t)i << 40, places[i]));
    }
    more = item_of(&f, "more", "more");
    f.index.count = 0;
    ck_assert(!hgi_index_insert(&f.index, (uint64_t)99 << 40, more));
    for (uint32_t i = 0; i < HGI_BUCKET_ITEMS_MAX; i++) {
        f.index.count = 1;
        hgi_index_remove(&f.index, (uint64_t)i << 40, places[i]);
        hgi_item_destroy(&f.region, &f.tags, places[i]);
    }
    hgi_item_destroy(&f.region, &f.tags, more);
    teardown(&f);
}
END_TEST

START_TEST(a_reader_knows_of_each_kind_of_change)
{
    struct hgi_reading reading;
    struct hgi_view view;
    struct fixture f;
    uint32_t old;
    uint32_t fresh;
    uint64_t hash;

    setup(&f, 1 << 20);
    hash = hash_of(&f, "k");
    old = item_of(&f, "k", "old");
    ck_assert(hgi_index_insert(&f.index, hash, old));
    ck_assert_int_eq(
        hgi_reading_begin(&f.region.memory, f.index.front, hash, hg_slice_text("k"), &reading),
        HGI_READ_ITEM);
    fresh = item_of(&f, "k", "new");
    ck_assert(hgi_reading_holds(&reading));
    hgi_index_swap(&f.index, hash, old, fresh);
    ck_assert(!hgi_reading_holds(&reading));
    hgi_item_destroy(&f.region, &f.tags, old);
    ck_assert_int_eq(
        hgi_reading_begin(&f.region.memory, f.index.front, hash, hg_slice_text("k"), &reading),
        HGI_READ_ITEM);
    ck_assert(hgi_slice_equal(reading.view.value, hg_slice_text("new")));
    hgi_index_open(&f.index, hash);
    ck_assert(!hgi_reading_holds(&reading));
    ck_assert_int_eq(
        hgi_reading_begin(&f.region.memory, f.index.front, hash, hg_slice_text("k"), &reading),
        HGI_READ_TORN);
    ck_assert_uint_ne(hgi_index_find(&f.index, hash, hg_slice_text("k"), &view), 0);
    view.is_softened = true;
    ck_assert(hgi_item_edit(&f.region, fresh, &view));
    hgi_index_close(&f.index, hash);
    ck_assert_int_eq(
        hgi_reading_begin(&f.region.memory, f.index.front, hash, hg_slice_text("k"), &reading),
        HGI_READ_ITEM);
    ck_assert(reading.view.is_softened);
    hgi_index_remove(&f.index, hash, fresh);
    hgi_item_destroy(&f.region, &f.tags, fresh);
    teardown(&f);
}
END_TEST

/* ---- a writer and readers on the same few keys ---- */

enum { KEYS = 6, CHANGES = 60000 };

static struct fixture shared;
static _Atomic bool is_over;
static _Atomic size_t seen;

/* The value of a key is the key, then a letter many times: all of one version, or nothing. */
static void read_much(void *arg)
{
    char key[8];
    char copy[512];
    size_t good = 0;

    (void)arg;
    for (uint64_t i = 0; !atomic_load(&is_over); i++) {
        struct hgi_reading reading;
        size_t len;

        snprintf(key, sizeof(key), "key%d", (int)(i % KEYS));
        if (hgi_reading_begin(&shared.region.memory, shared.index.front, hash_of(&shared, key),
                              hg_slice_text(key), &reading) != HGI_READ_ITEM) {
            continue;
        }
        len = reading.view.value.len;
        if (len > sizeof(copy) || !hgi_reading_holds(&reading)) {
            continue;
        }
        hgi_racy_load(copy, reading.view.value.data, len);
        if (!hgi_reading_holds(&reading)) {
            continue;
        }
        good++;
        ck_assert_int_eq(memcmp(copy, key, 4), 0);
        for (size_t at = 5; at < len; at++) {
            ck_assert_int_eq(copy[at], copy[4]);
        }
    }
    atomic_fetch_add(&seen, good);
}

START_TEST(a_reader_sees_whole_values_or_none_whatever_a_writer_does)
{
    struct hgi_thread readers[2];
    uint32_t places[KEYS] = {0};
    uint64_t random = 88172645463325252u;
    char value[512];
    char key[8];

    setup(&shared, 1 << 18);
    for (size_t i = 0; i < 2; i++) {
        ck_assert(hgi_thread_start(&readers[i], "read", read_much, NULL));
    }
    for (int i = 0; i < CHANGES || (!atomic_load(&seen) && i < 4 * CHANGES); i++) {
        size_t k;
        size_t len;
        uint64_t hash;
        uint32_t fresh;

        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        k = random % KEYS;
        len = 8 + (random >> 20) % 400;
        snprintf(key, sizeof(key), "key%zu", k);
        hash = hash_of(&shared, key);
        memset(value, 'a' + (int)(random >> 40) % 26, len);
        memcpy(value, key, 4);
        value[len] = '\0';
        fresh = (random >> 50) % 4 ? item_of(&shared, key, value) : 0;
        if (places[k] && fresh) {
            hgi_index_swap(&shared.index, hash, places[k], fresh);
        } else if (fresh) {
            ck_assert(hgi_index_insert(&shared.index, hash, fresh));
        } else if (places[k]) {
            hgi_index_remove(&shared.index, hash, places[k]);
        }
        if (places[k]) {
            hgi_item_destroy(&shared.region, &shared.tags, places[k]);
        }
        places[k] = fresh;
    }
    atomic_store(&is_over, true);
    for (size_t i = 0; i < 2; i++) {
        hgi_thread_join(&readers[i]);
    }
    ck_assert_uint_gt(atomic_load(&seen), 0);
    for (size_t k = 0; k < KEYS; k++) {
        if (places[k]) {
            hgi_item_destroy(&shared.region, &shared.tags, places[k]);
        }
    }
    teardown(&shared);
}
END_TEST

HGI_SUITE("storage.index", 60, ten_thousand_keys_are_found_through_all_growth_and_gone_when_removed,
          room_for_items_that_are_expected_is_made_at_once_and_keeps_what_is_there,
          a_bucket_takes_so_many_and_no_more, a_reader_knows_of_each_kind_of_change,
          a_reader_sees_whole_values_or_none_whatever_a_writer_does)
