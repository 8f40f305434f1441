/* SPDX-License-Identifier: Apache-2.0 */
/* How long an answer may live. */
#include "base/check.h"
#include "engine.h"
#include "server/cache/policy.h"

static const struct hgi_now now = {5000, 1700000000000};

static struct hgi_policy policy_of(int64_t ttl_ms, int64_t stale_ttl_ms)
{
    struct hgi_policy policy = engine_policy();

    policy.ttl_ms = ttl_ms;
    policy.stale_ttl_ms = stale_ttl_ms;
    policy.negative_ttl_ms = 50;
    return policy;
}

START_TEST(given_lifetimes_only_shorten_and_ttl_never_exceeds_stale_ttl)
{
    static const struct {
        int64_t ttl_ms, stale_ttl_ms;             /* the cache's */
        int64_t given_ttl_ms, given_stale_ttl_ms; /* 0: none */
        int64_t want_ttl_ms, want_stale_ttl_ms;
    } rows[] = {
        {100, 300, 0, 0, 100, 300},   {100, 300, 40, 0, 40, 300}, {100, 300, 101, 301, 100, 300},
        {100, 300, 0, 200, 100, 200}, {100, 300, 0, 60, 60, 60},  {100, 300, 40, 30, 30, 30},
        {100, 300, -5, -5, 100, 300}, {100, 100, 0, 0, 100, 100}, {100, 100, 40, 0, 40, 40},
        {100, 100, 40, 90, 40, 40},   {100, 100, 0, 70, 70, 70},  {100, 100, 200, 200, 100, 100},
    };

    for (size_t i = 0; i < HGI_COUNT_OF(rows); i++) {
        struct hgi_policy policy = policy_of(rows[i].ttl_ms, rows[i].stale_ttl_ms);
        struct hgi_lifetime lifetime = {.ttl_ms = rows[i].given_ttl_ms,
                                        .stale_ttl_ms = rows[i].given_stale_ttl_ms};
        struct hgi_entry entry = {.key = hg_slice_text("k"), .born = 9};

        ck_assert(hgi_policy_entry(&policy, HG_VALUE, hg_slice_text("v"), &lifetime, &now, &entry));
        ck_assert_msg(
            entry.ttl_ms == rows[i].want_ttl_ms && entry.stale_ttl_ms == rows[i].want_stale_ttl_ms,
            "row %zu: %lld %lld", i, (long long)entry.ttl_ms, (long long)entry.stale_ttl_ms);
        ck_assert_int_eq(entry.published_ms, now.boot_ms);
        ck_assert_int_eq(entry.expires_wall_ms, 0);
        ck_assert_int_eq(entry.expires_boot_ms, 0);
        ck_assert_slice_eq(entry.value, "v");
        ck_assert_slice_eq(entry.key, "k"); /* the caller's */
        ck_assert_uint_eq(entry.born, 9);
    }
}
END_TEST

START_TEST(negatives_live_negative_ttl_and_are_never_stale)
{
    static const int64_t given_ms[] = {0, 20, 80};
    static const int64_t want_ms[] = {50, 20, 50};

    for (size_t i = 0; i < HGI_COUNT_OF(given_ms); i++) {
        struct hgi_policy policy = policy_of(100, 300);
        struct hgi_lifetime lifetime = {.ttl_ms = given_ms[i], .stale_ttl_ms = 1000};
        struct hgi_entry entry = {.born = 0};

        ck_assert(hgi_policy_entry(&policy, i % 2 ? HG_ABSENT : HG_DENIED, hg_slice_text(""),
                                   &lifetime, &now, &entry));
        ck_assert_int_eq(entry.ttl_ms, want_ms[i]);
        ck_assert_int_eq(entry.stale_ttl_ms, want_ms[i]);
    }
}
END_TEST

START_TEST(expires_at_is_kept_on_both_clocks_and_far_ones_are_cut)
{
    struct hgi_policy policy = policy_of(100, 300);
    struct hgi_lifetime lifetime = {.expires_at_ms = now.wall_ms + 70};
    struct hgi_entry entry = {.born = 0};

    ck_assert(hgi_policy_entry(&policy, HG_VALUE, hg_slice_text("v"), &lifetime, &now, &entry));
    ck_assert_int_eq(entry.expires_wall_ms, now.wall_ms + 70);
    ck_assert_int_eq(entry.expires_boot_ms, now.boot_ms + 70);
    ck_assert_int_eq(entry.ttl_ms, 100); /* a read looks at both */
    lifetime.expires_at_ms = INT64_MAX;
    ck_assert(hgi_policy_entry(&policy, HG_VALUE, hg_slice_text("v"), &lifetime, &now, &entry));
    ck_assert_int_eq(entry.expires_wall_ms, now.wall_ms + HGI_LIFETIME_MAX_MS);
    ck_assert_int_eq(entry.expires_boot_ms, now.boot_ms + HGI_LIFETIME_MAX_MS);
}
END_TEST

START_TEST(expired_at_this_very_millisecond_is_expired)
{
    struct hgi_policy policy = policy_of(100, 300);
    struct hgi_lifetime lifetime = {.expires_at_ms = now.wall_ms};
    struct hgi_entry entry = {.born = 3, .ttl_ms = 4};

    ck_assert(!hgi_policy_entry(&policy, HG_VALUE, hg_slice_text("v"), &lifetime, &now, &entry));
    ck_assert_int_eq(entry.ttl_ms, 4); /* untouched */
    lifetime.expires_at_ms = -1;
    ck_assert(!hgi_policy_entry(&policy, HG_VALUE, hg_slice_text("v"), &lifetime, &now, &entry));
    lifetime.expires_at_ms = now.wall_ms + 1;
    ck_assert(hgi_policy_entry(&policy, HG_VALUE, hg_slice_text("v"), &lifetime, &now, &entry));
    policy.expired_is_denied = true;
    lifetime.expires_at_ms = now.wall_ms;
    ck_assert(hgi_policy_entry(&policy, HG_VALUE, hg_slice_text("v"), &lifetime, &now, &entry));
    ck_assert_int_eq(entry.outcome, HG_DENIED);
    ck_assert_uint_eq(entry.value.len, 0);
    ck_assert_int_eq(entry.ttl_ms, 50);
    ck_assert_int_eq(entry.stale_ttl_ms, 50);
    ck_assert_int_eq(entry.expires_wall_ms, 0); /* a denial does not expire before its ttl */
}
END_TEST

START_TEST(the_default_wait_budget_is_twice_the_timeout_and_three_seconds)
{
    ck_assert_int_eq(hgi_policy_wait_budget_ms(0), 3000);
    ck_assert_int_eq(hgi_policy_wait_budget_ms(5000), 13000);
}
END_TEST

HGI_SUITE("server.policy", 60, given_lifetimes_only_shorten_and_ttl_never_exceeds_stale_ttl,
          negatives_live_negative_ttl_and_are_never_stale,
          expires_at_is_kept_on_both_clocks_and_far_ones_are_cut,
          expired_at_this_very_millisecond_is_expired,
          the_default_wait_budget_is_twice_the_timeout_and_three_seconds)
