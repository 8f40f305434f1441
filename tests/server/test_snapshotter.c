/* SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/thread.h"
#include "hg_test.h"
#include "../storage/fault_vfs.h"
#include "server/snapshotter_inside.h"
#include "snapshotter_scene.h"

START_TEST(what_was_cached_is_back_after_a_stop)
{
    struct scene scene;

    scene_enter(&scene);
    scene_run(&scene);
    scene_put_many(scene.auth, 100);
    scene_put(scene.other, "elsewhere", "v");
    scene_shut_down(&scene);
    scene_boot(&scene, NEVER_MS);
    ck_assert_uint_eq(scene_stats_of(&scene).restored, 101);
    ck_assert(scene_is_cached(scene.auth, "key 0") && scene_is_cached(scene.auth, "key 99"));
    ck_assert(scene_is_cached(scene.other, "elsewhere") &&
              !scene_is_cached(scene.auth, "elsewhere"));
    scene_shut_down(&scene);
    scene_leave(&scene);
}
END_TEST

START_TEST(a_save_on_demand_writes_what_is_new_and_says_how_much)
{
    struct scene scene;

    scene_enter(&scene);
    scene_run(&scene);
    scene_put_many(scene.auth, 50);
    scene_save(&scene);
    ck_assert_uint_eq(scene.answers.entries, 50);
    ck_assert_uint_eq(scene_rows_after_a_crash_now(&scene), 50);
    scene_put(scene.auth, "one more", "v");
    scene_save(&scene);
    ck_assert_uint_eq(scene.answers.entries, 1);
    ck_assert_uint_eq(scene_rows_after_a_crash_now(&scene), 51);
    ck_assert_uint_eq(scene.answers.failed, 0);
    scene_shut_down(&scene);
    scene_leave(&scene);
}
END_TEST

START_TEST(entries_are_written_behind_every_interval_without_being_asked)
{
    struct scene scene;
    struct hgi_now began = hgi_clock_now();

    scene_enter(&scene);
    scene_boot(&scene, 5);
    scene_start(&scene);
    scene_put_many(scene.auth, 50);
    while (scene_stats_of(&scene).rows < 50) {
        ck_assert_int_lt(hgi_clock_now().boot_ms - began.boot_ms, WAIT_MS);
    }
    scene_shut_down(&scene);
    scene_leave(&scene);
}
END_TEST

START_TEST(a_round_longer_than_one_transaction_writes_everything)
{
    struct scene scene;

    scene_enter(&scene);
    scene.max_entries = 20000;
    scene_run(&scene);
    scene_put_many(scene.auth, 10000);
    scene_save(&scene);
    ck_assert_uint_eq(scene.answers.entries, 10000);
    ck_assert_uint_eq(scene_rows_after_a_crash_now(&scene), 10000);
    scene_shut_down(&scene);
    scene_leave(&scene);
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
    scene_enter(&scene);
    scene.max_bytes = 1u << 30;
    scene_run(&scene);
    entry = scene_put(scene.auth, "large", value);
    scene_put(scene.auth, "small", "v");
    ck_assert(scene_is_cached(scene.auth, "large"));
    ck_assert_int_eq(hgi_snapshotter_put(scene.snapshotter, hg_slice_text("auth"), &entry,
                                         scene_note_answer, &scene.answers),
                     HG_OK);
    scene_wait_for_answers(&scene.answers, 1);
    scene_save(&scene);
    ck_assert_uint_eq(scene.answers.entries, 2);
    ck_assert_uint_eq(scene.answers.failed, 0);
    ck_assert_uint_eq(scene_rows_after_a_crash_now(&scene), 2);
    scene_shut_down(&scene);
    scene_leave(&scene);
    free(value);
}
END_TEST

/* I3. */
START_TEST(a_clear_is_on_disk_before_its_answer)
{
    struct scene scene;

    scene_enter(&scene);
    scene_run(&scene);
    scene_put_many(scene.auth, 50);
    scene_save(&scene);
    scene_clear(&scene, scene.auth);
    scene_wait_for_answers(&scene.answers, 2);
    ck_assert_uint_eq(scene.answers.failed, 0);
    ck_assert_uint_eq(scene_rows_after_a_crash_now(&scene), 0);
    scene_put(scene.auth, "after", "v");
    scene_shut_down(&scene);
    scene_boot(&scene, NEVER_MS);
    ck_assert(scene_is_cached(scene.auth, "after") && !scene_is_cached(scene.auth, "key 1"));
    scene_shut_down(&scene);
    scene_leave(&scene);
}
END_TEST

