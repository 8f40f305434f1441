/* SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>
#include <stdio.h>

#include "base/check.h"
#include "clears.h"
#include "conn.h"
#include "dispatch.h"
#include "durable.h"
#include "journal.h"
#include "proto/codec.h"
#include "server/cache/policy.h"
#include "server/loader/supervisor.h"
#include "server/snapshotter.h"
#include "service.h"

/* ---- Clear ---- */

/* One clear of one or all caches: memory first, then each cache's record on disk; the last one
 * durable answers, or begins to wait for the loads. */
struct clear {
    struct hgi_rpc *rpc;
    bool waits;
    struct hgi_clear_wait wait;
    _Atomic size_t open_count;
    _Atomic bool has_failed;
    char sentence[HGI_SENTENCE_MAX]; /* of the first failure; written by the thread that set
                                        has_failed */
};

static void clear_is_durable(struct clear *clear)
{
    if (atomic_load(&clear->has_failed)) {
        hgi_service_finish_cleared(clear->rpc, HG_UNAVAILABLE, clear->sentence);
    } else if (clear->waits) {
        hgi_clears_wait(hgi_dispatch_clears(clear->rpc->dispatch), &clear->wait);
    } else {
        hgi_service_finish_cleared(clear->rpc, HG_OK, "");
    }
}

static void clear_stored(void *context, const struct hgi_saved *saved)
{
    struct clear *clear = context;

    if (saved->status != HG_OK && !atomic_exchange(&clear->has_failed, true)) {
        snprintf(clear->sentence, sizeof(clear->sentence), "%s", saved->sentence);
    }
    if (atomic_fetch_sub_explicit(&clear->open_count, 1, memory_order_acq_rel) == 1) {
        clear_is_durable(clear);
    }
}

static bool is_asked(const struct hgi_registered *registered, struct hg_slice name)
{
    return name.len == 0 || hgi_slice_equal(name, hg_slice_text(hgi_cache_name(registered->cache)));
}

/* Clears what is asked for, in memory. Reports and ret_cleared have room for all caches. */
static void clear_memory(struct hgi_rpc *rpc, struct hg_slice name,
                         struct hgi_msg_clear_reply *reply, struct hgi_cleared *ret_cleared)
{
    const struct hgi_services *services = hgi_dispatch_services(rpc->dispatch);
    size_t count = hgi_registry_count(services->registry);

    for (size_t i = 0; i < count; i++) {
        const struct hgi_registered *registered = hgi_registry_at(services->registry, i);
        struct hgi_report report;

        if (!is_asked(registered, name)) {
            continue;
        }
        hgi_cache_clear(registered->cache, &rpc->now, &report);
        hgi_service_tell(rpc, HG_EVENT_CLEAR, hgi_cache_name(registered->cache), report.generation,
                         NULL, 0);
        ret_cleared[reply->report_count] =
            (struct hgi_cleared){registered->cache, report.generation};
        reply->reports[reply->report_count++] = hgi_service_report(registered->cache, &report);
    }
}

void hgi_admin_service_clear(struct hgi_rpc *rpc)
{
    const struct hgi_services *services = hgi_dispatch_services(rpc->dispatch);
    size_t count = hgi_registry_count(services->registry);
    struct hgi_msg_clear_reply reply = {NULL, 0};
    const struct hgi_saved started = {.status = HG_OK, .sentence = ""};
    struct hgi_cleared *cleared;
    struct hgi_msg_clear message;
    struct clear *clear;
    enum hg_status status =
        hgi_clear_request_decode(rpc->request.payload, &rpc->arena, &message, rpc->sentence);

    if (status != HG_OK) {
        hgi_rpc_fail(rpc, status, rpc->sentence);
        return;
    }
    if (message.cache.len ? !hgi_service_find(rpc, message.cache)
                          : !hgi_service_may(rpc, message.cache)) {
        return;
    }
    clear = hgi_arena_alloc(&rpc->arena, sizeof(*clear));
    reply.reports = hgi_arena_alloc(&rpc->arena, count * sizeof(*reply.reports));
    cleared = hgi_arena_alloc(&rpc->arena, count * sizeof(*cleared));
    if (!clear || !reply.reports || !cleared) {
        hgi_rpc_fail(rpc, HG_RESOURCE_EXHAUSTED, "no memory for the reply; nothing was cleared");
        return;
    }
    clear->rpc = rpc;
    clear->waits = message.waits;
    atomic_init(&clear->open_count, 1);
    clear_memory(rpc, message.cache, &reply, cleared);
    clear->wait.rpc = rpc;
    clear->wait.cleared = cleared;
    clear->wait.cleared_count = reply.report_count;
    if (!hgi_clear_reply_encode(&reply, &rpc->payload)) {
        rpc->payload.len = 0; /* cleared all the same: the reply says so without the numbers */
    }
    hgi_rpc_bound(rpc, HGI_SERVICE_CLEARED_LATE);
    for (size_t i = 0; i < reply.report_count; i++) {
        atomic_fetch_add_explicit(&clear->open_count, 1, memory_order_relaxed);
        hgi_durable_clear(services->snapshotter, cleared[i].cache, cleared[i].generation,
                          clear_stored, clear);
    }
    clear_stored(clear, &started);
}

