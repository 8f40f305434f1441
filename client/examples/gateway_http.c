/* SPDX-License-Identifier: Apache-2.0 */
/* gateway_http: a small API gateway that waits for nothing: libherdgate's asynchronous calls say
 * who may pass, one thread of libmicrohttpd serves, one of libcurl forwards.
 *
 *     cc gateway_http.c gateway_headers.c gateway_upstream.c -o gateway_http \
 *         $(pkg-config --cflags --libs herdgate libmicrohttpd libcurl libsodium)
 *     ./gateway_http ipc:///run/herdgate/herdgate.sock auth http://127.0.0.1:9000 8080
 *     curl -i -H 'X-API-Key: secret' http://127.0.0.1:8080/
 *
 * The cache knows SHA-256 of keys only, in hexadecimal (client/js/README.md shows how to try it). A
 * request that shows a key it allows is forwarded, and the upstream is told who it is; 401 and 403
 * are final, 503 is not: ask again. An upstream that cannot be reached is 502, one that is too slow
 * 504. Bodies are held in memory, both ways, up to BODY_MAX, and only of who may pass. It says
 * "gateway ready: http://127.0.0.1:PORT" when it listens, and ends on SIGTERM when what is under
 * way is answered. */
#include <herdgate/client.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "gateway_headers.h"
#include "gateway_upstream.h"

/* A gateway's request waits this long for its key at most. */
#define CHECK_TIMEOUT_MS 2000
/* At the end an answer may take this long to be sent. */
#define LAST_SEND_S 5

struct gateway {
    struct hg_client *client;
    const char *cache;
    struct upstream *upstream;
    /* No call or forwarding may begin while their ends are being closed. */
    pthread_mutex_t lock;
    bool is_ending;
    size_t open_count; /* of requests */
    pthread_cond_t fewer;
};

/* One HTTP request, from its target to the end of its answer. It belongs to the server's thread,
 * but while its connection is suspended: then to a thread of herdgate's client, or to the
 * upstream's. */
struct request {
    struct gateway *gateway;
    struct MHD_Connection *connection;
    char *target; /* as it came */
    bool has_head;
    bool is_malformed;
    bool is_short;            /* of memory for its headers */
    struct text named;        /* by its Connection headers */
    const char *credential;   /* the last of them */
    size_t credential_count;  /* more than one is nobody's */
    bool is_asking;           /* whether it may pass */
    struct hg_auth_value who; /* of who may pass, if it is known */
    bool is_known;
    struct forwarding forwarding;
    unsigned status; /* 0: not decided yet */
    unsigned retry_after_s;
};

/* ---- forwarding ---- */

static void try_later(struct request *request, uint32_t retry_after_ms)
{
    request->status = MHD_HTTP_SERVICE_UNAVAILABLE;
    request->retry_after_s = retry_after_ms > 1000 ? (retry_after_ms + 999) / 1000 : 1;
}

static enum MHD_Result pass_header(void *arg, enum MHD_ValueKind kind, const char *name,
                                   const char *value)
{
    struct request *request = arg;

    (void)kind;
    if (!is_hop(&request->named, name, strlen(name)) && !is_ours(name)) {
        request->is_short |= !add_header(&request->forwarding.headers, name, value ? value : "");
    }
    return MHD_YES;
}

/* On the upstream's thread. */
static void forwarded(struct forwarding *forwarding)
{
    struct request *request =
        (struct request *)((char *)forwarding - offsetof(struct request, forwarding));

    request->status = forwarding->status;
    MHD_resume_connection(request->connection);
}

/* True: it has begun, and the connection is suspended until it is done. */
static bool forward(struct gateway *gateway, struct request *request)
{
    struct forwarding *forwarding = &request->forwarding;
    bool is_begun = false;

    (void)MHD_get_connection_values(request->connection, MHD_HEADER_KIND, pass_header, request);
    request->is_short |= !add_identity(&forwarding->headers, &request->who.auth);
    forwarding->target = request->target;
    forwarding->done = forwarded;
    pthread_mutex_lock(&gateway->lock);
    if (request->is_short) {
        request->status = MHD_HTTP_INTERNAL_SERVER_ERROR;
    } else if (gateway->is_ending) {
        try_later(request, 0);
    } else {
        is_begun = true;
        MHD_suspend_connection(request->connection);
        upstream_submit(gateway->upstream, forwarding);
    }
    pthread_mutex_unlock(&gateway->lock);
    return is_begun;
}