START_TEST(a_durable_put_is_on_disk_before_its_answer)
{
    struct scene scene;
    struct hgi_entry entry;

    scene_enter(&scene);
    scene_run(&scene);
    entry = scene_put(scene.auth, "k", "v");
    ck_assert_int_eq(hgi_snapshotter_put(scene.snapshotter, hg_slice_text("auth"), &entry,
                                         scene_note_answer, &scene.answers),
                     HG_OK);
    scene_wait_for_answers(&scene.answers, 1);
    ck_assert_uint_eq(scene_rows_after_a_crash_now(&scene), 1);
    scene_shut_down(&scene);
    scene_leave(&scene);
}
END_TEST

/* Nothing but the put itself writes it here: memory is told that it is saved. */
START_TEST(a_durable_put_is_written_as_it_was_handed_in)
{
    struct scene scene;
    struct hgi_now now = hgi_clock_now();
    char etag[] = "v1";
    struct hgi_batch batch;
    struct hgi_entry entry;
    struct hg_bytes bytes;
    struct hgi_old old;

    scene_enter(&scene);
    scene_boot(&scene, NEVER_MS);
    entry = scene_put_as(scene.auth, "k", "v",
                         &(const struct hgi_lifetime){.etag = hg_slice_text("v1")});
    ck_assert(hgi_batch_init(&batch, &hgi_heap, 1, 4096));
    ck_assert(hgi_table_take_unsaved(hgi_cache_table(scene.auth), &batch));
    entry.etag = hg_slice_text(etag);
    ck_assert_int_eq(hgi_snapshotter_put(scene.snapshotter, hg_slice_text("auth"), &entry,
                                         scene_note_answer, &scene.answers),
                     HG_OK);
    etag[1] = '2'; /* it was lent for the call */
    scene_start(&scene);
    scene_wait_for_answers(&scene.answers, 1);
    scene_shut_down(&scene);
    scene_boot(&scene, NEVER_MS);
    hgi_bytes_init(&bytes, &hgi_heap);
    ck_assert(
        hgi_table_read_old(hgi_cache_table(scene.auth), hg_slice_text("k"), &now, &bytes, &old));
    ck_assert_slice_eq(old.value, "v");
    ck_assert_slice_eq(old.etag, "v1");
    hgi_bytes_deinit(&bytes);
    hgi_batch_deinit(&batch);
    scene_shut_down(&scene);
    scene_leave(&scene);
}
END_TEST

START_TEST(a_put_that_reaches_the_inbox_after_a_later_invalidation_is_not_written)
{
    struct scene scene;
    struct hgi_now now = hgi_clock_now();
    struct hg_slice key = hg_slice_text("k");
    struct hgi_report report;
    struct hgi_entry entry;

    scene_enter(&scene);
    scene_run(&scene);
    entry = scene_put(scene.auth, "k", "revoked");
    scene_save(&scene);
    hgi_cache_invalidate(scene.auth, &key, 1, &now, &report);
    ck_assert_int_eq(hgi_snapshotter_forget(scene.snapshotter, hg_slice_text("auth"),
                                            &(const struct hgi_cover){.keys = &key, .key_count = 1},
                                            report.generation, scene_note_answer, &scene.answers),
                     HG_OK);
    scene_wait_for_answers(&scene.answers, 2);
    ck_assert_uint_eq(scene_rows_after_a_crash_now(&scene), 0);
    ck_assert_int_eq(hgi_snapshotter_put(scene.snapshotter, hg_slice_text("auth"), &entry,
                                         scene_note_answer, &scene.answers),
                     HG_OK);
    scene_wait_for_answers(&scene.answers, 3);
    ck_assert_uint_eq(scene.answers.failed, 0);
    ck_assert_uint_eq(scene_rows_after_a_crash_now(&scene), 0);
    scene_shut_down(&scene);
    scene_leave(&scene);
}
END_TEST

