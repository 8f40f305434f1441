/* SPDX-License-Identifier: Apache-2.0 */
#include "section.h"

#include <stdio.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"

static const char *name_of(const struct hgi_section *section)
{
    return section->config->name;
}

/* The load leaves its child and its place; its memory is gone after. */
static void forget(struct hgi_pool *pool, struct hgi_section *section, struct hgi_load *load)
{
    if (load->child) {
        load->child->load_count--;
    }
    if (load->is_counted) {
        hgi_admission_give(&pool->admission, &section->seat);
    }
    hgi_inbox_end(pool->inbox, load);
}

void hgi_section_refuse(struct hgi_pool *pool, struct hgi_load *load, enum hg_status status,
                        const char *text, uint32_t retry_after_ms, const struct hgi_now *now)
{
    struct hgi_cache *cache = load->cache;
    uint64_t load_id = load->load_id;
    struct hgi_result result = {.status = status,
                                .message = hg_slice_of(text, strnlen(text, HGI_MESSAGE_MAX)),
                                .retry_after_ms = retry_after_ms};

    hgi_inbox_end(pool->inbox, load);
    hgi_cache_load_done(cache, load_id, &result, now);
}

static void refuse_away(struct hgi_section *section, struct hgi_load *load,
                        const struct hgi_now *now)
{
    int64_t left_ms = section->respawn_ms - now->boot_ms;
    char text[HGI_MESSAGE_MAX];

    snprintf(text, sizeof(text), "loader %.63s: %s%.160s", name_of(section),
             section->has_failed ? "cannot be started: " : "restarting after ", section->message);
    hgi_section_refuse(section->pool, load, HG_UNAVAILABLE, text,
                       left_ms > 0 ? (uint32_t)left_ms : 1, now);
}

static void refuse_queue(struct hgi_section *section, const struct hgi_now *now)
{
    struct hgi_node *node;

    while ((node = hgi_list_pop_front(&section->queue))) {
        section->queued--;
        refuse_away(section, HGI_CONTAINER(node, struct hgi_load, node), now);
    }
}

static void answer_reload(struct hgi_section *section, enum hg_status status, const char *why)
{
    struct hgi_reload *reload = section->reload;
    char sentence[HGI_SUPERVISOR_SENTENCE_MAX] = "";
    struct hgi_loader_state state;

    if (!reload) {
        return;
    }
    section->reload = NULL;
    if (status != HG_OK) {
        snprintf(sentence, sizeof(sentence), "loader %.63s: %.300s%s", name_of(section), why,
                 section->current ? "; the old process goes on" : "");
    }
    hgi_section_state(section, &state);
    reload->done(reload->context, status, sentence, &state);
    hgi_free(&hgi_heap, reload);
}

static void pause_start(struct hgi_section *section, const struct hgi_now *now)
{
    int64_t pause_ms = section->backoff_ms ? section->backoff_ms : HGI_BACKOFF_MIN_MS;

    section->respawn_ms = now->boot_ms + pause_ms;
    section->backoff_ms =
        pause_ms * 2 < HGI_BACKOFF_MAX_MS ? pause_ms * 2 : (int64_t)HGI_BACKOFF_MAX_MS;
    hgi_log(HG_LOG_WARN, "loader %s: next start in %lld ms", name_of(section), (long long)pause_ms);
    refuse_queue(section, now);
}

/* No process came of it. With a current one (reload) that goes on. */
static void fail_start(struct hgi_section *section, const char *why, const struct hgi_now *now)
{
    hgi_log(HG_LOG_ERROR, "loader %s: cannot be started: %s", name_of(section), why);
    snprintf(section->message, sizeof(section->message), "%s", why);
    section->has_failed = true;
    answer_reload(section, HG_FAILED_PRECONDITION, why);
    if (!section->current) {
        pause_start(section, now);
    }
}

static void spawn(struct hgi_section *section, const struct hgi_now *now)
{
    struct hgi_pool *pool = section->pool;
    char sentence[HGI_SUPERVISOR_SENTENCE_MAX] = "";

    section->respawn_ms = 0;
    if (hgi_child_spawn(pool->options, section->config, pool->epoll_fd, now->boot_ms,
                        &section->next, sentence) != HG_OK) {
        fail_start(section, sentence, now);
        return;
    }
    section->started_count++;
    section->next->section = section;
    hgi_list_push_back(&pool->children, &section->next->node);
}

