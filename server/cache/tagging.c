/* SPDX-License-Identifier: Apache-2.0 */
#include "tagging.h"

#include <string.h>

#include "base/bytes.h"
#include "base/check.h"

/* A veiled name of one letter is longer than the name. */
_Static_assert(HGI_DIGEST_BYTES <= HG_TAG_MAX && HGI_DIGEST_BYTES <= HG_KEY_MAX,
               "veiled names fit where names do");

static void add(struct hgi_tagging *tagging, unsigned char kind, struct hg_slice name)
{
    unsigned char *at = tagging->bytes + tagging->bytes_len;

    HGI_BUG_ON(tagging->count == HGI_TAGS_MAX ||
               1 + name.len > sizeof(tagging->bytes) - tagging->bytes_len);
    at[0] = kind;
    if (name.len) {
        memcpy(at + 1, name.data, name.len);
    }
    tagging->bytes_len += 1 + name.len;
    tagging->names[tagging->count++] = hg_slice_of(at, 1 + name.len);
}

struct hg_slice hgi_tagging_first_part(struct hg_slice key)
{
    struct hg_key typed;

    if (hgi_veil_is_on(key)) {
        return hgi_veil_user(key);
    }
    if (!hgi_key_decode(key, &typed) ||
        (typed.kind != HG_KEY_USER_API_KEY && typed.kind != HG_KEY_API_KEY_FEATURE)) {
        return hg_slice_of(NULL, 0);
    }
    return typed.user_id;
}

static void add_name(struct hgi_tagging *tagging, const struct hgi_veil *veil, unsigned char kind,
                     struct hg_slice name)
{
    struct hgi_digest digest;

    if (veil) {
        digest = hgi_veil_name(veil, kind, name);
        name = hg_slice_of(digest.bytes, sizeof(digest.bytes));
    }
    add(tagging, kind, name);
}

void hgi_tagging_init(struct hgi_tagging *tagging, const struct hgi_veil *veil, struct hg_slice key,
                      const struct hgi_lifetime *lifetime)
{
    struct hg_slice part = hgi_tagging_first_part(key);

    HGI_BUG_ON(lifetime->tag_count > HGI_TAGS_GIVEN_MAX);
    tagging->count = 0;
    tagging->bytes_len = 0;
    for (size_t i = 0; i < lifetime->tag_count; i++) {
        add_name(tagging, veil, HGI_TAG_GIVEN, lifetime->tags[i]);
    }
    if (part.len) {
        add(tagging, HGI_TAG_USER, part);
    }
    if (lifetime->user.len) {
        add_name(tagging, veil, HGI_TAG_USER, lifetime->user);
    }
    if (part.len && lifetime->user.len &&
        hgi_slice_equal(tagging->names[tagging->count - 2], tagging->names[tagging->count - 1])) {
        tagging->count--; /* the same user, twice */
    }
}

static void name_of(const struct hgi_veil *veil, unsigned char kind, struct hg_slice name,
                    struct hgi_tag_name *ret_name)
{
    struct hgi_digest digest;

    HGI_BUG_ON(name.len > HG_KEY_MAX);
    if (veil) {
        digest = hgi_veil_name(veil, kind, name);
        name = hg_slice_of(digest.bytes, sizeof(digest.bytes));
    }
    ret_name->bytes[0] = kind;
    if (name.len) {
        memcpy(ret_name->bytes + 1, name.data, name.len);
    }
    ret_name->len = 1 + name.len;
}

void hgi_tag_name_given(const struct hgi_veil *veil, struct hg_slice tag,
                        struct hgi_tag_name *ret_name)
{
    name_of(veil, HGI_TAG_GIVEN, tag, ret_name);
}

void hgi_tag_name_user(const struct hgi_veil *veil, struct hg_slice user,
                       struct hgi_tag_name *ret_name)
{
    name_of(veil, HGI_TAG_USER, user, ret_name);
}
