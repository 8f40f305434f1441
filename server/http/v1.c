/* SPDX-License-Identifier: Apache-2.0 */
/* The calls in JSON: POST /v1/get, load, put, invalidate, clear. Each becomes the message that the
 * wire has for it, goes to dispatch as that, and its reply becomes JSON again: rights, services and
 * answers are those of everybody else. */
#include <stdarg.h>
#include <stdio.h>
#include <strings.h>

#include "base/check.h"
#include "http.h"
#include "json.h"
#include "operator.h"
#include "server/rpc/dispatch.h"

static const struct {
    enum hg_status status;
    unsigned code;
} codes[] = {
    {HG_OK, 200},
    {HG_INVALID_ARGUMENT, 400},
    {HG_FAILED_PRECONDITION, 400},
    {HG_UNAUTHENTICATED, 401},
    {HG_PERMISSION_DENIED, 403},
    {HG_NOT_FOUND, 404},
    {HG_ABORTED, 409},
    {HG_RESOURCE_EXHAUSTED, 429},
    {HG_UNIMPLEMENTED, 501},
    {HG_UNAVAILABLE, 503},
    {HG_DEADLINE_EXCEEDED, 504},
};

static unsigned code_of(enum hg_status status)
{
    for (size_t i = 0; i < HGI_COUNT_OF(codes); i++) {
        if (codes[i].status == status) {
            return codes[i].code;
        }
    }
    return 500;
}

/* ---- replies ---- */

static void send_json(struct hgi_http_exchange *exchange, HG_TAKES json_t *json)
{
    struct hg_bytes text;

    hgi_bytes_init(&text, &hgi_heap);
    if (json && hgi_json_write(json, &text)) {
        hgi_http_response_body(&exchange->response, 200, "application/json",
                               hgi_bytes_slice(&text));
        hgi_http_response_say(&exchange->response, "Cache-Control", "no-store");
    } else {
        hgi_http_refuse(exchange, 500, "RESOURCE_EXHAUSTED", "no memory for the answer");
    }
    hgi_bytes_deinit(&text);
    json_decref(json);
}

/* False: it was refused, and that has been answered. */
static bool succeeded(struct hgi_http_exchange *exchange)
{
    const struct hgi_reply *reply = &exchange->question.reply;
    char sentence[HGI_SENTENCE_MAX * 2];
    unsigned code = code_of(reply->status);

    if (reply->status == HG_OK) {
        return true;
    }
    snprintf(sentence, sizeof(sentence), "%.*s", (int)reply->message.len,
             reply->message.len ? (const char *)reply->message.data : "");
    hgi_http_refuse(exchange, code, hg_status_name(reply->status), sentence);
    if (code == 401) {
        hgi_http_response_say(&exchange->response, "WWW-Authenticate", "Bearer realm=\"herdgate\"");
    }
    if (reply->retry_after_ms) {
        hgi_http_response_say(&exchange->response, "Retry-After", "%u",
                              (reply->retry_after_ms + 999) / 1000);
    }
    return false;
}

/* False: that has been answered. `decoded`: how reading the reply's payload ended. */
static bool understood(struct hgi_http_exchange *exchange, enum hg_status decoded)
{
    if (decoded != HG_OK) {
        hgi_http_refuse(exchange, 500, "INTERNAL", "the reply was not understood");
    }
    return decoded == HG_OK;
}

static void answer_read(struct hgi_http_exchange *exchange)
{
    struct hgi_msg_answer answer;
    char sentence[HGI_SENTENCE_MAX];

    if (succeeded(exchange) &&
        understood(exchange, hgi_answer_decode(exchange->question.reply.payload, &exchange->arena,
                                               &answer, sentence))) {
        send_json(exchange, hgi_json_of_answer(&answer, &exchange->arena));
    }
}

static void answer_put(struct hgi_http_exchange *exchange)
{
    struct hgi_msg_put_reply reply;
    char sentence[HGI_SENTENCE_MAX];

    if (succeeded(exchange) &&
        understood(exchange, hgi_put_reply_decode(exchange->question.reply.payload,
                                                  &exchange->arena, &reply, sentence))) {
        send_json(exchange, json_pack("{s:I}", "generation", (json_int_t)reply.generation));
    }
}

