/* SPDX-License-Identifier: Apache-2.0 */
/* engine: a cache on an integer clock, with loads that end when the test says so.
 * Owns:     the cache, the calls made through it, the record of loads.
 * Threads:  one.
 * Limits:   ENGINE_CALLS_MAX calls, ENGINE_LOADS_MAX loads a test.
 * Errors:   a call answered twice, or never when the test ends, fails the test.
 * Not here: processes and sockets. */
#ifndef HG_TEST_ENGINE_H
#define HG_TEST_ENGINE_H

#include "hg_test.h"
#include "server/cache/cache.h"

#define ENGINE_CALLS_MAX 4096
#define ENGINE_LOADS_MAX 4096
#define ENGINE_PID       4711 /* of the process that runs its loads */

/* A call and what it was answered. */
struct engine_call {
    struct hgi_call call;
    char key[80];
    char load_key[32]; /* of a veiled one */
    bool is_made;
    int answers;
    enum hg_status status;
    enum hg_outcome outcome;
    enum hg_source source;
    bool is_fenced;
    char value[64];
    char message[300];
    uint64_t generation;
    int64_t age_ms;
    int64_t ttl_left_ms;
    int64_t stale_left_ms;
    uint32_t retry_after_ms;
    uint64_t lease_id;
    int64_t lease_ttl_ms;
};

struct engine_load {
    uint64_t load_id;
    char key[32];
    uint32_t attempt;
    bool is_sent;
    bool is_cancelled;
    bool is_ended;
    bool has_old; /* was given what is below to confirm */
    char old_value[64];
    char etag[32];
};

struct engine {
    struct hgi_test_allocator memory;
    struct hgi_cache *cache;
    struct hgi_now now;
    struct hg_bytes scratch;
    bool holds_sends; /* loads stay in the executor's own queue until engine_send */
    struct engine_load loads[ENGINE_LOADS_MAX];
    size_t load_count;
    uint32_t running_count; /* started and not ended; never more than max_loads */
    struct engine_call calls[ENGINE_CALLS_MAX];
    size_t call_count;
};

/* ttl 100 ms, stale_ttl 300 ms, negative_ttl 50 ms, load_timeout 1,000 ms, mode FRESH, no jitter.
 */
struct hgi_policy engine_policy(void);
struct engine *engine_create(const struct hgi_policy *policy);
struct engine *engine_create_with(const struct hgi_policy *policy, bool has_loader);
/* Its keys are veiled, under a key of the test's own. */
struct engine *engine_create_veiled(const struct hgi_policy *policy);
/* As a reload does it: another policy, with the engine's loader or none. */
enum hg_status engine_adapt(struct engine *e, const struct hgi_policy *policy, bool has_loader);
/* Stops the cache, ends what is outstanding, checks that every call was answered once and nothing
 * leaked. */
void engine_destroy(struct engine *e);

struct engine_call *engine_read(struct engine *e, const char *key, enum hg_mode mode);
struct engine_call *engine_read_with(struct engine *e, const char *key, enum hg_mode mode,
                                     int64_t max_age_ms, int64_t timeout_ms);
/* A FRESH read of a key that is no text (canonical bytes). */
struct engine_call *engine_read_key(struct engine *e, struct hg_slice key, enum hg_mode mode);
/* A read of a typed key in a veiled cache; `canonical` is as short as a test's own keys. */
struct engine_call *engine_read_veiled(struct engine *e, struct hg_slice canonical,
                                       enum hg_mode mode);
struct engine_call *engine_lead_veiled(struct engine *e, struct hg_slice canonical,
                                       enum hg_mode mode, uint64_t holder);
/* A read that wants to lead. */
struct engine_call *engine_lead(struct engine *e, const char *key, enum hg_mode mode,
                                uint64_t holder);
enum hg_status engine_fulfil(struct engine *e, const struct hgi_fulfilment *fulfilment);
enum hg_status engine_renew(struct engine *e, uint64_t lease_id);
enum hg_status engine_release(struct engine *e, uint64_t lease_id);
/* A FRESH read that takes nothing born before `min_generation`. */
struct engine_call *engine_read_from(struct engine *e, const char *key, uint64_t min_generation);
/* A FRESH read. */
struct engine_call *engine_get(struct engine *e, const char *key);
void engine_send(struct engine *e, size_t load);

/* How the load ends. */
void engine_value(struct engine *e, size_t load, const char *value);
void engine_result(struct engine *e, size_t load, const struct hgi_result *result);
/* What it was given is right still. */
void engine_unchanged(struct engine *e, size_t load);
void engine_error(struct engine *e, size_t load, enum hg_status status, const char *message);
void engine_lost(struct engine *e, size_t load);

/* Lets time pass and ticks at its end. */
void engine_pass(struct engine *e, int64_t ms);
enum hg_status engine_put(struct engine *e, const char *key, const char *value);
/* ABSENT or DENIED. */
enum hg_status engine_put_negative(struct engine *e, const char *key, enum hg_outcome outcome);
enum hg_status engine_put_if(struct engine *e, const char *key, const char *value,
                             uint64_t generation);
struct hgi_report engine_clear(struct engine *e);
struct hgi_report engine_invalidate(struct engine *e, const char *key);
uint64_t engine_metric(struct engine *e, enum hgi_metric metric);
struct hgi_cache_stats engine_stats(struct engine *e);

#define ck_assert_answer(c, source_, value_)                                                       \
    do {                                                                                           \
        const struct engine_call *c_ = (c);                                                        \
        ck_assert_int_eq(c_->answers, 1);                                                          \
        ck_assert_int_eq(c_->status, HG_OK);                                                       \
        ck_assert_int_eq(c_->outcome, HG_VALUE);                                                   \
        ck_assert_int_eq(c_->source, (source_));                                                   \
        ck_assert_str_eq(c_->value, (value_));                                                     \
    } while (0)

#define ck_assert_negative(c, source_, outcome_)                                                   \
    do {                                                                                           \
        const struct engine_call *c_ = (c);                                                        \
        ck_assert_int_eq(c_->answers, 1);                                                          \
        ck_assert_int_eq(c_->status, HG_OK);                                                       \
        ck_assert_int_eq(c_->outcome, (outcome_));                                                 \
        ck_assert_int_eq(c_->source, (source_));                                                   \
        ck_assert_str_eq(c_->value, "");                                                           \
    } while (0)

#define ck_assert_waiting(c) ck_assert_int_eq((c)->answers, 0)

#define ck_assert_refused(c, status_)                                                              \
    do {                                                                                           \
        const struct engine_call *c_ = (c);                                                        \
        ck_assert_int_eq(c_->answers, 1);                                                          \
        ck_assert_int_eq(c_->status, (status_));                                                   \
    } while (0)

#endif
