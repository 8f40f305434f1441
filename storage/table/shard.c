/* SPDX-License-Identifier: Apache-2.0 */
#include "shard.h"

#include <string.h>

#include "base/check.h"

#define SECOND_CHANCES  64u /* moves an eviction may make before it evicts what is at hand */
#define HEAT_MAX        3u
#define HEAT_TO_PROMOTE 2u
#define SMALL_SHARE     10u /* small holds 1/10 of the positives */

bool hgi_shard_init(struct hgi_shard *shard, const struct hgi_allocator *allocator, size_t share,
                    struct hgi_metrics *metrics, struct hgi_tags *tags, struct hgi_usage *usage)
{
    size_t ghost_count = 16;

    memset(shard, 0, sizeof(*shard));
    shard->allocator = allocator;
    shard->metrics = metrics;
    shard->tags = tags;
    shard->usage = usage;
    for (size_t i = 0; i < HGI_QUEUE_COUNT; i++) {
        hgi_list_init(&shard->queues[i]);
    }
    hgi_list_init(&shard->unsaved);
    while (ghost_count < share) {
        ghost_count *= 2;
    }
    shard->ghost_mask = ghost_count - 1;
    shard->ghosts = hgi_alloc(allocator, ghost_count * sizeof(*shard->ghosts));
    if (!shard->ghosts) {
        return false;
    }
    if (!hgi_map_init(&shard->map, allocator)) {
        hgi_free(allocator, shard->ghosts);
        shard->ghosts = NULL;
        return false;
    }
    hgi_lock_init(&shard->lock);
    return true;
}

struct hg_slice hgi_item_key(const struct hgi_item *item)
{
    return hg_slice_of(item->tags + item->tag_count, item->key_len);
}

struct hg_slice hgi_item_value(const struct hgi_item *item)
{
    const unsigned char *bytes = (const unsigned char *)(item->tags + item->tag_count);

    return hg_slice_of(bytes + item->key_len, item->value_len);
}

struct hg_slice hgi_item_etag(const struct hgi_item *item)
{
    const unsigned char *bytes = (const unsigned char *)(item->tags + item->tag_count);

    return hg_slice_of(bytes + item->key_len + item->value_len, item->etag_len);
}

static size_t bytes_of(const struct hgi_item *item)
{
    return (size_t)item->key_len + item->value_len + item->etag_len;
}

static size_t item_size(size_t tag_count, size_t bytes_len)
{
    return sizeof(struct hgi_item) + tag_count * sizeof(struct hgi_tag *) + bytes_len;
}

static size_t entry_size(const struct hgi_entry *entry)
{
    return item_size(entry->tag_count, entry->key.len + entry->value.len + entry->etag.len);
}

static void item_free(struct hgi_shard *shard, struct hgi_item *item)
{
    /* Keys and values may be credentials. */
    explicit_bzero((void *)(item->tags + item->tag_count), bytes_of(item));
    for (size_t i = 0; i < item->tag_count; i++) {
        hgi_tags_release(shard->tags, item->tags[i]);
    }
    hgi_free(shard->allocator, item);
}

void hgi_shard_deinit(struct hgi_shard *shard)
{
    for (size_t i = 0; i < HGI_QUEUE_COUNT; i++) {
        struct hgi_node *node;

        while ((node = hgi_list_pop_front(&shard->queues[i])) != NULL) {
            item_free(shard, HGI_CONTAINER(node, struct hgi_item, queue_node));
        }
    }
    hgi_map_deinit(&shard->map);
    hgi_free(shard->allocator, shard->ghosts);
    hgi_lock_deinit(&shard->lock);
}

struct hgi_item *hgi_shard_find(const struct hgi_shard *shard, uint64_t hash, struct hg_slice key)
{
    struct hgi_map_node *node = hgi_map_find(&shard->map, hash);

    while (node) {
        struct hgi_item *item = HGI_CONTAINER(node, struct hgi_item, map);

        if (hgi_slice_equal(hgi_item_key(item), key)) {
            return item;
        }
        node = hgi_map_find_next(node);
    }
    return NULL;
}

bool hgi_item_is_cleared(const struct hgi_shard *shard, const struct hgi_item *item)
{
    return item->born < shard->cleared;
}

bool hgi_item_is_dead(const struct hgi_shard *shard, const struct hgi_item *item)
{
    if (hgi_item_is_cleared(shard, item)) {
        return true;
    }
    if (!item->tag_count || item->born >= hgi_tags_last(shard->tags)) {
        return false;
    }
    for (size_t i = 0; i < item->tag_count; i++) {
        if (item->born < hgi_tag_hard(item->tags[i])) {
            return true;
        }
    }
    return false;
}

