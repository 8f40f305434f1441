/* SPDX-License-Identifier: Apache-2.0 */
/* What a cache remembers of a failed key, and for how long. */
#include "engine.h"
#include "server/cache/failure.h"

#define HASH     77u
#define PAUSE_MS 100

struct fixture {
    struct hgi_test_allocator memory;
    struct hgi_failures failures;
    struct hgi_lock lock; /* in the place of the cache's */
    struct hgi_failure_copy copy;
};

static void setup(struct fixture *f, size_t max) HGI_ACQUIRES(flight)
{
    memset(f, 0, sizeof(*f));
    hgi_test_allocator_init(&f->memory);
    ck_assert(hgi_failures_init(&f->failures, &f->memory.allocator, max));
    hgi_lock_init(&f->lock);
    hgi_lock_flight(&f->lock);
}

static void teardown(struct fixture *f) HGI_RELEASES(flight)
{
    hgi_unlock_flight(&f->lock);
    hgi_lock_deinit(&f->lock);
    hgi_failures_deinit(&f->failures);
    ck_assert_uint_eq(f->memory.out_count, 0);
}

static void note_failure(struct fixture *f, const char *key, int64_t now_ms) HGI_REQUIRES(flight)
{
    struct hgi_answer error = {.status = HG_UNAVAILABLE,
                               .message = hg_slice_text("backend is down")};

    hgi_failures_remember(&f->failures, HASH, hg_slice_text(key), &error, PAUSE_MS, now_ms);
}

static bool find(struct fixture *f, const char *key, int64_t now_ms) HGI_REQUIRES(flight)
{
    return hgi_failures_find(&f->failures, HASH, hg_slice_text(key), now_ms, &f->copy);
}

START_TEST(a_failure_is_known_until_its_pause_is_over)
{
    struct fixture f;

    setup(&f, 8);
    note_failure(&f, "k", 1000);
    ck_assert(find(&f, "k", 1000));
    ck_assert_int_eq(f.copy.status, HG_UNAVAILABLE);
    ck_assert_int_eq(f.copy.left_ms, PAUSE_MS);
    ck_assert_slice_eq(hg_slice_of(f.copy.message, f.copy.message_len), "backend is down");
    ck_assert(find(&f, "k", 1099));
    ck_assert_int_eq(f.copy.left_ms, 1);
    ck_assert(!find(&f, "k", 1100));
    ck_assert(!find(&f, "another of the same hash", 1000));
    teardown(&f);
}
END_TEST

START_TEST(the_pause_doubles_up_to_sixteen_times_and_begins_anew_when_forgotten)
{
    struct fixture f;
    int64_t want_ms = PAUSE_MS;

    setup(&f, 8);
    for (int i = 0; i < 8; i++) {
        note_failure(&f, "k", 1000);
        ck_assert(find(&f, "k", 1000));
        ck_assert_int_eq(f.copy.left_ms, want_ms);
        want_ms = want_ms * 2 < PAUSE_MS * 16 ? want_ms * 2 : PAUSE_MS * 16;
    }
    hgi_failures_forget(&f.failures, HASH, hg_slice_text("k"));
    ck_assert(!find(&f, "k", 1000));
    note_failure(&f, "k", 1000);
    ck_assert(find(&f, "k", 1000));
    ck_assert_int_eq(f.copy.left_ms, PAUSE_MS);
    teardown(&f);
}
END_TEST

START_TEST(the_one_that_failed_longest_ago_makes_room)
{
    struct fixture f;

    setup(&f, 2);
    note_failure(&f, "a", 1000);
    note_failure(&f, "b", 1000);
    note_failure(&f, "a", 1000); /* again: b is the oldest now */
    note_failure(&f, "c", 1000);
    ck_assert(find(&f, "a", 1000) && find(&f, "c", 1000));
    ck_assert(!find(&f, "b", 1000));
    hgi_failures_forget_all(&f.failures);
    ck_assert(!find(&f, "a", 1000) && !find(&f, "c", 1000));
    ck_assert_uint_eq(f.failures.count, 0);
    teardown(&f);
}
END_TEST

HGI_SUITE("server.failure", 20, a_failure_is_known_until_its_pause_is_over,
          the_pause_doubles_up_to_sixteen_times_and_begins_anew_when_forgotten,
          the_one_that_failed_longest_ago_makes_room)
