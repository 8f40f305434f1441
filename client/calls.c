/* SPDX-License-Identifier: Apache-2.0 */
#include "calls.h"

#include "base/check.h"
#include "client/error.h"

#define ID_MAX 0x7fffffffu

static _Thread_local bool is_ending;

bool hgi_calls_init(struct hgi_calls *calls)
{
    hgi_heap_init(&calls->deadlines, &hgi_heap);
    hgi_list_init(&calls->waiting);
    calls->last_id = 0;
    return hgi_map_init(&calls->by_id, &hgi_heap);
}

void hgi_calls_deinit(struct hgi_calls *calls)
{
    hgi_heap_deinit(&calls->deadlines);
    hgi_map_deinit(&calls->by_id);
}

struct hgi_call *hgi_calls_find(const struct hgi_calls *calls, uint32_t id)
{
    struct hgi_map_node *node = hgi_map_find(&calls->by_id, id);

    return node ? HGI_CONTAINER(node, struct hgi_call, node) : NULL;
}

static uint32_t fresh_id(struct hgi_calls *calls)
{
    do {
        calls->last_id = calls->last_id == ID_MAX ? 1 : calls->last_id + 1;
    } while (hgi_calls_find(calls, calls->last_id));
    return calls->last_id;
}

bool hgi_calls_insert(struct hgi_calls *calls, struct hgi_call *call, uint32_t timeout_ms,
                      int64_t due_ms)
{
    hgi_heap_node_init(&call->deadline);
    hgi_list_init(&call->waiting);
    hgi_bytes_init(&call->body, &hgi_heap);
    call->next = NULL;
    call->timeout_ms = timeout_ms;
    call->is_sent = true;
    if (!hgi_heap_insert(&calls->deadlines, &call->deadline, due_ms)) {
        return false;
    }
    call->id = fresh_id(calls);
    hgi_map_insert(&calls->by_id, &call->node, call->id);
    return true;
}

void hgi_calls_wait(struct hgi_calls *calls, struct hgi_call *call, struct hg_bytes *body)
{
    call->is_sent = false;
    call->body = *body;
    hgi_bytes_init(body, &hgi_heap);
    hgi_list_push_back(&calls->waiting, &call->waiting);
}

struct hgi_call *hgi_calls_next_waiting(struct hgi_calls *calls, struct hg_bytes *ret_body)
{
    struct hgi_node *node = hgi_list_pop_front(&calls->waiting);
    struct hgi_call *call;

    if (!node) {
        return NULL;
    }
    call = HGI_CONTAINER(node, struct hgi_call, waiting);
    call->is_sent = true;
    *ret_body = call->body;
    hgi_bytes_init(&call->body, &hgi_heap);
    return call;
}

void hgi_calls_take(struct hgi_calls *calls, struct hgi_call *call)
{
    hgi_map_remove(&calls->by_id, &call->node);
    hgi_heap_remove(&calls->deadlines, &call->deadline);
    hgi_list_remove(&call->waiting);
}

struct hgi_call *hgi_calls_take_all(struct hgi_calls *calls)
{
    return hgi_calls_take_due(calls, INT64_MAX);
}

struct hgi_call *hgi_calls_take_due(struct hgi_calls *calls, int64_t now_ms)
{
    struct hgi_call *first = NULL;
    struct hgi_call **tail = &first;
    struct hgi_heap_node *node;

    while ((node = hgi_heap_first(&calls->deadlines)) && node->when_ms <= now_ms) {
        struct hgi_call *call = HGI_CONTAINER(node, struct hgi_call, deadline);

        hgi_calls_take(calls, call);
        call->next = NULL;
        *tail = call;
        tail = &call->next;
    }
    return first;
}

int64_t hgi_calls_first_due_ms(const struct hgi_calls *calls)
{
    struct hgi_heap_node *node = hgi_heap_first(&calls->deadlines);

    return node ? node->when_ms : INT64_MAX;
}

bool hgi_calls_is_ending(void)
{
    return is_ending;
}

static void end(struct hgi_call *call, struct hg_error *error, struct hg_slice reply)
{
    bool was_ending = is_ending;

    hgi_bytes_deinit(&call->body);
    if (error) {
        error->is_done_unknown = call->mutates && call->is_sent;
    }
    is_ending = true;
    call->end(call, error, reply);
    is_ending = was_ending;
}

void hgi_calls_end_reply(struct hgi_call *call, struct hg_slice reply)
{
    end(call, NULL, reply);
}

/* What a caller who asked for a change has to know besides the error. */
static const char *unknown(const struct hgi_call *call)
{
    return call->mutates ? "; whether it was done is not known" : "";
}

void hgi_calls_end_lost(struct hgi_call *chain, const char *url, const char *why)
{
    while (chain) {
        struct hgi_call *call = chain;
        struct hg_error error;

        chain = call->next;
        if (call->is_sent) {
            (void)hgi_error_set(&error, HG_UNAVAILABLE, "the connection to %s was lost: %s%s", url,
                                why, unknown(call));
        } else {
            (void)hgi_error_set(&error, HG_UNAVAILABLE, "cannot connect to %s: %s", url, why);
        }
        end(call, &error, hg_slice_of(NULL, 0));
    }
}

void hgi_calls_end_late(struct hgi_call *chain, const char *url, const char *why)
{
    while (chain) {
        struct hgi_call *call = chain;
        struct hg_error error;

        chain = call->next;
        if (call->is_sent) {
            (void)hgi_error_set(&error, HG_DEADLINE_EXCEEDED, "no answer within %u ms%s",
                                call->timeout_ms, unknown(call));
        } else if (!url) {
            (void)hgi_error_set(&error, HG_DEADLINE_EXCEEDED,
                                "not sent within %u ms: too many before it are unanswered",
                                call->timeout_ms);
        } else {
            (void)hgi_error_set(&error, HG_DEADLINE_EXCEEDED,
                                "no connection to %s within %u ms%s%s", url, call->timeout_ms,
                                *why ? "; the last one: " : "", why);
        }
        end(call, &error, hg_slice_of(NULL, 0));
    }
}

void hgi_calls_end_closed(struct hgi_call *chain)
{
    while (chain) {
        struct hgi_call *call = chain;
        struct hg_error error;

        chain = call->next;
        (void)hgi_error_set(&error, HG_CANCELLED, "the client was closed%s",
                            call->is_sent ? unknown(call) : "");
        end(call, &error, hg_slice_of(NULL, 0));
    }
}

void hgi_calls_end_unsent(struct hgi_call *call)
{
    struct hg_error error;

    call->is_sent = false;
    (void)hgi_error_set(&error, HG_RESOURCE_EXHAUSTED,
                        "too much is waiting to be sent; the server does not read");
    end(call, &error, hg_slice_of(NULL, 0));
}
