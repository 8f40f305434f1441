/* SPDX-License-Identifier: Apache-2.0 */
/* unpack: packed protobuf messages, in and out, for the files of this room.
 * Owns:     nothing; what is unpacked lives in the arena.
 * Threads:  any; an arena and its bytes belong to one.
 * Limits:   the arena's budget, whatever the bytes are made of.
 * Errors:   INVALID_ARGUMENT: no such message; RESOURCE_EXHAUSTED: past the budget.
 * Not here: what a message means (envelope, codec, frame). */
#ifndef HGI_PROTO_UNPACK_H
#define HGI_PROTO_UNPACK_H

#include <protobuf-c/protobuf-c.h>

#include "base/bytes.h"
#include "herdgate/status.h"

/* The generated struct of `type`, which lives as long as the arena and is never handed to
 * free_unpacked. NULL: *ret_status and one sentence (HGI_SENTENCE_MAX bytes, base/kind.h) say why.
 *
 * protobuf-c makes 71 MB of 1 MiB of empty messages (docs/notes/001-substrate.md 7); here it has
 * what the arena has left. */
HG_NODISCARD const void *hgi_unpack(const ProtobufCMessageDescriptor *type, struct hg_slice bytes,
                                    struct hgi_arena *arena, enum hg_status *ret_status,
                                    char *ret_sentence);

/* Memory for an array of plain structures beside the message. NULL as hgi_unpack. */
HG_NODISCARD void *hgi_unpack_array(size_t count, size_t size, struct hgi_arena *arena,
                                    enum hg_status *ret_status, char *ret_sentence);

/* A status number from the wire; UNKNOWN for one that is not in status.def. */
enum hg_status hgi_unpack_status(uint32_t number);

/* Writes the sentence and gives the status back. */
enum hg_status hgi_refuse(enum hg_status status, char *ret_sentence, const char *format, ...)
    HG_PRINTF(3, 4);

/* How often the field stands in the packed message, without unpacking it: a limit on a repeated
 * field is checked before its elements cost memory. Bytes that are no message count up to where
 * they stop making sense. */
size_t hgi_unpack_count(struct hg_slice bytes, uint32_t field);

/* Appends the packed message; nothing is allocated but the room in ret_bytes. False when memory is
 * out; ret_bytes is then as it was. The message's fields are borrowed. */
HG_NODISCARD bool hgi_pack(const ProtobufCMessage *message, struct hg_bytes *ret_bytes);
/* The same, as one element of a repeated field of an outer message. A packed message is the
 * concatenation of its fields, so an array is packed element by element and needs no copy. */
HG_NODISCARD bool hgi_pack_element(uint32_t field, const ProtobufCMessage *message,
                                   struct hg_bytes *ret_bytes);
/* The same for bytes, be they text or a message that is packed already. */
HG_NODISCARD bool hgi_pack_bytes(uint32_t field, struct hg_slice element,
                                 struct hg_bytes *ret_bytes);

/* The end of an encoder of several parts: takes back what a failed one has appended. */
static inline bool hgi_pack_end(bool is_done, size_t len_before, struct hg_bytes *ret_bytes)
{
    if (!is_done) {
        ret_bytes->len = len_before;
    }
    return is_done;
}

/* Borrowed bytes as protobuf-c names them; it only reads them. */
static inline ProtobufCBinaryData hgi_pack_borrow(struct hg_slice slice)
{
    ProtobufCBinaryData data = {slice.len, (uint8_t *)(uintptr_t)slice.data};

    return data;
}

static inline struct hg_slice hgi_unpack_slice(ProtobufCBinaryData data)
{
    return hg_slice_of(data.data, data.len);
}

#endif
