/* SPDX-License-Identifier: Apache-2.0 */
/* The thread looks at its own file between everything else, for as long as somebody wants it. */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "hg_test.h"
#include "snapshotter_scene.h"

struct look {
    struct answers answers;
    _Atomic bool is_left;
    _Atomic size_t asked; /* whether it is wanted */
    enum hg_status status;
    struct hgi_snapshot_report report;
};

static void look_init(struct look *look)
{
    memset(look, 0, sizeof(*look));
    hgi_lock_init(&look->answers.lock);
    hgi_cond_init(&look->answers.cond);
}

static void look_deinit(struct look *look)
{
    hgi_cond_deinit(&look->answers.cond);
    hgi_lock_deinit(&look->answers.lock);
}

static bool is_wanted(void *context)
{
    struct look *look = context;

    atomic_fetch_add(&look->asked, 1);
    return !atomic_load(&look->is_left);
}

static void note_look(void *context, const struct hgi_saved *saved)
{
    struct look *look = context;

    look->status = saved->status;
    if (saved->report) {
        look->report = *saved->report;
    }
    scene_note_answer(&look->answers, saved);
}

static void ask(struct scene *scene, struct look *look)
{
    look_init(look);
    ck_assert_int_eq(hgi_snapshotter_verify(scene->snapshotter, is_wanted, note_look, look), HG_OK);
}

static struct hgi_snapshot_report verify(struct scene *scene)
{
    struct look look;

    ask(scene, &look);
    scene_wait_for_answers(&look.answers, 1);
    ck_assert_msg(look.status == HG_OK, "%s", look.answers.sentence);
    look_deinit(&look);
    return look.report;
}

/* A byte of the file in use, as a failing disk does. */
static void damage(struct scene *scene, const char *text)
{
    char bytes[256 * 1024];
    int fd = open(scene->path, O_RDWR);
    ssize_t size = pread(fd, bytes, sizeof(bytes), 0);
    char *at = size > 0 ? memmem(bytes, (size_t)size, text, strlen(text)) : NULL;

    ck_assert_ptr_nonnull(at);
    *at ^= 1;
    ck_assert_int_eq(pwrite(fd, at, 1, at - bytes), 1);
    close(fd);
}

START_TEST(a_look_counts_what_is_on_disk_and_is_remembered)
{
    struct scene scene;
    struct hgi_snapshotter_stats stats;
    struct hgi_snapshot_report report;

    scene_enter(&scene);
    scene_run(&scene);
    scene_put_many(scene.auth, 100);
    scene_save(&scene);
    report = verify(&scene);
    ck_assert_msg(report.wrong == 0, "%s", report.fault);
    ck_assert_uint_eq(report.rows, 100);
    ck_assert(report.is_structure_checked);
    stats = scene_stats_of(&scene);
    ck_assert(stats.verifies == 1 && stats.faults == 0 && stats.verified_wall_ms > 0);
    ck_assert_int_eq(stats.work, HGI_SNAPSHOTTER_RESTS);
    ck_assert(stats.file.pages >= 1 && stats.file.file_bytes > 0);
    ck_assert_uint_eq(stats.file.high_water, report.high_water);
    scene_shut_down(&scene);
    scene_leave(&scene);
}
END_TEST

START_TEST(clears_and_saves_are_served_while_many_look)
{
    static struct look looks[20];
    struct scene scene;

    scene_enter(&scene);
    scene_run(&scene);
    scene_put_many(scene.auth, 1000);
    scene_save(&scene);
    for (size_t i = 0; i < 20; i++) {
        ask(&scene, &looks[i]);
        scene_put_many(scene.other, 50);
        scene_clear(&scene, i % 2 ? scene.auth : scene.other);
        if (i % 5 == 0) {
            ck_assert_int_eq(
                hgi_snapshotter_save(scene.snapshotter, scene_note_answer, &scene.answers), HG_OK);
        }
    }
    scene_wait_for_answers(&scene.answers, 1 + 20 + 4);
    ck_assert_uint_eq(scene.answers.failed, 0);
    for (size_t i = 0; i < 20; i++) {
        scene_wait_for_answers(&looks[i].answers, 1);
        ck_assert_msg(looks[i].status == HG_OK && looks[i].report.wrong == 0, "%s %s",
                      looks[i].answers.sentence, looks[i].report.fault);
        look_deinit(&looks[i]);
    }
    scene_shut_down(&scene);
    scene_leave(&scene);
}
END_TEST

