/* SPDX-License-Identifier: Apache-2.0 */
/* What every answer is held to. The numbers are those of the invariants in docs/TESTING.md. */
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/check.h"
#include "sim.h"

#define PAUSE_MS    100 /* of the first failed refresh, doubling; at least half is kept */
#define PAUSE_MAX   10000
#define DOUBLED_MAX 16 /* a remembered failure lasts at most this many times error_backoff */

/* ---- values ---- */

/* What is softly invalidated still answers those who take stale, and stands in for errors. */
static bool takes_softened(const struct sim *sim, const struct sim_call *c,
                           const struct hgi_answer *answer)
{
    return answer->source == HG_SOURCE_STALE &&
           (c->mode == HG_MODE_ALLOW_STALE || c->mode == HG_MODE_REVALIDATE ||
            sim->policy.stale_if_error_ms > 0);
}

static void check_cover(const struct sim *sim, const struct sim_cover *cover, bool is_soft_enough,
                        const struct hgi_answer *answer, const struct sim_value *value)
{
    uint64_t bound = is_soft_enough ? cover->hard : cover->number;

    SIM_EXPECT(sim, answer->generation >= bound,
               "I1: generation %llu was answered after invalidation %llu",
               (unsigned long long)answer->generation, (unsigned long long)bound);
    SIM_EXPECT(sim, is_soft_enough || !value || value->begun_seq >= cover->seq,
               "I1: a value whose load began before the last invalidation was answered");
}

/* I1, I9: the key's register holds its last put, or what a load or token brought that began after
 * the last invalidation. Only the beginner of an overtaken load may get more, and is told so. */
static void check_age_of_truth(struct sim *sim, const struct sim_call *c,
                               const struct hgi_answer *answer, const struct sim_value *value)
{
    const struct sim_step *step = sim->step;
    bool is_excused = answer->is_fenced && sim->policy.on_fenced == HGI_ON_FENCED_DELIVER &&
                      answer->source == HG_SOURCE_LOADED;
    bool is_soft_enough = takes_softened(sim, c, answer);
    unsigned tags = value ? value->tags : (1u << SIM_TAGS) - 1;

    if (!is_excused) {
        check_cover(sim, &step->keys[c->key], is_soft_enough, answer, value);
        SIM_EXPECT(sim, is_soft_enough || answer->generation >= c->cover_at_begin,
                   "I1: a call was answered from before it was made");
        for (unsigned i = 0; value && i < SIM_TAGS; i++) {
            if (tags & (1u << i)) {
                check_cover(sim, &step->tags_cover[i], is_soft_enough, answer, value);
            }
        }
    }
    SIM_EXPECT(sim, !answer->is_fenced || is_excused,
               "only the beginner, under deliver, gets an overtaken result");
    SIM_EXPECT(sim,
               !answer->is_fenced || answer->generation < sim->keys[c->key].cover.number ||
                   answer->generation < sim_tags_cover(sim, tags),
               "an answer is flagged fenced, and nothing overtook it");
    SIM_EXPECT(sim, answer->generation >= c->min_generation,
               "min_generation %llu was answered with %llu", (unsigned long long)c->min_generation,
               (unsigned long long)answer->generation);
}

/* A value behind which a refresh has failed gets its next one after the pause. */
static void check_pause(const struct sim *sim, unsigned id)
{
    const struct sim_step *step = sim->step;
    int64_t pause_ms = PAUSE_MS;

    if (step->kind != SIM_READ || !(step->starts || step->leases) || id != step->held ||
        !step->held_failures) {
        return;
    }
    for (unsigned i = 1; i < step->held_failures && pause_ms < PAUSE_MAX; i++) {
        pause_ms *= 2;
    }
    pause_ms = pause_ms < PAUSE_MAX ? pause_ms : PAUSE_MAX;
    SIM_EXPECT(sim, step->now.boot_ms >= step->held_failed_ms + pause_ms / 2,
               "I7: a refresh began %lld ms after one had failed, the pause is at least %lld ms",
               (long long)(step->now.boot_ms - step->held_failed_ms), (long long)(pause_ms / 2));
}

/* Whoever is answered stale by revalidate refreshes, with a lease or a load, unless somebody does
 * already, or did lately and failed, or there is no room. */
