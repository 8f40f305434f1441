/* SPDX-License-Identifier: Apache-2.0 */
/* Every typed call, waited for and called back, and what is refused before it is sent. */
#include "hg_test.h"

#include <stdio.h>

#include "asking.h"
#include "fake_caches.h"
#include "herdgate/control.h"
#include "herdgate/inspect.h"
#include "herdgate/snapshot.h"

static struct fake_server *server;
static struct hg_client *client;

static void begin(void)
{
    server = fake_server_start(&(struct fake_options){.handler = fake_caches});
    client = open_client(fake_server_url(server), NULL);
}

static void end(void)
{
    hg_client_close(&client);
    fake_server_stop(&server);
}

static const struct hg_key keys[] = {{.kind = HG_KEY_BYTES, .bytes = {"text", 4}},
                                     {.kind = HG_KEY_BYTES, .bytes = {"absent", 6}}};

/* ---- waited for ---- */

START_TEST(reads_bring_value_outcome_source_and_times)
{
    struct hg_read read = read_of("stale");
    struct hg_answer answer;
    struct hg_error error;

    begin();
    ck_assert_int_eq(hg_client_get_or_load(client, &read, &answer, &error), HG_OK);
    ck_assert_int_eq(answer.outcome, HG_VALUE);
    ck_assert_int_eq(answer.source, HG_SOURCE_STALE);
    ck_assert_slice_eq(answer.value, "old");
    ck_assert_int_eq(answer.value_type, HG_TYPE_BYTES);
    ck_assert(answer.is_fenced);
    ck_assert_uint_eq(answer.generation, 7);
    ck_assert_uint_eq(answer.age_ms, 1500);
    ck_assert_uint_eq(answer.ttl_left_ms, 8500);
    ck_assert_uint_eq(answer.stale_left_ms, 18500);
    hg_answer_deinit(&answer);
    hg_answer_deinit(&answer);
    end();
}
END_TEST

START_TEST(batch_brings_one_answer_per_key_in_their_order)
{
    struct hg_batch batch = {.cache = "c", .keys = keys, .key_count = 2};
    struct hg_answers answers;

    begin();
    ck_assert_int_eq(hg_client_batch_get_or_load(client, &batch, &answers, NULL), HG_OK);
    ck_assert_uint_eq(answers.count, 2);
    ck_assert_slice_eq(answers.answers[0].value, "hello");
    ck_assert_int_eq(answers.answers[1].outcome, HG_ABSENT);
    hg_answers_deinit(&answers);
    end();
}
END_TEST

START_TEST(writes_bring_their_reports)
{
    struct hg_put put = {.cache = "c", .key = keys[0], .value = {"v", 1}};
    struct hg_invalidate invalidate = {.cache = "c", .keys = keys, .key_count = 2};
    struct hg_generation generation = {.cache = "c", .key = keys[0]};
    struct hg_clear clear = {.all = true};
    struct hg_stored stored;
    struct hg_report report;
    struct hg_token token;
    struct hg_reports reports;

    begin();
    ck_assert_int_eq(hg_client_generation(client, &generation, &token, NULL), HG_OK);
    ck_assert_uint_eq(token.generation, 42);
    ck_assert_uint_eq(token.epoch, UINT64_MAX);
    put.if_generation = &token;
    ck_assert_int_eq(hg_client_put(client, &put, &stored, NULL), HG_OK);
    ck_assert_uint_eq(stored.generation, 43);
    ck_assert_int_eq(hg_client_invalidate(client, &invalidate, &report, NULL), HG_OK);
    ck_assert_slice_eq(report.cache, "c");
    ck_assert_uint_eq(report.released, 3);
    hg_report_deinit(&report);
    ck_assert_int_eq(hg_client_clear(client, &clear, &reports, NULL), HG_OK);
    ck_assert_uint_eq(reports.count, 2);
    ck_assert_slice_eq(reports.reports[1].cache, "b");
    ck_assert_uint_eq(reports.reports[1].fenced, 6);
    hg_reports_deinit(&reports);
    end();
}
END_TEST

