/* SPDX-License-Identifier: Apache-2.0 */
/* The file in use is looked at between transactions, and what is found is true of it. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "snapshot_scene.h"
#include "storage/snapshot/inside.h"

#define PAGES 40 /* more than a portion */

/* A page each. */
static void save_pages(struct scene *scene, uint64_t born)
{
    char *value = malloc(HGI_PAGE_BYTES + 1);

    ck_assert_ptr_nonnull(value);
    memset(value, 'v', HGI_PAGE_BYTES);
    value[HGI_PAGE_BYTES] = '\0';
    scene_begin(scene, HGI_SNAPSHOT_BEHIND);
    for (int i = 0; i < PAGES; i++) {
        struct hgi_entry entry;
        char key[16];

        snprintf(key, sizeof(key), "key %d", i);
        entry = scene_entry(scene, key, value, born);
        scene_put(scene, "c", &entry);
    }
    scene_commit(scene, born);
    free(value);
}

static struct hgi_snapshot_check begin(struct scene *scene)
{
    struct hgi_snapshot_check check;

    ck_assert_msg(hgi_snapshot_check_begin(scene->snapshot, &check, scene->sentence) == HG_OK, "%s",
                  scene->sentence);
    return check;
}

static bool next(struct scene *scene, struct hgi_snapshot_check *check)
{
    bool is_done = false;

    ck_assert_msg(hgi_snapshot_check_next(scene->snapshot, check, &is_done, scene->sentence) ==
                      HG_OK,
                  "%s", scene->sentence);
    return is_done;
}

static struct hgi_snapshot_report check_all(struct scene *scene)
{
    struct hgi_snapshot_check check = begin(scene);

    while (!next(scene, &check)) {
    }
    return check.report;
}

/* Changes a byte of the file in use, as a failing disk does. */
static void damage(struct scene *scene, const char *text)
{
    size_t len = strlen(text);
    size_t size;
    char *bytes;
    char *at;
    int fd;

    ck_assert_int_eq(hgi_snapshot_checkpoint(scene->snapshot, scene->sentence), HG_OK);
    size = scene_file_size(scene, "");
    bytes = malloc(size);
    fd = open(scene->path, O_RDWR);
    ck_assert(bytes && fd >= 0 && pread(fd, bytes, size, 0) == (ssize_t)size);
    at = memmem(bytes, size, text, len);
    ck_assert_ptr_nonnull(at);
    *at ^= 1;
    ck_assert_int_eq(pwrite(fd, at, 1, at - bytes), 1);
    close(fd);
    free(bytes);
}

START_TEST(a_file_in_use_is_read_in_portions_between_transactions)
{
    for (int mode = 0; mode < 3; mode++) {
        struct hgi_snapshot_check check;
        struct scene scene;

        scene_enter(&scene);
        scene.has_key = mode > 0;
        scene.is_encrypted = mode == 2;
        scene_open(&scene);
        save_pages(&scene, 1);
        check = begin(&scene);
        ck_assert_uint_eq(check.pages_total, PAGES);
        ck_assert(!next(&scene, &check));
        ck_assert_uint_gt(check.report.pages, 0);
        ck_assert_uint_lt(check.report.pages, PAGES);
        save_pages(&scene, 2); /* pages that are written since are not looked at */
        while (!next(&scene, &check)) {
        }
        ck_assert_msg(check.report.wrong == 0, "%s", check.report.fault);
        ck_assert_uint_eq(check.report.pages, PAGES);
        ck_assert_uint_eq(check.report.rows, PAGES);
        ck_assert_uint_eq(check.report.caches, 1);
        ck_assert_uint_eq(check.report.high_water, 1);
        ck_assert(check.report.is_structure_checked);
        ck_assert(check.report.is_keyed == (mode > 0) && check.report.is_encrypted == (mode == 2));
        ck_assert(next(&scene, &check)); /* done stays done */
        scene_leave(&scene);
    }
}
END_TEST

START_TEST(what_leaves_the_file_meanwhile_is_no_fault)
{
    struct hgi_snapshot_check check;
    struct scene scene;

    scene_enter(&scene);
    scene_open(&scene);
    save_pages(&scene, 1);
    check = begin(&scene);
    ck_assert(!next(&scene, &check));
    scene_clear(&scene, "c", 2);
    scene_begin(&scene, HGI_SNAPSHOT_BEHIND); /* takes pages out */
    scene_commit(&scene, 2);
    scene_begin(&scene, HGI_SNAPSHOT_BEHIND);
    hgi_snapshot_rollback(scene.snapshot); /* forgets the caches */
    while (!next(&scene, &check)) {
    }
    ck_assert_msg(check.report.wrong == 0, "%s", check.report.fault);
    ck_assert_uint_lt(check.report.pages, PAGES);
    /* And numbers of pages that are gone are not given again. */
    ck_assert_uint_eq(check_all(&scene).wrong, 0);
    save_pages(&scene, 3);
    ck_assert_uint_eq(check_all(&scene).wrong, 0);
    scene_leave(&scene);
}
END_TEST

