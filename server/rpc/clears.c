/* SPDX-License-Identifier: Apache-2.0 */
#include "clears.h"

#include "base/check.h"
#include "call.h"

#define STILL_RUN "cleared; loads begun before it still run"

void hgi_clears_init(struct hgi_clears *clears) HGI_UNCHECKED
{
    hgi_lock_init(&clears->lock);
    hgi_list_init(&clears->waiting);
    clears->is_closed = false;
}

void hgi_clears_deinit(struct hgi_clears *clears) HGI_UNCHECKED
{
    HGI_BUG_ON(!hgi_list_is_empty(&clears->waiting));
    hgi_lock_deinit(&clears->lock);
}

static bool is_over(const struct hgi_clear_wait *wait)
{
    for (size_t i = 0; i < wait->cleared_count; i++) {
        if (hgi_cache_has_loads_before(wait->cleared[i].cache, wait->cleared[i].generation)) {
            return false;
        }
    }
    return true;
}

/* True: its call has been finished. */
static bool finish_if_over(struct hgi_clear_wait *wait, const struct hgi_now *now)
{
    struct hgi_rpc *rpc = wait->rpc;

    if (is_over(wait)) {
        hgi_rpc_finish(rpc, HG_OK, hg_slice_of(NULL, 0), 0);
    } else if (rpc->due_ms <= now->boot_ms) {
        hgi_rpc_fail(rpc, HG_DEADLINE_EXCEEDED, STILL_RUN);
    } else if (atomic_load(&rpc->is_gone)) {
        hgi_rpc_fail(rpc, HG_CANCELLED, STILL_RUN ", and who waited for them is gone");
    } else {
        return false;
    }
    return true;
}

/* False: closed, and the wait is still the caller's. */
static bool enlist(struct hgi_clears *clears, struct hgi_clear_wait *wait)
{
    bool is_closed;

    hgi_lock_clears(&clears->lock);
    is_closed = clears->is_closed;
    if (!is_closed) {
        hgi_list_push_back(&clears->waiting, &wait->node);
    }
    hgi_unlock_clears(&clears->lock);
    return !is_closed;
}

static void enlist_or_refuse(struct hgi_clears *clears, struct hgi_clear_wait *wait)
{
    if (!enlist(clears, wait)) {
        hgi_rpc_fail(wait->rpc, HG_UNAVAILABLE, STILL_RUN ", and the server is stopping");
    }
}

void hgi_clears_wait(struct hgi_clears *clears, struct hgi_clear_wait *wait)
{
    struct hgi_now now = hgi_clock_now();

    /* The clock may answer before the tick does. */
    atomic_store(&wait->rpc->late_sentence, STILL_RUN);
    if (!finish_if_over(wait, &now)) {
        enlist_or_refuse(clears, wait);
    }
}

/* Whoever takes them off the list finishes them, or puts them back. */
static void take_all(struct hgi_clears *clears, bool is_last, struct hgi_node *ret_waiting)
{
    hgi_list_init(ret_waiting);
    hgi_lock_clears(&clears->lock);
    clears->is_closed = clears->is_closed || is_last;
    hgi_list_move_all(&clears->waiting, ret_waiting);
    hgi_unlock_clears(&clears->lock);
}

void hgi_clears_tick(struct hgi_clears *clears, const struct hgi_now *now)
{
    struct hgi_node waiting;
    struct hgi_node *node;

    take_all(clears, false, &waiting);
    while ((node = hgi_list_pop_front(&waiting)) != NULL) {
        struct hgi_clear_wait *wait = HGI_CONTAINER(node, struct hgi_clear_wait, node);

        if (!finish_if_over(wait, now)) {
            enlist_or_refuse(clears, wait);
        }
    }
}

void hgi_clears_close(struct hgi_clears *clears)
{
    struct hgi_node waiting;
    struct hgi_node *node;

    take_all(clears, true, &waiting);
    while ((node = hgi_list_pop_front(&waiting)) != NULL) {
        enlist_or_refuse(clears, HGI_CONTAINER(node, struct hgi_clear_wait, node));
    }
}