static void answer_invalidate(struct hgi_http_exchange *exchange)
{
    struct hgi_msg_report report;
    char sentence[HGI_SENTENCE_MAX];

    if (succeeded(exchange) &&
        understood(exchange, hgi_report_decode(exchange->question.reply.payload, &exchange->arena,
                                               &report, sentence))) {
        send_json(exchange, hgi_json_of_report(&report));
    }
}

static json_t *json_of_reports(const struct hgi_msg_clear_reply *reply)
{
    json_t *list = json_array();

    for (size_t i = 0; i < reply->report_count; i++) {
        (void)json_array_append_new(list, hgi_json_of_report(&reply->reports[i]));
    }
    return json_pack("{s:o}", "reports", list);
}

static void answer_clear(struct hgi_http_exchange *exchange)
{
    struct hgi_msg_clear_reply reply;
    char sentence[HGI_SENTENCE_MAX];

    if (succeeded(exchange) &&
        understood(exchange, hgi_clear_reply_decode(exchange->question.reply.payload,
                                                    &exchange->arena, &reply, sentence))) {
        send_json(exchange, json_of_reports(&reply));
    }
}

/* ---- requests ---- */

/* What is read of a body, and the first thing that was wrong with it. */
struct body {
    struct hgi_http_exchange *exchange;
    json_t *json;
    enum hgi_key_type key_type; /* 0: nobody knows the cache, which dispatch will say, or hide */
    enum hg_value_type value_type;
    struct hg_slice cache_name;
    bool is_wrong;
    char sentence[HGI_SENTENCE_MAX];
};

static void wrong(struct body *body, const char *format, ...) HG_PRINTF(2, 3);

static void wrong(struct body *body, const char *format, ...)
{
    va_list args;

    if (body->is_wrong) {
        return;
    }
    body->is_wrong = true;
    va_start(args, format);
    vsnprintf(body->sentence, sizeof(body->sentence), format, args);
    va_end(args);
}

/* A page of another host may have a browser send a form here, but not a body of this type. */
static bool is_json(const struct hgi_http_request *request)
{
    static const char type[] = "application/json";
    struct hg_slice value = {NULL, 0};

    return hgi_http_field_find(request, "Content-Type", &value) == 1 &&
           value.len >= sizeof(type) - 1 && strncasecmp(value.data, type, sizeof(type) - 1) == 0 &&
           (value.len == sizeof(type) - 1 ||
            strchr("; \t", ((const char *)value.data)[sizeof(type) - 1]));
}

static void check_names(struct body *body, const char *const *names)
{
    const char *name;
    json_t *value;

    json_object_foreach(body->json, name, value)
    {
        size_t i = 0;

        while (names[i] && strcmp(names[i], name) != 0) {
            i++;
        }
        if (!names[i]) {
            wrong(body, "there is nothing named \"%.60s\" in this call", name);
        }
    }
}

static struct hg_slice take_text(struct body *body, const char *name, bool is_needed)
{
    const json_t *json = json_object_get(body->json, name);

    if (!json ? is_needed : !json_is_string(json)) {
        wrong(body, "%s is %s", name, json ? "no text" : "missing; it is a text");
    }
    return json_is_string(json) ? hg_slice_of(json_string_value(json), json_string_length(json))
                                : hg_slice_of(NULL, 0);
}

static int64_t take_number(struct body *body, const char *name, int64_t fallback)
{
    const json_t *json = json_object_get(body->json, name);

    if (!json) {
        return fallback;
    }
    if (!json_is_integer(json) || json_integer_value(json) < 0) {
        wrong(body, "%s is no whole number of 0 or more", name);
    }
    return (int64_t)json_integer_value(json);
}

static bool take_switch(struct body *body, const char *name)
{
    const json_t *json = json_object_get(body->json, name);

    if (json && !json_is_boolean(json)) {
        wrong(body, "%s is neither true nor false", name);
    }
    return json_is_true(json);
}

static uint32_t take_timeout(struct body *body)
{
    int64_t timeout_ms = take_number(body, "timeout_ms", 0);

    return (uint32_t)(timeout_ms < HGI_TIMEOUT_MAX ? timeout_ms : HGI_TIMEOUT_MAX);
}