START_TEST(damage_under_the_server_is_found_though_memory_has_the_page)
{
    struct hgi_snapshot_report report;
    struct hgi_entry entry;
    struct scene scene;

    scene_enter(&scene);
    scene_open(&scene);
    entry = scene_entry(&scene, "one", "first value", 1);
    scene_save(&scene, "c", &entry);
    entry = scene_entry(&scene, "two", "second value", 1);
    scene_save(&scene, "c", &entry);
    ck_assert_uint_eq(check_all(&scene).wrong, 0);
    damage(&scene, "second value");
    report = check_all(&scene);
    ck_assert_uint_eq(report.wrong, 1);
    ck_assert_uint_eq(report.rows, 1);
    ck_assert_str_eq(report.fault, "row 1 of page 2 of cache c is not what was written");
    /* It is still of use. */
    entry = scene_entry(&scene, "three", "third value", 2);
    scene_save(&scene, "c", &entry);
    ck_assert_uint_eq(check_all(&scene).rows, 2);
    scene_leave(&scene);
}
END_TEST

START_TEST(a_record_that_is_not_the_one_written_last_is_a_fault)
{
    struct hgi_snapshot_report report;
    struct hgi_entry entry;
    struct scene scene;

    scene_enter(&scene);
    scene_open(&scene);
    entry = scene_entry(&scene, "one", "first value", 7);
    scene_save(&scene, "c", &entry);
    scene.snapshot->meta.high_water = 8; /* as if the disk had not kept a write */
    report = check_all(&scene);
    ck_assert_uint_eq(report.wrong, 1);
    ck_assert_str_eq(report.fault, "its own record is an older one");
    scene.snapshot->meta.high_water = 7;
    ck_assert_uint_eq(check_all(&scene).wrong, 0);
    scene_leave(&scene);
}
END_TEST

START_TEST(a_file_written_anew_is_looked_at_from_the_beginning)
{
    struct hgi_snapshot_check check;
    struct hgi_snapshot *beside = NULL;
    struct scene scene;
    bool is_done = false;

    scene_enter(&scene);
    scene_open(&scene);
    save_pages(&scene, 1);
    check = begin(&scene);
    ck_assert_int_eq(hgi_snapshot_open_beside(scene.snapshot, &beside, scene.sentence), HG_OK);
    ck_assert_int_eq(hgi_snapshot_replace(scene.snapshot, &beside, scene.sentence), HG_OK);
    ck_assert_int_eq(hgi_snapshot_check_next(scene.snapshot, &check, &is_done, scene.sentence),
                     HG_ABORTED);
    ck_assert(!is_done);
    ck_assert_uint_eq(check_all(&scene).wrong, 0);
    ck_assert_uint_eq(check_all(&scene).pages, 0);
    scene_leave(&scene);
}
END_TEST

START_TEST(a_file_that_was_moved_or_given_up_is_said_to_be_so)
{
    struct hgi_snapshot_check check;
    struct hgi_snapshot_report report;
    struct scene scene;
    char aside[256];

    scene_enter(&scene);
    scene_save_two(&scene);
    scene_open(&scene);
    snprintf(aside, sizeof(aside), "%s-aside", scene.path);
    ck_assert_int_eq(rename(scene.path, aside), 0);
    report = check_all(&scene);
    ck_assert_uint_eq(report.wrong, 1);
    ck_assert_str_eq(report.fault, "the file was removed or replaced while in use");
    hgi_db_close(&scene.snapshot->db);
    ck_assert_int_eq(hgi_snapshot_check_begin(scene.snapshot, &check, scene.sentence),
                     HG_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(scene.sentence, "has been given up after a failure"));
    scene_leave(&scene);
}
END_TEST

START_TEST(facts_are_those_of_the_file)
{
    struct hgi_snapshot_facts facts;
    struct scene scene;

    scene_enter(&scene);
    scene.has_key = true;
    scene_save_two(&scene);
    scene_open(&scene);
    scene_forget(&scene, "c", "one", 2);
    hgi_snapshot_facts(scene.snapshot, &facts);
    ck_assert_uint_eq(facts.file_bytes, scene_file_size(&scene, ""));
    ck_assert_uint_eq(facts.log_bytes, scene_file_size(&scene, "-wal"));
    ck_assert_uint_gt(facts.log_bytes, 0);
    ck_assert(facts.version == 4000 && facts.pages == 1 && facts.invalidations == 1);
    ck_assert(facts.high_water == 2 && facts.saved_wall_ms == scene.now.wall_ms);
    ck_assert(facts.is_keyed && !facts.is_encrypted);
    ck_assert_int_eq(
        strcmp(hgi_snapshot_path(scene.snapshot) + strlen(hgi_snapshot_path(scene.snapshot)) - 9,
               "/cache.db"),
        0);
    scene_leave(&scene);
}
END_TEST

HGI_SUITE("storage.check", 60, a_file_in_use_is_read_in_portions_between_transactions,
          what_leaves_the_file_meanwhile_is_no_fault,
          damage_under_the_server_is_found_though_memory_has_the_page,
          a_record_that_is_not_the_one_written_last_is_a_fault,
          a_file_written_anew_is_looked_at_from_the_beginning,
          a_file_that_was_moved_or_given_up_is_said_to_be_so, facts_are_those_of_the_file)
