/* SPDX-License-Identifier: Apache-2.0 */
/* local: fresh hits read from the server's memory, without asking it.
 * Owns:     what is mapped, one cache each, until deinit.
 * Threads:  any; a read takes no lock and makes no system call. Mapping, and unmapping what a
 *           server has given up, is an errand of the keeper's.
 * Limits:   HGI_LOCAL_CACHES_MAX caches; one more is asked for by RPC.
 * Errors:   whatever is not a fresh hit is no answer, and the caller asks the server.
 * Not here: what a file must be (mapped), how an entry is found (storage/flat).
 *
 * Only a server that this client talks to is believed: before a mapping is used, a call by RPC has
 * given the epoch that stands in its label. */
#ifndef HGI_CLIENT_LOCAL_H
#define HGI_CLIENT_LOCAL_H

#include "client/keeper.h"
#include "herdgate/client.h"
#include "proto/envelope.h"

#define HGI_LOCAL_CACHES_MAX 64u

struct hgi_local_cache;

struct hgi_local {
    struct hg_client *client;
    char *folder; /* NULL: nothing is read here */
    size_t value_max;
    _Atomic(struct hgi_local_cache *) caches;
};

/* `folder` (NULL: none) is copied. False: no memory. */
HG_NODISCARD bool hgi_local_init(struct hgi_local *local, struct hg_client *client,
                                 const char *folder, size_t value_max);
/* No read is under way and the keeper has stopped. */
void hgi_local_deinit(struct hgi_local *local);

/* True: *ret_answer is a fresh hit, and owns its value. False: ask the server. */
HG_NODISCARD bool hgi_local_get(struct hgi_local *local, const struct hg_read *read,
                                struct hg_answer *ret_answer);
/* True: all of them. */
HG_NODISCARD bool hgi_local_get_batch(struct hgi_local *local, const struct hg_batch *batch,
                                      struct hg_answers *ret_answers);

/* What the next request tells of hits since the last one, as metadata; its texts lie in ret_text.
 * Returns how many there are. */
#define HGI_LOCAL_NEWS_MAX      4u
#define HGI_LOCAL_NEWS_TEXT_MAX 512u
size_t hgi_local_take_news(struct hgi_local *local, struct hgi_metadata *ret_metadata,
                           char *ret_text);

#endif
