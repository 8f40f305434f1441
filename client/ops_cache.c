/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of herdgate.v1.Cache. */
#include <stdio.h>

#include "base/kind.h"
#include "client/call.h"
#include "client/client.h"
#include "client/error.h"
#include "client/local.h"
#include "client/op.h"
#include "client/reply.h"
#include "proto/codec.h"

static enum hg_status check_keys(const char *cache, size_t key_count, char *ret_sentence)
{
    if (key_count == 0 || key_count > HGI_BATCH_KEYS_MAX) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX, "%zu keys in one request; it takes 1 to %u",
                 key_count, HGI_BATCH_KEYS_MAX);
        return HG_INVALID_ARGUMENT;
    }
    return hgi_op_check_cache(cache, ret_sentence);
}

static enum hg_status encode_read(const void *request, struct hg_bytes *ret_payload,
                                  char *ret_sentence)
{
    const struct hg_read *read = request;
    struct hgi_msg_get message = {.cache = hg_slice_text(read->cache),
                                  .key = read->key,
                                  .mode = read->mode,
                                  .max_age_ms =
                                      read->has_max_age ? hgi_op_signed_ms(read->max_age_ms) : -1,
                                  .min_generation = read->min_generation,
                                  .lead = read->lead};
    enum hg_status status = hgi_op_check_cache(read->cache, ret_sentence);

    return status != HG_OK
               ? status
               : hgi_op_encoded(hgi_get_request_encode(&message, ret_payload), ret_sentence);
}

static enum hg_status decode_answer(struct hg_slice payload, struct hgi_arena *arena,
                                    size_t key_count, void *ret_reply, char *ret_sentence)
{
    struct hgi_msg_answer message;
    enum hg_status status = hgi_answer_decode(payload, arena, &message, ret_sentence);

    (void)key_count;
    if (status == HG_OK) {
        *(struct hg_answer *)ret_reply = hgi_reply_answer(&message);
    }
    return status;
}

static enum hg_source source_of_error(struct hg_slice payload, struct hgi_arena *arena)
{
    char sentence[HGI_SENTENCE_MAX];
    struct hgi_msg_answer message;

    return hgi_answer_decode(payload, arena, &message, sentence) == HG_OK ? message.source
                                                                          : HG_SOURCE_NONE;
}

static enum hg_status encode_batch(const void *request, struct hg_bytes *ret_payload,
                                   char *ret_sentence)
{
    const struct hg_batch *batch = request;
    struct hgi_msg_batch message = {
        .cache = hg_slice_text(batch->cache),
        .keys = (struct hg_key *)(uintptr_t)batch->keys,
        .key_count = batch->key_count,
        .mode = batch->mode,
        .max_age_ms = batch->has_max_age ? hgi_op_signed_ms(batch->max_age_ms) : -1,
        .min_generation = batch->min_generation};
    enum hg_status status = check_keys(batch->cache, batch->key_count, ret_sentence);

    return status != HG_OK
               ? status
               : hgi_op_encoded(hgi_batch_request_encode(&message, ret_payload), ret_sentence);
}

static enum hg_status decode_answers(struct hg_slice payload, struct hgi_arena *arena,
                                     size_t key_count, void *ret_reply, char *ret_sentence)
{
    struct hgi_msg_batch_reply message;
    enum hg_status status = hgi_batch_reply_decode(payload, arena, &message, ret_sentence);

    if (status == HG_OK && message.answer_count != key_count) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX, "%zu answers to %zu keys", message.answer_count,
                 key_count);
        return HG_INTERNAL;
    }
    return status != HG_OK
               ? status
               : hgi_op_decoded(hgi_reply_answers(&message, arena, ret_reply), ret_sentence);
}

static enum hg_status check_tags(const struct hg_slice *tags, size_t tag_count, size_t max,
                                 char *ret_sentence)
{
    if (tag_count > max) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX, "%zu tags in one request; at most %zu are allowed",
                 tag_count, max);
        return HG_INVALID_ARGUMENT;
    }
    for (size_t i = 0; i < tag_count; i++) {
        if (tags[i].len == 0 || tags[i].len > HG_TAG_MAX) {
            snprintf(ret_sentence, HGI_SENTENCE_MAX, "tag %zu has %zu bytes; it must have 1 to %u",
                     i + 1, tags[i].len, HG_TAG_MAX);
            return HG_INVALID_ARGUMENT;
        }
    }
    return HG_OK;
}

