/* SPDX-License-Identifier: Apache-2.0 */
#include "hg_test.h"

#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "asking.h"
#include "base/clock.h"
#include "base/hash.h"

/* ---- the connection breaks ---- */

struct dropper {
    _Atomic unsigned drop_at; /* this request, from 1, ends the connection; 0: none */
    _Atomic unsigned seen;
};

static void drop(struct fake_server *server, void *context, const struct fake_caller *caller,
                 const struct hgi_request *request)
{
    struct dropper *dropper = context;

    if (atomic_fetch_add(&dropper->seen, 1) + 1 == atomic_load(&dropper->drop_at)) {
        fake_drop(server, caller);
        return;
    }
    if (request->method == HGI_METHOD_GET) {
        echo(server, NULL, caller, request);
    }
}

START_TEST(lost_connection_ends_calls_in_flight_and_nothing_is_sent_again)
{
    struct dropper dropper = {.drop_at = 3};
    struct fake_server *server =
        fake_server_start(&(struct fake_options){.handler = drop, .context = &dropper});
    struct hg_client *client = open_client(fake_server_url(server), NULL);
    struct hg_put put = {.cache = "c",
                         .key = {.kind = HG_KEY_BYTES, .bytes = hg_slice_text("k")},
                         .value = hg_slice_text("v")};
    struct hg_read read = read_of("k");
    struct hg_stored stored;
    struct hg_answer answer;
    struct hg_error error;
    struct tally tally;

    tally_init(&tally);
    expect_echo(client, "connected");
    ck_assert_int_eq(hg_client_put_async(client, &put, on_stored, &tally, NULL), HG_OK);
    ck_assert_int_eq(hg_client_get(client, &read, &answer, &error), HG_UNAVAILABLE);
    ck_assert(!error.is_done_unknown);
    ck_assert_ptr_nonnull(strstr(error.text, "was lost"));
    tally_wait(&tally, 1);
    ck_assert_uint_eq(tally.by_status[HG_UNAVAILABLE], 1);
    expect_echo(client, "again");
    ck_assert_uint_eq(fake_connections(server), 2);
    ck_assert_uint_eq(fake_requests(server), 4);
    atomic_store(&dropper.drop_at, atomic_load(&dropper.seen) + 1);
    ck_assert_int_eq(hg_client_put(client, &put, &stored, &error), HG_UNAVAILABLE);
    ck_assert(error.is_done_unknown);
    ck_assert_ptr_nonnull(strstr(error.text, "whether it was done is not known"));
    expect_echo(client, "once more");
    ck_assert_uint_eq(fake_requests(server), 6);
    hg_client_close(&client);
    tally_deinit(&tally);
    fake_server_stop(&server);
}
END_TEST

START_TEST(absent_server_is_unavailable_at_once_and_used_as_soon_as_it_is_there)
{
    char path[64];
    char url[80];
    struct hg_client *client;
    struct fake_server *server;
    struct hg_read read = read_of("k");
    struct hg_answer answer;
    struct hg_error error;
    int64_t start_ms = hgi_clock_now().boot_ms;

    snprintf(path, sizeof(path), "/tmp/hg_late_%d.sock", (int)getpid());
    snprintf(url, sizeof(url), "ipc://%s", path);
    client = open_client(url, NULL);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_int_eq(hg_client_get(client, &read, &answer, &error), HG_UNAVAILABLE);
        ck_assert_ptr_nonnull(strstr(error.text, "cannot connect to ipc:///tmp/hg_late"));
    }
    ck_assert_int_lt(hgi_clock_now().boot_ms - start_ms, 3000);
    server = fake_server_start(&(struct fake_options){.path = path, .handler = echo});
    expect_echo(client, "there");
    hg_client_close(&client);
    fake_server_stop(&server);
}
END_TEST

