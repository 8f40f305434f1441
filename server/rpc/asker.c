/* SPDX-License-Identifier: Apache-2.0 */
#include "asker.h"

#include <stdatomic.h>

#define PID_BITS 22u /* Linux has no greater ones (PID_MAX_LIMIT) */
#define PID_MASK ((UINT64_C(1) << PID_BITS) - 1)

/* A number of its own and the peer's process, so that who has kept an id can tell whose it was. */
static uint64_t new_id(uint64_t pid)
{
    static _Atomic uint64_t last;
    uint64_t number = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;

    return number << PID_BITS | (pid & PID_MASK);
}

void hgi_asker_init(struct hgi_asker *asker, const struct hgi_peer *peer, hgi_asker_reply_fn reply)
{
    asker->reply = reply;
    asker->peer = *peer;
    asker->id = new_id(peer->pid);
    asker->spare = NULL;
    atomic_init(&asker->held_bytes, 0);
    asker->hold_max_bytes = 0;
    hgi_list_init(&asker->calls);
}

uint64_t hgi_asker_pid_of_id(uint64_t id)
{
    return id & PID_MASK;
}
