/* SPDX-License-Identifier: Apache-2.0 */
/* What the systems before it left open (Aether's auth_runtime, nora-registry), one test a hazard.
 * Each names what went wrong there; the test shows what is so here instead. */
#include <stdio.h>

#include "engine.h"

enum { CROWD = 100 };

/* ---- 1: between a caller's look and its turn to lead, a load may end ---- */

static struct engine *ends_load_in_next_look;

/* The linker puts the second in the place of the first (tests/server/CMakeLists.txt). */
enum hgi_found __real_hgi_table_lookup_hashed(struct hgi_table *table, uint64_t hash,
                                              struct hg_slice key, int64_t max_age_ms,
                                              const struct hgi_now *now, struct hg_bytes *ret_value,
                                              struct hgi_found_entry *ret_entry);
enum hgi_found __wrap_hgi_table_lookup_hashed(struct hgi_table *table, uint64_t hash,
                                              struct hg_slice key, int64_t max_age_ms,
                                              const struct hgi_now *now, struct hg_bytes *ret_value,
                                              struct hgi_found_entry *ret_entry);

enum hgi_found __wrap_hgi_table_lookup_hashed(struct hgi_table *table, uint64_t hash,
                                              struct hg_slice key, int64_t max_age_ms,
                                              const struct hgi_now *now, struct hg_bytes *ret_value,
                                              struct hgi_found_entry *ret_entry)
{
    enum hgi_found found =
        __real_hgi_table_lookup_hashed(table, hash, key, max_age_ms, now, ret_value, ret_entry);
    struct engine *e = ends_load_in_next_look;

    if (e) {
        ends_load_in_next_look = NULL;
        ck_assert_int_eq(found, HGI_MISS);
        engine_value(e, 0, "just loaded");
    }
    return found;
}

START_TEST(hazard_1_a_load_that_just_ended_is_not_repeated)
{
    struct engine *e = engine_create(NULL);
    struct engine_call *first = engine_get(e, "k");
    struct engine_call *second;

    ends_load_in_next_look = e;
    second = engine_get(e, "k");
    ck_assert_ptr_null(ends_load_in_next_look);
    ck_assert_answer(first, HG_SOURCE_LOADED, "just loaded");
    ck_assert_answer(second, HG_SOURCE_FRESH, "just loaded");
    ck_assert_uint_eq(e->load_count, 1);
    engine_destroy(e);
}
END_TEST

/* ---- 2: one generation for all keys lets a steady writer keep every load from being stored ----
 */

START_TEST(hazard_2_writers_of_other_keys_keep_no_load_from_being_stored)
{
    struct engine *e = engine_create(NULL);
    struct hg_slice tag = hg_slice_text("elsewhere");
    struct hgi_cover cover = {.tags = &tag, .tag_count = 1};
    struct hgi_report report;
    struct engine_call *c = engine_get(e, "k");
    uint64_t born = hgi_cache_generation(e->cache);

    for (int i = 0; i < CROWD; i++) {
        char key[16];

        snprintf(key, sizeof(key), "other %d", i);
        ck_assert_int_eq(engine_put(e, key, "v"), HG_OK);
        engine_invalidate(e, key);
        hgi_cache_invalidate_cover(e->cache, &cover, &e->now, &report);
    }
    ck_assert_uint_eq(hgi_cache_generation(e->cache), born + 3 * CROWD);
    engine_value(e, 0, "v");
    ck_assert_answer(c, HG_SOURCE_LOADED, "v");
    ck_assert(!c->is_fenced);
    c = engine_get(e, "k");
    ck_assert_answer(c, HG_SOURCE_FRESH, "v");
    ck_assert_uint_eq(c->generation, born);
    ck_assert_uint_eq(e->load_count, 1);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_fenced), 0);
    engine_destroy(e);
}
END_TEST

/* ---- 3: one reader's ttl is another reader's loss ---- */

