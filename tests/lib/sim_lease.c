/* SPDX-License-Identifier: Apache-2.0 */
/* Leases and kept slots as the semantics have them: who holds one, until when, who is next. The
 * engine gives and ends leases in critical sections at whose end the scheduler is told before
 * others act; so what is known of them is exact, but for those that run out within a tick. */
#include "base/check.h"
#include "server/cache/inspect.h"
#include "sim.h"

#define FLIGHTS_MAX 256u

/* ---- beginning ---- */

/* The lease comes from one that has just ended, and not from a look of the call's own. */
static bool is_handed_on(const struct sim_step *step)
{
    switch (step->kind) {
    case SIM_RELEASE:
    case SIM_GONE:
    case SIM_TICK:
        return true;
    case SIM_FULFIL:
        return step->result->status != HG_OK;
    default:
        return false;
    }
}

/* When a holder of several is gone, others act before all heirs have been told: leases may end that
 * the scheduler never heard of. */
static bool may_be_unheard_of(const struct sim_step *step)
{
    bool is_within = false;

    for (const struct sim_step *outer = step->outer; outer; outer = outer->outer) {
        is_within |= outer->kind == SIM_GONE;
    }
    return step->kind == SIM_GONE && (step->inner || is_within);
}

/* It inherits the slot of the lease before it, if it is known which that was. */
static void inherit_slot(struct sim *sim, struct sim_lease *lease)
{
    const struct sim_step *step = sim->step;
    struct sim_lease *last = NULL;
    unsigned count = 0;

    for (unsigned i = 0; i < sim->lease_count; i++) {
        struct sim_lease *other = &sim->leases[i];

        if (other != lease && other->key == lease->key && !other->value &&
            (step->kind == SIM_TICK ? other->is_due : other->ended_seq == step->seq)) {
            last = other;
            count++;
        }
    }
    SIM_EXPECT(sim, count || may_be_unheard_of(step), "a lease was handed on, and none has ended");
    if (count == 1 && !may_be_unheard_of(step)) {
        lease->holds_slot = last->holds_slot;
        lease->is_slot_known = last->is_slot_known;
        lease->is_behind = last->is_behind;
        sim_lease_end(sim, last);
    }
}

/* It may have ended before its holder was told: others have acted since. */
static bool is_over_already(const struct sim *sim, const struct sim_lease *lease)
{
    const struct sim_step *step = sim->step;

    return step->kind == SIM_GONE && (sim->keys[lease->key].cover.seq > step->seq ||
                                      sim->gone_seq[lease->holder] > step->seq);
}

void sim_lease_given(struct sim *sim, struct sim_call *c, const struct hgi_answer *answer)
{
    struct sim_step *step = sim->step;
    struct sim_lease *lease = &sim->leases[sim->lease_count++];

    HGI_BUG_ON(sim->lease_count > SIM_LEASES_MAX);
    SIM_EXPECT(sim, c->lead, "a call that did not ask to lead got a lease");
    SIM_EXPECT(sim,
               answer->source == HG_SOURCE_LEASED ||
                   (answer->source == HG_SOURCE_STALE && c->mode == HG_MODE_REVALIDATE),
               "a lease came with an answer from source %d", answer->source);
    SIM_EXPECT(sim, c->mode != HG_MODE_PEEK && !sim->is_stopped, "a lease nobody could want");
    SIM_EXPECT(sim, answer->lease_ttl_ms == sim->policy.load_timeout_ms, "a lease is for %lld ms",
               (long long)answer->lease_ttl_ms);
    SIM_EXPECT(sim, answer->source == HG_SOURCE_STALE || step->now.boot_ms < c->deadline_ms,
               "a lease went to a call whose time was over");
    for (unsigned i = 0; i + 1 < sim->lease_count; i++) {
        SIM_EXPECT(sim, sim->leases[i].lease_id != answer->lease_id, "a lease was given twice");
    }
    *lease = (struct sim_lease){
        .lease_id = answer->lease_id,
        .holder = c->actor + 1,
        .key = c->key,
        .born = step->kind == SIM_GONE ? step->generation : hgi_cache_generation(sim->cache),
        .begun_seq = step->kind == SIM_GONE ? step->seq : ++sim->seq,
        .until_ms = step->now.boot_ms + sim->policy.load_timeout_ms,
    };
    step->leases++;
    sim_note(sim, "  lease: number, holder", c->key, sim->lease_count - 1, lease->holder);
    if (is_handed_on(step)) {
        sim->handed_on++;
        inherit_slot(sim, lease);
    } else {
        lease->holds_slot = true;
        lease->is_slot_known = true;
        lease->is_behind = answer->source == HG_SOURCE_STALE;
        sim_gives_slot(sim, c->key, c->min_generation);
        sim_check_slot(sim, c->key, NULL);
        sim_leases_lose_slot(sim, c->key, c, lease);
    }
    if (is_over_already(sim, lease)) {
        sim_lease_end(sim, lease);
    }
}

