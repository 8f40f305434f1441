/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a table's memory from elsewhere. What a read finds, by age and clock: storage.lookup. */
#include <stdio.h>
#include <stdlib.h>

#include "hg_test.h"
#include "storage/table/table.h"

enum { KEYS = 500, CHANGES = 20000 };

/* A table in a mapping that is given, and a second look at the same memory. */
struct fixture {
    struct hgi_metrics metrics;
    struct hgi_backing backing;
    struct hgi_table *table;
    struct hgi_reader reader;
    struct hgi_now now;
    struct hg_bytes value;
    struct hgi_found_entry found;
};

static bool lend(void *context, size_t from, size_t to)
{
    (void)context;
    return from < to;
}

static struct hgi_reader reader_of(const struct hgi_memory *memory)
{
    struct hgi_reader reader = {.memory = *memory, .front = hgi_front_of(memory)};

    reader.shard_count = reader.front->shard_count;
    reader.hash_key = reader.front->hash_key;
    ck_assert(hgi_heat_init(&reader.heat, memory->size));
    return reader;
}

static void setup(struct fixture *f)
{
    const struct hgi_table_bounds bounds = {4096, 4 << 20};
    size_t size = hgi_table_memory_size(&bounds);

    memset(f, 0, sizeof(*f));
    hgi_bytes_init(&f->value, &hgi_heap);
    f->now = (struct hgi_now){.boot_ms = 1000, .wall_ms = 1700000000000};
    f->backing = (struct hgi_backing){{aligned_alloc(64, size), size}, lend, NULL};
    ck_assert_ptr_nonnull(f->backing.memory.base);
    memset(f->backing.memory.base, 0, size);
    f->table = hgi_table_create_in(&hgi_heap, &bounds, &f->metrics, &f->backing);
    ck_assert_ptr_nonnull(f->table);
    f->reader = reader_of(&f->backing.memory);
}

static void teardown(struct fixture *f)
{
    hgi_bytes_deinit(&f->value);
    hgi_heat_deinit(&f->reader.heat);
    hgi_table_destroy(&f->table);
    free(f->backing.memory.base);
}

static struct hg_slice key_of(unsigned number, char *ret_text)
{
    int len = snprintf(ret_text, 16, "key %u", number);

    return hg_slice_of(ret_text, (size_t)len);
}

static void put(struct fixture *f, struct hg_slice key, const char *value, uint64_t born)
{
    const struct hg_slice tags[] = {hg_slice_text("red")};
    const struct hgi_entry entry = {.key = key,
                                    .value = hg_slice_text(value),
                                    .outcome = HG_VALUE,
                                    .born = born,
                                    .published_ms = f->now.boot_ms,
                                    .ttl_ms = 100,
                                    .stale_ttl_ms = 100,
                                    .tags = tags,
                                    .tag_count = born % 2};

    ck_assert_int_eq(hgi_table_insert(f->table, &entry, true), HGI_STORED);
}

static enum hgi_found look(struct fixture *f, const struct hgi_reader *reader, struct hg_slice key,
                           size_t value_max, enum hgi_reader_verdict *ret_verdict)
{
    const struct hgi_lookup lookup = {.key = key,
                                      .hash = hgi_reader_hash(reader, key),
                                      .max_age_ms = -1,
                                      .value_max = value_max,
                                      .now = &f->now,
                                      .ret_value = &f->value,
                                      .ret_entry = &f->found};
    enum hgi_found found;

    *ret_verdict = hgi_reader_look(reader, &lookup, &found);
    return found;
}

static enum hgi_found find(struct fixture *f, struct hg_slice key)
{
    enum hgi_reader_verdict verdict;

    return look(f, &f->reader, key, 64, &verdict);
}

START_TEST(what_is_put_is_found_by_another_reader_through_all_growth)
{
    struct fixture f;
    char text[16];

    setup(&f);
    for (unsigned i = 0; i < KEYS; i++) {
        put(&f, key_of(i, text), text, i + 1);
    }
    for (unsigned i = 0; i < KEYS; i++) {
        ck_assert_int_eq(find(&f, key_of(i, text)), HGI_FRESH);
        ck_assert_slice_eq(hgi_bytes_slice(&f.value), text);
        ck_assert_uint_eq(f.found.born, i + 1);
    }
    ck_assert_int_eq(find(&f, hg_slice_text("no such key")), HGI_MISS);
    teardown(&f);
}
END_TEST

START_TEST(clears_invalidations_and_time_reach_it_at_once)
{
    struct fixture f;
    char text[16];

    setup(&f);
    for (unsigned i = 0; i < 4; i++) {
        put(&f, key_of(i, text), "v", 10 + i);
    }
    ck_assert(hgi_table_remove(f.table, key_of(0, text), 20));
    ck_assert_int_eq(find(&f, key_of(0, text)), HGI_MISS);
    hgi_table_invalidate_tag(f.table, hg_slice_text("red"), 21, false);
    ck_assert_int_eq(find(&f, key_of(1, text)), HGI_MISS);
    ck_assert_int_eq(find(&f, key_of(2, text)), HGI_FRESH);
    ck_assert(hgi_table_soften(f.table, key_of(2, text), 22));
    ck_assert_int_eq(find(&f, key_of(2, text)), HGI_STALE);
    put(&f, key_of(2, text), "v", 24);
    hgi_table_clear(f.table, 24);
    ck_assert_int_eq(find(&f, key_of(2, text)), HGI_FRESH);
    hgi_table_clear(f.table, 25);
    ck_assert_int_eq(find(&f, key_of(2, text)), HGI_MISS);
    put(&f, key_of(3, text), "v", 26);
    f.now.boot_ms += 101;
    ck_assert_int_eq(find(&f, key_of(3, text)), HGI_MISS);
    teardown(&f);
}
END_TEST

