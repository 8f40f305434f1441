/* SPDX-License-Identifier: Apache-2.0 */
/* Reads whose load is a callback of the caller's, against a real server. */
#include <stdatomic.h>
#include <stdio.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/thread.h"
#include "crowd.h"
#include "daemon.h"
#include "herdgate/lease.h"

static const char caches[] =
    "cache \"own\" { key = \"bytes\" value = \"bytes\" ttl = \"1h\" load_timeout = \"1m\" }\n"
    "cache \"second\" { key = \"bytes\" value = \"bytes\" ttl = \"1h\" load_timeout = \"1s\" "
    "wait_budget = \"20s\" }\n"
    "cache \"stale\" { key = \"bytes\" value = \"bytes\" ttl = \"1ms\" stale_ttl = \"1h\" "
    "load_timeout = \"1m\" }\n"
    "cache \"auth\" { key = \"bytes\" value = \"auth\" ttl = \"1h\" load_timeout = \"1m\" }\n";

/* What the callback does; what it saw. */
struct source {
    struct fixture *f;
    struct hg_loaded loaded;
    const char *clears; /* a cache to be cleared while the load runs */
    bool is_silent;     /* gives nothing */
    int64_t takes_ms;   /* how long it waits for nobody to be answered */
    struct hgi_lock lock;
    struct hgi_cond changed;
    bool is_held; /* until let_run; guarded */
    unsigned begun_count;
    unsigned ended_count;
    struct hg_lead last;
};

struct fixture {
    struct daemon d;
    struct crowd crowd;
    struct source source;
};

static void clear_cache(struct fixture *f, const char *cache)
{
    struct hg_clear clear = {.cache = cache};
    struct hg_reports reports;
    struct hg_error error;

    ck_assert_msg(hg_client_clear(f->d.client, &clear, &reports, &error) == HG_OK, "%s",
                  error.text);
    hg_reports_deinit(&reports);
}

static void load(void *arg, const struct hg_lead *lead)
{
    struct source *source = arg;
    int64_t until_ms = hgi_clock_now().boot_ms + source->takes_ms;

    hgi_lock_host(&source->lock);
    source->begun_count++;
    source->last = *lead;
    hgi_cond_wake_all(&source->changed);
    while (source->is_held || hgi_clock_now().boot_ms < until_ms) {
        hgi_cond_wait(&source->changed, &source->lock, 20);
    }
    hgi_unlock_host(&source->lock);
    if (source->clears) {
        clear_cache(source->f, source->clears);
    }
    if (!source->is_silent) {
        ck_assert_int_eq(hg_lead_give(lead, &source->loaded), HG_OK);
    }
    hgi_lock_host(&source->lock);
    source->ended_count++;
    hgi_cond_wake_all(&source->changed);
    hgi_unlock_host(&source->lock);
}

static void await_begun(struct source *source, unsigned count)
{
    int64_t until_ms = hgi_clock_now().boot_ms + 20000;

    hgi_lock_host(&source->lock);
    while (source->begun_count < count) {
        ck_assert(hgi_clock_now().boot_ms < until_ms);
        hgi_cond_wait(&source->changed, &source->lock, 1000);
    }
    hgi_unlock_host(&source->lock);
}

static void let_run(struct source *source)
{
    hgi_lock_host(&source->lock);
    source->is_held = false;
    hgi_cond_wake_all(&source->changed);
    hgi_unlock_host(&source->lock);
}

static void setup(struct fixture *f)
{
    *f = (struct fixture){.source = {.f = f, .loaded = {.value = hg_slice_text("loaded")}}};
    hgi_lock_init(&f->source.lock);
    hgi_cond_init(&f->source.changed);
    daemon_prepare(&f->d, caches);
    daemon_start(&f->d);
    crowd_init(&f->crowd);
}

