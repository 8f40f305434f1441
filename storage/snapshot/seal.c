/* SPDX-License-Identifier: Apache-2.0 */
#include "seal.h"

#include <sodium.h>
#include <string.h>

#define CHECKSUM_BYTES 8u
#define TAG_BYTES      crypto_aead_xchacha20poly1305_ietf_ABYTES

_Static_assert(HGI_DIGEST_BYTES == crypto_aead_xchacha20poly1305_ietf_KEYBYTES, "key size");
_Static_assert(HGI_SEAL_NONCE_BYTES == crypto_aead_xchacha20poly1305_ietf_NPUBBYTES, "nonce size");

/* One key of many: keyed by the server's key, or by nothing, over the file's salt and what it is
 * for.
 */
static void derive(const struct hgi_digest_key *key, const unsigned char *salt,
                   unsigned char purpose, unsigned char *ret_key, size_t size)
{
    static const char name[] = "herdgate snapshot";
    unsigned char bytes[HGI_DIGEST_BYTES];
    crypto_generichash_state state;

    crypto_generichash_init(&state, key ? key->bytes : NULL, key ? sizeof(key->bytes) : 0,
                            sizeof(bytes));
    crypto_generichash_update(&state, (const unsigned char *)name, sizeof(name));
    crypto_generichash_update(&state, salt, HGI_SEAL_SALT_BYTES);
    crypto_generichash_update(&state, &purpose, 1);
    crypto_generichash_final(&state, bytes, sizeof(bytes));
    memcpy(ret_key, bytes, size);
    explicit_bzero(bytes, sizeof(bytes));
    explicit_bzero(&state, sizeof(state));
}

void hgi_seal_init(struct hgi_seal *seal, enum hgi_seal_mode mode, const struct hgi_digest_key *key,
                   const unsigned char *salt)
{
    seal->mode = mode;
    seal->nonces_left = 0;
    for (unsigned i = 0; i < HGI_SEAL_KIND_COUNT; i++) {
        derive(key, salt, (unsigned char)i, seal->keys[i].bytes, sizeof(seal->keys[i].bytes));
    }
    derive(key, salt, HGI_SEAL_KIND_COUNT, seal->secret, sizeof(seal->secret));
}

void hgi_seal_deinit(struct hgi_seal *seal)
{
    explicit_bzero(seal, sizeof(*seal));
}

uint64_t hgi_seal_digest(const struct hgi_seal *seal, enum hgi_seal_kind kind,
                         struct hg_slice bytes)
{
    return hgi_hash(&seal->keys[kind], bytes);
}

/* Of a row in clear: over its bytes, and over that and what it is bound to. */
static uint64_t checksum(const struct hgi_seal *seal, struct hg_slice bound, struct hg_slice bytes)
{
    uint64_t of_bytes = hgi_seal_digest(seal, HGI_SEAL_OF_BYTES, bytes);
    unsigned char both[CHECKSUM_BYTES + 256];

    for (size_t i = 0; i < CHECKSUM_BYTES; i++) {
        both[i] = (unsigned char)(of_bytes >> (8 * i));
    }
    memcpy(both + CHECKSUM_BYTES, bound.data, bound.len);
    return hgi_seal_digest(seal, HGI_SEAL_OF_ROW, hg_slice_of(both, CHECKSUM_BYTES + bound.len));
}

size_t hgi_seal_lead(const struct hgi_seal *seal)
{
    return seal->mode == HGI_SEAL_SECRET ? HGI_SEAL_NONCE_BYTES : 0;
}

size_t hgi_seal_overhead(const struct hgi_seal *seal)
{
    return seal->mode == HGI_SEAL_SECRET ? HGI_SEAL_NONCE_BYTES + TAG_BYTES : CHECKSUM_BYTES;
}

/* Drawn many at a time: the kernel is asked for each draw. */
static const unsigned char *next_nonce(struct hgi_seal *seal)
{
    if (seal->nonces_left == 0) {
        hgi_random(seal->nonces, sizeof(seal->nonces));
        seal->nonces_left = HGI_SEAL_NONCES;
    }
    return seal->nonces + --seal->nonces_left * HGI_SEAL_NONCE_BYTES;
}

void hgi_seal_close(struct hgi_seal *seal, struct hg_slice bound, unsigned char *into, size_t len)
{
    if (seal->mode == HGI_SEAL_SECRET) {
        unsigned char *text = into + HGI_SEAL_NONCE_BYTES;

        memcpy(into, next_nonce(seal), HGI_SEAL_NONCE_BYTES);
        crypto_aead_xchacha20poly1305_ietf_encrypt(text, NULL, text, len, bound.data, bound.len,
                                                   NULL, into, seal->secret);
    } else {
        uint64_t sum = checksum(seal, bound, hg_slice_of(into, len));

        for (size_t i = 0; i < CHECKSUM_BYTES; i++) {
            into[len + i] = (unsigned char)(sum >> (8 * i));
        }
    }
}

static bool decrypt(const struct hgi_seal *seal, struct hg_slice bound, struct hg_slice sealed,
                    struct hg_bytes *scratch, struct hg_slice *ret_plain)
{
    const unsigned char *nonce = sealed.data;
    size_t len = sealed.len - HGI_SEAL_NONCE_BYTES - TAG_BYTES;

    scratch->len = 0;
    if (!hgi_bytes_reserve(scratch, len + 1) ||
        crypto_aead_xchacha20poly1305_ietf_decrypt(
            scratch->data, NULL, NULL, nonce + HGI_SEAL_NONCE_BYTES, len + TAG_BYTES, bound.data,
            bound.len, nonce, seal->secret) != 0) {
        return false;
    }
    scratch->len = len;
    *ret_plain = hgi_bytes_slice(scratch);
    return true;
}

bool hgi_seal_open(const struct hgi_seal *seal, struct hg_slice bound, struct hg_slice sealed,
                   struct hg_bytes *scratch, struct hg_slice *ret_plain)
{
    const unsigned char *bytes = sealed.data;
    uint64_t sum = 0;

    if (sealed.len < hgi_seal_overhead(seal)) {
        return false;
    }
    if (seal->mode == HGI_SEAL_SECRET) {
        return decrypt(seal, bound, sealed, scratch, ret_plain);
    }
    *ret_plain = hg_slice_of(bytes, sealed.len - CHECKSUM_BYTES);
    for (size_t i = 0; i < CHECKSUM_BYTES; i++) {
        sum |= (uint64_t)bytes[ret_plain->len + i] << (8 * i);
    }
    return sum == checksum(seal, bound, *ret_plain);
}
