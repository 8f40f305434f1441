/* SPDX-License-Identifier: Apache-2.0 */
#include "opening.h"

#include <stdio.h>

#define ASYNC_INFLIGHT_DEFAULT 64u

/* NULL: the budget is out. */
static char *copy_text(struct hg_slice text, struct hgi_arena *arena)
{
    char *copy = hgi_arena_alloc(arena, text.len + 1);

    if (copy && text.len) {
        memcpy(copy, text.data, text.len);
    }
    return copy;
}

/* The settings as C text, for a plugin that may keep none of it. NULL: the budget is out. */
static struct hg_loader_setting *copy_settings(const struct hgi_frame_hello *hello,
                                               struct hgi_arena *arena)
{
    struct hg_loader_setting *copies =
        hgi_arena_alloc(arena, (hello->setting_count + 1) * sizeof(*copies));

    for (size_t i = 0; copies && i < hello->setting_count; i++) {
        copies[i].name = copy_text(hello->settings[i].name, arena);
        copies[i].value = copy_text(hello->settings[i].value, arena);
        if (!copies[i].name || !copies[i].value) {
            return NULL;
        }
    }
    return copies;
}

static enum hg_status open_plugin(struct hgi_opened *plugin, const struct hgi_frame_hello *hello,
                                  struct hg_host *host, struct hgi_arena *arena)
{
    struct hg_loader_setting *settings = copy_settings(hello, arena);
    const struct hgi_plugin_file file = {.path = copy_text(hello->plugin, arena),
                                         .trust = {hello->owners, hello->owner_count},
                                         .pin = copy_text(hello->pin, arena)};

    if (!settings || !file.path || !file.pin) {
        snprintf(plugin->sentence, sizeof(plugin->sentence), "out of memory");
        return HG_RESOURCE_EXHAUSTED;
    }
    return hgi_opened_open(plugin, &file, settings, hello->setting_count, host);
}

enum hg_status hgi_opening_open(struct hgi_opened *plugin, const struct hgi_frame_hello *hello,
                                struct hg_host *host)
{
    enum hg_status status;
    struct hgi_arena arena;

    hgi_arena_init(&arena, 2 * HGI_FRAME_SERVER_MAX);
    status = open_plugin(plugin, hello, host, &arena);
    hgi_arena_deinit(&arena);
    return status;
}

void hgi_opening_describe(const struct hgi_opened *plugin, uint32_t workers,
                          struct hgi_frame_ready *ready)
{
    const struct hg_loader *loader = plugin->loader;

    _Static_assert(HGI_FRAME_MESSAGE_MAX >= HGI_PLUGIN_SENTENCE_MAX, "a plugin's sentence fits");
    if (ready->status != HG_OK) {
        ready->message = hg_slice_text(plugin->sentence);
    }
    if (!loader) {
        return;
    }
    ready->name = hg_slice_text(loader->name);
    ready->version = hg_slice_text(loader->version);
    ready->abi = loader->abi;
    ready->has_health = loader->health != NULL;
    ready->batch_max = hgi_plugin_batch_max(loader);
    ready->is_async = (loader->caps & HG_LOADER_ASYNC) != 0;
    ready->wants_old = (loader->caps & HG_LOADER_REVALIDATE) != 0;
    ready->max_inflight = workers;
    if (ready->is_async) {
        ready->max_inflight = loader->max_inflight ? loader->max_inflight : ASYNC_INFLIGHT_DEFAULT;
    }
}
