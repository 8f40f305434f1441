/* SPDX-License-Identifier: Apache-2.0 */
/* tagging: which tags an entry has.
 * Owns:     the names it made; they borrow nothing.
 * Threads:  any.
 * Limits:   HGI_TAGS_GIVEN_MAX given tags of HGI_TAG_LEN_MAX bytes; who lets in more has a bug.
 * Errors:   none.
 * Not here: the tags' numbers (storage/table/tag).
 *
 * A name is one byte of kind, then the bytes, so that a tag that a loader gives is never taken for
 * a user. A typed key's first part and an auth value's user are tags of one kind: invalidating a
 * user covers his keys however they were asked for. In a cache with secret_keys the bytes are the
 * name's digest under the cache's veil; `veil` is NULL in others. */
#ifndef HGI_SERVER_CACHE_TAGGING_H
#define HGI_SERVER_CACHE_TAGGING_H

#include "base/kind.h"
#include "server/cache/cache.h"
#include "server/cache/veil.h"
#include "storage/table/tag.h"

/* Kinds of names. */
#define HGI_TAG_GIVEN 't'
#define HGI_TAG_USER  'u'

struct hgi_tag_name {
    unsigned char bytes[1 + HG_KEY_MAX];
    size_t len;
};

struct hgi_tagging {
    struct hg_slice names[HGI_TAGS_MAX];
    size_t count;
    size_t bytes_len;
    unsigned char bytes[HGI_TAGS_GIVEN_MAX * (1 + HGI_TAG_LEN_MAX) + 2 * (1 + HG_KEY_MAX)];
};

/* All tags of an entry with this key, as the engine knows it, and lifetime. */
void hgi_tagging_init(struct hgi_tagging *tagging, const struct hgi_veil *veil, struct hg_slice key,
                      const struct hgi_lifetime *lifetime);
/* The name of one given tag, and of one user. */
void hgi_tag_name_given(const struct hgi_veil *veil, struct hg_slice tag,
                        struct hgi_tag_name *ret_name);
void hgi_tag_name_user(const struct hgi_veil *veil, struct hg_slice user,
                       struct hgi_tag_name *ret_name);
/* The first part of a typed key, of a veiled one its digest; empty: it has none. */
struct hg_slice hgi_tagging_first_part(struct hg_slice key);

#endif
