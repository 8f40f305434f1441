/* SPDX-License-Identifier: Apache-2.0 */
#include "hg_test.h"

#include "base/bytes.h"

static struct hgi_test_allocator test;
static struct hg_bytes bytes;

static void set_up(void)
{
    hgi_test_allocator_init(&test);
    hgi_bytes_init(&bytes, &test.allocator);
}

START_TEST(appended_bytes_stand_in_order_through_growth)
{
    set_up();
    for (int i = 0; i < 5000; i++) {
        unsigned char byte = (unsigned char)(i * 7);

        ck_assert(hgi_bytes_append(&bytes, hg_slice_of(&byte, 1)));
    }
    ck_assert_uint_eq(bytes.len, 5000);
    for (int i = 0; i < 5000; i++) {
        ck_assert_uint_eq(bytes.data[i], (unsigned char)(i * 7));
    }
    ck_assert_uint_eq(test.out_count, 1);
    hgi_bytes_deinit(&bytes);
    ck_assert_uint_eq(test.out_count, 0);
}
END_TEST

START_TEST(without_memory_what_was_held_is_kept)
{
    char large[200];

    set_up();
    memset(large, 'x', sizeof(large));
    test.fail_at = 1;
    ck_assert(!hgi_bytes_append(&bytes, hg_slice_text("a")));
    ck_assert_uint_eq(bytes.len, 0);
    ck_assert(hgi_bytes_append(&bytes, hg_slice_text("abc")));
    test.fail_at = 1;
    ck_assert(!hgi_bytes_append(&bytes, hg_slice_of(large, sizeof(large))));
    ck_assert_slice_eq(hgi_bytes_slice(&bytes), "abc");
    test.fail_at = 1;
    ck_assert(!hgi_bytes_set(&bytes, hg_slice_of(large, sizeof(large))));
    ck_assert_slice_eq(hgi_bytes_slice(&bytes), "abc");
    hgi_bytes_deinit(&bytes);
    ck_assert_uint_eq(test.out_count, 0);
}
END_TEST

START_TEST(a_size_that_would_wrap_is_refused_unasked)
{
    set_up();
    ck_assert(hgi_bytes_append(&bytes, hg_slice_text("abc")));
    size_t calls = test.calls;
    ck_assert(!hgi_bytes_reserve(&bytes, SIZE_MAX));
    ck_assert(!hgi_bytes_reserve(&bytes, SIZE_MAX / 2));
    ck_assert_uint_eq(test.calls, calls);
    hgi_bytes_deinit(&bytes);
}
END_TEST

START_TEST(reserved_room_needs_no_more_memory)
{
    char text[1000] = {0};

    set_up();
    ck_assert(hgi_bytes_reserve(&bytes, 1000));
    size_t calls = test.calls;
    ck_assert(hgi_bytes_append(&bytes, hg_slice_of(text, 1000)));
    ck_assert_uint_eq(test.calls, calls);
    hgi_bytes_deinit(&bytes);
}
END_TEST

START_TEST(set_replaces_and_empties)
{
    set_up();
    ck_assert(hgi_bytes_set(&bytes, hg_slice_text("abcdef")));
    ck_assert(hgi_bytes_set(&bytes, hg_slice_text("xy")));
    ck_assert_slice_eq(hgi_bytes_slice(&bytes), "xy");
    ck_assert(hgi_bytes_set(&bytes, hg_slice_of(NULL, 0)));
    ck_assert_uint_eq(bytes.len, 0);
    hgi_bytes_deinit(&bytes);
}
END_TEST

START_TEST(consumed_bytes_leave_the_rest_in_front)
{
    set_up();
    ck_assert(hgi_bytes_set(&bytes, hg_slice_text("abcdef")));
    hgi_bytes_consume(&bytes, 0);
    hgi_bytes_consume(&bytes, 2);
    ck_assert_slice_eq(hgi_bytes_slice(&bytes), "cdef");
    hgi_bytes_consume(&bytes, 4);
    ck_assert_uint_eq(bytes.len, 0);
    hgi_bytes_deinit(&bytes);
}
END_TEST

/* Behind what is held, to where it was held before. */
static bool is_wiped_to(size_t before)
{
    for (size_t i = bytes.len; i < before; i++) {
        if (bytes.data[i] != 0) {
            return false;
        }
    }
    return true;
}

