/* SPDX-License-Identifier: Apache-2.0 */
#include "bounds.h"

#include "base/check.h"
#include "proto/codec.h"
#include "server/http/request.h"
#include "server/loader/supervisor.h"
#include "server/rpc/call.h"
#include "server/rpc/conn.h"
#include "server/rpc/ops.h"
#include "server/snapshotter.h"

/* The program and its libraries, its threads, the journal of events, the last answers, and what the
 * allocator keeps. */
#define PROGRAM_BYTES (48u << 20)
/* A batch of rows and its pages, and sqlite's own cache, for the file and one beside it. */
#define SNAPSHOT_BYTES (64u << 20)
/* What the library keeps of a connection beside head and body. */
#define HTTP_BYTES 131072u

static size_t times(size_t count, size_t bytes)
{
    return bytes && count > SIZE_MAX / bytes ? SIZE_MAX : count * bytes;
}

static size_t plus(size_t a, size_t b)
{
    return a > SIZE_MAX - b ? SIZE_MAX : a + b;
}

static void add(struct hgi_bounds *bounds, const char *what, size_t count, size_t each_bytes)
{
    struct hgi_bound *part = &bounds->parts[bounds->part_count];

    if (count == 0) {
        return;
    }
    HGI_BUG_ON(bounds->part_count == HGI_BOUNDS_MAX);
    *part = (struct hgi_bound){what, count, each_bytes, times(count, each_bytes)};
    bounds->part_count++;
    bounds->bytes = plus(bounds->bytes, part->bytes);
}

/* Caches differ: what is told of each is their mean. */
static void add_caches(struct hgi_bounds *bounds, const struct hgi_config *config)
{
    size_t bytes = 0;

    for (size_t i = 0; i < config->cache_count; i++) {
        bytes = plus(
            bytes, hgi_cache_bytes_max(&config->caches[i].policy, config->limits.value_max_bytes));
    }
    if (config->cache_count) {
        add(bounds, "caches", config->cache_count, bytes / config->cache_count + 1);
    }
}

static void add_connections(struct hgi_bounds *bounds, const struct hgi_config *config)
{
    const struct hgi_limits *limits = &config->limits;
    size_t count = limits->connections_max;

    for (size_t i = 0; i < config->listen_count; i++) {
        if (config->listens[i].serves == HGI_SERVES_ADMIN) {
            count = (size_t)limits->connections_max + limits->admin_connections_max;
        }
    }
    add(bounds, "connections", count, hgi_conn_bytes_max(limits) + hgi_rpc_bytes_max(limits));
}

static void add_http(struct hgi_bounds *bounds, const struct hgi_config *config)
{
    const struct hgi_limits *limits = &config->limits;
    size_t count = 0;
    size_t each_bytes = 0;

    for (size_t i = 0; i < config->http_count; i++) {
        const struct hgi_http_config *http = &config->https[i];
        size_t message = http->services == HGI_HTTP_OPERATOR ? limits->message_max_bytes
                                                             : limits->value_max_bytes;
        size_t bytes = HTTP_BYTES + HGI_HTTP_HEAD_MAX + HGI_CALL_BYTES + 6 * message +
                       hgi_arena_budget(message);

        count += http->connections_max;
        each_bytes = bytes > each_bytes ? bytes : each_bytes;
    }
    add(bounds, "connections over HTTP", count, each_bytes);
}

/* Who may send operations that are to have one effect. */
static size_t caller_count(const struct hgi_config *config)
{
    size_t count = config->peer_count + config->principal_count;

    return count < HGI_PRINCIPALS_MAX ? count : HGI_PRINCIPALS_MAX;
}

void hgi_bounds_init(const struct hgi_config *config, struct hgi_bounds *ret_bounds)
{
    *ret_bounds = (struct hgi_bounds){.part_count = 0};
    add_caches(ret_bounds, config);
    add_connections(ret_bounds, config);
    add_http(ret_bounds, config);
    add(ret_bounds, "loaders", config->loader_count,
        hgi_supervisor_bytes_max(config->limits.value_max_bytes));
    add(ret_bounds, "callers' last operations", caller_count(config), HGI_OPS_MAX * HGI_OP_BYTES);
    add(ret_bounds, "the snapshot", config->snapshot != NULL,
        SNAPSHOT_BYTES + HGI_SNAPSHOTTER_INBOX_BYTES);
    add(ret_bounds, "the program itself", 1, PROGRAM_BYTES);
}
