/* SPDX-License-Identifier: Apache-2.0 */
/* What herdgated says, and with which exit code, when it cannot or should not start; nothing is
 * left half started. (The configuration's own rules: server.config. What the command says:
 * client.cli.) */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon.h"

#define OUTPUT_MAX  4096
#define BAD_PLUGINS HGI_BUILD_DIR "/tests/base/plugins/"

struct fixture {
    struct daemon d;
    char output[OUTPUT_MAX];
};

static const char one_cache[] =
    "cache \"c\" { key = \"bytes\" value = \"bytes\" loader = \"script\" }\n";

/* herdgated -c CONFIG [-t] */
static int run(struct fixture *f, const char *option)
{
    const char *const argv[] = {HGI_HERDGATED, "-c", f->d.config, option, NULL};

    return daemon_run(argv, f->output, sizeof(f->output));
}

static void expect(struct fixture *f, const char *option, int code, const char *words)
{
    int got = run(f, option);

    ck_assert_msg(got == code, "exit code %d instead of %d: %s", got, code, f->output);
    ck_assert_msg(strstr(f->output, words) != NULL, "\"%s\" does not say \"%s\"", f->output, words);
    ck_assert_ptr_null(strstr(f->output, "ready"));
}

/* One line says what is wrong with the loader "other", and no line promises another try. */
static void expect_one_sentence(const struct fixture *f)
{
    const char *said = strstr(f->output, "other");

    ck_assert_msg(said && !strstr(strchrnul(said, '\n'), "other"), "%s", f->output);
}

/* A plugin that herdgated must refuse, at -t and at start. */
static void expect_plugin_refused(const char *plugin, const char *words)
{
    struct fixture f;
    char sections[512];

    snprintf(sections, sizeof(sections),
             "loader \"other\" { plugin = \"%s\" }\n"
             "cache \"c\" { key = \"bytes\" value = \"bytes\" loader = \"other\" }\n",
             plugin);
    daemon_prepare(&f.d, sections);
    expect(&f, "-t", 78, words);
    expect_one_sentence(&f);
    expect(&f, NULL, 78, words);
    expect_one_sentence(&f);
    daemon_remove(&f.d);
}

/* Which file is loaded is for the configuration to say; a section's own words reach its child. */
START_TEST(a_plugin_with_another_content_than_its_pin_is_refused)
{
    struct fixture f;
    char sections[512];

    snprintf(sections, sizeof(sections),
             "loader \"other\" { plugin = \"%s\" pin = \"%064d\" }\n"
             "cache \"c\" { key = \"bytes\" value = \"bytes\" loader = \"other\" }\n",
             HGI_SCRIPT_PLUGIN, 0);
    daemon_prepare(&f.d, sections);
    expect(&f, "-t", 78, "but is pinned to 0000");
    expect_one_sentence(&f);
    daemon_remove(&f.d);
}
END_TEST

START_TEST(a_plugin_in_a_folder_others_may_write_to_is_refused)
{
    static const char sections[] =
        "loader \"other\" { plugin = \"@DIR@/shared/p.so\" }\n"
        "cache \"c\" { key = \"bytes\" value = \"bytes\" loader = \"other\" }\n";
    struct fixture f;
    char path[160];

    daemon_prepare(&f.d, sections);
    snprintf(path, sizeof(path), "%s/shared", f.d.dir);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert_int_eq(chmod(path, 0775), 0);
    expect(&f, "-t", 78, "/shared, a folder of user ");
    ck_assert_ptr_nonnull(strstr(f.output, "chmod go-w "));
    daemon_remove(&f.d);
}
END_TEST

START_TEST(version_is_told)
{
    static const char *const version[] = {HGI_HERDGATED, "--version", NULL};
    char output[OUTPUT_MAX];

    ck_assert_int_eq(daemon_run(version, output, sizeof(output)), 0);
    ck_assert_str_eq(output, "herdgated " HGI_VERSION "\n");
}
END_TEST

START_TEST(no_configuration_an_unknown_option_and_a_stray_argument_are_usage_errors)
{
    static const char *const none[] = {HGI_HERDGATED, NULL};
    static const char *const unknown[] = {HGI_HERDGATED, "--confg", "x", NULL};
    static const char *const stray[] = {HGI_HERDGATED, "-c", "x", "y", NULL};
    char output[OUTPUT_MAX];

    ck_assert_int_eq(daemon_run(none, output, sizeof(output)), 2);
    ck_assert_ptr_nonnull(strstr(output, "-c FILE"));
    ck_assert_int_eq(daemon_run(unknown, output, sizeof(output)), 2);
    ck_assert_ptr_nonnull(strstr(output, "--confg"));
    ck_assert_int_eq(daemon_run(stray, output, sizeof(output)), 2);
    ck_assert_ptr_nonnull(strstr(output, "\"y\""));
}
END_TEST

