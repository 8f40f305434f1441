/* SPDX-License-Identifier: Apache-2.0 */
/* pieces: a packed message as it will stand in a buffer, not yet copied there.
 * Owns:     the bytes of its numbers; what is long is borrowed, so a value is copied once, to where
 *           it leaves from.
 * Threads:  one at a time.
 * Limits:   HGI_PIECES_MAX pieces, HGI_PIECES_OWN_MAX bytes of its own: what a Reply of any one of
 *           our messages takes, checked.
 * Errors:   none; append: false when memory is out.
 * Not here: which fields a message has (codec_cache, envelope). */
#ifndef HGI_PROTO_PIECES_H
#define HGI_PROTO_PIECES_H

#include "base/bytes.h"

#define HGI_PIECES_MAX     10u
#define HGI_PIECES_OWN_MAX 232u

/* Points into itself: not to be copied. */
struct hgi_pieces {
    struct hg_slice pieces[HGI_PIECES_MAX];
    size_t count;
    size_t len;    /* of all, what is open below among them */
    size_t own_at; /* from here on its own bytes are not yet a piece */
    size_t own_len;
    unsigned char own[HGI_PIECES_OWN_MAX];
};

void hgi_pieces_init(struct hgi_pieces *pieces);
/* Fields as protobuf packs them: what is 0 or empty is left out. */
void hgi_pieces_number(struct hgi_pieces *pieces, uint32_t field, uint64_t value);
void hgi_pieces_fixed64(struct hgi_pieces *pieces, uint32_t field, uint64_t value);
void hgi_pieces_bytes(struct hgi_pieces *pieces, uint32_t field, struct hg_slice bytes);
/* `inner` as bytes; borrowed like them. */
void hgi_pieces_nest(struct hgi_pieces *pieces, uint32_t field, const struct hgi_pieces *inner);
/* Bytes that are packed already, without a field around them. */
void hgi_pieces_raw(struct hgi_pieces *pieces, struct hg_slice bytes);

/* False: ret_bytes is as it was. */
HG_NODISCARD bool hgi_pieces_append(const struct hgi_pieces *pieces, struct hg_bytes *ret_bytes);
/* The same as one element of a repeated field, which is there also when it is empty. */
HG_NODISCARD bool hgi_pieces_append_element(const struct hgi_pieces *pieces, uint32_t field,
                                            struct hg_bytes *ret_bytes);

#endif
