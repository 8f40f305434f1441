/* SPDX-License-Identifier: Apache-2.0 */
/* A file that is written whole, without a log, beside the one in use, and then put in its place. */
#include "snapshot.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "storage/snapshot/inside.h"

static enum hgi_db_result begin_file(struct hgi_snapshot *beside)
{
    enum hgi_db_result result = hgi_db_open(beside->place.path, &beside->db);

    if (result == HGI_DB_OK) {
        result = hgi_db_go_unsafe(beside->db);
    }
    if (result == HGI_DB_OK) {
        result = hgi_schema_create(beside->db, "OFF", &beside->meta, &beside->seal);
    }
    return result;
}

enum hg_status hgi_snapshot_open_beside(struct hgi_snapshot *snapshot,
                                        struct hgi_snapshot **ret_beside, char *ret_sentence)
{
    struct hgi_snapshot *beside = hgi_snapshot_create();
    enum hg_status status;
    bool is_new;

    if (!beside) {
        snprintf(ret_sentence, HGI_SNAPSHOT_SENTENCE_MAX, "no memory to write the snapshot anew");
        return HG_UNAVAILABLE;
    }
    beside->is_beside = true;
    status = hgi_place_beside(&snapshot->place, &beside->place, ret_sentence);
    if (status == HG_OK) {
        status = hgi_place_make_file(&beside->place, &is_new, ret_sentence);
    }
    if (status == HG_OK) {
        enum hgi_db_result result;

        beside->meta = snapshot->meta;
        beside->key = snapshot->key;
        beside->has_key = snapshot->has_key;
        beside->mode = snapshot->mode;
        hgi_snapshot_begin_record(beside);
        result = begin_file(beside);
        if (result != HGI_DB_OK) {
            status = hgi_snapshot_fail(beside, result, "cannot begin the snapshot", ret_sentence);
        }
    }
    if (status != HG_OK) {
        hgi_snapshot_close(&beside);
        return status;
    }
    *ret_beside = beside;
    return HG_OK;
}

/* What is known of the file at the place is what was known of the one beside it. */
static void take_over(struct hgi_snapshot *snapshot, struct hgi_snapshot *beside)
{
    hgi_snapshot_forget_caches(snapshot);
    snapshot->files++;
    memcpy(&snapshot->seal, &beside->seal, sizeof(snapshot->seal));
    snapshot->meta = beside->meta;
    snapshot->last_page = beside->last_page;
    snapshot->last_forgotten = beside->last_forgotten;
    hgi_snapshot_restart_purge(snapshot);
    snapshot->purge.is_wanted = beside->meta.forgotten > 0 || hgi_snapshot_is_purging(beside);
}

static enum hgi_db_result reopen(struct hgi_snapshot *snapshot)
{
    enum hgi_db_result result = hgi_db_open(snapshot->place.path, &snapshot->db);

    return result == HGI_DB_OK ? hgi_schema_use(snapshot->db) : result;
}

enum hg_status hgi_snapshot_replace(struct hgi_snapshot *snapshot, struct hgi_snapshot **beside,
                                    char *ret_sentence)
{
    static const char what[] = "cannot put the new snapshot in the place of";
    struct hgi_snapshot *fresh = *beside;
    enum hgi_db_result result;
    enum hg_status status;

    HGI_BUG_ON(snapshot->is_begun || fresh->is_begun);
    if (!snapshot->db || !fresh->db) {
        snprintf(ret_sentence, HGI_SNAPSHOT_SENTENCE_MAX, "the snapshot %.400s was given up",
                 snapshot->place.path);
        hgi_snapshot_close(beside);
        return HG_UNAVAILABLE;
    }
    result = hgi_db_sync(fresh->db);
    if (result != HGI_DB_OK) {
        status = hgi_snapshot_fail(fresh, result, what, ret_sentence);
        hgi_snapshot_close(beside);
        return status;
    }
    hgi_db_close(&fresh->db);
    /* The log is empty from here on: whichever file is found with it is whole. */
    result = hgi_db_checkpoint(snapshot->db);
    if (result != HGI_DB_OK) {
        status = hgi_snapshot_fail(snapshot, result, what, ret_sentence);
        hgi_snapshot_close(beside);
        return status;
    }
    hgi_db_close(&snapshot->db);
    status = hgi_place_replace(&snapshot->place, &fresh->place, ret_sentence);
    if (status == HG_OK) {
        take_over(snapshot, fresh);
        result = reopen(snapshot);
        if (result != HGI_DB_OK) {
            status = hgi_snapshot_fail(snapshot, result, what, ret_sentence);
            hgi_db_close(&snapshot->db); /* the next begin opens it, or says why not */
        }
    }
    hgi_snapshot_close(beside);
    return status;
}
