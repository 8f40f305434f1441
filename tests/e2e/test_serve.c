/* SPDX-License-Identifier: Apache-2.0 */
/* What a peer meets at the door: both transports, stock clients, rights, op ids, batches, bad
 * messages. */
#include <nng/nng.h>
#include <nng/protocol/reqrep0/req.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "asker.h"
#include "base/check.h"
#include "base/kind.h"
#include "crowd.h"
#include "daemon.h"
#include "proto/codec.h"
#include "proto/envelope.h"
#include "sp_client.h"

static const char caches[] =
    "cache \"bytes\" { key = \"bytes\" value = \"bytes\" loader = \"script\" ttl = \"60s\" }\n"
    "cache \"json\" { key = \"bytes\" value = \"json\" loader = \"script\" ttl = \"60s\" }\n"
    "cache \"auth\" { key = \"auth\" value = \"auth\" loader = \"script\" ttl = \"60s\" }\n"
    "cache \"alone\" { key = \"bytes\" value = \"bytes\" ttl = \"60s\" }\n";

static void setup(struct daemon *d)
{
    daemon_prepare(d, caches);
    daemon_start(d);
}

static void teardown(struct daemon *d)
{
    daemon_stop(d);
    daemon_remove(d);
}

/* An envelope around a get request. */
static void encode_get(struct hg_bytes *ret_bytes, enum hgi_method method, const char *cache,
                       const char *key)
{
    struct hgi_msg_get get = {
        .cache = hg_slice_text(cache), .key = daemon_key(key), .max_age_ms = -1};
    struct hgi_request request = {.method = method};
    struct hg_bytes payload;

    hgi_bytes_init(&payload, &hgi_heap);
    hgi_bytes_init(ret_bytes, &hgi_heap);
    ck_assert(hgi_get_request_encode(&get, &payload));
    request.payload = hgi_bytes_slice(&payload);
    ck_assert(hgi_request_encode(&request, ret_bytes));
    hgi_bytes_deinit(&payload);
}

static void check_loaded(struct hg_slice body, const char *value)
{
    struct hgi_arena arena;
    struct hgi_reply reply;
    struct hgi_msg_answer answer;
    char sentence[HGI_SENTENCE_MAX];

    hgi_arena_init(&arena, 1 << 20);
    ck_assert_int_eq(hgi_reply_decode(body, &arena, &reply), HG_OK);
    ck_assert_int_eq(reply.status, HG_OK);
    ck_assert_int_eq(hgi_answer_decode(reply.payload, &arena, &answer, sentence), HG_OK);
    ck_assert_slice_eq(answer.value, value);
    hgi_arena_deinit(&arena);
}

/* The clients' users get in by the group; the umask that hides the server's other files must not.
 */
START_TEST(the_runtime_folder_it_makes_is_open_to_its_group)
{
    struct daemon d;
    struct stat found;
    char path[96];

    setup(&d);
    snprintf(path, sizeof(path), "%s/run", d.dir);
    ck_assert_int_eq(stat(path, &found), 0);
    ck_assert_uint_eq(found.st_mode & 07777u, 0750);
    teardown(&d);
}
END_TEST

START_TEST(a_user_who_is_no_peer_is_told_so)
{
    char sections[96];
    char wanted[256];
    enum hg_health health;
    struct hg_error error;
    struct daemon d;

    snprintf(sections, sizeof(sections),
             "peers = \"%u\"\ncache \"c\" { key = \"bytes\" value = \"bytes\" }\n",
             (unsigned)getuid() + 1);
    daemon_prepare(&d, sections);
    daemon_start(&d);
    snprintf(wanted, sizeof(wanted),
             "cannot connect to %s: the server closed it at once; is this user one of its peers?",
             d.ipc_url);
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(hg_client_health(d.client, NULL, &health, &error), HG_UNAVAILABLE);
        ck_assert_str_eq(error.text, wanted);
    }
    teardown(&d);
}
END_TEST

