/* SPDX-License-Identifier: Apache-2.0 */
/* The listeners of HTTP, and how gateways' requests become keys. */
#include <arpa/inet.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "base/check.h"
#include "base/nearest.h"
#include "server/config_inside.h"

#define HTTP  "http://"
#define HTTPS "https://"
#define UNIX  "unix://"

/* Letters, digits and what else a header's, cookie's or parameter's name may be of (RFC 9110). */
static bool is_token(const char *text)
{
    size_t len = 0;

    for (; text[len]; len++) {
        if (!isalnum((unsigned char)text[len]) && !strchr("!#$%&'*+-.^_`|~", text[len])) {
            return false;
        }
    }
    return len > 0;
}

/* ---- http ---- */

static bool is_loopback(const char *host)
{
    struct in_addr v4;

    return strcmp(host, "localhost") == 0 || strcmp(host, "::1") == 0 ||
           (inet_pton(AF_INET, host, &v4) == 1 && ntohl(v4.s_addr) >> 24 == 127);
}

/* "host:port" or "[v6]:port", in numbers or "localhost": nothing is looked up. */
static bool split_host(const struct hgi_build *build, const struct hgi_section *section,
                       const char *text, struct hgi_http_config *http)
{
    const char *colon = strrchr(text, ':');
    size_t digits = colon ? strspn(colon + 1, "0123456789") : 0;
    size_t len = colon ? (size_t)(colon - text) : 0;
    unsigned char address[16];
    bool is_good = true;
    char *host;

    if (len > 2 && text[0] == '[' && text[len - 1] == ']') {
        text++;
        len -= 2;
    }
    host = hgi_build_take(build, len + 1, &is_good);
    if (!is_good) {
        return false;
    }
    memcpy(host, text, len);
    if (!digits || digits > 5 || colon[1 + digits] || strtoul(colon + 1, NULL, 10) > 65535 ||
        (strcmp(host, "localhost") != 0 && inet_pton(AF_INET, host, address) != 1 &&
         inet_pton(AF_INET6, host, address) != 1)) {
        return hgi_build_fault(build, section->line,
                               "http \"%.120s\" has no address in numbers with a port of 0 to "
                               "65535; write such as \"http://127.0.0.1:7480\"",
                               section->title);
    }
    http->host = host;
    http->port = (uint16_t)strtoul(colon + 1, NULL, 10);
    return true;
}

static bool check_tls(const struct hgi_build *build, const struct hgi_section *section,
                      const struct hgi_http_config *http)
{
    const struct hgi_assignment *given = hgi_build_find(section, "cert");

    given = given ? given : hgi_build_find(section, "key");
    if (!http->is_tls && given) {
        return hgi_build_fault(build, given->line,
                               "http \"%s\": %s is for https; there is no TLS here", section->title,
                               given->option->name);
    }
    if (http->is_tls && (!http->cert || !http->key)) {
        return hgi_build_fault(build, section->line,
                               "http \"%s\": %s is missing; https needs cert and key",
                               section->title, http->cert ? "key" : "cert");
    }
    if (!http->is_tls && !http->path && !is_loopback(http->host)) {
        return hgi_build_fault(build, section->line,
                               "http \"%s\" is open to the network, which needs TLS; write "
                               "\"https://...\", or a loopback address such as "
                               "\"http://127.0.0.1:7480\"",
                               section->title);
    }
    return true;
}

static bool check_access(const struct hgi_build *build, const struct hgi_section *section,
                         struct hgi_http_config *http)
{
    const struct hgi_assignment *given = hgi_build_find(section, "access");

    if (!given) {
        http->access = http->path ? HGI_ACCESS_OWNER : HGI_ACCESS_TOKEN;
        return true;
    }
    if (http->services == HGI_HTTP_AUTHZ) {
        return hgi_build_fault(build, given->line,
                               "http \"%s\": access is an operator's; whoever reaches a listener "
                               "with services = \"authz\" may ask it",
                               section->title);
    }
    if (http->access == HGI_ACCESS_OWNER && !http->path) {
        return hgi_build_fault(build, given->line,
                               "http \"%s\": access owner needs unix, where the peer's user is "
                               "known; write \"data\" or \"token\"",
                               section->title);
    }
    if (http->access == HGI_ACCESS_TOKEN && !build->config->tokens_file) {
        return hgi_build_fault(build, given->line,
                               "http \"%s\": access token needs a tokens_file; write such as "
                               "tokens_file = \"/var/lib/herdgate/tokens\"",
                               section->title);
    }
    return true;
}

