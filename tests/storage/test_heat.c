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

START_TEST(of_two_counts_the_larger_stays)
{
    const unsigned char counts[] = {0xe4, 0x00, 0x1b}; /* from the lowest: 0 1 2 3, none, 3 2 1 0 */
    struct hgi_heat heat;

    ck_assert(hgi_heat_init(&heat, 1 << 16));
    heat.counts[10] = 0x1b;
    heat.counts[11] = 0x55;
    hgi_heat_join(&heat, 10, counts, sizeof(counts));
    ck_assert_uint_eq(heat.counts[10], 0xeb); /* 3 2 2 3 */
    ck_assert_uint_eq(heat.counts[11], 0x55);
    ck_assert_uint_eq(heat.counts[12], 0x1b);
    hgi_heat_join(&heat, heat.size - 1, counts, sizeof(counts)); /* what is behind it is nobody's */
    ck_assert_uint_eq(heat.counts[heat.size - 1], 0xe4);
    hgi_heat_deinit(&heat);
}
END_TEST

HGI_SUITE("storage.heat", 20, of_two_counts_the_larger_stays,
          counts_go_up_to_their_end_and_touch_no_neighbours, the_last_place_of_a_region_has_a_count)
