/* SPDX-License-Identifier: Apache-2.0 */
/* flight: one load per key, however many ask; and what a cache is made of.
 * Owns:     its key and, while parked, its place in the callers' lives (never their memory).
 * Threads:  all under the cache's flight lock; what must happen without it is collected in a
 *           `struct hgi_work` and done by hgi_work_run after the lock is gone.
 * Limits:   max_loads started at once, queue_max behind them, waiters_max a flight.
 * Errors:   a call leaves a flight in exactly one list of a work, so it is answered exactly once.
 * Not here: looking in the table (cache), when to refresh (refresh).
 *
 * A flight's life: QUEUED (beyond max_loads) -> STARTED (handed to the executor) -> SENT
 * (load_timeout runs) -> gone. It is *open* while it can still answer somebody. When it has been
 * answered before its load ended (timed out, abandoned, stopped) it stays, closed, and keeps its
 * place in max_loads until the executor says that the load has ended. It holds the key's slot until
 * it is closed or fenced: newcomers join the flight that holds the slot, and nobody else. */
#ifndef HGI_SERVER_CACHE_FLIGHT_H
#define HGI_SERVER_CACHE_FLIGHT_H

#include <stdatomic.h>

#include "base/heap.h"
#include "base/histogram.h"
#include "base/lock.h"
#include "base/map.h"
#include "server/cache/cache.h"
#include "server/cache/failure.h"
#include "server/cache/veil.h"
#include "server/cache/work.h"

#define HGI_STRIPES 4096u

enum hgi_flight_state {
    HGI_FLIGHT_QUEUED,
    HGI_FLIGHT_STARTED,
    HGI_FLIGHT_SENT,
    HGI_FLIGHT_LEASED, /* its load is a caller's own (lease.h) */
    HGI_FLIGHT_KEPT,   /* published; the slot stays for a while */
};

struct hgi_flight {
    struct hgi_map_node by_key;  /* in cache->flights, always */
    struct hgi_map_node by_load; /* in cache->loads while a load is outstanding */
    struct hgi_node all_node;    /* in cache->all, always */
    struct hgi_node queue_node;  /* in cache->queue while QUEUED */
    struct hgi_node start_node;  /* in a work's lists */
    struct hgi_node cancel_node;
    struct hgi_heap_node timeout;
    struct hgi_node waiters;
    size_t waiter_count;
    struct hgi_call *beginner; /* one of the waiters, or NULL */
    enum hgi_flight_state state;
    uint32_t attempt;
    uint32_t pins; /* works that still have to start or cancel its load */
    uint64_t load_id;
    uint64_t handed_id;  /* the last load_id that the executor has been handed */
    uint64_t old_serial; /* of the value it was handed to confirm (struct hgi_old) */
    uint64_t id;         /* of the flight; its loads have ids of their own */
    uint64_t born;
    int64_t begun_ms;
    int64_t sent_ms;
    int64_t pid;                  /* of the process it was sent to; 0: not sent, or not known */
    struct hgi_map_node by_lease; /* in cache->leases while lease_id is not 0 */
    uint64_t lease_id;
    uint64_t holder;
    struct hg_bytes kept_value;
    struct hgi_answer kept_answer; /* as it was at kept_ms */
    int64_t kept_ms;
    struct hgi_tagging *kept_tags; /* of the kept value; NULL: it has none */
    int64_t kept_until_ms;         /* boot time of the value's expires_at; 0 = none */
    int64_t kept_until_wall_ms;    /* the same by the wall clock */
    struct hgi_trace trace;        /* of the call that began it; set once */
    bool has_slot;
    bool is_fenced;
    bool is_open;
    bool is_refresh;
    bool is_cancel_asked;
    bool is_outdated;   /* its result is (struct hgi_result) */
    bool is_superseded; /* what it brought is older than what is stored, if that has ended or not */
    bool is_ended;      /* freed by the last pin */
    size_t key_len;
    size_t load_key_len; /* 0: a loader is told the key itself */
    unsigned char key[]; /* and behind it what a loader is told */
};

/* What may change while the cache serves (hgi_cache_adapt). Nobody holds a lock to look at them, so
 * those of before stay until the cache is destroyed. */
