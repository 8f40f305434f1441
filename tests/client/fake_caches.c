/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_caches.h"

#include <check.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/kind.h"

struct text {
    char data[1024];
    size_t len;
};

HG_PRINTF(2, 3)
static void say(struct text *text, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    text->len +=
        (size_t)vsnprintf(text->data + text->len, sizeof(text->data) - text->len, format, args);
    va_end(args);
    ck_assert_uint_lt(text->len, sizeof(text->data));
}

static void say_slice(struct text *text, const char *name, struct hg_slice slice)
{
    say(text, " %s=%.*s", name, (int)slice.len, slice.len ? (const char *)slice.data : "");
}

static void say_key(struct text *text, const struct hg_key *key)
{
    say(text, " %s", hgi_key_kind_name(key->kind));
    if (key->kind == HG_KEY_BYTES || key->kind == HG_KEY_KEY_HASH) {
        say_slice(text, "key", key->bytes);
        return;
    }
    say_slice(text, "user", key->user_id);
    say_slice(text, "api_key", key->api_key_id);
    if (key->is_standalone) {
        say(text, " standalone");
    }
}

static bool is(struct hg_slice slice, const char *word)
{
    return hgi_slice_equal(slice, hg_slice_text(word));
}

static enum hg_status status_by_name(struct hg_slice name)
{
#define HG_STATUS_ROW(word, number, text)                                                          \
    if (is(name, #word)) {                                                                         \
        return HG_##word;                                                                          \
    }
#include "herdgate/status.def"
#undef HG_STATUS_ROW
    return HG_UNKNOWN;
}

/* ---- reads ---- */

static void pack_auth(const char *user, const char *scope, bool allowed, struct hg_bytes *ret_bytes)
{
    struct hg_slice scopes[] = {hg_slice_text("read"), hg_slice_text(scope)};
    struct hg_attribute attributes[] = {{hg_slice_text("plan"), hg_slice_text("gold")}};
    struct hg_auth auth = {.user_id = hg_slice_text(user),
                           .api_key_id = hg_slice_text("k1"),
                           .allowed = allowed,
                           .scopes = scopes,
                           .scope_count = 2,
                           .attributes = attributes,
                           .attribute_count = 1,
                           .not_after_ms = 1900000000000};

    ck_assert(hgi_auth_encode(&auth, ret_bytes));
}

static void set_value(struct hgi_msg_answer *answer, enum hg_value_type type,
                      struct hg_bytes *value, struct hg_slice bytes)
{
    ck_assert(hgi_bytes_set(value, bytes));
    answer->value_type = type;
    answer->outcome = HG_VALUE;
}

/* False: no word of ours. */
static bool answer_word(struct hg_slice word, struct hgi_msg_answer *answer, struct hg_bytes *value)
{
    *answer = (struct hgi_msg_answer){.source = HG_SOURCE_FRESH,
                                      .generation = 7,
                                      .age_ms = 1500,
                                      .ttl_left_ms = 8500,
                                      .stale_left_ms = 18500};
    if (is(word, "text")) {
        set_value(answer, HG_TYPE_BYTES, value, hg_slice_text("hello"));
    } else if (is(word, "stale")) {
        set_value(answer, HG_TYPE_BYTES, value, hg_slice_text("old"));
        answer->source = HG_SOURCE_STALE;
        answer->is_fenced = true;
    } else if (is(word, "bin")) {
        set_value(answer, HG_TYPE_BYTES, value, hg_slice_of("\xff\0\x01", 3));
    } else if (is(word, "evil")) {
        set_value(answer, HG_TYPE_BYTES, value, hg_slice_text("\033[2J\\"));
    } else if (is(word, "json")) {
        set_value(answer, HG_TYPE_JSON, value, hg_slice_text("{\"a\": [1, null]}"));
    } else if (is(word, "auth") || is(word, "evil_auth") || is(word, "bin_auth")) {
        pack_auth(is(word, "evil_auth") ? "\033[2J" : "u1", is(word, "bin_auth") ? "\xff" : "write",
                  true, value);
        answer->value_type = HG_TYPE_AUTH;
        answer->outcome = HG_VALUE;
    } else if (is(word, "denied")) {
        pack_auth("u1", "write", false, value);
        answer->value_type = HG_TYPE_AUTH;
        answer->outcome = HG_DENIED;
    } else if (is(word, "absent")) {
        answer->outcome = HG_ABSENT;
    } else if (is(word, "none")) {
        *answer = (struct hgi_msg_answer){.outcome = HG_NOT_CACHED};
    } else if (word.len > 6 && memcmp(word.data, "error:", 6) == 0) {
        answer->status = status_by_name(hg_slice_of((const char *)word.data + 6, word.len - 6));
        answer->message = hg_slice_text("as asked for");
    } else {
        return false;
    }
    answer->value = hgi_bytes_slice(value);
    return true;
}

static void describe(struct fake_server *server, const struct fake_caller *caller,
                     const struct text *text)
{
    fake_reply_error(server, caller, HG_FAILED_PRECONDITION, text->data);
}

static void say_reading(struct text *text, enum hg_mode mode, int64_t max_age_ms,
                        uint64_t min_generation)
{
    say(text, " mode=%s max_age=%" PRId64, hgi_mode_name(mode), max_age_ms);
    if (min_generation) {
        say(text, " min_generation=%" PRIu64, min_generation);
    }
}

static void read_one(struct fake_server *server, const struct fake_caller *caller,
                     const struct hgi_request *request, struct hgi_arena *arena)
{
    struct text text = {0};
    char sentence[HGI_SENTENCE_MAX];
    struct hgi_msg_get get;
    struct hgi_msg_answer answer;
    struct hg_bytes payload;
    struct hg_bytes value;

    hgi_bytes_init(&payload, &hgi_heap);
    hgi_bytes_init(&value, &hgi_heap);
    ck_assert_int_eq(hgi_get_request_decode(request->payload, arena, &get, sentence), HG_OK);
    if (is(get.key.bytes, "hang")) {
        return;
    }
    if (!answer_word(get.key.bytes, &answer, &value)) {
        say(&text, "%s", request->method == HGI_METHOD_GET ? "get" : "load");
        say_slice(&text, "cache", get.cache);
        say_key(&text, &get.key);
        say_reading(&text, get.mode, get.max_age_ms, get.min_generation);
        describe(server, caller, &text);
    } else if (answer.status != HG_OK) {
        fake_reply_error(server, caller, answer.status, "as asked for");
    } else {
        ck_assert(hgi_answer_encode(&answer, &payload));
        fake_reply_ok(server, caller, &payload);
    }
    hgi_bytes_deinit(&payload);
    hgi_bytes_deinit(&value);
}

static void read_batch(struct fake_server *server, const struct fake_caller *caller,
                       const struct hgi_request *request, struct hgi_arena *arena)
{
    char sentence[HGI_SENTENCE_MAX];
    struct hgi_msg_batch batch;
    struct hgi_msg_answer answers[HGI_BATCH_KEYS_MAX];
    struct hg_bytes values[HGI_BATCH_KEYS_MAX];
    struct hgi_msg_batch_reply reply = {.answers = answers};
    struct text text = {0};
    struct hg_bytes payload;

    ck_assert_int_eq(hgi_batch_request_decode(request->payload, arena, &batch, sentence), HG_OK);
    if (is(batch.cache, "describe")) {
        say(&text, "batch");
        for (size_t i = 0; i < batch.key_count; i++) {
            say_key(&text, &batch.keys[i]);
        }
        say_reading(&text, batch.mode, batch.max_age_ms, batch.min_generation);
        describe(server, caller, &text);
        return;
    }
    hgi_bytes_init(&payload, &hgi_heap);
    for (size_t i = 0; i < batch.key_count; i++) {
        hgi_bytes_init(&values[i], &hgi_heap);
        if (is(batch.keys[i].bytes, "forget")) {
            continue; /* one answer too few */
        }
        ck_assert(answer_word(batch.keys[i].bytes, &answers[reply.answer_count++], &values[i]));
    }
    ck_assert(hgi_batch_reply_encode(&reply, &payload));
    fake_reply_ok(server, caller, &payload);
    for (size_t i = 0; i < batch.key_count; i++) {
        hgi_bytes_deinit(&values[i]);
    }
    hgi_bytes_deinit(&payload);
}

/* ---- writes ---- */

static void say_auth(struct text *text, struct hg_slice value, struct hgi_arena *arena)
{
    char sentence[HGI_SENTENCE_MAX];
    struct hg_auth auth;

    ck_assert_int_eq(hgi_auth_decode(value, arena, &auth, sentence), HG_OK);
    say_slice(text, "user", auth.user_id);
    say_slice(text, "api_key", auth.api_key_id);
    say(text, " allowed=%d", auth.allowed);
    for (size_t i = 0; i < auth.scope_count; i++) {
        say_slice(text, "scope", auth.scopes[i]);
    }
    for (size_t i = 0; i < auth.attribute_count; i++) {
        say_slice(text, "attribute", auth.attributes[i].name);
        say_slice(text, "is", auth.attributes[i].value);
    }
    say(text, " not_after=%" PRId64, auth.not_after_ms);
}

static void put(struct fake_server *server, const struct fake_caller *caller,
                const struct hgi_request *request, struct hgi_arena *arena)
{
    struct text text = {0};
    char sentence[HGI_SENTENCE_MAX];
    struct hgi_msg_put message;
    struct hg_bytes payload;

    ck_assert_int_eq(hgi_put_request_decode(request->payload, arena, &message, sentence), HG_OK);
    ck_assert_uint_eq(request->op_id.len, HGI_OP_ID_LEN);
    if (!is(message.cache, "describe") && !is(message.cache, "describe_auth")) {
        if (message.has_if_generation && message.if_generation.generation != 42) {
            fake_reply_error(server, caller, HG_ABORTED, "the key changed");
            return;
        }
        hgi_bytes_init(&payload, &hgi_heap);
        ck_assert(hgi_put_reply_encode(&(struct hgi_msg_put_reply){.generation = 43}, &payload));
        fake_reply_ok(server, caller, &payload);
        hgi_bytes_deinit(&payload);
        return;
    }
    say(&text, "put");
    say_key(&text, &message.key);
    say(&text, " %s", hgi_outcome_name(message.outcome));
    if (is(message.cache, "describe_auth")) {
        say_auth(&text, message.value, arena);
    } else {
        say_slice(&text, "value", message.value);
        say(&text, " ttl=%" PRId64 " stale_ttl=%" PRId64 " expires_at=%" PRId64, message.ttl_ms,
            message.stale_ttl_ms, message.expires_at_ms);
    }
    for (size_t i = 0; i < message.tag_count; i++) {
        say_slice(&text, "tag", message.tags[i]);
    }
    if (message.has_if_generation) {
        say(&text, " if=%" PRIu64 ":%" PRIu64, message.if_generation.generation,
            message.if_generation.epoch);
    }
    describe(server, caller, &text);
}

static void invalidate(struct fake_server *server, const struct fake_caller *caller,
                       const struct hgi_request *request, struct hgi_arena *arena)
{
    struct hgi_msg_report report = {.generation = 50, .dropped = 2, .fenced = 1, .released = 3};
    struct text text = {0};
    char sentence[HGI_SENTENCE_MAX];
    struct hgi_msg_invalidate message;
    struct hg_bytes payload;

    ck_assert_int_eq(hgi_invalidate_request_decode(request->payload, arena, &message, sentence),
                     HG_OK);
    ck_assert_uint_eq(request->op_id.len, HGI_OP_ID_LEN);
    if (is(message.cache, "describe")) {
        say(&text, "invalidate");
        for (size_t i = 0; i < message.key_count; i++) {
            say_key(&text, &message.keys[i]);
        }
        for (size_t i = 0; i < message.tag_count; i++) {
            say_slice(&text, "tag", message.tags[i]);
        }
        if (message.prefix.len) {
            say_slice(&text, "prefix", message.prefix);
        }
        say(&text, "%s", message.is_soft ? " soft" : "");
        describe(server, caller, &text);
        return;
    }
    report.cache = message.cache;
    hgi_bytes_init(&payload, &hgi_heap);
    ck_assert(hgi_report_encode(&report, &payload));
    fake_reply_ok(server, caller, &payload);
    hgi_bytes_deinit(&payload);
}

static bool generation(const struct hgi_request *request, struct hgi_arena *arena,
                       struct hg_bytes *payload)
{
    char sentence[HGI_SENTENCE_MAX];
    struct hgi_msg_generation message;