static void teardown(struct fixture *f)
{
    crowd_wait(&f->crowd);
    daemon_stop(&f->d);
    daemon_remove(&f->d);
    crowd_deinit(&f->crowd);
    hgi_cond_deinit(&f->source.changed);
    hgi_lock_deinit(&f->source.lock);
}

static struct hg_load_through through(struct fixture *f, const char *cache)
{
    return (struct hg_load_through){.read = {.cache = cache,
                                             .key = daemon_key("k"),
                                             .mode = HG_MODE_FRESH,
                                             .timeout_ms = 15000},
                                    .load = load,
                                    .arg = &f->source};
}

static void check_peek(struct fixture *f, const char *cache, const char *value)
{
    struct hg_answer answer;

    ck_assert_int_eq(daemon_read(&f->d, cache, "k", HG_MODE_PEEK, &answer, NULL), HG_OK);
    if (value) {
        ck_assert_int_eq(answer.outcome, HG_VALUE);
        ck_assert_slice_eq(answer.value, value);
    } else {
        ck_assert_int_eq(answer.outcome, HG_NOT_CACHED);
    }
    hg_answer_deinit(&answer);
}

START_TEST(who_leads_loads_and_its_value_is_cached)
{
    struct fixture f;
    struct hg_load_through request;
    struct hg_answer answer;
    struct hg_error error;

    setup(&f);
    request = through(&f, "own");
    ck_assert_msg(hg_client_load_through(f.d.client, &request, &answer, &error) == HG_OK, "%s",
                  error.text);
    ck_assert_int_eq(answer.outcome, HG_VALUE);
    ck_assert_int_eq(answer.source, HG_SOURCE_LOADED);
    ck_assert_slice_eq(answer.value, "loaded");
    ck_assert_int_eq(answer.value_type, HG_TYPE_BYTES);
    ck_assert_uint_gt(answer.generation, 0);
    ck_assert_uint_gt(answer.ttl_left_ms, 0);
    ck_assert_uint_eq(answer.lease.id, 0);
    ck_assert(!answer.is_fenced);
    hg_answer_deinit(&answer);
    ck_assert_int_eq(hg_client_load_through(f.d.client, &request, &answer, &error), HG_OK);
    ck_assert_int_eq(answer.source, HG_SOURCE_FRESH);
    hg_answer_deinit(&answer);
    ck_assert_uint_eq(f.source.begun_count, 1);
    ck_assert(!f.source.last.is_behind);
    ck_assert_uint_gt(f.source.last.left_ms, 10000);
    teardown(&f);
}
END_TEST

/* A caller on a thread of its own. */
struct caller {
    struct fixture *f;
    const char *cache;
    struct hgi_thread thread;
    enum hg_status status;
    enum hg_source source;
    char value[64];
};

static void call(void *arg)
{
    struct caller *caller = arg;
    struct hg_load_through request = through(caller->f, caller->cache);
    struct hg_answer answer;
    struct hg_error error;

    caller->status = hg_client_load_through(caller->f->d.client, &request, &answer, &error);
    caller->source = error.source;
    if (caller->status == HG_OK) {
        caller->source = answer.source;
        snprintf(caller->value, sizeof(caller->value), "%.*s", (int)answer.value.len,
                 (const char *)answer.value.data);
        hg_answer_deinit(&answer);
    }
}

START_TEST(of_eight_callers_one_loads_and_the_others_join)
{
    struct fixture f;
    struct caller callers[8];
    size_t loaded = 0;

    setup(&f);
    f.source.is_held = true;
    for (size_t i = 0; i < 8; i++) {
        callers[i] = (struct caller){.f = &f, .cache = "own"};
        ck_assert(hgi_thread_start(&callers[i].thread, "caller", call, &callers[i]));
    }
    await_begun(&f.source, 1);
    daemon_wait_metric(&f.d, "own", "waiting", 7);
    let_run(&f.source);
    for (size_t i = 0; i < 8; i++) {
        hgi_thread_join(&callers[i].thread);
        ck_assert_int_eq(callers[i].status, HG_OK);
        ck_assert_str_eq(callers[i].value, "loaded");
        loaded += callers[i].source == HG_SOURCE_LOADED;
    }
    ck_assert_uint_eq(loaded, 1);
    ck_assert_uint_eq(f.source.begun_count, 1);
    teardown(&f);
}
END_TEST