static void check_behind(const struct sim *sim, const struct sim_call *c,
                         const struct hgi_answer *answer, const struct sim_value *value)
{
    struct hgi_cache_stats stats;

    if (c->mode != HG_MODE_REVALIDATE || answer->lease_id || sim->is_stopped || sim->depth > 1 ||
        sim->step->kind != SIM_READ) {
        return;
    }
    hgi_cache_stats(sim->cache, &stats);
    if (!c->lead &&
        (!sim->has_loader || sim->step->starts || sim->running_count >= sim->policy.max_loads)) {
        return;
    }
    SIM_EXPECT(sim,
               sim_has_load(sim, c->key) || sim_leases_live(sim, c->key) || stats.queued ||
                   sim->keys[c->key].failed_seq > value->published_seq,
               "a stale answer came without a lease or a load, and nobody refreshes");
}

/* I5, I8: from the table: within its lifetimes, and not replaced since. */
static void check_cached(struct sim *sim, const struct sim_call *c, const struct hgi_answer *answer,
                         unsigned id)
{
    const struct sim_step *step = sim->step;
    const struct sim_value *value = &sim->values[id];
    const struct sim_value *newest = &sim->values[step->newest[c->key]];
    int64_t age_ms = step->now.boot_ms - value->published.boot_ms;
    int64_t stale_ms = sim_stale_max(sim, value);
    int64_t ttl_ms = sim_ttl_max(sim, value);

    SIM_EXPECT(sim, !value->lifetime.no_store, "value %u was not to be stored", id);
    SIM_EXPECT(sim, answer->age_ms == age_ms, "value %u is %lld ms old and says %lld", id,
               (long long)age_ms, (long long)answer->age_ms);
    SIM_EXPECT(sim, !sim_is_past(value, &step->now), "I5: value %u is past its expires_at", id);
    SIM_EXPECT(sim, answer->ttl_left_ms <= (ttl_ms > age_ms ? ttl_ms - age_ms : 0),
               "value %u says %lld ms of ttl left", id, (long long)answer->ttl_left_ms);
    SIM_EXPECT(sim,
               !newest->is_published || newest == value ||
                   newest->published_seq < value->published_seq || value->born > newest->born,
               "I7: value %u was answered after a newer one had replaced it", id);
    check_pause(sim, id);
    if (answer->source == HG_SOURCE_FRESH) {
        SIM_EXPECT(sim, age_ms <= ttl_ms, "%s: value %u is %lld ms old and fresh, its ttl is %lld",
                   value->outcome == HG_VALUE ? "I5" : "I8", id, (long long)age_ms,
                   (long long)ttl_ms);
        SIM_EXPECT(sim, c->max_age_ms < 0 || age_ms <= c->max_age_ms,
                   "value %u is older than its reader's max_age", id);
        return;
    }
    SIM_EXPECT(sim, value->outcome == HG_VALUE, "I8: a negative was served stale");
    SIM_EXPECT(sim, c->mode != HG_MODE_PEEK, "a peek was answered stale");
    check_behind(sim, c, answer, value);
    if (age_ms <= stale_ms && (c->mode == HG_MODE_ALLOW_STALE || c->mode == HG_MODE_REVALIDATE)) {
        return;
    }
    SIM_EXPECT(sim, age_ms <= stale_ms + sim->policy.stale_if_error_ms,
               "I5: value %u is %lld ms old, %lld may be served", id, (long long)age_ms,
               (long long)(stale_ms + sim->policy.stale_if_error_ms));
    SIM_EXPECT(sim,
               sim->policy.stale_if_error_ms > 0 &&
                   (sim->keys[c->key].failed_seq > value->published_seq || sim_is_in_tick(sim)),
               "a stale value was served for an error, and no load has failed");
    SIM_EXPECT(sim,
               (step->kind != SIM_DONE && step->kind != SIM_FULFIL) ||
                   step->result->status == HG_OK || /* overtaken: it looked again, in a pause */
                   step->result->status == HG_UNAVAILABLE || step->result->status == HG_INTERNAL,
               "a stale value was served for what the loader said of the request");
    SIM_EXPECT(sim, c->max_age_ms < 0 || age_ms <= c->max_age_ms,
               "a kept value is older than its reader's max_age");
}

/* From its flight, at the instant at which it was stored, or not. */
static void check_brought(const struct sim *sim, const struct hgi_answer *answer,
                          const struct sim_value *value)
{
    int64_t left_ms = sim_stale_max(sim, value);

    if (value->lifetime.expires_at_ms && value->expires_boot_ms - sim->now.boot_ms < left_ms) {
        left_ms = value->expires_boot_ms - sim->now.boot_ms;
    }
    SIM_EXPECT(sim, answer->age_ms == 0, "a value just brought is %lld ms old",
               (long long)answer->age_ms);
    SIM_EXPECT(sim,
               answer->ttl_left_ms <= sim_ttl_max(sim, value) && answer->ttl_left_ms <= left_ms &&
                   answer->stale_left_ms <= left_ms,
               "I5: a value just brought says that %lld and %lld ms are left",
               (long long)answer->ttl_left_ms, (long long)answer->stale_left_ms);
}

