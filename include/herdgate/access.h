/* SPDX-License-Identifier: Apache-2.0 */
/* access: give out access tokens, end them, list them.
 * Owns:     nothing; the client is client.h's.
 * Threads:  as client.h.
 * Limits:   1,024 tokens a server.
 * Errors:   PERMISSION_DENIED for who may not administer the server; as client.h.
 * Not here: showing a token (hg_client_options), what its principal may do (the configuration). */
#ifndef HERDGATE_ACCESS_H
#define HERDGATE_ACCESS_H

#include "herdgate/client.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- what is asked ---- */

struct hg_new_token {
    const char *principal; /* a section of the server's configuration */
    int64_t expires_at_ms; /* unix; 0 = never */
    uint32_t timeout_ms;
};

/* One of the two. */
struct hg_revoke_token {
    const char *id;
    const char *principal; /* every token of his */
    uint32_t timeout_ms;
    const unsigned char *op_id;
};

/* ---- what is answered ---- */

/* The server keeps only a digest: who loses the token needs a new one. */
struct hg_issued {
    struct hg_slice token; /* "hg_...": keep it in a file that nobody else reads */
    struct hg_slice id;    /* no secret: what it is listed, logged and revoked by */
    struct hg_memory *memory;
};

struct hg_revoked {
    uint64_t count;
};

struct hg_token_info {
    struct hg_slice id;
    struct hg_slice principal;
    int64_t created_at_ms; /* unix */
    int64_t expires_at_ms; /* unix; 0 = never */
};

struct hg_token_infos {
    const struct hg_token_info *tokens; /* the oldest first */
    size_t count;
    struct hg_memory *memory;
};

/* ---- calls, and how their replies are given back; all as in client.h ---- */

/* Not remembered by op_id, since the reply would be: one whose reply is lost leaves a token that
 * nobody has, to be found in the list and revoked. */
HG_EXPORT HG_NODISCARD enum hg_status hg_client_new_token(struct hg_client *client,
                                                          const struct hg_new_token *request,
                                                          struct hg_issued *ret_reply,
                                                          struct hg_error *ret_error);
/* From the OK on they are refused, on connections that are open, too, and after a restart. */
HG_EXPORT HG_NODISCARD enum hg_status hg_client_revoke_token(struct hg_client *client,
                                                             const struct hg_revoke_token *request,
                                                             struct hg_revoked *ret_reply,
                                                             struct hg_error *ret_error);
/* request may be NULL. */
HG_EXPORT HG_NODISCARD enum hg_status hg_client_list_tokens(struct hg_client *client,
                                                            const struct hg_named *request,
                                                            struct hg_token_infos *ret_reply,
                                                            struct hg_error *ret_error);

typedef void (*hg_issued_fn)(void *arg, const struct hg_error *error,
                             const struct hg_issued *reply);
typedef void (*hg_revoked_fn)(void *arg, const struct hg_error *error,
                              const struct hg_revoked *reply);
typedef void (*hg_token_infos_fn)(void *arg, const struct hg_error *error,
                                  const struct hg_token_infos *reply);

HG_EXPORT HG_NODISCARD enum hg_status hg_client_new_token_async(struct hg_client *client,
                                                                const struct hg_new_token *request,
                                                                hg_issued_fn done, void *arg,
                                                                struct hg_error *ret_error);
HG_EXPORT HG_NODISCARD enum hg_status hg_client_revoke_token_async(
    struct hg_client *client, const struct hg_revoke_token *request, hg_revoked_fn done, void *arg,
    struct hg_error *ret_error);
HG_EXPORT HG_NODISCARD enum hg_status hg_client_list_tokens_async(struct hg_client *client,
                                                                  const struct hg_named *request,
                                                                  hg_token_infos_fn done, void *arg,
                                                                  struct hg_error *ret_error);

HG_EXPORT void hg_issued_deinit(struct hg_issued *issued);
HG_EXPORT void hg_token_infos_deinit(struct hg_token_infos *infos);

#ifdef __cplusplus
}
#endif

#endif
