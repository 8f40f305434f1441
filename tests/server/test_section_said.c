/* SPDX-License-Identifier: Apache-2.0 */
/* What a loader's process says is hostile input: what is out of place costs it its life, and nobody
 * else anything. (fuzz.loader_says has the bytes nobody thought of.) */
#include "notebook.h"

#define LIAR HGI_BUILD_DIR "/tests/server/plugins/liar.so"

static void start_liar(void)
{
    prepare(1, 8, "");
    configs[0].plugin = LIAR;
    begin();
}

/* The load that made it lie is lost, the reason is shown, and a new process serves. */
static void assert_killed(const char *key, const char *wanted)
{
    struct hgi_loader_state state;

    start_liar();
    state = await_state("running", 0);
    load(1, key);
    assert_lost(1);
    state = await_state("running", state.pid);
    ck_assert_msg(strstr(state.message, wanted) != NULL, "\"%s\" does not say \"%s\"",
                  state.message, wanted);
    ck_assert_uint_eq(state.deaths, 1);
    load(2, "honest");
    assert_value(2, "honest");
    finish(2);
}

START_TEST(an_answer_to_a_load_it_was_not_sent_is_dropped)
{
    start_liar();
    load(1, "stranger");
    assert_value(1, "stranger");
    ck_assert_uint_eq(state_now().deaths, 0);
    finish(1);
}
END_TEST

START_TEST(a_second_answer_is_dropped)
{
    start_liar();
    load(1, "twice");
    assert_value(1, "twice");
    load(2, "honest");
    assert_value(2, "honest");
    ck_assert_uint_eq(state_now().deaths, 0);
    finish(2);
}
END_TEST

START_TEST(frames_of_a_wrong_kind)
{
    assert_killed("ready", "it sent a frame before Ready, or a second Ready");
    assert_killed("load", "it sent a frame that only the server sends");
}
END_TEST

START_TEST(frames_of_a_wrong_size)
{
    assert_killed("value", "it sent a value longer than it may");
    assert_killed("frame", "it sent a frame of a forbidden length");
    assert_killed("empty", "it sent a frame of a forbidden length");
    assert_killed("two", "it sent these 4 bytes are not one Frame");
}
END_TEST

START_TEST(numbers_that_mean_nothing)
{
    assert_killed("status", "it sent a Done with status 99");
    assert_killed("negative", "it sent a Done with");
}
END_TEST

START_TEST(half_a_frame_and_the_end)
{
    assert_killed("half", "its process died (exit 0)");
}
END_TEST

START_TEST(a_word_before_ready_is_no_start)
{
    prepare(1, 8, "early");
    configs[0].plugin = LIAR;
    assert_not_started("it sent a frame before Ready");
    hgi_script_close(&script);
}
END_TEST

HGI_SUITE("server.section_said", 60, an_answer_to_a_load_it_was_not_sent_is_dropped,
          a_second_answer_is_dropped, frames_of_a_wrong_kind, frames_of_a_wrong_size,
          numbers_that_mean_nothing, half_a_frame_and_the_end, a_word_before_ready_is_no_start)
