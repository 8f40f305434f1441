/* SPDX-License-Identifier: Apache-2.0 */
/* A request is a `visit` from its target's arrival (take_target) to its end (forget); its
 * connection a `door`, which is the asker that dispatch sees. All of both but the reply runs on the
 * one thread of the library that has the connection.
 *
 * The reply to a question may come from any thread, before or after the visit was put aside, so the
 * two meet in `meeting`: whoever comes second wakes the visit. A reply that comes in the turn that
 * asked puts nobody aside.
 *
 *   ASKED --answer--> ANSWERED              the turn goes on by itself
 *   ASKED --put aside--> ASIDE --answer--> ANSWERED, and the answerer resumes the connection */
#include "listener.h"

#include <microhttpd.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/log.h"
#include "base/thread.h"
#include "proto/tls/identity.h"
#include "server/http/doors.h"
#include "server/http/socket.h"
#include "server/rpc/dispatch.h"

/* The library keeps a request's head, and the field it makes of it, in one block a connection. */
#define CONNECTION_MEMORY (HGI_HTTP_HEAD_MAX + 98304u)
#define LOOK_MS           1
#define RETRY_AFTER       "1"

enum meeting { ASKED, ASIDE, ANSWERED };

static const unsigned counted[] = {200, 204, 304, 400, 401, 403, 404, 405,
                                   409, 413, 429, 431, 500, 503, 504, 0};
_Static_assert(sizeof(counted) / sizeof(counted[0]) == HGI_HTTP_STATUSES_MAX, "one place each");

struct hgi_http_listener {
    /* set once */
    struct hgi_http_listener_options options;
    struct hgi_http_socket socket;
    struct hgi_identity identity;
    struct hgi_dispatch *dispatch;
    struct MHD_Daemon *daemon;
    struct hgi_http_doors doors;
    bool is_quiet; /* the library does not have the socket any more */
    /* any thread's */
    _Atomic bool is_stopped;
    _Atomic uint64_t in_flight;
    _Atomic uint64_t connections;
    _Atomic uint64_t responses[HGI_HTTP_STATUSES_MAX];
};

struct visit;

struct door {
    struct hgi_http_door watched;
    struct hgi_asker asker;
    struct hgi_http_listener *listener;
    bool is_admitted;
    struct visit *visit; /* the one that asks */
};

struct visit {
    struct hgi_http_exchange exchange;
    struct hgi_http_listener *listener;
    struct MHD_Connection *connection;
    struct door *door;
    char *target;
    struct hgi_http_field *fields; /* HGI_HTTP_FIELDS_MAX */
    size_t head_len;
    bool is_head_too_long;
    bool is_body_too_long;
    bool is_begun;  /* its head has come */
    bool is_routed; /* and counts in in_flight */
    bool is_asking;
    struct hg_bytes body;
    _Atomic unsigned meeting;
};

/* ---- asking ---- */

static void take_reply(struct hgi_asker *asker, const struct hgi_sp_route *route,
                       const struct hgi_pieces *body)
{
    struct door *door = HGI_CONTAINER(asker, struct door, asker);
    struct visit *visit = door->visit;
    struct hgi_http_question *question = &visit->exchange.question;

    (void)route; /* one question at a time */
    question->has_reply = hgi_pieces_append(body, &question->reply_bytes);
    if (atomic_exchange(&visit->meeting, ANSWERED) == ASIDE) {
        MHD_resume_connection(visit->connection);
    }
}

/* What came back, understood; without memory it is what that is called. */
static void read_reply(struct hgi_http_exchange *exchange)
{
    struct hgi_http_question *question = &exchange->question;

    if (!question->has_reply || hgi_reply_decode(hgi_bytes_slice(&question->reply_bytes),
                                                 &exchange->arena, &question->reply) != HG_OK) {
        question->reply = (struct hgi_reply){.status = HG_RESOURCE_EXHAUSTED,
                                             .message = hg_slice_text("no memory for the reply")};
    }
}

