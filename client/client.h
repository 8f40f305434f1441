/* SPDX-License-Identifier: Apache-2.0 */
/* client: calls in flight over one connection at a time.
 * Owns:     the connection, the ids, the deadlines, one thread (dials, ends what is late, frees
 *           what is closed).
 * Threads:  any; `end` of a call comes from nng's or the client's thread, with no lock held.
 * Limits:   in_flight_max calls; ids have 31 bits and are not given again while in flight.
 * Errors:   a call that was submitted ends exactly once: whoever takes it out of `calls` under the
 *           lock ends it. A reply whose id is not there any more is dropped (I18).
 * Not here: bytes on the wire (conn), what is in a request (call). */
#ifndef HGI_CLIENT_CLIENT_H
#define HGI_CLIENT_CLIENT_H

#include "base/lock.h"
#include "client/calls.h"

struct hgi_keeper;
struct hgi_local;
struct hgi_thread;

/* Begins the call. HG_OK: `end` comes once, perhaps already before this returns, so the call is not
 * touched after. Anything else: it never comes, and *error says why. Takes `body` in both cases. */
HG_NODISCARD enum hg_status hgi_client_submit(struct hg_client *client, struct hgi_call *call,
                                              HG_TAKES struct hg_bytes *body, uint32_t timeout_ms,
                                              struct hg_error *error);

/* What the client makes of a caller's timeout_ms: its default, at most HG_TIMEOUT_MAX_MS. */
uint32_t hgi_client_timeout_ms(const struct hg_client *client, uint32_t timeout_ms);
size_t hgi_client_message_max(const struct hg_client *client);
/* What goes with each call as its authorization; empty: nothing. */
struct hg_slice hgi_client_bearer(const struct hg_client *client);

/* A caller that uses the client past its submit is counted, so that close can wait for it. */
void hgi_client_enter(struct hg_client *client);
void hgi_client_leave(struct hg_client *client);
struct hgi_keeper *hgi_client_keeper(struct hg_client *client);
struct hgi_local *hgi_client_local(struct hg_client *client);
/* Every signal is blocked in it: none that the program wants is taken there. */
HG_NODISCARD bool hgi_client_start_thread(struct hgi_thread *thread, const char *name,
                                          void (*enter)(void *arg), void *arg);
/* For waiting calls: sleeps until *is_done, which is set through hgi_client_wake. */
void hgi_client_wait(struct hg_client *client, struct hgi_cond *cond, const bool *is_done);
void hgi_client_wake(struct hg_client *client, struct hgi_cond *cond, bool *is_done);

#endif
