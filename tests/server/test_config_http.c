/* SPDX-License-Identifier: Apache-2.0 */
/* The listeners of HTTP, and how gateways' requests become keys. */
#include <stdio.h>

#include "config_scene.h"

#define FILES  "key_file = \"/var/lib/hg/key\"\ntokens_file = \"/var/lib/hg/tokens\"\n"
#define AUTH   LISTEN "cache \"a\" { key = \"auth\" value = \"auth\" }\n"
#define AUTHZ  "authz \"a\" { }\n"
#define KEPT   LISTEN "cache \"a\" { key = \"auth\" value = \"auth\" stale_if_error = \"1h\" }\n"
#define PLACES "http \"http://127.0.0.1:7480\" { services = \"operator\" }\n"

START_TEST(there_is_no_http_unless_it_is_configured)
{
    struct hgi_config *config = config_read_good(SMALL);

    ck_assert_uint_eq(config->http_count, 0);
    ck_assert_uint_eq(config->authz_count, 0);
    hgi_config_destroy(&config);
}
END_TEST

START_TEST(addresses_are_loopback_unix_or_have_tls)
{
    struct hgi_config *config = config_read_good(
        AUTH PLACES "http \"http://[::1]:0\" { services = \"operator\" access = \"data\" }\n"
                    "http \"unix:///run/hg/http.sock\" { services = \"authz\" }\n"
                    "http \"https://0.0.0.0:443\" { services = \"authz\" cert = \"/c.pem\" key = "
                    "\"/k.pem\" }\n" AUTHZ);

    ck_assert_uint_eq(config->http_count, 4);
    ck_assert_str_eq(config->https[0].host, "127.0.0.1");
    ck_assert_uint_eq(config->https[0].port, 7480);
    ck_assert_int_eq(config->https[0].access, HGI_ACCESS_TOKEN);
    ck_assert_str_eq(config->https[1].host, "::1");
    ck_assert_int_eq(config->https[1].access, HGI_ACCESS_DATA);
    ck_assert_str_eq(config->https[2].path, "/run/hg/http.sock");
    ck_assert_int_eq(config->https[2].access, HGI_ACCESS_OWNER);
    ck_assert(config->https[3].is_tls);
    hgi_config_destroy(&config);
}
END_TEST

START_TEST(addresses_that_cannot_be_served_are_refused)
{
#define ADDRESS                                                                                    \
    " has no address in numbers with a port of 0 to 65535; write such as "                         \
    "\"http://127.0.0.1:7480\""
    static const char *const wrong[] = {"http://127.0.0.1", "http://example.org:80",
                                        "http://127.0.0.1:65536", "http://[::1]", "http://:80"};
    char text[256];
    char expected[512];

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        snprintf(text, sizeof(text), SMALL "http \"%s\" { services = \"operator\" }\n", wrong[i]);
        snprintf(expected, sizeof(expected), ":3: http \"%s\"" ADDRESS, wrong[i]);
        config_refused(text, expected);
    }
#undef ADDRESS
    config_refused(SMALL "http \"tcp://127.0.0.1:80\" { services = \"operator\" }\n",
                   ":3: http \"tcp://127.0.0.1:80\" has no known scheme; write http://host:port, "
                   "https://host:port or unix:///path");
    config_refused(SMALL "http \"http://10.0.0.1:80\" { services = \"operator\" }\n",
                   ":3: http \"http://10.0.0.1:80\" is open to the network, which needs TLS; write "
                   "\"https://...\", or a loopback address such as \"http://127.0.0.1:7480\"");
    config_refused(SMALL "http \"https://10.0.0.1:80\" { services = \"operator\" }\n",
                   ":3: http \"https://10.0.0.1:80\": cert is missing; https needs cert and key");
    config_refused(SMALL "http \"http://127.0.0.1:80\" { services = \"operator\"\n"
                         "cert = \"/c\" }\n",
                   ":4: http \"http://127.0.0.1:80\": cert is for https; there is no TLS here");
    config_refused(SMALL "http \"unix://run\" { services = \"operator\" }\n",
                   ":3: http \"unix://run\" names no socket by an absolute path of at most 107 "
                   "bytes; write such as \"unix:///run/herdgate/authz.sock\"");
    config_refused(
        SMALL "http \"http://127.0.0.1:80\" { services = \"operator\"\n"
              "threads = 9 connections_max = 8 }\n",
        ":4: http \"http://127.0.0.1:80\": threads (9) are more than connections_max (8)");
    config_refused(SMALL "http \"http://127.0.0.1:80\" { }\n",
                   ":3: http \"http://127.0.0.1:80\": services is missing and must be given");
}
END_TEST

