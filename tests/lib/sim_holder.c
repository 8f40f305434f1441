/* SPDX-License-Identifier: Apache-2.0 */
/* What the holders of leases do: fulfil, renew, give up, crash; also too late, twice, or with a
 * lease that is another's. */
#include <stdio.h>

#include "base/check.h"
#include "sim.h"

#define RECENT 16u /* leases a holder may still remember */

/* A lease that somebody was given, mostly one that is not over; NULL: there is none. */
static struct sim_lease *draw_lease(struct sim *sim)
{
    struct sim_lease *leases[RECENT];
    unsigned count = 0;
    bool is_live = !sim_chance(sim, 8);

    for (unsigned i = sim->lease_count; i > 0 && count < RECENT; i--) {
        struct sim_lease *lease = &sim->leases[i - 1];

        if (!is_live || lease->state != SIM_OVER) {
            leases[count++] = lease;
        }
    }
    return count ? leases[sim_draw(sim, count)] : NULL;
}

/* Its own, anybody's, or another's. */
static uint64_t draw_holder(struct sim *sim, const struct sim_lease *lease)
{
    if (sim_chance(sim, 10)) {
        return 1 + sim_draw(sim, sim->actor_count);
    }
    return sim_chance(sim, 8) ? 0 : lease->holder;
}

static bool is_owned(const struct sim_lease *lease, uint64_t holder)
{
    return !holder || holder == lease->holder;
}

/* What the call may be answered: exactly this, or, within a tick, that the lease has run out. */
static void check_status(const struct sim *sim, const struct sim_step *step, bool is_due,
                         enum hg_status expected, enum hg_status status)
{
    SIM_EXPECT(sim, status == expected || (is_due && status == HG_ABORTED),
               "a holder was told %d, and not %d", status, expected);
    SIM_EXPECT(sim, status != HG_ABORTED || !step->is_refused || (!step->answers && !step->starts),
               "a lease that has ended answered somebody");
}

/* ---- fulfilling ---- */

static void draw_result(struct sim *sim, struct sim_step *step, struct hgi_result *result,
                        char *text, size_t size, char *etag, size_t etag_size)
{
    struct sim_lease *lease = step->lease;
    unsigned lot = sim_draw(sim, 100);

    if (lot >= 75) {
        snprintf(text, size, "l%u", (unsigned)(lease - sim->leases));
        result->status = sim_draw_error(sim);
        result->message = hg_slice_text(text);
        return;
    }
    result->outcome = lot < 55 ? HG_VALUE : lot < 65 ? HG_ABSENT : HG_DENIED;
    sim_draw_lifetime(sim, &result->lifetime);
    step->value = sim_value_new(sim, lease->key, result->outcome, lease->begun_seq);
    sim->values[step->value].tags = sim_draw_tags(sim, &result->lifetime);
    sim_draw_etag(sim, step->value, &result->lifetime, etag, etag_size);
    result->value = sim_value_text(step->value, sim_draw(sim, (unsigned)size - 16), text, size);
}

static enum hg_status expected_of(const struct sim *sim, const struct sim_step *step)
{
    const struct hgi_lifetime *lifetime = &step->result->lifetime;

    if (step->is_refused) {
        return HG_ABORTED;
    }
    if (step->result->status != HG_OK) {
        return HG_OK;
    }
    if (lifetime->expires_at_ms && lifetime->expires_at_ms <= step->now.wall_ms &&
        !sim->policy.expired_is_denied) {
        return HG_FAILED_PRECONDITION;
    }
    return step->lease->born < sim_tags_cover(sim, sim->values[step->value].tags) ? HG_ABORTED
                                                                                  : HG_OK;
}

static void check_fulfilled(const struct sim *sim, const struct sim_step *step,
                            const struct hgi_fulfilled *fulfilled)
{
    const struct sim_lease *lease = step->lease;

    SIM_EXPECT(sim, fulfilled->entry.born == lease->born,
               "a lease born %llu published what was born %llu", (unsigned long long)lease->born,
               (unsigned long long)fulfilled->entry.born);
    SIM_EXPECT(sim,
               !step->value ||
                   hgi_slice_equal(fulfilled->entry.key, hg_slice_text(sim->keys[lease->key].text)),
               "a fulfilment published another key");
}

