/* SPDX-License-Identifier: Apache-2.0 */
#include "hg_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/check.h"
#include "server/rpc/address.h"

static enum hg_status parse(const char *url, enum hgi_access access,
                            struct hgi_address *ret_address, char *ret_sentence)
{
    struct hgi_listen_config listen = {.url = url, .access = access};

    return hgi_address_parse(&listen, ret_address, ret_sentence);
}

START_TEST(absolute_socket_path_is_taken_with_either_access)
{
    char sentence[HGI_SENTENCE_MAX];
    struct hgi_address address;

    ck_assert_int_eq(parse("ipc:///run/h.sock", HGI_ACCESS_OWNER, &address, sentence), HG_OK);
    ck_assert(address.is_ipc);
    ck_assert_str_eq(address.path, "/run/h.sock");
    ck_assert_int_eq(parse("ipc:///run/h.sock", HGI_ACCESS_DATA, &address, sentence), HG_OK);
}
END_TEST

START_TEST(loopback_addresses_are_taken_for_data)
{
    static const char *const hosts[] = {"127.0.0.1", "127.255.0.3", "localhost", "[::1]"};
    char sentence[HGI_SENTENCE_MAX];

    for (size_t i = 0; i < HGI_COUNT_OF(hosts); i++) {
        struct hgi_address address;
        char url[64];

        snprintf(url, sizeof(url), "tcp://%s:65535", hosts[i]);
        ck_assert_int_eq(parse(url, HGI_ACCESS_DATA, &address, sentence), HG_OK);
        ck_assert(!address.is_ipc);
        ck_assert_str_eq(address.host, hosts[i]);
        ck_assert_uint_eq(address.port, 65535);
    }
}
END_TEST

START_TEST(what_cannot_be_listened_on_gets_a_sentence_that_says_what_would_be_right)
{
    static const struct {
        const char *url;
        const char *says;
    } bad[] = {
        {"tcp://0.0.0.0:7448", "use 127.0.0.1, [::1] or localhost"},
        {"tcp://192.168.1.1:7448", "use 127.0.0.1, [::1] or localhost"},
        {"tcp://example.com:7448", "use 127.0.0.1, [::1] or localhost"},
        {"tcp://127.0.0.1.example.com:7448", "use 127.0.0.1, [::1] or localhost"},
        {"tcp://*:7448", "use 127.0.0.1, [::1] or localhost"},
        {"tcp://[::]:7448", "use 127.0.0.1, [::1] or localhost"},
        {"tcp://:7448", "as in tcp://127.0.0.1:7448"},
        {"tcp://127.0.0.1", "as in tcp://127.0.0.1:7448"},
        {"tcp://127.0.0.1:", "as in tcp://127.0.0.1:7448"},
        {"tcp://127.0.0.1:65536", "as in tcp://127.0.0.1:7448"},
        {"tcp://127.0.0.1:-1", "as in tcp://127.0.0.1:7448"},
        {"tcp://127.0.0.1:12x", "as in tcp://127.0.0.1:7448"},
        {"ipc://relative/h.sock", "as in ipc:///run/herdgate/herdgate.sock"},
        {"ipc://", "as in ipc:///run/herdgate/herdgate.sock"},
        {"tls+tcp://0.0.0.0:7449",
         "TLS needs access = \"token\", a cert, its key and the clients' ca"},
        {"abstract://herdgate", "begins with ipc://, tcp:// or tls+tcp://"},
        {"ws://127.0.0.1:80", "begins with ipc://, tcp:// or tls+tcp://"},
        {"", "begins with ipc://, tcp:// or tls+tcp://"},
    };

    for (size_t i = 0; i < HGI_COUNT_OF(bad); i++) {
        char sentence[HGI_SENTENCE_MAX] = "";
        struct hgi_address address;

        ck_assert_int_eq(parse(bad[i].url, HGI_ACCESS_DATA, &address, sentence),
                         HG_FAILED_PRECONDITION);
        ck_assert_msg(strstr(sentence, bad[i].says) != NULL, "%s: %s", bad[i].url, sentence);
        ck_assert_msg(strstr(sentence, bad[i].url) != NULL, "%s: %s", bad[i].url, sentence);
    }
}
END_TEST

START_TEST(owner_access_on_tcp_is_refused)
{
    char sentence[HGI_SENTENCE_MAX] = "";
    struct hgi_address address;

    ck_assert_int_eq(parse("tcp://127.0.0.1:7448", HGI_ACCESS_OWNER, &address, sentence),
                     HG_FAILED_PRECONDITION);
    ck_assert_ptr_nonnull(strstr(sentence, "access = \"data\""));
}
END_TEST

START_TEST(path_of_107_bytes_is_taken_and_one_more_is_refused)
{
    char url[256] = "ipc://";
    char sentence[HGI_SENTENCE_MAX] = "";
    struct hgi_address address;

    memset(url + 6, '/', 108);
    ck_assert_int_eq(parse(url, HGI_ACCESS_OWNER, &address, sentence), HG_FAILED_PRECONDITION);
    ck_assert_ptr_nonnull(strstr(sentence, "108 bytes"));
    url[6 + 107] = '\0';
    ck_assert_int_eq(parse(url, HGI_ACCESS_OWNER, &address, sentence), HG_OK);
}
END_TEST

START_TEST(lock_is_held_by_one_until_it_is_closed)
{
    char folder[] = "/tmp/hg-address-XXXXXX";
    char sentence[HGI_SENTENCE_MAX] = "";
    char path[64];
    char lock[80];
    int first = -1;
    int second = -1;

    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/s", folder);
    snprintf(lock, sizeof(lock), "%s.lock", path);
    ck_assert_int_eq(hgi_address_lock(path, &first, sentence), HG_OK);
    ck_assert_int_eq(hgi_address_lock(path, &second, sentence), HG_UNAVAILABLE);
    ck_assert_int_eq(second, -1);
    ck_assert_ptr_nonnull(strstr(sentence, "another server is using this address"));
    close(first);
    ck_assert_int_eq(hgi_address_lock(path, &second, sentence), HG_OK);
    close(second);
    unlink(lock);
    ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

HGI_SUITE("server.address", 20, absolute_socket_path_is_taken_with_either_access,
          loopback_addresses_are_taken_for_data,
          what_cannot_be_listened_on_gets_a_sentence_that_says_what_would_be_right,
          owner_access_on_tcp_is_refused, path_of_107_bytes_is_taken_and_one_more_is_refused,
          lock_is_held_by_one_until_it_is_closed)
