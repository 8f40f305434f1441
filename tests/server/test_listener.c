/* SPDX-License-Identifier: Apache-2.0 */
#include "hg_test.h"

#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "echo_server.h"
#include "sp_client.h"

#define LONG_MS 20000

static const enum echo_transport transports[] = {ECHO_IPC, ECHO_TCP};

static void open_client(struct hgi_sp_client *client, struct echo_server *server)
{
    ck_assert(hgi_sp_client_open(client, echo_server_url(server), LONG_MS));
}

static void ask(struct hgi_sp_client *client)
{
    struct hg_slice reply;

    ck_assert(hgi_sp_client_ask(client, 1, hg_slice_text("e"), LONG_MS, &reply));
    ck_assert_slice_eq(reply, "e");
}

static void expect_served(struct echo_server *server)
{
    struct hgi_sp_client client;

    open_client(&client, server);
    ask(&client);
    hgi_sp_client_close(&client);
}

/* Opens a second listener like `server`'s on `url`. */
static enum hg_status open_second(const struct echo_server *server, const char *url,
                                  struct hgi_listener **ret_listener, char *ret_sentence)
{
    struct hgi_listen_config listen = {.url = url, .access = server->listen.access};
    struct hgi_share share = {.connections_max = 1};
    struct hgi_transport_metrics metrics = {0};
    struct hgi_listener_options options = {
        .listen = &listen, .limits = &server->limits, .share = &share, .metrics = &metrics};

    return hgi_listener_open(&options, ret_listener, ret_sentence);
}

START_TEST(socket_is_for_its_user_and_group_only)
{
    struct echo_server server;
    struct stat info;

    echo_server_init(&server, ECHO_IPC);
    echo_server_start(&server);
    ck_assert_int_eq(stat(server.listen_url + strlen("ipc://"), &info), 0);
    ck_assert_uint_eq(info.st_mode & 07777u, 0660);
    echo_server_deinit(&server);
}
END_TEST

START_TEST(peer_whose_uid_is_not_listed_is_closed_and_counted)
{
    struct echo_server server;
    struct hgi_sp_client client;

    echo_server_init(&server, ECHO_IPC);
    server.peers[0] = (uint32_t)getuid() + 1;
    server.peers[1] = (uint32_t)getuid() + 2;
    echo_server_start(&server);
    ck_assert(hgi_sp_client_dial(&client, echo_server_url(&server)));
    ck_assert(hgi_sp_client_is_closed(&client, LONG_MS));
    hgi_sp_client_close(&client);
    ck_assert_uint_eq(atomic_load(&server.metrics.connections_refused), 1);
    ck_assert_uint_eq(atomic_load(&server.metrics.connections), 0);
    ck_assert_uint_eq(atomic_load(&server.share.open_count), 0);
    echo_server_deinit(&server);
}
END_TEST

START_TEST(data_socket_admits_any_user_that_can_open_it)
{
    struct echo_server server;

    echo_server_init(&server, ECHO_IPC);
    server.listen.access = HGI_ACCESS_DATA;
    server.peers[0] = server.peers[1] = (uint32_t)getuid() + 1;
    echo_server_start(&server);
    expect_served(&server);
    echo_server_deinit(&server);
}
END_TEST

START_TEST(second_listener_on_an_address_is_refused_and_the_first_unharmed)
{
    for (size_t t = 0; t < 2; t++) {
        struct echo_server server;
        struct hgi_listener *second = NULL;
        char sentence[HGI_SENTENCE_MAX] = "";

        echo_server_init(&server, transports[t]);
        echo_server_start(&server);
        ck_assert_int_eq(open_second(&server, echo_server_url(&server), &second, sentence),
                         HG_UNAVAILABLE);
        ck_assert_ptr_null(second);
        ck_assert_ptr_nonnull(strstr(sentence, transports[t] == ECHO_IPC
                                                   ? ": another server is using this address"
                                                   : ": another program is listening on port "));
        ck_assert_ptr_nonnull(strstr(sentence, strrchr(echo_server_url(&server), ':') + 1));
        expect_served(&server);
        echo_server_deinit(&server);
    }
}
END_TEST

