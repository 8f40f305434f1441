/* SPDX-License-Identifier: Apache-2.0 */
/* cache: one named cache: read, load once, put, invalidate, clear.
 * Owns:     its table, its flights, its generation counter, its counters.
 * Threads:  any. No thread of its own and no clock: `now` comes in, loads go out through the
 * executor. No lock is held while a call's `done` or the executor runs.
 * Limits:   max_loads, queue_max, waiters_max of the policy; 3 rounds a call.
 * Errors:   a call ends in exactly one `done`; an expected outcome is not an error.
 * Not here: typed keys and values (base/kind, proto/value), running a load (server/loader),
 * disk.
 *
 * Semantics: design page sections 2 to 4; a call is a hit, a leader, or a follower of one flight.
 */
#ifndef HGI_SERVER_CACHE_CACHE_H
#define HGI_SERVER_CACHE_CACHE_H

#include "base/digest.h"
#include "base/heap.h"
#include "base/histogram.h"
#include "base/kind.h"
#include "base/list.h"
#include "base/trace.h"
#include "storage/table/table.h"
#include "herdgate/status.h"

#define HGI_MESSAGE_MAX 256u   /* error text handed to callers */
#define HGI_TIMEOUT_MAX 120000 /* cap of a caller's timeout_ms */
#define HGI_ROUNDS_MAX  3u     /* times one call is sent back to look */
/* -ln of XFetch's smallest draw, rounded up: with more load times left no draw is early enough. */
#define HGI_XFETCH_REACH 32

/* What followers get when the leader's load fails (nora, Aether; features.md 5). */
enum hgi_on_error {
    HGI_ON_ERROR_SHARE, /* the same error, no second load */
    HGI_ON_ERROR_EACH,  /* each follower loads for itself */
    HGI_ON_ERROR_ELECT, /* one follower leads a new load, the others follow it (nora leased) */
};

/* What the beginner of an overtaken load gets. */
enum hgi_on_fenced {
    HGI_ON_FENCED_DELIVER, /* its load's result, not stored, flagged */
    HGI_ON_FENCED_RELOAD,  /* it looks again like a follower */
};

struct hgi_policy {
    enum hg_mode mode; /* what a call with HG_MODE_DEFAULT gets */
    enum hgi_on_error on_error;
    enum hgi_on_fenced on_fenced;
    bool alone; /* a follower whose wait_budget is over, with time left, loads for itself */
    bool expired_is_denied;  /* auth caches: an answer already past expires_at is DENIED, not an
                                error */
    uint32_t jitter_percent; /* each entry's ttl is shortened by up to this, drawn once */
    int64_t ttl_ms;
    int64_t stale_ttl_ms;
    int64_t negative_ttl_ms;
    int64_t load_timeout_ms;
    int64_t wait_budget_ms;
    int64_t slow_load_ms;      /* a load that takes longer is worth a line in the log; 0 = none */
    int64_t stale_if_error_ms; /* how long past stale_ttl a value answers a failed load; 0 = off */
    int64_t error_backoff_ms;  /* how long a failure is remembered with nothing cached; 0 = not */
    uint32_t
        refresh_ahead_percent;    /* a fresh read in the last part of the ttl refreshes; 0 = off */
    bool refresh_ahead_is_random; /* XFetch: the earlier the slower the load, drawn at each read */
    size_t max_entries;
    size_t max_bytes;
    uint32_t max_loads;
    uint32_t queue_max;
    uint32_t waiters_max;
};

/* How long a follower waits unless configured otherwise: 2 x timeout + 3 s (nora's
 * follower_budget). */
static inline int64_t hgi_policy_wait_budget_ms(int64_t load_timeout_ms)
{
    return 2 * load_timeout_ms + 3000;
}

struct hgi_cache;
struct hgi_terms;
struct hgi_veil;

/* One load to run. The key, as a loader is told it, is borrowed for the call of `start` only. */
struct hgi_load_order {
    struct hgi_cache *cache;
    uint64_t load_id; /* unique in the cache, never reused */
    struct hg_slice key;
    uint32_t attempt; /* 1, or 2 after a lost load */
    int64_t timeout_ms;
    uint64_t key_hash;             /* what the log calls the key */
    int64_t slow_ms;               /* the policy's slow_load_ms */
    struct hgi_old old;            /* what the load may confirm; borrowed like the key */
    const struct hgi_trace *trace; /* of the call that led to it; likewise; NULL: none */
};

/* Runs loads. Both calls are made with no engine lock held and must not block; neither may call
 * back into the engine before it returns. Every started load ends in exactly one
 * hgi_cache_load_done or hgi_cache_load_lost; when it is really sent, hgi_cache_load_sent says so
 * and load_timeout begins. */
