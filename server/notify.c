/* SPDX-License-Identifier: Apache-2.0 */
#include "notify.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A path, or a name of the abstract kind behind an '@'. */
static void take_address(struct hgi_notify *notify, const char *text)
{
    size_t len = text ? strlen(text) : 0;

    if (len < 2 || len >= sizeof(notify->address.sun_path) || !strchr("/@", text[0])) {
        return;
    }
    notify->address.sun_family = AF_UNIX;
    memcpy(notify->address.sun_path, text, len);
    if (text[0] == '@') {
        notify->address.sun_path[0] = '\0';
    }
    notify->address_len = (unsigned)(offsetof(struct sockaddr_un, sun_path) + len);
}

/* -1: no number. */
static int64_t number_of(const char *text)
{
    char *end = NULL;
    long long number;

    if (!text || *text < '0' || *text > '9') {
        return -1;
    }
    errno = 0;
    number = strtoll(text, &end, 10);
    return errno || *end ? -1 : number;
}

void hgi_notify_open(struct hgi_notify *ret_notify)
{
    const char *pid = getenv("WATCHDOG_PID");
    int64_t watchdog_us = number_of(getenv("WATCHDOG_USEC"));
    struct hgi_notify notify = {.address_len = 0};

    take_address(&notify, getenv("NOTIFY_SOCKET"));
    if (watchdog_us > 0 && (!pid || number_of(pid) == getpid())) {
        notify.watchdog_ms = watchdog_us / 1000;
    }
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
    *ret_notify = notify;
}

bool hgi_notify_send(const struct hgi_notify *notify, const char *format, ...)
{
    char text[HGI_NOTIFY_MAX];
    bool is_sent;
    va_list args;
    int fd;

    if (!notify->address_len) {
        return false;
    }
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return false;
    }
    is_sent = sendto(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT,
                     (const struct sockaddr *)&notify->address, notify->address_len) >= 0;
    close(fd);
    return is_sent;
}