START_TEST(a_stock_nng_req_socket_is_served_on_ipc_and_tcp)
{
    struct daemon d;

    setup(&d);
    for (int i = 0; i < 2; i++) {
        nng_socket socket;
        nng_dialer dialer;
        struct hg_bytes request;
        void *reply = NULL;
        size_t len = 0;

        encode_get(&request, HGI_METHOD_GET_OR_LOAD, "bytes", "from-stock");
        ck_assert_int_eq(nng_req0_open(&socket), 0);
        ck_assert_int_eq(nng_socket_set_ms(socket, NNG_OPT_RECVTIMEO, 10000), 0);
        ck_assert_int_eq(nng_dial(socket, i ? d.tcp_url : d.ipc_url, &dialer, 0), 0);
        for (int n = 0; n < 100; n++) {
            ck_assert_int_eq(nng_send(socket, request.data, request.len, 0), 0);
            ck_assert_int_eq(nng_recv(socket, &reply, &len, NNG_FLAG_ALLOC), 0);
            check_loaded(hg_slice_of(reply, len), "from-stock");
            nng_free(reply, len);
        }
        ck_assert_int_eq(nng_close(socket), 0);
        hgi_bytes_deinit(&request);
    }
    ck_assert_uint_eq(hgi_script_loads(&d.script, "from-stock"), 1);
    teardown(&d);
}
END_TEST

START_TEST(a_data_listener_reads_and_changes_nothing)
{
    struct daemon d;
    struct hg_client *reader;
    struct hg_read read = {.cache = "bytes", .key = daemon_key("k")};
    struct hg_put put = {.cache = "bytes", .key = daemon_key("k"), .value = hg_slice_text("v")};
    struct hg_key key = daemon_key("k");
    struct hg_invalidate invalidate = {.cache = "bytes", .keys = &key, .key_count = 1};
    struct hg_clear clear = {.cache = "bytes"};
    struct hg_generation generation = {.cache = "bytes", .key = key};
    struct hg_answer answer;
    struct hg_stored stored;
    struct hg_report report;
    struct hg_reports reports;
    struct hg_stats stats;
    struct hg_token token;
    enum hg_health health;

    setup(&d);
    ck_assert_int_eq(hg_client_open(d.tcp_url, NULL, &reader, NULL), HG_OK);
    ck_assert_int_eq(hg_client_get_or_load(reader, &read, &answer, NULL), HG_OK);
    hg_answer_deinit(&answer);
    ck_assert_int_eq(hg_client_get(reader, &read, &answer, NULL), HG_OK);
    ck_assert_int_eq(answer.outcome, HG_VALUE);
    hg_answer_deinit(&answer);
    ck_assert_int_eq(hg_client_generation(reader, &generation, &token, NULL), HG_OK);
    ck_assert_int_eq(hg_client_health(reader, NULL, &health, NULL), HG_OK);
    ck_assert_int_eq(health, HG_HEALTH_SERVING);
    ck_assert_int_eq(hg_client_put(reader, &put, &stored, NULL), HG_PERMISSION_DENIED);
    ck_assert_int_eq(hg_client_invalidate(reader, &invalidate, &report, NULL),
                     HG_PERMISSION_DENIED);
    ck_assert_int_eq(hg_client_clear(reader, &clear, &reports, NULL), HG_PERMISSION_DENIED);
    ck_assert_int_eq(hg_client_stats(reader, NULL, &stats, NULL), HG_PERMISSION_DENIED);
    ck_assert_int_eq(hg_client_get(reader, &read, &answer, NULL), HG_OK);
    ck_assert_int_eq(answer.outcome, HG_VALUE); /* still there */
    hg_answer_deinit(&answer);
    hg_client_close(&reader);
    teardown(&d);
}
END_TEST

