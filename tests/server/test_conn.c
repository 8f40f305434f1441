/* SPDX-License-Identifier: Apache-2.0 */
#include "hg_test.h"

#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include <nng/nng.h>
#include <nng/protocol/reqrep0/req.h>

#include "echo_server.h"
#include "sp_client.h"

#define LONG_MS 20000 /* longer than anything here takes, sanitizers included */

static const enum echo_transport transports[] = {ECHO_IPC, ECHO_TCP};

static struct hg_slice text(const char *body)
{
    return hg_slice_text(body);
}

static void open_client(struct hgi_sp_client *client, struct echo_server *server)
{
    ck_assert(hgi_sp_client_open(client, echo_server_url(server), LONG_MS));
}

static void ask(struct hgi_sp_client *client, uint32_t id, const char *body)
{
    struct hg_slice reply;

    ck_assert(hgi_sp_client_ask(client, id, text(body), LONG_MS, &reply));
    ck_assert_slice_eq(reply, body);
}

static void ask_through_nng(nng_socket socket, const char *body)
{
    char *reply = NULL;
    size_t size = 0;

    ck_assert_int_eq(nng_send(socket, (void *)(uintptr_t)body, strlen(body), 0), 0);
    ck_assert_int_eq(nng_recv(socket, &reply, &size, NNG_FLAG_ALLOC), 0);
    ck_assert_slice_eq(hg_slice_of(reply, size), body);
    nng_free(reply, size);
}

START_TEST(stock_req_socket_is_answered_at_once_and_later)
{
    for (size_t t = 0; t < 2; t++) {
        struct echo_server server;
        nng_socket socket;

        echo_server_init(&server, transports[t]);
        echo_server_start(&server);
        ck_assert_int_eq(nng_req0_open(&socket), 0);
        ck_assert_int_eq(nng_socket_set_ms(socket, NNG_OPT_RECVTIMEO, LONG_MS), 0);
        ck_assert_int_eq(nng_dial(socket, echo_server_url(&server), NULL, 0), 0);
        for (size_t i = 0; i < 20; i++) {
            ask_through_nng(socket, "e: at once");
            ask_through_nng(socket, "d: from another thread");
        }
        nng_close(socket);
        echo_server_deinit(&server);
    }
}
END_TEST

#define CONTEXTS 16

START_TEST(sixteen_contexts_of_a_stock_req_socket_each_get_their_own_reply)
{
    for (size_t t = 0; t < 2; t++) {
        struct echo_server server;
        nng_socket socket;
        nng_ctx contexts[CONTEXTS];
        nng_aio *aios[CONTEXTS];

        echo_server_init(&server, transports[t]);
        echo_server_start(&server);
        ck_assert_int_eq(nng_req0_open(&socket), 0);
        ck_assert_int_eq(nng_dial(socket, echo_server_url(&server), NULL, 0), 0);
        for (size_t i = 0; i < CONTEXTS; i++) {
            ck_assert_int_eq(nng_ctx_open(&contexts[i], socket), 0);
            ck_assert_int_eq(nng_aio_alloc(&aios[i], NULL, NULL), 0);
            nng_aio_set_timeout(aios[i], LONG_MS);
        }
        for (unsigned round = 0; round < 20; round++) {
            for (size_t i = 0; i < CONTEXTS; i++) {
                char body[32];
                nng_msg *message;

                snprintf(body, sizeof(body), "%c %u %zu", i % 2 ? 'd' : 'e', round, i);
                ck_assert_int_eq(nng_msg_alloc(&message, 0), 0);
                ck_assert_int_eq(nng_msg_append(message, body, strlen(body)), 0);
                nng_aio_set_msg(aios[i], message);
                nng_ctx_send(contexts[i], aios[i]);
            }
            for (size_t i = 0; i < CONTEXTS; i++) {
                nng_aio_wait(aios[i]);
                ck_assert_int_eq(nng_aio_result(aios[i]), 0);
                nng_ctx_recv(contexts[i], aios[i]);
            }
            for (size_t i = 0; i < CONTEXTS; i++) {
                char body[32];
                nng_msg *message;

                nng_aio_wait(aios[i]);
                ck_assert_int_eq(nng_aio_result(aios[i]), 0);
                message = nng_aio_get_msg(aios[i]);
                snprintf(body, sizeof(body), "%c %u %zu", i % 2 ? 'd' : 'e', round, i);
                ck_assert_slice_eq(hg_slice_of(nng_msg_body(message), nng_msg_len(message)), body);
                nng_msg_free(message);
            }
        }
        for (size_t i = 0; i < CONTEXTS; i++) {
            nng_ctx_close(contexts[i]);
            nng_aio_free(aios[i]);
        }
        nng_close(socket);
        echo_server_deinit(&server);
    }
}
END_TEST

