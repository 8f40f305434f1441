/* SPDX-License-Identifier: Apache-2.0 */
/* What every state at rest is held to: who waits and for what, the books, what each key holds. */
#include "base/check.h"
#include "sim.h"

/* ---- who waits ---- */

unsigned sim_parked_on(const struct sim *sim, unsigned key)
{
    unsigned count = 0;

    for (unsigned i = 0; i < sim->call_count; i++) {
        count += !sim->calls[i].is_answered && sim->calls[i].key == key;
    }
    return count;
}

bool sim_has_load(const struct sim *sim, unsigned key)
{
    for (unsigned i = sim->load_count; i > 0; i--) {
        const struct sim_load *load = &sim->loads[i - 1];

        if (load->key == key && !load->is_ended && !load->is_cancelled) {
            return true;
        }
    }
    return false;
}

bool sim_loads_alone(const struct sim *sim)
{
    return sim->policy.alone && sim->has_loader;
}

/* ---- at rest ---- */

/* With one load or lease for a key and none queued, it has one flight, and all its callers wait
 * there. */
static void check_waiters(const struct sim *sim, unsigned key)
{
    unsigned loads = sim_leases_live(sim, key);

    for (unsigned i = 0; i < sim->load_count; i++) {
        loads += sim->loads[i].key == key && !sim->loads[i].is_ended && !sim->loads[i].is_cancelled;
    }
    SIM_EXPECT(sim, loads != 1 || sim_parked_on(sim, key) <= sim->policy.waiters_max,
               "more than waiters_max wait for one load");
}

void sim_check_rest(struct sim *sim)
{
    size_t negatives_max = sim->policy.max_entries / 8 ? sim->policy.max_entries / 8 : 1;
    struct hgi_cache_stats stats;
    unsigned leases = sim_leases_live(sim, SIM_NO_KEY);
    bool flies[SIM_KEYS];

    hgi_cache_stats(sim->cache, &stats);
    SIM_EXPECT(sim, stats.in_flight == sim->running_count + leases,
               "%llu in flight, %u loads and %u leases were begun",
               (unsigned long long)stats.in_flight, sim->running_count, leases);
    SIM_EXPECT(sim, stats.waiting == sim->open_count, "%llu calls parked, %u not answered",
               (unsigned long long)stats.waiting, sim->open_count);
    SIM_EXPECT(sim, stats.queued <= sim->policy.queue_max, "the queue is longer than queue_max");
    SIM_EXPECT(sim, !stats.queued || sim->running_count == sim->policy.max_loads,
               "%llu loads are queued while places are free", (unsigned long long)stats.queued);
    SIM_EXPECT(sim, stats.negatives <= negatives_max, "I8: %llu negatives are held, at most %zu",
               (unsigned long long)stats.negatives, negatives_max);
    SIM_EXPECT(sim, stats.entries <= sim->policy.max_entries, "more than max_entries are held");
    SIM_EXPECT(sim, stats.bytes <= sim->policy.max_bytes, "more than max_bytes are held");
    for (unsigned i = 0; i < SIM_KEYS; i++) {
        flies[i] = sim_has_load(sim, i) || sim_has_leader(sim, i) || stats.queued;
        if (!stats.queued) {
            check_waiters(sim, i);
        }
    }
    for (unsigned i = 0; i < sim->call_count; i++) {
        const struct sim_call *c = &sim->calls[i];

        SIM_EXPECT(sim, c->is_answered || flies[c->key], "I10: call %u waits for nothing", i);
        SIM_EXPECT(sim, c->is_answered || c->rounds <= HGI_ROUNDS_MAX,
                   "call %u was sent back %u times", i, c->rounds);
    }
}

void sim_check_deadlines(struct sim *sim)
{
    for (unsigned i = 0; !sim->depth && i < sim->call_count; i++) {
        const struct sim_call *c = &sim->calls[i];
        bool is_over = c->deadline_ms <= sim->now.boot_ms ||
                       (!c->may_lead && !sim_loads_alone(sim) && c->budget_ms <= sim->now.boot_ms);

        SIM_EXPECT(sim, c->is_answered || !is_over, "I10: call %u waits past its time", i);
    }
    for (unsigned i = 0; !sim->depth && i < sim->load_count; i++) {
        SIM_EXPECT(sim,
                   !sim->loads[i].is_due || sim->loads[i].is_cancelled || sim->loads[i].is_ended,
                   "load %u runs past load_timeout", i);
    }
}

