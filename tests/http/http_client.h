/* SPDX-License-Identifier: Apache-2.0 */
/* http_client: HTTP on a plain socket, for tests that must see what is on the wire, or misbehave.
 * Owns:     the socket.
 * Threads:  one a client.
 * Limits:   HTTP_ANSWER_MAX bytes of head and body; 20 s a read.
 * Errors:   asserts.
 * Not here: what a gateway makes of it (gateways.py). */
#ifndef HTTP_CLIENT_H
#define HTTP_CLIENT_H

#include "hg_test.h"

#define HTTP_ANSWER_MAX (256u * 1024)

struct http_answer {
    int status; /* 0: the server closed without an answer */
    char head[8192];
    char body[HTTP_ANSWER_MAX];
    size_t body_len;
};

/* Connects to a unix socket. */
int http_open(const char *path);
void http_close(int fd);
void http_send(int fd, const char *format, ...) HG_PRINTF(2, 3);
void http_send_bytes(int fd, const char *bytes, size_t len);
/* Waits for one response. */
void http_read(int fd, struct http_answer *ret_answer);
/* Whether there is a response to read now. */
bool http_is_answered(int fd);
/* A field of the head as "Name: value" stands there; NULL: none. The text lives in the answer. */
const char *http_field(struct http_answer *answer, const char *name);
/* GET on a connection of its own; `fields` are whole lines, or "". */
void http_get(const char *path, const char *target, const char *fields,
              struct http_answer *ret_answer);
void http_post(const char *path, const char *target, const char *fields, const char *json,
               struct http_answer *ret_answer);

#endif
