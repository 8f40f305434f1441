/* SPDX-License-Identifier: Apache-2.0 */
#include "host.h"

#include <stdio.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/thread.h"
#include "health.h"
#include "loaders/contract/invalidation.h"
#include "loaders/contract/service.h"
#include "opening.h"

#define EXIT_NO_MEMORY 70

/* One load. It is freed when it is finished and the plugin's `load` has returned. */
struct item {
    struct hgi_node node;  /* in queue, or among the mates of the first of its call, until begun */
    struct hgi_node mates; /* of the first of its call: the others */
    struct hgi_node all;
    struct hgi_map_node by_handle;
    uint64_t handle;
    uint64_t id; /* the server's */
    enum hg_value_type value_type;
    struct hg_load_request request;
    int64_t until_ms;
    bool is_begun;
    bool is_cancelled;
    bool is_finished;
    bool is_returned;
    size_t bytes_len;
    unsigned char bytes[]; /* cache name, key, old value, etag, traceparent */
};

struct hg_host {
    /* set once */
    struct hgi_opened plugin;
    size_t value_max_bytes;
    uint32_t batch_max; /* loads in one call */
    int wake_fd;
    struct hgi_thread workers[HGI_HOST_WORKERS_MAX];
    uint32_t worker_count;
    struct hgi_health health;

    struct hgi_lock lock;
    struct hgi_cond work;
    /* guarded by the lock */
    struct hgi_node queue HGI_GUARDED_BY(host);
    struct hgi_node items HGI_GUARDED_BY(host);
    struct hgi_map by_handle HGI_GUARDED_BY(host); /* loads not answered yet */
    uint64_t handle_last HGI_GUARDED_BY(host);
    size_t unanswered HGI_GUARDED_BY(host); /* loads whose Done is not in `out` */
    struct hg_bytes out HGI_GUARDED_BY(host);
    bool is_open HGI_GUARDED_BY(host);  /* Ready is on its way */
    bool owes_all HGI_GUARDED_BY(host); /* an Invalidate of everything, not in `out` */
    bool is_stopping HGI_GUARDED_BY(host);
};

/* The plugin has one host a process, and a load's handle alone must lead back to it. */
static struct hg_host *the_host;

static void wake_main(const struct hg_host *host)
{
    const uint64_t one = 1;

    /* Can only fail when the counter is full, and then the main thread is awake. */
    if (write(host->wake_fd, &one, sizeof(one)) < 0) {
        return;
    }
}

static struct item *find_locked(struct hg_host *host, uint64_t handle) HGI_REQUIRES(host)
{
    for (struct hgi_map_node *n = hgi_map_find(&host->by_handle, handle); n;
         n = hgi_map_find_next(n)) {
        struct item *item = HGI_CONTAINER(n, struct item, by_handle);

        if (item->handle == handle) {
            return item;
        }
    }
    return NULL;
}

static void free_if_over_locked(struct item *item) HGI_REQUIRES(host)
{
    if (item->is_finished && item->is_returned) {
        hgi_list_remove(&item->all);
        explicit_bzero(item->bytes, item->bytes_len);
        hgi_free(&hgi_heap, item);
    }
}

/* What is lost with the process is told to the server by its end. */
_Noreturn static void end_without_memory(const char *what)
{
    hgi_log(HG_LOG_ERROR, "loader process %d: out of memory for %s", (int)getpid(), what);
    _exit(EXIT_NO_MEMORY);
}

void hgi_host_log(struct hg_host *host, enum hg_log_level level, const char *text)
{
    struct hgi_frame frame = {.kind = HGI_FRAME_LOG};

    frame.u.log.level = level > HG_LOG_DEBUG ? HG_LOG_DEBUG : level;
    frame.u.log.text = hg_slice_of(text, strnlen(text, HGI_FRAME_MESSAGE_MAX));
    hgi_lock_host(&host->lock);
    if (host->out.len < HGI_HOST_LOG_MAX_BYTES) {
        bool is_lost = !hgi_frame_encode(&frame, HGI_FRAME_CHILD_EXTRA, &host->out);

        (void)is_lost; /* no load depends on it */
    }
    hgi_unlock_host(&host->lock);
    wake_main(host);
}

