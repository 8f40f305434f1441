/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of herdgate.v1.Admin, and grpc.health.v1.Health/Check. */
#include <stdio.h>

#include "base/kind.h"
#include "client/call.h"
#include "client/op.h"
#include "client/reply.h"
#include "proto/codec.h"

static const struct hg_named no_name;

static const char *name_of(const void *request)
{
    return ((const struct hg_named *)request)->name;
}

static enum hg_status encode_clear(const void *request, struct hg_bytes *ret_payload,
                                   char *ret_sentence)
{
    const struct hg_clear *clear = request;
    struct hgi_msg_clear message = {.cache = hg_slice_text(clear->cache), .waits = clear->wait};

    if (clear->all == (message.cache.len > 0)) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX, "%s",
                 clear->all ? "clear either one cache or all, not both"
                            : "the request names no cache to clear");
        return HG_INVALID_ARGUMENT;
    }
    return hgi_op_encoded(hgi_clear_request_encode(&message, ret_payload), ret_sentence);
}

static enum hg_status decode_reports(struct hg_slice payload, struct hgi_arena *arena,
                                     size_t key_count, void *ret_reply, char *ret_sentence)
{
    struct hgi_msg_clear_reply message;
    enum hg_status status = hgi_clear_reply_decode(payload, arena, &message, ret_sentence);

    (void)key_count;
    return status != HG_OK
               ? status
               : hgi_op_decoded(hgi_reply_reports(&message, arena, ret_reply), ret_sentence);
}

static enum hg_status decode_caches(struct hg_slice payload, struct hgi_arena *arena,
                                    size_t key_count, void *ret_reply, char *ret_sentence)
{
    struct hgi_msg_caches message;
    enum hg_status status = hgi_list_caches_reply_decode(payload, arena, &message, ret_sentence);

    (void)key_count;
    return status != HG_OK
               ? status
               : hgi_op_decoded(hgi_reply_caches(&message, arena, ret_reply), ret_sentence);
}

static enum hg_status encode_stats(const void *request, struct hg_bytes *ret_payload,
                                   char *ret_sentence)
{
    struct hgi_msg_name message = {.name = hg_slice_text(name_of(request))};

    return hgi_op_encoded(hgi_stats_request_encode(&message, ret_payload), ret_sentence);
}

static enum hg_status decode_stats(struct hg_slice payload, struct hgi_arena *arena,
                                   size_t key_count, void *ret_reply, char *ret_sentence)
{
    struct hgi_msg_stats message;
    enum hg_status status = hgi_stats_reply_decode(payload, arena, &message, ret_sentence);

    (void)key_count;
    return status != HG_OK
               ? status
               : hgi_op_decoded(hgi_reply_stats(&message, arena, ret_reply), ret_sentence);
}

static enum hg_status decode_loaders(struct hg_slice payload, struct hgi_arena *arena,
                                     size_t key_count, void *ret_reply, char *ret_sentence)
{
    struct hgi_msg_loaders message;
    enum hg_status status = hgi_list_loaders_reply_decode(payload, arena, &message, ret_sentence);

    (void)key_count;
    return status != HG_OK
               ? status
               : hgi_op_decoded(hgi_reply_loaders(&message, arena, ret_reply), ret_sentence);
}

static enum hg_status encode_reload(const void *request, struct hg_bytes *ret_payload,
                                    char *ret_sentence)
{
    struct hgi_msg_name message = {.name = hg_slice_text(name_of(request))};

    if (message.name.len == 0) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX, "the request names no loader");
        return HG_INVALID_ARGUMENT;
    }
    return hgi_op_encoded(hgi_reload_loader_request_encode(&message, ret_payload), ret_sentence);
}

static enum hg_status decode_loader(struct hg_slice payload, struct hgi_arena *arena,
                                    size_t key_count, void *ret_reply, char *ret_sentence)
{
    struct hgi_msg_loader_info message;
    enum hg_status status = hgi_loader_info_decode(payload, arena, &message, ret_sentence);

    (void)key_count;
    if (status == HG_OK) {
        *(struct hg_loader_info *)ret_reply = hgi_reply_loader(&message);
    }
    return status;
}

static enum hg_status decode_saved(struct hg_slice payload, struct hgi_arena *arena,
                                   size_t key_count, void *ret_reply, char *ret_sentence)
{
    struct hgi_msg_saved message;
    enum hg_status status = hgi_save_snapshot_reply_decode(payload, arena, &message, ret_sentence);

    (void)key_count;
    if (status == HG_OK) {
        ((struct hg_saved *)ret_reply)->entries = message.entries;
        ((struct hg_saved *)ret_reply)->duration_ms = message.duration_ms;
    }
    return status;
}

static enum hg_status encode_health(const void *request, struct hg_bytes *ret_payload,
                                    char *ret_sentence)
{
    struct hgi_msg_name message = {.name = hg_slice_text(name_of(request))};

    return hgi_op_encoded(hgi_health_request_encode(&message, ret_payload), ret_sentence);
}

