/* SPDX-License-Identifier: Apache-2.0 */
/* recent: the last answers given, whatever their key, for who asks why.
 * Owns:     the ring.
 * Threads:  any; nobody waits for anybody. Who is overtaken by a whole round while writing leaves
 *           its place to the newer one; a place being written is passed over by readers.
 * Limits:   HGI_RECENT_MAX answers; a key is its digest only.
 * Errors:   create: NULL without memory; noting cannot fail.
 * Not here: counters (base/metric), what changed (journal). */
#ifndef HGI_SERVER_RPC_RECENT_H
#define HGI_SERVER_RPC_RECENT_H

#include <stddef.h>
#include <stdint.h>

#include "herdgate/attr.h"
#include "herdgate/status.h"
#include "herdgate/types.h"

#define HGI_RECENT_MAX 1024u

struct hgi_recent;
struct hgi_cache;

struct hgi_past {
    const struct hgi_cache *cache; /* told apart by, and not looked into */
    uint64_t digest;
    int64_t at_ms; /* unix */
    enum hg_status status;
    enum hg_outcome outcome;
    enum hg_source source;
    bool is_fenced;
    uint64_t generation;
    int64_t age_ms;
};

HG_NODISCARD struct hgi_recent *hgi_recent_create(void);
void hgi_recent_destroy(struct hgi_recent **recent);
void hgi_recent_note(struct hgi_recent *recent, const struct hgi_past *past);
/* Those of this key, the newest first. Returns how many, at most `max`. */
size_t hgi_recent_of(struct hgi_recent *recent, const struct hgi_cache *cache, uint64_t digest,
                     struct hgi_past *ret_past, size_t max);

#endif
