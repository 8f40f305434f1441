/* SPDX-License-Identifier: Apache-2.0 */
#include "flight.h"

#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "lease.h"

uint64_t hgi_flight_random(struct hgi_cache *cache)
{
    cache->random ^= cache->random << 13;
    cache->random ^= cache->random >> 7;
    cache->random ^= cache->random << 17;
    return cache->random;
}

uint64_t hgi_flight_hash(const struct hgi_cache *cache, struct hg_slice key)
{
    HGI_BUG_ON(cache->is_veiled && !hgi_veil_is_on(key));
    return hgi_table_hash(cache->table, key);
}

struct hg_slice hgi_flight_key(const struct hgi_flight *flight)
{
    return hg_slice_of(flight->key, flight->key_len);
}

struct hg_slice hgi_flight_load_key(const struct hgi_flight *flight)
{
    return flight->load_key_len ? hg_slice_of(flight->key + flight->key_len, flight->load_key_len)
                                : hgi_flight_key(flight);
}

void hgi_flight_forget_load_key(struct hgi_flight *flight)
{
    explicit_bzero(flight->key + flight->key_len, flight->load_key_len);
    flight->load_key_len = 0;
}

static struct hgi_flight *of_key_node(struct hgi_map_node *node)
{
    return HGI_CONTAINER(node, struct hgi_flight, by_key);
}

struct hgi_flight *hgi_flight_find(const struct hgi_cache *cache, uint64_t hash,
                                   struct hg_slice key)
{
    struct hgi_map_node *node = hgi_map_find(&cache->flights, hash);

    while (node) {
        struct hgi_flight *flight = of_key_node(node);

        if (flight->has_slot && hgi_slice_equal(hgi_flight_key(flight), key)) {
            return flight;
        }
        node = hgi_map_find_next(node);
    }
    return NULL;
}

/* ---- starting and ending ---- */

static void start(struct hgi_cache *cache, struct hgi_flight *flight, struct hgi_work *work)
    HGI_REQUIRES(flight)
{
    flight->state = HGI_FLIGHT_STARTED;
    flight->pid = 0;
    flight->load_id = cache->next_load_id++;
    hgi_map_insert(&cache->loads, &flight->by_load, flight->load_id);
    cache->started_count++;
    flight->pins++;
    hgi_list_push_back(&work->starts, &flight->start_node);
    hgi_metric_add(&cache->metrics, HGI_METRIC_load, 1);
}

static void enqueue(struct hgi_cache *cache, struct hgi_flight *flight) HGI_REQUIRES(flight)
{
    flight->state = HGI_FLIGHT_QUEUED;
    hgi_list_push_back(&cache->queue, &flight->queue_node);
    cache->queued_count++;
}

static void dequeue(struct hgi_cache *cache, struct hgi_flight *flight) HGI_REQUIRES(flight)
{
    hgi_list_remove(&flight->queue_node);
    cache->queued_count--;
}

struct hgi_flight *hgi_flight_new(struct hgi_cache *cache, const struct hgi_call *call,
                                  bool has_slot, const struct hgi_now *now)
{
    struct hg_slice key = call->key;
    struct hg_slice load_key = call->load_key;
    struct hgi_flight *flight = NULL;

    /* So that the timeout can be set later, when there is nobody to tell of a failure. */
    if (!hgi_heap_reserve(&cache->load_timeouts,
                          cache->flight_count + 1 - cache->load_timeouts.count)) {
        return NULL;
    }
    flight = hgi_alloc(cache->allocator, sizeof(*flight) + key.len + load_key.len);
    if (!flight) {
        return NULL;
    }
    memcpy(flight->key, key.data, key.len);
    flight->key_len = key.len;
    if (load_key.len) {
        memcpy(flight->key + key.len, load_key.data, load_key.len);
        flight->load_key_len = load_key.len;
    }
    if (call->trace) {
        flight->trace = *call->trace;
    }
    hgi_list_init(&flight->waiters);
    hgi_list_init(&flight->queue_node);
    hgi_list_init(&flight->start_node);
    hgi_list_init(&flight->cancel_node);
    hgi_heap_node_init(&flight->timeout);
    hgi_bytes_init(&flight->kept_value, cache->allocator);
    flight->attempt = 1;
    flight->id = ++cache->next_flight_id;
    flight->begun_ms = now->boot_ms;
    flight->has_slot = has_slot;
    flight->is_open = true;
    /* Read in the critical section that links the flight: an invalidation either sees it or is
     * seen. */
    flight->born = atomic_load_explicit(&cache->generation, memory_order_relaxed);
    hgi_map_insert(&cache->flights, &flight->by_key, call->digest);
    hgi_list_push_back(&cache->all, &flight->all_node);
    cache->flight_count++;
    return flight;
}

