/* SPDX-License-Identifier: Apache-2.0 */
#include "histogram.h"

#include "base/check.h"

static const uint64_t bounds_ms[HGI_HISTOGRAM_BOUNDS] = {
    1,        2,        5,        10,        20,        50,        100,
    200,      500,      1000,     2000,      5000,      10000,     20000,
    50000,    100000,   200000,   500000,    1000000,   2000000,   5000000,
    10000000, 20000000, 50000000, 100000000, 200000000, 500000000, 1000000000,
};

uint64_t hgi_histogram_bound_ms(size_t index)
{
    HGI_BUG_ON(index >= HGI_HISTOGRAM_BOUNDS);
    return bounds_ms[index];
}

void hgi_histogram_record(struct hgi_histogram *histogram, int64_t value_ms)
{
    uint64_t value = value_ms > 0 ? (uint64_t)value_ms : 0;
    size_t low = 0;
    size_t high = HGI_HISTOGRAM_BOUNDS;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (value <= bounds_ms[middle]) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    atomic_fetch_add_explicit(&histogram->counts[low], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&histogram->sum_ms, value, memory_order_relaxed);
}

void hgi_histogram_read(const struct hgi_histogram *histogram,
                        struct hgi_histogram_counts *ret_counts)
{
    struct hgi_histogram *read = (struct hgi_histogram *)(uintptr_t)histogram;

    for (size_t i = 0; i <= HGI_HISTOGRAM_BOUNDS; i++) {
        ret_counts->counts[i] = atomic_load_explicit(&read->counts[i], memory_order_relaxed);
    }
    ret_counts->sum_ms = atomic_load_explicit(&read->sum_ms, memory_order_relaxed);
}

void hgi_histogram_since(const struct hgi_histogram_counts *counts,
                         const struct hgi_histogram_counts *earlier,
                         struct hgi_histogram_counts *ret_counts)
{
    for (size_t i = 0; i <= HGI_HISTOGRAM_BOUNDS; i++) {
        ret_counts->counts[i] = counts->counts[i] - earlier->counts[i];
    }
    ret_counts->sum_ms = counts->sum_ms - earlier->sum_ms;
}

uint64_t hgi_histogram_total(const struct hgi_histogram_counts *counts)
{
    uint64_t total = 0;

    for (size_t i = 0; i <= HGI_HISTOGRAM_BOUNDS; i++) {
        total += counts->counts[i];
    }
    return total;
}

double hgi_histogram_quantile_ms(const struct hgi_histogram_counts *counts, double share)
{
    double wanted = share * (double)hgi_histogram_total(counts);
    double below = 0;

    for (size_t i = 0; i < HGI_HISTOGRAM_BOUNDS; i++) {
        double here = (double)counts->counts[i];

        if (here > 0 && below + here >= wanted) {
            double low = i > 0 ? (double)bounds_ms[i - 1] : 0;

            return low + ((double)bounds_ms[i] - low) * (wanted - below) / here;
        }
        below += here;
    }
    return below < wanted ? (double)bounds_ms[HGI_HISTOGRAM_BOUNDS - 1] : 0;
}
