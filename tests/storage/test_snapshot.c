/* SPDX-License-Identifier: Apache-2.0 */
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
    entry = scene_entry(&scene, "k", "new", 1);
    scene_save(&scene, "c", &entry);
    entry = scene_entry(&scene, "k", "newest", 2);
    scene_begin(&scene, HGI_SNAPSHOT_BEHIND);
    scene_put(&scene, "c", &entry);
    entry = scene_entry(&scene, "k", "new", 2);
    scene_put(&scene, "c", &entry); /* in one page with what it replaces */
    scene_commit(&scene, 2);
    scene_restart(&scene, 0);
    scene_restore(&scene);
    ck_assert_uint_eq(scene.restored, 1);
    ck_assert_int_eq(hgi_snapshot_rows(scene.snapshot, hg_slice_text("c"), &rows, scene.sentence),
                     HG_OK);
    ck_assert_uint_eq(rows, 1); /* the start took the replaced ones out */
    ck_assert_ptr_nonnull(scene_find(&scene, "c", "k"));
    ck_assert_str_eq(scene_find(&scene, "c", "k")->value, "new");
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

HGI_SUITE("storage.snapshot", 60, every_outcome_comes_back_as_it_was_saved,
          saving_a_key_again_replaces_its_row, an_entry_that_is_over_takes_the_row_it_replaced_away)
