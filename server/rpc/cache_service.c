/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/check.h"
#include "dispatch.h"
#include "durable.h"
#include "proto/codec.h"
#include "proto/value.h"
#include "rights.h"
#include "server/cache/tagging.h"
#include "service.h"

/* ---- Get, GetOrLoad ---- */

struct read {
    struct hgi_call call;
    struct hgi_rpc *rpc;
    struct hgi_cache *cache;
    enum hg_value_type value_type;
};

/* A lease, if there is one, that nobody will hear of. */
static void give_back(struct read *read, uint64_t lease_id)
{
    struct hgi_now now = hgi_clock_now();
    char sentence[HGI_MESSAGE_MAX];
    bool is_released =
        hgi_cache_release(read->cache, lease_id, read->call.holder, &now, sentence) == HG_OK;

    (void)is_released; /* else it has ended meanwhile */
}

static void read_done(struct hgi_call *call, const struct hgi_answer *answer)
{
    struct read *read = HGI_CONTAINER(call, struct read, call);
    struct hgi_rpc *rpc = read->rpc;
    struct hgi_msg_answer message = hgi_service_answer(answer, read->value_type);
    struct hgi_pieces pieces;

    hgi_service_note(rpc, read->cache, call, answer);
    /* The envelope carries status, message and retry hint; the answer inside says whose load
     * failed. */
    message.status = HG_OK;
    message.message = hg_slice_of(NULL, 0);
    message.retry_after_ms = 0;
    message.lease_epoch = answer->lease_id ? hgi_dispatch_services(rpc->dispatch)->epoch : 0;
    if (atomic_load(&rpc->is_gone)) {
        give_back(read, answer->lease_id);
    }
    hgi_answer_pieces(&message, &pieces);
    hgi_rpc_finish_read(rpc, answer, &pieces);
}

static void read_leave(struct hgi_rpc *rpc)
{
    struct read *read = rpc->reading;
    struct hgi_now now = hgi_clock_now();

    hgi_cache_leave(read->cache, &read->call, &now);
}

static void read_one(struct hgi_rpc *rpc, bool is_peek)
{
    const struct hgi_registered *registered;
    struct hgi_msg_get message;
    struct read *read;
    enum hg_status status =
        hgi_get_request_decode(rpc->request.payload, &rpc->arena, &message, rpc->sentence);

    if (status != HG_OK) {
        hgi_rpc_fail(rpc, status, rpc->sentence);
        return;
    }
    if (message.lead && !is_peek && !hgi_rights_cover(rpc, message.cache, HGI_VERB_WRITE)) {
        hgi_rpc_fail(
            rpc, HG_PERMISSION_DENIED,
            rpc->bearer.principal
                ? HGI_RIGHTS_REFUSED
                : "this listener is for reading only; to lead, and so to fill the cache, needs an "
                  "owner socket");
        return;
    }
    registered = hgi_service_find(rpc, message.cache);
    if (!registered) {
        return;
    }
    read = hgi_arena_alloc(&rpc->arena, sizeof(*read));
    if (!read) {
        hgi_rpc_fail(rpc, HG_RESOURCE_EXHAUSTED, "the request is too large to be worked on");
        return;
    }
    status = hgi_service_prepare(rpc, registered, &message.key, &read->call);
    if (status != HG_OK) {
        hgi_rpc_fail(rpc, status, rpc->sentence);
        return;
    }
    rpc->reading = read;
    rpc->leave = read_leave;
    read->rpc = rpc;
    read->cache = registered->cache;
    read->value_type = registered->value_type;
    read->call.mode = is_peek ? HG_MODE_PEEK : message.mode;
    read->call.max_age_ms = message.max_age_ms;
    read->call.min_generation = message.min_generation;
    read->call.lead = message.lead && !is_peek;
    read->call.holder = rpc->asker->id;
    read->call.timeout_ms = rpc->request.timeout_ms;
    read->call.trace = is_peek ? NULL : hgi_service_trace(rpc);
    read->call.done = read_done;
    hgi_rpc_hold_arena(rpc);
    hgi_cache_read(registered->cache, &read->call, &rpc->scratch, &rpc->now);
}

void hgi_cache_service_get(struct hgi_rpc *rpc)
{
    read_one(rpc, true);
}

void hgi_cache_service_get_or_load(struct hgi_rpc *rpc)
{
    read_one(rpc, false);
}

/* ---- Put ---- */

static void put_stored(void *context, const struct hgi_saved *saved)
{
    struct hgi_rpc *rpc = context;

    if (saved->status == HG_OK) {
        hgi_rpc_finish(rpc, HG_OK, hg_slice_of(NULL, 0), 0);
    } else {
        snprintf(rpc->sentence, sizeof(rpc->sentence), "put, not durable: %.200s", saved->sentence);
        hgi_rpc_finish(rpc, HG_UNAVAILABLE, hg_slice_text(rpc->sentence), 0);
    }
}

