/* SPDX-License-Identifier: Apache-2.0 */
#include "hg_test.h"

#include "server/loader/admission.h"

START_TEST(no_more_than_loads_max_are_admitted)
{
    struct hgi_admission admission;
    struct hgi_seat seat = {0};

    hgi_admission_init(&admission, 3, 1);
    ck_assert(hgi_admission_take(&admission, &seat));
    ck_assert(hgi_admission_take(&admission, &seat));
    ck_assert(hgi_admission_take(&admission, &seat));
    ck_assert(!hgi_admission_take(&admission, &seat));
    hgi_admission_give(&admission, &seat);
    ck_assert(hgi_admission_take(&admission, &seat));
}
END_TEST

START_TEST(a_loader_that_runs_nothing_always_finds_a_place)
{
    struct hgi_admission admission;
    struct hgi_seat busy = {0};
    struct hgi_seat idle[2] = {{0}, {0}};

    hgi_admission_init(&admission, 4, 3);
    ck_assert(hgi_admission_take(&admission, &busy));
    ck_assert(hgi_admission_take(&admission, &busy));
    ck_assert(!hgi_admission_take(&admission, &busy));
    ck_assert(hgi_admission_take(&admission, &idle[0]));
    ck_assert(!hgi_admission_take(&admission, &idle[0]));
    ck_assert(hgi_admission_take(&admission, &idle[1]));
    hgi_admission_give(&admission, &idle[0]);
    ck_assert(!hgi_admission_take(&admission, &busy));
    hgi_admission_give(&admission, &busy);
    ck_assert(hgi_admission_take(&admission, &busy));
}
END_TEST

START_TEST(with_fewer_places_than_loaders_whoever_comes_first_is_served)
{
    struct hgi_admission admission;
    struct hgi_seat seats[2] = {{0}, {0}};

    hgi_admission_init(&admission, 1, 2);
    ck_assert(hgi_admission_take(&admission, &seats[0]));
    ck_assert(!hgi_admission_take(&admission, &seats[1]));
    hgi_admission_give(&admission, &seats[0]);
    ck_assert(hgi_admission_take(&admission, &seats[1]));
}
END_TEST

HGI_SUITE("server.admission", 20, no_more_than_loads_max_are_admitted,
          a_loader_that_runs_nothing_always_finds_a_place,
          with_fewer_places_than_loaders_whoever_comes_first_is_served)