START_TEST(replies_leave_in_the_order_they_are_given)
{
    for (size_t t = 0; t < 2; t++) {
        struct echo_server server;
        struct hgi_sp_client client;

        echo_server_init(&server, transports[t]);
        echo_server_start(&server);
        open_client(&client, &server);
        for (uint32_t id = 1; id <= 100; id++) {
            ck_assert(hgi_sp_client_send(&client, id, text("held")));
        }
        ck_assert(echo_server_wait_held(&server, 100, LONG_MS));
        ask(&client, 1000, "e: overtakes them");
        for (uint32_t id = 100; id >= 1; id--) {
            struct hg_slice body;
            uint32_t got;

            echo_server_release_newest(&server);
            ck_assert(hgi_sp_client_receive(&client, LONG_MS, &got, &body));
            ck_assert_uint_eq(got, id);
        }
        hgi_sp_client_close(&client);
        echo_server_deinit(&server);
    }
}
END_TEST

START_TEST(pipelined_requests_answered_by_another_thread_each_get_their_own_reply)
{
    enum { REQUESTS = 200 };

    for (size_t t = 0; t < 2; t++) {
        bool seen[REQUESTS] = {false};
        struct echo_server server;
        struct hgi_sp_client client;
        struct hg_bytes all;

        echo_server_init(&server, transports[t]);
        echo_server_start(&server);
        open_client(&client, &server);
        hgi_bytes_init(&all, &hgi_heap);
        for (uint32_t id = 0; id < REQUESTS; id++) {
            char body[32];

            snprintf(body, sizeof(body), "d %u", id);
            ck_assert(hgi_sp_client_frame(&client, id, text(body), &all));
        }
        ck_assert(hgi_sp_client_write(&client, hgi_bytes_slice(&all)));
        hgi_bytes_deinit(&all);
        for (size_t i = 0; i < REQUESTS; i++) {
            struct hg_slice reply;
            uint32_t id;
            char body[32];

            ck_assert(hgi_sp_client_receive(&client, LONG_MS, &id, &reply));
            ck_assert_uint_lt(id, REQUESTS);
            ck_assert(!seen[id]);
            seen[id] = true;
            snprintf(body, sizeof(body), "d %u", id);
            ck_assert_slice_eq(reply, body);
        }
        hgi_sp_client_close(&client);
        echo_server_deinit(&server);
    }
}
END_TEST

/* The handler of the last frame waits until the client has seen that the replies before it have not
 * left. On a unix socket a small write arrives whole, so the first read shows what one write
 * carried. */
START_TEST(replies_to_the_frames_of_one_read_leave_in_one_write)
{
    enum { REQUESTS = 100 };
    struct echo_server server;
    struct hgi_sp_client client;
    struct hg_bytes all;
    struct pollfd poller = {.events = POLLIN};
    unsigned char got[16384];

    echo_server_init(&server, ECHO_IPC);
    echo_server_start(&server);
    open_client(&client, &server);
    hgi_bytes_init(&all, &hgi_heap);
    for (uint32_t id = 0; id < REQUESTS; id++) {
        ck_assert(hgi_sp_client_frame(&client, id, text(id == REQUESTS - 1 ? "w" : "e"), &all));
    }
    ck_assert(hgi_sp_client_write(&client, hgi_bytes_slice(&all)));
    ck_assert(echo_wait_at_least(&server.metrics.requests, REQUESTS, LONG_MS));
    poller.fd = client.fd;
    ck_assert_int_eq(poll(&poller, 1, 100), 0);
    echo_server_let_go(&server);
    ck_assert_int_eq(recv(client.fd, got, sizeof(got), 0), (ssize_t)all.len);
    ck_assert_int_eq(memcmp(got, all.data, all.len), 0);
    hgi_bytes_deinit(&all);
    hgi_sp_client_close(&client);
    echo_server_deinit(&server);
}
END_TEST

