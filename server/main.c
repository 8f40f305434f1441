/* SPDX-License-Identifier: Apache-2.0 */
/* herdgated: the command line, the signals, the exit code. */
#include <argp.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/process.h"
#include "base/thread.h"
#include "bounds.h"
#include "census.h"
#include "config_rows.h"
#include "heartbeat.h"
#include "lifecycle.h"
#include "proto/value.h"
#include "verify.h"

/* argp finds it by name, so it cannot be hidden. */
HG_EXPORT const char *argp_program_version = "herdgated " HERDGATE_VERSION;

#define LOADER_DESCRIPTORS 8u /* a child's, and those of the one before it */

#define SETS_MAX 256u

struct arguments {
    const char *config;
    const char *verify;
    bool is_check;
    bool prints_options;
    bool dumps;
    const char *sets[SETS_MAX];
    size_t set_count;
};

enum { KEY_HELP_OPTIONS = 256, KEY_VERIFY, KEY_SET };

static const struct argp_option options[] = {
    {"config", 'c', "FILE", 0, "the configuration to serve", 0},
    {"test", 't', NULL, 0,
     "read the configuration, open every loader's plugin, say how much memory it may come to take, "
     "and exit",
     0},
    {"set", KEY_SET, "OPTION=VALUE", 0,
     "instead of what the file and the environment say: log_level=debug, limits.idle=1m, "
     "cache.auth.ttl=5s; may be given many times",
     0},
    {"dump-config", 'D', NULL, 0,
     "print all that the configuration comes to, with what nobody wrote and without secrets, and "
     "exit",
     0},
    {"verify", KEY_VERIFY, "FILE", 0,
     "read all of a snapshot that no server uses, say whether it is whole, and exit; with -c also "
     "one under the configuration's key_file",
     0},
    {"help-options", KEY_HELP_OPTIONS, NULL, 0, "print what the configuration may say", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *arguments = state->input;

    switch (key) {
    case 'c':
        arguments->config = arg;
        return 0;
    case 't':
        arguments->is_check = true;
        return 0;
    case KEY_SET:
        if (arguments->set_count == SETS_MAX) {
            argp_error(state, "--set is given more than %u times", SETS_MAX);
        }
        arguments->sets[arguments->set_count++] = arg;
        return 0;
    case 'D':
        arguments->dumps = true;
        return 0;
    case KEY_VERIFY:
        arguments->verify = arg;
        return 0;
    case KEY_HELP_OPTIONS:
        arguments->prints_options = true;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "\"%s\" is one argument too many; the configuration is named by -c FILE",
                   arg);
        return EINVAL;
    case ARGP_KEY_END:
        if (arguments->verify && (arguments->is_check || arguments->dumps)) {
            argp_error(state, "--verify and %s are two things; ask for one at a time",
                       arguments->is_check ? "-t" : "--dump-config");
        }
        if (arguments->is_check && arguments->dumps) {
            argp_error(state, "-t and --dump-config are two things; ask for one at a time");
        }
        if (arguments->dumps && !arguments->config) {
            argp_error(state, "--dump-config prints a configuration; name it by -c FILE");
        }
        if (!arguments->config && !arguments->prints_options && !arguments->verify) {
            argp_error(state, "no configuration given; name it by -c FILE");
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    options, parse, NULL, "Caches what gateways ask again and again: loads once, answers everyone.",
    NULL,    NULL,  NULL,
};

/* The folder above the one this program lies in; false: the system does not tell. */
static bool own_prefix(char *ret_prefix, size_t size)
{
    char path[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);

    if (len <= 0) {
        return false;
    }
    path[len] = 0;
    return snprintf(ret_prefix, size, "%s", dirname(dirname(path))) < (int)size;
}

static bool is_file(const char *path)
{
    struct stat found;

    return stat(path, &found) == 0 && S_ISREG(found.st_mode);
}

static bool is_dir(const char *path)
{
    struct stat found;

    return stat(path, &found) == 0 && S_ISDIR(found.st_mode);
}

/* Plugins and the loader program: where this program's build folder or its installation has them,
 * wherever that was moved to; else where they were meant to be installed. */
struct places {
    char plugin_dir[PATH_MAX + 64];
    char loader_program[PATH_MAX + 64];
};

static void find_places(struct places *ret_places)
{
    static const char *const plugin_dirs[] = {"lib/herdgate", HERDGATE_PLUGIN_SUBDIR};
    static const char *const loader_programs[] = {"bin/herdgate-loader", HERDGATE_LOADER_SUBPATH};
    struct places *places = ret_places;
    char prefix[PATH_MAX];
    bool has_prefix = own_prefix(prefix, sizeof(prefix));
    bool has_dir = false;
    bool has_program = false;

    for (size_t i = 0; i < 2 && has_prefix && !has_dir; i++) {
        snprintf(places->plugin_dir, sizeof(places->plugin_dir), "%s/%s", prefix, plugin_dirs[i]);
        has_dir = is_dir(places->plugin_dir);
    }
    for (size_t i = 0; i < 2 && has_prefix && !has_program; i++) {
        snprintf(places->loader_program, sizeof(places->loader_program), "%s/%s", prefix,
                 loader_programs[i]);
        has_program = is_file(places->loader_program);
    }
    if (!has_dir) {
        snprintf(places->plugin_dir, sizeof(places->plugin_dir), "%s", HERDGATE_PLUGIN_DIR);
    }
    if (!has_program) {
        snprintf(places->loader_program, sizeof(places->loader_program), "%s",
                 HERDGATE_LOADER_PROGRAM);
    }
}

static void print_ready(const struct hgi_server *server)
{
    printf("herdgated %s ready:", HERDGATE_VERSION);
    for (size_t i = 0; i < hgi_server_url_count(server); i++) {
        printf(" %s", hgi_server_url(server, i));
    }
    printf("\n");
    fflush(stdout);
}

/* The first that begins with `scheme` and can be asked at; NULL: there is none. */
static const char *url_to_ask(const struct hgi_server *server, const char *scheme)
{
    for (size_t i = 0; i < hgi_server_url_count(server); i++) {
        const char *url = hgi_server_url(server, i);

        if (strncmp(url, scheme, strlen(scheme)) == 0 && hgi_heartbeat_can_ask(url)) {
            return url;
        }
    }
    return NULL;
}

/* Rather where it needs no network, and gets a whole answer. */
static const char *heartbeat_url(const struct hgi_server *server)
{
    static const char *const schemes[] = {"ipc://", "tcp://", "tls+tcp://"};
    const char *url = NULL;

    for (size_t i = 0; i < HGI_COUNT_OF(schemes) && !url; i++) {
        url = url_to_ask(server, schemes[i]);
    }
    if (!url) {
        hgi_log(HG_LOG_WARN, "no listen has an address in numbers, so the watchdog hears only that "
                             "the process lives");
    }
    return url;
}

static void abort_to_manager(void)
{
    hgi_log(HG_LOG_ERROR, "the server does not answer itself, or does not close what it has "
                          "accepted; ending, for the service manager to begin anew");
    abort();
}

/* What the watchdog looks at beside answers. */
struct watched {
    const struct hgi_server *server;
    struct hgi_census census;
};

static void watched_init(struct watched *watched, const struct hgi_server *server,
                         const struct hgi_config *config)
{
    size_t growth = HGI_LOADERS_MAX * LOADER_DESCRIPTORS; /* a reload may bring more of them */

    for (size_t i = 0; i < config->http_count; i++) {
        growth += config->https[i].connections_max;
    }
    watched->server = server;
    hgi_census_init(&watched->census, hgi_census_descriptors(), hgi_server_connection_count(server),
                    growth);
}

static bool is_leaking(void *context)
{
    struct watched *watched = context;
    const size_t accounted = hgi_server_connection_count(watched->server);
    const struct hgi_census_look look = {.open_count = hgi_census_descriptors(),
                                         .accounted = accounted,
                                         .is_clogged = hgi_server_is_clogged(watched->server)};
    bool is_over = hgi_census_is_over(&watched->census, &look, hgi_clock_now().boot_ms);

    if (is_over) {
        hgi_log(HG_LOG_ERROR, "%zu descriptors are open, for %zu connections%s", look.open_count,
                accounted,
                look.is_clogged ? ", too many of which have ended and do not go away" : "");
    }
    return is_over;
}

/* Reads the configuration again; the service manager waits for READY. */
static void reload(struct hgi_server *server, const struct hgi_config_source *source,
                   const struct hgi_notify *notify)
{
    char sentence[HGI_LIFECYCLE_SENTENCE_MAX] = "";
    struct hgi_config *config;

    (void)hgi_notify_send(notify, "RELOADING=1\nMONOTONIC_USEC=%lld",
                          (long long)hgi_clock_monotonic_us());
    config = hgi_config_read(source, sentence);
    hgi_server_reload(server, config, sentence);
    (void)hgi_notify_send(notify, "READY=1");
}

/* Until the server is to stop. */
static void wait_for_end(struct hgi_server *server, const struct hgi_config_source *source,
                         const struct hgi_notify *notify)
{
    int number = hgi_thread_wait_signal();

    while (number == SIGHUP) {
        reload(server, source, notify);
        number = hgi_thread_wait_signal();
    }
    hgi_log(HG_LOG_INFO, "signal %d: stopping", number);
}

static enum hgi_exit serve(const struct hgi_config *config, const struct hgi_config_source *source,
                           const char *loader_program, const struct hgi_notify *notify,
                           char *sentence)
{
    struct hgi_heartbeat heartbeat = {.notify = NULL};
    struct watched watched;
    const struct hgi_heartbeat_body body = {is_leaking, &watched, abort_to_manager};
    enum hgi_exit code;
    struct hgi_server *server = hgi_server_start(config, loader_program, &code, sentence);

    if (!server) {
        return code;
    }
    watched_init(&watched, server, config);
    if (notify->watchdog_ms &&
        !hgi_heartbeat_start(&heartbeat, notify, heartbeat_url(server), &body)) {
        snprintf(sentence, HGI_LIFECYCLE_SENTENCE_MAX, "no thread for the heartbeat");
        hgi_server_stop(&server);
        return HGI_EXIT_FAILED;
    }
    print_ready(server);
    (void)hgi_notify_send(notify, "READY=1\nSTATUS=serving %zu caches", config->cache_count);
    wait_for_end(server, source, notify);
    (void)hgi_notify_send(notify, "STOPPING=1");
    hgi_heartbeat_stop(&heartbeat);
    hgi_server_stop(&server);
    return HGI_EXIT_OK;
}

static enum hgi_exit verify(const char *path, const struct hgi_config *config, char *sentence)
{
    enum hgi_exit code = hgi_verify(path, config ? config->key_file : NULL, sentence);

    if (code == HGI_EXIT_OK) {
        printf("%s\n", sentence);
    }
    return code;
}

static double mib(size_t bytes)
{
    return (double)bytes / (1 << 20);
}

static void print_bounds(const struct hgi_config *config)
{
    struct hgi_bounds bounds;

    hgi_bounds_init(config, &bounds);
    printf("memory, at most:\n");
    for (size_t i = 0; i < bounds.part_count; i++) {
        const struct hgi_bound *part = &bounds.parts[i];

        printf("  %12.1f MiB  %s", mib(part->bytes), part->what);
        if (part->count > 1) {
            printf(": %zu of %.1f MiB", part->count, mib(part->each_bytes));
        }
        printf("\n");
    }
    printf("  %12.1f MiB  in all\n", mib(bounds.bytes));
}

static enum hgi_exit dump(const struct hgi_config *config, char *ret_sentence)
{
    if (!hgi_config_print(stdout, config)) {
        snprintf(ret_sentence, HGI_LIFECYCLE_SENTENCE_MAX, "no memory to print the configuration");
        return HGI_EXIT_FAILED;
    }
    if (fflush(stdout) != 0) {
        snprintf(ret_sentence, HGI_LIFECYCLE_SENTENCE_MAX,
                 "the configuration cannot be written: %s", strerror(errno));
        return HGI_EXIT_FAILED;
    }
    return HGI_EXIT_OK;
}

int main(int argc, char **argv)
{
    struct arguments arguments = {.config = NULL};
    char sentence[HGI_LIFECYCLE_SENTENCE_MAX] = "";
    struct hgi_config *config = NULL;
    struct hgi_config_source source;
    struct hgi_notify notify;
    struct places places;
    const char *loader_program;
    enum hgi_exit code;

    argp_err_exit_status = HGI_EXIT_USAGE;
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    if (arguments.prints_options) {
        hgi_config_print_options(stdout);
        return HGI_EXIT_OK;
    }
    /* Before the first nng call and the first thread: they inherit it. */
    hgi_thread_block_signals();
    hgi_notify_open(&notify);
    hgi_log_look_for_journal();
    umask(077);
    hgi_value_start();
    if (!hgi_hash_start()) {
        fprintf(stderr, "herdgated: no source of random numbers\n");
        return HGI_EXIT_FAILED;
    }
    find_places(&places);
    source = (struct hgi_config_source){.path = arguments.config,
                                        .default_plugin_dir = places.plugin_dir,
                                        .sets = arguments.sets,
                                        .set_count = arguments.set_count,
                                        .has_environment = true};
    if (arguments.config) {
        config = hgi_config_read(&source, sentence);
    }
    if (arguments.config && !config) {
        fprintf(stderr, "herdgated: %s\n", sentence);
        return HGI_EXIT_CONFIG;
    }
    if (!(config && config->core_dumps) && !hgi_process_forbid_dumps()) {
        fprintf(stderr,
                "herdgated: cannot forbid core files: %s; core_dumps = \"on\" allows them\n",
                strerror(errno));
        hgi_config_destroy(&config);
        return HGI_EXIT_FAILED;
    }
    if (arguments.dumps) {
        code = dump(config, sentence);
    } else if (arguments.verify) {
        code = verify(arguments.verify, config, sentence);
    } else {
        hgi_log_set_level(config->log_level);
        hgi_log_set_format(config->log_format);
        loader_program = config->loader_program ? config->loader_program : places.loader_program;
        code = arguments.is_check ? hgi_server_check(config, loader_program, sentence)
                                  : serve(config, &source, loader_program, &notify, sentence);
    }
    if (code != HGI_EXIT_OK) {
        hgi_text_flatten(sentence); /* some of it may be a plugin's */
        fprintf(stderr, "herdgated: %s\n", sentence);
    } else if (arguments.is_check) {
        printf("%s: the configuration is good\n", arguments.config);
        print_bounds(config);
    }
    hgi_config_destroy(&config);
    return (int)code;
}
