/* SPDX-License-Identifier: Apache-2.0 */
/* client: ask a herdgate server.
 * Owns:     one connection, opened by the first call and again by the first call after it broke.
 * Threads:  any number of threads may call at once; all their calls share the connection and are
 *           answered in any order. A callback runs on a thread of the library: it must not block,
 *           make a call that waits, or close the client; it may begin further `_async` calls.
 * Limits:   hg_client_options: time a call, calls in flight, bytes a message and unsent.
 * Errors:   every call returns a status and, where `ret_error` is not NULL, says why in it. What
 *           is returned through ret_* is set on HG_OK only, and untouched otherwise.
 * Not here: what the answers mean (types.h), loading by a plugin (loader.h).
 *
 * Nothing is ever sent twice. When the connection breaks, the calls in flight end UNAVAILABLE; for
 * one that changes something, `is_done_unknown` then says that nobody can tell whether it happened.
 * To repeat such a call safely give it an op_id of your own: the server remembers it for two
 * minutes and does the same op_id once.
 *
 * ABSENT and DENIED are answers with the status OK. A gateway fails closed: whatever is not
 * HG_OK *and* HG_VALUE lets nobody in (client/examples/gateway.c). */
#ifndef HERDGATE_CLIENT_H
#define HERDGATE_CLIENT_H

#include "herdgate/attr.h"
#include "herdgate/status.h"
#include "herdgate/types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HG_URL_DEFAULT    "ipc:///run/herdgate/herdgate.sock"
#define HG_ERROR_TEXT_MAX 512u
#define HG_TIMEOUT_MAX_MS 120000u
#define HG_OP_ID_LEN      16u

struct hg_client;
struct hg_memory; /* what a reply's slices borrow from; its deinit gives it back */

/* Why a call failed. */
struct hg_error {
    enum hg_status status;
    uint32_t retry_after_ms; /* the server's wish; 0 = none */
    bool is_done_unknown;    /* the call changes something, and may have done so */
    enum hg_source source;   /* of a failed load: LOADED = this call's own, JOINED = another's */
    char text[HG_ERROR_TEXT_MAX]; /* with HG_OK: empty, or of hg_client_health what is degraded */
};

/* 0 is the default of each. */
struct hg_client_options {
    uint32_t timeout_ms;         /* of a call that names none: 15,000 */
    uint32_t connect_timeout_ms; /* 5,000 */
    uint32_t in_flight_max;      /* 4,096; one more is RESOURCE_EXHAUSTED at once */
    uint32_t message_max_bytes;  /* 1 MiB, as the server's */
    uint32_t unsent_max_bytes;   /* 8 MiB wait for a server that does not read; then
                                    RESOURCE_EXHAUSTED */
    /* A file that holds an access token, "hg_...", and nothing else; others must not be able to
     * read it. It is read by hg_client_open. NULL = none. Only listens with access "token" look. */
    const char *token_file;
    const char *local_dir; /* the server's runtime_dir, on this host: calls that wait read
                              fresh hits of caches with local_reads from its memory there;
                              NULL = never. Copied. */
    /* For tls+tcp://, all absolute paths of PEM files that hg_client_open reads. ca_file: who may
     * have signed the server's certificate; cert_file, key_file: the client's own, the key for
     * nobody else to read. server_name: what the server's certificate must be of; NULL = the
     * url's host (a name: certificates of bare addresses are not understood). */
    const char *ca_file;
    const char *cert_file;
    const char *key_file;
    const char *server_name;
    /* Of the calls in flight so many are sent and not answered, the rest waits its turn: 224. What
     * ends a lease goes before. Keep it below the server's in_flight_max, 256: there it stops
     * reading. */
    uint32_t unanswered_max;
};

/* url: ipc:///path (or unix:///path), abstract://name, tcp://host:port or
 * tls+tcp://host:port; NULL = HG_URL_DEFAULT.
 * options: NULL = all defaults. Does not connect, so a server that is away is no error here.
 * INVALID_ARGUMENT: not a url we speak; FAILED_PRECONDITION: a file of the options cannot be used.
 */
