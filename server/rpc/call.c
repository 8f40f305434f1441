/* SPDX-License-Identifier: Apache-2.0 */
#include "call.h"

#include "base/check.h"

#include "dispatch.h"
#include "ops.h"
#include "proto/codec.h"

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
    hgi_dispatch_enter(dispatch);
    return rpc;
}

static void destroy(struct hgi_rpc *rpc)
{
    struct hgi_dispatch *dispatch = rpc->dispatch;

    hgi_bytes_deinit(&rpc->payload);
    hgi_bytes_deinit(&rpc->scratch);
    hgi_arena_deinit(&rpc->arena);
    hgi_free(&hgi_heap, rpc);
    hgi_dispatch_leave(dispatch);
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

        hgi_conn_reply(other->conn, &other->route, reply);
        destroy(other);
    }
    hgi_conn_reply(rpc->conn, &rpc->route, reply);
    destroy(rpc);
}

struct hg_slice hgi_rpc_no_memory(void)
{
    static const unsigned char reply[] = {0x08, HG_RESOURCE_EXHAUSTED};

    return hg_slice_of(reply, sizeof(reply));
}

void hgi_rpc_repeat(struct hgi_rpc *rpc, struct hg_slice reply)
{
    send_to_all(rpc, reply);
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
    struct hg_bytes encoded;

    hgi_bytes_init(&encoded, &hgi_heap);
    if (hgi_reply_encode(&reply, &encoded)) {
        send_to_all(rpc, hgi_bytes_slice(&encoded));
    } else {
        send_to_all(rpc, hgi_rpc_no_memory());
    }
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
