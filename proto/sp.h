/* SPDX-License-Identifier: Apache-2.0 */
/* sp: nng's REQ/REP wire format as bytes, no I/O.
 * Owns:     nothing; frames borrow from the input.
 * Threads:  any.
 * Limits:   1 to 8 routing words a message; the caller's message_max, checked before anything is
 * kept.
 * Errors:   BAD: the peer does not speak SP, close the connection.
 * Not here: reading and writing (server/rpc/conn, client/conn), what a body means (envelope).
 *
 * Format (docs/notes/001-substrate.md 2): 8 bytes of handshake each way; then frames of
 * [0x01 on ipc] u64 big-endian length, routing words (u32, the last has bit 31 set), body. A reply
 * repeats the request's routing words. */
#ifndef HGI_PROTO_SP_H
#define HGI_PROTO_SP_H

#include "herdgate/attr.h"
#include "herdgate/types.h"

#define HGI_SP_HANDSHAKE_LEN 8u
#define HGI_SP_WORDS_MAX     8u
#define HGI_SP_ROUTE_MAX     (HGI_SP_WORDS_MAX * 4u)
#define HGI_SP_HEAD_MAX      (9u + HGI_SP_ROUTE_MAX)

enum hgi_sp_protocol { HGI_SP_REQ = 0x0030, HGI_SP_REP = 0x0031 };
enum hgi_sp_transport { HGI_SP_IPC, HGI_SP_TCP };

/* A message's routing words as they stand on the wire. */
struct hgi_sp_route {
    unsigned char bytes[HGI_SP_ROUTE_MAX];
    uint32_t len;
};

struct hgi_sp_frame {
    struct hgi_sp_route route;
    struct hg_slice body; /* borrowed from the input */
};

enum hgi_sp_cut { HGI_SP_MORE, HGI_SP_FRAME, HGI_SP_BAD };

void hgi_sp_handshake(enum hgi_sp_protocol own, unsigned char *ret_bytes);
/* `bytes` are HGI_SP_HANDSHAKE_LEN bytes from a peer that should speak `peer`. */
bool hgi_sp_handshake_is(enum hgi_sp_protocol peer, const unsigned char *bytes);

/* Cuts one frame off the front of `input`. FRAME: *ret_frame and *ret_consumed are set. MORE:
 * *ret_needed is how long the whole frame will be, or 0 while that is not known. message_max bounds
 * the body. */
enum hgi_sp_cut hgi_sp_cut(enum hgi_sp_transport transport, struct hg_slice input,
                           size_t message_max, struct hgi_sp_frame *ret_frame, size_t *ret_consumed,
                           size_t *ret_needed);

/* Everything of a frame that stands before its body; returns its length (at most HGI_SP_HEAD_MAX).
 */
size_t hgi_sp_head(enum hgi_sp_transport transport, const struct hgi_sp_route *route,
                   size_t body_len, unsigned char *ret_head);

/* The route of a request with this id (31 bits), and back; 0 for a route that is not one word. */
struct hgi_sp_route hgi_sp_route_of(uint32_t id);
uint32_t hgi_sp_route_id(const struct hgi_sp_route *route);
bool hgi_sp_route_equal(const struct hgi_sp_route *a, const struct hgi_sp_route *b);

#endif
