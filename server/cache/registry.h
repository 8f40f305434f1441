/* SPDX-License-Identifier: Apache-2.0 */
/* registry: the caches of this server by name.
 * Owns:     the caches added to it.
 * Threads:  add before the first other use; then any, without a lock: the set does not change.
 * Limits:   HGI_CACHES_MAX.
 * Errors:   add: false when full, out of memory or the name is taken.
 * Not here: what a cache does (cache), values' checks (server/rpc). */
#ifndef HGI_SERVER_CACHE_REGISTRY_H
#define HGI_SERVER_CACHE_REGISTRY_H

#include <stdatomic.h>

#include "base/kind.h"
#include "server/cache/cache.h"

#define HGI_CACHES_MAX 256u

/* A cache and what its callers' keys and values are. */
struct hgi_registered {
    struct hgi_cache *cache;
    enum hgi_key_type key_type;
    enum hg_value_type value_type;
    /* Name of its loader section, borrowed from the configuration; NULL = none. A reload may name
     * another, but not take it away. */
    const char *_Atomic loader;
};

struct hgi_registry;

/* A typed key as the cache's engine knows it: canonical, and veiled if the cache has secret_keys;
 * then ret_load_key (NULL: not wanted) is the canonical one, the caller's to wipe, and else empty.
 * INVALID_ARGUMENT: it is not of the cache's type, as ret_sentence (HGI_SENTENCE_MAX bytes) says.
 */
HG_NODISCARD enum hg_status hgi_registered_key(const struct hgi_registered *registered,
                                               const struct hg_key *typed, struct hgi_key *ret_key,
                                               struct hgi_key *ret_load_key, char *ret_sentence);

HG_NODISCARD struct hgi_registry *hgi_registry_create(const struct hgi_allocator *allocator);
void hgi_registry_destroy(struct hgi_registry **registry);
/* Takes the cache. */
HG_NODISCARD bool hgi_registry_add(struct hgi_registry *registry,
                                   const struct hgi_registered *registered);
/* The cache, which is there, is filled by another loader from now on. */
void hgi_registry_set_loader(struct hgi_registry *registry, struct hg_slice name,
                             const char *loader);
/* NULL: no such cache. Borrowed until destroy. */
const struct hgi_registered *hgi_registry_find(const struct hgi_registry *registry,
                                               struct hg_slice name);
size_t hgi_registry_count(const struct hgi_registry *registry);
const struct hgi_registered *hgi_registry_at(const struct hgi_registry *registry, size_t index);
void hgi_registry_tick(struct hgi_registry *registry, const struct hgi_now *now);
/* In every cache. */
void hgi_registry_holder_gone(struct hgi_registry *registry, uint64_t holder,
                              const struct hgi_now *now);
void hgi_registry_stop(struct hgi_registry *registry, const struct hgi_now *now);

#endif
