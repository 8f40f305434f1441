/* SPDX-License-Identifier: Apache-2.0 */
/* dispatch: from a request's bytes to the handler that answers it.
 * Owns:     the op window, the journal, the last answers, the live calls; borrows the rest.
 * Threads:  hgi_dispatch_request is called on nng's threads and must not block.
 * Limits:   those of the envelope.
 * Errors:   INVALID_ARGUMENT, UNIMPLEMENTED and what rights says, before any handler runs.
 * Not here: what a method does (the services), who may use it (rights), who may connect (listener).
 */
#ifndef HGI_SERVER_RPC_DISPATCH_H
#define HGI_SERVER_RPC_DISPATCH_H

#include "server/cache/registry.h"
#include "server/rpc/call.h"

struct hgi_supervisor;
struct hgi_snapshotter;
struct hgi_tokens;
struct hgi_ops;
struct hgi_journal;
struct hgi_recent;
struct hgi_clears;

/* How a reload went. Borrowed for the call of `done`. */
struct hgi_reloaded {
    enum hg_status status; /* OK: what could be changed is; else nothing was */
    const char *sentence;  /* why */
    const struct hg_slice *changed;
    size_t changed_count;
    const struct hg_slice *restart; /* what another start would change */
    size_t restart_count;
};

/* Somebody who asked for one, and waits; his memory. */
struct hgi_reload_ask {
    struct hgi_node node;
    void (*done)(struct hgi_reload_ask *ask, const struct hgi_reloaded *reloaded);
};

/* What the services work with. Borrowed until destroy. */
struct hgi_services {
    struct hgi_registry *registry;
    struct hgi_supervisor *supervisor;   /* NULL: no loaders */
    struct hgi_snapshotter *snapshotter; /* NULL: no snapshot */
    struct hgi_tokens *tokens;           /* NULL: there are none */
    const struct hgi_limits *limits;
    struct hgi_transport_metrics *transport;
    uint32_t own_uid;
    uint64_t epoch;     /* new at each start: tokens of another are refused */
    int64_t started_ms; /* boot time */
    /* Takes the ask; its `done` comes once, from another thread. */
    void (*reload)(void *context, struct hgi_reload_ask *ask);
    void *reload_context;
};

HG_NODISCARD struct hgi_dispatch *hgi_dispatch_create(const struct hgi_services *services);
/* No call may be live. */
void hgi_dispatch_destroy(struct hgi_dispatch **dispatch);

/* One turn: the request is answered in it, or later. `body` is borrowed for the call. */
void hgi_dispatch_request(struct hgi_dispatch *dispatch, struct hgi_asker *asker,
                          const struct hgi_sp_route *route, struct hg_slice body);
/* Answers calls whose deadline has come, watches among them, and clears whose wait is over. Call it
 * about every 20 ms. */
void hgi_dispatch_tick(struct hgi_dispatch *dispatch, const struct hgi_now *now);
/* Who asked is gone: his calls wait no longer, and the leases he holds are handed on. */
void hgi_dispatch_gone(struct hgi_dispatch *dispatch, struct hgi_asker *asker);
/* From here on health says NOT_SERVING, and nobody waits for events, or for the loads before a
 * clear. */
void hgi_dispatch_drain(struct hgi_dispatch *dispatch);
bool hgi_dispatch_is_draining(const struct hgi_dispatch *dispatch);
/* Not ready: health says so, and whoever asks is answered all the same. Ready at start. */
void hgi_dispatch_set_ready(struct hgi_dispatch *dispatch, bool is_ready);
/* And it does not drain. */
bool hgi_dispatch_is_ready(const struct hgi_dispatch *dispatch);
/* Waits until no call is live; false: some still are after timeout_ms. */
HG_NODISCARD bool hgi_dispatch_wait_idle(struct hgi_dispatch *dispatch, int64_t timeout_ms);

const struct hgi_services *hgi_dispatch_services(const struct hgi_dispatch *dispatch);
struct hgi_ops *hgi_dispatch_ops(const struct hgi_dispatch *dispatch);
struct hgi_journal *hgi_dispatch_journal(const struct hgi_dispatch *dispatch);
struct hgi_recent *hgi_dispatch_recent(const struct hgi_dispatch *dispatch);
struct hgi_clears *hgi_dispatch_clears(struct hgi_dispatch *dispatch);
struct hgi_live *hgi_dispatch_live(struct hgi_dispatch *dispatch);

/* The handlers. Each finishes its call exactly once, now or later. */
void hgi_cache_service_get(struct hgi_rpc *rpc);
void hgi_cache_service_get_or_load(struct hgi_rpc *rpc);
void hgi_cache_service_batch_get_or_load(struct hgi_rpc *rpc);
void hgi_cache_service_put(struct hgi_rpc *rpc);
void hgi_cache_service_invalidate(struct hgi_rpc *rpc);
void hgi_cache_service_generation(struct hgi_rpc *rpc);
void hgi_lease_service_fulfil(struct hgi_rpc *rpc);
void hgi_lease_service_renew(struct hgi_rpc *rpc);
void hgi_lease_service_release(struct hgi_rpc *rpc);
void hgi_admin_service_clear(struct hgi_rpc *rpc);
void hgi_admin_service_list_caches(struct hgi_rpc *rpc);
void hgi_admin_service_stats(struct hgi_rpc *rpc);
void hgi_admin_service_list_loaders(struct hgi_rpc *rpc);
void hgi_admin_service_reload_loader(struct hgi_rpc *rpc);
void hgi_snapshot_service_save(struct hgi_rpc *rpc);
void hgi_snapshot_service_info(struct hgi_rpc *rpc);
void hgi_snapshot_service_verify(struct hgi_rpc *rpc);
void hgi_inspect_service_list_flights(struct hgi_rpc *rpc);
void hgi_inspect_service_kill_flight(struct hgi_rpc *rpc);
void hgi_inspect_service_explain(struct hgi_rpc *rpc);
void hgi_control_service_reload(struct hgi_rpc *rpc);
void hgi_control_service_drain(struct hgi_rpc *rpc);
void hgi_token_service_new(struct hgi_rpc *rpc);
void hgi_token_service_revoke(struct hgi_rpc *rpc);
void hgi_token_service_list(struct hgi_rpc *rpc);
void hgi_events_service_watch(struct hgi_rpc *rpc);
void hgi_health_service_check(struct hgi_rpc *rpc);

#endif
