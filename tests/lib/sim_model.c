/* SPDX-License-Identifier: Apache-2.0 */
/* What each step does to each key, worked out from the semantics and not from the engine: which
 * invalidation covers it last, which value it holds, and what lifetimes that value may have. */
#include <stdio.h>

#include "base/bytes.h"
#include "base/check.h"
#include "sim.h"

/* ---- values ---- */

unsigned sim_value_new(struct sim *sim, unsigned key, enum hg_outcome outcome, uint64_t begun_seq)
{
    unsigned value = sim->value_count++;

    HGI_BUG_ON(sim->value_count > SIM_VALUES_MAX);
    sim->values[value] = (struct sim_value){
        .key = key, .outcome = outcome, .begun_seq = begun_seq, .first = value, .latest = value};
    return value;
}

static unsigned char filler_of(unsigned value)
{
    return (unsigned char)('a' + value % 26);
}

struct hg_slice sim_value_text(unsigned value, size_t filler, char *buffer, size_t size)
{
    size_t len = (size_t)snprintf(buffer, size, "%u:", value);

    HGI_BUG_ON(len + filler > size);
    memset(buffer + len, filler_of(value), filler);
    return hg_slice_of(buffer, len + filler);
}

unsigned sim_value_of(const struct sim *sim, struct hg_slice bytes)
{
    const unsigned char *text = bytes.data;
    unsigned value = 0;
    size_t i = 0;

    while (i < bytes.len && text[i] != ':') {
        value = value * 10 + (unsigned)(text[i++] - '0');
    }
    SIM_EXPECT(sim, value && value < sim->value_count, "an answer nobody gave: \"%.*s\"",
               (int)bytes.len, (const char *)text);
    for (i++; i < bytes.len; i++) {
        SIM_EXPECT(sim, text[i] == filler_of(value), "value %u comes back damaged", value);
    }
    return value;
}

static int64_t given_or(int64_t own_ms, int64_t given_ms)
{
    return given_ms > 0 && given_ms < own_ms ? given_ms : own_ms;
}

int64_t sim_stale_max(const struct sim *sim, const struct sim_value *value)
{
    const struct hgi_policy *policy = &sim->policy;
    int64_t own_ms = policy->stale_ttl_ms;

    if (value->outcome != HG_VALUE) {
        return given_or(policy->negative_ttl_ms, value->lifetime.ttl_ms);
    }
    if (policy->stale_ttl_ms <= policy->ttl_ms) {
        own_ms = given_or(policy->ttl_ms, value->lifetime.ttl_ms);
    }
    return given_or(own_ms, value->lifetime.stale_ttl_ms);
}

int64_t sim_ttl_max(const struct sim *sim, const struct sim_value *value)
{
    int64_t stale_ms = sim_stale_max(sim, value);

    if (value->outcome != HG_VALUE) {
        return stale_ms;
    }
    return given_or(given_or(sim->policy.ttl_ms, value->lifetime.ttl_ms), stale_ms);
}

bool sim_is_past(const struct sim_value *value, const struct hgi_now *now)
{
    int64_t expires_ms = value->lifetime.expires_at_ms;

    return expires_ms && (now->wall_ms >= expires_ms || now->boot_ms >= value->expires_boot_ms);
}

bool sim_may_be_gone(const struct sim *sim, const struct sim_value *value,
                     const struct hgi_now *now)
{
    return !sim->is_roomy || sim_is_past(value, now) ||
           now->boot_ms - value->published.boot_ms >
               sim_stale_max(sim, value) * (100 - sim->policy.jitter_percent) / 100;
}

bool sim_may_be_unfresh(const struct sim *sim, const struct sim_value *value)
{
    int64_t ttl_ms = sim_ttl_max(sim, value);

    ttl_ms -= ttl_ms * sim->policy.jitter_percent / 100;
    return sim_is_past(value, &sim->now) || sim->now.boot_ms - value->published.boot_ms > ttl_ms;
}

bool sim_is_fenced(const struct sim *sim, const struct sim_load *load)
{
    if (load->is_ended) {
        return load->was_fenced;
    }
    return load->is_born_known && load->born < sim->keys[load->key].cover.number;
}

