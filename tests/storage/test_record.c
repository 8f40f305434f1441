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
    scene_expect_moved_aside(&scene, "it was written under a key file, and none is configured");
}
END_TEST

HGI_SUITE("storage.record", 60, a_file_whose_own_record_is_damaged_is_moved_aside,
          a_file_under_a_key_file_is_not_read_without_it)
