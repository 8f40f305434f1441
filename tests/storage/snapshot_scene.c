/* SPDX-License-Identifier: Apache-2.0 */
#include "snapshot_scene.h"

#include <dirent.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

void scene_enter(struct scene *scene)
{
    memset(scene, 0, sizeof(*scene));
    strcpy(scene->folder, "/tmp/hgi-snapshot-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(scene->folder));
    snprintf(scene->path, sizeof(scene->path), "%s/state/cache.db", scene->folder);
    scene->now.boot_ms = 1000000;
    scene->now.wall_ms = INT64_C(1700000000000);
}

static void remove_folder(const char *path)
{
    DIR *folder = opendir(path);

    for (struct dirent *entry = folder ? readdir(folder) : NULL; entry; entry = readdir(folder)) {
        char name[PATH_MAX];

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
        if (unlink(name) != 0) {
            remove_folder(name);
        }
    }
    if (folder) {
        closedir(folder);
    }
    rmdir(path);
}

void scene_leave(struct scene *scene)
{
    hgi_snapshot_close(&scene->snapshot);
    remove_folder(scene->folder);
}

void scene_open(struct scene *scene)
{
    const struct hgi_snapshot_options options = {.path = scene->path,
                                                 .key = scene->has_key ? &scene->key : NULL,
                                                 .is_encrypted = scene->is_encrypted};
    enum hg_status status =
        hgi_snapshot_open(&options, &scene->now, &scene->snapshot, &scene->opened, scene->sentence);

    ck_assert_msg(status == HG_OK, "%s", scene->sentence);
}

void scene_close(struct scene *scene)
{
    hgi_snapshot_close(&scene->snapshot);
}

void scene_restart(struct scene *scene, int64_t down_ms)
{
    scene_close(scene);
    scene->now.wall_ms += down_ms;
    scene->now.boot_ms = 5000;
    scene_open(scene);
}

static bool see(void *context, struct hg_slice cache, const struct hgi_entry *entry)
{
    struct scene *scene = context;

    if (scene->restored < SEEN_MAX) {
        struct seen *seen = &scene->seen[scene->restored];

        snprintf(seen->cache, sizeof(seen->cache), "%.*s", (int)cache.len,
                 (const char *)cache.data);
        snprintf(seen->key, sizeof(seen->key), "%.*s", (int)entry->key.len,
                 (const char *)entry->key.data);
        seen->value_len = entry->value.len;
        memset(seen->value, 0, sizeof(seen->value));
        if (entry->value.len > 0 && entry->value.len < sizeof(seen->value)) {
            memcpy(seen->value, entry->value.data, entry->value.len);
        }
        seen->entry = *entry;
    }
    scene->restored++;
    return true;
}

void scene_restore(struct scene *scene)
{
    uint64_t restored = 0;
    enum hg_status status;

    scene->restored = 0;
    scene->dropped = 0;
    status = hgi_snapshot_restore(scene->snapshot, &scene->now, see, scene, &restored,
                                  &scene->dropped, scene->sentence);
    ck_assert_msg(status == HG_OK, "%s", scene->sentence);
    ck_assert_uint_eq(restored, scene->restored);
}

const struct seen *scene_find(const struct scene *scene, const char *cache, const char *key)
{
    for (size_t i = 0; i < scene->restored && i < SEEN_MAX; i++) {
        if (strcmp(scene->seen[i].cache, cache) == 0 && strcmp(scene->seen[i].key, key) == 0) {
            return &scene->seen[i];
        }
    }
    return NULL;
}

struct hgi_entry scene_entry(const struct scene *scene, const char *key, const char *value,
                             uint64_t born)
{
    return (struct hgi_entry){
        .key = hg_slice_text(key),
        .value = hg_slice_text(value),
        .outcome = HG_VALUE,
        .born = born,
        .published_ms = scene->now.boot_ms,
        .ttl_ms = 10000,
        .stale_ttl_ms = 60000,
    };
}

void scene_begin(struct scene *scene, enum hgi_snapshot_sync sync)
{
    enum hg_status status = hgi_snapshot_begin(scene->snapshot, sync, &scene->now, scene->sentence);

    ck_assert_msg(status == HG_OK, "%s", scene->sentence);
}

void scene_put(struct scene *scene, const char *cache, const struct hgi_entry *entry)
{
    enum hg_status status = hgi_snapshot_put(scene->snapshot, hg_slice_text(cache), entry,
                                             &scene->now, scene->sentence);

    ck_assert_msg(status == HG_OK, "%s", scene->sentence);
}

void scene_commit(struct scene *scene, uint64_t high_water)
{
    enum hg_status status =
        hgi_snapshot_commit(scene->snapshot, high_water, &scene->now, scene->sentence);

    ck_assert_msg(status == HG_OK, "%s", scene->sentence);
}

void scene_save(struct scene *scene, const char *cache, const struct hgi_entry *entry)
{
    scene_begin(scene, HGI_SNAPSHOT_BEHIND);
    scene_put(scene, cache, entry);
    scene_commit(scene, entry->born);
}

void scene_clear(struct scene *scene, const char *cache, uint64_t generation)
{
    scene_begin(scene, HGI_SNAPSHOT_DURABLE);
    ck_assert_int_eq(
        hgi_snapshot_clear(scene->snapshot, hg_slice_text(cache), generation, scene->sentence),
        HG_OK);
    scene_commit(scene, generation);
}

void scene_forget(struct scene *scene, const char *cache, const char *key, uint64_t generation)
{
    struct hg_slice slice = hg_slice_text(key);

    scene_begin(scene, HGI_SNAPSHOT_DURABLE);
    ck_assert_int_eq(hgi_snapshot_forget(scene->snapshot, hg_slice_text(cache), &slice, 1,
                                         generation, scene->sentence),
                     HG_OK);
    scene_commit(scene, generation);
}

void scene_sql(struct scene *scene, const char *sql)
{
    sqlite3 *handle = NULL;

    ck_assert_ptr_null(scene->snapshot);
    ck_assert_int_eq(sqlite3_open(scene->path, &handle), SQLITE_OK);
    ck_assert_msg(sqlite3_exec(handle, sql, NULL, NULL, NULL) == SQLITE_OK, "%s: %s", sql,
                  sqlite3_errmsg(handle));
    ck_assert_int_eq(sqlite3_close(handle), SQLITE_OK);
}

bool scene_change_byte(struct scene *scene, const char *column, size_t i)
{
    sqlite3 *handle = NULL;
    sqlite3_blob *blob = NULL;
    unsigned char byte;
    bool is_there;

    ck_assert_ptr_null(scene->snapshot);
    ck_assert_int_eq(sqlite3_open(scene->path, &handle), SQLITE_OK);
    ck_assert_int_eq(sqlite3_blob_open(handle, "main", "pages", column, 1, 1, &blob), SQLITE_OK);
    is_there = i < (size_t)sqlite3_blob_bytes(blob);
    if (is_there) {
        ck_assert_int_eq(sqlite3_blob_read(blob, &byte, 1, (int)i), SQLITE_OK);
        byte ^= (unsigned char)(1 << (i % 8));
        ck_assert_int_eq(sqlite3_blob_write(blob, &byte, 1, (int)i), SQLITE_OK);
    }
    ck_assert_int_eq(sqlite3_blob_close(blob), SQLITE_OK);
    ck_assert_int_eq(sqlite3_close(handle), SQLITE_OK);
    return is_there;
}

size_t scene_count_files(const struct scene *scene, const char *part)
{
    char path[PATH_MAX];
    DIR *folder;
    size_t count = 0;

    snprintf(path, sizeof(path), "%s/state", scene->folder);
    folder = opendir(path);
    ck_assert_ptr_nonnull(folder);
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        count += strstr(entry->d_name, part) != NULL;
    }
    closedir(folder);
    return count;
}