void sim_fulfil(struct sim *sim, unsigned actor)
{
    struct sim_lease *lease = draw_lease(sim);
    struct hgi_result result = {.status = HG_OK, .outcome = HG_VALUE};
    struct sim_heirs heirs = sim_heirs_none(sim);
    struct hgi_fulfilment fulfilment = {.result = &result};
    struct hgi_fulfilled fulfilled;
    char sentence[HGI_MESSAGE_MAX];
    enum hg_status expected;
    enum hg_status status;
    struct sim_step step;
    bool is_due;
    char text[256];
    char etag[24];

    (void)actor;
    if (!lease) {
        return;
    }
    sim_step_begin(sim, &step, SIM_FULFIL, lease->key);
    step.lease = lease;
    step.result = &result;
    draw_result(sim, &step, &result, text, sizeof(text), etag, sizeof(etag));
    fulfilment.lease_id = lease->lease_id;
    fulfilment.holder = draw_holder(sim, lease);
    fulfilment.keep_ms = lease->is_slot_known && sim_chance(sim, 2) ? sim_between(sim, 1, 300) : 0;
    step.keep_ms = fulfilment.keep_ms;
    step.fulfilled = &fulfilled;
    step.is_refused = lease->state != SIM_LEASED || !is_owned(lease, fulfilment.holder);
    expected = expected_of(sim, &step);
    is_due = lease->is_due;
    if (!step.is_refused && result.status != HG_OK && sim->policy.on_error != HGI_ON_ERROR_SHARE) {
        sim_heirs_add(sim, lease, &heirs);
    }
    heirs.is_known &= result.status != HG_OK;
    sim_note(sim, "fulfil: lease, value", lease->key, (uint64_t)(lease - sim->leases), step.value);
    status = hgi_cache_fulfil(sim->cache, &fulfilment, &step.now, &fulfilled, sentence);
    if (is_due && status == HG_ABORTED && !step.is_refused && !step.is_committed) {
        step.is_refused = true;
        sim_lease_end(sim, lease);
    }
    sim_step_end(sim, &step);
    check_status(sim, &step, is_due, expected, status);
    if (status == HG_OK) {
        check_fulfilled(sim, &step, &fulfilled);
    }
    sim_check_heirs(sim, &step, &heirs);
}

/* ---- the rest ---- */

void sim_renew(struct sim *sim, unsigned actor)
{
    struct sim_lease *lease = draw_lease(sim);
    char sentence[HGI_MESSAGE_MAX];
    int64_t ttl_ms = -1;
    enum hg_status status;
    struct sim_step step;
    uint64_t holder;
    bool is_due;

    (void)actor;
    if (!lease) {
        return;
    }
    holder = draw_holder(sim, lease);
    is_due = lease->is_due;
    sim_step_begin(sim, &step, SIM_RENEW, lease->key);
    step.is_refused = lease->state != SIM_LEASED || !is_owned(lease, holder);
    sim_note(sim, "renew: lease, holder", lease->key, (uint64_t)(lease - sim->leases), holder);
    status = hgi_cache_renew(sim->cache, lease->lease_id, holder, &step.now, &ttl_ms, sentence);
    sim_step_end(sim, &step);
    check_status(sim, &step, is_due, step.is_refused ? HG_ABORTED : HG_OK, status);
    SIM_EXPECT(sim, !step.answers && !step.starts, "a renewal answered somebody");
    if (status == HG_OK) {
        SIM_EXPECT(sim, ttl_ms == sim->policy.load_timeout_ms, "a lease was renewed for %lld ms",
                   (long long)ttl_ms);
        lease->until_ms = step.now.boot_ms + ttl_ms;
        lease->is_due = false;
    }
}

void sim_release(struct sim *sim, unsigned actor)
{
    struct sim_lease *lease = draw_lease(sim);
    struct sim_heirs heirs = sim_heirs_none(sim);
    char sentence[HGI_MESSAGE_MAX];
    enum hg_status status;
    struct sim_step step;
    uint64_t holder;
    bool is_due;

    (void)actor;
    if (!lease) {
        return;
    }
    holder = draw_holder(sim, lease);
    is_due = lease->is_due;
    sim_step_begin(sim, &step, SIM_RELEASE, lease->key);
    step.lease = lease;
    step.is_refused = lease->state == SIM_OVER || !is_owned(lease, holder);
    if (!step.is_refused) {
        sim_heirs_add(sim, lease, &heirs);
    }
    sim_note(sim, "release: lease, holder", lease->key, (uint64_t)(lease - sim->leases), holder);
    status = hgi_cache_release(sim->cache, lease->lease_id, holder, &step.now, sentence);
    sim_step_end(sim, &step);
    check_status(sim, &step, is_due, step.is_refused ? HG_ABORTED : HG_OK, status);
    sim_check_heirs(sim, &step, &heirs);
}

void sim_holder_gone(struct sim *sim, unsigned actor)
{
    struct sim_heirs heirs = sim_heirs_none(sim);
    struct sim_step step;

    if (!sim->lead_in) {
        return;
    }
    sim_step_begin(sim, &step, SIM_GONE, SIM_NO_KEY);
    step.holder = actor + 1;
    for (unsigned i = 0; i < sim->lease_count; i++) {
        if (sim->leases[i].holder == step.holder) {
            sim_heirs_add(sim, &sim->leases[i], &heirs);
        }
    }
    sim_note(sim, "holder gone", SIM_NO_KEY, step.holder, 0);
    hgi_cache_holder_gone(sim->cache, step.holder, &step.now);
    sim_step_end(sim, &step);
    sim_check_heirs(sim, &step, &heirs);
}