static void check_value(struct sim *sim, struct sim_call *c, const struct hgi_answer *answer)
{
    bool is_cached = answer->source == HG_SOURCE_FRESH || answer->source == HG_SOURCE_STALE;
    struct sim_value *value;
    unsigned id;

    if (answer->lease_id) {
        sim_lease_given(sim, c, answer);
    }
    if (answer->outcome == HG_NOT_CACHED && answer->lease_id) {
        SIM_EXPECT(sim, answer->source == HG_SOURCE_LEASED, "a lease came from source %d",
                   answer->source);
        return;
    }
    if (answer->outcome == HG_NOT_CACHED) {
        SIM_EXPECT(sim, c->mode == HG_MODE_PEEK, "only a peek is answered NOT_CACHED");
        return;
    }
    SIM_EXPECT(sim, c->mode != HG_MODE_PEEK || answer->source == HG_SOURCE_FRESH,
               "a peek was answered from source %d", answer->source);
    if (!answer->value.len) {
        SIM_EXPECT(sim, answer->outcome == HG_DENIED && sim->policy.expired_is_denied,
                   "an answer without its value");
        check_age_of_truth(sim, c, answer, NULL);
        if (answer->source == HG_SOURCE_JOINED && !sim->values[sim->step->value].is_stripped) {
            sim_check_kept(sim, c, answer, SIM_STRIPPED);
        } else {
            SIM_EXPECT(sim, answer->age_ms <= sim->policy.negative_ttl_ms, "I8: too old a denial");
        }
        return;
    }
    id = sim_seen(sim, answer);
    value = &sim->values[id];
    SIM_EXPECT(sim, value->key == c->key, "value %u is another key's", id);
    SIM_EXPECT(sim, value->is_published && !value->is_stripped,
               "value %u came too late to be answered", id);
    SIM_EXPECT(sim, value->outcome == answer->outcome, "value %u changed its outcome", id);
    SIM_EXPECT(sim, !value->is_born_known || value->born == answer->generation,
               "value %u was born %llu and says %llu", id, (unsigned long long)value->born,
               (unsigned long long)answer->generation);
    value->born = answer->generation;
    value->is_born_known = true;
    check_age_of_truth(sim, c, answer, value);
    if (is_cached) {
        check_cached(sim, c, answer, id);
    } else if (id != sim->step->value) {
        SIM_EXPECT(sim, answer->source == HG_SOURCE_JOINED,
                   "a flight was answered with another's value %u", id);
        sim_check_kept(sim, c, answer, id);
    } else {
        SIM_EXPECT(sim,
                   answer->source == HG_SOURCE_JOINED || c->may_lead ||
                       (sim->policy.alone && sim->step->now.boot_ms >= c->budget_ms),
                   "call began no load and is told LOADED");
        check_brought(sim, answer, value);
    }
}

/* ---- errors ---- */

/* A failure from before the call: only error_backoff may hand it out, and no invalidation ends in
 * between. When it came (0: not known) is told by its flight. */
static void check_remembered(const struct sim *sim, const struct sim_call *c,
                             const struct hgi_answer *answer, uint64_t ended_seq, int64_t ended_ms)
{
    const struct sim_step *step = sim->step;

    SIM_EXPECT(sim, sim->policy.error_backoff_ms > 0 && answer->source == HG_SOURCE_JOINED,
               "I14: an error left its flight");
    SIM_EXPECT(sim, answer->retry_after_ms > 0, "a remembered failure names no pause");
    SIM_EXPECT(sim, sim->keys[c->key].failed_seq > step->keys[c->key].seq,
               "I14: a failure outlived an invalidation");
    if (ended_seq) {
        SIM_EXPECT(sim, ended_seq > step->keys[c->key].seq,
                   "I14: a failure outlived an invalidation");
        SIM_EXPECT(sim, step->now.boot_ms < ended_ms + sim->policy.error_backoff_ms * DOUBLED_MAX,
                   "I14: a failure was remembered too long");
    }
}

/* "e" or "l", and the number of the load or lease that ended with it. */
static unsigned long error_number(const struct sim *sim, const struct hgi_answer *answer)
{
    char text[16] = "";

    SIM_EXPECT(sim, answer->message.len < sizeof(text), "a load's error grew");
    memcpy(text, answer->message.data, answer->message.len);
    return strtoul(text + 1, NULL, 10);
}

