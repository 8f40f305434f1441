/* SPDX-License-Identifier: Apache-2.0 */
/* What is done without the lock: callbacks may use the cache, and cancels follow their starts. */
#include <stdio.h>

#include "base/check.h"
#include "base/lock.h"
#include "base/thread.h"
#include "engine.h"

/* ---- callbacks hold no lock of the engine ---- */

struct nested {
    struct engine *engine;
    struct hgi_call call;
    struct hgi_call inner;
    int answers;
    int inner_answers;
    char inner_value[16];
};

static void inner_done(struct hgi_call *call, const struct hgi_answer *answer)
{
    struct nested *n = HGI_CONTAINER(call, struct nested, inner);

    n->inner_answers++;
    if (answer->value.len) {
        memcpy(n->inner_value, answer->value.data, answer->value.len);
    }
}

static void use_the_cache(struct hgi_call *call, const struct hgi_answer *answer)
{
    struct nested *n = HGI_CONTAINER(call, struct nested, call);
    struct hgi_lock lowest;

    (void)answer;
    n->answers++;
    hgi_lock_init(&lowest);
    hgi_lock_registry(&lowest); /* the lowest rank: a bug is called if any other lock is held */
    hgi_unlock_registry(&lowest);
    hgi_lock_deinit(&lowest);
    engine_put(n->engine, "inner", "put");
    n->inner = (struct hgi_call){
        .key = hg_slice_text("inner"), .mode = HG_MODE_FRESH, .max_age_ms = -1, .done = inner_done};
    hgi_cache_read(n->engine->cache, &n->inner, &n->engine->scratch, &n->engine->now);
    engine_clear(n->engine);
    hgi_cache_tick(n->engine->cache, &n->engine->now);
}

static void read_nested(struct nested *n, struct engine *e, const char *key, int64_t timeout_ms)
{
    memset(n, 0, sizeof(*n));
    n->engine = e;
    n->call = (struct hgi_call){.key = hg_slice_text(key),
                                .mode = HG_MODE_FRESH,
                                .max_age_ms = -1,
                                .timeout_ms = timeout_ms,
                                .done = use_the_cache};
    hgi_cache_read(e->cache, &n->call, &e->scratch, &e->now);
}

static void check_nested(const struct nested *n)
{
    ck_assert_int_eq(n->answers, 1);
    ck_assert_int_eq(n->inner_answers, 1);
    ck_assert_str_eq(n->inner_value, "put");
}

START_TEST(a_caller_may_use_the_cache_from_its_done_however_it_is_answered)
{
    struct engine *e = engine_create(NULL);
    struct nested hit, leader, follower, late, leaving, stopped;

    engine_put(e, "hit", "v");
    read_nested(&hit, e, "hit", 0);
    check_nested(&hit);
    read_nested(&leader, e, "loaded", 0);
    read_nested(&follower, e, "loaded", 0);
    engine_value(e, 0, "v"); /* the leader's done clears the cache under the follower */
    check_nested(&leader);
    check_nested(&follower);
    read_nested(&late, e, "late", 50);
    engine_pass(e, 50);
    check_nested(&late);
    read_nested(&leaving, e, "leaving", 0);
    hgi_cache_leave(e->cache, &leaving.call, &e->now);
    check_nested(&leaving);
    read_nested(&stopped, e, "stopped", 0);
    hgi_cache_stop(e->cache, &e->now);
    check_nested(&stopped);
    engine_destroy(e);
}
END_TEST

/* ---- a cancel follows its start ---- */

enum { ORDERS_MAX = 8 };

/* While it is handed its second load, another thread clears the cache. */
struct crossed {
    struct hgi_cache *cache;
    struct hgi_now now;
    uint64_t started[ORDERS_MAX];
    uint64_t cancelled[ORDERS_MAX];
    size_t start_count;
    size_t cancel_count;
    bool cancel_came_first;
};

static void clear_in_thread(void *arg)
{
    struct crossed *c = arg;
    struct hgi_report report;

    hgi_cache_clear(c->cache, &c->now, &report);
}

static void start_and_be_crossed(void *context, const struct hgi_load_order *order)
{
    struct crossed *c = context;

    c->started[c->start_count++] = order->load_id;
    if (c->start_count == 2) {
        struct hgi_thread thread;

        ck_assert(hgi_thread_start(&thread, "clear", clear_in_thread, c));
        hgi_thread_join(&thread);
    }
}

static void note_cancel(void *context, struct hgi_cache *cache, uint64_t load_id)
{
    struct crossed *c = context;
    bool is_started = false;

    ck_assert_ptr_eq(cache, c->cache);
    for (size_t i = 0; i < c->start_count; i++) {
        is_started = is_started || c->started[i] == load_id;
    }
    c->cancel_came_first = c->cancel_came_first || !is_started;
    c->cancelled[c->cancel_count++] = load_id;
}

static void ignore_answer(struct hgi_call *call, const struct hgi_answer *answer)
{
    (void)call;
    (void)answer;
}

/* Two loads are handed out by one critical section (on_error = each); during the first, a clear
 * overtakes both. An executor does not know the second yet: a cancel for it now would be lost, and
 * a load nobody wants would keep its place for as long as its loader likes. */
START_TEST(a_load_overtaken_while_it_is_being_handed_out_is_cancelled_after_that)
{
    struct crossed c = {.now = {1000, 2000}};
    struct hgi_policy policy = engine_policy();
    struct hgi_executor executor = {
        .start = start_and_be_crossed, .cancel = note_cancel, .context = &c};
    struct hgi_cache_options options = {
        .name = "crossed", .policy = &policy, .executor = &executor, .start_generation = 1};
    struct hgi_result error = {.status = HG_UNAVAILABLE};
    struct hgi_call calls[3];
    struct hg_bytes scratch;

    policy.on_error = HGI_ON_ERROR_EACH;
    policy.on_fenced = HGI_ON_FENCED_RELOAD;
    c.cache = hgi_cache_create(&hgi_heap, &options);
    ck_assert_ptr_nonnull(c.cache);
    hgi_bytes_init(&scratch, &hgi_heap);
    for (int i = 0; i < 3; i++) {
        calls[i] = (struct hgi_call){.key = hg_slice_text("k"),
                                     .mode = HG_MODE_FRESH,
                                     .max_age_ms = -1,
                                     .done = ignore_answer};
        hgi_cache_read(c.cache, &calls[i], &scratch, &c.now);
    }
    hgi_cache_load_done(c.cache, c.started[0], &error, &c.now);
    /* the first, the two of the followers, and the one that the two led after the clear */
    ck_assert_uint_eq(c.start_count, 4);
    ck_assert(!c.cancel_came_first);
    ck_assert_uint_eq(c.cancel_count, 2);
    hgi_cache_stop(c.cache, &c.now);
    ck_assert_uint_eq(c.cancel_count, 3);
    for (size_t i = 1; i < c.start_count; i++) {
        hgi_cache_load_done(c.cache, c.started[i], &error, &c.now);
    }
    hgi_bytes_deinit(&scratch);
    hgi_cache_destroy(&c.cache);
}
END_TEST

HGI_SUITE("server.work", 60, a_caller_may_use_the_cache_from_its_done_however_it_is_answered,
          a_load_overtaken_while_it_is_being_handed_out_is_cancelled_after_that)
