/* SPDX-License-Identifier: Apache-2.0 */
#include "linear.h"

#include <string.h>

#define VISITS_MAX 4096u /* a power of two: pairs of done operations and state remembered */
#define NEXT_MAX   3u    /* states that one operation may lead to */

struct visit {
    uint64_t search; /* which it is of; 0: none */
    uint32_t done;
    struct linear_state state;
};

struct search {
    const struct linear_op *ops;
    unsigned count;
    const struct linear_rules *rules;
    struct linear_register after;
    uint64_t number; /* of this search */
    struct visit visits[VISITS_MAX];
    unsigned visit_count;
    bool is_too_much;
};

/* ---- one operation ---- */

struct next {
    struct linear_state states[NEXT_MAX];
    unsigned count;
};

static void add_next(struct next *next, const struct linear_state *state)
{
    next->states[next->count++] = *state;
}

static void drop(struct linear_state *state)
{
    state->value = 0;
    state->shows = 0;
    state->kin = 0;
    state->tags = 0;
    state->born = 0;
    state->ghost = 0;
    state->is_soft = false;
}

static void store(struct linear_state *state, const struct linear_op *op)
{
    drop(state);
    if (op->value) {
        state->value = op->value;
        state->shows = op->shows;
        state->kin = op->kin ? op->kin : op->value;
        state->tags = op->tags;
        state->born = op->number;
    }
}

/* False: numbers rise, and this one does not. */
static bool take_number(struct linear_state *state, uint64_t number)
{
    if (number && number <= state->number) {
        return false;
    }
    state->number = number ? number : state->number;
    return true;
}

static void put(const struct linear_op *op, struct linear_state state, struct next *next)
{
    if (!take_number(&state, op->number)) {
        return;
    }
    state.covered = state.number;
    state.is_unknown = false;
    store(&state, op);
    add_next(next, &state);
}

static void end(const struct linear_op *op, struct linear_state state, struct next *next)
{
    if (!take_number(&state, op->number)) {
        return;
    }
    for (unsigned i = 0; i < LINEAR_TAGS; i++) {
        if (op->tags & (1u << i)) {
            state.tags_covered[i] = state.number;
        }
    }
    if (op->covers_key) {
        state.covered = state.number;
    }
    if (op->covers_key || (state.tags & op->tags)) {
        if (op->is_soft) {
            state.is_soft = state.value != 0;
        } else {
            uint64_t born = state.value ? state.born : state.ghost;

            drop(&state);
            state.ghost = op->covers_key ? 0 : born;
            state.is_unknown &= !op->covers_key;
        }
    }
    add_next(next, &state);
}

static bool is_overtaken(const struct linear_state *state, const struct linear_op *op)
{
    if (op->number < state->covered) {
        return true;
    }
    for (unsigned i = 0; i < LINEAR_TAGS; i++) {
        if ((op->tags & (1u << i)) && op->number < state->tags_covered[i]) {
            return true;
        }
    }
    return false;
}

static void publish(const struct linear_op *op, const struct linear_state *state,
                    const struct linear_rules *rules, struct next *next)
{
    bool must = op->kind == LINEAR_PUT_IF;
    bool may_count = !op->number || !is_overtaken(state, op);
    bool may_fail = !op->number || op->is_optional || !may_count || state->is_unknown ||
                    state->ghost > op->number;
    struct linear_state stored = *state;

    if (may_count && op->number && state->value && (!state->born || state->born > op->number)) {
        /* Kept out by what is younger, if that has not gone. */
        may_fail = true;
        may_count = !state->born || rules->may_vanish(rules->context, state->value);
    }
    if (may_count) {
        store(&stored, op);
        add_next(next, &stored);
    }
    if (may_fail && !must) {
        add_next(next, state);
    }
}

/* What it confirms is there, and was born no later. */
static void rearm(const struct linear_op *op, struct linear_state state, struct next *next)
{
    bool is_there = state.value && state.kin == op->kin;

    if ((op->number && (is_overtaken(&state, op) || state.born > op->number)) ||
        !(is_there || state.is_unknown)) {
        return;
    }
    state.is_unknown = false;
    store(&state, op);
    add_next(next, &state);
}

static void read_nothing(struct linear_state state, const struct linear_rules *rules,
                         struct next *next)
{
    if (!state.value || state.is_soft || rules->may_miss(rules->context, state.value)) {
        add_next(next, &state);
    }
    if (state.value && rules->may_vanish(rules->context, state.value)) {
        drop(&state);
        add_next(next, &state);
    }
}

static void apply(const struct linear_op *op, const struct linear_state *state,
                  const struct linear_rules *rules, struct next *next)
{
    next->count = 0;
    switch (op->kind) {
    case LINEAR_PUT:
        put(op, *state, next);
        break;
    case LINEAR_END:
        end(op, *state, next);
        break;
    case LINEAR_PUT_IF:
    case LINEAR_PUBLISH:
        publish(op, state, rules, next);
        break;
    case LINEAR_REARM:
        rearm(op, *state, next);
        break;
    case LINEAR_READ:
        if (state->is_unknown) {
            add_next(next, state);
        } else if (!op->shows) {
            read_nothing(*state, rules, next);
        } else if (state->value && state->shows == op->shows && !(op->is_fresh && state->is_soft)) {
            add_next(next, state);
        }
        break;
    }
}

/* ---- all of them ---- */

