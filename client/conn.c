/* SPDX-License-Identifier: Apache-2.0 */
#include "conn.h"

#include <nng/nng.h>
#include <nng/supplemental/tls/tls.h>
#include <stdio.h>

#include "base/check.h"
#include "base/lock.h"
#include "client/credentials.h"
#include "client/url.h"
#include "proto/sp.h"

#define READ_BYTES 65536u
#define WHY_MAX    128u

enum conn_state { CONN_NEW, CONN_DIALLING, CONN_GREETING, CONN_UP, CONN_CLOSED };

/* nng must not be given I/O on a stream that is closed, and no lock may be held while it is given
 * I/O. So whoever submits counts itself in `submitting` first (refused once is_closing is set), and
 * the last one out closes the stream. `busy` counts operations whose callback has not come yet:
 * after the close they all come, and destroy waits for that, and for who submitted. */
struct hgi_client_conn {
    const char *url;
    const struct hgi_credentials *credentials;
    enum hgi_sp_transport transport;
    struct hgi_client_conn_limits limits;
    struct hgi_client_conn_events events;
    nng_stream_dialer *dialer;
    nng_tls_config *tls; /* NULL: none. nng does not always keep it while it needs it */
    nng_aio *dial_aio;
    nng_aio *rx_aio;
    nng_aio *tx_aio;
    struct hgi_lock lock;
    struct hgi_cond idle;
    /* guarded */
    nng_stream *stream;
    enum conn_state state;
    unsigned submitting;
    unsigned busy;
    bool is_closing;
    bool is_shut;
    bool is_writing;
    struct hg_bytes out;
    char why[WHY_MAX];
    /* of the write in flight */
    struct hg_bytes sending;
    size_t sent_bytes;
    /* of the read in flight */
    struct hg_bytes in;
};

static bool submit_begin_locked(struct hgi_client_conn *conn) HGI_REQUIRES(conn)
{
    if (conn->is_closing) {
        return false;
    }
    conn->submitting++;
    conn->busy++;
    return true;
}

static bool is_last_out_locked(struct hgi_client_conn *conn) HGI_REQUIRES(conn)
{
    if (!conn->is_closing || conn->submitting > 0 || conn->is_shut) {
        return false;
    }
    conn->is_shut = true;
    return true;
}

static void shut(struct hgi_client_conn *conn) HGI_EXCLUDES(conn)
{
    nng_stream *stream;

    hgi_lock_conn(&conn->lock);
    stream = conn->stream; /* one that comes after this is not used, only freed */
    hgi_unlock_conn(&conn->lock);
    if (stream) {
        nng_stream_close(stream);
    }
    if (conn->dialer) {
        nng_stream_dialer_close(conn->dialer);
    }
}

static void operation_end_locked(struct hgi_client_conn *conn) HGI_REQUIRES(conn)
{
    if (--conn->busy == 0 && conn->submitting == 0) {
        hgi_cond_wake_all(&conn->idle);
    }
}

/* True: the caller is the last one out, and calls shut_last once it holds no lock. */
static bool leaves_last_locked(struct hgi_client_conn *conn) HGI_REQUIRES(conn)
{
    bool is_last = is_last_out_locked(conn);

    conn->busy += is_last; /* so that nobody destroys it under the shutting */
    return is_last;
}

static void shut_last(struct hgi_client_conn *conn) HGI_EXCLUDES(conn)
{
    shut(conn);
    hgi_lock_conn(&conn->lock);
    operation_end_locked(conn);
    hgi_unlock_conn(&conn->lock);
}

static void submit_end(struct hgi_client_conn *conn) HGI_EXCLUDES(conn)
{
    bool is_last;

    hgi_lock_conn(&conn->lock);
    conn->submitting--;
    is_last = leaves_last_locked(conn);
    if (conn->submitting == 0 && conn->busy == 0) {
        hgi_cond_wake_all(&conn->idle);
    }
    hgi_unlock_conn(&conn->lock);
    if (is_last) {
        shut_last(conn);
    }
}

