/* SPDX-License-Identifier: Apache-2.0 */
/* tokens_file: the tokens at rest: a line each, with the digest in the place of the token.
 * Owns:     the form of the file.
 * Threads:  one at a time a file.
 * Limits:   HGI_TOKENS_MAX tokens.
 * Errors:   a file that is not whole, or was changed by others, is refused as a whole: a server
 *           that cannot tell who may come in does not start.
 * Not here: which tokens count (tokens).
 *
 * The last line seals the others with the server's key. The file is written anew, beside the old
 * one, and takes its name when it is on disk. */
#ifndef HGI_SERVER_ACCESS_TOKENS_FILE_H
#define HGI_SERVER_ACCESS_TOKENS_FILE_H

#include "base/digest.h"
#include "base/kind.h"

#define HGI_TOKENS_MAX         1024u
#define HGI_PRINCIPAL_NAME_MAX 64u

struct hgi_token_record {
    uint32_t id;
    int64_t created_at_ms; /* unix */
    int64_t expires_at_ms; /* unix; 0: does not */
    struct hgi_digest digest;
    char principal[HGI_PRINCIPAL_NAME_MAX + 1];
};

/* Fills at most HGI_TOKENS_MAX records. NOT_FOUND: there is no such file, and no sentence;
 * FAILED_PRECONDITION: it cannot be used. */
HG_NODISCARD enum hg_status hgi_tokens_file_read(const char *path,
                                                 const struct hgi_digest_key *seal,
                                                 struct hgi_token_record *ret_records,
                                                 size_t *ret_count, char *ret_sentence);
/* On disk when it returns OK; UNAVAILABLE: not, and the file is as it was or, at worst, as it was
 * to become. */
HG_NODISCARD enum hg_status hgi_tokens_file_write(const char *path,
                                                  const struct hgi_digest_key *seal,
                                                  const struct hgi_token_record *records,
                                                  size_t count, char *ret_sentence);

#endif
