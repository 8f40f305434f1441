/* SPDX-License-Identifier: Apache-2.0 */
/* keeper: leases renewed while their loads run, and loads that run behind an answer.
 * Owns:     one thread that renews and those that run errands; none of them before the first lease.
 * Threads:  any; class keeper, and nothing is called with it held.
 * Limits:   HGI_KEEPER_WORKERS errands at a time, HGI_KEEPER_QUEUE_MAX wait for one.
 * Errors:   false: the system has no thread, too many wait, or the client is being closed.
 * Not here: what a load is, and what becomes of its result (lead). */
#ifndef HGI_CLIENT_KEEPER_H
#define HGI_CLIENT_KEEPER_H

#include "base/list.h"
#include "base/lock.h"
#include "base/thread.h"
#include "herdgate/lease.h"

#define HGI_KEEPER_WORKERS   8u
#define HGI_KEEPER_QUEUE_MAX 1024u

/* A lease being renewed; its owner's memory, there until let_go has returned. */
struct hgi_kept_lease {
    struct hg_leased leased;
    int64_t until_ms; /* no renewal from then on */
    /* the keeper's, guarded */
    struct hgi_node node;
    int64_t due_ms;
    bool is_renewing;
};

/* Something to do on a thread of the client's. */
struct hgi_errand {
    struct hgi_node node;
    void (*run)(struct hgi_errand *errand, bool is_closing); /* once; closing: only to be freed */
};

struct hgi_keeper {
    struct hg_client *client;
    struct hgi_lock lock;
    struct hgi_cond renewals; /* for the thread that renews */
    struct hgi_cond renewed;  /* for let_go */
    struct hgi_cond errands;  /* for the workers */
    struct hgi_thread renewing;
    struct hgi_thread workers[HGI_KEEPER_WORKERS];
    /* guarded */
    struct hgi_node leases;
    struct hgi_node queue;
    size_t queue_count;
    size_t idle_count;
    size_t worker_count;
    bool is_closing;
};

void hgi_keeper_init(struct hgi_keeper *keeper, struct hg_client *client);
void hgi_keeper_deinit(struct hgi_keeper *keeper);
/* No renewal any more; waits for errands that run, and ends those that wait. The client's calls end
 * at once meanwhile. */
void hgi_keeper_stop(struct hgi_keeper *keeper);

/* Renews the lease at each third of its time. */
HG_NODISCARD bool hgi_keeper_hold(struct hgi_keeper *keeper, struct hgi_kept_lease *kept);
void hgi_keeper_let_go(struct hgi_keeper *keeper, struct hgi_kept_lease *kept);
/* False: it will not run. */
HG_NODISCARD bool hgi_keeper_send(struct hgi_keeper *keeper, struct hgi_errand *errand);

#endif
