/* SPDX-License-Identifier: Apache-2.0 */
/* The library's daemon and its connections, each behind a door (doors). Their requests:
 * listener_visit.c. */
#include "listener_inside.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/thread.h"
#include "server/rpc/dispatch.h"

/* The library keeps a request's head, and the field it makes of it, in one block a connection. */
#define CONNECTION_MEMORY (HGI_HTTP_HEAD_MAX + 98304u)
#define LOOK_MS           1

/* ---- connections ---- */

static bool is_admitted(const struct hgi_http_listener *listener, const struct hgi_peer *peer)
{
    bool is_admitted = peer->access != HGI_ACCESS_OWNER;

    for (size_t i = 0; i < listener->options.peer_count && !is_admitted; i++) {
        is_admitted = listener->options.peers[i] == peer->uid;
    }
    return is_admitted;
}

static struct hgi_http_connection *open_door(struct hgi_http_listener *listener,
                                             struct MHD_Connection *connection)
{
    const struct hgi_http_config *config = listener->options.config;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct hgi_peer peer = {.is_ipc = config->path != NULL, .is_tls = config->is_tls};
    struct hgi_http_connection *door = info ? hgi_alloc(&hgi_heap, sizeof(*door)) : NULL;

    if (!door) {
        return NULL;
    }
    peer.access = config->services == HGI_HTTP_AUTHZ ? HGI_ACCESS_DATA : config->access;
    door->is_admitted = !peer.is_ipc || hgi_http_socket_peer(info->connect_fd, &peer);
    door->is_admitted = door->is_admitted && is_admitted(listener, &peer);
    door->listener = listener;
    hgi_asker_init(&door->asker, &peer, hgi_http_visit_answer);
    hgi_http_door_allow(&door->watched,
                        listener->options.limits->handshake_ms + listener->options.limits->body_ms);
    hgi_http_doors_add(&listener->doors, &door->watched, info->connect_fd);
    return door;
}

static void come_or_go(void *context, struct MHD_Connection *connection, void **inout_door,
                       enum MHD_ConnectionNotificationCode code)
{
    struct hgi_http_listener *listener = context;
    struct hgi_http_connection *door = *inout_door;

    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        atomic_fetch_add_explicit(&listener->connections, 1, memory_order_relaxed);
        *inout_door = open_door(listener, connection);
    } else if (door) {
        hgi_http_doors_remove(&listener->doors, &door->watched);
        hgi_dispatch_gone(listener->dispatch, &door->asker);
        hgi_free(&hgi_heap, door);
        *inout_door = NULL;
    }
}

static size_t keep_escapes(void *context, struct MHD_Connection *connection, char *text)
{
    (void)context;
    (void)connection;
    return strlen(text);
}

static void log_line(void *context, const char *format, va_list args) HG_PRINTF(2, 0);

static void log_line(void *context, const char *format, va_list args)
{
    struct hgi_http_listener *listener = context;
    char line[256];

    vsnprintf(line, sizeof(line), format, args);
    line[strcspn(line, "\n")] = '\0';
    hgi_text_flatten(line); /* it may quote a peer */
    hgi_log(HG_LOG_DEBUG, "%s: %s", listener->socket.url, line);
}

/* ---- open, start, stop, close ---- */

static enum hg_status read_identity(const struct hgi_http_config *config,
                                    struct hgi_identity *ret_identity, char *ret_sentence)
{
    const struct hgi_identity_files files = {
        .cert = config->cert, .key = config->key, .is_server = true};

    return config->is_tls ? hgi_identity_init(&files, ret_identity, ret_sentence) : HG_OK;
}

enum hg_status hgi_http_listener_check(const struct hgi_http_config *config, char *ret_sentence)
{
    struct hgi_identity identity = {.ca = {.data = NULL}};
    enum hg_status status = read_identity(config, &identity, ret_sentence);

    hgi_identity_deinit(&identity);
    return status;
}

enum hg_status hgi_http_listener_open(const struct hgi_http_listener_options *options,
                                      struct hgi_http_listener **ret_listener, char *ret_sentence)
{
    struct hgi_http_listener *listener = hgi_alloc(&hgi_heap, sizeof(*listener));
    enum hg_status status;

