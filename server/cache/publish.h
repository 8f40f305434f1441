/* SPDX-License-Identifier: Apache-2.0 */
/* publish: what a load came to, and what time does to calls and loads.
 * Owns:     nothing.
 * Threads:  as cache.h says for hgi_cache_load_* and hgi_cache_tick, which are defined here.
 * Limits:   HGI_MESSAGE_MAX of an error's text.
 * Errors:   a flight is answered once; a result that comes after that is counted and dropped.
 * Not here: puts and invalidations (invalidate.c), reads (cache.c). A door of this room only. */
#ifndef HGI_SERVER_CACHE_PUBLISH_H
#define HGI_SERVER_CACHE_PUBLISH_H

#include "server/cache/flight.h"

/* The answer that a newly published entry is; `is_kept`: it is in the table. */
struct hgi_answer hgi_answer_of(const struct hgi_entry *entry, bool is_kept);

/* One of the entry's tags was invalidated after it was born. */
bool hgi_cache_is_overtaken(struct hgi_cache *cache, const struct hgi_entry *entry)
    HGI_REQUIRES(flight);

/* Answers the flight with the result and stores it, unless something newer forbids that. ABORTED:
 * it was overtaken; FAILED_PRECONDITION: it came expired. ret_entry (not then) has no tags. The
 * flight is still to be ended. */
enum hg_status hgi_publish(struct hgi_cache *cache, struct hgi_flight *flight,
                           const struct hgi_result *result, struct hgi_work *work,
                           const struct hgi_now *now, struct hgi_entry *ret_entry)
    HGI_REQUIRES(flight);
/* Answers the flight with the error. */
void hgi_load_failed(struct hgi_cache *cache, struct hgi_flight *flight,
                     const struct hgi_result *result, struct hgi_work *work,
                     const struct hgi_now *now) HGI_REQUIRES(flight);
/* What is cached of the key waits longer for its next refresh; with nothing cached, the failure
 * itself may be remembered (error NULL: it is not). */
void hgi_note_failure(struct hgi_cache *cache, struct hgi_flight *flight,
                      const struct hgi_answer *error, const struct hgi_now *now)
    HGI_REQUIRES(flight);

#endif