void hgi_section_start(struct hgi_section *section, const struct hgi_now *now)
{
    spawn(section, now);
}

/* A child is needed: at once the first time, then after growing pauses. */
static void respawn(struct hgi_section *section, const struct hgi_now *now)
{
    if (section->pool->is_stopping || section->next) {
        return;
    }
    if (section->backoff_ms == 0) {
        section->backoff_ms = HGI_BACKOFF_MIN_MS;
        hgi_log(HG_LOG_INFO, "loader %s: restarting", name_of(section));
        spawn(section, now);
    } else {
        pause_start(section, now);
    }
}

static void drain(struct hgi_child *child, const struct hgi_now *now)
{
    struct hgi_frame frame = {.kind = HGI_FRAME_DRAIN};

    child->state = HGI_CHILD_DRAINING;
    child->idle_ms = now->boot_ms;
    hgi_child_put(child, &frame);
}

/* The current child gets no more loads. Only one may drain: an older one has had its time. */
static void retire(struct hgi_section *section, const struct hgi_now *now)
{
    struct hgi_child *child = section->current;

    if (!child) {
        return;
    }
    for (struct hgi_node *n = section->pool->children.next; n != &section->pool->children;
         n = n->next) {
        struct hgi_child *other = HGI_CONTAINER(n, struct hgi_child, node);

        if (other->section == section && other->state == HGI_CHILD_DRAINING) {
            hgi_child_kill(other, "it was still draining when the next one had to");
        }
    }
    section->current = NULL;
    drain(child, now);
}

void hgi_section_enqueue(struct hgi_section *section, struct hgi_load *load,
                         const struct hgi_now *now)
{
    if (section->pool->is_stopping) {
        hgi_section_refuse(section->pool, load, HG_CANCELLED, "the server is stopping", 0, now);
    } else if (section->respawn_ms) {
        refuse_away(section, load, now);
    } else {
        hgi_list_push_back(&section->queue, &load->node);
        section->queued++;
    }
}

void hgi_section_cancel(struct hgi_section *section, struct hgi_load *load,
                        const struct hgi_now *now)
{
    struct hgi_frame frame = {.kind = HGI_FRAME_CANCEL, .u.cancel_id = load->wire_id};

    if (load->child) {
        load->cancel_ms = now->boot_ms;
        hgi_child_put(load->child, &frame);
    } else {
        section->queued--;
        hgi_section_refuse(section->pool, load, HG_CANCELLED, "cancelled before it was sent", 0,
                           now);
    }
}

void hgi_section_reload(struct hgi_section *section, struct hgi_reload *reload,
                        const struct hgi_now *now)
{
    struct hgi_reload *running = section->reload;

    section->reload = reload;
    if (section->pool->is_stopping) {
        answer_reload(section, HG_UNAVAILABLE, "the server is stopping");
    } else if (running) {
        answer_reload(section, HG_FAILED_PRECONDITION, "is being reloaded already");
        section->reload = running;
    } else if (!section->next) {
        hgi_log(HG_LOG_INFO, "loader %s: reloading", name_of(section));
        spawn(section, now);
    }
}

bool hgi_section_is_ready(const struct hgi_section *section)
{
    return section->current && section->current->fd >= 0 && !section->current->is_killed &&
           section->current->load_count < section->current->capacity &&
           !hgi_list_is_empty(&section->queue);
}

void hgi_section_send(struct hgi_section *section, const struct hgi_now *now)
{
    struct hgi_child *child = section->current;
    struct hgi_load *load =
        HGI_CONTAINER(hgi_list_pop_front(&section->queue), struct hgi_load, node);
    struct hgi_frame frame = {.kind = HGI_FRAME_LOAD};

    section->queued--;
    load->child = child;
    load->wire_id = ++section->pool->wire_id_last;
    load->sent_ms = now->boot_ms;
    load->is_counted = true;
    hgi_list_push_back(&child->loads, &load->node);
    child->load_count++;
    frame.u.load.id = load->wire_id;
    frame.u.load.cache = hg_slice_text(hgi_cache_name(load->cache));
    frame.u.load.key = hg_slice_of(load->key, load->key_len);
    frame.u.load.value_type = load->value_type;
    frame.u.load.attempt = load->attempt;
    frame.u.load.remaining_ms = (uint32_t)load->timeout_ms;
    hgi_child_put(child, &frame);
    hgi_cache_load_sent(load->cache, load->load_id, now);
}

