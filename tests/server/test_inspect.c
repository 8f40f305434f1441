/* SPDX-License-Identifier: Apache-2.0 */
#include "engine.h"
#include "server/cache/inspect.h"

static struct hgi_explanation explain(struct engine *e, const char *key)
{
    struct hgi_explanation said;

    hgi_cache_explain(e->cache, hg_slice_text(key), &e->now, &said);
    return said;
}

START_TEST(flights_are_listed_with_who_leads_and_who_waits)
{
    struct hgi_policy policy = engine_policy();
    struct hgi_flight_info flights[4];
    struct engine *e;

    policy.max_loads = 1;
    e = engine_create(&policy);
    engine_put(e, "stale", "v");
    engine_pass(e, 150);
    engine_get(e, "a");
    engine_get(e, "a");
    engine_get(e, "a");
    engine_read(e, "stale", HG_MODE_REVALIDATE);
    engine_lead(e, "mine", HG_MODE_FRESH, 7);
    engine_pass(e, 40);
    ck_assert_uint_eq(hgi_cache_list_flights(e->cache, &e->now, flights, 2),
                      3); /* more than asked for */
    ck_assert_uint_eq(hgi_cache_list_flights(e->cache, &e->now, flights, 4), 3);
    ck_assert_int_eq(flights[0].leader, HGI_LEADER_LOADER);
    ck_assert_int_eq(flights[0].phase, HGI_PHASE_SENT);
    ck_assert_uint_eq(flights[0].followers, 2);
    ck_assert_int_eq(flights[0].age_ms, 40);
    ck_assert_int_eq(flights[0].left_ms, 960);
    ck_assert_int_eq(flights[1].leader, HGI_LEADER_REFRESH);
    ck_assert_int_eq(flights[1].phase, HGI_PHASE_QUEUED);
    ck_assert_int_eq(flights[1].left_ms, -1);
    ck_assert_int_eq(flights[2].leader, HGI_LEADER_CALLER);
    ck_assert_uint_eq(flights[2].holder, 7);
    ck_assert_uint_ne(flights[0].digest, flights[2].digest);
    engine_destroy(e);
}
END_TEST

START_TEST(a_killed_flight_tells_its_waiters_and_cancels_its_load)
{
    struct engine *e = engine_create(NULL);
    struct engine_call *leader = engine_get(e, "k");
    struct engine_call *follower = engine_get(e, "k");
    struct hgi_flight_info flight;
    struct hgi_flight_info killed = {0};

    hgi_cache_list_flights(e->cache, &e->now, &flight, 1);
    ck_assert(hgi_cache_kill_flight(e->cache, flight.id, &e->now, &killed));
    ck_assert_uint_eq(killed.id, flight.id);
    ck_assert_uint_eq(killed.digest, hgi_cache_digest(e->cache, hg_slice_text("k")));
    ck_assert_uint_eq(killed.followers, 1);
    ck_assert_int_eq(killed.phase, HGI_PHASE_SENT);
    ck_assert_refused(leader, HG_CANCELLED);
    ck_assert_refused(follower, HG_CANCELLED);
    ck_assert_int_eq(leader->source, HG_SOURCE_LOADED); /* whose load it was */
    ck_assert_int_eq(follower->source, HG_SOURCE_JOINED);
    ck_assert(e->loads[0].is_cancelled);
    /* answered already */
    ck_assert(!hgi_cache_kill_flight(e->cache, flight.id, &e->now, &killed));
    hgi_cache_list_flights(e->cache, &e->now, &flight, 1);
    ck_assert_int_eq(flight.phase, HGI_PHASE_ENDED);
    engine_get(e, "k"); /* the key is free */
    ck_assert_uint_eq(e->load_count, 2);
    engine_destroy(e);
}
END_TEST

START_TEST(a_killed_lease_ends)
{
    struct engine *e = engine_create(NULL);
    struct engine_call *leader = engine_lead(e, "k", HG_MODE_FRESH, 7);
    struct hgi_flight_info flight;

    hgi_cache_list_flights(e->cache, &e->now, &flight, 1);
    ck_assert(hgi_cache_kill_flight(e->cache, flight.id, &e->now, &flight));
    ck_assert_int_eq(engine_renew(e, leader->lease_id), HG_ABORTED);
    ck_assert_uint_eq(hgi_cache_list_flights(e->cache, &e->now, &flight, 1), 0);
    engine_destroy(e);
}
END_TEST