    ck_assert_int_eq(hgi_generation_request_decode(request->payload, arena, &message, sentence),
                     HG_OK);
    ck_assert(is(message.cache, "c"));
    return hgi_generation_reply_encode(
        &(struct hgi_msg_token){.generation = 42, .epoch = UINT64_MAX}, payload);
}

/* ---- admin ---- */

static bool clear(const struct hgi_request *request, struct hgi_arena *arena,
                  struct hg_bytes *payload)
{
    struct hgi_msg_report reports[] = {
        {.cache = hg_slice_text("a"), .generation = 9, .dropped = 4},
        {.cache = hg_slice_text("b"), .generation = 8, .dropped = 5, .fenced = 6, .released = 7}};
    char sentence[HGI_SENTENCE_MAX];
    struct hgi_msg_clear message;

    ck_assert_int_eq(hgi_clear_request_decode(request->payload, arena, &message, sentence), HG_OK);
    if (message.cache.len) {
        reports[0].cache = message.cache;
    }
    reports[0].fenced = message.waits ? 3 : 0;
    return hgi_clear_reply_encode(
        &(struct hgi_msg_clear_reply){.reports = reports,
                                      .report_count = message.cache.len ? 1 : 2},
        payload);
}

static bool caches(struct hg_bytes *payload)
{
    struct hgi_msg_cache_info list[] = {{.name = hg_slice_text("auth"),
                                         .key_type = hg_slice_text("auth"),
                                         .value_type = hg_slice_text("auth"),
                                         .loader = hg_slice_text("keys"),
                                         .mode = HG_MODE_REVALIDATE,
                                         .ttl_ms = 10000,
                                         .stale_ttl_ms = 90000,
                                         .negative_ttl_ms = 5000,
                                         .max_entries = 16384,
                                         .max_bytes = 67108864,
                                         .entries = 3,
                                         .bytes = 300,
                                         .generation = 77,
                                         .on_error = hg_slice_text("elect"),
                                         .jitter_percent = 10,
                                         .stale_if_error_ms = 3600000,
                                         .error_backoff_ms = 250,
                                         .refresh_ahead = hg_slice_text("20%"),
                                         .is_alone = true},
                                        {.name = hg_slice_text("plain"),
                                         .key_type = hg_slice_text("bytes"),
                                         .value_type = hg_slice_text("bytes"),
                                         .mode = HG_MODE_FRESH,
                                         .ttl_ms = 250,
                                         .on_error = hg_slice_text("share"),
                                         .refresh_ahead = hg_slice_text("off")}};

    return hgi_list_caches_reply_encode(&(struct hgi_msg_caches){.caches = list, .cache_count = 2},
                                        payload);
}

static bool stats(const struct hgi_request *request, struct hgi_arena *arena,
                  struct hg_bytes *payload)
{
    struct hgi_msg_counter counters[] = {{hg_slice_text("hit"), 10},
                                         {hg_slice_text("stale_hit"), 2000}};
    struct hgi_msg_counter server[] = {{hg_slice_text("connections"), 1}};
    struct hgi_msg_cache_stats list[] = {{hg_slice_text("auth"), counters, 2},
                                         {hg_slice_text("plain"), counters, 1}};
    struct hgi_msg_stats reply = {
        .caches = list, .cache_count = 2, .server = server, .server_count = 1};
    char sentence[HGI_SENTENCE_MAX];
    struct hgi_msg_name message;

