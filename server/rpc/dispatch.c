/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatch.h"

#include <ctype.h>
#include <stdio.h>

#include "base/check.h"
#include "base/log.h"
#include "clears.h"
#include "journal.h"
#include "ops.h"
#include "recent.h"
#include "rights.h"

#define LOCAL_HITS_DIGITS_MAX 15u

struct hgi_dispatch {
    struct hgi_services services;
    struct hgi_ops *ops;
    struct hgi_journal *journal;
    struct hgi_recent *recent;
    _Atomic bool is_draining;
    _Atomic bool is_unready; /* an administrator says so */
    struct hgi_live live;
    struct hgi_clears clears;
};

static void (*const handlers[HGI_METHOD_COUNT])(struct hgi_rpc *rpc) = {
    [HGI_METHOD_GET] = hgi_cache_service_get,
    [HGI_METHOD_GET_OR_LOAD] = hgi_cache_service_get_or_load,
    [HGI_METHOD_BATCH_GET_OR_LOAD] = hgi_cache_service_batch_get_or_load,
    [HGI_METHOD_GENERATION] = hgi_cache_service_generation,
    [HGI_METHOD_PUT] = hgi_cache_service_put,
    [HGI_METHOD_INVALIDATE] = hgi_cache_service_invalidate,
    [HGI_METHOD_FULFIL] = hgi_lease_service_fulfil,
    [HGI_METHOD_RENEW] = hgi_lease_service_renew,
    [HGI_METHOD_RELEASE] = hgi_lease_service_release,
    [HGI_METHOD_CLEAR] = hgi_admin_service_clear,
    [HGI_METHOD_LIST_CACHES] = hgi_admin_service_list_caches,
    [HGI_METHOD_STATS] = hgi_admin_service_stats,
    [HGI_METHOD_LIST_LOADERS] = hgi_admin_service_list_loaders,
    [HGI_METHOD_RELOAD_LOADER] = hgi_admin_service_reload_loader,
    [HGI_METHOD_RELOAD] = hgi_control_service_reload,
    [HGI_METHOD_DRAIN] = hgi_control_service_drain,
    [HGI_METHOD_SAVE_SNAPSHOT] = hgi_snapshot_service_save,
    [HGI_METHOD_SNAPSHOT_INFO] = hgi_snapshot_service_info,
    [HGI_METHOD_VERIFY_SNAPSHOT] = hgi_snapshot_service_verify,
    [HGI_METHOD_LIST_FLIGHTS] = hgi_inspect_service_list_flights,
    [HGI_METHOD_KILL_FLIGHT] = hgi_inspect_service_kill_flight,
    [HGI_METHOD_EXPLAIN] = hgi_inspect_service_explain,
    [HGI_METHOD_NEW_TOKEN] = hgi_token_service_new,
    [HGI_METHOD_REVOKE_TOKEN] = hgi_token_service_revoke,
    [HGI_METHOD_LIST_TOKENS] = hgi_token_service_list,
    [HGI_METHOD_WATCH] = hgi_events_service_watch,
    [HGI_METHOD_HEALTH_CHECK] = hgi_health_service_check,
};

struct hgi_dispatch *hgi_dispatch_create(const struct hgi_services *services)
{
    struct hgi_dispatch *dispatch = hgi_alloc(&hgi_heap, sizeof(*dispatch));

    if (!dispatch) {
        return NULL;
    }
    dispatch->services = *services;
    dispatch->ops = hgi_ops_create();
    dispatch->journal = hgi_journal_create();
    dispatch->recent = hgi_recent_create();
    if (!dispatch->ops || !dispatch->journal || !dispatch->recent) {
        hgi_recent_destroy(&dispatch->recent);
        hgi_journal_destroy(&dispatch->journal);
        hgi_ops_destroy(&dispatch->ops);
        hgi_free(&hgi_heap, dispatch);
        return NULL;
    }
    hgi_live_init(&dispatch->live);
    hgi_clears_init(&dispatch->clears);
    return dispatch;
}

void hgi_dispatch_destroy(struct hgi_dispatch **dispatch)
{
    if (!*dispatch) {
        return;
    }
    hgi_recent_destroy(&(*dispatch)->recent);
    hgi_journal_destroy(&(*dispatch)->journal);
    hgi_ops_destroy(&(*dispatch)->ops);
    hgi_clears_deinit(&(*dispatch)->clears);
    hgi_live_deinit(&(*dispatch)->live);
    hgi_free(&hgi_heap, *dispatch);
    *dispatch = NULL;
}

const struct hgi_services *hgi_dispatch_services(const struct hgi_dispatch *dispatch)
{
    return &dispatch->services;
}

