/* SPDX-License-Identifier: Apache-2.0 */
/* sim: the real engine under a seeded scheduler, and what its answers are held to.
 * Owns:     one world: a cache, its clock, its loads, its callers, what is known of each value.
 * Threads:  one. Other threads are played: in a callback, where the engine holds no lock, the
 *           scheduler may run whole steps of others.
 * Limits:   SIM_STEPS steps a seed; the arrays below.
 * Errors:   a broken promise prints the seed and the last steps and ends the process.
 * Not here: the choice of seeds (tests/sim). sim_run is for others, the rest for sim*.c. */
#ifndef HG_SIM_H
#define HG_SIM_H

#include <limits.h>

#include "hg_test.h"
#include "linear.h"
#include "server/cache/cache.h"

#define SIM_KEYS       4
#define SIM_TAGS       2
#define SIM_ACTORS_MAX 8
#define SIM_STEPS      300
#define SIM_CALLS_MAX  2048
#define SIM_LOADS_MAX  4096
#define SIM_LEASES_MAX 2048
#define SIM_VALUES_MAX 4096
#define SIM_DEPTH_MAX  2
#define SIM_OPS_MAX    256
#define SIM_TRACE      48 /* steps shown when a promise is broken */
#define SIM_NO_KEY     SIM_KEYS
#define SIM_ANYTHING   UINT_MAX /* of what rests in the table: not known */

struct sim;

/* A value or a negative: what it is, and whatever the checks must know of its life. */
struct sim_value {
    unsigned key;
    unsigned tags; /* one bit each */
    enum hg_outcome outcome;
    unsigned first;  /* version of it, which its bytes name: itself unless it was confirmed */
    unsigned older;  /* version before it; 0: none */
    unsigned latest; /* version of it; of the first only */
    bool has_etag;
    bool is_stripped; /* had expired when it came: DENIED, without its bytes */
    bool is_published;
    bool is_born_known;
    uint64_t born;
    uint64_t begun_seq;     /* when its load was handed out, its token taken or its put made */
    uint64_t published_seq; /* when it was given to the engine */
    struct hgi_now published;
    struct hgi_lifetime lifetime;
    int64_t expires_boot_ms; /* its expires_at by the other clock */
    unsigned failures;       /* loads known to have failed while it was cached */
    int64_t failed_ms;
};

struct sim_load {
    uint64_t load_id;
    unsigned key;
    uint32_t attempt;
    uint64_t begun_seq;
    uint64_t ended_seq;
    int64_t ended_ms;
    uint64_t born; /* if is_born_known: else it may have been queued, or lead by an error */
    int64_t sent_ms;
    unsigned old; /* the value it was handed to confirm; 0: none */
    bool is_born_known;
    bool holds_slot; /* known to; another flight of its key must not begin */
    bool is_handed;  /* start has returned */
    bool is_sent;
    bool is_cancelled;
    bool is_ended;
    bool is_stuck;   /* answers nothing unless it is cancelled */
    bool was_fenced; /* when it ended */
    bool is_due;     /* a tick may have given it up, and not yet said so */
};

enum sim_lease_state { SIM_LEASED, SIM_KEPT, SIM_OVER };

/* A lease, from the answer that told its holder; after it, perhaps, the kept slot. */
struct sim_lease {
    uint64_t lease_id;
    uint64_t holder;
    unsigned key;
    enum sim_lease_state state;
    uint64_t born;
    uint64_t begun_seq;
    uint64_t ended_seq;
    int64_t ended_ms;
    int64_t until_ms;
    unsigned value;      /* of the kept slot */
    int64_t ttl_left_ms; /* as its fulfilment was told */
    int64_t stale_left_ms;
    bool holds_slot;
    bool is_slot_known; /* else it is not asked to be kept */
    bool is_behind;     /* a stale value: known to be a refresh */
    bool is_unwatched;  /* nobody waited for it when it came due */
    bool is_due;        /* a tick may have ended it, and not yet said so */
};

