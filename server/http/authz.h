/* SPDX-License-Identifier: Apache-2.0 */
/* authz: what a gateway asks of each of its requests: may it pass?
 * Owns:     nothing.
 * Threads:  the listener's.
 * Limits:   one credential a request; those of keys.
 * Errors:   a path that names no cache with an authz section is 403, never 200: a gateway with a
 *           wrong path fails closed.
 * Not here: where a credential stands (credential), the original request (facts), what a value says
 *           of who asks (identity). */
#ifndef HGI_SERVER_HTTP_AUTHZ_H
#define HGI_SERVER_HTTP_AUTHZ_H

#include "server/http/exchange.h"

/* hgi_http_route_fn */
void hgi_http_authz(struct hgi_http_exchange *exchange);

#endif