static bool is_same(const struct linear_state *a, const struct linear_state *b)
{
    return a->number == b->number && a->covered == b->covered &&
           memcmp(a->tags_covered, b->tags_covered, sizeof(a->tags_covered)) == 0 &&
           a->born == b->born && a->ghost == b->ghost && a->value == b->value &&
           a->is_soft == b->is_soft && a->is_unknown == b->is_unknown;
}

/* False: no room. */
static bool add_state(struct linear_register *reg, const struct linear_state *state)
{
    for (unsigned i = 0; i < reg->count; i++) {
        if (is_same(&reg->states[i], state)) {
            return true;
        }
    }
    if (reg->count == LINEAR_STATES_MAX) {
        return false;
    }
    reg->states[reg->count++] = *state;
    return true;
}

static size_t slot_of(uint32_t done, const struct linear_state *state)
{
    uint64_t hash = done;

    hash = (hash ^ state->value) * 0x9e3779b97f4a7c15u;
    hash = (hash ^ state->covered ^ (state->tags_covered[0] << 20)) * 0x9e3779b97f4a7c15u;
    hash =
        (hash ^ state->tags_covered[1] ^ state->number << 1 ^ state->is_soft) * 0x9e3779b97f4a7c15u;
    return (size_t)(hash >> 32);
}

/* True: not been here before. */
static bool visit(struct search *search, uint32_t done, const struct linear_state *state)
{
    size_t slot = slot_of(done, state);

    for (;; slot++) {
        struct visit *visit = &search->visits[slot % VISITS_MAX];

        if (visit->search != search->number) {
            if (search->visit_count >= VISITS_MAX / 2) {
                search->is_too_much = true;
                return false;
            }
            *visit = (struct visit){search->number, done, *state};
            search->visit_count++;
            return true;
        }
        if (visit->done == done && is_same(&visit->state, state)) {
            return false;
        }
    }
}

static bool takes_number(const struct linear_op *op)
{
    return (op->kind == LINEAR_PUT || op->kind == LINEAR_END) && op->number;
}

/* None that is left had ended when it began, or took a lower number. */
static bool may_be_next(const struct search *search, uint32_t done, const struct linear_op *op)
{
    for (unsigned i = 0; i < search->count; i++) {
        const struct linear_op *other = &search->ops[i];

        if (!(done & (1u << i)) &&
            (other->ended < op->begun ||
             (takes_number(op) && takes_number(other) && other->number < op->number))) {
            return false;
        }
    }
    return true;
}

static void explore(struct search *search, uint32_t done, const struct linear_state *state)
{
    if (done == (1u << search->count) - 1) {
        search->is_too_much |= !add_state(&search->after, state);
        return;
    }
    for (unsigned i = 0; i < search->count && !search->is_too_much; i++) {
        struct next next;

        if ((done & (1u << i)) || !may_be_next(search, done, &search->ops[i])) {
            continue;
        }
        apply(&search->ops[i], state, search->rules, &next);
        for (unsigned j = 0; j < next.count; j++) {
            if (search->count == 1 || visit(search, done | (1u << i), &next.states[j])) {
                explore(search, done | (1u << i), &next.states[j]);
            }
        }
    }
}

/* Anything may be there. What covers it last is known all the same: ends and puts are sure. */
static void forget(struct linear_register *reg, const struct linear_op *ops, unsigned count)
{
    struct linear_state state = reg->states[0];

    drop(&state);
    state.is_unknown = true;
    for (unsigned i = 0; i < count; i++) {
        const struct linear_op *op = &ops[i];

        if (op->kind != LINEAR_PUT && op->kind != LINEAR_END) {
            continue;
        }
        if (op->number > state.number) {
            state.number = op->number;
        }
        if ((op->kind == LINEAR_PUT || op->covers_key) && op->number > state.covered) {
            state.covered = op->number;
        }
        for (unsigned j = 0; op->kind == LINEAR_END && j < LINEAR_TAGS; j++) {
            if ((op->tags & (1u << j)) && op->number > state.tags_covered[j]) {
                state.tags_covered[j] = op->number;
            }
        }
    }
    reg->states[0] = state;
    reg->count = 1;
}

void linear_init(struct linear_register *reg)
{
    reg->states[0] = (struct linear_state){.value = 0};
    reg->count = 1;
}

enum linear_verdict linear_check(struct linear_register *reg, const struct linear_op *ops,
                                 unsigned count, const struct linear_rules *rules)
{
    static struct search search;

    if (count > LINEAR_OPS_MAX) {
        forget(reg, ops, count);
        return LINEAR_TOO_MUCH;
    }
    search.ops = ops;
    search.count = count;
    search.rules = rules;
    search.after.count = 0;
    search.is_too_much = false;
    search.visit_count = 0;
    search.number++;
    for (unsigned i = 0; i < reg->count; i++) {
        explore(&search, 0, &reg->states[i]);
    }
    if (search.is_too_much) {
        forget(reg, ops, count);
        return LINEAR_TOO_MUCH;
    }
    if (!search.after.count) {
        return LINEAR_NO;
    }
    *reg = search.after;
    return LINEAR_YES;
}

void linear_pass(struct linear_register *reg, const struct linear_rules *rules)
{
    unsigned count = reg->count;

    for (unsigned i = 0; i < count; i++) {
        struct linear_state state = reg->states[i];

        if (state.value && rules->may_vanish(rules->context, state.value)) {
            drop(&state);
            if (!add_state(reg, &state)) {
                forget(reg, NULL, 0);
                return;
            }
        }
    }
}
