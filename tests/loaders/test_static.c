/* SPDX-License-Identifier: Apache-2.0 */
#include "child.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PLUGIN HGI_BUILD_DIR "/lib/herdgate/static.so"

static struct child child;
static char path[64];

static const struct hgi_frame_ready *open_tagged(const char *text, size_t len, const char *tags)
{
    struct hgi_frame_setting settings[] = {{hg_slice_text("tags"), hg_slice_text(tags)},
                                           {hg_slice_text("file"), {NULL, 0}}};
    int fd;

    snprintf(path, sizeof(path), "/tmp/herdgate-static-XXXXXX");
    fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, len), (ssize_t)len);
    close(fd);
    settings[1].value = hg_slice_text(path);
    return tags ? child_open(&child, PLUGIN, 2, settings, 2)
                : child_open(&child, PLUGIN, 2, settings + 1, 1);
}

static const struct hgi_frame_ready *open_file(const char *text, size_t len)
{
    return open_tagged(text, len, NULL);
}

static void start(const char *text)
{
    const struct hgi_frame_ready *ready = open_file(text, strlen(text));

    ck_assert_msg(ready->status == HG_OK, "%.*s", (int)ready->message.len,
                  (const char *)ready->message.data);
}

static void finish(void)
{
    child_end(&child);
    unlink(path);
}

static void assert_refused(const char *text, const char *wanted)
{
    const struct hgi_frame_ready *ready = open_file(text, strlen(text));
    char message[HGI_FRAME_MESSAGE_MAX + 1];

    snprintf(message, sizeof(message), "%.*s", (int)ready->message.len,
             (const char *)ready->message.data);
    ck_assert_int_eq(ready->status, HG_FAILED_PRECONDITION);
    ck_assert_ptr_nonnull(strstr(message, path));
    ck_assert_msg(strstr(message, wanted) != NULL, "\"%s\" does not say \"%s\"", message, wanted);
    child_wait(&child);
    child_drop(&child);
    unlink(path);
}

START_TEST(values_are_found_by_their_key)
{
    start("# names\nb\tsecond\n\na\tfirst\nc\tthird and last");
    child_load_bytes(&child, 1, "a", HG_TYPE_BYTES);
    ck_assert_slice_eq(child_done(&child, 1)->value, "first");
    child_load_bytes(&child, 2, "b", HG_TYPE_BYTES);
    ck_assert_slice_eq(child_done(&child, 2)->value, "second");
    child_load_bytes(&child, 3, "c", HG_TYPE_BYTES);
    ck_assert_slice_eq(child_done(&child, 3)->value, "third and last");
    finish();
}
END_TEST

START_TEST(a_key_that_is_not_in_the_file_is_absent)
{
    start("a\tfirst\n");
    child_load_bytes(&child, 1, "aa", HG_TYPE_BYTES);
    ck_assert_int_eq(child_done(&child, 1)->outcome, HG_ABSENT);
    finish();
}
END_TEST

START_TEST(an_empty_file_has_no_keys)
{
    start("");
    child_load_bytes(&child, 1, "a", HG_TYPE_BYTES);
    ck_assert_int_eq(child_done(&child, 1)->outcome, HG_ABSENT);
    finish();
}
END_TEST

START_TEST(every_answer_has_the_tags_of_the_option)
{
    ck_assert_int_eq(open_tagged("a\tfirst\n", 8, "names, v2")->status, HG_OK);
    child_load_bytes(&child, 1, "a", HG_TYPE_BYTES);
    ck_assert_uint_eq(child_done(&child, 1)->tag_count, 2);
    ck_assert_slice_eq(child.frame.u.done.tags[0], "names");
    ck_assert_slice_eq(child.frame.u.done.tags[1], "v2");
    child_load_bytes(&child, 2, "none", HG_TYPE_BYTES);
    ck_assert_uint_eq(child_done(&child, 2)->tag_count, 2);
    finish();
    ck_assert_int_eq(
        open_tagged("a\tfirst\n", 8, "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17")->status,
        HG_FAILED_PRECONDITION);
    child_wait(&child);
    child_drop(&child);
    unlink(path);
}
END_TEST

