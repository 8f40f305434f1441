/* SPDX-License-Identifier: Apache-2.0 */
/* What a reload changes of a cache that serves. */
#include "flight.h"
#include "policy.h"

static bool is_shorter(const struct hgi_policy *after, const struct hgi_policy *before)
{
    return after->ttl_ms < before->ttl_ms || after->stale_ttl_ms < before->stale_ttl_ms ||
           after->negative_ttl_ms < before->negative_ttl_ms ||
           after->stale_if_error_ms < before->stale_if_error_ms;
}

void hgi_terms_destroy(struct hgi_cache *cache)
{
    struct hgi_terms *terms = atomic_load_explicit(&cache->terms, memory_order_relaxed);

    while (terms != &cache->first_terms) {
        struct hgi_terms *before = terms->before;

        hgi_free(cache->allocator, terms);
        terms = before;
    }
}

bool hgi_cache_takes_bounds(const struct hgi_cache *cache, const struct hgi_policy *policy)
{
    const struct hgi_table_bounds bounds = {policy->max_entries, policy->max_bytes};

    return hgi_table_takes_bounds(cache->table, &bounds);
}

enum hg_status hgi_cache_make_terms(struct hgi_cache *cache, const struct hgi_policy *policy,
                                    const struct hgi_executor *executor,
                                    struct hgi_terms **ret_terms)
{
    struct hgi_terms *terms;

    if (!hgi_cache_takes_bounds(cache, policy)) {
        return HG_FAILED_PRECONDITION;
    }
    terms = hgi_alloc(cache->allocator, sizeof(*terms));
    if (!terms) {
        return HG_RESOURCE_EXHAUSTED;
    }
    terms->policy = *policy;
    terms->has_loader = executor != NULL;
    terms->executor = executor ? *executor : hgi_terms(cache)->executor;
    *ret_terms = terms;
    return HG_OK;
}

void hgi_cache_drop_terms(struct hgi_cache *cache, struct hgi_terms **terms)
{
    hgi_free(cache->allocator, *terms);
    *terms = NULL;
}

void hgi_cache_adapt(struct hgi_cache *cache, HG_TAKES struct hgi_terms *terms,
                     const struct hgi_now *now)
{
    const struct hgi_policy *policy = &terms->policy;
    const struct hgi_table_bounds bounds = {policy->max_entries, policy->max_bytes};
    struct hgi_work work;

    terms->before = atomic_load_explicit(&cache->terms, memory_order_relaxed);
    hgi_work_init(&work);
    hgi_lock_flight(&cache->lock);
    atomic_store_explicit(&cache->terms, terms, memory_order_release);
    hgi_flight_pump(cache, &work); /* there may be more places for loads now */
    hgi_unlock_flight(&cache->lock);
    hgi_work_run(cache, &work, now);
    /* What is stored from here on is stored by the new terms, so nothing escapes. */
    hgi_table_set_bounds(cache->table, &bounds);
    if (is_shorter(policy, &terms->before->policy)) {
        const struct hgi_table_lifetimes most = hgi_policy_lifetimes(policy);

        hgi_table_shorten(cache->table, &most);
    }
}
