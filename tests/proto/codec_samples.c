/* SPDX-License-Identifier: Apache-2.0 */
#include "codec_samples.h"

#include <check.h>

#include "base/check.h"

#define TEXT(literal)                                                                              \
    {                                                                                              \
        (literal), sizeof(literal) - 1                                                             \
    }

#define HGI_GOLDEN_ROW(name, hex) const char *const hgi_golden_##name = hex;
#include "golden.def"
#undef HGI_GOLDEN_ROW

static struct hg_key keys[] = {
    {.kind = HG_KEY_BYTES, .bytes = TEXT("b\0b")},
    {.kind = HG_KEY_KEY_HASH, .bytes = TEXT("hash")},
    {.kind = HG_KEY_USER_API_KEY, .user_id = TEXT("u1"), .api_key_id = TEXT("k1")},
    {.kind = HG_KEY_API_KEY_FEATURE,
     .user_id = TEXT("u2"),
     .api_key_id = TEXT("k2"),
     .is_standalone = true},
    {.bytes = {NULL, 0}}, /* a key of no kind */
};

const struct hgi_msg_get hgi_sample_get_request = {
    .cache = TEXT("c"),
    .key = {.kind = HG_KEY_KEY_HASH, .bytes = TEXT("h")},
    .mode = HG_MODE_ALLOW_STALE,
    .max_age_ms = 0,
    .min_generation = 1792000000000002,
    .lead = true,
};

#define ANSWER                                                                                     \
    {                                                                                              \
        .status = HG_OK, .message = TEXT("m"), .retry_after_ms = 11, .outcome = HG_VALUE,          \
        .source = HG_SOURCE_STALE, .value = TEXT("{\"a\":1}"), .value_type = HG_TYPE_JSON,         \
        .is_fenced = true, .generation = 1792000000000001, .age_ms = 12, .ttl_left_ms = 13,        \
        .stale_left_ms = 14, .lease_id = 15, .lease_epoch = 16, .lease_ttl_ms = 17                 \
    }

const struct hgi_msg_answer hgi_sample_answer = ANSWER;

static struct hgi_msg_answer answers[] = {
    ANSWER,
    {.status = HG_DEADLINE_EXCEEDED,
     .message = TEXT("deadline exceeded"),
     .source = HG_SOURCE_JOINED},
    {.status = HG_OK},
};

const struct hgi_msg_batch hgi_sample_batch_request = {
    .cache = TEXT("c"),
    .keys = keys,
    .key_count = HGI_COUNT_OF(keys),
    .mode = HG_MODE_PEEK,
    .max_age_ms = 500,
    .min_generation = 91,
};

const struct hgi_msg_batch_reply hgi_sample_batch_reply = {answers, HGI_COUNT_OF(answers)};

static const struct hg_slice tags[] = {TEXT("red"), TEXT("b\0le")};

const struct hgi_msg_put hgi_sample_put_request = {
    .cache = TEXT("c"),
    .key = {.kind = HG_KEY_USER_API_KEY, .user_id = TEXT("u"), .api_key_id = TEXT("k")},
    .outcome = HG_VALUE,
    .value = TEXT("v"),
    .ttl_ms = 51,
    .stale_ttl_ms = 52,
    .expires_at_ms = 1893456000000,
    .has_if_generation = true,
    .if_generation = {.generation = 53, .epoch = 54},
    .tags = tags,
    .tag_count = HGI_COUNT_OF(tags),
};

const struct hgi_msg_put_reply hgi_sample_put_reply = {.generation = 61};

const struct hgi_msg_invalidate hgi_sample_invalidate_request = {.cache = TEXT("c"),
                                                                 .keys = keys,
                                                                 .key_count = HGI_COUNT_OF(keys),
                                                                 .tags = tags,
                                                                 .tag_count = HGI_COUNT_OF(tags),
                                                                 .prefix = TEXT("u4"),
                                                                 .is_soft = true};

#define REPORT                                                                                     \
    {                                                                                              \
        .cache = TEXT("c1"), .generation = 21, .dropped = 22, .fenced = 23, .released = 24         \
    }

