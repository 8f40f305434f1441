/* SPDX-License-Identifier: Apache-2.0 */
#include "service.h"

#include <stdio.h>
#include <string.h>

#include "recent.h"
#include "rights.h"
#include "server/cache/inspect.h"

bool hgi_service_may(struct hgi_rpc *rpc, struct hg_slice cache)
{
    bool may = hgi_rights_cover(rpc, cache, hgi_method_info(rpc->request.method)->verb);

    if (!may) {
        hgi_rpc_fail(rpc, HG_PERMISSION_DENIED, HGI_RIGHTS_REFUSED);
    }
    return may;
}

const struct hgi_registered *hgi_service_find(struct hgi_rpc *rpc, struct hg_slice cache)
{
    const struct hgi_services *services = hgi_dispatch_services(rpc->dispatch);
    const struct hgi_registered *registered;

    if (!hgi_service_may(rpc, cache)) {
        return NULL;
    }
    registered = hgi_registry_find(services->registry, cache);
    if (!registered) {
        snprintf(rpc->sentence, sizeof(rpc->sentence), "no cache is named \"%.*s\"",
                 (int)(cache.len < 100 ? cache.len : 100),
                 cache.len ? (const char *)cache.data : "");
        hgi_text_flatten(rpc->sentence);
        hgi_rpc_fail(rpc, HG_NOT_FOUND, rpc->sentence);
    }
    return registered;
}

const struct hgi_registered *hgi_service_find_keyed(struct hgi_rpc *rpc, struct hg_slice cache,
                                                    const struct hg_key *typed,
                                                    struct hgi_key *ret_key)
{
    const struct hgi_registered *registered = hgi_service_find(rpc, cache);
    enum hg_status status;

    if (!registered) {
        return NULL;
    }
    status = hgi_registered_key(registered, typed, ret_key, NULL, rpc->sentence);
    if (status != HG_OK) {
        hgi_rpc_fail(rpc, status, rpc->sentence);
        return NULL;
    }
    return registered;
}

bool hgi_service_keep_key(struct hgi_rpc *rpc, const struct hgi_key *key, struct hg_slice *ret_key)
{
    unsigned char *copy = hgi_arena_alloc(&rpc->arena, key->len);

    if (!copy) {
        return false;
    }
    memcpy(copy, key->data, key->len);
    *ret_key = hg_slice_of(copy, key->len);
    return true;
}

enum hg_status hgi_service_prepare(struct hgi_rpc *rpc, const struct hgi_registered *registered,
                                   const struct hg_key *typed, struct hgi_call *call)
{
    struct hgi_key load_key;
    struct hgi_key key;
    bool is_kept;
    enum hg_status status = hgi_registered_key(registered, typed, &key, &load_key, rpc->sentence);

    if (status != HG_OK) {
        return status;
    }
    is_kept = hgi_service_keep_key(rpc, &key, &call->key);
    if (load_key.len) {
        is_kept = is_kept && hgi_service_keep_key(rpc, &load_key, &call->load_key);
        explicit_bzero(load_key.data, load_key.len);
    }
    if (!is_kept) {
        snprintf(rpc->sentence, sizeof(rpc->sentence), "no memory for this key");
    }
    return is_kept ? HG_OK : HG_RESOURCE_EXHAUSTED;
}

const struct hgi_trace *hgi_service_trace(struct hgi_rpc *rpc)
{
    struct hgi_trace trace;
    struct hgi_trace *copy;

    for (size_t i = 0; i < rpc->request.metadata_count; i++) {
        const struct hgi_metadata *metadata = &rpc->request.metadata[i];

        if (hgi_slice_equal(metadata->name, hg_slice_text(HGI_TRACEPARENT)) &&
            hgi_trace_read(metadata->value, &trace)) {
            copy = hgi_arena_alloc(&rpc->arena, sizeof(*copy));
            if (copy) { /* else the load is of no trace, and otherwise as good */
                *copy = trace;
            }
            return copy;
        }
    }
    return NULL;
}

static uint64_t not_negative(int64_t ms)
{
    return ms > 0 ? (uint64_t)ms : 0;
}

struct hgi_msg_answer hgi_service_answer(const struct hgi_answer *answer,
                                         enum hg_value_type value_type)
{
    struct hgi_msg_answer message = {
        .status = answer->status,
        .message = answer->message,
        .retry_after_ms = answer->retry_after_ms,
        .outcome = answer->outcome,
        .source = answer->source,
        .value = answer->value,
        .is_fenced = answer->is_fenced,
        .generation = answer->generation,
        .age_ms = not_negative(answer->age_ms),
        .ttl_left_ms = not_negative(answer->ttl_left_ms),
        .stale_left_ms = not_negative(answer->stale_left_ms),
        .lease_id = answer->lease_id,
        .lease_ttl_ms = not_negative(answer->lease_ttl_ms),
    };

    /* Who is to load is told what would be right. */
    if (answer->value.len || answer->outcome == HG_VALUE || answer->lease_id) {
        message.value_type = value_type;
    }
    return message;
}

void hgi_service_note(struct hgi_rpc *rpc, const struct hgi_cache *cache,
                      const struct hgi_call *call, const struct hgi_answer *answer)
{
    const struct hgi_past past = {
        .cache = cache,
        .digest = call->digest,
        .at_ms = hgi_rpc_now(rpc).wall_ms,
        .status = answer->status,
        .outcome = answer->outcome,
        .source = answer->source,
        .is_fenced = answer->is_fenced,
        .generation = answer->generation,
        .age_ms = answer->age_ms,
    };

    hgi_recent_note(hgi_dispatch_recent(rpc->dispatch), &past);
}

struct hgi_msg_report hgi_service_report(const struct hgi_cache *cache,
                                         const struct hgi_report *report)
{
    struct hgi_msg_report message = {
        .cache = hg_slice_text(hgi_cache_name(cache)),
        .generation = report->generation,
        .dropped = report->dropped,
        .fenced = report->fenced,
        .released = report->released,
    };

    return message;
}

void hgi_service_finish_cleared(struct hgi_rpc *rpc, enum hg_status status, const char *sentence)
{
    if (status == HG_OK) {
        hgi_rpc_finish(rpc, HG_OK, hg_slice_of(NULL, 0), 0);
        return;
    }
    snprintf(rpc->sentence, sizeof(rpc->sentence), "cleared, not durable: %.200s", sentence);
    hgi_rpc_finish(rpc, HG_UNAVAILABLE, hg_slice_text(rpc->sentence), 0);
}
