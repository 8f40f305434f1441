/* SPDX-License-Identifier: Apache-2.0 */
/* tag: names that entries share, each with the number of its last invalidation.
 * Owns:     a record per name that some entry holds; the numbers of all other names, in stripes.
 * Threads:  any; hold and release take the tag lock, the numbers are read without it.
 * Limits:   HGI_TAGS_MAX names an entry.
 * Errors:   hold returns 0 when memory is out; a number is never lost.
 * Not here: which names an entry has (server/cache), what an entry does with the numbers (table).
 *
 * Invalidating a name is one store, however many entries hold it: an entry is covered if it was
 * born before the number. A name that nobody holds has its number in one of 4,096 stripes, shared
 * by hash: a collision can make a name seem invalidated later than it was, which refuses to store
 * what might have been stored, and never the other way round.
 *
 * The numbers of a name that is held lie in the table's region, where a reader of an entry finds
 * them by the places that the entry has. */
#ifndef HGI_STORAGE_TABLE_TAG_H
#define HGI_STORAGE_TABLE_TAG_H

#include "base/alloc.h"
#include "base/hash.h"
#include "base/lock.h"
#include "base/map.h"
#include "storage/flat/front.h"
#include "storage/flat/view.h"
#include "storage/table/region.h"

#define HGI_TAG_STRIPES 4096u

struct hgi_tag;

struct hgi_tags {
    const struct hgi_allocator *allocator;
    struct hgi_region *region;
    struct hgi_hash_key hash_key;
    struct hgi_tag_numbers stripes[HGI_TAG_STRIPES];
    struct hgi_lock lock;
    struct hgi_map map HGI_GUARDED_BY(tag);
};

HG_NODISCARD bool hgi_tags_init(struct hgi_tags *tags, const struct hgi_allocator *allocator,
                                struct hgi_region *region);
/* Nobody holds a tag any more. */
void hgi_tags_deinit(struct hgi_tags *tags);
/* The place of the name's record, held until release. 0: no memory. */
HG_NODISCARD uint32_t hgi_tags_hold(struct hgi_tags *tags, struct hg_slice name) HGI_EXCLUDES(tag);
void hgi_tags_release(struct hgi_tags *tags, uint32_t place) HGI_EXCLUDES(tag);
/* Of a record that is held; borrowed as long as it is. */
struct hg_slice hgi_tags_name(const struct hgi_tags *tags, uint32_t place);
/* What is born before `generation` and has the name is covered from here on. */
void hgi_tags_invalidate(struct hgi_tags *tags, struct hg_slice name, uint64_t generation,
                         bool is_soft) HGI_EXCLUDES(tag);
/* The larger of the name's two numbers: what was born before it may not be stored. */
uint64_t hgi_tags_number(struct hgi_tags *tags, struct hg_slice name) HGI_EXCLUDES(tag);

#endif
