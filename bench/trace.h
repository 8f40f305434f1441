/* SPDX-License-Identifier: Apache-2.0 */
/* trace: a run of requests with the shape of a workload, the same for all who are asked.
 * Owns:     its Zipf table, until deinit.
 * Threads:  one at a time.
 * Limits:   TRACE_TTLS_MAX times to live; keys that come once are numbered behind the others.
 * Errors:   init: false when memory is out.
 * Not here: who caches (work_policy), what the profiles are (profiles.def). */
#ifndef BENCH_TRACE_H
#define BENCH_TRACE_H

#include "draw.h"

#define TRACE_TTLS_MAX 8u
#define TRACE_PER_S    1000u /* requests in a second of the trace */

struct trace_ttl {
    uint32_t seconds;
    double share;
};

struct trace_profile {
    const char *name;
    unsigned cluster; /* of the published set; 0: none */
    double alpha;
    double capacity;
    double writes;
    double once;
    struct trace_ttl ttls[TRACE_TTLS_MAX];
};

extern const struct trace_profile trace_profiles[];
extern const size_t trace_profile_count;

struct trace_request {
    uint32_t number; /* of the record */
    bool is_write;
    int64_t at_ms;
    int64_t ttl_ms; /* follows from the number */
};

struct trace {
    const struct trace_profile *profile;
    struct zipf zipf;
    struct draw draw;
    uint32_t next_once;
    uint64_t count;
};

HG_NODISCARD bool trace_init(struct trace *trace, const struct trace_profile *profile,
                             uint32_t keys);
void trace_deinit(struct trace *trace);
/* From the first request again. */
void trace_rewind(struct trace *trace);
void trace_next(struct trace *trace, struct trace_request *ret_request);

#endif