START_TEST(frames_may_come_byte_by_byte)
{
    for (size_t t = 0; t < 2; t++) {
        struct echo_server server;
        struct hgi_sp_client client;
        struct hg_bytes frame;
        struct hg_slice body;
        uint32_t id;

        echo_server_init(&server, transports[t]);
        echo_server_start(&server);
        open_client(&client, &server);
        hgi_bytes_init(&frame, &hgi_heap);
        ck_assert(hgi_sp_client_frame(&client, 5, text("e slowly"), &frame));
        for (size_t i = 0; i < frame.len; i++) {
            ck_assert(hgi_sp_client_write(&client, hg_slice_of(frame.data + i, 1)));
        }
        ck_assert(hgi_sp_client_receive(&client, LONG_MS, &id, &body));
        ck_assert_uint_eq(id, 5);
        ck_assert_slice_eq(body, "e slowly");
        hgi_bytes_deinit(&frame);
        hgi_sp_client_close(&client);
        echo_server_deinit(&server);
    }
}
END_TEST

START_TEST(message_of_the_limit_is_answered_and_a_longer_one_ends_the_connection)
{
    for (size_t t = 0; t < 2; t++) {
        struct echo_server server;
        struct hgi_sp_client client;
        struct hg_slice reply;
        struct hg_bytes body;
        size_t max;

        echo_server_init(&server, transports[t]);
        max = server.limits.message_max_bytes;
        echo_server_start(&server);
        open_client(&client, &server);
        hgi_bytes_init(&body, &hgi_heap);
        ck_assert(hgi_bytes_reserve(&body, max + 1));
        memset(body.data, 'e', max + 1);
        for (uint32_t id = 0; id < 3; id++) {
            ck_assert(hgi_sp_client_ask(&client, id, hg_slice_of(body.data, max), LONG_MS, &reply));
            ck_assert_uint_eq(reply.len, max);
            ck_assert_int_eq(memcmp(reply.data, body.data, max), 0);
            ask(&client, 100 + id, "e: a small one between");
        }
        /* The server may close while this is still being written. */
        (void)!hgi_sp_client_send(&client, 9, hg_slice_of(body.data, max + 1));
        ck_assert(hgi_sp_client_is_closed(&client, LONG_MS));
        ck_assert_uint_eq(atomic_load(&server.metrics.bad_peers), 1);
        ck_assert_uint_eq(atomic_load(&server.metrics.requests), 6);
        hgi_bytes_deinit(&body);
        hgi_sp_client_close(&client);
        echo_server_deinit(&server);
    }
}
END_TEST

START_TEST(request_id_in_flight_is_dropped_and_counted_and_free_again_after_its_reply)
{
    for (size_t t = 0; t < 2; t++) {
        struct echo_server server;
        struct hgi_sp_client client;
        struct hg_slice body;
        uint32_t id;

        echo_server_init(&server, transports[t]);
        echo_server_start(&server);
        open_client(&client, &server);
        ck_assert(hgi_sp_client_send(&client, 7, text("h: first")));
        ck_assert(hgi_sp_client_send(&client, 7, text("e: again")));
        ask(&client, 8, "e: another id");
        ck_assert_uint_eq(atomic_load(&server.metrics.duplicates), 1);
        ck_assert_uint_eq(atomic_load(&server.metrics.requests), 2);
        echo_server_release_all(&server);
        ck_assert(hgi_sp_client_receive(&client, LONG_MS, &id, &body));
        ck_assert_uint_eq(id, 7);
        ck_assert_slice_eq(body, "h: first");
        ask(&client, 7, "e: a new request");
        hgi_sp_client_close(&client);
        echo_server_deinit(&server);
    }
}
END_TEST

