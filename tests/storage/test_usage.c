/* SPDX-License-Identifier: Apache-2.0 */
/* What a table holds in all: exact whoever takes, and nothing taken by who finds no room. */
#include "base/thread.h"
#include "hg_test.h"
#include "storage/table/usage.h"

static struct hgi_usage usage;

static void check_counts(size_t entries, size_t bytes, size_t negatives, size_t negative_bytes)
{
    ck_assert_uint_eq(usage.entries, entries);
    ck_assert_uint_eq(hgi_usage_bytes(&usage), bytes);
    ck_assert_uint_eq(usage.negatives, negatives);
    ck_assert_uint_eq(usage.negative_bytes, negative_bytes);
}

START_TEST(entries_and_bytes_are_taken_up_to_their_bounds)
{
    hgi_usage_init(&usage, 2, 100);
    ck_assert_int_eq(hgi_usage_take(&usage, 101, false), HGI_ROOM_NONE);
    ck_assert_int_eq(hgi_usage_take(&usage, 60, false), HGI_ROOM_TAKEN);
    ck_assert_int_eq(hgi_usage_take(&usage, 41, false), HGI_ROOM_IF_ANY);
    check_counts(1, 60, 0, 0);
    ck_assert_int_eq(hgi_usage_take(&usage, 40, false), HGI_ROOM_TAKEN);
    ck_assert_int_eq(hgi_usage_take(&usage, 0, false), HGI_ROOM_IF_ANY);
    hgi_usage_give_back(&usage, 60, false);
    check_counts(1, 40, 0, 0);
}
END_TEST

START_TEST(negatives_have_an_eighth_of_both)
{
    hgi_usage_init(&usage, 16, 800);
    ck_assert_int_eq(hgi_usage_take(&usage, 101, true), HGI_ROOM_NONE);
    ck_assert_int_eq(hgi_usage_take(&usage, 10, true), HGI_ROOM_TAKEN);
    ck_assert_int_eq(hgi_usage_take(&usage, 91, true), HGI_ROOM_IF_NEGATIVE);
    ck_assert_int_eq(hgi_usage_take(&usage, 10, true), HGI_ROOM_TAKEN);
    ck_assert_int_eq(hgi_usage_take(&usage, 10, true), HGI_ROOM_IF_NEGATIVE);
    check_counts(2, 20, 2, 20);
    hgi_usage_give_back(&usage, 10, true);
    check_counts(1, 10, 1, 10);
    /* The cache is full, though their own share is not. */
    for (int i = 0; i < 15; i++) {
        ck_assert_int_eq(hgi_usage_take(&usage, 1, false), HGI_ROOM_TAKEN);
    }
    ck_assert_int_eq(hgi_usage_take(&usage, 1, true), HGI_ROOM_IF_ANY);
    check_counts(16, 25, 1, 10);
}
END_TEST

START_TEST(one_negative_fits_the_smallest_cache)
{
    hgi_usage_init(&usage, 1, 800);
    ck_assert_int_eq(hgi_usage_take(&usage, 1, true), HGI_ROOM_TAKEN);
    ck_assert_int_eq(hgi_usage_take(&usage, 1, true), HGI_ROOM_IF_NEGATIVE);
}
END_TEST

static void take_and_give(void *arg)
{
    bool is_negative = arg != NULL;

    for (int i = 0; i < 100000; i++) {
        if (hgi_usage_take(&usage, 3, is_negative) == HGI_ROOM_TAKEN) {
            ck_assert_uint_le(usage.entries, 3);
            hgi_usage_give_back(&usage, 3, is_negative);
        }
    }
}

START_TEST(threads_never_pass_the_bounds)
{
    struct hgi_thread threads[4];

    hgi_usage_init(&usage, 3, 1000);
    for (size_t i = 0; i < 4; i++) {
        ck_assert(hgi_thread_start(&threads[i], "take", take_and_give, i % 2 ? &usage : NULL));
    }
    for (size_t i = 0; i < 4; i++) {
        hgi_thread_join(&threads[i]);
    }
    check_counts(0, 0, 0, 0);
}
END_TEST

HGI_SUITE("storage.usage", 60, entries_and_bytes_are_taken_up_to_their_bounds,
          negatives_have_an_eighth_of_both, one_negative_fits_the_smallest_cache,
          threads_never_pass_the_bounds)
