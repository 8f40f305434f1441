/* SPDX-License-Identifier: Apache-2.0 */
#include "cache.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "flight.h"
#include "lease.h"
#include "look.h"
#include "refresh.h"
#include "tagging.h"

#define FAILURE_SHARE 8u /* failures remembered: at most 1/8 of max_entries, and at least ... */
#define FAILURES_MIN  16u
#define INDEX_BYTES   256u /* of maps, heaps and lists about one flight or failure */

/* ---- life ---- */

static size_t failures_max(const struct hgi_policy *policy)
{
    size_t max = policy->max_entries / FAILURE_SHARE;

    return max > FAILURES_MIN ? max : FAILURES_MIN;
}

size_t hgi_cache_bytes_max(const struct hgi_policy *policy, size_t value_max)
{
    const struct hgi_table_bounds bounds = {policy->max_entries, policy->max_bytes};
    size_t flight_count = (size_t)policy->max_loads + policy->queue_max + HGI_LEASES_MAX;
    size_t failure_count = policy->error_backoff_ms ? failures_max(policy) : 0;

    return sizeof(struct hgi_cache) + hgi_table_memory_size(&bounds) +
           flight_count * (sizeof(struct hgi_flight) + 2 * HGI_KEY_CANONICAL_MAX + INDEX_BYTES) +
           HGI_LEASES_MAX * (2 * value_max + sizeof(struct hgi_tagging)) +
           failure_count * (HGI_MESSAGE_MAX + HGI_KEY_CANONICAL_MAX + INDEX_BYTES);
}

struct hgi_cache *hgi_cache_create(const struct hgi_allocator *allocator,
                                   const struct hgi_cache_options *options)
{
    const struct hgi_policy *policy = options->policy;
    const struct hgi_table_bounds bounds = {policy->max_entries, policy->max_bytes};
    struct hgi_cache *cache = hgi_alloc(allocator, sizeof(*cache));

    if (!cache) {
        return NULL;
    }
    cache->allocator = allocator;
    cache->first_terms.policy = *policy;
    cache->first_terms.has_loader = options->executor != NULL;
    if (options->executor) {
        cache->first_terms.executor = *options->executor;
    }
    atomic_init(&cache->terms, &cache->first_terms);
    cache->start_generation = options->start_generation;
    atomic_init(&cache->generation, options->start_generation);
    cache->is_veiled = options->veil_master != NULL;
    if (options->veil_master) {
        hgi_veil_init(&cache->veil, options->veil_master, hg_slice_text(options->name));
    }
    cache->random = options->seed | 1;
    cache->next_load_id = 1;
    cache->hash_key = hgi_hash_key_new();
    hgi_lock_init(&cache->lock);
    hgi_list_init(&cache->all);
    hgi_list_init(&cache->queue);
    hgi_list_init(&cache->late_again);
    hgi_list_init(&cache->late_aborted);
    hgi_heap_init(&cache->call_deadlines, allocator);
    hgi_heap_init(&cache->load_timeouts, allocator);
    cache->name = hgi_text_copy(allocator, hg_slice_text(options->name));
    cache->table = hgi_table_create_in(allocator, &bounds, &cache->metrics, options->backing);
    if (!cache->name || !cache->table || !hgi_map_init(&cache->flights, allocator) ||
        !hgi_map_init(&cache->loads, allocator) || !hgi_map_init(&cache->leases, allocator) ||
        !hgi_failures_init(&cache->failures, allocator, failures_max(policy))) {
        hgi_cache_destroy(&cache);
    }
    return cache;
}