START_TEST(an_error_is_this_calls_and_the_others)
{
    struct fixture f;
    struct hg_load_through request;
    struct caller leader = {.f = &f, .cache = "own"};
    struct crowd_answer *follower;
    struct hg_answer answer;
    struct hg_error error;

    setup(&f);
    f.source.loaded =
        (struct hg_loaded){.status = HG_UNAVAILABLE, .message = hg_slice_text("no backend")};
    f.source.is_held = true;
    ck_assert(hgi_thread_start(&leader.thread, "caller", call, &leader));
    await_begun(&f.source, 1);
    follower =
        crowd_read(&f.crowd, f.d.client, &(struct hg_read){.cache = "own", .key = daemon_key("k")});
    daemon_wait_metric(&f.d, "own", "waiting", 1);
    let_run(&f.source);
    hgi_thread_join(&leader.thread);
    ck_assert_int_eq(leader.status, HG_UNAVAILABLE);
    ck_assert_int_eq(leader.source, HG_SOURCE_LOADED);
    crowd_wait_for(&f.crowd, follower);
    ck_assert_int_eq(follower->status, HG_UNAVAILABLE);
    ck_assert_str_eq(follower->text, "no backend");
    request = through(&f, "own");
    ck_assert_int_eq(hg_client_load_through(f.d.client, &request, &answer, &error), HG_UNAVAILABLE);
    ck_assert_str_eq(error.text, "no backend");
    f.source.is_silent = true;
    ck_assert_int_eq(hg_client_load_through(f.d.client, &request, &answer, &error), HG_CANCELLED);
    daemon_wait_metric(&f.d, "own", "lease", 3);
    f.source.is_silent = false; /* and nobody holds the key */
    f.source.loaded = (struct hg_loaded){.outcome = HG_ABSENT};
    ck_assert_int_eq(hg_client_load_through(f.d.client, &request, &answer, &error), HG_OK);
    ck_assert_int_eq(answer.outcome, HG_ABSENT);
    hg_answer_deinit(&answer);
    teardown(&f);
}
END_TEST

START_TEST(a_lease_is_renewed_while_its_load_runs)
{
    struct fixture f;
    struct hg_load_through request;
    struct hg_answer answer;
    struct hg_error error;

    setup(&f);
    f.source.takes_ms = 2500; /* its lease is given for a second */
    request = through(&f, "second");
    ck_assert_msg(hg_client_load_through(f.d.client, &request, &answer, &error) == HG_OK, "%s",
                  error.text);
    ck_assert(!answer.is_fenced);
    ck_assert_uint_eq(f.source.begun_count, 1);
    hg_answer_deinit(&answer);
    check_peek(&f, "second", "loaded");
    teardown(&f);
}
END_TEST

