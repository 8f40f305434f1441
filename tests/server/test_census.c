/* SPDX-License-Identifier: Apache-2.0 */
#include "hg_test.h"

#include <fcntl.h>
#include <unistd.h>

#include "server/census.h"

static bool is_over(struct hgi_census *census, size_t open_count, size_t accounted, int64_t now_ms)
{
    const struct hgi_census_look look = {.open_count = open_count, .accounted = accounted};

    return hgi_census_is_over(census, &look, now_ms);
}

START_TEST(descriptors_are_counted)
{
    size_t before = hgi_census_descriptors();
    int opened[10];

    ck_assert_uint_gt(before, 0);
    for (size_t i = 0; i < 10; i++) {
        opened[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        ck_assert_int_ge(opened[i], 0);
    }
    ck_assert_uint_eq(hgi_census_descriptors(), before + 10);
    for (size_t i = 0; i < 10; i++) {
        close(opened[i]);
    }
    ck_assert_uint_eq(hgi_census_descriptors(), before);
}
END_TEST

START_TEST(connections_are_no_surplus_and_what_nobody_accounts_for_is_after_its_time)
{
    struct hgi_census census;
    size_t most = 20 + 5 + HGI_CENSUS_MARGIN;

    hgi_census_init(&census, 22, 2, 5);
    ck_assert(!is_over(&census, most, 0, 0));
    ck_assert(!is_over(&census, most + 10000, 10000, HGI_CENSUS_MS * 2));
    ck_assert(!is_over(&census, most + 1, 0, 100000));
    ck_assert(!is_over(&census, most + 1, 0, 100000 + HGI_CENSUS_MS - 1));
    ck_assert(is_over(&census, most + 10001, 10000, 100000 + HGI_CENSUS_MS));
}
END_TEST

START_TEST(one_look_that_finds_them_gone_begins_anew)
{
    struct hgi_census census;
    size_t most = HGI_CENSUS_MARGIN;

    hgi_census_init(&census, 3, 3, 0);
    ck_assert(!is_over(&census, most + 1, 0, 0));
    ck_assert(!is_over(&census, most, 0, HGI_CENSUS_MS - 1));
    ck_assert(!is_over(&census, most + 1, 0, HGI_CENSUS_MS));
    ck_assert(!is_over(&census, most + 1, 0, 2 * HGI_CENSUS_MS - 1));
    ck_assert(is_over(&census, most + 1, 0, 2 * HGI_CENSUS_MS));
}
END_TEST

START_TEST(connections_that_have_ended_and_stay_are_too_many_whatever_is_open)
{
    const struct hgi_census_look clogged = {.open_count = 10, .accounted = 7, .is_clogged = true};
    struct hgi_census census;

    hgi_census_init(&census, 10, 7, 0);
    ck_assert(!hgi_census_is_over(&census, &clogged, 1000));
    ck_assert(!hgi_census_is_over(&census, &clogged, 1000 + HGI_CENSUS_MS - 1));
    ck_assert(hgi_census_is_over(&census, &clogged, 1000 + HGI_CENSUS_MS));
    ck_assert(!is_over(&census, 10, 7, 1001 + HGI_CENSUS_MS)); /* and are gone */
    ck_assert(!hgi_census_is_over(&census, &clogged, 1002 + HGI_CENSUS_MS));
}
END_TEST

START_TEST(where_nothing_can_be_counted_nothing_is_over)
{
    struct hgi_census census;

    hgi_census_init(&census, 0, 5, 0);
    ck_assert(!is_over(&census, 0, 1000, 0));
    ck_assert(!is_over(&census, 0, 1000, 2 * HGI_CENSUS_MS));
}
END_TEST

HGI_SUITE("server.census", 20, descriptors_are_counted,
          connections_are_no_surplus_and_what_nobody_accounts_for_is_after_its_time,
          connections_that_have_ended_and_stay_are_too_many_whatever_is_open,
          one_look_that_finds_them_gone_begins_anew, where_nothing_can_be_counted_nothing_is_over)
