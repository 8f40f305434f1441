/* SPDX-License-Identifier: Apache-2.0 */
/* What each cache did in each ten seconds, on a clock of whole numbers. */
#include "engine.h"

#include "server/http/history.h"

static struct hgi_registry *registry;
static struct hgi_cache *cache;
static struct hgi_now now = {.boot_ms = 1000000, .wall_ms = 1700000000000};

static void begin(void)
{
    const struct hgi_policy policy = engine_policy();
    const struct hgi_cache_options options = {
        .name = "c", .policy = &policy, .start_generation = 1, .seed = 1};
    struct hgi_registered registered = {.key_type = HGI_KEYS_BYTES, .value_type = HG_TYPE_BYTES};

    registry = hgi_registry_create(&hgi_heap);
    cache = hgi_cache_create(&hgi_heap, &options);
    ck_assert(registry && cache);
    registered.cache = cache;
    ck_assert(hgi_registry_add(registry, &registered));
}

static void pass(struct hgi_http_history *history)
{
    now.boot_ms += HGI_HTTP_STEP_MS;
    now.wall_ms += HGI_HTTP_STEP_MS;
    hgi_http_history_tick(history, &now);
}

START_TEST(each_step_counts_what_came_in_it)
{
    struct hgi_http_step steps[HGI_HTTP_STEPS];
    struct hgi_http_history *history;
    int64_t end_ms = -1;

    begin();
    hgi_cache_count_local(cache, 5); /* before: not counted */
    history = hgi_http_history_create(registry, &now);
    ck_assert_ptr_nonnull(history);
    ck_assert_uint_eq(hgi_http_history_copy(history, 0, steps, &end_ms), 0);
    ck_assert_int_eq(end_ms, 0);
    hgi_cache_count_local(cache, 3);
    now.boot_ms += HGI_HTTP_STEP_MS - 1;
    hgi_http_history_tick(history, &now); /* not yet */
    now.boot_ms -= HGI_HTTP_STEP_MS - 1;
    pass(history);
    hgi_cache_count_local(cache, 4);
    pass(history);
    pass(history);
    ck_assert_uint_eq(hgi_http_history_copy(history, 0, steps, &end_ms), 3);
    ck_assert_uint_eq(steps[0].hits, 3);
    ck_assert_uint_eq(steps[1].hits, 4);
    ck_assert_uint_eq(steps[2].hits, 0);
    ck_assert_int_eq(end_ms, now.wall_ms);
    hgi_http_history_destroy(&history);
    hgi_registry_destroy(&registry);
}
END_TEST

START_TEST(the_oldest_step_makes_room_for_the_newest)
{
    struct hgi_http_step steps[HGI_HTTP_STEPS];
    struct hgi_http_history *history;
    int64_t end_ms;

    begin();
    history = hgi_http_history_create(registry, &now);
    ck_assert_ptr_nonnull(history);
    for (uint64_t i = 1; i <= HGI_HTTP_STEPS + 7; i++) {
        hgi_cache_count_local(cache, i);
        pass(history);
    }
    ck_assert_uint_eq(hgi_http_history_copy(history, 0, steps, &end_ms), HGI_HTTP_STEPS);
    for (uint64_t i = 0; i < HGI_HTTP_STEPS; i++) {
        ck_assert_uint_eq(steps[i].hits, i + 8);
    }
    hgi_http_history_destroy(&history);
    hgi_registry_destroy(&registry);
}
END_TEST

static void load_for(struct engine *e, const char *key, int64_t ms)
{
    size_t load = e->load_count;

    (void)engine_get(e, key);
    e->now.boot_ms += ms;
    engine_value(e, load, "v");
}

static struct hgi_histogram_counts recent_loads(struct hgi_http_history *history)
{
    struct hgi_cache_stats stats;
    struct hgi_histogram_counts loads;

    hgi_cache_stats(cache, &stats);
    hgi_http_history_loads(history, 0, &stats.load_time, &loads);
    return loads;
}

/* Also those of the step that is not over, and no more once their step is forgotten. */
START_TEST(loads_are_of_the_steps_there_are)
{
    const struct hgi_policy policy = engine_policy();
    struct engine *e = engine_create(&policy);
    struct hgi_registered registered = {
        .cache = e->cache, .key_type = HGI_KEYS_BYTES, .value_type = HG_TYPE_BYTES};
    struct hgi_http_history *history;
    struct hgi_histogram_counts loads;

    registry = hgi_registry_create(&hgi_heap);
    ck_assert_ptr_nonnull(registry);
    ck_assert(hgi_registry_add(registry, &registered));
    cache = e->cache;
    load_for(e, "before", 100000);
    history = hgi_http_history_create(registry, &now);
    ck_assert_ptr_nonnull(history);
    loads = recent_loads(history);
    ck_assert_uint_eq(hgi_histogram_total(&loads), 0);
    load_for(e, "slow", 2000);
    loads = recent_loads(history);
    ck_assert_uint_eq(hgi_histogram_total(&loads), 1);
    pass(history);
    load_for(e, "fast", 1);
    for (unsigned i = 1; i < HGI_HTTP_STEPS; i++) {
        pass(history);
        loads = recent_loads(history);
        ck_assert_uint_eq(hgi_histogram_total(&loads), 2);
    }
    ck_assert_double_ge(hgi_histogram_quantile_ms(&loads, 0.99), 1000);
    pass(history); /* the first step goes */
    loads = recent_loads(history);
    ck_assert_uint_eq(hgi_histogram_total(&loads), 1);
    ck_assert_double_le(hgi_histogram_quantile_ms(&loads, 0.99), 1);
    pass(history);
    loads = recent_loads(history);
    ck_assert_uint_eq(hgi_histogram_total(&loads), 0);
    hgi_http_history_destroy(&history);
    ((struct hgi_registered *)(uintptr_t)hgi_registry_at(registry, 0))->cache = NULL; /* e's */
    hgi_registry_destroy(&registry);
    engine_destroy(e);
}
END_TEST

HGI_SUITE("http.history", 20, loads_are_of_the_steps_there_are, each_step_counts_what_came_in_it,
          the_oldest_step_makes_room_for_the_newest)
