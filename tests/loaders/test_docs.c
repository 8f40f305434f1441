/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin of docs/LOADERS.md does what the page says. */
#include "child.h"

#define PLUGIN HGI_BUILD_DIR "/tests/loaders/plugins/shout.so"

static struct child child;

START_TEST(the_plugin_of_the_page_answers_as_it_says)
{
    struct hgi_frame_setting mark = {hg_slice_text("mark"), hg_slice_text("!")};
    const struct hgi_frame_ready *ready = child_open(&child, PLUGIN, 4, &mark, 1);

    ck_assert_int_eq(ready->status, HG_OK);
    ck_assert_slice_eq(ready->name, "shout");
    ck_assert_int_eq(child_read(&child)->kind, HGI_FRAME_LOG);
    child_load_bytes(&child, 1, "hello", HG_TYPE_BYTES);
    ck_assert_slice_eq(child_done(&child, 1)->value, "HELLO!");
    ck_assert_int_eq(child.frame.u.done.ttl_ms, 5000);
    child_load_bytes(&child, 2, "?", HG_TYPE_BYTES);
    ck_assert_int_eq(child_done(&child, 2)->outcome, HG_ABSENT);
    child_end(&child);
}
END_TEST

START_TEST(the_plugin_of_the_page_refuses_a_long_mark)
{
    struct hgi_frame_setting mark = {hg_slice_text("mark"), hg_slice_text("!!!!!!!!!")};
    const struct hgi_frame_ready *ready = child_open(&child, PLUGIN, 1, &mark, 1);

    ck_assert_int_eq(ready->status, HG_INVALID_ARGUMENT);
    ck_assert_slice_eq(ready->message, "option \"mark\" is longer than 8 characters");
    child_wait(&child);
    child_drop(&child);
}
END_TEST

HGI_SUITE("loaders.docs", 60, the_plugin_of_the_page_answers_as_it_says,
          the_plugin_of_the_page_refuses_a_long_mark)
