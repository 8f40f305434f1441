/* SPDX-License-Identifier: Apache-2.0 */
#include "engine.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/check.h"
#include "server/cache/veil.h"

#define START_GENERATION 1000

struct hgi_policy engine_policy(void)
{
    struct hgi_policy policy = {
        .mode = HG_MODE_FRESH,
        .on_error = HGI_ON_ERROR_SHARE,
        .on_fenced = HGI_ON_FENCED_DELIVER,
        .ttl_ms = 100,
        .stale_ttl_ms = 300,
        .negative_ttl_ms = 50,
        .load_timeout_ms = 1000,
        .wait_budget_ms = 5000,
        .max_entries = 1000,
        .max_bytes = 1 << 20,
        .max_loads = 16,
        .queue_max = 1024,
        .waiters_max = 4096,
    };

    return policy;
}

static void record_start(void *context, const struct hgi_load_order *order)
{
    struct engine *e = context;
    struct engine_load *load = &e->loads[e->load_count++];

    ck_assert_uint_le(e->load_count, ENGINE_LOADS_MAX);
    ck_assert_uint_le(++e->running_count, hgi_cache_policy(order->cache)->max_loads);
    load->load_id = order->load_id;
    load->attempt = order->attempt;
    memcpy(load->key, order->key.data, order->key.len);
    load->has_old = order->old.serial != 0;
    if (load->has_old) {
        snprintf(load->old_value, sizeof(load->old_value), "%.*s", (int)order->old.value.len,
                 (const char *)order->old.value.data);
        snprintf(load->etag, sizeof(load->etag), "%.*s", (int)order->old.etag.len,
                 order->old.etag.len ? (const char *)order->old.etag.data : "");
    }
}

static void record_cancel(void *context, struct hgi_cache *cache, uint64_t load_id)
{
    struct engine *e = context;

    ck_assert_ptr_eq(cache, e->cache);
    for (size_t i = 0; i < e->load_count; i++) {
        if (e->loads[i].load_id == load_id) {
            e->loads[i].is_cancelled = true;
        }
    }
}

struct engine *engine_create(const struct hgi_policy *policy)
{
    return engine_create_with(policy, true);
}

static struct engine *create(const struct hgi_policy *policy, bool has_loader,
                             const struct hgi_digest_key *veil_master)
{
    struct hgi_policy own = policy ? *policy : engine_policy();
    struct engine *e = calloc(1, sizeof(*e));
    struct hgi_executor executor = {.start = record_start, .cancel = record_cancel, .context = e};
    struct hgi_cache_options options = {
        .name = "test",
        .policy = &own,
        .executor = has_loader ? &executor : NULL,
        .start_generation = START_GENERATION,
        .seed = 1,
        .veil_master = veil_master,
    };

    ck_assert_ptr_nonnull(e);
    hgi_test_allocator_init(&e->memory);
    hgi_bytes_init(&e->scratch, &hgi_heap);
    e->now.boot_ms = 1000000;
    e->now.wall_ms = 1700000000000;
    e->cache = hgi_cache_create(&e->memory.allocator, &options);
    ck_assert_ptr_nonnull(e->cache);
    return e;
}

enum hg_status engine_adapt(struct engine *e, const struct hgi_policy *policy, bool has_loader)
{
    const struct hgi_executor executor = {
        .start = record_start, .cancel = record_cancel, .context = e};
    struct hgi_terms *terms;
    enum hg_status status =
        hgi_cache_make_terms(e->cache, policy, has_loader ? &executor : NULL, &terms);

    if (status == HG_OK) {
        hgi_cache_adapt(e->cache, terms, &e->now);
    }
    return status;
}

struct engine *engine_create_with(const struct hgi_policy *policy, bool has_loader)
{
    return create(policy, has_loader, NULL);
}

struct engine *engine_create_veiled(const struct hgi_policy *policy)
{
    const struct hgi_digest_key master = {.bytes = "a key that only tests should use"};

    return create(policy, true, &master);
}

void engine_destroy(struct engine *e)
{
    hgi_cache_stop(e->cache, &e->now);
    for (size_t i = 0; i < e->load_count; i++) {
        if (!e->loads[i].is_ended) {
            engine_error(e, i, HG_CANCELLED, "stopped");
        }
    }
    for (size_t i = 0; i < e->call_count; i++) {
        ck_assert_msg(e->calls[i].answers == 1, "call %zu was answered %d times", i,
                      e->calls[i].answers);
    }
    hgi_cache_destroy(&e->cache);
    ck_assert_uint_eq(e->memory.out_count, 0);
    hgi_bytes_deinit(&e->scratch);
    free(e);
}

