/* SPDX-License-Identifier: Apache-2.0 */
#include "usage.h"

#include <stdint.h>

#include "base/check.h"

#define NEGATIVE_SHARE 8u /* negatives hold at most 1/8 (semantics 1) */

void hgi_usage_init(struct hgi_usage *usage, size_t max_entries, size_t max_bytes)
{
    usage->max_entries = max_entries;
    usage->max_bytes = max_bytes;
    atomic_init(&usage->entries, 0);
    atomic_init(&usage->bytes, 0);
    atomic_init(&usage->negatives, 0);
    atomic_init(&usage->negative_bytes, 0);
}

static size_t negatives_max(const struct hgi_usage *usage)
{
    size_t max = usage->max_entries / NEGATIVE_SHARE;

    return max ? max : 1;
}

/* Adds if the sum stays within `max`. */
static bool take(_Atomic size_t *count, size_t amount, size_t max)
{
    size_t before = atomic_load_explicit(count, memory_order_relaxed);

    do {
        if (amount > max || before > max - amount) {
            return false;
        }
    } while (!atomic_compare_exchange_weak_explicit(count, &before, before + amount,
                                                    memory_order_relaxed, memory_order_relaxed));
    return true;
}

static void give(_Atomic size_t *count, size_t amount)
{
    atomic_fetch_sub_explicit(count, amount, memory_order_relaxed);
}

/* Both counts or none. */
static bool take_both(_Atomic size_t *entries, size_t max_entries, _Atomic size_t *bytes,
                      size_t size, size_t max_bytes)
{
    if (!take(entries, 1, max_entries)) {
        return false;
    }
    if (!take(bytes, size, max_bytes)) {
        give(entries, 1);
        return false;
    }
    return true;
}

enum hgi_room hgi_usage_take(struct hgi_usage *usage, size_t size, bool is_negative)
{
    size_t negative_bytes_max = usage->max_bytes / NEGATIVE_SHARE;

    if (size > (is_negative ? negative_bytes_max : usage->max_bytes)) {
        return HGI_ROOM_NONE;
    }
    /* First, so that a negative beyond their share costs a negative. */
    if (is_negative && !take_both(&usage->negatives, negatives_max(usage), &usage->negative_bytes,
                                  size, negative_bytes_max)) {
        return HGI_ROOM_IF_NEGATIVE;
    }
    if (take_both(&usage->entries, usage->max_entries, &usage->bytes, size, usage->max_bytes)) {
        return HGI_ROOM_TAKEN;
    }
    if (is_negative) {
        give(&usage->negatives, 1);
        give(&usage->negative_bytes, size);
    }
    return HGI_ROOM_IF_ANY;
}

enum hgi_room hgi_usage_grow(struct hgi_usage *usage, size_t size, size_t new_size,
                             bool is_negative)
{
    size_t more = new_size - size;

    HGI_BUG_ON(new_size < size);
    if (is_negative && !take(&usage->negative_bytes, more, usage->max_bytes / NEGATIVE_SHARE)) {
        return HGI_ROOM_IF_NEGATIVE;
    }
    if (take(&usage->bytes, more, usage->max_bytes)) {
        return HGI_ROOM_TAKEN;
    }
    if (is_negative) {
        give(&usage->negative_bytes, more);
    }
    return HGI_ROOM_IF_ANY;
}

void hgi_usage_shrink(struct hgi_usage *usage, size_t size, size_t new_size, bool is_negative)
{
    give(&usage->bytes, size - new_size);
    if (is_negative) {
        give(&usage->negative_bytes, size - new_size);
    }
}

void hgi_usage_give_back(struct hgi_usage *usage, size_t size, bool is_negative)
{
    give(&usage->entries, 1);
    give(&usage->bytes, size);
    if (is_negative) {
        give(&usage->negatives, 1);
        give(&usage->negative_bytes, size);
    }
}

size_t hgi_usage_bytes(const struct hgi_usage *usage)
{
    return atomic_load_explicit(&((struct hgi_usage *)(uintptr_t)usage)->bytes,
                                memory_order_relaxed);
}