void hgi_cache_destroy(struct hgi_cache **cache)
{
    struct hgi_cache *old = *cache;

    if (!old) {
        return;
    }
    HGI_BUG_ON(old->flight_count || old->parked_count);
    HGI_BUG_ON(!hgi_list_is_empty(&old->late_again) || !hgi_list_is_empty(&old->late_aborted));
    hgi_terms_destroy(old);
    hgi_table_destroy(&old->table);
    hgi_failures_deinit(&old->failures);
    if (old->leases.buckets) {
        hgi_map_deinit(&old->leases);
    }
    if (old->loads.buckets) {
        hgi_map_deinit(&old->loads);
    }
    if (old->flights.buckets) {
        hgi_map_deinit(&old->flights);
    }
    hgi_heap_deinit(&old->load_timeouts);
    hgi_heap_deinit(&old->call_deadlines);
    hgi_lock_deinit(&old->lock);
    hgi_veil_wipe(&old->veil);
    hgi_free(old->allocator, old->name);
    hgi_free(old->allocator, old);
    *cache = NULL;
}

void hgi_cache_stop(struct hgi_cache *cache, const struct hgi_now *now)
{
    struct hgi_work work;
    struct hgi_node *node;

    hgi_work_init(&work);
    hgi_lock_flight(&cache->lock);
    cache->is_stopped = true;
    hgi_work_take_late(cache, &work, SIZE_MAX);
    node = cache->all.next;
    while (node != &cache->all) {
        struct hgi_flight *flight = HGI_CONTAINER(node, struct hgi_flight, all_node);

        node = node->next;
        if (flight->is_open) {
            hgi_flight_dismiss(cache, flight, &work.stopped, &work);
        }
    }
    hgi_unlock_flight(&cache->lock);
    hgi_work_run(cache, &work, now);
}

const char *hgi_cache_name(const struct hgi_cache *cache)
{
    return cache->name;
}

const struct hgi_policy *hgi_cache_policy(const struct hgi_cache *cache)
{
    return &hgi_terms(cache)->policy;
}

const struct hgi_veil *hgi_cache_veil(const struct hgi_cache *cache)
{
    return cache->is_veiled ? &cache->veil : NULL;
}

struct hgi_table *hgi_cache_table(struct hgi_cache *cache)
{
    return cache->table;
}

uint64_t hgi_cache_generation(const struct hgi_cache *cache)
{
    return atomic_load_explicit(&((struct hgi_cache *)(uintptr_t)cache)->generation,
                                memory_order_acquire);
}

/* ---- reading ---- */

static void answer_error(struct hgi_call *call, enum hg_status status, const char *message,
                         uint32_t retry_after_ms)
{
    const struct hgi_answer answer = {
        .status = status,
        .message = hg_slice_text(message),
        .retry_after_ms = retry_after_ms,
    };

    call->done(call, &answer);
}

static void answer_found(struct hgi_cache *cache, struct hgi_call *call, enum hgi_found found,
                         const struct hgi_found_entry *entry, const struct hg_bytes *value)
{
    const struct hgi_answer answer = {
        .status = HG_OK,
        .outcome = entry->outcome,
        .source = found == HGI_FRESH ? HG_SOURCE_FRESH : HG_SOURCE_STALE,
        .value = hgi_bytes_slice(value),
        .generation = entry->born,
        .age_ms = entry->age_ms,
        .ttl_left_ms = entry->ttl_left_ms,
        .stale_left_ms = entry->stale_left_ms,
        .lease_id = call->lease_id,
        .lease_ttl_ms = call->lease_id ? hgi_terms(cache)->policy.load_timeout_ms : 0,
    };
    enum hgi_metric metric = HGI_METRIC_hit;

    if (found == HGI_STALE) {
        metric = HGI_METRIC_stale_hit;
    } else if (found == HGI_KEPT) {
        metric = HGI_METRIC_kept_hit;
    } else if (entry->outcome != HG_VALUE) {
        metric = HGI_METRIC_negative_hit;
    }
    hgi_metric_add(&cache->metrics, metric, 1);
    hgi_histogram_record(&cache->age, answer.age_ms);
    call->done(call, &answer);
}

bool hgi_call_takes(const struct hgi_call *call, const struct hgi_found_entry *entry)
{
    return entry->born >= call->min_generation &&
           (call->max_age_ms < 0 || entry->age_ms <= call->max_age_ms);
}

