/* SPDX-License-Identifier: Apache-2.0 */
/* Loads led by a plugin in this process, against a real server: what the plugin says, to whom, and
 * when. The caches have no loader in the server. */
#include <stdatomic.h>
#include <stdio.h>

#include "base/thread.h"
#include "crowd.h"
#include "daemon.h"
#include "herdgate/own_loader.h"
#include "loaders/contract/service.h"

#define ASYNC_PLUGIN HGI_BUILD_DIR "/tests/loaders/plugins/async.so"
#define ASYNC_BATCH  8 /* it answers so many at once */
#define ASKERS       8
#define KEYS         24

static const char caches[] =
    "cache \"own\" { key = \"bytes\" value = \"bytes\" ttl = \"1h\" load_timeout = \"1m\" }\n"
    "cache \"json\" { key = \"bytes\" value = \"json\" ttl = \"1h\" load_timeout = \"1m\" }\n"
    "cache \"pair\" { key = \"user_api_key\" value = \"bytes\" ttl = \"1h\" "
    "load_timeout = \"1m\" }\n"
    "cache \"stale\" { key = \"bytes\" value = \"bytes\" ttl = \"1ms\" stale_ttl = \"1h\" "
    "load_timeout = \"1m\" }\n"
    "cache \"auth\" { key = \"bytes\" value = \"auth\" ttl = \"1h\" load_timeout = \"1m\" }\n";

struct fixture {
    struct daemon d; /* d.client is the gateway that leads */
    struct hg_client *bert;
    struct crowd crowd;
    struct hg_own_loader *loader;
    atomic_uint twice_count;
};

static void count_twice(void *arg, enum hg_log_level level, const char *text)
{
    struct fixture *f = arg;

    if (level == HG_LOG_WARN && strcmp(text, HGI_SERVICE_TWICE) == 0) {
        atomic_fetch_add(&f->twice_count, 1);
    }
}

/* One after the other: tsan does not see how nng orders two threads' first use of it. */
static void connect_both(struct fixture *f)
{
    struct hg_read read = {.cache = "own", .key = daemon_key("k")};
    struct hg_client *const clients[] = {f->d.client, f->bert};

    for (size_t i = 0; i < 2; i++) {
        struct hg_answer answer;

        ck_assert_int_eq(hg_client_get(clients[i], &read, &answer, NULL), HG_OK);
        hg_answer_deinit(&answer);
    }
}

/* The plugin is the scripted one, or `path` without options. */
static void setup(struct fixture *f, const char *path, uint32_t workers)
{
    struct hg_error error;

    memset(f, 0, sizeof(*f));
    daemon_prepare(&f->d, caches);
    daemon_start(&f->d);
    crowd_init(&f->crowd);
    ck_assert_int_eq(hg_client_open(f->d.ipc_url, NULL, &f->bert, &error), HG_OK);
    connect_both(f);
    {
        const struct hg_loader_setting settings[] = {{"control", f->d.script.control},
                                                     {"journal", f->d.script.journal}};
        const struct hg_open_loader request = {.path = path ? path : HGI_SCRIPT_PLUGIN,
                                               .settings = settings,
                                               .setting_count = path ? 0 : 2,
                                               .workers = workers,
                                               .log = count_twice,
                                               .log_arg = f};

        ck_assert_msg(hg_client_open_loader(&request, &f->loader, &error) == HG_OK, "%s",
                      error.text);
    }
}

static void teardown(struct fixture *f)
{
    struct hg_error error;

    crowd_wait(&f->crowd);
    ck_assert_msg(hg_loader_close(&f->loader, 0, &error) == HG_OK, "%s", error.text);
    hg_client_close(&f->bert);
    daemon_stop(&f->d);
    daemon_remove(&f->d);
    crowd_deinit(&f->crowd);
}

static struct hg_load_through through(const struct fixture *f, const char *cache, const char *key)
{
    return (struct hg_load_through){.read = {.cache = cache,
                                             .key = daemon_key(key),
                                             .mode = HG_MODE_FRESH,
                                             .timeout_ms = 15000},
                                    .load = hg_loader_lead,
                                    .arg = f->loader};
}

