/* SPDX-License-Identifier: Apache-2.0 */
/* rights: who asks, and whether he may.
 * Owns:     nothing.
 * Threads:  the call's.
 * Limits:   one `authorization` a request.
 * Errors:   UNAUTHENTICATED: no token, or none that counts; PERMISSION_DENIED: known, and refused.
 * Not here: which tokens there are (server/access), who may connect (listener).
 *
 * Where access is `owner` or `data` the peer decides (semantics 7): who reached a `data` listener
 * reads; who was admitted to an `owner` socket also writes; the server's own user and root also
 * administer. Where it is `token` nothing is allowed but what the token's principal was granted:
 * each request is looked at anew, so that a revoked token ends on open connections, too. A listener
 * that serves administration refuses everything else, whoever asks. */
#ifndef HGI_SERVER_RPC_RIGHTS_H
#define HGI_SERVER_RPC_RIGHTS_H

#include "server/rpc/dispatch.h"

/* What is said of a cache that is forbidden and of one that is not there: the same (I20). */
#define HGI_RIGHTS_REFUSED "this token's principal is not allowed to do that here"

/* Finds out who asks, and whether he may use the method at all. False: the call is finished. Where
 * a method is about caches, hgi_rights_cover is still to be asked. */
HG_NODISCARD bool hgi_rights_begin(struct hgi_rpc *rpc);
/* Whether the caller may do this to the cache, whether there is such a one or not. An empty name is
 * every cache. */
HG_NODISCARD bool hgi_rights_cover(const struct hgi_rpc *rpc, struct hg_slice cache,
                                   enum hgi_verb verb);
/* Whether who was let in then would still be. Not asked of changes: they have been made. */
HG_NODISCARD bool hgi_rights_last(const struct hgi_rpc *rpc);
/* For what is remembered of each caller: a number no other has. */
uint64_t hgi_rights_caller(const struct hgi_rpc *rpc);

#endif
