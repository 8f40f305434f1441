/* SPDX-License-Identifier: Apache-2.0 */
#include "reply.h"

#include "client/call.h"

struct hg_answer hgi_reply_answer(const struct hgi_msg_answer *message)
{
    struct hg_answer answer = {
        .status = message->status,
        .message = message->message,
        .retry_after_ms = message->retry_after_ms,
        .outcome = message->outcome,
        .source = message->source,
        .value = message->value,
        .value_type = message->value_type,
        .is_fenced = message->is_fenced,
        .generation = message->generation,
        .age_ms = message->age_ms,
        .ttl_left_ms = message->ttl_left_ms,
        .stale_left_ms = message->stale_left_ms,
        .lease = {.id = message->lease_id,
                  .epoch = message->lease_epoch,
                  .ttl_ms = message->lease_ttl_ms},
    };

    return answer;
}

struct hg_report hgi_reply_report(const struct hgi_msg_report *message)
{
    struct hg_report report = {
        .cache = message->cache,
        .generation = message->generation,
        .dropped = message->dropped,
        .fenced = message->fenced,
        .released = message->released,
    };

    return report;
}

struct hg_loader_info hgi_reply_loader(const struct hgi_msg_loader_info *message)
{
    struct hg_loader_info loader = {
        .name = message->name,
        .plugin = message->plugin,
        .version = message->version,
        .state = message->state,
        .abi = message->abi,
        .pid = message->pid,
        .started_count = message->started_count,
        .deaths = message->deaths,
        .in_flight = message->in_flight,
        .queued = message->queued,
        .message = message->message,
    };

    return loader;
}

static struct hg_cache_info cache_info(const struct hgi_msg_cache_info *message)
{
    struct hg_cache_info cache = {
        .name = message->name,
        .key_type = message->key_type,
        .value_type = message->value_type,
        .loader = message->loader,
        .mode = message->mode,
        .ttl_ms = message->ttl_ms,
        .stale_ttl_ms = message->stale_ttl_ms,
        .negative_ttl_ms = message->negative_ttl_ms,
        .max_entries = message->max_entries,
        .max_bytes = message->max_bytes,
        .entries = message->entries,
        .bytes = message->bytes,
        .generation = message->generation,
        .on_error = message->on_error,
        .jitter_percent = message->jitter_percent,
        .stale_if_error_ms = message->stale_if_error_ms,
        .error_backoff_ms = message->error_backoff_ms,
        .refresh_ahead = message->refresh_ahead,
        .alone = message->is_alone,
    };

    return cache;
}

bool hgi_reply_answers(const struct hgi_msg_batch_reply *message, struct hgi_arena *arena,
                       struct hg_answers *ret_answers)
{
    struct hg_answer *list = hgi_arena_alloc(arena, message->answer_count * sizeof(*list));

    if (!list) {
        return false;
    }
    for (size_t i = 0; i < message->answer_count; i++) {
        list[i] = hgi_reply_answer(&message->answers[i]);
    }
    ret_answers->answers = list;
    ret_answers->count = message->answer_count;
    return true;
}

bool hgi_reply_reports(const struct hgi_msg_clear_reply *message, struct hgi_arena *arena,
                       struct hg_reports *ret_reports)
{
    struct hg_report *list = hgi_arena_alloc(arena, message->report_count * sizeof(*list));

    if (!list) {
        return false;
    }
    for (size_t i = 0; i < message->report_count; i++) {
        list[i] = hgi_reply_report(&message->reports[i]);
    }
    ret_reports->reports = list;
    ret_reports->count = message->report_count;
    return true;
}

bool hgi_reply_caches(const struct hgi_msg_caches *message, struct hgi_arena *arena,
                      struct hg_caches *ret_caches)
{
    struct hg_cache_info *list = hgi_arena_alloc(arena, message->cache_count * sizeof(*list));

    if (!list) {
        return false;
    }
    for (size_t i = 0; i < message->cache_count; i++) {
        list[i] = cache_info(&message->caches[i]);
    }
    ret_caches->caches = list;
    ret_caches->count = message->cache_count;
    return true;
}

static bool counters(const struct hgi_msg_counter *messages, size_t count, struct hgi_arena *arena,
                     const struct hg_counter **ret_list)
{
    struct hg_counter *list = hgi_arena_alloc(arena, count * sizeof(*list));

    if (!list) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        list[i].name = messages[i].name;
        list[i].value = messages[i].value;
    }
    *ret_list = list;
    return true;
}

bool hgi_reply_stats(const struct hgi_msg_stats *message, struct hgi_arena *arena,
                     struct hg_stats *ret_stats)
{
    struct hg_cache_stats *list = hgi_arena_alloc(arena, message->cache_count * sizeof(*list));

    if (!list || !counters(message->server, message->server_count, arena, &ret_stats->server)) {
        return false;
    }
    for (size_t i = 0; i < message->cache_count; i++) {
        const struct hgi_msg_cache_stats *from = &message->caches[i];

        list[i].cache = from->cache;
        list[i].counter_count = from->counter_count;
        if (!counters(from->counters, from->counter_count, arena, &list[i].counters)) {
            return false;
        }
    }
    ret_stats->caches = list;
    ret_stats->cache_count = message->cache_count;
    ret_stats->server_count = message->server_count;
    return true;
}

bool hgi_reply_loaders(const struct hgi_msg_loaders *message, struct hgi_arena *arena,
                       struct hg_loaders *ret_loaders)
{
    struct hg_loader_info *list = hgi_arena_alloc(arena, message->loader_count * sizeof(*list));

