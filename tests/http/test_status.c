/* SPDX-License-Identifier: Apache-2.0 */
/* What the page is made of, as JSON. Loaders and snapshots: test_operator. */
#include "operator_scene.h"

#include <jansson.h>

#include "server/http/history.h"

static json_t *status;

static void look(void)
{
    json_decref(status);
    scene_ask(hgi_http_status, "/v1/status");
    status = json_loads(scene_body(200), 0, NULL);
    ck_assert_ptr_nonnull(status);
}

static void finish(void)
{
    json_decref(status);
    status = NULL;
    scene_close();
}

static json_t *cache(size_t index)
{
    json_t *found = json_array_get(json_object_get(status, "caches"), index);

    ck_assert_ptr_nonnull(found);
    return found;
}

static json_int_t number(const json_t *object, const char *name)
{
    ck_assert_msg(json_is_integer(json_object_get(object, name)), "%s", name);
    return json_integer_value(json_object_get(object, name));
}

static const char *text(const json_t *object, const char *name)
{
    ck_assert_msg(json_is_string(json_object_get(object, name)), "%s", name);
    return json_string_value(json_object_get(object, name));
}

static void call(void (*route)(struct hgi_http_exchange *exchange), const char *json)
{
    scene_post(route, json);
    scene_have_answered();
    (void)scene_body(200);
}

START_TEST(an_idle_server_shows_every_field)
{
    json_t *first;

    scene_open();
    look();
    ck_assert_str_eq(scene_field("Content-Type"), "application/json");
    ck_assert_str_eq(scene_field("Cache-Control"), "no-store");
    ck_assert_str_eq(text(status, "version"), "1.2.3");
    ck_assert_str_eq(text(status, "state"), "serving");
    ck_assert_int_eq(number(status, "uptime_ms"), 5000);
    ck_assert_int_eq(number(status, "now_ms"), scene_now.wall_ms);
    ck_assert_int_eq(number(json_object_get(status, "server"), "connections_open"), 3);
    ck_assert_int_eq(number(json_object_get(status, "server"), "requests"), 4);
    ck_assert_int_eq(number(json_object_get(status, "server"), "watchers"), 0);
    ck_assert_uint_eq(json_array_size(json_object_get(status, "caches")), SCENE_CACHES_MAX);
    ck_assert_uint_eq(json_array_size(json_object_get(status, "loaders")), 0);
    ck_assert_uint_eq(json_array_size(json_object_get(status, "events")), 0);
    ck_assert(json_is_null(json_object_get(status, "snapshot")));
    first = cache(0);
    ck_assert_str_eq(text(first, "name"), "bytes");
    ck_assert_str_eq(text(first, "key_type"), "bytes");
    ck_assert_str_eq(text(first, "value_type"), "bytes");
    ck_assert_str_eq(text(cache(2), "value_type"), "auth");
    ck_assert_str_eq(text(first, "mode"), "fresh");
    ck_assert_ptr_null(json_object_get(first, "loader"));
    ck_assert_int_eq(number(first, "ttl_ms"), 60000);
    ck_assert_int_eq(number(first, "stale_ttl_ms"), 90000);
    ck_assert_int_eq(number(first, "negative_ttl_ms"), 3000);
    ck_assert_int_eq(number(first, "entries"), 0);
    ck_assert_int_eq(number(first, "entries_max"), 16);
    ck_assert_int_eq(number(first, "bytes_max"), 65536);
    ck_assert_int_eq(number(first, "in_flight"), 0);
    ck_assert_int_eq(number(json_object_get(first, "load_ms"), "count"), 0);
    ck_assert_int_eq(number(json_object_get(first, "age_ms"), "count"), 0);
    ck_assert_uint_eq(json_object_size(json_object_get(first, "counters")), HGI_METRIC_COUNT);
    finish();
}
END_TEST

