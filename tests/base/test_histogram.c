/* SPDX-License-Identifier: Apache-2.0 */
#include "hg_test.h"

#include "base/histogram.h"
#include "base/thread.h"

static struct hgi_histogram histogram;
static struct hgi_histogram_counts counts;

static void setup(void)
{
    memset(&histogram, 0, sizeof(histogram));
}

START_TEST(bounds_rise_from_one_millisecond_to_eleven_days)
{
    ck_assert_uint_eq(hgi_histogram_bound_ms(0), 1);
    for (size_t i = 1; i < HGI_HISTOGRAM_BOUNDS; i++) {
        ck_assert_uint_gt(hgi_histogram_bound_ms(i), hgi_histogram_bound_ms(i - 1));
    }
    ck_assert_uint_eq(hgi_histogram_bound_ms(HGI_HISTOGRAM_BOUNDS - 1), 1000000000);
}
END_TEST

START_TEST(each_value_counts_at_the_first_bound_it_is_not_beyond)
{
    setup();
    for (size_t i = 0; i < HGI_HISTOGRAM_BOUNDS; i++) {
        hgi_histogram_record(&histogram, (int64_t)hgi_histogram_bound_ms(i));
    }
    hgi_histogram_record(&histogram, 1000000001);
    hgi_histogram_record(&histogram, -5);
    hgi_histogram_record(&histogram, 3);
    hgi_histogram_read(&histogram, &counts);
    for (size_t i = 0; i <= HGI_HISTOGRAM_BOUNDS; i++) {
        ck_assert_uint_eq(counts.counts[i], i == 0 || i == 2 ? 2 : 1); /* -5 is 0; 3 is within 5 */
    }
    ck_assert_uint_eq(hgi_histogram_total(&counts), HGI_HISTOGRAM_BOUNDS + 3);
    ck_assert_uint_eq(counts.sum_ms, UINT64_C(1888888888) + 1000000001 + 3);
}
END_TEST

START_TEST(a_quantile_lies_between_the_bounds_of_its_place)
{
    setup();
    for (int i = 0; i < 90; i++) {
        hgi_histogram_record(&histogram, 15);
    }
    for (int i = 0; i < 10; i++) {
        hgi_histogram_record(&histogram, 700);
    }
    hgi_histogram_read(&histogram, &counts);
    ck_assert_double_eq_tol(hgi_histogram_quantile_ms(&counts, 0.45), 15.0, 0.001);
    ck_assert_double_eq_tol(hgi_histogram_quantile_ms(&counts, 0.9), 20.0, 0.001);
    ck_assert_double_eq_tol(hgi_histogram_quantile_ms(&counts, 0.95), 750.0, 0.001);
    ck_assert_double_eq_tol(hgi_histogram_quantile_ms(&counts, 1.0), 1000.0, 0.001);
}
END_TEST

START_TEST(of_nothing_a_quantile_is_zero_and_beyond_all_bounds_the_last)
{
    setup();
    hgi_histogram_read(&histogram, &counts);
    ck_assert_double_eq(hgi_histogram_quantile_ms(&counts, 0.99), 0);
    hgi_histogram_record(&histogram, INT64_MAX);
    hgi_histogram_read(&histogram, &counts);
    ck_assert_double_eq(hgi_histogram_quantile_ms(&counts, 0.5), 1e9);
}
END_TEST

START_TEST(since_is_what_came_after)
{
    struct hgi_histogram_counts earlier;
    struct hgi_histogram_counts later;

    setup();
    hgi_histogram_record(&histogram, 10);
    hgi_histogram_read(&histogram, &earlier);
    hgi_histogram_record(&histogram, 10);
    hgi_histogram_record(&histogram, 100);
    hgi_histogram_read(&histogram, &later);
    hgi_histogram_since(&later, &earlier, &counts);
    ck_assert_uint_eq(hgi_histogram_total(&counts), 2);
    ck_assert_uint_eq(counts.sum_ms, 110);
    ck_assert_uint_eq(counts.counts[3], 1);
    ck_assert_uint_eq(counts.counts[6], 1);
}
END_TEST

static void record(void *arg)
{
    for (int i = 0; i < 50000; i++) {
        hgi_histogram_record(arg, 3);
    }
}

START_TEST(nothing_is_lost_between_threads)
{
    static struct hgi_histogram shared;
    struct hgi_thread threads[4];

    for (size_t i = 0; i < 4; i++) {
        ck_assert(hgi_thread_start(&threads[i], "record", record, &shared));
    }
    for (size_t i = 0; i < 4; i++) {
        hgi_thread_join(&threads[i]);
    }
    hgi_histogram_read(&shared, &counts);
    ck_assert_uint_eq(counts.counts[2], 200000);
    ck_assert_uint_eq(counts.sum_ms, 600000);
}
END_TEST

HGI_SUITE("base.histogram", 20, bounds_rise_from_one_millisecond_to_eleven_days,
          each_value_counts_at_the_first_bound_it_is_not_beyond,
          a_quantile_lies_between_the_bounds_of_its_place,
          of_nothing_a_quantile_is_zero_and_beyond_all_bounds_the_last, since_is_what_came_after,
          nothing_is_lost_between_threads)
