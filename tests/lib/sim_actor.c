/* SPDX-License-Identifier: Apache-2.0 */
/* Who acts, and what they may do: callers, the loader, time. One row an action. */
#include <stdio.h>

#include "base/check.h"
#include "sim.h"

/* ---- callers ---- */

void sim_answered(struct hgi_call *call, const struct hgi_answer *answer)
{
    struct sim_call *c = HGI_CONTAINER(call, struct sim_call, call);
    struct sim *sim = c->sim;

    sim_commit(sim);
    sim->step->answers++;
    sim_note(sim, "  answer: call, status", c->key, (uint64_t)(c - sim->calls), answer->status);
    sim_check_answer(sim, c, answer);
    c->is_answered = true;
    sim->open_count--;
    if (answer->status == HG_OK && answer->outcome != HG_NOT_CACHED &&
        (answer->source == HG_SOURCE_FRESH || answer->source == HG_SOURCE_STALE)) {
        sim->step->is_hit = sim->step->call == c;
        sim_record_read(sim, c->key, sim->step->begun_seq,
                        answer->value.len ? sim_seen(sim, answer) : SIM_STRIPPED,
                        answer->source == HG_SOURCE_FRESH);
    }
    /* The memory is the caller's again: who still reads it finds nonsense. */
    memset(&c->call, 0xa5, sizeof(c->call));
    sim_others(sim);
}

static void draw_bounds(struct sim *sim, struct sim_call *c)
{
    if (sim_chance(sim, 6)) {
        c->max_age_ms = sim_between(sim, 0, sim->policy.ttl_ms);
    }
    if (sim_chance(sim, 6)) {
        uint64_t generation = hgi_cache_generation(sim->cache);

        c->min_generation = sim_chance(sim, 8) ? generation + 1 : generation - sim_draw(sim, 3);
    }
}

static void read_key(struct sim *sim, unsigned actor)
{
    static const enum hg_mode modes[] = {
        HG_MODE_DEFAULT,    HG_MODE_FRESH,       HG_MODE_FRESH, HG_MODE_REVALIDATE,
        HG_MODE_REVALIDATE, HG_MODE_ALLOW_STALE, HG_MODE_PEEK};
    const struct hgi_policy *policy = &sim->policy;
    struct sim_call *c = &sim->calls[sim->call_count++];
    int64_t timeout_ms = sim_chance(sim, 2) ? sim_between(sim, 1, 1000) : 0;
    int64_t default_ms = policy->wait_budget_ms + (policy->alone ? policy->load_timeout_ms : 0);
    struct hgi_cache_stats before;
    struct hgi_cache_stats after;
    struct sim_step step;

    HGI_BUG_ON(sim->call_count > SIM_CALLS_MAX);
    *c = (struct sim_call){
        .sim = sim,
        .actor = actor,
        .key = sim_draw_key(sim),
        .mode = modes[sim_draw(sim, HGI_COUNT_OF(modes))],
        .max_age_ms = -1,
        .lead = sim->lead_in && sim_chance(sim, sim->lead_in),
        .deadline_ms = sim->now.boot_ms + (timeout_ms ? timeout_ms : default_ms),
        .budget_ms = sim->now.boot_ms + policy->wait_budget_ms,
    };
    draw_bounds(sim, c);
    c->call.key = hg_slice_text(sim->keys[c->key].text);
    c->call.mode = c->mode;
    c->call.max_age_ms = c->max_age_ms;
    c->call.timeout_ms = timeout_ms;
    c->call.min_generation = c->min_generation;
    c->call.lead = c->lead;
    c->call.holder = actor + 1;
    c->call.done = sim_answered;
    c->mode = c->mode == HG_MODE_DEFAULT ? policy->mode : c->mode;
    c->may_lead = sim_is_in_tick(sim);
    c->covers_at_begin = sim->keys[c->key].covers;
    c->cover_at_begin = sim->keys[c->key].cover.number;
    sim->open_count++;
    hgi_cache_stats(sim->cache, &before);
    sim_step_begin(sim, &step, SIM_READ, c->key);
    step.call = c;
    c->begun_seq = ++sim->seq;
    sim_note(sim, "read: call, mode", c->key, (uint64_t)(c - sim->calls), c->mode);
    hgi_cache_read(sim->cache, &c->call, &sim->scratch[sim->depth - 1], &step.now);
    sim_step_end(sim, &step);
    hgi_cache_stats(sim->cache, &after);
    if (after.queued != before.queued) {
        c->may_lead = true;
        sim_gives_slot(sim, c->key, c->min_generation);
        sim_leases_lose_slot(sim, c->key, step.inner ? NULL : c, NULL);
    }
    SIM_EXPECT(sim, !c->lead || !step.starts || c->is_answered,
               "a call asked to lead, and waits for a load that it began");
}

