/* SPDX-License-Identifier: Apache-2.0 */
/* identity: the certificates and the key of one end of TLS, read from their files and checked.
 * Owns:     the texts, until deinit, which wipes them.
 * Threads:  init and deinit one; constant between.
 * Limits:   HGI_PEM_MAX bytes a file.
 * Errors:   one sentence: which file, what is wrong, what would be right.
 * Not here: TLS itself (nng's, which is Mbed TLS).
 *
 * nng takes nearly anything here and then refuses every peer without a word. So what cannot work is
 * found before: a key that is not the certificate's, a certificate that is over, that is not for
 * this side, files others can write, or a key that others can read. */
#ifndef HGI_PROTO_TLS_IDENTITY_H
#define HGI_PROTO_TLS_IDENTITY_H

#include "base/bytes.h"
#include "base/kind.h"

#define HGI_PEM_MAX (1024u * 1024u)

/* Absolute paths of PEM files. */
struct hgi_identity_files {
    const char *ca;   /* who may have signed the other side's certificate; NULL: it needs none */
    const char *cert; /* this side's, then those in between */
    const char *key;
    bool is_server;
};

/* NUL-ended texts. */
struct hgi_identity {
    struct hg_bytes ca;
    struct hg_bytes cert;
    struct hg_bytes key;
};

/* Of a client all three are needed. On failure nothing is left to deinit. ret_sentence:
 * HGI_SENTENCE_MAX bytes.
 */
HG_NODISCARD enum hg_status hgi_identity_init(const struct hgi_identity_files *files,
                                              struct hgi_identity *ret_identity,
                                              char *ret_sentence);
/* Safe on what is zero. */
void hgi_identity_deinit(struct hgi_identity *identity);

static inline const char *hgi_identity_text(const struct hg_bytes *pem)
{
    return (const char *)pem->data;
}

#endif