START_TEST(health_is_told_of_every_service_there_is)
{
    static const char *const services[] = {"", "herdgate.v1.Cache", "herdgate.v1.Admin",
                                           "herdgate.v1.Events", "grpc.health.v1.Health"};
    static const char *const others[] = {"herdgate.v1", "herdgate.v1.Cache/Get",
                                         "herdgate.v1.Lock"};
    struct daemon d;
    enum hg_health health;

    setup(&d);
    for (size_t i = 0; i < HGI_COUNT_OF(services); i++) {
        const struct hg_named request = {.name = services[i]};

        ck_assert_msg(hg_client_health(d.client, &request, &health, NULL) == HG_OK, "%s",
                      services[i]);
        ck_assert_int_eq(health, HG_HEALTH_SERVING);
    }
    for (size_t i = 0; i < HGI_COUNT_OF(others); i++) {
        const struct hg_named request = {.name = others[i]};

        ck_assert_int_eq(hg_client_health(d.client, &request, &health, NULL), HG_NOT_FOUND);
    }
    teardown(&d);
}
END_TEST

START_TEST(one_op_id_has_one_effect_and_one_answer)
{
    static const unsigned char op[HG_OP_ID_LEN] = "fifteen-letters";
    struct daemon d;
    struct hg_put put = {
        .cache = "bytes", .key = daemon_key("k"), .value = hg_slice_text("v"), .op_id = op};
    struct hg_clear clear = {.cache = "bytes"};
    struct hg_stored first;
    struct hg_stored again;
    struct hg_reports reports;
    struct hg_answer answer;
    struct hg_error error;

    setup(&d);
    ck_assert_int_eq(hg_client_put(d.client, &put, &first, NULL), HG_OK);
    ck_assert_int_eq(hg_client_clear(d.client, &clear, &reports, NULL), HG_OK);
    hg_reports_deinit(&reports);
    /* A late copy of the put: answered as before, and the clear stays. */
    ck_assert_int_eq(hg_client_put(d.client, &put, &again, NULL), HG_OK);
    ck_assert_uint_eq(again.generation, first.generation);
    ck_assert_int_eq(daemon_read(&d, "bytes", "k", HG_MODE_PEEK, &answer, NULL), HG_OK);
    ck_assert_int_eq(answer.outcome, HG_NOT_CACHED);
    hg_answer_deinit(&answer);
    put.value = hg_slice_text("other");
    ck_assert_int_eq(hg_client_put(d.client, &put, &again, &error), HG_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "op_id"));
    teardown(&d);
}
END_TEST

START_TEST(a_batch_gives_each_key_its_own_status)
{
    struct daemon d;
    struct hg_key keys[4] = {daemon_key("good"), daemon_key(""), daemon_key("absent"),
                             daemon_key("bad")};
    struct hg_batch request = {.cache = "bytes", .keys = keys, .key_count = 4};
    struct hg_answers answers;

    setup(&d);
    hgi_script_set(&d.script, "absent absent\nbad fail 14 no backend\n");
    ck_assert_int_eq(hg_client_batch_get_or_load(d.client, &request, &answers, NULL), HG_OK);
    ck_assert_uint_eq(answers.count, 4);
    ck_assert_int_eq(answers.answers[0].status, HG_OK);
    ck_assert_slice_eq(answers.answers[0].value, "good");
    ck_assert_int_eq(answers.answers[1].status, HG_INVALID_ARGUMENT);
    ck_assert_int_eq(answers.answers[2].outcome, HG_ABSENT);
    ck_assert_int_eq(answers.answers[3].status, HG_UNAVAILABLE);
    ck_assert_slice_eq(answers.answers[3].message, "no backend");
    hg_answers_deinit(&answers);
    teardown(&d);
}
END_TEST

/* Asked without a clock of the client's own: libherdgate gives up shortly after the server's
 * deadline, and a busy machine may take longer to say what came. For the same reason what is quick
 * is cached before. */
