/* SPDX-License-Identifier: Apache-2.0 */
/* A connection is three small machines under one lock (class conn). No nng call and no callback is
 * made with the lock held: what is to be submitted is decided under it (struct todo), counted in
 * `submitting`, and done after it (carry_out).
 *
 * life   OPEN --end--> ENDING --close--> CLOSED --release--> GONE
 *          end      anybody: the peer left, does not speak SP, is past a deadline; memory is out
 *          close    the sweeping thread, once `submitting` is 0. Submissions are decided in OPEN
 *                   only, so nothing is ever submitted to a closed stream (nng 1.5.2 would keep it
 *                   waiting for ever); what is pending nng completes as it closes.
 *          release  the sweeping thread, once neither machine below has anything with nng; only
 *                   then are the stream and the aios freed. The memory goes with release or with
 *                   the last held request, whichever is later.
 *
 * reader STOPPED --start--> READING --bytes--> CUTTING --no whole frame left--> READING
 *                                     CUTTING --no room--> PARKED --room--> CUTTING
 *                                     CUTTING --not OPEN, or draining--> STOPPED
 *          READING  a receive is with nng
 *          CUTTING  one of nng's threads hands up frames, or will: it alone touches `intake`. It
 *                   needs a turn of its share first, and waits for it in line, holding no thread.
 *                   Replies only pile up in `out`: they leave in one write when it rests, made by
 *                   itself: no other thread is woken for a write that the system takes at once.
 *          PARKED   in_flight_max requests, or too many unsent bytes: nobody reads, nor is the peer
 *                   seen to leave, until a finished write finds room. There always is such a write:
 *                   only a reply makes room, and a reply is written.
 *
 * writer idle --out is not empty--> writing --all of `sending` is gone--> idle
 *          writing  a send is with nng, or the cutter is at it; `sending` and `sent` belong to it
 *
 * The sweep is the only clock; conn_wait remembers what it saw the connection wait for. */
#include "conn.h"

#include "base/check.h"
#include "base/lock.h"
#include "server/rpc/conn_stream.h"
#include "server/rpc/conn_wait.h"
#include "server/rpc/inflight.h"
#include "server/rpc/intake.h"

#define KEEP_SIZE 65536u /* an empty write buffer larger than this is given back */
#define CONN_BYTES                                                                                 \
    (4 * 65536u) /* itself, its aios, TLS, what it keeps of empty buffers and calls */
#define WRITE_STEP (256u * 1024) /* what a peer must read within write_ms */

enum life { OPEN, ENDING, CLOSED, GONE };
enum reader { STOPPED, READING, CUTTING, PARKED };
enum stop { OUT_OF_FRAMES, OUT_OF_ROOM, ENDED };

struct todo {
    bool send;
    bool receive;
};

struct hgi_conn {
    /* set once */
    const struct hgi_conn_shared *shared; /* not valid in GONE */
    struct hgi_asker asker;
    enum hgi_sp_transport transport;
    struct hgi_conn_stream stream;
    /* the listener's */
    struct hgi_node node;
    /* the reader's */
    struct hgi_turn turn;
    struct hgi_intake intake;
    /* the writer's while is_writing */
    struct hg_bytes sending;
    size_t sent;
    /* the sweep's */
    struct hgi_conn_wait read_wait;
    struct hgi_conn_wait write_wait;
    /* guarded */
    struct hgi_lock lock;
    enum life life HGI_GUARDED_BY(conn);
    enum reader reader HGI_GUARDED_BY(conn);
    uint32_t submitting HGI_GUARDED_BY(conn);
    bool is_writing HGI_GUARDED_BY(conn);
    bool is_draining HGI_GUARDED_BY(conn);
    struct hg_bytes out HGI_GUARDED_BY(conn);
    size_t unsent_bytes HGI_GUARDED_BY(conn); /* in out and sending */
    struct hgi_inflight inflight HGI_GUARDED_BY(conn);
    enum hgi_wait waits_for HGI_GUARDED_BY(conn);
    uint64_t read_mark HGI_GUARDED_BY(conn);
    uint64_t write_mark HGI_GUARDED_BY(conn);
    size_t step_bytes HGI_GUARDED_BY(conn); /* sent since write_mark last changed */
};

static void count(_Atomic uint64_t *metric)
{
    atomic_fetch_add_explicit(metric, 1, memory_order_relaxed);
}

