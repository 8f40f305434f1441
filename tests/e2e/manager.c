/* SPDX-License-Identifier: Apache-2.0 */
#include "manager.h"

#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/thread.h"

#define WAIT_MS   20000
#define TEXT_SIZE 1024

void manager_open(struct manager *manager)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    snprintf(manager->name, sizeof(manager->name), "@herdgate-manager-%d", (int)getpid());
    memcpy(address.sun_path, manager->name, strlen(manager->name));
    address.sun_path[0] = '\0';
    manager->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(manager->fd, 0);
    ck_assert_int_eq(
        bind(manager->fd, (const struct sockaddr *)&address,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(manager->name))),
        0);
}

void manager_close(struct manager *manager)
{
    close(manager->fd);
}

void manager_start(struct manager *manager, struct daemon *d, const char *watchdog_us)
{
    ck_assert_int_eq(setenv("NOTIFY_SOCKET", manager->name, 1), 0);
    if (watchdog_us) {
        ck_assert_int_eq(setenv("WATCHDOG_USEC", watchdog_us, 1), 0);
    }
    daemon_start(d);
    ck_assert_int_eq(unsetenv("NOTIFY_SOCKET"), 0);
    ck_assert_int_eq(unsetenv("WATCHDOG_USEC"), 0);
}

void manager_hear(struct manager *manager, char *ret_text, size_t size)
{
    struct pollfd readable = {.fd = manager->fd, .events = POLLIN};
    ssize_t got;

    ck_assert_int_eq(poll(&readable, 1, WAIT_MS), 1);
    got = recv(manager->fd, ret_text, size - 1, 0);
    ck_assert_int_ge(got, 0);
    ret_text[got] = '\0';
}

void manager_hear_until(struct manager *manager, const char *wanted)
{
    char text[TEXT_SIZE] = "";

    while (strncmp(text, wanted, strlen(wanted)) != 0) {
        manager_hear(manager, text, sizeof(text));
    }
}

void manager_hear_beats(struct manager *manager)
{
    char text[TEXT_SIZE];

    while (recv(manager->fd, text, sizeof(text), MSG_DONTWAIT) > 0) {
        continue;
    }
    manager_hear_until(manager, "WATCHDOG=1");
    manager_hear_until(manager, "WATCHDOG=1");
}

void manager_await_abort(struct daemon *d)
{
    int status = 0;

    for (int waited_ms = 0; waitpid(d->pid, &status, WNOHANG) == 0; waited_ms += 5) {
        ck_assert_int_lt(waited_ms, WAIT_MS);
        hgi_thread_pause(5);
    }
    ck_assert(WIFSIGNALED(status));
    ck_assert_int_eq(WTERMSIG(status), SIGABRT);
    hg_client_close(&d->client);
}
