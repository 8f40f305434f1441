/* SPDX-License-Identifier: Apache-2.0 */
#include "table.h"

#include <string.h>

#include "base/check.h"
#include "inside.h"

#define SHARD_ENTRIES_MIN 1024u /* fewer, and one lock is no hindrance while exact bounds are */
#define SHARD_BYTES_MIN   (1u << 20) /* the same */

/* The region beside what max_bytes counts: what blocks lose by lying side by side, then for each
 * entry its buckets, twice while they are doubled, and its tags. */
#define SLACK_OF        2u
#define ENTRY_SIDE_SIZE 192u
#define MEMORY_MIN_SIZE (256u << 10)

static size_t shard_count_for(const struct hgi_table_bounds *bounds)
{
    size_t count = 1;

    while (count < HGI_SHARDS_MAX && bounds->max_entries / (count * 2) >= SHARD_ENTRIES_MIN &&
           bounds->max_bytes / (count * 2) >= SHARD_BYTES_MIN) {
        count *= 2;
    }
    return count;
}

size_t hgi_table_memory_size(const struct hgi_table_bounds *bounds)
{
    size_t entries = bounds->max_entries < HGI_MEMORY_MAX_BYTES / ENTRY_SIDE_SIZE
                         ? bounds->max_entries
                         : HGI_MEMORY_MAX_BYTES / ENTRY_SIDE_SIZE;
    size_t bytes =
        bounds->max_bytes < HGI_MEMORY_MAX_BYTES ? bounds->max_bytes : HGI_MEMORY_MAX_BYTES;
    size_t size = MEMORY_MIN_SIZE + bytes + bytes / SLACK_OF + entries * ENTRY_SIDE_SIZE;

    return size < HGI_MEMORY_MAX_BYTES ? size : HGI_MEMORY_MAX_BYTES;
}

/* Readers of the region, and what they see first. */
static bool reader_init(struct hgi_ground *ground, size_t shard_count)
{
    struct hgi_front *front = hgi_front_of(&ground->region.memory);

    front->hash_key = hgi_hash_key_new();
    front->shard_count = (uint32_t)shard_count;
    ground->reader = (struct hgi_reader){.memory = ground->region.memory,
                                         .front = front,
                                         .shard_count = front->shard_count,
                                         .hash_key = front->hash_key};
    return hgi_heat_init(&ground->reader.heat, ground->region.memory.size);
}

static bool ground_init(struct hgi_ground *ground, size_t shard_count,
                        const struct hgi_table_bounds *bounds, const struct hgi_backing *backing)
{
    bool is_mapped = backing ? hgi_region_init_in(&ground->region, backing)
                             : hgi_region_init(&ground->region, hgi_table_memory_size(bounds));

    hgi_usage_init(&ground->usage, bounds->max_entries, bounds->max_bytes);
    if (!is_mapped) {
        return false;
    }
    if (!reader_init(ground, shard_count)) {
        hgi_region_deinit(&ground->region);
        return false;
    }
    if (!hgi_tags_init(&ground->tags, ground->allocator, &ground->region)) {
        hgi_heat_deinit(&ground->reader.heat);
        hgi_region_deinit(&ground->region);
        return false;
    }
    return true;
}

struct hgi_table *hgi_table_create_in(const struct hgi_allocator *allocator,
                                      const struct hgi_table_bounds *bounds,
                                      struct hgi_metrics *metrics,
                                      const struct hgi_backing *backing)
{
    size_t count = shard_count_for(bounds);
    struct hgi_table *table =
        hgi_alloc(allocator, sizeof(*table) + count * sizeof(table->shards[0]));

    if (!table) {
        return NULL;
    }
    table->ground.allocator = allocator;
    table->ground.metrics = metrics;
    if (!ground_init(&table->ground, count, bounds, backing)) {
        hgi_free(allocator, table);
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        if (!hgi_shard_init(&table->shards[i], &table->ground, i, bounds->max_entries / count)) {
            hgi_table_destroy(&table);
            return NULL;
        }
        table->shard_count++;
    }
    return table;
}