/* False: refused. Then it needs no end. `names` end with NULL. */
static bool begin(struct body *body, struct hgi_http_exchange *exchange, const char *const *names)
{
    const struct hgi_registered *registered;
    json_error_t error;

    *body = (struct body){.exchange = exchange};
    if (!is_json(&exchange->request)) {
        hgi_http_refuse(exchange, 415, "INVALID_ARGUMENT",
                        "the body is JSON; say Content-Type: application/json");
        return false;
    }
    body->json = json_loadb(exchange->request.body.len ? exchange->request.body.data : "",
                            exchange->request.body.len, JSON_REJECT_DUPLICATES, &error);
    if (!json_is_object(body->json)) {
        wrong(body, "the body is no JSON object: %.100s", body->json ? "it is a list" : error.text);
        return true;
    }
    check_names(body, names);
    body->cache_name = take_text(body, "cache", false);
    exchange->question.timeout_ms = take_timeout(body);
    registered = hgi_registry_find(
        hgi_dispatch_services(hgi_http_dispatch(exchange->http))->registry, body->cache_name);
    if (registered) {
        body->key_type = registered->key_type;
        body->value_type = registered->value_type;
    }
    return true;
}

static void need_cache(struct body *body)
{
    if (!body->cache_name.len) {
        wrong(body, "cache is missing; it is the name of one");
    }
}

/* `is_packed` false, of what was right: no memory. */
static void end(struct body *body, bool is_packed)
{
    if (body->is_wrong) {
        hgi_http_refuse(body->exchange, 400, "INVALID_ARGUMENT", body->sentence);
        body->exchange->answered = NULL;
    } else if (!is_packed) {
        hgi_http_refuse(body->exchange, 500, "RESOURCE_EXHAUSTED", "no memory for the request");
        body->exchange->answered = NULL;
    }
    json_decref(body->json);
}

static void take_key(struct body *body, struct hg_key *ret_key)
{
    char sentence[HGI_SENTENCE_MAX];

    if (!hgi_json_read_key(json_object_get(body->json, "key"), body->key_type, ret_key, sentence)) {
        wrong(body, "%s", sentence);
    }
}

static void read_one(struct hgi_http_exchange *exchange, enum hgi_method method)
{
    static const char *const names[] = {"cache",      "key",  "max_age_ms", "min_generation",
                                        "timeout_ms", "mode", NULL};
    struct hgi_msg_get message = {.mode = HG_MODE_DEFAULT};
    struct hg_slice mode;
    struct body body;
    bool is_packed = false;

    if (!begin(&body, exchange, names)) {
        return;
    }
    need_cache(&body);
    take_key(&body, &message.key);
    message.cache = body.cache_name;
    message.max_age_ms = take_number(&body, "max_age_ms", -1);
    message.min_generation = (uint64_t)take_number(&body, "min_generation", 0);
    mode = take_text(&body, "mode", false);
    if (mode.len && !hgi_mode_parse(mode.data, &message.mode)) {
        wrong(&body, "mode is none; there are fresh, allow_stale, revalidate and peek");
    }
    if (!body.is_wrong) {
        hgi_http_ask(exchange, method, answer_read);
        is_packed = hgi_get_request_encode(&message, &exchange->question.payload);
    }
    end(&body, is_packed);
}

void hgi_http_get(struct hgi_http_exchange *exchange)
{
    read_one(exchange, HGI_METHOD_GET);
}

void hgi_http_load(struct hgi_http_exchange *exchange)
{
    read_one(exchange, HGI_METHOD_GET_OR_LOAD);
}

static void take_outcome(struct body *body, struct hgi_msg_put *message)
{
    struct hg_slice outcome = take_text(body, "outcome", false);
    char sentence[HGI_SENTENCE_MAX];

    message->outcome = HG_VALUE;
    if (hgi_slice_equal(outcome, hg_slice_text("absent"))) {
        message->outcome = HG_ABSENT;
    } else if (hgi_slice_equal(outcome, hg_slice_text("denied"))) {
        message->outcome = HG_DENIED;
    } else if (outcome.len && !hgi_slice_equal(outcome, hg_slice_text("value"))) {
        wrong(body, "outcome is none; there are value, absent and denied");
    }
    if (message->outcome == HG_VALUE &&
        !hgi_json_read_value(body->json, "value", body->value_type, &body->exchange->arena,
                             &message->value, sentence)) {
        wrong(body, "%s", sentence);
    }
}

