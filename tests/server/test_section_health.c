/* SPDX-License-Identifier: Apache-2.0 */
/* Questions how a plugin is, through the supervisor and real children. */
#include "notebook.h"

#include <signal.h>

START_TEST(a_plugin_that_is_not_well_shows_it_and_goes_on)
{
    struct hgi_loader_state state;

    start(1, 8, "@health fail 14 the backend is away\n");
    state = await_state("unhealthy", 0);
    ck_assert_str_eq(state.message, "health: the backend is away");
    load(1, "k");
    assert_value(1, "k");
    hgi_script_set(&script, "");
    ck_assert_int_eq(await_state("running", 0).pid, state.pid);
    ck_assert_str_eq(state_now().message, "");
    finish(1);
}
END_TEST

START_TEST(a_health_that_hangs_is_shown_and_asked_once)
{
    struct hgi_loader_state state;

    start(1, 8, "@health hang\n");
    hgi_script_await(&script, "@health", 1);
    load(1, "k");
    assert_value(1, "k");
    state = await_state("unhealthy", 0);
    ck_assert_str_eq(state.message, "health: no answer within 3 s");
    ck_assert_uint_eq(hgi_script_loads(&script, "@health"), 1);
    finish(1);
}
END_TEST

START_TEST(a_plugin_with_a_late_load_is_not_asked)
{
    start(2, 8, "late gate %/go\nclock delay 2500\n");
    hgi_script_await(&script, "@health", 1);
    load_with(&executor, 1, "late", 1);
    load_with(&executor, 2, "clock", 60000);
    /* When this has passed the second question is due, and the first load is late. */
    assert_value(2, "clock");
    load_with(&executor, 3, "k", 60000);
    assert_value(3, "k");
    ck_assert_uint_eq(hgi_script_loads(&script, "@health"), 1);
    hgi_script_touch(&script, "go");
    assert_value(1, "late");
    hgi_script_await(&script, "@health", 2);
    finish(3);
}
END_TEST

START_TEST(a_plugin_without_health_is_running)
{
    prepare(1, 64, "");
    configs[0].plugin = ASYNC_PLUGIN;
    configs[0].setting_count = 0;
    begin();
    ck_assert_str_eq(state_now().state, "running");
    finish(0);
}
END_TEST

START_TEST(a_reload_waits_until_the_new_child_is_well)
{
    struct hgi_loader_state before;
    struct reloaded reloaded;

    start(1, 8, "");
    before = await_state("running", 0);
    hgi_script_await(&script, "@health", 1);
    hgi_script_set(&script, "@health gate %/well\n");
    reload_begin("keys", &reloaded);
    hgi_script_await(&script, "@health", 2);
    load(1, "k");
    assert_value(1, "k");
    ck_assert_int_eq(state_now().pid, before.pid);
    hgi_script_touch(&script, "well");
    reload_await(&reloaded);
    ck_assert_int_eq(reloaded.status, HG_OK);
    ck_assert_int_ne(reloaded.state.pid, before.pid);
    load(2, "k");
    assert_value(2, "k");
    finish(2);
}
END_TEST

START_TEST(a_reload_whose_plugin_is_not_well_keeps_the_old_child)
{
    struct hgi_loader_state before;
    struct reloaded reloaded;

    start(1, 8, "");
    before = await_state("running", 0);
    hgi_script_set(&script, "@health fail 14 the new table is missing\n");
    reload("keys", &reloaded);
    ck_assert_int_eq(reloaded.status, HG_FAILED_PRECONDITION);
    ck_assert_str_eq(reloaded.sentence,
                     "loader keys: its plugin opened but is not well: the new table is missing; "
                     "the old process goes on");
    load(1, "k");
    assert_value(1, "k");
    ck_assert_int_eq(state_now().pid, before.pid);
    finish(1);
}
END_TEST

START_TEST(a_child_under_test_takes_over_when_the_old_one_dies)
{
    struct hgi_loader_state before;
    struct reloaded reloaded;

    start(1, 8, "");
    before = await_state("running", 0);
    hgi_script_await(&script, "@health", 1);
    hgi_script_set(&script, "@health hang\n");
    reload_begin("keys", &reloaded);
    /* The old child is not asked for another 2 s, so this is the new one. */
    hgi_script_await(&script, "@health", 2);
    ck_assert_int_eq(kill((pid_t)before.pid, SIGKILL), 0);
    reload_await(&reloaded);
    ck_assert_int_eq(reloaded.status, HG_OK);
    load(1, "k");
    assert_value(1, "k");
    ck_assert_uint_eq(state_now().started_count, 2);
    finish(1);
}
END_TEST

HGI_SUITE("server.section_health", 60, a_plugin_that_is_not_well_shows_it_and_goes_on,
          a_health_that_hangs_is_shown_and_asked_once, a_plugin_with_a_late_load_is_not_asked,
          a_plugin_without_health_is_running, a_reload_waits_until_the_new_child_is_well,
          a_reload_whose_plugin_is_not_well_keeps_the_old_child,
          a_child_under_test_takes_over_when_the_old_one_dies)
