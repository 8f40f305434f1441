/* SPDX-License-Identifier: Apache-2.0 */
#include "work.h"

#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "flight.h"
#include "look.h"

void hgi_work_init(struct hgi_work *work)
{
    memset(&work->answer, 0, sizeof(work->answer));
    memset(&work->kept_answer, 0, sizeof(work->kept_answer));
    hgi_bytes_init(&work->value, &hgi_heap);
    hgi_list_init(&work->answered);
    hgi_list_init(&work->kept);
    hgi_list_init(&work->leased);
    hgi_list_init(&work->timed_out);
    hgi_list_init(&work->refused);
    hgi_list_init(&work->aborted);
    hgi_list_init(&work->killed);
    hgi_list_init(&work->cancelled);
    hgi_list_init(&work->stopped);
    hgi_list_init(&work->again);
    hgi_list_init(&work->starts);
    hgi_list_init(&work->cancels);
}

static void answer_all(struct hgi_cache *cache, struct hgi_node *calls,
                       const struct hgi_answer *answer)
{
    struct hgi_node *node;

    while ((node = hgi_list_pop_front(calls)) != NULL) {
        struct hgi_call *call = HGI_CONTAINER(node, struct hgi_call, node);
        struct hgi_answer own = *answer;

        own.source = call->is_beginner ? HG_SOURCE_LOADED : HG_SOURCE_JOINED;
        if (!call->is_beginner) {
            hgi_metric_add(&cache->metrics, HGI_METRIC_coalesced, 1);
        }
        call->done(call, &own);
    }
}

static void refuse_all(struct hgi_node *calls, enum hg_status status, const char *message,
                       uint32_t retry_after_ms)
{
    const struct hgi_answer answer = {
        .status = status,
        .message = hg_slice_text(message),
        .retry_after_ms = retry_after_ms,
    };
    struct hgi_node *node;

    while ((node = hgi_list_pop_front(calls)) != NULL) {
        struct hgi_call *call = HGI_CONTAINER(node, struct hgi_call, node);

        call->done(call, &answer);
    }
}

static void unpin(struct hgi_cache *cache, struct hgi_flight *flight) HGI_REQUIRES(flight)
{
    if (--flight->pins == 0 && flight->is_ended) {
        hgi_flight_free(cache, flight);
    }
}

/* What it is handed to confirm is noted before the load can end. */
static void note_old(struct hgi_cache *cache, struct hgi_flight *flight, uint64_t old_serial)
{
    hgi_lock_flight(&cache->lock);
    flight->old_serial = old_serial;
    hgi_unlock_flight(&cache->lock);
}

/* The executor has the load now. True: it was given up meanwhile. A load that was lost at once may
 * have its second try handed out before its first is noted here: only the last id counts. */
static bool note_handed(struct hgi_cache *cache, struct hgi_flight *flight, uint64_t load_id)
{
    bool is_cancel_due = false;

    hgi_lock_flight(&cache->lock);
    if (flight->load_id == load_id) {
        flight->handed_id = load_id;
        is_cancel_due = flight->is_cancel_asked;
    }
    unpin(cache, flight);
    hgi_unlock_flight(&cache->lock);
    return is_cancel_due;
}

static void answer_kept(struct hgi_cache *cache, struct hgi_work *work)
{
    struct hgi_node *node;

    while ((node = hgi_list_pop_front(&work->kept)) != NULL) {
        struct hgi_call *call = HGI_CONTAINER(node, struct hgi_call, node);

        hgi_metric_add(&cache->metrics, HGI_METRIC_kept_hit, 1);
        hgi_histogram_record(&cache->age, work->kept_answer.age_ms);
        call->done(call, &work->kept_answer);
    }
}

static void answer_leased(struct hgi_cache *cache, struct hgi_node *calls)
{
    struct hgi_node *node;

    while ((node = hgi_list_pop_front(calls)) != NULL) {
        hgi_cache_answer_lease(cache, HGI_CONTAINER(node, struct hgi_call, node));
    }
}