static void refused_stored(void *context, const struct hgi_saved *saved)
{
    struct hgi_rpc *rpc = context;

    if (saved->status == HG_OK) {
        hgi_rpc_fail(rpc, HG_RESOURCE_EXHAUSTED, rpc->sentence);
    } else {
        hgi_service_finish_cleared(rpc, saved->status, saved->sentence);
    }
}

/* A value that found no room took the one before it along; on disk, too. As a put it is an
 * invalidation all the same, and whoever watches may hold what is gone. */
static void forget_replaced(struct hgi_rpc *rpc, struct hgi_cache *cache, const struct hgi_key *key,
                            bool is_news)
{
    const struct hg_slice slice = hgi_key_slice(key);
    const struct hgi_cover cover = {.keys = &slice, .key_count = 1};
    uint64_t generation = hgi_cache_generation(cache);

    if (is_news) {
        hgi_service_tell(rpc, HG_EVENT_INVALIDATE, hgi_cache_name(cache), generation, &slice, 1);
    }
    hgi_rpc_bound(rpc, HGI_SERVICE_CLEARED_LATE);
    hgi_durable_forget(hgi_dispatch_services(rpc->dispatch)->snapshotter, cache, &cover, generation,
                       refused_stored, rpc);
}

static void put(struct hgi_rpc *rpc, const struct hgi_registered *registered,
                const struct hgi_msg_put *message, const struct hgi_key *key)
{
    const struct hgi_services *services = hgi_dispatch_services(rpc->dispatch);
    struct hgi_put what = {
        .key = hgi_key_slice(key),
        .outcome = message->outcome,
        .value = message->value,
        .lifetime = {.ttl_ms = message->ttl_ms,
                     .stale_ttl_ms = message->stale_ttl_ms,
                     .expires_at_ms = message->expires_at_ms,
                     .tags = message->tags,
                     .tag_count = message->tag_count},
        .has_if_generation = message->has_if_generation,
        .if_generation = message->if_generation.generation,
    };
    struct hgi_msg_put_reply reply;
    struct hgi_value_user user;
    struct hgi_entry entry;
    enum hg_status status =
        hgi_value_check(registered->value_type, message->value, services->limits->value_max_bytes,
                        &what.outcome, &what.lifetime.expires_at_ms, &user, rpc->sentence);

    what.lifetime.user = hg_slice_of(user.bytes, status == HG_OK ? user.len : 0);
    if (status == HG_OK && message->has_if_generation &&
        message->if_generation.epoch != services->epoch) {
        snprintf(rpc->sentence, sizeof(rpc->sentence),
                 "if_generation was given out before the server was restarted");
        status = HG_ABORTED;
    }
    if (status == HG_OK) {
        status = hgi_cache_put(registered->cache, &what, &rpc->now, &entry, rpc->sentence);
        if (status == HG_RESOURCE_EXHAUSTED) {
            forget_replaced(rpc, registered->cache, key, !message->has_if_generation);
            return;
        }
    }
    if (status != HG_OK) {
        hgi_rpc_fail(rpc, status, rpc->sentence);
        return;
    }
    /* With a token it is a load's value that came from outside: no news to who watches. */
    if (!message->has_if_generation) {
        hgi_service_tell(rpc, HG_EVENT_PUT, hgi_cache_name(registered->cache), entry.born,
                         &what.key, 1);
    }
    reply.generation = entry.born;
    if (!hgi_put_reply_encode(&reply, &rpc->payload)) {
        rpc->payload.len = 0; /* put all the same: the reply says so without the number */
    }
    /* What a put says of a credential must survive a crash like a clear does (semantics 8). */
    if (registered->value_type == HG_TYPE_AUTH) {
        struct hgi_tagging tagging;

        hgi_tagging_init(&tagging, hgi_cache_veil(registered->cache), what.key, &what.lifetime);
        entry.tags = tagging.names;
        entry.tag_count = tagging.count;
        hgi_rpc_bound(rpc, "put, but not on disk when the call's time was up");
        hgi_durable_put(services->snapshotter, registered->cache, &entry, put_stored, rpc);
    } else {
        hgi_rpc_finish(rpc, HG_OK, hg_slice_of(NULL, 0), 0);
    }
}

void hgi_cache_service_put(struct hgi_rpc *rpc)
{
    const struct hgi_registered *registered;
    struct hgi_msg_put message;
    struct hgi_key key;
    enum hg_status status =
        hgi_put_request_decode(rpc->request.payload, &rpc->arena, &message, rpc->sentence);

    if (status != HG_OK) {
        hgi_rpc_fail(rpc, status, rpc->sentence);
        return;
    }
    registered = hgi_service_find_keyed(rpc, message.cache, &message.key, &key);
    if (!registered) {
        return;
    }
    put(rpc, registered, &message, &key);
}

/* ---- Invalidate ---- */

static void invalidate_stored(void *context, const struct hgi_saved *saved)
{
    hgi_service_finish_cleared(context, saved->status, saved->sentence);
}

