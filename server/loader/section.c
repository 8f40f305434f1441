/* SPDX-License-Identifier: Apache-2.0 */
#include "section.h"

#include <stdio.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"

void hgi_section_init(struct hgi_section *section, struct hgi_pool *pool,
                      const struct hgi_loader_config *config)
{
    *section = (struct hgi_section){.pool = pool, .config = config};
    hgi_list_init(&section->queue);
}

void hgi_section_init_newcomer(struct hgi_section *section, struct hgi_pool *pool,
                               const struct hgi_loader_config *config)
{
    struct hgi_child *ending = section->next;

    hgi_section_init(section, pool, config);
    section->next = ending;
    section->is_newcomer = true;
}

void hgi_section_forget(struct hgi_pool *pool, struct hgi_section *section, struct hgi_load *load)
{
    if (load->child) {
        load->child->load_count--;
        if (!hgi_list_is_linked(&load->mates)) {
            load->child->call_count--; /* the last of its call */
        }
        hgi_list_remove(&load->mates);
    }
    if (load->is_counted) {
        hgi_admission_give(&pool->admission, &section->seat);
    }
    hgi_inbox_end(pool->inbox, load);
}

void hgi_section_refuse(struct hgi_section *section, struct hgi_load *load, enum hg_status status,
                        const char *text, uint32_t retry_after_ms, const struct hgi_now *now)
{
    struct hgi_cache *cache = load->cache;
    uint64_t load_id = load->load_id;
    struct hgi_result result = {.status = status,
                                .message = hg_slice_of(text, strnlen(text, HGI_MESSAGE_MAX)),
                                .retry_after_ms = retry_after_ms};

    hgi_section_drop_probe(section, load);
    hgi_inbox_end(section->pool->inbox, load);
    hgi_cache_load_done(cache, load_id, &result, now);
}

static void refuse_away(struct hgi_section *section, struct hgi_load *load,
                        const struct hgi_now *now)
{
    int64_t left_ms = section->respawn_ms - now->boot_ms;
    char text[HGI_MESSAGE_MAX];

    snprintf(text, sizeof(text), "loader %.63s: %s%.160s", hgi_section_name(section),
             section->has_failed ? "cannot be started: " : "restarting after ", section->message);
    hgi_section_refuse(section, load, HG_UNAVAILABLE, text, left_ms > 0 ? (uint32_t)left_ms : 1,
                       now);
}

static void refuse_queue(struct hgi_section *section, const struct hgi_now *now)
{
    struct hgi_node *node;

    while ((node = hgi_list_pop_front(&section->queue))) {
        section->queued--;
        refuse_away(section, HGI_CONTAINER(node, struct hgi_load, node), now);
    }
}

void hgi_section_answer_reload(struct hgi_section *section, enum hg_status status, const char *why)
{
    struct hgi_reload *reload = section->reload;
    char sentence[HGI_SUPERVISOR_SENTENCE_MAX] = "";
    struct hgi_loader_state state;

    if (!reload) {
        return;
    }
    section->reload = NULL;
    if (status != HG_OK) {
        snprintf(sentence, sizeof(sentence), "loader %.63s: %.300s%s", hgi_section_name(section),
                 why, section->current ? "; the old process goes on" : "");
    }
    hgi_section_state(section, &state);
    reload->done(reload->context, status, sentence, &state);
    hgi_free(&hgi_heap, reload);
}

/* Has any process opened the plugin? Without one the server does not start, and says itself why. */
static bool has_opened(const struct hgi_section *section)
{
    return section->abi != 0;
}

static void pause_start(struct hgi_section *section, const struct hgi_now *now)
{
    int64_t pause_ms = section->backoff_ms ? section->backoff_ms : HGI_BACKOFF_MIN_MS;

    section->respawn_ms = now->boot_ms + pause_ms;
    section->backoff_ms =
        pause_ms * 2 < HGI_BACKOFF_MAX_MS ? pause_ms * 2 : (int64_t)HGI_BACKOFF_MAX_MS;
    if (has_opened(section)) {
        hgi_log(HG_LOG_WARN, "loader %s: next start in %lld ms", hgi_section_name(section),
                (long long)pause_ms);
    }
    refuse_queue(section, now);
}

