/* SPDX-License-Identifier: Apache-2.0 */
#include "trace.h"

#define SEED 20200301u

const struct trace_profile trace_profiles[] = {
#define PROFILE_ROW(name, cluster, alpha, capacity, writes, once, ...)                             \
    {name, cluster, alpha, capacity, writes, once, {__VA_ARGS__}},
#include "profiles.def"
#undef PROFILE_ROW
};
const size_t trace_profile_count = sizeof(trace_profiles) / sizeof(trace_profiles[0]);

bool trace_init(struct trace *trace, const struct trace_profile *profile, uint32_t keys)
{
    trace->profile = profile;
    if (!zipf_init(&trace->zipf, keys, profile->alpha)) {
        return false;
    }
    trace_rewind(trace);
    return true;
}

void trace_deinit(struct trace *trace)
{
    zipf_deinit(&trace->zipf);
}

void trace_rewind(struct trace *trace)
{
    trace->draw = draw_seeded(SEED);
    trace->next_once = trace->zipf.count;
    trace->count = 0;
}

static int64_t ttl_of(const struct trace_profile *profile, uint32_t number)
{
    struct draw draw = draw_seeded((uint64_t)number + 1);
    uint32_t seconds = profile->ttls[0].seconds;
    double share;

    (void)draw_bits(&draw);
    share = draw_share(&draw);
    for (size_t i = 0; i < TRACE_TTLS_MAX && profile->ttls[i].seconds && share >= 0; i++) {
        seconds = profile->ttls[i].seconds;
        share -= profile->ttls[i].share;
    }
    return (int64_t)seconds * 1000;
}

void trace_next(struct trace *trace, struct trace_request *ret_request)
{
    bool is_once = draw_share(&trace->draw) < trace->profile->once;

    ret_request->number = is_once
                              ? trace->next_once++
                              : zipf_scatter(&trace->zipf, zipf_draw(&trace->zipf, &trace->draw));
    ret_request->is_write = draw_share(&trace->draw) < trace->profile->writes;
    ret_request->at_ms = (int64_t)(trace->count++ * 1000 / TRACE_PER_S);
    ret_request->ttl_ms = ttl_of(trace->profile, ret_request->number);
}
