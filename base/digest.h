/* SPDX-License-Identifier: Apache-2.0 */
/* digest: keyed digests (BLAKE2b-256), for what may be recognised but not read again.
 * Owns:     nothing; the keys are the caller's secrets, and his to wipe.
 * Threads:  any, after hgi_hash_start.
 * Limits:   none.
 * Errors:   none once started.
 * Not here: hashing for a map (hash), where a key is kept (server/access/keyfile). */
#ifndef HGI_BASE_DIGEST_H
#define HGI_BASE_DIGEST_H

#include <stdbool.h>
#include <stdint.h>

#include "herdgate/attr.h"
#include "herdgate/types.h"

#define HGI_DIGEST_BYTES 32u

struct hgi_digest_key {
    unsigned char bytes[HGI_DIGEST_BYTES];
};

struct hgi_digest {
    unsigned char bytes[HGI_DIGEST_BYTES];
};

/* What one master key is used for. Numbers are part of what is on disk. */
enum hgi_key_use {
    HGI_KEY_USE_TOKENS = 1,     /* digests of access tokens */
    HGI_KEY_USE_TOKEN_FILE = 2, /* the seal of the file they are in */
    HGI_KEY_USE_CACHE_KEYS = 3, /* digests of the keys of caches with secret_keys */
    HGI_KEY_USE_SNAPSHOT = 4,   /* checksums and encryption of the snapshot */
};

struct hgi_digest_key hgi_digest_key_new(void);
/* A key for that use only, from which neither the master nor another use's can be told. */
struct hgi_digest_key hgi_digest_key_derive(const struct hgi_digest_key *master,
                                            enum hgi_key_use use);
/* Leaves nothing of the bytes on the stack. */
struct hgi_digest hgi_digest(const struct hgi_digest_key *key, struct hg_slice bytes);
/* In a time that does not depend on where they differ. */
bool hgi_digest_equal(const struct hgi_digest *a, const struct hgi_digest *b);

#endif
