/* SPDX-License-Identifier: Apache-2.0 */
/* A file written beside the one in use is nothing until it has taken its place, and then all. */
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "fault_vfs.h"
#include "snapshot_scene.h"

static struct hgi_snapshot *open_beside(struct scene *scene)
{
    struct hgi_snapshot *beside = NULL;

    ck_assert_int_eq(hgi_snapshot_open_beside(scene->snapshot, &beside, scene->sentence), HG_OK);
    return beside;
}

/* One entry, in a transaction of its own. */
static void save_to(struct scene *scene, struct hgi_snapshot *snapshot, const char *key,
                    const char *value, uint64_t born)
{
    struct hgi_entry entry = scene_entry(scene, key, value, born);

    ck_assert_int_eq(
        hgi_snapshot_begin(snapshot, HGI_SNAPSHOT_BEHIND, &scene->now, scene->sentence), HG_OK);
    ck_assert_int_eq(
        hgi_snapshot_put(snapshot, hg_slice_text("c"), &entry, &scene->now, scene->sentence),
        HG_OK);
    ck_assert_int_eq(hgi_snapshot_commit(snapshot, born, &scene->now, scene->sentence), HG_OK);
}

static void forget_in(struct scene *scene, struct hgi_snapshot *snapshot, const char *key,
                      uint64_t generation)
{
    struct hg_slice slice = hg_slice_text(key);

    ck_assert_int_eq(
        hgi_snapshot_begin(snapshot, HGI_SNAPSHOT_DURABLE, &scene->now, scene->sentence), HG_OK);
    ck_assert_int_eq(
        hgi_snapshot_forget(snapshot, hg_slice_text("c"), &slice, 1, generation, scene->sentence),
        HG_OK);
    ck_assert_int_eq(hgi_snapshot_commit(snapshot, generation, &scene->now, scene->sentence),
                     HG_OK);
}

START_TEST(what_was_written_beside_is_the_file_once_it_is_in_its_place)
{
    struct scene scene;
    struct hgi_snapshot *beside;
    struct hgi_entry entry;

    scene_enter(&scene);
    scene_save_two(&scene);
    scene_open(&scene);
    scene_clear(&scene, "elsewhere", 50);
    beside = open_beside(&scene);
    save_to(&scene, beside, "three", "third value", 2);
    ck_assert_int_eq(hgi_snapshot_replace(scene.snapshot, &beside, scene.sentence), HG_OK);
    ck_assert_ptr_null(beside);
    ck_assert_uint_eq(scene_count_files(&scene, ".new"), 0);
    entry = scene_entry(&scene, "four", "fourth value", 60);
    scene_save(&scene, "c", &entry);
    ck_assert_uint_eq(hgi_snapshot_renewals(scene.snapshot), 0);
    scene_restart(&scene, 0);
    ck_assert(!scene.opened.is_quarantined && !scene.opened.is_new);
    ck_assert_uint_eq(scene.opened.high_water, 60);
    scene_restore(&scene);
    ck_assert_uint_eq(scene.restored, 2);
    ck_assert_ptr_nonnull(scene_find(&scene, "c", "three"));
    ck_assert_ptr_nonnull(scene_find(&scene, "c", "four"));
    scene_leave(&scene);
}
END_TEST

START_TEST(the_largest_generation_is_carried_over)
{
    struct scene scene;
    struct hgi_snapshot *beside;

    scene_enter(&scene);
    scene_open(&scene);
    scene_clear(&scene, "c", 50);
    beside = open_beside(&scene);
    ck_assert_int_eq(hgi_snapshot_replace(scene.snapshot, &beside, scene.sentence), HG_OK);
    scene_restart(&scene, 0);
    ck_assert_uint_eq(scene.opened.high_water, 50);
    scene_leave(&scene);
}
END_TEST