/* What cannot be told one by one is told as everything, by Ready or when the rest has been taken:
 * none is lost, and a plugin that never stops takes no more memory than this. */
enum hg_status hgi_host_invalidate(struct hg_host *host, const struct hg_invalidation *invalidation)
{
    struct hgi_frame frame = {.kind = HGI_FRAME_INVALIDATE};
    struct hgi_key key;

    if (!hgi_invalidation_check(invalidation, &key, &frame.u.invalidate)) {
        return HG_INVALID_ARGUMENT;
    }
    hgi_lock_host(&host->lock);
    if (!host->is_open || host->owes_all || host->out.len >= HGI_HOST_LOG_MAX_BYTES ||
        !hgi_frame_encode(&frame, HGI_FRAME_CHILD_EXTRA, &host->out)) {
        host->owes_all = true;
    }
    hgi_unlock_host(&host->lock);
    wake_main(host);
    return HG_OK;
}

/* However much waits to be sent: the server does not ask a second time before it has the answer. */
static void tell_health(void *context, enum hg_status status, const char *text)
{
    struct hgi_frame frame = {.kind = HGI_FRAME_HEALTH_REPLY};
    struct hg_host *host = context;
    bool is_encoded;

    frame.u.health.status = status;
    frame.u.health.message = hg_slice_text(text);
    hgi_lock_host(&host->lock);
    is_encoded = hgi_frame_encode(&frame, HGI_FRAME_CHILD_EXTRA, &host->out);
    hgi_unlock_host(&host->lock);
    if (!is_encoded) {
        end_without_memory("how the plugin is");
    }
    wake_main(host);
}

/* Whoever takes a load out of the map answers it; there is no second one. */
static struct item *take_load(struct hg_host *host, const struct hg_load *load)
{
    struct item *item;

    hgi_lock_host(&host->lock);
    item = find_locked(host, hgi_service_number(load));
    if (item) {
        hgi_map_remove(&host->by_handle, &item->by_handle);
    }
    hgi_unlock_host(&host->lock);
    return item;
}

static void finish(struct hg_host *host, struct item *item, struct hgi_answer_draft *draft)
{
    struct hgi_frame frame = {.kind = HGI_FRAME_DONE};
    bool is_encoded;

    draft->has_old_value = item->request.has_old_value;
    hgi_answer_check(draft, item->value_type, host->value_max_bytes, &frame.u.done);
    frame.u.done.id = item->id;
    hgi_lock_host(&host->lock);
    is_encoded = hgi_frame_encode(&frame, hgi_frame_child_max(host->value_max_bytes), &host->out);
    item->is_finished = true;
    host->unanswered--;
    free_if_over_locked(item);
    hgi_unlock_host(&host->lock);
    if (!is_encoded) {
        end_without_memory("an answer");
    }
    wake_main(host);
}

void hgi_host_complete(struct hg_load *load, struct hgi_answer_draft *draft)
{
    struct item *item = take_load(the_host, load);

    if (!item) {
        hgi_host_log(the_host, HG_LOG_WARN, HGI_SERVICE_TWICE);
        return;
    }
    finish(the_host, item, draft);
}

/* One call of the plugin. */
struct batch {
    struct item *items[HGI_PLUGIN_BATCH_MAX];
    struct hg_load *loads[HGI_PLUGIN_BATCH_MAX];
    const struct hg_load_request *requests[HGI_PLUGIN_BATCH_MAX];
    size_t count;
};

/* `first` and its mates, as begun. Those cancelled already are not worth a question: they are moved
 * to `ret_cancelled`. */
