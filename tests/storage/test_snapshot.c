/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "snapshot_scene.h"

START_TEST(every_outcome_comes_back_as_it_was_saved)
{
    struct scene scene;
    struct hgi_entry entry;
    const struct seen *seen;

    scene_enter(&scene);
    scene_open(&scene);
    ck_assert(scene.opened.is_new && !scene.opened.is_quarantined);
    ck_assert_uint_eq(scene.opened.high_water, 0);
    scene_begin(&scene, HGI_SNAPSHOT_BEHIND);
    entry = scene_entry(&scene, "k", "in one", 7);
    scene_put(&scene, "one", &entry);
    entry = scene_entry(&scene, "k", "in two", 8);
    scene_put(&scene, "two", &entry);
    entry = scene_entry(&scene, "empty", "", 9);
    scene_put(&scene, "one", &entry);
    entry = scene_entry(&scene, "absent", "", 10);
    entry.outcome = HG_ABSENT;
    scene_put(&scene, "one", &entry);
    entry.outcome = HG_DENIED;
    entry.key = hg_slice_text("denied");
    entry.value = hg_slice_text("why");
    scene_put(&scene, "one", &entry);
    scene_commit(&scene, 11);
    scene_restart(&scene, 0);
    ck_assert(!scene.opened.is_new);
    ck_assert_int_eq(scene.opened.saved_wall_ms, scene.now.wall_ms);
    scene_restore(&scene);
    ck_assert_uint_eq(scene.restored, 5);
    ck_assert_uint_eq(scene.dropped, 0);
    seen = scene_find(&scene, "one", "k");
    ck_assert(seen && strcmp(seen->value, "in one") == 0);
    ck_assert_int_eq(seen->entry.outcome, HG_VALUE);
    ck_assert_uint_eq(seen->entry.born, 7);
    ck_assert_int_eq(seen->entry.ttl_ms, 10000);
    ck_assert_int_eq(seen->entry.stale_ttl_ms, 60000);
    ck_assert_int_eq(seen->entry.expires_wall_ms, 0);
    seen = scene_find(&scene, "two", "k");
    ck_assert(seen && strcmp(seen->value, "in two") == 0 && seen->entry.born == 8);
    seen = scene_find(&scene, "one", "empty");
    ck_assert(seen && seen->value_len == 0 && seen->entry.outcome == HG_VALUE);
    seen = scene_find(&scene, "one", "absent");
    ck_assert(seen && seen->entry.outcome == HG_ABSENT);
    seen = scene_find(&scene, "one", "denied");
    ck_assert(seen && seen->entry.outcome == HG_DENIED && strcmp(seen->value, "why") == 0);
    scene_leave(&scene);
}
END_TEST

START_TEST(saving_a_key_again_replaces_its_row)
{
    struct scene scene;
    struct hgi_entry entry;
    uint64_t rows = 0;

    scene_enter(&scene);
    scene_open(&scene);
    entry = scene_entry(&scene, "k", "old", 1);
    scene_save(&scene, "c", &entry);
    entry = scene_entry(&scene, "k", "new", 2);
    scene_save(&scene, "c", &entry);
    ck_assert_int_eq(hgi_snapshot_rows(scene.snapshot, hg_slice_text("c"), &rows, scene.sentence),
                     HG_OK);
    ck_assert_uint_eq(rows, 1);
    scene_restart(&scene, 0);
    scene_restore(&scene);
    ck_assert_str_eq(scene_find(&scene, "c", "k")->value, "new");
    scene_leave(&scene);
}
END_TEST

START_TEST(a_restored_entry_has_the_time_it_had_left_less_the_time_down)
{
    struct scene scene;
    struct hgi_entry entry;
    const struct seen *seen;

    scene_enter(&scene);
    scene_open(&scene);
    entry = scene_entry(&scene, "k", "v", 1);
    scene.now.boot_ms += 3000; /* 3 s old when it is saved */
    scene.now.wall_ms += 3000;
    scene_save(&scene, "c", &entry);
    scene_restart(&scene, 4000);
    scene_restore(&scene);
    seen = scene_find(&scene, "c", "k");
    ck_assert_ptr_nonnull(seen);
    ck_assert_int_eq(scene.now.boot_ms - seen->entry.published_ms, 7000);
    ck_assert_int_eq(seen->entry.ttl_ms, 10000); /* 3 s of freshness left */
    /* Down for longer than it was fresh: it comes back stale, ... */
    scene_restart(&scene, 50000);
    scene_restore(&scene);
    seen = scene_find(&scene, "c", "k");
    ck_assert_ptr_nonnull(seen);
    ck_assert_int_eq(scene.now.boot_ms - seen->entry.published_ms, 57000);
    /* ... to the last millisecond, ... */
    scene_restart(&scene, 3000);
    scene_restore(&scene);
    ck_assert_ptr_nonnull(scene_find(&scene, "c", "k"));
    /* ... and not after it. */
    scene_restart(&scene, 1);
    scene_restore(&scene);
    ck_assert_uint_eq(scene.restored, 0);
    ck_assert_uint_eq(scene.dropped, 0);
    scene_leave(&scene);
}
END_TEST

