/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of herdgate.v1.Cache's leases. */
#include "codec_part.h"

#define FULFIL_REQUEST_TAGS 12u /* field number of herdgate.proto */

bool hgi_fulfil_request_encode(const struct hgi_msg_fulfil *message, struct hg_bytes *ret_bytes)
{
    Herdgate__V1__FulfilRequest wire = HERDGATE__V1__FULFIL_REQUEST__INIT;
    size_t len_before = ret_bytes->len;
    bool is_done;

    wire.cache = hgi_pack_borrow(message->cache);
    wire.lease_id = message->lease_id;
    wire.epoch = message->epoch;
    wire.outcome = (Herdgate__V1__Outcome)message->outcome;
    wire.value = hgi_pack_borrow(message->value);
    wire.ttl_ms = (uint64_t)message->ttl_ms;
    wire.stale_ttl_ms = (uint64_t)message->stale_ttl_ms;
    wire.expires_at_ms = message->expires_at_ms;
    wire.status = (uint32_t)message->status;
    wire.message = hgi_pack_borrow(message->message);
    wire.keep_ms = (uint64_t)message->keep_ms;
    wire.no_store = message->no_store;
    is_done =
        hgi_pack(&wire.base, ret_bytes) &&
        hgi_codec_tags_pack(FULFIL_REQUEST_TAGS, message->tags, message->tag_count, ret_bytes);
    return hgi_pack_end(is_done, len_before, ret_bytes);
}

static enum hg_status read_times(const Herdgate__V1__FulfilRequest *wire,
                                 struct hgi_msg_fulfil *ret_message, char *ret_sentence)
{
    enum hg_status status =
        hgi_codec_lifetime_read("ttl_ms", wire->ttl_ms, &ret_message->ttl_ms, ret_sentence);

    if (status == HG_OK) {
        status = hgi_codec_lifetime_read("stale_ttl_ms", wire->stale_ttl_ms,
                                         &ret_message->stale_ttl_ms, ret_sentence);
    }
    if (status == HG_OK) {
        status =
            hgi_codec_lifetime_read("keep_ms", wire->keep_ms, &ret_message->keep_ms, ret_sentence);
    }
    if (status == HG_OK) {
        status = hgi_codec_unix_ms_check("expires_at_ms", wire->expires_at_ms, ret_sentence);
        ret_message->expires_at_ms = wire->expires_at_ms;
    }
    return status;
}

enum hg_status hgi_fulfil_request_decode(struct hg_slice bytes, struct hgi_arena *arena,
                                         struct hgi_msg_fulfil *ret_message, char *ret_sentence)
{
    struct hgi_msg_fulfil message = {0};
    const Herdgate__V1__FulfilRequest *wire;
    enum hg_status status =
        hgi_codec_tags_check(bytes, FULFIL_REQUEST_TAGS, HG_TAGS_MAX, "fulfilment", ret_sentence);

    if (status != HG_OK) {
        return status;
    }
    wire =
        hgi_unpack(&herdgate__v1__fulfil_request__descriptor, bytes, arena, &status, ret_sentence);
    if (!wire) {
        return status;
    }
    status = hgi_codec_enum_check("outcome", (int)wire->outcome, HG_DENIED, ret_sentence);
    if (status == HG_OK) {
        status = read_times(wire, &message, ret_sentence);
    }
    if (status == HG_OK) {
        status = hgi_codec_tags_read(wire->tags, wire->n_tags, arena, &message.tags, ret_sentence);
    }
    if (status != HG_OK) {
        return status;
    }
    message.cache = hgi_unpack_slice(wire->cache);
    message.lease_id = wire->lease_id;
    message.epoch = wire->epoch;
    message.outcome = (enum hg_outcome)wire->outcome;
    message.value = hgi_unpack_slice(wire->value);
    message.status = hgi_unpack_status(wire->status);
    message.message = hgi_unpack_slice(wire->message);
    message.tag_count = wire->n_tags;
    message.no_store = wire->no_store;
    *ret_message = message;
    return HG_OK;
}

