/* SPDX-License-Identifier: Apache-2.0 */
/* sp_client: a REQ peer on a plain socket, well behaved or not.
 * Owns:     its socket and what it has read.
 * Threads:  one.
 * Limits:   every wait has a deadline in milliseconds.
 * Errors:   false; the socket is still to be closed.
 * Not here: nng, envelopes. */
#ifndef HG_SP_CLIENT_H
#define HG_SP_CLIENT_H

#include "base/bytes.h"
#include "proto/sp.h"

struct hgi_sp_client {
    int fd;
    enum hgi_sp_transport transport;
    struct hg_bytes in;
    size_t cut_len;
};

/* Connects to ipc:///path or tcp://127.0.0.1:port and says nothing. */
HG_NODISCARD bool hgi_sp_client_dial(struct hgi_sp_client *client, const char *url);
/* Connects, writes the handshake, and checks the server's. */
HG_NODISCARD bool hgi_sp_client_open(struct hgi_sp_client *client, const char *url,
                                     int64_t timeout_ms);
/* Safe after a failed dial, and twice. */
void hgi_sp_client_close(struct hgi_sp_client *client);
/* Bytes as they are, all of them. */
HG_NODISCARD bool hgi_sp_client_write(struct hgi_sp_client *client, struct hg_slice bytes);
HG_NODISCARD bool hgi_sp_client_send(struct hgi_sp_client *client, uint32_t id,
                                     struct hg_slice body);
/* Appends what send would write: many frames for one write. */
HG_NODISCARD bool hgi_sp_client_frame(const struct hgi_sp_client *client, uint32_t id,
                                      struct hg_slice body, struct hg_bytes *ret_bytes);
/* The next reply; its body is borrowed until the next call. */
HG_NODISCARD bool hgi_sp_client_receive(struct hgi_sp_client *client, int64_t timeout_ms,
                                        uint32_t *ret_id, struct hg_slice *ret_body);
/* Sends and receives one. */
HG_NODISCARD bool hgi_sp_client_ask(struct hgi_sp_client *client, uint32_t id, struct hg_slice body,
                                    int64_t timeout_ms, struct hg_slice *ret_body);
/* Reads and drops until the server has closed. */
HG_NODISCARD bool hgi_sp_client_is_closed(struct hgi_sp_client *client, int64_t timeout_ms);

#endif