START_TEST(a_load_is_renewed_no_longer_than_its_caller_waits)
{
    struct fixture f;
    struct hg_load_through request;
    struct caller leader = {.f = &f, .cache = "second"};
    struct crowd_answer *next;

    setup(&f);
    f.source.is_held = true;
    request = through(&f, "second");
    ck_assert(hgi_thread_start(&leader.thread, "caller", call, &leader));
    await_begun(&f.source, 1);
    /* The leader's 15 s are not over: who wants to lead waits on. */
    request.read.lead = true;
    request.read.timeout_ms = 2500;
    next = crowd_read(&f.crowd, f.d.client, &request.read);
    crowd_wait_for(&f.crowd, next);
    ck_assert_int_eq(next->status, HG_DEADLINE_EXCEEDED);
    let_run(&f.source);
    hgi_thread_join(&leader.thread);
    ck_assert_int_eq(leader.status, HG_OK);
    /* Of one who waits a second the lease is handed on while it still loads. */
    clear_cache(&f, "second");
    f.source.takes_ms = 4000;
    request.read.lead = false;
    request.read.timeout_ms = 1000;
    request.deliver_fenced = true;
    {
        struct hg_answer answer;
        struct hg_error error;

        ck_assert_msg(hg_client_load_through(f.d.client, &request, &answer, &error) == HG_OK, "%s",
                      error.text);
        ck_assert(answer.is_fenced);
        hg_answer_deinit(&answer);
    }
    check_peek(&f, "second", NULL);
    teardown(&f);
}
END_TEST

START_TEST(behind_an_old_value_the_callback_loads_in_the_background)
{
    struct fixture f;
    struct hg_load_through request;
    struct hg_answer answer;
    struct hg_error error;
    bool is_new = false;

    setup(&f);
    ck_assert_int_eq(daemon_put(&f.d, "stale", "k", "old"), HG_OK);
    f.source.is_held = true;
    request = through(&f, "stale");
    request.read.mode = HG_MODE_REVALIDATE;
    do { /* fresh until its millisecond is over */
        ck_assert_msg(hg_client_load_through(f.d.client, &request, &answer, &error) == HG_OK, "%s",
                      error.text);
        ck_assert_slice_eq(answer.value, "old");
        ck_assert_uint_eq(answer.lease.id, 0);
        is_new = answer.source == HG_SOURCE_STALE;
        hg_answer_deinit(&answer);
    } while (!is_new);
    await_begun(&f.source, 1);
    ck_assert(f.source.last.is_behind);
    ck_assert_int_eq(hg_client_load_through(f.d.client, &request, &answer, &error), HG_OK);
    ck_assert_slice_eq(answer.value, "old");
    hg_answer_deinit(&answer);
    ck_assert_uint_eq(f.source.begun_count, 1); /* by one */
    let_run(&f.source);
    request.read.mode = HG_MODE_ALLOW_STALE;
    for (is_new = false; !is_new;) {
        ck_assert_int_eq(hg_client_get_or_load(f.d.client, &request.read, &answer, &error), HG_OK);
        is_new = answer.value.len == strlen("loaded");
        ck_assert_slice_eq(answer.value, is_new ? "loaded" : "old");
        hg_answer_deinit(&answer);
    }
    teardown(&f);
}
END_TEST

START_TEST(closing_waits_for_a_load_in_the_background)
{
    struct fixture f;
    struct hg_client *client;
    struct hg_load_through request;
    struct hg_answer answer;
    struct hg_error error;
    enum hg_source source = HG_SOURCE_NONE;

    setup(&f);
    ck_assert_int_eq(hg_client_open(f.d.ipc_url, NULL, &client, &error), HG_OK);
    ck_assert_int_eq(daemon_put(&f.d, "stale", "k", "old"), HG_OK);
    f.source.takes_ms = 300;
    request = through(&f, "stale");
    request.read.mode = HG_MODE_REVALIDATE;
    while (source != HG_SOURCE_STALE) {
        ck_assert_int_eq(hg_client_load_through(client, &request, &answer, &error), HG_OK);
        source = answer.source;
        hg_answer_deinit(&answer);
    }
    await_begun(&f.source, 1);
    hg_client_close(&client);
    ck_assert_uint_eq(f.source.ended_count, 1);
    teardown(&f);
}
END_TEST

