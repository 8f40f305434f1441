/* SPDX-License-Identifier: Apache-2.0 */
/* clear, caches, stats, loaders: verbs for who runs the server. */
#include <inttypes.h>

#include "base/kind.h"
#include "client/cli/cli.h"
#include "client/cli/key.h"
#include "client/cli/output.h"
#include "client/cli/report.h"

enum { OPTION_ALL = 0x500, OPTION_KEY, OPTION_TAG, OPTION_SOFT, OPTION_WAIT, OPTION_RELOAD };

static struct hg_named named(const struct hgi_cli *cli, const char *name)
{
    struct hg_named request = {.name = name, .timeout_ms = cli->timeout_ms};

    return request;
}

/* ---- clear ---- */

struct clear_verb {
    struct hgi_cli *cli;
    struct hgi_key_args keys;
    const char *cache;
    const char *key;
    struct hg_slice tags[HGI_INVALIDATE_TAGS_MAX];
    size_t tag_count;
    struct hg_slice user; /* --user without --api-key: all his keys */
    bool is_soft;
    bool is_all;
    bool waits;
};

static void check_clear(struct clear_verb *verb, struct argp_state *state)
{
    bool is_user = verb->keys.user && !verb->keys.api_key;
    bool has_key = verb->key || (hgi_keys_are_options(&verb->keys) && !is_user);

    if (verb->is_all == (verb->cache != NULL)) {
        argp_error(state, "name the CACHE to clear, or --all, but not both");
    }
    if (verb->is_all && (has_key || is_user || verb->tag_count)) {
        argp_error(state, "--all clears whole caches; it goes with no key, no tag and no user");
    }
    if (verb->is_soft && !has_key && !is_user && !verb->tag_count) {
        argp_error(state, "--soft goes with --key, --tag or --user; a whole cache is dropped");
    }
    if (verb->waits && (has_key || is_user || verb->tag_count)) {
        argp_error(state,
                   "--wait goes with a whole CACHE or --all, not with a key, a tag or a user");
    }
    if (is_user && !*verb->keys.user) {
        argp_error(state, "--user is empty");
    }
    if (verb->key && verb->keys.api_key) {
        argp_error(state, "either --key, or --user and --api-key");
    }
    if (is_user) {
        verb->user = hg_slice_text(verb->keys.user);
    }
    if (has_key) {
        hgi_keys_add(state, &verb->keys, verb->key);
    }
}

