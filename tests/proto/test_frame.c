/* SPDX-License-Identifier: Apache-2.0 */
#include "hg_test.h"

#include "proto/frame.h"

#define FRAME_MAX   4096u
#define BUDGET      65536u
#define HEAD        HGI_FRAME_HEAD_BYTES
#define TRACEPARENT "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
#define LITERAL(s)  hg_slice_of((s), sizeof(s) - 1)

static struct hg_bytes wire;
static struct hgi_arena arena;
static char sentence[HGI_SENTENCE_MAX];

static void start(void)
{
    hgi_bytes_init(&wire, &hgi_heap);
    hgi_arena_init(&arena, BUDGET);
    sentence[0] = '\0';
}

static void finish(void)
{
    hgi_bytes_deinit(&wire);
    hgi_arena_deinit(&arena);
}

/* Through the wire and back. */
static struct hgi_frame travel(const struct hgi_frame *frame)
{
    struct hgi_frame back;
    struct hg_slice body;
    size_t used = 0;

    memset(&back, 0, sizeof(back));
    ck_assert(hgi_frame_encode(frame, FRAME_MAX, &wire));
    ck_assert_int_eq(hgi_frame_cut(hgi_bytes_slice(&wire), FRAME_MAX, &body, &used),
                     HGI_FRAME_WHOLE);
    ck_assert_uint_eq(used, wire.len);
    ck_assert_int_eq(hgi_frame_decode(body, &arena, &back, sentence), HG_OK);
    ck_assert_int_eq(back.kind, frame->kind);
    return back;
}

static enum hg_status decode(struct hg_slice body)
{
    struct hgi_frame frame;

    return hgi_frame_decode(body, &arena, &frame, sentence);
}

START_TEST(hello_travels_whole)
{
    const struct hgi_frame_setting settings[] = {
        {hg_slice_text("database"), hg_slice_text("/x/keys.db")},
        {hg_slice_text("query"), hg_slice_text("SELECT 1")},
    };
    const uint32_t owners[] = {0, 1000};
    const struct hgi_frame_confine confine = {UINT64_C(5) << 40,
                                              1,
                                              2,
                                              3,
                                              hg_slice_text("/a:/b"),
                                              hg_slice_text("/c"),
                                              true,
                                              true,
                                              true,
                                              7,
                                              8};
    struct hgi_frame frame = {.kind = HGI_FRAME_HELLO,
                              .u.hello = {hg_slice_text("/x/y.so"), 3, 77, settings, 2,
                                          hg_slice_text("ab12"), owners, 2, confine, true, true}};
    struct hgi_frame back;

    start();
    back = travel(&frame);
    ck_assert_slice_eq(back.u.hello.plugin, "/x/y.so");
    ck_assert_uint_eq(back.u.hello.workers, 3);
    ck_assert(back.u.hello.is_program);
    ck_assert_uint_eq(back.u.hello.value_max_bytes, 77);
    ck_assert_uint_eq(back.u.hello.setting_count, 2);
    ck_assert_slice_eq(back.u.hello.settings[1].name, "query");
    ck_assert_slice_eq(back.u.hello.settings[1].value, "SELECT 1");
    ck_assert_slice_eq(back.u.hello.pin, "ab12");
    ck_assert_uint_eq(back.u.hello.owner_count, 2);
    ck_assert_uint_eq(back.u.hello.owners[1], 1000);
    ck_assert_uint_eq(back.u.hello.confine.memory_max_bytes, UINT64_C(5) << 40);
    ck_assert_uint_eq(back.u.hello.confine.descriptors_max, 1);
    ck_assert_uint_eq(back.u.hello.confine.processes_max, 2);
    ck_assert_uint_eq(back.u.hello.confine.cpu_max_s, 3);
    ck_assert_slice_eq(back.u.hello.confine.files_read, "/a:/b");
    ck_assert_slice_eq(back.u.hello.confine.files_write, "/c");
    ck_assert(back.u.hello.confine.is_offline && back.u.hello.confine.may_dump);
    ck_assert(back.u.hello.confine.has_user);
    ck_assert_uint_eq(back.u.hello.confine.uid, 7);
    ck_assert_uint_eq(back.u.hello.confine.gid, 8);
    ck_assert(back.u.hello.log_json);
    finish();
}
END_TEST

