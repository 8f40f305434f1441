/* SPDX-License-Identifier: Apache-2.0 */
/* storm: one cache under many threads, its backend, and the executor that runs its loads.
 * Owns:     what storm_create made, until storm_destroy.
 * Threads:  any; the workers run storm_work.
 * Limits:   LOADS_MAX loads at once, IDS_MAX in all.
 * Errors:   the first fault is kept; the test asserts that there is none.
 * Not here: readers and writers (test_storm.c). */
#ifndef STORM_H
#define STORM_H

#include <stdatomic.h>

#include "base/lock.h"
#include "base/thread.h"
#include "hg_test.h"
#include "server/cache/cache.h"

enum {
    KEY_COUNT = 12,
    LOADS_MAX = 4, /* the cache's max_loads */
    IDS_MAX = 1 << 18,
};

/* ---- the backend, and what of it has been acknowledged ---- */

struct truth {
    struct hgi_lock lock; /* orders the raising of a version with the put that carries it */
    _Atomic uint64_t version;
    _Atomic uint64_t acked_version;
    _Atomic uint64_t acked_born; /* nothing born before may be answered */
};

enum place { FREE, READY, RUNNING, HUNG };

/* A load in the executor. There are as many as max_loads: one more is a fault. */
struct load {
    enum place place;
    uint64_t id;
    size_t key;
    bool is_cancelled;
};

struct storm {
    struct hgi_cache *cache;
    enum hgi_on_fenced on_fenced;
    struct truth truths[KEY_COUNT];
    _Atomic uint64_t acked_clear;
    _Atomic int64_t now_ms;
    /* executor; guarded by its lock */
    struct hgi_lock loads_lock;
    struct hgi_cond loads_ready;
    struct load loads[LOADS_MAX];
    bool is_closing;
    unsigned char started[IDS_MAX];
    unsigned char cancelled[IDS_MAX];
    uint64_t start_count;
    uint64_t lost_count;
    /* answers; guarded by their lock */
    struct hgi_lock answers_lock;
    struct hgi_cond answered;
    uint64_t answer_count;
    uint64_t fenced_count;
    _Atomic uint64_t read_count;
    _Atomic bool is_over; /* for the ticker */
    _Atomic size_t out_count;
    _Atomic bool is_faulty;
    char fault[200];
    struct hgi_allocator allocator;
};

struct hand {
    struct storm *storm;
    struct hgi_thread thread;
    uint64_t random;
};

struct storm *storm_create(enum hgi_on_error on_error, enum hgi_on_fenced on_fenced);

/* Asserts that nothing is left allocated. */
void storm_destroy(struct storm *s);

/* Keeps the first fault: what it was, and two numbers that belong to it. */
void storm_fault(struct storm *s, const char *what, uint64_t a, uint64_t b);

struct hgi_now storm_now(struct storm *s);

/* Below `below`. */
uint32_t storm_draw(uint64_t *random, uint32_t below);

/* A worker: runs loads until the storm is closing and none is left. `arg` is its hand. */
void storm_work(void *arg);

#endif
