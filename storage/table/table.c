/* SPDX-License-Identifier: Apache-2.0 */
#include "table.h"

#include <string.h>

#include "base/check.h"
#include "shard.h"

#define SHARDS_MAX        16u
#define SHARD_ENTRIES_MIN 1024u /* fewer, and one lock is no hindrance while exact bounds are */
#define SHARD_BYTES_MIN   (1u << 20) /* the same */

struct hgi_table {
    const struct hgi_allocator *allocator;
    struct hgi_metrics *metrics;
    struct hgi_hash_key hash_key;
    size_t shard_count; /* a power of two */
    _Atomic size_t sweep_shard;
    _Atomic bool has_discarded;
    struct hgi_tags tags;
    struct hgi_usage usage;
    struct hgi_shard shards[];
};

static size_t shard_count_for(const struct hgi_table_bounds *bounds)
{
    size_t count = 1;

    while (count < SHARDS_MAX && bounds->max_entries / (count * 2) >= SHARD_ENTRIES_MIN &&
           bounds->max_bytes / (count * 2) >= SHARD_BYTES_MIN) {
        count *= 2;
    }
    return count;
}

struct hgi_table *hgi_table_create(const struct hgi_allocator *allocator,
                                   const struct hgi_table_bounds *bounds,
                                   struct hgi_metrics *metrics)
{
    size_t count = shard_count_for(bounds);
    struct hgi_table *table =
        hgi_alloc(allocator, sizeof(*table) + count * sizeof(table->shards[0]));

    if (!table) {
        return NULL;
    }
    table->allocator = allocator;
    table->metrics = metrics;
    table->hash_key = hgi_hash_key_new();
    hgi_usage_init(&table->usage, bounds->max_entries, bounds->max_bytes);
    if (!hgi_tags_init(&table->tags, allocator)) {
        hgi_free(allocator, table);
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        if (!hgi_shard_init(&table->shards[i], allocator, bounds->max_entries / count, metrics,
                            &table->tags, &table->usage)) {
            hgi_table_destroy(&table);
            return NULL;
        }
        table->shard_count++;
    }
    return table;
}

void hgi_table_destroy(struct hgi_table **table)
{
    if (!*table) {
        return;
    }
    for (size_t i = 0; i < (*table)->shard_count; i++) {
        hgi_shard_deinit(&(*table)->shards[i]);
    }
    hgi_tags_deinit(&(*table)->tags);
    hgi_free((*table)->allocator, *table);
    *table = NULL;
}

/* The map in a shard uses the low bits of the hash, so the shard is named by high ones. */
static struct hgi_shard *shard_of(struct hgi_table *table, uint64_t hash)
{
    return &table->shards[(hash >> 56) & (table->shard_count - 1)];
}

