/* SPDX-License-Identifier: Apache-2.0 */
#include "hg_test.h"

#include "base/check.h"
#include "base/map.h"

#define NODES 1000u

struct item {
    int value;
    struct hgi_map_node node;
};

static struct hgi_test_allocator test;
static struct hgi_map map;
static struct item items[NODES];

/* Spread, and with every tenth hash shared by two items. */
static uint64_t hash_of(size_t index)
{
    return (uint64_t)(index % 10 == 9 ? index - 1 : index) * UINT64_C(0x9E3779B97F4A7C15);
}

static struct item *find(size_t index)
{
    struct hgi_map_node *node = hgi_map_find(&map, hash_of(index));

    while (node && HGI_CONTAINER(node, struct item, node)->value != (int)index) {
        node = hgi_map_find_next(node);
    }
    return node ? HGI_CONTAINER(node, struct item, node) : NULL;
}

static void set_up(void)
{
    hgi_test_allocator_init(&test);
    ck_assert(hgi_map_init(&map, &test.allocator));
    for (size_t i = 0; i < NODES; i++) {
        items[i].value = (int)i;
    }
}

static void tear_down(void)
{
    hgi_map_deinit(&map);
    ck_assert_uint_eq(test.out_count, 0);
}

START_TEST(every_node_is_found_through_growth_and_removal)
{
    set_up();
    for (size_t i = 0; i < NODES; i++) {
        hgi_map_insert(&map, &items[i].node, hash_of(i));
    }
    ck_assert_uint_eq(map.count, NODES);
    ck_assert_uint_ge(map.bucket_count, NODES);
    for (size_t i = 0; i < NODES; i++) {
        ck_assert_ptr_eq(find(i), &items[i]);
    }
    for (size_t i = 0; i < NODES; i += 2) {
        hgi_map_remove(&map, &items[i].node);
    }
    ck_assert_uint_eq(map.count, NODES / 2);
    for (size_t i = 0; i < NODES; i++) {
        ck_assert_ptr_eq(find(i), i % 2 ? &items[i] : NULL);
    }
    tear_down();
}
END_TEST

START_TEST(nodes_of_one_hash_come_newest_first)
{
    set_up();
    for (size_t i = 0; i < 3; i++) {
        hgi_map_insert(&map, &items[i].node, 42);
    }
    /* The same bucket, another hash. */
    hgi_map_insert(&map, &items[3].node, 42 + (UINT64_C(1) << 40));
    struct hgi_map_node *node = hgi_map_find(&map, 42);
    ck_assert_ptr_eq(node, &items[2].node);
    node = hgi_map_find_next(node);
    ck_assert_ptr_eq(node, &items[1].node);
    node = hgi_map_find_next(node);
    ck_assert_ptr_eq(node, &items[0].node);
    ck_assert_ptr_null(hgi_map_find_next(node));
    ck_assert_ptr_null(hgi_map_find(&map, 43));
    tear_down();
}
END_TEST

START_TEST(a_map_that_cannot_grow_goes_on)
{
    set_up();
    size_t buckets = map.bucket_count;
    for (size_t i = 0; i < NODES; i++) {
        test.fail_at = 1;
        hgi_map_insert(&map, &items[i].node, hash_of(i));
    }
    ck_assert_uint_eq(map.bucket_count, buckets);
    for (size_t i = 0; i < NODES; i++) {
        ck_assert_ptr_eq(find(i), &items[i]);
    }
    /* With memory again, it grows. */
    test.fail_at = 0;
    hgi_map_remove(&map, &items[0].node);
    hgi_map_insert(&map, &items[0].node, hash_of(0));
    ck_assert_uint_eq(map.bucket_count, buckets * 2);
    for (size_t i = 0; i < NODES; i++) {
        ck_assert_ptr_eq(find(i), &items[i]);
    }
    tear_down();
}
END_TEST

START_TEST(init_without_memory_says_so)
{
    hgi_test_allocator_init(&test);
    test.fail_at = 1;
    ck_assert(!hgi_map_init(&map, &test.allocator));
    tear_down();
}
END_TEST

START_TEST(a_walk_over_the_buckets_meets_each_node_once)
{
    size_t met[NODES] = {0};

    set_up();
    for (size_t i = 0; i < NODES; i++) {
        hgi_map_insert(&map, &items[i].node, hash_of(i));
    }
    for (size_t b = 0; b < map.bucket_count; b++) {
        for (struct hgi_map_node *node = hgi_map_bucket(&map, b); node; node = node->next) {
            met[HGI_CONTAINER(node, struct item, node)->value]++;
        }
    }
    for (size_t i = 0; i < NODES; i++) {
        ck_assert_uint_eq(met[i], 1);
    }
    tear_down();
}
END_TEST

HGI_SUITE("base.map", 20, every_node_is_found_through_growth_and_removal,
          nodes_of_one_hash_come_newest_first, a_map_that_cannot_grow_goes_on,
          init_without_memory_says_so, a_walk_over_the_buckets_meets_each_node_once)
