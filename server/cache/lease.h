/* SPDX-License-Identifier: Apache-2.0 */
/* lease: flights whose load is a caller's own: who holds them, until when, who is next.
 * Owns:     the leases of a cache; a kept slot's copy of its value.
 * Threads:  as cache.h says for hgi_cache_fulfil, _renew, _release and _holder_gone, which are
 *           defined here; the rest under the flight lock.
 * Limits:   HGI_LEASES_MAX a cache, kept slots among them; not counted in max_loads; one a key.
 * Errors:   a lease that has ended is ABORTED, whatever ended it.
 * Not here: which connection a holder is (server/rpc). A door of this room only.
 *
 * A leased flight has no load and no beginner: its leader has been answered with the lease. It ends
 * by Fulfil, or is handed on: to the first parked caller that asked to lead, else once to the
 * loader. After a Fulfil with keep_ms the flight stays as a kept slot: later callers get the value
 * from it, whatever has become of the table's entry. */
#ifndef HGI_SERVER_CACHE_LEASE_H
#define HGI_SERVER_CACHE_LEASE_H

#include "server/cache/flight.h"

#define HGI_LEASES_MAX 1024u

/* The caller leads: a new flight with a lease in call->lease_id. `has_stale`: behind a stale
 * answer. False: no memory, or too many. */
HG_NODISCARD bool hgi_lease_begin(struct hgi_cache *cache, struct hgi_call *call, bool has_stale,
                                  const struct hgi_now *now) HGI_REQUIRES(flight);
/* Behind a stale answer, if no flight has the key's slot: call->lease_id, or 0. */
void hgi_lease_behind(struct hgi_cache *cache, struct hgi_call *call, const struct hgi_now *now)
    HGI_EXCLUDES(flight);
/* The lease ends without a value: the next leads, the loader loads, or nobody is left. */
void hgi_lease_hand_on(struct hgi_cache *cache, struct hgi_flight *flight, struct hgi_work *work,
                       const struct hgi_now *now) HGI_REQUIRES(flight);
/* Its time has come: handed on, or the kept slot goes. */
void hgi_lease_timed_out(struct hgi_cache *cache, struct hgi_flight *flight, struct hgi_work *work,
                         const struct hgi_now *now) HGI_REQUIRES(flight);
/* Out of the map of leases, out of time, the kept value wiped: the flight holds no lease any more.
 */
void hgi_lease_drop(struct hgi_cache *cache, struct hgi_flight *flight) HGI_REQUIRES(flight);
/* It is a kept slot, and its value may still be served. */
bool hgi_lease_is_kept(struct hgi_cache *cache, const struct hgi_flight *flight,
                       const struct hgi_now *now) HGI_REQUIRES(flight);
/* Something of the key born at `born` was stored: a slot that keeps what is not newer ends. */
void hgi_lease_end_kept(struct hgi_cache *cache, uint64_t hash, struct hg_slice key, uint64_t born,
                        struct hgi_work *work) HGI_REQUIRES(flight);
/* The kept slot's value for this call, copied into `scratch`; false: it is no kept slot, or its
 * value is not for this call any more. */
HG_NODISCARD bool hgi_lease_kept(struct hgi_cache *cache, const struct hgi_flight *flight,
                                 const struct hgi_call *call, const struct hgi_now *now,
                                 struct hg_bytes *scratch, struct hgi_answer *ret_answer)
    HGI_REQUIRES(flight);

#endif
