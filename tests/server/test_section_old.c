/* SPDX-License-Identifier: Apache-2.0 */
/* Old values on their way to a child: to one that wants them, and as far as there is room. */
#include <stdlib.h>

#include "notebook.h"
#include "server/loader/child.h"

START_TEST(a_plugin_that_can_revalidate_is_given_the_old_value)
{
    start(1, 64, "a old\nb unchanged\nc version v2 new\nd version v1 new\n");
    load_old(1, "a", hg_slice_text("the old value"), "v1");
    assert_value(1, "the old value|v1");
    load(2, "a");
    assert_value(2, "nothing");
    load_old(3, "b", hg_slice_of(NULL, 0), ""); /* an empty value is one */
    assert_value(3, "");
    ck_assert(await(3, is_ended)->is_unchanged);
    load_old(4, "c", hg_slice_text("old"), "v1");
    assert_value(4, "new");
    ck_assert(!await(4, is_ended)->is_unchanged);
    load_old(5, "d", hg_slice_text("old"), "v1");
    assert_value(5, "");
    ck_assert(await(5, is_ended)->is_unchanged);
    finish(5);
}
END_TEST

START_TEST(one_that_cannot_is_given_none)
{
    prepare(1, 64, "a old\nb unchanged\n");
    configs[0].plugin = HGI_SCRIPT_PLAIN_PLUGIN;
    begin();
    load_old(1, "a", hg_slice_text("old"), "v1");
    assert_value(1, "nothing");
    load_old(2, "b", hg_slice_text("old"), "v1");
    assert_failed(2, HG_INTERNAL, "the loader said \"unchanged\" of a value it was not given");
    finish(2);
}
END_TEST

/* Several loads share a frame, and its room for old values. */
START_TEST(what_does_not_fit_a_frame_goes_without_its_old_value)
{
    size_t size = HGI_CHILD_OLD_MAX_BYTES / 2 + 1;
    char *bytes = malloc(size);

    ck_assert_ptr_nonnull(bytes);
    memset(bytes, 'x', size);
    prepare(1, 64, "held gate %/go\n* old\n");
    configs[0].plugin = HGI_SCRIPT_BATCH_PLUGIN;
    begin();
    load(1, "held");
    hgi_script_await(&script, "held", 1);
    load_old(2, "k2", hg_slice_of(bytes, size), "v1");
    load_old(3, "k3", hg_slice_of(bytes, size), "v1");
    load_old(4, "k4", hg_slice_text("small"), "v1");
    hgi_script_touch(&script, "go");
    ck_assert_int_eq(await(2, is_ended)->value[0], 'x');
    assert_value(3, "nothing");
    assert_value(4, "small|v1");
    ck_assert_uint_eq(hgi_script_loads(&script, "@batch 3"), 1);
    free(bytes);
    finish(4);
}
END_TEST

HGI_SUITE("server.section_old", 60, a_plugin_that_can_revalidate_is_given_the_old_value,
          one_that_cannot_is_given_none, what_does_not_fit_a_frame_goes_without_its_old_value)
