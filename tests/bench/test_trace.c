/* SPDX-License-Identifier: Apache-2.0 */
#include "hg_test.h"
#include "trace.h"

enum { KEYS = 1000, REQUESTS = 100000 };

static const struct trace_profile profile = {.name = "test",
                                             .alpha = 1.0,
                                             .writes = 0.25,
                                             .once = 0.10,
                                             .ttls = {{60, .5}, {3600, .3}, {86400, .1}}};

static struct trace trace;

START_TEST(shares_of_writes_and_of_keys_that_come_once_are_kept)
{
    static bool is_seen[KEYS + REQUESTS];
    struct trace_request request;
    int writes = 0;
    int once = 0;

    ck_assert(trace_init(&trace, &profile, KEYS));
    for (int i = 0; i < REQUESTS; i++) {
        trace_next(&trace, &request);
        writes += request.is_write;
        if (request.number >= KEYS) {
            ck_assert(!is_seen[request.number]);
            is_seen[request.number] = true;
            once++;
        }
    }
    ck_assert_int_ge(writes, REQUESTS / 100 * 24);
    ck_assert_int_le(writes, REQUESTS / 100 * 26);
    ck_assert_int_ge(once, REQUESTS / 100 * 9);
    ck_assert_int_le(once, REQUESTS / 100 * 11);
    trace_deinit(&trace);
}
END_TEST

START_TEST(a_key_has_one_ttl_and_the_last_fills_what_shares_leave)
{
    static int64_t ttls[KEYS];
    struct trace_request request;
    int counts[3] = {0};
    int keys = 0;

    ck_assert(trace_init(&trace, &profile, KEYS));
    for (int i = 0; i < REQUESTS; i++) {
        trace_next(&trace, &request);
        if (request.number >= KEYS) {
            continue;
        }
        if (!ttls[request.number]) {
            ttls[request.number] = request.ttl_ms;
            keys++;
            counts[request.ttl_ms == 60000 ? 0 : request.ttl_ms == 3600000 ? 1 : 2]++;
        }
        ck_assert_int_eq(ttls[request.number], request.ttl_ms);
    }
    ck_assert_int_ge(keys, KEYS - 10);
    ck_assert_int_ge(counts[0], 440);
    ck_assert_int_le(counts[0], 560);
    ck_assert_int_ge(counts[1], 250);
    ck_assert_int_le(counts[1], 350);
    ck_assert_int_ge(counts[2], 150); /* .1, and the .1 that was left */
    trace_deinit(&trace);
}
END_TEST

START_TEST(rewound_it_is_the_same_again)
{
    struct trace_request first[50];
    struct trace_request again;

    ck_assert(trace_init(&trace, &profile, KEYS));
    for (int i = 0; i < 50; i++) {
        trace_next(&trace, &first[i]);
    }
    trace_rewind(&trace);
    for (int i = 0; i < 50; i++) {
        trace_next(&trace, &again);
        ck_assert_uint_eq(again.number, first[i].number);
        ck_assert_int_eq(again.is_write, first[i].is_write);
        ck_assert_int_eq(again.at_ms, first[i].at_ms);
    }
    trace_deinit(&trace);
}
END_TEST

START_TEST(every_profile_can_be_drawn)
{
    for (size_t i = 0; i < trace_profile_count; i++) {
        struct trace_request request;

        ck_assert(trace_init(&trace, &trace_profiles[i], KEYS));
        for (int n = 0; n < 1000; n++) {
            trace_next(&trace, &request);
            ck_assert_int_gt(request.ttl_ms, 0);
        }
        trace_deinit(&trace);
    }
}
END_TEST

HGI_SUITE("bench.trace", 20, shares_of_writes_and_of_keys_that_come_once_are_kept,
          a_key_has_one_ttl_and_the_last_fills_what_shares_leave, rewound_it_is_the_same_again,
          every_profile_can_be_drawn)
