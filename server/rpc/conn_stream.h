/* SPDX-License-Identifier: Apache-2.0 */
/* conn_stream: one connection's byte stream, as nng has it.
 * Owns:     the stream and its aios.
 * Threads:  one receive, one call and one send or write at a time; callbacks come on nng's threads.
 * Limits:   none.
 * Errors:   those of the peer, in the results; after close nothing may be submitted (nng 1.5.2
 *           would keep it for ever).
 * Not here: what the bytes are, when to read and write (conn). A door of conn only. */
#ifndef HGI_SERVER_RPC_CONN_STREAM_H
#define HGI_SERVER_RPC_CONN_STREAM_H

#include "herdgate/attr.h"
#include "herdgate/types.h"

struct nng_aio;
struct nng_stream;

struct hgi_conn_stream {
    struct nng_stream *stream;
    struct nng_aio *read_aio;
    struct nng_aio *write_aio;
    struct nng_aio *try_aio; /* has no callback */
    struct nng_aio *call_aio;
    bool is_tls;
    int64_t lost_ask_ms; /* when is_lost asks next */
};

/* How a receive, a send or a try ended. */
struct hgi_conn_done {
    bool is_good; /* else the peer is gone */
    size_t count;
};

/* Who is told what ends; `context` is theirs. */
struct hgi_conn_stream_heard {
    void (*on_read)(void *context);
    void (*on_written)(void *context);
    void (*on_called)(void *context);
    void *context;
};

/* Takes the stream; false: no memory, and it is the caller's still. */
HG_NODISCARD bool hgi_conn_stream_init(struct hgi_conn_stream *conn_stream,
                                       HG_TAKES struct nng_stream *stream, bool is_tls,
                                       const struct hgi_conn_stream_heard *heard);
/* Waits for callbacks that are running. Nothing is pending; not from a callback. */
void hgi_conn_stream_deinit(struct hgi_conn_stream *conn_stream);
/* What is pending ends. */
void hgi_conn_stream_close(struct hgi_conn_stream *conn_stream);

/* on_read follows; then hgi_conn_stream_read. */
void hgi_conn_stream_receive(struct hgi_conn_stream *conn_stream, void *room, size_t size);
struct hgi_conn_done hgi_conn_stream_read(const struct hgi_conn_stream *conn_stream);
/* on_written follows; then hgi_conn_stream_written, which may be less than all. */
void hgi_conn_stream_send(struct hgi_conn_stream *conn_stream, struct hg_slice bytes);
struct hgi_conn_done hgi_conn_stream_written(const struct hgi_conn_stream *conn_stream);
/* on_called follows, from one of nng's threads. */
void hgi_conn_stream_call(struct hgi_conn_stream *conn_stream);
/* Whether the peer has gone without a word: asked of the system, over TLS only, at times. A receive
 * that is submitted over TLS after that waits for ever (nng 1.5.2; docs/notes/001-substrate.md 12).
 * From one thread. */
bool hgi_conn_stream_is_lost(struct hgi_conn_stream *conn_stream, int64_t now_ms);
/* Hands the system what it takes at once (over TLS nothing): nothing follows. A send's end costs a
 * turn of another thread (nng queues every callback), this one's does not. */
struct hgi_conn_done hgi_conn_stream_try(struct hgi_conn_stream *conn_stream,
                                         struct hg_slice bytes);

#endif
