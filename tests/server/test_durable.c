/* SPDX-License-Identifier: Apache-2.0 */
#include "server/rpc/durable.h"

#include <stdio.h>

#include "snapshotter_scene.h"

/* No answer comes from another thread here: each is given before the call returns, or at close. */
struct told {
    size_t count;
    enum hg_status status;
    char sentence[HGI_SNAPSHOT_SENTENCE_MAX];
};

static void note(void *context, const struct hgi_saved *saved)
{
    struct told *told = context;

    told->count++;
    told->status = saved->status;
    snprintf(told->sentence, sizeof(told->sentence), "%s", saved->sentence);
}

static void clear(struct scene *scene, struct hgi_snapshotter *snapshotter, struct told *told)
{
    hgi_durable_clear(snapshotter, scene->auth, 1, note, told);
}

START_TEST(without_a_snapshot_everything_is_durable_at_once)
{
    struct told told = {.count = 0};
    struct scene scene;

    scene_enter(&scene);
    scene_boot(&scene, NEVER_MS);
    clear(&scene, NULL, &told);
    ck_assert_uint_eq(told.count, 1);
    ck_assert_int_eq(told.status, HG_OK);
    ck_assert_str_eq(told.sentence, "");
    scene_shut_down(&scene);
    scene_leave(&scene);
}
END_TEST

START_TEST(what_a_stopped_snapshotter_refuses_says_that_the_server_stops)
{
    struct told told = {.count = 0};
    struct scene scene;

    scene_enter(&scene);
    scene_boot(&scene, NEVER_MS);
    hgi_snapshotter_stop(scene.snapshotter);
    clear(&scene, scene.snapshotter, &told);
    ck_assert_uint_eq(told.count, 1);
    ck_assert_int_eq(told.status, HG_UNAVAILABLE);
    ck_assert_str_eq(told.sentence, "the server is stopping");
    scene_shut_down(&scene);
    scene_leave(&scene);
}
END_TEST

START_TEST(what_a_full_inbox_refuses_says_that_too_much_waits)
{
    struct told waiting = {.count = 0};
    struct told told = {.count = 0};
    struct scene scene;

    scene_enter(&scene);
    scene_boot(&scene, NEVER_MS);
    for (size_t i = 0; i < HGI_SNAPSHOTTER_INBOX_MAX; i++) {
        clear(&scene, scene.snapshotter, &waiting);
    }
    ck_assert_uint_eq(waiting.count, 0);
    clear(&scene, scene.snapshotter, &told);
    ck_assert_uint_eq(told.count, 1);
    ck_assert_int_eq(told.status, HG_UNAVAILABLE);
    ck_assert_str_eq(told.sentence, "the snapshot has too much waiting to be written");
    scene_shut_down(&scene);
    ck_assert_uint_eq(waiting.count, HGI_SNAPSHOTTER_INBOX_MAX);
    scene_leave(&scene);
}
END_TEST

HGI_SUITE("server.durable", 20, without_a_snapshot_everything_is_durable_at_once,
          what_a_stopped_snapshotter_refuses_says_that_the_server_stops,
          what_a_full_inbox_refuses_says_that_too_much_waits)
