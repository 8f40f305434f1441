/* SPDX-License-Identifier: Apache-2.0 */
#include "shard.h"

#include <string.h>

#include "base/check.h"

#define SECOND_CHANCES  64u /* moves an eviction may make before it evicts what is at hand */
#define HEAT_TO_PROMOTE 2u
#define SMALL_SHARE     10u /* small holds 1/10 of the positives */

bool hgi_shard_init(struct hgi_shard *shard, struct hgi_ground *ground, size_t number, size_t share)
{
    size_t ghost_count = 16;

    memset(shard, 0, sizeof(*shard));
    shard->ground = ground;
    while (ghost_count < share) {
        ghost_count *= 2;
    }
    shard->ghost_mask = ghost_count - 1;
    shard->front = &ground->reader.front->shards[number];
    if (!hgi_index_init(&shard->index, &ground->region, number)) {
        return false;
    }
    hgi_lock_init(&shard->lock);
    return true;
}

/* ---- lines ---- */

static void line_in(struct hgi_shard *shard, uint32_t place, enum hgi_queue queue)
{
    struct hgi_region *region = &shard->ground->region;
    struct hgi_line *line = &shard->lines[queue];
    struct hgi_item *item = hgi_item_at(region, place);
    uint32_t owner = hgi_item_owner(region, place) & ~HGI_OWNER_QUEUE;

    hgi_item_set_owner(region, place, owner | (uint32_t)queue);
    hgi_racy_set_word(&item->before, line->newest);
    hgi_racy_set_word(&item->next, 0);
    if (line->newest) {
        hgi_racy_set_word(&hgi_item_at(region, line->newest)->next, place);
    } else {
        line->oldest = place;
    }
    line->newest = place;
    line->count++;
}

static void line_out(struct hgi_shard *shard, uint32_t place)
{
    struct hgi_region *region = &shard->ground->region;
    struct hgi_line *line = &shard->lines[hgi_item_queue(region, place)];
    struct hgi_item *item = hgi_item_at(region, place);
    uint32_t before = hgi_racy_word(&item->before);
    uint32_t next = hgi_racy_word(&item->next);

    if (before) {
        hgi_racy_set_word(&hgi_item_at(region, before)->next, next);
    } else {
        line->oldest = next;
    }
    if (next) {
        hgi_racy_set_word(&hgi_item_at(region, next)->before, before);
    } else {
        line->newest = before;
    }
    line->count--;
}

/* `fresh` stands where `old` stood. */
static void line_swap(struct hgi_shard *shard, uint32_t old, uint32_t fresh)
{
    struct hgi_region *region = &shard->ground->region;
    struct hgi_line *line = &shard->lines[hgi_item_queue(region, old)];
    uint32_t before = hgi_racy_word(&hgi_item_at(region, old)->before);
    uint32_t next = hgi_racy_word(&hgi_item_at(region, old)->next);

    hgi_racy_set_word(&hgi_item_at(region, fresh)->before, before);
    hgi_racy_set_word(&hgi_item_at(region, fresh)->next, next);
    if (before) {
        hgi_racy_set_word(&hgi_item_at(region, before)->next, fresh);
    } else {
        line->oldest = fresh;
    }
    if (next) {
        hgi_racy_set_word(&hgi_item_at(region, next)->before, fresh);
    } else {
        line->newest = fresh;
    }
}

/* ---- items ---- */

void hgi_shard_deinit(struct hgi_shard *shard) HGI_UNCHECKED
{
    struct hgi_ground *ground = shard->ground;

    for (size_t q = 0; q < HGI_QUEUE_COUNT; q++) {
        uint32_t place = shard->lines[q].oldest;

        while (place) {
            uint32_t next = hgi_racy_word(&hgi_item_at(&ground->region, place)->next);

            hgi_item_destroy(&ground->region, &ground->tags, place);
            place = next;
        }
    }
    hgi_free(ground->allocator, shard->ghosts);
    hgi_lock_deinit(&shard->lock);
}

void hgi_shard_count_unsaved(struct hgi_shard *shard, uint32_t place, bool is_unsaved)
{
    struct hgi_region *region = &shard->ground->region;
    uint32_t owner = hgi_item_owner(region, place);

    if (((owner & HGI_OWNER_UNSAVED) != 0) != is_unsaved) {
        hgi_item_set_owner(region, place, owner ^ HGI_OWNER_UNSAVED);
        shard->unsaved += is_unsaved ? 1 : (size_t)-1;
    }
}