size_t scene_file_size(const struct scene *scene, const char *suffix)
{
    char name[PATH_MAX];
    struct stat found;

    snprintf(name, sizeof(name), "%s%s", scene->path, suffix);
    return stat(name, &found) == 0 ? (size_t)found.st_size : 0;
}

bool scene_file_contains(const struct scene *scene, const char *suffix, const char *text)
{
    size_t size = scene_file_size(scene, suffix);
    char name[PATH_MAX];
    char *bytes;
    bool is_there;
    FILE *file;

    if (size == 0) {
        return false;
    }
    snprintf(name, sizeof(name), "%s%s", scene->path, suffix);
    file = fopen(name, "rb");
    bytes = malloc(size);
    ck_assert(file && bytes);
    ck_assert_uint_eq(fread(bytes, 1, size, file), size);
    is_there = memmem(bytes, size, text, strlen(text)) != NULL;
    free(bytes);
    fclose(file);
    return is_there;
}

enum hg_status scene_try_rows(struct scene *scene, int rows, const char *value, uint64_t born)
{
    enum hg_status status =
        hgi_snapshot_begin(scene->snapshot, HGI_SNAPSHOT_BEHIND, &scene->now, scene->sentence);

    for (int i = 0; i < rows && status == HG_OK; i++) {
        char key[16];
        struct hgi_entry entry;

        snprintf(key, sizeof(key), "key %d", i);
        entry = scene_entry(scene, key, value, born);
        status = hgi_snapshot_put(scene->snapshot, hg_slice_text("c"), &entry, &scene->now,
                                  scene->sentence);
    }
    if (status == HG_OK) {
        status = hgi_snapshot_commit(scene->snapshot, born, &scene->now, scene->sentence);
    }
    return status;
}

