/* SPDX-License-Identifier: Apache-2.0 */
#include "call.h"

#include <string.h>

#include "base/check.h"

#include "conn.h"
#include "dispatch.h"
#include "ops.h"
#include "proto/codec.h"
#include "rights.h"

#define KEEP_SIZE 32768u /* a reset call gives back a longer buffer */
/* An arena's first block; with the call itself less than HGI_CALL_BYTES. */
#define ARENA_UNCOUNTED 8192u
/* What protobuf-c makes of the worst message is some 72 bytes of each (docs/notes/001-substrate.md)
 */
#define ARENA_MOST_PER_BYTE 128u

_Static_assert(sizeof(struct hgi_rpc) + ARENA_UNCOUNTED < HGI_CALL_BYTES, "as it says");

struct hgi_rpc *hgi_rpc_create(struct hgi_dispatch *dispatch)
{
    struct hgi_rpc *rpc = hgi_alloc(&hgi_heap, sizeof(*rpc));

    if (!rpc) {
        return NULL;
    }
    rpc->dispatch = dispatch;
    hgi_arena_init(&rpc->arena, 0);
    hgi_bytes_init(&rpc->payload, &hgi_heap);
    hgi_bytes_init(&rpc->scratch, &hgi_heap);
    return rpc;
}

void hgi_rpc_begin(struct hgi_rpc *rpc, struct hgi_asker *asker, const struct hgi_sp_route *route,
                   size_t body_len)
{
    rpc->asker = asker;
    rpc->route = *route;
    hgi_arena_reset(&rpc->arena, hgi_arena_budget(body_len));
    rpc->request.method = HGI_METHOD_NONE;
    rpc->bearer = (struct hgi_bearer){0};
    rpc->op = NULL;
    hgi_list_init(&rpc->op_node);
    rpc->owned = NULL;
    rpc->reading = NULL;
    rpc->leave = NULL;
    rpc->now = hgi_clock_now();
    atomic_init(&rpc->is_in_turn, true);
    atomic_init(&rpc->is_gone, false);
    atomic_init(&rpc->late_sentence, NULL);
    atomic_init(&rpc->held_bytes, 0);
    hgi_live_begin(&rpc->live, &asker->calls);
}

size_t hgi_rpc_bytes_max(const struct hgi_limits *limits)
{
    return hgi_conn_hold_max(limits) + hgi_arena_budget(limits->message_max_bytes) +
           limits->in_flight_max * HGI_CALL_BYTES;
}

void hgi_rpc_hold(struct hgi_rpc *rpc, size_t bytes)
{
    atomic_fetch_add(&rpc->asker->held_bytes, bytes);
    atomic_fetch_add(&rpc->held_bytes, bytes);
}

void hgi_rpc_hold_arena(struct hgi_rpc *rpc)
{
    if (rpc->arena.used_bytes > ARENA_UNCOUNTED) {
        hgi_rpc_hold(rpc, rpc->arena.used_bytes + ARENA_UNCOUNTED);
    }
}

void hgi_rpc_hold_message(struct hgi_rpc *rpc, size_t payload_len)
{
    size_t most = rpc->arena.used_bytes + payload_len * ARENA_MOST_PER_BYTE;

    if (most > ARENA_UNCOUNTED) {
        hgi_rpc_hold(rpc, most < rpc->arena.budget_bytes ? most : rpc->arena.budget_bytes);
    }
}

bool hgi_rpc_try_hold(struct hgi_rpc *rpc, size_t bytes)
{
    struct hgi_asker *asker = rpc->asker;

    if (atomic_fetch_add(&asker->held_bytes, bytes) + bytes > asker->hold_max_bytes &&
        asker->hold_max_bytes) {
        atomic_fetch_sub(&asker->held_bytes, bytes);
        return false;
    }
    atomic_fetch_add(&rpc->held_bytes, bytes);
    return true;
}

