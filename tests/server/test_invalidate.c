/* SPDX-License-Identifier: Apache-2.0 */
/* Generations: puts, invalidations, clears, and the loads they overtake. */
#include <stdio.h>

#include "base/check.h"
#include "engine.h"

static struct engine *with_on_fenced(enum hgi_on_fenced on_fenced)
{
    struct hgi_policy policy = engine_policy();

    policy.on_fenced = on_fenced;
    return engine_create(&policy);
}

#define ck_assert_report(report, generation_, dropped_, fenced_, released_)                        \
    do {                                                                                           \
        struct hgi_report r_ = (report);                                                           \
        ck_assert_uint_eq(r_.generation, (generation_));                                           \
        ck_assert_uint_eq(r_.dropped, (dropped_));                                                 \
        ck_assert_uint_eq(r_.fenced, (fenced_));                                                   \
        ck_assert_uint_eq(r_.released, (released_));                                               \
    } while (0)

/* ---- clear ---- */

START_TEST(a_clear_reports_what_it_dropped_fenced_and_released)
{
    struct engine *e = with_on_fenced(HGI_ON_FENCED_DELIVER);
    uint64_t generation;

    for (int i = 0; i < 5; i++) {
        char key[8];

        snprintf(key, sizeof(key), "k%d", i);
        engine_put(e, key, "v");
    }
    engine_get(e, "a");
    engine_get(e, "a");
    engine_get(e, "a");
    engine_get(e, "b");
    generation = hgi_cache_generation(e->cache);
    /* a and b are overtaken; two followers of a go, the beginners of both wait on */
    ck_assert_report(engine_clear(e), generation + 1, 5, 2, 2);
    ck_assert_uint_eq(hgi_cache_generation(e->cache), generation + 1);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_fenced), 2);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_clear), 1);
    ck_assert_uint_eq(engine_stats(e).entries, 0);
    /* the replacement of a is new; the overtaken ones are not counted twice */
    ck_assert_report(engine_clear(e), generation + 2, 0, 1, 1);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_fenced), 3);
    engine_destroy(e);
}
END_TEST

START_TEST(a_clear_of_an_empty_cache_still_takes_a_number)
{
    struct engine *e = engine_create(NULL);
    uint64_t generation = hgi_cache_generation(e->cache);

    ck_assert_report(engine_clear(e), generation + 1, 0, 0, 0);
    ck_assert_report(engine_clear(e), generation + 2, 0, 0, 0);
    engine_destroy(e);
}
END_TEST

START_TEST(a_clear_drops_negatives_and_stale_values_too)
{
    struct engine *e = engine_create(NULL);

    engine_put(e, "stale", "v");
    engine_pass(e, 150);
    engine_put_negative(e, "absent", HG_ABSENT);
    ck_assert_uint_eq(engine_clear(e).dropped, 2);
    ck_assert_waiting(engine_read(e, "stale", HG_MODE_ALLOW_STALE));
    ck_assert_waiting(engine_read(e, "absent", HG_MODE_ALLOW_STALE));
    engine_destroy(e);
}
END_TEST

START_TEST(under_deliver_the_beginner_gets_its_load_flagged_and_unstored)
{
    struct engine *e = with_on_fenced(HGI_ON_FENCED_DELIVER);
    struct engine_call *beginner = engine_get(e, "k");
    uint64_t born = hgi_cache_generation(e->cache);

    engine_clear(e);
    ck_assert(!e->loads[0].is_cancelled);
    engine_value(e, 0, "old");
    ck_assert_answer(beginner, HG_SOURCE_LOADED, "old");
    ck_assert(beginner->is_fenced);
    ck_assert_uint_eq(beginner->generation, born);
    ck_assert_int_eq(beginner->ttl_left_ms, 0);
    ck_assert_negative(engine_read(e, "k", HG_MODE_PEEK), HG_SOURCE_NONE, HG_NOT_CACHED);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_late), 0);
    engine_destroy(e);
}
END_TEST