/* Each thread has its share of the connections. */
static bool check_threads(const struct hgi_build *build, const struct hgi_section *section,
                          const struct hgi_http_config *http)
{
    return http->threads <= http->connections_max ||
           hgi_build_fault(build, hgi_build_find(section, "threads")->line,
                           "http \"%s\": threads (%u) are more than connections_max (%u)",
                           section->title, http->threads, http->connections_max);
}

static bool build_listener(const struct hgi_build *build, const struct hgi_section *section,
                           struct hgi_http_config *http)
{
    const size_t path_max = sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1;
    const char *url = section->title;
    bool is_good = hgi_build_fill(build, "http", section, false, http);

    http->url = url;
    http->is_tls = strncmp(url, HTTPS, strlen(HTTPS)) == 0;
    if (!is_good) {
        return false;
    }
    if (http->is_tls || strncmp(url, HTTP, strlen(HTTP)) == 0) {
        is_good = split_host(build, section, strstr(url, "//") + 2, http);
    } else if (strncmp(url, UNIX, strlen(UNIX)) == 0) {
        http->path = url + strlen(UNIX);
        if (http->path[0] != '/' || !http->path[1] || strlen(http->path) > path_max) {
            is_good = hgi_build_fault(build, section->line,
                                      "http \"%.120s\" names no socket by an absolute path of at "
                                      "most %zu bytes; write such as "
                                      "\"unix:///run/herdgate/authz.sock\"",
                                      url, path_max);
        }
    } else {
        is_good = hgi_build_fault(build, section->line,
                                  "http \"%.120s\" has no known scheme; write http://host:port, "
                                  "https://host:port or unix:///path",
                                  url);
    }
    return is_good && check_tls(build, section, http) && check_access(build, section, http) &&
           check_threads(build, section, http);
}

static bool build_listeners(const struct hgi_build *build)
{
    size_t count = hgi_build_count(build, "http");
    const struct hgi_section *section = hgi_build_next(build->sections, "http");
    bool is_good = true;

    if (count > HGI_HTTPS_MAX) {
        return hgi_build_fault(build, 0, "more than %u http sections", HGI_HTTPS_MAX);
    }
    build->config->https = hgi_build_take(build, count * sizeof(*build->config->https), &is_good);
    for (; is_good && section; section = hgi_build_next(section->next, "http")) {
        struct hgi_http_config *http = &build->config->https[build->config->http_count++];

        is_good = build_listener(build, section, http);
        if (is_good && http->services == HGI_HTTP_AUTHZ && !hgi_build_count(build, "authz")) {
            is_good = hgi_build_fault(build, section->line,
                                      "http \"%s\" has nothing to decide by; write such as "
                                      "authz \"auth\" { credential = \"bearer\" }",
                                      section->title);
        }
    }
    return is_good;
}

/* ---- authz ---- */

static bool build_credential(const struct hgi_build *build, const struct hgi_section *section,
                             struct hgi_authz_config *authz)
{
    static const struct {
        const char *prefix;
        enum hgi_credential_source source;
    } sources[] = {{"header:", HGI_CREDENTIAL_HEADER},
                   {"cookie:", HGI_CREDENTIAL_COOKIE},
                   {"query:", HGI_CREDENTIAL_QUERY}};