START_TEST(admin_calls_bring_lists)
{
    struct hg_named keys_loader = {.name = "keys"};
    struct hg_caches caches;
    struct hg_stats stats;
    struct hg_loaders loaders;
    struct hg_loader_info loader;
    struct hg_saved saved;
    struct hg_snapshot_info info;
    struct hg_verified verified;
    struct hg_reloaded reloaded;
    struct hg_drained drained;
    enum hg_health health;

    begin();
    ck_assert_int_eq(hg_client_list_caches(client, NULL, &caches, NULL), HG_OK);
    ck_assert_uint_eq(caches.count, 2);
    ck_assert_slice_eq(caches.caches[0].loader, "keys");
    ck_assert_int_eq(caches.caches[0].mode, HG_MODE_REVALIDATE);
    hg_caches_deinit(&caches);
    ck_assert_int_eq(hg_client_stats(client, NULL, &stats, NULL), HG_OK);
    ck_assert_uint_eq(stats.cache_count, 2);
    ck_assert_slice_eq(stats.caches[0].counters[1].name, "stale_hit");
    ck_assert_uint_eq(stats.caches[0].counters[1].value, 2000);
    ck_assert_slice_eq(stats.server[0].name, "connections");
    hg_stats_deinit(&stats);
    ck_assert_int_eq(hg_client_list_loaders(client, NULL, &loaders, NULL), HG_OK);
    ck_assert_uint_eq(loaders.count, 1);
    ck_assert_int_eq(loaders.loaders[0].pid, 4711);
    hg_loaders_deinit(&loaders);
    ck_assert_int_eq(hg_client_reload_loader(client, &keys_loader, &loader, NULL), HG_OK);
    ck_assert_slice_eq(loader.state, "running");
    hg_loader_info_deinit(&loader);
    ck_assert_int_eq(hg_client_save_snapshot(client, NULL, &saved, NULL), HG_OK);
    ck_assert_uint_eq(saved.entries, 12);
    ck_assert_int_eq(hg_client_snapshot_info(client, NULL, &info, NULL), HG_OK);
    ck_assert_slice_eq(info.path, "/s.db");
    ck_assert(info.unsaved == 2 && info.degraded && info.work_total == 40);
    hg_snapshot_info_deinit(&info);
    ck_assert_int_eq(hg_client_verify_snapshot(client, NULL, &verified, NULL), HG_OK);
    ck_assert(verified.faults == 2 && verified.rows == 9 && !verified.structure_checked);
    ck_assert_slice_eq(verified.fault, "row 1");
    hg_verified_deinit(&verified);
    ck_assert_int_eq(hg_client_reload(client, NULL, &reloaded, NULL), HG_OK);
    ck_assert(reloaded.changed_count == 1 && reloaded.restart_count == 0);
    ck_assert_slice_eq(reloaded.changed[0], "log_level");
    hg_reloaded_deinit(&reloaded);
    ck_assert_int_eq(hg_client_drain(client, &(struct hg_drain){0}, &drained, NULL), HG_OK);
    ck_assert(drained.connections == 3 && drained.waiting == 4);
    ck_assert_int_eq(hg_client_health(client, NULL, &health, NULL), HG_OK);
    ck_assert_int_eq(health, HG_HEALTH_SERVING);
    end();
}
END_TEST

START_TEST(flights_and_explanations_come_whole)
{
    struct hg_list_flights all = {.cache = NULL};
    struct hg_list_flights one = {.cache = "c", .flights_max = 1};
    struct hg_kill_flight kill = {.cache = "c", .id = 99};
    struct hg_explain explain = {.cache = "c", .key = keys[0]};
    struct hg_flights flights;
    struct hg_flight flight;
    struct hg_explanation said;

    begin();
    ck_assert_int_eq(hg_client_list_flights(client, &all, &flights, NULL), HG_OK);
    ck_assert_uint_eq(flights.count, 2);
    ck_assert_slice_eq(flights.flights[0].leader, "caller");
    ck_assert_uint_eq(flights.flights[0].followers, 3);
    ck_assert_int_eq(flights.flights[0].pid, 4711);
    ck_assert_int_eq(flights.flights[1].left_ms, -1);
    hg_flights_deinit(&flights);
    ck_assert_int_eq(hg_client_list_flights(client, &one, &flights, NULL), HG_OK);
    ck_assert_uint_eq(flights.count, 1);
    ck_assert_uint_eq(flights.total, 2);
    ck_assert_slice_eq(flights.flights[0].cache, "c");
    hg_flights_deinit(&flights);
    ck_assert_int_eq(hg_client_kill_flight(client, &kill, &flight, NULL), HG_OK);
    ck_assert_uint_eq(flight.id, 99);
    hg_flight_deinit(&flight);
    ck_assert_int_eq(hg_client_explain(client, &explain, &said, NULL), HG_OK);
    ck_assert_slice_eq(said.rule, "stale");
    ck_assert_uint_eq(said.entry.ttl_ms, 1000);
    ck_assert_uint_eq(said.flight.id, 12);
    ck_assert_uint_eq(said.failure_left_ms, 30);
    ck_assert_uint_eq(said.answer_count, 2);
    ck_assert_int_eq(said.answers[0].source, HG_SOURCE_STALE);
    ck_assert_int_eq(said.answers[1].status, HG_UNAVAILABLE);
    hg_explanation_deinit(&said);
    end();
}
END_TEST

