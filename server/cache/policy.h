/* SPDX-License-Identifier: Apache-2.0 */
/* policy: how long an answer may live.
 * Owns:     nothing; pure arithmetic.
 * Threads:  any.
 * Limits:   a lifetime is at most HGI_LIFETIME_MAX_MS; larger ones are cut.
 * Errors:   an answer already past its expires_at is told apart.
 * Not here: the limits of the configuration (server/config), who stores (cache). */
#ifndef HGI_SERVER_CACHE_POLICY_H
#define HGI_SERVER_CACHE_POLICY_H

#include "server/cache/cache.h"

#define HGI_LIFETIME_MAX_MS (10LL * 365 * 24 * 3600 * 1000)

/* The word for it in the configuration; NULL: no such value. */
const char *hgi_on_error_name(enum hgi_on_error on_error);

/* What is to be stored and answered: `ret_entry` for the outcome, value and lifetime given,
 * published now. A loader's and a put's lifetimes only shorten the cache's. False: it is past its
 * expires_at and the cache does not turn that into DENIED (semantics 2). Key and born are the
 * caller's to set. */
HG_NODISCARD bool hgi_policy_entry(const struct hgi_policy *policy, enum hg_outcome outcome,
                                   struct hg_slice value, const struct hgi_lifetime *lifetime,
                                   const struct hgi_now *now, struct hgi_entry *ret_entry);
/* The longest lifetimes that it gives. */
struct hgi_table_lifetimes hgi_policy_lifetimes(const struct hgi_policy *policy);
/* Shortens the entry's ttl by its share of `random` (any 64 bits) of jitter_percent, so that what
 * was stored together does not end together. A cache that serves nothing stale still serves nothing
 * stale. */
void hgi_policy_jitter(const struct hgi_policy *policy, uint64_t random, struct hgi_entry *entry);

#endif
