/* SPDX-License-Identifier: Apache-2.0 */
/* Callers that load themselves, through a real server: who leads, who waits, across connections,
 * and what becomes of a lease. (The rules one by one, on a fake clock: server.lease.) */
#include <stdio.h>

#include "crowd.h"
#include "daemon.h"
#include "herdgate/lease.h"

static const char caches[] =
    "snapshot { path = \"@DIR@/cache.db\" interval = \"1h\" }\n"
    "cache \"own\" { key = \"bytes\" value = \"bytes\" ttl = \"1h\" load_timeout = \"1m\" }\n"
    "cache \"other\" { key = \"bytes\" value = \"bytes\" ttl = \"1h\" load_timeout = \"1m\" }\n"
    "cache \"brief\" { key = \"bytes\" value = \"bytes\" ttl = \"1ms\" load_timeout = \"1m\" }\n"
    "cache \"quick\" { key = \"bytes\" value = \"bytes\" ttl = \"1h\" load_timeout = \"200ms\" "
    "wait_budget = \"20s\" }\n"
    "cache \"second\" { key = \"bytes\" value = \"bytes\" ttl = \"1h\" load_timeout = \"1s\" "
    "wait_budget = \"20s\" }\n"
    "cache \"elect\" { key = \"bytes\" value = \"bytes\" ttl = \"1h\" load_timeout = \"1m\" "
    "on_error = \"elect\" }\n"
    "cache \"stale\" { key = \"bytes\" value = \"bytes\" ttl = \"1ms\" stale_ttl = \"1h\" "
    "load_timeout = \"1m\" }\n"
    "cache \"loaded\" { key = \"bytes\" value = \"bytes\" loader = \"script\" ttl = \"1h\" "
    "load_timeout = \"1m\" }\n"
    "cache \"auth\" { key = \"bytes\" value = \"auth\" ttl = \"1h\" load_timeout = \"1m\" }\n";

struct fixture {
    struct daemon d;
    struct hg_client *anna; /* a connection of her own */
    struct crowd crowd;
};

static struct hg_client *connect_to(const char *url)
{
    struct hg_client *client;
    struct hg_error error;

    ck_assert_msg(hg_client_open(url, NULL, &client, &error) == HG_OK, "%s", error.text);
    return client;
}

static void setup(struct fixture *f)
{
    daemon_prepare(&f->d, caches);
    daemon_start(&f->d);
    f->anna = connect_to(f->d.ipc_url);
    crowd_init(&f->crowd);
}

static void teardown(struct fixture *f)
{
    crowd_wait(&f->crowd);
    hg_client_close(&f->anna);
    daemon_stop(&f->d);
    daemon_remove(&f->d);
    crowd_deinit(&f->crowd);
}

static struct hg_read leading(const char *cache, const char *key)
{
    return (struct hg_read){.cache = cache,
                            .key = daemon_key(key),
                            .mode = HG_MODE_FRESH,
                            .lead = true,
                            .timeout_ms = 15000};
}

/* The lease that `client` gets for the key. */
static struct hg_leased lead(struct hg_client *client, const char *cache, const char *key)
{
    struct hg_read read = leading(cache, key);
    struct hg_leased leased = {.cache = cache};
    struct hg_answer answer;
    struct hg_error error;

    ck_assert_msg(hg_client_get_or_load(client, &read, &answer, &error) == HG_OK, "%s", error.text);
    ck_assert_int_eq(answer.outcome, HG_NOT_CACHED);
    ck_assert_int_eq(answer.source, HG_SOURCE_LEASED);
    ck_assert_uint_ne(answer.lease.id, 0);
    ck_assert_uint_ne(answer.lease.epoch, 0);
    leased.lease = answer.lease;
    hg_answer_deinit(&answer);
    return leased;
}

static enum hg_status fulfil(struct hg_client *client, const struct hg_leased *leased,
                             const char *value, uint64_t keep_ms)
{
    struct hg_fulfil request = {.cache = leased->cache,
                                .lease = leased->lease,
                                .value = hg_slice_text(value),
                                .keep_ms = keep_ms};
    struct hg_fulfilled fulfilled;
    struct hg_error error;
    enum hg_status status = hg_client_fulfil(client, &request, &fulfilled, &error);

    if (status == HG_OK) {
        ck_assert_int_eq(fulfilled.outcome, HG_VALUE);
        ck_assert_uint_gt(fulfilled.generation, 0);
        ck_assert_uint_gt(fulfilled.ttl_left_ms, 0);
    }
    return status;
}

