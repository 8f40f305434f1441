/* SPDX-License-Identifier: Apache-2.0 */
/* Many misses of one request, and of several clients, in few calls of the plugin. */
#include <stdio.h>

#include "crowd.h"
#include "daemon.h"

#define KEYS 100

static const char sections[] =
    "limits { loads_max = 128 }\n"
    "loader \"together\" { plugin = \"" HGI_SCRIPT_BATCH_PLUGIN "\" workers = 1\n"
    "    option(\"control\", \"@DIR@/together.control\")\n"
    "    option(\"journal\", \"@DIR@/together.journal\") }\n"
    "loader \"windowed\" { plugin = \"" HGI_SCRIPT_BATCH_PLUGIN "\" batch_window_us = 500000\n"
    "    option(\"control\", \"@DIR@/windowed.control\")\n"
    "    option(\"journal\", \"@DIR@/windowed.journal\") }\n"
    "cache \"many\" { key = \"bytes\" value = \"bytes\" loader = \"together\" max_loads = 128 }\n"
    "cache \"shared\" { key = \"bytes\" value = \"bytes\" loader = \"windowed\" }\n";

static struct daemon d;

/* What the journal of a loader of ours says. */
static size_t journal(const char *loader, const char *key)
{
    struct hgi_script script;

    snprintf(script.journal, sizeof(script.journal), "%s/%s.journal", d.dir, loader);
    return hgi_script_loads(&script, key);
}

static void control(const char *text)
{
    char path[96];
    FILE *file;

    snprintf(path, sizeof(path), "%s/together.control", d.dir);
    file = fopen(path, "we");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
}

static void setup(void)
{
    daemon_prepare(&d, sections);
    daemon_start(&d);
}

static void teardown(void)
{
    daemon_stop(&d);
    daemon_remove(&d);
}

START_TEST(a_batch_loads_its_misses_in_as_few_calls_as_the_plugin_allows)
{
    static char names[KEYS][8];
    static struct hg_key keys[KEYS];
    struct hg_batch request = {.cache = "many", .keys = keys, .key_count = KEYS};
    struct hg_answers answers;

    setup();
    control("k7 fail 14 the backend is away\nk8 absent\n");
    for (int i = 0; i < KEYS; i++) {
        snprintf(names[i], sizeof(names[i]), "k%d", i);
        keys[i] = daemon_key(names[i]);
    }
    ck_assert_int_eq(hg_client_batch_get_or_load(d.client, &request, &answers, NULL), HG_OK);
    ck_assert_uint_eq(answers.count, KEYS);
    for (int i = 0; i < KEYS; i++) {
        if (i == 7) {
            ck_assert_int_eq(answers.answers[i].status, HG_UNAVAILABLE);
        } else if (i == 8) {
            ck_assert_int_eq(answers.answers[i].outcome, HG_ABSENT);
        } else {
            ck_assert_slice_eq(answers.answers[i].value, names[i]);
        }
    }
    hg_answers_deinit(&answers);
    ck_assert_uint_eq(journal("together", NULL), KEYS);
    ck_assert_uint_eq(journal("together", "@batch 32"), 3);
    ck_assert_uint_eq(journal("together", "@batch 4"), 1);
    teardown();
}
END_TEST

START_TEST(misses_of_two_clients_inside_the_window_share_a_call)
{
    static struct crowd crowd;
    struct hg_client *other;
    struct hg_read read = {.cache = "shared", .key = daemon_key("a"), .timeout_ms = 15000};
    struct crowd_answer *first;
    struct crowd_answer *second;

    setup();
    crowd_init(&crowd);
    ck_assert_int_eq(hg_client_open(d.tcp_url, NULL, &other, NULL), HG_OK);
    first = crowd_read(&crowd, d.client, &read);
    read.key = daemon_key("b");
    second = crowd_read(&crowd, other, &read);
    crowd_wait(&crowd);
    ck_assert_str_eq(first->value, "a");
    ck_assert_str_eq(second->value, "b");
    ck_assert_uint_eq(journal("windowed", "@batch 2"), 1);
    hg_client_close(&other);
    crowd_deinit(&crowd);
    teardown();
}
END_TEST

HGI_SUITE("e2e.batches", 60, a_batch_loads_its_misses_in_as_few_calls_as_the_plugin_allows,
          misses_of_two_clients_inside_the_window_share_a_call)
