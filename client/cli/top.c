/* SPDX-License-Identifier: Apache-2.0 */
#include "top.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/clock.h"

#define NUMBER_MAX 32u

/* ---- asking ---- */

static uint64_t counter(const struct hg_counter *counters, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (hgi_slice_equal(counters[i].name, hg_slice_text(name))) {
            return counters[i].value;
        }
    }
    return 0; /* of a server that does not count it */
}

static struct hgi_top_cache read_cache(const struct hg_cache_stats *stats)
{
    const struct hg_counter *counters = stats->counters;
    size_t count = stats->counter_count;
    struct hgi_top_cache cache = {
        .name = hgi_cli_must(hgi_text_copy(&hgi_heap, stats->cache)),
        .hits = counter(counters, count, "hit") + counter(counters, count, "local_hit") +
                counter(counters, count, "stale_hit") + counter(counters, count, "negative_hit"),
        .loads = counter(counters, count, "load"),
        .errors = counter(counters, count, "load_error"),
        .stale = counter(counters, count, "stale_hit") + counter(counters, count, "kept_hit"),
        .in_flight = counter(counters, count, "in_flight"),
        .waiting = counter(counters, count, "waiting"),
        .load_p50_ms = counter(counters, count, "load_p50_ms"),
        .load_p99_ms = counter(counters, count, "load_p99_ms"),
        .entries = counter(counters, count, "entries"),
        .bytes = counter(counters, count, "bytes"),
    };

    cache.reads = cache.hits + counter(counters, count, "miss");
    return cache;
}

static void read_stats(const struct hg_stats *stats, struct hgi_top_sample *sample)
{
    sample->uptime_ms = counter(stats->server, stats->server_count, "uptime_ms");
    sample->requests = counter(stats->server, stats->server_count, "requests");
    sample->connections = counter(stats->server, stats->server_count, "connections_open");
    sample->caches =
        hgi_cli_must(hgi_alloc(&hgi_heap, (stats->cache_count + 1) * sizeof(*sample->caches)));
    for (size_t i = 0; i < stats->cache_count; i++) {
        sample->caches[i] = read_cache(&stats->caches[i]);
    }
    sample->cache_count = stats->cache_count;
}

enum hg_status hgi_top_take(struct hgi_cli *cli, uint32_t timeout_ms,
                            struct hgi_top_sample *ret_sample, struct hg_error *ret_error)
{
    const struct hg_named request = {.timeout_ms = timeout_ms};
    struct hgi_top_sample sample = {.at_ms = hgi_clock_now().boot_ms};
    struct hg_stats stats;
    enum hg_status status = hg_client_health(cli->client, &request, &sample.health, ret_error);

    if (status != HG_OK) {
        return status;
    }
    snprintf(sample.health_text, sizeof(sample.health_text), "%s", ret_error->text);
    status = hg_client_list_loaders(cli->client, &request, &sample.loaders, ret_error);
    if (status != HG_OK) {
        return status;
    }
    status = hg_client_stats(cli->client, &request, &stats, ret_error);
    if (status != HG_OK) {
        hg_loaders_deinit(&sample.loaders);
        return status;
    }
    read_stats(&stats, &sample);
    hg_stats_deinit(&stats);
    *ret_sample = sample;
    return HG_OK;
}

void hgi_top_sample_deinit(struct hgi_top_sample *sample)
{
    for (size_t i = 0; i < sample->cache_count; i++) {
        hgi_free(&hgi_heap, sample->caches[i].name);
    }
    hgi_free(&hgi_heap, sample->caches);
    hg_loaders_deinit(&sample->loaders);
    memset(sample, 0, sizeof(*sample));
}

/* ---- between two samples ---- */

/* A cache as it is shown. */
struct row {
    struct hgi_top_cache cache; /* counts of the time that is shown */
    bool has_ratio;
    double ratio; /* 0 to 1 */
};