static bool may_serve(const struct hgi_call *call, enum hgi_found found,
                      const struct hgi_found_entry *entry)
{
    if (found == HGI_MISS || found == HGI_KEPT || entry->born < call->min_generation) {
        return false;
    }
    return found == HGI_FRESH || call->mode == HG_MODE_ALLOW_STALE ||
           call->mode == HG_MODE_REVALIDATE;
}

/* After a loader's failure an old value answers at once, until the pause before the next load is
 * over. */
static bool may_serve_in_pause(const struct hgi_cache *cache, const struct hgi_call *call,
                               enum hgi_found found, const struct hgi_found_entry *entry,
                               const struct hgi_now *now)
{
    return hgi_terms(cache)->policy.stale_if_error_ms > 0 && call->mode != HG_MODE_PEEK &&
           (found == HGI_STALE || found == HGI_KEPT) && !entry->is_softened && !entry->is_refused &&
           now->boot_ms < entry->refresh_after_ms && hgi_call_takes(call, entry);
}

void hgi_cache_answer_lease(struct hgi_cache *cache, struct hgi_call *call)
{
    const struct hgi_answer answer = {
        .status = HG_OK,
        .outcome = HG_NOT_CACHED,
        .source = HG_SOURCE_LEASED,
        .lease_id = call->lease_id,
        .lease_ttl_ms = hgi_terms(cache)->policy.load_timeout_ms,
    };

    call->done(call, &answer);
}

static void answer_failure(struct hgi_cache *cache, struct hgi_call *call,
                           const struct hgi_failure_copy *failure)
{
    const struct hgi_answer answer = {
        .status = failure->status,
        .source = HG_SOURCE_JOINED,
        .message = hg_slice_of(failure->message, failure->message_len),
        .retry_after_ms = (uint32_t)failure->left_ms,
    };

    hgi_metric_add(&cache->metrics, HGI_METRIC_failure_hit, 1);
    call->done(call, &answer);
}

/* What became of a call that found nothing to serve. */
enum entry_point {
    PARKED,
    FOUND,
    FOUND_KEPT_SLOT,
    FAILED_LATELY,
    LEADS,
    REFUSED_ROOM,
    REFUSED_NO_LOADER,
    REFUSED_STOPPED,
};

/* What a call finds besides a flight. */
struct finding {
    enum hgi_found found;
    struct hgi_found_entry entry;
    struct hgi_failure_copy failure;
    struct hgi_answer kept;
};

/* Joins the key's flight, or leads one after a second look: a load that ended between the caller's
 * look and this lock is not repeated. */
static enum entry_point join_or_lead(struct hgi_cache *cache, struct hgi_call *call,
                                     struct hg_bytes *scratch, const struct hgi_now *now,
                                     struct hgi_work *work, struct finding *ret_finding)
    HGI_REQUIRES(flight)
{
    uint64_t hash = call->digest;
    struct hgi_flight *flight = hgi_flight_find(cache, hash, call->key);
    struct hgi_flight *successor;

    if (cache->is_stopped) {
        return REFUSED_STOPPED;
    }
    if (flight && hgi_lease_kept(cache, flight, call, now, scratch, &ret_finding->kept)) {
        return FOUND_KEPT_SLOT;
    }
    if (flight && flight->state != HGI_FLIGHT_KEPT && flight->born >= call->min_generation) {
        return hgi_flight_join(cache, flight, call, false) ? PARKED : REFUSED_ROOM;
    }
    ret_finding->found = hgi_table_lookup(cache->table, call->key, call->max_age_ms, now, scratch,
                                          &ret_finding->entry);
    if (may_serve(call, ret_finding->found, &ret_finding->entry)) {
        return FOUND;
    }
    if (hgi_failures_find(&cache->failures, hash, call->key, now->boot_ms, &ret_finding->failure)) {
        return FAILED_LATELY;
    }
    if (!call->lead && !hgi_terms(cache)->has_loader) {
        return REFUSED_NO_LOADER;
    }
    successor = call->lead ? NULL : hgi_flight_begin(cache, call, true, work, now);
    if (!successor && !(call->lead && hgi_lease_begin(cache, call, false, now))) {
        return REFUSED_ROOM;
    }
    if (flight) {
        /* Too old for this reader. It answers its own waiters and gives its slot to the successor,
         * not before there is one. */
        flight->has_slot = false;
    }
    if (call->lead) {
        return LEADS;
    }
    if (!hgi_flight_join(cache, successor, call, true)) {
        /* No memory for its deadline: the load goes on for nobody and publishes. */
        return REFUSED_ROOM;
    }
    return PARKED;
}

