/* SPDX-License-Identifier: Apache-2.0 */
#include "intake.h"

#define READ_SIZE 65536u /* one read cuts many frames */

void hgi_intake_init(struct hgi_intake *intake, enum hgi_sp_transport transport,
                     size_t message_max_bytes)
{
    *intake = (struct hgi_intake){.transport = transport, .message_max_bytes = message_max_bytes};
    hgi_bytes_init(&intake->bytes, &hgi_heap);
}

void hgi_intake_deinit(struct hgi_intake *intake)
{
    hgi_bytes_deinit(&intake->bytes);
}

static struct hg_slice held(const struct hgi_intake *intake)
{
    /* Nothing is held before the first read, and no buffer is there to point into. */
    return intake->bytes.data
               ? hg_slice_of(intake->bytes.data + intake->cut_len, hgi_intake_held(intake))
               : hg_slice_of(NULL, 0);
}

enum hgi_sp_cut hgi_intake_next(struct hgi_intake *intake, struct hgi_sp_frame *ret_frame)
{
    size_t needed = 0;

    if (!intake->is_greeted) {
        struct hg_slice bytes = held(intake);

        if (bytes.len < HGI_SP_HANDSHAKE_LEN) {
            return HGI_SP_MORE;
        }
        if (!hgi_sp_handshake_is(HGI_SP_REQ, bytes.data)) {
            return HGI_SP_BAD;
        }
        intake->cut_len += HGI_SP_HANDSHAKE_LEN;
        intake->is_greeted = true;
    }
    return hgi_sp_cut(intake->transport, held(intake), intake->message_max_bytes, ret_frame,
                      &intake->next_len, &needed);
}

void hgi_intake_take(struct hgi_intake *intake)
{
    intake->cut_len += intake->next_len;
    intake->next_len = 0;
    intake->frame_count++;
}

void hgi_intake_pack(struct hgi_intake *intake)
{
    hgi_bytes_consume(&intake->bytes, intake->cut_len);
    intake->cut_len = 0;
}

/* A long frame has gone: its buffer goes too. */
static bool shrink(struct hgi_intake *intake)
{
    struct hg_bytes small;

    hgi_bytes_init(&small, &hgi_heap);
    if (!hgi_bytes_reserve(&small, READ_SIZE) ||
        !hgi_bytes_append(&small, hgi_bytes_slice(&intake->bytes))) {
        hgi_bytes_deinit(&small);
        return false;
    }
    hgi_bytes_deinit(&intake->bytes);
    intake->bytes = small;
    return true;
}

bool hgi_intake_make_room(struct hgi_intake *intake)
{
    struct hg_bytes *bytes = &intake->bytes;

    if (bytes->capacity > READ_SIZE && bytes->len < READ_SIZE / 2) {
        return shrink(intake);
    }
    if (bytes->len < bytes->capacity) {
        return true;
    }
    /* Doubling as bytes come, not at once to the announced length: memory is held only against
     * bytes that were really sent. */
    return hgi_bytes_reserve(bytes, bytes->capacity ? bytes->capacity : READ_SIZE);
}