HG_EXPORT HG_NODISCARD enum hg_status hg_client_open(const char *url,
                                                     const struct hg_client_options *options,
                                                     struct hg_client **ret_client,
                                                     struct hg_error *ret_error);
/* Ends calls in flight with CANCELLED and waits until their callbacks have returned; then sets
 * *client to NULL. A NULL client is nothing to close. No thread may begin a call meanwhile. */
HG_EXPORT void hg_client_close(struct hg_client **client);

/* ---- what is asked; a member left out is its default; all is borrowed for the call ---- */

/* timeout_ms everywhere: 0 = the client's; more than HG_TIMEOUT_MAX_MS counts as that.
 * op_id: HG_OP_ID_LEN bytes, or NULL for fresh random ones. */

struct hg_read {
    const char *cache;
    struct hg_key key;
    enum hg_mode mode; /* hg_client_get reads with PEEK whatever this says */
    bool has_max_age;
    uint64_t max_age_ms; /* with has_max_age: older is not fresh for this reader */
    /* What was born before it does not count for this reader: the generation of one's own
     * invalidation or put, handed to another process, makes it read nothing older. 0 = none. */
    uint64_t min_generation;
    bool lead; /* hg_client_get_or_load: on a miss this caller is to load (herdgate/lease.h) */
    uint32_t timeout_ms;
    /* The traceparent of W3C Trace Context that came with what this read is for: a load that it
     * begins is part of that trace, and its backend is told. Ill-formed is as none. NULL = none. */
    const char *traceparent;
};

struct hg_batch {
    const char *cache;
    const struct hg_key *keys; /* at most 256 */
    size_t key_count;
    enum hg_mode mode;
    bool has_max_age;
    uint64_t max_age_ms;
    uint64_t min_generation; /* as in hg_read */
    uint32_t timeout_ms;
    const char *traceparent; /* as in hg_read */
};

/* A moment of a cache, for hg_put.if_generation. */
struct hg_token {
    uint64_t generation;
    uint64_t epoch;
};

struct hg_put {
    const char *cache;
    struct hg_key key;
    enum hg_outcome outcome; /* VALUE, ABSENT or DENIED; 0 = VALUE */
    struct hg_slice value;   /* of an auth cache: hg_auth_encode */
    uint64_t ttl_ms;         /* 0 = the cache's; these can only shorten */
    uint64_t stale_ttl_ms;
    int64_t expires_at_ms;                /* unix; 0 = none */
    const struct hg_token *if_generation; /* ABORTED if the key changed after it; NULL = put */
    uint32_t timeout_ms;
    const unsigned char *op_id;
    const struct hg_slice *tags; /* at most HG_TAGS_MAX of 1 to HG_TAG_MAX bytes */
    size_t tag_count;
};

/* What it covers, all under one number: keys, everything with one of the tags, everything of a
 * user; at least one of them. */
struct hg_invalidate {
    const char *cache;
    const struct hg_key *keys; /* at most 256 */
    size_t key_count;
    uint32_t timeout_ms;
    const unsigned char *op_id;
    const struct hg_slice *tags; /* at most 256 */
    size_t tag_count;
    struct hg_slice prefix; /* a user_id: all his keys; empty = none */
    bool soft;              /* stale instead of gone */
};

struct hg_generation {
    const char *cache;
    struct hg_key key;
    uint32_t timeout_ms;
};

struct hg_clear {
    const char *cache;
    bool all; /* every cache; then `cache` must be NULL */
    uint32_t timeout_ms;
    const unsigned char *op_id;
    bool wait; /* also for the loads begun before it to end; DEADLINE_EXCEEDED: cleared, they run */
};

/* For the calls that need no more than a name, or nothing. */
struct hg_named {
    const char *name; /* stats: cache, NULL = all; reload_loader: loader; health: service or NULL */
    uint32_t timeout_ms;
    const unsigned char *op_id; /* reload_loader, save_snapshot */
};

