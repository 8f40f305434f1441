/* SPDX-License-Identifier: Apache-2.0 */
/* usage: what the shards of a table hold together, and what they may.
 * Owns:     the counts.
 * Threads:  any, without a lock: who takes room has it, and the bounds are never passed.
 * Limits:   max_entries, max_bytes; negatives (ABSENT, DENIED) 1/8 of each inside them.
 * Errors:   no room is an enum.
 * Not here: what makes room (shard, table).
 *
 * The bounds are the table's and not each shard's share of them, for keys do not hash evenly: a
 * shard with more than its share would evict while there is room. */
#ifndef HGI_STORAGE_TABLE_USAGE_H
#define HGI_STORAGE_TABLE_USAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "herdgate/attr.h"

struct hgi_usage {
    _Atomic size_t max_entries;
    _Atomic size_t max_bytes;
    _Atomic size_t entries;
    _Atomic size_t bytes;
    _Atomic size_t negatives;
    _Atomic size_t negative_bytes;
};

enum hgi_room {
    HGI_ROOM_TAKEN,
    HGI_ROOM_NONE,        /* it will never fit */
    HGI_ROOM_IF_ANY,      /* once any entry is gone */
    HGI_ROOM_IF_NEGATIVE, /* once a negative is gone */
};

void hgi_usage_init(struct hgi_usage *usage, size_t max_entries, size_t max_bytes);
/* Other bounds; what is there may be past them until somebody makes room. */
void hgi_usage_set_bounds(struct hgi_usage *usage, size_t max_entries, size_t max_bytes);
/* What has to go so that all is within the bounds; TAKEN: nothing. */
HG_NODISCARD enum hgi_room hgi_usage_excess(const struct hgi_usage *usage);
/* Takes room for one entry of `size` bytes. */
HG_NODISCARD enum hgi_room hgi_usage_take(struct hgi_usage *usage, size_t size, bool is_negative);
/* Room for one that is there already to become larger. */
HG_NODISCARD enum hgi_room hgi_usage_grow(struct hgi_usage *usage, size_t size, size_t new_size,
                                          bool is_negative);
void hgi_usage_shrink(struct hgi_usage *usage, size_t size, size_t new_size, bool is_negative);
void hgi_usage_give_back(struct hgi_usage *usage, size_t size, bool is_negative);
size_t hgi_usage_bytes(const struct hgi_usage *usage);

#endif