/* ---- ListCaches, Stats ---- */

#define PERCENT_MAX 16u

/* As the configuration writes it; `ret_text` takes a percentage. */
static struct hg_slice refresh_ahead_text(const struct hgi_policy *policy,
                                          char ret_text[PERCENT_MAX])
{
    if (policy->refresh_ahead_is_random) {
        return hg_slice_text("xfetch");
    }
    if (!policy->refresh_ahead_percent) {
        return hg_slice_text("off");
    }
    snprintf(ret_text, PERCENT_MAX, "%u%%", policy->refresh_ahead_percent);
    return hg_slice_text(ret_text);
}

static struct hgi_msg_cache_info cache_info(const struct hgi_registered *registered,
                                            char ret_text[PERCENT_MAX])
{
    const struct hgi_policy *policy = hgi_cache_policy(registered->cache);
    struct hgi_cache_stats stats;

    hgi_cache_stats(registered->cache, &stats);
    return (struct hgi_msg_cache_info){
        .name = hg_slice_text(hgi_cache_name(registered->cache)),
        .key_type = hg_slice_text(hgi_key_type_name(registered->key_type)),
        .value_type = hg_slice_text(hgi_value_type_name(registered->value_type)),
        .loader = hg_slice_text(registered->loader),
        .mode = policy->mode,
        .ttl_ms = (uint64_t)policy->ttl_ms,
        .stale_ttl_ms = (uint64_t)policy->stale_ttl_ms,
        .negative_ttl_ms = (uint64_t)policy->negative_ttl_ms,
        .max_entries = policy->max_entries,
        .max_bytes = policy->max_bytes,
        .entries = stats.entries,
        .bytes = stats.bytes,
        .generation = stats.generation,
        .on_error = hg_slice_text(hgi_on_error_name(policy->on_error)),
        .jitter_percent = policy->jitter_percent,
        .stale_if_error_ms = (uint64_t)policy->stale_if_error_ms,
        .error_backoff_ms = (uint64_t)policy->error_backoff_ms,
        .refresh_ahead = refresh_ahead_text(policy, ret_text),
        .is_alone = policy->alone,
    };
}

void hgi_admin_service_list_caches(struct hgi_rpc *rpc)
{
    const struct hgi_services *services = hgi_dispatch_services(rpc->dispatch);
    size_t count = hgi_registry_count(services->registry);
    struct hgi_msg_caches reply = {hgi_alloc(&hgi_heap, count * sizeof(*reply.caches)), count};
    char(*texts)[PERCENT_MAX] = hgi_alloc(&hgi_heap, count * sizeof(*texts));
    bool is_encoded = false;

    for (size_t i = 0; reply.caches && texts && i < count; i++) {
        reply.caches[i] = cache_info(hgi_registry_at(services->registry, i), texts[i]);
    }
    if (reply.caches && texts) {
        is_encoded = hgi_list_caches_reply_encode(&reply, &rpc->payload);
    }
    hgi_free(&hgi_heap, reply.caches);
    hgi_free(&hgi_heap, texts);
    hgi_rpc_succeed(rpc, is_encoded);
}

#define GAUGES 11u

static struct hgi_msg_counter counter_of(const char *name, uint64_t value)
{
    struct hgi_msg_counter counter = {hg_slice_text(name), value};

    return counter;
}

