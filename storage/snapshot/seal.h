/* SPDX-License-Identifier: Apache-2.0 */
/* seal: what holds a file's bytes to what was written: digests, checksums, encryption.
 * Owns:     the keys derived for one file; wiped by deinit.
 * Threads:  one at a time.
 * Limits:   none of its own.
 * Errors:   bytes that are not what was sealed are false.
 * Not here: where the key comes from (server/access), which bytes there are (page, schema).
 *
 * Digests and checksums are SipHash under keys of the file: they find damage, and with the server's
 * key they cannot be made by somebody who has only the snapshot. Encryption is XChaCha20-Poly1305
 * with a nonce drawn for each write. */
#ifndef HGI_STORAGE_SNAPSHOT_SEAL_H
#define HGI_STORAGE_SNAPSHOT_SEAL_H

#include "base/bytes.h"
#include "base/digest.h"
#include "base/hash.h"

#define HGI_SEAL_SALT_BYTES  16u
#define HGI_SEAL_NONCE_BYTES 24u
#define HGI_SEAL_NONCES      64u

/* How a file's keys are made. Its numbers are in files. */
enum hgi_seal_mode {
    HGI_SEAL_OWN = 0,    /* of what lies in the file itself */
    HGI_SEAL_KEYED = 1,  /* of the server's key */
    HGI_SEAL_SECRET = 2, /* the same, and rows are encrypted */
};

/* What a digest is of: equal bytes of two kinds have two digests. */
enum hgi_seal_kind {
    HGI_SEAL_OF_CACHE,
    HGI_SEAL_OF_KEY,
    HGI_SEAL_OF_TAG,
    HGI_SEAL_OF_BYTES,
    HGI_SEAL_OF_ROW,
    HGI_SEAL_KIND_COUNT
};

struct hgi_seal {
    enum hgi_seal_mode mode;
    struct hgi_hash_key keys[HGI_SEAL_KIND_COUNT];
    unsigned char secret[HGI_DIGEST_BYTES];
    unsigned char nonces[HGI_SEAL_NONCES * HGI_SEAL_NONCE_BYTES]; /* drawn, not yet used */
    size_t nonces_left;
};

/* `key`: for HGI_KEY_USE_SNAPSHOT, NULL in mode OWN. */
void hgi_seal_init(struct hgi_seal *seal, enum hgi_seal_mode mode, const struct hgi_digest_key *key,
                   const unsigned char *salt);
void hgi_seal_deinit(struct hgi_seal *seal);

uint64_t hgi_seal_digest(const struct hgi_seal *seal, enum hgi_seal_kind kind,
                         struct hg_slice bytes);

/* What sealing adds to a row's bytes. */
size_t hgi_seal_overhead(const struct hgi_seal *seal);
/* Seals `len` bytes, which stand at `into` + hgi_seal_lead, where they are: `into` has room for
 * them and the overhead. `bound` is held to be the same when they are opened. */
size_t hgi_seal_lead(const struct hgi_seal *seal);
void hgi_seal_close(struct hgi_seal *seal, struct hg_slice bound, unsigned char *into, size_t len);
/* *ret_plain borrows from `sealed`, or from `scratch` if it had to be decrypted. False: it is not
 * what was sealed with `bound`, or no memory. */
HG_NODISCARD bool hgi_seal_open(const struct hgi_seal *seal, struct hg_slice bound,
                                struct hg_slice sealed, struct hg_bytes *scratch,
                                struct hg_slice *ret_plain);

#endif
