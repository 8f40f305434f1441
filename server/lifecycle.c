/* SPDX-License-Identifier: Apache-2.0 */
#include "lifecycle.h"
#include "lifecycle_inside.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/thread.h"
#include "server/access/keyfile.h"
#include "server/cache/registry.h"
#include "server/http/http.h"
#include "server/loader/supervisor.h"
#include "server/publisher.h"
#include "server/rpc/dispatch.h"
#include "server/rpc/heard.h"
#include "server/rpc/listener.h"
#include "server/snapshotter.h"

#define TICK_MS         20
#define LOADER_DRAIN_MS 2000
#define CALLS_DRAIN_MS  5000
#define RUNTIME_MODE    0750
#define ADMIN_TURNS     1u

/* ---- the ticker ---- */

static void tick(void *arg)
{
    struct hgi_server *server = arg;
    bool is_stopping = false;

    while (!is_stopping) {
        struct hgi_now now = hgi_clock_now();

        hgi_registry_tick(server->registry, &now);
        hgi_publisher_tick(server->publisher, &now);
        hgi_dispatch_tick(server->dispatch, &now);
        hgi_http_tick(server->http, &now);
        for (size_t i = 0; i < server->listener_count; i++) {
            hgi_listener_sweep(server->listeners[i], &now);
        }
        hgi_lock_lifecycle(&server->lock);
        if (!server->is_stopping) {
            (void)hgi_cond_wait(&server->wake, &server->lock, TICK_MS);
        }
        is_stopping = server->is_stopping;
        hgi_unlock_lifecycle(&server->lock);
    }
}

static void stop_ticker(struct hgi_server *server)
{
    hgi_lock_lifecycle(&server->lock);
    server->is_stopping = true;
    hgi_cond_wake_all(&server->wake);
    hgi_unlock_lifecycle(&server->lock);
    hgi_thread_join(&server->ticker);
}

/* ---- parts, in the order they are started ---- */

/* What a part that could not be opened ends the program with; its sentence is passed on. */
static enum hgi_exit exit_of(enum hg_status status, const char *sentence, char *ret_sentence)
{
    if (status == HG_OK) {
        return HGI_EXIT_OK;
    }
    snprintf(ret_sentence, HGI_LIFECYCLE_SENTENCE_MAX, "%s", sentence);
    return status == HG_UNAVAILABLE          ? HGI_EXIT_RUNNING
           : status == HG_RESOURCE_EXHAUSTED ? HGI_EXIT_FAILED
                                             : HGI_EXIT_CONFIG;
}

static bool make_runtime_dir(const char *path, char *ret_sentence)
{
    struct stat found;
    bool is_made = mkdir(path, RUNTIME_MODE) == 0;

    /* The umask is for files nobody else may read; the sockets' group must get in here. */
    if ((is_made && chmod(path, RUNTIME_MODE) != 0) || (!is_made && errno != EEXIST)) {
        snprintf(ret_sentence, HGI_LIFECYCLE_SENTENCE_MAX, "runtime_dir %s cannot be made: %s",
                 path, strerror(errno));
        return false;
    }
    if (stat(path, &found) != 0 || !S_ISDIR(found.st_mode)) {
        snprintf(ret_sentence, HGI_LIFECYCLE_SENTENCE_MAX, "runtime_dir %s is not a folder", path);
        return false;
    }
    return true;
}

/* The addresses are bound before anything else is touched, so what serves them comes later. */
static void serve(void *context, struct hgi_conn *conn, const struct hgi_sp_route *route,
                  struct hg_slice body)
{
    struct hgi_server *server = context;

    hgi_dispatch_request(server->dispatch, hgi_conn_asker(conn), route, body);
}

static void gone(void *context, struct hgi_conn *conn)
{
    struct hgi_server *server = context;

    hgi_dispatch_gone(server->dispatch, hgi_conn_asker(conn));
}

/* One of nng's threads is left to administration, if there is a listen for it. */
static void init_shares(struct hgi_server *server)
{
    const struct hgi_config *config = server->config;
    uint32_t turns_max = 0;

    for (size_t i = 0; i < config->listen_count; i++) {
        if (config->listens[i].serves == HGI_SERVES_ADMIN) {
            turns_max = hgi_listener_thread_count() - ADMIN_TURNS;
        }
    }
    hgi_share_init(&server->share, config->limits.connections_max, turns_max);
    hgi_share_init(&server->admin_share, config->limits.admin_connections_max, ADMIN_TURNS);
}

