/* SPDX-License-Identifier: Apache-2.0 */
/* gateway_http: herdgate behind an HTTP server that never waits: libherdgate's asynchronous calls
 * in one thread of libmicrohttpd.
 *
 *     cc gateway_http.c -o gateway_http \
 *         $(pkg-config --cflags --libs herdgate libmicrohttpd libsodium)
 *     ./gateway_http ipc:///run/herdgate/herdgate.sock auth 8080
 *     curl -i -H 'X-API-Key: secret' http://127.0.0.1:8080/
 *
 * The cache knows SHA-256 of keys only, in hexadecimal (client/js/README.md shows how to try it). A
 * request that shows a key it allows is answered 200 with X-User-Id; a gateway would forward it
 * there. 401 and 403 are final, 503 is not: ask again. It says "gateway ready:
 * http://127.0.0.1:PORT" when it listens, and ends on SIGTERM. */
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

/* A gateway's request waits this long for its key at most. */
#define CHECK_TIMEOUT_MS 2000
#define USER_MAX         256

struct gateway {
    struct hg_client *client;
    const char *cache;
    /* No call may begin while the client is being closed. */
    pthread_mutex_t lock;
    bool is_ending;
};

/* One HTTP request, from its head to the end of its answer. */
struct request {
    struct MHD_Connection *connection;
    unsigned status; /* 0: not decided yet */
    unsigned retry_after_s;
    char user[USER_MAX];
};

/* ---- what an answer means ---- */

static void try_later(struct request *request, uint32_t retry_after_ms)
{
    request->status = MHD_HTTP_SERVICE_UNAVAILABLE;
    request->retry_after_s = retry_after_ms > 1000 ? (retry_after_ms + 999) / 1000 : 1;
}

/* A user whose name cannot stand in a header gets in nowhere. */
static bool copy_user(struct hg_slice user, char *ret_user)
{
    const unsigned char *at = user.data;

    if (!user.len || user.len >= USER_MAX) {
        return false;
    }
    for (size_t i = 0; i < user.len; i++) {
        if (at[i] <= ' ' || at[i] >= 0x7f) {
            return false;
        }
    }
    memcpy(ret_user, at, user.len);
    ret_user[user.len] = '\0';
    return true;
}

static void decide_by_value(struct request *request, const struct hg_answer *answer)
{
    struct hg_auth_value value;

    if (answer->value_type != HG_TYPE_AUTH ||
        hg_auth_decode(answer->value, &value, NULL) != HG_OK) {
        try_later(request, 0);
        return;
    }
    request->status = value.auth.allowed && copy_user(value.auth.user_id, request->user)
                          ? MHD_HTTP_OK
                          : MHD_HTTP_FORBIDDEN;
    hg_auth_value_deinit(&value);
}

/* It fails closed: only HG_OK with HG_VALUE and `allowed` lets a request in. */
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

/* On a thread of the library: decides, and hands the request back to the HTTP server. */
static void answered(void *arg, const struct hg_error *error, const struct hg_answer *answer)
{
    struct request *request = arg;

    decide(request, error, answer);
    MHD_resume_connection(request->connection);
}

/* The connection is suspended from before the call begins until its callback: that may come at
 * once. */
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

static enum MHD_Result respond(const struct request *request)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT);
    enum MHD_Result result;
    char text[16];

    if (!response) {
        return MHD_NO;
    }
    if (request->status == MHD_HTTP_OK) {
        (void)MHD_add_response_header(response, "X-User-Id", request->user);
    } else if (request->status == MHD_HTTP_UNAUTHORIZED) {
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
    } else if (request->status == MHD_HTTP_SERVICE_UNAVAILABLE) {
        snprintf(text, sizeof(text), "%u", request->retry_after_s);
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, text);
    }
    result = MHD_queue_response(request->connection, request->status, response);
    MHD_destroy_response(response);
    return result;
}

/* libmicrohttpd calls it when a request's head is there, with each piece of its body, at its end,
 * and again when it has been resumed. */
static enum MHD_Result handle(void *arg, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *body,
                              size_t *body_len, void **slot)
{
    struct request *request = *slot;
    struct credentials credentials = {.text = NULL};

    (void)url, (void)method, (void)version, (void)body;
    if (!request) {
        request = calloc(1, sizeof(*request));
        if (!request) {
            return MHD_NO;
        }
        request->connection = connection;
        *slot = request;
        return MHD_YES;
    }
    if (*body_len) {
        *body_len = 0; /* nobody reads it here */
        return MHD_YES;
    }
    if (request->status) {
        return respond(request);
    }
    (void)MHD_get_connection_values(connection, MHD_HEADER_KIND, count_credential, &credentials);
    if (credentials.count == 1) {
        ask(arg, request, credentials.text);
        return MHD_YES;
    }
    request->status = credentials.count ? MHD_HTTP_BAD_REQUEST : MHD_HTTP_UNAUTHORIZED;
    return respond(request);
}

static void completed(void *arg, struct MHD_Connection *connection, void **slot,
                      enum MHD_RequestTerminationCode code)
{
    (void)arg, (void)connection, (void)code;
    free(*slot);
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

    return MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME,
                            (uint16_t)port, NULL, NULL, handle, gateway, MHD_OPTION_SOCK_ADDR,
                            &address, MHD_OPTION_NOTIFY_COMPLETED, completed, NULL,
                            MHD_OPTION_CONNECTION_TIMEOUT, 60u, MHD_OPTION_END);
}

static void serve(struct gateway *gateway, unsigned long port, const sigset_t *ends)
{
    struct MHD_Daemon *http = listen_on(gateway, port);
    int caught;

    if (!http) {
        fprintf(stderr, "gateway_http: cannot listen on port %lu\n", port);
        exit(1);
    }
    printf("gateway ready: http://127.0.0.1:%u\n",
           MHD_get_daemon_info(http, MHD_DAEMON_INFO_BIND_PORT)->port);
    fflush(stdout);
    sigwait(ends, &caught);
    /* No new call, the ones in flight end, and with them what is suspended: then the server may
     * stop. */
    pthread_mutex_lock(&gateway->lock);
    gateway->is_ending = true;
    pthread_mutex_unlock(&gateway->lock);
    hg_client_close(&gateway->client);
    MHD_stop_daemon(http);
}

int main(int argc, char **argv)
{
    struct gateway gateway = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct hg_error error = {.text = "libsodium cannot be used"};
    sigset_t ends;

    if (argc < 3 || argc > 4) {
        fprintf(stderr, "usage: gateway_http URL CACHE [PORT]\n");
        return 2;
    }
    if (sodium_init() < 0 || hg_client_open(argv[1], NULL, &gateway.client, &error) != HG_OK) {
        fprintf(stderr, "gateway_http: %s\n", error.text);
        return 1;
    }
    gateway.cache = argv[2];
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    pthread_sigmask(SIG_BLOCK, &ends, NULL); /* also in the threads that begin now */
    serve(&gateway, argc == 4 ? strtoul(argv[3], NULL, 10) : 0, &ends);
    return 0;
}
