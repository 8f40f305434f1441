/* SPDX-License-Identifier: Apache-2.0 */
/* What a peer sends before anybody knows who it is: the handshake, then frames. First byte: the
 * transport, and how much comes at once. */
#include <string.h>

#include "fuzz.h"
#include "proto/sp.h"

#define MESSAGE_MAX 4096u

/* What is cut off is written again, and must be the bytes it was cut from. */
static void check_frame(enum hgi_sp_transport transport, const struct hgi_sp_frame *frame,
                        struct hg_slice input, size_t consumed)
{
    unsigned char head[HGI_SP_HEAD_MAX];
    size_t head_len = hgi_sp_head(transport, &frame->route, frame->body.len, head);
    uint32_t id = hgi_sp_route_id(&frame->route);

    HGI_BUG_ON(consumed > input.len || head_len + frame->body.len != consumed);
    HGI_BUG_ON(frame->body.len > MESSAGE_MAX);
    HGI_BUG_ON(memcmp(head, input.data, head_len) != 0);
    if (id) {
        struct hgi_sp_route again = hgi_sp_route_of(id);

        HGI_BUG_ON(!hgi_sp_route_equal(&again, &frame->route));
    }
}

/* Frames do not depend on how they came: with fewer bytes there is MORE, or the same. */
static void check_partial(enum hgi_sp_transport transport, struct hg_slice input, size_t portion)
{
    for (size_t len = 0; len < input.len; len += portion) {
        struct hgi_sp_frame frame;
        size_t consumed = 0;
        size_t needed = 0;
        enum hgi_sp_cut cut = hgi_sp_cut(transport, hg_slice_of(input.data, len), MESSAGE_MAX,
                                         &frame, &consumed, &needed);

        HGI_BUG_ON(cut == HGI_SP_MORE && needed && needed <= len);
        if (cut != HGI_SP_MORE) {
            struct hgi_sp_frame whole;
            size_t whole_consumed = 0;

            HGI_BUG_ON(
                hgi_sp_cut(transport, input, MESSAGE_MAX, &whole, &whole_consumed, &needed) != cut);
            HGI_BUG_ON(whole_consumed != consumed);
            return;
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hg_slice input = hg_slice_of(data, size);
    uint64_t first = fuzz_number(&input, 1);
    enum hgi_sp_transport transport = first & 1 ? HGI_SP_TCP : HGI_SP_IPC;
    struct hgi_sp_frame frame;
    size_t consumed = 0;
    size_t needed = 0;

    if (input.len < HGI_SP_HANDSHAKE_LEN ||
        !hgi_sp_handshake_is(HGI_SP_REQ, fuzz_slice(&input, HGI_SP_HANDSHAKE_LEN).data)) {
        return 0;
    }
    check_partial(transport, input, (size_t)(first >> 1) + 1);
    while (hgi_sp_cut(transport, input, MESSAGE_MAX, &frame, &consumed, &needed) == HGI_SP_FRAME) {
        check_frame(transport, &frame, input, consumed);
        (void)fuzz_slice(&input, consumed);
    }
    return 0;
}
