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
/* Kept for each key from the start, so that whatever the others take, it can be said of it that
 * nothing was left: a status, this sentence, and their framing. */
#define NO_ROOM       "no room left in the reply; ask for this key in another batch"
#define NO_ROOM_BYTES 80u

#define NO_HOLD "this connection waits for too much; ask for this key again"

#define KEPT_PER_BYTE 2u /* a buffer is at most twice what it holds */

#define RAN_OUT "the value's time ran out while other keys were waited for"

_Static_assert(sizeof(NO_ROOM) + 16 <= NO_ROOM_BYTES, "the sentence and its framing fit");
_Static_assert(sizeof(RAN_OUT) <= sizeof(NO_ROOM), "and this one");
_Static_assert(sizeof(NO_HOLD) + 16 <= NO_ROOM_BYTES, "and this one");

#define FETCH_KEYS                                                                                 \
    16u /* whose memory is fetched together: as much as a core has under way at once */

struct item {
    struct hgi_call call;
    struct batch *batch;
    bool is_read;                 /* else its key was refused */
    bool is_packed;               /* else these tell what it was answered */
    struct hgi_msg_answer answer; /* value and message point into `kept` */
    struct hg_bytes kept;
    int64_t since_ms; /* when it was answered; the reply may leave much later */
};

struct batch {
    struct hgi_rpc *rpc;
    struct hgi_cache *cache;
    const struct hgi_trace *trace;
    enum hg_value_type value_type;
    size_t room_bytes; /* of the reply, beside NO_ROOM_BYTES a key */
    _Atomic size_t used_bytes;
    _Atomic size_t open_count; /* items not yet ended, and one for the loop that begins them */
    size_t packed_count;       /* items whose answers stand in rpc->payload, in order */
    size_t item_count;
    struct item items[];
};

/* What this thread reads just now: if it ends meanwhile and here, its answer is the next in order.
 */
static _Thread_local const struct item *reading;

static uint64_t less(uint64_t left_ms, uint64_t passed_ms)
{
    return left_ms > passed_ms ? left_ms - passed_ms : 0;
}

/* The answer of then as it is now: a value must not leave after its time (I5). What was not kept in
 * the cache has no time left from the start; only its caller can judge it. */
static struct hgi_msg_answer aged(const struct hgi_msg_answer *then, int64_t since_ms,
                                  int64_t now_ms)
{
    struct hgi_msg_answer answer = *then;
    uint64_t passed_ms = now_ms > since_ms ? (uint64_t)(now_ms - since_ms) : 0;

    if (answer.status != HG_OK || answer.outcome == HG_NOT_CACHED || passed_ms == 0) {
        return answer;
    }
    if (answer.stale_left_ms && answer.stale_left_ms <= passed_ms) {
        return (struct hgi_msg_answer){
            .status = HG_UNAVAILABLE, .message = hg_slice_text(RAN_OUT), .retry_after_ms = 1};
    }
    answer.age_ms += passed_ms;
    answer.ttl_left_ms = less(answer.ttl_left_ms, passed_ms);
    answer.stale_left_ms = less(answer.stale_left_ms, passed_ms);
    return answer;
}

static bool append(const struct hgi_msg_answer *answer, struct hg_bytes *ret_bytes)
{
    struct hgi_pieces pieces;

    hgi_answer_pieces(answer, &pieces);
    return hgi_pieces_append_element(&pieces, HGI_BATCH_REPLY_ANSWERS, ret_bytes);
}

/* Packs all anew: those that were packed in the turn, which are read back, and those that ended
 * later. */
static bool repack(struct batch *batch, struct hgi_arena *arena, struct hg_bytes *ret_bytes)
{
    struct hgi_rpc *rpc = batch->rpc;
    int64_t now_ms = hgi_clock_now().boot_ms;
    struct hgi_msg_batch_reply packed;
    size_t packed_at = 0;
    bool is_done = hgi_batch_reply_decode(hgi_bytes_slice(&rpc->payload), arena, &packed,
                                          rpc->sentence) == HG_OK;

    for (size_t i = 0; is_done && i < batch->item_count; i++) {
        const struct item *item = &batch->items[i];
        const struct hgi_msg_answer *then =
            item->is_packed ? &packed.answers[packed_at++] : &item->answer;
        int64_t since_ms = item->is_packed ? rpc->now.boot_ms : item->since_ms;
        struct hgi_msg_answer answer = aged(then, since_ms, now_ms);

        is_done = append(&answer, ret_bytes);
    }
    return is_done;
}

