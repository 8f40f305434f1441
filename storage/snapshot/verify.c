/* SPDX-License-Identifier: Apache-2.0 */
/* A file that nobody uses, read from its first byte to its last, and left as it is. */
#include "snapshot.h"

#include <stdio.h>

#include "storage/snapshot/inside.h"

/* Whether it is a snapshot at all, and under this key. UNUSABLE: ret_report->fault says why not. */
static enum hgi_db_result check_file(struct hgi_snapshot *snapshot, bool has_log,
                                     struct hgi_snapshot_report *ret_report)
{
    char why[HGI_SCHEMA_WHY_MAX] = "";
    enum hgi_db_result result = hgi_db_open(snapshot->place.path, &snapshot->db);
    struct hgi_db *db = snapshot->db;

    if (result == HGI_DB_OK && has_log) {
        result = hgi_db_keep_log(db);
    }
    if (result == HGI_DB_OK) {
        result = hgi_schema_verdict(hgi_schema_check(db, why), why);
    }
    if (result == HGI_DB_OK) {
        result = hgi_db_prepare(db, hgi_schema_statements, HGI_SQL_STATEMENT_COUNT);
    }
    if (result == HGI_DB_OK) {
        result = hgi_meta_read(db, snapshot->has_key ? &snapshot->key : NULL, &snapshot->meta,
                               &snapshot->seal, why);
    }
    if (result == HGI_DB_UNUSABLE) {
        snprintf(ret_report->fault, sizeof(ret_report->fault), "%s",
                 why[0] ? why : hgi_db_text(db));
        ret_report->wrong = 1;
    }
    return result;
}

static enum hg_status check_all(struct hgi_snapshot *snapshot,
                                struct hgi_snapshot_report *ret_report, char *ret_sentence)
{
    struct hgi_snapshot_check check;
    bool is_done = false;
    enum hg_status status = hgi_snapshot_check_begin(snapshot, &check, ret_sentence);

    while (status == HG_OK && !is_done) {
        check.report.is_structure_checked = true; /* by check_file */
        status = hgi_snapshot_check_next(snapshot, &check, &is_done, ret_sentence);
    }
    if (status == HG_OK) {
        *ret_report = check.report;
    }
    return status;
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
        result = check_file(snapshot, has_log, &report);
        if (result == HGI_DB_BUSY) {
            snprintf(ret_sentence, HGI_SNAPSHOT_SENTENCE_MAX,
                     "another process has the snapshot %.400s", snapshot->place.path);
            status = HG_FAILED_PRECONDITION;
        } else if (result == HGI_DB_OK) {
            status = check_all(snapshot, &report, ret_sentence);
        } else if (result != HGI_DB_UNUSABLE) {
            status = hgi_snapshot_fail(snapshot, result, "cannot read the snapshot", ret_sentence);
        }
    }
    if (status == HG_OK) {
        *ret_report = report;
    }
    /* Closed here: what closes a snapshot in use also moves its log. */
    hgi_db_close(&snapshot->db);
    hgi_snapshot_close(&snapshot);
    return status;
}
