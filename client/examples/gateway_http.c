/* SPDX-License-Identifier: Apache-2.0 */
/* gateway_http: a small API gateway that waits for nothing: libherdgate's asynchronous calls say
 * who may pass, one thread of libmicrohttpd serves, one of libcurl forwards.
 *
 *     cc gateway_http.c gateway_upstream.c -o gateway_http \
 *         $(pkg-config --cflags --libs herdgate libmicrohttpd libcurl libsodium)
 *     ./gateway_http ipc:///run/herdgate/herdgate.sock auth http://127.0.0.1:9000 8080
 *     curl -i -H 'X-API-Key: secret' http://127.0.0.1:8080/
 *
 * The cache knows SHA-256 of keys only, in hexadecimal (client/js/README.md shows how to try it). A
 * request that shows a key it allows is forwarded, and the upstream is told who it is; 401 and 403
 * are final, 503 is not: ask again. An upstream that cannot be reached is 502, one that is too slow
 * 504. Bodies are held in memory, both ways, up to BODY_MAX. It says "gateway ready:
 * http://127.0.0.1:PORT" when it listens, and ends on SIGTERM when what is under way is answered.
 */
#include <ctype.h>
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

#include "gateway_upstream.h"

/* A gateway's request waits this long for its key at most. */
#define CHECK_TIMEOUT_MS 2000

struct gateway {
    struct hg_client *client;
    const char *cache;
    struct upstream *upstream;
    /* No call may begin while the client is being closed. */
    pthread_mutex_t lock;
    bool is_ending;
};

/* One HTTP request, from its target to the end of its answer. It belongs to the server's thread,
 * then to whoever has it while its connection is suspended: a thread of herdgate's client, then the
 * upstream's. */
struct request {
    struct gateway *gateway;
    struct MHD_Connection *connection;
    char *target; /* as it came */
    bool has_head;
    bool is_too_long;
    struct hg_auth_value who; /* of who may pass, if it is known */
    bool is_known;
    struct forwarding forwarding;
    bool is_short;   /* of memory for its headers */
    unsigned status; /* 0: not decided yet */
    unsigned retry_after_s;
};

/* ---- which headers pass ---- */

static bool is_listed(const char *const *names, const char *name, size_t len)
{
    for (size_t i = 0; names[i]; i++) {
        bool is_same = strlen(names[i]) == len;

        for (size_t c = 0; c < len && is_same; c++) {
            /* Many programs behind take a name with "_" for the one with "-". */
            is_same = names[i][c] == (name[c] == '_' ? '-' : tolower((unsigned char)name[c]));
        }
        if (is_same) {
            return true;
        }
    }
    return false;
}

/* `name` is one of the words of a Connection header. */
static bool is_named(const char *connection, const char *name, size_t len)
{
    while (connection && *connection) {
        size_t word = strcspn(connection, ", \t");

        if (word == len && strncasecmp(connection, name, len) == 0) {
            return true;
        }
        connection += word + strspn(connection + word, ", \t");
    }
    return false;
}

/* Of one connection, not of the message (RFC 9110, 7.6.1), and what is made anew for each. */
static bool is_hop(const char *connection, const char *name, size_t len)
{
    static const char *const names[] = {"connection",
                                        "keep-alive",
                                        "proxy-authenticate",
                                        "proxy-authorization",
                                        "proxy-connection",
                                        "te",
                                        "trailer",
                                        "transfer-encoding",
                                        "upgrade",
                                        "host",
                                        "content-length",
                                        "expect",
                                        NULL};

    return is_listed(names, name, len) || is_named(connection, name, len);
}

/* What only the gateway may say, and the credential, which the upstream has no use for. */
static bool is_ours(const char *name)
{
    static const char *const names[] = {"authorization", "x-api-key", "x-user-id",
                                        "x-api-key-id",  "x-scopes",  NULL};

    return is_listed(names, name, strlen(name));
}

static bool add_header(struct request *request, const char *text)
{
    struct curl_slist *longer = curl_slist_append(request->forwarding.headers, text);

    if (longer) {
        request->forwarding.headers = longer;
    }
    return longer != NULL;
}

/* libcurl wants "Name;" where the value is empty. */
static bool send_header(struct request *request, const char *name, const char *value)
{
    size_t size = strlen(name) + strlen(value) + 3;
    char *text = malloc(size);
    bool is_added;

    if (!text) {
        return false;
    }
    snprintf(text, size, *value ? "%s: %s" : "%s;", name, value);
    is_added = add_header(request, text);
    free(text);
    return is_added;
}

