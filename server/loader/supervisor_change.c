/* SPDX-License-Identifier: Apache-2.0 */
/* Loaders that change while others serve. What is to change is begun beside what serves; when all
 * of it is open, all of it takes over at once, or none does. */
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "supervisor_inside.h"

static const struct hgi_loader_state no_state = {.state = "failed"};

size_t hgi_supervisor_find(const struct hgi_supervisor *supervisor, size_t count,
                           struct hg_slice name)
{
    size_t i = 0;

    while (i < count && !hgi_slice_equal(hg_slice_text(supervisor->names[i]), name)) {
        i++;
    }
    return i;
}

/* `done` comes from loader-io, or from here. */
static void send_reload(struct hgi_supervisor *supervisor, const struct hgi_reload *reload)
{
    enum hg_status status = hgi_inbox_reload(&supervisor->inbox, reload);

    if (status != HG_OK) {
        reload->done(reload->context, status,
                     status == HG_UNAVAILABLE ? "the server is stopping" : "out of memory",
                     &no_state);
    }
}

void hgi_supervisor_reload(struct hgi_supervisor *supervisor, struct hg_slice loader,
                           void (*done)(void *context, enum hg_status status, const char *sentence,
                                        const struct hgi_loader_state *state),
                           void *context)
{
    size_t count = hgi_supervisor_sections(supervisor);
    const struct hgi_reload reload = {.section = hgi_supervisor_find(supervisor, count, loader),
                                      .done = done,
                                      .context = context};
    char sentence[HGI_SUPERVISOR_SENTENCE_MAX];

    if (reload.section < count) {
        send_reload(supervisor, &reload);
        return;
    }
    snprintf(sentence, sizeof(sentence), "there is no loader \"%.*s\"",
             (int)(loader.len < 64 ? loader.len : 64), loader.len ? (const char *)loader.data : "");
    done(context, HG_NOT_FOUND, sentence, &no_state);
}

/* ---- the thread that changes loaders ---- */

/* How opening what was prepared has ended so far. */
struct opening {
    struct hgi_supervisor *supervisor;
    const struct hgi_loader_config *const *configs;
    size_t count;
    size_t left;           /* under the loader lock, as are the next */
    enum hg_status status; /* of the first that failed */
    char sentence[HGI_SUPERVISOR_SENTENCE_MAX];
};

/* With the place in the file, if it is about one that has any. */
static void put_sentence(struct opening *opening, const char *name, const char *sentence)
{
    const struct hgi_loader_config *config = NULL;

    for (size_t i = 0; i < opening->count; i++) {
        config = strcmp(opening->configs[i]->name, name) == 0 ? opening->configs[i] : config;
    }
    if (config && config->file) {
        snprintf(opening->sentence, sizeof(opening->sentence), "%.200s:%d: %.300s", config->file,
                 config->line, sentence);
    } else {
        snprintf(opening->sentence, sizeof(opening->sentence), "%s", sentence);
    }
}

static void note_opened(void *context, enum hg_status status, const char *sentence,
                        const struct hgi_loader_state *state)
{
    struct opening *opening = context;
    struct hgi_supervisor *s = opening->supervisor;

    hgi_lock_loader(&s->inbox.lock);
    opening->left--;
    if (status != HG_OK && opening->status == HG_OK) {
        opening->status = status;
        put_sentence(opening, state->name, sentence);
    }
    hgi_cond_wake_all(&s->changed);
    hgi_unlock_loader(&s->inbox.lock);
}

/* False: there is no place for another section. */
static bool give_place(struct hgi_supervisor *s, const struct hgi_loader_config *config,
                       size_t *ret_section)
{
    size_t count = hgi_supervisor_sections(s);
    size_t section = hgi_supervisor_find(s, count, hg_slice_text(config->name));

    if (section == count) {
        section += s->newcomer_count;
        if (section == HGI_LOADERS_MAX) {
            return false;
        }
        hgi_supervisor_name_section(s, section, config->name);
        s->newcomer_count++;
    }
    s->prepared[s->prepared_count++] = (struct hgi_prepared){section, config};
    *ret_section = section;
    return true;
}

