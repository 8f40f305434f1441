/* SPDX-License-Identifier: Apache-2.0 */
/* asking: what the client's tests ask with, and how they wait for callbacks.
 * Owns:     nothing.
 * Threads:  a tally any, the rest the test's.
 * Limits:   a wait of 10 s fails the test.
 * Errors:   fail the test.
 * Not here: the server that is asked (fake_server). */
#ifndef ASKING_H
#define ASKING_H

#include "base/lock.h"
#include "fake_server.h"
#include "herdgate/client.h"

struct hg_client *open_client(const char *url, const struct hg_client_options *options);
/* A read of a bytes key in cache "c". */
struct hg_read read_of(const char *key);
/* The caller ends the arena. */
void decode_get(const struct hgi_request *request, struct hgi_arena *arena,
                struct hgi_msg_get *ret_get);
bool key_is(const struct hgi_request *request, const char *text);
/* A handler that answers a read with its own key, and a call that expects just that. */
void echo(struct fake_server *server, void *context, const struct fake_caller *caller,
          const struct hgi_request *request);
void expect_echo(struct hg_client *client, const char *key);

/* Counts callbacks and lets a test wait for a number of them. */
struct tally {
    struct hgi_lock lock;
    struct hgi_cond cond;
    unsigned count;
    unsigned by_status[32];
};

void tally_init(struct tally *tally);
void tally_deinit(struct tally *tally);
void tally_add(struct tally *tally, enum hg_status status);
void tally_wait(struct tally *tally, unsigned count);
/* Callbacks whose arg is a tally. */
void on_answer(void *arg, const struct hg_error *error, const struct hg_answer *answer);
void on_stored(void *arg, const struct hg_error *error, const struct hg_stored *stored);

#endif
