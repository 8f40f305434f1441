/* SPDX-License-Identifier: Apache-2.0 */
#include "snapshot.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "storage/snapshot/inside.h"

static enum hg_status unavailable(struct hgi_snapshot *snapshot, const char *what, const char *why,
                                  char *ret_sentence)
{
    snprintf(ret_sentence, HGI_SNAPSHOT_SENTENCE_MAX, "%s %.300s: %.150s", what,
             snapshot->place.path, why);
    return HG_UNAVAILABLE;
}

void hgi_snapshot_forget_caches(struct hgi_snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->cache_count; i++) {
        hgi_free(&hgi_heap, snapshot->caches[i].name);
    }
    hgi_free(&hgi_heap, snapshot->caches);
    snapshot->caches = NULL;
    snapshot->cache_count = 0;
    snapshot->are_caches_known = false;
}

static void end_transaction(struct hgi_snapshot *snapshot)
{
    snapshot->is_begun = false;
    snapshot->draft = snapshot->meta;
    hgi_page_reset(&snapshot->page);
    hgi_snapshot_forget_caches(snapshot);
    /* What a rolled back purge removed is there again. */
    hgi_snapshot_restart_purge(snapshot);
}

enum hg_status hgi_snapshot_fail(struct hgi_snapshot *snapshot, enum hgi_db_result result,
                                 const char *what, char *ret_sentence)
{
    (void)unavailable(snapshot, what, hgi_db_text(snapshot->db), ret_sentence);
    if (snapshot->db) {
        hgi_db_rollback(snapshot->db);
    }
    end_transaction(snapshot);
    /* After a lost sync the kernel calls the pages clean and the next sync would lie: the file is
     * never written again (I25). It stays on disk until the next begin can replace it. */
    if (result == HGI_DB_LOST || result == HGI_DB_UNUSABLE) {
        hgi_db_close(&snapshot->db);
        snapshot->fate = result == HGI_DB_LOST ? HGI_FATE_REMOVE : HGI_FATE_QUARANTINE;
    }
    return HG_UNAVAILABLE;
}

/* Room for one more, at the end. */
static struct hgi_snapshot_cache *add_cache(struct hgi_snapshot *snapshot, struct hg_slice name)
{
    struct hgi_snapshot_cache *grown = hgi_resize(
        &hgi_heap, snapshot->caches, (snapshot->cache_count + 1) * sizeof(*snapshot->caches));
    char *copy;

    if (!grown) {
        return NULL;
    }
    snapshot->caches = grown;
    copy = hgi_text_copy(&hgi_heap, name);
    if (!copy) {
        return NULL;
    }
    grown[snapshot->cache_count] = (struct hgi_snapshot_cache){
        .name = copy,
        .name_len = name.len,
        .digest = hgi_seal_digest(&snapshot->seal, HGI_SEAL_OF_CACHE, name),
        .doubted_until = INT64_MIN,
    };
    return &grown[snapshot->cache_count++];
}

enum hgi_db_result hgi_snapshot_read_caches(struct hgi_snapshot *snapshot)
{
    struct hgi_db *db = snapshot->db;
    enum hgi_db_result result = HGI_DB_OK;

    if (snapshot->are_caches_known) {
        return HGI_DB_OK;
    }
    hgi_snapshot_forget_caches(snapshot);
    result = hgi_db_query(db, HGI_SQL_CACHES_READ, NULL, 0);
    if (result == HGI_DB_OK) {
        result = hgi_db_next(db, HGI_SQL_CACHES_READ);
    }
    while (result == HGI_DB_ROW) {
        struct hg_slice name = hgi_db_bytes(db, HGI_SQL_CACHES_READ, 1);
        struct hgi_snapshot_cache *cache = add_cache(snapshot, name);

        if (!cache) {
            hgi_db_end(db, HGI_SQL_CACHES_READ);
            return hgi_db_no_memory(snapshot->db);
        }
        cache->id = hgi_db_number(db, HGI_SQL_CACHES_READ, 0);
        cache->cleared = (uint64_t)hgi_db_number(db, HGI_SQL_CACHES_READ, 2);
        cache->is_sound = hgi_cache_checksum(&snapshot->seal, cache->id, name, cache->cleared) ==
                          hgi_db_number(db, HGI_SQL_CACHES_READ, 3);
        result = hgi_db_next(db, HGI_SQL_CACHES_READ);
    }
    snapshot->are_caches_known = result == HGI_DB_OK;
    return result;
}

