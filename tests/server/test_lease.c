/* SPDX-License-Identifier: Apache-2.0 */
/* Callers that load themselves. Among them the lease tests of nora-registry 1.3.3 under their own
 * names. */
#include <stdio.h>

#include "engine.h"
#include "server/cache/lease.h"

#define ANNA 1
#define BERT 2

static struct engine *without_loader(void)
{
    return engine_create_with(NULL, false);
}

static enum hg_status fulfil(struct engine *e, uint64_t lease_id, const char *value,
                             int64_t keep_ms)
{
    struct hgi_result result = {
        .status = HG_OK, .outcome = HG_VALUE, .value = hg_slice_text(value)};
    struct hgi_fulfilment fulfilment = {
        .lease_id = lease_id, .result = &result, .keep_ms = keep_ms};

    return engine_fulfil(e, &fulfilment);
}

static enum hg_status fulfil_error(struct engine *e, uint64_t lease_id, const char *message)
{
    struct hgi_result result = {.status = HG_UNAVAILABLE, .message = hg_slice_text(message)};
    struct hgi_fulfilment fulfilment = {.lease_id = lease_id, .result = &result};

    return engine_fulfil(e, &fulfilment);
}

static void check_leads(const struct engine_call *c)
{
    ck_assert_int_eq(c->answers, 1);
    ck_assert_int_eq(c->status, HG_OK);
    ck_assert_int_eq(c->outcome, HG_NOT_CACHED);
    ck_assert_int_eq(c->source, HG_SOURCE_LEASED);
    ck_assert_uint_ne(c->lease_id, 0);
    ck_assert_int_eq(c->lease_ttl_ms, 1000);
}

START_TEST(a_leader_gets_a_lease_and_its_value_answers_the_followers)
{
    struct engine *e = without_loader();
    struct engine_call *leader = engine_lead(e, "k", HG_MODE_FRESH, ANNA);
    struct engine_call *follower = engine_lead(e, "k", HG_MODE_FRESH, BERT);
    struct engine_call *plain = engine_get(e, "k"); /* no loader, but somebody loads */

    check_leads(leader);
    ck_assert_int_eq(follower->answers, 0);
    ck_assert_int_eq(fulfil(e, leader->lease_id, "v", 0), HG_OK);
    ck_assert_answer(follower, HG_SOURCE_JOINED, "v");
    ck_assert_answer(plain, HG_SOURCE_JOINED, "v");
    ck_assert_answer(engine_get(e, "k"), HG_SOURCE_FRESH, "v");
    ck_assert_int_eq(fulfil(e, leader->lease_id, "again", 0), HG_ABORTED);
    ck_assert_uint_eq(engine_stats(e).in_flight, 0);
    engine_destroy(e);
}
END_TEST

START_TEST(so_many_lead_and_keep_slots_and_the_next_is_refused_until_one_ends)
{
    struct engine *e = engine_create_with(NULL, false);
    struct engine_call *first = NULL;

    for (unsigned i = 0; i < HGI_LEASES_MAX; i++) {
        struct engine_call *leader;
        char key[16];

        snprintf(key, sizeof(key), "%u", i);
        leader = engine_lead(e, key, HG_MODE_FRESH, ANNA);
        check_leads(leader);
        first = first ? first : leader;
    }
    ck_assert_int_eq(fulfil(e, first->lease_id, "kept", 30000), HG_OK);
    ck_assert_refused(engine_lead(e, "more", HG_MODE_FRESH, BERT), HG_RESOURCE_EXHAUSTED);
    ck_assert_int_eq(engine_release(e, first->lease_id), HG_OK);
    check_leads(engine_lead(e, "more", HG_MODE_FRESH, BERT));
    ck_assert_refused(engine_lead(e, "one more", HG_MODE_FRESH, BERT), HG_RESOURCE_EXHAUSTED);
    engine_destroy(e);
}
END_TEST

