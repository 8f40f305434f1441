/* SPDX-License-Identifier: Apache-2.0 */
#include "inflight.h"

#define SLOTS_MIN 16u

void hgi_inflight_init(struct hgi_inflight *inflight)
{
    inflight->slots = NULL;
    inflight->slot_count = 0;
    inflight->count = 0;
}

void hgi_inflight_deinit(struct hgi_inflight *inflight)
{
    hgi_free(&hgi_heap, inflight->slots);
    hgi_inflight_init(inflight);
}

/* Ids are counted up by every client known, so their low bits alone spread well; the multiplication
 * keeps those of several clients behind one proxy (several words) apart. */
static uint32_t home_of(const struct hgi_inflight *inflight, const struct hgi_sp_route *route)
{
    uint32_t hash = 2166136261u;

    for (uint32_t i = 0; i < route->len; i++) {
        hash = (hash ^ route->bytes[i]) * 16777619u;
    }
    return hash & (inflight->slot_count - 1);
}

/* The route's slot, or the empty one where it would go. */
static uint32_t slot_of(const struct hgi_inflight *inflight, const struct hgi_sp_route *route)
{
    uint32_t at = home_of(inflight, route);

    while (inflight->slots[at].len && !hgi_sp_route_equal(&inflight->slots[at], route)) {
        at = (at + 1) & (inflight->slot_count - 1);
    }
    return at;
}

static bool grow(struct hgi_inflight *inflight)
{
    struct hgi_inflight bigger = {.count = inflight->count};

    bigger.slot_count = inflight->slot_count ? inflight->slot_count * 2 : SLOTS_MIN;
    bigger.slots = hgi_alloc(&hgi_heap, bigger.slot_count * sizeof(*bigger.slots));
    if (!bigger.slots) {
        return false;
    }
    for (uint32_t i = 0; i < inflight->slot_count; i++) {
        if (inflight->slots[i].len) {
            bigger.slots[slot_of(&bigger, &inflight->slots[i])] = inflight->slots[i];
        }
    }
    hgi_free(&hgi_heap, inflight->slots);
    *inflight = bigger;
    return true;
}

enum hgi_inflight_add hgi_inflight_add(struct hgi_inflight *inflight,
                                       const struct hgi_sp_route *route)
{
    uint32_t at;

    /* Never more than half full: walks stay short and always meet an empty slot. */
    if (inflight->count * 2 >= inflight->slot_count && !grow(inflight)) {
        return HGI_INFLIGHT_NO_MEMORY;
    }
    at = slot_of(inflight, route);
    if (inflight->slots[at].len) {
        return HGI_INFLIGHT_THERE;
    }
    inflight->slots[at] = *route;
    inflight->count++;
    return HGI_INFLIGHT_ADDED;
}

bool hgi_inflight_remove(struct hgi_inflight *inflight, const struct hgi_sp_route *route)
{
    uint32_t mask = inflight->slot_count - 1;
    uint32_t hole;

    if (inflight->count == 0) {
        return false;
    }
    hole = slot_of(inflight, route);
    if (!inflight->slots[hole].len) {
        return false;
    }
    /* Close the gap: pull back each following route that may not stand behind an empty slot. */
    for (uint32_t at = (hole + 1) & mask; inflight->slots[at].len; at = (at + 1) & mask) {
        uint32_t home = home_of(inflight, &inflight->slots[at]);

        if (((at - home) & mask) >= ((at - hole) & mask)) {
            inflight->slots[hole] = inflight->slots[at];
            hole = at;
        }
    }
    inflight->slots[hole].len = 0;
    inflight->count--;
    return true;
}
