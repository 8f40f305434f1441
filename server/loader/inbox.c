/* SPDX-License-Identifier: Apache-2.0 */
#include "inbox.h"

#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/check.h"

/* What this thread has started between hold and release. Nobody else sees the list; a cancel of a
 * load in it is kept on the load. */
static _Thread_local struct {
    struct hgi_inbox *inbox; /* NULL: nothing is held */
    unsigned depth;
    struct hgi_node loads;
} held;

/* Both numbers are the server's own, so the mixing need not be secret. */
static uint64_t order_hash(const struct hgi_cache *cache, uint64_t load_id)
{
    return ((uint64_t)(uintptr_t)cache >> 4) * 0x9E3779B97F4A7C15u ^ load_id;
}

static struct hgi_load *find_locked(struct hgi_inbox *inbox, const struct hgi_cache *cache,
                                    uint64_t load_id) HGI_REQUIRES(loader)
{
    struct hgi_map_node *node = hgi_map_find(&inbox->by_order, order_hash(cache, load_id));

    for (; node; node = hgi_map_find_next(node)) {
        struct hgi_load *load = HGI_CONTAINER(node, struct hgi_load, by_order);

        if (load->cache == cache && load->load_id == load_id) {
            return load;
        }
    }
    return NULL;
}

bool hgi_inbox_init(struct hgi_inbox *inbox)
{
    bool is_done;

    inbox->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (inbox->wake_fd < 0) {
        return false;
    }
    hgi_lock_init(&inbox->lock);
    hgi_lock_loader(&inbox->lock);
    is_done = hgi_map_init(&inbox->by_order, &hgi_heap);
    hgi_list_init(&inbox->loads);
    hgi_list_init(&inbox->cancels);
    hgi_list_init(&inbox->reloads);
    inbox->refused_count = 0;
    inbox->is_closed = false;
    hgi_unlock_loader(&inbox->lock);
    if (!is_done) {
        hgi_lock_deinit(&inbox->lock);
        close(inbox->wake_fd);
    }
    return is_done;
}

static void free_load(struct hgi_load *load)
{
    explicit_bzero(load->bytes, load->bytes_len);
    hgi_free(&hgi_heap, load);
}

void hgi_inbox_deinit(struct hgi_inbox *inbox)
{
    struct hgi_node *node;

    hgi_lock_loader(&inbox->lock);
    while ((node = hgi_list_pop_front(&inbox->loads))) {
        free_load(HGI_CONTAINER(node, struct hgi_load, node));
    }
    while ((node = hgi_list_pop_front(&inbox->reloads))) {
        hgi_free(&hgi_heap, HGI_CONTAINER(node, struct hgi_reload, node));
    }
    hgi_map_deinit(&inbox->by_order);
    hgi_unlock_loader(&inbox->lock);
    hgi_lock_deinit(&inbox->lock);
    close(inbox->wake_fd);
}

void hgi_inbox_wake(const struct hgi_inbox *inbox)
{
    const uint64_t one = 1;

    /* Can only fail when the counter is full, and then loader-io is awake. */
    if (write(inbox->wake_fd, &one, sizeof(one)) < 0) {
        return;
    }
}

static struct hg_slice keep(struct hgi_load *load, struct hg_slice bytes)
{
    unsigned char *at = load->bytes + load->bytes_len;

    if (bytes.len) {
        memcpy(at, bytes.data, bytes.len);
        load->bytes_len += bytes.len;
    }
    return hg_slice_of(at, bytes.len);
}

/* A copy of the order; nobody else sees it yet. NULL: no memory. */
static struct hgi_load *make_load(size_t section, enum hg_value_type value_type,
                                  const struct hgi_load_order *order)
{
    const struct hgi_old *old = &order->old;
    bool has_old = old->serial != 0;
    size_t old_len = has_old ? old->value.len + old->etag.len : 0;
    struct hgi_load *load = hgi_alloc(&hgi_heap, sizeof(*load) + order->key.len + old_len);

    if (!load) {
        return NULL;
    }
    load->cache = order->cache;
    load->load_id = order->load_id;
    load->section = section;
    load->value_type = value_type;
    load->attempt = order->attempt;
    load->timeout_ms = order->timeout_ms;
    load->slow_ms = order->slow_ms;
    load->key_hash = order->key_hash;
    if (order->trace) {
        load->trace = *order->trace;
    }
    load->key = keep(load, order->key);
    load->has_old = has_old;
    if (has_old) {
        load->old_value = keep(load, old->value);
        load->etag = keep(load, old->etag);
    }
    hgi_list_init(&load->cancel_node);
    hgi_list_init(&load->mates);
    return load;
}