/* Rounded up: something that took time is not 0. */
static uint64_t quantile_ms(const struct hgi_histogram_counts *counts, double share)
{
    double quantile = hgi_histogram_quantile_ms(counts, share);
    uint64_t whole = (uint64_t)quantile;

    return whole + ((double)whole < quantile);
}

/* HGI_METRIC_COUNT + GAUGES counters of one cache. */
static void fill_counters(struct hgi_cache *cache, struct hgi_msg_counter *ret_counters)
{
    struct hgi_cache_stats stats;
    struct hgi_msg_counter *next = ret_counters + HGI_METRIC_COUNT;

    hgi_cache_stats(cache, &stats);
    for (size_t i = 0; i < HGI_METRIC_COUNT; i++) {
        ret_counters[i] = counter_of(hgi_metric_name((enum hgi_metric)i), stats.counters[i]);
    }
    *next++ = counter_of("in_flight", stats.in_flight);
    *next++ = counter_of("queued", stats.queued);
    *next++ = counter_of("waiting", stats.waiting);
    *next++ = counter_of("entries", stats.entries);
    *next++ = counter_of("negatives", stats.negatives);
    *next++ = counter_of("bytes", stats.bytes);
    *next++ = counter_of("generation", stats.generation);
    *next++ = counter_of("load_p50_ms", quantile_ms(&stats.load_time, 0.5));
    *next++ = counter_of("load_p99_ms", quantile_ms(&stats.load_time, 0.99));
    *next++ = counter_of("age_p50_ms", quantile_ms(&stats.age, 0.5));
    *next++ = counter_of("age_p99_ms", quantile_ms(&stats.age, 0.99));
    HGI_BUG_ON(next != ret_counters + HGI_METRIC_COUNT + GAUGES);
}

#define SERVER_COUNTERS_MAX 24u

static size_t fill_server(const struct hgi_rpc *rpc, struct hgi_msg_counter *ret_counters)
{
    const struct hgi_services *services = hgi_dispatch_services(rpc->dispatch);
    struct hgi_journal *journal = hgi_dispatch_journal(rpc->dispatch);
    struct hgi_transport_metrics *transport = services->transport;
    struct hgi_msg_counter *next = ret_counters;

    *next++ = counter_of("uptime_ms", (uint64_t)(rpc->now.boot_ms - services->started_ms));
    *next++ = counter_of("connections", atomic_load(&transport->connections));
    *next++ = counter_of("connections_open", atomic_load(&transport->connections_open));
    *next++ = counter_of("connections_refused", atomic_load(&transport->connections_refused));
    *next++ = counter_of("requests", atomic_load(&transport->requests));
    *next++ = counter_of("replies", atomic_load(&transport->replies));
    *next++ = counter_of("duplicates", atomic_load(&transport->duplicates));
    *next++ = counter_of("bad_peers", atomic_load(&transport->bad_peers));
    *next++ = counter_of("timeouts", atomic_load(&transport->timeouts));
    *next++ = counter_of("events", hgi_journal_last(journal));
    *next++ = counter_of("watchers", hgi_journal_watching(journal));
    if (services->snapshotter) {
        struct hgi_snapshotter_stats stats;

        hgi_snapshotter_stats(services->snapshotter, &stats);
        *next++ = counter_of("snapshot_saves", stats.saves);
        *next++ = counter_of("snapshot_errors", stats.save_errors);
        *next++ = counter_of("snapshot_rows", stats.rows);
        *next++ = counter_of("snapshot_degraded", stats.is_degraded);
    }
    HGI_BUG_ON((size_t)(next - ret_counters) > SERVER_COUNTERS_MAX);
    return (size_t)(next - ret_counters);
}

