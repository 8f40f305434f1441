/* SPDX-License-Identifier: Apache-2.0 */
/* alloc: the only malloc.
 * Owns:     the process heap as an allocator handle; a bump arena with a budget.
 * Threads:  the heap handle is safe from any thread; an arena belongs to one.
 * Limits:   an arena never holds more than its budget.
 * Errors:   NULL when memory (or an arena's budget) is out.
 * Not here: owned bytes (bytes). */
#ifndef HGI_BASE_ALLOC_H
#define HGI_BASE_ALLOC_H

#include <stddef.h>
#include <stdint.h>

#include "herdgate/attr.h"
#include "herdgate/types.h"

/* Handed in at create and used for everything below it, so that a test can fail the Nth allocation.
 */
struct hgi_allocator {
    void *(*resize)(void *context, void *pointer, size_t size); /* size 0 frees and returns NULL */
    void *context;
};

extern const struct hgi_allocator hgi_heap;

/* Zeroed memory, or NULL. */
HG_NODISCARD void *hgi_alloc(const struct hgi_allocator *allocator, size_t size);
/* realloc's contract; the new part is not zeroed. */
HG_NODISCARD void *hgi_resize(const struct hgi_allocator *allocator, void *pointer, size_t size);
void hgi_free(const struct hgi_allocator *allocator, void *pointer);
/* malloc and free, for a library that takes such a pair: what it gives back is wiped. */
void *hgi_wiping_malloc(size_t size);
void hgi_wiping_free(void *pointer);
/* A NUL-ended copy of the slice (inner NULs kept), or NULL. */
HG_NODISCARD char *hgi_text_copy(const struct hgi_allocator *allocator, struct hg_slice text);

/* Bump allocation for one request: everything goes at once. */
struct hgi_arena {
    struct hgi_arena_block *blocks;
    size_t used_bytes;
    size_t budget_bytes;
};

/* init cannot fail; deinit wipes and frees; reset keeps the first block for the next request. */
void hgi_arena_init(struct hgi_arena *arena, size_t budget_bytes);
void hgi_arena_reset(struct hgi_arena *arena, size_t budget_bytes);
void hgi_arena_deinit(struct hgi_arena *arena);
/* Zeroed, 16-aligned memory that lives as long as the arena; NULL past the budget. */
HG_NODISCARD void *hgi_arena_alloc(struct hgi_arena *arena, size_t size);

#endif
