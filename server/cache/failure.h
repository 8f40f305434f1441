/* SPDX-License-Identifier: Apache-2.0 */
/* failure: what a cache remembers of keys whose load failed.
 * Owns:     its records.
 * Threads:  all under the cache's flight lock.
 * Limits:   as many records as `max`; the oldest goes.
 * Errors:   a failure that finds no memory is not remembered.
 * Not here: whether a failure is remembered at all (publish). A door of this room only. */
#ifndef HGI_SERVER_CACHE_FAILURE_H
#define HGI_SERVER_CACHE_FAILURE_H

#include "base/list.h"
#include "base/lock.h"
#include "base/map.h"
#include "server/cache/cache.h"

struct hgi_failures {
    struct hgi_map map;
    struct hgi_node by_age; /* oldest first */
    size_t count;
    size_t max;
    const struct hgi_allocator *allocator;
};

/* A failure copied out. */
struct hgi_failure_copy {
    enum hg_status status;
    int64_t left_ms; /* until the next load may begin */
    size_t message_len;
    char message[HGI_MESSAGE_MAX];
};

HG_NODISCARD bool hgi_failures_init(struct hgi_failures *failures,
                                    const struct hgi_allocator *allocator, size_t max);
void hgi_failures_deinit(struct hgi_failures *failures);
/* True: the key failed lately and its pause is not over. */
HG_NODISCARD bool hgi_failures_find(const struct hgi_failures *failures, uint64_t hash,
                                    struct hg_slice key, int64_t now_ms,
                                    struct hgi_failure_copy *ret_failure) HGI_REQUIRES(flight);
/* Its pause is `pause_ms`, or twice the one before up to 16 times that, if it failed before. */
void hgi_failures_remember(struct hgi_failures *failures, uint64_t hash, struct hg_slice key,
                           const struct hgi_answer *error, int64_t pause_ms, int64_t now_ms)
    HGI_REQUIRES(flight);
void hgi_failures_forget(struct hgi_failures *failures, uint64_t hash, struct hg_slice key)
    HGI_REQUIRES(flight);
void hgi_failures_forget_all(struct hgi_failures *failures) HGI_REQUIRES(flight);

#endif