START_TEST(ready_travels_whole)
{
    struct hgi_frame frame = {.kind = HGI_FRAME_READY,
                              .u.ready = {HG_FAILED_PRECONDITION, hg_slice_text("no such file"),
                                          hg_slice_text("sqlite"), hg_slice_text("1.0"), 1, 4, true,
                                          32, true, true, true}};
    struct hgi_frame back;

    start();
    back = travel(&frame);
    ck_assert_int_eq(back.u.ready.status, HG_FAILED_PRECONDITION);
    ck_assert_slice_eq(back.u.ready.message, "no such file");
    ck_assert_slice_eq(back.u.ready.name, "sqlite");
    ck_assert_slice_eq(back.u.ready.version, "1.0");
    ck_assert_uint_eq(back.u.ready.abi, 1);
    ck_assert_uint_eq(back.u.ready.max_inflight, 4);
    ck_assert(back.u.ready.has_health);
    ck_assert_uint_eq(back.u.ready.batch_max, 32);
    ck_assert(back.u.ready.is_async);
    ck_assert(back.u.ready.wants_old);
    ck_assert(back.u.ready.invalidates);
    finish();
}
END_TEST

START_TEST(load_travels_whole)
{
    struct hgi_frame frame = {.kind = HGI_FRAME_LOAD,
                              .u.load = {UINT64_MAX, hg_slice_text("auth"), LITERAL("\0key"),
                                         HG_TYPE_JSON, 2, 5000, true, hg_slice_text("old"),
                                         hg_slice_text("v1"), hg_slice_text(TRACEPARENT)}};
    struct hgi_frame back;

    start();
    back = travel(&frame);
    ck_assert_uint_eq(back.u.load.id, UINT64_MAX);
    ck_assert_slice_eq(back.u.load.cache, "auth");
    ck_assert_uint_eq(back.u.load.key.len, 4);
    ck_assert_int_eq(memcmp(back.u.load.key.data, "\0key", 4), 0);
    ck_assert_int_eq(back.u.load.value_type, HG_TYPE_JSON);
    ck_assert_uint_eq(back.u.load.attempt, 2);
    ck_assert_uint_eq(back.u.load.remaining_ms, 5000);
    ck_assert(back.u.load.has_old);
    ck_assert_slice_eq(back.u.load.old_value, "old");
    ck_assert_slice_eq(back.u.load.etag, "v1");
    ck_assert_slice_eq(back.u.load.traceparent, TRACEPARENT);
    finish();
}
END_TEST

START_TEST(a_traceparent_is_well_formed_or_refused)
{
    struct hgi_frame frame = {
        .kind = HGI_FRAME_LOAD,
        .u.load = {.id = 1,
                   .value_type = HG_TYPE_JSON,
                   .traceparent = hg_slice_text("00-4bf92f3577b34da6\r\nX-Admin: yes")}};
    struct hg_slice body;
    size_t used;

    start();
    ck_assert(hgi_frame_encode(&frame, FRAME_MAX, &wire));
    ck_assert_int_eq(hgi_frame_cut(hgi_bytes_slice(&wire), FRAME_MAX, &body, &used),
                     HGI_FRAME_WHOLE);
    ck_assert_int_eq(decode(body), HG_INVALID_ARGUMENT);
    ck_assert_str_eq(sentence, "a Load with an ill-formed traceparent");
    finish();
}
END_TEST

