/* SPDX-License-Identifier: Apache-2.0 */
/* Feeds files to a target while memory runs out: each file once to count what is asked for, then
 * once for each of those calls, which fails alone, and once more with all after it failing too. The
 * target's own promises hold all the same, and nothing is left. Usage: fault_TARGET FILE... */
#include <stdio.h>

#include "fault_memory.h"
#include "fuzz.h"

static size_t calls;
static struct {
    size_t fail_at;
    bool is_lasting;
    size_t failures;
} now;

/* Several stretches of one input are counted as one. */
void fuzz_memory_may_fail(bool may_fail)
{
    if (may_fail) {
        bool is_past = now.fail_at && calls >= now.fail_at;

        fault_memory_begin(is_past       ? (now.is_lasting ? 1 : 0)
                           : now.fail_at ? now.fail_at - calls
                                         : 0,
                           now.is_lasting);
    } else if (fault_memory->is_armed) {
        calls += fault_memory_end();
        now.failures += fault_memory->failures;
    }
}

bool fuzz_has_failed(void)
{
    return now.failures > 0 || fault_memory->failures > 0;
}

static void run(const char *path, struct hg_slice input, size_t fail_at, bool is_lasting)
{
    ptrdiff_t before = fault_memory->blocks;

    calls = 0;
    now.fail_at = fail_at;
    now.is_lasting = is_lasting;
    now.failures = 0;
    fault_memory->failures = 0;
    (void)LLVMFuzzerTestOneInput(input.data, input.len);
    fuzz_memory_may_fail(false);
    if (fault_memory->blocks != before) {
        printf("%s: %td blocks are left of call %zu%s failing\n", path,
               fault_memory->blocks - before, fail_at, is_lasting ? " and all after it" : "");
        fflush(stdout);
        HGI_BUG_ON(fault_memory->blocks != before);
    }
}

static bool read_file(const char *path, struct hg_slice *ret_input)
{
    static unsigned char bytes[HGI_FUZZ_INPUT_MAX];
    FILE *file = fopen(path, "rb");

    if (!file) {
        perror(path);
        return false;
    }
    *ret_input = hg_slice_of(bytes, fread(bytes, 1, sizeof(bytes), file));
    fclose(file);
    return true;
}

int main(int argc, char **argv)
{
    size_t points = 0;

    (void)LLVMFuzzerInitialize(&argc, &argv);
    for (int i = 1; i < argc; i++) {
        struct hg_slice input;
        size_t count;

        if (!read_file(argv[i], &input)) {
            return 1;
        }
        printf("%s\n", argv[i]);
        fflush(stdout);                /* a crash shows whose it was */
        run(argv[i], input, 0, false); /* what is made once and kept, is made */
        run(argv[i], input, 0, false);
        count = calls;
        for (size_t at = 1; at <= count; at++) {
            run(argv[i], input, at, false);
            run(argv[i], input, at, true);
            points += 2;
        }
    }
    printf("%zu inputs ran out of memory\n", points);
    return points ? 0 : 1;
}
