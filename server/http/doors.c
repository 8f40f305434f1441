/* SPDX-License-Identifier: Apache-2.0 */
#include "doors.h"

#include <sys/socket.h>

#include "base/check.h"

void hgi_http_doors_init(struct hgi_http_doors *doors) HGI_UNCHECKED
{
    hgi_lock_init(&doors->lock);
    hgi_list_init(&doors->all);
}

void hgi_http_doors_deinit(struct hgi_http_doors *doors) HGI_UNCHECKED
{
    HGI_BUG_ON(!hgi_list_is_empty(&doors->all));
    hgi_lock_deinit(&doors->lock);
}

void hgi_http_doors_add(struct hgi_http_doors *doors, struct hgi_http_door *door, int fd)
{
    door->fd = fd;
    hgi_lock_http(&doors->lock);
    hgi_list_push_back(&doors->all, &door->node);
    hgi_unlock_http(&doors->lock);
}

void hgi_http_doors_remove(struct hgi_http_doors *doors, struct hgi_http_door *door)
{
    hgi_lock_http(&doors->lock);
    hgi_list_remove(&door->node);
    hgi_unlock_http(&doors->lock);
}

void hgi_http_door_allow(struct hgi_http_door *door, int64_t ms)
{
    atomic_store_explicit(&door->due_ms, ms ? hgi_clock_now().boot_ms + ms : 0,
                          memory_order_relaxed);
}

/* Shutting a socket ends what its thread waits for there, and that thread closes it. Under the
 * lock, so that the descriptor is still this connection's; it does not block. */
void hgi_http_doors_sweep(struct hgi_http_doors *doors, const struct hgi_now *now)
{
    hgi_lock_http(&doors->lock);
    for (struct hgi_node *node = doors->all.next; node != &doors->all; node = node->next) {
        struct hgi_http_door *door = HGI_CONTAINER(node, struct hgi_http_door, node);
        int64_t due_ms = atomic_load_explicit(&door->due_ms, memory_order_relaxed);

        if (due_ms && now->boot_ms > due_ms &&
            atomic_compare_exchange_strong(&door->due_ms, &due_ms, 0)) {
            atomic_fetch_add(&doors->shut_count, 1);
            (void)shutdown(door->fd, SHUT_RDWR);
        }
    }
    hgi_unlock_http(&doors->lock);
}