/* nora 1.3.3, test 6. */
START_TEST(lease_keeps_the_slot_for_late_callers)
{
    struct hgi_policy policy = engine_policy();
    struct engine *e;
    struct engine_call *leader;
    struct engine_call *next;

    policy.ttl_ms = 1;
    policy.stale_ttl_ms = 1; /* the table forgets at once: what answers is the slot */
    e = engine_create_with(&policy, false);
    leader = engine_lead(e, "pkg", HG_MODE_FRESH, ANNA);
    ck_assert_int_eq(fulfil(e, leader->lease_id, "7", 30000), HG_OK);
    engine_pass(e, 50);
    ck_assert_answer(engine_lead(e, "pkg", HG_MODE_FRESH, BERT), HG_SOURCE_JOINED, "7");
    ck_assert_uint_eq(engine_stats(e).in_flight, 1);
    ck_assert_int_eq(engine_release(e, leader->lease_id), HG_OK);
    ck_assert_uint_eq(engine_stats(e).in_flight, 0);
    next = engine_lead(e, "pkg", HG_MODE_FRESH, BERT);
    check_leads(next);
    ck_assert_int_eq(fulfil(e, next->lease_id, "9", 0), HG_OK);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_lease), 2); /* two fetches */
    engine_destroy(e);
}
END_TEST

/* nora 1.3.3, test 7. */
START_TEST(followers_get_the_value_at_publish_not_at_release)
{
    struct engine *e = without_loader();
    struct engine_call *leader = engine_lead(e, "pkg", HG_MODE_FRESH, ANNA);
    struct engine_call *follower = engine_lead(e, "pkg", HG_MODE_FRESH, BERT);

    ck_assert_int_eq(fulfil(e, leader->lease_id, "7", 30000), HG_OK);
    ck_assert_answer(follower, HG_SOURCE_JOINED, "7");
    ck_assert_uint_eq(engine_stats(e).in_flight, 1); /* held */
    engine_destroy(e);
}
END_TEST

/* nora 1.3.3, test 8: the panic unwind becomes: the holder's connection dies. */
START_TEST(lease_released_by_panic_unwind)
{
    struct engine *e = without_loader();
    struct engine_call *leader = engine_lead(e, "pkg", HG_MODE_FRESH, ANNA);

    check_leads(leader);
    ck_assert_uint_eq(engine_stats(e).in_flight, 1);
    hgi_cache_holder_gone(e->cache, BERT, &e->now); /* somebody else */
    ck_assert_uint_eq(engine_stats(e).in_flight, 1);
    hgi_cache_holder_gone(e->cache, ANNA, &e->now);
    ck_assert_uint_eq(engine_stats(e).in_flight, 0);
    check_leads(engine_lead(e, "pkg", HG_MODE_FRESH, BERT));
    ck_assert_int_eq(fulfil(e, leader->lease_id, "late", 0), HG_ABORTED);
    engine_destroy(e);
}
END_TEST

/* nora 1.3.3, test 9, with leases. */
START_TEST(failed_leader_hands_over_to_one_new_leader)
{
    struct hgi_policy policy = engine_policy();
    struct engine *e;
    struct engine_call *callers[8];
    size_t leads = 0;

    policy.on_error = HGI_ON_ERROR_ELECT;
    e = engine_create_with(&policy, false);
    for (uint64_t i = 0; i < 8; i++) {
        callers[i] = engine_lead(e, "pkg", HG_MODE_FRESH, i + 1);
    }
    ck_assert_int_eq(fulfil_error(e, callers[0]->lease_id, "first fetch fails"), HG_OK);
    for (size_t i = 1; i < 8; i++) {
        leads += callers[i]->answers == 1;
    }
    ck_assert_uint_eq(leads, 1);
    check_leads(callers[1]);
    ck_assert_int_eq(fulfil(e, callers[1]->lease_id, "42", 0), HG_OK);
    for (size_t i = 2; i < 8; i++) {
        ck_assert_answer(callers[i], HG_SOURCE_JOINED, "42");
    }
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_lease), 2);
    engine_destroy(e);
}
END_TEST

START_TEST(under_share_a_leaders_error_is_everybodys)
{
    struct engine *e = without_loader();
    struct engine_call *leader = engine_lead(e, "k", HG_MODE_FRESH, ANNA);
    struct engine_call *follower = engine_lead(e, "k", HG_MODE_FRESH, BERT);

    ck_assert_int_eq(fulfil_error(e, leader->lease_id, "no backend"), HG_OK);
    ck_assert_refused(follower, HG_UNAVAILABLE);
    ck_assert_str_eq(follower->message, "no backend");
    ck_assert_uint_eq(engine_stats(e).in_flight, 0);
    engine_destroy(e);
}
END_TEST

