/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_redis.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "hg_test.h"
#include "record.h"

static const char head[] = "*2\r\n$3\r\nGET\r\n$40\r\n";
#define COMMAND_LEN (sizeof(head) - 1 + RECORD_KEY_LEN + 2)

/* False: the peer has gone. */
static bool say(const struct fake_redis *fake, int fd, const char *text, size_t len)
{
    size_t step = fake->manner == FAKE_DRIBBLING ? 1 : len;

    for (size_t at = 0; at < len; at += step) {
        if (send(fd, text + at, step, MSG_NOSIGNAL) != (ssize_t)step) {
            return false;
        }
    }
    return true;
}

static bool answer(struct fake_redis *fake, int fd, const unsigned char *command)
{
    char digits[13] = {0};
    char text[256];
    uint64_t number;
    int len;

    memcpy(digits, command + sizeof(head) - 1 + RECORD_KEY_LEN - 12, 12);
    number = strtoull(digits, NULL, 10);
    fake->answered++;
    if (fake->answered % 10 == 0 && fake->manner == FAKE_FORGETFUL) {
        return say(fake, fd, "$-1\r\n", 5);
    }
    if (fake->answered % 10 == 0 && fake->manner == FAKE_LYING) {
        number++;
    }
    len = snprintf(text, sizeof(text), "$%u\r\n", RECORD_VALUE_LEN);
    record_value(number, RECORD_VALUE_LEN, (unsigned char *)text + len);
    memcpy(text + len + RECORD_VALUE_LEN, "\r\n", 2);
    return say(fake, fd, text, (size_t)len + RECORD_VALUE_LEN + 2) &&
           !(fake->manner == FAKE_LEAVING && fake->answered >= 100);
}

/* False: closed, or asked something this does not know. */
static bool serve(struct fake_redis *fake, struct fake_peer *peer)
{
    ssize_t got = recv(peer->fd, peer->in + peer->in_len, sizeof(peer->in) - peer->in_len, 0);
    size_t used = 0;

    if (got <= 0) {
        return false;
    }
    peer->in_len += (size_t)got;
    while (peer->in_len - used >= COMMAND_LEN) {
        if (memcmp(peer->in + used, head, sizeof(head) - 1) != 0 ||
            !answer(fake, peer->fd, peer->in + used)) {
            return false;
        }
        used += COMMAND_LEN;
    }
    memmove(peer->in, peer->in + used, peer->in_len - used);
    peer->in_len -= used;
    return true;
}

static void run(void *arg)
{
    struct fake_redis *fake = arg;
    struct pollfd polls[FAKE_PEERS_MAX + 1];

    while (!atomic_load(&fake->is_over)) {
        for (int i = 0; i < fake->peer_count; i++) {
            polls[i] = (struct pollfd){.fd = fake->peers[i].fd, .events = POLLIN};
        }
        polls[fake->peer_count] = (struct pollfd){.fd = fake->listener, .events = POLLIN};
        (void)poll(polls, (nfds_t)fake->peer_count + 1, 20);
        for (int i = 0; i < fake->peer_count; i++) {
            if (polls[i].revents && !serve(fake, &fake->peers[i])) {
                close(fake->peers[i].fd);
                fake->peers[i].fd = -1; /* poll passes over it */
            }
        }
        if (polls[fake->peer_count].revents && fake->peer_count < FAKE_PEERS_MAX) {
            fake->peers[fake->peer_count].fd = accept(fake->listener, NULL, NULL);
            fake->peer_count++;
        }
    }
}

struct fake_redis *fake_redis_start(enum fake_manner manner)
{
    struct fake_redis *fake = hgi_alloc(&hgi_heap, sizeof(*fake));
    struct sockaddr_un name = {.sun_family = AF_UNIX};

    ck_assert_ptr_nonnull(fake);
    fake->manner = manner;
    snprintf(fake->dir, sizeof(fake->dir), "/tmp/herdgate-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(fake->dir));
    snprintf(name.sun_path, sizeof(name.sun_path), "%s/redis", fake->dir);
    snprintf(fake->address, sizeof(fake->address), "unix://%s", name.sun_path);
    fake->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(fake->listener, 0);
    ck_assert_int_eq(bind(fake->listener, (struct sockaddr *)&name, sizeof(name)), 0);
    ck_assert_int_eq(listen(fake->listener, FAKE_PEERS_MAX), 0);
    ck_assert(hgi_thread_start(&fake->thread, "fake-redis", run, fake));
    return fake;
}

void fake_redis_stop(struct fake_redis *fake)
{
    atomic_store(&fake->is_over, true);
    hgi_thread_join(&fake->thread);
    for (int i = 0; i < fake->peer_count; i++) {
        if (fake->peers[i].fd >= 0) {
            close(fake->peers[i].fd);
        }
    }
    close(fake->listener);
    ck_assert_int_eq(unlink(fake->address + strlen("unix://")), 0);
    ck_assert_int_eq(rmdir(fake->dir), 0);
    hgi_free(&hgi_heap, fake);
}
