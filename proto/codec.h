/* SPDX-License-Identifier: Apache-2.0 */
/* codec: messages as plain structures.
 * Owns:     nothing; what is decoded borrows from the arena or the bytes of a get or batch.
 * Threads:  any.
 * Limits:   the counts below, and the arena's budget: a small multiple of the message.
 * Errors:   decode: INVALID_ARGUMENT, or RESOURCE_EXHAUSTED past the budget, and one sentence;
 *           encode: false when memory is out, and ret_bytes is as it was.
 * Not here: whether a key or value fits its cache (base/kind, value), the envelope. */
#ifndef HGI_PROTO_CODEC_H
#define HGI_PROTO_CODEC_H

#include "base/bytes.h"
#include "herdgate/status.h"
#include "proto/pieces.h"

#define HGI_BATCH_KEYS_MAX      256u
#define HGI_INVALIDATE_TAGS_MAX 256u
#define HGI_WATCH_EVENTS_MAX    1000u
#define HGI_FLIGHTS_MAX         1000u
#define HGI_AUTH_SCOPES_MAX     256u
#define HGI_AUTH_ATTRIBUTES_MAX 256u
#define HGI_ARENA_PER_BYTE      8u      /* arena budget for a message of n bytes: 8 n ... */
#define HGI_ARENA_BUDGET_MIN    262144u /* ... and no less than 256 tiny keys or answers need */

struct hgi_msg_get {
    struct hg_slice cache;
    struct hg_key key; /* kind 0: the message had none */
    enum hg_mode mode;
    int64_t max_age_ms;      /* -1: none */
    uint64_t min_generation; /* 0: none */
    bool lead;
};

struct hgi_msg_batch {
    struct hg_slice cache;
    struct hg_key *keys;
    size_t key_count;
    enum hg_mode mode;
    int64_t max_age_ms;
    uint64_t min_generation;
};

struct hgi_msg_answer {
    enum hg_status status;
    struct hg_slice message;
    uint32_t retry_after_ms;
    enum hg_outcome outcome;
    enum hg_source source;
    struct hg_slice value;
    enum hg_value_type value_type; /* 0: no value */
    bool is_fenced;
    uint64_t generation;
    uint64_t age_ms;
    uint64_t ttl_left_ms;
    uint64_t stale_left_ms;
    uint64_t lease_id; /* 0: none */
    uint64_t lease_epoch;
    uint64_t lease_ttl_ms;
};

struct hgi_msg_batch_reply {
    struct hgi_msg_answer *answers;
    size_t answer_count;
};

struct hgi_msg_token {
    uint64_t generation;
    uint64_t epoch;
};

struct hgi_msg_put {
    struct hg_slice cache;
    struct hg_key key;
    enum hg_outcome outcome;
    struct hg_slice value;
    int64_t ttl_ms; /* 0: the cache's */
    int64_t stale_ttl_ms;
    int64_t expires_at_ms;
    bool has_if_generation;
    struct hgi_msg_token if_generation;
    const struct hg_slice *tags;
    size_t tag_count;
};

struct hgi_msg_put_reply {
    uint64_t generation;
};

struct hgi_msg_invalidate {
    struct hg_slice cache;
    struct hg_key *keys;
    size_t key_count;
    const struct hg_slice *tags;
    size_t tag_count;
    struct hg_slice prefix; /* empty: none */
    bool is_soft;
};

struct hgi_msg_report {
    struct hg_slice cache;
    uint64_t generation;
    uint64_t dropped;
    uint64_t fenced;
    uint64_t released;
};

struct hgi_msg_generation {
    struct hg_slice cache;
    struct hg_key key;
};

struct hgi_msg_fulfil {
    struct hg_slice cache;
    uint64_t lease_id;
    uint64_t epoch;
    enum hg_outcome outcome;
    struct hg_slice value;
    int64_t ttl_ms; /* 0: the cache's */
    int64_t stale_ttl_ms;
    int64_t expires_at_ms;
    enum hg_status status; /* not OK: no value but this error */
    struct hg_slice message;
    int64_t keep_ms;
    const struct hg_slice *tags;
    size_t tag_count;
    bool no_store;
};

struct hgi_msg_fulfilled {
    uint64_t generation;
    enum hg_outcome outcome;
    uint64_t ttl_left_ms;
    uint64_t stale_left_ms;
};