/* True: the reply is there. False: the visit is put aside. */
static bool ask(struct visit *visit)
{
    struct hgi_http_question *question = &visit->exchange.question;
    const struct hgi_sp_route route = hgi_sp_route_of(1);
    struct hgi_request request = {.method = question->method,
                                  .timeout_ms = question->timeout_ms,
                                  .payload = hgi_bytes_slice(&question->payload),
                                  .metadata_count = question->told_count};
    struct hg_bytes packed;
    unsigned asked = ASKED;

    memcpy(request.metadata, question->told, sizeof(question->told));
    hgi_bytes_init(&packed, &hgi_heap);
    if (!hgi_request_encode(&request, &packed)) {
        hgi_bytes_deinit(&packed);
        return true; /* no reply is what it reads */
    }
    atomic_store(&visit->meeting, ASKED);
    visit->door->visit = visit;
    hgi_dispatch_request(visit->listener->dispatch, &visit->door->asker, &route,
                         hgi_bytes_slice(&packed));
    hgi_bytes_deinit(&packed);
    if (atomic_load(&visit->meeting) == ANSWERED) {
        return true;
    }
    MHD_suspend_connection(visit->connection);
    if (!atomic_compare_exchange_strong(&visit->meeting, &asked, ASIDE)) {
        MHD_resume_connection(
            visit->connection); /* answered just now: its next turn begins at once */
    }
    return false;
}

/* Goes on until the response is filled (true) or somebody else has to answer first. */
static bool go_on(struct visit *visit)
{
    struct hgi_http_exchange *exchange = &visit->exchange;

    while (exchange->answered) {
        void (*answered)(struct hgi_http_exchange * exchange) = exchange->answered;

        if (!visit->is_asking && !ask(visit)) {
            visit->is_asking = true;
            return false;
        }
        visit->is_asking = false;
        exchange->answered = NULL;
        read_reply(exchange);
        answered(exchange);
    }
    return true;
}

/* ---- one request ---- */

static void count_response(struct hgi_http_listener *listener, unsigned status)
{
    size_t place = 0;

    while (counted[place] && counted[place] != status) {
        place++;
    }
    atomic_fetch_add_explicit(&listener->responses[place], 1, memory_order_relaxed);
}

/* The body lies in the visit's arena, or in the program, longer than the library looks at it: it is
 * not copied once more, and wiped with the arena. */
static enum MHD_Result respond(struct visit *visit)
{
    const struct hgi_http_response *said = &visit->exchange.response;
    /* Not copied: it is there until the visit is forgotten, which is after the last byte, and is
     * wiped then. */
    struct MHD_Response *response = MHD_create_response_from_buffer(
        said->body.len, said->body.len ? (void *)(uintptr_t)said->body.data : "",
        MHD_RESPMEM_PERSISTENT);
    enum MHD_Result result = MHD_NO;

    if (response) {
        result = MHD_YES;
        for (size_t i = 0; i < said->field_count && result == MHD_YES; i++) {
            result = MHD_add_response_header(response, said->fields[i].name, said->fields[i].value);
        }
        if (result == MHD_YES) {
            result = MHD_queue_response(visit->connection, said->status, response);
        }
        MHD_destroy_response(response);
    }
    count_response(visit->listener, result == MHD_YES ? said->status : 500);
    if (visit->is_routed) {
        visit->is_routed = false;
        atomic_fetch_sub(&visit->listener->in_flight, 1);
    }
    hgi_http_door_allow(&visit->door->watched, visit->listener->options.config->idle_ms);
    return result;
}

static void refuse_busy(struct hgi_http_exchange *exchange, const char *sentence)
{
    hgi_http_refuse(exchange, 503, "UNAVAILABLE", sentence);
    hgi_http_response_say(&exchange->response, "Retry-After", RETRY_AFTER);
}