/* A caller on a thread of its own. */
struct caller {
    struct fixture *f;
    struct hg_load_through request;
    struct hgi_thread thread;
    enum hg_status status;
    enum hg_outcome outcome;
    enum hg_source source;
    char value[64];
    char text[HG_ERROR_TEXT_MAX];
};

static void call(void *arg)
{
    struct caller *caller = arg;
    struct hg_answer answer;
    struct hg_error error;

    caller->status = hg_client_load_through(caller->f->d.client, &caller->request, &answer, &error);
    caller->source = error.source;
    snprintf(caller->text, sizeof(caller->text), "%s", error.text);
    if (caller->status == HG_OK) {
        caller->outcome = answer.outcome;
        caller->source = answer.source;
        snprintf(caller->value, sizeof(caller->value), "%.*s", (int)answer.value.len,
                 answer.value.len ? (const char *)answer.value.data : "");
        hg_answer_deinit(&answer);
    }
}

static void call_here(struct fixture *f, struct hg_load_through request, struct caller *ret_caller)
{
    *ret_caller = (struct caller){.f = f, .request = request};
    call(ret_caller);
}

static void begin(struct fixture *f, struct hg_load_through request, struct caller *caller)
{
    *caller = (struct caller){.f = f, .request = request};
    ck_assert(hgi_thread_start(&caller->thread, "caller", call, caller));
}

static void check_failed(const struct caller *caller, enum hg_status status, const char *text)
{
    ck_assert_msg(caller->status == status, "%s: %s", hg_status_name(caller->status), caller->text);
    ck_assert_int_eq(caller->source, HG_SOURCE_LOADED);
    ck_assert_str_eq(caller->text, text);
}

static void check_value(const struct caller *caller, const char *value)
{
    ck_assert_msg(caller->status == HG_OK, "%s: %s", hg_status_name(caller->status), caller->text);
    ck_assert_int_eq(caller->outcome, HG_VALUE);
    ck_assert_str_eq(caller->value, value);
}

static struct hg_answer peek(struct fixture *f, const char *cache, const char *key)
{
    struct hg_answer answer;

    ck_assert_int_eq(daemon_read(&f->d, cache, key, HG_MODE_PEEK, &answer, NULL), HG_OK);
    return answer;
}

static void check_not_cached(struct fixture *f, const char *cache, const char *key)
{
    struct hg_answer answer = peek(f, cache, key);

    ck_assert_int_eq(answer.outcome, HG_NOT_CACHED);
    hg_answer_deinit(&answer);
}

START_TEST(a_plugins_answer_is_its_gateways_and_the_others)
{
    static const struct {
        const char *cache;
        const char *says;
        enum hg_status status;
        enum hg_outcome outcome;
        const char *text; /* the value, or the error */
    } answers[] = {
        {"own", "value v", HG_OK, HG_VALUE, "v"},
        {"own", "absent", HG_OK, HG_ABSENT, ""},
        {"own", "denied", HG_OK, HG_DENIED, ""},
        {"own", "fail 14 no backend", HG_UNAVAILABLE, 0, "no backend"},
        {"json", "value [1]", HG_OK, HG_VALUE, "[1]"},
        {"auth", "absent", HG_OK, HG_ABSENT, ""},
    };
    struct fixture f;

    setup(&f, NULL, 0);
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        struct hg_load_through request;
        struct crowd_answer *follower;
        struct caller leader;
        char control[96];
        char key[8];

        snprintf(key, sizeof(key), "k%zu", i);
        snprintf(control, sizeof(control), "%s gate %%/go%zu\n%s %s\n", key, i, key,
                 answers[i].says);
        hgi_script_set(&f.d.script, control);
        request = through(&f, answers[i].cache, key);
        begin(&f, request, &leader);
        hgi_script_await(&f.d.script, key, 1);
        follower = crowd_read(&f.crowd, f.bert, &request.read);
        daemon_wait_metric(&f.d, answers[i].cache, "waiting", 1);
        snprintf(control, sizeof(control), "go%zu", i);
        hgi_script_touch(&f.d.script, control);
        hgi_thread_join(&leader.thread);
        crowd_wait_for(&f.crowd, follower);
        ck_assert_int_eq(leader.status, answers[i].status);
        ck_assert_int_eq(follower->status, answers[i].status);
        ck_assert_int_eq(leader.source, HG_SOURCE_LOADED);
        if (answers[i].status == HG_OK) {
            ck_assert_int_eq(leader.outcome, answers[i].outcome);
            ck_assert_int_eq(follower->outcome, answers[i].outcome);
            ck_assert_int_eq(follower->source, HG_SOURCE_JOINED);
            ck_assert_str_eq(leader.value, answers[i].text);
            ck_assert_str_eq(follower->value, answers[i].text);
        } else {
            ck_assert_str_eq(leader.text, answers[i].text);
            ck_assert_str_eq(follower->text, answers[i].text);
            ck_assert_int_eq(follower->error_source, HG_SOURCE_JOINED);
        }
        ck_assert_uint_eq(hgi_script_loads(&f.d.script, key), 1);
    }
    teardown(&f);
}
END_TEST

