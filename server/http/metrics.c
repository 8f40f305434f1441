/* SPDX-License-Identifier: Apache-2.0 */
/* Everything there is to count, as Prometheus reads it (text format 0.0.4). Names begin with
 * herdgate_, units are seconds and bytes; labels are names from the configuration, never keys. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/check.h"
#include "base/process.h"
#include "herdgate/loader.h"
#include "http.h"
#include "listener.h"
#include "operator.h"
#include "server/loader/supervisor.h"
#include "server/rpc/conn.h"
#include "server/rpc/dispatch.h"
#include "server/rpc/journal.h"
#include "server/snapshotter.h"

#define LINE_MAX 512

/* Counters of a cache: rows of one family stand together. */
static const struct row {
    const char *family;
    const char *label; /* beside cache; "": none */
    enum hgi_metric metric;
    const char *help; /* of the family's first row */
} rows[] = {
    {"herdgate_requests_total", "result=\"hit\"", HGI_METRIC_hit, "Reads by what they found."},
    {"herdgate_requests_total", "result=\"local_hit\"", HGI_METRIC_local_hit, NULL},
    {"herdgate_requests_total", "result=\"stale\"", HGI_METRIC_stale_hit, NULL},
    {"herdgate_requests_total", "result=\"negative\"", HGI_METRIC_negative_hit, NULL},
    {"herdgate_requests_total", "result=\"miss\"", HGI_METRIC_miss, NULL},
    {"herdgate_requests_total", "result=\"error\"", HGI_METRIC_failure_hit, NULL},
    {"herdgate_requests_refused_total", "", HGI_METRIC_refused,
     "Reads refused because too many loads or waiters were queued."},
    {"herdgate_stale_if_error_total", "", HGI_METRIC_kept_hit,
     "Reads answered with an old value because their load failed, or had just failed."},
    {"herdgate_loads_total", "", HGI_METRIC_load, "Loads begun, refreshes among them."},
    {"herdgate_load_errors_total", "", HGI_METRIC_load_error,
     "Loads that ended in an error, a time out or a lost loader."},
    {"herdgate_loads_lost_total", "", HGI_METRIC_lost, "Loads whose loader process died."},
    {"herdgate_loads_late_total", "", HGI_METRIC_late,
     "Load results that came after their load had been given up."},
    {"herdgate_refreshes_total", "", HGI_METRIC_refresh, "Background refreshes begun."},
    {"herdgate_revalidations_total", "outcome=\"unchanged\"", HGI_METRIC_unchanged,
     "Loads that confirmed the cached value, and those that something had overtaken."},
    {"herdgate_revalidations_total", "outcome=\"unconfirmed\"", HGI_METRIC_unconfirmed, NULL},
    {"herdgate_leases_total", "event=\"given\"", HGI_METRIC_lease,
     "Leases to callers that load themselves."},
    {"herdgate_leases_total", "event=\"handed_on\"", HGI_METRIC_lease_handed_on, NULL},
    {"herdgate_flight_joined_total", "", HGI_METRIC_coalesced,
     "Reads answered by a load or put of another caller."},
    {"herdgate_flight_waits_total", "", HGI_METRIC_follower_wait,
     "Times a read waited for the load of another caller."},
    {"herdgate_flight_fallthrough_total", "reason=\"leader\"", HGI_METRIC_fallthrough_leader,
     "Waiting reads that the load they waited for did not answer."},
    {"herdgate_flight_fallthrough_total", "reason=\"budget\"", HGI_METRIC_fallthrough_budget, NULL},
    {"herdgate_insert_rejected_total", "reason=\"generation\"", HGI_METRIC_fenced,
     "Loads that were not stored."},
    {"herdgate_insert_rejected_total", "reason=\"superseded\"", HGI_METRIC_superseded, NULL},
    {"herdgate_insert_rejected_total", "reason=\"room\"", HGI_METRIC_not_stored, NULL},
    {"herdgate_puts_total", "outcome=\"stored\"", HGI_METRIC_put, "Values put by callers."},
    {"herdgate_puts_total", "outcome=\"conflict\"", HGI_METRIC_put_conflict, NULL},
    {"herdgate_invalidations_total", "scope=\"key\"", HGI_METRIC_invalidate,
     "Keys, tags and first parts invalidated, and clears of the whole cache."},
    {"herdgate_invalidations_total", "scope=\"cache\"", HGI_METRIC_clear, NULL},
    {"herdgate_evictions_total", "reason=\"size\"", HGI_METRIC_evicted,
     "Entries dropped, and why."},
    {"herdgate_evictions_total", "reason=\"expired\"", HGI_METRIC_expired, NULL},
};
_Static_assert(sizeof(rows) / sizeof(rows[0]) == HGI_METRIC_COUNT, "metrics.def: each once");

