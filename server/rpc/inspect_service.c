/* SPDX-License-Identifier: Apache-2.0 */
/* The methods of Admin that look into a cache: ListFlights, KillFlight, Explain. */
#include <inttypes.h>
#include <stdio.h>

#include "dispatch.h"
#include "proto/codec.h"
#include "recent.h"
#include "server/cache/inspect.h"
#include "service.h"

#define DIGEST_SIZE 17u /* 16 hex digits */
#define PAST_MAX    32u

static uint64_t not_negative(int64_t ms)
{
    return ms > 0 ? (uint64_t)ms : 0;
}

static struct hg_slice digest_text(uint64_t digest, char *ret_text)
{
    snprintf(ret_text, DIGEST_SIZE, "%016" PRIx64, digest);
    return hg_slice_text(ret_text);
}

/* ret_digest: DIGEST_SIZE bytes, which the message borrows. */
static struct hgi_msg_flight flight_message(const struct hgi_cache *cache,
                                            const struct hgi_flight_info *info, char *ret_digest)
{
    return (struct hgi_msg_flight){
        .cache = hg_slice_text(hgi_cache_name(cache)),
        .id = info->id,
        .digest = digest_text(info->digest, ret_digest),
        .leader = hg_slice_text(hgi_leader_name(info->leader)),
        .phase = hg_slice_text(hgi_flight_phase_name(info->phase)),
        .pid = info->holder ? (int64_t)hgi_asker_pid_of_id(info->holder) : info->pid,
        .age_ms = not_negative(info->age_ms),
        .left_ms = info->left_ms < 0 ? -1 : info->left_ms,
        .followers = info->followers,
        .generation = info->generation,
        .attempt = info->attempt,
        .is_fenced = info->is_fenced,
    };
}

/* ---- ListFlights ---- */

/* Room for a list of flights, and the list. */
struct list {
    struct hgi_flight_info *infos;
    char (*digests)[DIGEST_SIZE];
    struct hgi_msg_flights reply;
    size_t max;
};

static void add_flights(struct list *list, struct hgi_cache *cache, const struct hgi_now *now)
{
    size_t at = list->reply.flight_count;
    size_t there = hgi_cache_list_flights(cache, now, list->infos, list->max - at);

    list->reply.count += there;
    for (size_t i = 0; i < there && at < list->max; i++, at++) {
        list->reply.flights[at] = flight_message(cache, &list->infos[i], list->digests[at]);
    }
    list->reply.flight_count = at;
}

static bool encode_flights(struct hgi_rpc *rpc, const struct hgi_registered *only, size_t max)
{
    const struct hgi_registry *registry = hgi_dispatch_services(rpc->dispatch)->registry;
    struct list list = {.max = max};
    bool is_encoded = false;

    list.infos = hgi_alloc(&hgi_heap, max * sizeof(*list.infos));
    list.digests = hgi_alloc(&hgi_heap, max * sizeof(*list.digests));
    list.reply.flights = hgi_alloc(&hgi_heap, max * sizeof(*list.reply.flights));
    if (list.infos && list.digests && list.reply.flights) {
        for (size_t i = 0; i < hgi_registry_count(registry); i++) {
            const struct hgi_registered *registered = hgi_registry_at(registry, i);

            if (!only || only == registered) {
                add_flights(&list, registered->cache, &rpc->now);
            }
        }
        is_encoded = hgi_list_flights_reply_encode(&list.reply, &rpc->payload);
    }
    hgi_free(&hgi_heap, list.reply.flights);
    hgi_free(&hgi_heap, list.digests);
    hgi_free(&hgi_heap, list.infos);
    return is_encoded;
}

void hgi_inspect_service_list_flights(struct hgi_rpc *rpc)
{
    const struct hgi_registered *only = NULL;
    struct hgi_msg_list_flights message;
    enum hg_status status =
        hgi_list_flights_request_decode(rpc->request.payload, &rpc->arena, &message, rpc->sentence);

    if (status != HG_OK) {
        hgi_rpc_fail(rpc, status, rpc->sentence);
        return;
    }
    if (message.cache.len) {
        only = hgi_service_find(rpc, message.cache);
        if (!only) {
            return;
        }
    } else if (!hgi_service_may(rpc, message.cache)) {
        return;
    }
    if (message.max == 0 || message.max > HGI_FLIGHTS_MAX) {
        message.max = HGI_FLIGHTS_MAX;
    }
    hgi_rpc_succeed(rpc, encode_flights(rpc, only, message.max));
}

