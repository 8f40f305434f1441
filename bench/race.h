/* SPDX-License-Identifier: Apache-2.0 */
/* race: readers and writers on one shelf, for so long.
 * Owns:     its threads, until it returns.
 * Threads:  called from one; starts RACE_LANES_MAX at most.
 * Limits:   RACE_LANES_MAX.
 * Errors:   false: no thread or no memory. A wrong read is counted.
 * Not here: what is read (ops), by what (shelf). */
#ifndef BENCH_RACE_H
#define BENCH_RACE_H

#include "shelf.h"

#define RACE_LANES_MAX 8u

struct race_plan {
    const struct shelf *shelf;
    const struct ops *ops; /* every reader begins at another place of it */
    uint32_t records;
    uint32_t readers;
    uint32_t writers;
    double seconds;
};

struct race_result {
    double reads_per_s;
    double writes_per_s;
    double cpu_ns; /* of a reader's thread for one read */
    uint64_t wrong;
};

HG_NODISCARD bool race_run(const struct race_plan *plan, struct race_result *ret_result);

#endif