static struct crowd_answer *follow(struct fixture *f, struct hg_client *client, const char *cache,
                                   const char *key)
{
    struct hg_read read = leading(cache, key);

    read.lead = false;
    return crowd_read(&f->crowd, client, &read);
}

static struct crowd_answer *follow_to_lead(struct fixture *f, struct hg_client *client,
                                           const char *cache, const char *key)
{
    struct hg_read read = leading(cache, key);

    return crowd_read(&f->crowd, client, &read);
}

static void check(const struct crowd_answer *answer, enum hg_source source, const char *value)
{
    ck_assert_msg(answer->status == HG_OK, "%s: %s", hg_status_name(answer->status), answer->text);
    ck_assert_int_eq(answer->source, source);
    ck_assert_str_eq(answer->value, value);
}

static struct crowd_answer *read_now(struct fixture *f, const char *cache, const char *key)
{
    struct crowd_answer *answer = follow(f, f->d.client, cache, key);

    crowd_wait_for(&f->crowd, answer);
    return answer;
}

/* ---- who leads, who waits ---- */

START_TEST(one_leads_and_its_value_answers_those_of_other_connections)
{
    struct fixture f;
    struct hg_client *others[8];
    struct hg_leased leased;

    setup(&f);
    leased = lead(f.anna, "own", "k");
    ck_assert_uint_eq(leased.lease.ttl_ms, 60000);
    for (int i = 0; i < 8; i++) {
        others[i] = connect_to(i % 2 ? f.d.ipc_url : f.d.tcp_url);
        /* Over tcp nobody may lead; to wait for who does is reading. */
        if (i % 2) {
            follow_to_lead(&f, others[i], "own", "k");
        } else {
            follow(&f, others[i], "own", "k");
        }
    }
    daemon_wait_metric(&f.d, "own", "waiting", 8);
    ck_assert_int_eq(fulfil(f.anna, &leased, "v", 0), HG_OK);
    crowd_wait(&f.crowd);
    for (int i = 0; i < 8; i++) {
        check(&f.crowd.answers[i], HG_SOURCE_JOINED, "v");
        hg_client_close(&others[i]);
    }
    check(read_now(&f, "own", "k"), HG_SOURCE_FRESH, "v");
    ck_assert_uint_eq(daemon_metric(&f.d, "own", "lease"), 1);
    ck_assert_uint_eq(daemon_metric(&f.d, "own", "in_flight"), 0);
    teardown(&f);
}
END_TEST

START_TEST(an_absence_and_an_error_are_handed_to_those_who_wait)
{
    struct fixture f;
    struct hg_leased leased;
    struct hg_fulfil fulfilment = {.cache = "own", .outcome = HG_ABSENT};
    struct hg_fulfilled fulfilled;
    struct crowd_answer *absent;
    struct crowd_answer *failed;

    setup(&f);
    leased = lead(f.anna, "own", "absent");
    absent = follow(&f, f.d.client, "own", "absent");
    daemon_wait_metric(&f.d, "own", "waiting", 1);
    fulfilment.lease = leased.lease;
    ck_assert_int_eq(hg_client_fulfil(f.anna, &fulfilment, &fulfilled, NULL), HG_OK);
    ck_assert_int_eq(fulfilled.outcome, HG_ABSENT);
    crowd_wait_for(&f.crowd, absent);
    ck_assert_int_eq(absent->outcome, HG_ABSENT);
    leased = lead(f.anna, "own", "failing");
    failed = follow(&f, f.d.client, "own", "failing");
    daemon_wait_metric(&f.d, "own", "waiting", 1);
    fulfilment.lease = leased.lease;
    fulfilment.status = HG_UNAVAILABLE;
    fulfilment.message = hg_slice_text("no backend");
    ck_assert_int_eq(hg_client_fulfil(f.anna, &fulfilment, &fulfilled, NULL), HG_OK);
    crowd_wait_for(&f.crowd, failed);
    ck_assert_int_eq(failed->status, HG_UNAVAILABLE);
    ck_assert_str_eq(failed->text, "no backend");
    ck_assert_int_eq(failed->error_source, HG_SOURCE_JOINED);
    teardown(&f);
}
END_TEST

