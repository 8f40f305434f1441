/* SPDX-License-Identifier: Apache-2.0 */
/* Accepting is one chain of completions on one aio, so `accept_aio`'s callback is never run by two
 * threads at once: WAITING for a connection, PAUSING after a failure, or IDLE, which it stays once
 * the listener is stopping. New connections are put on `arrivals`; everything else a listener does
 * with them (deadlines, closing, freeing) happens in the sweeping thread.
 *
 * At the limit of descriptors accept fails at once, each time, while clients wait unanswered in the
 * backlog. So one descriptor is kept in reserve: it is closed, the connection that takes its place
 * is accepted and closed, and the reserve is opened again. */
#include "listener.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <nng/nng.h>
#include <nng/supplemental/tls/tls.h>
#include <nng/supplemental/util/platform.h>

#include "base/check.h"
#include "base/lock.h"
#include "base/log.h"
#include "proto/tls/identity.h"
#include "server/rpc/address.h"

#define ACCEPT_PAUSE_MS    10
#define CLOSE_LOOK_MS      1
#define SOCKET_PERMISSIONS 0660
#define NNG_THREADS_MAX    16u

enum accepting { IDLE, WAITING, PAUSING };

struct hgi_listener {
    /* set once */
    struct hgi_listener_options options;
    struct hgi_conn_shared shared;
    struct hgi_address address;
    char url[160];
    int lock_fd;
    nng_stream_listener *stream;
    nng_tls_config *tls; /* NULL: none. nng does not always keep it while it needs it */
    nng_aio *accept_aio;
    /* the accept callback's */
    int spare_fd;
    bool is_starved;
    /* the sweep's */
    struct hgi_node conns;
    /* guarded */
    struct hgi_lock lock;
    struct hgi_cond idle;
    struct hgi_node arrivals HGI_GUARDED_BY(listener);
    enum accepting accepting HGI_GUARDED_BY(listener);
    bool is_stopping HGI_GUARDED_BY(listener);
};

/* As nng 1.5.2 counts them at its start, and tells nobody (nni_taskq_sys_init). */
uint32_t hgi_listener_thread_count(void)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    long count = processors > 1 ? processors * 2 : 2;

    return count < NNG_THREADS_MAX ? (uint32_t)count : NNG_THREADS_MAX;
}

/* Who is there, and whether it may be. */
static bool is_admitted(struct hgi_listener *listener, nng_stream *stream,
                        struct hgi_peer *ret_peer)
{
    const struct hgi_listener_options *options = &listener->options;
    struct hgi_peer peer = {.access = options->listen->access,
                            .serves = options->listen->serves,
                            .is_ipc = listener->address.is_ipc,
                            .is_tls = listener->address.is_tls};
    uint64_t uid = 0;
    bool admitted = false;

    if (!peer.is_ipc) {
        *ret_peer = peer;
        return true;
    }
    if (nng_stream_get_uint64(stream, NNG_OPT_IPC_PEER_UID, &uid) != 0 || uid > UINT32_MAX ||
        nng_stream_get_uint64(stream, NNG_OPT_IPC_PEER_PID, &peer.pid) != 0) {
        return false;
    }
    peer.uid = (uint32_t)uid;
    admitted = peer.access != HGI_ACCESS_OWNER;
    for (size_t i = 0; i < options->peer_count && !admitted; i++) {
        admitted = options->peers[i] == peer.uid;
    }
    if (admitted) {
        *ret_peer = peer;
    }
    return admitted;
}

/* Counted first: who sees the close finds it counted. */
static void turn_away(struct hgi_listener *listener, nng_stream *stream)
{
    atomic_fetch_add(&listener->options.metrics->connections_refused, 1);
    nng_stream_free(stream);
}

/* Makes a connection of the stream, or closes it. */
static void take(struct hgi_listener *listener, nng_stream *stream)
{
    struct hgi_transport_metrics *metrics = listener->options.metrics;
    struct hgi_conn *conn = NULL;
    struct hgi_peer peer;
    bool is_booked = hgi_share_book(listener->options.share);

    if (is_booked && is_admitted(listener, stream, &peer)) {
        conn = hgi_conn_create(&listener->shared, &peer, stream);
    }
    if (!conn) {
        if (is_booked) {
            hgi_share_unbook(listener->options.share);
        }
        turn_away(listener, stream);
        return;
    }
    atomic_fetch_add(&metrics->connections, 1);
    atomic_fetch_add(&metrics->connections_open, 1);
    hgi_conn_start(conn);
    hgi_lock_listener(&listener->lock);
    hgi_list_push_back(&listener->arrivals, hgi_conn_node(conn));
    hgi_unlock_listener(&listener->lock);
}