struct hgi_msg_lease {
    struct hg_slice cache;
    uint64_t lease_id;
    uint64_t epoch;
};

struct hgi_msg_renewed {
    uint64_t lease_ttl_ms;
};

struct hgi_msg_clear {
    struct hg_slice cache; /* empty: every cache */
    bool waits;
};

struct hgi_msg_clear_reply {
    struct hgi_msg_report *reports;
    size_t report_count;
};

struct hgi_msg_cache_info {
    struct hg_slice name;
    struct hg_slice key_type;
    struct hg_slice value_type;
    struct hg_slice loader;
    enum hg_mode mode;
    uint64_t ttl_ms;
    uint64_t stale_ttl_ms;
    uint64_t negative_ttl_ms;
    uint64_t max_entries;
    uint64_t max_bytes;
    uint64_t entries;
    uint64_t bytes;
    uint64_t generation;
    struct hg_slice on_error;
    uint32_t jitter_percent;
    uint64_t stale_if_error_ms;
    uint64_t error_backoff_ms;
    struct hg_slice refresh_ahead;
    bool is_alone;
};

struct hgi_msg_caches {
    struct hgi_msg_cache_info *caches;
    size_t cache_count;
};

struct hgi_msg_counter {
    struct hg_slice name;
    uint64_t value;
};

struct hgi_msg_cache_stats {
    struct hg_slice cache;
    struct hgi_msg_counter *counters;
    size_t counter_count;
};

struct hgi_msg_stats {
    struct hgi_msg_cache_stats *caches;
    size_t cache_count;
    struct hgi_msg_counter *server;
    size_t server_count;
};

struct hgi_msg_loader_info {
    struct hg_slice name;
    struct hg_slice plugin;
    struct hg_slice version;
    struct hg_slice state;
    uint32_t abi;
    int64_t pid;
    uint64_t started_count;
    uint64_t deaths;
    uint64_t in_flight;
    uint64_t queued;
    struct hg_slice message;
};

struct hgi_msg_loaders {
    struct hgi_msg_loader_info *loaders;
    size_t loader_count;
};

struct hgi_msg_name { /* StatsRequest.cache, ReloadLoaderRequest.name, HealthCheckRequest.service */
    struct hg_slice name;
};

struct hgi_msg_reloaded {
    const struct hg_slice *changed;
    size_t changed_count;
    const struct hg_slice *restart;
    size_t restart_count;
};

struct hgi_msg_drain {
    bool off;
};

struct hgi_msg_drained {
    uint64_t connections;
    uint64_t waiting;
};

struct hgi_msg_saved {
    uint64_t entries;
    uint64_t duration_ms;
};

struct hgi_msg_snapshot_info {
    struct hg_slice path;
    uint32_t version;
    struct hg_slice protection;
    uint64_t file_bytes;
    uint64_t log_bytes;
    uint64_t pages;
    uint64_t invalidations;
    uint64_t generation;
    int64_t saved_at_ms; /* unix; 0: never */
    uint64_t interval_ms;
    uint64_t entries;
    uint64_t unsaved;
    bool is_degraded;
    struct hg_slice message;
    uint64_t saves;
    uint64_t save_errors;
    uint64_t rows_written;
    uint64_t restored;
    uint64_t dropped;
    struct hg_slice work; /* empty: none */
    uint64_t work_done;
    uint64_t work_total;
    int64_t verified_at_ms; /* unix; 0: never */
    uint64_t faults;
};

struct hgi_msg_verified {
    uint64_t faults;
    struct hg_slice fault; /* the first */
    uint64_t rows;
    uint64_t pages;
    uint64_t caches;
    uint64_t invalidations;
    uint64_t generation;
    int64_t saved_at_ms; /* unix */
    bool is_structure_checked;
    uint64_t duration_ms;
};

struct hgi_msg_list_flights {
    struct hg_slice cache; /* empty: every cache */
    uint32_t max;          /* 0: HGI_FLIGHTS_MAX */
};

struct hgi_msg_flight {
    struct hg_slice cache;
    uint64_t id;
    struct hg_slice digest;
    struct hg_slice leader;
    struct hg_slice phase;
    int64_t pid;
    uint64_t age_ms;
    int64_t left_ms; /* -1: its time has not begun */
    uint64_t followers;
    uint64_t generation;
    uint32_t attempt;
    bool is_fenced;
};

struct hgi_msg_flights {
    struct hgi_msg_flight *flights;
    size_t flight_count;
    uint64_t count; /* of those there are */
};

