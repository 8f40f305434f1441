/* SPDX-License-Identifier: Apache-2.0 */
#include "hg_test.h"

#include <stdlib.h>

#include "base/hash.h"

int hgi_suite_run(const char *name, const TTest *const *tests, size_t count, double timeout_s)
{
    return hgi_suite_run_within(NULL, name, tests, count, timeout_s);
}

int hgi_suite_run_within(const struct hgi_suite_frame *frame, const char *name,
                         const TTest *const *tests, size_t count, double timeout_s)
{
    Suite *suite = suite_create(name);
    TCase *tcase = tcase_create(name);
    SRunner *runner;
    int failed;

    if (!hgi_hash_start()) {
        return 1;
    }
    tcase_set_timeout(tcase, timeout_s);
    if (frame) {
        tcase_add_unchecked_fixture(tcase, frame->begin, frame->end);
    }
    for (size_t i = 0; i < count; i++) {
        tcase_add_test(tcase, tests[i]);
    }
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}

static void *counted_resize(void *context, void *pointer, size_t size)
{
    struct hgi_test_allocator *test = context;
    void *fresh;

    if (size == 0) {
        if (pointer) {
            test->out_count--;
        }
        free(pointer);
        return NULL;
    }
    test->calls++;
    if (test->fail_at && --test->fail_at == 0) {
        return NULL;
    }
    fresh = realloc(pointer, size);
    if (fresh && !pointer) {
        test->out_count++;
    }
    return fresh;
}

void hgi_test_allocator_init(struct hgi_test_allocator *test)
{
    test->allocator.resize = counted_resize;
    test->allocator.context = test;
    test->out_count = 0;
    test->calls = 0;
    test->fail_at = 0;
}
