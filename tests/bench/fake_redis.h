/* SPDX-License-Identifier: Apache-2.0 */
/* fake_redis: just enough of redis to answer the load generator's GETs, well or badly.
 * Owns:     its folder, socket and thread, until stop.
 * Threads:  one of its own.
 * Limits:   FAKE_PEERS_MAX connections; keys of RECORD_KEY_LEN bytes.
 * Errors:   a step that fails fails the test.
 * Not here: anything but GET. */
#ifndef FAKE_REDIS_H
#define FAKE_REDIS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/thread.h"

#define FAKE_PEERS_MAX 16

enum fake_manner {
    FAKE_GOOD,
    FAKE_DRIBBLING, /* a byte at a time */
    FAKE_LYING,     /* each tenth value is another key's */
    FAKE_FORGETFUL, /* each tenth is not there */
    FAKE_LEAVING,   /* closes after a hundred */
};

struct fake_peer {
    int fd;
    unsigned char in[65536];
    size_t in_len;
};

struct fake_redis {
    char dir[64];
    char address[128];
    enum fake_manner manner;
    int listener;
    struct fake_peer peers[FAKE_PEERS_MAX];
    int peer_count;
    uint64_t answered;
    atomic_bool is_over;
    struct hgi_thread thread;
};

struct fake_redis *fake_redis_start(enum fake_manner manner);
void fake_redis_stop(struct fake_redis *fake);

#endif
