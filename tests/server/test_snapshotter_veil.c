/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of caches with secret_keys, over restarts and when the option is turned on or off. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "server/cache/veil.h"
#include "snapshotter_scene.h"

#define CANARY "canary-of-a-key"

static const struct hgi_digest_key master = {.bytes = "a key that only tests should use"};

/* Whether the snapshot's file, or its log, has these bytes anywhere. */
static bool file_has(const struct scene *scene, const char *suffix, const char *text)
{
    char path[160];
    struct stat status;
    char *bytes;
    int fd;
    bool is_found = false;

    snprintf(path, sizeof(path), "%s%s", scene->path, suffix);
    fd = open(path, O_RDONLY);
    if (fd < 0) {
        return false;
    }
    ck_assert_int_eq(fstat(fd, &status), 0);
    if (status.st_size > 0) {
        bytes = malloc((size_t)status.st_size);
        ck_assert_ptr_nonnull(bytes);
        ck_assert_int_eq(read(fd, bytes, (size_t)status.st_size), status.st_size);
        is_found = memmem(bytes, (size_t)status.st_size, text, strlen(text)) != NULL;
        free(bytes);
    }
    close(fd);
    return is_found;
}

static bool is_told(const struct scene *scene)
{
    return file_has(scene, "", CANARY) || file_has(scene, "-wal", CANARY);
}

START_TEST(a_veiled_entry_is_found_after_a_restart_and_its_key_is_not_on_disk)
{
    const struct hg_slice tag = hg_slice_text(CANARY);
    const struct hgi_lifetime lifetime = {
        .tags = &tag, .tag_count = 1, .user = hg_slice_text(CANARY)};
    struct scene scene;

    scene_enter(&scene);
    scene.veil_master = &master;
    scene_run(&scene);
    scene_put_as(scene.auth, CANARY, "value", &lifetime);
    scene_save(&scene);
    ck_assert(!is_told(&scene));
    scene_shut_down(&scene);
    ck_assert(!is_told(&scene));
    scene_run(&scene);
    ck_assert(scene_is_cached(scene.auth, CANARY));
    scene_shut_down(&scene);
    scene_leave(&scene);
}
END_TEST

static void forget(struct scene *scene, const struct hgi_cover *cover)
{
    struct hgi_now now = hgi_clock_now();
    size_t before = scene->answers.count;
    struct hgi_report report;

    hgi_cache_invalidate_cover(scene->auth, cover, &now, &report);
    ck_assert_int_eq(hgi_snapshotter_forget(scene->snapshotter, hg_slice_text("auth"), cover,
                                            report.generation, scene_note_answer, &scene->answers),
                     HG_OK);
    scene_wait_for_answers(&scene->answers, before + 1);
    ck_assert_uint_eq(scene->answers.failed, 0);
}

/* Each of 256 tags is one letter: veiled they are longer than they were. */
START_TEST(veiled_tags_and_users_are_gone_from_the_disk_before_the_answer)
{
    const struct hg_slice tag = hg_slice_text("t");
    const struct hgi_lifetime lifetime = {.tags = &tag, .tag_count = 1, .user = hg_slice_text("u")};
    struct hg_slice tags[256];
    struct scene scene;

    for (size_t i = 0; i < HGI_COUNT_OF(tags); i++) {
        tags[i] = tag;
    }
    scene_enter(&scene);
    scene.veil_master = &master;
    scene_run(&scene);
    scene_put_as(scene.auth, "by tag", "value", &lifetime);
    scene_save(&scene);
    ck_assert_uint_eq(scene_rows_after_a_crash_now(&scene), 1);
    forget(&scene, &(const struct hgi_cover){.tags = tags, .tag_count = HGI_COUNT_OF(tags)});
    ck_assert_uint_eq(scene_rows_after_a_crash_now(&scene), 0);
    scene_put_as(scene.auth, "by user", "value", &lifetime);
    scene_save(&scene);
    ck_assert_uint_eq(scene_rows_after_a_crash_now(&scene), 1);
    forget(&scene, &(const struct hgi_cover){.first_part = hg_slice_text("u")});
    ck_assert_uint_eq(scene_rows_after_a_crash_now(&scene), 0);
    scene_shut_down(&scene);
    scene_leave(&scene);
}
END_TEST

START_TEST(turned_on_it_takes_the_keys_that_were_told_off_the_disk)
{
    struct scene scene;

    scene_enter(&scene);
    scene_run(&scene);
    scene_put(scene.auth, CANARY, "value");
    scene_put_many(scene.auth, 100);
    scene_save(&scene);
    scene_shut_down(&scene);
    ck_assert(is_told(&scene));
    scene.veil_master = &master;
    scene_run(&scene);
    ck_assert(!scene_is_cached(scene.auth, CANARY));
    scene_put(scene.auth, "new", "value");
    scene_save(&scene);
    scene_shut_down(&scene);
    ck_assert(!is_told(&scene));
    scene_run(&scene);
    ck_assert(scene_is_cached(scene.auth, "new"));
    scene_shut_down(&scene);
    scene_leave(&scene);
}
END_TEST

START_TEST(turned_off_it_forgets_what_nobody_can_ask_for)
{
    struct hgi_table_stats stats;
    struct scene scene;

    scene_enter(&scene);
    scene.veil_master = &master;
    scene_run(&scene);
    scene_put(scene.auth, "old", "value");
    scene_shut_down(&scene);
    scene.veil_master = NULL;
    scene_run(&scene);
    hgi_table_stats(hgi_cache_table(scene.auth), &stats);
    ck_assert_uint_eq(stats.entries, 0);
    scene_put(scene.auth, "new", "value");
    scene_save(&scene);
    ck_assert_uint_eq(scene_rows_after_a_crash_now(&scene), 1);
    scene_shut_down(&scene);
    scene_leave(&scene);
}
END_TEST

HGI_SUITE("server.snapshotter_veil", 60,
          a_veiled_entry_is_found_after_a_restart_and_its_key_is_not_on_disk,
          veiled_tags_and_users_are_gone_from_the_disk_before_the_answer,
          turned_on_it_takes_the_keys_that_were_told_off_the_disk,
          turned_off_it_forgets_what_nobody_can_ask_for)
