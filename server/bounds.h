/* SPDX-License-Identifier: Apache-2.0 */
/* bounds: how much memory a configuration can come to take, whatever its clients and loaders do.
 * Owns:     nothing.
 * Threads:  any.
 * Limits:   sums stay at SIZE_MAX.
 * Errors:   none.
 * Not here: what holds each part to its bound (the rooms that say how much it is). */
#ifndef HGI_SERVER_BOUNDS_H
#define HGI_SERVER_BOUNDS_H

#include "server/config.h"

#define HGI_BOUNDS_MAX 8u

/* `count` things of `each_bytes`, at most. */
struct hgi_bound {
    const char *what;
    size_t count;
    size_t each_bytes;
    size_t bytes;
};

struct hgi_bounds {
    struct hgi_bound parts[HGI_BOUNDS_MAX];
    size_t part_count;
    size_t bytes; /* of all parts */
};

/* Resident memory of the server's own process: loaders' processes have memory_max of their own.
 * What is stated is what may be in use; the allocator's own waste is in the program's part. */
void hgi_bounds_init(const struct hgi_config *config, struct hgi_bounds *ret_bounds);

#endif
