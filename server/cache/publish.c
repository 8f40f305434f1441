/* SPDX-License-Identifier: Apache-2.0 */
#include "publish.h"

#include <stdio.h>

#include "base/check.h"
#include "lease.h"
#include "look.h"
#include "policy.h"
#include "refresh.h"
#include "tagging.h"

#define SWEEP_BUDGET 1024u /* entries looked at under one shard's lock */
#define SWEEP_ROUNDS 24    /* in a tick, as long as many go: after a clear of millions */

struct hgi_answer hgi_answer_of(const struct hgi_entry *entry, bool is_kept)
{
    struct hgi_answer answer = {
        .status = HG_OK,
        .outcome = entry->outcome,
        .value = entry->value,
        .generation = entry->born,
    };

    if (is_kept) {
        int64_t left_ms =
            entry->expires_boot_ms ? entry->expires_boot_ms - entry->published_ms : INT64_MAX;

        answer.ttl_left_ms = entry->ttl_ms < left_ms ? entry->ttl_ms : left_ms;
        answer.stale_left_ms = entry->stale_ttl_ms < left_ms ? entry->stale_ttl_ms : left_ms;
    }
    return answer;
}

bool hgi_cache_is_overtaken(struct hgi_cache *cache, const struct hgi_entry *entry)
{
    for (size_t i = 0; i < entry->tag_count; i++) {
        if (hgi_table_tag_number(cache->table, entry->tags[i]) > entry->born) {
            return true;
        }
    }
    return false;
}

static struct hg_slice cut_message(struct hg_slice message)
{
    return hg_slice_of(message.data, message.len < HGI_MESSAGE_MAX ? message.len : HGI_MESSAGE_MAX);
}

/* Faults of the loader or what is behind it; what it says of the request is no reason to serve old
 * values (RFC 5861 section 4). */
static bool is_loader_fault(enum hg_status status)
{
    return status == HG_UNAVAILABLE || status == HG_DEADLINE_EXCEEDED || status == HG_INTERNAL ||
           status == HG_UNKNOWN || status == HG_RESOURCE_EXHAUSTED;
}

/* stale_if_error: whoever takes a value as old as the kept one gets that instead of the error. */
static void serve_kept(struct hgi_cache *cache, struct hgi_flight *flight, struct hgi_work *work,
                       const struct hgi_now *now) HGI_REQUIRES(flight)
{
    struct hgi_found_entry entry;
    struct hgi_node *node = flight->waiters.next;

    hgi_bytes_init(&work->value, cache->allocator);
    if (hgi_table_lookup(cache->table, hgi_flight_key(flight), -1, now, &work->value, &entry) ==
            HGI_MISS ||
        entry.outcome != HG_VALUE || entry.is_softened) {
        return;
    }
    work->kept_answer = (struct hgi_answer){
        .status = HG_OK,
        .outcome = entry.outcome,
        .source = HG_SOURCE_STALE,
        .value = hgi_bytes_slice(&work->value),
        .generation = entry.born,
        .age_ms = entry.age_ms,
        .stale_left_ms = entry.stale_left_ms,
    };
    while (node != &flight->waiters) {
        struct hgi_call *call = HGI_CONTAINER(node, struct hgi_call, node);

        node = node->next;
        if (hgi_call_takes(call, &entry)) {
            hgi_flight_pick(cache, call, &work->kept);
        }
    }
}

/* What is cached of the key waits longer for its next refresh; with nothing cached, the failure
 * itself may be remembered. */
void hgi_note_failure(struct hgi_cache *cache, struct hgi_flight *flight,
                      const struct hgi_answer *error, const struct hgi_now *now)
{
    struct hg_slice key = hgi_flight_key(flight);
    struct hgi_found_entry entry;

    if (hgi_table_lookup(cache->table, key, -1, now, NULL, &entry) != HGI_MISS) {
        bool is_refused = error && !is_loader_fault(error->status);

        hgi_refresh_failed(cache, key, &entry, is_refused, now);
    } else if (error && hgi_terms(cache)->policy.error_backoff_ms > 0) {
        hgi_failures_remember(&cache->failures, flight->by_key.hash, key, error,
                              hgi_terms(cache)->policy.error_backoff_ms, now->boot_ms);
    }
}

