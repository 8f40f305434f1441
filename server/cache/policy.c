/* SPDX-License-Identifier: Apache-2.0 */
#include "policy.h"

#include "base/check.h"

const char *hgi_on_error_name(enum hgi_on_error on_error)
{
    static const char *const names[] = {
        [HGI_ON_ERROR_SHARE] = "share",
        [HGI_ON_ERROR_EACH] = "each",
        [HGI_ON_ERROR_ELECT] = "elect",
    };

    return (size_t)on_error < HGI_COUNT_OF(names) ? names[on_error] : NULL;
}

static int64_t shortened(int64_t own_ms, int64_t given_ms)
{
    return given_ms > 0 && given_ms < own_ms ? given_ms : own_ms;
}

static void set_value_lifetime(const struct hgi_policy *policy, const struct hgi_lifetime *lifetime,
                               struct hgi_entry *entry)
{
    entry->ttl_ms = shortened(policy->ttl_ms, lifetime->ttl_ms);
    if (policy->stale_ttl_ms <= policy->ttl_ms) {
        /* A cache that serves nothing stale does not begin to because a loader gave a shorter ttl.
         */
        entry->stale_ttl_ms = shortened(entry->ttl_ms, lifetime->stale_ttl_ms);
    } else {
        entry->stale_ttl_ms = shortened(policy->stale_ttl_ms, lifetime->stale_ttl_ms);
    }
    if (entry->ttl_ms > entry->stale_ttl_ms) {
        entry->ttl_ms = entry->stale_ttl_ms;
    }
    entry->keep_ms = entry->stale_ttl_ms + policy->stale_if_error_ms;
}

static void set_negative_lifetime(const struct hgi_policy *policy,
                                  const struct hgi_lifetime *lifetime, struct hgi_entry *entry)
{
    entry->ttl_ms = shortened(policy->negative_ttl_ms, lifetime->ttl_ms);
    entry->stale_ttl_ms = entry->ttl_ms;
}

bool hgi_policy_entry(const struct hgi_policy *policy, enum hg_outcome outcome,
                      struct hg_slice value, const struct hgi_lifetime *lifetime,
                      const struct hgi_now *now, struct hgi_entry *ret_entry)
{
    struct hgi_entry entry = {.outcome = outcome, .value = value, .published_ms = now->boot_ms};
    int64_t expires_ms = lifetime->expires_at_ms;

    if (expires_ms && expires_ms <= now->wall_ms) {
        if (!policy->expired_is_denied) {
            return false;
        }
        /* The value is left out: it says "allowed", and somebody would read it. */
        entry.outcome = HG_DENIED;
        entry.value = hg_slice_of(NULL, 0);
        expires_ms = 0;
    }
    if (entry.outcome == HG_VALUE) {
        entry.etag = lifetime->etag;
        set_value_lifetime(policy, lifetime, &entry);
    } else {
        set_negative_lifetime(policy, lifetime, &entry);
    }
    if (expires_ms) {
        int64_t left_ms = expires_ms - now->wall_ms;

        if (left_ms > HGI_LIFETIME_MAX_MS) {
            left_ms = HGI_LIFETIME_MAX_MS;
        }
        entry.expires_wall_ms = now->wall_ms + left_ms;
        entry.expires_boot_ms = now->boot_ms + left_ms;
    }
    entry.key = ret_entry->key;
    entry.born = ret_entry->born;
    *ret_entry = entry;
    return true;
}

struct hgi_table_lifetimes hgi_policy_lifetimes(const struct hgi_policy *policy)
{
    return (struct hgi_table_lifetimes){
        .ttl_ms = policy->ttl_ms,
        .stale_ttl_ms = policy->stale_ttl_ms,
        .keep_ms = policy->stale_ttl_ms + policy->stale_if_error_ms,
        .negative_ttl_ms = policy->negative_ttl_ms,
    };
}

void hgi_policy_jitter(const struct hgi_policy *policy, uint64_t random, struct hgi_entry *entry)
{
    /* Divided first: lifetimes may be long, and a hundredth of a short one is nothing to spread. */
    int64_t most_ms = entry->ttl_ms / 100 * policy->jitter_percent +
                      entry->ttl_ms % 100 * policy->jitter_percent / 100;
    bool ends_with_ttl = entry->stale_ttl_ms <= entry->ttl_ms;

    if (most_ms <= 0) {
        return;
    }
    entry->ttl_ms -= (int64_t)(random % (uint64_t)(most_ms + 1));
    if (ends_with_ttl) {
        entry->stale_ttl_ms = entry->ttl_ms;
    }
}
