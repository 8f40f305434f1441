/* SPDX-License-Identifier: Apache-2.0 */
/* Decisions for gateways, asked of a real server on a plain socket. */
#include <stdio.h>
#include <stdlib.h>

#include "daemon.h"
#include "http_client.h"

static const char sections[] =
    "cache \"a\" { key = \"bytes\" value = \"json\" loader = \"script\" ttl = \"60s\" }\n"
    "cache \"facts\" { key = \"user_api_key\" value = \"json\" loader = \"script\" }\n"
    "cache \"open\" { key = \"bytes\" value = \"bytes\" loader = \"script\" }\n"
    "cache \"kept\" { key = \"bytes\" value = \"bytes\" loader = \"script\" ttl = \"1ms\"\n"
    "    jitter = \"0%\" stale_if_error = \"1h\" }\n"
    "cache \"bare\" { key = \"bytes\" value = \"bytes\" }\n"
    "http \"unix://@DIR@/run/authz.sock\" { services = \"authz\" }\n"
    "http \"unix://@DIR@/run/small.sock\" { services = \"authz\" in_flight_max = 2 }\n"
    "authz \"a\" { credential_hash = \"none\" timeout = \"20s\" header(\"X-User\", \"/user\")\n"
    "    header(\"X-Plan\", \"/plan\") }\n"
    "authz \"facts\" { credential = \"header:X-Key\" credential_hash = \"none\"\n"
    "    facts = \"method, host, path\" header(\"X-User\", \"/user\") }\n"
    "authz \"open\" { credential_hash = \"none\" fail = \"open\" header(\"X-User\", \"value\") }\n"
    "authz \"kept\" { credential_hash = \"none\" fail = \"stale\" header(\"X-User\", \"value\") "
    "}\n";

static struct daemon d;
static char authz[128];
static char small[128];
static struct http_answer answer;

static void start(void)
{
    daemon_prepare(&d, sections);
    snprintf(authz, sizeof(authz), "%s/run/authz.sock", d.dir);
    snprintf(small, sizeof(small), "%s/run/small.sock", d.dir);
    daemon_start(&d);
}

static void stop(void)
{
    daemon_stop(&d);
    daemon_remove(&d);
}

static void show(const char *cache, const char *token)
{
    char target[64];
    char field[128];

    snprintf(target, sizeof(target), "/authz/%s", cache);
    snprintf(field, sizeof(field), "Authorization: Bearer %s\r\n", token);
    http_get(authz, target, field, &answer);
}

static void ck_field(const char *name, const char *expected)
{
    const char *value = http_field(&answer, name);

    ck_assert_msg(value != NULL, "no %s in:\n%s", name, answer.head);
    ck_assert_str_eq(value, expected);
}

START_TEST(a_value_is_exactly_200_with_every_header_and_no_body)
{
    start();
    hgi_script_set(&d.script, "good value {\"user\":\"u1\"}\n");
    show("a", "good");
    ck_assert_int_eq(answer.status, 200);
    ck_assert_uint_eq(answer.body_len, 0);
    ck_field("X-User", "u1");
    ck_field("X-Plan", " ");
    ck_field("Content-Length", "0");
    ck_field("Cache-Control", "no-store");
    ck_field("Cache-Status", "herdgate; fwd=miss; stored");
    ck_field("Age", "0");
    show("a", "good");
    ck_assert_int_eq(answer.status, 200);
    ck_assert_int_eq(strncmp(http_field(&answer, "Cache-Status"), "herdgate; hit; ttl=", 19), 0);
    ck_assert_uint_eq(hgi_script_loads(&d.script, "good"), 1);
    stop();
}
END_TEST

