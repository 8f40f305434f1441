/* SPDX-License-Identifier: Apache-2.0 */
#include "map.h"

#include "base/check.h"

#define MAP_BUCKETS_MIN 16u

bool hgi_map_init(struct hgi_map *map, const struct hgi_allocator *allocator)
{
    map->allocator = allocator;
    map->count = 0;
    map->bucket_count = MAP_BUCKETS_MIN;
    map->buckets = hgi_alloc(allocator, MAP_BUCKETS_MIN * sizeof(struct hgi_map_node *));
    return map->buckets != NULL;
}

void hgi_map_deinit(struct hgi_map *map)
{
    hgi_free(map->allocator, (void *)map->buckets);
    map->buckets = NULL;
    map->bucket_count = 0;
    map->count = 0;
}

static struct hgi_map_node **bucket_of(const struct hgi_map *map, uint64_t hash)
{
    return &map->buckets[hash & (map->bucket_count - 1)];
}

static struct hgi_map_node *first_with(struct hgi_map_node *node, uint64_t hash)
{
    while (node && node->hash != hash) {
        node = node->next;
    }
    return node;
}

struct hgi_map_node *hgi_map_find(const struct hgi_map *map, uint64_t hash)
{
    return first_with(*bucket_of(map, hash), hash);
}

struct hgi_map_node *hgi_map_find_next(const struct hgi_map_node *node)
{
    return first_with(node->next, node->hash);
}

static void grow(struct hgi_map *map)
{
    size_t old_count = map->bucket_count;
    struct hgi_map_node **old = map->buckets;
    struct hgi_map_node **fresh = hgi_alloc(map->allocator, old_count * 2 * sizeof(*fresh));

    if (!fresh) {
        return;
    }
    map->buckets = fresh;
    map->bucket_count = old_count * 2;
    for (size_t i = 0; i < old_count; i++) {
        struct hgi_map_node *node = old[i];

        while (node) {
            struct hgi_map_node *next = node->next;
            struct hgi_map_node **bucket = bucket_of(map, node->hash);

            node->next = *bucket;
            *bucket = node;
            node = next;
        }
    }
    hgi_free(map->allocator, (void *)old);
}

void hgi_map_insert(struct hgi_map *map, struct hgi_map_node *node, uint64_t hash)
{
    struct hgi_map_node **bucket;

    if (map->count >= map->bucket_count) {
        grow(map);
    }
    bucket = bucket_of(map, hash);
    node->hash = hash;
    node->next = *bucket;
    *bucket = node;
    map->count++;
}

void hgi_map_remove(struct hgi_map *map, struct hgi_map_node *node)
{
    struct hgi_map_node **link = bucket_of(map, node->hash);

    while (*link != node) {
        HGI_BUG_ON(*link == NULL);
        link = &(*link)->next;
    }
    *link = node->next;
    node->next = NULL;
    map->count--;
}

struct hgi_map_node *hgi_map_bucket(const struct hgi_map *map, size_t index)
{
    return map->buckets[index];
}
