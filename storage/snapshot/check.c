/* SPDX-License-Identifier: Apache-2.0 */
/* All that lies in the file, looked at a portion at a time, and left as it is. */
#include "snapshot.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "storage/snapshot/inside.h"

#define PORTION_PAGES 32u /* 2 MiB, and a few milliseconds */

/* Counts it; the first one is said. */
static void note_fault(struct hgi_snapshot_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void note_fault(struct hgi_snapshot_report *report, const char *format, ...)
{
    va_list values;

    if (report->wrong++ == 0) {
        va_start(values, format);
        vsnprintf(report->fault, sizeof(report->fault), format, values);
        va_end(values);
    }
}

static void check_rows(struct hgi_snapshot *snapshot, const struct hgi_snapshot_cache *cache,
                       int64_t id, struct hgi_page_walk walk, struct hg_slice rows,
                       struct hgi_snapshot_report *report)
{
    struct hgi_page_row at;
    struct hgi_row row;

    if (walk.size != rows.len) {
        note_fault(report, "page %" PRId64 " of cache %s has %zu bytes of rows instead of %zu", id,
                   cache->name, rows.len, walk.size);
        return;
    }
    for (size_t i = 0; hgi_page_next(&walk, &at); i++) {
        if (at.size == 0) {
            continue; /* a mark */
        }
        if (at.born > snapshot->meta.high_water ||
            !hgi_page_read(&snapshot->seal, cache->digest, &at, rows, &snapshot->scratch, &row)) {
            note_fault(report, "row %zu of page %" PRId64 " of cache %s is not what was written",
                       i + 1, id, cache->name);
        } else {
            report->rows++;
        }
    }
}

/* The next page up to check->until. OK: there is none. */
static enum hgi_db_result check_page(struct hgi_snapshot *snapshot,
                                     struct hgi_snapshot_check *check)
{
    struct hgi_snapshot_report *report = &check->report;
    struct hgi_db *db = snapshot->db;
    struct hgi_bound from = hgi_bound_number(check->at);
    struct hgi_snapshot_cache *cache;
    struct hgi_page_walk walk;
    int64_t id;
    enum hgi_db_result result = hgi_db_query(db, HGI_SQL_PAGE_NEXT, &from, 1);

    if (result == HGI_DB_OK) {
        result = hgi_db_next(db, HGI_SQL_PAGE_NEXT);
    }
    if (result != HGI_DB_ROW) {
        return result;
    }
    id = hgi_db_number(db, HGI_SQL_PAGE_NEXT, 0);
    cache = hgi_snapshot_cache_at(snapshot, hgi_db_number(db, HGI_SQL_PAGE_NEXT, 1));
    if (id > check->until) { /* written since */
        hgi_db_end(db, HGI_SQL_PAGE_NEXT);
        return HGI_DB_OK;
    }
    check->at = id;
    report->pages++;
    if (!cache) {
        note_fault(report, "page %" PRId64 " is of no cache", id);
    } else if (!hgi_page_open(&snapshot->seal, cache->digest, id,
                              hgi_db_bytes(db, HGI_SQL_PAGE_NEXT, 3), &walk)) {
        note_fault(report, "the head of page %" PRId64 " of cache %s is not what was written", id,
                   cache->name);
    } else {
        check_rows(snapshot, cache, id, walk, hgi_db_bytes(db, HGI_SQL_PAGE_NEXT, 4), report);
    }
    hgi_db_end(db, HGI_SQL_PAGE_NEXT);
    return HGI_DB_ROW;
}

/* Its own record: it must be the one that was written last. */
static enum hgi_db_result check_meta(struct hgi_snapshot *snapshot, char *ret_why)
{
    const struct hgi_meta *known = &snapshot->meta;
    int64_t last_page = snapshot->last_page;
    int64_t last_forgotten = snapshot->last_forgotten;
    struct hgi_meta meta;
    struct hgi_seal seal = {.mode = HGI_SEAL_OWN};
    enum hgi_db_result result = hgi_meta_read(
        snapshot->db, snapshot->has_key ? &snapshot->key : NULL, &meta, &seal, ret_why);

    hgi_seal_deinit(&seal);
    if (result != HGI_DB_OK) {
        return result;
    }
    if (meta.high_water != known->high_water || meta.saved_ms != known->saved_ms ||
        meta.pages != known->pages || meta.forgotten != known->forgotten) {
        snprintf(ret_why, HGI_SCHEMA_WHY_MAX, "its own record is an older one");
        return HGI_DB_UNUSABLE;
    }
    result = hgi_snapshot_count(snapshot, ret_why);
    /* Numbers of pages that have gone are not given again while it is open. */
    snapshot->last_page = last_page > snapshot->last_page ? last_page : snapshot->last_page;
    snapshot->last_forgotten =
        last_forgotten > snapshot->last_forgotten ? last_forgotten : snapshot->last_forgotten;
    return result;
}

/* What the disk has of caches and of invalidations, whatever is known of them in memory. */
static enum hgi_db_result check_records(struct hgi_snapshot *snapshot,
                                        struct hgi_snapshot_report *report)
{
    struct hgi_digests forgotten = {.places = NULL};
    enum hgi_db_result result;

    hgi_snapshot_forget_caches(snapshot);
    result = hgi_snapshot_read_caches(snapshot);
    for (size_t i = 0; result == HGI_DB_OK && i < snapshot->cache_count; i++) {
        if (!snapshot->caches[i].is_sound) {
            note_fault(report, "what is known of cache number %" PRId64 " is not what was written",
                       snapshot->caches[i].id);
        }
    }
    if (result != HGI_DB_OK) {
        return result;
    }
    snapshot->draft = snapshot->meta;
    result = hgi_forgotten_read(snapshot, INT64_MAX, &forgotten);
    if (result == HGI_DB_UNUSABLE) {
        note_fault(report, "%s", hgi_db_text(snapshot->db));
        result = HGI_DB_OK;
    }
    hgi_digests_deinit(&forgotten);
    report->caches = snapshot->cache_count;
    report->invalidations = (uint64_t)snapshot->meta.forgotten;
    report->high_water = snapshot->meta.high_water;
    report->saved_wall_ms = snapshot->meta.saved_ms;
    report->is_keyed = snapshot->meta.mode != HGI_SEAL_OWN;
    report->is_encrypted = snapshot->meta.mode == HGI_SEAL_SECRET;
    return result;
}

/* UNUSABLE is found, and there is nothing more to look for. Else what cannot be read. */
static enum hg_status settle(const struct hgi_snapshot *snapshot, struct hgi_snapshot_check *check,
                             enum hgi_db_result result, const char *why, char *ret_sentence)
{
    if (result == HGI_DB_UNUSABLE) {
        if (why[0] || check->report.wrong == 0) {
            note_fault(&check->report, "%s", why[0] ? why : hgi_db_text(snapshot->db));
        }
        check->is_over = true;
        return HG_OK;
    }
    if (result != HGI_DB_OK && result != HGI_DB_ROW) {
        snprintf(ret_sentence, HGI_SNAPSHOT_SENTENCE_MAX, "cannot read the snapshot %.300s: %.150s",
                 snapshot->place.path, hgi_db_text(snapshot->db));
        return HG_UNAVAILABLE;
    }
    return HG_OK;
}

enum hg_status hgi_snapshot_check_begin(struct hgi_snapshot *snapshot,
                                        struct hgi_snapshot_check *ret_check, char *ret_sentence)
{
    struct hgi_snapshot_check check = {.files = snapshot->files, .at = INT64_MIN};
    char why[HGI_SCHEMA_WHY_MAX] = "";
    struct hgi_db *db = snapshot->db;
    enum hgi_db_result result;
    enum hg_status status;

    HGI_BUG_ON(snapshot->is_begun);
    if (!db) {
        snprintf(ret_sentence, HGI_SNAPSHOT_SENTENCE_MAX,
                 "the snapshot %.300s has been given up after a failure; the next save begins it "
                 "anew",
                 snapshot->place.path);
        return HG_UNAVAILABLE;
    }
    if (hgi_db_is_moved(db)) {
        result = HGI_DB_UNUSABLE;
        snprintf(why, sizeof(why), HGI_DB_MOVED);
    } else {
        result = hgi_db_exec(db, "PRAGMA shrink_memory"); /* what is kept in memory is not read */
    }
    if (result == HGI_DB_OK) {
        result = hgi_schema_verdict(hgi_schema_look(db, why), why);
    }
    if (result == HGI_DB_OK) {
        result = check_meta(snapshot, why);
    }
    if (result == HGI_DB_OK) {
        result = check_records(snapshot, &check.report);
    }
    check.until = snapshot->last_page;
    check.pages_total = (uint64_t)snapshot->meta.pages;
    status = settle(snapshot, &check, result, why, ret_sentence);
    if (status == HG_OK) {
        *ret_check = check;
    }
    return status;
}

/* Last, if it is quick enough: all of the file has just been read. */
static enum hgi_db_result check_structure(struct hgi_snapshot *snapshot,
                                          struct hgi_snapshot_report *report, char *ret_why)
{
    uint64_t file_bytes = 0;
    uint64_t log_bytes = 0;

    hgi_place_sizes(&snapshot->place, &file_bytes, &log_bytes);
    if (report->is_structure_checked || file_bytes + log_bytes > HGI_SNAPSHOT_STRUCTURE_MAX) {
        return HGI_DB_OK;
    }
    report->is_structure_checked = true;
    return hgi_schema_verdict(hgi_schema_check_structure(snapshot->db, ret_why), ret_why);
}

enum hg_status hgi_snapshot_check_next(struct hgi_snapshot *snapshot,
                                       struct hgi_snapshot_check *check, bool *ret_is_done,
                                       char *ret_sentence)
{
    char why[HGI_SCHEMA_WHY_MAX] = "";
    enum hgi_db_result result = HGI_DB_ROW;
    enum hg_status status;

    HGI_BUG_ON(snapshot->is_begun);
    if (check->is_over) {
        *ret_is_done = true;
        return HG_OK;
    }
    if (!snapshot->db || snapshot->files != check->files) {
        snprintf(ret_sentence, HGI_SNAPSHOT_SENTENCE_MAX, "the snapshot has been written anew");
        return HG_ABORTED;
    }
    if (hgi_snapshot_read_caches(snapshot) != HGI_DB_OK) { /* a rollback forgets them */
        return settle(snapshot, check, HGI_DB_FAILED, why, ret_sentence);
    }
    for (size_t i = 0; i < PORTION_PAGES && result == HGI_DB_ROW; i++) {
        result = check_page(snapshot, check);
    }
    if (result == HGI_DB_OK) {
        result = check_structure(snapshot, &check->report, why);
        check->is_over = result == HGI_DB_OK;
    }
    status = settle(snapshot, check, result, why, ret_sentence);
    if (status == HG_OK) {
        *ret_is_done = check->is_over;
    }
    return status;
}
