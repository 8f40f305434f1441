/* SPDX-License-Identifier: Apache-2.0 */
#include "heartbeat.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/log.h"
#include "proto/codec.h"
#include "proto/envelope.h"
#include "proto/sp.h"

#define IPC          "ipc://"
#define TLS          "tls+"
#define STEPS        8
#define REQUEST_ID   1u
#define ANSWER_BYTES 4096u

union address {
    struct sockaddr any;
    struct sockaddr_un ipc;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static bool read_host(const char *text, uint16_t port, union address *ret_address,
                      socklen_t *ret_len)
{
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = port};
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = port};

    if (inet_pton(AF_INET6, text, &v6.sin6_addr) == 1) {
        ret_address->v6 = v6;
        *ret_len = sizeof(v6);
        return true;
    }
    if (inet_pton(AF_INET, strcmp(text, "localhost") == 0 ? "127.0.0.1" : text, &v4.sin_addr) ==
        1) {
        ret_address->v4 = v4;
        *ret_len = sizeof(v4);
        return true;
    }
    return false;
}

/* A name of a host is none: who answers for it may be away while the server is well. */
static bool read_address(const char *url, union address *ret_address, socklen_t *ret_len)
{
    const char *host = strstr(url, "://");
    const char *colon = strrchr(url, ':');
    char text[INET6_ADDRSTRLEN];
    size_t len;

    if (strncmp(url, IPC, strlen(IPC)) == 0) {
        ret_address->ipc.sun_family = AF_UNIX;
        snprintf(ret_address->ipc.sun_path, sizeof(ret_address->ipc.sun_path), "%s",
                 url + strlen(IPC));
        *ret_len = sizeof(ret_address->ipc);
        return true;
    }
    if (!host || colon <= host) {
        return false;
    }
    host += strlen("://");
    len = (size_t)(colon - host);
    if (len > 1 && host[0] == '[' && host[len - 1] == ']') {
        host++;
        len -= 2;
    }
    if (len >= sizeof(text)) {
        return false;
    }
    memcpy(text, host, len);
    text[len] = '\0';
    return read_host(text, htons((uint16_t)strtoul(colon + 1, NULL, 10)), ret_address, ret_len);
}

bool hgi_heartbeat_can_ask(const char *url)
{
    union address address;
    socklen_t len;

    return read_address(url, &address, &len);
}

/* -1: nobody takes the connection. */
static int dial(const char *url, const struct timeval *timeout)
{
    union address address;
    socklen_t len = 0;
    int fd;

    memset(&address, 0, sizeof(address));
    if (!read_address(url, &address, &len)) {
        return -1;
    }
    fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, timeout, sizeof(*timeout)) != 0 ||
                    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, timeout, sizeof(*timeout)) != 0 ||
                    connect(fd, &address.any, len) != 0)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static enum hgi_sp_transport transport_of(const char *url)
{
    return strncmp(url, IPC, strlen(IPC)) == 0 ? HGI_SP_IPC : HGI_SP_TCP;
}

/* The handshake and a Health/Check behind it, in one piece. */
static bool put_question(enum hgi_sp_transport transport, struct hg_bytes *out)
{
    const struct hgi_sp_route route = hgi_sp_route_of(REQUEST_ID);
    const struct hgi_request request = {.method = HGI_METHOD_HEALTH_CHECK};
    unsigned char head[HGI_SP_HEAD_MAX];
    unsigned char hello[HGI_SP_HANDSHAKE_LEN];
    struct hg_bytes body;
    bool is_done;

    hgi_bytes_init(&body, &hgi_heap);
    hgi_sp_handshake(HGI_SP_REQ, hello);
    is_done =
        hgi_request_encode(&request, &body) &&
        hgi_bytes_append(out, hg_slice_of(hello, sizeof(hello))) &&
        hgi_bytes_append(out, hg_slice_of(head, hgi_sp_head(transport, &route, body.len, head))) &&
        hgi_bytes_append(out, hgi_bytes_slice(&body));
    hgi_bytes_deinit(&body);
    return is_done;
}