void hgi_client_conn_close(struct hgi_client_conn *conn, const char *why)
{
    bool is_first;
    bool is_last;

    hgi_lock_conn(&conn->lock);
    is_first = !conn->is_closing;
    conn->is_closing = true;
    conn->state = CONN_CLOSED;
    if (is_first) {
        snprintf(conn->why, sizeof(conn->why), "%s", why);
    }
    is_last = leaves_last_locked(conn);
    hgi_unlock_conn(&conn->lock);
    if (is_last) {
        shut_last(conn);
    }
    if (is_first) {
        conn->events.closed(conn->events.context, conn->why);
    }
}

/* While both introduce themselves. */
static const char *why_no_tls(int error)
{
    switch (error) {
    case NNG_EPEERAUTH:
        return "its certificate is not of ca_file's CA, not of this name, or not valid now";
    case NNG_ECRYPTO:
    case NNG_ECONNSHUT:
    case NNG_ECLOSED:
    case NNG_ECONNRESET:
        return "one side does not take the other's certificate, or it does not speak TLS";
    default:
        return nng_strerror(error);
    }
}

/* nng 1.5.2 keeps a receive waiting for ever, and takes what is sent as gone, if they are given to
 * it over TLS after the peer has gone: so the system is asked who is there, behind each.
 * Where it does not know yet, the calls' own deadlines are left. */
static void check_peer(struct hgi_client_conn *conn) HGI_EXCLUDES(conn)
{
    nng_sockaddr peer;
    bool is_greeting;

    if (!conn->tls || nng_stream_get_addr(conn->stream, NNG_OPT_REMADDR, &peer) == 0) {
        return;
    }
    hgi_lock_conn(&conn->lock);
    is_greeting = conn->state == CONN_GREETING;
    hgi_unlock_conn(&conn->lock);
    hgi_client_conn_close(conn, is_greeting ? why_no_tls(NNG_ECLOSED) : "the server closed it");
}

static void submit_write(struct hgi_client_conn *conn) HGI_EXCLUDES(conn)
{
    nng_iov iov = {.iov_buf = conn->sending.data + conn->sent_bytes,
                   .iov_len = conn->sending.len - conn->sent_bytes};

    HGI_BUG_ON(nng_aio_set_iov(conn->tx_aio, 1, &iov) != 0);
    nng_stream_send(conn->stream, conn->tx_aio);
    check_peer(conn);
    submit_end(conn);
}

/* Makes what is queued the write in flight. True: the caller unlocks and submits it. */
static bool write_begin_locked(struct hgi_client_conn *conn) HGI_REQUIRES(conn)
{
    struct hg_bytes spare = conn->sending;

    if (conn->is_writing || conn->out.len == 0 || conn->state != CONN_UP ||
        !submit_begin_locked(conn)) {
        return false;
    }
    conn->is_writing = true;
    conn->sending = conn->out;
    conn->sent_bytes = 0;
    conn->out = spare;
    hgi_bytes_clear(&conn->out);
    return true;
}

/* The peer's close is seen by a read or by a write, whichever is first: both say the same. */
static const char *why_lost(const struct hgi_client_conn *conn, int error, bool is_greeting)
{
    if (is_greeting && hgi_client_url_is_tls(conn->url)) {
        return why_no_tls(error);
    }
    if (error != NNG_ECONNSHUT && error != NNG_ECLOSED && error != NNG_ECONNRESET) {
        return nng_strerror(error);
    }
    return is_greeting && conn->transport == HGI_SP_IPC
               ? "the server closed it at once; is this user one of its peers?"
               : "the server closed it";
}

static void on_written(void *arg)
{
    struct hgi_client_conn *conn = arg;
    int error = nng_aio_result(conn->tx_aio);
    bool again = false;
    bool is_greeting;

    hgi_lock_conn(&conn->lock);
    is_greeting = conn->state == CONN_GREETING;
    if (error == 0) {
        conn->sent_bytes += nng_aio_count(conn->tx_aio);
        if (conn->sent_bytes < conn->sending.len) {
            again = submit_begin_locked(conn);
        } else {
            conn->is_writing = false;
            again = write_begin_locked(conn);
        }
    }
    operation_end_locked(conn);
    hgi_unlock_conn(&conn->lock);
    if (again) {
        submit_write(conn);
    } else if (error != 0) {
        hgi_client_conn_close(conn, why_lost(conn, error, is_greeting));
    }
}

