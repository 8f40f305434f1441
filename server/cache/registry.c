/* SPDX-License-Identifier: Apache-2.0 */
#include "registry.h"

#include "base/bytes.h"

struct hgi_registry {
    const struct hgi_allocator *allocator;
    size_t count;
    struct hgi_registered entries[HGI_CACHES_MAX];
};

struct hgi_registry *hgi_registry_create(const struct hgi_allocator *allocator)
{
    struct hgi_registry *registry = hgi_alloc(allocator, sizeof(*registry));

    if (registry) {
        registry->allocator = allocator;
    }
    return registry;
}

void hgi_registry_destroy(struct hgi_registry **registry)
{
    if (!*registry) {
        return;
    }
    for (size_t i = 0; i < (*registry)->count; i++) {
        hgi_cache_destroy(&(*registry)->entries[i].cache);
    }
    hgi_free((*registry)->allocator, *registry);
    *registry = NULL;
}

bool hgi_registry_add(struct hgi_registry *registry, const struct hgi_registered *registered)
{
    if (registry->count == HGI_CACHES_MAX ||
        hgi_registry_find(registry, hg_slice_text(hgi_cache_name(registered->cache)))) {
        return false;
    }
    registry->entries[registry->count++] = *registered;
    return true;
}

const struct hgi_registered *hgi_registry_find(const struct hgi_registry *registry,
                                               struct hg_slice name)
{
    for (size_t i = 0; i < registry->count; i++) {
        if (hgi_slice_equal(hg_slice_text(hgi_cache_name(registry->entries[i].cache)), name)) {
            return &registry->entries[i];
        }
    }
    return NULL;
}

size_t hgi_registry_count(const struct hgi_registry *registry)
{
    return registry->count;
}

const struct hgi_registered *hgi_registry_at(const struct hgi_registry *registry, size_t index)
{
    return &registry->entries[index];
}

void hgi_registry_tick(struct hgi_registry *registry, const struct hgi_now *now)
{
    for (size_t i = 0; i < registry->count; i++) {
        hgi_cache_tick(registry->entries[i].cache, now);
    }
}

void hgi_registry_stop(struct hgi_registry *registry, const struct hgi_now *now)
{
    for (size_t i = 0; i < registry->count; i++) {
        hgi_cache_stop(registry->entries[i].cache, now);
    }
}

void hgi_registry_holder_gone(struct hgi_registry *registry, uint64_t holder,
                              const struct hgi_now *now)
{
    for (size_t i = 0; i < registry->count; i++) {
        hgi_cache_holder_gone(registry->entries[i].cache, holder, now);
    }
}