struct page {
    struct hg_bytes text;
    bool has_memory;
};

static void add(struct page *page, const char *format, ...) HG_PRINTF(2, 3);

static void add(struct page *page, const char *format, ...)
{
    char line[LINE_MAX];
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    page->has_memory = page->has_memory && hgi_bytes_append(&page->text, hg_slice_text(line));
}

static void add_head(struct page *page, const char *family, const char *type, const char *help)
{
    add(page, "# HELP %s %s\n# TYPE %s %s\n", family, help, family, type);
}

static void add_one(struct page *page, const char *family, const char *type, const char *help,
                    uint64_t value)
{
    add_head(page, family, type, help);
    add(page, "%s %" PRIu64 "\n", family, value);
}

/* ---- caches ---- */

struct seen {
    const struct hgi_registered *registered;
    struct hgi_cache_stats stats;
};

static void add_counters(struct page *page, const struct seen *seen, size_t count)
{
    for (size_t r = 0; r < HGI_COUNT_OF(rows); r++) {
        if (rows[r].help) {
            add_head(page, rows[r].family, "counter", rows[r].help);
        }
        for (size_t i = 0; i < count; i++) {
            add(page, "%s{cache=\"%s\"%s%s} %" PRIu64 "\n", rows[r].family,
                hgi_cache_name(seen[i].registered->cache), *rows[r].label ? "," : "", rows[r].label,
                seen[i].stats.counters[rows[r].metric]);
        }
    }
}

static void add_gauges(struct page *page, const struct seen *seen, size_t count)
{
    static const struct {
        const char *family;
        const char *help;
        size_t offset;
    } gauges[] = {
        {"herdgate_loads_inflight", "Loads outstanding, and leases.",
         offsetof(struct hgi_cache_stats, in_flight)},
        {"herdgate_loads_queued", "Loads that wait for a place in max_loads.",
         offsetof(struct hgi_cache_stats, queued)},
        {"herdgate_requests_waiting", "Reads that wait for a load.",
         offsetof(struct hgi_cache_stats, waiting)},
        {"herdgate_entries", "Entries kept, those that say absent or denied among them.",
         offsetof(struct hgi_cache_stats, entries)},
        {"herdgate_negative_entries", "Entries that say absent or denied.",
         offsetof(struct hgi_cache_stats, negatives)},
        {"herdgate_bytes", "Memory that entries take.", offsetof(struct hgi_cache_stats, bytes)},
    };

    for (size_t g = 0; g < HGI_COUNT_OF(gauges); g++) {
        add_head(page, gauges[g].family, "gauge", gauges[g].help);
        for (size_t i = 0; i < count; i++) {
            uint64_t value;

            memcpy(&value, (const unsigned char *)&seen[i].stats + gauges[g].offset, sizeof(value));
            add(page, "%s{cache=\"%s\"} %" PRIu64 "\n", gauges[g].family,
                hgi_cache_name(seen[i].registered->cache), value);
        }
    }
    add_head(page, "herdgate_entries_max", "gauge", "Entries that may be kept.");
    for (size_t i = 0; i < count; i++) {
        add(page, "herdgate_entries_max{cache=\"%s\"} %zu\n",
            hgi_cache_name(seen[i].registered->cache),
            hgi_cache_policy(seen[i].registered->cache)->max_entries);
    }
    add_head(page, "herdgate_bytes_max", "gauge", "Memory that entries may take.");
    for (size_t i = 0; i < count; i++) {
        add(page, "herdgate_bytes_max{cache=\"%s\"} %zu\n",
            hgi_cache_name(seen[i].registered->cache),
            hgi_cache_policy(seen[i].registered->cache)->max_bytes);
    }
}

static void add_histogram(struct page *page, const char *family, const struct seen *seen,
                          const struct hgi_histogram_counts *counts)
{
    const char *name = hgi_cache_name(seen->registered->cache);
    const char *named = seen->registered->loader; /* a reload may name another meanwhile */
    const char *loader = named ? named : "";
    uint64_t sum = 0;

    for (size_t i = 0; i < HGI_HISTOGRAM_BOUNDS; i++) {
        sum += counts->counts[i];
        add(page, "%s_bucket{cache=\"%s\",loader=\"%s\",le=\"%g\"} %" PRIu64 "\n", family, name,
            loader, (double)hgi_histogram_bound_ms(i) / 1000, sum);
    }
    sum += counts->counts[HGI_HISTOGRAM_BOUNDS];
    add(page, "%s_bucket{cache=\"%s\",loader=\"%s\",le=\"+Inf\"} %" PRIu64 "\n", family, name,
        loader, sum);
    add(page, "%s_sum{cache=\"%s\",loader=\"%s\"} %.3f\n", family, name, loader,
        (double)counts->sum_ms / 1000);
    add(page, "%s_count{cache=\"%s\",loader=\"%s\"} %" PRIu64 "\n", family, name, loader, sum);
}

