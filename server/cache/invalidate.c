/* SPDX-License-Identifier: Apache-2.0 */
/* Puts, invalidations and clears (cache.h): each takes the next number of the cache's generation
 * under the flight lock, in the order bump, insert or drop, fence the flights, pick their waiters;
 * then answers. */
#include <stdio.h>

#include "base/bytes.h"
#include "base/check.h"
#include "flight.h"
#include "lease.h"
#include "policy.h"
#include "publish.h"
#include "tagging.h"

static uint64_t next_generation(struct hgi_cache *cache) HGI_REQUIRES(flight)
{
    return atomic_fetch_add_explicit(&cache->generation, 1, memory_order_acq_rel) + 1;
}

static uint64_t *stripe_of(struct hgi_cache *cache, uint64_t hash) HGI_REQUIRES(flight)
{
    return &cache->stripes[hash % HGI_STRIPES];
}

/* A token of generation T may store only if nothing that covers the key came after it. */
static enum hg_status put_at(struct hgi_cache *cache, const struct hgi_entry *entry, uint64_t hash,
                             struct hgi_work *work, char *ret_sentence) HGI_REQUIRES(flight)
{
    uint64_t token = entry->born;

    if (token > hgi_cache_generation(cache)) {
        snprintf(ret_sentence, HGI_MESSAGE_MAX,
                 "if_generation %llu is above this cache's generation", (unsigned long long)token);
        return HG_FAILED_PRECONDITION;
    }
    if (token < cache->start_generation || token < cache->cleared ||
        token < *stripe_of(cache, hash) || hgi_cache_is_overtaken(cache, entry)) {
        snprintf(ret_sentence, HGI_MESSAGE_MAX, "an invalidation came after if_generation %llu",
                 (unsigned long long)token);
        return HG_ABORTED;
    }
    switch (hgi_table_insert(cache->table, entry, false)) {
    case HGI_STORED:
        hgi_lease_end_kept(cache, hash, entry->key, entry->born, work);
        return HG_OK;
    case HGI_SUPERSEDED:
        snprintf(ret_sentence, HGI_MESSAGE_MAX, "a newer value than if_generation %llu is stored",
                 (unsigned long long)token);
        return HG_ABORTED;
    case HGI_NOT_STORED:
        break;
    }
    snprintf(ret_sentence, HGI_MESSAGE_MAX, "the value does not fit this cache's bounds");
    return HG_RESOURCE_EXHAUSTED;
}

/* An invalidation of its key and a value in one: older loads of the key are fenced, its followers
 * get it. */
static enum hg_status put_now(struct hgi_cache *cache, struct hgi_entry *entry, uint64_t hash,
                              struct hgi_work *work, char *ret_sentence) HGI_REQUIRES(flight)
{
    struct hgi_report report = {.generation = next_generation(cache)};
    enum hgi_insert insert;

    entry->born = report.generation;
    hgi_failures_forget(&cache->failures, hash, entry->key);
    *stripe_of(cache, hash) = report.generation;
    insert = hgi_table_insert(cache->table, entry, false);
    work->answer = hgi_answer_of(entry, insert == HGI_STORED);
    hgi_flight_fence_key(cache, hash, entry->key, &work->answered, work, &report);
    if (insert != HGI_STORED) {
        snprintf(ret_sentence, HGI_MESSAGE_MAX,
                 "the value does not fit this cache's bounds; what was cached for the key is gone");
        return HG_RESOURCE_EXHAUSTED;
    }
    return HG_OK;
}

enum hg_status hgi_cache_put(struct hgi_cache *cache, const struct hgi_put *put,
                             const struct hgi_now *now, struct hgi_entry *ret_entry,
                             char *ret_sentence)
{
    uint64_t hash = hgi_flight_hash(cache, put->key);
    struct hgi_entry entry = {.key = put->key, .born = put->if_generation};
    struct hgi_tagging tagging;
    struct hgi_work work;
    enum hg_status status;

    hgi_tagging_init(&tagging, hgi_cache_veil(cache), put->key, &put->lifetime);
    hgi_work_init(&work);
    hgi_lock_flight(&cache->lock);
    /* By the terms that the table was last cut to, which change under this lock. */
    if (!hgi_policy_entry(&hgi_terms(cache)->policy, put->outcome, put->value, &put->lifetime, now,
                          &entry)) {
        snprintf(ret_sentence, HGI_MESSAGE_MAX, "expires_at has already passed");
        status = HG_FAILED_PRECONDITION;
    } else {
        entry.tags = tagging.names;
        entry.tag_count = tagging.count;
        hgi_policy_jitter(&hgi_terms(cache)->policy, hgi_flight_random(cache), &entry);
        status = put->has_if_generation ? put_at(cache, &entry, hash, &work, ret_sentence)
                                        : put_now(cache, &entry, hash, &work, ret_sentence);
    }
    hgi_unlock_flight(&cache->lock);
    hgi_work_run(cache, &work, now);
    if (status == HG_OK) {
        hgi_metric_add(&cache->metrics, HGI_METRIC_put, 1);
        entry.tags = NULL;
        entry.tag_count = 0;
        *ret_entry = entry;
    } else if (status == HG_ABORTED) {
        hgi_metric_add(&cache->metrics, HGI_METRIC_put_conflict, 1);
    }
    return status;
}