static void put_with(struct sim *sim, unsigned key, const struct sim_token *token)
{
    unsigned lot = sim_draw(sim, 10);
    char sentence[HGI_MESSAGE_MAX];
    struct hgi_entry entry;
    struct sim_step step;
    char text[256];
    char etag[24];
    struct hgi_put put = {
        .key = hg_slice_text(sim->keys[key].text),
        .outcome = lot < 6   ? HG_VALUE
                   : lot < 8 ? HG_ABSENT
                             : HG_DENIED,
        .has_if_generation = token != NULL,
        .if_generation = token ? token->generation : 0,
    };
    uint64_t last = token ? sim->keys[key].cover.number : 0;
    unsigned tags = sim_draw_tags(sim, &put.lifetime);
    bool is_expired;
    enum hg_status status;

    if (sim_chance(sim, 4)) {
        put.lifetime.ttl_ms = sim_between(sim, 1, sim->policy.ttl_ms * 2);
    }
    if (sim_chance(sim, 5)) {
        put.lifetime.expires_at_ms = sim->now.wall_ms + sim_between(sim, -5, 100);
    }
    if (token && sim_tags_cover(sim, tags) > last) {
        last = sim_tags_cover(sim, tags);
    }
    is_expired = put.lifetime.expires_at_ms && put.lifetime.expires_at_ms <= sim->now.wall_ms &&
                 !sim->policy.expired_is_denied;
    sim_step_begin(sim, &step, token ? SIM_PUT_IF : SIM_PUT, key);
    step.value = sim_value_new(sim, key, put.outcome, token ? token->seq : 0);
    sim_draw_etag(sim, step.value, &put.lifetime, etag, sizeof(etag));
    sim->values[step.value].lifetime = put.lifetime;
    sim->values[step.value].born = put.if_generation;
    sim->values[step.value].tags = tags;
    step.is_refused = is_expired;
    put.value = sim_value_text(step.value, sim_draw(sim, sizeof(text) - 16), text, sizeof(text));
    sim_note(sim, token ? "put: value, if_generation" : "put: value", key, step.value,
             put.if_generation);
    status = hgi_cache_put(sim->cache, &put, &step.now, &entry, sentence);
    step.is_refused = is_expired || (token && status != HG_OK);
    sim_step_end(sim, &step);
    sim->puts += status == HG_OK;
    if (is_expired) {
        SIM_EXPECT(sim, status == HG_FAILED_PRECONDITION, "an expired put was status %d", status);
        return;
    }
    if (token) {
        bool is_ahead = token->generation > hgi_cache_generation(sim->cache);

        SIM_EXPECT(sim, is_ahead == (status == HG_FAILED_PRECONDITION),
                   "a put from generation %llu was status %d",
                   (unsigned long long)token->generation, status);
        SIM_EXPECT(sim, status != HG_OK || token->generation >= last,
                   "I4: a put from generation %llu was let past invalidation %llu",
                   (unsigned long long)token->generation, (unsigned long long)last);
        return;
    }
    SIM_EXPECT(sim, status == HG_OK || (status == HG_RESOURCE_EXHAUSTED && !sim->is_roomy),
               "a put was status %d", status);
}

