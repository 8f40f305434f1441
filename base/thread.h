/* SPDX-License-Identifier: Apache-2.0 */
/* thread: named threads.
 * Owns:     the thread until join.
 * Threads:  start and join from one owner.
 * Limits:   15 characters of name.
 * Errors:   start returns false when the system has no thread to give.
 * Not here: stop flags; a thread's owner keeps an atomic flag or a condition of its own. */
#ifndef HGI_BASE_THREAD_H
#define HGI_BASE_THREAD_H

#include <pthread.h>
#include <stdint.h>
#include <stdbool.h>

#include "herdgate/attr.h"

struct hgi_thread {
    pthread_t id;
    bool is_started;
    void (*run)(void *arg);
    void *arg;
    char name[16];
};

HG_NODISCARD bool hgi_thread_start(struct hgi_thread *thread, const char *name,
                                   void (*run)(void *arg), void *arg);
/* The calling thread sleeps for about so long. */
void hgi_thread_pause(int64_t ms);
/* A thread that was never started is nothing to join. */
void hgi_thread_join(struct hgi_thread *thread);
/* In the calling thread and all it starts from here on: signals go only to who waits for them. */
void hgi_thread_block_signals(void);
/* Sleeps until SIGTERM, SIGINT or SIGHUP (which must be blocked) and returns its number. */
int hgi_thread_wait_signal(void);
/* As if this process were sent a SIGHUP. */
void hgi_thread_ask_reload(void);

#endif
