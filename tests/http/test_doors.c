/* SPDX-License-Identifier: Apache-2.0 */
/* Connections that take too long. */
#include "hg_test.h"

#include <sys/socket.h>
#include <unistd.h>

#include "server/http/doors.h"

struct pair {
    struct hgi_http_door door;
    int ours;
    int theirs;
};

static struct hgi_http_doors doors;

static void begin(struct pair *pair, int64_t ms)
{
    int fds[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    *pair = (struct pair){.ours = fds[0], .theirs = fds[1]};
    hgi_http_door_allow(&pair->door, ms);
    hgi_http_doors_add(&doors, &pair->door, pair->ours);
}

static void end(struct pair *pair)
{
    hgi_http_doors_remove(&doors, &pair->door);
    close(pair->ours);
    close(pair->theirs);
}

static bool is_shut(const struct pair *pair)
{
    char byte;

    return recv(pair->theirs, &byte, 1, MSG_DONTWAIT) == 0;
}

/* How many it shut. */
static uint64_t sweep(int64_t later_ms)
{
    uint64_t before = atomic_load(&doors.shut_count);
    struct hgi_now now = hgi_clock_now();

    now.boot_ms += later_ms;
    hgi_http_doors_sweep(&doors, &now);
    return atomic_load(&doors.shut_count) - before;
}

START_TEST(who_is_past_its_time_is_shut_once_and_nobody_else)
{
    struct pair early;
    struct pair late;
    struct pair forever;

    hgi_http_doors_init(&doors);
    begin(&early, 1000);
    begin(&late, 100000);
    begin(&forever, 0);
    ck_assert_uint_eq(sweep(0), 0);
    ck_assert_uint_eq(sweep(50000), 1);
    ck_assert(is_shut(&early));
    ck_assert(!is_shut(&late));
    ck_assert(!is_shut(&forever));
    ck_assert_uint_eq(sweep(50000), 0);
    hgi_http_door_allow(&late.door, 0); /* it waits for an answer now */
    ck_assert_uint_eq(sweep(1000000), 0);
    hgi_http_door_allow(&late.door, 1000);
    ck_assert_uint_eq(sweep(1000000), 1);
    ck_assert(is_shut(&late));
    end(&early);
    end(&late);
    end(&forever);
    hgi_http_doors_deinit(&doors);
}
END_TEST

HGI_SUITE("http.doors", 20, who_is_past_its_time_is_shut_once_and_nobody_else)