/* nora-registry 1.3.3, test 6. */
START_TEST(lease_keeps_the_slot_for_late_callers)
{
    struct fixture f;
    struct hg_leased leased;
    struct hg_leased next;
    struct hg_read peek = {.cache = "brief", .key = daemon_key("pkg")};
    enum hg_outcome outcome = HG_VALUE;

    setup(&f);
    leased = lead(f.anna, "brief", "pkg");
    ck_assert_int_eq(fulfil(f.anna, &leased, "7", 30000), HG_OK);
    while (outcome != HG_NOT_CACHED) { /* its ttl is 1 ms: what answers is the slot */
        struct hg_answer answer;

        ck_assert_int_eq(hg_client_get(f.anna, &peek, &answer, NULL), HG_OK);
        outcome = answer.outcome;
        hg_answer_deinit(&answer);
    }
    check(read_now(&f, "brief", "pkg"), HG_SOURCE_JOINED, "7");
    ck_assert_uint_eq(daemon_metric(&f.d, "brief", "in_flight"), 1);
    ck_assert_int_eq(hg_client_release(f.anna, &leased, NULL), HG_OK);
    ck_assert_uint_eq(daemon_metric(&f.d, "brief", "in_flight"), 0);
    next = lead(f.d.client, "brief", "pkg");
    ck_assert_int_eq(fulfil(f.d.client, &next, "9", 0), HG_OK);
    ck_assert_uint_eq(daemon_metric(&f.d, "brief", "lease"), 2); /* two fetches */
    teardown(&f);
}
END_TEST

/* nora-registry 1.3.3, test 7. */
START_TEST(followers_get_the_value_at_publish_not_at_release)
{
    struct fixture f;
    struct hg_leased leased;
    struct crowd_answer *follower;

    setup(&f);
    leased = lead(f.anna, "own", "pkg");
    follower = follow_to_lead(&f, f.d.client, "own", "pkg");
    daemon_wait_metric(&f.d, "own", "waiting", 1);
    ck_assert_int_eq(fulfil(f.anna, &leased, "7", 30000), HG_OK);
    crowd_wait_for(&f.crowd, follower);
    check(follower, HG_SOURCE_JOINED, "7");
    ck_assert_uint_eq(daemon_metric(&f.d, "own", "in_flight"), 1); /* held */
    teardown(&f);
}
END_TEST

/* nora-registry 1.3.3, test 8: the panic unwind becomes: the holder's connection ends. */
START_TEST(lease_released_by_panic_unwind)
{
    struct fixture f;
    struct crowd_answer *next;

    setup(&f);
    lead(f.anna, "own", "pkg");
    lead(f.anna, "other", "pkg"); /* in every cache */
    ck_assert_uint_eq(daemon_metric(&f.d, "other", "in_flight"), 1);
    next = follow_to_lead(&f, f.d.client, "own", "pkg");
    daemon_wait_metric(&f.d, "own", "waiting", 1);
    ck_assert(!crowd_is_answered(&f.crowd, next));
    hg_client_close(&f.anna);
    crowd_wait_for(&f.crowd, next);
    ck_assert_int_eq(next->source, HG_SOURCE_LEASED);
    ck_assert_uint_eq(daemon_metric(&f.d, "own", "lease_handed_on"), 1);
    while (daemon_metric(&f.d, "other", "in_flight") > 0) { /* the caches' turns come one by one */
    }
    lead(f.d.client, "other", "pkg");
    teardown(&f);
}
END_TEST

