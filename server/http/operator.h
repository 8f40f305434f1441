/* SPDX-License-Identifier: Apache-2.0 */
/* operator: what an operator's listener answers: page, health, metrics, JSON calls.
 * Owns:     nothing.
 * Threads:  the listener's.
 * Limits:   none of its own.
 * Errors:   404, and 405 with what is allowed.
 * Not here: what a gateway asks (authz). */
#ifndef HGI_SERVER_HTTP_OPERATOR_H
#define HGI_SERVER_HTTP_OPERATOR_H

#include "server/http/exchange.h"

/* hgi_http_route_fn */
void hgi_http_operator(struct hgi_http_exchange *exchange);

/* Its routes. */
void hgi_http_livez(struct hgi_http_exchange *exchange);
void hgi_http_readyz(struct hgi_http_exchange *exchange);
void hgi_http_metrics(struct hgi_http_exchange *exchange);
void hgi_http_status(struct hgi_http_exchange *exchange);
void hgi_http_get(struct hgi_http_exchange *exchange);
void hgi_http_load(struct hgi_http_exchange *exchange);
void hgi_http_put(struct hgi_http_exchange *exchange);
void hgi_http_invalidate(struct hgi_http_exchange *exchange);
void hgi_http_clear(struct hgi_http_exchange *exchange);
/* A file of the page. False: there is none for this path. */
HG_NODISCARD bool hgi_http_page(struct hgi_http_exchange *exchange);

#endif
