/* SPDX-License-Identifier: Apache-2.0 */
#include "hg_test.h"

#include <stdatomic.h>
#include <stdio.h>

#include "asking.h"
#include "base/clock.h"
#include "base/thread.h"

/* ---- many in flight ---- */

#define HOLD_MAX 16

/* Answers in groups, the last of a group first. */
struct reverser {
    unsigned group;
    unsigned held;
    struct fake_caller callers[HOLD_MAX];
    char keys[HOLD_MAX][32];
};

static void reverse(struct fake_server *server, void *context, const struct fake_caller *caller,
                    const struct hgi_request *request)
{
    struct reverser *reverser = context;
    struct hgi_arena arena;
    struct hgi_msg_get get;

    decode_get(request, &arena, &get);
    ck_assert_uint_lt(get.key.bytes.len, sizeof(reverser->keys[0]));
    snprintf(reverser->keys[reverser->held], sizeof(reverser->keys[0]), "%.*s",
             (int)get.key.bytes.len, (const char *)get.key.bytes.data);
    hgi_arena_deinit(&arena);
    reverser->callers[reverser->held++] = *caller;
    if (reverser->held == reverser->group) {
        while (reverser->held > 0) {
            reverser->held--;
            fake_reply_value(server, &reverser->callers[reverser->held],
                             hg_slice_text(reverser->keys[reverser->held]));
        }
    }
}

#define THREADS          8
#define CALLS_PER_THREAD 300

struct asker {
    struct hg_client *client;
    struct hgi_thread thread;
    unsigned number;
};

static void ask(void *arg)
{
    struct asker *asker = arg;
    char key[32];

    for (unsigned i = 0; i < CALLS_PER_THREAD; i++) {
        snprintf(key, sizeof(key), "%u/%u", asker->number, i);
        expect_echo(asker->client, key);
    }
}

START_TEST(eight_threads_share_one_connection_and_each_gets_its_own_reply)
{
    /* A group answers only when all eight calls are in flight at once. */
    struct reverser reverser = {.group = THREADS};
    struct fake_server *server =
        fake_server_start(&(struct fake_options){.handler = reverse, .context = &reverser});
    struct hg_client *client = open_client(fake_server_url(server), NULL);
    struct asker askers[THREADS];

    for (unsigned i = 0; i < THREADS; i++) {
        askers[i] = (struct asker){.client = client, .number = i};
        ck_assert(hgi_thread_start(&askers[i].thread, "asker", ask, &askers[i]));
    }
    for (unsigned i = 0; i < THREADS; i++) {
        hgi_thread_join(&askers[i].thread);
    }
    ck_assert_uint_eq(fake_connections(server), 1);
    ck_assert_uint_eq(fake_requests(server), THREADS * CALLS_PER_THREAD);
    hg_client_close(&client);
    fake_server_stop(&server);
}
END_TEST

struct keyed {
    struct tally *tally;
    char key[16];
};

static void on_keyed(void *arg, const struct hg_error *error, const struct hg_answer *answer)
{
    struct keyed *keyed = arg;

    ck_assert_int_eq(error->status, HG_OK);
    ck_assert_slice_eq(answer->value, keyed->key);
    tally_add(keyed->tally, error->status);
}

START_TEST(replies_out_of_order_reach_the_callbacks_they_belong_to)
{
    struct reverser reverser = {.group = HOLD_MAX};
    struct fake_server *server = fake_server_start(
        &(struct fake_options){.is_tcp = true, .handler = reverse, .context = &reverser});
    struct hg_client *client = open_client(fake_server_url(server), NULL);
    struct keyed keyed[HOLD_MAX * 4];
    struct tally tally;

    tally_init(&tally);
    for (unsigned i = 0; i < HOLD_MAX * 4; i++) {
        struct hg_read read;

        keyed[i].tally = &tally;
        snprintf(keyed[i].key, sizeof(keyed[i].key), "k%u", i);
        read = read_of(keyed[i].key);
        ck_assert_int_eq(hg_client_get_async(client, &read, on_keyed, &keyed[i], NULL), HG_OK);
    }
    tally_wait(&tally, HOLD_MAX * 4);
    hg_client_close(&client);
    ck_assert_uint_eq(tally.count, HOLD_MAX * 4);
    tally_deinit(&tally);
    fake_server_stop(&server);
}
END_TEST