START_TEST(under_reload_the_beginner_looks_again_and_the_overtaken_load_is_cancelled)
{
    struct hgi_policy policy = engine_policy();
    struct engine *e;
    struct engine_call *beginner;
    struct engine_call *follower;

    policy.on_fenced = HGI_ON_FENCED_RELOAD;
    policy.max_loads = 1;
    e = engine_create(&policy);
    beginner = engine_get(e, "k");
    follower = engine_get(e, "k");
    ck_assert_uint_eq(engine_clear(e).released, 2);
    ck_assert(e->loads[0].is_cancelled);
    ck_assert_uint_eq(e->load_count, 1); /* its place is taken until it ends */
    ck_assert_uint_eq(engine_stats(e).queued, 1);
    ck_assert_uint_eq(engine_stats(e).in_flight, 1);
    engine_value(e, 0, "old");
    ck_assert_waiting(beginner);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_late), 1);
    engine_value(e, 1, "new");
    ck_assert_str_eq(beginner->value, "new");
    ck_assert_str_eq(follower->value, "new");
    ck_assert(!beginner->is_fenced);
    ck_assert_int_ne(beginner->source, follower->source); /* one led, one followed */
    ck_assert_answer(engine_get(e, "k"), HG_SOURCE_FRESH, "new");
    engine_destroy(e);
}
END_TEST

START_TEST(an_overtaken_load_that_fails_tells_only_its_beginner)
{
    struct engine *e = with_on_fenced(HGI_ON_FENCED_DELIVER);
    struct engine_call *beginner = engine_get(e, "k");
    struct engine_call *follower = engine_get(e, "k");

    engine_clear(e);
    engine_error(e, 0, HG_INTERNAL, "old");
    ck_assert_refused(beginner, HG_INTERNAL);
    ck_assert(beginner->is_fenced); /* an error of what was before, not of what is */
    ck_assert_waiting(follower);
    engine_value(e, 1, "new");
    ck_assert_answer(follower, HG_SOURCE_LOADED, "new");
    engine_destroy(e);
}
END_TEST

START_TEST(an_overtaken_load_that_times_out_tells_its_beginner_and_keeps_its_place)
{
    struct engine *e = with_on_fenced(HGI_ON_FENCED_DELIVER);
    struct engine_call *beginner = engine_get(e, "k");

    engine_clear(e);
    engine_pass(e, 1000);
    ck_assert_refused(beginner, HG_DEADLINE_EXCEEDED);
    ck_assert(e->loads[0].is_cancelled);
    ck_assert_uint_eq(engine_stats(e).in_flight, 1);
    engine_destroy(e);
}
END_TEST

START_TEST(queued_loads_are_overtaken_like_started_ones)
{
    struct hgi_policy policy = engine_policy();
    struct engine *e;
    struct engine_call *beginner;
    struct engine_call *follower;

    policy.max_loads = 1;
    e = engine_create(&policy);
    engine_get(e, "k");
    beginner = engine_get(e, "q");
    follower = engine_get(e, "q");
    ck_assert_uint_eq(engine_clear(e).fenced, 2);
    engine_value(e, 0, "k");
    engine_value(e, 1, "q old");
    ck_assert_answer(beginner, HG_SOURCE_LOADED, "q old");
    ck_assert(beginner->is_fenced);
    engine_value(e, 2, "q new");
    ck_assert_answer(follower, HG_SOURCE_LOADED, "q new");
    ck_assert_answer(engine_get(e, "q"), HG_SOURCE_FRESH, "q new");
    engine_destroy(e);
}
END_TEST

START_TEST(a_load_given_up_before_is_not_counted_as_overtaken)
{
    struct engine *e = engine_create(NULL);

    engine_get(e, "k");
    engine_pass(e, 1000); /* timed out, still running */
    ck_assert_report(engine_clear(e), hgi_cache_generation(e->cache), 0, 0, 0);
    engine_value(e, 0, "late");
    ck_assert_negative(engine_read(e, "k", HG_MODE_PEEK), HG_SOURCE_NONE, HG_NOT_CACHED);
    engine_destroy(e);
}
END_TEST

START_TEST(a_clear_ends_a_refresh_nobody_waits_for)
{
    struct engine *e = engine_create(NULL);

    engine_put(e, "k", "v");
    engine_pass(e, 150);
    engine_read(e, "k", HG_MODE_REVALIDATE);
    ck_assert_report(engine_clear(e), hgi_cache_generation(e->cache), 1, 1, 0);
    ck_assert(e->loads[0].is_cancelled);
    engine_value(e, 0, "old");
    ck_assert_negative(engine_read(e, "k", HG_MODE_PEEK), HG_SOURCE_NONE, HG_NOT_CACHED);
    engine_destroy(e);
}
END_TEST