START_TEST(what_a_cache_does_shows_in_its_own_row)
{
    scene_open();
    call(hgi_http_put, "{\"cache\":\"json\",\"key\":\"k\",\"value\":1}");
    call(hgi_http_put, "{\"cache\":\"json\",\"key\":\"l\",\"outcome\":\"denied\"}");
    call(hgi_http_get, "{\"cache\":\"json\",\"key\":\"k\"}");
    look();
    ck_assert_int_eq(number(cache(1), "entries"), 2);
    ck_assert_int_eq(number(cache(1), "negatives"), 1);
    ck_assert_int_gt(number(cache(1), "bytes"), 0);
    ck_assert_int_eq(number(json_object_get(cache(1), "counters"), "hit"), 1);
    ck_assert_int_eq(number(json_object_get(cache(1), "counters"), "put"), 2);
    ck_assert_int_eq(number(json_object_get(cache(1), "age_ms"), "count"), 1);
    ck_assert_int_eq(number(cache(0), "entries"), 0);
    ck_assert_int_eq(number(json_object_get(cache(0), "counters"), "hit"), 0);
    finish();
}
END_TEST

START_TEST(the_quarter_of_an_hour_is_in_steps)
{
    json_t *history;

    scene_open();
    look();
    history = json_object_get(cache(0), "history");
    ck_assert_int_eq(number(history, "step_ms"), HGI_HTTP_STEP_MS);
    ck_assert_int_eq(number(history, "end_ms"), 0);
    ck_assert_uint_eq(json_array_size(json_object_get(history, "steps")), 0);
    ck_assert_int_eq(number(json_object_get(history, "load_ms"), "count"), 0);
    hgi_cache_count_local(scene_caches[0], 7);
    scene_now.boot_ms += HGI_HTTP_STEP_MS;
    hgi_http_tick(scene_http, &scene_now);
    look();
    history = json_object_get(cache(0), "history");
    ck_assert_uint_eq(json_array_size(json_object_get(history, "steps")), 1);
    ck_assert_int_eq(number(json_array_get(json_object_get(history, "steps"), 0), "hits"), 7);
    ck_assert_int_eq(number(history, "end_ms"), scene_now.wall_ms);
    finish();
}
END_TEST

/* The newest last, at most so many, and no key. */
START_TEST(events_are_told_without_keys)
{
    json_t *events;
    json_t *last;
    char json[96];

    scene_open();
    call(hgi_http_put, "{\"cache\":\"bytes\",\"key\":\"s3cret\",\"value\":\"s3cret\"}");
    call(hgi_http_invalidate, "{\"cache\":\"bytes\",\"keys\":[\"s3cret\"]}");
    call(hgi_http_clear, "{\"cache\":\"json\"}");
    look();
    ck_assert_ptr_null(strstr(scene_body(200), "s3cret"));
    events = json_object_get(status, "events");
    ck_assert_uint_eq(json_array_size(events), 3);
    ck_assert_str_eq(text(json_array_get(events, 0), "kind"), "put");
    ck_assert_str_eq(text(json_array_get(events, 1), "kind"), "invalidate");
    ck_assert(json_is_true(json_object_get(json_array_get(events, 1), "one_key")));
    last = json_array_get(events, 2);
    ck_assert_str_eq(text(last, "kind"), "clear");
    ck_assert_str_eq(text(last, "name"), "json");
    ck_assert(json_is_false(json_object_get(last, "one_key")));
    ck_assert_int_gt(number(last, "at_ms"), 0);
    for (int i = 0; i < 60; i++) {
        snprintf(json, sizeof(json), "{\"cache\":\"bytes\",\"keys\":[\"%d\"]}", i);
        call(hgi_http_invalidate, json);
    }
    look();
    events = json_object_get(status, "events");
    ck_assert_uint_eq(json_array_size(events), 50);
    ck_assert_int_eq(number(json_array_get(events, 49), "number"),
                     number(json_array_get(events, 0), "number") + 49);
    finish();
}
END_TEST

START_TEST(its_state_is_said)
{
    scene_open();
    hgi_dispatch_set_ready(scene_dispatch, false);
    look();
    ck_assert_str_eq(text(status, "state"), "draining");
    hgi_dispatch_set_ready(scene_dispatch, true);
    hgi_dispatch_drain(scene_dispatch);
    look();
    ck_assert_str_eq(text(status, "state"), "stopping");
    finish();
}
END_TEST

HGI_SUITE("http.status", 20, an_idle_server_shows_every_field,
          what_a_cache_does_shows_in_its_own_row, the_quarter_of_an_hour_is_in_steps,
          events_are_told_without_keys, its_state_is_said)