/* Who is counted in is answered before the listener stops, so is_stopped is looked at after it. */
static void run_route(struct visit *visit)
{
    struct hgi_http_listener *listener = visit->listener;
    struct hgi_http_exchange *exchange = &visit->exchange;
    uint64_t others = atomic_fetch_add(&listener->in_flight, 1);

    visit->is_routed = true;
    hgi_http_door_allow(&visit->door->watched, 0);
    exchange->request.body = hgi_bytes_slice(&visit->body);
    if (visit->is_head_too_long) {
        hgi_http_refuse(exchange, 431, "INVALID_ARGUMENT",
                        "target and fields are longer than 64 KiB, or more than 200");
    } else if (visit->is_body_too_long) {
        hgi_http_refuse(exchange, 413, "INVALID_ARGUMENT", "the body is longer than message_max");
    } else if (atomic_load(&listener->is_stopped)) {
        refuse_busy(exchange, "the server is stopping");
    } else if (others >= listener->options.config->in_flight_max) {
        refuse_busy(exchange, "too many requests wait for an answer (in_flight_max)");
    } else if (!visit->door->is_admitted) {
        hgi_http_refuse(exchange, 403, "PERMISSION_DENIED",
                        "this socket is for the users in peers only");
    } else {
        listener->options.route(exchange);
    }
}

static enum MHD_Result take_field(void *context, enum MHD_ValueKind kind, const char *name,
                                  size_t name_len, const char *value, size_t value_len)
{
    struct visit *visit = context;
    struct hgi_http_request *request = &visit->exchange.request;

    (void)kind;
    visit->head_len += name_len + value_len + 4;
    if (request->field_count == HGI_HTTP_FIELDS_MAX || visit->head_len > HGI_HTTP_HEAD_MAX) {
        visit->is_head_too_long = true;
        return MHD_NO;
    }
    visit->fields[request->field_count++] =
        (struct hgi_http_field){hg_slice_of(name, name_len), hg_slice_of(value, value_len)};
    return MHD_YES;
}

static bool begin(struct visit *visit, const char *method)
{
    struct hgi_http_exchange *exchange = &visit->exchange;

    visit->is_begun = true;
    visit->fields = hgi_arena_alloc(&exchange->arena, HGI_HTTP_FIELDS_MAX * sizeof(*visit->fields));
    if (!visit->fields) {
        return false;
    }
    hgi_http_door_allow(&visit->door->watched, visit->listener->options.limits->body_ms);
    exchange->peer = &visit->door->asker.peer;
    exchange->now = hgi_clock_now();
    exchange->request.method = hg_slice_text(method);
    exchange->request.fields = visit->fields;
    visit->head_len = strlen(visit->target);
    hgi_http_target_split(hg_slice_text(visit->target), &exchange->request.path,
                          &exchange->request.query);
    (void)MHD_get_connection_values_n(visit->connection, MHD_HEADER_KIND, take_field, visit);
    return true;
}

static void take_body(struct visit *visit, const char *data, size_t *inout_len)
{
    struct hgi_http_listener *listener = visit->listener;

    if (visit->body.len + *inout_len > listener->options.limits->message_max_bytes) {
        visit->is_body_too_long = true;
    } else if (listener->options.takes_body && !visit->is_body_too_long &&
               !hgi_bytes_append(&visit->body, hg_slice_of(data, *inout_len))) {
        visit->is_body_too_long = true;
    }
    *inout_len = 0;
}

static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_len, void **inout_visit)
{
    struct visit *visit = *inout_visit;

    (void)context;
    (void)connection;
    (void)url; /* decoded; the target is as it came */
    (void)version;
    if (!visit) {
        return MHD_NO;
    }
    if (!visit->is_begun) {
        return begin(visit, method) ? MHD_YES : MHD_NO;
    }
    if (*upload_len) {
        take_body(visit, upload, upload_len);
        return MHD_YES;
    }
    if (!visit->is_routed) {
        run_route(visit);
    }
    return go_on(visit) ? respond(visit) : MHD_YES;
}

/* ---- the library's other questions ---- */