START_TEST(typed_keys_are_their_parts)
{
    struct hg_key user = {.kind = HG_KEY_USER_API_KEY,
                          .user_id = hg_slice_text("u"),
                          .api_key_id = hg_slice_text("k")};
    struct hg_key feature = {
        .kind = HG_KEY_API_KEY_FEATURE, .api_key_id = hg_slice_text("k"), .is_standalone = true};

    start("u\tk\tpair\n1\t\tk\talone\n");
    child_load(&child, 1, &user, HG_TYPE_BYTES);
    ck_assert_slice_eq(child_done(&child, 1)->value, "pair");
    child_load(&child, 2, &feature, HG_TYPE_BYTES);
    ck_assert_slice_eq(child_done(&child, 2)->value, "alone");
    finish();
}
END_TEST

START_TEST(escapes_stand_for_tab_line_feed_and_backslash)
{
    start("a\\tb\\\\\tone\\ntwo\\t\\\\\n");
    child_load_bytes(&child, 1, "a\tb\\", HG_TYPE_BYTES);
    ck_assert_slice_eq(child_done(&child, 1)->value, "one\ntwo\t\\");
    finish();
}
END_TEST

START_TEST(the_longest_key_of_escapes_fits)
{
    char key[HG_KEY_MAX + 1];

    memset(key, '\t', HG_KEY_MAX);
    key[HG_KEY_MAX] = '\0';
    start("a\tfirst\n");
    child_load_bytes(&child, 1, key, HG_TYPE_BYTES);
    ck_assert_int_eq(child_done(&child, 1)->outcome, HG_ABSENT);
    finish();
}
END_TEST

START_TEST(a_json_cache_gets_checked_json)
{
    start("good\t[1,2]\nbad\t[1,\n");
    child_load_bytes(&child, 1, "good", HG_TYPE_JSON);
    ck_assert_slice_eq(child_done(&child, 1)->value, "[1,2]");
    child_load_bytes(&child, 2, "bad", HG_TYPE_JSON);
    ck_assert_int_eq(child_done(&child, 2)->status, HG_INTERNAL);
    finish();
}
END_TEST

START_TEST(an_auth_cache_is_refused)
{
    start("a\tfirst\n");
    child_load_bytes(&child, 1, "a", HG_TYPE_AUTH);
    ck_assert_int_eq(child_done(&child, 1)->status, HG_INVALID_ARGUMENT);
    finish();
}
END_TEST

START_TEST(bad_lines_are_refused_with_their_number)
{
    assert_refused("a\tfirst\nno tab here\n", ":2: the line has no tab");
    assert_refused("\tvalue\n", ":1: the line has an empty key");
    assert_refused("a\t\\x\n", ":1: the line has a backslash");
    assert_refused("a\tb\\\n", ":1: the line has a backslash");
    assert_refused("a\t1\nb\t2\na\t3\n", "have the same key");
}
END_TEST

START_TEST(a_missing_file_is_named)
{
    struct hgi_frame_setting setting = {hg_slice_text("file"), hg_slice_text("/nonexistent/x")};
    const struct hgi_frame_ready *ready = child_open(&child, PLUGIN, 1, &setting, 1);

    ck_assert_int_eq(ready->status, HG_FAILED_PRECONDITION);
    ck_assert_slice_eq(ready->message,
                       "option \"file\": /nonexistent/x: No such file or directory");
    child_wait(&child);
    child_drop(&child);
}
END_TEST

HGI_SUITE("loaders.static", 60, values_are_found_by_their_key,
          a_key_that_is_not_in_the_file_is_absent, an_empty_file_has_no_keys,
          every_answer_has_the_tags_of_the_option, typed_keys_are_their_parts,
          escapes_stand_for_tab_line_feed_and_backslash, the_longest_key_of_escapes_fits,
          a_json_cache_gets_checked_json, an_auth_cache_is_refused,
          bad_lines_are_refused_with_their_number, a_missing_file_is_named)
