/* SPDX-License-Identifier: Apache-2.0 */
/* url: which addresses the client speaks.
 * Owns:     nothing.
 * Threads:  any.
 * Limits:   a socket path is at most 107 bytes (the system's).
 * Errors:   INVALID_ARGUMENT and one sentence.
 * Not here: dialling (conn). */
#ifndef HGI_CLIENT_URL_H
#define HGI_CLIENT_URL_H

#include <stdbool.h>

#include "base/kind.h"

/* ipc:///path, unix:///path, abstract://name, tcp://host:port or tls+tcp://host:port. ret_sentence:
 * HGI_SENTENCE_MAX. */
HG_NODISCARD enum hg_status hgi_client_url_check(const char *url, char *ret_sentence);
/* Framed as over tcp; with TLS or without. */
bool hgi_client_url_is_tcp(const char *url);
bool hgi_client_url_is_tls(const char *url);
/* The host of a tcp or tls url that has been checked. */
void hgi_client_url_host(const char *url, char *ret_host, size_t size);

#endif
