/* SPDX-License-Identifier: Apache-2.0 */
/* The calls in JSON: which message each becomes, what its reply becomes, and what is wrong. */
#include "operator_scene.h"

#include <jansson.h>
#include <stdio.h>

typedef void (*route)(struct hgi_http_exchange *exchange);

static char sentence[HGI_SENTENCE_MAX];

static struct hg_slice asked(enum hgi_method method)
{
    ck_assert_msg(scene_exchange.answered != NULL, "refused: %s", scene_body(0));
    ck_assert_int_eq(scene_exchange.question.method, method);
    return hgi_bytes_slice(&scene_exchange.question.payload);
}

/* Refused before dispatch is asked. */
static void assert_refused(route to, const char *json, unsigned status, const char *wanted)
{
    json_t *said;
    json_t *error;

    scene_post(to, json);
    ck_assert_msg(scene_exchange.answered == NULL, "taken: %s", json);
    said = json_loads(scene_body(status), 0, NULL);
    error = json_object_get(said, "error");
    ck_assert_str_eq(json_string_value(json_object_get(error, "code")), "INVALID_ARGUMENT");
    ck_assert_str_eq(json_string_value(json_object_get(error, "message")), wanted);
    json_decref(said);
}

START_TEST(a_get_is_the_message_it_says)
{
    struct hgi_msg_get get;

    scene_open();
    scene_post(hgi_http_get, "{\"cache\":\"bytes\",\"key\":\"k\"}");
    ck_assert_int_eq(
        hgi_get_request_decode(asked(HGI_METHOD_GET), &scene_exchange.arena, &get, sentence),
        HG_OK);
    ck_assert_slice_eq(get.cache, "bytes");
    ck_assert_int_eq(get.key.kind, HG_KEY_BYTES);
    ck_assert_slice_eq(get.key.bytes, "k");
    ck_assert_int_eq(get.mode, HG_MODE_DEFAULT);
    ck_assert_int_eq(get.max_age_ms, -1);
    ck_assert_uint_eq(get.min_generation, 0);
    ck_assert_uint_eq(scene_exchange.question.timeout_ms, 0);
    scene_post(hgi_http_load, "{\"cache\":\"auth\",\"key\":\"h\",\"mode\":\"allow_stale\","
                              "\"max_age_ms\":0,\"min_generation\":9,\"timeout_ms\":1500}");
    ck_assert_int_eq(hgi_get_request_decode(asked(HGI_METHOD_GET_OR_LOAD), &scene_exchange.arena,
                                            &get, sentence),
                     HG_OK);
    ck_assert_int_eq(get.key.kind, HG_KEY_KEY_HASH);
    ck_assert_int_eq(get.mode, HG_MODE_ALLOW_STALE);
    ck_assert_int_eq(get.max_age_ms, 0);
    ck_assert_uint_eq(get.min_generation, 9);
    ck_assert_uint_eq(scene_exchange.question.timeout_ms, 1500);
    scene_post(hgi_http_load, "{\"cache\":\"c\",\"key\":\"k\",\"timeout_ms\":99999999999999}");
    ck_assert_uint_eq(scene_exchange.question.timeout_ms, HGI_TIMEOUT_MAX);
    scene_close();
}
END_TEST

START_TEST(a_put_is_the_message_it_says)
{
    struct hgi_msg_put put;

    scene_open();
    scene_post(hgi_http_put, "{\"cache\":\"json\",\"key\":\"k\",\"value\":{\"a\":1},\"ttl_ms\":5,"
                             "\"stale_ttl_ms\":6,\"expires_at_ms\":7,\"tags\":[\"t\",\"u\"]}");
    ck_assert_int_eq(
        hgi_put_request_decode(asked(HGI_METHOD_PUT), &scene_exchange.arena, &put, sentence),
        HG_OK);
    ck_assert_int_eq(put.outcome, HG_VALUE);
    ck_assert_slice_eq(put.value, "{\"a\":1}");
    ck_assert_int_eq(put.ttl_ms, 5);
    ck_assert_int_eq(put.stale_ttl_ms, 6);
    ck_assert_int_eq(put.expires_at_ms, 7);
    ck_assert_uint_eq(put.tag_count, 2);
    ck_assert_slice_eq(put.tags[1], "u");
    scene_post(hgi_http_put, "{\"cache\":\"json\",\"key\":\"k\",\"outcome\":\"denied\"}");
    ck_assert_int_eq(
        hgi_put_request_decode(asked(HGI_METHOD_PUT), &scene_exchange.arena, &put, sentence),
        HG_OK);
    ck_assert_int_eq(put.outcome, HG_DENIED);
    ck_assert_uint_eq(put.value.len, 0);
    scene_close();
}
END_TEST

