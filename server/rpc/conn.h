/* SPDX-License-Identifier: Apache-2.0 */
/* conn: one gateway's connection: bytes in, requests up, replies out.
 * Owns:     the stream, its buffers, the ids in flight.
 * Threads:  requests come on nng's threads, one read at a time a connection; replies from any.
 * Limits:   in_flight_max requests, hgi_conn_hold_max of unsent replies and as much for calls that
 *           wait (beyond any: reading stops until there is room), message_max_bytes (beyond:
 *           closed), the deadlines of hgi_limits.
 * Errors:   a peer that does not speak SP is closed; a reply to a gone peer is dropped.
 * Not here: accepting (listener), the meaning of a body (dispatch).
 */
#ifndef HGI_SERVER_RPC_CONN_H
#define HGI_SERVER_RPC_CONN_H

#include <stdatomic.h>

#include "base/clock.h"
#include "server/rpc/asker.h"
#include "server/rpc/share.h"

#define HGI_CONN_HOLD_LEAST (256u * 1024)

struct hgi_conn;

/* A request. `body` is borrowed for the call. Exactly one hgi_conn_reply with this conn and route
 * must follow, now or later; until then the connection's memory stays. */
typedef void (*hgi_conn_request_fn)(void *context, struct hgi_conn *conn,
                                    const struct hgi_sp_route *route, struct hg_slice body);

/* Copies the body. Replies given while the connection hands up the frames of one read leave in one
 * write. */
void hgi_conn_reply(struct hgi_conn *conn, const struct hgi_sp_route *route,
                    const struct hgi_pieces *body);
/* The connection as an asker, whose reply is hgi_conn_reply. */
struct hgi_asker *hgi_conn_asker(struct hgi_conn *conn);

/* The peer is gone: no request has come since, none will, and replies are dropped. The connection
 * is borrowed for the call. From the sweeping thread. */
typedef void (*hgi_conn_gone_fn)(void *context, struct hgi_conn *conn);

/* Counters of all connections. */
struct hgi_transport_metrics {
    _Atomic uint64_t connections;         /* accepted */
    _Atomic uint64_t connections_open;    /* gauge */
    _Atomic uint64_t connections_refused; /* over the limit, or a peer that is not admitted */
    _Atomic uint64_t requests;
    _Atomic uint64_t replies;
    _Atomic uint64_t duplicates; /* ids already in flight on their connection, dropped */
    _Atomic uint64_t bad_peers;  /* closed for not speaking SP or too long a message */
    _Atomic uint64_t timeouts;   /* closed for a handshake, body, write or idle deadline */
};

/* Beyond so many unsent replies no request is taken, nor beyond as much that calls hold, or one
 * message's arena more. */
static inline size_t hgi_conn_hold_max(const struct hgi_limits *limits)
{
    return 2 * limits->message_max_bytes + HGI_CONN_HOLD_LEAST;
}

/* A reply of that size always has room; what stands beside a value has less. */
#define HGI_CONN_SHORT_SIZE 1024u

/* What replies to calls that waited may come to, all at once and whatever the peer reads: a key
 * that all of in_flight_max wait for has a reply for each, the longest value in it. */
static inline size_t hgi_conn_unsent_max(const struct hgi_limits *limits)
{
    size_t singles = limits->in_flight_max * (limits->value_max_bytes + HGI_CONN_SHORT_SIZE);
    size_t message = limits->message_max_bytes;

    return hgi_conn_hold_max(limits) + (singles > message ? singles : message);
}

/* The memory of one connection, whatever its peer does; that of its calls is beside it. */
size_t hgi_conn_bytes_max(const struct hgi_limits *limits);

/* From here on for the listener. */

/* What the connections of one listener share: set before the first, there until the last is
 * released. */
struct hgi_conn_shared {
    struct hg_slice no_room; /* stands in for a reply that is too long to wait with the others */
    struct hgi_limits limits;
    struct hgi_share *share;
    struct hgi_transport_metrics *metrics;
    hgi_conn_request_fn request;
    void *context;
};

struct nng_stream;

/* Takes the stream; NULL when memory is out (the stream is the caller's still). */
HG_NODISCARD struct hgi_conn *hgi_conn_create(const struct hgi_conn_shared *shared,
                                              const struct hgi_peer *peer,
                                              HG_TAKES struct nng_stream *stream);
/* Writes the handshake and begins to read. */
void hgi_conn_start(struct hgi_conn *conn);

/* The calls below come from the sweeping thread only, never from one of nng's. */

/* Ends what is past its deadline, closes what has ended. True: the descriptor is given back, and
 * the only call left is release. */
HG_NODISCARD bool hgi_conn_sweep(struct hgi_conn *conn, const struct hgi_now *now);
/* Forgets the connection; its memory goes with the last request still held by a handler. */
void hgi_conn_release(struct hgi_conn *conn);
/* Hands up no further request; replies still leave. */
void hgi_conn_drain(struct hgi_conn *conn);
/* Whether every request handed up has been answered and every reply handed to the system. */
bool hgi_conn_is_flushed(struct hgi_conn *conn);
/* The next sweeps close it. */
void hgi_conn_end(struct hgi_conn *conn);

/* The listener's list of connections. */
struct hgi_node *hgi_conn_node(struct hgi_conn *conn);
struct hgi_conn *hgi_conn_of_node(struct hgi_node *node);

#endif