static void add_caches(struct page *page, const struct hgi_services *services)
{
    size_t count = hgi_registry_count(services->registry);
    struct seen *seen = hgi_alloc(&hgi_heap, count * sizeof(*seen));

    page->has_memory = page->has_memory && seen;
    for (size_t i = 0; seen && i < count; i++) {
        seen[i].registered = hgi_registry_at(services->registry, i);
        hgi_cache_stats(seen[i].registered->cache, &seen[i].stats);
    }
    if (seen) {
        add_counters(page, seen, count);
        add_gauges(page, seen, count);
        add_head(page, "herdgate_load_duration_seconds", "histogram",
                 "Time of loads, from when they were sent to their loader, however they ended.");
        for (size_t i = 0; i < count; i++) {
            add_histogram(page, "herdgate_load_duration_seconds", &seen[i],
                          &seen[i].stats.load_time);
        }
        add_head(page, "herdgate_age_at_serve_seconds", "histogram",
                 "Age of what was answered from the cache.");
        for (size_t i = 0; i < count; i++) {
            add_histogram(page, "herdgate_age_at_serve_seconds", &seen[i], &seen[i].stats.age);
        }
    }
    hgi_free(&hgi_heap, seen);
}

/* ---- the rest ---- */

static void add_loaders(struct page *page, struct hgi_supervisor *supervisor)
{
    size_t count = supervisor ? hgi_supervisor_count(supervisor) : 0;
    struct hgi_loader_state *states = hgi_alloc(&hgi_heap, count * sizeof(*states));

    if (!count || !states) {
        page->has_memory = page->has_memory && (states || !count);
        hgi_free(&hgi_heap, states);
        return;
    }
    add_head(page, "herdgate_loader_up", "gauge", "1: the process of the loader runs and is well.");
    for (size_t i = 0; i < count; i++) {
        hgi_supervisor_state(supervisor, i, &states[i]);
        add(page, "herdgate_loader_up{loader=\"%s\"} %d\n", states[i].name,
            strcmp(states[i].state, "running") == 0);
    }
    add_head(page, "herdgate_loader_deaths_total", "counter", "Processes of the loader that died.");
    for (size_t i = 0; i < count; i++) {
        add(page, "herdgate_loader_deaths_total{loader=\"%s\"} %" PRIu64 "\n", states[i].name,
            states[i].deaths);
    }
    add_head(page, "herdgate_loader_inflight", "gauge", "Loads that the loader has.");
    for (size_t i = 0; i < count; i++) {
        add(page, "herdgate_loader_inflight{loader=\"%s\"} %" PRIu64 "\n", states[i].name,
            states[i].in_flight);
    }
    hgi_free(&hgi_heap, states);
}

static void add_snapshot(struct page *page, struct hgi_snapshotter *snapshotter)
{
    struct hgi_snapshotter_stats stats;

    if (!snapshotter) {
        return;
    }
    hgi_snapshotter_stats(snapshotter, &stats);
    add_one(page, "herdgate_snapshot_saves_total", "counter", "Rounds written to the snapshot.",
            stats.saves);
    add_one(page, "herdgate_snapshot_errors_total", "counter", "Rounds that failed.",
            stats.save_errors);
    add_one(page, "herdgate_snapshot_rows_total", "counter", "Entries written.", stats.rows);
    add_one(page, "herdgate_snapshot_degraded", "gauge", "1: the disk is behind.",
            stats.is_degraded);
}

