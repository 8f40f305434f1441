/* SPDX-License-Identifier: Apache-2.0 */
#include "config_build.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/check.h"
#include "base/nearest.h"
#include "server/cache/registry.h"

#define NAME_LEN_MAX   64u
#define UIDS_MAX       256u
#define MESSAGE_MARGIN 4096u /* for the key, the envelope and the frame around a value */

struct build {
    struct hgi_arena *arena;
    const char *path;
    char *sentence;
    const struct hgi_section *sections;
    struct hgi_config *config;
};

static bool fault(const struct build *build, int line, const char *format, ...) HG_PRINTF(3, 4);

/* line 0: of the file as a whole. */
static bool fault(const struct build *build, int line, const char *format, ...)
{
    char *out = build->sentence;
    va_list args;
    int len = line > 0 ? snprintf(out, HGI_CONFIG_SENTENCE_MAX, "%s:%d: ", build->path, line)
                       : snprintf(out, HGI_CONFIG_SENTENCE_MAX, "%s: ", build->path);

    if (len > 0 && (size_t)len < HGI_CONFIG_SENTENCE_MAX) {
        va_start(args, format);
        vsnprintf(out + len, HGI_CONFIG_SENTENCE_MAX - (size_t)len, format, args);
        va_end(args);
    }
    return false;
}

static void *take(const struct build *build, size_t size, bool *is_good)
{
    void *memory = hgi_arena_alloc(build->arena, size);

    if (!memory) {
        *is_good = fault(build, 0, "out of memory");
    }
    return memory;
}

static const struct hgi_assignment *find(const struct hgi_section *section, const char *name)
{
    const struct hgi_assignment *at = section ? section->assignments : NULL;

    while (at && strcmp(at->option->name, name) != 0) {
        at = at->next;
    }
    return at;
}

static const struct hgi_section *next_of(const struct hgi_section *section, const char *name)
{
    while (section && strcmp(section->name, name) != 0) {
        section = section->next;
    }
    return section;
}

static size_t count_of(const struct build *build, const char *name)
{
    const struct hgi_section *at = next_of(build->sections, name);
    size_t count = 0;

    for (; at; at = next_of(at->next, name)) {
        count++;
    }
    return count;
}

/* `cache "auth"`, `snapshot`, and nothing for the options outside. */
static const char *label(const struct hgi_section *section, char *ret_label, size_t size)
{
    if (section->title) {
        snprintf(ret_label, size, "%s \"%.80s\": ", section->name, section->title);
    } else {
        snprintf(ret_label, size, "%s: ", section->name);
    }
    return ret_label;
}

/* Stores every option of the section: as written, else its fallback. */
static bool fill(const struct build *build, const char *name, const struct hgi_section *section,
                 bool is_auth, void *ret_struct)
{
    char sentence[HGI_SENTENCE_MAX];
    char head[128];

    for (size_t i = 0; i < hgi_option_count(); i++) {
        const struct hgi_option *option = hgi_option_at(i);
        const struct hgi_assignment *given = find(section, option->name);
        const char *fallback =
            is_auth && option->fallback_auth ? option->fallback_auth : option->fallback;
        struct hgi_option_value value;

        if (strcmp(option->section, name) != 0) {
            continue;
        }
        if (given) {
            hgi_option_store(option, &given->value, ret_struct);
        } else if (!fallback) {
            return fault(build, section->line, "%s%s is missing and must be given",
                         label(section, head, sizeof(head)), option->name);
        } else if (fallback[0] != '=') {
            HGI_BUG_ON(!hgi_option_parse(option, fallback, &value, sentence));
            hgi_option_store(option, &value, ret_struct);
        }
    }
    return true;
}

static bool check_name(const struct build *build, const struct hgi_section *section)
{
    size_t len = strlen(section->title);

    for (size_t i = 0; i < len; i++) {
        if (!isalnum((unsigned char)section->title[i]) && !strchr("_-.", section->title[i])) {
            len = 0;
        }
    }
    if (len == 0 || len > NAME_LEN_MAX) {
        return fault(build, section->line,
                     "%s \"%.80s\" is no name; write 1 to %u letters, digits, '_', '-' or '.'",
                     section->name, section->title, NAME_LEN_MAX);
    }
    return true;
}

