/* SPDX-License-Identifier: Apache-2.0 */
#include "heap.h"

#include "base/check.h"

#define HEAP_CAPACITY_MIN 16u

void hgi_heap_init(struct hgi_heap_queue *heap, const struct hgi_allocator *allocator)
{
    heap->nodes = NULL;
    heap->count = 0;
    heap->capacity = 0;
    heap->allocator = allocator;
}

void hgi_heap_deinit(struct hgi_heap_queue *heap)
{
    hgi_free(heap->allocator, (void *)heap->nodes);
    hgi_heap_init(heap, heap->allocator);
}

bool hgi_heap_reserve(struct hgi_heap_queue *heap, size_t more)
{
    size_t capacity = heap->capacity ? heap->capacity : HEAP_CAPACITY_MIN;
    struct hgi_heap_node **nodes;

    while (capacity < heap->count + more) {
        capacity *= 2;
    }
    if (capacity == heap->capacity) {
        return true;
    }
    nodes =
        hgi_resize(heap->allocator, (void *)heap->nodes, capacity * sizeof(struct hgi_heap_node *));
    if (!nodes) {
        return false;
    }
    heap->nodes = nodes;
    heap->capacity = capacity;
    return true;
}

static void put(struct hgi_heap_queue *heap, size_t index, struct hgi_heap_node *node)
{
    heap->nodes[index] = node;
    node->index = index;
}

static void sift_up(struct hgi_heap_queue *heap, size_t index, struct hgi_heap_node *node)
{
    while (index > 0) {
        size_t parent = (index - 1) / 2;

        if (heap->nodes[parent]->when_ms <= node->when_ms) {
            break;
        }
        put(heap, index, heap->nodes[parent]);
        index = parent;
    }
    put(heap, index, node);
}

static void sift_down(struct hgi_heap_queue *heap, size_t index, struct hgi_heap_node *node)
{
    for (;;) {
        size_t child = index * 2 + 1;

        if (child >= heap->count) {
            break;
        }
        if (child + 1 < heap->count &&
            heap->nodes[child + 1]->when_ms < heap->nodes[child]->when_ms) {
            child++;
        }
        if (node->when_ms <= heap->nodes[child]->when_ms) {
            break;
        }
        put(heap, index, heap->nodes[child]);
        index = child;
    }
    put(heap, index, node);
}

bool hgi_heap_insert(struct hgi_heap_queue *heap, struct hgi_heap_node *node, int64_t when_ms)
{
    HGI_BUG_ON(node->index != HGI_HEAP_OUT);
    if (!hgi_heap_reserve(heap, 1)) {
        return false;
    }
    node->when_ms = when_ms;
    sift_up(heap, heap->count++, node);
    return true;
}

void hgi_heap_remove(struct hgi_heap_queue *heap, struct hgi_heap_node *node)
{
    size_t index = node->index;
    struct hgi_heap_node *last;

    if (index == HGI_HEAP_OUT) {
        return;
    }
    HGI_BUG_ON(index >= heap->count || heap->nodes[index] != node);
    node->index = HGI_HEAP_OUT;
    last = heap->nodes[--heap->count];
    if (last == node) {
        return;
    }
    if (index > 0 && last->when_ms < heap->nodes[(index - 1) / 2]->when_ms) {
        sift_up(heap, index, last);
    } else {
        sift_down(heap, index, last);
    }
}

struct hgi_heap_node *hgi_heap_first(const struct hgi_heap_queue *heap)
{
    return heap->count ? heap->nodes[0] : NULL;
}