static bool pack_late(struct batch *batch)
{
    struct hgi_rpc *rpc = batch->rpc;
    struct hgi_arena arena;
    struct hg_bytes whole;
    bool is_done;

    hgi_arena_init(&arena, hgi_arena_budget(rpc->payload.len));
    hgi_bytes_init(&whole, &hgi_heap);
    is_done = repack(batch, &arena, &whole);
    hgi_arena_deinit(&arena);
    hgi_bytes_deinit(&rpc->payload);
    rpc->payload = whole;
    for (size_t i = 0; i < batch->item_count; i++) {
        hgi_bytes_deinit(&batch->items[i].kept);
    }
    return is_done;
}

static void batch_finish(struct batch *batch)
{
    bool is_encoded = batch->packed_count == batch->item_count || pack_late(batch);

    hgi_rpc_succeed(batch->rpc, is_encoded); /* the batch goes with the call */
}

static void batch_release(struct batch *batch)
{
    if (atomic_fetch_sub_explicit(&batch->open_count, 1, memory_order_acq_rel) == 1) {
        batch_finish(batch);
    }
}

/* Takes room for what the answer carries; false: there is none, and none was taken. */
static bool take_room(struct batch *batch, size_t text_bytes)
{
    size_t bytes = text_bytes + ANSWER_OVERHEAD;

    if (atomic_fetch_add_explicit(&batch->used_bytes, bytes, memory_order_relaxed) + bytes <=
        batch->room_bytes) {
        return true;
    }
    atomic_fetch_sub_explicit(&batch->used_bytes, bytes, memory_order_relaxed);
    return false;
}

/* The sentence fits NO_ROOM_BYTES, or room has been taken for it. */
static void item_say(struct item *item, enum hg_status status, const char *sentence)
{
    memset(&item->answer, 0, sizeof(item->answer));
    item->answer.status = status;
    /* Without memory for the sentence the status has to do. */
    if (hgi_bytes_set(&item->kept, hg_slice_text(sentence))) {
        item->answer.message = hgi_bytes_slice(&item->kept);
    }
}

static void item_fail(struct item *item, enum hg_status status, const char *sentence)
{
    if (take_room(item->batch, strlen(sentence))) {
        item_say(item, status, sentence);
    } else {
        item_say(item, HG_RESOURCE_EXHAUSTED, NO_ROOM);
    }
}

/* For later: it ends after the turn, in which the others were packed. */
static void item_keep(struct item *item, const struct hgi_msg_answer *answer)
{
    bool is_copied;

    if (!take_room(item->batch, answer->value.len + answer->message.len)) {
        item_say(item, HG_RESOURCE_EXHAUSTED, NO_ROOM);
        return;
    }
    if (!hgi_rpc_try_hold(item->batch->rpc,
                          KEPT_PER_BYTE * (answer->value.len + answer->message.len))) {
        item_say(item, HG_RESOURCE_EXHAUSTED, NO_HOLD);
        return;
    }
    item->since_ms = hgi_rpc_now(item->batch->rpc).boot_ms;
    item->answer = *answer;
    is_copied = hgi_bytes_append(&item->kept, answer->value) &&
                hgi_bytes_append(&item->kept, answer->message);
    if (!is_copied) {
        item_say(item, HG_RESOURCE_EXHAUSTED, "no memory for this key's answer");
        return;
    }
    item->answer.value = hg_slice_of(item->kept.data, answer->value.len);
    item->answer.message = hg_slice_of(NULL, 0);
    if (answer->message.len) {
        item->answer.message =
            hg_slice_of(item->kept.data + answer->value.len, answer->message.len);
    }
}

/* Room has been taken for it, or it needs none. */
static void item_pack(struct item *item, const struct hgi_msg_answer *answer)
{
    if (append(answer, &item->batch->rpc->payload)) {
        item->is_packed = true;
        item->batch->packed_count++;
    } else {
        item_say(item, HG_RESOURCE_EXHAUSTED, "no memory for this key's answer");
    }
}

static void item_done(struct hgi_call *call, const struct hgi_answer *answer)
{
    struct item *item = HGI_CONTAINER(call, struct item, call);
    struct batch *batch = item->batch;
    const struct hgi_msg_answer message = hgi_service_answer(answer, batch->value_type);

    hgi_service_note(batch->rpc, batch->cache, call, answer);
    if (reading != item) {
        item_keep(item, &message);
    } else if (take_room(batch, answer->value.len + answer->message.len)) {
        item_pack(item, &message);
    } else {
        const struct hgi_msg_answer none = {.status = HG_RESOURCE_EXHAUSTED,
                                            .message = hg_slice_text(NO_ROOM)};

        item_pack(item, &none);
    }
    batch_release(batch);
}

