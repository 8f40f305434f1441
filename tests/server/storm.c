/* SPDX-License-Identifier: Apache-2.0 */
#include "storm.h"

#include <sched.h>
#include <stdio.h>

void storm_fault(struct storm *s, const char *what, uint64_t a, uint64_t b)
{
    if (!atomic_exchange(&s->is_faulty, true)) {
        snprintf(s->fault, sizeof(s->fault), "%s (%llu, %llu)", what, (unsigned long long)a,
                 (unsigned long long)b);
    }
}

struct hgi_now storm_now(struct storm *s)
{
    int64_t ms = atomic_load(&s->now_ms);

    return (struct hgi_now){ms, 1700000000000 + ms};
}

uint32_t storm_draw(uint64_t *random, uint32_t below)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return (uint32_t)(*random % below);
}

/* ---- the executor: start and cancel from any thread, loads end on its workers ---- */

static void executor_start(void *context, const struct hgi_load_order *order)
{
    struct storm *s = context;
    struct load *free_load = NULL;

    hgi_lock_loader(&s->loads_lock);
    for (size_t i = 0; i < LOADS_MAX; i++) {
        if (s->loads[i].place == FREE) {
            free_load = &s->loads[i];
        }
    }
    if (!free_load || order->load_id >= IDS_MAX || s->started[order->load_id]) {
        storm_fault(s, free_load ? "a load id came twice" : "more loads than max_loads",
                    order->load_id, LOADS_MAX);
    } else {
        s->started[order->load_id] = 1;
        s->start_count++;
        free_load->place = READY;
        free_load->id = order->load_id;
        free_load->is_cancelled = false;
        memcpy(&free_load->key, order->key.data, sizeof(free_load->key));
    }
    hgi_cond_wake_one(&s->loads_ready);
    hgi_unlock_loader(&s->loads_lock);
}

static void executor_cancel(void *context, struct hgi_cache *cache, uint64_t load_id)
{
    struct storm *s = context;

    hgi_lock_loader(&s->loads_lock);
    if (cache != s->cache || !s->started[load_id] || s->cancelled[load_id]) {
        storm_fault(s, "a cancel before its start, or a second one", load_id, s->started[load_id]);
    }
    s->cancelled[load_id] = 1;
    for (size_t i = 0; i < LOADS_MAX; i++) {
        struct load *load = &s->loads[i];

        if (load->place != FREE && load->id == load_id) {
            load->is_cancelled = true;
            load->place = load->place == HUNG ? READY : load->place;
        }
    }
    hgi_cond_wake_one(&s->loads_ready);
    hgi_unlock_loader(&s->loads_lock);
}

/* Its place is free before the engine hears of its end, so that the engine's next start finds one.
 */
static void end_load(struct storm *s, struct load *load, uint64_t version, uint64_t *random)
{
    struct hgi_now now = storm_now(s);
    struct hgi_result result = {.status = HG_OK,
                                .outcome = HG_VALUE,
                                .value = hg_slice_of(&version, sizeof(version)),
                                .message = hg_slice_text("the backend is down")};
    uint32_t dice = storm_draw(random, 100);
    bool is_lost = dice < 8;
    uint64_t id = load->id;

    hgi_lock_loader(&s->loads_lock);
    load->place = FREE;
    s->lost_count += is_lost;
    hgi_unlock_loader(&s->loads_lock);
    if (is_lost) {
        hgi_cache_load_lost(s->cache, id, &now);
        return;
    }
    if (dice < 18) {
        result.status = HG_INTERNAL;
    } else if (dice < 24) {
        result.outcome = dice % 2 ? HG_ABSENT : HG_DENIED;
        result.value = hg_slice_of(NULL, 0);
    } else if (dice < 28) {
        result.lifetime.no_store = true;
    } else if (dice < 31) {
        result.lifetime.expires_at_ms = now.wall_ms - 1;
    } else if (dice < 35) {
        result.lifetime.expires_at_ms = now.wall_ms + 2;
    }
    hgi_cache_load_done(s->cache, id, &result, &now);
}

