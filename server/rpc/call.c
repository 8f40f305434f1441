/* SPDX-License-Identifier: Apache-2.0 */
#include "call.h"

#include <string.h>

#include "base/check.h"

#include "dispatch.h"
#include "ops.h"
#include "proto/codec.h"
#include "rights.h"

#define KEEP_SIZE 32768u /* a reset call gives back a longer buffer */

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
    hgi_live_begin(&rpc->live, &asker->calls);
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
static void send_op(struct hgi_rpc *rpc, const struct hgi_pieces *reply)
{
    struct hgi_pieces kept;
    struct hg_bytes whole;
    struct hgi_node waiting;
    struct hgi_node *node;

    hgi_pieces_init(&kept);
    hgi_bytes_init(&whole, &hgi_heap);
    hgi_pieces_raw(&kept, hgi_pieces_append(reply, &whole) ? hgi_bytes_slice(&whole)
                                                           : hgi_rpc_no_memory());
    hgi_list_init(&waiting);
    hgi_ops_end(hgi_dispatch_ops(rpc->dispatch), rpc->op, kept.pieces[0], &waiting);
    while ((node = hgi_list_pop_front(&waiting)) != NULL) {
        struct hgi_rpc *other = HGI_CONTAINER(node, struct hgi_rpc, op_node);
        bool is_first = hgi_live_answer(hgi_dispatch_live(rpc->dispatch), &other->live);

        HGI_BUG_ON(!is_first); /* it has no deadline: it waits for this one's */
        other->asker->reply(other->asker, &other->route, &kept);
        end(other);
    }
    rpc->asker->reply(rpc->asker, &rpc->route, &kept);
    hgi_bytes_deinit(&whole);
}

static void send(struct hgi_rpc *rpc, const struct hgi_pieces *reply)
{
    if (rpc->op) {
        send_op(rpc, reply);
    } else {
        rpc->asker->reply(rpc->asker, &rpc->route, reply);
    }
}

static void send_once(struct hgi_rpc *rpc, const struct hgi_pieces *reply)
{
    if (hgi_live_answer(hgi_dispatch_live(rpc->dispatch), &rpc->live)) {
        send(rpc, reply);
    }
    end(rpc);
}

struct hg_slice hgi_rpc_no_memory(void)
{
    static const unsigned char reply[] = {0x08, HG_RESOURCE_EXHAUSTED};

    return hg_slice_of(reply, sizeof(reply));
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
