/* SPDX-License-Identifier: Apache-2.0 */
#include "own_load.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/kind.h"
#include "base/trace.h"
#include "client/own.h"
#include "loaders/contract/service.h"

_Static_assert(sizeof(uintptr_t) >= sizeof(uint64_t), "a pointer has room for a number");

struct load {
    struct hgi_node node; /* in queue until begun */
    struct hgi_map_node by_number;
    uint64_t number;
    struct hgi_own *own;
    const struct hg_lead *lead;
    int64_t until_ms;
    struct hg_load_request request;
    struct hgi_key key; /* what the request borrows from, with the name and this */
    struct hgi_trace trace;
    struct hgi_cond changed;
    bool is_begun HGI_GUARDED_BY(plugin);
    bool is_cancelled HGI_GUARDED_BY(plugin); /* nobody waits for it */
    bool is_answering HGI_GUARDED_BY(plugin); /* its caller's result is being written */
    bool is_done HGI_GUARDED_BY(plugin);
    bool is_returned HGI_GUARDED_BY(plugin);
    bool is_left HGI_GUARDED_BY(plugin);
    char cache[];
};

static struct load *find_begun(uint64_t number) HGI_REQUIRES(plugin)
{
    struct hgi_own *own = hgi_own_find(number >> HGI_OWN_LOAD_BITS);
    struct hgi_map_node *node = own ? hgi_map_find(&own->by_number, number) : NULL;
    struct load *load = node ? HGI_CONTAINER(node, struct load, by_number) : NULL;

    return load && load->is_begun ? load : NULL;
}

static void free_if_over(struct load *load) HGI_REQUIRES(plugin)
{
    if (load->is_done && load->is_returned && load->is_left) {
        load->own->load_count--;
        hgi_cond_wake_all(&load->own->ended);
        hgi_cond_deinit(&load->changed);
        explicit_bzero(&load->key, sizeof(load->key));
        hgi_free(&hgi_heap, load);
    }
}

/* ---- what the plugin says ---- */

static void say(uint64_t own_number, enum hg_log_level level, const char *text)
{
    struct hgi_own *own;
    hg_loader_log_fn log = NULL;
    void *arg = NULL;

    hgi_lock_plugin(&hgi_own_lock);
    own = hgi_own_find(own_number);
    if (own) {
        log = own->log;
        arg = own->log_arg;
    }
    hgi_unlock_plugin(&hgi_own_lock);
    if (log) {
        log(arg, level > HG_LOG_DEBUG ? HG_LOG_DEBUG : level, text);
    }
}

void hgi_host_log(struct hg_host *host, enum hg_log_level level, const char *text)
{
    say((uint64_t)(uintptr_t)host, level, text);
}

/* The plugin knows its backend, not the caches that this program reads through whatever server. */
enum hg_status hgi_host_invalidate(struct hg_host *host, const struct hg_invalidation *invalidation)
{
    (void)host;
    (void)invalidation;
    return HG_UNIMPLEMENTED;
}

static void give(const struct load *load, struct hgi_answer_draft *draft)
{
    struct hgi_frame_done done;
    struct hg_loaded loaded;

    hgi_answer_check(draft, load->request.value_type, load->own->value_max_bytes, &done);
    loaded = (struct hg_loaded){.status = done.status,
                                .message = done.message,
                                .outcome = done.outcome,
                                .value = done.value,
                                .ttl_ms = (uint64_t)done.ttl_ms,
                                .stale_ttl_ms = (uint64_t)done.stale_ttl_ms,
                                .expires_at_ms = done.expires_at_ms,
                                .tags = done.tags,
                                .tag_count = done.tag_count,
                                .no_store = done.no_store};
    (void)hg_lead_give(load->lead, &loaded); /* which says itself that memory is out */
}