void hgi_shard_set_unsaved(struct hgi_shard *shard, uint64_t hash, uint32_t place, bool is_unsaved)
{
    hgi_shard_count_unsaved(shard, place, is_unsaved);
    if (is_unsaved) {
        hgi_index_mark_unsaved(&shard->index, hash);
    }
}

/* Out of all that counts it and lines it up; readers still find it. */
static void step_down(struct hgi_shard *shard, uint64_t hash, uint32_t place) HGI_REQUIRES(shard)
{
    struct hgi_ground *ground = shard->ground;
    bool is_negative = hgi_item_queue(&ground->region, place) == HGI_QUEUE_NEGATIVE;
    struct hgi_view view;

    HGI_BUG_ON(!hgi_view_read(&ground->region.memory, place, &view));
    if (view.born >= hgi_front_cleared(shard->front)) {
        shard->live--;
        shard->live_negatives -= is_negative;
    }
    hgi_usage_give_back(&ground->usage, hgi_item_taken(&ground->region, place), is_negative);
    hgi_shard_set_unsaved(shard, hash, place, false);
    line_out(shard, place);
}

/* After step_down. */
static void leave(struct hgi_shard *shard, uint64_t hash, uint32_t place)
{
    struct hgi_ground *ground = shard->ground;

    hgi_index_remove(&shard->index, hash, place);
    hgi_item_destroy(&ground->region, &ground->tags, place);
}

void hgi_shard_drop(struct hgi_shard *shard, uint64_t hash, uint32_t place)
{
    step_down(shard, hash, place);
    leave(shard, hash, place);
}

/* A ghost is 32 bits of the hash in a slot of its own: a collision only gives a stranger a better
 * start. */
static uint32_t ghost_print(uint64_t hash)
{
    return (uint32_t)(hash >> 32) | 1u;
}

static void remember_ghost(struct hgi_shard *shard, uint64_t hash)
{
    if (!shard->ghosts) { /* a table that never evicts needs none; without memory, none */
        shard->ghosts =
            hgi_alloc(shard->ground->allocator, (shard->ghost_mask + 1) * sizeof(uint32_t));
    }
    if (shard->ghosts) {
        shard->ghosts[hash & shard->ghost_mask] = ghost_print(hash);
    }
}

static bool is_ghost(const struct hgi_shard *shard, uint64_t hash)
{
    return shard->ghosts && shard->ghosts[hash & shard->ghost_mask] == ghost_print(hash);
}

/* ---- eviction ---- */

static uint64_t hash_of(const struct hgi_shard *shard, const struct hgi_view *view)
{
    return hgi_reader_hash(&shard->ground->reader, view->key);
}

static void evict(struct hgi_shard *shard, uint64_t hash, uint32_t place, bool is_cleared)
    HGI_REQUIRES(shard)
{
    if (!is_cleared) {
        if (hgi_item_queue(&shard->ground->region, place) == HGI_QUEUE_SMALL) {
            remember_ghost(shard, hash);
        }
        hgi_metric_add(shard->ground->metrics, HGI_METRIC_evicted, 1);
    }
    hgi_shard_drop(shard, hash, place);
}

/* True: one positive was evicted. */
static bool evict_positive(struct hgi_shard *shard) HGI_REQUIRES(shard)
{
    struct hgi_heat *heat = &shard->ground->reader.heat;

    for (unsigned moves = 0;; moves++) {
        size_t small_count = shard->lines[HGI_QUEUE_SMALL].count;
        size_t main_count = shard->lines[HGI_QUEUE_MAIN].count;
        bool from_small = small_count > 0 && (main_count == 0 || small_count * SMALL_SHARE >=
                                                                     small_count + main_count);
        uint32_t place = shard->lines[from_small ? HGI_QUEUE_SMALL : HGI_QUEUE_MAIN].oldest;
        struct hgi_view view;
        bool is_cleared;
        uint64_t hash;
        unsigned reads;

        if (!place) {
            return false;
        }
        HGI_BUG_ON(!hgi_view_read(&shard->ground->region.memory, place, &view));
        hash = hash_of(shard, &view);
        reads = hgi_heat_of(heat, place);
        is_cleared = view.born < hgi_front_cleared(shard->front);
        if (moves >= SECOND_CHANCES || is_cleared || reads < (from_small ? HEAT_TO_PROMOTE : 1u)) {
            evict(shard, hash, place, is_cleared);
            return true;
        }
        line_out(shard, place);
        hgi_heat_set(heat, place, from_small ? 0 : reads - 1);
        line_in(shard, place, HGI_QUEUE_MAIN);
    }
}

