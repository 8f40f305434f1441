/* SPDX-License-Identifier: Apache-2.0 */
/* Another configuration for a server that serves: what can change does, the rest is named. */
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/log.h"
#include "lifecycle.h"
#include "lifecycle_inside.h"
#include "server/config_rows.h"

#define NAME_MAX_BYTES 256u

/* What differs, and what is to be done about it. */
struct plan {
    struct hgi_server *server;
    const struct hgi_config *wanted;
    struct hgi_arena arena;
    struct hg_slice *changed; /* names */
    size_t changed_count;
    struct hg_slice *restart;
    size_t restart_count;
    size_t capacity;             /* of both */
    bool caches[HGI_CACHES_MAX]; /* by their places in `wanted` */
    bool loaders[HGI_LOADERS_MAX];
    bool has_loaders;
    bool has_principals;
    struct hgi_terms *terms[HGI_CACHES_MAX]; /* to be, of the caches that change */
    bool is_out_of_memory;
    char sentence[HGI_LIFECYCLE_SENTENCE_MAX];
};

/* ---- what holds ---- */

bool hgi_reload_init(struct hgi_server *server)
{
    const struct hgi_config *config = server->config;
    size_t cache_size = config->cache_count * sizeof(*config->caches);
    struct hgi_config *running = &server->running;

    *running = *config;
    running->caches = hgi_alloc(&hgi_heap, cache_size);
    running->loaders = hgi_alloc(&hgi_heap, HGI_LOADERS_MAX * sizeof(*config->loaders));
    if (!running->caches || !running->loaders) {
        return false;
    }
    memcpy(running->caches, config->caches, cache_size);
    if (config->loader_count) {
        memcpy(running->loaders, config->loaders, config->loader_count * sizeof(*config->loaders));
    }
    for (size_t i = 0; i < config->principal_count; i++) {
        uint32_t number = config->principals[i].number;

        server->principal_number =
            number > server->principal_number ? number : server->principal_number;
    }
    return true;
}

void hgi_reload_deinit(struct hgi_server *server)
{
    hgi_free(&hgi_heap, server->running.caches);
    hgi_free(&hgi_heap, server->running.loaders);
    while (server->kept) {
        struct hgi_kept_config *kept = server->kept;

        server->kept = kept->before;
        hgi_config_destroy(&kept->config);
        hgi_free(&hgi_heap, kept);
    }
}

/* ---- who asks over RPC ---- */

void hgi_reload_ask(void *context, struct hgi_reload_ask *ask)
{
    struct hgi_server *server = context;
    const struct hgi_reloaded stopping = {.status = HG_UNAVAILABLE,
                                          .sentence = "the server is stopping"};
    bool is_taken;

    hgi_lock_lifecycle(&server->lock);
    is_taken = !server->is_deaf;
    if (is_taken) {
        hgi_list_push_back(&server->asks, &ask->node);
    }
    hgi_unlock_lifecycle(&server->lock);
    if (!is_taken) {
        ask->done(ask, &stopping);
        return;
    }
    hgi_thread_ask_reload();
}

static void answer_asks(struct hgi_server *server, const struct hgi_reloaded *reloaded)
{
    struct hgi_node asks;
    struct hgi_node *node;

    hgi_list_init(&asks);
    hgi_lock_lifecycle(&server->lock);
    hgi_list_move_all(&server->asks, &asks);
    hgi_unlock_lifecycle(&server->lock);
    while ((node = hgi_list_pop_front(&asks))) {
        struct hgi_reload_ask *ask = HGI_CONTAINER(node, struct hgi_reload_ask, node);

        ask->done(ask, reloaded);
    }
}

void hgi_reload_dismiss(struct hgi_server *server)
{
    const struct hgi_reloaded stopping = {.status = HG_UNAVAILABLE,
                                          .sentence = "the server is stopping"};

    hgi_lock_lifecycle(&server->lock);
    server->is_deaf = true;
    hgi_unlock_lifecycle(&server->lock);
    answer_asks(server, &stopping);
}

/* ---- what differs ---- */

static void add_name(struct plan *plan, bool needs_restart, const char *text)
{
    size_t *count = needs_restart ? &plan->restart_count : &plan->changed_count;
    size_t size = strlen(text) + 1;
    char *copy = hgi_arena_alloc(&plan->arena, size);

    if (!copy || *count == plan->capacity) {
        plan->is_out_of_memory = true;
        return;
    }
    memcpy(copy, text, size);
    (needs_restart ? plan->restart : plan->changed)[(*count)++] = hg_slice_of(copy, size - 1);
}