/* ---- ending ---- */

void sim_lease_end(struct sim *sim, struct sim_lease *lease)
{
    if (lease->state != SIM_OVER) {
        lease->state = SIM_OVER;
        lease->ended_seq = sim->step->seq;
        lease->ended_ms = sim->step->now.boot_ms;
        lease->is_due = false;
    }
}

void sim_leases_end(struct sim *sim, unsigned key)
{
    for (unsigned i = 0; i < sim->lease_count; i++) {
        struct sim_lease *lease = &sim->leases[i];

        if (key == SIM_NO_KEY || lease->key == key) {
            sim_lease_end(sim, lease);
        }
    }
}

bool sim_lease_is_kept(const struct sim *sim, const struct sim_lease *lease)
{
    struct hgi_flight_info flights[FLIGHTS_MAX];
    size_t count = hgi_cache_list_flights(sim->cache, &sim->now, flights, FLIGHTS_MAX);
    uint64_t digest = hgi_cache_digest(sim->cache, hg_slice_text(sim->keys[lease->key].text));

    HGI_BUG_ON(count > FLIGHTS_MAX);
    for (size_t i = 0; i < count; i++) {
        if (flights[i].leader == HGI_LEADER_KEPT && flights[i].digest == digest &&
            flights[i].holder == lease->holder && flights[i].generation == lease->born &&
            flights[i].left_ms == lease->until_ms - sim->now.boot_ms) {
            return true;
        }
    }
    return false;
}

void sim_leases_end_kept(struct sim *sim, unsigned key, uint64_t born, enum sim_effect stored)
{
    for (unsigned i = 0; i < sim->lease_count; i++) {
        struct sim_lease *lease = &sim->leases[i];

        if (lease->key == key && lease->state == SIM_KEPT && lease->born <= born &&
            (stored == SIM_SURE || !sim_lease_is_kept(sim, lease))) {
            sim_lease_end(sim, lease);
        }
    }
}

/* A pause follows, if it was the refresh of what the key holds. */
static void refresh_failed(struct sim *sim, const struct sim_lease *lease, int64_t now_ms)
{
    const struct sim_key *k = &sim->keys[lease->key];

    if (lease->is_behind && k->state == SIM_HOLDS) {
        sim->values[k->holds].failures++;
        sim->values[k->holds].failed_ms = now_ms;
    }
}

void sim_lease_fails(struct sim *sim, struct sim_lease *lease)
{
    const struct sim_step *step = sim->step;

    if (lease->state == SIM_LEASED) {
        sim->keys[lease->key].failed_seq = step->seq;
        if (sim->depth == 1 && !sim_parked_on(sim, lease->key)) {
            refresh_failed(sim, lease, step->now.boot_ms);
        }
    }
    sim_lease_end(sim, lease);
}

