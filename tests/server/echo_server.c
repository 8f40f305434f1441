/* SPDX-License-Identifier: Apache-2.0 */
#include "echo_server.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "hg_test.h"

#define TICK_MS 5

static unsigned char big[ECHO_BIG];

static void pause_ms(int64_t ms)
{
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = (ms % 1000) * 1000000};

    nanosleep(&time, NULL);
}

static void keep(struct echo_held *list, size_t *count, struct hgi_conn *conn,
                 const struct hgi_sp_route *route, struct hg_slice body)
{
    struct echo_held *held = &list[*count];

    ck_assert_uint_lt(*count, ECHO_HELD_MAX);
    held->conn = conn;
    held->route = *route;
    hgi_bytes_init(&held->body, &hgi_heap);
    ck_assert(hgi_bytes_set(&held->body, body));
    (*count)++;
}

static void reply(struct hgi_conn *conn, const struct hgi_sp_route *route, struct hg_slice body)
{
    struct hgi_pieces pieces;

    hgi_pieces_init(&pieces);
    hgi_pieces_raw(&pieces, body);
    hgi_conn_reply(conn, route, &pieces);
}

static void answer(struct echo_held *held)
{
    reply(held->conn, &held->route, hgi_bytes_slice(&held->body));
    hgi_bytes_deinit(&held->body);
}

static void on_request(void *context, struct hgi_conn *conn, const struct hgi_sp_route *route,
                       struct hg_slice body)
{
    struct echo_server *server = context;
    char what = body.len ? *(const char *)body.data : 'e';

    if (what == 'b') {
        reply(conn, route, hg_slice_of(big, sizeof(big)));
        return;
    }
    if (what == 'w') {
        pthread_mutex_lock(&server->mutex);
        while (!server->is_let_go) {
            pthread_cond_wait(&server->changed, &server->mutex);
        }
        pthread_mutex_unlock(&server->mutex);
    }
    if (what != 'h' && what != 'd') {
        reply(conn, route, body);
        return;
    }
    pthread_mutex_lock(&server->mutex);
    if (what == 'h') {
        keep(server->held, &server->held_count, conn, route, body);
    } else {
        keep(server->deferred, &server->deferred_count, conn, route, body);
    }
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->mutex);
}

static void tick(void *arg)
{
    struct echo_server *server = arg;
    bool stops = false;

    while (!stops) {
        struct hgi_now now = hgi_clock_now();

        hgi_listener_sweep(server->listener, &now);
        pause_ms(TICK_MS);
        pthread_mutex_lock(&server->mutex);
        stops = server->is_stopping;
        pthread_mutex_unlock(&server->mutex);
    }
}

static void answer_deferred(void *arg)
{
    struct echo_server *server = arg;

    pthread_mutex_lock(&server->mutex);
    while (!server->is_closed || server->deferred_count) {
        struct echo_held next;

        if (server->deferred_count == 0) {
            pthread_cond_wait(&server->changed, &server->mutex);
            continue;
        }
        next = server->deferred[--server->deferred_count];
        pthread_mutex_unlock(&server->mutex);
        answer(&next);
        pthread_mutex_lock(&server->mutex);
    }
    pthread_mutex_unlock(&server->mutex);
}