static void look_further(struct hgi_cache *cache, struct hgi_call *call, struct hg_bytes *scratch,
                         const struct hgi_now *now)
{
    struct finding finding;
    enum entry_point point;
    struct hgi_work work;

    hgi_work_init(&work);
    hgi_lock_flight(&cache->lock);
    point = join_or_lead(cache, call, scratch, now, &work, &finding);
    hgi_unlock_flight(&cache->lock);
    hgi_work_run(cache, &work, now);
    switch (point) {
    case PARKED: /* the call may be answered, and its memory gone, by now */
        break;
    case FOUND:
        answer_found(cache, call, finding.found, &finding.entry, scratch);
        break;
    case FOUND_KEPT_SLOT:
        hgi_metric_add(&cache->metrics, HGI_METRIC_coalesced, 1);
        call->done(call, &finding.kept);
        break;
    case LEADS:
        hgi_cache_answer_lease(cache, call);
        break;
    case REFUSED_NO_LOADER:
        answer_error(call, HG_FAILED_PRECONDITION, "not cached, and this cache has no loader", 0);
        break;
    case FAILED_LATELY:
        answer_failure(cache, call, &finding.failure);
        break;
    case REFUSED_ROOM:
        hgi_metric_add(&cache->metrics, HGI_METRIC_refused, 1);
        answer_error(call, HG_RESOURCE_EXHAUSTED,
                     "too many loads are queued or too many callers wait", HGI_RETRY_AFTER_MS);
        break;
    case REFUSED_STOPPED:
        answer_error(call, HG_UNAVAILABLE, "the server is stopping", 0);
        break;
    }
}

static enum hgi_found find(struct hgi_cache *cache, const struct hgi_call *call,
                           struct hg_bytes *scratch, const struct hgi_now *now,
                           struct hgi_found_entry *ret_entry)
{
    return hgi_table_lookup_hashed(cache->table, call->digest, call->key, call->max_age_ms, now,
                                   scratch, ret_entry);
}

void hgi_cache_look(struct hgi_cache *cache, struct hgi_call *call, struct hg_bytes *scratch,
                    const struct hgi_now *now)
{
    struct hgi_found_entry entry;
    enum hgi_found found = find(cache, call, scratch, now, &entry);

    if (may_serve(call, found, &entry)) {
        if (found == HGI_STALE && call->lead && call->mode == HG_MODE_REVALIDATE) {
            hgi_lease_behind(cache, call, now);
        } else if (hgi_refresh_is_due(cache, call, found, &entry)) {
            hgi_refresh_begin(cache, call, &entry, now);
        }
        answer_found(cache, call, found, &entry, scratch);
        return;
    }
    if (may_serve_in_pause(cache, call, found, &entry, now)) {
        answer_found(cache, call, HGI_KEPT, &entry, scratch);
        return;
    }
    if (call->rounds == 0) {
        hgi_metric_add(&cache->metrics, HGI_METRIC_miss, 1);
    }
    if (call->min_generation > hgi_cache_generation(cache)) {
        answer_error(call, HG_FAILED_PRECONDITION,
                     "min_generation is above this cache's generation", 0);
    } else if (call->mode == HG_MODE_PEEK) {
        const struct hgi_answer nothing = {.status = HG_OK, .outcome = HG_NOT_CACHED};

        call->done(call, &nothing);
    } else if (call->deadline_ms <= now->boot_ms) {
        answer_error(call, HG_DEADLINE_EXCEEDED, "the answer did not come in time", 0);
    } else {
        look_further(cache, call, scratch, now);
    }
}

