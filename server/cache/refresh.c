/* SPDX-License-Identifier: Apache-2.0 */
#include "refresh.h"

#define BACKOFF_MIN_MS 100
#define BACKOFF_MAX_MS 10000

void hgi_refresh_begin(struct hgi_cache *cache, const struct hgi_call *call,
                       const struct hgi_found_entry *found, const struct hgi_now *now)
{
    uint64_t hash = hgi_flight_hash(cache, call->key);
    struct hgi_found_entry again;
    struct hgi_flight *flight;
    struct hgi_work work;

    if (!cache->has_loader || now->boot_ms < found->refresh_after_ms) {
        return;
    }
    hgi_work_init(&work);
    hgi_lock_flight(&cache->lock);
    if (!cache->is_stopped && !hgi_flight_find(cache, hash, call->key) &&
        hgi_table_lookup(cache->table, call->key, call->max_age_ms, now, NULL, &again) ==
            HGI_STALE &&
        now->boot_ms >= again.refresh_after_ms) {
        flight = hgi_flight_begin(cache, hash, call->key, true, &work);
        if (flight) {
            flight->is_refresh = true;
            flight->stale_born = again.born;
            flight->stale_backoff_ms = again.refresh_backoff_ms;
            hgi_metric_add(&cache->metrics, HGI_METRIC_refresh, 1);
        }
    }
    hgi_unlock_flight(&cache->lock);
    hgi_work_run(cache, &work, now);
}

void hgi_refresh_failed(struct hgi_cache *cache, const struct hgi_flight *flight,
                        const struct hgi_now *now)
{
    int64_t backoff_ms = flight->stale_backoff_ms ? flight->stale_backoff_ms * 2 : BACKOFF_MIN_MS;
    int64_t pause_ms;

    if (backoff_ms > BACKOFF_MAX_MS) {
        backoff_ms = BACKOFF_MAX_MS;
    }
    /* Between half of it and all of it, so that keys that failed together do not come back
     * together. */
    pause_ms =
        backoff_ms / 2 + (int64_t)(hgi_flight_random(cache) % (uint64_t)(backoff_ms / 2 + 1));
    hgi_table_set_refresh_after(cache->table, hgi_flight_key(flight), flight->stale_born,
                                now->boot_ms + pause_ms, backoff_ms);
}