/* The library takes no header whose value is empty: those do not pass. */
static bool add_fields(struct MHD_Response *response, const struct curl_slist *fields)
{
    struct text named = {NULL, 0};
    bool is_good = true;

    for (const struct curl_slist *at = fields; at && is_good; at = at->next) {
        size_t len = strcspn(at->data, ":");

        is_good = add_named(&named, at->data, len, at->data + len + 1);
    }
    for (const struct curl_slist *at = fields; at && is_good; at = at->next) {
        size_t len = strcspn(at->data, ":");

        if (!is_hop(&named, at->data, len)) {
            at->data[len] = '\0';
            (void)MHD_add_response_header(response, at->data,
                                          at->data + len + 1 + strspn(at->data + len + 1, " \t"));
            at->data[len] = ':';
        }
    }
    free(named.text);
    return is_good;
}

static ssize_t no_body(void *arg, uint64_t at, char *buffer, size_t size)
{
    (void)arg, (void)at, (void)buffer, (void)size;
    return MHD_CONTENT_READER_END_OF_STREAM;
}

/* An answer to HEAD says how long the other would be, if the upstream does. If it does not, the
 * server would end the chunks there are none of; as of HTTP/1.0 it does not begin them. */
static struct MHD_Response *make_head(const struct forwarding *from)
{
    bool is_said = from->announced_len >= 0;
    struct MHD_Response *response = MHD_create_response_from_callback(
        is_said ? (uint64_t)from->announced_len : MHD_SIZE_UNKNOWN, 1024, no_body, NULL, NULL);

    if (response && !is_said) {
        (void)MHD_set_response_options(response, MHD_RF_HTTP_VERSION_1_0_RESPONSE, MHD_RO_END);
    }
    return response;
}

static struct MHD_Response *make_answer(const struct forwarding *from)
{
    struct MHD_Response *response =
        strcmp(from->method, MHD_HTTP_METHOD_HEAD) == 0
            ? make_head(from)
            : MHD_create_response_from_buffer(from->body.len,
                                              from->body.len ? (void *)from->body.text : (void *)"",
                                              MHD_RESPMEM_PERSISTENT);

    if (response && !add_fields(response, from->fields)) {
        MHD_destroy_response(response);
        response = NULL;
    }
    return response;
}

/* ---- what an answer means ---- */

static void decide_by_value(struct request *request, const struct hg_answer *answer)
{
    if (answer->value_type != HG_TYPE_AUTH ||
        hg_auth_decode(answer->value, &request->who, NULL) != HG_OK) {
        try_later(request, 0);
        return;
    }
    request->is_known = true;
    if (!request->who.auth.allowed) {
        request->status = MHD_HTTP_FORBIDDEN;
    }
}

/* It fails closed: only HG_OK with HG_VALUE and `allowed` leaves the status 0, which lets a request
 * in. */
static void decide(struct request *request, const struct hg_error *error,
                   const struct hg_answer *answer)
{
    if (error->status == HG_INVALID_ARGUMENT) {
        request->status = MHD_HTTP_UNAUTHORIZED; /* what the client sent can be no key */
    } else if (error->status != HG_OK) {
        try_later(request, error->retry_after_ms);
    } else if (answer->outcome == HG_VALUE) {
        decide_by_value(request, answer);
    } else if (answer->outcome == HG_ABSENT) {
        request->status = MHD_HTTP_UNAUTHORIZED;
    } else if (answer->outcome == HG_DENIED) {
        request->status = MHD_HTTP_FORBIDDEN;
    } else {
        try_later(request, 0);
    }
}

/* ---- asking ---- */

/* On a thread of the library: decides, and hands the request back. */
static void answered(void *arg, const struct hg_error *error, const struct hg_answer *answer)
{
    struct request *request = arg;

    decide(request, error, answer);
    MHD_resume_connection(request->connection);
}

/* The connection is suspended from before the call begins until there is an answer: that may come
 * at once. */
