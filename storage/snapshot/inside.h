/* SPDX-License-Identifier: Apache-2.0 */
/* inside: what snapshot.c and restore.c share.
 * Owns:     struct hgi_snapshot.
 * Threads:  one at a time.
 * Limits:   none of its own.
 * Errors:   hgi_snapshot_fail turns a database's failure into the room's status and sentence.
 * Not here: anything another room may see (snapshot.h). */
#ifndef HGI_STORAGE_SNAPSHOT_INSIDE_H
#define HGI_STORAGE_SNAPSHOT_INSIDE_H

#include "storage/snapshot/place.h"
#include "storage/snapshot/schema.h"
#include "storage/snapshot/snapshot.h"

/* A row of the table `caches`, kept in memory while it is known to be what the disk has. */
struct hgi_snapshot_cache {
    char *name; /* owned */
    size_t name_len;
    int64_t id;
    uint64_t cleared;
    bool is_sound; /* its checksum was right; else its rows cannot be trusted */
};

/* What must happen to the file before it is used again. */
enum hgi_snapshot_fate {
    HGI_FATE_KEEP,
    HGI_FATE_REMOVE,     /* a sync was lost */
    HGI_FATE_QUARANTINE, /* found damaged */
};

struct hgi_snapshot {
    struct hgi_place place;
    struct hgi_db *db; /* NULL: given up, made anew by the next begin */
    enum hgi_snapshot_fate fate;
    struct hgi_meta meta;
    bool is_begun;
    enum hgi_snapshot_sync sync;
    struct hgi_snapshot_cache *caches;
    size_t cache_count;
    bool are_caches_known; /* false after a rollback: read again */
    int64_t purge_from;    /* row id up to which the present purge has looked */
    bool is_purging;
    uint64_t renewals;
    struct hg_bytes scratch;
    struct hg_bytes tags; /* of the row being written */
};

/* Rolls back; gives the file up if it must not be used again. Always UNAVAILABLE. */
enum hg_status hgi_snapshot_fail(struct hgi_snapshot *snapshot, enum hgi_db_result result,
                                 const char *what, char *ret_sentence);
/* Reads the table `caches` if it is not known. */
HG_NODISCARD enum hgi_db_result hgi_snapshot_read_caches(struct hgi_snapshot *snapshot);
void hgi_snapshot_forget_caches(struct hgi_snapshot *snapshot);
/* NULL: it has no row in the file. */
struct hgi_snapshot_cache *hgi_snapshot_find_cache(struct hgi_snapshot *snapshot,
                                                   struct hg_slice name);
/* The commit records the largest. */
void hgi_snapshot_note_generation(struct hgi_snapshot *snapshot, uint64_t generation);

#endif