static const struct hgi_cache_config *find_cache(const struct hgi_config *config, const char *name)
{
    for (size_t i = 0; i < config->cache_count; i++) {
        if (strcmp(config->caches[i].name, name) == 0) {
            return &config->caches[i];
        }
    }
    return NULL;
}

static struct hgi_loader_config *find_loader(const struct hgi_config *config, const char *name)
{
    for (size_t i = 0; i < config->loader_count; i++) {
        if (strcmp(config->loaders[i].name, name) == 0) {
            return &config->loaders[i];
        }
    }
    return NULL;
}

/* Readers of its memory have been told when they refresh, its table has its memory, and what is
 * filled by a loader may be waiting for it. */
static bool can_change(const struct plan *plan, const struct hgi_config_row *row)
{
    const struct hgi_cache_config *wanted = find_cache(plan->wanted, row->title);
    const struct hgi_cache_config *running = find_cache(&plan->server->running, row->title);
    const struct hgi_registered *registered =
        hgi_registry_find(plan->server->registry, hg_slice_text(row->title));

    if (strcmp(row->option, "refresh_ahead") == 0) {
        return !running->local_reads;
    }
    if (strcmp(row->option, "max_entries") == 0 || strcmp(row->option, "max_bytes") == 0) {
        return hgi_cache_takes_bounds(registered->cache, &wanted->policy);
    }
    if (strcmp(row->option, "loader") == 0) {
        return wanted->loader && plan->server->supervisor;
    }
    return true;
}

/* True: the server can do it. */
static bool plan_section(struct plan *plan, const struct hgi_config_row *row,
                         enum hgi_config_change change)
{
    bool is_whole = !row->option;

    if (strcmp(row->section, "principal") == 0) {
        plan->has_principals = true;
        return true;
    }
    if (strcmp(row->section, "loader") == 0) {
        if (!plan->server->supervisor || (is_whole && change == HGI_CONFIG_REMOVED)) {
            return false;
        }
        plan->loaders[find_loader(plan->wanted, row->title) - plan->wanted->loaders] = true;
        return true;
    }
    if (strcmp(row->section, "cache") == 0) {
        if (is_whole || !can_change(plan, row)) {
            return false;
        }
        plan->caches[find_cache(plan->wanted, row->title) - plan->wanted->caches] = true;
    }
    return true;
}

static void note_change(void *context, const struct hgi_config_row *row,
                        enum hgi_config_change change)
{
    struct plan *plan = context;
    bool can_do = row->is_live || (!row->option && strcmp(row->section, "cache") == 0);
    char name[NAME_MAX_BYTES];

    can_do = can_do && plan_section(plan, row, change);
    hgi_config_row_name(row, name, sizeof(name));
    add_name(plan, !can_do, name);
}

/* False: no memory. */
static bool plan_init(struct plan *plan, struct hgi_server *server, const struct hgi_config *wanted)
{
    struct hgi_config_rows before;
    struct hgi_config_rows after;
    bool is_good = hgi_config_rows_init(&before, &server->running);

    memset(plan, 0, sizeof(*plan));
    plan->server = server;
    plan->wanted = wanted;
    hgi_arena_init(&plan->arena, SIZE_MAX);
    if (is_good && !hgi_config_rows_init(&after, wanted)) {
        hgi_config_rows_deinit(&before);
        is_good = false;
    }
    if (!is_good) {
        return false;
    }
    plan->capacity = before.count + after.count;
    plan->changed = hgi_arena_alloc(&plan->arena, plan->capacity * sizeof(*plan->changed));
    plan->restart = hgi_arena_alloc(&plan->arena, plan->capacity * sizeof(*plan->restart));
    if (plan->changed && plan->restart) {
        hgi_config_rows_compare(&before, &after, note_change, plan);
    }
    is_good = plan->changed && plan->restart && !plan->is_out_of_memory;
    hgi_config_rows_deinit(&before);
    hgi_config_rows_deinit(&after);
    return is_good;
}

/* ---- making it ready ---- */

