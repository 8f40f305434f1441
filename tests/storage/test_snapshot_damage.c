/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are not what we wrote: never a crash, never a value that was not saved. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "snapshot_scene.h"

static void write_file(const struct scene *scene, const void *bytes, size_t size)
{
    FILE *file = fopen(scene->path, "wb");

    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
    ck_assert_int_eq(fclose(file), 0);
}

START_TEST(a_flipped_bit_in_a_value_drops_that_row_alone)
{
    struct scene scene;
    struct hgi_entry entry;

    scene_enter(&scene);
    scene_save_two(&scene);
    scene_sql(&scene, "UPDATE rows SET value = CAST('First value' AS BLOB) "
                      "WHERE key = CAST('one' AS BLOB)");
    scene_open(&scene);
    ck_assert(!scene.opened.is_quarantined);
    scene_restore(&scene);
    ck_assert_uint_eq(scene.restored, 1);
    ck_assert_uint_eq(scene.dropped, 1);
    ck_assert_ptr_null(scene_find(&scene, "c", "one"));
    ck_assert_str_eq(scene_find(&scene, "c", "two")->value, "second value");
    /* It left the file: the next start does not count it again, and the key can be saved. */
    entry = scene_entry(&scene, "one", "again", 2);
    scene_save(&scene, "c", &entry);
    scene_restart(&scene, 0);
    scene_restore(&scene);
    ck_assert_uint_eq(scene.dropped, 0);
    ck_assert_str_eq(scene_find(&scene, "c", "one")->value, "again");
    scene_leave(&scene);
}
END_TEST

START_TEST(every_column_is_under_the_checksum)
{
    static const char *const changes[] = {
        "cache = 2",
        "key = CAST('tow' AS BLOB)",
        "outcome = 3",
        "born = born + 1",
        "saved_ms = saved_ms - 1",
        "age_ms = age_ms + 1",
        "ttl_ms = ttl_ms - 1",
        "stale_ttl_ms = stale_ttl_ms + 1",
        "expires_ms = 1800000000000",
        "expires_left_ms = 1",
        "over_ms = over_ms + 1",
        "checksum = checksum + 1",
        "value = x'00'",
        "tags = x'000174'",
        "etag = x'00'",
    };

    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        struct scene scene;
        struct hgi_entry entry;
        char sql[256];

        scene_enter(&scene);
        scene_save_two(&scene);
        scene_open(&scene);
        entry = scene_entry(&scene, "elsewhere", "v", 2);
        scene_save(&scene, "another cache", &entry);
        scene_close(&scene);
        snprintf(sql, sizeof(sql), "UPDATE rows SET %s WHERE key = CAST('two' AS BLOB)",
                 changes[i]);
        scene_sql(&scene, sql);
        scene_open(&scene);
        scene_restore(&scene);
        ck_assert_msg(scene.restored == 2 && scene.dropped == 1, "%s", changes[i]);
        ck_assert_ptr_null(scene_find(&scene, "c", "two"));
        scene_leave(&scene);
    }
}
END_TEST

START_TEST(a_damaged_clear_drops_every_row_it_may_have_covered)
{
    struct scene scene;

    scene_enter(&scene);
    scene_save_two(&scene);
    scene_open(&scene);
    scene_clear(&scene, "c", 2);
    scene_close(&scene);
    scene_sql(&scene, "UPDATE caches SET cleared = 0");
    scene_open(&scene);
    scene_restore(&scene);
    ck_assert_uint_eq(scene.restored, 0);
    ck_assert_uint_eq(scene.dropped, 2);
    scene_restart(&scene, 0);
    scene_restore(&scene);
    ck_assert_uint_eq(scene.dropped, 0);
    scene_leave(&scene);
}
END_TEST