START_TEST(a_batch_joins_a_key_that_is_in_flight_and_ends_at_its_deadline)
{
    struct daemon d;
    struct crowd crowd;
    struct hg_read alone = {.cache = "bytes", .key = daemon_key("slow")};
    struct hg_key keys[2] = {daemon_key("slow"), daemon_key("quick")};
    struct hgi_msg_batch batch = {
        .cache = hg_slice_text("bytes"), .keys = keys, .key_count = 2, .max_age_ms = -1};
    struct hgi_msg_batch_reply reply;
    char sentence[HGI_SENTENCE_MAX];
    struct hg_bytes payload;
    struct asker asker;

    setup(&d);
    crowd_init(&crowd);
    hgi_bytes_init(&payload, &hgi_heap);
    ck_assert_int_eq(daemon_put(&d, "bytes", "quick", "here"), HG_OK);
    hgi_script_set(&d.script, "slow gate %/go\n");
    crowd_read(&crowd, d.client, &alone);
    hgi_script_await(&d.script, "slow", 1);
    asker_open(&asker, d.ipc_url, NULL);
    asker.timeout_ms = 300;
    ck_assert(hgi_batch_request_encode(&batch, &payload));
    ck_assert_int_eq(asker_ask(&asker, HGI_METHOD_BATCH_GET_OR_LOAD, hgi_bytes_slice(&payload)),
                     HG_OK);
    ck_assert_int_eq(hgi_batch_reply_decode(asker.reply.payload, &asker.arena, &reply, sentence),
                     HG_OK);
    ck_assert_uint_eq(reply.answer_count, 2);
    ck_assert_int_eq(reply.answers[0].status, HG_DEADLINE_EXCEEDED);
    ck_assert_int_eq(reply.answers[1].status, HG_OK);
    ck_assert_slice_eq(reply.answers[1].value, "here");
    hgi_script_touch(&d.script, "go");
    crowd_wait(&crowd);
    ck_assert_int_eq(crowd.answers[0].status, HG_OK);
    ck_assert_uint_eq(hgi_script_loads(&d.script, "slow"), 1);
    asker_close(&asker);
    hgi_bytes_deinit(&payload);
    crowd_deinit(&crowd);
    teardown(&d);
}
END_TEST

/* The load that the batch waits for is let go when the value is seen to be over. */
START_TEST(a_value_whose_time_ends_while_its_batch_waits_is_not_handed_out)
{
    struct daemon d;
    struct hg_key keys[3] = {daemon_key("short"), daemon_key("slow"), daemon_key("long")};
    struct hgi_msg_batch batch = {
        .cache = hg_slice_text("bytes"), .keys = keys, .key_count = 3, .max_age_ms = -1};
    struct hg_put put = {.cache = "bytes",
                         .key = keys[0],
                         .value = hg_slice_text("secret"),
                         .ttl_ms = 2000,
                         .stale_ttl_ms = 2000};
    struct hgi_msg_batch_reply reply;
    struct hg_answer answer;
    char sentence[HGI_SENTENCE_MAX];
    struct hg_bytes payload;
    struct hg_stored stored;
    struct asker asker;

    setup(&d);
    hgi_bytes_init(&payload, &hgi_heap);
    hgi_script_set(&d.script, "slow gate %/go\n");
    ck_assert_int_eq(daemon_put(&d, "bytes", "long", "lasting"), HG_OK);
    ck_assert_int_eq(hg_client_put(d.client, &put, &stored, NULL), HG_OK);
    asker_open(&asker, d.ipc_url, NULL);
    ck_assert(hgi_batch_request_encode(&batch, &payload));
    asker_send(&asker, HGI_METHOD_BATCH_GET_OR_LOAD, hgi_bytes_slice(&payload));
    hgi_script_await(&d.script, "slow", 1); /* by now the others have been read */
    for (bool is_over = false; !is_over; hg_answer_deinit(&answer)) {
        ck_assert_int_eq(daemon_read(&d, "bytes", "short", HG_MODE_ALLOW_STALE, &answer, NULL),
                         HG_OK);
        is_over = answer.value.len == strlen("short"); /* loaded anew, and not "secret" */
    }
    hgi_script_touch(&d.script, "go");
    ck_assert_int_eq(asker_receive(&asker), HG_OK);
    ck_assert_int_eq(hgi_batch_reply_decode(asker.reply.payload, &asker.arena, &reply, sentence),
                     HG_OK);
    ck_assert_uint_eq(reply.answer_count, 3);
    ck_assert_int_eq(reply.answers[0].status, HG_UNAVAILABLE);
    ck_assert_uint_eq(reply.answers[0].value.len, 0);
    ck_assert_slice_eq(reply.answers[1].value, "slow");
    ck_assert_slice_eq(reply.answers[2].value, "lasting");
    ck_assert_uint_ge(reply.answers[2].age_ms, 1800); /* jitter may take a tenth */
    ck_assert_uint_le(reply.answers[2].ttl_left_ms, 60000 - 1800);
    asker_close(&asker);
    hgi_bytes_deinit(&payload);
    teardown(&d);
}
END_TEST

