/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of herdgate.v1.Admin about access tokens. */
#include "client/call.h"
#include "client/op.h"
#include "client/reply.h"
#include "proto/codec.h"

static const struct hg_named no_name;

static enum hg_status encode_new(const void *request, struct hg_bytes *ret_payload,
                                 char *ret_sentence)
{
    const struct hg_new_token *wanted = request;
    struct hgi_msg_new_token message = {.principal = hg_slice_text(wanted->principal),
                                        .expires_at_ms = wanted->expires_at_ms};

    if (message.principal.len == 0) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX, "the request names no principal");
        return HG_INVALID_ARGUMENT;
    }
    return hgi_op_encoded(hgi_new_token_request_encode(&message, ret_payload), ret_sentence);
}

static enum hg_status decode_issued(struct hg_slice payload, struct hgi_arena *arena,
                                    size_t key_count, void *ret_reply, char *ret_sentence)
{
    struct hg_issued *issued = ret_reply;
    struct hgi_msg_issued message;
    enum hg_status status = hgi_new_token_reply_decode(payload, arena, &message, ret_sentence);

    (void)key_count;
    if (status == HG_OK) {
        issued->token = message.token;
        issued->id = message.id;
    }
    return status;
}

static enum hg_status encode_revoke(const void *request, struct hg_bytes *ret_payload,
                                    char *ret_sentence)
{
    const struct hg_revoke_token *revoke = request;
    struct hgi_msg_revoke_token message = {.id = hg_slice_text(revoke->id),
                                           .principal = hg_slice_text(revoke->principal)};

    if ((message.id.len > 0) == (message.principal.len > 0)) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX,
                 "revoke either one token by its id or all of one principal");
        return HG_INVALID_ARGUMENT;
    }
    return hgi_op_encoded(hgi_revoke_token_request_encode(&message, ret_payload), ret_sentence);
}

static enum hg_status decode_revoked(struct hg_slice payload, struct hgi_arena *arena,
                                     size_t key_count, void *ret_reply, char *ret_sentence)
{
    struct hgi_msg_revoked message;
    enum hg_status status = hgi_revoke_token_reply_decode(payload, arena, &message, ret_sentence);

    (void)key_count;
    if (status == HG_OK) {
        ((struct hg_revoked *)ret_reply)->count = message.count;
    }
    return status;
}

static enum hg_status encode_list(const void *request, struct hg_bytes *ret_payload,
                                  char *ret_sentence)
{
    (void)request;
    (void)ret_payload;
    (void)ret_sentence;
    return HG_OK;
}

static enum hg_status decode_infos(struct hg_slice payload, struct hgi_arena *arena,
                                   size_t key_count, void *ret_reply, char *ret_sentence)
{
    struct hgi_msg_token_infos message;
    enum hg_status status = hgi_list_tokens_reply_decode(payload, arena, &message, ret_sentence);

    (void)key_count;
    return status != HG_OK
               ? status
               : hgi_op_decoded(hgi_reply_token_infos(&message, arena, ret_reply), ret_sentence);
}

HGI_OP_DELIVER(issued, struct hg_issued)
HGI_OP_DELIVER(revoked, struct hg_revoked)
HGI_OP_DELIVER(infos, struct hg_token_infos)

static const struct hgi_op op_new_token = {.method = HGI_METHOD_NEW_TOKEN,
                                           .encode = encode_new,
                                           .decode = decode_issued,
                                           .deliver = deliver_issued,
                                           .reply_size = sizeof(struct hg_issued),
                                           .memory_offset = offsetof(struct hg_issued, memory)};
static const struct hgi_op op_revoke_token = {.method = HGI_METHOD_REVOKE_TOKEN,
                                              .encode = encode_revoke,
                                              .decode = decode_revoked,
                                              .deliver = deliver_revoked,
                                              .reply_size = sizeof(struct hg_revoked),
                                              .memory_offset = HGI_REPLY_NO_MEMORY};
static const struct hgi_op op_list_tokens = {.method = HGI_METHOD_LIST_TOKENS,
                                             .encode = encode_list,
                                             .decode = decode_infos,
                                             .deliver = deliver_infos,
                                             .reply_size = sizeof(struct hg_token_infos),
                                             .memory_offset =
                                                 offsetof(struct hg_token_infos, memory)};

HGI_OP_CALLS(new_token, struct hg_new_token, struct hg_issued, hg_issued_fn,
             {.request = request, .timeout_ms = request->timeout_ms})
HGI_OP_CALLS(revoke_token, struct hg_revoke_token, struct hg_revoked, hg_revoked_fn,
             {.request = request, .timeout_ms = request->timeout_ms, .op_id = request->op_id})
HGI_OP_CALLS(list_tokens, struct hg_named, struct hg_token_infos, hg_token_infos_fn,
             {.request = request ? request : &no_name,
              .timeout_ms = request ? request->timeout_ms : 0})