START_TEST(an_invalidation_and_a_clear_are_the_messages_they_say)
{
    struct hgi_msg_invalidate invalidate;
    struct hgi_msg_clear clear;

    scene_open();
    scene_post(hgi_http_invalidate, "{\"cache\":\"bytes\",\"keys\":[\"a\",\"b\"],\"tags\":[\"t\"],"
                                    "\"prefix\":\"u\",\"soft\":true}");
    ck_assert_int_eq(hgi_invalidate_request_decode(asked(HGI_METHOD_INVALIDATE),
                                                   &scene_exchange.arena, &invalidate, sentence),
                     HG_OK);
    ck_assert_uint_eq(invalidate.key_count, 2);
    ck_assert_slice_eq(invalidate.keys[1].bytes, "b");
    ck_assert_uint_eq(invalidate.tag_count, 1);
    ck_assert_slice_eq(invalidate.prefix, "u");
    ck_assert(invalidate.is_soft);
    scene_post(hgi_http_clear, "{\"cache\":\"bytes\",\"wait\":true}");
    ck_assert_int_eq(
        hgi_clear_request_decode(asked(HGI_METHOD_CLEAR), &scene_exchange.arena, &clear, sentence),
        HG_OK);
    ck_assert_slice_eq(clear.cache, "bytes");
    ck_assert(clear.waits);
    scene_post(hgi_http_clear, "{\"all\":true}");
    ck_assert_int_eq(
        hgi_clear_request_decode(asked(HGI_METHOD_CLEAR), &scene_exchange.arena, &clear, sentence),
        HG_OK);
    ck_assert_uint_eq(clear.cache.len, 0);
    ck_assert(!clear.waits);
    scene_close();
}
END_TEST

START_TEST(replies_become_json)
{
    scene_open();
    scene_post(hgi_http_put, "{\"cache\":\"json\",\"key\":\"k\",\"value\":[1]}");
    scene_have_answered();
    ck_assert_str_eq(scene_body(200), "{\"generation\":2}");
    ck_assert_str_eq(scene_field("Content-Type"), "application/json");
    ck_assert_str_eq(scene_field("Cache-Control"), "no-store");
    scene_post(hgi_http_get, "{\"cache\":\"json\",\"key\":\"k\"}");
    scene_have_answered();
    ck_assert_ptr_nonnull(strstr(scene_body(200), "{\"outcome\":\"value\",\"value\":[1],"));
    scene_post(hgi_http_invalidate, "{\"cache\":\"json\",\"keys\":[\"k\"]}");
    scene_have_answered();
    ck_assert_str_eq(scene_body(200), "{\"cache\":\"json\",\"generation\":3,\"dropped\":1,"
                                      "\"fenced\":0,\"released\":0}");
    scene_post(hgi_http_get, "{\"cache\":\"json\",\"key\":\"k\"}");
    scene_have_answered();
    ck_assert_str_eq(scene_body(200), "{\"outcome\":\"not_cached\"}");
    scene_post(hgi_http_clear, "{\"cache\":\"json\"}");
    scene_have_answered();
    ck_assert_str_eq(scene_body(200), "{\"reports\":[{\"cache\":\"json\",\"generation\":4,"
                                      "\"dropped\":0,\"fenced\":0,\"released\":0}]}");
    scene_close();
}
END_TEST