START_TEST(server_that_does_not_greet_is_given_up)
{
    struct fake_server *server =
        fake_server_start(&(struct fake_options){.handler = echo, .greeting = FAKE_IS_SILENT});
    struct hg_client_options options = {.connect_timeout_ms = 60};
    struct hg_client *client = open_client(fake_server_url(server), &options);
    struct hg_read read = read_of("k");
    struct hg_answer answer;
    struct hg_error error;

    ck_assert_int_eq(hg_client_get(client, &read, &answer, &error), HG_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(error.text, "did not answer in time"));
    hg_client_close(&client);
    fake_server_stop(&server);
}
END_TEST

START_TEST(peer_that_speaks_something_else_is_told_no_key)
{
    struct fake_server *server = fake_server_start(
        &(struct fake_options){.is_tcp = true, .handler = echo, .greeting = FAKE_IS_HTTP});
    struct hg_client *client = open_client(fake_server_url(server), NULL);
    struct hg_read read = read_of("k");
    struct hg_answer answer;
    struct hg_error error;

    ck_assert_int_eq(hg_client_get(client, &read, &answer, &error), HG_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(error.text, "does not speak"));
    ck_assert_uint_eq(fake_requests(server), 0);
    hg_client_close(&client);
    fake_server_stop(&server);
}
END_TEST

static void only_reads(struct fake_server *server, void *context, const struct fake_caller *caller,
                       const struct hgi_request *request)
{
    ck_assert_int_eq(request->method, HGI_METHOD_GET);
    echo(server, context, caller, request);
}

START_TEST(put_that_timed_out_before_the_connection_opened_is_never_sent)
{
    struct fake_server *server = fake_server_start(
        &(struct fake_options){.handler = only_reads, .greeting = FAKE_IS_SILENT});
    struct hg_client *client = open_client(fake_server_url(server), NULL);
    struct hg_put put = {.cache = "c",
                         .key = {.kind = HG_KEY_BYTES, .bytes = hg_slice_text("k")},
                         .value = hg_slice_text("v"),
                         .timeout_ms = 50};
    struct hg_stored stored;
    struct hg_error error;

    ck_assert_int_eq(hg_client_put(client, &put, &stored, &error), HG_DEADLINE_EXCEEDED);
    ck_assert(!error.is_done_unknown);
    fake_server_listen(server);
    expect_echo(client, "next");
    ck_assert_uint_eq(fake_requests(server), 1);
    ck_assert_uint_eq(fake_connections(server), 1);
    hg_client_close(&client);
    fake_server_stop(&server);
}
END_TEST

/* ---- sizes ---- */

START_TEST(messages_of_nearly_the_limit_go_both_ways_whole)
{
    struct fake_server *server = fake_server_start(&(struct fake_options){.handler = echo});
    struct hg_client *client = open_client(fake_server_url(server), NULL);
    size_t len = 1024 * 1024 - 200;
    unsigned char *big = hgi_alloc(&hgi_heap, len);
    struct hg_read read = {.cache = "c",
                           .key = {.kind = HG_KEY_BYTES, .bytes = hg_slice_of(big, len)}};
    struct hg_answer answer;
    struct hg_error error;

    hgi_random(big, len);
    for (unsigned i = 0; i < 8; i++) {
        ck_assert_msg(hg_client_get(client, &read, &answer, &error) == HG_OK, "%s", error.text);
        ck_assert(hgi_slice_equal(answer.value, hg_slice_of(big, len)));
        hg_answer_deinit(&answer);
    }
    hgi_free(&hgi_heap, big);
    hg_client_close(&client);
    fake_server_stop(&server);
}
END_TEST