/* "0, 1000" or "0 1000". Room for UIDS_MAX of them. */
static bool build_uids(const struct build *build, const struct hgi_section *global,
                       const char *name, const uint32_t **ret_uids, size_t *ret_count)
{
    const struct hgi_assignment *given = find(global, name);
    bool is_good = true;
    uint32_t *uids = take(build, UIDS_MAX * sizeof(*uids), &is_good);
    size_t count = 0;
    const char *at = given ? given->value.text : "";

    if (!is_good) {
        return false;
    }
    for (at += strspn(at, " ,"); *at; at += strspn(at, " ,")) {
        char *end = NULL;
        unsigned long uid = isdigit((unsigned char)*at) ? strtoul(at, &end, 10) : 0;

        if (!end || (*end && !strchr(" ,", *end)) || uid >= UINT32_MAX) {
            return fault(build, given->line,
                         "%s = \"%.80s\": user ids are numbers; write such as \"0, 1000\"", name,
                         given->value.text);
        }
        if (count == UIDS_MAX) {
            return fault(build, given->line, "%s: more than %u user ids", name, UIDS_MAX);
        }
        uids[count++] = (uint32_t)uid;
        at = end;
    }
    *ret_uids = uids;
    *ret_count = count;
    return true;
}

static bool build_peers(const struct build *build, const struct hgi_section *global)
{
    struct hgi_config *config = build->config;
    bool is_good = build_uids(build, global, "peers", &config->peers, &config->peer_count);

    if (is_good && !find(global, "peers")) {
        uint32_t *peers = take(build, 2 * sizeof(*peers), &is_good);

        if (!is_good) {
            return false;
        }
        peers[0] = (uint32_t)geteuid(); /* and root, which may be the same */
        config->peers = peers;
        config->peer_count = peers[0] != 0 ? 2 : 1;
    }
    return is_good;
}

static bool build_global(const struct build *build, const char *default_plugin_dir)
{
    const struct hgi_section *global = next_of(build->sections, HGI_OPTION_SECTION_GLOBAL);
    const struct hgi_section *section = next_of(build->sections, "limits");
    struct hgi_limits *limits = &build->config->limits;

    build->config->plugin_dir = default_plugin_dir;
    if (!fill(build, HGI_OPTION_SECTION_GLOBAL, global, false, build->config) ||
        !fill(build, "limits", section, false, limits)) {
        return false;
    }
    if (limits->message_max_bytes < limits->value_max_bytes + MESSAGE_MARGIN) {
        const struct hgi_assignment *value_max = find(section, "value_max");
        const struct hgi_assignment *message_max = find(section, "message_max");

        return fault(build, message_max ? message_max->line : value_max->line,
                     "limits: message_max (%zu bytes) must be at least 4KiB more than value_max "
                     "(%zu bytes)",
                     limits->message_max_bytes, limits->value_max_bytes);
    }
    return build_peers(build, global) &&
           build_uids(build, global, "plugin_owners", &build->config->plugin_owners,
                      &build->config->plugin_owner_count);
}

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

static bool check_tcp(const struct build *build, const struct hgi_section *section,
                      const struct hgi_listen_config *listen)
{
    const char *host = listen->url + strlen("tcp://");
    const char *colon = strrchr(host, ':');
    size_t digits = colon ? strspn(colon + 1, "0123456789") : 0;

    if (!colon || colon == host || digits == 0 || digits > 5 || colon[1 + digits] ||
        strtoul(colon + 1, NULL, 10) > 65535) {
        return fault(build, section->line,
                     "listen \"%s\" has no host and port; write such as \"tcp://127.0.0.1:7448\"",
                     listen->url);
    }
    if (!is_loopback(host, (size_t)(colon - host))) {
        return fault(build, section->line,
                     "listen \"%s\" is open to the network, which needs TLS that is not there yet; "
                     "write a loopback address such as \"tcp://127.0.0.1:7448\"",
                     listen->url);
    }
    if (listen->access == HGI_ACCESS_OWNER) {
        return fault(build, find(section, "access")->line,
                     "listen \"%s\": access owner needs ipc, where the peer's user is known; write "
                     "\"data\"",
                     listen->url);
    }
    return true;
}

