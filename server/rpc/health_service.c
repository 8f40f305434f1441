/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/bytes.h"
#include "dispatch.h"
#include "proto/codec.h"
#include "server/snapshotter.h"

/* The server as a whole, or a service that has a method. */
static bool is_known(struct hg_slice service)
{
    bool is_known = service.len == 0;

    for (enum hgi_method method = HGI_METHOD_NONE + 1; method < HGI_METHOD_COUNT && !is_known;
         method++) {
        const char *path = hgi_method_info(method)->path;

        is_known = hgi_slice_equal(service, hg_slice_of(path, strcspn(path, "/")));
    }
    return is_known;
}

static void say_if_degraded(struct hgi_snapshotter *snapshotter, char *ret_sentence)
{
    struct hgi_snapshotter_stats stats = {.is_degraded = false};

    if (snapshotter) {
        hgi_snapshotter_stats(snapshotter, &stats);
    }
    ret_sentence[0] = 0;
    if (stats.is_degraded) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX, "degraded: the snapshot is behind: %.200s",
                 stats.last_error);
    }
}

void hgi_health_service_check(struct hgi_rpc *rpc)
{
    const struct hgi_services *services = hgi_dispatch_services(rpc->dispatch);
    struct hgi_msg_health reply = {.status = HGI_HEALTH_SERVING};
    struct hgi_msg_name message;
    enum hg_status status =
        hgi_health_request_decode(rpc->request.payload, &rpc->arena, &message, rpc->sentence);

    if (status != HG_OK) {
        hgi_rpc_fail(rpc, status, rpc->sentence);
        return;
    }
    if (!is_known(message.name)) {
        hgi_rpc_fail(rpc, HG_NOT_FOUND,
                     "no such service; the empty name asks for the server as a whole");
        return;
    }
    if (!hgi_dispatch_is_ready(rpc->dispatch)) {
        reply.status = HGI_HEALTH_NOT_SERVING;
    }
    if (!hgi_health_reply_encode(&reply, &rpc->payload)) {
        hgi_rpc_fail(rpc, HG_RESOURCE_EXHAUSTED, "no memory for the reply");
        return;
    }
    say_if_degraded(services->snapshotter, rpc->sentence);
    hgi_rpc_finish(rpc, HG_OK, hg_slice_text(rpc->sentence), 0);
}
