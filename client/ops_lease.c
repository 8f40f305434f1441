/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of herdgate.v1.Cache's leases. */
#include "client/call.h"
#include "client/op.h"
#include "client/reply.h"
#include "herdgate/lease.h"
#include "proto/codec.h"

static enum hg_status encode_fulfil(const void *request, struct hg_bytes *ret_payload,
                                    char *ret_sentence)
{
    const struct hg_fulfil *fulfil = request;
    struct hgi_msg_fulfil message = {.cache = hg_slice_text(fulfil->cache),
                                     .lease_id = fulfil->lease.id,
                                     .epoch = fulfil->lease.epoch,
                                     .outcome = fulfil->outcome ? fulfil->outcome : HG_VALUE,
                                     .value = fulfil->value,
                                     .ttl_ms = hgi_op_signed_ms(fulfil->ttl_ms),
                                     .stale_ttl_ms = hgi_op_signed_ms(fulfil->stale_ttl_ms),
                                     .expires_at_ms = fulfil->expires_at_ms,
                                     .status = fulfil->status,
                                     .message = fulfil->message,
                                     .tags = fulfil->tags,
                                     .tag_count = fulfil->tag_count,
                                     .keep_ms = hgi_op_signed_ms(fulfil->keep_ms),
                                     .no_store = fulfil->no_store};
    enum hg_status status = hgi_op_check_cache(fulfil->cache, ret_sentence);

    return status != HG_OK
               ? status
               : hgi_op_encoded(hgi_fulfil_request_encode(&message, ret_payload), ret_sentence);
}

static enum hg_status decode_fulfilled(struct hg_slice payload, struct hgi_arena *arena,
                                       size_t key_count, void *ret_reply, char *ret_sentence)
{
    struct hgi_msg_fulfilled message;
    enum hg_status status = hgi_fulfil_reply_decode(payload, arena, &message, ret_sentence);

    (void)key_count;
    if (status == HG_OK) {
        *(struct hg_fulfilled *)ret_reply =
            (struct hg_fulfilled){.generation = message.generation,
                                  .outcome = message.outcome,
                                  .ttl_left_ms = message.ttl_left_ms,
                                  .stale_left_ms = message.stale_left_ms};
    }
    return status;
}

/* Renew's and release's messages are one. */
static enum hg_status encode_leased(const void *request, struct hg_bytes *ret_payload,
                                    char *ret_sentence)
{
    const struct hg_leased *leased = request;
    struct hgi_msg_lease message = {.cache = hg_slice_text(leased->cache),
                                    .lease_id = leased->lease.id,
                                    .epoch = leased->lease.epoch};
    enum hg_status status = hgi_op_check_cache(leased->cache, ret_sentence);

    return status != HG_OK
               ? status
               : hgi_op_encoded(hgi_renew_request_encode(&message, ret_payload), ret_sentence);
}

static enum hg_status decode_renewed(struct hg_slice payload, struct hgi_arena *arena,
                                     size_t key_count, void *ret_reply, char *ret_sentence)
{
    struct hgi_msg_renewed message;
    enum hg_status status = hgi_renew_reply_decode(payload, arena, &message, ret_sentence);

    (void)key_count;
    if (status == HG_OK) {
        ((struct hg_renewed *)ret_reply)->ttl_ms = message.lease_ttl_ms;
    }
    return status;
}

/* A release has nothing to say but that it was done. */
static enum hg_status decode_released(struct hg_slice payload, struct hgi_arena *arena,
                                      size_t key_count, void *ret_reply, char *ret_sentence)
{
    (void)payload;
    (void)arena;
    (void)key_count;
    (void)ret_reply;
    (void)ret_sentence;
    return HG_OK;
}

static void deliver_released(void (*done)(void), void *arg, const struct hg_error *error,
                             const void *reply)
{
    (void)reply;
    ((hg_released_fn)done)(arg, error);
}

HGI_OP_DELIVER(fulfilled, struct hg_fulfilled)
HGI_OP_DELIVER(renewed, struct hg_renewed)

static const struct hgi_op op_fulfil = {.method = HGI_METHOD_FULFIL,
                                        .ends_waits = true,
                                        .encode = encode_fulfil,
                                        .decode = decode_fulfilled,
                                        .deliver = deliver_fulfilled,
                                        .reply_size = sizeof(struct hg_fulfilled),
                                        .memory_offset = HGI_REPLY_NO_MEMORY};
static const struct hgi_op op_renew = {.method = HGI_METHOD_RENEW,
                                       .ends_waits = true,
                                       .encode = encode_leased,
                                       .decode = decode_renewed,
                                       .deliver = deliver_renewed,
                                       .reply_size = sizeof(struct hg_renewed),
                                       .memory_offset = HGI_REPLY_NO_MEMORY};
static const struct hgi_op op_release = {.method = HGI_METHOD_RELEASE,
                                         .ends_waits = true,
                                         .encode = encode_leased,
                                         .decode = decode_released,
                                         .deliver = deliver_released,
                                         .reply_size = 1,
                                         .memory_offset = HGI_REPLY_NO_MEMORY};

HGI_OP_CALLS(fulfil, struct hg_fulfil, struct hg_fulfilled, hg_fulfilled_fn,
             {.request = request, .timeout_ms = request->timeout_ms, .op_id = request->op_id})
HGI_OP_CALLS(renew, struct hg_leased, struct hg_renewed, hg_renewed_fn,
             {.request = request, .timeout_ms = request->timeout_ms})

static struct hgi_call_args release_args(const struct hg_leased *request)
{
    return (struct hgi_call_args){
        .request = request, .timeout_ms = request->timeout_ms, .op_id = request->op_id};
}

enum hg_status hg_client_release(struct hg_client *client, const struct hg_leased *request,
                                 struct hg_error *ret_error)
{
    struct hgi_call_args args = release_args(request);
    char nothing;

    return hgi_call_wait(client, &op_release, &args, &nothing, ret_error);
}

enum hg_status hg_client_release_async(struct hg_client *client, const struct hg_leased *request,
                                       hg_released_fn done, void *arg, struct hg_error *ret_error)
{
    struct hgi_call_args args = release_args(request);

    return hgi_call_begin(client, &op_release, &args, (void (*)(void))done, arg, ret_error);
}
