/* SPDX-License-Identifier: Apache-2.0 */
/* The Nth write, sync, rename, unlink and folder's sync of a snapshot's life fails, for every N:
 * whoever was told OK finds it so afterwards, whoever was not is told why, and the next try works.
 */
#include <stdio.h>
#include <sys/stat.h>

#include "disk_fault.h"
#include "fault_vfs.h"
#include "snapshot_scene.h"

enum fault_kind { FAULT_WRITE, FAULT_SYNC, FAULT_RENAME, FAULT_UNLINK, FAULT_FOLDER, FAULT_KINDS };

#define ROWS 20

/* One life, and what was acknowledged in it. */
struct life {
    struct scene scene;
    uint64_t generation; /* the last handed out */
    uint64_t cleared;    /* acknowledged */
    uint64_t saved;      /* born of the last round that was */
    size_t failures;
};

static void set_fault(enum fault_kind kind, size_t at)
{
    fault_install();
    memset(&disk_fault, 0, sizeof(disk_fault));
    switch (kind) {
    case FAULT_WRITE:
        fault.fail_write_at = at;
        break;
    case FAULT_SYNC:
        fault.fail_sync_at = at;
        break;
    case FAULT_RENAME:
        disk_fault.fail_at[DISK_RENAME] = at;
        break;
    case FAULT_UNLINK:
        disk_fault.fail_at[DISK_UNLINK] = at;
        break;
    default:
        disk_fault.fail_at[DISK_FSYNC] = at;
        break;
    }
}

/* Whether what was set has come about. */
static bool has_failed(enum fault_kind kind)
{
    return kind == FAULT_WRITE  ? fault.fail_write_at == 0
           : kind == FAULT_SYNC ? fault.fail_sync_at == 0
                                : disk_fault.has_failed;
}

/* A failure is said in a sentence that names the file. */
static bool is_done(struct life *life, enum hg_status status)
{
    if (status == HG_OK) {
        return true;
    }
    ck_assert_int_eq(status, HG_UNAVAILABLE);
    ck_assert_msg(strstr(life->scene.sentence, life->scene.folder) != NULL, "%s",
                  life->scene.sentence);
    life->failures++;
    return false;
}

static enum hg_status put_rows(struct life *life, struct hgi_snapshot *snapshot)
{
    struct scene *scene = &life->scene;
    enum hg_status status =
        hgi_snapshot_begin(snapshot, HGI_SNAPSHOT_BEHIND, &scene->now, scene->sentence);

    for (int i = 0; i < ROWS && status == HG_OK; i++) {
        char key[16];
        struct hgi_entry entry;

        snprintf(key, sizeof(key), "key %d", i);
        entry = scene_entry(scene, key, "value", life->generation);
        status =
            hgi_snapshot_put(snapshot, hg_slice_text("c"), &entry, &scene->now, scene->sentence);
    }
    return status == HG_OK
               ? hgi_snapshot_commit(snapshot, life->generation, &scene->now, scene->sentence)
               : status;
}

static void save(struct life *life)
{
    if (is_done(life, put_rows(life, life->scene.snapshot))) {
        life->saved = life->generation;
        (void)is_done(life, hgi_snapshot_checkpoint(life->scene.snapshot, life->scene.sentence));
    }
}

static enum hg_status clear_in(struct life *life, struct hgi_snapshot *snapshot)
{
    struct scene *scene = &life->scene;
    enum hg_status status =
        hgi_snapshot_begin(snapshot, HGI_SNAPSHOT_DURABLE, &scene->now, scene->sentence);

    if (status == HG_OK) {
        status =
            hgi_snapshot_clear(snapshot, hg_slice_text("c"), life->generation, scene->sentence);
    }
    return status == HG_OK
               ? hgi_snapshot_commit(snapshot, life->generation, &scene->now, scene->sentence)
               : status;
}

