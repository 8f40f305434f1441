/* SPDX-License-Identifier: Apache-2.0 */
#include "config_build.h"

#include <ctype.h>
#include <pwd.h>
#include <errno.h>
#include <grp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "base/nearest.h"
#include "server/cache/registry.h"
#include "server/config_inside.h"

#define NAME_LEN_MAX   64u
#define UIDS_MAX       256u
#define MESSAGE_MARGIN 4096u /* for the key, the envelope and the frame around a value */

bool hgi_build_fault(const struct hgi_build *build, int line, const char *format, ...)
{
    char *out = build->sentence;
    va_list args;
    size_t len;

    hgi_config_lines_say(build->lines, line, out, HGI_CONFIG_SENTENCE_MAX / 2);
    len = strlen(out);
    len += (size_t)snprintf(out + len, HGI_CONFIG_SENTENCE_MAX - len, ": ");
    va_start(args, format);
    vsnprintf(out + len, HGI_CONFIG_SENTENCE_MAX - len, format, args);
    va_end(args);
    return false;
}

void *hgi_build_take(const struct hgi_build *build, size_t size, bool *is_good)
{
    void *memory = hgi_arena_alloc(build->arena, size);

    if (!memory) {
        *is_good = hgi_build_fault(build, 0, "out of memory");
    }
    return memory;
}

const struct hgi_assignment *hgi_build_find(const struct hgi_section *section, const char *name)
{
    const struct hgi_assignment *at = section ? section->assignments : NULL;

    while (at && strcmp(at->option->name, name) != 0) {
        at = at->next;
    }
    return at;
}

const struct hgi_section *hgi_build_next(const struct hgi_section *section, const char *name)
{
    while (section && strcmp(section->name, name) != 0) {
        section = section->next;
    }
    return section;
}

