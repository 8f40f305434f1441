/* SPDX-License-Identifier: Apache-2.0 */
/* identity: what a value says of who asks, as fields of a response.
 * Owns:     nothing.
 * Threads:  any.
 * Limits:   those of responses.
 * Errors:   false: what a loader gave cannot be a field's value, and nobody may be let in by it.
 * Not here: whether he may (authz). Not proto/tls/identity, which is a certificate. */
#ifndef HGI_SERVER_HTTP_IDENTITY_H
#define HGI_SERVER_HTTP_IDENTITY_H

#include "proto/codec.h"
#include "server/config.h"
#include "server/http/response.h"

/* Every configured header, one space where the value does not say it. NULL answer: nobody knows. */
HG_NODISCARD bool hgi_identity_say(const struct hgi_authz_config *authz,
                                   const struct hgi_msg_answer *answer,
                                   struct hgi_http_response *response);

#endif
