/* SPDX-License-Identifier: Apache-2.0 */
/* BatchGetOrLoad: many reads, one reply. Each key is a read of its own and ends by itself; whoever
 * ends last sends the reply. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "dispatch.h"
#include "proto/codec.h"
#include "service.h"

/* An answer's other fields and the framing around them take less than this beside value and
 * message. */
#define ANSWER_OVERHEAD 128u
#define REPLY_OVERHEAD  64u

struct item {
    struct hgi_call call;
    struct batch *batch;
    struct hgi_msg_answer answer; /* value and message point into `kept` */
    struct hg_bytes kept;
    unsigned char *key;
};

struct batch {
    struct hgi_rpc *rpc;
    enum hg_value_type value_type;
    size_t room_bytes; /* of the reply, for values and messages */
    _Atomic size_t used_bytes;
    _Atomic size_t open_count; /* items not yet ended, and one for the loop that begins them */
    size_t item_count;
    struct item items[];
};

static void batch_finish(struct batch *batch)
{
    struct hgi_rpc *rpc = batch->rpc;
    struct hgi_msg_answer *answers = hgi_alloc(&hgi_heap, batch->item_count * sizeof(*answers));
    bool is_encoded = false;

    if (answers) {
        const struct hgi_msg_batch_reply reply = {answers, batch->item_count};

        for (size_t i = 0; i < batch->item_count; i++) {
            answers[i] = batch->items[i].answer;
        }
        is_encoded = hgi_batch_reply_encode(&reply, &rpc->payload);
        hgi_free(&hgi_heap, answers);
    }
    for (size_t i = 0; i < batch->item_count; i++) {
        hgi_bytes_deinit(&batch->items[i].kept);
        hgi_free(&hgi_heap, batch->items[i].key);
    }
    hgi_free(&hgi_heap, batch);
    hgi_rpc_succeed(rpc, is_encoded);
}

static void batch_release(struct batch *batch)
{
    if (atomic_fetch_sub_explicit(&batch->open_count, 1, memory_order_acq_rel) == 1) {
        batch_finish(batch);
    }
}

static void item_fail(struct item *item, enum hg_status status, const char *sentence)
{
    memset(&item->answer, 0, sizeof(item->answer));
    item->answer.status = status;
    /* Without memory for the sentence the status has to do. */
    if (hgi_bytes_set(&item->kept, hg_slice_text(sentence))) {
        item->answer.message = hgi_bytes_slice(&item->kept);
    }
}

static void item_set(struct item *item, const struct hgi_answer *answer)
{
    struct batch *batch = item->batch;
    size_t bytes = answer->value.len + answer->message.len + ANSWER_OVERHEAD;
    bool is_copied;

    if (atomic_fetch_add_explicit(&batch->used_bytes, bytes, memory_order_relaxed) + bytes >
        batch->room_bytes) {
        item_fail(item, HG_RESOURCE_EXHAUSTED,
                  "no room left in the reply; ask for this key in another batch");
        return;
    }
    item->answer = hgi_service_answer(answer, batch->value_type);
    is_copied = hgi_bytes_append(&item->kept, answer->value) &&
                hgi_bytes_append(&item->kept, answer->message);
    if (!is_copied) {
        item_fail(item, HG_RESOURCE_EXHAUSTED, "no memory for this key's answer");
        return;
    }
    item->answer.value = hg_slice_of(item->kept.data, answer->value.len);
    item->answer.message = hg_slice_of(item->kept.data + answer->value.len, answer->message.len);
}

static void item_done(struct hgi_call *call, const struct hgi_answer *answer)
{
    struct item *item = HGI_CONTAINER(call, struct item, call);

    item_set(item, answer);
    batch_release(item->batch);
}

static void item_begin(struct item *item, const struct hgi_registered *registered,
                       const struct hgi_msg_batch *message, const struct hg_key *typed)
{
    struct hgi_rpc *rpc = item->batch->rpc;
    struct hgi_key key;
    enum hg_status status = hgi_key_encode(registered->key_type, typed, &key, rpc->sentence);

    if (status == HG_OK) {
        item->key = hgi_alloc(&hgi_heap, key.len);
        if (!item->key) {
            status = HG_RESOURCE_EXHAUSTED;
            snprintf(rpc->sentence, sizeof(rpc->sentence), "no memory for this key");
        }
    }
    if (status != HG_OK) {
        item_fail(item, status, rpc->sentence);
        batch_release(item->batch);
        return;
    }
    memcpy(item->key, key.data, key.len);
    item->call.key = hg_slice_of(item->key, key.len);
    item->call.mode = message->mode;
    item->call.max_age_ms = message->max_age_ms;
    item->call.timeout_ms = rpc->request.timeout_ms;
    item->call.done = item_done;
    hgi_cache_read(registered->cache, &item->call, &rpc->scratch, &rpc->now);
}

void hgi_cache_service_batch_get_or_load(struct hgi_rpc *rpc)
{
    const struct hgi_services *services = hgi_dispatch_services(rpc->dispatch);
    const struct hgi_registered *registered;
    struct hgi_msg_batch message;
    struct batch *batch;
    enum hg_status status =
        hgi_batch_request_decode(rpc->request.payload, &rpc->arena, &message, rpc->sentence);

    if (status != HG_OK) {
        hgi_rpc_fail(rpc, status, rpc->sentence);
        return;
    }
    registered = hgi_service_find(rpc, message.cache);
    if (!registered) {
        return;
    }
    batch = hgi_alloc(&hgi_heap, sizeof(*batch) + message.key_count * sizeof(batch->items[0]));
    if (!batch) {
        hgi_rpc_fail(rpc, HG_RESOURCE_EXHAUSTED, "no memory for the batch");
        return;
    }
    batch->rpc = rpc;
    batch->value_type = registered->value_type;
    batch->room_bytes = services->limits->message_max_bytes - REPLY_OVERHEAD;
    batch->item_count = message.key_count;
    atomic_init(&batch->open_count, message.key_count + 1);
    for (size_t i = 0; i < message.key_count; i++) {
        batch->items[i].batch = batch;
        hgi_bytes_init(&batch->items[i].kept, &hgi_heap);
    }
    for (size_t i = 0; i < message.key_count; i++) {
        item_begin(&batch->items[i], registered, &message, &message.keys[i]);
    }
    batch_release(batch);
}
