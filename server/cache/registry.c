/* SPDX-License-Identifier: Apache-2.0 */
#include "registry.h"

#include <string.h>

#include "base/bytes.h"
#include "server/cache/veil.h"

struct hgi_registry {
    const struct hgi_allocator *allocator;
    size_t count;
    struct hgi_registered entries[HGI_CACHES_MAX];
};

enum hg_status hgi_registered_key(const struct hgi_registered *registered,
                                  const struct hg_key *typed, struct hgi_key *ret_key,
                                  struct hgi_key *ret_load_key, char *ret_sentence)
{
    const struct hgi_veil *veil = hgi_cache_veil(registered->cache);
    struct hgi_key canonical;
    enum hg_status status;

    if (!veil) {
        status = hgi_key_encode(registered->key_type, typed, ret_key, ret_sentence);
        if (status == HG_OK && ret_load_key) {
            ret_load_key->len = 0;
        }
        return status;
    }
    status = hgi_key_encode(registered->key_type, typed, &canonical, ret_sentence);
    if (status != HG_OK) {
        return status;
    }
    hgi_veil_key(veil, hgi_key_slice(&canonical), ret_key);
    if (ret_load_key) {
        memcpy(ret_load_key->data, canonical.data, canonical.len);
        ret_load_key->len = canonical.len;
    }
    explicit_bzero(canonical.data, canonical.len);
    return HG_OK;
}

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

void hgi_registry_set_loader(struct hgi_registry *registry, struct hg_slice name,
                             const char *loader)
{
    for (size_t i = 0; i < registry->count; i++) {
        struct hgi_registered *entry = &registry->entries[i];

        if (hgi_slice_equal(hg_slice_text(hgi_cache_name(entry->cache)), name)) {
            atomic_store(&entry->loader, loader);
        }
    }
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
