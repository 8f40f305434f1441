/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon.h"
#include "fake_redis.h"
#include "load.h"
#include "record.h"

enum { RECORDS = 100, REQUESTS = 200 };

static struct load_result result;
static char sentence[200];

static struct load_plan plan_for(const struct wire_kind *kind, const char *address, bool is_ipc)
{
    struct load_plan plan = {.address = address,
                             .kind = kind,
                             .wire = {.op = WIRE_GET,
                                      .batch = 1,
                                      .key_len = RECORD_KEY_LEN,
                                      .value_len = RECORD_VALUE_LEN,
                                      .ttl_s = 600,
                                      .cache = "bench",
                                      .is_ipc = is_ipc},
                             .connections = 4,
                             .in_flight = 8,
                             .numbers = RECORDS,
                             .count = REQUESTS,
                             .seed = 5};

    return plan;
}

static void assert_good(const struct load_plan *plan)
{
    ck_assert_msg(load_run(plan, &result, sentence, sizeof(sentence)), "%s", sentence);
    ck_assert_uint_eq(result.asked, plan->count * plan->wire.batch);
    ck_assert_uint_eq(result.counted, result.asked);
    ck_assert_uint_eq(result.latency.count, plan->count);
    ck_assert_uint_eq(result.wrong, 0);
    ck_assert_uint_eq(result.missing, 0);
}

static void put_all(const char *address)
{
    struct load_plan plan = plan_for(&wire_sp, address, true);

    plan.wire.op = WIRE_PUT;
    plan.is_in_order = true;
    plan.count = RECORDS;
    assert_good(&plan);
}

START_TEST(two_hundred_requests_of_each_kind_are_all_answered_rightly_by_our_server)
{
    static const enum wire_op ops[] = {WIRE_GET, WIRE_GET_OR_LOAD};
    struct daemon d;

    daemon_prepare(&d, "cache \"bench\" { key = \"bytes\" value = \"bytes\" ttl = \"1h\" }\n");
    daemon_start(&d);
    put_all(d.ipc_url);
    for (size_t i = 0; i < 4; i++) {
        bool is_ipc = i % 2 == 0;
        struct load_plan plan = plan_for(&wire_sp, is_ipc ? d.ipc_url : d.tcp_url, is_ipc);

        plan.wire.op = ops[i / 2];
        plan.pid = d.pid;
        assert_good(&plan);
        plan.wire.batch = 16;
        assert_good(&plan);
    }
    daemon_stop(&d);
    daemon_remove(&d);
}
END_TEST

START_TEST(keys_that_were_never_put_are_missing)
{
    struct load_plan plan;
    struct daemon d;

    daemon_prepare(&d, "cache \"bench\" { key = \"bytes\" value = \"bytes\" ttl = \"1h\" }\n");
    daemon_start(&d);
    plan = plan_for(&wire_sp, d.ipc_url, true);
    plan.wire.batch = 4;
    ck_assert_msg(load_run(&plan, &result, sentence, sizeof(sentence)), "%s", sentence);
    ck_assert_uint_eq(result.missing, 4 * REQUESTS);
    plan.wire.cache = "other"; /* an error is as many misses */
    ck_assert_msg(load_run(&plan, &result, sentence, sizeof(sentence)), "%s", sentence);
    ck_assert_uint_eq(result.missing, 4 * REQUESTS);
    ck_assert_uint_eq(result.wrong, 0);
    daemon_stop(&d);
    daemon_remove(&d);
}
END_TEST

static void run_fake(enum fake_manner manner, uint32_t batch, bool *ret_ran)
{
    struct fake_redis *fake = fake_redis_start(manner);
    struct load_plan plan = plan_for(&wire_resp, fake->address, true);

    plan.wire.batch = batch;
    *ret_ran = load_run(&plan, &result, sentence, sizeof(sentence));
    fake_redis_stop(fake);
}

START_TEST(redis_protocol_is_answered_rightly_also_byte_by_byte)
{
    static const enum fake_manner manners[] = {FAKE_GOOD, FAKE_DRIBBLING};
    bool ran;

    for (size_t i = 0; i < 4; i++) {
        run_fake(manners[i / 2], i % 2 ? 16 : 1, &ran);
        ck_assert_msg(ran, "%s", sentence);
        ck_assert_uint_eq(result.asked, REQUESTS * (i % 2 ? 16 : 1));
        ck_assert_uint_eq(result.counted, result.asked);
        ck_assert_uint_eq(result.wrong, 0);
        ck_assert_uint_eq(result.missing, 0);
    }
}
END_TEST

START_TEST(what_a_lying_or_forgetful_server_does_is_counted)
{
    bool ran;

    run_fake(FAKE_LYING, 1, &ran);
    ck_assert(ran);
    ck_assert_uint_eq(result.wrong, REQUESTS / 10);
    ck_assert_uint_eq(result.missing, 0);
    run_fake(FAKE_FORGETFUL, 1, &ran);
    ck_assert(ran);
    ck_assert_uint_eq(result.wrong, 0);
    ck_assert_uint_eq(result.missing, REQUESTS / 10);
}
END_TEST

START_TEST(a_connection_that_ends_is_an_error_and_no_figure)
{
    bool ran;

    run_fake(FAKE_LEAVING, 1, &ran);
    ck_assert(!ran);
    ck_assert_ptr_nonnull(strstr(sentence, "closed a connection"));
    {
        struct load_plan plan = plan_for(&wire_resp, "unix:///nowhere/at/all", true);

        ck_assert(!load_run(&plan, &result, sentence, sizeof(sentence)));
        ck_assert_str_eq(sentence, "unix:///nowhere/at/all: No such file or directory");
        plan.address = "http://x";
        ck_assert(!load_run(&plan, &result, sentence, sizeof(sentence)));
        ck_assert_str_eq(sentence, "\"http://x\" is no address");
    }
}
END_TEST

HGI_SUITE("bench.load", 30,
          two_hundred_requests_of_each_kind_are_all_answered_rightly_by_our_server,
          keys_that_were_never_put_are_missing,
          redis_protocol_is_answered_rightly_also_byte_by_byte,
          what_a_lying_or_forgetful_server_does_is_counted,
          a_connection_that_ends_is_an_error_and_no_figure)
