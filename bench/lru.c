/* SPDX-License-Identifier: Apache-2.0 */
#include "lru.h"

#include <stdlib.h>

bool lru_init(struct lru *lru, uint32_t numbers, uint32_t capacity)
{
    lru->nodes = calloc((size_t)numbers + 1, sizeof(*lru->nodes));
    lru->numbers = numbers;
    lru->count = 0;
    lru->capacity = capacity;
    if (lru->nodes) {
        lru->nodes[numbers].older = lru->nodes[numbers].newer = numbers;
    }
    return lru->nodes != NULL;
}

void lru_deinit(struct lru *lru)
{
    free(lru->nodes);
    lru->nodes = NULL;
}

static void take_out(struct lru *lru, uint32_t number)
{
    struct lru_node *node = &lru->nodes[number];

    lru->nodes[node->newer].older = node->older;
    lru->nodes[node->older].newer = node->newer;
    node->is_there = false;
    lru->count--;
}

/* Behind the end's `older` is the newest, behind its `newer` the oldest. */
static void put_in(struct lru *lru, uint32_t number)
{
    uint32_t newest = lru->nodes[lru->numbers].older;
    struct lru_node *node = &lru->nodes[number];

    node->older = newest;
    node->newer = lru->numbers;
    lru->nodes[newest].newer = number;
    lru->nodes[lru->numbers].older = number;
    node->is_there = true;
    lru->count++;
}

bool lru_get(struct lru *lru, uint32_t number, int64_t now_ms)
{
    struct lru_node *node = &lru->nodes[number];

    if (!node->is_there) {
        return false;
    }
    take_out(lru, number);
    if (node->end_ms < now_ms) {
        return false;
    }
    put_in(lru, number);
    return true;
}

void lru_put(struct lru *lru, uint32_t number, int64_t end_ms)
{
    if (lru->nodes[number].is_there) {
        take_out(lru, number);
    } else if (lru->count == lru->capacity) {
        take_out(lru, lru->nodes[lru->numbers].newer);
    }
    put_in(lru, number);
    lru->nodes[number].end_ms = end_ms;
}
