/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of herdgate.v1.Admin about the server as a whole. */
#include "codec_part.h"

#define RELOAD_REPLY_CHANGED 1u
#define RELOAD_REPLY_RESTART 2u

static bool pack_names(uint32_t field, const struct hg_slice *names, size_t count,
                       struct hg_bytes *ret_bytes)
{
    bool is_done = true;

    for (size_t i = 0; is_done && i < count; i++) {
        is_done = hgi_pack_bytes(field, names[i], ret_bytes);
    }
    return is_done;
}

bool hgi_reload_reply_encode(const struct hgi_msg_reloaded *message, struct hg_bytes *ret_bytes)
{
    size_t len_before = ret_bytes->len;
    bool is_done =
        pack_names(RELOAD_REPLY_CHANGED, message->changed, message->changed_count, ret_bytes) &&
        pack_names(RELOAD_REPLY_RESTART, message->restart, message->restart_count, ret_bytes);

    return hgi_pack_end(is_done, len_before, ret_bytes);
}

/* NULL: no memory, or past the budget. */
static const struct hg_slice *read_names(const ProtobufCBinaryData *wire, size_t count,
                                         struct hgi_arena *arena, enum hg_status *ret_status,
                                         char *ret_sentence)
{
    struct hg_slice *names =
        hgi_unpack_array(count, sizeof(*names), arena, ret_status, ret_sentence);

    for (size_t i = 0; names && i < count; i++) {
        names[i] = hgi_unpack_slice(wire[i]);
    }
    return names;
}

enum hg_status hgi_reload_reply_decode(struct hg_slice bytes, struct hgi_arena *arena,
                                       struct hgi_msg_reloaded *ret_message, char *ret_sentence)
{
    const struct hg_slice *changed;
    const struct hg_slice *restart;
    enum hg_status status;
    const Herdgate__V1__ReloadReply *wire =
        hgi_unpack(&herdgate__v1__reload_reply__descriptor, bytes, arena, &status, ret_sentence);

    if (!wire) {
        return status;
    }
    changed = read_names(wire->changed, wire->n_changed, arena, &status, ret_sentence);
    restart =
        changed ? read_names(wire->restart, wire->n_restart, arena, &status, ret_sentence) : NULL;
    if (!restart) {
        return status;
    }
    *ret_message = (struct hgi_msg_reloaded){changed, wire->n_changed, restart, wire->n_restart};
    return HG_OK;
}

bool hgi_drain_request_encode(const struct hgi_msg_drain *message, struct hg_bytes *ret_bytes)
{
    Herdgate__V1__DrainRequest wire = HERDGATE__V1__DRAIN_REQUEST__INIT;

    wire.off = message->off;
    return hgi_pack(&wire.base, ret_bytes);
}

enum hg_status hgi_drain_request_decode(struct hg_slice bytes, struct hgi_arena *arena,
                                        struct hgi_msg_drain *ret_message, char *ret_sentence)
{
    enum hg_status status;
    const Herdgate__V1__DrainRequest *wire =
        hgi_unpack(&herdgate__v1__drain_request__descriptor, bytes, arena, &status, ret_sentence);

    if (!wire) {
        return status;
    }
    ret_message->off = wire->off;
    return HG_OK;
}

bool hgi_drain_reply_encode(const struct hgi_msg_drained *message, struct hg_bytes *ret_bytes)
{
    Herdgate__V1__DrainReply wire = HERDGATE__V1__DRAIN_REPLY__INIT;

    wire.connections = message->connections;
    wire.waiting = message->waiting;
    return hgi_pack(&wire.base, ret_bytes);
}

enum hg_status hgi_drain_reply_decode(struct hg_slice bytes, struct hgi_arena *arena,
                                      struct hgi_msg_drained *ret_message, char *ret_sentence)
{
    enum hg_status status;
    const Herdgate__V1__DrainReply *wire =
        hgi_unpack(&herdgate__v1__drain_reply__descriptor, bytes, arena, &status, ret_sentence);

    if (!wire) {
        return status;
    }
    ret_message->connections = wire->connections;
    ret_message->waiting = wire->waiting;
    return HG_OK;
}