static void put_key(struct sim *sim, unsigned actor)
{
    (void)actor;
    put_with(sim, sim_draw_key(sim), NULL);
}

static void take_token(struct sim *sim, unsigned actor)
{
    sim->tokens[actor] = (struct sim_token){hgi_cache_generation(sim->cache), ++sim->seq, true};
}

static void put_if(struct sim *sim, unsigned actor)
{
    struct sim_token token = sim->tokens[actor];

    if (token.is_taken) {
        token.generation += sim_chance(sim, 20) ? 1000 : 0;
        put_with(sim, sim_draw_key(sim), &token);
    }
}

/* A key, tags, or both, hard or soft. */
static void invalidate(struct sim *sim, unsigned actor)
{
    unsigned tags = sim_chance(sim, 3) ? 1 + sim_draw(sim, (1u << SIM_TAGS) - 1) : 0;
    unsigned key = tags && sim_chance(sim, 2) ? SIM_NO_KEY : sim_draw_key(sim);
    uint64_t before = hgi_cache_generation(sim->cache);
    struct hg_slice slice = {NULL, 0};
    struct hgi_cover cover = {
        .keys = &slice,
        .key_count = key < SIM_KEYS,
        .tags = &sim->tag_names[tags == 2],
        .tag_count = tags == 3 ? 2 : tags > 0,
        .is_soft = sim_chance(sim, sim->soft_in),
    };
    struct hgi_report report;
    struct sim_step step;

    (void)actor;
    if (key < SIM_KEYS) {
        slice = hg_slice_text(sim->keys[key].text);
    }
    sim_step_begin(sim, &step, SIM_INVALIDATE, key);
    step.tags = tags;
    step.is_soft = cover.is_soft;
    sim_note(sim, cover.is_soft ? "invalidate softly: number, tags" : "invalidate: number, tags",
             key, before + 1, tags);
    hgi_cache_invalidate_cover(sim->cache, &cover, &step.now, &report);
    sim_step_end(sim, &step);
    sim->invalidations += cover.key_count + cover.tag_count;
    SIM_EXPECT(sim, report.generation == before + 1, "an invalidation took number %llu",
               (unsigned long long)report.generation);
}

static void clear(struct sim *sim, unsigned actor)
{
    uint64_t before = hgi_cache_generation(sim->cache);
    struct hgi_report report;
    struct sim_step step;

    (void)actor;
    sim_step_begin(sim, &step, SIM_CLEAR, SIM_NO_KEY);
    sim_note(sim, "clear", SIM_NO_KEY, before + 1, 0);
    hgi_cache_clear(sim->cache, &step.now, &report);
    sim_step_end(sim, &step);
    sim->clears++;
    SIM_EXPECT(sim, report.generation == before + 1, "a clear took number %llu",
               (unsigned long long)report.generation);
}

/* I13: who leaves is told so at once, and nobody else is. */
static void leave(struct sim *sim, unsigned actor)
{
    struct sim_step step;

    for (unsigned i = sim->call_count; i > 0; i--) {
        struct sim_call *c = &sim->calls[i - 1];

        if (c->actor != actor || c->is_answered || c->has_left) {
            continue;
        }
        c->has_left = true;
        sim_step_begin(sim, &step, SIM_LEAVE, c->key);
        step.call = c;
        sim_note(sim, "leave: call", c->key, i - 1, 0);
        hgi_cache_leave(sim->cache, &c->call, &step.now);
        sim_step_end(sim, &step);
        SIM_EXPECT(sim, step.answers <= 1, "I13: a caller left and %u were answered", step.answers);
        SIM_EXPECT(sim, c->is_answered || sim->depth, "call %u left and waits on", i - 1);
        c->has_left = c->is_answered;
        return;
    }
}

/* ---- the loader ---- */

/* One of the loads that have not ended, or NULL. */
static struct sim_load *draw_load(struct sim *sim)
{
    struct sim_load *loads[64];
    unsigned count = 0;