START_TEST(an_auth_value_is_published_as_it_says_itself)
{
    struct fixture f;
    struct hg_answer answer;
    struct hg_auth_value value;
    struct caller caller;

    setup(&f, NULL, 0);
    hgi_script_set(&f.d.script, "good value u_1\nbad denied\n");
    call_here(&f, through(&f, "auth", "good"), &caller);
    ck_assert_int_eq(caller.outcome, HG_VALUE);
    answer = peek(&f, "auth", "good");
    ck_assert_int_eq(hg_auth_decode(answer.value, &value, NULL), HG_OK);
    ck_assert_slice_eq(value.auth.user_id, "u_1");
    hg_auth_value_deinit(&value);
    hg_answer_deinit(&answer);
    call_here(&f, through(&f, "auth", "bad"), &caller);
    ck_assert_int_eq(caller.outcome, HG_DENIED);
    answer = peek(&f, "auth", "bad");
    ck_assert_int_eq(answer.outcome, HG_DENIED);
    hg_answer_deinit(&answer);
    teardown(&f);
}
END_TEST

START_TEST(how_long_a_value_lives_is_the_plugins_word)
{
    struct fixture f;
    struct hg_slice tag = hg_slice_text("gold");
    struct hg_invalidate invalidate = {.cache = "own", .tags = &tag, .tag_count = 1};
    struct hg_report report;
    struct hg_answer answer;
    struct caller caller;

    setup(&f, NULL, 0);
    hgi_script_set(&f.d.script, "brief ttl 60000\nonce no_store\ntagged tags gold,old\n"
                                "over expires 1\n");
    call_here(&f, through(&f, "own", "brief"), &caller);
    check_value(&caller, "brief");
    answer = peek(&f, "own", "brief");
    ck_assert_uint_le(answer.ttl_left_ms, 60000);
    ck_assert_uint_gt(answer.ttl_left_ms, 30000);
    hg_answer_deinit(&answer);
    call_here(&f, through(&f, "own", "once"), &caller);
    check_value(&caller, "once");
    check_not_cached(&f, "own", "once");
    call_here(&f, through(&f, "own", "tagged"), &caller);
    check_value(&caller, "tagged");
    ck_assert_int_eq(hg_client_invalidate(f.bert, &invalidate, &report, NULL), HG_OK);
    hg_report_deinit(&report);
    check_not_cached(&f, "own", "tagged");
    call_here(&f, through(&f, "own", "over"), &caller);
    ck_assert_int_eq(caller.status, HG_FAILED_PRECONDITION);
    teardown(&f);
}
END_TEST

