/* SPDX-License-Identifier: Apache-2.0 */
#include "notebook.h"

#include <stdio.h>
#include <time.h>

#define PROGRAM HGI_BUILD_DIR "/bin/herdgate-loader"
#define WAIT_MS 15000

/* ---- the engine's side ---- */

static struct note *note_of(struct hgi_cache *engine, uint64_t load_id)
{
    ck_assert_uint_lt(load_id, LOADS_MAX);
    return &engine->notes[load_id];
}

const char *hgi_cache_name(const struct hgi_cache *engine)
{
    (void)engine;
    return "a-cache";
}

void hgi_cache_load_sent(struct hgi_cache *engine, uint64_t load_id, int64_t pid,
                         const struct hgi_now *now)
{
    (void)pid;
    (void)now;
    pthread_mutex_lock(&engine->mutex);
    note_of(engine, load_id)->sent++;
    pthread_cond_broadcast(&engine->changed);
    pthread_mutex_unlock(&engine->mutex);
}

static void copy_text(char *to, struct hg_slice text)
{
    snprintf(to, TEXT_MAX, "%.*s", (int)text.len, text.len ? (const char *)text.data : "");
}

void hgi_cache_load_done(struct hgi_cache *engine, uint64_t load_id,
                         const struct hgi_result *result, const struct hgi_now *now)
{
    struct note *note = note_of(engine, load_id);

    (void)now;
    pthread_mutex_lock(&engine->mutex);
    note->done++;
    note->status = result->status;
    note->outcome = result->outcome;
    note->is_unchanged = result->is_unchanged;
    note->retry_after_ms = result->retry_after_ms;
    copy_text(note->value, result->value);
    copy_text(note->message, result->message);
    pthread_cond_broadcast(&engine->changed);
    pthread_mutex_unlock(&engine->mutex);
}

void hgi_cache_load_lost(struct hgi_cache *engine, uint64_t load_id, const struct hgi_now *now)
{
    (void)now;
    pthread_mutex_lock(&engine->mutex);
    note_of(engine, load_id)->lost++;
    pthread_cond_broadcast(&engine->changed);
    pthread_mutex_unlock(&engine->mutex);
}

/* ---- the test's side ---- */

struct hgi_script script;
struct hgi_cache cache;
struct hg_loader_setting settings[2];
struct hgi_loader_config configs[2];
struct hgi_supervisor_options options;
struct hgi_supervisor *supervisor;
struct hgi_executor executor;
char sentence[HGI_SUPERVISOR_SENTENCE_MAX];

void prepare(uint32_t workers, uint32_t loads_max, const char *control)
{
    memset(&cache, 0, sizeof(cache));
    pthread_mutex_init(&cache.mutex, NULL);
    pthread_cond_init(&cache.changed, NULL);
    hgi_script_open(&script);
    hgi_script_set(&script, control);
    settings[0] = (struct hg_loader_setting){"control", script.control};
    settings[1] = (struct hg_loader_setting){"journal", script.journal};
    for (size_t i = 0; i < 2; i++) {
        configs[i] = (struct hgi_loader_config){.name = i ? "others" : "keys",
                                                .plugin = HGI_SCRIPT_PLUGIN,
                                                .workers = workers,
                                                .has_network = true,
                                                .settings = settings,
                                                .setting_count = 2,
                                                .file = "herdgate.conf",
                                                .line = 12};
    }
    options = (struct hgi_supervisor_options){.program = PROGRAM,
                                              .loaders = configs,
                                              .loader_count = 1,
                                              .loads_max = loads_max,
                                              .value_max_bytes = 65536};
}

void begin(void)
{
    supervisor = hgi_supervisor_create(&options);
    ck_assert_ptr_nonnull(supervisor);
    ck_assert_msg(hgi_supervisor_start(supervisor, sentence) == HG_OK, "%s", sentence);
    executor = hgi_supervisor_executor(supervisor, "keys", HG_TYPE_BYTES);
}

void start(uint32_t workers, uint32_t loads_max, const char *control)
{
    prepare(workers, loads_max, control);
    begin();
}

void assert_each_ended_once(uint64_t last_id)
{
    for (uint64_t id = 1; id <= last_id; id++) {
        ck_assert_uint_eq(cache.notes[id].done + cache.notes[id].lost, 1);
        ck_assert_uint_le(cache.notes[id].sent, 1);
    }
}

void clean(void)
{
    hgi_supervisor_destroy(&supervisor);
    ck_assert_ptr_null(supervisor);
    hgi_script_close(&script);
    pthread_cond_destroy(&cache.changed);
    pthread_mutex_destroy(&cache.mutex);
}

void finish(uint64_t last_id)
{
    hgi_supervisor_stop(supervisor, 0);
    assert_each_ended_once(last_id);
    clean();
}

static void start_order(const struct hgi_executor *through, const char *key,
                        struct hgi_load_order *order)
{
    struct hg_key typed = {.kind = HG_KEY_BYTES, .bytes = hg_slice_text(key)};
    struct hgi_key canonical;

    ck_assert_int_eq(hgi_key_encode(HGI_KEYS_BYTES, &typed, &canonical, sentence), HG_OK);
    order->key = hgi_key_slice(&canonical);
    order->cache = &cache;
    order->attempt = 1;
    through->start(through->context, order);
}