void hgi_cache_read(struct hgi_cache *cache, struct hgi_call *call, struct hg_bytes *scratch,
                    const struct hgi_now *now)
{
    const struct hgi_policy *policy = &hgi_terms(cache)->policy;
    int64_t default_ms = policy->wait_budget_ms + (policy->alone ? policy->load_timeout_ms : 0);
    int64_t timeout_ms = call->timeout_ms > 0 ? call->timeout_ms : default_ms;

    if (timeout_ms > HGI_TIMEOUT_MAX) {
        timeout_ms = HGI_TIMEOUT_MAX;
    }
    if (call->mode == HG_MODE_DEFAULT) {
        call->mode = hgi_terms(cache)->policy.mode;
    }
    call->digest = call->hash ? call->hash : hgi_flight_hash(cache, call->key);
    hgi_list_init(&call->node);
    hgi_heap_node_init(&call->deadline);
    call->flight = NULL;
    call->deadline_ms = now->boot_ms + timeout_ms;
    call->budget_ms = now->boot_ms + hgi_terms(cache)->policy.wait_budget_ms;
    call->rounds = 0;
    call->lease_id = 0;
    call->is_beginner = false;
    hgi_cache_look(cache, call, scratch, now);
}

void hgi_cache_fetch(struct hgi_cache *cache, const struct hg_slice *keys, size_t count,
                     uint64_t *ret_hashes)
{
    for (size_t i = 0; i < count; i++) {
        HGI_BUG_ON(cache->is_veiled && keys[i].len && !hgi_veil_is_on(keys[i]));
    }
    hgi_table_fetch(cache->table, keys, count, ret_hashes);
}

void hgi_cache_leave(struct hgi_cache *cache, struct hgi_call *call, const struct hgi_now *now)
{
    struct hgi_work work;

    hgi_work_init(&work);
    hgi_lock_flight(&cache->lock);
    if (call->flight) {
        hgi_flight_leave(cache, call, &work.cancelled, &work);
    }
    hgi_unlock_flight(&cache->lock);
    hgi_work_run(cache, &work, now);
}

/* ---- looking in ---- */

void hgi_cache_count_local(struct hgi_cache *cache, uint64_t count)
{
    hgi_metric_add(&cache->metrics, HGI_METRIC_local_hit, count);
}

void hgi_cache_stats(struct hgi_cache *cache, struct hgi_cache_stats *ret_stats)
{
    struct hgi_cache_stats stats;
    struct hgi_table_stats table;

    for (size_t i = 0; i < HGI_METRIC_COUNT; i++) {
        stats.counters[i] = hgi_metric_get(&cache->metrics, (enum hgi_metric)i);
    }
    hgi_table_stats(cache->table, &table);
    stats.entries = table.entries;
    stats.negatives = table.negatives;
    stats.bytes = table.bytes;
    stats.generation = hgi_cache_generation(cache);
    hgi_histogram_read(&cache->load_time, &stats.load_time);
    hgi_histogram_read(&cache->age, &stats.age);
    hgi_lock_flight(&cache->lock);
    stats.in_flight = cache->started_count + cache->leased_count;
    stats.queued = cache->queued_count;
    stats.waiting = cache->parked_count;
    hgi_unlock_flight(&cache->lock);
    *ret_stats = stats;
}

enum hgi_insert hgi_cache_restore(struct hgi_cache *cache, const struct hgi_entry *entry)
{
    return hgi_table_insert(cache->table, entry, true);
}