/* ---- the books ---- */

void sim_count(struct sim *sim, const struct hgi_answer *answer)
{
    bool is_ok = answer->status == HG_OK && answer->outcome != HG_NOT_CACHED;

    sim->fresh_values += is_ok && answer->source == HG_SOURCE_FRESH && answer->outcome == HG_VALUE;
    sim->fresh_negatives +=
        is_ok && answer->source == HG_SOURCE_FRESH && answer->outcome != HG_VALUE;
    sim->stale_answers += is_ok && answer->source == HG_SOURCE_STALE;
    sim->joined_answers += answer->source == HG_SOURCE_JOINED;
}

void sim_check_counters(struct sim *sim)
{
    struct hgi_cache_stats stats;
    const uint64_t *counters = stats.counters;

    hgi_cache_stats(sim->cache, &stats);
#define EQUAL(metric, number)                                                                      \
    SIM_EXPECT(sim, (metric) == (number), "%s is %llu, %s is %llu", #metric,                       \
               (unsigned long long)(metric), #number, (unsigned long long)(number))
    EQUAL(counters[HGI_METRIC_load], sim->load_count);
    EQUAL(counters[HGI_METRIC_lost], sim->lost);
    EQUAL(counters[HGI_METRIC_unchanged], sim->unchanged);
    EQUAL(counters[HGI_METRIC_unconfirmed], sim->unconfirmed);
    EQUAL(counters[HGI_METRIC_lease], sim->lease_count);
    EQUAL(counters[HGI_METRIC_lease_handed_on], sim->handed_on);
    EQUAL(counters[HGI_METRIC_hit], sim->fresh_values);
    EQUAL(counters[HGI_METRIC_negative_hit], sim->fresh_negatives);
    EQUAL(counters[HGI_METRIC_stale_hit] + counters[HGI_METRIC_kept_hit], sim->stale_answers);
    EQUAL(counters[HGI_METRIC_coalesced] + counters[HGI_METRIC_failure_hit], sim->joined_answers);
    EQUAL(counters[HGI_METRIC_put], sim->puts);
    EQUAL(counters[HGI_METRIC_invalidate], sim->invalidations);
    EQUAL(counters[HGI_METRIC_clear], sim->clears);
    EQUAL(stats.in_flight, (uint64_t)0);
    EQUAL(stats.queued, (uint64_t)0);
#undef EQUAL
}

/* ---- the register ---- */

struct peek {
    struct hgi_call call;
    struct sim *sim;
    unsigned found;
};

static void peeked(struct hgi_call *call, const struct hgi_answer *answer)
{
    struct peek *peek = HGI_CONTAINER(call, struct peek, call);

    sim_count(peek->sim, answer);
    if (answer->outcome != HG_NOT_CACHED) {
        peek->found = answer->value.len ? sim_seen(peek->sim, answer) : SIM_STRIPPED;
    }
}

unsigned sim_peek(struct sim *sim, unsigned key)
{
    struct peek peek = {
        .call = {.key = hg_slice_text(sim->keys[key].text),
                 .mode = HG_MODE_PEEK,
                 .max_age_ms = -1,
                 .done = peeked},
        .sim = sim,
    };
    uint64_t begun_seq = ++sim->seq;

    hgi_cache_read(sim->cache, &peek.call, &sim->scratch[sim->depth], &sim->now);
    sim_record_read(sim, key, begun_seq, peek.found, true);
    return peek.found;
}

void sim_check_register(struct sim *sim, unsigned key)
{
    const struct sim_key *k = &sim->keys[key];
    const struct sim_value *value = &sim->values[k->holds];
    unsigned found;

    if (k->state == SIM_UNKNOWN) {
        return;
    }
    found = sim_peek(sim, key);
    sim_note(sim, "look: found, should", key, found, k->state == SIM_HOLDS ? k->holds : 0);
    if (found) {
        SIM_EXPECT(sim, k->state == SIM_HOLDS, "I9: value %u is there after it was ended", found);
        SIM_EXPECT(sim, found == (value->is_stripped ? SIM_STRIPPED : k->holds),
                   "I9: value %u is there and not %u, which was stored last", found, k->holds);
        return;
    }
    SIM_EXPECT(sim, k->state != SIM_HOLDS || !sim->is_roomy || sim_may_be_unfresh(sim, value),
               "I9: value %u was stored, is fresh, and is not there", k->holds);
}
