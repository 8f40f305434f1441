/* SPDX-License-Identifier: Apache-2.0 */
/* A server that is given another configuration while it serves, and one that is drained. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "daemon.h"
#include "herdgate/access.h"
#include "herdgate/control.h"

#define HERDGATE HGI_BUILD_DIR "/bin/herdgate"
#define SECTIONS                                                                                   \
    "cache \"c\" { key = \"bytes\" value = \"bytes\" loader = \"script\" ttl = \"1h\" }\n"
#define READERS     3
#define RELOADS     12
#define ENTRIES     50
#define MOST_PASSES 1000000

/* The configuration as prepared, with `from` (there once) made `to`. */
static void edit(struct daemon *d, const char *from, const char *to)
{
    char text[8192];
    FILE *file = fopen(d->config, "re");
    char *found;
    size_t len;

    ck_assert_ptr_nonnull(file);
    len = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[len] = '\0';
    found = strstr(text, from);
    ck_assert_msg(found && !strstr(found + 1, from), "\"%s\" is not there once", from);
    file = fopen(d->config, "we");
    ck_assert_ptr_nonnull(file);
    fprintf(file, "%.*s%s%s", (int)(found - text), text, to, found + strlen(from));
    ck_assert_int_eq(fclose(file), 0);
}

static void add(struct daemon *d, const char *sections)
{
    FILE *file = fopen(d->config, "ae");

    ck_assert_ptr_nonnull(file);
    fputs(sections, file);
    ck_assert_int_eq(fclose(file), 0);
}

static struct hg_reloaded reload(struct daemon *d)
{
    struct hg_reloaded reloaded;
    struct hg_error error;

    ck_assert_msg(hg_client_reload(d->client, NULL, &reloaded, &error) == HG_OK, "%s", error.text);
    return reloaded;
}

static void assert_reload(struct daemon *d, size_t changed, size_t restart)
{
    struct hg_reloaded reloaded = reload(d);

    ck_assert_uint_eq(reloaded.changed_count, changed);
    ck_assert_uint_eq(reloaded.restart_count, restart);
    hg_reloaded_deinit(&reloaded);
}

static void assert_refused(struct daemon *d, const char *part)
{
    struct hg_reloaded reloaded;
    struct hg_error error;

    ck_assert_int_eq(hg_client_reload(d->client, NULL, &reloaded, &error), HG_FAILED_PRECONDITION);
    ck_assert_msg(strstr(error.text, part) != NULL, "\"%s\" does not say \"%s\"", error.text, part);
}

static bool has_logged(struct daemon *d, const char *part)
{
    char text[65536];
    FILE *file = fopen(d->log, "re");
    size_t len;

    ck_assert_ptr_nonnull(file);
    len = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[len] = '\0';
    return strstr(text, part) != NULL;
}

static struct hg_answer read_key(struct daemon *d, const char *cache, const char *key)
{
    struct hg_answer answer;
    struct hg_error error;

    ck_assert_msg(daemon_read(d, cache, key, HG_MODE_FRESH, &answer, &error) == HG_OK, "%s",
                  error.text);
    return answer;
}

static void assert_read(struct daemon *d, const char *cache, const char *key, const char *value,
                        enum hg_source source)
{
    struct hg_answer answer = read_key(d, cache, key);

    ck_assert_slice_eq(answer.value, value);
    ck_assert_int_eq(answer.source, source);
    hg_answer_deinit(&answer);
}

static size_t count_loaders(struct daemon *d)
{
    struct hg_loaders loaders;
    size_t count;

    ck_assert_int_eq(hg_client_list_loaders(d->client, NULL, &loaders, NULL), HG_OK);
    count = loaders.count;
    hg_loaders_deinit(&loaders);
    return count;
}

