/* SPDX-License-Identifier: Apache-2.0 */
/* socket: the address a listener of HTTP is bound to.
 * Owns:     the listening socket, and of a unix one the lock of its path.
 * Threads:  one.
 * Limits:   none.
 * Errors:   UNAVAILABLE: somebody has the address; FAILED_PRECONDITION: it cannot be had. With a
 *           sentence.
 * Not here: accepting, and what comes after (listener). */
#ifndef HGI_SERVER_HTTP_SOCKET_H
#define HGI_SERVER_HTTP_SOCKET_H

#include "server/config.h"
#include "server/rpc/asker.h"

struct hgi_http_socket {
    int fd;
    int lock_fd;      /* < 0: tcp */
    const char *path; /* of a unix socket, borrowed; removed by close */
    char url[160];    /* with the port that the system chose for 0 */
};

HG_NODISCARD enum hg_status hgi_http_socket_open(const struct hgi_http_config *config,
                                                 struct hgi_http_socket *ret_socket,
                                                 char *ret_sentence);
void hgi_http_socket_close(struct hgi_http_socket *socket);
/* Who is at the other end of a connection; false: the system does not tell. */
HG_NODISCARD bool hgi_http_socket_peer(int fd, struct hgi_peer *inout_peer);

#endif
