/* SPDX-License-Identifier: Apache-2.0 */
/* Who asks over HTTP and does not mean well, or is not well. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/thread.h"
#include "daemon.h"
#include "http_client.h"

#define WAIT_MS 20000

#define SHORT "limits { handshake = \"50ms\" body = \"50ms\" }\n"
static const char sections[] =
    "cache \"a\" { key = \"bytes\" value = \"bytes\" loader = \"script\" ttl = \"60s\" }\n"
    "http \"unix://@DIR@/run/authz.sock\" { services = \"authz\" connections_max = 512\n"
    "    threads = 4 }\n"
    "http \"unix://@DIR@/run/op.sock\" { services = \"operator\" idle = \"60s\" }\n"
    "authz \"a\" { credential_hash = \"none\" timeout = \"20s\" }\n";

static struct daemon d;
static char authz[128];
static char operator_path[128];
static struct http_answer answer;

/* `limits`: SHORT, where a machine that is slow can only make what is expected come sooner; or "".
 */
static void start(const char *limits)
{
    char text[1024];

    snprintf(text, sizeof(text), "%s%s", limits, sections);
    daemon_prepare(&d, text);
    snprintf(authz, sizeof(authz), "%s/run/authz.sock", d.dir);
    snprintf(operator_path, sizeof(operator_path), "%s/run/op.sock", d.dir);
    daemon_start(&d);
}

static void stop(void)
{
    daemon_stop(&d);
    daemon_remove(&d);
}

/* A number that /metrics has of the listener for gateways. */
static long metric(const char *name)
{
    char row[256];
    const char *at;

    do {
        http_get(operator_path, "/metrics", "", &answer);
    } while (answer.status == 0); /* too slow for SHORT */
    ck_assert_int_eq(answer.status, 200);
    snprintf(row, sizeof(row), "\n%s{listener=\"unix://%s\"} ", name, authz);
    at = strstr(answer.body, row);
    ck_assert_ptr_nonnull(at);
    return atol(at + strlen(row));
}

static void wait_closed(int fd)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    char bytes[512];

    do {
        ck_assert_msg(poll(&wait, 1, WAIT_MS) == 1, "the server keeps it");
    } while (recv(fd, bytes, sizeof(bytes), 0) > 0); /* it may say that it is over */
    http_close(fd);
}

/* The 50 ms are over long before anybody sees the last byte of these. */
START_TEST(a_head_that_comes_byte_by_byte_is_not_waited_for)
{
    static const char head[] = "GET /authz/a HTTP/1.1\r\nHost: h\r\nX-Slow: ";
    int64_t end_ms = hgi_clock_now().boot_ms + WAIT_MS;
    int dribbles;
    int silent;

    start(SHORT);
    silent = http_open(authz);
    dribbles = http_open(authz);
    http_send_bytes(dribbles, head, sizeof(head) - 1);
    while (metric("herdgate_http_timeouts_total") < 2) {
        http_send_bytes(dribbles, "x", 1);
        hgi_thread_pause(5);
        ck_assert_int_lt(hgi_clock_now().boot_ms, end_ms);
    }
    wait_closed(silent);
    wait_closed(dribbles);
    stop();
}
END_TEST

START_TEST(a_body_that_does_not_come_is_not_waited_for)
{
    int fd;

    start(SHORT);
    fd = http_open(authz);
    http_send(fd, "POST /authz/a HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer t\r\n"
                  "Content-Length: 1000\r\n\r\nonly this");
    wait_closed(fd);
    ck_assert_int_eq(metric("herdgate_http_timeouts_total"), 1);
    stop();
}
END_TEST

/* Where the machine is slow, a head may come too late; then another one is sent. */
START_TEST(who_waits_for_a_load_has_all_the_time)
{
    int64_t end_ms = hgi_clock_now().boot_ms + WAIT_MS;

    start(SHORT);
    hgi_script_set(&d.script, "* delay 400\n* value v\n");
    for (int i = 0; answer.status != 200; i++) {
        int fd = http_open(authz);

        http_send(fd, "GET /authz/a HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer t%d\r\n\r\n", i);
        http_read(fd, &answer);
        http_close(fd);
        ck_assert(answer.status == 200 || answer.status == 0 || answer.status == 408);
        ck_assert_int_lt(hgi_clock_now().boot_ms, end_ms);
    }
    stop();
}
END_TEST

#define LEAVERS 300

START_TEST(those_who_leave_while_they_wait_leave_nothing_behind)
{
    int64_t end_ms = hgi_clock_now().boot_ms + WAIT_MS;
    int fds[LEAVERS];

    start("");
    hgi_script_set(&d.script, "t gate %/go\nt value v\n");
    for (size_t i = 0; i < LEAVERS; i++) {
        fds[i] = http_open(authz);
        http_send(fds[i], "GET /authz/a HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer t\r\n\r\n");
    }
    daemon_wait_metric(&d, "a", "follower_wait", LEAVERS - 1);
    ck_assert_int_eq(metric("herdgate_http_inflight"), LEAVERS);
    for (size_t i = 0; i < LEAVERS; i++) {
        http_close(fds[i]);
    }
    hgi_script_touch(&d.script, "go");
    while (metric("herdgate_http_inflight") > 0) {
        ck_assert_int_lt(hgi_clock_now().boot_ms, end_ms);
    }
    http_get(authz, "/authz/a", "Authorization: Bearer t\r\n", &answer);
    ck_assert_int_eq(answer.status, 200);
    stop();
}
END_TEST

START_TEST(whatever_is_sent_the_next_one_is_answered)
{
    static const char *const sent[] = {
        "",
        "\r\n\r\n\r\n",
        "GET",
        "GET /authz/a",
        "GET /authz/a HTTP/9.9\r\n\r\n",
        "GET  HTTP/1.1\r\n\r\n",
        "GET /authz/a HTTP/1.1\r\nHost\r\n\r\n",
        "GET /authz/a HTTP/1.1\r\n: x\r\n\r\n",
        "GET /authz/a HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n",
        "GET /authz/a HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "POST /authz/a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "POST /authz/a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "GET /authz/a?%00%ff HTTP/1.1\r\nHost: h\r\nCookie: \xff\xfe=;;;==;\r\n\r\n",
        "GET http:// HTTP/1.1\r\nHost: h\r\n\r\n",
    };

    start("");
    hgi_script_set(&d.script, "t value v\n");
    for (size_t i = 0; i < sizeof(sent) / sizeof(sent[0]); i++) {
        int fd = http_open(authz);

        http_send_bytes(fd, sent[i], strlen(sent[i]));
        ck_assert_int_eq(shutdown(fd, SHUT_WR), 0);
        wait_closed(fd);
        http_get(authz, "/authz/a", "Authorization: Bearer t\r\n", &answer);
        ck_assert_msg(answer.status == 200, "after number %zu: %d", i, answer.status);
    }
    stop();
}
END_TEST

HGI_SUITE("http.hostile", 60, a_head_that_comes_byte_by_byte_is_not_waited_for,
          a_body_that_does_not_come_is_not_waited_for, who_waits_for_a_load_has_all_the_time,
          those_who_leave_while_they_wait_leave_nothing_behind,
          whatever_is_sent_the_next_one_is_answered)