START_TEST(same_id_on_two_connections_is_two_requests)
{
    struct echo_server server;
    struct hgi_sp_client a;
    struct hgi_sp_client b;

    echo_server_init(&server, ECHO_IPC);
    echo_server_start(&server);
    open_client(&a, &server);
    open_client(&b, &server);
    ck_assert(hgi_sp_client_send(&a, 7, text("held")));
    ck_assert(echo_server_wait_held(&server, 1, LONG_MS));
    ask(&b, 7, "e: b's");
    ck_assert_uint_eq(atomic_load(&server.metrics.duplicates), 0);
    hgi_sp_client_close(&a);
    hgi_sp_client_close(&b);
    echo_server_deinit(&server);
}
END_TEST

START_TEST(requests_beyond_in_flight_max_wait_and_none_is_lost)
{
    for (size_t t = 0; t < 2; t++) {
        bool seen[40] = {false};
        struct echo_server server;
        struct hgi_sp_client client;
        struct hgi_sp_client other;
        struct hg_bytes all;

        echo_server_init(&server, transports[t]);
        server.limits.in_flight_max = 4;
        echo_server_start(&server);
        open_client(&client, &server);
        open_client(&other, &server);
        hgi_bytes_init(&all, &hgi_heap);
        for (uint32_t id = 0; id < 40; id++) {
            ck_assert(hgi_sp_client_frame(&client, id, text("held"), &all));
        }
        ck_assert(hgi_sp_client_write(&client, hgi_bytes_slice(&all)));
        ck_assert(echo_server_wait_held(&server, 4, LONG_MS));
        ask(&other, 1, "e: not held up");
        ck_assert_uint_eq(atomic_load(&server.metrics.requests), 5);
        for (size_t i = 0; i < 40; i++) {
            struct hg_slice body;
            uint32_t id;

            ck_assert(echo_server_wait_held(&server, 40 - i < 4 ? 40 - i : 4, LONG_MS));
            echo_server_release_newest(&server);
            ck_assert(hgi_sp_client_receive(&client, LONG_MS, &id, &body));
            ck_assert_uint_lt(id, 40);
            ck_assert(!seen[id]);
            seen[id] = true;
        }
        hgi_bytes_deinit(&all);
        hgi_sp_client_close(&client);
        hgi_sp_client_close(&other);
        echo_server_deinit(&server);
    }
}
END_TEST

/* 512 replies of 64 KiB: more than the bound and what sockets hold together. */
START_TEST(reading_stops_while_replies_pile_up_and_none_is_lost)
{
    enum { REQUESTS = 512 };

    for (size_t t = 0; t < 2; t++) {
        struct echo_server server;
        struct hgi_sp_client client;
        struct hgi_sp_client other;
        struct hg_bytes all;

        echo_server_init(&server, transports[t]);
        server.limits.write_ms = LONG_MS;
        echo_server_start(&server);
        open_client(&client, &server);
        open_client(&other, &server);
        hgi_bytes_init(&all, &hgi_heap);
        for (uint32_t id = 0; id < REQUESTS; id++) {
            ck_assert(hgi_sp_client_frame(&client, id, text("big"), &all));
        }
        /* One write: the server will not read what comes one by one. */
        ck_assert(hgi_sp_client_write(&client, hgi_bytes_slice(&all)));
        hgi_bytes_deinit(&all);
        /* Replies of that many bytes are the bound; the sockets' own buffers take some more. */
        ck_assert(echo_wait_at_least(&server.metrics.requests,
                                     hgi_conn_hold_max(&server.limits) / ECHO_BIG, LONG_MS));
        ask(&other, 1, "e: not held up");
        ck_assert_uint_lt(echo_at_rest(&server.metrics.requests), REQUESTS);
        for (uint32_t id = 0; id < REQUESTS; id++) {
            struct hg_slice body;
            uint32_t got;

            ck_assert(hgi_sp_client_receive(&client, LONG_MS, &got, &body));
            ck_assert_uint_eq(got, id);
            ck_assert_uint_eq(body.len, ECHO_BIG);
        }
        hgi_sp_client_close(&client);
        hgi_sp_client_close(&other);
        echo_server_deinit(&server);
    }
}
END_TEST

