/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot: what a server has on disk, and whether it is whole.
 * Owns:     nothing; the client is client.h's.
 * Threads:  as client.h.
 * Limits:   none of its own.
 * Errors:   FAILED_PRECONDITION: the server has no snapshot; PERMISSION_DENIED for who may not
 *           administer it; as client.h.
 * Not here: saving (client.h), a file that no server uses (herdgated --verify). */
#ifndef HERDGATE_SNAPSHOT_H
#define HERDGATE_SNAPSHOT_H

#include "herdgate/client.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- what is answered ---- */

struct hg_snapshot_info {
    struct hg_slice path;
    uint32_t version;           /* of what is in the file: major * 1000 + minor */
    struct hg_slice protection; /* "own_key", "key_file", "encrypted" */
    uint64_t file_bytes;        /* these eight as after the last save */
    uint64_t log_bytes;
    uint64_t pages;
    uint64_t invalidations;  /* on record: what they cover is not read any more */
    uint64_t generation;     /* the largest on record */
    int64_t saved_at_ms;     /* unix; 0: never */
    uint64_t interval_ms;    /* between two saves */
    uint64_t entries;        /* in memory */
    uint64_t unsaved;        /* of these */
    bool degraded;           /* the last save failed: memory is ahead of the disk */
    struct hg_slice message; /* what was wrong last; empty: nothing was */
    uint64_t saves;          /* since the server started, as the next four */
    uint64_t save_errors;
    uint64_t rows_written;
    uint64_t restored; /* rows taken back at the start */
    uint64_t dropped;  /* rows found damaged then */
    struct hg_slice
        work; /* what goes on: "save" (of entries), "verify" (of pages); empty: nothing */
    uint64_t work_done;
    uint64_t work_total;    /* about */
    int64_t verified_at_ms; /* unix; 0: never */
    uint64_t faults;        /* found then */
    struct hg_memory *memory;
};

struct hg_verified {
    uint64_t faults; /* rows, pages and records that are not what was written; 0: it is whole */
    struct hg_slice fault; /* the first */
    uint64_t rows;         /* that can be read */
    uint64_t pages;
    uint64_t caches;
    uint64_t invalidations;
    uint64_t generation;    /* the largest on record */
    int64_t saved_at_ms;    /* unix */
    bool structure_checked; /* false: the file is too large for that while it is in use */
    uint64_t duration_ms;
    struct hg_memory *memory;
};

/* ---- calls, and how their replies are given back; all as in client.h ---- */

/* From what the server knows: answered at once, also while it saves or verifies. request may be
 * NULL. */
HG_EXPORT HG_NODISCARD enum hg_status hg_client_snapshot_info(struct hg_client *client,
                                                              const struct hg_named *request,
                                                              struct hg_snapshot_info *ret_reply,
                                                              struct hg_error *ret_error);
/* Has all of the file read, between whatever else is written to it. OK says that it was read: see
 * `faults`. It ends when the call's time is up or its connection closes. request may be NULL. */
HG_EXPORT HG_NODISCARD enum hg_status hg_client_verify_snapshot(struct hg_client *client,
                                                                const struct hg_named *request,
                                                                struct hg_verified *ret_reply,
                                                                struct hg_error *ret_error);

typedef void (*hg_snapshot_info_fn)(void *arg, const struct hg_error *error,
                                    const struct hg_snapshot_info *reply);
typedef void (*hg_verified_fn)(void *arg, const struct hg_error *error,
                               const struct hg_verified *reply);

HG_EXPORT HG_NODISCARD enum hg_status hg_client_snapshot_info_async(struct hg_client *client,
                                                                    const struct hg_named *request,
                                                                    hg_snapshot_info_fn done,
                                                                    void *arg,
                                                                    struct hg_error *ret_error);
HG_EXPORT HG_NODISCARD enum hg_status hg_client_verify_snapshot_async(
    struct hg_client *client, const struct hg_named *request, hg_verified_fn done, void *arg,
    struct hg_error *ret_error);

HG_EXPORT void hg_snapshot_info_deinit(struct hg_snapshot_info *info);
HG_EXPORT void hg_verified_deinit(struct hg_verified *verified);

#ifdef __cplusplus
}
#endif

#endif