unsigned sim_draw_tags(struct sim *sim, struct hgi_lifetime *lifetime)
{
    unsigned tags = sim_chance(sim, 2) ? sim_draw(sim, 1u << SIM_TAGS) : 0;

    lifetime->tags = &sim->tag_names[tags == 2];
    lifetime->tag_count = tags == 3 ? 2 : tags > 0;
    return tags;
}

uint64_t sim_tags_cover(const struct sim *sim, unsigned tags)
{
    uint64_t last = 0;

    for (unsigned i = 0; i < SIM_TAGS; i++) {
        if ((tags & (1u << i)) && sim->tags[i].number > last) {
            last = sim->tags[i].number;
        }
    }
    return last;
}

/* ---- what a step does ---- */

void sim_may_lead(struct sim *sim, unsigned key)
{
    for (unsigned i = 0; i < sim->call_count; i++) {
        if (!sim->calls[i].is_answered && sim->calls[i].key == key) {
            sim->calls[i].may_lead = true;
            sim_leases_doubt_slot(sim, &sim->calls[i]);
        }
    }
}

/* Under on_fenced = reload everybody parked is sent back to look; under deliver the beginners stay,
 * and who they are the scheduler does not know. */
static void count_rounds(struct sim *sim, unsigned key)
{
    if (sim->policy.on_fenced != HGI_ON_FENCED_RELOAD || sim->depth > 1) {
        return;
    }
    for (unsigned i = 0; i < sim->call_count; i++) {
        if (!sim->calls[i].is_answered && sim->calls[i].key == key) {
            sim->calls[i].rounds++;
        }
    }
}

static void covers(struct sim *sim, const struct sim_step *step, struct sim_cover *cover)
{
    cover->number = hgi_cache_generation(sim->cache);
    cover->seq = step->seq;
    if (!step->is_soft) {
        cover->hard = cover->number;
    }
}

static void cover(struct sim *sim, struct sim_step *step, unsigned key)
{
    struct sim_key *k = &sim->keys[key];

    k->rests = step->is_soft ? sim_rests(sim, key) : 0;
    covers(sim, step, &k->cover);
    k->covers++;
    k->state = SIM_NOTHING;
    k->ghost = 0;
    step->keys[key] = k->cover;
    sim_leases_end(sim, key);
    sim_may_lead(sim, key);
}

/* Its entries end; loads are found out when they end with it. */
static void cover_tags(struct sim *sim, struct sim_step *step)
{
    for (unsigned i = 0; i < SIM_TAGS; i++) {
        if (step->tags & (1u << i)) {
            covers(sim, step, &sim->tags[i]);
            step->tags_cover[i] = sim->tags[i];
        }
    }
    for (unsigned i = 0; i < SIM_KEYS; i++) {
        struct sim_key *k = &sim->keys[i];

        unsigned rests = sim_rests(sim, i);

        if (k->state != SIM_HOLDS && rests != SIM_ANYTHING && !step->is_soft &&
            (sim->values[rests].tags & step->tags)) {
            k->rests = 0;
        }
        if (k->state == SIM_HOLDS && (sim->values[k->holds].tags & step->tags)) {
            k->rests = step->is_soft ? rests : 0;
            /* What is soft is not found fresh, and still keeps out what was born before it. */
            k->state = step->is_soft ? SIM_UNKNOWN : SIM_NOTHING;
            k->ghost = sim->values[k->holds].born;
        }
    }
    if (step->tags) {
        sim->all_failures_seq = step->seq;
        step->all_failures_seq = step->seq;
    }
}

/* Older values of the key are not to be seen again. */
static void is_newest(struct sim *sim, unsigned value)
{
    struct sim_key *k = &sim->keys[sim->values[value].key];

    if (!k->newest || sim->values[value].born >= sim->values[k->newest].born) {
        k->newest = value;
    }
}