START_TEST(a_cache_changes_and_keeps_what_it_has)
{
    struct hg_reloaded reloaded;
    struct hg_answer answer;
    struct daemon d;

    daemon_prepare(&d, SECTIONS);
    daemon_start(&d);
    assert_read(&d, "c", "k", "k", HG_SOURCE_LOADED);
    edit(&d, "ttl = \"1h\"", "ttl = \"10s\" max_loads = 3");
    reloaded = reload(&d);
    ck_assert_uint_eq(reloaded.changed_count, 3);
    ck_assert_slice_eq(reloaded.changed[0], "cache \"c\": max_loads");
    ck_assert_slice_eq(reloaded.changed[1], "cache \"c\": stale_ttl");
    ck_assert_slice_eq(reloaded.changed[2], "cache \"c\": ttl");
    ck_assert_uint_eq(reloaded.restart_count, 0);
    hg_reloaded_deinit(&reloaded);
    answer = read_key(&d, "c", "k");
    ck_assert_int_eq(answer.source, HG_SOURCE_FRESH);
    ck_assert_uint_le(answer.ttl_left_ms, 10000);
    hg_answer_deinit(&answer);
    assert_reload(&d, 0, 0);
    daemon_stop(&d);
    daemon_remove(&d);
}
END_TEST

START_TEST(what_needs_a_restart_is_named_each_time_and_done_by_it)
{
    struct hg_reloaded reloaded;
    struct daemon d;

    daemon_prepare(&d, SECTIONS);
    daemon_start(&d);
    edit(&d, "ttl = \"1h\"", "ttl = \"2h\" max_bytes = \"1GiB\"");
    add(&d, "cache \"later\" { key = \"bytes\" value = \"bytes\" }\nlimits { idle = \"9m\" }\n");
    for (int i = 0; i < 2; i++) {
        reloaded = reload(&d);
        ck_assert_uint_eq(reloaded.changed_count, i == 0 ? 2 : 0);
        ck_assert_uint_eq(reloaded.restart_count, 3);
        ck_assert_slice_eq(reloaded.restart[0], "cache \"c\": max_bytes");
        ck_assert_slice_eq(reloaded.restart[1], "cache \"later\"");
        ck_assert_slice_eq(reloaded.restart[2], "limits: idle");
        hg_reloaded_deinit(&reloaded);
    }
    ck_assert(has_logged(&d, "warn: reload: limits: idle needs a restart\n"));
    daemon_stop(&d);
    daemon_start(&d);
    assert_reload(&d, 0, 0);
    daemon_stop(&d);
    daemon_remove(&d);
}
END_TEST

START_TEST(a_bad_configuration_changes_nothing_and_is_said_alike)
{
    struct hg_reloaded reloaded;
    struct hg_error error;
    struct daemon d;
    char line[1200];

    daemon_prepare(&d, SECTIONS);
    daemon_start(&d);
    edit(&d, "ttl = \"1h\"", "ttl = \"10s\" tlt = \"1s\"");
    ck_assert_int_eq(hg_client_reload(d.client, NULL, &reloaded, &error), HG_FAILED_PRECONDITION);
    ck_assert_ptr_nonnull(strstr(error.text, "did you mean \"ttl\"?"));
    snprintf(line, sizeof(line), "error: reload: %s\n", error.text);
    ck_assert(has_logged(&d, line));
    assert_read(&d, "c", "k", "k", HG_SOURCE_LOADED);
    /* Nor does one that is good but for a plugin. */
    edit(&d, " tlt = \"1s\"", "");
    edit(&d, "loader_script.so", "no_such_script.so");
    assert_refused(&d, "no_such_script.so cannot be opened");
    edit(&d, "no_such_script.so", "loader_script.so");
    assert_reload(&d, 2, 0);
    daemon_stop(&d);
    daemon_remove(&d);
}
END_TEST

START_TEST(sighup_does_the_same)
{
    struct hg_reloaded reloaded;
    struct daemon d;

    daemon_prepare(&d, SECTIONS);
    daemon_start(&d);
    edit(&d, "ttl = \"1h\"", "ttl = \"2h\"");
    ck_assert_int_eq(kill(d.pid, SIGHUP), 0);
    /* Whoever asks after it is answered after it, by one reload or another. */
    reloaded = reload(&d);
    hg_reloaded_deinit(&reloaded);
    ck_assert(has_logged(&d, "info: reload: cache \"c\": ttl is changed\n"));
    daemon_stop(&d);
    daemon_remove(&d);
}
END_TEST