struct hgi_snapshot_cache *hgi_snapshot_find_cache(struct hgi_snapshot *snapshot,
                                                   struct hg_slice name)
{
    for (size_t i = 0; i < snapshot->cache_count; i++) {
        struct hgi_snapshot_cache *cache = &snapshot->caches[i];

        if (hgi_slice_equal(hg_slice_of(cache->name, cache->name_len), name)) {
            return cache;
        }
    }
    return NULL;
}

struct hgi_snapshot_cache *hgi_snapshot_cache_at(const struct hgi_snapshot *snapshot, int64_t id)
{
    for (size_t i = 0; i < snapshot->cache_count; i++) {
        if (snapshot->caches[i].id == id && snapshot->caches[i].is_sound) {
            return &snapshot->caches[i];
        }
    }
    return NULL;
}

static enum hgi_db_result write_cache(struct hgi_snapshot *snapshot,
                                      const struct hgi_snapshot_cache *cache)
{
    struct hg_slice name = hg_slice_of(cache->name, cache->name_len);

    return hgi_db_run(
        snapshot->db, HGI_SQL_CACHE_WRITE,
        (const struct hgi_bound[]){
            hgi_bound_number(cache->id), hgi_bound_bytes(name),
            hgi_bound_number((int64_t)cache->cleared),
            hgi_bound_number(hgi_cache_checksum(&snapshot->seal, cache->id, name, cache->cleared))},
        4);
}

/* Finds the cache, or enters it under a number of its own. */
static enum hgi_db_result enter_cache(struct hgi_snapshot *snapshot, struct hg_slice name,
                                      struct hgi_snapshot_cache **ret_cache)
{
    struct hgi_snapshot_cache *cache = hgi_snapshot_find_cache(snapshot, name);
    enum hgi_db_result result = HGI_DB_OK;
    int64_t id = 1;

    if (!cache) {
        if (snapshot->cache_count > 0) {
            id = snapshot->caches[snapshot->cache_count - 1].id + 1; /* they are in order of id */
        }
        cache = add_cache(snapshot, name);
        if (!cache) {
            return hgi_db_no_memory(snapshot->db);
        }
        cache->id = id;
        cache->is_sound = true;
        result = write_cache(snapshot, cache);
    }
    *ret_cache = cache;
    return result;
}

void hgi_snapshot_begin_record(struct hgi_snapshot *snapshot)
{
    struct hgi_meta *meta = &snapshot->meta;

    meta->mode = snapshot->mode;
    hgi_random(meta->salt, sizeof(meta->salt));
    meta->pages = 0;
    meta->forgotten = 0;
    hgi_seal_init(&snapshot->seal, meta->mode, meta->mode == HGI_SEAL_OWN ? NULL : &snapshot->key,
                  meta->salt);
    snapshot->last_page = 0;
    snapshot->last_forgotten = 0;
}

enum hgi_db_result hgi_snapshot_count(struct hgi_snapshot *snapshot, char *ret_why)
{
    struct hgi_db *db = snapshot->db;
    enum hgi_db_result result = hgi_db_query(db, HGI_SQL_COUNTS_READ, NULL, 0);

