/* SPDX-License-Identifier: Apache-2.0 */
/* What a child says; the rest of a section is in section.c. */
#include "section.h"

#include <stdio.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "proto/value.h"

void hgi_section_promote(struct hgi_child *child, const struct hgi_now *now)
{
    struct hgi_section *section = child->section;
    bool was_up = section->current != NULL;

    child->state = HGI_CHILD_READY;
    child->ready_ms = now->boot_ms;
    child->health_due_ms = now->boot_ms;
    section->next = NULL;
    section->has_failed = false;
    if (section->reload || section->config != child->config) {
        hgi_section_close_breaker(section); /* what it knows is of another plugin */
        section->epoch++;
    }
    section->config = child->config;
    section->pending = NULL;
    child->epoch = section->epoch;
    section->abi = child->abi;
    if (child->invalidates) { /* what was said before it listened, nobody has heard */
        hgi_section_hear(section, &(struct hgi_frame_invalidate){.what = HG_INVALIDATED_ALL}, now);
    }
    snprintf(section->version, sizeof(section->version), "%s", child->version);
    hgi_section_retire(section, now);
    section->current = child;
    hgi_log(HG_LOG_INFO, "loader %s: process %d runs %s (version %s)%s", hgi_section_name(section),
            (int)child->pid, hgi_loader_file(section->config), child->version,
            was_up ? ", the old one drains" : "");
    hgi_section_answer_reload(section, HG_OK, "");
}

void hgi_section_settle(struct hgi_child *child, const struct hgi_now *now)
{
    struct hgi_section *section = child->section;

    if (section->pending) {
        child->state = HGI_CHILD_HELD;
        hgi_section_answer_reload(section, HG_OK, "");
    } else {
        hgi_section_promote(child, now);
    }
}

static void take_ready(struct hgi_child *child, const struct hgi_frame_ready *ready)
{
    struct hgi_section *section = child->section;
    struct hgi_now now = hgi_clock_now();

    if (ready->status != HG_OK) {
        /* Its own words are the reason, so they go where a killed child's reason is. */
        char text[HGI_CHILD_MESSAGE_MAX];

        snprintf(text, sizeof(text), "%.*s", (int)ready->message.len,
                 ready->message.len ? (const char *)ready->message.data : "");
        hgi_child_kill(child, text);
        return;
    }
    child->capacity = ready->max_inflight < 1                        ? 1
                      : ready->max_inflight > HGI_CHILD_CAPACITY_MAX ? HGI_CHILD_CAPACITY_MAX
                                                                     : ready->max_inflight;
    child->abi = ready->abi;
    child->invalidates = ready->invalidates;
    snprintf(child->version, sizeof(child->version), "%.*s", (int)ready->version.len,
             ready->version.len ? (const char *)ready->version.data : "");
    child->has_health = ready->has_health;
    child->is_async = ready->is_async;
    child->wants_old = ready->wants_old;
    child->batch_max = ready->batch_max < 1                     ? 1
                       : ready->batch_max > HGI_CHILD_BATCH_MAX ? HGI_CHILD_BATCH_MAX
                                                                : ready->batch_max;
    if (section->current && child->has_health) {
        child->state = HGI_CHILD_TESTING;
        hgi_section_ask_health(child, &now);
    } else {
        hgi_section_settle(child, &now);
    }
}

/* What a plugin's host sees to: a program has none, and may be wrong about what it gives. */
struct checked {
    struct hgi_value_user user;
    char why[HGI_SENTENCE_MAX];
    char sentence[HGI_MESSAGE_MAX];
};

static void check_value(const struct hgi_child *child, const struct hgi_load *load,
                        struct hgi_result *result, struct checked *ret_checked)
{
    if (!child->section->config->program || result->status != HG_OK || result->is_unchanged) {
        return;
    }
    if (hgi_value_check(load->value_type, result->value,
                        child->section->pool->options->value_max_bytes, &result->outcome,
                        &result->lifetime.expires_at_ms, &ret_checked->user,
                        ret_checked->why) == HG_OK) {
        result->lifetime.user = hg_slice_of(ret_checked->user.bytes, ret_checked->user.len);
        return;
    }
    snprintf(ret_checked->sentence, sizeof(ret_checked->sentence),
             "the loader gave a wrong value: %.200s", ret_checked->why);
    *result =
        (struct hgi_result){.status = HG_INTERNAL, .message = hg_slice_text(ret_checked->sentence)};
}