void sim_published(struct sim *sim, struct sim_step *step, uint64_t born, bool is_born_known)
{
    struct sim_value *value = &sim->values[step->value];

    value->is_published = true;
    value->published = step->now;
    value->published_seq = step->seq;
    value->born = born;
    value->is_born_known = is_born_known;
    value->expires_boot_ms = step->now.boot_ms + value->lifetime.expires_at_ms - step->now.wall_ms;
    if (value->lifetime.expires_at_ms && value->lifetime.expires_at_ms <= step->now.wall_ms) {
        value->is_stripped = true;
        value->outcome = HG_DENIED;
        value->lifetime.expires_at_ms = 0;
    }
}

static void holds(struct sim *sim, unsigned value)
{
    struct sim_key *k = &sim->keys[sim->values[value].key];

    k->state = SIM_HOLDS;
    k->holds = value;
    k->rests = 0;
    k->ghost = 0;
    is_newest(sim, value);
}

void sim_stored(struct sim *sim, unsigned value)
{
    struct sim_key *k = &sim->keys[sim->values[value].key];
    bool is_born_known = sim->values[value].is_born_known;

    if (is_born_known) {
        k->newest = 0;
        holds(sim, value);
    } else {
        k->state = SIM_UNKNOWN;
        k->rests = value;
    }
    sim_leases_end_kept(sim, sim->values[value].key,
                        is_born_known ? sim->values[value].born : UINT64_MAX,
                        is_born_known ? SIM_SURE : SIM_MAYBE);
}

static void commit_put(struct sim *sim, struct sim_step *step)
{
    if (step->is_refused) {
        return;
    }
    if (step->kind == SIM_PUT) {
        cover(sim, step, step->key);
        sim->values[step->value].begun_seq = step->seq;
        sim_published(sim, step, sim->keys[step->key].cover.number, true);
    } else {
        sim_published(sim, step, sim->values[step->value].born, true);
    }
    holds(sim, step->value);
    sim_leases_end_kept(sim, step->key, sim->values[step->value].born, SIM_SURE);
}

bool sim_is_in_tick(const struct sim *sim)
{
    for (const struct sim_step *step = sim->step; step; step = step->outer) {
        if (step->kind == SIM_TICK) {
            return true;
        }
    }
    return false;
}

/* `is_sure`: the engine knows of it as a failure, and not as a load to try again or given up. */
static void failed(struct sim *sim, struct sim_step *step, const struct sim_load *load,
                   bool is_sure)
{
    struct sim_key *k = &sim->keys[load->key];

    k->failed_seq = step->seq;
    sim_may_lead(sim, load->key);
    if (is_sure && k->state == SIM_HOLDS && load->is_born_known && !sim_is_fenced(sim, load)) {
        sim->values[k->holds].failures++;
        sim->values[k->holds].failed_ms = step->now.boot_ms;
    }
}

static void end_load(struct sim *sim, struct sim_step *step)
{
    struct sim_load *load = step->load;

    load->was_fenced = sim_is_fenced(sim, load);
    load->is_ended = true;
    load->ended_seq = step->seq;
    load->ended_ms = step->now.boot_ms;
    sim->running_count--;
}

/* What is not to be stored ends what it contradicts. */
static void contradict(struct sim *sim, struct sim_step *step, uint64_t born)
{
    struct sim_key *k = &sim->keys[step->key];
    bool is_older = k->state == SIM_HOLDS && sim->values[k->holds].born > born;
    unsigned rests = sim_rests(sim, step->key);

    if (k->state != SIM_HOLDS && rests != SIM_ANYTHING && sim->values[rests].born <= born) {
        k->rests = sim->values[rests].is_born_known ? 0 : SIM_ANYTHING;
    }
    if (is_older && sim_may_be_gone(sim, &sim->values[k->holds], &step->now)) {
        k->state = SIM_UNKNOWN;
        k->rests = SIM_ANYTHING;
    } else if (!is_older && k->state == SIM_HOLDS) {
        k->state = SIM_NOTHING;
        k->rests = 0;
    }
}

/* What a load or a lease brought, and nothing had overtaken, is stored. Whether what is younger, or
 * its ghost, was there still, and whether there was room, is told by the engine's counters, and
 * they by what may have been. */