/* ---- called back: each says by which number it was called, and that the reply is the right one */

static void called(void *arg, const struct hg_error *error, bool is_right)
{
    ck_assert_int_eq(error->status, HG_OK);
    ck_assert(is_right);
    tally_add(arg, HG_OK);
}

static void on_answers(void *arg, const struct hg_error *error, const struct hg_answers *reply)
{
    called(arg, error, reply->count == 2 && reply->answers[1].outcome == HG_ABSENT);
}

static void on_report(void *arg, const struct hg_error *error, const struct hg_report *reply)
{
    called(arg, error, reply->dropped == 2);
}

static void on_token(void *arg, const struct hg_error *error, const struct hg_token *reply)
{
    called(arg, error, reply->generation == 42);
}

static void on_reports(void *arg, const struct hg_error *error, const struct hg_reports *reply)
{
    called(arg, error, reply->count == 1);
}

static void on_caches(void *arg, const struct hg_error *error, const struct hg_caches *reply)
{
    called(arg, error, reply->count == 2);
}

static void on_stats(void *arg, const struct hg_error *error, const struct hg_stats *reply)
{
    called(arg, error, reply->server_count == 1);
}

static void on_loaders(void *arg, const struct hg_error *error, const struct hg_loaders *reply)
{
    called(arg, error, reply->loaders[0].abi == 1);
}

static void on_loader(void *arg, const struct hg_error *error, const struct hg_loader_info *reply)
{
    called(arg, error, reply->deaths == 1);
}

static void on_saved(void *arg, const struct hg_error *error, const struct hg_saved *reply)
{
    called(arg, error, reply->duration_ms == 34);
}

static void on_info(void *arg, const struct hg_error *error, const struct hg_snapshot_info *reply)
{
    called(arg, error, reply->pages == 1);
}

static void on_verified(void *arg, const struct hg_error *error, const struct hg_verified *reply)
{
    called(arg, error, reply->faults == 2);
}

static void on_reloaded(void *arg, const struct hg_error *error, const struct hg_reloaded *reply)
{
    called(arg, error, reply->changed_count == 1);
}

static void on_drained(void *arg, const struct hg_error *error, const struct hg_drained *reply)
{
    called(arg, error, reply->waiting == 4);
}

static void on_health(void *arg, const struct hg_error *error, const enum hg_health *reply)
{
    called(arg, error, *reply == HG_HEALTH_SERVING);
}

static void on_flights(void *arg, const struct hg_error *error, const struct hg_flights *reply)
{
    called(arg, error, reply->total == 2);
}

static void on_flight(void *arg, const struct hg_error *error, const struct hg_flight *reply)
{
    called(arg, error, reply->id == 99);
}

static void on_explanation(void *arg, const struct hg_error *error,
                           const struct hg_explanation *reply)
{
    called(arg, error, reply->answer_count == 2);
}

