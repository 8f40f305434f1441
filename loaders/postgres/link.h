/* SPDX-License-Identifier: Apache-2.0 */
/* link: one connection to the database: getting it, keeping it, what is asked over it.
 * Owns:     the connection and the jobs in flight over it.
 * Threads:  one at a time. Nothing here waits for the server; only the name of a host is looked up
 *           by waiting.
 * Limits:   LINK_JOBS_MAX jobs in flight, in a pipeline.
 * Errors:   a connection that is lost gives its jobs back, to be asked for once more, and is made
 *           anew after a pause.
 * Not here: which link a job goes to, and the waiting (pump). */
#ifndef HG_LOADERS_POSTGRES_LINK_H
#define HG_LOADERS_POSTGRES_LINK_H

#include <libpq-fe.h>

#include "job.h"

#define LINK_JOBS_MAX     16
#define LINK_TRIES_MAX    2 /* of a job */
#define LINK_SENTENCE_MAX 512

enum link_state {
    LINK_DOWN,       /* until due_ms */
    LINK_CONNECTING, /* until due_ms, as the next is */
    LINK_PREPARING,
    LINK_READY,
};

struct link {
    const struct settings *settings;
    bool is_ear; /* listens to channels; else it runs queries */
    enum link_state state;
    PGconn *conn;
    bool wants_write;
    bool has_io; /* poll says that its socket can do what it waits for */
    int64_t due_ms;
    int64_t pause_ms;  /* the next one */
    bool has_failed;   /* the last attempt */
    bool is_lost;      /* it stood before, and was not tried again since */
    bool is_unsent;    /* a job in flight was not sent: what comes now answers another */
    bool is_outdated;  /* what it has prepared is of tables that have changed: no more jobs */
    size_t prepared;   /* answers of the preparation */
    size_t syncs;      /* pipeline synchronisations to come */
    struct job *first; /* in flight, the oldest first */
    struct job *last;
    size_t job_count;
    char why[LINK_SENTENCE_MAX]; /* of the last failure */
};

/* Of a link that has changed. */
struct link_events {
    void (*ready)(void *context, struct link *link);
    /* `payload` is borrowed. */
    void (*notified)(void *context, const char *payload);
    /* With has_failed and why; its jobs are in `orphans`. */
    void (*lost)(void *context, struct link *link, struct job *orphans);
    void *context;
};

void link_init(struct link *link, const struct settings *settings, bool is_ear);
/* Every load is done; jobs whose answer has not come may be there. */
void link_close(struct link *link);
/* What poll is to wait for; -1: no socket. */
int link_poll(const struct link *link, short *ret_events);
int64_t link_due_ms(const struct link *link);
/* Does what can be done without waiting. */
void link_step(struct link *link, const struct link_events *events, int64_t now_ms);
bool link_has_room(const struct link *link);
/* Takes the job. What cannot be sent is lost at the next step, which is due at once. */
void link_send(struct link *link, struct job *job);
/* The connection is of no use any more. */
void link_drop(struct link *link, const struct link_events *events, int64_t now_ms, bool is_fault,
               const char *why);

#endif
