/* SPDX-License-Identifier: Apache-2.0 */
/* Looking into buckets that nobody has put in order. What is found in those that somebody has:
 * storage.index. */
#include "hg_test.h"
#include "storage/flat/bucket.h"

enum { SIZE = 4096, PLACE = 2048 / HGI_WORD_BYTES };

struct fixture {
    _Alignas(64) unsigned char bytes[SIZE];
    struct hgi_memory memory;
    struct hgi_front_shard *shard;
    struct hgi_bucket *bucket;
    struct hgi_reading reading;
};

static void setup(struct fixture *f)
{
    memset(f, 0, sizeof(*f));
    f->memory = (struct hgi_memory){f->bytes, SIZE};
    f->shard = hgi_front_of(&f->memory)->shards;
    f->shard->array = (uint64_t)PLACE << 32 | 1;
    f->bucket = hgi_memory_at(&f->memory, PLACE);
}

static enum hgi_read read_key(struct fixture *f)
{
    return hgi_reading_begin(&f->memory, f->shard, (uint64_t)7 << 40, hg_slice_text("k"),
                             &f->reading);
}

START_TEST(an_empty_bucket_has_nothing_and_an_open_one_says_nothing)
{
    struct fixture f;

    setup(&f);
    ck_assert_int_eq(read_key(&f), HGI_READ_NONE);
    f.bucket->version = 1;
    ck_assert_int_eq(read_key(&f), HGI_READ_TORN);
}
END_TEST

START_TEST(an_array_that_is_not_in_the_memory_is_not_looked_into)
{
    struct fixture f;

    setup(&f);
    f.shard->array = (uint64_t)(SIZE / HGI_WORD_BYTES) << 32 | 1;
    ck_assert_int_eq(read_key(&f), HGI_READ_TORN);
    f.shard->array = (uint64_t)(SIZE / HGI_WORD_BYTES - 15) << 32 | 1; /* its last word is not */
    ck_assert_int_eq(read_key(&f), HGI_READ_TORN);
    f.shard->array = UINT64_MAX;
    ck_assert_int_eq(read_key(&f), HGI_READ_TORN);
    hgi_reading_fetch_bucket(&f.memory, f.shard, 1);
    ck_assert_uint_eq(hgi_reading_fetch_item(&f.memory, f.shard, 1), 0);
}
END_TEST

START_TEST(a_chain_that_leads_back_to_itself_ends)
{
    struct fixture f;

    setup(&f);
    f.bucket->next = PLACE;
    ck_assert_int_eq(read_key(&f), HGI_READ_NONE);
    f.bucket->next = UINT32_MAX;
    ck_assert_int_eq(read_key(&f), HGI_READ_NONE);
}
END_TEST

START_TEST(a_slot_with_any_number_for_a_place_is_passed_over)
{
    static const uint32_t places[] = {1, PLACE, SIZE / HGI_WORD_BYTES - 1, UINT32_MAX};
    struct fixture f;

    setup(&f);
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        for (size_t slot = 0; slot < HGI_BUCKET_SLOTS; slot++) {
            f.bucket->tags[slot] = 7;
            f.bucket->items[slot] = places[i];
        }
        ck_assert_int_eq(read_key(&f), HGI_READ_NONE);
    }
}
END_TEST

START_TEST(every_slot_with_the_tag_is_matched_and_no_other)
{
    struct fixture f;

    setup(&f);
    for (unsigned slot = 0; slot < HGI_BUCKET_SLOTS; slot++) {
        f.bucket->tags[slot] = (uint16_t)(slot % 3);
    }
    ck_assert_uint_eq(hgi_bucket_match(f.bucket, 0), 0x049);
    ck_assert_uint_eq(hgi_bucket_match(f.bucket, 1), 0x092);
    ck_assert_uint_eq(hgi_bucket_match(f.bucket, 2), 0x124);
    ck_assert_uint_eq(hgi_bucket_match(f.bucket, 0x8000), 0);
}
END_TEST

HGI_SUITE("storage.bucket", 20, an_empty_bucket_has_nothing_and_an_open_one_says_nothing,
          an_array_that_is_not_in_the_memory_is_not_looked_into,
          a_chain_that_leads_back_to_itself_ends, a_slot_with_any_number_for_a_place_is_passed_over,
          every_slot_with_the_tag_is_matched_and_no_other)