START_TEST(every_call_can_be_called_back)
{
    struct hg_list_flights list = {.cache = "c"};
    struct hg_kill_flight kill = {.cache = "c", .id = 99};
    struct hg_explain explain = {.cache = "c", .key = keys[0]};
    struct hg_batch batch = {.cache = "c", .keys = keys, .key_count = 2};
    struct hg_put put = {.cache = "c", .key = keys[0], .value = {"v", 1}};
    struct hg_invalidate invalidate = {.cache = "c", .keys = keys, .key_count = 2};
    struct hg_generation generation = {.cache = "c", .key = keys[0]};
    struct hg_clear clear = {.cache = "c"};
    struct hg_named loader = {.name = "keys"};
    struct hg_read read = read_of("text");
    struct tally tally;

    begin();
    tally_init(&tally);
    ck_assert_int_eq(hg_client_get_async(client, &read, on_answer, &tally, NULL), HG_OK);
    ck_assert_int_eq(hg_client_get_or_load_async(client, &read, on_answer, &tally, NULL), HG_OK);
    ck_assert_int_eq(hg_client_batch_get_or_load_async(client, &batch, on_answers, &tally, NULL),
                     HG_OK);
    ck_assert_int_eq(hg_client_put_async(client, &put, on_stored, &tally, NULL), HG_OK);
    ck_assert_int_eq(hg_client_invalidate_async(client, &invalidate, on_report, &tally, NULL),
                     HG_OK);
    ck_assert_int_eq(hg_client_generation_async(client, &generation, on_token, &tally, NULL),
                     HG_OK);
    ck_assert_int_eq(hg_client_clear_async(client, &clear, on_reports, &tally, NULL), HG_OK);
    ck_assert_int_eq(hg_client_list_caches_async(client, NULL, on_caches, &tally, NULL), HG_OK);
    ck_assert_int_eq(hg_client_stats_async(client, NULL, on_stats, &tally, NULL), HG_OK);
    ck_assert_int_eq(hg_client_list_loaders_async(client, NULL, on_loaders, &tally, NULL), HG_OK);
    ck_assert_int_eq(hg_client_reload_loader_async(client, &loader, on_loader, &tally, NULL),
                     HG_OK);
    ck_assert_int_eq(hg_client_save_snapshot_async(client, NULL, on_saved, &tally, NULL), HG_OK);
    ck_assert_int_eq(hg_client_snapshot_info_async(client, NULL, on_info, &tally, NULL), HG_OK);
    ck_assert_int_eq(hg_client_verify_snapshot_async(client, NULL, on_verified, &tally, NULL),
                     HG_OK);
    ck_assert_int_eq(hg_client_reload_async(client, NULL, on_reloaded, &tally, NULL), HG_OK);
    ck_assert_int_eq(hg_client_drain_async(client, &(struct hg_drain){0}, on_drained, &tally, NULL),
                     HG_OK);
    ck_assert_int_eq(hg_client_health_async(client, NULL, on_health, &tally, NULL), HG_OK);
    ck_assert_int_eq(hg_client_list_flights_async(client, &list, on_flights, &tally, NULL), HG_OK);
    ck_assert_int_eq(hg_client_kill_flight_async(client, &kill, on_flight, &tally, NULL), HG_OK);
    ck_assert_int_eq(hg_client_explain_async(client, &explain, on_explanation, &tally, NULL),
                     HG_OK);
    tally_wait(&tally, 20);
    ck_assert_uint_eq(tally.by_status[HG_OK], 20);
    end();
    tally_deinit(&tally);
}
END_TEST

/* ---- errors ---- */

static void refuse_load(struct fake_server *at, void *context, const struct fake_caller *caller,
                        const struct hgi_request *request)
{
    struct hgi_msg_answer answer = {.source = HG_SOURCE_JOINED};
    struct hgi_reply reply = {.status = HG_RESOURCE_EXHAUSTED,
                              .message = hg_slice_text("too many loads"),
                              .retry_after_ms = 250};
    struct hg_bytes payload;

    (void)context;
    (void)request;
    hgi_bytes_init(&payload, &hgi_heap);
    ck_assert(hgi_answer_encode(&answer, &payload));
    reply.payload = hgi_bytes_slice(&payload);
    fake_reply(at, caller, &reply);
    hgi_bytes_deinit(&payload);
}

