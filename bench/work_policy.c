/* SPDX-License-Identifier: Apache-2.0 */
/* Hit ratios: our table and plain LRU, of the same capacity in entries, on the same requests. */
#include <stdio.h>

#include "base/metric.h"
#include "effort.h"
#include "lru.h"
#include "record.h"
#include "storage/table/table.h"
#include "trace.h"

#define KEYS         500000u
#define KEY_LEN      17u
#define SWEEP_MS     1000 /* of the trace's time */
#define SWEEP_BUDGET 1024u
#define BEGAN_MS     1000000000

struct tally {
    uint64_t reads;
    uint64_t hits;
    uint64_t wrong;
};

static double percent_of(const struct tally *tally)
{
    return tally->reads ? 100.0 * (double)tally->hits / (double)tally->reads : 0;
}

static bool insert(struct hgi_table *table, const struct trace_request *request,
                   const struct hgi_now *now)
{
    unsigned char key[KEY_LEN];
    unsigned char value[8];
    struct hgi_entry entry = {.key = hg_slice_of(key, sizeof(key)),
                              .value = hg_slice_of(value, sizeof(value)),
                              .outcome = HG_VALUE,
                              .born = 1,
                              .published_ms = now->boot_ms,
                              .ttl_ms = request->ttl_ms,
                              .stale_ttl_ms = request->ttl_ms};

    record_key(request->number, sizeof(key), key);
    record_value(request->number, sizeof(value), value);
    return hgi_table_insert(table, &entry, false) != HGI_NOT_STORED;
}

static bool ask_table(struct hgi_table *table, struct trace *trace, uint64_t requests,
                      struct tally *ret_tally)
{
    struct hgi_now now = {.boot_ms = BEGAN_MS, .wall_ms = BEGAN_MS};
    int64_t sweep_ms = 0;
    unsigned char key[KEY_LEN];
    struct hg_bytes value;
    bool is_good = true;

    hgi_bytes_init(&value, &hgi_heap);
    for (uint64_t i = 0; is_good && i < requests; i++) {
        struct trace_request request;
        struct hgi_found_entry found;
        bool is_hit = false;

        trace_next(trace, &request);
        now.boot_ms = now.wall_ms = BEGAN_MS + request.at_ms;
        if (request.at_ms >= sweep_ms) {
            (void)hgi_table_sweep(table, &now, SWEEP_BUDGET);
            sweep_ms += SWEEP_MS;
        }
        if (!request.is_write) {
            record_key(request.number, sizeof(key), key);
            is_hit = hgi_table_lookup(table, hg_slice_of(key, sizeof(key)), -1, &now, &value,
                                      &found) == HGI_FRESH;
            ret_tally->reads++;
            ret_tally->hits += is_hit;
            ret_tally->wrong +=
                is_hit && !record_value_is(request.number, 8, hgi_bytes_slice(&value));
        }
        is_good = is_hit || insert(table, &request, &now);
    }
    hgi_bytes_deinit(&value);
    return is_good;
}

static bool ask_lru(struct trace *trace, uint64_t requests, uint32_t capacity,
                    struct tally *ret_tally)
{
    struct lru lru;

    if (!lru_init(&lru, KEYS + (uint32_t)requests, capacity)) {
        return false;
    }
    for (uint64_t i = 0; i < requests; i++) {
        struct trace_request request;
        bool is_hit = false;

        trace_next(trace, &request);
        if (!request.is_write) {
            is_hit = lru_get(&lru, request.number, request.at_ms);
            ret_tally->reads++;
            ret_tally->hits += is_hit;
        }
        if (!is_hit) {
            lru_put(&lru, request.number, request.at_ms + request.ttl_ms);
        }
    }
    lru_deinit(&lru);
    return true;
}

static bool compare(const struct trace_profile *profile, uint64_t requests)
{
    uint32_t capacity = (uint32_t)(profile->capacity * KEYS);
    struct hgi_table_bounds bounds = {capacity, (size_t)capacity * 4096};
    struct hgi_metrics metrics = {0};
    struct hgi_table *table = hgi_table_create(&hgi_heap, &bounds, &metrics);
    struct tally ours = {0};
    struct tally peer = {0};
    struct trace trace;
    char name[64];
    bool is_good = table && trace_init(&trace, profile, KEYS);

    if (is_good) {
        is_good = ask_table(table, &trace, requests, &ours);
        trace_rewind(&trace);
        is_good = is_good && ask_lru(&trace, requests, capacity, &peer);
        trace_deinit(&trace);
    }
    if (table) {
        hgi_table_destroy(&table);
    }
    snprintf(name, sizeof(name), "policy_%s", profile->name);
    say(name, "ours", "percent", percent_of(&ours));
    say(name, "peer", "percent", percent_of(&peer));
    return (is_good && ours.wrong == 0) || effort_fault(name, "no memory, or a wrong value");
}

bool work_policy(const struct effort *effort)
{
    for (size_t i = 0; i < trace_profile_count; i++) {
        if (!compare(&trace_profiles[i], effort->is_quick ? 1000000 : 3000000)) {
            return false;
        }
    }
    return true;
}