static void load_failed(struct hgi_cache *cache, struct hgi_flight *flight,
                        const struct hgi_answer *error, bool is_shared, struct hgi_work *work,
                        const struct hgi_now *now) HGI_REQUIRES(flight)
{
    hgi_metric_add(&cache->metrics, HGI_METRIC_load_error, 1);
    if (!flight->is_fenced) {
        if (!flight->is_outdated) {
            hgi_note_failure(cache, flight, error, now);
        }
        if (hgi_terms(cache)->policy.stale_if_error_ms > 0 && is_loader_fault(error->status)) {
            serve_kept(cache, flight, work, now);
        }
    }
    work->answer = *error;
    work->answer.is_fenced = flight->is_fenced;
    hgi_flight_fail(cache, flight, is_shared, work, now);
}

/* Drops what this load's end contradicts. What was stored after the load was sent may be the answer
 * of the process that replaced an outdated one, and its birth does not tell. */
static void drop_older(struct hgi_cache *cache, const struct hgi_flight *flight,
                       const struct hgi_now *now) HGI_REQUIRES(flight)
{
    struct hg_slice key = hgi_flight_key(flight);
    struct hgi_found_entry found;

    if (flight->is_outdated &&
        hgi_table_lookup(cache->table, key, -1, now, NULL, &found) != HGI_MISS &&
        now->boot_ms - found.age_ms >= flight->sent_ms) {
        return;
    }
    hgi_table_discard(cache->table, key, flight->born);
}

/* The value that the load was given to confirm is right still. It is not if something has ended it
 * meanwhile, or if a replaced process says so, and then nobody can be answered with it: whoever
 * waits looks again. */
static void confirm(struct hgi_cache *cache, struct hgi_flight *flight, struct hgi_entry *entry,
                    struct hgi_work *work, const struct hgi_now *now) HGI_REQUIRES(flight)
{
    bool is_awaited = flight->waiter_count > 0;

    hgi_bytes_init(&work->value, cache->allocator);
    if (flight->is_fenced || flight->is_outdated ||
        !hgi_table_rearm(cache->table, flight->old_serial, now, entry,
                         is_awaited ? &work->value : NULL)) {
        hgi_metric_add(&cache->metrics, HGI_METRIC_unconfirmed, 1);
        hgi_flight_release(cache, flight, work);
        return;
    }
    hgi_metric_add(&cache->metrics, HGI_METRIC_unchanged, 1);
    hgi_lease_end_kept(cache, flight->by_key.hash, entry->key, entry->born, work);
    hgi_failures_forget(&cache->failures, flight->by_key.hash, entry->key);
    work->answer = hgi_answer_of(entry, true);
    work->answer.value = hgi_bytes_slice(&work->value);
    hgi_flight_answer(cache, flight, work);
}

/* Nothing newer may be overwritten: a fenced flight stores nothing, and the table refuses an older
 * birth. */