    ck_assert_int_eq(hgi_stats_request_decode(request->payload, arena, &message, sentence), HG_OK);
    if (message.name.len) {
        list[0].cache = message.name;
        reply.cache_count = 1;
        reply.server_count = 0;
    }
    return hgi_stats_reply_encode(&reply, payload);
}

static struct hgi_msg_loader_info loader_info(struct hg_slice name)
{
    struct hgi_msg_loader_info info = {.name = name,
                                       .plugin = hg_slice_text("/usr/lib/herdgate/sqlite.so"),
                                       .version = hg_slice_text("0.1.0"),
                                       .state = hg_slice_text("running"),
                                       .abi = 1,
                                       .pid = 4711,
                                       .started_count = 2,
                                       .deaths = 1,
                                       .in_flight = 3,
                                       .queued = 4,
                                       .message = hg_slice_text("signal 11")};

    return info;
}

static bool loaders(struct hg_bytes *payload)
{
    struct hgi_msg_loader_info list[] = {loader_info(hg_slice_text("keys"))};

    return hgi_list_loaders_reply_encode(
        &(struct hgi_msg_loaders){.loaders = list, .loader_count = 1}, payload);
}

static bool reload(const struct hgi_request *request, struct hgi_arena *arena,
                   struct hg_bytes *payload)
{
    char sentence[HGI_SENTENCE_MAX];
    struct hgi_msg_loader_info info;
    struct hgi_msg_name message;

