/* SPDX-License-Identifier: Apache-2.0 */
#include "hg_test.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

#define TRACE_ID "4bf92f3577b34da6a3ce929d0e0e4736"

static const struct hgi_log_subject subject = {
    .cache = "auth",
    .has_key = true,
    .key_hash = 0x1234,
    .trace_id = {TRACE_ID, 32},
};
/* What an attacker would like the log to say, and a terminal to do: lines, an escape, a C1 control,
 * a cut character, one longer than need be, a surrogate; then what is harmless. */
static const char hostile[] =
    "a\nerror: b\r\x1b[2J\x7f \xc2\x9b \xe2\x82 \xc0\xaf \xed\xa0\x80 \"\\ "
    "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x90\x91";

static char text[8192];
static int kept_fd = -1;
static FILE *file;

/* Stderr is a file until heard() has read it. Other tests may have run in this process. */
static void listen(void)
{
    hgi_log_set_level(HG_LOG_INFO);
    hgi_log_set_format(HGI_LOG_TEXT);
    file = tmpfile();
    ck_assert_ptr_nonnull(file);
    kept_fd = dup(STDERR_FILENO);
    ck_assert_int_ge(dup2(fileno(file), STDERR_FILENO), 0);
}

static const char *heard(void)
{
    size_t len;

    ck_assert_int_ge(dup2(kept_fd, STDERR_FILENO), 0);
    close(kept_fd);
    rewind(file);
    len = fread(text, 1, sizeof(text) - 1, file);
    text[len] = '\0';
    fclose(file);
    return text;
}

START_TEST(a_line_of_text_begins_with_its_level)
{
    listen();
    hgi_log(HG_LOG_WARN, "loader %s: %d loads", "keys", 3);
    ck_assert_str_eq(heard(), "warn: loader keys: 3 loads\n");
}
END_TEST

START_TEST(what_is_above_the_level_is_not_written)
{
    listen();
    hgi_log(HG_LOG_DEBUG, "too much");
    hgi_log_set_level(HG_LOG_WARN);
    hgi_log(HG_LOG_INFO, "too much now");
    hgi_log(HG_LOG_WARN, "this");
    hgi_log_set_level(HG_LOG_DEBUG);
    hgi_log(HG_LOG_DEBUG, "and this");
    ck_assert_str_eq(heard(), "warn: this\ndebug: and this\n");
}
END_TEST

START_TEST(what_a_line_is_about_stands_behind_it)
{
    listen();
    hgi_log_about(HG_LOG_INFO, &subject, "slow");
    ck_assert_str_eq(heard(),
                     "info: slow cache=auth key_hash=0000000000001234 trace_id=" TRACE_ID "\n");
}
END_TEST

START_TEST(a_line_of_json_is_an_object)
{
    double seconds = 0;
    json_t *line;
    const char *ts;

    listen();
    hgi_log_set_format(HGI_LOG_JSON);
    hgi_log_about(HG_LOG_ERROR, &subject, "slow: \"%s\"", "\\");
    line = json_loads(heard(), 0, NULL);
    ck_assert_ptr_nonnull(line);
    ck_assert_uint_eq(json_object_size(line), 6);
    ck_assert_str_eq(json_string_value(json_object_get(line, "level")), "error");
    ck_assert_str_eq(json_string_value(json_object_get(line, "msg")), "slow: \"\\\"");
    ck_assert_str_eq(json_string_value(json_object_get(line, "cache")), "auth");
    ck_assert_str_eq(json_string_value(json_object_get(line, "key_hash")), "0000000000001234");
    ck_assert_str_eq(json_string_value(json_object_get(line, "trace_id")), TRACE_ID);
    ts = json_string_value(json_object_get(line, "ts"));
    ck_assert_uint_eq(strlen(ts), strlen("2026-12-01T03:05:58.123Z"));
    ck_assert_int_eq(sscanf(ts, "2%*3d-%*2d-%*2dT%*2d:%*2d:%lfZ", &seconds), 1);
    ck_assert(seconds >= 0 && seconds < 61);
    json_decref(line);
}
END_TEST

