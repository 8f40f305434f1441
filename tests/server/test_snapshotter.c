/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/thread.h"
#include "hg_test.h"
#include "server/snapshotter.h"
#include "../storage/fault_vfs.h"

#define NEVER_MS (INT64_C(3600) * 1000)
#define WAIT_MS  20000

/* Answers as they come, from the snapshotter's thread. */
struct answers {
    struct hgi_lock lock;
    struct hgi_cond cond;
    size_t count;
    size_t failed;
    uint64_t entries; /* of the last one */
    char sentence[HGI_SNAPSHOT_SENTENCE_MAX];
};

static void note_answer(void *context, const struct hgi_saved *saved)
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

static void wait_for_answers(struct answers *answers, size_t count)
{
    hgi_lock_conn(&answers->lock);
    while (answers->count < count) {
        ck_assert(hgi_cond_wait(&answers->cond, &answers->lock, WAIT_MS));
    }
    ck_assert_uint_eq(answers->count, count);
    hgi_unlock_conn(&answers->lock);
}

/* A server's part: two caches without a loader, and their snapshotter. */
struct scene {
    char folder[64];
    char path[128];
    size_t max_entries;
    size_t max_bytes;
    int64_t ttl_ms;
    struct hgi_registry *registry;
    struct hgi_cache *auth;
    struct hgi_cache *other;
    struct hgi_snapshotter *snapshotter;
    struct answers answers;
};

static struct hgi_cache *add_cache(struct scene *scene, const char *name, uint64_t generation)
{
    const struct hgi_policy policy = {
        .mode = HG_MODE_FRESH,
        .ttl_ms = scene->ttl_ms,
        .stale_ttl_ms = 2 * scene->ttl_ms,
        .negative_ttl_ms = scene->ttl_ms,
        .load_timeout_ms = 1000,
        .wait_budget_ms = 1000,
        .max_entries = scene->max_entries,
        .max_bytes = scene->max_bytes,
        .max_loads = 1,
        .queue_max = 1,
        .waiters_max = 1,
    };
    const struct hgi_cache_options options = {
        .name = name, .policy = &policy, .start_generation = generation, .seed = 1};
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
static void boot(struct scene *scene, int64_t interval_ms)
{
    struct hgi_now now = hgi_clock_now();
    char sentence[HGI_SNAPSHOT_SENTENCE_MAX];
    uint64_t generation = 0;
    enum hg_status status = hgi_snapshotter_open(scene->path, interval_ms, &now,
                                                 &scene->snapshotter, &generation, sentence);

    ck_assert_msg(status == HG_OK, "%s", sentence);
    scene->registry = hgi_registry_create(&hgi_heap);
    ck_assert_ptr_nonnull(scene->registry);
    scene->auth = add_cache(scene, "auth", generation + 1);
    scene->other = add_cache(scene, "other", generation + 1);
    ck_assert(hgi_snapshotter_restore(scene->snapshotter, scene->registry, &now));
}

static void start(struct scene *scene)
{
    ck_assert(hgi_snapshotter_start(scene->snapshotter));
}

static void shut_down(struct scene *scene)
{
    hgi_snapshotter_stop(scene->snapshotter);
    hgi_snapshotter_close(&scene->snapshotter);
    hgi_registry_destroy(&scene->registry);
}

static void enter(struct scene *scene)
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

static void leave(struct scene *scene)
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

static struct hgi_entry put(struct hgi_cache *cache, const char *key, const char *value)
{
    const struct hgi_put request = {
        .key = hg_slice_text(key), .outcome = HG_VALUE, .value = hg_slice_text(value)};
    struct hgi_now now = hgi_clock_now();
    char sentence[HGI_MESSAGE_MAX];
    struct hgi_entry entry;

    ck_assert_int_eq(hgi_cache_put(cache, &request, &now, &entry, sentence), HG_OK);
    return entry;
}

static void put_many(struct hgi_cache *cache, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char key[32];

        snprintf(key, sizeof(key), "key %zu", i);
        put(cache, key, "value");
    }
}

