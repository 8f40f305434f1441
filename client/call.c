/* SPDX-License-Identifier: Apache-2.0 */
#include "call.h"

#include "base/check.h"
#include "base/hash.h"
#include "base/kind.h"
#include "base/trace.h"
#include "client/client.h"
#include "client/error.h"
#include "client/local.h"
#include "client/reply.h"
#include "proto/codec.h"

/* The envelope, the message in it, and the reply made of that. */
#define BUDGETS_PER_REPLY 3u
/* The server is told to answer a little before the caller's time is up, so that what it has by then
 * (in a batch: the keys that are done) still arrives. */
#define ANSWER_EARLY_PART   10u
#define ANSWER_EARLY_MAX_MS 50u

_Static_assert(HG_OP_ID_LEN == HGI_OP_ID_LEN, "one length of op ids");

struct hg_memory *hgi_memory_create(size_t budget_bytes)
{
    struct hg_memory *memory = hgi_alloc(&hgi_heap, sizeof(*memory));

    if (memory) {
        hgi_arena_init(&memory->arena, budget_bytes);
        hgi_bytes_init(&memory->value, &hgi_heap);
    }
    return memory;
}

void hgi_memory_destroy(struct hg_memory **memory)
{
    if (*memory) {
        hgi_arena_deinit(&(*memory)->arena);
        hgi_bytes_deinit(&(*memory)->value);
        hgi_free(&hgi_heap, *memory);
        *memory = NULL;
    }
}

/* ---- requests ---- */

static uint32_t server_timeout_ms(const struct hgi_op *op, uint32_t timeout_ms)
{
    uint32_t early_ms = timeout_ms / ANSWER_EARLY_PART;

    if (op->grace_ms) {
        return timeout_ms;
    }
    return timeout_ms - (early_ms > ANSWER_EARLY_MAX_MS ? ANSWER_EARLY_MAX_MS : early_ms);
}

static enum hg_status wrap(struct hg_client *client, const struct hgi_op *op,
                           const struct hgi_call_args *args, uint32_t timeout_ms,
                           struct hg_slice payload, struct hg_bytes *ret_body,
                           struct hg_error *error)
{
    char news[HGI_LOCAL_NEWS_TEXT_MAX];
    unsigned char op_id[HG_OP_ID_LEN];
    struct hgi_request request = {
        .method = op->method, .timeout_ms = server_timeout_ms(op, timeout_ms), .payload = payload};

    request.metadata[0].name = hg_slice_text("authorization");
    request.metadata[0].value = hgi_client_bearer(client);
    request.metadata_count = request.metadata[0].value.len > 0;
    if (args->traceparent) {
        request.metadata[request.metadata_count++] =
            (struct hgi_metadata){hg_slice_text(HGI_TRACEPARENT), hg_slice_text(args->traceparent)};
    }
    if (hgi_method_info(op->method)->mutates) {
        if (args->op_id) {
            memcpy(op_id, args->op_id, sizeof(op_id));
        } else {
            hgi_random(op_id, sizeof(op_id));
        }
        request.op_id = hg_slice_of(op_id, sizeof(op_id));
    }
    request.metadata_count += hgi_local_take_news(hgi_client_local(client),
                                                  request.metadata + request.metadata_count, news);
    if (!hgi_request_encode(&request, ret_body)) {
        return hgi_error_set(error, HG_RESOURCE_EXHAUSTED, "no memory left");
    }
    if (ret_body->len > hgi_client_message_max(client)) {
        return hgi_error_set(error, HG_INVALID_ARGUMENT,
                             "the request is a message of %zu bytes; at most %zu are allowed",
                             ret_body->len, hgi_client_message_max(client));
    }
    return HG_OK;
}

static enum hg_status encode(struct hg_client *client, const struct hgi_op *op,
                             const struct hgi_call_args *args, uint32_t timeout_ms,
                             struct hg_bytes *ret_body, struct hg_error *error)
{
    char sentence[HGI_SENTENCE_MAX];
    struct hg_bytes payload;
    enum hg_status status;

