/* SPDX-License-Identifier: Apache-2.0 */
/* codec_table: every decoder of the wire behind one prototype, for the tests that try them all.
 * Owns:     static functions, one set a file that includes it.
 * Threads:  one.
 * Limits:   none.
 * Errors:   a failing check fails the test.
 * Not here: what a test does with them. */
#ifndef HGI_TEST_CODEC_TABLE_H
#define HGI_TEST_CODEC_TABLE_H

#include "hg_test.h"

#include "base/check.h"
#include "base/kind.h"
#include "codec_samples.h"

/* A decoder: decodes into an arena and, if that went well, packs the result again, so that every
 * byte it borrowed is read. */
struct codec_case {
    const char *name;
    const char *golden;
    bool (*encode_sample)(struct hg_bytes *ret_bytes);
    enum hg_status (*recode)(struct hg_slice bytes, struct hgi_arena *arena,
                             struct hg_bytes *ret_bytes, char *ret_sentence);
};

#define CODEC_FUNCTIONS(name, type, encode, decode)                                                \
    static bool encode_sample_##name(struct hg_bytes *ret_bytes)                                   \
    {                                                                                              \
        return encode(&hgi_sample_##name, ret_bytes);                                              \
    }                                                                                              \
    static enum hg_status recode_##name(struct hg_slice bytes, struct hgi_arena *arena,            \
                                        struct hg_bytes *ret_bytes, char *ret_sentence)            \
    {                                                                                              \
        struct type message;                                                                       \
        enum hg_status status = decode(bytes, arena, &message, ret_sentence);                      \
                                                                                                   \
        if (status == HG_OK) {                                                                     \
            ck_assert(encode(&message, ret_bytes));                                                \
        }                                                                                          \
        return status;                                                                             \
    }

#define HGI_CODEC_ROW(name, type)                                                                  \
    CODEC_FUNCTIONS(name, type, hgi_##name##_encode, hgi_##name##_decode)
#include "proto/messages.def"
#undef HGI_CODEC_ROW

CODEC_FUNCTIONS(auth_value, hg_auth, hgi_auth_encode, hgi_auth_decode)

/* A request of a method that is not in the table decodes well and cannot be encoded. */
static bool request_encode(const struct hgi_request *request, struct hg_bytes *ret_bytes)
{
    return request->method == HGI_METHOD_NONE || hgi_request_encode(request, ret_bytes);
}

static enum hg_status reply_decode(struct hg_slice bytes, struct hgi_arena *arena,
                                   struct hgi_reply *ret_reply, char *ret_sentence)
{
    enum hg_status status = hgi_reply_decode(bytes, arena, ret_reply);

    if (status != HG_OK) {
        memcpy(ret_sentence, "no sentence", sizeof("no sentence"));
    }
    return status;
}

CODEC_FUNCTIONS(request, hgi_request, request_encode, hgi_request_decode)
CODEC_FUNCTIONS(reply, hgi_reply, hgi_reply_encode, reply_decode)

static const struct codec_case codec_cases[] = {
#define HGI_GOLDEN_ROW(name, hex) {#name, hex, encode_sample_##name, recode_##name},
#include "golden.def"
#undef HGI_GOLDEN_ROW
};

#define CODEC_CASE_COUNT HGI_COUNT_OF(codec_cases)

#endif
