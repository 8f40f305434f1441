/* SPDX-License-Identifier: Apache-2.0 */
/* health: asks the plugin how it is, beside everything else it does.
 * Owns:     one thread, if the plugin has a `health` at all: a backend that hangs must hold up
 *           neither the loads nor the main thread that reads their cancels.
 * Threads:  start, ask and stop from the main thread; `reply` is called from the own one.
 * Limits:   one question at a time; a second one before the answer is the same question.
 * Errors:   a failure without a reason, or with a status that is none, is put into words here.
 * Not here: what a bad answer means (the server: it shows it). */
#ifndef HGI_LOADERS_HOST_HEALTH_H
#define HGI_LOADERS_HOST_HEALTH_H

#include "base/lock.h"
#include "base/thread.h"
#include "herdgate/loader.h"

struct hgi_health {
    /* set once */
    const struct hg_loader *loader;
    void *self;
    void (*reply)(void *context, enum hg_status status, const char *text);
    void *context;
    struct hgi_thread thread;
    struct hgi_lock lock;
    struct hgi_cond changed;
    bool is_asked HGI_GUARDED_BY(host);
    bool is_stopping HGI_GUARDED_BY(host);
};

void hgi_health_init(struct hgi_health *health,
                     void (*reply)(void *context, enum hg_status status, const char *text),
                     void *context);
void hgi_health_deinit(struct hgi_health *health);
/* The plugin is open. False: no thread to be had. Without a `health` there is nothing to start. */
HG_NODISCARD bool hgi_health_start(struct hgi_health *health, const struct hg_loader *loader,
                                   void *self);
/* `reply` follows. False: the plugin cannot be asked. */
HG_NODISCARD bool hgi_health_ask(struct hgi_health *health);
/* Waits for an answer that is being given. */
void hgi_health_stop(struct hgi_health *health);

#endif