START_TEST(operations_that_wait_together_share_one_transaction)
{
    enum { CLEARS = 200 };
    struct scene scene;

    scene_enter(&scene);
    scene_boot(&scene, NEVER_MS);
    for (int i = 0; i < CLEARS; i++) {
        scene_clear(&scene, i % 2 ? scene.auth : scene.other);
    }
    scene_start(&scene);
    scene_wait_for_answers(&scene.answers, CLEARS);
    ck_assert_uint_eq(scene.answers.failed, 0);
    ck_assert_uint_eq(scene_stats_of(&scene).durable_ops, CLEARS);
    ck_assert_uint_eq(scene_stats_of(&scene).durable_commits, 1);
    scene_shut_down(&scene);
    scene_leave(&scene);
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
                                  scene_note_answer, &clearer->scene->answers) == HG_OK;
    }
}

START_TEST(every_accepted_operation_is_answered_once_though_the_stop_comes_between)
{
    struct scene scene;
    struct clearer clearers[3];
    atomic_bool is_over = false;
    size_t accepted = 0;

    scene_enter(&scene);
    scene_boot(&scene, 1);
    scene_start(&scene);
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
    ck_assert_int_eq(hgi_snapshotter_save(scene.snapshotter, scene_note_answer, &scene.answers),
                     HG_UNAVAILABLE);
    scene_shut_down(&scene);
    ck_assert_uint_eq(scene.answers.count, accepted);
    scene_leave(&scene);
}
END_TEST

START_TEST(operations_that_never_got_a_thread_end_unavailable)
{
    struct scene scene;

    scene_enter(&scene);
    scene_boot(&scene, NEVER_MS);
    scene_clear(&scene, scene.auth);
    scene_shut_down(&scene);
    ck_assert_uint_eq(scene.answers.count, 1);
    ck_assert_uint_eq(scene.answers.failed, 1);
    scene_leave(&scene);
}
END_TEST

START_TEST(a_clear_refused_by_a_full_inbox_still_reaches_the_disk_with_the_next_save)
{
    struct scene scene;
    struct hgi_now now = hgi_clock_now();
    struct hgi_report report;

    scene_enter(&scene);
    scene_run(&scene);
    scene_put_many(scene.auth, 50);
    scene_shut_down(&scene);
    scene_boot(&scene, NEVER_MS);
    for (size_t i = 0; i < HGI_SNAPSHOTTER_INBOX_MAX; i++) {
        scene_clear(&scene, scene.other);
    }
    hgi_cache_clear(scene.auth, &now, &report);
    ck_assert_int_eq(hgi_snapshotter_clear(scene.snapshotter, hg_slice_text("auth"),
                                           report.generation, scene_note_answer, &scene.answers),
                     HG_RESOURCE_EXHAUSTED);
    ck_assert_uint_eq(scene_rows_after_a_crash_now(&scene), 50);
    scene_start(&scene);
    scene_wait_for_answers(&scene.answers, HGI_SNAPSHOTTER_INBOX_MAX);
    scene_save(&scene);
    ck_assert_uint_eq(scene_rows_after_a_crash_now(&scene), 0);
    scene_shut_down(&scene);
    scene_leave(&scene);
}
END_TEST

START_TEST(a_cache_that_is_not_there_is_said_at_once)
{
    struct scene scene;

    scene_enter(&scene);
    scene_boot(&scene, NEVER_MS);
    ck_assert_int_eq(hgi_snapshotter_clear(scene.snapshotter, hg_slice_text("nobody"), 1,
                                           scene_note_answer, &scene.answers),
                     HG_NOT_FOUND);
    scene_shut_down(&scene);
    ck_assert_uint_eq(scene.answers.count, 0);
    scene_leave(&scene);
}
END_TEST