START_TEST(a_status_becomes_that_of_http)
{
    static const struct {
        enum hg_status status;
        unsigned code;
    } rows[] = {
        {HG_INVALID_ARGUMENT, 400},   {HG_FAILED_PRECONDITION, 400},
        {HG_UNAUTHENTICATED, 401},    {HG_PERMISSION_DENIED, 403},
        {HG_NOT_FOUND, 404},          {HG_ABORTED, 409},
        {HG_RESOURCE_EXHAUSTED, 429}, {HG_UNIMPLEMENTED, 501},
        {HG_UNAVAILABLE, 503},        {HG_DEADLINE_EXCEEDED, 504},
        {HG_INTERNAL, 500},           {HG_CANCELLED, 500},
    };
    static const char get[] = "{\"cache\":\"bytes\",\"key\":\"k\"}";
    static const char put[] = "{\"cache\":\"bytes\",\"key\":\"k\",\"value\":\"v\"}";
    char wanted[128];

    scene_open();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct hgi_reply reply = {.status = rows[i].status,
                                        .message = hg_slice_text("a \"word\""),
                                        .retry_after_ms = i % 2 ? 0 : 1001};

        scene_post(i % 2 ? hgi_http_get : hgi_http_put, i % 2 ? get : put);
        scene_reply(&reply);
        snprintf(wanted, sizeof(wanted),
                 "{\"error\":{\"code\":\"%s\",\"message\":\"a \\\"word\\\"\"}}",
                 hg_status_name(rows[i].status));
        ck_assert_str_eq(scene_body(rows[i].code), wanted);
        ck_assert_int_eq(scene_field("WWW-Authenticate") != NULL, rows[i].code == 401);
        if (reply.retry_after_ms) {
            ck_assert_str_eq(scene_field("Retry-After"), "2");
        } else {
            ck_assert_ptr_null(scene_field("Retry-After"));
        }
    }
    scene_close();
}
END_TEST

START_TEST(a_reply_that_is_none_is_an_error)
{
    static const struct {
        route to;
        const char *json;
    } calls[] = {
        {hgi_http_get, "{\"cache\":\"bytes\",\"key\":\"k\"}"},
        {hgi_http_put, "{\"cache\":\"bytes\",\"key\":\"k\",\"value\":\"v\"}"},
        {hgi_http_invalidate, "{\"cache\":\"bytes\",\"keys\":[\"k\"]}"},
        {hgi_http_clear, "{\"cache\":\"bytes\"}"},
    };
    const struct hgi_reply reply = {.status = HG_OK, .payload = hg_slice_text("\xff\xff")};

    scene_open();
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        scene_post(calls[i].to, calls[i].json);
        scene_reply(&reply);
        ck_assert_str_eq(
            scene_body(500),
            "{\"error\":{\"code\":\"INTERNAL\",\"message\":\"the reply was not understood\"}}");
    }
    scene_close();
}
END_TEST