START_TEST(the_plugin_is_told_the_key_as_the_server_knows_it)
{
    struct fixture f;
    struct hg_load_through request;
    struct caller caller;

    setup(&f, NULL, 0);
    request = through(&f, "pair", "");
    request.read.key = (struct hg_key){.kind = HG_KEY_USER_API_KEY,
                                       .user_id = hg_slice_text(" u "),
                                       .api_key_id = hg_slice_text("k\n")};
    call_here(&f, request, &caller);
    check_value(&caller, "u/k");
    ck_assert_uint_eq(hgi_script_loads(&f.d.script, "u/k"), 1);
    teardown(&f);
}
END_TEST

START_TEST(an_answer_that_breaks_a_rule_is_an_error_of_its_load)
{
    static const struct {
        const char *cache;
        const char *says;
        const char *text;
    } wrong[] = {
        {"own", "wrong", "the loader gave an auth value, but the cache holds bytes"},
        {"auth", "wrong", "the loader gave bytes, but the cache holds auth"},
        {"own", "sizeless", "the loader gave a lifetime whose .size is not set"},
        {"own", "ttl -1", "the loader gave a negative time"},
        {"own", "silent", HGI_SERVICE_SILENT},
        {"own", "fail 0 x", "the loader failed with a status that is none"},
        {"own", "unchanged", "the loader said \"unchanged\" of a value it was not given"},
        {"own", "tags a,,b", "the loader gave a tag of 0 bytes; it must have 1 to 128"},
    };
    struct fixture f;

    setup(&f, NULL, 0);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct caller caller;
        char control[64];

        snprintf(control, sizeof(control), "k %s\n", wrong[i].says);
        hgi_script_set(&f.d.script, control);
        call_here(&f, through(&f, wrong[i].cache, "k"), &caller);
        check_failed(&caller, HG_INTERNAL, wrong[i].text);
        check_not_cached(&f, wrong[i].cache, "k");
    }
    hgi_script_set(&f.d.script, "k value {\n");
    {
        struct caller caller;

        call_here(&f, through(&f, "json", "k"), &caller);
        ck_assert_int_eq(caller.status, HG_INTERNAL);
        ck_assert_ptr_nonnull(strstr(caller.text, "the loader gave a wrong value: "));
    }
    teardown(&f);
}
END_TEST

START_TEST(a_load_completed_twice_has_its_first_answer)
{
    struct fixture f;
    struct caller caller;

    setup(&f, NULL, 0);
    hgi_script_set(&f.d.script, "k double\n");
    call_here(&f, through(&f, "own", "k"), &caller);
    check_value(&caller, "k");
    ck_assert_int_eq(hg_loader_close(&f.loader, 0, NULL), HG_OK); /* `load` has returned */
    ck_assert_uint_eq(f.twice_count, 1);
    teardown(&f);
}
END_TEST

START_TEST(who_waits_for_a_slow_plugin_waits_until_its_deadline)
{
    struct fixture f;
    struct hg_load_through request;
    struct caller caller;

    setup(&f, NULL, 1);
    hgi_script_set(&f.d.script, "slow gate %/never\nlate delay 600\n");
    request = through(&f, "own", "slow"); /* notices that it is cancelled, and ends */
    request.read.timeout_ms = 300;
    call_here(&f, request, &caller);
    check_failed(&caller, HG_DEADLINE_EXCEEDED, "the loader did not answer in time");
    request = through(&f, "own", "late"); /* answers all the same, to nobody */
    request.read.timeout_ms = 300;
    call_here(&f, request, &caller);
    check_failed(&caller, HG_DEADLINE_EXCEEDED, "the loader did not answer in time");
    request = through(&f, "own", "k");
    call_here(&f, request, &caller); /* after it: the loader has one thread */
    check_value(&caller, "k");
    check_not_cached(&f, "own", "late");
    ck_assert_uint_eq(f.twice_count, 0);
    teardown(&f);
}
END_TEST

