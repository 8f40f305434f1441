/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot: entries and invalidations on disk.
 * Owns:     the file, its -wal, its lock file; the one sqlite connection.
 * Threads:  one thread at a time calls it (server/snapshotter); it has none of its own.
 * Limits:   rows are only added: when too many of a cache are dead, the caller writes it anew.
 * Errors:   UNAVAILABLE and a sentence when the disk fails: the transaction is rolled back, nothing
 *           acknowledged is lost, try again later. A corrupt, foreign or future file is moved aside
 *           at open, never an error; one of versions 2 and 3 is written anew as the present one.
 * Not here: when to save (server/snapshotter), what may be stored (server/cache). */
#ifndef HGI_STORAGE_SNAPSHOT_SNAPSHOT_H
#define HGI_STORAGE_SNAPSHOT_SNAPSHOT_H

#include "base/digest.h"
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
    uint32_t migrated_from; /* the version it was of, and was written anew; 0: it was not */
    uint64_t migrated_rows;
    uint64_t left_rows; /* cleared, over or damaged */
};

/* What a transaction survives once it is committed. */
enum hgi_snapshot_sync {
    HGI_SNAPSHOT_BEHIND,  /* the end of the process; a power cut may take the last ones */
    HGI_SNAPSHOT_DURABLE, /* a power cut: the disk has it, and everything committed before it */
};

struct hgi_snapshot_options {
    const char *path;
    const struct hgi_digest_key *key; /* for HGI_KEY_USE_SNAPSHOT; copied. NULL: the file has one */
    bool is_encrypted;                /* needs `key` */
};

/* Opens or makes the file (0600, its folder 0700 if made here; only the last folder is made). Every
 * `ret_sentence` below has room for HGI_SNAPSHOT_SENTENCE_MAX bytes and is written on failure only.
 * FAILED_PRECONDITION: another process has it; UNAVAILABLE: the place cannot be used. */
HG_NODISCARD enum hg_status hgi_snapshot_open(const struct hgi_snapshot_options *options,
                                              const struct hgi_now *now,
                                              struct hgi_snapshot **ret_snapshot,
                                              struct hgi_snapshot_opened *ret_opened,
                                              char *ret_sentence);
/* Rolls back what was begun, checkpoints and closes. */
void hgi_snapshot_close(struct hgi_snapshot **snapshot);

/* Calls `visit` for every usable row: checksum right, not cleared, not over. Times are already this
 * boot's: published_ms lies back by the age at save plus the time since, so that nothing lives
 * longer than it would have. A row that is not usable, or for which `visit` answers false, leaves
 * the file. A wall clock behind the last save: no rows, and the file is emptied. *ret_restored:
 * rows that `visit` took; *ret_dropped: rows with a wrong checksum or shape, or all when the clock
 * is behind. Both are written on failure too: rows visited stay visited. `visit` must not call
 * back. Not inside a transaction. */
HG_NODISCARD enum hg_status hgi_snapshot_restore(
    struct hgi_snapshot *snapshot, const struct hgi_now *now,
    bool (*visit)(void *context, struct hg_slice cache, const struct hgi_entry *entry),
    void *context, uint64_t *ret_restored, uint64_t *ret_dropped, char *ret_sentence);

/* One transaction: begin, any of put, clear, forget, forget_tags, drop_rows, then commit. The first
 * failure rolls all of it back and ends it. */
HG_NODISCARD enum hg_status hgi_snapshot_begin(struct hgi_snapshot *snapshot,
                                               enum hgi_snapshot_sync sync,
                                               const struct hgi_now *now, char *ret_sentence);
/* Stands for the key from here on; the row that did before is dead weight. An entry born before its
 * cache's clear is left out; one that is already over only takes the older row away. */
HG_NODISCARD enum hg_status hgi_snapshot_put(struct hgi_snapshot *snapshot, struct hg_slice cache,
                                             const struct hgi_entry *entry,
                                             const struct hgi_now *now, char *ret_sentence);
/* Every row of the cache born before `generation` will never come back; the rows themselves go
 * behind, a bounded number with each BEHIND commit. */
HG_NODISCARD enum hg_status hgi_snapshot_clear(struct hgi_snapshot *snapshot, struct hg_slice cache,
                                               uint64_t generation, char *ret_sentence);
/* The keys' rows born before `generation` will never come back; they go behind. Then no record
 * stays: whoever puts such a key later must not hand in an entry older than this. */
HG_NODISCARD enum hg_status hgi_snapshot_forget(struct hgi_snapshot *snapshot,
                                                struct hg_slice cache, const struct hg_slice *keys,
                                                size_t key_count, uint64_t generation,
                                                char *ret_sentence);
/* A name that entries share, and the number of its invalidation. */
struct hgi_snapshot_tag {
    struct hg_slice name;
    uint64_t generation;
};
/* The rows that have one of the names and are born before its number are gone. */
HG_NODISCARD enum hg_status hgi_snapshot_forget_tags(struct hgi_snapshot *snapshot,
                                                     struct hg_slice cache,
                                                     const struct hgi_snapshot_tag *tags,
                                                     size_t tag_count, char *ret_sentence);
/* Every row of the cache goes, before it is written anew. */
HG_NODISCARD enum hg_status hgi_snapshot_drop_rows(struct hgi_snapshot *snapshot,
                                                   struct hg_slice cache, char *ret_sentence);