static void ask(struct gateway *gateway, struct request *request)
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    char key_hash[2 * sizeof(hash) + 1];
    struct hg_read read = {.cache = gateway->cache, .timeout_ms = CHECK_TIMEOUT_MS};
    struct hg_error error = {.status = HG_UNAVAILABLE};
    bool is_begun;

    crypto_hash_sha256(hash, (const unsigned char *)request->credential,
                       strlen(request->credential));
    sodium_bin2hex(key_hash, sizeof(key_hash), hash, sizeof(hash));
    /* A load that this request begins is part of its trace. */
    read.traceparent =
        MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, "traceparent");
    read.key = (struct hg_key){.kind = HG_KEY_KEY_HASH, .bytes = hg_slice_text(key_hash)};
    request->is_asking = true;
    MHD_suspend_connection(request->connection);
    pthread_mutex_lock(&gateway->lock);
    is_begun = !gateway->is_ending && hg_client_get_or_load_async(gateway->client, &read, answered,
                                                                  request, &error) == HG_OK;
    pthread_mutex_unlock(&gateway->lock);
    if (!is_begun) {
        decide(request, &error, NULL);
        MHD_resume_connection(request->connection);
    }
}

/* ---- HTTP ---- */

/* What the library lets through may still be another line, or another name, to an upstream that is
 * more lenient: "X-User-Id : root" must not get there. */
static enum MHD_Result look_at_header(void *arg, enum MHD_ValueKind kind, const char *name,
                                      const char *value)
{
    struct request *request = arg;
    const char *credential = NULL;

    (void)kind;
    value = value ? value : "";
    request->is_malformed |= !is_token(name) || !is_one_line(value);
    request->is_short |= !add_named(&request->named, name, strlen(name), value);
    if (strcasecmp(name, "X-API-Key") == 0) {
        credential = value;
    } else if (strcasecmp(name, MHD_HTTP_HEADER_AUTHORIZATION) == 0 &&
               strncasecmp(value, "Bearer ", 7) == 0) {
        credential = value + 7 + strspn(value + 7, " ");
    }
    if (credential && *credential) {
        request->credential = credential;
        request->credential_count++;
    }
    return MHD_YES;
}

static struct MHD_Response *make_refusal(const struct request *request)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT);
    char text[16];

    if (response && request->status == MHD_HTTP_UNAUTHORIZED) {
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
    } else if (response && request->status == MHD_HTTP_SERVICE_UNAVAILABLE) {
        snprintf(text, sizeof(text), "%u", request->retry_after_s);
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, text);
    }
    return response;
}

static enum MHD_Result respond(const struct request *request)
{
    struct MHD_Response *response =
        request->forwarding.is_answered ? make_answer(&request->forwarding) : make_refusal(request);
    enum MHD_Result result =
        response ? MHD_queue_response(request->connection, request->status, response) : MHD_NO;

    if (response) {
        MHD_destroy_response(response);
    }
    return result;
}

/* Its head is there. Who may not pass is known before a body is held in memory for him. */
static void admit(struct gateway *gateway, struct request *request)
{
    const char *target = request->target;

    (void)MHD_get_connection_values(request->connection, MHD_HEADER_KIND, look_at_header, request);
    /* Only a path: "GET http://elsewhere/" must not choose where this goes. */
    request->is_malformed |= !is_token(request->forwarding.method) || *target != '/' ||
                             !is_one_line(target) || strpbrk(target, " \t");
    if (request->is_short) {
        request->status = MHD_HTTP_INTERNAL_SERVER_ERROR;
    } else if (request->is_malformed || request->credential_count > 1) {
        request->status = MHD_HTTP_BAD_REQUEST;
    } else if (request->credential_count == 0) {
        request->status = MHD_HTTP_UNAUTHORIZED;
    } else {
        ask(gateway, request);
    }
}

static void take_body(struct request *request, const char *body, size_t len)
{
    if (!request->status && !text_grow(&request->forwarding.body, body, len)) {
        request->status = MHD_HTTP_CONTENT_TOO_LARGE;
    }
}

/* libmicrohttpd calls it when a request's head is there, once more if it was suspended then, with
 * each piece of its body, at its end, and once more if it was suspended there. */
static enum MHD_Result handle(void *arg, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *body,
                              size_t *body_len, void **slot)
{
    struct request *request = *slot;

    (void)connection, (void)url, (void)version;
    if (!request) {
        return MHD_NO;
    }
    if (!request->has_head) {
        request->has_head = true;
        request->forwarding.method = method;
        admit(arg, request);
        return MHD_YES;
    }
    if (request->is_asking) {
        request->is_asking = false;
        return MHD_YES;
    }
    if (*body_len) {
        take_body(request, body, *body_len);
        *body_len = 0;
        return MHD_YES;
    }
    return !request->status && forward(arg, request) ? MHD_YES : respond(request);
}