START_TEST(what_a_line_is_not_about_is_not_there)
{
    json_t *line;

    listen();
    hgi_log_set_format(HGI_LOG_JSON);
    hgi_log(HG_LOG_INFO, "ready");
    line = json_loads(heard(), 0, NULL);
    ck_assert_ptr_nonnull(line);
    ck_assert_uint_eq(json_object_size(line), 3);
    json_decref(line);
}
END_TEST

START_TEST(nothing_in_a_message_begins_another_line_or_steers_a_terminal)
{
    static const char clean[] =
        "a?error: b??[2J? ?? ?? ?? ??? \"\\ gr\xc3\xbc\xc3\x9f \xe2\x82\xac "
        "\xf0\x9f\x90\x91";
    char expected[256];
    json_t *line;

    listen();
    hgi_log(HG_LOG_INFO, "%s", hostile);
    snprintf(expected, sizeof(expected), "info: %s\n", clean);
    ck_assert_str_eq(heard(), expected);
    listen();
    hgi_log_set_format(HGI_LOG_JSON);
    hgi_log(HG_LOG_INFO, "%s", hostile);
    line = json_loads(heard(), 0, NULL);
    ck_assert_ptr_nonnull(line);
    ck_assert_ptr_eq(strchr(text, '\n'), text + strlen(text) - 1);
    ck_assert_str_eq(json_string_value(json_object_get(line, "msg")), clean);
    json_decref(line);
}
END_TEST

START_TEST(a_long_message_is_cut_and_the_line_stays_whole)
{
    char message[5000];
    json_t *line;

    memset(message, '"', sizeof(message));
    message[sizeof(message) - 1] = '\0';
    listen();
    hgi_log_set_format(HGI_LOG_JSON);
    hgi_log_about(HG_LOG_INFO, &subject, "%s", message);
    line = json_loads(heard(), 0, NULL);
    ck_assert_ptr_nonnull(line);
    ck_assert_uint_eq(json_string_length(json_object_get(line, "msg")), 1023);
    ck_assert_ptr_nonnull(json_object_get(line, "trace_id"));
    json_decref(line);
}
END_TEST

/* As the service manager says it: the device and inode of the stream it has given. */
static void set_journal(int fd, unsigned add)
{
    struct stat found;
    char stream[64];

    ck_assert_int_eq(fstat(fd, &found), 0);
    snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long)found.st_dev,
             (unsigned long long)found.st_ino + add);
    ck_assert_int_eq(setenv("JOURNAL_STREAM", stream, 1), 0);
}

START_TEST(the_journal_is_told_the_priority)
{
    listen();
    set_journal(STDERR_FILENO, 0);
    hgi_log_look_for_journal();
    hgi_log_set_level(HG_LOG_DEBUG);
    for (int level = HG_LOG_ERROR; level <= HG_LOG_DEBUG; level++) {
        hgi_log((enum hg_log_level)level, "x");
    }
    ck_assert_str_eq(heard(), "<3>error: x\n<4>warn: x\n<6>info: x\n<7>debug: x\n");
}
END_TEST

START_TEST(somebody_elses_stream_is_not)
{
    listen();
    set_journal(STDERR_FILENO, 1);
    hgi_log_look_for_journal();
    ck_assert_int_eq(setenv("JOURNAL_STREAM", "nonsense", 1), 0);
    hgi_log_look_for_journal();
    unsetenv("JOURNAL_STREAM");
    hgi_log_look_for_journal();
    hgi_log(HG_LOG_INFO, "x");
    ck_assert_str_eq(heard(), "info: x\n");
}
END_TEST

HGI_SUITE("base.log", 20, a_line_of_text_begins_with_its_level,
          what_is_above_the_level_is_not_written, what_a_line_is_about_stands_behind_it,
          a_line_of_json_is_an_object, what_a_line_is_not_about_is_not_there,
          nothing_in_a_message_begins_another_line_or_steers_a_terminal,
          a_long_message_is_cut_and_the_line_stays_whole, the_journal_is_told_the_priority,
          somebody_elses_stream_is_not)
