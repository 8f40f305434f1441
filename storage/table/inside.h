/* SPDX-License-Identifier: Apache-2.0 */
/* inside: what a table is made of.
 * Owns:     nothing.
 * Threads:  as table.h says.
 * Limits:   as table.h says.
 * Errors:   none.
 * Not here: for table.c, adapt.c, lookup.c and unsaved.c only. */
#ifndef HGI_STORAGE_TABLE_INSIDE_H
#define HGI_STORAGE_TABLE_INSIDE_H

#include "storage/table/shard.h"

struct hgi_table {
    struct hgi_ground ground;
    size_t shard_count; /* a power of two, once the table is made */
    _Atomic size_t sweep_shard;
    _Atomic bool has_discarded;
    struct hgi_shard shards[];
};

static inline struct hgi_shard *hgi_table_shard(struct hgi_table *table, uint64_t hash)
{
    return &table->shards[hgi_front_shard_of(hash, table->ground.reader.shard_count)];
}

#endif