const struct hgi_msg_report hgi_sample_report = REPORT;

static struct hgi_msg_report reports[] = {REPORT, {.cache = TEXT("c2"), .dropped = 25}};

const struct hgi_msg_generation hgi_sample_generation_request = {
    .cache = TEXT("c"), .key = {.kind = HG_KEY_BYTES, .bytes = TEXT("b")}};

const struct hgi_msg_token hgi_sample_generation_reply = {.generation = 71, .epoch = 72};

const struct hgi_msg_fulfil hgi_sample_fulfil_request = {
    .cache = TEXT("c"),
    .lease_id = 121,
    .epoch = 122,
    .outcome = HG_DENIED,
    .value = TEXT("v"),
    .ttl_ms = 123,
    .stale_ttl_ms = 124,
    .expires_at_ms = 1893456000000,
    .status = HG_UNAVAILABLE,
    .message = TEXT("no backend"),
    .keep_ms = 125,
    .tags = tags,
    .tag_count = HGI_COUNT_OF(tags),
    .no_store = true,
};

const struct hgi_msg_fulfilled hgi_sample_fulfil_reply = {
    .generation = 131, .outcome = HG_DENIED, .ttl_left_ms = 132, .stale_left_ms = 133};

const struct hgi_msg_lease hgi_sample_renew_request = {
    .cache = TEXT("c"), .lease_id = 141, .epoch = 142};

const struct hgi_msg_renewed hgi_sample_renew_reply = {.lease_ttl_ms = 151};

const struct hgi_msg_lease hgi_sample_release_request = {
    .cache = TEXT("c"), .lease_id = 161, .epoch = 162};

const struct hgi_msg_clear hgi_sample_clear_request = {.cache = TEXT("c"), .waits = true};

const struct hgi_msg_clear_reply hgi_sample_clear_reply = {reports, HGI_COUNT_OF(reports)};

static struct hgi_msg_cache_info caches[] = {
    {.name = TEXT("n"),
     .key_type = TEXT("auth"),
     .value_type = TEXT("json"),
     .loader = TEXT("l"),
     .mode = HG_MODE_REVALIDATE,
     .ttl_ms = 31,
     .stale_ttl_ms = 32,
     .negative_ttl_ms = 33,
     .max_entries = 34,
     .max_bytes = 35,
     .entries = 36,
     .bytes = 37,
     .generation = 38,
     .on_error = TEXT("elect"),
     .jitter_percent = 39,
     .stale_if_error_ms = 40,
     .error_backoff_ms = 41,
     .refresh_ahead = TEXT("20%"),
     .is_alone = true},
    {.name = TEXT("n2")},
};

const struct hgi_msg_caches hgi_sample_list_caches_reply = {caches, HGI_COUNT_OF(caches)};

const struct hgi_msg_name hgi_sample_stats_request = {.name = TEXT("c")};

static struct hgi_msg_counter counters[] = {{TEXT("hit"), 81}, {TEXT("miss"), 82}};
static struct hgi_msg_counter server_counters[] = {{TEXT("requests"), 83}};
static struct hgi_msg_cache_stats stats[] = {
    {.cache = TEXT("c"), .counters = counters, .counter_count = HGI_COUNT_OF(counters)},
    {.cache = TEXT("d")},
};

const struct hgi_msg_stats hgi_sample_stats_reply = {
    .caches = stats,
    .cache_count = HGI_COUNT_OF(stats),
    .server = server_counters,
    .server_count = HGI_COUNT_OF(server_counters),
};

#define LOADER                                                                                     \
    {                                                                                              \
        .name = TEXT("keys"), .plugin = TEXT("/p.so"), .version = TEXT("1.2"),                     \
        .state = TEXT("running"), .abi = 1, .pid = 41, .started_count = 42, .deaths = 43,          \
        .in_flight = 44, .queued = 45, .message = TEXT("why")                                      \
    }

const struct hgi_msg_loader_info hgi_sample_loader_info = LOADER;