static void submit_read(struct hgi_client_conn *conn) HGI_EXCLUDES(conn)
{
    nng_iov iov = {.iov_buf = conn->in.data + conn->in.len,
                   .iov_len = conn->in.capacity - conn->in.len};

    HGI_BUG_ON(nng_aio_set_iov(conn->rx_aio, 1, &iov) != 0);
    nng_stream_recv(conn->stream, conn->rx_aio);
    check_peer(conn);
    submit_end(conn);
}

/* NULL, or why the connection must end. */
static const char *take_greeting(struct hgi_client_conn *conn)
{
    bool is_write;

    if (!hgi_sp_handshake_is(HGI_SP_REP, conn->in.data)) {
        return "the server does not speak nng's REP protocol";
    }
    hgi_bytes_consume(&conn->in, HGI_SP_HANDSHAKE_LEN);
    hgi_lock_conn(&conn->lock);
    if (!conn->is_closing) {
        conn->state = CONN_UP;
    }
    is_write = write_begin_locked(conn);
    hgi_unlock_conn(&conn->lock);
    if (is_write) {
        submit_write(conn);
    }
    conn->events.opened(conn->events.context);
    return NULL;
}

/* Hands up every whole frame of what was read and makes room for the next read. */
static const char *take_frames(struct hgi_client_conn *conn)
{
    size_t taken = 0;
    size_t needed = 0;
    size_t room;

    for (;;) {
        struct hg_slice rest = hg_slice_of(conn->in.data + taken, conn->in.len - taken);
        struct hgi_sp_frame frame;
        size_t consumed;
        enum hgi_sp_cut cut = hgi_sp_cut(conn->transport, rest, conn->limits.message_max_bytes,
                                         &frame, &consumed, &needed);

        if (cut == HGI_SP_BAD) {
            return "the server sent what is no frame, or a longer one than is allowed";
        }
        if (cut == HGI_SP_MORE) {
            break;
        }
        taken += consumed;
        conn->events.frame(conn->events.context, hgi_sp_route_id(&frame.route), frame.body);
    }
    hgi_bytes_consume(&conn->in, taken);
    room = needed > conn->in.len ? needed - conn->in.len : 0;
    return hgi_bytes_reserve(&conn->in, room > READ_BYTES ? room : READ_BYTES) ? NULL
                                                                               : "no memory left";
}

static const char *take_input(struct hgi_client_conn *conn, bool is_greeting)
{
    const char *why;

    if (is_greeting) {
        if (conn->in.len < HGI_SP_HANDSHAKE_LEN) {
            return NULL;
        }
        why = take_greeting(conn);
        if (why) {
            return why;
        }
    }
    return take_frames(conn);
}

static void on_read(void *arg)
{
    struct hgi_client_conn *conn = arg;
    int error = nng_aio_result(conn->rx_aio);
    const char *why = NULL;
    bool is_greeting;
    bool again;

    hgi_lock_conn(&conn->lock);
    is_greeting = conn->state == CONN_GREETING;
    hgi_unlock_conn(&conn->lock);
    if (error == 0) {
        conn->in.len += nng_aio_count(conn->rx_aio);
        why = take_input(conn, is_greeting);
    } else {
        why = why_lost(conn, error, is_greeting);
    }
    hgi_lock_conn(&conn->lock);
    again = !why && submit_begin_locked(conn);
    operation_end_locked(conn);
    hgi_unlock_conn(&conn->lock);
    if (again) {
        submit_read(conn);
    } else if (why) {
        hgi_client_conn_close(conn, why);
    }
}

/* The stream is there: both handshakes cross, and only after the peer's is anything asked, so that
 * keys are not told to whatever else listens there. */
