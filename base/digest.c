/* SPDX-License-Identifier: Apache-2.0 */
#include "digest.h"

#include <sodium.h>

#include "base/hash.h"

/* What the vector code of BLAKE2b leaves of its input below its caller's frame, and more. */
#define STACK_BYTES 4096u

#define CONTEXT "herdgate" /* eight bytes, as crypto_kdf wants them */

_Static_assert(HGI_DIGEST_BYTES == crypto_generichash_BYTES, "BLAKE2b-256");
_Static_assert(HGI_DIGEST_BYTES == crypto_generichash_KEYBYTES, "its keys");
_Static_assert(HGI_DIGEST_BYTES == crypto_kdf_KEYBYTES, "the master's");
_Static_assert(sizeof(CONTEXT) - 1 == crypto_kdf_CONTEXTBYTES, "the context's");

struct hgi_digest_key hgi_digest_key_new(void)
{
    struct hgi_digest_key key;

    hgi_random(key.bytes, sizeof(key.bytes));
    return key;
}

struct hgi_digest_key hgi_digest_key_derive(const struct hgi_digest_key *master,
                                            enum hgi_key_use use)
{
    struct hgi_digest_key key;

    (void)crypto_kdf_derive_from_key(key.bytes, sizeof(key.bytes), use, CONTEXT,
                                     master->bytes); /* fails for other lengths only */
    return key;
}

struct hgi_digest hgi_digest(const struct hgi_digest_key *key, struct hg_slice bytes)
{
    struct hgi_digest digest;

    (void)crypto_generichash(digest.bytes, sizeof(digest.bytes), bytes.data, bytes.len, key->bytes,
                             sizeof(key->bytes)); /* fails for other lengths only */
    sodium_stackzero(STACK_BYTES);
    return digest;
}

bool hgi_digest_equal(const struct hgi_digest *a, const struct hgi_digest *b)
{
    return sodium_memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}
