/* SPDX-License-Identifier: Apache-2.0 */
#include "child.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hg_script.h"
#include "proto/codec.h"

#define ASYNC_PLUGIN HGI_BUILD_DIR "/tests/loaders/plugins/async.so"
#define CRASH_PLUGIN HGI_BUILD_DIR "/tests/loaders/plugins/crash.so"
#define OLD_PLUGIN   HGI_BUILD_DIR "/tests/loaders/plugins/old.so"

static struct hgi_script script;
static struct child child;

/* A child with the scripted loader and `workers` threads. */
static void start_plugin(const char *plugin, uint32_t workers, const char *control)
{
    struct hgi_frame_setting settings[2];
    const struct hgi_frame_ready *ready;

    hgi_script_open(&script);
    hgi_script_set(&script, control);
    settings[0].name = hg_slice_text("control");
    settings[0].value = hg_slice_text(script.control);
    settings[1].name = hg_slice_text("journal");
    settings[1].value = hg_slice_text(script.journal);
    ready = child_open(&child, plugin, workers, settings, 2);
    ck_assert_int_eq(ready->status, HG_OK);
    ck_assert_slice_eq(ready->name, "script");
    ck_assert_uint_eq(ready->abi, HG_LOADER_ABI);
    ck_assert_uint_eq(ready->max_inflight, workers);
}

static void start(uint32_t workers, const char *control)
{
    start_plugin(HGI_SCRIPT_PLUGIN, workers, control);
}

static void finish(void)
{
    child_end(&child);
    hgi_script_close(&script);
}

