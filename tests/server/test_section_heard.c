/* SPDX-License-Identifier: Apache-2.0 */
/* What a loader says is no longer so, up to whoever carries it out. */
#include <stdio.h>

#include "notebook.h"
#include "proto/frame.h"
#include "server/loader/section.h"

struct heard {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    unsigned keys;
    unsigned everything;
    unsigned others;
    char loader[64];
    char last[TEXT_MAX];
};

static struct heard heard;

static bool hear(void *context, const char *loader, const struct hgi_frame_invalidate *what,
                 const struct hgi_now *now)
{
    struct heard *h = context;

    (void)now;
    pthread_mutex_lock(&h->mutex);
    h->keys += what->what == HG_INVALIDATED_KEY;
    h->everything += what->what == HG_INVALIDATED_ALL;
    h->others += what->what == HG_INVALIDATED_TAG || what->what == HG_INVALIDATED_USER;
    snprintf(h->loader, sizeof(h->loader), "%s", loader);
    snprintf(h->last, sizeof(h->last), "%.*s", (int)what->name.len,
             what->name.len ? (const char *)what->name.data : "");
    pthread_cond_broadcast(&h->changed);
    pthread_mutex_unlock(&h->mutex);
    return what->cache.len == 0;
}

static void listen(void)
{
    const struct hgi_hearer hearer = {hear, &heard};

    hgi_supervisor_hear(supervisor, &hearer);
}

static void begin_deaf(const char *control)
{
    heard = (struct heard){.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    start(1, 8, control);
}

/* Invalidations come before the answer of the load that made them. */
static struct heard heard_with(uint64_t id, const char *key)
{
    struct heard copy;

    load(id, key);
    assert_value(id, key);
    pthread_mutex_lock(&heard.mutex);
    copy = heard;
    pthread_mutex_unlock(&heard.mutex);
    return copy;
}

START_TEST(each_is_told_in_its_order_and_with_the_loaders_name)
{
    struct heard now;

    begin_deaf("one invalidate key k\nred invalidate tag red\nann invalidate user ann\n"
               "foreign invalidate key k elsewhere\nall invalidate all\n");
    listen();
    now = heard_with(1, "one");
    ck_assert_uint_eq(now.keys, 1);
    ck_assert_str_eq(now.loader, "keys");
    now = heard_with(2, "red");
    ck_assert_uint_eq(now.others, 1);
    ck_assert_str_eq(now.last, "red");
    now = heard_with(3, "ann");
    ck_assert_str_eq(now.last, "ann");
    now = heard_with(4, "all");
    ck_assert_uint_eq(now.everything, 1);
    now = heard_with(5, "foreign");
    ck_assert_uint_eq(now.keys, 2);
    ck_assert_uint_eq(now.everything, 1);
    ck_assert_uint_eq(state_now().deaths, 0);
    finish(5);
}
END_TEST

START_TEST(what_was_said_before_anybody_heard_is_everything)
{
    begin_deaf("one invalidate key k\n");
    load(1, "one");
    assert_value(1, "one");
    ck_assert_uint_eq(heard.keys + heard.everything, 0);
    listen();
    ck_assert_uint_eq(heard.everything, 1);
    ck_assert_uint_eq(heard.keys, 0);
    ck_assert_uint_eq(heard_with(2, "one").keys, 1);
    ck_assert_uint_eq(heard.everything, 1);
    finish(2);
}
END_TEST

START_TEST(what_open_invalidates_is_told_when_somebody_hears)
{
    begin_deaf("@open invalidate key k\n");
    listen();
    ck_assert_uint_eq(heard.everything, 1);
    ck_assert_uint_eq(heard.keys, 0);
    finish(0);
}
END_TEST

/* One by one up to the bound, then everything at once, and once more for what came after that. */
START_TEST(a_flood_is_cleared_instead_and_nothing_of_it_is_lost)
{
    const unsigned total = HGI_HEARD_MAX + 1000;
    char control[64];
    struct heard now;

    snprintf(control, sizeof(control), "flood flood %u\n", total);
    begin_deaf(control);
    listen();
    now = heard_with(1, "flood");
    /* All came within one window, or the machine was slow and there were two. */
    ck_assert_uint_ge(now.keys, HGI_HEARD_MAX);
    if (now.keys + 1 < total) {
        pthread_mutex_lock(&heard.mutex);
        while (heard.everything < 2) {
            pthread_cond_wait(&heard.changed, &heard.mutex);
        }
        pthread_mutex_unlock(&heard.mutex);
    }
    ck_assert_uint_eq(state_now().deaths, 0);
    finish(1);
}
END_TEST

HGI_SUITE("server.section_heard", 60, each_is_told_in_its_order_and_with_the_loaders_name,
          what_was_said_before_anybody_heard_is_everything,
          what_open_invalidates_is_told_when_somebody_hears,
          a_flood_is_cleared_instead_and_nothing_of_it_is_lost)