/* Where a watcher is: what the last reply gave as `epoch` and `last`. With epoch 0, the start, the
 * reply comes at once and only says where the server is. */
struct hg_watch {
    uint64_t after;
    uint64_t epoch;
    uint32_t events_max; /* in one reply; 0 = 1,000, and no more than that */
    uint32_t timeout_ms; /* with nothing to tell the server says so after this time; the call itself
                            waits 5 s longer for that */
    const char *cache;   /* only what concerns it, and NOT_FOUND if there is none; NULL: everything.
                            What concerns others comes as a reply without events */
};

/* ---- what is answered ---- */

/* That this caller is to load the key, and for how long others wait for it (herdgate/lease.h). */
struct hg_lease {
    uint64_t id; /* 0: no lease */
    uint64_t epoch;
    uint64_t ttl_ms;
};

/* One key's answer. In a batch each has its own status, and a message where that is not OK. */
struct hg_answer {
    enum hg_status status;
    struct hg_slice message;
    uint32_t retry_after_ms;
    enum hg_outcome outcome;
    enum hg_source source;
    struct hg_slice value;
    enum hg_value_type value_type; /* 0: no value */
    bool is_fenced;                /* overtaken by an invalidation: answered once, kept nowhere */
    uint64_t generation;           /* at which the value's load began */
    uint64_t age_ms;
    uint64_t ttl_left_ms;   /* fresh for so long */
    uint64_t stale_left_ms; /* servable for so long */
    struct hg_lease lease;  /* to who asked to lead; with HG_SOURCE_LEASED there is no value */
    struct hg_memory *memory;
};

struct hg_answers {
    const struct hg_answer *answers; /* in the order of the keys */
    size_t count;
    struct hg_memory *memory;
};

struct hg_stored {
    uint64_t generation;
};

/* What an invalidation or a clear did. */
struct hg_report {
    struct hg_slice cache;
    uint64_t generation;
    uint64_t dropped;  /* entries; those of tags and of a prefix are not counted */
    uint64_t fenced;   /* loads that may not store any more */
    uint64_t released; /* waiters sent to look again */
    struct hg_memory *memory;
};

struct hg_reports {
    const struct hg_report *reports;
    size_t count;
    struct hg_memory *memory;
};

struct hg_cache_info {
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
    struct hg_slice on_error; /* the policy's words are those of the configuration */
    uint32_t jitter_percent;
    uint64_t stale_if_error_ms;    /* 0 = off */
    uint64_t error_backoff_ms;     /* 0 = off */
    struct hg_slice refresh_ahead; /* "off", "xfetch", or a part of the ttl such as "20%" */
    bool alone;
};

struct hg_caches {
    const struct hg_cache_info *caches;
    size_t count;
    struct hg_memory *memory;
};

struct hg_counter {
    struct hg_slice name;
    uint64_t value;
};

struct hg_cache_stats {
    struct hg_slice cache;
    const struct hg_counter *counters;
    size_t counter_count;
};

struct hg_stats {
    const struct hg_cache_stats *caches;
    size_t cache_count;
    const struct hg_counter *server;
    size_t server_count;
    struct hg_memory *memory;
};

struct hg_loader_info {
    struct hg_slice name;
    struct hg_slice plugin;
    struct hg_slice version;
    struct hg_slice state; /* "running", "unhealthy", "open" (its breaker), "restarting", "failed",
                              "draining" */
    uint32_t abi;
    int64_t pid;
    uint64_t started_count;
    uint64_t deaths;
    uint64_t in_flight;
    uint64_t queued;
    struct hg_slice message; /* what was wrong last */
    struct hg_memory *memory;
};

struct hg_loaders {
    const struct hg_loader_info *loaders;
    size_t count;
    struct hg_memory *memory;
};

struct hg_saved {
    uint64_t entries;
    uint64_t duration_ms;
};

/* One change. A value of that cache and key whose `generation` is smaller is out of date, also if
 * it arrives after the event. */
