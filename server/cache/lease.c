/* SPDX-License-Identifier: Apache-2.0 */
#include "lease.h"

#include <stdio.h>

#include "base/bytes.h"
#include "base/check.h"
#include "publish.h"
#include "tagging.h"

/* Not to be guessed by another caller: a keyed hash of the count. Never 0. */
static uint64_t next_lease_id(struct hgi_cache *cache) HGI_REQUIRES(flight)
{
    uint64_t count = ++cache->lease_count;

    return hgi_hash(&cache->hash_key, hg_slice_of(&count, sizeof(count))) | 1u;
}

static void give(struct hgi_cache *cache, struct hgi_flight *flight, struct hgi_call *call,
                 const struct hgi_now *now) HGI_REQUIRES(flight)
{
    flight->state = HGI_FLIGHT_LEASED;
    flight->holder = call->holder;
    flight->sent_ms = now->boot_ms;
    flight->lease_id = next_lease_id(cache);
    call->lease_id = flight->lease_id;
    hgi_map_insert(&cache->leases, &flight->by_lease, flight->lease_id);
    /* hgi_flight_new made the room. */
    HGI_BUG_ON(!hgi_heap_insert(&cache->load_timeouts, &flight->timeout,
                                now->boot_ms + hgi_terms(cache)->policy.load_timeout_ms));
    cache->leased_count++;
    hgi_metric_add(&cache->metrics, HGI_METRIC_lease, 1);
}

bool hgi_lease_begin(struct hgi_cache *cache, struct hgi_call *call, bool has_stale,
                     const struct hgi_now *now)
{
    struct hgi_flight *flight =
        cache->leased_count < HGI_LEASES_MAX ? hgi_flight_new(cache, call, true, now) : NULL;

    if (!flight) {
        return false;
    }
    flight->is_refresh = has_stale;
    give(cache, flight, call, now);
    return true;
}

void hgi_lease_behind(struct hgi_cache *cache, struct hgi_call *call, const struct hgi_now *now)
{
    struct hgi_found_entry again;

    hgi_lock_flight(&cache->lock);
    if (!cache->is_stopped && !hgi_flight_find(cache, call->digest, call->key) &&
        hgi_table_lookup(cache->table, call->key, call->max_age_ms, now, NULL, &again) ==
            HGI_STALE &&
        now->boot_ms >= again.refresh_after_ms && hgi_lease_begin(cache, call, true, now)) {
        hgi_metric_add(&cache->metrics, HGI_METRIC_refresh, 1);
    }
    hgi_unlock_flight(&cache->lock);
}

void hgi_lease_drop(struct hgi_cache *cache, struct hgi_flight *flight)
{
    hgi_map_remove(&cache->leases, &flight->by_lease);
    hgi_heap_remove(&cache->load_timeouts, &flight->timeout);
    hgi_bytes_deinit(&flight->kept_value);
    if (flight->kept_tags) { /* there are users among them */
        explicit_bzero(flight->kept_tags, sizeof(*flight->kept_tags));
    }
    hgi_free(cache->allocator, flight->kept_tags);
    flight->kept_tags = NULL;
    flight->lease_id = 0;
    cache->leased_count--;
}

/* Who asked to lead and still has time to. */
static struct hgi_call *next_leader(struct hgi_flight *flight, const struct hgi_now *now)
{
    for (struct hgi_node *node = flight->waiters.next; node != &flight->waiters;
         node = node->next) {
        struct hgi_call *call = HGI_CONTAINER(node, struct hgi_call, node);

        if (call->lead && call->deadline_ms > now->boot_ms) {
            return call;
        }
    }
    return NULL;
}

void hgi_lease_hand_on(struct hgi_cache *cache, struct hgi_flight *flight, struct hgi_work *work,
                       const struct hgi_now *now)
{
    struct hgi_call *next = next_leader(flight, now);

    hgi_lease_drop(cache, flight);
    flight->born = atomic_load_explicit(&cache->generation, memory_order_relaxed);
    if (next) {
        hgi_flight_pick(cache, next, &work->leased);
        give(cache, flight, next, now);
        hgi_metric_add(&cache->metrics, HGI_METRIC_lease_handed_on, 1);
    } else if (!flight->waiter_count) {
        if (flight->is_refresh) {
            hgi_note_failure(cache, flight, NULL, now);
        }
        hgi_flight_end(cache, flight);
    } else if (!hgi_terms(cache)->has_loader) {
        work->answer.status = HG_FAILED_PRECONDITION;
        work->answer.message =
            hg_slice_text("the caller that was loading gave up, and this cache has no loader");
        hgi_flight_answer(cache, flight, work);
        hgi_flight_end(cache, flight);
    } else if (!hgi_flight_start(cache, flight, work)) {
        while (flight->waiter_count) {
            hgi_flight_pick(cache, HGI_CONTAINER(flight->waiters.next, struct hgi_call, node),
                            &work->refused);
        }
        hgi_flight_end(cache, flight);
    }
}