/* The first that is known of a request: its target, not decoded. */
static void *begin_request(void *arg, const char *target, struct MHD_Connection *connection)
{
    struct gateway *gateway = arg;
    struct request *request = calloc(1, sizeof(*request));

    if (request) {
        request->gateway = gateway;
        request->connection = connection;
        request->target = strdup(target);
    }
    if (!request || !request->target) {
        free(request);
        return NULL;
    }
    pthread_mutex_lock(&gateway->lock);
    gateway->open_count++;
    pthread_mutex_unlock(&gateway->lock);
    return request;
}

/* Its answer is sent, or its client gone. */
static void end_request(void *arg, struct MHD_Connection *connection, void **slot,
                        enum MHD_RequestTerminationCode code)
{
    struct gateway *gateway = arg;
    struct request *request = *slot;

    (void)connection, (void)code;
    if (!request) {
        return;
    }
    if (request->is_known) {
        hg_auth_value_deinit(&request->who);
    }
    curl_slist_free_all(request->forwarding.headers);
    forwarding_deinit(&request->forwarding);
    free(request->named.text);
    free(request->target);
    free(request);
    *slot = NULL;
    pthread_mutex_lock(&gateway->lock);
    gateway->open_count--;
    pthread_cond_signal(&gateway->fewer);
    pthread_mutex_unlock(&gateway->lock);
}

/* ---- start and stop ---- */

static struct MHD_Daemon *listen_on(struct gateway *gateway, unsigned long port)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };

    return MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, (uint16_t)port, NULL, NULL,
        handle, gateway, MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_URI_LOG_CALLBACK, begin_request,
        gateway, MHD_OPTION_NOTIFY_COMPLETED, end_request, gateway, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_CONNECTION_TIMEOUT, 60u, MHD_OPTION_END);
}

static void await_last_sends(struct gateway *gateway)
{
    struct timespec until;
    int late = 0;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += LAST_SEND_S;
    pthread_mutex_lock(&gateway->lock);
    while (gateway->open_count && !late) {
        late = pthread_cond_timedwait(&gateway->fewer, &gateway->lock, &until);
    }
    pthread_mutex_unlock(&gateway->lock);
}

static int serve(struct gateway *gateway, unsigned long port, const sigset_t *ends)
{
    struct MHD_Daemon *http = listen_on(gateway, port);
    int caught;

    if (!http) {
        fprintf(stderr, "gateway_http: cannot listen on port %lu\n", port);
        return 1;
    }
    printf("gateway ready: http://127.0.0.1:%u\n",
           MHD_get_daemon_info(http, MHD_DAEMON_INFO_BIND_PORT)->port);
    fflush(stdout);
    sigwait(ends, &caught);
    /* No new connection and no new call; the calls in flight end, then what was forwarded, and with
     * that what is suspended: then the answers are sent, and the server may stop. */
    close(MHD_quiesce_daemon(http));
    pthread_mutex_lock(&gateway->lock);
    gateway->is_ending = true;
    pthread_mutex_unlock(&gateway->lock);
    hg_client_close(&gateway->client);
    upstream_stop(gateway->upstream);
    await_last_sends(gateway);
    MHD_stop_daemon(http);
    return 0;
}

int main(int argc, char **argv)
{
    struct gateway gateway = {.lock = PTHREAD_MUTEX_INITIALIZER, .fewer = PTHREAD_COND_INITIALIZER};
    struct hg_error error = {.text = "libsodium or libcurl cannot be used"};
    sigset_t ends;

    if (argc < 4 || argc > 5) {
        fprintf(stderr, "usage: gateway_http HERDGATE_URL CACHE UPSTREAM [PORT]\n");
        return 2;
    }
    if (!upstream_is_url(argv[3])) {
        fprintf(stderr, "gateway_http: \"%s\" is no upstream: it is http://host:port\n", argv[3]);
        return 2;
    }
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    pthread_sigmask(SIG_BLOCK, &ends, NULL); /* also in the threads that begin now */
    signal(SIGPIPE, SIG_IGN);                /* an upstream over TLS that hangs up */
    if (sodium_init() < 0 || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK ||
        !(gateway.upstream = upstream_start(argv[3])) ||
        hg_client_open(argv[1], NULL, &gateway.client, &error) != HG_OK) {
        fprintf(stderr, "gateway_http: %s\n", error.text);
        return 1;
    }
    gateway.cache = argv[2];
    return serve(&gateway, argc == 5 ? strtoul(argv[4], NULL, 10) : 0, &ends);
}