static void gather_locked(struct item *first, struct batch *ret_batch, struct batch *ret_cancelled)
    HGI_REQUIRES(host)
{
    struct item *item = first;

    ret_batch->count = 0;
    ret_cancelled->count = 0;
    while (item) {
        struct batch *to = item->is_cancelled ? ret_cancelled : ret_batch;
        struct hgi_node *mate = hgi_list_pop_front(&first->mates);

        item->is_begun = true;
        to->items[to->count] = item;
        to->loads[to->count] = hgi_service_handle(item->handle);
        to->requests[to->count++] = &item->request;
        item = mate ? HGI_CONTAINER(mate, struct item, node) : NULL;
    }
}

static void call_plugin(struct hg_host *host, struct batch *batch)
{
    int64_t now_ms = hgi_clock_now().boot_ms;

    for (size_t i = 0; i < batch->count; i++) {
        int64_t left_ms = batch->items[i]->until_ms - now_ms;

        batch->items[i]->request.remaining_ms = left_ms > 0 ? (uint32_t)left_ms : 0;
    }
    if (batch->count == 1) {
        host->plugin.loader->load(host->plugin.self, batch->loads[0], batch->requests[0]);
    } else if (batch->count > 1) {
        host->plugin.loader->load_batch(host->plugin.self, batch->loads, batch->requests,
                                        batch->count);
    }
}

/* Its call has returned, so no answer can come any more. */
static void end_unanswered(struct hg_host *host, const struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct hgi_answer_draft draft = {
            .kind = HGI_ANSWER_ERROR, .status = HG_INTERNAL, .text = HGI_SERVICE_SILENT};
        struct item *left = take_load(host, batch->loads[i]);

        if (left) {
            finish(host, left, &draft);
        }
    }
}

static void end_cancelled(const struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct hgi_answer_draft draft = {
            .kind = HGI_ANSWER_ERROR, .status = HG_CANCELLED, .text = "cancelled before it began"};

        hgi_host_complete(batch->loads[i], &draft);
    }
}

static void return_locked(const struct batch *batch) HGI_REQUIRES(host)
{
    for (size_t i = 0; i < batch->count; i++) {
        batch->items[i]->is_returned = true;
        free_if_over_locked(batch->items[i]);
    }
}

static void work(void *arg)
{
    struct hg_host *host = arg;
    struct batch batch;
    struct batch cancelled;

    hgi_lock_host(&host->lock);
    for (;;) {
        struct hgi_node *node = hgi_list_pop_front(&host->queue);

        if (node) {
            gather_locked(HGI_CONTAINER(node, struct item, node), &batch, &cancelled);
            hgi_unlock_host(&host->lock);
            end_cancelled(&cancelled);
            call_plugin(host, &batch);
            if (!(host->plugin.loader->caps & HG_LOADER_ASYNC)) {
                end_unanswered(host, &batch);
            }
            hgi_lock_host(&host->lock);
            return_locked(&cancelled);
            return_locked(&batch);
        } else if (host->is_stopping) {
            break;
        } else {
            (void)hgi_cond_wait(&host->work, &host->lock, -1);
        }
    }
    hgi_unlock_host(&host->lock);
}

struct hg_host *hgi_host_create(int wake_fd)
{
    struct hg_host *host = hgi_alloc(&hgi_heap, sizeof(*host));

    if (!host) {
        return NULL;
    }
    host->wake_fd = wake_fd;
    hgi_lock_init(&host->lock);
    hgi_cond_init(&host->work);
    hgi_lock_host(&host->lock);
    hgi_list_init(&host->queue);
    hgi_list_init(&host->items);
    hgi_bytes_init(&host->out, &hgi_heap);
    if (!hgi_map_init(&host->by_handle, &hgi_heap)) {
        hgi_unlock_host(&host->lock);
        hgi_free(&hgi_heap, host);
        return NULL;
    }
    hgi_unlock_host(&host->lock);
    hgi_health_init(&host->health, tell_health, host);
    the_host = host;
    return host;
}

