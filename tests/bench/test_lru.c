/* SPDX-License-Identifier: Apache-2.0 */
/* A peer that plays badly would make ours look good. */
#include "draw.h"
#include "hg_test.h"
#include "lru.h"

enum { NUMBERS = 40, CAPACITY = 8 };

static struct lru lru;

static void open_lru(uint32_t capacity)
{
    ck_assert(lru_init(&lru, NUMBERS, capacity));
}

START_TEST(the_least_recently_used_goes_first)
{
    open_lru(3);
    lru_put(&lru, 1, 100);
    lru_put(&lru, 2, 100);
    lru_put(&lru, 3, 100);
    ck_assert(lru_get(&lru, 1, 0));
    lru_put(&lru, 4, 100);
    ck_assert(!lru_get(&lru, 2, 0));
    ck_assert(lru_get(&lru, 1, 0) && lru_get(&lru, 3, 0) && lru_get(&lru, 4, 0));
    lru_deinit(&lru);
}
END_TEST

START_TEST(what_is_over_is_not_there_and_makes_room)
{
    open_lru(2);
    lru_put(&lru, 1, 10);
    lru_put(&lru, 2, 100);
    ck_assert(lru_get(&lru, 1, 10));
    ck_assert(!lru_get(&lru, 1, 11));
    ck_assert_uint_eq(lru.count, 1);
    lru_put(&lru, 3, 100);
    ck_assert(lru_get(&lru, 2, 11));
    lru_deinit(&lru);
}
END_TEST

START_TEST(putting_again_keeps_one_and_renews_its_end)
{
    open_lru(2);
    lru_put(&lru, 1, 10);
    lru_put(&lru, 1, 20);
    ck_assert_uint_eq(lru.count, 1);
    ck_assert(lru_get(&lru, 1, 15));
    lru_deinit(&lru);
}
END_TEST

/* Against the plainest of models: a row of numbers, the newest first. */
START_TEST(it_is_what_the_plainest_model_says_whatever_is_done)
{
    struct draw draw = draw_seeded(11);
    uint32_t row[CAPACITY];
    uint32_t count = 0;

    open_lru(CAPACITY);
    for (int i = 0; i < 20000; i++) {
        uint32_t number = draw_below(&draw, NUMBERS);
        bool is_put = draw_below(&draw, 2) == 0;
        uint32_t at = 0;

        while (at < count && row[at] != number) {
            at++;
        }
        if (is_put) {
            lru_put(&lru, number, 1);
        } else {
            ck_assert_int_eq(lru_get(&lru, number, 0), at < count);
        }
        if (is_put || at < count) {
            if (at == count) {
                at = count < CAPACITY ? count++ : CAPACITY - 1;
            }
            memmove(row + 1, row, at * sizeof(row[0]));
            row[0] = number;
        }
        ck_assert_uint_eq(lru.count, count);
    }
    lru_deinit(&lru);
}
END_TEST

HGI_SUITE("bench.lru", 20, the_least_recently_used_goes_first,
          what_is_over_is_not_there_and_makes_room, putting_again_keeps_one_and_renews_its_end,
          it_is_what_the_plainest_model_says_whatever_is_done)
