/* SPDX-License-Identifier: Apache-2.0 */
/* doors: the connections of a listener, and until when each has to have brought something whole.
 * Owns:     the list; a door's memory is its connection's.
 * Threads:  add and remove from the connection's, sweep from the ticker; a door's time is set by
 *           its connection's thread, without a lock.
 * Limits:   none of its own.
 * Errors:   none.
 * Not here: what a connection brings (listener). The library closes connections on which nothing
 *           moves; one that moves a byte now and then it keeps, and this ends. */
#ifndef HGI_SERVER_HTTP_DOORS_H
#define HGI_SERVER_HTTP_DOORS_H

#include <stdatomic.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/lock.h"

struct hgi_http_door {
    struct hgi_node node;
    int fd;
    _Atomic int64_t due_ms; /* boot time; 0: it has all the time */
};

struct hgi_http_doors {
    struct hgi_lock lock;
    struct hgi_node all HGI_GUARDED_BY(http);
    _Atomic uint64_t shut_count; /* counted first: who sees the end finds it counted */
};

void hgi_http_doors_init(struct hgi_http_doors *doors);
/* None is left. */
void hgi_http_doors_deinit(struct hgi_http_doors *doors);
/* `fd` is open until remove has returned. */
void hgi_http_doors_add(struct hgi_http_doors *doors, struct hgi_http_door *door, int fd);
void hgi_http_doors_remove(struct hgi_http_doors *doors, struct hgi_http_door *door);
/* It has so long from now on; 0: as long as it takes. */
void hgi_http_door_allow(struct hgi_http_door *door, int64_t ms);
/* Shuts those whose time is over, each once. */
void hgi_http_doors_sweep(struct hgi_http_doors *doors, const struct hgi_now *now);

#endif