static void store(struct sim *sim, struct sim_step *step, uint64_t born)
{
    struct sim_key *k = &sim->keys[step->key];
    bool is_older = k->state == SIM_HOLDS && sim->values[k->holds].born > born;
    struct sim_fates now = sim_fates_now(sim);

    if (sim->values[step->value].lifetime.no_store || !sim->values[step->value].is_published) {
        contradict(sim, step, born);
    } else if (now.superseded > step->fates.superseded) {
        SIM_EXPECT(sim, is_older || k->state == SIM_UNKNOWN || k->ghost > born,
                   "value %u is superseded, and nothing younger is there", step->value);
    } else if (now.not_stored > step->fates.not_stored) {
        SIM_EXPECT(sim, !sim->is_roomy, "value %u found no room", step->value);
        k->state = SIM_NOTHING;
        k->rests = 0;
        k->newest = 0; /* what was younger had been evicted: that is not what kept it out */
    } else {
        SIM_EXPECT(sim, !is_older || sim_may_be_gone(sim, &sim->values[k->holds], &step->now),
                   "I7: value %u replaced a younger one", step->value);
        sim_stored(sim, step->value);
    }
}

/* A load that may have been given up, or that began nobody knows when. */
static void may_be_stored(struct sim *sim, const struct sim_step *step)
{
    const struct sim_load *load = step->load;
    struct sim_fates now = sim_fates_now(sim);

    sim->keys[step->key].state = SIM_UNKNOWN;
    sim->keys[step->key].rests = SIM_ANYTHING;
    if (!sim->values[step->value].lifetime.no_store && now.late == step->fates.late &&
        now.superseded == step->fates.superseded && now.not_stored == step->fates.not_stored) {
        sim_leases_end_kept(sim, step->key, load->is_born_known ? load->born : UINT64_MAX,
                            SIM_MAYBE);
    }
}

/* Had expired when it came, and is no denial for it. */
static bool is_too_late(const struct sim *sim, const struct sim_step *step)
{
    int64_t expires_ms = step->result->lifetime.expires_at_ms;

    return step->result->status == HG_OK && expires_ms && expires_ms <= step->now.wall_ms &&
           !sim->policy.expired_is_denied;
}

static void commit_done(struct sim *sim, struct sim_step *step)
{
    struct sim_load *load = step->load;
    struct sim_key *k = &sim->keys[load->key];
    struct sim_value *value = &sim->values[step->value];

    end_load(sim, step);
    if (load->is_cancelled) {
        return;
    }
    if (step->result->status != HG_OK || sim_is_unfounded(step) || is_too_late(sim, step)) {
        failed(sim, step, load, !sim_is_in_tick(sim));
    }
    if (step->result->status != HG_OK || sim_is_unfounded(step)) {
        return;
    }
    if (sim_is_confirming(step)) {
        sim_commit_unchanged(sim, step);
        return;
    }
    step->effect = sim_is_in_tick(sim) || !load->is_handed ? SIM_MAYBE : SIM_SURE;
    value->lifetime = step->result->lifetime;
    value->born = load->born;
    value->is_born_known = load->is_born_known;
    if (!is_too_late(sim, step)) {
        sim_published(sim, step, load->born, load->is_born_known);
    } else {
        value->tags = 0; /* an error has none */
    }
    if (sim_tags_cover(sim, value->tags)) {
        k->covers++; /* it may be found overtaken only now */
        sim_may_lead(sim, load->key);
    }
    if (!load->is_born_known || sim_is_in_tick(sim) || !load->is_handed) {
        may_be_stored(sim, step); /* given up, perhaps, and not yet cancelled */
    } else if (!load->was_fenced && load->born >= sim_tags_cover(sim, value->tags)) {
        store(sim, step, load->born);
    }
}

/* What is published, and nothing younger was stored: a slot keeps it. Of what is not to be stored
 * that is sure only if no number was taken. */
static bool is_to_be_kept(const struct sim *sim, const struct sim_step *step)
{
    const struct sim_value *newest = &sim->values[sim->keys[step->key].newest];

    if (step->result->lifetime.no_store && step->generation != step->lease->born) {
        return false;
    }
    return sim->values[step->value].is_published && newest->born <= step->lease->born &&
           sim_fates_now(sim).superseded == step->fates.superseded;
}