START_TEST(a_text_file_is_moved_aside)
{
    static const char text[] = "this is not a database but a letter to somebody\n"
                               "and it is longer than the header that sqlite looks at first, "
                               "which is of a hundred bytes\n";
    struct scene scene;
    char moved[PATH_MAX];
    char back[sizeof(text)] = "";
    FILE *file;

    scene_enter(&scene);
    scene_open(&scene);
    scene_close(&scene);
    write_file(&scene, text, sizeof(text) - 1);
    scene_open(&scene);
    ck_assert(scene.opened.is_quarantined && scene.opened.is_new);
    ck_assert_ptr_nonnull(strstr(scene.opened.quarantine, "file is not a database"));
    snprintf(moved, sizeof(moved), "%s.corrupt-%lld", scene.path,
             (long long)(scene.now.wall_ms / 1000));
    file = fopen(moved, "rb"); /* whole: it may have been somebody's */
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fread(back, 1, sizeof(back), file), sizeof(text) - 1);
    ck_assert_str_eq(back, text);
    fclose(file);
    scene_leave(&scene);
}
END_TEST

START_TEST(a_truncated_file_is_moved_aside)
{
    struct scene scene;

    scene_enter(&scene);
    scene_save_two(&scene);
    ck_assert_int_eq(truncate(scene.path, (off_t)scene_file_size(&scene, "") - 8192), 0);
    scene_expect_moved_aside(&scene, "");
}
END_TEST

/* sqlite would open it for reading only, and nothing could be saved from then on. */
START_TEST(a_file_that_only_a_later_sqlite_may_write_is_moved_aside)
{
    struct scene scene;
    FILE *file;

    scene_enter(&scene);
    scene_save_two(&scene);
    file = fopen(scene.path, "r+b");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fseek(file, 18, SEEK_SET), 0);
    ck_assert_int_eq(fputc(3, file), 3);
    ck_assert_int_eq(fclose(file), 0);
    scene_expect_moved_aside(&scene, "its header has file format write version 3");
}
END_TEST

START_TEST(an_index_that_does_not_match_its_table_is_moved_aside)
{
    struct scene scene;
    unsigned char *bytes;
    size_t size;
    FILE *file;
    size_t changed = 0;

    scene_enter(&scene);
    scene_save_two(&scene);
    size = scene_file_size(&scene, "");
    bytes = malloc(size);
    file = fopen(scene.path, "rb");
    ck_assert(bytes && file);
    ck_assert_uint_eq(fread(bytes, 1, size, file), size);
    fclose(file);
    /* In the index the key is not followed by the value. An invalidation would miss this row. */
    for (size_t i = 0; i + 3 <= size; i++) {
        size_t near = size - i < 100 ? size - i : 100;

        if (memcmp(bytes + i, "two", 3) == 0 && !memmem(bytes + i, near, "second value", 12)) {
            bytes[i] = 'T';
            changed++;
        }
    }
    ck_assert_uint_eq(changed, 1);
    write_file(&scene, bytes, size);
    free(bytes);
    scene_expect_moved_aside(&scene, "it is damaged");
}
END_TEST

START_TEST(at_most_two_files_moved_aside_are_kept)
{
    struct scene scene;

    scene_enter(&scene);
    scene_open(&scene);
    for (int i = 0; i < 4; i++) {
        scene_close(&scene);
        write_file(&scene, "no database", 11);
        scene_open(&scene); /* the same second each time: the names must still differ */
        ck_assert(scene.opened.is_quarantined);
        ck_assert_uint_eq(scene_count_files(&scene, ".corrupt-"), i < 2 ? (size_t)i + 1 : 2);
    }
    scene_leave(&scene);
}
END_TEST