START_TEST(denied_is_403_and_unknown_is_401_with_a_challenge)
{
    start();
    hgi_script_set(&d.script, "bad denied\nnobody absent\n");
    show("a", "bad");
    ck_assert_int_eq(answer.status, 403);
    ck_assert_ptr_null(http_field(&answer, "X-User"));
    show("a", "nobody");
    ck_assert_int_eq(answer.status, 401);
    ck_field("WWW-Authenticate", "Bearer realm=\"herdgate\", error=\"invalid_token\"");
    http_get(authz, "/authz/a", "", &answer);
    ck_assert_int_eq(answer.status, 401);
    ck_field("WWW-Authenticate", "Bearer realm=\"herdgate\"");
    http_get(authz, "/authz/facts", "", &answer);
    ck_assert_int_eq(answer.status, 401);
    ck_field("WWW-Authenticate", "ApiKey realm=\"herdgate\"");
    http_get(authz, "/authz/a", "Authorization: Bearer a\r\nAuthorization: Bearer b\r\n", &answer);
    ck_assert_int_eq(answer.status, 400);
    ck_assert_uint_eq(answer.body_len, 0);
    stop();
}
END_TEST

START_TEST(any_path_but_a_configured_cache_is_403)
{
    static const char *const paths[] = {"/",           "/authz",    "/authz/",     "/authz/aa",
                                        "/authz/bare", "/livez",    "/metrics",    "/v1/status",
                                        "/authz/a%2F", "//authz/a", "/authz/../a", "*"};

    start();
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        http_get(authz, paths[i], "Authorization: Bearer good\r\n", &answer);
        ck_assert_msg(answer.status == 403, "%s: %d", paths[i], answer.status);
    }
    stop();
}
END_TEST

START_TEST(when_nobody_knows_it_is_503_or_what_fail_says)
{
    start();
    hgi_script_set(&d.script, "* fail 14 the database is down\n");
    show("a", "t");
    ck_assert_int_eq(answer.status, 503);
    ck_field("Retry-After", "1");
    ck_field("Cache-Status", "herdgate; fwd=miss; detail=UNAVAILABLE");
    ck_assert_ptr_null(strstr(answer.head, "database"));
    show("open", "t");
    ck_assert_int_eq(answer.status, 200);
    ck_field("X-User", " ");
    show("kept", "t");
    ck_assert_int_eq(answer.status, 503);
    hgi_script_set(&d.script, "t value u9\n");
    show("kept", "t");
    ck_assert_int_eq(answer.status, 200);
    hgi_script_set(&d.script, "* fail 14 the database is down\n");
    while (strcmp(http_field(&answer, "Cache-Status"), "herdgate; hit; detail=stale") != 0) {
        show("kept", "t"); /* fresh for a millisecond more */
        ck_assert_int_eq(answer.status, 200);
    }
    ck_field("X-User", "u9");
    stop();
}
END_TEST

START_TEST(a_revoked_credential_is_refused_at_once)
{
    const struct hg_key key = daemon_key("t");
    const struct hg_invalidate request = {.cache = "a", .keys = &key, .key_count = 1};
    struct hg_report report;

    start();
    hgi_script_set(&d.script, "t value {\"user\":\"u\"}\n");
    show("a", "t");
    ck_assert_int_eq(answer.status, 200);
    hgi_script_set(&d.script, "t denied\n");
    show("a", "t");
    ck_assert_int_eq(answer.status, 200); /* cached still */
    ck_assert_int_eq(hg_client_invalidate(d.client, &request, &report, NULL), HG_OK);
    show("a", "t");
    ck_assert_int_eq(answer.status, 403);
    stop();
}
END_TEST

#define CROWD 64

