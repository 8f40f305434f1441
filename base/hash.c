/* SPDX-License-Identifier: Apache-2.0 */
#include "hash.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>
#include <unistd.h>

#define DIGEST_BYTES 32u

_Static_assert(sizeof(struct hgi_hash_key) == crypto_shorthash_KEYBYTES, "SipHash key size");
_Static_assert(HGI_HASH_HEX_LEN == 2 * DIGEST_BYTES, "two digits a byte");

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

bool hgi_hash_file(int fd, char *ret_hex)
{
    crypto_generichash_state state;
    unsigned char digest[DIGEST_BYTES];
    unsigned char bytes[16384];
    off_t at = 0;
    ssize_t got;

    crypto_generichash_init(&state, NULL, 0, sizeof(digest));
    while ((got = pread(fd, bytes, sizeof(bytes), at)) != 0) {
        if (got < 0 && errno != EINTR) {
            return false;
        }
        if (got > 0) {
            crypto_generichash_update(&state, bytes, (unsigned long long)got);
            at += got;
        }
    }
    crypto_generichash_final(&state, digest, sizeof(digest));
    sodium_bin2hex(ret_hex, HGI_HASH_HEX_LEN + 1, digest, sizeof(digest));
    return true;
}
