/* SPDX-License-Identifier: Apache-2.0 */
/* facts: what the request was that a gateway asks about: its method, host, path and query.
 * Owns:     nothing; facts borrow from the request or the arena.
 * Threads:  any.
 * Limits:   none of its own.
 * Errors:   false: the same fact is told twice, in two ways that differ, or is none; the request is
 *           wrong, for somebody may have told it who is not the gateway.
 * Not here: who asks (credential). */
#ifndef HGI_SERVER_HTTP_FACTS_H
#define HGI_SERVER_HTTP_FACTS_H

#include "server/config.h"
#include "server/http/request.h"

struct hgi_facts {
    struct hg_slice method;
    struct hg_slice host; /* in lower case */
    struct hg_slice path;
    struct hg_slice query;
};

/* `own_path`: the request's path behind the cache's name. X-Forwarded-* come first, then
 * X-Original-*, then the request itself; `from` may say that one of them only is believed. */
HG_NODISCARD bool hgi_facts_read(const struct hgi_http_request *request, enum hgi_facts_from from,
                                 struct hg_slice own_path, struct hgi_arena *arena,
                                 struct hgi_facts *ret_facts);
/* Those of the set, with a space between them, which none of them has. False: one is missing or no
 * word, or there is no memory. */
HG_NODISCARD bool hgi_facts_join(const struct hgi_facts *facts, unsigned set,
                                 struct hgi_arena *arena, struct hg_slice *ret_text);

#endif
