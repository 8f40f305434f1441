/* SPDX-License-Identifier: Apache-2.0 */
/* Two bits an item, each its own. */
#include "hg_test.h"
#include "storage/flat/heat.h"

START_TEST(counts_go_up_to_their_end_and_touch_no_neighbours)
{
    enum { STEP = 1u << HGI_HEAT_WORDS_LOG };
    struct hgi_heat heat;

    ck_assert(hgi_heat_init(&heat, 1 << 16));
    for (uint32_t place = STEP; place < 64 * STEP; place += STEP) {
        ck_assert_uint_eq(hgi_heat_of(&heat, place), 0);
        hgi_heat_set(&heat, place, place / STEP % 4);
    }
    for (uint32_t place = STEP; place < 64 * STEP; place += STEP) {
        ck_assert_uint_eq(hgi_heat_of(&heat, place), place / STEP % 4);
    }
    for (unsigned reads = 1; reads < 10; reads++) {
        hgi_heat_touch(&heat, 4 * STEP);
        ck_assert_uint_eq(hgi_heat_of(&heat, 4 * STEP),
                          reads < HGI_HEAT_MAX ? reads : HGI_HEAT_MAX);
    }
    ck_assert_uint_eq(hgi_heat_of(&heat, 3 * STEP), 3);
    ck_assert_uint_eq(hgi_heat_of(&heat, 5 * STEP), 1);
    hgi_heat_deinit(&heat);
}
END_TEST

START_TEST(the_last_place_of_a_region_has_a_count)
{
    uint32_t last = (1 << 16) / HGI_WORD_BYTES - 1;
    struct hgi_heat heat;

    ck_assert(hgi_heat_init(&heat, 1 << 16));
    hgi_heat_touch(&heat, last);
    ck_assert_uint_eq(hgi_heat_of(&heat, last), 1);
    hgi_heat_deinit(&heat);
}
END_TEST

HGI_SUITE("storage.heat", 20, counts_go_up_to_their_end_and_touch_no_neighbours,
          the_last_place_of_a_region_has_a_count)