/* No process came of it. With a current one (reload) that goes on. */
static void fail_start(struct hgi_section *section, const char *why, const struct hgi_now *now)
{
    if (has_opened(section)) {
        hgi_log(HG_LOG_ERROR, "loader %s: cannot be started: %s", hgi_section_name(section), why);
    }
    snprintf(section->message, sizeof(section->message), "%s", why);
    section->has_failed = true;
    section->pending = NULL;
    hgi_section_answer_reload(section, HG_FAILED_PRECONDITION, why);
    if (!section->current && !section->is_newcomer) {
        pause_start(section, now);
    }
}

static void spawn(struct hgi_section *section, const struct hgi_now *now)
{
    const struct hgi_loader_config *config = section->pending ? section->pending : section->config;
    struct hgi_pool *pool = section->pool;
    char sentence[HGI_SUPERVISOR_SENTENCE_MAX] = "";

    section->respawn_ms = 0;
    if (hgi_section_stuck_count(section) >= HGI_STUCK_MAX) {
        snprintf(
            sentence, sizeof(sentence),
            "%u of its processes were killed and do not end: they wait in the kernel, as for a "
            "file system that does not answer",
            hgi_section_stuck_count(section));
        fail_start(section, sentence, now);
        return;
    }
    if (hgi_child_spawn(pool->options, config, pool->epoll_fd, now->boot_ms, &section->next,
                        sentence) != HG_OK) {
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
        hgi_log(HG_LOG_INFO, "loader %s: restarting", hgi_section_name(section));
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

void hgi_section_retire(struct hgi_section *section, const struct hgi_now *now)
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
        hgi_section_refuse(section, load, HG_CANCELLED, "the server is stopping", 0, now);
    } else if (!hgi_section_admit(section, load, now)) {
        return;
    } else if (section->respawn_ms) {
        refuse_away(section, load, now);
    } else {
        load->queued_us = section->config->batch_window_us ? hgi_clock_boot_us() : 0;
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
        hgi_section_judge_cancel(section, load, now);
        hgi_child_put(load->child, &frame);
    } else {
        section->queued--;
        hgi_section_refuse(section, load, HG_CANCELLED, "cancelled before it was sent", 0, now);
    }
}

void hgi_section_reload(struct hgi_section *section, struct hgi_reload *reload,
                        const struct hgi_now *now)
{
    struct hgi_reload *running = section->reload;

    section->reload = reload;
    if (section->pool->is_stopping) {
        hgi_section_answer_reload(section, HG_UNAVAILABLE, "the server is stopping");
    } else if (running) {
        hgi_section_answer_reload(section, HG_FAILED_PRECONDITION, "is being reloaded already");
        section->reload = running;
    } else if (!section->next) {
        hgi_log(HG_LOG_INFO, "loader %s: reloading", hgi_section_name(section));
        section->pending = reload->config;
        spawn(section, now);
    } else if (reload->config) { /* begun as it was */
        section->pending = reload->config;
        hgi_child_kill(section->next, "its configuration has changed");
    }
}

void hgi_section_swap(struct hgi_section *section, const struct hgi_loader_config *config,
                      const struct hgi_now *now)
{
    struct hgi_child *next = section->next;

    section->is_newcomer = false;
    if (next && next->state == HGI_CHILD_HELD && !next->is_killed) {
        hgi_section_promote(next, now);
        return;
    }
    section->config = config;
    hgi_section_retire(section, now);
    if (next) {
        section->pending = config;
        hgi_child_kill(next, "its configuration has changed");
    } else {
        respawn(section, now);
    }
}

void hgi_section_abandon(struct hgi_section *section)
{
    if (section->next && section->next->state == HGI_CHILD_HELD) {
        section->pending = NULL;
        section->next->is_abandoned = true;
        hgi_child_kill(section->next, "its configuration is not taken");
    }
}

/* Every load it was sent and did not answer is lost: the engine may begin a new one. */
static void lose_loads(struct hgi_child *child, const struct hgi_now *now)
{
    struct hgi_node *node;

    while ((node = child->loads.next) != &child->loads) {
        struct hgi_load *load = HGI_CONTAINER(node, struct hgi_load, node);
        struct hgi_cache *cache = load->cache;
        uint64_t load_id = load->load_id;

        hgi_section_judge_lost(child->section, load, now);
        hgi_section_forget(child->section->pool, child->section, load);
        hgi_cache_load_lost(cache, load_id, now);
    }
}

/* A self-test protects a process that serves. There is none any more, so whoever is open will do.
 */