START_TEST(a_lease_that_runs_out_goes_to_the_next_who_asked_to_lead)
{
    struct engine *e = engine_create(NULL);
    struct engine_call *leader = engine_lead(e, "k", HG_MODE_FRESH, ANNA);
    struct engine_call *plain = engine_get(e, "k");
    struct engine_call *next = engine_lead(e, "k", HG_MODE_FRESH, BERT);

    engine_pass(e, 999);
    ck_assert_int_eq(next->answers, 0);
    engine_pass(e, 1);
    check_leads(next); /* not the one who did not ask, though it came first */
    ck_assert_int_eq(plain->answers, 0);
    ck_assert_uint_eq(e->load_count, 0);
    ck_assert_int_eq(fulfil(e, leader->lease_id, "late", 0), HG_ABORTED);
    ck_assert_int_eq(fulfil(e, next->lease_id, "v", 0), HG_OK);
    ck_assert_answer(plain, HG_SOURCE_JOINED, "v");
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_lease_handed_on), 1);
    engine_destroy(e);
}
END_TEST

START_TEST(a_lease_handed_on_is_born_anew)
{
    struct engine *e = without_loader();
    struct engine_call *leader = engine_lead(e, "k", HG_MODE_FRESH, ANNA);
    struct engine_call *next = engine_lead(e, "k", HG_MODE_FRESH, BERT);
    struct hgi_report report = engine_invalidate(e, "other");

    ck_assert_int_eq(engine_release(e, leader->lease_id), HG_OK);
    check_leads(next);
    ck_assert_int_eq(fulfil(e, next->lease_id, "v", 0), HG_OK);
    ck_assert_uint_eq(engine_get(e, "k")->generation, report.generation);
    engine_destroy(e);
}
END_TEST

START_TEST(with_nobody_to_lead_the_loader_loads_once)
{
    struct engine *e = engine_create(NULL);
    struct engine_call *leader = engine_lead(e, "k", HG_MODE_FRESH, ANNA);
    struct engine_call *plain = engine_get(e, "k");

    ck_assert_int_eq(engine_release(e, leader->lease_id), HG_OK);
    ck_assert_uint_eq(e->load_count, 1);
    engine_value(e, 0, "from the loader");
    ck_assert_answer(plain, HG_SOURCE_JOINED, "from the loader");
    engine_destroy(e);
}
END_TEST

START_TEST(with_nobody_to_lead_and_no_loader_the_rest_is_told)
{
    struct engine *e = without_loader();
    struct engine_call *leader = engine_lead(e, "k", HG_MODE_FRESH, ANNA);
    struct engine_call *plain = engine_get(e, "k");

    ck_assert_int_eq(engine_release(e, leader->lease_id), HG_OK);
    ck_assert_refused(plain, HG_FAILED_PRECONDITION);
    ck_assert_uint_eq(engine_stats(e).in_flight, 0);
    engine_destroy(e);
}
END_TEST

START_TEST(renewing_begins_the_leases_time_anew)
{
    struct engine *e = without_loader();
    struct engine_call *leader = engine_lead(e, "k", HG_MODE_FRESH, ANNA);

    engine_pass(e, 900);
    ck_assert_int_eq(engine_renew(e, leader->lease_id), HG_OK);
    engine_pass(e, 999);
    ck_assert_int_eq(fulfil(e, leader->lease_id, "v", 0), HG_OK);
    ck_assert_int_eq(engine_renew(e, leader->lease_id), HG_ABORTED);
    engine_destroy(e);
}
END_TEST

