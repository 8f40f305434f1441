/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that are of no use leave the file: what was invalidated with the next rounds, what is over
 * when half a page is. Only heads are read to find them. */
#include "snapshot.h"

#include <string.h>

#include "base/check.h"
#include "storage/snapshot/inside.h"

#define PORTION_ROWS  65536u /* looked at with one commit */
#define PORTION_PAGES 64u    /* changed: half a log's worth */
#define WALK_PAUSE_MS 10000  /* between walks that nobody asked for */

void hgi_snapshot_restart_purge(struct hgi_snapshot *snapshot)
{
    struct hgi_purge *purge = &snapshot->purge;

    hgi_digests_deinit(&purge->forgotten);
    purge->is_walking = false;
    purge->is_wanted = true;
}

static enum hgi_db_result begin_walk(struct hgi_snapshot *snapshot, const struct hgi_now *now)
{
    struct hgi_purge *purge = &snapshot->purge;
    enum hgi_db_result result =
        hgi_forgotten_read(snapshot, snapshot->last_forgotten, &purge->forgotten);

    if (result != HGI_DB_OK) {
        return result;
    }
    for (size_t i = 0; i < snapshot->cache_count; i++) {
        snapshot->caches[i].has_older = false;
    }
    purge->is_wanted = false;
    purge->is_walking = true;
    purge->at = 0;
    purge->until = snapshot->last_page;
    purge->forgotten_until = snapshot->last_forgotten;
    purge->began_ms = now->boot_ms;
    return HGI_DB_OK;
}

/* All pages there were have been looked at: no saved row is older than the records. */
static enum hgi_db_result end_walk(struct hgi_snapshot *snapshot)
{
    struct hgi_purge *purge = &snapshot->purge;

    hgi_digests_deinit(&purge->forgotten);
    purge->is_walking = false;
    purge->walks++;
    return hgi_forgotten_delete(snapshot, purge->forgotten_until);
}

/* Notes what each row of the page deserves. True: something is to be done. */
static bool judge(struct hgi_snapshot *snapshot, struct hgi_snapshot_cache *cache,
                  struct hgi_page_walk walk, const struct hgi_now *now)
{
    enum hgi_row_fate over = cache->has_older ? HGI_ROW_HIDE : HGI_ROW_DROP;
    unsigned char *fates = snapshot->fates.data;
    struct hgi_page_row row;
    size_t dropped = 0;
    size_t useless = 0;
    size_t count = 0;

    while (hgi_page_next(&walk, &row)) {
        enum hgi_row_fate fate = HGI_ROW_KEEP;

        if (hgi_forgotten_covers(&snapshot->purge.forgotten, cache, &row)) {
            fate = HGI_ROW_DROP;
            dropped++;
        } else if (row.over_ms < now->wall_ms) {
            fate = over;
            useless += row.size > 0 || over == HGI_ROW_DROP;
        }
        fates[count++] = (unsigned char)fate;
    }
    return dropped > 0 || (useless > 0 && 2 * useless >= count);
}

/* Looks on, up to a page that is to be changed; *ret_page is its number, 0 when there is none. */
static enum hgi_db_result find_next(struct hgi_snapshot *snapshot, const struct hgi_now *now,
                                    size_t *rows_left, int64_t *ret_page)
{
    struct hgi_purge *purge = &snapshot->purge;
    struct hgi_db *db = snapshot->db;
    struct hgi_bound from = hgi_bound_number(purge->at);
    enum hgi_db_result result = hgi_db_query(db, HGI_SQL_HEADS_SCAN, &from, 1);

    *ret_page = 0;
    while (result == HGI_DB_OK && *rows_left > 0) {
        struct hgi_snapshot_cache *cache;
        struct hgi_page_walk walk;
        int64_t id;

        result = hgi_db_next(db, HGI_SQL_HEADS_SCAN);
        if (result != HGI_DB_ROW) {
            purge->at = purge->until;
            return result;
        }
        result = HGI_DB_OK;
        id = hgi_db_number(db, HGI_SQL_HEADS_SCAN, 0);
        if (id > purge->until) {
            purge->at = purge->until;
            break;
        }
        cache = hgi_snapshot_cache_at(snapshot, hgi_db_number(db, HGI_SQL_HEADS_SCAN, 1));
        if (!cache || !hgi_page_open(&snapshot->seal, cache->digest, id,
                                     hgi_db_bytes(db, HGI_SQL_HEADS_SCAN, 3), &walk)) {
            result = hgi_db_damaged(db, "a page of rows is not what was written");
        } else if (!hgi_bytes_reserve(&snapshot->fates, walk.count)) {
            result = hgi_db_no_memory(db);
        } else if (judge(snapshot, cache, walk, now)) {
            *ret_page = id;
            break;
        } else {
            *rows_left -= walk.count < *rows_left ? walk.count : *rows_left;
            cache->has_older = true;
            purge->at = id;
        }
    }
    hgi_db_end(db, HGI_SQL_HEADS_SCAN);
    return result;
}

