/* SPDX-License-Identifier: Apache-2.0 */
#include "unpack.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/kind.h"
#include "proto/wire.h"

/* One call of protobuf-c: it says only "failed", the flag says of what. */
struct unpacking {
    struct hgi_arena *arena;
    bool is_out;
};

static void *arena_alloc(void *context, size_t size)
{
    struct unpacking *unpacking = context;
    void *memory = hgi_arena_alloc(unpacking->arena, size);

    if (!memory) {
        unpacking->is_out = true;
    }
    return memory;
}

static void arena_free(void *context, void *pointer)
{
    (void)context;
    (void)pointer;
}

enum hg_status hgi_refuse(enum hg_status status, char *ret_sentence, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(ret_sentence, HGI_SENTENCE_MAX, format, arguments);
    va_end(arguments);
    return status;
}

const void *hgi_unpack(const ProtobufCMessageDescriptor *type, struct hg_slice bytes,
                       struct hgi_arena *arena, enum hg_status *ret_status, char *ret_sentence)
{
    struct unpacking unpacking = {arena, false};
    ProtobufCAllocator allocator = {arena_alloc, arena_free, &unpacking};
    const void *message = protobuf_c_message_unpack(type, &allocator, bytes.len, bytes.data);

    if (message) {
        return message;
    }
    if (unpacking.is_out) {
        *ret_status = hgi_refuse(HG_RESOURCE_EXHAUSTED, ret_sentence,
                                 "decoding a %s of %zu bytes needs more than the %zu bytes allowed",
                                 type->short_name, bytes.len, arena->budget_bytes);
    } else {
        *ret_status = hgi_refuse(HG_INVALID_ARGUMENT, ret_sentence,
                                 "these %zu bytes are not a valid %s", bytes.len, type->short_name);
    }
    return NULL;
}

void *hgi_unpack_array(size_t count, size_t size, struct hgi_arena *arena,
                       enum hg_status *ret_status, char *ret_sentence)
{
    void *array = count > SIZE_MAX / size ? NULL : hgi_arena_alloc(arena, count * size);

    if (!array) {
        *ret_status = hgi_refuse(HG_RESOURCE_EXHAUSTED, ret_sentence,
                                 "decoding %zu parts needs more than the %zu bytes allowed", count,
                                 arena->budget_bytes);
    }
    return array;
}

enum hg_status hgi_unpack_status(uint32_t number)
{
    switch (number) {
#define HG_STATUS_ROW(name, number_, text)                                                         \
    case number_:                                                                                  \
        return HG_##name;
#include "herdgate/status.def"
#undef HG_STATUS_ROW
    default:
        return HG_UNKNOWN;
    }
}

/* Takes one field's value off the front. */
static bool skip_value(struct hg_slice *inout_bytes, enum hgi_wire_type type)
{
    uint64_t len = 0;

    switch (type) {
    case HGI_WIRE_VARINT:
        return hgi_varint_cut(inout_bytes, &len);
    case HGI_WIRE_64BIT:
        len = 8;
        break;
    case HGI_WIRE_32BIT:
        len = 4;
        break;
    case HGI_WIRE_LENGTH:
        if (!hgi_varint_cut(inout_bytes, &len)) {
            return false;
        }
        break;
    default: /* groups, and numbers that are not in use */
        return false;
    }
    if (len > inout_bytes->len) {
        return false;
    }
    *inout_bytes =
        hg_slice_of((const unsigned char *)inout_bytes->data + len, inout_bytes->len - (size_t)len);
    return true;
}

size_t hgi_unpack_count(struct hg_slice bytes, uint32_t field)
{
    uint64_t tag;
    size_t count = 0;

    while (bytes.len && hgi_varint_cut(&bytes, &tag)) {
        if (!skip_value(&bytes, (enum hgi_wire_type)(tag & 7))) {
            break;
        }
        count += tag >> 3 == field;
    }
    return count;
}

/* Room for an element of `len` bytes, with what stands before it written. */
static bool begin_element(uint32_t field, size_t len, struct hg_bytes *ret_bytes)
{
    unsigned char *end;

    if (len > SIZE_MAX - 2 * HGI_VARINT_MAX ||
        !hgi_bytes_reserve(ret_bytes, len + 2 * HGI_VARINT_MAX)) {
        return false;
    }
    end = ret_bytes->data + ret_bytes->len;
    end += hgi_varint_put((uint64_t)field << 3 | HGI_WIRE_LENGTH, end);
    end += hgi_varint_put(len, end);
    ret_bytes->len = (size_t)(end - ret_bytes->data);
    return true;
}

bool hgi_pack(const ProtobufCMessage *message, struct hg_bytes *ret_bytes)
{
    size_t len = protobuf_c_message_get_packed_size(message);

    if (!hgi_bytes_reserve(ret_bytes, len)) {
        return false;
    }
    if (len) {
        ret_bytes->len += protobuf_c_message_pack(message, ret_bytes->data + ret_bytes->len);
    }
    return true;
}

bool hgi_pack_element(uint32_t field, const ProtobufCMessage *message, struct hg_bytes *ret_bytes)
{
    return begin_element(field, protobuf_c_message_get_packed_size(message), ret_bytes) &&
           hgi_pack(message, ret_bytes);
}

bool hgi_pack_bytes(uint32_t field, struct hg_slice element, struct hg_bytes *ret_bytes)
{
    return begin_element(field, element.len, ret_bytes) && hgi_bytes_append(ret_bytes, element);
}
