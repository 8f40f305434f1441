/* SPDX-License-Identifier: Apache-2.0 */
/* How a plugin says it is. A bad answer is shown and logged, and never stops loads: the plugin is
 * one witness, the loads themselves are another (breaker). Only a reload waits for a good one. */
#include "section.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"

void hgi_section_ask_health(struct hgi_child *child, const struct hgi_now *now)
{
    struct hgi_frame frame = {.kind = HGI_FRAME_HEALTH};

    child->health_asked_ms = now->boot_ms;
    hgi_child_put(child, &frame);
}

static void note_health(struct hgi_child *child, enum hg_status status, struct hg_slice text)
{
    const char *name = hgi_section_name(child->section);

    if (status == HG_OK && child->health != HG_OK) {
        hgi_log(HG_LOG_INFO, "loader %s: is well again", name);
    } else if (status != HG_OK && child->health == HG_OK) {
        hgi_log(HG_LOG_WARN, "loader %s: is not well: %.*s", name, (int)text.len,
                text.len ? (const char *)text.data : "");
    }
    child->health = status;
    snprintf(child->health_text, sizeof(child->health_text), "%.*s", (int)text.len,
             text.len ? (const char *)text.data : "");
}

/* The end of a self-test: the process that serves gives way only to one that is well. */
static void end_test(struct hgi_child *child, const struct hgi_now *now)
{
    char why[HGI_CHILD_MESSAGE_MAX];

    if (child->health == HG_OK) {
        hgi_section_settle(child, now);
        return;
    }
    snprintf(why, sizeof(why), "its plugin opened but is not well: %s", child->health_text);
    hgi_child_kill(child, why);
}

const char *hgi_section_take_health(struct hgi_child *child, const struct hgi_frame_health *health)
{
    struct hgi_now now = hgi_clock_now();

    if (!child->health_asked_ms) {
        return "a HealthReply nobody asked for";
    }
    child->health_asked_ms = 0;
    child->health_due_ms = now.boot_ms + HGI_HEALTH_MS;
    note_health(child, health->status, health->message);
    if (child->state == HGI_CHILD_TESTING) {
        end_test(child, &now);
    }
    return NULL;
}

void hgi_section_tick_health(struct hgi_child *child, const struct hgi_now *now)
{
    char text[64];

    if (!child->has_health) {
        return;
    }
    if (!child->health_asked_ms) {
        if (now->boot_ms >= child->health_due_ms && !hgi_section_is_overdue(child, now->boot_ms)) {
            hgi_section_ask_health(child, now);
        }
    } else if (child->health == HG_OK &&
               now->boot_ms - child->health_asked_ms >= HGI_HEALTH_LATE_MS) {
        snprintf(text, sizeof(text), "no answer within %d s", HGI_HEALTH_LATE_MS / 1000);
        note_health(child, HG_DEADLINE_EXCEEDED, hg_slice_text(text));
    }
}

int64_t hgi_section_health_due_ms(const struct hgi_child *child, int64_t now_ms)
{
    if (!child->has_health) {
        return INT64_MAX;
    }
    if (child->health_asked_ms) {
        return child->health == HG_OK ? child->health_asked_ms + HGI_HEALTH_LATE_MS : INT64_MAX;
    }
    /* What is due and is held back by a late load is tried again when that ends. */
    return child->health_due_ms <= now_ms && hgi_section_is_overdue(child, now_ms)
               ? INT64_MAX
               : child->health_due_ms;
}
