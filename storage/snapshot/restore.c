/* SPDX-License-Identifier: Apache-2.0 */
/* Rows back into memory, and out of the file those that are of no use.
 *
 * Two looks: the first at heads alone, which says of each key where its last row is; the second
 * reads those rows. A last row that cannot be used still hides what is older of its key. A head
 * that is not what was written hides nobody knows what: then no older page of its cache is
 * believed. */
#include "snapshot.h"

#include <string.h>

#include "base/check.h"
#include "storage/snapshot/inside.h"

#define PORTION_PAGES 64u /* changed in one transaction */

struct restoration {
    struct hgi_snapshot *snapshot;
    const struct hgi_now *now;
    bool (*visit)(void *context, struct hg_slice cache, const struct hgi_entry *entry);
    void *context;
    uint64_t restored;
    uint64_t dropped;
    struct hgi_digests forgotten;
    struct hgi_digests last; /* digest of a key to row_number of its last row */
    int64_t last_id;         /* the page looked at last */
    bool is_distrustful;     /* an invalidation is damaged: nothing is believed */
    size_t changes;          /* in the present transaction */
    enum hgi_db_result removed;
    struct hg_slice tags[HGI_TAGS_MAX]; /* of the row being judged */
};

/* ---- the first look ---- */

static enum hgi_db_result prepare(struct restoration *walk)
{
    struct hgi_snapshot *snapshot = walk->snapshot;
    struct hgi_db *db = snapshot->db;
    int64_t head_bytes = 0;
    enum hgi_db_result result =
        hgi_forgotten_read(snapshot, snapshot->last_forgotten, &walk->forgotten);

    if (result == HGI_DB_UNUSABLE) {
        walk->is_distrustful = true;
        result = HGI_DB_OK;
    }
    if (result == HGI_DB_OK) {
        result = hgi_db_query(db, HGI_SQL_HEADS_SIZE, NULL, 0);
    }
    if (result == HGI_DB_OK) {
        result = hgi_db_next(db, HGI_SQL_HEADS_SIZE);
    }
    if (result == HGI_DB_ROW) {
        head_bytes = hgi_db_number(db, HGI_SQL_HEADS_SIZE, 0);
        hgi_db_end(db, HGI_SQL_HEADS_SIZE);
        result = hgi_digests_init(&walk->last, (size_t)head_bytes / HGI_PAGE_HEAD_ROW)
                     ? HGI_DB_OK
                     : hgi_db_no_memory(db);
    }
    return result;
}

/* In the order in which rows were written. */
static uint64_t row_number(int64_t page_id, size_t i)
{
    return ((uint64_t)page_id * (HGI_PAGE_ROWS_MAX + 1)) + i + 1;
}

/* The map is larger than the processor's caches: its places are fetched for a page together. */
static void fetch_last(const struct restoration *walk, struct hgi_page_walk page)
{
    struct hgi_page_row row;

    while (hgi_page_next(&page, &row)) {
        hgi_digests_fetch(&walk->last, row.digest);
    }
}

static bool note_last(struct restoration *walk, int64_t id, struct hgi_page_walk page)
{
    struct hgi_page_row row;

    fetch_last(walk, page);
    for (size_t i = 0; hgi_page_next(&page, &row); i++) {
        if (!hgi_digests_raise(&walk->last, row.digest, row_number(id, i))) {
            return false;
        }
    }
    return true;
}

static enum hgi_db_result look_at_heads(struct restoration *walk)
{
    struct hgi_snapshot *snapshot = walk->snapshot;
    struct hgi_db *db = snapshot->db;
    struct hgi_bound from = hgi_bound_number(INT64_MIN);
    enum hgi_db_result result = hgi_db_query(db, HGI_SQL_HEADS_SCAN, &from, 1);

