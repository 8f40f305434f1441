/* SPDX-License-Identifier: Apache-2.0 */
/* hg_test: what every test file uses.
 * Owns:     the run of one suite.
 * Threads:  one.
 * Limits:   the timeout a suite names, per test (check's multiplier applies).
 * Errors:   a suite's exit status is 1 if any test failed.
 * Not here: scripted loaders, servers (their own files beside this one). */
#ifndef HG_TEST_H
#define HG_TEST_H

#include <check.h>
#include <string.h>

#include "base/alloc.h"

/* What a whole suite needs, such as a server: begun before its tests and ended after them, in the
 * process they are forked from. Assertions in there fail the suite. */
struct hgi_suite_frame {
    void (*begin)(void);
    void (*end)(void);
};

/* `frame` may be NULL. */
int hgi_suite_run_within(const struct hgi_suite_frame *frame, const char *name,
                         const TTest *const *tests, size_t count, double timeout_s);
int hgi_suite_run(const char *name, const TTest *const *tests, size_t count, double timeout_s);

/* HGI_SUITE("storage.table", 20, test_a, test_b): main() of a test binary. A test that takes longer
 * than the 20 s hangs: wide of what a busy machine needs, for it measures nothing. */
#define HGI_SUITE(name, timeout_s, ...)                                                            \
    int main(void)                                                                                 \
    {                                                                                              \
        const TTest *const tests[] = {__VA_ARGS__};                                                \
        return hgi_suite_run((name), tests, sizeof(tests) / sizeof(tests[0]), (timeout_s));        \
    }

#define ck_assert_slice_eq(slice, text)                                                            \
    do {                                                                                           \
        struct hg_slice slice_ = (slice);                                                          \
        ck_assert_uint_eq(slice_.len, strlen(text));                                               \
        ck_assert_int_eq(memcmp(slice_.data ? slice_.data : "", (text), slice_.len), 0);           \
    } while (0)

/* An allocator that counts what is out and can fail one allocation: the one that finds `fail_at` at
 * 1 (0: none fails). A test ends with out_count == 0. One thread. */
struct hgi_test_allocator {
    struct hgi_allocator allocator;
    size_t out_count;
    size_t calls;
    size_t fail_at;
};

void hgi_test_allocator_init(struct hgi_test_allocator *test);

#endif
