/* SPDX-License-Identifier: Apache-2.0 */
/* index: where a shard's items are: an array of buckets, and who is put in which.
 * Owns:     the array and the buckets chained to it, in the region; not the items.
 * Threads:  the shard's lock is held.
 * Limits:   HGI_BUCKET_ITEMS_MAX items in one bucket and its chain: more is refused.
 * Errors:   no memory, or such a bucket: false, and nothing was changed.
 * Not here: which items there should be (shard), reading without the lock (flat/bucket).
 *
 * The array grows by a quarter before chains grow long; items stay where they are. The old array is
 * freed at once: its memory stays mapped, and a reader that was in it sees that the array is
 * another now. */
#ifndef HGI_STORAGE_TABLE_INDEX_H
#define HGI_STORAGE_TABLE_INDEX_H

#include "storage/flat/bucket.h"
#include "storage/table/item.h"

struct hgi_index {
    /* set once */
    struct hgi_region *region;
    struct hgi_front_shard *front; /* which array it is */
    /* under the shard's lock */
    uint32_t block; /* that the array is in */
    size_t count;
};

/* The index of the `number`-th shard of the region's front. */
HG_NODISCARD bool hgi_index_init(struct hgi_index *index, struct hgi_region *region, size_t number);

static inline size_t hgi_index_buckets(const struct hgi_index *index)
{
    return (uint32_t)atomic_load_explicit(&index->front->array, memory_order_relaxed);
}

/* The item of the key, or 0. */
uint32_t hgi_index_find(const struct hgi_index *index, uint64_t hash, struct hg_slice key,
                        struct hgi_view *ret_view);
/* So many items in all are to come: the array has their size at once. */
void hgi_index_expect(struct hgi_index *index, size_t count);
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

#endif