static bool check_ipc(const struct build *build, const struct hgi_section *section,
                      const struct hgi_listen_config *listen)
{
    const size_t max = sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1;
    const char *path = listen->url + strlen("ipc://");

    if (path[0] != '/' || !path[1]) {
        return fault(build, section->line,
                     "listen \"%s\": the socket's path is relative; write such as "
                     "\"ipc:///run/herdgate/herdgate.sock\"",
                     listen->url);
    }
    if (strlen(path) > max) {
        return fault(build, section->line,
                     "listen \"%.120s\": the socket's path is longer than %zu bytes", listen->url,
                     max);
    }
    return true;
}

static bool build_listens(const struct build *build)
{
    bool is_good = true;
    size_t count = count_of(build, "listen");
    const struct hgi_section *section = next_of(build->sections, "listen");
    struct hgi_listen_config *listens;

    if (count == 0) {
        return fault(build, 0,
                     "there is no listen section; write such as "
                     "listen \"ipc:///run/herdgate/herdgate.sock\" { access = \"owner\" }");
    }
    if (count > HGI_LISTENS_MAX) {
        return fault(build, 0, "more than %u listen sections", HGI_LISTENS_MAX);
    }
    listens = take(build, count * sizeof(*listens), &is_good);
    build->config->listens = listens;
    for (; is_good && section; section = next_of(section->next, "listen")) {
        struct hgi_listen_config *listen = &listens[build->config->listen_count++];
        bool is_tcp = strncmp(section->title, "tcp://", 6) == 0;

        listen->url = section->title;
        listen->access = is_tcp ? HGI_ACCESS_DATA : HGI_ACCESS_OWNER;
        if (!is_tcp && strncmp(section->title, "ipc://", 6) != 0) {
            return fault(build, section->line,
                         "listen \"%.120s\" has no known scheme; write ipc:///path or "
                         "tcp://host:port",
                         section->title);
        }
        is_good = fill(build, "listen", section, false, listen) &&
                  (is_tcp ? check_tcp(build, section, listen) : check_ipc(build, section, listen));
    }
    return is_good;
}

static bool build_snapshot(const struct build *build)
{
    const struct hgi_section *section = next_of(build->sections, "snapshot");
    bool is_good = true;

    if (!section) {
        return true;
    }
    build->config->snapshot = take(build, sizeof(*build->config->snapshot), &is_good);
    return is_good && fill(build, "snapshot", section, false, build->config->snapshot);
}

/* What the plugin is told, in the order of the file. */
static bool build_settings(const struct build *build, const struct hgi_section *section,
                           struct hgi_loader_config *loader)
{
    struct hg_loader_setting *settings;
    size_t count = 0;
    bool is_good = true;

    for (const struct hgi_assignment *at = section->assignments; at; at = at->next) {
        count += at->setting_name != NULL;
    }
    settings = take(build, count * sizeof(*settings), &is_good);
    if (!is_good) {
        return false;
    }
    for (const struct hgi_assignment *at = section->assignments; at; at = at->next) {
        if (at->setting_name) {
            settings[loader->setting_count++] =
                (struct hg_loader_setting){.name = at->setting_name, .value = at->value.text};
        }
    }
    loader->settings = settings;
    return true;
}

static bool resolve_plugin(const struct build *build, struct hgi_loader_config *loader)
{
    size_t size = strlen(build->config->plugin_dir) + strlen(loader->plugin) + sizeof("/.so");
    bool is_good = true;
    char *path;

    if (loader->plugin[0] == '/') {
        return true;
    }
    path = take(build, size, &is_good);
    if (is_good) {
        snprintf(path, size, "%s/%s.so", build->config->plugin_dir, loader->plugin);
        loader->plugin = path;
    }
    return is_good;
}

static bool build_loaders(const struct build *build)
{
    size_t count = count_of(build, "loader");
    const struct hgi_section *section = next_of(build->sections, "loader");
    bool is_good = true;

    if (count > HGI_LOADERS_MAX) {
        return fault(build, 0, "more than %u loader sections", HGI_LOADERS_MAX);
    }
    build->config->loaders = take(build, count * sizeof(*build->config->loaders), &is_good);
    for (; is_good && section; section = next_of(section->next, "loader")) {
        struct hgi_loader_config *loader = &build->config->loaders[build->config->loader_count++];

        loader->name = section->title;
        loader->file = build->path;
        loader->line = section->line;
        is_good = check_name(build, section) && fill(build, "loader", section, false, loader) &&
                  build_settings(build, section, loader) && resolve_plugin(build, loader);
    }
    return is_good;
}

