/* SPDX-License-Identifier: Apache-2.0 */
/* live: the calls that have not ended: how many, of which connection, until when.
 * Owns:     no call; a call's memory stays while anybody holds it, and the last is told to free it.
 * Threads:  any; one lock, and nothing is called with it held. A call that ends in its turn takes
 *           none.
 * Limits:   none of its own.
 * Errors:   without memory a call has no deadline of its own; it ends all the same.
 * Not here: what a call is, or is answered with (call, dispatch). A door of this room only.
 *
 * A call begins in a turn of the thread that brought it; most end there. What goes on after its
 * turn, or has a deadline, is kept: others find it by its connection or by its time.
 *
 * Two may want to answer a call: what it waits for, and the clock. hgi_live_answer is true for the
 * first of them only. Answered is not ended: a call that the clock answered lives on until what it
 * waited for has let go of it. */
#ifndef HGI_SERVER_RPC_LIVE_H
#define HGI_SERVER_RPC_LIVE_H

#include <stdatomic.h>

#include "base/heap.h"
#include "base/list.h"
#include "base/lock.h"

enum hgi_live_state { HGI_LIVE_IN_TURN, HGI_LIVE_KEPT, HGI_LIVE_ANSWERED };

/* A call's part of it. */
struct hgi_live_call {
    struct hgi_node *conn_calls; /* where it will be kept */
    struct hgi_node of_conn;     /* while kept */
    struct hgi_heap_node due;
    _Atomic unsigned state;   /* enum hgi_live_state; KEPT comes and goes under the lock only */
    _Atomic uint32_t holders; /* its turn, what ends it, and who was given it below */
    bool is_counted;          /* it was kept */
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

/* Its turn begins. `conn_calls`: the list of the connection it came from, guarded by `live`. */
void hgi_live_begin(struct hgi_live_call *call, struct hgi_node *conn_calls);
/* hgi_live_take_due will give it when the time has come. */
void hgi_live_set_due(struct hgi_live *live, struct hgi_live_call *call, int64_t due_ms);
/* Its turn is over. True: it has ended; free it, or use its memory for another. False: it goes on,
 * or another holds it, who frees it. */
HG_NODISCARD bool hgi_live_end_turn(struct hgi_live *live, struct hgi_live_call *call);
/* True: the caller answers it, and nobody else will. */
HG_NODISCARD bool hgi_live_answer(struct hgi_live *live, struct hgi_live_call *call);
/* After its answer. True: free it. False: it is held, by its turn if nobody else. */
HG_NODISCARD bool hgi_live_end(struct hgi_live *live, struct hgi_live_call *call);

/* A call whose time is up, held; the caller answers it. NULL: none. */
struct hgi_live_call *hgi_live_take_due(struct hgi_live *live, int64_t now_ms);
/* The first call of the list, held and out of it. NULL: none. */
struct hgi_live_call *hgi_live_take_first(struct hgi_live *live, struct hgi_node *conn_calls);
/* Lets go of what one of the two gave. True: it ended meanwhile; free it. */
HG_NODISCARD bool hgi_live_release(struct hgi_live *live, struct hgi_live_call *call);

/* No call is in its turn any more. Waits until none is kept; false: some still are after
 * timeout_ms. */
HG_NODISCARD bool hgi_live_wait_idle(struct hgi_live *live, int64_t timeout_ms);

#endif
