/* SPDX-License-Identifier: Apache-2.0 */
/* hash: keyed hashing, random bytes, the digest of a file.
 * Owns:     nothing; the key is the caller's secret.
 * Threads:  any, after hgi_hash_start.
 * Limits:   none.
 * Errors:   none once started.
 * Not here: the map. Keys come from clients, so the hash must not be guessable: SipHash-2-4
 * (libsodium). */
#ifndef HGI_BASE_HASH_H
#define HGI_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "herdgate/attr.h"
#include "herdgate/types.h"

struct hgi_hash_key {
    unsigned char bytes[16];
};

/* Once, before any other call of this file, before threads. False: no source of randomness. */
HG_NODISCARD bool hgi_hash_start(void);
void hgi_random(void *ret_bytes, size_t size);
struct hgi_hash_key hgi_hash_key_new(void);
uint64_t hgi_hash(const struct hgi_hash_key *key, struct hg_slice bytes);

#define HGI_HASH_HEX_LEN 64u
/* BLAKE2b-256 of the whole file, as `b2sum -l 256` prints it: HGI_HASH_HEX_LEN digits and a NUL.
 * The descriptor's position stays. False: it cannot be read. */
HG_NODISCARD bool hgi_hash_file(int fd, char *ret_hex);

#endif
