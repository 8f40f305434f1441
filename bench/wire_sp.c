/* SPDX-License-Identifier: Apache-2.0 */
/* Ours: SP frames around protobuf. The request is made once by the codec; replies are read by hand,
 * as a client in a hurry would, so that the generator weighs the same on both sides. */
#include "proto/codec.h"
#include "proto/envelope.h"
#include "proto/sp.h"
#include "record.h"
#include "wire.h"

/* Numbers no benchmark draws mark the places of keys and value in the packed request. */
#define MARK_BASE UINT64_C(999999999000)

/* ---- the request ---- */

static bool encode_read(const struct wire_plan *plan, const struct hg_key *keys,
                        struct hg_bytes *payload, enum hgi_method *ret_method)
{
    struct hg_slice cache = hg_slice_text(plan->cache);

    if (plan->batch == 1) {
        struct hgi_msg_get get = {.cache = cache, .key = keys[0], .max_age_ms = -1};

        *ret_method = plan->op == WIRE_GET ? HGI_METHOD_GET : HGI_METHOD_GET_OR_LOAD;
        return hgi_get_request_encode(&get, payload);
    }
    struct hgi_msg_batch batch = {.cache = cache,
                                  .keys = (struct hg_key *)(uintptr_t)keys,
                                  .key_count = plan->batch,
                                  .mode = plan->op == WIRE_GET ? HG_MODE_PEEK : HG_MODE_DEFAULT,
                                  .max_age_ms = -1};

    *ret_method = HGI_METHOD_BATCH_GET_OR_LOAD;
    return hgi_batch_request_encode(&batch, payload);
}

static bool encode_put(const struct wire_plan *plan, const struct hg_key *key,
                       struct hg_slice value, struct hg_bytes *payload, enum hgi_method *ret_method)
{
    struct hgi_msg_put put = {.cache = hg_slice_text(plan->cache),
                              .key = *key,
                              .outcome = HG_VALUE,
                              .value = value,
                              .ttl_ms = (int64_t)plan->ttl_s * 1000};

    *ret_method = HGI_METHOD_PUT;
    return hgi_put_request_encode(&put, payload);
}

/* The body of one request with marks in the place of keys and value. */
static bool encode_body(const struct wire *wire, unsigned char marks[][RECORD_KEY_MAX],
                        struct hg_slice value, struct hg_bytes *ret_body)
{
    struct hg_key keys[WIRE_BATCH_MAX];
    struct hgi_request request = {.timeout_ms = 10000};
    struct hg_bytes payload;
    bool is_good;

    memset(keys, 0, sizeof(keys));
    for (uint32_t i = 0; i < wire->plan.batch; i++) {
        record_key(MARK_BASE + i, wire->plan.key_len, marks[i]);
        keys[i] = (struct hg_key){.kind = HG_KEY_BYTES,
                                  .bytes = hg_slice_of(marks[i], wire->plan.key_len)};
    }
    hgi_bytes_init(&payload, &hgi_heap);
    is_good = wire->plan.op == WIRE_PUT
                  ? encode_put(&wire->plan, keys, value, &payload, &request.method)
                  : encode_read(&wire->plan, keys, &payload, &request.method);
    request.payload = hgi_bytes_slice(&payload);
    is_good = is_good && hgi_request_encode(&request, ret_body);
    hgi_bytes_deinit(&payload);
    return is_good;
}

static bool find_mark(const struct wire *wire, const void *mark, size_t len, size_t *ret_at)
{
    const unsigned char *data = wire->request.data;
    const unsigned char *found = memmem(data, wire->request.len, mark, len);

    if (found) {
        *ret_at = (size_t)(found - data);
    }
    return found != NULL;
}

static bool frame(struct wire *wire, const struct hg_bytes *body)
{
    struct hgi_sp_route route = hgi_sp_route_of(1);
    unsigned char head[HGI_SP_HEAD_MAX];
    size_t head_len =
        hgi_sp_head(wire->plan.is_ipc ? HGI_SP_IPC : HGI_SP_TCP, &route, body->len, head);

    wire->slot_at = head_len - route.len;
    return hgi_bytes_append(&wire->request, hg_slice_of(head, head_len)) &&
           hgi_bytes_append(&wire->request, hgi_bytes_slice(body));
}

static bool build(struct wire *wire)
{
    unsigned char marks[WIRE_BATCH_MAX][RECORD_KEY_MAX];
    unsigned char value[RECORD_VALUE_MAX];
    size_t value_len = wire->plan.value_len;
    struct hg_bytes body;
    bool is_good;

    wire->hello_len = HGI_SP_HANDSHAKE_LEN;
    hgi_sp_handshake(HGI_SP_REQ, wire->hello);
    hgi_sp_handshake(HGI_SP_REP, wire->greeting);
    record_value(MARK_BASE, value_len, value);
    hgi_bytes_init(&body, &hgi_heap);
    is_good = encode_body(wire, marks, hg_slice_of(value, value_len), &body) && frame(wire, &body);
    hgi_bytes_deinit(&body);
    for (uint32_t i = 0; is_good && i < wire->plan.batch; i++) {
        is_good = find_mark(wire, marks[i], wire->plan.key_len, &wire->key_at[i]);
    }
    if (is_good && wire->plan.op == WIRE_PUT) {
        is_good = find_mark(wire, value, value_len, &wire->value_at);
    }
    return is_good;
}