START_TEST(loads_travel_whole)
{
    const struct hgi_frame_load loads[] = {{.id = 1,
                                            .cache = hg_slice_text("auth"),
                                            .key = hg_slice_text("a"),
                                            .value_type = HG_TYPE_JSON,
                                            .attempt = 2},
                                           {.id = 2,
                                            .cache = hg_slice_text("auth"),
                                            .key = hg_slice_text("b"),
                                            .value_type = HG_TYPE_BYTES,
                                            .attempt = 1}};
    struct hgi_frame frame = {.kind = HGI_FRAME_LOADS, .u.loads = {loads, 2}};
    struct hgi_frame back;

    start();
    back = travel(&frame);
    ck_assert_uint_eq(back.u.loads.count, 2);
    ck_assert_uint_eq(back.u.loads.loads[1].id, 2);
    ck_assert_slice_eq(back.u.loads.loads[1].key, "b");
    ck_assert_int_eq(back.u.loads.loads[0].value_type, HG_TYPE_JSON);
    ck_assert_int_eq(decode(LITERAL("\x52\x00")), HG_INVALID_ARGUMENT);
    ck_assert_str_eq(sentence, "a Loads without a load");
    finish();
}
END_TEST

START_TEST(done_travels_whole)
{
    const struct hg_slice tags[] = {hg_slice_text("red"), hg_slice_of("b\0le", 4)};
    struct hgi_frame frame = {.kind = HGI_FRAME_DONE,
                              .u.done = {7, HG_OK, HG_VALUE, hg_slice_text("value"),
                                         hg_slice_text(""), true, 1, 2, 3, tags, 2,
                                         hg_slice_text("u1"), hg_slice_text("v1"), false}};
    struct hgi_frame back;

    start();
    back = travel(&frame);
    ck_assert_uint_eq(back.u.done.id, 7);
    ck_assert_int_eq(back.u.done.outcome, HG_VALUE);
    ck_assert_slice_eq(back.u.done.value, "value");
    ck_assert(back.u.done.no_store);
    ck_assert_int_eq(back.u.done.ttl_ms, 1);
    ck_assert_int_eq(back.u.done.stale_ttl_ms, 2);
    ck_assert_int_eq(back.u.done.expires_at_ms, 3);
    ck_assert_uint_eq(back.u.done.tag_count, 2);
    ck_assert_slice_eq(back.u.done.tags[0], "red");
    ck_assert(hgi_slice_equal(back.u.done.tags[1], tags[1]));
    ck_assert_slice_eq(back.u.done.user, "u1");
    ck_assert_slice_eq(back.u.done.etag, "v1");
    ck_assert(!back.u.done.is_unchanged);
    frame.u.done.is_unchanged = true;
    frame.u.done.value = hg_slice_text("");
    finish();
    start();
    ck_assert(travel(&frame).u.done.is_unchanged);
    finish();
}
END_TEST

static enum hg_status decode_done(const struct hgi_frame_done *done)
{
    struct hgi_frame frame = {.kind = HGI_FRAME_DONE, .u.done = *done};
    struct hg_slice body;
    enum hg_status status;
    size_t used;

    start();
    ck_assert(hgi_frame_encode(&frame, HGI_FRAME_SERVER_MAX, &wire));
    ck_assert_int_eq(hgi_frame_cut(hgi_bytes_slice(&wire), HGI_FRAME_SERVER_MAX, &body, &used),
                     HGI_FRAME_WHOLE);
    status = hgi_frame_decode(body, &arena, &frame, sentence);
    finish();
    return status;
}

