/* SPDX-License-Identifier: Apache-2.0 */
/* inbox: how other threads hand loads, cancels and reloads to loader-io.
 * Owns:     every load from its start until hgi_inbox_end.
 * Threads:  start, cancel and reload from any; the rest from loader-io.
 * Limits:   memory; a load that finds none is remembered (HGI_INBOX_REFUSED_MAX) and ended by
 *           loader-io, for start may not call the engine.
 * Errors:   none of its own.
 * Not here: what is done with them (section). */
#ifndef HGI_SERVER_LOADER_INBOX_H
#define HGI_SERVER_LOADER_INBOX_H

#include "base/list.h"
#include "base/lock.h"
#include "base/map.h"
#include "server/loader/supervisor.h"

#define HGI_INBOX_REFUSED_MAX 256u

struct hgi_child;

/* One started load. */
struct hgi_load {
    /* guarded by the inbox */
    struct hgi_map_node by_order;
    struct hgi_node cancel_node;
    bool is_cancelled;
    bool is_held; /* by the thread that started it (hgi_inbox_hold) */
    /* in the inbox, then loader-io's: a section's queue or a child's loads */
    struct hgi_node node;
    /* set once */
    struct hgi_cache *cache;
    uint64_t load_id;
    size_t section;
    enum hg_value_type value_type;
    uint32_t attempt;
    int64_t timeout_ms;
    int64_t slow_ms; /* 0: no time is */
    uint64_t key_hash;
    struct hgi_trace trace;
    /* loader-io's */
    struct hgi_child *child; /* NULL: not sent */
    struct hgi_node mates;   /* ring of those sent in one call and not ended */
    int64_t queued_us;       /* when it came, if there is a batch window */
    uint64_t wire_id;
    int64_t sent_ms;
    int64_t cancel_ms; /* 0: no Cancel sent */
    bool is_counted;   /* holds its place in admission */
    bool is_probe;     /* an open breaker let it through to learn from it */
    bool is_judged;    /* the breaker has heard how it ended */
    struct hg_slice key;
    bool has_old; /* the two below are of what is cached now */
    struct hg_slice old_value;
    struct hg_slice etag;
    size_t bytes_len;
    unsigned char bytes[]; /* of the three slices */
};

struct hgi_reload {
    struct hgi_node node;
    size_t section;
    const struct hgi_loader_config *config; /* it may become; NULL: as it is */
    void (*done)(void *context, enum hg_status status, const char *sentence,
                 const struct hgi_loader_state *state);
    void *context;
};

/* A load that found no memory. */
struct hgi_refused {
    struct hgi_cache *cache;
    uint64_t load_id;
};

struct hgi_inbox {
    struct hgi_lock lock;
    int wake_fd;
    struct hgi_map by_order HGI_GUARDED_BY(loader);
    struct hgi_node loads HGI_GUARDED_BY(loader);
    struct hgi_node cancels HGI_GUARDED_BY(loader);
    struct hgi_node reloads HGI_GUARDED_BY(loader);
    struct hgi_refused refused[HGI_INBOX_REFUSED_MAX] HGI_GUARDED_BY(loader);
    size_t refused_count HGI_GUARDED_BY(loader);
    bool is_closed HGI_GUARDED_BY(loader);
};

/* What loader-io takes out in one go. */
struct hgi_mail {
    struct hgi_node loads;
    struct hgi_node cancels;
    struct hgi_node reloads;
    struct hgi_refused refused[HGI_INBOX_REFUSED_MAX];
    size_t refused_count;
};

HG_NODISCARD bool hgi_inbox_init(struct hgi_inbox *inbox);
void hgi_inbox_deinit(struct hgi_inbox *inbox);

/* Copies the order. */
void hgi_inbox_start(struct hgi_inbox *inbox, size_t section, enum hg_value_type value_type,
                     const struct hgi_load_order *order);
/* What this thread starts from here on is handed over in one go by release, so that it can share
 * calls. They nest; what another inbox is given inside is not held. */
void hgi_inbox_hold(struct hgi_inbox *inbox);
void hgi_inbox_release(void);
/* A load that has ended, or is cancelled already, is left alone. */
void hgi_inbox_cancel(struct hgi_inbox *inbox, const struct hgi_cache *cache, uint64_t load_id);
/* RESOURCE_EXHAUSTED: no memory. UNAVAILABLE: closed, nobody would answer it. */
HG_NODISCARD enum hg_status hgi_inbox_reload(struct hgi_inbox *inbox,
                                             const struct hgi_reload *reload);
/* loader-io has ended. Loads are still taken, for start cannot refuse; who closed ends them. */
void hgi_inbox_close(struct hgi_inbox *inbox);
/* loader-io has something to look at. */
void hgi_inbox_wake(const struct hgi_inbox *inbox);

/* The lists of ret_mail take over what was there. False: nothing was. */
bool hgi_inbox_take(struct hgi_inbox *inbox, struct hgi_mail *ret_mail);
/* The load leaves every list and is freed: from here on the engine's cancel does not find it. */
void hgi_inbox_end(struct hgi_inbox *inbox, struct hgi_load *load);

#endif