START_TEST(a_loader_changes_and_another_comes)
{
    struct daemon d;
    char section[512];

    daemon_prepare(&d, SECTIONS "cache \"own\" { key = \"bytes\" value = \"bytes\" }\n");
    daemon_start(&d);
    ck_assert_int_eq(daemon_put(&d, "own", "k", "put"), HG_OK);
    snprintf(section, sizeof(section),
             "loader \"new\" { plugin = \"%s\" option(\"control\", \"%s/new\") }\n",
             HGI_SCRIPT_PLUGIN, d.dir);
    add(&d, section);
    edit(&d, "cache \"own\" {", "cache \"own\" { loader = \"new\"");
    assert_reload(&d, 2, 0);
    assert_read(&d, "own", "other", "other", HG_SOURCE_LOADED);
    assert_read(&d, "own", "k", "put", HG_SOURCE_FRESH);
    edit(&d, "/new\")", "/newer\")");
    assert_reload(&d, 1, 0);
    assert_read(&d, "own", "third", "third", HG_SOURCE_LOADED);
    daemon_stop(&d);
    daemon_remove(&d);
}
END_TEST

/* All that a configuration changes, or nothing of it: the first loader of the two opens. */
START_TEST(a_loader_that_does_not_open_keeps_all_as_it_was)
{
    struct daemon d;
    char section[512];

    daemon_prepare(&d, SECTIONS "cache \"own\" { key = \"bytes\" value = \"bytes\" }\n");
    daemon_start(&d);
    snprintf(section, sizeof(section), "loader \"new\" { plugin = \"%s\" }\n", HGI_SCRIPT_PLUGIN);
    add(&d, section);
    edit(&d, "cache \"own\" {", "cache \"own\" { loader = \"new\" ttl = \"7s\"");
    edit(&d, "ttl = \"1h\"", "ttl = \"9s\"");
    edit(&d, "workers = 8", "workers = 3");
    for (int i = 0; i < 2; i++) {
        struct hg_answer answer;
        struct hg_error error;

        assert_refused(&d, "loader new: plugin script needs option \"control\"");
        assert_read(&d, "c", i ? "l" : "k", i ? "l" : "k", HG_SOURCE_LOADED);
        answer = read_key(&d, "c", "k");
        ck_assert_uint_gt(answer.ttl_left_ms, 3000000);
        hg_answer_deinit(&answer);
        ck_assert_int_eq(daemon_read(&d, "own", "k", HG_MODE_FRESH, &answer, &error),
                         HG_FAILED_PRECONDITION);
    }
    ck_assert_uint_eq(count_loaders(&d), 1);
    snprintf(section, sizeof(section), "\"new\" { option(\"control\", \"%s/new\")", d.dir);
    edit(&d, "\"new\" {", section);
    assert_reload(&d, 7, 0);
    assert_read(&d, "own", "k", "k", HG_SOURCE_LOADED);
    ck_assert_uint_eq(count_loaders(&d), 2);
    daemon_stop(&d);
    daemon_remove(&d);
}
END_TEST

