/* SPDX-License-Identifier: Apache-2.0 */
#include "snapshotter.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/log.h"
#include "server/cache/tagging.h"
#include "server/snapshotter_inside.h"

#define BATCH_ENTRIES 4096u
#define BATCH_BYTES   (17u << 20) /* holds the largest value_max (16 MiB) and its key */

enum hg_status hgi_snapshotter_open(const struct hgi_snapshot_options *options, int64_t interval_ms,
                                    const struct hgi_now *now,
                                    struct hgi_snapshotter **ret_snapshotter,
                                    uint64_t *ret_high_water, char *ret_sentence)
{
    struct hgi_snapshot_opened opened;
    struct hgi_snapshotter *made = hgi_alloc(&hgi_heap, sizeof(*made));
    enum hg_status status = HG_UNAVAILABLE;

    if (!made || !hgi_batch_init(&made->batch, &hgi_heap, BATCH_ENTRIES, BATCH_BYTES)) {
        hgi_free(&hgi_heap, made);
        snprintf(ret_sentence, HGI_SNAPSHOT_SENTENCE_MAX, "no memory to open the snapshot");
        return status;
    }
    hgi_lock_init(&made->lock);
    hgi_cond_init(&made->wake);
    hgi_bytes_init(&made->scratch, &hgi_heap);
    hgi_list_init(&made->inbox);
    hgi_list_init(&made->saves);
    hgi_list_init(&made->verifies);
    hgi_list_init(&made->verifying);
    made->interval_ms = interval_ms;
    made->wall_ahead_ms = now->wall_ms - now->boot_ms;
    made->next_round_ms = now->boot_ms + interval_ms;
    made->last_commit_ms = now->boot_ms;
    status = hgi_snapshot_open(options, now, &made->snapshot, &opened, ret_sentence);
    if (status != HG_OK) {
        hgi_snapshotter_close(&made);
        return status;
    }
    if (opened.is_quarantined) {
        hgi_log(HG_LOG_ERROR, "snapshot %s cannot be used, starting empty: %s", options->path,
                opened.quarantine);
    }
    if (opened.migrated_from) {
        hgi_log(HG_LOG_INFO,
                "the snapshot was of version %u and has been written anew: %llu rows taken over, "
                "%llu that were cleared, over or damaged left behind",
                (unsigned)opened.migrated_from, (unsigned long long)opened.migrated_rows,
                (unsigned long long)opened.left_rows);
    }
    *ret_high_water = opened.high_water;
    *ret_snapshotter = made;
    return HG_OK;
}

static size_t find_cache(const struct hgi_snapshotter *snapshotter, struct hg_slice name)
{
    size_t i = 0;

    while (i < snapshotter->cache_count && !hgi_slice_equal(snapshotter->caches[i].name, name)) {
        i++;
    }
    return i;
}

