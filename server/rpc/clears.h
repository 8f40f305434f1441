/* SPDX-License-Identifier: Apache-2.0 */
/* clears: clears that are done, and wait for the loads that began before them.
 * Owns:     no call; a wait's memory is its call's.
 * Threads:  any; one lock, and nothing is called with it held. No thread waits: the tick looks.
 * Limits:   the call's deadline.
 * Errors:   DEADLINE_EXCEEDED, CANCELLED (the peer is gone), UNAVAILABLE (the server stops);
 * cleared it is all the same, and the sentence says so.
 * Not here: clearing (admin_service). A door of this room only. */
#ifndef HGI_SERVER_RPC_CLEARS_H
#define HGI_SERVER_RPC_CLEARS_H

#include "base/list.h"
#include "base/lock.h"
#include "server/cache/inspect.h"

struct hgi_rpc;

struct hgi_cleared {
    struct hgi_cache *cache;
    uint64_t generation; /* of the clear */
};

/* Embed it in what lives as long as the call, zeroed. */
struct hgi_clear_wait {
    struct hgi_rpc *rpc; /* with hgi_rpc_bound, and the reply's payload */
    const struct hgi_cleared *cleared;
    size_t cleared_count;
    struct hgi_node node;
};

struct hgi_clears {
    struct hgi_lock lock;
    struct hgi_node waiting HGI_GUARDED_BY(clears);
    bool is_closed HGI_GUARDED_BY(clears);
};

void hgi_clears_init(struct hgi_clears *clears);
/* Nobody waits. */
void hgi_clears_deinit(struct hgi_clears *clears);

/* Finishes the call, now or later, and once: not to be touched after. */
void hgi_clears_wait(struct hgi_clears *clears, struct hgi_clear_wait *wait);
/* Finishes those whose loads have ended, or whose time is up. One thread calls it. */
void hgi_clears_tick(struct hgi_clears *clears, const struct hgi_now *now);
/* From here on nobody waits. */
void hgi_clears_close(struct hgi_clears *clears);

#endif
