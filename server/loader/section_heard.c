/* SPDX-License-Identifier: Apache-2.0 */
/* What a loader says is no longer so. Each invalidation costs the engine something, so they are
 * carried out one by one only up to a bound; what goes beyond it is one clear now and, if more
 * came, one at the end of the window. None is lost. */
#include "section.h"

#include "base/log.h"

static const struct hgi_frame_invalidate everything = {.what = HG_INVALIDATED_ALL};

static bool tell(struct hgi_section *section, const struct hgi_frame_invalidate *what,
                 const struct hgi_now *now)
{
    const struct hgi_hearer *hearer = &section->pool->hearer;

    return hearer->hear(hearer->context, hgi_section_name(section), what, now);
}

static bool has_hearer(const struct hgi_section *section)
{
    return section->pool->hearer.hear != NULL;
}

/* A key or a user that its caches cannot have is no fault: another loader's caches may. The name of
 * a cache that is not its own is. */
static void tell_one(struct hgi_section *section, const struct hgi_frame_invalidate *what,
                     const struct hgi_now *now)
{
    if (!tell(section, what, now) && what->cache.len && !section->has_misheard) {
        section->has_misheard = true;
        hgi_log(HG_LOG_WARN, "loader %s: may not invalidate cache \"%.*s\", which is not its own",
                hgi_section_name(section), (int)what->cache.len, (const char *)what->cache.data);
    }
}

void hgi_section_begin_hearing(struct hgi_section *section, const struct hgi_now *now)
{
    if (section->owes_all) {
        section->owes_all = false;
        tell_one(section, &everything, now);
    }
}

static void begin_window(struct hgi_section *section, const struct hgi_now *now)
{
    if (now->boot_ms - section->heard_window_ms >= HGI_HEARD_WINDOW_MS) {
        if (has_hearer(section)) {
            hgi_section_begin_hearing(section, now); /* what the last window owes */
        }
        section->heard_window_ms = now->boot_ms;
        section->heard_count = 0;
        section->has_misheard = false;
    }
}

void hgi_section_hear(struct hgi_section *section, const struct hgi_frame_invalidate *what,
                      const struct hgi_now *now)
{
    begin_window(section, now);
    section->heard_count++;
    if (!has_hearer(section)) {
        section->owes_all = true;
    } else if (section->heard_count <= HGI_HEARD_MAX) {
        tell_one(section, what, now);
    } else if (section->heard_count == HGI_HEARD_MAX + 1) {
        hgi_log(HG_LOG_WARN,
                "loader %s: more than %d invalidations in a second; its caches are cleared instead",
                hgi_section_name(section), HGI_HEARD_MAX);
        tell_one(section, &everything, now);
    } else {
        section->owes_all = true;
    }
}

int64_t hgi_section_heard_due_ms(const struct hgi_section *section)
{
    return section->owes_all && has_hearer(section) ? section->heard_window_ms + HGI_HEARD_WINDOW_MS
                                                    : INT64_MAX;
}

void hgi_section_tick_heard(struct hgi_section *section, const struct hgi_now *now)
{
    if (now->boot_ms >= hgi_section_heard_due_ms(section)) {
        hgi_section_begin_hearing(section, now);
    }
}
