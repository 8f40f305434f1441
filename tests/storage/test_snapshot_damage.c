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

/* The closed file, whole; the caller's to free. */
static unsigned char *read_file(const struct scene *scene, size_t *ret_size)
{
    unsigned char *bytes;
    FILE *file;

    *ret_size = scene_file_size(scene, "");
    bytes = malloc(*ret_size);
    file = fopen(scene->path, "rb");
    ck_assert(bytes && file);
    ck_assert_uint_eq(fread(bytes, 1, *ret_size, file), *ret_size);
    fclose(file);
    return bytes;
}

/* Changes the one place in the file where the text stands. */
static void change_text(const struct scene *scene, const char *text)
{
    size_t size;
    unsigned char *bytes = read_file(scene, &size);
    unsigned char *at = memmem(bytes, size, text, strlen(text));

    ck_assert_ptr_nonnull(at);
    ck_assert_ptr_null(memmem(at + 1, size - (size_t)(at + 1 - bytes), text, strlen(text)));
    *at ^= 0x20;
    write_file(scene, bytes, size);
    free(bytes);
}

START_TEST(a_flipped_bit_in_a_value_drops_that_row_alone)
{
    struct scene scene;
    struct hgi_entry entry;

    scene_enter(&scene);
    scene_save_two(&scene);
    change_text(&scene, "first value");
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

/* What a row replaced is not what was saved last, whatever became of the row. */
START_TEST(a_row_that_cannot_be_read_still_hides_what_it_replaced)
{
    struct scene scene;
    struct hgi_entry entry;

    scene_enter(&scene);
    scene_open(&scene);
    entry = scene_entry(&scene, "k", "allowed", 1);
    scene_save(&scene, "c", &entry);
    entry = scene_entry(&scene, "bystander", "stays", 1);
    scene_save(&scene, "c", &entry);
    entry = scene_entry(&scene, "k", "refused", 1);
    scene_save(&scene, "c", &entry);
    scene_close(&scene);
    change_text(&scene, "refused");
    for (int i = 0; i < 3; i++) {
        scene_open(&scene);
        scene_restore(&scene);
        ck_assert_uint_eq(scene.dropped, i == 0);
        ck_assert_uint_eq(scene.restored, 1);
        ck_assert_ptr_nonnull(scene_find(&scene, "c", "bystander"));
        scene_close(&scene);
    }
    scene_leave(&scene);
}
END_TEST

/* Whose rows it replaced cannot be known. */
START_TEST(a_page_whose_head_is_damaged_takes_the_older_ones_of_its_cache_along)
{
    struct scene scene;
    struct hgi_entry entry;

    scene_enter(&scene);
    scene_open(&scene);
    entry = scene_entry(&scene, "k", "older", 1);
    scene_save(&scene, "c", &entry);
    scene_save(&scene, "other", &entry);
    entry = scene_entry(&scene, "unknown", "replaced something", 1);
    scene_save(&scene, "c", &entry);
    entry = scene_entry(&scene, "k", "newer", 1);
    scene_save(&scene, "c", &entry);
    scene_close(&scene);
    scene_sql(&scene, "UPDATE pages SET head = zeroblob(length(head)) WHERE id = 3");
    scene_open(&scene);
    scene_restore(&scene);
    ck_assert_uint_eq(scene.restored, 2);
    ck_assert_uint_eq(scene.dropped, 2);
    ck_assert_str_eq(scene_find(&scene, "c", "k")->value, "newer");
    ck_assert_ptr_nonnull(scene_find(&scene, "other", "k"));
    scene_leave(&scene);
}
END_TEST

/* Opens, restores and closes; what comes back must be one of the two that were saved. */
static size_t restore_some_of_two(struct scene *scene, const char *column, size_t at)
{
    size_t restored;

    scene_open(scene);
    scene_restore(scene);
    restored = scene->restored;
    for (size_t k = 0; k < restored; k++) {
        const struct seen *seen = &scene->seen[k];
        bool is_one = strcmp(seen->key, "one") == 0;

        ck_assert_msg(strcmp(seen->cache, "c") == 0 &&
                          strcmp(seen->value, is_one ? "first value" : "second value") == 0 &&
                          seen->entry.ttl_ms == 10000 && seen->entry.stale_ttl_ms == 60000 &&
                          seen->entry.born == 1 && seen->entry.published_ms == scene->now.boot_ms &&
                          seen->entry.expires_wall_ms == 0 && seen->entry.outcome == HG_VALUE &&
                          seen->entry.tag_count == 0 && seen->entry.etag.len == 0,
                      "byte %zu of %s", at, column);
    }
    scene_close(scene);
    return restored;
}

START_TEST(every_byte_of_a_page_is_under_a_checksum)
{
    static const char *const columns[] = {"head", "rows"};

    for (size_t i = 0; i < 2; i++) {
        size_t at = 0;
        bool is_changed = true;
        struct scene scene;
        unsigned char *bytes;
        size_t size;

        scene_enter(&scene);
        scene_save_two(&scene);
        bytes = read_file(&scene, &size);
        for (; is_changed; at++) {
            write_file(&scene, bytes, size);
            is_changed = scene_change_byte(&scene, columns[i], at);
            ck_assert_uint_le(restore_some_of_two(&scene, columns[i], at), is_changed ? 1 : 2);
        }
        ck_assert_uint_gt(at, 2 * 29);
        free(bytes);
        scene_leave(&scene);
    }
}
END_TEST

START_TEST(a_page_belongs_to_its_cache_and_its_number)
{
    static const char *const changes[] = {
        "UPDATE pages SET cache = 2 WHERE id = 1",
        "UPDATE pages SET id = 7 WHERE id = 1",
        "UPDATE pages SET head = (SELECT head FROM pages WHERE id = 2) WHERE id = 1",
        "UPDATE pages SET rows = (SELECT rows FROM pages WHERE id = 2) WHERE id = 1",
    };

    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        struct scene scene;
        struct hgi_entry entry;

        scene_enter(&scene);
        scene_open(&scene);
        entry = scene_entry(&scene, "k", "v", 1);
        scene_save(&scene, "c", &entry);
        scene_save(&scene, "another", &entry);
        scene_close(&scene);
        scene_sql(&scene, changes[i]);
        scene_open(&scene);
        scene_restore(&scene);
        ck_assert_msg(scene.dropped == 1, "%s", changes[i]);
        ck_assert_ptr_null(scene_find(&scene, "c", "k"));
        scene_leave(&scene);
    }
}
END_TEST

