/* SPDX-License-Identifier: Apache-2.0 */
#include "draw.h"
#include "hg_test.h"
#include "record.h"

START_TEST(a_key_is_what_redis_benchmark_makes_of_its_pattern)
{
    unsigned char key[RECORD_KEY_MAX];

    record_key(123456, RECORD_KEY_LEN, key);
    ck_assert_slice_eq(hg_slice_of(key, RECORD_KEY_LEN),
                       "sess:00000000000000000000000000000123456");
    record_key(999999, RECORD_KEY_LEN, key);
    ck_assert_uint_eq(RECORD_KEY_LEN, strlen("sess:00000000000000000000000") + 12);
}
END_TEST

START_TEST(a_value_is_told_from_that_of_every_other_number_and_length)
{
    unsigned char value[RECORD_VALUE_MAX];

    for (size_t len = 8; len < 120; len++) {
        record_value(77777, len, value);
        ck_assert(record_value_is(77777, len, hg_slice_of(value, len)));
        ck_assert(!record_value_is(77778, len, hg_slice_of(value, len)));
        ck_assert(!record_value_is(77777, len, hg_slice_of(value, len - 1)));
        value[len - 1] ^= 1;
        ck_assert(!record_value_is(77777, len, hg_slice_of(value, len)));
    }
}
END_TEST

START_TEST(zipf_draws_each_rank_as_often_as_it_should)
{
    enum { COUNT = 1000, DRAWS = 200000 };
    struct draw draw = draw_seeded(3);
    uint32_t seen[COUNT] = {0};
    struct zipf z;

    ck_assert(zipf_init(&z, COUNT, 1.0));
    for (int i = 0; i < DRAWS; i++) {
        seen[zipf_draw(&z, &draw)]++;
    }
    /* The harmonic sum of 1000 is 7.485: 13.36 % are the first rank, 6.68 % the second. */
    ck_assert_uint_ge(seen[0], DRAWS / 100 * 13);
    ck_assert_uint_le(seen[0], DRAWS / 100 * 14);
    ck_assert_uint_ge(seen[1], DRAWS / 1000 * 64);
    ck_assert_uint_le(seen[1], DRAWS / 1000 * 70);
    zipf_deinit(&z);
}
END_TEST

START_TEST(scattering_gives_each_rank_a_number_of_its_own)
{
    enum { COUNT = 100000 };
    static bool is_taken[COUNT];
    struct zipf z = {.count = COUNT};

    for (uint32_t rank = 0; rank < COUNT; rank++) {
        uint32_t number = zipf_scatter(&z, rank);

        ck_assert_uint_lt(number, COUNT);
        ck_assert(!is_taken[number]);
        is_taken[number] = true;
    }
}
END_TEST

HGI_SUITE("bench.record", 20, a_key_is_what_redis_benchmark_makes_of_its_pattern,
          a_value_is_told_from_that_of_every_other_number_and_length,
          zipf_draws_each_rank_as_often_as_it_should,
          scattering_gives_each_rank_a_number_of_its_own)