START_TEST(sixty_four_first_requests_are_one_load_and_no_thread_waits_with_them)
{
    int fds[CROWD];

    start();
    hgi_script_set(&d.script,
                   "t gate %/go\nt value {\"user\":\"u\"}\nother value {\"user\":\"o\"}\n");
    for (size_t i = 0; i < CROWD; i++) {
        fds[i] = http_open(authz);
        http_send(fds[i], "GET /authz/a HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer t\r\n\r\n");
    }
    daemon_wait_metric(&d, "a", "follower_wait", CROWD - 1);
    show("a", "other"); /* on the listener's only thread */
    ck_assert_int_eq(answer.status, 200);
    for (size_t i = 0; i < CROWD; i++) {
        ck_assert(!http_is_answered(fds[i]));
    }
    hgi_script_touch(&d.script, "go");
    for (size_t i = 0; i < CROWD; i++) {
        http_read(fds[i], &answer);
        ck_assert_int_eq(answer.status, 200);
        ck_field("X-User", "u");
        http_close(fds[i]);
    }
    ck_assert_uint_eq(hgi_script_loads(&d.script, "t"), 1);
    stop();
}
END_TEST

START_TEST(requests_beyond_in_flight_max_are_told_503_at_once)
{
    int one;
    int two;

    start();
    hgi_script_set(&d.script, "t gate %/go\nt value {\"user\":\"u\"}\n");
    one = http_open(small);
    two = http_open(small);
    http_send(one, "GET /authz/a HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer t\r\n\r\n");
    http_send(two, "GET /authz/a HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer t\r\n\r\n");
    daemon_wait_metric(&d, "a", "follower_wait", 1);
    http_get(small, "/authz/a", "Authorization: Bearer t\r\n", &answer);
    ck_assert_int_eq(answer.status, 503);
    ck_field("Retry-After", "1");
    hgi_script_touch(&d.script, "go");
    http_read(one, &answer);
    ck_assert_int_eq(answer.status, 200);
    http_read(two, &answer);
    ck_assert_int_eq(answer.status, 200);
    /* And the connections are as good as new. */
    http_send(one, "GET /authz/a HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer t\r\n\r\n");
    http_read(one, &answer);
    ck_assert_int_eq(answer.status, 200);
    http_close(one);
    http_close(two);
    stop();
}
END_TEST

/* A head with one field of so many bytes. */
static void send_long(size_t len)
{
    char *field = malloc(len + 1);
    int fd = http_open(authz);

    ck_assert_ptr_nonnull(field);
    memset(field, 'x', len);
    http_send(fd, "GET /authz/a HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer t\r\nX-Long: ");
    http_send_bytes(fd, field, len);
    http_send_bytes(fd, "\r\n\r\n", 4);
    http_read(fd, &answer);
    http_close(fd);
    free(field);
}

START_TEST(a_head_of_60_kib_is_read_and_a_longer_one_refused)
{
    static const size_t wrong[] = {66000, 90000, 200000};

    start();
    hgi_script_set(&d.script, "t value {\"user\":\"u\"}\n");
    send_long(60000);
    ck_assert_int_eq(answer.status, 200);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        send_long(wrong[i]);
        ck_assert_msg(answer.status == 431 || answer.status == 413, "%zu bytes: %d", wrong[i],
                      answer.status);
    }
    stop();
}
END_TEST