START_TEST(a_value_longer_than_the_reader_takes_is_a_miss)
{
    enum hgi_reader_verdict verdict;
    struct fixture f;

    setup(&f);
    put(&f, hg_slice_text("k"), "four", 1);
    ck_assert_int_eq(look(&f, &f.reader, hg_slice_text("k"), 3, &verdict), HGI_MISS);
    ck_assert_int_eq(look(&f, &f.reader, hg_slice_text("k"), 4, &verdict), HGI_FRESH);
    teardown(&f);
}
END_TEST

START_TEST(only_reads_that_take_the_value_are_counted_and_by_the_reader_alone)
{
    struct fixture f;
    size_t counted = 0;

    setup(&f);
    put(&f, hg_slice_text("k"), "v", 1);
    ck_assert_int_eq(find(&f, hg_slice_text("k")), HGI_FRESH);
    for (size_t i = 0; i < f.reader.heat.size; i++) {
        counted += f.reader.heat.counts[i] != 0;
    }
    ck_assert_uint_eq(counted, 1);
    teardown(&f);
}
END_TEST

/* Each of many changed words may cost a reader its answer, and never more: no place outside is
 * looked at (the address sanitizer sees it), and no look goes on for ever. */
START_TEST(nonsense_anywhere_in_the_memory_harms_no_reader)
{
    uint64_t random = 88172645463325252u;
    struct hgi_memory copy;
    struct hgi_reader reader;
    enum hgi_reader_verdict verdict;
    struct fixture f;
    size_t used = 256 << 10; /* where all of it lies */
    char text[16];
    size_t found = 0;

    setup(&f);
    for (unsigned i = 0; i < KEYS; i++) {
        put(&f, key_of(i, text), text, i + 1);
    }
    hgi_table_invalidate_tag(f.table, hg_slice_text("red"), 100, false);
    copy = (struct hgi_memory){aligned_alloc(64, used), used};
    ck_assert_ptr_nonnull(copy.base);
    memcpy(copy.base, f.backing.memory.base, used);
    reader = reader_of(&copy);
    for (unsigned i = 0; i < CHANGES; i++) {
        uint32_t word;

        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        word = (uint32_t)(random >> 33);
        /* Small numbers are places and lengths that nearly fit. */
        word = random % 3 ? word % (uint32_t)used : word;
        memcpy(copy.base + random % (used / HGI_WORD_BYTES) * HGI_WORD_BYTES, &word, sizeof(word));
        found +=
            look(&f, &reader, key_of((unsigned)(random % KEYS), text), 64, &verdict) != HGI_MISS;
    }
    ck_assert_uint_gt(found, 0);
    hgi_heat_deinit(&reader.heat);
    free(copy.base);
    teardown(&f);
}
END_TEST

/* Looks for the key whenever the table wants more of the mapping, in the midst of a change. */
static size_t looks;

static bool look_and_lend(void *context, size_t from, size_t to)
{
    struct fixture *f = context;

    if (f->reader.front) {
        ck_assert_int_eq(find(f, hg_slice_text("k")), HGI_FRESH);
        ck_assert_slice_eq(hgi_bytes_slice(&f->value), "old");
        looks++;
    }
    return from < to;
}

START_TEST(a_key_that_is_replaced_is_never_missed)
{
    static char large[1500000];
    const struct hgi_table_bounds bounds = {100, 8 << 20};
    size_t size = hgi_table_memory_size(&bounds);
    struct fixture f;

    memset(&f, 0, sizeof(f));
    hgi_bytes_init(&f.value, &hgi_heap);
    f.now = (struct hgi_now){.boot_ms = 1000, .wall_ms = 1700000000000};
    f.backing = (struct hgi_backing){{aligned_alloc(64, size), size}, look_and_lend, &f};
    ck_assert_ptr_nonnull(f.backing.memory.base);
    memset(f.backing.memory.base, 0, size);
    f.table = hgi_table_create_in(&hgi_heap, &bounds, &f.metrics, &f.backing);
    ck_assert_ptr_nonnull(f.table);
    f.reader = reader_of(&f.backing.memory);
    put(&f, hg_slice_text("k"), "old", 2);
    memset(large, 'x', sizeof(large) - 1); /* more than the table has asked for so far */
    put(&f, hg_slice_text("k"), large, 4);
    ck_assert_uint_gt(looks, 0);
    teardown(&f);
}
END_TEST

HGI_SUITE("storage.reader", 60, a_key_that_is_replaced_is_never_missed,
          what_is_put_is_found_by_another_reader_through_all_growth,
          clears_invalidations_and_time_reach_it_at_once,
          a_value_longer_than_the_reader_takes_is_a_miss,
          only_reads_that_take_the_value_are_counted_and_by_the_reader_alone,
          nonsense_anywhere_in_the_memory_harms_no_reader)
