/* SPDX-License-Identifier: Apache-2.0 */
/* operator_scene: what an operator's listener has behind it, in this process, and one exchange at a
 * time that is handed to a route without a socket.
 * Owns:     the caches, dispatch, the listener (on a port that nobody asks) and the exchange, from
 *           open to close.
 * Threads:  one.
 * Limits:   SCENE_CACHES_MAX caches.
 * Errors:   asserts.
 * Not here: loaders and snapshots: there are none (test_operator has them). */
#ifndef HGI_TEST_OPERATOR_SCENE_H
#define HGI_TEST_OPERATOR_SCENE_H

#include "hg_test.h"
#include "server/http/exchange.h"
#include "server/http/http.h"
#include "server/http/operator.h"
#include "server/rpc/dispatch.h"

#define SCENE_CACHES_MAX 3u

extern struct hgi_cache *scene_caches[SCENE_CACHES_MAX]; /* "bytes", "json", "auth" */
extern struct hgi_dispatch *scene_dispatch;
extern struct hgi_http *scene_http;
extern struct hgi_http_exchange scene_exchange;
extern struct hgi_now scene_now; /* 5 s after the start */

void scene_open(void);
void scene_close(void);
/* Hands a request for `target` to the route; the exchange is then as the route leaves it. */
void scene_ask(void (*route)(struct hgi_http_exchange *exchange), const char *target);
/* The same of any request, which is borrowed until the next. */
void scene_take(void (*route)(struct hgi_http_exchange *exchange),
                const struct hgi_http_request *request);
/* The same of a POST of JSON. */
void scene_post(void (*route)(struct hgi_http_exchange *exchange), const char *json);
/* The answer of dispatch to what the route asked. The payload is borrowed. */
void scene_reply(const struct hgi_reply *reply);
/* Has dispatch answer it, at once: nothing here loads. */
void scene_have_answered(void);
/* The response's body as text, to the next request. */
const char *scene_body(unsigned status);
/* NULL: it was not said. */
const char *scene_field(const char *name);

#endif