struct hgi_terms {
    struct hgi_terms *before;
    struct hgi_policy policy;
    bool has_loader;
    struct hgi_executor executor; /* without a loader the last one, for loads it still runs */
};

struct hgi_cache {
    /* set once */
    const struct hgi_allocator *allocator;
    char *name;
    bool is_veiled;
    struct hgi_veil veil; /* if it is */
    uint64_t start_generation;
    struct hgi_table *table;
    struct hgi_hash_key hash_key;
    struct hgi_metrics metrics;
    struct hgi_histogram load_time;
    struct hgi_histogram age; /* of what was answered from the table */
    struct hgi_terms first_terms;
    /* written under the flight lock, read without */
    struct hgi_terms *_Atomic terms; /* the latest */
    _Atomic uint64_t generation;
    /* guarded by the flight lock */
    struct hgi_lock lock;
    uint64_t cleared; /* number of the last clear */
    uint64_t stripes[HGI_STRIPES];
    struct hgi_map flights;
    struct hgi_map loads;
    struct hgi_map leases;
    struct hgi_node all;
    struct hgi_node queue;
    struct hgi_failures failures;
    struct hgi_heap_queue call_deadlines;
    struct hgi_heap_queue load_timeouts;
    size_t flight_count;
    size_t parked_count;
    uint32_t started_count; /* loads handed out and not ended */
    uint32_t queued_count;
    uint32_t leased_count;
    uint64_t lease_count; /* given so far */
    uint64_t next_flight_id;
    uint64_t next_load_id;
    uint64_t random;
    struct hgi_node late_again; /* released by invalidations, for the tick to see to */
    struct hgi_node late_aborted;
    bool is_stopped;
};

/* Those of now; what is stored under the flight lock is stored by the latest. */
static inline const struct hgi_terms *hgi_terms(const struct hgi_cache *cache)
{
    return atomic_load_explicit(&((struct hgi_cache *)(uintptr_t)cache)->terms,
                                memory_order_acquire);
}

/* All that came after the first. */
void hgi_terms_destroy(struct hgi_cache *cache);

/* Spreads ttls and pauses, nothing more (xorshift64, seeded at create). */
uint64_t hgi_flight_random(struct hgi_cache *cache) HGI_REQUIRES(flight);
/* In a cache of veiled keys another one would be found by nobody, and an invalidation of it would
 * be none: whoever hands it in has a bug. */
uint64_t hgi_flight_hash(const struct hgi_cache *cache, struct hg_slice key);
struct hg_slice hgi_flight_key(const struct hgi_flight *flight);
/* What its loader is told. */
struct hg_slice hgi_flight_load_key(const struct hgi_flight *flight);
/* There will be no load any more: what a loader would be told is wiped, if it is not the key. */
void hgi_flight_forget_load_key(struct hgi_flight *flight);
/* The flight that holds the key's slot, or NULL. */
struct hgi_flight *hgi_flight_find(const struct hgi_cache *cache, uint64_t hash,
                                   struct hg_slice key) HGI_REQUIRES(flight);

/* Begins a flight for the call's key, as part of its trace: born now, started or queued.
 * `has_slot`: newcomers join it. The call is only looked at. NULL: no room or no memory. */
HG_NODISCARD struct hgi_flight *hgi_flight_begin(struct hgi_cache *cache,
                                                 const struct hgi_call *call, bool has_slot,
                                                 struct hgi_work *work, const struct hgi_now *now)
    HGI_REQUIRES(flight);
/* A flight without a load: born now, linked. NULL: no memory. */
HG_NODISCARD struct hgi_flight *hgi_flight_new(struct hgi_cache *cache, const struct hgi_call *call,
                                               bool has_slot, const struct hgi_now *now)
    HGI_REQUIRES(flight);
/* Gives it a load, started or queued. False: no room. */
HG_NODISCARD bool hgi_flight_start(struct hgi_cache *cache, struct hgi_flight *flight,
                                   struct hgi_work *work) HGI_REQUIRES(flight);
/* Parks the call. False: the flight has no room for it, or no memory. */
HG_NODISCARD bool hgi_flight_join(struct hgi_cache *cache, struct hgi_flight *flight,
                                  struct hgi_call *call, bool is_beginner) HGI_REQUIRES(flight);
