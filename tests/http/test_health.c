/* SPDX-License-Identifier: Apache-2.0 */
/* Whether it lives and is ready, while it serves, is drained and stops. Loaders and snapshots:
 * test_operator. */
#include "operator_scene.h"

START_TEST(it_lives_whatever_it_does)
{
    scene_open();
    scene_ask(hgi_http_livez, "/livez");
    ck_assert_str_eq(scene_body(200), "ok\n");
    ck_assert_str_eq(scene_field("Content-Type"), "text/plain; charset=utf-8");
    ck_assert_str_eq(scene_field("Cache-Control"), "no-store");
    hgi_dispatch_drain(scene_dispatch);
    scene_ask(hgi_http_livez, "/livez");
    ck_assert_str_eq(scene_body(200), "ok\n");
    scene_close();
}
END_TEST

START_TEST(it_is_ready_until_it_stops)
{
    scene_open();
    scene_ask(hgi_http_readyz, "/readyz");
    ck_assert_str_eq(scene_body(200), "ok\n");
    ck_assert_str_eq(scene_field("Cache-Control"), "no-store");
    hgi_dispatch_drain(scene_dispatch);
    scene_ask(hgi_http_readyz, "/readyz");
    ck_assert_str_eq(scene_body(503), "the server is stopping\n");
    scene_ask(hgi_http_readyz, "/readyz?verbose");
    ck_assert_str_eq(scene_body(503),
                     "[-]serving failed: the server is stopping\nreadyz check failed\n");
    scene_close();
}
END_TEST

START_TEST(who_is_drained_is_not_ready_and_says_by_whom)
{
    scene_open();
    hgi_dispatch_set_ready(scene_dispatch, false);
    scene_ask(hgi_http_readyz, "/readyz");
    ck_assert_str_eq(scene_body(503), "an administrator has drained the server\n");
    scene_ask(hgi_http_readyz, "/readyz?verbose");
    ck_assert_str_eq(scene_body(503), "[-]serving failed: an administrator has drained the "
                                      "server\nreadyz check failed\n");
    hgi_dispatch_set_ready(scene_dispatch, true);
    scene_ask(hgi_http_readyz, "/readyz");
    ck_assert_str_eq(scene_body(200), "ok\n");
    scene_close();
}
END_TEST

START_TEST(only_verbose_is_told_each_part)
{
    static const char *const told[] = {"/readyz?verbose", "/readyz?verbose=1", "/readyz?verbose&x"};
    static const char *const untold[] = {"/readyz?", "/readyz?verb", "/readyz?x=verbose"};

    scene_open();
    for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
        scene_ask(hgi_http_readyz, told[i]);
        ck_assert_str_eq(scene_body(200), "[+]serving ok\nreadyz check passed\n");
    }
    for (size_t i = 0; i < sizeof(untold) / sizeof(untold[0]); i++) {
        scene_ask(hgi_http_readyz, untold[i]);
        ck_assert_str_eq(scene_body(200), "ok\n");
    }
    scene_close();
}
END_TEST

HGI_SUITE("http.health", 20, it_lives_whatever_it_does, it_is_ready_until_it_stops,
          who_is_drained_is_not_ready_and_says_by_whom, only_verbose_is_told_each_part)