/* ---- KillFlight ---- */

void hgi_inspect_service_kill_flight(struct hgi_rpc *rpc)
{
    const struct hgi_registered *registered;
    struct hgi_msg_kill_flight message;
    struct hgi_flight_info killed;
    struct hgi_msg_flight reply;
    char digest[DIGEST_SIZE];
    enum hg_status status =
        hgi_kill_flight_request_decode(rpc->request.payload, &rpc->arena, &message, rpc->sentence);

    if (status != HG_OK) {
        hgi_rpc_fail(rpc, status, rpc->sentence);
        return;
    }
    registered = hgi_service_find(rpc, message.cache);
    if (!registered) {
        return;
    }
    if (!hgi_cache_kill_flight(registered->cache, message.id, &rpc->now, &killed)) {
        snprintf(rpc->sentence, sizeof(rpc->sentence),
                 "no flight %" PRIu64 " is under way in cache \"%.100s\"; it may have ended",
                 message.id, hgi_cache_name(registered->cache));
        hgi_rpc_fail(rpc, HG_NOT_FOUND, rpc->sentence);
        return;
    }
    reply = flight_message(registered->cache, &killed, digest);
    if (!hgi_flight_info_encode(&reply, &rpc->payload)) {
        rpc->payload.len = 0; /* killed all the same: the reply says so without what it was */
    }
    hgi_rpc_finish(rpc, HG_OK, hg_slice_of(NULL, 0), 0);
}

/* ---- Explain ---- */

/* What a read does with a stale value. */
static const char *stale_words(enum hg_mode mode, bool has_flight)
{
    switch (mode) {
    case HG_MODE_ALLOW_STALE:
        return "it is served as it is";
    case HG_MODE_DEFAULT:
    case HG_MODE_REVALIDATE:
        return has_flight ? "it is served, and loaded behind already"
                          : "it is served, and loaded behind";
    case HG_MODE_FRESH:
        return has_flight ? "a read waits for the load under way" : "a read loads first";
    case HG_MODE_PEEK:
        return "a read finds nothing";
    }
    return "";
}

static void say_stale(const struct hgi_registered *registered, const struct hgi_explanation *said,
                      char *ret_sentence)
{
    enum hg_mode mode = hgi_cache_policy(registered->cache)->mode;

    snprintf(ret_sentence, HGI_SENTENCE_MAX,
             "%s: age %" PRId64 " ms of ttl %" PRId64 " ms%s, servable for another %" PRId64
             " ms, born at generation %" PRIu64 "; in the cache's mode, %s, %s",
             hgi_rule_name(said->rule), said->age_ms, said->ttl_ms,
             said->rule == HGI_RULE_SOFTENED ? ", but softly invalidated since" : "",
             said->stale_left_ms, said->born, hgi_mode_name(mode),
             stale_words(mode, said->has_flight));
}

static void say_joins(const struct hgi_explanation *said, char *ret_sentence)
{
    const struct hgi_flight_info *flight = &said->flight;

    snprintf(ret_sentence, HGI_SENTENCE_MAX,
             "%s: nothing to serve; a read waits with %" PRIu64 " follower%s for flight %" PRIu64
             ", which %s and is %" PRId64 " ms old",
             hgi_rule_name(said->rule), flight->followers, flight->followers == 1 ? "" : "s",
             flight->id, flight->leader == HGI_LEADER_CALLER ? "a caller leads" : "the loader has",
             flight->age_ms);
}