static void end_locked(struct hgi_conn *conn) HGI_REQUIRES(conn)
{
    if (conn->life == OPEN) {
        conn->life = ENDING;
        hgi_share_end(conn->shared->share);
    }
}

static bool takes_requests_locked(const struct hgi_conn *conn) HGI_REQUIRES(conn)
{
    return conn->life == OPEN && !conn->is_draining;
}

static bool has_room_locked(const struct hgi_conn *conn) HGI_REQUIRES(conn)
{
    return conn->inflight.count < conn->shared->limits.in_flight_max &&
           conn->unsent_bytes < conn->asker.hold_max_bytes &&
           atomic_load_explicit(&conn->asker.held_bytes, memory_order_relaxed) <
               conn->asker.hold_max_bytes;
}

/* What is being sent and has not gone. */
static struct hg_slice unsent(const struct hgi_conn *conn)
{
    return hg_slice_of(conn->sending.data + conn->sent, conn->sending.len - conn->sent);
}

static void want_write_locked(struct hgi_conn *conn, struct todo *todo) HGI_REQUIRES(conn)
{
    struct hg_bytes emptied = conn->sending;

    if (conn->life != OPEN || conn->is_writing || conn->out.len == 0) {
        return;
    }
    conn->sending = conn->out;
    conn->out = emptied;
    conn->sent = 0;
    conn->is_writing = true;
    conn->write_mark++;
    conn->step_bytes = 0;
    conn->submitting++;
    todo->send = true;
}

/* Until `submitting` is 0 again it cannot be closed; after that it is not touched any more. */
static void carry_out(struct hgi_conn *conn, const struct todo *todo) HGI_EXCLUDES(conn)
{
    uint32_t submitted = (uint32_t)todo->send + (uint32_t)todo->receive;

    if (todo->send) {
        hgi_conn_stream_send(&conn->stream, unsent(conn));
    }
    if (todo->receive) {
        struct hg_bytes *in = &conn->intake.bytes;

        hgi_conn_stream_receive(&conn->stream, in->data + in->len, in->capacity - in->len);
    }
    if (submitted) {
        hgi_lock_conn(&conn->lock);
        conn->submitting -= submitted;
        hgi_unlock_conn(&conn->lock);
    }
}

static void end(struct hgi_conn *conn, _Atomic uint64_t *why) HGI_EXCLUDES(conn)
{
    hgi_lock_conn(&conn->lock);
    if (conn->life == OPEN && why) {
        count(why);
    }
    end_locked(conn);
    hgi_unlock_conn(&conn->lock);
}

enum admission { ADMITTED, DUPLICATE, NO_ROOM, REFUSED };

static enum admission admit(struct hgi_conn *conn, const struct hgi_sp_route *route)
    HGI_EXCLUDES(conn)
{
    enum admission admission = REFUSED;

    hgi_lock_conn(&conn->lock);
    if (!takes_requests_locked(conn)) {
        goto out;
    }
    if (!has_room_locked(conn)) {
        admission = NO_ROOM;
        goto out;
    }
    switch (hgi_inflight_add(&conn->inflight, route)) {
    case HGI_INFLIGHT_ADDED:
        admission = ADMITTED;
        break;
    case HGI_INFLIGHT_THERE:
        admission = DUPLICATE;
        break;
    case HGI_INFLIGHT_NO_MEMORY:
        end_locked(conn);
        break;
    }
out:
    hgi_unlock_conn(&conn->lock);
    return admission;
}

/* Hands up every whole frame there is room for. */
static enum stop cut_frames(struct hgi_conn *conn) HGI_EXCLUDES(conn)
{
    const struct hgi_conn_shared *shared = conn->shared;
    struct hgi_sp_frame frame;

    for (;;) {
        switch (hgi_intake_next(&conn->intake, &frame)) {
        case HGI_SP_MORE:
            return OUT_OF_FRAMES;
        case HGI_SP_BAD:
            end(conn, &shared->metrics->bad_peers);
            return ENDED;
        case HGI_SP_FRAME:
            break;
        }
        switch (admit(conn, &frame.route)) {
        case NO_ROOM:
            return OUT_OF_ROOM;
        case REFUSED:
            return ENDED;
        case DUPLICATE:
            count(&shared->metrics->duplicates);
            break;
        case ADMITTED:
            count(&shared->metrics->requests);
            shared->request(shared->context, conn, &frame.route, frame.body);
            break;
        }
        hgi_intake_take(&conn->intake);
    }
}

