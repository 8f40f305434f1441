/* SPDX-License-Identifier: Apache-2.0 */
/* own: the plugins that this program has opened itself (herdgate/own_loader.h).
 * Owns:     the table of them, their threads.
 * Threads:  any; class plugin for all of them together, and nothing of theirs is called with it.
 * Limits:   HGI_OWN_MAX are opened in the life of a process.
 * Errors:   as own_loader.h.
 * Not here: their loads (own_load).
 *
 * Both the loader that a caller holds and what a plugin is given are numbers in pointers' clothes:
 * a load's has its loader's in the upper bits. Who comes too late, or twice, follows no pointer
 * into freed memory. A plugin's calls bring a number and nothing else, so there is one table. */
#ifndef HGI_CLIENT_OWN_H
#define HGI_CLIENT_OWN_H

#include "base/list.h"
#include "base/lock.h"
#include "base/map.h"
#include "base/thread.h"
#include "herdgate/own_loader.h"
#include "loaders/contract/opened.h"

#define HGI_OWN_LOAD_BITS 40u
#define HGI_OWN_MAX       ((1u << (64u - HGI_OWN_LOAD_BITS)) - 1)

struct hgi_own {
    struct hgi_node node;
    uint64_t number;
    struct hgi_opened plugin;
    size_t value_max_bytes;
    hg_loader_log_fn log;
    void *log_arg;
    struct hgi_thread workers[HG_LOADER_WORKERS_MAX];
    uint32_t worker_count;
    uint32_t begun_max;
    struct hgi_cond work;
    struct hgi_cond ended;
    struct hgi_node queue HGI_GUARDED_BY(plugin);
    struct hgi_map by_number HGI_GUARDED_BY(plugin); /* loads not done */
    uint64_t load_last HGI_GUARDED_BY(plugin);       /* the lower bits of the last one's number */
    size_t load_count HGI_GUARDED_BY(plugin);        /* until they are freed */
    size_t begun_count HGI_GUARDED_BY(plugin);       /* begun, and not done */
    bool is_open HGI_GUARDED_BY(plugin);
    bool is_stopping HGI_GUARDED_BY(plugin);
};

extern struct hgi_lock hgi_own_lock;

/* NULL: it has been closed. */
struct hgi_own *hgi_own_find(uint64_t number) HGI_REQUIRES(plugin);

#endif