static void record_answer(struct hgi_call *call, const struct hgi_answer *answer)
{
    struct engine_call *c = HGI_CONTAINER(call, struct engine_call, call);

    c->answers++;
    c->status = answer->status;
    c->outcome = answer->outcome;
    c->source = answer->source;
    c->is_fenced = answer->is_fenced;
    c->generation = answer->generation;
    c->age_ms = answer->age_ms;
    c->ttl_left_ms = answer->ttl_left_ms;
    c->stale_left_ms = answer->stale_left_ms;
    c->retry_after_ms = answer->retry_after_ms;
    c->lease_id = answer->lease_id;
    c->lease_ttl_ms = answer->lease_ttl_ms;
    ck_assert_uint_lt(answer->value.len, sizeof(c->value));
    ck_assert_uint_lt(answer->message.len, sizeof(c->message));
    if (answer->value.len) {
        memcpy(c->value, answer->value.data, answer->value.len);
    }
    c->value[answer->value.len] = 0;
    if (answer->message.len) {
        memcpy(c->message, answer->message.data, answer->message.len);
    }
    c->message[answer->message.len] = 0;
}

void engine_send(struct engine *e, size_t load)
{
    e->loads[load].is_sent = true;
    hgi_cache_load_sent(e->cache, e->loads[load].load_id, ENGINE_PID, &e->now);
}

static void send_all(struct engine *e)
{
    for (size_t i = 0; i < e->load_count && !e->holds_sends; i++) {
        if (!e->loads[i].is_sent && !e->loads[i].is_ended) {
            engine_send(e, i);
        }
    }
}

static struct engine_call *call_new(struct engine *e, const char *key, enum hg_mode mode)
{
    struct engine_call *c = &e->calls[e->call_count++];

    ck_assert_uint_le(e->call_count, ENGINE_CALLS_MAX);
    snprintf(c->key, sizeof(c->key), "%s", key);
    c->is_made = true;
    c->call.key = hg_slice_text(c->key);
    c->call.mode = mode;
    c->call.max_age_ms = -1;
    c->call.done = record_answer;
    return c;
}

static struct engine_call *issue(struct engine *e, struct engine_call *c)
{
    hgi_cache_read(e->cache, &c->call, &e->scratch, &e->now);
    send_all(e);
    return c;
}

struct engine_call *engine_read_with(struct engine *e, const char *key, enum hg_mode mode,
                                     int64_t max_age_ms, int64_t timeout_ms)
{
    struct engine_call *c = call_new(e, key, mode);

    c->call.max_age_ms = max_age_ms;
    c->call.timeout_ms = timeout_ms;
    return issue(e, c);
}

struct engine_call *engine_read_key(struct engine *e, struct hg_slice key, enum hg_mode mode)
{
    struct engine_call *c = call_new(e, "", mode);

    ck_assert_uint_le(key.len, sizeof(c->key));
    memcpy(c->key, key.data, key.len);
    c->call.key = hg_slice_of(c->key, key.len);
    return issue(e, c);
}

/* As the service of the server does it. */
static struct engine_call *call_new_veiled(struct engine *e, struct hg_slice canonical,
                                           enum hg_mode mode)
{
    struct engine_call *c = call_new(e, "", mode);
    struct hgi_key veiled;

    hgi_veil_key(hgi_cache_veil(e->cache), canonical, &veiled);
    ck_assert_uint_le(veiled.len, sizeof(c->key));
    ck_assert_uint_le(canonical.len, sizeof(c->load_key));
    memcpy(c->key, veiled.data, veiled.len);
    memcpy(c->load_key, canonical.data, canonical.len);
    c->call.key = hg_slice_of(c->key, veiled.len);
    c->call.load_key = hg_slice_of(c->load_key, canonical.len);
    return c;
}

struct engine_call *engine_read_veiled(struct engine *e, struct hg_slice canonical,
                                       enum hg_mode mode)
{
    return issue(e, call_new_veiled(e, canonical, mode));
}

struct engine_call *engine_lead_veiled(struct engine *e, struct hg_slice canonical,
                                       enum hg_mode mode, uint64_t holder)
{
    struct engine_call *c = call_new_veiled(e, canonical, mode);

    c->call.lead = true;
    c->call.holder = holder;
    return issue(e, c);
}

struct engine_call *engine_lead(struct engine *e, const char *key, enum hg_mode mode,
                                uint64_t holder)
{
    struct engine_call *c = call_new(e, key, mode);

    c->call.lead = true;
    c->call.holder = holder;
    return issue(e, c);
}

enum hg_status engine_fulfil(struct engine *e, const struct hgi_fulfilment *fulfilment)
{
    char sentence[HGI_MESSAGE_MAX];
    struct hgi_fulfilled fulfilled;
    enum hg_status status = hgi_cache_fulfil(e->cache, fulfilment, &e->now, &fulfilled, sentence);