START_TEST(a_clear_an_invalidation_and_a_put_end_leases_and_kept_slots)
{
    for (int how = 0; how < 3; how++) {
        struct hgi_policy policy = engine_policy();
        struct engine *e;
        struct engine_call *leader;
        struct engine_call *follower;
        struct engine_call *kept;

        policy.ttl_ms = 1;
        policy.stale_ttl_ms = 1;
        e = engine_create_with(&policy, false);
        kept = engine_lead(e, "kept", HG_MODE_FRESH, ANNA);
        ck_assert_int_eq(fulfil(e, kept->lease_id, "old", 30000), HG_OK);
        leader = engine_lead(e, "k", HG_MODE_FRESH, ANNA);
        follower = engine_lead(e, "k", HG_MODE_FRESH, BERT);
        engine_pass(e, 10);
        if (how == 0) {
            ck_assert_uint_eq(engine_clear(e).fenced, 1); /* a kept slot is no load */
        } else if (how == 1) {
            ck_assert_uint_eq(engine_invalidate(e, "k").fenced, 1);
            engine_invalidate(e, "kept");
        } else {
            engine_put(e, "k", "put");
            engine_put(e, "kept", "put");
            engine_pass(e, 10);
        }
        if (how == 2) {
            ck_assert_answer(follower, HG_SOURCE_JOINED, "put");
        } else {
            check_leads(follower); /* looked again */
        }
        ck_assert_int_eq(fulfil(e, leader->lease_id, "overtaken", 0), HG_ABORTED);
        check_leads(engine_lead(e, "kept", HG_MODE_FRESH, BERT));
        engine_destroy(e);
    }
}
END_TEST

START_TEST(a_fulfilment_with_a_tag_invalidated_since_is_aborted)
{
    struct engine *e = without_loader();
    struct engine_call *leader = engine_lead(e, "k", HG_MODE_FRESH, ANNA);
    struct hg_slice tag = hg_slice_text("t");
    struct hgi_cover cover = {.tags = &tag, .tag_count = 1};
    struct hgi_result result = {
        .status = HG_OK,
        .outcome = HG_VALUE,
        .value = hg_slice_text("v"),
        .lifetime = {.tags = &tag, .tag_count = 1},
    };
    struct hgi_fulfilment fulfilment = {
        .lease_id = leader->lease_id, .result = &result, .keep_ms = 100};
    struct hgi_report report;

    hgi_cache_invalidate_cover(e->cache, &cover, &e->now, &report);
    ck_assert_int_eq(engine_fulfil(e, &fulfilment), HG_ABORTED);
    ck_assert_int_eq(engine_read(e, "k", HG_MODE_PEEK)->outcome, HG_NOT_CACHED);
    ck_assert_uint_eq(engine_stats(e).in_flight, 0);
    engine_destroy(e);
}
END_TEST

START_TEST(behind_a_stale_value_one_caller_gets_a_lease_and_all_the_value)
{
    struct engine *e = without_loader();
    struct engine_call *first;
    struct engine_call *second;

    engine_put(e, "k", "old");
    engine_pass(e, 150);
    first = engine_lead(e, "k", HG_MODE_REVALIDATE, ANNA);
    second = engine_lead(e, "k", HG_MODE_REVALIDATE, BERT);
    ck_assert_answer(first, HG_SOURCE_STALE, "old");
    ck_assert_answer(second, HG_SOURCE_STALE, "old");
    ck_assert_uint_ne(first->lease_id, 0);
    ck_assert_uint_eq(second->lease_id, 0);
    ck_assert_int_eq(fulfil(e, first->lease_id, "new", 0), HG_OK);
    ck_assert_answer(engine_get(e, "k"), HG_SOURCE_FRESH, "new");
    engine_destroy(e);
}
END_TEST

START_TEST(a_refresh_lease_given_up_pauses_the_next)
{
    struct engine *e = without_loader();
    struct engine_call *first;

    engine_put(e, "k", "old");
    engine_pass(e, 150);
    first = engine_lead(e, "k", HG_MODE_REVALIDATE, ANNA);
    ck_assert_int_eq(engine_release(e, first->lease_id), HG_OK);
    ck_assert_uint_eq(engine_lead(e, "k", HG_MODE_REVALIDATE, BERT)->lease_id, 0);
    engine_pass(e, 100);
    ck_assert_uint_ne(engine_lead(e, "k", HG_MODE_REVALIDATE, BERT)->lease_id, 0);
    engine_destroy(e);
}
END_TEST