    for (unsigned i = sim->load_count; i > 0 && count < HGI_COUNT_OF(loads); i--) {
        if (!sim->loads[i - 1].is_ended) {
            loads[count++] = &sim->loads[i - 1];
        }
    }
    return count ? loads[sim_draw(sim, count)] : NULL;
}

static void load_sent(struct sim *sim, unsigned actor)
{
    struct sim_load *load = draw_load(sim);
    struct sim_step step;

    (void)actor;
    if (load && !load->is_sent) {
        sim_step_begin(sim, &step, SIM_SENT, load->key);
        load->is_sent = true;
        load->sent_ms = step.now.boot_ms;
        sim_note(sim, "load sent", load->key, load->load_id, 0);
        hgi_cache_load_sent(sim->cache, load->load_id, 0, &step.now);
        sim_step_end(sim, &step);
        SIM_EXPECT(sim, !step.answers, "sending a load answered somebody");
    }
}

static void load_done(struct sim *sim, unsigned actor)
{
    struct sim_load *load = draw_load(sim);

    (void)actor;
    if (load && !load->is_stuck) {
        sim_load_done(sim, load, false);
    }
}

static void load_lost(struct sim *sim, unsigned actor)
{
    struct sim_load *load = draw_load(sim);
    struct sim_step step;

    (void)actor;
    if (load) {
        sim_step_begin(sim, &step, SIM_LOST, load->key);
        step.load = load;
        sim_note(sim, "load lost", load->key, load->load_id, load->attempt);
        sim->lost++;
        hgi_cache_load_lost(sim->cache, load->load_id, &step.now);
        sim_step_end(sim, &step);
    }
}

/* A result for a load that has ended is dropped. */
static void load_again(struct sim *sim, unsigned actor)
{
    const struct hgi_result result = {.status = HG_OK, .outcome = HG_VALUE};
    unsigned i = sim->load_count ? sim_draw(sim, sim->load_count) : 0;
    struct sim_step step;

    (void)actor;
    if (sim->load_count && sim->loads[i].is_ended) {
        sim_step_begin(sim, &step, SIM_SENT, sim->loads[i].key);
        sim_note(sim, "load done again", sim->loads[i].key, sim->loads[i].load_id, 0);
        hgi_cache_load_done(sim->cache, sim->loads[i].load_id, &result, &step.now);
        sim_step_end(sim, &step);
        SIM_EXPECT(sim, !step.answers && !step.starts, "a load ended twice");
    }
}

/* ---- time ---- */

void sim_tick(struct sim *sim)
{
    struct sim_heirs heirs = sim_heirs_none(sim);
    struct sim_step step;

    sim_step_begin(sim, &step, SIM_TICK, SIM_NO_KEY);
    for (unsigned i = 0; i < sim->lease_count; i++) {
        if (sim->leases[i].until_ms <= step.now.boot_ms) {
            sim_heirs_add(sim, &sim->leases[i], &heirs);
        }
    }
    sim_commit(sim);
    sim_note(sim, "tick", SIM_NO_KEY, 0, 0);
    hgi_cache_tick(sim->cache, &step.now);
    sim_step_end(sim, &step);
    sim_leases_settle(sim, &step);
    sim_check_heirs(sim, &step, &heirs);
    sim_check_deadlines(sim);
}

/* When one of the last leases, or its slot, runs out. */
static int64_t draw_lease_end(struct sim *sim)
{
    unsigned back = sim_draw(sim, 4);

    return back < sim->lease_count ? sim->leases[sim->lease_count - 1 - back].until_ms : 0;
}

