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

void hgi_live_enter(struct hgi_live *live, struct hgi_live_call *call, struct hgi_node *of_conn)
{
    hgi_heap_node_init(&call->due);
    call->pins = 0;
    call->is_answered = false;
    call->is_ended = false;
    hgi_lock_dispatch(&live->lock);
    hgi_list_push_back(of_conn, &call->of_conn);
    live->count++;
    hgi_unlock_dispatch(&live->lock);
}

void hgi_live_set_due(struct hgi_live *live, struct hgi_live_call *call, int64_t due_ms)
{
    hgi_lock_dispatch(&live->lock);
    if (!call->is_answered) {
        bool is_set = hgi_heap_insert(&live->due, &call->due, due_ms);

        (void)is_set; /* without memory it ends with what it waits for */
    }
    hgi_unlock_dispatch(&live->lock);
}

static void answer_locked(struct hgi_live *live, struct hgi_live_call *call) HGI_REQUIRES(dispatch)
{
    call->is_answered = true;
    hgi_list_remove(&call->of_conn);
    hgi_heap_remove(&live->due, &call->due);
}

bool hgi_live_answer(struct hgi_live *live, struct hgi_live_call *call)
{
    bool is_first;

    hgi_lock_dispatch(&live->lock);
    is_first = !call->is_answered;
    if (is_first) {
        answer_locked(live, call);
    }
    hgi_unlock_dispatch(&live->lock);
    return is_first;
}

/* True: nobody has it any more. */
static bool is_gone_locked(struct hgi_live *live, const struct hgi_live_call *call)
    HGI_REQUIRES(dispatch)
{
    if (!call->is_ended || call->pins) {
        return false;
    }
    if (--live->count == 0) {
        hgi_cond_wake_all(&live->idle);
    }
    return true;
}

bool hgi_live_end(struct hgi_live *live, struct hgi_live_call *call)
{
    bool is_gone;

    hgi_lock_dispatch(&live->lock);
    HGI_BUG_ON(!call->is_answered || call->is_ended);
    call->is_ended = true;
    is_gone = is_gone_locked(live, call);
    hgi_unlock_dispatch(&live->lock);
    return is_gone;
}

struct hgi_live_call *hgi_live_take_due(struct hgi_live *live, int64_t now_ms)
{
    struct hgi_live_call *call = NULL;
    struct hgi_heap_node *node;

    hgi_lock_dispatch(&live->lock);
    node = hgi_heap_first(&live->due);
    if (node && node->when_ms <= now_ms) {
        call = HGI_CONTAINER(node, struct hgi_live_call, due);
        answer_locked(live, call);
        call->pins++;
    }
    hgi_unlock_dispatch(&live->lock);
    return call;
}

struct hgi_live_call *hgi_live_take_first(struct hgi_live *live, struct hgi_node *of_conn)
{
    struct hgi_live_call *call = NULL;
    struct hgi_node *node;

    hgi_lock_dispatch(&live->lock);
    node = hgi_list_pop_front(of_conn);
    if (node) {
        call = HGI_CONTAINER(node, struct hgi_live_call, of_conn);
        call->pins++;
    }
    hgi_unlock_dispatch(&live->lock);
    return call;
}

bool hgi_live_unpin(struct hgi_live *live, struct hgi_live_call *call)
{
    bool is_gone;

    hgi_lock_dispatch(&live->lock);
    call->pins--;
    is_gone = is_gone_locked(live, call);
    hgi_unlock_dispatch(&live->lock);
    return is_gone;
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