static enum hg_status encode_put(const void *request, struct hg_bytes *ret_payload,
                                 char *ret_sentence)
{
    const struct hg_put *put = request;
    struct hgi_msg_put message = {.cache = hg_slice_text(put->cache),
                                  .key = put->key,
                                  .outcome = put->outcome ? put->outcome : HG_VALUE,
                                  .value = put->value,
                                  .ttl_ms = hgi_op_signed_ms(put->ttl_ms),
                                  .stale_ttl_ms = hgi_op_signed_ms(put->stale_ttl_ms),
                                  .expires_at_ms = put->expires_at_ms,
                                  .tags = put->tags,
                                  .tag_count = put->tag_count};
    enum hg_status status = hgi_op_check_cache(put->cache, ret_sentence);

    if (status == HG_OK) {
        status = check_tags(put->tags, put->tag_count, HG_TAGS_MAX, ret_sentence);
    }
    if (put->if_generation) {
        message.has_if_generation = true;
        message.if_generation.generation = put->if_generation->generation;
        message.if_generation.epoch = put->if_generation->epoch;
    }
    return status != HG_OK
               ? status
               : hgi_op_encoded(hgi_put_request_encode(&message, ret_payload), ret_sentence);
}

static enum hg_status decode_stored(struct hg_slice payload, struct hgi_arena *arena,
                                    size_t key_count, void *ret_reply, char *ret_sentence)
{
    struct hgi_msg_put_reply message;
    enum hg_status status = hgi_put_reply_decode(payload, arena, &message, ret_sentence);

    (void)key_count;
    if (status == HG_OK) {
        ((struct hg_stored *)ret_reply)->generation = message.generation;
    }
    return status;
}

static enum hg_status encode_invalidate(const void *request, struct hg_bytes *ret_payload,
                                        char *ret_sentence)
{
    const struct hg_invalidate *invalidate = request;
    struct hgi_msg_invalidate message = {.cache = hg_slice_text(invalidate->cache),
                                         .keys = (struct hg_key *)(uintptr_t)invalidate->keys,
                                         .key_count = invalidate->key_count,
                                         .tags = invalidate->tags,
                                         .tag_count = invalidate->tag_count,
                                         .prefix = invalidate->prefix,
                                         .is_soft = invalidate->soft};
    enum hg_status status =
        check_tags(invalidate->tags, invalidate->tag_count, HGI_INVALIDATE_TAGS_MAX, ret_sentence);

    if (status == HG_OK && invalidate->key_count == 0 &&
        (invalidate->tag_count || invalidate->prefix.len)) {
        status = hgi_op_check_cache(invalidate->cache, ret_sentence);
    } else if (status == HG_OK) {
        status = check_keys(invalidate->cache, invalidate->key_count, ret_sentence);
    }
    return status != HG_OK
               ? status
               : hgi_op_encoded(hgi_invalidate_request_encode(&message, ret_payload), ret_sentence);
}

static enum hg_status decode_report(struct hg_slice payload, struct hgi_arena *arena,
                                    size_t key_count, void *ret_reply, char *ret_sentence)
{
    struct hgi_msg_report message;
    enum hg_status status = hgi_report_decode(payload, arena, &message, ret_sentence);

    (void)key_count;
    if (status == HG_OK) {
        *(struct hg_report *)ret_reply = hgi_reply_report(&message);
    }
    return status;
}

static enum hg_status encode_generation(const void *request, struct hg_bytes *ret_payload,
                                        char *ret_sentence)
{
    const struct hg_generation *generation = request;
    struct hgi_msg_generation message = {.cache = hg_slice_text(generation->cache),
                                         .key = generation->key};
    enum hg_status status = hgi_op_check_cache(generation->cache, ret_sentence);

    return status != HG_OK
               ? status
               : hgi_op_encoded(hgi_generation_request_encode(&message, ret_payload), ret_sentence);
}