    if (result == HGI_DB_OK) {
        result = hgi_db_next(db, HGI_SQL_COUNTS_READ);
    }
    if (result != HGI_DB_ROW) {
        return result;
    }
    result = HGI_DB_OK;
    if (hgi_db_number(db, HGI_SQL_COUNTS_READ, 0) != snapshot->meta.pages ||
        hgi_db_number(db, HGI_SQL_COUNTS_READ, 1) != snapshot->meta.forgotten) {
        snprintf(ret_why, HGI_SCHEMA_WHY_MAX, "it has not as many rows as its own record says");
        result = HGI_DB_UNUSABLE;
    }
    snapshot->last_page = hgi_db_number(db, HGI_SQL_COUNTS_READ, 2);
    snapshot->last_forgotten = hgi_db_number(db, HGI_SQL_COUNTS_READ, 3);
    hgi_db_end(db, HGI_SQL_COUNTS_READ);
    return result;
}

/* Reads the record of a file that is ours. */
static enum hgi_db_result use_file(struct hgi_snapshot *snapshot, char *ret_why)
{
    enum hgi_db_result result = hgi_schema_use(snapshot->db);

    if (result == HGI_DB_OK) {
        result = hgi_meta_read(snapshot->db, snapshot->has_key ? &snapshot->key : NULL,
                               &snapshot->meta, &snapshot->seal, ret_why);
    }
    return result == HGI_DB_OK ? hgi_snapshot_count(snapshot, ret_why) : result;
}

static enum hgi_db_result take_over_older(struct hgi_snapshot *snapshot,
                                          struct hgi_snapshot_opened *opened,
                                          enum hg_status *ret_status, char *ret_sentence)
{
    int64_t version = 0;
    enum hgi_db_result result = hgi_schema_version(snapshot->db, &version);

    return result == HGI_DB_OK
               ? hgi_snapshot_migrate(snapshot, version, opened, ret_status, ret_sentence)
               : result;
}

/* Checks the file, or writes its tables, and reads or writes its own record. Only UNUSABLE has a
 * `why`; the rest is in the database's text, or (the status is not OK) in the sentence. */
static enum hgi_db_result settle_file(struct hgi_snapshot *snapshot,
                                      struct hgi_snapshot_opened *opened,
                                      enum hg_status *ret_status, char *ret_why, char *ret_sentence)
{
    enum hgi_schema_state state = hgi_schema_check(snapshot->db, ret_why);

    opened->is_new = state == HGI_SCHEMA_EMPTY;
    switch (state) {
    case HGI_SCHEMA_EMPTY:
        hgi_snapshot_begin_record(snapshot);
        return hgi_schema_create(snapshot->db, "WAL", &snapshot->meta, &snapshot->seal);
    case HGI_SCHEMA_OURS:
        return use_file(snapshot, ret_why);
    case HGI_SCHEMA_OLDER:
        return take_over_older(snapshot, opened, ret_status, ret_sentence);
    case HGI_SCHEMA_UNUSABLE:
    case HGI_SCHEMA_BUSY:
    case HGI_SCHEMA_FAILED:
        break;
    }
    return hgi_schema_verdict(state, ret_why);
}

/* Opens what is at the place, making it if nothing is there. */
static enum hg_status open_file(struct hgi_snapshot *snapshot, struct hgi_snapshot_opened *opened,
                                bool *ret_unusable, char *ret_why, char *ret_sentence)
{
    enum hg_status status = hgi_place_make_file(&snapshot->place, &opened->is_new, ret_sentence);
    enum hgi_db_result result;

    if (status != HG_OK) {
        return status;
    }
    result = hgi_db_open(snapshot->place.path, &snapshot->db);
    if (result == HGI_DB_OK) {
        result = settle_file(snapshot, opened, &status, ret_why, ret_sentence);
    }
    if (result == HGI_DB_OK && status == HG_OK) {
        return HG_OK;
    }
    *ret_unusable = result == HGI_DB_UNUSABLE;
    if (*ret_unusable && ret_why[0] == '\0') {
        snprintf(ret_why, HGI_SCHEMA_WHY_MAX, "%.200s", hgi_db_text(snapshot->db));
    }
    if (result == HGI_DB_BUSY) {
        snprintf(ret_sentence, HGI_SNAPSHOT_SENTENCE_MAX, "another process has the snapshot %.400s",
                 snapshot->place.path);
        status = HG_FAILED_PRECONDITION;
    } else if (result != HGI_DB_OK) {
        status = unavailable(snapshot, "cannot open the snapshot",
                             *ret_unusable ? ret_why : hgi_db_text(snapshot->db), ret_sentence);
    }
    hgi_db_close(&snapshot->db);
    return status;
}

