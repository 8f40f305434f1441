/* SPDX-License-Identifier: Apache-2.0 */
#include "tls_client.h"

#include <mbedtls/ctr_drbg.h>
#include <mbedtls/entropy.h>
#include <mbedtls/net_sockets.h>
#include <mbedtls/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "hg_test.h"
#include "proto/sp.h"

#define READ_MS 20000

struct hgi_tls_client {
    mbedtls_net_context net;
    mbedtls_ssl_context ssl;
    mbedtls_ssl_config config;
    mbedtls_entropy_context entropy;
    mbedtls_ctr_drbg_context random;
    mbedtls_x509_crt cert;
    mbedtls_pk_context key;
};

void certs_make(struct certs *certs)
{
    char command[256];

    snprintf(certs->dir, sizeof(certs->dir), "/tmp/herdgate-certs-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(certs->dir));
    snprintf(command, sizeof(command), "%s/tests/lib/make_certs.sh %s", HGI_SOURCE_DIR, certs->dir);
    ck_assert_int_eq(system(command), 0);
}

void certs_remove(struct certs *certs)
{
    char command[128];

    snprintf(command, sizeof(command), "rm -rf %s", certs->dir);
    ck_assert_int_eq(system(command), 0);
}

void certs_path(const struct certs *certs, const char *name, const char *end, char ret_path[128])
{
    snprintf(ret_path, 128, "%s/%s.%s", certs->dir, name, end);
}

static void show_certificate(struct hgi_tls_client *client, const struct certs *certs,
                             const char *name)
{
    char path[128];

    certs_path(certs, name, "pem", path);
    HGI_BUG_ON(mbedtls_x509_crt_parse_file(&client->cert, path) != 0);
    certs_path(certs, name, "key", path);
    HGI_BUG_ON(mbedtls_pk_parse_keyfile(&client->key, path, NULL) != 0);
    HGI_BUG_ON(mbedtls_ssl_conf_own_cert(&client->config, &client->cert, &client->key) != 0);
}

static void set_up(struct hgi_tls_client *client)
{
    mbedtls_net_init(&client->net);
    mbedtls_ssl_init(&client->ssl);
    mbedtls_ssl_config_init(&client->config);
    mbedtls_entropy_init(&client->entropy);
    mbedtls_ctr_drbg_init(&client->random);
    mbedtls_x509_crt_init(&client->cert);
    mbedtls_pk_init(&client->key);
    HGI_BUG_ON(mbedtls_ctr_drbg_seed(&client->random, mbedtls_entropy_func, &client->entropy, NULL,
                                     0) != 0);
    HGI_BUG_ON(mbedtls_ssl_config_defaults(&client->config, MBEDTLS_SSL_IS_CLIENT,
                                           MBEDTLS_SSL_TRANSPORT_STREAM,
                                           MBEDTLS_SSL_PRESET_DEFAULT) != 0);
    mbedtls_ssl_conf_authmode(&client->config, MBEDTLS_SSL_VERIFY_NONE);
    mbedtls_ssl_conf_rng(&client->config, mbedtls_ctr_drbg_random, &client->random);
    mbedtls_ssl_conf_read_timeout(&client->config, READ_MS);
}

struct hgi_tls_client *hgi_tls_client_open(const char *url, const struct certs *certs,
                                           const char *name)
{
    struct hgi_tls_client *client = calloc(1, sizeof(*client));
    const char *port = strrchr(url, ':') + 1;

    HGI_BUG_ON(!client);
    set_up(client);
    if (name) {
        show_certificate(client, certs, name);
    }
    HGI_BUG_ON(mbedtls_ssl_setup(&client->ssl, &client->config) != 0);
    mbedtls_ssl_set_bio(&client->ssl, &client->net, mbedtls_net_send, NULL,
                        mbedtls_net_recv_timeout);
    if (mbedtls_net_connect(&client->net, "127.0.0.1", port, MBEDTLS_NET_PROTO_TCP) != 0 ||
        mbedtls_ssl_handshake(&client->ssl) != 0) {
        hgi_tls_client_close(&client);
    }
    return client;
}

void hgi_tls_client_close(struct hgi_tls_client **client_at)
{
    struct hgi_tls_client *client = *client_at;

    mbedtls_net_free(&client->net);
    mbedtls_ssl_free(&client->ssl);
    mbedtls_ssl_config_free(&client->config);
    mbedtls_x509_crt_free(&client->cert);
    mbedtls_pk_free(&client->key);
    mbedtls_ctr_drbg_free(&client->random);
    mbedtls_entropy_free(&client->entropy);
    free(client);
    *client_at = NULL;
}

bool hgi_tls_client_write(struct hgi_tls_client *client, struct hg_slice bytes)
{
    const unsigned char *at = bytes.data;
    size_t left = bytes.len;

    while (left > 0) {
        int len = mbedtls_ssl_write(&client->ssl, at, left);

        if (len <= 0) {
            return false;
        }
        at += len;
        left -= (size_t)len;
    }
    return true;
}

bool hgi_tls_client_read(struct hgi_tls_client *client, unsigned char *ret_bytes, size_t size)
{
    for (size_t got = 0; got < size;) {
        int len = mbedtls_ssl_read(&client->ssl, ret_bytes + got, size - got);

        if (len <= 0) {
            return false;
        }
        got += (size_t)len;
    }
    return true;
}

bool hgi_tls_client_greet(struct hgi_tls_client *client)
{
    unsigned char hello[HGI_SP_HANDSHAKE_LEN];

    hgi_sp_handshake(HGI_SP_REQ, hello);
    return hgi_tls_client_write(client, hg_slice_of(hello, sizeof(hello))) &&
           hgi_tls_client_read(client, hello, sizeof(hello)) &&
           hgi_sp_handshake_is(HGI_SP_REP, hello);
}

bool hgi_tls_client_send(struct hgi_tls_client *client, uint32_t id, struct hg_slice body)
{
    unsigned char head[HGI_SP_HEAD_MAX];
    struct hgi_sp_route route = hgi_sp_route_of(id);
    size_t len = hgi_sp_head(HGI_SP_TCP, &route, body.len, head);

    return hgi_tls_client_write(client, hg_slice_of(head, len)) &&
           hgi_tls_client_write(client, body);
}
