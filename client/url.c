/* SPDX-License-Identifier: Apache-2.0 */
#include "url.h"

#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "base/check.h"

#define SOCKET_PATH_MAX (sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1)
#define PORT_MAX        65535u

static const char tcp_scheme[] = "tcp://";
static const char tls_scheme[] = "tls+tcp://";
static const char *const local_schemes[] = {"ipc://", "unix://", "abstract://"};

/* What follows the scheme, or NULL if the url has another one. */
static const char *after(const char *url, const char *scheme)
{
    size_t len = strlen(scheme);

    return strncmp(url, scheme, len) == 0 ? url + len : NULL;
}

bool hgi_client_url_is_tcp(const char *url)
{
    return after(url, tcp_scheme) != NULL || hgi_client_url_is_tls(url);
}

bool hgi_client_url_is_tls(const char *url)
{
    return after(url, tls_scheme) != NULL;
}

void hgi_client_url_host(const char *url, char *ret_host, size_t size)
{
    const char *host = after(url, tls_scheme);
    const char *colon;

    host = host ? host : after(url, tcp_scheme);
    colon = host ? strrchr(host, ':') : NULL;
    snprintf(ret_host, size, "%.*s", colon ? (int)(colon - host) : 0, host ? host : "");
}

static bool is_port(const char *text)
{
    unsigned port = 0;

    if (!*text) {
        return false;
    }
    for (; *text; text++) {
        if (*text < '0' || *text > '9') {
            return false;
        }
        port = port * 10 + (unsigned)(*text - '0');
        if (port > PORT_MAX) {
            return false;
        }
    }
    return port > 0;
}

static enum hg_status check_tcp(const char *url, const char *rest, char *ret_sentence)
{
    const char *colon = strrchr(rest, ':');

    if (colon && colon != rest && is_port(colon + 1)) {
        return HG_OK;
    }
    snprintf(ret_sentence, HGI_SENTENCE_MAX,
             "\"%.120s\" is no address; a tcp address is tcp://host:port, the port 1 to 65535",
             url);
    return HG_INVALID_ARGUMENT;
}

static enum hg_status check_local(const char *url, const char *rest, char *ret_sentence)
{
    if (!*rest) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX,
                 "\"%.120s\" names no socket; write for example ipc:///run/herdgate/herdgate.sock",
                 url);
        return HG_INVALID_ARGUMENT;
    }
    if (strlen(rest) > SOCKET_PATH_MAX) {
        snprintf(ret_sentence, HGI_SENTENCE_MAX,
                 "the socket's path has %zu bytes; the system allows %zu", strlen(rest),
                 SOCKET_PATH_MAX);
        return HG_INVALID_ARGUMENT;
    }
    return HG_OK;
}

enum hg_status hgi_client_url_check(const char *url, char *ret_sentence)
{
    const char *rest = after(url, tls_scheme);

    rest = rest ? rest : after(url, tcp_scheme);
    if (rest) {
        return check_tcp(url, rest, ret_sentence);
    }
    for (size_t i = 0; i < HGI_COUNT_OF(local_schemes); i++) {
        rest = after(url, local_schemes[i]);
        if (rest) {
            return check_local(url, rest, ret_sentence);
        }
    }
    snprintf(ret_sentence, HGI_SENTENCE_MAX,
             "\"%.120s\" is no address; write ipc:///path/of/socket, tcp://host:port or "
             "tls+tcp://host:port",
             url);
    return HG_INVALID_ARGUMENT;
}