START_TEST(socket_file_left_by_a_dead_server_is_replaced)
{
    struct echo_server server;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    echo_server_init(&server, ECHO_IPC);
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", server.listen_url + 6);
    ck_assert_int_eq(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    close(fd);
    echo_server_start(&server);
    expect_served(&server);
    echo_server_deinit(&server);
}
END_TEST

START_TEST(file_that_is_no_socket_is_refused_and_left_as_it_is)
{
    struct echo_server server;
    struct hgi_listener *listener = NULL;
    char sentence[HGI_SENTENCE_MAX] = "";
    struct stat info;
    int fd;

    echo_server_init(&server, ECHO_IPC);
    fd = open(server.listen_url + 6, O_CREAT | O_WRONLY | O_EXCL, 0600);
    ck_assert_int_ge(fd, 0);
    close(fd);
    ck_assert_int_eq(open_second(&server, server.listen_url, &listener, sentence),
                     HG_FAILED_PRECONDITION);
    ck_assert_ptr_nonnull(strstr(sentence, "not a socket"));
    ck_assert_int_eq(stat(server.listen_url + 6, &info), 0);
    ck_assert(S_ISREG(info.st_mode));
    unlink(server.listen_url + 6);
    echo_server_deinit(&server);
}
END_TEST

START_TEST(folder_that_does_not_exist_is_named)
{
    struct echo_server server;
    struct hgi_listener *listener = NULL;
    char sentence[HGI_SENTENCE_MAX] = "";

    echo_server_init(&server, ECHO_IPC);
    ck_assert_int_eq(open_second(&server, "ipc:///nonexistent/herdgate.sock", &listener, sentence),
                     HG_FAILED_PRECONDITION);
    ck_assert_ptr_nonnull(strstr(sentence, "/nonexistent/herdgate.sock"));
    echo_server_deinit(&server);
}
END_TEST

START_TEST(port_zero_is_shown_as_the_port_given)
{
    struct echo_server server;

    echo_server_init(&server, ECHO_TCP);
    echo_server_start(&server);
    ck_assert_int_eq(strncmp(echo_server_url(&server), "tcp://127.0.0.1:", 16), 0);
    ck_assert_str_ne(echo_server_url(&server), "tcp://127.0.0.1:0");
    expect_served(&server);
    echo_server_deinit(&server);
}
END_TEST

/* Both ends are in this process: the server's is the socket whose own port is the listener's. */
static int accepted_socket(uint16_t port)
{
    for (int fd = 3; fd < 1024; fd++) {
        struct sockaddr_in own = {0};
        struct sockaddr_in peer = {0};
        socklen_t own_len = sizeof(own);
        socklen_t peer_len = sizeof(peer);

        if (getsockname(fd, (struct sockaddr *)&own, &own_len) == 0 &&
            getpeername(fd, (struct sockaddr *)&peer, &peer_len) == 0 &&
            own.sin_family == AF_INET && ntohs(own.sin_port) == port) {
            return fd;
        }
    }
    return -1;
}

START_TEST(tcp_connections_send_at_once_and_notice_a_dead_peer)
{
    struct echo_server server;
    struct hgi_sp_client client;
    int fd;

    echo_server_init(&server, ECHO_TCP);
    echo_server_start(&server);
    open_client(&client, &server);
    fd = accepted_socket((uint16_t)strtoul(strrchr(echo_server_url(&server), ':') + 1, NULL, 10));
    ck_assert_int_ge(fd, 0);
    for (size_t i = 0; i < 2; i++) {
        int value = 0;
        socklen_t len = sizeof(value);

        ck_assert_int_eq(getsockopt(fd, i ? SOL_SOCKET : IPPROTO_TCP,
                                    i ? SO_KEEPALIVE : TCP_NODELAY, &value, &len),
                         0);
        ck_assert_int_ne(value, 0);
    }
    hgi_sp_client_close(&client);
    echo_server_deinit(&server);
}
END_TEST

START_TEST(connections_over_the_budget_are_closed_at_once_and_the_place_comes_back)
{
    for (size_t t = 0; t < 2; t++) {
        struct echo_server server;
        struct hgi_sp_client clients[3];
        struct hgi_sp_client extra;

        echo_server_init(&server, transports[t]);
        server.share.connections_max = 3;
        echo_server_start(&server);
        for (size_t i = 0; i < 3; i++) {
            open_client(&clients[i], &server);
        }
        for (uint64_t i = 1; i <= 5; i++) {
            ck_assert(hgi_sp_client_dial(&extra, echo_server_url(&server)));
            ck_assert(hgi_sp_client_is_closed(&extra, LONG_MS));
            hgi_sp_client_close(&extra);
            ck_assert(echo_wait_at_least(&server.metrics.connections_refused, i, LONG_MS));
        }
        for (size_t i = 0; i < 3; i++) {
            ask(&clients[i]);
        }
        hgi_sp_client_close(&clients[0]);
        ck_assert(echo_wait_at_most(&server.metrics.connections_open, 2, LONG_MS));
        expect_served(&server);
        hgi_sp_client_close(&clients[1]);
        hgi_sp_client_close(&clients[2]);
        echo_server_deinit(&server);
    }
}
END_TEST

#define STARVED 8

/* The server's reserve and this socket take turns at the last free descriptors. */
static bool dial_when_possible(struct hgi_sp_client *client, const char *url)
{
    int64_t until_ms = hgi_clock_now().boot_ms + LONG_MS;

    while (!hgi_sp_client_dial(client, url)) {
        if (hgi_clock_now().boot_ms > until_ms) {
            return false;
        }
    }
    return true;
}

/* Every descriptor this process may have is taken: whoever connects is told so by a close, at once,
 * and the first to come after there is one again is served. */
START_TEST(listener_without_descriptors_closes_who_comes_and_recovers)
{
    for (size_t t = 0; t < 2; t++) {
        struct echo_server server;
        struct hgi_sp_client early;
        struct hgi_sp_client late[STARVED];
        struct rlimit before;
        struct rlimit starved;
        int ready[STARVED];
        int free_fd;

        echo_server_init(&server, transports[t]);
        echo_server_start(&server);
        open_client(&early, &server);
        /* No gap below the limit may open later. */
        (void)echo_descriptors_at_rest();
        /* A descriptor for each client socket to be, let go one by one below. */
        for (size_t i = 0; i < STARVED; i++) {
            ready[i] = open("/dev/null", O_RDONLY);
        }
        free_fd = open("/dev/null", O_RDONLY);
        close(free_fd);
        ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
        starved = before;
        starved.rlim_cur = (rlim_t)free_fd;
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &starved), 0);
        for (size_t i = 0; i < STARVED; i++) {
            close(ready[i]);
            ck_assert(dial_when_possible(&late[i], echo_server_url(&server)));
            ck_assert(hgi_sp_client_is_closed(&late[i], LONG_MS));
        }
        ask(&early);
        ck_assert_uint_ge(atomic_load(&server.metrics.connections_refused), STARVED);
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
        for (size_t i = 0; i < STARVED; i++) {
            hgi_sp_client_close(&late[i]);
        }
        expect_served(&server);
        hgi_sp_client_close(&early);
        echo_server_deinit(&server);
    }
}
END_TEST

