/* SPDX-License-Identifier: Apache-2.0 */
/* What an operator's page shows, as JSON: each cache's counters and last quarter of an hour, the
 * loaders, the last events. No key, no value and no plugin's own words: it is for whoever reaches
 * the listener, as /metrics is. */
#include "base/check.h"
#include "history.h"
#include "http.h"
#include "json.h"
#include "operator.h"
#include "server/loader/supervisor.h"
#include "server/rpc/conn.h"
#include "server/rpc/dispatch.h"
#include "server/rpc/journal.h"
#include "server/snapshotter.h"

#define EVENTS_MAX 50u

static json_t *number(uint64_t value)
{
    return json_integer((json_int_t)value);
}

static json_t *quantiles(const struct hgi_histogram_counts *counts)
{
    return json_pack("{s:f,s:f,s:o}", "p50", hgi_histogram_quantile_ms(counts, 0.5), "p99",
                     hgi_histogram_quantile_ms(counts, 0.99), "count",
                     number(hgi_histogram_total(counts)));
}

static json_t *step_json(const struct hgi_http_step *step)
{
    return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:f,s:f}", "hits",
                     number(step->hits), "stale", number(step->stale), "negative",
                     number(step->negative), "misses", number(step->misses), "loads",
                     number(step->loads), "load_errors", number(step->load_errors), "joined",
                     number(step->joined), "in_flight", number(step->in_flight), "entries",
                     number(step->entries), "bytes", number(step->bytes), "load_p50_ms",
                     step->load_p50_ms, "load_p99_ms", step->load_p99_ms);
}

static json_t *history_json(struct hgi_http_history *history, size_t cache,
                            const struct hgi_histogram_counts *load_time)
{
    struct hgi_histogram_counts loads;
    struct hgi_http_step steps[HGI_HTTP_STEPS];
    int64_t end_ms;
    size_t count = hgi_http_history_copy(history, cache, steps, &end_ms);
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++) {
        (void)json_array_append_new(list, step_json(&steps[i]));
    }
    hgi_http_history_loads(history, cache, load_time, &loads);
    return json_pack("{s:i,s:I,s:o,s:o}", "step_ms", HGI_HTTP_STEP_MS, "end_ms", (json_int_t)end_ms,
                     "load_ms", quantiles(&loads), "steps", list);
}

static json_t *counters_json(const struct hgi_cache_stats *stats)
{
    json_t *counters = json_object();

    for (size_t i = 0; i < HGI_METRIC_COUNT; i++) {
        (void)json_object_set_new(counters, hgi_metric_name((enum hgi_metric)i),
                                  number(stats->counters[i]));
    }
    return counters;
}

static json_t *cache_json(const struct hgi_http *http, const struct hgi_registered *registered,
                          size_t index)
{
    const struct hgi_policy *policy = hgi_cache_policy(registered->cache);
    struct hgi_cache_stats stats;

    hgi_cache_stats(registered->cache, &stats);
    return json_pack(
        "{s:s,s:s,s:s,s:s*,s:s,s:I,s:I,s:I,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}",
        "name", hgi_cache_name(registered->cache), "key_type",
        hgi_key_type_name(registered->key_type), "value_type",
        hgi_value_type_name(registered->value_type), "loader", registered->loader, "mode",
        hgi_mode_name(policy->mode), "ttl_ms", (json_int_t)policy->ttl_ms, "stale_ttl_ms",
        (json_int_t)policy->stale_ttl_ms, "negative_ttl_ms", (json_int_t)policy->negative_ttl_ms,
        "entries", number(stats.entries), "entries_max", number(policy->max_entries), "negatives",
        number(stats.negatives), "bytes", number(stats.bytes), "bytes_max",
        number(policy->max_bytes), "generation", number(stats.generation), "in_flight",
        number(stats.in_flight), "queued", number(stats.queued), "waiting", number(stats.waiting),
        "load_ms", quantiles(&stats.load_time), "age_ms", quantiles(&stats.age), "counters",
        counters_json(&stats), "history",
        history_json(hgi_http_history(http), index, &stats.load_time));
}

static json_t *caches_json(const struct hgi_http *http, const struct hgi_services *services)
{
    json_t *list = json_array();

    for (size_t i = 0; i < hgi_registry_count(services->registry); i++) {
        (void)json_array_append_new(list,
                                    cache_json(http, hgi_registry_at(services->registry, i), i));
    }
    return list;
}

