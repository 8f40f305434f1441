/* SPDX-License-Identifier: Apache-2.0 */
/* Reload and Drain: the server as a whole. */
#include "base/check.h"
#include "conn.h"
#include "dispatch.h"
#include "proto/codec.h"

/* ---- Reload ---- */

struct reload {
    struct hgi_reload_ask ask;
    struct hgi_rpc *rpc;
};

static void reloaded(struct hgi_reload_ask *ask, const struct hgi_reloaded *how)
{
    struct hgi_rpc *rpc = HGI_CONTAINER(ask, struct reload, ask)->rpc;
    const struct hgi_msg_reloaded reply = {how->changed, how->changed_count, how->restart,
                                           how->restart_count};

    if (how->status != HG_OK) {
        hgi_rpc_fail(rpc, how->status, how->sentence);
        return;
    }
    hgi_rpc_succeed(rpc, hgi_reload_reply_encode(&reply, &rpc->payload));
}

void hgi_control_service_reload(struct hgi_rpc *rpc)
{
    const struct hgi_services *services = hgi_dispatch_services(rpc->dispatch);
    struct reload *reload = hgi_arena_alloc(&rpc->arena, sizeof(*reload));

    if (!reload || !services->reload) {
        hgi_rpc_fail(rpc, HG_UNAVAILABLE, "this server cannot reload now");
        return;
    }
    reload->rpc = rpc;
    reload->ask.done = reloaded;
    hgi_rpc_bound(rpc, "the reload had no end yet when the call's time was up; it goes on, and "
                       "the log says how it ends");
    services->reload(services->reload_context, &reload->ask);
}

/* ---- Drain ---- */

void hgi_control_service_drain(struct hgi_rpc *rpc)
{
    const struct hgi_services *services = hgi_dispatch_services(rpc->dispatch);
    struct hgi_msg_drain message;
    struct hgi_msg_drained reply = {.waiting = 0};
    enum hg_status status =
        hgi_drain_request_decode(rpc->request.payload, &rpc->arena, &message, rpc->sentence);

    if (status != HG_OK) {
        hgi_rpc_fail(rpc, status, rpc->sentence);
        return;
    }
    hgi_dispatch_set_ready(rpc->dispatch, message.off);
    reply.connections = atomic_load(&services->transport->connections_open);
    for (size_t i = 0; i < hgi_registry_count(services->registry); i++) {
        struct hgi_cache_stats stats;

        hgi_cache_stats(hgi_registry_at(services->registry, i)->cache, &stats);
        reply.waiting += stats.waiting;
    }
    hgi_rpc_succeed(rpc, hgi_drain_reply_encode(&reply, &rpc->payload));
}
