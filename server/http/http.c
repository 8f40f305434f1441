/* SPDX-License-Identifier: Apache-2.0 */
#include "http.h"

#include <stdio.h>

#include "authz.h"
#include "history.h"
#include "listener.h"
#include "operator.h"
#include "server/rpc/dispatch.h"

struct hgi_http {
    const struct hgi_config *config;
    const char *version;
    struct hgi_dispatch *dispatch;
    struct hgi_http_history *history;
    size_t count;
    struct hgi_http_listener *listeners[];
};

static enum hg_status open_listener(struct hgi_http *http, const struct hgi_http_config *config,
                                    char *ret_sentence)
{
    bool is_operator = config->services == HGI_HTTP_OPERATOR;
    const struct hgi_http_listener_options options = {
        .config = config,
        .route = is_operator ? hgi_http_operator : hgi_http_authz,
        .http = http,
        .peers = http->config->peers,
        .peer_count = http->config->peer_count,
        .limits = &http->config->limits,
        .takes_body = is_operator,
    };
    enum hg_status status =
        hgi_http_listener_open(&options, &http->listeners[http->count], ret_sentence);

    http->count += status == HG_OK;
    return status;
}

enum hg_status hgi_http_open(const struct hgi_config *config, const char *version,
                             struct hgi_http **ret_http, char *ret_sentence)
{
    struct hgi_http *http = hgi_alloc(
        &hgi_heap, sizeof(*http) + config->http_count * sizeof(struct hgi_http_listener *));
    enum hg_status status = HG_OK;

    if (!http) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX, "no memory for HTTP");
        return HG_RESOURCE_EXHAUSTED;
    }
    http->config = config;
    http->version = version;
    for (size_t i = 0; i < config->http_count && status == HG_OK; i++) {
        status = open_listener(http, &config->https[i], ret_sentence);
    }
    if (status != HG_OK) {
        hgi_http_close(&http);
        return status;
    }
    *ret_http = http;
    return HG_OK;
}

enum hg_status hgi_http_check(const struct hgi_config *config, char *ret_sentence)
{
    enum hg_status status = HG_OK;

    for (size_t i = 0; i < config->http_count && status == HG_OK; i++) {
        status = hgi_http_listener_check(&config->https[i], ret_sentence);
    }
    return status;
}

static bool has_operator(const struct hgi_config *config)
{
    bool has = false;

    for (size_t i = 0; i < config->http_count && !has; i++) {
        has = config->https[i].services == HGI_HTTP_OPERATOR;
    }
    return has;
}

bool hgi_http_start(struct hgi_http *http, struct hgi_dispatch *dispatch, const struct hgi_now *now)
{
    bool is_good = true;

    http->dispatch = dispatch;
    if (has_operator(http->config)) {
        http->history = hgi_http_history_create(hgi_dispatch_services(dispatch)->registry, now);
        is_good = http->history != NULL;
    }
    for (size_t i = 0; i < http->count && is_good; i++) {
        is_good = hgi_http_listener_start(http->listeners[i], dispatch);
    }
    return is_good;
}

void hgi_http_tick(struct hgi_http *http, const struct hgi_now *now)
{
    if (http && http->history) {
        hgi_http_history_tick(http->history, now);
    }
    for (size_t i = 0; http && i < http->count; i++) {
        hgi_http_listener_sweep(http->listeners[i], now);
    }
}

void hgi_http_quiesce(struct hgi_http *http)
{
    for (size_t i = 0; http && i < http->count; i++) {
        hgi_http_listener_quiesce(http->listeners[i]);
    }
}

bool hgi_http_stop(struct hgi_http *http, int64_t wait_ms)
{
    bool is_idle = true;

    for (size_t i = 0; http && i < http->count; i++) {
        is_idle = hgi_http_listener_stop(http->listeners[i], wait_ms) && is_idle;
    }
    return is_idle;
}

void hgi_http_close(struct hgi_http **http)
{
    if (!*http) {
        return;
    }
    for (size_t i = 0; i < (*http)->count; i++) {
        hgi_http_listener_close(&(*http)->listeners[i]);
    }
    hgi_http_history_destroy(&(*http)->history);
    hgi_free(&hgi_heap, *http);
    *http = NULL;
}

size_t hgi_http_count(const struct hgi_http *http)
{
    return http ? http->count : 0;
}

const char *hgi_http_url(const struct hgi_http *http, size_t index)
{
    return hgi_http_listener_url(http->listeners[index]);
}

struct hgi_dispatch *hgi_http_dispatch(const struct hgi_http *http)
{
    return http->dispatch;
}

const struct hgi_config *hgi_http_config(const struct hgi_http *http)
{
    return http->config;
}

const char *hgi_http_version(const struct hgi_http *http)
{
    return http->version;
}

const struct hgi_http_listener *hgi_http_listener_at(const struct hgi_http *http, size_t index)
{
    return http->listeners[index];
}

struct hgi_http_history *hgi_http_history(const struct hgi_http *http)
{
    return http->history;
}