struct sim_call {
    struct hgi_call call;
    struct sim *sim;
    unsigned actor;
    unsigned key;
    enum hg_mode mode;
    int64_t max_age_ms;
    uint64_t min_generation;
    int64_t deadline_ms;
    int64_t budget_ms;
    uint64_t begun_seq;
    uint64_t covers_at_begin; /* invalidations of its key, and loads lost, until it was made */
    uint64_t cover_at_begin;
    unsigned rounds; /* times it was surely sent back to look */
    bool lead;       /* it asked to load itself */
    bool may_lead;
    bool has_left;
    bool is_answered;
};

enum sim_kind {
    SIM_READ,
    SIM_PUT,
    SIM_PUT_IF,
    SIM_INVALIDATE,
    SIM_CLEAR,
    SIM_LEAVE,
    SIM_SENT,
    SIM_DONE,
    SIM_LOST,
    SIM_FULFIL,
    SIM_RENEW,
    SIM_RELEASE,
    SIM_GONE,
    SIM_TICK,
    SIM_STOP,
};

/* The last invalidation of something. */
struct sim_cover {
    uint64_t number;
    uint64_t hard; /* the last that was not soft */
    uint64_t seq;
};

/* Whether what a load or lease brought counts, if nothing overtook it. */
enum sim_effect { SIM_NO_EFFECT, SIM_MAYBE, SIM_SURE };

/* What the engine has counted of publications. */
struct sim_fates {
    uint64_t late;
    uint64_t superseded;
    uint64_t not_stored;
    uint64_t unchanged;
    uint64_t unconfirmed;
    uint64_t queued; /* loads, at that time */
};

/* One call of the engine, from the scheduler or from within another's callback. */
struct sim_step {
    enum sim_kind kind;
    struct sim_step *outer;
    struct hgi_now now;
    unsigned key; /* SIM_NO_KEY: none, or all */
    struct sim_call *call;
    struct sim_load *load;
    struct sim_lease *lease;
    uint64_t holder; /* who is gone */
    int64_t keep_ms;
    const struct hgi_result *result;
    const struct hgi_fulfilled *fulfilled;
    struct sim_fates fates; /* before it */
    unsigned tags;          /* what an invalidation names besides its key */
    bool is_soft;
    unsigned value; /* what a put, a load or a fulfilment brings; 0: none */
    bool is_refused;
    bool is_rearm; /* the value is one that was confirmed */
    bool is_hit;   /* a read was answered from the cache */
    enum sim_effect effect;
    bool is_committed; /* what it does to the cache is noted (before others act in callbacks) */
    uint64_t begun_seq;
    uint64_t seq;
    uint64_t generation;             /* when it was committed */
    struct sim_cover keys[SIM_KEYS]; /* invalidations that bind what this step answers */
    struct sim_cover tags_cover[SIM_TAGS];
    uint64_t all_failures_seq; /* when all failures were forgotten last */
    unsigned newest[SIM_KEYS];
    unsigned held; /* what its key held when it began, and how refreshing that had gone */
    unsigned held_failures;
    int64_t held_failed_ms;
    unsigned answers;
    unsigned starts;
    unsigned leases; /* given */
    unsigned inner;  /* steps of others run in its callbacks */
};

/* What one key of the cache holds if nothing was evicted. */
enum sim_register { SIM_UNKNOWN, SIM_NOTHING, SIM_HOLDS };

struct sim_key {
    char text[8];
    struct sim_cover cover; /* puts among them */
    uint64_t covers;        /* how many, and loads lost */
    uint64_t failed_seq;
    enum sim_register state;
    unsigned holds;
    unsigned rests;  /* unless it holds one: the value that is there all the same, marked stale; 0:
                        none; or SIM_ANYTHING */
    uint64_t ghost;  /* birth of what a tag has ended, which may still keep out the older */
    unsigned newest; /* the last value known to have been stored: none that is older comes back */
};

struct sim_token {
    uint64_t generation;
    uint64_t seq;
    bool is_taken;
};

struct sim_trace {
    const char *what;
    unsigned depth;
    unsigned key;
    unsigned long long a;
    unsigned long long b;
    long long boot_ms;
};