/* nora-registry 1.3.3, test 9, with leases. */
START_TEST(failed_leader_hands_over_to_one_new_leader)
{
    struct fixture f;
    struct hg_leased leased;
    struct hg_fulfil failure = {
        .cache = "elect", .status = HG_UNAVAILABLE, .message = hg_slice_text("first fetch fails")};
    struct hg_fulfilled fulfilled;
    size_t leads = 0;

    setup(&f);
    leased = lead(f.anna, "elect", "pkg");
    for (int i = 1; i < 8; i++) {
        follow_to_lead(&f, f.d.client, "elect", "pkg");
    }
    daemon_wait_metric(&f.d, "elect", "waiting", 7);
    failure.lease = leased.lease;
    ck_assert_int_eq(hg_client_fulfil(f.anna, &failure, &fulfilled, NULL), HG_OK);
    daemon_wait_metric(&f.d, "elect", "lease", 2);
    ck_assert_uint_eq(daemon_metric(&f.d, "elect", "waiting"), 6);
    crowd_wait_for(&f.crowd, &f.crowd.answers[0]); /* who waited longest */
    leased.lease = f.crowd.answers[0].lease;
    ck_assert_int_eq(fulfil(f.d.client, &leased, "42", 0), HG_OK);
    crowd_wait(&f.crowd);
    for (int i = 0; i < 7; i++) {
        leads += f.crowd.answers[i].source == HG_SOURCE_LEASED;
        if (i > 0) {
            check(&f.crowd.answers[i], HG_SOURCE_JOINED, "42");
        }
    }
    ck_assert_uint_eq(leads, 1);
    ck_assert_uint_eq(daemon_metric(&f.d, "elect", "lease"), 2);
    teardown(&f);
}
END_TEST

START_TEST(behind_a_stale_value_one_caller_gets_a_lease_and_all_the_value)
{
    struct fixture f;
    struct hg_read read = leading("stale", "k");
    struct hg_leased leased = {.cache = "stale"};
    struct crowd_answer *next;
    size_t leases = 0;

    setup(&f);
    read.mode = HG_MODE_REVALIDATE;
    ck_assert_int_eq(daemon_put(&f.d, "stale", "k", "old"), HG_OK);
    for (int i = 0; i < 4 || leases == 0; i++) { /* fresh until its millisecond is over */
        struct hg_answer answer;

        ck_assert_int_eq(hg_client_get_or_load(f.anna, &read, &answer, NULL), HG_OK);
        ck_assert_slice_eq(answer.value, "old");
        if (answer.lease.id) {
            ck_assert_int_eq(answer.source, HG_SOURCE_STALE);
            leased.lease = answer.lease;
            leases++;
        }
        hg_answer_deinit(&answer);
    }
    ck_assert_uint_eq(leases, 1);
    ck_assert_int_eq(fulfil(f.anna, &leased, "new", 0), HG_OK);
    read.lead = false;
    read.mode = HG_MODE_ALLOW_STALE;
    next = crowd_read(&f.crowd, f.d.client, &read);
    crowd_wait_for(&f.crowd, next);
    ck_assert_str_eq(next->value, "new");
    teardown(&f);
}
END_TEST

/* ---- how a lease ends ---- */

START_TEST(a_lease_that_runs_out_is_handed_on_and_its_fulfilment_comes_too_late)
{
    struct fixture f;
    struct hg_leased leased;
    struct crowd_answer *next;

    setup(&f);
    leased = lead(f.anna, "quick", "k");
    ck_assert_uint_eq(leased.lease.ttl_ms, 200);
    next = follow_to_lead(&f, f.d.client, "quick", "k");
    crowd_wait_for(&f.crowd, next);
    ck_assert_int_eq(next->source, HG_SOURCE_LEASED);
    ck_assert_int_eq(fulfil(f.anna, &leased, "late", 0), HG_ABORTED);
    teardown(&f);
}
END_TEST