START_TEST(rights_change_with_the_next_request)
{
    struct hg_client_options options = {.timeout_ms = 20000};
    struct hg_issued issued;
    struct hg_client *client;
    struct hg_answer answer;
    struct hg_error error;
    struct daemon d;
    char file[128];
    char url[128];
    char text[512];
    FILE *out;

    daemon_prepare(&d, SECTIONS "key_file = \"@DIR@/key\" tokens_file = \"@DIR@/tokens\"\n"
                                "principal \"gw\" { allow(\"c\", \"write\") }\n");
    snprintf(url, sizeof(url), "ipc://%s/run/token.sock", d.dir);
    snprintf(text, sizeof(text), "listen \"%s\" { access = \"token\" }\n", url);
    add(&d, text);
    daemon_start(&d);
    ck_assert_msg(hg_client_new_token(d.client, &(struct hg_new_token){.principal = "gw"}, &issued,
                                      &error) == HG_OK,
                  "%s", error.text);
    snprintf(file, sizeof(file), "%s/gw.token", d.dir);
    out = fopen(file, "we");
    ck_assert_ptr_nonnull(out);
    fprintf(out, "%.*s", (int)issued.token.len, (const char *)issued.token.data);
    ck_assert_int_eq(fclose(out), 0);
    ck_assert_int_eq(chmod(file, 0600), 0);
    hg_issued_deinit(&issued);
    options.token_file = file;
    ck_assert_int_eq(hg_client_open(url, &options, &client, &error), HG_OK);
    {
        const struct hg_read read = {.cache = "c", .key = daemon_key("k")};

        ck_assert_int_eq(hg_client_get_or_load(client, &read, &answer, &error),
                         HG_PERMISSION_DENIED);
        edit(&d, "allow(\"c\", \"write\")", "allow(\"c\", \"read, load\")");
        assert_reload(&d, 1, 0);
        ck_assert_int_eq(hg_client_get_or_load(client, &read, &answer, &error), HG_OK);
        hg_answer_deinit(&answer);
        edit(&d, "principal \"gw\"", "principal \"somebody else\"");
        assert_refused(&d, "is no name");
        edit(&d, "somebody else", "somebody");
        assert_reload(&d, 2, 0);
        ck_assert_int_eq(hg_client_get_or_load(client, &read, &answer, &error), HG_UNAUTHENTICATED);
    }
    hg_client_close(&client);
    daemon_stop(&d);
    daemon_remove(&d);
}
END_TEST

/* ---- under load ---- */

struct load {
    struct daemon *d;
    _Atomic bool is_over;
    _Atomic uint64_t answered;
    _Atomic uint64_t failed;
};

static void *read_on(void *arg)
{
    struct load *load = arg;

    for (unsigned i = 0; i < MOST_PASSES && !atomic_load(&load->is_over); i++) {
        struct hg_answer answer;
        struct hg_error error;
        char key[32];

        /* One in eight is new, and so loaded. */
        snprintf(key, sizeof(key), i % 8 ? "k%u" : "new%u", i % 8 ? i % ENTRIES : i);
        if (daemon_read(load->d, "c", key, HG_MODE_FRESH, &answer, &error) == HG_OK) {
            hg_answer_deinit(&answer);
            atomic_fetch_add(&load->answered, 1);
        } else {
            fprintf(stderr, "%s: %s\n", key, error.text);
            atomic_fetch_add(&load->failed, 1);
        }
    }
    return NULL;
}

START_TEST(reloads_under_load_lose_no_request_and_no_entry)
{
    struct load load = {.is_over = false};
    pthread_t readers[READERS];
    struct daemon d;
    char key[32];
    uint64_t loads;

    daemon_prepare(&d, SECTIONS);
    daemon_start(&d);
    load.d = &d;
    for (unsigned i = 0; i < ENTRIES; i++) {
        snprintf(key, sizeof(key), "k%u", i);
        assert_read(&d, "c", key, key, HG_SOURCE_LOADED);
    }
    for (size_t i = 0; i < READERS; i++) {
        ck_assert_int_eq(pthread_create(&readers[i], NULL, read_on, &load), 0);
    }
    for (int i = 0; i < RELOADS; i++) {
        uint64_t before = atomic_load(&load.answered);

        /* The loader, too, in every third: a new process beside the old one. */
        edit(&d, i % 2 ? "ttl = \"2h\"" : "ttl = \"1h\"", i % 2 ? "ttl = \"1h\"" : "ttl = \"2h\"");
        if (i % 3 == 0) {
            edit(&d, "plugin = ", "descriptors_max = \"999\" plugin = ");
        } else if (i % 3 == 1) {
            edit(&d, "descriptors_max = \"999\" plugin = ", "plugin = ");
        }
        assert_reload(&d, i % 3 == 2 ? 2 : 3, 0);
        while (atomic_load(&load.answered) < before + READERS) {
            usleep(100);
        }
    }
    atomic_store(&load.is_over, true);
    for (size_t i = 0; i < READERS; i++) {
        pthread_join(readers[i], NULL);
    }
    ck_assert_uint_eq(atomic_load(&load.failed), 0);
    loads = daemon_metric(&d, "c", "load");
    for (unsigned i = 0; i < ENTRIES; i++) {
        snprintf(key, sizeof(key), "k%u", i);
        assert_read(&d, "c", key, key, HG_SOURCE_FRESH);
    }
    ck_assert_uint_eq(daemon_metric(&d, "c", "load"), loads);
    daemon_stop(&d);
    daemon_remove(&d);
}
END_TEST

