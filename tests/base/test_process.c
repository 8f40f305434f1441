/* SPDX-License-Identifier: Apache-2.0 */
#include "hg_test.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process.h"

/* In a process of its own: it cannot be taken back. */
START_TEST(dumps_are_forbidden_for_good)
{
    struct rlimit limit = {1, 1};
    int status = 0;
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        bool is_done = prctl(PR_GET_DUMPABLE) == 1 && hgi_process_forbid_dumps() &&
                       prctl(PR_GET_DUMPABLE) == 0 && getrlimit(RLIMIT_CORE, &limit) == 0 &&
                       limit.rlim_cur == 0 && limit.rlim_max == 0;

        _exit(is_done ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 0);
}
END_TEST

START_TEST(what_it_takes_of_the_machine_is_told)
{
    struct hgi_process_use before;
    struct hgi_process_use after;
    int fd;

    ck_assert(hgi_process_use(&before));
    fd = dup(STDERR_FILENO);
    ck_assert(hgi_process_use(&after));
    close(fd);
    ck_assert_uint_gt(before.resident_bytes, 65536);
    ck_assert_int_ge(after.cpu_ms, before.cpu_ms);
    ck_assert_uint_ge(before.max_fds, 16);
    ck_assert(before.has_open_fds && after.has_open_fds);
    ck_assert_uint_eq(after.open_fds, before.open_fds + 1);
}
END_TEST

HGI_SUITE("base.process", 20, dumps_are_forbidden_for_good, what_it_takes_of_the_machine_is_told)