static error_t parse_clear(int key, char *arg, struct argp_state *state)
{
    struct clear_verb *verb = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = verb->cli;
        state->child_inputs[1] = &verb->keys;
        return 0;
    case OPTION_ALL:
        verb->is_all = true;
        return 0;
    case OPTION_KEY:
        verb->key = arg;
        return 0;
    case OPTION_TAG:
        if (verb->tag_count == HGI_INVALIDATE_TAGS_MAX) {
            argp_error(state, "more than %u tags at once", HGI_INVALIDATE_TAGS_MAX);
            return 0;
        }
        verb->tags[verb->tag_count++] = hg_slice_text(arg);
        return 0;
    case OPTION_SOFT:
        verb->is_soft = true;
        return 0;
    case OPTION_WAIT:
        verb->waits = true;
        return 0;
    case ARGP_KEY_ARG:
        if (verb->cache) {
            argp_error(state, "\"%s\" is one cache too many; a key goes by --key", arg);
        }
        verb->cache = arg;
        return 0;
    case ARGP_KEY_END:
        check_clear(verb, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option clear_options[] = {
    {"all", OPTION_ALL, 0, 0, "Clear every cache", 1},
    {"key", OPTION_KEY, "KEY", 0, "Only KEY (as \"del\" does)", 1},
    {"tag", OPTION_TAG, "TAG", 0, "Only what was put or loaded with TAG; may be said again", 1},
    {"wait", OPTION_WAIT, 0, 0,
     "With CACHE or --all: return when every load that began before the clear has ended, or fail "
     "after --timeout (without it: 120 s)",
     1},
    {"soft", OPTION_SOFT, 0, 0,
     "With --key, --tag or --user: do not drop, but count as stale from now on until loaded anew",
     1},
    {0},
};
static const struct argp_child clear_children[] = {
    {&hgi_cli_argp, 0, 0, 0}, {&hgi_key_argp, 0, 0, 0}, {0}};
static const struct argp clear_argp = {
    .options = clear_options,
    .parser = parse_clear,
    .args_doc = "CACHE\n--all",
    .doc = "Invalidate everything in CACHE, or with --user USER alone every key of that user, or "
           "what --tag or --key say: once this is done, nothing that was loaded before is "
           "served, also not by a load that still runs. Prints how many entries were dropped and "
           "how many running loads may not be stored any more.",
    .children = clear_children};

int hgi_verb_clear(struct hgi_cli *cli, int argc, char **argv)
{
    struct clear_verb verb = {.cli = cli};
    struct hg_invalidate request;
    int rc;

    if (argp_parse(&clear_argp, argc, argv, 0, NULL, &verb) != 0) {
        return HGI_EXIT_USAGE;
    }
    rc = hgi_cli_connect(cli);
    if (rc != HGI_EXIT_DONE) {
        return rc;
    }
    if (!verb.keys.count && !verb.tag_count && !verb.user.len) {
        return hgi_clear(cli, verb.cache, verb.waits);
    }
    request = (struct hg_invalidate){.cache = verb.cache,
                                     .keys = verb.keys.keys,
                                     .key_count = verb.keys.count,
                                     .tags = verb.tags,
                                     .tag_count = verb.tag_count,
                                     .prefix = verb.user,
                                     .soft = verb.is_soft,
                                     .timeout_ms = cli->timeout_ms};
    return hgi_invalidate(cli, &request);
}

/* ---- verbs with at most one name ---- */

struct named_verb {
    struct hgi_cli *cli;
    const char *name;
    const char *reload;
    bool takes_name;
};

static error_t parse_named(int key, char *arg, struct argp_state *state)
{
    struct named_verb *verb = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = verb->cli;
        return 0;
    case OPTION_RELOAD:
        verb->reload = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (!verb->takes_name || verb->name) {
            argp_error(state, "\"%s\" is one argument too many", arg);
        }
        verb->name = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child named_children[] = {{&hgi_cli_argp, 0, 0, 0}, {0}};

static int begin_named(struct named_verb *verb, const struct argp *argp, int argc, char **argv)
{
    if (argp_parse(argp, argc, argv, 0, NULL, verb) != 0) {
        return HGI_EXIT_USAGE;
    }
    return hgi_cli_connect(verb->cli);
}

/* ---- caches ---- */

static const struct argp caches_argp = {.parser = parse_named,
                                        .doc = "List the caches and what they are set to.",
                                        .children = named_children};

static void print_filling(const struct hg_caches *caches)
{
    char text[HGI_DURATION_MAX];
    struct hgi_table table;
    static const char *const heads[] = {"CACHE", "KEY",      "VALUE",   "LOADER", "MODE",  "TTL",
                                        "STALE", "NEGATIVE", "ENTRIES", "OF",     "BYTES", "OF"};

    hgi_table_init(&table, "lllllrrrrrrr");
    hgi_table_add_row(&table, heads);
    for (size_t i = 0; i < caches->count; i++) {
        const struct hg_cache_info *cache = &caches->caches[i];
        const char *mode = hgi_mode_name(cache->mode);

        hgi_table_add_slice(&table, cache->name);
        hgi_table_add_slice(&table, cache->key_type);
        hgi_table_add_slice(&table, cache->value_type);
        hgi_table_add_slice(&table, cache->loader.len ? cache->loader : hg_slice_text("-"));
        hgi_table_add(&table, "%s", mode ? mode : "?");
        hgi_table_add(&table, "%s", hgi_duration_text(cache->ttl_ms, text));
        hgi_table_add(&table, "%s", hgi_duration_text(cache->stale_ttl_ms, text));
        hgi_table_add(&table, "%s", hgi_duration_text(cache->negative_ttl_ms, text));
        hgi_table_add(&table, "%" PRIu64, cache->entries);
        hgi_table_add(&table, "%" PRIu64, cache->max_entries);
        hgi_table_add(&table, "%" PRIu64, cache->bytes);
        hgi_table_add(&table, "%" PRIu64, cache->max_bytes);
    }
    hgi_table_print(&table);
    hgi_table_deinit(&table);
}

static const char *time_or_off(uint64_t ms, char *ret_text)
{
    return ms ? hgi_duration_text(ms, ret_text) : "off";
}

/* What happens around a load: what makes one, and what becomes of one that fails. */
static void print_loading(const struct hg_caches *caches)
{
    char text[HGI_DURATION_MAX];
    struct hgi_table table;
    static const char *const heads[] = {"CACHE", "JITTER",         "REFRESH_AHEAD", "ON_ERROR",
                                        "ALONE", "STALE_IF_ERROR", "ERROR_BACKOFF"};

    hgi_table_init(&table, "lrrllrr");
    hgi_table_add_row(&table, heads);
    for (size_t i = 0; i < caches->count; i++) {
        const struct hg_cache_info *cache = &caches->caches[i];

        hgi_table_add_slice(&table, cache->name);
        hgi_table_add(&table, "%" PRIu32 "%%", cache->jitter_percent);
        hgi_table_add_slice(&table, cache->refresh_ahead);
        hgi_table_add_slice(&table, cache->on_error);
        hgi_table_add(&table, "%s", cache->alone ? "on" : "off");
        hgi_table_add(&table, "%s", time_or_off(cache->stale_if_error_ms, text));
        hgi_table_add(&table, "%s", time_or_off(cache->error_backoff_ms, text));
    }
    hgi_table_print(&table);
    hgi_table_deinit(&table);
}

static json_t *caches_json(const struct hg_caches *caches)
{
    json_t *list = hgi_cli_must(json_array());

    for (size_t i = 0; i < caches->count; i++) {
        const struct hg_cache_info *cache = &caches->caches[i];
        json_t *object = hgi_cli_must(json_object());

        hgi_json_set_bytes(object, "name", cache->name);
        hgi_json_set_bytes(object, "key_type", cache->key_type);
        hgi_json_set_bytes(object, "value_type", cache->value_type);
        hgi_json_set_bytes(object, "loader", cache->loader);
        hgi_json_set_bytes(object, "mode", hg_slice_text(hgi_mode_name(cache->mode)));
        hgi_json_set_number(object, "ttl_ms", cache->ttl_ms);
        hgi_json_set_number(object, "stale_ttl_ms", cache->stale_ttl_ms);
        hgi_json_set_number(object, "negative_ttl_ms", cache->negative_ttl_ms);
        hgi_json_set_number(object, "max_entries", cache->max_entries);
        hgi_json_set_number(object, "max_bytes", cache->max_bytes);
        hgi_json_set_number(object, "entries", cache->entries);
        hgi_json_set_number(object, "bytes", cache->bytes);
        hgi_json_set_number(object, "generation", cache->generation);
        hgi_json_set_bytes(object, "on_error", cache->on_error);
        hgi_json_set_number(object, "jitter_percent", cache->jitter_percent);
        hgi_json_set_number(object, "stale_if_error_ms", cache->stale_if_error_ms);
        hgi_json_set_number(object, "error_backoff_ms", cache->error_backoff_ms);
        hgi_json_set_bytes(object, "refresh_ahead", cache->refresh_ahead);
        (void)json_object_set_new(object, "alone", json_boolean(cache->alone));
        (void)json_array_append_new(list, object);
    }
    return json_pack("{s:o}", "caches", list);
}

int hgi_verb_caches(struct hgi_cli *cli, int argc, char **argv)
{
    struct named_verb verb = {.cli = cli};
    struct hg_caches caches;
    struct hg_named request;
    struct hg_error error;
    int rc = begin_named(&verb, &caches_argp, argc, argv);

    if (rc != HGI_EXIT_DONE) {
        return rc;
    }
    request = named(cli, NULL);
    if (hg_client_list_caches(cli->client, &request, &caches, &error) != HG_OK) {
        return hgi_cli_fail(cli, &error);
    }
    if (cli->is_json) {
        hgi_json_print(stdout, caches_json(&caches));
    } else {
        print_filling(&caches);
        printf("\n");
        print_loading(&caches);
    }
    hg_caches_deinit(&caches);
    return HGI_EXIT_DONE;
}

/* ---- stats ---- */

static const struct argp stats_argp = {
    .parser = parse_named,
    .args_doc = "[CACHE]",
    .doc = "Print the counters of CACHE, or of all caches and the server, since it started.",
    .children = named_children};

static json_t *counters_json(const struct hg_counter *counters, size_t count)
{
    json_t *object = hgi_cli_must(json_object());

    for (size_t i = 0; i < count; i++) {
        char *name = hgi_cli_must(hgi_text_copy(&hgi_heap, counters[i].name));

        hgi_json_set_number(object, name, counters[i].value);
        hgi_free(&hgi_heap, name);
    }
    return object;
}

static json_t *stats_json(const struct hg_stats *stats)
{
    json_t *caches = hgi_cli_must(json_object());

    for (size_t i = 0; i < stats->cache_count; i++) {
        const struct hg_cache_stats *cache = &stats->caches[i];
        char *name = hgi_cli_must(hgi_text_copy(&hgi_heap, cache->cache));

        (void)json_object_set_new(caches, name,
                                  counters_json(cache->counters, cache->counter_count));
        hgi_free(&hgi_heap, name);
    }
    return json_pack("{s:o, s:o}", "caches", caches, "server",
                     counters_json(stats->server, stats->server_count));
}

static void print_counters(struct hg_slice title, const struct hg_counter *counters, size_t count)
{
    struct hgi_table table;

    hgi_print_escaped(stdout, title);
    fputc('\n', stdout);
    hgi_table_init(&table, "lr");
    for (size_t i = 0; i < count; i++) {
        hgi_table_add(&table, "  %.*s", (int)counters[i].name.len,
                      counters[i].name.len ? (const char *)counters[i].name.data : "");
        hgi_table_add(&table, "%" PRIu64, counters[i].value);
    }
    hgi_table_print(&table);
    hgi_table_deinit(&table);
}

int hgi_verb_stats(struct hgi_cli *cli, int argc, char **argv)
{
    struct named_verb verb = {.cli = cli, .takes_name = true};
    struct hg_stats stats;
    struct hg_named request;
    struct hg_error error;
    int rc = begin_named(&verb, &stats_argp, argc, argv);

    if (rc != HGI_EXIT_DONE) {
        return rc;
    }
    request = named(cli, verb.name);
    if (hg_client_stats(cli->client, &request, &stats, &error) != HG_OK) {
        return hgi_cli_fail(cli, &error);
    }
    if (cli->is_json) {
        hgi_json_print(stdout, stats_json(&stats));
    } else {
        for (size_t i = 0; i < stats.cache_count; i++) {
            print_counters(stats.caches[i].cache, stats.caches[i].counters,
                           stats.caches[i].counter_count);
        }
        if (stats.server_count) {
            print_counters(hg_slice_text("(server)"), stats.server, stats.server_count);
        }
    }
    hg_stats_deinit(&stats);
    return HGI_EXIT_DONE;
}

/* ---- loaders ---- */

static const struct argp_option loaders_options[] = {
    {"reload", OPTION_RELOAD, "NAME", 0,
     "Start a new process for the loader NAME; the old one ends what it has begun", 1},
    {0},
};
static const struct argp loaders_argp = {.options = loaders_options,
                                         .parser = parse_named,
                                         .doc = "List the loaders and their processes.",
                                         .children = named_children};

static json_t *loader_json(const struct hg_loader_info *loader)
{
    json_t *object = hgi_cli_must(json_object());

    hgi_json_set_bytes(object, "name", loader->name);
    hgi_json_set_bytes(object, "state", loader->state);
    hgi_json_set_bytes(object, "plugin", loader->plugin);
    hgi_json_set_bytes(object, "version", loader->version);
    hgi_json_set_number(object, "abi", loader->abi);
    (void)json_object_set_new(object, "pid", json_integer(loader->pid));
    hgi_json_set_number(object, "started_count", loader->started_count);
    hgi_json_set_number(object, "deaths", loader->deaths);
    hgi_json_set_number(object, "in_flight", loader->in_flight);
    hgi_json_set_number(object, "queued", loader->queued);
    hgi_json_set_bytes(object, "message", loader->message);
    return object;
}

static void print_loaders(const struct hg_loader_info *loaders, size_t count)
{
    struct hgi_table table;
    static const char *const heads[] = {"LOADER", "STATE",  "PID",     "STARTED", "DEATHS",
                                        "LOADS",  "QUEUED", "VERSION", "PLUGIN",  "LAST FAULT"};

    hgi_table_init(&table, "llrrrrrlll");
    hgi_table_add_row(&table, heads);
    for (size_t i = 0; i < count; i++) {
        hgi_table_add_slice(&table, loaders[i].name);
        hgi_table_add_slice(&table, loaders[i].state);
        hgi_table_add(&table, "%" PRId64, loaders[i].pid);
        hgi_table_add(&table, "%" PRIu64, loaders[i].started_count);
        hgi_table_add(&table, "%" PRIu64, loaders[i].deaths);
        hgi_table_add(&table, "%" PRIu64, loaders[i].in_flight);
        hgi_table_add(&table, "%" PRIu64, loaders[i].queued);
        hgi_table_add_slice(&table, loaders[i].version);
        hgi_table_add_slice(&table, loaders[i].plugin);
        hgi_table_add_slice(&table, loaders[i].message);
    }
    hgi_table_print(&table);
    hgi_table_deinit(&table);
}

static int reload(struct hgi_cli *cli, const char *name)
{
    struct hg_named request = named(cli, name);
    struct hg_loader_info loader;
    struct hg_error error;

    if (hg_client_reload_loader(cli->client, &request, &loader, &error) != HG_OK) {
        return hgi_cli_fail(cli, &error);
    }
    if (cli->is_json) {
        hgi_json_print(stdout, loader_json(&loader));
    } else {
        print_loaders(&loader, 1);
    }
    hg_loader_info_deinit(&loader);
    return HGI_EXIT_DONE;
}

int hgi_verb_loaders(struct hgi_cli *cli, int argc, char **argv)
{
    struct named_verb verb = {.cli = cli};
    struct hg_loaders loaders;
    struct hg_named request;
    struct hg_error error;
    json_t *list;
    int rc = begin_named(&verb, &loaders_argp, argc, argv);

    if (rc != HGI_EXIT_DONE) {
        return rc;
    }
    if (verb.reload) {
        return reload(cli, verb.reload);
    }
    request = named(cli, NULL);
    if (hg_client_list_loaders(cli->client, &request, &loaders, &error) != HG_OK) {
        return hgi_cli_fail(cli, &error);
    }
    if (cli->is_json) {
        list = hgi_cli_must(json_array());
        for (size_t i = 0; i < loaders.count; i++) {
            (void)json_array_append_new(list, loader_json(&loaders.loaders[i]));
        }
        hgi_json_print(stdout, json_pack("{s:o}", "loaders", list));
    } else {
        print_loaders(loaders.loaders, loaders.count);
    }
    hg_loaders_deinit(&loaders);
    return HGI_EXIT_DONE;
}
