/* SPDX-License-Identifier: Apache-2.0 */
#include "hg_test.h"
#include "base/kind.h"
#include "proto/codec.h"
#include "proto/envelope.h"
#include "proto/sp.h"
#include "record.h"
#include "wire.h"

static struct wire wire;
static struct wire_reply reply;

static void open_wire(const struct wire_kind *kind, enum wire_op op, uint32_t batch)
{
    struct wire_plan plan = {.op = op,
                             .batch = batch,
                             .key_len = 17,
                             .value_len = 8,
                             .ttl_s = 60,
                             .cache = "bench",
                             .is_ipc = true};

    ck_assert(wire_init(&wire, kind, &plan));
}

static struct hg_slice asked(uint32_t slot, const uint32_t *numbers)
{
    static unsigned char request[65536];

    ck_assert_uint_le(wire.request.len, sizeof(request));
    wire_ask(&wire, slot, numbers, request);
    return hg_slice_of(request, wire.request.len);
}

/* The whole input is one reply; every shorter piece of it, copied so that a look past its end is a
 * fault a sanitizer sees, needs more. */
static void assert_cut_anywhere(struct hg_slice input)
{
    size_t used = 0;

    for (size_t len = 0; len < input.len; len++) {
        unsigned char *piece = hgi_alloc(&hgi_heap, len + 1);

        ck_assert_ptr_nonnull(piece);
        memcpy(piece, input.data, len);
        piece = hgi_resize(&hgi_heap, piece, len ? len : 1);
        ck_assert_int_eq(wire.kind->cut(&wire, hg_slice_of(piece, len), &reply, &used), WIRE_MORE);
        hgi_free(&hgi_heap, piece);
    }
    ck_assert_int_eq(wire.kind->cut(&wire, input, &reply, &used), WIRE_REPLY);
    ck_assert_uint_eq(used, input.len);
}

static void assert_bad(const char *text)
{
    size_t used;

    ck_assert_int_eq(wire.kind->cut(&wire, hg_slice_text(text), &reply, &used), WIRE_BAD);
}

START_TEST(redis_is_asked_for_each_key_of_a_batch)
{
    uint32_t numbers[] = {7, 42};

    open_wire(&wire_resp, WIRE_GET, 2);
    ck_assert_slice_eq(asked(0, numbers), "*2\r\n$3\r\nGET\r\n$17\r\nsess:000000000007\r\n"
                                          "*2\r\n$3\r\nGET\r\n$17\r\nsess:000000000042\r\n");
    wire_deinit(&wire);
}
END_TEST

START_TEST(redis_is_given_a_value_with_its_time)
{
    uint32_t number = 0;

    open_wire(&wire_resp, WIRE_PUT, 1);
    ck_assert_slice_eq(asked(0, &number), "*5\r\n$3\r\nSET\r\n$17\r\nsess:000000000000\r\n"
                                          "$8\r\n@@@@@@@@\r\n$2\r\nEX\r\n$2\r\n60\r\n");
    assert_cut_anywhere(hg_slice_text("+OK\r\n"));
    ck_assert(reply.answers[0].is_there);
    wire_deinit(&wire);
}
END_TEST

START_TEST(a_redis_reply_may_be_cut_anywhere)
{
    open_wire(&wire_resp, WIRE_GET, 1);
    assert_cut_anywhere(hg_slice_text("$5\r\na\r\nbc\r\n"));
    ck_assert(reply.answers[0].is_there);
    ck_assert_slice_eq(reply.answers[0].value, "a\r\nbc");
    assert_cut_anywhere(hg_slice_text("$0\r\n\r\n"));
    ck_assert(reply.answers[0].is_there);
    ck_assert_uint_eq(reply.answers[0].value.len, 0);
    assert_cut_anywhere(hg_slice_text("$-1\r\n"));
    ck_assert(!reply.answers[0].is_there);
    assert_cut_anywhere(hg_slice_text("-ERR no\r\n"));
    ck_assert(!reply.answers[0].is_there);
    wire_deinit(&wire);
}
END_TEST

