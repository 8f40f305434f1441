/* SPDX-License-Identifier: Apache-2.0 */
/* look: one look of a call, first or again.
 * Owns:     nothing.
 * Threads:  no lock held.
 * Limits:   none.
 * Errors:   the call is answered or parked when it returns.
 * Not here: the call's set-up (hgi_cache_read). A door of this room only. */
#ifndef HGI_SERVER_CACHE_LOOK_H
#define HGI_SERVER_CACHE_LOOK_H

#include "server/cache/cache.h"

/* Old as the entry is, it is not older than this reader allows. */
bool hgi_call_takes(const struct hgi_call *call, const struct hgi_found_entry *entry);
/* Nothing but the lease in call->lease_id: the caller is to load. */
void hgi_cache_answer_lease(struct hgi_cache *cache, struct hgi_call *call);
void hgi_cache_look(struct hgi_cache *cache, struct hgi_call *call, struct hg_bytes *scratch,
                    const struct hgi_now *now);

#endif
