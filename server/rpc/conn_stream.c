/* SPDX-License-Identifier: Apache-2.0 */
#include "conn_stream.h"

#include <nng/nng.h>

#include "base/check.h"

#define LOST_ASK_MS 500

static void free_aios(const struct hgi_conn_stream *conn_stream)
{
    nng_aio_free(conn_stream->read_aio);
    nng_aio_free(conn_stream->write_aio);
    nng_aio_free(conn_stream->call_aio);
    nng_aio_free(conn_stream->try_aio);
}

bool hgi_conn_stream_init(struct hgi_conn_stream *conn_stream, HG_TAKES struct nng_stream *stream,
                          bool is_tls, const struct hgi_conn_stream_heard *heard)
{
    struct hgi_conn_stream made = {.stream = stream, .is_tls = is_tls};

    if (nng_aio_alloc(&made.read_aio, heard->on_read, heard->context) == 0 &&
        nng_aio_alloc(&made.write_aio, heard->on_written, heard->context) == 0 &&
        nng_aio_alloc(&made.call_aio, heard->on_called, heard->context) == 0 &&
        nng_aio_alloc(&made.try_aio, NULL, NULL) == 0) {
        *conn_stream = made;
        return true;
    }
    free_aios(&made);
    return false;
}

void hgi_conn_stream_deinit(struct hgi_conn_stream *conn_stream)
{
    free_aios(conn_stream);
    nng_stream_free(conn_stream->stream);
}

void hgi_conn_stream_close(struct hgi_conn_stream *conn_stream)
{
    nng_stream_close(conn_stream->stream);
}

static void set_iov(nng_aio *aio, const void *bytes, size_t len)
{
    nng_iov iov = {.iov_buf = (void *)(uintptr_t)bytes, .iov_len = len};

    HGI_BUG_ON(nng_aio_set_iov(aio, 1, &iov) != 0);
}

static struct hgi_conn_done done(nng_aio *aio)
{
    bool is_good = nng_aio_result(aio) == 0;

    return (struct hgi_conn_done){is_good, is_good ? nng_aio_count(aio) : 0};
}

void hgi_conn_stream_receive(struct hgi_conn_stream *conn_stream, void *room, size_t size)
{
    set_iov(conn_stream->read_aio, room, size);
    nng_stream_recv(conn_stream->stream, conn_stream->read_aio);
}

struct hgi_conn_done hgi_conn_stream_read(const struct hgi_conn_stream *conn_stream)
{
    return done(conn_stream->read_aio);
}

void hgi_conn_stream_send(struct hgi_conn_stream *conn_stream, struct hg_slice bytes)
{
    set_iov(conn_stream->write_aio, bytes.data, bytes.len);
    nng_stream_send(conn_stream->stream, conn_stream->write_aio);
}

struct hgi_conn_done hgi_conn_stream_written(const struct hgi_conn_stream *conn_stream)
{
    return done(conn_stream->write_aio);
}

void hgi_conn_stream_call(struct hgi_conn_stream *conn_stream)
{
    /* Not stopped: that is done by deinit only. */
    HGI_BUG_ON(!nng_aio_begin(conn_stream->call_aio));
    nng_aio_finish(conn_stream->call_aio, 0);
}

bool hgi_conn_stream_is_lost(struct hgi_conn_stream *conn_stream, int64_t now_ms)
{
    nng_sockaddr peer;

    if (!conn_stream->is_tls || now_ms < conn_stream->lost_ask_ms) {
        return false;
    }
    conn_stream->lost_ask_ms = now_ms + LOST_ASK_MS;
    return nng_stream_get_addr(conn_stream->stream, NNG_OPT_REMADDR, &peer) != 0;
}

/* nng calls sendmsg before nng_stream_send returns, and ends the aio with whatever that took; what
 * it did not take at all it leaves waiting, and the abort takes it back. Either way the aio has
 * ended when the abort returns, but for the last steps of a poller that was just at it: those are
 * what is waited for. An aio without a callback needs no thread to end. */
struct hgi_conn_done hgi_conn_stream_try(struct hgi_conn_stream *conn_stream, struct hg_slice bytes)
{
    nng_aio *aio = conn_stream->try_aio;

    if (conn_stream->is_tls) {
        return (struct hgi_conn_done){.is_good = true}; /* an abort over TLS ends the connection */
    }
    set_iov(aio, bytes.data, bytes.len);
    nng_stream_send(conn_stream->stream, aio);
    nng_aio_abort(aio, NNG_EAGAIN);
    nng_aio_wait(aio);
    if (nng_aio_result(aio) == NNG_EAGAIN) {
        return (struct hgi_conn_done){.is_good = true};
    }
    return done(aio);
}
