/* SPDX-License-Identifier: Apache-2.0 */
/* What the log says of a load that took long. */
#include "notebook.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define TRACE_ID "4bf92f3577b34da6a3ce929d0e0e4736"
#define TRACE    "00-" TRACE_ID "-00f067aa0ba902b7-01"
#define SLOW     "* delay 20\n"

static char said[16384];
static int before_fd;
static int log_fd;

static void listen_to_log(void)
{
    char path[128];

    snprintf(path, sizeof(path), "%s/log", script.folder);
    log_fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    before_fd = dup(STDERR_FILENO);
    ck_assert_int_ge(log_fd, 0);
    ck_assert_int_ge(dup2(log_fd, STDERR_FILENO), 0);
}

/* All that was logged: the threads have ended. */
static const char *stop_and_read(uint64_t last_id)
{
    ssize_t len;

    hgi_supervisor_stop(supervisor, 0);
    assert_each_ended_once(last_id);
    len = pread(log_fd, said, sizeof(said) - 1, 0);
    ck_assert_int_ge(len, 0);
    said[len] = '\0';
    ck_assert_int_ge(dup2(before_fd, STDERR_FILENO), 0);
    close(before_fd);
    close(log_fd);
    clean();
    return said;
}

static void begin_with(const char *control)
{
    prepare(1, 8, control);
    listen_to_log();
    begin();
}

START_TEST(a_slow_load_is_told_with_its_key_and_its_trace)
{
    begin_with(SLOW);
    load_slow(1, "secret", 1, TRACE);
    assert_value(1, "secret");
    ck_assert_ptr_nonnull(strstr(stop_and_read(1), "warn: loader keys: a load took "));
    ck_assert_ptr_nonnull(strstr(said, " ms: OK cache=a-cache key_hash=000000000000feed"));
    ck_assert_ptr_nonnull(strstr(said, " trace_id=" TRACE_ID "\n"));
    ck_assert_ptr_null(strstr(said, "secret"));
}
END_TEST

START_TEST(so_is_one_that_fails)
{
    begin_with(SLOW "* fail 14 no backend\n");
    load_slow(1, "k", 1, NULL);
    assert_failed(1, HG_UNAVAILABLE, "no backend");
    ck_assert_ptr_nonnull(strstr(stop_and_read(1), " ms: UNAVAILABLE cache="));
    ck_assert_ptr_null(strstr(said, "trace_id"));
}
END_TEST

START_TEST(one_that_took_less_is_not)
{
    begin_with(SLOW);
    load_slow(1, "k", 3600000, TRACE);
    assert_value(1, "k");
    load_slow(2, "k", 0, TRACE); /* off */
    assert_value(2, "k");
    ck_assert_ptr_null(strstr(stop_and_read(2), "a load took"));
}
END_TEST

START_TEST(the_plugin_is_told_the_trace)
{
    start(1, 8, "* trace\n");
    load_slow(1, "k", 0, TRACE);
    assert_value(1, TRACE);
    load_slow(2, "k", 0, NULL);
    assert_value(2, "none");
    finish(2);
}
END_TEST

HGI_SUITE("server.slow_load", 60, a_slow_load_is_told_with_its_key_and_its_trace,
          so_is_one_that_fails, one_that_took_less_is_not, the_plugin_is_told_the_trace)
