/* SPDX-License-Identifier: Apache-2.0 */
#include "runner.h"

#include <check.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARGUMENTS_MAX 300

extern char **environ;

static int temporary(void)
{
    char path[] = "/tmp/hg_cli_XXXXXX";
    int fd = mkstemp(path);

    ck_assert_int_ge(fd, 0);
    unlink(path);
    return fd;
}

static size_t read_back(int fd, char *ret_text)
{
    ssize_t len = pread(fd, ret_text, RUN_OUTPUT_MAX - 1, 0);

    ck_assert_int_ge(len, 0);
    ret_text[len] = '\0';
    close(fd);
    return (size_t)len;
}

void run_program(const char *program, const char *input, const char *line, struct run *ret_run)
{
    posix_spawn_file_actions_t actions;
    char *argv[ARGUMENTS_MAX];
    char *copy = strdup(line);
    char *rest = copy;
    int argc = 0;
    int in = temporary();
    int out = temporary();
    int err = temporary();
    pid_t pid;
    int status;

    argv[argc++] = (char *)(uintptr_t)(strrchr(program, '/') + 1);
    for (char *word = strsep(&rest, " "); word; word = strsep(&rest, " ")) {
        ck_assert_int_lt(argc, ARGUMENTS_MAX - 1);
        if (*word) {
            argv[argc++] = word;
        }
    }
    argv[argc] = NULL;
    ck_assert_int_eq(pwrite(in, input, strlen(input), 0), (ssize_t)strlen(input));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
    ck_assert_int_eq(posix_spawn(&pid, program, &actions, NULL, argv, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status));
    ret_run->rc = WEXITSTATUS(status);
    ret_run->out_len = read_back(out, ret_run->out);
    ret_run->err_len = read_back(err, ret_run->err);
    close(in);
    free(copy);
}
