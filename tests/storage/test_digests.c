/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"
#include "hg_test.h"
#include "storage/snapshot/digests.h"

START_TEST(a_digest_keeps_the_highest_number_it_was_given)
{
    struct hgi_digests digests;

    ck_assert(hgi_digests_init(&digests, 4));
    ck_assert_uint_eq(hgi_digests_find(&digests, 7), 0);
    ck_assert(hgi_digests_raise(&digests, 7, 3));
    ck_assert(hgi_digests_raise(&digests, 7, 9));
    ck_assert(hgi_digests_raise(&digests, 7, 5));
    ck_assert_uint_eq(hgi_digests_find(&digests, 7), 9);
    ck_assert_uint_eq(digests.count, 1);
    hgi_digests_deinit(&digests);
    ck_assert_uint_eq(hgi_digests_find(&digests, 7), 0);
}
END_TEST

/* Those that begin at one place, too, and more than were announced. */
START_TEST(every_digest_is_found_however_many_there_are)
{
    enum { COUNT = 20000 };
    struct hgi_digests digests;

    ck_assert(hgi_digests_init(&digests, 0));
    for (uint64_t i = 1; i <= COUNT; i++) {
        ck_assert(hgi_digests_raise(&digests, i % 2 ? i << 40 : i, i));
    }
    ck_assert_uint_eq(digests.count, COUNT);
    for (uint64_t i = 1; i <= COUNT; i++) {
        ck_assert_uint_eq(hgi_digests_find(&digests, i % 2 ? i << 40 : i), i);
    }
    ck_assert_uint_eq(hgi_digests_find(&digests, COUNT + 2), 0);
    hgi_digests_deinit(&digests);
}
END_TEST

HGI_SUITE("storage.digests", 20, a_digest_keeps_the_highest_number_it_was_given,
          every_digest_is_found_however_many_there_are)
