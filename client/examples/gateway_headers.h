/* SPDX-License-Identifier: Apache-2.0 */
/* gateway_headers: which headers a gateway hands on, and how it tells the upstream who asks.
 * Owns:     nothing; a list or a text is its caller's.
 * Threads:  none.
 * Limits:   BODY_MAX for a text.
 * Errors:   false: no memory, and the list is as it was.
 * Not here: where the headers come from and go to (gateway_http.c, gateway_upstream.c). */
#ifndef GATEWAY_HEADERS_H
#define GATEWAY_HEADERS_H

#include <curl/curl.h>
#include <herdgate/client.h>

#include "gateway_upstream.h"

/* A method or a header's name as RFC 9110 allows it. */
bool is_token(const char *text);
/* No upstream can take part of it for another line. */
bool is_one_line(const char *text);

/* Remembers which headers a Connection header names; any other header says nothing. A name is `len`
 * bytes, here and below. */
bool add_named(struct text *named, const char *name, size_t len, const char *value);
/* Of this connection only, not of the message. `named`: from all its Connection headers. */
bool is_hop(const struct text *named, const char *name, size_t len);
/* What only the gateway may say, and the credential, which the upstream has no use for. */
bool is_ours(const char *name);

bool add_header(struct curl_slist **list, const char *name, const char *value);
/* X-User-Id, X-Api-Key-Id and X-Scopes: all of them always, empty where nothing is known. */
bool add_identity(struct curl_slist **list, const struct hg_auth *auth);

#endif
