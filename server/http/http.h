/* SPDX-License-Identifier: Apache-2.0 */
/* http: what the server serves over HTTP: its listeners, and what their routes share.
 * Owns:     the listeners, the history of the last quarter of an hour.
 * Threads:  open, start, tick, stop, close one at a time, tick from the ticker; routes on the
 *           listeners' threads.
 * Limits:   those of the listeners.
 * Errors:   open: UNAVAILABLE: an address is in use; FAILED_PRECONDITION: it cannot be had, or a
 * file of TLS is wrong; RESOURCE_EXHAUSTED: no memory. With a sentence (HGI_SENTENCE_MAX).
 * Not here: the engine; whatever changes or reads a cache goes through dispatch. */
#ifndef HGI_SERVER_HTTP_HTTP_H
#define HGI_SERVER_HTTP_HTTP_H

#include "server/config.h"

struct hgi_dispatch;
struct hgi_http;
struct hgi_http_history;

/* Binds all there are. `config` and `version` are borrowed until close. */
HG_NODISCARD enum hg_status hgi_http_open(const struct hgi_config *config, const char *version,
                                          struct hgi_http **ret_http, char *ret_sentence);
/* What open would refuse whatever else goes on; binds nothing. */
HG_NODISCARD enum hg_status hgi_http_check(const struct hgi_config *config, char *ret_sentence);
/* Serves from here on. False: no memory or no thread. */
HG_NODISCARD bool hgi_http_start(struct hgi_http *http, struct hgi_dispatch *dispatch,
                                 const struct hgi_now *now);
/* Call it about every 20 ms. */
void hgi_http_tick(struct hgi_http *http, const struct hgi_now *now);
/* No new connections. */
void hgi_http_quiesce(struct hgi_http *http);
/* Asks dispatch nothing any more, and waits at most wait_ms for what it was asked; true: nothing is
 * left of it. */
HG_NODISCARD bool hgi_http_stop(struct hgi_http *http, int64_t wait_ms);
/* Stopped, and nothing is asked any more. NULL is nothing to close; the same for those above. */
void hgi_http_close(struct hgi_http **http);
size_t hgi_http_count(const struct hgi_http *http);
const char *hgi_http_url(const struct hgi_http *http, size_t index);

/* For the routes. */
struct hgi_http_listener;
struct hgi_dispatch *hgi_http_dispatch(const struct hgi_http *http);
const struct hgi_config *hgi_http_config(const struct hgi_http *http);
const char *hgi_http_version(const struct hgi_http *http);
const struct hgi_http_listener *hgi_http_listener_at(const struct hgi_http *http, size_t index);
/* NULL: there is no operator's listener to show it. */
struct hgi_http_history *hgi_http_history(const struct hgi_http *http);

#endif