static int64_t at_most(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* One row back. The configuration may have changed since it was saved. */
static bool restore_entry(void *context, struct hg_slice name, const struct hgi_entry *entry)
{
    struct hgi_snapshotter *snapshotter = context;
    size_t index = find_cache(snapshotter, name);
    struct hgi_entry cut = *entry;
    const struct hgi_policy *policy;

    if (index == snapshotter->cache_count) {
        return false;
    }
    if (hgi_veil_is_on(entry->key) != (hgi_cache_veil(snapshotter->caches[index].cache) != NULL)) {
        return false; /* secret_keys was turned on or off: nobody asks for such a key any more */
    }
    policy = hgi_cache_policy(snapshotter->caches[index].cache);
    if (entry->outcome == HG_VALUE) {
        cut.ttl_ms = at_most(entry->ttl_ms, policy->ttl_ms);
        cut.stale_ttl_ms = at_most(entry->stale_ttl_ms, policy->stale_ttl_ms);
        cut.keep_ms = cut.stale_ttl_ms + policy->stale_if_error_ms;
    } else {
        cut.ttl_ms = at_most(entry->ttl_ms, policy->negative_ttl_ms);
        cut.stale_ttl_ms = cut.ttl_ms;
    }
    return hgi_cache_restore(snapshotter->caches[index].cache, &cut) == HGI_STORED;
}

/* What the rows will need of the tables. */
static enum hg_status expect_entries(struct hgi_snapshotter *snapshotter, char *ret_sentence)
{
    enum hg_status status = HG_OK;

    for (size_t i = 0; i < snapshotter->cache_count && status == HG_OK; i++) {
        struct hgi_snapshotter_cache *cache = &snapshotter->caches[i];
        size_t max = hgi_cache_policy(cache->cache)->max_entries;
        uint64_t rows = 0;

        status = hgi_snapshot_rows(snapshotter->snapshot, cache->name, &rows, ret_sentence);
        hgi_table_expect(hgi_cache_table(cache->cache), rows < max ? (size_t)rows : max);
    }
    return status;
}

/* Main's, before there is a thread: no lock is needed, and clang is told so. */
bool hgi_snapshotter_restore(struct hgi_snapshotter *snapshotter, struct hgi_registry *registry,
                             const struct hgi_now *now) HGI_UNCHECKED
{
    size_t count = hgi_registry_count(registry);
    struct hgi_snapshotter_stats *stats = &snapshotter->stats;
    char sentence[HGI_SNAPSHOT_SENTENCE_MAX];
    enum hg_status status;

    HGI_BUG_ON(snapshotter->caches);
    snapshotter->caches = hgi_alloc(&hgi_heap, (count + 1) * sizeof(*snapshotter->caches));
    snapshotter->must_rewrite = hgi_alloc(&hgi_heap, (count + 1) * sizeof(bool));
    if (!snapshotter->caches || !snapshotter->must_rewrite) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        struct hgi_cache *cache = hgi_registry_at(registry, i)->cache;

        snapshotter->caches[i].cache = cache;
        snapshotter->caches[i].name = hg_slice_text(hgi_cache_name(cache));
    }
    snapshotter->cache_count = count;
    status = expect_entries(snapshotter, sentence);
    if (status == HG_OK) {
        status = hgi_snapshot_restore(snapshotter->snapshot, now, restore_entry, snapshotter,
                                      &stats->restored, &stats->dropped, sentence);
    }
    for (size_t i = 0; i < count && status == HG_OK; i++) {
        status = hgi_snapshot_rows(snapshotter->snapshot, snapshotter->caches[i].name,
                                   &snapshotter->caches[i].rows_max, sentence);
    }
    if (status != HG_OK) {
        hgi_log(HG_LOG_WARN, "%s", sentence);
        stats->is_degraded = true;
        memcpy(stats->last_error, sentence, sizeof(stats->last_error));
        snapshotter->must_save_all = true;
    }
    if (hgi_snapshot_is_outdated(snapshotter->snapshot)) {
        hgi_log(HG_LOG_INFO, "the snapshot was written under another key_file or encrypt: it is "
                             "written anew");
        snapshotter->next_round_ms = now->boot_ms;
    }
    hgi_snapshot_facts(snapshotter->snapshot, &stats->file);
    if (stats->dropped > 0) {
        hgi_log(HG_LOG_WARN, "%llu rows of the snapshot were damaged and have been dropped",
                (unsigned long long)stats->dropped);
    }
    return true;
}

bool hgi_snapshotter_start(struct hgi_snapshotter *snapshotter)
{
    HGI_BUG_ON(!snapshotter->caches);
    return hgi_thread_start(&snapshotter->thread, "snapshotter", hgi_snapshotter_run, snapshotter);
}

void hgi_snapshotter_stop(struct hgi_snapshotter *snapshotter)
{
    hgi_lock_store(&snapshotter->lock);
    snapshotter->is_stopping = true;
    hgi_cond_wake_all(&snapshotter->wake);
    hgi_unlock_store(&snapshotter->lock);
    hgi_thread_join(&snapshotter->thread);
}

void hgi_durable_end(struct hgi_durable *durable, const struct hgi_saved *saved)
{
    durable->done(durable->context, saved);
    hgi_bytes_deinit(&durable->payload);
    hgi_free(&hgi_heap, durable->slices);
    hgi_free(&hgi_heap, durable);
}

bool hgi_snapshotter_take(struct hgi_snapshotter *snapshotter, struct hgi_node *ret_list)
{
    hgi_list_init(ret_list);
    hgi_lock_store(&snapshotter->lock);
    hgi_list_move_all(&snapshotter->inbox, ret_list);
    snapshotter->inbox_count = 0;
    snapshotter->inbox_bytes = 0;
    hgi_unlock_store(&snapshotter->lock);
    return !hgi_list_is_empty(ret_list);
}

