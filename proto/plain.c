/* SPDX-License-Identifier: Apache-2.0 */
#include "plain.h"

#include "proto/wire.h"

/* An enum is an int: a number past that is not plain either. */
#define NUMBER_MAX       ((uint64_t)INT32_MAX)
#define WIDE_MAX         ((uint64_t)INT64_MAX)
#define LENGTH_BYTES_MAX 5u /* protobuf-c takes no longer one */

static bool read_number(struct hg_slice *inout_message, uint32_t field, struct hgi_plain *plain)
{
    uint32_t bit = HGI_PLAIN_FIELD(field);
    uint64_t max = (plain->number_fields & bit) ? NUMBER_MAX : WIDE_MAX;
    uint64_t value;

    if (!((plain->number_fields | plain->long_fields) & bit & ~plain->seen) ||
        !hgi_varint_cut(inout_message, &value) || value > max) {
        return false;
    }
    plain->seen |= bit;
    plain->numbers[field] = value;
    return true;
}

static bool read_bytes(struct hg_slice *inout_message, uint32_t field, struct hgi_plain *plain)
{
    size_t before = inout_message->len;
    struct hg_slice bytes;
    uint64_t len;

    if (!hgi_varint_cut(inout_message, &len) || before - inout_message->len > LENGTH_BYTES_MAX ||
        len > inout_message->len) {
        return false;
    }
    bytes = hg_slice_of(inout_message->data, (size_t)len);
    *inout_message =
        hg_slice_of((const unsigned char *)bytes.data + bytes.len, inout_message->len - bytes.len);
    if (field == plain->repeated_field) {
        if (plain->element_count == plain->elements_max) {
            return false;
        }
        plain->elements[plain->element_count++] = bytes;
        return true;
    }
    if (!(plain->bytes_fields & HGI_PLAIN_FIELD(field) & ~plain->seen)) {
        return false;
    }
    plain->seen |= HGI_PLAIN_FIELD(field);
    plain->bytes[field] = bytes;
    return true;
}

bool hgi_plain_read(struct hg_slice message, struct hgi_plain *inout_plain)
{
    while (message.len) {
        unsigned tag = *(const unsigned char *)message.data;
        uint32_t field = tag >> 3;
        bool is_read = false;

        if (field == 0 || field >= HGI_PLAIN_FIELDS) {
            return false;
        }
        message = hg_slice_of((const unsigned char *)message.data + 1, message.len - 1);
        if ((tag & 7) == HGI_WIRE_VARINT) {
            is_read = read_number(&message, field, inout_plain);
        } else if ((tag & 7) == HGI_WIRE_LENGTH) {
            is_read = read_bytes(&message, field, inout_plain);
        }
        if (!is_read) {
            return false;
        }
    }
    return true;
}
