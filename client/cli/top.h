/* SPDX-License-Identifier: Apache-2.0 */
/* top: how a server is at one moment, and since the moment before, as text or JSON.
 * Owns:     a sample's names and replies, until its deinit.
 * Threads:  one.
 * Limits:   none of its own.
 * Errors:   what the server's calls say; no memory ends the process.
 * Not here: the screen (screen), when to look again (verb_top). */
#ifndef HGI_CLI_TOP_H
#define HGI_CLI_TOP_H

#include "client/cli/cli.h"
#include "client/cli/output.h"

struct hgi_top_cache {
    char *name; /* owned */
    uint64_t reads;
    uint64_t hits; /* of these: fresh, stale or negative, from the cache */
    uint64_t loads;
    uint64_t errors;
    uint64_t stale; /* answers with an old value */
    uint64_t in_flight;
    uint64_t waiting;
    uint64_t load_p50_ms;
    uint64_t load_p99_ms;
    uint64_t entries;
    uint64_t bytes;
};

/* Counts are since the server's start. */
struct hgi_top_sample {
    int64_t at_ms; /* boot clock */
    enum hg_health health;
    char health_text[HG_ERROR_TEXT_MAX];
    uint64_t uptime_ms;
    uint64_t requests;
    uint64_t connections;
    struct hgi_top_cache *caches;
    size_t cache_count;
    struct hg_loaders loaders;
};

/* What the caches are sorted by, in the order of the table's columns. */
enum hgi_top_column {
    HGI_TOP_NAME,
    HGI_TOP_RATIO,
    HGI_TOP_READS,
    HGI_TOP_LOADS,
    HGI_TOP_ERRORS,
    HGI_TOP_STALE,
    HGI_TOP_IN_FLIGHT,
    HGI_TOP_P99,
    HGI_TOP_ENTRIES,
    HGI_TOP_BYTES,
    HGI_TOP_COLUMN_COUNT
};

struct hgi_top_view {
    enum hgi_top_column sort; /* names rise, numbers fall */
    bool is_reversed;
    bool has_totals; /* also where there is a sample before */
};

/* Asks for health, counters and loaders. */
HG_NODISCARD enum hg_status hgi_top_take(struct hgi_cli *cli, uint32_t timeout_ms,
                                         struct hgi_top_sample *ret_sample,
                                         struct hg_error *ret_error);
void hgi_top_sample_deinit(struct hgi_top_sample *sample);

/* A line about the server, the caches, the loaders. With `before` (which may be NULL) and without
 * has_totals the ratio and the counts are of the time between the two, a second. */
void hgi_top_write(FILE *file, const struct hgi_top_sample *sample,
                   const struct hgi_top_sample *before, const struct hgi_top_view *view);
/* Returns owned. */
json_t *hgi_top_json(const struct hgi_top_sample *sample);
const char *hgi_top_column_name(enum hgi_top_column column);

#endif