/* ---- the reply ---- */

/* One field of a protobuf message: its number, and its bytes or its varint. */
struct field {
    uint32_t number;
    uint64_t varint;
    struct hg_slice bytes; /* data NULL: it was a varint or a fixed64 */
};

static bool take_varint(const unsigned char **at, const unsigned char *end, uint64_t *ret_value)
{
    uint64_t value = 0;

    for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
        unsigned char byte = *(*at)++;

        value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            *ret_value = value;
            return true;
        }
    }
    return false;
}

static bool take_field(const unsigned char **at, const unsigned char *end, struct field *ret_field)
{
    uint64_t tag;

    if (!take_varint(at, end, &tag)) {
        return false;
    }
    ret_field->number = (uint32_t)(tag >> 3);
    ret_field->bytes = hg_slice_of(NULL, 0);
    ret_field->varint = 0;
    switch (tag & 7) {
    case 0:
        return take_varint(at, end, &ret_field->varint);
    case 1:
        if (end - *at < 8) {
            return false;
        }
        *at += 8;
        return true;
    case 2:
        if (!take_varint(at, end, &ret_field->varint) ||
            ret_field->varint > (uint64_t)(end - *at)) {
            return false;
        }
        ret_field->bytes = hg_slice_of(*at, (size_t)ret_field->varint);
        *at += ret_field->varint;
        return true;
    default:
        return false;
    }
}

/* Answer: 1 status, 4 outcome, 6 value. */
static bool read_answer(struct hg_slice message, struct wire_answer *ret_answer)
{
    const unsigned char *at = message.data;
    const unsigned char *end = at + message.len;
    uint64_t status = 0;
    uint64_t outcome = 0;
    struct field field;

    ret_answer->value = hg_slice_of(NULL, 0);
    while (at < end) {
        if (!take_field(&at, end, &field)) {
            return false;
        }
        if (field.number == 1) {
            status = field.varint;
        } else if (field.number == 4) {
            outcome = field.varint;
        } else if (field.number == 6) {
            ret_answer->value = field.bytes;
        }
    }
    ret_answer->is_there = status == 0 && outcome == HG_VALUE;
    return true;
}

/* BatchReply: 1 is repeated. */
static bool read_answers(struct hg_slice message, struct wire_reply *ret_reply)
{
    const unsigned char *at = message.data;
    const unsigned char *end = at + message.len;
    struct field field;

    while (at < end) {
        if (!take_field(&at, end, &field) || field.number != 1 ||
            ret_reply->count == WIRE_BATCH_MAX ||
            !read_answer(field.bytes, &ret_reply->answers[ret_reply->count])) {
            return false;
        }
        ret_reply->count++;
    }
    return true;
}

/* Reply: 1 status, 3 payload. */
static bool read_reply(const struct wire *wire, struct hg_slice body, struct wire_reply *ret_reply)
{
    const unsigned char *at = body.data;
    const unsigned char *end = at + body.len;
    struct hg_slice payload = hg_slice_of("", 0);
    uint64_t status = 0;
    struct field field;

    while (at < end) {
        if (!take_field(&at, end, &field)) {
            return false;
        }
        if (field.number == 1) {
            status = field.varint;
        } else if (field.number == 3) {
            payload = field.bytes;
        }
    }
    ret_reply->count = 1;
    ret_reply->answers[0] =
        (struct wire_answer){status == 0 && wire->plan.op == WIRE_PUT, hg_slice_of(NULL, 0)};
    if (status != 0 || wire->plan.op == WIRE_PUT) {
        return true;
    }
    if (wire->plan.batch == 1) {
        return read_answer(payload, &ret_reply->answers[0]);
    }
    ret_reply->count = 0;
    return read_answers(payload, ret_reply);
}

static enum wire_cut cut(const struct wire *wire, struct hg_slice input,
                         struct wire_reply *ret_reply, size_t *ret_consumed)
{
    enum hgi_sp_transport transport = wire->plan.is_ipc ? HGI_SP_IPC : HGI_SP_TCP;
    struct hgi_sp_frame found;
    size_t needed;
    uint32_t id;

    switch (hgi_sp_cut(transport, input, WIRE_REPLY_MAX, &found, ret_consumed, &needed)) {
    case HGI_SP_MORE:
        return WIRE_MORE;
    case HGI_SP_FRAME:
        id = hgi_sp_route_id(&found.route) & 0x7FFFFFFFu;
        if (id == 0 || !read_reply(wire, found.body, ret_reply)) {
            return WIRE_BAD;
        }
        ret_reply->slot = id - 1;
        return WIRE_REPLY;
    default:
        return WIRE_BAD;
    }
}

const struct wire_kind wire_sp = {"herdgate", false, build, cut};