START_TEST(a_clear_overtakes_loads_that_hold_no_slot)
{
    struct hgi_policy policy = engine_policy();
    struct engine *e;
    struct engine_call *own[2];

    policy.on_error = HGI_ON_ERROR_EACH;
    e = engine_create(&policy);
    engine_get(e, "k");
    own[0] = engine_get(e, "k");
    own[1] = engine_get(e, "k");
    engine_error(e, 0, HG_UNAVAILABLE, "down");
    ck_assert_uint_eq(engine_clear(e).fenced, 2);
    for (size_t i = 0; i < 2; i++) {
        engine_value(e, i + 1, "old");
        ck_assert_answer(own[i], HG_SOURCE_LOADED, "old");
        ck_assert(own[i]->is_fenced);
    }
    ck_assert_negative(engine_read(e, "k", HG_MODE_PEEK), HG_SOURCE_NONE, HG_NOT_CACHED);
    engine_destroy(e);
}
END_TEST

/* ---- invalidate ---- */

START_TEST(many_keys_are_invalidated_under_one_number)
{
    struct engine *e = engine_create(NULL);
    struct hg_slice keys[] = {hg_slice_text("a"), hg_slice_text("b"), hg_slice_text("absent"),
                              hg_slice_text("a"), hg_slice_text("loading")};
    uint64_t generation;
    struct hgi_report report;

    engine_put(e, "a", "v");
    engine_put(e, "b", "v");
    engine_put(e, "c", "v");
    engine_get(e, "loading");
    engine_get(e, "loading");
    engine_get(e, "other");
    generation = hgi_cache_generation(e->cache);
    hgi_cache_invalidate(e->cache, keys, HGI_COUNT_OF(keys), &e->now, &report);
    ck_assert_report(report, generation + 1, 2, 1, 1);
    ck_assert_uint_eq(hgi_cache_generation(e->cache), generation + 1);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_invalidate), 5);
    ck_assert_answer(engine_get(e, "c"), HG_SOURCE_FRESH, "v");
    ck_assert_waiting(engine_get(e, "a"));
    ck_assert_waiting(engine_get(e, "b"));
    engine_destroy(e);
}
END_TEST

START_TEST(an_invalidation_overtakes_the_loads_of_its_key_only)
{
    struct engine *e = engine_create(NULL);
    struct engine_call *a = engine_get(e, "a");
    struct engine_call *b = engine_get(e, "b");

    engine_invalidate(e, "a");
    engine_value(e, 0, "a");
    engine_value(e, 1, "b");
    ck_assert(a->is_fenced);
    ck_assert(!b->is_fenced);
    ck_assert_negative(engine_read(e, "a", HG_MODE_PEEK), HG_SOURCE_NONE, HG_NOT_CACHED);
    ck_assert_answer(engine_get(e, "b"), HG_SOURCE_FRESH, "b");
    engine_destroy(e);
}
END_TEST

/* ---- direct put ---- */

START_TEST(a_put_takes_the_next_number_and_is_born_with_it)
{
    struct engine *e = engine_create(NULL);
    struct hgi_put put = {
        .key = hg_slice_text("k"), .outcome = HG_VALUE, .value = hg_slice_text("v")};
    struct hgi_entry entry;
    char sentence[HGI_MESSAGE_MAX];
    uint64_t generation = hgi_cache_generation(e->cache);

    ck_assert_int_eq(hgi_cache_put(e->cache, &put, &e->now, &entry, sentence), HG_OK);
    ck_assert_uint_eq(entry.born, generation + 1);
    ck_assert_int_eq(entry.stale_ttl_ms, 300);
    ck_assert_uint_eq(hgi_cache_generation(e->cache), generation + 1);
    ck_assert_uint_eq(engine_get(e, "k")->generation, generation + 1);
    put.lifetime.ttl_ms = 20;
    ck_assert_int_eq(hgi_cache_put(e->cache, &put, &e->now, &entry, sentence), HG_OK);
    ck_assert_int_eq(entry.ttl_ms, 20);
    put.lifetime.ttl_ms = 2000;
    ck_assert_int_eq(hgi_cache_put(e->cache, &put, &e->now, &entry, sentence), HG_OK);
    ck_assert_int_eq(entry.ttl_ms, 100);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_put), 3);
    engine_destroy(e);
}
END_TEST

