/* SPDX-License-Identifier: Apache-2.0 */
/* lifecycle_inside: what starting and stopping, and reloading, share.
 * Owns:     struct hgi_server.
 * Threads:  as the fields say.
 * Limits:   none of its own.
 * Errors:   none of its own.
 * Not here: anything main may see (lifecycle.h). */
#ifndef HGI_SERVER_LIFECYCLE_INSIDE_H
#define HGI_SERVER_LIFECYCLE_INSIDE_H

#include "base/list.h"
#include "base/lock.h"
#include "base/thread.h"
#include "server/cache/registry.h"
#include "server/http/http.h"
#include "server/lifecycle.h"
#include "server/loader/supervisor.h"
#include "server/publisher.h"
#include "server/rpc/dispatch.h"
#include "server/rpc/listener.h"
#include "server/snapshotter.h"

/* A configuration that a reload has read: what holds points into it. */
struct hgi_kept_config {
    struct hgi_kept_config *before;
    struct hgi_config *config;
};

struct hgi_server {
    const struct hgi_config *config;
    struct hgi_supervisor_options supervisor_options;
    struct hgi_supervisor *supervisor;
    struct hgi_snapshotter *snapshotter;
    struct hgi_tokens *tokens;
    struct hgi_publisher *publisher;
    struct hgi_registry *registry;
    uint64_t epoch; /* names this start of the server */
    struct hgi_dispatch *dispatch;
    struct hgi_transport_metrics transport;
    struct hgi_share share;
    struct hgi_share admin_share; /* of listens that serve administration only */
    uint32_t administrators[2];   /* whom these let in, where they look at the user */
    struct hgi_http *http;
    struct hgi_listener **listeners;
    size_t listener_count;
    struct hgi_thread ticker;
    struct hgi_lock lock;
    struct hgi_cond wake;
    bool is_stopping HGI_GUARDED_BY(lifecycle);
    bool is_deaf HGI_GUARDED_BY(lifecycle);         /* nobody is to ask any more */
    struct hgi_node asks HGI_GUARDED_BY(lifecycle); /* for a reload */
    /* main's */
    struct hgi_config
        running; /* what holds now; its lists of loaders and caches are the server's */
    struct hgi_kept_config *kept; /* read by reloads, and looked into since */
    uint32_t principal_number;    /* the highest given so far */
};

/* What holds is the configuration it starts with. False: no memory. */
HG_NODISCARD bool hgi_reload_init(struct hgi_server *server);
void hgi_reload_deinit(struct hgi_server *server);
/* For who asks over RPC; answered by main. */
void hgi_reload_ask(void *server, struct hgi_reload_ask *ask);
/* Whoever still waits hears that the server is stopping. */
void hgi_reload_dismiss(struct hgi_server *server);

#endif
