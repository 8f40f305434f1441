/* SPDX-License-Identifier: Apache-2.0 */
/* plain: reads a message that is as most clients send it, where it lies.
 * Owns:     nothing; what is read borrows from the message.
 * Threads:  any.
 * Limits:   fields below HGI_PLAIN_FIELDS, each there once, but for one that may repeat.
 * Errors:   false says only "not so plain": protobuf-c reads it then, and judges it.
 * Not here: which messages (codec_cache, envelope). A door of this room only.
 *
 * A field twice, one that nobody knows, a number of more bits than its type has, a length past the
 * end: what such a message means, or is refused with, is protobuf-c's to say, so that there is one
 * answer to it. */
#ifndef HGI_PROTO_PLAIN_H
#define HGI_PROTO_PLAIN_H

#include "herdgate/attr.h"
#include "herdgate/types.h"

#define HGI_PLAIN_FIELDS 8u

/* Fields as bits. */
#define HGI_PLAIN_FIELD(number) (1u << (number))

struct hgi_plain {
    /* Of the caller, beforehand. */
    uint32_t number_fields; /* varints of at most 32 bits */
    uint32_t long_fields;   /* varints of at most 63 bits */
    uint32_t bytes_fields;
    uint32_t repeated_field; /* the number of one of bytes, or 0 */
    struct hg_slice *elements;
    size_t elements_max;
    /* What the message held; what it did not is 0 or empty. */
    uint32_t seen;
    uint64_t numbers[HGI_PLAIN_FIELDS];
    struct hg_slice bytes[HGI_PLAIN_FIELDS];
    size_t element_count;
};

HG_NODISCARD bool hgi_plain_read(struct hg_slice message, struct hgi_plain *inout_plain);

#endif
