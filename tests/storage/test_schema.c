/* SPDX-License-Identifier: Apache-2.0 */
/* Which files are ours. */
#include <unistd.h>

#include "snapshot_scene.h"

START_TEST(another_programs_database_is_moved_aside)
{
    struct scene scene;

    scene_enter(&scene);
    scene_save_two(&scene);
    scene_sql(&scene, "PRAGMA application_id = 1196444487");
    scene_expect_moved_aside(&scene, "another program's database");
}
END_TEST

START_TEST(a_database_without_an_application_id_is_moved_aside)
{
    struct scene scene;

    scene_enter(&scene);
    scene_save_two(&scene);
    unlink(scene.path);
    scene_sql(&scene, "CREATE TABLE notes (text TEXT)");
    scene_expect_moved_aside(&scene, "another program's database");
}
END_TEST

START_TEST(a_file_of_a_later_version_is_moved_aside)
{
    struct scene scene;

    scene_enter(&scene);
    scene_save_two(&scene);
    scene_sql(&scene, "PRAGMA user_version = 5000");
    scene_expect_moved_aside(&scene, "it is of version 5000, this program reads version 4000");
}
END_TEST

/* Version 1 rows had no tags: an invalidation could not find those of a user. */
START_TEST(a_file_from_before_there_were_tags_is_moved_aside)
{
    struct scene scene;

    scene_enter(&scene);
    scene_save_two(&scene);
    scene_sql(&scene, "PRAGMA user_version = 1000");
    scene_expect_moved_aside(&scene, "it is of version 1000, this program reads version 4000");
}
END_TEST

START_TEST(a_file_with_a_trigger_is_moved_aside)
{
    struct scene scene;

    scene_enter(&scene);
    scene_save_two(&scene);
    scene_sql(&scene, "CREATE TRIGGER keep BEFORE DELETE ON pages BEGIN SELECT raise(IGNORE); END");
    scene_expect_moved_aside(&scene, "its tables are not those of version 4000");
}
END_TEST

HGI_SUITE("storage.schema", 60, another_programs_database_is_moved_aside,
          a_database_without_an_application_id_is_moved_aside,
          a_file_of_a_later_version_is_moved_aside,
          a_file_from_before_there_were_tags_is_moved_aside, a_file_with_a_trigger_is_moved_aside)
