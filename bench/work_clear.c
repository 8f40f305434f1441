/* SPDX-License-Identifier: Apache-2.0 */
/* Clearing ten million entries and invalidating a tag of a million: how long the call takes, how
 * long until the memory is back, and what readers notice. */
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "base/thread.h"
#include "effort.h"
#include "histogram.h"
#include "ops.h"
#include "server/cache/cache.h"
#include "shelf.h"
#include "ticks.h"

#define TTL_MS       3600000
#define LIVE         10000u /* entries that outlive the clear, for the readers */
#define TICK_MS      20     /* as the server ticks */
#define REAP_MAX_S   12.0
#define TAGGED       1000000u
#define TAGS         5u
#define GENERATION   1000u
#define NOT_YET_BORN (GENERATION * 1000u)
#define BASELINE_MS  1000

struct scene {
    struct hgi_cache *cache;
    struct hgi_table *table;
};

static bool open_scene(struct scene *scene, size_t entries)
{
    struct hgi_policy policy = {
        .mode = HG_MODE_FRESH,
        .ttl_ms = TTL_MS,
        .stale_ttl_ms = TTL_MS,
        .negative_ttl_ms = TTL_MS,
        .load_timeout_ms = 1000,
        .wait_budget_ms = 1000,
        .max_entries = entries * 2,
        .max_bytes = entries * 2048,
        .max_loads = 1,
        .queue_max = 1,
        .waiters_max = 1,
    };
    struct hgi_cache_options options = {
        .name = "bench", .policy = &policy, .start_generation = GENERATION, .seed = 1};

    scene->cache = hgi_cache_create(&hgi_heap, &options);
    scene->table = scene->cache ? hgi_cache_table(scene->cache) : NULL;
    return scene->cache != NULL;
}

static void close_scene(struct scene *scene)
{
    struct hgi_now now = hgi_clock_now();

    if (scene->cache) {
        hgi_cache_stop(scene->cache, &now);
        hgi_cache_destroy(&scene->cache);
    }
}

static bool insert(struct scene *scene, uint32_t number, uint64_t born, const struct hgi_now *now)
{
    struct shelf_record record = shelf_record_of(number);
    struct hgi_entry entry = {.key = hg_slice_of(record.key, sizeof(record.key)),
                              .value = hg_slice_of(record.value, sizeof(record.value)),
                              .outcome = HG_VALUE,
                              .born = born,
                              .published_ms = now->boot_ms,
                              .ttl_ms = TTL_MS,
                              .stale_ttl_ms = TTL_MS};

    return hgi_table_insert(scene->table, &entry, false) == HGI_STORED;
}

static uint64_t bytes_of(struct scene *scene)
{
    struct hgi_table_stats stats;

    hgi_table_stats(scene->table, &stats);
    return stats.bytes;
}

/* ---- a reader that notes how long each get takes ---- */

struct reader {
    struct scene *scene;
    const struct ops *ops;
    struct hgi_now now;
    atomic_bool is_over;
    uint64_t wrong;
    struct histogram times;
    struct hgi_thread thread;
};

static void read_on(void *arg)
{
    struct reader *r = arg;
    struct hgi_found_entry found;
    struct hg_bytes value;
    uint64_t before_ns;

    hgi_bytes_init(&value, &hgi_heap);
    histogram_init(&r->times);
    before_ns = ticks_now_ns();
    for (size_t i = 0; !atomic_load_explicit(&r->is_over, memory_order_relaxed);
         i = i + 1 == r->ops->count ? 0 : i + 1) {
        uint64_t now_ns;

        r->wrong += hgi_table_lookup(r->scene->table, ops_key(r->ops, i), -1, &r->now, &value,
                                     &found) != HGI_FRESH ||
                    !ops_value_is(r->ops, i, value.data, value.len);
        now_ns = ticks_now_ns();
        histogram_record(&r->times, now_ns - before_ns);
        before_ns = now_ns;
    }
    hgi_bytes_deinit(&value);
}

static bool start_reader(struct reader *r)
{
    atomic_store(&r->is_over, false);
    r->wrong = 0;
    return hgi_thread_start(&r->thread, "reader", read_on, r);
}

/* Its p99; *ret_is_right says whether every read found its record. */
static double stop_reader(struct reader *r, bool *ret_is_right)
{
    atomic_store(&r->is_over, true);
    hgi_thread_join(&r->thread);
    *ret_is_right = r->wrong == 0;
    return (double)histogram_quantile(&r->times, 0.99);
}

static void pause_ms(long ms)
{
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = (ms % 1000) * 1000000};

    nanosleep(&time, NULL);
}

/* ---- the clear ---- */

struct clear_figures {
    struct samples call;
    struct samples reaped;
    struct samples p99_before;
    struct samples p99_meanwhile;
};

/* Ticks as the server does until nearly all is given back. What has not come back in REAP_MAX_S is
 * worked out from what has. */
static double reap(struct scene *scene, uint64_t full_bytes, uint64_t live_bytes, double max_s)
{
    uint64_t began_ns = ticks_now_ns();
    uint64_t target = live_bytes + (full_bytes - live_bytes) / 50;
    double elapsed_s = 0;
    uint64_t left;

    while ((left = bytes_of(scene)) > target && elapsed_s < max_s) {
        struct hgi_now now = hgi_clock_now();

        hgi_cache_tick(scene->cache, &now);
        pause_ms(TICK_MS);
        elapsed_s = (double)(ticks_now_ns() - began_ns) / 1e9;
    }
    if (left > target && full_bytes > left) {
        return elapsed_s * (double)(full_bytes - live_bytes) / (double)(full_bytes - left);
    }
    return left > target ? 1e6 : elapsed_s;
}

