/* SPDX-License-Identifier: Apache-2.0 */
/* The server under a service manager: it says when it is ready, that it lives, and when it stops.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "daemon.h"

#define WAIT_MS 20000

static char name[64];

static int listen_as_manager(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    snprintf(name, sizeof(name), "@herdgate-manager-%d", (int)getpid());
    memcpy(address.sun_path, name, strlen(name));
    address.sun_path[0] = '\0';
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(bind(fd, (const struct sockaddr *)&address,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name))),
                     0);
    return fd;
}

static void hear(int fd, char *ret_text, size_t size)
{
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    ssize_t got;

    ck_assert_int_eq(poll(&readable, 1, WAIT_MS), 1);
    got = recv(fd, ret_text, size - 1, 0);
    ck_assert_int_ge(got, 0);
    ret_text[got] = '\0';
}

/* Whatever else it says before. */
static void hear_until(int fd, const char *wanted)
{
    char text[1024] = "";

    while (strncmp(text, wanted, strlen(wanted)) != 0) {
        hear(fd, text, sizeof(text));
    }
}

/* Until RELOADING=1, with the moment in microseconds of the monotonic clock. */
static void hear_reload(int fd)
{
    long long at_us = 0;
    struct timespec now;
    char text[1024];

    do {
        hear(fd, text, sizeof(text));
    } while (sscanf(text, "RELOADING=1\nMONOTONIC_USEC=%lld", &at_us) != 1);
    clock_gettime(CLOCK_MONOTONIC, &now);
    ck_assert_int_gt(at_us, 0);
    ck_assert_int_le(at_us, now.tv_sec * 1000000LL + now.tv_nsec / 1000);
}

START_TEST(ready_alive_and_stopping_are_told)
{
    struct daemon d;
    char text[1024];
    int fd = listen_as_manager();

    ck_assert_int_eq(setenv("NOTIFY_SOCKET", name, 1), 0);
    ck_assert_int_eq(setenv("WATCHDOG_USEC", "8000000", 1), 0);
    daemon_prepare(&d, "cache \"c\" { key = \"bytes\" value = \"bytes\" loader = \"script\" }\n");
    daemon_start(&d);
    ck_assert_int_eq(unsetenv("NOTIFY_SOCKET"), 0);
    ck_assert_int_eq(unsetenv("WATCHDOG_USEC"), 0);
    /* The heartbeat may be first. */
    hear_until(fd, "READY=1\nSTATUS=serving 1 caches");
    /* It goes on asking itself. */
    hear_until(fd, "WATCHDOG=1");
    hear_until(fd, "WATCHDOG=1");
    /* A reload is one from its beginning to its end. */
    ck_assert_int_eq(kill(d.pid, SIGHUP), 0);
    hear_reload(fd);
    hear_until(fd, "READY=1");
    hg_client_close(&d.client);
    ck_assert_int_eq(daemon_terminate(&d), 0);
    hear_until(fd, "STOPPING=1");
    /* It may have been about to say that it lives; after that there is nothing. */
    while (recv(fd, text, sizeof(text), MSG_DONTWAIT) > 0) {
        ck_assert_int_eq(strncmp(text, "WATCHDOG=1", 10), 0);
    }
    close(fd);
    daemon_remove(&d);
}
END_TEST

START_TEST(without_a_watchdog_there_is_no_heartbeat)
{
    struct daemon d;
    char text[1024];
    int fd = listen_as_manager();

    ck_assert_int_eq(setenv("NOTIFY_SOCKET", name, 1), 0);
    daemon_prepare(&d, "cache \"c\" { key = \"bytes\" value = \"bytes\" }\n");
    daemon_start(&d);
    ck_assert_int_eq(unsetenv("NOTIFY_SOCKET"), 0);
    hear(fd, text, sizeof(text));
    ck_assert_str_eq(text, "READY=1\nSTATUS=serving 1 caches");
    daemon_stop(&d);
    hear(fd, text, sizeof(text));
    ck_assert_str_eq(text,
                     "STOPPING=1"); /* no watchdog was asked for, so there was no word of it */
    close(fd);
    daemon_remove(&d);
}
END_TEST

/* Its socket is taken away, as a careless clean-up of /run does it: nobody can come in any more. */
START_TEST(a_server_nobody_can_reach_ends_for_the_manager_to_begin_anew)
{
    const struct timespec pause = {0, 5000000};
    struct daemon d;
    char path[160];
    int status = 0;
    int fd = listen_as_manager();

    ck_assert_int_eq(setenv("NOTIFY_SOCKET", name, 1), 0);
    ck_assert_int_eq(setenv("WATCHDOG_USEC", "8000000", 1), 0);
    daemon_prepare(&d, "cache \"c\" { key = \"bytes\" value = \"bytes\" }\n");
    daemon_start(&d);
    ck_assert_int_eq(unsetenv("NOTIFY_SOCKET"), 0);
    ck_assert_int_eq(unsetenv("WATCHDOG_USEC"), 0);
    hear_until(fd, "WATCHDOG=1");
    snprintf(path, sizeof(path), "%s/run/herdgate.sock", d.dir);
    ck_assert_int_eq(unlink(path), 0);
    for (int waited_ms = 0; waitpid(d.pid, &status, WNOHANG) == 0; waited_ms += 5) {
        ck_assert_int_lt(waited_ms, WAIT_MS);
        nanosleep(&pause, NULL);
    }
    ck_assert(WIFSIGNALED(status));
    ck_assert_int_eq(WTERMSIG(status), SIGABRT);
    hg_client_close(&d.client);
    close(fd);
    daemon_remove(&d);
}
END_TEST

HGI_SUITE("e2e.notified", 60, ready_alive_and_stopping_are_told,
          without_a_watchdog_there_is_no_heartbeat,
          a_server_nobody_can_reach_ends_for_the_manager_to_begin_anew)
