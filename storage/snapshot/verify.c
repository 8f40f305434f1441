/* SPDX-License-Identifier: Apache-2.0 */
/* A file that nobody uses, read from its first byte to its last, and left as it is. */
#include "snapshot.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "storage/snapshot/inside.h"

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

/* Whether it is a snapshot at all, and under this key. UNUSABLE: report->fault says why not. */
static enum hgi_db_result check_file(struct hgi_snapshot *snapshot,
                                     struct hgi_snapshot_report *report)
{
    char why[HGI_SCHEMA_WHY_MAX] = "";
    struct hgi_db *db = snapshot->db;
    enum hgi_db_result result = HGI_DB_OK;

    switch (hgi_schema_check(db, why)) {
    case HGI_SCHEMA_OURS:
        break;
    case HGI_SCHEMA_EMPTY:
        snprintf(why, sizeof(why), "it is empty");
        result = HGI_DB_UNUSABLE;
        break;
    case HGI_SCHEMA_UNUSABLE:
        result = HGI_DB_UNUSABLE;
        break;
    case HGI_SCHEMA_BUSY:
        return HGI_DB_BUSY;
    case HGI_SCHEMA_FAILED:
        return HGI_DB_FAILED;
    }
    if (result == HGI_DB_OK) {
        result = hgi_db_prepare(db, hgi_schema_statements, HGI_SQL_STATEMENT_COUNT);
    }
    if (result == HGI_DB_OK) {
        result = hgi_meta_read(db, snapshot->has_key ? &snapshot->key : NULL, &snapshot->meta,
                               &snapshot->seal, why);
    }
    if (result == HGI_DB_OK) {
        result = hgi_snapshot_count(snapshot, why);
    }
    if (result == HGI_DB_UNUSABLE) {
        note_fault(report, "%s", why[0] ? why : hgi_db_text(db));
    }
    return result;
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

static enum hgi_db_result check_pages(struct hgi_snapshot *snapshot,
                                      struct hgi_snapshot_report *report)
{
    struct hgi_db *db = snapshot->db;
    enum hgi_db_result result = HGI_DB_ROW;
    int64_t id = INT64_MIN;

    while (result == HGI_DB_ROW) {
        struct hgi_bound from = hgi_bound_number(id);
        struct hgi_snapshot_cache *cache;
        struct hgi_page_walk walk;

        result = hgi_db_query(db, HGI_SQL_PAGE_NEXT, &from, 1);
        if (result == HGI_DB_OK) {
            result = hgi_db_next(db, HGI_SQL_PAGE_NEXT);
        }
        if (result != HGI_DB_ROW) {
            break;
        }
        id = hgi_db_number(db, HGI_SQL_PAGE_NEXT, 0);
        cache = hgi_snapshot_cache_at(snapshot, hgi_db_number(db, HGI_SQL_PAGE_NEXT, 1));
        report->pages++;
        if (!cache) {
            note_fault(report, "page %" PRId64 " is of no cache", id);
        } else if (!hgi_page_open(&snapshot->seal, cache->digest, id,
                                  hgi_db_bytes(db, HGI_SQL_PAGE_NEXT, 3), &walk)) {
            note_fault(report, "the head of page %" PRId64 " of cache %s is not what was written",
                       id, cache->name);
        } else {
            check_rows(snapshot, cache, id, walk, hgi_db_bytes(db, HGI_SQL_PAGE_NEXT, 4), report);
        }
        hgi_db_end(db, HGI_SQL_PAGE_NEXT);
    }
    return result;
}

static enum hgi_db_result check_records(struct hgi_snapshot *snapshot,
                                        struct hgi_snapshot_report *report)
{
    struct hgi_digests forgotten = {.places = NULL};
    enum hgi_db_result result = hgi_snapshot_read_caches(snapshot);

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

static enum hgi_db_result verify(struct hgi_snapshot *snapshot, bool has_log,
                                 struct hgi_snapshot_report *report)
{
    enum hgi_db_result result = hgi_db_open(snapshot->place.path, &snapshot->db);

    if (result == HGI_DB_OK && has_log) {
        result = hgi_db_keep_log(snapshot->db);
    }
    if (result == HGI_DB_OK) {
        result = check_file(snapshot, report);
    }
    if (result == HGI_DB_OK) {
        result = check_records(snapshot, report);
    }
    if (result == HGI_DB_OK) {
        result = check_pages(snapshot, report);
    }
    if (result == HGI_DB_UNUSABLE && report->wrong == 0) {
        note_fault(report, "%s", hgi_db_text(snapshot->db));
    }
    return result;
}

enum hg_status hgi_snapshot_verify(const struct hgi_snapshot_options *options,
                                   struct hgi_snapshot_report *ret_report, char *ret_sentence)
{
    struct hgi_snapshot *snapshot = hgi_snapshot_create();
    struct hgi_snapshot_report report = {.fault = ""};
    enum hgi_db_result result;
    enum hg_status status;
    bool has_log = false;

    if (!snapshot) {
        snprintf(ret_sentence, HGI_SNAPSHOT_SENTENCE_MAX, "no memory to read the snapshot");
        return HG_UNAVAILABLE;
    }
    hgi_snapshot_set_key(snapshot, options);
    status = hgi_place_find(&snapshot->place, options->path, &has_log, ret_sentence);
    if (status == HG_OK) {
        result = verify(snapshot, has_log, &report);
        if (result == HGI_DB_BUSY) {
            snprintf(ret_sentence, HGI_SNAPSHOT_SENTENCE_MAX,
                     "another process has the snapshot %.400s", snapshot->place.path);
            status = HG_FAILED_PRECONDITION;
        } else if (result != HGI_DB_OK && result != HGI_DB_UNUSABLE) {
            status = hgi_snapshot_fail(snapshot, result, "cannot read the snapshot", ret_sentence);
        } else {
            *ret_report = report;
        }
    }
    /* Closed here: what closes a snapshot in use also moves its log. */
    hgi_db_close(&snapshot->db);
    hgi_snapshot_close(&snapshot);
    return status;
}
