/* SPDX-License-Identifier: Apache-2.0 */
/* lru: least recently used goes first: the policy everybody knows, as the peer of ours.
 * Owns:     its lists until deinit.
 * Threads:  one.
 * Limits:   record numbers below the `numbers` it was made for.
 * Errors:   init: false when memory is out.
 * Not here: values: only who is there, and until when. */
#ifndef BENCH_LRU_H
#define BENCH_LRU_H

#include "herdgate/attr.h"
#include "herdgate/types.h"

struct lru_node {
    uint32_t older;
    uint32_t newer;
    int64_t end_ms;
    bool is_there;
};

struct lru {
    struct lru_node *nodes; /* one for each number, and one that is both ends */
    uint32_t numbers;
    uint32_t count;
    uint32_t capacity;
};

HG_NODISCARD bool lru_init(struct lru *lru, uint32_t numbers, uint32_t capacity);
void lru_deinit(struct lru *lru);
/* True: it is there and not over; it is the most recent now. */
bool lru_get(struct lru *lru, uint32_t number, int64_t now_ms);
void lru_put(struct lru *lru, uint32_t number, int64_t end_ms);

#endif
