/* SPDX-License-Identifier: Apache-2.0 */
/* metric: one cache's counters.
 * Owns:     the numbers (metrics.def).
 * Threads:  any; each counter is exact, a set of them read together is not one instant.
 * Limits:   64 bits.
 * Errors:   none.
 * Not here: gauges (in flight, entries, bytes): they are read from who holds them. */
#ifndef HGI_BASE_METRIC_H
#define HGI_BASE_METRIC_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum hgi_metric {
#define HGI_METRIC_ROW(name, help) HGI_METRIC_##name,
#include "base/metrics.def"
#undef HGI_METRIC_ROW
    HGI_METRIC_COUNT
};

struct hgi_metrics {
    _Atomic uint64_t values[HGI_METRIC_COUNT];
};

/* The row's name; static storage. */
const char *hgi_metric_name(enum hgi_metric metric);

static inline void hgi_metric_add(struct hgi_metrics *metrics, enum hgi_metric metric,
                                  uint64_t count)
{
    atomic_fetch_add_explicit(&metrics->values[metric], count, memory_order_relaxed);
}

static inline uint64_t hgi_metric_get(const struct hgi_metrics *metrics, enum hgi_metric metric)
{
    return atomic_load_explicit(&((struct hgi_metrics *)(uintptr_t)metrics)->values[metric],
                                memory_order_relaxed);
}

#endif
