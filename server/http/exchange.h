/* SPDX-License-Identifier: Apache-2.0 */
/* exchange: one request over HTTP, from its head to its response.
 * Owns:     its memory, the question it asks dispatch.
 * Threads:  its listener's; the reply to the question comes from any and is looked at there.
 * Limits:   the arena: HGI_HTTP_ARENA_MIN, taken bit by bit.
 * Errors:   a response of 500 where there is no memory for another.
 * Not here: sockets (listener), which path means what (operator, authz).
 *
 * A route either fills the response, or fills the question and says what is to be called with its
 * reply. Nobody waits: the connection is put aside until the reply is there. */
#ifndef HGI_SERVER_HTTP_EXCHANGE_H
#define HGI_SERVER_HTTP_EXCHANGE_H

#include "base/clock.h"
#include "proto/codec.h"
#include "proto/envelope.h"
#include "server/http/request.h"
#include "server/http/response.h"
#include "server/rpc/asker.h"

#define HGI_HTTP_ARENA_MIN (16u * 1024 * 1024)
#define HGI_HTTP_TOLD_MAX  4u

struct hgi_http;
struct hgi_http_exchange;

/* A request to dispatch, and its reply. */
struct hgi_http_question {
    enum hgi_method method;
    struct hg_bytes payload;
    uint32_t timeout_ms;
    struct hgi_metadata told[HGI_HTTP_TOLD_MAX];
    size_t told_count;
    struct hg_bytes reply_bytes;
    bool has_reply;         /* it may well be empty: all of it is 0 */
    struct hgi_reply reply; /* once answered; borrows from reply_bytes and the arena */
};

struct hgi_http_exchange {
    struct hgi_http *http;
    const struct hgi_http_config *listener;
    const struct hgi_peer *peer;
    struct hgi_now now; /* when its head had come */
    struct hgi_http_request request;
    struct hgi_http_response response;
    struct hgi_arena arena;
    struct hgi_http_question question;
    /* With a question: fills the response, or the question anew (and this). */
    void (*answered)(struct hgi_http_exchange *exchange);
    const void *state; /* the route's own */
    unsigned step;     /* the same */
};

/* Begins a question: its payload is to be packed into question.payload, which is empty. Its
 * caller's `authorization`, if he showed one and access is by token, and his `traceparent` go
 * along. */
void hgi_http_ask(struct hgi_http_exchange *exchange, enum hgi_method method,
                  void (*answered)(struct hgi_http_exchange *exchange));
/* The response {"error": {"code": NAME, "message": sentence}}. */
void hgi_http_refuse(struct hgi_http_exchange *exchange, unsigned status, const char *code,
                     const char *sentence);

#endif
