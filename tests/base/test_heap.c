/* SPDX-License-Identifier: Apache-2.0 */
#include "hg_test.h"

#include "base/heap.h"

#define NODES 300u

static struct hgi_test_allocator test;
static struct hgi_heap_queue heap;
static struct hgi_heap_node nodes[NODES];
static uint64_t state;

/* A fixed sequence: a failure repeats. */
static uint64_t next_random(void)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return state >> 33;
}

static void set_up(void)
{
    hgi_test_allocator_init(&test);
    hgi_heap_init(&heap, &test.allocator);
    for (size_t i = 0; i < NODES; i++) {
        hgi_heap_node_init(&nodes[i]);
    }
    state = 1;
}

static void tear_down(void)
{
    hgi_heap_deinit(&heap);
    ck_assert_uint_eq(test.out_count, 0);
}

/* The model: the least deadline of all nodes that should be in. */
static void check_first(const bool *is_in, const int64_t *when)
{
    const struct hgi_heap_node *first = hgi_heap_first(&heap);
    int64_t least = INT64_MAX;
    size_t count = 0;
    bool is_as_modelled = true;

    for (size_t i = 0; i < NODES; i++) {
        is_as_modelled &= is_in[i] == (nodes[i].index != HGI_HEAP_OUT);
        if (is_in[i]) {
            count++;
            least = when[i] < least ? when[i] : least;
            is_as_modelled &= nodes[i].when_ms == when[i];
        }
    }
    /* One assertion for all: check writes a mark for each. */
    ck_assert(is_as_modelled);
    ck_assert_uint_eq(heap.count, count);
    if (count == 0) {
        ck_assert_ptr_null(first);
    } else {
        ck_assert_int_eq(first->when_ms, least);
    }
}

START_TEST(the_first_is_the_earliest_after_every_random_step)
{
    bool is_in[NODES] = {false};
    int64_t when[NODES] = {0};

    set_up();
    for (int step = 0; step < 20000; step++) {
        size_t i = next_random() % NODES;

        if (next_random() % 8 == 0) {
            hgi_heap_remove(&heap, &nodes[i]);
            is_in[i] = false;
        } else if (is_in[i]) {
            hgi_heap_remove(&heap, &nodes[i]);
            is_in[i] = false;
        } else {
            /* few different values, so that equal ones are common */
            when[i] = (int64_t)(next_random() % 50) - 25;
            ck_assert(hgi_heap_insert(&heap, &nodes[i], when[i]));
            is_in[i] = true;
        }
        check_first(is_in, when);
    }
    tear_down();
}
END_TEST

START_TEST(taking_the_first_again_and_again_sorts)
{
    int64_t before = INT64_MIN;

    set_up();
    for (size_t i = 0; i < NODES; i++) {
        ck_assert(hgi_heap_insert(&heap, &nodes[i], (int64_t)(next_random() % 1000)));
    }
    for (size_t i = 0; i < NODES; i++) {
        struct hgi_heap_node *first = hgi_heap_first(&heap);

        ck_assert_int_ge(first->when_ms, before);
        before = first->when_ms;
        hgi_heap_remove(&heap, first);
        ck_assert_uint_eq(first->index, HGI_HEAP_OUT);
    }
    ck_assert_ptr_null(hgi_heap_first(&heap));
    tear_down();
}
END_TEST

START_TEST(removing_a_node_that_is_out_is_nothing)
{
    set_up();
    hgi_heap_remove(&heap, &nodes[0]);
    ck_assert(hgi_heap_insert(&heap, &nodes[1], 5));
    hgi_heap_remove(&heap, &nodes[0]);
    ck_assert_ptr_eq(hgi_heap_first(&heap), &nodes[1]);
    tear_down();
}
END_TEST

START_TEST(an_insert_without_memory_leaves_the_node_out)
{
    set_up();
    test.fail_at = 1;
    ck_assert(!hgi_heap_insert(&heap, &nodes[0], 1));
    ck_assert_uint_eq(nodes[0].index, HGI_HEAP_OUT);
    ck_assert_uint_eq(heap.count, 0);
    tear_down();
}
END_TEST

START_TEST(reserved_inserts_need_no_memory)
{
    set_up();
    ck_assert(hgi_heap_insert(&heap, &nodes[0], 0));
    ck_assert(hgi_heap_reserve(&heap, NODES - 1));
    size_t calls = test.calls;
    for (size_t i = 1; i < NODES; i++) {
        ck_assert(hgi_heap_insert(&heap, &nodes[i], (int64_t)i));
    }
    ck_assert_uint_eq(test.calls, calls);
    tear_down();
}
END_TEST

HGI_SUITE("base.heap", 20, the_first_is_the_earliest_after_every_random_step,
          taking_the_first_again_and_again_sorts, removing_a_node_that_is_out_is_nothing,
          an_insert_without_memory_leaves_the_node_out, reserved_inserts_need_no_memory)
