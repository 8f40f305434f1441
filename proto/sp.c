/* SPDX-License-Identifier: Apache-2.0 */
#include "sp.h"

#include <string.h>

#define IPC_MESSAGE 0x01u /* the only kind of ipc frame there is */
#define END_BIT     0x80u /* of a word's first byte: the last routing word */
#define WORD_LEN    4u
#define LENGTH_LEN  8u

static uint64_t read_u64(const unsigned char *bytes)
{
    uint64_t value = 0;

    for (size_t i = 0; i < LENGTH_LEN; i++) {
        value = value << 8 | bytes[i];
    }
    return value;
}

static void write_u64(uint64_t value, unsigned char *ret_bytes)
{
    for (size_t i = LENGTH_LEN; i-- > 0; value >>= 8) {
        ret_bytes[i] = (unsigned char)(value & 0xff);
    }
}

void hgi_sp_handshake(enum hgi_sp_protocol own, unsigned char *ret_bytes)
{
    const unsigned char bytes[HGI_SP_HANDSHAKE_LEN] = {
        0, 'S', 'P', 0, (unsigned char)((unsigned)own >> 8), (unsigned char)((unsigned)own & 0xff),
        0, 0};

    memcpy(ret_bytes, bytes, sizeof(bytes));
}

bool hgi_sp_handshake_is(enum hgi_sp_protocol peer, const unsigned char *bytes)
{
    unsigned char wanted[HGI_SP_HANDSHAKE_LEN];

    hgi_sp_handshake(peer, wanted);
    return memcmp(bytes, wanted, sizeof(wanted)) == 0;
}

/* Finds the end of the routing words at the front of a message of `length` bytes, of which the
 * first `have` are here. */
static enum hgi_sp_cut cut_route(const unsigned char *message, size_t length, size_t have,
                                 uint32_t *ret_len)
{
    for (uint32_t end = WORD_LEN; end <= HGI_SP_ROUTE_MAX && end <= length; end += WORD_LEN) {
        if (end > have) {
            return HGI_SP_MORE;
        }
        if (message[end - WORD_LEN] & END_BIT) {
            *ret_len = end;
            return HGI_SP_FRAME;
        }
    }
    return HGI_SP_BAD;
}

enum hgi_sp_cut hgi_sp_cut(enum hgi_sp_transport transport, struct hg_slice input,
                           size_t message_max, struct hgi_sp_frame *ret_frame, size_t *ret_consumed,
                           size_t *ret_needed)
{
    const unsigned char *bytes = input.data;
    size_t prefix = LENGTH_LEN + (transport == HGI_SP_IPC ? 1 : 0);
    enum hgi_sp_cut route;
    uint32_t route_len = 0;
    uint64_t announced;
    size_t length;

    if (transport == HGI_SP_IPC && input.len > 0 && bytes[0] != IPC_MESSAGE) {
        return HGI_SP_BAD;
    }
    if (input.len < prefix) {
        *ret_needed = 0;
        return HGI_SP_MORE;
    }
    announced = read_u64(bytes + prefix - LENGTH_LEN);
    if (announced > SIZE_MAX - prefix ||
        (announced > HGI_SP_ROUTE_MAX && announced - HGI_SP_ROUTE_MAX > message_max)) {
        return HGI_SP_BAD;
    }
    length = (size_t)announced;
    bytes += prefix;
    route = cut_route(bytes, length, input.len - prefix, &route_len);
    /* The body's length is judged as soon as the words are here, before the body is waited for. */
    if (route == HGI_SP_BAD || (route == HGI_SP_FRAME && length - route_len > message_max)) {
        return HGI_SP_BAD;
    }
    if (route == HGI_SP_MORE || input.len - prefix < length) {
        *ret_needed = prefix + length;
        return HGI_SP_MORE;
    }
    memcpy(ret_frame->route.bytes, bytes, route_len);
    ret_frame->route.len = route_len;
    ret_frame->body = hg_slice_of(bytes + route_len, length - route_len);
    *ret_consumed = prefix + length;
    return HGI_SP_FRAME;
}

size_t hgi_sp_head(enum hgi_sp_transport transport, const struct hgi_sp_route *route,
                   size_t body_len, unsigned char *ret_head)
{
    size_t len = 0;

    if (transport == HGI_SP_IPC) {
        ret_head[len++] = IPC_MESSAGE;
    }
    write_u64((uint64_t)route->len + body_len, ret_head + len);
    len += LENGTH_LEN;
    memcpy(ret_head + len, route->bytes, route->len);
    return len + route->len;
}

struct hgi_sp_route hgi_sp_route_of(uint32_t id)
{
    struct hgi_sp_route route = {.len = WORD_LEN};

    route.bytes[0] = (unsigned char)(id >> 24 | END_BIT);
    route.bytes[1] = (unsigned char)(id >> 16 & 0xff);
    route.bytes[2] = (unsigned char)(id >> 8 & 0xff);
    route.bytes[3] = (unsigned char)(id & 0xff);
    return route;
}

uint32_t hgi_sp_route_id(const struct hgi_sp_route *route)
{
    const unsigned char *bytes = route->bytes;

    if (route->len != WORD_LEN) {
        return 0;
    }
    return (uint32_t)(bytes[0] & ~END_BIT) << 24 | (uint32_t)bytes[1] << 16 |
           (uint32_t)bytes[2] << 8 | bytes[3];
}

bool hgi_sp_route_equal(const struct hgi_sp_route *a, const struct hgi_sp_route *b)
{
    return a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
}
