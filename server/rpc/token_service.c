/* SPDX-License-Identifier: Apache-2.0 */
/* NewToken, RevokeToken, ListTokens. */
#include <inttypes.h>
#include <stdio.h>

#include "base/log.h"
#include "dispatch.h"
#include "proto/codec.h"
#include "service.h"

#define NOT_CONFIGURED "the configuration has no tokens_file"

static struct hgi_tokens *find_tokens(struct hgi_rpc *rpc)
{
    struct hgi_tokens *tokens = hgi_dispatch_services(rpc->dispatch)->tokens;

    if (!tokens) {
        hgi_rpc_fail(rpc, HG_FAILED_PRECONDITION, NOT_CONFIGURED);
    }
    return tokens;
}

/* ---- NewToken ---- */

static void new_stored(void *context, const struct hgi_tokens_done *done)
{
    struct hgi_rpc *rpc = context;
    struct hgi_msg_issued reply;

    if (done->status != HG_OK) {
        snprintf(rpc->sentence, sizeof(rpc->sentence), "there is no new token: %.200s",
                 done->sentence);
        hgi_rpc_fail(rpc, HG_UNAVAILABLE, rpc->sentence);
        return;
    }
    reply.token = hg_slice_of(done->token->text, HGI_TOKEN_LEN);
    reply.id = hgi_token_id_of(done->token);
    hgi_log(HG_LOG_INFO, "token %.*s has been given out", (int)reply.id.len,
            (const char *)reply.id.data);
    hgi_rpc_succeed(rpc, hgi_new_token_reply_encode(&reply, &rpc->payload));
}

void hgi_token_service_new(struct hgi_rpc *rpc)
{
    struct hgi_tokens *tokens = find_tokens(rpc);
    struct hgi_msg_new_token message;
    enum hg_status status;

    if (!tokens) {
        return;
    }
    status =
        hgi_new_token_request_decode(rpc->request.payload, &rpc->arena, &message, rpc->sentence);
    if (status == HG_OK) {
        hgi_rpc_bound(rpc, "the token was not on disk when the call's time was up");
        status = hgi_tokens_new(tokens, message.principal, message.expires_at_ms, rpc->now.wall_ms,
                                new_stored, rpc, rpc->sentence);
    }
    if (status != HG_OK) {
        hgi_rpc_fail(rpc, status, rpc->sentence);
    }
}

/* ---- RevokeToken ---- */

static void revoke_stored(void *context, const struct hgi_tokens_done *done)
{
    struct hgi_rpc *rpc = context;
    const struct hgi_msg_revoked reply = {.count = done->revoked};

    if (done->status != HG_OK) {
        snprintf(rpc->sentence, sizeof(rpc->sentence), "revoked, not durable: %.200s",
                 done->sentence);
        hgi_rpc_fail(rpc, HG_UNAVAILABLE, rpc->sentence);
        return;
    }
    hgi_rpc_succeed(rpc, hgi_revoke_token_reply_encode(&reply, &rpc->payload));
}

void hgi_token_service_revoke(struct hgi_rpc *rpc)
{
    struct hgi_tokens *tokens = find_tokens(rpc);
    struct hgi_msg_revoke_token message;
    enum hg_status status;

    if (!tokens) {
        return;
    }
    status =
        hgi_revoke_token_request_decode(rpc->request.payload, &rpc->arena, &message, rpc->sentence);
    if (status == HG_OK && (message.id.len > 0) == (message.principal.len > 0)) {
        snprintf(rpc->sentence, sizeof(rpc->sentence),
                 "revoke either one token by its id or all of one principal");
        status = HG_INVALID_ARGUMENT;
    }
    if (status == HG_OK) {
        hgi_rpc_bound(rpc, "revoked, but not on disk when the call's time was up");
        status = hgi_tokens_revoke(tokens, message.id, message.principal, revoke_stored, rpc,
                                   rpc->sentence);
    }
    if (status != HG_OK) {
        hgi_rpc_fail(rpc, status, rpc->sentence);
    }
}

/* ---- ListTokens ---- */

static bool encode_list(struct hgi_tokens *tokens, struct hg_bytes *ret_bytes)
{
    struct hgi_token_record *records = hgi_alloc(&hgi_heap, HGI_TOKENS_MAX * sizeof(*records));
    struct hgi_msg_token_infos reply = {
        .tokens = hgi_alloc(&hgi_heap, HGI_TOKENS_MAX * sizeof(*reply.tokens))};
    char(*ids)[HGI_TOKEN_ID_LEN + 1] = hgi_alloc(&hgi_heap, HGI_TOKENS_MAX * sizeof(*ids));
    bool is_encoded = false;

    if (records && reply.tokens && ids) {
        reply.token_count = hgi_tokens_list(tokens, records);
        for (size_t i = 0; i < reply.token_count; i++) {
            snprintf(ids[i], sizeof(ids[i]), "%08" PRIx32, records[i].id);
            reply.tokens[i] =
                (struct hgi_msg_token_info){.id = hg_slice_text(ids[i]),
                                            .principal = hg_slice_text(records[i].principal),
                                            .created_at_ms = records[i].created_at_ms,
                                            .expires_at_ms = records[i].expires_at_ms};
        }
        is_encoded = hgi_list_tokens_reply_encode(&reply, ret_bytes);
    }
    hgi_free(&hgi_heap, ids);
    hgi_free(&hgi_heap, reply.tokens);
    hgi_free(&hgi_heap, records);
    return is_encoded;
}

void hgi_token_service_list(struct hgi_rpc *rpc)
{
    struct hgi_tokens *tokens = find_tokens(rpc);

    if (tokens) {
        hgi_rpc_succeed(rpc, encode_list(tokens, &rpc->payload));
    }
}