void hgi_snapshotter_close(struct hgi_snapshotter **snapshotter) HGI_UNCHECKED
{
    static const struct hgi_saved stopped = {
        .status = HG_UNAVAILABLE,
        .sentence = "the server stopped before it could save",
    };
    struct hgi_snapshotter *gone = *snapshotter;
    struct hgi_node left;

    if (!gone) {
        return;
    }
    hgi_snapshotter_stop(gone); /* nothing more comes in */
    hgi_snapshotter_take(gone, &left);
    for (struct hgi_node *node = hgi_list_pop_front(&left); node;
         node = hgi_list_pop_front(&left)) {
        hgi_durable_end(HGI_CONTAINER(node, struct hgi_durable, node), &stopped);
    }
    hgi_snapshot_close(&gone->beside);
    hgi_snapshot_close(&gone->snapshot);
    hgi_batch_deinit(&gone->batch);
    hgi_bytes_deinit(&gone->scratch);
    hgi_cond_deinit(&gone->wake);
    hgi_lock_deinit(&gone->lock);
    hgi_free(&hgi_heap, gone->caches);
    hgi_free(&hgi_heap, gone->must_rewrite);
    hgi_free(&hgi_heap, gone);
    *snapshotter = NULL;
}

static struct hgi_durable *make(enum hgi_durable_kind kind, uint64_t generation,
                                void (*done)(void *context, const struct hgi_saved *saved),
                                void *context)
{
    struct hgi_durable *made = hgi_alloc(&hgi_heap, sizeof(*made));

    if (made) {
        hgi_list_init(&made->node);
        hgi_bytes_init(&made->payload, &hgi_heap);
        made->kind = kind;
        made->generation = generation;
        made->done = done;
        made->context = context;
    }
    return made;
}

static void unmake(struct hgi_durable *durable)
{
    if (durable) {
        hgi_bytes_deinit(&durable->payload);
        hgi_free(&hgi_heap, durable->slices);
        hgi_free(&hgi_heap, durable);
    }
}

/* Takes `durable` (NULL: there was no memory for it) in any case. */
static enum hg_status send(struct hgi_snapshotter *snapshotter, struct hgi_durable *durable,
                           size_t cache)
{
    enum hg_status status = HG_OK;
    size_t bytes = durable ? durable->payload.len : 0;

    hgi_lock_store(&snapshotter->lock);
    if (snapshotter->is_stopping) {
        status = HG_UNAVAILABLE;
    } else if (!durable || snapshotter->inbox_count >= HGI_SNAPSHOTTER_INBOX_MAX ||
               snapshotter->inbox_bytes + bytes > HGI_SNAPSHOTTER_INBOX_BYTES) {
        status = HG_RESOURCE_EXHAUSTED;
    } else {
        durable->cache = cache;
        hgi_list_push_back(&snapshotter->inbox, &durable->node);
        snapshotter->inbox_count++;
        snapshotter->inbox_bytes += bytes;
        hgi_cond_wake_one(&snapshotter->wake);
    }
    if (status != HG_OK && cache < snapshotter->cache_count) {
        snapshotter->must_rewrite[cache] = true;
    }
    hgi_unlock_store(&snapshotter->lock);
    if (status != HG_OK) {
        unmake(durable);
    }
    return status;
}

enum hg_status hgi_snapshotter_clear(struct hgi_snapshotter *snapshotter, struct hg_slice cache,
                                     uint64_t generation,
                                     void (*done)(void *context, const struct hgi_saved *saved),
                                     void *context)
{
    size_t index = find_cache(snapshotter, cache);

    if (index == snapshotter->cache_count) {
        return HG_NOT_FOUND;
    }
    return send(snapshotter, make(HGI_DURABLE_CLEAR, generation, done, context), index);
}

/* Room for `count` slices and their bytes, at once: the slices point into it. */
static bool reserve(struct hgi_durable *durable, size_t count, size_t bytes)
{
    durable->slices = hgi_alloc(&hgi_heap, (count + 1) * sizeof(*durable->slices));
    return durable->slices && hgi_bytes_reserve(&durable->payload, bytes + 1);
}

static size_t bytes_of(const struct hg_slice *slices, size_t count)
{
    size_t bytes = 0;

    for (size_t i = 0; i < count; i++) {
        bytes += slices[i].len;
    }
    return bytes;
}

/* Into what was reserved. */
static struct hg_slice keep(struct hgi_durable *durable, struct hg_slice slice)
{
    struct hg_slice kept = hg_slice_of(durable->payload.data + durable->payload.len, slice.len);

    HGI_BUG_ON(!hgi_bytes_append(&durable->payload, slice));
    return kept;
}