static void clear(struct scene *scene, struct hgi_cache *cache)
{
    struct hgi_now now = hgi_clock_now();
    struct hgi_report report;

    hgi_cache_clear(cache, &now, &report);
    ck_assert_int_eq(hgi_snapshotter_clear(scene->snapshotter, hg_slice_text(hgi_cache_name(cache)),
                                           report.generation, note_answer, &scene->answers),
                     HG_OK);
}

static void save(struct scene *scene)
{
    size_t before = scene->answers.count;

    ck_assert_int_eq(hgi_snapshotter_save(scene->snapshotter, note_answer, &scene->answers), HG_OK);
    wait_for_answers(&scene->answers, before + 1);
}

static bool is_cached(struct hgi_cache *cache, const char *key)
{
    struct hgi_now now = hgi_clock_now();
    struct hgi_found_entry found;
    struct hg_bytes value;
    bool is_there;

    hgi_bytes_init(&value, &hgi_heap);
    is_there = hgi_table_lookup(hgi_cache_table(cache), hg_slice_text(key), -1, &now, &value,
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
static uint64_t rows_after_a_crash_now(struct scene *scene)
{
    struct hgi_now now = hgi_clock_now();
    struct hgi_snapshot *snapshot = NULL;
    struct hgi_snapshot_opened opened;
    char sentence[HGI_SNAPSHOT_SENTENCE_MAX];
    char copy[160];
    char command[600];
    uint64_t restored = 0;
    uint64_t dropped = 0;
    uint64_t rows = 0;

    snprintf(copy, sizeof(copy), "%s/crashed.db", scene->folder);
    snprintf(command, sizeof(command), "cp %s %s; cp %s-wal %s-wal", scene->path, copy, scene->path,
             copy);
    ck_assert_int_eq(system(command), 0);
    ck_assert_int_eq(hgi_snapshot_open(copy, &now, &snapshot, &opened, sentence), HG_OK);
    ck_assert(!opened.is_new && !opened.is_quarantined);
    ck_assert_int_eq(
        hgi_snapshot_restore(snapshot, &now, count_row, &rows, &restored, &dropped, sentence),
        HG_OK);
    ck_assert_uint_eq(dropped, 0);
    hgi_snapshot_close(&snapshot);
    return rows;
}

static struct hgi_snapshotter_stats stats_of(struct scene *scene)
{
    struct hgi_snapshotter_stats stats;

    hgi_snapshotter_stats(scene->snapshotter, &stats);
    return stats;
}

START_TEST(what_was_cached_is_back_after_a_stop)
{
    struct scene scene;

    enter(&scene);
    boot(&scene, NEVER_MS);
    start(&scene);
    put_many(scene.auth, 100);
    put(scene.other, "elsewhere", "v");
    shut_down(&scene);
    boot(&scene, NEVER_MS);
    ck_assert_uint_eq(stats_of(&scene).restored, 101);
    ck_assert(is_cached(scene.auth, "key 0") && is_cached(scene.auth, "key 99"));
    ck_assert(is_cached(scene.other, "elsewhere") && !is_cached(scene.auth, "elsewhere"));
    shut_down(&scene);
    leave(&scene);
}
END_TEST

START_TEST(a_save_on_demand_writes_what_is_new_and_says_how_much)
{
    struct scene scene;

    enter(&scene);
    boot(&scene, NEVER_MS);
    start(&scene);
    put_many(scene.auth, 50);
    save(&scene);
    ck_assert_uint_eq(scene.answers.entries, 50);
    ck_assert_uint_eq(rows_after_a_crash_now(&scene), 50);
    put(scene.auth, "one more", "v");
    save(&scene);
    ck_assert_uint_eq(scene.answers.entries, 1);
    ck_assert_uint_eq(rows_after_a_crash_now(&scene), 51);
    ck_assert_uint_eq(scene.answers.failed, 0);
    shut_down(&scene);
    leave(&scene);
}
END_TEST

START_TEST(entries_are_written_behind_every_interval_without_being_asked)
{
    struct scene scene;
    struct hgi_now began = hgi_clock_now();

    enter(&scene);
    boot(&scene, 5);
    start(&scene);
    put_many(scene.auth, 50);
    while (stats_of(&scene).rows < 50) {
        ck_assert_int_lt(hgi_clock_now().boot_ms - began.boot_ms, WAIT_MS);
    }
    shut_down(&scene);
    leave(&scene);
}
END_TEST

START_TEST(a_round_longer_than_one_transaction_writes_everything)
{
    struct scene scene;

    enter(&scene);
    scene.max_entries = 20000;
    boot(&scene, NEVER_MS);
    start(&scene);
    put_many(scene.auth, 10000);
    save(&scene);
    ck_assert_uint_eq(scene.answers.entries, 10000);
    ck_assert_uint_eq(rows_after_a_crash_now(&scene), 10000);
    shut_down(&scene);
    leave(&scene);
}
END_TEST

START_TEST(the_largest_value_the_configuration_allows_is_saved_like_any_other)
{
    const size_t size = 16u << 20;
    char *value = malloc(size + 1);
    struct scene scene;
    struct hgi_entry entry;

    ck_assert_ptr_nonnull(value);
    memset(value, 'v', size);
    value[size] = '\0';
    enter(&scene);
    scene.max_bytes = 1u << 30;
    boot(&scene, NEVER_MS);
    start(&scene);
    entry = put(scene.auth, "large", value);
    put(scene.auth, "small", "v");
    ck_assert(is_cached(scene.auth, "large"));
    ck_assert_int_eq(hgi_snapshotter_put(scene.snapshotter, hg_slice_text("auth"), &entry,
                                         note_answer, &scene.answers),
                     HG_OK);
    wait_for_answers(&scene.answers, 1);
    save(&scene);
    ck_assert_uint_eq(scene.answers.entries, 2);
    ck_assert_uint_eq(scene.answers.failed, 0);
    ck_assert_uint_eq(rows_after_a_crash_now(&scene), 2);
    shut_down(&scene);
    leave(&scene);
    free(value);
}
END_TEST

/* I3. */
START_TEST(a_clear_is_on_disk_before_its_answer)
{
    struct scene scene;

    enter(&scene);
    boot(&scene, NEVER_MS);
    start(&scene);
    put_many(scene.auth, 50);
    save(&scene);
    clear(&scene, scene.auth);
    wait_for_answers(&scene.answers, 2);
    ck_assert_uint_eq(scene.answers.failed, 0);
    ck_assert_uint_eq(rows_after_a_crash_now(&scene), 0);
    put(scene.auth, "after", "v");
    shut_down(&scene);
    boot(&scene, NEVER_MS);
    ck_assert(is_cached(scene.auth, "after") && !is_cached(scene.auth, "key 1"));
    shut_down(&scene);
    leave(&scene);
}
END_TEST

START_TEST(a_durable_put_is_on_disk_before_its_answer)
{
    struct scene scene;
    struct hgi_entry entry;

    enter(&scene);
    boot(&scene, NEVER_MS);
    start(&scene);
    entry = put(scene.auth, "k", "v");
    ck_assert_int_eq(hgi_snapshotter_put(scene.snapshotter, hg_slice_text("auth"), &entry,
                                         note_answer, &scene.answers),
                     HG_OK);
    wait_for_answers(&scene.answers, 1);
    ck_assert_uint_eq(rows_after_a_crash_now(&scene), 1);
    shut_down(&scene);
    leave(&scene);
}
END_TEST

START_TEST(a_put_that_reaches_the_inbox_after_a_later_invalidation_is_not_written)
{
    struct scene scene;
    struct hgi_now now = hgi_clock_now();
    struct hg_slice key = hg_slice_text("k");
    struct hgi_report report;
    struct hgi_entry entry;

    enter(&scene);
    boot(&scene, NEVER_MS);
    start(&scene);
    entry = put(scene.auth, "k", "revoked");
    save(&scene);
    hgi_cache_invalidate(scene.auth, &key, 1, &now, &report);
    ck_assert_int_eq(hgi_snapshotter_forget(scene.snapshotter, hg_slice_text("auth"), &key, 1,
                                            report.generation, note_answer, &scene.answers),
                     HG_OK);
    wait_for_answers(&scene.answers, 2);
    ck_assert_uint_eq(rows_after_a_crash_now(&scene), 0);
    ck_assert_int_eq(hgi_snapshotter_put(scene.snapshotter, hg_slice_text("auth"), &entry,
                                         note_answer, &scene.answers),
                     HG_OK);
    wait_for_answers(&scene.answers, 3);
    ck_assert_uint_eq(scene.answers.failed, 0);
    ck_assert_uint_eq(rows_after_a_crash_now(&scene), 0);
    shut_down(&scene);
    leave(&scene);
}
END_TEST

START_TEST(operations_that_wait_together_share_one_transaction)
{
    enum { CLEARS = 200 };
    struct scene scene;

    enter(&scene);
    boot(&scene, NEVER_MS);
    for (int i = 0; i < CLEARS; i++) {
        clear(&scene, i % 2 ? scene.auth : scene.other);
    }
    start(&scene);
    wait_for_answers(&scene.answers, CLEARS);
    ck_assert_uint_eq(scene.answers.failed, 0);
    ck_assert_uint_eq(stats_of(&scene).durable_ops, CLEARS);
    ck_assert_uint_eq(stats_of(&scene).durable_commits, 1);
    shut_down(&scene);
    leave(&scene);
}
END_TEST

struct clearer {
    struct hgi_thread thread;
    struct scene *scene;
    atomic_bool *is_over;
    size_t accepted;
};

static void clear_on_and_on(void *arg)
{
    struct clearer *clearer = arg;

    for (uint64_t i = 1; !atomic_load(clearer->is_over); i++) {
        clearer->accepted +=
            hgi_snapshotter_clear(clearer->scene->snapshotter, hg_slice_text("auth"), i,
                                  note_answer, &clearer->scene->answers) == HG_OK;
    }
}

START_TEST(every_accepted_operation_is_answered_once_though_the_stop_comes_between)
{
    struct scene scene;
    struct clearer clearers[3];
    atomic_bool is_over = false;
    size_t accepted = 0;

    enter(&scene);
    boot(&scene, 1);
    start(&scene);
    for (size_t i = 0; i < 3; i++) {
        clearers[i] = (struct clearer){.scene = &scene, .is_over = &is_over};
        ck_assert(hgi_thread_start(&clearers[i].thread, "clearer", clear_on_and_on, &clearers[i]));
    }
    hgi_lock_conn(&scene.answers.lock);
    while (scene.answers.count < 100) {
        ck_assert(hgi_cond_wait(&scene.answers.cond, &scene.answers.lock, WAIT_MS));
    }
    hgi_unlock_conn(&scene.answers.lock);
    hgi_snapshotter_stop(scene.snapshotter);
    atomic_store(&is_over, true);
    for (size_t i = 0; i < 3; i++) {
        hgi_thread_join(&clearers[i].thread);
        accepted += clearers[i].accepted;
    }
    ck_assert_uint_eq(scene.answers.count, accepted);
    ck_assert_int_eq(hgi_snapshotter_save(scene.snapshotter, note_answer, &scene.answers),
                     HG_UNAVAILABLE);
    shut_down(&scene);
    ck_assert_uint_eq(scene.answers.count, accepted);
    leave(&scene);
}
END_TEST

START_TEST(operations_that_never_got_a_thread_end_unavailable)
{
    struct scene scene;

    enter(&scene);
    boot(&scene, NEVER_MS);
    clear(&scene, scene.auth);
    shut_down(&scene);
    ck_assert_uint_eq(scene.answers.count, 1);
    ck_assert_uint_eq(scene.answers.failed, 1);
    leave(&scene);
}
END_TEST

START_TEST(a_clear_refused_by_a_full_inbox_still_reaches_the_disk_with_the_next_save)
{
    struct scene scene;
    struct hgi_now now = hgi_clock_now();
    struct hgi_report report;

    enter(&scene);
    boot(&scene, NEVER_MS);
    start(&scene);
    put_many(scene.auth, 50);
    shut_down(&scene);
    boot(&scene, NEVER_MS);
    for (size_t i = 0; i < HGI_SNAPSHOTTER_INBOX_MAX; i++) {
        clear(&scene, scene.other);
    }
    hgi_cache_clear(scene.auth, &now, &report);
    ck_assert_int_eq(hgi_snapshotter_clear(scene.snapshotter, hg_slice_text("auth"),
                                           report.generation, note_answer, &scene.answers),
                     HG_RESOURCE_EXHAUSTED);
    ck_assert_uint_eq(rows_after_a_crash_now(&scene), 50);
    start(&scene);
    wait_for_answers(&scene.answers, HGI_SNAPSHOTTER_INBOX_MAX);
    save(&scene);
    ck_assert_uint_eq(rows_after_a_crash_now(&scene), 0);
    shut_down(&scene);
    leave(&scene);
}
END_TEST

START_TEST(a_cache_that_is_not_there_is_said_at_once)
{
    struct scene scene;

    enter(&scene);
    boot(&scene, NEVER_MS);
    ck_assert_int_eq(hgi_snapshotter_clear(scene.snapshotter, hg_slice_text("nobody"), 1,
                                           note_answer, &scene.answers),
                     HG_NOT_FOUND);
    shut_down(&scene);
    ck_assert_uint_eq(scene.answers.count, 0);
    leave(&scene);
}
END_TEST

/* I2, I25. */
START_TEST(a_full_disk_degrades_the_server_and_a_later_save_makes_up_for_it)
{
    struct scene scene;

    enter(&scene);
    boot(&scene, NEVER_MS);
    start(&scene);
    put_many(scene.auth, 50);
    save(&scene);
    fault.is_lasting = true;
    fault.fail_write_at = 1;
    clear(&scene, scene.auth);
    wait_for_answers(&scene.answers, 2);
    ck_assert_uint_eq(scene.answers.failed, 1);
    ck_assert_ptr_nonnull(strstr(scene.answers.sentence, "database or disk is full"));
    ck_assert(stats_of(&scene).is_degraded);
    ck_assert_uint_eq(stats_of(&scene).durable_errors, 1);
    put(scene.auth, "while it was full", "v");
    ck_assert(is_cached(scene.auth, "while it was full"));
    save(&scene);
    ck_assert_uint_eq(scene.answers.failed, 2);
    ck_assert_uint_eq(stats_of(&scene).save_errors, 1);
    ck_assert_str_ne(stats_of(&scene).last_error, "");
    fault_install();
    save(&scene);
    ck_assert_uint_eq(scene.answers.failed, 2);
    ck_assert(!stats_of(&scene).is_degraded);
    /* The clear that was answered "not durable" is on disk now, and so is what came after it. */
    ck_assert_uint_eq(rows_after_a_crash_now(&scene), 1);
    shut_down(&scene);
    leave(&scene);
}
END_TEST

START_TEST(after_a_lost_sync_everything_is_written_again)
{
    struct scene scene;

    enter(&scene);
    boot(&scene, NEVER_MS);
    start(&scene);
    put_many(scene.auth, 50);
    save(&scene);
    fault.fail_sync_at = 1;
    clear(&scene, scene.other);
    wait_for_answers(&scene.answers, 2);
    ck_assert_uint_eq(scene.answers.failed, 1);
    save(&scene);
    ck_assert_uint_eq(scene.answers.failed, 1);
    ck_assert_uint_eq(rows_after_a_crash_now(&scene), 50);
    shut_down(&scene);
    leave(&scene);
}
END_TEST

START_TEST(a_file_that_fails_in_any_write_or_sync_of_a_round_ends_up_complete)
{
    for (int syncs = 0; syncs < 2; syncs++) {
        for (size_t at = 1; at < 16; at++) {
            struct scene scene;

            enter(&scene);
            boot(&scene, NEVER_MS);
            start(&scene);
            put_many(scene.auth, 20);
            *(syncs ? &fault.fail_sync_at : &fault.fail_write_at) = at;
            save(&scene); /* may fail */
            fault_install();
            save(&scene);
            ck_assert_uint_eq(rows_after_a_crash_now(&scene), 20);
            ck_assert(!stats_of(&scene).is_degraded);
            shut_down(&scene);
            leave(&scene);
        }
    }
}
END_TEST

START_TEST(rows_of_evicted_entries_do_not_pile_up)
{
    struct scene scene;

    enter(&scene);
    scene.max_entries = 100;
    boot(&scene, NEVER_MS);
    start(&scene);
    for (int i = 0; i < 60; i++) {
        char key[32];

        for (int k = 0; k < 20; k++) {
            snprintf(key, sizeof(key), "key %d", 20 * i + k);
            put(scene.auth, key, "v");
        }
        save(&scene);
        ck_assert_uint_le(rows_after_a_crash_now(&scene), 2 * 100 + 20);
    }
    shut_down(&scene);
    leave(&scene);
}
END_TEST

START_TEST(lifetimes_are_cut_to_what_the_configuration_now_allows)
{
    struct scene scene;
    struct hgi_now now = hgi_clock_now();
    struct hgi_found_entry found;
    struct hg_bytes value;

    enter(&scene);
    boot(&scene, NEVER_MS);
    start(&scene);
    put(scene.auth, "k", "v");
    shut_down(&scene);
    scene.ttl_ms = 30000;
    boot(&scene, NEVER_MS);
    hgi_bytes_init(&value, &hgi_heap);
    ck_assert_int_eq(
        hgi_table_lookup(hgi_cache_table(scene.auth), hg_slice_text("k"), -1, &now, &value, &found),
        HGI_FRESH);
    ck_assert_int_le(found.ttl_left_ms, 30000);
    ck_assert_int_le(found.stale_left_ms, 60000);
    hgi_bytes_deinit(&value);
    shut_down(&scene);
    leave(&scene);
}
END_TEST

HGI_SUITE("server.snapshotter", 60, what_was_cached_is_back_after_a_stop,
          a_save_on_demand_writes_what_is_new_and_says_how_much,
          entries_are_written_behind_every_interval_without_being_asked,
          a_round_longer_than_one_transaction_writes_everything,
          the_largest_value_the_configuration_allows_is_saved_like_any_other,
          a_clear_is_on_disk_before_its_answer, a_durable_put_is_on_disk_before_its_answer,
          a_put_that_reaches_the_inbox_after_a_later_invalidation_is_not_written,
          operations_that_wait_together_share_one_transaction,
          every_accepted_operation_is_answered_once_though_the_stop_comes_between,
          operations_that_never_got_a_thread_end_unavailable,
          a_clear_refused_by_a_full_inbox_still_reaches_the_disk_with_the_next_save,
          a_cache_that_is_not_there_is_said_at_once,
          a_full_disk_degrades_the_server_and_a_later_save_makes_up_for_it,
          after_a_lost_sync_everything_is_written_again,
          a_file_that_fails_in_any_write_or_sync_of_a_round_ends_up_complete,
          rows_of_evicted_entries_do_not_pile_up,
          lifetimes_are_cut_to_what_the_configuration_now_allows)
