/* SPDX-License-Identifier: Apache-2.0 */
/* fake_server: a server for one test, over raw sockets, with answers of the test's choice.
 * Owns:     one thread; its connections until stop.
 * Threads:  start and stop from the test; the handler, and what it calls, on the server's thread.
 * Limits:   64 connections; messages of 16 MiB.
 * Errors:   a request it cannot read fails the test.
 * Not here: caches. */
#ifndef FAKE_SERVER_H
#define FAKE_SERVER_H

#include <stdatomic.h>

#include "proto/codec.h"
#include "proto/envelope.h"
#include "proto/sp.h"

struct fake_server;

/* Where a reply goes; may be kept and answered from a later call of the handler. */
struct fake_caller {
    int peer;
    struct hgi_sp_route route;
};

typedef void (*fake_handler)(struct fake_server *server, void *context,
                             const struct fake_caller *caller, const struct hgi_request *request);

enum fake_greeting { FAKE_GREETS, FAKE_IS_SILENT, FAKE_IS_HTTP };

struct fake_options {
    bool is_tcp;      /* else a unix socket */
    const char *path; /* of the unix socket; NULL: one of its own */
    fake_handler handler;
    void *context;
    enum fake_greeting greeting;
    bool is_deaf; /* greets, then reads nothing more until fake_server_listen */
};

struct fake_server *fake_server_start(const struct fake_options *options);
const char *fake_server_url(const struct fake_server *server);
void fake_server_stop(struct fake_server **server);

/* From the handler. */
void fake_reply(struct fake_server *server, const struct fake_caller *caller,
                const struct hgi_reply *reply);
void fake_reply_ok(struct fake_server *server, const struct fake_caller *caller,
                   const struct hg_bytes *payload);
void fake_reply_error(struct fake_server *server, const struct fake_caller *caller,
                      enum hg_status status, const char *text);
/* An Answer with this value. */
void fake_reply_value(struct fake_server *server, const struct fake_caller *caller,
                      struct hg_slice value);
void fake_drop(struct fake_server *server, const struct fake_caller *caller);

/* From anywhere. */
unsigned fake_connections(const struct fake_server *server); /* accepted so far */
unsigned fake_requests(const struct fake_server *server);    /* read so far */
/* A silent server greets after all, a deaf one reads. */
void fake_server_listen(struct fake_server *server);

#endif
