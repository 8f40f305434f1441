/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the process lives, and whether it may be sent requests, as Kubernetes asks. */
#include <stdio.h>
#include <string.h>

#include "http.h"
#include "operator.h"
#include "server/loader/supervisor.h"
#include "server/rpc/dispatch.h"
#include "server/snapshotter.h"

#define LINE_MAX 512

static void say_plain(struct hgi_http_exchange *exchange, unsigned status, struct hg_slice text)
{
    hgi_http_response_body(&exchange->response, status, "text/plain; charset=utf-8", text);
    hgi_http_response_say(&exchange->response, "Cache-Control", "no-store");
}

void hgi_http_livez(struct hgi_http_exchange *exchange)
{
    say_plain(exchange, 200, hg_slice_text("ok\n"));
}

static bool add(struct hg_bytes *text, bool is_good, const char *name, const char *why)
{
    char line[LINE_MAX];

    snprintf(line, sizeof(line), "[%c]%s %s%s%s\n", is_good ? '+' : '-', name,
             is_good ? "ok" : "failed", why && *why ? ": " : "", why ? why : "");
    return hgi_bytes_append(text, hg_slice_text(line));
}

/* A loader that is down is no reason to send requests elsewhere: what is cached is served, and the
 * other servers have the same loader. It is shown, and does not count. */
static bool add_loaders(const struct hgi_services *services, struct hg_bytes *text)
{
    size_t count = services->supervisor ? hgi_supervisor_count(services->supervisor) : 0;
    bool is_good = true;

    for (size_t i = 0; i < count && is_good; i++) {
        struct hgi_loader_state state;
        char name[LINE_MAX / 4];

        hgi_supervisor_state(services->supervisor, i, &state);
        snprintf(name, sizeof(name), "loader %s", state.name);
        is_good = strcmp(state.state, "running") == 0
                      ? add(text, true, name, NULL)
                      : add(text, false, name, state.state) &&
                            hgi_bytes_append(text, hg_slice_text("   (does not count: what is "
                                                                 "cached is served)\n"));
    }
    return is_good;
}

static bool add_snapshot(const struct hgi_services *services, struct hg_bytes *text)
{
    struct hgi_snapshotter_stats stats;

    if (!services->snapshotter) {
        return true;
    }
    hgi_snapshotter_stats(services->snapshotter, &stats);
    return stats.is_degraded
               ? add(text, false, "snapshot", "degraded: the disk is behind") &&
                     hgi_bytes_append(text, hg_slice_text("   (does not count: clears tell it to "
                                                          "who asked for them)\n"))
               : add(text, true, "snapshot", NULL);
}

/* By the first word of a query such as "verbose" or "verbose=1&x". */
static bool is_verbose(struct hg_slice query)
{
    const size_t len = strlen("verbose");
    const char *text = query.data;

    return query.len >= len && memcmp(text, "verbose", len) == 0 &&
           (query.len == len || text[len] == '=' || text[len] == '&');
}

/* NULL: it is. */
static const char *why_not_ready(const struct hgi_dispatch *dispatch)
{
    if (hgi_dispatch_is_draining(dispatch)) {
        return "the server is stopping";
    }
    return hgi_dispatch_is_ready(dispatch) ? NULL : "an administrator has drained the server";
}

static void say_ready(struct hgi_http_exchange *exchange, const char *why_not)
{
    char line[LINE_MAX];

    snprintf(line, sizeof(line), "%s\n", why_not ? why_not : "ok");
    say_plain(exchange, why_not ? 503 : 200, hg_slice_text(line));
}

void hgi_http_readyz(struct hgi_http_exchange *exchange)
{
    const struct hgi_dispatch *dispatch = hgi_http_dispatch(exchange->http);
    const struct hgi_services *services = hgi_dispatch_services(dispatch);
    const char *why_not = why_not_ready(dispatch);
    struct hg_bytes text;

    if (!is_verbose(exchange->request.query)) {
        say_ready(exchange, why_not);
        return;
    }
    hgi_bytes_init(&text, &hgi_heap);
    if (add(&text, !why_not, "serving", why_not) && add_loaders(services, &text) &&
        add_snapshot(services, &text) &&
        hgi_bytes_append(
            &text, hg_slice_text(why_not ? "readyz check failed\n" : "readyz check passed\n"))) {
        say_plain(exchange, why_not ? 503 : 200, hgi_bytes_slice(&text));
    } else {
        hgi_http_refuse(exchange, 500, "RESOURCE_EXHAUSTED", "no memory for the answer");
    }
    hgi_bytes_deinit(&text);
}
