/* SPDX-License-Identifier: Apache-2.0 */
/* Rows back into memory, and out of the file those that are of no use. */
#include "snapshot.h"

#include <string.h>

#include "base/check.h"
#include "storage/snapshot/inside.h"

#define PORTION_ROWS 512

/* One walk over the file. */
struct restoration {
    struct hgi_snapshot *snapshot;
    const struct hgi_now *now;
    bool (*visit)(void *context, struct hg_slice cache, const struct hgi_entry *entry);
    void *context;
    uint64_t restored;
    uint64_t dropped;
    int64_t last_id;                    /* the row looked at last */
    struct hg_slice tags[HGI_TAGS_MAX]; /* of the row being judged */
    int64_t dead_ids[PORTION_ROWS];
    size_t dead_count;
};

static const struct hgi_snapshot_cache *find_by_id(const struct hgi_snapshot *snapshot, int64_t id)
{
    for (size_t i = 0; i < snapshot->cache_count; i++) {
        if (snapshot->caches[i].id == id && snapshot->caches[i].is_sound) {
            return &snapshot->caches[i];
        }
    }
    return NULL;
}

/* WRONG: damaged, or not ours. OVER: ours, and past, or cleared. */
static enum hgi_row_state judge(struct restoration *walk, int64_t cache_id,
                                const struct hgi_row *row, int64_t checksum,
                                struct hg_slice *ret_cache, struct hgi_entry *ret_entry)
{
    struct hgi_snapshot *snapshot = walk->snapshot;
    const struct hgi_snapshot_cache *cache = find_by_id(snapshot, cache_id);
    int64_t expected;

    if (!cache) {
        return HGI_ROW_WRONG;
    }
    *ret_cache = hg_slice_of(cache->name, cache->name_len);
    if (!hgi_row_checksum(&snapshot->meta.key, *ret_cache, row, &snapshot->scratch, &expected) ||
        expected != checksum) {
        return HGI_ROW_WRONG;
    }
    /* A generation never handed out: the row is from a file older or newer than its record. */
    if (row->born < 0 || (uint64_t)row->born > snapshot->meta.high_water) {
        return HGI_ROW_WRONG;
    }
    if ((uint64_t)row->born < cache->cleared) {
        return HGI_ROW_OVER;
    }
    return hgi_row_to_entry(row, walk->now, walk->tags, ret_entry);
}

static enum hgi_db_result walk_portion(struct restoration *walk, bool *ret_is_last)
{
    struct hgi_db *db = walk->snapshot->db;
    enum hgi_db_result result = hgi_db_query(
        db, HGI_SQL_ROWS_SCAN,
        (const struct hgi_bound[]){hgi_bound_number(walk->last_id), hgi_bound_number(PORTION_ROWS)},
        2);
    size_t seen = 0;

    walk->dead_count = 0;
    while (result == HGI_DB_OK || result == HGI_DB_ROW) {
        struct hg_slice cache = {0};
        struct hgi_entry entry;
        struct hgi_row row;
        int64_t cache_id;
        int64_t checksum;
        enum hgi_row_state state;

        result = hgi_row_next(db, &walk->last_id, &cache_id, &row, &checksum);
        if (result != HGI_DB_ROW) {
            break;
        }
        seen++;
        state = judge(walk, cache_id, &row, checksum, &cache, &entry);
        if (state == HGI_ROW_USABLE && walk->visit(walk->context, cache, &entry)) {
            walk->restored++;
            continue;
        }
        walk->dropped += state == HGI_ROW_WRONG;
        walk->dead_ids[walk->dead_count++] = walk->last_id;
    }
    *ret_is_last = seen < PORTION_ROWS;
    return result;
}

static enum hgi_db_result remove_dead(struct restoration *walk)
{
    struct hgi_db *db = walk->snapshot->db;
    enum hgi_db_result result = HGI_DB_OK;

    if (walk->dead_count == 0) {
        return HGI_DB_OK;
    }
    result = hgi_db_begin(db, false);
    for (size_t i = 0; i < walk->dead_count && result == HGI_DB_OK; i++) {
        result = hgi_db_run(db, HGI_SQL_ROW_DELETE,
                            (const struct hgi_bound[]){hgi_bound_number(walk->dead_ids[i])}, 1);
    }
    return result == HGI_DB_OK ? hgi_db_commit(db) : result;
}

/* Clear records go with the last row older than them: generations start above all of them. */
static enum hgi_db_result remove_unused_caches(struct hgi_snapshot *snapshot)
{
    enum hgi_db_result result = hgi_db_begin(snapshot->db, false);

    if (result == HGI_DB_OK) {
        result = hgi_db_run(snapshot->db, HGI_SQL_CACHES_UNUSED_DELETE, NULL, 0);
    }
    return result == HGI_DB_OK ? hgi_db_commit(snapshot->db) : result;
}

static enum hgi_db_result empty_file(struct hgi_snapshot *snapshot, uint64_t *ret_dropped)
{
    int64_t rows = 0;
    enum hgi_db_result result =
        hgi_db_read_number(snapshot->db, "SELECT count(*) FROM rows", &rows);

    if (result == HGI_DB_OK) {
        result = hgi_db_begin(snapshot->db, true);
    }
    if (result == HGI_DB_OK) {
        result = hgi_db_exec(snapshot->db, "DELETE FROM rows; DELETE FROM caches");
    }
    if (result == HGI_DB_OK) {
        result = hgi_db_commit(snapshot->db);
    }
    *ret_dropped = (uint64_t)rows;
    return result;
}

enum hg_status hgi_snapshot_restore(struct hgi_snapshot *snapshot, const struct hgi_now *now,
                                    bool (*visit)(void *context, struct hg_slice cache,
                                                  const struct hgi_entry *entry),
                                    void *context, uint64_t *ret_restored, uint64_t *ret_dropped,
                                    char *ret_sentence)
{
    struct restoration walk = {
        .snapshot = snapshot, .now = now, .visit = visit, .context = context, .last_id = INT64_MIN};
    enum hgi_db_result result;
    enum hgi_db_result removed = HGI_DB_OK;
    bool is_last = false;

    HGI_BUG_ON(snapshot->is_begun || !snapshot->db);
    if (now->wall_ms < snapshot->meta.saved_ms) {
        /* How long we were down cannot be known, so no row's age can. */
        result = empty_file(snapshot, &walk.dropped);
        goto out;
    }
    result = hgi_snapshot_read_caches(snapshot);
    while (result == HGI_DB_OK && !is_last) {
        result = walk_portion(&walk, &is_last);
        if (result == HGI_DB_OK && removed == HGI_DB_OK) {
            removed = remove_dead(&walk);
            if (removed != HGI_DB_OK) {
                hgi_db_rollback(snapshot->db); /* read on: a full disk must not empty the cache */
            }
        }
    }
    if (result == HGI_DB_OK) {
        result = removed;
    }
    if (result == HGI_DB_OK) {
        result = remove_unused_caches(snapshot);
    }
out:
    hgi_snapshot_forget_caches(snapshot);
    *ret_restored = walk.restored;
    *ret_dropped = walk.dropped;
    if (result != HGI_DB_OK) {
        return hgi_snapshot_fail(snapshot, result, "cannot restore from the snapshot",
                                 ret_sentence);
    }
    return HG_OK;
}
