/* SPDX-License-Identifier: Apache-2.0 */
/* What comes back, and with how much time. */
#include "snapshot_scene.h"

static bool refuse(void *context, struct hg_slice cache, const struct hgi_entry *entry)
{
    (void)context;
    (void)entry;
    return !hgi_slice_equal(cache, hg_slice_text("unknown"));
}

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

HGI_SUITE("storage.restore", 60, a_restored_entry_has_the_time_it_had_left_less_the_time_down,
          expires_at_ends_an_entry_on_either_clock,
          a_wall_clock_behind_the_last_save_restores_nothing_ever,
          a_row_from_before_the_clock_was_set_back_is_not_restored,
          rows_that_nobody_wants_leave_the_file)
