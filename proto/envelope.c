/* SPDX-License-Identifier: Apache-2.0 */
#include "envelope.h"

#include "herdgate.pb-c.h"

#include "base/check.h"
#include "base/kind.h"
#include "proto/plain.h"
#include "proto/unpack.h"

#define REQUEST_METADATA 4u /* a field number of herdgate.proto */

static const struct hgi_method_info methods[HGI_METHOD_COUNT] = {
#define HGI_METHOD_ROW(id, path_, right_, verb_, scope_, mutates_)                                 \
    [HGI_METHOD_##id] = {.path = (path_),                                                          \
                         .right = HGI_RIGHT_##right_,                                              \
                         .verb = HGI_VERB_##verb_,                                                 \
                         .scope = HGI_SCOPE_##scope_,                                              \
                         .mutates = (mutates_)},
#include "proto/methods.def"
#undef HGI_METHOD_ROW
};

const struct hgi_method_info *hgi_method_info(enum hgi_method method)
{
    HGI_BUG_ON(method <= HGI_METHOD_NONE || method >= HGI_METHOD_COUNT);
    return &methods[method];
}

enum hgi_method hgi_method_find(struct hg_slice path)
{
    for (enum hgi_method method = HGI_METHOD_NONE + 1; method < HGI_METHOD_COUNT; method++) {
        if (hgi_slice_equal(path, hg_slice_text(methods[method].path))) {
            return method;
        }
    }
    return HGI_METHOD_NONE;
}

enum { METHOD = 1, TIMEOUT, PAYLOAD, OP_ID = 5 }; /* fields, as above */
enum { METADATA_NAME = 1, METADATA_VALUE };

static bool read_plain_metadata(struct hg_slice bytes, struct hgi_metadata *ret_pair)
{
    struct hgi_plain plain = {
        .bytes_fields = HGI_PLAIN_FIELD(METADATA_NAME) | HGI_PLAIN_FIELD(METADATA_VALUE),
    };

    if (!hgi_plain_read(bytes, &plain)) {
        return false;
    }
    ret_pair->name = plain.bytes[METADATA_NAME];
    ret_pair->value = plain.bytes[METADATA_VALUE];
    return true;
}

/* False: not plain; of ret_request only what is not counted was touched. */
static bool read_plain(struct hg_slice bytes, struct hgi_request *ret_request)
{
    struct hg_slice metadata[HGI_METADATA_MAX];
    struct hgi_plain plain = {
        .number_fields = HGI_PLAIN_FIELD(TIMEOUT),
        .bytes_fields = HGI_PLAIN_FIELD(METHOD) | HGI_PLAIN_FIELD(PAYLOAD) | HGI_PLAIN_FIELD(OP_ID),
        .repeated_field = REQUEST_METADATA,
        .elements = metadata,
        .elements_max = HGI_METADATA_MAX,
    };

    if (!hgi_plain_read(bytes, &plain) ||
        (plain.bytes[OP_ID].len && plain.bytes[OP_ID].len != HGI_OP_ID_LEN)) {
        return false;
    }
    for (size_t i = 0; i < plain.element_count; i++) {
        if (!read_plain_metadata(metadata[i], &ret_request->metadata[i])) {
            return false;
        }
    }
    ret_request->path = plain.bytes[METHOD];
    ret_request->timeout_ms = (uint32_t)plain.numbers[TIMEOUT];
    ret_request->payload = plain.bytes[PAYLOAD];
    ret_request->op_id = plain.bytes[OP_ID];
    ret_request->metadata_count = plain.element_count;
    return true;
}

static enum hg_status unpack(struct hg_slice bytes, struct hgi_arena *arena,
                             struct hgi_request *ret_request, char *ret_sentence)
{
    const Herdgate__V1__Request *wire;
    size_t metadata_count = hgi_unpack_count(bytes, REQUEST_METADATA);
    enum hg_status status;

