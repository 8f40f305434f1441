/* SPDX-License-Identifier: Apache-2.0 */
#include "history.h"

#include "base/lock.h"

/* The beginnings of all steps there are, and of the one that is not over. */
#define BEGINNINGS (HGI_HTTP_STEPS + 1)

/* What a step is counted from. */
struct mark {
    uint64_t counters[HGI_METRIC_COUNT];
    struct hgi_histogram_counts load_time;
};

struct hgi_http_history {
    /* set once */
    struct hgi_registry *registry;
    size_t cache_count;
    /* the ticker's */
    struct mark *marks; /* one a cache */
    int64_t due_ms;
    /* guarded */
    struct hgi_lock lock;
    struct hgi_http_step *steps HGI_GUARDED_BY(http); /* HGI_HTTP_STEPS of each cache */
    /* BEGINNINGS of each cache: its load times as each step began */
    struct hgi_histogram_counts *begun HGI_GUARDED_BY(http);
    size_t begun_next HGI_GUARDED_BY(http); /* place of the next of these */
    size_t next HGI_GUARDED_BY(http);       /* place of the next step */
    size_t count HGI_GUARDED_BY(http);
    int64_t end_ms HGI_GUARDED_BY(http);
};

static void mark(struct hgi_http_history *history, size_t cache,
                 const struct hgi_cache_stats *stats)
{
    memcpy(history->marks[cache].counters, stats->counters, sizeof(stats->counters));
    history->marks[cache].load_time = stats->load_time;
}

struct hgi_http_history *hgi_http_history_create(struct hgi_registry *registry,
                                                 const struct hgi_now *now) HGI_UNCHECKED
{
    struct hgi_http_history *history = hgi_alloc(&hgi_heap, sizeof(*history));
    size_t count = hgi_registry_count(registry);

    if (!history) {
        return NULL;
    }
    history->registry = registry;
    history->cache_count = count;
    history->due_ms = now->boot_ms + HGI_HTTP_STEP_MS;
    history->marks = hgi_alloc(&hgi_heap, count * sizeof(*history->marks));
    history->steps = hgi_alloc(&hgi_heap, count * HGI_HTTP_STEPS * sizeof(*history->steps));
    hgi_lock_init(&history->lock);
    history->begun = hgi_alloc(&hgi_heap, count * BEGINNINGS * sizeof(*history->begun));
    if (!history->marks || !history->steps || !history->begun) {
        hgi_http_history_destroy(&history);
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        struct hgi_cache_stats stats;

        hgi_cache_stats(hgi_registry_at(registry, i)->cache, &stats);
        mark(history, i, &stats);
        history->begun[i * BEGINNINGS] = stats.load_time;
    }
    history->begun_next = 1;
    return history;
}

void hgi_http_history_destroy(struct hgi_http_history **history) HGI_UNCHECKED
{
    if (!*history) {
        return;
    }
    hgi_lock_deinit(&(*history)->lock);
    hgi_free(&hgi_heap, (*history)->marks);
    hgi_free(&hgi_heap, (*history)->steps);
    hgi_free(&hgi_heap, (*history)->begun);
    hgi_free(&hgi_heap, *history);
    *history = NULL;
}

static struct hgi_http_step step_of(const struct mark *since, const struct hgi_cache_stats *stats)
{
    struct hgi_histogram_counts loads;
    struct hgi_http_step step = {
        .in_flight = stats->in_flight, .entries = stats->entries, .bytes = stats->bytes};
    const struct {
        enum hgi_metric metric;
        uint64_t *sum;
    } sums[] = {
        {HGI_METRIC_hit, &step.hits},
        {HGI_METRIC_local_hit, &step.hits},
        {HGI_METRIC_stale_hit, &step.stale},
        {HGI_METRIC_kept_hit, &step.stale},
        {HGI_METRIC_negative_hit, &step.negative},
        {HGI_METRIC_miss, &step.misses},
        {HGI_METRIC_load, &step.loads},
        {HGI_METRIC_load_error, &step.load_errors},
        {HGI_METRIC_coalesced, &step.joined},
    };

    for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++) {
        *sums[i].sum += stats->counters[sums[i].metric] - since->counters[sums[i].metric];
    }
    hgi_histogram_since(&stats->load_time, &since->load_time, &loads);
    step.load_p50_ms = hgi_histogram_quantile_ms(&loads, 0.5);
    step.load_p99_ms = hgi_histogram_quantile_ms(&loads, 0.99);
    return step;
}

void hgi_http_history_tick(struct hgi_http_history *history, const struct hgi_now *now)
{
    size_t place;

    if (now->boot_ms < history->due_ms) {
        return;
    }
    history->due_ms = now->boot_ms + HGI_HTTP_STEP_MS;
    hgi_lock_http(&history->lock);
    place = history->next;
    hgi_unlock_http(&history->lock);
    for (size_t i = 0; i < history->cache_count; i++) {
        struct hgi_cache_stats stats;
        struct hgi_http_step step;

        hgi_cache_stats(hgi_registry_at(history->registry, i)->cache, &stats);
        step = step_of(&history->marks[i], &stats);
        mark(history, i, &stats);
        hgi_lock_http(&history->lock);
        history->steps[i * HGI_HTTP_STEPS + place] = step;
        history->begun[i * BEGINNINGS + history->begun_next] = stats.load_time;
        hgi_unlock_http(&history->lock);
    }
    hgi_lock_http(&history->lock);
    history->next = (place + 1) % HGI_HTTP_STEPS;
    history->begun_next = (history->begun_next + 1) % BEGINNINGS;
    history->count += history->count < HGI_HTTP_STEPS;
    history->end_ms = now->wall_ms;
    hgi_unlock_http(&history->lock);
}

size_t hgi_http_history_copy(struct hgi_http_history *history, size_t cache,
                             struct hgi_http_step *ret_steps, int64_t *ret_end_ms)
{
    size_t count;

    hgi_lock_http(&history->lock);
    count = history->count;
    for (size_t i = 0; i < count; i++) {
        size_t place = (history->next + HGI_HTTP_STEPS - count + i) % HGI_HTTP_STEPS;

        ret_steps[i] = history->steps[cache * HGI_HTTP_STEPS + place];
    }
    *ret_end_ms = history->end_ms;
    hgi_unlock_http(&history->lock);
    return count;
}

void hgi_http_history_loads(struct hgi_http_history *history, size_t cache,
                            const struct hgi_histogram_counts *until,
                            struct hgi_histogram_counts *ret_loads)
{
    size_t oldest;

    hgi_lock_http(&history->lock);
    oldest = (history->begun_next + BEGINNINGS - 1 - history->count) % BEGINNINGS;
    hgi_histogram_since(until, &history->begun[cache * BEGINNINGS + oldest], ret_loads);
    hgi_unlock_http(&history->lock);
}