static void add_http(struct page *page, const struct hgi_http *http)
{
    add_head(page, "herdgate_http_responses_total", "counter", "Responses over HTTP.");
    for (size_t i = 0; i < hgi_http_count(http); i++) {
        const struct hgi_http_listener *listener = hgi_http_listener_at(http, i);
        struct hgi_http_listener_counts counts;

        hgi_http_listener_count(listener, &counts);
        for (size_t n = 0; n < counts.response_count; n++) {
            char code[16] = "other";

            if (counts.responses[n].status) {
                snprintf(code, sizeof(code), "%u", counts.responses[n].status);
            }
            add(page, "herdgate_http_responses_total{listener=\"%s\",code=\"%s\"} %" PRIu64 "\n",
                hgi_http_url(http, i), code, counts.responses[n].count);
        }
    }
    add_head(page, "herdgate_http_timeouts_total", "counter",
             "Connections over HTTP closed because something took too long.");
    for (size_t i = 0; i < hgi_http_count(http); i++) {
        struct hgi_http_listener_counts counts;

        hgi_http_listener_count(hgi_http_listener_at(http, i), &counts);
        add(page, "herdgate_http_timeouts_total{listener=\"%s\"} %" PRIu64 "\n",
            hgi_http_url(http, i), counts.timeouts);
    }
    add_head(page, "herdgate_http_inflight", "gauge", "Requests over HTTP under way.");
    for (size_t i = 0; i < hgi_http_count(http); i++) {
        struct hgi_http_listener_counts counts;

        hgi_http_listener_count(hgi_http_listener_at(http, i), &counts);
        add(page, "herdgate_http_inflight{listener=\"%s\"} %" PRIu64 "\n", hgi_http_url(http, i),
            counts.in_flight);
    }
}

static void add_transport(struct page *page, struct hgi_dispatch *dispatch)
{
    struct hgi_transport_metrics *transport = hgi_dispatch_services(dispatch)->transport;
    struct hgi_journal *journal = hgi_dispatch_journal(dispatch);

    add_one(page, "herdgate_connections_total", "counter", "Connections of the wire protocol.",
            atomic_load(&transport->connections));
    add_one(page, "herdgate_connections_open", "gauge", "Those open.",
            atomic_load(&transport->connections_open));
    add_one(page, "herdgate_connections_refused_total", "counter",
            "Connections closed at once: an unlisted user, or too many.",
            atomic_load(&transport->connections_refused));
    add_one(page, "herdgate_rpc_requests_total", "counter", "Requests read from them.",
            atomic_load(&transport->requests));
    add_one(page, "herdgate_rpc_bad_peers_total", "counter",
            "Connections closed because they sent something else than the protocol.",
            atomic_load(&transport->bad_peers));
    add_one(page, "herdgate_rpc_timeouts_total", "counter",
            "Connections closed because something took too long.",
            atomic_load(&transport->timeouts));
    add_one(page, "herdgate_events_total", "counter", "Events that watchers could see.",
            hgi_journal_last(journal));
    add_one(page, "herdgate_watchers", "gauge", "Callers that wait for the next event.",
            hgi_journal_watching(journal));
}

static void add_process(struct page *page)
{
    struct hgi_process_use use;

    if (!hgi_process_use(&use)) {
        return;
    }
    add_head(page, "process_cpu_seconds_total", "counter", "Processor time, without loaders.");
    add(page, "process_cpu_seconds_total %.3f\n", (double)use.cpu_ms / 1000);
    add_one(page, "process_resident_memory_bytes", "gauge", "Memory in use, without loaders.",
            use.resident_bytes);
    if (use.has_open_fds) {
        add_one(page, "process_open_fds", "gauge", "Descriptors open.", use.open_fds);
    }
    add_one(page, "process_max_fds", "gauge", "Descriptors that may be open.", use.max_fds);
}

void hgi_http_metrics(struct hgi_http_exchange *exchange)
{
    struct hgi_dispatch *dispatch = hgi_http_dispatch(exchange->http);
    const struct hgi_services *services = hgi_dispatch_services(dispatch);
    struct page page = {.has_memory = true};

    hgi_bytes_init(&page.text, &hgi_heap);
    add_head(&page, "herdgate_build_info", "gauge", "Constant 1, with the version.");
    add(&page, "herdgate_build_info{version=\"%s\",abi=\"%u\"} 1\n",
        hgi_http_version(exchange->http), (unsigned)HG_LOADER_ABI);
    add_head(&page, "herdgate_uptime_seconds", "gauge", "How long the server has been running.");
    add(&page, "herdgate_uptime_seconds %.3f\n",
        (double)(exchange->now.boot_ms - services->started_ms) / 1000);
    add_caches(&page, services);
    add_loaders(&page, services->supervisor);
    add_snapshot(&page, services->snapshotter);
    add_transport(&page, dispatch);
    add_http(&page, exchange->http);
    add_process(&page);
    if (page.has_memory) {
        hgi_http_response_body(&exchange->response, 200, "text/plain; version=0.0.4; charset=utf-8",
                               hgi_bytes_slice(&page.text));
    } else {
        hgi_http_refuse(exchange, 500, "RESOURCE_EXHAUSTED", "no memory for the answer");
    }
    hgi_bytes_deinit(&page.text);
}