    if (metadata_count > HGI_METADATA_MAX) {
        return hgi_refuse(HG_INVALID_ARGUMENT, ret_sentence,
                          "%zu metadata pairs in one request; at most %u are allowed",
                          metadata_count, HGI_METADATA_MAX);
    }
    wire = hgi_unpack(&herdgate__v1__request__descriptor, bytes, arena, &status, ret_sentence);
    if (!wire) {
        return status;
    }
    if (wire->op_id.len && wire->op_id.len != HGI_OP_ID_LEN) {
        return hgi_refuse(HG_INVALID_ARGUMENT, ret_sentence,
                          "the op_id has %zu bytes; it must have %u, or be left out",
                          wire->op_id.len, HGI_OP_ID_LEN);
    }
    ret_request->path = hgi_unpack_slice(wire->method);
    ret_request->timeout_ms = wire->timeout_ms;
    ret_request->payload = hgi_unpack_slice(wire->payload);
    ret_request->op_id = hgi_unpack_slice(wire->op_id);
    ret_request->metadata_count = wire->n_metadata;
    for (size_t i = 0; i < wire->n_metadata; i++) {
        ret_request->metadata[i].name = hgi_unpack_slice(wire->metadata[i]->name);
        ret_request->metadata[i].value = hgi_unpack_slice(wire->metadata[i]->value);
    }
    return HG_OK;
}

enum hg_status hgi_request_decode(struct hg_slice bytes, struct hgi_arena *arena,
                                  struct hgi_request *ret_request, char *ret_sentence)
{
    if (!read_plain(bytes, ret_request)) {
        enum hg_status status = unpack(bytes, arena, ret_request, ret_sentence);

        if (status != HG_OK) {
            return status;
        }
    }
    ret_request->method = hgi_method_find(ret_request->path);
    return HG_OK;
}

static bool pack_metadata(const struct hgi_metadata *pair, struct hg_bytes *ret_bytes)
{
    Herdgate__V1__Metadata wire = HERDGATE__V1__METADATA__INIT;

    wire.name = hgi_pack_borrow(pair->name);
    wire.value = hgi_pack_borrow(pair->value);
    return hgi_pack_element(REQUEST_METADATA, &wire.base, ret_bytes);
}

bool hgi_request_encode(const struct hgi_request *request, struct hg_bytes *ret_bytes)
{
    Herdgate__V1__Request wire = HERDGATE__V1__REQUEST__INIT;
    size_t len_before = ret_bytes->len;
    bool is_done;

    HGI_BUG_ON(request->metadata_count > HGI_METADATA_MAX);
    wire.method = hgi_pack_borrow(hg_slice_text(hgi_method_info(request->method)->path));
    wire.timeout_ms = request->timeout_ms;
    wire.payload = hgi_pack_borrow(request->payload);
    wire.op_id = hgi_pack_borrow(request->op_id);
    is_done = hgi_pack(&wire.base, ret_bytes);
    for (size_t i = 0; is_done && i < request->metadata_count; i++) {
        is_done = pack_metadata(&request->metadata[i], ret_bytes);
    }
    return hgi_pack_end(is_done, len_before, ret_bytes);
}

enum hg_status hgi_reply_decode(struct hg_slice bytes, struct hgi_arena *arena,
                                struct hgi_reply *ret_reply)
{
    char sentence[HGI_SENTENCE_MAX];
    enum hg_status status;
    const Herdgate__V1__Reply *wire =
        hgi_unpack(&herdgate__v1__reply__descriptor, bytes, arena, &status, sentence);

    if (!wire) {
        return status;
    }
    ret_reply->status = hgi_unpack_status(wire->status);
    ret_reply->message = hgi_unpack_slice(wire->message);
    ret_reply->payload = hgi_unpack_slice(wire->payload);
    ret_reply->retry_after_ms = wire->retry_after_ms;
    return HG_OK;
}

void hgi_reply_pieces(const struct hgi_reply *reply, const struct hgi_pieces *payload,
                      struct hgi_pieces *ret_pieces)
{
    hgi_pieces_init(ret_pieces);
    hgi_pieces_number(ret_pieces, 1, (uint32_t)reply->status);
    hgi_pieces_bytes(ret_pieces, 2, reply->message);
    if (payload) {
        hgi_pieces_nest(ret_pieces, 3, payload);
    } else {
        hgi_pieces_bytes(ret_pieces, 3, reply->payload);
    }
    hgi_pieces_number(ret_pieces, 4, reply->retry_after_ms);
}

bool hgi_reply_encode(const struct hgi_reply *reply, struct hg_bytes *ret_bytes)
{
    struct hgi_pieces pieces;

    hgi_reply_pieces(reply, NULL, &pieces);
    return hgi_pieces_append(&pieces, ret_bytes);
}