/* I2, I25. */
START_TEST(a_full_disk_degrades_the_server_and_a_later_save_makes_up_for_it)
{
    struct scene scene;

    scene_enter(&scene);
    scene_run(&scene);
    scene_put_many(scene.auth, 50);
    scene_save(&scene);
    fault.is_lasting = true;
    fault.fail_write_at = 1;
    scene_clear(&scene, scene.auth);
    scene_wait_for_answers(&scene.answers, 2);
    ck_assert_uint_eq(scene.answers.failed, 1);
    ck_assert_ptr_nonnull(strstr(scene.answers.sentence, "database or disk is full"));
    ck_assert(scene_stats_of(&scene).is_degraded);
    ck_assert_uint_eq(scene_stats_of(&scene).durable_errors, 1);
    scene_put(scene.auth, "while it was full", "v");
    ck_assert(scene_is_cached(scene.auth, "while it was full"));
    scene_save(&scene);
    ck_assert_uint_eq(scene.answers.failed, 2);
    ck_assert_uint_eq(scene_stats_of(&scene).save_errors, 1);
    ck_assert_str_ne(scene_stats_of(&scene).last_error, "");
    fault_install();
    scene_save(&scene);
    ck_assert_uint_eq(scene.answers.failed, 2);
    ck_assert(!scene_stats_of(&scene).is_degraded);
    /* The clear that was answered "not durable" is on disk now, and so is what came after it. */
    ck_assert_uint_eq(scene_rows_after_a_crash_now(&scene), 1);
    scene_shut_down(&scene);
    scene_leave(&scene);
}
END_TEST

START_TEST(after_a_lost_sync_everything_is_written_again)
{
    struct scene scene;

    scene_enter(&scene);
    scene_run(&scene);
    scene_put_many(scene.auth, 50);
    scene_save(&scene);
    fault.fail_sync_at = 1;
    scene_clear(&scene, scene.other);
    scene_wait_for_answers(&scene.answers, 2);
    ck_assert_uint_eq(scene.answers.failed, 1);
    scene_save(&scene);
    ck_assert_uint_eq(scene.answers.failed, 1);
    ck_assert_uint_eq(scene_rows_after_a_crash_now(&scene), 50);
    scene_shut_down(&scene);
    scene_leave(&scene);
}
END_TEST

START_TEST(a_file_that_fails_in_any_write_or_sync_of_a_round_ends_up_complete)
{
    for (int syncs = 0; syncs < 2; syncs++) {
        for (size_t at = 1; at < 16; at++) {
            struct scene scene;

            scene_enter(&scene);
            scene_boot(&scene, NEVER_MS);
            scene_start(&scene);
            scene_put_many(scene.auth, 20);
            *(syncs ? &fault.fail_sync_at : &fault.fail_write_at) = at;
            scene_save(&scene); /* may fail */
            fault_install();
            scene_save(&scene);
            ck_assert_uint_eq(scene_rows_after_a_crash_now(&scene), 20);
            ck_assert(!scene_stats_of(&scene).is_degraded);
            scene_shut_down(&scene);
            scene_leave(&scene);
        }
    }
}
END_TEST

START_TEST(a_key_that_is_configured_later_is_used_from_the_next_start)
{
    struct scene scene;

    scene_enter(&scene);
    scene_run(&scene);
    scene_put_many(scene.auth, 50);
    scene_shut_down(&scene);
    scene.has_key = true;
    for (int is_encrypted = 0; is_encrypted < 2; is_encrypted++) {
        memset(&scene.key, 7, sizeof(scene.key));
        scene.is_encrypted = is_encrypted;
        scene_boot(&scene, NEVER_MS);
        ck_assert_uint_eq(scene_stats_of(&scene).restored, 50);
        ck_assert(hgi_snapshot_is_outdated(scene.snapshotter->snapshot));
        scene_start(&scene);
        scene_save(&scene);
        ck_assert(!hgi_snapshot_is_outdated(scene.snapshotter->snapshot));
        scene_shut_down(&scene);
    }
    memset(&scene.key, 8, sizeof(scene.key));
    scene_boot(&scene, NEVER_MS);
    ck_assert_uint_eq(scene_stats_of(&scene).restored, 0);
    scene_shut_down(&scene);
    scene_leave(&scene);
}
END_TEST