/* Those that are other than they were, opened beside what serves. */
static bool prepare_loaders(struct plan *plan)
{
    const struct hgi_loader_config *loaders[HGI_LOADERS_MAX];
    size_t count = 0;

    for (size_t i = 0; i < plan->wanted->loader_count; i++) {
        if (plan->loaders[i]) {
            loaders[count++] = &plan->wanted->loaders[i];
        }
    }
    plan->has_loaders = count > 0;
    return !count || hgi_supervisor_prepare(plan->server->supervisor, loaders, count,
                                            plan->sentence) == HG_OK;
}

static struct hgi_cache *cache_of(const struct plan *plan, const struct hgi_cache_config *wanted)
{
    return hgi_registry_find(plan->server->registry, hg_slice_text(wanted->name))->cache;
}

/* What it has a restart for stays as it is. */
static struct hgi_policy policy_for(const struct plan *plan, const struct hgi_cache_config *wanted)
{
    const struct hgi_cache_config *running = find_cache(&plan->server->running, wanted->name);
    struct hgi_policy policy = wanted->policy;

    policy.expired_is_denied = running->policy.expired_is_denied;
    if (running->local_reads) {
        policy.refresh_ahead_percent = running->policy.refresh_ahead_percent;
        policy.refresh_ahead_is_random = running->policy.refresh_ahead_is_random;
    }
    if (!hgi_cache_takes_bounds(cache_of(plan, wanted), &policy)) {
        policy.max_entries = running->policy.max_entries;
        policy.max_bytes = running->policy.max_bytes;
    }
    return policy;
}

/* NULL: it has none. */
static const char *loader_for(const struct plan *plan, const struct hgi_cache_config *wanted)
{
    return wanted->loader && plan->server->supervisor
               ? wanted->loader
               : find_cache(&plan->server->running, wanted->name)->loader;
}

static bool prepare_cache(struct plan *plan, size_t index)
{
    const struct hgi_cache_config *wanted = &plan->wanted->caches[index];
    const struct hgi_cache_config *running = find_cache(&plan->server->running, wanted->name);
    const char *loader = loader_for(plan, wanted);
    struct hgi_policy policy = policy_for(plan, wanted);
    struct hgi_executor executor;

    if (loader) {
        executor = hgi_supervisor_executor(plan->server->supervisor, loader, running->value_type);
    }
    if (hgi_cache_make_terms(cache_of(plan, wanted), &policy, loader ? &executor : NULL,
                             &plan->terms[index]) != HG_OK) {
        snprintf(plan->sentence, sizeof(plan->sentence), "no memory to change cache \"%s\"",
                 wanted->name);
        return false;
    }
    return true;
}

static bool prepare_caches(struct plan *plan)
{
    bool is_good = true;

    for (size_t i = 0; i < plan->wanted->cache_count && is_good; i++) {
        is_good = !plan->caches[i] || prepare_cache(plan, i);
    }
    return is_good;
}

static void abandon(struct plan *plan)
{
    for (size_t i = 0; i < plan->wanted->cache_count; i++) {
        if (plan->terms[i]) {
            hgi_cache_drop_terms(cache_of(plan, &plan->wanted->caches[i]), &plan->terms[i]);
        }
    }
    if (plan->has_loaders) {
        hgi_supervisor_abandon(plan->server->supervisor);
    }
}

/* ---- doing it: nothing of this can fail ---- */

static void change_loaders(struct plan *plan)
{
    struct hgi_config *running = &plan->server->running;

    if (!plan->has_loaders) {
        return;
    }
    hgi_supervisor_swap(plan->server->supervisor);
    for (size_t i = 0; i < plan->wanted->loader_count; i++) {
        const struct hgi_loader_config *wanted = &plan->wanted->loaders[i];
        struct hgi_loader_config *old = find_loader(running, wanted->name);

        if (plan->loaders[i]) {
            *(old ? old : &running->loaders[running->loader_count++]) = *wanted;
        }
    }
}

static void change_cache(struct plan *plan, size_t index)
{
    const struct hgi_cache_config *wanted = &plan->wanted->caches[index];
    struct hgi_cache_config *running =
        (struct hgi_cache_config *)(uintptr_t)find_cache(&plan->server->running, wanted->name);
    struct hgi_now now = hgi_clock_now();

    running->policy = policy_for(plan, wanted);
    running->loader = loader_for(plan, wanted);
    hgi_cache_adapt(cache_of(plan, wanted), plan->terms[index], &now);
    hgi_registry_set_loader(plan->server->registry, hg_slice_text(wanted->name), running->loader);
}