/* What it held is given up before its reply is given: the reply is what makes its connection look
 * again whether it has room. */
static void reply(struct hgi_rpc *rpc, const struct hgi_pieces *pieces)
{
    size_t held_bytes = atomic_load_explicit(&rpc->held_bytes, memory_order_relaxed);

    if (held_bytes) {
        atomic_fetch_sub(&rpc->asker->held_bytes, held_bytes);
    }
    rpc->asker->reply(rpc->asker, &rpc->route, pieces);
}

struct hgi_now hgi_rpc_now(struct hgi_rpc *rpc)
{
    return atomic_load_explicit(&rpc->is_in_turn, memory_order_relaxed) ? rpc->now
                                                                        : hgi_clock_now();
}

/* Values and keys may be credentials: nothing of them waits for the next call. */
static void reset_bytes(struct hg_bytes *bytes)
{
    if (bytes->capacity > KEEP_SIZE) {
        hgi_bytes_deinit(bytes);
    } else {
        hgi_bytes_clear(bytes);
    }
}

void hgi_rpc_reset(struct hgi_rpc *rpc)
{
    reset_bytes(&rpc->payload);
    reset_bytes(&rpc->scratch);
    hgi_arena_reset(&rpc->arena, 0);
    if (rpc->sentence[0]) { /* it may quote what was asked */
        explicit_bzero(rpc->sentence, sizeof(rpc->sentence));
    }
    hgi_free(&hgi_heap, rpc->owned);
    rpc->owned = NULL;
}

void hgi_rpc_free(struct hgi_rpc *rpc)
{
    hgi_bytes_deinit(&rpc->payload);
    hgi_bytes_deinit(&rpc->scratch);
    hgi_arena_deinit(&rpc->arena);
    explicit_bzero(rpc->sentence, sizeof(rpc->sentence));
    hgi_free(&hgi_heap, rpc->owned);
    hgi_free(&hgi_heap, rpc);
}

static void end(struct hgi_rpc *rpc)
{
    if (hgi_live_end(hgi_dispatch_live(rpc->dispatch), &rpc->live)) {
        hgi_rpc_free(rpc);
    }
}

/* Everybody who sent the same operation gets the same bytes, which are kept for who sends it again.
 */
static void send_op(struct hgi_rpc *rpc, const struct hgi_pieces *pieces)
{
    struct hgi_pieces kept;
    struct hg_bytes whole;
    struct hgi_node waiting;
    struct hgi_node *node;

    hgi_pieces_init(&kept);
    hgi_bytes_init(&whole, &hgi_heap);
    hgi_pieces_raw(&kept, hgi_pieces_append(pieces, &whole) ? hgi_bytes_slice(&whole)
                                                            : hgi_rpc_no_memory());
    hgi_list_init(&waiting);
    hgi_ops_end(hgi_dispatch_ops(rpc->dispatch), rpc->op, kept.pieces[0], &waiting);
    while ((node = hgi_list_pop_front(&waiting)) != NULL) {
        struct hgi_rpc *other = HGI_CONTAINER(node, struct hgi_rpc, op_node);
        bool is_first = hgi_live_answer(hgi_dispatch_live(rpc->dispatch), &other->live);

        HGI_BUG_ON(!is_first); /* it has no deadline: it waits for this one's */
        reply(other, &kept);
        end(other);
    }
    reply(rpc, &kept);
    hgi_bytes_deinit(&whole);
}

static void send(struct hgi_rpc *rpc, const struct hgi_pieces *pieces)
{
    if (rpc->op) {
        send_op(rpc, pieces);
    } else {
        reply(rpc, pieces);
    }
}

static void send_once(struct hgi_rpc *rpc, const struct hgi_pieces *pieces)
{
    if (hgi_live_answer(hgi_dispatch_live(rpc->dispatch), &rpc->live)) {
        send(rpc, pieces);
    }
    end(rpc);
}