size_t hgi_build_count(const struct hgi_build *build, const char *name)
{
    const struct hgi_section *at = hgi_build_next(build->sections, name);
    size_t count = 0;

    for (; at; at = hgi_build_next(at->next, name)) {
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

bool hgi_build_fill(const struct hgi_build *build, const char *name,
                    const struct hgi_section *section, bool is_auth, void *ret_struct)
{
    char sentence[HGI_SENTENCE_MAX];
    char head[128];

    for (size_t i = 0; i < hgi_option_count(); i++) {
        const struct hgi_option *option = hgi_option_at(i);
        const struct hgi_assignment *given = hgi_build_find(section, option->name);
        const char *fallback =
            is_auth && option->fallback_auth ? option->fallback_auth : option->fallback;
        struct hgi_option_value value;

        if (strcmp(option->section, name) != 0) {
            continue;
        }
        if (given) {
            hgi_option_store(option, &given->value, ret_struct);
        } else if (!fallback) {
            return hgi_build_fault(build, section->line, "%s%s is missing and must be given",
                                   label(section, head, sizeof(head)), option->name);
        } else if (fallback[0] != '=') {
            HGI_BUG_ON(!hgi_option_parse(option, fallback, &value, sentence));
            hgi_option_store(option, &value, ret_struct);
        }
    }
    return true;
}

bool hgi_build_check_name(const struct hgi_build *build, const struct hgi_section *section)
{
    size_t len = strlen(section->title);

    for (size_t i = 0; i < len; i++) {
        if (!isalnum((unsigned char)section->title[i]) && !strchr("_-.", section->title[i])) {
            len = 0;
        }
    }
    if (len == 0 || len > NAME_LEN_MAX) {
        return hgi_build_fault(
            build, section->line,
            "%s \"%.80s\" is no name; write 1 to %u letters, digits, '_', '-' or '.'",
            section->name, section->title, NAME_LEN_MAX);
    }
    return true;
}

/* "0, 1000" or "0 1000". Room for UIDS_MAX of them. */
static bool build_uids(const struct hgi_build *build, const struct hgi_section *global,
                       const char *name, const uint32_t **ret_uids, size_t *ret_count)
{
    const struct hgi_assignment *given = hgi_build_find(global, name);
    bool is_good = true;
    uint32_t *uids = hgi_build_take(build, UIDS_MAX * sizeof(*uids), &is_good);
    size_t count = 0;
    const char *at = given ? given->value.text : "";

    if (!is_good) {
        return false;
    }
    for (at += strspn(at, " ,"); *at; at += strspn(at, " ,")) {
        char *end = NULL;
        unsigned long uid = isdigit((unsigned char)*at) ? strtoul(at, &end, 10) : 0;

        if (!end || (*end && !strchr(" ,", *end)) || uid >= UINT32_MAX) {
            return hgi_build_fault(
                build, given->line,
                "%s = \"%.80s\": user ids are numbers; write such as \"0, 1000\"", name,
                given->value.text);
        }
        if (count == UIDS_MAX) {
            return hgi_build_fault(build, given->line, "%s: more than %u user ids", name, UIDS_MAX);
        }
        uids[count++] = (uint32_t)uid;
        at = end;
    }
    *ret_uids = uids;
    *ret_count = count;
    return true;
}

static bool build_peers(const struct hgi_build *build, const struct hgi_section *global)
{
    struct hgi_config *config = build->config;
    bool is_good = build_uids(build, global, "peers", &config->peers, &config->peer_count);

    if (is_good && !hgi_build_find(global, "peers")) {
        uint32_t *peers = hgi_build_take(build, 2 * sizeof(*peers), &is_good);

        if (!is_good) {
            return false;
        }
        peers[0] = (uint32_t)geteuid(); /* and root, which may be the same */
        config->peers = peers;
        config->peer_count = peers[0] != 0 ? 2 : 1;
    }
    return is_good;
}

/* By number or by name. */
static bool build_local_group(const struct hgi_build *build, const struct hgi_section *global)
{
    const struct hgi_assignment *given = hgi_build_find(global, "local_group");
    struct hgi_config *config = build->config;
    const struct group *group;
    char *end;

    config->local_gid = -1;
    if (!given) {
        return true;
    }
    errno = 0;
    config->local_gid = strtoll(config->local_group, &end, 10);
    if (end != config->local_group && !*end && !errno && config->local_gid >= 0 &&
        config->local_gid < UINT32_MAX) {
        return true;
    }
    group = getgrnam(config->local_group); /* one thread reads a configuration */
    if (!group) {
        return hgi_build_fault(
            build, given->line,
            "local_group = \"%.80s\" is no group here; write the name or the number of one",
            config->local_group);
    }
    config->local_gid = group->gr_gid;
    return true;
}

static bool build_global(const struct hgi_build *build, const char *default_plugin_dir)
{
    const struct hgi_section *global = hgi_build_next(build->sections, HGI_OPTION_SECTION_GLOBAL);
    const struct hgi_section *section = hgi_build_next(build->sections, "limits");
    struct hgi_limits *limits = &build->config->limits;

    build->config->plugin_dir = default_plugin_dir;
    if (!hgi_build_fill(build, HGI_OPTION_SECTION_GLOBAL, global, false, build->config) ||
        !hgi_build_fill(build, "limits", section, false, limits)) {
        return false;
    }
    if (limits->message_max_bytes < limits->value_max_bytes + MESSAGE_MARGIN) {
        const struct hgi_assignment *value_max = hgi_build_find(section, "value_max");
        const struct hgi_assignment *message_max = hgi_build_find(section, "message_max");

        return hgi_build_fault(
            build, message_max ? message_max->line : value_max->line,
            "limits: message_max (%zu bytes) must be at least 4KiB more than value_max "
            "(%zu bytes)",
            limits->message_max_bytes, limits->value_max_bytes);
    }
    return build_peers(build, global) && build_local_group(build, global) &&
           build_uids(build, global, "plugin_owners", &build->config->plugin_owners,
                      &build->config->plugin_owner_count);
}

static bool build_snapshot(const struct hgi_build *build)
{
    const struct hgi_section *section = hgi_build_next(build->sections, "snapshot");
    bool is_good = true;

    if (!section) {
        return true;
    }
    build->config->snapshot = hgi_build_take(build, sizeof(*build->config->snapshot), &is_good);
    return is_good && hgi_build_fill(build, "snapshot", section, false, build->config->snapshot);
}

/* What the plugin is told, in the order of the file. */
static bool build_settings(const struct hgi_build *build, const struct hgi_section *section,
                           struct hgi_loader_config *loader)
{
    struct hg_loader_setting *settings;
    const char **shown;
    size_t count = 0;
    bool is_good = true;

    for (const struct hgi_assignment *at = section->assignments; at; at = at->next) {
        count += at->setting_name != NULL;
    }
    settings = hgi_build_take(build, count * sizeof(*settings), &is_good);
    shown = hgi_build_take(build, count * sizeof(*shown), &is_good);
    if (!is_good) {
        return false;
    }
    for (const struct hgi_assignment *at = section->assignments; at; at = at->next) {
        if (at->setting_name) {
            shown[loader->setting_count] = at->shown;
            settings[loader->setting_count++] =
                (struct hg_loader_setting){.name = at->setting_name, .value = at->value.text};
        }
    }
    loader->settings = settings;
    loader->shown = shown;
    return true;
}

static bool resolve_user(const struct hgi_build *build, const struct hgi_section *section,
                         struct hgi_loader_config *loader)
{
    char room[4096];
    struct passwd found;
    struct passwd *entry = NULL;
    int error;

    if (!loader->user) {
        return true;
    }
    error = getpwnam_r(loader->user, &found, room, sizeof(room), &entry);
    if (!entry) {
        return hgi_build_fault(build, hgi_build_find(section, "user")->line,
                               "loader \"%s\": user = \"%.60s\": %s", section->title, loader->user,
                               error ? strerror(error) : "there is no such user");
    }
    loader->uid = entry->pw_uid;
    loader->gid = entry->pw_gid;
    return true;
}

static bool resolve_plugin(const struct hgi_build *build, struct hgi_loader_config *loader)
{
    bool is_good = true;
    size_t size;
    char *path;

    if (!loader->plugin == !loader->program) {
        return hgi_build_fault(
            build, loader->line,
            loader->plugin ? "loader \"%s\": has a plugin and a program; one is right"
                           : "loader \"%s\": plugin or program is missing; one must be given",
            loader->name);
    }
    if (loader->program || loader->plugin[0] == '/') {
        return true;
    }
    size = strlen(build->config->plugin_dir) + strlen(loader->plugin) + sizeof("/.so");
    path = hgi_build_take(build, size, &is_good);
    if (is_good) {
        snprintf(path, size, "%s/%s.so", build->config->plugin_dir, loader->plugin);
        loader->plugin = path;
    }
    return is_good;
}

/* For what is said of it later, when the text is gone. */
static bool place_loader(const struct hgi_build *build, const struct hgi_section *section,
                         struct hgi_loader_config *loader)
{
    struct hgi_config_line at = hgi_config_lines_at(build->lines, section->line);
    const char *file = build->lines->files[at.file];
    bool is_good = true;
    char *copy = hgi_build_take(build, strlen(file) + 1, &is_good);

    if (copy) {
        memcpy(copy, file, strlen(file) + 1);
    }
    loader->file = copy;
    loader->line = at.line;
    return is_good;
}

static bool build_loaders(const struct hgi_build *build)
{
    size_t count = hgi_build_count(build, "loader");
    const struct hgi_section *section = hgi_build_next(build->sections, "loader");
    bool is_good = true;

    if (count > HGI_LOADERS_MAX) {
        return hgi_build_fault(build, 0, "more than %u loader sections", HGI_LOADERS_MAX);
    }
    build->config->loaders =
        hgi_build_take(build, count * sizeof(*build->config->loaders), &is_good);
    for (; is_good && section; section = hgi_build_next(section->next, "loader")) {
        struct hgi_loader_config *loader = &build->config->loaders[build->config->loader_count++];

        loader->name = section->title;
        is_good = place_loader(build, section, loader) && hgi_build_check_name(build, section) &&
                  hgi_build_fill(build, "loader", section, false, loader) &&
                  build_settings(build, section, loader) && resolve_plugin(build, loader) &&
                  resolve_user(build, section, loader);
    }
    return is_good;
}

static bool check_loader(const struct hgi_build *build, const struct hgi_section *section,
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
    return hgi_build_fault(build, hgi_build_find(section, "loader")->line,
                           "cache \"%s\": there is no loader \"%.80s\"; %s%s%s", section->title,
                           cache->loader, nearest ? "did you mean \"" : "add a section loader \"",
                           nearest ? nearest : cache->loader, nearest ? "\"?" : "\" { ... }");
}

/* A digest that is kept is of use only while its key is; and others could not look for it. */
static bool check_secret_keys(const struct hgi_build *build, const struct hgi_section *section,
                              const struct hgi_cache_config *cache)
{
    if (!cache->secret_keys) {
        return true;
    }
    if (cache->local_reads) {
        return hgi_build_fault(build, hgi_build_find(section, "secret_keys")->line,
                               "cache \"%s\": secret_keys and local_reads exclude each other: "
                               "readers of the cache's file look for the keys themselves; turn one "
                               "of them off",
                               section->title);
    }
    if (build->config->snapshot && !build->config->key_file) {
        return hgi_build_fault(build, hgi_build_find(section, "secret_keys")->line,
                               "cache \"%s\": secret_keys with a snapshot needs a key_file, or "
                               "nothing would be found again after a restart; write such as "
                               "key_file = \"/var/lib/herdgate/key\"",
                               section->title);
    }
    return true;
}

/* Defaults that follow from other options. */
static bool build_policy(const struct hgi_build *build, const struct hgi_section *section,
                         struct hgi_policy *policy)
{
    const struct hgi_assignment *stale_ttl = hgi_build_find(section, "stale_ttl");
    const struct hgi_assignment *refresh_ahead = hgi_build_find(section, "refresh_ahead");

    if (!stale_ttl) {
        policy->stale_ttl_ms = policy->ttl_ms;
    } else if (policy->stale_ttl_ms < policy->ttl_ms) {
        return hgi_build_fault(
            build, stale_ttl->line,
            "cache \"%s\": stale_ttl (%lld ms) is shorter than ttl (%lld ms); it is the "
            "age up to which a value may be served at all",
            section->title, (long long)policy->stale_ttl_ms, (long long)policy->ttl_ms);
    }
    if (!hgi_build_find(section, "mode")) {
        policy->mode = policy->stale_ttl_ms > policy->ttl_ms ? HG_MODE_REVALIDATE : HG_MODE_FRESH;
    }
    if (!hgi_build_find(section, "wait_budget")) {
        policy->wait_budget_ms = hgi_policy_wait_budget_ms(policy->load_timeout_ms);
    }
    policy->refresh_ahead_is_random =
        refresh_ahead && refresh_ahead->value.number == HGI_REFRESH_AHEAD_XFETCH;
    return true;
}

static bool build_caches(const struct hgi_build *build)
{
    size_t count = hgi_build_count(build, "cache");
    const struct hgi_section *section = hgi_build_next(build->sections, "cache");
    bool is_good = true;

    if (count == 0) {
        return hgi_build_fault(build, 0,
                               "there is no cache section; write such as "
                               "cache \"keys\" { key = \"key_hash\" value = \"json\" }");
    }
    if (count > HGI_CACHES_MAX) {
        return hgi_build_fault(build, 0, "more than %u cache sections", HGI_CACHES_MAX);
    }
    build->config->caches = hgi_build_take(build, count * sizeof(*build->config->caches), &is_good);
    for (; is_good && section; section = hgi_build_next(section->next, "cache")) {
        struct hgi_cache_config *cache = &build->config->caches[build->config->cache_count++];
        const struct hgi_assignment *value = hgi_build_find(section, "value");
        bool is_auth = value && value->value.number == HG_TYPE_AUTH;

        cache->name = section->title;
        cache->policy.expired_is_denied = is_auth;
        is_good = hgi_build_check_name(build, section) &&
                  hgi_build_fill(build, "cache", section, is_auth, cache) &&
                  build_policy(build, section, &cache->policy) &&
                  check_loader(build, section, cache) && check_secret_keys(build, section, cache);
    }
    return is_good;
}

bool hgi_config_build(struct hgi_arena *arena, const struct hgi_config_lines *lines,
                      const char *default_plugin_dir, const struct hgi_section *sections,
                      struct hgi_config *ret_config, char *ret_sentence)
{
    struct hgi_config config = {.runtime_dir = NULL};
    struct hgi_build build = {.arena = arena,
                              .lines = lines,
                              .sentence = ret_sentence,
                              .sections = sections,
                              .config = &config};

    if (!build_global(&build, default_plugin_dir) || !hgi_build_listens(&build) ||
        !build_snapshot(&build) || !build_loaders(&build) || !build_caches(&build) ||
        !hgi_build_principals(&build) || !hgi_build_http(&build)) {
        return false;
    }
    *ret_config = config;
    return true;
}
