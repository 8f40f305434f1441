/* SPDX-License-Identifier: Apache-2.0 */
/* echo_server: a listener with a ticker, and handlers that the first byte of a body chooses.
 * Owns:     everything of one server until stop.
 * Threads:  start, stop, release from the test's.
 * Limits:   ECHO_HELD_MAX requests held or deferred at once.
 * Errors:   a failed start is a failed check.
 * Not here: clients (tests/lib/sp_client).
 *
 * 'e' answered at once with the body; 'd' the same from another thread, the newest first;
 * 'h' held until the test releases it; 'b' answered at once with ECHO_BIG bytes; 'w' answered at
 * once, but by a handler that waits for echo_server_let_go. */
#ifndef HG_ECHO_SERVER_H
#define HG_ECHO_SERVER_H

#include "base/lock.h"
#include "base/thread.h"
#include "server/rpc/listener.h"

#define ECHO_HELD_MAX 4096u
#define ECHO_BIG      65536u
#define ECHO_NO_ROOM  "no room" /* in place of a reply that is too much */

struct echo_held {
    struct hgi_conn *conn;
    struct hgi_sp_route route;
    struct hg_bytes body;
};

struct echo_server {
    char folder[64];
    char listen_url[128];
    struct hgi_listen_config listen;
    struct hgi_limits limits;
    uint32_t peers[2];
    struct hgi_share share;
    struct hgi_transport_metrics metrics;
    struct hgi_listener *listener;
    struct hgi_thread ticker;
    struct hgi_thread answerer;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    /* guarded by mutex */
    bool is_stopping; /* the ticker's end */
    bool is_closed;   /* the answerer's */
    bool is_let_go;   /* the 'w' handlers' */
    struct echo_held *held;
    size_t held_count;
    struct echo_held *deferred;
    size_t deferred_count;
};

enum echo_transport { ECHO_IPC, ECHO_TCP };

/* Limits as in semantics section 7, an address of its own, peers: this process's uid. */
void echo_server_init(struct echo_server *server, enum echo_transport transport);
void echo_server_start(struct echo_server *server);
const char *echo_server_url(const struct echo_server *server);
/* Answers what is held: the newest first, or all. */
void echo_server_release_newest(struct echo_server *server);
void echo_server_release_all(struct echo_server *server);
void echo_server_let_go(struct echo_server *server);
/* Waits until that many are held. */
bool echo_server_wait_held(struct echo_server *server, size_t count, int64_t timeout_ms);
/* Closes the listener; held requests stay. */
void echo_server_close(struct echo_server *server, int64_t flush_ms);
/* Closes if that was not done, answers what is held, and removes the folder. */
void echo_server_deinit(struct echo_server *server);

/* Waits until *metric is at least (at most) `value`. */
bool echo_wait_at_least(const _Atomic uint64_t *metric, uint64_t value, int64_t timeout_ms);
bool echo_wait_at_most(const _Atomic uint64_t *metric, uint64_t value, int64_t timeout_ms);
/* What *metric is once it has not changed for 300 ms. */
uint64_t echo_at_rest(const _Atomic uint64_t *metric);

/* Open descriptors of this process. nng closes those of freed streams in a thread of its own, so a
 * count to start from is taken once it has stayed the same for a while. */
size_t echo_descriptors(void);
size_t echo_descriptors_at_rest(void);

#endif
