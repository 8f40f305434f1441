/* SPDX-License-Identifier: Apache-2.0 */
/* The file's own record. */
#include "snapshot_scene.h"

START_TEST(a_file_whose_own_record_is_damaged_is_moved_aside)
{
    static const char *const changes[] = {
        "UPDATE meta SET high_water = 0",
        "UPDATE meta SET saved_ms = saved_ms - 1",
        "UPDATE meta SET pages = pages + 1",
        "UPDATE meta SET forgotten = 1",
        "UPDATE meta SET checksum = 0",
        "UPDATE meta SET proof = 0",
        "UPDATE meta SET salt = zeroblob(16)",
        "UPDATE meta SET salt = x'00'",
        "UPDATE meta SET mode = 3",
        "DELETE FROM meta",
    };

    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        struct scene scene;

        scene_enter(&scene);
        scene_save_two(&scene);
        scene_sql(&scene, changes[i]);
        scene_expect_moved_aside(&scene, "its own record is damaged");
    }
}
END_TEST

START_TEST(a_file_under_a_key_file_is_not_read_without_it)
{
    struct scene scene;

    scene_enter(&scene);
    scene_save_two(&scene);
    scene_sql(&scene, "UPDATE meta SET mode = 1");
    scene_expect_moved_aside(&scene, "it was written under a key_file, and none is configured");
}
END_TEST

static void set_key(struct scene *scene, unsigned char byte)
{
    memset(&scene->key, byte, sizeof(scene->key));
    scene->has_key = true;
}

/* I31. */
START_TEST(under_a_key_rows_come_back_and_encrypted_none_of_them_can_be_read_on_disk)
{
    for (int is_encrypted = 0; is_encrypted < 2; is_encrypted++) {
        const struct hg_slice tag = hg_slice_text("ta tag nobody may read");
        struct scene scene;
        struct hgi_entry entry;

        scene_enter(&scene);
        set_key(&scene, 1);
        scene.is_encrypted = is_encrypted;
        scene_open(&scene);
        entry = scene_entry(&scene, "a key nobody may read", "a value nobody may read", 1);
        entry.etag = hg_slice_text("an etag nobody may read");
        entry.tags = &tag;
        entry.tag_count = 1;
        scene_save(&scene, "c", &entry);
        entry = scene_entry(&scene, "gone", "v", 1);
        scene_save(&scene, "c", &entry);
        scene_forget(&scene, "c", "gone", 2);
        ck_assert(scene_file_contains(&scene, "-wal", "nobody may read") == !is_encrypted);
        scene_restart(&scene, 0);
        ck_assert(scene_file_contains(&scene, "", "nobody may read") == !is_encrypted);
        ck_assert(!scene_file_contains(&scene, "", (const char *)scene.key.bytes));
        scene_restore(&scene);
        ck_assert_uint_eq(scene.restored, 1);
        ck_assert_str_eq(scene_find(&scene, "c", "a key nobody may read")->value,
                         "a value nobody may read");
        ck_assert_uint_eq(scene.seen[0].entry.tag_count, 1);
        scene_leave(&scene);
    }
}
END_TEST

START_TEST(under_another_key_it_is_moved_aside)
{
    struct scene scene;

    scene_enter(&scene);
    set_key(&scene, 1);
    scene_save_two(&scene);
    set_key(&scene, 2);
    scene_expect_moved_aside(&scene, "it was written under another key_file");
}
END_TEST

START_TEST(a_file_written_under_other_options_is_read_and_a_file_beside_it_is_under_the_new_ones)
{
    for (int step = 0; step < 2; step++) {
        struct scene scene;
        struct hgi_snapshot *beside = NULL;

        scene_enter(&scene);
        if (step == 1) {
            set_key(&scene, 1);
        }
        scene_save_two(&scene);
        set_key(&scene, 1);
        scene.is_encrypted = step == 1;
        scene_open(&scene);
        ck_assert(!scene.opened.is_quarantined && hgi_snapshot_is_outdated(scene.snapshot));
        scene_restore(&scene);
        ck_assert_uint_eq(scene.restored, 2);
        ck_assert_int_eq(hgi_snapshot_open_beside(scene.snapshot, &beside, scene.sentence), HG_OK);
        ck_assert_int_eq(hgi_snapshot_replace(scene.snapshot, &beside, scene.sentence), HG_OK);
        ck_assert(!hgi_snapshot_is_outdated(scene.snapshot));
        scene_restart(&scene, 0);
        ck_assert(!scene.opened.is_quarantined && !hgi_snapshot_is_outdated(scene.snapshot));
        scene_leave(&scene);
    }
}
END_TEST

HGI_SUITE("storage.record", 60, a_file_whose_own_record_is_damaged_is_moved_aside,
          a_file_under_a_key_file_is_not_read_without_it,
          under_a_key_rows_come_back_and_encrypted_none_of_them_can_be_read_on_disk,
          under_another_key_it_is_moved_aside,
          a_file_written_under_other_options_is_read_and_a_file_beside_it_is_under_the_new_ones)