/* 60 values of 60 KiB do not fit one message of 1 MiB: some get RESOURCE_EXHAUSTED, none is cut. */
START_TEST(values_that_do_not_fit_the_reply_are_said_so)
{
    static char big[60 * 1024 + 1];
    struct daemon d;
    char names[60][8];
    struct hg_key keys[60];
    struct hg_batch request = {.cache = "alone", .keys = keys, .key_count = 60};
    struct hg_answers answers;
    size_t whole = 0;
    size_t left_out = 0;

    setup(&d);
    memset(big, 'x', sizeof(big) - 1);
    for (size_t i = 0; i < 60; i++) {
        snprintf(names[i], sizeof(names[i]), "k%zu", i);
        keys[i] = daemon_key(names[i]);
        ck_assert_int_eq(daemon_put(&d, "alone", names[i], big), HG_OK);
    }
    ck_assert_int_eq(hg_client_batch_get_or_load(d.client, &request, &answers, NULL), HG_OK);
    for (size_t i = 0; i < answers.count; i++) {
        whole +=
            answers.answers[i].status == HG_OK && answers.answers[i].value.len == sizeof(big) - 1;
        left_out += answers.answers[i].status == HG_RESOURCE_EXHAUSTED;
    }
    ck_assert_uint_eq(whole + left_out, 60);
    ck_assert_uint_ge(whole, 16);
    ck_assert_uint_ge(left_out, 1);
    hg_answers_deinit(&answers);
    teardown(&d);
}
END_TEST

/* Values that fill a message to its last bytes, then 239 keys that find no room: what is said of
 * those must fit too, or the peer would have to close. */
START_TEST(reply_to_a_batch_is_never_longer_than_a_message_may_be)
{
    static char big[64 * 1024 + 1];
    struct daemon d;
    struct hgi_sp_client raw;
    struct hg_key keys[256];
    struct hgi_msg_batch batch = {
        .cache = hg_slice_text("alone"), .keys = keys, .key_count = 256, .max_age_ms = -1};
    struct hgi_request request = {.method = HGI_METHOD_BATCH_GET_OR_LOAD};
    struct hg_bytes payload;
    struct hg_bytes body;
    struct hg_slice reply;

    setup(&d);
    memset(big, 'x', sizeof(big) - 1);
    ck_assert_int_eq(daemon_put(&d, "alone", "whole", big), HG_OK);
    big[60 * 1024] = 0;
    ck_assert_int_eq(daemon_put(&d, "alone", "less", big), HG_OK);
    for (size_t i = 0; i < 256; i++) {
        keys[i] = daemon_key(i == 15 ? "less" : "whole");
    }
    hgi_bytes_init(&payload, &hgi_heap);
    hgi_bytes_init(&body, &hgi_heap);
    ck_assert(hgi_batch_request_encode(&batch, &payload));
    request.payload = hgi_bytes_slice(&payload);
    ck_assert(hgi_request_encode(&request, &body));
    ck_assert(hgi_sp_client_open(&raw, d.ipc_url, 5000));
    ck_assert(hgi_sp_client_ask(&raw, 1, hgi_bytes_slice(&body), 10000, &reply));
    ck_assert_uint_ge(reply.len, 15 * 64 * 1024);
    ck_assert_uint_le(reply.len + HGI_SP_HEAD_MAX, 1024 * 1024);
    hgi_sp_client_close(&raw);
    hgi_bytes_deinit(&payload);
    hgi_bytes_deinit(&body);
    teardown(&d);
}
END_TEST

static void expect_refused(struct daemon *d, const struct hg_read *read, enum hg_status status,
                           const char *words)
{
    struct hg_answer answer;
    struct hg_error error;

    ck_assert_int_eq(hg_client_get_or_load(d->client, read, &answer, &error), status);
    ck_assert_msg(strstr(error.text, words) != NULL, "\"%s\" does not say \"%s\"", error.text,
                  words);
}