START_TEST(a_missing_configuration_is_named)
{
    static const char *const argv[] = {HGI_HERDGATED, "-c", "/nonexistent/herdgate.conf", NULL};
    char output[OUTPUT_MAX];

    ck_assert_int_eq(daemon_run(argv, output, sizeof(output)), 78);
    ck_assert_ptr_nonnull(strstr(output, "/nonexistent/herdgate.conf"));
}
END_TEST

START_TEST(a_typo_is_told_with_file_line_and_the_nearest_word)
{
    struct fixture f;

    daemon_prepare(
        &f.d, "cache \"c\" {\n    key = \"bytes\"\n    value = \"bytes\"\n    tll = \"10s\"\n}\n");
    expect(&f, "-t", 78, "herdgate.conf:13");
    ck_assert_ptr_nonnull(strstr(f.output, "tll"));
    ck_assert_ptr_nonnull(strstr(f.output, "ttl"));
    daemon_remove(&f.d);
}
END_TEST

START_TEST(a_good_configuration_passes_the_test_and_starts_nothing)
{
    struct fixture f;
    struct stat found;
    char path[160];

    daemon_prepare(&f.d, one_cache);
    expect(&f, "-t", 0, "good");
    snprintf(path, sizeof(path), "%s/run", f.d.dir);
    ck_assert_int_ne(stat(path, &found), 0); /* no runtime folder, no socket */
    daemon_remove(&f.d);
}
END_TEST

START_TEST(a_plugin_that_is_missing_is_refused)
{
    expect_plugin_refused("/nonexistent/loader.so", "/nonexistent/loader.so");
}
END_TEST

START_TEST(a_plugin_that_is_no_elf_file_is_refused)
{
    expect_plugin_refused(HGI_SOURCE_DIR "/LICENSE", "LICENSE");
}
END_TEST

START_TEST(a_plugin_with_the_wrong_abi_is_refused_with_both_numbers)
{
    expect_plugin_refused(BAD_PLUGINS "bad_abi.so", "ABI");
}
END_TEST

START_TEST(a_plugin_option_that_is_unknown_is_refused_by_name)
{
    struct fixture f;

    daemon_prepare(&f.d, "loader \"other\" { plugin = \"static\" option(\"fil\", \"x\") }\n"
                         "cache \"c\" { key = \"bytes\" value = \"bytes\" loader = \"other\" }\n");
    expect(&f, "-t", 78, "fil");
    ck_assert_ptr_nonnull(strstr(f.output, "file"));
    expect_one_sentence(&f);
    daemon_remove(&f.d);
}
END_TEST

START_TEST(a_database_that_is_missing_is_refused_at_start)
{
    struct fixture f;

    daemon_prepare(&f.d,
                   "loader \"other\" { plugin = \"sqlite\" option(\"database\", \"@DIR@/none.db\") "
                   "option(\"query\", \"SELECT value FROM t WHERE k = ?1\") }\n"
                   "cache \"c\" { key = \"bytes\" value = \"bytes\" loader = \"other\" }\n");
    expect(&f, NULL, 78, "none.db");
    daemon_remove(&f.d);
}
END_TEST

START_TEST(a_port_in_use_is_told_and_is_exit_code_75)
{
    struct fixture f;
    struct fixture second;
    char sections[512];

    daemon_prepare(&f.d, one_cache);
    daemon_start(&f.d);
    snprintf(sections, sizeof(sections), "listen \"%s\" { access = \"data\" }\n%s", f.d.tcp_url,
             one_cache);
    daemon_prepare(&second.d, sections);
    expect(&second, NULL, 75, f.d.tcp_url);
    daemon_remove(&second.d);
    daemon_stop(&f.d);
    daemon_remove(&f.d);
}
END_TEST

START_TEST(a_snapshot_that_another_server_has_is_exit_code_75)
{
    struct fixture f;
    struct fixture second;
    char sections[512];

    daemon_prepare(&f.d, "snapshot { path = \"@DIR@/cache.db\" }\ncache \"c\" { key = \"bytes\" "
                         "value = \"bytes\" }\n");
    daemon_start(&f.d);
    snprintf(sections, sizeof(sections), "snapshot { path = \"%s/cache.db\" }\n%s", f.d.dir,
             one_cache);
    daemon_prepare(&second.d, sections);
    expect(&second, NULL, 75, "cache.db");
    daemon_remove(&second.d);
    daemon_stop(&f.d);
    daemon_remove(&f.d);
}
END_TEST