static void *take_target(void *context, const char *target, struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct door *door = info ? info->socket_context : NULL;
    struct visit *visit = door ? hgi_alloc(&hgi_heap, sizeof(*visit)) : NULL;
    struct hgi_http_exchange *exchange;

    if (!visit) {
        return NULL;
    }
    hgi_http_door_allow(&door->watched, door->listener->options.limits->body_ms);
    visit->door = door;
    exchange = &visit->exchange;
    visit->listener = context;
    visit->connection = connection;
    visit->target = hgi_text_copy(&hgi_heap, hg_slice_text(target));
    if (!visit->target) {
        hgi_free(&hgi_heap, visit);
        return NULL;
    }
    exchange->http = visit->listener->options.http;
    exchange->listener = visit->listener->options.config;
    hgi_arena_init(&exchange->arena, HGI_HTTP_ARENA_MIN);
    hgi_http_response_init(&exchange->response, &exchange->arena);
    hgi_bytes_init(&exchange->question.payload, &hgi_heap);
    hgi_bytes_init(&exchange->question.reply_bytes, &hgi_heap);
    hgi_bytes_init(&visit->body, &hgi_heap);
    return visit;
}

/* All of it may be credentials. */
static void forget(void *context, struct MHD_Connection *connection, void **inout_visit,
                   enum MHD_RequestTerminationCode why)
{
    struct visit *visit = *inout_visit;

    (void)context;
    (void)connection;
    (void)why;
    if (!visit) {
        return;
    }
    if (visit->is_routed) {
        atomic_fetch_sub(&visit->listener->in_flight, 1);
    }
    hgi_bytes_deinit(&visit->body);
    hgi_bytes_deinit(&visit->exchange.question.payload);
    hgi_bytes_deinit(&visit->exchange.question.reply_bytes);
    hgi_arena_deinit(&visit->exchange.arena);
    explicit_bzero(visit->target, strlen(visit->target));
    hgi_free(&hgi_heap, visit->target);
    hgi_free(&hgi_heap, visit);
    *inout_visit = NULL;
}

static bool is_admitted(const struct hgi_http_listener *listener, const struct hgi_peer *peer)
{
    bool is_admitted = peer->access != HGI_ACCESS_OWNER;

    for (size_t i = 0; i < listener->options.peer_count && !is_admitted; i++) {
        is_admitted = listener->options.peers[i] == peer->uid;
    }
    return is_admitted;
}

static struct door *open_door(struct hgi_http_listener *listener, struct MHD_Connection *connection)
{
    const struct hgi_http_config *config = listener->options.config;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct hgi_peer peer = {.is_ipc = config->path != NULL, .is_tls = config->is_tls};
    struct door *door = info ? hgi_alloc(&hgi_heap, sizeof(*door)) : NULL;

    if (!door) {
        return NULL;
    }
    peer.access = config->services == HGI_HTTP_AUTHZ ? HGI_ACCESS_DATA : config->access;
    door->is_admitted = !peer.is_ipc || hgi_http_socket_peer(info->connect_fd, &peer);
    door->is_admitted = door->is_admitted && is_admitted(listener, &peer);
    door->listener = listener;
    hgi_asker_init(&door->asker, &peer, take_reply);
    hgi_http_door_allow(&door->watched,
                        listener->options.limits->handshake_ms + listener->options.limits->body_ms);
    hgi_http_doors_add(&listener->doors, &door->watched, info->connect_fd);
    return door;
}

static void come_or_go(void *context, struct MHD_Connection *connection, void **inout_door,
                       enum MHD_ConnectionNotificationCode code)
{
    struct hgi_http_listener *listener = context;
    struct door *door = *inout_door;

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
        flags, 0, NULL, NULL, handle, listener, MHD_OPTION_EXTERNAL_LOGGER, log_line, listener,
        MHD_OPTION_LISTEN_SOCKET, listener->socket.fd, MHD_OPTION_URI_LOG_CALLBACK, take_target,
        listener, MHD_OPTION_NOTIFY_COMPLETED, forget, listener, MHD_OPTION_NOTIFY_CONNECTION,
        come_or_go, listener, MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, listener,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)config->connections_max, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)((config->idle_ms + 999) / 1000), MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_ARRAY, more, MHD_OPTION_END);
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
        ret_counts->responses[i].status = counted[i];
        ret_counts->responses[i].count = atomic_load(&read->responses[i]);
    }
}