START_TEST(access_is_an_operators_and_fits_its_address)
{
    config_refused(AUTH "http \"http://127.0.0.1:80\" { services = \"authz\"\n"
                        "access = \"data\" }\n" AUTHZ,
                   ":4: http \"http://127.0.0.1:80\": access is an operator's; whoever reaches a "
                   "listener with services = \"authz\" may ask it");
    config_refused(SMALL "http \"http://127.0.0.1:80\" { services = \"operator\"\n"
                         "access = \"owner\" }\n",
                   ":4: http \"http://127.0.0.1:80\": access owner needs unix, where the peer's "
                   "user is known; write \"data\" or \"token\"");
    config_refused(SMALL "http \"http://127.0.0.1:80\" { services = \"operator\"\n"
                         "access = \"token\" }\n",
                   ":4: http \"http://127.0.0.1:80\": access token needs a tokens_file; write such "
                   "as tokens_file = \"/var/lib/herdgate/tokens\"");
    config_refused(AUTH "http \"http://127.0.0.1:80\" { services = \"authz\" }\n",
                   ":3: http \"http://127.0.0.1:80\" has nothing to decide by; write such as "
                   "authz \"auth\" { credential = \"bearer\" }");
}
END_TEST

START_TEST(an_authz_section_says_how_a_request_becomes_a_key)
{
    struct hgi_config *config = config_read_good(
        AUTH "authz \"a\" { credential = \"header:X-Api-Key\" credential_hash = \"none\"\n"
             "facts = \"path, method\" facts_from = \"forwarded\" fail = \"open\" realm = \"r\"\n"
             "timeout = \"1s\" header(\"X-User\", \"user_id\") header(\"X-Plan\", "
             "\"attribute:plan\") }\n");
    const struct hgi_authz_config *authz = &config->authzs[0];

    ck_assert_str_eq(authz->cache, "a");
    ck_assert_int_eq(authz->source, HGI_CREDENTIAL_HEADER);
    ck_assert_str_eq(authz->source_name, "X-Api-Key");
    ck_assert_int_eq(authz->hash, HGI_CREDENTIAL_PLAIN);
    ck_assert_uint_eq(authz->facts, HGI_FACT_METHOD | HGI_FACT_PATH);
    ck_assert_int_eq(authz->facts_from, HGI_FACTS_FROM_FORWARDED);
    ck_assert_int_eq(authz->fail, HGI_FAIL_OPEN);
    ck_assert_str_eq(authz->realm, "r");
    ck_assert_int_eq(authz->timeout_ms, 1000);
    ck_assert_uint_eq(authz->header_count, 2);
    ck_assert_str_eq(authz->headers[1].name, "X-Plan");
    ck_assert_str_eq(authz->headers[1].of, "attribute:plan");
    hgi_config_destroy(&config);
    config = config_read_good(AUTH AUTHZ);
    ck_assert_int_eq(config->authzs[0].source, HGI_CREDENTIAL_BEARER);
    ck_assert_int_eq(config->authzs[0].hash, HGI_CREDENTIAL_SHA256);
    ck_assert_int_eq(config->authzs[0].fail, HGI_FAIL_CLOSED);
    hgi_config_destroy(&config);
}
END_TEST

