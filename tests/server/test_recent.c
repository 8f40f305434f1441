/* SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>

#include "base/thread.h"
#include "hg_test.h"
#include "server/rpc/recent.h"

#define WRITERS     4u
#define NOTES       20000u
#define READS_LEAST 200u

/* Caches are only told apart. */
static char caches[2];
static struct hgi_recent *recent;
static struct hgi_past found[HGI_RECENT_MAX + 1];

static const struct hgi_cache *cache_of(size_t index)
{
    return (const struct hgi_cache *)(const void *)&caches[index];
}

static void set_up(void)
{
    recent = hgi_recent_create();
    ck_assert_ptr_nonnull(recent);
}

static void tear_down(void)
{
    hgi_recent_destroy(&recent);
    ck_assert_ptr_null(recent);
}

static void note(size_t cache, uint64_t digest, uint64_t generation)
{
    const struct hgi_past past = {
        .cache = cache_of(cache), .digest = digest, .generation = generation};

    hgi_recent_note(recent, &past);
}

static size_t find(uint64_t digest, size_t max)
{
    return hgi_recent_of(recent, cache_of(0), digest, found, max);
}

START_TEST(answers_of_a_key_come_back_whole_and_the_newest_first)
{
    const struct hgi_past failed = {.cache = cache_of(0),
                                    .digest = UINT64_MAX,
                                    .at_ms = INT64_C(1792000000001),
                                    .status = HG_UNAUTHENTICATED,
                                    .outcome = HG_DENIED,
                                    .source = HG_SOURCE_JOINED,
                                    .is_fenced = true,
                                    .generation = 2,
                                    .age_ms = -1};

    set_up();
    ck_assert_uint_eq(find(UINT64_MAX, 8), 0);
    note(0, UINT64_MAX, 1);
    hgi_recent_note(recent, &failed);
    note(0, 7, 3);          /* another key */
    note(1, UINT64_MAX, 4); /* another cache's */
    ck_assert_uint_eq(find(UINT64_MAX, 8), 2);
    ck_assert_uint_eq(found[0].generation, 2);
    ck_assert_int_eq(found[0].at_ms, INT64_C(1792000000001));
    ck_assert_int_eq(found[0].status, HG_UNAUTHENTICATED);
    ck_assert_int_eq(found[0].outcome, HG_DENIED);
    ck_assert_int_eq(found[0].source, HG_SOURCE_JOINED);
    ck_assert(found[0].is_fenced);
    ck_assert_int_eq(found[0].age_ms, -1);
    ck_assert_uint_eq(found[1].generation, 1);
    ck_assert(!found[1].is_fenced);
    ck_assert_uint_eq(find(UINT64_MAX, 1), 1);
    ck_assert_uint_eq(found[0].generation, 2);
    tear_down();
}
END_TEST

START_TEST(the_last_1024_are_kept)
{
    set_up();
    for (uint64_t i = 0; i < 3 * HGI_RECENT_MAX / 2; i++) {
        note(0, 7, i);
    }
    ck_assert_uint_eq(find(7, HGI_RECENT_MAX + 1), 1024);
    ck_assert_uint_eq(found[0].generation, 3 * HGI_RECENT_MAX / 2 - 1);
    ck_assert_uint_eq(found[1023].generation, HGI_RECENT_MAX / 2);
    tear_down();
}
END_TEST

static _Atomic unsigned writing;

/* Every field of a note says the same, so that one made of two would show. */
static void write_many(void *arg)
{
    uint64_t writer = *(const uint64_t *)arg;

    for (uint64_t i = 1; i <= NOTES; i++) {
        const struct hgi_past past = {.cache = cache_of(0),
                                      .digest = writer,
                                      .at_ms = (int64_t)i,
                                      .status = (enum hg_status)(i % 8),
                                      .generation = i,
                                      .age_ms = (int64_t)i};

        hgi_recent_note(recent, &past);
    }
    atomic_fetch_sub(&writing, 1);
}

static void check_found(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ck_assert_int_eq(found[i].at_ms, (int64_t)found[i].generation);
        ck_assert_int_eq(found[i].age_ms, (int64_t)found[i].generation);
        ck_assert_uint_eq((unsigned)found[i].status, found[i].generation % 8);
        ck_assert(i == 0 || found[i].generation < found[i - 1].generation);
    }
}

START_TEST(no_answer_is_seen_half_written)
{
    uint64_t digests[WRITERS];
    struct hgi_thread threads[WRITERS] = {0};
    uint64_t last = 0;

    set_up();
    atomic_store(&writing, WRITERS);
    for (size_t i = 0; i < WRITERS; i++) {
        digests[i] = i + 1;
        ck_assert(hgi_thread_start(&threads[i], "writer", write_many, &digests[i]));
    }
    for (size_t reads = 0; atomic_load(&writing) > 0 || reads < READS_LEAST; reads++) {
        check_found(find(1 + reads % WRITERS, HGI_RECENT_MAX));
    }
    for (size_t i = 0; i < WRITERS; i++) {
        hgi_thread_join(&threads[i]);
        last += find(digests[i], HGI_RECENT_MAX);
    }
    /* Only who was overtaken by a whole round lost its place. */
    ck_assert_uint_gt(last, HGI_RECENT_MAX / 2);
    ck_assert_uint_le(last, HGI_RECENT_MAX);
    tear_down();
}
END_TEST

HGI_SUITE("server.recent", 60, answers_of_a_key_come_back_whole_and_the_newest_first,
          the_last_1024_are_kept, no_answer_is_seen_half_written)