/* What cannot stand in a header becomes %XX. */
static bool add_escaped(struct text *text, struct hg_slice value)
{
    const unsigned char *at = value.data;
    bool is_good = true;
    char escape[4];

    for (size_t i = 0; i < value.len && is_good; i++) {
        bool is_plain = at[i] > ' ' && at[i] < 0x7f && at[i] != '%';

        snprintf(escape, sizeof(escape), is_plain ? "%c" : "%%%02X", at[i]);
        is_good = text_grow(text, escape, strlen(escape));
    }
    return is_good;
}

static bool send_identity(struct request *request, const char *name, const struct hg_slice *values,
                          size_t count)
{
    struct text text = {NULL, 0};
    bool is_good = true;

    for (size_t i = 0; i < count && is_good; i++) {
        is_good = (i == 0 || text_grow(&text, " ", 1)) && add_escaped(&text, values[i]);
    }
    is_good = is_good && text_grow(&text, "", 1) && send_header(request, name, text.text);
    free(text.text);
    return is_good;
}

static enum MHD_Result take_header(void *arg, enum MHD_ValueKind kind, const char *name,
                                   const char *value)
{
    struct request *request = arg;
    const char *connection = MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND,
                                                         MHD_HTTP_HEADER_CONNECTION);

    (void)kind;
    if (!is_hop(connection, name, strlen(name)) && !is_ours(name)) {
        request->is_short = request->is_short || !send_header(request, name, value ? value : "");
    }
    return MHD_YES;
}

static bool write_headers(struct request *request)
{
    const struct hg_auth *auth = &request->who.auth;

    (void)MHD_get_connection_values(request->connection, MHD_HEADER_KIND, take_header, request);
    return !request->is_short && send_identity(request, "X-User-Id", &auth->user_id, 1) &&
           send_identity(request, "X-Api-Key-Id", &auth->api_key_id, 1) &&
           send_identity(request, "X-Scopes", auth->scopes, auth->scope_count) &&
           /* What libcurl would add, where the client did not say it. */
           add_header(request, "Expect:") && add_header(request, "Accept:") &&
           add_header(request, "Content-Type:");
}

/* ---- forwarding ---- */

/* On the upstream's thread. */
static void forwarded(struct forwarding *forwarding)
{
    struct request *request =
        (struct request *)((char *)forwarding - offsetof(struct request, forwarding));

    request->status = forwarding->status;
    MHD_resume_connection(request->connection);
}

static void forward(struct request *request)
{
    request->forwarding.target = request->target;
    request->forwarding.done = forwarded;
    if (write_headers(request)) {
        upstream_submit(request->gateway->upstream, &request->forwarding);
    } else {
        request->status = MHD_HTTP_INTERNAL_SERVER_ERROR;
        MHD_resume_connection(request->connection);
    }
}

/* The value of the upstream's last Connection header, whose words name others that do not pass. */
static const char *named_by(const struct curl_slist *fields)
{
    const char *connection = NULL;

    for (; fields; fields = fields->next) {
        if (strncasecmp(fields->data, "Connection:", 11) == 0) {
            connection = fields->data + 11;
        }
    }
    return connection;
}

static void add_fields(struct MHD_Response *response, const struct curl_slist *fields)
{
    const char *connection = named_by(fields);

    for (; fields; fields = fields->next) {
        char *colon = strchr(fields->data, ':');

        if (!is_hop(connection, fields->data, (size_t)(colon - fields->data))) {
            *colon = '\0';
            (void)MHD_add_response_header(response, fields->data,
                                          colon + 1 + strspn(colon + 1, " \t"));
            *colon = ':';
        }
    }
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

    if (response) {
        add_fields(response, from->fields);
    }
    return response;
}

/* ---- what an answer means ---- */

static void try_later(struct request *request, uint32_t retry_after_ms)
{
    request->status = MHD_HTTP_SERVICE_UNAVAILABLE;
    request->retry_after_s = retry_after_ms > 1000 ? (retry_after_ms + 999) / 1000 : 1;
}

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

/* On a thread of the library: decides, and hands the request on, or back. */
static void answered(void *arg, const struct hg_error *error, const struct hg_answer *answer)
{
    struct request *request = arg;

    decide(request, error, answer);
    if (request->status) {
        MHD_resume_connection(request->connection);
    } else {
        forward(request);
    }
}

/* The connection is suspended from before the call begins until there is an answer: that may come
 * at once. */