static void expect_put_refused(struct daemon *d, const struct hg_put *put, enum hg_status status,
                               const char *words)
{
    struct hg_stored stored;
    struct hg_error error;

    ck_assert_int_eq(hg_client_put(d->client, put, &stored, &error), status);
    ck_assert_msg(strstr(error.text, words) != NULL, "\"%s\" does not say \"%s\"", error.text,
                  words);
}

START_TEST(bad_requests_get_one_clear_sentence_and_change_nothing)
{
    static char long_key[HG_KEY_MAX + 2];
    static char long_value[65 * 1024 + 1];
    struct daemon d;
    struct hg_read read = {.cache = "nowhere", .key = daemon_key("k")};
    struct hg_put put = {.cache = "bytes", .key = daemon_key("k"), .value = hg_slice_text("v")};

    setup(&d);
    memset(long_key, 'k', sizeof(long_key) - 1);
    memset(long_value, 'v', sizeof(long_value) - 1);
    expect_refused(&d, &read, HG_NOT_FOUND, "nowhere");
    read.cache = "bytes";
    read.key = daemon_key("");
    expect_refused(&d, &read, HG_INVALID_ARGUMENT, "empty");
    read.key = daemon_key(long_key);
    expect_refused(&d, &read, HG_INVALID_ARGUMENT, "1025");
    read.key = (struct hg_key){.kind = HG_KEY_KEY_HASH, .bytes = hg_slice_text("h")};
    expect_refused(&d, &read, HG_INVALID_ARGUMENT, "key_hash");
    read.cache = "auth";
    read.key = daemon_key("k");
    expect_refused(&d, &read, HG_INVALID_ARGUMENT, "auth");
    read.cache = "alone";
    expect_refused(&d, &read, HG_FAILED_PRECONDITION, "no loader");
    put.value = hg_slice_text(long_value);
    expect_put_refused(&d, &put, HG_INVALID_ARGUMENT, "66560");
    put.cache = "json";
    put.value = hg_slice_text("{");
    expect_put_refused(&d, &put, HG_INVALID_ARGUMENT, "JSON");
    put.cache = "auth";
    put.key = (struct hg_key){.kind = HG_KEY_KEY_HASH, .bytes = hg_slice_text("h")};
    expect_put_refused(&d, &put, HG_INVALID_ARGUMENT, "AuthValue");
    put.cache = "bytes";
    put.key = daemon_key("k");
    put.value = hg_slice_text("v");
    put.expires_at_ms = 1000;
    expect_put_refused(&d, &put, HG_FAILED_PRECONDITION, "expires_at");
    ck_assert_uint_eq(daemon_metric(&d, "bytes", "entries"), 0);
    ck_assert_uint_eq(daemon_metric(&d, "json", "entries"), 0);
    ck_assert_uint_eq(daemon_metric(&d, "auth", "entries"), 0);
    teardown(&d);
}
END_TEST

START_TEST(an_unknown_method_and_a_body_of_noise_get_a_status)
{
    static const unsigned char noise[] = {0xff, 0xff, 0xff, 0xff, 0x00, 0x13, 0x37};
    struct daemon d;
    struct hgi_sp_client raw;
    struct hgi_arena arena;
    struct hgi_reply reply;
    struct hg_slice body;
    /* Request{method = "herdgate.v1.Cache/Steal"} */
    static const char unknown[] = "\x0a\x17herdgate.v1.Cache/Steal";

    setup(&d);
    hgi_arena_init(&arena, 1 << 16);
    ck_assert(hgi_sp_client_open(&raw, d.tcp_url, 5000));
    ck_assert(hgi_sp_client_ask(&raw, 1, hg_slice_text(unknown), 5000, &body));
    ck_assert_int_eq(hgi_reply_decode(body, &arena, &reply), HG_OK);
    ck_assert_int_eq(reply.status, HG_UNIMPLEMENTED);
    ck_assert(hgi_sp_client_ask(&raw, 2, hg_slice_of(noise, sizeof(noise)), 5000, &body));
    ck_assert_int_eq(hgi_reply_decode(body, &arena, &reply), HG_OK);
    ck_assert_int_eq(reply.status, HG_INVALID_ARGUMENT);
    ck_assert(hgi_sp_client_ask(&raw, 3, hg_slice_of(NULL, 0), 5000, &body));
    ck_assert_int_eq(hgi_reply_decode(body, &arena, &reply), HG_OK);
    ck_assert_int_ne(reply.status, HG_OK);
    hgi_sp_client_close(&raw);
    hgi_arena_deinit(&arena);
    teardown(&d);
}
END_TEST

