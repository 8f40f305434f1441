/* SPDX-License-Identifier: Apache-2.0 */
/* Rows come out of a page as they were put in, and out of no other. */
#include "base/check.h"
#include "hg_test.h"
#include "storage/snapshot/page.h"

#define CACHE UINT64_C(0xfedcba9876543210)

static const struct hgi_now now = {.boot_ms = 1000000, .wall_ms = 1700000000000};

struct fixture {
    struct hgi_seal seal;
    struct hgi_page page;
    struct hg_bytes tags;
    struct hg_bytes scratch;
};

static void setup(struct fixture *f, enum hgi_seal_mode mode)
{
    static const unsigned char salt[HGI_SEAL_SALT_BYTES] = "salt";
    static const struct hgi_digest_key key = {"key"};

    hgi_seal_init(&f->seal, mode, mode == HGI_SEAL_OWN ? NULL : &key, salt);
    hgi_page_init(&f->page);
    hgi_bytes_init(&f->tags, &hgi_heap);
    hgi_bytes_init(&f->scratch, &hgi_heap);
}

static void teardown(struct fixture *f)
{
    hgi_page_deinit(&f->page);
    hgi_bytes_deinit(&f->tags);
    hgi_bytes_deinit(&f->scratch);
    hgi_seal_deinit(&f->seal);
}

static void add(struct fixture *f, const char *key, const char *value, const struct hg_slice *tags,
                size_t tag_count)
{
    struct hgi_entry entry = {
        .key = hg_slice_text(key),
        .value = hg_slice_text(value),
        .outcome = HG_VALUE,
        .born = 7,
        .published_ms = now.boot_ms - 100,
        .ttl_ms = 1000,
        .stale_ttl_ms = 3000,
        .tags = tags,
        .tag_count = tag_count,
    };
    struct hgi_row row;

    ck_assert(hgi_row_of_entry(&entry, &now, &row) && hgi_row_tags_set(&row, &entry, &f->tags));
    ck_assert(hgi_page_add(&f->page, &f->seal, CACHE, &row, &entry));
}

static struct hgi_page_walk open_page(struct fixture *f, int64_t id)
{
    struct hgi_page_walk walk;

    ck_assert(
        hgi_page_open(&f->seal, CACHE, id, hgi_page_close(&f->page, &f->seal, CACHE, id), &walk));
    return walk;
}

START_TEST(rows_come_out_in_order_with_what_the_head_says_of_them)
{
    static const enum hgi_seal_mode modes[] = {HGI_SEAL_OWN, HGI_SEAL_SECRET};
    const struct hg_slice tags[] = {hg_slice_text("tred"), hg_slice_text("uann")};

    for (size_t m = 0; m < 2; m++) {
        struct fixture f;
        struct hgi_page_walk walk;
        struct hgi_page_row at;
        struct hgi_row row;

        setup(&f, modes[m]);
        add(&f, "one", "first", NULL, 0);
        add(&f, "two", "", tags, 2);
        ck_assert(hgi_page_add_mark(&f.page, 99, 5));
        walk = open_page(&f, 3);
        ck_assert_uint_eq(walk.count, 3);
        ck_assert_uint_eq(walk.size, f.page.rows.len);
        ck_assert(hgi_page_next(&walk, &at));
        ck_assert_uint_eq(at.digest, hgi_page_key_digest(&f.seal, CACHE, hg_slice_text("one")));
        ck_assert(at.born == 7 && at.over_ms == now.wall_ms + 2900 && at.tag_count == 0);
        ck_assert(
            hgi_page_read(&f.seal, CACHE, &at, hgi_bytes_slice(&f.page.rows), &f.scratch, &row));
        ck_assert_slice_eq(row.key, "one");
        ck_assert_slice_eq(row.value, "first");
        ck_assert(row.born == 7 && row.over_ms == at.over_ms && row.age_ms == 100);
        ck_assert(hgi_page_next(&walk, &at));
        ck_assert_uint_eq(at.tag_count, 2);
        ck_assert_uint_eq(hgi_page_tag(&at, 1), hgi_page_tag_digest(&f.seal, CACHE, tags[1]));
        ck_assert(
            hgi_page_read(&f.seal, CACHE, &at, hgi_bytes_slice(&f.page.rows), &f.scratch, &row));
        ck_assert_slice_eq(row.key, "two");
        ck_assert(hgi_page_next(&walk, &at));
        ck_assert(at.digest == 99 && at.born == 5 && at.size == 0);
        ck_assert(!hgi_page_next(&walk, &at));
        teardown(&f);
    }
}
END_TEST