bool hgi_flight_start(struct hgi_cache *cache, struct hgi_flight *flight, struct hgi_work *work)
{
    if (cache->started_count < hgi_terms(cache)->policy.max_loads) {
        start(cache, flight, work);
    } else if (cache->queued_count < hgi_terms(cache)->policy.queue_max) {
        enqueue(cache, flight);
    } else {
        return false;
    }
    return true;
}

struct hgi_flight *hgi_flight_begin(struct hgi_cache *cache, const struct hgi_call *call,
                                    bool has_slot, struct hgi_work *work, const struct hgi_now *now)
{
    struct hgi_flight *flight = hgi_flight_new(cache, call, has_slot, now);

    if (flight && !hgi_flight_start(cache, flight, work)) {
        hgi_flight_end(cache, flight);
        flight = NULL;
    }
    return flight;
}

void hgi_flight_free(struct hgi_cache *cache, struct hgi_flight *flight)
{
    explicit_bzero(flight->key, flight->key_len + flight->load_key_len);
    hgi_free(cache->allocator, flight);
}

void hgi_flight_end(struct hgi_cache *cache, struct hgi_flight *flight)
{
    HGI_BUG_ON(flight->waiter_count || flight->timeout.index != HGI_HEAP_OUT);
    hgi_map_remove(&cache->flights, &flight->by_key);
    hgi_list_remove(&flight->all_node);
    cache->flight_count--;
    flight->is_ended = true;
    if (!flight->pins) {
        hgi_flight_free(cache, flight);
    }
}

void hgi_flight_pump(struct hgi_cache *cache, struct hgi_work *work)
{
    while (cache->started_count < hgi_terms(cache)->policy.max_loads &&
           !hgi_list_is_empty(&cache->queue)) {
        struct hgi_flight *next = HGI_CONTAINER(cache->queue.next, struct hgi_flight, queue_node);

        dequeue(cache, next);
        start(cache, next, work);
    }
}

struct hgi_flight *hgi_flight_load_ended(struct hgi_cache *cache, uint64_t load_id)
{
    struct hgi_map_node *node = hgi_map_find(&cache->loads, load_id);
    struct hgi_flight *flight;

    if (!node) {
        return NULL;
    }
    flight = HGI_CONTAINER(node, struct hgi_flight, by_load);
    hgi_map_remove(&cache->loads, node);
    hgi_heap_remove(&cache->load_timeouts, &flight->timeout);
    cache->started_count--;
    return flight;
}

bool hgi_flight_try_again(struct hgi_cache *cache, struct hgi_flight *flight, struct hgi_work *work)
{
    if (flight->attempt > 1 || !flight->waiter_count) {
        return false;
    }
    flight->attempt++;
    flight->born = atomic_load_explicit(&cache->generation, memory_order_relaxed);
    /* It takes the place again that it had. */
    start(cache, flight, work);
    return true;
}

static void ask_cancel(struct hgi_flight *flight, struct hgi_work *work)
{
    if (flight->is_cancel_asked) {
        return;
    }
    flight->is_cancel_asked = true;
    /* The executor does not know a load before it has been handed it: who does that cancels it. */
    if (flight->handed_id == flight->load_id) {
        flight->pins++;
        hgi_list_push_back(&work->cancels, &flight->cancel_node);
    }
}

void hgi_flight_close(struct hgi_cache *cache, struct hgi_flight *flight, struct hgi_work *work)
{
    HGI_BUG_ON(flight->waiter_count);
    hgi_heap_remove(&cache->load_timeouts, &flight->timeout);
    flight->has_slot = false;
    flight->is_open = false;
    if (flight->lease_id) {
        hgi_lease_drop(cache, flight);
        hgi_flight_end(cache, flight);
    } else if (flight->state == HGI_FLIGHT_QUEUED) {
        dequeue(cache, flight);
        hgi_flight_end(cache, flight);
    } else {
        ask_cancel(flight, work);
    }
}

/* ---- waiters ---- */

bool hgi_flight_join(struct hgi_cache *cache, struct hgi_flight *flight, struct hgi_call *call,
                     bool is_beginner)
{
    int64_t until_ms = call->deadline_ms;

    if (flight->waiter_count >= hgi_terms(cache)->policy.waiters_max) {
        return false;
    }
    if (!is_beginner && call->budget_ms < until_ms) {
        until_ms = call->budget_ms;
    }
    hgi_heap_node_init(&call->deadline);
    if (!hgi_heap_insert(&cache->call_deadlines, &call->deadline, until_ms)) {
        return false;
    }
    call->flight = flight;
    call->is_beginner = is_beginner;
    hgi_list_push_back(&flight->waiters, &call->node);
    flight->waiter_count++;
    cache->parked_count++;
    if (is_beginner) {
        flight->beginner = call;
    } else {
        hgi_metric_add(&cache->metrics, HGI_METRIC_follower_wait, 1);
    }
    return true;
}

