/* SPDX-License-Identifier: Apache-2.0 */
/* sim: lives many worlds, one a seed. Usage: sim [--seeds N] [--first S] [--seed S] */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sim.h"

#define SEEDS_DEFAULT 1000
#define SEED_TIME_S   30 /* a seed takes milliseconds; after this long it hangs */

static void on_crash(int signal_number)
{
    fprintf(stderr, "sim: signal %d inside the engine\n", signal_number);
    sim_print_tail();
    _exit(1);
}

static bool number_of(const char *text, uint64_t *ret_number)
{
    char *end;

    errno = 0;
    *ret_number = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0;
}

int main(int count, char **words)
{
    struct sim_totals totals = {0, 0, 0, 0, 0, 0, 0, 0, 0};
    uint64_t seeds = SEEDS_DEFAULT;
    uint64_t first = 0;
    bool is_understood = count % 2 == 1;

    for (int i = 1; i + 1 < count; i += 2) {
        if (strcmp(words[i], "--seeds") == 0) {
            is_understood &= number_of(words[i + 1], &seeds);
        } else if (strcmp(words[i], "--first") == 0) {
            is_understood &= number_of(words[i + 1], &first);
        } else if (strcmp(words[i], "--seed") == 0) {
            is_understood &= number_of(words[i + 1], &first);
            seeds = 1;
        } else {
            is_understood = false;
        }
    }
    if (!is_understood) {
        fprintf(stderr, "usage: sim [--seeds N] [--first S] [--seed S]\n");
        return 2;
    }
    signal(SIGABRT, on_crash);
    signal(SIGSEGV, on_crash);
    signal(SIGALRM, on_crash);
    sim_start();
    for (uint64_t seed = first; seed < first + seeds; seed++) {
        alarm(SEED_TIME_S);
        sim_run(seed, &totals);
    }
    printf(
        "sim: %llu seeds from %llu: %llu steps, %llu calls, %llu loads, %llu leases, %llu values "
        "confirmed, %llu windows (%llu undecided; digest %016llx); every promise was kept\n",
        (unsigned long long)totals.seeds, (unsigned long long)first,
        (unsigned long long)totals.steps, (unsigned long long)totals.calls,
        (unsigned long long)totals.loads, (unsigned long long)totals.leases,
        (unsigned long long)totals.confirmed, (unsigned long long)totals.windows,
        (unsigned long long)totals.undecided, (unsigned long long)totals.digest);
    return 0;
}
