/* SPDX-License-Identifier: Apache-2.0 */
#include "call.h"

#include "base/check.h"

#include "dispatch.h"
#include "ops.h"
#include "proto/codec.h"
#include "rights.h"

struct hgi_rpc *hgi_rpc_create(struct hgi_dispatch *dispatch, struct hgi_conn *conn,
                               const struct hgi_sp_route *route, size_t body_len)
{
    struct hgi_rpc *rpc = hgi_alloc(&hgi_heap, sizeof(*rpc));

    if (!rpc) {
        return NULL;
    }
    rpc->dispatch = dispatch;
    rpc->conn = conn;
    rpc->route = *route;
    hgi_arena_init(&rpc->arena, hgi_arena_budget(body_len));
    hgi_bytes_init(&rpc->payload, &hgi_heap);
    hgi_bytes_init(&rpc->scratch, &hgi_heap);
    hgi_list_init(&rpc->op_node);
    hgi_live_enter(hgi_dispatch_live(dispatch), &rpc->live, hgi_conn_calls(conn));
    return rpc;
}

void hgi_rpc_free(struct hgi_rpc *rpc)
{
    hgi_bytes_deinit(&rpc->payload);
    hgi_bytes_deinit(&rpc->scratch);
    hgi_arena_deinit(&rpc->arena);
    hgi_free(&hgi_heap, rpc->owned);
    hgi_free(&hgi_heap, rpc);
}

static void end(struct hgi_rpc *rpc)
{
    if (hgi_live_end(hgi_dispatch_live(rpc->dispatch), &rpc->live)) {
        hgi_rpc_free(rpc);
    }
}

/* Everybody who sent the same operation gets the same bytes. */
static void send_to_all(struct hgi_rpc *rpc, struct hg_slice reply)
{
    struct hgi_node waiting;
    struct hgi_node *node;

    hgi_list_init(&waiting);
    if (rpc->op) {
        hgi_ops_end(hgi_dispatch_ops(rpc->dispatch), rpc->op, reply, &waiting);
    }
    while ((node = hgi_list_pop_front(&waiting)) != NULL) {
        struct hgi_rpc *other = HGI_CONTAINER(node, struct hgi_rpc, op_node);
        bool is_first = hgi_live_answer(hgi_dispatch_live(rpc->dispatch), &other->live);

        HGI_BUG_ON(!is_first); /* it has no deadline: it waits for this one's */
        hgi_conn_reply(other->conn, &other->route, reply);
        end(other);
    }
    hgi_conn_reply(rpc->conn, &rpc->route, reply);
}

static void send_once(struct hgi_rpc *rpc, struct hg_slice reply)
{
    if (hgi_live_answer(hgi_dispatch_live(rpc->dispatch), &rpc->live)) {
        send_to_all(rpc, reply);
    }
    end(rpc);
}

struct hg_slice hgi_rpc_no_memory(void)
{
    static const unsigned char reply[] = {0x08, HG_RESOURCE_EXHAUSTED};

    return hg_slice_of(reply, sizeof(reply));
}

/* The reply's bytes, in ret_bytes unless there is no memory for them. */
static struct hg_slice encode(const struct hgi_reply *reply, struct hg_bytes *ret_bytes)
{
    return hgi_reply_encode(reply, ret_bytes) ? hgi_bytes_slice(ret_bytes) : hgi_rpc_no_memory();
}

void hgi_rpc_repeat(struct hgi_rpc *rpc, struct hg_slice reply)
{
    send_once(rpc, reply);
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
    struct hg_bytes encoded;

    hgi_bytes_init(&encoded, &hgi_heap);
    send_to_all(rpc, encode(&reply, &encoded));
    hgi_bytes_deinit(&encoded);
}

void hgi_rpc_finish(struct hgi_rpc *rpc, enum hg_status status, struct hg_slice message,
                    uint32_t retry_after_ms)
{
    static const char revoked[] = "this token was revoked while the call waited";
    struct hgi_reply reply = {
        .status = status,
        .message = message,
        .payload = hgi_bytes_slice(&rpc->payload),
        .retry_after_ms = retry_after_ms,
    };
    struct hg_bytes encoded;

    if (!hgi_rights_last(rpc)) {
        reply = (struct hgi_reply){.status = HG_UNAUTHENTICATED, .message = hg_slice_text(revoked)};
    }
    hgi_bytes_init(&encoded, &hgi_heap);
    send_once(rpc, encode(&reply, &encoded));
    hgi_bytes_deinit(&encoded);
}

void hgi_rpc_fail(struct hgi_rpc *rpc, enum hg_status status, const char *sentence)
{
    rpc->payload.len = 0;
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
