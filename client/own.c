/* SPDX-License-Identifier: Apache-2.0 */
#include "own.h"

#include "base/check.h"
#include "base/clock.h"
#include "client/client.h"
#include "client/error.h"
#include "own_load.h"

#define WORKERS_DEFAULT        4u /* as of a loader section */
#define VALUE_MAX_DEFAULT      (64u << 10)
#define ASYNC_INFLIGHT_DEFAULT 64u
#define CLOSE_DEFAULT_MS       15000u

struct hgi_lock hgi_own_lock = HGI_LOCK_STATIC;
static struct hgi_node owns HGI_GUARDED_BY(plugin) = {&owns, &owns};
static uint64_t own_last HGI_GUARDED_BY(plugin);

struct hgi_own *hgi_own_find(uint64_t number) HGI_REQUIRES(plugin)
{
    for (struct hgi_node *node = owns.next; node != &owns; node = node->next) {
        struct hgi_own *own = HGI_CONTAINER(node, struct hgi_own, node);

        if (own->number == number) {
            return own;
        }
    }
    return NULL;
}

static void destroy_own(struct hgi_own *own)
{
    hgi_lock_plugin(&hgi_own_lock);
    hgi_list_remove(&own->node);
    hgi_map_deinit(&own->by_number);
    hgi_unlock_plugin(&hgi_own_lock);
    hgi_cond_deinit(&own->work);
    hgi_cond_deinit(&own->ended);
    hgi_free(&hgi_heap, own);
}

/* It is found from here on, but begins no load. NULL: no memory, or no number left. */
static struct hgi_own *create_own(const struct hg_open_loader *request)
{
    struct hgi_own *own = hgi_alloc(&hgi_heap, sizeof(*own));
    bool is_done;

    if (!own) {
        return NULL;
    }
    own->value_max_bytes = request->value_max_bytes ? request->value_max_bytes : VALUE_MAX_DEFAULT;
    own->log = request->log;
    own->log_arg = request->log_arg;
    hgi_list_init(&own->queue);
    hgi_lock_plugin(&hgi_own_lock);
    is_done = own_last < HGI_OWN_MAX && hgi_map_init(&own->by_number, &hgi_heap);
    if (is_done) {
        own->number = ++own_last;
        hgi_list_push_back(&owns, &own->node);
    }
    hgi_unlock_plugin(&hgi_own_lock);
    if (!is_done) {
        hgi_free(&hgi_heap, own);
        return NULL;
    }
    hgi_cond_init(&own->work);
    hgi_cond_init(&own->ended);
    return own;
}

static bool start_workers(struct hgi_own *own, uint32_t count)
{
    while (own->worker_count < count) {
        if (!hgi_client_start_thread(&own->workers[own->worker_count], "hg-load", hgi_own_load_work,
                                     own)) {
            return false;
        }
        own->worker_count++;
    }
    return true;
}

/* No load is left. */
static void stop(struct hgi_own *own)
{
    hgi_lock_plugin(&hgi_own_lock);
    own->is_stopping = true;
    hgi_cond_wake_all(&own->work);
    hgi_unlock_plugin(&hgi_own_lock);
    for (uint32_t i = 0; i < own->worker_count; i++) {
        hgi_thread_join(&own->workers[i]);
    }
    own->plugin.loader->close(own->plugin.self);
}

static enum hg_status check_request(const struct hg_open_loader *request, struct hg_error *error)
{
    if (!request->path) {
        return hgi_error_set(error, HG_INVALID_ARGUMENT, "the request names no plugin");
    }
    for (size_t i = 0; i < request->setting_count; i++) {
        if (!request->settings[i].name || !request->settings[i].value) {
            return hgi_error_set(error, HG_INVALID_ARGUMENT, "setting %zu has no name or no value",
                                 i);
        }
    }
    if (request->workers > HG_LOADER_WORKERS_MAX) {
        return hgi_error_set(error, HG_INVALID_ARGUMENT, "%u workers; at most %u are allowed",
                             request->workers, HG_LOADER_WORKERS_MAX);
    }
    return HG_OK;
}

static uint32_t begun_max(const struct hg_loader *loader, uint32_t workers)
{
    if (!(loader->caps & HG_LOADER_ASYNC)) {
        return workers;
    }
    return loader->max_inflight ? loader->max_inflight : ASYNC_INFLIGHT_DEFAULT;
}

enum hg_status hg_client_open_loader(const struct hg_open_loader *request,
                                     struct hg_own_loader **ret_loader, struct hg_error *ret_error)
{
    const struct hgi_plugin_file file = {.path = request->path};
    uint32_t workers = request->workers ? request->workers : WORKERS_DEFAULT;
    enum hg_status status = check_request(request, ret_error);
    struct hgi_own *own;

    if (status != HG_OK) {
        return status;
    }
    own = create_own(request);
    if (!own) {
        return hgi_error_set(ret_error, HG_RESOURCE_EXHAUSTED, "no memory left");
    }
    status = hgi_opened_open(&own->plugin, &file, request->settings, request->setting_count,
                             (struct hg_host *)(uintptr_t)own->number);
    if (status != HG_OK) {
        (void)hgi_error_set(ret_error, status, "%s", own->plugin.sentence);
        destroy_own(own);
        return status;
    }
    own->begun_max = begun_max(own->plugin.loader, workers);
    if (!start_workers(own, workers)) {
        stop(own);
        destroy_own(own);
        return hgi_error_set(ret_error, HG_RESOURCE_EXHAUSTED, "cannot start %u threads", workers);
    }
    hgi_lock_plugin(&hgi_own_lock);
    own->is_open = true;
    hgi_unlock_plugin(&hgi_own_lock);
    *ret_loader = (struct hg_own_loader *)(uintptr_t)own->number;
    return hgi_error_set(ret_error, HG_OK, "%s", "");
}

/* How many loads have not ended when the time is up. */
static size_t await_last(struct hgi_own *own, int64_t until_ms)
{
    size_t left;

    hgi_lock_plugin(&hgi_own_lock);
    own->is_open = false;
    while ((left = own->load_count) > 0) {
        int64_t left_ms = until_ms - hgi_clock_now().boot_ms;

        if (left_ms <= 0) {
            break;
        }
        (void)hgi_cond_wait(&own->ended, &hgi_own_lock, left_ms);
    }
    hgi_unlock_plugin(&hgi_own_lock);
    return left;
}

enum hg_status hg_loader_close(struct hg_own_loader **loader, uint32_t timeout_ms,
                               struct hg_error *ret_error)
{
    int64_t until_ms = hgi_clock_now().boot_ms + (timeout_ms ? timeout_ms : CLOSE_DEFAULT_MS);
    struct hgi_own *own;
    size_t left;

    hgi_lock_plugin(&hgi_own_lock);
    own = hgi_own_find((uint64_t)(uintptr_t)*loader);
    hgi_unlock_plugin(&hgi_own_lock);
    if (own) {
        left = await_last(own, until_ms);
        if (left) {
            return hgi_error_set(ret_error, HG_DEADLINE_EXCEEDED,
                                 "loads that the plugin has not ended: %zu", left);
        }
        stop(own);
        destroy_own(own);
    }
    *loader = NULL;
    return hgi_error_set(ret_error, HG_OK, "%s", "");
}