START_TEST(an_invalidation_that_went_into_both_holds_in_the_one_that_stays)
{
    for (int is_replaced = 0; is_replaced < 2; is_replaced++) {
        struct scene scene;
        struct hgi_snapshot *beside;

        scene_enter(&scene);
        scene_open(&scene);
        save_to(&scene, scene.snapshot, "k", "v", 1);
        beside = open_beside(&scene);
        save_to(&scene, beside, "k", "v", 1);
        save_to(&scene, beside, "other", "v", 1);
        forget_in(&scene, scene.snapshot, "k", 2);
        forget_in(&scene, beside, "k", 2);
        if (is_replaced) {
            ck_assert_int_eq(hgi_snapshot_replace(scene.snapshot, &beside, scene.sentence), HG_OK);
            ck_assert(hgi_snapshot_is_purging(scene.snapshot));
        } else {
            hgi_snapshot_close(&beside);
        }
        scene_restart(&scene, 0);
        scene_restore(&scene);
        ck_assert_uint_eq(scene.restored, is_replaced ? 1 : 0);
        ck_assert_ptr_null(scene_find(&scene, "c", "k"));
        scene_leave(&scene);
    }
}
END_TEST

START_TEST(one_that_was_not_finished_is_removed_and_the_first_is_what_it_was)
{
    struct scene scene;
    struct hgi_snapshot *beside;
    char left[PATH_MAX];
    char kept[PATH_MAX];

    scene_enter(&scene);
    scene_save_two(&scene);
    scene_open(&scene);
    beside = open_beside(&scene);
    save_to(&scene, beside, "three", "third value", 2);
    ck_assert_uint_gt(scene_count_files(&scene, ".new"), 0);
    snprintf(left, sizeof(left), "%s.new", scene.path);
    snprintf(kept, sizeof(kept), "%s.kept", scene.path);
    ck_assert_int_eq(link(left, kept), 0);
    hgi_snapshot_close(&beside);
    ck_assert_uint_eq(scene_count_files(&scene, ".new"), 0);
    ck_assert_int_eq(rename(kept, left), 0); /* as a kill would have left it */
    scene_restart(&scene, 0);
    ck_assert_uint_eq(scene_count_files(&scene, ".new"), 0);
    scene_restore(&scene);
    ck_assert_uint_eq(scene.restored, 2);
    ck_assert_ptr_nonnull(scene_find(&scene, "c", "one"));
    scene_leave(&scene);
}
END_TEST

/* Whichever sync or write of it fails, one of the two files is there, whole, and can be written. */
START_TEST(a_disk_that_fails_while_it_takes_the_place_leaves_a_whole_file)
{
    size_t failures = 0;

    for (int syncs = 0; syncs < 2; syncs++) {
        for (size_t at = 1; at < 16; at++) {
            struct scene scene;
            struct hgi_snapshot *beside;
            struct hgi_entry entry;
            bool is_replaced;

            fault_install();
            scene_enter(&scene);
            scene_save_two(&scene);
            scene_open(&scene);
            scene_clear(&scene, "elsewhere", 5); /* there is something in the log */
            beside = open_beside(&scene);
            save_to(&scene, beside, "three", "third value", 6);
            *(syncs ? &fault.fail_sync_at : &fault.fail_write_at) = at;
            is_replaced = hgi_snapshot_replace(scene.snapshot, &beside, scene.sentence) == HG_OK;
            failures += !is_replaced;
            ck_assert_ptr_null(beside);
            fault_install();
            entry = scene_entry(&scene, "after", "v", 7);
            scene_save(&scene, "c", &entry);
            scene_restart(&scene, 0);
            ck_assert(!scene.opened.is_quarantined);
            ck_assert_uint_ge(scene.opened.high_water, 7);
            scene_restore(&scene);
            ck_assert_uint_eq(scene.dropped, 0);
            ck_assert_ptr_nonnull(scene_find(&scene, "c", "after"));
            if (is_replaced) {
                ck_assert_ptr_nonnull(scene_find(&scene, "c", "three"));
                ck_assert_uint_eq(scene.restored, 2);
            }
            scene_leave(&scene);
        }
    }
    ck_assert_uint_ge(failures, 4);
}
END_TEST

HGI_SUITE("storage.beside", 60, what_was_written_beside_is_the_file_once_it_is_in_its_place,
          the_largest_generation_is_carried_over,
          an_invalidation_that_went_into_both_holds_in_the_one_that_stays,
          one_that_was_not_finished_is_removed_and_the_first_is_what_it_was,
          a_disk_that_fails_while_it_takes_the_place_leaves_a_whole_file)
