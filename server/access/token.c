/* SPDX-License-Identifier: Apache-2.0 */
#include "token.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/check.h"

#define PREFIX       "hg_"
#define PREFIX_LEN   (sizeof(PREFIX) - 1)
#define BEARER       "bearer "
#define BEARER_LEN   (sizeof(BEARER) - 1)
#define SECRET_BYTES 32u
#define SECRET_LEN   43u

_Static_assert(sodium_base64_ENCODED_LEN(SECRET_BYTES, sodium_base64_VARIANT_URLSAFE_NO_PADDING) ==
                   SECRET_LEN + 1,
               "how long a secret is in base64url");

void hgi_token_make(uint32_t id, struct hgi_token_text *ret_token)
{
    unsigned char secret[SECRET_BYTES];
    int len;

    randombytes_buf(secret, sizeof(secret));
    len = snprintf(ret_token->text, sizeof(ret_token->text), PREFIX "%08" PRIx32 "_", id);
    HGI_BUG_ON(len != (int)(HGI_TOKEN_LEN - SECRET_LEN));
    sodium_bin2base64(ret_token->text + len, SECRET_LEN + 1, secret, sizeof(secret),
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    sodium_memzero(secret, sizeof(secret));
}

bool hgi_token_id_parse(struct hg_slice digits, uint32_t *ret_id)
{
    static const char hex[] = "0123456789abcdef";
    const char *at = digits.data;
    uint32_t id = 0;

    if (digits.len != HGI_TOKEN_ID_LEN) {
        return false;
    }
    for (size_t i = 0; i < HGI_TOKEN_ID_LEN; i++) {
        const char *digit = at[i] ? strchr(hex, at[i]) : NULL;

        if (!digit) {
            return false;
        }
        id = id << 4 | (uint32_t)(digit - hex);
    }
    *ret_id = id;
    return true;
}

bool hgi_token_id(struct hg_slice text, uint32_t *ret_id)
{
    const char *at = text.data;

    return text.len == HGI_TOKEN_LEN && memcmp(at, PREFIX, PREFIX_LEN) == 0 &&
           at[PREFIX_LEN + HGI_TOKEN_ID_LEN] == '_' &&
           hgi_token_id_parse(hg_slice_of(at + PREFIX_LEN, HGI_TOKEN_ID_LEN), ret_id);
}

struct hg_slice hgi_token_of_bearer(struct hg_slice value)
{
    const char *at = value.data;

    /* The scheme in any case, as HTTP has it; the token as it is. */
    if (value.len <= BEARER_LEN || strncasecmp(at, BEARER, BEARER_LEN) != 0) {
        return hg_slice_of(NULL, 0);
    }
    return hg_slice_of(at + BEARER_LEN, value.len - BEARER_LEN);
}