START_TEST(a_snapshot_that_is_no_database_is_moved_aside_and_the_server_starts_empty)
{
    static const char words[] = "this is no database, and it is not lost either";
    struct fixture f;
    char path[160];
    char command[400];
    const char *const list[] = {"/bin/sh", "-c", command, NULL};
    FILE *file;

    daemon_prepare(&f.d, "snapshot { path = \"@DIR@/cache.db\" }\ncache \"c\" { key = \"bytes\" "
                         "value = \"bytes\" }\n");
    snprintf(path, sizeof(path), "%s/cache.db", f.d.dir);
    file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(words, file);
    fclose(file);
    daemon_start(&f.d);
    ck_assert_int_eq(daemon_put(&f.d, "c", "k", "v"), HG_OK);
    snprintf(command, sizeof(command), "cat %s.corrupt-*", path);
    ck_assert_int_eq(daemon_run(list, f.output, sizeof(f.output)), 0);
    ck_assert_str_eq(f.output, words);
    snprintf(command, sizeof(command), "cat %s", f.d.log);
    ck_assert_int_eq(daemon_run(list, f.output, sizeof(f.output)), 0);
    ck_assert_msg(strstr(f.output, "cache.db.corrupt-") != NULL, "the log does not say so: %s",
                  f.output);
    daemon_stop(&f.d);
    daemon_remove(&f.d);
}
END_TEST

static void expect_verified(struct fixture *f, const char *config, int code, const char *words)
{
    char path[160];
    const char *const argv[] = {HGI_HERDGATED,        "--verify", path,
                                config ? "-c" : NULL, config,     NULL};

    snprintf(path, sizeof(path), "%s/cache.db", f->d.dir);
    ck_assert_int_eq(daemon_run(argv, f->output, sizeof(f->output)), code);
    ck_assert_msg(strstr(f->output, words) != NULL, "%s", f->output);
}

/* 0: whole; 1: not there, or not whole; 75: in use; 78: the key. */
START_TEST(a_snapshot_at_rest_can_be_verified)
{
    struct fixture f;
    char path[160];
    FILE *file;

    daemon_prepare(&f.d, "key_file = \"@DIR@/key\"\n"
                         "snapshot { path = \"@DIR@/cache.db\" encrypt = \"on\" }\n"
                         "cache \"c\" { key = \"bytes\" value = \"bytes\" }\n");
    expect_verified(&f, NULL, 1, "cannot look at the snapshot");
    daemon_start(&f.d);
    ck_assert_int_eq(daemon_put(&f.d, "c", "k", "v"), HG_OK);
    expect_verified(&f, f.d.config, 75, "another process has the snapshot");
    daemon_stop(&f.d);
    expect_verified(&f, f.d.config, 0,
                    "cache.db is whole: 1 rows in 1 pages, 1 caches, 0 "
                    "invalidations to be carried out; encrypted; last written ");
    expect_verified(&f, NULL, 1, "it was written under a key_file, and none is configured");
    snprintf(path, sizeof(path), "%s/cache.db", f.d.dir);
    file = fopen(path, "r+");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fseek(file, 100, SEEK_SET), 0);
    ck_assert_int_eq(fputs("no page of a database", file) < 0, 0);
    ck_assert_int_eq(fclose(file), 0);
    expect_verified(&f, f.d.config, 1, "cache.db is not whole: ");
    snprintf(path, sizeof(path), "%s/key", f.d.dir);
    ck_assert_int_eq(chmod(path, 0644), 0);
    expect_verified(&f, f.d.config, 78, path);
    daemon_remove(&f.d);
}
END_TEST

START_TEST(a_loader_program_that_is_missing_is_refused)
{
    struct fixture f;

    daemon_prepare(&f.d, "loader_program = \"/nonexistent/herdgate-loader\"\n"
                         "cache \"c\" { key = \"bytes\" value = \"bytes\" loader = \"script\" }\n");
    expect(&f, "-t", 78, "/nonexistent/herdgate-loader");
    daemon_remove(&f.d);
}
END_TEST

HGI_SUITE("e2e.refusals", 60, a_plugin_with_another_content_than_its_pin_is_refused,
          a_plugin_in_a_folder_others_may_write_to_is_refused, version_is_told,
          no_configuration_an_unknown_option_and_a_stray_argument_are_usage_errors,
          a_missing_configuration_is_named, a_typo_is_told_with_file_line_and_the_nearest_word,
          a_good_configuration_passes_the_test_and_starts_nothing,
          a_plugin_that_is_missing_is_refused, a_plugin_that_is_no_elf_file_is_refused,
          a_plugin_with_the_wrong_abi_is_refused_with_both_numbers,
          a_plugin_option_that_is_unknown_is_refused_by_name,
          a_database_that_is_missing_is_refused_at_start, a_port_in_use_is_told_and_is_exit_code_75,
          a_snapshot_that_another_server_has_is_exit_code_75,
          a_snapshot_that_is_no_database_is_moved_aside_and_the_server_starts_empty,
          a_snapshot_at_rest_can_be_verified, a_loader_program_that_is_missing_is_refused)
