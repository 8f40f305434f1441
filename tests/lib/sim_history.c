/* SPDX-License-Identifier: Apache-2.0 */
/* I9: what each key was put, lost and was read to hold, with the instants at which each operation
 * began and ended; and that some order explains it (linear.h). Steps run in callbacks overlap the
 * step around them; a read that was sent back to look counts from the step that sent it. */
#include <stdio.h>

#include "base/check.h"
#include "sim.h"

/* ---- what time and room may do ---- */

static bool may_vanish(void *context, unsigned value)
{
    const struct sim *sim = context;

    return sim_may_be_gone(sim, &sim->values[value], &sim->now);
}

static bool may_miss(void *context, unsigned value)
{
    const struct sim *sim = context;

    return sim_may_be_unfresh(sim, &sim->values[value]);
}

static struct linear_rules rules_of(struct sim *sim)
{
    return (struct linear_rules){.may_vanish = may_vanish, .may_miss = may_miss, .context = sim};
}

void sim_history_start(struct sim *sim)
{
    for (unsigned i = 0; i < SIM_KEYS; i++) {
        linear_init(&sim->registers[i]);
        sim->op_counts[i] = 0;
    }
}

void sim_record_clock(struct sim *sim)
{
    struct linear_rules rules = rules_of(sim);

    for (unsigned i = 0; i < SIM_KEYS; i++) {
        linear_pass(&sim->registers[i], &rules);
    }
}

/* ---- recording ---- */

static void record(struct sim *sim, unsigned key, const struct linear_op *op)
{
    HGI_BUG_ON(sim->op_counts[key] == SIM_OPS_MAX);
    sim->ops[key][sim->op_counts[key]] = *op;
    sim->ops[key][sim->op_counts[key]++].ended = ++sim->seq;
}

void sim_record_read(struct sim *sim, unsigned key, uint64_t begun_seq, unsigned shows,
                     bool is_fresh)
{
    const struct linear_op op = {
        .kind = LINEAR_READ, .begun = begun_seq, .shows = shows, .is_fresh = is_fresh};

    record(sim, key, &op);
}

static void record_value(struct sim *sim, const struct sim_step *step, enum linear_kind kind)
{
    const struct sim_value *value = &sim->values[step->value];
    bool is_kept = value->is_published && !value->lifetime.no_store;
    const struct linear_op op = {
        .kind = kind,
        .begun = step->begun_seq,
        .number = value->is_born_known ? value->born : 0,
        .value = is_kept ? step->value : 0,
        .shows = value->is_stripped ? SIM_STRIPPED : step->value,
        .kin = value->first,
        .tags = value->tags,
        .is_optional = step->effect == SIM_MAYBE,
    };

    record(sim, step->key, &op);
}

static void record_end(struct sim *sim, const struct sim_step *step)
{
    for (unsigned i = 0; i < SIM_KEYS; i++) {
        const struct linear_op op = {
            .kind = LINEAR_END,
            .begun = step->begun_seq,
            .number = step->generation,
            .tags = step->tags,
            .covers_key = step->kind == SIM_CLEAR || step->key == i,
            .is_soft = step->is_soft,
        };

        if (op.covers_key || op.tags) {
            record(sim, i, &op);
        }
    }
}

void sim_record_step(struct sim *sim, const struct sim_step *step)
{
    const struct sim_call *c = step->call;

    switch (step->kind) {
    case SIM_PUT:
    case SIM_PUT_IF:
        if (!step->is_refused) {
            record_value(sim, step, step->kind == SIM_PUT ? LINEAR_PUT : LINEAR_PUT_IF);
        }
        break;
    case SIM_INVALIDATE:
    case SIM_CLEAR:
        record_end(sim, step);
        break;
    case SIM_DONE:
    case SIM_FULFIL:
        if (step->effect != SIM_NO_EFFECT) {
            record_value(sim, step, step->is_rearm ? LINEAR_REARM : LINEAR_PUBLISH);
        }
        break;
    case SIM_READ:
        if (!step->is_hit && c->max_age_ms < 0 && !c->min_generation) {
            sim_record_read(sim, step->key, step->begun_seq, 0, true);
        }
        break;
    default:
        break;
    }
}

/* ---- looking for an order ---- */

static void print_op(const struct linear_op *op)
{
    static const char *const kinds[] = {"put", "put_if", "publish", "rearm", "end", "read"};

    fprintf(stderr, "  %s from %llu to %llu: number %llu, value %u, shows %u, tags %u%s%s%s%s\n",
            kinds[op->kind], (unsigned long long)op->begun, (unsigned long long)op->ended,
            (unsigned long long)op->number, op->value, op->shows, op->tags,
            op->covers_key ? ", key" : "", op->is_soft ? ", soft" : "",
            op->is_optional ? ", perhaps" : "", op->is_fresh ? ", fresh" : "");
}

static void no_order(const struct sim *sim, unsigned key)
{
    for (unsigned i = 0; i < sim->registers[key].count; i++) {
        const struct linear_state *state = &sim->registers[key].states[i];

        fprintf(stderr, "  was value %u, born %llu, covered by %llu%s%s\n", state->value,
                (unsigned long long)state->born, (unsigned long long)state->covered,
                state->is_soft ? ", soft" : "", state->is_unknown ? ", or anything" : "");
    }
    for (unsigned i = 0; i < sim->op_counts[key]; i++) {
        print_op(&sim->ops[key][i]);
    }
    sim_broken(sim, "I9: no order explains these operations on %s", sim->keys[key].text);
}

void sim_check_history(struct sim *sim)
{
    struct linear_rules rules = rules_of(sim);

    for (unsigned i = 0; i < SIM_KEYS; i++) {
        enum linear_verdict verdict;

        if (!sim->op_counts[i]) {
            continue;
        }
        verdict = linear_check(&sim->registers[i], sim->ops[i], sim->op_counts[i], &rules);
        if (verdict == LINEAR_NO) {
            no_order(sim, i);
        }
        sim->windows += sim->op_counts[i] > 1;
        sim->undecided += verdict == LINEAR_TOO_MUCH;
        sim->op_counts[i] = 0;
    }
}
