/* SPDX-License-Identifier: Apache-2.0 */
/* Heads of requests, and heads of responses. */
#include "hg_test.h"

#include "server/http/request.h"
#include "server/http/response.h"

START_TEST(a_target_is_a_path_and_a_query)
{
    static const struct {
        const char *target;
        const char *path;
        const char *query;
    } targets[] = {
        {"/", "/", ""},
        {"/a/b?c=d&e?f", "/a/b", "c=d&e?f"},
        {"/a%3Fb", "/a%3Fb", ""},
        {"http://host/a?b", "/a", "b"},
        {"http://host", "", ""},
        {"*", "*", ""},
        {"", "", ""},
    };

    for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
        struct hg_slice path;
        struct hg_slice query;

        hgi_http_target_split(hg_slice_text(targets[i].target), &path, &query);
        ck_assert_slice_eq(path, targets[i].path);
        ck_assert_slice_eq(query, targets[i].query);
    }
}
END_TEST

START_TEST(a_field_is_found_whatever_its_case_and_counted)
{
    const struct hgi_http_field fields[] = {
        {hg_slice_text("Host"), hg_slice_text("h")},
        {hg_slice_text("x-a"), hg_slice_text("  one ")},
        {hg_slice_text("X-A"), hg_slice_text("two")},
        {hg_slice_text("X-AB"), hg_slice_text("three")},
    };
    const struct hgi_http_request request = {.fields = fields, .field_count = 4};
    struct hg_slice value = {NULL, 0};

    ck_assert_uint_eq(hgi_http_field_find(&request, "X-a", &value), 2);
    ck_assert_slice_eq(value, "one");
    ck_assert_uint_eq(hgi_http_field_find(&request, "host", &value), 1);
    ck_assert_uint_eq(hgi_http_field_find(&request, "X", &value), 0);
    ck_assert_slice_eq(value, "h");
}
END_TEST

START_TEST(a_response_refuses_what_would_begin_another_field)
{
    static const char *const wrong[] = {"a\r\nX-Admin: yes", "a\nb", "a\rb", "a\x7f", "a\x01"};
    struct hgi_http_response response;
    struct hgi_arena arena;

    hgi_arena_init(&arena, 65536);
    hgi_http_response_init(&response, &arena);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        ck_assert(!hgi_http_response_set(&response, "X-User", hg_slice_text(wrong[i])));
    }
    ck_assert(!hgi_http_response_set(&response, "X-User", hg_slice_of("a\0b", 3)));
    ck_assert_uint_eq(response.field_count, 0);
    ck_assert(hgi_http_response_set(&response, "X-User", hg_slice_text("  J\xc3\xbcrgen\tB ")));
    ck_assert_str_eq(response.fields[0].value, "J\xc3\xbcrgen\tB");
    hgi_arena_deinit(&arena);
}
END_TEST

START_TEST(an_empty_value_is_one_space_and_too_many_fields_are_refused)
{
    struct hgi_http_response response;
    struct hgi_arena arena;

    hgi_arena_init(&arena, 65536);
    hgi_http_response_init(&response, &arena);
    for (size_t i = 0; i < HGI_HTTP_SET_MAX; i++) {
        ck_assert(hgi_http_response_set(&response, "X", hg_slice_of(NULL, 0)));
        ck_assert_str_eq(response.fields[i].value, " ");
    }
    ck_assert(!hgi_http_response_set(&response, "X", hg_slice_text("one more")));
    hgi_http_response_body(&response, 200, "text/plain", hg_slice_text("body"));
    ck_assert_uint_eq(response.status, 500); /* there was no room to say what it is */
    hgi_http_response_reset(&response, 204);
    ck_assert_uint_eq(response.field_count, 0);
    ck_assert_uint_eq(response.body.len, 0);
    hgi_arena_deinit(&arena);
}
END_TEST

HGI_SUITE("http.request", 20, a_target_is_a_path_and_a_query,
          a_field_is_found_whatever_its_case_and_counted,
          a_response_refuses_what_would_begin_another_field,
          an_empty_value_is_one_space_and_too_many_fields_are_refused)
