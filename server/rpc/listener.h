/* SPDX-License-Identifier: Apache-2.0 */
/* listener: one address that gateways connect to.
 * Owns:     its accepting stream and its connections.
 * Threads:  open, start, sweep, stop, close one at a time; accepts run on nng's threads.
 * Limits:   the connections of its share; beyond them, or without a descriptor left, a new one is
 *           closed at once.
 * Errors:   open: an address in use, or that cannot be had, as one sentence.
 * Not here: what a request means (dispatch), one connection's bytes (conn).
 *
 * nng's byte streams, never nng_rep0 + nng_listen: those wedge for good on Debian 12
 * (docs/notes/001-substrate.md 1).
 */
#ifndef HGI_SERVER_RPC_LISTENER_H
#define HGI_SERVER_RPC_LISTENER_H

#include "base/clock.h"
#include "server/config.h"
#include "server/rpc/conn.h"

struct hgi_listener_options {
    const struct hgi_listen_config *listen;
    const struct hgi_limits *limits;
    const uint32_t *peers; /* uids admitted where access is OWNER on ipc */
    size_t peer_count;
    struct hgi_share *share;
    struct hg_slice no_room; /* a reply's body (hgi_conn_shared) */
    hgi_conn_request_fn request;
    hgi_conn_gone_fn gone; /* NULL: nobody asks */
    void *context;
    struct hgi_transport_metrics *metrics;
};

struct hgi_listener;

/* How many threads nng runs callbacks on in this process. */
uint32_t hgi_listener_thread_count(void);

/* Binds. `options` is copied; what it points at is borrowed until close. UNAVAILABLE: the address
 * is in use; FAILED_PRECONDITION: it cannot be had; RESOURCE_EXHAUSTED: no memory. All with a
 * sentence (HGI_SENTENCE_MAX). */
HG_NODISCARD enum hg_status hgi_listener_open(const struct hgi_listener_options *options,
                                              struct hgi_listener **ret_listener,
                                              char *ret_sentence);
/* What open would refuse whatever else goes on: the address, the files of TLS. Binds nothing. */
HG_NODISCARD enum hg_status hgi_listener_check(const struct hgi_listen_config *listen,
                                               char *ret_sentence);
/* Begins to accept; who connected since open is served now. Cannot fail: a failing accept is tried
 * again. */
void hgi_listener_start(struct hgi_listener *listener);
/* The bound address (a tcp port 0 is shown as the one the system chose). Borrowed until close. */
const char *hgi_listener_url(const struct hgi_listener *listener);
/* Closes what is past its deadline and frees what is closed. Call it about every 20 ms. */
void hgi_listener_sweep(struct hgi_listener *listener, const struct hgi_now *now);
/* No more accepts; connections stay until close. */
void hgi_listener_stop(struct hgi_listener *listener);
/* Takes no further request, waits at most flush_ms until those it took are answered and the replies
 * written, then closes every connection and frees the listener. Requests still held by their
 * handlers keep their connection's memory, not its descriptor. */
void hgi_listener_close(struct hgi_listener **listener, int64_t flush_ms);

#endif