    hgi_bytes_init(&payload, &hgi_heap);
    status = op->encode(args->request, &payload, sentence);
    if (status == HG_OK) {
        status = wrap(client, op, args, timeout_ms, hgi_bytes_slice(&payload), ret_body, error);
    } else {
        (void)hgi_error_set(error, status, "%s", sentence);
    }
    hgi_bytes_deinit(&payload);
    return status;
}

/* ---- replies ---- */

static void set_message(const struct hgi_reply *reply, struct hg_error *error)
{
    size_t len = reply->message.len < HG_ERROR_TEXT_MAX ? reply->message.len : HG_ERROR_TEXT_MAX;

    (void)hgi_error_set(error, reply->status, "%.*s", (int)len,
                        len ? (const char *)reply->message.data : "");
}

static enum hg_status refused(const struct hgi_op *op, const struct hgi_reply *reply,
                              struct hgi_arena *arena, struct hg_error *error)
{
    if (reply->message.len > 0) {
        set_message(reply, error);
    } else {
        (void)hgi_error_set(error, reply->status, "the server gave no reason");
    }
    error->retry_after_ms = reply->retry_after_ms;
    if (op->source && reply->payload.len) {
        error->source = op->source(reply->payload, arena);
    }
    return error->status;
}

static enum hg_status decode(const struct hgi_op *op, size_t key_count, struct hg_slice body,
                             struct hgi_arena *arena, void *ret_reply, struct hg_error *error)
{
    char sentence[HGI_SENTENCE_MAX];
    struct hgi_reply reply;

    if (hgi_reply_decode(body, arena, &reply) != HG_OK) {
        return hgi_error_set(error, HG_INTERNAL, "the server's reply is not a valid one");
    }
    if (reply.status != HG_OK) {
        return refused(op, &reply, arena, error);
    }
    if (op->decode(reply.payload, arena, key_count, ret_reply, sentence) != HG_OK) {
        return hgi_error_set(error, HG_INTERNAL, "the server's reply: %s", sentence);
    }
    set_message(&reply, error); /* a remark, of health */
    return HG_OK;
}

/* On HG_OK *ret_reply owns what it points at. */
static enum hg_status read_reply(const struct hgi_op *op, size_t key_count, struct hg_slice body,
                                 void *ret_reply, struct hg_error *error)
{
    struct hg_memory *memory = hgi_memory_create(BUDGETS_PER_REPLY * hgi_arena_budget(body.len));
    union hgi_any_reply reply;
    enum hg_status status;

    if (!memory) {
        return hgi_error_set(error, HG_RESOURCE_EXHAUSTED, "no memory left");
    }
    HGI_BUG_ON(op->reply_size > sizeof(reply));
    memset(&reply, 0, sizeof(reply));
    status = decode(op, key_count, body, &memory->arena, &reply, error);
    if (status == HG_OK) {
        if (op->memory_offset != HGI_REPLY_NO_MEMORY) {
            memcpy((char *)&reply + op->memory_offset, &memory, sizeof(struct hg_memory *));
            memory = NULL;
        }
        memcpy(ret_reply, &reply, op->reply_size);
    }
    hgi_memory_destroy(&memory);
    return status;
}

/* ---- calls that wait ---- */

struct waiting_call {
    struct hgi_call call;
    struct hg_client *client;
    const struct hgi_op *op;
    size_t key_count;
    struct hgi_cond cond;
    bool is_done; /* guarded by the client's lock */
    void *ret_reply;
    struct hg_error error;
};

static void waiting_end(struct hgi_call *call, const struct hg_error *error, struct hg_slice reply)
{
    struct waiting_call *waiting = HGI_CONTAINER(call, struct waiting_call, call);

    if (error) {
        waiting->error = *error;
    } else {
        (void)read_reply(waiting->op, waiting->key_count, reply, waiting->ret_reply,
                         &waiting->error);
    }
    hgi_client_wake(waiting->client, &waiting->cond, &waiting->is_done);
}