START_TEST(a_put_hands_its_value_to_the_followers_of_its_key)
{
    for (int reload = 0; reload < 2; reload++) {
        struct engine *e = with_on_fenced(reload ? HGI_ON_FENCED_RELOAD : HGI_ON_FENCED_DELIVER);
        struct engine_call *beginner = engine_get(e, "k");
        struct engine_call *follower = engine_get(e, "k");
        struct engine_call *other = engine_get(e, "other");

        engine_put(e, "k", "put");
        ck_assert_answer(follower, HG_SOURCE_JOINED, "put");
        ck_assert(!follower->is_fenced);
        ck_assert_uint_eq(follower->generation, hgi_cache_generation(e->cache));
        ck_assert_int_eq(follower->ttl_left_ms, 100);
        ck_assert_waiting(other);
        ck_assert_int_eq(e->loads[0].is_cancelled, reload);
        engine_value(e, 0, "loaded");
        if (reload) {
            ck_assert_answer(beginner, HG_SOURCE_JOINED, "put");
        } else {
            ck_assert_answer(beginner, HG_SOURCE_LOADED, "loaded");
            ck_assert(beginner->is_fenced);
        }
        ck_assert_uint_eq(engine_metric(e, HGI_METRIC_coalesced), 1 + (uint64_t)reload);
        ck_assert_uint_eq(engine_metric(e, HGI_METRIC_fenced), 1);
        ck_assert_answer(engine_get(e, "k"), HG_SOURCE_FRESH, "put");
        engine_value(e, 1, "other");
        ck_assert_answer(other, HG_SOURCE_LOADED, "other");
        ck_assert(!other->is_fenced);
        engine_destroy(e);
    }
}
END_TEST

START_TEST(a_put_hands_its_value_to_those_who_load_for_themselves_too)
{
    struct hgi_policy policy = engine_policy();
    struct engine *e;
    struct engine_call *own[2];

    policy.on_error = HGI_ON_ERROR_EACH;
    policy.on_fenced = HGI_ON_FENCED_RELOAD;
    e = engine_create(&policy);
    engine_get(e, "k");
    own[0] = engine_get(e, "k");
    own[1] = engine_get(e, "k");
    engine_error(e, 0, HG_UNAVAILABLE, "down");
    engine_put(e, "k", "put");
    ck_assert_answer(own[0], HG_SOURCE_JOINED, "put");
    ck_assert_answer(own[1], HG_SOURCE_JOINED, "put");
    ck_assert(e->loads[1].is_cancelled);
    ck_assert(e->loads[2].is_cancelled);
    engine_value(e, 1, "old");
    ck_assert_answer(engine_get(e, "k"), HG_SOURCE_FRESH, "put");
    engine_destroy(e);
}
END_TEST

START_TEST(a_put_is_not_a_round_for_the_callers_it_answers)
{
    struct engine *e = with_on_fenced(HGI_ON_FENCED_RELOAD);
    struct engine_call *c = engine_get(e, "k");

    for (int i = 0; i < 3; i++) {
        engine_clear(e);
    }
    engine_put(e, "k", "put");
    ck_assert_answer(c, HG_SOURCE_JOINED, "put");
    engine_destroy(e);
}
END_TEST

START_TEST(a_put_of_a_negative_answers_followers_with_it)
{
    struct engine *e = engine_create(NULL);
    struct engine_call *follower;

    engine_get(e, "k");
    follower = engine_get(e, "k");
    ck_assert_int_eq(engine_put_negative(e, "k", HG_DENIED), HG_OK);
    ck_assert_negative(follower, HG_SOURCE_JOINED, HG_DENIED);
    engine_destroy(e);
}
END_TEST

START_TEST(a_put_overtakes_a_refresh_of_its_key)
{
    struct engine *e = engine_create(NULL);

    engine_put(e, "k", "v");
    engine_pass(e, 150);
    engine_read(e, "k", HG_MODE_REVALIDATE);
    engine_put(e, "k", "put");
    ck_assert(e->loads[0].is_cancelled);
    engine_value(e, 0, "refreshed");
    ck_assert_answer(engine_get(e, "k"), HG_SOURCE_FRESH, "put");
    engine_destroy(e);
}
END_TEST

