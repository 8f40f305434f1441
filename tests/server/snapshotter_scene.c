/* SPDX-License-Identifier: Apache-2.0 */
#include "snapshotter_scene.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../storage/fault_vfs.h"
#include "server/cache/veil.h"

void scene_note_answer(void *context, const struct hgi_saved *saved)
{
    struct answers *answers = context;

    hgi_lock_conn(&answers->lock);
    answers->count++;
    answers->failed += saved->status != HG_OK;
    answers->entries = saved->entries;
    if (saved->status != HG_OK) {
        snprintf(answers->sentence, sizeof(answers->sentence), "%s", saved->sentence);
    }
    hgi_cond_wake_all(&answers->cond);
    hgi_unlock_conn(&answers->lock);
}

void scene_wait_for_answers(struct answers *answers, size_t count)
{
    hgi_lock_conn(&answers->lock);
    while (answers->count < count) {
        ck_assert(hgi_cond_wait(&answers->cond, &answers->lock, WAIT_MS));
    }
    ck_assert_uint_eq(answers->count, count);
    hgi_unlock_conn(&answers->lock);
}

static struct hgi_cache *add_cache(struct scene *scene, const char *name, uint64_t generation)
{
    const struct hgi_policy policy = {
        .mode = HG_MODE_FRESH,
        .ttl_ms = scene->ttl_ms,
        .stale_ttl_ms = 2 * scene->ttl_ms,
        .negative_ttl_ms = scene->ttl_ms,
        .stale_if_error_ms = scene->stale_if_error_ms,
        .load_timeout_ms = 1000,
        .wait_budget_ms = 1000,
        .max_entries = scene->max_entries,
        .max_bytes = scene->max_bytes,
        .max_loads = 1,
        .queue_max = 1,
        .waiters_max = 1,
    };
    const struct hgi_cache_options options = {.name = name,
                                              .policy = &policy,
                                              .start_generation = generation,
                                              .seed = 1,
                                              .veil_master = scene->veil_master};
    struct hgi_registered registered = {
        .cache = hgi_cache_create(&hgi_heap, &options),
        .key_type = HGI_KEYS_BYTES,
        .value_type = HG_TYPE_BYTES,
    };

    ck_assert_ptr_nonnull(registered.cache);
    ck_assert(hgi_registry_add(scene->registry, &registered));
    return registered.cache;
}

/* As main does it, up to the thread. */
static struct hgi_snapshot_options options_of(const struct scene *scene, const char *path)
{
    return (struct hgi_snapshot_options){.path = path,
                                         .key = scene->has_key ? &scene->key : NULL,
                                         .is_encrypted = scene->is_encrypted};
}

void scene_boot(struct scene *scene, int64_t interval_ms)
{
    struct hgi_now now = hgi_clock_now();
    char sentence[HGI_SNAPSHOT_SENTENCE_MAX];
    uint64_t generation = 0;
    const struct hgi_snapshot_options options = options_of(scene, scene->path);
    enum hg_status status = hgi_snapshotter_open(&options, interval_ms, &now, &scene->snapshotter,
                                                 &generation, sentence);

    ck_assert_msg(status == HG_OK, "%s", sentence);
    scene->registry = hgi_registry_create(&hgi_heap);
    ck_assert_ptr_nonnull(scene->registry);
    scene->auth = add_cache(scene, "auth", generation + 1);
    scene->other = add_cache(scene, "other", generation + 1);
    ck_assert(hgi_snapshotter_restore(scene->snapshotter, scene->registry, &now));
}

void scene_start(struct scene *scene)
{
    ck_assert(hgi_snapshotter_start(scene->snapshotter));
}

/* With no round but those asked for. */
void scene_run(struct scene *scene)
{
    scene_boot(scene, NEVER_MS);
    scene_start(scene);
}

void scene_shut_down(struct scene *scene)
{
    hgi_snapshotter_stop(scene->snapshotter);
    hgi_snapshotter_close(&scene->snapshotter);
    hgi_registry_destroy(&scene->registry);
}

void scene_enter(struct scene *scene)
{
    fault_install();
    memset(scene, 0, sizeof(*scene));
    strcpy(scene->folder, "/tmp/hgi-snapshotter-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(scene->folder));
    snprintf(scene->path, sizeof(scene->path), "%s/cache.db", scene->folder);
    scene->max_entries = 1000;
    scene->max_bytes = 64u << 20;
    scene->ttl_ms = 60000;
    hgi_lock_init(&scene->answers.lock);
    hgi_cond_init(&scene->answers.cond);
}

void scene_leave(struct scene *scene)
{
    DIR *folder = opendir(scene->folder);

    ck_assert_ptr_nonnull(folder);
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        char name[512];

        snprintf(name, sizeof(name), "%s/%s", scene->folder, entry->d_name);
        unlink(name);
    }
    closedir(folder);
    rmdir(scene->folder);
    hgi_cond_deinit(&scene->answers.cond);
    hgi_lock_deinit(&scene->answers.lock);
}