void hgi_host_destroy(struct hg_host **host)
{
    struct hg_host *h = *host;

    if (!h) {
        return;
    }
    hgi_lock_host(&h->lock);
    hgi_map_deinit(&h->by_handle);
    hgi_bytes_deinit(&h->out);
    hgi_unlock_host(&h->lock);
    hgi_health_deinit(&h->health);
    hgi_cond_deinit(&h->work);
    hgi_lock_deinit(&h->lock);
    the_host = NULL;
    hgi_free(&hgi_heap, h);
    *host = NULL;
}

static bool start_workers(struct hg_host *host, uint32_t count)
{
    while (host->worker_count < count) {
        if (!hgi_thread_start(&host->workers[host->worker_count], "load", work, host)) {
            return false;
        }
        host->worker_count++;
    }
    return true;
}

void hgi_host_open(struct hg_host *host, const struct hgi_frame_hello *hello,
                   struct hgi_frame_ready *ret_ready)
{
    uint32_t workers = hello->workers ? hello->workers : 1;

    memset(ret_ready, 0, sizeof(*ret_ready));
    host->value_max_bytes = hello->value_max_bytes;
    workers = workers > HGI_HOST_WORKERS_MAX ? HGI_HOST_WORKERS_MAX : workers;
    ret_ready->status = hgi_opening_open(&host->plugin, hello, host);
    if (host->plugin.loader) {
        host->batch_max = hgi_plugin_batch_max(host->plugin.loader);
    }
    if (ret_ready->status == HG_OK &&
        !(start_workers(host, workers) &&
          hgi_health_start(&host->health, host->plugin.loader, host->plugin.self))) {
        snprintf(host->plugin.sentence, sizeof(host->plugin.sentence), "cannot start %u threads",
                 workers);
        ret_ready->status = HG_RESOURCE_EXHAUSTED;
    }
    hgi_opening_describe(&host->plugin, workers, ret_ready);
    hgi_lock_host(&host->lock);
    host->is_open = true;
    ret_ready->invalidates = host->owes_all;
    host->owes_all = false;
    hgi_unlock_host(&host->lock);
}

static struct hg_slice keep(struct item *item, struct hg_slice bytes)
{
    unsigned char *at = item->bytes + item->bytes_len;

    if (bytes.len) {
        memcpy(at, bytes.data, bytes.len);
        item->bytes_len += bytes.len;
    }
    return hg_slice_of(at, bytes.len);
}

/* *ret_key is the key as it came, in the item's own bytes. */
static struct item *item_create(const struct hgi_frame_load *load, struct hg_slice *ret_key)
{
    size_t bytes_len = load->cache.len + load->key.len + load->old_value.len + load->etag.len +
                       load->traceparent.len;
    struct item *item = hgi_alloc(&hgi_heap, sizeof(*item) + bytes_len);

    if (!item) {
        end_without_memory("a load");
    }
    item->id = load->id;
    item->value_type = load->value_type;
    item->until_ms = hgi_clock_now().boot_ms + load->remaining_ms;
    item->request.size = sizeof(item->request);
    item->request.attempt = load->attempt;
    item->request.cache = keep(item, load->cache);
    *ret_key = keep(item, load->key);
    item->request.has_old_value = load->has_old;
    item->request.old_value = keep(item, load->old_value);
    item->request.etag = keep(item, load->etag);
    item->request.traceparent = keep(item, load->traceparent);
    item->request.value_type = load->value_type;
    hgi_list_init(&item->node);
    hgi_list_init(&item->mates);
    return item;
}

/* From here on it can be cancelled; `first` is what begins its call, NULL: itself. False: its key
 * cannot be read. */
static bool enter_item(struct hg_host *host, struct item *item, struct hg_slice key,
                       struct item *first)
{
    bool is_key = hgi_key_decode(key, &item->request.key);

    item->is_returned = !is_key;
    hgi_lock_host(&host->lock);
    item->handle = ++host->handle_last;
    host->unanswered++;
    hgi_list_push_back(&host->items, &item->all);
    if (is_key) {
        hgi_map_insert(&host->by_handle, &item->by_handle, item->handle);
        if (first) {
            hgi_list_push_back(&first->mates, &item->node);
        }
    }
    hgi_unlock_host(&host->lock);
    return is_key;
}

