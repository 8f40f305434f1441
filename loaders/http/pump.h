/* SPDX-License-Identifier: Apache-2.0 */
/* pump: the thread that runs all requests at once.
 * Owns:     the thread, the connections, and every request from add until its load is done.
 * Threads:  add and look from any; start and stop from one, when no load runs.
 * Limits:   connections_max.
 * Errors:   a request it cannot run ends its load.
 * Not here: what a request is (request). */
#ifndef HG_LOADERS_HTTP_PUMP_H
#define HG_LOADERS_HTTP_PUMP_H

#include <pthread.h>

#include "request.h"

struct pump {
    CURLM *multi;
    pthread_t thread;
    struct request *running; /* the thread's */
    pthread_mutex_t lock;
    /* guarded by the lock */
    struct request *queue;
    bool is_to_look;
    bool is_stopping;
};

/* False and a sentence. */
HG_NODISCARD bool pump_start(struct pump *pump, const struct settings *settings, char *error,
                             size_t error_size);
void pump_add(struct pump *pump, HG_TAKES struct request *request);
/* Some load is not wanted any more: see which. */
void pump_look(struct pump *pump);
/* Every load is done. */
void pump_stop(struct pump *pump);

#endif