struct hgi_executor {
    void (*start)(void *context, const struct hgi_load_order *order);
    /* The result is not wanted any more: a load not yet sent should end at once (CANCELLED). Called
     * at most once a load and only after its start has returned; the load may have ended by then.
     */
    void (*cancel)(void *context, struct hgi_cache *cache, uint64_t load_id);
    /* Optional, both or none: what the calling thread starts between the two may be handed over in
     * one go. */
    void (*hold)(void *context);
    void (*release)(void *context);
    void *context;
};

/* Lifetimes given by a loader or a put; 0 = the cache's own. They only shorten. */
struct hgi_lifetime {
    int64_t ttl_ms;
    int64_t stale_ttl_ms;
    int64_t expires_at_ms; /* unix milliseconds, 0 = none */
    bool no_store;
    const struct hg_slice
        *tags; /* at most HGI_TAGS_GIVEN_MAX names it shares with others; borrowed */
    size_t tag_count;
    struct hg_slice user; /* the user an auth value is of, who is a tag of it; empty = none */
    struct hg_slice etag; /* of a value, to know it again; at most HG_ETAG_MAX; borrowed */
};

/* How a load ended. status OK: outcome and value; else message (cut at HGI_MESSAGE_MAX) and retry
 * hint. */
struct hgi_result {
    enum hg_status status;
    enum hg_outcome outcome;
    bool is_unchanged; /* with VALUE: the order's old value is right still, and `value` is empty */
    struct hg_slice value;
    struct hgi_lifetime lifetime;
    struct hg_slice message;
    uint32_t retry_after_ms;
    bool
        is_outdated; /* from a process that a reload has replaced: answers callers, keeps nothing */
};

/* What a call is answered with. Borrowed for the duration of `done`. */
struct hgi_answer {
    enum hg_status status;
    enum hg_outcome outcome;
    enum hg_source
        source;     /* with an error: LOADED = this call's own load failed, JOINED = another's */
    bool is_fenced; /* overtaken by an invalidation; not stored */
    struct hg_slice value;
    struct hg_slice message;
    uint64_t generation; /* the value's born */
    int64_t age_ms;
    int64_t ttl_left_ms;
    int64_t stale_left_ms;
    uint32_t retry_after_ms;
    uint64_t
        lease_id; /* 0: none. Else this caller leads: source LEASED, or STALE with the old value */
    int64_t lease_ttl_ms;
};

/* One read. The caller fills the first part and keeps the memory until `done` has been called,
 * once, either before hgi_cache_read returns or later from any thread. */
struct hgi_call {
    struct hg_slice key;      /* canonical, or veiled; borrowed until done, as is the next */
    struct hg_slice load_key; /* of a veiled key, what a loader is told; else empty */
    enum hg_mode mode;
    int64_t max_age_ms;      /* < 0: none */
    int64_t timeout_ms;      /* 0: none; the cache's wait_budget bounds the call */
    bool lead;               /* on a miss it wants to load itself, with a lease */
    uint64_t holder;         /* with lead: whose lease it will be (hgi_cache_holder_gone) */
    uint64_t min_generation; /* what was born before it does not count for this reader; 0: none */
    uint64_t hash;           /* what hgi_cache_fetch said of the key; 0: it was not asked */
    const struct hgi_trace
        *trace; /* what it is part of, for a load it begins; borrowed; NULL: none */
    void (*done)(struct hgi_call *call, const struct hgi_answer *answer);
    /* the engine's */
    uint64_t digest; /* of the key (hgi_cache_digest); there for `done`, too */
    /* and guarded by the flight lock */
    struct hgi_node node;
    struct hgi_heap_node deadline;
    struct hgi_flight *flight;
    int64_t deadline_ms; /* its own end */
    int64_t budget_ms;   /* end of waiting for others */
    uint32_t rounds;
    uint64_t lease_id;
    bool is_beginner; /* of its flight's load */
};

struct hgi_put {
    struct hg_slice key;
    enum hg_outcome outcome;
    struct hg_slice value;
    struct hgi_lifetime lifetime;
    bool has_if_generation;
    uint64_t if_generation;
};

#define HGI_TAGS_GIVEN_MAX HG_TAGS_MAX
#define HGI_TAG_LEN_MAX    HG_TAG_MAX