struct hgi_snapshot *hgi_snapshot_create(void)
{
    struct hgi_snapshot *snapshot = hgi_alloc(&hgi_heap, sizeof(*snapshot));

    if (snapshot) {
        hgi_bytes_init(&snapshot->scratch, &hgi_heap);
        hgi_bytes_init(&snapshot->tags, &hgi_heap);
        hgi_bytes_init(&snapshot->fates, &hgi_heap);
        hgi_page_init(&snapshot->page);
        hgi_page_init(&snapshot->refit);
        snapshot->place.lock_fd = -1;
    }
    return snapshot;
}

void hgi_snapshot_set_key(struct hgi_snapshot *snapshot, const struct hgi_snapshot_options *options)
{
    HGI_BUG_ON(options->is_encrypted && !options->key);
    if (options->key) {
        snapshot->key = *options->key;
        snapshot->has_key = true;
        snapshot->mode = options->is_encrypted ? HGI_SEAL_SECRET : HGI_SEAL_KEYED;
    }
}

enum hg_status hgi_snapshot_open(const struct hgi_snapshot_options *options,
                                 const struct hgi_now *now, struct hgi_snapshot **ret_snapshot,
                                 struct hgi_snapshot_opened *ret_opened, char *ret_sentence)
{
    struct hgi_snapshot_opened opened = {0};
    struct hgi_snapshot *snapshot = hgi_snapshot_create();
    char why[HGI_SCHEMA_WHY_MAX] = "";
    char moved_to[PATH_MAX];
    struct hgi_place beside;
    bool is_unusable = false;
    enum hg_status status;

    if (!snapshot) {
        snprintf(ret_sentence, HGI_SNAPSHOT_SENTENCE_MAX, "no memory to open the snapshot");
        return HG_UNAVAILABLE;
    }
    hgi_snapshot_set_key(snapshot, options);
    status = hgi_place_init(&snapshot->place, options->path, ret_sentence);
    if (status != HG_OK) {
        goto out;
    }
    /* One that was not finished is of no use, and may hold credentials. */
    if (hgi_place_beside(&snapshot->place, &beside, ret_sentence) != HG_OK) {
        status = HG_UNAVAILABLE;
        goto out;
    }
    status = open_file(snapshot, &opened, &is_unusable, why, ret_sentence);
    if (is_unusable) {
        status =
            hgi_place_quarantine(&snapshot->place, now->wall_ms / 1000, moved_to, ret_sentence);
        if (status != HG_OK) {
            goto out;
        }
        opened.is_quarantined = true;
        memset(&snapshot->meta, 0, sizeof(snapshot->meta)); /* nothing of it is believed */
        snprintf(opened.quarantine, sizeof(opened.quarantine), "moved aside to %.240s: %.200s",
                 moved_to, why);
        status = open_file(snapshot, &opened, &is_unusable, why, ret_sentence);
    }
    if (status != HG_OK) {
        goto out;
    }
    snapshot->purge.is_wanted = !opened.is_new;
    snapshot->purge.began_ms = now->boot_ms;
    opened.high_water = snapshot->meta.high_water;
    opened.saved_wall_ms = snapshot->meta.saved_ms;
    *ret_opened = opened;
    *ret_snapshot = snapshot;
    snapshot = NULL;
out:
    hgi_snapshot_close(&snapshot);
    return status;
}