static bool use_tested(struct hgi_section *section, const struct hgi_now *now)
{
    if (!section->next || section->next->state != HGI_CHILD_TESTING || section->next->is_killed ||
        section->pending) {
        return false;
    }
    hgi_section_promote(section->next, now);
    return true;
}

/* What is to be started now that `child`, which was, is gone. */
static void lose_next(struct hgi_section *section, const struct hgi_child *child,
                      const struct hgi_now *now)
{
    if (section->pool->is_stopping) {
        return;
    }
    if (section->pending && child->config != section->pending) {
        spawn(section, now); /* it made way for another configuration */
    } else if (!child->is_abandoned) {
        fail_start(section, child->message, now);
    } else if (section->reload || (!section->current && !section->is_newcomer)) {
        spawn(section, now);
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
        hgi_child_unwatch(child, now->boot_ms);
        return;
    }
    if (was_draining && is_clean) {
        hgi_log(HG_LOG_INFO, "loader %s: process %d has drained", hgi_section_name(section),
                (int)child->pid);
    } else if (section->next != child) {
        section->deaths++;
        hgi_log(section->pool->is_stopping ? HG_LOG_INFO : HG_LOG_ERROR,
                "loader %s: process %d is gone: %s", hgi_section_name(section), (int)child->pid,
                child->message);
    }
    hgi_section_part(child, now);
}

void hgi_section_part(struct hgi_child *child, const struct hgi_now *now)
{
    struct hgi_section *section = child->section;

    if (section->next == child) {
        section->next = NULL;
        lose_next(section, child, now);
    } else if (section->current == child) {
        section->current = NULL;
        snprintf(section->message, sizeof(section->message), "%s", child->message);
        if (now->boot_ms - child->ready_ms >= HGI_HEALTHY_MS) {
            section->backoff_ms = 0;
        }
        lose_loads(child, now);
        hgi_section_judge_death(section, now);
        if (!use_tested(section, now)) {
            respawn(section, now);
        }
    }
    lose_loads(child, now);
}

void hgi_section_replace(struct hgi_section *section, const char *why, const struct hgi_now *now)
{
    snprintf(section->message, sizeof(section->message), "%s", why);
    hgi_section_retire(section, now);
    if (!use_tested(section, now) && !section->next) {
        spawn(section, now);
    }
}

void hgi_section_stop(struct hgi_section *section, const struct hgi_now *now)
{
    struct hgi_node *node;

    section->respawn_ms = 0;
    hgi_section_answer_reload(section, HG_UNAVAILABLE, "the server is stopping");
    while ((node = hgi_list_pop_front(&section->queue))) {
        section->queued--;
        hgi_section_refuse(section, HGI_CONTAINER(node, struct hgi_load, node), HG_CANCELLED,
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
    bool is_open = section->breaker.state == HGI_BREAKER_OPEN && !section->pool->is_stopping &&
                   !(section->has_failed && !section->current);
    bool is_unwell = section->current && section->current->health != HG_OK;

    memset(ret_state, 0, sizeof(*ret_state));
    ret_state->in_flight = count_in_flight(section, &is_draining);
    snprintf(ret_state->name, sizeof(ret_state->name), "%s", section->config->name);
    snprintf(ret_state->plugin, sizeof(ret_state->plugin), "%s", hgi_loader_file(section->config));
    snprintf(ret_state->version, sizeof(ret_state->version), "%s", section->version);
    ret_state->state = is_open                                     ? "open"
                       : is_unwell                                 ? "unhealthy"
                       : section->current                          ? "running"
                       : section->pool->is_stopping && is_draining ? "draining"
                       : section->has_failed                       ? "failed"
                                                                   : "restarting";
    ret_state->abi = section->abi;
    ret_state->pid = section->current ? section->current->pid : 0;
    ret_state->started_count = section->started_count;
    ret_state->deaths = section->deaths;
    ret_state->queued = section->queued;
    if (is_open) {
        char why[HGI_BREAKER_SENTENCE_MAX];

        hgi_breaker_sentence(&section->breaker, why);
        snprintf(ret_state->message, sizeof(ret_state->message), "%s", why);
    } else if (is_unwell) {
        snprintf(ret_state->message, sizeof(ret_state->message), "health: %.240s",
                 section->current->health_text);
    } else {
        snprintf(ret_state->message, sizeof(ret_state->message), "%.255s", section->message);
    }
}
