/* SPDX-License-Identifier: Apache-2.0 */
/* What the loader's process reads: frames of the server, cut off one after the other. */
#include "base/kind.h"
#include "fuzz.h"
#include "proto/frame.h"

/* What was understood is the same frame when it is sent on. */
static void check_again(const struct hgi_frame *frame)
{
    char sentence[HGI_SENTENCE_MAX] = "";
    struct hgi_frame again;
    struct hgi_arena arena;
    struct hg_bytes once;
    struct hg_bytes twice;
    struct hg_slice body = {NULL, 0};
    size_t used = 0;

    hgi_bytes_init(&once, &hgi_heap);
    hgi_bytes_init(&twice, &hgi_heap);
    hgi_arena_init(&arena, 2 * HGI_FRAME_SERVER_MAX);
    if (hgi_frame_encode(frame, 2 * HGI_FRAME_SERVER_MAX, &once)) {
        HGI_BUG_ON(hgi_frame_cut(hgi_bytes_slice(&once), 2 * HGI_FRAME_SERVER_MAX, &body, &used) !=
                   HGI_FRAME_WHOLE);
        HGI_BUG_ON(used != once.len);
        if (hgi_frame_decode(body, &arena, &again, sentence) == HG_OK &&
            hgi_frame_encode(&again, 2 * HGI_FRAME_SERVER_MAX, &twice)) {
            HGI_BUG_ON(again.kind != frame->kind);
            HGI_BUG_ON(!hgi_slice_equal(hgi_bytes_slice(&once), hgi_bytes_slice(&twice)));
        }
    }
    HGI_BUG_ON(twice.len == 0 && !fuzz_has_failed());
    hgi_arena_deinit(&arena);
    hgi_bytes_deinit(&once);
    hgi_bytes_deinit(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hg_slice input = hg_slice_of(data, size);
    struct hg_slice body = {NULL, 0};
    size_t used = 0;

    fuzz_memory_may_fail(true);
    while (hgi_frame_cut(input, HGI_FRAME_SERVER_MAX, &body, &used) == HGI_FRAME_WHOLE) {
        char sentence[HGI_SENTENCE_MAX] = "";
        struct hgi_frame frame;
        struct hgi_arena arena;

        hgi_arena_init(&arena, 2 * HGI_FRAME_SERVER_MAX);
        if (hgi_frame_decode(body, &arena, &frame, sentence) == HG_OK) {
            check_again(&frame);
        } else {
            fuzz_check_sentence(sentence, sizeof(sentence));
        }
        hgi_arena_deinit(&arena);
        (void)fuzz_slice(&input, used);
    }
    fuzz_memory_may_fail(false);
    return 0;
}