void sim_leases_come_due(struct sim *sim, const struct hgi_now *now)
{
    for (unsigned i = 0; i < sim->lease_count; i++) {
        struct sim_lease *lease = &sim->leases[i];

        if (lease->state != SIM_OVER && lease->until_ms <= now->boot_ms) {
            lease->is_due = true;
            lease->is_unwatched = lease->state == SIM_LEASED && !sim_parked_on(sim, lease->key);
            sim->keys[lease->key].failed_seq = sim->step->seq; /* a refresh given up pauses */
        }
    }
}

void sim_leases_settle(struct sim *sim, const struct sim_step *tick)
{
    for (unsigned i = 0; i < sim->lease_count; i++) {
        struct sim_lease *lease = &sim->leases[i];

        if (lease->is_due) {
            sim->keys[lease->key].failed_seq = ++sim->seq;
            if (lease->is_unwatched && !tick->inner) {
                refresh_failed(sim, lease, tick->now.boot_ms);
            }
            lease->state = SIM_OVER;
            lease->is_due = false;
        }
    }
}

/* ---- slots ---- */

unsigned sim_leases_live(const struct sim *sim, unsigned key)
{
    unsigned count = 0;

    for (unsigned i = 0; i < sim->lease_count; i++) {
        const struct sim_lease *lease = &sim->leases[i];

        count += lease->state != SIM_OVER && (key == SIM_NO_KEY || lease->key == key);
    }
    return count;
}

bool sim_has_leader(const struct sim *sim, unsigned key)
{
    for (unsigned i = sim->lease_count; i > 0; i--) {
        if (sim->leases[i - 1].key == key && sim->leases[i - 1].state == SIM_LEASED) {
            return true;
        }
    }
    return false;
}

static int64_t kept_age(const struct sim *sim, const struct sim_lease *lease)
{
    return sim->now.boot_ms - sim->values[lease->value].published.boot_ms;
}

/* A kept slot answers whoever takes a value as old and of that birth, until it or its tags end. */
static bool may_answer(const struct sim *sim, const struct sim_lease *lease,
                       const struct sim_call *c, const struct hgi_now *now)
{
    const struct sim_value *value = &sim->values[lease->value];

    return lease->born >= c->min_generation && !sim_is_past(value, now) &&
           (c->max_age_ms < 0 || kept_age(sim, lease) <= c->max_age_ms) &&
           lease->born >= sim_tags_cover(sim, value->tags);
}

void sim_leases_lose_slot(struct sim *sim, unsigned key, const struct sim_call *call,
                          const struct sim_lease *own)
{
    for (unsigned i = 0; i < sim->lease_count; i++) {
        struct sim_lease *lease = &sim->leases[i];

        if (lease == own || lease->key != key || lease->state == SIM_OVER || !lease->holds_slot) {
            continue;
        }
        if (!call) {
            lease->is_slot_known = false;
        } else if (lease->is_slot_known && !lease->is_due) {
            SIM_EXPECT(sim, lease->state != SIM_LEASED || lease->born < call->min_generation,
                       "I12: a load or lease begins while lease %u is held", i);
            SIM_EXPECT(sim, lease->state != SIM_KEPT || !may_answer(sim, lease, call, &sim->now),
                       "a load or lease begins while the slot of lease %u is kept", i);
        }
        lease->holds_slot = false;
    }
}

void sim_leases_doubt_slot(struct sim *sim, const struct sim_call *call)
{
    if (!call->min_generation && call->max_age_ms < 0) {
        return;
    }
    for (unsigned i = 0; i < sim->lease_count; i++) {
        struct sim_lease *lease = &sim->leases[i];

        if (lease->key == call->key && (lease->born < call->min_generation ||
                                        (lease->state == SIM_KEPT && call->max_age_ms >= 0 &&
                                         kept_age(sim, lease) > call->max_age_ms))) {
            lease->is_slot_known = false;
        }
    }
}

static int64_t less(int64_t left_ms, int64_t age_ms)
{
    return left_ms > age_ms ? left_ms - age_ms : 0;
}

