/* SPDX-License-Identifier: Apache-2.0 */
/* Entries copied out: whole, their own, and no more than there is room for. */
#include "hg_test.h"
#include "storage/table/table.h"

static struct hgi_entry entry_of(const char *key, const char *value)
{
    struct hgi_entry entry = {
        .key = hg_slice_text(key), .value = hg_slice_text(value), .outcome = HG_VALUE, .born = 3};

    return entry;
}

START_TEST(an_entry_is_copied_with_its_bytes)
{
    struct hgi_test_allocator memory;
    struct hgi_batch batch;
    char key[] = "key";
    struct hg_slice tag = hg_slice_text("plan");
    struct hgi_entry entry = entry_of(key, "value");

    hgi_test_allocator_init(&memory);
    ck_assert(hgi_batch_init(&batch, &memory.allocator, 4, 100));
    entry.tags = &tag;
    entry.tag_count = 1;
    ck_assert(hgi_batch_add(&batch, &entry));
    key[0] = 'X'; /* the caller's may change */
    ck_assert_uint_eq(batch.count, 1);
    ck_assert_slice_eq(batch.entries[0].key, "key");
    ck_assert_slice_eq(batch.entries[0].value, "value");
    ck_assert_uint_eq(batch.entries[0].tag_count, 1);
    ck_assert_slice_eq(batch.entries[0].tags[0], "plan");
    ck_assert_uint_eq(batch.entries[0].born, 3);
    hgi_batch_deinit(&batch);
    ck_assert_uint_eq(memory.out_count, 0);
}
END_TEST

START_TEST(what_has_no_room_is_refused_and_leaves_the_rest)
{
    struct hgi_batch batch;
    struct hgi_entry small = entry_of("k", "v");
    struct hgi_entry large = entry_of("k", "123456789");

    ck_assert(hgi_batch_init(&batch, &hgi_heap, 2, 10));
    ck_assert(hgi_batch_add(&batch, &small));
    ck_assert(!hgi_batch_add(&batch, &large)); /* 2 + 10 bytes */
    ck_assert_uint_eq(batch.count, 1);
    ck_assert(hgi_batch_add(&batch, &small));
    ck_assert(!hgi_batch_add(&batch, &small)); /* a third entry */
    hgi_batch_reset(&batch);
    ck_assert_uint_eq(batch.count, 0);
    ck_assert(hgi_batch_add(&batch, &large));
    ck_assert_slice_eq(batch.entries[0].value, "123456789");
    hgi_batch_deinit(&batch);
}
END_TEST

HGI_SUITE("storage.batch", 20, an_entry_is_copied_with_its_bytes,
          what_has_no_room_is_refused_and_leaves_the_rest)
