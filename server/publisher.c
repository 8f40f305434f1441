/* SPDX-License-Identifier: Apache-2.0 */
#include "publisher.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/thread.h"

struct published {
    const char *cache;
    struct hgi_publication *publication;
};

struct hgi_publisher {
    size_t count;
    struct published published[];
};

static size_t wanted_count(const struct hgi_config *config)
{
    size_t count = 0;

    for (size_t i = 0; i < config->cache_count; i++) {
        count += config->caches[i].local_reads;
    }
    return count;
}

static enum hg_status open_one(const struct hgi_config *config,
                               const struct hgi_cache_config *cache, uint64_t epoch,
                               struct hgi_publication **ret_publication, bool *ret_must_wait,
                               char *ret_sentence)
{
    const struct hgi_policy *policy = &cache->policy;
    const struct hgi_table_bounds bounds = {policy->max_entries, policy->max_bytes};
    const struct hgi_publication_options options = {
        .folder = config->runtime_dir,
        .name = cache->name,
        .memory_size = hgi_table_memory_size(&bounds),
        .gid = config->local_gid,
        .epoch = epoch,
        .key_type = cache->key_type,
        .value_type = cache->value_type,
        .refresh_part = policy->refresh_ahead_percent,
        .refresh_reach = policy->refresh_ahead_is_random ? HGI_XFETCH_REACH : 0,
    };

    return hgi_publication_open(&options, ret_publication, ret_must_wait, ret_sentence);
}

/* What a server before this one had, and this one has not. */
static void retire_others(const struct hgi_config *config)
{
    const char *names[HGI_CACHES_MAX];
    size_t count = 0;

    for (size_t i = 0; i < config->cache_count; i++) {
        if (config->caches[i].local_reads) {
            names[count++] = config->caches[i].name;
        }
    }
    hgi_publication_retire_others(config->runtime_dir, names, count);
}

enum hg_status hgi_publisher_open(const struct hgi_config *config, uint64_t epoch,
                                  struct hgi_publisher **ret_publisher, char *ret_sentence)
{
    size_t count = wanted_count(config);
    struct hgi_publisher *publisher =
        hgi_alloc(&hgi_heap, sizeof(*publisher) + count * sizeof(publisher->published[0]));
    enum hg_status status = HG_OK;
    bool must_wait = false;

    if (!publisher) {
        snprintf(ret_sentence, HGI_PUBLICATION_SENTENCE_MAX, "no memory to publish caches");
        return HG_RESOURCE_EXHAUSTED;
    }
    retire_others(config);
    for (size_t i = 0; status == HG_OK && i < config->cache_count; i++) {
        struct published *published = &publisher->published[publisher->count];

        if (config->caches[i].local_reads) {
            published->cache = config->caches[i].name;
            status = open_one(config, &config->caches[i], epoch, &published->publication,
                              &must_wait, ret_sentence);
            publisher->count += status == HG_OK;
        }
    }
    if (status != HG_OK) {
        hgi_publisher_close(&publisher);
        return status;
    }
    if (must_wait) {
        hgi_thread_pause(HGI_LABEL_ALIVE_MS);
    }
    *ret_publisher = publisher;
    return HG_OK;
}

const struct hgi_backing *hgi_publisher_backing(const struct hgi_publisher *publisher,
                                                const char *cache)
{
    for (size_t i = 0; i < publisher->count; i++) {
        if (strcmp(publisher->published[i].cache, cache) == 0) {
            return hgi_publication_backing(publisher->published[i].publication);
        }
    }
    return NULL;
}

void hgi_publisher_begin(struct hgi_publisher *publisher, const struct hgi_registry *registry,
                         const struct hgi_now *now)
{
    for (size_t i = 0; i < publisher->count; i++) {
        const struct published *published = &publisher->published[i];
        const struct hgi_registered *registered =
            hgi_registry_find(registry, hg_slice_text(published->cache));

        HGI_BUG_ON(!registered);
        hgi_publication_begin(published->publication, hgi_cache_table(registered->cache), now);
    }
}

void hgi_publisher_tick(struct hgi_publisher *publisher, const struct hgi_now *now)
{
    for (size_t i = 0; i < publisher->count; i++) {
        hgi_publication_tick(publisher->published[i].publication, now);
    }
}

void hgi_publisher_retire(struct hgi_publisher *publisher)
{
    for (size_t i = 0; publisher && i < publisher->count; i++) {
        hgi_publication_retire(publisher->published[i].publication);
    }
}

void hgi_publisher_close(struct hgi_publisher **publisher)
{
    struct hgi_publisher *old = *publisher;

    for (size_t i = 0; old && i < old->count; i++) {
        hgi_publication_close(&old->published[i].publication);
    }
    hgi_free(&hgi_heap, old);
    *publisher = NULL;
}