static bool check_loader(const struct build *build, const struct hgi_section *section,
                         const struct hgi_cache_config *cache)
{
    const char *nearest = NULL;

    if (!cache->loader) {
        return true;
    }
    for (size_t i = 0; i < build->config->loader_count; i++) {
        const char *name = build->config->loaders[i].name;

        if (strcmp(name, cache->loader) == 0) {
            return true;
        }
        (void)hgi_nearer(cache->loader, name, &nearest);
    }
    return fault(build, find(section, "loader")->line,
                 "cache \"%s\": there is no loader \"%.80s\"; %s%s%s", section->title,
                 cache->loader, nearest ? "did you mean \"" : "add a section loader \"",
                 nearest ? nearest : cache->loader, nearest ? "\"?" : "\" { ... }");
}

/* Defaults that follow from other options. */
static bool build_policy(const struct build *build, const struct hgi_section *section,
                         struct hgi_policy *policy)
{
    const struct hgi_assignment *stale_ttl = find(section, "stale_ttl");
    const struct hgi_assignment *refresh_ahead = find(section, "refresh_ahead");

    if (!stale_ttl) {
        policy->stale_ttl_ms = policy->ttl_ms;
    } else if (policy->stale_ttl_ms < policy->ttl_ms) {
        return fault(build, stale_ttl->line,
                     "cache \"%s\": stale_ttl (%lld ms) is shorter than ttl (%lld ms); it is the "
                     "age up to which a value may be served at all",
                     section->title, (long long)policy->stale_ttl_ms, (long long)policy->ttl_ms);
    }
    if (!find(section, "mode")) {
        policy->mode = policy->stale_ttl_ms > policy->ttl_ms ? HG_MODE_REVALIDATE : HG_MODE_FRESH;
    }
    if (!find(section, "wait_budget")) {
        policy->wait_budget_ms = hgi_policy_wait_budget_ms(policy->load_timeout_ms);
    }
    policy->refresh_ahead_is_random =
        refresh_ahead && refresh_ahead->value.number == HGI_REFRESH_AHEAD_XFETCH;
    return true;
}

static bool build_caches(const struct build *build)
{
    size_t count = count_of(build, "cache");
    const struct hgi_section *section = next_of(build->sections, "cache");
    bool is_good = true;

    if (count == 0) {
        return fault(build, 0,
                     "there is no cache section; write such as "
                     "cache \"keys\" { key = \"key_hash\" value = \"json\" }");
    }
    if (count > HGI_CACHES_MAX) {
        return fault(build, 0, "more than %u cache sections", HGI_CACHES_MAX);
    }
    build->config->caches = take(build, count * sizeof(*build->config->caches), &is_good);
    for (; is_good && section; section = next_of(section->next, "cache")) {
        struct hgi_cache_config *cache = &build->config->caches[build->config->cache_count++];
        const struct hgi_assignment *value = find(section, "value");
        bool is_auth = value && value->value.number == HG_TYPE_AUTH;

        cache->name = section->title;
        cache->policy.expired_is_denied = is_auth;
        is_good = check_name(build, section) && fill(build, "cache", section, is_auth, cache) &&
                  build_policy(build, section, &cache->policy) &&
                  check_loader(build, section, cache);
    }
    return is_good;
}

bool hgi_config_build(struct hgi_arena *arena, const char *path, const char *default_plugin_dir,
                      const struct hgi_section *sections, struct hgi_config *ret_config,
                      char *ret_sentence)
{
    struct hgi_config config = {.runtime_dir = NULL};
    struct build build = {.arena = arena,
                          .path = path,
                          .sentence = ret_sentence,
                          .sections = sections,
                          .config = &config};

    if (!build_global(&build, default_plugin_dir) || !build_listens(&build) ||
        !build_snapshot(&build) || !build_loaders(&build) || !build_caches(&build)) {
        return false;
    }
    *ret_config = config;
    return true;
}
