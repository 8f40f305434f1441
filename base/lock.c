/* SPDX-License-Identifier: Apache-2.0 */
#include "lock.h"

#include <errno.h>

#include "base/check.h"
#include "base/clock.h"

#define HGI_LOCK_ROW(class, rank_, covers)                                                         \
    struct hgi_lock_class hgi_lc_##class = {.rank = (rank_), .name = #class};
#include "base/locks.def"
#undef HGI_LOCK_ROW

#ifndef NDEBUG
#define HELD_MAX 8

static _Thread_local const struct hgi_lock_class *held[HELD_MAX];
static _Thread_local int held_count;

static void note_enter(const struct hgi_lock_class *class)
{
    HGI_BUG_ON(held_count == HELD_MAX);
    HGI_BUG_ON(held_count > 0 && held[held_count - 1]->rank >= class->rank);
    held[held_count++] = class;
}

static void note_leave(const struct hgi_lock_class *class)
{
    int i = held_count - 1;

    while (i >= 0 && held[i] != class) {
        i--;
    }
    HGI_BUG_ON(i < 0);
    for (; i + 1 < held_count; i++) {
        held[i] = held[i + 1];
    }
    held_count--;
}
#else
static void note_enter(const struct hgi_lock_class *class)
{
    (void)class;
}

static void note_leave(const struct hgi_lock_class *class)
{
    (void)class;
}
#endif

void hgi_lock_init(struct hgi_lock *lock)
{
    HGI_BUG_ON(pthread_mutex_init(&lock->mutex, NULL) != 0);
}

void hgi_lock_deinit(struct hgi_lock *lock)
{
    HGI_BUG_ON(pthread_mutex_destroy(&lock->mutex) != 0);
}

void hgi_lock_enter(struct hgi_lock *lock, const struct hgi_lock_class *class)
{
    note_enter(class);
    HGI_BUG_ON(pthread_mutex_lock(&lock->mutex) != 0);
}

void hgi_lock_leave(struct hgi_lock *lock, const struct hgi_lock_class *class)
{
    note_leave(class);
    HGI_BUG_ON(pthread_mutex_unlock(&lock->mutex) != 0);
}

void hgi_cond_init(struct hgi_cond *cond)
{
    pthread_condattr_t attr;

    HGI_BUG_ON(pthread_condattr_init(&attr) != 0);
    HGI_BUG_ON(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) != 0);
    HGI_BUG_ON(pthread_cond_init(&cond->cond, &attr) != 0);
    pthread_condattr_destroy(&attr);
}

void hgi_cond_deinit(struct hgi_cond *cond)
{
    pthread_cond_destroy(&cond->cond);
}

bool hgi_cond_wait(struct hgi_cond *cond, struct hgi_lock *lock, int64_t timeout_ms)
{
    struct timespec until;

    if (timeout_ms < 0) {
        HGI_BUG_ON(pthread_cond_wait(&cond->cond, &lock->mutex) != 0);
        return true;
    }
    until = hgi_clock_after_ms(timeout_ms);
    return pthread_cond_timedwait(&cond->cond, &lock->mutex, &until) != ETIMEDOUT;
}

void hgi_cond_wake_one(struct hgi_cond *cond)
{
    pthread_cond_signal(&cond->cond);
}

void hgi_cond_wake_all(struct hgi_cond *cond)
{
    pthread_cond_broadcast(&cond->cond);
}
