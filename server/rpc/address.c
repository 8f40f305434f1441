/* SPDX-License-Identifier: Apache-2.0 */
#include "address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define IPC "ipc://"
#define TCP "tcp://"
#define TLS "tls+tcp://"

static enum hg_status parse_ipc(const char *url, struct hgi_address *address, char *ret_sentence)
{
    const size_t path_max = sizeof(((struct sockaddr_un *)0)->sun_path) - 1;
    const char *path = url + strlen(IPC);

    if (path[0] != '/') {
        snprintf(ret_sentence, HGI_SENTENCE_MAX,
                 "%.120s: a socket needs an absolute path, as in ipc:///run/herdgate/herdgate.sock",
                 url);
        return HG_FAILED_PRECONDITION;
    }
    if (strlen(path) > path_max) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX,
                 "%.120s...: the path has %zu bytes; a socket's path holds at most %zu", url,
                 strlen(path), path_max);
        return HG_FAILED_PRECONDITION;
    }
    address->is_ipc = true;
    address->path = path;
    return HG_OK;
}

static bool is_loopback(const char *host)
{
    struct in_addr v4;

    return strcmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0 ||
           (inet_pton(AF_INET, host, &v4) == 1 && ntohl(v4.s_addr) >> 24 == 127);
}

/* Digits only, at most 65535. */
static bool parse_port(const char *text, uint16_t *ret_port)
{
    unsigned long port = 0;

    if (!*text || strlen(text) > 5) {
        return false;
    }
    for (; *text; text++) {
        if (*text < '0' || *text > '9') {
            return false;
        }
        port = port * 10 + (unsigned long)(*text - '0');
    }
    *ret_port = (uint16_t)port;
    return port <= UINT16_MAX;
}

static enum hg_status parse_host(const char *url, const char *host, struct hgi_address *address,
                                 char *ret_sentence)
{
    const char *colon = strrchr(host, ':');
    size_t host_len = colon ? (size_t)(colon - host) : 0;

    if (host_len == 0 || host_len >= sizeof(address->host) ||
        !parse_port(colon + 1, &address->port)) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX,
                 "%.120s: not a host and a port, as in tcp://127.0.0.1:7448", url);
        return HG_FAILED_PRECONDITION;
    }
    memcpy(address->host, host, host_len);
    address->host[host_len] = '\0';
    return HG_OK;
}

static enum hg_status parse_tcp(const struct hgi_listen_config *listen, struct hgi_address *address,
                                char *ret_sentence)
{
    enum hg_status status =
        parse_host(listen->url, listen->url + strlen(TCP), address, ret_sentence);

    if (status != HG_OK) {
        return status;
    }
    if (!is_loopback(address->host)) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX,
                 "%.120s: tcp without TLS is for this host only; use 127.0.0.1, [::1] or localhost",
                 listen->url);
        return HG_FAILED_PRECONDITION;
    }
    if (listen->access == HGI_ACCESS_OWNER) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX,
                 "%.120s: a tcp peer's user is not known; set access = \"data\" or \"token\", or "
                 "listen on ipc",
                 listen->url);
        return HG_FAILED_PRECONDITION;
    }
    return HG_OK;
}

static enum hg_status parse_tls(const struct hgi_listen_config *listen, struct hgi_address *address,
                                char *ret_sentence)
{
    address->is_tls = true;
    if (listen->access != HGI_ACCESS_TOKEN || !listen->cert || !listen->key || !listen->ca) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX,
                 "%.120s: TLS needs access = \"token\", a cert, its key and the clients' ca",
                 listen->url);
        return HG_FAILED_PRECONDITION;
    }
    return parse_host(listen->url, listen->url + strlen(TLS), address, ret_sentence);
}

enum hg_status hgi_address_parse(const struct hgi_listen_config *listen,
                                 struct hgi_address *ret_address, char *ret_sentence)
{
    struct hgi_address address = {0};
    enum hg_status status = HG_FAILED_PRECONDITION;

    if (strncmp(listen->url, IPC, strlen(IPC)) == 0) {
        status = parse_ipc(listen->url, &address, ret_sentence);
    } else if (strncmp(listen->url, TCP, strlen(TCP)) == 0) {
        status = parse_tcp(listen, &address, ret_sentence);
    } else if (strncmp(listen->url, TLS, strlen(TLS)) == 0) {
        status = parse_tls(listen, &address, ret_sentence);
    } else {
        snprintf(ret_sentence, HGI_SENTENCE_MAX,
                 "%.120s: not an address to listen on; it begins with ipc://, tcp:// or tls+tcp://",
                 listen->url);
    }
    if (status == HG_OK) {
        *ret_address = address;
    }
    return status;
}

enum hg_status hgi_address_lock(const char *path, int *ret_fd, char *ret_sentence)
{
    enum hg_status status = HG_FAILED_PRECONDITION;
    char lock_path[PATH_MAX];
    struct stat info;
    int fd = -1;

    snprintf(lock_path, sizeof(lock_path), "%s.lock", path);
    fd = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX, "ipc://%s: cannot open %s.lock: %s", path, path,
                 strerrordesc_np(errno));
        goto out;
    }
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX, "ipc://%s: another server is using this address",
                 path);
        status = HG_UNAVAILABLE;
        goto out;
    }
    /* nng replaces whatever refuses a connection, and a plain file does that too. */
    if (lstat(path, &info) == 0 && !S_ISSOCK(info.st_mode)) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX,
                 "ipc://%s: there is something here that is not a socket; it is left as it is",
                 path);
        goto out;
    }
    *ret_fd = fd;
    fd = -1;
    status = HG_OK;
out:
    if (fd >= 0) {
        close(fd);
    }
    return status;
}