/* Takes the call out of its flight into `list`; a flight nobody waits for any more may be given up.
 */
void hgi_flight_leave(struct hgi_cache *cache, struct hgi_call *call, struct hgi_node *list,
                      struct hgi_work *work) HGI_REQUIRES(flight);

/* An invalidation overtook it: it keeps no slot and will not be stored. Its followers go to
 * `followers` (work->again, or work->answered when a put brings them the value); its beginner stays
 * with it under on_fenced = deliver. */
void hgi_flight_fence(struct hgi_cache *cache, struct hgi_flight *flight,
                      struct hgi_node *followers, struct hgi_work *work, struct hgi_report *report)
    HGI_REQUIRES(flight);
/* The same for a flight whose load has just ended, with what only its result could tell: it stays
 * for its beginner, if that is kept, to be answered. */
void hgi_flight_fence_ended(struct hgi_cache *cache, struct hgi_flight *flight,
                            struct hgi_work *work) HGI_REQUIRES(flight);
/* Every open flight of the key, with a slot or without. */
void hgi_flight_fence_key(struct hgi_cache *cache, uint64_t hash, struct hg_slice key,
                          struct hgi_node *followers, struct hgi_work *work,
                          struct hgi_report *report) HGI_REQUIRES(flight);

/* Its load has ended: takes it out of `loads` and frees its place. NULL: no such load. */
HG_NODISCARD struct hgi_flight *hgi_flight_load_ended(struct hgi_cache *cache, uint64_t load_id)
    HGI_REQUIRES(flight);
/* Gives free places to the queue. */
void hgi_flight_pump(struct hgi_cache *cache, struct hgi_work *work) HGI_REQUIRES(flight);
/* The load is lost: one more try with a new born. False: it had its second one, or nobody waits. */
HG_NODISCARD bool hgi_flight_try_again(struct hgi_cache *cache, struct hgi_flight *flight,
                                       struct hgi_work *work) HGI_REQUIRES(flight);
/* Takes one waiter out of its flight into `list`, whoever holds which answers it. */
void hgi_flight_pick(struct hgi_cache *cache, struct hgi_call *call, struct hgi_node *list)
    HGI_REQUIRES(flight);
/* Answers everybody with work->answer, which the caller has set. */
void hgi_flight_answer(struct hgi_cache *cache, struct hgi_flight *flight, struct hgi_work *work)
    HGI_REQUIRES(flight);
/* Answers with the error in work->answer as on_error says; `is_shared`: everybody gets it all the
 * same. */
void hgi_flight_fail(struct hgi_cache *cache, struct hgi_flight *flight, bool is_shared,
                     struct hgi_work *work, const struct hgi_now *now) HGI_REQUIRES(flight);
/* The call, picked already, loads for itself in a flight that nobody can join. */
void hgi_flight_lead_alone(struct hgi_cache *cache, struct hgi_call *call, struct hgi_work *work,
                           const struct hgi_now *now) HGI_REQUIRES(flight);
/* Sends everybody back to look. */
void hgi_flight_release(struct hgi_cache *cache, struct hgi_flight *flight, struct hgi_work *work)
    HGI_REQUIRES(flight);
/* Answered, its load still out: gives up the slot and asks for the load to be cancelled. */
void hgi_flight_close(struct hgi_cache *cache, struct hgi_flight *flight, struct hgi_work *work)
    HGI_REQUIRES(flight);
/* The executor has really sent it: load_timeout begins. */
void hgi_flight_sent(struct hgi_cache *cache, uint64_t load_id, int64_t pid,
                     const struct hgi_now *now) HGI_REQUIRES(flight);
/* Sends every waiter to `list` and closes it: the server is stopping. */
void hgi_flight_dismiss(struct hgi_cache *cache, struct hgi_flight *flight, struct hgi_node *list,
                        struct hgi_work *work) HGI_REQUIRES(flight);
/* Its memory, wiped: a key may be a credential. For who takes the last pin. */
void hgi_flight_free(struct hgi_cache *cache, struct hgi_flight *flight) HGI_REQUIRES(flight);
/* Forgets the flight; it has no waiters and no load. */
void hgi_flight_end(struct hgi_cache *cache, struct hgi_flight *flight) HGI_REQUIRES(flight);

#endif
