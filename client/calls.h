/* SPDX-License-Identifier: Apache-2.0 */
/* calls: who waits for a reply, by id and by deadline.
 * Owns:     the ids; a call is its submitter's.
 * Threads:  the caller's lock (class client), except the ends, which want none held.
 * Limits:   ids are 31 bits, not 0, and not given again while their call is in the set.
 * Errors:   insert is false when memory is out. Who takes a call out ends it, and so each call in
 *           the set ends exactly once.
 * Not here: sending (client), what a reply means (call). */
#ifndef HGI_CLIENT_CALLS_H
#define HGI_CLIENT_CALLS_H

#include "base/bytes.h"
#include "base/heap.h"
#include "base/list.h"
#include "base/map.h"
#include "herdgate/client.h"

/* One call in flight. Its submitter fills in the first three. */
struct hgi_call {
    bool mutates;
    bool ends_waits; /* others may be unanswered until this one is sent */
    /* error, or NULL and what came as a reply; both borrowed for the call. */
    void (*end)(struct hgi_call *call, const struct hg_error *error, struct hg_slice reply);
    /* the set's own */
    struct hgi_map_node node;
    struct hgi_heap_node deadline;
    struct hgi_node waiting; /* for the connection to open, or to have room, with its body */
    struct hgi_call *next;   /* in a chain of calls taken out */
    struct hg_bytes body;
    uint32_t id;
    uint32_t timeout_ms;
    bool is_sent;
};

struct hgi_calls {
    struct hgi_map by_id;
    struct hgi_heap_queue deadlines;
    struct hgi_node waiting;
    uint32_t last_id;
};

HG_NODISCARD bool hgi_calls_init(struct hgi_calls *calls);
void hgi_calls_deinit(struct hgi_calls *calls);

static inline size_t hgi_calls_count(const struct hgi_calls *calls)
{
    return calls->by_id.count;
}

/* Gives the call an id; it waits until due_ms. */
HG_NODISCARD bool hgi_calls_insert(struct hgi_calls *calls, struct hgi_call *call,
                                   uint32_t timeout_ms, int64_t due_ms);
struct hgi_call *hgi_calls_find(const struct hgi_calls *calls, uint32_t id);
/* Keeps the body with the call until hgi_calls_next_waiting. */
void hgi_calls_wait(struct hgi_calls *calls, struct hgi_call *call, HG_TAKES struct hg_bytes *body);
static inline bool hgi_calls_has_waiting(const struct hgi_calls *calls)
{
    return !hgi_list_is_empty(&calls->waiting);
}

/* The call that has waited longest, now sent, and its body (the caller's); it stays in the set. */
struct hgi_call *hgi_calls_next_waiting(struct hgi_calls *calls, struct hg_bytes *ret_body);

void hgi_calls_take(struct hgi_calls *calls, struct hgi_call *call);
/* Chains (by `next`) of every call, and of those due. */
struct hgi_call *hgi_calls_take_all(struct hgi_calls *calls);
struct hgi_call *hgi_calls_take_due(struct hgi_calls *calls, int64_t now_ms);
/* INT64_MAX: none is waited for. */
int64_t hgi_calls_first_due_ms(const struct hgi_calls *calls);

/* True on a thread that is inside a call's `end`: it must not wait here. */
bool hgi_calls_is_ending(void);
void hgi_calls_end_reply(struct hgi_call *call, struct hg_slice reply);
/* Ends of a chain taken out. `why` is half a sentence, "" for nothing known; late with url NULL:
 * there is a connection. */
void hgi_calls_end_lost(struct hgi_call *chain, const char *url, const char *why);
void hgi_calls_end_late(struct hgi_call *chain, const char *url, const char *why);
void hgi_calls_end_closed(struct hgi_call *chain);
void hgi_calls_end_unsent(struct hgi_call *call);

#endif
