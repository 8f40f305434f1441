/* SPDX-License-Identifier: Apache-2.0 */
/* What a load is handed to confirm, and what its UNCHANGED does: the value is as if loaded anew, or
 * nothing is stored and whoever waited looks again. A value that was confirmed is a new version of
 * it here, with the same bytes, so that what is known of each answer stays what it was. */
#include <stdio.h>

#include "base/bytes.h"
#include "base/check.h"
#include "sim.h"

/* ---- versions ---- */

static unsigned latest_of(const struct sim *sim, unsigned value)
{
    return sim->values[sim->values[value].first].latest;
}

static bool is_same_value(const struct sim *sim, unsigned a, unsigned b)
{
    return sim->values[a].first == sim->values[b].first;
}

static int64_t ttl_left(const struct sim *sim, unsigned value, int64_t age_ms)
{
    int64_t ttl_ms = sim_ttl_max(sim, &sim->values[value]);

    return ttl_ms > age_ms ? ttl_ms - age_ms : 0;
}

static bool explains(const struct sim *sim, const struct hgi_answer *answer, unsigned id)
{
    const struct sim_value *value = &sim->values[id];

    return value->published.boot_ms == sim->now.boot_ms - answer->age_ms &&
           (value->is_born_known ? answer->generation == value->born
                                 : answer->generation <= value->born);
}

/* Of two versions of one instant and one birth it is that which the step brings, or the latest that
 * lives so long. */
unsigned sim_seen(const struct sim *sim, const struct hgi_answer *answer)
{
    unsigned latest = latest_of(sim, sim_value_of(sim, answer->value));
    bool is_cached = answer->source == HG_SOURCE_FRESH || answer->source == HG_SOURCE_STALE;
    unsigned seen = 0;

    for (unsigned i = latest; i; i = sim->values[i].older) {
        if (!explains(sim, answer, i)) {
            continue;
        }
        if (!is_cached && sim->step && sim->step->value == i) {
            return i;
        }
        if (!seen || ttl_left(sim, seen, answer->age_ms) < answer->ttl_left_ms) {
            seen = i;
        }
    }
    return seen ? seen : latest;
}

static struct hg_slice etag_text(unsigned value, char *buffer, size_t size)
{
    return hg_slice_of(buffer, (size_t)snprintf(buffer, size, "t%u", value));
}

void sim_draw_etag(struct sim *sim, unsigned value, struct hgi_lifetime *lifetime, char *buffer,
                   size_t size)
{
    if (sim_chance(sim, 2)) {
        sim->values[value].has_etag = true;
        lifetime->etag = etag_text(value, buffer, size);
    }
}

/* ---- what is handed out ---- */

unsigned sim_rests(const struct sim *sim, unsigned key)
{
    const struct sim_key *k = &sim->keys[key];

    if (k->state != SIM_HOLDS) {
        return k->rests;
    }
    return sim->values[k->holds].outcome == HG_VALUE ? k->holds : 0;
}

static bool must_be_there(const struct sim *sim, unsigned value)
{
    return value && value != SIM_ANYTHING && !sim_may_be_gone(sim, &sim->values[value], &sim->now);
}

/* No invalidation that has been acknowledged, and was hard, has ended it. */
static void check_hard_cover(const struct sim *sim, const struct sim_cover *cover, unsigned id)
{
    const struct sim_value *value = &sim->values[id];

    SIM_EXPECT(sim,
               value->born >= cover->hard &&
                   (cover->hard != cover->number || value->begun_seq >= cover->seq),
               "I1: a load is handed value %u, which an invalidation has ended", id);
}

static void check_old_value(const struct sim *sim, unsigned key, unsigned id)
{
    const struct sim_key *k = &sim->keys[key];
    const struct sim_value *value = &sim->values[id];
    const struct sim_value *newest = &sim->values[k->newest];
    unsigned rests = sim_rests(sim, key);
    int64_t age_ms = sim->now.boot_ms - value->published.boot_ms;

    SIM_EXPECT(sim, value->key == key, "a load is handed another key's value %u", id);
    SIM_EXPECT(sim, value->outcome == HG_VALUE && value->is_published && !value->is_stripped,
               "a load is handed what is no value, %u", id);
    SIM_EXPECT(sim, !value->lifetime.no_store, "a load is handed value %u, not to be stored", id);
    SIM_EXPECT(sim, !sim_is_past(value, &sim->now),
               "I5: a load is handed value %u past its expires_at", id);
    SIM_EXPECT(sim, age_ms <= sim_stale_max(sim, value) + sim->policy.stale_if_error_ms,
               "a load is handed value %u, which is over", id);
    SIM_EXPECT(sim, newest->born <= value->born || newest->published_seq < value->published_seq,
               "I7: a load is handed value %u, older than value %u", id, k->newest);
    SIM_EXPECT(sim, rests == SIM_ANYTHING || (rests && is_same_value(sim, rests, id)),
               "a load is handed value %u, and %u is what rests", id, rests);
    check_hard_cover(sim, &k->cover, id);
    for (unsigned i = 0; i < SIM_TAGS; i++) {
        if (value->tags & (1u << i)) {
            check_hard_cover(sim, &sim->tags[i], id);
        }
    }
}

void sim_take_old(struct sim *sim, struct sim_load *load, const struct hgi_old *old)
{
    struct hg_slice etag = hg_slice_of(NULL, 0);
    char text[24];

    if (!old->serial) {
        SIM_EXPECT(sim, !must_be_there(sim, sim_rests(sim, load->key)),
                   "load %llu is not handed value %u", (unsigned long long)load->load_id,
                   sim_rests(sim, load->key));
        return;
    }
    load->old = latest_of(sim, sim_value_of(sim, old->value));
    check_old_value(sim, load->key, load->old);
    if (sim->values[load->old].has_etag) {
        etag = etag_text(sim->values[load->old].first, text, sizeof(text));
    }
    SIM_EXPECT(sim, hgi_slice_equal(old->etag, etag), "value %u is handed out as \"%.*s\"",
               load->old, (int)old->etag.len, (const char *)old->etag.data);
    sim_note(sim, "  handed to load: value, etag", load->key, load->old, old->etag.len);
}

