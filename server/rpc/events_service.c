/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/check.h"
#include "dispatch.h"
#include "journal.h"
#include "proto/codec.h"
#include "rights.h"
#include "server/cache/veil.h"
#include "service.h"

#define WATCH_DEFAULT_MS 30000 /* for a request without a timeout_ms */
#define WATCH_MAX_MS     120000
#define REPLY_OVERHEAD   1024u /* envelope, epoch, last */

struct watching {
    struct hgi_watch watch;
    struct hgi_rpc *rpc;
    struct hg_slice cache; /* empty: every one; in the call's arena */
    uint64_t after;
    size_t max;
};

void hgi_service_tell(struct hgi_rpc *rpc, enum hg_event_kind kind, const char *name,
                      uint64_t generation, const struct hg_slice *keys, size_t key_count)
{
    const struct hgi_change change = {.kind = kind, .name = name, .generation = generation};

    if (key_count && hgi_veil_is_on(keys[0])) {
        key_count = 0;
    }
    hgi_journal_append(hgi_dispatch_journal(rpc->dispatch), &change, keys, key_count,
                       hgi_clock_now().wall_ms);
}

/* Whether the caller hears of it at all: a token's principal may read some caches and not others,
 * and he may have asked for one. */
static bool is_told(const struct watching *watching, const struct hgi_event *event)
{
    const struct hgi_rpc *rpc = watching->rpc;

    if (watching->cache.len &&
        (event->change.kind == HG_EVENT_LOADER ||
         !hgi_slice_equal(watching->cache, hg_slice_text(event->change.name)))) {
        return false;
    }
    return event->change.kind == HG_EVENT_LOADER
               ? !rpc->bearer.principal ||
                     hgi_rights_cover(rpc, hg_slice_of(NULL, 0), HGI_VERB_ADMIN)
               : hgi_rights_cover(rpc, hg_slice_text(event->change.name), HGI_VERB_READ);
}

/* Keys may be credentials: they are told to those who may write them. Others learn that something
 * in the cache changed. */
static void fill_event(const struct hgi_rpc *rpc, const struct hgi_event *event,
                       struct hgi_msg_event *ret_event)
{
    *ret_event = (struct hgi_msg_event){.number = event->number,
                                        .at_ms = event->at_ms,
                                        .kind = event->change.kind,
                                        .name = hg_slice_text(event->change.name),
                                        .generation = event->change.generation};
    if (event->change.kind == HG_EVENT_LOADER) {
        ret_event->name = event->key;
    } else if (event->key.len &&
               hgi_rights_cover(rpc, hg_slice_text(event->change.name), HGI_VERB_WRITE)) {
        HGI_BUG_ON(!hgi_key_decode(event->key, &ret_event->key));
    }
}

/* False: no memory. */
static bool encode_page(const struct watching *watching, const struct hgi_journal_page *page,
                        struct hgi_arena *arena)
{
    struct hgi_rpc *rpc = watching->rpc;
    struct hgi_msg_events reply = {.epoch = hgi_dispatch_services(rpc->dispatch)->epoch,
                                   .last = page->last,
                                   .is_gap = page->is_gap};

    reply.events = hgi_arena_alloc(arena, page->count * sizeof(*reply.events));
    if (!reply.events) {
        return false;
    }
    for (size_t i = 0; i < page->count; i++) {
        if (is_told(watching, &page->events[i])) {
            fill_event(rpc, &page->events[i], &reply.events[reply.event_count++]);
        }
    }
    return hgi_watch_reply_encode(&reply, &rpc->payload);
}

/* With what there is, be it nothing. */
static void answer(struct watching *watching)
{
    struct hgi_rpc *rpc = watching->rpc;
    size_t message_bytes = hgi_dispatch_services(rpc->dispatch)->limits->message_max_bytes;
    struct hgi_journal_page page;
    struct hgi_arena arena;
    bool is_done;

    message_bytes -= message_bytes > REPLY_OVERHEAD ? REPLY_OVERHEAD : 0;
    /* Of its own: the call's is measured by what was asked, not by what is answered. */
    hgi_arena_init(&arena, hgi_arena_budget(message_bytes));
    is_done = hgi_journal_read(hgi_dispatch_journal(rpc->dispatch), watching->after, watching->max,
                               message_bytes, &arena, &page) &&
              encode_page(watching, &page, &arena);
    hgi_arena_deinit(&arena);
    hgi_rpc_succeed(rpc, is_done);
}