/* A child is not believed: the engine's tags are of fixed size. */
START_TEST(a_done_with_tags_or_a_user_past_their_bounds_is_refused)
{
    char long_text[HG_KEY_MAX + 1];
    struct hg_slice tags[HG_TAGS_MAX + 1];
    struct hgi_frame_done done = {.id = 1, .outcome = HG_ABSENT, .tags = tags};

    memset(long_text, 'x', sizeof(long_text));
    for (size_t i = 0; i < HG_TAGS_MAX + 1; i++) {
        tags[i] = hg_slice_of(long_text, HG_TAG_MAX);
    }
    done.tag_count = HG_TAGS_MAX;
    done.user = hg_slice_of(long_text, HG_KEY_MAX);
    ck_assert_int_eq(decode_done(&done), HG_OK);
    done.tag_count = HG_TAGS_MAX + 1;
    ck_assert_int_eq(decode_done(&done), HG_INVALID_ARGUMENT);
    done.tag_count = 2;
    tags[1].len = HG_TAG_MAX + 1;
    ck_assert_int_eq(decode_done(&done), HG_INVALID_ARGUMENT);
    tags[1].len = 0;
    ck_assert_int_eq(decode_done(&done), HG_INVALID_ARGUMENT);
    done.tag_count = 0;
    done.user.len = HG_KEY_MAX + 1;
    ck_assert_int_eq(decode_done(&done), HG_INVALID_ARGUMENT);
}
END_TEST

START_TEST(cancel_log_and_drain_travel_whole)
{
    struct hgi_frame cancel = {.kind = HGI_FRAME_CANCEL, .u.cancel_id = 9};
    struct hgi_frame log = {.kind = HGI_FRAME_LOG, .u.log = {HG_LOG_WARN, hg_slice_text("slow")}};
    struct hgi_frame drain = {.kind = HGI_FRAME_DRAIN};
    struct hgi_frame back;

    start();
    ck_assert_uint_eq(travel(&cancel).u.cancel_id, 9);
    wire.len = 0;
    back = travel(&log);
    ck_assert_int_eq(back.u.log.level, HG_LOG_WARN);
    ck_assert_slice_eq(back.u.log.text, "slow");
    wire.len = 0;
    travel(&drain);
    finish();
}
END_TEST

START_TEST(health_and_its_reply_travel_whole)
{
    struct hgi_frame health = {.kind = HGI_FRAME_HEALTH};
    struct hgi_frame reply = {.kind = HGI_FRAME_HEALTH_REPLY,
                              .u.health = {HG_UNAVAILABLE, hg_slice_text("no disk")}};
    struct hgi_frame back;

    start();
    travel(&health);
    wire.len = 0;
    back = travel(&reply);
    ck_assert_int_eq(back.u.health.status, HG_UNAVAILABLE);
    ck_assert_slice_eq(back.u.health.message, "no disk");
    wire.len = 0;
    reply.u.health.status = (enum hg_status)99;
    ck_assert(hgi_frame_encode(&reply, FRAME_MAX, &wire));
    ck_assert_int_eq(decode(hg_slice_of(wire.data + HEAD, wire.len - HEAD)), HG_INVALID_ARGUMENT);
    ck_assert_str_eq(sentence, "a HealthReply with status 99");
    finish();
}
END_TEST

START_TEST(invalidate_travels_whole)
{
    struct hgi_frame key = {.kind = HGI_FRAME_INVALIDATE,
                            .u.invalidate = {HG_INVALIDATED_KEY, hg_slice_text("c"),
                                             hg_slice_text("\x01k"), hg_slice_of(NULL, 0)}};
    struct hgi_frame tag = {
        .kind = HGI_FRAME_INVALIDATE,
        .u.invalidate = {.what = HG_INVALIDATED_TAG, .name = hg_slice_text("red")}};
    struct hgi_frame ready = {.kind = HGI_FRAME_READY, .u.ready = {.invalidates = true}};
    struct hgi_frame back;

    start();
    back = travel(&key);
    ck_assert_int_eq(back.u.invalidate.what, HG_INVALIDATED_KEY);
    ck_assert_slice_eq(back.u.invalidate.cache, "c");
    ck_assert_slice_eq(back.u.invalidate.key, "\x01k");
    ck_assert_uint_eq(back.u.invalidate.name.len, 0);
    wire.len = 0;
    back = travel(&tag);
    ck_assert_uint_eq(back.u.invalidate.cache.len, 0);
    ck_assert_slice_eq(back.u.invalidate.name, "red");
    wire.len = 0;
    ck_assert(travel(&ready).u.ready.invalidates);
    finish();
}
END_TEST

