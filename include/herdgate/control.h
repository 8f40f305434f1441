/* SPDX-License-Identifier: Apache-2.0 */
/* control: what an administrator tells a server: read your configuration again, drain.
 * Owns:     nothing; the client is client.h's.
 * Threads:  as client.h.
 * Limits:   none of its own.
 * Errors:   PERMISSION_DENIED for who may not administer the server; as client.h.
 * Not here: caches and loaders (client.h), what is on disk (snapshot.h). */
#ifndef HERDGATE_CONTROL_H
#define HERDGATE_CONTROL_H

#include "herdgate/client.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Names as in `cache "auth": ttl` or `listen "tcp://127.0.0.1:7448"`. */
struct hg_reloaded {
    const struct hg_slice *changed; /* now */
    size_t changed_count;
    const struct hg_slice *restart; /* differs in the file, and is as it was until a restart */
    size_t restart_count;
    struct hg_memory *memory;
};

struct hg_drain {
    bool off; /* ready again */
    uint32_t timeout_ms;
};

struct hg_drained {
    uint64_t connections; /* open now, this one among them */
    uint64_t waiting;     /* calls that wait for loads, in all caches */
};

/* As SIGHUP: reads the configuration and changes what can change while the server serves.
 * FAILED_PRECONDITION with one sentence: something is wrong with it, and all is as it was. request
 * may be NULL. */
HG_EXPORT HG_NODISCARD enum hg_status hg_client_reload(struct hg_client *client,
                                                       const struct hg_named *request,
                                                       struct hg_reloaded *ret_reply,
                                                       struct hg_error *ret_error);
/* The server says to who asks for its health that it does not serve, so that gateways turn to
 * another; it goes on answering whoever asks until it is stopped. May be asked again, to see who
 * is left. */
HG_EXPORT HG_NODISCARD enum hg_status hg_client_drain(struct hg_client *client,
                                                      const struct hg_drain *request,
                                                      struct hg_drained *ret_reply,
                                                      struct hg_error *ret_error);

typedef void (*hg_reloaded_fn)(void *arg, const struct hg_error *error,
                               const struct hg_reloaded *reply);
typedef void (*hg_drained_fn)(void *arg, const struct hg_error *error,
                              const struct hg_drained *reply);

HG_EXPORT HG_NODISCARD enum hg_status hg_client_reload_async(struct hg_client *client,
                                                             const struct hg_named *request,
                                                             hg_reloaded_fn done, void *arg,
                                                             struct hg_error *ret_error);
HG_EXPORT HG_NODISCARD enum hg_status hg_client_drain_async(struct hg_client *client,
                                                            const struct hg_drain *request,
                                                            hg_drained_fn done, void *arg,
                                                            struct hg_error *ret_error);

HG_EXPORT void hg_reloaded_deinit(struct hg_reloaded *reloaded);

#ifdef __cplusplus
}
#endif

#endif