START_TEST(one_call_more_than_allowed_in_flight_is_refused_at_once)
{
    struct reverser reverser = {.group = 4};
    struct fake_server *server =
        fake_server_start(&(struct fake_options){.handler = reverse, .context = &reverser});
    struct hg_client_options options = {.in_flight_max = 3};
    struct hg_client *client = open_client(fake_server_url(server), &options);
    struct hg_read read = read_of("k");
    struct hg_answer answer;
    struct hg_error error;
    struct tally tally;

    tally_init(&tally);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_int_eq(hg_client_get_async(client, &read, on_answer, &tally, NULL), HG_OK);
    }
    ck_assert_int_eq(hg_client_get(client, &read, &answer, &error), HG_RESOURCE_EXHAUSTED);
    ck_assert_ptr_nonnull(strstr(error.text, "3 calls are in flight"));
    ck_assert_int_eq(hg_client_get_async(client, &read, on_answer, &tally, &error),
                     HG_RESOURCE_EXHAUSTED);
    hg_client_close(&client);
    ck_assert_uint_eq(tally.count, 3);
    ck_assert_uint_eq(tally.by_status[HG_CANCELLED], 3);
    tally_deinit(&tally);
    fake_server_stop(&server);
}
END_TEST

START_TEST(what_has_no_room_to_be_sent_waits_and_is_late_without_being_sent)
{
    struct reverser reverser = {.group = 2};
    struct fake_server *server =
        fake_server_start(&(struct fake_options){.handler = reverse, .context = &reverser});
    struct hg_client_options options = {.unanswered_max = 1};
    struct hg_client *client = open_client(fake_server_url(server), &options);
    struct hg_read read = read_of("k");
    struct hg_put put = {
        .cache = "auth", .key = read.key, .value = hg_slice_text("x"), .timeout_ms = 300};
    struct hg_stored stored;
    struct hg_error error;
    struct tally tally;

    tally_init(&tally);
    ck_assert_int_eq(hg_client_get_async(client, &read, on_answer, &tally, NULL), HG_OK);
    while (fake_requests(server) == 0) {
        hgi_thread_pause(1);
    }
    ck_assert_int_eq(hg_client_put(client, &put, &stored, &error), HG_DEADLINE_EXCEEDED);
    ck_assert_str_eq(error.text, "not sent within 300 ms: too many before it are unanswered");
    ck_assert(!error.is_done_unknown);
    ck_assert_uint_eq(fake_requests(server), 1);
    hg_client_close(&client);
    tally_deinit(&tally);
    fake_server_stop(&server);
}
END_TEST

/* ---- time ---- */

/* Holds "slow"; with the next other key answers "slow" (too late) and then that key. */
struct lateness {
    bool is_held;
    struct fake_caller held;
    _Atomic uint32_t timeout_ms;
};

static void answer_late(struct fake_server *server, void *context, const struct fake_caller *caller,
                        const struct hgi_request *request)
{
    struct lateness *lateness = context;

    atomic_store(&lateness->timeout_ms, request->timeout_ms);
    if (key_is(request, "slow")) {
        lateness->held = *caller;
        lateness->is_held = true;
        return;
    }
    if (lateness->is_held) {
        fake_reply_value(server, &lateness->held, hg_slice_text("too late"));
    }
    echo(server, NULL, caller, request);
}

START_TEST(call_times_out_and_its_late_reply_goes_to_nobody)
{
    struct lateness lateness = {0};
    struct fake_server *server =
        fake_server_start(&(struct fake_options){.handler = answer_late, .context = &lateness});
    struct hg_client *client = open_client(fake_server_url(server), NULL);
    struct hg_read read = read_of("slow");
    struct hg_answer answer;
    struct hg_error error;
    int64_t start_ms;
    int64_t took_ms;

    expect_echo(client, "first");
    read.timeout_ms = 100;
    start_ms = hgi_clock_now().boot_ms;
    ck_assert_int_eq(hg_client_get(client, &read, &answer, &error), HG_DEADLINE_EXCEEDED);
    took_ms = hgi_clock_now().boot_ms - start_ms;
    ck_assert_int_ge(took_ms, 99);
    ck_assert_int_lt(took_ms, 3000);
    ck_assert_str_eq(error.text, "no answer within 100 ms");
    ck_assert(!error.is_done_unknown);
    expect_echo(client, "next");
    expect_echo(client, "and again");
    ck_assert_uint_eq(fake_connections(server), 1);
    hg_client_close(&client);
    fake_server_stop(&server);
}
END_TEST