/* What one invalidation covers. Slices are borrowed. */
struct hgi_cover {
    const struct hg_slice *keys; /* canonical, or veiled */
    size_t key_count;
    const struct hg_slice *tags;
    size_t tag_count;
    struct hg_slice first_part; /* every typed key whose first part this is, and every auth value of
                                   this user; empty = none. Never veiled, nor are the tags */
    bool is_soft;               /* marks stale instead of dropping; fences loads all the same */
};

/* What an invalidation did. */
struct hgi_report {
    uint64_t generation;
    uint64_t dropped;  /* entries that were there; of tags and first parts nobody counts them */
    uint64_t fenced;   /* loads in flight that will not be stored, not fenced before */
    uint64_t released; /* callers sent back to look again */
};

struct hgi_cache_stats {
    uint64_t counters[HGI_METRIC_COUNT];
    uint64_t generation;
    uint64_t entries;
    uint64_t negatives;
    uint64_t bytes;
    uint64_t in_flight; /* loads outstanding, those given up but not ended among them, and leases */
    uint64_t queued;    /* loads waiting for a place in max_loads */
    uint64_t waiting;   /* calls parked */
    struct hgi_histogram_counts load_time; /* of loads that a loader was sent, however they ended */
    struct hgi_histogram_counts age;       /* of what was answered from the table, values or not */
};

struct hgi_cache_options {
    const char *name; /* copied, as are policy and executor */
    const struct hgi_policy *policy;
    const struct hgi_executor *executor; /* NULL: no loader; a miss is FAILED_PRECONDITION */
    uint64_t start_generation;           /* the counter's first value */
    uint64_t seed;                       /* of jitter: ttls and refresh pauses */
    const struct hgi_digest_key
        *veil_master; /* hgi_veil_init's: all its keys come veiled; NULL: none does */
    const struct hgi_backing *backing; /* the table's memory; NULL: its own */
};

/* NULL: no memory. */
HG_NODISCARD struct hgi_cache *hgi_cache_create(const struct hgi_allocator *allocator,
                                                const struct hgi_cache_options *options);
/* All loads have ended (see hgi_cache_stop); no call is parked. */
void hgi_cache_destroy(struct hgi_cache **cache);
/* No new loads: parked calls and new misses end UNAVAILABLE. Hits go on. */
void hgi_cache_stop(struct hgi_cache *cache, const struct hgi_now *now);

/* Another policy and executor (NULL: no loader) for a reload, made ready beside those that hold, so
 * that whoever changes several caches can do it to all or to none. RESOURCE_EXHAUSTED: no memory;
 * FAILED_PRECONDITION: the new bounds need more memory than the table was made with. */
HG_NODISCARD enum hg_status hgi_cache_make_terms(struct hgi_cache *cache,
                                                 const struct hgi_policy *policy,
                                                 const struct hgi_executor *executor,
                                                 struct hgi_terms **ret_terms);
/* Of terms that will not hold. */
void hgi_cache_drop_terms(struct hgi_cache *cache, struct hgi_terms **terms);
/* They hold from here on. Entries stay, with lifetimes cut to the new ones, evicted until they fit;
 * loads and calls under way go on as they began. One at a time. */
void hgi_cache_adapt(struct hgi_cache *cache, HG_TAKES struct hgi_terms *terms,
                     const struct hgi_now *now);
/* Whether bounds would fit. */
bool hgi_cache_takes_bounds(const struct hgi_cache *cache, const struct hgi_policy *policy);

/* The most memory a cache with this policy takes, with values of at most `value_max` bytes. */
size_t hgi_cache_bytes_max(const struct hgi_policy *policy, size_t value_max);

const char *hgi_cache_name(const struct hgi_cache *cache);
/* As it is now; there until the cache is destroyed, whatever comes after it. */
const struct hgi_policy *hgi_cache_policy(const struct hgi_cache *cache);
/* What its keys are veiled with before they come here; NULL: they are not. */
const struct hgi_veil *hgi_cache_veil(const struct hgi_cache *cache);

/* `scratch` takes a hit's value; borrowed for this call of the function, so one may serve many
 * reads. */
void hgi_cache_read(struct hgi_cache *cache, struct hgi_call *call, struct hg_bytes *scratch,
                    const struct hgi_now *now);
/* Reads of several keys wait for memory together: what they will look at is fetched, of about 16
 * keys at a time. ret_hashes: for their calls. */
void hgi_cache_fetch(struct hgi_cache *cache, const struct hg_slice *keys, size_t count,
                     uint64_t *ret_hashes);
/* Reads of one caller that belong together: the loads they begin share calls of a plugin that takes
 * several. Both on one thread, with nothing slow between; what hold returns is for release. */