START_TEST(stopped_listener_takes_nobody_new_and_serves_who_is_there)
{
    for (size_t t = 0; t < 2; t++) {
        struct echo_server server;
        struct hgi_sp_client client;
        struct hgi_sp_client late;

        echo_server_init(&server, transports[t]);
        echo_server_start(&server);
        open_client(&client, &server);
        hgi_listener_stop(server.listener);
        ck_assert(!hgi_sp_client_open(&late, echo_server_url(&server), LONG_MS));
        ask(&client);
        hgi_sp_client_close(&client);
        hgi_sp_client_close(&late);
        echo_server_deinit(&server);
    }
}
END_TEST

START_TEST(listener_that_was_never_started_closes)
{
    for (size_t t = 0; t < 2; t++) {
        struct echo_server server;
        struct hgi_listener *listener = NULL;
        char sentence[HGI_SENTENCE_MAX] = "";

        echo_server_init(&server, transports[t]);
        ck_assert_int_eq(open_second(&server, server.listen_url, &listener, sentence), HG_OK);
        hgi_listener_close(&listener, 0);
        ck_assert_ptr_null(listener);
        hgi_listener_close(&listener, 0);
        echo_server_deinit(&server);
    }
}
END_TEST

static void close_slowly(void *arg)
{
    echo_server_close(arg, 2000);
}

/* One client's unread replies keep the flush going to its end; another's requests, meanwhile, are
 * taken no more. */