START_TEST(hazard_3_a_readers_max_age_removes_nothing)
{
    struct engine *e = engine_create(NULL);

    engine_put(e, "k", "v");
    engine_pass(e, 50);
    ck_assert_negative(engine_read_with(e, "k", HG_MODE_PEEK, 10, 0), HG_SOURCE_NONE,
                       HG_NOT_CACHED);
    ck_assert_answer(engine_read(e, "k", HG_MODE_PEEK), HG_SOURCE_FRESH, "v");
    engine_pass(e, 100);
    engine_read_with(e, "k", HG_MODE_FRESH, 10, 0);
    engine_error(e, 0, HG_INTERNAL, "no");
    ck_assert_answer(engine_read(e, "k", HG_MODE_ALLOW_STALE), HG_SOURCE_STALE, "v");
    engine_destroy(e);
}
END_TEST

START_TEST(hazard_3_a_short_lived_put_prunes_no_neighbour_and_walks_over_none)
{
    struct engine *e = engine_create(NULL);
    struct hgi_put brief = {
        .key = hg_slice_text("brief"),
        .outcome = HG_VALUE,
        .value = hg_slice_text("v"),
        .lifetime = {.ttl_ms = 1, .stale_ttl_ms = 1},
    };
    char sentence[HGI_MESSAGE_MAX];
    struct hgi_entry entry;

    for (int i = 0; i < CROWD; i++) {
        char key[16];

        snprintf(key, sizeof(key), "over %d", i);
        engine_put(e, key, "v");
    }
    e->now.boot_ms += 301;
    e->now.wall_ms += 301;
    engine_put(e, "neighbour", "v");
    e->now.boot_ms += 2;
    e->now.wall_ms += 2;
    ck_assert_int_eq(hgi_cache_put(e->cache, &brief, &e->now, &entry, sentence), HG_OK);
    ck_assert_answer(engine_read(e, "neighbour", HG_MODE_PEEK), HG_SOURCE_FRESH, "v");
    /* What is over is given back by the tick, and by no put. */
    ck_assert_uint_eq(engine_stats(e).entries, CROWD + 2);
    engine_pass(e, 0);
    ck_assert_uint_eq(engine_stats(e).entries, 2);
    engine_destroy(e);
}
END_TEST

/* ---- 4: a follower that looks into the map may find nothing and load again, in series ---- */

START_TEST(hazard_4_followers_take_the_loads_result_and_not_the_maps)
{
    struct engine *e = engine_create(NULL);
    struct hgi_result unkept = {
        .status = HG_OK,
        .outcome = HG_VALUE,
        .value = hg_slice_text("v"),
        .lifetime = {.no_store = true},
    };
    struct engine_call *followers[CROWD];

    engine_get(e, "k");
    for (int i = 0; i < CROWD; i++) {
        followers[i] = engine_get(e, "k");
    }
    engine_result(e, 0, &unkept);
    for (int i = 0; i < CROWD; i++) {
        ck_assert_answer(followers[i], HG_SOURCE_JOINED, "v");
    }
    ck_assert_uint_eq(engine_stats(e).entries, 0);
    ck_assert_uint_eq(e->load_count, 1);
    engine_destroy(e);
}
END_TEST

START_TEST(hazard_4_followers_of_an_overtaken_load_share_one_new_load)
{
    struct engine *e = engine_create(NULL);
    struct engine_call *followers[CROWD];

    engine_get(e, "k");
    for (int i = 0; i < CROWD; i++) {
        followers[i] = engine_get(e, "k");
    }
    ck_assert_uint_eq(engine_clear(e).released, CROWD);
    ck_assert_uint_eq(e->load_count, 2);
    engine_value(e, 1, "new");
    for (int i = 0; i < CROWD; i++) {
        ck_assert_answer(followers[i], i ? HG_SOURCE_JOINED : HG_SOURCE_LOADED, "new");
    }
    engine_value(e, 0, "old");
    ck_assert_uint_eq(e->load_count, 2);
    engine_destroy(e);
}
END_TEST

/* ---- 5: after a failed refresh each stale read may start the next; stale counts as fresh ---- */