START_TEST(what_is_taken_out_is_wiped)
{
    set_up();
    ck_assert(hgi_bytes_set(&bytes, hg_slice_text("a long secret")));
    ck_assert(hgi_bytes_set(&bytes, hg_slice_text("short")));
    ck_assert_slice_eq(hgi_bytes_slice(&bytes), "short");
    ck_assert(is_wiped_to(13));
    hgi_bytes_consume(&bytes, 2);
    ck_assert_slice_eq(hgi_bytes_slice(&bytes), "ort");
    ck_assert(is_wiped_to(13));
    hgi_bytes_clear(&bytes);
    hgi_bytes_clear(&bytes);
    ck_assert_uint_eq(bytes.len, 0);
    ck_assert(is_wiped_to(13));
    hgi_bytes_deinit(&bytes);
    hgi_bytes_clear(&bytes);
}
END_TEST

START_TEST(slices_are_equal_by_length_and_bytes)
{
    ck_assert(hgi_slice_equal(hg_slice_text("abc"), hg_slice_text("abc")));
    ck_assert(!hgi_slice_equal(hg_slice_text("abc"), hg_slice_text("abd")));
    ck_assert(!hgi_slice_equal(hg_slice_text("abc"), hg_slice_text("ab")));
    ck_assert(!hgi_slice_equal(hg_slice_of("a\0b", 3), hg_slice_of("a\0c", 3)));
    ck_assert(hgi_slice_equal(hg_slice_of(NULL, 0), hg_slice_text("")));
}
END_TEST

START_TEST(slices_are_ordered_by_bytes_and_then_by_length)
{
    ck_assert_int_eq(hgi_slice_compare(hg_slice_text("abc"), hg_slice_text("abc")), 0);
    ck_assert_int_lt(hgi_slice_compare(hg_slice_text("abc"), hg_slice_text("abd")), 0);
    ck_assert_int_gt(hgi_slice_compare(hg_slice_text("b"), hg_slice_text("abc")), 0);
    ck_assert_int_lt(hgi_slice_compare(hg_slice_text("ab"), hg_slice_text("abc")), 0);
    ck_assert_int_gt(hgi_slice_compare(hg_slice_text("\xff"), hg_slice_text("a")), 0);
    ck_assert_int_lt(hgi_slice_compare(hg_slice_of(NULL, 0), hg_slice_text("a")), 0);
    ck_assert_int_eq(hgi_slice_compare(hg_slice_of(NULL, 0), hg_slice_text("")), 0);
}
END_TEST

START_TEST(trimming_takes_ascii_white_space_from_both_ends_only)
{
    ck_assert_slice_eq(hgi_slice_trim(hg_slice_text(" \t\n\v\f\ra b\n ")), "a b");
    ck_assert_slice_eq(hgi_slice_trim(hg_slice_text("  \n")), "");
    ck_assert_slice_eq(hgi_slice_trim(hg_slice_of(NULL, 0)), "");
    /* U+00A0 as UTF-8, and a NUL, are no white space here. */
    ck_assert_slice_eq(hgi_slice_trim(hg_slice_text("\xc2\xa0x")), "\xc2\xa0x");
    ck_assert_uint_eq(hgi_slice_trim(hg_slice_of("\0a", 2)).len, 2);
}
END_TEST

START_TEST(a_flat_text_is_one_line)
{
    char text[] = "a\nb\t\x1b[1m\x7f\xc3\xa4";

    hgi_text_flatten(text);
    ck_assert_str_eq(text, "a?b??[1m?\xc3\xa4");
}
END_TEST

HGI_SUITE("base.bytes", 20, appended_bytes_stand_in_order_through_growth,
          without_memory_what_was_held_is_kept, a_size_that_would_wrap_is_refused_unasked,
          reserved_room_needs_no_more_memory, set_replaces_and_empties,
          consumed_bytes_leave_the_rest_in_front, what_is_taken_out_is_wiped,
          slices_are_equal_by_length_and_bytes, slices_are_ordered_by_bytes_and_then_by_length,
          trimming_takes_ascii_white_space_from_both_ends_only, a_flat_text_is_one_line)
