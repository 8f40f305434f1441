/* SPDX-License-Identifier: Apache-2.0 */
#include "veil.h"

#include <string.h>

#include "base/check.h"
#include "tagging.h"

#define VEILED 0xd1u /* typed keys begin with their kind, a small number */

#define BARE_LEN (1u + HGI_DIGEST_BYTES)
#define USER_LEN (BARE_LEN + HGI_DIGEST_BYTES)

_Static_assert(HG_KEY_API_KEY_FEATURE < VEILED, "no typed key looks veiled");
_Static_assert(USER_LEN <= HGI_KEY_CANONICAL_MAX, "a veiled key is a key");

void hgi_veil_init(struct hgi_veil *veil, const struct hgi_digest_key *master,
                   struct hg_slice cache_name)
{
    struct hgi_digest own = hgi_digest(master, cache_name);

    memcpy(veil->key.bytes, own.bytes, sizeof(veil->key.bytes));
    explicit_bzero(&own, sizeof(own));
}

void hgi_veil_wipe(struct hgi_veil *veil)
{
    explicit_bzero(veil, sizeof(*veil));
}

static void put(struct hgi_key *key, const struct hgi_digest *digest)
{
    memcpy(key->data + key->len, digest->bytes, sizeof(digest->bytes));
    key->len += sizeof(digest->bytes);
}

void hgi_veil_key(const struct hgi_veil *veil, struct hg_slice canonical, struct hgi_key *ret_key)
{
    struct hg_slice user = hgi_tagging_first_part(canonical);
    struct hgi_digest digest = hgi_digest(&veil->key, canonical);

    HGI_BUG_ON(hgi_veil_is_on(canonical));
    ret_key->data[0] = VEILED;
    ret_key->len = 1;
    put(ret_key, &digest);
    if (user.len) {
        digest = hgi_veil_name(veil, HGI_TAG_USER, user);
        put(ret_key, &digest);
    }
}

struct hgi_digest hgi_veil_name(const struct hgi_veil *veil, unsigned char kind,
                                struct hg_slice name)
{
    unsigned char bytes[1 + HG_KEY_MAX];
    struct hgi_digest digest;

    HGI_BUG_ON(name.len > HG_KEY_MAX);
    bytes[0] = kind;
    if (name.len) {
        memcpy(bytes + 1, name.data, name.len);
    }
    digest = hgi_digest(&veil->key, hg_slice_of(bytes, 1 + name.len));
    explicit_bzero(bytes, 1 + name.len);
    return digest;
}

bool hgi_veil_is_on(struct hg_slice key)
{
    return key.len && *(const unsigned char *)key.data == VEILED;
}

struct hg_slice hgi_veil_user(struct hg_slice key)
{
    return hgi_veil_is_on(key) && key.len == USER_LEN
               ? hg_slice_of((const unsigned char *)key.data + BARE_LEN, HGI_DIGEST_BYTES)
               : hg_slice_of(NULL, 0);
}
