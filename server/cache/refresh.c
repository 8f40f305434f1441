/* SPDX-License-Identifier: Apache-2.0 */
#include "refresh.h"

#include <math.h>

#define BACKOFF_MIN_MS 100
#define BACKOFF_MAX_MS 10000

bool hgi_refresh_is_due(const struct hgi_cache *cache, const struct hgi_call *call,
                        enum hgi_found found, const struct hgi_found_entry *entry)
{
    const struct hgi_policy *policy = &hgi_terms(cache)->policy;

    if (found == HGI_STALE) {
        return call->mode == HG_MODE_REVALIDATE;
    }
    if (call->mode == HG_MODE_PEEK || call->mode == HG_MODE_ALLOW_STALE ||
        entry->outcome != HG_VALUE) {
        return false;
    }
    if (policy->refresh_ahead_is_random) {
        return entry->ttl_left_ms <= entry->load_ms * HGI_XFETCH_REACH;
    }
    return policy->refresh_ahead_percent &&
           entry->ttl_left_ms * 100 <= entry->ttl_ms * policy->refresh_ahead_percent;
}

/* XFetch (Vattani et al., VLDB'15): now - load_time * ln(draw) >= expiry, with a draw in (0, 1]. */
static bool draws_early(struct hgi_cache *cache, const struct hgi_found_entry *entry)
    HGI_REQUIRES(flight)
{
    double draw = ((double)(hgi_flight_random(cache) >> 11) + 1.0) / 9007199254740992.0;

    return (double)entry->ttl_left_ms <= (double)entry->load_ms * -log(draw);
}

/* Looked at again under the lock: a refresh that has just ended is not repeated. */
static bool is_still_due(struct hgi_cache *cache, const struct hgi_call *call,
                         const struct hgi_now *now, struct hgi_found_entry *ret_entry)
    HGI_REQUIRES(flight)
{
    enum hgi_found found =
        hgi_table_lookup(cache->table, call->key, call->max_age_ms, now, NULL, ret_entry);

    if ((found != HGI_FRESH && found != HGI_STALE) || now->boot_ms < ret_entry->refresh_after_ms ||
        !hgi_refresh_is_due(cache, call, found, ret_entry)) {
        return false;
    }
    return found == HGI_STALE || !hgi_terms(cache)->policy.refresh_ahead_is_random ||
           draws_early(cache, ret_entry);
}

void hgi_refresh_begin(struct hgi_cache *cache, const struct hgi_call *call,
                       const struct hgi_found_entry *found, const struct hgi_now *now)
{
    struct hgi_found_entry again;
    struct hgi_flight *flight;
    struct hgi_work work;

    if (!hgi_terms(cache)->has_loader || now->boot_ms < found->refresh_after_ms) {
        return;
    }
    hgi_work_init(&work);
    hgi_lock_flight(&cache->lock);
    if (!cache->is_stopped && !hgi_flight_find(cache, call->digest, call->key) &&
        is_still_due(cache, call, now, &again)) {
        flight = hgi_flight_begin(cache, call, true, &work, now);
        if (flight) {
            flight->is_refresh = true;
            hgi_metric_add(&cache->metrics, HGI_METRIC_refresh, 1);
        }
    }
    hgi_unlock_flight(&cache->lock);
    hgi_work_run(cache, &work, now);
}

void hgi_refresh_failed(struct hgi_cache *cache, struct hg_slice key,
                        const struct hgi_found_entry *entry, bool is_refused,
                        const struct hgi_now *now)
{
    int64_t backoff_ms = entry->refresh_backoff_ms ? entry->refresh_backoff_ms * 2 : BACKOFF_MIN_MS;
    int64_t pause_ms;

    if (backoff_ms > BACKOFF_MAX_MS) {
        backoff_ms = BACKOFF_MAX_MS;
    }
    /* Between half of it and all of it, so that keys that failed together do not come back
     * together. */
    pause_ms =
        backoff_ms / 2 + (int64_t)(hgi_flight_random(cache) % (uint64_t)(backoff_ms / 2 + 1));
    hgi_table_set_refresh_after(cache->table, key, entry->born, now->boot_ms + pause_ms, backoff_ms,
                                is_refused);
}
