/* SPDX-License-Identifier: Apache-2.0 */
#include "usage.h"

#include <stdint.h>

#include "base/check.h"

#define NEGATIVE_SHARE 8u /* negatives hold at most 1/8 (semantics 1) */

void hgi_usage_init(struct hgi_usage *usage, size_t max_entries, size_t max_bytes)
{
    atomic_init(&usage->max_entries, max_entries);
    atomic_init(&usage->max_bytes, max_bytes);
    atomic_init(&usage->entries, 0);
    atomic_init(&usage->bytes, 0);
    atomic_init(&usage->negatives, 0);
    atomic_init(&usage->negative_bytes, 0);
}

void hgi_usage_set_bounds(struct hgi_usage *usage, size_t max_entries, size_t max_bytes)
{
    atomic_store_explicit(&usage->max_entries, max_entries, memory_order_relaxed);
    atomic_store_explicit(&usage->max_bytes, max_bytes, memory_order_relaxed);
}

static size_t count_of(const _Atomic size_t *count)
{
    return atomic_load_explicit((_Atomic size_t *)(uintptr_t)count, memory_order_relaxed);
}

static size_t negatives_max(const struct hgi_usage *usage)
{
    size_t max = count_of(&usage->max_entries) / NEGATIVE_SHARE;

    return max ? max : 1;
}

enum hgi_room hgi_usage_excess(const struct hgi_usage *usage)
{
    size_t max_bytes = count_of(&usage->max_bytes);

    if (count_of(&usage->negatives) > negatives_max(usage) ||
        count_of(&usage->negative_bytes) > max_bytes / NEGATIVE_SHARE) {
        return HGI_ROOM_IF_NEGATIVE;
    }
    return count_of(&usage->entries) > count_of(&usage->max_entries) ||
                   count_of(&usage->bytes) > max_bytes
               ? HGI_ROOM_IF_ANY
               : HGI_ROOM_TAKEN;
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
    size_t max_bytes = count_of(&usage->max_bytes);
    size_t negative_bytes_max = max_bytes / NEGATIVE_SHARE;

    if (size > (is_negative ? negative_bytes_max : max_bytes)) {
        return HGI_ROOM_NONE;
    }
    /* First, so that a negative beyond their share costs a negative. */
    if (is_negative && !take_both(&usage->negatives, negatives_max(usage), &usage->negative_bytes,
                                  size, negative_bytes_max)) {
        return HGI_ROOM_IF_NEGATIVE;
    }
    if (take_both(&usage->entries, count_of(&usage->max_entries), &usage->bytes, size, max_bytes)) {
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
    size_t max_bytes = count_of(&usage->max_bytes);
    size_t more = new_size - size;

    HGI_BUG_ON(new_size < size);
    if (is_negative && !take(&usage->negative_bytes, more, max_bytes / NEGATIVE_SHARE)) {
        return HGI_ROOM_IF_NEGATIVE;
    }
    if (take(&usage->bytes, more, max_bytes)) {
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
    return count_of(&usage->bytes);
}