START_TEST(a_key_is_explained_by_the_rule_that_would_answer_it)
{
    struct hgi_policy policy = engine_policy();
    struct hg_slice soft = hg_slice_text("soft");
    struct hgi_cover cover = {.keys = &soft, .key_count = 1, .is_soft = true};
    struct hgi_report report;
    struct engine *e;

    policy.stale_if_error_ms = 1000;
    policy.error_backoff_ms = 5000;
    e = engine_create(&policy);
    ck_assert_int_eq(explain(e, "k").rule, HGI_RULE_NOTHING);
    ck_assert(!explain(e, "k").has_entry);
    engine_put(e, "k", "v");
    ck_assert_int_eq(explain(e, "k").rule, HGI_RULE_FRESH);
    ck_assert_int_eq(explain(e, "k").ttl_left_ms, 100);
    ck_assert_int_eq(explain(e, "k").ttl_ms, 100);
    engine_pass(e, 101);
    ck_assert_int_eq(explain(e, "k").rule, HGI_RULE_STALE);
    engine_pass(e, 200);
    ck_assert_int_eq(explain(e, "k").rule, HGI_RULE_KEPT);
    engine_get(e, "k");
    ck_assert_int_eq(explain(e, "k").rule, HGI_RULE_JOINS);
    ck_assert(explain(e, "k").has_flight);
    ck_assert_int_eq(explain(e, "k").age_ms, 301);
    engine_get(e, "broken");
    engine_error(e, 1, HG_UNAVAILABLE, "away");
    ck_assert_int_eq(explain(e, "broken").rule, HGI_RULE_FAILED_LATELY);
    ck_assert_int_eq(explain(e, "broken").failure_left_ms, 5000);
    engine_put(e, "soft", "v");
    hgi_cache_invalidate_cover(e->cache, &cover, &e->now, &report);
    ck_assert_int_eq(explain(e, "soft").rule, HGI_RULE_SOFTENED);
    engine_destroy(e);
}
END_TEST

START_TEST(a_kept_slot_is_explained_as_one)
{
    struct hgi_policy policy = engine_policy();
    struct hgi_result result = {.status = HG_OK, .outcome = HG_VALUE, .value = hg_slice_text("v")};
    struct hgi_fulfilment fulfilment = {.result = &result, .keep_ms = 500};
    struct engine *e;

    policy.ttl_ms = 1;
    policy.stale_ttl_ms = 1;
    e = engine_create(&policy);
    fulfilment.lease_id = engine_lead(e, "k", HG_MODE_FRESH, 7)->lease_id;
    ck_assert_int_eq(engine_fulfil(e, &fulfilment), HG_OK);
    engine_pass(e, 10);
    ck_assert_int_eq(explain(e, "k").rule, HGI_RULE_KEPT_SLOT);
    ck_assert_int_eq(explain(e, "k").flight.leader, HGI_LEADER_KEPT);
    engine_destroy(e);
}
END_TEST

/* Whoever invalidates a tag does not visit the slot; who explains it must ask. */
START_TEST(a_kept_slot_whose_tag_was_invalidated_explains_nothing)
{
    struct hg_slice tag = hg_slice_text("red");
    struct hgi_policy policy = engine_policy();
    struct hgi_result result = {.status = HG_OK,
                                .outcome = HG_VALUE,
                                .value = hg_slice_text("v"),
                                .lifetime = {.tags = &tag, .tag_count = 1}};
    struct hgi_fulfilment fulfilment = {.result = &result, .keep_ms = 500};
    struct hgi_cover cover = {.tags = &tag, .tag_count = 1};
    struct hgi_report report;
    struct engine *e = engine_create(&policy);

    fulfilment.lease_id = engine_lead(e, "k", HG_MODE_FRESH, 7)->lease_id;
    ck_assert_int_eq(engine_fulfil(e, &fulfilment), HG_OK);
    ck_assert(explain(e, "k").has_flight);
    hgi_cache_invalidate_cover(e->cache, &cover, &e->now, &report);
    ck_assert_int_eq(explain(e, "k").rule, HGI_RULE_NOTHING);
    ck_assert(!explain(e, "k").has_flight);
    engine_destroy(e);
}
END_TEST

