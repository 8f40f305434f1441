/* SPDX-License-Identifier: Apache-2.0 */
#include "live.h"

#include "base/check.h"
#include "base/clock.h"

void hgi_live_init(struct hgi_live *live) HGI_UNCHECKED
{
    hgi_lock_init(&live->lock);
    hgi_cond_init(&live->idle);
    hgi_heap_init(&live->due, &hgi_heap);
    live->count = 0;
}

void hgi_live_deinit(struct hgi_live *live) HGI_UNCHECKED
{
    HGI_BUG_ON(live->count);
    hgi_heap_deinit(&live->due);
    hgi_cond_deinit(&live->idle);
    hgi_lock_deinit(&live->lock);
}

void hgi_live_begin(struct hgi_live_call *call, struct hgi_node *conn_calls)
{
    call->conn_calls = conn_calls;
    hgi_list_init(&call->of_conn);
    hgi_heap_node_init(&call->due);
    atomic_init(&call->state, HGI_LIVE_IN_TURN);
    atomic_init(&call->holders, 2); /* its turn, and what ends it */
    call->is_counted = false;
}

/* Unless it is answered. */
static void keep_locked(struct hgi_live *live, struct hgi_live_call *call) HGI_REQUIRES(dispatch)
{
    unsigned state = HGI_LIVE_IN_TURN;

    if (atomic_compare_exchange_strong(&call->state, &state, HGI_LIVE_KEPT)) {
        call->is_counted = true;
        live->count++;
        hgi_list_push_back(call->conn_calls, &call->of_conn);
    }
}

void hgi_live_set_due(struct hgi_live *live, struct hgi_live_call *call, int64_t due_ms)
{
    hgi_lock_dispatch(&live->lock);
    keep_locked(live, call);
    if (atomic_load(&call->state) == HGI_LIVE_KEPT) {
        bool is_set = hgi_heap_insert(&live->due, &call->due, due_ms);

        (void)is_set; /* without memory it ends with what it waits for */
    }
    hgi_unlock_dispatch(&live->lock);
}

static void answer_kept_locked(struct hgi_live *live, struct hgi_live_call *call)
    HGI_REQUIRES(dispatch)
{
    atomic_store(&call->state, HGI_LIVE_ANSWERED);
    hgi_list_remove(&call->of_conn);
    hgi_heap_remove(&live->due, &call->due);
}

bool hgi_live_answer(struct hgi_live *live, struct hgi_live_call *call)
{
    unsigned state = HGI_LIVE_IN_TURN;
    bool is_first;

    if (atomic_compare_exchange_strong(&call->state, &state, HGI_LIVE_ANSWERED)) {
        return true; /* nobody could have found it */
    }
    hgi_lock_dispatch(&live->lock);
    is_first = atomic_load(&call->state) == HGI_LIVE_KEPT;
    if (is_first) {
        answer_kept_locked(live, call);
    }
    hgi_unlock_dispatch(&live->lock);
    return is_first;
}

bool hgi_live_release(struct hgi_live *live, struct hgi_live_call *call)
{
    uint32_t holders = atomic_fetch_sub_explicit(&call->holders, 1, memory_order_acq_rel);

    HGI_BUG_ON(holders == 0);
    if (holders > 1) {
        return false;
    }
    if (call->is_counted) {
        hgi_lock_dispatch(&live->lock);
        if (--live->count == 0) {
            hgi_cond_wake_all(&live->idle);
        }
        hgi_unlock_dispatch(&live->lock);
    }
    return true;
}

bool hgi_live_end(struct hgi_live *live, struct hgi_live_call *call)
{
    HGI_BUG_ON(atomic_load(&call->state) != HGI_LIVE_ANSWERED);
    return hgi_live_release(live, call);
}

bool hgi_live_end_turn(struct hgi_live *live, struct hgi_live_call *call)
{
    if (atomic_load(&call->state) == HGI_LIVE_IN_TURN) {
        hgi_lock_dispatch(&live->lock);
        keep_locked(live, call);
        hgi_unlock_dispatch(&live->lock);
    }
    return hgi_live_release(live, call);
}

struct hgi_live_call *hgi_live_take_due(struct hgi_live *live, int64_t now_ms)
{
    struct hgi_live_call *call = NULL;
    struct hgi_heap_node *node;

    hgi_lock_dispatch(&live->lock);
    node = hgi_heap_first(&live->due);
    if (node && node->when_ms <= now_ms) {
        call = HGI_CONTAINER(node, struct hgi_live_call, due);
        answer_kept_locked(live, call);
        atomic_fetch_add(&call->holders, 1);
    }
    hgi_unlock_dispatch(&live->lock);
    return call;
}

struct hgi_live_call *hgi_live_take_first(struct hgi_live *live, struct hgi_node *conn_calls)
{
    struct hgi_live_call *call = NULL;
    struct hgi_node *node;

    hgi_lock_dispatch(&live->lock);
    node = hgi_list_pop_front(conn_calls);
    if (node) {
        call = HGI_CONTAINER(node, struct hgi_live_call, of_conn);
        atomic_fetch_add(&call->holders, 1);
    }
    hgi_unlock_dispatch(&live->lock);
    return call;
}

bool hgi_live_wait_idle(struct hgi_live *live, int64_t timeout_ms)
{
    int64_t end_ms = hgi_clock_now().boot_ms + timeout_ms;
    bool is_idle;

    hgi_lock_dispatch(&live->lock);
    while (live->count) {
        int64_t left_ms = end_ms - hgi_clock_now().boot_ms;

        if (left_ms <= 0) {
            break;
        }
        (void)hgi_cond_wait(&live->idle, &live->lock, left_ms);
    }
    is_idle = live->count == 0;
    hgi_unlock_dispatch(&live->lock);
    return is_idle;
}
