/* SPDX-License-Identifier: Apache-2.0 */
#include "socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "server/rpc/address.h"

#define BACKLOG            1024
#define SOCKET_PERMISSIONS 0660

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_un local;
};

static socklen_t address_of(const struct hgi_http_config *config, union address *ret_address)
{
    memset(ret_address, 0, sizeof(*ret_address));
    if (config->path) {
        ret_address->local.sun_family = AF_UNIX;
        snprintf(ret_address->local.sun_path, sizeof(ret_address->local.sun_path), "%s",
                 config->path);
        return sizeof(ret_address->local);
    }
    if (inet_pton(AF_INET6, config->host, &ret_address->v6.sin6_addr) == 1) {
        ret_address->v6.sin6_family = AF_INET6;
        ret_address->v6.sin6_port = htons(config->port);
        return sizeof(ret_address->v6);
    }
    ret_address->v4.sin_family = AF_INET;
    ret_address->v4.sin_port = htons(config->port);
    if (inet_pton(AF_INET, config->host, &ret_address->v4.sin_addr) != 1) {
        ret_address->v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK); /* "localhost" */
    }
    return sizeof(ret_address->v4);
}

static uint16_t port_of(int fd)
{
    union address bound;
    socklen_t len = sizeof(bound);

    if (getsockname(fd, &bound.any, &len) != 0) {
        return 0;
    }
    return ntohs(bound.any.sa_family == AF_INET6 ? bound.v6.sin6_port : bound.v4.sin_port);
}

static bool listen_at(struct hgi_http_socket *made, const struct hgi_http_config *config)
{
    const int on = 1;
    union address address;
    socklen_t len = address_of(config, &address);

    made->fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made->fd < 0) {
        return false;
    }
    if (config->path && unlink(config->path) != 0 && errno != ENOENT) {
        return false; /* whoever left it there is gone: we have the lock */
    }
    if (!config->path && setsockopt(made->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0) {
        return false;
    }
    if (bind(made->fd, &address.any, len) != 0) {
        return false;
    }
    made->path = config->path;
    return (!config->path || chmod(config->path, SOCKET_PERMISSIONS) == 0) &&
           listen(made->fd, BACKLOG) == 0;
}

enum hg_status hgi_http_socket_open(const struct hgi_http_config *config,
                                    struct hgi_http_socket *ret_socket, char *ret_sentence)
{
    struct hgi_http_socket made = {.fd = -1, .lock_fd = -1};
    enum hg_status status = HG_OK;

    if (config->path) {
        status = hgi_address_lock(config->path, &made.lock_fd, ret_sentence);
    }
    if (status == HG_OK && !listen_at(&made, config)) {
        status = errno == EADDRINUSE ? HG_UNAVAILABLE : HG_FAILED_PRECONDITION;
        snprintf(ret_sentence, HGI_SENTENCE_MAX, "%.140s: %.100s", config->url, strerror(errno));
    }
    if (status != HG_OK) {
        hgi_http_socket_close(&made);
        return status;
    }
    if (config->path) {
        snprintf(made.url, sizeof(made.url), "%s", config->url);
    } else {
        bool is_v6 = strchr(config->host, ':') != NULL;

        snprintf(made.url, sizeof(made.url), "%s://%s%s%s:%u", config->is_tls ? "https" : "http",
                 is_v6 ? "[" : "", config->host, is_v6 ? "]" : "", port_of(made.fd));
    }
    *ret_socket = made;
    return HG_OK;
}

void hgi_http_socket_close(struct hgi_http_socket *socket)
{
    if (socket->path) {
        (void)unlink(socket->path);
    }
    if (socket->fd >= 0) {
        close(socket->fd);
    }
    if (socket->lock_fd >= 0) {
        close(socket->lock_fd);
    }
    *socket = (struct hgi_http_socket){.fd = -1, .lock_fd = -1};
}

bool hgi_http_socket_peer(int fd, struct hgi_peer *inout_peer)
{
    struct ucred who;
    socklen_t len = sizeof(who);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) != 0) {
        return false;
    }
    inout_peer->uid = who.uid;
    inout_peer->pid = (uint64_t)who.pid;
    return true;
}
