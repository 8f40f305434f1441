/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot: entries and invalidations on disk.
 * Owns:     the file, its -wal, its lock file; the one sqlite connection.
 * Threads:  one thread at a time calls it (server/snapshotter); it has none of its own.
 * Limits:   rows per cache: when more than twice max_entries are on disk the caller rewrites.
 * Errors:   UNAVAILABLE and a sentence when the disk fails (nothing acknowledged is lost, try again
 * later); a corrupt, foreign or future file is moved aside at open, never an error. Not here: when
 * to save (server/snapshotter), what may be stored (server/cache). */
#ifndef HGI_STORAGE_SNAPSHOT_SNAPSHOT_H
#define HGI_STORAGE_SNAPSHOT_SNAPSHOT_H

#include "herdgate/status.h"
#include "storage/table/table.h"

#define HGI_SNAPSHOT_SENTENCE_MAX 512u

struct hgi_snapshot;

/* What open found. */
struct hgi_snapshot_opened {
    bool is_new;
    bool is_quarantined;                        /* an unusable file was moved aside */
    char quarantine[HGI_SNAPSHOT_SENTENCE_MAX]; /* where to, and why */
    uint64_t high_water;                        /* largest generation ever recorded; 0 = none */
    int64_t saved_wall_ms;                      /* when the last save was; 0 = never */
};

/* Opens or makes the file (0600, folder 0700 if made here). FAILED_PRECONDITION: another process
 * has it; UNAVAILABLE: the place cannot be used. */
HG_NODISCARD enum hg_status hgi_snapshot_open(const char *path, const struct hgi_now *now,
                                              struct hgi_snapshot **ret_snapshot,
                                              struct hgi_snapshot_opened *ret_opened,
                                              char *ret_sentence);
/* Checkpoints and closes. */
void hgi_snapshot_close(struct hgi_snapshot **snapshot);

/* Calls `visit` for every usable row: checksum right, not cleared, not over. Times are already this
 * boot's: published_ms lies back by the age at save plus the time since, so that nothing lives
 * longer than it would have. A wall clock behind the last save: no rows. *ret_restored,
 * *ret_dropped count rows (dropped: wrong checksum or shape). `visit` must not call back. */
HG_NODISCARD enum hg_status hgi_snapshot_restore(
    struct hgi_snapshot *snapshot, const struct hgi_now *now,
    void (*visit)(void *context, struct hg_slice cache, const struct hgi_entry *entry),
    void *context, uint64_t *ret_restored, uint64_t *ret_dropped, char *ret_sentence);

/* One save round: begin, any number of put, then commit (not FULL; a crash of the process loses
 * nothing committed). On any failure the round is rolled back and must be begun anew. */
HG_NODISCARD enum hg_status hgi_snapshot_begin(struct hgi_snapshot *snapshot, char *ret_sentence);
HG_NODISCARD enum hg_status hgi_snapshot_put(struct hgi_snapshot *snapshot, struct hg_slice cache,
                                             const struct hgi_entry *entry,
                                             const struct hgi_now *now, char *ret_sentence);
/* `high_water` is the largest generation handed out. Deletes rows whose time is over, rows older
 * than their cache's clear, and clear records no row needs any more, a bounded number a round. */
HG_NODISCARD enum hg_status hgi_snapshot_commit(struct hgi_snapshot *snapshot, uint64_t high_water,
                                                const struct hgi_now *now, char *ret_sentence);

/* Durable (synchronous FULL) when it returns OK. Clear: every row of the cache born before
 * `generation` will never come back. Forget: the key's row is gone. Both may be called between
 * rounds only. */
HG_NODISCARD enum hg_status hgi_snapshot_clear(struct hgi_snapshot *snapshot, struct hg_slice cache,
                                               uint64_t generation, char *ret_sentence);
HG_NODISCARD enum hg_status hgi_snapshot_forget(struct hgi_snapshot *snapshot,
                                                struct hg_slice cache, const struct hg_slice *keys,
                                                size_t key_count, uint64_t generation,
                                                char *ret_sentence);
/* One entry, durable when it returns OK (a put in an auth cache). */
HG_NODISCARD enum hg_status hgi_snapshot_put_durable(struct hgi_snapshot *snapshot,
                                                     struct hg_slice cache,
                                                     const struct hgi_entry *entry,
                                                     const struct hgi_now *now, char *ret_sentence);

/* Rows of a cache on disk. */
HG_NODISCARD enum hg_status hgi_snapshot_rows(struct hgi_snapshot *snapshot, struct hg_slice cache,
                                              uint64_t *ret_rows, char *ret_sentence);
/* Drops every row of a cache inside a begun round, before it is written anew. */
HG_NODISCARD enum hg_status hgi_snapshot_drop_rows(struct hgi_snapshot *snapshot,
                                                   struct hg_slice cache, char *ret_sentence);

#endif
