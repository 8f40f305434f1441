/* SPDX-License-Identifier: Apache-2.0 */
/* intake: the bytes of one peer on their way to being frames.
 * Owns:     the read buffer.
 * Threads:  one at a time.
 * Limits:   twice the longest frame, and only as a long frame's bytes come; 64 KiB otherwise.
 * Errors:   BAD: the peer does not speak SP or its message is too long; false: memory is out.
 * Not here: reading (conn), the format (proto/sp). */
#ifndef HGI_SERVER_RPC_INTAKE_H
#define HGI_SERVER_RPC_INTAKE_H

#include "base/bytes.h"
#include "proto/sp.h"

struct hgi_intake {
    struct hg_bytes bytes;
    size_t cut_len; /* at the front of bytes, already taken */
    size_t next_len;
    uint64_t frame_count; /* taken so far */
    size_t message_max_bytes;
    enum hgi_sp_transport transport;
    bool is_greeted;
};

void hgi_intake_init(struct hgi_intake *intake, enum hgi_sp_transport transport,
                     size_t message_max_bytes);
void hgi_intake_deinit(struct hgi_intake *intake);
/* The next whole frame; it stays the next one until it is taken. Borrowed until make_room. The
 * handshake of a REQ peer is looked for first. */
enum hgi_sp_cut hgi_intake_next(struct hgi_intake *intake, struct hgi_sp_frame *ret_frame);
void hgi_intake_take(struct hgi_intake *intake);
/* Moves what is left to the front. */
void hgi_intake_pack(struct hgi_intake *intake);
/* After pack: at least one byte can be added behind what is held. */
HG_NODISCARD bool hgi_intake_make_room(struct hgi_intake *intake);

static inline size_t hgi_intake_held(const struct hgi_intake *intake)
{
    return intake->bytes.len - intake->cut_len;
}

#endif