START_TEST(closing_listener_hands_up_no_further_request)
{
    for (size_t t = 0; t < 2; t++) {
        struct echo_server server;
        struct hgi_thread closer;
        struct hgi_sp_client slow;
        struct hgi_sp_client busy;
        struct hg_slice reply;
        struct hg_bytes all;
        int64_t began_ms;

        echo_server_init(&server, transports[t]);
        server.limits.write_ms = LONG_MS;
        echo_server_start(&server);
        open_client(&slow, &server);
        open_client(&busy, &server);
        hgi_bytes_init(&all, &hgi_heap);
        for (uint32_t id = 0; id < 512; id++) {
            ck_assert(hgi_sp_client_frame(&slow, id, hg_slice_text("big"), &all));
        }
        ck_assert(hgi_sp_client_write(&slow, hgi_bytes_slice(&all)));
        ck_assert_uint_lt(echo_at_rest(&server.metrics.requests), 512);
        began_ms = hgi_clock_now().boot_ms;
        ck_assert(hgi_thread_start(&closer, "closer", close_slowly, &server));
        while (hgi_sp_client_ask(&busy, 1, hg_slice_text("e"), 200, &reply)) {
        }
        ck_assert_int_lt(hgi_clock_now().boot_ms - began_ms, 1500);
        hgi_thread_join(&closer);
        ck_assert_int_ge(hgi_clock_now().boot_ms - began_ms, 2000);
        hgi_bytes_deinit(&all);
        hgi_sp_client_close(&slow);
        hgi_sp_client_close(&busy);
        echo_server_deinit(&server);
    }
}
END_TEST

/* A client that keeps requests of both kinds in flight, and comes back whenever it is closed. */
struct traffic {
    struct hgi_thread thread;
    char url[160];
    atomic_bool stops;
    atomic_uint_fast64_t answered;
};

static void make_traffic(void *arg)
{
    struct traffic *traffic = arg;

    while (!atomic_load(&traffic->stops)) {
        struct hgi_sp_client client;
        bool goes = hgi_sp_client_open(&client, traffic->url, LONG_MS);

        for (uint32_t id = 0; goes && id < 16; id++) {
            goes = hgi_sp_client_send(&client, id, hg_slice_text(id % 2 ? "d" : "e"));
        }
        while (goes && !atomic_load(&traffic->stops)) {
            struct hg_slice body;
            uint32_t id;

            goes = hgi_sp_client_receive(&client, LONG_MS, &id, &body) &&
                   hgi_sp_client_send(&client, id, hg_slice_text(id % 2 ? "d" : "e"));
            atomic_fetch_add(&traffic->answered, goes ? 1 : 0);
        }
        hgi_sp_client_close(&client);
    }
}

#define FLUSH_MS 5000 /* replies given are soon written: nobody waits for the traffic to end */
#define LOADERS  3

static uint32_t count_threads(const char *line)
{
    uint32_t count = 0;
    struct dirent *entry;
    DIR *tasks = opendir("/proc/self/task");

    ck_assert_ptr_nonnull(tasks);
    while ((entry = readdir(tasks)) != NULL) {
        char path[64];
        char name[32] = "";
        FILE *file;

        snprintf(path, sizeof(path), "/proc/self/task/%.16s/comm", entry->d_name);
        file = fopen(path, "r");
        if (file) {
            count += fgets(name, sizeof(name), file) && strcmp(name, line) == 0;
            (void)fclose(file);
        }
    }
    closedir(tasks);
    return count;
}

START_TEST(the_threads_counted_are_those_nng_has)
{
    const struct timespec pause = {0, 1000000};
    int64_t until_ms = hgi_clock_now().boot_ms + LONG_MS;
    struct echo_server server;

    echo_server_init(&server, ECHO_IPC);
    echo_server_start(&server);
    /* Each takes its name when it first runs. */
    while (count_threads("nng:task\n") < hgi_listener_thread_count()) {
        expect_served(&server);
        ck_assert_int_lt(hgi_clock_now().boot_ms, until_ms);
        nanosleep(&pause, NULL);
    }
    ck_assert_uint_eq(count_threads("nng:task\n"), hgi_listener_thread_count());
    echo_server_deinit(&server);
}
END_TEST

#define CROWD 32

/* Handlers that do not end hold every thread their share may have, and more wait in line; who has
 * another share is let in and served all the same. */
