/* SPDX-License-Identifier: Apache-2.0 */
/* service: what the services share: finding the cache, answers and reports as messages.
 * Owns:     nothing.
 * Threads:  the call's.
 * Limits:   none.
 * Errors:   a NULL return has finished the call.
 * Not here: any one method. A door of this room only. */
#ifndef HGI_SERVER_RPC_SERVICE_H
#define HGI_SERVER_RPC_SERVICE_H

#include "proto/codec.h"
#include "server/rpc/dispatch.h"

/* Whether the caller may use the method on this cache, or (empty) on all of them. False: the call
 * has been finished. */
HG_NODISCARD bool hgi_service_may(struct hgi_rpc *rpc, struct hg_slice cache);
/* NULL: the caller may not, or there is no such cache, and the call has been finished. */
const struct hgi_registered *hgi_service_find(struct hgi_rpc *rpc, struct hg_slice cache);
/* hgi_service_find for a call that names one key of it. NULL also: the key is not of the cache's
 * type, and the call has been finished saying so. */
const struct hgi_registered *hgi_service_find_keyed(struct hgi_rpc *rpc, struct hg_slice cache,
                                                    const struct hg_key *typed,
                                                    struct hgi_key *ret_key);
/* A copy that lives as long as the call; false: the arena's budget is used up. */
HG_NODISCARD bool hgi_service_keep_key(struct hgi_rpc *rpc, const struct hgi_key *key,
                                       struct hg_slice *ret_key);
/* The key of a read, and what a loader is told of it, for as long as the call lives.
 * RESOURCE_EXHAUSTED: the arena's budget is used up. On failure rpc->sentence says what is wrong.
 */
HG_NODISCARD enum hg_status hgi_service_prepare(struct hgi_rpc *rpc,
                                                const struct hgi_registered *registered,
                                                const struct hg_key *typed, struct hgi_call *call);
/* The trace that the caller says its request is part of (metadata `traceparent`), for as long as
 * the call lives. NULL: none, or one that is ill-formed, which is as none. */
const struct hgi_trace *hgi_service_trace(struct hgi_rpc *rpc);
/* Slices borrow from the answer. */
struct hgi_msg_answer hgi_service_answer(const struct hgi_answer *answer,
                                         enum hg_value_type value_type);
/* Keeps what a read was answered, for Explain. Once for each answer that leaves. */
void hgi_service_note(struct hgi_rpc *rpc, const struct hgi_cache *cache,
                      const struct hgi_call *call, const struct hgi_answer *answer);
struct hgi_msg_report hgi_service_report(const struct hgi_cache *cache,
                                         const struct hgi_report *report);
/* At the deadline of such a call. */
#define HGI_SERVICE_CLEARED_LATE "cleared, but not on disk when the call's time was up"
/* Appends to the journal what the call has just changed in memory: one event for each key, or one
 * without. Before the call's OK, so that who saw that finds the event. `name` is a cache's, there
 * as long as the server; a loader's goes as the key. Veiled keys tell a watcher nothing: they are
 * one event without, which means any of them. */
void hgi_service_tell(struct hgi_rpc *rpc, enum hg_event_kind kind, const char *name,
                      uint64_t generation, const struct hg_slice *keys, size_t key_count);
/* Finishes a clear or an invalidation that has been done in memory, with rpc->payload, now that it
 * is, or could not be made, durable. */
void hgi_service_finish_cleared(struct hgi_rpc *rpc, enum hg_status status, const char *sentence);

#endif
