/* SPDX-License-Identifier: Apache-2.0 */
/* conn_wait: what a connection waits for, and for how long already.
 * Owns:     nothing.
 * Threads:  the sweep's.
 * Limits:   the deadlines of hgi_limits.
 * Errors:   none.
 * Not here: what follows when the time is up (conn). A door of conn only. */
#ifndef HGI_SERVER_RPC_CONN_WAIT_H
#define HGI_SERVER_RPC_CONN_WAIT_H

#include "server/config.h"

enum hgi_wait {
    HGI_WAIT_NOTHING,
    HGI_WAIT_HANDSHAKE,
    HGI_WAIT_BODY,
    HGI_WAIT_IDLE,
    HGI_WAIT_WRITE
};

/* What the sweep saw last; zero at first. Progress is a mark that changes, never a trickle of
 * bytes. */
struct hgi_conn_wait {
    enum hgi_wait what;
    uint64_t mark;
    int64_t since_ms;
};

/* Whether the connection has waited for this, with this mark, longer than it may. */
HG_NODISCARD bool hgi_conn_wait_is_over(struct hgi_conn_wait *wait, enum hgi_wait what,
                                        uint64_t mark, const struct hgi_limits *limits,
                                        int64_t now_ms);

#endif
