/* SPDX-License-Identifier: Apache-2.0 */
#include "hg_test.h"

#include "client/url.h"

static enum hg_status check(const char *url)
{
    char sentence[HGI_SENTENCE_MAX] = "";
    enum hg_status status = hgi_client_url_check(url, sentence);

    ck_assert_int_eq(status == HG_OK, sentence[0] == '\0');
    return status;
}

START_TEST(sockets_and_host_with_port_are_addresses)
{
    ck_assert_int_eq(check("ipc:///run/herdgate/herdgate.sock"), HG_OK);
    ck_assert_int_eq(check("unix:///tmp/x"), HG_OK);
    ck_assert_int_eq(check("abstract://x"), HG_OK);
    ck_assert_int_eq(check("tcp://127.0.0.1:1"), HG_OK);
    ck_assert_int_eq(check("tcp://localhost:65535"), HG_OK);
    ck_assert_int_eq(check("tcp://[::1]:7448"), HG_OK);
    ck_assert(hgi_client_url_is_tcp("tcp://a:1"));
    ck_assert(!hgi_client_url_is_tcp("ipc://a"));
}
END_TEST

START_TEST(what_is_no_address_is_refused_with_a_sentence)
{
    const char *const bad[] = {"",
                               "herdgate",
                               "http://localhost:80",
                               "tls+tcp://localhost",
                               "tls+tcp://localhost:0",
                               "tls://localhost:80",
                               "ipc://",
                               "tcp://",
                               "tcp://localhost",
                               "tcp://localhost:",
                               "tcp://:7448",
                               "tcp://localhost:0",
                               "tcp://localhost:65536",
                               "tcp://localhost:99999999999999999999",
                               "tcp://localhost:74a8"};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ck_assert_msg(check(bad[i]) == HG_INVALID_ARGUMENT, "%s was taken", bad[i]);
    }
}
END_TEST

START_TEST(path_longer_than_the_system_allows_is_refused)
{
    char url[200] = "ipc://";

    memset(url + 6, 'a', 107);
    ck_assert_int_eq(check(url), HG_OK);
    url[6 + 107] = 'a';
    ck_assert_int_eq(check(url), HG_INVALID_ARGUMENT);
}
END_TEST

START_TEST(tls_is_tcp_with_a_host_to_be_certified)
{
    char host[32];

    ck_assert_int_eq(check("tls+tcp://gate.example:7449"), HG_OK);
    ck_assert(hgi_client_url_is_tcp("tls+tcp://gate.example:7449"));
    ck_assert(hgi_client_url_is_tls("tls+tcp://gate.example:7449"));
    ck_assert(!hgi_client_url_is_tls("tcp://gate.example:7449"));
    ck_assert(!hgi_client_url_is_tls("ipc:///tls+tcp://"));
    hgi_client_url_host("tls+tcp://gate.example:7449", host, sizeof(host));
    ck_assert_str_eq(host, "gate.example");
    hgi_client_url_host("tcp://[::1]:7449", host, sizeof(host));
    ck_assert_str_eq(host, "[::1]");
}
END_TEST

HGI_SUITE("client.url", 20, tls_is_tcp_with_a_host_to_be_certified,
          sockets_and_host_with_port_are_addresses, what_is_no_address_is_refused_with_a_sentence,
          path_longer_than_the_system_allows_is_refused)