/* The child must refuse to open, say `wanted`, and end. */
static void assert_not_opened(const char *plugin, const struct hgi_frame_setting *settings,
                              size_t count, const char *wanted)
{
    const struct hgi_frame_ready *ready = child_open(&child, plugin, 1, settings, count);
    char text[1024];
    int status;

    snprintf(text, sizeof(text), "%.*s", (int)ready->message.len,
             (const char *)ready->message.data);
    ck_assert_int_ne(ready->status, HG_OK);
    ck_assert_msg(strstr(text, wanted) != NULL, "\"%s\" does not say \"%s\"", text, wanted);
    status = child_wait(&child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    child_drop(&child);
}

static void assert_error(uint64_t id, enum hg_status status, const char *wanted)
{
    const struct hgi_frame_done *done = child_done(&child, id);
    char text[HGI_FRAME_MESSAGE_MAX];

    snprintf(text, sizeof(text), "%.*s", (int)done->message.len, (const char *)done->message.data);
    ck_assert_int_eq(done->status, status);
    ck_assert_msg(strstr(text, wanted) != NULL, "\"%s\" does not say \"%s\"", text, wanted);
}

START_TEST(a_load_is_answered)
{
    start(1, "* value hello\n");
    child_load_bytes(&child, 7, "k", HG_TYPE_BYTES);
    ck_assert_slice_eq(child_done(&child, 7)->value, "hello");
    ck_assert_int_eq(child.frame.u.done.status, HG_OK);
    ck_assert_int_eq(child.frame.u.done.outcome, HG_VALUE);
    finish();
}
END_TEST

START_TEST(lifetimes_and_outcomes_come_through)
{
    start(1, "* ttl 5\n* stale_ttl 6\n* expires 7\n* no_store\na absent\nd denied\n");
    child_load_bytes(&child, 1, "a", HG_TYPE_BYTES);
    ck_assert_int_eq(child_done(&child, 1)->outcome, HG_ABSENT);
    ck_assert_int_eq(child.frame.u.done.ttl_ms, 5);
    ck_assert_int_eq(child.frame.u.done.stale_ttl_ms, 6);
    ck_assert_int_eq(child.frame.u.done.expires_at_ms, 7);
    ck_assert(child.frame.u.done.no_store);
    child_load_bytes(&child, 2, "d", HG_TYPE_BYTES);
    ck_assert_int_eq(child_done(&child, 2)->outcome, HG_DENIED);
    finish();
}
END_TEST

START_TEST(tags_and_an_auth_values_user_come_through)
{
    const struct hgi_frame_done *done;

    start(1, "* tags red,blue\na absent\nh value u1\n");
    child_load_bytes(&child, 1, "h", HG_TYPE_AUTH);
    done = child_done(&child, 1);
    ck_assert_uint_eq(done->tag_count, 2);
    ck_assert_slice_eq(done->tags[0], "red");
    ck_assert_slice_eq(done->tags[1], "blue");
    ck_assert_slice_eq(done->user, "u1");
    child_load_bytes(&child, 2, "a", HG_TYPE_AUTH);
    ck_assert_uint_eq(child_done(&child, 2)->tag_count, 2);
    ck_assert_uint_eq(child.frame.u.done.user.len, 0);
    finish();
}
END_TEST

START_TEST(tags_past_their_bounds_are_an_error)
{
    char control[400] = "many tags a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q\nempty tags a,,b\nlong tags ";
    size_t len = strlen(control);

    memset(control + len, 'x', HG_TAG_MAX + 1);
    control[len + HG_TAG_MAX + 1] = '\n';
    start(1, control);
    child_load_bytes(&child, 1, "many", HG_TYPE_BYTES);
    assert_error(1, HG_INTERNAL, "the loader gave 17 tags; at most 16 are allowed");
    child_load_bytes(&child, 2, "empty", HG_TYPE_BYTES);
    assert_error(2, HG_INTERNAL, "the loader gave a tag of 0 bytes; it must have 1 to 128");
    child_load_bytes(&child, 3, "long", HG_TYPE_BYTES);
    assert_error(3, HG_INTERNAL, "the loader gave a tag of 129 bytes; it must have 1 to 128");
    ck_assert_uint_eq(child.frame.u.done.tag_count, 0);
    finish();
}
END_TEST

START_TEST(typed_keys_arrive_in_their_parts)
{
    struct hg_key user = {.kind = HG_KEY_USER_API_KEY,
                          .user_id = hg_slice_text("u"),
                          .api_key_id = hg_slice_text("k")};
    struct hg_key feature = {
        .kind = HG_KEY_API_KEY_FEATURE, .api_key_id = hg_slice_text("k"), .is_standalone = true};

    start(1, "");
    child_load(&child, 1, &user, HG_TYPE_BYTES);
    ck_assert_slice_eq(child_done(&child, 1)->value, "u/k");
    child_load(&child, 2, &feature, HG_TYPE_BYTES);
    ck_assert_slice_eq(child_done(&child, 2)->value, "/k/1");
    finish();
}
END_TEST

START_TEST(an_auth_value_is_packed)
{
    struct hgi_arena arena;
    struct hg_auth auth;
    char sentence[HGI_SENTENCE_MAX];

    start(1, "* value alice\n");
    child_load_bytes(&child, 1, "k", HG_TYPE_AUTH);
    ck_assert_int_eq(child_done(&child, 1)->outcome, HG_VALUE);
    hgi_arena_init(&arena, 65536);
    ck_assert_int_eq(hgi_auth_decode(child.frame.u.done.value, &arena, &auth, sentence), HG_OK);
    ck_assert_slice_eq(auth.user_id, "alice");
    ck_assert(auth.allowed);
    hgi_arena_deinit(&arena);
    finish();
}
END_TEST

START_TEST(an_auth_value_that_is_not_allowed_is_denied)
{
    start(1, "* denied\n");
    child_load_bytes(&child, 1, "k", HG_TYPE_AUTH);
    ck_assert_int_eq(child_done(&child, 1)->status, HG_OK);
    ck_assert_int_eq(child.frame.u.done.outcome, HG_DENIED);
    finish();
}
END_TEST

START_TEST(json_is_checked)
{
    start(1, "good value {\"a\":1}\nbad value {\"a\":\n");
    child_load_bytes(&child, 1, "good", HG_TYPE_JSON);
    ck_assert_slice_eq(child_done(&child, 1)->value, "{\"a\":1}");
    child_load_bytes(&child, 2, "bad", HG_TYPE_JSON);
    assert_error(2, HG_INTERNAL, "the loader gave a wrong value: the JSON value");
    finish();
}
END_TEST

START_TEST(a_value_of_the_wrong_type_is_an_error)
{
    start(1, "* wrong\n");
    child_load_bytes(&child, 1, "k", HG_TYPE_BYTES);
    assert_error(1, HG_INTERNAL, "the loader gave an auth value, but the cache holds bytes");
    child_load_bytes(&child, 2, "k", HG_TYPE_AUTH);
    assert_error(2, HG_INTERNAL, "the loader gave bytes, but the cache holds auth");
    finish();
}
END_TEST

START_TEST(an_error_keeps_its_status_and_text)
{
    start(1, "k fail 14 backend is away\nz fail 0 no\nodd fail 99 no\n* ttl -1\n");
    child_load_bytes(&child, 1, "k", HG_TYPE_BYTES);
    assert_error(1, HG_UNAVAILABLE, "backend is away");
    child_load_bytes(&child, 2, "z", HG_TYPE_BYTES);
    assert_error(2, HG_INTERNAL, "a status that is none");
    child_load_bytes(&child, 3, "odd", HG_TYPE_BYTES);
    assert_error(3, HG_INTERNAL, "a status that is none");
    child_load_bytes(&child, 4, "other", HG_TYPE_BYTES);
    assert_error(4, HG_INTERNAL, "negative time");
    finish();
}
END_TEST

static const struct hgi_frame_health *ask_health(void)
{
    struct hgi_frame health = {.kind = HGI_FRAME_HEALTH};

    child_send(&child, &health);
    ck_assert_int_eq(child_read(&child)->kind, HGI_FRAME_HEALTH_REPLY);
    return &child.frame.u.health;
}

START_TEST(several_loads_go_to_the_plugin_in_one_call)
{
    start_plugin(HGI_SCRIPT_BATCH_PLUGIN, 1, "k2 fail 14 away\nk3 absent\n");
    child_load_many(&child, 4);
    /* The scripted loader answers the last one first. */
    ck_assert_slice_eq(child_done(&child, 4)->value, "k4");
    ck_assert_int_eq(child_done(&child, 3)->outcome, HG_ABSENT);
    assert_error(2, HG_UNAVAILABLE, "away");
    ck_assert_slice_eq(child_done(&child, 1)->value, "k1");
    ck_assert_uint_eq(hgi_script_loads(&script, "@batch 4"), 1);
    finish();
}
END_TEST

START_TEST(a_call_has_at_most_as_many_loads_as_the_plugin_takes)
{
    start_plugin(HGI_SCRIPT_BATCH_PLUGIN, 1, "");
    child_load_many(&child, HGI_SCRIPT_BATCH_MAX + 2);
    for (size_t i = 0; i < HGI_SCRIPT_BATCH_MAX + 2; i++) {
        ck_assert_int_eq(child_read(&child)->kind, HGI_FRAME_DONE);
    }
    ck_assert_uint_eq(hgi_script_loads(&script, "@batch 32"), 1);
    ck_assert_uint_eq(hgi_script_loads(&script, "@batch 2"), 1);
    finish();
}
END_TEST

START_TEST(one_slow_load_of_a_call_holds_up_no_answer_and_no_other_call)
{
    start_plugin(HGI_SCRIPT_BATCH_PLUGIN, 2, "k1 gate %/go\n");
    child_load_many(&child, 3);
    child_done(&child, 3);
    child_done(&child, 2);
    child_load_bytes(&child, 9, "other", HG_TYPE_BYTES);
    child_done(&child, 9);
    hgi_script_touch(&script, "go");
    child_done(&child, 1);
    finish();
}
END_TEST

START_TEST(loads_that_a_call_leaves_unanswered_are_errors)
{
    start_plugin(HGI_SCRIPT_BATCH_PLUGIN, 1, "k1 silent\n");
    child_load_many(&child, 2);
    child_done(&child, 2);
    assert_error(1, HG_INTERNAL, "the loader returned without an answer");
    finish();
}
END_TEST

START_TEST(a_load_cancelled_before_its_call_is_not_in_it)
{
    struct hgi_frame load = {.kind = HGI_FRAME_LOAD, .u.load = {.id = 10, .key = {"?", 1}}};

    start_plugin(HGI_SCRIPT_BATCH_PLUGIN, 1, "held gate %/go\n");
    child_load_bytes(&child, 9, "held", HG_TYPE_BYTES);
    hgi_script_await(&script, "held", 1);
    child_load_many(&child, 3);
    child_cancel(&child, 2);
    /* Refused at once, for its key is none: so the cancel before it has been seen. */
    load.u.load.value_type = HG_TYPE_BYTES;
    child_send(&child, &load);
    assert_error(10, HG_INTERNAL, "the key is in no known form");
    hgi_script_touch(&script, "go");
    child_done(&child, 9);
    assert_error(2, HG_CANCELLED, "cancelled before it began");
    child_done(&child, 3);
    child_done(&child, 1);
    ck_assert_uint_eq(hgi_script_loads(&script, "@batch 2"), 1);
    finish();
}
END_TEST

START_TEST(a_plugin_of_the_first_release_works_and_is_never_asked_for_more)
{
    ck_assert_uint_eq(HG_LOADER_SIZE_FIRST, 88);
    ck_assert_int_eq(child_open(&child, OLD_PLUGIN, 1, NULL, 0)->status, HG_OK);
    ck_assert_uint_eq(child.frame.u.ready.batch_max, 1);
    child_load_many(&child, 3);
    for (uint64_t id = 1; id <= 3; id++) {
        child_done(&child, id);
    }
    child_end(&child);
}
END_TEST

START_TEST(a_plugin_says_how_it_is)
{
    start(1, "");
    ck_assert_int_eq(ask_health()->status, HG_OK);
    hgi_script_set(&script, "@health fail 14 no disk\n");
    ck_assert_int_eq(ask_health()->status, HG_UNAVAILABLE);
    ck_assert_slice_eq(child.frame.u.health.message, "no disk");
    hgi_script_set(&script, "@health fail 99\n");
    ck_assert_int_eq(ask_health()->status, HG_UNKNOWN);
    ck_assert_slice_eq(child.frame.u.health.message,
                       "plugin script is not well and does not say why");
    finish();
}
END_TEST

START_TEST(a_health_that_hangs_holds_up_neither_loads_nor_cancels)
{
    struct hgi_frame health = {.kind = HGI_FRAME_HEALTH};

    start(1, "@health hang\nheld gate %/never\n");
    child_send(&child, &health);
    hgi_script_await(&script, "@health", 1);
    child_load_bytes(&child, 1, "k", HG_TYPE_BYTES);
    ck_assert_slice_eq(child_done(&child, 1)->value, "k");
    child_load_bytes(&child, 2, "held", HG_TYPE_BYTES);
    child_cancel(&child, 2);
    assert_error(2, HG_CANCELLED, "cancelled");
    child_drop(&child);
    hgi_script_close(&script);
}
END_TEST

START_TEST(a_plugin_without_health_is_not_asked)
{
    struct hgi_frame health = {.kind = HGI_FRAME_HEALTH};

    ck_assert(!child_open(&child, ASYNC_PLUGIN, 1, NULL, 0)->has_health);
    child_send(&child, &health);
    ck_assert_int_eq(WEXITSTATUS(child_wait(&child)), 1);
    child_drop(&child);
}
END_TEST

START_TEST(an_error_without_a_text_says_that_there_is_no_reason)
{
    start(1, "* fail 14\n");
    child_load_bytes(&child, 1, "k", HG_TYPE_BYTES);
    assert_error(1, HG_UNAVAILABLE, "the loader gave no reason");
    finish();
}
END_TEST

START_TEST(a_lifetime_that_does_not_say_its_size_is_an_error)
{
    start(1, "* expires 7\n* sizeless\n");
    child_load_bytes(&child, 1, "k", HG_TYPE_BYTES);
    assert_error(1, HG_INTERNAL, "the loader gave a lifetime whose .size is not set");
    finish();
}
END_TEST

START_TEST(a_second_completion_is_dropped_and_logged)
{
    const struct hgi_frame *frame;

    start(1, "* double\n");
    child_load_bytes(&child, 1, "k", HG_TYPE_BYTES);
    child_done(&child, 1);
    frame = child_read(&child);
    ck_assert_int_eq(frame->kind, HGI_FRAME_LOG);
    ck_assert_int_eq(frame->u.log.level, HG_LOG_WARN);
    /* The next frame is the next load's answer: nothing of the second completion was sent. */
    hgi_script_set(&script, "* value once\n");
    child_load_bytes(&child, 2, "k", HG_TYPE_BYTES);
    ck_assert_slice_eq(child_done(&child, 2)->value, "once");
    finish();
}
END_TEST

START_TEST(a_load_that_returns_without_an_answer_is_an_error)
{
    start(1, "* silent\n");
    child_load_bytes(&child, 1, "k", HG_TYPE_BYTES);
    assert_error(1, HG_INTERNAL, "returned without an answer");
    finish();
}
END_TEST

START_TEST(what_the_plugin_logs_reaches_the_server)
{
    start(1, "* log all is well\n");
    child_load_bytes(&child, 1, "k", HG_TYPE_BYTES);
    ck_assert_int_eq(child_read(&child)->kind, HGI_FRAME_LOG);
    ck_assert_slice_eq(child.frame.u.log.text, "all is well");
    child_done(&child, 1);
    finish();
}
END_TEST

START_TEST(workers_load_side_by_side)
{
    start(2, "slow gate %/go\n");
    child_load_bytes(&child, 1, "slow", HG_TYPE_BYTES);
    child_load_bytes(&child, 2, "quick", HG_TYPE_BYTES);
    child_done(&child, 2);
    hgi_script_touch(&script, "go");
    child_done(&child, 1);
    finish();
}
END_TEST

START_TEST(a_cancelled_load_is_told_so)
{
    start(1, "* gate %/never\n");
    child_load_bytes(&child, 1, "k", HG_TYPE_BYTES);
    hgi_script_await(&script, "k", 1);
    child_cancel(&child, 1);
    assert_error(1, HG_CANCELLED, "cancelled");
    finish();
}
END_TEST

START_TEST(a_load_cancelled_before_it_began_never_reaches_the_plugin)
{
    struct hgi_frame unreadable = {
        .kind = HGI_FRAME_LOAD,
        .u.load = {.id = 3, .key = hg_slice_text("?"), .value_type = HG_TYPE_BYTES}};

    start(1, "first gate %/go\n");
    child_load_bytes(&child, 1, "first", HG_TYPE_BYTES);
    child_load_bytes(&child, 2, "second", HG_TYPE_BYTES);
    hgi_script_await(&script, "first", 1);
    child_cancel(&child, 2);
    /* The child reads in order, and refuses this one as it reads it: the cancel has been read. */
    child_send(&child, &unreadable);
    assert_error(3, HG_INTERNAL, "no known form");
    hgi_script_touch(&script, "go");
    child_done(&child, 1);
    assert_error(2, HG_CANCELLED, "before it began");
    ck_assert_uint_eq(hgi_script_loads(&script, NULL), 1);
    finish();
}
END_TEST

START_TEST(drain_waits_for_the_last_load)
{
    struct hgi_frame drain = {.kind = HGI_FRAME_DRAIN};
    int status;

    start(1, "* gate %/go\n");
    child_load_bytes(&child, 1, "k", HG_TYPE_BYTES);
    hgi_script_await(&script, "k", 1);
    child_send(&child, &drain);
    hgi_script_touch(&script, "go");
    child_done(&child, 1);
    status = child_wait(&child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    child_drop(&child);
    hgi_script_close(&script);
}
END_TEST

START_TEST(the_child_ends_at_once_when_the_server_is_gone)
{
    start(1, "* hang\n");
    child_load_bytes(&child, 1, "k", HG_TYPE_BYTES);
    hgi_script_await(&script, "k", 1);
    ck_assert_int_eq(shutdown(child.fd, SHUT_WR), 0);
    ck_assert(WIFEXITED(child_wait(&child)));
    child_drop(&child);
    hgi_script_close(&script);
}
END_TEST

/* Else a plugin that hangs in open would be an orphan for ever. */
START_TEST(a_child_whose_server_was_gone_before_it_began_opens_nothing)
{
    struct hgi_frame_setting control;
    struct hgi_frame hello = {.kind = HGI_FRAME_HELLO,
                              .u.hello = {.plugin = hg_slice_text(HGI_SCRIPT_PLUGIN),
                                          .workers = 1,
                                          .value_max_bytes = CHILD_VALUE_MAX,
                                          .settings = &control,
                                          .setting_count = 1}};

    hgi_script_open(&script);
    hgi_script_set(&script, "@open hang\n");
    control.name = hg_slice_text("control");
    control.value = hg_slice_text(script.control);
    child_start_deserted(&child, &hello);
    ck_assert(WIFEXITED(child_wait(&child)));
    child_drop(&child);
    hgi_script_close(&script);
}
END_TEST

START_TEST(nonsense_from_the_server_ends_the_child)
{
    int status;

    start(1, "");
    ck_assert_int_eq(send(child.fd, "\xff\xff\xff\xff", 4, 0), 4);
    status = child_wait(&child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    child_drop(&child);
    hgi_script_close(&script);
}
END_TEST

START_TEST(a_key_in_no_known_form_is_an_error)
{
    struct hgi_frame load = {.kind = HGI_FRAME_LOAD,
                             .u.load = {.id = 5,
                                        .key = hg_slice_text("\x09what"),
                                        .value_type = HG_TYPE_BYTES,
                                        .remaining_ms = 1000}};

    start(1, "");
    child_send(&child, &load);
    assert_error(5, HG_INTERNAL, "no known form");
    finish();
}
END_TEST

START_TEST(options_are_checked_against_the_plugins_table)
{
    struct hgi_frame_setting settings[] = {
        {hg_slice_text("control"), hg_slice_text("/nowhere")},
        {hg_slice_text("jurnal"), hg_slice_text("x")},
        {hg_slice_text("control"), hg_slice_text("/elsewhere")},
        {hg_slice_text("zzz"), hg_slice_text("x")},
    };
    struct hgi_frame_setting twice[] = {settings[0], settings[2]};

    assert_not_opened(HGI_SCRIPT_PLUGIN, settings, 2,
                      "no option \"jurnal\"; did you mean \"journal\"?");
    assert_not_opened(HGI_SCRIPT_PLUGIN, settings + 3, 1, "no option \"zzz\"");
    assert_not_opened(HGI_SCRIPT_PLUGIN, twice, 2, "\"control\" is given twice");
    assert_not_opened(HGI_SCRIPT_PLUGIN, NULL, 0,
                      "needs option \"control\" (file of directives), which is not given");
}
END_TEST

START_TEST(a_plugin_that_does_not_open_says_why)
{
    struct hgi_frame_setting setting = {hg_slice_text("control"), {NULL, 0}};

    hgi_script_open(&script);
    hgi_script_set(&script, "@open fail the backend is not there\n");
    setting.value = hg_slice_text(script.control);
    assert_not_opened(HGI_SCRIPT_PLUGIN, &setting, 1, "the backend is not there");
    assert_not_opened("/nonexistent/keys.so", NULL, 0, "No such file");
    hgi_script_close(&script);
}
END_TEST

START_TEST(an_asynchronous_plugin_gets_many_loads_on_one_worker)
{
    const struct hgi_frame_ready *ready = child_open(&child, ASYNC_PLUGIN, 1, NULL, 0);

    ck_assert_int_eq(ready->status, HG_OK);
    ck_assert_uint_eq(ready->max_inflight, 9);
    child_load_bytes(&child, 100, "late", HG_TYPE_BYTES);
    for (uint64_t id = 1; id <= 8; id++) {
        child_load_bytes(&child, id, "k", HG_TYPE_BYTES);
    }
    for (uint64_t id = 8; id >= 1; id--) {
        ck_assert_slice_eq(child_done(&child, id)->value, "batched");
    }
    child_cancel(&child, 100);
    assert_error(100, HG_CANCELLED, "cancelled by the host");
    child_end(&child);
}
END_TEST

static bool is_open_in_child(int fd)
{
    char path[64];
    char target[256];

    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)child.pid, fd);
    return readlink(path, target, sizeof(target)) > 0;
}

START_TEST(the_child_keeps_no_descriptor_it_was_not_given)
{
    int leaked[20];
    size_t count = 0;

    /* Not close-on-exec, as a careless library of the server might leave them. */
    for (size_t i = 0; i < 20; i++) {
        leaked[i] = dup(STDERR_FILENO);
        ck_assert_int_ge(leaked[i], 0);
    }
    start(1, "");
    for (int fd = 0; fd < 256; fd++) {
        count += is_open_in_child(fd);
    }
    /* 0, 1, 2, the socket, its own eventfd and the plugin's file. */
    ck_assert_uint_eq(count, 6);
    finish();
    for (size_t i = 0; i < 20; i++) {
        close(leaked[i]);
    }
}
END_TEST

/* The main thread, which waits on them, must notice. */
START_TEST(a_plugin_that_closes_every_descriptor_ends_its_process)
{
    int status;

    ck_assert_int_eq(child_open(&child, CRASH_PLUGIN, 2, NULL, 0)->status, HG_OK);
    child_load_bytes(&child, 1, "close", HG_TYPE_BYTES);
    status = child_wait(&child);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 1);
    child_drop(&child);
}
END_TEST

