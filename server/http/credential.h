/* SPDX-License-Identifier: Apache-2.0 */
/* credential: what a gateway's request shows, where its cache says to look.
 * Owns:     nothing; what is found borrows from the request or the arena.
 * Threads:  any.
 * Limits:   one credential a request.
 * Errors:   HGI_CREDENTIAL_NONE and _WRONG.
 * Not here: the original request (facts), what a credential is good for (the engine). */
#ifndef HGI_SERVER_HTTP_CREDENTIAL_H
#define HGI_SERVER_HTTP_CREDENTIAL_H

#include "server/config.h"
#include "server/http/request.h"

enum hgi_credential_found {
    HGI_CREDENTIAL_FOUND,
    HGI_CREDENTIAL_NONE,  /* nothing is shown there */
    HGI_CREDENTIAL_WRONG, /* two of them, or what can be none: the request is wrong */
};

/* `query`: of the original request. ret_credential: its text, not empty and without control bytes.
 */
enum hgi_credential_found hgi_credential_find(const struct hgi_authz_config *authz,
                                              const struct hgi_http_request *request,
                                              struct hg_slice query, struct hgi_arena *arena,
                                              struct hg_slice *ret_credential);
/* Its SHA-256 as 64 lower case hexadecimal digits, in the arena. False: no memory. */
HG_NODISCARD bool hgi_credential_sha256(struct hg_slice credential, struct hgi_arena *arena,
                                        struct hg_slice *ret_digits);

#endif