    ck_assert_int_eq(hgi_reload_loader_request_decode(request->payload, arena, &message, sentence),
                     HG_OK);
    info = loader_info(message.name);
    return hgi_loader_info_encode(&info, payload);
}

static struct hgi_msg_flight flight_info(struct hg_slice cache, uint64_t id)
{
    struct hgi_msg_flight info = {.cache = cache,
                                  .id = id,
                                  .digest = hg_slice_text("00ff00ff00ff00ff"),
                                  .leader = hg_slice_text("caller"),
                                  .phase = hg_slice_text("sent"),
                                  .pid = 4711,
                                  .age_ms = 1500,
                                  .left_ms = 8500,
                                  .followers = 3,
                                  .generation = 7,
                                  .attempt = 1,
                                  .is_fenced = true};

    return info;
}

static bool flights(const struct hgi_request *request, struct hgi_arena *arena,
                    struct hg_bytes *payload)
{
    char sentence[HGI_SENTENCE_MAX];
    struct hgi_msg_list_flights message;
    struct hgi_msg_flight list[2];
    struct hgi_msg_flights reply = {.flights = list, .flight_count = 2, .count = 2};

    ck_assert_int_eq(hgi_list_flights_request_decode(request->payload, arena, &message, sentence),
                     HG_OK);
    list[0] = flight_info(message.cache.len ? message.cache : hg_slice_text("auth"), 12);
    list[1] = (struct hgi_msg_flight){.cache = list[0].cache,
                                      .id = 13,
                                      .digest = hg_slice_text("0123456789abcdef"),
                                      .leader = hg_slice_text("refresh"),
                                      .phase = hg_slice_text("queued"),
                                      .left_ms = -1};
    if (message.max) {
        reply.flight_count = message.max;
    }
    return hgi_list_flights_reply_encode(&reply, payload);
}

static bool kill_flight(const struct hgi_request *request, struct hgi_arena *arena,
                        struct hg_bytes *payload)
{
    char sentence[HGI_SENTENCE_MAX];
    struct hgi_msg_kill_flight message;
    struct hgi_msg_flight info;

