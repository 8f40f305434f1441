/* SPDX-License-Identifier: Apache-2.0 */
/* shard: one lock's part of a table: its items, its eviction queues.
 * Owns:     its items.
 * Threads:  the caller holds the shard's lock for everything but init, deinit and reading.
 * Limits:   the table's bounds (usage); at most SECOND_CHANCES moves before an eviction evicts, so
 *           that an insert costs O(1) whatever the readers did.
 * Errors:   no room and no memory are enums.
 * Not here: which shard a key is in, what is answered (table).
 *
 * Eviction is S3-FIFO (Yang et al., SOSP'23): new keys enter `small`, a tenth of the shard; what
 * was read twice there moves to `main`, the rest leaves and is remembered as a ghost; a ghost that
 * comes back enters `main`. So a key seen once never pushes out one that is read again and again.
 * Negatives (ABSENT, DENIED) have a queue and a share of their own: a flood of unknown keys costs
 * positives nothing as long as they fill no more than the other 7/8. */
#ifndef HGI_STORAGE_TABLE_SHARD_H
#define HGI_STORAGE_TABLE_SHARD_H

#include "base/lock.h"
#include "base/metric.h"
#include "storage/flat/reader.h"
#include "storage/table/index.h"
#include "storage/table/usage.h"

/* What the shards of a table share. */
struct hgi_ground {
    const struct hgi_allocator *allocator;
    struct hgi_metrics *metrics;
    struct hgi_region region;
    struct hgi_reader reader; /* of the region's memory, with its heat */
    struct hgi_tags tags;
    struct hgi_usage usage;
};

/* Items by their places, oldest to newest. */
struct hgi_line {
    uint32_t oldest;
    uint32_t newest;
    size_t count;
};

struct hgi_shard {
    struct hgi_lock lock;
    /* set once */
    struct hgi_ground *ground;
    size_t ghost_mask;
    struct hgi_front_shard *front; /* what readers see of it */
    struct hgi_index index;
    /* guarded by the shard lock */
    struct hgi_line lines[HGI_QUEUE_COUNT];
    uint32_t *ghosts;
    size_t live; /* items born since the last clear */
    size_t live_negatives;
    size_t unsaved;    /* items to be saved */
    size_t unsaved_at; /* the bucket to look for them next */
    size_t sweep_at;
    uint32_t serial_last;
};

/* The `number`-th of them. `share`: how many entries it will hold, about; it remembers as many
 * evicted ones. */
HG_NODISCARD bool hgi_shard_init(struct hgi_shard *shard, struct hgi_ground *ground, size_t number,
                                 size_t share);
/* Wipes and frees every item. */
void hgi_shard_deinit(struct hgi_shard *shard);

/* What the clear and the invalidations of its tags make of an item. */
static inline struct hgi_standing hgi_shard_judge(const struct hgi_shard *shard,
                                                  const struct hgi_view *view)
{
    const struct hgi_reader *reader = &shard->ground->reader;

    return hgi_reader_judge(&reader->memory, reader->front, shard->front, view);
}

/* Puts a copy of the entry in place of the key's item `old` (0: none), making room in this shard
 * first. `old` is gone in any case. TAKEN: *ret_place is there. NONE: it does not fit the bounds,
 * or no memory. IF_...: this shard has nothing that could leave, another may. */
HG_NODISCARD enum hgi_room hgi_shard_replace(struct hgi_shard *shard, uint32_t old, uint64_t hash,
                                             const struct hgi_entry *entry, uint32_t *ret_place)
    HGI_REQUIRES(shard);
/* Gives the item the view's times and marks. False: no memory to do so. */
HG_NODISCARD bool hgi_shard_edit(struct hgi_shard *shard, uint64_t hash, uint32_t place,
                                 const struct hgi_view *view) HGI_REQUIRES(shard);
/* Evicts what `room` asks for. False: there is none of it here. */
bool hgi_shard_evict(struct hgi_shard *shard, enum hgi_room room) HGI_REQUIRES(shard);
/* Takes the item out, wipes and frees it. */
void hgi_shard_drop(struct hgi_shard *shard, uint64_t hash, uint32_t place) HGI_REQUIRES(shard);
void hgi_shard_set_unsaved(struct hgi_shard *shard, uint64_t hash, uint32_t place, bool is_unsaved)
    HGI_REQUIRES(shard);
/* The same without its bucket's mark. */
void hgi_shard_count_unsaved(struct hgi_shard *shard, uint32_t place, bool is_unsaved)
    HGI_REQUIRES(shard);

#endif
