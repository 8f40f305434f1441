/* SPDX-License-Identifier: Apache-2.0 */
#include "notebook.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

/* Two whole rounds through loader-io, each ending a queued load, and `id` still waits: nothing that
 * was done in between has sent it. */
static void assert_not_sent(uint64_t id, uint64_t queued)
{
    cancel(queued);
    assert_failed(queued, HG_CANCELLED, "before it was sent");
    load(queued + 1, "k");
    cancel(queued + 1);
    assert_failed(queued + 1, HG_CANCELLED, "before it was sent");
    pthread_mutex_lock(&cache.mutex);
    ck_assert_uint_eq(cache.notes[id].sent, 0);
    pthread_mutex_unlock(&cache.mutex);
}

START_TEST(a_load_is_sent_and_answered)
{
    start(1, 8, "* value hello\n");
    load(1, "k");
    assert_value(1, "hello");
    ck_assert_uint_eq(cache.notes[1].sent, 1);
    ck_assert_int_eq(cache.notes[1].outcome, HG_VALUE);
    finish(1);
}
END_TEST

START_TEST(the_executor_says_what_type_a_value_must_have)
{
    start(1, 8, "* value {\n");
    executor = hgi_supervisor_executor(supervisor, "keys", HG_TYPE_JSON);
    load(1, "k");
    assert_failed(1, HG_INTERNAL, "the loader gave a wrong value");
    finish(1);
}
END_TEST

START_TEST(a_child_has_at_most_workers_loads)
{
    start(2, 8, "* gate %/go\n");
    for (uint64_t id = 1; id <= 4; id++) {
        load(id, "k");
    }
    await(2, is_sent);
    hgi_script_await(&script, "k", 2);
    assert_not_sent(3, 4);
    hgi_script_touch(&script, "go");
    for (uint64_t id = 1; id <= 3; id++) {
        assert_value(id, "k");
    }
    finish(5);
}
END_TEST

START_TEST(all_loaders_together_have_at_most_loads_max)
{
    start(4, 2, "* gate %/go\n");
    for (uint64_t id = 1; id <= 4; id++) {
        load(id, "k");
    }
    await(2, is_sent);
    assert_not_sent(3, 4);
    hgi_script_touch(&script, "go");
    assert_value(3, "k");
    finish(5);
}
END_TEST

START_TEST(a_loader_full_of_hung_loads_leaves_others_a_place)
{
    struct hgi_executor others;

    prepare(4, 2, "* hang\nok value fine\n");
    options.loader_count = 2;
    begin();
    others = hgi_supervisor_executor(supervisor, "others", HG_TYPE_BYTES);
    load(1, "stuck");
    load(2, "stuck");
    await(1, is_sent);
    load_with(&others, 3, "ok", 5000);
    assert_value(3, "fine");
    finish(3);
}
END_TEST

START_TEST(a_cancelled_load_is_cancelled_in_the_plugin)
{
    start(1, 8, "* gate %/never\n");
    load(1, "k");
    hgi_script_await(&script, "k", 1);
    cancel(1);
    assert_failed(1, HG_CANCELLED, "cancelled");
    cancel(1); /* of a load that has ended: nothing */
    finish(1);
}
END_TEST

START_TEST(a_dead_child_loses_its_loads_and_is_replaced_at_once)
{
    struct hgi_loader_state before;
    struct hgi_loader_state after;

    start(1, 8, "bad die\n");
    before = await_state("running", 0);
    load(1, "bad");
    load(2, "good");
    assert_lost(1);
    assert_value(2, "good");
    after = await_state("running", before.pid);
    ck_assert_uint_eq(after.deaths, 1);
    ck_assert_uint_eq(after.started_count, 2);
    ck_assert_ptr_nonnull(strstr(after.message, "signal 6"));
    finish(2);
}
END_TEST

START_TEST(a_child_that_dies_again_is_restarted_after_a_pause)
{
    struct hgi_loader_state state;

    start(1, 8, "bad die\n");
    state = await_state("running", 0);
    load(1, "bad");
    assert_lost(1);
    state = await_state("running", state.pid);
    load(2, "bad");
    load(3, "queued");
    assert_lost(2);
    assert_failed(3, HG_UNAVAILABLE, "loader keys: restarting after its process died (signal 6)");
    ck_assert_uint_ge(cache.notes[3].retry_after_ms, 1);
    ck_assert_uint_le(cache.notes[3].retry_after_ms, 100);
    await_state("running", state.pid);
    load(4, "good");
    assert_value(4, "good");
    ck_assert_uint_eq(state_now().deaths, 2);
    finish(4);
}
END_TEST

