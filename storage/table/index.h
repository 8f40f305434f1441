/* SPDX-License-Identifier: Apache-2.0 */
/* index: where a shard's items are: an array of buckets of one cache line each.
 * Owns:     the array and the buckets chained to it, in the region; not the items.
 * Threads:  writers hold the shard's lock. Readers take none: they look, copy, and then ask whether
 *           the version has moved meanwhile; if it has, they saw nothing and look again.
 * Limits:   HGI_BUCKET_ITEMS_MAX items in one bucket and its chain: more is refused.
 * Errors:   no memory, or such a bucket: false, and nothing was changed.
 * Not here: which items there should be (shard), what a reader makes of one (table).
 *
 * A bucket has nine slots of a 16-bit tag of the hash and the item's place; what does not fit is in
 * a chain. The first bucket's version is odd while its chain or an item in it is being changed. The
 * array grows by a quarter before chains grow long; items stay where they are. The old array is
 * freed at once: its memory stays mapped, and a reader that was in it sees that the array is
 * another now. */
#ifndef HGI_STORAGE_TABLE_INDEX_H
#define HGI_STORAGE_TABLE_INDEX_H

#include <stdatomic.h>

#include "base/hash.h"
#include "storage/table/item.h"

#define HGI_BUCKET_SLOTS     9u
#define HGI_BUCKET_ITEMS_MAX (HGI_BUCKET_SLOTS * 7)

struct hgi_bucket {
    _Atomic uint32_t version;
    _Atomic uint32_t next;                   /* place of the next of the chain; 0: none */
    _Atomic uint16_t tags[HGI_BUCKET_SLOTS]; /* 0: a free slot */
    _Atomic uint16_t is_unsaved;             /* of the first: the chain may have such an item */
    _Atomic uint32_t items[HGI_BUCKET_SLOTS];
};

_Static_assert(sizeof(struct hgi_bucket) == 64, "a cache line");

struct hgi_index {
    /* set once */
    struct hgi_region *region;
    struct hgi_hash_key hash_key;
    _Atomic uint64_t array; /* place << 32 | how many buckets it has */
    /* under the shard's lock */
    uint32_t block; /* that the array is in */
    size_t count;
};

HG_NODISCARD bool hgi_index_init(struct hgi_index *index, struct hgi_region *region,
                                 const struct hgi_hash_key *hash_key);

static inline size_t hgi_index_buckets(const struct hgi_index *index)
{
    return (uint32_t)atomic_load_explicit(&((struct hgi_index *)(uintptr_t)index)->array,
                                          memory_order_relaxed);
}

/* ---- for writers ---- */

/* The item of the key, or 0. */
uint32_t hgi_index_find(const struct hgi_index *index, uint64_t hash, struct hg_slice key,
                        struct hgi_view *ret_view);
/* A complete item of a key that is not there. */
HG_NODISCARD bool hgi_index_insert(struct hgi_index *index, uint64_t hash, uint32_t place);
/* Out of the index; nobody who looks from here on finds it, and who has found it will know. */
void hgi_index_remove(struct hgi_index *index, uint64_t hash, uint32_t place);
/* Another item of the same key in its place. */
void hgi_index_swap(struct hgi_index *index, uint64_t hash, uint32_t old_place, uint32_t new_place);
/* Around a change of an item where it is. */
void hgi_index_open(struct hgi_index *index, uint64_t hash);
void hgi_index_close(struct hgi_index *index, uint64_t hash);
/* The items of the i-th bucket: at most HGI_BUCKET_ITEMS_MAX places. Returns how many. */
size_t hgi_index_items(const struct hgi_index *index, size_t i, uint32_t *ret_places);
/* Marks that belong to a bucket: it may have an item that is not saved. */
void hgi_index_mark_unsaved(struct hgi_index *index, uint64_t hash);
void hgi_index_mark_bucket(struct hgi_index *index, size_t i);
/* True, once after each mark. */
bool hgi_index_take_unsaved(struct hgi_index *index, size_t i);

/* ---- for readers ---- */

enum hgi_read {
    HGI_READ_NONE, /* there was no such item at one moment of the call */
    HGI_READ_ITEM, /* there was, if hgi_reading_holds after it was looked at */
    HGI_READ_TORN, /* somebody was writing: look again */
};

struct hgi_reading {
    const struct hgi_index *index;
    uint64_t array;
    const struct hgi_bucket *first;
    uint32_t version;
    uint32_t place; /* of the item */
    struct hgi_view view;
};

enum hgi_read hgi_index_read(const struct hgi_index *index, uint64_t hash, struct hg_slice key,
                             struct hgi_reading *ret_reading);
/* Nothing of it has changed since: what was copied is what was there. */
bool hgi_reading_holds(const struct hgi_reading *reading);
/* Has the memory come closer that a read of this hash will look at: first its bucket; then, once
 * that is here, the item that is likely it. */
void hgi_index_fetch_bucket(const struct hgi_index *index, uint64_t hash);
void hgi_index_fetch_item(const struct hgi_index *index, uint64_t hash);

#endif
