/* SPDX-License-Identifier: Apache-2.0 */
/* Who is let in where, and who may do what. */
#include <stdio.h>

#include "config_scene.h"

#define FILES "key_file = \"/var/lib/hg/key\"\ntokens_file = \"/var/lib/hg/tokens\"\n"

START_TEST(listens_are_ipc_or_loopback_tcp)
{
    static const char *const good[] = {"tcp://127.0.0.1:7448", "tcp://127.1.2.3:0",
                                       "tcp://[::1]:65535", "tcp://localhost:1"};

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        char text[256];

        snprintf(text, sizeof(text), "listen \"%s\" { }\n" CACHE, good[i]);
        struct hgi_config *config = config_read_good(text);
        ck_assert_int_eq(config->listens[0].access, HGI_ACCESS_DATA);
        hgi_config_destroy(&config);
    }
    config_refused("listen \"http://x\" { }\n" CACHE,
                   ":1: listen \"http://x\" has no known scheme; write ipc:///path, "
                   "tcp://host:port or tls+tcp://host:port");
    config_refused(
        "listen \"tcp://127.0.0.1:7448\" {\n access = \"owner\" }\n" CACHE,
        ":2: listen \"tcp://127.0.0.1:7448\": access owner needs ipc, where the peer's user is "
        "known; write \"data\" or \"token\"");
#define PORT " has no host with a port of 0 to 65535; write such as \"tcp://127.0.0.1:7448\""
    config_refused("listen \"tcp://127.0.0.1\" { }\n" CACHE, ":1: listen \"tcp://127.0.0.1\"" PORT);
    config_refused("listen \"tcp://127.0.0.1:\" { }\n" CACHE,
                   ":1: listen \"tcp://127.0.0.1:\"" PORT);
    config_refused("listen \"tcp://:80\" { }\n" CACHE, ":1: listen \"tcp://:80\"" PORT);
    config_refused("listen \"tcp://127.0.0.1:65536\" { }\n" CACHE,
                   ":1: listen \"tcp://127.0.0.1:65536\"" PORT);
    config_refused("listen \"tcp://127.0.0.1:1x\" { }\n" CACHE,
                   ":1: listen \"tcp://127.0.0.1:1x\"" PORT);
#undef PORT
    static const char *const open[] = {"tcp://0.0.0.0:80", "tcp://127.evil.example:80",
                                       "tcp://127.0.0.256:80", "tcp://127.0.0.1.1:80",
                                       "tcp://localhost.example:80"};

    for (size_t i = 0; i < sizeof(open) / sizeof(open[0]); i++) {
        char text[256];
        char expected[512];

        snprintf(text, sizeof(text), "listen \"%s\" { }\n" CACHE, open[i]);
        snprintf(
            expected, sizeof(expected),
            ":1: listen \"%s\" is open to the network, which needs TLS; write \"tls+%s\", or a "
            "loopback address such as \"tcp://127.0.0.1:7448\"",
            open[i], open[i]);
        config_refused(text, expected);
    }
}
END_TEST

#define TLS_FILES "cert = \"/c.pem\" key = \"/k.pem\" ca = \"/a.pem\" "