static enum hg_health health_of(enum hgi_health health)
{
    switch (health) {
    case HGI_HEALTH_UNKNOWN:
        return HG_HEALTH_UNKNOWN;
    case HGI_HEALTH_SERVING:
        return HG_HEALTH_SERVING;
    case HGI_HEALTH_NOT_SERVING:
        return HG_HEALTH_NOT_SERVING;
    case HGI_HEALTH_SERVICE_UNKNOWN:
        return HG_HEALTH_SERVICE_UNKNOWN;
    }
    return HG_HEALTH_UNKNOWN;
}

static enum hg_status decode_health(struct hg_slice payload, struct hgi_arena *arena,
                                    size_t key_count, void *ret_reply, char *ret_sentence)
{
    struct hgi_msg_health message;
    enum hg_status status = hgi_health_reply_decode(payload, arena, &message, ret_sentence);

    (void)key_count;
    if (status == HG_OK) {
        *(enum hg_health *)ret_reply = health_of(message.status);
    }
    return status;
}

HGI_OP_DELIVER(reports, struct hg_reports)
HGI_OP_DELIVER(caches, struct hg_caches)
HGI_OP_DELIVER(stats, struct hg_stats)
HGI_OP_DELIVER(loaders, struct hg_loaders)
HGI_OP_DELIVER(loader, struct hg_loader_info)
HGI_OP_DELIVER(saved, struct hg_saved)
HGI_OP_DELIVER(health, enum hg_health)

static const struct hgi_op op_clear = {.method = HGI_METHOD_CLEAR,
                                       .encode = encode_clear,
                                       .decode = decode_reports,
                                       .deliver = deliver_reports,
                                       .reply_size = sizeof(struct hg_reports),
                                       .memory_offset = offsetof(struct hg_reports, memory)};
static const struct hgi_op op_list_caches = {.method = HGI_METHOD_LIST_CACHES,
                                             .encode = hgi_op_encode_nothing,
                                             .decode = decode_caches,
                                             .deliver = deliver_caches,
                                             .reply_size = sizeof(struct hg_caches),
                                             .memory_offset = offsetof(struct hg_caches, memory)};
static const struct hgi_op op_stats = {.method = HGI_METHOD_STATS,
                                       .encode = encode_stats,
                                       .decode = decode_stats,
                                       .deliver = deliver_stats,
                                       .reply_size = sizeof(struct hg_stats),
                                       .memory_offset = offsetof(struct hg_stats, memory)};
static const struct hgi_op op_list_loaders = {.method = HGI_METHOD_LIST_LOADERS,
                                              .encode = hgi_op_encode_nothing,
                                              .decode = decode_loaders,
                                              .deliver = deliver_loaders,
                                              .reply_size = sizeof(struct hg_loaders),
                                              .memory_offset = offsetof(struct hg_loaders, memory)};
static const struct hgi_op op_reload_loader = {.method = HGI_METHOD_RELOAD_LOADER,
                                               .encode = encode_reload,
                                               .decode = decode_loader,
                                               .deliver = deliver_loader,
                                               .reply_size = sizeof(struct hg_loader_info),
                                               .memory_offset =
                                                   offsetof(struct hg_loader_info, memory)};
static const struct hgi_op op_save_snapshot = {.method = HGI_METHOD_SAVE_SNAPSHOT,
                                               .encode = hgi_op_encode_nothing,
                                               .decode = decode_saved,
                                               .deliver = deliver_saved,
                                               .reply_size = sizeof(struct hg_saved),
                                               .memory_offset = HGI_REPLY_NO_MEMORY};
static const struct hgi_op op_health = {.method = HGI_METHOD_HEALTH_CHECK,
                                        .encode = encode_health,
                                        .decode = decode_health,
                                        .deliver = deliver_health,
                                        .reply_size = sizeof(enum hg_health),
                                        .memory_offset = HGI_REPLY_NO_MEMORY};

static struct hgi_call_args named_args(const struct hg_named *request)
{
    const struct hg_named *named = request ? request : &no_name;
    struct hgi_call_args args = {
        .request = named, .timeout_ms = named->timeout_ms, .op_id = named->op_id};

    return args;
}

HGI_OP_CALLS(clear, struct hg_clear, struct hg_reports, hg_reports_fn,
             {.request = request, .timeout_ms = request->timeout_ms, .op_id = request->op_id})
HGI_OP_CALLS(list_caches, struct hg_named, struct hg_caches, hg_caches_fn, named_args(request))
HGI_OP_CALLS(stats, struct hg_named, struct hg_stats, hg_stats_fn, named_args(request))
HGI_OP_CALLS(list_loaders, struct hg_named, struct hg_loaders, hg_loaders_fn, named_args(request))
HGI_OP_CALLS(reload_loader, struct hg_named, struct hg_loader_info, hg_loader_info_fn,
             named_args(request))
HGI_OP_CALLS(save_snapshot, struct hg_named, struct hg_saved, hg_saved_fn, named_args(request))
HGI_OP_CALLS(health, struct hg_named, enum hg_health, hg_health_fn, named_args(request))
