/* SPDX-License-Identifier: Apache-2.0 */
/* journal: what happened lately to what is cached, by number.
 * Owns:     copies of the keys; borrows names for as long as it lives.
 * Threads:  any; one lock. A watch ends on the thread that appends, ticks or closes, without it.
 * Limits:   HGI_JOURNAL_EVENTS_MAX events, HGI_JOURNAL_KEYS_BYTES of their keys: the oldest go.
 *           HGI_JOURNAL_WATCHES_MAX watches.
 * Errors:   append cannot fail; a reader that is too late is told that there is a gap.
 * Not here: which changes are events and who may see keys (events_service, cache_service, ...).
 *
 * Numbers begin at 1 with each start of the server and have no holes. Whoever sees a change's OK
 * finds its event here: it is appended before. */
#ifndef HGI_SERVER_RPC_JOURNAL_H
#define HGI_SERVER_RPC_JOURNAL_H

#include "base/clock.h"
#include "base/list.h"
#include "base/lock.h"
#include "proto/codec.h"

#define HGI_JOURNAL_EVENTS_MAX  65536u
#define HGI_JOURNAL_KEYS_BYTES  (8u * 1024 * 1024) /* 128 for each */
#define HGI_JOURNAL_WATCHES_MAX 1024u

struct hgi_journal;

/* What events of one change have in common. */
struct hgi_change {
    enum hg_event_kind kind;
    const char *name; /* of a cache, borrowed for the life of the journal */
    uint64_t generation;
};

struct hgi_event {
    struct hgi_change change;
    uint64_t number;
    int64_t at_ms;
    struct hg_slice key; /* canonical; empty: none; with LOADER the loader's name */
};

/* Some events one after the other, in an arena. */
struct hgi_journal_page {
    struct hgi_event *events;
    size_t count;
    uint64_t last; /* of these; with none, the number asked for; in a gap, the newest there is */
    bool is_gap;
};

/* Someone who waits for the next event. */
struct hgi_watch {
    struct hgi_node node;
    int64_t due_ms;  /* boot time */
    bool is_waiting; /* the journal's */
    /* Called once. is_closed: the server ends; else there is something to read, or the time is up.
     */
    void (*done)(struct hgi_watch *watch, bool is_closed);
};

enum hgi_watch_state {
    HGI_WATCH_WAITING, /* `done` comes, perhaps already came */
    HGI_WATCH_READY,   /* there is something to read now; `done` never comes, here and below */
    HGI_WATCH_NO_ROOM,
    HGI_WATCH_CLOSED,
};

HG_NODISCARD struct hgi_journal *hgi_journal_create(void);
/* Nobody may wait. */
void hgi_journal_destroy(struct hgi_journal **journal);

/* One event for each key, or with key_count 0 one without; then whoever waits is told. Keys are
 * copied. */
void hgi_journal_append(struct hgi_journal *journal, const struct hgi_change *change,
                        const struct hg_slice *keys, size_t key_count, int64_t at_ms);
/* The number of the newest event; 0: none yet. */
uint64_t hgi_journal_last(struct hgi_journal *journal);
/* How many watches wait. */
size_t hgi_journal_watching(struct hgi_journal *journal);
/* The events after `after`, at most `max` and as many as fit into message_bytes when sent, but
 * always one. False: the arena is full. */
HG_NODISCARD bool hgi_journal_read(struct hgi_journal *journal, uint64_t after, size_t max,
                                   size_t message_bytes, struct hgi_arena *arena,
                                   struct hgi_journal_page *ret_page);
/* Waits for an event after `after`; due_ms and done are set. After WAITING the watch is not
 * touched any more. */
HG_NODISCARD enum hgi_watch_state hgi_journal_watch(struct hgi_journal *journal, uint64_t after,
                                                    struct hgi_watch *watch);
/* True: it waits no longer, and `done` never comes. False: it came, or is about to. */
HG_NODISCARD bool hgi_journal_leave(struct hgi_journal *journal, struct hgi_watch *watch);
/* Ends watches whose time is up. */
void hgi_journal_tick(struct hgi_journal *journal, const struct hgi_now *now);
/* Ends all watches, and lets none begin. */
void hgi_journal_close(struct hgi_journal *journal);

#endif