static const struct hgi_principal *find_principal(const struct hgi_config *config, const char *name)
{
    for (size_t i = 0; i < config->principal_count; i++) {
        if (strcmp(config->principals[i].name, name) == 0) {
            return &config->principals[i];
        }
    }
    return NULL;
}

/* Who was there keeps his number, by which his operations are known. */
static void change_principals(struct plan *plan, struct hgi_config *wanted)
{
    struct hgi_server *server = plan->server;

    for (size_t i = 0; i < wanted->principal_count; i++) {
        struct hgi_principal *principal = &wanted->principals[i];
        const struct hgi_principal *old = find_principal(&server->running, principal->name);

        principal->number = old ? old->number : ++server->principal_number;
    }
    if (server->tokens) {
        hgi_tokens_set_principals(server->tokens, wanted->principals, wanted->principal_count);
    }
    server->running.principals = wanted->principals;
    server->running.principal_count = wanted->principal_count;
}

static void change_all(struct plan *plan, struct hgi_config *wanted)
{
    struct hgi_server *server = plan->server;

    change_loaders(plan);
    for (size_t i = 0; i < wanted->cache_count; i++) {
        if (plan->caches[i]) {
            change_cache(plan, i);
        }
    }
    if (plan->has_principals) {
        change_principals(plan, wanted);
    }
    hgi_log_set_level(wanted->log_level);
    hgi_log_set_format(wanted->log_format);
    server->running.log_level = wanted->log_level;
    server->running.log_format = wanted->log_format;
}

/* False: nothing has changed. */
static bool take(struct plan *plan, struct hgi_server *server, struct hgi_config *wanted)
{
    struct hgi_kept_config *kept = hgi_alloc(&hgi_heap, sizeof(*kept));

    if (!kept || !plan_init(plan, server, wanted)) {
        hgi_free(&hgi_heap, kept);
        snprintf(plan->sentence, sizeof(plan->sentence), "no memory to reload");
        hgi_config_destroy(&wanted);
        return false;
    }
    *kept = (struct hgi_kept_config){.before = server->kept, .config = wanted};
    server->kept = kept;
    if (!prepare_loaders(plan)) {
        return false;
    }
    if (!prepare_caches(plan)) {
        abandon(plan);
        return false;
    }
    change_all(plan, wanted);
    return true;
}

static void tell(const struct hgi_reloaded *reloaded)
{
    if (reloaded->status != HG_OK) {
        hgi_log(HG_LOG_ERROR, "reload: %s", reloaded->sentence);
        return;
    }
    for (size_t i = 0; i < reloaded->changed_count; i++) {
        hgi_log(HG_LOG_INFO, "reload: %s is changed", (const char *)reloaded->changed[i].data);
    }
    for (size_t i = 0; i < reloaded->restart_count; i++) {
        hgi_log(HG_LOG_WARN, "reload: %s needs a restart", (const char *)reloaded->restart[i].data);
    }
    hgi_log(HG_LOG_INFO, "reloaded: %zu changed, %zu need a restart", reloaded->changed_count,
            reloaded->restart_count);
}

void hgi_server_reload(struct hgi_server *server, HG_TAKES struct hgi_config *wanted,
                       const char *sentence)
{
    struct plan *plan = hgi_alloc(&hgi_heap, sizeof(*plan));
    struct hgi_reloaded reloaded = {.status = HG_FAILED_PRECONDITION, .sentence = sentence};

    if (!plan) {
        hgi_config_destroy(&wanted);
        reloaded.sentence = "no memory to reload";
    } else if (wanted) {
        if (take(plan, server, wanted)) {
            reloaded = (struct hgi_reloaded){.status = HG_OK,
                                             .sentence = "",
                                             .changed = plan->changed,
                                             .changed_count = plan->changed_count,
                                             .restart = plan->restart,
                                             .restart_count = plan->restart_count};
        } else {
            reloaded.sentence = plan->sentence;
        }
    }
    tell(&reloaded);
    answer_asks(server, &reloaded);
    if (plan) {
        hgi_arena_deinit(&plan->arena);
        hgi_free(&hgi_heap, plan);
    }
}