/* Changes the page that find_next has judged. */
static enum hgi_db_result change(struct hgi_snapshot *snapshot, int64_t id, size_t *rows_left)
{
    struct hgi_db *db = snapshot->db;
    struct hgi_bound before = hgi_bound_number(id - 1);
    struct hgi_snapshot_cache *cache;
    struct hgi_page_walk walk;
    int64_t pages = snapshot->draft.pages;
    enum hgi_db_result result = hgi_db_query(db, HGI_SQL_PAGE_NEXT, &before, 1);

    if (result == HGI_DB_OK) {
        result = hgi_db_next(db, HGI_SQL_PAGE_NEXT);
    }
    if (result != HGI_DB_ROW) {
        return result;
    }
    cache = hgi_snapshot_cache_at(snapshot, hgi_db_number(db, HGI_SQL_PAGE_NEXT, 1));
    if (!cache || hgi_db_number(db, HGI_SQL_PAGE_NEXT, 0) != id ||
        !hgi_page_open(&snapshot->seal, cache->digest, id, hgi_db_bytes(db, HGI_SQL_PAGE_NEXT, 3),
                       &walk)) {
        hgi_db_end(db, HGI_SQL_PAGE_NEXT);
        return hgi_db_damaged(db, "a page of rows is not what was written");
    }
    *rows_left -= walk.count < *rows_left ? walk.count : *rows_left;
    result = hgi_snapshot_refit(snapshot, cache, id, walk, hgi_db_bytes(db, HGI_SQL_PAGE_NEXT, 4),
                                HGI_SQL_PAGE_NEXT);
    if (result == HGI_DB_OK && snapshot->draft.pages == pages) {
        cache->has_older = true; /* something of it is left */
    }
    snapshot->purge.at = id;
    return result;
}

enum hgi_db_result hgi_snapshot_purge(struct hgi_snapshot *snapshot, const struct hgi_now *now)
{
    struct hgi_purge *purge = &snapshot->purge;
    enum hgi_db_result result = HGI_DB_OK;
    size_t rows_left = PORTION_ROWS;
    size_t pages_left = PORTION_PAGES;

    if (!purge->is_walking) {
        if (!purge->is_wanted && now->boot_ms - purge->began_ms < WALK_PAUSE_MS) {
            return HGI_DB_OK;
        }
        result = begin_walk(snapshot, now);
    }
    while (result == HGI_DB_OK && purge->at < purge->until && rows_left > 0 && pages_left > 0) {
        int64_t page;

        result = find_next(snapshot, now, &rows_left, &page);
        if (result == HGI_DB_OK && page != 0) {
            result = change(snapshot, page, &rows_left);
            pages_left--;
        }
    }
    if (result == HGI_DB_OK && purge->at >= purge->until) {
        result = end_walk(snapshot);
    }
    return result;
}

static size_t count_fates(const struct hgi_snapshot *snapshot, size_t count, enum hgi_row_fate fate)
{
    size_t found = 0;

    for (size_t i = 0; i < count; i++) {
        found += snapshot->fates.data[i] == fate;
    }
    return found;
}

/* Fills snapshot->refit. False: no memory. */
static bool gather(struct hgi_snapshot *snapshot, struct hgi_page_walk walk, struct hg_slice rows)
{
    const unsigned char *fate = snapshot->fates.data;
    struct hgi_page_row row;
    bool is_done = true;

    hgi_page_reset(&snapshot->refit);
    while (is_done && hgi_page_next(&walk, &row)) {
        if (*fate == HGI_ROW_KEEP) {
            is_done = hgi_page_copy(&snapshot->refit, &row, rows);
        } else if (*fate == HGI_ROW_HIDE) {
            is_done = hgi_page_add_mark(&snapshot->refit, row.digest, row.born);
        }
        fate++;
    }
    return is_done;
}

enum hgi_db_result hgi_snapshot_refit(struct hgi_snapshot *snapshot,
                                      const struct hgi_snapshot_cache *cache, int64_t id,
                                      struct hgi_page_walk walk, struct hg_slice rows,
                                      enum hgi_statement statement)
{
    struct hgi_db *db = snapshot->db;
    struct hgi_page *left = &snapshot->refit;
    enum hgi_db_result result;

    if (count_fates(snapshot, walk.count, HGI_ROW_DROP) == walk.count) {
        struct hgi_bound bound = hgi_bound_number(id);

        hgi_db_end(db, statement);
        result = hgi_db_run(db, HGI_SQL_PAGE_DELETE, &bound, 1);
        snapshot->draft.pages--;
        return result;
    }
    if (!gather(snapshot, walk, rows)) {
        hgi_db_end(db, statement);
        return hgi_db_no_memory(db);
    }
    hgi_db_end(db, statement);
    result =
        hgi_db_run(db, HGI_SQL_PAGE_WRITE,
                   (const struct hgi_bound[]){
                       hgi_bound_number(id), hgi_bound_number(cache->id),
                       hgi_bound_number((int64_t)left->count),
                       hgi_bound_bytes(hgi_page_close(left, &snapshot->seal, cache->digest, id)),
                       hgi_bound_bytes(hgi_bytes_slice(&left->rows))},
                   5);
    hgi_page_reset(left);
    return result;
}