enum hg_status hgi_publish(struct hgi_cache *cache, struct hgi_flight *flight,
                           const struct hgi_result *result, struct hgi_work *work,
                           const struct hgi_now *now, struct hgi_entry *ret_entry)
{
    struct hgi_entry entry = {.key = hgi_flight_key(flight), .born = flight->born};
    struct hgi_tagging tagging;
    bool is_kept;

    if (result->is_unchanged && !flight->old_serial) {
        const struct hgi_answer error = {
            .status = HG_INTERNAL,
            .message = hg_slice_text("the loader said \"unchanged\" of a value it was not given"),
        };

        load_failed(cache, flight, &error, false, work, now);
        return HG_INTERNAL;
    }
    if (!hgi_policy_entry(&hgi_terms(cache)->policy, result->outcome, result->value,
                          &result->lifetime, now, &entry)) {
        const struct hgi_answer error = {
            .status = HG_FAILED_PRECONDITION,
            .message = hg_slice_text("the loader gave a value that had already expired"),
        };

        if (!flight->is_fenced) {
            drop_older(cache, flight, now);
        }
        load_failed(cache, flight, &error, true, work, now);
        return HG_FAILED_PRECONDITION;
    }
    hgi_tagging_init(&tagging, hgi_cache_veil(cache), entry.key, &result->lifetime);
    entry.tags = tagging.names;
    entry.tag_count = tagging.count;
    entry.load_ms = flight->sent_ms ? now->boot_ms - flight->sent_ms : 0;
    hgi_policy_jitter(&hgi_terms(cache)->policy, hgi_flight_random(cache), &entry);
    if (result->is_unchanged && entry.outcome == HG_VALUE) {
        confirm(cache, flight, &entry, work, now);
        *ret_entry = entry;
        return HG_OK;
    }
    if (hgi_cache_is_overtaken(cache, &entry)) {
        hgi_flight_fence_ended(cache, flight, work);
    }
    is_kept = !flight->is_fenced && !flight->is_outdated && !result->lifetime.no_store;
    if (!flight->is_fenced) {
        hgi_failures_forget(&cache->failures, flight->by_key.hash, entry.key);
    }
    if (is_kept) {
        enum hgi_insert insert = hgi_table_insert(cache->table, &entry, false);

        flight->is_superseded = insert == HGI_SUPERSEDED;
        hgi_metric_add(&cache->metrics, HGI_METRIC_superseded, flight->is_superseded);
        is_kept = insert == HGI_STORED;
        if (is_kept) {
            hgi_lease_end_kept(cache, flight->by_key.hash, entry.key, entry.born, work);
        }
    } else if (!flight->is_fenced) {
        /* "Do not keep" is newer than what is kept. A fenced load says nothing: what a soft
         * invalidation left behind is still there to be served stale. */
        drop_older(cache, flight, now);
    }
    work->answer = hgi_answer_of(&entry, is_kept);
    work->answer.is_fenced = flight->is_fenced;
    hgi_flight_answer(cache, flight, work);
    entry.tags = NULL;
    entry.tag_count = 0;
    *ret_entry = entry;
    return flight->is_fenced ? HG_ABORTED : HG_OK;
}

void hgi_load_failed(struct hgi_cache *cache, struct hgi_flight *flight,
                     const struct hgi_result *result, struct hgi_work *work,
                     const struct hgi_now *now)
{
    const struct hgi_answer error = {
        .status = result->status,
        .message = cut_message(result->message),
        .retry_after_ms = result->retry_after_ms,
    };

    load_failed(cache, flight, &error, false, work, now);
}

void hgi_cache_load_sent(struct hgi_cache *cache, uint64_t load_id, int64_t pid,
                         const struct hgi_now *now)
{
    hgi_lock_flight(&cache->lock);
    hgi_flight_sent(cache, load_id, pid, now);
    hgi_unlock_flight(&cache->lock);
}

/* A load of a caller's own, or one that was never sent, has no time. */
static void note_time(struct hgi_cache *cache, const struct hgi_flight *flight,
                      const struct hgi_now *now) HGI_REQUIRES(flight)
{
    if (flight->sent_ms) {
        hgi_histogram_record(&cache->load_time, now->boot_ms - flight->sent_ms);
    }
}

void hgi_cache_load_done(struct hgi_cache *cache, uint64_t load_id, const struct hgi_result *result,
                         const struct hgi_now *now)
{
    struct hgi_flight *flight;
    struct hgi_work work;

    hgi_work_init(&work);
    hgi_lock_flight(&cache->lock);
    flight = hgi_flight_load_ended(cache, load_id);
    if (!flight) {
        hgi_metric_add(&cache->metrics, HGI_METRIC_late, 1);
        goto out;
    }
    note_time(cache, flight, now);
    flight->is_outdated = result->is_outdated;
    /* First: the place goes to who waited longest, not to followers that will load for themselves.
     */
    hgi_flight_pump(cache, &work);
    if (!flight->is_open) {
        hgi_metric_add(&cache->metrics, HGI_METRIC_late, 1);
    } else if (result->status == HG_OK) {
        struct hgi_entry entry;

        (void)hgi_publish(cache, flight, result, &work, now, &entry);
    } else {
        hgi_load_failed(cache, flight, result, &work, now);
    }
    hgi_flight_end(cache, flight);
out:
    hgi_unlock_flight(&cache->lock);
    hgi_work_run(cache, &work, now);
}