bool hgi_item_is_softened(const struct hgi_shard *shard, const struct hgi_item *item)
{
    if (item->is_softened) {
        return true;
    }
    if (item->born >= hgi_tags_last(shard->tags)) {
        return false;
    }
    for (size_t i = 0; i < item->tag_count; i++) {
        if (item->born < hgi_tag_soft(item->tags[i])) {
            return true;
        }
    }
    return false;
}

bool hgi_item_is_over(const struct hgi_item *item, const struct hgi_now *now)
{
    if (item->expires_wall_ms &&
        (now->wall_ms >= item->expires_wall_ms || now->boot_ms >= item->expires_boot_ms)) {
        return true;
    }
    return now->boot_ms - item->published_ms > item->keep_ms;
}

void hgi_item_touch(struct hgi_item *item)
{
    if (item->heat < HEAT_MAX) {
        item->heat++;
    }
}

static void queue_in(struct hgi_shard *shard, struct hgi_item *item, enum hgi_queue queue)
{
    item->queue = (uint8_t)queue;
    hgi_list_push_front(&shard->queues[queue], &item->queue_node);
    shard->queue_counts[queue]++;
}

static void queue_out(struct hgi_shard *shard, struct hgi_item *item)
{
    hgi_list_remove(&item->queue_node);
    shard->queue_counts[item->queue]--;
}

void hgi_shard_drop(struct hgi_shard *shard, struct hgi_item *item)
{
    size_t size = item_size(item->tag_count, bytes_of(item));
    bool is_negative = item->queue == HGI_QUEUE_NEGATIVE;

    if (!hgi_item_is_cleared(shard, item)) {
        shard->live--;
        shard->live_negatives -= is_negative;
    }
    hgi_usage_give_back(shard->usage, size, is_negative);
    queue_out(shard, item);
    hgi_list_remove(&item->unsaved_node);
    hgi_map_remove(&shard->map, &item->map);
    item_free(shard, item);
}

/* A ghost is 32 bits of the hash in a slot of its own: a collision only gives a stranger a better
 * start. */
static uint32_t *ghost_slot(struct hgi_shard *shard, uint64_t hash)
{
    return &shard->ghosts[hash & shard->ghost_mask];
}

static uint32_t ghost_print(uint64_t hash)
{
    return (uint32_t)(hash >> 32) | 1u;
}

static struct hgi_item *oldest(struct hgi_shard *shard, enum hgi_queue queue)
{
    struct hgi_node *list = &shard->queues[queue];

    return hgi_list_is_empty(list) ? NULL : HGI_CONTAINER(list->prev, struct hgi_item, queue_node);
}

static void evict(struct hgi_shard *shard, struct hgi_item *item) HGI_REQUIRES(shard)
{
    if (!hgi_item_is_cleared(shard, item)) {
        if (item->queue == HGI_QUEUE_SMALL) {
            *ghost_slot(shard, item->map.hash) = ghost_print(item->map.hash);
        }
        hgi_metric_add(shard->metrics, HGI_METRIC_evicted, 1);
    }
    hgi_shard_drop(shard, item);
}

/* True: one positive was evicted. */
static bool evict_positive(struct hgi_shard *shard) HGI_REQUIRES(shard)
{
    for (unsigned moves = 0;; moves++) {
        size_t small_count = shard->queue_counts[HGI_QUEUE_SMALL];
        size_t main_count = shard->queue_counts[HGI_QUEUE_MAIN];
        bool from_small = small_count > 0 && (main_count == 0 || small_count * SMALL_SHARE >=
                                                                     small_count + main_count);
        struct hgi_item *item = oldest(shard, from_small ? HGI_QUEUE_SMALL : HGI_QUEUE_MAIN);

        if (!item) {
            return false;
        }
        if (moves >= SECOND_CHANCES || hgi_item_is_cleared(shard, item) ||
            item->heat < (from_small ? HEAT_TO_PROMOTE : 1u)) {
            evict(shard, item);
            return true;
        }
        queue_out(shard, item);
        item->heat = from_small ? 0 : (uint8_t)(item->heat - 1);
        queue_in(shard, item, HGI_QUEUE_MAIN);
    }
}

static bool evict_negative(struct hgi_shard *shard) HGI_REQUIRES(shard)
{
    struct hgi_item *item = oldest(shard, HGI_QUEUE_NEGATIVE);

    if (!item) {
        return false;
    }
    evict(shard, item);
    return true;
}

