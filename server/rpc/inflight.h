/* SPDX-License-Identifier: Apache-2.0 */
/* inflight: the requests of one connection that wait for their reply.
 * Owns:     a copy of each route.
 * Threads:  the caller's lock.
 * Limits:   the caller compares `count` with its own.
 * Errors:   add: NO_MEMORY leaves the set as it was.
 * Not here: what the requests are (dispatch). */
#ifndef HGI_SERVER_RPC_INFLIGHT_H
#define HGI_SERVER_RPC_INFLIGHT_H

#include "base/alloc.h"
#include "proto/sp.h"

/* Open addressing; a slot with len 0 is empty. The peer chooses the ids, so it can make them
 * collide: a search then walks its own in_flight_max slots, which harms nobody else. */
struct hgi_inflight {
    struct hgi_sp_route *slots;
    uint32_t slot_count; /* 0 or a power of two */
    uint32_t count;
};

enum hgi_inflight_add { HGI_INFLIGHT_ADDED, HGI_INFLIGHT_THERE, HGI_INFLIGHT_NO_MEMORY };

void hgi_inflight_init(struct hgi_inflight *inflight);
void hgi_inflight_deinit(struct hgi_inflight *inflight);
HG_NODISCARD enum hgi_inflight_add hgi_inflight_add(struct hgi_inflight *inflight,
                                                    const struct hgi_sp_route *route);
/* False: it was not there. */
HG_NODISCARD bool hgi_inflight_remove(struct hgi_inflight *inflight,
                                      const struct hgi_sp_route *route);

#endif