HGI_SUITE("loaders.host", 60, a_plugin_that_closes_every_descriptor_ends_its_process,
          several_loads_go_to_the_plugin_in_one_call,
          a_call_has_at_most_as_many_loads_as_the_plugin_takes,
          one_slow_load_of_a_call_holds_up_no_answer_and_no_other_call,
          loads_that_a_call_leaves_unanswered_are_errors,
          a_load_cancelled_before_its_call_is_not_in_it,
          a_plugin_of_the_first_release_works_and_is_never_asked_for_more, a_plugin_says_how_it_is,
          a_health_that_hangs_holds_up_neither_loads_nor_cancels,
          a_plugin_without_health_is_not_asked, a_load_is_answered,
          lifetimes_and_outcomes_come_through, tags_and_an_auth_values_user_come_through,
          tags_past_their_bounds_are_an_error, typed_keys_arrive_in_their_parts,
          an_auth_value_is_packed, an_auth_value_that_is_not_allowed_is_denied, json_is_checked,
          a_value_of_the_wrong_type_is_an_error, an_error_keeps_its_status_and_text,
          an_error_without_a_text_says_that_there_is_no_reason,
          a_lifetime_that_does_not_say_its_size_is_an_error,
          a_second_completion_is_dropped_and_logged,
          a_load_that_returns_without_an_answer_is_an_error,
          what_the_plugin_logs_reaches_the_server, workers_load_side_by_side,
          a_cancelled_load_is_told_so, a_load_cancelled_before_it_began_never_reaches_the_plugin,
          drain_waits_for_the_last_load, the_child_ends_at_once_when_the_server_is_gone,
          a_child_whose_server_was_gone_before_it_began_opens_nothing,
          nonsense_from_the_server_ends_the_child, a_key_in_no_known_form_is_an_error,
          options_are_checked_against_the_plugins_table, a_plugin_that_does_not_open_says_why,
          an_asynchronous_plugin_gets_many_loads_on_one_worker,
          the_child_keeps_no_descriptor_it_was_not_given)
