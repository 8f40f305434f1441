/* SPDX-License-Identifier: Apache-2.0 */
#include "race.h"

#include <stdatomic.h>
#include <time.h>

#include "base/thread.h"
#include "ticks.h"

#define CHUNK 512u

struct lane {
    const struct race_plan *plan;
    atomic_bool *is_over;
    uint32_t index;
    bool is_writer;
    uint64_t count;
    uint64_t right;
    uint64_t cpu_ns;
    uint64_t ns;
    struct hgi_thread thread;
};

static void write_lane(struct lane *lane)
{
    struct draw draw = draw_seeded(lane->index + 100);
    const struct shelf *shelf = lane->plan->shelf;

    while (!atomic_load_explicit(lane->is_over, memory_order_relaxed)) {
        for (unsigned i = 0; i < 64; i++) {
            lane->right += shelf->kind->put(shelf->self, draw_below(&draw, lane->plan->records));
            lane->count++;
        }
    }
}

static void read_lane(struct lane *lane)
{
    const struct ops *ops = lane->plan->ops;
    const struct shelf *shelf = lane->plan->shelf;
    size_t chunks = ops->count / CHUNK;
    size_t at = lane->index * chunks / RACE_LANES_MAX;
    struct hg_bytes scratch;

    hgi_bytes_init(&scratch, &hgi_heap);
    while (!atomic_load_explicit(lane->is_over, memory_order_relaxed)) {
        lane->right += shelf->kind->get(shelf->self, ops, at * CHUNK, CHUNK, &scratch);
        lane->count += CHUNK;
        at = at + 1 == chunks ? 0 : at + 1;
    }
    hgi_bytes_deinit(&scratch);
}

static void run_lane(void *arg)
{
    struct lane *lane = arg;
    uint64_t cpu_ns = ticks_thread_cpu_ns();
    uint64_t ns = ticks_now_ns();

    if (lane->is_writer) {
        write_lane(lane);
    } else {
        read_lane(lane);
    }
    lane->ns = ticks_now_ns() - ns;
    lane->cpu_ns = ticks_thread_cpu_ns() - cpu_ns;
}

static void wait_s(double seconds)
{
    struct timespec time = {.tv_sec = (time_t)seconds,
                            .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};

    nanosleep(&time, NULL);
}

static void add_up(const struct lane *lanes, uint32_t count, struct race_result *ret_result)
{
    uint64_t reads = 0;
    uint64_t cpu_ns = 0;

    *ret_result = (struct race_result){0};
    for (uint32_t i = 0; i < count; i++) {
        double per_s = (double)lanes[i].count * 1e9 / (double)lanes[i].ns;

        ret_result->wrong += lanes[i].count - lanes[i].right;
        if (lanes[i].is_writer) {
            ret_result->writes_per_s += per_s;
        } else {
            ret_result->reads_per_s += per_s;
            reads += lanes[i].count;
            cpu_ns += lanes[i].cpu_ns;
        }
    }
    ret_result->cpu_ns = reads ? (double)cpu_ns / (double)reads : 0;
}

bool race_run(const struct race_plan *plan, struct race_result *ret_result)
{
    struct lane lanes[RACE_LANES_MAX];
    uint32_t count = plan->readers + plan->writers;
    atomic_bool is_over = false;
    uint32_t started = 0;

    for (uint32_t i = 0; i < count && i < RACE_LANES_MAX; i++, started++) {
        lanes[i] = (struct lane){
            .plan = plan, .is_over = &is_over, .index = i, .is_writer = i >= plan->readers};
        if (!hgi_thread_start(&lanes[i].thread, "lane", run_lane, &lanes[i])) {
            break;
        }
    }
    if (started == count) {
        wait_s(plan->seconds);
    }
    atomic_store(&is_over, true);
    for (uint32_t i = 0; i < started; i++) {
        hgi_thread_join(&lanes[i].thread);
    }
    add_up(lanes, started, ret_result);
    return started == count;
}
