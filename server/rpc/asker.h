/* SPDX-License-Identifier: Apache-2.0 */
/* asker: who a call came from, as dispatch and the services see him: a connection of the wire, or a
 * request over HTTP.
 * Owns:     nothing; it is a part of what brings the calls.
 * Threads:  set once; calls and spare belong to dispatch, reply may come from any.
 * Limits:   none.
 * Errors:   none: a reply to who is gone is dropped.
 * Not here: bytes in and out (conn, server/http), whether he may (rights). */
#ifndef HGI_SERVER_RPC_ASKER_H
#define HGI_SERVER_RPC_ASKER_H

#include <stdatomic.h>

#include "base/list.h"
#include "proto/pieces.h"
#include "proto/sp.h"
#include "server/config.h"

/* Who is at the other end. */
struct hgi_peer {
    enum hgi_access access;
    enum hgi_serves serves;
    bool is_ipc;
    bool is_tls;
    uint32_t uid; /* ipc only */
    uint64_t pid; /* ipc only */
};

struct hgi_asker;

/* Copies the body. Once for each request with its route, now or later, from any thread. After it
 * the call does not touch the asker any more, unless its turn is still under way. */
typedef void (*hgi_asker_reply_fn)(struct hgi_asker *asker, const struct hgi_sp_route *route,
                                   const struct hgi_pieces *body);

struct hgi_asker {
    hgi_asker_reply_fn reply;
    struct hgi_peer peer;
    uint64_t id; /* not 0, and no other asker's of this process, before or after */
    /* What its calls may hold beside HGI_CALL_BYTES each, until they are answered. Who brings the
     * requests brings no more once this is hold_max_bytes; calls take no more of it either. 0: any
     * amount. */
    _Atomic size_t held_bytes;
    size_t hold_max_bytes;
    /* dispatch's, from one request to the next; hgi_dispatch_gone empties them */
    struct hgi_node calls;
    void *spare;
};

void hgi_asker_init(struct hgi_asker *asker, const struct hgi_peer *peer, hgi_asker_reply_fn reply);
/* The process of the asker that has, or had, this id; 0: not known (tcp). */
uint64_t hgi_asker_pid_of_id(uint64_t id);

#endif
