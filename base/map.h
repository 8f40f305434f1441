/* SPDX-License-Identifier: Apache-2.0 */
/* map: an intrusive hash map with chained buckets.
 * Owns:     its bucket array; never the nodes.
 * Threads:  the caller's lock.
 * Limits:   2^31 buckets.
 * Errors:   an insert never fails once init has: a map that cannot grow only gets slower.
 * Not here: hashing (hash); comparing keys is the caller's, node by node. */
#ifndef HGI_BASE_MAP_H
#define HGI_BASE_MAP_H

#include "base/alloc.h"

struct hgi_map_node {
    struct hgi_map_node *next;
    uint64_t hash;
};

struct hgi_map {
    struct hgi_map_node **buckets;
    size_t bucket_count; /* a power of two */
    size_t count;
    const struct hgi_allocator *allocator;
};

HG_NODISCARD bool hgi_map_init(struct hgi_map *map, const struct hgi_allocator *allocator);
void hgi_map_deinit(struct hgi_map *map);

/* Nodes with this hash, newest first: for (n = find(map, h); n; n = next(n)) compare keys. */
struct hgi_map_node *hgi_map_find(const struct hgi_map *map, uint64_t hash);
struct hgi_map_node *hgi_map_find_next(const struct hgi_map_node *node);
void hgi_map_insert(struct hgi_map *map, struct hgi_map_node *node, uint64_t hash);
/* The node must be in the map. */
void hgi_map_remove(struct hgi_map *map, struct hgi_map_node *node);
/* The first node of a bucket, for walks: index < bucket_count. The chain goes on by ->next. */
struct hgi_map_node *hgi_map_bucket(const struct hgi_map *map, size_t index);

#endif