enum hg_status hgi_call_wait(struct hg_client *client, const struct hgi_op *op,
                             const struct hgi_call_args *args, void *ret_reply,
                             struct hg_error *ret_error)
{
    uint32_t timeout_ms = hgi_client_timeout_ms(client, args->timeout_ms);
    struct waiting_call waiting = {.client = client,
                                   .op = op,
                                   .key_count = args->key_count,
                                   .ret_reply = ret_reply,
                                   .call = {.mutates = hgi_method_info(op->method)->mutates,
                                            .ends_waits = op->ends_waits,
                                            .end = waiting_end}};
    struct hg_bytes body;
    enum hg_status status;

    if (hgi_calls_is_ending()) {
        return hgi_error_set(ret_error, HG_FAILED_PRECONDITION,
                             "a callback must not wait for a call; begin one with _async");
    }
    hgi_client_enter(client);
    hgi_cond_init(&waiting.cond);
    hgi_bytes_init(&body, &hgi_heap);
    status = encode(client, op, args, timeout_ms, &body, &waiting.error);
    if (status == HG_OK) {
        status = hgi_client_submit(client, &waiting.call, &body, timeout_ms + op->grace_ms,
                                   &waiting.error);
    }
    if (status == HG_OK) {
        hgi_client_wait(client, &waiting.cond, &waiting.is_done);
        status = waiting.error.status;
    }
    if (ret_error) {
        *ret_error = waiting.error;
    }
    hgi_bytes_deinit(&body);
    hgi_cond_deinit(&waiting.cond);
    hgi_client_leave(client);
    return status;
}

/* ---- calls answered by a callback ---- */

struct background_call {
    struct hgi_call call;
    const struct hgi_op *op;
    size_t key_count;
    void (*done)(void);
    void *arg;
};

static void background_end(struct hgi_call *call, const struct hg_error *error,
                           struct hg_slice body)
{
    struct background_call *background = HGI_CONTAINER(call, struct background_call, call);
    const struct hgi_op *op = background->op;
    union hgi_any_reply reply;
    struct hg_error own;

    if (error) {
        own = *error;
    } else {
        (void)read_reply(op, background->key_count, body, &reply, &own);
    }
    op->deliver(background->done, background->arg, &own, own.status == HG_OK ? &reply : NULL);
    if (own.status == HG_OK && op->memory_offset != HGI_REPLY_NO_MEMORY) {
        struct hg_memory *memory;

        memcpy(&memory, (char *)&reply + op->memory_offset, sizeof(struct hg_memory *));
        hgi_memory_destroy(&memory);
    }
    hgi_free(&hgi_heap, background);
}

enum hg_status hgi_call_begin(struct hg_client *client, const struct hgi_op *op,
                              const struct hgi_call_args *args, void (*done)(void), void *arg,
                              struct hg_error *ret_error)
{
    uint32_t timeout_ms = hgi_client_timeout_ms(client, args->timeout_ms);
    struct background_call *background = hgi_alloc(&hgi_heap, sizeof(*background));
    struct hg_bytes body;
    struct hg_error error;
    enum hg_status status;

    if (!background) {
        return hgi_error_set(ret_error, HG_RESOURCE_EXHAUSTED, "no memory left");
    }
    background->call.mutates = hgi_method_info(op->method)->mutates;
    background->call.ends_waits = op->ends_waits;
    background->call.end = background_end;
    background->op = op;
    background->key_count = args->key_count;
    background->done = done;
    background->arg = arg;
    hgi_client_enter(client);
    hgi_bytes_init(&body, &hgi_heap);
    status = encode(client, op, args, timeout_ms, &body, &error);
    if (status == HG_OK) {
        status =
            hgi_client_submit(client, &background->call, &body, timeout_ms + op->grace_ms, &error);
    }
    if (status != HG_OK) {
        hgi_free(&hgi_heap, background);
        if (ret_error) {
            *ret_error = error;
        }
    }
    hgi_bytes_deinit(&body);
    hgi_client_leave(client);
    return status;
}
