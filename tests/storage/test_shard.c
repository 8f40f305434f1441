/* SPDX-License-Identifier: Apache-2.0 */
/* One shard: what replaces what, what leaves first. */
#include <stdio.h>

#include "hg_test.h"
#include "storage/table/shard.h"

struct fixture {
    struct hgi_test_allocator memory;
    struct hgi_metrics metrics;
    struct hgi_ground ground;
    struct hgi_shard shard;
};

static void setup(struct fixture *f, size_t max_entries) HGI_ACQUIRES(shard)
{
    struct hgi_ground *ground = &f->ground;

    memset(f, 0, sizeof(*f));
    hgi_test_allocator_init(&f->memory);
    ground->allocator = &f->memory.allocator;
    ground->metrics = &f->metrics;
    hgi_usage_init(&ground->usage, max_entries, 1 << 20);
    ck_assert(hgi_region_init(&ground->region, 2 << 20));
    ground->reader = (struct hgi_reader){.memory = ground->region.memory,
                                         .front = hgi_front_of(&ground->region.memory),
                                         .shard_count = 1,
                                         .hash_key = hgi_hash_key_new()};
    ground->reader.front->hash_key = ground->reader.hash_key;
    ck_assert(hgi_heat_init(&ground->reader.heat, ground->region.memory.size));
    ck_assert(hgi_tags_init(&ground->tags, ground->allocator, &ground->region));
    ck_assert(hgi_shard_init(&f->shard, ground, 0, max_entries));
    hgi_lock_shard(&f->shard.lock);
}

static void teardown(struct fixture *f) HGI_RELEASES(shard)
{
    hgi_unlock_shard(&f->shard.lock);
    hgi_shard_deinit(&f->shard);
    hgi_tags_deinit(&f->ground.tags);
    hgi_heat_deinit(&f->ground.reader.heat);
    hgi_region_deinit(&f->ground.region);
    ck_assert_uint_eq(f->memory.out_count, 0);
}

static uint64_t hash_of(const struct fixture *f, const char *key)
{
    return hgi_reader_hash(&f->ground.reader, hg_slice_text(key));
}

/* The item of the key, or 0. */
static uint32_t find(struct fixture *f, const char *key, struct hgi_view *ret_view)
    HGI_REQUIRES(shard)
{
    return hgi_index_find(&f->shard.index, hash_of(f, key), hg_slice_text(key), ret_view);
}

static uint32_t put(struct fixture *f, const char *key, const char *value) HGI_REQUIRES(shard)
{
    struct hgi_entry entry = {
        .key = hg_slice_text(key),
        .value = hg_slice_text(value),
        .outcome = HG_VALUE,
        .born = 5,
        .ttl_ms = 100,
        .stale_ttl_ms = 300,
    };
    struct hgi_view view;
    uint32_t place = find(f, key, &view);

    return hgi_shard_replace(&f->shard, place, hash_of(f, key), &entry, &place) == HGI_ROOM_TAKEN
               ? place
               : 0;
}

static void drop(struct fixture *f, const char *key) HGI_REQUIRES(shard)
{
    struct hgi_view view;

    hgi_shard_drop(&f->shard, hash_of(f, key), find(f, key, &view));
}

START_TEST(a_dropped_item_is_gone_and_others_stay)
{
    struct hgi_view view;
    struct fixture f;

    setup(&f, 100);
    ck_assert_uint_ne(put(&f, "a", "of a"), 0);
    ck_assert_uint_ne(put(&f, "b", "of b"), 0);
    ck_assert_uint_ne(find(&f, "a", &view), 0);
    ck_assert_slice_eq(view.value, "of a");
    ck_assert_uint_eq(find(&f, "c", &view), 0);
    drop(&f, "a");
    ck_assert_uint_eq(find(&f, "a", &view), 0);
    ck_assert_uint_ne(find(&f, "b", &view), 0);
    ck_assert_uint_eq(f.shard.live, 1);
    teardown(&f);
}
END_TEST

START_TEST(a_replaced_item_gives_its_bytes_back)
{
    struct fixture f;
    size_t before;

    setup(&f, 100);
    ck_assert_uint_ne(put(&f, "k", "1234"), 0);
    before = hgi_usage_bytes(&f.ground.usage);
    ck_assert_uint_ne(put(&f, "k", "5678"), 0);
    ck_assert_uint_eq(hgi_usage_bytes(&f.ground.usage), before);
    ck_assert_uint_eq(f.shard.live, 1);
    drop(&f, "k");
    ck_assert_uint_eq(hgi_usage_bytes(&f.ground.usage), 0);
    teardown(&f);
}
END_TEST

