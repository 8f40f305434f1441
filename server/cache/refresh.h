/* SPDX-License-Identifier: Apache-2.0 */
/* refresh: one load behind a stale answer.
 * Owns:     the pause after a failed refresh (100 ms doubling to 10 s, jittered).
 * Threads:  as the flight lock says.
 * Limits:   one per key; none beyond max_loads and its queue.
 * Errors:   a refresh that cannot begin is left out: the next stale read tries again.
 * Not here: how it is published (cache). */
#ifndef HGI_SERVER_CACHE_REFRESH_H
#define HGI_SERVER_CACHE_REFRESH_H

#include "server/cache/flight.h"

/* The answer that was found deserves a refresh: it is stale and the mode says so, or it is fresh
 * and in the part of its ttl that refresh_ahead names (with XFetch: may be, a draw decides). */
bool hgi_refresh_is_due(const struct hgi_cache *cache, const struct hgi_call *call,
                        enum hgi_found found, const struct hgi_found_entry *entry);
/* Begins it unless one runs, one ended just now, or its pause is not over. */
void hgi_refresh_begin(struct hgi_cache *cache, const struct hgi_call *call,
                       const struct hgi_found_entry *found, const struct hgi_now *now)
    HGI_EXCLUDES(flight);
/* A load of the entry's key failed: no new one behind it before a longer pause. `is_refused`: the
 * loader could do its work, and its answer was no. */
void hgi_refresh_failed(struct hgi_cache *cache, struct hg_slice key,
                        const struct hgi_found_entry *entry, bool is_refused,
                        const struct hgi_now *now) HGI_REQUIRES(flight);

#endif