void echo_server_init(struct echo_server *server, enum echo_transport transport)
{
    memset(server, 0, sizeof(*server));
    snprintf(server->folder, sizeof(server->folder), "/tmp/hg-echo-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(server->folder));
    if (transport == ECHO_IPC) {
        snprintf(server->listen_url, sizeof(server->listen_url), "ipc://%s/s", server->folder);
    } else {
        snprintf(server->listen_url, sizeof(server->listen_url), "tcp://127.0.0.1:0");
    }
    server->listen.url = server->listen_url;
    server->listen.access = transport == ECHO_IPC ? HGI_ACCESS_OWNER : HGI_ACCESS_DATA;
    server->limits = (struct hgi_limits){.value_max_bytes = 65536,
                                         .message_max_bytes = 1048576,
                                         .connections_max = 1024,
                                         .in_flight_max = 256,
                                         .handshake_ms = 2000,
                                         .body_ms = 2000,
                                         .write_ms = 2000,
                                         .idle_ms = 300000};
    hgi_share_init(&server->share, 1024, 0);
    server->peers[0] = (uint32_t)getuid();
    server->peers[1] = server->peers[0];
    pthread_mutex_init(&server->mutex, NULL);
    pthread_cond_init(&server->changed, NULL);
    server->held = calloc(ECHO_HELD_MAX, sizeof(*server->held));
    server->deferred = calloc(ECHO_HELD_MAX, sizeof(*server->deferred));
    ck_assert(server->held && server->deferred);
}

void echo_server_start(struct echo_server *server)
{
    struct hgi_listener_options options = {.listen = &server->listen,
                                           .limits = &server->limits,
                                           .peers = server->peers,
                                           .peer_count = 2,
                                           .share = &server->share,
                                           .no_room = hg_slice_text(ECHO_NO_ROOM),
                                           .request = on_request,
                                           .context = server,
                                           .metrics = &server->metrics};
    char sentence[HGI_SENTENCE_MAX] = "";
    enum hg_status status = hgi_listener_open(&options, &server->listener, sentence);

    ck_assert_msg(status == HG_OK, "%s", sentence);
    hgi_listener_start(server->listener);
    ck_assert(hgi_thread_start(&server->ticker, "ticker", tick, server));
    ck_assert(hgi_thread_start(&server->answerer, "answerer", answer_deferred, server));
}

const char *echo_server_url(const struct echo_server *server)
{
    return hgi_listener_url(server->listener);
}

void echo_server_release_newest(struct echo_server *server)
{
    struct echo_held held;

    pthread_mutex_lock(&server->mutex);
    ck_assert_uint_gt(server->held_count, 0);
    held = server->held[--server->held_count];
    pthread_mutex_unlock(&server->mutex);
    answer(&held);
}

void echo_server_release_all(struct echo_server *server)
{
    pthread_mutex_lock(&server->mutex);
    while (server->held_count) {
        struct echo_held held = server->held[--server->held_count];

        pthread_mutex_unlock(&server->mutex);
        answer(&held);
        pthread_mutex_lock(&server->mutex);
    }
    pthread_mutex_unlock(&server->mutex);
}

void echo_server_let_go(struct echo_server *server)
{
    pthread_mutex_lock(&server->mutex);
    server->is_let_go = true;
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->mutex);
}

bool echo_server_wait_held(struct echo_server *server, size_t count, int64_t timeout_ms)
{
    struct timespec until;
    bool reached;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += timeout_ms / 1000;
    pthread_mutex_lock(&server->mutex);
    while (server->held_count < count) {
        if (pthread_cond_timedwait(&server->changed, &server->mutex, &until) != 0) {
            break;
        }
    }
    reached = server->held_count >= count;
    pthread_mutex_unlock(&server->mutex);
    return reached;
}

void echo_server_close(struct echo_server *server, int64_t flush_ms)
{
    pthread_mutex_lock(&server->mutex);
    server->is_stopping = true;
    pthread_mutex_unlock(&server->mutex);
    hgi_thread_join(&server->ticker);
    hgi_listener_close(&server->listener, flush_ms);
    /* Only now can no request come any more. */
    pthread_mutex_lock(&server->mutex);
    server->is_closed = true;
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->mutex);
    hgi_thread_join(&server->answerer);
}

void echo_server_deinit(struct echo_server *server)
{
    char path[160];

    if (server->listener) {
        echo_server_close(server, 0);
    }
    echo_server_release_all(server);
    snprintf(path, sizeof(path), "%s/s.lock", server->folder);
    unlink(path);
    ck_assert_int_eq(rmdir(server->folder), 0); /* the socket itself went with the listener */
    pthread_cond_destroy(&server->changed);
    hgi_share_deinit(&server->share);
    pthread_mutex_destroy(&server->mutex);
    free(server->held);
    free(server->deferred);
}

bool echo_wait_at_least(const _Atomic uint64_t *metric, uint64_t value, int64_t timeout_ms)
{
    int64_t until_ms = hgi_clock_now().boot_ms + timeout_ms;

    while (atomic_load(metric) < value) {
        if (hgi_clock_now().boot_ms > until_ms) {
            return false;
        }
        pause_ms(1);
    }
    return true;
}

bool echo_wait_at_most(const _Atomic uint64_t *metric, uint64_t value, int64_t timeout_ms)
{
    int64_t until_ms = hgi_clock_now().boot_ms + timeout_ms;

    while (atomic_load(metric) > value) {
        if (hgi_clock_now().boot_ms > until_ms) {
            return false;
        }
        pause_ms(1);
    }
    return true;
}

uint64_t echo_at_rest(const _Atomic uint64_t *metric)
{
    uint64_t last = 0;

    for (size_t same = 0; same < 30; same++) {
        uint64_t value = atomic_load(metric);

        if (value != last) {
            last = value;
            same = 0;
        }
        pause_ms(10);
    }
    return last;
}

size_t echo_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    size_t count = 0;

    ck_assert_ptr_nonnull(folder);
    while (readdir(folder)) {
        count++;
    }
    closedir(folder);
    return count;
}

size_t echo_descriptors_at_rest(void)
{
    size_t last = 0;

    for (size_t same = 0; same < 20; same++) {
        size_t count = echo_descriptors();

        if (count != last) {
            last = count;
            same = 0;
        }
        pause_ms(10);
    }
    return last;
}