START_TEST(error_tells_status_text_retry_and_whose_load_it_was)
{
    struct hg_read read = read_of("k");
    struct hg_answer answer = {.generation = 99};
    struct hg_error error;

    server = fake_server_start(&(struct fake_options){.handler = refuse_load});
    client = open_client(fake_server_url(server), NULL);
    ck_assert_int_eq(hg_client_get_or_load(client, &read, &answer, &error), HG_RESOURCE_EXHAUSTED);
    ck_assert_int_eq(error.status, HG_RESOURCE_EXHAUSTED);
    ck_assert_str_eq(error.text, "too many loads");
    ck_assert_uint_eq(error.retry_after_ms, 250);
    ck_assert_int_eq(error.source, HG_SOURCE_JOINED);
    ck_assert(!error.is_done_unknown);
    ck_assert_uint_eq(answer.generation, 99);
    end();
}
END_TEST

static void answer_rubbish(struct fake_server *at, void *context, const struct fake_caller *caller,
                           const struct hgi_request *request)
{
    struct hgi_reply reply = {.status = HG_OK, .payload = hg_slice_text("\xff\xff\xff\xff")};

    (void)context;
    (void)request;
    fake_reply(at, caller, &reply);
}

START_TEST(reply_that_is_no_message_is_an_internal_error_of_that_call_alone)
{
    struct hg_read read = read_of("k");
    struct hg_answer answer;
    struct hg_error error;

    server = fake_server_start(&(struct fake_options){.handler = answer_rubbish});
    client = open_client(fake_server_url(server), NULL);
    ck_assert_int_eq(hg_client_get(client, &read, &answer, &error), HG_INTERNAL);
    ck_assert_int_eq(hg_client_get(client, &read, &answer, &error), HG_INTERNAL);
    ck_assert_int_eq(strncmp(error.text, "the server's reply: ", 20), 0);
    ck_assert_uint_eq(fake_connections(server), 1);
    end();
}
END_TEST

START_TEST(what_cannot_be_right_is_refused_before_it_is_sent)
{
    static struct hg_key many[257];
    struct hg_read no_cache = {.key = keys[0]};
    struct hg_batch batch = {.cache = "c", .keys = many, .key_count = 257};
    struct hg_invalidate nothing = {.cache = "c"};
    struct hg_clear neither = {.cache = NULL};
    struct hg_clear both = {.cache = "c", .all = true};
    struct hg_named no_loader = {.name = ""};
    struct hg_kill_flight no_flight = {.id = 1};
    struct hg_explain no_explain = {.cache = "", .key = keys[0]};
    struct hg_explanation said;
    struct hg_flight flight;
    struct hg_answer answer;
    struct hg_answers answers;
    struct hg_report report;
    struct hg_reports reports;
    struct hg_loader_info loader;
    struct hg_error error;

    begin();
    ck_assert_int_eq(hg_client_get(client, &no_cache, &answer, &error), HG_INVALID_ARGUMENT);
    ck_assert_str_eq(error.text, "the request names no cache");
    ck_assert_int_eq(hg_client_batch_get_or_load(client, &batch, &answers, &error),
                     HG_INVALID_ARGUMENT);
    ck_assert_str_eq(error.text, "257 keys in one request; it takes 1 to 256");
    ck_assert_int_eq(hg_client_invalidate(client, &nothing, &report, &error), HG_INVALID_ARGUMENT);
    ck_assert_int_eq(hg_client_clear(client, &neither, &reports, &error), HG_INVALID_ARGUMENT);
    ck_assert_int_eq(hg_client_clear(client, &both, &reports, &error), HG_INVALID_ARGUMENT);
    ck_assert_int_eq(hg_client_reload_loader(client, &no_loader, &loader, &error),
                     HG_INVALID_ARGUMENT);
    ck_assert_int_eq(hg_client_kill_flight(client, &no_flight, &flight, &error),
                     HG_INVALID_ARGUMENT);
    ck_assert_str_eq(error.text, "the request names no cache");
    ck_assert_int_eq(hg_client_explain(client, &no_explain, &said, &error), HG_INVALID_ARGUMENT);
    ck_assert_uint_eq(fake_requests(server), 0);
    end();
}
END_TEST

/* ---- op ids ---- */

struct ids {
    size_t count;
    unsigned char bytes[4][HG_OP_ID_LEN];
    bool read_had_one;
};