static void ask(struct gateway *gateway, struct request *request, const char *credential)
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    char key_hash[2 * sizeof(hash) + 1];
    struct hg_read read = {.cache = gateway->cache, .timeout_ms = CHECK_TIMEOUT_MS};
    struct hg_error error = {.status = HG_UNAVAILABLE};
    bool is_begun;

    crypto_hash_sha256(hash, (const unsigned char *)credential, strlen(credential));
    sodium_bin2hex(key_hash, sizeof(key_hash), hash, sizeof(hash));
    read.key = (struct hg_key){.kind = HG_KEY_KEY_HASH, .bytes = hg_slice_text(key_hash)};
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

struct credentials {
    const char *text;
    size_t count;
};

static enum MHD_Result count_credential(void *arg, enum MHD_ValueKind kind, const char *name,
                                        const char *value)
{
    struct credentials *credentials = arg;
    const char *text = NULL;

    (void)kind;
    if (strcasecmp(name, "X-API-Key") == 0) {
        text = value;
    } else if (strcasecmp(name, MHD_HTTP_HEADER_AUTHORIZATION) == 0 && value &&
               strncasecmp(value, "Bearer ", 7) == 0) {
        text = value + 7 + strspn(value + 7, " ");
    }
    if (text && *text) {
        credentials->text = text;
        credentials->count++;
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

/* Its body is there, too. */
static enum MHD_Result route(struct gateway *gateway, struct request *request)
{
    struct credentials credentials = {.text = NULL};

    (void)MHD_get_connection_values(request->connection, MHD_HEADER_KIND, count_credential,
                                    &credentials);
    if (credentials.count == 0) {
        request->status = MHD_HTTP_UNAUTHORIZED;
    } else if (credentials.count > 1 || *request->target != '/') {
        request->status = MHD_HTTP_BAD_REQUEST;
    } else if (request->is_too_long) {
        request->status = MHD_HTTP_CONTENT_TOO_LARGE;
    } else {
        ask(gateway, request, credentials.text);
        return MHD_YES;
    }
    return respond(request);
}

/* libmicrohttpd calls it when a request's head is there, with each piece of its body, at its end,
 * and again when it has been resumed. */
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
        return MHD_YES;
    }
    if (*body_len) {
        request->is_too_long =
            request->is_too_long || !text_grow(&request->forwarding.body, body, *body_len);
        *body_len = 0;
        return MHD_YES;
    }
    return request->status ? respond(request) : route(arg, request);
}

/* The first that is known of a request: its target, not decoded. */
static void *begin_request(void *arg, const char *target, struct MHD_Connection *connection)
{
    struct request *request = calloc(1, sizeof(*request));

    if (request) {
        request->gateway = arg;
        request->connection = connection;
        request->target = strdup(target);
    }
    if (request && !request->target) {
        free(request);
        request = NULL;
    }
    return request;
}

static void end_request(void *arg, struct MHD_Connection *connection, void **slot,
                        enum MHD_RequestTerminationCode code)
{
    struct request *request = *slot;

    (void)arg, (void)connection, (void)code;
    if (!request) {
        return;
    }
    if (request->is_known) {
        hg_auth_value_deinit(&request->who);
    }
    curl_slist_free_all(request->forwarding.headers);
    forwarding_deinit(&request->forwarding);
    free(request->target);
    free(request);
    *slot = NULL;
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
        gateway, MHD_OPTION_NOTIFY_COMPLETED, end_request, NULL, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_CONNECTION_TIMEOUT, 60u, MHD_OPTION_END);
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
    /* No new call; the ones in flight end, and then what they had forwarded, and with that what is
     * suspended: then the server may stop. */
    pthread_mutex_lock(&gateway->lock);
    gateway->is_ending = true;
    pthread_mutex_unlock(&gateway->lock);
    hg_client_close(&gateway->client);
    upstream_stop(gateway->upstream);
    MHD_stop_daemon(http);
    return 0;
}

int main(int argc, char **argv)
{
    struct gateway gateway = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct hg_error error = {.text = "libsodium or libcurl cannot be used"};
    sigset_t ends;

    if (argc < 4 || argc > 5) {
        fprintf(stderr, "usage: gateway_http HERDGATE_URL CACHE UPSTREAM [PORT]\n");
        return 2;
    }
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    pthread_sigmask(SIG_BLOCK, &ends, NULL); /* also in the threads that begin now */
    if (sodium_init() < 0 || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK ||
        !(gateway.upstream = upstream_start(argv[3])) ||
        hg_client_open(argv[1], NULL, &gateway.client, &error) != HG_OK) {
        fprintf(stderr, "gateway_http: %s\n", error.text);
        return 1;
    }
    gateway.cache = argv[2];
    return serve(&gateway, argc == 5 ? strtoul(argv[4], NULL, 10) : 0, &ends);
}
