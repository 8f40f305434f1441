/* SPDX-License-Identifier: Apache-2.0 */
/* server/rpc/conn.c: peers that let the server wait. Each test gives one deadline a short limit and
 * leaves the others long, so that nothing else can close the connection. */
#include "hg_test.h"

#include "echo_server.h"
#include "sp_client.h"

#define LONG_MS  20000
#define SHORT_MS 100

static const enum echo_transport transports[] = {ECHO_IPC, ECHO_TCP};

static void init(struct echo_server *server, enum echo_transport transport)
{
    echo_server_init(server, transport);
    server->limits.handshake_ms = LONG_MS;
    server->limits.body_ms = LONG_MS;
    server->limits.write_ms = LONG_MS;
    server->limits.idle_ms = LONG_MS;
}

static void open_client(struct hgi_sp_client *client, struct echo_server *server)
{
    ck_assert(hgi_sp_client_open(client, echo_server_url(server), LONG_MS));
}

static void ask(struct hgi_sp_client *client, uint32_t id)
{
    struct hg_slice reply;

    ck_assert(hgi_sp_client_ask(client, id, hg_slice_text("e"), LONG_MS, &reply));
    ck_assert_slice_eq(reply, "e");
}

/* The server closes the connection, once the limit has passed, for a deadline. */
static void expect_timeout(struct echo_server *server, struct hgi_sp_client *client,
                           int64_t began_ms)
{
    ck_assert(hgi_sp_client_is_closed(client, LONG_MS));
    ck_assert_int_ge(hgi_clock_now().boot_ms - began_ms, SHORT_MS);
    ck_assert_uint_eq(atomic_load(&server->metrics.timeouts), 1);
    ck_assert_uint_eq(atomic_load(&server->metrics.bad_peers), 0);
    ck_assert(echo_wait_at_most(&server->metrics.connections_open, 0, LONG_MS));
}

START_TEST(peer_that_says_nothing_is_closed_at_the_handshake_deadline)
{
    for (size_t t = 0; t < 2; t++) {
        struct echo_server server;
        struct hgi_sp_client client;
        int64_t began_ms;

        init(&server, transports[t]);
        server.limits.handshake_ms = SHORT_MS;
        echo_server_start(&server);
        began_ms = hgi_clock_now().boot_ms;
        ck_assert(hgi_sp_client_dial(&client, echo_server_url(&server)));
        expect_timeout(&server, &client, began_ms);
        hgi_sp_client_close(&client);
        echo_server_deinit(&server);
    }
}
END_TEST

START_TEST(half_a_handshake_is_closed_at_the_handshake_deadline)
{
    for (size_t t = 0; t < 2; t++) {
        struct echo_server server;
        struct hgi_sp_client client;
        int64_t began_ms;

        init(&server, transports[t]);
        server.limits.handshake_ms = SHORT_MS;
        echo_server_start(&server);
        began_ms = hgi_clock_now().boot_ms;
        ck_assert(hgi_sp_client_dial(&client, echo_server_url(&server)));
        ck_assert(hgi_sp_client_write(&client, hg_slice_of("\0SP\0", 4)));
        expect_timeout(&server, &client, began_ms);
        hgi_sp_client_close(&client);
        echo_server_deinit(&server);
    }
}
END_TEST

START_TEST(wrong_handshake_is_closed_at_once)
{
    static const char *const wrong[] = {"GET / HTTP/1.1\r\n\r\n", "\1SP\2\3\4\5\6\7"};

    for (size_t t = 0; t < 2; t++) {
        struct echo_server server;
        struct hgi_sp_client client;

        init(&server, transports[t]);
        echo_server_start(&server);
        for (size_t i = 0; i < 2; i++) {
            ck_assert(hgi_sp_client_dial(&client, echo_server_url(&server)));
            ck_assert(hgi_sp_client_write(&client, hg_slice_text(wrong[i])));
            ck_assert(hgi_sp_client_is_closed(&client, LONG_MS / 2));
            hgi_sp_client_close(&client);
        }
        ck_assert_uint_eq(atomic_load(&server.metrics.bad_peers), 2);
        ck_assert_uint_eq(atomic_load(&server.metrics.timeouts), 0);
        echo_server_deinit(&server);
    }
}
END_TEST

START_TEST(half_a_message_is_closed_at_the_body_deadline_and_its_neighbour_is_served)
{
    for (size_t t = 0; t < 2; t++) {
        struct echo_server server;
        struct hgi_sp_client client;
        struct hgi_sp_client other;
        struct hg_bytes frame;
        int64_t began_ms;

        init(&server, transports[t]);
        server.limits.body_ms = SHORT_MS;
        echo_server_start(&server);
        open_client(&client, &server);
        open_client(&other, &server);
        ask(&client, 1);
        hgi_bytes_init(&frame, &hgi_heap);
        ck_assert(hgi_sp_client_frame(&client, 2, hg_slice_text("e half of it"), &frame));
        began_ms = hgi_clock_now().boot_ms;
        ck_assert(hgi_sp_client_write(&client, hg_slice_of(frame.data, frame.len - 1)));
        ck_assert(hgi_sp_client_is_closed(&client, LONG_MS));
        ck_assert_int_ge(hgi_clock_now().boot_ms - began_ms, SHORT_MS);
        ck_assert_uint_eq(atomic_load(&server.metrics.timeouts), 1);
        ask(&other, 1);
        hgi_bytes_deinit(&frame);
        hgi_sp_client_close(&client);
        hgi_sp_client_close(&other);
        echo_server_deinit(&server);
    }
}
END_TEST