    while (result == HGI_DB_OK && (result = hgi_db_next(db, HGI_SQL_HEADS_SCAN)) == HGI_DB_ROW) {
        int64_t id = hgi_db_number(db, HGI_SQL_HEADS_SCAN, 0);
        struct hgi_snapshot_cache *cache =
            hgi_snapshot_cache_at(snapshot, hgi_db_number(db, HGI_SQL_HEADS_SCAN, 1));
        struct hgi_page_walk page;

        result = HGI_DB_OK;
        if (!cache) {
            continue;
        }
        if (walk->is_distrustful ||
            !hgi_page_open(&snapshot->seal, cache->digest, id,
                           hgi_db_bytes(db, HGI_SQL_HEADS_SCAN, 3), &page)) {
            cache->doubted_until = id;
        } else if (!note_last(walk, id, page)) {
            result = hgi_db_no_memory(db);
        }
    }
    hgi_db_end(db, HGI_SQL_HEADS_SCAN);
    return result;
}

/* ---- the second ---- */

/* Hands the row on if it is of use; else says what becomes of it. */
static enum hgi_row_fate take(struct restoration *walk, const struct hgi_snapshot_cache *cache,
                              const struct hgi_page_row *at, struct hg_slice rows)
{
    struct hgi_snapshot *snapshot = walk->snapshot;
    enum hgi_row_fate fate = cache->has_older ? HGI_ROW_HIDE : HGI_ROW_DROP;
    enum hgi_row_state state = HGI_ROW_WRONG;
    struct hgi_entry entry;
    struct hgi_row row;

    if (at->size == 0) {
        return fate;
    }
    /* A generation never handed out: the row is from a file older or newer than its record. */
    if (at->born <= snapshot->meta.high_water &&
        hgi_page_read(&snapshot->seal, cache->digest, at, rows, &snapshot->scratch, &row)) {
        state = hgi_row_to_entry(&row, walk->now, walk->tags, &entry);
    }
    if (state == HGI_ROW_USABLE &&
        walk->visit(walk->context, hg_slice_of(cache->name, cache->name_len), &entry)) {
        walk->restored++;
        return HGI_ROW_KEEP;
    }
    walk->dropped += state == HGI_ROW_WRONG;
    return fate;
}

/* Notes what becomes of each row. True: the page loses something. Rows that are merely hidden, or
 * over, go when half a page is. */
static bool take_rows(struct restoration *walk, const struct hgi_snapshot_cache *cache, int64_t id,
                      struct hgi_page_walk page, struct hg_slice rows)
{
    unsigned char *fates = walk->snapshot->fates.data;
    struct hgi_page_row row;
    size_t useless = 0;
    size_t wrong = 0;
    size_t count = 0;

    fetch_last(walk, page);
    while (hgi_page_next(&page, &row)) {
        enum hgi_row_fate fate = HGI_ROW_DROP;
        uint64_t dropped = walk->dropped;

        if (hgi_forgotten_covers(&walk->forgotten, cache, &row)) {
            wrong++;
        } else if (hgi_digests_find(&walk->last, row.digest) != row_number(id, count)) {
            useless++; /* it hides nothing that the later row does not */
        } else {
            fate = take(walk, cache, &row, rows);
            wrong += walk->dropped > dropped;
            useless += fate == HGI_ROW_DROP || (fate == HGI_ROW_HIDE && row.size > 0);
        }
        fates[count++] = (unsigned char)fate;
    }
    return wrong > 0 || (useless > 0 && 2 * useless >= count);
}

static enum hgi_db_result begin_change(struct restoration *walk)
{
    struct hgi_snapshot *snapshot = walk->snapshot;

    if (walk->changes > 0) {
        return HGI_DB_OK;
    }
    snapshot->draft = snapshot->meta;
    return hgi_db_begin(snapshot->db, false);
}

static enum hgi_db_result commit_changes(struct restoration *walk)
{
    struct hgi_snapshot *snapshot = walk->snapshot;
    enum hgi_db_result result = hgi_meta_write(snapshot->db, &snapshot->draft, &snapshot->seal);

