/* SPDX-License-Identifier: Apache-2.0 */
/* crowd: many GetOrLoad calls at once, and what each was answered.
 * Owns:     the record of answers.
 * Threads:  begin and wait from the test; answers come on the client's threads.
 * Limits:   CROWD_MAX calls; wait fails the test after 20 s.
 * Errors:   a call answered twice fails the test.
 * Not here: the server (daemon). */
#ifndef HG_TEST_CROWD_H
#define HG_TEST_CROWD_H

#include "base/lock.h"
#include "herdgate/client.h"
#include "hg_test.h"

#define CROWD_MAX 256

struct crowd_answer {
    struct crowd *crowd;
    int answers;
    enum hg_status status;
    enum hg_source error_source;
    enum hg_outcome outcome;
    enum hg_source source;
    bool is_fenced;
    uint64_t age_ms;
    struct hg_lease lease;
    char value[64];
    char text[HG_ERROR_TEXT_MAX];
};

struct crowd {
    struct hgi_lock lock;
    struct hgi_cond changed;
    size_t begun_count;
    size_t ended_count;
    struct crowd_answer answers[CROWD_MAX];
};

void crowd_init(struct crowd *crowd);
void crowd_deinit(struct crowd *crowd);
/* One more call; its answer will be at the returned place. */
struct crowd_answer *crowd_read(struct crowd *crowd, struct hg_client *client,
                                const struct hg_read *request);
/* Until every call begun has been answered. */
void crowd_wait(struct crowd *crowd);
/* Answered yet? */
bool crowd_is_answered(struct crowd *crowd, const struct crowd_answer *answer);
/* Until this one is. */
void crowd_wait_for(struct crowd *crowd, const struct crowd_answer *answer);

#endif