/* Those who may administer, and not all peers: these could take its places. */
static void admit_administrators(struct hgi_server *server, struct hgi_listener_options *options)
{
    server->administrators[0] = (uint32_t)geteuid(); /* and root, which may be the same */
    options->share = &server->admin_share;
    options->peers = server->administrators;
    options->peer_count = HGI_COUNT_OF(server->administrators);
}

static enum hgi_exit open_listeners(struct hgi_server *server, char *ret_sentence)
{
    const struct hgi_config *config = server->config;
    struct hgi_listener_options options = {
        .limits = &config->limits,
        .no_room = hgi_rpc_no_room(),
        .request = serve,
        .gone = gone,
        .context = server,
        .metrics = &server->transport,
    };

    server->listeners = hgi_alloc(&hgi_heap, config->listen_count * sizeof(struct hgi_listener *));
    if (!server->listeners) {
        snprintf(ret_sentence, HGI_LIFECYCLE_SENTENCE_MAX, "no memory for the listeners");
        return HGI_EXIT_FAILED;
    }
    for (size_t i = 0; i < config->listen_count; i++) {
        char sentence[HGI_SENTENCE_MAX];
        enum hg_status status;

        options.listen = &config->listens[i];
        if (options.listen->serves == HGI_SERVES_ADMIN) {
            admit_administrators(server, &options);
        } else {
            options.share = &server->share;
            options.peers = config->peers;
            options.peer_count = config->peer_count;
        }
        status = hgi_listener_open(&options, &server->listeners[i], sentence);
        if (status != HG_OK) {
            return exit_of(status, sentence, ret_sentence);
        }
        server->listener_count++;
    }
    return HGI_EXIT_OK;
}

static enum hgi_exit open_http(struct hgi_server *server, char *ret_sentence)
{
    char sentence[HGI_SENTENCE_MAX];
    enum hg_status status =
        hgi_http_open(server->config, HERDGATE_VERSION, &server->http, sentence);

    if (status == HG_OK) {
        return HGI_EXIT_OK;
    }
    snprintf(ret_sentence, HGI_LIFECYCLE_SENTENCE_MAX, "%s", sentence);
    return status == HG_UNAVAILABLE          ? HGI_EXIT_RUNNING
           : status == HG_RESOURCE_EXHAUSTED ? HGI_EXIT_FAILED
                                             : HGI_EXIT_CONFIG;
}

static enum hgi_exit start_loaders(struct hgi_server *server, const char *loader_program,
                                   char *ret_sentence)
{
    const struct hgi_config *config = server->config;
    char sentence[HGI_SUPERVISOR_SENTENCE_MAX];

    if (!config->loader_count) {
        return HGI_EXIT_OK;
    }
    server->supervisor_options = (struct hgi_supervisor_options){
        .program = loader_program,
        .loaders = config->loaders,
        .loader_count = config->loader_count,
        .loads_max = config->limits.loads_max,
        .value_max_bytes = config->limits.value_max_bytes,
        .plugin_owners = config->plugin_owners,
        .plugin_owner_count = config->plugin_owner_count,
        .may_dump = config->core_dumps,
    };
    server->supervisor = hgi_supervisor_create(&server->supervisor_options);
    if (!server->supervisor) {
        snprintf(ret_sentence, HGI_LIFECYCLE_SENTENCE_MAX, "no memory for the loaders");
        return HGI_EXIT_FAILED;
    }
    if (hgi_supervisor_start(server->supervisor, sentence) != HG_OK) {
        snprintf(ret_sentence, HGI_LIFECYCLE_SENTENCE_MAX, "%s", sentence);
        return HGI_EXIT_CONFIG;
    }
    return HGI_EXIT_OK;
}

static bool add_cache(struct hgi_server *server, const struct hgi_cache_config *config,
                      const struct hgi_digest_key *veil_master, uint64_t generation)
{
    struct hgi_executor executor;
    struct hgi_cache_options options = {
        .name = config->name,
        .policy = &config->policy,
        .start_generation = generation,
        .backing = hgi_publisher_backing(server->publisher, config->name),
        .veil_master = config->secret_keys ? veil_master : NULL,
    };
    struct hgi_registered registered = {
        .key_type = config->key_type,
        .value_type = config->value_type,
        .loader = config->loader,
    };

    hgi_random(&options.seed, sizeof(options.seed));
    if (config->loader) {
        executor = hgi_supervisor_executor(server->supervisor, config->loader, config->value_type);
        options.executor = &executor;
    }
    registered.cache = hgi_cache_create(&hgi_heap, &options);
    if (!registered.cache) {
        return false;
    }
    if (!hgi_registry_add(server->registry, &registered)) {
        hgi_cache_destroy(&registered.cache);
        return false;
    }
    return true;
}