START_TEST(request_longer_than_a_message_is_refused_before_it_is_sent)
{
    struct fake_server *server = fake_server_start(&(struct fake_options){.handler = echo});
    struct hg_client_options options = {.message_max_bytes = 1000};
    struct hg_client *client = open_client(fake_server_url(server), &options);
    static char key[2000];
    struct hg_read read = {.cache = "c",
                           .key = {.kind = HG_KEY_BYTES, .bytes = hg_slice_of(key, sizeof(key))}};
    struct hg_answer answer;
    struct hg_error error;

    ck_assert_int_eq(hg_client_get(client, &read, &answer, &error), HG_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "at most 1000 are allowed"));
    ck_assert_uint_eq(fake_connections(server), 0);
    hg_client_close(&client);
    fake_server_stop(&server);
}
END_TEST

static void answer_longer(struct fake_server *server, void *context,
                          const struct fake_caller *caller, const struct hgi_request *request)
{
    static const char value[5000];

    (void)context;
    if (key_is(request, "short")) {
        echo(server, NULL, caller, request);
    } else {
        fake_reply_value(server, caller, hg_slice_of(value, sizeof(value)));
    }
}

START_TEST(reply_longer_than_a_message_ends_the_connection_not_the_client)
{
    struct fake_server *server =
        fake_server_start(&(struct fake_options){.handler = answer_longer});
    struct hg_client_options options = {.message_max_bytes = 1000};
    struct hg_client *client = open_client(fake_server_url(server), &options);
    struct hg_read read = read_of("long");
    struct hg_answer answer;
    struct hg_error error;

    ck_assert_int_eq(hg_client_get(client, &read, &answer, &error), HG_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(error.text, "longer one than is allowed"));
    expect_echo(client, "short");
    hg_client_close(&client);
    fake_server_stop(&server);
}
END_TEST

START_TEST(calls_to_a_server_that_does_not_read_are_refused_when_too_much_waits)
{
    struct fake_server *server =
        fake_server_start(&(struct fake_options){.handler = echo, .is_deaf = true});
    struct hg_client_options options = {.unsent_max_bytes = 256 * 1024};
    struct hg_client *client = open_client(fake_server_url(server), &options);
    static char key[60000];
    struct hg_read read = {.cache = "c",
                           .key = {.kind = HG_KEY_BYTES, .bytes = hg_slice_of(key, sizeof(key))}};
    struct hg_error error = {0};
    struct tally tally;
    unsigned begun = 0;

    tally_init(&tally);
    for (unsigned i = 0; i < 1000; i++) {
        if (hg_client_get_async(client, &read, on_answer, &tally, &error) != HG_OK) {
            break;
        }
        begun++;
    }
    /* Those begun before the connection was open may end refused in their callback instead. */
    if (error.status == HG_OK) {
        tally_wait(&tally, 1);
        ck_assert_uint_gt(tally.by_status[HG_RESOURCE_EXHAUSTED], 0);
    } else {
        ck_assert_int_eq(error.status, HG_RESOURCE_EXHAUSTED);
        ck_assert_ptr_nonnull(strstr(error.text, "does not read"));
    }
    fake_server_listen(server);
    tally_wait(&tally, begun);
    ck_assert_uint_eq(tally.by_status[HG_OK] + tally.by_status[HG_RESOURCE_EXHAUSTED], begun);
    ck_assert_uint_gt(tally.by_status[HG_OK], 0);
    expect_echo(client, "reads again");
    hg_client_close(&client);
    tally_deinit(&tally);
    fake_server_stop(&server);
}
END_TEST

HGI_SUITE("client.conn", 60, lost_connection_ends_calls_in_flight_and_nothing_is_sent_again,
          absent_server_is_unavailable_at_once_and_used_as_soon_as_it_is_there,
          server_that_does_not_greet_is_given_up, peer_that_speaks_something_else_is_told_no_key,
          put_that_timed_out_before_the_connection_opened_is_never_sent,
          messages_of_nearly_the_limit_go_both_ways_whole,
          request_longer_than_a_message_is_refused_before_it_is_sent,
          reply_longer_than_a_message_ends_the_connection_not_the_client,
          calls_to_a_server_that_does_not_read_are_refused_when_too_much_waits)