START_TEST(what_is_wrong_is_said_and_nothing_is_asked)
{
    static const char no_cache[] = "cache is missing; it is the name of one";
    static const char which[] = "write the name of a cache, or \"all\": true for every one";
    static const struct {
        route to;
        const char *json;
        const char *wanted;
    } wrong[] = {
        {hgi_http_get, "[]", "the body is no JSON object: it is a list"},
        {hgi_http_get, "{\"cache\":\"bytes\",\"key\":\"k\",\"kee\":1}",
         "there is nothing named \"kee\" in this call"},
        {hgi_http_get, "{\"key\":\"k\"}", no_cache},
        {hgi_http_get, "{\"cache\":\"\",\"key\":\"k\"}", no_cache},
        {hgi_http_get, "{\"cache\":1,\"key\":\"k\"}", "cache is no text"},
        {hgi_http_get, "{\"cache\":\"bytes\"}",
         "key is missing; write a text, or an object of user_id and api_key_id"},
        {hgi_http_get, "{\"cache\":\"bytes\",\"key\":\"k\",\"max_age_ms\":-1}",
         "max_age_ms is no whole number of 0 or more"},
        {hgi_http_get, "{\"cache\":\"bytes\",\"key\":\"k\",\"min_generation\":1.5}",
         "min_generation is no whole number of 0 or more"},
        {hgi_http_get, "{\"cache\":\"bytes\",\"key\":\"k\",\"timeout_ms\":\"1s\"}",
         "timeout_ms is no whole number of 0 or more"},
        {hgi_http_load, "{\"cache\":\"bytes\",\"key\":\"k\",\"mode\":\"eager\"}",
         "mode is none; there are fresh, allow_stale, revalidate and peek"},
        {hgi_http_put, "{\"cache\":\"bytes\",\"key\":\"k\"}",
         "write either value or value_base64, or the outcome absent"},
        {hgi_http_put, "{\"cache\":\"bytes\",\"key\":\"k\",\"outcome\":\"gone\"}",
         "outcome is none; there are value, absent and denied"},
        {hgi_http_put, "{\"cache\":\"bytes\",\"key\":\"k\",\"value\":\"v\",\"tags\":\"t\"}",
         "tags is a list of at most 16 texts"},
        {hgi_http_put, "{\"cache\":\"bytes\",\"key\":\"k\",\"value\":\"v\",\"ttl_ms\":true}",
         "ttl_ms is no whole number of 0 or more"},
        {hgi_http_invalidate, "{\"cache\":\"bytes\",\"keys\":\"k\"}", "keys is no list of keys"},
        {hgi_http_invalidate, "{\"cache\":\"bytes\",\"keys\":[1]}",
         "key is missing; write a text, or an object of user_id and api_key_id"},
        {hgi_http_invalidate, "{\"cache\":\"bytes\",\"soft\":\"yes\"}",
         "soft is neither true nor false"},
        {hgi_http_invalidate, "{\"keys\":[\"k\"]}", no_cache},
        {hgi_http_clear, "{}", which},
        {hgi_http_clear, "{\"all\":false}", which},
        {hgi_http_clear, "{\"cache\":\"bytes\",\"all\":true}", which},
        {hgi_http_clear, "{\"all\":1}", "all is neither true nor false"},
    };

    scene_open();
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_refused(wrong[i].to, wrong[i].json, 400, wrong[i].wanted);
    }
    scene_post(hgi_http_get, "{\"cache\":\"a\",\"cache\":\"b\",\"key\":\"k\"}");
    ck_assert_ptr_nonnull(strstr(scene_body(400), "duplicate object key"));
    scene_post(hgi_http_get, "{\"cache\":\"bytes\",\"key\":\"\xff\"}");
    ck_assert_ptr_nonnull(strstr(scene_body(400), "the body is no JSON object: "));
    scene_post(hgi_http_get, "");
    ck_assert_ptr_nonnull(strstr(scene_body(400), "the body is no JSON object: "));
    scene_close();
}
END_TEST

/* A page of another host may have a browser send a form here. */
START_TEST(another_type_of_body_is_refused)
{
    static const char *const types[] = {"text/plain", "application/jsonp",
                                        "application/x-www-form-urlencoded", "application"};
    static const char *const good[] = {"application/json", "Application/JSON; charset=utf-8"};
    struct hgi_http_request request;
    struct hgi_http_field field = {hg_slice_text("content-type"), {NULL, 0}};

    scene_open();
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        scene_post(hgi_http_get, "{\"cache\":\"bytes\",\"key\":\"k\"}");
        request = scene_exchange.request;
        field.value = hg_slice_text(types[i]);
        request.fields = &field;
        scene_take(hgi_http_get, &request);
        ck_assert(scene_exchange.answered == NULL);
        ck_assert_ptr_nonnull(
            strstr(scene_body(415), "the body is JSON; say Content-Type: application/json"));
    }
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        field.value = hg_slice_text(good[i]);
        scene_take(hgi_http_get, &request);
        (void)asked(HGI_METHOD_GET);
    }
    request.field_count = 0;
    scene_take(hgi_http_get, &request);
    (void)scene_body(415);
    scene_close();
}
END_TEST

/* Dispatch says whether there is such a cache, or hides it: what is asked of it is no less well
 * formed. */
START_TEST(an_unknown_cache_is_for_dispatch_to_refuse)
{
    scene_open();
    scene_post(hgi_http_get, "{\"cache\":\"none\",\"key\":\"k\"}");
    scene_have_answered();
    ck_assert_ptr_nonnull(strstr(scene_body(404), "no cache is named \\\"none\\\""));
    scene_post(hgi_http_put, "{\"cache\":\"none\",\"key\":\"k\",\"value\":\"v\"}");
    scene_have_answered();
    (void)scene_body(404);
    scene_close();
}
END_TEST

HGI_SUITE("http.v1", 20, a_get_is_the_message_it_says, a_put_is_the_message_it_says,
          an_invalidation_and_a_clear_are_the_messages_they_say, replies_become_json,
          a_status_becomes_that_of_http, a_reply_that_is_none_is_an_error,
          what_is_wrong_is_said_and_nothing_is_asked, another_type_of_body_is_refused,
          an_unknown_cache_is_for_dispatch_to_refuse)
