/* SPDX-License-Identifier: Apache-2.0 */
#include "item.h"

#include "base/check.h"

#define LOAD_MAX_MS UINT16_MAX

static bool fits_word(int64_t ms)
{
    return ms >= 0 && ms <= UINT32_MAX;
}

/* Whether the head has room for its times. */
static bool is_plain(const struct hgi_view *view)
{
    return fits_word(view->ttl_ms) && fits_word(view->stale_ttl_ms) &&
           view->keep_ms == view->stale_ttl_ms && view->refresh_after_ms == 0 &&
           view->refresh_backoff_ms == 0 && !view->is_refused;
}

static struct hgi_head head_of(const struct hgi_view *view)
{
    struct hgi_head head = {
        .born = view->born & HGI_BORN_MAX,
        .outcome = (uint64_t)view->outcome & 3,
        .is_softened = view->is_softened,
        .has_end = view->expires_wall_ms != 0,
        .has_life = !is_plain(view),
        .published_ms = (uint64_t)view->published_ms & ((UINT64_C(1) << 48) - 1),
        .load_ms = (uint16_t)(view->load_ms < LOAD_MAX_MS ? view->load_ms : LOAD_MAX_MS),
        .value_len = (uint32_t)view->value.len,
        .key_len = (uint16_t)view->key.len,
        .etag_len = (uint8_t)view->etag.len,
        .tag_count = (uint8_t)view->tag_count,
    };

    if (!head.has_life) {
        head.ttl_ms = (uint32_t)view->ttl_ms;
        head.stale_ttl_ms = (uint32_t)view->stale_ttl_ms;
    }
    return head;
}

static struct hgi_view view_of(const struct hgi_entry *entry)
{
    return (struct hgi_view){
        .born = entry->born,
        .outcome = entry->outcome,
        .published_ms = entry->published_ms,
        .ttl_ms = entry->ttl_ms,
        .stale_ttl_ms = entry->stale_ttl_ms,
        .keep_ms = entry->keep_ms > entry->stale_ttl_ms ? entry->keep_ms : entry->stale_ttl_ms,
        .load_ms = entry->load_ms,
        .expires_wall_ms = entry->expires_wall_ms,
        .expires_boot_ms = entry->expires_boot_ms,
        .tag_count = entry->tag_count,
        .key = entry->key,
        .value = entry->value,
        .etag = entry->etag,
    };
}

size_t hgi_item_size(const struct hgi_entry *entry)
{
    const struct hgi_view view = view_of(entry);

    return hgi_item_taken_as(&view);
}

/* The times and marks, which are all that may change. */
static void write_times(unsigned char *item, const struct hgi_head *head,
                        const struct hgi_view *view)
{
    const struct hgi_layout at = hgi_layout_of(head);
    const struct hgi_end end = {view->expires_wall_ms, view->expires_boot_ms};
    const struct hgi_life life = {
        .ttl_ms = view->ttl_ms,
        .stale_ttl_ms = view->stale_ttl_ms,
        .keep_ms = view->keep_ms,
        .refresh_after_ms = view->refresh_after_ms,
        .refresh_backoff_ms = (int32_t)view->refresh_backoff_ms,
        .is_refused = view->is_refused,
    };

    hgi_racy_store(item + offsetof(struct hgi_item, head), head, sizeof(*head));
    if (at.end_at) {
        hgi_racy_store(item + at.end_at, &end, sizeof(end));
    }
    if (at.life_at) {
        hgi_racy_store(item + at.life_at, &life, sizeof(life));
    }
}

/* Every tag, or none. */
static bool hold_tags(struct hgi_tags *tags, const struct hg_slice *names, size_t count,
                      uint32_t *ret_places)
{
    for (size_t i = 0; i < count; i++) {
        ret_places[i] = hgi_tags_hold(tags, names[i]);
        if (!ret_places[i]) {
            while (i-- > 0) {
                hgi_tags_release(tags, ret_places[i]);
            }
            return false;
        }
    }
    return true;
}