static void assert_no_invalidate(const struct hgi_frame_invalidate *invalidate, const char *wanted)
{
    const struct hgi_frame frame = {.kind = HGI_FRAME_INVALIDATE, .u.invalidate = *invalidate};

    wire.len = 0;
    ck_assert(hgi_frame_encode(&frame, FRAME_MAX, &wire));
    ck_assert_int_eq(decode(hg_slice_of(wire.data + HEAD, wire.len - HEAD)), HG_INVALID_ARGUMENT);
    ck_assert_str_eq(sentence, wanted);
}

START_TEST(an_invalidate_of_nothing_that_can_be_is_refused)
{
    static const char bytes[HGI_KEY_CANONICAL_MAX + 1];

    start();
    assert_no_invalidate(&(struct hgi_frame_invalidate){.what = 0}, "an Invalidate of what 0");
    assert_no_invalidate(&(struct hgi_frame_invalidate){.what = (enum hg_invalidated)5},
                         "an Invalidate of what 5");
    assert_no_invalidate(&(struct hgi_frame_invalidate){.what = HG_INVALIDATED_KEY},
                         "an Invalidate with a key of 0 bytes");
    assert_no_invalidate(
        &(struct hgi_frame_invalidate){.what = HG_INVALIDATED_KEY, .key = {bytes, sizeof(bytes)}},
        "an Invalidate with a key of 1033 bytes");
    assert_no_invalidate(
        &(struct hgi_frame_invalidate){.what = HG_INVALIDATED_ALL, .key = {bytes, 1}},
        "an Invalidate with a key of 1 bytes");
    assert_no_invalidate(
        &(struct hgi_frame_invalidate){.what = HG_INVALIDATED_ALL, .name = {bytes, 1}},
        "an Invalidate with a name of 1 bytes");
    assert_no_invalidate(&(struct hgi_frame_invalidate){.what = HG_INVALIDATED_TAG},
                         "an Invalidate with a name of 0 bytes");
    assert_no_invalidate(
        &(struct hgi_frame_invalidate){.what = HG_INVALIDATED_TAG, .name = {bytes, HG_TAG_MAX + 1}},
        "an Invalidate with a name of 129 bytes");
    assert_no_invalidate(&(struct hgi_frame_invalidate){.what = HG_INVALIDATED_USER,
                                                        .name = {bytes, HG_KEY_MAX + 1}},
                         "an Invalidate with a name of 1025 bytes");
    finish();
}
END_TEST

START_TEST(frames_are_cut_one_by_one_however_the_bytes_come)
{
    struct hgi_frame frame = {.kind = HGI_FRAME_CANCEL, .u.cancel_id = 1};
    struct hg_slice body;
    size_t used;
    size_t first;

    start();
    ck_assert(hgi_frame_encode(&frame, FRAME_MAX, &wire));
    first = wire.len;
    ck_assert(hgi_frame_encode(&frame, FRAME_MAX, &wire));
    for (size_t len = 0; len < first; len++) {
        ck_assert_int_eq(hgi_frame_cut(hg_slice_of(wire.data, len), FRAME_MAX, &body, &used),
                         HGI_FRAME_PARTIAL);
    }
    ck_assert_int_eq(hgi_frame_cut(hgi_bytes_slice(&wire), FRAME_MAX, &body, &used),
                     HGI_FRAME_WHOLE);
    ck_assert_uint_eq(used, first);
    ck_assert_uint_eq(body.len, first - HEAD);
    finish();
}
END_TEST

START_TEST(a_length_past_the_limit_is_bad_before_the_body_comes)
{
    struct hg_slice body;
    size_t used;

    ck_assert_int_eq(hgi_frame_cut(LITERAL("\0\0\x10\x00"), 4096, &body, &used), HGI_FRAME_PARTIAL);
    ck_assert_int_eq(hgi_frame_cut(LITERAL("\0\0\x10\x01"), 4096, &body, &used), HGI_FRAME_BAD);
    ck_assert_int_eq(hgi_frame_cut(LITERAL("\xff\xff\xff\xff"), 4096, &body, &used), HGI_FRAME_BAD);
}
END_TEST