static void clear(struct life *life)
{
    life->generation++;
    if (is_done(life, clear_in(life, life->scene.snapshot))) {
        life->cleared = life->generation;
    }
}

static ino_t file_number(const struct scene *scene, const char *suffix)
{
    char path[PATH_MAX];
    struct stat found;

    snprintf(path, sizeof(path), "%s%s", scene->path, suffix);
    ck_assert_int_eq(stat(path, &found), 0);
    return found.st_ino;
}

/* As the snapshotter does: a clear in the middle goes into both. */
static void save_beside(struct life *life)
{
    struct scene *scene = &life->scene;
    struct hgi_snapshot *beside = NULL;
    ino_t fresh;

    if (!is_done(life, hgi_snapshot_open_beside(scene->snapshot, &beside, scene->sentence))) {
        return;
    }
    if (!is_done(life, put_rows(life, beside))) {
        hgi_snapshot_close(&beside);
        return;
    }
    clear(life);
    if (!is_done(life, clear_in(life, beside)) || !is_done(life, put_rows(life, beside))) {
        hgi_snapshot_close(&beside);
        return;
    }
    fresh = file_number(scene, ".new");
    if (is_done(life, hgi_snapshot_replace(scene->snapshot, &beside, scene->sentence))) {
        ck_assert_uint_eq(file_number(scene, ""), fresh);
        life->saved = life->generation;
    }
}

static bool open_again(struct life *life)
{
    struct scene *scene = &life->scene;
    const struct hgi_snapshot_options options = {.path = scene->path};

    hgi_snapshot_close(&scene->snapshot);
    return is_done(life, hgi_snapshot_open(&options, &scene->now, &scene->snapshot, &scene->opened,
                                           scene->sentence));
}

static void check(struct life *life)
{
    struct scene *scene = &life->scene;

    scene_restore(scene);
    for (size_t i = 0; i < scene->restored; i++) {
        ck_assert_uint_ge(scene->seen[i].entry.born, life->cleared);
    }
}

/* Some of everything that a snapshot does in its life. */
static void live(struct life *life)
{
    if (!open_again(life) && !open_again(life)) {
        ck_abort_msg("one fault, two failures: %s", life->scene.sentence);
    }
    save(life);
    clear(life);
    save(life);
    save_beside(life);
    save(life);
    clear(life);
    if (!open_again(life) && !open_again(life)) {
        ck_abort_msg("one fault, two failures: %s", life->scene.sentence);
    }
}

START_TEST(whatever_fails_once_costs_nothing_that_was_acknowledged)
{
    static const size_t least[FAULT_KINDS] = {20, 8, 1, 2, 4};

    for (int kind = 0; kind < FAULT_KINDS; kind++) {
        size_t count = 0;
        size_t told = 0;
        bool is_over = false;

        for (size_t at = 1; !is_over; at++) {
            struct life life;

            memset(&life, 0, sizeof(life));
            scene_enter(&life.scene);
            life.generation = 1;
            set_fault((enum fault_kind)kind, at);
            live(&life);
            is_over = !has_failed((enum fault_kind)kind);
            count += !is_over;
            told += life.failures > 0;
            set_fault(FAULT_WRITE, 0);
            scene_restart(&life.scene, 0);
            ck_assert(!life.scene.opened.is_quarantined);
            check(&life);
            /* And it works again. */
            life.generation++;
            save(&life);
            ck_assert_uint_eq(life.saved, life.generation);
            scene_restart(&life.scene, 0);
            scene_restore(&life.scene);
            ck_assert_uint_eq(life.scene.restored, ROWS);
            scene_leave(&life.scene);
        }
        ck_assert_msg(count >= least[kind] && told > 0, "kind %d: %zu faults, %zu told", kind,
                      count, told);
    }
}
END_TEST

HGI_SUITE("storage.snapshot_nth", 120, whatever_fails_once_costs_nothing_that_was_acknowledged)
