/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks do not overlap, come back whole, and join again. */
#include <stdlib.h>

#include "base/hash.h"
#include "hg_test.h"
#include "storage/flat/front.h"
#include "storage/table/region.h"

enum { BLOCKS = 400 };

struct block {
    uint32_t place;
    size_t size;
    unsigned char fill;
};

static void fill(struct hgi_region *region, struct block *block, unsigned char fill)
{
    unsigned char *bytes = hgi_region_at(region, block->place);

    block->fill = fill;
    memset(bytes + HGI_WORD_BYTES, fill, block->size - HGI_WORD_BYTES);
}

static void check(const struct hgi_region *region, const struct block *block)
{
    const unsigned char *bytes = hgi_region_at(region, block->place);

    for (size_t i = HGI_WORD_BYTES; i < block->size; i++) {
        if (bytes[i] != block->fill) {
            ck_abort_msg("byte %zu of a block is another's", i);
        }
    }
}

START_TEST(blocks_of_all_sizes_keep_what_is_in_them)
{
    struct block blocks[BLOCKS] = {{0}};
    struct hgi_region region;
    uint64_t random = 88172645463325252u;
    size_t refused = 0;

    ck_assert(hgi_region_init(&region, 1 << 20));
    for (int step = 0; step < 100000; step++) {
        struct block *block;

        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        block = &blocks[random % BLOCKS];
        if (block->place) {
            check(&region, block);
            hgi_region_free(&region, block->place);
            block->place = 0;
            continue;
        }
        block->size = 5 + (random >> 20) % ((random >> 10) % 8 == 0 ? 60000 : 400);
        block->place = hgi_region_alloc(&region, block->size);
        refused += block->place == 0;
        if (block->place) {
            ck_assert(hgi_memory_holds(&region.memory, block->place, block->size));
            fill(&region, block, (unsigned char)step);
        }
    }
    ck_assert_uint_gt(refused, 0); /* it was full now and then */
    for (size_t i = 0; i < BLOCKS; i++) {
        if (blocks[i].place) {
            check(&region, &blocks[i]);
            hgi_region_free(&region, blocks[i].place);
        }
    }
    /* All of it is one block again. */
    ck_assert_uint_ne(hgi_region_alloc(&region, (1 << 20) - (1 << 16)), 0);
    hgi_region_deinit(&region);
}
END_TEST

START_TEST(what_is_longer_than_the_region_is_refused)
{
    struct hgi_region region;
    uint32_t place;

    ck_assert(hgi_region_init(&region, HGI_FRONT_BYTES + 4096));
    ck_assert_uint_eq(hgi_region_alloc(&region, 4096), 0);
    ck_assert_uint_eq(hgi_region_alloc(&region, SIZE_MAX / 2), 0);
    place = hgi_region_alloc(&region, 3000);
    ck_assert_uint_ne(place, 0);
    ck_assert_uint_eq(hgi_region_alloc(&region, 3000), 0);
    hgi_region_free(&region, place);
    ck_assert_uint_ne(hgi_region_alloc(&region, 3000), 0);
    hgi_region_deinit(&region);
}
END_TEST

/* More than one block's word can say: the mapping is only touched where it is used. */
START_TEST(a_region_of_many_gigabytes_is_cut_into_several_blocks)
{
    struct hgi_region region;
    uint32_t places[5];

    ck_assert(hgi_region_init(&region, HGI_MEMORY_MAX_BYTES));
    for (size_t i = 0; i < 3; i++) {
        places[i] = hgi_region_alloc(&region, (size_t)3 << 30);
        ck_assert_uint_ne(places[i], 0);
        ck_assert(hgi_memory_holds(&region.memory, places[i], (size_t)3 << 30));
    }
    for (size_t i = 0; i < 3; i++) {
        hgi_region_free(&region, places[i]);
    }
    ck_assert_uint_ne(hgi_region_alloc(&region, (size_t)3 << 30), 0);
    hgi_region_deinit(&region);
}
END_TEST

START_TEST(a_place_outside_is_told_apart)
{
    unsigned char bytes[4096];
    const struct hgi_memory memory = {bytes, sizeof(bytes)};

    ck_assert(hgi_memory_holds(&memory, 0, 4096));
    ck_assert(!hgi_memory_holds(&memory, 0, 4097));
    ck_assert(hgi_memory_holds(&memory, 1023, 4));
    ck_assert(!hgi_memory_holds(&memory, 1023, 5));
    ck_assert(!hgi_memory_holds(&memory, 1024, 0));
    ck_assert(!hgi_memory_holds(&memory, UINT32_MAX, SIZE_MAX));
}
END_TEST

/* Somebody's mapping of which only so much can be had. */
struct lender {
    size_t reserved;
    size_t max;
};

static bool lend(void *context, size_t from, size_t to)
{
    struct lender *lender = context;

    ck_assert_uint_le(from, lender->reserved);
    ck_assert_uint_gt(to, lender->reserved);
    if (to > lender->max) {
        return false;
    }
    lender->reserved = to;
    return true;
}

START_TEST(a_given_mapping_is_asked_for_step_by_step_before_it_is_touched)
{
    enum { SIZE = 8 << 20, BLOCK = 100000 };
    struct lender lender = {.max = 5 << 20};
    unsigned char *bytes = calloc(1, SIZE);
    const struct hgi_backing backing = {{bytes, SIZE}, lend, &lender};
    struct hgi_region region;
    size_t count = 0;
    uint32_t place;

    ck_assert_ptr_nonnull(bytes);
    ck_assert(hgi_region_init_in(&region, &backing));
    ck_assert_uint_lt(lender.reserved, 2 << 20);
    while ((place = hgi_region_alloc(&region, BLOCK)) != 0) {
        ck_assert_uint_le((size_t)place * HGI_WORD_BYTES + BLOCK, lender.reserved);
        count++;
    }
    ck_assert_uint_gt(count, (4u << 20) / BLOCK - 5);
    for (size_t i = lender.reserved; i < SIZE; i++) {
        ck_assert_uint_eq(bytes[i], 0);
    }
    lender.max = SIZE; /* there is room again */
    ck_assert_uint_ne(hgi_region_alloc(&region, BLOCK), 0);
    while (hgi_region_alloc(&region, BLOCK) != 0) {
        count++;
    }
    ck_assert_uint_gt(count, (7u << 20) / BLOCK - 5);
    hgi_region_deinit(&region);
    free(bytes);
}
END_TEST

START_TEST(a_given_mapping_that_cannot_be_had_at_all_is_refused)
{
    struct lender lender = {.max = 0};
    unsigned char *bytes = calloc(1, 1 << 20);
    const struct hgi_backing backing = {{bytes, 1 << 20}, lend, &lender};
    struct hgi_region region;

    ck_assert_ptr_nonnull(bytes);
    ck_assert(!hgi_region_init_in(&region, &backing));
    free(bytes);
}
END_TEST

HGI_SUITE("storage.region", 60, blocks_of_all_sizes_keep_what_is_in_them,
          what_is_longer_than_the_region_is_refused,
          a_region_of_many_gigabytes_is_cut_into_several_blocks, a_place_outside_is_told_apart,
          a_given_mapping_is_asked_for_step_by_step_before_it_is_touched,
          a_given_mapping_that_cannot_be_had_at_all_is_refused)
