/* SPDX-License-Identifier: Apache-2.0 */
/* The engine, the supervisor and a real child together: what callers of a cache get. */
#include "hg_test.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "hg_script.h"
#include "server/loader/supervisor.h"

#define CALLS_MAX  128u
#define WAIT_MS    15000
#define TICK_MS    5
#define PATIENT_MS 10000 /* a load_timeout that is not the matter */

struct caller {
    struct hgi_call call;
    struct hgi_key key;
    unsigned answers;
    enum hg_status status;
    enum hg_source source;
    char value[128];
    char message[HGI_MESSAGE_MAX + 1];
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct caller callers[CALLS_MAX];
static struct hgi_script script;
static const char *plugin = HGI_SCRIPT_PLUGIN;
static struct hg_loader_setting settings[2];
static struct hgi_loader_config config;
static struct hgi_supervisor_options options;
static struct hgi_supervisor *supervisor;
static struct hgi_cache *cache;
static struct hg_bytes scratch;

static struct hgi_policy policy_of(int64_t load_timeout_ms)
{
    return (struct hgi_policy){.mode = HG_MODE_FRESH,
                               .on_error = HGI_ON_ERROR_SHARE,
                               .ttl_ms = 60000,
                               .stale_ttl_ms = 60000,
                               .negative_ttl_ms = 5000,
                               .load_timeout_ms = load_timeout_ms,
                               .wait_budget_ms = 10000,
                               .max_entries = 1024,
                               .max_bytes = 1 << 20,
                               .max_loads = 16,
                               .queue_max = 1024,
                               .waiters_max = 4096};
}

static void start_with(const char *control, const struct hgi_policy *policy)
{
    char sentence[HGI_SUPERVISOR_SENTENCE_MAX];
    struct hgi_executor executor;
    struct hgi_cache_options cache_options = {
        .name = "keys", .policy = policy, .executor = &executor, .start_generation = 1};

    memset(callers, 0, sizeof(callers));
    hgi_bytes_init(&scratch, &hgi_heap);
    hgi_script_open(&script);
    hgi_script_set(&script, control);
    settings[0] = (struct hg_loader_setting){"control", script.control};
    settings[1] = (struct hg_loader_setting){"journal", script.journal};
    config = (struct hgi_loader_config){
        .name = "keys", .plugin = plugin, .workers = 1, .settings = settings, .setting_count = 2};
    options = (struct hgi_supervisor_options){.program = HGI_BUILD_DIR "/bin/herdgate-loader",
                                              .loaders = &config,
                                              .loader_count = 1,
                                              .loads_max = 128,
                                              .value_max_bytes = 65536};
    supervisor = hgi_supervisor_create(&options);
    ck_assert_ptr_nonnull(supervisor);
    executor = hgi_supervisor_executor(supervisor, "keys", HG_TYPE_BYTES);
    cache = hgi_cache_create(&hgi_heap, &cache_options);
    ck_assert_ptr_nonnull(cache);
    ck_assert_msg(hgi_supervisor_start(supervisor, sentence) == HG_OK, "%s", sentence);
}

static void start(const char *control, int64_t load_timeout_ms)
{
    struct hgi_policy policy = policy_of(load_timeout_ms);

    start_with(control, &policy);
}

static void finish(void)
{
    struct hgi_now now = hgi_clock_now();

    hgi_cache_stop(cache, &now);
    hgi_supervisor_stop(supervisor, 0);
    hgi_cache_destroy(&cache);
    hgi_supervisor_destroy(&supervisor);
    hgi_bytes_deinit(&scratch);
    hgi_script_close(&script);
}

static void copy_text(char *to, size_t size, struct hg_slice text)
{
    snprintf(to, size, "%.*s", (int)text.len, text.len ? (const char *)text.data : "");
}

static void note_answer(struct hgi_call *call, const struct hgi_answer *answer)
{
    struct caller *caller = (struct caller *)(void *)call;

    pthread_mutex_lock(&mutex);
    caller->answers++;
    caller->status = answer->status;
    caller->source = answer->source;
    copy_text(caller->value, sizeof(caller->value), answer->value);
    copy_text(caller->message, sizeof(caller->message), answer->message);
    pthread_mutex_unlock(&mutex);
}

static void ask(size_t who, const char *key)
{
    struct caller *caller = &callers[who];
    struct hg_key typed = {.kind = HG_KEY_BYTES, .bytes = hg_slice_text(key)};
    struct hgi_now now = hgi_clock_now();
    char sentence[HGI_SENTENCE_MAX];

    ck_assert_int_eq(hgi_key_encode(HGI_KEYS_BYTES, &typed, &caller->key, sentence), HG_OK);
    caller->call.key = hgi_key_slice(&caller->key);
    caller->call.max_age_ms = -1;
    caller->call.timeout_ms = WAIT_MS;
    caller->call.done = note_answer;
    hgi_cache_read(cache, &caller->call, &scratch, &now);
}

/* Ticks like the server's ticker until the caller is answered. */
static const struct caller *answer_of(size_t who)
{
    const struct timespec pause = {0, TICK_MS * 1000000L};

    for (int waited_ms = 0;; waited_ms += TICK_MS) {
        struct hgi_now now = hgi_clock_now();
        unsigned answers;

        pthread_mutex_lock(&mutex);
        answers = callers[who].answers;
        pthread_mutex_unlock(&mutex);
        if (answers) {
            ck_assert_uint_eq(answers, 1);
            return &callers[who];
        }
        ck_assert_msg(waited_ms < WAIT_MS, "caller %zu gets no answer", who);
        hgi_cache_tick(cache, &now);
        nanosleep(&pause, NULL);
    }
}

static void assert_value(size_t who, const char *value)
{
    const struct caller *caller = answer_of(who);

    ck_assert_msg(caller->status == HG_OK, "status %d: %s", (int)caller->status, caller->message);
    ck_assert_str_eq(caller->value, value);
}

START_TEST(many_callers_of_one_key_cost_one_load)
{
    start("* gate %/go\n", PATIENT_MS);
    for (size_t i = 0; i < CALLS_MAX; i++) {
        ask(i, "k");
    }
    hgi_script_await(&script, "k", 1);
    hgi_script_touch(&script, "go");
    for (size_t i = 0; i < CALLS_MAX; i++) {
        assert_value(i, "k");
    }
    ck_assert_uint_eq(hgi_script_loads(&script, NULL), 1);
    finish();
}
END_TEST

START_TEST(a_load_whose_child_died_is_begun_once_more)
{
    start("k gate %/go\nk die\n", PATIENT_MS);
    ask(0, "k");
    ask(1, "k");
    hgi_script_await(&script, "k", 1);
    hgi_script_set(&script, "k value back\n");
    hgi_script_touch(&script, "go");
    assert_value(0, "back");
    assert_value(1, "back");
    ck_assert_uint_eq(hgi_script_loads(&script, "k"), 2);
    finish();
}
END_TEST

START_TEST(a_load_that_kills_its_child_twice_is_unavailable)
{
    start("k die\n", PATIENT_MS);
    ask(0, "k");
    ask(1, "k");
    ck_assert_int_eq(answer_of(0)->status, HG_UNAVAILABLE);
    ck_assert_int_eq(answer_of(1)->status, HG_UNAVAILABLE);
    ck_assert_uint_eq(hgi_script_loads(&script, "k"), 2);
    finish();
}
END_TEST

START_TEST(a_load_that_hangs_ends_at_its_time_out_and_the_next_key_is_loaded)
{
    start("stuck hang\n", 400);
    ask(0, "stuck");
    hgi_script_await(&script, "stuck", 1);
    ask(1, "other");
    ck_assert_int_eq(answer_of(0)->status, HG_DEADLINE_EXCEEDED);
    assert_value(1, "other");
    finish();
}
END_TEST

START_TEST(an_error_of_the_loader_reaches_every_caller_once)
{
    start("k gate %/go\nk fail 14 the backend is away\n", PATIENT_MS);
    for (size_t i = 0; i < 32; i++) {
        ask(i, "k");
    }
    hgi_script_touch(&script, "go");
    for (size_t i = 0; i < 32; i++) {
        ck_assert_int_eq(answer_of(i)->status, HG_UNAVAILABLE);
        ck_assert_str_eq(callers[i].message, "the backend is away");
    }
    ck_assert_uint_eq(hgi_script_loads(&script, "k"), 1);
    finish();
}
END_TEST

static void note_reload(void *context, enum hg_status status, const char *sentence,
                        const struct hgi_loader_state *state)
{
    (void)sentence;
    (void)state;
    *(enum hg_status *)context = status;
}

/* A request that was under way while loader-io ended: the cache is not stopped for it yet. */
START_TEST(what_is_asked_of_a_stopped_supervisor_is_ended_by_the_next_stop)
{
    enum hg_status status = HG_OK;

    start("", PATIENT_MS);
    hgi_supervisor_stop(supervisor, 1000);
    hgi_supervisor_reload(supervisor, hg_slice_text("keys"), note_reload, &status);
    ck_assert_int_eq(status, HG_UNAVAILABLE);
    ask(0, "late");
    hgi_supervisor_stop(supervisor, 0);
    ck_assert_uint_eq(callers[0].answers, 1);
    ck_assert_int_eq(callers[0].status, HG_CANCELLED);
    finish();
}
END_TEST

static void note_reloaded(void *context, enum hg_status status, const char *sentence,
                          const struct hgi_loader_state *state)
{
    (void)state;
    ck_assert_msg(status == HG_OK, "%s", sentence);
    pthread_mutex_lock(&mutex);
    *(bool *)context = true;
    pthread_mutex_unlock(&mutex);
}

static void reload(void)
{
    const struct timespec pause = {0, TICK_MS * 1000000L};
    bool is_done = false;
    int waited_ms = 0;

    hgi_supervisor_reload(supervisor, hg_slice_text("keys"), note_reloaded, &is_done);
    pthread_mutex_lock(&mutex);
    while (!is_done) {
        ck_assert_msg(waited_ms < WAIT_MS, "the reload does not end");
        pthread_mutex_unlock(&mutex);
        waited_ms += TICK_MS;
        nanosleep(&pause, NULL);
        pthread_mutex_lock(&mutex);
    }
    pthread_mutex_unlock(&mutex);
}

START_TEST(a_load_of_the_old_process_answers_after_a_reload_and_is_not_kept)
{
    start("k gate %/go\nk value old\n", PATIENT_MS);
    ask(0, "k");
    hgi_script_await(&script, "k", 1);
    hgi_script_set(&script, "k value new\n");
    reload();
    hgi_script_touch(&script, "go");
    assert_value(0, "old");
    ask(1, "k");
    assert_value(1, "new");
    ck_assert_int_eq(callers[1].source, HG_SOURCE_LOADED);
    finish();
}
END_TEST

/* Both loads have the same birth: nothing was invalidated between. */
START_TEST(a_load_of_the_old_process_does_not_touch_what_the_new_one_stored)
{
    static const char *const ends[] = {"k value old\n", "k no_store\n", "k expires 1\n"};
    struct hgi_policy policy = policy_of(PATIENT_MS);
    char control[64];

    policy.alone = true;
    policy.wait_budget_ms = 20;
    for (size_t i = 0; i < 3; i++) {
        snprintf(control, sizeof(control), "k gate %%/go\n%s", ends[i]);
        start_with(control, &policy);
        ask(0, "k");
        hgi_script_await(&script, "k", 1);
        hgi_script_set(&script, "k value new\n");
        reload();
        ask(1, "k"); /* waits for the first one's load, then loads alone */
        assert_value(1, "new");
        hgi_script_touch(&script, "go");
        ck_assert_str_ne(answer_of(0)->value, "new");
        ask(2, "k");
        assert_value(2, "new");
        ck_assert_int_eq(callers[2].source, HG_SOURCE_FRESH);
        finish();
    }
}
END_TEST

START_TEST(a_hundred_misses_that_are_held_are_as_few_calls_as_the_plugin_allows)
{
    struct hgi_policy policy = policy_of(PATIENT_MS);
    const struct hgi_executor *held;
    char key[16];

    plugin = HGI_SCRIPT_BATCH_PLUGIN;
    policy.max_loads = 100;
    start_with("k7 fail 14 the backend is away\n", &policy);
    held = hgi_cache_hold_loads(cache);
    for (size_t i = 0; i < 100; i++) {
        snprintf(key, sizeof(key), "k%zu", i);
        ask(i, key);
    }
    hgi_cache_release_loads(held);
    for (size_t i = 0; i < 100; i++) {
        snprintf(key, sizeof(key), "k%zu", i);
        if (i == 7) {
            ck_assert_int_eq(answer_of(i)->status, HG_UNAVAILABLE);
        } else {
            assert_value(i, key);
        }
    }
    ck_assert_uint_eq(hgi_script_loads(&script, NULL), 100);
    ck_assert_uint_eq(hgi_script_loads(&script, "@batch"), 4);
    finish();
}
END_TEST

START_TEST(time_outs_of_many_keys_open_the_loaders_breaker)
{
    char key[16];
    size_t who = 0;

    start("* gate %/never\n", 20);
    /* The last time-out reaches the loader after its caller, so one more may slip through. */
    do {
        ck_assert_uint_lt(who, 16);
        snprintf(key, sizeof(key), "k%zu", who);
        ask(who, key);
    } while (answer_of(who++)->status == HG_DEADLINE_EXCEEDED);
    ck_assert_uint_gt(who, 10);
    ck_assert_int_eq(callers[who - 1].status, HG_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(callers[who - 1].message, "breaker open: 10 keys failed"));
    finish();
}
END_TEST

HGI_SUITE("server.loading", 60,
          a_hundred_misses_that_are_held_are_as_few_calls_as_the_plugin_allows,
          a_load_of_the_old_process_answers_after_a_reload_and_is_not_kept,
          a_load_of_the_old_process_does_not_touch_what_the_new_one_stored,
          time_outs_of_many_keys_open_the_loaders_breaker, many_callers_of_one_key_cost_one_load,
          a_load_whose_child_died_is_begun_once_more,
          a_load_that_kills_its_child_twice_is_unavailable,
          a_load_that_hangs_ends_at_its_time_out_and_the_next_key_is_loaded,
          an_error_of_the_loader_reaches_every_caller_once,
          what_is_asked_of_a_stopped_supervisor_is_ended_by_the_next_stop)
