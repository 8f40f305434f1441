/* SPDX-License-Identifier: Apache-2.0 */
/* front: what stands first in a table's memory: all that a reader must know to find an entry.
 * Owns:     nothing.
 * Threads:  writers of a shard hold its lock; readers take none.
 * Limits:   HGI_SHARDS_MAX; HGI_FRONT_BYTES, the blocks begin behind it.
 * Errors:   none.
 * Not here: buckets (bucket), entries (view), who writes it all (storage/table). */
#ifndef HGI_STORAGE_FLAT_FRONT_H
#define HGI_STORAGE_FLAT_FRONT_H

#include <stdatomic.h>

#include "base/hash.h"
#include "storage/flat/memory.h"

#define HGI_SHARDS_MAX  16u
#define HGI_FRONT_BYTES 2048u

struct hgi_front_shard {
    _Atomic uint64_t array;   /* of its buckets: place << 32 | how many */
    _Atomic uint64_t cleared; /* what was born before this is gone */
    uint64_t unused[6];       /* a cache line, for writers of two shards may be at work */
};

struct hgi_front {
    struct hgi_hash_key hash_key; /* set once, as is shard_count */
    uint32_t shard_count;         /* a power of two */
    uint32_t unused;
    /* The largest number any tag ever got: what was born since is covered by none. */
    _Atomic uint64_t tags_last;
    uint64_t unused_more[4];
    struct hgi_front_shard shards[HGI_SHARDS_MAX];
};

_Static_assert(sizeof(struct hgi_front_shard) == 64, "a cache line");
_Static_assert(sizeof(struct hgi_front) <= HGI_FRONT_BYTES, "it stands before the first block");

/* The numbers of a tag's last invalidations: hard ones drop, soft ones mark stale. */
struct hgi_tag_numbers {
    _Atomic uint64_t hard;
    _Atomic uint64_t soft;
};

/* Of the record at `place`; false: there can be none. */
static inline bool hgi_tag_numbers_read(const struct hgi_memory *memory, uint32_t place,
                                        uint64_t *ret_hard, uint64_t *ret_soft)
{
    struct hgi_tag_numbers *numbers = hgi_memory_at(memory, place);

    if (place % 2 || !hgi_memory_holds(memory, place, sizeof(*numbers))) {
        return false;
    }
    *ret_hard = atomic_load_explicit(&numbers->hard, memory_order_acquire);
    *ret_soft = atomic_load_explicit(&numbers->soft, memory_order_acquire);
    return true;
}

static inline struct hgi_front *hgi_front_of(const struct hgi_memory *memory)
{
    return (struct hgi_front *)(void *)memory->base;
}

/* A bucket is found by low bits of the hash, so its shard by high ones. */
static inline uint32_t hgi_front_shard_of(uint64_t hash, uint32_t shard_count)
{
    return (uint32_t)(hash >> 56) & (shard_count - 1);
}

static inline uint64_t hgi_front_cleared(const struct hgi_front_shard *shard)
{
    return atomic_load_explicit(&((struct hgi_front_shard *)(uintptr_t)shard)->cleared,
                                memory_order_acquire);
}

static inline uint64_t hgi_front_tags_last(const struct hgi_front *front)
{
    return atomic_load_explicit(&((struct hgi_front *)(uintptr_t)front)->tags_last,
                                memory_order_acquire);
}

#endif