static void check_load_error(const struct sim *sim, const struct sim_call *c,
                             const struct hgi_answer *answer)
{
    const struct sim_step *step = sim->step;
    const struct sim_load *load = &sim->loads[error_number(sim, answer)];

    SIM_EXPECT(sim, load->key == c->key && load->is_ended, "an error of another load");
    if (step->kind != SIM_DONE || step->load != load) {
        SIM_EXPECT(sim, !load->was_fenced, "I14: a failure outlived an invalidation");
        check_remembered(sim, c, answer, load->ended_seq, load->ended_ms);
        return;
    }
    SIM_EXPECT(sim,
               answer->source == HG_SOURCE_LOADED || sim->policy.on_error == HGI_ON_ERROR_SHARE,
               "I12: a follower got the leader's error, and on_error is not share");
    SIM_EXPECT(sim, !sim_is_fenced(sim, load) || answer->source == HG_SOURCE_LOADED,
               "a follower waited for an overtaken load");
    SIM_EXPECT(sim, !load->is_born_known || answer->is_fenced == sim_is_fenced(sim, load),
               "an error is flagged wrongly");
}

/* Under another on_error than share a holder's error is nobody's. */
static void check_lease_error(const struct sim *sim, const struct sim_call *c,
                              const struct hgi_answer *answer)
{
    const struct sim_lease *lease = &sim->leases[error_number(sim, answer)];

    SIM_EXPECT(sim, lease->key == c->key && lease->state == SIM_OVER, "an error of another lease");
    SIM_EXPECT(sim, sim->policy.on_error == HGI_ON_ERROR_SHARE,
               "a follower got a holder's error, and on_error is not share");
    SIM_EXPECT(sim, answer->source == HG_SOURCE_JOINED && !answer->is_fenced,
               "a holder's error came from source %d", answer->source);
    if (sim->step->kind != SIM_FULFIL || sim->step->lease != lease) {
        check_remembered(sim, c, answer, lease->ended_seq, lease->ended_ms);
    }
}

static bool says(const struct hgi_answer *answer, const char *beginning)
{
    return answer->message.len >= strlen(beginning) &&
           memcmp(answer->message.data, beginning, strlen(beginning)) == 0;
}

static bool has_due_load(const struct sim *sim, unsigned key)
{
    for (unsigned i = 0; i < sim->load_count; i++) {
        if (sim->loads[i].key == key && sim->loads[i].is_due) {
            return true;
        }
    }
    return false;
}

static void check_room(struct sim *sim, const struct sim_call *c)
{
    struct hgi_cache_stats stats;

    hgi_cache_stats(sim->cache, &stats);
    sim->refused_answers++;
    SIM_EXPECT(sim,
               sim->depth > 1 || sim->step->kind != SIM_READ ||
                   stats.queued >= sim->policy.queue_max ||
                   sim_parked_on(sim, c->key) > sim->policy.waiters_max,
               "a call was refused while there was room");
}

/* A load that was handed nothing has confirmed it. */
static void check_unfounded(const struct sim *sim, const struct sim_call *c,
                            const struct hgi_answer *answer)
{
    const struct sim_step *step = sim->step;

    SIM_EXPECT(sim, answer->status == HG_INTERNAL, "\"unchanged\" of nothing is status %d",
               answer->status);
    if (step->kind != SIM_DONE || !sim_is_unfounded(step)) {
        check_remembered(sim, c, answer, 0, 0);
        return;
    }
    SIM_EXPECT(sim,
               answer->source == HG_SOURCE_LOADED ||
                   (sim->policy.on_error == HGI_ON_ERROR_SHARE && !step->load->was_fenced),
               "I12: a follower got the leader's error, and on_error is not share");
}