static struct hgi_msg_loader_info loaders[] = {LOADER,
                                               {.name = TEXT("l2"), .state = TEXT("failed")}};

const struct hgi_msg_loaders hgi_sample_list_loaders_reply = {loaders, HGI_COUNT_OF(loaders)};

const struct hgi_msg_name hgi_sample_reload_loader_request = {.name = TEXT("keys")};

static const struct hg_slice changed_names[] = {TEXT("log_level"), TEXT("cache \"c\": ttl")};
static const struct hg_slice restart_names[] = {TEXT("limits: idle")};

const struct hgi_msg_reloaded hgi_sample_reload_reply = {changed_names, 2, restart_names, 1};

const struct hgi_msg_drain hgi_sample_drain_request = {.off = true};

const struct hgi_msg_drained hgi_sample_drain_reply = {.connections = 93, .waiting = 94};

const struct hgi_msg_saved hgi_sample_save_snapshot_reply = {.entries = 91, .duration_ms = 92};

const struct hgi_msg_list_flights hgi_sample_list_flights_request = {.cache = TEXT("c"),
                                                                     .max = 121};

#define FLIGHT                                                                                     \
    {                                                                                              \
        .cache = TEXT("c"), .id = 122, .digest = TEXT("00ff00ff00ff00ff"),                         \
        .leader = TEXT("caller"), .phase = TEXT("sent"), .pid = 123, .age_ms = 124,                \
        .left_ms = 125, .followers = 126, .generation = 127, .attempt = 1, .is_fenced = true       \
    }

static struct hgi_msg_flight flights[] = {FLIGHT, {.cache = TEXT("d"), .left_ms = -1}};

const struct hgi_msg_flights hgi_sample_list_flights_reply = {flights, HGI_COUNT_OF(flights), 128};

const struct hgi_msg_kill_flight hgi_sample_kill_flight_request = {.cache = TEXT("c"), .id = 129};

const struct hgi_msg_flight hgi_sample_flight_info = FLIGHT;

const struct hgi_msg_explain hgi_sample_explain_request = {
    .cache = TEXT("c"), .key = {.kind = HG_KEY_BYTES, .bytes = TEXT("b")}};

static struct hgi_msg_past_answer past_answers[] = {
    {.at_ms = 1792000000130,
     .status = HG_OK,
     .outcome = HG_VALUE,
     .source = HG_SOURCE_STALE,
     .is_fenced = true,
     .generation = 131,
     .age_ms = 132},
    {.at_ms = 133, .status = HG_UNAVAILABLE, .source = HG_SOURCE_JOINED},
};

const struct hgi_msg_explanation hgi_sample_explanation = {
    .rule = TEXT("stale"),
    .sentence = TEXT("stale: why"),
    .digest = TEXT("00ff00ff00ff00ff"),
    .generation = 134,
    .has_entry = true,
    .entry = {.outcome = HG_VALUE,
              .generation = 135,
              .age_ms = 136,
              .ttl_left_ms = 137,
              .stale_left_ms = 138,
              .refresh_pause_ms = 139,
              .ttl_ms = 140},
    .has_flight = true,
    .flight = FLIGHT,
    .failure_left_ms = 141,
    .answers = past_answers,
    .answer_count = HGI_COUNT_OF(past_answers),
};

const struct hgi_msg_new_token hgi_sample_new_token_request = {.principal = TEXT("gw"),
                                                               .expires_at_ms = 1900000000123};
const struct hgi_msg_issued hgi_sample_new_token_reply = {.token = TEXT("hg_t"), .id = TEXT("id1")};
const struct hgi_msg_revoke_token hgi_sample_revoke_token_request = {.id = TEXT("id2"),
                                                                     .principal = TEXT("p2")};
const struct hgi_msg_revoked hgi_sample_revoke_token_reply = {.count = 201};

static struct hgi_msg_token_info token_infos[] = {
    {.id = TEXT("id3"),
     .principal = TEXT("p3"),
     .created_at_ms = 1900000000124,
     .expires_at_ms = 1900000000125},
    {.id = TEXT("id4")},
};

