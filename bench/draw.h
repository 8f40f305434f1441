/* SPDX-License-Identifier: Apache-2.0 */
/* draw: which key is asked for next.
 * Owns:     a random state; a Zipf table's memory until deinit.
 * Threads:  one a state; a Zipf table may be shared once made.
 * Limits:   a Zipf table has up to 2^32 - 1 ranks and takes 8 bytes each.
 * Errors:   zipf_init: false when memory is out.
 * Not here: what a key looks like (record). */
#ifndef BENCH_DRAW_H
#define BENCH_DRAW_H

#include "herdgate/attr.h"
#include "herdgate/types.h"

/* xorshift64*: never 0. */
struct draw {
    uint64_t state;
};

static inline struct draw draw_seeded(uint64_t seed)
{
    struct draw d = {seed * UINT64_C(0x9E3779B97F4A7C15) | 1};

    return d;
}

static inline uint64_t draw_bits(struct draw *d)
{
    d->state ^= d->state >> 12;
    d->state ^= d->state << 25;
    d->state ^= d->state >> 27;
    return d->state * UINT64_C(0x2545F4914F6CDD1D);
}

/* Below `below`, which is below 2^32. */
static inline uint32_t draw_below(struct draw *d, uint32_t below)
{
    return (uint32_t)(((draw_bits(d) >> 32) * below) >> 32);
}

/* 0 to 1, without 1. */
static inline double draw_share(struct draw *d)
{
    return (double)(draw_bits(d) >> 11) * 0x1p-53;
}

struct zipf {
    double *sums; /* sums[i]: the share of ranks 0 to i */
    uint32_t count;
};

HG_NODISCARD bool zipf_init(struct zipf *z, uint32_t count, double alpha);
void zipf_deinit(struct zipf *z);
/* A rank; 0 is the most frequent. */
uint32_t zipf_draw(const struct zipf *z, struct draw *d);
/* The rank as a key's number, so that frequent keys do not lie side by side. */
uint32_t zipf_scatter(const struct zipf *z, uint32_t rank);

#endif