static bool has_spare(struct hgi_listener *listener)
{
    if (listener->spare_fd < 0) {
        listener->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    }
    return listener->spare_fd >= 0;
}

/* What to do after a completed accept. */
static enum accepting accepted(struct hgi_listener *listener)
{
    int error = nng_aio_result(listener->accept_aio);
    nng_stream *stream;

    if (error == NNG_ENOFILES) {
        if (!listener->is_starved) {
            hgi_log(HG_LOG_WARN, "%s: no descriptor is left; new connections are closed at once",
                    listener->url);
            listener->is_starved = true;
        }
        if (listener->spare_fd < 0) {
            return PAUSING;
        }
        close(listener->spare_fd);
        listener->spare_fd = -1;
        return WAITING;
    }
    if (error != 0) {
        return PAUSING;
    }
    stream = nng_aio_get_output(listener->accept_aio, 0);
    if (!has_spare(listener)) {
        turn_away(listener, stream);
        return PAUSING;
    }
    listener->is_starved = false;
    take(listener, stream);
    return WAITING;
}

static void accept_next(struct hgi_listener *listener, enum accepting next) HGI_EXCLUDES(listener)
{
    hgi_lock_listener(&listener->lock);
    if (listener->is_stopping) {
        next = IDLE;
    }
    listener->accepting = next;
    if (next == IDLE) {
        hgi_cond_wake_all(&listener->idle);
    }
    hgi_unlock_listener(&listener->lock);
    if (next == WAITING) {
        /* Stopped just now? Then nng completes it at once with NNG_ECLOSED. */
        nng_stream_listener_accept(listener->stream, listener->accept_aio);
    } else if (next == PAUSING) {
        nng_sleep_aio(ACCEPT_PAUSE_MS, listener->accept_aio);
    }
}

static void on_accept(void *arg)
{
    struct hgi_listener *listener = arg;
    enum accepting was;

    hgi_lock_listener(&listener->lock);
    was = listener->accepting;
    hgi_unlock_listener(&listener->lock);
    if (was == PAUSING) {
        (void)has_spare(listener); /* without one it only pauses longer */
        accept_next(listener, WAITING);
    } else {
        accept_next(listener, accepted(listener));
    }
}

static enum hg_status refuse(const struct hgi_listener *listener, int error, char *ret_sentence)
{
    const char *url = listener->options.listen->url;

    if (error == NNG_EADDRINUSE && listener->address.is_ipc) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX, "%.140s: another server is using this address",
                 url);
        return HG_UNAVAILABLE;
    }
    if (error == NNG_EADDRINUSE) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX,
                 "%.140s: another program is listening on port %u; stop it or choose another port",
                 url, listener->address.port);
        return HG_UNAVAILABLE;
    }
    snprintf(ret_sentence, HGI_SENTENCE_MAX, "%.140s: cannot listen here: %s", url,
             nng_strerror(error));
    return HG_FAILED_PRECONDITION;
}

static int bind_ipc(struct hgi_listener *listener)
{
    int error =
        nng_stream_listener_set_int(listener->stream, NNG_OPT_IPC_PERMISSIONS, SOCKET_PERMISSIONS);

    if (error == 0) {
        error = nng_stream_listener_listen(listener->stream);
    }
    snprintf(listener->url, sizeof(listener->url), "%s", listener->options.listen->url);
    return error;
}

/* The clients' certificates are demanded and checked; who has none of this CA does not get as far
 * as the first byte of SP. 0 or an nng error. */
static int use_tls(struct hgi_listener *listener, const struct hgi_identity *identity)
{
    int error = nng_tls_config_alloc(&listener->tls, NNG_TLS_MODE_SERVER);

    if (error == 0) {
        error = nng_tls_config_auth_mode(listener->tls, NNG_TLS_AUTH_MODE_REQUIRED);
    }
    if (error == 0) {
        error = nng_tls_config_ca_chain(listener->tls, hgi_identity_text(&identity->ca), NULL);
    }
    if (error == 0) {
        error = nng_tls_config_own_cert(listener->tls, hgi_identity_text(&identity->cert),
                                        hgi_identity_text(&identity->key), NULL);
    }
    if (error == 0) {
        error = nng_stream_listener_set_ptr(listener->stream, NNG_OPT_TLS_CONFIG, listener->tls);
    }
    return error;
}