void hgi_lease_timed_out(struct hgi_cache *cache, struct hgi_flight *flight, struct hgi_work *work,
                         const struct hgi_now *now)
{
    if (flight->state == HGI_FLIGHT_LEASED) {
        hgi_lease_hand_on(cache, flight, work, now);
    } else {
        hgi_flight_close(cache, flight, work);
    }
}

/* Who invalidates a tag does not visit what has it: the slot finds out when it is asked. */
static bool is_kept_overtaken(struct hgi_cache *cache, const struct hgi_flight *flight)
    HGI_REQUIRES(flight)
{
    struct hgi_entry entry = {.born = flight->born};

    if (!flight->kept_tags) {
        return false;
    }
    entry.tags = flight->kept_tags->names;
    entry.tag_count = flight->kept_tags->count;
    return hgi_cache_is_overtaken(cache, &entry);
}

bool hgi_lease_is_kept(struct hgi_cache *cache, const struct hgi_flight *flight,
                       const struct hgi_now *now)
{
    return flight->state == HGI_FLIGHT_KEPT &&
           !(flight->kept_until_ms && (now->boot_ms >= flight->kept_until_ms ||
                                       now->wall_ms >= flight->kept_until_wall_ms)) &&
           !is_kept_overtaken(cache, flight);
}

void hgi_lease_end_kept(struct hgi_cache *cache, uint64_t hash, struct hg_slice key, uint64_t born,
                        struct hgi_work *work)
{
    struct hgi_map_node *node = hgi_map_find(&cache->flights, hash);

    while (node) {
        struct hgi_flight *flight = HGI_CONTAINER(node, struct hgi_flight, by_key);

        node = hgi_map_find_next(node);
        if (flight->state == HGI_FLIGHT_KEPT && flight->born <= born &&
            hgi_slice_equal(hgi_flight_key(flight), key)) {
            hgi_flight_close(cache, flight, work);
        }
    }
}

static int64_t less(int64_t left_ms, int64_t age_ms)
{
    return left_ms > age_ms ? left_ms - age_ms : 0;
}

bool hgi_lease_kept(struct hgi_cache *cache, const struct hgi_flight *flight,
                    const struct hgi_call *call, const struct hgi_now *now,
                    struct hg_bytes *scratch, struct hgi_answer *ret_answer)
{
    int64_t age_ms = now->boot_ms - flight->kept_ms;

    if (!hgi_lease_is_kept(cache, flight, now) || flight->born < call->min_generation ||
        (call->max_age_ms >= 0 && age_ms > call->max_age_ms) ||
        !hgi_bytes_set(scratch, hgi_bytes_slice(&flight->kept_value))) {
        return false;
    }
    *ret_answer = flight->kept_answer;
    ret_answer->source = HG_SOURCE_JOINED;
    ret_answer->value = hgi_bytes_slice(scratch);
    ret_answer->age_ms = age_ms;
    ret_answer->ttl_left_ms = less(ret_answer->ttl_left_ms, age_ms);
    ret_answer->stale_left_ms = less(ret_answer->stale_left_ms, age_ms);
    return true;
}

/* Another holder's lease is none: nobody learns by asking which there are. */
static struct hgi_flight *find(struct hgi_cache *cache, uint64_t lease_id, uint64_t holder)
    HGI_REQUIRES(flight)
{
    struct hgi_map_node *node = lease_id ? hgi_map_find(&cache->leases, lease_id) : NULL;
    struct hgi_flight *flight = node ? HGI_CONTAINER(node, struct hgi_flight, by_lease) : NULL;

    return flight && (!holder || flight->holder == holder) ? flight : NULL;
}