enum hg_status scene_try_clear(struct scene *scene, uint64_t generation)
{
    enum hg_status status =
        hgi_snapshot_begin(scene->snapshot, HGI_SNAPSHOT_DURABLE, &scene->now, scene->sentence);

    if (status == HG_OK) {
        status =
            hgi_snapshot_clear(scene->snapshot, hg_slice_text("c"), generation, scene->sentence);
    }
    if (status == HG_OK) {
        status = hgi_snapshot_commit(scene->snapshot, generation, &scene->now, scene->sentence);
    }
    return status;
}

void scene_save_two(struct scene *scene)
{
    struct hgi_entry entry;

    scene_open(scene);
    scene_begin(scene, HGI_SNAPSHOT_BEHIND);
    entry = scene_entry(scene, "one", "first value", 1);
    scene_put(scene, "c", &entry);
    entry = scene_entry(scene, "two", "second value", 1);
    scene_put(scene, "c", &entry);
    scene_commit(scene, 1);
    scene_close(scene);
}

void scene_expect_moved_aside(struct scene *scene, const char *words)
{
    struct hgi_entry entry;

    scene_open(scene);
    ck_assert(scene->opened.is_quarantined && scene->opened.is_new);
    ck_assert_msg(strstr(scene->opened.quarantine, words), "%s", scene->opened.quarantine);
    ck_assert_ptr_nonnull(strstr(scene->opened.quarantine, ".corrupt-1700000"));
    ck_assert_uint_eq(scene_count_files(scene, ".corrupt-"), 1);
    ck_assert_uint_eq(scene->opened.high_water, 0);
    scene_restore(scene);
    ck_assert_uint_eq(scene->restored, 0);
    entry = scene_entry(scene, "fresh", "v", 1);
    scene_save(scene, "c", &entry);
    scene_restart(scene, 0);
    ck_assert(!scene->opened.is_quarantined);
    scene_restore(scene);
    ck_assert_uint_eq(scene->restored, 1);
    scene_leave(scene);
}
