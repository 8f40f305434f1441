/* SPDX-License-Identifier: Apache-2.0 */
/* Files that programs of before wrote (old/README.md) are taken over, whole or not at all. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "disk_fault.h"
#include "fault_vfs.h"
#include "snapshot_scene.h"
#include "storage/snapshot/inside.h"

#define OLD_FILES HGI_SOURCE_DIR "/tests/storage/old/"
#define MANY      40u /* keys of the cache "many" */
#define ROWS      (4u + MANY)
#define LEFT      2u /* that were cleared */

static void copy(const char *from, const char *to)
{
    static char bytes[1 << 20];
    int in = open(from, O_RDONLY);
    int out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ssize_t size = read(in, bytes, sizeof(bytes));

    ck_assert(in >= 0 && out >= 0 && size > 0 && write(out, bytes, (size_t)size) == size);
    close(in);
    close(out);
}

/* Puts the old file in the place of the scene's, and its log, if it has one. */
static void bring(struct scene *scene, const char *name)
{
    char from[512];
    char to[256];

    snprintf(to, sizeof(to), "%s/state", scene->folder);
    (void)mkdir(to, 0700);
    snprintf(from, sizeof(from), OLD_FILES "%s", name);
    copy(from, scene->path);
    snprintf(from, sizeof(from), OLD_FILES "%s-wal", name);
    snprintf(to, sizeof(to), "%s-wal", scene->path);
    (void)unlink(to);
    if (access(from, F_OK) == 0) {
        copy(from, to);
    }
}

static void enter(struct scene *scene, const char *name)
{
    scene_enter(scene);
    scene->now.wall_ms += 3000; /* the old programs wrote at the scene's own time */
    bring(scene, name);
}

static void check_taken_over(struct scene *scene, bool has_etags)
{
    const struct seen *one;
    const struct seen *two;
    const struct seen *until;

    ck_assert(!scene->opened.is_quarantined && !scene->opened.is_new);
    ck_assert_uint_eq(scene->opened.high_water, 22);
    ck_assert_int_eq(scene->opened.saved_wall_ms, scene->now.wall_ms - 3000);
    scene_restore(scene);
    ck_assert_uint_eq(scene->restored, ROWS);
    ck_assert_uint_eq(scene->dropped, 0);
    one = scene_find(scene, "auth", "one");
    two = scene_find(scene, "auth", "two");
    until = scene_find(scene, "auth", "until");
    ck_assert(one && two && until && scene_find(scene, "many", "key 39"));
    ck_assert(scene_find(scene, "auth", "tagged") && !scene_find(scene, "auth", "forgotten") &&
              !scene_find(scene, "cleared", "x"));
    ck_assert_str_eq(one->value, "first value");
    ck_assert(one->entry.born == 10 && one->entry.tag_count == 2);
    ck_assert_uint_eq(one->entry.etag.len, has_etags ? 6 : 0);
    /* 2 s old when it was written, and 3 s have gone by. */
    ck_assert_int_eq(scene->now.boot_ms - one->entry.published_ms, 5000);
    ck_assert(one->entry.ttl_ms == 10000 && one->entry.stale_ttl_ms == 60000);
    ck_assert_int_eq(two->entry.outcome, HG_ABSENT);
    ck_assert_int_eq(until->entry.expires_wall_ms, scene->now.wall_ms + 27000);
    ck_assert_int_eq(until->entry.expires_boot_ms, scene->now.boot_ms + 27000);
}

static void check_whole(struct scene *scene)
{
    const struct hgi_snapshot_options options = {.path = scene->path,
                                                 .key = scene->has_key ? &scene->key : NULL};
    struct hgi_snapshot_report report;

    scene_close(scene);
    ck_assert_int_eq(hgi_snapshot_verify(&options, &report, scene->sentence), HG_OK);
    ck_assert_msg(report.wrong == 0, "%s", report.fault);
    ck_assert_uint_eq(report.rows, ROWS);
    ck_assert(report.is_keyed == scene->has_key && report.is_encrypted == scene->is_encrypted);
}