/* Reads until there is an answer, or there will be none. */
static bool is_answered(int fd, const char *url, int64_t until_ms)
{
    const enum hgi_sp_transport transport = transport_of(url);
    unsigned char bytes[ANSWER_BYTES];
    struct hgi_sp_frame frame;
    size_t len = 0;
    size_t used = 0;
    size_t needed = 0;

    while (len < sizeof(bytes) && hgi_clock_now().boot_ms < until_ms) {
        ssize_t got = recv(fd, bytes + len, sizeof(bytes) - len, 0);

        if (got <= 0) {
            /* Closed before a word: turned away, because it is full or does not know us. */
            return len == 0 && (got == 0 || errno == ECONNRESET);
        }
        len += (size_t)got;
        if (strncmp(url, TLS, strlen(TLS)) == 0) {
            return true; /* told off, for we do not speak TLS */
        }
        if (len >= HGI_SP_HANDSHAKE_LEN) {
            enum hgi_sp_cut cut;

            if (!hgi_sp_handshake_is(HGI_SP_REP, bytes)) {
                return false;
            }
            cut = hgi_sp_cut(transport,
                             hg_slice_of(bytes + HGI_SP_HANDSHAKE_LEN, len - HGI_SP_HANDSHAKE_LEN),
                             sizeof(bytes), &frame, &used, &needed);
            if (cut != HGI_SP_MORE) {
                return cut == HGI_SP_FRAME && hgi_sp_route_id(&frame.route) == REQUEST_ID;
            }
        }
    }
    return false;
}

bool hgi_heartbeat_ask(const char *url, int64_t timeout_ms)
{
    const struct timeval timeout = {.tv_sec = timeout_ms / 1000,
                                    .tv_usec = timeout_ms % 1000 * 1000};
    int64_t until_ms = hgi_clock_now().boot_ms + timeout_ms;
    struct hg_bytes question;
    bool is_alive = false;
    int fd;

    hgi_bytes_init(&question, &hgi_heap);
    fd = dial(url, &timeout);
    if (fd >= 0 && put_question(transport_of(url), &question)) {
        /* It fits into the socket's buffer; turned away, it may fail, and what is read tells. */
        ssize_t sent = send(fd, question.data, question.len, MSG_NOSIGNAL);

        is_alive =
            (sent >= 0 || errno == EPIPE || errno == ECONNRESET) && is_answered(fd, url, until_ms);
    }
    if (fd >= 0) {
        close(fd);
    }
    hgi_bytes_deinit(&question);
    return is_alive;
}

/* False: it is to stop. */
static bool pause_step(struct hgi_heartbeat *heartbeat)
{
    int64_t until_ms = hgi_clock_now().boot_ms + heartbeat->step_ms;
    bool is_stopping;

    hgi_lock_lifecycle(&heartbeat->lock);
    while (!heartbeat->is_stopping) {
        int64_t left_ms = until_ms - hgi_clock_now().boot_ms;

        if (left_ms <= 0) {
            break;
        }
        (void)hgi_cond_wait(&heartbeat->wake, &heartbeat->lock, left_ms);
    }
    is_stopping = heartbeat->is_stopping;
    hgi_unlock_lifecycle(&heartbeat->lock);
    return !is_stopping;
}

static void beat(void *arg)
{
    struct hgi_heartbeat *heartbeat = arg;
    unsigned misses = 0;

    do {
        if (!heartbeat->url || hgi_heartbeat_ask(heartbeat->url, heartbeat->step_ms)) {
            misses = 0;
            (void)hgi_notify_send(heartbeat->notify, "WATCHDOG=1");
        } else {
            misses++;
            hgi_log(HG_LOG_ERROR, "no answer at %s within %lld ms, to ourselves (%u of %u)",
                    heartbeat->url, (long long)heartbeat->step_ms, misses, HGI_HEARTBEAT_MISSES);
        }
        if (misses == HGI_HEARTBEAT_MISSES ||
            heartbeat->body->is_broken(heartbeat->body->context)) {
            heartbeat->body->dead();
            return;
        }
    } while (pause_step(heartbeat));
}

bool hgi_heartbeat_start(struct hgi_heartbeat *heartbeat, const struct hgi_notify *notify,
                         const char *url, const struct hgi_heartbeat_body *body)
{
    *heartbeat = (struct hgi_heartbeat){.notify = notify, .url = url, .body = body};
    heartbeat->step_ms = notify->watchdog_ms > STEPS ? notify->watchdog_ms / STEPS : 1;
    hgi_lock_init(&heartbeat->lock);
    hgi_cond_init(&heartbeat->wake);
    if (!hgi_thread_start(&heartbeat->thread, "heartbeat", beat, heartbeat)) {
        hgi_cond_deinit(&heartbeat->wake);
        hgi_lock_deinit(&heartbeat->lock);
        return false;
    }
    return true;
}

void hgi_heartbeat_stop(struct hgi_heartbeat *heartbeat)
{
    if (!heartbeat->thread.is_started) {
        return;
    }
    hgi_lock_lifecycle(&heartbeat->lock);
    heartbeat->is_stopping = true;
    hgi_cond_wake_all(&heartbeat->wake);
    hgi_unlock_lifecycle(&heartbeat->lock);
    hgi_thread_join(&heartbeat->thread);
    hgi_cond_deinit(&heartbeat->wake);
    hgi_lock_deinit(&heartbeat->lock);
}