struct hg_event {
    uint64_t number; /* counts up by one */
    int64_t at_ms;   /* unix */
    enum hg_event_kind kind;
    struct hg_slice name; /* the cache; of HG_EVENT_LOADER the loader */
    uint64_t generation;
    struct hg_key key; /* kind 0: any key of the cache (who may not put is not told keys) */
};

/* Three cases: is_gap: events are lost, whatever was copied from any cache may be out of date; no
 * gap and no events: nothing happened; else these happened, in this order. */
struct hg_events {
    const struct hg_event *events;
    size_t count;
    uint64_t epoch; /* for the next call, as `last` */
    uint64_t last;
    bool is_gap;
    struct hg_memory *memory;
};

/* gRPC's numbers. */
enum hg_health {
    HG_HEALTH_UNKNOWN = 0,
    HG_HEALTH_SERVING = 1,
    HG_HEALTH_NOT_SERVING = 2,
    HG_HEALTH_SERVICE_UNKNOWN = 3,
};

/* Wipes and frees what the reply's slices point at. Needed once for each reply that a call returned
 * with HG_OK; harmless on a zeroed one; not for the elements of a list. */
HG_EXPORT void hg_answer_deinit(struct hg_answer *answer);
HG_EXPORT void hg_answers_deinit(struct hg_answers *answers);
HG_EXPORT void hg_report_deinit(struct hg_report *report);
HG_EXPORT void hg_reports_deinit(struct hg_reports *reports);
HG_EXPORT void hg_caches_deinit(struct hg_caches *caches);
HG_EXPORT void hg_stats_deinit(struct hg_stats *stats);
HG_EXPORT void hg_loaders_deinit(struct hg_loaders *loaders);
HG_EXPORT void hg_events_deinit(struct hg_events *events);
HG_EXPORT void hg_loader_info_deinit(struct hg_loader_info *loader);

/* ---- calls that wait for their reply ---- */

/* Fresh from the cache or NOT_CACHED; never loads. NOT_FOUND is an unknown cache. */
HG_EXPORT HG_NODISCARD enum hg_status hg_client_get(struct hg_client *client,
                                                    const struct hg_read *request,
                                                    struct hg_answer *ret_answer,
                                                    struct hg_error *ret_error);
HG_EXPORT HG_NODISCARD enum hg_status hg_client_get_or_load(struct hg_client *client,
                                                            const struct hg_read *request,
                                                            struct hg_answer *ret_answer,
                                                            struct hg_error *ret_error);
/* With local_dir: true is a fresh hit that was read without asking the server, as the two above do
 * first of all; false says nothing. Never waits, so callbacks may use it. */
HG_EXPORT HG_NODISCARD bool hg_client_get_local(struct hg_client *client,
                                                const struct hg_read *request,
                                                struct hg_answer *ret_answer);
/* All keys in one message. HG_OK says that there is one answer per key, not that each is OK. */
HG_EXPORT HG_NODISCARD enum hg_status hg_client_batch_get_or_load(struct hg_client *client,
                                                                  const struct hg_batch *request,
                                                                  struct hg_answers *ret_answers,
                                                                  struct hg_error *ret_error);
HG_EXPORT HG_NODISCARD enum hg_status hg_client_put(struct hg_client *client,
                                                    const struct hg_put *request,
                                                    struct hg_stored *ret_stored,
                                                    struct hg_error *ret_error);
/* After HG_OK no read gets a value whose load began before this call. */
HG_EXPORT HG_NODISCARD enum hg_status hg_client_invalidate(struct hg_client *client,
                                                           const struct hg_invalidate *request,
                                                           struct hg_report *ret_report,
                                                           struct hg_error *ret_error);
HG_EXPORT HG_NODISCARD enum hg_status hg_client_generation(struct hg_client *client,
                                                           const struct hg_generation *request,
                                                           struct hg_token *ret_token,
                                                           struct hg_error *ret_error);
HG_EXPORT HG_NODISCARD enum hg_status hg_client_clear(struct hg_client *client,
                                                      const struct hg_clear *request,
                                                      struct hg_reports *ret_reports,
                                                      struct hg_error *ret_error);