START_TEST(a_share_that_holds_all_its_turns_leaves_a_thread_to_others)
{
    struct echo_server busy;
    struct echo_server other;
    struct hgi_sp_client clients[CROWD];
    uint32_t turns_max = hgi_listener_thread_count() - 1;

    ck_assert_uint_lt(turns_max, CROWD);
    for (size_t t = 0; t < 2; t++) {
        echo_server_init(&busy, transports[t]);
        busy.share.turns_max = turns_max;
        echo_server_start(&busy);
        echo_server_init(&other, transports[t]);
        other.share.turns_max = 1;
        echo_server_start(&other);
        for (size_t i = 0; i < CROWD; i++) {
            open_client(&clients[i], &busy);
        }
        for (size_t i = 0; i < CROWD; i++) {
            ck_assert(hgi_sp_client_send(&clients[i], 1, hg_slice_text("w")));
        }
        ck_assert(echo_wait_at_least(&busy.metrics.requests, turns_max, LONG_MS));
        ck_assert_uint_eq(echo_at_rest(&busy.metrics.requests), turns_max);
        for (size_t i = 0; i < 100; i++) {
            expect_served(&other);
        }
        ck_assert_uint_eq(atomic_load(&busy.metrics.replies), 0);
        echo_server_let_go(&busy);
        for (size_t i = 0; i < CROWD; i++) {
            struct hg_slice reply;
            uint32_t id;

            ck_assert(hgi_sp_client_receive(&clients[i], LONG_MS, &id, &reply));
            ck_assert_slice_eq(reply, "w");
            hgi_sp_client_close(&clients[i]);
        }
        echo_server_deinit(&other);
        echo_server_deinit(&busy);
    }
}
END_TEST

START_TEST(a_hundred_servers_stop_under_traffic_each_in_less_than_a_second)
{
    for (unsigned cycle = 0; cycle < 100; cycle++) {
        struct echo_server server;
        struct traffic traffic[LOADERS];
        int64_t began_ms;

        echo_server_init(&server, transports[cycle % 2]);
        server.share.turns_max = cycle % 3; /* 0: no bound */
        echo_server_start(&server);
        for (size_t i = 0; i < LOADERS; i++) {
            memset(&traffic[i], 0, sizeof(traffic[i]));
            snprintf(traffic[i].url, sizeof(traffic[i].url), "%s", echo_server_url(&server));
            ck_assert(hgi_thread_start(&traffic[i].thread, "traffic", make_traffic, &traffic[i]));
        }
        for (size_t i = 0; i < LOADERS; i++) {
            ck_assert(echo_wait_at_least(&traffic[i].answered, 50, LONG_MS));
        }
        began_ms = hgi_clock_now().boot_ms;
        echo_server_close(&server, FLUSH_MS);
        ck_assert_int_lt(hgi_clock_now().boot_ms - began_ms, 1000);
        ck_assert_uint_eq(atomic_load(&server.share.open_count), 0);
        for (size_t i = 0; i < LOADERS; i++) {
            atomic_store(&traffic[i].stops, true);
        }
        for (size_t i = 0; i < LOADERS; i++) {
            hgi_thread_join(&traffic[i].thread);
        }
        echo_server_deinit(&server);
    }
}
END_TEST

HGI_SUITE("server.listener", 60, socket_is_for_its_user_and_group_only,
          peer_whose_uid_is_not_listed_is_closed_and_counted,
          data_socket_admits_any_user_that_can_open_it,
          second_listener_on_an_address_is_refused_and_the_first_unharmed,
          socket_file_left_by_a_dead_server_is_replaced,
          file_that_is_no_socket_is_refused_and_left_as_it_is, folder_that_does_not_exist_is_named,
          port_zero_is_shown_as_the_port_given, tcp_connections_send_at_once_and_notice_a_dead_peer,
          connections_over_the_budget_are_closed_at_once_and_the_place_comes_back,
          listener_without_descriptors_closes_who_comes_and_recovers,
          stopped_listener_takes_nobody_new_and_serves_who_is_there,
          listener_that_was_never_started_closes, closing_listener_hands_up_no_further_request,
          the_threads_counted_are_those_nng_has,
          a_share_that_holds_all_its_turns_leaves_a_thread_to_others,
          a_hundred_servers_stop_under_traffic_each_in_less_than_a_second)