START_TEST(a_load_that_finds_no_thread_in_time_is_not_begun)
{
    struct fixture f;
    struct hg_load_through request;
    struct caller first;
    struct caller second;

    setup(&f, NULL, 1);
    hgi_script_set(&f.d.script, "first gate %/go\n");
    begin(&f, through(&f, "own", "first"), &first);
    hgi_script_await(&f.d.script, "first", 1);
    request = through(&f, "own", "second");
    request.read.timeout_ms = 200;
    call_here(&f, request, &second);
    check_failed(&second, HG_DEADLINE_EXCEEDED,
                 "the loader was too busy to begin the load in time");
    hgi_script_touch(&f.d.script, "go");
    hgi_thread_join(&first.thread);
    check_value(&first, "first");
    ck_assert_uint_eq(hgi_script_loads(&f.d.script, "second"), 0);
    teardown(&f);
}
END_TEST

START_TEST(an_asynchronous_plugin_answers_many_at_once_from_its_own_thread)
{
    struct fixture f;
    struct caller callers[ASYNC_BATCH];
    char keys[ASYNC_BATCH][8];

    setup(&f, ASYNC_PLUGIN, 1);
    for (size_t i = 0; i < ASYNC_BATCH; i++) {
        snprintf(keys[i], sizeof(keys[i]), "k%zu", i);
        begin(&f, through(&f, "own", keys[i]), &callers[i]);
    }
    for (size_t i = 0; i < ASYNC_BATCH; i++) {
        hgi_thread_join(&callers[i].thread);
        check_value(&callers[i], "batched");
    }
    ck_assert_uint_eq(f.twice_count, 0);
    teardown(&f);
}
END_TEST

/* "late" is completed by the plugin's `cancel`; so is "k0", which its thread completes once more
 * when seven others have come. */
START_TEST(what_an_asynchronous_plugin_answers_too_late_is_dropped)
{
    struct fixture f;
    struct hg_load_through request;
    struct caller callers[ASYNC_BATCH];
    char keys[ASYNC_BATCH][8];

    setup(&f, ASYNC_PLUGIN, 1);
    request = through(&f, "own", "late");
    request.read.timeout_ms = 200;
    call_here(&f, request, &callers[0]);
    check_failed(&callers[0], HG_DEADLINE_EXCEEDED, "the loader did not answer in time");
    request = through(&f, "own", "k0");
    request.read.timeout_ms = 200;
    call_here(&f, request, &callers[0]);
    check_failed(&callers[0], HG_DEADLINE_EXCEEDED, "the loader did not answer in time");
    for (size_t i = 1; i < ASYNC_BATCH; i++) {
        snprintf(keys[i], sizeof(keys[i]), "k%zu", i);
        begin(&f, through(&f, "own", keys[i]), &callers[i]);
    }
    for (size_t i = 1; i < ASYNC_BATCH; i++) {
        hgi_thread_join(&callers[i].thread);
        check_value(&callers[i], "batched");
    }
    check_not_cached(&f, "own", "late");
    check_not_cached(&f, "own", "k0");
    ck_assert_int_eq(hg_loader_close(&f.loader, 0, NULL), HG_OK);
    ck_assert_uint_eq(f.twice_count, 1);
    teardown(&f);
}
END_TEST

START_TEST(closing_waits_for_what_runs_and_begins_nothing)
{
    struct fixture f;
    struct hg_load_through request;
    struct caller running;
    struct caller late;
    struct hg_error error;

    setup(&f, NULL, 0);
    hgi_script_set(&f.d.script, "running gate %/go\n");
    begin(&f, through(&f, "own", "running"), &running);
    hgi_script_await(&f.d.script, "running", 1);
    request = through(&f, "own", "k");
    ck_assert_int_eq(hg_loader_close(&f.loader, 50, &error), HG_DEADLINE_EXCEEDED);
    ck_assert_str_eq(error.text, "loads that the plugin has not ended: 1");
    ck_assert_ptr_nonnull(f.loader);
    call_here(&f, request, &late);
    check_failed(&late, HG_CANCELLED, "the loader has been closed");
    hgi_script_touch(&f.d.script, "go");
    ck_assert_int_eq(hg_loader_close(&f.loader, 0, NULL), HG_OK);
    ck_assert_ptr_null(f.loader);
    hgi_thread_join(&running.thread);
    check_value(&running, "running");
    call_here(&f, request, &late); /* by the pointer of old */
    check_failed(&late, HG_CANCELLED, "the loader has been closed");
    ck_assert_uint_eq(hgi_script_loads(&f.d.script, "k"), 0);
    teardown(&f);
}
END_TEST

