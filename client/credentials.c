/* SPDX-License-Identifier: Apache-2.0 */
#include "credentials.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/url.h"

#define BEARER "Bearer "

static enum hg_status refuse(const char *path, const char *why, char *ret_sentence)
{
    snprintf(ret_sentence, HGI_SENTENCE_MAX, "%.140s: %s", path, why);
    return HG_FAILED_PRECONDITION;
}

/* The whole file, which has at most `max` bytes and is not for everybody. */
static enum hg_status read_private(const char *path, size_t max, struct hg_bytes *ret_bytes,
                                   char *ret_sentence)
{
    enum hg_status status = HG_OK;
    struct stat info;
    ssize_t len = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0 || fstat(fd, &info) != 0) {
        status = refuse(path, strerror(errno), ret_sentence);
    } else if (!S_ISREG(info.st_mode)) {
        status = refuse(path, "not a plain file", ret_sentence);
    } else if (info.st_mode & 007) {
        status = refuse(path, "everybody may read or write it; give it mode 0600", ret_sentence);
    } else if (!hgi_bytes_reserve(ret_bytes, max + 1)) {
        status = refuse(path, "no memory left", ret_sentence);
    }
    while (status == HG_OK && ret_bytes->len <= max &&
           (len = read(fd, ret_bytes->data + ret_bytes->len, max + 1 - ret_bytes->len)) > 0) {
        ret_bytes->len += (size_t)len;
    }
    if (status == HG_OK && len < 0) {
        status = refuse(path, strerror(errno), ret_sentence);
    }
    if (fd >= 0) {
        close(fd);
    }
    return status;
}

/* As a program that names a file of another kind by mistake should hear. */
static bool is_token(struct hg_slice text)
{
    const unsigned char *at = text.data;

    for (size_t i = 0; i < text.len; i++) {
        if (at[i] <= ' ' || at[i] >= 0x7f) {
            return false;
        }
    }
    return text.len > 3 && text.len <= HGI_TOKEN_FILE_MAX && memcmp(at, "hg_", 3) == 0;
}

static enum hg_status read_token(const char *path, struct hg_bytes *bearer, char *ret_sentence)
{
    struct hg_slice token;
    struct hg_bytes bytes;
    enum hg_status status;

    hgi_bytes_init(&bytes, &hgi_heap);
    status = read_private(path, HGI_TOKEN_FILE_MAX, &bytes, ret_sentence);
    token = hgi_slice_trim(hgi_bytes_slice(&bytes));
    if (status == HG_OK && !is_token(token)) {
        status = refuse(path, "holds no token; write what \"herdgate token new\" printed, hg_...",
                        ret_sentence);
    }
    if (status == HG_OK &&
        (!hgi_bytes_append(bearer, hg_slice_text(BEARER)) || !hgi_bytes_append(bearer, token))) {
        status = refuse(path, "no memory left", ret_sentence);
    }
    hgi_bytes_deinit(&bytes);
    return status;
}

static enum hg_status read_identity(const char *url, const struct hg_client_options *options,
                                    struct hgi_credentials *credentials, char *ret_sentence)
{
    const struct hgi_identity_files files = {
        .ca = options->ca_file, .cert = options->cert_file, .key = options->key_file};
    const char *missing = !files.ca     ? "ca_file"
                          : !files.cert ? "cert_file"
                          : !files.key  ? "key_file"
                                        : NULL;

    if (missing) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX,
                 "%.120s: TLS needs a ca_file, a cert_file and a key_file; there is no %s", url,
                 missing);
        return HG_INVALID_ARGUMENT;
    }
    if (options->server_name) {
        snprintf(credentials->server_name, sizeof(credentials->server_name), "%s",
                 options->server_name);
    } else {
        hgi_client_url_host(url, credentials->server_name, sizeof(credentials->server_name));
    }
    return hgi_identity_init(&files, &credentials->identity, ret_sentence);
}

enum hg_status hgi_credentials_init(const char *url, const struct hg_client_options *options,
                                    struct hgi_credentials *ret_credentials, char *ret_sentence)
{
    static const struct hg_client_options none;
    struct hgi_credentials made = {.bearer = {.data = NULL}};
    enum hg_status status = HG_OK;

    options = options ? options : &none;
    hgi_bytes_init(&made.bearer, &hgi_heap);
    if (options->token_file) {
        status = read_token(options->token_file, &made.bearer, ret_sentence);
    }
    if (status == HG_OK && hgi_client_url_is_tls(url)) {
        status = read_identity(url, options, &made, ret_sentence);
    }
    if (status != HG_OK) {
        hgi_credentials_deinit(&made);
        return status;
    }
    *ret_credentials = made;
    return HG_OK;
}

void hgi_credentials_deinit(struct hgi_credentials *credentials)
{
    if (credentials->bearer.allocator) {
        hgi_bytes_deinit(&credentials->bearer);
    }
    hgi_identity_deinit(&credentials->identity);
}