START_TEST(a_lease_renewed_outlives_its_first_time)
{
    struct fixture f;
    struct hg_leased leased;
    struct hg_renewed renewed;
    struct crowd_answer *follower;

    setup(&f);
    lead(f.anna, "own", "held"); /* nobody will load it: who waits for it tells the time */
    leased = lead(f.anna, "second", "k");
    follower = follow_to_lead(&f, f.d.client, "second", "k");
    daemon_wait_metric(&f.d, "second", "waiting", 1);
    for (size_t i = 0; i < 4; i++) { /* each takes 400 ms, less than half the lease's time */
        struct hg_read read = leading("own", "held");
        struct hg_answer answer;

        read.lead = false;
        read.timeout_ms = 400;
        ck_assert_int_eq(hg_client_get_or_load(f.d.client, &read, &answer, NULL),
                         HG_DEADLINE_EXCEEDED);
        ck_assert_int_eq(hg_client_renew(f.anna, &leased, &renewed, NULL), HG_OK);
        ck_assert_uint_eq(renewed.ttl_ms, 1000);
    }
    ck_assert(!crowd_is_answered(&f.crowd, follower));
    ck_assert_int_eq(fulfil(f.anna, &leased, "v", 0), HG_OK);
    crowd_wait_for(&f.crowd, follower);
    check(follower, HG_SOURCE_JOINED, "v");
    ck_assert_int_eq(hg_client_renew(f.anna, &leased, &renewed, NULL), HG_ABORTED);
    teardown(&f);
}
END_TEST

START_TEST(a_lease_released_is_handed_on_or_the_loader_loads)
{
    struct fixture f;
    struct hg_leased leased;
    struct crowd_answer *next;

    setup(&f);
    leased = lead(f.anna, "own", "k");
    next = follow_to_lead(&f, f.d.client, "own", "k");
    daemon_wait_metric(&f.d, "own", "waiting", 1);
    ck_assert_int_eq(hg_client_release(f.anna, &leased, NULL), HG_OK);
    crowd_wait_for(&f.crowd, next);
    ck_assert_int_eq(next->source, HG_SOURCE_LEASED);
    ck_assert_int_eq(hg_client_release(f.anna, &leased, NULL), HG_ABORTED);
    hgi_script_set(&f.d.script, "k value from the loader\n");
    leased = lead(f.anna, "loaded", "k");
    next = follow(&f, f.d.client, "loaded", "k");
    daemon_wait_metric(&f.d, "loaded", "waiting", 1);
    ck_assert_uint_eq(hgi_script_loads(&f.d.script, "k"), 0);
    ck_assert_int_eq(hg_client_release(f.anna, &leased, NULL), HG_OK);
    crowd_wait_for(&f.crowd, next);
    check(next, HG_SOURCE_JOINED, "from the loader");
    ck_assert_uint_eq(hgi_script_loads(&f.d.script, "k"), 1);
    teardown(&f);
}
END_TEST

START_TEST(a_clear_overtakes_a_lease_and_who_waits_looks_again)
{
    struct fixture f;
    struct hg_leased leased;
    struct hg_clear clear = {.cache = "own"};
    struct hg_reports reports;
    struct crowd_answer *next;

    setup(&f);
    leased = lead(f.anna, "own", "k");
    next = follow_to_lead(&f, f.d.client, "own", "k");
    daemon_wait_metric(&f.d, "own", "waiting", 1);
    ck_assert_int_eq(hg_client_clear(f.d.client, &clear, &reports, NULL), HG_OK);
    ck_assert_uint_eq(reports.reports[0].fenced, 1);
    hg_reports_deinit(&reports);
    crowd_wait_for(&f.crowd, next);
    ck_assert_int_eq(next->source, HG_SOURCE_LEASED);
    ck_assert_int_eq(fulfil(f.anna, &leased, "overtaken", 0), HG_ABORTED);
    leased.lease = next->lease;
    ck_assert_int_eq(fulfil(f.d.client, &leased, "v", 0), HG_OK);
    check(read_now(&f, "own", "k"), HG_SOURCE_FRESH, "v");
    teardown(&f);
}
END_TEST

START_TEST(a_fulfilled_value_is_invalidated_by_its_tag)
{
    struct fixture f;
    const struct hg_slice tag = hg_slice_text("plan:gold");
    struct hg_leased leased;
    struct hg_fulfil request = {
        .cache = "own", .value = hg_slice_text("v"), .tags = &tag, .tag_count = 1};
    struct hg_invalidate invalidate = {.cache = "own", .tags = &tag, .tag_count = 1};
    struct hg_fulfilled fulfilled;
    struct hg_report report;

    setup(&f);
    leased = lead(f.anna, "own", "k");
    request.lease = leased.lease;
    ck_assert_int_eq(hg_client_fulfil(f.anna, &request, &fulfilled, NULL), HG_OK);
    check(read_now(&f, "own", "k"), HG_SOURCE_FRESH, "v");
    ck_assert_int_eq(hg_client_invalidate(f.d.client, &invalidate, &report, NULL), HG_OK);
    hg_report_deinit(&report);
    leased = lead(f.anna, "own", "k"); /* it is gone */
    ck_assert_int_eq(hg_client_invalidate(f.d.client, &invalidate, &report, NULL), HG_OK);
    hg_report_deinit(&report);
    request.lease = leased.lease; /* a load that has begun before, and turns out to be covered */
    ck_assert_int_eq(hg_client_fulfil(f.anna, &request, &fulfilled, NULL), HG_ABORTED);
    teardown(&f);
}
END_TEST

