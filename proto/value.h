/* SPDX-License-Identifier: Apache-2.0 */
/* value: what a value must be before the engine keeps it as bytes.
 * Owns:     nothing.
 * Threads:  any.
 * Limits:   the caller's value_max_bytes.
 * Errors:   INVALID_ARGUMENT and one sentence.
 * Not here: keys (base/kind); who asks: puts (server/rpc) and load results (loaders/host). */
#ifndef HGI_PROTO_VALUE_H
#define HGI_PROTO_VALUE_H

#include "base/bytes.h"
#include "herdgate/status.h"

/* Whose an auth value is: its user_id, trimmed as a key's is. */
struct hgi_value_user {
    unsigned char bytes[HG_KEY_MAX];
    size_t len; /* 0: none, or no auth value */
};

/* Once, before JSON is read and before there are threads: what it is taken apart into is wiped when
 * it is given back. */
void hgi_value_start(void);
/* Checks `value` against the cache's type: json must be well-formed, auth must be an AuthValue. In
 * an auth cache `allowed = false` turns the outcome VALUE into DENIED, and not_after joins
 * *inout_expires_at_ms (unix ms, 0 = none; the earlier stays). ABSENT must come without a value;
 * DENIED may have one only in an auth cache, and there allowed must be false. On failure nothing is
 * changed but ret_sentence. ret_user may be NULL. */
HG_NODISCARD enum hg_status hgi_value_check(enum hg_value_type type, struct hg_slice value,
                                            size_t value_max_bytes, enum hg_outcome *inout_outcome,
                                            int64_t *inout_expires_at_ms,
                                            struct hgi_value_user *ret_user, char *ret_sentence);

#endif
