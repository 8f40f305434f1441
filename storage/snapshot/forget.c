/* SPDX-License-Identifier: Apache-2.0 */
/* Invalidations: a record for each key and for each name that entries share. What they cover is
 * never read again, and leaves the file behind (purge.c); then the record goes too. */
#include "snapshot.h"

#include "base/check.h"
#include "storage/snapshot/inside.h"

static enum hgi_db_result record(struct hgi_snapshot *snapshot, uint64_t digest,
                                 uint64_t generation)
{
    int64_t id;

    if (generation == 0) {
        return HGI_DB_OK; /* nothing is born before it */
    }
    id = ++snapshot->last_forgotten;
    snapshot->draft.forgotten++;
    return hgi_db_run(
        snapshot->db, HGI_SQL_FORGOTTEN_WRITE,
        (const struct hgi_bound[]){
            hgi_bound_number(id), hgi_bound_number((int64_t)digest),
            hgi_bound_number((int64_t)generation),
            hgi_bound_number(hgi_forgotten_checksum(&snapshot->seal, id, digest, generation))},
        4);
}

static enum hg_status end(struct hgi_snapshot *snapshot, enum hgi_db_result result,
                          uint64_t generation, char *ret_sentence)
{
    if (result != HGI_DB_OK) {
        return hgi_snapshot_fail(snapshot, result, "cannot record the invalidation in the snapshot",
                                 ret_sentence);
    }
    hgi_snapshot_note_generation(snapshot, generation);
    return HG_OK;
}

enum hg_status hgi_snapshot_forget(struct hgi_snapshot *snapshot, struct hg_slice cache_name,
                                   const struct hg_slice *keys, size_t key_count,
                                   uint64_t generation, char *ret_sentence)
{
    struct hgi_snapshot_cache *cache = hgi_snapshot_find_cache(snapshot, cache_name);
    /* A cache that was never entered has no rows. */
    bool has_rows = cache && hgi_snapshot_has_rows(snapshot);
    enum hgi_db_result result = HGI_DB_OK;

    HGI_BUG_ON(!snapshot->is_begun);
    for (size_t i = 0; has_rows && i < key_count && result == HGI_DB_OK; i++) {
        result = record(snapshot, hgi_page_key_digest(&snapshot->seal, cache->digest, keys[i]),
                        generation);
        snapshot->purge.is_wanted = true;
    }
    return end(snapshot, result, generation, ret_sentence);
}

enum hg_status hgi_snapshot_forget_tags(struct hgi_snapshot *snapshot, struct hg_slice cache_name,
                                        const struct hgi_snapshot_tag *tags, size_t tag_count,
                                        char *ret_sentence)
{
    struct hgi_snapshot_cache *cache = hgi_snapshot_find_cache(snapshot, cache_name);
    bool has_rows = cache && hgi_snapshot_has_rows(snapshot);
    enum hgi_db_result result = HGI_DB_OK;
    uint64_t latest = 0;

    HGI_BUG_ON(!snapshot->is_begun);
    for (size_t i = 0; i < tag_count && result == HGI_DB_OK; i++) {
        latest = tags[i].generation > latest ? tags[i].generation : latest;
        if (has_rows) {
            result =
                record(snapshot, hgi_page_tag_digest(&snapshot->seal, cache->digest, tags[i].name),
                       tags[i].generation);
            snapshot->purge.is_wanted = true;
        }
    }
    return end(snapshot, result, latest, ret_sentence);
}

enum hg_status hgi_snapshot_drop_rows(struct hgi_snapshot *snapshot, struct hg_slice cache_name,
                                      char *ret_sentence)
{
    struct hgi_snapshot_cache *cache = hgi_snapshot_find_cache(snapshot, cache_name);
    enum hgi_db_result result = HGI_DB_OK;

    HGI_BUG_ON(!snapshot->is_begun);
    if (cache) {
        struct hgi_bound id = hgi_bound_number(cache->id);

        if (snapshot->page_cache == cache->id) {
            hgi_page_reset(&snapshot->page);
        }
        result = hgi_db_run(snapshot->db, HGI_SQL_PAGES_DROP, &id, 1);
        snapshot->draft.pages -= result == HGI_DB_OK ? hgi_db_changes(snapshot->db) : 0;
    }
    if (result != HGI_DB_OK) {
        return hgi_snapshot_fail(snapshot, result, "cannot rewrite the snapshot", ret_sentence);
    }
    return HG_OK;
}

enum hgi_db_result hgi_forgotten_read(struct hgi_snapshot *snapshot, int64_t until,
                                      struct hgi_digests *ret_forgotten)
{
    struct hgi_db *db = snapshot->db;
    struct hgi_bound bound = hgi_bound_number(until);
    enum hgi_db_result result;

    if (!hgi_digests_init(ret_forgotten, (size_t)snapshot->draft.forgotten)) {
        return hgi_db_no_memory(db);
    }
    result = hgi_db_query(db, HGI_SQL_FORGOTTEN_READ, &bound, 1);
    while (result == HGI_DB_OK &&
           (result = hgi_db_next(db, HGI_SQL_FORGOTTEN_READ)) == HGI_DB_ROW) {
        int64_t id = hgi_db_number(db, HGI_SQL_FORGOTTEN_READ, 0);
        uint64_t digest = (uint64_t)hgi_db_number(db, HGI_SQL_FORGOTTEN_READ, 1);
        uint64_t generation = (uint64_t)hgi_db_number(db, HGI_SQL_FORGOTTEN_READ, 2);

        result = HGI_DB_OK;
        if (generation == 0 ||
            hgi_db_number(db, HGI_SQL_FORGOTTEN_READ, 3) !=
                hgi_forgotten_checksum(&snapshot->seal, id, digest, generation)) {
            result = hgi_db_damaged(db, "the record of an invalidation is not what was written");
        } else if (!hgi_digests_raise(ret_forgotten, digest, generation)) {
            result = hgi_db_no_memory(db);
        }
    }
    hgi_db_end(db, HGI_SQL_FORGOTTEN_READ);
    if (result != HGI_DB_OK) {
        hgi_digests_deinit(ret_forgotten);
    }
    return result;
}

enum hgi_db_result hgi_forgotten_delete(struct hgi_snapshot *snapshot, int64_t until)
{
    struct hgi_bound bound = hgi_bound_number(until);
    enum hgi_db_result result;

    if (snapshot->draft.forgotten == 0) {
        return HGI_DB_OK;
    }
    result = hgi_db_run(snapshot->db, HGI_SQL_FORGOTTEN_DELETE, &bound, 1);
    if (result == HGI_DB_OK) {
        snapshot->draft.forgotten -= hgi_db_changes(snapshot->db);
    }
    return result;
}

bool hgi_forgotten_covers(const struct hgi_digests *forgotten,
                          const struct hgi_snapshot_cache *cache, const struct hgi_page_row *row)
{
    if (row->born < cache->cleared) {
        return true;
    }
    if (forgotten->count == 0) {
        return false;
    }
    if (row->born < hgi_digests_find(forgotten, row->digest)) {
        return true;
    }
    for (size_t i = 0; i < row->tag_count; i++) {
        if (row->born < hgi_digests_find(forgotten, hgi_page_tag(row, i))) {
            return true;
        }
    }
    return false;
}