/* Who takes a load out of the map ends it; there is no second one. False: it was ended before. */
static bool end(uint64_t number, struct hgi_answer_draft *draft)
{
    struct load *load;
    bool is_wanted = false;

    hgi_lock_plugin(&hgi_own_lock);
    load = find_begun(number);
    if (load) {
        hgi_map_remove(&load->own->by_number, &load->by_number);
        is_wanted = !load->is_cancelled;
        load->is_answering = is_wanted;
    }
    hgi_unlock_plugin(&hgi_own_lock);
    if (!load) {
        return false;
    }
    if (is_wanted) {
        give(load, draft);
    }
    hgi_lock_plugin(&hgi_own_lock);
    load->is_done = true;
    load->own->begun_count--;
    hgi_cond_wake_one(&load->own->work);
    hgi_cond_wake_one(&load->changed);
    free_if_over(load);
    hgi_unlock_plugin(&hgi_own_lock);
    return true;
}

void hgi_host_complete(struct hg_load *handle, struct hgi_answer_draft *draft)
{
    uint64_t number = hgi_service_number(handle);

    if (!end(number, draft)) {
        say(number >> HGI_OWN_LOAD_BITS, HG_LOG_WARN, HGI_SERVICE_TWICE);
    }
}

bool hgi_host_is_cancelled(const struct hg_load *handle)
{
    struct load *load;
    bool is_cancelled;

    hgi_lock_plugin(&hgi_own_lock);
    load = find_begun(hgi_service_number(handle));
    is_cancelled = !load || load->is_cancelled;
    hgi_unlock_plugin(&hgi_own_lock);
    return is_cancelled;
}

/* ---- the threads that call it ---- */

static void call_plugin(struct load *load)
{
    const struct hgi_opened *plugin = &load->own->plugin;
    int64_t left_ms = load->until_ms - hgi_clock_now().boot_ms;

    load->request.remaining_ms = left_ms > 0 ? (uint32_t)left_ms : 0;
    plugin->loader->load(plugin->self, hgi_service_handle(load->number), &load->request);
    if (!(plugin->loader->caps & HG_LOADER_ASYNC)) {
        struct hgi_answer_draft draft = {
            .kind = HGI_ANSWER_ERROR, .status = HG_INTERNAL, .text = HGI_SERVICE_SILENT};
        bool was_silent = end(load->number, &draft);

        (void)was_silent;
    }
}

void hgi_own_load_work(void *arg)
{
    struct hgi_own *own = arg;

    hgi_lock_plugin(&hgi_own_lock);
    while (!own->is_stopping) {
        struct hgi_node *node =
            own->begun_count < own->begun_max ? hgi_list_pop_front(&own->queue) : NULL;
        struct load *load;

        if (!node) {
            (void)hgi_cond_wait(&own->work, &hgi_own_lock, -1);
            continue;
        }
        load = HGI_CONTAINER(node, struct load, node);
        load->is_begun = true;
        own->begun_count++;
        hgi_unlock_plugin(&hgi_own_lock);
        call_plugin(load);
        hgi_lock_plugin(&hgi_own_lock);
        load->is_returned = true;
        free_if_over(load);
    }
    hgi_unlock_plugin(&hgi_own_lock);
}

/* ---- who waits for a load ---- */

static void fail(const struct hg_lead *lead, enum hg_status status, const char *text)
{
    const struct hg_loaded failure = {.status = status, .message = hg_slice_text(text)};

    (void)hg_lead_give(lead, &failure);
}

static enum hgi_key_type type_of(enum hg_key_kind kind)
{
    switch (kind) {
    case HG_KEY_KEY_HASH:
        return HGI_KEYS_KEY_HASH;
    case HG_KEY_USER_API_KEY:
        return HGI_KEYS_USER_API_KEY;
    case HG_KEY_API_KEY_FEATURE:
        return HGI_KEYS_API_KEY_FEATURE;
    case HG_KEY_BYTES:
        break;
    }
    return HGI_KEYS_BYTES;
}

/* A copy, for the plugin may hold it for longer than the caller waits. NULL: the lead has failed.
 */
static struct load *create_load(const struct hg_lead *lead)
{
    size_t cache_len = strlen(lead->cache);
    struct load *load = hgi_alloc(&hgi_heap, sizeof(*load) + cache_len + 1);
    char sentence[HGI_SENTENCE_MAX];

