/* SPDX-License-Identifier: Apache-2.0 */
/* Several loads in one call, through the supervisor and real children. */
#include "notebook.h"

#include <stdio.h>

#include "base/clock.h"

static void prepare_batch(uint32_t workers, uint32_t loads_max, const char *control)
{
    prepare(workers, loads_max, control);
    configs[0].plugin = HGI_SCRIPT_BATCH_PLUGIN;
}

static void load_keys(uint64_t first, uint64_t last)
{
    char key[16];

    for (uint64_t id = first; id <= last; id++) {
        snprintf(key, sizeof(key), "k%d", (int)id);
        load(id, key);
    }
}

static void assert_keys(uint64_t first, uint64_t last)
{
    char key[16];

    for (uint64_t id = first; id <= last; id++) {
        snprintf(key, sizeof(key), "k%d", (int)id);
        assert_value(id, key);
    }
}

/* With one worker that is busy: what comes now is queued until the gate opens. */
static void start_held(uint32_t loads_max, const char *control)
{
    prepare_batch(1, loads_max, control);
    begin();
    load(1, "held");
    hgi_script_await(&script, "held", 1);
}

static void open_gate(void)
{
    hgi_script_touch(&script, "go");
    assert_value(1, "held");
}

START_TEST(what_is_queued_goes_in_one_call_and_each_load_has_its_own_end)
{
    start_held(64, "held gate %/go\nk3 fail 14 away\nk4 absent\n");
    load_keys(2, 6);
    open_gate();
    assert_keys(5, 6);
    ck_assert_int_eq(await(4, is_ended)->outcome, HG_ABSENT);
    assert_failed(3, HG_UNAVAILABLE, "away");
    assert_keys(2, 2);
    ck_assert_uint_eq(hgi_script_loads(&script, "@batch 5"), 1);
    ck_assert_uint_eq(hgi_script_loads(&script, "@batch"), 1);
    finish(6);
}
END_TEST

START_TEST(a_hundred_loads_are_as_few_calls_as_the_plugin_allows)
{
    start_held(128, "held gate %/go\n");
    load_keys(2, 101);
    open_gate();
    assert_keys(2, 101);
    ck_assert_uint_eq(hgi_script_loads(&script, "@batch 32"), 3);
    ck_assert_uint_eq(hgi_script_loads(&script, "@batch 4"), 1);
    finish(101);
}
END_TEST

START_TEST(each_load_of_a_call_takes_a_place_of_loads_max)
{
    start_held(8, "held gate %/go\n");
    load_keys(2, 21);
    open_gate();
    assert_keys(2, 21);
    ck_assert_uint_eq(hgi_script_loads(&script, "@batch 8"), 2);
    ck_assert_uint_eq(hgi_script_loads(&script, "@batch 4"), 1);
    finish(21);
}
END_TEST

START_TEST(loads_of_other_types_are_not_in_the_call)
{
    struct hgi_executor json;

    start_held(64, "held gate %/go\n* value 1\nheld value held\n");
    json = hgi_supervisor_executor(supervisor, "keys", HG_TYPE_JSON);
    load(2, "a");
    load_with(&json, 3, "b", 5000);
    load(4, "c");
    load_with(&json, 5, "d", 5000);
    open_gate();
    for (uint64_t id = 2; id <= 5; id++) {
        assert_value(id, "1");
    }
    ck_assert_uint_eq(hgi_script_loads(&script, "@batch 2"), 2);
    finish(5);
}
END_TEST

START_TEST(one_slow_load_of_a_call_holds_up_no_other)
{
    prepare_batch(2, 64, "k1 gate %/go\n");
    begin();
    executor.hold(executor.context);
    load_keys(1, 3);
    executor.release(executor.context);
    assert_keys(2, 3);
    ck_assert_uint_eq(hgi_script_loads(&script, "@batch 3"), 1);
    load_keys(4, 4);
    assert_keys(4, 4);
    hgi_script_touch(&script, "go");
    assert_keys(1, 1);
    finish(4);
}
END_TEST

START_TEST(a_call_is_a_worker_of_its_child_until_its_last_load_has_ended)
{
    prepare_batch(1, 64, "k1 gate %/go\n");
    begin();
    executor.hold(executor.context);
    load_keys(1, 3);
    executor.release(executor.context);
    assert_keys(2, 3);
    load_keys(4, 4);
    /* A round through loader-io: it has looked at load 4 and has not sent it. */
    load(5, "k");
    cancel(5);
    assert_failed(5, HG_CANCELLED, "before it was sent");
    ck_assert_uint_eq(hgi_script_loads(&script, "k4"), 0);
    hgi_script_touch(&script, "go");
    assert_keys(1, 1);
    assert_keys(4, 4);
    finish(5);
}
END_TEST

START_TEST(what_one_thread_holds_goes_together)
{
    prepare_batch(4, 64, "");
    begin();
    executor.hold(executor.context);
    load_keys(1, 10);
    cancel(7);
    executor.release(executor.context);
    assert_failed(7, HG_CANCELLED, "before it was sent");
    assert_keys(1, 6);
    assert_keys(8, 10);
    ck_assert_uint_eq(hgi_script_loads(&script, "@batch 9"), 1);
    executor.hold(executor.context);
    executor.release(executor.context); /* nothing */
    load_keys(11, 11);
    assert_keys(11, 11);
    finish(11);
}
END_TEST

START_TEST(loads_wait_for_others_inside_the_window)
{
    int64_t begun_ms;

    prepare_batch(4, 64, "");
    configs[0].batch_window_us = 500000;
    begin();
    begun_ms = hgi_clock_now().boot_ms;
    load_keys(1, 3);
    assert_keys(1, 3);
    ck_assert_int_ge(hgi_clock_now().boot_ms - begun_ms, 499);
    ck_assert_uint_eq(hgi_script_loads(&script, "@batch 3"), 1);
    finish(3);
}
END_TEST

START_TEST(a_full_call_does_not_wait)
{
    int64_t begun_ms;

    prepare_batch(4, 64, "");
    configs[0].batch_window_us = 1000000;
    begin();
    begun_ms = hgi_clock_now().boot_ms;
    executor.hold(executor.context);
    load_keys(1, HGI_SCRIPT_BATCH_MAX);
    executor.release(executor.context);
    assert_keys(1, HGI_SCRIPT_BATCH_MAX);
    ck_assert_int_lt(hgi_clock_now().boot_ms - begun_ms, 1000);
    finish(HGI_SCRIPT_BATCH_MAX);
}
END_TEST

START_TEST(a_child_that_dies_in_a_call_loses_what_it_has_not_answered)
{
    prepare_batch(1, 64, "k2 gate %/go\nk2 die\n");
    begin();
    executor.hold(executor.context);
    load_keys(1, 3);
    executor.release(executor.context);
    assert_keys(3, 3);
    hgi_script_touch(&script, "go");
    assert_lost(2);
    assert_lost(1);
    load(4, "k4");
    assert_keys(4, 4);
    finish(4);
}
END_TEST

HGI_SUITE("server.section_send", 60, what_is_queued_goes_in_one_call_and_each_load_has_its_own_end,
          a_hundred_loads_are_as_few_calls_as_the_plugin_allows,
          each_load_of_a_call_takes_a_place_of_loads_max, loads_of_other_types_are_not_in_the_call,
          one_slow_load_of_a_call_holds_up_no_other,
          a_call_is_a_worker_of_its_child_until_its_last_load_has_ended,
          what_one_thread_holds_goes_together, loads_wait_for_others_inside_the_window,
          a_full_call_does_not_wait, a_child_that_dies_in_a_call_loses_what_it_has_not_answered)
