/* SPDX-License-Identifier: Apache-2.0 */
/* section: one loader section: its queue, its children, its restarts.
 * Owns:     the loads not yet sent; which child is the next, the current, a draining one.
 * Threads:  loader-io. No lock is held here; the engine is called from here.
 * Limits:   at most one starting, one current and one draining child that is not killed; none is
 * started while HGI_STUCK_MAX that were killed do not end.
 * Errors:   a section without a process ends its loads UNAVAILABLE with a time to come back.
 * Not here: the process (child), the count over all sections (admission), other threads (inbox). */
#ifndef HGI_SERVER_LOADER_SECTION_H
#define HGI_SERVER_LOADER_SECTION_H

#include "base/hash.h"
#include "server/loader/admission.h"
#include "server/loader/breaker.h"
#include "server/loader/child.h"
#include "server/loader/inbox.h"

#define HGI_READY_MS        10000 /* a child has this long to open its plugin */
#define HGI_OVERDUE_MS      1000  /* from Cancel, or from a load's time out, to a new child */
#define HGI_LINGER_MS       5000  /* a draining child without loads ends within it */
#define HGI_ENDING_MS       1000  /* a killed child that has not ended by then is stuck */
#define HGI_STUCK_LOOK_MS   1000  /* from one look at a stuck child to the next */
#define HGI_STUCK_MAX       4u
#define HGI_BACKOFF_MIN_MS  100
#define HGI_BACKOFF_MAX_MS  10000
#define HGI_LOG_LINES_MAX   100 /* of one child in HGI_LOG_WINDOW_MS */
#define HGI_LOG_WINDOW_MS   1000
#define HGI_HEARD_MAX       5000 /* invalidations of one loader in HGI_HEARD_WINDOW_MS, one by one */
#define HGI_HEARD_WINDOW_MS 1000
#define HGI_HEALTHY_MS      60000 /* a child that lived this long starts the back-off anew */
#define HGI_HEALTH_MS       2000  /* from an answer to the next question how it is */
#define HGI_HEALTH_LATE_MS  3000  /* no answer by then is a bad one */

/* What all sections share. */
struct hgi_pool {
    const struct hgi_supervisor_options *options;
    int epoll_fd;
    struct hgi_inbox *inbox;
    struct hgi_admission admission;
    struct hgi_node children; /* of every section, until reaped */
    struct hgi_hash_key hash_key;
    struct hgi_hearer hearer; /* hear NULL: nobody yet */
    uint64_t wire_id_last;    /* load ids are per cache, these are not */
    bool is_stopping;
};

struct hgi_section {
    struct hgi_pool *pool;
    const struct hgi_loader_config *config;  /* of the child that serves, or served last */
    const struct hgi_loader_config *pending; /* it may become: `next` is of it; NULL: the same */
    bool is_newcomer;                        /* it serves nobody before a first swap */
    struct hgi_seat seat;
    struct hgi_breaker breaker;
    struct hgi_node queue;
    uint64_t queued;
    struct hgi_child *current; /* gets the loads; NULL: none is ready */
    struct hgi_child *next;    /* is starting */
    struct hgi_reload *reload; /* who waits for `next` */
    int64_t respawn_ms;        /* 0: not in back-off */
    int64_t backoff_ms;        /* the next pause; 0: the next respawn is immediate */
    bool has_failed;           /* the last start failed */
    uint64_t epoch;            /* reloads; what a child of an older one gives is outdated */
    int64_t heard_window_ms;
    uint32_t heard_count; /* invalidations in the window */
    bool has_misheard;    /* one in the window was of no cache */
    bool owes_all;        /* everything its caches hold is to be invalidated */
    uint64_t started_count;
    uint64_t deaths;
    uint32_t abi;
    char version[64];
    char message[HGI_CHILD_MESSAGE_MAX];
};

void hgi_section_init(struct hgi_section *section, struct hgi_pool *pool,
                      const struct hgi_loader_config *config);
/* In a place where none counts yet; a child of one that was abandoned there may still be ending. */
void hgi_section_init_newcomer(struct hgi_section *section, struct hgi_pool *pool,
                               const struct hgi_loader_config *config);
/* A child is needed now: the first one, or the pause is over. Its plugin is open when `current` is
 * set; `has_failed` says it will not be. */
void hgi_section_start(struct hgi_section *section, const struct hgi_now *now);
/* Takes the load into the queue, or ends it at once. */
void hgi_section_enqueue(struct hgi_section *section, struct hgi_load *load,
                         const struct hgi_now *now);
void hgi_section_cancel(struct hgi_section *section, struct hgi_load *load,
                        const struct hgi_now *now);
/* Takes the request. With a configuration, the child it begins is held when it is open, until one
 * of the next two; without, it takes over. */
void hgi_section_reload(struct hgi_section *section, struct hgi_reload *reload,
                        const struct hgi_now *now);
/* `config`, which was prepared, is the section's: the held child takes over. One that has died
 * since is begun again, as any that dies. */
void hgi_section_swap(struct hgi_section *section, const struct hgi_loader_config *config,
                      const struct hgi_now *now);
