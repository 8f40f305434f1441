/* SPDX-License-Identifier: Apache-2.0 */
#include <time.h>

#include "base/clock.h"
#include "scenario.h"

#define AWAIT_MS  10000
#define CHANGE_MS 2000

static void pause_briefly(void)
{
    const struct timespec pause = {0, 2000000};

    nanosleep(&pause, NULL);
}

static uint64_t child_number(struct run *run, const char *name)
{
    struct hg_loaders loaders;
    struct hg_error error;
    const struct hg_loader_info *loader;
    uint64_t value = UINT64_MAX;

    if (hg_client_list_loaders(run->d.client, NULL, &loaders, &error) != HG_OK) {
        scenario_fail(run, "loaders: %s", error.text);
    }
    loader = &loaders.loaders[0];
    if (strcmp(name, "deaths") == 0) {
        value = loader->deaths;
    } else if (strcmp(name, "running") == 0) {
        value = loader->state.len == 7 && memcmp(loader->state.data, "running", 7) == 0;
    } else if (strcmp(name, "in_flight") == 0) {
        value = loader->in_flight;
    }
    hg_loaders_deinit(&loaders);
    if (value == UINT64_MAX) {
        scenario_fail(run, "child has deaths, running and in_flight, and no \"%s\"", name);
    }
    return value;
}

static bool find(const struct hg_counter *counters, size_t count, const char *name,
                 uint64_t *ret_value)
{
    for (size_t i = 0; i < count; i++) {
        if (counters[i].name.len == strlen(name) &&
            memcmp(counters[i].name.data, name, counters[i].name.len) == 0) {
            *ret_value = counters[i].value;
            return true;
        }
    }
    return false;
}

static uint64_t stats_number(struct run *run, const char *cache, const char *name)
{
    bool is_server = strcmp(cache, "server") == 0;
    struct hg_named request = {.name = is_server ? NULL : cache};
    struct hg_stats stats;
    struct hg_error error;
    uint64_t value = 0;
    bool is_found;

    if (hg_client_stats(run->d.client, &request, &stats, &error) != HG_OK) {
        scenario_fail(run, "stats: %s", error.text);
    }
    is_found =
        is_server ? find(stats.server, stats.server_count, name, &value)
                  : stats.cache_count == 1 &&
                        find(stats.caches[0].counters, stats.caches[0].counter_count, name, &value);
    hg_stats_deinit(&stats);
    if (!is_found) {
        scenario_fail(run, "%s has no counter \"%s\" (docs/COUNTERS.md has the list)", cache, name);
    }
    return value;
}

/* CACHE.COUNTER, server.COUNTER, loader.KEY (loads the plugin was asked for) or child.COUNTER. */
static uint64_t look(struct run *run, const char *name)
{
    char cache[64];
    const char *dot = strchr(name, '.');

    if (!dot) {
        scenario_fail(run, "\"%s\" is not a counter such as c.load", name);
    }
    snprintf(cache, sizeof(cache), "%.*s", (int)(dot - name), name);
    if (strcmp(cache, "loader") == 0) {
        return hgi_script_loads(&run->d.script, dot + 1);
    }
    return strcmp(cache, "child") == 0 ? child_number(run, dot + 1)
                                       : stats_number(run, cache, dot + 1);
}

static struct mark *mark_of(struct run *run, const char *name)
{
    for (size_t i = 0; i < run->mark_count; i++) {
        if (strcmp(run->marks[i].name, name) == 0) {
            return &run->marks[i];
        }
    }
    if (run->mark_count == MARKS_MAX) {
        scenario_fail(run, "more than %d counters", MARKS_MAX);
    }
    snprintf(run->marks[run->mark_count].name, sizeof(run->marks[0].name), "%s", name);
    return &run->marks[run->mark_count++];
}

void scenario_count_restart(struct run *run)
{
    for (size_t i = 0; i < run->mark_count; i++) {
        if (strncmp(run->marks[i].name, "loader.", 7) != 0) {
            run->marks[i].value = 0;
        }
    }
}

/* A counter may be behind the answer it belongs to by a moment; it may never be ahead. */
void scenario_count_change(struct run *run, const char *name, uint64_t expected)
{
    struct mark *mark = mark_of(run, name);
    int64_t end_ms = hgi_clock_now().boot_ms + CHANGE_MS;
    uint64_t now = look(run, name);

    while (now - mark->value < expected && hgi_clock_now().boot_ms < end_ms) {
        pause_briefly();
        now = look(run, name);
    }
    if (now - mark->value != expected) {
        scenario_fail(run, "expected: %s rose by %llu\n%s:%d: came:     by %llu, to %llu", name,
                      (unsigned long long)expected, run->path, run->line,
                      (unsigned long long)(now - mark->value), (unsigned long long)now);
    }
    mark->value = now;
}

void scenario_count_await(struct run *run, const char *name, uint64_t expected)
{
    int64_t end_ms = hgi_clock_now().boot_ms + AWAIT_MS;
    uint64_t now = look(run, name);

    while (now != expected) {
        if (hgi_clock_now().boot_ms > end_ms) {
            scenario_fail(run, "expected: %s becomes %llu\n%s:%d: came:     %llu, after 10 s", name,
                          (unsigned long long)expected, run->path, run->line,
                          (unsigned long long)now);
        }
        pause_briefly();
        now = look(run, name);
    }
}