/* `high_water` is the largest generation handed out; recorded with every commit. */
HG_NODISCARD enum hg_status hgi_snapshot_commit(struct hgi_snapshot *snapshot, uint64_t high_water,
                                                const struct hgi_now *now, char *ret_sentence);
/* Gives the transaction up; harmless when none is begun. */
void hgi_snapshot_rollback(struct hgi_snapshot *snapshot);

/* Another file beside it, empty, to be filled and put in its place: for everything at once that is
 * quicker, and the first is whole meanwhile. The calls above may be made of it; none is durable,
 * and after one that failed it is of no use. UNAVAILABLE: it cannot be made. */
HG_NODISCARD enum hg_status hgi_snapshot_open_beside(struct hgi_snapshot *snapshot,
                                                     struct hgi_snapshot **ret_beside,
                                                     char *ret_sentence);
/* Puts it in the place of the first, for good. On failure the first is what it was, or is begun
 * anew. `beside` is closed in any case. Not inside a transaction of either. */
HG_NODISCARD enum hg_status hgi_snapshot_replace(struct hgi_snapshot *snapshot,
                                                 struct hgi_snapshot **beside, char *ret_sentence);

/* Moves the write-ahead log into the file and cuts it to nothing. After each round; commit does it
 * by itself only when the log has grown past 8 MiB (BEHIND: 64 MiB). What was committed stays so if
 * it fails. */
enum hg_status hgi_snapshot_checkpoint(struct hgi_snapshot *snapshot, char *ret_sentence);

/* What is in a file. */
struct hgi_snapshot_report {
    char fault[HGI_SNAPSHOT_SENTENCE_MAX]; /* the first thing that is wrong; "": all is whole */
    bool is_keyed;                         /* under a key that is not in the file */
    bool is_encrypted;
    bool is_structure_checked; /* sqlite's own look at its pages was part of it */
    uint64_t high_water;
    int64_t saved_wall_ms;
    uint64_t caches;
    uint64_t pages;
    uint64_t rows; /* that can be read; hidden ones and those that are over, too */
    uint64_t invalidations;
    uint64_t wrong; /* rows, pages and records that are not what was written */
};

/* Reads all of a file that nobody uses and changes nothing. OK: ret_report says what is there, or
 * what is wrong. NOT_FOUND: no such file. FAILED_PRECONDITION: somebody uses it. UNAVAILABLE: it
 * cannot be read. `options`: is_encrypted is not looked at. */
HG_NODISCARD enum hg_status hgi_snapshot_verify(const struct hgi_snapshot_options *options,
                                                struct hgi_snapshot_report *ret_report,
                                                char *ret_sentence);

/* The same of the file in use, a portion at a time: between two of them anything may be written. Of
 * more than this sqlite's own look, which is no portion, is left out. */
#define HGI_SNAPSHOT_STRUCTURE_MAX (256u << 20)

struct hgi_snapshot_check {
    struct hgi_snapshot_report report; /* so far */
    uint64_t files; /* how often another file had taken the place when it began */
    int64_t at;     /* the page looked at last */
    int64_t until;
    uint64_t pages_total; /* about how many there are to be looked at */
    bool is_over;
};

/* Reads the records. UNAVAILABLE: there is no file, or it cannot be read. Not inside a transaction,
 * as the next. */
HG_NODISCARD enum hg_status hgi_snapshot_check_begin(struct hgi_snapshot *snapshot,
                                                     struct hgi_snapshot_check *ret_check,
                                                     char *ret_sentence);
/* Reads some pages. *ret_is_done: check->report is whole, and nothing more may be asked. ABORTED:
 * the file is not the one it began with any more. UNAVAILABLE: it cannot be read. */
HG_NODISCARD enum hg_status hgi_snapshot_check_next(struct hgi_snapshot *snapshot,
                                                    struct hgi_snapshot_check *check,
                                                    bool *ret_is_done, char *ret_sentence);

/* What is known of the file in use without reading it. */
struct hgi_snapshot_facts {
    uint32_t version; /* major * 1000 + minor */
    uint64_t file_bytes;
    uint64_t log_bytes;
    uint64_t pages;
    uint64_t invalidations; /* on record: rows that they cover may still be there */
    uint64_t high_water;
    int64_t saved_wall_ms; /* 0: never */
    bool is_keyed;
    bool is_encrypted;
};

/* Absolute; the same as long as it is open. */
const char *hgi_snapshot_path(const struct hgi_snapshot *snapshot);
void hgi_snapshot_facts(const struct hgi_snapshot *snapshot, struct hgi_snapshot_facts *ret_facts);

/* Rows of a cache on disk, dead ones too. */
HG_NODISCARD enum hg_status hgi_snapshot_rows(struct hgi_snapshot *snapshot, struct hg_slice cache,
                                              uint64_t *ret_rows, char *ret_sentence);
/* Rows that were invalidated are still in the file: the next BEHIND commits take them out. */
bool hgi_snapshot_is_purging(const struct hgi_snapshot *snapshot);
/* How often they have looked at the whole file. */
uint64_t hgi_snapshot_purges(const struct hgi_snapshot *snapshot);
/* It was written under other options than it was opened with, and is still; a file beside it is
 * written under these. */
bool hgi_snapshot_is_outdated(const struct hgi_snapshot *snapshot);
/* How often the file was given up and begun anew, empty, because the disk lost a sync or the file
 * was damaged, removed or replaced under us. A change means: save everything again. */
uint64_t hgi_snapshot_renewals(const struct hgi_snapshot *snapshot);

#endif
