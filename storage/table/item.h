/* SPDX-License-Identifier: Apache-2.0 */
/* item: making an entry at rest in a block of a region, changing it, ending it.
 * Owns:     its block and its holds on tags, from create to destroy.
 * Threads:  writers hold their shard's lock.
 * Limits:   those of flat/view.
 * Errors:   0 when memory is out.
 * Not here: how it lies there and is read (flat/view), which items there are (index), who must go
 *           (shard). */
#ifndef HGI_STORAGE_TABLE_ITEM_H
#define HGI_STORAGE_TABLE_ITEM_H

#include "storage/flat/view.h"
#include "storage/table/region.h"
#include "storage/table/table.h"
#include "storage/table/tag.h"

enum hgi_queue { HGI_QUEUE_SMALL, HGI_QUEUE_MAIN, HGI_QUEUE_NEGATIVE, HGI_QUEUE_COUNT };

/* How much of the table's bytes the entry takes. */
size_t hgi_item_size(const struct hgi_entry *entry);
/* A copy of the entry, not linked anywhere; holds its tags. 0: no memory. */
HG_NODISCARD uint32_t hgi_item_create(struct hgi_region *region, struct hgi_tags *tags,
                                      const struct hgi_entry *entry, uint32_t serial);
/* A copy of the item with the view's times and marks, which its room does not hold; it holds the
 * same tags. 0: no memory. */
HG_NODISCARD uint32_t hgi_item_copy(struct hgi_region *region, struct hgi_tags *tags,
                                    uint32_t place, const struct hgi_view *view);
/* Wiped, for keys and values may be credentials. Not linked any more. */
void hgi_item_destroy(struct hgi_region *region, struct hgi_tags *tags, uint32_t place);
/* Gives it the view's times and marks; readers are kept off by its bucket's version. False: it has
 * no room for them where it is, and nothing was changed. */
HG_NODISCARD bool hgi_item_edit(struct hgi_region *region, uint32_t place,
                                const struct hgi_view *view);
/* The names of its tags, for a writer; borrowed while it holds them. */
void hgi_item_tag_names(const struct hgi_tags *tags, const struct hgi_view *view,
                        struct hg_slice *ret_names);
/* The bytes it takes; the bytes it would take as the view says. */
size_t hgi_item_taken(const struct hgi_region *region, uint32_t place);
size_t hgi_item_taken_as(const struct hgi_view *view);

static inline struct hgi_item *hgi_item_at(const struct hgi_region *region, uint32_t place)
{
    return hgi_region_at(region, place);
}

/* The owner's word: serial, whether it is to be saved, queue. */
#define HGI_OWNER_QUEUE   3u
#define HGI_OWNER_UNSAVED 4u
#define HGI_OWNER_SHIFT   3u

static inline uint32_t hgi_item_owner(const struct hgi_region *region, uint32_t place)
{
    return hgi_racy_word(&hgi_item_at(region, place)->owner);
}

static inline void hgi_item_set_owner(struct hgi_region *region, uint32_t place, uint32_t owner)
{
    hgi_racy_set_word(&hgi_item_at(region, place)->owner, owner);
}

static inline enum hgi_queue hgi_item_queue(const struct hgi_region *region, uint32_t place)
{
    return (enum hgi_queue)(hgi_item_owner(region, place) & HGI_OWNER_QUEUE);
}

static inline uint32_t hgi_item_serial(const struct hgi_region *region, uint32_t place)
{
    return hgi_item_owner(region, place) >> HGI_OWNER_SHIFT;
}

#endif
