/* SPDX-License-Identifier: Apache-2.0 */
/* A suite whose memory runs out: with HGI_FAULT=some or =all in the environment each test is run
 * once to count what it asks for, then once for each of those calls, which fails. A test may fail
 * then, for it was not told; what it may not is crash, hang, or, if it went well all the same, leak
 * (asan). It stands around hgi_suite_run at link time. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/hash.h"
#include "fault_memory.h"
#include "hg_test.h"

#define POINTS_MAX 20u /* of one test, if HGI_FAULT is not "all"; of more calls some are taken */

int __real_hgi_suite_run(const char *name, const TTest *const *tests, size_t count,
                         double timeout_s);
int __wrap_hgi_suite_run(const char *name, const TTest *const *tests, size_t count,
                         double timeout_s);

static size_t fail_at;

/* In the process of the test, right before it. */
static void arm(void)
{
    fault_memory_begin(fail_at, false);
}

/* One test, in a process of its own. True: it ended as it may. */
static bool run_one(const char *name, const TTest *test, double timeout_s, bool *ret_is_passed)
{
    Suite *suite = suite_create(name);
    TCase *tcase = tcase_create(name);
    SRunner *runner = srunner_create(suite);
    TestResult **results;
    bool is_good = true;

    tcase_set_timeout(tcase, timeout_s);
    tcase_add_checked_fixture(tcase, arm, NULL);
    tcase_add_test(tcase, test);
    suite_add_tcase(suite, tcase);
    srunner_set_fork_status(runner, CK_FORK);
    srunner_run_all(runner, CK_SILENT);
    *ret_is_passed = srunner_ntests_failed(runner) == 0;
    results = srunner_results(runner);
    if (!*ret_is_passed && tr_rtype(results[0]) == CK_ERROR) {
        is_good = false;
        printf("%s: %s with call %zu of %zu for memory failing: %s\n", name, test->name, fail_at,
               (size_t)fault_memory->calls, tr_msg(results[0]));
    }
    free(results);
    srunner_free(runner);
    return is_good;
}

static bool run_all(const char *name, const TTest *test, double timeout_s, size_t *inout_points)
{
    bool is_good = true;
    bool is_passed = false;
    size_t calls;
    size_t step;

    fail_at = 0;
    if (!run_one(name, test, timeout_s, &is_passed) || !is_passed) {
        printf("%s: %s fails while there is memory\n", name, test->name);
        return false;
    }
    calls = fault_memory->calls;
    step = strcmp(getenv("HGI_FAULT"), "all") == 0 ? 1 : calls / POINTS_MAX + 1;
    for (fail_at = 1; fail_at <= calls; fail_at += step) {
        is_good = run_one(name, test, timeout_s, &is_passed) && is_good;
        (*inout_points)++;
    }
    return is_good;
}

int __wrap_hgi_suite_run(const char *name, const TTest *const *tests, size_t count,
                         double timeout_s)
{
    size_t points = 0;
    bool is_good = true;

    if (!getenv("HGI_FAULT")) {
        return __real_hgi_suite_run(name, tests, count, timeout_s);
    }
    fault_memory = mmap(NULL, sizeof(*fault_memory), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (fault_memory == MAP_FAILED || !hgi_hash_start()) {
        return 1;
    }
    for (size_t i = 0; i < count; i++) {
        is_good = run_all(name, tests[i], timeout_s, &points) && is_good;
    }
    printf("%s: %zu calls for memory failed, one at a time, in %zu tests\n", name, points, count);
    return is_good ? 0 : 1;
}