/* One byte whenever the server has had time to see the last one: progress, but no message. */
START_TEST(trickle_of_bytes_does_not_move_the_body_deadline)
{
    for (size_t t = 0; t < 2; t++) {
        struct echo_server server;
        struct hgi_sp_client client;
        struct hg_bytes frame;
        struct hg_bytes body;
        bool is_closed = false;
        int64_t began_ms;

        init(&server, transports[t]);
        server.limits.body_ms = SHORT_MS;
        echo_server_start(&server);
        open_client(&client, &server);
        hgi_bytes_init(&frame, &hgi_heap);
        hgi_bytes_init(&body, &hgi_heap);
        ck_assert(hgi_bytes_reserve(&body, 60000));
        memset(body.data, 'e', 60000);
        ck_assert(hgi_sp_client_frame(&client, 2, hg_slice_of(body.data, 60000), &frame));
        began_ms = hgi_clock_now().boot_ms;
        for (size_t i = 0; i < frame.len && !is_closed; i++) {
            (void)!hgi_sp_client_write(&client, hg_slice_of(frame.data + i, 1));
            is_closed = hgi_sp_client_is_closed(&client, 5);
        }
        ck_assert(is_closed);
        ck_assert_int_ge(hgi_clock_now().boot_ms - began_ms, SHORT_MS);
        ck_assert_uint_eq(atomic_load(&server.metrics.timeouts), 1);
        ck_assert_uint_eq(atomic_load(&server.metrics.requests), 0);
        hgi_bytes_deinit(&body);
        hgi_bytes_deinit(&frame);
        hgi_sp_client_close(&client);
        echo_server_deinit(&server);
    }
}
END_TEST

START_TEST(reader_that_never_reads_is_closed_at_the_write_deadline_and_harms_nobody_else)
{
    enum { REQUESTS = 256 };

    for (size_t t = 0; t < 2; t++) {
        struct echo_server server;
        struct hgi_sp_client slow;
        struct hgi_sp_client other;
        uint32_t asked = 0;

        init(&server, transports[t]);
        server.limits.write_ms = SHORT_MS;
        echo_server_start(&server);
        open_client(&slow, &server);
        open_client(&other, &server);
        for (uint32_t id = 0; id < REQUESTS; id++) {
            /* The server may have closed already. */
            (void)!hgi_sp_client_send(&slow, id, hg_slice_text("big"));
        }
        while (atomic_load(&server.metrics.timeouts) == 0) {
            ask(&other, ++asked);
        }
        ck_assert(echo_wait_at_most(&server.metrics.connections_open, 1, LONG_MS));
        ask(&other, ++asked);
        ck_assert_uint_eq(atomic_load(&server.metrics.timeouts), 1);
        ck_assert_uint_lt(atomic_load(&server.metrics.requests), REQUESTS + asked);
        hgi_sp_client_close(&slow);
        hgi_sp_client_close(&other);
        echo_server_deinit(&server);
    }
}
END_TEST

START_TEST(connection_with_nothing_to_do_is_closed_at_the_idle_deadline)
{
    for (size_t t = 0; t < 2; t++) {
        struct echo_server server;
        struct hgi_sp_client client;
        int64_t began_ms;

        init(&server, transports[t]);
        server.limits.idle_ms = SHORT_MS;
        echo_server_start(&server);
        open_client(&client, &server);
        began_ms = hgi_clock_now().boot_ms;
        ask(&client, 1);
        expect_timeout(&server, &client, began_ms);
        hgi_sp_client_close(&client);
        echo_server_deinit(&server);
    }
}
END_TEST

START_TEST(connection_that_waits_for_a_reply_is_not_idle)
{
    for (size_t t = 0; t < 2; t++) {
        struct echo_server server;
        struct hgi_sp_client waiting;
        struct hgi_sp_client idle;
        struct hg_slice reply;
        uint32_t id;

        init(&server, transports[t]);
        server.limits.idle_ms = SHORT_MS;
        echo_server_start(&server);
        open_client(&waiting, &server);
        ck_assert(hgi_sp_client_send(&waiting, 1, hg_slice_text("held")));
        ck_assert(echo_server_wait_held(&server, 1, LONG_MS));
        /* Whatever comes later is closed for idling, twice over, while this one waits. */
        for (size_t i = 0; i < 2; i++) {
            open_client(&idle, &server);
            ck_assert(hgi_sp_client_is_closed(&idle, LONG_MS));
            hgi_sp_client_close(&idle);
        }
        echo_server_release_all(&server);
        ck_assert(hgi_sp_client_receive(&waiting, LONG_MS, &id, &reply));
        ck_assert_slice_eq(reply, "held");
        hgi_sp_client_close(&waiting);
        echo_server_deinit(&server);
    }
}
END_TEST

HGI_SUITE("server.conn_deadline", 60, peer_that_says_nothing_is_closed_at_the_handshake_deadline,
          half_a_handshake_is_closed_at_the_handshake_deadline, wrong_handshake_is_closed_at_once,
          half_a_message_is_closed_at_the_body_deadline_and_its_neighbour_is_served,
          trickle_of_bytes_does_not_move_the_body_deadline,
          reader_that_never_reads_is_closed_at_the_write_deadline_and_harms_nobody_else,
          connection_with_nothing_to_do_is_closed_at_the_idle_deadline,
          connection_that_waits_for_a_reply_is_not_idle)