/* What is without its bytes is known by its birth: one slot of a key keeps what is born then. */
static bool is_kept_as(const struct sim *sim, const struct sim_lease *lease,
                       const struct sim_call *c, const struct hgi_answer *answer, unsigned value)
{
    return lease->state == SIM_KEPT && lease->key == c->key &&
           (value == SIM_STRIPPED ? sim->values[lease->value].is_stripped &&
                                        (lease->holds_slot || !lease->is_slot_known) &&
                                        lease->born == answer->generation
                                  : lease->value == value);
}

void sim_check_kept(struct sim *sim, const struct sim_call *c, const struct hgi_answer *answer,
                    unsigned value)
{
    const struct sim_lease *lease = NULL;
    int64_t age_ms;

    for (unsigned i = 0; i < sim->lease_count; i++) {
        if (is_kept_as(sim, &sim->leases[i], c, answer, value)) {
            lease = &sim->leases[i];
        }
    }
    SIM_EXPECT(sim, lease, "value %u was answered, and no slot keeps it", value);
    age_ms = kept_age(sim, lease);
    SIM_EXPECT(sim, answer->age_ms == age_ms, "a kept value is %lld ms old and says %lld",
               (long long)age_ms, (long long)answer->age_ms);
    SIM_EXPECT(sim,
               answer->ttl_left_ms == less(lease->ttl_left_ms, age_ms) &&
                   answer->stale_left_ms == less(lease->stale_left_ms, age_ms),
               "a kept value says that %lld and %lld ms are left", (long long)answer->ttl_left_ms,
               (long long)answer->stale_left_ms);
    SIM_EXPECT(sim, sim->values[sim->keys[c->key].newest].born <= lease->born,
               "I7: a slot answers what is older than value %u, which was stored",
               sim->keys[c->key].newest);
    SIM_EXPECT(sim, lease->holds_slot || !lease->is_slot_known,
               "value %u was answered from a slot that another has", value);
    SIM_EXPECT(sim, may_answer(sim, lease, c, &sim->now),
               "I5: value %u was answered from a kept slot after its end", value);
}

/* ---- who is next ---- */

struct sim_heirs sim_heirs_none(const struct sim *sim)
{
    return (struct sim_heirs){.is_known = !sim->depth};
}

/* Other flights of its key may have the callers that wait. */
static bool has_other_flight(const struct sim *sim, const struct sim_lease *lease)
{
    for (unsigned i = 0; i < sim->load_count; i++) {
        const struct sim_load *load = &sim->loads[i];

        if (load->key == lease->key && !load->is_ended && !load->is_cancelled) {
            return true;
        }
    }
    for (unsigned i = 0; i < sim->lease_count; i++) {
        const struct sim_lease *other = &sim->leases[i];

        if (other != lease && other->key == lease->key && other->state == SIM_LEASED) {
            return true;
        }
    }
    return false;
}

void sim_heirs_add(const struct sim *sim, const struct sim_lease *lease, struct sim_heirs *heirs)
{
    struct hgi_cache_stats stats;

    if (lease->state != SIM_LEASED) {
        return;
    }
    hgi_cache_stats(sim->cache, &stats);
    if (stats.queued || has_other_flight(sim, lease)) {
        heirs->is_known = false;
    }
    for (unsigned i = 0; i < sim->call_count; i++) {
        const struct sim_call *c = &sim->calls[i];

        if (!c->is_answered && c->key == lease->key && c->lead &&
            c->deadline_ms > sim->now.boot_ms) {
            heirs->count++;
            return;
        }
    }
}

void sim_check_heirs(const struct sim *sim, const struct sim_step *step,
                     const struct sim_heirs *heirs)
{
    SIM_EXPECT(sim, !heirs->is_known || step->inner || step->leases == heirs->count,
               "%u leases were handed on, and %u had somebody who asked to lead", step->leases,
               heirs->count);
}
