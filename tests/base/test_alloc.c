/* SPDX-License-Identifier: Apache-2.0 */
#include "hg_test.h"

#include "base/bytes.h"

static bool is_zero(const unsigned char *memory, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (memory[i]) {
            return false;
        }
    }
    return true;
}

START_TEST(memory_comes_zeroed_even_if_it_was_used)
{
    for (int i = 0; i < 100; i++) {
        unsigned char *memory = hgi_alloc(&hgi_heap, 200);

        ck_assert_ptr_nonnull(memory);
        ck_assert(is_zero(memory, 200));
        memset(memory, 0xff, 200);
        hgi_free(&hgi_heap, memory);
    }
}
END_TEST

START_TEST(nothing_is_a_size_too_and_freeing_null_is_nothing)
{
    struct hgi_test_allocator test;
    void *memory;

    hgi_test_allocator_init(&test);
    memory = hgi_alloc(&test.allocator, 0);
    ck_assert_ptr_nonnull(memory);
    memory = hgi_resize(&test.allocator, memory, 0);
    ck_assert_ptr_nonnull(memory);
    ck_assert_uint_eq(test.out_count, 1);
    hgi_free(&test.allocator, memory);
    hgi_free(&test.allocator, NULL);
    ck_assert_uint_eq(test.out_count, 0);
}
END_TEST

START_TEST(text_copy_keeps_inner_nuls_and_ends_with_one)
{
    struct hgi_test_allocator test;
    char *copy;

    hgi_test_allocator_init(&test);
    copy = hgi_text_copy(&test.allocator, hg_slice_of("a\0bX", 3));
    ck_assert_ptr_nonnull(copy);
    ck_assert_int_eq(memcmp(copy, "a\0b", 4), 0);
    hgi_free(&test.allocator, copy);
    copy = hgi_text_copy(&test.allocator, hg_slice_of(NULL, 0));
    ck_assert_ptr_nonnull(copy);
    ck_assert_str_eq(copy, "");
    hgi_free(&test.allocator, copy);
    test.fail_at = 1;
    ck_assert_ptr_null(hgi_text_copy(&test.allocator, hg_slice_text("abc")));
    ck_assert_uint_eq(test.out_count, 0);
}
END_TEST

START_TEST(an_arena_gives_its_budget_and_no_byte_more)
{
    struct hgi_arena arena;

    hgi_arena_init(&arena, 64);
    ck_assert_ptr_nonnull(hgi_arena_alloc(&arena, 48));
    ck_assert_ptr_null(hgi_arena_alloc(&arena, 17));
    ck_assert_ptr_nonnull(hgi_arena_alloc(&arena, 16));
    ck_assert_ptr_null(hgi_arena_alloc(&arena, 1));
    ck_assert_uint_eq(arena.used_bytes, 64);
    hgi_arena_deinit(&arena);
    /* Rounding up to 16 must not wrap. */
    hgi_arena_init(&arena, SIZE_MAX);
    ck_assert_ptr_null(hgi_arena_alloc(&arena, SIZE_MAX));
    ck_assert_ptr_null(hgi_arena_alloc(&arena, SIZE_MAX - 8));
    hgi_arena_deinit(&arena);
    hgi_arena_init(&arena, 0);
    ck_assert_ptr_null(hgi_arena_alloc(&arena, 1));
    hgi_arena_deinit(&arena);
}
END_TEST

START_TEST(arena_memory_is_aligned_zeroed_and_apart)
{
    struct hgi_arena arena;
    unsigned char *memory[200];

    hgi_arena_init(&arena, 1024 * 1024);
    for (size_t round = 0; round < 3; round++) {
        for (size_t i = 0; i < 200; i++) {
            memory[i] = hgi_arena_alloc(&arena, i + 1);
            ck_assert_ptr_nonnull(memory[i]);
            ck_assert_uint_eq((uintptr_t)memory[i] % 16, 0);
            ck_assert(is_zero(memory[i], i + 1));
            memset(memory[i], (int)i + 1, i + 1);
        }
        for (size_t i = 0; i < 200; i++) {
            ck_assert_uint_eq(memory[i][0], (unsigned char)(i + 1));
            ck_assert_uint_eq(memory[i][i], (unsigned char)(i + 1));
        }
        hgi_arena_reset(&arena, 1024 * 1024);
        ck_assert_uint_eq(arena.used_bytes, 0);
    }
    hgi_arena_deinit(&arena);
}
END_TEST

START_TEST(an_arena_takes_more_than_a_block_at_once)
{
    struct hgi_arena arena;
    unsigned char *large;

    hgi_arena_init(&arena, 200000);
    large = hgi_arena_alloc(&arena, 100000);
    ck_assert_ptr_nonnull(large);
    memset(large, 1, 100000);
    ck_assert_ptr_nonnull(hgi_arena_alloc(&arena, 10));
    hgi_arena_reset(&arena, 32);
    ck_assert_ptr_null(hgi_arena_alloc(&arena, 33));
    ck_assert_ptr_nonnull(hgi_arena_alloc(&arena, 32));
    hgi_arena_deinit(&arena);
}
END_TEST

/* That it is wiped is seen from outside, by e2e.secrets: here it may not be looked at any more. */
START_TEST(a_librarys_pair_takes_any_size_and_gives_back_nothing_too)
{
    for (size_t size = 0; size < 5000; size += 37) {
        unsigned char *memory = hgi_wiping_malloc(size);

        ck_assert_ptr_nonnull(memory);
        memset(memory, 0xa5, size);
        hgi_wiping_free(memory);
    }
    hgi_wiping_free(NULL);
}
END_TEST

START_TEST(a_reset_wipes_what_was_held)
{
    struct hgi_arena arena;
    unsigned char *secret;

    hgi_arena_init(&arena, 4096);
    secret = hgi_arena_alloc(&arena, 100);
    ck_assert_ptr_nonnull(secret);
    memset(secret, 's', 100);
    hgi_arena_reset(&arena, 4096);
    /* The first block is kept, so its bytes may still be looked at. */
    ck_assert(is_zero(secret, 100));
    ck_assert_ptr_eq(hgi_arena_alloc(&arena, 1), secret);
    hgi_arena_deinit(&arena);
}
END_TEST

HGI_SUITE("base.alloc", 20, memory_comes_zeroed_even_if_it_was_used,
          nothing_is_a_size_too_and_freeing_null_is_nothing,
          text_copy_keeps_inner_nuls_and_ends_with_one, an_arena_gives_its_budget_and_no_byte_more,
          arena_memory_is_aligned_zeroed_and_apart, an_arena_takes_more_than_a_block_at_once,
          a_librarys_pair_takes_any_size_and_gives_back_nothing_too, a_reset_wipes_what_was_held)
