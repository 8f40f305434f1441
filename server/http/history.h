/* SPDX-License-Identifier: Apache-2.0 */
/* history: what each cache did in each ten seconds of the last quarter of an hour.
 * Owns:     the ring.
 * Threads:  tick from one; copies from any, under one lock.
 * Limits:   HGI_HTTP_STEPS steps of HGI_HTTP_STEP_MS a cache, about 30 KiB.
 * Errors:   create: NULL without memory.
 * Not here: counters since the start (the engine), how it is shown (status). */
#ifndef HGI_SERVER_HTTP_HISTORY_H
#define HGI_SERVER_HTTP_HISTORY_H

#include "server/cache/registry.h"

#define HGI_HTTP_STEPS   90u
#define HGI_HTTP_STEP_MS 10000

/* Of one step: how often, except what is said to be at its end. */
struct hgi_http_step {
    uint64_t hits; /* fresh values, local ones among them */
    uint64_t stale;
    uint64_t negative;
    uint64_t misses;
    uint64_t loads;
    uint64_t load_errors;
    uint64_t joined;
    uint64_t in_flight; /* at its end, as are entries and bytes */
    uint64_t entries;
    uint64_t bytes;
    double load_p50_ms; /* of the loads that ended in it; 0: none did */
    double load_p99_ms;
};

struct hgi_http_history;

/* The registry is borrowed until destroy, and does not change. */
HG_NODISCARD struct hgi_http_history *hgi_http_history_create(struct hgi_registry *registry,
                                                              const struct hgi_now *now);
void hgi_http_history_destroy(struct hgi_http_history **history);
/* Takes a step when one is over. */
void hgi_http_history_tick(struct hgi_http_history *history, const struct hgi_now *now);
/* The steps of the registry's cache of this index, oldest first: at most HGI_HTTP_STEPS, and how
 * many. ret_end_ms: unix time of the end of the last one, 0: there is none. */
size_t hgi_http_history_copy(struct hgi_http_history *history, size_t cache,
                             struct hgi_http_step *ret_steps, int64_t *ret_end_ms);
/* How long the cache's loads took from the beginning of its oldest step until they are `until`. */
void hgi_http_history_loads(struct hgi_http_history *history, size_t cache,
                            const struct hgi_histogram_counts *until,
                            struct hgi_histogram_counts *ret_loads);

#endif