static bool greet_locked(struct hgi_client_conn *conn) HGI_REQUIRES(conn)
{
    unsigned char greeting[HGI_SP_HANDSHAKE_LEN];

    hgi_sp_handshake(HGI_SP_REQ, greeting);
    if (!hgi_bytes_set(&conn->sending, hg_slice_of(greeting, sizeof(greeting))) ||
        !hgi_bytes_reserve(&conn->in, READ_BYTES)) {
        return false;
    }
    if (conn->is_closing) {
        return true;
    }
    conn->state = CONN_GREETING;
    conn->is_writing = true;
    conn->sent_bytes = 0;
    return true;
}

static void on_dialled(void *arg)
{
    struct hgi_client_conn *conn = arg;
    int error = nng_aio_result(conn->dial_aio);
    bool is_enough_memory = true;
    bool is_write = false;
    bool is_read = false;

    hgi_lock_conn(&conn->lock);
    if (error == 0) {
        conn->stream = nng_aio_get_output(conn->dial_aio, 0);
        is_enough_memory = greet_locked(conn);
        is_write = is_enough_memory && submit_begin_locked(conn);
        is_read = is_enough_memory && submit_begin_locked(conn);
    }
    operation_end_locked(conn);
    hgi_unlock_conn(&conn->lock);
    if (is_write) {
        submit_write(conn);
    }
    if (is_read) {
        submit_read(conn);
    }
    if (error != 0) {
        hgi_client_conn_close(conn, nng_strerror(error));
    } else if (!is_enough_memory) {
        hgi_client_conn_close(conn, "no memory left");
    }
}

/* The server's certificate must be of this CA and of this name. 0 or an nng error. */
static int use_tls(struct hgi_client_conn *conn, nng_stream_dialer *dialer)
{
    const struct hgi_credentials *credentials = conn->credentials;
    const struct hgi_identity *identity = &credentials->identity;
    int error = nng_tls_config_alloc(&conn->tls, NNG_TLS_MODE_CLIENT);

    if (error == 0) {
        error = nng_tls_config_auth_mode(conn->tls, NNG_TLS_AUTH_MODE_REQUIRED);
    }
    if (error == 0) {
        error = nng_tls_config_server_name(conn->tls, credentials->server_name);
    }
    if (error == 0) {
        error = nng_tls_config_ca_chain(conn->tls, hgi_identity_text(&identity->ca), NULL);
    }
    if (error == 0) {
        error = nng_tls_config_own_cert(conn->tls, hgi_identity_text(&identity->cert),
                                        hgi_identity_text(&identity->key), NULL);
    }
    if (error == 0) {
        error = nng_stream_dialer_set_ptr(dialer, NNG_OPT_TLS_CONFIG, conn->tls);
    }
    return error;
}

/* 0 or an nng error. */
static int dialer_open(struct hgi_client_conn *conn)
{
    nng_stream_dialer *dialer = NULL;
    int error = nng_stream_dialer_alloc(&dialer, conn->url);

    if (error == 0 && conn->transport == HGI_SP_TCP) {
        error = nng_stream_dialer_set_bool(dialer, NNG_OPT_TCP_NODELAY, true);
    }
    if (error == 0 && conn->transport == HGI_SP_TCP) {
        error = nng_stream_dialer_set_bool(dialer, NNG_OPT_TCP_KEEPALIVE, true);
    }
    if (error == 0 && hgi_client_url_is_tls(conn->url)) {
        error = use_tls(conn, dialer);
    }
    if (error == 0) {
        error = nng_aio_alloc(&conn->dial_aio, on_dialled, conn);
    }
    if (error == 0) {
        error = nng_aio_alloc(&conn->rx_aio, on_read, conn);
    }
    if (error == 0) {
        error = nng_aio_alloc(&conn->tx_aio, on_written, conn);
    }
    conn->dialer = dialer;
    return error;
}