/* What it covered cannot be known. */
START_TEST(a_damaged_record_of_an_invalidation_drops_every_row)
{
    static const char *const changes[] = {
        "UPDATE forgotten SET digest = digest + 1",
        "UPDATE forgotten SET generation = 1",
        "UPDATE forgotten SET checksum = 0",
        "UPDATE forgotten SET id = 9",
    };

    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        struct scene scene;

        scene_enter(&scene);
        scene_save_two(&scene);
        scene_open(&scene);
        scene_forget(&scene, "c", "one", 2);
        scene_close(&scene);
        scene_sql(&scene, changes[i]);
        scene_open(&scene);
        scene_restore(&scene);
        ck_assert_uint_eq(scene.restored, 0);
        ck_assert_uint_eq(scene.dropped, 2);
        scene_leave(&scene);
    }
}
END_TEST

START_TEST(a_file_that_lost_a_page_or_an_invalidation_is_moved_aside)
{
    static const char *const changes[] = {"DELETE FROM pages", "DELETE FROM forgotten"};

    for (size_t i = 0; i < 2; i++) {
        struct scene scene;

        scene_enter(&scene);
        scene_save_two(&scene);
        scene_open(&scene);
        scene_forget(&scene, "c", "one", 2);
        scene_close(&scene);
        scene_sql(&scene, changes[i]);
        scene_expect_moved_aside(&scene, "it has not as many rows as its own record says");
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

static unsigned char *read_saved(struct scene *scene, size_t *ret_size)
{
    scene_save_two(scene);
    return read_file(scene, ret_size);
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
          a_row_that_cannot_be_read_still_hides_what_it_replaced,
          a_page_whose_head_is_damaged_takes_the_older_ones_of_its_cache_along,
          every_byte_of_a_page_is_under_a_checksum, a_page_belongs_to_its_cache_and_its_number,
          a_damaged_record_of_an_invalidation_drops_every_row,
          a_file_that_lost_a_page_or_an_invalidation_is_moved_aside,
          a_damaged_clear_drops_every_row_it_may_have_covered, a_text_file_is_moved_aside,
          a_truncated_file_is_moved_aside, a_file_that_only_a_later_sqlite_may_write_is_moved_aside,
          at_most_two_files_moved_aside_are_kept, a_log_without_its_file_is_not_read,
          a_file_removed_under_us_is_noticed_and_begun_anew,
          an_older_file_put_in_our_files_place_brings_nothing_cleared_back,
          a_file_after_which_no_generation_is_left_is_moved_aside,
          any_byte_of_the_header_may_change,
          a_byte_changed_anywhere_never_gives_a_value_that_was_not_saved)