static void commit_fulfil(struct sim *sim, struct sim_step *step)
{
    struct sim_lease *lease = step->lease;
    struct sim_key *k = &sim->keys[step->key];
    struct sim_value *value = &sim->values[step->value];
    bool is_error = step->result->status != HG_OK;

    if (step->is_refused) {
        return;
    }
    if (is_error && sim->policy.on_error != HGI_ON_ERROR_SHARE) {
        sim_lease_fails(sim, lease);
        return;
    }
    sim_lease_end(sim, lease);
    if (is_error || is_too_late(sim, step)) {
        k->failed_seq = step->seq;
        if (k->state == SIM_HOLDS) {
            sim->values[k->holds].failures++;
            sim->values[k->holds].failed_ms = step->now.boot_ms;
        }
    }
    if (is_error) {
        return;
    }
    step->effect = SIM_SURE;
    value->lifetime = step->result->lifetime;
    value->born = lease->born;
    value->is_born_known = true;
    if (is_too_late(sim, step)) {
        value->tags = 0;
    }
    if (lease->born < sim_tags_cover(sim, value->tags)) {
        k->covers++; /* nobody gets it: who waited looks again */
        sim_may_lead(sim, step->key);
        return;
    }
    if (!is_too_late(sim, step)) {
        sim_published(sim, step, lease->born, true);
    }
    store(sim, step, lease->born);
    if (step->keep_ms > 0 && lease->holds_slot && is_to_be_kept(sim, step)) {
        lease->state = SIM_KEPT;
        lease->value = step->value;
        lease->until_ms = step->now.boot_ms + step->keep_ms;
        lease->ttl_left_ms = step->fulfilled->ttl_left_ms;
        lease->stale_left_ms = step->fulfilled->stale_left_ms;
    }
}

static void commit_gone(struct sim *sim, struct sim_step *step)
{
    sim->gone_seq[step->holder] = step->seq;
    for (unsigned i = 0; i < sim->lease_count; i++) {
        if (sim->leases[i].holder == step->holder) {
            sim_lease_fails(sim, &sim->leases[i]);
        }
    }
}

static void commit_tick(struct sim *sim, struct sim_step *step)
{
    for (unsigned i = 0; i < sim->load_count; i++) {
        struct sim_load *load = &sim->loads[i];

        if (!load->is_ended && !load->is_cancelled && load->is_sent &&
            load->sent_ms + sim->policy.load_timeout_ms <= step->now.boot_ms) {
            load->is_due = true;
            failed(sim, step, load, false);
        }
    }
    sim_leases_come_due(sim, &step->now);
}

void sim_commit(struct sim *sim)
{
    struct sim_step *step = sim->step;

    if (step->is_committed) {
        return;
    }
    step->is_committed = true;
    step->seq = ++sim->seq;
    step->generation = hgi_cache_generation(sim->cache);
    switch (step->kind) {
    case SIM_CLEAR:
        for (unsigned i = 0; i < SIM_KEYS; i++) {
            cover(sim, step, i);
            count_rounds(sim, i);
        }
        break;
    case SIM_INVALIDATE:
        if (step->key < SIM_KEYS) {
            cover(sim, step, step->key);
            count_rounds(sim, step->key);
        }
        cover_tags(sim, step);
        break;
    case SIM_PUT:
    case SIM_PUT_IF:
        commit_put(sim, step);
        break;
    case SIM_DONE:
        commit_done(sim, step);
        break;
    case SIM_LOST:
        end_load(sim, step);
        sim->keys[step->load->key].covers++;
        failed(sim, step, step->load, step->load->attempt == 2 && !step->load->is_cancelled);
        break;
    case SIM_TICK:
        commit_tick(sim, step);
        break;
    case SIM_FULFIL:
        commit_fulfil(sim, step);
        break;
    case SIM_RELEASE:
        if (!step->is_refused) {
            sim_lease_fails(sim, step->lease);
        }
        break;
    case SIM_GONE:
        commit_gone(sim, step);
        break;
    case SIM_STOP:
        sim_leases_end(sim, SIM_NO_KEY);
        break;
    case SIM_READ:
    case SIM_LEAVE:
    case SIM_SENT:
    case SIM_RENEW:
        break;
    }
}