START_TEST(expires_at_ends_an_entry_on_either_clock)
{
    struct scene scene;
    struct hgi_entry entry;
    const struct seen *seen;

    scene_enter(&scene);
    scene_open(&scene);
    scene_begin(&scene, HGI_SNAPSHOT_BEHIND);
    entry = scene_entry(&scene, "wall", "v", 1);
    entry.expires_wall_ms = scene.now.wall_ms + 5000;
    entry.expires_boot_ms = scene.now.boot_ms + 9000;
    scene_put(&scene, "c", &entry);
    entry = scene_entry(&scene, "boot", "v", 1);
    entry.expires_wall_ms = scene.now.wall_ms + 9000; /* the wall clock was set back since */
    entry.expires_boot_ms = scene.now.boot_ms + 5000;
    scene_put(&scene, "c", &entry);
    entry = scene_entry(&scene, "past", "v", 1);
    entry.expires_wall_ms = scene.now.wall_ms;
    entry.expires_boot_ms = scene.now.boot_ms;
    scene_put(&scene, "c", &entry);
    scene_commit(&scene, 1);
    scene_restart(&scene, 2000);
    scene_restore(&scene);
    ck_assert_uint_eq(scene.restored, 2);
    seen = scene_find(&scene, "c", "wall");
    ck_assert_ptr_nonnull(seen);
    ck_assert_int_eq(seen->entry.expires_wall_ms, scene.now.wall_ms + 3000);
    ck_assert_int_eq(seen->entry.expires_boot_ms, scene.now.boot_ms + 3000);
    seen = scene_find(&scene, "c", "boot");
    ck_assert_ptr_nonnull(seen);
    ck_assert_int_eq(seen->entry.expires_boot_ms, scene.now.boot_ms + 3000);
    scene_restart(&scene, 2999);
    scene_restore(&scene);
    ck_assert_uint_eq(scene.restored, 2);
    scene_restart(&scene, 1);
    scene_restore(&scene);
    ck_assert_uint_eq(scene.restored, 0);
    scene_leave(&scene);
}
END_TEST

START_TEST(an_entry_that_is_over_takes_the_row_it_replaced_away)
{
    struct scene scene;
    struct hgi_entry entry;

    scene_enter(&scene);
    scene_open(&scene);
    entry = scene_entry(&scene, "k", "allowed", 1);
    scene_save(&scene, "c", &entry);
    entry = scene_entry(&scene, "k", "", 1);
    entry.outcome = HG_DENIED;
    entry.ttl_ms = entry.stale_ttl_ms = 1000;
    scene.now.boot_ms += 1001;
    scene.now.wall_ms += 1001;
    scene_save(&scene, "c", &entry);
    scene_restart(&scene, 0);
    scene_restore(&scene);
    ck_assert_uint_eq(scene.restored, 0);
    scene_leave(&scene);
}
END_TEST

START_TEST(a_wall_clock_behind_the_last_save_restores_nothing_ever)
{
    struct scene scene;
    struct hgi_entry entry;

    scene_enter(&scene);
    scene_open(&scene);
    entry = scene_entry(&scene, "k", "v", 1);
    scene_save(&scene, "c", &entry);
    scene_restart(&scene, -1);
    scene_restore(&scene);
    ck_assert_uint_eq(scene.restored, 0);
    ck_assert_uint_eq(scene.dropped, 1);
    scene_restart(&scene, 1000);
    scene_restore(&scene);
    ck_assert_uint_eq(scene.restored, 0);
    scene_leave(&scene);
}
END_TEST