/* ---- what comes of it ---- */

/* As with a value; its own tags and etag stay, whatever is said here. */
void sim_draw_unchanged(struct sim *sim, struct sim_step *step, struct hgi_result *result)
{
    struct hgi_lifetime *lifetime = &result->lifetime;
    const struct sim_load *load = step->load;
    unsigned tags;

    result->is_unchanged = true;
    sim_draw_lifetime(sim, lifetime);
    lifetime->no_store = false;
    lifetime->etag = hg_slice_text("of another");
    tags = sim_draw_tags(sim, lifetime);
    if (load->old && lifetime->expires_at_ms && lifetime->expires_at_ms <= step->now.wall_ms) {
        /* Over as it comes: a denial, or an error, as with a value. */
        step->value = sim_value_new(sim, load->key, HG_VALUE, load->begun_seq);
        sim->values[step->value].tags = tags;
    } else if (load->old) {
        result->is_outdated = sim_chance(sim, 8);
    }
}

bool sim_is_unfounded(const struct sim_step *step)
{
    return step->result->is_unchanged && !step->load->old;
}

bool sim_is_confirming(const struct sim_step *step)
{
    return step->result->is_unchanged && step->load->old && !step->value;
}

/* Why the value cannot be confirmed; NULL: it may be. A birth that is not known is no later than
 * the load's. */
static const char *why_not(const struct sim *sim, const struct sim_step *step)
{
    const struct sim_load *load = step->load;
    unsigned latest = latest_of(sim, load->old);
    const struct sim_value *value = &sim->values[latest];
    unsigned rests = sim_rests(sim, load->key);

    if (step->result->is_outdated) {
        return "by a process that was replaced";
    }
    if (load->born < sim->keys[load->key].cover.number) {
        return "by a load that was overtaken";
    }
    if (load->born < sim_tags_cover(sim, value->tags)) {
        return "after its tag was invalidated";
    }
    if (rests != SIM_ANYTHING && !(rests && is_same_value(sim, rests, latest))) {
        return "after it had been replaced or ended";
    }
    if (value->is_born_known && load->born < value->born) {
        return "by a load begun before it";
    }
    return sim_is_past(value, &step->now) ? "past its expires_at" : NULL;
}

/* A hard end only comes nearer. */
static void keep_expiry(struct sim_value *value, const struct sim_value *old)
{
    int64_t given_ms = value->lifetime.expires_at_ms;

    if (old->lifetime.expires_at_ms && (!given_ms || old->lifetime.expires_at_ms < given_ms)) {
        value->lifetime.expires_at_ms = old->lifetime.expires_at_ms;
        value->expires_boot_ms = old->expires_boot_ms;
    }
}

/* It is written anew, with its bytes, tags and etag. */
static void rearm(struct sim *sim, struct sim_step *step)
{
    const struct sim_load *load = step->load;
    unsigned latest = latest_of(sim, load->old);
    const struct sim_value *old = &sim->values[latest];
    struct sim_value *value;

    step->value = sim_value_new(sim, load->key, HG_VALUE, load->begun_seq);
    step->effect = SIM_SURE;
    step->is_rearm = true;
    value = &sim->values[step->value];
    value->lifetime = step->result->lifetime;
    value->first = old->first;
    value->older = latest;
    value->tags = old->tags;
    value->has_etag = old->has_etag;
    sim->values[old->first].latest = step->value;
    sim_published(sim, step, load->born, load->is_born_known);
    keep_expiry(value, old);
    sim_stored(sim, step->value);
    sim_note(sim, "  confirmed: value, now", load->key, latest, step->value);
    sim->unchanged++;
}

/* One flight has all that wait on the key, and each of them looks again. */
static void count_rounds(struct sim *sim, const struct sim_step *step)
{
    unsigned key = step->load->key;

    if (sim->depth > 1 || step->fates.queued || sim_has_load(sim, key) ||
        sim_has_leader(sim, key)) {
        return;
    }
    for (unsigned i = 0; i < sim->call_count; i++) {
        if (!sim->calls[i].is_answered && sim->calls[i].key == key) {
            sim->calls[i].rounds++;
        }
    }
}

void sim_commit_unchanged(struct sim *sim, struct sim_step *step)
{
    const struct sim_load *load = step->load;
    struct sim_fates now = sim_fates_now(sim);
    const char *why = why_not(sim, step);
    unsigned rests = sim_rests(sim, load->key);
    bool is_confirmed = now.unchanged > step->fates.unchanged;
    bool is_late = now.late > step->fates.late;

    SIM_EXPECT(sim,
               now.unchanged + now.unconfirmed + is_late ==
                   step->fates.unchanged + step->fates.unconfirmed + 1,
               "an UNCHANGED is counted as neither taken nor not, or twice");
    if (is_late) {
        return;
    }
    if (is_confirmed) {
        SIM_EXPECT(sim, !why, "I1: value %u is confirmed %s", load->old, why);
        rearm(sim, step);
        return;
    }
    SIM_EXPECT(sim, why || !load->is_born_known || !must_be_there(sim, rests),
               "value %u rests where it was, and is not confirmed", load->old);
    sim->unconfirmed++;
    sim->keys[load->key].covers++; /* a round for all who wait there */
    count_rounds(sim, step);
    sim_may_lead(sim, load->key);
}