START_TEST(the_next_redis_reply_is_left_alone)
{
    size_t used;

    open_wire(&wire_resp, WIRE_GET, 1);
    ck_assert_int_eq(wire.kind->cut(&wire, hg_slice_text("$1\r\nx\r\n$1\r\ny\r\n"), &reply, &used),
                     WIRE_REPLY);
    ck_assert_uint_eq(used, 7);
    ck_assert_slice_eq(reply.answers[0].value, "x");
    wire_deinit(&wire);
}
END_TEST

START_TEST(what_is_no_redis_reply_is_told)
{
    open_wire(&wire_resp, WIRE_GET, 1);
    assert_bad("\n");
    assert_bad("$5\n");
    assert_bad("$5x\r\n");
    assert_bad("$\r\n");
    assert_bad("$-2\r\n");
    assert_bad("$9999999999999999999999\r\n");
    assert_bad("$1\r\nxyz");
    assert_bad("?1\r\n");
    assert_bad("\r\n");
    wire_deinit(&wire);
}
END_TEST

START_TEST(a_memcached_reply_may_be_cut_anywhere)
{
    uint32_t number = 7;

    open_wire(&wire_memcached, WIRE_GET, 1);
    ck_assert_slice_eq(asked(0, &number), "get sess:000000000007\r\n");
    assert_cut_anywhere(hg_slice_text("VALUE sess:000000000007 0 3\r\nabc\r\nEND\r\n"));
    ck_assert(reply.answers[0].is_there);
    ck_assert_slice_eq(reply.answers[0].value, "abc");
    assert_cut_anywhere(hg_slice_text("END\r\n"));
    ck_assert(!reply.answers[0].is_there);
    assert_bad("VALUE sess:000000000007 0 3\r\nabcdEND\r\n....");
    assert_bad("VALUE k 0 3x\r\n");
    wire_deinit(&wire);
    open_wire(&wire_memcached, WIRE_PUT, 1);
    assert_cut_anywhere(hg_slice_text("STORED\r\n"));
    ck_assert(reply.answers[0].is_there);
    assert_cut_anywhere(hg_slice_text("SERVER_ERROR out of memory\r\n"));
    ck_assert(!reply.answers[0].is_there);
    wire_deinit(&wire);
}
END_TEST

/* ---- ours ---- */

static struct hgi_request decode_request(struct hg_slice bytes, struct hgi_arena *arena,
                                         uint32_t *ret_id)
{
    char sentence[HGI_SENTENCE_MAX];
    struct hgi_request request;
    struct hgi_sp_frame frame;
    size_t used;
    size_t needed;

    ck_assert_int_eq(hgi_sp_cut(HGI_SP_IPC, bytes, 1 << 20, &frame, &used, &needed), HGI_SP_FRAME);
    ck_assert_uint_eq(used, bytes.len);
    *ret_id = hgi_sp_route_id(&frame.route);
    ck_assert_int_eq(hgi_request_decode(frame.body, arena, &request, sentence), HG_OK);
    return request;
}

START_TEST(our_request_is_patched_to_what_the_codec_would_have_made)
{
    uint32_t numbers[] = {11, 22, 33};
    char sentence[HGI_SENTENCE_MAX];
    struct hgi_msg_batch batch;
    struct hgi_request request;
    struct hgi_arena arena;
    uint32_t id;

    hgi_arena_init(&arena, 1 << 20);
    open_wire(&wire_sp, WIRE_GET_OR_LOAD, 3);
    request = decode_request(asked(4, numbers), &arena, &id);
    ck_assert_uint_eq(id & 0x7FFFFFFF, 5);
    ck_assert_int_eq(request.method, HGI_METHOD_BATCH_GET_OR_LOAD);
    ck_assert_int_eq(hgi_batch_request_decode(request.payload, &arena, &batch, sentence), HG_OK);
    ck_assert_slice_eq(batch.cache, "bench");
    ck_assert_uint_eq(batch.key_count, 3);
    ck_assert_slice_eq(batch.keys[0].bytes, "sess:000000000011");
    ck_assert_slice_eq(batch.keys[2].bytes, "sess:000000000033");
    wire_deinit(&wire);
    hgi_arena_deinit(&arena);
}
END_TEST

