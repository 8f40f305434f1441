/* SPDX-License-Identifier: Apache-2.0 */
#include "alloc.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

static void *heap_resize(void *context, void *pointer, size_t size)
{
    (void)context;
    if (size == 0) {
        free(pointer);
        return NULL;
    }
    return realloc(pointer, size);
}

const struct hgi_allocator hgi_heap = {.resize = heap_resize, .context = NULL};

void *hgi_alloc(const struct hgi_allocator *allocator, size_t size)
{
    void *memory = allocator->resize(allocator->context, NULL, size ? size : 1);

    if (memory) {
        memset(memory, 0, size);
    }
    return memory;
}

void *hgi_resize(const struct hgi_allocator *allocator, void *pointer, size_t size)
{
    return allocator->resize(allocator->context, pointer, size ? size : 1);
}

void hgi_free(const struct hgi_allocator *allocator, void *pointer)
{
    if (pointer) {
        (void)allocator->resize(allocator->context, pointer, 0);
    }
}

void *hgi_wiping_malloc(size_t size)
{
    return hgi_resize(&hgi_heap, NULL, size);
}

void hgi_wiping_free(void *pointer)
{
    if (pointer) {
        explicit_bzero(pointer, malloc_usable_size(pointer));
        hgi_free(&hgi_heap, pointer);
    }
}

char *hgi_text_copy(const struct hgi_allocator *allocator, struct hg_slice text)
{
    char *copy = hgi_alloc(allocator, text.len + 1);

    if (copy && text.len) {
        memcpy(copy, text.data, text.len);
    }
    return copy;
}

/* A block's bytes follow its header; the header is padded to keep them 16-aligned. */
struct hgi_arena_block {
    struct hgi_arena_block *next;
    size_t size;
    size_t used;
    size_t pad;
};

#define ARENA_ALIGN      16u
#define ARENA_BLOCK_SIZE 8192u

_Static_assert(sizeof(struct hgi_arena_block) % ARENA_ALIGN == 0, "arena blocks stay aligned");

void hgi_arena_init(struct hgi_arena *arena, size_t budget_bytes)
{
    arena->blocks = NULL;
    arena->used_bytes = 0;
    arena->budget_bytes = budget_bytes;
}

static void wipe_and_free(struct hgi_arena_block *block)
{
    while (block) {
        struct hgi_arena_block *next = block->next;

        explicit_bzero(block + 1, block->used);
        hgi_free(&hgi_heap, block);
        block = next;
    }
}

void hgi_arena_reset(struct hgi_arena *arena, size_t budget_bytes)
{
    struct hgi_arena_block *first = arena->blocks;

    if (first && first->size == ARENA_BLOCK_SIZE) {
        wipe_and_free(first->next);
        explicit_bzero(first + 1, first->used);
        first->next = NULL;
        first->used = 0;
    } else {
        wipe_and_free(first);
        arena->blocks = NULL;
    }
    arena->used_bytes = 0;
    arena->budget_bytes = budget_bytes;
}

void hgi_arena_deinit(struct hgi_arena *arena)
{
    wipe_and_free(arena->blocks);
    hgi_arena_init(arena, 0);
}

void *hgi_arena_alloc(struct hgi_arena *arena, size_t size)
{
    struct hgi_arena_block *block = arena->blocks;
    size_t need;
    void *memory;

    if (size > arena->budget_bytes || size > SIZE_MAX / 2) {
        return NULL;
    }
    need = (size + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
    if (need > arena->budget_bytes - arena->used_bytes) {
        return NULL;
    }
    if (!block || block->size - block->used < need) {
        size_t block_size = need > ARENA_BLOCK_SIZE ? need : ARENA_BLOCK_SIZE;
        struct hgi_arena_block *fresh = hgi_resize(&hgi_heap, NULL, sizeof(*fresh) + block_size);

        if (!fresh) {
            return NULL;
        }
        fresh->size = block_size;
        fresh->used = 0;
        fresh->pad = 0;
        fresh->next = block;
        arena->blocks = fresh;
        block = fresh;
    }
    memory = (char *)(block + 1) + block->used;
    block->used += need;
    arena->used_bytes += need;
    memset(memory, 0, size);
    return memory;
}