void hgi_cache_load_lost(struct hgi_cache *cache, uint64_t load_id, const struct hgi_now *now)
{
    const struct hgi_answer error = {
        .status = HG_UNAVAILABLE,
        .message = hg_slice_text("the loader's process died twice while loading"),
        .retry_after_ms = HGI_RETRY_AFTER_MS,
    };
    struct hgi_flight *flight;
    struct hgi_work work;

    hgi_work_init(&work);
    hgi_lock_flight(&cache->lock);
    flight = hgi_flight_load_ended(cache, load_id);
    if (!flight) {
        hgi_metric_add(&cache->metrics, HGI_METRIC_late, 1);
        goto out;
    }
    hgi_metric_add(&cache->metrics, HGI_METRIC_lost, 1);
    note_time(cache, flight, now);
    if (flight->is_open && flight->is_fenced) {
        hgi_flight_release(cache, flight, &work);
    } else if (flight->is_open && hgi_flight_try_again(cache, flight, &work)) {
        goto out;
    } else if (flight->is_open) {
        load_failed(cache, flight, &error, true, &work, now);
    }
    hgi_flight_end(cache, flight);
    hgi_flight_pump(cache, &work);
out:
    hgi_unlock_flight(&cache->lock);
    hgi_work_run(cache, &work, now);
}

/* ---- time ---- */

static void call_timed_out(struct hgi_cache *cache, struct hgi_call *call, struct hgi_work *work,
                           const struct hgi_now *now) HGI_REQUIRES(flight)
{
    if (!call->is_beginner && call->budget_ms <= call->deadline_ms) {
        hgi_metric_add(&cache->metrics, HGI_METRIC_fallthrough_budget, 1);
    }
    hgi_flight_leave(cache, call, &work->timed_out, work);
    if (hgi_terms(cache)->policy.alone && hgi_terms(cache)->has_loader &&
        call->deadline_ms > now->boot_ms) {
        hgi_flight_lead_alone(cache, call, work, now);
    }
}

static void load_timed_out(struct hgi_cache *cache, struct hgi_flight *flight,
                           const struct hgi_now *now) HGI_REQUIRES(flight)
{
    char message[HGI_MESSAGE_MAX];
    struct hgi_answer error = {.status = HG_DEADLINE_EXCEEDED};
    struct hgi_work work;

    snprintf(message, sizeof(message), "the loader did not answer within %lld ms",
             (long long)hgi_terms(cache)->policy.load_timeout_ms);
    error.message = hg_slice_text(message);
    hgi_work_init(&work);
    if (flight->lease_id) {
        hgi_lease_timed_out(cache, flight, &work, now);
    } else {
        load_failed(cache, flight, &error, false, &work, now);
        hgi_flight_close(cache, flight, &work);
    }
    hgi_unlock_flight(&cache->lock);
    hgi_work_run(cache, &work, now);
    hgi_lock_flight(&cache->lock);
}

void hgi_cache_tick(struct hgi_cache *cache, const struct hgi_now *now)
{
    struct hgi_heap_node *node;
    struct hgi_work work;

    hgi_work_init(&work);
    hgi_lock_flight(&cache->lock);
    hgi_work_take_late(cache, &work, HGI_RELEASES_A_TICK);
    while ((node = hgi_heap_first(&cache->load_timeouts)) != NULL &&
           node->when_ms <= now->boot_ms) {
        load_timed_out(cache, HGI_CONTAINER(node, struct hgi_flight, timeout), now);
    }
    while ((node = hgi_heap_first(&cache->call_deadlines)) != NULL &&
           node->when_ms <= now->boot_ms) {
        call_timed_out(cache, HGI_CONTAINER(node, struct hgi_call, deadline), &work, now);
    }
    hgi_unlock_flight(&cache->lock);
    hgi_work_run(cache, &work, now);
    for (int round = 0; round < SWEEP_ROUNDS; round++) {
        if (hgi_table_sweep(cache->table, now, SWEEP_BUDGET) < SWEEP_BUDGET / 4) {
            break;
        }
    }
}
