/* SPDX-License-Identifier: Apache-2.0 */
/* A world's life: what is drawn for it, its loads, its steps, its end. */
#include "sim.h"

#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/check.h"
#include "base/hash.h"

#define START_GENERATION 1000u
#define OTHERS_MAX       3u /* steps of others run in one callback */

static struct sim world;
static uint64_t hash_random; /* what the engine's hash keys are drawn from */

/* ---- chance ---- */

static uint64_t next_random(uint64_t *state)
{
    /* splitmix64: neighbouring seeds give unrelated worlds. */
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

unsigned sim_draw(struct sim *sim, unsigned below)
{
    return (unsigned)(next_random(&sim->random) % below);
}

unsigned sim_draw_key(struct sim *sim)
{
    if (sim->step && sim->step->key < SIM_KEYS && sim_chance(sim, 2)) {
        return sim->step->key;
    }
    return sim_draw(sim, SIM_KEYS);
}

bool sim_chance(struct sim *sim, unsigned in)
{
    return sim_draw(sim, in) == 0;
}

int64_t sim_between(struct sim *sim, int64_t least, int64_t most)
{
    return least + (int64_t)(next_random(&sim->random) % (uint64_t)(most - least + 1));
}

/* The engine draws its hash keys from libsodium; here these too must come from the seed. */
static const char *random_name(void)
{
    return "seeded";
}

static uint32_t random_word(void)
{
    return (uint32_t)next_random(&hash_random);
}

static void random_bytes(void *const bytes, const size_t size)
{
    for (size_t i = 0; i < size; i++) {
        ((unsigned char *)bytes)[i] = (unsigned char)next_random(&hash_random);
    }
}

void sim_start(void)
{
    static randombytes_implementation seeded = {
        .implementation_name = random_name, .random = random_word, .buf = random_bytes};

    HGI_BUG_ON(randombytes_set_implementation(&seeded) != 0);
    HGI_BUG_ON(!hgi_hash_start());
}

/* ---- saying what happened ---- */

void sim_note(struct sim *sim, const char *what, unsigned key, uint64_t a, uint64_t b)
{
    sim->trace[sim->trace_count++ % SIM_TRACE] = (struct sim_trace){
        .what = what,
        .depth = sim->depth,
        .key = key,
        .a = a,
        .b = b,
        .boot_ms = (long long)sim->now.boot_ms,
    };
    sim->digest = (sim->digest ^ a ^ (b << 16) ^ ((uint64_t)key << 32) ^ (uint64_t)*what << 40) *
                  0x100000001b3u;
}

static void print_tail(const struct sim *sim)
{
    uint64_t at = sim->trace_count > SIM_TRACE ? sim->trace_count - SIM_TRACE : 0;

    for (; at < sim->trace_count; at++) {
        const struct sim_trace *line = &sim->trace[at % SIM_TRACE];

        fprintf(stderr, "  %6llu  %8lld ms %*s%s", (unsigned long long)at, line->boot_ms,
                (int)line->depth * 2, "", line->what);
        if (line->key < SIM_KEYS) {
            fprintf(stderr, " %s", sim->keys[line->key].text);
        }
        fprintf(stderr, " %llu %llu\n", line->a, line->b);
    }
    fprintf(stderr, "sim: again with --seed %llu\n", (unsigned long long)sim->seed);
}

void sim_print_tail(void)
{
    print_tail(&world);
}

void sim_broken(const struct sim *sim, const char *format, ...)
{
    va_list arguments;

    fprintf(stderr, "sim: seed %llu: ", (unsigned long long)sim->seed);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\n");
    print_tail(sim);
    _exit(1);
}

/* ---- steps ---- */

struct sim_fates sim_fates_now(const struct sim *sim)
{
    struct hgi_cache_stats stats;

    hgi_cache_stats(sim->cache, &stats);
    return (struct sim_fates){
        .late = stats.counters[HGI_METRIC_late],
        .superseded = stats.counters[HGI_METRIC_superseded],
        .not_stored = stats.counters[HGI_METRIC_not_stored],
        .unchanged = stats.counters[HGI_METRIC_unchanged],
        .unconfirmed = stats.counters[HGI_METRIC_unconfirmed],
        .queued = stats.queued,
    };
}

void sim_step_begin(struct sim *sim, struct sim_step *step, enum sim_kind kind, unsigned key)
{
    *step = (struct sim_step){
        .kind = kind,
        .outer = sim->step,
        .now = sim->now,
        .key = key,
        .begun_seq = ++sim->seq,
    };
    for (unsigned i = 0; i < SIM_KEYS; i++) {
        step->keys[i] = sim->keys[i].cover;
        step->newest[i] = sim->keys[i].newest;
    }
    if (kind == SIM_DONE || kind == SIM_FULFIL) {
        step->fates = sim_fates_now(sim);
    }
    memcpy(step->tags_cover, sim->tags, sizeof(step->tags_cover));
    step->all_failures_seq = sim->all_failures_seq;
    if (key < SIM_KEYS && sim->keys[key].state == SIM_HOLDS) {
        step->held = sim->keys[key].holds;
        step->held_failures = sim->values[step->held].failures;
        step->held_failed_ms = sim->values[step->held].failed_ms;
    }
    if (sim->step) {
        sim->step->inner++;
    }
    sim->step = step;
    sim->depth++;
}

void sim_step_end(struct sim *sim, struct sim_step *step)
{
    sim_commit(sim);
    sim_record_step(sim, step);
    sim->step = step->outer;
    sim->depth--;
}

void sim_others(struct sim *sim)
{
    if (!sim->others_in || sim->depth > SIM_DEPTH_MAX || sim->is_stopped) {
        return;
    }
    for (unsigned i = 0; i < OTHERS_MAX && sim_chance(sim, sim->others_in); i++) {
        sim_act(sim);
    }
}

/* ---- loads ---- */

static struct sim_load *load_of(struct sim *sim, uint64_t load_id)
{
    for (unsigned i = sim->load_count; i > 0; i--) {
        if (sim->loads[i - 1].load_id == load_id) {
            return &sim->loads[i - 1];
        }
    }
    return NULL;
}

/* Where a load's born is known for sure: it begins in the critical section just left. */
static void know_born(struct sim *sim, struct sim_load *load)
{
    const struct sim_step *step = sim->step;
    const struct sim_load *first = step->kind == SIM_LOST ? step->load : NULL;

    if (step->kind == SIM_READ || step->kind == SIM_INVALIDATE || step->kind == SIM_CLEAR) {
        load->is_born_known = true;
        load->holds_slot = true;
    } else if (first && load->attempt == 2) {
        load->is_born_known = true;
        load->holds_slot = first->holds_slot;
    } else if ((step->kind == SIM_FULFIL || step->kind == SIM_RELEASE) && step->lease) {
        load->is_born_known = true;
        load->holds_slot = step->lease->holds_slot;
    }
    load->born = hgi_cache_generation(sim->cache);
}

static void on_start(void *context, const struct hgi_load_order *order)
{
    struct sim *sim = context;
    struct sim_load *load = &sim->loads[sim->load_count++];

    HGI_BUG_ON(sim->load_count > SIM_LOADS_MAX);
    sim_commit(sim);
    *load = (struct sim_load){
        .load_id = order->load_id,
        .attempt = order->attempt,
        .begun_seq = ++sim->seq,
        .is_stuck = sim_chance(sim, 8),
    };
    while (load->key < SIM_KEYS &&
           !hgi_slice_equal(order->key, hg_slice_text(sim->keys[load->key].text))) {
        load->key++;
    }
    SIM_EXPECT(sim, load->key < SIM_KEYS, "load %llu is of a key nobody asked for",
               (unsigned long long)order->load_id);
    know_born(sim, load);
    sim->running_count++;
    sim->step->starts++;
    if (sim->step->call) {
        sim->step->call->may_lead = true;
    }
    sim_note(sim, "  start load", load->key, load->load_id, load->attempt);
    sim_check_start(sim, load);
    sim_take_old(sim, load, &order->old);
    sim_others(sim);
    load->is_handed = true;
}

static void on_cancel(void *context, struct hgi_cache *cache, uint64_t load_id)
{
    struct sim *sim = context;
    struct sim_load *load = load_of(sim, load_id);

    HGI_BUG_ON(cache != sim->cache);
    sim_commit(sim);
    SIM_EXPECT(sim, load && load->is_handed, "load %llu is cancelled before it was handed out",
               (unsigned long long)load_id);
    SIM_EXPECT(sim, !load->is_cancelled, "load %llu is cancelled twice",
               (unsigned long long)load_id);
    SIM_EXPECT(sim,
               sim->step->kind != SIM_LEAVE || !load->is_sent || !load->is_born_known ||
                   sim_is_fenced(sim, load),
               "load %llu was under way and is given up because a caller left",
               (unsigned long long)load_id);
    load->is_cancelled = true;
    load->is_stuck = false;
    if (load->is_due) {
        sim->keys[load->key].failed_seq = ++sim->seq; /* it may have been a while within the tick */
    }
    sim_note(sim, "  cancel load", load->key, load_id, 0);
    sim_others(sim);
}

struct hgi_executor sim_executor(struct sim *sim)
{
    return (struct hgi_executor){.start = on_start, .cancel = on_cancel, .context = sim};
}

void sim_draw_lifetime(struct sim *sim, struct hgi_lifetime *lifetime)
{
    if (sim_chance(sim, 5)) {
        lifetime->ttl_ms = sim_between(sim, 1, sim->policy.ttl_ms * 2);
    }
    if (sim_chance(sim, 6)) {
        lifetime->stale_ttl_ms = sim_between(sim, 1, sim->policy.stale_ttl_ms * 2);
    }
    if (sim_chance(sim, 5)) {
        lifetime->expires_at_ms =
            sim->now.wall_ms + sim_between(sim, -10, sim->policy.stale_ttl_ms + 20);
    }
    lifetime->no_store = sim_chance(sim, 12);
}

enum hg_status sim_draw_error(struct sim *sim)
{
    static const enum hg_status errors[] = {HG_UNAVAILABLE, HG_INTERNAL, HG_NOT_FOUND,
                                            HG_INVALID_ARGUMENT};

    return errors[sim_draw(sim, HGI_COUNT_OF(errors))];
}

void sim_load_done(struct sim *sim, struct sim_load *load, bool is_last)
{
    struct hgi_result result = {.status = HG_OK, .outcome = HG_VALUE};
    unsigned lot = is_last ? 99 : sim_draw(sim, 100);
    struct sim_step step;
    char text[256];
    char etag[24];

    sim_step_begin(sim, &step, SIM_DONE, load->key);
    step.load = load;
    step.result = &result;
    if (!is_last && sim_chance(sim, load->old ? sim->unchanged_in : 24)) {
        sim_draw_unchanged(sim, &step, &result);
    } else if (lot >= 75 || (load->is_cancelled && !load->is_sent)) {
        snprintf(text, sizeof(text), "e%u", (unsigned)(load - sim->loads));
        result.status = is_last || load->is_cancelled ? HG_CANCELLED : sim_draw_error(sim);
        result.message = hg_slice_text(text);
    } else {
        result.outcome = lot < 55 ? HG_VALUE : lot < 65 ? HG_ABSENT : HG_DENIED;
        sim_draw_lifetime(sim, &result.lifetime);
        step.value = sim_value_new(sim, load->key, result.outcome, load->begun_seq);
        sim->values[step.value].tags = sim_draw_tags(sim, &result.lifetime);
        sim_draw_etag(sim, step.value, &result.lifetime, etag, sizeof(etag));
        result.value =
            sim_value_text(step.value, sim_draw(sim, sizeof(text) - 16), text, sizeof(text));
    }
    sim_note(sim,
             result.is_unchanged ? "load done, unchanged: load, old" : "load done: load, value",
             load->key, load->load_id, result.is_unchanged ? load->old : step.value);
    hgi_cache_load_done(sim->cache, load->load_id, &result, &step.now);
    sim_step_end(sim, &step);
}

/* ---- life ---- */

static int64_t rarely(struct sim *sim, unsigned in, int64_t least, int64_t most)
{
    return sim_chance(sim, in) ? sim_between(sim, least, most) : 0;
}

static void draw_policy(struct sim *sim)
{
    struct hgi_policy *policy = &sim->policy;

    sim->is_roomy = sim_chance(sim, 2);
    *policy = (struct hgi_policy){
        .mode = sim_chance(sim, 2) ? HG_MODE_FRESH : HG_MODE_REVALIDATE,
        .on_error = (enum hgi_on_error)sim_draw(sim, 3),
        .on_fenced = (enum hgi_on_fenced)sim_draw(sim, 2),
        .alone = sim_chance(sim, 3),
        .expired_is_denied = sim_chance(sim, 3),
        .jitter_percent = (uint32_t)rarely(sim, 3, 1, 60),
        .ttl_ms = sim_between(sim, 20, 200),
        .negative_ttl_ms = sim_between(sim, 10, 80),
        .load_timeout_ms = sim_between(sim, 40, 300),
        .wait_budget_ms = sim_between(sim, 60, 800),
        .stale_if_error_ms = rarely(sim, 3, 10, 200),
        .error_backoff_ms = rarely(sim, 3, 10, 200),
        .refresh_ahead_percent = (uint32_t)rarely(sim, 4, 5, 80),
        .refresh_ahead_is_random = sim_chance(sim, 6),
        .max_entries = sim->is_roomy ? 64 : (size_t)sim_between(sim, 1, 3),
        .max_bytes = sim->is_roomy || sim_chance(sim, 2) ? 1u << 20 : 1000,
        .max_loads = (uint32_t)sim_between(sim, 1, 4),
        .queue_max = (uint32_t)sim_between(sim, 0, 6),
        .waiters_max = sim_chance(sim, 4) ? 2 : 64,
    };
    policy->stale_ttl_ms = policy->ttl_ms + rarely(sim, 2, 1, 300);
}

/* In a third of the worlds values are soon stale and long there, for loads to confirm. */
static void draw_confirming(struct sim *sim)
{
    struct hgi_policy *policy = &sim->policy;

    sim->unchanged_in = 2 + sim_draw(sim, 3);
    sim->soft_in = 2 + sim_draw(sim, 3);
    if (sim_chance(sim, 3)) {
        policy->ttl_ms = sim_between(sim, 1, 40);
        policy->stale_ttl_ms = policy->ttl_ms + sim_between(sim, 100, 600);
        sim->unchanged_in = 2;
        sim->soft_in = 2;
    }
}

/* Half the worlds know no leases; where there is no loader, callers load or nobody does. */
static void draw_leading(struct sim *sim)
{
    static const unsigned in[] = {0, 0, 0, 1, 2, 4};

    sim->has_loader = !sim_chance(sim, 8);
    sim->lead_in = sim->has_loader ? in[sim_draw(sim, HGI_COUNT_OF(in))] : 1 + sim_draw(sim, 3);
}

/* Tags that nobody holds share their numbers' places, and one's invalidation may refuse what has
 * the other (never admit it). Rare, and nothing the checks could foretell. */
static bool tags_share_a_place(const struct sim *sim, const struct hgi_cache_options *options)
{
    struct hgi_cache *probe = hgi_cache_create(&hgi_heap, options);
    const struct hgi_cover red = {.tags = &sim->tag_names[0], .tag_count = 1};
    const struct hgi_put put = {
        .key = hg_slice_text("probe"),
        .outcome = HG_VALUE,
        .lifetime = {.tags = &sim->tag_names[1], .tag_count = 1},
        .has_if_generation = true,
        .if_generation = START_GENERATION,
    };
    char sentence[HGI_MESSAGE_MAX];
    struct hgi_report report;
    struct hgi_entry entry;
    enum hg_status status;

    HGI_BUG_ON(!probe);
    hgi_cache_invalidate_cover(probe, &red, &sim->now, &report);
    status = hgi_cache_put(probe, &put, &sim->now, &entry, sentence);
    hgi_cache_destroy(&probe);
    return status == HG_ABORTED;
}

static void world_create(struct sim *sim, uint64_t seed)
{
    static const unsigned others_in[] = {0, 0, 0, 6, 3, 2};
    uint64_t hash_seed = ~seed;
    struct hgi_executor executor = sim_executor(sim);
    struct hgi_cache_options options = {
        .name = "sim",
        .policy = &sim->policy,
        .start_generation = START_GENERATION,
        .seed = seed + 1,
    };

    memset(sim, 0, sizeof(*sim));
    sim->seed = seed;
    sim->random = seed;
    sim->now = (struct hgi_now){.boot_ms = 1000000, .wall_ms = 1700000000000};
    sim->value_count = 1;
    sim_history_start(sim);
    draw_policy(sim);
    draw_confirming(sim);
    draw_leading(sim);
    options.executor = sim->has_loader ? &executor : NULL;
    sim->others_in = others_in[sim_draw(sim, HGI_COUNT_OF(others_in))];
    sim->actor_count = 6 + sim_draw(sim, 3);
    sim_draw_weights(sim);
    for (unsigned i = 0; i < SIM_KEYS; i++) {
        snprintf(sim->keys[i].text, sizeof(sim->keys[i].text), "key%u", i);
        sim->keys[i].cover.number = START_GENERATION;
        sim->keys[i].cover.hard = START_GENERATION;
        sim->keys[i].state = SIM_NOTHING;
    }
    sim->tag_names[0] = hg_slice_text("red");
    sim->tag_names[1] = hg_slice_text("blue");
    for (size_t i = 0; i < HGI_COUNT_OF(sim->scratch); i++) {
        hgi_bytes_init(&sim->scratch[i], &hgi_heap);
    }
    hgi_test_allocator_init(&sim->memory);
    for (hash_random = hash_seed; tags_share_a_place(sim, &options); hash_random = hash_seed) {
        hash_seed--;
    }
    hash_random = hash_seed;
    sim->cache = hgi_cache_create(&sim->memory.allocator, &options);
    HGI_BUG_ON(!sim->cache);
}

/* Either everything is let run out, or the cache is stopped under its callers. */
static void world_end(struct sim *sim)
{
    struct sim_step step;

    sim->others_in = 0;
    if (sim_chance(sim, 2)) {
        sim->now.boot_ms += HGI_TIMEOUT_MAX;
        sim_tick(sim);
        sim_check_rest(sim);
    }
    sim->is_stopped = true;
    sim_step_begin(sim, &step, SIM_STOP, SIM_NO_KEY);
    sim_note(sim, "stop", SIM_NO_KEY, sim->open_count, 0);
    hgi_cache_stop(sim->cache, &step.now);
    sim_step_end(sim, &step);
    for (unsigned i = 0; i < sim->load_count; i++) {
        if (!sim->loads[i].is_ended) {
            sim_load_done(sim, &sim->loads[i], true);
        }
    }
    sim_check_rest(sim);
    SIM_EXPECT(sim, sim->open_count == 0, "%u calls were never answered", sim->open_count);
    sim_check_counters(sim);
    hgi_cache_destroy(&sim->cache);
    SIM_EXPECT(sim, sim->memory.out_count == 0, "%zu allocations leaked", sim->memory.out_count);
    for (size_t i = 0; i < HGI_COUNT_OF(sim->scratch); i++) {
        hgi_bytes_deinit(&sim->scratch[i]);
    }
}

void sim_run(uint64_t seed, struct sim_totals *totals)
{
    struct sim *sim = &world;

    world_create(sim, seed);
    for (unsigned i = 0; i < SIM_STEPS; i++) {
        sim_act(sim);
        sim_check_history(sim);
        sim_check_rest(sim);
    }
    world_end(sim);
    totals->seeds++;
    totals->steps += SIM_STEPS;
    totals->calls += sim->call_count;
    totals->loads += sim->load_count;
    totals->leases += sim->lease_count;
    totals->confirmed += sim->unchanged;
    totals->windows += sim->windows;
    totals->undecided += sim->undecided;
    totals->digest = totals->digest * 31 + sim->digest;
}
