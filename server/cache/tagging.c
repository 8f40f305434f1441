/* SPDX-License-Identifier: Apache-2.0 */
#include "tagging.h"

#include <string.h>

#include "base/bytes.h"
#include "base/check.h"

#define KIND_GIVEN 't'
#define KIND_USER  'u'

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

    if (!hgi_key_decode(key, &typed) ||
        (typed.kind != HG_KEY_USER_API_KEY && typed.kind != HG_KEY_API_KEY_FEATURE)) {
        return hg_slice_of(NULL, 0);
    }
    return typed.user_id;
}

void hgi_tagging_init(struct hgi_tagging *tagging, struct hg_slice key,
                      const struct hgi_lifetime *lifetime)
{
    struct hg_slice part = hgi_tagging_first_part(key);

    HGI_BUG_ON(lifetime->tag_count > HGI_TAGS_GIVEN_MAX);
    tagging->count = 0;
    tagging->bytes_len = 0;
    for (size_t i = 0; i < lifetime->tag_count; i++) {
        add(tagging, KIND_GIVEN, lifetime->tags[i]);
    }
    if (part.len) {
        add(tagging, KIND_USER, part);
    }
    if (lifetime->user.len && !hgi_slice_equal(part, lifetime->user)) {
        add(tagging, KIND_USER, lifetime->user);
    }
}

static void name_of(unsigned char kind, struct hg_slice name, struct hgi_tag_name *ret_name)
{
    HGI_BUG_ON(name.len > HG_KEY_MAX);
    ret_name->bytes[0] = kind;
    if (name.len) {
        memcpy(ret_name->bytes + 1, name.data, name.len);
    }
    ret_name->len = 1 + name.len;
}

void hgi_tag_name_given(struct hg_slice tag, struct hgi_tag_name *ret_name)
{
    name_of(KIND_GIVEN, tag, ret_name);
}

void hgi_tag_name_user(struct hg_slice user, struct hgi_tag_name *ret_name)
{
    name_of(KIND_USER, user, ret_name);
}