    ck_assert_int_eq(hgi_kill_flight_request_decode(request->payload, arena, &message, sentence),
                     HG_OK);
    ck_assert_uint_eq(request->op_id.len, HGI_OP_ID_LEN);
    info = flight_info(message.cache, message.id);
    return hgi_flight_info_encode(&info, payload);
}

/* The key "bare" has nothing but its rule. */
static bool explain(const struct hgi_request *request, struct hgi_arena *arena,
                    struct hg_bytes *payload)
{
    struct hgi_msg_past_answer answers[] = {
        {.at_ms = 1900000000318,
         .outcome = HG_VALUE,
         .source = HG_SOURCE_STALE,
         .is_fenced = true,
         .generation = 7,
         .age_ms = 1500},
        {.at_ms = 1900000000001, .status = HG_UNAVAILABLE, .source = HG_SOURCE_JOINED}};
    struct hgi_msg_explanation said = {.rule = hg_slice_text("nothing"),
                                       .sentence = hg_slice_text("nothing: as said"),
                                       .digest = hg_slice_text("00ff00ff00ff00ff"),
                                       .generation = 9};
    char sentence[HGI_SENTENCE_MAX];
    struct hgi_msg_explain message;

    ck_assert_int_eq(hgi_explain_request_decode(request->payload, arena, &message, sentence),
                     HG_OK);
    if (!is(message.key.bytes, "bare")) {
        said.rule = hg_slice_text("stale");
        said.sentence = hg_slice_text("stale: as said");
        said.has_entry = true;
        said.entry = (struct hgi_msg_entry_info){.outcome = HG_VALUE,
                                                 .generation = 7,
                                                 .age_ms = 1500,
                                                 .ttl_ms = 1000,
                                                 .stale_left_ms = 8500,
                                                 .refresh_pause_ms = 20};
        said.has_flight = true;
        said.flight = flight_info(message.cache, 12);
        said.failure_left_ms = 30;
        said.answers = answers;
        said.answer_count = 2;
    }
    return hgi_explanation_encode(&said, payload);
}

static bool health(const struct hgi_request *request, struct hgi_arena *arena,
                   struct hg_bytes *payload)
{
    char sentence[HGI_SENTENCE_MAX];
    struct hgi_msg_name message;