/* From here on nobody else can find the call: whoever holds `list` answers it. */
static void pick(struct hgi_cache *cache, struct hgi_call *call, struct hgi_node *list)
    HGI_REQUIRES(flight)
{
    struct hgi_flight *flight = call->flight;

    hgi_heap_remove(&cache->call_deadlines, &call->deadline);
    hgi_list_remove(&call->node);
    hgi_list_push_back(list, &call->node);
    if (flight->beginner == call) {
        flight->beginner = NULL;
    }
    flight->waiter_count--;
    cache->parked_count--;
    call->flight = NULL;
}

void hgi_flight_pick(struct hgi_cache *cache, struct hgi_call *call, struct hgi_node *list)
{
    pick(cache, call, list);
}

static void pick_all(struct hgi_cache *cache, struct hgi_flight *flight, struct hgi_node *list)
    HGI_REQUIRES(flight)
{
    while (flight->waiter_count) {
        pick(cache, HGI_CONTAINER(flight->waiters.next, struct hgi_call, node), list);
    }
}

/* Back to look, or out if it has been sent back too often. */
static void pick_again(struct hgi_cache *cache, struct hgi_call *call, struct hgi_work *work)
    HGI_REQUIRES(flight)
{
    pick(cache, call, ++call->rounds > HGI_ROUNDS_MAX ? &work->aborted : &work->again);
}

void hgi_flight_leave(struct hgi_cache *cache, struct hgi_call *call, struct hgi_node *list,
                      struct hgi_work *work)
{
    struct hgi_flight *flight = call->flight;

    pick(cache, call, list);
    if (flight->waiter_count || flight->is_refresh || flight->lease_id) {
        return;
    }
    /* A load under way and not overtaken still publishes; one nobody would get is given up. */
    if (flight->state != HGI_FLIGHT_SENT || flight->is_fenced) {
        hgi_flight_close(cache, flight, work);
    }
}

static void overtake(struct hgi_cache *cache, struct hgi_flight *flight, struct hgi_node *followers,
                     struct hgi_work *work, struct hgi_report *report) HGI_REQUIRES(flight)
{
    bool keeps_beginner = hgi_terms(cache)->policy.on_fenced == HGI_ON_FENCED_DELIVER;
    struct hgi_node *node = flight->waiters.next;

    flight->is_fenced = true;
    flight->has_slot = false;
    if (flight->state != HGI_FLIGHT_KEPT) {
        report->fenced++;
        hgi_metric_add(&cache->metrics, HGI_METRIC_fenced, 1);
    }
    while (node != &flight->waiters) {
        struct hgi_call *call = HGI_CONTAINER(node, struct hgi_call, node);

        node = node->next;
        if (call == flight->beginner && keeps_beginner) {
            continue;
        }
        if (followers == &work->again) {
            pick_again(cache, call, work);
        } else {
            call->is_beginner = false; /* it gets another's value */
            pick(cache, call, followers);
        }
        report->released++;
    }
}

void hgi_flight_fence(struct hgi_cache *cache, struct hgi_flight *flight,
                      struct hgi_node *followers, struct hgi_work *work, struct hgi_report *report)
{
    if (!flight->is_open || flight->is_fenced) {
        return;
    }
    overtake(cache, flight, followers, work, report);
    if (!flight->waiter_count) {
        hgi_flight_close(cache, flight, work);
    }
}

void hgi_flight_fence_ended(struct hgi_cache *cache, struct hgi_flight *flight,
                            struct hgi_work *work)
{
    struct hgi_report report = {.generation = 0};

    if (!flight->is_fenced) {
        overtake(cache, flight, &work->again, work, &report);
    }
}

void hgi_flight_fence_key(struct hgi_cache *cache, uint64_t hash, struct hg_slice key,
                          struct hgi_node *followers, struct hgi_work *work,
                          struct hgi_report *report)
{
    struct hgi_map_node *node = hgi_map_find(&cache->flights, hash);

    while (node) {
        struct hgi_flight *flight = of_key_node(node);

        node = hgi_map_find_next(node);
        if (hgi_slice_equal(hgi_flight_key(flight), key)) {
            hgi_flight_fence(cache, flight, followers, work, report);
        }
    }
}

void hgi_flight_answer(struct hgi_cache *cache, struct hgi_flight *flight, struct hgi_work *work)
{
    flight->has_slot = false;
    flight->is_open = false;
    pick_all(cache, flight, &work->answered);
}

void hgi_flight_release(struct hgi_cache *cache, struct hgi_flight *flight, struct hgi_work *work)
{
    flight->has_slot = false;
    flight->is_open = false;
    while (flight->waiter_count) {
        pick_again(cache, HGI_CONTAINER(flight->waiters.next, struct hgi_call, node), work);
    }
}

