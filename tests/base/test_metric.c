/* SPDX-License-Identifier: Apache-2.0 */
#include "hg_test.h"

#include "base/metric.h"
#include "base/thread.h"

static struct hgi_metrics metrics;

START_TEST(each_counter_counts_by_itself)
{
    for (int i = 0; i < HGI_METRIC_COUNT; i++) {
        hgi_metric_add(&metrics, (enum hgi_metric)i, (uint64_t)i + 1);
        hgi_metric_add(&metrics, (enum hgi_metric)i, 100);
    }
    for (int i = 0; i < HGI_METRIC_COUNT; i++) {
        ck_assert_uint_eq(hgi_metric_get(&metrics, (enum hgi_metric)i), (uint64_t)i + 101);
    }
}
END_TEST

START_TEST(names_are_there_and_differ)
{
    for (int i = 0; i < HGI_METRIC_COUNT; i++) {
        ck_assert_uint_gt(strlen(hgi_metric_name((enum hgi_metric)i)), 0);
        for (int n = 0; n < i; n++) {
            ck_assert_str_ne(hgi_metric_name((enum hgi_metric)i),
                             hgi_metric_name((enum hgi_metric)n));
        }
    }
    ck_assert_str_eq(hgi_metric_name(HGI_METRIC_hit), "hit");
    ck_assert_str_eq(hgi_metric_name(HGI_METRIC_fenced), "fenced");
}
END_TEST

static void count_up(void *arg)
{
    struct hgi_metrics *shared = arg;

    for (int i = 0; i < 50000; i++) {
        hgi_metric_add(shared, HGI_METRIC_hit, 1);
    }
}

START_TEST(no_count_is_lost_between_threads)
{
    static struct hgi_metrics shared;
    struct hgi_thread threads[4];

    for (size_t i = 0; i < 4; i++) {
        ck_assert(hgi_thread_start(&threads[i], "count", count_up, &shared));
    }
    for (size_t i = 0; i < 4; i++) {
        hgi_thread_join(&threads[i]);
    }
    ck_assert_uint_eq(hgi_metric_get(&shared, HGI_METRIC_hit), 200000);
}
END_TEST

HGI_SUITE("base.metric", 20, each_counter_counts_by_itself, names_are_there_and_differ,
          no_count_is_lost_between_threads)