START_TEST(hazard_5_a_failed_refresh_is_followed_by_a_pause_and_stale_is_told_from_fresh)
{
    struct engine *e = engine_create(NULL);

    engine_put(e, "k", "v");
    ck_assert_answer(engine_read(e, "k", HG_MODE_REVALIDATE), HG_SOURCE_FRESH, "v");
    engine_pass(e, 101);
    ck_assert_answer(engine_read(e, "k", HG_MODE_REVALIDATE), HG_SOURCE_STALE, "v");
    engine_error(e, 0, HG_UNAVAILABLE, "down");
    for (int i = 0; i < CROWD; i++) {
        ck_assert_answer(engine_read(e, "k", HG_MODE_REVALIDATE), HG_SOURCE_STALE, "v");
    }
    engine_pass(e, 49); /* the first pause is 50 to 100 ms */
    engine_read(e, "k", HG_MODE_REVALIDATE);
    ck_assert_uint_eq(e->load_count, 1);
    engine_pass(e, 51);
    engine_read(e, "k", HG_MODE_REVALIDATE);
    ck_assert_uint_eq(e->load_count, 2);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_hit), 1);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_stale_hit), CROWD + 3);
    engine_destroy(e);
}
END_TEST

/* ---- 6: the beginner of an overtaken load gets the old value ---- */

START_TEST(hazard_6_under_reload_not_even_the_beginner_gets_a_value_from_before_the_clear)
{
    struct hgi_policy policy = engine_policy();
    struct engine *e;
    struct engine_call *beginner;

    policy.on_fenced = HGI_ON_FENCED_RELOAD;
    e = engine_create(&policy);
    beginner = engine_get(e, "k");
    engine_clear(e);
    engine_value(e, 0, "revoked");
    ck_assert_waiting(beginner);
    engine_value(e, 1, "now");
    ck_assert_answer(beginner, HG_SOURCE_LOADED, "now");
    ck_assert(!beginner->is_fenced);
    engine_destroy(e);
}
END_TEST

/* ---- 7: followers without a deadline, budgets that add up, everybody loading when they end ----
 */

START_TEST(hazard_7_followers_wait_one_budget_in_all_and_then_load_nothing)
{
    struct hgi_policy policy = engine_policy();
    struct engine *e;
    struct engine_call *followers[CROWD];

    policy.on_error = HGI_ON_ERROR_ELECT;
    policy.wait_budget_ms = 500;
    e = engine_create(&policy);
    engine_read_with(e, "k", HG_MODE_FRESH, -1, 60000);
    for (int i = 0; i < CROWD; i++) {
        followers[i] = engine_read_with(e, "k", HG_MODE_FRESH, -1, 60000);
    }
    engine_pass(e, 400);
    engine_error(e, 0, HG_INTERNAL, "no"); /* the first follower leads: another round */
    ck_assert_uint_eq(e->load_count, 2);
    engine_pass(e, 99);
    ck_assert_waiting(followers[CROWD - 1]);
    engine_pass(e, 1);
    for (int i = 1; i < CROWD; i++) {
        ck_assert_refused(followers[i], HG_DEADLINE_EXCEEDED);
    }
    ck_assert_waiting(followers[0]);
    ck_assert_uint_eq(e->load_count, 2);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_fallthrough_budget), CROWD - 1);
    engine_destroy(e);
}
END_TEST

/* ---- 8: the load dies with the caller that began it ---- */

START_TEST(hazard_8_a_beginner_that_leaves_takes_no_load_along)
{
    struct engine *e = engine_create(NULL);
    struct engine_call *beginner = engine_get(e, "k");
    struct engine_call *follower = engine_get(e, "k");

    hgi_cache_leave(e->cache, &beginner->call, &e->now);
    ck_assert_refused(beginner, HG_CANCELLED);
    ck_assert(!e->loads[0].is_cancelled);
    engine_value(e, 0, "v");
    ck_assert_answer(follower, HG_SOURCE_JOINED, "v");
    ck_assert_uint_eq(e->load_count, 1);
    engine_destroy(e);
}
END_TEST

/* ---- 9: a clear or an insert that could not be done is silently dropped ---- */