    ck_assert_int_eq(hgi_health_request_decode(request->payload, arena, &message, sentence), HG_OK);
    return hgi_health_reply_encode(&(struct hgi_msg_health){.status = message.name.len
                                                                          ? HGI_HEALTH_NOT_SERVING
                                                                          : HGI_HEALTH_SERVING},
                                   payload);
}

static bool snapshot_info(struct hg_bytes *payload)
{
    const struct hgi_msg_snapshot_info info = {
        .path = hg_slice_text("/s.db"),
        .version = 4000,
        .protection = hg_slice_text("key_file"),
        .file_bytes = 8192,
        .log_bytes = 16,
        .pages = 1,
        .invalidations = 3,
        .generation = 77,
        .saved_at_ms = 1900000000000,
        .interval_ms = 5000,
        .entries = 5,
        .unsaved = 2,
        .is_degraded = true,
        .message = hg_slice_text("disk full"),
        .saves = 6,
        .save_errors = 1,
        .rows_written = 8,
        .restored = 4,
        .work = hg_slice_text("verify"),
        .work_done = 10,
        .work_total = 40,
    };

    return hgi_snapshot_info_reply_encode(&info, payload);
}

static bool verify_snapshot(struct hg_bytes *payload)
{
    const struct hgi_msg_verified verified = {
        .faults = 2,
        .fault = hg_slice_text("row 1"),
        .rows = 9,
        .pages = 1,
        .caches = 1,
        .invalidations = 3,
        .generation = 77,
        .saved_at_ms = 1900000000000,
        .duration_ms = 5,
    };

    return hgi_verify_snapshot_reply_encode(&verified, payload);
}

static bool reply_to(const struct hgi_request *request, struct hgi_arena *arena,
                     struct hg_bytes *payload)
{
    switch (request->method) {
    case HGI_METHOD_GENERATION:
        return generation(request, arena, payload);
    case HGI_METHOD_CLEAR:
        return clear(request, arena, payload);
    case HGI_METHOD_LIST_CACHES:
        return caches(payload);
    case HGI_METHOD_STATS:
        return stats(request, arena, payload);
    case HGI_METHOD_LIST_LOADERS:
        return loaders(payload);
    case HGI_METHOD_RELOAD_LOADER:
        return reload(request, arena, payload);
    case HGI_METHOD_SAVE_SNAPSHOT:
        return hgi_save_snapshot_reply_encode(
            &(struct hgi_msg_saved){.entries = 12, .duration_ms = 34}, payload);
    case HGI_METHOD_RELOAD:
        return hgi_reload_reply_encode(
            &(struct hgi_msg_reloaded){(const struct hg_slice[]){hg_slice_text("log_level")}, 1,
                                       NULL, 0},
            payload);
    case HGI_METHOD_DRAIN:
        return hgi_drain_reply_encode(&(struct hgi_msg_drained){.connections = 3, .waiting = 4},
                                      payload);
    case HGI_METHOD_SNAPSHOT_INFO:
        return snapshot_info(payload);
    case HGI_METHOD_VERIFY_SNAPSHOT:
        return verify_snapshot(payload);
    case HGI_METHOD_LIST_FLIGHTS:
        return flights(request, arena, payload);
    case HGI_METHOD_KILL_FLIGHT:
        return kill_flight(request, arena, payload);
    case HGI_METHOD_EXPLAIN:
        return explain(request, arena, payload);
    case HGI_METHOD_HEALTH_CHECK:
        return health(request, arena, payload);
    default:
        return false;
    }
}

void fake_caches(struct fake_server *server, void *context, const struct fake_caller *caller,
                 const struct hgi_request *request)
{
    struct hg_bytes payload;
    struct hgi_arena arena;

    (void)context;
    hgi_bytes_init(&payload, &hgi_heap);
    hgi_arena_init(&arena, hgi_arena_budget(request->payload.len));
    switch (request->method) {
    case HGI_METHOD_GET:
    case HGI_METHOD_GET_OR_LOAD:
        read_one(server, caller, request, &arena);
        break;
    case HGI_METHOD_BATCH_GET_OR_LOAD:
        read_batch(server, caller, request, &arena);
        break;
    case HGI_METHOD_PUT:
        put(server, caller, request, &arena);
        break;
    case HGI_METHOD_INVALIDATE:
        invalidate(server, caller, request, &arena);
        break;
    default:
        ck_assert(reply_to(request, &arena, &payload));
        fake_reply_ok(server, caller, &payload);
        break;
    }
    hgi_arena_deinit(&arena);
    hgi_bytes_deinit(&payload);
}
