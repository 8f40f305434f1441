/* SPDX-License-Identifier: Apache-2.0 */
/* histogram: how long things took or how old they were, in milliseconds.
 * Owns:     the numbers.
 * Threads:  any; each count is exact, a set of them read together is not one instant.
 * Limits:   the bounds go 1, 2, 5, 10 ... to 10^9 ms (eleven days); what is more has a place of its
 *           own. A millisecond is the finest there is, as the engine's clock has it.
 * Errors:   none.
 * Not here: counters (metric), who shows them. */
#ifndef HGI_BASE_HISTOGRAM_H
#define HGI_BASE_HISTOGRAM_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define HGI_HISTOGRAM_BOUNDS 28u

struct hgi_histogram {
    _Atomic uint64_t counts[HGI_HISTOGRAM_BOUNDS + 1]; /* the last: beyond all bounds */
    _Atomic uint64_t sum_ms;
};

/* What a histogram held, for who looks at it. */
struct hgi_histogram_counts {
    uint64_t counts[HGI_HISTOGRAM_BOUNDS + 1];
    uint64_t sum_ms;
};

/* The most that the place holds; index below HGI_HISTOGRAM_BOUNDS. */
uint64_t hgi_histogram_bound_ms(size_t index);
/* What is negative counts as 0. */
void hgi_histogram_record(struct hgi_histogram *histogram, int64_t value_ms);
void hgi_histogram_read(const struct hgi_histogram *histogram,
                        struct hgi_histogram_counts *ret_counts);
/* What came since `earlier`, of the same histogram. */
void hgi_histogram_since(const struct hgi_histogram_counts *counts,
                         const struct hgi_histogram_counts *earlier,
                         struct hgi_histogram_counts *ret_counts);
uint64_t hgi_histogram_total(const struct hgi_histogram_counts *counts);
/* So much that `share` (0 to 1) of all are no more, estimated between the bounds, in milliseconds;
 * 0 if there are none. Beyond all bounds it is the last one. */
double hgi_histogram_quantile_ms(const struct hgi_histogram_counts *counts, double share);

#endif