void hgi_snapshot_close(struct hgi_snapshot **snapshot)
{
    struct hgi_snapshot *gone = *snapshot;

    if (!gone) {
        return;
    }
    if (gone->db) {
        hgi_db_rollback(gone->db);
        (void)hgi_db_checkpoint(gone->db); /* the log is whole: the next open reads it */
        hgi_db_close(&gone->db);
    }
    hgi_snapshot_forget_caches(gone);
    hgi_bytes_deinit(&gone->scratch);
    hgi_bytes_deinit(&gone->tags);
    hgi_bytes_deinit(&gone->fates);
    hgi_page_deinit(&gone->page);
    hgi_page_deinit(&gone->refit);
    hgi_digests_deinit(&gone->purge.forgotten);
    hgi_seal_deinit(&gone->seal);
    explicit_bzero(&gone->key, sizeof(gone->key));
    if (gone->is_beside) {
        char sentence[HGI_SNAPSHOT_SENTENCE_MAX];

        (void)hgi_place_remove(&gone->place, sentence); /* or the next one does */
    }
    hgi_place_deinit(&gone->place);
    hgi_free(&hgi_heap, gone);
    *snapshot = NULL;
}

/* Puts a new, empty file in the place of one that was given up. */
static enum hg_status renew(struct hgi_snapshot *snapshot, const struct hgi_now *now,
                            char *ret_sentence)
{
    char why[HGI_SCHEMA_WHY_MAX] = "";
    char moved_to[PATH_MAX];
    struct hgi_snapshot_opened opened;
    bool is_unusable = false;
    enum hg_status status = HG_OK;

    if (snapshot->fate == HGI_FATE_QUARANTINE && access(snapshot->place.path, F_OK) != 0) {
        snapshot->fate = HGI_FATE_REMOVE; /* only its log is left */
    }
    if (snapshot->fate == HGI_FATE_REMOVE) {
        status = hgi_place_remove(&snapshot->place, ret_sentence);
    } else if (snapshot->fate == HGI_FATE_QUARANTINE) {
        status =
            hgi_place_quarantine(&snapshot->place, now->wall_ms / 1000, moved_to, ret_sentence);
    }
    if (status != HG_OK) {
        return status;
    }
    snapshot->fate = HGI_FATE_KEEP;
    status = open_file(snapshot, &opened, &is_unusable, why, ret_sentence);
    if (status != HG_OK) {
        snapshot->fate = HGI_FATE_REMOVE;
        return status;
    }
    snapshot->renewals++;
    snapshot->files++;
    return HG_OK;
}

enum hg_status hgi_snapshot_begin(struct hgi_snapshot *snapshot, enum hgi_snapshot_sync sync,
                                  const struct hgi_now *now, char *ret_sentence)
{
    const char *what = "cannot write to the snapshot";
    enum hgi_db_result result;
    enum hg_status status;

    HGI_BUG_ON(snapshot->is_begun);
    if (!snapshot->db) {
        status = renew(snapshot, now, ret_sentence);
        if (status != HG_OK) {
            return status;
        }
    }
    result = hgi_db_begin(snapshot->db, sync == HGI_SNAPSHOT_DURABLE);
    if (result == HGI_DB_OK) {
        result = hgi_snapshot_read_caches(snapshot);
    }
    for (size_t i = 0; i < snapshot->cache_count && result == HGI_DB_OK; i++) {
        /* restore has taken such caches out; here the file was damaged under us. */
        if (!snapshot->caches[i].is_sound) {
            what = "a clear in the snapshot is damaged, it is moved aside,";
            result = HGI_DB_UNUSABLE;
        }
    }
    if (result != HGI_DB_OK) {
        return hgi_snapshot_fail(snapshot, result, what, ret_sentence);
    }
    snapshot->draft = snapshot->meta;
    snapshot->page_cache = 0; /* numbers of caches that were rolled back are given again */
    snapshot->sync = sync;
    snapshot->is_begun = true;
    return HG_OK;
}

void hgi_snapshot_rollback(struct hgi_snapshot *snapshot)
{
    if (snapshot->is_begun) {
        hgi_db_rollback(snapshot->db);
        end_transaction(snapshot);
    }
}

void hgi_snapshot_note_generation(struct hgi_snapshot *snapshot, uint64_t generation)
{
    if (generation > snapshot->draft.high_water) {
        snapshot->draft.high_water = generation;
    }
}