START_TEST(a_put_that_does_not_fit_leaves_neither_the_old_value_nor_the_old_load)
{
    struct hgi_policy policy = engine_policy();
    struct engine *e;
    struct engine_call *beginner;
    struct hgi_put put = {.key = hg_slice_text("k"), .outcome = HG_VALUE};
    struct hgi_entry entry = {.born = 77};
    char sentence[HGI_MESSAGE_MAX] = "";
    char big[61];

    memset(big, 'x', sizeof(big));
    put.value = hg_slice_of(big, 60);
    e = engine_create(NULL);
    engine_put(e, "k", "old");
    policy.max_bytes = (size_t)engine_stats(e).bytes + 10;
    engine_destroy(e);
    e = engine_create(&policy);
    engine_put(e, "k", "old");
    engine_pass(e, 150);
    beginner = engine_get(e, "k");
    ck_assert_int_eq(hgi_cache_put(e->cache, &put, &e->now, &entry, sentence),
                     HG_RESOURCE_EXHAUSTED);
    ck_assert_str_ne(sentence, "");
    ck_assert_uint_eq(entry.born, 77); /* untouched */
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_put), 1);
    engine_value(e, 0, "loaded before");
    ck_assert(beginner->is_fenced);
    ck_assert_uint_eq(engine_stats(e).entries, 0);
    engine_destroy(e);
}
END_TEST

START_TEST(a_put_already_expired_is_refused_and_changes_nothing)
{
    struct engine *e = engine_create(NULL);
    struct hgi_put put = {.key = hg_slice_text("k"),
                          .outcome = HG_VALUE,
                          .value = hg_slice_text("expired"),
                          .lifetime = {.expires_at_ms = e->now.wall_ms}};
    struct hgi_entry entry;
    char sentence[HGI_MESSAGE_MAX] = "";
    uint64_t generation;

    engine_put(e, "k", "v");
    generation = hgi_cache_generation(e->cache);
    ck_assert_int_eq(hgi_cache_put(e->cache, &put, &e->now, &entry, sentence),
                     HG_FAILED_PRECONDITION);
    ck_assert_str_ne(sentence, "");
    ck_assert_uint_eq(hgi_cache_generation(e->cache), generation);
    ck_assert_answer(engine_get(e, "k"), HG_SOURCE_FRESH, "v");
    put.lifetime.expires_at_ms = e->now.wall_ms + 20;
    ck_assert_int_eq(hgi_cache_put(e->cache, &put, &e->now, &entry, sentence), HG_OK);
    engine_pass(e, 19);
    ck_assert_answer(engine_get(e, "k"), HG_SOURCE_FRESH, "expired");
    engine_pass(e, 1);
    ck_assert_waiting(engine_read(e, "k", HG_MODE_ALLOW_STALE));
    engine_destroy(e);
}
END_TEST

START_TEST(in_an_auth_cache_an_expired_put_is_a_denial)
{
    struct hgi_policy policy = engine_policy();
    struct engine *e;
    struct hgi_put put = {
        .key = hg_slice_text("k"), .outcome = HG_VALUE, .value = hg_slice_text("allowed")};
    struct hgi_entry entry;
    char sentence[HGI_MESSAGE_MAX];

    policy.expired_is_denied = true;
    e = engine_create(&policy);
    put.lifetime.expires_at_ms = e->now.wall_ms - 5;
    engine_put(e, "k", "v");
    ck_assert_int_eq(hgi_cache_put(e->cache, &put, &e->now, &entry, sentence), HG_OK);
    ck_assert_int_eq(entry.outcome, HG_DENIED);
    ck_assert_uint_eq(entry.value.len, 0);
    ck_assert_negative(engine_get(e, "k"), HG_SOURCE_FRESH, HG_DENIED);
    engine_destroy(e);
}
END_TEST

/* ---- put with if_generation ---- */

