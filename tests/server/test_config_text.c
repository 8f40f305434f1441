/* SPDX-License-Identifier: Apache-2.0 */
/* The grammar of the file, and where it was broken. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "config_scene.h"

START_TEST(a_section_that_is_not_closed_is_named_by_its_line)
{
    config_refused(SMALL "snapshot {\n path = \"/x\"\n",
                   ":3: the section snapshot that begins here is not closed; end it with }");
    config_refused(
        SMALL
        "log_level = info\nloader \"d\" {\n plugin = \"a\"\ncache \"e\" { key = \"bytes\" }\n",
        ":4: the section loader that begins here is not closed; end it with }");
    config_refused(SMALL "}\n", ":3: this } closes nothing; take it out");
}
END_TEST

START_TEST(a_text_or_a_comment_that_is_not_closed_is_named_by_its_line)
{
    config_refused(SMALL "runtime_dir = \"/x\n\n",
                   ":3: the text that begins here is not closed; end it with \"");
    config_refused(SMALL "runtime_dir = '/x\\'\n",
                   ":3: the text that begins here is not closed; end it with '");
    config_refused(SMALL "/*/ not yet\n",
                   ":3: the comment that begins here is not closed; end it with */");
    /* libconfuse would now still be inside a string: the next file is read from its beginning. */
    struct hgi_config *config = config_read_good(SMALL);
    hgi_config_destroy(&config);
}
END_TEST

START_TEST(comments_do_not_move_the_lines)
{
    config_refused("/* one\n two */ # three } \"\n//four {\n/* a */ /* b */\n" SMALL
                   "log_level = \"x\"",
                   ":7: log_level = \"x\" is no known word; write error, warn, info or debug");
}
END_TEST

START_TEST(environment_variables_are_expanded_if_they_are_set)
{
    struct hgi_config *config;

    ck_assert_int_eq(setenv("HG_TEST_DIR", "/set", 1), 0);
    ck_assert_int_eq(unsetenv("HG_TEST_NONE"), 0);
    config = config_read_good(SMALL "runtime_dir = \"${HG_TEST_DIR}/run\"\n"
                                    "plugin_dir = \"${HG_TEST_NONE:-/default}\"\n"
                                    "loader \"d\" { plugin = \"a\" option('q', '${HG_TEST_NONE}') "
                                    "option(\"r\", \"\\${HG_TEST_NONE}\") }");
    ck_assert_str_eq(config->runtime_dir, "/set/run");
    ck_assert_str_eq(config->plugin_dir, "/default");
    ck_assert_str_eq(config->loaders[0].settings[0].value, "${HG_TEST_NONE}");
    ck_assert_str_eq(config->loaders[0].settings[1].value, "${HG_TEST_NONE}");
    hgi_config_destroy(&config);
    config_refused(SMALL "runtime_dir = \"${HG_TEST_NONE}/run\"\n",
                   ":3: the environment variable HG_TEST_NONE is not set; set it, or write "
                   "${HG_TEST_NONE:-a default}");
    config_refused(SMALL "runtime_dir = \"${HG_TEST_DIR\"\n",
                   ":3: \"${\" is not closed; write ${NAME}");
    config_refused(SMALL "runtime_dir = ${HG_TEST_DIR}\n",
                   ":3: write an environment variable inside quotes: \"${NAME}\"");
}
END_TEST

START_TEST(stray_characters_are_not_skipped)
{
    config_refused(SMALL "log_level = *info\n",
                   ":3: a character of code 0x2a does not belong here; put texts in quotes");
    config_refused(SMALL "log_level = + info\n",
                   ":3: a character of code 0x2b does not belong here; put texts in quotes");
}
END_TEST

START_TEST(what_is_quoted_from_the_file_stays_on_one_line)
{
    config_refused(SMALL "log_level = \"in\nfo\"\n",
                   ":4: log_level = \"in?fo\" is no known word; write error, warn, info or debug");
}
END_TEST