    if (result == HGI_DB_OK) {
        result = hgi_db_commit(snapshot->db);
    }
    if (result == HGI_DB_OK) {
        snapshot->meta = snapshot->draft;
        walk->changes = 0;
    }
    return result;
}

static void give_up_changes(struct restoration *walk, enum hgi_db_result result)
{
    hgi_db_rollback(walk->snapshot->db); /* read on: a full disk must not empty the cache */
    walk->snapshot->draft = walk->snapshot->meta;
    walk->changes = 0;
    walk->removed = result;
}

/* `page` NULL: all of it goes. Ends the statement. */
static void change_page(struct restoration *walk, struct hgi_snapshot_cache *cache, int64_t id,
                        const struct hgi_page_walk *page, struct hg_slice rows)
{
    struct hgi_snapshot *snapshot = walk->snapshot;
    int64_t pages;
    enum hgi_db_result result = begin_change(walk);

    if (result != HGI_DB_OK) {
        hgi_db_end(snapshot->db, HGI_SQL_PAGE_NEXT);
        give_up_changes(walk, result);
        return;
    }
    pages = snapshot->draft.pages;
    result = hgi_snapshot_refit(snapshot, cache, id, page ? *page : (struct hgi_page_walk){0}, rows,
                                HGI_SQL_PAGE_NEXT);
    walk->changes++;
    if (result == HGI_DB_OK && cache && snapshot->draft.pages == pages) {
        cache->has_older = true;
    }
    if (result == HGI_DB_OK && walk->changes >= PORTION_PAGES) {
        result = commit_changes(walk);
    }
    if (result != HGI_DB_OK) {
        give_up_changes(walk, result);
    }
}

/* The page that the statement stands on; ends it. */
static enum hgi_db_result take_page(struct restoration *walk, uint64_t count)
{
    struct hgi_snapshot *snapshot = walk->snapshot;
    struct hgi_db *db = snapshot->db;
    int64_t id = walk->last_id;
    struct hg_slice rows = hgi_db_bytes(db, HGI_SQL_PAGE_NEXT, 4);
    struct hgi_snapshot_cache *cache =
        hgi_snapshot_cache_at(snapshot, hgi_db_number(db, HGI_SQL_PAGE_NEXT, 1));
    struct hgi_page_walk page = {0};
    bool is_believed = cache && id > cache->doubted_until &&
                       hgi_page_open(&snapshot->seal, cache->digest, id,
                                     hgi_db_bytes(db, HGI_SQL_PAGE_NEXT, 3), &page);
    bool is_changed = true;

    if (!is_believed) {
        walk->dropped += count;
    } else if (!hgi_bytes_reserve(&snapshot->fates, page.count)) {
        hgi_db_end(db, HGI_SQL_PAGE_NEXT);
        return hgi_db_no_memory(db);
    } else {
        is_changed = take_rows(walk, cache, id, page, rows);
    }
    if (is_changed && walk->removed == HGI_DB_OK) {
        change_page(walk, cache, id, is_believed ? &page : NULL, rows);
    } else {
        hgi_db_end(db, HGI_SQL_PAGE_NEXT);
        if (cache) {
            cache->has_older = true;
        }
    }
    return HGI_DB_OK;
}

static enum hgi_db_result look_at_rows(struct restoration *walk)
{
    struct hgi_db *db = walk->snapshot->db;
    enum hgi_db_result result = HGI_DB_OK;

    walk->last_id = INT64_MIN;
    while (result == HGI_DB_OK) {
        struct hgi_bound from = hgi_bound_number(walk->last_id);

        result = hgi_db_query(db, HGI_SQL_PAGE_NEXT, &from, 1);
        if (result == HGI_DB_OK) {
            result = hgi_db_next(db, HGI_SQL_PAGE_NEXT);
        }
        if (result != HGI_DB_ROW) {
            break;
        }
        walk->last_id = hgi_db_number(db, HGI_SQL_PAGE_NEXT, 0);
        result = take_page(walk, (uint64_t)hgi_db_number(db, HGI_SQL_PAGE_NEXT, 2));
    }
    return result;
}

