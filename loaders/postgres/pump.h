/* SPDX-License-Identifier: Apache-2.0 */
/* pump: the thread that runs all connections at once.
 * Owns:     the links, the thread, and every job from add until its loads are done.
 * Threads:  add, look and health from any; open, start and stop from one, when no load runs.
 * Limits:   SETTINGS_CONNECTIONS_MAX links.
 * Errors:   open: one sentence. Without a connection loads are UNAVAILABLE at once.
 * Not here: one connection (link). */
#ifndef HG_LOADERS_POSTGRES_PUMP_H
#define HG_LOADERS_POSTGRES_PUMP_H

#include <pthread.h>

#include "link.h"

struct pump {
    const struct settings *settings;
    struct hg_host *host;
    const struct hg_host_services *services;
    struct link_events events;
    struct link links[SETTINGS_CONNECTIONS_MAX];
    struct link ear; /* if there are channels */
    bool has_ear;
    bool is_open;
    bool is_deaf;        /* the host takes no invalidations */
    struct job *waiting; /* the thread's */
    int wake_fd;
    pthread_t thread;
    pthread_mutex_t lock;
    /* guarded by the lock */
    struct job *queue_first;
    struct job *queue_last;
    bool is_to_look;
    bool is_stopping;
    char trouble[LINK_SENTENCE_MAX]; /* empty: all is well */
};

/* Connects, with the thread not started yet. False and a sentence. */
HG_NODISCARD bool pump_open(struct pump *pump, const struct settings *settings,
                            struct hg_host *host, const struct hg_host_services *services,
                            char *error, size_t error_size);
void pump_add(struct pump *pump, HG_TAKES struct job *job);
/* Some load is not wanted any more: see which. */
void pump_look(struct pump *pump);
enum hg_status pump_health(struct pump *pump, char *text, size_t text_size);
/* Every load is done. */
void pump_stop(struct pump *pump);

int64_t pump_now_ms(void);

#endif