    send_all(e);
    return status;
}

enum hg_status engine_renew(struct engine *e, uint64_t lease_id)
{
    char sentence[HGI_MESSAGE_MAX];
    int64_t ttl_ms = 0;

    return hgi_cache_renew(e->cache, lease_id, 0, &e->now, &ttl_ms, sentence);
}

enum hg_status engine_release(struct engine *e, uint64_t lease_id)
{
    char sentence[HGI_MESSAGE_MAX];
    enum hg_status status = hgi_cache_release(e->cache, lease_id, 0, &e->now, sentence);

    send_all(e);
    return status;
}

struct engine_call *engine_read_from(struct engine *e, const char *key, uint64_t min_generation)
{
    struct engine_call *c = call_new(e, key, HG_MODE_FRESH);

    c->call.min_generation = min_generation;
    return issue(e, c);
}

struct engine_call *engine_read(struct engine *e, const char *key, enum hg_mode mode)
{
    return engine_read_with(e, key, mode, -1, 0);
}

struct engine_call *engine_get(struct engine *e, const char *key)
{
    return engine_read(e, key, HG_MODE_FRESH);
}

void engine_result(struct engine *e, size_t load, const struct hgi_result *result)
{
    ck_assert_uint_lt(load, e->load_count);
    ck_assert(!e->loads[load].is_ended);
    e->loads[load].is_ended = true;
    e->running_count--;
    hgi_cache_load_done(e->cache, e->loads[load].load_id, result, &e->now);
    send_all(e);
}

void engine_value(struct engine *e, size_t load, const char *value)
{
    struct hgi_result result = {
        .status = HG_OK,
        .outcome = HG_VALUE,
        .value = hg_slice_text(value),
    };

    engine_result(e, load, &result);
}

void engine_unchanged(struct engine *e, size_t load)
{
    struct hgi_result result = {.status = HG_OK, .outcome = HG_VALUE, .is_unchanged = true};

    engine_result(e, load, &result);
}

void engine_error(struct engine *e, size_t load, enum hg_status status, const char *message)
{
    struct hgi_result result = {.status = status, .message = hg_slice_text(message)};

    engine_result(e, load, &result);
}

void engine_lost(struct engine *e, size_t load)
{
    ck_assert(!e->loads[load].is_ended);
    e->loads[load].is_ended = true;
    e->running_count--;
    hgi_cache_load_lost(e->cache, e->loads[load].load_id, &e->now);
    send_all(e);
}

void engine_pass(struct engine *e, int64_t ms)
{
    e->now.boot_ms += ms;
    e->now.wall_ms += ms;
    hgi_cache_tick(e->cache, &e->now);
    send_all(e);
}

static enum hg_status put(struct engine *e, const struct hgi_put *what)
{
    struct hgi_entry entry;
    char sentence[HGI_MESSAGE_MAX];
    enum hg_status status = hgi_cache_put(e->cache, what, &e->now, &entry, sentence);

    send_all(e);
    return status;
}

enum hg_status engine_put(struct engine *e, const char *key, const char *value)
{
    struct hgi_put what = {
        .key = hg_slice_text(key), .outcome = HG_VALUE, .value = hg_slice_text(value)};

    return put(e, &what);
}

enum hg_status engine_put_negative(struct engine *e, const char *key, enum hg_outcome outcome)
{
    struct hgi_put what = {.key = hg_slice_text(key), .outcome = outcome};

    return put(e, &what);
}

enum hg_status engine_put_if(struct engine *e, const char *key, const char *value,
                             uint64_t generation)
{
    struct hgi_put what = {
        .key = hg_slice_text(key),
        .outcome = HG_VALUE,
        .value = hg_slice_text(value),
        .has_if_generation = true,
        .if_generation = generation,
    };

    return put(e, &what);
}

struct hgi_report engine_clear(struct engine *e)
{
    struct hgi_report report;

    hgi_cache_clear(e->cache, &e->now, &report);
    send_all(e);
    return report;
}

struct hgi_report engine_invalidate(struct engine *e, const char *key)
{
    struct hgi_report report;
    struct hg_slice slice = hg_slice_text(key);

    hgi_cache_invalidate(e->cache, &slice, 1, &e->now, &report);
    send_all(e);
    return report;
}

struct hgi_cache_stats engine_stats(struct engine *e)
{
    struct hgi_cache_stats stats;

    hgi_cache_stats(e->cache, &stats);
    return stats;
}

uint64_t engine_metric(struct engine *e, enum hgi_metric metric)
{
    return engine_stats(e).counters[metric];
}
