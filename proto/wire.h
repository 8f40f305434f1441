/* SPDX-License-Identifier: Apache-2.0 */
/* wire: protobuf's smallest parts: varints, and the kinds of a field.
 * Owns:     nothing.
 * Threads:  any.
 * Limits:   64 bits.
 * Errors:   cut: false for bytes that end too early or go on too long.
 * Not here: messages (pieces, plain, unpack). A door of this room only. */
#ifndef HGI_PROTO_WIRE_H
#define HGI_PROTO_WIRE_H

#include "herdgate/attr.h"
#include "herdgate/types.h"

#define HGI_VARINT_MAX 10u

enum hgi_wire_type {
    HGI_WIRE_VARINT = 0,
    HGI_WIRE_64BIT = 1,
    HGI_WIRE_LENGTH = 2,
    HGI_WIRE_32BIT = 5
};

/* Takes one varint off the front. */
static inline bool hgi_varint_cut(struct hg_slice *inout_bytes, uint64_t *ret_value)
{
    const unsigned char *data = inout_bytes->data;
    uint64_t value = 0;

    for (size_t i = 0; i < inout_bytes->len && i < HGI_VARINT_MAX; i++) {
        value |= (uint64_t)(data[i] & 0x7f) << (7 * i);
        if (!(data[i] & 0x80)) {
            *inout_bytes = hg_slice_of(data + i + 1, inout_bytes->len - i - 1);
            *ret_value = value;
            return true;
        }
    }
    return false;
}

/* At most HGI_VARINT_MAX bytes; returns how many. */
static inline size_t hgi_varint_put(uint64_t value, unsigned char *ret_bytes)
{
    size_t len = 0;

    while (value >= 0x80) {
        ret_bytes[len++] = (unsigned char)(value | 0x80);
        value >>= 7;
    }
    ret_bytes[len++] = (unsigned char)value;
    return len;
}

#endif
