/* SPDX-License-Identifier: Apache-2.0 */
#include "socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

union peer {
    struct sockaddr any;
    struct sockaddr_un local;
    struct sockaddr_in tcp;
};

static const char *behind(const char *address, const char *prefix)
{
    return strncmp(address, prefix, strlen(prefix)) == 0 ? address + strlen(prefix) : NULL;
}

static const char *unix_path(const char *address)
{
    const char *path = behind(address, "unix://");

    return path ? path : behind(address, "ipc://");
}

bool socket_is_unix(const char *address)
{
    return unix_path(address) != NULL;
}

/* The length of what was parsed; 0: no such address. */
static socklen_t parse(const char *address, union peer *ret_peer)
{
    const char *path = unix_path(address);
    const char *host = behind(address, "tcp://");
    const char *colon = host ? strrchr(host, ':') : NULL;
    char text[64];

    memset(ret_peer, 0, sizeof(*ret_peer));
    if (path && strlen(path) < sizeof(ret_peer->local.sun_path)) {
        ret_peer->local.sun_family = AF_UNIX;
        memcpy(ret_peer->local.sun_path, path, strlen(path));
        return sizeof(ret_peer->local);
    }
    if (!colon || (size_t)(colon - host) >= sizeof(text)) {
        return 0;
    }
    memcpy(text, host, (size_t)(colon - host));
    text[colon - host] = 0;
    ret_peer->tcp.sin_family = AF_INET;
    ret_peer->tcp.sin_port = htons((uint16_t)atoi(colon + 1));
    return inet_pton(AF_INET, text, &ret_peer->tcp.sin_addr) == 1 ? sizeof(ret_peer->tcp) : 0;
}

int socket_connect(const char *address, char *ret_sentence, size_t sentence_size)
{
    union peer peer;
    socklen_t len = parse(address, &peer);
    int one = 1;
    int fd;

    if (len == 0) {
        snprintf(ret_sentence, sentence_size, "\"%s\" is no address", address);
        return -1;
    }
    fd = socket(peer.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, &peer.any, len) != 0) {
        snprintf(ret_sentence, sentence_size, "%s: %s", address, strerror(errno));
        if (fd >= 0) {
            close(fd);
        }
        return -1;
    }
    if (peer.any.sa_family == AF_INET) {
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    }
    (void)fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
}
