/* SPDX-License-Identifier: Apache-2.0 */
#include "identity.h"

#include <errno.h>
#include <mbedtls/oid.h>
#include <mbedtls/pk.h>
#include <mbedtls/x509_crt.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/trust.h"

static enum hg_status refuse(const char *path, const char *why, char *ret_sentence)
{
    snprintf(ret_sentence, HGI_SENTENCE_MAX, "%.100s %.150s", path, why);
    return HG_FAILED_PRECONDITION;
}

/* The whole file and a NUL, which is how Mbed TLS tells PEM. */
static enum hg_status read_text(int fd, const char *path, struct hg_bytes *ret_bytes,
                                char *ret_sentence)
{
    ssize_t len;

    do {
        if (!hgi_bytes_reserve(ret_bytes, 4096)) {
            return refuse(path, "cannot be read: no memory", ret_sentence);
        }
        len = read(fd, ret_bytes->data + ret_bytes->len, 4095);
        ret_bytes->len += len > 0 ? (size_t)len : 0;
    } while (len > 0 && ret_bytes->len <= HGI_PEM_MAX);
    if (len < 0) {
        return refuse(path, strerror(errno), ret_sentence);
    }
    if (ret_bytes->len > HGI_PEM_MAX) {
        return refuse(path, "is longer than a file of certificates may be", ret_sentence);
    }
    ret_bytes->data[ret_bytes->len++] = '\0';
    return HG_OK;
}

static enum hg_status read_file(const char *path, bool is_private, struct hg_bytes *ret_bytes,
                                char *ret_sentence)
{
    const struct hgi_trust nobody_else = {NULL, 0};
    char why[HGI_TRUST_SENTENCE_MAX];
    enum hg_status status;
    struct stat info;
    int fd = -1;

    if (hgi_trust_open(path, &nobody_else, &fd, why) != HG_OK) {
        return refuse(path, why, ret_sentence);
    }
    if (is_private && (fstat(fd, &info) != 0 || info.st_mode & 077)) {
        status = refuse(path, "is a key that others may read; chmod 0600 it", ret_sentence);
    } else {
        status = read_text(fd, path, ret_bytes, ret_sentence);
    }
    close(fd);
    return status;
}

/* NULL: it is for this side, and its time is now. */
static const char *wrong_with_cert(const mbedtls_x509_crt *cert, bool is_server)
{
    const char *usage = is_server ? MBEDTLS_OID_SERVER_AUTH : MBEDTLS_OID_CLIENT_AUTH;
    size_t usage_len = is_server ? MBEDTLS_OID_SIZE(MBEDTLS_OID_SERVER_AUTH)
                                 : MBEDTLS_OID_SIZE(MBEDTLS_OID_CLIENT_AUTH);

    if (mbedtls_x509_time_is_past(&cert->valid_to)) {
        return "has expired; get a new certificate";
    }
    if (mbedtls_x509_time_is_future(&cert->valid_from)) {
        return "is not valid yet; is this host's clock right?";
    }
    if (mbedtls_x509_crt_check_extended_key_usage(cert, usage, usage_len) != 0) {
        return is_server ? "is not a server's certificate: its extended key usage lacks serverAuth"
                         : "is not a client's certificate: its extended key usage lacks clientAuth";
    }
    return NULL;
}

static enum hg_status check_ca(const char *path, const struct hg_bytes *text, char *ret_sentence)
{
    enum hg_status status = HG_OK;
    mbedtls_x509_crt ca;

    mbedtls_x509_crt_init(&ca);
    if (mbedtls_x509_crt_parse(&ca, text->data, text->len) != 0) {
        status =
            refuse(path, "holds no certificate in PEM, or one that cannot be read", ret_sentence);
    }
    for (const mbedtls_x509_crt *at = &ca; status == HG_OK && at; at = at->next) {
        if (mbedtls_x509_time_is_past(&at->valid_to)) {
            status =
                refuse(path, "holds a certificate that has expired; take it out", ret_sentence);
        } else if (mbedtls_x509_time_is_future(&at->valid_from)) {
            status = refuse(
                path, "holds a certificate that is not valid yet; is this host's clock right?",
                ret_sentence);
        } else if (!at->ca_istrue) {
            status = refuse(path, "holds a certificate that may not sign others: it is no CA's",
                            ret_sentence);
        }
    }
    mbedtls_x509_crt_free(&ca);
    return status;
}

static enum hg_status check_pair(const struct hgi_identity_files *files,
                                 const struct hgi_identity *identity, char *ret_sentence)
{
    enum hg_status status = HG_OK;
    const char *wrong;
    mbedtls_x509_crt cert;
    mbedtls_pk_context key;

    mbedtls_x509_crt_init(&cert);
    mbedtls_pk_init(&key);
    if (mbedtls_x509_crt_parse(&cert, identity->cert.data, identity->cert.len) != 0) {
        status = refuse(files->cert, "holds no certificate in PEM, or one that cannot be read",
                        ret_sentence);
    } else if ((wrong = wrong_with_cert(&cert, files->is_server)) != NULL) {
        status = refuse(files->cert, wrong, ret_sentence);
    } else if (mbedtls_pk_parse_key(&key, identity->key.data, identity->key.len, NULL, 0) != 0) {
        status = refuse(files->key,
                        "holds no key in PEM that can be read; it must be without a passphrase",
                        ret_sentence);
    } else if (mbedtls_pk_check_pair(&cert.pk, &key) != 0) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX, "%.100s is not the key of the certificate %.100s",
                 files->key, files->cert);
        status = HG_FAILED_PRECONDITION;
    }
    mbedtls_pk_free(&key);
    mbedtls_x509_crt_free(&cert);
    return status;
}

enum hg_status hgi_identity_init(const struct hgi_identity_files *files,
                                 struct hgi_identity *ret_identity, char *ret_sentence)
{
    struct hgi_identity made;
    enum hg_status status;

    hgi_bytes_init(&made.ca, &hgi_heap);
    hgi_bytes_init(&made.cert, &hgi_heap);
    hgi_bytes_init(&made.key, &hgi_heap);
    status = files->ca ? read_file(files->ca, false, &made.ca, ret_sentence) : HG_OK;
    if (status == HG_OK) {
        status = read_file(files->cert, false, &made.cert, ret_sentence);
    }
    if (status == HG_OK) {
        status = read_file(files->key, true, &made.key, ret_sentence);
    }
    if (status == HG_OK && files->ca) {
        status = check_ca(files->ca, &made.ca, ret_sentence);
    }
    if (status == HG_OK) {
        status = check_pair(files, &made, ret_sentence);
    }
    if (status != HG_OK) {
        hgi_identity_deinit(&made);
        return status;
    }
    *ret_identity = made;
    return HG_OK;
}

static void deinit(struct hg_bytes *bytes)
{
    if (bytes->allocator) {
        hgi_bytes_deinit(bytes);
    }
}

void hgi_identity_deinit(struct hgi_identity *identity)
{
    deinit(&identity->ca);
    deinit(&identity->cert);
    deinit(&identity->key);
}