START_TEST(a_token_stores_at_its_own_birth_takes_no_number_and_completes_no_load)
{
    struct engine *e = engine_create(NULL);
    uint64_t token = hgi_cache_generation(e->cache);
    struct engine_call *leader = engine_get(e, "k");
    struct engine_call *follower = engine_get(e, "k");
    struct engine_call *hit;

    engine_put(e, "other", "v");
    ck_assert_int_eq(engine_put_if(e, "k", "token", token), HG_OK);
    ck_assert_uint_eq(hgi_cache_generation(e->cache), token + 1);
    hit = engine_get(e, "k");
    ck_assert_answer(hit, HG_SOURCE_FRESH, "token");
    ck_assert_uint_eq(hit->generation, token);
    ck_assert_waiting(leader);
    ck_assert_waiting(follower);
    engine_value(e, 0, "loaded");
    ck_assert_answer(follower, HG_SOURCE_JOINED, "loaded");
    ck_assert(!leader->is_fenced);
    engine_destroy(e);
}
END_TEST

START_TEST(a_token_older_than_the_stored_entry_is_aborted_and_an_equal_one_stores)
{
    struct engine *e = engine_create(NULL);
    uint64_t before = hgi_cache_generation(e->cache);
    uint64_t put;

    engine_put(e, "k", "put");
    put = hgi_cache_generation(e->cache);
    ck_assert_int_eq(engine_put_if(e, "k", "old", before), HG_ABORTED);
    ck_assert_answer(engine_get(e, "k"), HG_SOURCE_FRESH, "put");
    ck_assert_int_eq(engine_put_if(e, "k", "equal", put), HG_OK);
    ck_assert_answer(engine_get(e, "k"), HG_SOURCE_FRESH, "equal");
    engine_put(e, "other", "v");
    ck_assert_int_eq(engine_put_if(e, "k", "newer", put + 1), HG_OK);
    ck_assert_answer(engine_get(e, "k"), HG_SOURCE_FRESH, "newer");
    ck_assert_int_eq(engine_put_if(e, "k", "equal again", put), HG_ABORTED);
    ck_assert_answer(engine_get(e, "k"), HG_SOURCE_FRESH, "newer");
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_put_conflict), 2);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_put), 4);
    engine_destroy(e);
}
END_TEST

START_TEST(a_direct_put_refuses_an_older_token_even_when_its_own_entry_is_gone)
{
    struct engine *e = engine_create(NULL);
    uint64_t before = hgi_cache_generation(e->cache);

    engine_put(e, "k", "put");
    engine_pass(e, 301);
    ck_assert_uint_eq(engine_stats(e).entries, 0);
    ck_assert_int_eq(engine_put_if(e, "k", "old", before), HG_ABORTED);
    ck_assert_uint_eq(engine_stats(e).entries, 0);
    engine_destroy(e);
}
END_TEST

START_TEST(an_invalidation_refuses_older_tokens_of_keys_that_were_not_there)
{
    struct engine *e = engine_create(NULL);
    char sentence[HGI_MESSAGE_MAX] = "";
    struct hgi_put put = {.key = hg_slice_text("absent"),
                          .outcome = HG_VALUE,
                          .value = hg_slice_text("v"),
                          .has_if_generation = true,
                          .if_generation = hgi_cache_generation(e->cache)};
    struct hgi_entry entry;
    struct hgi_report report = engine_invalidate(e, "absent");
    int admitted = 0;

    ck_assert_uint_eq(report.dropped, 0);
    ck_assert_int_eq(hgi_cache_put(e->cache, &put, &e->now, &entry, sentence), HG_ABORTED);
    ck_assert_str_ne(sentence, "");
    put.if_generation = report.generation;
    ck_assert_int_eq(hgi_cache_put(e->cache, &put, &e->now, &entry, sentence), HG_OK);
    ck_assert_uint_eq(entry.born, report.generation);
    /* A stranger may share the stripe and be refused, but not all strangers. */
    for (int i = 0; i < 8; i++) {
        char key[16];

        snprintf(key, sizeof(key), "stranger%d", i);
        admitted += engine_put_if(e, key, "v", report.generation - 1) == HG_OK;
    }
    ck_assert_int_gt(admitted, 0);
    engine_destroy(e);
}
END_TEST

