/* SPDX-License-Identifier: Apache-2.0 */
#include "tag.h"

#include <string.h>

#include "base/bytes.h"
#include "base/check.h"

/* Of a name that is held. */
struct hgi_tag {
    struct hgi_map_node map;
    size_t holders; /* guarded by the tag lock */
    uint32_t block; /* in the region; the record is the first place in it that is a multiple of 8 */
    uint32_t place;
    size_t name_len;
    unsigned char name[];
};

struct record {
    struct hgi_tag_numbers numbers;
    _Atomic(struct hgi_tag *) tag;
};

bool hgi_tags_init(struct hgi_tags *tags, const struct hgi_allocator *allocator,
                   struct hgi_region *region)
{
    memset(tags, 0, sizeof(*tags));
    tags->allocator = allocator;
    tags->region = region;
    tags->hash_key = hgi_hash_key_new();
    if (!hgi_map_init(&tags->map, allocator)) {
        return false;
    }
    hgi_lock_init(&tags->lock);
    return true;
}

void hgi_tags_deinit(struct hgi_tags *tags) HGI_UNCHECKED
{
    HGI_BUG_ON(tags->map.count);
    hgi_map_deinit(&tags->map);
    hgi_lock_deinit(&tags->lock);
}

static struct hgi_tag *find(const struct hgi_tags *tags, uint64_t hash, struct hg_slice name)
    HGI_REQUIRES(tag)
{
    struct hgi_map_node *node = hgi_map_find(&tags->map, hash);

    for (; node; node = hgi_map_find_next(node)) {
        struct hgi_tag *tag = HGI_CONTAINER(node, struct hgi_tag, map);

        if (hgi_slice_equal(hg_slice_of(tag->name, tag->name_len), name)) {
            return tag;
        }
    }
    return NULL;
}

static struct record *record_at(const struct hgi_region *region, uint32_t place)
{
    return hgi_region_at(region, place);
}

static struct hgi_tag_numbers *stripe_of(struct hgi_tags *tags, uint64_t hash)
{
    return &tags->stripes[hash % HGI_TAG_STRIPES];
}

/* Only ever up, and only under the tag lock. */
static void raise_to(_Atomic uint64_t *number, uint64_t to)
{
    if (atomic_load_explicit(number, memory_order_relaxed) < to) {
        atomic_store_explicit(number, to, memory_order_release);
    }
}

static void raise_both(struct hgi_tag_numbers *numbers, const struct hgi_tag_numbers *from)
{
    struct hgi_tag_numbers *source = (struct hgi_tag_numbers *)(uintptr_t)from;

    raise_to(&numbers->hard, atomic_load_explicit(&source->hard, memory_order_relaxed));
    raise_to(&numbers->soft, atomic_load_explicit(&source->soft, memory_order_relaxed));
}

/* NULL: no memory. */
static struct hgi_tag *enter(struct hgi_tags *tags, uint64_t hash, struct hg_slice name)
    HGI_REQUIRES(tag)
{
    struct hgi_tag *tag = hgi_alloc(tags->allocator, sizeof(*tag) + name.len);
    struct record *record;

    if (!tag) {
        return NULL;
    }
    tag->block = hgi_region_alloc(tags->region, sizeof(*record) + 2 * HGI_WORD_BYTES);
    if (!tag->block) {
        hgi_free(tags->allocator, tag);
        return NULL;
    }
    tag->place = (tag->block + 2) & ~1u;
    tag->name_len = name.len;
    if (name.len) {
        memcpy(tag->name, name.data, name.len);
    }
    record = record_at(tags->region, tag->place);
    /* As in hgi_item_create: a reader of what was here before must find that out. */
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&record->numbers.hard, 0, memory_order_relaxed);
    atomic_store_explicit(&record->numbers.soft, 0, memory_order_relaxed);
    atomic_store_explicit(&record->tag, tag, memory_order_relaxed);
    raise_both(&record->numbers, stripe_of(tags, hash));
    hgi_map_insert(&tags->map, &tag->map, hash);
    return tag;
}

uint32_t hgi_tags_hold(struct hgi_tags *tags, struct hg_slice name)
{
    uint64_t hash = hgi_hash(&tags->hash_key, name);
    struct hgi_tag *tag;

    hgi_lock_tag(&tags->lock);
    tag = find(tags, hash, name);
    if (!tag) {
        tag = enter(tags, hash, name);
    }
    if (tag) {
        tag->holders++;
    }
    hgi_unlock_tag(&tags->lock);
    return tag ? tag->place : 0;
}

static struct hgi_tag *tag_of(const struct hgi_tags *tags, uint32_t place)
{
    return atomic_load_explicit(&record_at(tags->region, place)->tag, memory_order_relaxed);
}

void hgi_tags_release(struct hgi_tags *tags, uint32_t place)
{
    struct hgi_tag *tag = tag_of(tags, place);
    bool is_last;

    hgi_lock_tag(&tags->lock);
    is_last = --tag->holders == 0;
    if (is_last) {
        raise_both(stripe_of(tags, tag->map.hash), &record_at(tags->region, place)->numbers);
        hgi_map_remove(&tags->map, &tag->map);
    }
    hgi_unlock_tag(&tags->lock);
    if (is_last) {
        hgi_region_free(tags->region, tag->block);
        explicit_bzero(tag->name, tag->name_len);
        hgi_free(tags->allocator, tag);
    }
}

struct hg_slice hgi_tags_name(const struct hgi_tags *tags, uint32_t place)
{
    const struct hgi_tag *tag = tag_of(tags, place);

    return hg_slice_of(tag->name, tag->name_len);
}

void hgi_tags_invalidate(struct hgi_tags *tags, struct hg_slice name, uint64_t generation,
                         bool is_soft)
{
    uint64_t hash = hgi_hash(&tags->hash_key, name);
    struct hgi_tag_numbers *numbers;
    struct hgi_tag *tag;

    hgi_lock_tag(&tags->lock);
    tag = find(tags, hash, name);
    numbers = tag ? &record_at(tags->region, tag->place)->numbers : stripe_of(tags, hash);
    raise_to(is_soft ? &numbers->soft : &numbers->hard, generation);
    raise_to(&hgi_front_of(&tags->region->memory)->tags_last, generation);
    hgi_unlock_tag(&tags->lock);
}

uint64_t hgi_tags_number(struct hgi_tags *tags, struct hg_slice name)
{
    uint64_t hash = hgi_hash(&tags->hash_key, name);
    struct hgi_tag_numbers *numbers;
    struct hgi_tag *tag;
    uint64_t hard;
    uint64_t soft;

    hgi_lock_tag(&tags->lock);
    tag = find(tags, hash, name);
    numbers = tag ? &record_at(tags->region, tag->place)->numbers : stripe_of(tags, hash);
    hard = atomic_load_explicit(&numbers->hard, memory_order_relaxed);
    soft = atomic_load_explicit(&numbers->soft, memory_order_relaxed);
    hgi_unlock_tag(&tags->lock);
    return hard > soft ? hard : soft;
}
