/* SPDX-License-Identifier: Apache-2.0 */
/* child: a real herdgate-loader at the other end of a socket pair, driven frame by frame.
 * Owns:     the process and the socket, until end.
 * Threads:  one.
 * Limits:   10 s for each answer.
 * Errors:   anything unexpected fails the test.
 * Not here: the server's side of it (server/loader). */
#ifndef HGI_TESTS_LOADERS_CHILD_H
#define HGI_TESTS_LOADERS_CHILD_H

#include <sys/types.h>

#include "hg_test.h"
#include "proto/frame.h"

#define CHILD_VALUE_MAX 65536u

struct child {
    pid_t pid;
    int fd;
    struct hg_bytes in;
    struct hgi_arena arena;
    struct hgi_frame frame; /* the last one read; borrows from the arena */
};

void child_start(struct child *child);
/* Starts it when `first` has been sent and the server has gone already. */
void child_start_deserted(struct child *child, const struct hgi_frame *first);
/* Starts it, sends Hello and gives back its Ready. */
const struct hgi_frame_ready *child_open(struct child *child, const char *plugin, uint32_t workers,
                                         const struct hgi_frame_setting *settings, size_t count);
/* The same with a Hello of one's own. */
const struct hgi_frame_ready *child_open_as(struct child *child,
                                            const struct hgi_frame_hello *hello);
void child_send(struct child *child, const struct hgi_frame *frame);
void child_load(struct child *child, uint64_t id, const struct hg_key *key,
                enum hg_value_type type);
void child_load_bytes(struct child *child, uint64_t id, const char *key, enum hg_value_type type);
/* The same with an old value to confirm. */
void child_load_old(struct child *child, uint64_t id, const struct hg_key *key,
                    enum hg_value_type type, const char *old_value, const char *etag);
/* The same with the trace it is part of. */
void child_load_traced(struct child *child, uint64_t id, const struct hg_key *key,
                       enum hg_value_type type, const char *traceparent);
/* At most 64 loads in one frame, with ids from 1 and bytes keys k1, k2, ... */
void child_load_many(struct child *child, uint32_t count);
void child_cancel(struct child *child, uint64_t id);
/* The next frame. */
const struct hgi_frame *child_read(struct child *child);
/* The next frame, which must be the Done of `id`. */
const struct hgi_frame_done *child_done(struct child *child, uint64_t id);
/* Waits for its end; the wait status. */
int child_wait(struct child *child);
/* Drains it; it must exit with 0. */
void child_end(struct child *child);
/* Closes what is left of a child that has ended or is to be killed. */
void child_drop(struct child *child);

#endif