struct hg_slice scene_key(const struct hgi_cache *cache, const char *key)
{
    static _Thread_local struct hgi_key veiled;
    const struct hgi_veil *veil = hgi_cache_veil(cache);

    if (!veil) {
        return hg_slice_text(key);
    }
    hgi_veil_key(veil, hg_slice_text(key), &veiled);
    return hgi_key_slice(&veiled);
}

struct hgi_entry scene_put_as(struct hgi_cache *cache, const char *key, const char *value,
                              const struct hgi_lifetime *lifetime)
{
    const struct hgi_put request = {.key = scene_key(cache, key),
                                    .outcome = HG_VALUE,
                                    .value = hg_slice_text(value),
                                    .lifetime = *lifetime};
    struct hgi_now now = hgi_clock_now();
    char sentence[HGI_MESSAGE_MAX];
    struct hgi_entry entry;

    ck_assert_int_eq(hgi_cache_put(cache, &request, &now, &entry, sentence), HG_OK);
    return entry;
}

struct hgi_entry scene_put(struct hgi_cache *cache, const char *key, const char *value)
{
    return scene_put_as(cache, key, value, &(const struct hgi_lifetime){0});
}

void scene_put_many(struct hgi_cache *cache, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char key[32];

        snprintf(key, sizeof(key), "key %zu", i);
        scene_put(cache, key, "value");
    }
}

void scene_clear(struct scene *scene, struct hgi_cache *cache)
{
    struct hgi_now now = hgi_clock_now();
    struct hgi_report report;

    hgi_cache_clear(cache, &now, &report);
    ck_assert_int_eq(hgi_snapshotter_clear(scene->snapshotter, hg_slice_text(hgi_cache_name(cache)),
                                           report.generation, scene_note_answer, &scene->answers),
                     HG_OK);
}

void scene_save(struct scene *scene)
{
    size_t before = scene->answers.count;

    ck_assert_int_eq(hgi_snapshotter_save(scene->snapshotter, scene_note_answer, &scene->answers),
                     HG_OK);
    scene_wait_for_answers(&scene->answers, before + 1);
}

bool scene_is_cached(struct hgi_cache *cache, const char *key)
{
    struct hgi_now now = hgi_clock_now();
    struct hgi_found_entry found;
    struct hg_bytes value;
    bool is_there;

    hgi_bytes_init(&value, &hgi_heap);
    is_there = hgi_table_lookup(hgi_cache_table(cache), scene_key(cache, key), -1, &now, &value,
                                &found) != HGI_MISS;
    hgi_bytes_deinit(&value);
    return is_there;
}

static bool count_row(void *context, struct hg_slice cache, const struct hgi_entry *entry)
{
    (void)entry;
    *(uint64_t *)context += hgi_slice_equal(cache, hg_slice_text("auth"));
    return true;
}

/* What a crash at this moment would leave: a copy of the file and its log, opened elsewhere. Rows
 * of `auth`. */
uint64_t scene_rows_after_a_crash_now(struct scene *scene)
{
    struct hgi_now now = hgi_clock_now();
    struct hgi_snapshot *snapshot = NULL;
    struct hgi_snapshot_opened opened;
    char sentence[HGI_SNAPSHOT_SENTENCE_MAX];
    char copy[160];
    const struct hgi_snapshot_options options = options_of(scene, copy);
    char command[600];
    uint64_t restored = 0;
    uint64_t dropped = 0;
    uint64_t rows = 0;

    snprintf(copy, sizeof(copy), "%s/crashed.db", scene->folder);
    snprintf(command, sizeof(command), "cp %s %s; cp %s-wal %s-wal", scene->path, copy, scene->path,
             copy);
    ck_assert_int_eq(system(command), 0);
    ck_assert_int_eq(hgi_snapshot_open(&options, &now, &snapshot, &opened, sentence), HG_OK);
    ck_assert(!opened.is_new && !opened.is_quarantined);
    ck_assert_int_eq(
        hgi_snapshot_restore(snapshot, &now, count_row, &rows, &restored, &dropped, sentence),
        HG_OK);
    ck_assert_uint_eq(dropped, 0);
    hgi_snapshot_close(&snapshot);
    return rows;
}

struct hgi_snapshotter_stats scene_stats_of(struct scene *scene)
{
    struct hgi_snapshotter_stats stats;

    hgi_snapshotter_stats(scene->snapshotter, &stats);
    return stats;
}
