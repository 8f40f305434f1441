/* SPDX-License-Identifier: Apache-2.0 */
/* What time brings to a section; the rest of it is in section.c. */
#include "section.h"

#include "base/check.h"
#include "base/log.h"

/* A child is starting, and has only so long for it. */
static bool is_starting(const struct hgi_section *section)
{
    return section->next && section->next->state != HGI_CHILD_HELD && !section->next->is_killed;
}

void hgi_section_tick(struct hgi_section *section, const struct hgi_now *now)
{
    if (is_starting(section) && now->boot_ms - section->next->begun_ms >= HGI_READY_MS) {
        hgi_child_kill(section->next, section->next->state == HGI_CHILD_TESTING
                                          ? "its plugin did not say within 10 s that it is well"
                                          : "its plugin did not open within 10 s");
    }
    if (section->respawn_ms && now->boot_ms >= section->respawn_ms) {
        hgi_section_start(section, now);
    }
    hgi_section_tick_heard(section, now);
}

static int64_t overdue_at(const struct hgi_load *load)
{
    int64_t end_ms = load->sent_ms + load->timeout_ms;

    return (load->cancel_ms > end_ms ? load->cancel_ms : end_ms) + HGI_OVERDUE_MS;
}

bool hgi_section_is_overdue(const struct hgi_child *child, int64_t now_ms)
{
    for (const struct hgi_node *n = child->loads.next; n != &child->loads; n = n->next) {
        const struct hgi_load *load = HGI_CONTAINER(n, struct hgi_load, node);

        if (now_ms >= load->sent_ms + load->timeout_ms) {
            return true;
        }
    }
    return false;
}

/* A load that does not end when its time is over holds a worker for ever: a new child takes over.
 */
static void tick_current(struct hgi_child *child, const struct hgi_now *now)
{
    struct hgi_section *section = child->section;

    for (struct hgi_node *n = child->loads.next; n != &child->loads; n = n->next) {
        const struct hgi_load *load = HGI_CONTAINER(n, struct hgi_load, node);

        if (load->cancel_ms && now->boot_ms >= overdue_at(load)) {
            const struct hgi_log_subject subject = {
                .cache = hgi_cache_name(load->cache),
                .has_key = true,
                .key_hash = load->key_hash,
                .trace_id = hgi_trace_id(&load->trace),
            };

            hgi_log_about(HG_LOG_WARN, &subject,
                          "loader %s: process %d does not end a load of cache %s; a new one takes "
                          "over",
                          section->config->name, (int)child->pid, hgi_cache_name(load->cache));
            hgi_section_replace(section, "a load that did not end", now);
            return;
        }
    }
}

static void tick_draining(struct hgi_child *child, const struct hgi_now *now)
{
    struct hgi_section *section = child->section;
    bool is_hung = child->load_count > 0;

    for (struct hgi_node *n = child->loads.next; n != &child->loads; n = n->next) {
        struct hgi_load *load = HGI_CONTAINER(n, struct hgi_load, node);

        if (now->boot_ms < overdue_at(load)) {
            is_hung = false;
        } else if (load->is_counted) {
            /* Nothing will come of it, so its place is others' to use. */
            load->is_counted = false;
            hgi_admission_give(&section->pool->admission, &section->seat);
        }
    }
    if (is_hung) {
        hgi_child_kill(child, "its last loads did not end in time");
    } else if (child->load_count == 0 && now->boot_ms - child->idle_ms >= HGI_LINGER_MS) {
        hgi_child_kill(child, "it did not end after its last load");
    }
}

void hgi_section_tick_child(struct hgi_child *child, const struct hgi_now *now)
{
    if (child->ending_ms) {
        hgi_section_tick_ending(child, now);
    } else if (child->state == HGI_CHILD_DRAINING) {
        tick_draining(child, now);
    } else if (child->state == HGI_CHILD_READY) {
        hgi_section_tick_health(child, now);
        tick_current(child, now);
    }
}

static int64_t start_due_ms(const struct hgi_section *section)
{
    if (section->next) {
        return is_starting(section) ? section->next->begun_ms + HGI_READY_MS : INT64_MAX;
    }
    return section->respawn_ms ? section->respawn_ms : INT64_MAX;
}

int64_t hgi_section_due_ms(const struct hgi_section *section)
{
    int64_t start_ms = start_due_ms(section);
    int64_t heard_ms = hgi_section_heard_due_ms(section);

    return start_ms < heard_ms ? start_ms : heard_ms;
}

int64_t hgi_section_child_due_ms(const struct hgi_child *child, int64_t now_ms)
{
    int64_t due_ms = INT64_MAX;
    bool is_draining = child->state == HGI_CHILD_DRAINING;

    if (child->ending_ms) {
        return hgi_section_ending_due_ms(child);
    }
    if (child->state != HGI_CHILD_READY && !is_draining) {
        return INT64_MAX;
    }
    if (is_draining && child->load_count == 0) {
        return child->idle_ms + HGI_LINGER_MS;
    }
    if (!is_draining) {
        due_ms = hgi_section_health_due_ms(child, now_ms);
    }
    for (struct hgi_node *n = child->loads.next; n != &child->loads; n = n->next) {
        const struct hgi_load *load = HGI_CONTAINER(n, struct hgi_load, node);

        if ((is_draining ? load->is_counted : load->cancel_ms != 0) && overdue_at(load) < due_ms) {
            due_ms = overdue_at(load);
        }
    }
    return due_ms;
}