static uint32_t create(struct hgi_region *region, struct hgi_tags *tags,
                       const struct hgi_view *view, const struct hg_slice *tag_names,
                       uint32_t owner)
{
    const struct hgi_head head = head_of(view);
    const struct hgi_layout at = hgi_layout_of(&head);
    uint32_t tag_places[HGI_TAGS_MAX];
    unsigned char *item;
    uint32_t place;

    HGI_COSTLY(view->tag_count <= HGI_TAGS_MAX && view->etag.len <= UINT8_MAX);
    if (!hold_tags(tags, tag_names, view->tag_count, tag_places)) {
        return 0;
    }
    place = hgi_region_alloc(region, at.size);
    if (!place) {
        for (size_t i = 0; i < view->tag_count; i++) {
            hgi_tags_release(tags, tag_places[i]);
        }
        return 0;
    }
    item = hgi_region_at(region, place);
    /* Before anything is written where a reader may still look for what was here: it will find that
     * the version has moved. */
    __atomic_thread_fence(__ATOMIC_RELEASE);
    hgi_item_set_owner(region, place, owner);
    write_times(item, &head, view);
    hgi_racy_store(item + at.tags_at, tag_places, view->tag_count * sizeof(tag_places[0]));
    hgi_racy_store(item + at.key_at, view->key.data, view->key.len);
    hgi_racy_store(item + at.value_at, view->value.data, view->value.len);
    hgi_racy_store(item + at.etag_at, view->etag.data, view->etag.len);
    return place;
}

uint32_t hgi_item_create(struct hgi_region *region, struct hgi_tags *tags,
                         const struct hgi_entry *entry, uint32_t serial)
{
    const struct hgi_view view = view_of(entry);

    return create(region, tags, &view, entry->tags, serial << HGI_OWNER_SHIFT);
}

void hgi_item_tag_names(const struct hgi_tags *tags, const struct hgi_view *view,
                        struct hg_slice *ret_names)
{
    for (size_t i = 0; i < view->tag_count; i++) {
        ret_names[i] = hgi_tags_name(
            tags, hgi_racy_word((const unsigned char *)view->tag_places + i * sizeof(uint32_t)));
    }
}

uint32_t hgi_item_copy(struct hgi_region *region, struct hgi_tags *tags, uint32_t place,
                       const struct hgi_view *view)
{
    struct hg_slice names[HGI_TAGS_MAX];

    hgi_item_tag_names(tags, view, names);
    return create(region, tags, view, names, hgi_item_owner(region, place));
}

void hgi_item_destroy(struct hgi_region *region, struct hgi_tags *tags, uint32_t place)
{
    const struct hgi_head head = hgi_view_head(&region->memory, place);
    const struct hgi_layout at = hgi_layout_of(&head);
    unsigned char *item = hgi_region_at(region, place);

    for (size_t i = 0; i < head.tag_count; i++) {
        hgi_tags_release(tags, hgi_racy_word(item + at.tags_at + i * sizeof(uint32_t)));
    }
    hgi_racy_wipe(item + at.key_at, at.size - at.key_at);
    hgi_region_free(region, place);
}

size_t hgi_item_taken(const struct hgi_region *region, uint32_t place)
{
    const struct hgi_head head = hgi_view_head(&region->memory, place);

    return hgi_region_taken_bytes(hgi_layout_of(&head).size);
}

size_t hgi_item_taken_as(const struct hgi_view *view)
{
    const struct hgi_head head = head_of(view);

    return hgi_region_taken_bytes(hgi_layout_of(&head).size);
}

bool hgi_item_edit(struct hgi_region *region, uint32_t place, const struct hgi_view *view)
{
    const struct hgi_head old = hgi_view_head(&region->memory, place);
    struct hgi_head head = head_of(view);

    if (old.has_life && !head.has_life) {
        head.has_life = 1; /* it has the room; what would have fitted the head goes there too */
    }
    if (old.has_life != head.has_life || old.has_end != head.has_end) {
        return false;
    }
    write_times(hgi_region_at(region, place), &head, view);
    return true;
}