START_TEST(a_look_that_nobody_wants_ends)
{
    struct scene scene;
    struct look left;
    struct look kept;

    scene_enter(&scene);
    scene_run(&scene);
    scene_put_many(scene.auth, 100);
    scene_save(&scene);
    look_init(&left);
    atomic_store(&left.is_left, true);
    ck_assert_int_eq(hgi_snapshotter_verify(scene.snapshotter, is_wanted, note_look, &left), HG_OK);
    ask(&scene, &kept);
    scene_wait_for_answers(&left.answers, 1);
    ck_assert_int_eq(left.status, HG_CANCELLED);
    ck_assert_uint_eq(atomic_load(&left.asked), 1);
    scene_wait_for_answers(&kept.answers, 1);
    ck_assert_int_eq(kept.status, HG_OK);
    ck_assert_uint_gt(atomic_load(&kept.asked), 1); /* before each portion */
    look_deinit(&left);
    look_deinit(&kept);
    scene_shut_down(&scene);
    scene_leave(&scene);
}
END_TEST

START_TEST(what_is_found_damaged_is_written_anew_by_the_next_save)
{
    struct hgi_snapshot_report report;
    struct scene scene;

    scene_enter(&scene);
    scene_run(&scene);
    scene_put(scene.auth, "one", "the first value");
    scene_put(scene.auth, "two", "the second value");
    scene_save(&scene);
    damage(&scene, "the second value");
    report = verify(&scene);
    ck_assert_uint_eq(report.wrong, 1);
    ck_assert_uint_eq(report.rows, 1);
    ck_assert_uint_eq(scene_stats_of(&scene).faults, 1);
    scene_save(&scene);
    ck_assert_uint_eq(scene.answers.entries, 2);
    report = verify(&scene);
    ck_assert_msg(report.wrong == 0 && report.rows == 2, "%s", report.fault);
    scene_save(&scene);
    ck_assert_uint_eq(scene.answers.entries, 0); /* once */
    scene_shut_down(&scene);
    scene_boot(&scene, NEVER_MS);
    ck_assert(scene_is_cached(scene.auth, "one") && scene_is_cached(scene.auth, "two"));
    scene_shut_down(&scene);
    scene_leave(&scene);
}
END_TEST

START_TEST(a_server_that_stops_answers_who_looks)
{
    struct scene scene;
    struct look look;

    scene_enter(&scene);
    scene_run(&scene);
    scene_put_many(scene.auth, 100);
    ask(&scene, &look);
    hgi_snapshotter_stop(scene.snapshotter);
    scene_wait_for_answers(&look.answers, 1);
    ck_assert(look.status == HG_OK || look.status == HG_UNAVAILABLE);
    look_deinit(&look);
    ck_assert_int_eq(hgi_snapshotter_verify(scene.snapshotter, is_wanted, note_look, &look),
                     HG_UNAVAILABLE);
    scene_shut_down(&scene);
    scene_leave(&scene);
}
END_TEST

HGI_SUITE("server.snapshotter_verify", 60, a_look_counts_what_is_on_disk_and_is_remembered,
          clears_and_saves_are_served_while_many_look, a_look_that_nobody_wants_ends,
          what_is_found_damaged_is_written_anew_by_the_next_save,
          a_server_that_stops_answers_who_looks)
