/* SPDX-License-Identifier: Apache-2.0 */
/* Where the snapshot lies, and who may be there. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "snapshot_scene.h"

static unsigned mode_of(const struct scene *scene, const char *suffix)
{
    char name[PATH_MAX];
    struct stat found;

    snprintf(name, sizeof(name), "%s%s", scene->path, suffix);
    ck_assert_int_eq(stat(name, &found), 0);
    return found.st_mode & 07777;
}

START_TEST(nobody_else_can_read_what_is_stored)
{
    struct scene scene;
    struct hgi_entry entry;
    mode_t old = umask(0);

    scene_enter(&scene);
    scene_open(&scene);
    entry = scene_entry(&scene, "k", "v", 1);
    scene_save(&scene, "c", &entry);
    ck_assert_uint_eq(mode_of(&scene, ""), 0600);
    ck_assert_uint_eq(mode_of(&scene, "-wal"), 0600);
    ck_assert_uint_eq(mode_of(&scene, ".lock"), 0600);
    ck_assert_uint_eq(scene_count_files(&scene, "-shm"), 0);
    scene_close(&scene);
    *strrchr(scene.path, '/') = '\0';
    ck_assert_uint_eq(mode_of(&scene, ""), 0700);
    scene.path[strlen(scene.path)] = '/';
    /* A file that somebody made readable is closed again. */
    ck_assert_int_eq(chmod(scene.path, 0644), 0);
    scene_open(&scene);
    ck_assert_uint_eq(mode_of(&scene, ""), 0600);
    umask(old);
    scene_leave(&scene);
}
END_TEST

START_TEST(a_second_opener_is_refused)
{
    struct scene scene;
    struct hgi_snapshot *second = NULL;
    struct hgi_snapshot_opened opened;

    scene_enter(&scene);
    scene_open(&scene);
    ck_assert_int_eq(hgi_snapshot_open(&(const struct hgi_snapshot_options){.path = scene.path},
                                       &scene.now, &second, &opened, scene.sentence),
                     HG_FAILED_PRECONDITION);
    ck_assert_ptr_null(second);
    ck_assert_ptr_nonnull(strstr(scene.sentence, "another process has the snapshot"));
    ck_assert_ptr_nonnull(strstr(scene.sentence, scene.path));
    scene_close(&scene);
    scene_open(&scene); /* and the first one's end lets it go */
    scene_leave(&scene);
}
END_TEST

START_TEST(a_place_that_cannot_be_used_is_said_in_one_sentence)
{
    struct scene scene;
    static const struct {
        const char *path; /* below the folder */
        const char *words;
    } cases[] = {
        {"no/such/folder/cache.db", "No such file or directory"},
        {"plain/cache.db", "Not a directory"},
        {"state/", "needs the path of a file"},
        {"state", "Is a directory"},
        {"state/link.db", "cannot open the snapshot"},
    };

    scene_enter(&scene);
    scene_open(&scene);
    scene_close(&scene);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char path[PATH_MAX];
        char target[PATH_MAX];
        int fd;

        snprintf(target, sizeof(target), "%s/plain", scene.folder);
        fd = open(target, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        ck_assert_int_ge(fd, 0);
        close(fd);
        snprintf(path, sizeof(path), "%s/state/link.db", scene.folder);
        if (i == 0) {
            ck_assert_int_eq(symlink(target, path), 0);
        }
        snprintf(path, sizeof(path), "%s/%s", scene.folder, cases[i].path);
        scene.sentence[0] = '\0';
        ck_assert_int_eq(hgi_snapshot_open(&(const struct hgi_snapshot_options){.path = path},
                                           &scene.now, &scene.snapshot, &scene.opened,
                                           scene.sentence),
                         HG_UNAVAILABLE);
        ck_assert_ptr_null(scene.snapshot);
        ck_assert_msg(strstr(scene.sentence, cases[i].words), "%s: %s", path, scene.sentence);
    }
    scene_leave(&scene);
}
END_TEST

START_TEST(a_folder_reached_through_a_link_is_used)
{
    struct scene scene;
    char link_path[PATH_MAX];
    struct hgi_entry entry;

    scene_enter(&scene);
    scene_open(&scene);
    scene_close(&scene);
    snprintf(link_path, sizeof(link_path), "%s/way", scene.folder);
    ck_assert_int_eq(symlink("state", link_path), 0);
    snprintf(scene.path, sizeof(scene.path), "%s/way/cache.db", scene.folder);
    scene_open(&scene);
    ck_assert(!scene.opened.is_new);
    entry = scene_entry(&scene, "k", "v", 1);
    scene_save(&scene, "c", &entry);
    scene_leave(&scene);
}
END_TEST

HGI_SUITE("storage.place", 60, nobody_else_can_read_what_is_stored, a_second_opener_is_refused,
          a_place_that_cannot_be_used_is_said_in_one_sentence,
          a_folder_reached_through_a_link_is_used)
