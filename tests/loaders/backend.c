/* SPDX-License-Identifier: Apache-2.0 */
#include "backend.h"

#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WAIT_MS  20000
#define PAUSE_MS 2

extern char **environ;

static void pause_shortly(int *inout_waited_ms, const char *what)
{
    const struct timespec pause = {0, PAUSE_MS * 1000000};

    nanosleep(&pause, NULL);
    *inout_waited_ms += PAUSE_MS;
    ck_assert_msg(*inout_waited_ms < WAIT_MS, "%s", what);
}

void backend_prepare(struct backend *backend, const char *name)
{
    memset(backend, 0, sizeof(*backend));
    snprintf(backend->folder, sizeof(backend->folder), "/tmp/herdgate-%s-XXXXXX", name);
    ck_assert_ptr_nonnull(mkdtemp(backend->folder));
}

void backend_write(const struct backend *backend, const char *name, const char *text)
{
    char path[192];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", backend->folder, name);
    file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(chmod(path, 0600), 0);
}

static void spawn(const char *const *argv, int output, pid_t *ret_pid)
{
    posix_spawn_file_actions_t actions;

    /* In the group of the test, whose end check sees to. */
    ck_assert_int_eq(posix_spawn_file_actions_init(&actions), 0);
    if (output >= 0) {
        ck_assert_int_eq(posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO), 0);
    }
    ck_assert_msg(posix_spawnp(ret_pid, argv[0], &actions, NULL, (char *const *)argv, environ) == 0,
                  "%s cannot be started", argv[0]);
    posix_spawn_file_actions_destroy(&actions);
}

void backend_start(struct backend *backend, const char *const *argv, char *ret_line, size_t size)
{
    int pipe_fds[2] = {-1, -1};
    FILE *output;

    if (ret_line) {
        ck_assert_int_eq(pipe(pipe_fds), 0);
    }
    spawn(argv, pipe_fds[1], &backend->pid);
    if (ret_line) {
        close(pipe_fds[1]);
        output = fdopen(pipe_fds[0], "r");
        ck_assert_ptr_nonnull(output);
        ck_assert_msg(fgets(ret_line, (int)size, output) != NULL, "%s said nothing", argv[0]);
        ret_line[strcspn(ret_line, "\n")] = '\0';
        fclose(output);
    }
}

void backend_wait_socket(const struct backend *backend, const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int waited_ms = 0;

    snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", backend->folder, name);
    for (;;) {
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);
        int result = connect(fd, (const struct sockaddr *)&address, sizeof(address));

        close(fd);
        if (result == 0) {
            return;
        }
        pause_shortly(&waited_ms, "the backend does not listen");
    }
}

void backend_end(struct backend *backend, int signal)
{
    int waited_ms = 0;

    kill(backend->pid, signal);
    while (waitpid(backend->pid, NULL, WNOHANG) != backend->pid) {
        pause_shortly(&waited_ms, "the backend does not end");
    }
    backend->pid = 0;
}

void backend_run(const char *const *argv)
{
    int status = 0;
    pid_t pid;

    spawn(argv, -1, &pid);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s failed", argv[0]);
}

void backend_remove(struct backend *backend)
{
    const char *const argv[] = {"rm", "-r", "--", backend->folder, NULL};

    backend_run(argv);
}
