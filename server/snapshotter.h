/* SPDX-License-Identifier: Apache-2.0 */
/* snapshotter: when what goes to disk: invalidations before their OK, entries behind.
 * Owns:     the snapshot; the thread `snapshotter`, the only one that touches it once started.
 * Threads:  clear, forget, put, save, verify, stats, path and interval_ms from any; the rest from
 *           main. `done` runs on the snapshotter's thread with no lock held.
 * Limits:   HGI_SNAPSHOTTER_INBOX_MAX operations or HGI_SNAPSHOTTER_INBOX_BYTES waiting.
 * Errors:   HG_OK = accepted, and then exactly one `done`; else none. A disk that fails leaves the
 *           server running, degraded; the next interval tries again.
 * Not here: the file (storage/snapshot), what is cached (server/cache). */
#ifndef HGI_SERVER_SNAPSHOTTER_H
#define HGI_SERVER_SNAPSHOTTER_H

#include "server/cache/registry.h"
#include "storage/snapshot/snapshot.h"

#define HGI_SNAPSHOTTER_INBOX_MAX   4096u
#define HGI_SNAPSHOTTER_INBOX_BYTES (32u << 20)

struct hgi_snapshotter;

/* How an operation ended. Borrowed for the call of `done`. */
struct hgi_saved {
    enum hg_status status; /* OK, or UNAVAILABLE: done in memory, not on disk */
    const char *sentence;  /* why; "" when OK */
    uint64_t entries;      /* save: entries written */
    int64_t duration_ms;   /* save: of its round; verify: from its first portion to its last */
    const struct hgi_snapshot_report *report; /* verify: what was found, also faults; else NULL */
};

/* What the thread is at that takes more than a moment. */
enum hgi_snapshotter_work {
    HGI_SNAPSHOTTER_RESTS,
    HGI_SNAPSHOTTER_SAVES,    /* entries */
    HGI_SNAPSHOTTER_VERIFIES, /* pages */
};

struct hgi_snapshotter_stats {
    bool is_degraded;         /* the last save failed; memory is ahead of the disk */
    uint64_t saves;           /* rounds that wrote something */
    uint64_t save_errors;     /* rounds that failed */
    uint64_t rows;            /* entries written, all in all */
    uint64_t durable_ops;     /* clears, invalidations and puts that were waited for */
    uint64_t durable_commits; /* transactions that took: several operations share one */
    uint64_t durable_errors;  /* operations answered UNAVAILABLE */
    uint64_t restored;        /* rows taken back at start */
    uint64_t dropped;         /* rows found damaged at start */
    char last_error[HGI_SNAPSHOT_SENTENCE_MAX]; /* "" = never */
    uint64_t verifies;                          /* that came to their end */
    uint64_t faults;                            /* that the last one of them found */
    int64_t verified_wall_ms;                   /* when; 0 = never */
    enum hgi_snapshotter_work work;
    uint64_t work_done;
    uint64_t work_total;            /* about; at least work_done */
    struct hgi_snapshot_facts file; /* after the last round */
};

/* In this order: open, make the caches with a start_generation above *ret_high_water (and not below
 * unix microseconds), restore, start, ..., stop, close. open: FAILED_PRECONDITION (another process
 * has the file) or UNAVAILABLE, with ret_sentence (HGI_SNAPSHOT_SENTENCE_MAX bytes). */
HG_NODISCARD enum hg_status hgi_snapshotter_open(const struct hgi_snapshot_options *options,
                                                 int64_t interval_ms, const struct hgi_now *now,
                                                 struct hgi_snapshotter **ret_snapshotter,
                                                 uint64_t *ret_high_water, char *ret_sentence);
/* Fills the caches of the registry, which is borrowed until close; lifetimes are cut to what the
 * cache's policy now allows, rows of other caches leave the file. A disk that fails here means
 * degraded, not down. False: no memory. */
HG_NODISCARD bool hgi_snapshotter_restore(struct hgi_snapshotter *snapshotter,
                                          struct hgi_registry *registry, const struct hgi_now *now);
HG_NODISCARD bool hgi_snapshotter_start(struct hgi_snapshotter *snapshotter);
/* No more operations are accepted; those that were are done, then everything is saved. */
void hgi_snapshotter_stop(struct hgi_snapshotter *snapshotter);
/* After stop, or without start; operations still waiting end UNAVAILABLE. */
void hgi_snapshotter_close(struct hgi_snapshotter **snapshotter);

/* Each makes durable what the caller has already done in memory, with the generation it was given
 * there. Names, keys and entries are copied. RESOURCE_EXHAUSTED: the inbox is full; UNAVAILABLE:
 * stopped; NOT_FOUND: no such cache. If one is refused or fails, the next save that works writes
 * the whole cache anew, so that the disk follows memory again. */
HG_NODISCARD enum hg_status hgi_snapshotter_clear(
    struct hgi_snapshotter *snapshotter, struct hg_slice cache, uint64_t generation,
    void (*done)(void *context, const struct hgi_saved *saved), void *context);
/* Soft or hard: what was marked stale is read anew after a restart. */
HG_NODISCARD enum hg_status hgi_snapshotter_forget(
    struct hgi_snapshotter *snapshotter, struct hg_slice cache, const struct hgi_cover *cover,
    uint64_t generation, void (*done)(void *context, const struct hgi_saved *saved), void *context);
/* The entry as hgi_cache_put gave it back, with its tags (hgi_tagging_init) put in. If memory has
 * since moved on, by a newer put, an invalidation, an eviction, only the older row is taken away.
 */
HG_NODISCARD enum hg_status hgi_snapshotter_put(
    struct hgi_snapshotter *snapshotter, struct hg_slice cache, const struct hgi_entry *entry,
    void (*done)(void *context, const struct hgi_saved *saved), void *context);
/* A round now: everything that was in the caches at the time of the call is on disk at its OK. */
HG_NODISCARD enum hg_status hgi_snapshotter_save(struct hgi_snapshotter *snapshotter,
                                                 void (*done)(void *context,
                                                              const struct hgi_saved *saved),
                                                 void *context);

/* Looks at all that is in the file, between everything else: a portion of it at a time. It is OK
 * whatever is found. Faults make the next save write all of it anew. Those who ask while one goes
 * on share the next. `is_wanted` is asked on the thread before each portion: when nobody wants it
 * any more it ends, CANCELLED. UNAVAILABLE: it cannot be read, or the server stops. */
HG_NODISCARD enum hg_status hgi_snapshotter_verify(
    struct hgi_snapshotter *snapshotter, bool (*is_wanted)(void *context),
    void (*done)(void *context, const struct hgi_saved *saved), void *context);

/* As hgi_snapshotter_open was told. */
const char *hgi_snapshotter_path(const struct hgi_snapshotter *snapshotter);
int64_t hgi_snapshotter_interval_ms(const struct hgi_snapshotter *snapshotter);
void hgi_snapshotter_stats(struct hgi_snapshotter *snapshotter,
                           struct hgi_snapshotter_stats *ret_stats);

#endif