START_TEST(hazard_9_a_clear_is_done_whatever_memory_is_missing)
{
    for (size_t fail_at = 1; fail_at <= 8; fail_at++) {
        struct engine *e = engine_create(NULL);
        uint64_t generation;

        engine_put(e, "kept", "old");
        engine_get(e, "loading");
        engine_get(e, "loading");
        generation = hgi_cache_generation(e->cache);
        e->memory.fail_at = fail_at;
        ck_assert_uint_eq(engine_clear(e).generation, generation + 1);
        e->memory.fail_at = 0;
        ck_assert_negative(engine_read(e, "kept", HG_MODE_PEEK), HG_SOURCE_NONE, HG_NOT_CACHED);
        engine_value(e, 0, "old");
        ck_assert_negative(engine_read(e, "loading", HG_MODE_PEEK), HG_SOURCE_NONE, HG_NOT_CACHED);
        engine_destroy(e);
    }
}
END_TEST

START_TEST(hazard_9_a_put_that_finds_no_memory_says_so_and_leaves_no_old_value)
{
    struct engine *e = engine_create(NULL);
    struct hg_slice tag = hg_slice_text("a tag nobody has yet");
    struct hgi_put put = {.key = hg_slice_text("k"),
                          .outcome = HG_VALUE,
                          .value = hg_slice_text("new"),
                          .lifetime = {.tags = &tag, .tag_count = 1}};
    struct hgi_entry entry;
    char sentence[HGI_MESSAGE_MAX];

    engine_put(e, "k", "old");
    e->memory.fail_at = 1; /* the tag's */
    ck_assert_int_eq(hgi_cache_put(e->cache, &put, &e->now, &entry, sentence),
                     HG_RESOURCE_EXHAUSTED);
    ck_assert_negative(engine_read(e, "k", HG_MODE_PEEK), HG_SOURCE_NONE, HG_NOT_CACHED);
    engine_destroy(e);
}
END_TEST

/* ---- 10: nothing is kept of an error: the next caller loads at once ---- */

START_TEST(hazard_10_with_error_backoff_a_failure_answers_the_next_callers)
{
    struct hgi_policy policy = engine_policy();
    struct engine *e;
    struct engine_call *c;

    policy.error_backoff_ms = 100;
    e = engine_create(&policy);
    engine_get(e, "k");
    engine_error(e, 0, HG_UNAVAILABLE, "the database is away");
    for (int i = 0; i < CROWD; i++) {
        c = engine_get(e, "k");
        ck_assert_refused(c, HG_UNAVAILABLE);
        ck_assert_int_eq(c->source, HG_SOURCE_JOINED);
        ck_assert_str_eq(c->message, "the database is away");
        ck_assert_uint_le(c->retry_after_ms, 100);
    }
    ck_assert_uint_eq(e->load_count, 1);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_failure_hit), CROWD);
    engine_pass(e, 100);
    engine_get(e, "k");
    ck_assert_uint_eq(e->load_count, 2);
    engine_destroy(e);
}
END_TEST

START_TEST(hazard_10_without_error_backoff_the_next_caller_loads_as_it_did_there)
{
    struct engine *e = engine_create(NULL);

    engine_get(e, "k");
    engine_error(e, 0, HG_UNAVAILABLE, "the database is away");
    engine_get(e, "k");
    ck_assert_uint_eq(e->load_count, 2);
    engine_destroy(e);
}
END_TEST

HGI_SUITE("server.hazards", 20, hazard_1_a_load_that_just_ended_is_not_repeated,
          hazard_2_writers_of_other_keys_keep_no_load_from_being_stored,
          hazard_3_a_readers_max_age_removes_nothing,
          hazard_3_a_short_lived_put_prunes_no_neighbour_and_walks_over_none,
          hazard_4_followers_take_the_loads_result_and_not_the_maps,
          hazard_4_followers_of_an_overtaken_load_share_one_new_load,
          hazard_5_a_failed_refresh_is_followed_by_a_pause_and_stale_is_told_from_fresh,
          hazard_6_under_reload_not_even_the_beginner_gets_a_value_from_before_the_clear,
          hazard_7_followers_wait_one_budget_in_all_and_then_load_nothing,
          hazard_8_a_beginner_that_leaves_takes_no_load_along,
          hazard_9_a_clear_is_done_whatever_memory_is_missing,
          hazard_9_a_put_that_finds_no_memory_says_so_and_leaves_no_old_value,
          hazard_10_with_error_backoff_a_failure_answers_the_next_callers,
          hazard_10_without_error_backoff_the_next_caller_loads_as_it_did_there)
