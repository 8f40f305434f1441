/* SPDX-License-Identifier: Apache-2.0 */
/* A file is read as it lies, and said to be what it is. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "snapshot_scene.h"

static struct hgi_snapshot_report verify(struct scene *scene)
{
    const struct hgi_snapshot_options options = {.path = scene->path,
                                                 .key = scene->has_key ? &scene->key : NULL};
    struct hgi_snapshot_report report;
    enum hg_status status = hgi_snapshot_verify(&options, &report, scene->sentence);

    ck_assert_msg(status == HG_OK, "%s", scene->sentence);
    return report;
}

START_TEST(a_whole_file_is_described_and_not_changed)
{
    for (int mode = 0; mode < 3; mode++) {
        struct scene scene;
        struct hgi_snapshot_report report;
        struct stat before;
        struct stat after;

        scene_enter(&scene);
        scene.has_key = mode > 0;
        scene.is_encrypted = mode == 2;
        scene_save_two(&scene);
        ck_assert_int_eq(stat(scene.path, &before), 0);
        report = verify(&scene);
        ck_assert_msg(report.wrong == 0 && report.fault[0] == '\0', "%s", report.fault);
        ck_assert(report.is_keyed == (mode > 0) && report.is_encrypted == (mode == 2));
        ck_assert_uint_eq(report.rows, 2);
        ck_assert_uint_eq(report.pages, 1);
        ck_assert_uint_eq(report.caches, 1);
        ck_assert_uint_eq(report.invalidations, 0);
        ck_assert_uint_eq(report.high_water, 1);
        ck_assert_int_eq(report.saved_wall_ms, scene.now.wall_ms);
        ck_assert_int_eq(stat(scene.path, &after), 0);
        ck_assert(before.st_mtim.tv_sec == after.st_mtim.tv_sec &&
                  before.st_mtim.tv_nsec == after.st_mtim.tv_nsec);
        scene_leave(&scene);
    }
}
END_TEST

/* As a kill leaves it. */
START_TEST(what_is_only_in_the_log_is_read_and_the_log_is_kept)
{
    struct scene scene;
    struct hgi_snapshot_report report;
    char command[512];
    size_t log_size;

    scene_enter(&scene);
    scene_save_two(&scene);
    scene_open(&scene);
    scene_forget(&scene, "c", "one", 2);
    snprintf(command, sizeof(command), "cd %s/state && cp cache.db a && cp cache.db-wal a-wal",
             scene.folder);
    ck_assert_int_eq(system(command), 0);
    scene_close(&scene);
    snprintf(command, sizeof(command), "cd %s/state && mv a cache.db && mv a-wal cache.db-wal",
             scene.folder);
    ck_assert_int_eq(system(command), 0);
    log_size = scene_file_size(&scene, "-wal");
    ck_assert_uint_gt(log_size, 0);
    report = verify(&scene);
    ck_assert_uint_eq(report.wrong, 0);
    ck_assert_uint_eq(report.invalidations, 1);
    ck_assert_uint_eq(report.high_water, 2);
    ck_assert_uint_eq(scene_file_size(&scene, "-wal"), log_size);
    scene_leave(&scene);
}
END_TEST

START_TEST(each_fault_is_counted_and_the_first_is_said)
{
    static const struct {
        const char *change;
        const char *fault;
        uint64_t wrong;
        uint64_t rows;
    } cases[] = {
        {"UPDATE pages SET head = zeroblob(length(head)) WHERE id = 1",
         "the head of page 1 of cache c is not what was written", 1, 1},
        {"UPDATE pages SET rows = zeroblob(length(rows)) WHERE id = 1",
         "row 1 of page 1 of cache c is not what was written", 2, 1},
        {"UPDATE pages SET rows = x'00'", "page 1 of cache c has 1 bytes of rows instead of ", 2,
         0},
        {"UPDATE pages SET cache = 9 WHERE id = 2", "page 2 is of no cache", 1, 2},
        {"UPDATE caches SET cleared = 7", "what is known of cache number 1 is not what was written",
         3, 0},
        {"UPDATE forgotten SET generation = 9",
         "it is damaged: the record of an invalidation is not what was written", 1, 3},
        {"DELETE FROM forgotten", "it has not as many rows as its own record says", 1, 0},
        {"UPDATE meta SET saved_ms = 1", "its own record is damaged", 1, 0},
        {"PRAGMA user_version = 9000", "it is of version 9000, this program reads version 4000", 1,
         0},
        {"CREATE TABLE more (id INTEGER)", "its tables are not those of version 4000", 1, 0},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct scene scene;
        struct hgi_snapshot_report report;
        struct hgi_entry entry;

        scene_enter(&scene);
        scene_save_two(&scene);
        scene_open(&scene);
        entry = scene_entry(&scene, "three", "third value", 1);
        scene_save(&scene, "c", &entry);
        scene_forget(&scene, "c", "four", 2);
        scene_close(&scene);
        scene_sql(&scene, cases[i].change);
        report = verify(&scene);
        ck_assert_msg(strncmp(report.fault, cases[i].fault, strlen(cases[i].fault)) == 0, "%s",
                      report.fault);
        ck_assert_msg(report.wrong == cases[i].wrong && report.rows == cases[i].rows,
                      "%s: %d wrong, %d rows", cases[i].change, (int)report.wrong,
                      (int)report.rows);
        scene_leave(&scene);
    }
}
END_TEST

START_TEST(a_file_that_is_none_or_in_use_or_under_another_key_is_said_to_be_so)
{
    struct hgi_snapshot_report report;
    struct hgi_snapshot_options options = {.path = NULL};
    struct scene scene;

    scene_enter(&scene);
    options.path = scene.path;
    ck_assert_int_eq(hgi_snapshot_verify(&options, &report, scene.sentence), HG_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(scene.sentence, scene.path));
    ck_assert_int_ne(access(scene.path, F_OK), 0);
    scene.has_key = true;
    scene_save_two(&scene);
    report = (struct hgi_snapshot_report){.wrong = 0};
    ck_assert_int_eq(hgi_snapshot_verify(&options, &report, scene.sentence), HG_OK);
    ck_assert_str_eq(report.fault, "it was written under a key_file, and none is configured");
    scene.key.bytes[0]++;
    ck_assert_str_eq(verify(&scene).fault, "it was written under another key_file");
    scene.key.bytes[0]--;
    scene_open(&scene);
    ck_assert_int_eq(hgi_snapshot_verify(&options, &report, scene.sentence),
                     HG_FAILED_PRECONDITION);
    ck_assert_ptr_nonnull(strstr(scene.sentence, "another process has the snapshot"));
    scene_close(&scene);
    options.path = scene.folder;
    ck_assert_int_eq(hgi_snapshot_verify(&options, &report, scene.sentence), HG_UNAVAILABLE);
    scene_leave(&scene);
}
END_TEST

HGI_SUITE("storage.verify", 60, a_whole_file_is_described_and_not_changed,
          what_is_only_in_the_log_is_read_and_the_log_is_kept,
          each_fault_is_counted_and_the_first_is_said,
          a_file_that_is_none_or_in_use_or_under_another_key_is_said_to_be_so)