    if (strcmp(authz->credential, "bearer") == 0) {
        authz->source = HGI_CREDENTIAL_BEARER;
        return true;
    }
    for (size_t i = 0; i < HGI_COUNT_OF(sources); i++) {
        size_t len = strlen(sources[i].prefix);

        if (strncmp(authz->credential, sources[i].prefix, len) == 0 &&
            is_token(authz->credential + len)) {
            authz->source = sources[i].source;
            authz->source_name = authz->credential + len;
            return true;
        }
    }
    return hgi_build_fault(build, hgi_build_find(section, "credential")->line,
                           "authz \"%s\": credential = \"%.60s\" is no place to look; write "
                           "\"bearer\", \"header:X-Api-Key\", \"cookie:NAME\" or \"query:NAME\"",
                           section->title, authz->credential);
}

static bool build_facts(const struct hgi_build *build, const struct hgi_section *section,
                        struct hgi_authz_config *authz)
{
    static const struct {
        const char *name;
        enum hgi_fact fact;
    } facts[] = {{"method", HGI_FACT_METHOD}, {"host", HGI_FACT_HOST}, {"path", HGI_FACT_PATH}};
    const struct hgi_assignment *given = hgi_build_find(section, "facts");
    const char *at = authz->facts_text;

    while (at && *(at += strspn(at, ", ")) != '\0') {
        size_t len = strcspn(at, ", ");
        unsigned before = authz->facts;

        for (size_t i = 0; i < HGI_COUNT_OF(facts); i++) {
            if (strlen(facts[i].name) == len && strncmp(facts[i].name, at, len) == 0) {
                authz->facts |= facts[i].fact;
            }
        }
        if (authz->facts == before) {
            return hgi_build_fault(build, given->line,
                                   "authz \"%s\": facts = \"%.60s\": \"%.*s\" is none, or is there "
                                   "twice; there are method, host and path",
                                   section->title, authz->facts_text, (int)(len < 40 ? len : 40),
                                   at);
        }
        at += len;
    }
    if (authz->facts && authz->key_type != HGI_KEYS_USER_API_KEY &&
        authz->key_type != HGI_KEYS_AUTH && authz->key_type != HGI_KEYS_BYTES) {
        return hgi_build_fault(build, given->line,
                               "authz \"%s\": %s keys have no place for facts; use a cache of "
                               "user_api_key, auth or bytes keys",
                               section->title, hgi_key_type_name(authz->key_type));
    }
    return true;
}

static bool check_of(const struct hgi_authz_config *authz, const char *of)
{
    static const char *const of_auth[] = {"user_id", "api_key_id", "scopes", "not_after"};

    switch (authz->value_type) {
    case HG_TYPE_AUTH:
        for (size_t i = 0; i < HGI_COUNT_OF(of_auth); i++) {
            if (strcmp(of, of_auth[i]) == 0) {
                return true;
            }
        }
        return strncmp(of, "attribute:", strlen("attribute:")) == 0 &&
               of[strlen("attribute:")] != '\0';
    case HG_TYPE_JSON:
        return of[0] == '/';
    case HG_TYPE_BYTES:
        return strcmp(of, "value") == 0;
    }
    return false;
}

static bool build_headers(const struct hgi_build *build, const struct hgi_section *section,
                          struct hgi_authz_config *authz)
{
    struct hgi_identity_header *headers;
    bool is_good = true;
    size_t count = 0;

    for (const struct hgi_assignment *at = section->assignments; at; at = at->next) {
        count += at->setting_name != NULL;
    }
    headers = hgi_build_take(build, count * sizeof(*headers), &is_good);
    authz->headers = headers;
    for (const struct hgi_assignment *at = section->assignments; is_good && at; at = at->next) {
        if (!at->setting_name) {
            continue;
        }
        headers[authz->header_count++] =
            (struct hgi_identity_header){at->setting_name, at->value.text};
        if (!is_token(at->setting_name)) {
            is_good = hgi_build_fault(build, at->line,
                                      "authz \"%s\": \"%.60s\" cannot be the name of a header",
                                      section->title, at->setting_name);
        } else if (!check_of(authz, at->value.text)) {
            is_good = hgi_build_fault(
                build, at->line,
                "authz \"%s\": header %s: \"%.60s\" is nothing that %s values say; "
                "there is %s",
                section->title, at->setting_name, at->value.text,
                hgi_value_type_name(authz->value_type),
                authz->value_type == HG_TYPE_AUTH
                    ? "user_id, api_key_id, scopes, not_after and attribute:NAME"
                : authz->value_type == HG_TYPE_JSON ? "what a pointer such as \"/user/id\" finds"
                                                    : "value");
        }
    }
    return is_good;
}