struct hgi_table *hgi_table_create(const struct hgi_allocator *allocator,
                                   const struct hgi_table_bounds *bounds,
                                   struct hgi_metrics *metrics)
{
    return hgi_table_create_in(allocator, bounds, metrics, NULL);
}

void hgi_table_destroy(struct hgi_table **table)
{
    struct hgi_table *old = *table;

    if (!old) {
        return;
    }
    for (size_t i = 0; i < old->shard_count; i++) {
        hgi_shard_deinit(&old->shards[i]);
    }
    hgi_tags_deinit(&old->ground.tags);
    hgi_heat_deinit(&old->ground.reader.heat);
    hgi_region_deinit(&old->ground.region);
    hgi_free(old->ground.allocator, old);
    *table = NULL;
}

uint64_t hgi_table_hash(const struct hgi_table *table, struct hg_slice key)
{
    return hgi_reader_hash(&table->ground.reader, key);
}

void hgi_table_warm(struct hgi_table *table, size_t at, const unsigned char *counts, size_t size)
{
    hgi_heat_join(&table->ground.reader.heat, at, counts, size);
}

/* ---- storing ---- */

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
    struct hgi_view view;
    uint32_t place;

    hgi_lock_shard(&shard->lock);
    place = hgi_index_find(&shard->index, hash, entry->key, &view);
    if (entry->born >= hgi_front_cleared(shard->front) && (!place || view.born <= entry->born)) {
        *ret_room = hgi_shard_replace(shard, place, hash, entry, &place);
        insert = *ret_room == HGI_ROOM_TAKEN ? HGI_STORED : HGI_NOT_STORED;
    }
    if (insert == HGI_STORED && !is_saved) {
        hgi_shard_set_unsaved(shard, hash, place, true);
    }
    hgi_unlock_shard(&shard->lock);
    return insert;
}

void hgi_table_expect(struct hgi_table *table, size_t entries)
{
    /* Shards do not get exactly the same. */
    size_t share = (entries + entries / 32) / table->shard_count;

    for (size_t i = 0; i < table->shard_count; i++) {
        struct hgi_shard *shard = &table->shards[i];

        hgi_lock_shard(&shard->lock);
        hgi_index_expect(&shard->index, share);
        hgi_unlock_shard(&shard->lock);
    }
}

enum hgi_insert hgi_table_insert(struct hgi_table *table, const struct hgi_entry *entry,
                                 bool is_saved)
{
    uint64_t hash = hgi_table_hash(table, entry->key);
    struct hgi_shard *shard = hgi_table_shard(table, hash);
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
        hgi_metric_add(table->ground.metrics, HGI_METRIC_not_stored, 1);
        atomic_store_explicit(&table->has_discarded, true, memory_order_release);
    }
    return insert;
}

/* So that 0 is none. */
static uint64_t serial_of(const struct hgi_region *region, uint32_t place)
{
    return (uint64_t)1 << 32 | hgi_item_serial(region, place);
}

bool hgi_table_read_old(struct hgi_table *table, struct hg_slice key, const struct hgi_now *now,
                        struct hg_bytes *ret_bytes, struct hgi_old *ret_old)
{
    uint64_t hash = hgi_table_hash(table, key);
    struct hgi_shard *shard = hgi_table_shard(table, hash);
    bool is_copied = false;
    struct hgi_view view;
    uint32_t place;

    hgi_lock_shard(&shard->lock);
    place = hgi_index_find(&shard->index, hash, key, &view);
    if (place && view.outcome == HG_VALUE && !hgi_shard_judge(shard, &view).is_dead &&
        !hgi_view_is_over(&view, now)) {
        is_copied = hgi_bytes_set(ret_bytes, view.value) && hgi_bytes_append(ret_bytes, view.etag);
    }
    if (is_copied) {
        ret_old->serial = serial_of(&table->ground.region, place);
        ret_old->value = hg_slice_of(ret_bytes->data, view.value.len);
        ret_old->etag = view.etag.len ? hg_slice_of(ret_bytes->data + view.value.len, view.etag.len)
                                      : hg_slice_of(NULL, 0);
    }
    hgi_unlock_shard(&shard->lock);
    return is_copied;
}