START_TEST(our_put_is_patched_in_key_and_value)
{
    uint32_t number = 5;
    unsigned char value[8];
    char sentence[HGI_SENTENCE_MAX];
    struct hgi_request request;
    struct hgi_arena arena;
    struct hgi_msg_put put;
    uint32_t id;

    hgi_arena_init(&arena, 1 << 20);
    open_wire(&wire_sp, WIRE_PUT, 1);
    request = decode_request(asked(0, &number), &arena, &id);
    ck_assert_int_eq(request.method, HGI_METHOD_PUT);
    ck_assert_int_eq(hgi_put_request_decode(request.payload, &arena, &put, sentence), HG_OK);
    ck_assert_slice_eq(put.key.bytes, "sess:000000000005");
    record_value(number, sizeof(value), value);
    ck_assert_uint_eq(put.value.len, sizeof(value));
    ck_assert_mem_eq(put.value.data, value, sizeof(value));
    ck_assert_int_eq(put.ttl_ms, 60000);
    wire_deinit(&wire);
    hgi_arena_deinit(&arena);
}
END_TEST

static void frame_reply(uint32_t id, struct hg_slice payload, enum hg_status status,
                        struct hg_bytes *ret_bytes)
{
    struct hgi_reply made = {.status = status, .payload = payload};
    struct hgi_sp_route route = hgi_sp_route_of(id);
    unsigned char head[HGI_SP_HEAD_MAX];
    struct hg_bytes body;
    size_t head_len;

    hgi_bytes_init(&body, &hgi_heap);
    ck_assert(hgi_reply_encode(&made, &body));
    head_len = hgi_sp_head(HGI_SP_IPC, &route, body.len, head);
    ret_bytes->len = 0;
    ck_assert(hgi_bytes_append(ret_bytes, hg_slice_of(head, head_len)));
    ck_assert(hgi_bytes_append(ret_bytes, hgi_bytes_slice(&body)));
    hgi_bytes_deinit(&body);
}

START_TEST(our_reply_may_be_cut_anywhere_and_is_read_as_the_codec_wrote_it)
{
    struct hgi_msg_answer answers[2] = {{.outcome = HG_VALUE,
                                         .source = HG_SOURCE_FRESH,
                                         .value = hg_slice_text("first"),
                                         .value_type = HG_TYPE_BYTES,
                                         .generation = UINT64_MAX,
                                         .lease_id = 7,
                                         .ttl_left_ms = 1000},
                                        {.outcome = HG_ABSENT, .generation = 9}};
    struct hgi_msg_batch_reply batch = {answers, 2};
    struct hg_bytes payload;
    struct hg_bytes bytes;

    hgi_bytes_init(&payload, &hgi_heap);
    hgi_bytes_init(&bytes, &hgi_heap);
    open_wire(&wire_sp, WIRE_GET, 2);
    ck_assert(hgi_batch_reply_encode(&batch, &payload));
    frame_reply(3, hgi_bytes_slice(&payload), HG_OK, &bytes);
    assert_cut_anywhere(hgi_bytes_slice(&bytes));
    ck_assert_uint_eq(reply.slot, 2);
    ck_assert_uint_eq(reply.count, 2);
    ck_assert(reply.answers[0].is_there);
    ck_assert_slice_eq(reply.answers[0].value, "first");
    ck_assert(!reply.answers[1].is_there);
    frame_reply(3, hg_slice_of(NULL, 0), HG_UNAVAILABLE, &bytes);
    assert_cut_anywhere(hgi_bytes_slice(&bytes));
    ck_assert_uint_eq(reply.count, 1);
    ck_assert(!reply.answers[0].is_there);
    frame_reply(3, hg_slice_text("\x0a\xff"), HG_OK, &bytes);
    {
        size_t used;

        ck_assert_int_eq(wire.kind->cut(&wire, hgi_bytes_slice(&bytes), &reply, &used), WIRE_BAD);
    }
    wire_deinit(&wire);
    hgi_bytes_deinit(&payload);
    hgi_bytes_deinit(&bytes);
}
END_TEST

HGI_SUITE("bench.wire", 20, redis_is_asked_for_each_key_of_a_batch,
          redis_is_given_a_value_with_its_time, a_redis_reply_may_be_cut_anywhere,
          the_next_redis_reply_is_left_alone, what_is_no_redis_reply_is_told,
          a_memcached_reply_may_be_cut_anywhere,
          our_request_is_patched_to_what_the_codec_would_have_made,
          our_put_is_patched_in_key_and_value,
          our_reply_may_be_cut_anywhere_and_is_read_as_the_codec_wrote_it)
