/* SPDX-License-Identifier: Apache-2.0 */
/* supervisor_inside: what running the loaders and changing them share.
 * Owns:     struct hgi_supervisor.
 * Threads:  as the fields say.
 * Limits:   none of its own.
 * Errors:   none of its own.
 * Not here: anything the server may see (supervisor.h). */
#ifndef HGI_SERVER_LOADER_SUPERVISOR_INSIDE_H
#define HGI_SERVER_LOADER_SUPERVISOR_INSIDE_H

#include "base/thread.h"
#include "server/loader/section.h"

#define HGI_VALUE_TYPE_COUNT 3u

/* What an executor's calls carry: which section, and what its loads must give. */
struct hgi_entrance {
    struct hgi_supervisor *supervisor;
    size_t section;
    enum hg_value_type value_type;
};

/* A section that is to be as another configuration says. */
struct hgi_prepared {
    size_t section;
    const struct hgi_loader_config *config;
};

/* On what is prepared; loader-io carries it out. */
enum hgi_verdict {
    HGI_VERDICT_NONE,
    HGI_VERDICT_SWAP,
    HGI_VERDICT_ABANDON,
};

struct hgi_supervisor {
    /* set once */
    const struct hgi_supervisor_options *options;
    struct hgi_entrance *entrances; /* HGI_LOADERS_MAX, one for each section and value type */
    const char **names;             /* of sections; each set before it counts, never after */
    struct hgi_thread thread;
    struct hgi_source inbox_source;
    struct hgi_inbox inbox; /* its lock guards what is marked below */

    _Atomic size_t section_count; /* who sees a section counted sees it whole */

    /* the thread's that changes loaders, and loader-io's while that waits for it */
    struct hgi_prepared prepared[HGI_LOADERS_MAX];
    size_t prepared_count;
    size_t newcomer_count; /* of these, in places behind the counted ones */

    /* loader-io's */
    struct hgi_pool pool;
    struct hgi_section *sections; /* HGI_LOADERS_MAX */
    size_t place_count;           /* of these, in use: the counted ones, and newcomers */
    size_t next_section;          /* whose turn it is */
    int64_t kill_ms;

    struct hgi_cond changed;
    struct hgi_loader_state *states HGI_GUARDED_BY(loader);
    size_t settled HGI_GUARDED_BY(loader); /* sections whose first start has an end */
    bool has_failed HGI_GUARDED_BY(loader);
    char failure[HGI_SUPERVISOR_SENTENCE_MAX] HGI_GUARDED_BY(loader);
    struct hgi_hearer hearer HGI_GUARDED_BY(loader);
    bool is_hearing HGI_GUARDED_BY(loader); /* loader-io has taken the hearer */
    enum hgi_verdict verdict HGI_GUARDED_BY(loader);
    bool is_stopping HGI_GUARDED_BY(loader);
    int64_t drain_ms HGI_GUARDED_BY(loader);
};

static inline size_t hgi_supervisor_sections(const struct hgi_supervisor *supervisor)
{
    return atomic_load_explicit(&((struct hgi_supervisor *)(uintptr_t)supervisor)->section_count,
                                memory_order_acquire);
}

/* The section's names for the executors; nobody counts it yet. */
void hgi_supervisor_name_section(struct hgi_supervisor *supervisor, size_t section,
                                 const char *name);
/* Among the first `count`; `count`: there is none. */
size_t hgi_supervisor_find(const struct hgi_supervisor *supervisor, size_t count,
                           struct hg_slice name);
/* loader-io: mail of a reload, and a verdict if there is one. */
void hgi_supervisor_take_reload(struct hgi_supervisor *supervisor, struct hgi_reload *reload,
                                const struct hgi_now *now);
void hgi_supervisor_take_verdict(struct hgi_supervisor *supervisor, const struct hgi_now *now);

#endif