static void take_ready(struct hgi_child *child, const struct hgi_frame_ready *ready)
{
    struct hgi_section *section = child->section;
    struct hgi_now now = hgi_clock_now();
    bool was_up = section->current != NULL;

    if (ready->status != HG_OK) {
        /* Its own words are the reason, so they go where a killed child's reason is. */
        char text[HGI_CHILD_MESSAGE_MAX];

        snprintf(text, sizeof(text), "%.*s", (int)ready->message.len,
                 ready->message.len ? (const char *)ready->message.data : "");
        hgi_child_kill(child, text);
        return;
    }
    child->state = HGI_CHILD_READY;
    child->ready_ms = now.boot_ms;
    child->capacity = ready->max_inflight < 1                        ? 1
                      : ready->max_inflight > HGI_CHILD_CAPACITY_MAX ? HGI_CHILD_CAPACITY_MAX
                                                                     : ready->max_inflight;
    child->abi = ready->abi;
    snprintf(child->version, sizeof(child->version), "%.*s", (int)ready->version.len,
             ready->version.len ? (const char *)ready->version.data : "");
    section->next = NULL;
    section->has_failed = false;
    section->abi = child->abi;
    snprintf(section->version, sizeof(section->version), "%s", child->version);
    retire(section, &now);
    section->current = child;
    hgi_log(HG_LOG_INFO, "loader %s: process %d runs %s (version %s)%s", name_of(section),
            (int)child->pid, section->config->plugin, child->version,
            was_up ? ", the old one drains" : "");
    answer_reload(section, HG_OK, "");
}

static void take_done(struct hgi_child *child, const struct hgi_frame_done *done)
{
    struct hgi_section *section = child->section;
    struct hgi_now now = hgi_clock_now();
    struct hgi_result result = {.status = done->status,
                                .outcome = done->outcome,
                                .value = done->value,
                                .lifetime = {.ttl_ms = done->ttl_ms,
                                             .stale_ttl_ms = done->stale_ttl_ms,
                                             .expires_at_ms = done->expires_at_ms,
                                             .no_store = done->no_store},
                                .message = done->message};

    for (struct hgi_node *n = child->loads.next; n != &child->loads; n = n->next) {
        struct hgi_load *load = HGI_CONTAINER(n, struct hgi_load, node);

        if (load->wire_id == done->id) {
            struct hgi_cache *cache = load->cache;
            uint64_t load_id = load->load_id;

            forget(section->pool, section, load);
            if (child->load_count == 0) {
                child->idle_ms = now.boot_ms;
            }
            hgi_cache_load_done(cache, load_id, &result, &now);
            return;
        }
    }
    hgi_log(HG_LOG_WARN, "loader %s: process %d answered a load it was not sent; dropped",
            name_of(section), (int)child->pid);
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
        hgi_log(log->level, "loader %s: %.*s", name_of(child->section), (int)log->text.len,
                log->text.len ? (const char *)log->text.data : "");
    } else if (child->log_count == HGI_LOG_LINES_MAX + 1) {
        hgi_log(HG_LOG_WARN, "loader %s: logs too much; the rest of this second is dropped",
                name_of(child->section));
    }
}

static const char *take_frame(struct hgi_child *child, const struct hgi_frame *frame)
{
    const size_t value_max_bytes = child->section->pool->options->value_max_bytes;

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
    case HGI_FRAME_HELLO:
    case HGI_FRAME_LOAD:
    case HGI_FRAME_CANCEL:
    case HGI_FRAME_DRAIN:
        break;
    }
    return "a frame that only the server sends";
}

void hgi_section_read(struct hgi_child *child)
{
    hgi_child_read(child, take_frame);
}

