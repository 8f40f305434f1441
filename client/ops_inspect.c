/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of herdgate.v1.Admin that look into a cache: flights, and why a key is answered as it
 * is. */
#include "client/call.h"
#include "client/op.h"
#include "client/reply.h"
#include "proto/codec.h"

static enum hg_status encode_list_flights(const void *request, struct hg_bytes *ret_payload,
                                          char *ret_sentence)
{
    const struct hg_list_flights *list = request;
    struct hgi_msg_list_flights message = {.cache = hg_slice_text(list->cache),
                                           .max = list->flights_max};

    return hgi_op_encoded(hgi_list_flights_request_encode(&message, ret_payload), ret_sentence);
}

static enum hg_status decode_flights(struct hg_slice payload, struct hgi_arena *arena,
                                     size_t key_count, void *ret_reply, char *ret_sentence)
{
    struct hgi_msg_flights message;
    enum hg_status status = hgi_list_flights_reply_decode(payload, arena, &message, ret_sentence);

    (void)key_count;
    return status != HG_OK
               ? status
               : hgi_op_decoded(hgi_reply_flights(&message, arena, ret_reply), ret_sentence);
}

static enum hg_status encode_kill_flight(const void *request, struct hg_bytes *ret_payload,
                                         char *ret_sentence)
{
    const struct hg_kill_flight *kill = request;
    struct hgi_msg_kill_flight message = {.cache = hg_slice_text(kill->cache), .id = kill->id};
    enum hg_status status = hgi_op_check_cache(kill->cache, ret_sentence);

    return status != HG_OK ? status
                           : hgi_op_encoded(hgi_kill_flight_request_encode(&message, ret_payload),
                                            ret_sentence);
}

static enum hg_status decode_flight(struct hg_slice payload, struct hgi_arena *arena,
                                    size_t key_count, void *ret_reply, char *ret_sentence)
{
    struct hgi_msg_flight message;
    enum hg_status status = hgi_flight_info_decode(payload, arena, &message, ret_sentence);

    (void)key_count;
    if (status == HG_OK) {
        *(struct hg_flight *)ret_reply = hgi_reply_flight(&message);
    }
    return status;
}

static enum hg_status encode_explain(const void *request, struct hg_bytes *ret_payload,
                                     char *ret_sentence)
{
    const struct hg_explain *explain = request;
    struct hgi_msg_explain message = {.cache = hg_slice_text(explain->cache), .key = explain->key};
    enum hg_status status = hgi_op_check_cache(explain->cache, ret_sentence);

    return status != HG_OK
               ? status
               : hgi_op_encoded(hgi_explain_request_encode(&message, ret_payload), ret_sentence);
}

static enum hg_status decode_explanation(struct hg_slice payload, struct hgi_arena *arena,
                                         size_t key_count, void *ret_reply, char *ret_sentence)
{
    struct hgi_msg_explanation message;
    enum hg_status status = hgi_explanation_decode(payload, arena, &message, ret_sentence);

    (void)key_count;
    return status != HG_OK
               ? status
               : hgi_op_decoded(hgi_reply_explanation(&message, arena, ret_reply), ret_sentence);
}

HGI_OP_DELIVER(flights, struct hg_flights)
HGI_OP_DELIVER(flight, struct hg_flight)
HGI_OP_DELIVER(explanation, struct hg_explanation)

static const struct hgi_op op_list_flights = {.method = HGI_METHOD_LIST_FLIGHTS,
                                              .encode = encode_list_flights,
                                              .decode = decode_flights,
                                              .deliver = deliver_flights,
                                              .reply_size = sizeof(struct hg_flights),
                                              .memory_offset = offsetof(struct hg_flights, memory)};
static const struct hgi_op op_kill_flight = {.method = HGI_METHOD_KILL_FLIGHT,
                                             .encode = encode_kill_flight,
                                             .decode = decode_flight,
                                             .deliver = deliver_flight,
                                             .reply_size = sizeof(struct hg_flight),
                                             .memory_offset = offsetof(struct hg_flight, memory)};
static const struct hgi_op op_explain = {.method = HGI_METHOD_EXPLAIN,
                                         .encode = encode_explain,
                                         .decode = decode_explanation,
                                         .deliver = deliver_explanation,
                                         .reply_size = sizeof(struct hg_explanation),
                                         .memory_offset = offsetof(struct hg_explanation, memory)};

HGI_OP_CALLS(list_flights, struct hg_list_flights, struct hg_flights, hg_flights_fn,
             {.request = request, .timeout_ms = request->timeout_ms})
HGI_OP_CALLS(kill_flight, struct hg_kill_flight, struct hg_flight, hg_flight_fn,
             {.request = request, .timeout_ms = request->timeout_ms, .op_id = request->op_id})
HGI_OP_CALLS(explain, struct hg_explain, struct hg_explanation, hg_explanation_fn,
             {.request = request, .timeout_ms = request->timeout_ms})
