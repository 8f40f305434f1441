/* SPDX-License-Identifier: Apache-2.0 */
#include "draw.h"
#include "hg_test.h"
#include "histogram.h"

static struct histogram h;

START_TEST(of_nothing_every_quantile_is_0)
{
    histogram_init(&h);
    ck_assert_uint_eq(histogram_quantile(&h, 0.5), 0);
    ck_assert_uint_eq(histogram_quantile(&h, 1), 0);
}
END_TEST

START_TEST(small_values_are_exact)
{
    histogram_init(&h);
    for (uint64_t value = 1; value <= 100; value++) {
        histogram_record(&h, value);
    }
    ck_assert_uint_eq(histogram_quantile(&h, 0), 1);
    ck_assert_uint_eq(histogram_quantile(&h, 0.5), 50);
    ck_assert_uint_eq(histogram_quantile(&h, 0.99), 99);
    ck_assert_uint_eq(histogram_quantile(&h, 1), 100);
}
END_TEST

START_TEST(every_value_is_found_at_most_a_64th_above_itself)
{
    struct draw draw = draw_seeded(7);

    for (int i = 0; i < 2000; i++) {
        uint64_t value = draw_bits(&draw) >> (24 + draw_below(&draw, 40));
        uint64_t found;

        histogram_init(&h);
        histogram_record(&h, value);
        h.max = UINT64_MAX; /* or it would be exact: nothing is above the largest */
        found = histogram_quantile(&h, 0.5);
        ck_assert_uint_ge(found, value);
        ck_assert_uint_le(found - value, value / 64 + 1);
    }
}
END_TEST

START_TEST(no_quantile_is_above_the_largest)
{
    histogram_init(&h);
    histogram_record(&h, 1000001);
    ck_assert_uint_eq(histogram_quantile(&h, 0.5), 1000001);
    ck_assert_uint_eq(histogram_quantile(&h, 1), 1000001);
}
END_TEST

START_TEST(what_is_too_long_counts_as_the_longest)
{
    histogram_init(&h);
    histogram_record(&h, UINT64_MAX);
    ck_assert_uint_eq(h.count, 1);
    ck_assert_uint_eq(histogram_quantile(&h, 1), (UINT64_C(1) << HISTOGRAM_VALUE_LOG2) - 1);
}
END_TEST

START_TEST(merged_it_is_as_if_one_had_recorded_all)
{
    static struct histogram other;

    histogram_init(&h);
    histogram_init(&other);
    for (uint64_t value = 0; value < 50; value++) {
        histogram_record(&h, value);
        histogram_record(&other, value + 50);
    }
    histogram_merge(&h, &other);
    ck_assert_uint_eq(h.count, 100);
    ck_assert_uint_eq(histogram_quantile(&h, 0.75), 74);
    ck_assert_uint_eq(histogram_quantile(&h, 1), 99);
}
END_TEST

HGI_SUITE("bench.histogram", 20, of_nothing_every_quantile_is_0, small_values_are_exact,
          every_value_is_found_at_most_a_64th_above_itself, no_quantile_is_above_the_largest,
          what_is_too_long_counts_as_the_longest, merged_it_is_as_if_one_had_recorded_all)
