/* SPDX-License-Identifier: Apache-2.0 */
/* share: what some listeners have between them and nobody else can take: places for connections,
 * and turns on nng's threads.
 * Owns:     the line of those who wait for a turn.
 * Threads:  any; one lock.
 * Limits:   connections_max; turns_max turns at a time, beyond which the next wait in line.
 * Errors:   none.
 * Not here: what is done in a turn (conn), who is turned away (listener).
 *
 * All listeners of the process run on nng's few threads, and nng runs what comes first. A share
 * that may hold fewer than all of them leaves one for the others, whatever its own connections do:
 * who waits for a turn holds no thread. */
#ifndef HGI_SERVER_RPC_SHARE_H
#define HGI_SERVER_RPC_SHARE_H

#include <stdatomic.h>

#include "base/list.h"
#include "base/lock.h"
#include "herdgate/attr.h"

#define HGI_SHARE_CLOG 256u

/* A connection's place in the line; zero at first. */
struct hgi_turn {
    struct hgi_node node;
    /* It has a turn now; called by who ends his own, to be brief. */
    void (*call)(struct hgi_turn *turn);
};

struct hgi_share {
    _Atomic uint32_t open_count;
    _Atomic uint32_t ended_count; /* of these, of connections that have ended */
    uint32_t connections_max;
    uint32_t turns_max; /* 0: all there are */
    struct hgi_lock lock;
    struct hgi_node line HGI_GUARDED_BY(share);
    uint32_t turn_count HGI_GUARDED_BY(share);
};

void hgi_share_init(struct hgi_share *share, uint32_t connections_max, uint32_t turns_max);
/* Nobody is in line. */
void hgi_share_deinit(struct hgi_share *share);

/* A place for one more connection; false: all are taken. */
HG_NODISCARD bool hgi_share_book(struct hgi_share *share);
void hgi_share_unbook(struct hgi_share *share);
/* The connection of a place has ended, and will soon give it back: with unbook_ended. */
void hgi_share_end(struct hgi_share *share);
void hgi_share_unbook_ended(struct hgi_share *share);
/* Places taken. */
uint32_t hgi_share_open_count(const struct hgi_share *share);
/* HGI_SHARE_CLOG connections, or half of all there may be, have ended and not given back their
 * places: for a moment that may be. */
bool hgi_share_is_clogged(const struct hgi_share *share);

/* True: the caller has a turn. False: it is in line, and `call` comes once. */
HG_NODISCARD bool hgi_share_begin_turn(struct hgi_share *share, struct hgi_turn *turn);
/* Hands the turn to the first in line. */
void hgi_share_end_turn(struct hgi_share *share);

#endif
