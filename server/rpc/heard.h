/* SPDX-License-Identifier: Apache-2.0 */
/* heard: what a loader says is no longer so, carried out as if somebody had asked for it.
 * Owns:     nothing.
 * Threads:  loader-io's.
 * Limits:   the supervisor's: so many a second.
 * Errors:   what cannot be made durable is logged; in memory it is done all the same.
 * Not here: how often a loader may say it (server/loader), callers' invalidations (cache_service).
 *
 * A loader reaches the caches that name it, and no others, whatever it says. */
#ifndef HGI_SERVER_RPC_HEARD_H
#define HGI_SERVER_RPC_HEARD_H

#include "proto/frame.h"
#include "server/rpc/dispatch.h"

/* `context` is the dispatch. False: none of the loader's caches has what it names. */
bool hgi_heard(void *context, const char *loader, const struct hgi_frame_invalidate *what,
               const struct hgi_now *now);

#endif