START_TEST(a_row_from_before_the_clock_was_set_back_is_not_restored)
{
    struct scene scene;
    struct hgi_entry entry;

    scene_enter(&scene);
    scene_open(&scene);
    entry = scene_entry(&scene, "before", "v", 1);
    scene_save(&scene, "c", &entry);
    scene.now.wall_ms -= 20000;
    entry = scene_entry(&scene, "after", "v", 1);
    scene_save(&scene, "c", &entry);
    scene_restart(&scene, 5000); /* past the last save, still before the first */
    scene_restore(&scene);
    ck_assert_ptr_null(scene_find(&scene, "c", "before"));
    ck_assert_ptr_nonnull(scene_find(&scene, "c", "after"));
    scene_leave(&scene);
}
END_TEST

START_TEST(the_largest_generation_ever_handed_out_is_recorded)
{
    struct scene scene;
    struct hgi_entry entry;

    scene_enter(&scene);
    scene_open(&scene);
    entry = scene_entry(&scene, "k", "v", 5);
    scene_save(&scene, "c", &entry);
    scene_begin(&scene, HGI_SNAPSHOT_BEHIND);
    scene_commit(&scene, 100);
    scene_restart(&scene, 0);
    ck_assert_uint_eq(scene.opened.high_water, 100);
    scene_clear(&scene, "c", 200);
    scene_restart(&scene, 0);
    ck_assert_uint_eq(scene.opened.high_water, 200);
    scene_forget(&scene, "nobody", "k", 300);
    scene_restart(&scene, 0);
    ck_assert_uint_eq(scene.opened.high_water, 300);
    scene_begin(&scene, HGI_SNAPSHOT_BEHIND);
    scene_commit(&scene, 1); /* it never falls */
    scene_restart(&scene, 0);
    ck_assert_uint_eq(scene.opened.high_water, 300);
    scene_leave(&scene);
}
END_TEST

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

START_TEST(cleared_rows_leave_the_file_a_portion_at_a_time)
{
    enum { ROWS = 10000 };
    struct scene scene;
    uint64_t before = ROWS;
    size_t commits = 0;

    scene_enter(&scene);
    scene_open(&scene);
    scene_begin(&scene, HGI_SNAPSHOT_BEHIND);
    for (int i = 0; i < ROWS; i++) {
        char key[16];
        struct hgi_entry entry;

        snprintf(key, sizeof(key), "key %d", i);
        entry = scene_entry(&scene, key, "v", 1);
        scene_put(&scene, "c", &entry);
    }
    scene_commit(&scene, 1);
    scene_clear(&scene, "c", 2);
    while (hgi_snapshot_is_purging(scene.snapshot)) {
        uint64_t rows = 0;

        scene_begin(&scene, HGI_SNAPSHOT_BEHIND);
        scene_commit(&scene, 2);
        ck_assert_int_eq(
            hgi_snapshot_rows(scene.snapshot, hg_slice_text("c"), &rows, scene.sentence), HG_OK);
        ck_assert_uint_le(before - rows, 4096);
        before = rows;
        ck_assert_uint_lt(++commits, 10);
    }
    ck_assert_uint_eq(before, 0);
    scene_leave(&scene);
}
END_TEST