START_TEST(an_overtaken_load_is_delivered_or_made_again)
{
    struct fixture f;
    struct hg_load_through request;
    struct hg_answer answer;
    struct hg_error error;

    setup(&f);
    f.source.clears = "own"; /* during each load */
    request = through(&f, "own");
    request.deliver_fenced = true;
    ck_assert_int_eq(hg_client_load_through(f.d.client, &request, &answer, &error), HG_OK);
    ck_assert_slice_eq(answer.value, "loaded");
    ck_assert(answer.is_fenced);
    ck_assert_int_eq(answer.source, HG_SOURCE_LOADED);
    ck_assert_uint_eq(answer.ttl_left_ms, 0);
    hg_answer_deinit(&answer);
    check_peek(&f, "own", NULL);
    ck_assert_uint_eq(f.source.begun_count, 1);
    request.deliver_fenced = false;
    ck_assert_int_eq(hg_client_load_through(f.d.client, &request, &answer, &error), HG_ABORTED);
    ck_assert_uint_eq(f.source.begun_count, 4);
    check_peek(&f, "own", NULL);
    teardown(&f);
}
END_TEST

START_TEST(a_credential_that_is_not_allowed_is_denied_even_when_overtaken)
{
    struct fixture f;
    struct hg_load_through request;
    const struct hg_auth auth = {.user_id = hg_slice_text("u"), .allowed = false};
    struct hg_packed packed;
    struct hg_answer answer;
    struct hg_error error;

    setup(&f);
    ck_assert_int_eq(hg_auth_encode(&auth, &packed, NULL), HG_OK);
    f.source.loaded.value = packed.bytes;
    request = through(&f, "auth");
    ck_assert_int_eq(hg_client_load_through(f.d.client, &request, &answer, &error), HG_OK);
    ck_assert_int_eq(answer.outcome, HG_DENIED);
    ck_assert_int_eq(answer.value_type, HG_TYPE_AUTH);
    ck_assert(hgi_slice_equal(answer.value, packed.bytes));
    hg_answer_deinit(&answer);
    clear_cache(&f, "auth");
    f.source.clears = "auth";
    request.deliver_fenced = true;
    ck_assert_int_eq(hg_client_load_through(f.d.client, &request, &answer, &error), HG_OK);
    ck_assert(answer.is_fenced);
    ck_assert_int_eq(answer.outcome, HG_DENIED);
    ck_assert(hgi_slice_equal(answer.value, packed.bytes));
    hg_answer_deinit(&answer);
    f.source.clears = NULL;
    f.source.loaded.value = hg_slice_text("\xff no auth value");
    ck_assert_int_eq(hg_client_load_through(f.d.client, &request, &answer, &error),
                     HG_INVALID_ARGUMENT);
    ck_assert_uint_eq(daemon_metric(&f.d, "auth", "in_flight"), 0);
    hg_packed_deinit(&packed);
    teardown(&f);
}
END_TEST

START_TEST(a_credential_past_its_end_is_denied_even_when_overtaken)
{
    struct fixture f;
    struct hg_load_through request;
    const struct hg_auth auth = {.user_id = hg_slice_text("u"), .allowed = true};
    struct hg_packed packed;
    struct hg_answer answer;
    struct hg_error error;

    setup(&f);
    ck_assert_int_eq(hg_auth_encode(&auth, &packed, NULL), HG_OK);
    f.source.loaded = (struct hg_loaded){.value = packed.bytes, .expires_at_ms = 1};
    request = through(&f, "auth");
    request.deliver_fenced = true;
    for (int round = 0; round < 2; round++) {
        ck_assert_int_eq(hg_client_load_through(f.d.client, &request, &answer, &error), HG_OK);
        ck_assert_int_eq(answer.outcome, HG_DENIED);
        ck_assert(answer.is_fenced == (round == 1));
        ck_assert_uint_eq(answer.value.len, 0); /* it says "allowed" */
        hg_answer_deinit(&answer);
        clear_cache(&f, "auth");
        f.source.clears = "auth";
    }
    f.source.clears = "own"; /* bytes do not turn into a no */
    request.read.cache = "own";
    ck_assert_int_eq(hg_client_load_through(f.d.client, &request, &answer, &error),
                     HG_FAILED_PRECONDITION);
    hg_packed_deinit(&packed);
    teardown(&f);
}
END_TEST