static enum hg_status ended(char *ret_sentence)
{
    snprintf(ret_sentence, HGI_MESSAGE_MAX,
             "this lease has ended: it ran out, was released or fulfilled, or an invalidation "
             "overtook it");
    return HG_ABORTED;
}

static bool copy_kept(struct hgi_cache *cache, struct hgi_flight *flight, struct hg_slice value,
                      const struct hgi_lifetime *lifetime) HGI_REQUIRES(flight)
{
    hgi_bytes_init(&flight->kept_value, cache->allocator);
    if (!hgi_bytes_set(&flight->kept_value, value)) {
        return false;
    }
    if (lifetime->tag_count || lifetime->user.len) {
        flight->kept_tags = hgi_alloc(cache->allocator, sizeof(*flight->kept_tags));
        if (!flight->kept_tags) {
            hgi_bytes_deinit(&flight->kept_value);
            return false;
        }
        hgi_tagging_init(flight->kept_tags, hgi_cache_veil(cache), hgi_flight_key(flight),
                         lifetime);
    }
    return true;
}

/* The slot stays, with a copy of what was published; without memory for it, it goes. */
static void keep_slot(struct hgi_cache *cache, struct hgi_flight *flight,
                      const struct hgi_work *work, const struct hgi_entry *entry, uint64_t lease_id,
                      const struct hgi_fulfilment *fulfilment, const struct hgi_now *now)
    HGI_REQUIRES(flight)
{
    if (!copy_kept(cache, flight, work->answer.value, &fulfilment->result->lifetime)) {
        hgi_flight_end(cache, flight);
        return;
    }
    hgi_flight_forget_load_key(flight);
    flight->kept_answer = work->answer;
    flight->kept_ms = now->boot_ms;
    flight->kept_until_ms = entry->expires_boot_ms;
    flight->kept_until_wall_ms = entry->expires_wall_ms;
    flight->state = HGI_FLIGHT_KEPT;
    flight->has_slot = true;
    flight->is_open = true;
    flight->lease_id = lease_id;
    hgi_map_insert(&cache->leases, &flight->by_lease, lease_id);
    HGI_BUG_ON(!hgi_heap_insert(&cache->load_timeouts, &flight->timeout,
                                now->boot_ms + fulfilment->keep_ms));
    cache->leased_count++;
}

/* What a fulfilment brought may be older than what was stored, and answered, since it began. The
 * table has told it of what was to be stored. Of what was not nobody has looked, and what was
 * stored may have ended: it is newer than anything only if no number was taken meanwhile. */
static bool may_be_older(const struct hgi_cache *cache, const struct hgi_flight *flight,
                         bool no_store) HGI_REQUIRES(flight)
{
    return flight->is_superseded || (no_store && flight->born != hgi_cache_generation(cache));
}

static enum hg_status fulfil_value(struct hgi_cache *cache, struct hgi_flight *flight,
                                   const struct hgi_fulfilment *fulfilment, struct hgi_work *work,
                                   const struct hgi_now *now, struct hgi_fulfilled *ret_fulfilled,
                                   char *ret_sentence) HGI_REQUIRES(flight)
{
    uint64_t lease_id = flight->lease_id;
    struct hg_slice key = hgi_flight_key(flight);
    bool has_slot = flight->has_slot; /* a successor may have taken it */
    struct hgi_entry entry;
    enum hg_status status;

    hgi_lease_drop(cache, flight);
    status = hgi_publish(cache, flight, fulfilment->result, work, now, &entry);
    if (status == HG_OK) {
        memcpy(ret_fulfilled->key.data, key.data, key.len);
        ret_fulfilled->key.len = key.len;
        ret_fulfilled->entry = entry;
        ret_fulfilled->entry.key = hgi_key_slice(&ret_fulfilled->key);
        ret_fulfilled->ttl_left_ms = work->answer.ttl_left_ms;
        ret_fulfilled->stale_left_ms = work->answer.stale_left_ms;
    } else if (status == HG_ABORTED) {
        (void)ended(ret_sentence);
    } else {
        snprintf(ret_sentence, HGI_MESSAGE_MAX, "expires_at has already passed");
    }
    if (status == HG_OK && fulfilment->keep_ms > 0 && has_slot &&
        !may_be_older(cache, flight, fulfilment->result->lifetime.no_store)) {
        keep_slot(cache, flight, work, &entry, lease_id, fulfilment, now);
    } else {
        hgi_flight_end(cache, flight);
    }
    return status;
}