START_TEST(a_log_without_its_file_is_not_read)
{
    struct scene scene;
    struct hgi_entry entry;
    char copy[PATH_MAX];
    char wal[PATH_MAX];

    scene_enter(&scene);
    scene_open(&scene);
    entry = scene_entry(&scene, "k", "v", 1);
    scene_save(&scene, "c", &entry);
    snprintf(wal, sizeof(wal), "%s-wal", scene.path);
    snprintf(copy, sizeof(copy), "%s.copy", scene.path);
    ck_assert_int_eq(link(wal, copy), 0);
    /* As a crash between removing the file and removing its log would leave it. */
    ck_assert_int_eq(unlink(scene.path), 0);
    scene_close(&scene);
    unlink(scene.path);
    unlink(wal);
    ck_assert_int_eq(rename(copy, wal), 0);
    scene_open(&scene);
    ck_assert(scene.opened.is_new);
    scene_restore(&scene);
    ck_assert_uint_eq(scene.restored, 0);
    scene_leave(&scene);
}
END_TEST

/* The next begin must fail and say why, and the one after it begin a new file. */
static void assert_begun_anew(struct scene *scene)
{
    char wanted[HGI_SNAPSHOT_SENTENCE_MAX];

    snprintf(wanted, sizeof(wanted),
             "cannot write to the snapshot %s: the file was removed or replaced while in use",
             scene->path);
    ck_assert_int_eq(
        hgi_snapshot_begin(scene->snapshot, HGI_SNAPSHOT_DURABLE, &scene->now, scene->sentence),
        HG_UNAVAILABLE);
    ck_assert_str_eq(scene->sentence, wanted);
    scene_clear(scene, "c", 5);
    ck_assert_uint_eq(hgi_snapshot_renewals(scene->snapshot), 1);
}

START_TEST(a_file_removed_under_us_is_noticed_and_begun_anew)
{
    struct scene scene;
    struct hgi_entry entry;

    scene_enter(&scene);
    scene_save_two(&scene);
    scene_open(&scene);
    ck_assert_int_eq(unlink(scene.path), 0);
    assert_begun_anew(&scene);
    entry = scene_entry(&scene, "three", "third value", 6);
    scene_save(&scene, "c", &entry);
    scene_restart(&scene, 0);
    scene_restore(&scene);
    ck_assert_uint_eq(scene.restored, 1);
    ck_assert_str_eq(scene_find(&scene, "c", "three")->value, "third value");
    ck_assert_uint_eq(scene_count_files(&scene, ".corrupt-"), 0);
    scene_leave(&scene);
}
END_TEST

/* Else a clear would be acknowledged in a file that the next start does not read (I3). */
START_TEST(an_older_file_put_in_our_files_place_brings_nothing_cleared_back)
{
    struct scene scene;
    char older[PATH_MAX];
    char command[2 * PATH_MAX + 16];

    scene_enter(&scene);
    scene_save_two(&scene);
    snprintf(older, sizeof(older), "%s.older", scene.path);
    snprintf(command, sizeof(command), "cp %s %s", scene.path, older);
    ck_assert_int_eq(system(command), 0);
    scene_open(&scene);
    ck_assert_int_eq(rename(older, scene.path), 0);
    assert_begun_anew(&scene);
    scene_restart(&scene, 0);
    scene_restore(&scene);
    ck_assert_uint_eq(scene.restored, 0);
    ck_assert_uint_gt(scene_count_files(&scene, ".corrupt-"), 0);
    scene_leave(&scene);
}
END_TEST

/* The file with two rows, whole; the caller's to free. */
static unsigned char *read_saved(struct scene *scene, size_t *ret_size)
{
    unsigned char *bytes;
    FILE *file;

    scene_save_two(scene);
    *ret_size = scene_file_size(scene, "");
    bytes = malloc(*ret_size);
    file = fopen(scene->path, "rb");
    ck_assert(bytes && file);
    ck_assert_uint_eq(fread(bytes, 1, *ret_size, file), *ret_size);
    fclose(file);
    return bytes;
}