static void take_tags(struct body *body, size_t max, const struct hg_slice **ret_tags,
                      size_t *ret_count)
{
    char sentence[HGI_SENTENCE_MAX];

    if (!hgi_json_read_texts(json_object_get(body->json, "tags"), "tags", max,
                             &body->exchange->arena, ret_tags, ret_count, sentence)) {
        wrong(body, "%s", sentence);
    }
}

void hgi_http_put(struct hgi_http_exchange *exchange)
{
    static const char *const names[] = {"cache",         "key",        "value", "value_base64",
                                        "outcome",       "ttl_ms",     "tags",  "stale_ttl_ms",
                                        "expires_at_ms", "timeout_ms", NULL};
    struct hgi_msg_put message = {.outcome = HG_VALUE};
    struct body body;
    bool is_packed = false;

    if (!begin(&body, exchange, names)) {
        return;
    }
    need_cache(&body);
    take_key(&body, &message.key);
    take_outcome(&body, &message);
    message.cache = body.cache_name;
    message.ttl_ms = take_number(&body, "ttl_ms", 0);
    message.stale_ttl_ms = take_number(&body, "stale_ttl_ms", 0);
    message.expires_at_ms = take_number(&body, "expires_at_ms", 0);
    take_tags(&body, HG_TAGS_MAX, &message.tags, &message.tag_count);
    if (!body.is_wrong) {
        hgi_http_ask(exchange, HGI_METHOD_PUT, answer_put);
        is_packed = hgi_put_request_encode(&message, &exchange->question.payload);
    }
    end(&body, is_packed);
}

static void take_keys(struct body *body, struct hgi_msg_invalidate *message)
{
    const json_t *list = json_object_get(body->json, "keys");
    size_t count = json_array_size(list);
    struct hg_key *keys = hgi_arena_alloc(&body->exchange->arena, count * sizeof(*keys));
    char sentence[HGI_SENTENCE_MAX];

    if (list && !json_is_array(list)) {
        wrong(body, "keys is no list of keys");
    }
    for (size_t i = 0; keys && i < count; i++) {
        if (!hgi_json_read_key(json_array_get(list, i), body->key_type, &keys[i], sentence)) {
            wrong(body, "%s", sentence);
        }
    }
    if (!keys) {
        wrong(body, "no memory for the request");
    }
    message->keys = keys;
    message->key_count = keys ? count : 0;
}

void hgi_http_invalidate(struct hgi_http_exchange *exchange)
{
    static const char *const names[] = {"cache", "keys",       "tags", "prefix",
                                        "soft",  "timeout_ms", NULL};
    struct hgi_msg_invalidate message = {.is_soft = false};
    struct body body;
    bool is_packed = false;

    if (!begin(&body, exchange, names)) {
        return;
    }
    need_cache(&body);
    message.cache = body.cache_name;
    take_keys(&body, &message);
    take_tags(&body, HGI_INVALIDATE_TAGS_MAX, &message.tags, &message.tag_count);
    message.prefix = take_text(&body, "prefix", false);
    message.is_soft = take_switch(&body, "soft");
    if (!body.is_wrong) {
        hgi_http_ask(exchange, HGI_METHOD_INVALIDATE, answer_invalidate);
        is_packed = hgi_invalidate_request_encode(&message, &exchange->question.payload);
    }
    end(&body, is_packed);
}

/* Every cache is cleared only by who says so. */
void hgi_http_clear(struct hgi_http_exchange *exchange)
{
    static const char *const names[] = {"cache", "all", "wait", "timeout_ms", NULL};
    struct hgi_msg_clear message = {.waits = false};
    struct body body;
    bool is_packed = false;

    if (!begin(&body, exchange, names)) {
        return;
    }
    message.cache = body.cache_name;
    message.waits = take_switch(&body, "wait");
    if (take_switch(&body, "all") == (body.cache_name.len > 0)) {
        wrong(&body, "write the name of a cache, or \"all\": true for every one");
    }
    if (!body.is_wrong) {
        hgi_http_ask(exchange, HGI_METHOD_CLEAR, answer_clear);
        is_packed = hgi_clear_request_encode(&message, &exchange->question.payload);
    }
    end(&body, is_packed);
}