enum hgi_db_result hgi_snapshot_flush(struct hgi_snapshot *snapshot)
{
    struct hgi_page *page = &snapshot->page;
    enum hgi_db_result result;
    int64_t id;

    if (page->count == 0) {
        return HGI_DB_OK;
    }
    id = ++snapshot->last_page;
    result = hgi_db_run(
        snapshot->db, HGI_SQL_PAGE_WRITE,
        (const struct hgi_bound[]){
            hgi_bound_number(id), hgi_bound_number(snapshot->page_cache),
            hgi_bound_number((int64_t)page->count),
            hgi_bound_bytes(hgi_page_close(page, &snapshot->seal, snapshot->page_cache_digest, id)),
            hgi_bound_bytes(hgi_bytes_slice(&page->rows))},
        5);
    snapshot->draft.pages++;
    hgi_page_reset(page);
    return result;
}

/* Into the page that is being filled, which is of one cache. */
static enum hgi_db_result put_row(struct hgi_snapshot *snapshot,
                                  const struct hgi_snapshot_cache *cache,
                                  const struct hgi_entry *entry, const struct hgi_now *now)
{
    struct hgi_page *page = &snapshot->page;
    struct hgi_row row;
    enum hgi_db_result result = HGI_DB_OK;
    bool is_put;

    if (snapshot->page_cache != cache->id) {
        result = hgi_snapshot_flush(snapshot);
        snapshot->page_cache = cache->id;
        snapshot->page_cache_digest = cache->digest;
    }
    if (result != HGI_DB_OK) {
        return result;
    }
    if (!hgi_row_of_entry(entry, now, &row)) {
        /* Memory replaced the row on disk by something shorter: what it replaced stays gone. */
        is_put = hgi_page_add_mark(
            page, hgi_page_key_digest(&snapshot->seal, cache->digest, entry->key), entry->born);
    } else {
        is_put = hgi_row_tags_set(&row, entry, &snapshot->tags) &&
                 hgi_page_add(page, &snapshot->seal, cache->digest, &row, entry);
    }
    if (!is_put) {
        return hgi_db_no_memory(snapshot->db);
    }
    return hgi_page_is_full(page) ? hgi_snapshot_flush(snapshot) : HGI_DB_OK;
}

enum hg_status hgi_snapshot_put(struct hgi_snapshot *snapshot, struct hg_slice cache_name,
                                const struct hgi_entry *entry, const struct hgi_now *now,
                                char *ret_sentence)
{
    struct hgi_snapshot_cache *cache = NULL;
    enum hgi_db_result result;

    HGI_BUG_ON(!snapshot->is_begun);
    result = enter_cache(snapshot, cache_name, &cache);
    if (result == HGI_DB_OK && entry->born < cache->cleared) {
        return HG_OK;
    }
    if (result == HGI_DB_OK) {
        result = put_row(snapshot, cache, entry, now);
    }
    if (result != HGI_DB_OK) {
        return hgi_snapshot_fail(snapshot, result, "cannot save to the snapshot", ret_sentence);
    }
    hgi_snapshot_note_generation(snapshot, entry->born);
    return HG_OK;
}

enum hg_status hgi_snapshot_clear(struct hgi_snapshot *snapshot, struct hg_slice cache_name,
                                  uint64_t generation, char *ret_sentence)
{
    struct hgi_snapshot_cache *cache = NULL;
    enum hgi_db_result result;

    HGI_BUG_ON(!snapshot->is_begun);
    result = enter_cache(snapshot, cache_name, &cache);
    if (result == HGI_DB_OK && cache->cleared < generation) {
        cache->cleared = generation;
        result = write_cache(snapshot, cache);
    }
    if (result != HGI_DB_OK) {
        return hgi_snapshot_fail(snapshot, result, "cannot record the clear in the snapshot",
                                 ret_sentence);
    }
    hgi_snapshot_note_generation(snapshot, generation);
    snapshot->purge.is_wanted = true;
    return HG_OK;
}