static enum hgi_exit publish(struct hgi_server *server, char *ret_sentence)
{
    char sentence[HGI_PUBLICATION_SENTENCE_MAX];
    enum hg_status status =
        hgi_publisher_open(server->config, server->epoch, &server->publisher, sentence);

    return exit_of(status, sentence, ret_sentence);
}

static bool read_key(const char *path, enum hgi_key_use use, struct hgi_digest_key *ret_key,
                     char *ret_sentence)
{
    char sentence[HGI_SENTENCE_MAX];
    struct hgi_digest_key master;

    if (hgi_keyfile_read(path, true, &master, sentence) != HG_OK) {
        snprintf(ret_sentence, HGI_LIFECYCLE_SENTENCE_MAX, "%s", sentence);
        return false;
    }
    *ret_key = hgi_digest_key_derive(&master, use);
    explicit_bzero(&master, sizeof(master));
    return true;
}

/* Digests of keys are the same after a restart if there is a key_file, and need be only if there is
 * a snapshot; else each start has its own. */
static bool find_veil_master(const struct hgi_config *config, struct hgi_digest_key *ret_master,
                             char *ret_sentence)
{
    bool is_wanted = false;

    for (size_t i = 0; i < config->cache_count; i++) {
        is_wanted = is_wanted || config->caches[i].secret_keys;
    }
    if (is_wanted && config->key_file) {
        return read_key(config->key_file, HGI_KEY_USE_CACHE_KEYS, ret_master, ret_sentence);
    }
    *ret_master = hgi_digest_key_new();
    return true;
}

/* A generation is never handed out twice, also over restarts and without a snapshot: it starts
 * above everything recorded and above the clock's microseconds. */
static enum hgi_exit make_caches(struct hgi_server *server, uint64_t high_water, char *ret_sentence)
{
    uint64_t generation = (uint64_t)hgi_clock_wall_us();
    struct hgi_digest_key veil_master;
    enum hgi_exit code = HGI_EXIT_OK;

    if (!find_veil_master(server->config, &veil_master, ret_sentence)) {
        return HGI_EXIT_CONFIG;
    }
    if (generation > HGI_GENERATION_BEGIN_MAX) {
        generation = HGI_GENERATION_BEGIN_MAX; /* a clock far ahead */
    }
    if (generation <= high_water) {
        generation = high_water + 1;
    }
    server->registry = hgi_registry_create(&hgi_heap);
    for (size_t i = 0; server->registry && code == HGI_EXIT_OK && i < server->config->cache_count;
         i++) {
        if (!add_cache(server, &server->config->caches[i], &veil_master, generation)) {
            snprintf(ret_sentence, HGI_LIFECYCLE_SENTENCE_MAX, "no memory for cache \"%s\"",
                     server->config->caches[i].name);
            code = HGI_EXIT_FAILED;
        }
    }
    explicit_bzero(&veil_master, sizeof(veil_master));
    return server->registry ? code : HGI_EXIT_FAILED;
}

static enum hgi_exit open_tokens(struct hgi_server *server, char *ret_sentence)
{
    const struct hgi_config *config = server->config;
    const struct hgi_tokens_options options = {
        .path = config->tokens_file,
        .key_path = config->key_file,
        .principals = config->principals,
        .principal_count = config->principal_count,
    };
    char sentence[HGI_SENTENCE_MAX];
    enum hg_status status;

    if (!config->tokens_file) {
        return HGI_EXIT_OK;
    }
    status = hgi_tokens_open(&options, &server->tokens, sentence);
    return exit_of(status, sentence, ret_sentence);
}

static enum hgi_exit open_snapshot(struct hgi_server *server, const struct hgi_now *now,
                                   uint64_t *ret_high_water, char *ret_sentence)
{
    const struct hgi_snapshot_config *config = server->config->snapshot;
    const char *key_path = server->config->key_file;
    char sentence[HGI_SNAPSHOT_SENTENCE_MAX];
    struct hgi_digest_key key = {.bytes = {0}};
    struct hgi_snapshot_options options = {.key = key_path ? &key : NULL};
    enum hg_status status;

    *ret_high_water = 0;
    if (!config) {
        return HGI_EXIT_OK;
    }
    if (key_path && !read_key(key_path, HGI_KEY_USE_SNAPSHOT, &key, ret_sentence)) {
        return HGI_EXIT_CONFIG;
    }
    options.path = config->path;
    options.is_encrypted = config->is_encrypted;
    status = hgi_snapshotter_open(&options, config->interval_ms, now, &server->snapshotter,
                                  ret_high_water, sentence);
    explicit_bzero(&key, sizeof(key));
    if (status == HG_OK) {
        return HGI_EXIT_OK;
    }
    snprintf(ret_sentence, HGI_LIFECYCLE_SENTENCE_MAX, "%s", sentence);
    return status == HG_FAILED_PRECONDITION ? HGI_EXIT_RUNNING : HGI_EXIT_CONFIG;
}