START_TEST(who_may_not_put_may_not_load_through)
{
    struct fixture f;
    struct hg_load_through request;
    struct hg_client *reader;
    struct hg_answer answer;
    struct hg_error error;

    setup(&f);
    ck_assert_int_eq(hg_client_open(f.d.tcp_url, NULL, &reader, &error), HG_OK);
    request = through(&f, "own");
    ck_assert_int_eq(hg_client_load_through(reader, &request, &answer, &error),
                     HG_PERMISSION_DENIED);
    request.load = NULL;
    ck_assert_int_eq(hg_client_load_through(f.d.client, &request, &answer, &error),
                     HG_INVALID_ARGUMENT);
    ck_assert_uint_eq(f.source.begun_count, 0);
    hg_client_close(&reader);
    teardown(&f);
}
END_TEST

/* ---- one connection ---- */

#define WAITS 300 /* more than the server's in_flight_max */

static void count(void *arg, const struct hg_error *error, const struct hg_answer *answer)
{
    ck_assert_int_eq(error->status, HG_OK);
    ck_assert_slice_eq(answer->value, "come in");
    atomic_fetch_add((atomic_uint *)arg, 1);
}

START_TEST(more_than_the_server_reads_may_wait_for_a_load_of_their_own_connection)
{
    struct hg_read read = {
        .cache = "own", .key = daemon_key("k"), .lead = true, .timeout_ms = 20000};
    struct hg_fulfil fulfil = {
        .cache = "own", .value = hg_slice_text("come in"), .timeout_ms = 10000};
    atomic_uint answered_count = 0;
    struct hg_fulfilled fulfilled;
    struct hg_client *gateway;
    struct hg_answer answer;
    struct hg_error error;
    struct fixture f;

    setup(&f);
    ck_assert_int_eq(hg_client_open(f.d.ipc_url, NULL, &gateway, &error), HG_OK);
    ck_assert_int_eq(hg_client_get_or_load(gateway, &read, &answer, &error), HG_OK);
    ck_assert_int_eq(answer.source, HG_SOURCE_LEASED);
    fulfil.lease = answer.lease;
    hg_answer_deinit(&answer);
    for (int i = 0; i < WAITS; i++) {
        ck_assert_int_eq(
            hg_client_get_or_load_async(gateway, &read, count, &answered_count, &error), HG_OK);
    }
    daemon_wait_metric(&f.d, "own", "waiting", 224);
    ck_assert_msg(hg_client_fulfil(gateway, &fulfil, &fulfilled, &error) == HG_OK, "%s",
                  error.text);
    for (int64_t until_ms = hgi_clock_now().boot_ms + 15000;
         atomic_load(&answered_count) < WAITS && hgi_clock_now().boot_ms < until_ms;) {
        hgi_thread_pause(1);
    }
    ck_assert_uint_eq(atomic_load(&answered_count), WAITS);
    hg_client_close(&gateway);
    teardown(&f);
}
END_TEST

HGI_SUITE("client.lease", 60, who_leads_loads_and_its_value_is_cached,
          of_eight_callers_one_loads_and_the_others_join, an_error_is_this_calls_and_the_others,
          a_lease_is_renewed_while_its_load_runs, a_load_is_renewed_no_longer_than_its_caller_waits,
          behind_an_old_value_the_callback_loads_in_the_background,
          closing_waits_for_a_load_in_the_background, an_overtaken_load_is_delivered_or_made_again,
          a_credential_that_is_not_allowed_is_denied_even_when_overtaken,
          a_credential_past_its_end_is_denied_even_when_overtaken,
          who_may_not_put_may_not_load_through,
          more_than_the_server_reads_may_wait_for_a_load_of_their_own_connection)