static json_t *loaders_json(struct hgi_supervisor *supervisor)
{
    size_t count = supervisor ? hgi_supervisor_count(supervisor) : 0;
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++) {
        struct hgi_loader_state state;

        hgi_supervisor_state(supervisor, i, &state);
        (void)json_array_append_new(
            list, json_pack("{s:s,s:s,s:s,s:I,s:o,s:o,s:o,s:o}", "name", state.name, "state",
                            state.state, "version", state.version, "pid", (json_int_t)state.pid,
                            "started", number(state.started_count), "deaths", number(state.deaths),
                            "in_flight", number(state.in_flight), "queued", number(state.queued)));
    }
    return list;
}

static const char *kind_name(enum hg_event_kind kind)
{
    switch (kind) {
    case HG_EVENT_CLEAR:
        return "clear";
    case HG_EVENT_INVALIDATE:
        return "invalidate";
    case HG_EVENT_PUT:
        return "put";
    case HG_EVENT_LOADER:
        return "loader";
    case HG_EVENT_OTHER:
        break;
    }
    return "other";
}

/* The newest last. Keys stay here: they may be credentials. */
static json_t *events_json(struct hgi_http_exchange *exchange)
{
    struct hgi_dispatch *dispatch = hgi_http_dispatch(exchange->http);
    struct hgi_journal *journal = hgi_dispatch_journal(dispatch);
    uint64_t last = hgi_journal_last(journal);
    struct hgi_journal_page page;
    json_t *list = json_array();

    if (!hgi_journal_read(journal, last > EVENTS_MAX ? last - EVENTS_MAX : 0, EVENTS_MAX,
                          hgi_dispatch_services(dispatch)->limits->message_max_bytes,
                          &exchange->arena, &page)) {
        return list;
    }
    for (size_t i = 0; i < page.count; i++) {
        const struct hgi_event *event = &page.events[i];
        bool is_loader = event->change.kind == HG_EVENT_LOADER;

        (void)json_array_append_new(
            list, json_pack("{s:o,s:I,s:s,s:s%,s:o,s:b}", "number", number(event->number), "at_ms",
                            (json_int_t)event->at_ms, "kind", kind_name(event->change.kind), "name",
                            is_loader ? (const char *)event->key.data : event->change.name,
                            is_loader ? event->key.len : strlen(event->change.name), "generation",
                            number(event->change.generation), "one_key",
                            !is_loader && event->key.len > 0));
    }
    return list;
}

static json_t *snapshot_json(struct hgi_snapshotter *snapshotter)
{
    struct hgi_snapshotter_stats stats;

    if (!snapshotter) {
        return json_null();
    }
    hgi_snapshotter_stats(snapshotter, &stats);
    return json_pack("{s:b,s:o,s:o,s:o}", "degraded", stats.is_degraded, "saves",
                     number(stats.saves), "errors", number(stats.save_errors), "rows",
                     number(stats.rows));
}

void hgi_http_status(struct hgi_http_exchange *exchange)
{
    struct hgi_dispatch *dispatch = hgi_http_dispatch(exchange->http);
    const struct hgi_services *services = hgi_dispatch_services(dispatch);
    json_t *status = json_pack(
        "{s:s,s:s,s:I,s:I,s:{s:o,s:o,s:o},s:o,s:o,s:o,s:o}", "version",
        hgi_http_version(exchange->http), "state",
        hgi_dispatch_is_draining(dispatch) ? "stopping"
        : hgi_dispatch_is_ready(dispatch)  ? "serving"
                                           : "draining",
        "now_ms", (json_int_t)exchange->now.wall_ms, "uptime_ms",
        (json_int_t)(exchange->now.boot_ms - services->started_ms), "server", "connections_open",
        number(atomic_load(&services->transport->connections_open)), "requests",
        number(atomic_load(&services->transport->requests)), "watchers",
        number(hgi_journal_watching(hgi_dispatch_journal(dispatch))), "caches",
        caches_json(exchange->http, services), "loaders", loaders_json(services->supervisor),
        "events", events_json(exchange), "snapshot", snapshot_json(services->snapshotter));
    struct hg_bytes text;

    hgi_bytes_init(&text, &hgi_heap);
    if (status && hgi_json_write(status, &text)) {
        hgi_http_response_body(&exchange->response, 200, "application/json",
                               hgi_bytes_slice(&text));
        hgi_http_response_say(&exchange->response, "Cache-Control", "no-store");
    } else {
        hgi_http_refuse(exchange, 500, "RESOURCE_EXHAUSTED", "no memory for the answer");
    }
    hgi_bytes_deinit(&text);
    json_decref(status);
}
