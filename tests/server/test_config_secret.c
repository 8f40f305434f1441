/* SPDX-License-Identifier: Apache-2.0 */
/* What a loader's option says that the file itself does not. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config_scene.h"
#include "server/config_rows.h"

static char path[96];

static void write_secret(const char *text, mode_t mode)
{
    FILE *file;

    snprintf(path, sizeof(path), "/tmp/hgi-secret-%d", (int)getpid());
    unlink(path);
    file = fopen(path, "we");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(chmod(path, mode), 0);
}

static struct hgi_config *read_option(const char *value)
{
    char text[512];

    snprintf(text, sizeof(text),
             SMALL "loader \"l\" { plugin = \"/p.so\" option(\"o\", \"%s\") }\n", value);
    return config_read_text(text);
}

static void assert_option(const char *value, const char *expected)
{
    struct hgi_config *config = read_option(value);

    ck_assert_msg(config != NULL, "%s", config_sentence);
    ck_assert_str_eq(config->loaders[0].settings[0].value, expected);
    hgi_config_destroy(&config);
}

START_TEST(a_file_stands_for_what_it_holds)
{
    char value[256];

    write_secret("s3cret, with spaces \n", 0600);
    snprintf(value, sizeof(value), "file:%s", path);
    assert_option(value, "s3cret, with spaces ");
    write_secret("no end of line", 0640);
    assert_option(value, "no end of line");
    unlink(path);
    assert_option("file:relative is a text", "file:relative is a text");
}
END_TEST

START_TEST(variables_are_expanded_where_they_stand)
{
    ck_assert_int_eq(setenv("HGI_SECRET", "s3cret", 1), 0);
    unsetenv("HGI_NONE");
    assert_option("<${HGI_SECRET}|${HGI_NONE:-none}|${HGI_SECRET:-x}>", "<s3cret|none|s3cret>");
    assert_option("\\${HGI_SECRET}", "${HGI_SECRET}");
    ck_assert_ptr_null(read_option("${HGI_NONE}"));
    ck_assert_ptr_nonnull(strstr(config_sentence, "HGI_NONE is not set"));
}
END_TEST

/* A loader's options only are secrets. */
START_TEST(elsewhere_it_is_a_text)
{
    ck_assert_ptr_null(config_read_text(SMALL "key_file = \"/k\" tokens_file = \"/t\"\n"
                                              "principal \"p\" { allow(\"c\", \"file:/r\") }\n"));
    ck_assert_msg(strstr(config_sentence, "\"file:/r\"") != NULL, "%s", config_sentence);
}
END_TEST

/* option's, and so also the cache of an allow, and the field of a header. */
START_TEST(variables_are_expanded_in_names_too)
{
    struct hgi_config *config;

    ck_assert_int_eq(setenv("HGI_NAME", "colour", 1), 0);
    config = read_option("v\") option(\"${HGI_NAME}\", \"blue");
    ck_assert_msg(config != NULL, "%s", config_sentence);
    ck_assert_str_eq(config->loaders[0].settings[1].name, "colour");
    ck_assert_str_eq(config->loaders[0].settings[1].value, "blue");
    hgi_config_destroy(&config);
}
END_TEST

START_TEST(a_file_that_others_can_read_or_write_is_refused)
{
    static const mode_t modes[] = {0604, 0602, 0620};
    char value[256];

    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        write_secret("x", modes[i]);
        snprintf(value, sizeof(value), "file:%s", path);
        ck_assert_ptr_null(read_option(value));
        ck_assert_ptr_nonnull(strstr(config_sentence, "can be read or written by others"));
    }
    write_secret("", 0600);
    ck_assert_ptr_null(read_option(value));
    ck_assert_ptr_nonnull(strstr(config_sentence, "is empty"));
    unlink(path);
}
END_TEST

START_TEST(no_secret_is_printed)
{
    struct hgi_config *config;
    char printed[16384] = "";
    char value[256];
    FILE *out = fmemopen(printed, sizeof(printed), "w");

    ck_assert_int_eq(setenv("HGI_SECRET", "s3cret", 1), 0);
    write_secret("s3cret\n", 0600);
    snprintf(value, sizeof(value), "file:%s\") option(\"p\", \"${HGI_SECRET}", path);
    config = read_option(value);
    ck_assert_ptr_nonnull(config);
    ck_assert_str_eq(config->loaders[0].settings[0].value, "s3cret");
    ck_assert_str_eq(config->loaders[0].settings[1].value, "s3cret");
    ck_assert(hgi_config_print(out, config));
    ck_assert_int_eq(fclose(out), 0);
    hgi_config_destroy(&config);
    ck_assert_ptr_null(strstr(printed, "s3cret"));
    ck_assert_ptr_nonnull(strstr(printed, "option(\"p\", \"${HGI_SECRET}\")\n"));
    config = config_read_good(printed);
    ck_assert_str_eq(config->loaders[0].settings[0].value, "s3cret");
    ck_assert_str_eq(config->loaders[0].settings[1].value, "s3cret");
    hgi_config_destroy(&config);
    unlink(path);
}
END_TEST

HGI_SUITE("server.config_secret", 20, a_file_stands_for_what_it_holds, elsewhere_it_is_a_text,
          variables_are_expanded_where_they_stand, variables_are_expanded_in_names_too,
          a_file_that_others_can_read_or_write_is_refused, no_secret_is_printed)
