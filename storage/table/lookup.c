/* SPDX-License-Identifier: Apache-2.0 */
/* Reading, as table.h declares it. */
#include "inside.h"

/* As one of the writers: what is over goes. */
static enum hgi_found look_locked(struct hgi_table *table, struct hgi_shard *shard,
                                  const struct hgi_lookup *lookup)
{
    enum hgi_found found = HGI_MISS;
    struct hgi_view view;
    uint32_t place;

    hgi_lock_shard(&shard->lock);
    place = hgi_index_find(&shard->index, lookup->hash, lookup->key, &view);
    if (place && hgi_reader_look_at(&table->ground.reader, lookup, place, &view, &found) ==
                     HGI_READER_OVER) {
        hgi_metric_add(table->ground.metrics, HGI_METRIC_expired, 1);
        hgi_shard_drop(shard, lookup->hash, place);
    }
    hgi_unlock_shard(&shard->lock);
    return found;
}

enum hgi_found hgi_table_lookup_hashed(struct hgi_table *table, uint64_t hash, struct hg_slice key,
                                       int64_t max_age_ms, const struct hgi_now *now,
                                       struct hg_bytes *ret_value,
                                       struct hgi_found_entry *ret_entry)
{
    const struct hgi_lookup lookup = {key, hash, max_age_ms, SIZE_MAX, now, ret_value, ret_entry};
    enum hgi_found found;

    if (hgi_reader_look(&table->ground.reader, &lookup, &found) != HGI_READER_ANSWERED) {
        return look_locked(table, hgi_table_shard(table, hash), &lookup);
    }
    return found;
}

enum hgi_found hgi_table_lookup(struct hgi_table *table, struct hg_slice key, int64_t max_age_ms,
                                const struct hgi_now *now, struct hg_bytes *ret_value,
                                struct hgi_found_entry *ret_entry)
{
    return hgi_table_lookup_hashed(table, hgi_table_hash(table, key), key, max_age_ms, now,
                                   ret_value, ret_entry);
}

void hgi_table_fetch(struct hgi_table *table, const struct hg_slice *keys, size_t count,
                     uint64_t *ret_hashes)
{
    hgi_reader_fetch(&table->ground.reader, keys, count, ret_hashes);
}
