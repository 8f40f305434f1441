/* SPDX-License-Identifier: Apache-2.0 */
/* The example gateway lets in who is allowed, and nobody else whatever happens. */
#include "hg_test.h"

#include <stdio.h>

#include "fake_caches.h"
#include "runner.h"

#define GATEWAY HGI_BUILD_DIR "/bin/gateway"

static struct run ran;

static void ask(const char *url, const char *keys)
{
    char line[200];

    snprintf(line, sizeof(line), "%s auth", url);
    run_program(GATEWAY, keys, line, &ran);
    ck_assert_int_eq(ran.rc, 0);
    ck_assert_str_eq(ran.err, "");
}

START_TEST(only_an_allowed_value_lets_in)
{
    struct fake_server *server = fake_server_start(&(struct fake_options){.handler = fake_caches});

    ask(fake_server_url(server), "auth\ndenied\nabsent\ntext\nnone\nerror:UNAVAILABLE\n"
                                 "error:INVALID_ARGUMENT\nerror:PERMISSION_DENIED\n");
    ck_assert_str_eq(ran.out, "200 u1: allowed\n"
                              "403 the key is revoked, expired or not allowed\n"
                              "401 no such key\n"
                              "503 the cache does not hold auth values\n"
                              "503 no answer\n"
                              "503 as asked for\n"
                              "401 as asked for\n"
                              "503 as asked for\n");
    fake_server_stop(&server);
}
END_TEST

START_TEST(absent_server_lets_nobody_in)
{
    ask("ipc:///tmp/hg_nobody_here.sock", "auth\n");
    ck_assert_int_eq(strncmp(ran.out, "503 cannot connect to ", 22), 0);
}
END_TEST

HGI_SUITE("client.gateway", 60, only_an_allowed_value_lets_in, absent_server_lets_nobody_in)
