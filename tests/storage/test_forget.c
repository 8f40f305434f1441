/* SPDX-License-Identifier: Apache-2.0 */
/* Clears and forgotten keys: gone for good, and nothing else with them. */
#include "snapshot_scene.h"

START_TEST(a_cleared_row_never_comes_back)
{
    struct scene scene;
    struct hgi_entry entry;

    scene_enter(&scene);
    scene_open(&scene);
    scene_begin(&scene, HGI_SNAPSHOT_BEHIND);
    entry = scene_entry(&scene, "old", "v", 10);
    scene_put(&scene, "c", &entry);
    scene_put(&scene, "other", &entry);
    scene_commit(&scene, 10);
    scene_restart(&scene, 0);
    scene_clear(&scene, "c", 11);
    /* An old one saved again after the clear, and after a restart, is left out; a newer one not. */
    scene_save(&scene, "c", &entry);
    entry = scene_entry(&scene, "new", "v", 11);
    scene_save(&scene, "c", &entry);
    scene_restart(&scene, 0);
    entry = scene_entry(&scene, "old", "v", 10);
    scene_save(&scene, "c", &entry);
    scene_restart(&scene, 0);
    scene_restore(&scene);
    ck_assert_uint_eq(scene.restored, 2);
    ck_assert_ptr_nonnull(scene_find(&scene, "c", "new"));
    ck_assert_ptr_nonnull(scene_find(&scene, "other", "old"));
    scene_leave(&scene);
}
END_TEST

START_TEST(a_clear_holds_before_the_purge_has_taken_the_rows_out)
{
    struct scene scene;
    struct hgi_entry entry;
    uint64_t rows = 0;

    scene_enter(&scene);
    scene_open(&scene);
    entry = scene_entry(&scene, "k", "v", 10);
    scene_save(&scene, "c", &entry);
    scene_clear(&scene, "c", 11);
    ck_assert_int_eq(hgi_snapshot_rows(scene.snapshot, hg_slice_text("c"), &rows, scene.sentence),
                     HG_OK);
    ck_assert_uint_eq(rows, 1);
    ck_assert(hgi_snapshot_is_purging(scene.snapshot));
    scene_restart(&scene, 0);
    scene_restore(&scene);
    ck_assert_uint_eq(scene.restored, 0);
    ck_assert_uint_eq(scene.dropped, 0); /* cleared is not damaged */
    scene_leave(&scene);
}
END_TEST

START_TEST(a_forgotten_key_is_gone_and_a_newer_value_of_it_stays)
{
    struct scene scene;
    struct hgi_entry entry;

    scene_enter(&scene);
    scene_open(&scene);
    scene_begin(&scene, HGI_SNAPSHOT_BEHIND);
    entry = scene_entry(&scene, "old", "v", 10);
    scene_put(&scene, "c", &entry);
    entry = scene_entry(&scene, "bystander", "v", 10);
    scene_put(&scene, "c", &entry);
    entry = scene_entry(&scene, "new", "v", 11);
    scene_put(&scene, "c", &entry);
    scene_commit(&scene, 11);
    scene_forget(&scene, "c", "old", 11);
    scene_forget(&scene, "c", "new", 11);
    scene_restart(&scene, 0);
    scene_restore(&scene);
    ck_assert_ptr_null(scene_find(&scene, "c", "old"));
    ck_assert_ptr_nonnull(scene_find(&scene, "c", "new"));
    ck_assert_ptr_nonnull(scene_find(&scene, "c", "bystander"));
    scene_leave(&scene);
}
END_TEST

START_TEST(dropped_rows_are_written_anew_in_the_same_transaction)
{
    struct scene scene;
    struct hgi_entry entry;

    scene_enter(&scene);
    scene_open(&scene);
    entry = scene_entry(&scene, "evicted", "v", 1);
    scene_save(&scene, "c", &entry);
    scene_save(&scene, "other", &entry);
    scene_begin(&scene, HGI_SNAPSHOT_BEHIND);
    ck_assert_int_eq(hgi_snapshot_drop_rows(scene.snapshot, hg_slice_text("c"), scene.sentence),
                     HG_OK);
    entry = scene_entry(&scene, "kept", "v", 1);
    scene_put(&scene, "c", &entry);
    scene_commit(&scene, 1);
    scene_restart(&scene, 0);
    scene_restore(&scene);
    ck_assert_uint_eq(scene.restored, 2);
    ck_assert_ptr_nonnull(scene_find(&scene, "c", "kept"));
    ck_assert_ptr_nonnull(scene_find(&scene, "other", "evicted"));
    scene_leave(&scene);
}
END_TEST

/* With the round that follows, which ends in a checkpoint. */
START_TEST(a_forgotten_value_is_wiped_from_the_disk)
{
    struct scene scene;
    struct hgi_entry entry;

    scene_enter(&scene);
    scene_open(&scene);
    entry = scene_entry(&scene, "k", "a credential nobody may read", 1);
    scene_save(&scene, "c", &entry);
    hgi_snapshot_checkpoint(scene.snapshot, scene.sentence);
    ck_assert(scene_file_contains(&scene, "", "a credential nobody may read"));
    scene_forget(&scene, "c", "k", 2);
    scene_begin(&scene, HGI_SNAPSHOT_BEHIND);
    scene_commit(&scene, 2);
    hgi_snapshot_checkpoint(scene.snapshot, scene.sentence);
    ck_assert(!scene_file_contains(&scene, "", "a credential nobody may read"));
    ck_assert(!scene_file_contains(&scene, "-wal", "a credential nobody may read"));
    scene_leave(&scene);
}
END_TEST

HGI_SUITE("storage.forget", 60, a_cleared_row_never_comes_back,
          a_clear_holds_before_the_purge_has_taken_the_rows_out,
          a_forgotten_key_is_gone_and_a_newer_value_of_it_stays,
          dropped_rows_are_written_anew_in_the_same_transaction,
          a_forgotten_value_is_wiped_from_the_disk)
