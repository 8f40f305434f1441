/* SPDX-License-Identifier: Apache-2.0 */
/* Fulfil, Renew, Release: by the connection that holds the lease. To every other one it is a lease
 * that has ended (ABORTED), so that asking tells nobody which leases there are. */
#include <stdio.h>

#include "dispatch.h"
#include "durable.h"
#include "proto/codec.h"
#include "proto/value.h"
#include "server/cache/tagging.h"
#include "service.h"

/* NULL: the call is finished. */
static const struct hgi_registered *find(struct hgi_rpc *rpc, struct hg_slice cache, uint64_t epoch)
{
    const struct hgi_registered *registered = hgi_service_find(rpc, cache);

    if (registered && epoch != hgi_dispatch_services(rpc->dispatch)->epoch) {
        hgi_rpc_fail(rpc, HG_ABORTED, "this lease was given out before the server was restarted");
        return NULL;
    }
    return registered;
}

/* ---- Fulfil ---- */

static void fulfil_stored(void *context, const struct hgi_saved *saved)
{
    struct hgi_rpc *rpc = context;

    if (saved->status == HG_OK) {
        hgi_rpc_finish(rpc, HG_OK, hg_slice_of(NULL, 0), 0);
    } else {
        snprintf(rpc->sentence, sizeof(rpc->sentence), "fulfilled, not durable: %.200s",
                 saved->sentence);
        hgi_rpc_finish(rpc, HG_UNAVAILABLE, hg_slice_text(rpc->sentence), 0);
    }
}

/* What is checked of a value a put brings. A value that is refused leaves the lease as it is. */
static enum hg_status read_result(struct hgi_rpc *rpc, const struct hgi_registered *registered,
                                  const struct hgi_msg_fulfil *message,
                                  struct hgi_value_user *ret_user, struct hgi_result *ret_result)
{
    enum hg_status status;
    const struct hgi_limits *limits = hgi_dispatch_services(rpc->dispatch)->limits;

    *ret_result = (struct hgi_result){.status = message->status, .message = message->message};
    if (message->status != HG_OK) {
        return HG_OK;
    }
    ret_result->outcome = message->outcome;
    ret_result->value = message->value;
    ret_result->lifetime = (struct hgi_lifetime){.ttl_ms = message->ttl_ms,
                                                 .stale_ttl_ms = message->stale_ttl_ms,
                                                 .expires_at_ms = message->expires_at_ms,
                                                 .tags = message->tags,
                                                 .tag_count = message->tag_count,
                                                 .no_store = message->no_store};
    status = hgi_value_check(registered->value_type, message->value, limits->value_max_bytes,
                             &ret_result->outcome, &ret_result->lifetime.expires_at_ms, ret_user,
                             rpc->sentence);
    if (status == HG_OK) {
        ret_result->lifetime.user = hg_slice_of(ret_user->bytes, ret_user->len);
    }
    return status;
}

static void fulfil(struct hgi_rpc *rpc, const struct hgi_registered *registered,
                   const struct hgi_msg_fulfil *message)
{
    const struct hgi_services *services = hgi_dispatch_services(rpc->dispatch);
    struct hgi_value_user user;
    struct hgi_result result;
    const struct hgi_fulfilment fulfilment = {.lease_id = message->lease_id,
                                              .holder = rpc->asker->id,
                                              .result = &result,
                                              .keep_ms = message->keep_ms};
    struct hgi_msg_fulfilled reply;
    struct hgi_fulfilled fulfilled;
    enum hg_status status = read_result(rpc, registered, message, &user, &result);

    if (status == HG_OK) {
        status =
            hgi_cache_fulfil(registered->cache, &fulfilment, &rpc->now, &fulfilled, rpc->sentence);
    }
    if (status != HG_OK) {
        hgi_rpc_fail(rpc, status, rpc->sentence);
        return;
    }
    reply.generation = fulfilled.entry.born;
    reply.outcome = fulfilled.entry.outcome;
    reply.ttl_left_ms = (uint64_t)fulfilled.ttl_left_ms;
    reply.stale_left_ms = (uint64_t)fulfilled.stale_left_ms;
    if (!hgi_fulfil_reply_encode(&reply, &rpc->payload)) {
        rpc->payload.len = 0; /* fulfilled all the same: the reply says so without the numbers */
    }
    /* As with a put: what is said of a credential must survive a crash. */
    if (message->status == HG_OK && registered->value_type == HG_TYPE_AUTH && !message->no_store) {
        struct hgi_tagging tagging;

        hgi_tagging_init(&tagging, hgi_cache_veil(registered->cache), fulfilled.entry.key,
                         &result.lifetime);
        fulfilled.entry.tags = tagging.names;
        fulfilled.entry.tag_count = tagging.count;
        hgi_rpc_bound(rpc, "fulfilled, but not on disk when the call's time was up");
        hgi_durable_put(services->snapshotter, registered->cache, &fulfilled.entry, fulfil_stored,
                        rpc);
    } else {
        hgi_rpc_finish(rpc, HG_OK, hg_slice_of(NULL, 0), 0);
    }
}

void hgi_lease_service_fulfil(struct hgi_rpc *rpc)
{
    const struct hgi_registered *registered;
    struct hgi_msg_fulfil message;
    enum hg_status status =
        hgi_fulfil_request_decode(rpc->request.payload, &rpc->arena, &message, rpc->sentence);

    if (status != HG_OK) {
        hgi_rpc_fail(rpc, status, rpc->sentence);
        return;
    }
    registered = find(rpc, message.cache, message.epoch);
    if (registered) {
        fulfil(rpc, registered, &message);
    }
}

/* ---- Renew, Release ---- */

void hgi_lease_service_renew(struct hgi_rpc *rpc)
{
    const struct hgi_registered *registered;
    struct hgi_msg_lease message;
    struct hgi_msg_renewed reply;
    int64_t ttl_ms = 0;
    enum hg_status status =
        hgi_renew_request_decode(rpc->request.payload, &rpc->arena, &message, rpc->sentence);

    if (status != HG_OK) {
        hgi_rpc_fail(rpc, status, rpc->sentence);
        return;
    }
    registered = find(rpc, message.cache, message.epoch);
    if (!registered) {
        return;
    }
    status = hgi_cache_renew(registered->cache, message.lease_id, rpc->asker->id, &rpc->now,
                             &ttl_ms, rpc->sentence);
    if (status != HG_OK) {
        hgi_rpc_fail(rpc, status, rpc->sentence);
        return;
    }
    reply.lease_ttl_ms = (uint64_t)ttl_ms;
    hgi_rpc_succeed(rpc, hgi_renew_reply_encode(&reply, &rpc->payload));
}

void hgi_lease_service_release(struct hgi_rpc *rpc)
{
    const struct hgi_registered *registered;
    struct hgi_msg_lease message;
    enum hg_status status =
        hgi_release_request_decode(rpc->request.payload, &rpc->arena, &message, rpc->sentence);

    if (status != HG_OK) {
        hgi_rpc_fail(rpc, status, rpc->sentence);
        return;
    }
    registered = find(rpc, message.cache, message.epoch);
    if (!registered) {
        return;
    }
    status = hgi_cache_release(registered->cache, message.lease_id, rpc->asker->id, &rpc->now,
                               rpc->sentence);
    if (status != HG_OK) {
        hgi_rpc_fail(rpc, status, rpc->sentence);
    } else {
        hgi_rpc_succeed(rpc, true);
    }
}
