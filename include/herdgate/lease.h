/* SPDX-License-Identifier: Apache-2.0 */
/* lease: callers that load themselves.
 * Owns:     nothing but what client.h says.
 * Threads:  as client.h.
 * Limits:   a lease lasts the cache's load_timeout unless renewed, and no longer than the
 *           connection it was given on.
 * Errors:   a lease that has ended, whatever ended it, is ABORTED.
 * Not here: loading by a plugin: in a process of the server's (loader.h), in the caller's
 *           (own_loader.h).
 *
 * Who reads with hg_read.lead and finds nothing fresh gets a lease instead of an answer (source
 * LEASED), and everybody else who asks for the key, in whatever process, waits for it. It loads,
 * and says what came of it with hg_client_fulfil: that answers them all. If it gives up, dies or
 * takes too long, the next one who asked to lead is given the lease, or else the cache's loader
 * loads. An invalidation meanwhile overtakes the load: the fulfilment is ABORTED, nothing is
 * stored, and who waited looks again. */
#ifndef HERDGATE_LEASE_H
#define HERDGATE_LEASE_H

#include "herdgate/client.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the load came to. */
struct hg_fulfil {
    const char *cache;
    struct hg_lease lease;
    enum hg_outcome outcome; /* VALUE, ABSENT or DENIED; 0 = VALUE */
    struct hg_slice value;   /* of an auth cache: hg_auth_encode */
    uint64_t ttl_ms;         /* 0 = the cache's; these can only shorten */
    uint64_t stale_ttl_ms;
    int64_t expires_at_ms;       /* unix; 0 = none */
    enum hg_status status;       /* not HG_OK: the load failed, and this and the message are all */
    struct hg_slice message;     /* at most 256 bytes of it reach the others */
    const struct hg_slice *tags; /* names it can be invalidated by: at most 16 of 1 to 128 bytes */
    size_t tag_count;
    uint64_t keep_ms; /* with a value: who asks within this time gets it, whatever its ttl */
    uint32_t timeout_ms;
    const unsigned char *op_id;
    bool no_store; /* it answers who waits, and is kept nowhere; what was cached goes */
};

struct hg_fulfilled {
    uint64_t generation;
    enum hg_outcome outcome; /* as published: a value of an auth cache may be DENIED */
    uint64_t ttl_left_ms;    /* 0: it was not kept */
    uint64_t stale_left_ms;
};

/* For renew and release. */
struct hg_leased {
    const char *cache;
    struct hg_lease lease;
    uint32_t timeout_ms;
    const unsigned char *op_id; /* release */
};

struct hg_renewed {
    uint64_t ttl_ms; /* from now on */
};

HG_EXPORT HG_NODISCARD enum hg_status hg_client_fulfil(struct hg_client *client,
                                                       const struct hg_fulfil *request,
                                                       struct hg_fulfilled *ret_fulfilled,
                                                       struct hg_error *ret_error);
HG_EXPORT HG_NODISCARD enum hg_status hg_client_renew(struct hg_client *client,
                                                      const struct hg_leased *request,
                                                      struct hg_renewed *ret_renewed,
                                                      struct hg_error *ret_error);
/* Gives the lease, or a kept slot, up. */
HG_EXPORT HG_NODISCARD enum hg_status hg_client_release(struct hg_client *client,
                                                        const struct hg_leased *request,
                                                        struct hg_error *ret_error);

/* As the other callbacks of client.h. */
typedef void (*hg_fulfilled_fn)(void *arg, const struct hg_error *error,
                                const struct hg_fulfilled *fulfilled);
typedef void (*hg_renewed_fn)(void *arg, const struct hg_error *error,
                              const struct hg_renewed *renewed);
typedef void (*hg_released_fn)(void *arg, const struct hg_error *error);

HG_EXPORT HG_NODISCARD enum hg_status hg_client_fulfil_async(struct hg_client *client,
                                                             const struct hg_fulfil *request,
                                                             hg_fulfilled_fn done, void *arg,
                                                             struct hg_error *ret_error);
HG_EXPORT HG_NODISCARD enum hg_status hg_client_renew_async(struct hg_client *client,
                                                            const struct hg_leased *request,
                                                            hg_renewed_fn done, void *arg,
                                                            struct hg_error *ret_error);
HG_EXPORT HG_NODISCARD enum hg_status hg_client_release_async(struct hg_client *client,
                                                              const struct hg_leased *request,
                                                              hg_released_fn done, void *arg,
                                                              struct hg_error *ret_error);

/* ---- a read that loads by a callback ---- */

struct hg_lead_result; /* the library's */

/* What the callback is to load. Borrowed for its call. */
struct hg_lead {
    const char *cache;
    struct hg_key key;
    enum hg_value_type value_type; /* what the cache takes */
    uint32_t left_ms;              /* until the caller's deadline; until then others wait */
    bool is_behind;                /* the caller has an old value already */
    struct hg_lead_result *result;
    const char *traceparent; /* the read's; NULL = none */
};

/* What it gives: the members of hg_fulfil. */
struct hg_loaded {
    enum hg_status status;   /* not HG_OK: the load failed, and this and the message are all */
    enum hg_outcome outcome; /* 0 = VALUE */
    struct hg_slice value;
    uint64_t ttl_ms;
    uint64_t stale_ttl_ms;
    int64_t expires_at_ms;
    struct hg_slice message;
    const struct hg_slice *tags;
    size_t tag_count;
    uint64_t keep_ms;
    bool no_store;
};

/* Loads, and says what came of it with hg_lead_give, which copies, before it returns (the last time
 * counts). Without that the lease is given up, and the call ends CANCELLED. It may block, and may
 * make calls of the client's. */
typedef void (*hg_load_fn)(void *arg, const struct hg_lead *lead);
HG_EXPORT enum hg_status hg_lead_give(const struct hg_lead *lead, const struct hg_loaded *loaded);

struct hg_load_through {
    struct hg_read read; /* its `lead` is passed over */
    hg_load_fn load;
    void *arg; /* there until the callback has returned, behind an old value at the latest when the
                  client has been closed */
    /* A value that an invalidation overtook is given to this caller all the same, marked is_fenced
     * and kept nowhere. Else it looks again, and up to three loads are made. */
    bool deliver_fenced;
};

/* hg_client_get_or_load, with the load done here if it is this caller who has to: `load` is called
 * on the calling thread, and its lease renewed until the read's deadline. A stale value that the
 * mode allows is returned at once, and `load` is called behind it on a thread of the library's (up
 * to eight at a time). Needs the right to put. A load that fails is this call's error with the
 * source LOADED, and the others get it as the cache's on_error says. */
HG_EXPORT HG_NODISCARD enum hg_status hg_client_load_through(struct hg_client *client,
                                                             const struct hg_load_through *request,
                                                             struct hg_answer *ret_answer,
                                                             struct hg_error *ret_error);

#ifdef __cplusplus
}
#endif

#endif
