/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of herdgate.v1.Admin about the server as a whole. */
#include "herdgate/control.h"

#include "client/call.h"
#include "client/op.h"
#include "client/reply.h"
#include "proto/codec.h"

static const struct hg_named no_name;

static enum hg_status decode_reloaded(struct hg_slice payload, struct hgi_arena *arena,
                                      size_t key_count, void *ret_reply, char *ret_sentence)
{
    struct hg_reloaded *reply = ret_reply;
    struct hgi_msg_reloaded message;
    enum hg_status status = hgi_reload_reply_decode(payload, arena, &message, ret_sentence);

    (void)key_count;
    if (status == HG_OK) {
        reply->changed = message.changed;
        reply->changed_count = message.changed_count;
        reply->restart = message.restart;
        reply->restart_count = message.restart_count;
    }
    return status;
}

static enum hg_status encode_drain(const void *request, struct hg_bytes *ret_payload,
                                   char *ret_sentence)
{
    const struct hg_drain *drain = request;
    const struct hgi_msg_drain message = {.off = drain->off};

    return hgi_op_encoded(hgi_drain_request_encode(&message, ret_payload), ret_sentence);
}

static enum hg_status decode_drained(struct hg_slice payload, struct hgi_arena *arena,
                                     size_t key_count, void *ret_reply, char *ret_sentence)
{
    struct hg_drained *reply = ret_reply;
    struct hgi_msg_drained message;
    enum hg_status status = hgi_drain_reply_decode(payload, arena, &message, ret_sentence);

    (void)key_count;
    if (status == HG_OK) {
        reply->connections = message.connections;
        reply->waiting = message.waiting;
    }
    return status;
}

HGI_OP_DELIVER(reloaded, struct hg_reloaded)
HGI_OP_DELIVER(drained, struct hg_drained)

static const struct hgi_op op_reload = {.method = HGI_METHOD_RELOAD,
                                        .encode = hgi_op_encode_nothing,
                                        .decode = decode_reloaded,
                                        .deliver = deliver_reloaded,
                                        .reply_size = sizeof(struct hg_reloaded),
                                        .memory_offset = offsetof(struct hg_reloaded, memory)};
static const struct hgi_op op_drain = {.method = HGI_METHOD_DRAIN,
                                       .encode = encode_drain,
                                       .decode = decode_drained,
                                       .deliver = deliver_drained,
                                       .reply_size = sizeof(struct hg_drained),
                                       .memory_offset = HGI_REPLY_NO_MEMORY};

HGI_OP_CALLS(reload, struct hg_named, struct hg_reloaded, hg_reloaded_fn,
             {.request = request ? request : &no_name,
              .timeout_ms = request ? request->timeout_ms : 0})
HGI_OP_CALLS(drain, struct hg_drain, struct hg_drained, hg_drained_fn,
             {.request = request, .timeout_ms = request->timeout_ms})
