/* SPDX-License-Identifier: Apache-2.0 */
/* What is still to be saved, as table.h declares it. */
#include "inside.h"

#include "base/check.h"

static bool batch_add(struct hgi_table *table, struct hgi_batch *batch, const struct hgi_view *view)
{
    struct hg_slice tags[HGI_TAGS_MAX];
    struct hgi_entry entry = {
        .tags = tags,
        .tag_count = view->tag_count,
        .key = view->key,
        .value = view->value,
        .etag = view->etag,
        .outcome = view->outcome,
        .born = view->born,
        .published_ms = view->published_ms,
        .ttl_ms = view->ttl_ms,
        .stale_ttl_ms = view->stale_ttl_ms,
        .keep_ms = view->keep_ms,
        .load_ms = view->load_ms,
        .expires_wall_ms = view->expires_wall_ms,
        .expires_boot_ms = view->expires_boot_ms,
    };

    hgi_item_tag_names(&table->ground.tags, view, tags);
    return hgi_batch_add(batch, &entry);
}

/* False: the batch is full. */
static bool take_unsaved(struct hgi_table *table, struct hgi_shard *shard, uint32_t place,
                         struct hgi_batch *batch) HGI_REQUIRES(shard)
{
    struct hgi_standing standing;
    struct hgi_view view;

    if (!(hgi_item_owner(&table->ground.region, place) & HGI_OWNER_UNSAVED)) {
        return true;
    }
    HGI_BUG_ON(!hgi_view_read(&table->ground.region.memory, place, &view));
    standing = hgi_shard_judge(shard, &view);
    /* A softened one would come back fresh: the file does not know of the mark. */
    if (!standing.is_dead && !standing.is_softened && !batch_add(table, batch, &view)) {
        return false;
    }
    hgi_shard_set_unsaved(shard, hgi_table_hash(table, view.key), place, false);
    return true;
}

/* False: the batch is full. Goes on where it stopped. */
static bool take_from(struct hgi_table *table, struct hgi_shard *shard, struct hgi_batch *batch)
    HGI_REQUIRES(shard)
{
    uint32_t places[HGI_BUCKET_ITEMS_MAX];

    for (size_t left = hgi_index_buckets(&shard->index); left > 0 && shard->unsaved > 0; left--) {
        size_t at = shard->unsaved_at % hgi_index_buckets(&shard->index);

        if (hgi_index_take_unsaved(&shard->index, at)) {
            size_t count = hgi_index_items(&shard->index, at, places);

            for (size_t i = 0; i < count; i++) {
                if (!take_unsaved(table, shard, places[i], batch)) {
                    hgi_index_mark_bucket(&shard->index, at);
                    return false;
                }
            }
        }
        shard->unsaved_at = at + 1;
    }
    return true;
}

bool hgi_table_take_unsaved(struct hgi_table *table, struct hgi_batch *ret_batch)
{
    bool has_room = true;

    hgi_batch_reset(ret_batch);
    for (size_t i = 0; i < table->shard_count && has_room; i++) {
        struct hgi_shard *shard = &table->shards[i];

        hgi_lock_shard(&shard->lock);
        has_room = take_from(table, shard, ret_batch);
        hgi_unlock_shard(&shard->lock);
    }
    return ret_batch->count > 0;
}

void hgi_table_mark_unsaved(struct hgi_table *table)
{
    uint32_t places[HGI_BUCKET_ITEMS_MAX];

    for (size_t i = 0; i < table->shard_count; i++) {
        struct hgi_shard *shard = &table->shards[i];

        hgi_lock_shard(&shard->lock);
        for (size_t b = 0; b < hgi_index_buckets(&shard->index); b++) {
            size_t count = hgi_index_items(&shard->index, b, places);

            for (size_t k = 0; k < count; k++) {
                hgi_shard_count_unsaved(shard, places[k], true);
            }
            hgi_index_mark_bucket(&shard->index, b);
        }
        hgi_unlock_shard(&shard->lock);
    }
}
