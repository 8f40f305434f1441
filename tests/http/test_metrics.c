/* SPDX-License-Identifier: Apache-2.0 */
/* The page that Prometheus reads, line by line. Loaders, and what promtool says of it:
 * test_operator. */
#include "operator_scene.h"

#include <stdio.h>
#include <stdlib.h>

#define FAMILIES_MAX 128

static const char *page(void)
{
    scene_ask(hgi_http_metrics, "/metrics");
    return scene_body(200);
}

static void assert_has(const char *text, const char *line)
{
    ck_assert_msg(strstr(text, line) != NULL, "no %s", line);
}

START_TEST(every_family_is_described_once_before_its_lines)
{
    static char families[FAMILIES_MAX][96];
    size_t count = 0;
    char *line;
    char *rest;
    char *text;

    scene_open();
    text = strdup(page());
    for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char name[96];
        char type[16];
        size_t len = strcspn(line, "{ ");

        if (sscanf(line, "# HELP %95s", name) == 1) {
            for (size_t i = 0; i < count; i++) {
                ck_assert_str_ne(families[i], name);
            }
            ck_assert_uint_lt(count, FAMILIES_MAX);
            snprintf(families[count++], sizeof(families[0]), "%s", name);
        } else if (sscanf(line, "# TYPE %95s %15s", name, type) == 2) {
            ck_assert_str_eq(name, families[count - 1]);
            ck_assert_msg(strcmp(type, "counter") == 0 || strcmp(type, "gauge") == 0 ||
                              strcmp(type, "histogram") == 0,
                          "%s", line);
            /* Counters are told by their names. */
            ck_assert_msg((strcmp(type, "counter") == 0) ==
                              (strlen(name) > 6 && strcmp(name + strlen(name) - 6, "_total") == 0),
                          "%s", line);
        } else {
            ck_assert_msg(count &&
                              strncmp(line, families[count - 1], strlen(families[count - 1])) == 0,
                          "%s is of %s", line, families[count - 1]);
            ck_assert_msg(line[len] == '{' ? strstr(line, "\"} ") != NULL : line[len] == ' ', "%s",
                          line);
        }
    }
    ck_assert_uint_gt(count, 30);
    free(text);
    scene_close();
}
END_TEST

START_TEST(counters_of_every_cache_are_there_though_nothing_has_happened)
{
    static const char *const names[] = {"bytes", "json", "auth"};
    static const char *const results[] = {"hit", "local_hit", "stale", "negative", "miss", "error"};
    const char *text;
    char line[128];

    scene_open();
    text = page();
    for (size_t c = 0; c < SCENE_CACHES_MAX; c++) {
        for (size_t r = 0; r < sizeof(results) / sizeof(results[0]); r++) {
            snprintf(line, sizeof(line),
                     "\nherdgate_requests_total{cache=\"%s\",result=\"%s\"} 0\n", names[c],
                     results[r]);
            assert_has(text, line);
        }
        snprintf(line, sizeof(line), "\nherdgate_entries{cache=\"%s\"} 0\n", names[c]);
        assert_has(text, line);
        snprintf(line, sizeof(line), "\nherdgate_entries_max{cache=\"%s\"} 16\n", names[c]);
        assert_has(text, line);
        snprintf(line, sizeof(line), "\nherdgate_load_errors_total{cache=\"%s\"} 0\n", names[c]);
        assert_has(text, line);
    }
    scene_close();
}
END_TEST

START_TEST(what_has_happened_is_counted)
{
    const char *text;

    scene_open();
    hgi_cache_count_local(scene_caches[1], 42);
    text = page();
    ck_assert_str_eq(scene_field("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
    assert_has(text, "\nherdgate_requests_total{cache=\"json\",result=\"local_hit\"} 42\n");
    assert_has(text, "\nherdgate_requests_total{cache=\"bytes\",result=\"local_hit\"} 0\n");
    assert_has(text, "\nherdgate_build_info{version=\"1.2.3\",abi=\"1\"} 1\n");
    assert_has(text, "\nherdgate_uptime_seconds 5.000\n");
    assert_has(text, "\nherdgate_connections_open 3\n");
    assert_has(text, "\nherdgate_rpc_requests_total 4\n");
    ck_assert_ptr_null(strstr(text, "herdgate_snapshot"));
    ck_assert_ptr_null(strstr(text, "herdgate_loader_up"));
    scene_close();
}
END_TEST

/* Each bucket holds those below it, and the last one all. */
START_TEST(buckets_grow_to_the_count)
{
    static const char *const families[] = {"herdgate_load_duration_seconds",
                                           "herdgate_age_at_serve_seconds"};

    scene_open();
    scene_post(hgi_http_put, "{\"cache\":\"json\",\"key\":\"k\",\"value\":1}");
    scene_have_answered();
    scene_post(hgi_http_get, "{\"cache\":\"json\",\"key\":\"k\"}");
    scene_have_answered();
    for (size_t f = 0; f < sizeof(families) / sizeof(families[0]); f++) {
        const char *text = page();
        char start[128];
        unsigned long before = 0;
        double bound = -1;
        size_t buckets = 0;
        unsigned long total;

        snprintf(start, sizeof(start), "\n%s_bucket{cache=\"json\",loader=\"\",le=\"", families[f]);
        for (const char *at = strstr(text, start); at; at = strstr(at + 1, start)) {
            char *end;
            const char *le = at + strlen(start);
            double this_bound = strncmp(le, "+Inf", 4) == 0 ? 1e300 : strtod(le, &end);
            unsigned long value = strtoul(strstr(le, "} ") + 2, NULL, 10);

            ck_assert_double_gt(this_bound, bound);
            ck_assert_uint_ge(value, before);
            bound = this_bound;
            before = value;
            buckets++;
        }
        ck_assert_double_eq(bound, 1e300);
        ck_assert_uint_eq(buckets, HGI_HISTOGRAM_BOUNDS + 1);
        snprintf(start, sizeof(start), "\n%s_count{cache=\"json\",loader=\"\"} ", families[f]);
        ck_assert_ptr_nonnull(strstr(text, start));
        total = strtoul(strstr(text, start) + strlen(start), NULL, 10);
        ck_assert_uint_eq(total, before);
        ck_assert_uint_eq(total, f); /* nothing was loaded, and one answer was of some age */
        snprintf(start, sizeof(start), "\n%s_sum{cache=\"json\",loader=\"\"} ", families[f]);
        assert_has(text, start);
    }
    scene_close();
}
END_TEST

HGI_SUITE("http.metrics", 20, every_family_is_described_once_before_its_lines,
          counters_of_every_cache_are_there_though_nothing_has_happened,
          what_has_happened_is_counted, buckets_grow_to_the_count)
