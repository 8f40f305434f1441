/* SPDX-License-Identifier: Apache-2.0 */
#include "histogram.h"

#include <string.h>

#define PARTS     (1u << HISTOGRAM_PARTS_LOG2)
#define VALUE_MAX ((UINT64_C(1) << HISTOGRAM_VALUE_LOG2) - 1)

/* Below PARTS each value has a place of its own; above, each power of two has PARTS places. */
static uint32_t place_of(uint64_t value)
{
    uint32_t shift;

    if (value < PARTS) {
        return (uint32_t)value;
    }
    shift = 63u - (uint32_t)__builtin_clzll(value) - HISTOGRAM_PARTS_LOG2;
    return (shift << HISTOGRAM_PARTS_LOG2) + (uint32_t)(value >> shift);
}

static uint64_t end_of(uint32_t place)
{
    uint32_t shift;

    if (place < 2 * PARTS) {
        return place;
    }
    shift = (place >> HISTOGRAM_PARTS_LOG2) - 1;
    return (((uint64_t)(place - (shift << HISTOGRAM_PARTS_LOG2)) + 1) << shift) - 1;
}

void histogram_init(struct histogram *h)
{
    memset(h, 0, sizeof(*h));
}

void histogram_record(struct histogram *h, uint64_t value)
{
    if (value > VALUE_MAX) {
        value = VALUE_MAX;
    }
    h->counts[place_of(value)]++;
    h->count++;
    h->max = value > h->max ? value : h->max;
}

void histogram_merge(struct histogram *h, const struct histogram *other)
{
    for (uint32_t i = 0; i < HISTOGRAM_PLACES; i++) {
        h->counts[i] += other->counts[i];
    }
    h->count += other->count;
    h->max = other->max > h->max ? other->max : h->max;
}

uint64_t histogram_quantile(const struct histogram *h, double share)
{
    double wanted = share * (double)h->count;
    uint64_t seen = 0;

    for (uint32_t i = 0; i < HISTOGRAM_PLACES && h->count > 0; i++) {
        seen += h->counts[i];
        if (seen > 0 && (double)seen >= wanted) {
            return end_of(i) < h->max ? end_of(i) : h->max;
        }
    }
    return h->max;
}
