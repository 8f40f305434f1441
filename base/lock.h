/* SPDX-License-Identifier: Apache-2.0 */
/* lock: mutexes that know their class, and condition variables.
 * Owns:     the lock classes and their order (locks.def).
 * Threads:  any.
 * Limits:   a thread holds at most 8 locks.
 * Errors:   none; taking locks out of order, or letting go of one not held, is a bug (checked in
 * debug).
 * Not here: atomics. No lock is held over a callback, sqlite, nng or a loader's socket.
 *
 * clang checks the words on prototypes and fields (-Wthread-safety): it knows the class, not the
 * instance, so `hgi_lock_flight(&cache->lock)` acquires the class `flight`. gcc sees empty words.
 */
#ifndef HGI_BASE_LOCK_H
#define HGI_BASE_LOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#if defined(__clang__)
#define HGI_LOCK_WORD(x) __attribute__((x))
#else
#define HGI_LOCK_WORD(x)
#endif

#define HGI_GUARDED_BY(class) HGI_LOCK_WORD(guarded_by(hgi_lc_##class))
#define HGI_REQUIRES(class)   HGI_LOCK_WORD(requires_capability(hgi_lc_##class))
#define HGI_EXCLUDES(class)   HGI_LOCK_WORD(locks_excluded(hgi_lc_##class))
#define HGI_ACQUIRES(class)   HGI_LOCK_WORD(acquire_capability(hgi_lc_##class))
#define HGI_RELEASES(class)   HGI_LOCK_WORD(release_capability(hgi_lc_##class))
#define HGI_UNCHECKED         HGI_LOCK_WORD(no_thread_safety_analysis)

struct HGI_LOCK_WORD(capability("lock class")) hgi_lock_class {
    int rank;
    const char *name;
};

struct hgi_lock {
    pthread_mutex_t mutex;
};

/* Instead of init, for one that is there as long as the process. */
#define HGI_LOCK_STATIC                                                                            \
    {                                                                                              \
        PTHREAD_MUTEX_INITIALIZER                                                                  \
    }

struct hgi_cond {
    pthread_cond_t cond;
};

void hgi_lock_init(struct hgi_lock *lock);
void hgi_lock_deinit(struct hgi_lock *lock);
void hgi_lock_enter(struct hgi_lock *lock, const struct hgi_lock_class *class);
void hgi_lock_leave(struct hgi_lock *lock, const struct hgi_lock_class *class);

void hgi_cond_init(struct hgi_cond *cond);
void hgi_cond_deinit(struct hgi_cond *cond);
/* The caller holds `lock`; it is let go while waiting. False: timeout_ms passed (negative: no
 * limit). */
bool hgi_cond_wait(struct hgi_cond *cond, struct hgi_lock *lock, int64_t timeout_ms);
void hgi_cond_wake_one(struct hgi_cond *cond);
void hgi_cond_wake_all(struct hgi_cond *cond);

/* hgi_lock_<class>(lock) and hgi_unlock_<class>(lock) for every row of locks.def. */
#define HGI_LOCK_ROW(class, rank_, covers)                                                         \
    extern struct hgi_lock_class hgi_lc_##class;                                                   \
    static inline void hgi_lock_##class(struct hgi_lock * lock) HGI_ACQUIRES(class) HGI_UNCHECKED  \
    {                                                                                              \
        hgi_lock_enter(lock, &hgi_lc_##class);                                                     \
    }                                                                                              \
    static inline void hgi_unlock_##class(struct hgi_lock * lock) HGI_RELEASES(class)              \
        HGI_UNCHECKED                                                                              \
    {                                                                                              \
        hgi_lock_leave(lock, &hgi_lc_##class);                                                     \
    }
#include "base/locks.def"
#undef HGI_LOCK_ROW

#endif