/* localhost is whatever the host's files say: the address that was really bound is looked at. */
static bool is_bound_to_loopback(const nng_sockaddr *bound)
{
    static const unsigned char v6[16] = {[15] = 1};

    if (bound->s_family == NNG_AF_INET) {
        return *(const unsigned char *)&bound->s_in.sa_addr == 127;
    }
    return bound->s_family == NNG_AF_INET6 && memcmp(bound->s_in6.sa_addr, v6, sizeof(v6)) == 0;
}

static int bind_tcp(struct hgi_listener *listener)
{
    nng_stream_listener *stream = listener->stream;
    nng_sockaddr bound;
    const unsigned char *port; /* both families keep it in the same place, in network order */
    int error = nng_stream_listener_set_bool(stream, NNG_OPT_TCP_NODELAY, true);

    if (error == 0) {
        error = nng_stream_listener_set_bool(stream, NNG_OPT_TCP_KEEPALIVE, true);
    }
    if (error == 0) {
        error = nng_stream_listener_listen(stream);
    }
    if (error == 0) {
        error = nng_stream_listener_get_addr(stream, NNG_OPT_LOCADDR, &bound);
    }
    if (error == 0 && !listener->tls && !is_bound_to_loopback(&bound)) {
        error = NNG_EADDRINVAL;
    }
    if (error == 0) {
        port = bound.s_family == NNG_AF_INET ? (const unsigned char *)&bound.s_in.sa_port
                                             : (const unsigned char *)&bound.s_in6.sa_port;
        snprintf(listener->url, sizeof(listener->url), "%stcp://%s:%u", listener->tls ? "tls+" : "",
                 listener->address.host, (unsigned)port[0] << 8 | port[1]);
    }
    return error;
}

static void destroy(struct hgi_listener *listener)
{
    nng_aio_free(listener->accept_aio);
    if (listener->stream) {
        nng_stream_listener_free(listener->stream);
    }
    if (listener->tls) {
        nng_tls_config_free(listener->tls);
    }
    if (listener->spare_fd >= 0) {
        close(listener->spare_fd);
    }
    if (listener->lock_fd >= 0) {
        close(listener->lock_fd);
    }
    hgi_cond_deinit(&listener->idle);
    hgi_lock_deinit(&listener->lock);
    hgi_free(&hgi_heap, listener);
}

static struct hgi_listener *create(const struct hgi_listener_options *options,
                                   const struct hgi_address *address) HGI_UNCHECKED
{
    struct hgi_listener *listener = hgi_alloc(&hgi_heap, sizeof(*listener));

    if (!listener) {
        return NULL;
    }
    listener->options = *options;
    listener->shared = (struct hgi_conn_shared){.limits = *options->limits,
                                                .share = options->share,
                                                .no_room = options->no_room,
                                                .metrics = options->metrics,
                                                .request = options->request,
                                                .context = options->context};
    listener->address = *address;
    listener->lock_fd = -1;
    listener->spare_fd = -1;
    hgi_list_init(&listener->arrivals);
    hgi_list_init(&listener->conns);
    hgi_lock_init(&listener->lock);
    hgi_cond_init(&listener->idle);
    return listener;
}

static enum hg_status read_identity(const struct hgi_listen_config *listen,
                                    struct hgi_identity *ret_identity, char *ret_sentence)
{
    const struct hgi_identity_files files = {
        .ca = listen->ca, .cert = listen->cert, .key = listen->key, .is_server = true};

    return hgi_identity_init(&files, ret_identity, ret_sentence);
}

enum hg_status hgi_listener_check(const struct hgi_listen_config *listen, char *ret_sentence)
{
    struct hgi_identity identity = {.ca = {.data = NULL}};
    struct hgi_address address;
    enum hg_status status = hgi_address_parse(listen, &address, ret_sentence);

    if (status == HG_OK && address.is_tls) {
        status = read_identity(listen, &identity, ret_sentence);
        hgi_identity_deinit(&identity);
    }
    return status;
}

enum hg_status hgi_listener_open(const struct hgi_listener_options *options,
                                 struct hgi_listener **ret_listener, char *ret_sentence)
{
    struct hgi_listener *listener = NULL;
    struct hgi_identity identity = {.ca = {.data = NULL}};
    struct hgi_address address;
    enum hg_status status;
    int error;

