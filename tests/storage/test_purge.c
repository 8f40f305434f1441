/* SPDX-License-Identifier: Apache-2.0 */
/* What leaves the file by itself, and that nothing older takes its place. */
#include <stdio.h>

#include "snapshot_scene.h"

static uint64_t rows_of(struct scene *scene, const char *cache)
{
    uint64_t rows = 0;

    ck_assert_int_eq(
        hgi_snapshot_rows(scene->snapshot, hg_slice_text(cache), &rows, scene->sentence), HG_OK);
    return rows;
}

/* Commits until the whole file has been looked at. */
static void purge(struct scene *scene)
{
    uint64_t purges = hgi_snapshot_purges(scene->snapshot);

    for (int i = 0; i < 100 && hgi_snapshot_purges(scene->snapshot) == purges; i++) {
        scene_begin(scene, HGI_SNAPSHOT_BEHIND);
        scene_commit(scene, 1);
    }
    ck_assert_uint_gt(hgi_snapshot_purges(scene->snapshot), purges);
}

START_TEST(invalidated_rows_go_and_their_neighbours_stay)
{
    struct scene scene;
    struct hgi_entry entry;

    scene_enter(&scene);
    scene_save_two(&scene);
    scene_open(&scene);
    purge(&scene);
    ck_assert(!hgi_snapshot_is_purging(scene.snapshot));
    scene_forget(&scene, "c", "one", 2);
    entry = scene_entry(&scene, "one", "a newer one", 2);
    scene_save(&scene, "c", &entry); /* purges too */
    ck_assert(!hgi_snapshot_is_purging(scene.snapshot));
    ck_assert_uint_eq(rows_of(&scene, "c"), 2);
    scene_restart(&scene, 0);
    scene_restore(&scene);
    ck_assert_uint_eq(scene.restored, 2);
    ck_assert_str_eq(scene_find(&scene, "c", "one")->value, "a newer one");
    ck_assert_str_eq(scene_find(&scene, "c", "two")->value, "second value");
    scene_leave(&scene);
}
END_TEST

/* The records of invalidations go too, and one that comes while a walk runs is not lost. */
START_TEST(an_invalidation_in_the_middle_of_a_walk_is_obeyed)
{
    enum { ROWS = 150000 };
    struct scene scene;

    scene_enter(&scene);
    scene_open(&scene);
    scene_begin(&scene, HGI_SNAPSHOT_BEHIND);
    for (int i = 0; i < ROWS; i++) {
        char key[16];
        struct hgi_entry entry;

        snprintf(key, sizeof(key), "key %d", i);
        entry = scene_entry(&scene, key, "v", 1);
        scene_put(&scene, "c", &entry);
    }
    scene_commit(&scene, 1);
    scene_forget(&scene, "c", "key 149999", 2);
    scene_begin(&scene, HGI_SNAPSHOT_BEHIND);
    scene_commit(&scene, 2); /* a first portion */
    ck_assert(hgi_snapshot_is_purging(scene.snapshot));
    scene_forget(&scene, "c", "key 0", 3);
    purge(&scene);
    ck_assert(hgi_snapshot_is_purging(scene.snapshot));
    purge(&scene);
    ck_assert(!hgi_snapshot_is_purging(scene.snapshot));
    ck_assert_uint_eq(rows_of(&scene, "c"), ROWS - 2);
    scene_restart(&scene, 0);
    scene_restore(&scene);
    ck_assert_uint_eq(scene.restored, ROWS - 2);
    scene_leave(&scene);
}
END_TEST

/* A row that is over hides what it replaced, although that would live longer. */
START_TEST(what_is_over_takes_nothing_with_it_that_hid_something)
{
    struct scene scene;
    struct hgi_entry entry;

    scene_enter(&scene);
    scene_open(&scene);
    entry = scene_entry(&scene, "k", "allowed", 1);
    scene_save(&scene, "c", &entry);
    entry.key = hg_slice_text("bystander");
    scene_save(&scene, "c", &entry);
    entry = scene_entry(&scene, "k", "refused", 1);
    entry.ttl_ms = entry.stale_ttl_ms = 1000;
    scene_save(&scene, "c", &entry);
    for (int i = 0; i < 3; i++) {
        scene.now.wall_ms += 15000;
        scene.now.boot_ms += 15000;
        purge(&scene);
        hgi_snapshot_checkpoint(scene.snapshot, scene.sentence);
        ck_assert(!scene_file_contains(&scene, "", "refused"));
        scene_restart(&scene, 0);
        scene_restore(&scene);
        ck_assert_uint_eq(scene.restored, 1);
        ck_assert_ptr_nonnull(scene_find(&scene, "c", "bystander"));
    }
    /* Once all is over, nothing is left. */
    scene.now.wall_ms += 60000;
    scene.now.boot_ms += 60000;
    purge(&scene);
    ck_assert_uint_eq(rows_of(&scene, "c"), 0);
    scene_leave(&scene);
}
END_TEST

START_TEST(a_page_of_which_little_is_over_is_let_be)
{
    struct scene scene;
    struct hgi_entry entry;

    scene_enter(&scene);
    scene_open(&scene);
    scene_begin(&scene, HGI_SNAPSHOT_BEHIND);
    for (int i = 0; i < 5; i++) {
        char key[16];

        snprintf(key, sizeof(key), "key %d", i);
        entry = scene_entry(&scene, key, "v", 1);
        entry.ttl_ms = entry.stale_ttl_ms = i < 2 ? 1000 : i < 3 ? 20000 : 60000;
        scene_put(&scene, "c", &entry);
    }
    scene_commit(&scene, 1);
    scene.now.wall_ms += 15000;
    scene.now.boot_ms += 15000;
    purge(&scene);
    ck_assert_uint_eq(rows_of(&scene, "c"), 5);
    scene.now.wall_ms += 15000;
    scene.now.boot_ms += 15000;
    purge(&scene);
    ck_assert_uint_eq(rows_of(&scene, "c"), 2);
    scene_leave(&scene);
}
END_TEST

HGI_SUITE("storage.purge", 60, invalidated_rows_go_and_their_neighbours_stay,
          an_invalidation_in_the_middle_of_a_walk_is_obeyed,
          what_is_over_takes_nothing_with_it_that_hid_something,
          a_page_of_which_little_is_over_is_let_be)