/* "word: what it means here", in the units of the protocol. */
static void say(const struct hgi_registered *registered, const struct hgi_explanation *said,
                char *ret_sentence)
{
    const char *word = hgi_rule_name(said->rule);

    switch (said->rule) {
    case HGI_RULE_NOTHING:
        snprintf(ret_sentence, HGI_SENTENCE_MAX,
                 "%s: not cached, and no load is under way; a read %s", word,
                 registered->loader ? "begins one" : "finds nothing, as the cache has no loader");
        break;
    case HGI_RULE_FRESH:
        snprintf(ret_sentence, HGI_SENTENCE_MAX,
                 "%s: %s%sage %" PRId64 " ms of ttl %" PRId64 " ms, born at generation %" PRIu64,
                 word, said->outcome == HG_VALUE ? "" : hgi_outcome_name(said->outcome),
                 said->outcome == HG_VALUE ? "" : ", ", said->age_ms, said->ttl_ms, said->born);
        break;
    case HGI_RULE_STALE:
    case HGI_RULE_SOFTENED:
        say_stale(registered, said, ret_sentence);
        break;
    case HGI_RULE_KEPT:
        snprintf(ret_sentence, HGI_SENTENCE_MAX,
                 "%s: age %" PRId64 " ms is too old to serve, but in the place of a load that "
                 "fails; born at generation %" PRIu64,
                 word, said->age_ms, said->born);
        break;
    case HGI_RULE_JOINS:
        say_joins(said, ret_sentence);
        break;
    case HGI_RULE_KEPT_SLOT:
        snprintf(ret_sentence, HGI_SENTENCE_MAX,
                 "%s: answered with what the holder of flight %" PRIu64 "'s lease fulfilled and "
                 "keeps for another %" PRId64 " ms",
                 word, said->flight.id, said->flight.left_ms < 0 ? 0 : said->flight.left_ms);
        break;
    case HGI_RULE_FAILED_LATELY:
        snprintf(ret_sentence, HGI_SENTENCE_MAX,
                 "%s: nothing to serve, and after a failed load none begins for another %" PRId64
                 " ms; a read is told that failure",
                 word, said->failure_left_ms);
        break;
    }
}

static struct hgi_msg_entry_info entry_message(const struct hgi_explanation *said)
{
    return (struct hgi_msg_entry_info){
        .outcome = said->outcome,
        .generation = said->born,
        .age_ms = not_negative(said->age_ms),
        .ttl_left_ms = not_negative(said->ttl_left_ms),
        .stale_left_ms = not_negative(said->stale_left_ms),
        .refresh_pause_ms = not_negative(said->refresh_pause_ms),
        .ttl_ms = not_negative(said->ttl_ms),
    };
}

static void explain(struct hgi_rpc *rpc, const struct hgi_registered *registered,
                    struct hg_slice key)
{
    struct hgi_msg_past_answer answers[PAST_MAX];
    struct hgi_past past[PAST_MAX];
    struct hgi_msg_explanation reply = {.answers = answers};
    struct hgi_explanation said;
    char flight_digest[DIGEST_SIZE];
    char digest[DIGEST_SIZE];

    hgi_cache_explain(registered->cache, key, &rpc->now, &said);
    say(registered, &said, rpc->sentence);
    reply.rule = hg_slice_text(hgi_rule_name(said.rule));
    reply.sentence = hg_slice_text(rpc->sentence);
    reply.digest = digest_text(said.digest, digest);
    reply.generation = said.generation;
    reply.has_entry = said.has_entry;
    if (said.has_entry) {
        reply.entry = entry_message(&said);
    }
    reply.has_flight = said.has_flight;
    if (said.has_flight) {
        reply.flight = flight_message(registered->cache, &said.flight, flight_digest);
    }
    reply.failure_left_ms = not_negative(said.failure_left_ms);
    reply.answer_count = hgi_recent_of(hgi_dispatch_recent(rpc->dispatch), registered->cache,
                                       said.digest, past, PAST_MAX);
    for (size_t i = 0; i < reply.answer_count; i++) {
        answers[i] = (struct hgi_msg_past_answer){
            .at_ms = past[i].at_ms,
            .status = past[i].status,
            .outcome = past[i].outcome,
            .source = past[i].source,
            .is_fenced = past[i].is_fenced,
            .generation = past[i].generation,
            .age_ms = not_negative(past[i].age_ms),
        };
    }
    hgi_rpc_succeed(rpc, hgi_explanation_encode(&reply, &rpc->payload));
}

void hgi_inspect_service_explain(struct hgi_rpc *rpc)
{
    const struct hgi_registered *registered;
    struct hgi_msg_explain message;
    struct hgi_key key;
    enum hg_status status =
        hgi_explain_request_decode(rpc->request.payload, &rpc->arena, &message, rpc->sentence);

    if (status != HG_OK) {
        hgi_rpc_fail(rpc, status, rpc->sentence);
        return;
    }
    registered = hgi_service_find_keyed(rpc, message.cache, &message.key, &key);
    if (!registered) {
        return;
    }
    explain(rpc, registered, hgi_key_slice(&key));
}