    if (!listener) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX, "%.140s: no memory", options->config->url);
        return HG_RESOURCE_EXHAUSTED;
    }
    listener->options = *options;
    listener->is_quiet = true;
    hgi_http_doors_init(&listener->doors);
    status = read_identity(options->config, &listener->identity, ret_sentence);
    if (status == HG_OK) {
        status = hgi_http_socket_open(options->config, &listener->socket, ret_sentence);
    }
    if (status != HG_OK) {
        hgi_http_doors_deinit(&listener->doors);
        hgi_identity_deinit(&listener->identity);
        hgi_free(&hgi_heap, listener);
        return status;
    }
    *ret_listener = listener;
    return HG_OK;
}

bool hgi_http_listener_start(struct hgi_http_listener *listener, struct hgi_dispatch *dispatch)
{
    const struct hgi_http_config *config = listener->options.config;
    struct MHD_OptionItem more[] = {{MHD_OPTION_END, 0, NULL},
                                    {MHD_OPTION_END, 0, NULL},
                                    {MHD_OPTION_END, 0, NULL},
                                    {MHD_OPTION_END, 0, NULL}};
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
    size_t count = 0;

    listener->dispatch = dispatch;
    if (config->threads > 1) {
        more[count++] = (struct MHD_OptionItem){MHD_OPTION_THREAD_POOL_SIZE, config->threads, NULL};
    }
    if (config->is_tls) {
        flags |= MHD_USE_TLS;
        more[count++] =
            (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_CERT, 0, listener->identity.cert.data};
        more[count++] =
            (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_KEY, 0, listener->identity.key.data};
    }
    listener->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, hgi_http_visit_take, listener, MHD_OPTION_EXTERNAL_LOGGER, log_line,
        listener, MHD_OPTION_LISTEN_SOCKET, listener->socket.fd, MHD_OPTION_URI_LOG_CALLBACK,
        hgi_http_visit_open, listener, MHD_OPTION_NOTIFY_COMPLETED, hgi_http_visit_close, listener,
        MHD_OPTION_NOTIFY_CONNECTION, come_or_go, listener, MHD_OPTION_UNESCAPE_CALLBACK,
        keep_escapes, listener, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)config->connections_max,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)((config->idle_ms + 999) / 1000),
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_ARRAY, more, MHD_OPTION_END);
    listener->is_quiet = !listener->daemon;
    return listener->daemon != NULL;
}

void hgi_http_listener_sweep(struct hgi_http_listener *listener, const struct hgi_now *now)
{
    hgi_http_doors_sweep(&listener->doors, now);
}

void hgi_http_listener_quiesce(struct hgi_http_listener *listener)
{
    if (!listener->is_quiet) {
        listener->is_quiet = true;
        (void)MHD_quiesce_daemon(
            listener->daemon); /* the socket is ours again, and closed by close */
    }
}

bool hgi_http_listener_stop(struct hgi_http_listener *listener, int64_t wait_ms)
{
    int64_t end_ms = hgi_clock_now().boot_ms + wait_ms;

    atomic_store(&listener->is_stopped, true);
    while (atomic_load(&listener->in_flight) > 0) {
        if (hgi_clock_now().boot_ms >= end_ms) {
            return false;
        }
        hgi_thread_pause(LOOK_MS);
    }
    return true;
}

void hgi_http_listener_close(struct hgi_http_listener **listener)
{
    if (!*listener) {
        return;
    }
    hgi_http_listener_quiesce(*listener);
    if ((*listener)->daemon) {
        MHD_stop_daemon((*listener)->daemon);
    }
    hgi_http_doors_deinit(&(*listener)->doors);
    hgi_http_socket_close(&(*listener)->socket);
    hgi_identity_deinit(&(*listener)->identity);
    hgi_free(&hgi_heap, *listener);
    *listener = NULL;
}

const char *hgi_http_listener_url(const struct hgi_http_listener *listener)
{
    return listener->socket.url;
}

const struct hgi_http_config *hgi_http_listener_config(const struct hgi_http_listener *listener)
{
    return listener->options.config;
}

void hgi_http_listener_count(const struct hgi_http_listener *listener,
                             struct hgi_http_listener_counts *ret_counts)
{
    struct hgi_http_listener *read = (struct hgi_http_listener *)(uintptr_t)listener;

    ret_counts->connections = atomic_load(&read->connections);
    ret_counts->timeouts = atomic_load(&read->doors.shut_count);
    ret_counts->in_flight = atomic_load(&read->in_flight);
    ret_counts->response_count = HGI_HTTP_STATUSES_MAX;
    for (size_t i = 0; i < HGI_HTTP_STATUSES_MAX; i++) {
        ret_counts->responses[i].status = hgi_http_visit_status(i);
        ret_counts->responses[i].count = atomic_load(&read->responses[i]);
    }
}