static void keep_ids(struct fake_server *at, void *context, const struct fake_caller *caller,
                     const struct hgi_request *request)
{
    struct ids *ids = context;

    if (request->method == HGI_METHOD_PUT) {
        ck_assert_uint_eq(request->op_id.len, HG_OP_ID_LEN);
        ck_assert_uint_lt(ids->count, 4);
        memcpy(ids->bytes[ids->count++], request->op_id.data, HG_OP_ID_LEN);
    } else {
        ids->read_had_one = request->op_id.len > 0;
    }
    fake_caches(at, NULL, caller, request);
}

START_TEST(changes_carry_an_op_id_of_their_own_or_the_callers)
{
    static const unsigned char own[HG_OP_ID_LEN] = "sixteen letters";
    struct ids ids = {.read_had_one = true};
    struct hg_put put = {.cache = "c", .key = keys[0], .value = {"v", 1}};
    struct hg_read read = read_of("text");
    struct hg_stored stored;
    struct hg_answer answer;

    server = fake_server_start(&(struct fake_options){.handler = keep_ids, .context = &ids});
    client = open_client(fake_server_url(server), NULL);
    ck_assert_int_eq(hg_client_put(client, &put, &stored, NULL), HG_OK);
    ck_assert_int_eq(hg_client_put(client, &put, &stored, NULL), HG_OK);
    put.op_id = own;
    ck_assert_int_eq(hg_client_put(client, &put, &stored, NULL), HG_OK);
    ck_assert_int_eq(hg_client_get(client, &read, &answer, NULL), HG_OK);
    hg_answer_deinit(&answer);
    end();
    ck_assert_uint_eq(ids.count, 3);
    ck_assert_int_ne(memcmp(ids.bytes[0], ids.bytes[1], HG_OP_ID_LEN), 0);
    ck_assert_int_eq(memcmp(ids.bytes[2], own, HG_OP_ID_LEN), 0);
    ck_assert(!ids.read_had_one);
}
END_TEST

/* ---- auth values ---- */

START_TEST(auth_value_comes_back_as_it_was_packed)
{
    const struct hg_slice scopes[] = {{"read", 4}, {"write", 5}};
    const struct hg_attribute attributes[] = {{{"plan", 4}, {"gold", 4}}};
    const struct hg_auth auth = {.user_id = {"u", 1},
                                 .api_key_id = {"k", 1},
                                 .allowed = true,
                                 .scopes = scopes,
                                 .scope_count = 2,
                                 .attributes = attributes,
                                 .attribute_count = 1,
                                 .not_after_ms = 1234567890123};
    struct hg_packed packed;
    struct hg_auth_value value;
    struct hg_error error;

    ck_assert_int_eq(hg_auth_encode(&auth, &packed, &error), HG_OK);
    ck_assert_int_eq(hg_auth_decode(packed.bytes, &value, &error), HG_OK);
    hg_packed_deinit(&packed);
    ck_assert_slice_eq(value.auth.user_id, "u");
    ck_assert_slice_eq(value.auth.api_key_id, "k");
    ck_assert(value.auth.allowed);
    ck_assert_uint_eq(value.auth.scope_count, 2);
    ck_assert_slice_eq(value.auth.scopes[1], "write");
    ck_assert_slice_eq(value.auth.attributes[0].value, "gold");
    ck_assert_int_eq(value.auth.not_after_ms, 1234567890123);
    hg_auth_value_deinit(&value);
    ck_assert_int_eq(hg_auth_decode(hg_slice_text("\xff\xff"), &value, &error),
                     HG_INVALID_ARGUMENT);
    ck_assert_uint_gt(strlen(error.text), 0);
}
END_TEST

HGI_SUITE("client.ops", 60, reads_bring_value_outcome_source_and_times,
          batch_brings_one_answer_per_key_in_their_order, writes_bring_their_reports,
          admin_calls_bring_lists, flights_and_explanations_come_whole,
          every_call_can_be_called_back, error_tells_status_text_retry_and_whose_load_it_was,
          reply_that_is_no_message_is_an_internal_error_of_that_call_alone,
          what_cannot_be_right_is_refused_before_it_is_sent,
          changes_carry_an_op_id_of_their_own_or_the_callers,
          auth_value_comes_back_as_it_was_packed)
