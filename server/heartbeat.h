/* SPDX-License-Identifier: Apache-2.0 */
/* heartbeat: asks the server itself, as a client does, and tells the service manager that it lives.
 * Owns:     the thread `heartbeat`, from start to stop.
 * Threads:  start and stop from main.
 * Limits:   a question has an eighth of the manager's time, and so has the pause after it: three
 *           that fail in a row take less than that time.
 * Errors:   HGI_HEARTBEAT_MISSES failures in a row, or a server that says itself that it is broken:
 *           `dead` is called, from the thread (abort, so that the manager begins anew: I15). A
 * question that a full server turns away at the door is answered: who closes a connection is alive.
 * Not here: the datagrams (notify). */
#ifndef HGI_SERVER_HEARTBEAT_H
#define HGI_SERVER_HEARTBEAT_H

#include "base/lock.h"
#include "base/thread.h"
#include "server/notify.h"

#define HGI_HEARTBEAT_MISSES 3u

/* Whom it is the heart of. */
struct hgi_heartbeat_body {
    bool (*is_broken)(void *context); /* asked at each beat; it has said why in the log */
    void *context;
    void (*dead)(void);
};

struct hgi_heartbeat {
    /* set once */
    const struct hgi_notify *notify;
    const char *url;
    const struct hgi_heartbeat_body *body;
    int64_t step_ms;
    struct hgi_thread thread;
    struct hgi_lock lock;
    struct hgi_cond wake;
    bool is_stopping HGI_GUARDED_BY(lifecycle);
};

/* `url` (ipc:///path or tcp://ADDRESS:port; NULL: nobody is asked), `body` and `notify`, which
 * wants to hear something, are borrowed until stop. False: no thread. */
HG_NODISCARD bool hgi_heartbeat_start(struct hgi_heartbeat *heartbeat,
                                      const struct hgi_notify *notify, const char *url,
                                      const struct hgi_heartbeat_body *body);
/* One that was not started is nothing to stop. */
void hgi_heartbeat_stop(struct hgi_heartbeat *heartbeat);

/* ipc:///path, tcp://ADDRESS:port and tls+tcp://ADDRESS:port, where ADDRESS is localhost or
 * numeric. */
bool hgi_heartbeat_can_ask(const char *url);
/* Whether a server at the address answers, or turns us away, within the time. At a TLS address it
 * is spoken to without TLS, and has answered when it hangs up. */
bool hgi_heartbeat_ask(const char *url, int64_t timeout_ms);

#endif
