/* SPDX-License-Identifier: Apache-2.0 */
/* Other bounds and shorter lifetimes for a table that is in use. */
#include "table.h"

#include "base/check.h"
#include "inside.h"

#define EVICTIONS_MAX 64u /* under one lock, before another shard has its turn */

bool hgi_table_takes_bounds(const struct hgi_table *table, const struct hgi_table_bounds *bounds)
{
    return hgi_table_memory_size(bounds) <= table->ground.region.memory.size;
}

/* True: something went. */
static bool shrink_shard(struct hgi_table *table, struct hgi_shard *shard)
{
    enum hgi_room excess = hgi_usage_excess(&table->ground.usage);
    size_t gone = 0;

    hgi_lock_shard(&shard->lock);
    while (excess != HGI_ROOM_TAKEN && gone < EVICTIONS_MAX && hgi_shard_evict(shard, excess)) {
        gone++;
        excess = hgi_usage_excess(&table->ground.usage);
    }
    hgi_unlock_shard(&shard->lock);
    return gone > 0;
}

void hgi_table_set_bounds(struct hgi_table *table, const struct hgi_table_bounds *bounds)
{
    bool has_shrunk = true;

    HGI_BUG_ON(!hgi_table_takes_bounds(table, bounds));
    hgi_usage_set_bounds(&table->ground.usage, bounds->max_entries, bounds->max_bytes);
    while (has_shrunk && hgi_usage_excess(&table->ground.usage) != HGI_ROOM_TAKEN) {
        has_shrunk = false;
        for (size_t i = 0; i < table->shard_count; i++) {
            has_shrunk = shrink_shard(table, &table->shards[i]) || has_shrunk;
        }
    }
}

static bool cut(int64_t *time_ms, int64_t most_ms)
{
    bool is_longer = *time_ms > most_ms;

    if (is_longer) {
        *time_ms = most_ms;
    }
    return is_longer;
}

static bool cut_view(struct hgi_view *view, const struct hgi_table_lifetimes *most)
{
    bool is_value = view->outcome == HG_VALUE;
    bool is_cut = cut(&view->ttl_ms, is_value ? most->ttl_ms : most->negative_ttl_ms);

    is_cut =
        cut(&view->stale_ttl_ms, is_value ? most->stale_ttl_ms : most->negative_ttl_ms) || is_cut;
    return cut(&view->keep_ms, is_value ? most->keep_ms : most->negative_ttl_ms) || is_cut;
}

static void shorten_bucket(struct hgi_table *table, struct hgi_shard *shard, size_t bucket,
                           const struct hgi_table_lifetimes *most) HGI_REQUIRES(shard)
{
    uint32_t places[HGI_BUCKET_ITEMS_MAX];
    size_t count = hgi_index_items(&shard->index, bucket, places);

    for (size_t i = 0; i < count; i++) {
        struct hgi_view view;
        uint64_t hash;

        HGI_BUG_ON(!hgi_view_read(&table->ground.region.memory, places[i], &view));
        hash = hgi_table_hash(table, view.key);
        /* Shorter times take no more room; should it find none all the same, gone is safer. */
        if (cut_view(&view, most) && !hgi_shard_edit(shard, hash, places[i], &view)) {
            hgi_shard_drop(shard, hash, places[i]);
        }
    }
}

void hgi_table_shorten(struct hgi_table *table, const struct hgi_table_lifetimes *most)
{
    for (size_t i = 0; i < table->shard_count; i++) {
        struct hgi_shard *shard = &table->shards[i];

        hgi_lock_shard(&shard->lock);
        for (size_t bucket = 0; bucket < hgi_index_buckets(&shard->index); bucket++) {
            shorten_bucket(table, shard, bucket, most);
        }
        hgi_unlock_shard(&shard->lock);
    }
}
