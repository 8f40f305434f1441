/* SPDX-License-Identifier: Apache-2.0 */
/* The body of a request, and of a reply: first byte 0 or 1. */
#include "base/kind.h"
#include "fuzz.h"
#include "proto/codec.h"
#include "proto/envelope.h"

/* arenas: for the bytes as they came, and for what is made of them. */
static void check_request(struct hg_slice bytes, struct hgi_arena arenas[2], struct hg_bytes *wire)
{
    char sentence[HGI_SENTENCE_MAX] = "";
    struct hgi_request request;
    struct hgi_request again;

    if (hgi_request_decode(bytes, &arenas[0], &request, sentence) != HG_OK) {
        fuzz_check_sentence(sentence, sizeof(sentence));
        return;
    }
    if (request.method == HGI_METHOD_NONE) {
        return; /* it has no path of ours to be sent with */
    }
    HGI_BUG_ON(!hgi_request_encode(&request, wire));
    HGI_BUG_ON(hgi_request_decode(hgi_bytes_slice(wire), &arenas[1], &again, sentence) != HG_OK);
    HGI_BUG_ON(again.method != request.method || again.timeout_ms != request.timeout_ms ||
               again.metadata_count != request.metadata_count);
    HGI_BUG_ON(!hgi_slice_equal(again.payload, request.payload) ||
               !hgi_slice_equal(again.op_id, request.op_id));
    for (size_t i = 0; i < again.metadata_count; i++) {
        HGI_BUG_ON(!hgi_slice_equal(again.metadata[i].name, request.metadata[i].name) ||
                   !hgi_slice_equal(again.metadata[i].value, request.metadata[i].value));
    }
}

static void check_reply(struct hg_slice bytes, struct hgi_arena arenas[2], struct hg_bytes *wire)
{
    struct hgi_reply reply;
    struct hgi_reply again;

    if (hgi_reply_decode(bytes, &arenas[0], &reply) != HG_OK) {
        return;
    }
    HGI_BUG_ON(!hgi_reply_encode(&reply, wire));
    HGI_BUG_ON(hgi_reply_decode(hgi_bytes_slice(wire), &arenas[1], &again) != HG_OK);
    HGI_BUG_ON(again.status != reply.status || again.retry_after_ms != reply.retry_after_ms);
    HGI_BUG_ON(!hgi_slice_equal(again.message, reply.message) ||
               !hgi_slice_equal(again.payload, reply.payload));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hg_slice input = hg_slice_of(data, size);
    bool is_reply = fuzz_number(&input, 1) & 1;
    struct hgi_arena arenas[2];
    struct hg_bytes wire;

    hgi_arena_init(&arenas[0], hgi_arena_budget(input.len));
    hgi_arena_init(&arenas[1], hgi_arena_budget(input.len));
    hgi_bytes_init(&wire, &hgi_heap);
    (is_reply ? check_reply : check_request)(input, arenas, &wire);
    hgi_bytes_deinit(&wire);
    hgi_arena_deinit(&arenas[0]);
    hgi_arena_deinit(&arenas[1]);
    return 0;
}
