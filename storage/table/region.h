/* SPDX-License-Identifier: Apache-2.0 */
/* region: one mapping, and the blocks it is cut into.
 * Owns:     the mapping, unless it was given one; its memory stays mapped, whatever is freed, until
 *           deinit.
 * Threads:  any; alloc and free take the region lock. Blocks that are free are written with atomic
 *           words, for a reader may still look at what was there (flat/racy.h).
 * Limits:   HGI_MEMORY_MAX_BYTES; memory is used only as far as it is touched.
 * Errors:   no block large enough: 0.
 * Not here: what is in a block (item, index, tag), what stands before the first (flat/front).
 *
 * The mapping is made use of from its beginning, a step at a time. The blocks are cut by TLSF
 * (Masmano et al., ECRTS'04): lists of free blocks by size, two levels of bitmaps to find one,
 * neighbours joined when freed; both calls are O(1). */
#ifndef HGI_STORAGE_TABLE_REGION_H
#define HGI_STORAGE_TABLE_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/lock.h"
#include "herdgate/attr.h"
#include "storage/flat/memory.h"

#define HGI_REGION_ROWS    27u /* 2^3 sizes below 16 words, then one row a power of two */
#define HGI_REGION_COLUMNS 16u

/* A mapping of somebody else's, all zeroes, that outlives the region. */
struct hgi_backing {
    struct hgi_memory memory;
    /* Asked before bytes from..to-1 are first touched; false: they cannot be had. */
    bool (*reserve)(void *context, size_t from, size_t to);
    void *context;
};

struct hgi_region {
    /* set once */
    struct hgi_memory memory;
    struct hgi_backing backing; /* without `reserve`: the mapping is the region's own */
    struct hgi_lock lock;
    uint32_t limit HGI_GUARDED_BY(region); /* place of the end of the last step */
    uint32_t row_map HGI_GUARDED_BY(region);
    uint32_t column_maps[HGI_REGION_ROWS] HGI_GUARDED_BY(region);
    uint32_t heads[HGI_REGION_ROWS][HGI_REGION_COLUMNS] HGI_GUARDED_BY(region);
};

/* False: the system gives no such mapping. */
HG_NODISCARD bool hgi_region_init(struct hgi_region *region, size_t size);
/* In a mapping that was given, from HGI_FRONT_BYTES on. False: its first step cannot be had. */
HG_NODISCARD bool hgi_region_init_in(struct hgi_region *region, const struct hgi_backing *backing);
void hgi_region_deinit(struct hgi_region *region);

/* A block with room for `size` bytes, the first word of which is the region's own and not to be
 * written; 0: there is none. What is in it is what was there. */
HG_NODISCARD uint32_t hgi_region_alloc(struct hgi_region *region, size_t size) HGI_EXCLUDES(region);
/* Only its own words of the block are written; wiping is the caller's. */
void hgi_region_free(struct hgi_region *region, uint32_t place) HGI_EXCLUDES(region);
/* How many bytes an alloc of `size` takes, if no larger block has to be given whole. */
size_t hgi_region_taken_bytes(size_t size);

static inline void *hgi_region_at(const struct hgi_region *region, uint32_t place)
{
    return hgi_memory_at(&region->memory, place);
}

#endif
