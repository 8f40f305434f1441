/* SPDX-License-Identifier: Apache-2.0 */
/* The call of herdgate.v1.Events. */
#include "client/call.h"
#include "client/op.h"
#include "client/reply.h"
#include "proto/codec.h"

/* The server's word that nothing happened must not lose against our own clock. */
#define GRACE_MS 5000u

static enum hg_status encode_watch(const void *request, struct hg_bytes *ret_payload,
                                   char *ret_sentence)
{
    const struct hg_watch *watch = request;
    struct hgi_msg_watch message = {.after = watch->after,
                                    .epoch = watch->epoch,
                                    .max = watch->events_max,
                                    .cache = hg_slice_text(watch->cache)};

    return hgi_op_encoded(hgi_watch_request_encode(&message, ret_payload), ret_sentence);
}

static enum hg_status decode_events(struct hg_slice payload, struct hgi_arena *arena,
                                    size_t key_count, void *ret_reply, char *ret_sentence)
{
    struct hgi_msg_events message;
    enum hg_status status = hgi_watch_reply_decode(payload, arena, &message, ret_sentence);

    (void)key_count;
    return status != HG_OK
               ? status
               : hgi_op_decoded(hgi_reply_events(&message, arena, ret_reply), ret_sentence);
}

HGI_OP_DELIVER(events, struct hg_events)

static const struct hgi_op op_watch = {.method = HGI_METHOD_WATCH,
                                       .encode = encode_watch,
                                       .decode = decode_events,
                                       .deliver = deliver_events,
                                       .grace_ms = GRACE_MS,
                                       .reply_size = sizeof(struct hg_events),
                                       .memory_offset = offsetof(struct hg_events, memory)};

HGI_OP_CALLS(watch, struct hg_watch, struct hg_events, hg_events_fn,
             {.request = request, .timeout_ms = request->timeout_ms})