START_TEST(an_authz_section_that_cannot_decide_is_refused)
{
    config_refused(AUTH "authz \"aa\" { }\n",
                   ":3: authz \"aa\": there is no cache of that name; did you mean \"a\"?");
    config_refused(AUTH "authz \"a\" {\n credential = \"basic\" }\n",
                   ":4: authz \"a\": credential = \"basic\" is no place to look; write \"bearer\", "
                   "\"header:X-Api-Key\", \"cookie:NAME\" or \"query:NAME\"");
    config_refused(AUTH "authz \"a\" {\n credential = \"header:a b\" }\n",
                   ":4: authz \"a\": credential = \"header:a b\" is no place to look; write "
                   "\"bearer\", \"header:X-Api-Key\", \"cookie:NAME\" or \"query:NAME\"");
    config_refused(
        AUTH "authz \"a\" {\n facts = \"method, size\" }\n",
        ":4: authz \"a\": facts = \"method, size\": \"size\" is none, or is there twice; "
        "there are method, host and path");
    config_refused(LISTEN "cache \"a\" { key = \"key_hash\" value = \"auth\" }\n"
                          "authz \"a\" {\n facts = \"method\" }\n",
                   ":4: authz \"a\": key_hash keys have no place for facts; use a cache of "
                   "user_api_key, auth or bytes keys");
    config_refused(LISTEN "cache \"a\" { key = \"user_api_key\" value = \"auth\" }\n" AUTHZ,
                   ":3: authz \"a\": a credential alone is no user_api_key key; use a cache of "
                   "key_hash, auth or bytes keys, or let facts join it");
    config_refused(LISTEN "cache \"a\" { key = \"api_key_feature\" value = \"json\" }\n" AUTHZ,
                   ":3: authz \"a\": a credential alone is no api_key_feature key; use a cache of "
                   "key_hash, auth or bytes keys");
    config_refused(AUTH "authz \"a\" {\n realm = \"a\\\"b\" }\n",
                   ":4: authz \"a\": a realm is text without quotes and backslashes");
}
END_TEST

START_TEST(headers_say_what_the_caches_values_have)
{
    config_refused(
        AUTH "authz \"a\" {\n header(\"X-A\", \"name\") }\n",
        ":4: authz \"a\": header X-A: \"name\" is nothing that auth values say; there is "
        "user_id, api_key_id, scopes, not_after and attribute:NAME");
    config_refused(AUTH "authz \"a\" {\n header(\"X A\", \"user_id\") }\n",
                   ":4: authz \"a\": \"X A\" cannot be the name of a header");
    config_refused(
        LISTEN "cache \"a\" { key = \"bytes\" value = \"json\" }\n"
               "authz \"a\" {\n header(\"X-A\", \"user_id\") }\n",
        ":4: authz \"a\": header X-A: \"user_id\" is nothing that json values say; there "
        "is what a pointer such as \"/user/id\" finds");
    config_refused(AUTH "authz \"a\" {\n header(\"X-A\") }\n",
                   ":4: authz \"a\": header takes a header and what it says; write "
                   "header(\"X-Auth-User\", \"user_id\")");
}
END_TEST

START_TEST(stale_answers_are_said_by_both_sections_or_by_none)
{
    struct hgi_config *config = config_read_good(KEPT "authz \"a\" { fail = \"stale\" }\n");

    hgi_config_destroy(&config);
    config_refused(AUTH "authz \"a\" {\n fail = \"stale\" }\n",
                   ":4: authz \"a\": fail = \"stale\" needs what was known last; give the cache "
                   "\"a\" such as stale_if_error = \"1h\"");
    config_refused(KEPT AUTHZ,
                   ":3: authz \"a\": the cache \"a\" has stale_if_error, so failures are answered "
                   "with old values; write fail = \"stale\", or take it away");
}
END_TEST

HGI_SUITE("server.config_http", 20, there_is_no_http_unless_it_is_configured,
          addresses_are_loopback_unix_or_have_tls, addresses_that_cannot_be_served_are_refused,
          access_is_an_operators_and_fits_its_address,
          an_authz_section_says_how_a_request_becomes_a_key,
          an_authz_section_that_cannot_decide_is_refused, headers_say_what_the_caches_values_have,
          stale_answers_are_said_by_both_sections_or_by_none)
