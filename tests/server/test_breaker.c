/* SPDX-License-Identifier: Apache-2.0 */
#include "hg_test.h"

#include "server/loader/breaker.h"

static struct hgi_breaker breaker;

static void start(void)
{
    memset(&breaker, 0, sizeof(breaker));
}

/* Different keys, from `first` on, all at one time; true if the last one opened it. */
static bool fail_keys(uint64_t first, size_t count, int64_t now_ms)
{
    bool is_open = false;

    for (size_t i = 0; i < count; i++) {
        ck_assert(!is_open);
        is_open = hgi_breaker_failed(&breaker, first + i, now_ms);
    }
    return is_open;
}

static bool die(size_t count, int64_t now_ms)
{
    bool is_open = false;

    for (size_t i = 0; i < count; i++) {
        ck_assert(!is_open);
        is_open = hgi_breaker_died(&breaker, now_ms);
    }
    return is_open;
}

START_TEST(faults_of_the_loader_are_told_from_what_it_says_of_the_request)
{
    ck_assert(hgi_breaker_is_fault(HG_UNAVAILABLE));
    ck_assert(hgi_breaker_is_fault(HG_DEADLINE_EXCEEDED));
    ck_assert(hgi_breaker_is_fault(HG_INTERNAL));
    ck_assert(hgi_breaker_is_fault(HG_UNKNOWN));
    ck_assert(!hgi_breaker_is_fault(HG_OK));
    ck_assert(!hgi_breaker_is_fault(HG_INVALID_ARGUMENT));
    ck_assert(!hgi_breaker_is_fault(HG_CANCELLED));
    ck_assert(!hgi_breaker_is_fault(HG_RESOURCE_EXHAUSTED));
}
END_TEST

START_TEST(ten_keys_within_ten_seconds_open_it_for_five)
{
    start();
    ck_assert(!fail_keys(0, 9, 1000));
    ck_assert_int_eq(hgi_breaker_admit(&breaker, 11000), HGI_BREAKER_PASS);
    ck_assert(fail_keys(9, 1, 11000));
    ck_assert_int_eq(hgi_breaker_admit(&breaker, 11000), HGI_BREAKER_REFUSE);
    ck_assert_uint_eq(hgi_breaker_retry_after_ms(&breaker, 11000), 5000);
    ck_assert_int_eq(hgi_breaker_admit(&breaker, 15999), HGI_BREAKER_REFUSE);
    ck_assert_uint_eq(hgi_breaker_retry_after_ms(&breaker, 15999), 1);
    ck_assert_int_eq(hgi_breaker_admit(&breaker, 16000), HGI_BREAKER_PROBE);
}
END_TEST

START_TEST(failures_older_than_ten_seconds_do_not_count)
{
    start();
    ck_assert(!fail_keys(0, 9, 1000));
    ck_assert(!fail_keys(9, 9, 11001));
    ck_assert(fail_keys(18, 1, 11001));
}
END_TEST

START_TEST(one_key_that_fails_for_ever_is_one_key)
{
    start();
    for (int64_t now_ms = 0; now_ms < 100; now_ms++) {
        ck_assert(!hgi_breaker_failed(&breaker, 7, now_ms));
    }
    /* Its time is that of its last failure. */
    ck_assert(!fail_keys(8, 8, 10050));
    ck_assert(fail_keys(16, 1, 10050));
}
END_TEST

START_TEST(a_success_starts_the_count_anew)
{
    start();
    ck_assert(!fail_keys(0, 9, 0));
    hgi_breaker_succeeded(&breaker);
    ck_assert(!fail_keys(9, 9, 0));
    ck_assert(fail_keys(18, 1, 0));
}
END_TEST

START_TEST(five_deaths_within_a_minute_open_it_for_thirty_seconds)
{
    start();
    ck_assert(!die(4, 0));
    hgi_breaker_succeeded(&breaker); /* a load that succeeds between does not raise the dead */
    ck_assert(die(1, 60000));
    ck_assert_uint_eq(hgi_breaker_retry_after_ms(&breaker, 60000), 30000);
    ck_assert_int_eq(hgi_breaker_admit(&breaker, 89999), HGI_BREAKER_REFUSE);
    ck_assert_int_eq(hgi_breaker_admit(&breaker, 90000), HGI_BREAKER_PROBE);
    hgi_breaker_probe_ended(&breaker, false, 90500);
    ck_assert_uint_eq(hgi_breaker_retry_after_ms(&breaker, 90500), 30000);
}
END_TEST

