/* SPDX-License-Identifier: Apache-2.0 */
/* What the child hands its plugin of an old value, and what the plugin may say of it. */
#include <stdio.h>

#include "child.h"
#include "hg_script.h"

static struct hgi_script script;
static struct child child;

static void start(const char *control)
{
    struct hgi_frame_setting setting = {hg_slice_text("control"), {NULL, 0}};
    const struct hgi_frame_ready *ready;

    hgi_script_open(&script);
    hgi_script_set(&script, control);
    setting.value = hg_slice_text(script.control);
    ready = child_open(&child, HGI_SCRIPT_PLUGIN, 1, &setting, 1);
    ck_assert_int_eq(ready->status, HG_OK);
    ck_assert(ready->wants_old);
}

static void finish(void)
{
    child_end(&child);
    hgi_script_close(&script);
}

static const struct hgi_frame_done *refresh(uint64_t id, const char *key, enum hg_value_type type,
                                            const char *old_value, const char *etag)
{
    struct hg_key typed = {.kind = HG_KEY_BYTES, .bytes = hg_slice_text(key)};

    child_load_old(&child, id, &typed, type, old_value, etag);
    return child_done(&child, id);
}

static void assert_error(const struct hgi_frame_done *done, const char *wanted)
{
    ck_assert_int_eq(done->status, HG_INTERNAL);
    ck_assert_slice_eq(done->message, wanted);
}

START_TEST(the_old_value_and_its_etag_arrive)
{
    start("* old\n");
    ck_assert_slice_eq(refresh(1, "k", HG_TYPE_BYTES, "old", "v1")->value, "old|v1");
    ck_assert_slice_eq(refresh(2, "k", HG_TYPE_BYTES, "", "")->value, "|");
    child_load_bytes(&child, 3, "k", HG_TYPE_BYTES);
    ck_assert_slice_eq(child_done(&child, 3)->value, "nothing");
    finish();
}
END_TEST

START_TEST(an_etag_comes_back_with_its_value)
{
    const struct hgi_frame_done *done;

    start("* version v2 new\n");
    done = refresh(1, "k", HG_TYPE_BYTES, "old", "v1");
    ck_assert_slice_eq(done->value, "new");
    ck_assert_slice_eq(done->etag, "v2");
    ck_assert(!done->is_unchanged);
    finish();
}
END_TEST

START_TEST(unchanged_has_lifetimes_and_no_value_in_caches_of_every_type)
{
    static const enum hg_value_type types[] = {HG_TYPE_BYTES, HG_TYPE_JSON, HG_TYPE_AUTH};

    start("* ttl 5\n* stale_ttl 6\n* expires 7\n* tags red\n* etag v9\n* unchanged\n");
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        const struct hgi_frame_done *done = refresh(i + 1, "k", types[i], "old", "v1");

        ck_assert_int_eq(done->status, HG_OK);
        ck_assert_int_eq(done->outcome, HG_VALUE);
        ck_assert(done->is_unchanged);
        ck_assert_uint_eq(done->value.len, 0);
        ck_assert_int_eq(done->ttl_ms, 5);
        ck_assert_int_eq(done->stale_ttl_ms, 6);
        ck_assert_int_eq(done->expires_at_ms, 7);
        ck_assert_uint_eq(done->tag_count, 0); /* it keeps its own */
        ck_assert_uint_eq(done->etag.len, 0);
    }
    finish();
}
END_TEST

START_TEST(unchanged_of_nothing_is_an_error)
{
    start("* unchanged\n");
    child_load_bytes(&child, 1, "k", HG_TYPE_BYTES);
    assert_error(child_done(&child, 1),
                 "the loader said \"unchanged\" of a value it was not given");
    finish();
}
END_TEST

START_TEST(unchanged_and_not_to_be_kept_is_an_error)
{
    start("* no_store\n* unchanged\n");
    assert_error(refresh(1, "k", HG_TYPE_BYTES, "old", "v1"),
                 "the loader said \"unchanged\" and no_store at once");
    finish();
}
END_TEST

START_TEST(an_etag_past_its_bound_is_an_error)
{
    char control[HG_ETAG_MAX + 32] = "long etag ";
    size_t len = strlen(control);

    memset(control + len, 'e', HG_ETAG_MAX);
    start(control);
    child_load_bytes(&child, 1, "long", HG_TYPE_BYTES);
    ck_assert_uint_eq(child_done(&child, 1)->etag.len, HG_ETAG_MAX);
    control[len + HG_ETAG_MAX] = 'e';
    hgi_script_set(&script, control);
    child_load_bytes(&child, 2, "long", HG_TYPE_BYTES);
    assert_error(child_done(&child, 2), "the loader gave an etag of 256 bytes; at most 255 are "
                                        "allowed");
    finish();
}
END_TEST

HGI_SUITE("loaders.revalidate", 60, the_old_value_and_its_etag_arrive,
          an_etag_comes_back_with_its_value,
          unchanged_has_lifetimes_and_no_value_in_caches_of_every_type,
          unchanged_of_nothing_is_an_error, unchanged_and_not_to_be_kept_is_an_error,
          an_etag_past_its_bound_is_an_error)