static bool evict_negative(struct hgi_shard *shard) HGI_REQUIRES(shard)
{
    uint32_t place = shard->lines[HGI_QUEUE_NEGATIVE].oldest;
    struct hgi_view view;

    if (!place) {
        return false;
    }
    HGI_BUG_ON(!hgi_view_read(&shard->ground->region.memory, place, &view));
    evict(shard, hash_of(shard, &view), place, view.born < hgi_front_cleared(shard->front));
    return true;
}

bool hgi_shard_evict(struct hgi_shard *shard, enum hgi_room room)
{
    if (room == HGI_ROOM_IF_NEGATIVE) {
        return evict_negative(shard);
    }
    return evict_positive(shard) || evict_negative(shard);
}

static enum hgi_room make_room(struct hgi_shard *shard, size_t size, bool is_negative)
    HGI_REQUIRES(shard)
{
    enum hgi_room room;

    do {
        room = hgi_usage_take(&shard->ground->usage, size, is_negative);
    } while (room != HGI_ROOM_TAKEN && room != HGI_ROOM_NONE && hgi_shard_evict(shard, room));
    return room;
}

/* No block of the region is long enough for `size`, though bytes are left: what is there lies
 * badly. */
static bool is_crowded(struct hgi_region *region, size_t size)
{
    uint32_t place = hgi_region_alloc(region, size);

    if (place) {
        hgi_region_free(region, place);
    }
    return place == 0;
}

/* The item, linked nowhere; room has been taken for it. */
static enum hgi_room create(struct hgi_shard *shard, const struct hgi_entry *entry, size_t size,
                            uint32_t *ret_place) HGI_REQUIRES(shard)
{
    struct hgi_ground *ground = shard->ground;
    uint32_t place;
    bool is_crowded_out;

    do {
        place = hgi_item_create(&ground->region, &ground->tags, entry,
                                ++shard->serial_last & (UINT32_MAX >> HGI_OWNER_SHIFT));
        is_crowded_out = !place && is_crowded(&ground->region, size);
    } while (is_crowded_out && hgi_shard_evict(shard, HGI_ROOM_IF_ANY));
    *ret_place = place;
    return place ? HGI_ROOM_TAKEN : is_crowded_out ? HGI_ROOM_IF_ANY : HGI_ROOM_NONE;
}

/* The new item where readers look: in place of the old one if there is one, so that none of them
 * ever finds neither. */
static bool take_place(struct hgi_shard *shard, uint32_t old, uint64_t hash, uint32_t place)
{
    struct hgi_ground *ground = shard->ground;

    if (!old) {
        return hgi_index_insert(&shard->index, hash, place);
    }
    hgi_index_swap(&shard->index, hash, old, place);
    hgi_item_destroy(&ground->region, &ground->tags, old);
    return true;
}

/* Of an entry for which room was taken. `old` has stepped down, and is gone after this. */
static enum hgi_room put_in(struct hgi_shard *shard, uint32_t old, uint64_t hash,
                            const struct hgi_entry *entry, size_t size, uint32_t *ret_place)
    HGI_REQUIRES(shard)
{
    struct hgi_ground *ground = shard->ground;
    enum hgi_room room = create(shard, entry, size, ret_place);

    if (room != HGI_ROOM_TAKEN && old) {
        leave(shard, hash, old);
        old = 0;
        if (room == HGI_ROOM_IF_ANY) { /* what it left may be what was missing */
            room = create(shard, entry, size, ret_place);
        }
    }
    if (room == HGI_ROOM_TAKEN && !take_place(shard, old, hash, *ret_place)) {
        hgi_item_destroy(&ground->region, &ground->tags, *ret_place);
        room = HGI_ROOM_NONE;
    }
    return room;
}