START_TEST(tls_needs_its_files_and_tokens_and_nothing_else_has_them)
{
    struct hgi_config *config =
        config_read_good(SMALL FILES "listen \"tls+tcp://0.0.0.0:7449\" { " TLS_FILES "}\n");

    ck_assert_int_eq(config->listens[1].access, HGI_ACCESS_TOKEN);
    ck_assert_str_eq(config->listens[1].cert, "/c.pem");
    ck_assert_str_eq(config->listens[1].key, "/k.pem");
    ck_assert_str_eq(config->listens[1].ca, "/a.pem");
    hgi_config_destroy(&config);
#define MISSING                                                                                    \
    " is missing; TLS needs cert, key and ca, the last to tell which clients may connect"
    config_refused(SMALL FILES "listen \"tls+tcp://a:1\" { }\n",
                   ":5: listen \"tls+tcp://a:1\": cert" MISSING);
    config_refused(SMALL FILES "listen \"tls+tcp://a:1\" { cert = \"/c\" ca = \"/a\" }\n",
                   ":5: listen \"tls+tcp://a:1\": key" MISSING);
    config_refused(SMALL FILES "listen \"tls+tcp://a:1\" { cert = \"/c\" key = \"/k\" }\n",
                   ":5: listen \"tls+tcp://a:1\": ca" MISSING);
#undef MISSING
    config_refused(SMALL FILES "listen \"tls+tcp://a:1\" { " TLS_FILES "\naccess = \"data\" }\n",
                   ":6: listen \"tls+tcp://a:1\": a certificate does not say whose it is; write "
                   "access = \"token\"");
    config_refused(
        SMALL FILES "listen \"tls+tcp://a\" { " TLS_FILES "}\n",
        ":5: listen \"tls+tcp://a\" has no host with a port of 0 to 65535; write such as "
        "\"tcp://127.0.0.1:7448\"");
    config_refused(SMALL "listen \"tls+tcp://a:1\" { " TLS_FILES "}\n",
                   ":3: listen \"tls+tcp://a:1\": access token needs a tokens_file; write such as "
                   "tokens_file = \"/var/lib/herdgate/tokens\"");
    config_refused(SMALL "listen \"tcp://127.0.0.1:1\" {\n ca = \"/a\" }\n",
                   ":4: listen \"tcp://127.0.0.1:1\": ca is for tls+tcp; there is no TLS here");
    config_refused(SMALL "listen \"ipc:///run/hg/b.sock\" { key = \"/k\" }\n",
                   ":3: listen \"ipc:///run/hg/b.sock\": key is for tls+tcp; there is no TLS here");
}
END_TEST

START_TEST(a_listen_serves_all_or_administration_to_who_is_known)
{
    struct hgi_config *config = config_read_good(
        SMALL FILES "listen \"ipc:///run/hg/admin.sock\" { services = \"admin\" }\n"
                    "listen \"tcp://127.0.0.1:1\" { services = \"admin\" access = \"token\" }\n"
                    "listen \"tcp://127.0.0.1:2\" { services = \"all\" }\n");

    ck_assert_int_eq(config->listens[0].serves, HGI_SERVES_ALL);
    ck_assert_int_eq(config->listens[1].serves, HGI_SERVES_ADMIN);
    ck_assert_int_eq(config->listens[1].access, HGI_ACCESS_OWNER);
    ck_assert_int_eq(config->listens[2].serves, HGI_SERVES_ADMIN);
    ck_assert_int_eq(config->listens[3].serves, HGI_SERVES_ALL);
    ck_assert_uint_eq(config->limits.admin_connections_max, 16);
    hgi_config_destroy(&config);
    config_refused(SMALL "listen \"tcp://127.0.0.1:1\" {\n services = \"admin\" }\n",
                   ":4: listen \"tcp://127.0.0.1:1\": services admin needs to know who asks, and "
                   "access data asks nobody; write access = \"token\", or \"owner\" on ipc");
    config_refused("listen \"ipc:///run/hg/a.sock\" { services = \"admin\" }\n" CACHE,
                   ": every listen has services admin, so nothing could be read; write one without "
                   "it");
}
END_TEST

START_TEST(a_socket_path_fits_the_system)
{
    char text[512];
    char expected[512];
    char path[110];

    memset(path, 'a', sizeof(path) - 1);
    path[0] = '/';
    path[107] = '\0';
    snprintf(text, sizeof(text), "listen \"ipc://%s\" { }\n" CACHE, path);
    struct hgi_config *config = config_read_good(text);
    hgi_config_destroy(&config);
    path[107] = 'a';
    path[108] = '\0';
    snprintf(text, sizeof(text), "listen \"ipc://%s\" { }\n" CACHE, path);
    snprintf(expected, sizeof(expected),
             ":1: listen \"ipc://%s\": the socket's path is longer than 107 bytes", path);
    config_refused(text, expected);
}
END_TEST

START_TEST(principals_have_their_grants_in_order)
{
    struct hgi_config *config = config_read_good(
        SMALL FILES "principal \"gw\" { allow(\"c\", \"read, load\") allow(\"*\", \"read\") }\n"
                    "principal \"none\" { }\n");

    ck_assert_str_eq(config->key_file, "/var/lib/hg/key");
    ck_assert_str_eq(config->tokens_file, "/var/lib/hg/tokens");
    ck_assert_uint_eq(config->principal_count, 2);
    ck_assert_str_eq(config->principals[0].name, "gw");
    ck_assert_uint_eq(config->principals[0].grant_count, 2);
    ck_assert_str_eq(config->principals[0].grants[0].cache, "c");
    ck_assert_uint_eq(config->principals[0].grants[0].verbs,
                      hgi_verb_bit(HGI_VERB_READ) | hgi_verb_bit(HGI_VERB_LOAD));
    ck_assert_str_eq(config->principals[0].grants[1].cache, "*");
    ck_assert_uint_eq(config->principals[1].grant_count, 0);
    ck_assert_uint_ne(config->principals[0].number, config->principals[1].number);
    hgi_config_destroy(&config);
}
END_TEST

