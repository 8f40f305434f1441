/* SPDX-License-Identifier: Apache-2.0 */
/* gateway_upstream: forwards requests, on one thread of libcurl that waits for all of them at once.
 * Owns:     its thread; a forwarding is its caller's memory.
 * Threads:  submit from any; done comes from the thread.
 * Limits:   BODY_MAX of a body, UPSTREAM_TIMEOUT_MS of time.
 * Errors:   a forwarding that comes to nothing says why in its status, 502 or 504.
 * Not here: who may be forwarded (gateway_http.c), which headers (gateway_headers.c). */
#ifndef GATEWAY_UPSTREAM_H
#define GATEWAY_UPSTREAM_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>

#define UPSTREAM_TIMEOUT_MS 30000L
#define CONNECT_TIMEOUT_MS  2000L
#define BODY_MAX            (8u << 20)

/* A text that grows up to BODY_MAX, and ends with a zero that does not count; NULL while it is
 * empty. free(text) when it is over. */
struct text {
    char *text;
    size_t len;
};

bool text_grow(struct text *text, const char *more, size_t len);

struct upstream;

struct forwarding {
    /* the caller's, there until done */
    const char *method;
    const char *target;         /* as it came: nothing of it chooses where it goes */
    struct curl_slist *headers; /* at least one: "Name: value", "Name;" if it is empty */
    void (*done)(struct forwarding *forwarding);
    /* the client's body; then the upstream's */
    struct text body;
    /* the answer */
    unsigned status;
    bool is_answered;          /* by the upstream */
    struct curl_slist *fields; /* the lines of its head */
    long long announced_len;   /* of its body, in an answer to HEAD; < 0: not said */
    /* upstream's */
    struct forwarding *next;
    CURL *transfer;
    bool is_short; /* of memory */
};

/* http://host[:port] or https://host[:port]. What is behind counts for nothing. */
bool upstream_is_url(const char *url);
/* To this url, which is borrowed until stop. NULL: no memory or no thread. */
struct upstream *upstream_start(const char *url);
void upstream_submit(struct upstream *upstream, struct forwarding *forwarding);
/* What is submitted is done first. */
void upstream_stop(struct upstream *upstream);
/* Frees what it holds, but for the headers. */
void forwarding_deinit(struct forwarding *forwarding);

#endif
