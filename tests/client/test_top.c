/* SPDX-License-Identifier: Apache-2.0 */
/* What `top` makes of two looks at a server. */
#include <stdio.h>
#include <stdlib.h>

#include "base/check.h"
#include "client/cli/top.h"
#include "hg_test.h"

static char text[4096];

static struct hgi_top_cache caches_before[] = {
    {.name = (char[]){"auth"}, .reads = 1000, .hits = 900, .loads = 50, .errors = 1, .stale = 3},
    {.name = (char[]){"plans"}, .reads = 10, .hits = 10},
};
static struct hgi_top_cache caches_now[] = {
    {.name = (char[]){"auth"},
     .reads = 3000,
     .hits = 2400,
     .loads = 350,
     .errors = 2,
     .stale = 3,
     .in_flight = 4,
     .waiting = 7,
     .load_p50_ms = 12,
     .load_p99_ms = 1500,
     .entries = 16384,
     .bytes = 5 << 20},
    {.name = (char[]){"plans"}, .reads = 10, .hits = 10, .entries = 2, .bytes = 800},
    {.name = (char[]){"a\033b"}, .entries = 3, .bytes = 9 << 10},
};
static const struct hg_loader_info loaders[] = {
    {.name = {"keys", 4}, .state = {"running", 7}, .pid = 4711, .in_flight = 4, .deaths = 1}};

static struct hgi_top_sample sample(int64_t at_ms, uint64_t uptime_ms, bool is_before)
{
    return (struct hgi_top_sample){.at_ms = at_ms,
                                   .health = HG_HEALTH_SERVING,
                                   .uptime_ms = uptime_ms,
                                   .requests = is_before ? 5000 : 9000,
                                   .connections = 3,
                                   .caches = is_before ? caches_before : caches_now,
                                   .cache_count = is_before ? HGI_COUNT_OF(caches_before)
                                                            : HGI_COUNT_OF(caches_now),
                                   .loaders = {.loaders = loaders, .count = 1}};
}

static const char *written(const struct hgi_top_sample *now, const struct hgi_top_sample *before,
                           struct hgi_top_view view)
{
    FILE *memory = fmemopen(text, sizeof(text), "w");

    hgi_top_write(memory, now, before, &view);
    fclose(memory);
    return text;
}

START_TEST(once_it_prints_what_was_counted_since_the_start)
{
    struct hgi_top_sample now = sample(10000, 60000, false);

    ck_assert_str_eq(
        written(&now, NULL, (struct hgi_top_view){.sort = HGI_TOP_NAME}),
        "serving; up 1m, 3 connections, 9000 requests\n"
        "\n"
        "CACHE    HIT%  READS  LOADS  ERRORS  STALE  IN FLIGHT  WAITING   P50   P99  ENTRIES    "
        "BYTES\n"
        "a\\x1bb      -      0      0       0      0          0        0     -     -        3  9.0 "
        "KiB\n"
        "auth     80.0   3000    350       2      3          4        7  12ms  1.5s    16384  5.0 "
        "MiB\n"
        "plans   100.0     10      0       0      0          0        0     -     -        2    "
        "800 "
        "B\n"
        "\n"
        "LOADER  STATE     PID  LOADS  QUEUED  DEATHS  LAST FAULT\n"
        "keys    running  4711      4       0       1\n");
}
END_TEST

START_TEST(between_two_looks_counts_are_a_second_and_the_ratio_is_of_that_time)
{
    struct hgi_top_sample before = sample(8000, 58000, true);
    struct hgi_top_sample now = sample(10000, 60000, false);

    ck_assert_ptr_nonnull(
        strstr(written(&now, &before, (struct hgi_top_view){0}), "2000 requests/s"));
    ck_assert_ptr_nonnull(strstr(text, "READS/S"));
    /* 1,500 of 2,000 reads; 300 loads and one error in two seconds. */
    ck_assert_ptr_nonnull(
        strstr(text, "auth    75.0     1000      150       0.5        0          4"));
    ck_assert_ptr_nonnull(
        strstr(text, "plans      -        0        0         0        0          0"));
    ck_assert_ptr_nonnull(strstr(written(&now, &before, (struct hgi_top_view){.has_totals = true}),
                                 " 9000 requests\n"));
    /* A server that was started meanwhile counts anew. */
    before.uptime_ms = 60001;
    ck_assert_ptr_nonnull(
        strstr(written(&now, &before, (struct hgi_top_view){0}), " 9000 requests\n"));
}
END_TEST

START_TEST(caches_are_sorted_by_any_column_and_the_other_way_round)
{
    static const struct {
        struct hgi_top_view view;
        const char *order; /* their first letters */
    } cases[] = {
        {{.sort = HGI_TOP_NAME}, "\\ap"},  {{.sort = HGI_TOP_NAME, .is_reversed = true}, "pa\\"},
        {{.sort = HGI_TOP_RATIO}, "pa\\"}, {{.sort = HGI_TOP_READS}, "ap\\"},
        {{.sort = HGI_TOP_LOADS}, "a\\p"}, {{.sort = HGI_TOP_ERRORS}, "a\\p"},
        {{.sort = HGI_TOP_STALE}, "a\\p"}, {{.sort = HGI_TOP_IN_FLIGHT}, "a\\p"},
        {{.sort = HGI_TOP_P99}, "a\\p"},   {{.sort = HGI_TOP_ENTRIES}, "a\\p"},
        {{.sort = HGI_TOP_BYTES}, "a\\p"}, {{.sort = HGI_TOP_BYTES, .is_reversed = true}, "p\\a"},
    };

    for (size_t i = 0; i < HGI_COUNT_OF(cases); i++) {
        struct hgi_top_sample now = sample(10000, 60000, false);
        const char *line = strchr(strstr(written(&now, NULL, cases[i].view), "CACHE"), '\n') + 1;
        char order[4] = "";

        for (size_t row = 0; row < 3; row++) {
            /* "a\x1bb" begins like "auth". */
            order[row] = line[1] == '\\' ? '\\' : line[0];
            line = strchr(line, '\n') + 1;
        }
        ck_assert_msg(strcmp(order, cases[i].order) == 0, "%s, %d: %s",
                      hgi_top_column_name(cases[i].view.sort), cases[i].view.is_reversed, order);
    }
}
END_TEST

START_TEST(json_has_all_of_it)
{
    struct hgi_top_sample now = sample(10000, 60000, false);
    json_t *json = hgi_top_json(&now);
    json_t *auth = json_array_get(json_object_get(json, "caches"), 0);

    ck_assert_str_eq(json_string_value(json_object_get(auth, "name")), "auth");
    ck_assert(json_real_value(json_object_get(auth, "hit_ratio")) == 0.8);
    ck_assert_int_eq(json_integer_value(json_object_get(auth, "load_p99_ms")), 1500);
    ck_assert(json_is_null(
        json_object_get(json_array_get(json_object_get(json, "caches"), 2), "hit_ratio")));
    ck_assert_str_eq(json_string_value(json_object_get(
                         json_array_get(json_object_get(json, "loaders"), 0), "state")),
                     "running");
    ck_assert(json_is_true(json_object_get(json, "serving")));
    json_decref(json);
}
END_TEST

HGI_SUITE("client.top", 20, once_it_prints_what_was_counted_since_the_start,
          between_two_looks_counts_are_a_second_and_the_ratio_is_of_that_time,
          caches_are_sorted_by_any_column_and_the_other_way_round, json_has_all_of_it)