static void refuse_ending(struct hgi_rpc *rpc)
{
    hgi_rpc_fail(rpc, HG_UNAVAILABLE, "the server is ending");
}

static void watch_done(struct hgi_watch *watch, bool is_closed)
{
    struct watching *watching = HGI_CONTAINER(watch, struct watching, watch);

    if (is_closed) {
        refuse_ending(watching->rpc);
    } else {
        answer(watching);
    }
}

static void watch_leave(struct hgi_rpc *rpc)
{
    struct watching *watching = rpc->reading;

    if (hgi_journal_leave(hgi_dispatch_journal(rpc->dispatch), &watching->watch)) {
        hgi_rpc_fail(rpc, HG_CANCELLED, "the caller has gone");
    }
}

/* The answer to who does not know this server: where the journal stands. */
static void answer_position(struct hgi_rpc *rpc, bool is_gap)
{
    struct hgi_msg_events reply = {
        .epoch = hgi_dispatch_services(rpc->dispatch)->epoch,
        .last = hgi_journal_last(hgi_dispatch_journal(rpc->dispatch)),
        .is_gap = is_gap,
    };

    hgi_rpc_succeed(rpc, hgi_watch_reply_encode(&reply, &rpc->payload));
}

static void wait(struct hgi_rpc *rpc, const struct hgi_msg_watch *message)
{
    uint32_t timeout_ms = rpc->request.timeout_ms ? rpc->request.timeout_ms : WATCH_DEFAULT_MS;
    struct watching *watching = hgi_arena_alloc(&rpc->arena, sizeof(*watching));

    if (!watching) {
        hgi_rpc_fail(rpc, HG_RESOURCE_EXHAUSTED, "the request is too large to be worked on");
        return;
    }
    watching->rpc = rpc;
    watching->cache = message->cache;
    watching->after = message->after;
    watching->max =
        message->max && message->max < HGI_WATCH_EVENTS_MAX ? message->max : HGI_WATCH_EVENTS_MAX;
    watching->watch.due_ms =
        rpc->now.boot_ms + (timeout_ms < WATCH_MAX_MS ? timeout_ms : WATCH_MAX_MS);
    watching->watch.done = watch_done;
    rpc->reading = watching;
    rpc->leave = watch_leave;
    switch (
        hgi_journal_watch(hgi_dispatch_journal(rpc->dispatch), message->after, &watching->watch)) {
    case HGI_WATCH_WAITING:
        return;
    case HGI_WATCH_READY:
        answer(watching);
        return;
    case HGI_WATCH_NO_ROOM:
        snprintf(rpc->sentence, sizeof(rpc->sentence),
                 "%u callers wait for events already; no more can", HGI_JOURNAL_WATCHES_MAX);
        hgi_rpc_fail(rpc, HG_RESOURCE_EXHAUSTED, rpc->sentence);
        return;
    case HGI_WATCH_CLOSED:
        refuse_ending(rpc);
        return;
    }
}

void hgi_events_service_watch(struct hgi_rpc *rpc)
{
    uint64_t epoch = hgi_dispatch_services(rpc->dispatch)->epoch;
    struct hgi_msg_watch message;
    enum hg_status status =
        hgi_watch_request_decode(rpc->request.payload, &rpc->arena, &message, rpc->sentence);

    if (status != HG_OK) {
        hgi_rpc_fail(rpc, status, rpc->sentence);
        return;
    }
    if (message.cache.len && !hgi_service_find(rpc, message.cache)) {
        return;
    }
    if (message.epoch != epoch) {
        answer_position(rpc, message.epoch != 0);
    } else {
        wait(rpc, &message);
    }
}
