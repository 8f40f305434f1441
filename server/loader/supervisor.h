/* SPDX-License-Identifier: Apache-2.0 */
/* supervisor: the loaders' child processes.
 * Owns:     one child per loader section (two while one drains), the thread loader-io, the
 * queues of loads not yet sent.
 * Threads:  the executor's calls come from any thread; children are spawned, read and written by
 * loader-io only, and hgi_cache_load_* is called from it with no lock held.
 * Limits:   loads_max loads sent at once over all loaders; `workers` (or an asynchronous
 * plugin's max_inflight) a child.
 * Errors:   start: one sentence naming the loader and what is wrong with it. Later faults end
 * loads (UNAVAILABLE, lost) and show in the state; they never stop the server.
 * Not here: who may load and how long a flight lasts (server/cache), the child itself
 * (loaders/host).
 */
#ifndef HGI_SERVER_LOADER_SUPERVISOR_H
#define HGI_SERVER_LOADER_SUPERVISOR_H

#include "base/kind.h"
#include "server/cache/cache.h"
#include "server/config.h"

#define HGI_SUPERVISOR_SENTENCE_MAX 512u

struct hgi_supervisor_options {
    const char *program; /* path of herdgate-loader */
    const struct hgi_loader_config *loaders;
    size_t loader_count;
    uint32_t loads_max;
    size_t value_max_bytes;
    const uint32_t *plugin_owners; /* users plugins may belong to, beside root and the own one */
    size_t plugin_owner_count;
    bool may_dump; /* the children, as the server */
};

/* What ListLoaders shows; texts are copies. */
struct hgi_loader_state {
    char name[64];
    char plugin[256];
    char version[64];
    const char *state; /* "running", "unhealthy", "open", "restarting", "failed", "draining" */
    uint32_t abi;
    int64_t pid;
    uint64_t started_count;
    uint64_t deaths;
    uint64_t in_flight;
    uint64_t queued;
    char message[HGI_MESSAGE_MAX];
};

struct hgi_frame_invalidate;

/* Carries out what a loader says is no longer so; called from loader-io with no lock held. False:
 * none of the loader's caches has it. */
struct hgi_hearer {
    bool (*hear)(void *context, const char *loader, const struct hgi_frame_invalidate *what,
                 const struct hgi_now *now);
    void *context;
};

struct hgi_supervisor;

/* The most memory the server takes for the processes of one loader section. */
size_t hgi_supervisor_bytes_max(size_t value_max);

/* `options`, with at most HGI_LOADERS_MAX loaders, is borrowed until destroy. NULL: no memory. */
HG_NODISCARD struct hgi_supervisor *hgi_supervisor_create(
    const struct hgi_supervisor_options *options);
void hgi_supervisor_destroy(struct hgi_supervisor **supervisor);

/* Starts every child and waits until each has opened its plugin. On failure all children are gone
 * again. */
HG_NODISCARD enum hg_status hgi_supervisor_start(struct hgi_supervisor *supervisor,
                                                 char *ret_sentence);
/* Sends no more loads, ends what is outstanding (lost or CANCELLED) after at most `drain_ms`, ends
 * and reaps the children, joins loader-io. What is started after that is ended by the next stop, so
 * the last one comes when nobody starts any more. */
void hgi_supervisor_stop(struct hgi_supervisor *supervisor, int64_t drain_ms);

/* Once, after start. When it returns, all that was said before has been carried out. */
void hgi_supervisor_hear(struct hgi_supervisor *supervisor, const struct hgi_hearer *hearer);

/* For the caches of one loader section; the name must exist. `value_type` is what those loads must
 * give. */
struct hgi_executor hgi_supervisor_executor(struct hgi_supervisor *supervisor, const char *loader,
                                            enum hg_value_type value_type);

size_t hgi_supervisor_count(const struct hgi_supervisor *supervisor);
void hgi_supervisor_state(struct hgi_supervisor *supervisor, size_t index,
                          struct hgi_loader_state *ret_state);

/* For each of `configs` (borrowed until destroy) the section of that name, or a new one, begins a
 * child beside the one that serves; when this returns all are open, have said that they are well if
 * they can, and wait for one of the next two. Executors for new sections may be had already.
 * Otherwise, with one sentence, they are ended, and all is as before. RESOURCE_EXHAUSTED: no place
 * for another section (HGI_LOADERS_MAX), or no memory. This and the next two from one thread. */
HG_NODISCARD enum hg_status hgi_supervisor_prepare(struct hgi_supervisor *supervisor,
                                                   const struct hgi_loader_config *const *configs,
                                                   size_t count, char *ret_sentence);
/* What is prepared gets the new loads, and what it replaces drains: all at once, and without fail.
 */
void hgi_supervisor_swap(struct hgi_supervisor *supervisor);
/* What is prepared is ended. */
void hgi_supervisor_abandon(struct hgi_supervisor *supervisor);
/* Starts a new child beside the old one; once it is ready new loads go to it and the old one
 * drains. If it cannot open its plugin the old one stays. `done` is called once, from loader-io (or
 * before return with NOT_FOUND); `sentence` and `state` are borrowed for the call. */
void hgi_supervisor_reload(struct hgi_supervisor *supervisor, struct hg_slice loader,
                           void (*done)(void *context, enum hg_status status, const char *sentence,
                                        const struct hgi_loader_state *state),
                           void *context);

#endif
