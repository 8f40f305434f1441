/* SPDX-License-Identifier: Apache-2.0 */
/* Whose file it is, and whether it still counts. */
#include "hg_test.h"
#include "storage/flat/front.h"
#include "storage/flat/label.h"

enum { MEMORY = 1 << 16, FILE_SIZE = HGI_LABEL_BYTES + MEMORY };

static struct hgi_label label_of(const char *name)
{
    struct hgi_label label = {.magic = HGI_LABEL_MAGIC,
                              .memory_size = MEMORY,
                              .time_space = hgi_label_time_space(),
                              .key_type = HGI_KEYS_BYTES,
                              .value_type = HG_TYPE_BYTES};

    strcpy(label.name, name);
    return label;
}

START_TEST(a_label_is_of_one_cache_of_this_version_and_as_long_as_it_says)
{
    struct hgi_label label = label_of("near");

    ck_assert_ptr_null(hgi_label_problem(&label, "near", FILE_SIZE));
    ck_assert_ptr_nonnull(hgi_label_problem(&label, "far", FILE_SIZE));
    ck_assert_ptr_nonnull(hgi_label_problem(&label, "near", FILE_SIZE - 1));
    label.magic++;
    ck_assert_ptr_nonnull(hgi_label_problem(&label, "near", FILE_SIZE));
    label = label_of("near");
    memset(label.name, 'x', sizeof(label.name)); /* without an end */
    ck_assert_ptr_nonnull(hgi_label_problem(&label, "near", FILE_SIZE));
}
END_TEST

START_TEST(sizes_and_types_that_cannot_be_are_told_apart)
{
    struct hgi_label label = label_of("near");

    label.memory_size = HGI_FRONT_BYTES - 1;
    ck_assert_ptr_nonnull(hgi_label_problem(&label, "near", FILE_SIZE));
    label.memory_size = UINT64_MAX;
    ck_assert_ptr_nonnull(hgi_label_problem(&label, "near", FILE_SIZE));
    label = label_of("near");
    label.key_type = 77;
    ck_assert_ptr_nonnull(hgi_label_problem(&label, "near", FILE_SIZE));
    label = label_of("near");
    label.value_type = 0;
    ck_assert_ptr_nonnull(hgi_label_problem(&label, "near", FILE_SIZE));
}
END_TEST

START_TEST(another_boot_clock_is_another_clock)
{
    struct hgi_label label = label_of("near");

    ck_assert_uint_ne(label.time_space, 0);
    label.time_space++;
    ck_assert_ptr_nonnull(hgi_label_problem(&label, "near", FILE_SIZE));
}
END_TEST

START_TEST(it_counts_while_it_is_live_and_its_server_alive)
{
    struct hgi_label label = label_of("near");

    label.alive_until_ms = 1000;
    ck_assert(!hgi_label_counts(&label, 1));
    label.state = HGI_LABEL_LIVE;
    ck_assert(hgi_label_counts(&label, 999));
    ck_assert(!hgi_label_counts(&label, 1000));
    label.state = HGI_LABEL_RETIRED;
    ck_assert(!hgi_label_counts(&label, 1));
}
END_TEST

HGI_SUITE("storage.label", 20, a_label_is_of_one_cache_of_this_version_and_as_long_as_it_says,
          sizes_and_types_that_cannot_be_are_told_apart, another_boot_clock_is_another_clock,
          it_counts_while_it_is_live_and_its_server_alive)