struct sim {
    uint64_t seed;
    uint64_t random;
    struct hgi_test_allocator memory;
    struct hgi_cache *cache;
    struct hgi_policy policy;
    struct hgi_now now;
    struct hg_bytes scratch[SIM_DEPTH_MAX + 2];
    uint64_t seq;
    unsigned actor_count;
    struct sim_token tokens[SIM_ACTORS_MAX];
    unsigned weights[32]; /* of the actions, drawn for the seed */
    bool is_roomy;        /* nothing is evicted: a key must be found while it lives */
    bool has_loader;
    unsigned lead_in;      /* one read in so many asks to lead; 0: none */
    unsigned unchanged_in; /* one load in so many that could confirm a value does */
    unsigned soft_in;      /* one invalidation in so many is soft */
    unsigned others_in;    /* once in so many callbacks others act; 0: never */
    bool is_stopped;
    unsigned depth;
    struct sim_step *step;
    struct sim_key keys[SIM_KEYS];
    struct sim_cover tags[SIM_TAGS];
    struct hg_slice tag_names[SIM_TAGS];
    uint64_t all_failures_seq;
    struct linear_register registers[SIM_KEYS];
    struct linear_op ops[SIM_KEYS][SIM_OPS_MAX]; /* of the window, of each key */
    unsigned op_counts[SIM_KEYS];
    struct sim_value values[SIM_VALUES_MAX]; /* 0 is none */
    unsigned value_count;
    struct sim_load loads[SIM_LOADS_MAX];
    unsigned load_count;
    unsigned running_count;
    struct sim_lease leases[SIM_LEASES_MAX];
    unsigned lease_count;
    uint64_t gone_seq[SIM_ACTORS_MAX + 1]; /* when a holder was gone last */
    struct sim_call calls[SIM_CALLS_MAX];
    unsigned call_count;
    unsigned open_count; /* calls not yet answered */
    uint64_t fresh_values;
    uint64_t fresh_negatives;
    uint64_t stale_answers;
    uint64_t joined_answers;
    uint64_t refused_answers;
    uint64_t invalidations;
    uint64_t clears;
    uint64_t puts;
    uint64_t lost;
    uint64_t unchanged;
    uint64_t unconfirmed;
    uint64_t handed_on;
    uint64_t windows;
    uint64_t undecided;
    struct sim_trace trace[SIM_TRACE];
    uint64_t trace_count;
    uint64_t digest; /* of everything noted */
};

/* What many seeds came to. */
struct sim_totals {
    uint64_t seeds;
    uint64_t steps;
    uint64_t calls;
    uint64_t loads;
    uint64_t leases;
    uint64_t confirmed; /* values, by UNCHANGED */
    uint64_t windows;   /* of operations on a key, two or more of them at the same time ... */
    uint64_t undecided; /* ... and too many to look at */
    uint64_t digest;    /* of all that happened: equal whenever the same seeds are run */
};

/* Once, before the first seed. */
void sim_start(void);
/* One whole life of a world. Returns only if every promise was kept. */
void sim_run(uint64_t seed, struct sim_totals *totals);
/* Prints what the world is doing: for a crash inside the engine. */
void sim_print_tail(void);

/* ---- between sim*.c ---- */

#define SIM_EXPECT(sim, condition, ...)                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            sim_broken((sim), __VA_ARGS__);                                                        \
        }                                                                                          \
    } while (0)

__attribute__((format(printf, 2, 3), noreturn)) void sim_broken(const struct sim *sim,
                                                                const char *format, ...);
void sim_note(struct sim *sim, const char *what, unsigned key, uint64_t a, uint64_t b);

/* A number below `below`. */
unsigned sim_draw(struct sim *sim, unsigned below);
/* A key; within a step often that step's own. */
unsigned sim_draw_key(struct sim *sim);
/* True once in `in` times. */
bool sim_chance(struct sim *sim, unsigned in);
int64_t sim_between(struct sim *sim, int64_t least, int64_t most);

struct sim_fates sim_fates_now(const struct sim *sim);
void sim_step_begin(struct sim *sim, struct sim_step *step, enum sim_kind kind, unsigned key);
void sim_step_end(struct sim *sim, struct sim_step *step);
/* Lets one actor or the world act. */
void sim_act(struct sim *sim);
/* In a callback of the engine: others may act. */
void sim_others(struct sim *sim);
void sim_draw_weights(struct sim *sim);