/* ---- and what is then not needed any more ---- */

/* All that the records covered has gone. Clears too go with the last row older than them:
 * generations start above all of them. */
static enum hgi_db_result remove_records(struct restoration *walk)
{
    struct hgi_snapshot *snapshot = walk->snapshot;
    enum hgi_db_result result = begin_change(walk);

    walk->changes++;
    if (result == HGI_DB_OK) {
        result = hgi_db_run(snapshot->db, HGI_SQL_CACHES_UNUSED_DELETE, NULL, 0);
    }
    if (result == HGI_DB_OK) {
        result = hgi_forgotten_delete(snapshot, INT64_MAX);
    }
    return result == HGI_DB_OK ? commit_changes(walk) : result;
}

static enum hgi_db_result empty_file(struct restoration *walk)
{
    struct hgi_snapshot *snapshot = walk->snapshot;
    struct hgi_db *db = snapshot->db;
    int64_t rows = 0;
    enum hgi_db_result result =
        hgi_db_read_number(db, "SELECT coalesce(sum(count), 0) FROM pages", &rows);

    walk->dropped = (uint64_t)rows;
    if (result == HGI_DB_OK) {
        snapshot->draft = snapshot->meta;
        result = hgi_db_begin(db, true);
    }
    if (result == HGI_DB_OK) {
        result = hgi_db_exec(db, "DELETE FROM pages; DELETE FROM caches; DELETE FROM forgotten");
        snapshot->draft.pages = 0;
        snapshot->draft.forgotten = 0;
    }
    return result == HGI_DB_OK ? commit_changes(walk) : result;
}

static enum hgi_db_result restore(struct restoration *walk)
{
    struct hgi_snapshot *snapshot = walk->snapshot;
    enum hgi_db_result result;

    if (walk->now->wall_ms < snapshot->meta.saved_ms) {
        /* How long we were down cannot be known, so no row's age can. */
        return empty_file(walk);
    }
    snapshot->draft = snapshot->meta;
    result = hgi_snapshot_read_caches(snapshot);
    if (result == HGI_DB_OK) {
        result = prepare(walk);
    }
    if (result == HGI_DB_OK) {
        result = look_at_heads(walk);
    }
    if (result == HGI_DB_OK) {
        result = look_at_rows(walk);
    }
    if (result == HGI_DB_OK && walk->removed != HGI_DB_OK) {
        result = walk->removed;
    }
    return result == HGI_DB_OK ? remove_records(walk) : result;
}

enum hg_status hgi_snapshot_restore(struct hgi_snapshot *snapshot, const struct hgi_now *now,
                                    bool (*visit)(void *context, struct hg_slice cache,
                                                  const struct hgi_entry *entry),
                                    void *context, uint64_t *ret_restored, uint64_t *ret_dropped,
                                    char *ret_sentence)
{
    struct restoration walk = {
        .snapshot = snapshot, .now = now, .visit = visit, .context = context};
    enum hgi_db_result result;

    HGI_BUG_ON(snapshot->is_begun || !snapshot->db);
    result = restore(&walk);
    hgi_digests_deinit(&walk.forgotten);
    hgi_digests_deinit(&walk.last);
    hgi_snapshot_forget_caches(snapshot);
    *ret_restored = walk.restored;
    *ret_dropped = walk.dropped;
    if (result != HGI_DB_OK) {
        return hgi_snapshot_fail(snapshot, result, "cannot restore from the snapshot",
                                 ret_sentence);
    }
    snapshot->purge.is_wanted = false;
    return HG_OK;
}