START_TEST(a_head_is_of_one_page_of_one_cache_and_of_one_key)
{
    struct fixture f;
    struct fixture other;
    struct hgi_page_walk walk;
    struct hg_slice head;

    setup(&f, HGI_SEAL_OWN);
    setup(&other, HGI_SEAL_KEYED);
    add(&f, "one", "first", NULL, 0);
    head = hgi_page_close(&f.page, &f.seal, CACHE, 3);
    ck_assert(hgi_page_open(&f.seal, CACHE, 3, head, &walk));
    ck_assert(!hgi_page_open(&f.seal, CACHE, 4, head, &walk));
    ck_assert(!hgi_page_open(&f.seal, CACHE + 1, 3, head, &walk));
    ck_assert(!hgi_page_open(&other.seal, CACHE, 3, head, &walk));
    for (size_t len = 0; len < head.len; len++) {
        ck_assert(!hgi_page_open(&f.seal, CACHE, 3, hg_slice_of(head.data, len), &walk));
    }
    teardown(&f);
    teardown(&other);
}
END_TEST

/* I31: what the head says is bound to the row's bytes. */
START_TEST(a_row_is_not_read_under_what_the_head_says_of_another)
{
    static const enum hgi_seal_mode modes[] = {HGI_SEAL_OWN, HGI_SEAL_SECRET};

    for (size_t m = 0; m < 2; m++) {
        struct fixture f;
        struct hgi_page_walk walk;
        struct hgi_page_row one;
        struct hgi_page_row two;
        struct hgi_page_row mixed;
        struct hgi_row row;
        struct hg_slice rows;
        unsigned char head[HGI_PAGE_HEAD_ROW];

        setup(&f, modes[m]);
        add(&f, "one", "first", NULL, 0);
        add(&f, "two", "other", NULL, 0); /* as long */
        walk = open_page(&f, 1);
        rows = hgi_bytes_slice(&f.page.rows);
        ck_assert(hgi_page_next(&walk, &one) && hgi_page_next(&walk, &two));
        mixed = one;
        mixed.at = two.at;
        ck_assert(!hgi_page_read(&f.seal, CACHE, &mixed, rows, &f.scratch, &row));
        ck_assert(!hgi_page_read(&f.seal, CACHE + 1, &one, rows, &f.scratch, &row));
        mixed = one;
        mixed.size = rows.len + 1;
        ck_assert(!hgi_page_read(&f.seal, CACHE, &mixed, rows, &f.scratch, &row));
        for (size_t i = 0; i < sizeof(head); i++) {
            memcpy(head, one.head.data, sizeof(head));
            head[i] ^= 1;
            mixed = one;
            mixed.head = hg_slice_of(head, sizeof(head));
            ck_assert(!hgi_page_read(&f.seal, CACHE, &mixed, rows, &f.scratch, &row));
        }
        teardown(&f);
    }
}
END_TEST

START_TEST(a_copied_row_is_the_same_row_elsewhere)
{
    struct fixture f;
    struct hgi_page copy;
    struct hgi_page_walk walk;
    struct hgi_page_row at;
    struct hgi_row row;

    setup(&f, HGI_SEAL_SECRET);
    hgi_page_init(&copy);
    add(&f, "one", "first", NULL, 0);
    add(&f, "two", "second", NULL, 0);
    walk = open_page(&f, 1);
    ck_assert(hgi_page_next(&walk, &at) && hgi_page_next(&walk, &at));
    ck_assert(hgi_page_copy(&copy, &at, hgi_bytes_slice(&f.page.rows)));
    ck_assert(hgi_page_open(&f.seal, CACHE, 1, hgi_page_close(&copy, &f.seal, CACHE, 1), &walk));
    ck_assert(hgi_page_next(&walk, &at));
    ck_assert(hgi_page_read(&f.seal, CACHE, &at, hgi_bytes_slice(&copy.rows), &f.scratch, &row));
    ck_assert_slice_eq(row.value, "second");
    ck_assert(!hgi_page_next(&walk, &at));
    hgi_page_deinit(&copy);
    teardown(&f);
}
END_TEST

START_TEST(a_page_says_when_it_is_full_and_begins_anew_after_a_reset)
{
    struct fixture f;

    setup(&f, HGI_SEAL_OWN);
    while (!hgi_page_is_full(&f.page)) {
        add(&f, "key", "value", NULL, 0);
    }
    ck_assert_uint_gt(f.page.count, 500);
    ck_assert_uint_lt(f.page.count, HGI_PAGE_ROWS_MAX);
    hgi_page_reset(&f.page);
    ck_assert(!hgi_page_is_full(&f.page));
    add(&f, "key", "value", NULL, 0);
    ck_assert_uint_eq(open_page(&f, 2).count, 1);
    teardown(&f);
}
END_TEST

HGI_SUITE("storage.page", 20, rows_come_out_in_order_with_what_the_head_says_of_them,
          a_head_is_of_one_page_of_one_cache_and_of_one_key,
          a_row_is_not_read_under_what_the_head_says_of_another,
          a_copied_row_is_the_same_row_elsewhere,
          a_page_says_when_it_is_full_and_begins_anew_after_a_reset)
