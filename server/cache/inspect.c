/* SPDX-License-Identifier: Apache-2.0 */
#include "inspect.h"

#include <string.h>

#include "base/check.h"
#include "flight.h"
#include "lease.h"

static const char *const rule_names[] = {
    [HGI_RULE_NOTHING] = "nothing",     [HGI_RULE_FRESH] = "fresh",
    [HGI_RULE_STALE] = "stale",         [HGI_RULE_SOFTENED] = "softened",
    [HGI_RULE_KEPT] = "kept",           [HGI_RULE_JOINS] = "joins",
    [HGI_RULE_KEPT_SLOT] = "kept_slot", [HGI_RULE_FAILED_LATELY] = "failed_lately",
};
static const char *const leader_names[] = {
    [HGI_LEADER_LOADER] = "loader",
    [HGI_LEADER_REFRESH] = "refresh",
    [HGI_LEADER_CALLER] = "caller",
    [HGI_LEADER_KEPT] = "kept",
};
static const char *const phase_names[] = {
    [HGI_PHASE_QUEUED] = "queued",
    [HGI_PHASE_STARTED] = "started",
    [HGI_PHASE_SENT] = "sent",
    [HGI_PHASE_ENDED] = "ended",
};

const char *hgi_rule_name(enum hgi_rule rule)
{
    HGI_BUG_ON((size_t)rule >= HGI_COUNT_OF(rule_names));
    return rule_names[rule];
}

const char *hgi_leader_name(enum hgi_leader leader)
{
    HGI_BUG_ON((size_t)leader >= HGI_COUNT_OF(leader_names));
    return leader_names[leader];
}

const char *hgi_flight_phase_name(enum hgi_flight_phase phase)
{
    HGI_BUG_ON((size_t)phase >= HGI_COUNT_OF(phase_names));
    return phase_names[phase];
}

uint64_t hgi_cache_digest(const struct hgi_cache *cache, struct hg_slice key)
{
    return hgi_flight_hash(cache, key);
}

static enum hgi_leader leader_of(const struct hgi_flight *flight)
{
    if (flight->state == HGI_FLIGHT_KEPT) {
        return HGI_LEADER_KEPT;
    }
    if (flight->state == HGI_FLIGHT_LEASED) {
        return HGI_LEADER_CALLER;
    }
    return flight->is_refresh ? HGI_LEADER_REFRESH : HGI_LEADER_LOADER;
}

static enum hgi_flight_phase phase_of(const struct hgi_flight *flight)
{
    if (!flight->is_open) {
        return HGI_PHASE_ENDED;
    }
    if (flight->state == HGI_FLIGHT_QUEUED) {
        return HGI_PHASE_QUEUED;
    }
    return flight->state == HGI_FLIGHT_STARTED ? HGI_PHASE_STARTED : HGI_PHASE_SENT;
}

static struct hgi_flight_info describe(const struct hgi_flight *flight, const struct hgi_now *now)
{
    struct hgi_flight_info info = {
        .id = flight->id,
        .digest = flight->by_key.hash,
        .leader = leader_of(flight),
        .phase = phase_of(flight),
        .holder = flight->lease_id ? flight->holder : 0,
        .pid = flight->pid,
        .age_ms = now->boot_ms - flight->begun_ms,
        .left_ms = -1,
        .followers = flight->waiter_count - (flight->beginner != NULL),
        .generation = flight->born,
        .attempt = flight->attempt,
        .is_fenced = flight->is_fenced,
    };

    if (flight->timeout.index != HGI_HEAP_OUT) {
        info.left_ms = flight->timeout.when_ms - now->boot_ms;
    }
    return info;
}

size_t hgi_cache_list_flights(struct hgi_cache *cache, const struct hgi_now *now,
                              struct hgi_flight_info *ret_flights, size_t max)
{
    size_t count = 0;

    hgi_lock_flight(&cache->lock);
    for (struct hgi_node *node = cache->all.next; node != &cache->all; node = node->next) {
        if (count < max) {
            ret_flights[count] = describe(HGI_CONTAINER(node, struct hgi_flight, all_node), now);
        }
        count++;
    }
    hgi_unlock_flight(&cache->lock);
    return count;
}