/* It is not: all is as before. */
void hgi_section_abandon(struct hgi_section *section);
/* A load is waiting, the current child has a place for it, and it need not wait for others. */
bool hgi_section_is_ready(const struct hgi_section *section, int64_t now_us);
/* Until when (boot clock) the oldest load waits for others to share its call; 0: it does not. */
int64_t hgi_section_window_us(const struct hgi_section *section);
/* Sends the oldest load, and in the same call those of its cache that may go too; is_ready, and
 * admission has been taken for one. */
void hgi_section_send(struct hgi_section *section, const struct hgi_now *now);
/* Something is to be read from the child. */
void hgi_section_read(struct hgi_child *child);
/* The child's process may have ended. */
void hgi_section_reap(struct hgi_child *child, const struct hgi_now *now);
/* The current child drains and a new one is started. */
void hgi_section_replace(struct hgi_section *section, const char *why, const struct hgi_now *now);
/* What time brings: a respawn, a start that takes too long. */
void hgi_section_tick(struct hgi_section *section, const struct hgi_now *now);
/* The same for one child: overdue loads, the end of a drain. */
void hgi_section_tick_child(struct hgi_child *child, const struct hgi_now *now);
/* When the next tick has something to do; INT64_MAX: never. */
int64_t hgi_section_due_ms(const struct hgi_section *section);
int64_t hgi_section_child_due_ms(const struct hgi_child *child, int64_t now_ms);
/* No more loads: the queue ends CANCELLED, the children drain. */
void hgi_section_stop(struct hgi_section *section, const struct hgi_now *now);
void hgi_section_state(const struct hgi_section *section, struct hgi_loader_state *ret_state);

/* There is a hearer now: what was said before is told to it. */
void hgi_section_begin_hearing(struct hgi_section *section, const struct hgi_now *now);

/* ---- between section.c, section_said.c (what a child says), section_time.c (what time brings) and
 * section_send.c, section_health.c, section_judge.c (the breaker), section_heard.c
 * (invalidations) and section_stuck.c (children that do not end)
 * ---- */

static inline const char *hgi_section_name(const struct hgi_section *section)
{
    return section->config->name;
}

/* The load leaves its child and its place; its memory is gone after. */
void hgi_section_forget(struct hgi_pool *pool, struct hgi_section *section, struct hgi_load *load);
/* The current child gets no more loads. Only one may drain: an older one has had its time. */
void hgi_section_retire(struct hgi_section *section, const struct hgi_now *now);
/* The child is open and well: it is held, or promoted. */
void hgi_section_settle(struct hgi_child *child, const struct hgi_now *now);
/* It becomes the current one; the one before drains. */
void hgi_section_promote(struct hgi_child *child, const struct hgi_now *now);
void hgi_section_answer_reload(struct hgi_section *section, enum hg_status status, const char *why);
/* Its plugin can be asked, and has no question open. */
void hgi_section_ask_health(struct hgi_child *child, const struct hgi_now *now);
/* NULL, or why the frame is out of place. */
const char *hgi_section_take_health(struct hgi_child *child, const struct hgi_frame_health *health);
void hgi_section_tick_health(struct hgi_child *child, const struct hgi_now *now);
int64_t hgi_section_health_due_ms(const struct hgi_child *child, int64_t now_ms);
/* A load of it has used up its time; nothing new is put to a process that owes answers. */
bool hgi_section_is_overdue(const struct hgi_child *child, int64_t now_ms);

/* A child says that this is no longer so. */
void hgi_section_hear(struct hgi_section *section, const struct hgi_frame_invalidate *what,
                      const struct hgi_now *now);
void hgi_section_tick_heard(struct hgi_section *section, const struct hgi_now *now);
int64_t hgi_section_heard_due_ms(const struct hgi_section *section);

/* False: the breaker is open, and the load has ended. True: it may go, perhaps as the probe. */
HG_NODISCARD bool hgi_section_admit(struct hgi_section *section, struct hgi_load *load,
                                    const struct hgi_now *now);
/* A probe that ended without having been sent. */
void hgi_section_drop_probe(struct hgi_section *section, struct hgi_load *load);
/* A load that was sent ends like this, is cancelled (late, or because nobody wants it), is lost. */
void hgi_section_judge(struct hgi_section *section, struct hgi_load *load, enum hg_status status,
                       const struct hgi_now *now);
void hgi_section_judge_cancel(struct hgi_section *section, struct hgi_load *load,
                              const struct hgi_now *now);
void hgi_section_judge_lost(struct hgi_section *section, struct hgi_load *load,
                            const struct hgi_now *now);
/* The process that served has died. */
void hgi_section_judge_death(struct hgi_section *section, const struct hgi_now *now);
/* Closes it and forgets; a probe under way is an ordinary load from here on. */
void hgi_section_close_breaker(struct hgi_section *section);

/* The child does nothing for its section any more, and what it was to it another may be. */
void hgi_section_part(struct hgi_child *child, const struct hgi_now *now);
/* One that should have ended: it is waited for, then left behind, then looked after. */
void hgi_section_tick_ending(struct hgi_child *child, const struct hgi_now *now);
int64_t hgi_section_ending_due_ms(const struct hgi_child *child);
/* How many children of the section were killed and do not end. */
uint32_t hgi_section_stuck_count(const struct hgi_section *section);

/* Ends a load that was never sent. */
void hgi_section_refuse(struct hgi_section *section, struct hgi_load *load, enum hg_status status,
                        const char *text, uint32_t retry_after_ms, const struct hgi_now *now);

#endif
