/* SPDX-License-Identifier: Apache-2.0 */
/* notify: tells the service manager how it is with us (sd_notify's datagrams).
 * Owns:     what the manager has asked for, from open on.
 * Threads:  open from main, before others are started; send from any.
 * Limits:   a datagram of HGI_NOTIFY_MAX bytes.
 * Errors:   none: without a manager there is nobody to tell.
 * Not here: whether the server is alive (heartbeat).
 *
 * The protocol is a datagram of NAME=VALUE lines to the socket that NOTIFY_SOCKET names. libsystemd
 * does the same, and would bring five libraries along. */
#ifndef HGI_SERVER_NOTIFY_H
#define HGI_SERVER_NOTIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/un.h>

#include "herdgate/attr.h"

#define HGI_NOTIFY_MAX 512u

struct hgi_notify {
    struct sockaddr_un address;
    unsigned address_len; /* 0: nobody is to be told */
    int64_t watchdog_ms;  /* within which it wants to hear WATCHDOG=1; 0: it does not */
};

/* Reads what the environment says and takes it out of there: it is not the loaders' business. */
void hgi_notify_open(struct hgi_notify *ret_notify);
/* One datagram, such as "READY=1\nSTATUS=..."; never waits. False: nobody heard it. */
bool hgi_notify_send(const struct hgi_notify *notify, const char *format, ...) HG_PRINTF(2, 3);

#endif