/* ---- what is refused ---- */

START_TEST(a_lease_is_its_connections_and_its_servers_alone)
{
    struct fixture f;
    struct hg_leased leased;
    struct hg_leased earlier;
    struct hg_renewed renewed;

    setup(&f);
    leased = lead(f.anna, "own", "k");
    ck_assert_int_eq(fulfil(f.d.client, &leased, "not yours", 0), HG_ABORTED);
    ck_assert_int_eq(hg_client_renew(f.d.client, &leased, &renewed, NULL), HG_ABORTED);
    ck_assert_int_eq(hg_client_release(f.d.client, &leased, NULL), HG_ABORTED);
    earlier = leased;
    earlier.lease.epoch++;
    ck_assert_int_eq(fulfil(f.anna, &earlier, "of a server that is gone", 0), HG_ABORTED);
    ck_assert_int_eq(hg_client_renew(f.anna, &earlier, &renewed, NULL), HG_ABORTED);
    ck_assert_int_eq(hg_client_release(f.anna, &earlier, NULL), HG_ABORTED);
    ck_assert_int_eq(fulfil(f.anna, &leased, "v", 0), HG_OK);
    teardown(&f);
}
END_TEST

START_TEST(who_may_only_read_may_not_lead)
{
    struct fixture f;
    struct hg_read read = leading("own", "k");
    struct hg_client *reader;
    struct hg_leased leased;
    struct hg_answer answer;
    struct hg_renewed renewed;
    struct hg_error error;

    setup(&f);
    reader = connect_to(f.d.tcp_url);
    ck_assert_int_eq(hg_client_get_or_load(reader, &read, &answer, &error), HG_PERMISSION_DENIED);
    ck_assert_ptr_nonnull(strstr(error.text, "owner socket"));
    leased = lead(f.anna, "own", "k");
    ck_assert_int_eq(fulfil(reader, &leased, "v", 0), HG_PERMISSION_DENIED);
    ck_assert_int_eq(hg_client_renew(reader, &leased, &renewed, NULL), HG_PERMISSION_DENIED);
    ck_assert_int_eq(hg_client_release(reader, &leased, NULL), HG_PERMISSION_DENIED);
    hg_client_close(&reader);
    teardown(&f);
}
END_TEST

/* ---- auth values ---- */

static enum hg_status fulfil_auth(struct fixture *f, const char *key, bool allowed,
                                  struct hg_fulfilled *ret_fulfilled)
{
    struct hg_leased leased = lead(f->anna, "auth", key);
    const struct hg_auth auth = {.user_id = hg_slice_text("u"), .allowed = allowed};
    struct hg_fulfil request = {.cache = "auth", .lease = leased.lease};
    struct hg_packed packed;
    enum hg_status status;

    ck_assert_int_eq(hg_auth_encode(&auth, &packed, NULL), HG_OK);
    request.value = packed.bytes;
    status = hg_client_fulfil(f->anna, &request, ret_fulfilled, NULL);
    hg_packed_deinit(&packed);
    return status;
}