START_TEST(a_flight_names_the_process_that_loads_it)
{
    struct hgi_policy policy = engine_policy();
    struct engine *e = engine_create(&policy);
    struct hgi_flight_info info;

    e->holds_sends = true;
    engine_get(e, "k");
    ck_assert_uint_eq(hgi_cache_list_flights(e->cache, &e->now, &info, 1), 1);
    ck_assert_int_eq(info.pid, 0);
    engine_send(e, 0);
    ck_assert_uint_eq(hgi_cache_list_flights(e->cache, &e->now, &info, 1), 1);
    ck_assert_int_eq(info.pid, ENGINE_PID);
    engine_lost(e, 0); /* tried again, and not yet sent */
    ck_assert_uint_eq(hgi_cache_list_flights(e->cache, &e->now, &info, 1), 1);
    ck_assert_int_eq(info.pid, 0);
    engine_destroy(e);
}
END_TEST

START_TEST(a_load_born_before_is_there_until_it_has_ended)
{
    struct hgi_policy policy = engine_policy();
    struct engine *e;
    uint64_t first;
    uint64_t second;

    policy.max_loads = 1;
    e = engine_create(&policy);
    e->holds_sends = true;
    ck_assert(!hgi_cache_has_loads_before(e->cache, UINT64_MAX));
    engine_get(e, "sent");
    engine_get(e, "queued");
    first = engine_clear(e).generation;
    engine_get(e, "later");
    ck_assert(hgi_cache_has_loads_before(e->cache, first));
    ck_assert(!hgi_cache_has_loads_before(e->cache, first - 1));
    engine_send(e, 0);
    engine_pass(e, 1001); /* timed out and answered; its load goes on */
    ck_assert(hgi_cache_has_loads_before(e->cache, first));
    engine_value(e, 0, "v");
    ck_assert_str_eq(e->loads[1].key, "queued");
    ck_assert(hgi_cache_has_loads_before(e->cache, first)); /* its beginner gets it */
    engine_value(e, 1, "v");
    ck_assert(!hgi_cache_has_loads_before(e->cache, first));
    second = engine_clear(e).generation;
    ck_assert(hgi_cache_has_loads_before(e->cache, second));
    engine_value(e, 2, "v");
    ck_assert(!hgi_cache_has_loads_before(e->cache, second));
    engine_destroy(e);
}
END_TEST

START_TEST(a_lease_counts_as_a_load_until_it_ends_and_a_kept_slot_does_not)
{
    struct hgi_result result = {.status = HG_OK, .outcome = HG_VALUE, .value = hg_slice_text("v")};
    struct hgi_fulfilment fulfilment = {.result = &result, .keep_ms = 500};
    struct engine *e = engine_create(NULL);

    fulfilment.lease_id = engine_lead(e, "k", HG_MODE_FRESH, 7)->lease_id;
    ck_assert(hgi_cache_has_loads_before(e->cache, UINT64_MAX));
    ck_assert_int_eq(engine_fulfil(e, &fulfilment), HG_OK);
    ck_assert(!hgi_cache_has_loads_before(e->cache, UINT64_MAX));
    engine_lead(e, "other", HG_MODE_FRESH, 7);
    ck_assert(!hgi_cache_has_loads_before(e->cache, engine_clear(e).generation));
    engine_destroy(e);
}
END_TEST

HGI_SUITE("server.inspect", 20, a_load_born_before_is_there_until_it_has_ended,
          a_lease_counts_as_a_load_until_it_ends_and_a_kept_slot_does_not,
          flights_are_listed_with_who_leads_and_who_waits,
          a_killed_flight_tells_its_waiters_and_cancels_its_load, a_killed_lease_ends,
          a_key_is_explained_by_the_rule_that_would_answer_it, a_kept_slot_is_explained_as_one,
          a_kept_slot_whose_tag_was_invalidated_explains_nothing,
          a_flight_names_the_process_that_loads_it)