START_TEST(a_kept_slot_ends_with_its_time_and_never_outlives_expires_at)
{
    struct hgi_policy policy = engine_policy();
    struct engine *e;
    struct engine_call *leader;
    struct hgi_result result = {.status = HG_OK, .outcome = HG_VALUE, .value = hg_slice_text("v")};
    struct hgi_fulfilment fulfilment = {.result = &result, .keep_ms = 500};

    policy.ttl_ms = 1;
    policy.stale_ttl_ms = 1;
    e = engine_create_with(&policy, false);
    leader = engine_lead(e, "k", HG_MODE_FRESH, ANNA);
    fulfilment.lease_id = leader->lease_id;
    result.lifetime.expires_at_ms = e->now.wall_ms + 200;
    ck_assert_int_eq(engine_fulfil(e, &fulfilment), HG_OK);
    engine_pass(e, 199);
    ck_assert_answer(engine_lead(e, "k", HG_MODE_FRESH, BERT), HG_SOURCE_JOINED, "v");
    engine_pass(e, 1);
    check_leads(engine_lead(e, "k", HG_MODE_FRESH, BERT)); /* expired, though the slot was kept */
    fulfilment.lease_id = engine_lead(e, "i", HG_MODE_FRESH, ANNA)->lease_id;
    result.lifetime.expires_at_ms = e->now.wall_ms + 200;
    ck_assert_int_eq(engine_fulfil(e, &fulfilment), HG_OK);
    e->now.wall_ms += 200; /* by a clock that was set, too */
    check_leads(engine_lead(e, "i", HG_MODE_FRESH, BERT));
    fulfilment.lease_id = engine_lead(e, "h", HG_MODE_FRESH, ANNA)->lease_id;
    result.lifetime.expires_at_ms = e->now.wall_ms + 200;
    ck_assert_int_eq(engine_fulfil(e, &fulfilment), HG_OK);
    engine_pass(e, 200);
    e->now.wall_ms -= 100; /* and by one that was set back */
    check_leads(engine_lead(e, "h", HG_MODE_FRESH, BERT));
    leader = engine_lead(e, "j", HG_MODE_FRESH, ANNA);
    ck_assert_int_eq(fulfil(e, leader->lease_id, "w", 500), HG_OK);
    engine_pass(e, 499);
    ck_assert_answer(engine_lead(e, "j", HG_MODE_FRESH, BERT), HG_SOURCE_JOINED, "w");
    engine_pass(e, 1);
    check_leads(engine_lead(e, "j", HG_MODE_FRESH, BERT));
    engine_destroy(e);
}
END_TEST

/* A slot kept for half a second; its entry is gone after a millisecond. */
static struct engine *with_kept_slot(const char *value)
{
    struct hgi_policy policy = engine_policy();
    struct engine *e;

    policy.ttl_ms = 1;
    policy.stale_ttl_ms = 1;
    e = engine_create(&policy);
    ck_assert_int_eq(fulfil(e, engine_lead(e, "k", HG_MODE_FRESH, ANNA)->lease_id, value, 500),
                     HG_OK);
    return e;
}

START_TEST(a_kept_slot_ends_when_something_newer_is_stored)
{
    struct engine *e = with_kept_slot("old");
    struct engine_call *c;

    /* By a token. */
    ck_assert_int_eq(engine_put_if(e, "k", "newer", hgi_cache_generation(e->cache)), HG_OK);
    ck_assert_answer(engine_get(e, "k"), HG_SOURCE_FRESH, "newer");
    engine_pass(e, 10);
    ck_assert_waiting(engine_get(e, "k")); /* not "old" again */
    engine_destroy(e);
    /* By a load for a reader of something newer, which ends while another slot is kept. */
    e = with_kept_slot("old");
    engine_pass(e, 10);
    engine_invalidate(e, "other");
    c = engine_read_from(e, "k", hgi_cache_generation(e->cache));
    ck_assert_uint_eq(engine_stats(e).in_flight, 2); /* kept, and without its place */
    engine_value(e, 0, "newer");
    ck_assert_answer(c, HG_SOURCE_LOADED, "newer");
    ck_assert_uint_eq(engine_stats(e).in_flight, 0);
    engine_pass(e, 10);
    ck_assert_waiting(engine_get(e, "k"));
    engine_destroy(e);
}
END_TEST