START_TEST(a_grant_names_verbs_and_a_cache_that_are_there)
{
    config_refused(SMALL FILES "principal \"gw\" {\n allow(\"c\", \"read, lod\") }\n",
                   ":6: principal \"gw\": \"lod\" is nothing that may be allowed; there are read, "
                   "load, write, clear and admin");
    config_refused(SMALL FILES "principal \"gw\" { allow(\"c\", \" \") }\n",
                   ":5: principal \"gw\": \"\" is nothing that may be allowed; there are read, "
                   "load, write, clear and admin");
    config_refused(SMALL "cache \"users\" { key = \"bytes\" value = \"bytes\" }\n" FILES
                         "principal \"gw\" { allow(\"user\", \"read\") }\n",
                   ":6: principal \"gw\": there is no cache \"user\"; did you mean \"users\"?");
    config_refused(
        SMALL FILES "principal \"gw\" { allow(\"something\", \"read\") }\n",
        ":5: principal \"gw\": there is no cache \"something\"; write one, or \"*\" for every "
        "cache");
    config_refused(SMALL FILES "principal \"gw\" { allow(\"c\") }\n",
                   ":5: principal \"gw\": allow takes a cache and what may be done; write "
                   "allow(\"auth\", \"read, load\")");
    config_refused(SMALL FILES
                   "principal \"gw\" { allow(\"c\", \"read\")\nallow(\"c\", \"load\") }\n",
                   ":6: principal \"gw\": allow c is set twice; the first is on line 5");
    config_refused(SMALL FILES "principal \"two words\" { }\n",
                   ":5: principal \"two words\" is no name; write 1 to 64 letters, digits, '_', "
                   "'-' or '.'");
}
END_TEST

START_TEST(tokens_need_their_files)
{
    config_refused(SMALL "tokens_file = \"/t\"\n",
                   ":3: tokens_file needs a key_file, with which what it holds is keyed; write "
                   "such as key_file = \"/var/lib/herdgate/key\"");
    config_refused(SMALL "principal \"gw\" { allow(\"c\", \"read\") }\n",
                   ":3: principal \"gw\": nobody can have a token of it without a tokens_file; "
                   "write such as tokens_file = \"/var/lib/herdgate/tokens\"");
    config_refused(SMALL "listen \"tcp://127.0.0.1:1\" { access = \"token\" }\n",
                   ":3: listen \"tcp://127.0.0.1:1\": access token needs a tokens_file; write "
                   "such as tokens_file = \"/var/lib/herdgate/tokens\"");
}
END_TEST

START_TEST(encryption_needs_the_servers_key)
{
    config_refused(SMALL "snapshot { path = \"/s\"\n encrypt = \"on\" }\n",
                   ":4: snapshot: encrypt needs a key_file; write such as "
                   "key_file = \"/var/lib/herdgate/key\"");
}
END_TEST

START_TEST(a_token_opens_ipc_and_loopback_tcp)
{
    struct hgi_config *config =
        config_read_good(SMALL FILES "listen \"tcp://127.0.0.1:1\" { access = \"token\" }\n"
                                     "listen \"ipc:///run/hg/t.sock\" { access = \"token\" }\n");

    ck_assert_uint_eq(config->listen_count, 3);
    ck_assert_int_eq(config->listens[1].access, HGI_ACCESS_TOKEN);
    ck_assert_int_eq(config->listens[2].access, HGI_ACCESS_TOKEN);
    hgi_config_destroy(&config);
}
END_TEST

HGI_SUITE("server.config_access", 20, listens_are_ipc_or_loopback_tcp,
          tls_needs_its_files_and_tokens_and_nothing_else_has_them,
          a_listen_serves_all_or_administration_to_who_is_known, a_socket_path_fits_the_system,
          principals_have_their_grants_in_order, a_grant_names_verbs_and_a_cache_that_are_there,
          tokens_need_their_files, encryption_needs_the_servers_key,
          a_token_opens_ipc_and_loopback_tcp)
