/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of herdgate.v1.Admin about access tokens. */
#include "codec_part.h"

#define LIST_TOKENS_REPLY_TOKENS 1u /* a field number of herdgate.proto */

bool hgi_new_token_request_encode(const struct hgi_msg_new_token *message,
                                  struct hg_bytes *ret_bytes)
{
    Herdgate__V1__NewTokenRequest wire = HERDGATE__V1__NEW_TOKEN_REQUEST__INIT;

    wire.principal = hgi_pack_borrow(message->principal);
    wire.expires_at_ms = message->expires_at_ms;
    return hgi_pack(&wire.base, ret_bytes);
}

enum hg_status hgi_new_token_request_decode(struct hg_slice bytes, struct hgi_arena *arena,
                                            struct hgi_msg_new_token *ret_message,
                                            char *ret_sentence)
{
    enum hg_status status;
    const Herdgate__V1__NewTokenRequest *wire = hgi_unpack(
        &herdgate__v1__new_token_request__descriptor, bytes, arena, &status, ret_sentence);

    if (!wire) {
        return status;
    }
    status = hgi_codec_unix_ms_check("expires_at_ms", wire->expires_at_ms, ret_sentence);
    if (status == HG_OK) {
        ret_message->principal = hgi_unpack_slice(wire->principal);
        ret_message->expires_at_ms = wire->expires_at_ms;
    }
    return status;
}

bool hgi_new_token_reply_encode(const struct hgi_msg_issued *message, struct hg_bytes *ret_bytes)
{
    Herdgate__V1__NewTokenReply wire = HERDGATE__V1__NEW_TOKEN_REPLY__INIT;

    wire.token = hgi_pack_borrow(message->token);
    wire.id = hgi_pack_borrow(message->id);
    return hgi_pack(&wire.base, ret_bytes);
}

enum hg_status hgi_new_token_reply_decode(struct hg_slice bytes, struct hgi_arena *arena,
                                          struct hgi_msg_issued *ret_message, char *ret_sentence)
{
    enum hg_status status;
    const Herdgate__V1__NewTokenReply *wire =
        hgi_unpack(&herdgate__v1__new_token_reply__descriptor, bytes, arena, &status, ret_sentence);

    if (!wire) {
        return status;
    }
    ret_message->token = hgi_unpack_slice(wire->token);
    ret_message->id = hgi_unpack_slice(wire->id);
    return HG_OK;
}

bool hgi_revoke_token_request_encode(const struct hgi_msg_revoke_token *message,
                                     struct hg_bytes *ret_bytes)
{
    Herdgate__V1__RevokeTokenRequest wire = HERDGATE__V1__REVOKE_TOKEN_REQUEST__INIT;

    wire.id = hgi_pack_borrow(message->id);
    wire.principal = hgi_pack_borrow(message->principal);
    return hgi_pack(&wire.base, ret_bytes);
}

enum hg_status hgi_revoke_token_request_decode(struct hg_slice bytes, struct hgi_arena *arena,
                                               struct hgi_msg_revoke_token *ret_message,
                                               char *ret_sentence)
{
    enum hg_status status;
    const Herdgate__V1__RevokeTokenRequest *wire = hgi_unpack(
        &herdgate__v1__revoke_token_request__descriptor, bytes, arena, &status, ret_sentence);

    if (!wire) {
        return status;
    }
    ret_message->id = hgi_unpack_slice(wire->id);
    ret_message->principal = hgi_unpack_slice(wire->principal);
    return HG_OK;
}

bool hgi_revoke_token_reply_encode(const struct hgi_msg_revoked *message,
                                   struct hg_bytes *ret_bytes)
{
    Herdgate__V1__RevokeTokenReply wire = HERDGATE__V1__REVOKE_TOKEN_REPLY__INIT;

    wire.revoked = message->count;
    return hgi_pack(&wire.base, ret_bytes);
}

enum hg_status hgi_revoke_token_reply_decode(struct hg_slice bytes, struct hgi_arena *arena,
                                             struct hgi_msg_revoked *ret_message,
                                             char *ret_sentence)
{
    enum hg_status status;
    const Herdgate__V1__RevokeTokenReply *wire = hgi_unpack(
        &herdgate__v1__revoke_token_reply__descriptor, bytes, arena, &status, ret_sentence);

    if (!wire) {
        return status;
    }
    ret_message->count = wire->revoked;
    return HG_OK;
}

bool hgi_list_tokens_reply_encode(const struct hgi_msg_token_infos *message,
                                  struct hg_bytes *ret_bytes)
{
    size_t len_before = ret_bytes->len;
    bool is_done = true;

    for (size_t i = 0; is_done && i < message->token_count; i++) {
        Herdgate__V1__TokenInfo wire = HERDGATE__V1__TOKEN_INFO__INIT;

        wire.id = hgi_pack_borrow(message->tokens[i].id);
        wire.principal = hgi_pack_borrow(message->tokens[i].principal);
        wire.created_at_ms = message->tokens[i].created_at_ms;
        wire.expires_at_ms = message->tokens[i].expires_at_ms;
        is_done = hgi_pack_element(LIST_TOKENS_REPLY_TOKENS, &wire.base, ret_bytes);
    }
    return hgi_pack_end(is_done, len_before, ret_bytes);
}

enum hg_status hgi_list_tokens_reply_decode(struct hg_slice bytes, struct hgi_arena *arena,
                                            struct hgi_msg_token_infos *ret_message,
                                            char *ret_sentence)
{
    struct hgi_msg_token_info *tokens;
    enum hg_status status;
    const Herdgate__V1__ListTokensReply *wire = hgi_unpack(
        &herdgate__v1__list_tokens_reply__descriptor, bytes, arena, &status, ret_sentence);

    if (!wire) {
        return status;
    }
    tokens = hgi_unpack_array(wire->n_tokens, sizeof(*tokens), arena, &status, ret_sentence);
    if (!tokens) {
        return status;
    }
    for (size_t i = 0; i < wire->n_tokens; i++) {
        tokens[i].id = hgi_unpack_slice(wire->tokens[i]->id);
        tokens[i].principal = hgi_unpack_slice(wire->tokens[i]->principal);
        tokens[i].created_at_ms = wire->tokens[i]->created_at_ms;
        tokens[i].expires_at_ms = wire->tokens[i]->expires_at_ms;
    }
    ret_message->tokens = tokens;
    ret_message->token_count = wire->n_tokens;
    return HG_OK;
}