static enum hgi_exit begin_snapshots(struct hgi_server *server, const struct hgi_now *now,
                                     char *ret_sentence)
{
    if (!server->snapshotter) {
        return HGI_EXIT_OK;
    }
    if (!hgi_snapshotter_restore(server->snapshotter, server->registry, now) ||
        !hgi_snapshotter_start(server->snapshotter)) {
        snprintf(ret_sentence, HGI_LIFECYCLE_SENTENCE_MAX,
                 "no memory or no thread for the snapshot");
        return HGI_EXIT_FAILED;
    }
    return HGI_EXIT_OK;
}

static enum hgi_exit begin_serving(struct hgi_server *server, const struct hgi_now *now,
                                   char *ret_sentence)
{
    struct hgi_services services = {
        .registry = server->registry,
        .supervisor = server->supervisor,
        .snapshotter = server->snapshotter,
        .tokens = server->tokens,
        .limits = &server->config->limits,
        .transport = &server->transport,
        .own_uid = (uint32_t)geteuid(),
        .started_ms = now->boot_ms,
        .epoch = server->epoch,
        .reload = hgi_reload_ask,
        .reload_context = server,
    };

    hgi_publisher_begin(server->publisher, server->registry, now);
    server->dispatch = hgi_dispatch_create(&services);
    if (!server->dispatch || !hgi_http_start(server->http, server->dispatch, now) ||
        !hgi_thread_start(&server->ticker, "ticker", tick, server)) {
        snprintf(ret_sentence, HGI_LIFECYCLE_SENTENCE_MAX, "no memory or no thread to serve with");
        return HGI_EXIT_FAILED;
    }
    /* Before anybody asks: what was restored may be what a loader knows to be over. */
    if (server->supervisor) {
        hgi_supervisor_hear(server->supervisor, &(struct hgi_hearer){hgi_heard, server->dispatch});
    }
    for (size_t i = 0; i < server->listener_count; i++) {
        hgi_listener_start(server->listeners[i]);
    }
    return HGI_EXIT_OK;
}

struct hgi_server *hgi_server_start(const struct hgi_config *config, const char *loader_program,
                                    enum hgi_exit *ret_exit, char *ret_sentence)
{
    struct hgi_server *server = hgi_alloc(&hgi_heap, sizeof(*server));
    struct hgi_now now = hgi_clock_now();
    uint64_t high_water = 0;
    enum hgi_exit code = HGI_EXIT_FAILED;

    if (!server) {
        snprintf(ret_sentence, HGI_LIFECYCLE_SENTENCE_MAX, "no memory");
        *ret_exit = HGI_EXIT_FAILED;
        return NULL;
    }
    server->config = config;
    init_shares(server);
    hgi_random(&server->epoch, sizeof(server->epoch));
    hgi_lock_init(&server->lock);
    hgi_cond_init(&server->wake);
    hgi_lock_lifecycle(&server->lock);
    hgi_list_init(&server->asks);
    hgi_unlock_lifecycle(&server->lock);
    if (!hgi_reload_init(server)) {
        snprintf(ret_sentence, HGI_LIFECYCLE_SENTENCE_MAX, "no memory");
        goto out;
    }
    if (!make_runtime_dir(config->runtime_dir, ret_sentence)) {
        code = HGI_EXIT_CONFIG;
        goto out;
    }
    code = open_listeners(server, ret_sentence);
    if (code == HGI_EXIT_OK) {
        code = open_http(server, ret_sentence);
    }
    if (code == HGI_EXIT_OK) {
        code = open_tokens(server, ret_sentence);
    }
    if (code == HGI_EXIT_OK) {
        code = open_snapshot(server, &now, &high_water, ret_sentence);
    }
    if (code == HGI_EXIT_OK) {
        code = start_loaders(server, loader_program, ret_sentence);
    }
    if (code == HGI_EXIT_OK) {
        code = publish(server, ret_sentence);
    }
    if (code == HGI_EXIT_OK) {
        code = make_caches(server, high_water, ret_sentence);
    }
    now = hgi_clock_now();
    if (code == HGI_EXIT_OK) {
        code = begin_snapshots(server, &now, ret_sentence);
    }
    if (code == HGI_EXIT_OK) {
        code = begin_serving(server, &now, ret_sentence);
    }
out:
    *ret_exit = code;
    if (code != HGI_EXIT_OK) {
        hgi_server_stop(&server);
    }
    return server;
}

