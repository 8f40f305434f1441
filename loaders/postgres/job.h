/* SPDX-License-Identifier: Apache-2.0 */
/* job: loads that one query answers.
 * Owns:     its memory; the loads are the host's.
 * Threads:  made by the thread of `load`, then the pump's alone.
 * Limits:   JOB_LOADS_MAX loads.
 * Errors:   a load that cannot be asked for is done at once.
 * Not here: sending it (link), what the rows say (answer). */
#ifndef HG_LOADERS_POSTGRES_JOB_H
#define HG_LOADERS_POSTGRES_JOB_H

#include "settings.h"

#define JOB_LOADS_MAX 64
#define JOB_PARTS_MAX 3

struct job_load {
    struct hg_load *load;
    const struct hg_load_request *request; /* gone once it is done */
    bool is_done;
    int64_t until_ms; /* monotonic */
};

struct job {
    struct job *next; /* in a list of the pump's, or a link's */
    const struct hg_host_services *services;
    enum hg_key_kind kind; /* of all its keys */
    enum query query;
    size_t count;
    struct job_load loads[JOB_LOADS_MAX];
    struct text lists[JOB_PARTS_MAX]; /* the keys' parts as arrays */
    bool is_broken; /* memory ran out in the lists, which would name other keys then */
    unsigned tries;
    bool is_answered; /* by the database */
};

/* NULL: no memory, and no load is done. */
struct job *job_create(const struct hg_host_services *services, enum hg_key_kind kind,
                       enum query query);
/* Every load is done. */
void job_destroy(struct job **job);
/* False: the load's key cannot be asked for, or memory is out; it is done. */
bool job_add(struct job *job, struct hg_load *load, const struct hg_load_request *request,
             int64_t now_ms);
/* The lists are complete. False: no memory. */
HG_NODISCARD bool job_close(struct job *job);
/* Ends those not done yet. */
void job_fail(struct job *job, enum hg_status status, const char *text);
/* Ends those whose time is up, and if `look` those that nobody wants. True: none is left. */
bool job_expire(struct job *job, bool look, int64_t now_ms);
/* When the next one's time is up; INT64_MAX: none is left. */
int64_t job_due_ms(const struct job *job);

#endif
