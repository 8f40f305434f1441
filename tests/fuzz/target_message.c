/* SPDX-License-Identifier: Apache-2.0 */
/* Every message of the wire, both ways. First byte: which (its place in messages.def; the last is
 * the auth value). What was understood is sent on as the same message. */
#include "base/kind.h"
#include "fuzz.h"
#include "proto/codec.h"

/* Decodes and encodes; OK or what decode said. */
#define MESSAGE_FUNCTION(name, type, encode, decode)                                               \
    static enum hg_status recode_##name(struct hg_slice bytes, struct hgi_arena *arena,            \
                                        struct hg_bytes *ret_bytes, char *ret_sentence)            \
    {                                                                                              \
        struct type message;                                                                       \
        enum hg_status status = decode(bytes, arena, &message, ret_sentence);                      \
                                                                                                   \
        if (status == HG_OK && !encode(&message, ret_bytes)) {                                     \
            HGI_BUG_ON(!fuzz_has_failed() || ret_bytes->len != 0);                                 \
            status = HG_UNKNOWN; /* of none of the decoders */                                     \
        }                                                                                          \
        return status;                                                                             \
    }

#define HGI_CODEC_ROW(name, type)                                                                  \
    MESSAGE_FUNCTION(name, type, hgi_##name##_encode, hgi_##name##_decode)
#include "proto/messages.def"
#undef HGI_CODEC_ROW

MESSAGE_FUNCTION(auth_value, hg_auth, hgi_auth_encode, hgi_auth_decode)

static enum hg_status (*const recoders[])(struct hg_slice, struct hgi_arena *, struct hg_bytes *,
                                          char *) = {
#define HGI_CODEC_ROW(name, type) recode_##name,
#include "proto/messages.def"
#undef HGI_CODEC_ROW
    recode_auth_value,
};

static enum hg_status recode(size_t which, struct hg_slice bytes, struct hg_bytes *ret_bytes)
{
    char sentence[HGI_SENTENCE_MAX] = "";
    struct hgi_arena arena;
    enum hg_status status;

    hgi_arena_init(&arena, hgi_arena_budget(bytes.len));
    status = recoders[which](bytes, &arena, ret_bytes, sentence);
    if (status != HG_OK && status != HG_UNKNOWN) {
        fuzz_check_sentence(sentence, sizeof(sentence));
    }
    hgi_arena_deinit(&arena);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hg_slice input = hg_slice_of(data, size);
    size_t which = fuzz_number(&input, 1) % HGI_COUNT_OF(recoders);
    struct hg_bytes once;
    struct hg_bytes twice;

    hgi_bytes_init(&once, &hgi_heap);
    hgi_bytes_init(&twice, &hgi_heap);
    fuzz_memory_may_fail(true);
    if (recode(which, input, &once) == HG_OK) {
        bool is_again = recode(which, hgi_bytes_slice(&once), &twice) == HG_OK;

        HGI_BUG_ON(!is_again && !fuzz_has_failed());
        HGI_BUG_ON(is_again && !hgi_slice_equal(hgi_bytes_slice(&once), hgi_bytes_slice(&twice)));
    }
    hgi_bytes_deinit(&once);
    hgi_bytes_deinit(&twice);
    fuzz_memory_may_fail(false);
    return 0;
}
