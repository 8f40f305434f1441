/* SPDX-License-Identifier: Apache-2.0 */
/* What is done without the lock: callbacks may use the cache, and cancels follow their starts. */
#include <stdio.h>

#include "base/check.h"
#include "base/lock.h"
#include "base/thread.h"
#include "engine.h"
#include "server/cache/work.h"

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

/* ---- what an invalidation leaves to the tick ---- */

/* So many that the first tick does not see to all of them. */
#define HERD (HGI_RELEASES_AT_ONCE + HGI_RELEASES_A_TICK + 100)

static struct engine *with_herd(size_t count)
{
    struct engine *e = engine_create(NULL);

    for (size_t i = 0; i < count; i++) {
        engine_get(e, "k");
    }
    ck_assert_uint_eq(e->load_count, 1);
    ck_assert_uint_eq(engine_stats(e).waiting, count);
    return e;
}

static size_t answered_count(const struct engine *e)
{
    size_t count = 0;

    for (size_t i = 0; i < e->call_count; i++) {
        count += (size_t)e->calls[i].answers;
    }
    return count;
}

START_TEST(a_clear_sees_to_a_few_and_leaves_a_herd_to_the_ticks)
{
    struct engine *few = with_herd(HGI_RELEASES_AT_ONCE + 1);
    struct engine *e = with_herd(HERD + 1);

    ck_assert_uint_eq(engine_clear(few).released, HGI_RELEASES_AT_ONCE);
    ck_assert_uint_eq(few->load_count, 2);
    engine_destroy(few);
    /* Its beginner stays with the overtaken load, all others are out of it, and nowhere yet. */
    ck_assert_uint_eq(engine_clear(e).released, HERD);
    ck_assert_uint_eq(engine_stats(e).waiting, 1);
    ck_assert_uint_eq(e->load_count, 1);
    engine_pass(e, 1);
    ck_assert_uint_eq(engine_stats(e).waiting, 1 + HGI_RELEASES_A_TICK);
    ck_assert_uint_eq(e->load_count, 2);
    engine_pass(e, 1);
    ck_assert_uint_eq(engine_stats(e).waiting, 1 + HERD);
    ck_assert_uint_eq(e->load_count, 2);
    engine_value(e, 0, "old");
    ck_assert_uint_eq(answered_count(e), 1);
    engine_value(e, 1, "new");
    ck_assert_uint_eq(answered_count(e), HERD + 1);
    for (size_t i = 1; i < HERD + 1; i++) {
        ck_assert_str_eq(e->calls[i].value, "new");
    }
    engine_destroy(e);
}
END_TEST

START_TEST(an_invalidation_leaves_a_herd_to_the_tick_too)
{
    struct engine *e = with_herd(HGI_RELEASES_AT_ONCE + 2);

    ck_assert_uint_eq(engine_invalidate(e, "k").released, HGI_RELEASES_AT_ONCE + 1);
    ck_assert_uint_eq(e->load_count, 1);
    engine_pass(e, 1);
    ck_assert_uint_eq(e->load_count, 2);
    engine_destroy(e);
}
END_TEST

START_TEST(who_is_left_to_the_tick_may_leave_be_late_or_be_sent_back_too_often)
{
    struct engine *e = with_herd(HERD);
    struct engine_call *late = &e->calls[1];

    engine_clear(e);
    hgi_cache_leave(e->cache, &e->calls[2].call, &e->now); /* it is answered all the same, once */
    late->call.deadline_ms = e->now.boot_ms + 1;
    engine_pass(e, 1);
    ck_assert_refused(late, HG_DEADLINE_EXCEEDED);
    ck_assert_uint_eq(answered_count(e), 1);
    engine_pass(e, 1);
    /* Two rounds more, then one too many. */
    for (int round = 2; round <= 4; round++) {
        ck_assert_waiting(&e->calls[HERD - 1]);
        engine_clear(e);
        ck_assert_uint_eq(engine_clear(e).released, 0); /* nothing is released twice */
        engine_pass(e, 1);
        engine_pass(e, 1);
    }
    ck_assert_refused(&e->calls[HERD - 1], HG_ABORTED);
    engine_destroy(e);
}
END_TEST

START_TEST(a_stop_answers_who_is_left_to_the_tick)
{
    struct engine *e = with_herd(HERD + 1);

    engine_clear(e);
    hgi_cache_stop(e->cache, &e->now);
    ck_assert_uint_eq(answered_count(e), HERD + 1);
    ck_assert_refused(&e->calls[HERD], HG_UNAVAILABLE);
    engine_destroy(e);
}
END_TEST

HGI_SUITE("server.work", 60, a_clear_sees_to_a_few_and_leaves_a_herd_to_the_ticks,
          an_invalidation_leaves_a_herd_to_the_tick_too,
          who_is_left_to_the_tick_may_leave_be_late_or_be_sent_back_too_often,
          a_stop_answers_who_is_left_to_the_tick,
          a_caller_may_use_the_cache_from_its_done_however_it_is_answered,
          a_load_overtaken_while_it_is_being_handed_out_is_cancelled_after_that)
