/* SPDX-License-Identifier: Apache-2.0 */
#include "hg_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/notify.h"

/* The manager's end. `name` as in NOTIFY_SOCKET. */
static int listen_at(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const struct timeval timeout = {.tv_sec = 10};
    size_t len = strlen(name);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    ck_assert_int_ge(fd, 0);
    memcpy(address.sun_path, name, len);
    if (name[0] == '@') {
        address.sun_path[0] = '\0';
    }
    ck_assert_int_eq(bind(fd, (const struct sockaddr *)&address,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)),
                     0);
    ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)), 0);
    return fd;
}

static void assert_hears(int fd, const char *wanted)
{
    char text[HGI_NOTIFY_MAX + 1];
    ssize_t got = recv(fd, text, sizeof(text) - 1, 0);

    ck_assert_int_ge(got, 0);
    text[got] = '\0';
    ck_assert_str_eq(text, wanted);
}

static void set(const char *address, const char *watchdog_us, const char *pid)
{
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
    ck_assert(!address || setenv("NOTIFY_SOCKET", address, 1) == 0);
    ck_assert(!watchdog_us || setenv("WATCHDOG_USEC", watchdog_us, 1) == 0);
    ck_assert(!pid || setenv("WATCHDOG_PID", pid, 1) == 0);
}

static void assert_told_at(const char *name)
{
    struct hgi_notify notify;
    int fd = listen_at(name);

    set(name, NULL, NULL);
    hgi_notify_open(&notify);
    ck_assert_int_eq(notify.watchdog_ms, 0);
    ck_assert(hgi_notify_send(&notify, "READY=1\nSTATUS=serving %d", 7));
    assert_hears(fd, "READY=1\nSTATUS=serving 7");
    ck_assert(hgi_notify_send(&notify, "WATCHDOG=1"));
    assert_hears(fd, "WATCHDOG=1");
    close(fd);
    /* It has gone; that is no reason to stop. */
    ck_assert(!hgi_notify_send(&notify, "WATCHDOG=1"));
}

START_TEST(the_manager_is_told_by_path_and_by_abstract_name)
{
    char folder[] = "/tmp/herdgate-notify-XXXXXX";
    char path[64];
    char name[64];

    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/socket", folder);
    assert_told_at(path);
    unlink(path);
    rmdir(folder);
    snprintf(name, sizeof(name), "@herdgate-notify-%d", (int)getpid());
    assert_told_at(name);
}
END_TEST

START_TEST(without_a_manager_nobody_is_told)
{
    struct hgi_notify notify;
    char longer[200];

    set(NULL, NULL, NULL);
    hgi_notify_open(&notify);
    ck_assert(!hgi_notify_send(&notify, "READY=1"));
    memset(longer, 'x', sizeof(longer) - 1);
    longer[0] = '/';
    longer[sizeof(longer) - 1] = '\0';
    set(longer, NULL, NULL);
    hgi_notify_open(&notify);
    ck_assert(!hgi_notify_send(&notify, "READY=1"));
    set("relative", NULL, NULL);
    hgi_notify_open(&notify);
    ck_assert(!hgi_notify_send(&notify, "READY=1"));
    set("/nonexistent/socket", NULL, NULL);
    hgi_notify_open(&notify);
    ck_assert(!hgi_notify_send(&notify, "READY=1"));
}
END_TEST

static int64_t watchdog_of(const char *watchdog_us, const char *pid)
{
    struct hgi_notify notify;

    set("/nonexistent/socket", watchdog_us, pid);
    hgi_notify_open(&notify);
    return notify.watchdog_ms;
}

START_TEST(a_watchdog_is_ours_only_if_it_names_us)
{
    char own[16];

    snprintf(own, sizeof(own), "%d", (int)getpid());
    ck_assert_int_eq(watchdog_of("30000000", NULL), 30000);
    ck_assert_int_eq(watchdog_of("30000000", own), 30000);
    ck_assert_int_eq(watchdog_of("30000000", "1"), 0);
    ck_assert_int_eq(watchdog_of("30000000", "x"), 0);
    ck_assert_int_eq(watchdog_of("0", NULL), 0);
    ck_assert_int_eq(watchdog_of("-1", NULL), 0);
    ck_assert_int_eq(watchdog_of("30s", NULL), 0);
    ck_assert_int_eq(watchdog_of("99999999999999999999", NULL), 0);
}
END_TEST

START_TEST(the_environment_of_the_loaders_says_nothing_of_it)
{
    struct hgi_notify notify;

    set("/nonexistent/socket", "1000", "1");
    hgi_notify_open(&notify);
    ck_assert_ptr_null(getenv("NOTIFY_SOCKET"));
    ck_assert_ptr_null(getenv("WATCHDOG_USEC"));
    ck_assert_ptr_null(getenv("WATCHDOG_PID"));
}
END_TEST

HGI_SUITE("server.notify", 20, the_manager_is_told_by_path_and_by_abstract_name,
          without_a_manager_nobody_is_told, a_watchdog_is_ours_only_if_it_names_us,
          the_environment_of_the_loaders_says_nothing_of_it)
