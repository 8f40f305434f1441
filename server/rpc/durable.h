/* SPDX-License-Identifier: Apache-2.0 */
/* durable: what must be on disk before its OK, with or without a snapshot.
 * Owns:     nothing.
 * Threads:  any; `done` is called once, from the snapshotter's thread or before return.
 * Limits:   the snapshotter's inbox.
 * Errors:   no snapshot: OK at once. Refused by the snapshotter: told as a failed write.
 * Not here: writing (server/snapshotter). A door of this room only. */
#ifndef HGI_SERVER_RPC_DURABLE_H
#define HGI_SERVER_RPC_DURABLE_H

#include "server/cache/cache.h"
#include "server/snapshotter.h"

typedef void (*hgi_durable_fn)(void *context, const struct hgi_saved *saved);

/* Why the snapshotter did not accept an operation, by the status it gave. */
const char *hgi_durable_refusal(enum hg_status status);

/* After hgi_cache_clear, _invalidate_cover and _put, with what they returned. `snapshotter` may be
 * NULL. */
void hgi_durable_clear(struct hgi_snapshotter *snapshotter, const struct hgi_cache *cache,
                       uint64_t generation, hgi_durable_fn done, void *context);
void hgi_durable_forget(struct hgi_snapshotter *snapshotter, const struct hgi_cache *cache,
                        const struct hgi_cover *cover, uint64_t generation, hgi_durable_fn done,
                        void *context);
void hgi_durable_put(struct hgi_snapshotter *snapshotter, const struct hgi_cache *cache,
                     const struct hgi_entry *entry, hgi_durable_fn done, void *context);

#endif