    if (!load) {
        fail(lead, HG_RESOURCE_EXHAUSTED, "no memory for the load");
        return NULL;
    }
    if (hgi_key_encode(type_of(lead->key.kind), &lead->key, &load->key, sentence) != HG_OK) {
        fail(lead, HG_INVALID_ARGUMENT, sentence);
        hgi_free(&hgi_heap, load);
        return NULL;
    }
    memcpy(load->cache, lead->cache, cache_len);
    load->lead = lead;
    load->until_ms = hgi_clock_now().boot_ms + lead->left_ms;
    load->request = (struct hg_load_request){.size = sizeof(load->request),
                                             .attempt = 1,
                                             .cache = hg_slice_of(load->cache, cache_len),
                                             .value_type = lead->value_type};
    HGI_BUG_ON(!hgi_key_decode(hgi_key_slice(&load->key), &load->request.key));
    if (lead->traceparent && hgi_trace_read(hg_slice_text(lead->traceparent), &load->trace)) {
        load->request.traceparent = hgi_trace_parent(&load->trace);
    }
    hgi_list_init(&load->node);
    hgi_cond_init(&load->changed);
    return load;
}

static bool enter(uint64_t own_number, struct load *load)
{
    struct hgi_own *own;
    bool is_open;

    hgi_lock_plugin(&hgi_own_lock);
    own = hgi_own_find(own_number);
    is_open = own && own->is_open;
    if (is_open) {
        load->own = own;
        own->load_last = (own->load_last + 1) & (((uint64_t)1 << HGI_OWN_LOAD_BITS) - 1);
        load->number = own_number << HGI_OWN_LOAD_BITS | own->load_last;
        hgi_map_insert(&own->by_number, &load->by_number, load->number);
        hgi_list_push_back(&own->queue, &load->node);
        own->load_count++;
        hgi_cond_wake_one(&own->work);
    }
    hgi_unlock_plugin(&hgi_own_lock);
    return is_open;
}

/* False: the time is up, and whatever the plugin says from now on is dropped. */
static bool await(struct load *load, bool *ret_is_begun)
{
    int64_t left_ms;
    bool is_answered;

    hgi_lock_plugin(&hgi_own_lock);
    while (!load->is_done &&
           ((left_ms = load->until_ms - hgi_clock_now().boot_ms) > 0 || load->is_answering)) {
        (void)hgi_cond_wait(&load->changed, &hgi_own_lock, load->is_answering ? -1 : left_ms);
    }
    is_answered = load->is_done;
    *ret_is_begun = load->is_begun;
    if (!is_answered) {
        load->is_cancelled = true;
        if (!load->is_begun) {
            hgi_list_remove(&load->node);
            hgi_map_remove(&load->own->by_number, &load->by_number);
            load->is_done = true;
            load->is_returned = true;
        }
    }
    hgi_unlock_plugin(&hgi_own_lock);
    return is_answered;
}

static void leave(struct load *load)
{
    hgi_lock_plugin(&hgi_own_lock);
    load->is_left = true;
    free_if_over(load);
    hgi_unlock_plugin(&hgi_own_lock);
}

void hg_loader_lead(void *loader, const struct hg_lead *lead)
{
    struct load *load = create_load(lead);
    bool is_begun;

    if (!load) {
        return;
    }
    if (!enter((uint64_t)(uintptr_t)loader, load)) {
        fail(lead, HG_CANCELLED, "the loader has been closed");
        hgi_cond_deinit(&load->changed);
        hgi_free(&hgi_heap, load);
        return;
    }
    if (!await(load, &is_begun)) {
        const struct hgi_opened *plugin = &load->own->plugin;

        fail(lead, HG_DEADLINE_EXCEEDED,
             is_begun ? "the loader did not answer in time"
                      : "the loader was too busy to begin the load in time");
        if (is_begun && plugin->loader->cancel) {
            plugin->loader->cancel(plugin->self, hgi_service_handle(load->number));
        }
    }
    leave(load);
}