START_TEST(a_fulfilled_auth_value_is_on_disk_before_its_ok)
{
    struct fixture f;
    struct hg_fulfilled fulfilled;
    struct hg_answer answer;

    setup(&f);
    ck_assert_int_eq(fulfil_auth(&f, "good", true, &fulfilled), HG_OK);
    ck_assert_int_eq(fulfilled.outcome, HG_VALUE);
    ck_assert_int_eq(fulfil_auth(&f, "revoked", false, &fulfilled), HG_OK);
    ck_assert_int_eq(fulfilled.outcome, HG_DENIED);
    hg_client_close(&f.anna);
    daemon_kill(&f.d);
    daemon_start(&f.d);
    ck_assert_int_eq(daemon_read(&f.d, "auth", "good", HG_MODE_PEEK, &answer, NULL), HG_OK);
    ck_assert_int_eq(answer.outcome, HG_VALUE);
    hg_answer_deinit(&answer);
    ck_assert_int_eq(daemon_read(&f.d, "auth", "revoked", HG_MODE_PEEK, &answer, NULL), HG_OK);
    ck_assert_int_eq(answer.outcome, HG_DENIED);
    hg_answer_deinit(&answer);
    teardown(&f);
}
END_TEST

START_TEST(a_value_that_is_refused_leaves_the_lease_as_it_was)
{
    struct fixture f;
    struct hg_leased leased;
    struct hg_fulfil request = {.cache = "auth", .value = hg_slice_text("\xff no auth value")};
    struct hg_fulfilled fulfilled;
    struct hg_error error;

    setup(&f);
    leased = lead(f.anna, "auth", "k");
    request.lease = leased.lease;
    ck_assert_int_eq(hg_client_fulfil(f.anna, &request, &fulfilled, &error), HG_INVALID_ARGUMENT);
    ck_assert_int_eq(hg_client_release(f.anna, &leased, NULL), HG_OK);
    teardown(&f);
}
END_TEST

START_TEST(a_value_not_to_be_kept_answers_who_waits_and_takes_the_cached_one_along)
{
    struct fixture f;
    struct hg_read read = leading("own", "k");
    struct hg_fulfil request = {.cache = "own", .value = hg_slice_text("once"), .no_store = true};
    struct hg_fulfilled fulfilled;
    struct hg_answer answer;
    struct crowd_answer *waiting;

    setup(&f);
    ck_assert_int_eq(daemon_put(&f.d, "own", "k", "cached"), HG_OK);
    read.has_max_age = true; /* nothing cached is young enough */
    do {
        ck_assert_int_eq(hg_client_get_or_load(f.anna, &read, &answer, NULL), HG_OK);
        request.lease = answer.lease;
        hg_answer_deinit(&answer);
    } while (!request.lease.id); /* in the millisecond of the put it is */
    read.lead = false;
    waiting = crowd_read(&f.crowd, f.d.client, &read);
    daemon_wait_metric(&f.d, "own", "waiting", 1);
    ck_assert_int_eq(hg_client_fulfil(f.anna, &request, &fulfilled, NULL), HG_OK);
    ck_assert_uint_eq(fulfilled.ttl_left_ms, 0);
    crowd_wait_for(&f.crowd, waiting);
    check(waiting, HG_SOURCE_JOINED, "once");
    ck_assert_int_eq(daemon_read(&f.d, "own", "k", HG_MODE_PEEK, &answer, NULL), HG_OK);
    ck_assert_int_eq(answer.outcome, HG_NOT_CACHED);
    hg_answer_deinit(&answer);
    teardown(&f);
}
END_TEST

HGI_SUITE("e2e.leases", 60, one_leads_and_its_value_answers_those_of_other_connections,
          an_absence_and_an_error_are_handed_to_those_who_wait,
          lease_keeps_the_slot_for_late_callers, followers_get_the_value_at_publish_not_at_release,
          lease_released_by_panic_unwind, failed_leader_hands_over_to_one_new_leader,
          behind_a_stale_value_one_caller_gets_a_lease_and_all_the_value,
          a_lease_that_runs_out_is_handed_on_and_its_fulfilment_comes_too_late,
          a_lease_renewed_outlives_its_first_time,
          a_lease_released_is_handed_on_or_the_loader_loads,
          a_clear_overtakes_a_lease_and_who_waits_looks_again,
          a_fulfilled_value_is_invalidated_by_its_tag,
          a_lease_is_its_connections_and_its_servers_alone, who_may_only_read_may_not_lead,
          a_fulfilled_auth_value_is_on_disk_before_its_ok,
          a_value_not_to_be_kept_answers_who_waits_and_takes_the_cached_one_along,
          a_value_that_is_refused_leaves_the_lease_as_it_was)
