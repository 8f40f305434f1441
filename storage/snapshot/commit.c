/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a transaction: the record, the log. And what is asked between them. */
#include "snapshot.h"

#include "base/check.h"
#include "storage/snapshot/inside.h"

/* Pages of 8 KiB in the log, then a commit checkpoints by itself: 8 MiB, and with rows that are
 * written behind, many in a row, 64 MiB. */
#define LOG_PAGES_MAX        1024
#define LOG_PAGES_MAX_BEHIND 8192

enum hg_status hgi_snapshot_commit(struct hgi_snapshot *snapshot, uint64_t high_water,
                                   const struct hgi_now *now, char *ret_sentence)
{
    bool is_behind = snapshot->sync == HGI_SNAPSHOT_BEHIND;
    enum hgi_db_result result = hgi_snapshot_flush(snapshot);

    HGI_BUG_ON(!snapshot->is_begun);
    hgi_snapshot_note_generation(snapshot, high_water);
    snapshot->draft.saved_ms = now->wall_ms;
    if (result == HGI_DB_OK && is_behind) {
        result = hgi_snapshot_purge(snapshot, now);
    }
    if (result == HGI_DB_OK) {
        result = hgi_meta_write(snapshot->db, &snapshot->draft, &snapshot->seal);
    }
    if (result == HGI_DB_OK) {
        result = hgi_db_commit(snapshot->db);
    }
    if (result != HGI_DB_OK) {
        return hgi_snapshot_fail(snapshot, result, "cannot commit to the snapshot", ret_sentence);
    }
    snapshot->meta = snapshot->draft;
    snapshot->is_begun = false;
    if (hgi_db_log_pages(snapshot->db) > (is_behind ? LOG_PAGES_MAX_BEHIND : LOG_PAGES_MAX)) {
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
    return snapshot->purge.is_wanted || snapshot->purge.is_walking;
}

uint64_t hgi_snapshot_purges(const struct hgi_snapshot *snapshot)
{
    return snapshot->purge.walks;
}

bool hgi_snapshot_is_outdated(const struct hgi_snapshot *snapshot)
{
    return snapshot->db && snapshot->meta.mode != snapshot->mode;
}

const char *hgi_snapshot_path(const struct hgi_snapshot *snapshot)
{
    return snapshot->place.path;
}

void hgi_snapshot_facts(const struct hgi_snapshot *snapshot, struct hgi_snapshot_facts *ret_facts)
{
    const struct hgi_meta *meta = &snapshot->meta;

    ret_facts->version = HGI_SCHEMA_VERSION;
    hgi_place_sizes(&snapshot->place, &ret_facts->file_bytes, &ret_facts->log_bytes);
    ret_facts->pages = (uint64_t)meta->pages;
    ret_facts->invalidations = (uint64_t)meta->forgotten;
    ret_facts->high_water = meta->high_water;
    ret_facts->saved_wall_ms = meta->saved_ms;
    ret_facts->is_keyed = meta->mode != HGI_SEAL_OWN;
    ret_facts->is_encrypted = meta->mode == HGI_SEAL_SECRET;
}

uint64_t hgi_snapshot_renewals(const struct hgi_snapshot *snapshot)
{
    return snapshot->renewals;
}