/* ---- drain ---- */

static enum hg_health health(struct daemon *d)
{
    enum hg_health is = HG_HEALTH_UNKNOWN;

    ck_assert_int_eq(hg_client_health(d->client, NULL, &is, NULL), HG_OK);
    return is;
}

START_TEST(who_drains_is_not_ready_and_answers_all_the_same)
{
    struct hg_drained drained;
    struct daemon d;
    char output[512];
    const char *const undo[] = {HERDGATE, "-e", NULL, "drain", "--off", NULL};
    const char *argv[HGI_COUNT_OF(undo)];

    daemon_prepare(&d, SECTIONS);
    daemon_start(&d);
    ck_assert_int_eq(health(&d), HG_HEALTH_SERVING);
    ck_assert_int_eq(hg_client_drain(d.client, &(struct hg_drain){0}, &drained, NULL), HG_OK);
    ck_assert_uint_eq(drained.connections, 1);
    ck_assert_uint_eq(drained.waiting, 0);
    ck_assert_int_eq(health(&d), HG_HEALTH_NOT_SERVING);
    assert_read(&d, "c", "k", "k", HG_SOURCE_LOADED);
    memcpy(argv, undo, sizeof(undo));
    argv[2] = d.ipc_url;
    ck_assert_int_eq(daemon_run(argv, output, sizeof(output)), 0);
    ck_assert_str_eq(output, "ready: 2 connections, 0 calls wait for loads\n");
    ck_assert_int_eq(health(&d), HG_HEALTH_SERVING);
    daemon_stop(&d);
    daemon_remove(&d);
}
END_TEST

START_TEST(the_command_says_what_was_done)
{
    struct daemon d;
    char output[1024];
    const char *argv[] = {HERDGATE, "-e", NULL, "reload", NULL};

    daemon_prepare(&d, SECTIONS);
    daemon_start(&d);
    argv[2] = d.ipc_url;
    ck_assert_int_eq(daemon_run(argv, output, sizeof(output)), 0);
    ck_assert_str_eq(output, "nothing has changed\n");
    edit(&d, "ttl = \"1h\"", "negative_ttl = \"1s\" ttl = \"1h\"");
    add(&d, "limits { idle = \"9m\" }\n");
    ck_assert_int_eq(daemon_run(argv, output, sizeof(output)), 0);
    ck_assert_ptr_nonnull(strstr(output, "cache \"c\": negative_ttl is changed\n"));
    ck_assert_ptr_nonnull(strstr(output, "limits: idle needs a restart\n"));
    add(&d, "limits { idle = \"8m\" }\n");
    ck_assert_int_eq(daemon_run(argv, output, sizeof(output)), 1);
    ck_assert_ptr_nonnull(strstr(output, "there is a limits section already"));
    daemon_stop(&d);
    daemon_remove(&d);
}
END_TEST

HGI_SUITE("e2e.reload", 120, a_cache_changes_and_keeps_what_it_has,
          what_needs_a_restart_is_named_each_time_and_done_by_it,
          a_bad_configuration_changes_nothing_and_is_said_alike, sighup_does_the_same,
          a_loader_changes_and_another_comes, a_loader_that_does_not_open_keeps_all_as_it_was,
          rights_change_with_the_next_request, reloads_under_load_lose_no_request_and_no_entry,
          who_drains_is_not_ready_and_answers_all_the_same, the_command_says_what_was_done)