static const struct hgi_top_cache *find(const struct hgi_top_sample *sample, const char *name)
{
    for (size_t i = 0; sample && i < sample->cache_count; i++) {
        if (strcmp(sample->caches[i].name, name) == 0) {
            return &sample->caches[i];
        }
    }
    return NULL;
}

static uint64_t less(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

static struct row make_row(const struct hgi_top_cache *now, const struct hgi_top_sample *before)
{
    const struct hgi_top_cache *then = find(before, now->name);
    struct row row = {.cache = *now};

    if (then) {
        row.cache.reads = less(now->reads, then->reads);
        row.cache.hits = less(now->hits, then->hits);
        row.cache.loads = less(now->loads, then->loads);
        row.cache.errors = less(now->errors, then->errors);
        row.cache.stale = less(now->stale, then->stale);
    }
    row.has_ratio = row.cache.reads > 0;
    row.ratio = row.has_ratio ? (double)row.cache.hits / (double)row.cache.reads : 0;
    return row;
}

static double value_of(const struct row *row, enum hgi_top_column column)
{
    switch (column) {
    case HGI_TOP_RATIO:
        return row->has_ratio ? row->ratio : -1;
    case HGI_TOP_READS:
        return (double)row->cache.reads;
    case HGI_TOP_LOADS:
        return (double)row->cache.loads;
    case HGI_TOP_ERRORS:
        return (double)row->cache.errors;
    case HGI_TOP_STALE:
        return (double)row->cache.stale;
    case HGI_TOP_IN_FLIGHT:
        return (double)row->cache.in_flight;
    case HGI_TOP_P99:
        return (double)row->cache.load_p99_ms;
    case HGI_TOP_ENTRIES:
        return (double)row->cache.entries;
    case HGI_TOP_BYTES:
        return (double)row->cache.bytes;
    case HGI_TOP_NAME:
    case HGI_TOP_COLUMN_COUNT:
        break;
    }
    return 0;
}

static int compare(const void *a, const void *b, void *context)
{
    const struct hgi_top_view *view = context;
    const struct row *left = a;
    const struct row *right = b;
    double difference = value_of(right, view->sort) - value_of(left, view->sort);
    int order = difference < 0 ? -1 : difference > 0;

    if (order == 0) {
        order = strcmp(left->cache.name, right->cache.name);
    }
    return view->is_reversed ? -order : order;
}

/* ---- text ---- */

const char *hgi_top_column_name(enum hgi_top_column column)
{
    static const char *const names[HGI_TOP_COLUMN_COUNT] = {
        [HGI_TOP_NAME] = "name",           [HGI_TOP_RATIO] = "hit ratio",
        [HGI_TOP_READS] = "reads",         [HGI_TOP_LOADS] = "loads",
        [HGI_TOP_ERRORS] = "errors",       [HGI_TOP_STALE] = "stale",
        [HGI_TOP_IN_FLIGHT] = "in flight", [HGI_TOP_P99] = "p99",
        [HGI_TOP_ENTRIES] = "entries",     [HGI_TOP_BYTES] = "bytes"};

    return names[column];
}

/* A count of `ms` of time, or (0) one of all time. */
static void add_count(struct hgi_table *table, uint64_t count, int64_t ms)
{
    double rate = ms > 0 ? (double)count * 1000 / (double)ms : (double)count;

    if (ms > 0 && rate > 0 && rate < 10) {
        hgi_table_add(table, "%.1f", rate);
    } else {
        hgi_table_add(table, "%.0f", rate);
    }
}

static void add_bytes(struct hgi_table *table, uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double amount = (double)bytes;
    size_t unit = 0;

    while (amount >= 1024 && unit + 1 < HGI_COUNT_OF(units)) {
        amount /= 1024;
        unit++;
    }
    hgi_table_add(table, unit && amount < 10 ? "%.1f %s" : "%.0f %s", amount, units[unit]);
}

static void add_ms(struct hgi_table *table, uint64_t ms)
{
    char text[HGI_DURATION_MAX];

    hgi_table_add(table, "%s", ms ? hgi_duration_text(ms, text) : "-");
}

static void add_cache(struct hgi_table *table, const struct row *row, int64_t ms)
{
    const struct hgi_top_cache *cache = &row->cache;

    hgi_table_add_slice(table, hg_slice_text(cache->name));
    if (row->has_ratio) {
        hgi_table_add(table, "%.1f", row->ratio * 100);
    } else {
        hgi_table_add(table, "-");
    }
    add_count(table, cache->reads, ms);
    add_count(table, cache->loads, ms);
    add_count(table, cache->errors, ms);
    add_count(table, cache->stale, ms);
    hgi_table_add(table, "%" PRIu64, cache->in_flight);
    hgi_table_add(table, "%" PRIu64, cache->waiting);
    add_ms(table, cache->load_p50_ms);
    add_ms(table, cache->load_p99_ms);
    hgi_table_add(table, "%" PRIu64, cache->entries);
    add_bytes(table, cache->bytes);
}

/* ms 0: counts since the start. */
static void write_caches(FILE *file, const struct hgi_top_sample *sample,
                         const struct hgi_top_sample *before, const struct hgi_top_view *view,
                         int64_t ms)
{
    static const char *const totals[] = {"CACHE",  "HIT%",  "READS",     "LOADS",
                                         "ERRORS", "STALE", "IN FLIGHT", "WAITING",
                                         "P50",    "P99",   "ENTRIES",   "BYTES"};
    static const char *const rates[] = {"CACHE",    "HIT%",    "READS/S",   "LOADS/S",
                                        "ERRORS/S", "STALE/S", "IN FLIGHT", "WAITING",
                                        "P50",      "P99",     "ENTRIES",   "BYTES"};
    struct row *rows =
        hgi_cli_must(hgi_alloc(&hgi_heap, (sample->cache_count + 1) * sizeof(*rows)));
    struct hgi_table table;

    for (size_t i = 0; i < sample->cache_count; i++) {
        rows[i] = make_row(&sample->caches[i], ms > 0 ? before : NULL);
    }
    qsort_r(rows, sample->cache_count, sizeof(*rows), compare, (void *)(uintptr_t)view);
    hgi_table_init(&table, "lrrrrrrrrrrr");
    hgi_table_add_row(&table, ms > 0 ? rates : totals);
    for (size_t i = 0; i < sample->cache_count; i++) {
        add_cache(&table, &rows[i], ms);
    }
    hgi_table_write(file, &table);
    hgi_table_deinit(&table);
    hgi_free(&hgi_heap, rows);
}

static void write_loaders(FILE *file, const struct hg_loaders *loaders)
{
    static const char *const heads[] = {"LOADER", "STATE",  "PID",       "LOADS",
                                        "QUEUED", "DEATHS", "LAST FAULT"};
    struct hgi_table table;

    hgi_table_init(&table, "llrrrrl");
    hgi_table_add_row(&table, heads);
    for (size_t i = 0; i < loaders->count; i++) {
        const struct hg_loader_info *loader = &loaders->loaders[i];

        hgi_table_add_slice(&table, loader->name);
        hgi_table_add_slice(&table, loader->state);
        hgi_table_add(&table, "%" PRId64, loader->pid);
        hgi_table_add(&table, "%" PRIu64, loader->in_flight);
        hgi_table_add(&table, "%" PRIu64, loader->queued);
        hgi_table_add(&table, "%" PRIu64, loader->deaths);
        hgi_table_add_slice(&table, loader->message);
    }
    hgi_table_write(file, &table);
    hgi_table_deinit(&table);
}

static const char *health_name(enum hg_health health)
{
    return health == HG_HEALTH_SERVING ? "serving" : "not serving";
}

void hgi_top_write(FILE *file, const struct hgi_top_sample *sample,
                   const struct hgi_top_sample *before, const struct hgi_top_view *view)
{
    /* One that was started again has begun to count anew. */
    bool is_same = before && before->uptime_ms <= sample->uptime_ms;
    int64_t ms = is_same && !view->has_totals ? sample->at_ms - before->at_ms : 0;
    char text[HGI_DURATION_MAX];

    fprintf(file, "%s%s", health_name(sample->health), sample->health_text[0] ? ", " : "");
    hgi_print_escaped(file, hg_slice_text(sample->health_text));
    fprintf(file, "; up %s, %" PRIu64 " connections, ", hgi_duration_text(sample->uptime_ms, text),
            sample->connections);
    if (ms > 0) {
        fprintf(file, "%.0f requests/s",
                (double)less(sample->requests, before->requests) * 1000 / (double)ms);
    } else {
        fprintf(file, "%" PRIu64 " requests", sample->requests);
    }
    fprintf(file, "\n\n");
    write_caches(file, sample, before, view, ms);
    if (sample->loaders.count) {
        fputc('\n', file);
        write_loaders(file, &sample->loaders);
    }
}

/* ---- JSON ---- */

static json_t *cache_json(const struct hgi_top_cache *cache)
{
    const struct row row = make_row(cache, NULL);
    json_t *object = hgi_cli_must(json_object());

    hgi_json_set_bytes(object, "name", hg_slice_text(cache->name));
    (void)json_object_set_new(object, "hit_ratio",
                              row.has_ratio ? json_real(row.ratio) : json_null());
    hgi_json_set_number(object, "reads", cache->reads);
    hgi_json_set_number(object, "hits", cache->hits);
    hgi_json_set_number(object, "loads", cache->loads);
    hgi_json_set_number(object, "errors", cache->errors);
    hgi_json_set_number(object, "stale", cache->stale);
    hgi_json_set_number(object, "in_flight", cache->in_flight);
    hgi_json_set_number(object, "waiting", cache->waiting);
    hgi_json_set_number(object, "load_p50_ms", cache->load_p50_ms);
    hgi_json_set_number(object, "load_p99_ms", cache->load_p99_ms);
    hgi_json_set_number(object, "entries", cache->entries);
    hgi_json_set_number(object, "bytes", cache->bytes);
    return object;
}

static json_t *loader_json(const struct hg_loader_info *loader)
{
    json_t *object = hgi_cli_must(json_object());

    hgi_json_set_bytes(object, "name", loader->name);
    hgi_json_set_bytes(object, "state", loader->state);
    (void)json_object_set_new(object, "pid", json_integer(loader->pid));
    hgi_json_set_number(object, "in_flight", loader->in_flight);
    hgi_json_set_number(object, "queued", loader->queued);
    hgi_json_set_number(object, "deaths", loader->deaths);
    hgi_json_set_bytes(object, "message", loader->message);
    return object;
}

json_t *hgi_top_json(const struct hgi_top_sample *sample)
{
    json_t *caches = hgi_cli_must(json_array());
    json_t *loaders = hgi_cli_must(json_array());
    json_t *object = hgi_cli_must(json_object());

    for (size_t i = 0; i < sample->cache_count; i++) {
        (void)json_array_append_new(caches, cache_json(&sample->caches[i]));
    }
    for (size_t i = 0; i < sample->loaders.count; i++) {
        (void)json_array_append_new(loaders, loader_json(&sample->loaders.loaders[i]));
    }
    (void)json_object_set_new(object, "serving", json_boolean(sample->health == HG_HEALTH_SERVING));
    hgi_json_set_bytes(object, "message", hg_slice_text(sample->health_text));
    hgi_json_set_number(object, "uptime_ms", sample->uptime_ms);
    hgi_json_set_number(object, "connections", sample->connections);
    hgi_json_set_number(object, "requests", sample->requests);
    (void)json_object_set_new(object, "caches", caches);
    (void)json_object_set_new(object, "loaders", loaders);
    return object;
}
