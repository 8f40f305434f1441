/* SPDX-License-Identifier: Apache-2.0 */
/* One shard: what replaces what, what leaves first. */
#include <stdio.h>

#include "hg_test.h"
#include "storage/table/shard.h"

struct fixture {
    struct hgi_test_allocator memory;
    struct hgi_metrics metrics;
    struct hgi_tags tags;
    struct hgi_usage usage;
    struct hgi_shard shard;
};

static void setup(struct fixture *f, size_t max_entries) HGI_ACQUIRES(shard)
{
    memset(f, 0, sizeof(*f));
    hgi_test_allocator_init(&f->memory);
    ck_assert(hgi_tags_init(&f->tags, &f->memory.allocator));
    hgi_usage_init(&f->usage, max_entries, 1 << 20);
    ck_assert(hgi_shard_init(&f->shard, &f->memory.allocator, max_entries, &f->metrics, &f->tags,
                             &f->usage));
    hgi_lock_shard(&f->shard.lock);
}

static void teardown(struct fixture *f) HGI_RELEASES(shard)
{
    hgi_unlock_shard(&f->shard.lock);
    hgi_shard_deinit(&f->shard);
    hgi_tags_deinit(&f->tags);
    ck_assert_uint_eq(f->memory.out_count, 0);
}

static struct hgi_item *put(struct fixture *f, uint64_t hash, const char *key, const char *value)
    HGI_REQUIRES(shard)
{
    struct hgi_entry entry = {
        .key = hg_slice_text(key),
        .value = hg_slice_text(value),
        .outcome = HG_VALUE,
        .born = 5,
        .ttl_ms = 100,
        .stale_ttl_ms = 300,
    };

    struct hgi_item *item = hgi_shard_find(&f->shard, hash, entry.key);

    return hgi_shard_replace(&f->shard, item, hash, &entry, &item) == HGI_ROOM_TAKEN ? item : NULL;
}

START_TEST(keys_of_one_hash_are_told_apart)
{
    struct fixture f;

    setup(&f, 100);
    ck_assert_ptr_nonnull(put(&f, 1, "a", "of a"));
    ck_assert_ptr_nonnull(put(&f, 1, "b", "of b"));
    ck_assert_slice_eq(hgi_item_value(hgi_shard_find(&f.shard, 1, hg_slice_text("a"))), "of a");
    ck_assert_slice_eq(hgi_item_value(hgi_shard_find(&f.shard, 1, hg_slice_text("b"))), "of b");
    ck_assert_ptr_null(hgi_shard_find(&f.shard, 1, hg_slice_text("c")));
    hgi_shard_drop(&f.shard, hgi_shard_find(&f.shard, 1, hg_slice_text("a")));
    ck_assert_ptr_null(hgi_shard_find(&f.shard, 1, hg_slice_text("a")));
    ck_assert_ptr_nonnull(hgi_shard_find(&f.shard, 1, hg_slice_text("b")));
    ck_assert_uint_eq(f.shard.live, 1);
    teardown(&f);
}
END_TEST

START_TEST(a_replaced_item_gives_its_bytes_back)
{
    struct fixture f;
    size_t before;

    setup(&f, 100);
    ck_assert_ptr_nonnull(put(&f, 1, "k", "1234"));
    before = hgi_usage_bytes(&f.usage);
    ck_assert_ptr_nonnull(put(&f, 1, "k", "5678"));
    ck_assert_uint_eq(hgi_usage_bytes(&f.usage), before);
    ck_assert_uint_eq(f.shard.live, 1);
    hgi_shard_drop(&f.shard, hgi_shard_find(&f.shard, 1, hg_slice_text("k")));
    ck_assert_uint_eq(hgi_usage_bytes(&f.usage), 0);
    teardown(&f);
}
END_TEST

START_TEST(what_was_read_twice_outlives_what_was_not)
{
    enum { ENTRIES = 100 };
    struct fixture f;
    char key[16];

    setup(&f, ENTRIES);
    ck_assert_ptr_nonnull(put(&f, 1000000, "hot", "v"));
    for (uint64_t i = 0; i < 10 * ENTRIES; i++) {
        struct hgi_item *hot = hgi_shard_find(&f.shard, 1000000, hg_slice_text("hot"));

        ck_assert_msg(hot, "evicted before key %llu", (unsigned long long)i);
        hgi_item_touch(hot);
        snprintf(key, sizeof(key), "%llu", (unsigned long long)i);
        ck_assert_ptr_nonnull(put(&f, i, key, "v"));
        ck_assert_uint_le(f.shard.live, ENTRIES);
    }
    ck_assert_ptr_null(hgi_shard_find(&f.shard, 0, hg_slice_text("0")));
    teardown(&f);
}
END_TEST

START_TEST(an_item_born_before_the_clear_is_dead)
{
    struct fixture f;
    struct hgi_item *item;

    setup(&f, 100);
    item = put(&f, 1, "k", "v"); /* born 5 */
    ck_assert_ptr_nonnull(item);
    f.shard.cleared = 5;
    ck_assert(!hgi_item_is_cleared(&f.shard, item) && !hgi_item_is_dead(&f.shard, item));
    f.shard.cleared = 6;
    ck_assert(hgi_item_is_cleared(&f.shard, item) && hgi_item_is_dead(&f.shard, item));
    f.shard.cleared = 0; /* as it was when the item was counted */
    teardown(&f);
}
END_TEST

HGI_SUITE("storage.shard", 20, keys_of_one_hash_are_told_apart,
          a_replaced_item_gives_its_bytes_back, what_was_read_twice_outlives_what_was_not,
          an_item_born_before_the_clear_is_dead)
