/* SPDX-License-Identifier: Apache-2.0 */
/* work: what a critical section of the engine leaves to be done without its lock.
 * Owns:     the calls in its lists until they are answered or parked again.
 * Threads:  filled under the flight lock, run by the same thread after it.
 * Limits:   none; lists of nodes that are there already, so filling it cannot fail.
 * Errors:   every call in it is answered exactly once or looks again.
 * Not here: who goes into which list (flight, publish, invalidate). A door of this room only.
 *
 * Waiters are picked under the lock and answered after it (Varnish's rush, in two steps): no
 * callback, no executor and no second flight runs inside a critical section. */
#ifndef HGI_SERVER_CACHE_WORK_H
#define HGI_SERVER_CACHE_WORK_H

#include "base/list.h"
#include "base/lock.h"
#include "server/cache/cache.h"

/* An invalidation sees to so many of those it released before it is acknowledged; more are left to
 * the tick, some in each: each costs about 10 us, and nobody may wait for the OK of a clear because
 * many wait for a load. */
#define HGI_RELEASES_AT_ONCE 256u
#define HGI_RELEASES_A_TICK  2048u

#define HGI_RETRY_AFTER_MS 100u /* told to callers that were refused for want of room */

/* What is left to do once the lock is gone. */
struct hgi_work {
    struct hgi_node
        answered; /* calls that get `answer`; a beginner is told LOADED, others JOINED */
    struct hgi_answer answer;
    struct hgi_node kept; /* calls that get `kept_answer` */
    struct hgi_answer kept_answer;
    struct hg_bytes value;  /* the copy that one of the two answers borrows its value from */
    struct hgi_node leased; /* calls that lead now: each is told its lease */
    struct hgi_node timed_out;
    struct hgi_node refused; /* no room */
    struct hgi_node aborted; /* sent back to look too often */
    struct hgi_node killed;  /* by an administrator */
    struct hgi_node cancelled;
    struct hgi_node stopped;
    struct hgi_node again; /* calls that look again */
    struct hgi_node starts;
    struct hgi_node cancels;
};

void hgi_work_init(struct hgi_work *work);
/* Takes from `again` and `aborted` what an invalidation leaves to the tick. */
void hgi_work_leave(struct hgi_cache *cache, struct hgi_work *work, size_t released)
    HGI_REQUIRES(flight);
/* Puts there at most `max` of what was left. */
void hgi_work_take_late(struct hgi_cache *cache, struct hgi_work *work, size_t max)
    HGI_REQUIRES(flight);
/* Starts and cancels loads, answers calls, sends others to look again. Called without any lock. */
void hgi_work_run(struct hgi_cache *cache, struct hgi_work *work, const struct hgi_now *now)
    HGI_EXCLUDES(flight);

#endif