const struct hgi_executor *hgi_cache_hold_loads(struct hgi_cache *cache);
void hgi_cache_release_loads(const struct hgi_executor *executor);
/* The caller is gone: a parked call ends CANCELLED at once; others wait on. The call's memory must
 * still be there; if it is being answered just now this does nothing. */
void hgi_cache_leave(struct hgi_cache *cache, struct hgi_call *call, const struct hgi_now *now);

/* OK, ABORTED (if_generation overtaken), FAILED_PRECONDITION (expired, or if_generation above the
 * counter). ret_generation: the entry's born. ret_sentence: HGI_MESSAGE_MAX bytes, written on
 * failure. */
HG_NODISCARD enum hg_status hgi_cache_put(struct hgi_cache *cache, const struct hgi_put *put,
                                          const struct hgi_now *now, struct hgi_entry *ret_entry,
                                          char *ret_sentence);
/* All keys under one number. */
void hgi_cache_invalidate(struct hgi_cache *cache, const struct hg_slice *keys, size_t key_count,
                          const struct hgi_now *now, struct hgi_report *ret_report);
/* Everything covered, under one number. */
void hgi_cache_invalidate_cover(struct hgi_cache *cache, const struct hgi_cover *cover,
                                const struct hgi_now *now, struct hgi_report *ret_report);
void hgi_cache_clear(struct hgi_cache *cache, const struct hgi_now *now,
                     struct hgi_report *ret_report);
uint64_t hgi_cache_generation(const struct hgi_cache *cache);

/* What a leader's own load came to. keep_ms > 0: the slot stays so long after a value. */
struct hgi_fulfilment {
    uint64_t lease_id;
    uint64_t holder; /* whose it must be; 0: anybody's */
    const struct hgi_result *result;
    int64_t keep_ms;
};

/* What a fulfilment published. Of an error: no entry but its born. */
struct hgi_fulfilled {
    struct hgi_key key;
    struct hgi_entry entry; /* its key is the one above, its value the result's */
    int64_t ttl_left_ms;    /* 0: not stored */
    int64_t stale_left_ms;
};

/* OK: published to the followers, and stored unless no_store. ABORTED: the lease has ended, or is
 * another holder's, or an invalidation overtook it; nothing was stored. FAILED_PRECONDITION:
 * already past its expires_at. An error as result goes to the followers as on_error says. */
HG_NODISCARD enum hg_status hgi_cache_fulfil(struct hgi_cache *cache,
                                             const struct hgi_fulfilment *fulfilment,
                                             const struct hgi_now *now,
                                             struct hgi_fulfilled *ret_fulfilled,
                                             char *ret_sentence);
/* Its time begins anew; ABORTED: it has ended, or is another holder's (0: anybody's). */
HG_NODISCARD enum hg_status hgi_cache_renew(struct hgi_cache *cache, uint64_t lease_id,
                                            uint64_t holder, const struct hgi_now *now,
                                            int64_t *ret_ttl_ms, char *ret_sentence);
/* Gives up a lease, which is handed on, or a kept slot. */
HG_NODISCARD enum hg_status hgi_cache_release(struct hgi_cache *cache, uint64_t lease_id,
                                              uint64_t holder, const struct hgi_now *now,
                                              char *ret_sentence);
/* Releases all that the holder has. */
void hgi_cache_holder_gone(struct hgi_cache *cache, uint64_t holder, const struct hgi_now *now);

/* From the executor. An id that is not outstanding is counted (late) and dropped. pid: of the
 * process that runs it, to be shown; 0: none. */
void hgi_cache_load_sent(struct hgi_cache *cache, uint64_t load_id, int64_t pid,
                         const struct hgi_now *now);
void hgi_cache_load_done(struct hgi_cache *cache, uint64_t load_id, const struct hgi_result *result,
                         const struct hgi_now *now);
/* The process that ran it died. */
void hgi_cache_load_lost(struct hgi_cache *cache, uint64_t load_id, const struct hgi_now *now);

/* Deadlines that have come, load timeouts, a bounded part of the sweep. Call it about every 20 ms.
 */
void hgi_cache_tick(struct hgi_cache *cache, const struct hgi_now *now);

void hgi_cache_stats(struct hgi_cache *cache, struct hgi_cache_stats *ret_stats);
/* So many reads were answered from its memory by their own process. */
void hgi_cache_count_local(struct hgi_cache *cache, uint64_t count);

/* For the snapshot. restore: before the first call; born below start_generation. */
enum hgi_insert hgi_cache_restore(struct hgi_cache *cache, const struct hgi_entry *entry);
struct hgi_table *hgi_cache_table(struct hgi_cache *cache);

#endif