/* A send has ended; what it left of `sending` is to follow. */
static void wrote_locked(struct hgi_conn *conn, struct hgi_conn_done done, struct todo *todo)
    HGI_REQUIRES(conn)
{
    if (!done.is_good) {
        end_locked(conn);
        conn->is_writing = false;
        return;
    }
    conn->sent += done.count;
    conn->unsent_bytes -= done.count;
    conn->step_bytes += done.count;
    if (conn->step_bytes >= WRITE_STEP) {
        conn->step_bytes = 0;
        conn->write_mark++;
    }
    if (conn->life == OPEN && conn->sent < conn->sending.len) {
        conn->submitting++;
        todo->send = true;
        return;
    }
    conn->is_writing = false;
    hgi_bytes_clear(&conn->sending);
    if (conn->sending.capacity > KEEP_SIZE) {
        hgi_bytes_deinit(&conn->sending);
    }
}

/* Hands the system what was answered while the cutter cut. What it does not take at once is to be
 * sent. */
static void try_write(struct hgi_conn *conn, struct todo *ret_todo) HGI_EXCLUDES(conn)
{
    struct todo todo = {0};
    struct hgi_conn_done done;

    hgi_lock_conn(&conn->lock);
    want_write_locked(conn, &todo);
    hgi_unlock_conn(&conn->lock);
    if (!todo.send) {
        return;
    }
    done = hgi_conn_stream_try(&conn->stream, unsent(conn));
    hgi_lock_conn(&conn->lock);
    conn->submitting--;
    wrote_locked(conn, done, ret_todo);
    hgi_unlock_conn(&conn->lock);
}

/* Ends the cutter's turn: sends what was answered in it, and reads on, parks or stops. False: there
 * is room again, go on cutting. */
static bool rest(struct hgi_conn *conn, enum stop stop) HGI_EXCLUDES(conn)
{
    struct todo todo = {0};
    bool rests = true;
    bool has_memory;

    hgi_intake_pack(&conn->intake);
    has_memory = stop != OUT_OF_FRAMES || hgi_intake_make_room(&conn->intake);
    try_write(conn, &todo);
    hgi_lock_conn(&conn->lock);
    if (!has_memory) {
        end_locked(conn);
    }
    want_write_locked(conn, &todo); /* what others have answered meanwhile */
    if (!takes_requests_locked(conn)) {
        conn->reader = STOPPED;
    } else if (stop == OUT_OF_ROOM) {
        rests = !has_room_locked(conn);
        conn->reader = rests ? PARKED : CUTTING;
    } else {
        conn->reader = READING;
        conn->submitting++;
        todo.receive = true;
    }
    conn->waits_for = !conn->intake.is_greeted         ? HGI_WAIT_HANDSHAKE
                      : hgi_intake_held(&conn->intake) ? HGI_WAIT_BODY
                                                       : HGI_WAIT_IDLE;
    conn->read_mark = conn->intake.frame_count;
    hgi_unlock_conn(&conn->lock);
    carry_out(conn, &todo);
    return rests;
}

/* Cuts until it rests; after that the connection may be closed, and goes once this returns. */
static void on_turn(void *arg) HGI_EXCLUDES(conn)
{
    struct hgi_conn *conn = arg;
    struct hgi_share *share = conn->shared->share;
    enum stop stop;

    do {
        stop = cut_frames(conn);
    } while (!rest(conn, stop));
    hgi_share_end_turn(share);
}

static void call_turn(struct hgi_turn *turn)
{
    hgi_conn_stream_call(&HGI_CONTAINER(turn, struct hgi_conn, turn)->stream);
}

static void take_turn(struct hgi_conn *conn) HGI_EXCLUDES(conn)
{
    if (hgi_share_begin_turn(conn->shared->share, &conn->turn)) {
        on_turn(conn);
    }
}

static void on_read(void *arg)
{
    struct hgi_conn *conn = arg;
    struct hgi_conn_done read = hgi_conn_stream_read(&conn->stream);

    hgi_lock_conn(&conn->lock);
    conn->reader = CUTTING;
    hgi_unlock_conn(&conn->lock);
    if (read.is_good) {
        conn->intake.bytes.len += read.count;
    } else {
        end(conn, NULL); /* the peer left */
    }
    take_turn(conn);
}