/* Every load it was sent and did not answer is lost: the engine may begin a new one. */
static void lose_loads(struct hgi_child *child, const struct hgi_now *now)
{
    struct hgi_node *node;

    while ((node = child->loads.next) != &child->loads) {
        struct hgi_load *load = HGI_CONTAINER(node, struct hgi_load, node);
        struct hgi_cache *cache = load->cache;
        uint64_t load_id = load->load_id;

        forget(child->section->pool, child->section, load);
        hgi_cache_load_lost(cache, load_id, now);
    }
}

void hgi_section_reap(struct hgi_child *child, const struct hgi_now *now)
{
    struct hgi_section *section = child->section;
    bool was_draining;
    bool is_clean = false;

    /* What it said before it ended counts; it can say no more, so this ends. */
    hgi_section_read(child);
    was_draining = child->state == HGI_CHILD_DRAINING;
    if (!hgi_child_reap(child, &is_clean)) {
        return;
    }
    if (was_draining && is_clean) {
        hgi_log(HG_LOG_INFO, "loader %s: process %d has drained", name_of(section),
                (int)child->pid);
    } else if (section->next != child) {
        section->deaths++;
        hgi_log(section->pool->is_stopping ? HG_LOG_INFO : HG_LOG_ERROR,
                "loader %s: process %d is gone: %s", name_of(section), (int)child->pid,
                child->message);
    }
    if (section->next == child) {
        section->next = NULL;
        if (!section->pool->is_stopping) {
            fail_start(section, child->message, now);
        }
    } else if (section->current == child) {
        section->current = NULL;
        snprintf(section->message, sizeof(section->message), "%s", child->message);
        if (now->boot_ms - child->ready_ms >= HGI_HEALTHY_MS) {
            section->backoff_ms = 0;
        }
        lose_loads(child, now);
        respawn(section, now);
    }
    lose_loads(child, now);
}

void hgi_section_replace(struct hgi_section *section, const char *why, const struct hgi_now *now)
{
    snprintf(section->message, sizeof(section->message), "%s", why);
    retire(section, now);
    if (!section->next) {
        spawn(section, now);
    }
}

void hgi_section_stop(struct hgi_section *section, const struct hgi_now *now)
{
    struct hgi_node *node;

    section->respawn_ms = 0;
    answer_reload(section, HG_UNAVAILABLE, "the server is stopping");
    while ((node = hgi_list_pop_front(&section->queue))) {
        section->queued--;
        hgi_section_refuse(section->pool, HGI_CONTAINER(node, struct hgi_load, node), HG_CANCELLED,
                           "the server is stopping", 0, now);
    }
    if (section->next) {
        hgi_child_kill(section->next, "the server is stopping");
    }
    if (section->current) {
        drain(section->current, now);
        section->current = NULL;
    }
}

static uint64_t count_in_flight(const struct hgi_section *section, bool *ret_is_draining)
{
    uint64_t count = 0;

    for (struct hgi_node *n = section->pool->children.next; n != &section->pool->children;
         n = n->next) {
        const struct hgi_child *child = HGI_CONTAINER(n, struct hgi_child, node);

        if (child->section == section) {
            count += child->load_count;
            *ret_is_draining = *ret_is_draining || child->state == HGI_CHILD_DRAINING;
        }
    }
    return count;
}

void hgi_section_state(const struct hgi_section *section, struct hgi_loader_state *ret_state)
{
    bool is_draining = false;

    memset(ret_state, 0, sizeof(*ret_state));
    ret_state->in_flight = count_in_flight(section, &is_draining);
    snprintf(ret_state->name, sizeof(ret_state->name), "%s", section->config->name);
    snprintf(ret_state->plugin, sizeof(ret_state->plugin), "%s", section->config->plugin);
    snprintf(ret_state->version, sizeof(ret_state->version), "%s", section->version);
    ret_state->state = section->current                            ? "running"
                       : section->pool->is_stopping && is_draining ? "draining"
                       : section->has_failed                       ? "failed"
                                                                   : "restarting";
    ret_state->abi = section->abi;
    ret_state->pid = section->current ? section->current->pid : 0;
    ret_state->started_count = section->started_count;
    ret_state->deaths = section->deaths;
    ret_state->queued = section->queued;
    snprintf(ret_state->message, sizeof(ret_state->message), "%.255s", section->message);
}