struct hg_slice hgi_rpc_no_memory(void)
{
    static const unsigned char reply[] = {0x08, HG_RESOURCE_EXHAUSTED};

    return hg_slice_of(reply, sizeof(reply));
}

/* Reply{status = RESOURCE_EXHAUSTED, message, retry_after_ms = 100} */
struct hg_slice hgi_rpc_no_room(void)
{
    static const char reply[] =
        "\x08\x08"
        "\x12\x53"
        "more of this connection's replies wait to be read than there is room for; ask again"
        "\x20\x64";

    return hg_slice_of(reply, sizeof(reply) - 1);
}

void hgi_rpc_repeat(struct hgi_rpc *rpc, struct hg_slice reply)
{
    struct hgi_pieces pieces;

    hgi_pieces_init(&pieces);
    hgi_pieces_raw(&pieces, reply);
    send_once(rpc, &pieces);
}

void hgi_rpc_bound(struct hgi_rpc *rpc, const char *late_sentence)
{
    int64_t timeout_ms = rpc->request.timeout_ms;

    if (timeout_ms == 0 || timeout_ms > HGI_TIMEOUT_MAX) {
        timeout_ms = HGI_TIMEOUT_MAX;
    }
    atomic_store(&rpc->late_sentence, late_sentence);
    rpc->due_ms = rpc->now.boot_ms + timeout_ms;
    hgi_live_set_due(hgi_dispatch_live(rpc->dispatch), &rpc->live, rpc->due_ms);
}

void hgi_rpc_late(struct hgi_rpc *rpc)
{
    const struct hgi_reply reply = {
        .status = HG_DEADLINE_EXCEEDED,
        .message = hg_slice_text(atomic_load(&rpc->late_sentence)),
    };
    struct hgi_pieces pieces;

    hgi_reply_pieces(&reply, NULL, &pieces);
    send(rpc, &pieces);
}

/* `payload`, unless NULL, stands for the reply's. */
static void finish(struct hgi_rpc *rpc, const struct hgi_reply *reply,
                   const struct hgi_pieces *payload)
{
    static const char revoked[] = "this token was revoked while the call waited";
    const struct hgi_reply refusal = {.status = HG_UNAUTHENTICATED,
                                      .message = hg_slice_text(revoked)};
    struct hgi_pieces pieces;

    if (hgi_rights_last(rpc)) {
        hgi_reply_pieces(reply, payload, &pieces);
    } else {
        hgi_reply_pieces(&refusal, NULL, &pieces);
    }
    send_once(rpc, &pieces);
}

void hgi_rpc_finish(struct hgi_rpc *rpc, enum hg_status status, struct hg_slice message,
                    uint32_t retry_after_ms)
{
    const struct hgi_reply reply = {
        .status = status,
        .message = message,
        .payload = hgi_bytes_slice(&rpc->payload),
        .retry_after_ms = retry_after_ms,
    };

    finish(rpc, &reply, NULL);
}

void hgi_rpc_finish_read(struct hgi_rpc *rpc, const struct hgi_answer *answer,
                         const struct hgi_pieces *payload)
{
    const struct hgi_reply reply = {
        .status = answer->status,
        .message = answer->message,
        .retry_after_ms = answer->retry_after_ms,
    };

    finish(rpc, &reply, payload);
}

void hgi_rpc_fail(struct hgi_rpc *rpc, enum hg_status status, const char *sentence)
{
    hgi_bytes_clear(&rpc->payload);
    hgi_rpc_finish(rpc, status, hg_slice_text(sentence), 0);
}

void hgi_rpc_succeed(struct hgi_rpc *rpc, bool is_encoded)
{
    if (is_encoded) {
        hgi_rpc_finish(rpc, HG_OK, hg_slice_of(NULL, 0), 0);
    } else {
        hgi_rpc_fail(rpc, HG_RESOURCE_EXHAUSTED, "no memory for the reply");
    }
}