void load_with(const struct hgi_executor *through, uint64_t id, const char *key, int64_t timeout_ms)
{
    struct hgi_load_order order = {.load_id = id, .timeout_ms = timeout_ms};

    start_order(through, key, &order);
}

void load_slow(uint64_t id, const char *key, int64_t slow_ms, const char *traceparent)
{
    struct hgi_load_order order = {
        .load_id = id, .timeout_ms = 5000, .slow_ms = slow_ms, .key_hash = 0xfeed};
    struct hgi_trace trace;

    if (traceparent) {
        ck_assert(hgi_trace_read(hg_slice_text(traceparent), &trace));
        order.trace = &trace;
    }
    start_order(&executor, key, &order);
}

void load_old(uint64_t id, const char *key, struct hg_slice old_value, const char *etag)
{
    struct hgi_load_order order = {
        .load_id = id,
        .timeout_ms = 5000,
        .old = {.serial = 1, .value = old_value, .etag = hg_slice_text(etag)}};

    start_order(&executor, key, &order);
}

void load(uint64_t id, const char *key)
{
    load_with(&executor, id, key, 5000);
}

void cancel(uint64_t id)
{
    executor.cancel(executor.context, &cache, id);
}

bool is_sent(const struct note *note)
{
    return note->sent > 0;
}

bool is_ended(const struct note *note)
{
    return note->done + note->lost > 0;
}

const struct note *await(uint64_t id, bool (*is_so)(const struct note *note))
{
    struct timespec until;
    int error = 0;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += WAIT_MS / 1000;
    pthread_mutex_lock(&cache.mutex);
    while (!is_so(&cache.notes[id]) && !error) {
        error = pthread_cond_timedwait(&cache.changed, &cache.mutex, &until);
    }
    pthread_mutex_unlock(&cache.mutex);
    ck_assert_msg(!error, "load %d: nothing happens", (int)id);
    return &cache.notes[id];
}

void assert_value(uint64_t id, const char *value)
{
    const struct note *note = await(id, is_ended);

    ck_assert_msg(note->done == 1 && note->status == HG_OK, "load %d: lost %u, status %d %s",
                  (int)id, note->lost, (int)note->status, note->message);
    ck_assert_str_eq(note->value, value);
}

void assert_lost(uint64_t id)
{
    ck_assert_uint_eq(await(id, is_ended)->lost, 1);
}

void assert_failed(uint64_t id, enum hg_status status, const char *wanted)
{
    const struct note *note = await(id, is_ended);

    ck_assert_uint_eq(note->done, 1);
    ck_assert_int_eq(note->status, status);
    ck_assert_msg(strstr(note->message, wanted) != NULL, "\"%s\" does not say \"%s\"",
                  note->message, wanted);
}

struct hgi_loader_state state_now(void)
{
    struct hgi_loader_state state;

    hgi_supervisor_state(supervisor, 0, &state);
    return state;
}

struct hgi_loader_state await_state(const char *wanted, int64_t not_pid)
{
    const struct timespec pause = {0, 2000000};
    struct hgi_loader_state state = state_now();

    for (int waited_ms = 0; strcmp(state.state, wanted) != 0 || state.pid == not_pid;
         waited_ms += 2) {
        ck_assert_msg(waited_ms < WAIT_MS, "the loader is %s, not %s", state.state, wanted);
        nanosleep(&pause, NULL);
        state = state_now();
    }
    return state;
}

static void note_reload(void *context, enum hg_status status, const char *text,
                        const struct hgi_loader_state *state)
{
    struct reloaded *reloaded = context;

    pthread_mutex_lock(&reloaded->mutex);
    reloaded->count++;
    reloaded->status = status;
    reloaded->state = *state;
    snprintf(reloaded->sentence, sizeof(reloaded->sentence), "%s", text);
    pthread_cond_broadcast(&reloaded->changed);
    pthread_mutex_unlock(&reloaded->mutex);
}

void reload_begin(const char *name, struct reloaded *ret_reloaded)
{
    memset(ret_reloaded, 0, sizeof(*ret_reloaded));
    pthread_mutex_init(&ret_reloaded->mutex, NULL);
    pthread_cond_init(&ret_reloaded->changed, NULL);
    hgi_supervisor_reload(supervisor, hg_slice_text(name), note_reload, ret_reloaded);
}

void reload_await(struct reloaded *reloaded)
{
    pthread_mutex_lock(&reloaded->mutex);
    while (!reloaded->count) {
        pthread_cond_wait(&reloaded->changed, &reloaded->mutex);
    }
    pthread_mutex_unlock(&reloaded->mutex);
    ck_assert_uint_eq(reloaded->count, 1);
}

void reload(const char *name, struct reloaded *ret_reloaded)
{
    reload_begin(name, ret_reloaded);
    reload_await(ret_reloaded);
}

void assert_not_started(const char *wanted)
{
    supervisor = hgi_supervisor_create(&options);
    ck_assert_ptr_nonnull(supervisor);
    ck_assert_int_ne(hgi_supervisor_start(supervisor, sentence), HG_OK);
    ck_assert_msg(strstr(sentence, wanted) != NULL, "\"%s\" does not say \"%s\"", sentence, wanted);
    hgi_supervisor_destroy(&supervisor);
}