START_TEST(deaths_older_than_a_minute_do_not_count)
{
    start();
    ck_assert(!die(4, 0));
    ck_assert(!die(4, 60001));
    ck_assert(die(1, 60001));
}
END_TEST

START_TEST(one_probe_at_a_time_is_let_through)
{
    start();
    ck_assert(fail_keys(0, 10, 0));
    ck_assert_int_eq(hgi_breaker_admit(&breaker, 5000), HGI_BREAKER_PROBE);
    ck_assert_int_eq(hgi_breaker_admit(&breaker, 9000), HGI_BREAKER_REFUSE);
    ck_assert_uint_eq(hgi_breaker_retry_after_ms(&breaker, 9000), HGI_BREAKER_PROBING_RETRY_MS);
    hgi_breaker_probe_dropped(&breaker);
    ck_assert_int_eq(hgi_breaker_admit(&breaker, 9000), HGI_BREAKER_PROBE);
}
END_TEST

START_TEST(a_probe_that_succeeds_closes_it_and_forgets)
{
    start();
    ck_assert(fail_keys(0, 10, 0));
    ck_assert_int_eq(hgi_breaker_admit(&breaker, 5000), HGI_BREAKER_PROBE);
    hgi_breaker_probe_ended(&breaker, true, 5001);
    ck_assert_int_eq(hgi_breaker_admit(&breaker, 5001), HGI_BREAKER_PASS);
    ck_assert(!fail_keys(10, 9, 5001));
}
END_TEST

START_TEST(a_probe_that_fails_opens_it_again)
{
    start();
    ck_assert(fail_keys(0, 10, 0));
    ck_assert_int_eq(hgi_breaker_admit(&breaker, 5000), HGI_BREAKER_PROBE);
    hgi_breaker_probe_ended(&breaker, false, 6000);
    ck_assert_int_eq(hgi_breaker_admit(&breaker, 10999), HGI_BREAKER_REFUSE);
    ck_assert_int_eq(hgi_breaker_admit(&breaker, 11000), HGI_BREAKER_PROBE);
}
END_TEST

START_TEST(while_it_is_open_other_loads_change_nothing)
{
    start();
    ck_assert(fail_keys(0, 10, 0));
    ck_assert(!fail_keys(10, 20, 4000));
    hgi_breaker_succeeded(&breaker);
    ck_assert(!die(9, 4000));
    ck_assert_int_eq(hgi_breaker_admit(&breaker, 4999), HGI_BREAKER_REFUSE);
    ck_assert_int_eq(hgi_breaker_admit(&breaker, 5000), HGI_BREAKER_PROBE);
}
END_TEST

START_TEST(the_sentence_says_why)
{
    char sentence[HGI_BREAKER_SENTENCE_MAX];

    start();
    ck_assert(fail_keys(0, 10, 0));
    hgi_breaker_sentence(&breaker, sentence);
    ck_assert_str_eq(sentence, "breaker open: 10 keys failed within 10 s and none succeeded; one "
                               "load tries every 5 s");
    start();
    ck_assert(die(5, 0));
    hgi_breaker_sentence(&breaker, sentence);
    ck_assert_str_eq(sentence,
                     "breaker open: 5 processes died within 60 s; one load tries every 30 s");
}
END_TEST

HGI_SUITE("server.breaker", 20, faults_of_the_loader_are_told_from_what_it_says_of_the_request,
          ten_keys_within_ten_seconds_open_it_for_five,
          failures_older_than_ten_seconds_do_not_count, one_key_that_fails_for_ever_is_one_key,
          a_success_starts_the_count_anew, five_deaths_within_a_minute_open_it_for_thirty_seconds,
          deaths_older_than_a_minute_do_not_count, one_probe_at_a_time_is_let_through,
          a_probe_that_succeeds_closes_it_and_forgets, a_probe_that_fails_opens_it_again,
          while_it_is_open_other_loads_change_nothing, the_sentence_says_why)
