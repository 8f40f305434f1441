/* SPDX-License-Identifier: Apache-2.0 */
#include "pieces.h"

#include <string.h>

#include "base/check.h"
#include "proto/wire.h"

#define FIELD_MAX 20u /* a tag and a varint */

void hgi_pieces_init(struct hgi_pieces *pieces)
{
    pieces->count = 0;
    pieces->len = 0;
    pieces->own_at = 0;
    pieces->own_len = 0;
}

/* Its own bytes behind the last piece. */
static struct hg_slice open_end(const struct hgi_pieces *pieces)
{
    return hg_slice_of(pieces->own + pieces->own_at, pieces->own_len - pieces->own_at);
}

static void add(struct hgi_pieces *pieces, struct hg_slice bytes)
{
    HGI_BUG_ON(pieces->count == HGI_PIECES_MAX);
    pieces->pieces[pieces->count++] = bytes;
}

void hgi_pieces_raw(struct hgi_pieces *pieces, struct hg_slice bytes)
{
    if (pieces->own_len > pieces->own_at) {
        add(pieces, open_end(pieces));
        pieces->own_at = pieces->own_len;
    }
    add(pieces, bytes);
    pieces->len += bytes.len;
}

/* Where the next of its own bytes go; there is room for a field's. */
static unsigned char *own_end(struct hgi_pieces *pieces)
{
    HGI_BUG_ON(pieces->own_len + FIELD_MAX > HGI_PIECES_OWN_MAX);
    return pieces->own + pieces->own_len;
}

/* So many bytes stand there. */
static void keep(struct hgi_pieces *pieces, size_t len)
{
    pieces->own_len += len;
    pieces->len += len;
}

static size_t put_tag(uint32_t field, enum hgi_wire_type type, unsigned char *ret_bytes)
{
    return hgi_varint_put((uint64_t)field << 3 | (uint64_t)type, ret_bytes);
}

void hgi_pieces_number(struct hgi_pieces *pieces, uint32_t field, uint64_t value)
{
    unsigned char *end;
    size_t len;

    if (value == 0) {
        return;
    }
    end = own_end(pieces);
    len = put_tag(field, HGI_WIRE_VARINT, end);
    keep(pieces, len + hgi_varint_put(value, end + len));
}

void hgi_pieces_fixed64(struct hgi_pieces *pieces, uint32_t field, uint64_t value)
{
    unsigned char *end;
    size_t len;

    if (value == 0) {
        return;
    }
    end = own_end(pieces);
    len = put_tag(field, HGI_WIRE_64BIT, end);
    for (size_t i = 0; i < sizeof(value); i++) {
        end[len++] = (unsigned char)(value >> (8 * i));
    }
    keep(pieces, len);
}

static void begin_bytes(struct hgi_pieces *pieces, uint32_t field, size_t bytes_len)
{
    unsigned char *end = own_end(pieces);
    size_t len = put_tag(field, HGI_WIRE_LENGTH, end);

    keep(pieces, len + hgi_varint_put(bytes_len, end + len));
}

void hgi_pieces_bytes(struct hgi_pieces *pieces, uint32_t field, struct hg_slice bytes)
{
    if (bytes.len) {
        begin_bytes(pieces, field, bytes.len);
        hgi_pieces_raw(pieces, bytes);
    }
}

void hgi_pieces_nest(struct hgi_pieces *pieces, uint32_t field, const struct hgi_pieces *inner)
{
    if (inner->len == 0) {
        return;
    }
    begin_bytes(pieces, field, inner->len);
    for (size_t i = 0; i < inner->count; i++) {
        hgi_pieces_raw(pieces, inner->pieces[i]);
    }
    if (open_end(inner).len) {
        hgi_pieces_raw(pieces, open_end(inner));
    }
}

static unsigned char *write_slice(struct hg_slice bytes, unsigned char *ret_bytes)
{
    if (bytes.len) {
        memcpy(ret_bytes, bytes.data, bytes.len);
    }
    return ret_bytes + bytes.len;
}

static void write_all(const struct hgi_pieces *pieces, unsigned char *ret_bytes)
{
    for (size_t i = 0; i < pieces->count; i++) {
        ret_bytes = write_slice(pieces->pieces[i], ret_bytes);
    }
    (void)write_slice(open_end(pieces), ret_bytes);
}

bool hgi_pieces_append(const struct hgi_pieces *pieces, struct hg_bytes *ret_bytes)
{
    if (!hgi_bytes_reserve(ret_bytes, pieces->len)) {
        return false;
    }
    if (pieces->len) {
        write_all(pieces, ret_bytes->data + ret_bytes->len);
        ret_bytes->len += pieces->len;
    }
    return true;
}

bool hgi_pieces_append_element(const struct hgi_pieces *pieces, uint32_t field,
                               struct hg_bytes *ret_bytes)
{
    unsigned char head[FIELD_MAX];
    size_t len = put_tag(field, HGI_WIRE_LENGTH, head);

    len += hgi_varint_put(pieces->len, head + len);
    return hgi_bytes_reserve(ret_bytes, len + pieces->len) &&
           hgi_bytes_append(ret_bytes, hg_slice_of(head, len)) &&
           hgi_pieces_append(pieces, ret_bytes);
}