enum hg_status hgi_supervisor_prepare(struct hgi_supervisor *supervisor,
                                      const struct hgi_loader_config *const *configs, size_t count,
                                      char *ret_sentence)
{
    struct opening opening = {.supervisor = supervisor,
                              .configs = configs,
                              .count = count,
                              .left = count,
                              .status = HG_OK};

    HGI_BUG_ON(supervisor->prepared_count);
    for (size_t i = 0; i < count; i++) {
        struct hgi_reload reload = {.config = configs[i], .done = note_opened, .context = &opening};

        if (give_place(supervisor, configs[i], &reload.section)) {
            send_reload(supervisor, &reload);
        } else {
            note_opened(&opening, HG_RESOURCE_EXHAUSTED, "there is no place for another loader",
                        &no_state);
        }
    }
    hgi_lock_loader(&supervisor->inbox.lock);
    while (opening.left) {
        (void)hgi_cond_wait(&supervisor->changed, &supervisor->inbox.lock, -1);
    }
    hgi_unlock_loader(&supervisor->inbox.lock);
    if (opening.status != HG_OK) {
        snprintf(ret_sentence, HGI_SUPERVISOR_SENTENCE_MAX, "%s", opening.sentence);
        hgi_supervisor_abandon(supervisor);
    }
    return opening.status;
}

static void pronounce(struct hgi_supervisor *s, enum hgi_verdict verdict)
{
    hgi_lock_loader(&s->inbox.lock);
    s->verdict = verdict;
    hgi_unlock_loader(&s->inbox.lock);
    hgi_inbox_wake(&s->inbox);
    hgi_lock_loader(&s->inbox.lock);
    while (s->verdict != HGI_VERDICT_NONE) {
        (void)hgi_cond_wait(&s->changed, &s->inbox.lock, -1);
    }
    hgi_unlock_loader(&s->inbox.lock);
    s->prepared_count = 0;
    s->newcomer_count = 0;
}

void hgi_supervisor_swap(struct hgi_supervisor *supervisor)
{
    pronounce(supervisor, HGI_VERDICT_SWAP);
}

void hgi_supervisor_abandon(struct hgi_supervisor *supervisor)
{
    pronounce(supervisor, HGI_VERDICT_ABANDON);
}

/* ---- loader-io ---- */

void hgi_supervisor_take_reload(struct hgi_supervisor *s, struct hgi_reload *reload,
                                const struct hgi_now *now)
{
    struct hgi_section *section = &s->sections[reload->section];

    if (reload->section >= hgi_supervisor_sections(s)) {
        hgi_section_init_newcomer(section, &s->pool, reload->config);
        if (reload->section >= s->place_count) {
            s->place_count = reload->section + 1;
        }
    }
    hgi_section_reload(section, reload, now);
}

static void swap_in(struct hgi_supervisor *s, const struct hgi_prepared *prepared,
                    const struct hgi_now *now)
{
    struct hgi_section *section = &s->sections[prepared->section];
    struct hgi_loader_state state;

    hgi_section_swap(section, prepared->config, now);
    hgi_section_state(section, &state);
    hgi_lock_loader(&s->inbox.lock);
    s->states[prepared->section] = state;
    hgi_unlock_loader(&s->inbox.lock);
    if (prepared->section >= hgi_supervisor_sections(s)) {
        hgi_admission_add_seat(&s->pool.admission);
        atomic_store_explicit(&s->section_count, prepared->section + 1, memory_order_release);
    }
}

void hgi_supervisor_take_verdict(struct hgi_supervisor *s, const struct hgi_now *now)
{
    enum hgi_verdict verdict;

    hgi_lock_loader(&s->inbox.lock);
    verdict = s->verdict;
    hgi_unlock_loader(&s->inbox.lock);
    if (verdict == HGI_VERDICT_NONE) {
        return;
    }
    for (size_t i = 0; i < s->prepared_count; i++) {
        if (verdict == HGI_VERDICT_SWAP) {
            swap_in(s, &s->prepared[i], now);
        } else {
            hgi_section_abandon(&s->sections[s->prepared[i].section]);
        }
    }
    hgi_lock_loader(&s->inbox.lock);
    s->verdict = HGI_VERDICT_NONE;
    hgi_cond_wake_all(&s->changed);
    hgi_unlock_loader(&s->inbox.lock);
}