static void take_done(struct hgi_child *child, const struct hgi_frame_done *done)
{
    struct hgi_section *section = child->section;
    struct hgi_now now = hgi_clock_now();
    struct checked checked;
    struct hgi_result result = {.status = done->status,
                                .outcome = done->outcome,
                                .is_unchanged = done->is_unchanged,
                                .value = done->value,
                                .lifetime = {.ttl_ms = done->ttl_ms,
                                             .stale_ttl_ms = done->stale_ttl_ms,
                                             .expires_at_ms = done->expires_at_ms,
                                             .no_store = done->no_store,
                                             .tags = done->tags,
                                             .tag_count = done->tag_count,
                                             .user = done->user,
                                             .etag = done->etag},
                                .message = done->message,
                                .is_outdated = child->epoch != section->epoch};

    for (struct hgi_node *n = child->loads.next; n != &child->loads; n = n->next) {
        struct hgi_load *load = HGI_CONTAINER(n, struct hgi_load, node);

        if (load->wire_id == done->id) {
            struct hgi_cache *cache = load->cache;
            uint64_t load_id = load->load_id;

            check_value(child, load, &result, &checked);
            hgi_section_judge(section, load, result.status, &now);
            hgi_section_forget(section->pool, section, load);
            if (child->load_count == 0) {
                child->idle_ms = now.boot_ms;
            }
            hgi_cache_load_done(cache, load_id, &result, &now);
            return;
        }
    }
    hgi_log(HG_LOG_WARN, "loader %s: process %d answered a load it was not sent; dropped",
            hgi_section_name(section), (int)child->pid);
}

/* A plugin that logs in a loop must not fill the disk. */
static void take_log(struct hgi_child *child, const struct hgi_frame_log *log)
{
    int64_t now_ms = hgi_clock_now().boot_ms;

    if (now_ms - child->log_window_ms >= HGI_LOG_WINDOW_MS) {
        child->log_window_ms = now_ms;
        child->log_count = 0;
    }
    child->log_count++;
    if (child->log_count <= HGI_LOG_LINES_MAX) {
        hgi_log(log->level, "loader %s: %.*s", hgi_section_name(child->section), (int)log->text.len,
                log->text.len ? (const char *)log->text.data : "");
    } else if (child->log_count == HGI_LOG_LINES_MAX + 1) {
        hgi_log(HG_LOG_WARN, "loader %s: logs too much; the rest of this second is dropped",
                hgi_section_name(child->section));
    }
}

static const char *take_frame(struct hgi_child *child, const struct hgi_frame *frame)
{
    const size_t value_max_bytes = child->section->pool->options->value_max_bytes;
    struct hgi_now now;

    if ((frame->kind == HGI_FRAME_READY) != (child->state == HGI_CHILD_STARTING)) {
        return "a frame before Ready, or a second Ready";
    }
    switch (frame->kind) {
    case HGI_FRAME_READY:
        take_ready(child, &frame->u.ready);
        return NULL;
    case HGI_FRAME_DONE:
        if (frame->u.done.value.len > value_max_bytes) {
            return "a value longer than it may";
        }
        take_done(child, &frame->u.done);
        return NULL;
    case HGI_FRAME_LOG:
        take_log(child, &frame->u.log);
        return NULL;
    case HGI_FRAME_HEALTH_REPLY:
        return hgi_section_take_health(child, &frame->u.health);
    case HGI_FRAME_INVALIDATE:
        /* One that does not serve yet will have everything invalidated when it does. */
        if (child->state != HGI_CHILD_TESTING && child->state != HGI_CHILD_HELD) {
            now = hgi_clock_now();
            hgi_section_hear(child->section, &frame->u.invalidate, &now);
        }
        return NULL;
    case HGI_FRAME_HELLO:
    case HGI_FRAME_LOAD:
    case HGI_FRAME_LOADS:
    case HGI_FRAME_CANCEL:
    case HGI_FRAME_DRAIN:
    case HGI_FRAME_HEALTH:
        break;
    }
    return "a frame that only the server sends";
}

void hgi_section_read(struct hgi_child *child)
{
    hgi_child_read(child, take_frame);
}
