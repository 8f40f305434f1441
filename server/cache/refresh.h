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

/* After a stale answer was found: begins a refresh unless one runs, one ended just now, or its
 * pause is not over. */
void hgi_refresh_begin(struct hgi_cache *cache, const struct hgi_call *call,
                       const struct hgi_found_entry *found, const struct hgi_now *now)
    HGI_EXCLUDES(flight);
/* It failed: no new one for this entry before a longer pause. */
void hgi_refresh_failed(struct hgi_cache *cache, const struct hgi_flight *flight,
                        const struct hgi_now *now) HGI_REQUIRES(flight);

#endif