/* One of many threads; all of them ask for the same keys. */
struct asker {
    struct fixture *f;
    struct hgi_thread thread;
    unsigned wrong_count;
};

static void ask_for_all(void *arg)
{
    struct asker *asker = arg;

    for (unsigned i = 0; i < KEYS; i++) {
        struct caller caller;
        char key[8];

        snprintf(key, sizeof(key), "k%u", i);
        call_here(asker->f, through(asker->f, "own", key), &caller);
        asker->wrong_count += caller.status != HG_OK || strcmp(caller.value, key) != 0;
    }
}

START_TEST(many_threads_share_a_plugin_and_each_key_is_loaded_once)
{
    struct fixture f;
    struct asker askers[ASKERS];

    setup(&f, NULL, 3);
    for (size_t i = 0; i < ASKERS; i++) {
        askers[i] = (struct asker){.f = &f};
        ck_assert(hgi_thread_start(&askers[i].thread, "asker", ask_for_all, &askers[i]));
    }
    for (size_t i = 0; i < ASKERS; i++) {
        hgi_thread_join(&askers[i].thread);
        ck_assert_uint_eq(askers[i].wrong_count, 0);
    }
    ck_assert_uint_eq(hgi_script_loads(&f.d.script, NULL), KEYS);
    teardown(&f);
}
END_TEST

START_TEST(behind_a_stale_value_the_plugin_loads_in_the_background)
{
    struct fixture f;
    struct hg_load_through request;
    struct caller caller;
    struct hg_answer answer;
    bool is_new = false;

    setup(&f, NULL, 0);
    hgi_script_set(&f.d.script, "k gate %/go\nk value new\n");
    ck_assert_int_eq(daemon_put(&f.d, "stale", "k", "old"), HG_OK);
    request = through(&f, "stale", "k");
    request.read.mode = HG_MODE_REVALIDATE;
    do { /* fresh until its millisecond is over */
        call_here(&f, request, &caller);
        check_value(&caller, "old");
    } while (caller.source != HG_SOURCE_STALE);
    hgi_script_await(&f.d.script, "k", 1);
    call_here(&f, request, &caller);
    check_value(&caller, "old");
    ck_assert_uint_eq(hgi_script_loads(&f.d.script, "k"), 1);
    hgi_script_touch(&f.d.script, "go");
    while (!is_new) {
        ck_assert_int_eq(daemon_read(&f.d, "stale", "k", HG_MODE_ALLOW_STALE, &answer, NULL),
                         HG_OK);
        is_new = answer.value.len == 3 && memcmp(answer.value.data, "new", 3) == 0;
        hg_answer_deinit(&answer);
    }
    teardown(&f);
}
END_TEST

HGI_SUITE("client.own_load", 60, a_plugins_answer_is_its_gateways_and_the_others,
          an_auth_value_is_published_as_it_says_itself, how_long_a_value_lives_is_the_plugins_word,
          the_plugin_is_told_the_key_as_the_server_knows_it,
          an_answer_that_breaks_a_rule_is_an_error_of_its_load,
          a_load_completed_twice_has_its_first_answer,
          who_waits_for_a_slow_plugin_waits_until_its_deadline,
          a_load_that_finds_no_thread_in_time_is_not_begun,
          an_asynchronous_plugin_answers_many_at_once_from_its_own_thread,
          what_an_asynchronous_plugin_answers_too_late_is_dropped,
          closing_waits_for_what_runs_and_begins_nothing,
          many_threads_share_a_plugin_and_each_key_is_loaded_once,
          behind_a_stale_value_the_plugin_loads_in_the_background)