bool hgi_shard_evict(struct hgi_shard *shard, enum hgi_room room)
{
    if (room == HGI_ROOM_IF_NEGATIVE) {
        return evict_negative(shard);
    }
    return evict_positive(shard) || evict_negative(shard);
}

static enum hgi_room make_room(struct hgi_shard *shard, size_t size, bool is_negative)
    HGI_REQUIRES(shard)
{
    enum hgi_room room;

    do {
        room = hgi_usage_take(shard->usage, size, is_negative);
    } while (room != HGI_ROOM_TAKEN && room != HGI_ROOM_NONE && hgi_shard_evict(shard, room));
    return room;
}

/* Every tag of the entry, or none. */
static bool hold_tags(struct hgi_shard *shard, struct hgi_item *item, const struct hgi_entry *entry)
{
    for (size_t i = 0; i < entry->tag_count; i++) {
        item->tags[i] = hgi_tags_hold(shard->tags, entry->tags[i]);
        if (!item->tags[i]) {
            while (i-- > 0) {
                hgi_tags_release(shard->tags, item->tags[i]);
            }
            return false;
        }
    }
    item->tag_count = (uint8_t)entry->tag_count;
    return true;
}

void hgi_item_set_life(struct hgi_item *item, const struct hgi_entry *entry)
{
    item->born = entry->born;
    item->published_ms = entry->published_ms;
    item->ttl_ms = entry->ttl_ms;
    item->stale_ttl_ms = entry->stale_ttl_ms;
    item->keep_ms = entry->keep_ms > entry->stale_ttl_ms ? entry->keep_ms : entry->stale_ttl_ms;
    item->load_ms = entry->load_ms;
    item->expires_wall_ms = entry->expires_wall_ms;
    item->expires_boot_ms = entry->expires_boot_ms;
}

static struct hgi_item *item_new(struct hgi_shard *shard, const struct hgi_entry *entry)
{
    struct hgi_item *item = hgi_resize(shard->allocator, NULL, entry_size(entry));
    unsigned char *bytes;

    if (!item) {
        return NULL;
    }
    memset(item, 0, sizeof(*item));
    if (!hold_tags(shard, item, entry)) {
        hgi_free(shard->allocator, item);
        return NULL;
    }
    hgi_list_init(&item->queue_node);
    hgi_list_init(&item->unsaved_node);
    item->serial = ++shard->serial_last;
    hgi_item_set_life(item, entry);
    item->outcome = (uint8_t)entry->outcome;
    item->key_len = (uint32_t)entry->key.len;
    item->value_len = (uint32_t)entry->value.len;
    item->etag_len = (uint16_t)entry->etag.len;
    bytes = (unsigned char *)(item->tags + item->tag_count);
    memcpy(bytes, entry->key.data, entry->key.len);
    if (entry->value.len) {
        memcpy(bytes + entry->key.len, entry->value.data, entry->value.len);
    }
    if (entry->etag.len) {
        memcpy(bytes + entry->key.len + entry->value.len, entry->etag.data, entry->etag.len);
    }
    return item;
}

enum hgi_room hgi_shard_replace(struct hgi_shard *shard, struct hgi_item *old, uint64_t hash,
                                const struct hgi_entry *entry, struct hgi_item **ret_item)
{
    bool is_negative = entry->outcome != HG_VALUE;
    size_t size = entry_size(entry);
    enum hgi_queue queue = is_negative ? HGI_QUEUE_NEGATIVE : HGI_QUEUE_SMALL;
    struct hgi_item *item = NULL;
    enum hgi_room room;
    uint8_t heat = 0;

    if (old) {
        /* A refreshed value keeps the standing its key has earned. */
        if (!is_negative && old->queue == HGI_QUEUE_MAIN) {
            queue = HGI_QUEUE_MAIN;
        }
        heat = old->heat;
        hgi_shard_drop(shard, old);
    } else if (!is_negative && *ghost_slot(shard, hash) == ghost_print(hash)) {
        queue = HGI_QUEUE_MAIN;
    }
    room = make_room(shard, size, is_negative);
    if (room != HGI_ROOM_TAKEN) {
        return room;
    }
    item = item_new(shard, entry);
    if (!item) {
        hgi_usage_give_back(shard->usage, size, is_negative);
        return HGI_ROOM_NONE;
    }
    item->heat = heat;
    hgi_map_insert(&shard->map, &item->map, hash);
    queue_in(shard, item, queue);
    shard->live++;
    shard->live_negatives += is_negative;
    *ret_item = item;
    return HGI_ROOM_TAKEN;
}