static void cover_key(struct hgi_cache *cache, struct hg_slice key, bool is_soft,
                      struct hgi_work *work, struct hgi_report *report) HGI_REQUIRES(flight)
{
    uint64_t hash = hgi_flight_hash(cache, key);

    *stripe_of(cache, hash) = report->generation;
    hgi_failures_forget(&cache->failures, hash, key);
    if (is_soft) {
        report->dropped += hgi_table_soften(cache->table, key, report->generation);
    } else {
        report->dropped += hgi_table_remove(cache->table, key, report->generation);
    }
    hgi_flight_fence_key(cache, hash, key, &work->again, work, report);
}

/* A load tells its tags only at its end and is fenced there; a typed key's first part is known
 * before. */
static void cover_first_part(struct hgi_cache *cache, struct hg_slice part, bool is_soft,
                             struct hgi_work *work, struct hgi_report *report) HGI_REQUIRES(flight)
{
    struct hgi_node *node = cache->all.next;
    struct hgi_tag_name name;

    hgi_tag_name_user(hgi_cache_veil(cache), part, &name);
    part = hg_slice_of(name.bytes + 1, name.len - 1); /* as the keys of flights have it */
    hgi_table_invalidate_tag(cache->table, hg_slice_of(name.bytes, name.len), report->generation,
                             is_soft);
    while (node != &cache->all) {
        struct hgi_flight *flight = HGI_CONTAINER(node, struct hgi_flight, all_node);

        node = node->next;
        if (hgi_slice_equal(hgi_tagging_first_part(hgi_flight_key(flight)), part)) {
            hgi_flight_fence(cache, flight, &work->again, work, report);
        }
    }
}

void hgi_cache_invalidate_cover(struct hgi_cache *cache, const struct hgi_cover *cover,
                                const struct hgi_now *now, struct hgi_report *ret_report)
{
    struct hgi_report report = {.generation = 0};
    struct hgi_work work;

    hgi_work_init(&work);
    hgi_lock_flight(&cache->lock);
    report.generation = next_generation(cache);
    for (size_t i = 0; i < cover->key_count; i++) {
        cover_key(cache, cover->keys[i], cover->is_soft, &work, &report);
    }
    for (size_t i = 0; i < cover->tag_count; i++) {
        struct hgi_tag_name name;

        hgi_tag_name_given(hgi_cache_veil(cache), cover->tags[i], &name);
        hgi_table_invalidate_tag(cache->table, hg_slice_of(name.bytes, name.len), report.generation,
                                 cover->is_soft);
    }
    if (cover->first_part.len) {
        cover_first_part(cache, cover->first_part, cover->is_soft, &work, &report);
    }
    if (cover->tag_count || cover->first_part.len) {
        /* Nobody knows which failures are theirs. */
        hgi_failures_forget_all(&cache->failures);
    }
    hgi_work_leave(cache, &work, report.released);
    hgi_unlock_flight(&cache->lock);
    hgi_work_run(cache, &work, now);
    hgi_metric_add(&cache->metrics, HGI_METRIC_invalidate,
                   cover->key_count + cover->tag_count + (cover->first_part.len > 0));
    *ret_report = report;
}

void hgi_cache_invalidate(struct hgi_cache *cache, const struct hg_slice *keys, size_t key_count,
                          const struct hgi_now *now, struct hgi_report *ret_report)
{
    const struct hgi_cover cover = {.keys = keys, .key_count = key_count};

    hgi_cache_invalidate_cover(cache, &cover, now, ret_report);
}

void hgi_cache_clear(struct hgi_cache *cache, const struct hgi_now *now,
                     struct hgi_report *ret_report)
{
    struct hgi_report report = {.generation = 0};
    struct hgi_work work;
    struct hgi_node *node;

    hgi_work_init(&work);
    hgi_lock_flight(&cache->lock);
    report.generation = next_generation(cache);
    cache->cleared = report.generation;
    hgi_failures_forget_all(&cache->failures);
    report.dropped = hgi_table_clear(cache->table, report.generation);
    node = cache->all.next;
    while (node != &cache->all) {
        struct hgi_flight *flight = HGI_CONTAINER(node, struct hgi_flight, all_node);

        node = node->next;
        hgi_flight_fence(cache, flight, &work.again, &work, &report);
    }
    hgi_work_leave(cache, &work, report.released);
    hgi_unlock_flight(&cache->lock);
    hgi_work_run(cache, &work, now);
    hgi_metric_add(&cache->metrics, HGI_METRIC_clear, 1);
    *ret_report = report;
}
