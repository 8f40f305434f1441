/* SPDX-License-Identifier: Apache-2.0 */
#include "http_client.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define READ_MS 20000

int http_open(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ck_assert_int_ge(fd, 0);
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

void http_close(int fd)
{
    ck_assert_int_eq(close(fd), 0);
}

/* A server that has answered already may have closed: what it does not take is not missed. */
void http_send_bytes(int fd, const char *bytes, size_t len)
{
    while (len) {
        ssize_t sent = send(fd, bytes, len, MSG_NOSIGNAL);

        if (sent <= 0) {
            return;
        }
        bytes += sent;
        len -= (size_t)sent;
    }
}

void http_send(int fd, const char *format, ...)
{
    char text[16384];
    va_list args;
    int len;

    va_start(args, format);
    len = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    ck_assert(len > 0 && (size_t)len < sizeof(text));
    http_send_bytes(fd, text, (size_t)len);
}

/* One byte, or 0: the server closed. */
static size_t read_some(int fd, char *ret_bytes, size_t size)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    ssize_t got;

    ck_assert_msg(poll(&wait, 1, READ_MS) == 1, "no answer within 20 s");
    got = recv(fd, ret_bytes, size, 0);
    return got > 0 ? (size_t)got : 0;
}

void http_read(int fd, struct http_answer *ret_answer)
{
    const char *length;
    size_t len = 0;
    size_t wanted;

    memset(ret_answer, 0, sizeof(*ret_answer));
    while (len < 4 || memcmp(ret_answer->head + len - 4, "\r\n\r\n", 4) != 0) {
        ck_assert_uint_lt(len, sizeof(ret_answer->head) - 1);
        if (read_some(fd, ret_answer->head + len, 1) == 0) {
            return;
        }
        len++;
    }
    ck_assert_int_eq(strncmp(ret_answer->head, "HTTP/1.", 7), 0);
    ret_answer->status = atoi(ret_answer->head + 9);
    length = http_field(ret_answer, "Content-Length");
    ck_assert_msg(length != NULL, "no Content-Length in:\n%s", ret_answer->head);
    wanted = (size_t)atol(length);
    ck_assert_uint_lt(wanted, sizeof(ret_answer->body));
    while (ret_answer->body_len < wanted) {
        size_t got =
            read_some(fd, ret_answer->body + ret_answer->body_len, wanted - ret_answer->body_len);

        ck_assert_uint_gt(got, 0);
        ret_answer->body_len += got;
    }
}

bool http_is_answered(int fd)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};

    return poll(&wait, 1, 0) == 1;
}

const char *http_field(struct http_answer *answer, const char *name)
{
    static char value[2048];
    size_t len = strlen(name);

    for (const char *line = strstr(answer->head, "\r\n"); line; line = strstr(line, "\r\n")) {
        line += 2;
        if (strncasecmp(line, name, len) == 0 && line[len] == ':' && line[len + 1] == ' ') {
            snprintf(value, sizeof(value), "%.*s", (int)strcspn(line + len + 2, "\r"),
                     line + len + 2);
            return value;
        }
    }
    return NULL;
}

void http_get(const char *path, const char *target, const char *fields,
              struct http_answer *ret_answer)
{
    int fd = http_open(path);

    http_send(fd, "GET %s HTTP/1.1\r\nHost: h\r\n%s\r\n", target, fields);
    http_read(fd, ret_answer);
    http_close(fd);
}

void http_post(const char *path, const char *target, const char *fields, const char *json,
               struct http_answer *ret_answer)
{
    int fd = http_open(path);

    http_send(fd,
              "POST %s HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
              "Content-Length: %zu\r\n%s\r\n%s",
              target, strlen(json), fields, json);
    http_read(fd, ret_answer);
    http_close(fd);
}