START_TEST(no_invalidated_key_ever_admits_an_older_token)
{
    enum { KEY_COUNT = 6000 }; /* more than there are stripes */
    struct hgi_policy policy = engine_policy();
    struct engine *e;
    uint64_t before;
    char key[16];

    policy.max_entries = 2 * KEY_COUNT;
    policy.max_bytes = 16 << 20;
    e = engine_create(&policy);
    before = hgi_cache_generation(e->cache);
    for (int i = 0; i < KEY_COUNT; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        engine_invalidate(e, key);
    }
    for (int i = 0; i < KEY_COUNT; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        ck_assert_int_eq(engine_put_if(e, key, "old", before), HG_ABORTED);
    }
    ck_assert_uint_eq(engine_stats(e).entries, 0);
    engine_destroy(e);
}
END_TEST

START_TEST(a_clear_refuses_every_older_token)
{
    struct engine *e = engine_create(NULL);
    uint64_t before = hgi_cache_generation(e->cache);
    uint64_t clear = engine_clear(e).generation;
    struct hgi_put put = {.key = hg_slice_text("k"),
                          .outcome = HG_VALUE,
                          .has_if_generation = true,
                          .if_generation = before};
    struct hgi_entry entry;
    char sentence[HGI_MESSAGE_MAX];

    ck_assert_int_eq(hgi_cache_put(e->cache, &put, &e->now, &entry, sentence), HG_ABORTED);
    ck_assert_ptr_nonnull(strstr(sentence, "invalidation")); /* not: a newer value */
    ck_assert_int_eq(engine_put_if(e, "k", "new", clear), HG_OK);
    ck_assert_answer(engine_get(e, "k"), HG_SOURCE_FRESH, "new");
    engine_destroy(e);
}
END_TEST

START_TEST(a_token_of_the_future_or_of_an_earlier_start_is_refused)
{
    struct engine *e = engine_create(NULL);
    uint64_t start = hgi_cache_generation(e->cache);

    ck_assert_int_eq(engine_put_if(e, "k", "v", start + 1), HG_FAILED_PRECONDITION);
    ck_assert_int_eq(engine_put_if(e, "k", "v", start - 1), HG_ABORTED);
    ck_assert_int_eq(engine_put_if(e, "k", "v", 0), HG_ABORTED); /* 0 is no direct put */
    ck_assert_uint_eq(engine_stats(e).entries, 0);
    ck_assert_uint_eq(hgi_cache_generation(e->cache), start);
    ck_assert_int_eq(engine_put_if(e, "k", "v", start), HG_OK);
    engine_destroy(e);
}
END_TEST

HGI_SUITE("server.invalidate", 60, a_clear_reports_what_it_dropped_fenced_and_released,
          a_clear_of_an_empty_cache_still_takes_a_number,
          a_clear_drops_negatives_and_stale_values_too,
          under_deliver_the_beginner_gets_its_load_flagged_and_unstored,
          under_reload_the_beginner_looks_again_and_the_overtaken_load_is_cancelled,
          an_overtaken_load_that_fails_tells_only_its_beginner,
          an_overtaken_load_that_times_out_tells_its_beginner_and_keeps_its_place,
          queued_loads_are_overtaken_like_started_ones,
          a_load_given_up_before_is_not_counted_as_overtaken,
          a_clear_ends_a_refresh_nobody_waits_for, a_clear_overtakes_loads_that_hold_no_slot,
          many_keys_are_invalidated_under_one_number,
          an_invalidation_overtakes_the_loads_of_its_key_only,
          a_put_takes_the_next_number_and_is_born_with_it,
          a_put_hands_its_value_to_the_followers_of_its_key,
          a_put_hands_its_value_to_those_who_load_for_themselves_too,
          a_put_is_not_a_round_for_the_callers_it_answers,
          a_put_of_a_negative_answers_followers_with_it, a_put_overtakes_a_refresh_of_its_key,
          a_put_that_does_not_fit_leaves_neither_the_old_value_nor_the_old_load,
          a_put_already_expired_is_refused_and_changes_nothing,
          in_an_auth_cache_an_expired_put_is_a_denial,
          a_token_stores_at_its_own_birth_takes_no_number_and_completes_no_load,
          a_token_older_than_the_stored_entry_is_aborted_and_an_equal_one_stores,
          a_direct_put_refuses_an_older_token_even_when_its_own_entry_is_gone,
          an_invalidation_refuses_older_tokens_of_keys_that_were_not_there,
          no_invalidated_key_ever_admits_an_older_token, a_clear_refuses_every_older_token,
          a_token_of_the_future_or_of_an_earlier_start_is_refused)
