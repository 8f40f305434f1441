/* SPDX-License-Identifier: Apache-2.0 */
/* census: whether what was accepted is not closed, as nng once left it (I15;
 * docs/notes/001-substrate.md 1): descriptors are open that nobody accounts for, or connections
 * have ended and hold their places still.
 * Owns:     nothing.
 * Threads:  one.
 * Limits:   HGI_CENSUS_MARGIN descriptors may come and go; more for HGI_CENSUS_MS are too many.
 * Errors:   where descriptors cannot be counted nothing is too many.
 * Not here: who accounts for them (listener, share), what follows (heartbeat). */
#ifndef HGI_SERVER_CENSUS_H
#define HGI_SERVER_CENSUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "herdgate/attr.h"

#define HGI_CENSUS_MS     30000
#define HGI_CENSUS_MARGIN 256u

struct hgi_census {
    size_t allowed;
    int64_t over_since_ms; /* < 0: it is not over */
};

/* What is there at a moment. */
struct hgi_census_look {
    size_t open_count; /* descriptors */
    size_t accounted;  /* of these, by connections */
    bool is_clogged;   /* connections have ended, and their places are not free (hgi_share) */
};

/* Descriptors of this process; 0: they cannot be counted. */
size_t hgi_census_descriptors(void);

/* `open_count` descriptors are open now, and as many as `accounted` with good reason; so it may be
 * later, plus `growth`. */
void hgi_census_init(struct hgi_census *census, size_t open_count, size_t accounted, size_t growth);
/* True: for HGI_CENSUS_MS, at each look, there were too many. */
HG_NODISCARD bool hgi_census_is_over(struct hgi_census *census, const struct hgi_census_look *look,
                                     int64_t now_ms);

#endif