/* `request` may be NULL from here on, where no name is needed. */
HG_EXPORT HG_NODISCARD enum hg_status hg_client_list_caches(struct hg_client *client,
                                                            const struct hg_named *request,
                                                            struct hg_caches *ret_caches,
                                                            struct hg_error *ret_error);
HG_EXPORT HG_NODISCARD enum hg_status hg_client_stats(struct hg_client *client,
                                                      const struct hg_named *request,
                                                      struct hg_stats *ret_stats,
                                                      struct hg_error *ret_error);
HG_EXPORT HG_NODISCARD enum hg_status hg_client_list_loaders(struct hg_client *client,
                                                             const struct hg_named *request,
                                                             struct hg_loaders *ret_loaders,
                                                             struct hg_error *ret_error);
HG_EXPORT HG_NODISCARD enum hg_status hg_client_reload_loader(struct hg_client *client,
                                                              const struct hg_named *request,
                                                              struct hg_loader_info *ret_loader,
                                                              struct hg_error *ret_error);
HG_EXPORT HG_NODISCARD enum hg_status hg_client_save_snapshot(struct hg_client *client,
                                                              const struct hg_named *request,
                                                              struct hg_saved *ret_saved,
                                                              struct hg_error *ret_error);
HG_EXPORT HG_NODISCARD enum hg_status hg_client_health(struct hg_client *client,
                                                       const struct hg_named *request,
                                                       enum hg_health *ret_health,
                                                       struct hg_error *ret_error);
/* Waits for events behind request->after, and no longer than for the first. */
HG_EXPORT HG_NODISCARD enum hg_status hg_client_watch(struct hg_client *client,
                                                      const struct hg_watch *request,
                                                      struct hg_events *ret_events,
                                                      struct hg_error *ret_error);

/* ---- the same, answered by a callback ---- */

/* error->status is HG_OK or why there is no reply; the reply is NULL unless it is HG_OK, and
 * borrowed for the callback. */
typedef void (*hg_answer_fn)(void *arg, const struct hg_error *error,
                             const struct hg_answer *answer);
typedef void (*hg_answers_fn)(void *arg, const struct hg_error *error,
                              const struct hg_answers *answers);
typedef void (*hg_stored_fn)(void *arg, const struct hg_error *error,
                             const struct hg_stored *stored);
typedef void (*hg_report_fn)(void *arg, const struct hg_error *error,
                             const struct hg_report *report);
typedef void (*hg_token_fn)(void *arg, const struct hg_error *error, const struct hg_token *token);
typedef void (*hg_reports_fn)(void *arg, const struct hg_error *error,
                              const struct hg_reports *reports);
typedef void (*hg_caches_fn)(void *arg, const struct hg_error *error,
                             const struct hg_caches *caches);
typedef void (*hg_stats_fn)(void *arg, const struct hg_error *error, const struct hg_stats *stats);
typedef void (*hg_loaders_fn)(void *arg, const struct hg_error *error,
                              const struct hg_loaders *loaders);
typedef void (*hg_loader_info_fn)(void *arg, const struct hg_error *error,
                                  const struct hg_loader_info *loader);
typedef void (*hg_saved_fn)(void *arg, const struct hg_error *error, const struct hg_saved *saved);
typedef void (*hg_events_fn)(void *arg, const struct hg_error *error,
                             const struct hg_events *events);
typedef void (*hg_health_fn)(void *arg, const struct hg_error *error, const enum hg_health *health);

/* HG_OK: `done` is called exactly once, now or later, from a thread of the library. Anything else:
 * the call was not begun and `done` is never called. */
HG_EXPORT HG_NODISCARD enum hg_status hg_client_get_async(struct hg_client *client,
                                                          const struct hg_read *request,
                                                          hg_answer_fn done, void *arg,
                                                          struct hg_error *ret_error);
HG_EXPORT HG_NODISCARD enum hg_status hg_client_get_or_load_async(struct hg_client *client,
                                                                  const struct hg_read *request,
                                                                  hg_answer_fn done, void *arg,
                                                                  struct hg_error *ret_error);
