/* SPDX-License-Identifier: Apache-2.0 */
/* region: one mapping, and the blocks it is cut into.
 * Owns:     the mapping; its memory stays mapped, whatever is freed, until deinit.
 * Threads:  any; alloc and free take the region lock. Blocks that are free are written with atomic
 *           words, for a reader may still look at what was there (racy.h).
 * Limits:   HGI_REGION_MAX_BYTES; memory is used only as far as it is touched.
 * Errors:   no block large enough: 0.
 * Not here: what is in a block (item, index, tag).
 *
 * Places are offsets in words of 4 bytes, so that they mean the same in another mapping of the same
 * memory. The blocks are cut by TLSF (Masmano et al., ECRTS'04): lists of free blocks by size, two
 * levels of bitmaps to find one, neighbours joined when freed; both calls are O(1). */
#ifndef HGI_STORAGE_TABLE_REGION_H
#define HGI_STORAGE_TABLE_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/lock.h"
#include "herdgate/attr.h"

#define HGI_REGION_WORD_BYTES 4u
#define HGI_REGION_MAX_BYTES  ((size_t)UINT32_MAX * HGI_REGION_WORD_BYTES)
#define HGI_REGION_ROWS       27u /* 2^3 sizes below 16 words, then one row a power of two */
#define HGI_REGION_COLUMNS    16u

struct hgi_region {
    /* set once */
    unsigned char *base;
    size_t size;
    struct hgi_lock lock;
    uint32_t row_map HGI_GUARDED_BY(region);
    uint32_t column_maps[HGI_REGION_ROWS] HGI_GUARDED_BY(region);
    uint32_t heads[HGI_REGION_ROWS][HGI_REGION_COLUMNS] HGI_GUARDED_BY(region);
};

/* False: the system gives no such mapping. */
HG_NODISCARD bool hgi_region_init(struct hgi_region *region, size_t size);
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
    return region->base + (size_t)place * HGI_REGION_WORD_BYTES;
}

/* `size` bytes from `place` on lie in the mapping: for places that may be nonsense. */
static inline bool hgi_region_holds(const struct hgi_region *region, uint32_t place, size_t size)
{
    size_t at = (size_t)place * HGI_REGION_WORD_BYTES;

    return at < region->size && size <= region->size - at;
}

#endif