/* The next instants that matter are met exactly, and just missed. */
static int64_t draw_pause(struct sim *sim)
{
    const struct sim_key *k = &sim->keys[sim_draw_key(sim)];
    const struct sim_value *value = &sim->values[k->holds];
    int64_t at_ms = 0;

    if (k->state == SIM_HOLDS && sim_chance(sim, 2)) {
        switch (sim_draw(sim, 4)) {
        case 0:
            at_ms = value->published.boot_ms + sim_ttl_max(sim, value);
            break;
        case 1:
            at_ms = value->published.boot_ms + sim_stale_max(sim, value);
            break;
        case 2:
            at_ms = sim->now.boot_ms + value->lifetime.expires_at_ms - sim->now.wall_ms;
            break;
        default:
            at_ms = value->published.boot_ms + sim_stale_max(sim, value) +
                    sim->policy.stale_if_error_ms;
            break;
        }
        at_ms += (int64_t)sim_draw(sim, 2);
    } else if (sim->lead_in && sim_chance(sim, 4)) {
        at_ms = draw_lease_end(sim) + (int64_t)sim_draw(sim, 2) - (int64_t)sim_draw(sim, 2);
    }
    return at_ms > sim->now.boot_ms && at_ms < sim->now.boot_ms + 1000 ? at_ms - sim->now.boot_ms
                                                                       : sim_between(sim, 1, 30);
}

/* Somebody sets the clock. What had expired by it may be gone, or be there again. */
static void set_clock(struct sim *sim)
{
    for (unsigned i = 0; i < SIM_KEYS; i++) {
        struct sim_key *k = &sim->keys[i];

        if (k->state == SIM_HOLDS && sim_is_past(&sim->values[k->holds], &sim->now)) {
            k->state = SIM_UNKNOWN;
            k->rests = SIM_ANYTHING;
        } else if (k->rests != SIM_ANYTHING && sim_is_past(&sim->values[k->rests], &sim->now)) {
            k->rests = SIM_ANYTHING;
        }
    }
    sim_record_clock(sim);
    sim->now.wall_ms += sim_between(sim, -500, 500);
}

static void pass(struct sim *sim, unsigned actor)
{
    int64_t pause_ms;

    (void)actor;
    if (sim->depth) {
        return; /* a thread that is in the engine read the clock before */
    }
    pause_ms = draw_pause(sim);
    sim->now.boot_ms += pause_ms;
    sim->now.wall_ms += pause_ms;
    if (sim_chance(sim, 30)) {
        set_clock(sim);
    }
    sim_note(sim, "time passes", SIM_NO_KEY, (uint64_t)pause_ms, 0);
    if (!sim_chance(sim, 4)) {
        sim_tick(sim);
    }
}

static void look(struct sim *sim, unsigned actor)
{
    (void)actor;
    if (sim->depth) {
        (void)sim_peek(sim, sim_draw_key(sim));
    } else {
        sim_check_register(sim, sim_draw_key(sim));
    }
}

/* ---- the table of actions ---- */

static const struct {
    void (*act)(struct sim *sim, unsigned actor);
    unsigned weight;
} actions[] = {
    {read_key, 60},   {put_key, 8},         {take_token, 5}, {put_if, 6},      {invalidate, 8},
    {clear, 4},       {leave, 5},           {load_sent, 40}, {load_done, 35},  {load_lost, 4},
    {load_again, 2},  {pass, 25},           {look, 12},      {sim_fulfil, 20}, {sim_renew, 4},
    {sim_release, 4}, {sim_holder_gone, 3},
};

void sim_draw_weights(struct sim *sim)
{
    static const unsigned factors[] = {0, 1, 2, 4, 4, 4, 8, 16};

    for (size_t i = 0; i < HGI_COUNT_OF(actions); i++) {
        sim->weights[i] = actions[i].weight * factors[sim_draw(sim, HGI_COUNT_OF(factors))];
    }
    sim->weights[0] += actions[0].weight;
}

void sim_act(struct sim *sim)
{
    unsigned actor = sim_draw(sim, sim->actor_count);
    unsigned total = 0;
    unsigned lot;
    size_t i = 0;

    for (size_t j = 0; j < HGI_COUNT_OF(actions); j++) {
        total += sim->weights[j];
    }
    lot = sim_draw(sim, total);
    while (lot >= sim->weights[i]) {
        lot -= sim->weights[i++];
    }
    actions[i].act(sim, actor);
}
