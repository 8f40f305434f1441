/* SPDX-License-Identifier: Apache-2.0 */
/* The server under a service manager: it says when it is ready, that it lives, and when it stops.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "manager.h"

/* Until RELOADING=1, with the moment in microseconds of the monotonic clock. */
static void hear_reload(struct manager *manager)
{
    long long at_us = 0;
    struct timespec now;
    char text[1024];

    do {
        manager_hear(manager, text, sizeof(text));
    } while (sscanf(text, "RELOADING=1\nMONOTONIC_USEC=%lld", &at_us) != 1);
    clock_gettime(CLOCK_MONOTONIC, &now);
    ck_assert_int_gt(at_us, 0);
    ck_assert_int_le(at_us, now.tv_sec * 1000000LL + now.tv_nsec / 1000);
}

START_TEST(ready_alive_and_stopping_are_told)
{
    struct daemon d;
    char text[1024];
    struct manager manager;

    manager_open(&manager);
    daemon_prepare(&d, "cache \"c\" { key = \"bytes\" value = \"bytes\" loader = \"script\" }\n");
    manager_start(&manager, &d, "8000000");
    /* The heartbeat may be first. */
    manager_hear_until(&manager, "READY=1\nSTATUS=serving 1 caches");
    /* It goes on asking itself. */
    manager_hear_until(&manager, "WATCHDOG=1");
    manager_hear_until(&manager, "WATCHDOG=1");
    /* A reload is one from its beginning to its end. */
    ck_assert_int_eq(kill(d.pid, SIGHUP), 0);
    hear_reload(&manager);
    manager_hear_until(&manager, "READY=1");
    hg_client_close(&d.client);
    ck_assert_int_eq(daemon_terminate(&d), 0);
    manager_hear_until(&manager, "STOPPING=1");
    /* It may have been about to say that it lives; after that there is nothing. */
    while (recv(manager.fd, text, sizeof(text), MSG_DONTWAIT) > 0) {
        ck_assert_int_eq(strncmp(text, "WATCHDOG=1", 10), 0);
    }
    manager_close(&manager);
    daemon_remove(&d);
}
END_TEST

START_TEST(without_a_watchdog_there_is_no_heartbeat)
{
    struct daemon d;
    char text[1024];
    struct manager manager;

    manager_open(&manager);
    daemon_prepare(&d, "cache \"c\" { key = \"bytes\" value = \"bytes\" }\n");
    manager_start(&manager, &d, NULL);
    manager_hear(&manager, text, sizeof(text));
    ck_assert_str_eq(text, "READY=1\nSTATUS=serving 1 caches");
    daemon_stop(&d);
    manager_hear(&manager, text, sizeof(text));
    ck_assert_str_eq(text,
                     "STOPPING=1"); /* no watchdog was asked for, so there was no word of it */
    manager_close(&manager);
    daemon_remove(&d);
}
END_TEST

/* Its socket is taken away, as a careless clean-up of /run does it: nobody can come in any more. */
START_TEST(a_server_nobody_can_reach_ends_for_the_manager_to_begin_anew)
{
    struct daemon d;
    char path[160];
    struct manager manager;

    manager_open(&manager);
    daemon_prepare(&d, "cache \"c\" { key = \"bytes\" value = \"bytes\" }\n");
    manager_start(&manager, &d, "8000000");
    manager_hear_until(&manager, "WATCHDOG=1");
    snprintf(path, sizeof(path), "%s/run/herdgate.sock", d.dir);
    ck_assert_int_eq(unlink(path), 0);
    manager_await_abort(&d);
    manager_close(&manager);
    daemon_remove(&d);
}
END_TEST

HGI_SUITE("e2e.notified", 60, ready_alive_and_stopping_are_told,
          without_a_watchdog_there_is_no_heartbeat,
          a_server_nobody_can_reach_ends_for_the_manager_to_begin_anew)
