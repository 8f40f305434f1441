/* SPDX-License-Identifier: Apache-2.0 */
/* lasting: the policy of a small cache whose entries and calls last longer than any test.
 * Owns:     nothing.
 * Threads:  any.
 * Limits:   16 entries.
 * Errors:   none.
 * Not here: policies for a clock that stands still (engine). */
#ifndef HG_TEST_LASTING_H
#define HG_TEST_LASTING_H

#include "server/cache/cache.h"

static inline struct hgi_policy lasting_policy(void)
{
    return (struct hgi_policy){.mode = HG_MODE_FRESH,
                               .ttl_ms = 60000,
                               .stale_ttl_ms = 60000,
                               .load_timeout_ms = 60000,
                               .wait_budget_ms = 60000,
                               .max_entries = 16,
                               .max_bytes = 65536,
                               .max_loads = 1,
                               .waiters_max = 16};
}

#endif