struct hgi_ops *hgi_dispatch_ops(const struct hgi_dispatch *dispatch)
{
    return dispatch->ops;
}

struct hgi_journal *hgi_dispatch_journal(const struct hgi_dispatch *dispatch)
{
    return dispatch->journal;
}

struct hgi_recent *hgi_dispatch_recent(const struct hgi_dispatch *dispatch)
{
    return dispatch->recent;
}

struct hgi_clears *hgi_dispatch_clears(struct hgi_dispatch *dispatch)
{
    return &dispatch->clears;
}

struct hgi_live *hgi_dispatch_live(struct hgi_dispatch *dispatch)
{
    return &dispatch->live;
}

static void release(struct hgi_dispatch *dispatch, struct hgi_rpc *rpc)
{
    if (hgi_live_release(&dispatch->live, &rpc->live)) {
        hgi_rpc_free(rpc);
    }
}

void hgi_dispatch_tick(struct hgi_dispatch *dispatch, const struct hgi_now *now)
{
    struct hgi_live_call *call;

    while ((call = hgi_live_take_due(&dispatch->live, now->boot_ms)) != NULL) {
        struct hgi_rpc *rpc = HGI_CONTAINER(call, struct hgi_rpc, live);

        hgi_rpc_late(rpc);
        release(dispatch, rpc);
    }
    hgi_clears_tick(&dispatch->clears, now);
    hgi_journal_tick(dispatch->journal, now);
}

void hgi_dispatch_gone(struct hgi_dispatch *dispatch, struct hgi_asker *asker)
{
    struct hgi_live_call *call;
    struct hgi_now now;

    if (asker->spare) {
        hgi_rpc_free(asker->spare);
        asker->spare = NULL;
    }
    while ((call = hgi_live_take_first(&dispatch->live, &asker->calls)) != NULL) {
        struct hgi_rpc *rpc = HGI_CONTAINER(call, struct hgi_rpc, live);

        atomic_store(&rpc->is_gone, true);
        if (rpc->leave) {
            rpc->leave(rpc);
        }
        release(dispatch, rpc);
    }
    /* After its calls: one that still waited to lead would be handed a lease. One that looks again
     * just now may be given one later, and gives it back itself. */
    now = hgi_clock_now();
    hgi_registry_holder_gone(dispatch->services.registry, asker->id, &now);
}

void hgi_dispatch_drain(struct hgi_dispatch *dispatch)
{
    atomic_store(&dispatch->is_draining, true);
    hgi_clears_close(&dispatch->clears);
    hgi_journal_close(dispatch->journal);
}

void hgi_dispatch_set_ready(struct hgi_dispatch *dispatch, bool is_ready)
{
    if (atomic_exchange(&dispatch->is_unready, !is_ready) == is_ready) {
        hgi_log(HG_LOG_INFO, is_ready ? "drain: off; ready again"
                                      : "drain: not ready any more; who asks is still answered");
    }
}

bool hgi_dispatch_is_ready(const struct hgi_dispatch *dispatch)
{
    return !hgi_dispatch_is_draining(dispatch) &&
           !atomic_load(&((struct hgi_dispatch *)(uintptr_t)dispatch)->is_unready);
}

bool hgi_dispatch_is_draining(const struct hgi_dispatch *dispatch)
{
    return atomic_load(&((struct hgi_dispatch *)(uintptr_t)dispatch)->is_draining);
}

bool hgi_dispatch_wait_idle(struct hgi_dispatch *dispatch, int64_t timeout_ms)
{
    return hgi_live_wait_idle(&dispatch->live, timeout_ms);
}

/* False: the call is finished, or waits for the first one with its op id. */
static bool begin_op(struct hgi_rpc *rpc)
{
    struct hg_bytes reply;
    bool is_first = false;

    hgi_bytes_init(&reply, &hgi_heap);
    switch (hgi_ops_begin(rpc->dispatch->ops, hgi_rights_caller(rpc), rpc->request.op_id,
                          rpc->request.method, rpc->request.payload, &rpc->now, &rpc->op_node,
                          &rpc->op, &reply)) {
    case HGI_OP_FIRST:
        is_first = true;
        break;
    case HGI_OP_WAITING:
        break;
    case HGI_OP_REPEATED:
        hgi_rpc_repeat(rpc, hgi_bytes_slice(&reply));
        break;
    case HGI_OP_MISMATCH:
        hgi_rpc_fail(rpc, HG_INVALID_ARGUMENT,
                     "this op_id was used for another request; each operation needs its own");
        break;
    case HGI_OP_NO_ROOM:
        hgi_rpc_fail(rpc, HG_RESOURCE_EXHAUSTED, "too many operations are under way");
        break;
    }
    hgi_bytes_deinit(&reply);
    return is_first;
}

