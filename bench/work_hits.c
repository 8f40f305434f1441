/* SPDX-License-Identifier: Apache-2.0 */
/* Hits in process: one and two threads, in batches, and beside a writer. */
#include <stdio.h>

#include "effort.h"
#include "race.h"
#include "ticks.h"

#define RECORDS 1000000u
#define OPS     262144u /* reads before they repeat */
#define ALPHA   0.99

static bool sample(const struct effort *effort, const struct shelf *shelf, const struct ops *ops,
                   uint32_t readers, uint32_t writers, struct race_result *ret_result)
{
    struct race_plan plan = {shelf, ops, RECORDS, readers, writers, effort->seconds};

    if (!race_run(&plan, ret_result)) {
        return effort_fault("hits", "no thread");
    }
    return ret_result->wrong == 0 || effort_fault("hits", "a read did not find its record");
}

/* Ours and the peer in turn. */
static bool compare(const struct effort *effort, const char *name, const struct shelf *ours,
                    const struct shelf *peer, const struct ops *ops, uint32_t readers)
{
    char cpu[48];
    struct samples figures[4] = {{.work = name, .side = "ours", .unit = "reads/s"},
                                 {.work = name, .side = "peer", .unit = "reads/s"},
                                 {.work = cpu, .side = "ours", .unit = "ns"},
                                 {.work = cpu, .side = "peer", .unit = "ns"}};

    snprintf(cpu, sizeof(cpu), "%s_cpu", name);
    for (uint32_t i = 0; i < effort->repeats; i++) {
        for (size_t side = 0; side < 2; side++) {
            struct race_result result;

            if (!sample(effort, side ? peer : ours, ops, readers, 0, &result)) {
                return false;
            }
            samples_add(&figures[side], result.reads_per_s);
            samples_add(&figures[side + 2], result.cpu_ns);
        }
    }
    for (size_t i = 0; i < 4; i++) {
        samples_say(&figures[i]);
    }
    return true;
}

static bool compare_all(const struct effort *effort, const struct shelf *ours,
                        const struct shelf *peer, const struct ops *zipf, const struct ops *uniform)
{
    struct shelf batch = {&shelf_table_batch, ours->self};

    return compare(effort, "hit_1_zipf", ours, peer, zipf, 1) &&
           compare(effort, "hit_1_uniform", ours, peer, uniform, 1) &&
           compare(effort, "hit_2_zipf", ours, peer, zipf, 2) &&
           compare(effort, "hit_2_uniform", ours, peer, uniform, 2) &&
           compare(effort, "batch_zipf", &batch, peer, zipf, 1) &&
           compare(effort, "batch_uniform", &batch, peer, uniform, 1);
}

bool work_hits(const struct effort *effort)
{
    struct ops zipf_ops = {0};
    struct ops uniform_ops = {0};
    struct shelf ours = {0};
    struct shelf peer = {0};
    struct zipf zipf = {0};
    bool is_good =
        zipf_init(&zipf, RECORDS, ALPHA) && ops_init(&zipf_ops, OPS, RECORDS, &zipf, 1) &&
        ops_init(&uniform_ops, OPS, RECORDS, NULL, 2) && shelf_fill(&ours, &shelf_table, RECORDS) &&
        shelf_fill(&peer, &shelf_ghash, RECORDS);

    is_good = is_good ? compare_all(effort, &ours, &peer, &zipf_ops, &uniform_ops)
                      : effort_fault("hits", "no memory");
    shelf_close(&ours);
    shelf_close(&peer);
    ops_deinit(&zipf_ops);
    ops_deinit(&uniform_ops);
    zipf_deinit(&zipf);
    return is_good;
}

/* Two readers, and then four with a writer that never pauses. */
bool work_mixed(const struct effort *effort)
{
    struct samples mixed = {.work = "mixed", .side = "ours", .unit = "reads/s"};
    struct samples alone = {.work = "mixed", .side = "peer", .unit = "reads/s"};
    struct samples writes = {.work = "mixed_writes", .side = "ours", .unit = "writes/s"};
    struct ops ops = {0};
    struct shelf shelf = {0};
    bool is_good =
        ops_init(&ops, OPS, RECORDS, NULL, 3) && shelf_fill(&shelf, &shelf_table, RECORDS);

    for (uint32_t i = 0; is_good && i < effort->repeats; i++) {
        struct race_result result;

        is_good = sample(effort, &shelf, &ops, 4, 1, &result);
        samples_add(&mixed, result.reads_per_s);
        samples_add(&writes, result.writes_per_s);
        is_good = is_good && sample(effort, &shelf, &ops, 2, 0, &result);
        samples_add(&alone, result.reads_per_s);
    }
    shelf_close(&shelf);
    ops_deinit(&ops);
    samples_say(&mixed);
    samples_say(&alone);
    samples_say(&writes);
    return is_good;
}

/* get_or_load that hits, in turn with whoever writes the lines. */
bool work_get_or_load(const struct effort *effort)
{
    struct ops ops = {0};
    struct shelf shelf = {0};
    struct zipf zipf = {0};
    char line[64];
    bool is_good = zipf_init(&zipf, RECORDS, ALPHA) && ops_init(&ops, OPS, RECORDS, &zipf, 1) &&
                   shelf_fill(&shelf, &shelf_cache, RECORDS);

    if (!is_good) {
        return effort_fault("get_or_load", "no memory");
    }
    printf("{\"ready\": true}\n");
    fflush(stdout);
    while (is_good && fgets(line, sizeof(line), stdin)) {
        struct race_result result;

        is_good = sample(effort, &shelf, &ops, 1, 0, &result);
        say("get_or_load", "ours", "ns", result.cpu_ns);
    }
    shelf_close(&shelf);
    ops_deinit(&ops);
    zipf_deinit(&zipf);
    return is_good;
}
