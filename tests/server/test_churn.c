/* SPDX-License-Identifier: Apache-2.0 */
/* Clients that come and go as badly as they can, after which the server must be as it was: the
 * fault that nng 1.5.2's own REP socket has (docs: one descriptor lost for ever per client that
 * dies with requests in flight, and in the end a deaf server).
 *
 * A killed client is this program again, started with a URL: it opens a connection, puts IN_FLIGHT
 * requests on it and waits to be killed. */
#include "hg_test.h"

#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "echo_server.h"
#include "sp_client.h"

#define LONG_MS     60000
#define RECOVERY_MS 15000
#define VISITS      1000
#define KILLED      60
#define IN_FLIGHT   16

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SERVED_MS 2000
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define SERVED_MS 2000
#endif
#endif
#ifndef SERVED_MS
#define SERVED_MS 100
#endif

static const enum echo_transport transports[] = {ECHO_IPC, ECHO_TCP};

static void pause_ms(long ms)
{
    struct timespec time = {.tv_sec = 0, .tv_nsec = ms * 1000000};

    nanosleep(&time, NULL);
}

static bool descriptors_are_back_at(size_t base)
{
    int64_t until_ms = hgi_clock_now().boot_ms + RECOVERY_MS;

    while (echo_descriptors() > base) {
        if (hgi_clock_now().boot_ms > until_ms) {
            return false;
        }
        pause_ms(10);
    }
    return true;
}

static void expect_served(struct echo_server *server)
{
    struct hgi_sp_client client;
    struct hg_slice reply;
    int64_t began_ms = hgi_clock_now().boot_ms;

    ck_assert(hgi_sp_client_open(&client, echo_server_url(server), LONG_MS));
    ck_assert(hgi_sp_client_ask(&client, 1, hg_slice_text("e"), LONG_MS, &reply));
    ck_assert_int_le(hgi_clock_now().boot_ms - began_ms, SERVED_MS);
    hgi_sp_client_close(&client);
}

/* nng opens its own descriptors at first use: the base is taken after a first client was served. */
static size_t start(struct echo_server *server, enum echo_transport transport)
{
    struct hgi_sp_client client;
    struct hg_slice reply;

    echo_server_init(server, transport);
    echo_server_start(server);
    ck_assert(hgi_sp_client_open(&client, echo_server_url(server), LONG_MS));
    ck_assert(hgi_sp_client_ask(&client, 1, hg_slice_text("e"), LONG_MS, &reply));
    hgi_sp_client_close(&client);
    ck_assert(echo_wait_at_most(&server->metrics.connections_open, 0, LONG_MS));
    return echo_descriptors_at_rest();
}

static void finish(struct echo_server *server, size_t base)
{
    ck_assert_msg(descriptors_are_back_at(base), "%zu descriptors, %zu at first",
                  echo_descriptors(), base);
    expect_served(server);
    ck_assert(echo_wait_at_most(&server->metrics.connections_open, 0, LONG_MS));
    ck_assert_uint_eq(atomic_load(&server->share.open_count), 0);
    echo_server_deinit(server);
}

typedef void visit_fn(struct hgi_sp_client *client, const char *url);

static void visit(visit_fn *visitor)
{
    for (size_t t = 0; t < 2; t++) {
        struct echo_server server;
        size_t base = start(&server, transports[t]);

        for (size_t i = 0; i < VISITS; i++) {
            struct hgi_sp_client client;

            visitor(&client, echo_server_url(&server));
            hgi_sp_client_close(&client);
        }
        finish(&server, base);
    }
}

static void connect_only(struct hgi_sp_client *client, const char *url)
{
    ck_assert(hgi_sp_client_dial(client, url));
}

static void half_a_handshake(struct hgi_sp_client *client, const char *url)
{
    ck_assert(hgi_sp_client_dial(client, url));
    (void)!hgi_sp_client_write(client, hg_slice_of("\0SP\0", 4));
}

static void garbage(struct hgi_sp_client *client, const char *url)
{
    ck_assert(hgi_sp_client_dial(client, url));
    (void)!hgi_sp_client_write(client, hg_slice_text("\xff\xfe GET / HTTP/1.1\r\n\r\n and so on"));
}

static void three_requests(struct hgi_sp_client *client, const char *url)
{
    ck_assert(hgi_sp_client_open(client, url, LONG_MS));
    for (uint32_t id = 1; id <= 3; id++) {
        (void)!hgi_sp_client_send(client, id, hg_slice_text(id == 3 ? "d" : "e"));
    }
}

START_TEST(thousand_connections_that_connect_and_close_leave_nothing)
{
    visit(connect_only);
}
END_TEST

START_TEST(thousand_half_handshakes_leave_nothing)
{
    visit(half_a_handshake);
}
END_TEST

START_TEST(thousand_connections_of_garbage_leave_nothing)
{
    visit(garbage);
}
END_TEST

START_TEST(thousand_connections_that_ask_three_times_and_close_leave_nothing)
{
    visit(three_requests);
}
END_TEST

extern char **environ;

START_TEST(sixty_clients_killed_with_sixteen_requests_in_flight_leave_nothing)
{
    for (size_t t = 0; t < 2; t++) {
        struct echo_server server;
        size_t base = start(&server, transports[t]);
        pid_t clients[KILLED];

        for (size_t i = 0; i < KILLED; i++) {
            char url[160];
            char name[] = "churn-client";
            char *arguments[] = {name, url, NULL};

            snprintf(url, sizeof(url), "%s", echo_server_url(&server));
            ck_assert_int_eq(
                posix_spawn(&clients[i], "/proc/self/exe", NULL, NULL, arguments, environ), 0);
        }
        ck_assert(echo_server_wait_held(&server, (size_t)KILLED * IN_FLIGHT, LONG_MS));
        for (size_t i = 0; i < KILLED; i++) {
            ck_assert_int_eq(kill(clients[i], SIGKILL), 0);
            ck_assert_int_eq(waitpid(clients[i], NULL, 0), clients[i]);
        }
        /* The server still holds every request: the descriptors must not wait for that. */
        finish(&server, base);
    }
}
END_TEST

static int be_a_client(const char *url)
{
    struct hgi_sp_client client;

    if (!hgi_sp_client_open(&client, url, LONG_MS)) {
        return 1;
    }
    for (uint32_t id = 0; id < IN_FLIGHT; id++) {
        if (!hgi_sp_client_send(&client, id, hg_slice_text("held"))) {
            return 1;
        }
    }
    /* Killed here; should the test itself have died, its end of the connection goes too. */
    (void)!hgi_sp_client_is_closed(&client, 10 * LONG_MS);
    return 0;
}

int main(int argument_count, char **arguments)
{
    const TTest *const tests[] = {
        thousand_connections_that_connect_and_close_leave_nothing,
        thousand_half_handshakes_leave_nothing,
        thousand_connections_of_garbage_leave_nothing,
        thousand_connections_that_ask_three_times_and_close_leave_nothing,
        sixty_clients_killed_with_sixteen_requests_in_flight_leave_nothing,
    };

    if (argument_count == 2) {
        return be_a_client(arguments[1]);
    }
    return hgi_suite_run("server.churn", tests, sizeof(tests) / sizeof(tests[0]), 60);
}
