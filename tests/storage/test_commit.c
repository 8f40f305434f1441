/* SPDX-License-Identifier: Apache-2.0 */
/* What a commit writes besides the rows, and what a rollback leaves. */
#include <stdio.h>

#include "snapshot_scene.h"

START_TEST(the_largest_generation_ever_handed_out_is_recorded)
{
    struct scene scene;
    struct hgi_entry entry;

    scene_enter(&scene);
    scene_open(&scene);
    entry = scene_entry(&scene, "k", "v", 5);
    scene_save(&scene, "c", &entry);
    scene_begin(&scene, HGI_SNAPSHOT_BEHIND);
    scene_commit(&scene, 100);
    scene_restart(&scene, 0);
    ck_assert_uint_eq(scene.opened.high_water, 100);
    scene_clear(&scene, "c", 200);
    scene_restart(&scene, 0);
    ck_assert_uint_eq(scene.opened.high_water, 200);
    scene_forget(&scene, "nobody", "k", 300);
    scene_restart(&scene, 0);
    ck_assert_uint_eq(scene.opened.high_water, 300);
    scene_begin(&scene, HGI_SNAPSHOT_BEHIND);
    scene_commit(&scene, 1); /* it never falls */
    scene_restart(&scene, 0);
    ck_assert_uint_eq(scene.opened.high_water, 300);
    scene_leave(&scene);
}
END_TEST

START_TEST(cleared_rows_leave_the_file_a_portion_at_a_time)
{
    enum { ROWS = 200000 };
    struct scene scene;
    uint64_t before = ROWS;
    size_t commits = 0;

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
    scene_clear(&scene, "c", 2);
    while (hgi_snapshot_is_purging(scene.snapshot)) {
        uint64_t rows = 0;

        scene_begin(&scene, HGI_SNAPSHOT_BEHIND);
        scene_commit(&scene, 2);
        ck_assert_int_eq(
            hgi_snapshot_rows(scene.snapshot, hg_slice_text("c"), &rows, scene.sentence), HG_OK);
        ck_assert_uint_le(before - rows, 65536 + 4096); /* and the rest of a page */
        before = rows;
        ck_assert_uint_lt(++commits, 10);
    }
    ck_assert_uint_gt(commits, 1);
    ck_assert_uint_eq(before, 0);
    scene_leave(&scene);
}
END_TEST

START_TEST(rows_whose_time_is_over_leave_the_file)
{
    struct scene scene;
    struct hgi_entry entry;
    uint64_t rows = 9;

    scene_enter(&scene);
    scene_open(&scene);
    entry = scene_entry(&scene, "k", "v", 1);
    scene_save(&scene, "c", &entry);
    scene.now.wall_ms += 60001;
    scene.now.boot_ms += 60001;
    scene_begin(&scene, HGI_SNAPSHOT_BEHIND);
    scene_commit(&scene, 1);
    ck_assert_int_eq(hgi_snapshot_rows(scene.snapshot, hg_slice_text("c"), &rows, scene.sentence),
                     HG_OK);
    ck_assert_uint_eq(rows, 0);
    scene_leave(&scene);
}
END_TEST

START_TEST(a_rolled_back_transaction_leaves_nothing_not_even_a_cache)
{
    struct scene scene;
    struct hgi_entry entry;

    scene_enter(&scene);
    scene_open(&scene);
    entry = scene_entry(&scene, "k", "v", 1);
    scene_begin(&scene, HGI_SNAPSHOT_BEHIND);
    scene_put(&scene, "first", &entry);
    hgi_snapshot_rollback(scene.snapshot);
    scene_save(&scene, "second", &entry);
    scene_save(&scene, "first", &entry);
    scene_restart(&scene, 0);
    scene_restore(&scene);
    ck_assert_uint_eq(scene.restored, 2);
    ck_assert_uint_eq(scene.dropped, 0);
    ck_assert_ptr_nonnull(scene_find(&scene, "first", "k"));
    scene_leave(&scene);
}
END_TEST

START_TEST(the_log_of_durable_writes_stays_bounded_without_a_round)
{
    struct scene scene;
    static char value[60000];
    size_t largest = 0;

    scene_enter(&scene);
    scene_open(&scene);
    for (int i = 0; i < 400; i++) { /* 24 MB */
        struct hgi_entry entry;
        size_t size;

        memset(value, 'a' + i % 26,
               sizeof(value) - 1); /* pages that stay the same are not logged */
        entry = scene_entry(&scene, "k", value, (uint64_t)i);
        scene_begin(&scene, HGI_SNAPSHOT_DURABLE);
        scene_put(&scene, "c", &entry);
        scene_commit(&scene, 1);
        size = scene_file_size(&scene, "-wal");
        largest = size > largest ? size : largest;
    }
    ck_assert_uint_gt(largest, 1000000);
    ck_assert_uint_lt(largest, 10000000);
    ck_assert_int_eq(hgi_snapshot_checkpoint(scene.snapshot, scene.sentence), HG_OK);
    ck_assert_uint_eq(scene_file_size(&scene, "-wal"), 0);
    scene_leave(&scene);
}
END_TEST

HGI_SUITE("storage.commit", 60, the_largest_generation_ever_handed_out_is_recorded,
          cleared_rows_leave_the_file_a_portion_at_a_time, rows_whose_time_is_over_leave_the_file,
          a_rolled_back_transaction_leaves_nothing_not_even_a_cache,
          the_log_of_durable_writes_stays_bounded_without_a_round)