START_TEST(server_is_told_to_answer_a_little_before_the_callers_time_is_up)
{
    struct lateness lateness = {0};
    struct fake_server *server =
        fake_server_start(&(struct fake_options){.handler = answer_late, .context = &lateness});
    struct hg_client_options options = {.timeout_ms = 7000};
    struct hg_client *client = open_client(fake_server_url(server), &options);
    const struct {
        uint32_t asked;
        uint32_t told;
    } cases[] = {{0, 6950}, {100, 90}, {2000, 1950}, {4000000, HG_TIMEOUT_MAX_MS - 50}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hg_read read = read_of("k");
        struct hg_answer answer;

        read.timeout_ms = cases[i].asked;
        ck_assert_int_eq(hg_client_get(client, &read, &answer, NULL), HG_OK);
        hg_answer_deinit(&answer);
        ck_assert_uint_eq(atomic_load(&lateness.timeout_ms), cases[i].told);
    }
    hg_client_close(&client);
    fake_server_stop(&server);
}
END_TEST

/* ---- callbacks ---- */

/* By turns: answers, keeps silent, and now and then ends the connection. */
static void be_moody(struct fake_server *server, void *context, const struct fake_caller *caller,
                     const struct hgi_request *request)
{
    unsigned *turn = context;

    (*turn)++;
    if (*turn % 50 == 0) {
        fake_drop(server, caller);
    } else if (*turn % 3 != 0) {
        echo(server, NULL, caller, request);
        if (*turn % 7 == 0) { /* a second reply to the same id is nobody's */
            echo(server, NULL, caller, request);
        }
    }
}

struct once {
    struct tally *tally;
    _Atomic unsigned count;
};

static void on_once(void *arg, const struct hg_error *error, const struct hg_answer *answer)
{
    struct once *once = arg;

    (void)answer;
    atomic_fetch_add(&once->count, 1);
    tally_add(once->tally, error->status);
}

#define ONCE_CALLS 1000

START_TEST(callback_comes_exactly_once_whatever_happens)
{
    unsigned turn = 0;
    struct fake_server *server =
        fake_server_start(&(struct fake_options){.handler = be_moody, .context = &turn});
    struct hg_client *client = open_client(fake_server_url(server), NULL);
    static struct once once[ONCE_CALLS];
    struct tally tally;

    tally_init(&tally);
    for (unsigned i = 0; i < ONCE_CALLS; i++) {
        struct hg_read read = read_of("k");

        once[i].tally = &tally;
        atomic_store(&once[i].count, 0);
        read.timeout_ms = i % 4 == 3 ? 5 : 100000;
        ck_assert_int_eq(hg_client_get_async(client, &read, on_once, &once[i], NULL), HG_OK);
        if (i == 0) {
            tally_wait(&tally, 1); /* answered: no drop can take it along */
        } else if (i % 100 == 99) {
            tally_wait(&tally, i / 4);
        }
    }
    hg_client_close(&client);
    ck_assert_uint_eq(tally.count, ONCE_CALLS);
    for (unsigned i = 0; i < ONCE_CALLS; i++) {
        ck_assert_uint_eq(atomic_load(&once[i].count), 1);
    }
    ck_assert_uint_gt(tally.by_status[HG_OK], 0);
    tally_deinit(&tally);
    fake_server_stop(&server);
}
END_TEST

struct chainer {
    struct hg_client *client;
    struct tally *tally;
    enum hg_status waiting;
};

static void on_chained(void *arg, const struct hg_error *error, const struct hg_answer *answer)
{
    struct chainer *chainer = arg;
    struct hg_read read = read_of("inner");
    struct hg_answer never;

    (void)error;
    (void)answer;
    chainer->waiting = hg_client_get(chainer->client, &read, &never, NULL);
    ck_assert_int_eq(hg_client_get_async(chainer->client, &read, on_answer, chainer->tally, NULL),
                     HG_OK);
}

START_TEST(callback_may_begin_calls_but_not_wait_for_one)
{
    struct fake_server *server = fake_server_start(&(struct fake_options){.handler = echo});
    struct hg_client *client = open_client(fake_server_url(server), NULL);
    struct tally tally;
    struct chainer chainer = {.client = client, .tally = &tally};
    struct hg_read read = read_of("outer");

    tally_init(&tally);
    ck_assert_int_eq(hg_client_get_async(client, &read, on_chained, &chainer, NULL), HG_OK);
    tally_wait(&tally, 1);
    ck_assert_int_eq(chainer.waiting, HG_FAILED_PRECONDITION);
    ck_assert_uint_eq(tally.by_status[HG_OK], 1);
    hg_client_close(&client);
    tally_deinit(&tally);
    fake_server_stop(&server);
}
END_TEST

