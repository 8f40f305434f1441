/* SPDX-License-Identifier: Apache-2.0 */
/* live: the calls that have not ended: how many, of which connection, until when.
 * Owns:     no call; a call's memory stays while it is pinned, and whoever is told so frees it.
 * Threads:  any; one lock, and nothing is called with it held.
 * Limits:   none of its own.
 * Errors:   without memory a call has no deadline of its own; it ends all the same.
 * Not here: what a call is, or is answered with (call, dispatch). A door of this room only.
 *
 * Two may want to answer a call: what it waits for, and the clock. hgi_live_answer is true for the
 * first of them only. Answered is not ended: a call that the clock answered lives on until what it
 * waited for has let go of it. */
#ifndef HGI_SERVER_RPC_LIVE_H
#define HGI_SERVER_RPC_LIVE_H

#include "base/heap.h"
#include "base/list.h"
#include "base/lock.h"

/* A call's part of it. */
struct hgi_live_call {
    struct hgi_node of_conn; /* until answered */
    struct hgi_heap_node due;
    uint32_t pins;
    bool is_answered;
    bool is_ended; /* freed by the last pin */
};

struct hgi_live {
    struct hgi_lock lock;
    struct hgi_cond idle;
    struct hgi_heap_queue due HGI_GUARDED_BY(dispatch);
    size_t count HGI_GUARDED_BY(dispatch);
};

void hgi_live_init(struct hgi_live *live);
/* No call is live. */
void hgi_live_deinit(struct hgi_live *live);

/* `of_conn`: the list of the connection it came from, guarded by `live`. */
void hgi_live_enter(struct hgi_live *live, struct hgi_live_call *call, struct hgi_node *of_conn);
/* hgi_live_take_due will give it when the time has come. */
void hgi_live_set_due(struct hgi_live *live, struct hgi_live_call *call, int64_t due_ms);
/* True: the caller answers it, and nobody else will. */
HG_NODISCARD bool hgi_live_answer(struct hgi_live *live, struct hgi_live_call *call);
/* True: free it. False: a pin is left, which frees it. */
HG_NODISCARD bool hgi_live_end(struct hgi_live *live, struct hgi_live_call *call);

/* A call whose time is up, pinned; the caller answers it. NULL: none. */
struct hgi_live_call *hgi_live_take_due(struct hgi_live *live, int64_t now_ms);
/* The first call of the list, pinned and out of it. NULL: none. */
struct hgi_live_call *hgi_live_take_first(struct hgi_live *live, struct hgi_node *of_conn);
/* True: it ended meanwhile; free it. */
HG_NODISCARD bool hgi_live_unpin(struct hgi_live *live, struct hgi_live_call *call);

/* Waits until no call is live; false: some still are after timeout_ms. */
HG_NODISCARD bool hgi_live_wait_idle(struct hgi_live *live, int64_t timeout_ms);

#endif