START_TEST(a_child_that_exits_is_a_dead_child)
{
    start(1, 8, "bad exit\n");
    load(1, "bad");
    load(2, "good");
    assert_lost(1);
    assert_value(2, "good");
    finish(2);
}
END_TEST

START_TEST(a_killed_child_is_replaced)
{
    struct hgi_loader_state state;

    start(1, 8, "held gate %/never\n");
    state = await_state("running", 0);
    load(1, "held");
    hgi_script_await(&script, "held", 1);
    ck_assert_int_eq(kill((pid_t)state.pid, SIGKILL), 0);
    assert_lost(1);
    load(2, "k");
    assert_value(2, "k");
    finish(2);
}
END_TEST

START_TEST(a_child_that_sends_nonsense_is_killed)
{
    struct hgi_loader_state state;

    start(1, 8, "bad garbage\n");
    state = await_state("running", 0);
    load(1, "bad");
    assert_lost(1);
    state = await_state("running", state.pid);
    ck_assert_ptr_nonnull(strstr(state.message, "a frame of a forbidden length"));
    load(2, "k");
    assert_value(2, "k");
    finish(2);
}
END_TEST

START_TEST(a_respawn_that_does_not_open_leaves_a_sentence)
{
    start(1, 8, "held gate %/never\n");
    load(1, "held");
    hgi_script_await(&script, "held", 1);
    hgi_script_set(&script, "@open fail the database is gone\n");
    ck_assert_int_eq(kill((pid_t)await_state("running", 0).pid, SIGKILL), 0);
    assert_lost(1);
    await_state("failed", -1);
    load(2, "k");
    assert_failed(2, HG_UNAVAILABLE, "loader keys: cannot be started: the database is gone");
    hgi_script_set(&script, "");
    await_state("running", 0);
    load(3, "k");
    assert_value(3, "k");
    finish(3);
}
END_TEST

static size_t count_lines(const char *path, const char *wanted)
{
    FILE *file = fopen(path, "re");
    char line[2048];
    size_t count = 0;

    ck_assert_ptr_nonnull(file);
    while (fgets(line, sizeof(line), file)) {
        count += strstr(line, wanted) != NULL;
    }
    fclose(file);
    return count;
}

START_TEST(a_plugin_that_logs_in_a_loop_is_cut_short)
{
    char control[8192] = "";
    char path[128];
    int before = dup(STDERR_FILENO);
    int log;

    for (int i = 0; i < 300; i++) {
        strcat(control, "* log it happened\n");
    }
    start(1, 8, control);
    snprintf(path, sizeof(path), "%s/log", script.folder);
    log = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_ge(log, 0);
    ck_assert_int_ge(dup2(log, STDERR_FILENO), 0);
    load(1, "k");
    assert_value(1, "k");
    ck_assert_int_ge(dup2(before, STDERR_FILENO), 0);
    close(log);
    close(before);
    ck_assert_uint_ge(count_lines(path, "info: loader keys: it happened"), 100);
    ck_assert_uint_lt(count_lines(path, "info: loader keys: it happened"), 300);
    ck_assert_uint_ge(count_lines(path, "loader keys: logs too much"), 1);
    finish(1);
}
END_TEST

START_TEST(a_load_that_never_ends_costs_its_child_and_nobody_else)
{
    struct hgi_loader_state before;

    start(2, 8, "stuck hang\nslow gate %/go\n");
    before = await_state("running", 0);
    load_with(&executor, 1, "stuck", 50);
    load_with(&executor, 2, "slow", 60000);
    hgi_script_await(&script, "stuck", 1);
    hgi_script_await(&script, "slow", 1);
    cancel(1);
    await_state("running", before.pid);
    /* New loads go to the new child, the old one finishes what it can. */
    load(3, "k");
    assert_value(3, "k");
    hgi_script_touch(&script, "go");
    assert_value(2, "slow");
    assert_lost(1);
    finish(3);
}
END_TEST

START_TEST(a_load_that_ignores_cancel_within_its_time_is_left_alone)
{
    struct hgi_loader_state before;

    start(1, 8, "slow delay 1300\n");
    before = await_state("running", 0);
    load_with(&executor, 1, "slow", 60000);
    hgi_script_await(&script, "slow", 1);
    cancel(1);
    assert_value(1, "slow");
    ck_assert_int_eq(state_now().pid, before.pid);
    finish(1);
}
END_TEST