void hgi_flight_dismiss(struct hgi_cache *cache, struct hgi_flight *flight, struct hgi_node *list,
                        struct hgi_work *work)
{
    pick_all(cache, flight, list);
    hgi_flight_close(cache, flight, work);
}

void hgi_flight_sent(struct hgi_cache *cache, uint64_t load_id, int64_t pid,
                     const struct hgi_now *now)
{
    struct hgi_map_node *node = hgi_map_find(&cache->loads, load_id);
    struct hgi_flight *flight = node ? HGI_CONTAINER(node, struct hgi_flight, by_load) : NULL;

    if (!flight || !flight->is_open || flight->state != HGI_FLIGHT_STARTED) {
        return;
    }
    flight->state = HGI_FLIGHT_SENT;
    flight->sent_ms = now->boot_ms;
    flight->pid = pid;
    /* hgi_flight_begin made the room. */
    HGI_BUG_ON(!hgi_heap_insert(&cache->load_timeouts, &flight->timeout,
                                now->boot_ms + hgi_terms(cache)->policy.load_timeout_ms));
}

/* The call, picked already, leads a flight of its own. `has_slot`: others may join it, unless they
 * have a successor to join. */
static struct hgi_flight *lead(struct hgi_cache *cache, struct hgi_call *call, bool has_slot,
                               struct hgi_work *work, const struct hgi_now *now)
    HGI_REQUIRES(flight)
{
    bool is_free = has_slot && !hgi_flight_find(cache, call->digest, call->key);
    struct hgi_flight *own = hgi_flight_begin(cache, call, is_free, work, now);

    hgi_list_remove(&call->node);
    if (!own) {
        hgi_list_push_back(&work->refused, &call->node);
        return NULL;
    }
    /* The room in the deadline heap is there: the call has just left it. */
    HGI_BUG_ON(!hgi_flight_join(cache, own, call, true));
    return own;
}

void hgi_flight_lead_alone(struct hgi_cache *cache, struct hgi_call *call, struct hgi_work *work,
                           const struct hgi_now *now)
{
    (void)lead(cache, call, false, work, now);
}

static bool is_over(const struct hgi_call *call, const struct hgi_now *now)
{
    return call->deadline_ms <= now->boot_ms;
}

static void take_over(struct hgi_node *list, struct hgi_call *call)
{
    hgi_list_remove(&call->node);
    hgi_list_push_back(list, &call->node);
}

/* on_error = each: nobody can join what these load. */
static void load_each(struct hgi_cache *cache, struct hgi_node *followers, struct hgi_work *work,
                      const struct hgi_now *now) HGI_REQUIRES(flight)
{
    while (!hgi_list_is_empty(followers)) {
        struct hgi_call *call = HGI_CONTAINER(followers->next, struct hgi_call, node);

        if (is_over(call, now)) {
            take_over(&work->timed_out, call);
            continue;
        }
        hgi_metric_add(&cache->metrics, HGI_METRIC_fallthrough_leader, 1);
        hgi_flight_lead_alone(cache, call, work, now);
    }
}

/* on_error = elect: the first with time left leads, the others follow it. */
static void elect(struct hgi_cache *cache, struct hgi_node *followers, struct hgi_work *work,
                  const struct hgi_now *now) HGI_REQUIRES(flight)
{
    struct hgi_flight *elected = NULL;

    while (!hgi_list_is_empty(followers)) {
        struct hgi_call *call = HGI_CONTAINER(followers->next, struct hgi_call, node);

        if (is_over(call, now)) {
            take_over(&work->timed_out, call);
            continue;
        }
        hgi_metric_add(&cache->metrics, HGI_METRIC_fallthrough_leader, 1);
        if (!elected) {
            elected = lead(cache, call, true, work, now);
        } else {
            hgi_list_remove(&call->node);
            if (!hgi_flight_join(cache, elected, call, false)) {
                hgi_list_push_back(&work->refused, &call->node);
            }
        }
    }
}

void hgi_flight_fail(struct hgi_cache *cache, struct hgi_flight *flight, bool is_shared,
                     struct hgi_work *work, const struct hgi_now *now)
{
    enum hgi_on_error on_error = hgi_terms(cache)->policy.on_error;
    struct hgi_call *beginner = flight->beginner;
    struct hgi_node followers;

    flight->has_slot = false;
    flight->is_open = false;
    if (is_shared || on_error == HGI_ON_ERROR_SHARE) {
        pick_all(cache, flight, &work->answered);
        return;
    }
    hgi_list_init(&followers);
    if (beginner) {
        pick(cache, beginner, &work->answered);
    }
    pick_all(cache, flight, &followers);
    if (on_error == HGI_ON_ERROR_EACH) {
        load_each(cache, &followers, work, now);
    } else {
        elect(cache, &followers, work, now);
    }
}
