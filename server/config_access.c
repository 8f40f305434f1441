/* SPDX-License-Identifier: Apache-2.0 */
/* Who is let in where, and who may do what: the listens and the principals. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "base/check.h"
#include "base/nearest.h"
#include "server/config_inside.h"

#define IPC "ipc://"
#define TCP "tcp://"
#define TLS "tls+tcp://"

/* As who binds it sees it (server/rpc/address): what is checked here is what can be served. */
static bool is_loopback(const char *host, size_t len)
{
    char text[INET_ADDRSTRLEN]; /* longer than the names, too */
    struct in_addr v4;

    if (len >= sizeof(text)) {
        return false;
    }
    memcpy(text, host, len);
    text[len] = '\0';
    return strcmp(text, "localhost") == 0 || strcmp(text, "[::1]") == 0 ||
           (inet_pton(AF_INET, text, &v4) == 1 && ntohl(v4.s_addr) >> 24 == 127);
}

/* The options that only TLS has. */
static const struct hgi_assignment *find_tls(const struct hgi_section *section)
{
    static const char *const names[] = {"cert", "key", "ca"};
    const struct hgi_assignment *found = NULL;

    for (size_t i = 0; i < HGI_COUNT_OF(names) && !found; i++) {
        found = hgi_build_find(section, names[i]);
    }
    return found;
}

static bool check_no_tls(const struct hgi_build *build, const struct hgi_section *section)
{
    const struct hgi_assignment *found = find_tls(section);

    return !found || hgi_build_fault(build, found->line,
                                     "listen \"%s\": %s is for tls+tcp; there is no TLS here",
                                     section->title, found->option->name);
}

static bool check_port(const struct hgi_build *build, const struct hgi_section *section,
                       const char *host)
{
    const char *colon = strrchr(host, ':');
    size_t digits = colon ? strspn(colon + 1, "0123456789") : 0;

    if (!colon || colon == host || digits == 0 || digits > 5 || colon[1 + digits] ||
        strtoul(colon + 1, NULL, 10) > 65535) {
        return hgi_build_fault(build, section->line,
                               "listen \"%s\" has no host with a port of 0 to 65535; write such as "
                               "\"tcp://127.0.0.1:7448\"",
                               section->title);
    }
    return true;
}

static bool check_tcp(const struct hgi_build *build, const struct hgi_section *section,
                      const struct hgi_listen_config *listen)
{
    const char *host = listen->url + strlen(TCP);

    if (!check_port(build, section, host) || !check_no_tls(build, section)) {
        return false;
    }
    if (!is_loopback(host, (size_t)(strrchr(host, ':') - host))) {
        return hgi_build_fault(
            build, section->line,
            "listen \"%s\" is open to the network, which needs TLS; write \"tls+%.60s\", or a "
            "loopback address such as \"tcp://127.0.0.1:7448\"",
            listen->url, listen->url);
    }
    if (listen->access == HGI_ACCESS_OWNER) {
        return hgi_build_fault(
            build, hgi_build_find(section, "access")->line,
            "listen \"%s\": access owner needs ipc, where the peer's user is known; write "
            "\"data\" or \"token\"",
            listen->url);
    }
    return true;
}

static bool check_tls(const struct hgi_build *build, const struct hgi_section *section,
                      const struct hgi_listen_config *listen)
{
    const char *missing = !listen->cert ? "cert" : !listen->key ? "key" : !listen->ca ? "ca" : NULL;

    if (!check_port(build, section, listen->url + strlen(TLS))) {
        return false;
    }
    if (missing) {
        return hgi_build_fault(build, section->line,
                               "listen \"%s\": %s is missing; TLS needs cert, key and ca, the last "
                               "to tell which clients may connect",
                               listen->url, missing);
    }
    if (listen->access != HGI_ACCESS_TOKEN) {
        return hgi_build_fault(build, hgi_build_find(section, "access")->line,
                               "listen \"%s\": a certificate does not say whose it is; write "
                               "access = \"token\"",
                               listen->url);
    }
    return true;
}

