/* SPDX-License-Identifier: Apache-2.0 */
/* Children that were killed and do not end: a thread of theirs waits in the kernel (state D), as
 * for a disk or a network file system that does not answer, and SIGKILL waits behind it. Nobody
 * waits for them; what they held is others'; and when the kernel lets go they are reaped. One that
 * has ended under a debugger cannot be reaped either, until that lets it go. */
#include "section.h"

#include "base/check.h"
#include "base/log.h"

uint32_t hgi_section_stuck_count(const struct hgi_section *section)
{
    const struct hgi_node *children = &section->pool->children;
    uint32_t count = 0;

    for (const struct hgi_node *n = children->next; n != children; n = n->next) {
        const struct hgi_child *child = HGI_CONTAINER(n, struct hgi_child, node);

        count += child->section == section && child->state == HGI_CHILD_STUCK;
    }
    return count;
}

static void leave(struct hgi_child *child, const struct hgi_now *now)
{
    struct hgi_section *section = child->section;

    hgi_child_leave(child);
    child->look_ms = now->boot_ms + HGI_STUCK_LOOK_MS;
    if (section->next != child) {
        section->deaths++;
    }
    hgi_log(HG_LOG_ERROR,
            "loader %s: process %d was killed and does not end (it waits in the kernel, or for a "
            "debugger); left behind: %s",
            hgi_section_name(section), (int)child->pid, child->message);
    hgi_section_part(child, now);
}

static void look_again(struct hgi_child *child, const struct hgi_now *now)
{
    struct hgi_section *section = child->section;
    bool is_clean;

    child->look_ms = now->boot_ms + HGI_STUCK_LOOK_MS;
    if (!hgi_child_reap(child, &is_clean)) {
        return;
    }
    hgi_log(HG_LOG_INFO, "loader %s: process %d, which did not end, is gone",
            hgi_section_name(section), (int)child->pid);
    /* There was one too many of them to start another; now there is not. */
    if (section->respawn_ms && hgi_section_stuck_count(section) == HGI_STUCK_MAX - 1) {
        hgi_section_start(section, now);
    }
}

void hgi_section_tick_ending(struct hgi_child *child, const struct hgi_now *now)
{
    if (now->boot_ms < hgi_section_ending_due_ms(child)) {
        return;
    }
    if (child->state == HGI_CHILD_STUCK) {
        look_again(child, now);
    } else {
        leave(child, now);
    }
}

int64_t hgi_section_ending_due_ms(const struct hgi_child *child)
{
    return child->state == HGI_CHILD_STUCK ? child->look_ms : child->ending_ms + HGI_ENDING_MS;
}