size_t hgi_server_url_count(const struct hgi_server *server)
{
    return server->listener_count + hgi_http_count(server->http);
}

const char *hgi_server_url(const struct hgi_server *server, size_t index)
{
    return index < server->listener_count
               ? hgi_listener_url(server->listeners[index])
               : hgi_http_url(server->http, index - server->listener_count);
}

size_t hgi_server_connection_count(const struct hgi_server *server)
{
    return (size_t)hgi_share_open_count(&server->share) +
           hgi_share_open_count(&server->admin_share);
}

bool hgi_server_is_clogged(const struct hgi_server *server)
{
    return hgi_share_is_clogged(&server->share) || hgi_share_is_clogged(&server->admin_share);
}

/* ---- stopping: every part half built or whole, in reverse ---- */

/* After this no call is parked, and no load is under way. */
static void drain_calls(struct hgi_server *server)
{
    struct hgi_now now = hgi_clock_now();

    hgi_publisher_retire(server->publisher);
    hgi_reload_dismiss(server);
    if (server->dispatch) {
        hgi_dispatch_drain(server->dispatch);
    }
    for (size_t i = 0; i < server->listener_count; i++) {
        hgi_listener_stop(server->listeners[i]);
    }
    hgi_http_quiesce(server->http);
    if (server->registry) {
        hgi_registry_stop(server->registry, &now);
    }
    if (server->supervisor) {
        hgi_supervisor_stop(server->supervisor, LOADER_DRAIN_MS);
    }
}

void hgi_server_stop(struct hgi_server **server)
{
    struct hgi_server *old = *server;
    bool is_http_idle;

    if (!old) {
        return;
    }
    drain_calls(old);
    stop_ticker(old);
    for (size_t i = 0; i < old->listener_count; i++) {
        hgi_listener_close(&old->listeners[i], CALLS_DRAIN_MS);
    }
    is_http_idle = hgi_http_stop(old->http, CALLS_DRAIN_MS);
    /* What requests began while loader-io was ending; no thread begins anything any more. */
    if (old->supervisor) {
        hgi_supervisor_stop(old->supervisor, 0);
    }
    if (old->snapshotter) {
        hgi_snapshotter_stop(old->snapshotter);
    }
    /* What waited for the disk. */
    HGI_BUG_ON(!is_http_idle && !hgi_http_stop(old->http, CALLS_DRAIN_MS));
    hgi_http_close(&old->http);
    hgi_tokens_close(&old->tokens);
    /* A call that never ends is a bug; what it points at must not be freed under it. */
    HGI_BUG_ON(old->dispatch && !hgi_dispatch_wait_idle(old->dispatch, CALLS_DRAIN_MS));
    hgi_snapshotter_close(&old->snapshotter);
    hgi_dispatch_destroy(&old->dispatch);
    hgi_registry_destroy(&old->registry);
    hgi_publisher_close(&old->publisher);
    hgi_supervisor_destroy(&old->supervisor);
    hgi_free(&hgi_heap, (void *)old->listeners);
    hgi_share_deinit(&old->admin_share);
    hgi_share_deinit(&old->share);
    hgi_reload_deinit(old);
    hgi_cond_deinit(&old->wake);
    hgi_lock_deinit(&old->lock);
    hgi_free(&hgi_heap, old);
    *server = NULL;
}

enum hgi_exit hgi_server_check(const struct hgi_config *config, const char *loader_program,
                               char *ret_sentence)
{
    struct hgi_server server = {.config = config};
    char sentence[HGI_SENTENCE_MAX];
    enum hgi_exit code;

    for (size_t i = 0; i < config->listen_count; i++) {
        if (hgi_listener_check(&config->listens[i], sentence) != HG_OK) {
            snprintf(ret_sentence, HGI_LIFECYCLE_SENTENCE_MAX, "%s", sentence);
            return HGI_EXIT_CONFIG;
        }
    }
    if (hgi_http_check(config, sentence) != HG_OK) {
        snprintf(ret_sentence, HGI_LIFECYCLE_SENTENCE_MAX, "%s", sentence);
        return HGI_EXIT_CONFIG;
    }
    code = start_loaders(&server, loader_program, ret_sentence);
    if (server.supervisor) {
        hgi_supervisor_stop(server.supervisor, LOADER_DRAIN_MS);
        hgi_supervisor_destroy(&server.supervisor);
    }
    return code;
}
