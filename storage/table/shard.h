/* SPDX-License-Identifier: Apache-2.0 */
/* shard: one lock's part of a table: its items, its eviction queues, its bounds.
 * Owns:     its items.
 * Threads:  the caller holds the shard's lock for everything but init and deinit.
 * Limits:   the table's bounds (usage); at most SECOND_CHANCES moves before an eviction
 * evicts, so that an insert costs O(1) whatever the readers did.
 * Errors:   no room and no memory are enums.
 * Not here: which shard a key is in, copying in and out (table).
 *
 * Eviction is S3-FIFO (Yang et al., SOSP'23): new keys enter `small`, a tenth of the shard; what
 * was read twice there moves to `main`, the rest leaves and is remembered as a ghost; a ghost that
 * comes back enters `main`. So a key seen once never pushes out one that is read again and again.
 * Negatives (ABSENT, DENIED) have a queue and a share of their own: a flood of unknown keys costs
 * positives nothing as long as they fill no more than the other 7/8. */
#ifndef HGI_STORAGE_TABLE_SHARD_H
#define HGI_STORAGE_TABLE_SHARD_H

#include "base/list.h"
#include "base/lock.h"
#include "base/map.h"
#include "storage/table/table.h"
#include "storage/table/tag.h"
#include "storage/table/usage.h"

enum hgi_queue { HGI_QUEUE_SMALL, HGI_QUEUE_MAIN, HGI_QUEUE_NEGATIVE, HGI_QUEUE_COUNT };

/* An entry at rest: header, key, value, etag in one allocation. */
struct hgi_item {
    struct hgi_map_node map;
    struct hgi_node queue_node;
    struct hgi_node unsaved_node;
    uint64_t serial; /* in its shard, so among all items its key has had */
    uint64_t born;
    int64_t published_ms;
    int64_t ttl_ms;
    int64_t stale_ttl_ms;
    int64_t keep_ms;
    int64_t load_ms;
    int64_t expires_wall_ms;
    int64_t expires_boot_ms;
    int64_t refresh_after_ms;
    int64_t refresh_backoff_ms;
    uint32_t key_len;
    uint32_t value_len;
    uint16_t etag_len;
    uint8_t outcome;
    uint8_t queue;
    uint8_t heat; /* reads since it was last judged, up to HEAT_MAX */
    uint8_t tag_count;
    bool is_softened;       /* marked stale by an invalidation of its key */
    bool is_refused;        /* why it waits for its next refresh */
    struct hgi_tag *tags[]; /* tag_count of them, then the bytes of key, value and etag */
};

struct hgi_shard {
    struct hgi_lock lock;
    /* set once */
    const struct hgi_allocator *allocator;
    struct hgi_metrics *metrics;
    struct hgi_tags *tags; /* the table's, like the usage */
    struct hgi_usage *usage;
    size_t ghost_mask;
    /* guarded by the shard lock */
    struct hgi_map map;
    struct hgi_node queues[HGI_QUEUE_COUNT];
    size_t queue_counts[HGI_QUEUE_COUNT];
    struct hgi_node unsaved;
    uint32_t *ghosts;
    uint64_t cleared; /* items born before this are gone */
    size_t live;      /* items born since */
    size_t live_negatives;
    size_t sweep_bucket;
    uint64_t serial_last;
};

/* `share`: how many entries it will hold, about; it remembers as many evicted ones. */
HG_NODISCARD bool hgi_shard_init(struct hgi_shard *shard, const struct hgi_allocator *allocator,
                                 size_t share, struct hgi_metrics *metrics, struct hgi_tags *tags,
                                 struct hgi_usage *usage);
/* Wipes and frees every item. */
void hgi_shard_deinit(struct hgi_shard *shard);

/* The item of the key, cleared or not; NULL: none. */
struct hgi_item *hgi_shard_find(const struct hgi_shard *shard, uint64_t hash, struct hg_slice key)
    HGI_REQUIRES(shard);
/* Born before the last clear. */
bool hgi_item_is_cleared(const struct hgi_shard *shard, const struct hgi_item *item)
    HGI_REQUIRES(shard);
/* Cleared, or covered by a hard invalidation of one of its tags. */
bool hgi_item_is_dead(const struct hgi_shard *shard, const struct hgi_item *item)
    HGI_REQUIRES(shard);
/* Marked stale by a soft invalidation of its key or of one of its tags. */
bool hgi_item_is_softened(const struct hgi_shard *shard, const struct hgi_item *item)
    HGI_REQUIRES(shard);
/* May not be served to anybody any more. */
bool hgi_item_is_over(const struct hgi_item *item, const struct hgi_now *now);
struct hg_slice hgi_item_key(const struct hgi_item *item);
struct hg_slice hgi_item_value(const struct hgi_item *item);
struct hg_slice hgi_item_etag(const struct hgi_item *item);

/* Puts a copy of the entry in place of `old` (NULL: none), making room in this shard first. `old`
 * is gone in any case. TAKEN: *ret_item is there. NONE: it does not fit the bounds, or no memory.
 * IF_...: this shard has nothing that could leave, another may. */
HG_NODISCARD enum hgi_room hgi_shard_replace(struct hgi_shard *shard, struct hgi_item *old,
                                             uint64_t hash, const struct hgi_entry *entry,
                                             struct hgi_item **ret_item) HGI_REQUIRES(shard);
/* Evicts what `room` asks for. False: there is none of it here. */
bool hgi_shard_evict(struct hgi_shard *shard, enum hgi_room room) HGI_REQUIRES(shard);
/* Takes the item out, wipes and frees it. */
void hgi_shard_drop(struct hgi_shard *shard, struct hgi_item *item) HGI_REQUIRES(shard);
/* When it began and when it ends. */
void hgi_item_set_life(struct hgi_item *item, const struct hgi_entry *entry);
/* Was read: counts towards staying. */
void hgi_item_touch(struct hgi_item *item);

#endif
