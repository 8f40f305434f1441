/* SPDX-License-Identifier: Apache-2.0 */
/* linear: did a register's operations happen in some order, each at one instant of its own time?
 * Owns:     what the register may hold after the operations looked at so far.
 * Threads:  one.
 * Limits:   LINEAR_OPS_MAX operations a window, LINEAR_STATES_MAX states after it; beyond them
 *           nothing is known of the register until the next put or hard end.
 * Errors:   LINEAR_NO: no order explains what was read.
 * Not here: recording a history (tests/lib/sim_history.c), how old a value may be (sim_check.c).
 *
 * The search is Wing and Gong's (1993), with Lowe's memory (2017) of what was tried: an operation
 * may be next if no other that is left ended before it began; the same operations done and the same
 * state reached need no second visit. A history is looked at window by window: between two windows
 * no operation is under way. The register is a key of a cache, as the semantics describe it: puts
 * and ends take numbers that rise; a publication counts only if no number that covers it is above
 * its birth, and nothing younger is there. */
#ifndef HG_TEST_LINEAR_H
#define HG_TEST_LINEAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINEAR_OPS_MAX    24u
#define LINEAR_STATES_MAX 48u
#define LINEAR_TAGS       2u

enum linear_kind {
    LINEAR_PUT,     /* is the value from then on, and ends what was there */
    LINEAR_PUT_IF,  /* a put from a token that was let in: nothing had overtaken it */
    LINEAR_PUBLISH, /* of a load or a lease: is the value unless it was overtaken */
    LINEAR_REARM, /* a publication of the kin of what is there, which it replaces: it was seen to */
    LINEAR_END,   /* of the key, of whatever has a tag, or both */
    LINEAR_READ,  /* from what is stored */
};

struct linear_op {
    enum linear_kind kind;
    uint64_t begun;
    uint64_t ended;
    uint64_t number;  /* that a put or end took; the birth of a publication; 0: not known */
    unsigned value;   /* 0: a publication that is not stored, and takes the older along */
    unsigned shows;   /* what readers see of it; of a read: what it saw, 0: nothing fresh */
    unsigned kin;     /* of its value: equal for all that are confirmations of one; 0: the value */
    unsigned tags;    /* bits: the value's, or those that an end covers */
    bool covers_key;  /* an end: of the key, too */
    bool is_soft;     /* an end: what is there is not fresh any more */
    bool is_optional; /* it may have come too late to count */
    bool is_fresh;    /* a read: answered as fresh */
};

struct linear_state {
    uint64_t number;  /* the last taken that is known */
    uint64_t covered; /* the last that covers the key */
    uint64_t tags_covered[LINEAR_TAGS];
    uint64_t born;
    uint64_t ghost; /* birth of what a tag has ended: unseen, it may still keep out the older */
    unsigned value; /* 0: nothing is there */
    unsigned shows;
    unsigned kin;
    unsigned tags;
    bool is_soft;
    bool is_unknown; /* anything may be there */
};

struct linear_register {
    struct linear_state states[LINEAR_STATES_MAX]; /* each is one it may be in */
    unsigned count;
};

/* What time and want of room do to a value, at the window's time. */
struct linear_rules {
    bool (*may_vanish)(void *context, unsigned value); /* dropped: it does not come back */
    bool (*may_miss)(void *context, unsigned value);   /* there, and perhaps not fresh */
    void *context;
};

enum linear_verdict { LINEAR_YES, LINEAR_NO, LINEAR_TOO_MUCH };

/* Nothing is there. */
void linear_init(struct linear_register *reg);
/* One window. `reg` is left as it was if the verdict is no. */
enum linear_verdict linear_check(struct linear_register *reg, const struct linear_op *ops,
                                 unsigned count, const struct linear_rules *rules);
/* Time goes on in a way that may have taken values along without anybody asking. */
void linear_pass(struct linear_register *reg, const struct linear_rules *rules);

#endif