/* So many that they go into a file of their own, which takes the place of the first. */
START_TEST(a_save_of_everything_holds_and_so_do_the_ones_after_it)
{
    struct scene scene;

    scene_enter(&scene);
    scene.max_entries = 100000;
    scene.max_bytes = 1u << 30;
    scene_run(&scene);
    scene_put_many(scene.auth, 40000);
    scene_put(scene.other, "elsewhere", "v");
    scene_save(&scene);
    ck_assert_uint_eq(scene.answers.entries, 40001);
    ck_assert_uint_eq(scene_rows_after_a_crash_now(&scene), 40000);
    scene_put(scene.auth, "one more", "v");
    scene_save(&scene);
    ck_assert_uint_eq(scene.answers.entries, 1);
    ck_assert_uint_eq(scene_rows_after_a_crash_now(&scene), 40001);
    scene_clear(&scene, scene.auth);
    scene_wait_for_answers(&scene.answers, 3);
    ck_assert_uint_eq(scene_rows_after_a_crash_now(&scene), 0);
    ck_assert_uint_eq(scene.answers.failed, 0);
    scene_shut_down(&scene);
    scene_leave(&scene);
}
END_TEST

/* Every clear is answered while it runs, and none of what it cleared is in the new file. */
START_TEST(clears_during_a_save_of_everything_hold_in_the_new_file_too)
{
    struct scene scene;

    scene_enter(&scene);
    scene.max_entries = 200000;
    scene.max_bytes = 1u << 30;
    scene_run(&scene);
    for (size_t i = 0; i < 3; i++) {
        scene_put_many(scene.auth, 100000);
        scene_put_many(scene.other, 40000);
        ck_assert_int_eq(hgi_snapshotter_save(scene.snapshotter, scene_note_answer, &scene.answers),
                         HG_OK);
        scene_clear(&scene, scene.auth);
        scene_wait_for_answers(&scene.answers, 2 * (i + 1));
        ck_assert_uint_eq(scene.answers.failed, 0);
        ck_assert_uint_eq(scene_rows_after_a_crash_now(&scene), 0);
    }
    scene_shut_down(&scene);
    scene_boot(&scene, NEVER_MS);
    ck_assert(scene_is_cached(scene.other, "key 0") && scene_is_cached(scene.other, "key 39999"));
    ck_assert(!scene_is_cached(scene.auth, "key 0"));
    scene_shut_down(&scene);
    scene_leave(&scene);
}
END_TEST

START_TEST(a_save_of_everything_that_fails_is_made_up_for_where_the_file_is)
{
    struct scene scene;

    scene_enter(&scene);
    scene.max_entries = 100000;
    scene.max_bytes = 1u << 30;
    scene_run(&scene);
    scene_put_many(scene.auth, 40000);
    fault.is_lasting = true;
    fault.fail_write_at = 20;
    scene_save(&scene);
    ck_assert_uint_eq(scene.answers.failed, 1);
    ck_assert(scene_stats_of(&scene).is_degraded);
    fault_install();
    scene_save(&scene);
    ck_assert_uint_eq(scene.answers.failed, 1);
    ck_assert(!scene_stats_of(&scene).is_degraded);
    ck_assert_uint_eq(scene.answers.entries, 40000);
    ck_assert_uint_eq(scene_rows_after_a_crash_now(&scene), 40000);
    scene_shut_down(&scene);
    scene_leave(&scene);
}
END_TEST

START_TEST(rows_of_evicted_entries_do_not_pile_up)
{
    struct scene scene;

    scene_enter(&scene);
    scene.max_entries = 100;
    scene_run(&scene);
    for (int i = 0; i < 60; i++) {
        char key[32];

        for (int k = 0; k < 20; k++) {
            snprintf(key, sizeof(key), "key %d", 20 * i + k);
            scene_put(scene.auth, key, "v");
        }
        scene_save(&scene);
        ck_assert_uint_le(scene_rows_after_a_crash_now(&scene), 2 * 100 + 20);
    }
    scene_shut_down(&scene);
    scene_leave(&scene);
}
END_TEST