START_TEST(rows_whose_time_is_over_leave_the_file)
{
    struct scene scene;
    struct hgi_entry entry;
    uint64_t rows = 9;

    scene_enter(&scene);
    scene_open(&scene);
    entry = scene_entry(&scene, "k", "v", 1);
    scene_save(&scene, "c", &entry);
    scene.now.wall_ms += 60001;
    scene.now.boot_ms += 60001;
    scene_begin(&scene, HGI_SNAPSHOT_BEHIND);
    scene_commit(&scene, 1);
    ck_assert_int_eq(hgi_snapshot_rows(scene.snapshot, hg_slice_text("c"), &rows, scene.sentence),
                     HG_OK);
    ck_assert_uint_eq(rows, 0);
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

START_TEST(a_rolled_back_transaction_leaves_nothing_not_even_a_cache)
{
    struct scene scene;
    struct hgi_entry entry;

    scene_enter(&scene);
    scene_open(&scene);
    entry = scene_entry(&scene, "k", "v", 1);
    scene_begin(&scene, HGI_SNAPSHOT_BEHIND);
    scene_put(&scene, "first", &entry);
    hgi_snapshot_rollback(scene.snapshot);
    scene_save(&scene, "second", &entry);
    scene_save(&scene, "first", &entry);
    scene_restart(&scene, 0);
    scene_restore(&scene);
    ck_assert_uint_eq(scene.restored, 2);
    ck_assert_uint_eq(scene.dropped, 0);
    ck_assert_ptr_nonnull(scene_find(&scene, "first", "k"));
    scene_leave(&scene);
}
END_TEST

static bool refuse(void *context, struct hg_slice cache, const struct hgi_entry *entry)
{
    (void)context;
    (void)entry;
    return !hgi_slice_equal(cache, hg_slice_text("unknown"));
}

START_TEST(rows_that_nobody_wants_leave_the_file)
{
    struct scene scene;
    struct hgi_entry entry;
    uint64_t restored = 0;
    uint64_t dropped = 0;

    scene_enter(&scene);
    scene_open(&scene);
    entry = scene_entry(&scene, "k", "v", 1);
    scene_save(&scene, "unknown", &entry);
    scene_save(&scene, "known", &entry);
    scene_restart(&scene, 0);
    ck_assert_int_eq(hgi_snapshot_restore(scene.snapshot, &scene.now, refuse, NULL, &restored,
                                          &dropped, scene.sentence),
                     HG_OK);
    ck_assert_uint_eq(restored, 1);
    scene_restart(&scene, 0);
    scene_restore(&scene);
    ck_assert_uint_eq(scene.restored, 1);
    ck_assert_ptr_null(scene_find(&scene, "unknown", "k"));
    scene_leave(&scene);
}
END_TEST

START_TEST(the_log_of_durable_writes_stays_bounded_without_a_round)
{
    struct scene scene;
    static char value[60000];
    size_t largest = 0;

    scene_enter(&scene);
    scene_open(&scene);
    for (int i = 0; i < 400; i++) { /* 24 MB */
        struct hgi_entry entry;
        size_t size;

        memset(value, 'a' + i % 26,
               sizeof(value) - 1); /* pages that stay the same are not logged */
        entry = scene_entry(&scene, "k", value, (uint64_t)i);
        scene_begin(&scene, HGI_SNAPSHOT_DURABLE);
        scene_put(&scene, "c", &entry);
        scene_commit(&scene, 1);
        size = scene_file_size(&scene, "-wal");
        largest = size > largest ? size : largest;
    }
    ck_assert_uint_gt(largest, 1000000);
    ck_assert_uint_lt(largest, 10000000);
    ck_assert_int_eq(hgi_snapshot_checkpoint(scene.snapshot, scene.sentence), HG_OK);
    ck_assert_uint_eq(scene_file_size(&scene, "-wal"), 0);
    scene_leave(&scene);
}
END_TEST

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
    hgi_snapshot_checkpoint(scene.snapshot, scene.sentence);
    ck_assert(!scene_file_contains(&scene, "", "a credential nobody may read"));
    ck_assert(!scene_file_contains(&scene, "-wal", "a credential nobody may read"));
    scene_leave(&scene);
}
END_TEST

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
    ck_assert_int_eq(hgi_snapshot_open(scene.path, &scene.now, &second, &opened, scene.sentence),
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
        ck_assert_int_eq(
            hgi_snapshot_open(path, &scene.now, &scene.snapshot, &scene.opened, scene.sentence),
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

HGI_SUITE("storage.snapshot", 20, every_outcome_comes_back_as_it_was_saved,
          saving_a_key_again_replaces_its_row,
          a_restored_entry_has_the_time_it_had_left_less_the_time_down,
          expires_at_ends_an_entry_on_either_clock,
          an_entry_that_is_over_takes_the_row_it_replaced_away,
          a_wall_clock_behind_the_last_save_restores_nothing_ever,
          a_row_from_before_the_clock_was_set_back_is_not_restored,
          the_largest_generation_ever_handed_out_is_recorded, a_cleared_row_never_comes_back,
          a_clear_holds_before_the_purge_has_taken_the_rows_out,
          cleared_rows_leave_the_file_a_portion_at_a_time, rows_whose_time_is_over_leave_the_file,
          a_forgotten_key_is_gone_and_a_newer_value_of_it_stays,
          dropped_rows_are_written_anew_in_the_same_transaction,
          a_rolled_back_transaction_leaves_nothing_not_even_a_cache,
          rows_that_nobody_wants_leave_the_file,
          the_log_of_durable_writes_stays_bounded_without_a_round,
          a_forgotten_value_is_wiped_from_the_disk, nobody_else_can_read_what_is_stored,
          a_second_opener_is_refused, a_place_that_cannot_be_used_is_said_in_one_sentence,
          a_folder_reached_through_a_link_is_used)
