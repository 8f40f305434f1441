/* SPDX-License-Identifier: Apache-2.0 */
/* tls_client: a REQ peer over TLS, well behaved or not, and certificates for it.
 * Owns:     its socket; a folder of certificates until certs_remove.
 * Threads:  one.
 * Limits:   20 s a read.
 * Errors:   false; the client is still to be closed.
 * Not here: nng, envelopes. */
#ifndef HG_TLS_CLIENT_H
#define HG_TLS_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

struct hgi_tls_client;

/* "ca", "server", "client", and with one fault each "client-self", "-other" (another CA),
 * "-expired", "-early", "-purpose", and the same for servers; "server-elsewhere" has another name.
 * NAME.pem and NAME.key in the folder. */
struct certs {
    char dir[64];
};

void certs_make(struct certs *certs);
void certs_remove(struct certs *certs);
/* DIR/NAME.END */
void certs_path(const struct certs *certs, const char *name, const char *end, char ret_path[128]);

/* Connects to tls+tcp://127.0.0.1:port and shakes hands with this certificate (NULL: none); the
 * server's is not looked at. NULL: it did not come to that. */
struct hgi_tls_client *hgi_tls_client_open(const char *url, const struct certs *certs,
                                           const char *name);
/* Without a word: the socket is closed as by a process that dies. */
void hgi_tls_client_close(struct hgi_tls_client **client);
bool hgi_tls_client_write(struct hgi_tls_client *client, struct hg_slice bytes);
/* Exactly so many; false: the server closed before. */
bool hgi_tls_client_read(struct hgi_tls_client *client, unsigned char *ret_bytes, size_t size);
/* Both SP handshakes. False: the server sent none. */
bool hgi_tls_client_greet(struct hgi_tls_client *client);
/* A frame with this id. */
bool hgi_tls_client_send(struct hgi_tls_client *client, uint32_t id, struct hg_slice body);

#endif
