/* SPDX-License-Identifier: Apache-2.0 */
/* trace: which trace of its caller's a request belongs to (W3C Trace Context's traceparent).
 * Owns:     nothing.
 * Threads:  any.
 * Limits:   HGI_TRACEPARENT_LEN bytes.
 * Errors:   what is no traceparent is false, and then there is no trace.
 * Not here: where it came from (server/rpc/service), who is told (server/loader, log).
 *
 * herdgate records no spans, so it hands the caller's on as it is. It begins none of its own: a new
 * one would have to say whether it is sampled, which is for those to decide who do record. */
#ifndef HGI_BASE_TRACE_H
#define HGI_BASE_TRACE_H

#include <stdbool.h>

#include "herdgate/attr.h"
#include "herdgate/types.h"

#define HGI_TRACEPARENT     "traceparent" /* the name of the metadata and of the HTTP header */
#define HGI_TRACEPARENT_LEN 55u

/* "00-" trace id "-" parent id "-" flags; empty: no trace. */
struct hgi_trace {
    char parent[HGI_TRACEPARENT_LEN + 1];
};

/* Of a later version what this one knows is taken, as the standard says. False: ill-formed, or of
 * zeros only. */
HG_NODISCARD bool hgi_trace_read(struct hg_slice text, struct hgi_trace *ret_trace);
/* Both borrowed, and empty without a trace (NULL is none, too). */
struct hg_slice hgi_trace_parent(const struct hgi_trace *trace);
struct hg_slice hgi_trace_id(const struct hgi_trace *trace);

#endif
