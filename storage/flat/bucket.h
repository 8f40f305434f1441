/* SPDX-License-Identifier: Apache-2.0 */
/* bucket: a cache line that says where entries are, and how one is read out of it.
 * Owns:     nothing.
 * Threads:  writers hold the shard's lock. Readers take none: they look, copy, and then ask whether
 *           the version has moved meanwhile; if it has, they saw nothing and look again.
 * Limits:   HGI_BUCKET_ITEMS_MAX entries in one bucket and its chain.
 * Errors:   HGI_READ_TORN. Nothing that stands in the memory is believed before it is known to lie
 *           in it, so that nonsense costs a reader a look and no more.
 * Not here: what goes into a bucket (table/index), what an entry comes to (reader).
 *
 * A bucket has nine slots of a 16-bit tag of the hash and the item's place; what does not fit is in
 * a chain. The first bucket's version is odd while its chain or an item in it is being changed. */
#ifndef HGI_STORAGE_FLAT_BUCKET_H
#define HGI_STORAGE_FLAT_BUCKET_H

#include "storage/flat/front.h"
#include "storage/flat/view.h"

#define HGI_BUCKET_SLOTS     9u
#define HGI_BUCKET_LINKS_MAX 7u
#define HGI_BUCKET_ITEMS_MAX (HGI_BUCKET_SLOTS * HGI_BUCKET_LINKS_MAX)

struct hgi_bucket {
    _Atomic uint32_t version;
    _Atomic uint32_t next;                   /* place of the next of the chain; 0: none */
    _Atomic uint16_t tags[HGI_BUCKET_SLOTS]; /* 0: a free slot */
    _Atomic uint16_t is_unsaved;             /* of the first: the chain may have such an item */
    _Atomic uint32_t items[HGI_BUCKET_SLOTS];
};

_Static_assert(sizeof(struct hgi_bucket) == 64, "a cache line");

/* The high bits name the shard, the low ones the bucket. */
static inline uint16_t hgi_bucket_tag(uint64_t hash)
{
    uint16_t tag = (uint16_t)(hash >> 40);

    return tag ? tag : 1;
}

static inline uint64_t hgi_bucket_array(const struct hgi_front_shard *shard)
{
    return atomic_load_explicit(&((struct hgi_front_shard *)(uintptr_t)shard)->array,
                                memory_order_acquire);
}

/* Which of so many buckets the hash is in. */
static inline uint32_t hgi_bucket_number(uint64_t array, uint64_t hash)
{
    return (uint32_t)(((hash & UINT32_MAX) * (uint32_t)array) >> 32);
}

/* The place of the i-th bucket of an array; false: not in the memory. */
static inline bool hgi_bucket_at(const struct hgi_memory *memory, uint64_t array, size_t i,
                                 struct hgi_bucket **ret_bucket)
{
    size_t at = (size_t)(array >> 32) * HGI_WORD_BYTES + i * sizeof(struct hgi_bucket);

    *ret_bucket = (struct hgi_bucket *)(void *)(memory->base + at);
    return at < memory->size && memory->size - at >= sizeof(struct hgi_bucket);
}

/* NULL: the chain ends, or its next place cannot be a bucket (and then the version has moved). */
static inline struct hgi_bucket *hgi_bucket_next(const struct hgi_memory *memory,
                                                 const struct hgi_bucket *bucket)
{
    uint32_t place =
        atomic_load_explicit(&((struct hgi_bucket *)(uintptr_t)bucket)->next, memory_order_relaxed);

    return place && hgi_memory_holds(memory, place, sizeof(*bucket)) ? hgi_memory_at(memory, place)
                                                                     : NULL;
}

static inline uint32_t hgi_bucket_item(const struct hgi_bucket *bucket, uint32_t slot)
{
    return atomic_load_explicit(&((struct hgi_bucket *)(uintptr_t)bucket)->items[slot],
                                memory_order_relaxed);
}

/* A bit for each slot with the tag. */
uint32_t hgi_bucket_match(const struct hgi_bucket *bucket, uint16_t tag);

enum hgi_read {
    HGI_READ_NONE, /* there was no such item at one moment of the call */
    HGI_READ_ITEM, /* there was, if hgi_reading_holds after it was looked at */
    HGI_READ_TORN, /* somebody was writing: look again */
};

struct hgi_reading {
    const struct hgi_front_shard *shard;
    const struct hgi_bucket *first;
    uint64_t array;
    uint32_t version;
    uint32_t place; /* of the item */
    struct hgi_view view;
};

enum hgi_read hgi_reading_begin(const struct hgi_memory *memory,
                                const struct hgi_front_shard *shard, uint64_t hash,
                                struct hg_slice key, struct hgi_reading *ret_reading);

/* Nothing of it has changed since: what was copied is what was there. */
bool hgi_reading_holds(const struct hgi_reading *reading);

/* Has the memory come closer that a read of this hash will look at: first its bucket; then, once
 * that is here, the item that is likely it. */
void hgi_reading_fetch_bucket(const struct hgi_memory *memory, const struct hgi_front_shard *shard,
                              uint64_t hash);
/* The place of that item, or 0. */
uint32_t hgi_reading_fetch_item(const struct hgi_memory *memory,
                                const struct hgi_front_shard *shard, uint64_t hash);

#endif
