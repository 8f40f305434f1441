/* SPDX-License-Identifier: Apache-2.0 */
/* heap: deadlines in order, the index kept in the node.
 * Owns:     its array; never the nodes.
 * Threads:  the caller's lock.
 * Limits:   memory.
 * Errors:   insert returns false when memory is out; hgi_heap_reserve makes the next inserts safe.
 * Not here: the time; `when` is any rising number. */
#ifndef HGI_BASE_HEAP_H
#define HGI_BASE_HEAP_H

#include "base/alloc.h"

struct hgi_heap_node {
    int64_t when_ms;
    size_t index; /* HGI_HEAP_OUT while in no heap */
};

#define HGI_HEAP_OUT SIZE_MAX

struct hgi_heap_queue {
    struct hgi_heap_node **nodes;
    size_t count;
    size_t capacity;
    const struct hgi_allocator *allocator;
};

void hgi_heap_init(struct hgi_heap_queue *heap, const struct hgi_allocator *allocator);
void hgi_heap_deinit(struct hgi_heap_queue *heap);
static inline void hgi_heap_node_init(struct hgi_heap_node *node)
{
    node->when_ms = 0;
    node->index = HGI_HEAP_OUT;
}
/* Room for `more` nodes in all future: inserts up to count + more cannot fail. */
HG_NODISCARD bool hgi_heap_reserve(struct hgi_heap_queue *heap, size_t more);
HG_NODISCARD bool hgi_heap_insert(struct hgi_heap_queue *heap, struct hgi_heap_node *node,
                                  int64_t when_ms);
/* A node that is in no heap is left alone. */
void hgi_heap_remove(struct hgi_heap_queue *heap, struct hgi_heap_node *node);
/* The earliest node, or NULL; borrowed, still in the heap. */
struct hgi_heap_node *hgi_heap_first(const struct hgi_heap_queue *heap);

#endif
