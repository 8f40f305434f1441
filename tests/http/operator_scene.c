/* SPDX-License-Identifier: Apache-2.0 */
#include "operator_scene.h"

#include <stdio.h>
#include <strings.h>

#include "lasting.h"
#include "server/rpc/conn.h"

struct hgi_cache *scene_caches[SCENE_CACHES_MAX];
struct hgi_dispatch *scene_dispatch;
struct hgi_http *scene_http;
struct hgi_http_exchange scene_exchange;
struct hgi_now scene_now;

static struct hgi_http_config listener;
static struct hgi_config config;
static struct hgi_registry *registry;
static struct hgi_transport_metrics transport;
static struct hgi_peer peer;
static char body[1u << 20];
static bool is_asked;
static struct hgi_asker asker;

static void add_cache(size_t index, const char *name, enum hgi_key_type key_type,
                      enum hg_value_type value_type)
{
    struct hgi_policy policy = lasting_policy();
    const struct hgi_cache_options options = {
        .name = name, .policy = &policy, .start_generation = 1, .seed = 1};
    struct hgi_registered registered = {.key_type = key_type, .value_type = value_type};

    policy.stale_ttl_ms = 90000;
    policy.negative_ttl_ms = 3000;
    scene_caches[index] = hgi_cache_create(&hgi_heap, &options);
    ck_assert_ptr_nonnull(scene_caches[index]);
    registered.cache = scene_caches[index];
    ck_assert(hgi_registry_add(registry, &registered));
}

static void take_reply(struct hgi_asker *who, const struct hgi_sp_route *route,
                       const struct hgi_pieces *pieces)
{
    (void)who;
    (void)route;
    ck_assert(hgi_pieces_append(pieces, &scene_exchange.question.reply_bytes));
}

void scene_open(void)
{
    struct hgi_services services = {.epoch = 1, .transport = &transport};
    char sentence[HGI_SENTENCE_MAX];

    listener = (struct hgi_http_config){.url = "http://127.0.0.1:0",
                                        .host = "127.0.0.1",
                                        .services = HGI_HTTP_OPERATOR,
                                        .access = HGI_ACCESS_DATA,
                                        .connections_max = 4,
                                        .in_flight_max = 4,
                                        .threads = 1,
                                        .idle_ms = 60000};
    config = (struct hgi_config){.https = &listener, .http_count = 1};
    config.limits = (struct hgi_limits){
        .value_max_bytes = 1024, .message_max_bytes = 65536, .body_ms = 2000, .write_ms = 2000};
    memset(&transport, 0, sizeof(transport));
    atomic_store(&transport.connections_open, 3);
    atomic_store(&transport.requests, 4);
    peer = (struct hgi_peer){.access = HGI_ACCESS_OWNER, .is_ipc = true};
    hgi_asker_init(&asker, &peer, take_reply);
    registry = hgi_registry_create(&hgi_heap);
    ck_assert_ptr_nonnull(registry);
    add_cache(0, "bytes", HGI_KEYS_BYTES, HG_TYPE_BYTES);
    add_cache(1, "json", HGI_KEYS_BYTES, HG_TYPE_JSON);
    add_cache(2, "auth", HGI_KEYS_AUTH, HG_TYPE_AUTH);
    scene_now = hgi_clock_now();
    services.registry = registry;
    services.limits = &config.limits;
    services.started_ms = scene_now.boot_ms;
    scene_dispatch = hgi_dispatch_create(&services);
    ck_assert_ptr_nonnull(scene_dispatch);
    ck_assert_msg(hgi_http_open(&config, "1.2.3", &scene_http, sentence) == HG_OK, "%s", sentence);
    ck_assert(hgi_http_start(scene_http, scene_dispatch, &scene_now));
    scene_now.boot_ms += 5000;
    scene_now.wall_ms += 5000;
}

static void forget(void)
{
    if (is_asked) {
        hgi_bytes_deinit(&scene_exchange.question.payload);
        hgi_bytes_deinit(&scene_exchange.question.reply_bytes);
        hgi_arena_deinit(&scene_exchange.arena);
    }
    is_asked = false;
}