    status = hgi_address_parse(options->listen, &address, ret_sentence);
    if (status == HG_OK && address.is_tls) {
        status = read_identity(options->listen, &identity, ret_sentence);
    }
    if (status != HG_OK) {
        return status;
    }
    listener = create(options, &address);
    if (!listener) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX, "%.140s: no memory", options->listen->url);
        status = HG_RESOURCE_EXHAUSTED;
        goto out;
    }
    if (address.is_ipc) {
        status = hgi_address_lock(address.path, &listener->lock_fd, ret_sentence);
        if (status != HG_OK) {
            goto out;
        }
    }
    error = nng_aio_alloc(&listener->accept_aio, on_accept, listener);
    if (error == 0) {
        error = nng_stream_listener_alloc(&listener->stream, options->listen->url);
    }
    if (error == 0 && address.is_tls) {
        error = use_tls(listener, &identity);
    }
    if (error == 0) {
        error = address.is_ipc ? bind_ipc(listener) : bind_tcp(listener);
    }
    if (error == 0 && !has_spare(listener)) {
        error = NNG_ENOFILES;
    }
    if (error != 0) {
        status = refuse(listener, error, ret_sentence);
        goto out;
    }
    *ret_listener = listener;
    listener = NULL;
out:
    if (listener) {
        destroy(listener);
    }
    hgi_identity_deinit(&identity);
    return status;
}

void hgi_listener_start(struct hgi_listener *listener)
{
    accept_next(listener, WAITING);
}

const char *hgi_listener_url(const struct hgi_listener *listener)
{
    return listener->url;
}

/* True: no connection is left. */
static bool sweep(struct hgi_listener *listener, const struct hgi_now *now)
{
    struct hgi_node *node;
    struct hgi_node *next;

    hgi_lock_listener(&listener->lock);
    hgi_list_move_all(&listener->arrivals, &listener->conns);
    hgi_unlock_listener(&listener->lock);
    for (node = listener->conns.next; node != &listener->conns; node = next) {
        struct hgi_conn *conn = hgi_conn_of_node(node);

        next = node->next;
        if (hgi_conn_sweep(conn, now)) {
            hgi_list_remove(node);
            if (listener->options.gone) {
                listener->options.gone(listener->options.context, conn);
            }
            hgi_conn_release(conn);
            hgi_share_unbook_ended(listener->options.share);
            atomic_fetch_sub(&listener->options.metrics->connections_open, 1);
        }
    }
    return hgi_list_is_empty(&listener->conns);
}

void hgi_listener_sweep(struct hgi_listener *listener, const struct hgi_now *now)
{
    (void)sweep(listener, now);
}

void hgi_listener_stop(struct hgi_listener *listener)
{
    hgi_lock_listener(&listener->lock);
    listener->is_stopping = true;
    hgi_unlock_listener(&listener->lock);
    nng_stream_listener_close(listener->stream);
    hgi_lock_listener(&listener->lock);
    while (listener->accepting != IDLE) {
        (void)hgi_cond_wait(&listener->idle, &listener->lock, -1);
    }
    hgi_unlock_listener(&listener->lock);
}

static bool is_flushed(struct hgi_listener *listener)
{
    for (struct hgi_node *node = listener->conns.next; node != &listener->conns;
         node = node->next) {
        if (!hgi_conn_is_flushed(hgi_conn_of_node(node))) {
            return false;
        }
    }
    return true;
}

void hgi_listener_close(struct hgi_listener **listener_at, int64_t flush_ms)
{
    struct hgi_listener *listener = *listener_at;
    struct hgi_now now = hgi_clock_now();
    int64_t until_ms = now.boot_ms + flush_ms;
    struct hgi_node *node;

    if (!listener) {
        return;
    }
    hgi_listener_stop(listener);
    (void)sweep(listener, &now); /* the last arrivals are among the others now */
    for (node = listener->conns.next; node != &listener->conns; node = node->next) {
        hgi_conn_drain(hgi_conn_of_node(node));
    }
    while (!is_flushed(listener) && now.boot_ms < until_ms) {
        nng_msleep(CLOSE_LOOK_MS);
        now = hgi_clock_now();
        (void)sweep(listener, &now); /* who does not read is not waited for longer than else */
    }
    for (node = listener->conns.next; node != &listener->conns; node = node->next) {
        hgi_conn_end(hgi_conn_of_node(node));
    }
    /* Closed streams complete what they have at once; this waits for those callbacks only. */
    while (!sweep(listener, &now)) {
        nng_msleep(CLOSE_LOOK_MS);
    }
    destroy(listener);
    *listener_at = NULL;
}