static bool check_ipc(const struct hgi_build *build, const struct hgi_section *section,
                      const struct hgi_listen_config *listen)
{
    const size_t max = sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1;
    const char *path = listen->url + strlen("ipc://");

    if (path[0] != '/' || !path[1]) {
        return hgi_build_fault(build, section->line,
                               "listen \"%s\" names no socket by an absolute path; write such as "
                               "\"ipc:///run/herdgate/herdgate.sock\"",
                               listen->url);
    }
    if (strlen(path) > max) {
        return hgi_build_fault(build, section->line,
                               "listen \"%.120s\": the socket's path is longer than %zu bytes",
                               listen->url, max);
    }
    return check_no_tls(build, section);
}

/* Who reaches a data listen may only read, and there nothing is read. */
static bool check_services(const struct hgi_build *build, const struct hgi_section *section,
                           const struct hgi_listen_config *listen)
{
    if (listen->serves == HGI_SERVES_ADMIN && listen->access == HGI_ACCESS_DATA) {
        return hgi_build_fault(build, hgi_build_find(section, "services")->line,
                               "listen \"%s\": services admin needs to know who asks, and access "
                               "data asks nobody; write access = \"token\", or \"owner\" on ipc",
                               listen->url);
    }
    return true;
}

static bool build_listen(const struct hgi_build *build, const struct hgi_section *section,
                         struct hgi_listen_config *listen)
{
    bool is_ipc = strncmp(section->title, IPC, strlen(IPC)) == 0;
    bool is_tcp = strncmp(section->title, TCP, strlen(TCP)) == 0;
    bool is_tls = strncmp(section->title, TLS, strlen(TLS)) == 0;

    listen->url = section->title;
    listen->access = is_ipc ? HGI_ACCESS_OWNER : is_tcp ? HGI_ACCESS_DATA : HGI_ACCESS_TOKEN;
    if (!is_ipc && !is_tcp && !is_tls) {
        return hgi_build_fault(build, section->line,
                               "listen \"%.120s\" has no known scheme; write ipc:///path, "
                               "tcp://host:port or tls+tcp://host:port",
                               section->title);
    }
    if (!hgi_build_fill(build, "listen", section, false, listen)) {
        return false;
    }
    return check_services(build, section, listen) && (is_ipc   ? check_ipc(build, section, listen)
                                                      : is_tcp ? check_tcp(build, section, listen)
                                                               : check_tls(build, section, listen));
}

/* Somebody must be able to read. */
static bool check_all_served(const struct hgi_build *build)
{
    const struct hgi_config *config = build->config;

    for (size_t i = 0; i < config->listen_count; i++) {
        if (config->listens[i].serves == HGI_SERVES_ALL) {
            return true;
        }
    }
    return hgi_build_fault(build, 0,
                           "every listen has services admin, so nothing could be read; write one "
                           "without it");
}

bool hgi_build_listens(const struct hgi_build *build)
{
    bool is_good = true;
    size_t count = hgi_build_count(build, "listen");
    const struct hgi_section *section = hgi_build_next(build->sections, "listen");
    struct hgi_listen_config *listens;

    if (count == 0) {
        return hgi_build_fault(
            build, 0,
            "there is no listen section; write such as "
            "listen \"ipc:///run/herdgate/herdgate.sock\" { access = \"owner\" }");
    }
    if (count > HGI_LISTENS_MAX) {
        return hgi_build_fault(build, 0, "more than %u listen sections", HGI_LISTENS_MAX);
    }
    listens = hgi_build_take(build, count * sizeof(*listens), &is_good);
    build->config->listens = listens;
    for (; is_good && section; section = hgi_build_next(section->next, "listen")) {
        struct hgi_listen_config *listen = &listens[build->config->listen_count++];

        is_good = build_listen(build, section, listen);
    }
    return is_good && check_all_served(build);
}

/* ---- principals ---- */

/* The cache that is meant is there; what is not there yet cannot be granted by mistake. */
static bool check_cache(const struct hgi_build *build, const struct hgi_section *section,
                        const struct hgi_assignment *allow)
{
    const char *nearest = NULL;

    if (strcmp(allow->setting_name, HGI_EVERY_CACHE) == 0) {
        return true;
    }
    for (size_t i = 0; i < build->config->cache_count; i++) {
        const char *name = build->config->caches[i].name;

        if (strcmp(name, allow->setting_name) == 0) {
            return true;
        }
        (void)hgi_nearer(allow->setting_name, name, &nearest);
    }
    return hgi_build_fault(build, allow->line,
                           "principal \"%s\": there is no cache \"%.80s\"; %s%s%s", section->title,
                           allow->setting_name, nearest ? "did you mean \"" : "write one, or ",
                           nearest ? nearest : "\"*\" for every cache", nearest ? "\"?" : "");
}

