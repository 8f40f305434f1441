/* SPDX-License-Identifier: Apache-2.0 */
/* heat: how often items were read lately.
 * Owns:     two bits for each 32 bytes of a table's memory: an item is longer, so each has its own.
 * Threads:  any, without a lock; of reads at the same moment one may not be counted.
 * Limits:   counts to HGI_HEAT_MAX.
 * Errors:   init: the system gives no mapping.
 * Not here: what is made of it (table/shard).
 *
 * Beside the memory, not in it: readers write here and nowhere else, so what they write can decide
 * who is evicted and nothing more. */
#ifndef HGI_STORAGE_FLAT_HEAT_H
#define HGI_STORAGE_FLAT_HEAT_H

#include <stdatomic.h>

#include "herdgate/attr.h"
#include "storage/flat/memory.h"

#define HGI_HEAT_MAX 3u

struct hgi_heat {
    _Atomic uint8_t *counts;
    size_t size;
};

/* For so many bytes of memory. */
HG_NODISCARD bool hgi_heat_init(struct hgi_heat *heat, size_t memory_size);
void hgi_heat_deinit(struct hgi_heat *heat);
/* Takes over counts of somebody else's from byte `at` on, where they are larger. */
void hgi_heat_join(struct hgi_heat *heat, size_t at, const unsigned char *counts, size_t size);

#define HGI_HEAT_WORDS_LOG 3u /* words to a count */

/* How many bytes of counts so much memory has. */
static inline size_t hgi_heat_size(size_t memory_size)
{
    return memory_size / HGI_WORD_BYTES / (1u << (HGI_HEAT_WORDS_LOG + 2)) + 1;
}

static inline _Atomic uint8_t *hgi_heat_at(const struct hgi_heat *heat, uint32_t place)
{
    return &heat->counts[place >> (HGI_HEAT_WORDS_LOG + 2)];
}

/* Which of the byte's four. */
static inline unsigned hgi_heat_shift(uint32_t place)
{
    return (place >> HGI_HEAT_WORDS_LOG) % 4 * 2;
}

static inline void hgi_heat_fetch(const struct hgi_heat *heat, uint32_t place)
{
    __builtin_prefetch((const void *)hgi_heat_at(heat, place));
}

static inline unsigned hgi_heat_of(const struct hgi_heat *heat, uint32_t place)
{
    return (unsigned)atomic_load_explicit(hgi_heat_at(heat, place), memory_order_relaxed) >>
               hgi_heat_shift(place) &
           HGI_HEAT_MAX;
}

static inline void hgi_heat_set(const struct hgi_heat *heat, uint32_t place, unsigned count)
{
    _Atomic uint8_t *byte = hgi_heat_at(heat, place);
    unsigned shift = hgi_heat_shift(place);
    unsigned rest =
        (unsigned)atomic_load_explicit(byte, memory_order_relaxed) & ~(HGI_HEAT_MAX << shift);

    atomic_store_explicit(byte, (uint8_t)(rest | count << shift), memory_order_relaxed);
}

/* Was read: counts towards staying. */
static inline void hgi_heat_touch(const struct hgi_heat *heat, uint32_t place)
{
    unsigned count = hgi_heat_of(heat, place);

    if (count < HGI_HEAT_MAX) {
        hgi_heat_set(heat, place, count + 1);
    }
}

#endif
