/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a transaction: the purge, the record, the log. And what is asked between them. */
#include "snapshot.h"

#include "base/check.h"
#include "storage/snapshot/inside.h"

#define LOG_PAGES_MAX 1024 /* 8 MiB of 8 KiB pages, then a commit checkpoints by itself */
#define PURGE_ROWS    4096 /* looked at with each BEHIND commit */

/* Takes out cleared rows and rows whose time is over among the next PURGE_ROWS; goes round. */
static enum hgi_db_result purge(struct hgi_snapshot *snapshot, const struct hgi_now *now)
{
    struct hgi_db *db = snapshot->db;
    int64_t until;
    int64_t count;
    enum hgi_db_result result =
        hgi_db_query(db, HGI_SQL_PORTION_END,
                     (const struct hgi_bound[]){hgi_bound_number(snapshot->purge_from),
                                                hgi_bound_number(PURGE_ROWS)},
                     2);

    if (result == HGI_DB_OK) {
        result = hgi_db_next(db, HGI_SQL_PORTION_END);
    }
    if (result != HGI_DB_ROW) {
        return result;
    }
    until = hgi_db_number(db, HGI_SQL_PORTION_END, 0);
    count = hgi_db_number(db, HGI_SQL_PORTION_END, 1);
    hgi_db_end(db, HGI_SQL_PORTION_END);
    if (count > 0) {
        result = hgi_db_run(db, HGI_SQL_PORTION_PURGE,
                            (const struct hgi_bound[]){hgi_bound_number(snapshot->purge_from),
                                                       hgi_bound_number(until),
                                                       hgi_bound_number(now->wall_ms)},
                            3);
        if (result != HGI_DB_OK) {
            return result;
        }
    }
    if (count < PURGE_ROWS) {
        snapshot->purge_from = 0;
        snapshot->is_purging = false;
    } else {
        snapshot->purge_from = until;
    }
    return HGI_DB_OK;
}

enum hg_status hgi_snapshot_commit(struct hgi_snapshot *snapshot, uint64_t high_water,
                                   const struct hgi_now *now, char *ret_sentence)
{
    enum hgi_db_result result = HGI_DB_OK;
    struct hgi_meta meta;

    HGI_BUG_ON(!snapshot->is_begun);
    if (high_water > snapshot->meta.high_water) {
        snapshot->meta.high_water = high_water;
    }
    meta = snapshot->meta;
    meta.saved_ms = now->wall_ms;
    if (snapshot->sync == HGI_SNAPSHOT_BEHIND) {
        result = purge(snapshot, now);
    }
    if (result == HGI_DB_OK) {
        result = hgi_meta_write(snapshot->db, &meta);
    }
    if (result == HGI_DB_OK) {
        result = hgi_db_commit(snapshot->db);
    }
    if (result != HGI_DB_OK) {
        return hgi_snapshot_fail(snapshot, result, "cannot commit to the snapshot", ret_sentence);
    }
    snapshot->meta = meta;
    snapshot->is_begun = false;
    if (hgi_db_log_pages(snapshot->db) > LOG_PAGES_MAX) {
        char sentence[HGI_SNAPSHOT_SENTENCE_MAX];

        /* The commit stands whatever becomes of this; a lost sync shows as a renewal. */
        (void)hgi_snapshot_checkpoint(snapshot, sentence);
    }
    return HG_OK;
}

enum hg_status hgi_snapshot_checkpoint(struct hgi_snapshot *snapshot, char *ret_sentence)
{
    enum hgi_db_result result;

    HGI_BUG_ON(snapshot->is_begun);
    if (!snapshot->db) {
        return HG_OK; /* given up: nothing to keep */
    }
    result = hgi_db_checkpoint(snapshot->db);
    if (result != HGI_DB_OK) {
        return hgi_snapshot_fail(snapshot, result, "cannot move the log into the snapshot",
                                 ret_sentence);
    }
    return HG_OK;
}

enum hg_status hgi_snapshot_rows(struct hgi_snapshot *snapshot, struct hg_slice cache_name,
                                 uint64_t *ret_rows, char *ret_sentence)
{
    enum hgi_db_result result = HGI_DB_OK;
    uint64_t rows = 0;

    if (snapshot->db) {
        result = hgi_snapshot_read_caches(snapshot);
    }
    for (size_t i = 0; result == HGI_DB_OK && i < snapshot->cache_count; i++) {
        const struct hgi_snapshot_cache *cache = &snapshot->caches[i];

        if (!hgi_slice_equal(hg_slice_of(cache->name, cache->name_len), cache_name)) {
            continue;
        }
        result = hgi_db_query(snapshot->db, HGI_SQL_ROWS_COUNT,
                              (const struct hgi_bound[]){hgi_bound_number(cache->id)}, 1);
        if (result == HGI_DB_OK) {
            result = hgi_db_next(snapshot->db, HGI_SQL_ROWS_COUNT);
        }
        if (result == HGI_DB_ROW) {
            rows = (uint64_t)hgi_db_number(snapshot->db, HGI_SQL_ROWS_COUNT, 0);
            hgi_db_end(snapshot->db, HGI_SQL_ROWS_COUNT);
            result = HGI_DB_OK;
        }
        break;
    }
    if (result != HGI_DB_OK) {
        return hgi_snapshot_fail(snapshot, result, "cannot read the snapshot", ret_sentence);
    }
    *ret_rows = rows;
    return HG_OK;
}

bool hgi_snapshot_is_purging(const struct hgi_snapshot *snapshot)
{
    return snapshot->is_purging;
}

uint64_t hgi_snapshot_renewals(const struct hgi_snapshot *snapshot)
{
    return snapshot->renewals;
}