/* Nothing has ended it since `born`, and nothing covers what is born then. */
static bool can_confirm(const struct hgi_shard *shard, const struct hgi_view *view, uint64_t born,
                        const struct hgi_now *now) HGI_REQUIRES(shard)
{
    const struct hgi_view then = {
        .born = born, .tag_places = view->tag_places, .tag_count = view->tag_count};
    struct hgi_standing standing = hgi_shard_judge(shard, &then);

    return !hgi_shard_judge(shard, view).is_dead && !hgi_view_is_over(view, now) &&
           born >= view->born && !standing.is_dead && !standing.is_softened;
}

/* The view as confirmed; an earlier hard end stays. */
static void confirm(struct hgi_view *view, struct hgi_entry *inout_entry)
{
    if (view->expires_wall_ms &&
        (!inout_entry->expires_wall_ms || view->expires_wall_ms < inout_entry->expires_wall_ms)) {
        inout_entry->expires_wall_ms = view->expires_wall_ms;
        inout_entry->expires_boot_ms = view->expires_boot_ms;
    }
    view->born = inout_entry->born;
    view->published_ms = inout_entry->published_ms;
    view->ttl_ms = inout_entry->ttl_ms;
    view->stale_ttl_ms = inout_entry->stale_ttl_ms;
    view->keep_ms = inout_entry->keep_ms > inout_entry->stale_ttl_ms ? inout_entry->keep_ms
                                                                     : inout_entry->stale_ttl_ms;
    view->load_ms = inout_entry->load_ms;
    view->expires_wall_ms = inout_entry->expires_wall_ms;
    view->expires_boot_ms = inout_entry->expires_boot_ms;
    view->refresh_after_ms = 0;
    view->refresh_backoff_ms = 0;
    view->is_refused = false;
    view->is_softened = false;
}

bool hgi_table_rearm(struct hgi_table *table, uint64_t serial, const struct hgi_now *now,
                     struct hgi_entry *inout_entry, struct hg_bytes *ret_value)
{
    struct hg_slice key = inout_entry->key;
    uint64_t hash = hgi_table_hash(table, key);
    struct hgi_shard *shard = hgi_table_shard(table, hash);
    bool is_confirmed = false;
    struct hgi_view view;
    uint32_t place;

    hgi_lock_shard(&shard->lock);
    place = hgi_index_find(&shard->index, hash, key, &view);
    if (place && serial_of(&table->ground.region, place) == serial &&
        can_confirm(shard, &view, inout_entry->born, now) &&
        (!ret_value || hgi_bytes_set(ret_value, view.value))) {
        confirm(&view, inout_entry);
        is_confirmed = hgi_shard_edit(shard, hash, place, &view);
    }
    if (is_confirmed) {
        place = hgi_index_find(&shard->index, hash, key, &view);
        hgi_shard_set_unsaved(shard, hash, place, true);
    }
    hgi_unlock_shard(&shard->lock);
    return is_confirmed;
}

bool hgi_table_remove(struct hgi_table *table, struct hg_slice key, uint64_t born)
{
    uint64_t hash = hgi_table_hash(table, key);
    struct hgi_shard *shard = hgi_table_shard(table, hash);
    bool was_live = false;
    struct hgi_view view;
    uint32_t place;

    hgi_lock_shard(&shard->lock);
    place = hgi_index_find(&shard->index, hash, key, &view);
    if (place && view.born <= born) {
        was_live = !hgi_shard_judge(shard, &view).is_dead;
        hgi_shard_drop(shard, hash, place);
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
    uint64_t hash = hgi_table_hash(table, key);
    struct hgi_shard *shard = hgi_table_shard(table, hash);
    bool was_live = false;
    struct hgi_view view;
    uint32_t place;

    hgi_lock_shard(&shard->lock);
    place = hgi_index_find(&shard->index, hash, key, &view);
    if (place && view.born <= born) {
        was_live = !hgi_shard_judge(shard, &view).is_dead;
        view.is_softened = true;
        /* A mark takes no room; should it find none all the same, gone is safer than fresh. */
        if (view.outcome != HG_VALUE || !hgi_shard_edit(shard, hash, place, &view)) {
            hgi_shard_drop(shard, hash, place);
        }
    }
    hgi_unlock_shard(&shard->lock);
    return was_live;
}

void hgi_table_invalidate_tag(struct hgi_table *table, struct hg_slice tag, uint64_t generation,
                              bool is_soft)
{
    hgi_tags_invalidate(&table->ground.tags, tag, generation, is_soft);
}

uint64_t hgi_table_tag_number(struct hgi_table *table, struct hg_slice tag)
{
    return hgi_tags_number(&table->ground.tags, tag);
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
        atomic_store_explicit(&shard->front->cleared, generation, memory_order_release);
        hgi_unlock_shard(&shard->lock);
    }
    return dropped;
}