/* Stale answers for failed loads are the cache's to keep: the two must say the same. */
static bool check_fail(const struct hgi_build *build, const struct hgi_section *section,
                       const struct hgi_authz_config *authz, const struct hgi_cache_config *cache)
{
    const struct hgi_assignment *given = hgi_build_find(section, "fail");
    bool is_kept = cache->policy.stale_if_error_ms > 0;

    if (authz->fail == HGI_FAIL_STALE && !is_kept) {
        return hgi_build_fault(build, given->line,
                               "authz \"%s\": fail = \"stale\" needs what was known last; give "
                               "the cache \"%s\" such as stale_if_error = \"1h\"",
                               section->title, section->title);
    }
    if (authz->fail != HGI_FAIL_STALE && is_kept) {
        return hgi_build_fault(build, given ? given->line : section->line,
                               "authz \"%s\": the cache \"%s\" has stale_if_error, so failures are "
                               "answered with old values; write fail = \"stale\", or take it away",
                               section->title, section->title);
    }
    return true;
}

static const struct hgi_cache_config *find_cache(const struct hgi_build *build,
                                                 const struct hgi_section *section)
{
    const char *nearest = NULL;

    for (size_t i = 0; i < build->config->cache_count; i++) {
        const char *name = build->config->caches[i].name;

        if (strcmp(name, section->title) == 0) {
            return &build->config->caches[i];
        }
        (void)hgi_nearer(section->title, name, &nearest);
    }
    (void)hgi_build_fault(build, section->line,
                          "authz \"%.80s\": there is no cache of that name%s%s%s", section->title,
                          nearest ? "; did you mean \"" : "", nearest ? nearest : "",
                          nearest ? "\"?" : "");
    return NULL;
}

static bool build_authz(const struct hgi_build *build, const struct hgi_section *section,
                        struct hgi_authz_config *authz)
{
    const struct hgi_cache_config *cache = find_cache(build, section);

    if (!cache || !hgi_build_fill(build, "authz", section, false, authz)) {
        return false;
    }
    authz->cache = cache->name;
    authz->value_type = cache->value_type;
    authz->key_type = cache->key_type;
    if (cache->key_type == HGI_KEYS_API_KEY_FEATURE ||
        (cache->key_type == HGI_KEYS_USER_API_KEY && !authz->facts_text)) {
        return hgi_build_fault(build, section->line,
                               "authz \"%s\": a credential alone is no %s key; use a cache of "
                               "key_hash, auth or bytes keys%s",
                               section->title, hgi_key_type_name(cache->key_type),
                               cache->key_type == HGI_KEYS_USER_API_KEY ? ", or let facts join it"
                                                                        : "");
    }
    for (const char *at = authz->realm; *at; at++) {
        if ((unsigned char)*at < ' ' || *at == '"' || *at == '\\' || *at == 0x7f) {
            return hgi_build_fault(build, hgi_build_find(section, "realm")->line,
                                   "authz \"%s\": a realm is text without quotes and backslashes",
                                   section->title);
        }
    }
    return build_credential(build, section, authz) && build_facts(build, section, authz) &&
           build_headers(build, section, authz) && check_fail(build, section, authz, cache);
}

bool hgi_build_http(const struct hgi_build *build)
{
    size_t count = hgi_build_count(build, "authz");
    const struct hgi_section *section = hgi_build_next(build->sections, "authz");
    bool is_good = true;

    build->config->authzs = hgi_build_take(build, count * sizeof(*build->config->authzs), &is_good);
    for (; is_good && section; section = hgi_build_next(section->next, "authz")) {
        struct hgi_authz_config *authz = &build->config->authzs[build->config->authz_count++];

        is_good = build_authz(build, section, authz);
    }
    return is_good && build_listeners(build);
}
