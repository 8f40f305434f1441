/* SPDX-License-Identifier: Apache-2.0 */
#include "share.h"

#include "base/check.h"

void hgi_share_init(struct hgi_share *share, uint32_t connections_max,
                    uint32_t turns_max) HGI_UNCHECKED
{
    atomic_init(&share->open_count, 0);
    atomic_init(&share->ended_count, 0);
    share->connections_max = connections_max;
    share->turns_max = turns_max;
    share->turn_count = 0;
    hgi_list_init(&share->line);
    hgi_lock_init(&share->lock);
}

void hgi_share_deinit(struct hgi_share *share) HGI_UNCHECKED
{
    HGI_BUG_ON(!hgi_list_is_empty(&share->line));
    hgi_lock_deinit(&share->lock);
}

bool hgi_share_book(struct hgi_share *share)
{
    if (atomic_fetch_add(&share->open_count, 1) < share->connections_max) {
        return true;
    }
    atomic_fetch_sub(&share->open_count, 1);
    return false;
}

void hgi_share_unbook(struct hgi_share *share)
{
    atomic_fetch_sub(&share->open_count, 1);
}

void hgi_share_end(struct hgi_share *share)
{
    atomic_fetch_add(&share->ended_count, 1);
}

void hgi_share_unbook_ended(struct hgi_share *share)
{
    atomic_fetch_sub(&share->ended_count, 1);
    hgi_share_unbook(share);
}

uint32_t hgi_share_open_count(const struct hgi_share *share)
{
    return atomic_load(&((struct hgi_share *)(uintptr_t)share)->open_count);
}

bool hgi_share_is_clogged(const struct hgi_share *share)
{
    uint32_t ended = atomic_load(&((struct hgi_share *)(uintptr_t)share)->ended_count);

    return ended >= HGI_SHARE_CLOG || 2 * ended >= share->connections_max;
}

bool hgi_share_begin_turn(struct hgi_share *share, struct hgi_turn *turn)
{
    bool begins;

    if (!share->turns_max) {
        return true;
    }
    hgi_lock_share(&share->lock);
    begins = share->turn_count < share->turns_max;
    if (begins) {
        share->turn_count++;
    } else {
        hgi_list_push_back(&share->line, &turn->node);
    }
    hgi_unlock_share(&share->lock);
    return begins;
}

void hgi_share_end_turn(struct hgi_share *share)
{
    struct hgi_node *next;

    if (!share->turns_max) {
        return;
    }
    hgi_lock_share(&share->lock);
    next = hgi_list_pop_front(&share->line);
    if (!next) {
        share->turn_count--;
    }
    hgi_unlock_share(&share->lock);
    if (next) {
        struct hgi_turn *turn = HGI_CONTAINER(next, struct hgi_turn, node);

        turn->call(turn);
    }
}