START_TEST(a_file_of_each_version_is_taken_over_under_the_present_options)
{
    static const struct {
        const char *name;
        uint32_t version;
    } olds[] = {{"v2.db", 2000}, {"v3.db", 3000}, {"v3-killed.db", 3000}};

    for (size_t i = 0; i < 3 * HGI_COUNT_OF(olds); i++) {
        struct scene scene;

        enter(&scene, olds[i / 3].name);
        scene.has_key = i % 3 > 0;
        scene.is_encrypted = i % 3 == 2;
        scene_open(&scene);
        ck_assert_uint_eq(scene.opened.migrated_from, olds[i / 3].version);
        ck_assert_uint_eq(scene.opened.migrated_rows, ROWS);
        ck_assert_uint_eq(scene.opened.left_rows, LEFT);
        check_taken_over(&scene, olds[i / 3].version == 3000);
        check_whole(&scene);
        ck_assert(scene_file_contains(&scene, "", "first value") == !scene.is_encrypted);
        ck_assert(!scene_file_contains(&scene, "", "must not come back"));
        ck_assert_uint_eq(scene_count_files(&scene, "corrupt"), 0);
        ck_assert_uint_eq(scene_count_files(&scene, ".new"), 0);
        scene_open(&scene); /* once */
        ck_assert_uint_eq(scene.opened.migrated_from, 0);
        scene_leave(&scene);
    }
}
END_TEST

START_TEST(what_was_taken_over_is_found_by_invalidations_and_clears)
{
    const struct hgi_snapshot_tag tag = {.name = hg_slice_text("\x01user-1"), .generation = 30};
    struct scene scene;

    enter(&scene, "v3.db");
    scene_open(&scene);
    scene_begin(&scene, HGI_SNAPSHOT_DURABLE);
    ck_assert_int_eq(
        hgi_snapshot_forget_tags(scene.snapshot, hg_slice_text("auth"), &tag, 1, scene.sentence),
        HG_OK);
    scene_commit(&scene, 30);
    scene_forget(&scene, "auth", "two", 31);
    scene_clear(&scene, "many", 32);
    scene_restart(&scene, 0);
    scene_restore(&scene);
    ck_assert_uint_eq(scene.restored, 2);
    ck_assert(scene_find(&scene, "auth", "until") && scene_find(&scene, "auth", "tagged"));
    scene_leave(&scene);
}
END_TEST

START_TEST(a_clock_behind_the_last_save_brings_nothing_back)
{
    struct scene scene;

    enter(&scene, "v3.db");
    scene.now.wall_ms -= 3001;
    scene_open(&scene);
    ck_assert_uint_eq(scene.opened.migrated_rows, ROWS);
    scene_restore(&scene);
    ck_assert_uint_eq(scene.restored, 0);
    ck_assert_uint_eq(scene.opened.high_water, 22);
    scene_leave(&scene);
}
END_TEST

START_TEST(damage_costs_what_is_damaged)
{
    static const struct {
        const char *change;
        size_t restored;
    } cases[] = {
        {"UPDATE rows SET value = x'00' WHERE key = CAST('one' AS BLOB)", ROWS - 1},
        {"UPDATE rows SET tags = x'' WHERE key = CAST('one' AS BLOB)", ROWS - 1},
        {"UPDATE rows SET born = 23 WHERE key = CAST('one' AS BLOB)", ROWS - 1},
        {"UPDATE caches SET cleared = 0 WHERE id = 3", ROWS},
        {"UPDATE caches SET cleared = 5 WHERE id = 1", MANY},
        {"DELETE FROM caches WHERE id = 2", 4},
    };

    for (size_t i = 0; i < HGI_COUNT_OF(cases); i++) {
        struct scene scene;

        enter(&scene, "v3.db");
        scene_sql(&scene, cases[i].change);
        scene_open(&scene);
        scene_restore(&scene);
        ck_assert_msg(scene.restored == cases[i].restored, "%s: %d", cases[i].change,
                      (int)scene.restored);
        ck_assert_uint_eq(scene.opened.migrated_rows + scene.opened.left_rows, ROWS + LEFT);
        scene_leave(&scene);
    }
}
END_TEST

START_TEST(a_file_that_cannot_be_taken_over_is_moved_aside)
{
    static const struct {
        const char *change;
        const char *words;
    } cases[] = {
        {"UPDATE meta SET high_water = 21", "its own record is not what was written"},
        {"DELETE FROM meta", "its own record is missing"},
        {"PRAGMA user_version = 1000", "it is of version 1000, this program reads version 4000"},
        {"PRAGMA user_version = 2000", "its tables are not those of version 2000"},
        {"CREATE INDEX more ON rows (born)", "its tables are not those of version 3000"},
    };

    for (size_t i = 0; i < HGI_COUNT_OF(cases); i++) {
        struct scene scene;

        enter(&scene, "v3.db");
        scene_sql(&scene, cases[i].change);
        scene_expect_moved_aside(&scene, cases[i].words);
    }
}
END_TEST