    if (!list) {
        return false;
    }
    for (size_t i = 0; i < message->loader_count; i++) {
        list[i] = hgi_reply_loader(&message->loaders[i]);
    }
    ret_loaders->loaders = list;
    ret_loaders->count = message->loader_count;
    return true;
}

struct hg_flight hgi_reply_flight(const struct hgi_msg_flight *message)
{
    struct hg_flight flight = {
        .cache = message->cache,
        .id = message->id,
        .digest = message->digest,
        .leader = message->leader,
        .phase = message->phase,
        .pid = message->pid,
        .age_ms = message->age_ms,
        .left_ms = message->left_ms,
        .followers = message->followers,
        .generation = message->generation,
        .attempt = message->attempt,
        .is_fenced = message->is_fenced,
    };

    return flight;
}

bool hgi_reply_flights(const struct hgi_msg_flights *message, struct hgi_arena *arena,
                       struct hg_flights *ret_flights)
{
    struct hg_flight *list = hgi_arena_alloc(arena, message->flight_count * sizeof(*list));

    if (!list) {
        return false;
    }
    for (size_t i = 0; i < message->flight_count; i++) {
        list[i] = hgi_reply_flight(&message->flights[i]);
    }
    ret_flights->flights = list;
    ret_flights->count = message->flight_count;
    ret_flights->total = message->count;
    return true;
}

static struct hg_entry_info entry_info(const struct hgi_msg_entry_info *message)
{
    struct hg_entry_info entry = {
        .outcome = message->outcome,
        .generation = message->generation,
        .age_ms = message->age_ms,
        .ttl_ms = message->ttl_ms,
        .ttl_left_ms = message->ttl_left_ms,
        .stale_left_ms = message->stale_left_ms,
        .refresh_pause_ms = message->refresh_pause_ms,
    };

    return entry;
}

bool hgi_reply_explanation(const struct hgi_msg_explanation *message, struct hgi_arena *arena,
                           struct hg_explanation *ret_explanation)
{
    struct hg_past_answer *list = hgi_arena_alloc(arena, message->answer_count * sizeof(*list));

    if (!list) {
        return false;
    }
    for (size_t i = 0; i < message->answer_count; i++) {
        const struct hgi_msg_past_answer *from = &message->answers[i];

        list[i].at_ms = from->at_ms;
        list[i].status = from->status;
        list[i].outcome = from->outcome;
        list[i].source = from->source;
        list[i].is_fenced = from->is_fenced;
        list[i].generation = from->generation;
        list[i].age_ms = from->age_ms;
    }
    ret_explanation->rule = message->rule;
    ret_explanation->sentence = message->sentence;
    ret_explanation->digest = message->digest;
    ret_explanation->generation = message->generation;
    ret_explanation->has_entry = message->has_entry;
    ret_explanation->entry = entry_info(&message->entry);
    ret_explanation->has_flight = message->has_flight;
    ret_explanation->flight = hgi_reply_flight(&message->flight);
    ret_explanation->failure_left_ms = message->failure_left_ms;
    ret_explanation->answers = list;
    ret_explanation->answer_count = message->answer_count;
    return true;
}

bool hgi_reply_token_infos(const struct hgi_msg_token_infos *message, struct hgi_arena *arena,
                           struct hg_token_infos *ret_infos)
{
    struct hg_token_info *list = hgi_arena_alloc(arena, message->token_count * sizeof(*list));

    if (!list) {
        return false;
    }
    for (size_t i = 0; i < message->token_count; i++) {
        list[i].id = message->tokens[i].id;
        list[i].principal = message->tokens[i].principal;
        list[i].created_at_ms = message->tokens[i].created_at_ms;
        list[i].expires_at_ms = message->tokens[i].expires_at_ms;
    }
    ret_infos->tokens = list;
    ret_infos->count = message->token_count;
    return true;
}

bool hgi_reply_events(const struct hgi_msg_events *message, struct hgi_arena *arena,
                      struct hg_events *ret_events)
{
    struct hg_event *list = hgi_arena_alloc(arena, message->event_count * sizeof(*list));

    if (!list) {
        return false;
    }
    for (size_t i = 0; i < message->event_count; i++) {
        const struct hgi_msg_event *from = &message->events[i];

        list[i].number = from->number;
        list[i].at_ms = from->at_ms;
        list[i].kind = from->kind;
        list[i].name = from->name;
        list[i].generation = from->generation;
        list[i].key = from->key;
    }
    ret_events->events = list;
    ret_events->count = message->event_count;
    ret_events->epoch = message->epoch;
    ret_events->last = message->last;
    ret_events->is_gap = message->is_gap;
    return true;
}

/* A reply forgets what it pointed at, so that its deinit may come twice. */
#define DEINIT(type)                                                                               \
    void hg_##type##_deinit(struct hg_##type *reply)                                               \
    {                                                                                              \
        hgi_memory_destroy(&reply->memory);                                                        \
        memset(reply, 0, sizeof(*reply));                                                          \
    }

DEINIT(answer)
DEINIT(answers)
DEINIT(report)
DEINIT(reports)
DEINIT(caches)
DEINIT(stats)
DEINIT(loaders)
DEINIT(loader_info)
DEINIT(events)
DEINIT(flight)
DEINIT(flights)
DEINIT(explanation)
DEINIT(issued)
DEINIT(token_infos)
DEINIT(reloaded)
DEINIT(snapshot_info)
DEINIT(verified)
DEINIT(packed)
DEINIT(auth_value)