bool hgi_fulfil_reply_encode(const struct hgi_msg_fulfilled *message, struct hg_bytes *ret_bytes)
{
    Herdgate__V1__FulfilReply wire = HERDGATE__V1__FULFIL_REPLY__INIT;

    wire.generation = message->generation;
    wire.outcome = (Herdgate__V1__Outcome)message->outcome;
    wire.ttl_left_ms = message->ttl_left_ms;
    wire.stale_left_ms = message->stale_left_ms;
    return hgi_pack(&wire.base, ret_bytes);
}

enum hg_status hgi_fulfil_reply_decode(struct hg_slice bytes, struct hgi_arena *arena,
                                       struct hgi_msg_fulfilled *ret_message, char *ret_sentence)
{
    enum hg_status status;
    const Herdgate__V1__FulfilReply *wire =
        hgi_unpack(&herdgate__v1__fulfil_reply__descriptor, bytes, arena, &status, ret_sentence);

    if (!wire) {
        return status;
    }
    status = hgi_codec_enum_check("outcome", (int)wire->outcome, HG_DENIED, ret_sentence);
    if (status != HG_OK) {
        return status;
    }
    ret_message->generation = wire->generation;
    ret_message->outcome = (enum hg_outcome)wire->outcome;
    ret_message->ttl_left_ms = wire->ttl_left_ms;
    ret_message->stale_left_ms = wire->stale_left_ms;
    return HG_OK;
}

bool hgi_renew_request_encode(const struct hgi_msg_lease *message, struct hg_bytes *ret_bytes)
{
    Herdgate__V1__LeaseRequest wire = HERDGATE__V1__LEASE_REQUEST__INIT;

    wire.cache = hgi_pack_borrow(message->cache);
    wire.lease_id = message->lease_id;
    wire.epoch = message->epoch;
    return hgi_pack(&wire.base, ret_bytes);
}

enum hg_status hgi_renew_request_decode(struct hg_slice bytes, struct hgi_arena *arena,
                                        struct hgi_msg_lease *ret_message, char *ret_sentence)
{
    enum hg_status status;
    const Herdgate__V1__LeaseRequest *wire =
        hgi_unpack(&herdgate__v1__lease_request__descriptor, bytes, arena, &status, ret_sentence);

    if (!wire) {
        return status;
    }
    ret_message->cache = hgi_unpack_slice(wire->cache);
    ret_message->lease_id = wire->lease_id;
    ret_message->epoch = wire->epoch;
    return HG_OK;
}

bool hgi_release_request_encode(const struct hgi_msg_lease *message, struct hg_bytes *ret_bytes)
{
    return hgi_renew_request_encode(message, ret_bytes);
}

enum hg_status hgi_release_request_decode(struct hg_slice bytes, struct hgi_arena *arena,
                                          struct hgi_msg_lease *ret_message, char *ret_sentence)
{
    return hgi_renew_request_decode(bytes, arena, ret_message, ret_sentence);
}

bool hgi_renew_reply_encode(const struct hgi_msg_renewed *message, struct hg_bytes *ret_bytes)
{
    Herdgate__V1__RenewReply wire = HERDGATE__V1__RENEW_REPLY__INIT;

    wire.lease_ttl_ms = message->lease_ttl_ms;
    return hgi_pack(&wire.base, ret_bytes);
}

enum hg_status hgi_renew_reply_decode(struct hg_slice bytes, struct hgi_arena *arena,
                                      struct hgi_msg_renewed *ret_message, char *ret_sentence)
{
    enum hg_status status;
    const Herdgate__V1__RenewReply *wire =
        hgi_unpack(&herdgate__v1__renew_reply__descriptor, bytes, arena, &status, ret_sentence);

    if (!wire) {
        return status;
    }
    ret_message->lease_ttl_ms = wire->lease_ttl_ms;
    return HG_OK;
}