void hgi_inbox_start(struct hgi_inbox *inbox, size_t section, enum hg_value_type value_type,
                     const struct hgi_load_order *order)
{
    struct hgi_load *load = make_load(section, value_type, order);
    bool is_held = load && held.inbox == inbox;

    hgi_lock_loader(&inbox->lock);
    if (load) {
        load->is_held = is_held;
        hgi_list_push_back(is_held ? &held.loads : &inbox->loads, &load->node);
        hgi_map_insert(&inbox->by_order, &load->by_order, order_hash(order->cache, order->load_id));
    } else {
        /* A load that nobody ends would hold its callers for ever. */
        HGI_BUG_ON(inbox->refused_count == HGI_INBOX_REFUSED_MAX);
        inbox->refused[inbox->refused_count++] = (struct hgi_refused){order->cache, order->load_id};
    }
    hgi_unlock_loader(&inbox->lock);
    if (!is_held) {
        hgi_inbox_wake(inbox);
    }
}

void hgi_inbox_hold(struct hgi_inbox *inbox)
{
    if (held.depth++ == 0) {
        held.inbox = inbox;
        hgi_list_init(&held.loads);
    }
}

void hgi_inbox_release(void)
{
    struct hgi_inbox *inbox = held.inbox;
    struct hgi_node *node;

    HGI_BUG_ON(held.depth == 0);
    if (--held.depth > 0) {
        return;
    }
    held.inbox = NULL;
    if (hgi_list_is_empty(&held.loads)) {
        return;
    }
    hgi_lock_loader(&inbox->lock);
    while ((node = hgi_list_pop_front(&held.loads))) {
        struct hgi_load *load = HGI_CONTAINER(node, struct hgi_load, node);

        load->is_held = false;
        hgi_list_push_back(&inbox->loads, &load->node);
        if (load->is_cancelled) {
            hgi_list_push_back(&inbox->cancels, &load->cancel_node);
        }
    }
    hgi_unlock_loader(&inbox->lock);
    hgi_inbox_wake(inbox);
}

void hgi_inbox_cancel(struct hgi_inbox *inbox, const struct hgi_cache *cache, uint64_t load_id)
{
    struct hgi_load *load;

    hgi_lock_loader(&inbox->lock);
    load = find_locked(inbox, cache, load_id);
    if (load && !load->is_cancelled) {
        load->is_cancelled = true;
        if (!load->is_held) {
            hgi_list_push_back(&inbox->cancels, &load->cancel_node);
        }
    }
    hgi_unlock_loader(&inbox->lock);
    hgi_inbox_wake(inbox);
}

enum hg_status hgi_inbox_reload(struct hgi_inbox *inbox, const struct hgi_reload *reload)
{
    struct hgi_reload *copy = hgi_alloc(&hgi_heap, sizeof(*copy));
    bool is_closed;

    if (!copy) {
        return HG_RESOURCE_EXHAUSTED;
    }
    *copy = *reload;
    hgi_lock_loader(&inbox->lock);
    is_closed = inbox->is_closed;
    if (!is_closed) {
        hgi_list_push_back(&inbox->reloads, &copy->node);
    }
    hgi_unlock_loader(&inbox->lock);
    if (is_closed) {
        hgi_free(&hgi_heap, copy);
        return HG_UNAVAILABLE;
    }
    hgi_inbox_wake(inbox);
    return HG_OK;
}

void hgi_inbox_close(struct hgi_inbox *inbox)
{
    hgi_lock_loader(&inbox->lock);
    inbox->is_closed = true;
    hgi_unlock_loader(&inbox->lock);
}

bool hgi_inbox_take(struct hgi_inbox *inbox, struct hgi_mail *ret_mail)
{
    hgi_list_init(&ret_mail->loads);
    hgi_list_init(&ret_mail->cancels);
    hgi_list_init(&ret_mail->reloads);
    hgi_lock_loader(&inbox->lock);
    hgi_list_move_all(&inbox->loads, &ret_mail->loads);
    hgi_list_move_all(&inbox->cancels, &ret_mail->cancels);
    hgi_list_move_all(&inbox->reloads, &ret_mail->reloads);
    ret_mail->refused_count = inbox->refused_count;
    memcpy(ret_mail->refused, inbox->refused, inbox->refused_count * sizeof(inbox->refused[0]));
    inbox->refused_count = 0;
    hgi_unlock_loader(&inbox->lock);
    return ret_mail->refused_count || !hgi_list_is_empty(&ret_mail->loads) ||
           !hgi_list_is_empty(&ret_mail->cancels) || !hgi_list_is_empty(&ret_mail->reloads);
}

void hgi_inbox_end(struct hgi_inbox *inbox, struct hgi_load *load)
{
    hgi_lock_loader(&inbox->lock);
    hgi_map_remove(&inbox->by_order, &load->by_order);
    hgi_list_remove(&load->cancel_node);
    hgi_list_remove(&load->node);
    hgi_unlock_loader(&inbox->lock);
    free_load(load);
}