START_TEST(at_rest_it_is_said_who_takes_it_over)
{
    struct hgi_snapshot_options options = {.path = NULL};
    struct hgi_snapshot_report report;
    struct scene scene;

    enter(&scene, "v3.db");
    options.path = scene.path;
    ck_assert_int_eq(hgi_snapshot_verify(&options, &report, scene.sentence), HG_OK);
    ck_assert_uint_eq(report.wrong, 1);
    ck_assert_str_eq(report.fault,
                     "it is of a version before 4000, which a server takes over when it starts");
    scene_leave(&scene);
}
END_TEST

/* ---- whatever fails, and whenever it ends ---- */

enum fault_kind { FAULT_WRITE, FAULT_SYNC, FAULT_RENAME, FAULT_UNLINK, FAULT_FOLDER, FAULT_KINDS };

static void set_fault(enum fault_kind kind, size_t at, bool is_deadly)
{
    static const enum disk_call calls[] = {
        [FAULT_RENAME] = DISK_RENAME, [FAULT_UNLINK] = DISK_UNLINK, [FAULT_FOLDER] = DISK_FSYNC};

    fault_install();
    fault.is_hasty = true;
    fault.is_deadly = is_deadly;
    disk_fault = (struct disk_fault){.is_deadly = is_deadly};
    if (kind == FAULT_WRITE) {
        fault.fail_write_at = at;
    } else if (kind == FAULT_SYNC) {
        fault.fail_sync_at = at;
    } else {
        disk_fault.fail_at[calls[kind]] = at;
    }
}

static bool has_failed(enum fault_kind kind)
{
    return kind == FAULT_WRITE  ? fault.fail_write_at == 0
           : kind == FAULT_SYNC ? fault.fail_sync_at == 0
                                : disk_fault.has_failed;
}

static enum hg_status open_file(struct scene *scene)
{
    const struct hgi_snapshot_options options = {.path = scene->path};

    return hgi_snapshot_open(&options, &scene->now, &scene->snapshot, &scene->opened,
                             scene->sentence);
}

START_TEST(whatever_fails_once_either_file_is_there_and_the_next_try_works)
{
    static const size_t least[FAULT_KINDS] = {10, 3, 1, 0, 1};

    for (int kind = 0; kind < FAULT_KINDS; kind++) {
        size_t count = 0;
        bool is_over = false;

        for (size_t at = 1; !is_over; at++) {
            struct scene scene;

            enter(&scene, "v3-killed.db");
            set_fault((enum fault_kind)kind, at, false);
            if (open_file(&scene) != HG_OK) {
                ck_assert_msg(strstr(scene.sentence, scene.folder) != NULL, "%s", scene.sentence);
                ck_assert_ptr_null(scene.snapshot);
            }
            hgi_snapshot_close(&scene.snapshot);
            is_over = !has_failed((enum fault_kind)kind);
            count += !is_over;
            set_fault(FAULT_WRITE, 0, false);
            scene_open(&scene);
            check_taken_over(&scene, true);
            check_whole(&scene);
            scene_leave(&scene);
        }
        ck_assert_msg(count >= least[kind], "kind %d: %zu", kind, count);
    }
}
END_TEST

/* At each call that changes the disk the process ends, as by kill -9. */
START_TEST(killed_at_any_call_it_leaves_one_of_the_two)
{
    static const size_t least[FAULT_KINDS] = {10, 3, 1, 0, 1};

    for (int kind = 0; kind < FAULT_KINDS; kind++) {
        size_t count = 0;
        bool is_over = false;

        for (size_t at = 1; !is_over; at++) {
            struct scene scene;
            int status;
            pid_t pid;

            enter(&scene, "v3-killed.db");
            pid = fork();
            ck_assert_int_ge(pid, 0);
            if (pid == 0) {
                set_fault((enum fault_kind)kind, at, true);
                _exit(open_file(&scene) != HG_OK);
            }
            ck_assert(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
            ck_assert(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == FAULT_DEATH);
            is_over = WEXITSTATUS(status) == 0;
            count += !is_over;
            scene_open(&scene);
            check_taken_over(&scene, true);
            check_whole(&scene);
            scene_leave(&scene);
        }
        ck_assert_msg(count >= least[kind], "kind %d: %zu", kind, count);
    }
}
END_TEST

HGI_SUITE("storage.migrate", 60, a_file_of_each_version_is_taken_over_under_the_present_options,
          what_was_taken_over_is_found_by_invalidations_and_clears,
          a_clock_behind_the_last_save_brings_nothing_back, damage_costs_what_is_damaged,
          a_file_that_cannot_be_taken_over_is_moved_aside, at_rest_it_is_said_who_takes_it_over,
          whatever_fails_once_either_file_is_there_and_the_next_try_works,
          killed_at_any_call_it_leaves_one_of_the_two)
