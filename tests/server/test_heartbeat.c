/* SPDX-License-Identifier: Apache-2.0 */
#include "hg_test.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proto/sp.h"
#include "server/heartbeat.h"

#define LONG_MS  10000 /* for what will come */
#define SHORT_MS 50    /* for what will not */

static char folder[64];
static char url[128];

static void start(void)
{
    snprintf(folder, sizeof(folder), "/tmp/herdgate-beat-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(url, sizeof(url), "ipc://%s/socket", folder);
}

static void finish(void)
{
    unlink(url + strlen("ipc://"));
    rmdir(folder);
}

/* A server that only listens, with room for `backlog` who wait. */
static int listen_deaf(int backlog)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ck_assert_int_ge(fd, 0);
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", url + strlen("ipc://"));
    ck_assert_int_eq(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    ck_assert_int_eq(listen(fd, backlog), 0);
    return fd;
}

/* What a peer does with one connection after the other. */
enum manner { TURNS_AWAY, GREETS_AND_CLOSES, SPEAKS_SOMETHING_ELSE };

struct peer {
    pthread_t thread;
    int fd;
    enum manner manner;
};

static void *serve_peer(void *arg)
{
    const struct peer *peer = arg;
    unsigned char bytes[64];
    int fd;

    while ((fd = accept4(peer->fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        if (peer->manner != TURNS_AWAY) {
            hgi_sp_handshake(HGI_SP_REP, bytes);
            if (peer->manner == SPEAKS_SOMETHING_ELSE) {
                memset(bytes, 'x', sizeof(bytes));
            }
            ck_assert_int_eq(send(fd, bytes, HGI_SP_HANDSHAKE_LEN, MSG_NOSIGNAL),
                             HGI_SP_HANDSHAKE_LEN);
            /* Else what is unread would make a reset of the close. */
            while (recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0) {
                continue;
            }
        }
        close(fd);
    }
    return NULL;
}

static bool is_alive_at_peer(enum manner manner)
{
    struct peer peer = {.manner = manner};
    bool is_alive;

    start();
    peer.fd = listen_deaf(8);
    ck_assert_int_eq(pthread_create(&peer.thread, NULL, serve_peer, &peer), 0);
    is_alive = hgi_heartbeat_ask(url, LONG_MS);
    shutdown(peer.fd, SHUT_RDWR);
    ck_assert_int_eq(pthread_join(peer.thread, NULL), 0);
    close(peer.fd);
    finish();
    return is_alive;
}

START_TEST(nobody_there_is_no_life)
{
    start();
    ck_assert(!hgi_heartbeat_ask(url, LONG_MS));
    ck_assert(!hgi_heartbeat_ask("tcp://127.0.0.1:1", LONG_MS));
    ck_assert(!hgi_heartbeat_ask("tcp://example.invalid:1", LONG_MS));
    finish();
}
END_TEST

START_TEST(who_takes_a_connection_and_says_nothing_is_not_alive)
{
    int fd;

    start();
    fd = listen_deaf(8);
    ck_assert(!hgi_heartbeat_ask(url, SHORT_MS));
    close(fd);
    finish();
}
END_TEST

START_TEST(who_turns_us_away_is_alive)
{
    ck_assert(is_alive_at_peer(TURNS_AWAY));
}
END_TEST

START_TEST(who_greets_and_does_not_answer_is_not)
{
    ck_assert(!is_alive_at_peer(GREETS_AND_CLOSES));
    ck_assert(!is_alive_at_peer(SPEAKS_SOMETHING_ELSE));
}
END_TEST

/* A TLS server that is spoken to in another language sends an alert, or just hangs up. */
START_TEST(at_a_tls_address_being_told_off_is_an_answer)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    struct peer peer = {.manner = SPEAKS_SOMETHING_ELSE};
    socklen_t len = sizeof(address);
    char tls_url[64];

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    peer.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(peer.fd, 0);
    ck_assert_int_eq(bind(peer.fd, (const struct sockaddr *)&address, len), 0);
    ck_assert_int_eq(listen(peer.fd, 8), 0);
    ck_assert_int_eq(getsockname(peer.fd, (struct sockaddr *)&address, &len), 0);
    snprintf(tls_url, sizeof(tls_url), "tls+tcp://127.0.0.1:%u", ntohs(address.sin_port));
    ck_assert(!hgi_heartbeat_ask(tls_url, SHORT_MS)); /* nobody accepts yet */
    ck_assert_int_eq(pthread_create(&peer.thread, NULL, serve_peer, &peer), 0);
    ck_assert(hgi_heartbeat_ask(tls_url, LONG_MS));
    ck_assert(!hgi_heartbeat_ask(tls_url + strlen("tls+"), LONG_MS));
    shutdown(peer.fd, SHUT_RDWR);
    ck_assert_int_eq(pthread_join(peer.thread, NULL), 0);
    close(peer.fd);
}
END_TEST

START_TEST(only_addresses_in_numbers_are_asked_at)
{
    ck_assert(hgi_heartbeat_can_ask("ipc:///run/herdgate.sock"));
    ck_assert(hgi_heartbeat_can_ask("tcp://localhost:7448"));
    ck_assert(hgi_heartbeat_can_ask("tcp://[::1]:7448"));
    ck_assert(hgi_heartbeat_can_ask("tls+tcp://0.0.0.0:7448"));
    ck_assert(hgi_heartbeat_can_ask("tls+tcp://[::]:7448"));
    ck_assert(!hgi_heartbeat_can_ask("tls+tcp://cache.example:7448"));
    ck_assert(!hgi_heartbeat_can_ask("tcp://"));
    ck_assert(!hgi_heartbeat_can_ask("nonsense"));
}
END_TEST

/* ---- the thread ---- */

static atomic_uint deaths;

static void die(void)
{
    atomic_fetch_add(&deaths, 1);
}

static bool is_well(void *context)
{
    (void)context;
    return false;
}

/* At the third beat. */
static bool breaks(void *context)
{
    return atomic_fetch_add((atomic_uint *)context, 1) == 2;
}

static void await_death(void)
{
    const struct timespec pause = {0, 1000000};

    for (int waited_ms = 0; atomic_load(&deaths) == 0 && waited_ms < LONG_MS; waited_ms++) {
        nanosleep(&pause, NULL);
    }
}

START_TEST(a_server_that_says_it_is_broken_is_at_its_end)
{
    struct hgi_notify notify = {.watchdog_ms = 80};
    struct hgi_heartbeat heartbeat;
    atomic_uint looks = 0;
    const struct hgi_heartbeat_body body = {breaks, &looks, die};

    atomic_store(&deaths, 0);
    ck_assert(hgi_heartbeat_start(&heartbeat, &notify, NULL, &body));
    await_death();
    hgi_heartbeat_stop(&heartbeat);
    ck_assert_uint_eq(atomic_load(&deaths), 1);
    ck_assert_uint_eq(atomic_load(&looks), 3);
}
END_TEST

START_TEST(three_questions_without_an_answer_are_the_end)
{
    const struct hgi_heartbeat_body body = {is_well, NULL, die};
    struct hgi_notify notify = {.watchdog_ms = 80};
    struct hgi_heartbeat heartbeat;
    int fd;

    start();
    fd = listen_deaf(8);
    atomic_store(&deaths, 0);
    ck_assert(hgi_heartbeat_start(&heartbeat, &notify, url, &body));
    await_death();
    hgi_heartbeat_stop(&heartbeat);
    ck_assert_uint_eq(atomic_load(&deaths), 1);
    /* Three connections, no fourth. */
    for (unsigned i = 0; i < HGI_HEARTBEAT_MISSES; i++) {
        close(accept(fd, NULL, NULL));
    }
    ck_assert_int_eq(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    ck_assert_int_eq(accept(fd, NULL, NULL), -1);
    close(fd);
    finish();
}
END_TEST

START_TEST(one_that_was_not_started_is_nothing_to_stop)
{
    struct hgi_heartbeat heartbeat = {.notify = NULL};

    hgi_heartbeat_stop(&heartbeat);
}
END_TEST

HGI_SUITE("server.heartbeat", 30, nobody_there_is_no_life,
          who_takes_a_connection_and_says_nothing_is_not_alive, who_turns_us_away_is_alive,
          who_greets_and_does_not_answer_is_not, at_a_tls_address_being_told_off_is_an_answer,
          only_addresses_in_numbers_are_asked_at, a_server_that_says_it_is_broken_is_at_its_end,
          three_questions_without_an_answer_are_the_end,
          one_that_was_not_started_is_nothing_to_stop)