bool hgi_cache_has_loads_before(struct hgi_cache *cache, uint64_t generation)
{
    bool has_any = false;

    hgi_lock_flight(&cache->lock);
    for (struct hgi_node *node = cache->all.next; node != &cache->all && !has_any;
         node = node->next) {
        const struct hgi_flight *flight = HGI_CONTAINER(node, struct hgi_flight, all_node);

        has_any = flight->born < generation && flight->state != HGI_FLIGHT_KEPT;
    }
    hgi_unlock_flight(&cache->lock);
    return has_any;
}

bool hgi_cache_kill_flight(struct hgi_cache *cache, uint64_t id, const struct hgi_now *now,
                           struct hgi_flight_info *ret_killed)
{
    struct hgi_work work;
    bool is_there = false;

    hgi_work_init(&work);
    hgi_lock_flight(&cache->lock);
    for (struct hgi_node *node = cache->all.next; node != &cache->all; node = node->next) {
        struct hgi_flight *flight = HGI_CONTAINER(node, struct hgi_flight, all_node);

        if (flight->id == id && flight->is_open) {
            *ret_killed = describe(flight, now);
            hgi_flight_dismiss(cache, flight, &work.killed, &work);
            is_there = true;
            break;
        }
    }
    hgi_unlock_flight(&cache->lock);
    hgi_work_run(cache, &work, now);
    return is_there;
}

static enum hgi_rule rule_of_found(enum hgi_found found, const struct hgi_found_entry *entry)
{
    switch (found) {
    case HGI_MISS:
        break;
    case HGI_FRESH:
        return HGI_RULE_FRESH;
    case HGI_STALE:
        return entry->is_softened ? HGI_RULE_SOFTENED : HGI_RULE_STALE;
    case HGI_KEPT:
        return HGI_RULE_KEPT;
    }
    return HGI_RULE_NOTHING;
}

/* With nothing fresh or stale to serve, what comes next in a read's order of looking. */
static enum hgi_rule rule_of_rest(const struct hgi_explanation *said, bool has_failed,
                                  enum hgi_rule rule)
{
    if (said->has_flight) {
        return said->flight.leader == HGI_LEADER_KEPT ? HGI_RULE_KEPT_SLOT : HGI_RULE_JOINS;
    }
    return has_failed ? HGI_RULE_FAILED_LATELY : rule;
}

void hgi_cache_explain(struct hgi_cache *cache, struct hg_slice key, const struct hgi_now *now,
                       struct hgi_explanation *ret_explanation)
{
    uint64_t hash = hgi_flight_hash(cache, key);
    struct hgi_explanation said = {.digest = hash};
    struct hgi_failure_copy failure;
    struct hgi_found_entry entry;
    struct hgi_flight *flight;
    enum hgi_found found;
    bool has_failed;

    hgi_lock_flight(&cache->lock);
    found = hgi_table_lookup(cache->table, key, -1, now, NULL, &entry);
    flight = hgi_flight_find(cache, hash, key);
    has_failed = hgi_failures_find(&cache->failures, hash, key, now->boot_ms, &failure);
    /* A kept slot whose value is over answers nobody, and gives way to the next load. */
    if (flight && (flight->state != HGI_FLIGHT_KEPT || hgi_lease_is_kept(cache, flight, now))) {
        said.has_flight = true;
        said.flight = describe(flight, now);
    }
    hgi_unlock_flight(&cache->lock);
    said.generation = hgi_cache_generation(cache);
    said.failure_left_ms = has_failed ? failure.left_ms : 0;
    said.has_entry = found != HGI_MISS;
    if (said.has_entry) {
        said.outcome = entry.outcome;
        said.born = entry.born;
        said.age_ms = entry.age_ms;
        said.ttl_ms = entry.ttl_ms;
        said.ttl_left_ms = entry.ttl_left_ms;
        said.stale_left_ms = entry.stale_left_ms;
        said.refresh_pause_ms =
            entry.refresh_after_ms > now->boot_ms ? entry.refresh_after_ms - now->boot_ms : 0;
    }
    said.rule = rule_of_found(found, &entry);
    if (said.rule == HGI_RULE_NOTHING || said.rule == HGI_RULE_KEPT) {
        said.rule = rule_of_rest(&said, has_failed, said.rule);
    }
    *ret_explanation = said;
}