/* Opens, restores and closes the file with one byte changed; true: the change was noticed. */
static bool survives(struct scene *scene, unsigned char *bytes, size_t size, size_t at,
                     unsigned char flip)
{
    bool is_noticed;

    bytes[at] ^= flip;
    write_file(scene, bytes, size);
    bytes[at] ^= flip;
    scene_open(scene);
    scene_restore(scene);
    for (size_t k = 0; k < scene->restored; k++) {
        const struct seen *seen = &scene->seen[k];
        bool is_one = strcmp(seen->key, "one") == 0;

        ck_assert_msg(strcmp(seen->cache, "c") == 0 &&
                          strcmp(seen->value, is_one ? "first value" : "second value") == 0 &&
                          seen->entry.ttl_ms == 10000 && seen->entry.stale_ttl_ms == 60000 &&
                          seen->entry.outcome == HG_VALUE && seen->entry.born == 1,
                      "byte %zu xor %u", at, flip);
    }
    is_noticed = scene->opened.is_quarantined || scene->dropped > 0;
    scene_close(scene);
    return is_noticed;
}

/* What sqlite makes of its header is its own affair; we open, or begin anew, whatever it is. */
START_TEST(a_file_after_which_no_generation_is_left_is_moved_aside)
{
    struct scene scene;

    scene_enter(&scene);
    scene_save_two(&scene);
    scene_open(&scene);
    scene_begin(&scene, HGI_SNAPSHOT_DURABLE);
    scene_commit(&scene, HGI_GENERATION_BEGIN_MAX - 1);
    scene_restart(&scene, 0);
    ck_assert(!scene.opened.is_quarantined);
    scene_begin(&scene, HGI_SNAPSHOT_DURABLE);
    scene_commit(&scene, HGI_GENERATION_BEGIN_MAX);
    scene_close(&scene);
    scene_expect_moved_aside(&scene, "");
}
END_TEST

START_TEST(any_byte_of_the_header_may_change)
{
    static const unsigned char flips[] = {0x01, 0x02, 0x04, 0x80, 0xff};
    struct scene scene;
    unsigned char *bytes;
    size_t size;

    scene_enter(&scene);
    bytes = read_saved(&scene, &size);
    for (size_t at = 0; at < 100; at++) {
        for (size_t i = 0; i < sizeof(flips); i++) {
            (void)survives(&scene, bytes, size, at, flips[i]);
        }
    }
    free(bytes);
    scene_leave(&scene);
}
END_TEST

/* I27. Where the flip goes unnoticed it must be harmless. */
START_TEST(a_byte_changed_anywhere_never_gives_a_value_that_was_not_saved)
{
    enum { TRIES = 300 };
    struct scene scene;
    unsigned char *bytes;
    size_t size;
    size_t noticed = 0;

    scene_enter(&scene);
    bytes = read_saved(&scene, &size);
    for (int i = 0; i < TRIES; i++) {
        uint32_t random[2];
        unsigned char flip;
        size_t at;

        hgi_random(random, sizeof(random));
        at = random[0] % size;
        /* Most of the file is empty: every other flip goes where there is something. */
        while (i % 2 && bytes[at] == 0) {
            at = (at + 1) % size;
        }
        flip = (unsigned char)(random[1] % 255 + 1);
        noticed += survives(&scene, bytes, size, at, flip);
    }
    ck_assert_uint_gt(noticed, TRIES / 10);
    free(bytes);
    scene_leave(&scene);
}
END_TEST

HGI_SUITE("storage.snapshot_damage", 60, a_flipped_bit_in_a_value_drops_that_row_alone,
          every_column_is_under_the_checksum, a_damaged_clear_drops_every_row_it_may_have_covered,
          a_text_file_is_moved_aside, a_truncated_file_is_moved_aside,
          a_file_that_only_a_later_sqlite_may_write_is_moved_aside,
          an_index_that_does_not_match_its_table_is_moved_aside,
          at_most_two_files_moved_aside_are_kept, a_log_without_its_file_is_not_read,
          a_file_removed_under_us_is_noticed_and_begun_anew,
          an_older_file_put_in_our_files_place_brings_nothing_cleared_back,
          a_file_after_which_no_generation_is_left_is_moved_aside,
          any_byte_of_the_header_may_change,
          a_byte_changed_anywhere_never_gives_a_value_that_was_not_saved)