HG_EXPORT HG_NODISCARD enum hg_status hg_client_batch_get_or_load_async(
    struct hg_client *client, const struct hg_batch *request, hg_answers_fn done, void *arg,
    struct hg_error *ret_error);
HG_EXPORT HG_NODISCARD enum hg_status hg_client_put_async(struct hg_client *client,
                                                          const struct hg_put *request,
                                                          hg_stored_fn done, void *arg,
                                                          struct hg_error *ret_error);
HG_EXPORT HG_NODISCARD enum hg_status hg_client_invalidate_async(
    struct hg_client *client, const struct hg_invalidate *request, hg_report_fn done, void *arg,
    struct hg_error *ret_error);
HG_EXPORT HG_NODISCARD enum hg_status hg_client_generation_async(
    struct hg_client *client, const struct hg_generation *request, hg_token_fn done, void *arg,
    struct hg_error *ret_error);
HG_EXPORT HG_NODISCARD enum hg_status hg_client_clear_async(struct hg_client *client,
                                                            const struct hg_clear *request,
                                                            hg_reports_fn done, void *arg,
                                                            struct hg_error *ret_error);
HG_EXPORT HG_NODISCARD enum hg_status hg_client_list_caches_async(struct hg_client *client,
                                                                  const struct hg_named *request,
                                                                  hg_caches_fn done, void *arg,
                                                                  struct hg_error *ret_error);
HG_EXPORT HG_NODISCARD enum hg_status hg_client_stats_async(struct hg_client *client,
                                                            const struct hg_named *request,
                                                            hg_stats_fn done, void *arg,
                                                            struct hg_error *ret_error);
HG_EXPORT HG_NODISCARD enum hg_status hg_client_list_loaders_async(struct hg_client *client,
                                                                   const struct hg_named *request,
                                                                   hg_loaders_fn done, void *arg,
                                                                   struct hg_error *ret_error);
HG_EXPORT HG_NODISCARD enum hg_status hg_client_reload_loader_async(struct hg_client *client,
                                                                    const struct hg_named *request,
                                                                    hg_loader_info_fn done,
                                                                    void *arg,
                                                                    struct hg_error *ret_error);
HG_EXPORT HG_NODISCARD enum hg_status hg_client_save_snapshot_async(struct hg_client *client,
                                                                    const struct hg_named *request,
                                                                    hg_saved_fn done, void *arg,
                                                                    struct hg_error *ret_error);
HG_EXPORT HG_NODISCARD enum hg_status hg_client_health_async(struct hg_client *client,
                                                             const struct hg_named *request,
                                                             hg_health_fn done, void *arg,
                                                             struct hg_error *ret_error);
HG_EXPORT HG_NODISCARD enum hg_status hg_client_watch_async(struct hg_client *client,
                                                            const struct hg_watch *request,
                                                            hg_events_fn done, void *arg,
                                                            struct hg_error *ret_error);

/* ---- values of auth caches ---- */

/* An auth value as hg_put.value wants it: returned owned, hg_packed_deinit frees. */
struct hg_packed {
    struct hg_slice bytes;
    struct hg_memory *memory;
};

HG_EXPORT HG_NODISCARD enum hg_status hg_auth_encode(const struct hg_auth *auth,
                                                     struct hg_packed *ret_packed,
                                                     struct hg_error *ret_error);
HG_EXPORT void hg_packed_deinit(struct hg_packed *packed);

/* An hg_answer's value read as an auth value: owned, hg_auth_value_deinit frees. */
struct hg_auth_value {
    struct hg_auth auth;
    struct hg_memory *memory;
};

HG_EXPORT HG_NODISCARD enum hg_status hg_auth_decode(struct hg_slice bytes,
                                                     struct hg_auth_value *ret_value,
                                                     struct hg_error *ret_error);
HG_EXPORT void hg_auth_value_deinit(struct hg_auth_value *value);

#ifdef __cplusplus
}
#endif

#endif