static void on_written(void *arg)
{
    struct hgi_conn *conn = arg;
    struct todo todo = {0};
    bool unparks;

    hgi_lock_conn(&conn->lock);
    wrote_locked(conn, hgi_conn_stream_written(&conn->stream), &todo);
    if (conn->reader != CUTTING) {
        want_write_locked(conn, &todo);
    }
    unparks = conn->reader == PARKED && takes_requests_locked(conn) && has_room_locked(conn);
    if (unparks) {
        conn->reader = CUTTING;
    }
    hgi_unlock_conn(&conn->lock);
    carry_out(conn, &todo);
    if (unparks) {
        take_turn(conn);
    }
}

/* Replies to calls that waited may come all at once, and are answers of their own, whatever the
 * peer reads: what would be too much is not kept for it. */
static bool is_too_long_locked(const struct hgi_conn *conn, size_t len) HGI_REQUIRES(conn)
{
    return len > HGI_CONN_SHORT_SIZE &&
           conn->unsent_bytes + len > hgi_conn_unsent_max(&conn->shared->limits);
}

static bool append_reply_locked(struct hgi_conn *conn, const struct hgi_sp_route *route,
                                const struct hgi_pieces *body) HGI_REQUIRES(conn)
{
    unsigned char head[HGI_SP_HEAD_MAX];
    size_t head_len = hgi_sp_head(conn->transport, route, body->len, head);

    /* Both or nothing: half a frame would garble all that follow. */
    if (!hgi_bytes_reserve(&conn->out, head_len + body->len) ||
        !hgi_bytes_append(&conn->out, hg_slice_of(head, head_len)) ||
        !hgi_pieces_append(body, &conn->out)) {
        return false;
    }
    conn->unsent_bytes += head_len + body->len;
    return true;
}

static void destroy(struct hgi_conn *conn) HGI_UNCHECKED
{
    hgi_inflight_deinit(&conn->inflight);
    hgi_lock_deinit(&conn->lock);
    hgi_free(&hgi_heap, conn);
}

void hgi_conn_reply(struct hgi_conn *conn, const struct hgi_sp_route *route,
                    const struct hgi_pieces *body)
{
    struct todo todo = {0};
    struct hgi_pieces no_room;
    bool is_last;

    hgi_lock_conn(&conn->lock);
    if (is_too_long_locked(conn, body->len)) {
        hgi_pieces_init(&no_room);
        hgi_pieces_raw(&no_room, conn->shared->no_room);
        body = &no_room;
    }
    HGI_BUG_ON(!hgi_inflight_remove(&conn->inflight, route));
    if (conn->life == OPEN) {
        if (append_reply_locked(conn, route, body)) {
            count(&conn->shared->metrics->replies);
        } else {
            end_locked(conn);
        }
        if (conn->reader != CUTTING) {
            want_write_locked(conn, &todo);
        }
    }
    is_last = conn->life == GONE && conn->inflight.count == 0;
    hgi_unlock_conn(&conn->lock);
    carry_out(conn, &todo);
    if (is_last) {
        destroy(conn);
    }
}

struct hgi_asker *hgi_conn_asker(struct hgi_conn *conn)
{
    return &conn->asker;
}

static void reply_to(struct hgi_asker *asker, const struct hgi_sp_route *route,
                     const struct hgi_pieces *body)
{
    hgi_conn_reply(HGI_CONTAINER(asker, struct hgi_conn, asker), route, body);
}

struct hgi_conn *hgi_conn_create(const struct hgi_conn_shared *shared, const struct hgi_peer *peer,
                                 HG_TAKES struct nng_stream *stream)
{
    struct hgi_conn *conn = hgi_alloc(&hgi_heap, sizeof(*conn));
    const struct hgi_conn_stream_heard heard = {
        .on_read = on_read, .on_written = on_written, .on_called = on_turn, .context = conn};

    if (!conn) {
        return NULL;
    }
    if (!hgi_conn_stream_init(&conn->stream, stream, peer->is_tls, &heard)) {
        hgi_free(&hgi_heap, conn);
        return NULL;
    }
    conn->shared = shared;
    hgi_asker_init(&conn->asker, peer, reply_to);
    conn->asker.hold_max_bytes = hgi_conn_hold_max(&shared->limits);
    conn->transport = peer->is_ipc ? HGI_SP_IPC : HGI_SP_TCP;
    hgi_list_init(&conn->node);
    conn->turn.call = call_turn;
    hgi_intake_init(&conn->intake, conn->transport, shared->limits.message_max_bytes);
    hgi_bytes_init(&conn->sending, &hgi_heap);
    hgi_bytes_init(&conn->out, &hgi_heap);
    hgi_inflight_init(&conn->inflight);
    hgi_lock_init(&conn->lock);
    return conn;
}

