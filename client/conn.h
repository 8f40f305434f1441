/* SPDX-License-Identifier: Apache-2.0 */
/* conn: the client's end of one connection: bodies in, frames out.
 * Owns:     the stream, its buffers. One dial, one life: a broken connection is not mended.
 * Threads:  send and close from any; events come on nng's threads (closed also from within close),
 *           with no lock held. create, start and destroy belong to the client's own thread or to
 *           who makes it; destroy waits for nng, so never from an event.
 * Limits:   message_max_bytes a reply, unsent_max_bytes of bodies not yet handed to the system.
 * Errors:   whatever goes wrong, from the dial on, ends in one `closed` event.
 * Not here: ids and who waits for them (client), what a body means (call). */
#ifndef HGI_CLIENT_CONN_H
#define HGI_CLIENT_CONN_H

#include "base/bytes.h"
#include "herdgate/status.h"

struct hgi_client_conn;
struct hgi_credentials;

struct hgi_client_conn_events {
    /* The peer speaks SP: send works from here on. Comes before any frame. */
    void (*opened)(void *context);
    /* A reply; `body` is borrowed for the call. */
    void (*frame)(void *context, uint32_t id, struct hg_slice body);
    /* Exactly once for each connection that was started or closed. `why` is half a sentence,
     * borrowed until destroy. */
    void (*closed)(void *context, const char *why);
    void *context;
};

struct hgi_client_conn_limits {
    size_t message_max_bytes;
    size_t unsent_max_bytes;
};

/* Memory only, nothing is dialled; NULL when memory is out. url and credentials are borrowed until
 * destroy; credentials may be NULL if the url is not of TLS. */
HG_NODISCARD struct hgi_client_conn *hgi_client_conn_create(
    const char *url, const struct hgi_credentials *credentials,
    const struct hgi_client_conn_limits *limits, const struct hgi_client_conn_events *events);
void hgi_client_conn_start(struct hgi_client_conn *conn);
/* Copies the body; bodies given while a write is in flight leave together in the next one. OK also
 * when the connection is closed: the `closed` event is what tells. RESOURCE_EXHAUSTED: too much is
 * unsent, or no memory. */
HG_NODISCARD enum hg_status hgi_client_conn_send(struct hgi_client_conn *conn, uint32_t id,
                                                 struct hg_slice body);
void hgi_client_conn_close(struct hgi_client_conn *conn, const char *why);
/* Closed already, and in nobody's hands. Waits for nng to let go of it. */
void hgi_client_conn_destroy(struct hgi_client_conn **conn);

#endif
