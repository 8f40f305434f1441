/* SPDX-License-Identifier: Apache-2.0 */
/* The breaker of a loader, through the supervisor and real children. */
#include "notebook.h"

#include <stdio.h>
#include <time.h>

static const char by_keys[] = "loader keys: breaker open: 10 keys failed within 10 s";

/* Loads `count` different keys, one after the other, from id `first` on. */
static void fail_keys(uint64_t first, size_t count)
{
    char key[16];

    for (uint64_t id = first; id < first + count; id++) {
        snprintf(key, sizeof(key), "k%d", (int)id);
        load(id, key);
        assert_failed(id, HG_UNAVAILABLE, "away");
    }
}

/* Comes back when the answer to load `id` said to. */
static void come_back(uint64_t id)
{
    long ms = (long)cache.notes[id].retry_after_ms;
    const struct timespec pause = {ms / 1000, ms % 1000 * 1000000L};

    nanosleep(&pause, NULL);
}

START_TEST(ten_failing_keys_open_it_and_a_probe_closes_it)
{
    start(1, 8, "* fail 14 away\n");
    fail_keys(1, 10);
    load(11, "k");
    assert_failed(11, HG_UNAVAILABLE, by_keys);
    ck_assert_uint_ge(cache.notes[11].retry_after_ms, 4000);
    ck_assert_uint_le(cache.notes[11].retry_after_ms, 5000);
    ck_assert_ptr_nonnull(strstr(await_state("open", 0).message, "breaker open: 10 keys"));
    ck_assert_uint_eq(hgi_script_loads(&script, NULL), 10);
    come_back(11);
    fail_keys(12, 1);
    load(13, "k");
    assert_failed(13, HG_UNAVAILABLE, by_keys);
    hgi_script_set(&script, "* gate %/go\n");
    come_back(13);
    load(14, "k14");
    hgi_script_await(&script, "k14", 1);
    load(15, "k");
    assert_failed(15, HG_UNAVAILABLE, by_keys);
    ck_assert_uint_eq(cache.notes[15].retry_after_ms, 500);
    hgi_script_touch(&script, "go");
    assert_value(14, "k14");
    await_state("running", 0);
    load(16, "k");
    assert_value(16, "k");
    finish(16);
}
END_TEST

START_TEST(what_waits_in_the_queue_ends_when_it_opens)
{
    start(1, 8, "* fail 14 away\nk10 gate %/go\n");
    fail_keys(1, 9);
    load(10, "k10");
    hgi_script_await(&script, "k10", 1);
    load(11, "k");
    load(12, "k");
    hgi_script_touch(&script, "go");
    assert_failed(10, HG_UNAVAILABLE, "away");
    assert_failed(11, HG_UNAVAILABLE, by_keys);
    assert_failed(12, HG_UNAVAILABLE, by_keys);
    finish(12);
}
END_TEST

START_TEST(a_success_between_keeps_it_closed)
{
    start(1, 8, "* fail 14 away\ngood value fine\n");
    fail_keys(1, 9);
    load(10, "good");
    assert_value(10, "fine");
    fail_keys(11, 9);
    load(20, "good");
    assert_value(20, "fine");
    finish(20);
}
END_TEST

START_TEST(loads_that_time_out_open_it)
{
    char key[16];

    start(1, 8, "* gate %/never\n");
    for (uint64_t id = 1; id <= 10; id++) {
        snprintf(key, sizeof(key), "k%d", (int)id);
        load_with(&executor, id, key, 0);
        hgi_script_await(&script, key, 1);
        cancel(id);
        assert_failed(id, HG_CANCELLED, "cancelled");
    }
    load(11, "k");
    assert_failed(11, HG_UNAVAILABLE, by_keys);
    finish(11);
}
END_TEST

START_TEST(loads_that_nobody_wants_any_more_say_nothing)
{
    char key[16];

    start(1, 8, "* gate %/never\ngood value fine\n");
    for (uint64_t id = 1; id <= 10; id++) {
        snprintf(key, sizeof(key), "k%d", (int)id);
        load_with(&executor, id, key, 60000);
        hgi_script_await(&script, key, 1);
        cancel(id);
        assert_failed(id, HG_CANCELLED, "cancelled");
    }
    hgi_script_set(&script, "");
    load(11, "good");
    assert_value(11, "good");
    finish(11);
}
END_TEST

START_TEST(five_deaths_open_it_for_longer)
{
    struct hgi_loader_state state = {.pid = 0};

    start(1, 8, "bad die\n");
    for (uint64_t id = 1; id <= 5; id++) {
        state = await_state("running", state.pid);
        load(id, "bad");
        assert_lost(id);
    }
    load(6, "good");
    assert_failed(6, HG_UNAVAILABLE, "loader keys: breaker open: 5 processes died within 60 s");
    ck_assert_uint_ge(cache.notes[6].retry_after_ms, 25000);
    ck_assert_uint_le(cache.notes[6].retry_after_ms, 30000);
    ck_assert_ptr_nonnull(strstr(await_state("open", 0).message, "5 processes died"));
    finish(6);
}
END_TEST

START_TEST(a_reload_closes_it)
{
    struct reloaded reloaded;

    start(1, 8, "* fail 14 away\n");
    fail_keys(1, 10);
    load(11, "k");
    assert_failed(11, HG_UNAVAILABLE, by_keys);
    hgi_script_set(&script, "");
    reload("keys", &reloaded);
    ck_assert_str_eq(reloaded.state.state, "running");
    load(12, "k");
    assert_value(12, "k");
    finish(12);
}
END_TEST

/* `slow` keeps the process of the probe draining until the reload has closed the breaker. Whether
 * it is answered then, or lost, is another matter. */
START_TEST(a_reload_forgets_the_probe_of_a_process_that_drains)
{
    struct hgi_loader_state before;
    struct reloaded reloaded;

    start(3, 8, "* fail 14 away\nslow gate %/go\nhung hang\ngood value fine\n");
    load_with(&executor, 12, "slow", 60000);
    hgi_script_await(&script, "slow", 1);
    fail_keys(1, 10);
    load(11, "k");
    assert_failed(11, HG_UNAVAILABLE, by_keys);
    before = await_state("open", 0);
    come_back(11);
    load_with(&executor, 13, "hung", 1000);
    hgi_script_await(&script, "hung", 1);
    cancel(13);
    await_state("open", before.pid);
    reload("keys", &reloaded);
    ck_assert_str_eq(reloaded.state.state, "running");
    hgi_script_touch(&script, "go");
    await(12, is_ended);
    assert_lost(13);
    load(14, "good");
    assert_value(14, "fine");
    finish(14);
}
END_TEST

START_TEST(another_loader_has_its_own)
{
    struct hgi_executor others;

    prepare(1, 8, "* fail 14 away\ngood value fine\n");
    options.loader_count = 2;
    begin();
    others = hgi_supervisor_executor(supervisor, "others", HG_TYPE_BYTES);
    fail_keys(1, 10);
    load(11, "good");
    assert_failed(11, HG_UNAVAILABLE, by_keys);
    load_with(&others, 12, "good", 5000);
    assert_value(12, "fine");
    finish(12);
}
END_TEST

HGI_SUITE("server.section_judge", 60, ten_failing_keys_open_it_and_a_probe_closes_it,
          what_waits_in_the_queue_ends_when_it_opens, a_success_between_keeps_it_closed,
          loads_that_time_out_open_it, loads_that_nobody_wants_any_more_say_nothing,
          five_deaths_open_it_for_longer, a_reload_closes_it,
          a_reload_forgets_the_probe_of_a_process_that_drains, another_loader_has_its_own)