START_TEST(grammar_faults_have_their_line)
{
    config_refused(SMALL "\nlog_level \"info\"\n",
                   ":4: log_level needs a value; write log_level = \"value\"");
    config_refused(SMALL "cache { key = \"bytes\" }\n",
                   ":3: a cache section needs a name; write cache \"name\" { ... }");
    config_refused(
        SMALL "loader \"d\" {\n option(\"a\") }\n",
        ":4: loader \"d\": option takes a name and a value; write option(\"name\", \"value\")");
    config_refused(SMALL "log_level =\n",
                   ":4: the file ends where a value belongs; write such as name = \"value\"");
    config_refused(
        SMALL "insert(\"/etc/passwd\")\n",
        ":3: there is no option \"insert\"; what may stand here: runtime_dir, plugin_dir, "
        "loader_program, local_group, log_level, log_format, peers, plugin_owners, core_dumps, "
        "key_file, "
        "tokens_file, listen, principal, loader, cache, http, authz, limits, "
        "snapshot");
}
END_TEST

/* Writes a file beside the configuration; its path in ret_path. */
static void write_beside(const char *name, const char *text, char ret_path[96])
{
    FILE *file;

    snprintf(ret_path, 96, "/tmp/hgi-config-%d-%s", (int)getpid(), name);
    file = fopen(ret_path, "we");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
}

START_TEST(an_included_file_stands_where_it_is_named)
{
    struct hgi_config *config;
    char inner[96];
    char outer[96];
    char text[512];

    write_beside("inner",
                 "/* no end of line */ cache \"inner\" { key = \"bytes\" value = \"bytes\" }",
                 inner);
    snprintf(text, sizeof(text),
             "include(\"%s\") # beside it\ncache \"outer\" { key = \"bytes\" value = \"json\" }\n",
             strrchr(inner, '/') + 1);
    write_beside("outer", text, outer);
    snprintf(text, sizeof(text),
             SMALL "include(\"%s\") cache \"last\" { key = \"bytes\" value = \"bytes\" }\n", outer);
    config = config_read_good(text);
    ck_assert_uint_eq(config->cache_count, 4);
    ck_assert_str_eq(config->caches[1].name, "inner");
    ck_assert_str_eq(config->caches[2].name, "outer");
    ck_assert_str_eq(config->caches[3].name, "last");
    hgi_config_destroy(&config);
    unlink(inner);
    unlink(outer);
}
END_TEST

START_TEST(a_file_that_includes_itself_comes_to_an_end)
{
    char path[96];
    char text[512];

    write_beside("self", "", path);
    snprintf(text, sizeof(text), "\ninclude(\"%s\")\n", path);
    write_beside("self", text, path);
    ck_assert_ptr_null(config_read_text(text));
    ck_assert_ptr_nonnull(
        strstr(config_sentence, ":2: more than 63 files are included; does one include itself?"));
    unlink(path);
}
END_TEST

START_TEST(what_is_wrong_in_an_included_file_is_said_of_it)
{
    char path[96];
    char text[512];
    char expected[512];

    write_beside("wrong", "\n\ncache \"d\" { key = \"bytes\"\n value = \"bytes\" ttl = \"x\" }\n",
                 path);
    snprintf(text, sizeof(text), SMALL "include(\"%s\")\n", path);
    ck_assert_ptr_null(config_read_text(text));
    snprintf(expected, sizeof(expected), "%s:4: cache \"d\": ttl = \"x\" is not understood", path);
    ck_assert_ptr_nonnull(strstr(config_sentence, expected));
    /* Also of what stands behind it, and where something is twice. */
    write_beside("wrong", "\n\ncache \"d\" { key = \"bytes\" value = \"bytes\" }\n", path);
    snprintf(expected, sizeof(expected),
             ":5: cache \"d\" is there already, in %s:3; give one another name", path);
    snprintf(text, sizeof(text), SMALL "include(\"%s\")\n\ncache \"d\" { }\n", path);
    config_refused(text, expected);
    unlink(path);
}
END_TEST

HGI_SUITE("server.config_text", 20, a_section_that_is_not_closed_is_named_by_its_line,
          a_text_or_a_comment_that_is_not_closed_is_named_by_its_line,
          comments_do_not_move_the_lines, environment_variables_are_expanded_if_they_are_set,
          stray_characters_are_not_skipped, what_is_quoted_from_the_file_stays_on_one_line,
          grammar_faults_have_their_line, an_included_file_stands_where_it_is_named,
          a_file_that_includes_itself_comes_to_an_end,
          what_is_wrong_in_an_included_file_is_said_of_it)
