/* SPDX-License-Identifier: Apache-2.0 */
/* Opening and closing a plugin in this process; no server. */
#include <stdio.h>
#include <unistd.h>

#include "herdgate/own_loader.h"
#include "hg_script.h"
#include "hg_test.h"

#define BAD    HGI_BUILD_DIR "/tests/base/plugins/"
#define STATIC HGI_BUILD_DIR "/lib/herdgate/static.so"

static struct hgi_script script;

/* What the plugin has logged last; it does so in the opening thread. */
static char logged[64];

static void log_last(void *arg, enum hg_log_level level, const char *text)
{
    ck_assert_ptr_eq(arg, &script);
    snprintf(logged, sizeof(logged), "%d %s", (int)level, text);
}

static enum hg_status open_with(const char *path, const struct hg_loader_setting *settings,
                                size_t count, struct hg_own_loader **ret_loader,
                                struct hg_error *error)
{
    const struct hg_open_loader request = {.path = path,
                                           .settings = settings,
                                           .setting_count = count,
                                           .log = log_last,
                                           .log_arg = &script};

    return hg_client_open_loader(&request, ret_loader, error);
}

START_TEST(a_file_that_is_no_plugin_of_this_abi_is_refused_with_the_reason)
{
    static const struct {
        const char *path;
        const char *says;
    } files[] = {
        {"static.so", "is not an absolute path"},
        {"/nowhere/x.so", "cannot be opened: No such file"},
        {"/tmp", "is not a regular file"},
        {HGI_SOURCE_DIR "/README.md", "is not an ELF shared object"},
        {BAD "bad_symbol.so", "exports no hg_loader_query"},
        {BAD "bad_magic.so", "has magic"},
        {BAD "bad_abi.so", "speaks ABI"},
        {BAD "bad_size.so", "has a descriptor of"},
        {BAD "bad_load.so", "has no `load`"},
    };
    struct hg_own_loader *loader = NULL;
    struct hg_error error;

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        ck_assert_int_eq(open_with(files[i].path, NULL, 0, &loader, &error),
                         HG_FAILED_PRECONDITION);
        ck_assert_msg(strstr(error.text, files[i].says) != NULL, "%s", error.text);
        ck_assert_int_eq(error.status, HG_FAILED_PRECONDITION);
        ck_assert_ptr_null(loader);
    }
}
END_TEST

START_TEST(options_are_checked_against_the_plugins_table)
{
    static const struct hg_loader_setting unknown[] = {{"fiel", "/tmp/x"}};
    static const struct hg_loader_setting twice[] = {{"file", "/a"}, {"file", "/b"}};
    static const struct hg_loader_setting empty[] = {{"file", NULL}};
    static const struct {
        const struct hg_loader_setting *settings;
        size_t count;
        const char *says;
    } wrong[] = {
        {unknown, 1, "plugin static has no option \"fiel\"; did you mean \"file\"?"},
        {twice, 2, "option \"file\" is given twice"},
        {NULL, 0, "plugin static needs option \"file\""},
        {empty, 1, "setting 0 has no name or no value"},
    };
    struct hg_own_loader *loader = NULL;
    struct hg_error error;

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        ck_assert_int_eq(open_with(STATIC, wrong[i].settings, wrong[i].count, &loader, &error),
                         HG_INVALID_ARGUMENT);
        ck_assert_msg(strstr(error.text, wrong[i].says) != NULL, "%s", error.text);
        ck_assert_ptr_null(loader);
    }
}
END_TEST

START_TEST(what_a_plugin_says_that_cannot_open_is_the_error)
{
    struct hg_own_loader *loader = NULL;
    struct hg_error error;

    hgi_script_open(&script);
    {
        const struct hg_loader_setting settings[] = {{"control", script.control}};

        hgi_script_set(&script, "@open log on its way\n@open fail no backend\n");
        ck_assert_int_eq(open_with(HGI_SCRIPT_PLUGIN, settings, 1, &loader, &error),
                         HG_FAILED_PRECONDITION);
        ck_assert_str_eq(error.text, "no backend");
        ck_assert_str_eq(logged, "2 on its way");
        ck_assert_ptr_null(loader);
    }
    hgi_script_close(&script);
}
END_TEST

START_TEST(a_request_without_a_path_or_with_too_many_threads_is_refused)
{
    struct hg_own_loader *loader = NULL;
    struct hg_open_loader request = {.workers = 4};
    struct hg_error error;

    ck_assert_int_eq(hg_client_open_loader(&request, &loader, &error), HG_INVALID_ARGUMENT);
    request.path = STATIC;
    request.workers = HG_LOADER_WORKERS_MAX + 1;
    ck_assert_int_eq(hg_client_open_loader(&request, &loader, &error), HG_INVALID_ARGUMENT);
    ck_assert_str_eq(error.text, "257 workers; at most 256 are allowed");
    ck_assert_ptr_null(loader);
}
END_TEST

START_TEST(what_is_opened_is_closed_once_and_can_be_opened_again)
{
    struct hg_own_loader *loaders[3] = {NULL};
    struct hg_own_loader *again;
    struct hg_error error;

    hgi_script_open(&script);
    for (int round = 0; round < 2; round++) {
        const struct hg_loader_setting settings[] = {{"control", script.control}};

        for (size_t i = 0; i < 3; i++) { /* side by side */
            ck_assert_msg(open_with(HGI_SCRIPT_PLUGIN, settings, 1, &loaders[i], &error) == HG_OK,
                          "%s", error.text);
            ck_assert_int_eq(error.status, HG_OK);
            ck_assert_ptr_nonnull(loaders[i]);
        }
        for (size_t i = 0; i < 3; i++) {
            again = loaders[i];
            ck_assert_int_eq(hg_loader_close(&loaders[i], 0, &error), HG_OK);
            ck_assert_ptr_null(loaders[i]);
            ck_assert_int_eq(hg_loader_close(&loaders[i], 0, NULL), HG_OK);
            ck_assert_int_eq(hg_loader_close(&again, 0, NULL), HG_OK); /* there is none any more */
        }
    }
    hgi_script_close(&script);
}
END_TEST

HGI_SUITE("client.own", 60, a_file_that_is_no_plugin_of_this_abi_is_refused_with_the_reason,
          options_are_checked_against_the_plugins_table,
          what_a_plugin_says_that_cannot_open_is_the_error,
          a_request_without_a_path_or_with_too_many_threads_is_refused,
          what_is_opened_is_closed_once_and_can_be_opened_again)
