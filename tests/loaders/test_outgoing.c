/* SPDX-License-Identifier: Apache-2.0 */
/* What a loader's child has to say while nobody takes it: the host alone, without the process. */
#include <poll.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/bytes.h"
#include "hg_script.h"
#include "hg_test.h"
#include "host.h"

#define KEY_LEN 1000u
/* Answered with their keys, they are more than log lines may add to. */
#define LOADS_COUNT (HGI_HOST_LOG_MAX_BYTES / KEY_LEN + 1)
#define WAIT_MS     20000

struct fixture {
    struct hgi_script script;
    struct hg_host *host;
    int wake_fd;
    struct hg_bytes out;
};

static void setup(struct fixture *f)
{
    struct hgi_frame_setting settings[1];
    struct hgi_frame_hello hello = {.plugin = hg_slice_text(HGI_SCRIPT_PLUGIN),
                                    .workers = 1,
                                    .value_max_bytes = 65536,
                                    .settings = settings,
                                    .setting_count = 1};
    struct hgi_frame_ready ready;

    hgi_script_open(&f->script);
    hgi_script_set(&f->script, "");
    settings[0].name = hg_slice_text("control");
    settings[0].value = hg_slice_text(f->script.control);
    f->wake_fd = eventfd(0, EFD_CLOEXEC);
    f->host = hgi_host_create(f->wake_fd);
    ck_assert_ptr_nonnull(f->host);
    hgi_host_open(f->host, &hello, &ready);
    ck_assert_int_eq(ready.status, HG_OK);
    hgi_bytes_init(&f->out, &hgi_heap);
}

static void teardown(struct fixture *f)
{
    hgi_host_stop(f->host);
    hgi_host_destroy(&f->host);
    hgi_bytes_deinit(&f->out);
    close(f->wake_fd);
    hgi_script_close(&f->script);
}

/* Until the host has had `count` things to say. */
static void await_said(struct fixture *f, uint64_t count)
{
    struct pollfd fd = {.fd = f->wake_fd, .events = POLLIN};
    uint64_t said;

    while (count > 0) {
        ck_assert_int_eq(poll(&fd, 1, WAIT_MS), 1);
        ck_assert_int_eq(read(f->wake_fd, &said, sizeof(said)), sizeof(said));
        ck_assert_uint_le(said, count);
        count -= said;
    }
}

static void load_one(struct fixture *f, uint64_t id)
{
    unsigned char text[KEY_LEN];
    struct hg_key typed = {.kind = HG_KEY_BYTES};
    struct hgi_key key;
    char sentence[HGI_SENTENCE_MAX];
    struct hgi_frame_load load = {.id = id,
                                  .cache = hg_slice_text("a-cache"),
                                  .value_type = HG_TYPE_BYTES,
                                  .attempt = 1,
                                  .remaining_ms = WAIT_MS};

    memset(text, 'k', sizeof(text));
    typed.bytes = hg_slice_of(text, sizeof(text));
    ck_assert_int_eq(hgi_key_encode(HGI_KEYS_BYTES, &typed, &key, sentence), HG_OK);
    load.key = hgi_key_slice(&key);
    hgi_host_load(f->host, &load, 1);
}

/* How many frames of this kind are in what was taken. */
static size_t count_of(const struct fixture *f, enum hgi_frame_kind kind)
{
    struct hg_slice rest = hgi_bytes_slice(&f->out);
    struct hgi_arena arena;
    size_t count = 0;

    hgi_arena_init(&arena, 0);
    while (rest.len) {
        char sentence[HGI_SENTENCE_MAX];
        struct hgi_frame frame;
        struct hg_slice body;
        size_t used;

        ck_assert_int_eq(hgi_frame_cut(rest, 65536 + HGI_FRAME_CHILD_EXTRA, &body, &used),
                         HGI_FRAME_WHOLE);
        hgi_arena_reset(&arena, 2 * body.len + HGI_FRAME_CHILD_EXTRA);
        ck_assert_int_eq(hgi_frame_decode(body, &arena, &frame, sentence), HG_OK);
        count += frame.kind == kind;
        rest = hg_slice_of((const char *)rest.data + used, rest.len - used);
    }
    hgi_arena_deinit(&arena);
    return count;
}

START_TEST(behind_many_answers_a_log_line_is_dropped_and_a_health_reply_is_not)
{
    struct fixture f;

    setup(&f);
    for (uint64_t id = 1; id <= LOADS_COUNT; id++) {
        load_one(&f, id);
    }
    await_said(&f, LOADS_COUNT);
    hgi_script_set(&f.script, "@health log one line too many\n");
    ck_assert(hgi_host_ask_health(f.host));
    await_said(&f, 2);
    ck_assert(hgi_host_take(f.host, &f.out));
    ck_assert_uint_eq(count_of(&f, HGI_FRAME_DONE), LOADS_COUNT);
    ck_assert_uint_eq(count_of(&f, HGI_FRAME_LOG), 0);
    ck_assert_uint_eq(count_of(&f, HGI_FRAME_HEALTH_REPLY), 1);
    teardown(&f);
}
END_TEST

/* Behind so many answers none is told one by one, but all that was to be told is told. */
START_TEST(behind_many_answers_invalidations_become_one_of_everything)
{
    struct fixture f;

    setup(&f);
    for (uint64_t id = 1; id <= LOADS_COUNT; id++) {
        load_one(&f, id);
    }
    await_said(&f, LOADS_COUNT);
    hgi_script_set(&f.script, "@health flood 1000\n");
    ck_assert(hgi_host_ask_health(f.host));
    await_said(&f, 1001);
    ck_assert(!hgi_host_is_idle(f.host));
    ck_assert(hgi_host_take(f.host, &f.out));
    ck_assert_uint_eq(count_of(&f, HGI_FRAME_INVALIDATE), 1);
    f.out.len = 0;
    ck_assert(hgi_host_take(f.host, &f.out));
    ck_assert_uint_eq(f.out.len, 0);
    ck_assert(hgi_host_is_idle(f.host));
    teardown(&f);
}
END_TEST

START_TEST(a_flood_of_invalidations_takes_bounded_room)
{
    struct fixture f;

    setup(&f);
    hgi_script_set(&f.script, "@health flood 100000\n");
    ck_assert(hgi_host_ask_health(f.host));
    await_said(&f, 100001);
    ck_assert(hgi_host_take(f.host, &f.out));
    ck_assert_uint_lt(f.out.len, HGI_HOST_LOG_MAX_BYTES + HGI_FRAME_CHILD_EXTRA);
    ck_assert_uint_gt(count_of(&f, HGI_FRAME_INVALIDATE), 1);
    teardown(&f);
}
END_TEST

HGI_SUITE("loaders.outgoing", 60, behind_many_answers_invalidations_become_one_of_everything,
          a_flood_of_invalidations_takes_bounded_room,
          behind_many_answers_a_log_line_is_dropped_and_a_health_reply_is_not)