static bool build_grant(const struct hgi_build *build, const struct hgi_section *section,
                        const struct hgi_assignment *allow, struct hgi_grant *ret_grant)
{
    char list[HGI_VERBS_LIST_MAX];
    char wrong[64];

    ret_grant->cache = allow->setting_name;
    if (!hgi_verbs_parse(allow->value.text, &ret_grant->verbs, wrong, sizeof(wrong))) {
        hgi_verbs_list(list);
        return hgi_build_fault(build, allow->line,
                               "principal \"%s\": \"%s\" is nothing that may be allowed; there are "
                               "%s",
                               section->title, wrong, list);
    }
    return check_cache(build, section, allow);
}

static bool build_principal(const struct hgi_build *build, const struct hgi_section *section,
                            struct hgi_principal *ret_principal)
{
    struct hgi_grant *grants;
    size_t count = 0;
    bool is_good = hgi_build_check_name(build, section);

    for (const struct hgi_assignment *at = section->assignments; at; at = at->next) {
        count++;
    }
    grants = hgi_build_take(build, count * sizeof(*grants), &is_good);
    ret_principal->name = section->title;
    ret_principal->number = (uint32_t)(ret_principal - build->config->principals);
    ret_principal->grants = grants;
    for (const struct hgi_assignment *at = section->assignments; is_good && at; at = at->next) {
        is_good = build_grant(build, section, at, &grants[ret_principal->grant_count++]);
    }
    return is_good;
}

/* Tokens and encryption need the key, and who asks for tokens needs them kept. */
static bool check_files(const struct hgi_build *build)
{
    const struct hgi_section *global = hgi_build_next(build->sections, HGI_OPTION_SECTION_GLOBAL);
    const struct hgi_section *principal = hgi_build_next(build->sections, "principal");
    const struct hgi_section *listen = hgi_build_next(build->sections, "listen");
    const struct hgi_config *config = build->config;

    if (config->tokens_file && !config->key_file) {
        return hgi_build_fault(build, hgi_build_find(global, "tokens_file")->line,
                               "tokens_file needs a key_file, with which what it holds is keyed; "
                               "write such as key_file = \"/var/lib/herdgate/key\"");
    }
    if (config->snapshot && config->snapshot->is_encrypted && !config->key_file) {
        return hgi_build_fault(
            build, hgi_build_find(hgi_build_next(build->sections, "snapshot"), "encrypt")->line,
            "snapshot: encrypt needs a key_file; write such as "
            "key_file = \"/var/lib/herdgate/key\"");
    }
    if (principal && !config->tokens_file) {
        return hgi_build_fault(build, principal->line,
                               "principal \"%s\": nobody can have a token of it without a "
                               "tokens_file; write such as "
                               "tokens_file = \"/var/lib/herdgate/tokens\"",
                               principal->title);
    }
    for (size_t i = 0; i < config->listen_count; i++, listen = listen->next) {
        listen = hgi_build_next(listen, "listen");
        if (config->listens[i].access == HGI_ACCESS_TOKEN && !config->tokens_file) {
            return hgi_build_fault(build, listen->line,
                                   "listen \"%s\": access token needs a tokens_file; write such as "
                                   "tokens_file = \"/var/lib/herdgate/tokens\"",
                                   listen->title);
        }
    }
    return true;
}

bool hgi_build_principals(const struct hgi_build *build)
{
    size_t count = hgi_build_count(build, "principal");
    const struct hgi_section *section = hgi_build_next(build->sections, "principal");
    bool is_good = check_files(build);
    struct hgi_principal *principals;

    if (is_good && count > HGI_CONFIG_PRINCIPALS_MAX) {
        is_good =
            hgi_build_fault(build, 0, "more than %u principal sections", HGI_CONFIG_PRINCIPALS_MAX);
    }
    if (!is_good) {
        return false;
    }
    principals = hgi_build_take(build, count * sizeof(*principals), &is_good);
    build->config->principals = principals;
    for (; is_good && section; section = hgi_build_next(section->next, "principal")) {
        is_good = build_principal(build, section, &principals[build->config->principal_count++]);
    }
    return is_good;
}