START_TEST(a_server_under_traffic_stops_cleanly_and_answers_everybody)
{
    struct daemon d;
    struct crowd crowd;

    setup(&d);
    crowd_init(&crowd);
    hgi_script_set(&d.script, "* gate %/never\n");
    for (int i = 0; i < 64; i++) {
        char name[16];
        struct hg_read read = {.cache = "bytes"};

        snprintf(name, sizeof(name), "k%d", i);
        read.key = daemon_key(name);
        crowd_read(&crowd, d.client, &read);
    }
    daemon_wait_metric(&d, "bytes", "waiting", 64);
    ck_assert_int_eq(daemon_terminate(&d), 0);
    crowd_wait(&crowd);
    for (int i = 0; i < 64; i++) {
        ck_assert_int_eq(crowd.answers[i].status, HG_UNAVAILABLE);
    }
    hg_client_close(&d.client);
    daemon_remove(&d);
    crowd_deinit(&crowd);
}
END_TEST

START_TEST(a_second_server_on_the_same_address_says_so_and_harms_nobody)
{
    struct daemon d;
    const char *argv[] = {HGI_HERDGATED, "-c", NULL, NULL};
    char output[1024];
    struct hg_answer answer;

    setup(&d);
    argv[2] = d.config;
    ck_assert_int_eq(daemon_run(argv, output, sizeof(output)), 75);
    ck_assert_msg(strstr(output, "herdgate.sock") != NULL, "%s", output);
    ck_assert_int_eq(daemon_read(&d, "bytes", "still", HG_MODE_FRESH, &answer, NULL), HG_OK);
    hg_answer_deinit(&answer);
    teardown(&d);
}
END_TEST

START_TEST(a_killed_loader_harms_its_waiters_not_and_other_loads_go_on)
{
    struct daemon d;
    struct hg_answer answer;
    struct hg_error error;

    setup(&d);
    hgi_script_set(&d.script, "once die_once ok\n");
    ck_assert_msg(daemon_read(&d, "bytes", "once", HG_MODE_FRESH, &answer, &error) == HG_OK, "%s",
                  error.text);
    ck_assert_slice_eq(answer.value, "ok");
    hg_answer_deinit(&answer);
    ck_assert_uint_eq(daemon_metric(&d, "bytes", "lost"), 1);
    ck_assert_uint_eq(hgi_script_loads(&d.script, "once"), 2);
    teardown(&d);
}
END_TEST

HGI_SUITE("e2e.serve", 60, the_runtime_folder_it_makes_is_open_to_its_group,
          a_user_who_is_no_peer_is_told_so, a_stock_nng_req_socket_is_served_on_ipc_and_tcp,
          a_data_listener_reads_and_changes_nothing, health_is_told_of_every_service_there_is,
          one_op_id_has_one_effect_and_one_answer, a_batch_gives_each_key_its_own_status,
          a_batch_joins_a_key_that_is_in_flight_and_ends_at_its_deadline,
          a_value_whose_time_ends_while_its_batch_waits_is_not_handed_out,
          values_that_do_not_fit_the_reply_are_said_so,
          reply_to_a_batch_is_never_longer_than_a_message_may_be,
          bad_requests_get_one_clear_sentence_and_change_nothing,
          an_unknown_method_and_a_body_of_noise_get_a_status,
          a_server_under_traffic_stops_cleanly_and_answers_everybody,
          a_second_server_on_the_same_address_says_so_and_harms_nobody,
          a_killed_loader_harms_its_waiters_not_and_other_loads_go_on)
