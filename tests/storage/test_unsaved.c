/* SPDX-License-Identifier: Apache-2.0 */
/* What the snapshot is given: each entry once. */
#include <stdio.h>

#include "table_scene.h"

START_TEST(what_is_unsaved_stays_so_through_growth)
{
    enum { ENTRIES = 900 };
    struct fixture f;
    struct hgi_batch batch;
    size_t taken = 0;
    char key[16];

    setup(&f, 1000, 1 << 20);
    ck_assert(hgi_batch_init(&batch, &hgi_heap, 50, 4096));
    for (int i = 0; i < ENTRIES; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        put(&f, key, "value", 2);
    }
    while (hgi_table_take_unsaved(f.table, &batch)) {
        taken += batch.count;
    }
    ck_assert_uint_eq(taken, ENTRIES);
    hgi_batch_deinit(&batch);
    teardown(&f);
}
END_TEST

START_TEST(unsaved_entries_are_taken_once_and_again_after_mark)
{
    struct fixture f;
    struct hgi_batch batch;
    struct hgi_entry saved;
    size_t taken = 0;
    char key[16];

    setup(&f, 100, 1 << 20);
    ck_assert(hgi_batch_init(&batch, &hgi_heap, 4, 4096));
    saved = entry_of(&f, "restored", "v", 1);
    hgi_table_insert(f.table, &saved, true);
    for (int i = 0; i < 10; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        put(&f, key, "value", 2);
    }
    hgi_table_remove(f.table, hg_slice_text("k3"), 2);
    while (hgi_table_take_unsaved(f.table, &batch)) {
        ck_assert_uint_le(batch.count, 4);
        for (size_t i = 0; i < batch.count; i++) {
            ck_assert_slice_eq(batch.entries[i].value, "value");
            ck_assert_uint_eq(batch.entries[i].born, 2);
        }
        taken += batch.count;
    }
    ck_assert_uint_eq(taken, 9);
    hgi_table_mark_unsaved(f.table);
    taken = 0;
    while (hgi_table_take_unsaved(f.table, &batch)) {
        taken += batch.count;
    }
    ck_assert_uint_eq(taken, 10);
    put(&f, "late", "value", 2);
    hgi_table_clear(f.table, 3);
    ck_assert(!hgi_table_take_unsaved(f.table, &batch));
    hgi_batch_deinit(&batch);
    teardown(&f);
}
END_TEST

HGI_SUITE("storage.unsaved", 20, what_is_unsaved_stays_so_through_growth,
          unsaved_entries_are_taken_once_and_again_after_mark)