/* The call is complete: a worker may have it. */
static void queue_call(struct hg_host *host, struct item *first)
{
    hgi_lock_host(&host->lock);
    hgi_list_push_back(&host->queue, &first->node);
    hgi_cond_wake_one(&host->work);
    hgi_unlock_host(&host->lock);
}

void hgi_host_load(struct hg_host *host, const struct hgi_frame_load *loads, size_t count)
{
    struct hgi_answer_draft bad_key = {
        .kind = HGI_ANSWER_ERROR, .status = HG_INTERNAL, .text = "the key is in no known form"};
    struct item *first = NULL;
    size_t in_call = 0;

    for (size_t i = 0; i < count; i++) {
        struct hg_slice key;
        struct item *item = item_create(&loads[i], &key);

        if (!enter_item(host, item, key, first)) {
            finish(host, item, &bad_key);
            continue;
        }
        if (!first) {
            first = item;
        }
        if (++in_call == host->batch_max) {
            queue_call(host, first);
            first = NULL;
            in_call = 0;
        }
    }
    if (first) {
        queue_call(host, first);
    }
}

bool hgi_host_is_cancelled(const struct hg_load *load)
{
    struct item *item;
    bool is_cancelled;

    hgi_lock_host(&the_host->lock);
    item = find_locked(the_host, hgi_service_number(load));
    is_cancelled = !item || item->is_cancelled;
    hgi_unlock_host(&the_host->lock);
    return is_cancelled;
}

void hgi_host_cancel(struct hg_host *host, uint64_t id)
{
    struct hg_load *load = NULL;

    hgi_lock_host(&host->lock);
    for (struct hgi_node *n = host->items.next; n != &host->items; n = n->next) {
        struct item *item = HGI_CONTAINER(n, struct item, all);

        if (item->id == id && !item->is_finished) {
            item->is_cancelled = true;
            load = item->is_begun ? hgi_service_handle(item->handle) : NULL;
            break;
        }
    }
    hgi_unlock_host(&host->lock);
    if (load && host->plugin.loader->cancel) {
        host->plugin.loader->cancel(host->plugin.self, load);
    }
}

bool hgi_host_ask_health(struct hg_host *host)
{
    return hgi_health_ask(&host->health);
}

bool hgi_host_take(struct hg_host *host, struct hg_bytes *ret_bytes)
{
    const struct hgi_frame all = {.kind = HGI_FRAME_INVALIDATE,
                                  .u.invalidate = {.what = HG_INVALIDATED_ALL}};
    bool is_done;

    hgi_lock_host(&host->lock);
    is_done = hgi_bytes_append(ret_bytes, hgi_bytes_slice(&host->out));
    if (is_done) {
        hgi_bytes_consume(&host->out, host->out.len);
    }
    if (is_done && host->is_open && host->owes_all) {
        is_done = hgi_frame_encode(&all, HGI_FRAME_CHILD_EXTRA, ret_bytes);
        host->owes_all = false;
    }
    hgi_unlock_host(&host->lock);
    return is_done;
}

bool hgi_host_is_idle(struct hg_host *host)
{
    bool is_idle;

    hgi_lock_host(&host->lock);
    is_idle = host->unanswered == 0 && host->out.len == 0 && !host->owes_all;
    hgi_unlock_host(&host->lock);
    return is_idle;
}

void hgi_host_stop(struct hg_host *host)
{
    hgi_lock_host(&host->lock);
    host->is_stopping = true;
    hgi_cond_wake_all(&host->work);
    hgi_unlock_host(&host->lock);
    for (uint32_t i = 0; i < host->worker_count; i++) {
        hgi_thread_join(&host->workers[i]);
    }
    hgi_health_stop(&host->health);
    host->plugin.loader->close(host->plugin.self);
}