struct hgi_executor sim_executor(struct sim *sim);
void sim_load_done(struct sim *sim, struct sim_load *load, bool is_last);
/* What a load comes to: draws its lifetimes, or its error. */
void sim_draw_lifetime(struct sim *sim, struct hgi_lifetime *lifetime);
enum hg_status sim_draw_error(struct sim *sim);
void sim_tick(struct sim *sim);
void sim_answered(struct hgi_call *call, const struct hgi_answer *answer);

/* The model (sim_model.c): what a step does to each key. */
void sim_commit(struct sim *sim);
unsigned sim_value_new(struct sim *sim, unsigned key, enum hg_outcome outcome, uint64_t begun_seq);
/* The bytes that stand for it, and back. */
struct hg_slice sim_value_text(unsigned value, size_t filler, char *buffer, size_t size);
unsigned sim_value_of(const struct sim *sim, struct hg_slice bytes);
int64_t sim_ttl_max(const struct sim *sim, const struct sim_value *value);
int64_t sim_stale_max(const struct sim *sim, const struct sim_value *value);
/* Gives the lifetime some tags; returns them as bits. */
unsigned sim_draw_tags(struct sim *sim, struct hgi_lifetime *lifetime);
/* The last number that covers one of the tags; 0: none. */
uint64_t sim_tags_cover(const struct sim *sim, unsigned tags);
bool sim_is_fenced(const struct sim *sim, const struct sim_load *load);
/* Loads and calls may have been given up already, and not yet been told. */
bool sim_is_in_tick(const struct sim *sim);
bool sim_is_past(const struct sim_value *value, const struct hgi_now *now);

/* Within a commit: the step's value is given to the engine; it is in the table now. */
void sim_published(struct sim *sim, struct sim_step *step, uint64_t born, bool is_born_known);
void sim_stored(struct sim *sim, unsigned value);
/* Who waits on the key may look again, and lead. */
void sim_may_lead(struct sim *sim, unsigned key);

/* What a load may confirm (sim_confirm.c). */
/* The version of a value that an answer shows, by its birth and its age. */
unsigned sim_seen(const struct sim *sim, const struct hgi_answer *answer);
/* Sometimes gives the value an etag of its own. */
void sim_draw_etag(struct sim *sim, unsigned value, struct hgi_lifetime *lifetime, char *buffer,
                   size_t size);
/* The value that is in the table, fresh or not, if time and want of room have left it there; 0:
 * none; or SIM_ANYTHING. */
unsigned sim_rests(const struct sim *sim, unsigned key);
/* A load begins, and is handed this. */
void sim_take_old(struct sim *sim, struct sim_load *load, const struct hgi_old *old);
void sim_draw_unchanged(struct sim *sim, struct sim_step *step, struct hgi_result *result);
/* It ends with UNCHANGED, and was handed nothing: an error. */
bool sim_is_unfounded(const struct sim_step *step);
/* It ends with UNCHANGED of what it was handed, and not too late. */
bool sim_is_confirming(const struct sim_step *step);
void sim_commit_unchanged(struct sim *sim, struct sim_step *step);

/* The leases (sim_lease.c): who holds them, until when, and what a kept slot may answer. */
void sim_lease_given(struct sim *sim, struct sim_call *call, const struct hgi_answer *answer);
void sim_lease_end(struct sim *sim, struct sim_lease *lease);
/* Something of the key born at `born` was stored: what is kept and not newer ends. MAYBE: the
 * engine is asked which of it has. */
void sim_leases_end_kept(struct sim *sim, unsigned key, uint64_t born, enum sim_effect stored);
/* The engine keeps a slot for it. */
bool sim_lease_is_kept(const struct sim *sim, const struct sim_lease *lease);
/* All of the key; SIM_NO_KEY: of any. */
void sim_leases_end(struct sim *sim, unsigned key);
void sim_leases_come_due(struct sim *sim, const struct hgi_now *now);
/* After a tick: what came due and was not renewed is over. */
void sim_leases_settle(struct sim *sim, const struct sim_step *tick);
/* It ends without a value and, if nobody waits for it, as a refresh that failed. */
void sim_lease_fails(struct sim *sim, struct sim_lease *lease);
/* Leases and kept slots; `key` may be SIM_NO_KEY. */
unsigned sim_leases_live(const struct sim *sim, unsigned key);
/* A call waits on a lease of the key. */
bool sim_has_leader(const struct sim *sim, unsigned key);
/* A load or lease with the key's slot begins for the call (NULL: for one of those that looked
 * again): no lease but `own` may hold it, and none does from here on. */
