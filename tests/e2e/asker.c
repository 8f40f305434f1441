/* SPDX-License-Identifier: Apache-2.0 */
#include "asker.h"

#include <stdio.h>

#include "base/bytes.h"
#include "base/kind.h"

#define LONG_MS 20000

void asker_show(struct asker *asker, const char *token)
{
    snprintf(asker->bearer, sizeof(asker->bearer), token ? "Bearer %s" : "%s", token ? token : "");
}

void asker_open(struct asker *asker, const char *url, const char *token)
{
    memset(asker, 0, sizeof(*asker));
    hgi_bytes_init(&asker->body, &hgi_heap);
    hgi_arena_init(&asker->arena, HGI_ARENA_BUDGET_MIN);
    ck_assert(hgi_sp_client_open(&asker->client, url, LONG_MS));
    asker_show(asker, token);
}

void asker_close(struct asker *asker)
{
    hgi_sp_client_close(&asker->client);
    hgi_arena_deinit(&asker->arena);
    hgi_bytes_deinit(&asker->body);
}

void asker_send(struct asker *asker, enum hgi_method method, struct hg_slice payload)
{
    struct hgi_request request = {
        .method = method, .timeout_ms = asker->timeout_ms, .payload = payload};
    struct hg_bytes bytes;

    request.metadata[0].name = hg_slice_text("authorization");
    request.metadata[0].value = hg_slice_text(asker->bearer);
    request.metadata_count = asker->bearer[0] != '\0';
    hgi_bytes_init(&bytes, &hgi_heap);
    ck_assert(hgi_request_encode(&request, &bytes));
    ck_assert(hgi_sp_client_send(&asker->client, ++asker->id, hgi_bytes_slice(&bytes)));
    hgi_bytes_deinit(&bytes);
}

enum hg_status asker_receive(struct asker *asker)
{
    struct hg_slice body;
    uint32_t id;

    ck_assert(hgi_sp_client_receive(&asker->client, LONG_MS, &id, &body));
    ck_assert(hgi_bytes_set(&asker->body, body));
    hgi_arena_reset(&asker->arena, HGI_ARENA_BUDGET_MIN);
    ck_assert_int_eq(hgi_reply_decode(hgi_bytes_slice(&asker->body), &asker->arena, &asker->reply),
                     HG_OK);
    return asker->reply.status;
}

enum hg_status asker_ask(struct asker *asker, enum hgi_method method, struct hg_slice payload)
{
    asker_send(asker, method, payload);
    return asker_receive(asker);
}

void asker_payload(enum hgi_method method, const char *cache, bool lead,
                   struct hg_bytes *ret_payload)
{
    /* Who leads keeps the others waiting: of a key of its own. */
    struct hg_key key = {.kind = HG_KEY_BYTES, .bytes = hg_slice_text(lead ? "led" : "k")};
    struct hg_slice name = hg_slice_text(cache);
    struct hgi_msg_get get = {.cache = name, .key = key, .max_age_ms = -1, .lead = lead};
    struct hgi_msg_batch batch = {.cache = name, .keys = &key, .key_count = 1, .max_age_ms = -1};
    struct hgi_msg_put put = {
        .cache = name, .key = key, .outcome = HG_VALUE, .value = hg_slice_text("v")};
    struct hgi_msg_invalidate invalidate = {.cache = name, .keys = &key, .key_count = 1};
    struct hgi_msg_generation generation = {.cache = name, .key = key};
    struct hgi_msg_fulfil fulfil = {
        .cache = name, .lease_id = 1, .outcome = HG_VALUE, .value = hg_slice_text("v")};
    struct hgi_msg_lease lease = {.cache = name, .lease_id = 1};
    struct hgi_msg_clear clear = {.cache = name};
    struct hgi_msg_drain drain = {.off = true}; /* ready, as it was */
    struct hgi_msg_name named = {.name = name};
    struct hgi_msg_name loader = {.name = hg_slice_text("no such loader")};
    struct hgi_msg_name service = {.name = {NULL, 0}};
    struct hgi_msg_list_flights flights = {.cache = name};
    struct hgi_msg_kill_flight kill = {.cache = name, .id = 1};
    struct hgi_msg_explain explain = {.cache = name, .key = key};
    struct hgi_msg_new_token new_token = {.principal = hg_slice_text("no such principal")};
    struct hgi_msg_revoke_token revoke = {.id = hg_slice_text("00000000")};
    struct hgi_msg_watch watch = {.after = 0};
    bool is_encoded = true;