START_TEST(an_empty_frame_is_bad)
{
    struct hg_slice body;
    size_t used;

    ck_assert_int_eq(hgi_frame_cut(LITERAL("\0\0\0\0"), 4096, &body, &used), HGI_FRAME_BAD);
}
END_TEST

START_TEST(a_frame_past_the_limit_is_not_sent)
{
    struct hgi_frame log = {.kind = HGI_FRAME_LOG, .u.log = {HG_LOG_INFO, hg_slice_text("12345")}};
    size_t len;

    start();
    ck_assert(hgi_frame_encode(&log, FRAME_MAX, &wire));
    len = wire.len - HEAD;
    ck_assert(hgi_frame_encode(&log, len, &wire));
    ck_assert(!hgi_frame_encode(&log, len - 1, &wire));
    ck_assert_uint_eq(wire.len, 2 * (len + HEAD));
    finish();
}
END_TEST

START_TEST(two_messages_in_one_frame_are_refused)
{
    start();
    ck_assert_int_eq(decode(LITERAL("\x3a\x00")), HG_OK); /* one Drain */
    ck_assert_int_eq(decode(LITERAL("\x3a\x00\x3a\x00")), HG_INVALID_ARGUMENT);
    finish();
}
END_TEST

START_TEST(an_unknown_kind_is_refused)
{
    start();
    ck_assert_int_eq(decode(LITERAL("\x7a\x00")), HG_INVALID_ARGUMENT); /* field 15 */
    ck_assert_int_eq(decode(LITERAL("\x02\x00")), HG_INVALID_ARGUMENT); /* field 0 */
    ck_assert_int_eq(decode(LITERAL("\x08\x01")), HG_INVALID_ARGUMENT); /* a number, no message */
    finish();
}
END_TEST

START_TEST(numbers_outside_their_enums_are_refused)
{
    start();
    ck_assert_int_eq(decode(LITERAL("\x2a\x02\x18\x04")), HG_INVALID_ARGUMENT); /* outcome 4 */
    ck_assert_ptr_nonnull(strstr(sentence, "outcome 4"));
    ck_assert_int_eq(decode(LITERAL("\x2a\x02\x18\x00")), HG_INVALID_ARGUMENT); /* OK, no outcome */
    ck_assert_int_eq(decode(LITERAL("\x2a\x02\x10\x0f")), HG_INVALID_ARGUMENT); /* status 15 */
    ck_assert_int_eq(decode(LITERAL("\x2a\x02\x10\x02")), HG_OK);               /* UNKNOWN */
    ck_assert_int_eq(decode(LITERAL("\x12\x02\x08\x0f")), HG_INVALID_ARGUMENT); /* Ready */
    ck_assert_int_eq(decode(LITERAL("\x1a\x02\x20\x04")), HG_INVALID_ARGUMENT); /* value type */
    ck_assert_int_eq(decode(LITERAL("\x32\x02\x08\x04")), HG_INVALID_ARGUMENT); /* log level */
    finish();
}
END_TEST

START_TEST(a_negative_time_is_refused)
{
    struct hgi_frame frame = {.kind = HGI_FRAME_DONE,
                              .u.done = {.status = HG_OK, .outcome = HG_VALUE, .ttl_ms = -1}};

    start();
    ck_assert(hgi_frame_encode(&frame, FRAME_MAX, &wire));
    ck_assert_int_eq(decode(hg_slice_of(wire.data + HEAD, wire.len - HEAD)), HG_INVALID_ARGUMENT);
    finish();
}
END_TEST

