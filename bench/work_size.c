/* SPDX-License-Identifier: Apache-2.0 */
/* What size does: the cost of a hit from 10 thousand to 10 million entries, and memory for each. */
#include <malloc.h>
#include <stdio.h>

#include "effort.h"
#include "race.h"
#include "ticks.h"

#define OPS         262144u
#define RSS_RECORDS 1000000u
#define PEER_MAX    1000000u /* beyond it GHashTable takes longer to fill than it tells */

static bool measure(const struct effort *effort, const struct shelf_kind *kind, const char *side,
                    uint32_t records)
{
    char name[32];
    struct samples samples = {.work = name, .side = side, .unit = "ns"};
    struct shelf shelf = {0};
    struct ops ops = {0};
    bool is_good = ops_init(&ops, OPS, records, NULL, records) && shelf_fill(&shelf, kind, records);

    snprintf(name, sizeof(name), "growth_%u", records);
    for (uint32_t i = 0; is_good && i < effort->repeats; i++) {
        struct race_plan plan = {&shelf, &ops, records, 1, 0, effort->seconds / 2};
        struct race_result result;

        is_good = race_run(&plan, &result) && result.wrong == 0;
        samples_add(&samples, result.cpu_ns);
    }
    shelf_close(&shelf);
    ops_deinit(&ops);
    malloc_trim(0);
    if (is_good) {
        samples_say(&samples);
    }
    return is_good || effort_fault(name, "no memory, or a wrong read");
}

bool work_growth(const struct effort *effort)
{
    static const uint32_t sizes[] = {10000, 30000, 100000, 300000, 1000000, 3000000, 10000000};
    size_t count = sizeof(sizes) / sizeof(sizes[0]) - (effort->is_quick ? 2 : 0);

    for (size_t i = 0; i < count; i++) {
        if (!measure(effort, &shelf_table, "ours", sizes[i]) ||
            !measure(effort, &shelf_bare, "bare", sizes[i]) ||
            !measure(effort, &shelf_chained, "chained", sizes[i]) ||
            (sizes[i] <= PEER_MAX && !measure(effort, &shelf_ghash, "peer", sizes[i]))) {
            return false;
        }
    }
    return true;
}

/* Of the table alone, in a process that has done nothing else. */
bool work_rss(const struct effort *effort)
{
    uint64_t before = ticks_rss_bytes(0);
    struct shelf shelf = {0};

    (void)effort;
    if (!shelf_fill(&shelf, &shelf_table, RSS_RECORDS)) {
        return effort_fault("rss", "no memory");
    }
    say("rss_table", "ours", "bytes", (double)(ticks_rss_bytes(0) - before) / RSS_RECORDS);
    shelf_close(&shelf);
    return true;
}
