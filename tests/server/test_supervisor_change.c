/* SPDX-License-Identifier: Apache-2.0 */
/* Loaders that another configuration changes while they serve: all of them, or none. */
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "notebook.h"
#include "proto/frame.h"

#define WAIT_MS 15000

static struct hg_loader_setting other_settings[2];
static struct hgi_loader_config changed; /* "keys", told otherwise */

/* One loader, which says "old"; `changed` makes it say "new" unless `control` has more. */
static void start_old(const char *control)
{
    static char path[128];
    FILE *file;

    start(1, 8, "held gate %/go\n* value old\n");
    snprintf(path, sizeof(path), "%s/other", script.folder);
    file = fopen(path, "we");
    ck_assert_ptr_nonnull(file);
    fprintf(file, "%s* value new\n", control);
    fclose(file);
    other_settings[0] = (struct hg_loader_setting){"control", path};
    other_settings[1] = settings[1];
    changed = configs[0];
    changed.settings = other_settings;
}

static enum hg_status prepare_both(const struct hgi_loader_config *first,
                                   const struct hgi_loader_config *second)
{
    const struct hgi_loader_config *const both[] = {first, second};

    return hgi_supervisor_prepare(supervisor, both, second ? 2 : 1, sentence);
}

static void assert_prepared(const struct hgi_loader_config *first,
                            const struct hgi_loader_config *second)
{
    ck_assert_msg(prepare_both(first, second) == HG_OK, "%s", sentence);
}

static void assert_loads(uint64_t id, const char *value)
{
    load(id, "k");
    assert_value(id, value);
}

/* Of loader-io; they end when it does. */
static size_t list_children(int64_t *ret_pids, size_t most)
{
    FILE *pipe;
    char command[96];
    long long pid;
    size_t count = 0;

    snprintf(command, sizeof(command), "cat /proc/%d/task/*/children", (int)getpid());
    pipe = popen(command, "re");
    ck_assert_ptr_nonnull(pipe);
    while (count < most && fscanf(pipe, "%lld", &pid) == 1) {
        char name[64] = "";
        char path[64];
        FILE *file;

        snprintf(path, sizeof(path), "/proc/%lld/comm", pid);
        file = fopen(path, "re");
        if (file && fscanf(file, "%63s", name) == 1 && strncmp(name, "herdgate-loader", 15) == 0) {
            ret_pids[count++] = pid;
        }
        if (file) {
            fclose(file);
        }
    }
    pclose(pipe);
    return count;
}

static void await_children(size_t wanted)
{
    const struct timespec pause = {0, 2000000};
    int64_t pids[8];
    size_t count = list_children(pids, 8);

    for (int waited_ms = 0; count != wanted; waited_ms += 2) {
        ck_assert_msg(waited_ms < WAIT_MS, "there are %zu processes, not %zu", count, wanted);
        nanosleep(&pause, NULL);
        count = list_children(pids, 8);
    }
}

/* The one beside the one that serves. */
static int64_t held_pid(void)
{
    int64_t pids[2];

    ck_assert_uint_eq(list_children(pids, 2), 2);
    return pids[pids[0] == state_now().pid];
}

START_TEST(what_is_swapped_in_gets_the_new_loads_and_the_old_ones_end)
{
    start_old("");
    load(1, "held"); /* the old process has it */
    hgi_script_await(&script, "held", 1);
    assert_prepared(&changed, NULL);
    hgi_supervisor_swap(supervisor);
    assert_loads(2, "new");
    hgi_script_touch(&script, "go");
    assert_value(1, "old");
    ck_assert_uint_eq(state_now().deaths, 0);
    finish(2);
}
END_TEST

