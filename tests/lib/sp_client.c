/* SPDX-License-Identifier: Apache-2.0 */
#include "sp_client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"

#define MESSAGE_MAX (64u * 1024 * 1024)
#define READ_SIZE   65536u

static int dial_ipc(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static int dial_tcp(const char *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)strtoul(port, NULL, 10)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int on = 1;

    if (fd >= 0 && (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0 ||
                    connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

bool hgi_sp_client_dial(struct hgi_sp_client *client, const char *url)
{
    client->transport = strncmp(url, "ipc://", 6) == 0 ? HGI_SP_IPC : HGI_SP_TCP;
    client->cut_len = 0;
    hgi_bytes_init(&client->in, &hgi_heap);
    client->fd =
        client->transport == HGI_SP_IPC ? dial_ipc(url + 6) : dial_tcp(strrchr(url, ':') + 1);
    return client->fd >= 0;
}

void hgi_sp_client_close(struct hgi_sp_client *client)
{
    if (client->fd >= 0) {
        close(client->fd);
        client->fd = -1;
    }
    hgi_bytes_deinit(&client->in);
}

bool hgi_sp_client_write(struct hgi_sp_client *client, struct hg_slice bytes)
{
    const unsigned char *at = bytes.data;
    size_t left = bytes.len;

    while (left) {
        ssize_t sent = send(client->fd, at, left, MSG_NOSIGNAL);

        if (sent < 0 && errno == EINTR) {
            continue;
        }
        if (sent <= 0) {
            return false;
        }
        at += sent;
        left -= (size_t)sent;
    }
    return true;
}

/* Reads once. 1: bytes came; 0: the peer closed; -1: nothing came in time. */
static int read_some(struct hgi_sp_client *client, int64_t until_ms)
{
    int64_t left_ms = until_ms - hgi_clock_now().boot_ms;
    struct pollfd poller = {.fd = client->fd, .events = POLLIN};
    ssize_t got;

    if (poll(&poller, 1, left_ms > 0 ? (int)left_ms : 0) <= 0) {
        return -1;
    }
    if (!hgi_bytes_reserve(&client->in, READ_SIZE)) {
        return -1;
    }
    got = recv(client->fd, client->in.data + client->in.len, READ_SIZE, 0);
    if (got <= 0) {
        return 0; /* closed, or reset, which says the same */
    }
    client->in.len += (size_t)got;
    return 1;
}

bool hgi_sp_client_open(struct hgi_sp_client *client, const char *url, int64_t timeout_ms)
{
    int64_t until_ms = hgi_clock_now().boot_ms + timeout_ms;
    unsigned char hello[HGI_SP_HANDSHAKE_LEN];

    if (!hgi_sp_client_dial(client, url)) {
        return false;
    }
    hgi_sp_handshake(HGI_SP_REQ, hello);
    if (!hgi_sp_client_write(client, hg_slice_of(hello, sizeof(hello)))) {
        return false;
    }
    while (client->in.len < HGI_SP_HANDSHAKE_LEN) {
        if (read_some(client, until_ms) <= 0) {
            return false;
        }
    }
    client->cut_len = HGI_SP_HANDSHAKE_LEN;
    return hgi_sp_handshake_is(HGI_SP_REP, client->in.data);
}

bool hgi_sp_client_frame(const struct hgi_sp_client *client, uint32_t id, struct hg_slice body,
                         struct hg_bytes *ret_bytes)
{
    struct hgi_sp_route route = hgi_sp_route_of(id);
    unsigned char head[HGI_SP_HEAD_MAX];
    size_t head_len = hgi_sp_head(client->transport, &route, body.len, head);

    return hgi_bytes_append(ret_bytes, hg_slice_of(head, head_len)) &&
           hgi_bytes_append(ret_bytes, body);
}

bool hgi_sp_client_send(struct hgi_sp_client *client, uint32_t id, struct hg_slice body)
{
    struct hg_bytes frame;
    bool sent;

    hgi_bytes_init(&frame, &hgi_heap);
    sent = hgi_sp_client_frame(client, id, body, &frame) &&
           hgi_sp_client_write(client, hgi_bytes_slice(&frame));
    hgi_bytes_deinit(&frame);
    return sent;
}

bool hgi_sp_client_receive(struct hgi_sp_client *client, int64_t timeout_ms, uint32_t *ret_id,
                           struct hg_slice *ret_body)
{
    int64_t until_ms = hgi_clock_now().boot_ms + timeout_ms;

    for (;;) {
        struct hgi_sp_frame frame;
        size_t consumed = 0;
        size_t needed = 0;
        struct hg_slice rest =
            hg_slice_of(client->in.data ? client->in.data + client->cut_len : NULL,
                        client->in.len - client->cut_len);

        switch (hgi_sp_cut(client->transport, rest, MESSAGE_MAX, &frame, &consumed, &needed)) {
        case HGI_SP_FRAME:
            client->cut_len += consumed;
            *ret_id = hgi_sp_route_id(&frame.route);
            *ret_body = frame.body;
            return true;
        case HGI_SP_BAD:
            return false;
        case HGI_SP_MORE:
            break;
        }
        hgi_bytes_consume(&client->in, client->cut_len);
        client->cut_len = 0;
        if (read_some(client, until_ms) <= 0) {
            return false;
        }
    }
}

bool hgi_sp_client_ask(struct hgi_sp_client *client, uint32_t id, struct hg_slice body,
                       int64_t timeout_ms, struct hg_slice *ret_body)
{
    uint32_t got = 0;

    return hgi_sp_client_send(client, id, body) &&
           hgi_sp_client_receive(client, timeout_ms, &got, ret_body) && got == id;
}

bool hgi_sp_client_is_closed(struct hgi_sp_client *client, int64_t timeout_ms)
{
    int64_t until_ms = hgi_clock_now().boot_ms + timeout_ms;
    int got;

    do {
        client->in.len = 0;
        client->cut_len = 0;
        got = read_some(client, until_ms);
    } while (got > 0);
    return got == 0;
}
