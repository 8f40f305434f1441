/* SPDX-License-Identifier: Apache-2.0 */
/* ops: operations that were asked for lately, so that a repeated one has one effect.
 * Owns:     the remembered replies.
 * Threads:  any; one lock.
 * Limits:   HGI_OPS_MAX or HGI_OPS_KEEP_MS a principal, whichever ends first; HGI_PRINCIPALS_MAX.
 * Errors:   a call that cannot be remembered is refused rather than done unprotected.
 * Not here: what the operations do.
 *
 * A stock REQ socket repeats a request by itself after 60 s and on a new connection; the window is
 * what keeps a late copy of a put from undoing a clear. */
#ifndef HGI_SERVER_RPC_OPS_H
#define HGI_SERVER_RPC_OPS_H

#include "base/bytes.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/lock.h"

#define HGI_OPS_MAX        65536u
#define HGI_OPS_KEEP_MS    120000
#define HGI_PRINCIPALS_MAX 128u
#define HGI_OP_BYTES       512u /* about what one takes, with its reply */

struct hgi_ops;
struct hgi_op;

enum hgi_op_state {
    HGI_OP_FIRST,    /* do it, then hgi_ops_end */
    HGI_OP_REPEATED, /* *ret_reply holds the first one's answer */
    HGI_OP_WAITING,  /* the first one is under way; the waiter is answered with it */
    HGI_OP_MISMATCH, /* the id was used for another request */
    HGI_OP_NO_ROOM,
};

HG_NODISCARD struct hgi_ops *hgi_ops_create(void);
void hgi_ops_destroy(struct hgi_ops **ops);
/* The request is its method and payload. `waiter` is linked in when the state is WAITING; `op` is
 * set when it is FIRST. */
HG_NODISCARD enum hgi_op_state hgi_ops_begin(struct hgi_ops *ops, uint64_t principal,
                                             struct hg_slice op_id, uint32_t method,
                                             struct hg_slice request, const struct hgi_now *now,
                                             struct hgi_node *waiter, struct hgi_op **ret_op,
                                             struct hg_bytes *ret_reply);
/* Keeps a copy of the reply and hands over who waited for it. */
void hgi_ops_end(struct hgi_ops *ops, struct hgi_op *op, struct hg_slice reply,
                 struct hgi_node *ret_waiters);

#endif
