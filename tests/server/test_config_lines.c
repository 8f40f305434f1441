/* SPDX-License-Identifier: Apache-2.0 */
#include "hg_test.h"

#include "server/config_lines.h"

static struct hgi_config_lines lines;
static char text[128];

static const char *say(int line)
{
    hgi_config_lines_say(&lines, line, text, sizeof(text));
    return text;
}

START_TEST(a_line_of_one_file_is_its_own)
{
    ck_assert(hgi_config_lines_open(&lines, "a.conf", 3));
    ck_assert_str_eq(say(0), "a.conf");
    ck_assert_str_eq(say(1), "a.conf:1");
    ck_assert_str_eq(say(3), "a.conf:3");
    ck_assert_str_eq(say(99), "a.conf:3"); /* the end of the text may be counted one on */
    hgi_config_lines_close(&lines);
}
END_TEST

START_TEST(inserted_lines_are_of_their_file_and_the_rest_as_before)
{
    ck_assert(hgi_config_lines_open(&lines, "a.conf", 3));
    ck_assert(hgi_config_lines_insert(&lines, 2, "b.conf", 2));
    ck_assert(hgi_config_lines_insert(&lines, 4, "c.conf", 1));
    /* a1 a2 b1 b2 c1 b2 a2 a3 */
    ck_assert_uint_eq(lines.count, 8);
    ck_assert_str_eq(say(2), "a.conf:2");
    ck_assert_str_eq(say(3), "b.conf:1");
    ck_assert_str_eq(say(5), "c.conf:1");
    ck_assert_str_eq(say(6), "b.conf:2");
    ck_assert_str_eq(say(7), "a.conf:2");
    ck_assert_str_eq(say(8), "a.conf:3");
    hgi_config_lines_refer(&lines, 8, 1, text, sizeof(text));
    ck_assert_str_eq(text, "on line 1");
    hgi_config_lines_refer(&lines, 8, 5, text, sizeof(text));
    ck_assert_str_eq(text, "in c.conf:1");
    hgi_config_lines_close(&lines);
}
END_TEST

START_TEST(there_are_only_so_many_files)
{
    ck_assert(hgi_config_lines_open(&lines, "a.conf", 1));
    for (unsigned i = 1; i < HGI_CONFIG_FILES_MAX; i++) {
        ck_assert(hgi_config_lines_insert(&lines, 1, "b.conf", 1));
    }
    ck_assert(!hgi_config_lines_insert(&lines, 1, "b.conf", 1));
    ck_assert_str_eq(say(1), "a.conf:1");
    hgi_config_lines_close(&lines);
}
END_TEST

START_TEST(what_no_file_says_is_of_who_says_it)
{
    int first = 0;
    int second = 0;

    ck_assert(hgi_config_lines_open(&lines, "a.conf", 3));
    ck_assert(hgi_config_lines_add(&lines, "--set x=1", &first));
    ck_assert(hgi_config_lines_add(&lines, "HERDGATED_Y", &second));
    ck_assert_str_eq(say(first), "--set x=1");
    ck_assert_str_eq(say(second), "HERDGATED_Y");
    ck_assert_uint_eq(hgi_config_lines_at(&lines, first).file, 0);
    hgi_config_lines_refer(&lines, 2, first, text, sizeof(text));
    ck_assert_str_eq(text, "by --set x=1");
    hgi_config_lines_refer(&lines, second, 2, text, sizeof(text));
    ck_assert_str_eq(text, "in a.conf:2");
    hgi_config_lines_close(&lines);
}
END_TEST

HGI_SUITE("server.config_lines", 20, a_line_of_one_file_is_its_own,
          inserted_lines_are_of_their_file_and_the_rest_as_before, there_are_only_so_many_files,
          what_no_file_says_is_of_who_says_it)