/* Of a peer that reads nothing, waiting calls are all answered at once: with what there is room
 * for, and a short word for the rest. */
START_TEST(replies_to_waiting_calls_are_bounded_and_each_has_one)
{
    enum { REQUESTS = 250 };
    static char body[ECHO_BIG] = "h";

    for (size_t t = 0; t < 2; t++) {
        bool seen[REQUESTS] = {false};
        struct echo_server server;
        struct hgi_sp_client client;
        struct hgi_sp_client other;
        size_t whole_count = 0;
        size_t most;

        echo_server_init(&server, transports[t]);
        server.limits.write_ms = LONG_MS;
        server.limits.value_max_bytes = ECHO_BIG / 4; /* they are batches, so to say */
        most = hgi_conn_unsent_max(&server.limits);
        echo_server_start(&server);
        open_client(&client, &server);
        open_client(&other, &server);
        for (uint32_t id = 0; id < REQUESTS; id++) {
            ck_assert(hgi_sp_client_send(&client, id, hg_slice_of(body, sizeof(body))));
        }
        ck_assert(echo_server_wait_held(&server, REQUESTS, LONG_MS));
        echo_server_release_all(&server);
        ask(&other, 1, "e: not held up");
        for (size_t i = 0; i < REQUESTS; i++) {
            struct hg_slice reply;
            uint32_t id;

            ck_assert(hgi_sp_client_receive(&client, LONG_MS, &id, &reply));
            ck_assert_uint_lt(id, REQUESTS);
            ck_assert(!seen[id]);
            seen[id] = true;
            if (reply.len == ECHO_BIG) {
                whole_count++;
            } else {
                ck_assert_slice_eq(reply, ECHO_NO_ROOM);
            }
        }
        ck_assert_uint_ge(whole_count, most / (ECHO_BIG + HGI_SP_HEAD_MAX) - 1);
        ck_assert_uint_lt(whole_count, REQUESTS);
        ask(&client, REQUESTS, "e: as before");
        hgi_sp_client_close(&client);
        hgi_sp_client_close(&other);
        echo_server_deinit(&server);
    }
}
END_TEST

START_TEST(reading_stops_while_calls_hold_too_much)
{
    for (size_t t = 0; t < 2; t++) {
        struct echo_server server;
        struct hgi_sp_client client;
        struct hgi_sp_client other;
        struct hgi_asker *asker;
        struct hg_bytes all;
        struct hg_slice reply;
        uint32_t id;

        echo_server_init(&server, transports[t]);
        echo_server_start(&server);
        open_client(&client, &server);
        open_client(&other, &server);
        ck_assert(hgi_sp_client_send(&client, 1, text("hold")));
        ck_assert(echo_server_wait_held(&server, 1, LONG_MS));
        asker = hgi_conn_asker(server.held[0].conn);
        ck_assert_uint_eq(asker->hold_max_bytes, hgi_conn_hold_max(&server.limits));
        atomic_fetch_add(&asker->held_bytes, asker->hold_max_bytes);
        hgi_bytes_init(&all, &hgi_heap);
        ck_assert(hgi_sp_client_frame(&client, 2, text("e: waits"), &all));
        ck_assert(hgi_sp_client_frame(&client, 3, text("e: waits, too"), &all));
        ck_assert(hgi_sp_client_write(&client, hgi_bytes_slice(&all)));
        hgi_bytes_deinit(&all);
        ask(&other, 1, "e: not held up");
        ck_assert_uint_eq(echo_at_rest(&server.metrics.requests), 2);
        atomic_fetch_sub(&asker->held_bytes, asker->hold_max_bytes);
        echo_server_release_all(&server);
        for (uint32_t i = 1; i <= 3; i++) {
            ck_assert(hgi_sp_client_receive(&client, LONG_MS, &id, &reply));
            ck_assert_uint_eq(id, i);
        }
        hgi_sp_client_close(&client);
        hgi_sp_client_close(&other);
        echo_server_deinit(&server);
    }
}
END_TEST

