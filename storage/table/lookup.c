/* SPDX-License-Identifier: Apache-2.0 */
/* Reading, as table.h declares it. */
#include "inside.h"

#include "base/bytes.h"

#define READ_TRIES 32 /* before a reader waits for the writers like one of them */

static int64_t lesser(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t left_until(int64_t limit_ms, int64_t age_ms, const struct hgi_view *view,
                          const struct hgi_now *now)
{
    int64_t left = limit_ms - age_ms;

    if (view->expires_wall_ms) {
        left = lesser(left, view->expires_wall_ms - now->wall_ms);
        left = lesser(left, view->expires_boot_ms - now->boot_ms);
    }
    return left > 0 ? left : 0;
}

static void describe(const struct hgi_view *view, bool is_softened, int64_t age_ms,
                     const struct hgi_now *now, struct hgi_found_entry *ret_entry)
{
    ret_entry->outcome = view->outcome;
    ret_entry->born = view->born;
    ret_entry->is_softened = is_softened;
    ret_entry->age_ms = age_ms;
    ret_entry->ttl_ms = view->ttl_ms;
    ret_entry->load_ms = view->load_ms;
    ret_entry->ttl_left_ms = is_softened ? 0 : left_until(view->ttl_ms, age_ms, view, now);
    ret_entry->stale_left_ms = left_until(view->stale_ttl_ms, age_ms, view, now);
    ret_entry->refresh_after_ms = view->refresh_after_ms;
    ret_entry->refresh_backoff_ms = view->refresh_backoff_ms;
    ret_entry->is_refused = view->is_refused;
}

static enum hgi_found judge(const struct hgi_view *view, bool is_softened, int64_t age_ms,
                            int64_t max_age_ms)
{
    if (!is_softened && age_ms <= view->ttl_ms && (max_age_ms < 0 || age_ms <= max_age_ms)) {
        return HGI_FRESH;
    }
    if (view->outcome != HG_VALUE) {
        return HGI_MISS;
    }
    return age_ms <= view->stale_ttl_ms ? HGI_STALE : HGI_KEPT;
}

/* One read of a key, and what it comes to. */
struct lookup {
    struct hg_slice key;
    uint64_t hash;
    int64_t max_age_ms;
    const struct hgi_now *now;
    struct hg_bytes *ret_value; /* NULL: not wanted */
    struct hgi_found_entry *ret_entry;
};

/* Copies what may be changing; false: no memory. */
static bool copy_value(struct hg_bytes *ret_value, struct hg_slice value)
{
    ret_value->len = 0;
    if (!hgi_bytes_reserve(ret_value, value.len)) {
        return false;
    }
    if (value.len) {
        hgi_racy_load(ret_value->data, value.data, value.len);
        ret_value->len = value.len;
    }
    return true;
}

enum verdict { ANSWERED, IS_OVER, AGAIN };

/* What the item is for this lookup. `reading` (NULL: the shard is locked): the outputs are given
 * only if the item was whole all the time. */
static enum verdict look_at(const struct hgi_shard *shard, const struct lookup *lookup,
                            const struct hgi_view *view, const struct hgi_reading *reading,
                            enum hgi_found *ret_found)
{
    const struct hgi_now *now = lookup->now;
    struct hgi_standing standing = hgi_shard_judge(shard, view);
    int64_t age_ms = now->boot_ms > view->published_ms ? now->boot_ms - view->published_ms : 0;
    bool is_over = !standing.is_dead && hgi_view_is_over(view, now);
    enum hgi_found found = HGI_MISS;
    struct hgi_found_entry entry;

    if (!standing.is_dead && !is_over) {
        found = judge(view, standing.is_softened, age_ms, lookup->max_age_ms);
    }
    if (found != HGI_MISS) {
        describe(view, standing.is_softened, age_ms, now, &entry);
        if (lookup->ret_value) {
            /* Before its length is believed. */
            if (reading && !hgi_reading_holds(reading)) {
                return AGAIN;
            }
            if (!copy_value(lookup->ret_value, view->value)) {
                found = HGI_MISS;
            }
        }
    }
    if (reading && !hgi_reading_holds(reading)) {
        return AGAIN;
    }
    if (found != HGI_MISS) {
        *lookup->ret_entry = entry;
    }
    *ret_found = found;
    return is_over ? IS_OVER : ANSWERED;
}

/* Who does not want the value looks, and reads nothing. */
static void count_read(const struct hgi_table *table, const struct lookup *lookup, uint32_t place,
                       enum hgi_found found)
{
    if (found != HGI_MISS && lookup->ret_value) {
        hgi_heat_touch(&table->ground.heat, place);
    }
}

/* As one of the writers: what is over goes. */
static enum hgi_found look_locked(struct hgi_table *table, struct hgi_shard *shard,
                                  const struct lookup *lookup)
{
    enum hgi_found found = HGI_MISS;
    struct hgi_view view;
    uint32_t place;

    hgi_lock_shard(&shard->lock);
    place = hgi_index_find(&shard->index, lookup->hash, lookup->key, &view);
    if (place && look_at(shard, lookup, &view, NULL, &found) == IS_OVER) {
        hgi_metric_add(table->ground.metrics, HGI_METRIC_expired, 1);
        hgi_shard_drop(shard, lookup->hash, place);
    } else if (place) {
        count_read(table, lookup, place, found);
    }
    hgi_unlock_shard(&shard->lock);
    return found;
}

static enum hgi_found look(struct hgi_table *table, const struct lookup *lookup)
{
    struct hgi_shard *shard = hgi_table_shard(table, lookup->hash);
    enum hgi_found found = HGI_MISS;
    struct hgi_reading reading;

    for (int tries = 0; tries < READ_TRIES; tries++) {
        enum hgi_read read = hgi_index_read(&shard->index, lookup->hash, lookup->key, &reading);
        enum verdict verdict = AGAIN;

        if (read == HGI_READ_NONE) {
            return HGI_MISS;
        }
        if (read == HGI_READ_ITEM) {
            hgi_heat_fetch(&table->ground.heat, reading.place);
            verdict = look_at(shard, lookup, &reading.view, &reading, &found);
        }
        if (verdict == ANSWERED) {
            count_read(table, lookup, reading.place, found);
            return found;
        }
        if (verdict == IS_OVER) {
            break;
        }
    }
    return look_locked(table, shard, lookup);
}

enum hgi_found hgi_table_lookup_hashed(struct hgi_table *table, uint64_t hash, struct hg_slice key,
                                       int64_t max_age_ms, const struct hgi_now *now,
                                       struct hg_bytes *ret_value,
                                       struct hgi_found_entry *ret_entry)
{
    const struct lookup lookup = {key, hash, max_age_ms, now, ret_value, ret_entry};

    return look(table, &lookup);
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
    for (size_t i = 0; i < count; i++) {
        ret_hashes[i] = hgi_table_hash(table, keys[i]);
        hgi_index_fetch_bucket(&hgi_table_shard(table, ret_hashes[i])->index, ret_hashes[i]);
    }
    for (size_t i = 0; i < count; i++) {
        hgi_index_fetch_item(&hgi_table_shard(table, ret_hashes[i])->index, ret_hashes[i]);
    }
}