/* The keys' canonical bytes, in the arena; NULL: the call is finished. */
static struct hg_slice *canonical_keys(struct hgi_rpc *rpc, const struct hgi_registered *registered,
                                       const struct hg_key *keys, size_t key_count)
{
    struct hg_slice *slices = hgi_arena_alloc(&rpc->arena, key_count * sizeof(*slices));

    for (size_t i = 0; slices && i < key_count; i++) {
        struct hgi_key key;
        enum hg_status status = hgi_registered_key(registered, &keys[i], &key, NULL, rpc->sentence);

        if (status != HG_OK) {
            hgi_rpc_fail(rpc, status, rpc->sentence);
            return NULL;
        }
        if (!hgi_service_keep_key(rpc, &key, &slices[i])) {
            slices = NULL;
        }
    }
    if (!slices) {
        hgi_rpc_fail(rpc, HG_RESOURCE_EXHAUSTED, "the request is too large to be worked on");
    }
    return slices;
}

/* A prefix is a user, as keys and auth values name him. */
static enum hg_status check_prefix(const struct hgi_registered *registered, struct hg_slice prefix,
                                   char *ret_sentence)
{
    bool has_first_part =
        registered->key_type != HGI_KEYS_BYTES && registered->key_type != HGI_KEYS_KEY_HASH;

    if (!has_first_part && registered->value_type != HG_TYPE_AUTH) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX,
                 "the %s keys of this cache have no first part; a prefix takes user_api_key, "
                 "api_key_feature or auth keys, or auth values",
                 hgi_key_type_name(registered->key_type));
        return HG_INVALID_ARGUMENT;
    }
    if (!prefix.len) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX, "the prefix is nothing but spaces");
        return HG_INVALID_ARGUMENT;
    }
    return HG_OK;
}

/* Nobody has a list of what a tag or a first part covers: the event then has no key, which means
 * any key of the cache. */
static void tell_invalidated(struct hgi_rpc *rpc, const struct hgi_cache *cache,
                             const struct hgi_cover *cover, uint64_t generation)
{
    bool is_wide = cover->tag_count > 0 || cover->first_part.len > 0;

    hgi_service_tell(rpc, HG_EVENT_INVALIDATE, hgi_cache_name(cache), generation, cover->keys,
                     is_wide ? 0 : cover->key_count);
}

static void invalidate(struct hgi_rpc *rpc, const struct hgi_registered *registered,
                       const struct hgi_cover *cover)
{
    struct hgi_msg_report reply;
    struct hgi_report report;

    hgi_cache_invalidate_cover(registered->cache, cover, &rpc->now, &report);
    tell_invalidated(rpc, registered->cache, cover, report.generation);
    reply = hgi_service_report(registered->cache, &report);
    if (!hgi_report_encode(&reply, &rpc->payload)) {
        rpc->payload.len = 0; /* invalidated all the same: the reply says so without the numbers */
    }
    hgi_rpc_bound(rpc, HGI_SERVICE_CLEARED_LATE);
    hgi_durable_forget(hgi_dispatch_services(rpc->dispatch)->snapshotter, registered->cache, cover,
                       report.generation, invalidate_stored, rpc);
}

void hgi_cache_service_invalidate(struct hgi_rpc *rpc)
{
    const struct hgi_registered *registered;
    struct hgi_msg_invalidate message;
    struct hgi_cover cover;
    enum hg_status status =
        hgi_invalidate_request_decode(rpc->request.payload, &rpc->arena, &message, rpc->sentence);

    if (status != HG_OK) {
        hgi_rpc_fail(rpc, status, rpc->sentence);
        return;
    }
    registered = hgi_service_find(rpc, message.cache);
    if (!registered) {
        return;
    }
    cover = (struct hgi_cover){.key_count = message.key_count,
                               .tags = message.tags,
                               .tag_count = message.tag_count,
                               .first_part = hgi_slice_trim(message.prefix),
                               .is_soft = message.is_soft};
    if (message.prefix.len) {
        status = check_prefix(registered, cover.first_part, rpc->sentence);
        if (status != HG_OK) {
            hgi_rpc_fail(rpc, status, rpc->sentence);
            return;
        }
    }
    cover.keys = canonical_keys(rpc, registered, message.keys, message.key_count);
    if (!cover.keys) {
        return;
    }
    invalidate(rpc, registered, &cover);
}

/* ---- Generation ---- */

void hgi_cache_service_generation(struct hgi_rpc *rpc)
{
    const struct hgi_registered *registered;
    struct hgi_msg_generation message;
    struct hgi_msg_token token;
    struct hgi_key key;
    enum hg_status status =
        hgi_generation_request_decode(rpc->request.payload, &rpc->arena, &message, rpc->sentence);

    if (status != HG_OK) {
        hgi_rpc_fail(rpc, status, rpc->sentence);
        return;
    }
    registered = hgi_service_find_keyed(rpc, message.cache, &message.key, &key);
    if (!registered) {
        return;
    }
    token.generation = hgi_cache_generation(registered->cache);
    token.epoch = hgi_dispatch_services(rpc->dispatch)->epoch;
    hgi_rpc_succeed(rpc, hgi_generation_reply_encode(&token, &rpc->payload));
}
