/* SPDX-License-Identifier: Apache-2.0 */
/* Processes of a loader that SIGKILL does not end: left behind, bounded, and reaped when the kernel
 * lets go. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "crash_scene.h"

#define STOPPED_MS      10000
#define LEFT_BEHIND_MAX 4 /* HGI_STUCK_MAX */

/* Until one is refused because too many processes do not end. It is one key, for ten would open the
 * breaker before. */
static void hang_until_refused(struct daemon *d)
{
    struct hg_answer answer;
    struct hg_error error;

    for (unsigned i = 0;
         daemon_read(d, "crash", "disk", HG_MODE_FRESH, &answer, &error) == HG_DEADLINE_EXCEEDED;
         i++) {
        ck_assert_uint_le(i, MUTE_FILES_READS_MAX);
    }
    ck_assert_msg(strstr(error.text, "of its processes were killed and do not end"), "%s",
                  error.text);
}

/* The journal has a process as often as it hung, one line after the other. */
static unsigned count_in_kernel(const struct daemon *d)
{
    FILE *journal = open_journal(d);
    unsigned count = 0;
    int last = 0;
    int pid;

    while (fscanf(journal, "%d", &pid) == 1) {
        count += pid != last && is_in_kernel(pid);
        last = pid;
    }
    fclose(journal);
    return count;
}

/* The first costs nothing but itself: its load's place in the cache and its descriptors are
 * others'. After the last one that may be left behind no other is started, until the kernel lets
 * one go. */
START_TEST(processes_that_do_not_end_are_left_behind_and_never_more_than_a_few)
{
    struct other other;
    struct daemon d;
    struct disk disk;
    size_t descriptors;
    uint64_t deaths;
    pid_t pid;
    unsigned in_kernel;

    setup(&d, "150ms", &disk);
    if (disk.is_there) {
        assert_serves(&d);
        descriptors = daemon_count_descriptors(&d);
        start_other(&other, &d);
        pid = await_process(&d);
        deaths = look(&d).deaths;
        hang(&d, "disk");
        await_killed_in_kernel(pid);
        await_deaths(&d, deaths + 1);
        ck_assert(daemon_log_says(&d, "was killed and does not end "));
        ck_assert_uint_eq(daemon_metric(&d, "crash", "in_flight"), 0);
        assert_reads(&d, "after the first");
        hang_until_refused(&d);
        in_kernel = count_in_kernel(&d);
        printf("%u processes that do not end, and no other is started\n", in_kernel);
        ck_assert_uint_ge(in_kernel, LEFT_BEHIND_MAX);
        ck_assert_uint_le(in_kernel, LEFT_BEHIND_MAX + 2); /* those that were replaced meanwhile */
        ck_assert(is_in_kernel(pid));
        stop_other(&other, "processes that do not end");
        mute_files_release(&disk.files);
        await_reaped(pid);
        await_reads(&d, "let go");
        await_descriptors(&d, descriptors);
        assert_nobody_left(&d, in_kernel);
    }
    daemon_stop(&d);
    close_disk(&disk);
    daemon_remove(&d);
}
END_TEST

/* Whoever traces a process has its end first. It needs no file system, only that we may trace. */
START_TEST(a_process_that_a_debugger_keeps_is_replaced)
{
    size_t descriptors;
    uint64_t deaths;
    struct daemon d;
    pid_t pid;

    setup(&d, "150ms", NULL);
    assert_serves(&d);
    pid = await_process(&d);
    descriptors = daemon_count_descriptors(&d);
    if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) != 0) {
        printf("a process that a debugger keeps was not tried: %s\n", strerror(errno));
    } else {
        deaths = look(&d).deaths;
        ck_assert_int_eq(kill(pid, SIGKILL), 0);
        await_deaths(&d, deaths + 1);
        ck_assert(daemon_log_says(&d, "was killed and does not end"));
        assert_reads(&d, "without it");
        ck_assert_int_eq(kill(pid, 0), 0);
        await_descriptors(&d, descriptors);
        ck_assert_int_eq(waitpid(pid, NULL, __WALL), pid);
        await_reaped(pid);
    }
    daemon_stop(&d);
    daemon_remove(&d);
}
END_TEST

/* Neither one that was left behind nor one that is killed only now. */
START_TEST(a_server_stops_in_its_time_though_processes_do_not_end)
{
    struct daemon d;
    struct disk disk;
    struct hg_answer answer;
    struct hg_error error;
    int64_t begun_ms;
    uint64_t deaths;

    setup(&d, "150ms", &disk);
    if (disk.is_there) {
        assert_serves(&d);
        deaths = look(&d).deaths;
        hang(&d, "disk");
        await_deaths(&d, deaths + 1);
        ck_assert_int_eq(daemon_read(&d, "crash", "disk again", HG_MODE_FRESH, &answer, &error),
                         HG_DEADLINE_EXCEEDED);
        begun_ms = hgi_clock_now().boot_ms;
        daemon_stop(&d);
        ck_assert_int_lt(hgi_clock_now().boot_ms - begun_ms, STOPPED_MS);
        ck_assert_uint_eq(mute_files_read_count(&disk.files), 2);
        ck_assert(daemon_log_says(&d, "still does not end; the system is left to reap it"));
        mute_files_release(&disk.files);
        assert_nobody_left(&d, 2);
    } else {
        daemon_stop(&d);
    }
    close_disk(&disk);
    daemon_remove(&d);
}
END_TEST

HGI_SUITE("e2e.stuck", 600, processes_that_do_not_end_are_left_behind_and_never_more_than_a_few,
          a_process_that_a_debugger_keeps_is_replaced,
          a_server_stops_in_its_time_though_processes_do_not_end)