static void run_load(struct storm *s, struct load *load, bool was_cancelled, uint64_t *random)
{
    uint64_t version;
    bool hangs = false;

    if (!was_cancelled && storm_draw(random, 100) >= 4) {
        struct hgi_now now = storm_now(s);

        hgi_cache_load_sent(s->cache, load->id, 0, &now);
        hangs = storm_draw(random, 100) < 1;
    }
    version = atomic_load(&s->truths[load->key].version);
    for (uint32_t i = storm_draw(random, 4); i > 0; i--) {
        sched_yield(); /* lets invalidations overtake it */
    }
    if (hangs) {
        hgi_lock_loader(&s->loads_lock);
        hangs = !load->is_cancelled;
        load->place = hangs ? HUNG : load->place;
        hgi_unlock_loader(&s->loads_lock);
    }
    if (!hangs) {
        end_load(s, load, version, random);
    }
}

/* A load to run, or NULL: the server has stopped and none is left. Waits for either. */
static struct load *next_load(struct storm *s) HGI_REQUIRES(loader)
{
    for (;;) {
        bool is_busy = false;

        for (size_t i = 0; i < LOADS_MAX; i++) {
            if (s->loads[i].place == READY) {
                return &s->loads[i];
            }
            is_busy = is_busy || s->loads[i].place != FREE;
        }
        if (s->is_closing && !is_busy) {
            return NULL;
        }
        (void)hgi_cond_wait(&s->loads_ready, &s->loads_lock, 5);
    }
}

void storm_work(void *arg)
{
    struct hand *hand = arg;
    struct storm *s = hand->storm;
    struct load *load;

    hgi_lock_loader(&s->loads_lock);
    while ((load = next_load(s)) != NULL) {
        bool was_cancelled = load->is_cancelled;

        load->place = RUNNING;
        hgi_unlock_loader(&s->loads_lock);
        run_load(s, load, was_cancelled, &hand->random);
        hgi_lock_loader(&s->loads_lock);
    }
    hgi_unlock_loader(&s->loads_lock);
}

/* ---- its life ---- */

static void *counted_resize(void *context, void *pointer, size_t size)
{
    struct storm *s = context;
    void *fresh = hgi_heap.resize(hgi_heap.context, pointer, size);

    if (size == 0 && pointer) {
        atomic_fetch_sub(&s->out_count, 1);
    } else if (size && !pointer && fresh) {
        atomic_fetch_add(&s->out_count, 1);
    }
    return fresh;
}

struct storm *storm_create(enum hgi_on_error on_error, enum hgi_on_fenced on_fenced)
{
    struct storm *s = hgi_alloc(&hgi_heap, sizeof(*s));
    struct hgi_policy policy = {
        .mode = HG_MODE_REVALIDATE,
        .on_error = on_error,
        .on_fenced = on_fenced,
        .ttl_ms = 3,
        .stale_ttl_ms = 12,
        .negative_ttl_ms = 2,
        .load_timeout_ms = 10,
        .wait_budget_ms = 40,
        .max_entries = 10, /* fewer than there are keys */
        .max_bytes = 1 << 20,
        .max_loads = LOADS_MAX,
        .queue_max = 4,
        .waiters_max = 8,
    };
    struct hgi_executor executor = {
        .start = executor_start, .cancel = executor_cancel, .context = s};
    struct hgi_cache_options options = {.name = "storm",
                                        .policy = &policy,
                                        .executor = &executor,
                                        .start_generation = 100,
                                        .seed = 7};

    ck_assert_ptr_nonnull(s);
    s->on_fenced = on_fenced;
    s->allocator = (struct hgi_allocator){counted_resize, s};
    for (size_t i = 0; i < KEY_COUNT; i++) {
        hgi_lock_init(&s->truths[i].lock);
    }
    hgi_lock_init(&s->loads_lock);
    hgi_lock_init(&s->answers_lock);
    hgi_cond_init(&s->loads_ready);
    hgi_cond_init(&s->answered);
    s->cache = hgi_cache_create(&s->allocator, &options);
    ck_assert_ptr_nonnull(s->cache);
    return s;
}

void storm_destroy(struct storm *s)
{
    hgi_cache_destroy(&s->cache);
    ck_assert_uint_eq(atomic_load(&s->out_count), 0);
    hgi_cond_deinit(&s->answered);
    hgi_cond_deinit(&s->loads_ready);
    hgi_lock_deinit(&s->answers_lock);
    hgi_lock_deinit(&s->loads_lock);
    for (size_t i = 0; i < KEY_COUNT; i++) {
        hgi_lock_deinit(&s->truths[i].lock);
    }
    hgi_free(&hgi_heap, s);
}