static bool clear_once(const struct effort *effort, struct scene *scene, struct reader *r,
                       uint32_t entries, struct clear_figures *figures)
{
    struct hgi_now now = hgi_clock_now();
    struct hgi_report report;
    uint64_t live_bytes;
    uint64_t full_bytes;
    uint64_t began_ns;
    bool is_right[2];

    r->now = now;
    for (uint32_t i = 0; i < LIVE; i++) {
        if (!insert(scene, i, NOT_YET_BORN, &now)) {
            return false;
        }
    }
    live_bytes = bytes_of(scene);
    for (uint32_t i = LIVE; i < entries; i++) {
        if (!insert(scene, i, 1, &now)) {
            return false;
        }
    }
    full_bytes = bytes_of(scene);
    if (!start_reader(r)) {
        return false;
    }
    pause_ms(BASELINE_MS);
    samples_add(&figures->p99_before, stop_reader(r, &is_right[0]));
    if (!start_reader(r)) {
        return false;
    }
    began_ns = ticks_now_ns();
    hgi_cache_clear(scene->cache, &now, &report);
    samples_add(&figures->call, (double)(ticks_now_ns() - began_ns) / 1e3);
    samples_add(&figures->reaped,
                reap(scene, full_bytes, live_bytes, effort->is_quick ? 2 : REAP_MAX_S));
    samples_add(&figures->p99_meanwhile, stop_reader(r, &is_right[1]));
    return is_right[0] && is_right[1];
}

bool work_clear(const struct effort *effort)
{
    struct clear_figures figures = {
        .call = {.work = "clear_call", .side = "ours", .unit = "us"},
        .reaped = {.work = "clear_reaped", .side = "ours", .unit = "s"},
        .p99_before = {.work = "clear_p99", .side = "peer", .unit = "ns"},
        .p99_meanwhile = {.work = "clear_p99", .side = "ours", .unit = "ns"}};
    uint32_t entries = effort->is_quick ? 2000000 : 10000000;
    uint32_t repeats = effort->is_quick ? 1 : 2; /* filling takes longest */
    static struct reader reader;
    struct ops ops = {0};
    bool is_good = ops_init(&ops, 65536, LIVE, NULL, 9);

    reader.ops = &ops;
    for (uint32_t i = 0; is_good && i < repeats; i++) {
        struct scene scene;

        is_good = open_scene(&scene, entries);
        reader.scene = &scene;
        is_good = is_good && clear_once(effort, &scene, &reader, entries, &figures);
        close_scene(&scene);
    }
    ops_deinit(&ops);
    say("clear_entries", "ours", "entries", entries);
    samples_say(&figures.call);
    samples_say(&figures.reaped);
    samples_say(&figures.p99_before);
    samples_say(&figures.p99_meanwhile);
    return is_good || effort_fault("clear", "no memory, or a wrong read");
}

/* ---- tags ---- */

static bool is_gone(struct scene *scene, uint32_t number, const struct hgi_now *now)
{
    struct shelf_record record = shelf_record_of(number);
    struct hgi_found_entry found;
    struct hg_bytes value;
    bool is_miss;

    hgi_bytes_init(&value, &hgi_heap);
    is_miss = hgi_table_lookup(scene->table, hg_slice_of(record.key, sizeof(record.key)), -1, now,
                               &value, &found) == HGI_MISS;
    hgi_bytes_deinit(&value);
    return is_miss;
}

static bool put(struct scene *scene, uint32_t number, const struct hg_slice *tags,
                const struct hgi_now *now)
{
    struct shelf_record record = shelf_record_of(number);
    struct hgi_put given = {.key = hg_slice_of(record.key, sizeof(record.key)),
                            .outcome = HG_VALUE,
                            .value = hg_slice_of(record.value, sizeof(record.value)),
                            .lifetime = {.tags = tags, .tag_count = TAGS}};
    char sentence[HGI_MESSAGE_MAX];
    struct hgi_entry entry;

    return hgi_cache_put(scene->cache, &given, now, &entry, sentence) == HG_OK;
}

/* Every entry has all the tags, so that each invalidation covers them all. */
bool work_tags(const struct effort *effort)
{
    static const char *const names[TAGS] = {"plan-gold", "plan-free", "eu", "tenant-7", "beta"};
    struct samples calls = {.work = "tag_call", .side = "ours", .unit = "us"};
    struct hgi_now now = hgi_clock_now();
    struct hg_slice tags[TAGS];
    struct scene scene;
    bool is_good = open_scene(&scene, TAGGED);

    (void)effort;
    for (size_t i = 0; i < TAGS; i++) {
        tags[i] = hg_slice_text(names[i]);
    }
    for (uint32_t i = 0; is_good && i < TAGGED; i++) {
        is_good = put(&scene, i, tags, &now);
    }
    for (size_t i = 0; is_good && i < TAGS; i++) {
        struct hgi_cover cover = {.tags = &tags[i], .tag_count = 1};
        struct hgi_report report;
        uint64_t began_ns = ticks_now_ns();

        hgi_cache_invalidate_cover(scene.cache, &cover, &now, &report);
        samples_add(&calls, (double)(ticks_now_ns() - began_ns) / 1e3);
        is_good = is_gone(&scene, 0, &now) && is_gone(&scene, TAGGED - 1, &now);
    }
    close_scene(&scene);
    samples_say(&calls);
    return is_good || effort_fault("tags", "no memory, or an entry outlived its tag");
}
