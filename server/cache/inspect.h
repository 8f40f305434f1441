/* SPDX-License-Identifier: Apache-2.0 */
/* inspect: what is going on in a cache, copied out for an operator.
 * Owns:     nothing.
 * Threads:  any; each call takes the flight lock for a moment. Defined in inspect.c.
 * Limits:   as many flights as the caller has room for; a key is shown by its digest only.
 * Errors:   kill: false, there is no such flight any more.
 * Not here: counters (cache.h: hgi_cache_stats), whose connection a holder is (server/rpc). */
#ifndef HGI_SERVER_CACHE_INSPECT_H
#define HGI_SERVER_CACHE_INSPECT_H

#include "server/cache/cache.h"

/* What loads a key. */
enum hgi_leader {
    HGI_LEADER_LOADER,  /* the cache's loader, for a caller */
    HGI_LEADER_REFRESH, /* the cache's loader, behind a stale answer */
    HGI_LEADER_CALLER,  /* a caller with a lease */
    HGI_LEADER_KEPT,    /* nobody any more: a kept slot */
};

enum hgi_flight_phase {
    HGI_PHASE_QUEUED,  /* beyond max_loads */
    HGI_PHASE_STARTED, /* with the executor, not yet sent */
    HGI_PHASE_SENT,
    HGI_PHASE_ENDED, /* answered; its load has not ended yet */
};

struct hgi_flight_info {
    uint64_t id; /* for hgi_cache_kill_flight */
    uint64_t digest;
    enum hgi_leader leader;
    enum hgi_flight_phase phase;
    uint64_t holder; /* of a lease or kept slot */
    int64_t pid;     /* of the process that a load was sent to; 0: none */
    int64_t age_ms;  /* since it began */
    int64_t left_ms; /* until it times out; -1: that has not begun */
    uint64_t followers;
    uint64_t generation;
    uint32_t attempt;
    bool is_fenced;
};

/* The oldest first. Returns how many there are, which may be more than `max`. */
size_t hgi_cache_list_flights(struct hgi_cache *cache, const struct hgi_now *now,
                              struct hgi_flight_info *ret_flights, size_t max);
/* Whether a load born before `generation` is still to end: queued, running, given up but not ended,
 * or a caller's own. */
bool hgi_cache_has_loads_before(struct hgi_cache *cache, uint64_t generation);
/* Who waits for it is told CANCELLED; its load is cancelled, its lease ends. ret_killed: what it
 * was until then. */
HG_NODISCARD bool hgi_cache_kill_flight(struct hgi_cache *cache, uint64_t id,
                                        const struct hgi_now *now,
                                        struct hgi_flight_info *ret_killed);

/* Why a key would be answered as it would be, were it asked now. */
enum hgi_rule {
    HGI_RULE_NOTHING,       /* nothing cached: a read loads, or leads */
    HGI_RULE_FRESH,         /* age <= ttl */
    HGI_RULE_STALE,         /* ttl < age <= stale_ttl */
    HGI_RULE_SOFTENED,      /* stale because of a soft invalidation */
    HGI_RULE_KEPT,          /* past stale_ttl, for a failed load only */
    HGI_RULE_JOINS,         /* nothing to serve, and a load is under way */
    HGI_RULE_KEPT_SLOT,     /* answered from a kept slot */
    HGI_RULE_FAILED_LATELY, /* a remembered failure */
};

struct hgi_explanation {
    enum hgi_rule rule;
    uint64_t digest;
    uint64_t generation; /* the cache's counter */
    bool has_entry;      /* then the next seven say what it is */
    enum hg_outcome outcome;
    uint64_t born;
    int64_t age_ms;
    int64_t ttl_ms;
    int64_t ttl_left_ms;
    int64_t stale_left_ms;
    int64_t refresh_pause_ms; /* before which no refresh begins; 0 = none */
    bool has_flight;          /* then the next is the one that holds the slot */
    struct hgi_flight_info flight;
    int64_t failure_left_ms; /* of a remembered failure; 0 = none */
};

void hgi_cache_explain(struct hgi_cache *cache, struct hg_slice key, const struct hgi_now *now,
                       struct hgi_explanation *ret_explanation);
/* What stands for a key in all of these. */
uint64_t hgi_cache_digest(const struct hgi_cache *cache, struct hg_slice key);
const char *hgi_rule_name(enum hgi_rule rule);
const char *hgi_leader_name(enum hgi_leader leader);
const char *hgi_flight_phase_name(enum hgi_flight_phase phase);

#endif