void scene_close(void)
{
    forget();
    hgi_http_quiesce(scene_http);
    ck_assert(hgi_http_stop(scene_http, 10000));
    hgi_http_close(&scene_http);
    hgi_dispatch_gone(scene_dispatch, &asker);
    hgi_registry_stop(registry, &scene_now);
    hgi_dispatch_destroy(&scene_dispatch);
    hgi_registry_destroy(&registry);
}

void scene_take(void (*route)(struct hgi_http_exchange *exchange),
                const struct hgi_http_request *request)
{
    forget();
    is_asked = true;
    scene_exchange = (struct hgi_http_exchange){.http = scene_http,
                                                .listener = &listener,
                                                .peer = &peer,
                                                .now = scene_now,
                                                .request = *request};
    hgi_arena_init(&scene_exchange.arena, HGI_HTTP_ARENA_MIN);
    hgi_http_response_init(&scene_exchange.response, &scene_exchange.arena);
    hgi_bytes_init(&scene_exchange.question.payload, &hgi_heap);
    hgi_bytes_init(&scene_exchange.question.reply_bytes, &hgi_heap);
    route(&scene_exchange);
}

void scene_ask(void (*route)(struct hgi_http_exchange *exchange), const char *target)
{
    struct hgi_http_request request = {.method = hg_slice_text("GET")};

    hgi_http_target_split(hg_slice_text(target), &request.path, &request.query);
    scene_take(route, &request);
}

void scene_post(void (*route)(struct hgi_http_exchange *exchange), const char *json)
{
    static struct hgi_http_field field;
    const struct hgi_http_request request = {.method = hg_slice_text("POST"),
                                             .path = hg_slice_text("/v1"),
                                             .fields = &field,
                                             .field_count = 1,
                                             .body = hg_slice_text(json)};

    field =
        (struct hgi_http_field){hg_slice_text("Content-Type"), hg_slice_text("application/json")};
    scene_take(route, &request);
}

void scene_reply(const struct hgi_reply *reply)
{
    ck_assert(scene_exchange.answered != NULL);
    scene_exchange.question.reply = *reply;
    scene_exchange.question.has_reply = true;
    scene_exchange.answered(&scene_exchange);
}

void scene_have_answered(void)
{
    const struct hgi_sp_route route = hgi_sp_route_of(1);
    struct hgi_http_question *question = &scene_exchange.question;
    struct hgi_request request = {.method = question->method,
                                  .payload = hgi_bytes_slice(&question->payload)};
    struct hg_bytes bytes;
    struct hgi_reply reply;

    ck_assert_msg(scene_exchange.answered != NULL, "refused: %s", scene_body(0));
    hgi_bytes_init(&bytes, &hgi_heap);
    ck_assert(hgi_request_encode(&request, &bytes));
    hgi_dispatch_request(scene_dispatch, &asker, &route, hgi_bytes_slice(&bytes));
    hgi_bytes_deinit(&bytes);
    ck_assert_int_eq(
        hgi_reply_decode(hgi_bytes_slice(&question->reply_bytes), &scene_exchange.arena, &reply),
        HG_OK);
    scene_reply(&reply);
}

const char *scene_body(unsigned status)
{
    const struct hg_slice said = scene_exchange.response.body;

    ck_assert_uint_lt(said.len, sizeof(body));
    snprintf(body, sizeof(body), "%.*s", (int)said.len, said.len ? (const char *)said.data : "");
    ck_assert_msg(scene_exchange.response.status == status, "%u, not %u: %s",
                  scene_exchange.response.status, status, body);
    return body;
}

const char *scene_field(const char *name)
{
    const struct hgi_http_response *response = &scene_exchange.response;
    const char *value = NULL;

    for (size_t i = 0; i < response->field_count && !value; i++) {
        value = strcasecmp(response->fields[i].name, name) == 0 ? response->fields[i].value : NULL;
    }
    return value;
}