static enum hg_status decode_token(struct hg_slice payload, struct hgi_arena *arena,
                                   size_t key_count, void *ret_reply, char *ret_sentence)
{
    struct hgi_msg_token message;
    enum hg_status status = hgi_generation_reply_decode(payload, arena, &message, ret_sentence);

    (void)key_count;
    if (status == HG_OK) {
        ((struct hg_token *)ret_reply)->generation = message.generation;
        ((struct hg_token *)ret_reply)->epoch = message.epoch;
    }
    return status;
}

HGI_OP_DELIVER(answer, struct hg_answer)
HGI_OP_DELIVER(answers, struct hg_answers)
HGI_OP_DELIVER(stored, struct hg_stored)
HGI_OP_DELIVER(report, struct hg_report)
HGI_OP_DELIVER(token, struct hg_token)

static const struct hgi_op op_get = {.method = HGI_METHOD_GET,
                                     .encode = encode_read,
                                     .decode = decode_answer,
                                     .deliver = deliver_answer,
                                     .reply_size = sizeof(struct hg_answer),
                                     .memory_offset = offsetof(struct hg_answer, memory),
                                     .source = source_of_error};
static const struct hgi_op op_get_or_load = {.method = HGI_METHOD_GET_OR_LOAD,
                                             .encode = encode_read,
                                             .decode = decode_answer,
                                             .deliver = deliver_answer,
                                             .reply_size = sizeof(struct hg_answer),
                                             .memory_offset = offsetof(struct hg_answer, memory),
                                             .source = source_of_error};
static const struct hgi_op op_batch_get_or_load = {.method = HGI_METHOD_BATCH_GET_OR_LOAD,
                                                   .encode = encode_batch,
                                                   .decode = decode_answers,
                                                   .deliver = deliver_answers,
                                                   .reply_size = sizeof(struct hg_answers),
                                                   .memory_offset =
                                                       offsetof(struct hg_answers, memory)};
static const struct hgi_op op_put = {.method = HGI_METHOD_PUT,
                                     .encode = encode_put,
                                     .decode = decode_stored,
                                     .deliver = deliver_stored,
                                     .reply_size = sizeof(struct hg_stored),
                                     .memory_offset = HGI_REPLY_NO_MEMORY};
static const struct hgi_op op_invalidate = {.method = HGI_METHOD_INVALIDATE,
                                            .encode = encode_invalidate,
                                            .decode = decode_report,
                                            .deliver = deliver_report,
                                            .reply_size = sizeof(struct hg_report),
                                            .memory_offset = offsetof(struct hg_report, memory)};
static const struct hgi_op op_generation = {.method = HGI_METHOD_GENERATION,
                                            .encode = encode_generation,
                                            .decode = decode_token,
                                            .deliver = deliver_token,
                                            .reply_size = sizeof(struct hg_token),
                                            .memory_offset = HGI_REPLY_NO_MEMORY};

HGI_OP_READS(get, hgi_local_get, struct hg_read, struct hg_answer, hg_answer_fn,
             {.request = request, .timeout_ms = request->timeout_ms})
HGI_OP_READS(get_or_load, hgi_local_get, struct hg_read, struct hg_answer, hg_answer_fn,
             {.request = request,
              .timeout_ms = request->timeout_ms,
              .traceparent = request->traceparent})
HGI_OP_READS(batch_get_or_load, hgi_local_get_batch, struct hg_batch, struct hg_answers,
             hg_answers_fn,
             {.request = request,
              .timeout_ms = request->timeout_ms,
              .key_count = request->key_count,
              .traceparent = request->traceparent})
HGI_OP_CALLS(put, struct hg_put, struct hg_stored, hg_stored_fn,
             {.request = request, .timeout_ms = request->timeout_ms, .op_id = request->op_id})
HGI_OP_CALLS(invalidate, struct hg_invalidate, struct hg_report, hg_report_fn,
             {.request = request, .timeout_ms = request->timeout_ms, .op_id = request->op_id})
HGI_OP_CALLS(generation, struct hg_generation, struct hg_token, hg_token_fn,
             {.request = request, .timeout_ms = request->timeout_ms})

bool hg_client_get_local(struct hg_client *client, const struct hg_read *request,
                         struct hg_answer *ret_answer)
{
    return hgi_local_get(hgi_client_local(client), request, ret_answer);
}
