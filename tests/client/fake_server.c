/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_server.h"

#include <check.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/kind.h"
#include "base/thread.h"

#define PEERS_MAX   64
#define MESSAGE_MAX (16u * 1024u * 1024u)
#define READ_BYTES  65536u
#define POLL_MS     10

struct peer {
    int fd; /* -1: none */
    bool is_greeted;
    bool has_said_hello;
    struct hg_bytes in;
};

struct fake_server {
    struct fake_options options;
    char url[160];
    char path[108];
    int listener;
    struct hgi_thread thread;
    struct peer peers[PEERS_MAX];
    _Atomic unsigned connections;
    _Atomic unsigned requests;
    _Atomic bool is_listening; /* a silent or deaf server was told to go on */
    _Atomic bool is_stopping;
};

static void write_all(int fd, const void *data, size_t len)
{
    size_t done = 0;

    while (done < len) {
        ssize_t count = send(fd, (const char *)data + done, len - done, MSG_NOSIGNAL);

        if (count <= 0) {
            return; /* the client has gone: nobody to answer */
        }
        done += (size_t)count;
    }
}

static void peer_close(struct peer *peer)
{
    if (peer->fd >= 0) {
        close(peer->fd);
        peer->fd = -1;
        hgi_bytes_deinit(&peer->in);
    }
}

static enum hgi_sp_transport transport_of(const struct fake_server *server)
{
    return server->options.is_tcp ? HGI_SP_TCP : HGI_SP_IPC;
}

void fake_reply(struct fake_server *server, const struct fake_caller *caller,
                const struct hgi_reply *reply)
{
    struct hg_bytes body;
    unsigned char head[HGI_SP_HEAD_MAX];
    int fd = server->peers[caller->peer].fd;
    size_t head_len;

    hgi_bytes_init(&body, &hgi_heap);
    ck_assert(hgi_reply_encode(reply, &body));
    head_len = hgi_sp_head(transport_of(server), &caller->route, body.len, head);
    if (fd >= 0) {
        write_all(fd, head, head_len);
        write_all(fd, body.data, body.len);
    }
    hgi_bytes_deinit(&body);
}

void fake_reply_ok(struct fake_server *server, const struct fake_caller *caller,
                   const struct hg_bytes *payload)
{
    struct hgi_reply reply = {.status = HG_OK, .payload = hgi_bytes_slice(payload)};

    fake_reply(server, caller, &reply);
}

void fake_reply_error(struct fake_server *server, const struct fake_caller *caller,
                      enum hg_status status, const char *text)
{
    struct hgi_reply reply = {.status = status, .message = hg_slice_text(text)};

    fake_reply(server, caller, &reply);
}

void fake_reply_value(struct fake_server *server, const struct fake_caller *caller,
                      struct hg_slice value)
{
    struct hgi_msg_answer answer = {.outcome = HG_VALUE,
                                    .source = HG_SOURCE_FRESH,
                                    .value = value,
                                    .value_type = HG_TYPE_BYTES};
    struct hg_bytes payload;

    hgi_bytes_init(&payload, &hgi_heap);
    ck_assert(hgi_answer_encode(&answer, &payload));
    fake_reply_ok(server, caller, &payload);
    hgi_bytes_deinit(&payload);
}

void fake_drop(struct fake_server *server, const struct fake_caller *caller)
{
    /* The loop frees what it is just reading from: here only the peer's end is shut. */
    (void)shutdown(server->peers[caller->peer].fd, SHUT_RDWR);
}

static void handle(struct fake_server *server, int index, const struct hgi_sp_frame *frame)
{
    struct fake_caller caller = {.peer = index, .route = frame->route};
    char sentence[HGI_SENTENCE_MAX];
    struct hgi_request request;
    struct hgi_arena arena;

    hgi_arena_init(&arena, hgi_arena_budget(frame->body.len));
    ck_assert_int_eq(hgi_request_decode(frame->body, &arena, &request, sentence), HG_OK);
    atomic_fetch_add(&server->requests, 1);
    server->options.handler(server, server->options.context, &caller, &request);
    hgi_arena_deinit(&arena);
}

static void take_frames(struct fake_server *server, int index)
{
    struct peer *peer = &server->peers[index];
    struct hgi_sp_frame frame;
    size_t taken = 0;

    if (!peer->has_said_hello) {
        if (peer->in.len < HGI_SP_HANDSHAKE_LEN) {
            return;
        }
        ck_assert(hgi_sp_handshake_is(HGI_SP_REQ, peer->in.data));
        peer->has_said_hello = true;
        taken = HGI_SP_HANDSHAKE_LEN;
    }
    for (;;) {
        struct hg_slice rest = hg_slice_of(peer->in.data + taken, peer->in.len - taken);
        size_t consumed;
        size_t needed;
        enum hgi_sp_cut cut =
            hgi_sp_cut(transport_of(server), rest, MESSAGE_MAX, &frame, &consumed, &needed);

        ck_assert_int_ne(cut, HGI_SP_BAD);
        if (cut == HGI_SP_MORE) {
            break;
        }
        handle(server, index, &frame);
        taken += consumed;
    }
    hgi_bytes_consume(&peer->in, taken);
}

