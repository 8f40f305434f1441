/* SPDX-License-Identifier: Apache-2.0 */
/* listener: one address of HTTP, by libmicrohttpd.
 * Owns:     its socket, the library's daemon, its threads and connections, the exchanges under way.
 * Threads:  open, start, stop, close one at a time; routes run on the library's threads, which wait
 *           for nothing: an exchange that asks is put aside (suspended) until its reply is there.
 * Limits:   connections_max (more wait in the backlog), in_flight_max (more are 503), a head of
 *           HGI_HTTP_HEAD_MAX (longer is 431), a body of message_max (longer is 413), idle; a head
 *           and a body each have the time that limits give a message.
 * Errors:   open: one sentence, as of any listener.
 * Not here: which path means what (operator, authz). All words of the library are in its two
 *           files. */
#ifndef HGI_SERVER_HTTP_LISTENER_H
#define HGI_SERVER_HTTP_LISTENER_H

#include "server/http/exchange.h"

struct hgi_http_listener;
struct hgi_dispatch;

/* Fills the exchange's response, or asks. */
typedef void (*hgi_http_route_fn)(struct hgi_http_exchange *exchange);

struct hgi_http_listener_options {
    const struct hgi_http_config *config;
    hgi_http_route_fn route;
    struct hgi_http *http; /* for the route */
    const uint32_t *peers; /* uids admitted where access is OWNER */
    size_t peer_count;
    const struct hgi_limits *limits;
    bool takes_body; /* else it is read and forgotten */
};

/* How many responses had which status. */
#define HGI_HTTP_STATUSES_MAX 16u
struct hgi_http_listener_counts {
    uint64_t connections;
    uint64_t timeouts; /* closed for taking too long, or resting too long */
    uint64_t in_flight;
    struct {
        unsigned status; /* 0: any other */
        uint64_t count;
    } responses[HGI_HTTP_STATUSES_MAX];
    size_t response_count;
};

/* Binds. `options` is copied; what it points at is borrowed until close. */
HG_NODISCARD enum hg_status hgi_http_listener_open(const struct hgi_http_listener_options *options,
                                                   struct hgi_http_listener **ret_listener,
                                                   char *ret_sentence);
/* What open would refuse whatever else goes on: the files of TLS. */
HG_NODISCARD enum hg_status hgi_http_listener_check(const struct hgi_http_config *config,
                                                    char *ret_sentence);
/* Serves from here on. False: no memory or no thread. */
HG_NODISCARD bool hgi_http_listener_start(struct hgi_http_listener *listener,
                                          struct hgi_dispatch *dispatch);
/* Ends connections whose time is over. */
void hgi_http_listener_sweep(struct hgi_http_listener *listener, const struct hgi_now *now);
/* Takes no new connection. */
void hgi_http_listener_quiesce(struct hgi_http_listener *listener);
/* Runs no route any more, and waits at most wait_ms for what is asked; when it returns true,
 * nothing is. */
HG_NODISCARD bool hgi_http_listener_stop(struct hgi_http_listener *listener, int64_t wait_ms);
/* Stopped, and nothing is asked any more. */
void hgi_http_listener_close(struct hgi_http_listener **listener);
const char *hgi_http_listener_url(const struct hgi_http_listener *listener);
const struct hgi_http_config *hgi_http_listener_config(const struct hgi_http_listener *listener);
void hgi_http_listener_count(const struct hgi_http_listener *listener,
                             struct hgi_http_listener_counts *ret_counts);

#endif