START_TEST(reload_puts_a_new_child_beside_the_old_one)
{
    struct hgi_loader_state before;
    struct reloaded reloaded;

    start(1, 8, "held gate %/go\n");
    before = await_state("running", 0);
    load(1, "held");
    hgi_script_await(&script, "held", 1);
    reload("keys", &reloaded);
    ck_assert_int_eq(reloaded.status, HG_OK);
    ck_assert_str_eq(reloaded.sentence, "");
    ck_assert_str_eq(reloaded.state.state, "running");
    ck_assert_int_ne(reloaded.state.pid, before.pid);
    load(2, "k");
    assert_value(2, "k");
    hgi_script_touch(&script, "go");
    assert_value(1, "held");
    ck_assert_uint_eq(state_now().deaths, 0);
    finish(2);
}
END_TEST

START_TEST(a_reload_that_cannot_open_keeps_the_old_child)
{
    struct hgi_loader_state before;
    struct reloaded reloaded;

    start(1, 8, "");
    before = await_state("running", 0);
    hgi_script_set(&script, "@open fail the database is gone\n");
    reload("keys", &reloaded);
    ck_assert_int_eq(reloaded.status, HG_FAILED_PRECONDITION);
    ck_assert_str_eq(reloaded.sentence,
                     "loader keys: the database is gone; the old process goes on");
    load(1, "k");
    assert_value(1, "k");
    ck_assert_int_eq(state_now().pid, before.pid);
    hgi_script_set(&script, "@open die\n");
    reload("keys", &reloaded);
    ck_assert_ptr_nonnull(strstr(reloaded.sentence, "signal 6"));
    load(2, "k");
    assert_value(2, "k");
    finish(2);
}
END_TEST

START_TEST(a_second_reload_during_the_first_is_refused)
{
    struct reloaded first;
    struct reloaded second;

    start(1, 8, "");
    hgi_script_set(&script, "@open hang\n");
    reload_begin("keys", &first);
    reload("keys", &second);
    ck_assert_int_eq(second.status, HG_FAILED_PRECONDITION);
    ck_assert_ptr_nonnull(strstr(second.sentence, "keys: is being reloaded already; the old"));
    finish(0);
}
END_TEST

START_TEST(a_reload_of_no_known_loader_is_not_found)
{
    struct reloaded reloaded;

    start(1, 8, "");
    reload("kyes", &reloaded);
    ck_assert_int_eq(reloaded.status, HG_NOT_FOUND);
    ck_assert_str_eq(reloaded.sentence, "there is no loader \"kyes\"");
    finish(0);
}
END_TEST

START_TEST(an_asynchronous_plugin_gets_more_loads_than_workers)
{
    prepare(1, 64, "");
    configs[0].plugin = ASYNC_PLUGIN;
    configs[0].setting_count = 0;
    begin();
    for (uint64_t id = 1; id <= 8; id++) {
        load(id, "k");
    }
    for (uint64_t id = 1; id <= 8; id++) {
        assert_value(id, "batched");
    }
    finish(8);
}
END_TEST

START_TEST(stop_waits_for_what_is_running_and_drops_the_queue)
{
    int64_t begun_ms = hgi_clock_now().boot_ms;

    start(1, 8, "first delay 100\n");
    load(1, "first");
    hgi_script_await(&script, "first", 1);
    load(2, "second");
    hgi_supervisor_stop(supervisor, 10000);
    /* The child ended by itself after its last load; nobody had to lose patience (5 s). */
    ck_assert_int_lt(hgi_clock_now().boot_ms - begun_ms, 4000);
    assert_value(1, "first");
    assert_failed(2, HG_CANCELLED, "stopping");
    assert_each_ended_once(2);
    clean();
}
END_TEST

START_TEST(stop_does_not_wait_longer_than_it_was_told)
{
    start(1, 8, "* hang\n");
    load(1, "k");
    hgi_script_await(&script, "k", 1);
    hgi_supervisor_stop(supervisor, 50);
    assert_lost(1);
    load(2, "late"); /* nobody is left; it is freed with the supervisor */
    clean();
}
END_TEST

START_TEST(no_child_is_left_after_stop)
{
    struct hgi_loader_state state;

    start(1, 8, "");
    state = await_state("running", 0);
    hgi_supervisor_stop(supervisor, 10000);
    ck_assert_int_eq(kill((pid_t)state.pid, 0), -1);
    clean();
}
END_TEST