static void peer_read(struct fake_server *server, int index)
{
    struct peer *peer = &server->peers[index];
    ssize_t count;

    ck_assert(hgi_bytes_reserve(&peer->in, READ_BYTES));
    count = recv(peer->fd, peer->in.data + peer->in.len, READ_BYTES, 0);
    if (count <= 0) {
        peer_close(peer);
        return;
    }
    peer->in.len += (size_t)count;
    take_frames(server, index);
}

static void greet(struct fake_server *server, struct peer *peer)
{
    unsigned char greeting[HGI_SP_HANDSHAKE_LEN];

    if (server->options.greeting == FAKE_IS_HTTP) {
        write_all(peer->fd, "HTTP/1.1 400 Bad Request\r\n\r\n", 28);
    } else {
        hgi_sp_handshake(HGI_SP_REP, greeting);
        write_all(peer->fd, greeting, sizeof(greeting));
    }
    peer->is_greeted = true;
}

static void accept_one(struct fake_server *server)
{
    int fd = accept(server->listener, NULL, NULL);

    for (int i = 0; i < PEERS_MAX && fd >= 0; i++) {
        struct peer *peer = &server->peers[i];

        if (peer->fd < 0) {
            peer->fd = fd;
            peer->is_greeted = false;
            peer->has_said_hello = false;
            hgi_bytes_init(&peer->in, &hgi_heap);
            atomic_fetch_add(&server->connections, 1);
            return;
        }
    }
    ck_abort_msg("too many connections for the fake server");
}

static void run(void *arg)
{
    struct fake_server *server = arg;

    while (!atomic_load(&server->is_stopping)) {
        struct pollfd fds[PEERS_MAX + 1];
        bool is_listening = atomic_load(&server->is_listening);

        for (int i = 0; i < PEERS_MAX; i++) {
            struct peer *peer = &server->peers[i];

            if (peer->fd >= 0 && !peer->is_greeted &&
                (server->options.greeting != FAKE_IS_SILENT || is_listening)) {
                greet(server, peer);
            }
            fds[i].fd = server->options.is_deaf && !is_listening ? -1 : peer->fd;
            fds[i].events = POLLIN;
        }
        fds[PEERS_MAX].fd = server->listener;
        fds[PEERS_MAX].events = POLLIN;
        if (poll(fds, PEERS_MAX + 1, POLL_MS) <= 0) {
            continue;
        }
        for (int i = 0; i < PEERS_MAX; i++) {
            if (fds[i].fd >= 0 && fds[i].revents) {
                peer_read(server, i);
            }
        }
        if (fds[PEERS_MAX].revents) {
            accept_one(server);
        }
    }
}

static void bind_unix(struct fake_server *server)
{
    static _Atomic unsigned number;
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    if (server->options.path) {
        snprintf(server->path, sizeof(server->path), "%s", server->options.path);
    } else {
        snprintf(server->path, sizeof(server->path), "/tmp/hg_fake_%d_%u.sock", (int)getpid(),
                 atomic_fetch_add(&number, 1));
    }
    memcpy(address.sun_path, server->path, sizeof(address.sun_path));
    unlink(server->path);
    server->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(server->listener, (struct sockaddr *)&address, sizeof(address)), 0);
    snprintf(server->url, sizeof(server->url), "ipc://%s", server->path);
}

static void bind_tcp(struct fake_server *server)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);

    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(server->listener, (struct sockaddr *)&address, len), 0);
    ck_assert_int_eq(getsockname(server->listener, (struct sockaddr *)&address, &len), 0);
    snprintf(server->url, sizeof(server->url), "tcp://127.0.0.1:%u", ntohs(address.sin_port));
}

struct fake_server *fake_server_start(const struct fake_options *options)
{
    struct fake_server *server = hgi_alloc(&hgi_heap, sizeof(*server));

    ck_assert_ptr_nonnull(server);
    server->options = *options;
    for (int i = 0; i < PEERS_MAX; i++) {
        server->peers[i].fd = -1;
    }
    if (options->is_tcp) {
        bind_tcp(server);
    } else {
        bind_unix(server);
    }
    ck_assert_int_eq(listen(server->listener, PEERS_MAX), 0);
    ck_assert(hgi_thread_start(&server->thread, "fake-server", run, server));
    return server;
}

const char *fake_server_url(const struct fake_server *server)
{
    return server->url;
}

unsigned fake_connections(const struct fake_server *server)
{
    return atomic_load(&((struct fake_server *)(uintptr_t)server)->connections);
}

unsigned fake_requests(const struct fake_server *server)
{
    return atomic_load(&((struct fake_server *)(uintptr_t)server)->requests);
}

void fake_server_listen(struct fake_server *server)
{
    atomic_store(&server->is_listening, true);
}

void fake_server_stop(struct fake_server **server)
{
    struct fake_server *old = *server;

    atomic_store(&old->is_stopping, true);
    hgi_thread_join(&old->thread);
    for (int i = 0; i < PEERS_MAX; i++) {
        peer_close(&old->peers[i]);
    }
    close(old->listener);
    if (!old->options.is_tcp) {
        unlink(old->path);
    }
    hgi_free(&hgi_heap, old);
    *server = NULL;
}
