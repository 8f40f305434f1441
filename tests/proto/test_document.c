/* SPDX-License-Identifier: Apache-2.0 */
/* docs/PROTOCOL.md against the code: its example bytes, its methods, its numbers. */
#include "hg_test.h"

#include <stdio.h>

#include "base/kind.h"
#include "codec_samples.h"
#include "proto/sp.h"

static struct hg_bytes document;

static void read_document(void)
{
    FILE *file = fopen(HGI_SOURCE_DIR "/docs/PROTOCOL.md", "rb");
    char chunk[4096];
    size_t len;

    ck_assert_ptr_nonnull(file);
    hgi_bytes_init(&document, &hgi_heap);
    while ((len = fread(chunk, 1, sizeof(chunk), file)) > 0) {
        ck_assert(hgi_bytes_append(&document, hg_slice_of(chunk, len)));
    }
    (void)fclose(file);
    ck_assert(hgi_bytes_append(&document, hg_slice_of("", 1)));
}

static const char *text(void)
{
    return (const char *)document.data;
}

static bool is_hex(char digit)
{
    return (digit >= '0' && digit <= '9') || (digit >= 'a' && digit <= 'f');
}

/* The bytes of the hex block behind `heading`: a line is pairs of digits with one space between
 * them, then two spaces and what they mean. */
static void read_block(const char *heading, struct hg_bytes *ret_bytes)
{
    const char *at = strstr(text(), heading);

    ck_assert_msg(at != NULL, "no \"%s\"", heading);
    at = strstr(at, "```hex\n");
    ck_assert_ptr_nonnull(at);
    at += strlen("```hex\n");
    while (at[0] != '`') {
        while (is_hex(at[0]) && is_hex(at[1])) {
            char pair[3] = {at[0], at[1], '\0'};

            hgi_hex(pair, ret_bytes);
            at += 2;
            at += at[0] == ' ' && is_hex(at[1]) ? 1 : 0;
        }
        at = strchr(at, '\n');
        ck_assert_ptr_nonnull(at);
        at++;
    }
}

static void check_block(const char *heading, struct hg_slice bytes)
{
    struct hg_bytes block;

    hgi_bytes_init(&block, &hgi_heap);
    read_block(heading, &block);
    if (!hgi_slice_equal(hgi_bytes_slice(&block), bytes)) {
        for (size_t i = 0; i < bytes.len; i++) {
            printf("%02x ", ((const unsigned char *)bytes.data)[i]);
        }
        printf("\n");
        ck_abort_msg("\"%s\" is not what the code sends", heading);
    }
    hgi_bytes_deinit(&block);
}

static void frame(struct hg_slice body, struct hg_bytes *ret_bytes)
{
    struct hgi_sp_route route = hgi_sp_route_of(1);
    unsigned char head[HGI_SP_HEAD_MAX];
    size_t len = hgi_sp_head(HGI_SP_TCP, &route, body.len, head);

    ck_assert(hgi_bytes_append(ret_bytes, hg_slice_of(head, len)));
    ck_assert(hgi_bytes_append(ret_bytes, body));
}

START_TEST(the_example_handshakes_are_true)
{
    unsigned char bytes[HGI_SP_HANDSHAKE_LEN];

    read_document();
    hgi_sp_handshake(HGI_SP_REQ, bytes);
    check_block("The client's handshake", hg_slice_of(bytes, sizeof(bytes)));
    hgi_sp_handshake(HGI_SP_REP, bytes);
    check_block("The server's handshake", hg_slice_of(bytes, sizeof(bytes)));
    hgi_bytes_deinit(&document);
}
END_TEST

START_TEST(the_example_request_is_true)
{
    struct hgi_msg_get get = {
        .cache = hg_slice_text("auth"),
        .key = {.kind = HG_KEY_KEY_HASH, .bytes = hg_slice_text("5f4d")},
        .max_age_ms = -1,
    };
    struct hgi_request request = {.method = HGI_METHOD_GET_OR_LOAD, .timeout_ms = 1500};
    struct hg_bytes payload;
    struct hg_bytes body;
    struct hg_bytes bytes;

    read_document();
    hgi_bytes_init(&payload, &hgi_heap);
    hgi_bytes_init(&body, &hgi_heap);
    hgi_bytes_init(&bytes, &hgi_heap);
    ck_assert(hgi_get_request_encode(&get, &payload));
    request.payload = hgi_bytes_slice(&payload);
    ck_assert(hgi_request_encode(&request, &body));
    frame(hgi_bytes_slice(&body), &bytes);
    check_block("The request:", hgi_bytes_slice(&bytes));
    hgi_bytes_deinit(&payload);
    hgi_bytes_deinit(&body);
    hgi_bytes_deinit(&bytes);
    hgi_bytes_deinit(&document);
}
END_TEST

START_TEST(the_example_reply_is_true)
{
    struct hgi_msg_answer answer = {
        .outcome = HG_ABSENT,
        .source = HG_SOURCE_LOADED,
        .generation = 1792000000000000,
        .ttl_left_ms = 5000,
        .stale_left_ms = 5000,
    };
    struct hgi_reply reply = {.status = HG_OK};
    struct hg_bytes payload;
    struct hg_bytes body;
    struct hg_bytes bytes;

    read_document();
    hgi_bytes_init(&payload, &hgi_heap);
    hgi_bytes_init(&body, &hgi_heap);
    hgi_bytes_init(&bytes, &hgi_heap);
    ck_assert(hgi_answer_encode(&answer, &payload));
    reply.payload = hgi_bytes_slice(&payload);
    ck_assert(hgi_reply_encode(&reply, &body));
    frame(hgi_bytes_slice(&body), &bytes);
    check_block("The reply:", hgi_bytes_slice(&bytes));
    hgi_bytes_deinit(&payload);
    hgi_bytes_deinit(&body);
    hgi_bytes_deinit(&bytes);
    hgi_bytes_deinit(&document);
}
END_TEST

START_TEST(every_method_is_described)
{
    read_document();
    for (enum hgi_method method = HGI_METHOD_NONE + 1; method < HGI_METHOD_COUNT; method++) {
        char path[80];

        (void)snprintf(path, sizeof(path), "`%s`", hgi_method_info(method)->path);
        ck_assert_msg(strstr(text(), path) != NULL, "%s is not in docs/PROTOCOL.md", path);
    }
    hgi_bytes_deinit(&document);
}
END_TEST

START_TEST(every_status_is_described_with_its_number)
{
    static const enum hg_status statuses[] = {
#define HG_STATUS_ROW(name, number, words) HG_##name,
#include "herdgate/status.def"
#undef HG_STATUS_ROW
    };

    read_document();
    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
        char row[64];

        (void)snprintf(row, sizeof(row), "| %d | `%s` |", (int)statuses[i],
                       hg_status_name(statuses[i]));
        ck_assert_msg(strstr(text(), row) != NULL, "%s is not in docs/PROTOCOL.md", row);
    }
    hgi_bytes_deinit(&document);
}
END_TEST

HGI_SUITE("proto.document", 20, the_example_handshakes_are_true, the_example_request_is_true,
          the_example_reply_is_true, every_method_is_described,
          every_status_is_described_with_its_number)
