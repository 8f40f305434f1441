/* SPDX-License-Identifier: Apache-2.0 */
/* token: the text a caller shows, and what is kept of it.
 * Owns:     nothing; a text is its holder's to wipe.
 * Threads:  any.
 * Limits:   a text has HGI_TOKEN_LEN bytes.
 * Errors:   a text that is none has no id; reading it takes as long.
 * Not here: which tokens there are (tokens).
 *
 * "hg_", 8 hexadecimal digits of id, "_", 43 of base64url: 32 random bytes. The id says in which
 * place the digest is kept, so that looking up takes one digest and one comparison whatever the
 * text is. It is no secret: it is listed, logged and revoked by. */
#ifndef HGI_SERVER_ACCESS_TOKEN_H
#define HGI_SERVER_ACCESS_TOKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "herdgate/attr.h"
#include "herdgate/types.h"

#define HGI_TOKEN_ID_LEN 8u
#define HGI_TOKEN_LEN    (3u + HGI_TOKEN_ID_LEN + 1u + 43u)

struct hgi_token_text {
    char text[HGI_TOKEN_LEN + 1];
};

/* The id in it. */
static inline struct hg_slice hgi_token_id_of(const struct hgi_token_text *token)
{
    return hg_slice_of(token->text + 3, HGI_TOKEN_ID_LEN);
}

/* A new one of this id. */
void hgi_token_make(uint32_t id, struct hgi_token_text *ret_token);
/* False: no such text is ever made. */
HG_NODISCARD bool hgi_token_id(struct hg_slice text, uint32_t *ret_id);
/* Eight hexadecimal digits. */
HG_NODISCARD bool hgi_token_id_parse(struct hg_slice digits, uint32_t *ret_id);
/* The token in the value of an `authorization` pair, "Bearer hg_..."; empty: there is none. */
struct hg_slice hgi_token_of_bearer(struct hg_slice value);

#endif