/* A load without the key's place, which was lost once and given what the slot keeps. */
START_TEST(a_kept_slot_ends_when_its_value_is_confirmed)
{
    struct hgi_policy policy = engine_policy();
    struct engine_call *c;
    struct engine *e;

    policy.on_error = HGI_ON_ERROR_EACH;
    policy.ttl_ms = 1;
    policy.stale_ttl_ms = 1;
    e = engine_create(&policy);
    engine_get(e, "k");
    c = engine_get(e, "k");
    engine_error(e, 0, HG_NOT_FOUND, "no");
    ck_assert_int_eq(fulfil(e, engine_lead(e, "k", HG_MODE_FRESH, ANNA)->lease_id, "v", 500),
                     HG_OK);
    engine_lost(e, 1);
    ck_assert_str_eq(e->loads[2].old_value, "v");
    engine_invalidate(e, "other");
    engine_unchanged(e, 2);
    ck_assert_answer(c, HG_SOURCE_LOADED, "v");
    ck_assert_uint_eq(engine_stats(e).in_flight, 0);
    engine_pass(e, 10);
    ck_assert_waiting(engine_get(e, "k"));
    engine_destroy(e);
}
END_TEST

START_TEST(what_is_older_than_what_is_stored_is_not_kept)
{
    struct engine *e = without_loader();
    struct engine_call *leader = engine_lead(e, "k", HG_MODE_FRESH, ANNA);

    engine_invalidate(e, "other");
    ck_assert_int_eq(engine_put_if(e, "k", "newer", hgi_cache_generation(e->cache)), HG_OK);
    ck_assert_int_eq(fulfil(e, leader->lease_id, "old", 1000), HG_OK);
    ck_assert_answer(engine_get(e, "k"), HG_SOURCE_FRESH, "newer");
    engine_pass(e, 301);
    check_leads(engine_lead(e, "k", HG_MODE_FRESH, BERT));
    engine_destroy(e);
}
END_TEST

/* Whoever was answered with the newer value may ask again. */
START_TEST(what_is_older_than_what_was_stored_and_has_expired_is_not_kept)
{
    struct hgi_policy policy = engine_policy();
    struct engine_call *leader;
    struct engine *e;

    policy.ttl_ms = 1;
    policy.stale_ttl_ms = 1;
    e = engine_create(&policy);
    leader = engine_lead(e, "k", HG_MODE_FRESH, ANNA);
    engine_invalidate(e, "other");
    ck_assert_int_eq(engine_put_if(e, "k", "newer", hgi_cache_generation(e->cache)), HG_OK);
    ck_assert_answer(engine_get(e, "k"), HG_SOURCE_FRESH, "newer");
    e->now.boot_ms += 10; /* over, and not swept yet */
    ck_assert_int_eq(fulfil(e, leader->lease_id, "old", 500), HG_OK);
    check_leads(engine_lead(e, "k", HG_MODE_FRESH, BERT));
    engine_destroy(e);
}
END_TEST

START_TEST(what_is_not_to_be_stored_is_kept_only_if_it_must_be_the_newest)
{
    struct hgi_result result = {.status = HG_OK,
                                .outcome = HG_VALUE,
                                .value = hg_slice_text("old"),
                                .lifetime = {.no_store = true}};
    struct hgi_fulfilment fulfilment = {.result = &result, .keep_ms = 500};
    struct engine *e = without_loader();

    fulfilment.lease_id = engine_lead(e, "k", HG_MODE_FRESH, ANNA)->lease_id;
    engine_invalidate(e, "other");
    ck_assert_int_eq(engine_put_if(e, "k", "newer", hgi_cache_generation(e->cache)), HG_OK);
    ck_assert_int_eq(engine_fulfil(e, &fulfilment), HG_OK);
    ck_assert_uint_eq(engine_stats(e).in_flight, 0);
    fulfilment.lease_id = engine_lead(e, "j", HG_MODE_FRESH, ANNA)->lease_id;
    ck_assert_int_eq(engine_fulfil(e, &fulfilment), HG_OK); /* no number was taken */
    ck_assert_answer(engine_lead(e, "j", HG_MODE_FRESH, BERT), HG_SOURCE_JOINED, "old");
    engine_destroy(e);
}
END_TEST