enum hgi_room hgi_shard_replace(struct hgi_shard *shard, uint32_t old, uint64_t hash,
                                const struct hgi_entry *entry, uint32_t *ret_place)
{
    struct hgi_ground *ground = shard->ground;
    bool is_negative = entry->outcome != HG_VALUE;
    size_t size = hgi_item_size(entry);
    enum hgi_queue queue = is_negative ? HGI_QUEUE_NEGATIVE : HGI_QUEUE_SMALL;
    unsigned reads = 0;
    enum hgi_room room;
    uint32_t place;

    if (old) {
        /* A refreshed value keeps the standing its key has earned, and its heat. */
        if (!is_negative && hgi_item_queue(&ground->region, old) == HGI_QUEUE_MAIN) {
            queue = HGI_QUEUE_MAIN;
        }
        reads = hgi_heat_of(&ground->reader.heat, old);
        step_down(shard, hash, old);
    } else if (!is_negative && is_ghost(shard, hash)) {
        queue = HGI_QUEUE_MAIN;
    }
    room = make_room(shard, size, is_negative);
    if (room != HGI_ROOM_TAKEN) {
        if (old) {
            leave(shard, hash, old);
        }
        return room;
    }
    room = put_in(shard, old, hash, entry, size, &place);
    if (room != HGI_ROOM_TAKEN) {
        hgi_usage_give_back(&ground->usage, size, is_negative);
        return room;
    }
    if (reads != hgi_heat_of(&ground->reader.heat, place)) { /* else its page may stay untouched */
        hgi_heat_set(&ground->reader.heat, place, reads);
    }
    line_in(shard, place, queue);
    shard->live++;
    shard->live_negatives += is_negative;
    *ret_place = place;
    return HGI_ROOM_TAKEN;
}

/* Room for the item to become larger; it stays. */
static bool make_it_grow(struct hgi_shard *shard, uint32_t place, size_t size, size_t new_size)
    HGI_REQUIRES(shard)
{
    struct hgi_ground *ground = shard->ground;
    enum hgi_queue queue = hgi_item_queue(&ground->region, place);
    enum hgi_room room;

    line_out(shard, place); /* so that it is not what goes to make the room */
    do {
        room = hgi_usage_grow(&ground->usage, size, new_size, queue == HGI_QUEUE_NEGATIVE);
    } while (room != HGI_ROOM_TAKEN && hgi_shard_evict(shard, room));
    line_in(shard, place, queue);
    return room == HGI_ROOM_TAKEN;
}

/* A copy laid out for the view takes its place. */
static bool edit_copy(struct hgi_shard *shard, uint64_t hash, uint32_t place,
                      const struct hgi_view *view) HGI_REQUIRES(shard)
{
    struct hgi_ground *ground = shard->ground;
    bool is_negative = hgi_item_queue(&ground->region, place) == HGI_QUEUE_NEGATIVE;
    size_t size = hgi_item_taken(&ground->region, place);
    size_t new_size = hgi_item_taken_as(view);
    uint32_t fresh;

    if (new_size > size && !make_it_grow(shard, place, size, new_size)) {
        return false;
    }
    fresh = hgi_item_copy(&ground->region, &ground->tags, place, view);
    if (!fresh && new_size > size) {
        hgi_usage_shrink(&ground->usage, new_size, size, is_negative);
    }
    if (!fresh) {
        return false;
    }
    if (new_size < size) {
        hgi_usage_shrink(&ground->usage, size, new_size, is_negative);
    }
    hgi_heat_set(&ground->reader.heat, fresh, hgi_heat_of(&ground->reader.heat, place));
    line_swap(shard, place, fresh);
    hgi_index_swap(&shard->index, hash, place, fresh);
    hgi_item_destroy(&ground->region, &ground->tags, place);
    return true;
}

bool hgi_shard_edit(struct hgi_shard *shard, uint64_t hash, uint32_t place,
                    const struct hgi_view *view)
{
    bool is_done;

    hgi_index_open(&shard->index, hash);
    is_done = hgi_item_edit(&shard->ground->region, place, view);
    hgi_index_close(&shard->index, hash);
    return is_done || edit_copy(shard, hash, place, view);
}