START_TEST(empty_settings_cannot_take_more_than_the_budget)
{
    unsigned char body[65536];
    size_t at = 0;

    start();
    /* Hello of 65,532 bytes: 32,766 empty settings, 2 bytes each, 40 and more in memory. */
    body[at++] = 0x0a;
    body[at++] = 0xfc;
    body[at++] = 0xff;
    body[at++] = 0x03;
    while (at < sizeof(body)) {
        body[at++] = 0x22;
        body[at++] = 0x00;
    }
    ck_assert_int_eq(decode(hg_slice_of(body, sizeof(body))), HG_RESOURCE_EXHAUSTED);
    finish();
}
END_TEST

/* Every truncation and every flipped bit of every frame gives an answer: a frame or a sentence. */
START_TEST(damaged_frames_never_harm)
{
    const struct hg_slice tags[] = {hg_slice_text("red"), hg_slice_text("blue")};
    const struct hgi_frame frames[] = {
        {.kind = HGI_FRAME_READY,
         .u.ready = {HG_OK, hg_slice_text("m"), hg_slice_text("n"), hg_slice_text("v"), 1, 4, true,
                     2, false, true, true}},
        {.kind = HGI_FRAME_LOAD,
         .u.load = {1, hg_slice_text("c"), hg_slice_text("key"), HG_TYPE_AUTH, 1, 9, true,
                    hg_slice_text("old"), hg_slice_text("v1"),
                    hg_slice_text("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")}},
        {.kind = HGI_FRAME_DONE,
         .u.done = {.id = 7,
                    .outcome = HG_VALUE,
                    .value = hg_slice_text("value"),
                    .message = hg_slice_text("x"),
                    .no_store = true,
                    .ttl_ms = 1,
                    .stale_ttl_ms = 2,
                    .expires_at_ms = 3,
                    .tags = tags,
                    .tag_count = 2,
                    .user = hg_slice_text("u")}},
        {.kind = HGI_FRAME_LOG, .u.log = {HG_LOG_WARN, hg_slice_text("slow")}},
    };
    size_t refused = 0;

    start();
    for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
        wire.len = 0;
        ck_assert(hgi_frame_encode(&frames[i], FRAME_MAX, &wire));
        for (size_t len = 0; len < wire.len - HEAD; len++) {
            ck_assert_int_ne(decode(hg_slice_of(wire.data + HEAD, len)), HG_OK);
        }
        for (size_t bit = 0; bit < (wire.len - HEAD) * 8; bit++) {
            unsigned char *byte = wire.data + HEAD + bit / 8;

            *byte = (unsigned char)(*byte ^ 1u << bit % 8);
            hgi_arena_reset(&arena, BUDGET);
            sentence[0] = '\0';
            if (decode(hg_slice_of(wire.data + HEAD, wire.len - HEAD)) != HG_OK) {
                refused++;
                ck_assert_uint_gt(strlen(sentence), 0);
            }
            *byte = (unsigned char)(*byte ^ 1u << bit % 8);
        }
    }
    ck_assert_uint_gt(refused, 0);
    finish();
}
END_TEST

HGI_SUITE("proto.frame", 20, loads_travel_whole, hello_travels_whole, ready_travels_whole,
          load_travels_whole, a_traceparent_is_well_formed_or_refused,
          a_done_with_tags_or_a_user_past_their_bounds_is_refused, done_travels_whole,
          cancel_log_and_drain_travel_whole, health_and_its_reply_travel_whole,
          invalidate_travels_whole, an_invalidate_of_nothing_that_can_be_is_refused,
          frames_are_cut_one_by_one_however_the_bytes_come,
          a_length_past_the_limit_is_bad_before_the_body_comes, an_empty_frame_is_bad,
          a_frame_past_the_limit_is_not_sent, two_messages_in_one_frame_are_refused,
          an_unknown_kind_is_refused, numbers_outside_their_enums_are_refused,
          a_negative_time_is_refused, empty_settings_cannot_take_more_than_the_budget,
          damaged_frames_never_harm)
