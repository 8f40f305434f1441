/* SPDX-License-Identifier: Apache-2.0 */
/* snapshotter_inside: what the inbox (snapshotter.c) and the thread (snapshotter_round.c,
 * snapshotter_verify.c) share.
 * Owns:     struct hgi_snapshotter.
 * Threads:  as the fields say.
 * Limits:   none of its own.
 * Errors:   none of its own.
 * Not here: anything another file may see (snapshotter.h). */
#ifndef HGI_SERVER_SNAPSHOTTER_INSIDE_H
#define HGI_SERVER_SNAPSHOTTER_INSIDE_H

#include "base/list.h"
#include "base/lock.h"
#include "base/thread.h"
#include "server/snapshotter.h"

enum hgi_durable_kind {
    HGI_DURABLE_CLEAR,
    HGI_DURABLE_FORGET,
    HGI_DURABLE_PUT,
    HGI_DURABLE_SAVE,
    HGI_DURABLE_VERIFY,
};

/* One accepted operation. It is in one list at a time: the inbox, a group being written, the saves
 * that wait for a round, or the verifications that wait or are under way; who takes it off answers
 * it. */
struct hgi_durable {
    struct hgi_node node;
    enum hgi_durable_kind kind;
    size_t cache; /* index in the snapshotter's caches */
    uint64_t generation;
    struct hg_slice *slices; /* keys, then tags; into payload */
    size_t key_count;
    size_t tag_count;
    struct hgi_entry entry;           /* its slices point into payload */
    struct hg_bytes payload;          /* copies; wiped at the end */
    bool (*is_wanted)(void *context); /* verify's */
    void (*done)(void *context, const struct hgi_saved *saved);
    void *context;
};

struct hgi_snapshotter_cache {
    struct hgi_cache *cache;
    struct hg_slice name; /* the cache's */
    uint64_t rows_max;    /* the thread's: no more rows than this are on disk */
    bool is_rewriting;    /* the thread's: its rows were dropped in this round */
};

struct hgi_snapshotter {
    /* set once */
    struct hgi_snapshotter_cache *caches;
    size_t cache_count;
    int64_t interval_ms;

    /* guarded */
    struct hgi_lock lock;
    struct hgi_cond wake;
    struct hgi_node inbox HGI_GUARDED_BY(store);
    size_t inbox_count HGI_GUARDED_BY(store);
    size_t inbox_bytes HGI_GUARDED_BY(store);
    bool is_stopping HGI_GUARDED_BY(store);
    bool *must_rewrite HGI_GUARDED_BY(store); /* one a cache */
    struct hgi_snapshotter_stats stats HGI_GUARDED_BY(store);

    /* the thread's; main's while there is no thread */
    struct hgi_thread thread;
    struct hgi_snapshot *snapshot;
    struct hgi_snapshot *beside; /* being written whole, to take its place; else NULL */
    char beside_sentence[HGI_SNAPSHOT_SENTENCE_MAX]; /* why it was given up */
    bool is_whole_barred; /* that failed: the next round writes where the file is */
    struct hgi_batch batch;
    struct hg_bytes scratch;
    struct hgi_node saves;           /* operations that wait for the next round */
    struct hgi_node verifies;        /* that wait for the present one to end */
    struct hgi_node verifying;       /* that share the present one; empty: there is none */
    struct hgi_snapshot_check check; /* the present one's */
    int64_t verifying_since_ms;      /* boot clock */
    bool is_damaged;                 /* as one found: the next round writes all of it anew */
    bool must_save_all;     /* a transaction failed: what it took counts as unsaved again */
    uint64_t renewals;      /* of the snapshot, as known here */
    int64_t wall_ahead_ms;  /* wall clock less boot clock, when looked at last */
    int64_t next_round_ms;  /* boot clock */
    int64_t last_commit_ms; /* boot clock */
};

/* The thread. */
void hgi_snapshotter_run(void *snapshotter);
/* Calls done, once, and frees. */
void hgi_durable_end(struct hgi_durable *durable, const struct hgi_saved *saved);
/* Says what the thread is at; between two of them nothing is said. */
void hgi_snapshotter_note_work(struct hgi_snapshotter *snapshotter, enum hgi_snapshotter_work work,
                               uint64_t done, uint64_t total) HGI_EXCLUDES(store);
/* The next portion of what is asked to be verified. */
void hgi_snapshotter_verify_next(struct hgi_snapshotter *snapshotter);
static inline bool hgi_snapshotter_is_verifying(const struct hgi_snapshotter *snapshotter)
{
    return !hgi_list_is_empty(&snapshotter->verifying) ||
           !hgi_list_is_empty(&snapshotter->verifies);
}
/* The thread ends: so do they. */
void hgi_snapshotter_stop_verifying(struct hgi_snapshotter *snapshotter);
/* Takes everything off the inbox; false if nothing was there. */
bool hgi_snapshotter_take(struct hgi_snapshotter *snapshotter, struct hgi_node *ret_list)
    HGI_EXCLUDES(store);

#endif
