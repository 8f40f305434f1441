/* SPDX-License-Identifier: Apache-2.0 */
/* histogram: how long things took, in nanoseconds.
 * Owns:     its counts.
 * Threads:  one at a time; threads with one each are merged at the end.
 * Limits:   a quantile is at most 1/64 above the true value; 2^40 ns (18 min) is the longest.
 * Errors:   none; of nothing recorded every quantile is 0.
 * Not here: clocks (ticks), printing. */
#ifndef BENCH_HISTOGRAM_H
#define BENCH_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_PARTS_LOG2 6u /* parts of each power of two */
#define HISTOGRAM_VALUE_LOG2 40u
#define HISTOGRAM_PLACES                                                                           \
    ((HISTOGRAM_VALUE_LOG2 - HISTOGRAM_PARTS_LOG2 + 1u) << HISTOGRAM_PARTS_LOG2)

struct histogram {
    uint64_t counts[HISTOGRAM_PLACES];
    uint64_t count;
    uint64_t max;
};

void histogram_init(struct histogram *h);
void histogram_record(struct histogram *h, uint64_t value);
void histogram_merge(struct histogram *h, const struct histogram *other);
/* The smallest value known to be at least as large as `share` (0 to 1) of those recorded. */
uint64_t histogram_quantile(const struct histogram *h, double share);

#endif