START_TEST(a_kept_slot_tells_its_age_and_minds_a_readers_max_age)
{
    struct hgi_policy policy = engine_policy();
    struct hgi_result result = {.status = HG_OK,
                                .outcome = HG_VALUE,
                                .value = hg_slice_text("v"),
                                .lifetime = {.ttl_ms = 5, .stale_ttl_ms = 5}};
    struct hgi_fulfilment fulfilment = {.result = &result, .keep_ms = 500};
    struct engine *e = engine_create(&policy);
    struct engine_call *c;

    fulfilment.lease_id = engine_lead(e, "k", HG_MODE_FRESH, ANNA)->lease_id;
    ck_assert_int_eq(engine_fulfil(e, &fulfilment), HG_OK);
    engine_pass(e, 200);
    c = engine_get(e, "k");
    ck_assert_answer(c, HG_SOURCE_JOINED, "v");
    ck_assert_int_eq(c->age_ms, 200);
    ck_assert_int_eq(c->ttl_left_ms, 0);
    ck_assert_int_eq(c->stale_left_ms, 0);
    ck_assert_answer(engine_read_with(e, "k", HG_MODE_FRESH, 200, 0), HG_SOURCE_JOINED, "v");
    ck_assert_waiting(engine_read_with(e, "k", HG_MODE_FRESH, 199, 0));
    engine_destroy(e);
}
END_TEST

START_TEST(a_kept_slot_ends_with_a_tag_or_the_user_of_its_value)
{
    struct hg_slice names[] = {hg_slice_text("t"), hg_slice_text("unlike")};
    struct hgi_cover covers[] = {
        {.tags = &names[0], .tag_count = 1},
        {.first_part = hg_slice_text("user")},
        {.tags = &names[0], .tag_count = 1, .is_soft = true},
    };

    for (size_t i = 0; i < sizeof(covers) / sizeof(covers[0]); i++) {
        struct engine *e = without_loader();
        struct hgi_result result = {
            .status = HG_OK,
            .outcome = HG_VALUE,
            .value = hg_slice_text("v"),
            .lifetime = {.tags = names, .tag_count = 1, .user = hg_slice_text("user")},
        };
        struct hgi_fulfilment fulfilment = {.result = &result, .keep_ms = 500};
        struct hgi_cover other = {.tags = &names[1], .tag_count = 1};
        struct hgi_report report;

        fulfilment.lease_id = engine_lead(e, "k", HG_MODE_FRESH, ANNA)->lease_id;
        ck_assert_int_eq(engine_fulfil(e, &fulfilment), HG_OK);
        engine_pass(e, 350); /* over, and only the slot has it */
        hgi_cache_invalidate_cover(e->cache, &other, &e->now, &report);
        ck_assert_answer(engine_lead(e, "k", HG_MODE_FRESH, BERT), HG_SOURCE_JOINED, "v");
        hgi_cache_invalidate_cover(e->cache, &covers[i], &e->now, &report);
        check_leads(engine_lead(e, "k", HG_MODE_FRESH, BERT));
        engine_destroy(e);
    }
}
END_TEST

START_TEST(leases_are_not_counted_in_max_loads)
{
    struct hgi_policy policy = engine_policy();
    struct engine *e;

    policy.max_loads = 1;
    e = engine_create(&policy);
    check_leads(engine_lead(e, "a", HG_MODE_FRESH, ANNA));
    check_leads(engine_lead(e, "b", HG_MODE_FRESH, ANNA));
    engine_get(e, "c");
    ck_assert_uint_eq(e->load_count, 1);
    check_leads(engine_lead(e, "d", HG_MODE_FRESH, ANNA));
    engine_destroy(e);
}
END_TEST

START_TEST(an_expired_fulfilment_is_refused_and_everybody_told)
{
    struct engine *e = without_loader();
    struct engine_call *leader = engine_lead(e, "k", HG_MODE_FRESH, ANNA);
    struct engine_call *follower = engine_lead(e, "k", HG_MODE_FRESH, BERT);
    struct hgi_result result = {.status = HG_OK,
                                .outcome = HG_VALUE,
                                .value = hg_slice_text("v"),
                                .lifetime = {.expires_at_ms = 1}};
    struct hgi_fulfilment fulfilment = {.lease_id = leader->lease_id, .result = &result};

    ck_assert_int_eq(engine_fulfil(e, &fulfilment), HG_FAILED_PRECONDITION);
    ck_assert_refused(follower, HG_FAILED_PRECONDITION);
    engine_destroy(e);
}
END_TEST

