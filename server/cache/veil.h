/* SPDX-License-Identifier: Apache-2.0 */
/* veil: what stands for the keys of a cache with secret_keys.
 * Owns:     one cache's digest key, until wiped.
 * Threads:  any; constant once made.
 * Limits:   keys of HGI_KEY_CANONICAL_MAX bytes, names of HG_KEY_MAX.
 * Errors:   none.
 * Not here: who puts the veil on (server/rpc/service for keys, tagging for tags and users), and
 * where the key comes from (server/lifecycle).
 *
 * A veiled key is a byte that no typed key begins with, the BLAKE2b-256 of the canonical key, and,
 * of a key with a user, the digest of that user, by which his keys are found together. The same key
 * of two caches is two digests. Nothing but the loader's copy, while it loads, tells the key. */
#ifndef HGI_SERVER_CACHE_VEIL_H
#define HGI_SERVER_CACHE_VEIL_H

#include "base/digest.h"
#include "base/kind.h"

struct hgi_veil {
    struct hgi_digest_key key;
};

/* `master`: for HGI_KEY_USE_CACHE_KEYS; the cache's own is made of it and of its name. */
void hgi_veil_init(struct hgi_veil *veil, const struct hgi_digest_key *master,
                   struct hg_slice cache_name);
void hgi_veil_wipe(struct hgi_veil *veil);
/* `canonical`: of a typed key (base/kind). */
void hgi_veil_key(const struct hgi_veil *veil, struct hg_slice canonical, struct hgi_key *ret_key);
/* Of a tag, or of a user: `kind` keeps them apart. */
struct hgi_digest hgi_veil_name(const struct hgi_veil *veil, unsigned char kind,
                                struct hg_slice name);
/* Whether a key of the engine's, or of a file, is a veiled one. */
bool hgi_veil_is_on(struct hg_slice key);
/* The user's digest in it; empty: it has none, or is no veiled key. */
struct hg_slice hgi_veil_user(struct hg_slice key);

#endif