void hgi_client_conn_start(struct hgi_client_conn *conn)
{
    bool is_begun;
    int error;

    hgi_lock_conn(&conn->lock);
    is_begun = submit_begin_locked(conn);
    if (is_begun) {
        conn->state = CONN_DIALLING;
    }
    hgi_unlock_conn(&conn->lock);
    if (!is_begun) {
        return;
    }
    error = dialer_open(conn);
    if (error == 0) {
        nng_stream_dialer_dial(conn->dialer, conn->dial_aio);
    } else {
        hgi_lock_conn(&conn->lock);
        operation_end_locked(conn);
        hgi_unlock_conn(&conn->lock);
    }
    submit_end(conn);
    if (error != 0) {
        hgi_client_conn_close(conn, nng_strerror(error));
    }
}

static enum hg_status queue_locked(struct hgi_client_conn *conn, uint32_t id, struct hg_slice body)
    HGI_REQUIRES(conn)
{
    unsigned char head[HGI_SP_HEAD_MAX];
    struct hgi_sp_route route = hgi_sp_route_of(id);
    size_t head_len = hgi_sp_head(conn->transport, &route, body.len, head);

    if (conn->is_closing) {
        return HG_OK;
    }
    if (conn->out.len + head_len + body.len > conn->limits.unsent_max_bytes ||
        !hgi_bytes_reserve(&conn->out, head_len + body.len)) {
        return HG_RESOURCE_EXHAUSTED;
    }
    HGI_BUG_ON(!hgi_bytes_append(&conn->out, hg_slice_of(head, head_len)));
    HGI_BUG_ON(!hgi_bytes_append(&conn->out, body));
    return HG_OK;
}

enum hg_status hgi_client_conn_send(struct hgi_client_conn *conn, uint32_t id, struct hg_slice body)
{
    enum hg_status status;
    bool is_write;

    hgi_lock_conn(&conn->lock);
    status = queue_locked(conn, id, body);
    is_write = write_begin_locked(conn);
    hgi_unlock_conn(&conn->lock);
    if (is_write) {
        submit_write(conn);
    }
    return status;
}

struct hgi_client_conn *hgi_client_conn_create(const char *url,
                                               const struct hgi_credentials *credentials,
                                               const struct hgi_client_conn_limits *limits,
                                               const struct hgi_client_conn_events *events)
{
    struct hgi_client_conn *conn = hgi_alloc(&hgi_heap, sizeof(*conn));

    if (!conn) {
        return NULL;
    }
    conn->url = url;
    conn->credentials = credentials;
    conn->transport = hgi_client_url_is_tcp(url) ? HGI_SP_TCP : HGI_SP_IPC;
    conn->limits = *limits;
    conn->events = *events;
    hgi_lock_init(&conn->lock);
    hgi_cond_init(&conn->idle);
    hgi_bytes_init(&conn->out, &hgi_heap);
    hgi_bytes_init(&conn->sending, &hgi_heap);
    hgi_bytes_init(&conn->in, &hgi_heap);
    return conn;
}

static void aio_free(nng_aio *aio)
{
    if (aio) {
        nng_aio_free(aio);
    }
}

void hgi_client_conn_destroy(struct hgi_client_conn **conn)
{
    struct hgi_client_conn *old = *conn;

    if (!old) {
        return;
    }
    hgi_lock_conn(&old->lock);
    while (old->busy > 0 || old->submitting > 0) {
        hgi_cond_wait(&old->idle, &old->lock, -1);
    }
    hgi_unlock_conn(&old->lock);
    aio_free(old->dial_aio);
    aio_free(old->rx_aio);
    aio_free(old->tx_aio);
    /* The stream last: it holds nng's dialer, which goes with it on nng's own thread. */
    if (old->dialer) {
        nng_stream_dialer_free(old->dialer);
    }
    if (old->stream) {
        nng_stream_free(old->stream);
    }
    if (old->tls) {
        nng_tls_config_free(old->tls);
    }
    hgi_bytes_deinit(&old->out);
    hgi_bytes_deinit(&old->sending);
    hgi_bytes_deinit(&old->in);
    hgi_cond_deinit(&old->idle);
    hgi_lock_deinit(&old->lock);
    hgi_free(&hgi_heap, old);
    *conn = NULL;
}