START_TEST(a_lease_goes_to_nobody_whose_time_is_over)
{
    struct hgi_policy policy = engine_policy();
    struct engine *e;
    struct engine_call *late;

    policy.wait_budget_ms = policy.load_timeout_ms;
    e = engine_create(&policy);
    check_leads(engine_lead(e, "k", HG_MODE_FRESH, ANNA));
    late = engine_lead(e, "k", HG_MODE_FRESH, BERT);
    engine_pass(e, policy.load_timeout_ms);
    ck_assert_refused(late, HG_DEADLINE_EXCEEDED);
    ck_assert_uint_eq(engine_metric(e, HGI_METRIC_lease), 1);
    engine_destroy(e);
}
END_TEST

START_TEST(a_lease_whose_slot_a_successor_has_keeps_none)
{
    struct engine *e = engine_create(NULL);
    struct engine_call *leader = engine_lead(e, "k", HG_MODE_FRESH, ANNA);
    struct engine_call *newer = engine_read_from(e, "k", engine_invalidate(e, "other").generation);

    ck_assert_int_eq(fulfil(e, leader->lease_id, "old", 500), HG_OK);
    ck_assert_uint_eq(engine_stats(e).in_flight, 1);
    engine_value(e, 0, "new");
    ck_assert_answer(newer, HG_SOURCE_LOADED, "new");
    engine_pass(e, 400);
    ck_assert_waiting(engine_get(e, "k")); /* a slot kept for the old value would answer */
    engine_destroy(e);
}
END_TEST

START_TEST(without_a_loader_nobody_loads_alone)
{
    struct hgi_policy policy = engine_policy();
    struct engine *e;
    struct engine_call *follower;

    policy.alone = true;
    policy.wait_budget_ms = 50;
    e = engine_create_with(&policy, false);
    check_leads(engine_lead(e, "k", HG_MODE_FRESH, ANNA));
    follower = engine_read_with(e, "k", HG_MODE_FRESH, -1, 500);
    engine_pass(e, 50);
    ck_assert_refused(follower, HG_DEADLINE_EXCEEDED);
    engine_destroy(e);
}
END_TEST

HGI_SUITE("server.lease", 20, a_leader_gets_a_lease_and_its_value_answers_the_followers,
          so_many_lead_and_keep_slots_and_the_next_is_refused_until_one_ends,
          lease_keeps_the_slot_for_late_callers, followers_get_the_value_at_publish_not_at_release,
          lease_released_by_panic_unwind, failed_leader_hands_over_to_one_new_leader,
          under_share_a_leaders_error_is_everybodys,
          a_lease_that_runs_out_goes_to_the_next_who_asked_to_lead, a_lease_handed_on_is_born_anew,
          with_nobody_to_lead_the_loader_loads_once,
          with_nobody_to_lead_and_no_loader_the_rest_is_told, renewing_begins_the_leases_time_anew,
          a_clear_an_invalidation_and_a_put_end_leases_and_kept_slots,
          a_fulfilment_with_a_tag_invalidated_since_is_aborted,
          behind_a_stale_value_one_caller_gets_a_lease_and_all_the_value,
          a_refresh_lease_given_up_pauses_the_next,
          a_kept_slot_ends_with_its_time_and_never_outlives_expires_at,
          a_kept_slot_ends_when_something_newer_is_stored,
          a_kept_slot_ends_when_its_value_is_confirmed,
          what_is_older_than_what_is_stored_is_not_kept,
          what_is_older_than_what_was_stored_and_has_expired_is_not_kept,
          what_is_not_to_be_stored_is_kept_only_if_it_must_be_the_newest,
          a_kept_slot_tells_its_age_and_minds_a_readers_max_age,
          a_kept_slot_ends_with_a_tag_or_the_user_of_its_value, leases_are_not_counted_in_max_loads,
          an_expired_fulfilment_is_refused_and_everybody_told,
          a_lease_goes_to_nobody_whose_time_is_over, a_lease_whose_slot_a_successor_has_keeps_none,
          without_a_loader_nobody_loads_alone)
