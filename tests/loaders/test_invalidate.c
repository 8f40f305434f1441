/* SPDX-License-Identifier: Apache-2.0 */
/* What a plugin says is no longer so, as the child tells it to the server. */
#include "child.h"

#include <stdio.h>

#include "hg_script.h"

static struct hgi_script script;
static struct child child;

static const struct hgi_frame_ready *start(const char *control)
{
    struct hgi_frame_setting setting = {.name = hg_slice_text("control")};

    hgi_script_open(&script);
    hgi_script_set(&script, control);
    setting.value = hg_slice_text(script.control);
    return child_open(&child, HGI_SCRIPT_PLUGIN, 1, &setting, 1);
}

static void finish(void)
{
    child_end(&child);
    hgi_script_close(&script);
}

/* What the load of this key makes the plugin say, before its answer. */
static const struct hgi_frame_invalidate *said(uint64_t id, const char *key)
{
    child_load_bytes(&child, id, key, HG_TYPE_BYTES);
    ck_assert_int_eq(child_read(&child)->kind, HGI_FRAME_INVALIDATE);
    return &child.frame.u.invalidate;
}

static void assert_key(struct hg_slice canonical, enum hg_key_kind kind, const char *first)
{
    struct hg_key key;

    ck_assert(hgi_key_decode(canonical, &key));
    ck_assert_int_eq(key.kind, kind);
    ck_assert_slice_eq(kind == HG_KEY_BYTES ? key.bytes : key.user_id, first);
}

START_TEST(what_is_invalidated_comes_in_front_of_the_answer)
{
    const struct hgi_frame_invalidate *what;

    ck_assert(!start("key invalidate key k\ntyped invalidate key ann/k1 auth\n"
                     "tag invalidate tag red\nuser invalidate user ann c\nall invalidate all\n")
                   ->invalidates);
    what = said(1, "key");
    ck_assert_int_eq(what->what, HG_INVALIDATED_KEY);
    assert_key(what->key, HG_KEY_BYTES, "k");
    ck_assert_uint_eq(what->cache.len, 0);
    ck_assert_slice_eq(child_done(&child, 1)->value, "key");
    what = said(2, "typed");
    assert_key(what->key, HG_KEY_USER_API_KEY, "ann");
    ck_assert_slice_eq(what->cache, "auth");
    child_done(&child, 2);
    what = said(3, "tag");
    ck_assert_int_eq(what->what, HG_INVALIDATED_TAG);
    ck_assert_slice_eq(what->name, "red");
    child_done(&child, 3);
    what = said(4, "user");
    ck_assert_int_eq(what->what, HG_INVALIDATED_USER);
    ck_assert_slice_eq(what->name, "ann");
    ck_assert_slice_eq(what->cache, "c");
    child_done(&child, 4);
    ck_assert_int_eq(said(5, "all")->what, HG_INVALIDATED_ALL);
    child_done(&child, 5);
    finish();
}
END_TEST

START_TEST(what_cannot_be_invalidated_is_refused_by_the_host)
{
    start("nothing invalidate none x\nnokey invalidate key -\nnotag invalidate tag -\n");
    for (uint64_t id = 1; id <= 3; id++) {
        static const char *const keys[] = {"", "nothing", "nokey", "notag"};

        child_load_bytes(&child, id, keys[id], HG_TYPE_BYTES);
        ck_assert_int_eq(child_done(&child, id)->status, HG_INVALID_ARGUMENT);
    }
    finish();
}
END_TEST

START_TEST(what_open_invalidates_is_told_by_ready)
{
    ck_assert(start("@open invalidate key k\n@open invalidate tag t\n")->invalidates);
    child_load_bytes(&child, 1, "k", HG_TYPE_BYTES);
    child_done(&child, 1); /* and nothing is told twice */
    finish();
}
END_TEST

START_TEST(a_server_says_no_such_thing)
{
    struct hgi_frame frame = {.kind = HGI_FRAME_INVALIDATE,
                              .u.invalidate = {.what = HG_INVALIDATED_ALL}};

    start("");
    child_send(&child, &frame);
    ck_assert_int_ne(child_wait(&child), 0);
    child_drop(&child);
    hgi_script_close(&script);
}
END_TEST

HGI_SUITE("loaders.invalidate", 60, what_is_invalidated_comes_in_front_of_the_answer,
          what_cannot_be_invalidated_is_refused_by_the_host, what_open_invalidates_is_told_by_ready,
          a_server_says_no_such_thing)