START_TEST(a_loader_that_cannot_start_is_named_with_its_line)
{
    prepare(1, 8, "");
    configs[0].plugin = "/nonexistent/keys.so";
    assert_not_started("herdgate.conf:12: loader \"keys\": plugin /nonexistent/keys.so cannot be "
                       "opened: No such file or directory");
    hgi_script_close(&script);
    prepare(1, 8, "@open fail the database is not there\n");
    assert_not_started("loader \"keys\": the database is not there");
    options.program = "/nonexistent/herdgate-loader";
    assert_not_started("cannot start /nonexistent/herdgate-loader: No such file or directory");
    hgi_script_close(&script);
    prepare(1, 8, "");
    settings[1].name = "jounral";
    assert_not_started("no option \"jounral\"; did you mean \"journal\"?");
    hgi_script_close(&script);
}
END_TEST

START_TEST(one_loader_that_cannot_start_takes_the_others_along)
{
    prepare(1, 8, "");
    options.loader_count = 2;
    configs[1].plugin = "/nonexistent/keys.so";
    assert_not_started("loader \"others\"");
    hgi_script_close(&script);
}
END_TEST

/* Of the child's descriptors none but 0, 1, 2 and 3 may be a socket. */
static size_t count_descriptors(int64_t pid)
{
    char path[64];
    char target[128];
    size_t count = 0;

    for (int fd = 0; fd < 1024; fd++) {
        ssize_t len;

        snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
        len = readlink(path, target, sizeof(target) - 1);
        if (len > 0) {
            target[len] = '\0';
            count++;
            ck_assert_msg(fd <= 3 || strncmp(target, "socket:", 7) != 0, "%s is %s", path, target);
        }
    }
    return count;
}

START_TEST(the_child_has_none_of_the_servers_descriptors)
{
    struct sockaddr_storage address = {.ss_family = AF_UNIX};
    const struct timespec pause = {0, 1000000};
    struct hgi_loader_state state;
    size_t count = 0;
    /* Without close-on-exec, as a library may leave it. */
    int listening = socket(AF_UNIX, SOCK_STREAM, 0);

    ck_assert_int_ge(listening, 0);
    ck_assert_int_eq(bind(listening, (struct sockaddr *)&address, sizeof(sa_family_t)), 0);
    ck_assert_int_eq(listen(listening, 1), 0);
    prepare(1, 8, "");
    options.may_dump = true; /* else only root can look */
    begin();
    state = await_state("running", 0);
    /* 0, 1, 2, the socket to us, its own eventfd and the plugin; a file it has just opened may be
     * there for a moment, one of ours would be there for good. */
    for (int waited_ms = 0; (count = count_descriptors(state.pid)) != 6 && waited_ms < 2000;
         waited_ms++) {
        nanosleep(&pause, NULL);
    }
    ck_assert_uint_eq(count, 6);
    close(listening);
    finish(0);
}
END_TEST

HGI_SUITE("server.supervisor", 60, a_load_is_sent_and_answered,
          the_executor_says_what_type_a_value_must_have, a_child_has_at_most_workers_loads,
          all_loaders_together_have_at_most_loads_max,
          a_loader_full_of_hung_loads_leaves_others_a_place,
          a_cancelled_load_is_cancelled_in_the_plugin,
          a_dead_child_loses_its_loads_and_is_replaced_at_once,
          a_child_that_dies_again_is_restarted_after_a_pause, a_child_that_exits_is_a_dead_child,
          a_killed_child_is_replaced, a_child_that_sends_nonsense_is_killed,
          a_respawn_that_does_not_open_leaves_a_sentence, a_plugin_that_logs_in_a_loop_is_cut_short,
          a_load_that_never_ends_costs_its_child_and_nobody_else,
          a_load_that_ignores_cancel_within_its_time_is_left_alone,
          reload_puts_a_new_child_beside_the_old_one, a_reload_that_cannot_open_keeps_the_old_child,
          a_second_reload_during_the_first_is_refused, a_reload_of_no_known_loader_is_not_found,
          an_asynchronous_plugin_gets_more_loads_than_workers,
          stop_waits_for_what_is_running_and_drops_the_queue,
          stop_does_not_wait_longer_than_it_was_told, no_child_is_left_after_stop,
          a_loader_that_cannot_start_is_named_with_its_line,
          one_loader_that_cannot_start_takes_the_others_along,
          the_child_has_none_of_the_servers_descriptors)