const struct hgi_msg_token_infos hgi_sample_list_tokens_reply = {.tokens = token_infos,
                                                                 .token_count = 2};

const struct hgi_msg_snapshot_info hgi_sample_snapshot_info_reply = {
    .path = TEXT("/s.db"),
    .version = 4000,
    .protection = TEXT("key_file"),
    .file_bytes = 211,
    .log_bytes = 212,
    .pages = 213,
    .invalidations = 214,
    .generation = 215,
    .saved_at_ms = 1900000000216,
    .interval_ms = 217,
    .entries = 218,
    .unsaved = 219,
    .is_degraded = true,
    .message = TEXT("full"),
    .saves = 220,
    .save_errors = 221,
    .rows_written = 222,
    .restored = 223,
    .dropped = 224,
    .work = TEXT("save"),
    .work_done = 225,
    .work_total = 226,
    .verified_at_ms = 1900000000227,
    .faults = 228,
};
const struct hgi_msg_verified hgi_sample_verify_snapshot_reply = {
    .faults = 231,
    .fault = TEXT("row 1"),
    .rows = 232,
    .pages = 233,
    .caches = 234,
    .invalidations = 235,
    .generation = 236,
    .saved_at_ms = 1900000000237,
    .is_structure_checked = true,
    .duration_ms = 238,
};

const struct hgi_msg_watch hgi_sample_watch_request = {
    .after = 101, .epoch = 102, .max = 103, .cache = TEXT("cw")};

static struct hgi_msg_event events[] = {
    {.number = 112,
     .at_ms = 1792000000113,
     .kind = HG_EVENT_INVALIDATE,
     .name = TEXT("c"),
     .generation = 114,
     .key = {.kind = HG_KEY_KEY_HASH, .bytes = TEXT("h")}},
    {.number = 115, .at_ms = 116, .kind = HG_EVENT_LOADER, .name = TEXT("l")},
};

const struct hgi_msg_events hgi_sample_watch_reply = {.epoch = 111,
                                                      .events = events,
                                                      .event_count = HGI_COUNT_OF(events),
                                                      .last = 117,
                                                      .is_gap = true};

const struct hgi_msg_name hgi_sample_health_request = {.name = TEXT("herdgate.v1.Cache")};

const struct hgi_msg_health hgi_sample_health_reply = {.status = HGI_HEALTH_NOT_SERVING};

static const struct hg_slice scopes[] = {TEXT("read"), TEXT("write")};
static const struct hg_attribute attributes[] = {{TEXT("plan"), TEXT("gold")},
                                                 {TEXT("region"), TEXT("eu")}};

const struct hg_auth hgi_sample_auth_value = {
    .user_id = TEXT("u"),
    .api_key_id = TEXT("k"),
    .allowed = true,
    .scopes = scopes,
    .scope_count = HGI_COUNT_OF(scopes),
    .attributes = attributes,
    .attribute_count = HGI_COUNT_OF(attributes),
    .not_after_ms = 1893456000000,
};

const struct hgi_request hgi_sample_request = {
    .method = HGI_METHOD_PUT,
    .timeout_ms = 1500,
    .payload = TEXT("payload"),
    .op_id = TEXT("0123456789abcdef"),
    .metadata = {{TEXT("authorization"), TEXT("Bearer t")}, {TEXT("traceparent"), TEXT("00")}},
    .metadata_count = 2,
};

const struct hgi_reply hgi_sample_reply = {
    .status = HG_RESOURCE_EXHAUSTED,
    .message = TEXT("queue full"),
    .payload = TEXT("p"),
    .retry_after_ms = 250,
};

static unsigned char hex_digit(char digit)
{
    return (unsigned char)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
}

void hgi_hex(const char *digits, struct hg_bytes *ret_bytes)
{
    for (; digits[0]; digits += 2) {
        unsigned char byte = (unsigned char)(hex_digit(digits[0]) << 4 | hex_digit(digits[1]));

        ck_assert(hgi_bytes_append(ret_bytes, hg_slice_of(&byte, 1)));
    }
}