static int64_t lesser(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t left_until(int64_t limit_ms, int64_t age_ms, const struct hgi_item *item,
                          const struct hgi_now *now)
{
    int64_t left = limit_ms - age_ms;

    if (item->expires_wall_ms) {
        left = lesser(left, item->expires_wall_ms - now->wall_ms);
        left = lesser(left, item->expires_boot_ms - now->boot_ms);
    }
    return left > 0 ? left : 0;
}

static void describe(const struct hgi_item *item, int64_t age_ms, const struct hgi_now *now,
                     struct hgi_found_entry *ret_entry)
{
    ret_entry->outcome = (enum hg_outcome)item->outcome;
    ret_entry->born = item->born;
    ret_entry->is_softened = false;
    ret_entry->age_ms = age_ms;
    ret_entry->ttl_ms = item->ttl_ms;
    ret_entry->load_ms = item->load_ms;
    ret_entry->ttl_left_ms = left_until(item->ttl_ms, age_ms, item, now);
    ret_entry->stale_left_ms = left_until(item->stale_ttl_ms, age_ms, item, now);
    ret_entry->refresh_after_ms = item->refresh_after_ms;
    ret_entry->refresh_backoff_ms = item->refresh_backoff_ms;
    ret_entry->is_refused = item->is_refused;
}

static enum hgi_found judge(const struct hgi_item *item, bool is_softened, int64_t age_ms,
                            int64_t max_age_ms)
{
    if (!is_softened && age_ms <= item->ttl_ms && (max_age_ms < 0 || age_ms <= max_age_ms)) {
        return HGI_FRESH;
    }
    if (item->outcome != HG_VALUE) {
        return HGI_MISS;
    }
    return age_ms <= item->stale_ttl_ms ? HGI_STALE : HGI_KEPT;
}

enum hgi_found hgi_table_lookup(struct hgi_table *table, struct hg_slice key, int64_t max_age_ms,
                                const struct hgi_now *now, struct hg_bytes *ret_value,
                                struct hgi_found_entry *ret_entry)
{
    uint64_t hash = hgi_hash(&table->hash_key, key);
    struct hgi_shard *shard = shard_of(table, hash);
    enum hgi_found found = HGI_MISS;
    struct hgi_item *item;
    bool is_softened;
    int64_t age_ms;

    hgi_lock_shard(&shard->lock);
    item = hgi_shard_find(shard, hash, key);
    if (!item || hgi_item_is_dead(shard, item)) {
        goto out;
    }
    if (hgi_item_is_over(item, now)) {
        hgi_metric_add(table->metrics, HGI_METRIC_expired, 1);
        hgi_shard_drop(shard, item);
        goto out;
    }
    age_ms = now->boot_ms > item->published_ms ? now->boot_ms - item->published_ms : 0;
    is_softened = hgi_item_is_softened(shard, item);
    found = judge(item, is_softened, age_ms, max_age_ms);
    if (found == HGI_MISS) {
        goto out;
    }
    if (ret_value && !hgi_bytes_set(ret_value, hgi_item_value(item))) {
        found = HGI_MISS;
        goto out;
    }
    hgi_item_touch(item);
    describe(item, age_ms, now, ret_entry);
    if (is_softened) {
        ret_entry->is_softened = true;
        ret_entry->ttl_left_ms = 0;
    }
out:
    hgi_unlock_shard(&shard->lock);
    return found;
}

/* `shard` has nothing that could make the room. True: another one had. */
static bool evict_elsewhere(struct hgi_table *table, const struct hgi_shard *shard,
                            enum hgi_room room)
{
    size_t own = (size_t)(shard - table->shards);
    bool is_evicted = false;

    for (size_t i = 1; i < table->shard_count && !is_evicted; i++) {
        struct hgi_shard *other = &table->shards[(own + i) & (table->shard_count - 1)];

        hgi_lock_shard(&other->lock);
        is_evicted = hgi_shard_evict(other, room);
        hgi_unlock_shard(&other->lock);
    }
    return is_evicted;
}

/* *ret_room, unless SUPERSEDED: what is missing for it. */
static enum hgi_insert try_insert(struct hgi_shard *shard, uint64_t hash,
                                  const struct hgi_entry *entry, bool is_saved,
                                  enum hgi_room *ret_room)
{
    enum hgi_insert insert = HGI_SUPERSEDED;
    struct hgi_item *item;

    hgi_lock_shard(&shard->lock);
    item = hgi_shard_find(shard, hash, entry->key);
    if (entry->born >= shard->cleared && (!item || item->born <= entry->born)) {
        *ret_room = hgi_shard_replace(shard, item, hash, entry, &item);
        insert = *ret_room == HGI_ROOM_TAKEN ? HGI_STORED : HGI_NOT_STORED;
    }
    if (insert == HGI_STORED && !is_saved) {
        hgi_list_push_back(&shard->unsaved, &item->unsaved_node);
    }
    hgi_unlock_shard(&shard->lock);
    return insert;
}

enum hgi_insert hgi_table_insert(struct hgi_table *table, const struct hgi_entry *entry,
                                 bool is_saved)
{
    uint64_t hash = hgi_hash(&table->hash_key, entry->key);
    struct hgi_shard *shard = shard_of(table, hash);
    enum hgi_room room = HGI_ROOM_NONE;
    enum hgi_insert insert;

    HGI_COSTLY(entry->outcome != HG_NOT_CACHED);
    /* One shard's lock at a time: what another evicts may be taken by a third, and then it is tried
     * again. */
    do {
        insert = try_insert(shard, hash, entry, is_saved, &room);
    } while (insert == HGI_NOT_STORED && room != HGI_ROOM_NONE &&
             evict_elsewhere(table, shard, room));
    if (insert == HGI_NOT_STORED) {
        hgi_metric_add(table->metrics, HGI_METRIC_not_stored, 1);
        atomic_store_explicit(&table->has_discarded, true, memory_order_release);
    }
    return insert;
}

bool hgi_table_read_old(struct hgi_table *table, struct hg_slice key, const struct hgi_now *now,
                        struct hg_bytes *ret_bytes, struct hgi_old *ret_old)
{
    uint64_t hash = hgi_hash(&table->hash_key, key);
    struct hgi_shard *shard = shard_of(table, hash);
    bool is_copied = false;
    struct hgi_item *item;

    hgi_lock_shard(&shard->lock);
    item = hgi_shard_find(shard, hash, key);
    if (item && item->outcome == HG_VALUE && !hgi_item_is_dead(shard, item) &&
        !hgi_item_is_over(item, now)) {
        is_copied = hgi_bytes_set(ret_bytes, hgi_item_value(item)) &&
                    hgi_bytes_append(ret_bytes, hgi_item_etag(item));
    }
    if (is_copied) {
        ret_old->serial = item->serial;
        ret_old->value = hg_slice_of(ret_bytes->data, item->value_len);
        ret_old->etag = item->etag_len
                            ? hg_slice_of(ret_bytes->data + item->value_len, item->etag_len)
                            : hg_slice_of(NULL, 0);
    }
    hgi_unlock_shard(&shard->lock);
    return is_copied;
}

/* Nothing has ended it since `born`, and nothing covers what is born then. */
static bool can_confirm(const struct hgi_shard *shard, const struct hgi_item *item, uint64_t born,
                        const struct hgi_now *now) HGI_REQUIRES(shard)
{
    if (hgi_item_is_dead(shard, item) || hgi_item_is_over(item, now) || born < shard->cleared ||
        born < item->born) {
        return false;
    }
    for (size_t i = 0; i < item->tag_count; i++) {
        if (born < hgi_tag_hard(item->tags[i]) || born < hgi_tag_soft(item->tags[i])) {
            return false;
        }
    }
    return true;
}

static void confirm(struct hgi_item *item, struct hgi_entry *inout_entry)
{
    if (item->expires_wall_ms &&
        (!inout_entry->expires_wall_ms || item->expires_wall_ms < inout_entry->expires_wall_ms)) {
        inout_entry->expires_wall_ms = item->expires_wall_ms;
        inout_entry->expires_boot_ms = item->expires_boot_ms;
    }
    hgi_item_set_life(item, inout_entry);
    item->refresh_after_ms = 0;
    item->refresh_backoff_ms = 0;
    item->is_refused = false;
    item->is_softened = false;
}

bool hgi_table_rearm(struct hgi_table *table, uint64_t serial, const struct hgi_now *now,
                     struct hgi_entry *inout_entry, struct hg_bytes *ret_value)
{
    uint64_t hash = hgi_hash(&table->hash_key, inout_entry->key);
    struct hgi_shard *shard = shard_of(table, hash);
    bool is_confirmed = false;
    struct hgi_item *item;

    hgi_lock_shard(&shard->lock);
    item = hgi_shard_find(shard, hash, inout_entry->key);
    if (item && item->serial == serial && can_confirm(shard, item, inout_entry->born, now) &&
        (!ret_value || hgi_bytes_set(ret_value, hgi_item_value(item)))) {
        confirm(item, inout_entry);
        if (!hgi_list_is_linked(&item->unsaved_node)) {
            hgi_list_push_back(&shard->unsaved, &item->unsaved_node);
        }
        is_confirmed = true;
    }
    hgi_unlock_shard(&shard->lock);
    return is_confirmed;
}

bool hgi_table_remove(struct hgi_table *table, struct hg_slice key, uint64_t born)
{
    uint64_t hash = hgi_hash(&table->hash_key, key);
    struct hgi_shard *shard = shard_of(table, hash);
    bool was_live = false;
    struct hgi_item *item;

    hgi_lock_shard(&shard->lock);
    item = hgi_shard_find(shard, hash, key);
    if (item && item->born <= born) {
        was_live = !hgi_item_is_dead(shard, item);
        hgi_shard_drop(shard, item);
    }
    hgi_unlock_shard(&shard->lock);
    return was_live;
}

void hgi_table_discard(struct hgi_table *table, struct hg_slice key, uint64_t born)
{
    if (hgi_table_remove(table, key, born)) {
        atomic_store_explicit(&table->has_discarded, true, memory_order_release);
    }
}

bool hgi_table_take_discarded(struct hgi_table *table)
{
    return atomic_exchange_explicit(&table->has_discarded, false, memory_order_acq_rel);
}

bool hgi_table_soften(struct hgi_table *table, struct hg_slice key, uint64_t born)
{
    uint64_t hash = hgi_hash(&table->hash_key, key);
    struct hgi_shard *shard = shard_of(table, hash);
    bool was_live = false;
    struct hgi_item *item;

    hgi_lock_shard(&shard->lock);
    item = hgi_shard_find(shard, hash, key);
    if (item && item->born <= born) {
        was_live = !hgi_item_is_dead(shard, item);
        if (item->outcome == HG_VALUE) {
            item->is_softened = true;
        } else {
            hgi_shard_drop(shard, item);
        }
    }
    hgi_unlock_shard(&shard->lock);
    return was_live;
}

void hgi_table_invalidate_tag(struct hgi_table *table, struct hg_slice tag, uint64_t generation,
                              bool is_soft)
{
    hgi_tags_invalidate(&table->tags, tag, generation, is_soft);
}

uint64_t hgi_table_tag_number(struct hgi_table *table, struct hg_slice tag)
{
    return hgi_tags_number(&table->tags, tag);
}

uint64_t hgi_table_clear(struct hgi_table *table, uint64_t generation)
{
    uint64_t dropped = 0;

    for (size_t i = 0; i < table->shard_count; i++) {
        struct hgi_shard *shard = &table->shards[i];

        hgi_lock_shard(&shard->lock);
        dropped += shard->live;
        shard->live = 0;
        shard->live_negatives = 0;
        shard->cleared = generation;
        hgi_unlock_shard(&shard->lock);
    }
    return dropped;
}

void hgi_table_set_refresh_after(struct hgi_table *table, struct hg_slice key, uint64_t born,
                                 int64_t refresh_after_ms, int64_t refresh_backoff_ms,
                                 bool is_refused)
{
    uint64_t hash = hgi_hash(&table->hash_key, key);
    struct hgi_shard *shard = shard_of(table, hash);
    struct hgi_item *item;

    hgi_lock_shard(&shard->lock);
    item = hgi_shard_find(shard, hash, key);
    if (item && item->born == born) {
        item->refresh_after_ms = refresh_after_ms;
        item->refresh_backoff_ms = refresh_backoff_ms;
        item->is_refused = is_refused;
    }
    hgi_unlock_shard(&shard->lock);
}

static void sweep_item(struct hgi_table *table, struct hgi_shard *shard, struct hgi_item *item,
                       const struct hgi_now *now) HGI_REQUIRES(shard)
{
    if (hgi_item_is_dead(shard, item)) {
        hgi_shard_drop(shard, item);
    } else if (hgi_item_is_over(item, now)) {
        hgi_metric_add(table->metrics, HGI_METRIC_expired, 1);
        hgi_shard_drop(shard, item);
    }
}

void hgi_table_sweep(struct hgi_table *table, const struct hgi_now *now, size_t budget)
{
    size_t index = atomic_fetch_add_explicit(&table->sweep_shard, 1, memory_order_relaxed);
    struct hgi_shard *shard = &table->shards[index & (table->shard_count - 1)];
    size_t looked = 0;

    hgi_lock_shard(&shard->lock);
    for (size_t buckets = shard->map.bucket_count; buckets > 0 && looked < budget; buckets--) {
        struct hgi_map_node *node;

        shard->sweep_bucket = (shard->sweep_bucket + 1) & (shard->map.bucket_count - 1);
        node = hgi_map_bucket(&shard->map, shard->sweep_bucket);
        looked++;
        while (node) {
            struct hgi_map_node *next = node->next;

            sweep_item(table, shard, HGI_CONTAINER(node, struct hgi_item, map), now);
            node = next;
            looked++;
        }
    }
    hgi_unlock_shard(&shard->lock);
}

void hgi_table_stats(struct hgi_table *table, struct hgi_table_stats *ret_stats)
{
    struct hgi_table_stats stats = {.bytes = hgi_usage_bytes(&table->usage)};

    for (size_t i = 0; i < table->shard_count; i++) {
        struct hgi_shard *shard = &table->shards[i];

        hgi_lock_shard(&shard->lock);
        stats.entries += shard->live;
        stats.negatives += shard->live_negatives;
        hgi_unlock_shard(&shard->lock);
    }
    *ret_stats = stats;
}

static bool batch_add(struct hgi_batch *batch, const struct hgi_item *item)
{
    struct hg_slice tags[HGI_TAGS_MAX];
    struct hgi_entry entry = {
        .tags = tags,
        .tag_count = item->tag_count,
        .key = hgi_item_key(item),
        .value = hgi_item_value(item),
        .etag = hgi_item_etag(item),
        .outcome = (enum hg_outcome)item->outcome,
        .born = item->born,
        .published_ms = item->published_ms,
        .ttl_ms = item->ttl_ms,
        .stale_ttl_ms = item->stale_ttl_ms,
        .keep_ms = item->keep_ms,
        .load_ms = item->load_ms,
        .expires_wall_ms = item->expires_wall_ms,
        .expires_boot_ms = item->expires_boot_ms,
    };

    for (size_t i = 0; i < item->tag_count; i++) {
        tags[i] = hg_slice_of(item->tags[i]->name, item->tags[i]->name_len);
    }
    return hgi_batch_add(batch, &entry);
}

bool hgi_table_take_unsaved(struct hgi_table *table, struct hgi_batch *ret_batch)
{
    bool is_full = false;

    hgi_batch_reset(ret_batch);
    for (size_t i = 0; i < table->shard_count && !is_full; i++) {
        struct hgi_shard *shard = &table->shards[i];

        hgi_lock_shard(&shard->lock);
        while (!hgi_list_is_empty(&shard->unsaved)) {
            struct hgi_item *item =
                HGI_CONTAINER(shard->unsaved.next, struct hgi_item, unsaved_node);

            /* A softened one would come back fresh: the file does not know of the mark. */
            if (!hgi_item_is_dead(shard, item) && !hgi_item_is_softened(shard, item) &&
                !batch_add(ret_batch, item)) {
                is_full = true;
                break;
            }
            hgi_list_remove(&item->unsaved_node);
        }
        hgi_unlock_shard(&shard->lock);
    }
    return ret_batch->count > 0;
}

void hgi_table_mark_unsaved(struct hgi_table *table)
{
    for (size_t i = 0; i < table->shard_count; i++) {
        struct hgi_shard *shard = &table->shards[i];

        hgi_lock_shard(&shard->lock);
        for (size_t q = 0; q < HGI_QUEUE_COUNT; q++) {
            struct hgi_node *list = &shard->queues[q];

            for (struct hgi_node *node = list->next; node != list; node = node->next) {
                struct hgi_item *item = HGI_CONTAINER(node, struct hgi_item, queue_node);

                if (!hgi_list_is_linked(&item->unsaved_node)) {
                    hgi_list_push_back(&shard->unsaved, &item->unsaved_node);
                }
            }
        }
        hgi_unlock_shard(&shard->lock);
    }
}