START_TEST(handlers_may_answer_after_the_peer_has_left)
{
    for (size_t t = 0; t < 2; t++) {
        struct echo_server server;
        struct hgi_sp_client client;

        echo_server_init(&server, transports[t]);
        echo_server_start(&server);
        open_client(&client, &server);
        for (uint32_t id = 0; id < 16; id++) {
            ck_assert(hgi_sp_client_send(&client, id, text("held")));
        }
        ck_assert(echo_server_wait_held(&server, 16, LONG_MS));
        hgi_sp_client_close(&client);
        ck_assert(echo_wait_at_most(&server.metrics.connections_open, 0, LONG_MS));
        echo_server_release_all(&server);
        ck_assert_uint_eq(atomic_load(&server.metrics.replies), 0);
        echo_server_deinit(&server);
    }
}
END_TEST

START_TEST(handlers_may_answer_after_the_listener_is_closed)
{
    for (size_t t = 0; t < 2; t++) {
        struct echo_server server;
        struct hgi_sp_client client;

        echo_server_init(&server, transports[t]);
        echo_server_start(&server);
        open_client(&client, &server);
        ck_assert(hgi_sp_client_send(&client, 1, text("held")));
        ck_assert(echo_server_wait_held(&server, 1, LONG_MS));
        echo_server_close(&server, 0);
        ck_assert(hgi_sp_client_is_closed(&client, LONG_MS));
        echo_server_release_all(&server);
        hgi_sp_client_close(&client);
        echo_server_deinit(&server);
    }
}
END_TEST

START_TEST(replies_given_before_close_are_flushed)
{
    enum { REQUESTS = 32 };

    for (size_t t = 0; t < 2; t++) {
        struct echo_server server;
        struct hgi_sp_client client;

        echo_server_init(&server, transports[t]);
        echo_server_start(&server);
        open_client(&client, &server);
        for (uint32_t id = 0; id < REQUESTS; id++) {
            ck_assert(hgi_sp_client_send(&client, id, text("held")));
        }
        ck_assert(echo_server_wait_held(&server, REQUESTS, LONG_MS));
        echo_server_release_all(&server);
        echo_server_close(&server, LONG_MS);
        for (uint32_t i = 0; i < REQUESTS; i++) {
            struct hg_slice body;
            uint32_t id;

            ck_assert(hgi_sp_client_receive(&client, LONG_MS, &id, &body));
        }
        hgi_sp_client_close(&client);
        echo_server_deinit(&server);
    }
}
END_TEST

HGI_SUITE("server.conn", 60, stock_req_socket_is_answered_at_once_and_later,
          sixteen_contexts_of_a_stock_req_socket_each_get_their_own_reply,
          replies_leave_in_the_order_they_are_given,
          pipelined_requests_answered_by_another_thread_each_get_their_own_reply,
          replies_to_the_frames_of_one_read_leave_in_one_write, frames_may_come_byte_by_byte,
          message_of_the_limit_is_answered_and_a_longer_one_ends_the_connection,
          request_id_in_flight_is_dropped_and_counted_and_free_again_after_its_reply,
          same_id_on_two_connections_is_two_requests,
          requests_beyond_in_flight_max_wait_and_none_is_lost,
          reading_stops_while_replies_pile_up_and_none_is_lost,
          replies_to_waiting_calls_are_bounded_and_each_has_one,
          reading_stops_while_calls_hold_too_much, handlers_may_answer_after_the_peer_has_left,
          handlers_may_answer_after_the_listener_is_closed, replies_given_before_close_are_flushed)