struct hgi_msg_kill_flight {
    struct hg_slice cache;
    uint64_t id;
};

struct hgi_msg_explain {
    struct hg_slice cache;
    struct hg_key key;
};

struct hgi_msg_entry_info {
    enum hg_outcome outcome;
    uint64_t generation;
    uint64_t age_ms;
    uint64_t ttl_left_ms;
    uint64_t stale_left_ms;
    uint64_t refresh_pause_ms;
    uint64_t ttl_ms;
};

struct hgi_msg_past_answer {
    int64_t at_ms;
    enum hg_status status;
    enum hg_outcome outcome;
    enum hg_source source;
    bool is_fenced;
    uint64_t generation;
    uint64_t age_ms;
};

struct hgi_msg_explanation {
    struct hg_slice rule;
    struct hg_slice sentence;
    struct hg_slice digest;
    uint64_t generation;
    bool has_entry;
    struct hgi_msg_entry_info entry;
    bool has_flight;
    struct hgi_msg_flight flight;
    uint64_t failure_left_ms;
    struct hgi_msg_past_answer *answers;
    size_t answer_count;
};

struct hgi_msg_new_token {
    struct hg_slice principal;
    int64_t expires_at_ms; /* unix; 0: never */
};

struct hgi_msg_issued {
    struct hg_slice token;
    struct hg_slice id;
};

struct hgi_msg_revoke_token { /* one of the two */
    struct hg_slice id;
    struct hg_slice principal;
};

struct hgi_msg_revoked {
    uint64_t count;
};

struct hgi_msg_token_info {
    struct hg_slice id;
    struct hg_slice principal;
    int64_t created_at_ms;
    int64_t expires_at_ms; /* 0: never */
};

struct hgi_msg_token_infos {
    struct hgi_msg_token_info *tokens;
    size_t token_count;
};

struct hgi_msg_watch {
    uint64_t after;
    uint64_t epoch;        /* 0: none yet */
    uint32_t max;          /* 0: HGI_WATCH_EVENTS_MAX */
    struct hg_slice cache; /* empty: every one */
};

struct hgi_msg_event {
    uint64_t number;
    int64_t at_ms;
    enum hg_event_kind kind;
    struct hg_slice name;
    uint64_t generation;
    struct hg_key key; /* kind 0: any key of the cache */
};

struct hgi_msg_events {
    uint64_t epoch;
    struct hgi_msg_event *events;
    size_t event_count;
    uint64_t last;
    bool is_gap;
};

enum hgi_health {
    HGI_HEALTH_UNKNOWN,
    HGI_HEALTH_SERVING,
    HGI_HEALTH_NOT_SERVING,
    HGI_HEALTH_SERVICE_UNKNOWN
};

struct hgi_msg_health {
    enum hgi_health status;
};

/* hgi_<message>_encode(struct, bytes) and hgi_<message>_decode(slice, arena, struct, sentence). */
#define HGI_CODEC_ROW(name, type)                                                                  \
    HG_NODISCARD bool hgi_##name##_encode(const struct type *message, struct hg_bytes *ret_bytes); \
    HG_NODISCARD enum hg_status hgi_##name##_decode(struct hg_slice bytes,                         \
                                                    struct hgi_arena *arena,                       \
                                                    struct type *ret_message, char *ret_sentence);
#include "proto/messages.def"
#undef HGI_CODEC_ROW

/* An Answer's fields, in order; value and message are borrowed. In a BatchReply it is an element of
 * the field below. */
void hgi_answer_pieces(const struct hgi_msg_answer *answer, struct hgi_pieces *ret_pieces);
#define HGI_BATCH_REPLY_ANSWERS 1u

/* An auth value as it is stored and sent (a packed AuthValue). */
HG_NODISCARD bool hgi_auth_encode(const struct hg_auth *auth, struct hg_bytes *ret_bytes);
HG_NODISCARD enum hg_status hgi_auth_decode(struct hg_slice bytes, struct hgi_arena *arena,
                                            struct hg_auth *ret_auth, char *ret_sentence);

/* The budget that decoding a message of `len` bytes may take. */
static inline size_t hgi_arena_budget(size_t len)
{
    size_t budget = len * HGI_ARENA_PER_BYTE;

    return budget < HGI_ARENA_BUDGET_MIN ? HGI_ARENA_BUDGET_MIN : budget;
}

#endif