START_TEST(lifetimes_are_cut_to_what_the_configuration_now_allows)
{
    struct scene scene;
    struct hgi_now now = hgi_clock_now();
    struct hgi_found_entry found;
    struct hg_bytes value;

    scene_enter(&scene);
    scene_run(&scene);
    scene_put(scene.auth, "k", "v");
    scene_shut_down(&scene);
    scene.ttl_ms = 30000;
    scene_boot(&scene, NEVER_MS);
    hgi_bytes_init(&value, &hgi_heap);
    ck_assert_int_eq(
        hgi_table_lookup(hgi_cache_table(scene.auth), hg_slice_text("k"), -1, &now, &value, &found),
        HGI_FRESH);
    ck_assert_int_le(found.ttl_left_ms, 30000);
    ck_assert_int_le(found.stale_left_ms, 60000);
    hgi_bytes_deinit(&value);
    scene_shut_down(&scene);
    scene_leave(&scene);
}
END_TEST

START_TEST(a_restored_value_may_stand_in_for_a_failed_load)
{
    struct scene scene;
    struct hgi_now now = hgi_clock_now();
    struct hgi_found_entry found;
    struct hg_slice key = hg_slice_text("k");
    struct hg_bytes value;

    scene_enter(&scene);
    hgi_bytes_init(&value, &hgi_heap);
    scene.stale_if_error_ms = 3600000;
    scene_boot(&scene, NEVER_MS);
    scene_start(&scene);
    scene_put(scene.auth, "k", "v");
    scene_shut_down(&scene);
    scene_boot(&scene, NEVER_MS);
    now.boot_ms += 3 * scene.ttl_ms; /* its stale_ttl is twice its ttl */
    ck_assert_int_eq(hgi_table_lookup(hgi_cache_table(scene.auth), key, -1, &now, &value, &found),
                     HGI_KEPT);
    now.boot_ms += 3600000;
    ck_assert_int_eq(hgi_table_lookup(hgi_cache_table(scene.auth), key, -1, &now, &value, &found),
                     HGI_MISS);
    hgi_bytes_deinit(&value);
    scene_shut_down(&scene);
    scene_leave(&scene);
}
END_TEST

HGI_SUITE("server.snapshotter", 60, what_was_cached_is_back_after_a_stop,
          a_save_on_demand_writes_what_is_new_and_says_how_much,
          entries_are_written_behind_every_interval_without_being_asked,
          a_round_longer_than_one_transaction_writes_everything,
          the_largest_value_the_configuration_allows_is_saved_like_any_other,
          a_clear_is_on_disk_before_its_answer, a_durable_put_is_on_disk_before_its_answer,
          a_durable_put_is_written_as_it_was_handed_in,
          a_put_that_reaches_the_inbox_after_a_later_invalidation_is_not_written,
          operations_that_wait_together_share_one_transaction,
          every_accepted_operation_is_answered_once_though_the_stop_comes_between,
          operations_that_never_got_a_thread_end_unavailable,
          a_clear_refused_by_a_full_inbox_still_reaches_the_disk_with_the_next_save,
          a_cache_that_is_not_there_is_said_at_once,
          a_full_disk_degrades_the_server_and_a_later_save_makes_up_for_it,
          after_a_lost_sync_everything_is_written_again,
          a_file_that_fails_in_any_write_or_sync_of_a_round_ends_up_complete,
          a_key_that_is_configured_later_is_used_from_the_next_start,
          a_save_of_everything_holds_and_so_do_the_ones_after_it,
          clears_during_a_save_of_everything_hold_in_the_new_file_too,
          a_save_of_everything_that_fails_is_made_up_for_where_the_file_is,
          rows_of_evicted_entries_do_not_pile_up,
          lifetimes_are_cut_to_what_the_configuration_now_allows,
          a_restored_value_may_stand_in_for_a_failed_load)
