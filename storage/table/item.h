/* SPDX-License-Identifier: Apache-2.0 */
/* item: an entry at rest in a block of a region, and how it is read while it may go.
 * Owns:     its block and its holds on tags, from create to destroy.
 * Threads:  writers hold their shard's lock. Readers hold none: what they copied is an item only if
 *           its bucket's version has not moved since before (index.h).
 * Limits:   born below 2^53, keys below 64 KiB, etags of at most 255 bytes.
 * Errors:   0 when memory is out; a copy that cannot be an item is told apart.
 * Not here: which items there are (index), who must go (shard).
 *
 * 16 bytes that only writers touch, 32 that readers copy, then what not every item has (the end of
 * a credential; long or unusual lifetimes), its tags, key, value and etag. */
#ifndef HGI_STORAGE_TABLE_ITEM_H
#define HGI_STORAGE_TABLE_ITEM_H

#include "storage/table/racy.h"
#include "storage/table/region.h"
#include "storage/table/table.h"
#include "storage/table/tag.h"

enum hgi_queue { HGI_QUEUE_SMALL, HGI_QUEUE_MAIN, HGI_QUEUE_NEGATIVE, HGI_QUEUE_COUNT };

/* What readers copy. Times that do not fit are in the tail (struct hgi_life). */
struct hgi_head {
    uint64_t born : 53;
    uint64_t outcome : 2;
    uint64_t is_softened : 1; /* marked stale by an invalidation of its key */
    uint64_t has_end : 1;     /* an expires_at follows */
    uint64_t has_life : 1;    /* a struct hgi_life follows, and the times here are not looked at */
    uint64_t published_ms : 48; /* as a signed number: it may be before this boot */
    uint64_t load_ms : 16;
    uint32_t ttl_ms;
    uint32_t stale_ttl_ms;
    uint32_t value_len;
    uint16_t key_len;
    uint8_t etag_len;
    uint8_t tag_count;
} __attribute__((packed, aligned(4)));

_Static_assert(sizeof(struct hgi_head) == 32, "as small as it can be");

struct hgi_item {
    uint32_t block;  /* the region's */
    uint32_t before; /* in its queue, as places; 0: none */
    uint32_t next;
    uint32_t owner; /* serial, queue and whether it is saved: struct hgi_owner, as one word */
    struct hgi_head head;
};

/* The hard end, on both clocks. */
struct hgi_end {
    int64_t wall_ms;
    int64_t boot_ms;
} __attribute__((packed, aligned(4)));

/* Of the few that have times beyond the head's, or a pause. */
struct hgi_life {
    int64_t ttl_ms;
    int64_t stale_ttl_ms;
    int64_t keep_ms;
    int64_t refresh_after_ms;
    int32_t refresh_backoff_ms;
    uint32_t is_refused;
} __attribute__((packed, aligned(4)));

/* An item as it was at one moment, in full. Slices and places are of the region's memory. */
struct hgi_view {
    uint64_t born;
    enum hg_outcome outcome;
    bool is_softened;
    bool is_refused;
    int64_t published_ms;
    int64_t ttl_ms;
    int64_t stale_ttl_ms;
    int64_t keep_ms;
    int64_t load_ms;
    int64_t expires_wall_ms; /* 0: none */
    int64_t expires_boot_ms;
    int64_t refresh_after_ms;
    int64_t refresh_backoff_ms;
    const void *tag_places; /* tag_count words */
    size_t tag_count;
    struct hg_slice key;
    struct hg_slice value;
    struct hg_slice etag;
};

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
/* For a writer; also for a reader, who learns by the version whether it was true. False: it cannot
 * be an item. */
HG_NODISCARD bool hgi_item_view(const struct hgi_region *region, uint32_t place,
                                struct hgi_view *ret_view);
/* The same if it is of that key; false too if it is of another. */
HG_NODISCARD bool hgi_item_view_of(const struct hgi_region *region, uint32_t place,
                                   struct hg_slice key, struct hgi_view *ret_view);
/* Gives it the view's times and marks; readers are kept off by its bucket's version. False: it has
 * no room for them where it is, and nothing was changed. */
HG_NODISCARD bool hgi_item_edit(struct hgi_region *region, uint32_t place,
                                const struct hgi_view *view);
/* May not be served to anybody any more. */
bool hgi_view_is_over(const struct hgi_view *view, const struct hgi_now *now);
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

/* The owner's word. */
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