START_TEST(what_was_read_twice_outlives_what_was_not)
{
    enum { ENTRIES = 100 };
    struct hgi_view view;
    struct fixture f;
    char key[16];

    setup(&f, ENTRIES);
    ck_assert_uint_ne(put(&f, "hot", "v"), 0);
    for (int i = 0; i < 10 * ENTRIES; i++) {
        ck_assert_msg(find(&f, "hot", &view), "evicted before key %d", i);
        hgi_heat_touch(&f.ground.reader.heat, find(&f, "hot", &view));
        snprintf(key, sizeof(key), "%d", i);
        ck_assert_uint_ne(put(&f, key, "v"), 0);
        ck_assert_uint_le(f.shard.live, ENTRIES);
    }
    ck_assert_uint_eq(find(&f, "0", &view), 0);
    teardown(&f);
}
END_TEST

START_TEST(who_comes_back_after_an_eviction_is_taken_for_more_than_a_passer_by)
{
    enum { ENTRIES = 100 };
    struct hgi_view view;
    struct fixture f;
    char key[16];
    int i = 0;

    setup(&f, ENTRIES);
    ck_assert_int_eq(hgi_item_queue(&f.ground.region, put(&f, "ghost", "v")), HGI_QUEUE_SMALL);
    while (find(&f, "ghost", &view)) {
        snprintf(key, sizeof(key), "%d", i++);
        ck_assert_uint_ne(put(&f, key, "v"), 0);
        ck_assert_int_le(i, 10 * ENTRIES);
    }
    ck_assert_int_eq(hgi_item_queue(&f.ground.region, put(&f, "ghost", "v")), HGI_QUEUE_MAIN);
    teardown(&f);
}
END_TEST

START_TEST(an_item_born_before_the_clear_is_dead)
{
    struct hgi_view view;
    struct fixture f;

    setup(&f, 100);
    ck_assert_uint_ne(put(&f, "k", "v"), 0); /* born 5 */
    ck_assert_uint_ne(find(&f, "k", &view), 0);
    f.shard.front->cleared = 5;
    ck_assert(!hgi_shard_judge(&f.shard, &view).is_dead);
    f.shard.front->cleared = 6;
    ck_assert(hgi_shard_judge(&f.shard, &view).is_dead);
    f.shard.front->cleared = 0; /* as it was when the item was counted */
    teardown(&f);
}
END_TEST

/* A pause after a failed refresh needs room that few items have. */
START_TEST(an_edit_that_needs_more_room_moves_the_item_and_keeps_all_of_it)
{
    struct hgi_view view;
    struct fixture f;
    size_t before;
    uint32_t place;

    setup(&f, 100);
    ck_assert_uint_ne(put(&f, "first", "v"), 0);
    place = put(&f, "k", "value");
    ck_assert_uint_ne(put(&f, "last", "v"), 0);
    hgi_shard_set_unsaved(&f.shard, hash_of(&f, "k"), place, true);
    before = hgi_usage_bytes(&f.ground.usage);
    ck_assert_uint_ne(find(&f, "k", &view), 0);
    view.refresh_after_ms = 1234567;
    view.refresh_backoff_ms = 800;
    view.is_refused = true;
    ck_assert(hgi_shard_edit(&f.shard, hash_of(&f, "k"), place, &view));
    place = find(&f, "k", &view);
    ck_assert_uint_ne(place, 0);
    ck_assert_slice_eq(view.value, "value");
    ck_assert_int_eq(view.refresh_after_ms, 1234567);
    ck_assert_int_eq(view.refresh_backoff_ms, 800);
    ck_assert(view.is_refused);
    ck_assert_int_eq(view.ttl_ms, 100);
    ck_assert_int_eq(view.stale_ttl_ms, 300);
    ck_assert_uint_eq(f.shard.unsaved, 1);
    ck_assert_uint_gt(hgi_usage_bytes(&f.ground.usage), before);
    /* The pause is over, and a hard end has come: what it has room for has changed both ways. */
    view.refresh_after_ms = 0;
    view.refresh_backoff_ms = 0;
    view.is_refused = false;
    view.expires_wall_ms = 77;
    view.expires_boot_ms = 78;
    ck_assert(hgi_shard_edit(&f.shard, hash_of(&f, "k"), place, &view));
    ck_assert_uint_ne(find(&f, "k", &view), 0);
    ck_assert_slice_eq(view.value, "value");
    ck_assert_int_eq(view.expires_boot_ms, 78);
    ck_assert_uint_eq(f.shard.live, 3);
    drop(&f, "first");
    drop(&f, "k");
    drop(&f, "last");
    ck_assert_uint_eq(hgi_usage_bytes(&f.ground.usage), 0);
    ck_assert_uint_eq(f.shard.unsaved, 0);
    teardown(&f);
}
END_TEST

HGI_SUITE("storage.shard", 20, a_dropped_item_is_gone_and_others_stay,
          a_replaced_item_gives_its_bytes_back, what_was_read_twice_outlives_what_was_not,
          who_comes_back_after_an_eviction_is_taken_for_more_than_a_passer_by,
          an_item_born_before_the_clear_is_dead,
          an_edit_that_needs_more_room_moves_the_item_and_keeps_all_of_it)
