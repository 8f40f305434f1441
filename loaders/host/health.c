/* SPDX-License-Identifier: Apache-2.0 */
#include "health.h"

#include <stdio.h>

#include "loaders/contract/answer.h"

static void ask_plugin(struct hgi_health *health)
{
    char text[HGI_ANSWER_TEXT_MAX] = "";
    enum hg_status status = health->loader->health(health->self, text, sizeof(text));

    text[sizeof(text) - 1] = '\0';
    if (status != HG_OK && !hgi_answer_is_error(status)) {
        status = HG_UNKNOWN;
    }
    if (status != HG_OK && text[0] == '\0') {
        snprintf(text, sizeof(text), "plugin %.60s is not well and does not say why",
                 health->loader->name);
    }
    health->reply(health->context, status, text);
}

static void answer_questions(void *arg)
{
    struct hgi_health *health = arg;

    hgi_lock_host(&health->lock);
    while (!health->is_stopping) {
        if (health->is_asked) {
            health->is_asked = false;
            hgi_unlock_host(&health->lock);
            ask_plugin(health);
            hgi_lock_host(&health->lock);
        } else {
            (void)hgi_cond_wait(&health->changed, &health->lock, -1);
        }
    }
    hgi_unlock_host(&health->lock);
}

void hgi_health_init(struct hgi_health *health,
                     void (*reply)(void *context, enum hg_status status, const char *text),
                     void *context)
{
    health->reply = reply;
    health->context = context;
    hgi_lock_init(&health->lock);
    hgi_cond_init(&health->changed);
}

void hgi_health_deinit(struct hgi_health *health)
{
    hgi_cond_deinit(&health->changed);
    hgi_lock_deinit(&health->lock);
}

bool hgi_health_start(struct hgi_health *health, const struct hg_loader *loader, void *self)
{
    health->loader = loader;
    health->self = self;
    return !loader->health || hgi_thread_start(&health->thread, "health", answer_questions, health);
}

bool hgi_health_ask(struct hgi_health *health)
{
    if (!health->thread.is_started) {
        return false;
    }
    hgi_lock_host(&health->lock);
    health->is_asked = true;
    hgi_cond_wake_one(&health->changed);
    hgi_unlock_host(&health->lock);
    return true;
}

void hgi_health_stop(struct hgi_health *health)
{
    hgi_lock_host(&health->lock);
    health->is_stopping = true;
    hgi_cond_wake_one(&health->changed);
    hgi_unlock_host(&health->lock);
    hgi_thread_join(&health->thread);
}
