/* SPDX-License-Identifier: Apache-2.0 */
/* asker: one request at a time over a plain socket, with or without a token, and the whole reply.
 * Owns:     its connection and the last reply.
 * Threads:  one.
 * Limits:   20 s a reply.
 * Errors:   asserts.
 * Not here: what is asked. */
#ifndef HG_TEST_ASKER_H
#define HG_TEST_ASKER_H

#include "hg_test.h"
#include "proto/codec.h"
#include "proto/envelope.h"
#include "sp_client.h"

struct asker {
    struct hgi_sp_client client;
    uint32_t id;
    char bearer[128];     /* empty: none is shown */
    uint32_t timeout_ms;  /* told the server; 0: none */
    struct hg_bytes body; /* of the last reply */
    struct hgi_arena arena;
    struct hgi_reply reply;
};

/* token: NULL for none. */
void asker_open(struct asker *asker, const char *url, const char *token);
void asker_close(struct asker *asker);
void asker_show(struct asker *asker, const char *token);
/* Sends without waiting. */
void asker_send(struct asker *asker, enum hgi_method method, struct hg_slice payload);
/* The next reply: its status; the rest is in asker->reply and asker->body. */
enum hg_status asker_receive(struct asker *asker);
enum hg_status asker_ask(struct asker *asker, enum hgi_method method, struct hg_slice payload);

/* A request of the method about this cache (those that name none pass it over), with a key "k" or
 * whatever else it takes. Everything in it is well formed. */
void asker_payload(enum hgi_method method, const char *cache, bool lead,
                   struct hg_bytes *ret_payload);

#endif