/* False: no memory. */
static bool copy_cover(struct hgi_durable *durable, const struct hgi_veil *veil,
                       const struct hgi_cover *cover)
{
    size_t bytes = bytes_of(cover->keys, cover->key_count) +
                   bytes_of(cover->tags, cover->tag_count) + cover->first_part.len +
                   (cover->tag_count + 1) * (1 + HGI_DIGEST_BYTES);
    struct hg_slice *next;
    struct hgi_tag_name name;

    if (!reserve(durable, cover->key_count + cover->tag_count + 1, bytes)) {
        return false;
    }
    next = durable->slices;
    for (size_t i = 0; i < cover->key_count; i++) {
        *next++ = keep(durable, cover->keys[i]);
    }
    for (size_t i = 0; i < cover->tag_count; i++) {
        hgi_tag_name_given(veil, cover->tags[i], &name);
        *next++ = keep(durable, hg_slice_of(name.bytes, name.len));
    }
    if (cover->first_part.len) {
        hgi_tag_name_user(veil, cover->first_part, &name);
        *next++ = keep(durable, hg_slice_of(name.bytes, name.len));
    }
    durable->key_count = cover->key_count;
    durable->tag_count = cover->tag_count + (cover->first_part.len > 0);
    return true;
}

enum hg_status hgi_snapshotter_forget(struct hgi_snapshotter *snapshotter, struct hg_slice cache,
                                      const struct hgi_cover *cover, uint64_t generation,
                                      void (*done)(void *context, const struct hgi_saved *saved),
                                      void *context)
{
    size_t index = find_cache(snapshotter, cache);
    struct hgi_durable *made;

    if (index == snapshotter->cache_count) {
        return HG_NOT_FOUND;
    }
    made = make(HGI_DURABLE_FORGET, generation, done, context);
    if (made && !copy_cover(made, hgi_cache_veil(snapshotter->caches[index].cache), cover)) {
        unmake(made);
        made = NULL;
    }
    return send(snapshotter, made, index);
}

/* False: no memory. */
static bool copy_entry(struct hgi_durable *durable, const struct hgi_entry *entry)
{
    if (!reserve(durable, entry->tag_count,
                 entry->key.len + entry->value.len + entry->etag.len +
                     bytes_of(entry->tags, entry->tag_count))) {
        return false;
    }
    durable->entry = *entry;
    durable->entry.key = keep(durable, entry->key);
    durable->entry.value = keep(durable, entry->value);
    durable->entry.etag = keep(durable, entry->etag);
    for (size_t i = 0; i < entry->tag_count; i++) {
        durable->slices[i] = keep(durable, entry->tags[i]);
    }
    durable->entry.tags = durable->slices;
    return true;
}

enum hg_status hgi_snapshotter_put(struct hgi_snapshotter *snapshotter, struct hg_slice cache,
                                   const struct hgi_entry *entry,
                                   void (*done)(void *context, const struct hgi_saved *saved),
                                   void *context)
{
    size_t index = find_cache(snapshotter, cache);
    struct hgi_durable *made;

    if (index == snapshotter->cache_count) {
        return HG_NOT_FOUND;
    }
    made = make(HGI_DURABLE_PUT, entry->born, done, context);
    if (made && !copy_entry(made, entry)) {
        unmake(made);
        made = NULL;
    }
    return send(snapshotter, made, index);
}

enum hg_status hgi_snapshotter_save(struct hgi_snapshotter *snapshotter,
                                    void (*done)(void *context, const struct hgi_saved *saved),
                                    void *context)
{
    return send(snapshotter, make(HGI_DURABLE_SAVE, 0, done, context), snapshotter->cache_count);
}

enum hg_status hgi_snapshotter_verify(struct hgi_snapshotter *snapshotter,
                                      bool (*is_wanted)(void *context),
                                      void (*done)(void *context, const struct hgi_saved *saved),
                                      void *context)
{
    struct hgi_durable *made = make(HGI_DURABLE_VERIFY, 0, done, context);

    if (made) {
        made->is_wanted = is_wanted;
    }
    return send(snapshotter, made, snapshotter->cache_count);
}

const char *hgi_snapshotter_path(const struct hgi_snapshotter *snapshotter)
{
    return hgi_snapshot_path(snapshotter->snapshot);
}

int64_t hgi_snapshotter_interval_ms(const struct hgi_snapshotter *snapshotter)
{
    return snapshotter->interval_ms;
}

void hgi_snapshotter_note_work(struct hgi_snapshotter *snapshotter, enum hgi_snapshotter_work work,
                               uint64_t done, uint64_t total)
{
    hgi_lock_store(&snapshotter->lock);
    snapshotter->stats.work = work;
    snapshotter->stats.work_done = done;
    snapshotter->stats.work_total = done > total ? done : total;
    hgi_unlock_store(&snapshotter->lock);
}

void hgi_snapshotter_stats(struct hgi_snapshotter *snapshotter,
                           struct hgi_snapshotter_stats *ret_stats)
{
    hgi_lock_store(&snapshotter->lock);
    *ret_stats = snapshotter->stats;
    hgi_unlock_store(&snapshotter->lock);
}