/* The engine's own errors, by their sentence. */
static void check_refusal(struct sim *sim, const struct sim_call *c,
                          const struct hgi_answer *answer)
{
    const struct sim_step *step = sim->step;
    int64_t end_ms =
        !sim_loads_alone(sim) && c->budget_ms < c->deadline_ms ? c->budget_ms : c->deadline_ms;

    if (says(answer, "the answer did not come in time")) {
        SIM_EXPECT(sim, step->now.boot_ms >= end_ms, "I10: a call timed out %lld ms early",
                   (long long)(end_ms - step->now.boot_ms));
    } else if (says(answer, "the loader did not answer")) {
        if (step->kind != SIM_TICK) {
            check_remembered(sim, c, answer, 0, 0);
        }
        SIM_EXPECT(sim, step->kind != SIM_TICK || has_due_load(sim, c->key),
                   "a load timed out early");
    } else if (says(answer, "the loader's process died twice")) {
        if (step->kind != SIM_LOST || step->load->attempt == 1) {
            check_remembered(sim, c, answer, 0, 0); /* or it was lost once, and not tried again */
        }
    } else if (says(answer, "the loader said \"unchanged\" of a value it was not given")) {
        check_unfounded(sim, c, answer);
    } else if (says(answer, "the loader gave a value")) {
        if (step->kind != SIM_DONE && step->kind != SIM_FULFIL) {
            check_remembered(sim, c, answer, 0, 0);
        }
    } else if (says(answer, "not cached, and this cache has no loader")) {
        SIM_EXPECT(sim, !sim->has_loader && !c->lead, "a call that could lead or load was refused");
    } else if (says(answer, "the caller that was loading gave up")) {
        SIM_EXPECT(sim,
                   !sim->has_loader && (!c->lead || c->deadline_ms <= step->now.boot_ms) &&
                       (step->kind == SIM_FULFIL || step->kind == SIM_RELEASE ||
                        step->kind == SIM_GONE || step->kind == SIM_TICK),
                   "a lease ended, and somebody could have led or loaded");
    } else if (says(answer, "too many loads")) {
        check_room(sim, c);
    } else if (says(answer, "invalidations overtook")) {
        SIM_EXPECT(sim, sim->keys[c->key].covers - c->covers_at_begin > HGI_ROUNDS_MAX,
                   "a call was aborted before its rounds were used up");
    } else if (says(answer, "the caller left")) {
        SIM_EXPECT(sim, step->kind == SIM_LEAVE && step->call == c,
                   "I13: a call was cancelled by another's leaving");
    } else if (says(answer, "min_generation is above")) {
        SIM_EXPECT(sim, c->min_generation > hgi_cache_generation(sim->cache),
                   "a min_generation not above the counter was refused");
    } else {
        SIM_EXPECT(sim, says(answer, "the server is stopping") && sim->is_stopped,
                   "an unexpected answer: status %d, %.*s", answer->status,
                   (int)answer->message.len, (const char *)answer->message.data);
    }
}

void sim_check_answer(struct sim *sim, struct sim_call *c, const struct hgi_answer *answer)
{
    SIM_EXPECT(sim, !c->is_answered, "a call was answered twice");
    SIM_EXPECT(sim, !answer->lease_id || answer->status == HG_OK, "an error came with a lease");
    sim_count(sim, answer);
    if (answer->status == HG_OK) {
        check_value(sim, c, answer);
    } else if (says(answer, "e")) {
        check_load_error(sim, c, answer);
    } else if (says(answer, "l")) {
        check_lease_error(sim, c, answer);
    } else {
        check_refusal(sim, c, answer);
    }
}

/* ---- loads ---- */

void sim_gives_slot(struct sim *sim, unsigned key, uint64_t generation)
{
    for (unsigned i = 0; i < sim->load_count; i++) {
        if (sim->loads[i].key == key && sim->loads[i].born < generation) {
            sim->loads[i].holds_slot = false;
        }
    }
}

/* I12: one load holds a key's slot, unless a reader wants something newer than it will bring. */
void sim_check_slot(struct sim *sim, unsigned key, const struct sim_load *own)
{
    for (unsigned i = 0; !sim_is_in_tick(sim) && i < sim->load_count; i++) {
        const struct sim_load *other = &sim->loads[i];

        /* One that is just being handed out cannot be cancelled yet. */
        SIM_EXPECT(sim,
                   other == own || other->key != key || other->is_ended || other->is_cancelled ||
                       !other->holds_slot || !other->is_handed || sim_is_fenced(sim, other),
                   "I12: a load or lease begins while load %llu runs",
                   (unsigned long long)other->load_id);
    }
}

void sim_check_start(struct sim *sim, const struct sim_load *load)
{
    const struct sim_step *step = sim->step;

    SIM_EXPECT(sim, sim->running_count <= sim->policy.max_loads, "I12: %u loads run, at most %u",
               sim->running_count, sim->policy.max_loads);
    SIM_EXPECT(sim, load->attempt == 1 || (load->attempt == 2 && step->kind == SIM_LOST),
               "I21: load %llu is attempt %u", (unsigned long long)load->load_id, load->attempt);
    SIM_EXPECT(sim, !sim->is_stopped, "a load began after the stop");
    if (step->kind == SIM_READ) {
        sim_gives_slot(sim, load->key, step->call->min_generation);
    }
    if (load->holds_slot) {
        sim_check_slot(sim, load->key, load);
        sim_leases_lose_slot(sim, load->key, step->call, NULL);
    }
}
