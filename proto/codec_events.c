/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of herdgate.v1.Events. */
#include "codec_part.h"

#define WATCH_REPLY_EVENTS 2u /* field number of herdgate.proto */

bool hgi_watch_request_encode(const struct hgi_msg_watch *message, struct hg_bytes *ret_bytes)
{
    Herdgate__V1__WatchRequest wire = HERDGATE__V1__WATCH_REQUEST__INIT;

    wire.after = message->after;
    wire.epoch = message->epoch;
    wire.max = message->max;
    wire.cache = hgi_pack_borrow(message->cache);
    return hgi_pack(&wire.base, ret_bytes);
}

enum hg_status hgi_watch_request_decode(struct hg_slice bytes, struct hgi_arena *arena,
                                        struct hgi_msg_watch *ret_message, char *ret_sentence)
{
    enum hg_status status;
    const Herdgate__V1__WatchRequest *wire =
        hgi_unpack(&herdgate__v1__watch_request__descriptor, bytes, arena, &status, ret_sentence);

    if (!wire) {
        return status;
    }
    ret_message->after = wire->after;
    ret_message->epoch = wire->epoch;
    ret_message->max = wire->max;
    ret_message->cache = hgi_unpack_slice(wire->cache);
    return HG_OK;
}

static bool pack_event(const struct hgi_msg_event *event, struct hg_bytes *ret_bytes)
{
    Herdgate__V1__Event wire = HERDGATE__V1__EVENT__INIT;
    struct hgi_codec_key key;

    hgi_codec_key_borrow(&event->key, &key);
    wire.number = event->number;
    wire.at_ms = event->at_ms;
    wire.kind = (Herdgate__V1__EventKind)event->kind;
    wire.name = hgi_pack_borrow(event->name);
    wire.generation = event->generation;
    wire.key = key.wire.kind_case ? &key.wire : NULL;
    return hgi_pack_element(WATCH_REPLY_EVENTS, &wire.base, ret_bytes);
}

/* Unlike other enums a kind may be new to this reader: a server that learns to tell more must not
 * leave older gateways without any event. */
static enum hg_event_kind read_kind(int number)
{
    return number > HG_EVENT_OTHER && number <= HG_EVENT_LOADER ? (enum hg_event_kind)number
                                                                : HG_EVENT_OTHER;
}

static void read_event(const Herdgate__V1__Event *wire, struct hgi_msg_event *ret_event)
{
    ret_event->number = wire->number;
    ret_event->at_ms = wire->at_ms;
    ret_event->kind = read_kind((int)wire->kind);
    ret_event->name = hgi_unpack_slice(wire->name);
    ret_event->generation = wire->generation;
    hgi_codec_key_read(wire->key, &ret_event->key);
}

bool hgi_watch_reply_encode(const struct hgi_msg_events *message, struct hg_bytes *ret_bytes)
{
    Herdgate__V1__WatchReply wire = HERDGATE__V1__WATCH_REPLY__INIT;
    size_t len_before = ret_bytes->len;
    bool is_done;

    wire.epoch = message->epoch;
    wire.last = message->last;
    wire.gap = message->is_gap;
    is_done = hgi_pack(&wire.base, ret_bytes);
    for (size_t i = 0; is_done && i < message->event_count; i++) {
        is_done = pack_event(&message->events[i], ret_bytes);
    }
    return hgi_pack_end(is_done, len_before, ret_bytes);
}

enum hg_status hgi_watch_reply_decode(struct hg_slice bytes, struct hgi_arena *arena,
                                      struct hgi_msg_events *ret_message, char *ret_sentence)
{
    struct hgi_msg_event *events;
    enum hg_status status;
    const Herdgate__V1__WatchReply *wire =
        hgi_unpack(&herdgate__v1__watch_reply__descriptor, bytes, arena, &status, ret_sentence);

    if (!wire) {
        return status;
    }
    events = hgi_unpack_array(wire->n_events, sizeof(*events), arena, &status, ret_sentence);
    if (!events) {
        return status;
    }
    for (size_t i = 0; i < wire->n_events; i++) {
        read_event(wire->events[i], &events[i]);
    }
    ret_message->epoch = wire->epoch;
    ret_message->events = events;
    ret_message->event_count = wire->n_events;
    ret_message->last = wire->last;
    ret_message->is_gap = wire->gap != 0;
    return HG_OK;
}
