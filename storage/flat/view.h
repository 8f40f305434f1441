/* SPDX-License-Identifier: Apache-2.0 */
/* view: how an entry lies in the memory, and how it is read while it may go.
 * Owns:     nothing; a view's slices are the memory's.
 * Threads:  any. What a reader without the shard's lock has read is an entry only if its bucket's
 *           version has not moved since before (bucket.h).
 * Limits:   born below 2^53, keys below 64 KiB, etags of at most 255 bytes, HGI_TAGS_MAX tags.
 * Errors:   false: it cannot be one.
 * Not here: making and changing one (table/item).
 *
 * 16 bytes that only writers touch, 32 that readers copy, then what not every item has (the end of
 * a credential; long or unusual lifetimes), its tags, key, value and etag. */
#ifndef HGI_STORAGE_FLAT_VIEW_H
#define HGI_STORAGE_FLAT_VIEW_H

#include "base/clock.h"
#include "herdgate/types.h"
#include "storage/flat/memory.h"
#include "storage/flat/racy.h"

#define HGI_TAGS_MAX 20u /* 16 given, the key's first part, an auth value's user, and room */

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
    uint32_t owner; /* serial, queue and whether it is saved, as one word (table/item) */
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

/* What lies where behind the head, from the item's first byte. */
struct hgi_layout {
    size_t end_at; /* 0: it has none; like life_at */
    size_t life_at;
    size_t tags_at;
    size_t key_at;
    size_t value_at;
    size_t etag_at;
    size_t size;
};

/* An item as it was at one moment, in full. Slices and places are of the memory. */
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

static inline struct hgi_layout hgi_layout_of(const struct hgi_head *head)
{
    struct hgi_layout at = {.tags_at = sizeof(struct hgi_item)};

    if (head->has_end) {
        at.end_at = at.tags_at;
        at.tags_at += sizeof(struct hgi_end);
    }
    if (head->has_life) {
        at.life_at = at.tags_at;
        at.tags_at += sizeof(struct hgi_life);
    }
    at.key_at = at.tags_at + head->tag_count * sizeof(uint32_t);
    at.value_at = at.key_at + head->key_len;
    at.etag_at = at.value_at + head->value_len;
    at.size = at.etag_at + head->etag_len;
    return at;
}

static inline const struct hgi_item *hgi_view_item(const struct hgi_memory *memory, uint32_t place)
{
    return hgi_memory_at(memory, place);
}

static inline struct hgi_head hgi_view_head(const struct hgi_memory *memory, uint32_t place)
{
    struct hgi_head head;

    hgi_racy_load(&head, &hgi_view_item(memory, place)->head, sizeof(head));
    return head;
}

/* The times of one that has an end or a life of its own. */
static inline void hgi_view_read_rare(const unsigned char *item, const struct hgi_layout *at,
                                      struct hgi_view *ret_view)
{
    if (at->end_at) {
        struct hgi_end end;

        hgi_racy_load(&end, item + at->end_at, sizeof(end));
        ret_view->expires_wall_ms = end.wall_ms;
        ret_view->expires_boot_ms = end.boot_ms;
    }
    if (at->life_at) {
        struct hgi_life life;

        hgi_racy_load(&life, item + at->life_at, sizeof(life));
        ret_view->ttl_ms = life.ttl_ms;
        ret_view->stale_ttl_ms = life.stale_ttl_ms;
        ret_view->keep_ms = life.keep_ms;
        ret_view->refresh_after_ms = life.refresh_after_ms;
        ret_view->refresh_backoff_ms = life.refresh_backoff_ms;
        ret_view->is_refused = life.is_refused != 0;
    }
}

static inline bool hgi_view_with(const struct hgi_memory *memory, uint32_t place,
                                 const struct hgi_head *head, struct hgi_view *ret_view)
{
    const struct hgi_layout at = hgi_layout_of(head);
    const unsigned char *item = hgi_memory_at(memory, place);

    if (!hgi_memory_holds(memory, place, at.size) || head->tag_count > HGI_TAGS_MAX) {
        return false;
    }
    *ret_view = (struct hgi_view){
        .born = head->born,
        .outcome = (enum hg_outcome)head->outcome,
        .is_softened = head->is_softened,
        .published_ms = (int64_t)((uint64_t)head->published_ms << 16) >> 16,
        .load_ms = (int64_t)head->load_ms,
        .ttl_ms = head->ttl_ms,
        .stale_ttl_ms = head->stale_ttl_ms,
        .keep_ms = head->stale_ttl_ms,
        .tag_places = item + at.tags_at,
        .tag_count = head->tag_count,
        .key = hg_slice_of(item + at.key_at, head->key_len),
        .value = hg_slice_of(item + at.value_at, head->value_len),
        .etag = hg_slice_of(item + at.etag_at, head->etag_len),
    };
    if (head->has_end || head->has_life) {
        hgi_view_read_rare(item, &at, ret_view);
    }
    return true;
}

static inline bool hgi_view_read(const struct hgi_memory *memory, uint32_t place,
                                 struct hgi_view *ret_view)
{
    struct hgi_head head;

    if (!hgi_memory_holds(memory, place, sizeof(struct hgi_item))) {
        return false;
    }
    head = hgi_view_head(memory, place);
    return hgi_view_with(memory, place, &head, ret_view);
}

/* A racing key may be anything; its length is not, for it was just looked at. */
static inline bool hgi_view_key_is(const unsigned char *at, struct hg_slice key)
{
#ifdef HGI_RACY_BYTES
    unsigned char copy[UINT16_MAX];

    hgi_racy_load(copy, at, key.len);
    at = copy;
#endif
    return memcmp(at, key.data, key.len) == 0;
}

/* The same if it is of that key; false too if it is of another. */
static inline bool hgi_view_read_of(const struct hgi_memory *memory, uint32_t place,
                                    struct hg_slice key, struct hgi_view *ret_view)
{
    struct hgi_head head;

    if (!hgi_memory_holds(memory, place, sizeof(struct hgi_item))) {
        return false;
    }
    head = hgi_view_head(memory, place);
    return head.key_len == key.len && hgi_view_with(memory, place, &head, ret_view) &&
           hgi_view_key_is(ret_view->key.data, key);
}

/* May not be served to anybody any more. */
bool hgi_view_is_over(const struct hgi_view *view, const struct hgi_now *now);

#endif