START_TEST(until_then_the_old_one_serves)
{
    int64_t pid;

    start_old("");
    pid = state_now().pid;
    assert_prepared(&changed, NULL);
    assert_loads(1, "old");
    ck_assert_int_eq(state_now().pid, pid);
    await_children(2);
    hgi_supervisor_abandon(supervisor);
    await_children(1);
    assert_loads(2, "old");
    ck_assert_int_eq(state_now().pid, pid);
    ck_assert_uint_eq(state_now().deaths, 0);
    ck_assert_str_eq(state_now().message, "");
    /* It is started as before, too. */
    kill((pid_t)pid, SIGKILL);
    (void)await_state("running", pid);
    assert_loads(3, "old");
    finish(3);
}
END_TEST

START_TEST(one_that_cannot_open_keeps_all_as_they_were)
{
    int64_t pid;

    start_old("");
    pid = state_now().pid;
    configs[1].plugin = "/there/is/none.so";
    ck_assert_int_eq(prepare_both(&changed, &configs[1]), HG_FAILED_PRECONDITION);
    ck_assert_str_eq(sentence,
                     "herdgate.conf:12: loader others: plugin /there/is/none.so cannot be "
                     "opened: No such file or directory");
    ck_assert_uint_eq(hgi_supervisor_count(supervisor), 1);
    await_children(1);
    assert_loads(1, "old");
    ck_assert_int_eq(state_now().pid, pid);
    /* In whatever order. */
    ck_assert_int_eq(prepare_both(&configs[1], &changed), HG_FAILED_PRECONDITION);
    await_children(1);
    assert_loads(2, "old");
    /* What is mended is taken. */
    configs[1].plugin = HGI_SCRIPT_PLUGIN;
    assert_prepared(&configs[1], &changed);
    hgi_supervisor_swap(supervisor);
    ck_assert_uint_eq(hgi_supervisor_count(supervisor), 2);
    assert_loads(3, "new");
    finish(3);
}
END_TEST

START_TEST(a_loader_may_be_added_while_others_serve)
{
    struct hgi_executor others;

    start(1, 2, "stuck hang\n* value v\n");
    load(1, "stuck");
    hgi_script_await(&script, "stuck", 1);
    assert_prepared(&configs[1], NULL);
    ck_assert_uint_eq(hgi_supervisor_count(supervisor), 1);
    others = hgi_supervisor_executor(supervisor, "others", HG_TYPE_BYTES);
    hgi_supervisor_swap(supervisor);
    ck_assert_uint_eq(hgi_supervisor_count(supervisor), 2);
    load_with(&others, 2, "k", 5000);
    assert_value(2, "v");
    finish(2);
}
END_TEST

/* The place of one that was abandoned is the next one's, though its process may still be ending. */
START_TEST(newcomers_that_are_abandoned_leave_nothing)
{
    static char names[70][16];
    static struct hgi_loader_config newcomers[70];
    struct hgi_executor others;

    start_old("");
    for (int i = 0; i < 70; i++) {
        snprintf(names[i], sizeof(names[i]), "new%d", i);
        newcomers[i] = configs[1];
        newcomers[i].name = names[i];
        assert_prepared(&newcomers[i], NULL);
        hgi_supervisor_abandon(supervisor);
    }
    await_children(1);
    assert_prepared(&configs[1], NULL);
    others = hgi_supervisor_executor(supervisor, "others", HG_TYPE_BYTES);
    hgi_supervisor_swap(supervisor);
    ck_assert_uint_eq(hgi_supervisor_count(supervisor), 2);
    load_with(&others, 1, "k", 5000);
    assert_value(1, "old");
    finish(1);
}
END_TEST

START_TEST(one_that_dies_before_the_swap_is_begun_again)
{
    int64_t pid;

    start_old("");
    pid = state_now().pid;
    assert_prepared(&changed, NULL);
    kill((pid_t)held_pid(), SIGKILL);
    await_children(1);
    assert_loads(1, "old");
    hgi_supervisor_swap(supervisor);
    (void)await_state("running", pid);
    assert_loads(2, "new");
    finish(2);
}
END_TEST

