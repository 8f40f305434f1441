/* SPDX-License-Identifier: Apache-2.0 */
#include "hg_test.h"

#include <stdio.h>

#include "base/check.h"
#include "base/trace.h"

#define ID     "4bf92f3577b34da6a3ce929d0e0e4736"
#define PARENT "00f067aa0ba902b7"
#define WHOLE  "00-" ID "-" PARENT "-01"

START_TEST(a_traceparent_is_handed_on_as_it_is)
{
    struct hgi_trace trace;

    ck_assert(hgi_trace_read(hg_slice_text(WHOLE), &trace));
    ck_assert_slice_eq(hgi_trace_parent(&trace), WHOLE);
    ck_assert_slice_eq(hgi_trace_id(&trace), ID);
}
END_TEST

START_TEST(of_a_later_version_the_known_part_is_taken)
{
    struct hgi_trace trace;

    ck_assert(
        hgi_trace_read(hg_slice_text("cc-" ID "-" PARENT "-00-what the future brings"), &trace));
    ck_assert_slice_eq(hgi_trace_parent(&trace), "00-" ID "-" PARENT "-00");
    ck_assert(hgi_trace_read(hg_slice_text("01-" ID "-" PARENT "-01"), &trace));
    ck_assert_slice_eq(hgi_trace_parent(&trace), WHOLE);
}
END_TEST

START_TEST(what_is_no_traceparent_changes_nothing)
{
    static const char *const wrong[] = {
        "",
        "00",
        "00-" ID "-" PARENT,
        "00-" ID "-" PARENT "-1",
        "00-" ID "-" PARENT "-01-",
        "00-" ID "-" PARENT "-01x",
        "01-" ID "-" PARENT "-01x",
        "ff-" ID "-" PARENT "-01",
        "0g-" ID "-" PARENT "-01",
        "00_" ID "-" PARENT "-01",
        "00-" ID "_" PARENT "-01",
        "00-" ID "-" PARENT "_01",
        "00-" ID "-" PARENT "-0G",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-" PARENT "-01",
        "00-" ID "-00F067AA0BA902B7-01",
        "00-00000000000000000000000000000000-" PARENT "-01",
        "00-" ID "-0000000000000000-01",
        " " WHOLE,
    };
    struct hgi_trace trace = {""};

    for (size_t i = 0; i < HGI_COUNT_OF(wrong); i++) {
        ck_assert_msg(!hgi_trace_read(hg_slice_text(wrong[i]), &trace), "%s", wrong[i]);
        ck_assert_uint_eq(hgi_trace_parent(&trace).len, 0);
    }
    ck_assert(!hgi_trace_read(hg_slice_of(NULL, 0), &trace));
}
END_TEST

START_TEST(no_trace_has_no_text)
{
    const struct hgi_trace none = {""};

    ck_assert_uint_eq(hgi_trace_parent(NULL).len, 0);
    ck_assert_uint_eq(hgi_trace_id(NULL).len, 0);
    ck_assert_uint_eq(hgi_trace_parent(&none).len, 0);
    ck_assert_uint_eq(hgi_trace_id(&none).len, 0);
}
END_TEST

HGI_SUITE("base.trace", 20, a_traceparent_is_handed_on_as_it_is,
          of_a_later_version_the_known_part_is_taken, what_is_no_traceparent_changes_nothing,
          no_trace_has_no_text)