/* ---- close ---- */

static void hold_and_tell(struct fake_server *server, void *context,
                          const struct fake_caller *caller, const struct hgi_request *request)
{
    (void)server;
    (void)caller;
    (void)request;
    tally_add(context, HG_OK);
}

static void expect_cancelled(void *arg)
{
    struct asker *asker = arg;
    struct hg_read read = read_of("k");
    struct hg_answer answer;
    struct hg_error error;

    ck_assert_int_eq(hg_client_get(asker->client, &read, &answer, &error), HG_CANCELLED);
    ck_assert_str_eq(error.text, "the client was closed");
}

START_TEST(close_ends_waiting_calls_and_callbacks_before_it_returns)
{
    struct tally arrived;
    struct tally ended;
    struct fake_server *server;
    struct hg_client *client;
    struct asker askers[THREADS];
    struct hg_read read = read_of("k");

    tally_init(&arrived);
    tally_init(&ended);
    server =
        fake_server_start(&(struct fake_options){.handler = hold_and_tell, .context = &arrived});
    client = open_client(fake_server_url(server), NULL);
    for (unsigned i = 0; i < THREADS; i++) {
        askers[i] = (struct asker){.client = client, .number = i};
        ck_assert(hgi_thread_start(&askers[i].thread, "asker", expect_cancelled, &askers[i]));
        ck_assert_int_eq(hg_client_get_async(client, &read, on_answer, &ended, NULL), HG_OK);
    }
    tally_wait(&arrived, 2 * THREADS);
    hg_client_close(&client);
    ck_assert_ptr_null(client);
    ck_assert_uint_eq(ended.count, THREADS);
    ck_assert_uint_eq(ended.by_status[HG_CANCELLED], THREADS);
    for (unsigned i = 0; i < THREADS; i++) {
        hgi_thread_join(&askers[i].thread);
    }
    hg_client_close(&client);
    tally_deinit(&arrived);
    tally_deinit(&ended);
    fake_server_stop(&server);
}
END_TEST

START_TEST(clients_come_and_go_under_traffic)
{
    struct fake_server *server = fake_server_start(&(struct fake_options){.handler = echo});
    struct tally tally;

    tally_init(&tally);
    for (unsigned i = 0; i < 50; i++) {
        struct hg_client *client = open_client(fake_server_url(server), NULL);
        struct hg_read read = read_of("k");

        for (unsigned j = 0; j < 20; j++) {
            ck_assert_int_eq(hg_client_get_async(client, &read, on_answer, &tally, NULL), HG_OK);
        }
        if (i % 2) {
            expect_echo(client, "up");
        }
        hg_client_close(&client);
        ck_assert_uint_eq(tally.count, (i + 1) * 20);
    }
    tally_deinit(&tally);
    fake_server_stop(&server);
}
END_TEST

START_TEST(client_that_never_called_closes)
{
    struct hg_client *client = open_client(NULL, NULL);

    hg_client_close(&client);
    ck_assert_ptr_null(client);
}
END_TEST

START_TEST(bad_url_is_refused_with_a_sentence)
{
    struct hg_client *client = NULL;
    struct hg_error error;

    ck_assert_int_eq(hg_client_open("http://x", NULL, &client, &error), HG_INVALID_ARGUMENT);
    ck_assert_ptr_null(client);
    ck_assert_ptr_nonnull(strstr(error.text, "tcp://host:port"));
    ck_assert_int_eq(hg_client_open("http://x", NULL, &client, NULL), HG_INVALID_ARGUMENT);
}
END_TEST

HGI_SUITE("client.client", 60, eight_threads_share_one_connection_and_each_gets_its_own_reply,
          replies_out_of_order_reach_the_callbacks_they_belong_to,
          one_call_more_than_allowed_in_flight_is_refused_at_once,
          what_has_no_room_to_be_sent_waits_and_is_late_without_being_sent,
          call_times_out_and_its_late_reply_goes_to_nobody,
          server_is_told_to_answer_a_little_before_the_callers_time_is_up,
          callback_comes_exactly_once_whatever_happens,
          callback_may_begin_calls_but_not_wait_for_one,
          close_ends_waiting_calls_and_callbacks_before_it_returns,
          clients_come_and_go_under_traffic, client_that_never_called_closes,
          bad_url_is_refused_with_a_sentence)
