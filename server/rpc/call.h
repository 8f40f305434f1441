/* SPDX-License-Identifier: Apache-2.0 */
/* call: one request from its arrival to its reply.
 * Owns:     the decoded request (arena) and the reply being built; holds its asker.
 * Threads:  one after the other: handed from handler to callback, finished once. The clock may
 *           answer it meanwhile, from another; it touches route, asker and op only.
 * Limits:   the arena's budget (8 times the message); what its asker may hold.
 * Errors:   finish cannot fail: without memory for the reply the caller is told so all the same.
 * Not here: which handler (dispatch), what it does (the services), bytes on the wire (conn). */
#ifndef HGI_SERVER_RPC_CALL_H
#define HGI_SERVER_RPC_CALL_H

#include <stdatomic.h>

#include "base/clock.h"
#include "base/kind.h"
#include "base/list.h"
#include "proto/envelope.h"
#include "server/access/tokens.h"
#include "server/rpc/asker.h"
#include "server/rpc/live.h"

/* What a call holds without being counted: itself, and the arena of a message that is not long. */
#define HGI_CALL_BYTES 12288u

struct hgi_answer;
struct hgi_dispatch;

struct hgi_rpc {
    struct hgi_dispatch *dispatch;
    struct hgi_asker *asker; /* until answered */
    struct hgi_live_call live;
    struct hgi_sp_route route;
    struct hgi_arena arena;
    struct hgi_request request;
    struct hgi_bearer bearer; /* principal NULL: the peer needs no token */
    struct hgi_now now;       /* when its turn began */
    _Atomic bool is_in_turn;  /* that is not long ago */
    struct hg_bytes payload;  /* of the reply */
    struct hg_bytes scratch;  /* a hit's value */
    char sentence[HGI_SENTENCE_MAX];
    struct hgi_op *op;         /* this call's place in the op window, or NULL */
    struct hgi_node op_node;   /* waiting for another call with the same op id */
    void *owned;               /* freed with the call */
    _Atomic size_t held_bytes; /* its part of the asker's */
    void *reading;             /* the handler's, for `leave` */
    /* The peer is gone: what the call waits for is not wanted any more. Set before the handler
     * returns, or NULL; called at most once, and the call's memory is there. */
    void (*leave)(struct hgi_rpc *rpc);
    _Atomic bool is_gone; /* the peer; set before `leave` and before its leases are handed on */
    const char *_Atomic late_sentence; /* with hgi_rpc_bound, as is due_ms (boot time) */
    int64_t due_ms;
};

/* NULL: no memory. */
HG_NODISCARD struct hgi_rpc *hgi_rpc_create(struct hgi_dispatch *dispatch);
/* It is the call of this request from now on. */
void hgi_rpc_begin(struct hgi_rpc *rpc, struct hgi_asker *asker, const struct hgi_sp_route *route,
                   size_t body_len);
/* The memory of all calls of one connection that wait, whatever its peer does. */
size_t hgi_rpc_bytes_max(const struct hgi_limits *limits);
/* The call holds what its arena has by now, or at most can come to have by decoding its message.
 * For one that may wait; in its turn. */
void hgi_rpc_hold_arena(struct hgi_rpc *rpc);
void hgi_rpc_hold_message(struct hgi_rpc *rpc, size_t payload_len);
/* The call holds so much more until it is answered. */
void hgi_rpc_hold(struct hgi_rpc *rpc, size_t bytes);
/* The same, unless its asker holds too much then. */
HG_NODISCARD bool hgi_rpc_try_hold(struct hgi_rpc *rpc, size_t bytes);
/* The time; read anew only after its turn. */
struct hgi_now hgi_rpc_now(struct hgi_rpc *rpc);
/* It has ended, and nobody has it any more: either of the two. A reset one can begin anew, with
 * what memory it has. */
void hgi_rpc_reset(struct hgi_rpc *rpc);
void hgi_rpc_free(struct hgi_rpc *rpc);
/* Sends status, message and rpc->payload, and ends the call: not to be touched after. */
void hgi_rpc_finish(struct hgi_rpc *rpc, enum hg_status status, struct hg_slice message,
                    uint32_t retry_after_ms);
/* The same with the status, message and retry hint of a read, and this payload, borrowed. */
void hgi_rpc_finish_read(struct hgi_rpc *rpc, const struct hgi_answer *answer,
                         const struct hgi_pieces *payload);
/* What it waits for may take longer than its caller does: at its deadline it is answered
 * DEADLINE_EXCEEDED with this sentence, and its finish is then not sent. */
void hgi_rpc_bound(struct hgi_rpc *rpc, const char *late_sentence);
/* Its deadline has come; hgi_live_take_due gave it. */
void hgi_rpc_late(struct hgi_rpc *rpc);
/* The same with a sentence and without payload. */
void hgi_rpc_fail(struct hgi_rpc *rpc, enum hg_status status, const char *sentence);
/* An earlier call's reply, as it was sent then. */
void hgi_rpc_repeat(struct hgi_rpc *rpc, struct hg_slice reply);
/* The reply when there is no memory for any other: Reply{status = RESOURCE_EXHAUSTED}. */
struct hg_slice hgi_rpc_no_memory(void);
/* The reply that takes the place of one for which its connection has no room left. */
struct hg_slice hgi_rpc_no_room(void);
/* OK with the payload; `is_encoded` false: there was no memory to encode it. */
void hgi_rpc_succeed(struct hgi_rpc *rpc, bool is_encoded);

#endif