static void fulfil_error(struct hgi_cache *cache, struct hgi_flight *flight,
                         const struct hgi_result *result, struct hgi_work *work,
                         const struct hgi_now *now) HGI_REQUIRES(flight)
{
    if (hgi_terms(cache)->policy.on_error != HGI_ON_ERROR_SHARE) {
        /* Elect and each come to the same here: whoever asked to lead does, else the loader. */
        hgi_metric_add(&cache->metrics, HGI_METRIC_load_error, 1);
        hgi_lease_hand_on(cache, flight, work, now);
        return;
    }
    hgi_lease_drop(cache, flight);
    hgi_load_failed(cache, flight, result, work, now);
    hgi_flight_end(cache, flight);
}

enum hg_status hgi_cache_fulfil(struct hgi_cache *cache, const struct hgi_fulfilment *fulfilment,
                                const struct hgi_now *now, struct hgi_fulfilled *ret_fulfilled,
                                char *ret_sentence)
{
    struct hgi_flight *flight;
    struct hgi_work work;
    enum hg_status status = HG_OK;

    hgi_work_init(&work);
    hgi_lock_flight(&cache->lock);
    flight = find(cache, fulfilment->lease_id, fulfilment->holder);
    if (!flight || flight->state != HGI_FLIGHT_LEASED) {
        status = ended(ret_sentence);
    } else if (fulfilment->result->status == HG_OK) {
        status = fulfil_value(cache, flight, fulfilment, &work, now, ret_fulfilled, ret_sentence);
    } else {
        *ret_fulfilled = (struct hgi_fulfilled){.entry = {.born = flight->born}};
        fulfil_error(cache, flight, fulfilment->result, &work, now);
    }
    hgi_unlock_flight(&cache->lock);
    hgi_work_run(cache, &work, now);
    return status;
}

enum hg_status hgi_cache_renew(struct hgi_cache *cache, uint64_t lease_id, uint64_t holder,
                               const struct hgi_now *now, int64_t *ret_ttl_ms, char *ret_sentence)
{
    enum hg_status status = HG_OK;
    struct hgi_flight *flight;

    hgi_lock_flight(&cache->lock);
    flight = find(cache, lease_id, holder);
    if (!flight || flight->state != HGI_FLIGHT_LEASED) {
        status = ended(ret_sentence);
    } else {
        hgi_heap_remove(&cache->load_timeouts, &flight->timeout);
        /* It has just made the room. */
        HGI_BUG_ON(!hgi_heap_insert(&cache->load_timeouts, &flight->timeout,
                                    now->boot_ms + hgi_terms(cache)->policy.load_timeout_ms));
        *ret_ttl_ms = hgi_terms(cache)->policy.load_timeout_ms;
    }
    hgi_unlock_flight(&cache->lock);
    return status;
}

enum hg_status hgi_cache_release(struct hgi_cache *cache, uint64_t lease_id, uint64_t holder,
                                 const struct hgi_now *now, char *ret_sentence)
{
    enum hg_status status = HG_OK;
    struct hgi_flight *flight;
    struct hgi_work work;

    hgi_work_init(&work);
    hgi_lock_flight(&cache->lock);
    flight = find(cache, lease_id, holder);
    if (flight) {
        hgi_lease_timed_out(cache, flight, &work, now);
    } else {
        status = ended(ret_sentence);
    }
    hgi_unlock_flight(&cache->lock);
    hgi_work_run(cache, &work, now);
    return status;
}

void hgi_cache_holder_gone(struct hgi_cache *cache, uint64_t holder, const struct hgi_now *now)
{
    struct hgi_work work;
    struct hgi_node *node;

    hgi_work_init(&work);
    hgi_lock_flight(&cache->lock);
    node = cache->leased_count ? cache->all.next : &cache->all;
    while (node != &cache->all) {
        struct hgi_flight *flight = HGI_CONTAINER(node, struct hgi_flight, all_node);

        node = node->next;
        if (flight->lease_id && flight->holder == holder) {
            hgi_lease_timed_out(cache, flight, &work, now);
        }
    }
    hgi_unlock_flight(&cache->lock);
    hgi_work_run(cache, &work, now);
}