/* Its call, but for the read; a key that is none is answered here. */
static void item_prepare(struct item *item, const struct hgi_registered *registered,
                         const struct hgi_msg_batch *message, const struct hg_key *typed)
{
    struct hgi_rpc *rpc = item->batch->rpc;
    enum hg_status status = hgi_service_prepare(rpc, registered, typed, &item->call);

    if (status != HG_OK) {
        item_fail(item, status, rpc->sentence);
        return;
    }
    item->is_read = true;
    item->call.mode = message->mode;
    item->call.max_age_ms = message->max_age_ms;
    item->call.min_generation = message->min_generation;
    item->call.timeout_ms = rpc->request.timeout_ms;
    item->call.trace = item->batch->trace;
    item->call.done = item_done;
}

/* Reads so many items. */
static void read_items(struct batch *batch, struct item *items, size_t count)
{
    struct hgi_rpc *rpc = batch->rpc;
    struct hg_slice keys[FETCH_KEYS];
    uint64_t hashes[FETCH_KEYS];

    for (size_t i = 0; i < count; i++) {
        keys[i] = items[i].is_read ? items[i].call.key : hg_slice_of("", 0);
    }
    hgi_cache_fetch(batch->cache, keys, count, hashes);
    for (size_t i = 0; i < count; i++) {
        if (items[i].is_read) {
            items[i].call.hash = hashes[i];
            reading = &items[i];
            hgi_cache_read(batch->cache, &items[i].call, &rpc->scratch, &rpc->now);
            reading = NULL;
        } else {
            item_pack(&items[i], &items[i].answer);
            batch_release(batch);
        }
    }
}

static void batch_leave(struct hgi_rpc *rpc)
{
    struct batch *batch = rpc->owned;
    struct hgi_now now = hgi_clock_now();

    for (size_t i = 0; i < batch->item_count; i++) {
        hgi_cache_leave(batch->cache, &batch->items[i].call, &now);
    }
}

static void batch_begin(struct batch *batch, const struct hgi_registered *registered,
                        const struct hgi_msg_batch *message)
{
    const struct hgi_executor *held;

    for (size_t i = 0; i < message->key_count; i++) {
        item_prepare(&batch->items[i], registered, message, &message->keys[i]);
    }
    hgi_rpc_hold_arena(batch->rpc);
    held = hgi_cache_hold_loads(registered->cache);
    for (size_t i = 0; i < message->key_count; i += FETCH_KEYS) {
        size_t left = message->key_count - i;

        read_items(batch, &batch->items[i], left < FETCH_KEYS ? left : FETCH_KEYS);
    }
    hgi_cache_release_loads(held);
    batch_release(batch);
}

/* NULL: the call is finished. */
static struct batch *batch_create(struct hgi_rpc *rpc, const struct hgi_registered *registered,
                                  size_t key_count)
{
    size_t reply_max = hgi_dispatch_services(rpc->dispatch)->limits->message_max_bytes;
    size_t said_bytes = REPLY_OVERHEAD + key_count * NO_ROOM_BYTES;
    struct batch *batch;

    if (said_bytes > reply_max) {
        snprintf(rpc->sentence, sizeof(rpc->sentence),
                 "a reply of at most %zu bytes may not hold %zu answers; ask for fewer keys",
                 reply_max, key_count);
        hgi_rpc_fail(rpc, HG_RESOURCE_EXHAUSTED, rpc->sentence);
        return NULL;
    }
    batch = hgi_alloc(&hgi_heap, sizeof(*batch) + key_count * sizeof(batch->items[0]));
    if (!batch) {
        hgi_rpc_fail(rpc, HG_RESOURCE_EXHAUSTED, "no memory for the batch");
        return NULL;
    }
    rpc->owned = batch;
    hgi_rpc_hold(rpc, sizeof(*batch) + key_count * sizeof(batch->items[0]));
    batch->trace = hgi_service_trace(rpc);
    rpc->leave = batch_leave;
    batch->rpc = rpc;
    batch->cache = registered->cache;
    batch->value_type = registered->value_type;
    batch->room_bytes = reply_max - said_bytes;
    batch->item_count = key_count;
    atomic_init(&batch->open_count, key_count + 1);
    for (size_t i = 0; i < key_count; i++) {
        batch->items[i].batch = batch;
        hgi_bytes_init(&batch->items[i].kept, &hgi_heap);
    }
    return batch;
}

void hgi_cache_service_batch_get_or_load(struct hgi_rpc *rpc)
{
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
    batch = batch_create(rpc, registered, message.key_count);
    if (!batch) {
        return;
    }
    batch_begin(batch, registered, &message);
}