void sim_leases_lose_slot(struct sim *sim, unsigned key, const struct sim_call *call,
                          const struct sim_lease *own);
/* A parked call that looks again may want something newer than the leases of its key, or younger
 * than what is kept. */
void sim_leases_doubt_slot(struct sim *sim, const struct sim_call *call);
/* An answer that no flight has just brought: from a kept slot. SIM_STRIPPED: one without its bytes.
 */
void sim_check_kept(struct sim *sim, const struct sim_call *call, const struct hgi_answer *answer,
                    unsigned value);

/* How many leases must be given when some end without a value. */
struct sim_heirs {
    bool is_known;
    unsigned count;
};
struct sim_heirs sim_heirs_none(const struct sim *sim);
void sim_heirs_add(const struct sim *sim, const struct sim_lease *lease, struct sim_heirs *heirs);
void sim_check_heirs(const struct sim *sim, const struct sim_step *step,
                     const struct sim_heirs *heirs);

/* What their holders do (sim_holder.c). */
void sim_fulfil(struct sim *sim, unsigned actor);
void sim_renew(struct sim *sim, unsigned actor);
void sim_release(struct sim *sim, unsigned actor);
void sim_holder_gone(struct sim *sim, unsigned actor);

/* Evicted, or expired and swept: nothing keeps an older one out then. */
bool sim_may_be_gone(const struct sim *sim, const struct sim_value *value,
                     const struct hgi_now *now);
/* Its ttl may be over. */
bool sim_may_be_unfresh(const struct sim *sim, const struct sim_value *value);

/* The history (sim_history.c), and whether some order explains it. */
#define SIM_STRIPPED UINT_MAX /* what a read sees of a DENIED that had been an expired value */
void sim_history_start(struct sim *sim);
void sim_record_step(struct sim *sim, const struct sim_step *step);
/* A read that began with `begun_seq` saw it; 0: nothing fresh. */
void sim_record_read(struct sim *sim, unsigned key, uint64_t begun_seq, unsigned shows,
                     bool is_fresh);
void sim_record_clock(struct sim *sim);
/* Nothing is under way: what was recorded since this was so last is one window. */
void sim_check_history(struct sim *sim);

/* The checks of answers (sim_check.c). */
void sim_check_answer(struct sim *sim, struct sim_call *call, const struct hgi_answer *answer);
void sim_check_start(struct sim *sim, const struct sim_load *load);
/* No load holds the slot that a load (NULL: a lease) of the key takes now. */
void sim_check_slot(struct sim *sim, unsigned key, const struct sim_load *own);
/* A reader of at least `generation` has the successor queued: older loads lose the key's slot. */
void sim_gives_slot(struct sim *sim, unsigned key, uint64_t generation);

/* The checks at rest (sim_rest.c). */
unsigned sim_parked_on(const struct sim *sim, unsigned key);
/* A load of the key has been handed out, has not ended and was not given up. */
bool sim_has_load(const struct sim *sim, unsigned key);
/* A follower whose wait_budget is over loads for itself. */
bool sim_loads_alone(const struct sim *sim);
void sim_count(struct sim *sim, const struct hgi_answer *answer);
/* After a step of the scheduler, when nothing is under way. */
void sim_check_rest(struct sim *sim);
/* After a tick. */
void sim_check_deadlines(struct sim *sim);
void sim_check_counters(struct sim *sim);
/* What a peek finds: 0 nothing, else the value, or SIM_STRIPPED. */
unsigned sim_peek(struct sim *sim, unsigned key);
/* The key holds what the model says. */
void sim_check_register(struct sim *sim, unsigned key);

#endif