    switch (method) {
    case HGI_METHOD_GET:
    case HGI_METHOD_GET_OR_LOAD:
        is_encoded = hgi_get_request_encode(&get, ret_payload);
        break;
    case HGI_METHOD_BATCH_GET_OR_LOAD:
        is_encoded = hgi_batch_request_encode(&batch, ret_payload);
        break;
    case HGI_METHOD_GENERATION:
        is_encoded = hgi_generation_request_encode(&generation, ret_payload);
        break;
    case HGI_METHOD_PUT:
        is_encoded = hgi_put_request_encode(&put, ret_payload);
        break;
    case HGI_METHOD_INVALIDATE:
        is_encoded = hgi_invalidate_request_encode(&invalidate, ret_payload);
        break;
    case HGI_METHOD_FULFIL:
        is_encoded = hgi_fulfil_request_encode(&fulfil, ret_payload);
        break;
    case HGI_METHOD_RENEW:
        is_encoded = hgi_renew_request_encode(&lease, ret_payload);
        break;
    case HGI_METHOD_RELEASE:
        is_encoded = hgi_release_request_encode(&lease, ret_payload);
        break;
    case HGI_METHOD_CLEAR:
        is_encoded = hgi_clear_request_encode(&clear, ret_payload);
        break;
    case HGI_METHOD_DRAIN:
        is_encoded = hgi_drain_request_encode(&drain, ret_payload);
        break;
    case HGI_METHOD_STATS:
        is_encoded = hgi_stats_request_encode(&named, ret_payload);
        break;
    case HGI_METHOD_RELOAD_LOADER:
        is_encoded = hgi_reload_loader_request_encode(&loader, ret_payload);
        break;
    case HGI_METHOD_LIST_FLIGHTS:
        is_encoded = hgi_list_flights_request_encode(&flights, ret_payload);
        break;
    case HGI_METHOD_KILL_FLIGHT:
        is_encoded = hgi_kill_flight_request_encode(&kill, ret_payload);
        break;
    case HGI_METHOD_EXPLAIN:
        is_encoded = hgi_explain_request_encode(&explain, ret_payload);
        break;
    case HGI_METHOD_NEW_TOKEN:
        is_encoded = hgi_new_token_request_encode(&new_token, ret_payload);
        break;
    case HGI_METHOD_REVOKE_TOKEN:
        is_encoded = hgi_revoke_token_request_encode(&revoke, ret_payload);
        break;
    case HGI_METHOD_WATCH:
        is_encoded = hgi_watch_request_encode(&watch, ret_payload);
        break;
    case HGI_METHOD_HEALTH_CHECK:
        is_encoded = hgi_health_request_encode(&service, ret_payload);
        break;
    case HGI_METHOD_LIST_CACHES:
    case HGI_METHOD_LIST_LOADERS:
    case HGI_METHOD_SAVE_SNAPSHOT:
    case HGI_METHOD_RELOAD:
    case HGI_METHOD_SNAPSHOT_INFO:
    case HGI_METHOD_VERIFY_SNAPSHOT:
    case HGI_METHOD_LIST_TOKENS:
    case HGI_METHOD_NONE:
    case HGI_METHOD_COUNT:
        break;
    }
    ck_assert(is_encoded);
}
