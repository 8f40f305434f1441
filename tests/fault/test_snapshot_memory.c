/* SPDX-License-Identifier: Apache-2.0 */
/* The snapshot while memory runs out, ours and sqlite's, at each call in turn: alone, and with all
 * after it. Nothing acknowledged is lost, and once there is memory everything works. */
#include <sqlite3.h>
#include <stdio.h>

#include "fault_memory.h"
#include "fault_vfs.h"
#include "snapshot_scene.h"

#define ROWS      12
#define CALLS_MAX 100000u

static sqlite3_mem_methods real_methods;

static void *failing_malloc(int size)
{
    return fault_memory_fails() ? NULL : real_methods.xMalloc(size);
}

static void *failing_realloc(void *pointer, int size)
{
    return fault_memory_fails() ? NULL : real_methods.xRealloc(pointer, size);
}

/* Before sqlite is used. */
static void install(void)
{
    sqlite3_mem_methods methods;

    /* Without a fork the tests before this one have used it, and installed these. */
    ck_assert_int_eq(sqlite3_shutdown(), SQLITE_OK);
    if (!real_methods.xMalloc) {
        ck_assert_int_eq(sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real_methods), SQLITE_OK);
    }
    methods = real_methods;
    methods.xMalloc = failing_malloc;
    methods.xRealloc = failing_realloc;
    ck_assert_int_eq(sqlite3_config(SQLITE_CONFIG_MALLOC, &methods), SQLITE_OK);
    ck_assert_int_eq(sqlite3_initialize(), SQLITE_OK);
    fault_install();
    fault.is_hasty = true;
}

static enum hg_status save_round(struct scene *scene, uint64_t born)
{
    return scene_try_rows(scene, ROWS, "a value of some length", born);
}

static bool see_nothing(void *context, struct hg_slice cache, const struct hgi_entry *entry)
{
    (void)context;
    (void)cache;
    (void)entry;
    return true;
}

/* A failure says so, in words. */
static void check_failure(const struct scene *scene, enum hg_status status)
{
    if (status != HG_OK) {
        ck_assert_msg(status == HG_UNAVAILABLE || status == HG_RESOURCE_EXHAUSTED, "%d", status);
        ck_assert_uint_gt(strlen(scene->sentence), 0);
        ck_assert_uint_lt(strlen(scene->sentence), HGI_SNAPSHOT_SENTENCE_MAX);
    }
}

static void check_rows(struct scene *scene, uint64_t born)
{
    ck_assert_uint_eq(scene->restored, ROWS);
    ck_assert_uint_eq(scene->dropped, 0);
    ck_assert_ptr_nonnull(scene_find(scene, "c", "key 7"));
    ck_assert_uint_eq(scene_find(scene, "c", "key 7")->entry.born, born);
}

/* A scene with a round saved, and what comes next told to fail. */
static void begin(struct scene *scene, size_t at, bool is_lasting)
{
    scene_enter(scene);
    scene_open(scene);
    ck_assert_int_eq(save_round(scene, 1), HG_OK);
    fault_memory_begin(at, is_lasting);
}

static void try_rounds(bool is_lasting)
{
    size_t calls = CALLS_MAX;

    for (size_t at = 1; at <= calls; at++) {
        struct scene scene;

        begin(&scene, at, is_lasting);
        check_failure(&scene, save_round(&scene, 2));
        calls = fault_memory->failures ? calls : at; /* the last one asks for no more */
        (void)fault_memory_end();
        ck_assert_msg(save_round(&scene, 3) == HG_OK, "after call %zu: %s", at, scene.sentence);
        scene_restart(&scene, 0);
        ck_assert(!scene.opened.is_quarantined);
        scene_restore(&scene);
        check_rows(&scene, 3);
        scene_leave(&scene);
    }
    ck_assert_uint_ge(calls, 3);
}

START_TEST(a_round_without_memory_fails_whole_and_works_once_there_is_some)
{
    install();
    try_rounds(false);
    try_rounds(true);
}
END_TEST