static void start_one(struct hgi_cache *cache, struct hgi_flight *flight, struct hg_bytes *scratch,
                      const struct hgi_now *now)
{
    const struct hgi_executor *executor = &hgi_terms(cache)->executor;
    struct hgi_load_order order = {
        .cache = cache,
        .load_id = flight->load_id,
        .key = hgi_flight_load_key(flight),
        .key_hash = flight->by_key.hash,
        .attempt = flight->attempt,
        .timeout_ms = hgi_terms(cache)->policy.load_timeout_ms,
        .slow_ms = hgi_terms(cache)->policy.slow_load_ms,
        .trace = &flight->trace,
    };

    if (!hgi_table_read_old(cache->table, hgi_flight_key(flight), now, scratch, &order.old)) {
        order.old.serial = 0;
    }
    note_old(cache, flight, order.old.serial);
    /* The load may end as soon as the executor has it; the pin keeps the flight. */
    executor->start(executor->context, &order);
    if (note_handed(cache, flight, order.load_id)) {
        executor->cancel(executor->context, cache, order.load_id);
    }
}

static void start_all(struct hgi_cache *cache, struct hgi_node *starts, const struct hgi_now *now)
{
    struct hg_bytes scratch;
    struct hgi_node *node;

    hgi_bytes_init(&scratch, cache->allocator);
    while ((node = hgi_list_pop_front(starts)) != NULL) {
        start_one(cache, HGI_CONTAINER(node, struct hgi_flight, start_node), &scratch, now);
    }
    hgi_bytes_deinit(&scratch);
}

static void cancel_all(struct hgi_cache *cache, struct hgi_node *cancels)
{
    struct hgi_node *node;

    while ((node = hgi_list_pop_front(cancels)) != NULL) {
        struct hgi_flight *flight = HGI_CONTAINER(node, struct hgi_flight, cancel_node);
        const struct hgi_executor *executor = &hgi_terms(cache)->executor;

        executor->cancel(executor->context, cache, flight->load_id);
        hgi_lock_flight(&cache->lock);
        unpin(cache, flight);
        hgi_unlock_flight(&cache->lock);
    }
}

static void look_again(struct hgi_cache *cache, struct hgi_node *calls, const struct hgi_now *now)
{
    struct hg_bytes scratch;
    struct hgi_node *node;

    if (hgi_list_is_empty(calls)) {
        return;
    }
    hgi_bytes_init(&scratch, cache->allocator);
    while ((node = hgi_list_pop_front(calls)) != NULL) {
        hgi_cache_look(cache, HGI_CONTAINER(node, struct hgi_call, node), &scratch, now);
    }
    hgi_bytes_deinit(&scratch);
}

void hgi_work_leave(struct hgi_cache *cache, struct hgi_work *work, size_t released)
{
    if (released > HGI_RELEASES_AT_ONCE) {
        hgi_list_move_all(&work->again, &cache->late_again);
        hgi_list_move_all(&work->aborted, &cache->late_aborted);
    }
}

void hgi_work_take_late(struct hgi_cache *cache, struct hgi_work *work, size_t max)
{
    struct hgi_node *node;

    for (; max && (node = hgi_list_pop_front(&cache->late_aborted)) != NULL; max--) {
        hgi_list_push_back(&work->aborted, node);
    }
    for (; max && (node = hgi_list_pop_front(&cache->late_again)) != NULL; max--) {
        hgi_list_push_back(&work->again, node);
    }
}

void hgi_work_run(struct hgi_cache *cache, struct hgi_work *work, const struct hgi_now *now)
{
    const struct hgi_answer killed = {.status = HG_CANCELLED,
                                      .message = hg_slice_text("an administrator ended this load")};

    start_all(cache, &work->starts, now);
    cancel_all(cache, &work->cancels);
    answer_all(cache, &work->answered, &work->answer);
    answer_kept(cache, work);
    hgi_bytes_deinit(&work->value);
    answer_leased(cache, &work->leased);
    refuse_all(&work->timed_out, HG_DEADLINE_EXCEEDED, "the answer did not come in time", 0);
    refuse_all(&work->refused, HG_RESOURCE_EXHAUSTED,
               "too many loads are queued or too many callers wait", HGI_RETRY_AFTER_MS);
    refuse_all(&work->aborted, HG_ABORTED, "invalidations overtook every load this call waited for",
               0);
    answer_all(cache, &work->killed, &killed);
    refuse_all(&work->cancelled, HG_CANCELLED, "the caller left", 0);
    refuse_all(&work->stopped, HG_UNAVAILABLE, "the server is stopping", 0);
    look_again(cache, &work->again, now);
}

const struct hgi_executor *hgi_cache_hold_loads(struct hgi_cache *cache)
{
    const struct hgi_executor *executor = &hgi_terms(cache)->executor;

    if (executor->hold) {
        executor->hold(executor->context);
    }
    return executor;
}

void hgi_cache_release_loads(const struct hgi_executor *executor)
{
    if (executor->release) {
        executor->release(executor->context);
    }
}