/* Buffers are at most twice what they hold. */
size_t hgi_conn_bytes_max(const struct hgi_limits *limits)
{
    size_t message = limits->message_max_bytes + HGI_SP_HEAD_MAX;

    return 2 * message + CONN_BYTES +
           2 * (hgi_conn_unsent_max(limits) + limits->in_flight_max * HGI_CONN_SHORT_SIZE);
}

void hgi_conn_start(struct hgi_conn *conn)
{
    unsigned char hello[HGI_SP_HANDSHAKE_LEN];

    hgi_sp_handshake(HGI_SP_REP, hello);
    hgi_lock_conn(&conn->lock);
    if (hgi_bytes_append(&conn->out, hg_slice_of(hello, sizeof(hello)))) {
        conn->unsent_bytes += sizeof(hello);
    } else {
        end_locked(conn);
    }
    hgi_unlock_conn(&conn->lock);
    (void)rest(conn, OUT_OF_FRAMES); /* nothing was cut, so there is nothing to go on with */
}

static bool is_late_locked(struct hgi_conn *conn, int64_t now_ms) HGI_REQUIRES(conn)
{
    const struct hgi_limits *limits = &conn->shared->limits;
    enum hgi_wait waits_for = conn->reader == READING ? conn->waits_for : HGI_WAIT_NOTHING;

    if (hgi_conn_wait_is_over(&conn->write_wait,
                              conn->is_writing ? HGI_WAIT_WRITE : HGI_WAIT_NOTHING,
                              conn->write_mark, limits, now_ms)) {
        return true;
    }
    if (conn->reader == CUTTING) {
        return false; /* about to wait for the same or for something else */
    }
    if (waits_for == HGI_WAIT_IDLE && (conn->inflight.count > 0 || conn->is_writing)) {
        waits_for = HGI_WAIT_NOTHING;
    }
    return hgi_conn_wait_is_over(&conn->read_wait, waits_for, conn->read_mark, limits, now_ms);
}

bool hgi_conn_sweep(struct hgi_conn *conn, const struct hgi_now *now)
{
    bool closes = false;
    bool frees = false;

    if (hgi_conn_stream_is_lost(&conn->stream, now->boot_ms)) {
        end(conn, NULL);
    }
    hgi_lock_conn(&conn->lock);
    if (conn->life == OPEN && is_late_locked(conn, now->boot_ms)) {
        count(&conn->shared->metrics->timeouts);
        end_locked(conn);
    }
    if (conn->submitting == 0 && conn->life == ENDING) {
        conn->life = CLOSED;
        closes = true;
    } else if (conn->submitting == 0 && conn->life == CLOSED) {
        frees = !conn->is_writing && (conn->reader == STOPPED || conn->reader == PARKED);
    }
    hgi_unlock_conn(&conn->lock);
    if (closes) {
        hgi_conn_stream_close(&conn->stream);
    }
    if (frees) {
        /* Waits for the end of callbacks, which hold nothing any more. */
        hgi_conn_stream_deinit(&conn->stream);
        hgi_intake_deinit(&conn->intake);
        hgi_bytes_deinit(&conn->sending);
    }
    return frees;
}

void hgi_conn_release(struct hgi_conn *conn)
{
    bool is_last;

    hgi_lock_conn(&conn->lock);
    conn->life = GONE;
    hgi_bytes_deinit(&conn->out);
    is_last = conn->inflight.count == 0;
    hgi_unlock_conn(&conn->lock);
    if (is_last) {
        destroy(conn);
    }
}

void hgi_conn_drain(struct hgi_conn *conn)
{
    hgi_lock_conn(&conn->lock);
    conn->is_draining = true;
    hgi_unlock_conn(&conn->lock);
}

bool hgi_conn_is_flushed(struct hgi_conn *conn)
{
    bool is_flushed;

    hgi_lock_conn(&conn->lock);
    is_flushed = conn->life != OPEN || (conn->unsent_bytes == 0 && conn->inflight.count == 0);
    hgi_unlock_conn(&conn->lock);
    return is_flushed;
}

void hgi_conn_end(struct hgi_conn *conn)
{
    end(conn, NULL);
}

struct hgi_node *hgi_conn_node(struct hgi_conn *conn)
{
    return &conn->node;
}

struct hgi_conn *hgi_conn_of_node(struct hgi_node *node)
{
    return HGI_CONTAINER(node, struct hgi_conn, node);
}
