/* SPDX-License-Identifier: Apache-2.0 */
/* memory: the one mapping a table is in, and how places in it are named.
 * Owns:     nothing.
 * Threads:  any.
 * Limits:   HGI_MEMORY_MAX_BYTES.
 * Errors:   none; a place may be nonsense, and whoever cannot know asks hgi_memory_holds first.
 * Not here: where the mapping comes from (table/region, client/local), what is in it (front).
 *
 * Places are offsets in words of 4 bytes, so that they mean the same in another mapping of the same
 * memory. */
#ifndef HGI_STORAGE_FLAT_MEMORY_H
#define HGI_STORAGE_FLAT_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HGI_WORD_BYTES       4u
#define HGI_MEMORY_MAX_BYTES ((size_t)UINT32_MAX * HGI_WORD_BYTES)

struct hgi_memory {
    unsigned char *base;
    size_t size;
};

static inline void *hgi_memory_at(const struct hgi_memory *memory, uint32_t place)
{
    return memory->base + (size_t)place * HGI_WORD_BYTES;
}

/* `size` bytes from `place` on lie in the mapping. */
static inline bool hgi_memory_holds(const struct hgi_memory *memory, uint32_t place, size_t size)
{
    size_t at = (size_t)place * HGI_WORD_BYTES;

    return at < memory->size && size <= memory->size - at;
}

#endif
