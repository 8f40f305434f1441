/* SPDX-License-Identifier: Apache-2.0 */
/* ops: a fixed run of reads, drawn and written out before any clock runs.
 * Owns:     its memory until deinit.
 * Threads:  any once made.
 * Limits:   keys of RECORD_KEY_LEN bytes, one after the other, so that reading them costs no miss.
 * Errors:   init: false when memory is out.
 * Not here: who is asked (shelf). */
#ifndef BENCH_OPS_H
#define BENCH_OPS_H

#include "draw.h"
#include "record.h"

struct ops {
    unsigned char *keys;
    uint32_t *numbers;
    uint64_t *words; /* the first 8 bytes of each value */
    size_t count;
};

/* Draws `count` of the records 0 to `records` - 1: uniformly, or by `zipf` if it is not NULL. */
HG_NODISCARD bool ops_init(struct ops *ops, size_t count, uint32_t records, const struct zipf *zipf,
                           uint64_t seed);
void ops_deinit(struct ops *ops);

static inline struct hg_slice ops_key(const struct ops *ops, size_t index)
{
    return hg_slice_of(ops->keys + index * RECORD_KEY_LEN, RECORD_KEY_LEN);
}

/* Long enough and with the right beginning: all that a loop of nanoseconds can afford to look at.
 */
static inline bool ops_value_is(const struct ops *ops, size_t index, const void *value, size_t len)
{
    return len == RECORD_VALUE_LEN &&
           memcmp(value, &ops->words[index], sizeof(ops->words[index])) == 0;
}

#endif
