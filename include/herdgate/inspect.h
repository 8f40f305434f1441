/* SPDX-License-Identifier: Apache-2.0 */
/* inspect: look into a server: which loads are under way, and why a key is answered as it is.
 * Owns:     nothing; the client is client.h's.
 * Threads:  as client.h.
 * Limits:   1,000 flights and 32 answers a reply.
 * Errors:   PERMISSION_DENIED for who may not administer the server; as client.h.
 * Not here: reading and writing, counters, loaders (client.h). */
#ifndef HERDGATE_INSPECT_H
#define HERDGATE_INSPECT_H

#include "herdgate/client.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- what is asked ---- */

struct hg_list_flights {
    const char *cache;    /* NULL = every cache */
    uint32_t flights_max; /* 0 = 1,000, and no more than that */
    uint32_t timeout_ms;
};

struct hg_kill_flight {
    const char *cache;
    uint64_t id; /* as listed */
    uint32_t timeout_ms;
    const unsigned char *op_id;
};

struct hg_explain {
    const char *cache;
    struct hg_key key;
    uint32_t timeout_ms;
};

/* ---- what is answered ---- */

/* A load under way, or a slot that is kept after one. */
struct hg_flight {
    struct hg_slice cache;
    uint64_t id;            /* for hg_client_kill_flight */
    struct hg_slice digest; /* of the key: 16 hex digits */
    struct hg_slice leader; /* "loader", "refresh", "caller" (with a lease), "kept" */
    struct hg_slice phase;  /* "queued", "started", "sent", "ended" (answered, still running) */
    int64_t pid;            /* whose connection holds the lease; 0: nobody's, or not known */
    uint64_t age_ms;
    int64_t left_ms; /* until it times out; -1: that has not begun */
    uint64_t followers;
    uint64_t generation;
    uint32_t attempt;
    bool is_fenced; /* overtaken by an invalidation */
    struct hg_memory *memory;
};

struct hg_flights {
    const struct hg_flight *flights; /* cache by cache, the oldest first */
    size_t count;
    uint64_t total; /* how many there are; more than count if flights_max was reached */
    struct hg_memory *memory;
};

/* What is stored of a key. */
struct hg_entry_info {
    enum hg_outcome outcome;
    uint64_t generation;
    uint64_t age_ms;
    uint64_t ttl_ms;
    uint64_t ttl_left_ms;
    uint64_t stale_left_ms;
    uint64_t refresh_pause_ms; /* before which no refresh begins; 0 = none */
};

struct hg_past_answer {
    int64_t at_ms; /* unix */
    enum hg_status status;
    enum hg_outcome outcome;
    enum hg_source source;
    bool is_fenced;
    uint64_t generation;
    uint64_t age_ms;
};

/* How a key would be answered now, and why. */
struct hg_explanation {
    struct hg_slice rule; /* "nothing", "fresh", "stale", "softened", "kept", "joins", "kept_slot",
                             "failed_lately" */
    struct hg_slice sentence;
    struct hg_slice digest;
    uint64_t generation; /* of the cache */
    bool has_entry;
    struct hg_entry_info entry;
    bool has_flight;
    struct hg_flight flight;
    uint64_t failure_left_ms;             /* of a remembered failure; 0 = none */
    const struct hg_past_answer *answers; /* at most 32, the newest first, of the server's last
                                             1,024 of all keys */
    size_t answer_count;
    struct hg_memory *memory;
};

/* As those of client.h. */
HG_EXPORT void hg_flight_deinit(struct hg_flight *flight);
HG_EXPORT void hg_flights_deinit(struct hg_flights *flights);
HG_EXPORT void hg_explanation_deinit(struct hg_explanation *explanation);

/* ---- calls that wait for their reply ---- */

HG_EXPORT HG_NODISCARD enum hg_status hg_client_list_flights(struct hg_client *client,
                                                             const struct hg_list_flights *request,
                                                             struct hg_flights *ret_flights,
                                                             struct hg_error *ret_error);
/* Who waits for it is told CANCELLED, and the key is free. ret_flight: what it was until then.
 * NOT_FOUND: it has ended. */
HG_EXPORT HG_NODISCARD enum hg_status hg_client_kill_flight(struct hg_client *client,
                                                            const struct hg_kill_flight *request,
                                                            struct hg_flight *ret_flight,
                                                            struct hg_error *ret_error);
/* Changes nothing, and loads nothing. */
HG_EXPORT HG_NODISCARD enum hg_status hg_client_explain(struct hg_client *client,
                                                        const struct hg_explain *request,
                                                        struct hg_explanation *ret_explanation,
                                                        struct hg_error *ret_error);

/* ---- the same, answered by a callback ---- */

typedef void (*hg_flights_fn)(void *arg, const struct hg_error *error,
                              const struct hg_flights *flights);
typedef void (*hg_flight_fn)(void *arg, const struct hg_error *error,
                             const struct hg_flight *flight);
typedef void (*hg_explanation_fn)(void *arg, const struct hg_error *error,
                                  const struct hg_explanation *explanation);

HG_EXPORT HG_NODISCARD enum hg_status hg_client_list_flights_async(
    struct hg_client *client, const struct hg_list_flights *request, hg_flights_fn done, void *arg,
    struct hg_error *ret_error);
HG_EXPORT HG_NODISCARD enum hg_status hg_client_kill_flight_async(
    struct hg_client *client, const struct hg_kill_flight *request, hg_flight_fn done, void *arg,
    struct hg_error *ret_error);
HG_EXPORT HG_NODISCARD enum hg_status hg_client_explain_async(struct hg_client *client,
                                                              const struct hg_explain *request,
                                                              hg_explanation_fn done, void *arg,
                                                              struct hg_error *ret_error);

#ifdef __cplusplus
}
#endif

#endif