START_TEST(one_whose_old_process_dies_waits_for_the_verdict)
{
    start_old("");
    for (uint64_t id = 1; id <= 2; id++) {
        int64_t pid = state_now().pid;

        assert_prepared(&changed, NULL);
        kill((pid_t)pid, SIGKILL);
        (void)await_state("restarting", pid);
        load(id, "k");
        if (id == 1) {
            hgi_supervisor_abandon(supervisor);
            assert_value(id, "old");
        } else {
            hgi_supervisor_swap(supervisor);
            assert_value(id, "new");
        }
    }
    finish(2);
}
END_TEST

START_TEST(a_reload_of_one_that_is_prepared_ends_with_the_verdict)
{
    struct reloaded reloaded;

    start_old("");
    assert_prepared(&changed, NULL);
    reload_begin("keys", &reloaded);
    hgi_supervisor_abandon(supervisor);
    reload_await(&reloaded);
    ck_assert_int_eq(reloaded.status, HG_OK);
    assert_loads(1, "old");
    assert_prepared(&changed, NULL);
    reload_begin("keys", &reloaded);
    hgi_supervisor_swap(supervisor);
    reload_await(&reloaded);
    ck_assert_int_eq(reloaded.status, HG_OK);
    assert_loads(2, "new");
    finish(2);
}
END_TEST

START_TEST(what_is_being_reloaded_cannot_be_prepared)
{
    struct reloaded reloaded;

    start_old("");
    hgi_script_set(&script, "@open hang\n* value old\n");
    reload_begin("keys", &reloaded);
    ck_assert_int_eq(prepare_both(&changed, NULL), HG_FAILED_PRECONDITION);
    ck_assert_ptr_nonnull(strstr(sentence, "keys: is being reloaded already; the old"));
    ck_assert_uint_eq(hgi_supervisor_count(supervisor), 1);
    finish(0);
}
END_TEST

START_TEST(one_that_is_not_well_is_not_taken)
{
    start_old("@health fail 14 no database\n");
    ck_assert_int_eq(prepare_both(&changed, NULL), HG_FAILED_PRECONDITION);
    ck_assert_ptr_nonnull(strstr(sentence, "is not well: no database"));
    assert_loads(1, "old");
    finish(1);
}
END_TEST

/* ---- invalidations ---- */

static _Atomic unsigned heard_everything;

static bool hear(void *context, const char *loader, const struct hgi_frame_invalidate *what,
                 const struct hgi_now *now)
{
    (void)context;
    (void)loader;
    (void)now;
    heard_everything += what->what == HG_INVALIDATED_ALL;
    return true;
}

START_TEST(what_was_missed_before_is_invalidated_with_the_swap_only)
{
    const struct hgi_hearer hearer = {hear, NULL};

    heard_everything = 0;
    start_old("@open invalidate key k\n");
    hgi_supervisor_hear(supervisor, &hearer);
    assert_prepared(&changed, NULL);
    hgi_supervisor_abandon(supervisor);
    ck_assert_uint_eq(heard_everything, 0);
    assert_prepared(&changed, NULL);
    hgi_supervisor_swap(supervisor);
    ck_assert_uint_eq(heard_everything, 1);
    finish(0);
}
END_TEST

HGI_SUITE("server.supervisor_change", 60,
          what_is_swapped_in_gets_the_new_loads_and_the_old_ones_end, until_then_the_old_one_serves,
          one_that_cannot_open_keeps_all_as_they_were, a_loader_may_be_added_while_others_serve,
          newcomers_that_are_abandoned_leave_nothing, one_that_dies_before_the_swap_is_begun_again,
          one_whose_old_process_dies_waits_for_the_verdict,
          a_reload_of_one_that_is_prepared_ends_with_the_verdict,
          what_is_being_reloaded_cannot_be_prepared, one_that_is_not_well_is_not_taken,
          what_was_missed_before_is_invalidated_with_the_swap_only)