/* "COUNT CACHE": what a client has read by itself since its last request. What cannot be that, or
 * is of a cache that he may not read, is passed over: it is nobody's request. */
static void count_local_hits(const struct hgi_rpc *rpc, struct hg_slice news)
{
    const struct hgi_principal *principal = rpc->bearer.principal;
    const char *text = news.data;
    const struct hgi_registered *registered;
    struct hg_slice cache;
    uint64_t count = 0;
    size_t at = 0;

    for (; at < news.len && at < LOCAL_HITS_DIGITS_MAX && isdigit((unsigned char)text[at]); at++) {
        count = count * 10 + (uint64_t)(text[at] - '0');
    }
    if (at == 0 || at == news.len || text[at] != ' ') {
        return;
    }
    cache = hg_slice_of(text + at + 1, news.len - at - 1);
    registered = hgi_registry_find(rpc->dispatch->services.registry, cache);
    if (registered && (!principal || hgi_principal_may(principal, cache, HGI_VERB_READ))) {
        hgi_cache_count_local(registered->cache, count);
    }
}

static void hear_news(struct hgi_rpc *rpc)
{
    for (size_t i = 0; i < rpc->request.metadata_count; i++) {
        const struct hgi_metadata *metadata = &rpc->request.metadata[i];

        if (hgi_slice_equal(metadata->name, hg_slice_text(HGI_METADATA_LOCAL_HITS))) {
            count_local_hits(rpc, metadata->value);
        }
    }
}

/* Reads say themselves what they wait with: they are many, and most never do. */
static bool is_read(enum hgi_method method)
{
    return method == HGI_METHOD_GET || method == HGI_METHOD_GET_OR_LOAD ||
           method == HGI_METHOD_BATCH_GET_OR_LOAD;
}

static void run(struct hgi_rpc *rpc)
{
    if (rpc->request.method == HGI_METHOD_NONE) {
        snprintf(rpc->sentence, sizeof(rpc->sentence),
                 "no method \"%.*s\" here; methods look like %s",
                 (int)(rpc->request.path.len < 100 ? rpc->request.path.len : 100),
                 rpc->request.path.len ? (const char *)rpc->request.path.data : "",
                 hgi_method_info(HGI_METHOD_GET)->path);
        hgi_text_flatten(rpc->sentence);
        hgi_rpc_fail(rpc, HG_UNIMPLEMENTED, rpc->sentence);
        return;
    }
    if (!hgi_rights_begin(rpc)) {
        return;
    }
    hear_news(rpc); /* of nobody who may not ask */
    if (!is_read(rpc->request.method)) {
        hgi_rpc_hold_message(rpc, rpc->request.payload.len);
    }
    if (hgi_method_info(rpc->request.method)->mutates && rpc->request.op_id.len && !begin_op(rpc)) {
        return;
    }
    handlers[rpc->request.method](rpc);
}

static void refuse_without_memory(struct hgi_asker *asker, const struct hgi_sp_route *route)
{
    struct hgi_pieces pieces;

    hgi_pieces_init(&pieces);
    hgi_pieces_raw(&pieces, hgi_rpc_no_memory());
    asker->reply(asker, route, &pieces);
}

/* One turn of a call. */
static void take(struct hgi_rpc *rpc, struct hg_slice body)
{
    enum hg_status status = hgi_request_decode(body, &rpc->arena, &rpc->request, rpc->sentence);

    if (status != HG_OK) {
        hgi_rpc_fail(rpc, status, rpc->sentence);
        return;
    }
    run(rpc);
}

/* Most calls end in their turn; such a one's memory waits with its connection for the next. */
void hgi_dispatch_request(struct hgi_dispatch *dispatch, struct hgi_asker *asker,
                          const struct hgi_sp_route *route, struct hg_slice body)
{
    struct hgi_rpc *rpc = asker->spare ? asker->spare : hgi_rpc_create(dispatch);

    asker->spare = NULL;
    if (!rpc) {
        refuse_without_memory(asker, route);
        return;
    }
    hgi_rpc_begin(rpc, asker, route, body.len);
    take(rpc, body);
    atomic_store_explicit(&rpc->is_in_turn, false, memory_order_relaxed);
    if (hgi_live_end_turn(&dispatch->live, &rpc->live)) {
        hgi_rpc_reset(rpc);
        asker->spare = rpc;
    }
}
