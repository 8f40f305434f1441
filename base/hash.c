/* SPDX-License-Identifier: Apache-2.0 */
#include "hash.h"

#include <sodium.h>
#include <string.h>

_Static_assert(sizeof(struct hgi_hash_key) == crypto_shorthash_KEYBYTES, "SipHash key size");

bool hgi_hash_start(void)
{
    return sodium_init() >= 0;
}

void hgi_random(void *ret_bytes, size_t size)
{
    randombytes_buf(ret_bytes, size);
}

struct hgi_hash_key hgi_hash_key_new(void)
{
    struct hgi_hash_key key;

    hgi_random(key.bytes, sizeof(key.bytes));
    return key;
}

uint64_t hgi_hash(const struct hgi_hash_key *key, struct hg_slice bytes)
{
    unsigned char out[crypto_shorthash_BYTES];
    uint64_t hash;

    crypto_shorthash(out, bytes.data, bytes.len, key->bytes);
    memcpy(&hash, out, sizeof(hash));
    return hash;
}
