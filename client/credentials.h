/* SPDX-License-Identifier: Apache-2.0 */
/* credentials: what a client shows to say who it is, read from files.
 * Owns:     what was read, until deinit, which wipes it.
 * Threads:  init and deinit one; constant between.
 * Limits:   a token is at most HGI_TOKEN_FILE_MAX bytes.
 * Errors:   one sentence: which file, what is wrong, what would be right.
 * Not here: showing it (call), what a token is worth (the server). */
#ifndef HGI_CLIENT_CREDENTIALS_H
#define HGI_CLIENT_CREDENTIALS_H

#include "base/bytes.h"
#include "base/kind.h"
#include "herdgate/client.h"
#include "proto/tls/identity.h"

#define HGI_TOKEN_FILE_MAX  256u
#define HGI_SERVER_NAME_MAX 256u

struct hgi_credentials {
    struct hg_bytes bearer;       /* "Bearer hg_..."; empty: none */
    struct hgi_identity identity; /* of tls+tcp */
    char server_name[HGI_SERVER_NAME_MAX];
};

/* On failure nothing is left to deinit. ret_sentence: HGI_SENTENCE_MAX bytes. */
HG_NODISCARD enum hg_status hgi_credentials_init(const char *url,
                                                 const struct hg_client_options *options,
                                                 struct hgi_credentials *ret_credentials,
                                                 char *ret_sentence);
/* Safe on what is zero. */
void hgi_credentials_deinit(struct hgi_credentials *credentials);

#endif