void hgi_admin_service_stats(struct hgi_rpc *rpc)
{
    const struct hgi_services *services = hgi_dispatch_services(rpc->dispatch);
    size_t count = hgi_registry_count(services->registry);
    struct hgi_msg_counter server[SERVER_COUNTERS_MAX];
    struct hgi_msg_stats reply = {.server = server};
    struct hgi_msg_counter *counters = NULL;
    struct hgi_msg_name message;
    bool is_encoded = false;
    enum hg_status status =
        hgi_stats_request_decode(rpc->request.payload, &rpc->arena, &message, rpc->sentence);

    if (status != HG_OK) {
        hgi_rpc_fail(rpc, status, rpc->sentence);
        return;
    }
    if (message.name.len ? !hgi_service_find(rpc, message.name)
                         : !hgi_service_may(rpc, message.name)) {
        return;
    }
    reply.caches = hgi_alloc(&hgi_heap, count * sizeof(*reply.caches));
    counters = hgi_alloc(&hgi_heap, count * (HGI_METRIC_COUNT + GAUGES) * sizeof(*counters));
    for (size_t i = 0; reply.caches && counters && i < count; i++) {
        const struct hgi_registered *registered = hgi_registry_at(services->registry, i);
        struct hgi_msg_cache_stats *row = &reply.caches[reply.cache_count];

        if (!is_asked(registered, message.name)) {
            continue;
        }
        row->cache = hg_slice_text(hgi_cache_name(registered->cache));
        row->counters = counters + reply.cache_count * (HGI_METRIC_COUNT + GAUGES);
        row->counter_count = HGI_METRIC_COUNT + GAUGES;
        fill_counters(registered->cache, row->counters);
        reply.cache_count++;
    }
    if (reply.caches && counters) {
        reply.server_count = fill_server(rpc, server);
        is_encoded = hgi_stats_reply_encode(&reply, &rpc->payload);
    }
    hgi_free(&hgi_heap, counters);
    hgi_free(&hgi_heap, reply.caches);
    hgi_rpc_succeed(rpc, is_encoded);
}

/* ---- loaders ---- */

static struct hgi_msg_loader_info loader_info(const struct hgi_loader_state *state)
{
    struct hgi_msg_loader_info info = {
        .name = hg_slice_text(state->name),
        .plugin = hg_slice_text(state->plugin),
        .version = hg_slice_text(state->version),
        .state = hg_slice_text(state->state),
        .abi = state->abi,
        .pid = state->pid,
        .started_count = state->started_count,
        .deaths = state->deaths,
        .in_flight = state->in_flight,
        .queued = state->queued,
        .message = hg_slice_text(state->message),
    };

    return info;
}

void hgi_admin_service_list_loaders(struct hgi_rpc *rpc)
{
    struct hgi_supervisor *supervisor = hgi_dispatch_services(rpc->dispatch)->supervisor;
    size_t count = supervisor ? hgi_supervisor_count(supervisor) : 0;
    struct hgi_loader_state *states = hgi_alloc(&hgi_heap, count * sizeof(*states));
    struct hgi_msg_loaders reply = {hgi_alloc(&hgi_heap, count * sizeof(*reply.loaders)), count};
    bool is_encoded = false;

    if (states && reply.loaders) {
        for (size_t i = 0; i < count; i++) {
            hgi_supervisor_state(supervisor, i, &states[i]);
            reply.loaders[i] = loader_info(&states[i]);
        }
        is_encoded = hgi_list_loaders_reply_encode(&reply, &rpc->payload);
    }
    hgi_free(&hgi_heap, reply.loaders);
    hgi_free(&hgi_heap, states);
    hgi_rpc_succeed(rpc, is_encoded);
}

static void loader_reloaded(void *context, enum hg_status status, const char *sentence,
                            const struct hgi_loader_state *state)
{
    struct hgi_rpc *rpc = context;
    struct hgi_msg_loader_info info;
    struct hg_slice name;

    if (status != HG_OK) {
        hgi_rpc_fail(rpc, status, sentence);
        return;
    }
    name = hg_slice_text(state->name);
    hgi_service_tell(rpc, HG_EVENT_LOADER, "", 0, &name, 1);
    info = loader_info(state);
    hgi_rpc_succeed(rpc, hgi_loader_info_encode(&info, &rpc->payload));
}

void hgi_admin_service_reload_loader(struct hgi_rpc *rpc)
{
    struct hgi_supervisor *supervisor = hgi_dispatch_services(rpc->dispatch)->supervisor;
    struct hgi_msg_name message;
    enum hg_status status = hgi_reload_loader_request_decode(rpc->request.payload, &rpc->arena,
                                                             &message, rpc->sentence);

    if (status != HG_OK) {
        hgi_rpc_fail(rpc, status, rpc->sentence);
    } else if (!supervisor) {
        hgi_rpc_fail(rpc, HG_NOT_FOUND, "this server has no loaders");
    } else {
        hgi_rpc_bound(rpc, "the new process was not ready when the call's time was up; its start "
                           "goes on");
        hgi_supervisor_reload(supervisor, message.name, loader_reloaded, rpc);
    }
}