void hgi_table_set_refresh_after(struct hgi_table *table, struct hg_slice key, uint64_t born,
                                 int64_t refresh_after_ms, int64_t refresh_backoff_ms,
                                 bool is_refused)
{
    uint64_t hash = hgi_table_hash(table, key);
    struct hgi_shard *shard = hgi_table_shard(table, hash);
    struct hgi_view view;
    uint32_t place;
    bool is_set;

    hgi_lock_shard(&shard->lock);
    place = hgi_index_find(&shard->index, hash, key, &view);
    if (place && view.born == born) {
        view.refresh_after_ms = refresh_after_ms;
        view.refresh_backoff_ms = refresh_backoff_ms;
        view.is_refused = is_refused;
        is_set = hgi_shard_edit(shard, hash, place, &view);
        (void)is_set; /* without the room for it the next refresh comes sooner than it should */
    }
    hgi_unlock_shard(&shard->lock);
}

/* ---- giving back ---- */

/* True: it went. */
static bool sweep_item(struct hgi_table *table, struct hgi_shard *shard, uint32_t place,
                       const struct hgi_now *now) HGI_REQUIRES(shard)
{
    struct hgi_view view;
    bool is_dead;
    bool is_over;

    HGI_BUG_ON(!hgi_view_read(&table->ground.region.memory, place, &view));
    is_dead = hgi_shard_judge(shard, &view).is_dead;
    is_over = !is_dead && hgi_view_is_over(&view, now);
    if (is_over) {
        hgi_metric_add(table->ground.metrics, HGI_METRIC_expired, 1);
    }
    if (is_dead || is_over) {
        hgi_shard_drop(shard, hgi_table_hash(table, view.key), place);
    }
    return is_dead || is_over;
}

size_t hgi_table_sweep(struct hgi_table *table, const struct hgi_now *now, size_t budget)
{
    size_t index = atomic_fetch_add_explicit(&table->sweep_shard, 1, memory_order_relaxed);
    struct hgi_shard *shard = &table->shards[index & (table->shard_count - 1)];
    uint32_t places[HGI_BUCKET_ITEMS_MAX];
    size_t looked = 0;
    size_t gone = 0;

    hgi_lock_shard(&shard->lock);
    for (size_t buckets = hgi_index_buckets(&shard->index); buckets > 0 && looked < budget;
         buckets--) {
        size_t count;

        shard->sweep_at = (shard->sweep_at + 1) % hgi_index_buckets(&shard->index);
        count = hgi_index_items(&shard->index, shard->sweep_at, places);
        for (size_t i = 0; i < count; i++) {
            gone += sweep_item(table, shard, places[i], now);
        }
        looked += 1 + count;
    }
    hgi_unlock_shard(&shard->lock);
    return gone;
}

void hgi_table_stats(struct hgi_table *table, struct hgi_table_stats *ret_stats)
{
    struct hgi_table_stats stats = {.bytes = hgi_usage_bytes(&table->ground.usage)};

    for (size_t i = 0; i < table->shard_count; i++) {
        struct hgi_shard *shard = &table->shards[i];

        hgi_lock_shard(&shard->lock);
        stats.entries += shard->live;
        stats.negatives += shard->live_negatives;
        stats.unsaved += shard->unsaved;
        hgi_unlock_shard(&shard->lock);
    }
    *ret_stats = stats;
}