/* What each gateway sends when it asks about "POST https://shop.example/buy?k=1". */
START_TEST(facts_are_the_original_requests_whichever_gateway_asks)
{
    static const struct {
        const char *target;
        const char *fields;
    } asked[] = {
        /* nginx, with what its documentation has one set */
        {"/authz/facts", "X-Original-Method: POST\r\nX-Original-URI: /buy?k=1\r\n"
                         "X-Original-Host: shop.example\r\nX-Key: k1\r\n"},
        /* Caddy and Traefik */
        {"/authz/facts", "X-Forwarded-Method: POST\r\nX-Forwarded-Uri: /buy?k=1\r\n"
                         "X-Forwarded-Host: Shop.example\r\nX-Forwarded-Proto: https\r\n"
                         "X-Forwarded-For: 192.0.2.1\r\nX-Key: k1\r\n"},
    };
    const struct hg_read peek = {.cache = "facts",
                                 .key = {.kind = HG_KEY_USER_API_KEY,
                                         .user_id = hg_slice_text("k1"),
                                         .api_key_id = hg_slice_text("POST shop.example /buy")}};
    struct hg_answer kept;
    int fd;

    start();
    hgi_script_set(&d.script, "* value {\"user\":\"u\"}\n");
    for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
        http_get(authz, asked[i].target, asked[i].fields, &answer);
        ck_assert_int_eq(answer.status, 200);
    }
    /* Envoy asks with the original method and path, and a body that nobody reads. */
    fd = http_open(authz);
    http_send(fd, "POST /authz/facts/buy?k=1 HTTP/1.1\r\nHost: shop.example\r\nX-Key: k1\r\n"
                  "Content-Length: 5\r\n\r\nhello");
    http_read(fd, &answer);
    ck_assert_int_eq(answer.status, 200);
    http_close(fd);
    /* All three are the same key, and another method is another one. */
    ck_assert_uint_eq(daemon_metric(&d, "facts", "load"), 1);
    ck_assert_int_eq(hg_client_get(d.client, &peek, &kept, NULL), HG_OK);
    ck_assert_int_eq(kept.outcome, HG_VALUE);
    hg_answer_deinit(&kept);
    http_get(authz, "/authz/facts/buy", "X-Key: k1\r\n", &answer);
    ck_assert_int_eq(answer.status, 200);
    ck_assert_uint_eq(daemon_metric(&d, "facts", "load"), 2);
    http_get(authz, "/authz/facts",
             "X-Key: k1\r\nX-Forwarded-Uri: /public\r\nX-Original-URI: /admin\r\n", &answer);
    ck_assert_int_eq(answer.status, 400);
    stop();
}
END_TEST

START_TEST(what_a_loader_says_begins_no_header_of_its_own)
{
    start();
    hgi_script_set(&d.script, "t value {\"user\":\"u\\r\\nX-Admin: yes\"}\n");
    show("a", "t");
    ck_assert_int_eq(answer.status, 503);
    ck_assert_ptr_null(strstr(answer.head, "X-Admin"));
    stop();
}
END_TEST

START_TEST(a_trace_goes_along_to_the_loader)
{
    static const char trace[] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    char fields[256];

    start();
    hgi_script_set(&d.script, "* trace\n");
    snprintf(fields, sizeof(fields), "Authorization: Bearer t\r\nTraceparent: %s\r\n", trace);
    http_get(authz, "/authz/open", fields, &answer);
    ck_assert_int_eq(answer.status, 200);
    ck_field("X-User", trace);
    stop();
}
END_TEST

START_TEST(a_server_that_stops_answers_those_who_wait)
{
    int fd;

    start();
    hgi_script_set(&d.script, "t hang\n");
    fd = http_open(authz);
    http_send(fd, "GET /authz/a HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer t\r\n\r\n");
    daemon_wait_metric(&d, "a", "load", 1);
    daemon_stop(&d); /* and it ends well */
    http_read(fd, &answer);
    ck_assert_int_eq(answer.status, 503);
    http_close(fd);
    daemon_remove(&d);
}
END_TEST

HGI_SUITE("http.authz", 60, a_value_is_exactly_200_with_every_header_and_no_body,
          denied_is_403_and_unknown_is_401_with_a_challenge, any_path_but_a_configured_cache_is_403,
          when_nobody_knows_it_is_503_or_what_fail_says, a_revoked_credential_is_refused_at_once,
          sixty_four_first_requests_are_one_load_and_no_thread_waits_with_them,
          requests_beyond_in_flight_max_are_told_503_at_once,
          a_head_of_60_kib_is_read_and_a_longer_one_refused,
          facts_are_the_original_requests_whichever_gateway_asks,
          what_a_loader_says_begins_no_header_of_its_own, a_trace_goes_along_to_the_loader,
          a_server_that_stops_answers_those_who_wait)