static void try_clears(bool is_lasting)
{
    size_t calls = CALLS_MAX;

    for (size_t at = 1; at <= calls; at++) {
        struct scene scene;
        enum hg_status status;

        begin(&scene, at, is_lasting);
        status = scene_try_clear(&scene, 2);
        check_failure(&scene, status);
        calls = fault_memory->failures ? calls : at;
        (void)fault_memory_end();
        if (status != HG_OK && at % 2) {
            ck_assert_msg(scene_try_clear(&scene, 2) == HG_OK, "after call %zu: %s", at,
                          scene.sentence); /* the retry */
            status = HG_OK;
        }
        scene_restart(&scene, 0);
        ck_assert(!scene.opened.is_quarantined);
        scene_restore(&scene);
        if (status == HG_OK) {
            ck_assert_uint_eq(scene.restored, 0);
        } else {
            check_rows(&scene, 1);
        }
        scene_leave(&scene);
    }
    ck_assert_uint_ge(calls, 3);
}

START_TEST(a_clear_without_memory_is_never_acknowledged_in_vain)
{
    install();
    try_clears(false);
    try_clears(true);
}
END_TEST

static void try_restores(bool is_lasting)
{
    size_t calls = CALLS_MAX;

    for (size_t at = 1; at <= calls; at++) {
        struct scene scene;
        uint64_t restored = 0;
        uint64_t dropped = 0;
        enum hg_status status;

        begin(&scene, 0, false);
        (void)fault_memory_end();
        scene_restart(&scene, 0);
        fault_memory_begin(at, is_lasting);
        status = hgi_snapshot_restore(scene.snapshot, &scene.now, see_nothing, NULL, &restored,
                                      &dropped, scene.sentence);
        calls = fault_memory->failures ? calls : at;
        (void)fault_memory_end();
        check_failure(&scene, status);
        ck_assert_msg(dropped == 0, "call %zu: %d rows dropped", at, (int)dropped);
        ck_assert(status != HG_OK || restored == ROWS);
        scene_restart(&scene, 0);
        ck_assert(!scene.opened.is_quarantined);
        scene_restore(&scene);
        check_rows(&scene, 1);
        scene_leave(&scene);
    }
    ck_assert_uint_ge(calls, 3);
}

START_TEST(a_restore_without_memory_takes_no_row_from_the_file)
{
    install();
    try_restores(false);
    try_restores(true);
}
END_TEST

static void try_opens(bool is_lasting)
{
    size_t calls = CALLS_MAX;

    for (size_t at = 1; at <= calls; at++) {
        struct scene scene;
        enum hg_status status;

        begin(&scene, 0, false);
        (void)fault_memory_end();
        scene_close(&scene);
        fault_memory_begin(at, is_lasting);
        status = hgi_snapshot_open(&(const struct hgi_snapshot_options){.path = scene.path},
                                   &scene.now, &scene.snapshot, &scene.opened, scene.sentence);
        calls = fault_memory->failures ? calls : at;
        (void)fault_memory_end();
        check_failure(&scene, status);
        if (status != HG_OK) {
            scene_open(&scene);
        }
        ck_assert_msg(!scene.opened.is_quarantined, "call %zu: %s", at, scene.opened.quarantine);
        scene_restore(&scene);
        check_rows(&scene, 1);
        scene_leave(&scene);
    }
    ck_assert_uint_ge(calls, 3);
}

START_TEST(a_file_that_is_opened_without_memory_is_not_moved_aside)
{
    install();
    try_opens(false);
    try_opens(true);
}
END_TEST

HGI_SUITE("fault.snapshot", 120, a_round_without_memory_fails_whole_and_works_once_there_is_some,
          a_clear_without_memory_is_never_acknowledged_in_vain,
          a_restore_without_memory_takes_no_row_from_the_file,
          a_file_that_is_opened_without_memory_is_not_moved_aside)
