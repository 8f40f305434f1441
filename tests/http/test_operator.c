/* SPDX-License-Identifier: Apache-2.0 */
/* What operators look at and do over HTTP, asked of a real server on a plain socket. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <jansson.h>

#include "daemon.h"
#include "herdgate/access.h"
#include "http_client.h"

static const char sections[] =
    "key_file = \"@DIR@/key\"\n"
    "tokens_file = \"@DIR@/tokens\"\n"
    "principal \"reader\" { allow(\"a\", \"read, load\") }\n"
    "principal \"admin\" { allow(\"*\", \"read, load, write, clear, admin\") }\n"
    "snapshot { path = \"@DIR@/cache.db\" }\n"
    "cache \"a\" { key = \"bytes\" value = \"json\" loader = \"script\" ttl = \"60s\" }\n"
    "cache \"b\" { key = \"user_api_key\" value = \"auth\" }\n"
    "cache \"c\" { key = \"bytes\" value = \"bytes\" }\n"
    "http \"unix://@DIR@/run/token.sock\" { services = \"operator\" access = \"token\" }\n"
    "http \"unix://@DIR@/run/owner.sock\" { services = \"operator\" threads = 2 }\n";

static struct daemon d;
static char token[128];
static char owner[128];
static char admin_field[128];
static char reader_field[128];
static struct http_answer answer;

static void new_token(const char *principal, char ret_field[128])
{
    struct hg_new_token request = {.principal = principal};
    struct hg_issued issued;

    ck_assert_int_eq(hg_client_new_token(d.client, &request, &issued, NULL), HG_OK);
    snprintf(ret_field, 128, "Authorization: Bearer %.*s\r\n", (int)issued.token.len,
             (const char *)issued.token.data);
    hg_issued_deinit(&issued);
}

static void start(void)
{
    daemon_prepare(&d, sections);
    snprintf(token, sizeof(token), "%s/run/token.sock", d.dir);
    snprintf(owner, sizeof(owner), "%s/run/owner.sock", d.dir);
    daemon_start(&d);
}

static void stop(void)
{
    daemon_stop(&d);
    daemon_remove(&d);
}

/* The body as JSON, checked to be of this status. */
static json_t *body(int status)
{
    json_t *json = json_loadb(answer.body, answer.body_len, 0, NULL);

    ck_assert_msg(answer.status == status, "%d: %.*s", answer.status, (int)answer.body_len,
                  answer.body);
    ck_assert_ptr_nonnull(json);
    return json;
}

static json_t *call(const char *target, const char *json, int status)
{
    http_post(owner, target, "", json, &answer);
    return body(status);
}

static const char *error_of(json_t *json)
{
    return json_string_value(json_object_get(json_object_get(json, "error"), "message"));
}

START_TEST(health_is_ok_and_verbose_names_each_part)
{
    start();
    http_get(token, "/livez", "", &answer);
    ck_assert_int_eq(answer.status, 200);
    http_get(token, "/readyz", "", &answer);
    ck_assert_int_eq(answer.status, 200);
    ck_assert_str_eq(answer.body, "ok\n");
    http_get(token, "/readyz?verbose", "", &answer);
    ck_assert_str_eq(answer.body, "[+]serving ok\n[+]loader script ok\n[+]snapshot ok\n"
                                  "readyz check passed\n");
    http_get(token, "/healthz", "", &answer);
    ck_assert_int_eq(answer.status, 200);
    stop();
}
END_TEST

START_TEST(metrics_are_as_prometheus_wants_them)
{
    const char *const argv[] = {"/bin/sh", "-c", NULL, NULL};
    const char *check[4];
    char command[256];
    char output[4096];
    char path[128];
    FILE *file;

    start();
    hgi_script_set(&d.script, "* value 1\n");
    json_decref(call("/v1/load", "{\"cache\":\"a\",\"key\":\"k\"}", 200));
    json_decref(call("/v1/load", "{\"cache\":\"a\",\"key\":\"k\"}", 200));
    http_get(token, "/metrics", "", &answer);
    ck_assert_int_eq(answer.status, 200);
    ck_assert_str_eq(http_field(&answer, "Content-Type"),
                     "text/plain; version=0.0.4; charset=utf-8");
    ck_assert_ptr_nonnull(
        strstr(answer.body, "\nherdgate_requests_total{cache=\"a\",result=\"hit\"} 1\n"));
    ck_assert_ptr_nonnull(
        strstr(answer.body, "\nherdgate_requests_total{cache=\"a\",result=\"miss\"} 1\n"));
    ck_assert_ptr_nonnull(strstr(
        answer.body, "\nherdgate_load_duration_seconds_count{cache=\"a\",loader=\"script\"} 1\n"));
    ck_assert_ptr_nonnull(strstr(answer.body, "\nherdgate_loader_up{loader=\"script\"} 1\n"));
    snprintf(path, sizeof(path), "%s/metrics", d.dir);
    file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(answer.body, 1, answer.body_len, file), answer.body_len);
    ck_assert_int_eq(fclose(file), 0);
    snprintf(command, sizeof(command), "promtool check metrics <%s 2>&1", path);
    memcpy(check, argv, sizeof(check));
    check[2] = command;
    ck_assert_msg(daemon_run(check, output, sizeof(output)) == 0, "promtool: %s", output);
    ck_assert_str_eq(output, "");
    ck_assert_int_eq(unlink(path), 0);
    stop();
}
END_TEST

START_TEST(a_call_needs_the_right_of_a_token_or_an_owners_socket)
{
    start();
    new_token("reader", reader_field);
    new_token("admin", admin_field);
    hgi_script_set(&d.script, "* value 1\n");
    http_post(token, "/v1/load", "", "{\"cache\":\"a\",\"key\":\"k\"}", &answer);
    json_decref(body(401));
    ck_assert_str_eq(http_field(&answer, "WWW-Authenticate"), "Bearer realm=\"herdgate\"");
    http_post(token, "/v1/load", reader_field, "{\"cache\":\"a\",\"key\":\"k\"}", &answer);
    json_decref(body(200));
    http_post(token, "/v1/clear", reader_field, "{\"cache\":\"a\"}", &answer);
    json_decref(body(403));
    /* A cache that is forbidden and one that is not there are refused in the same way. */
    http_post(token, "/v1/get", reader_field, "{\"cache\":\"c\",\"key\":\"k\"}", &answer);
    json_decref(body(403));
    http_post(token, "/v1/get", reader_field, "{\"cache\":\"none\",\"key\":\"k\"}", &answer);
    json_decref(body(403));
    http_post(token, "/v1/clear", admin_field, "{\"cache\":\"a\"}", &answer);
    json_decref(body(200));
    json_decref(call("/v1/clear", "{\"all\":true}", 200));
    stop();
}
END_TEST

START_TEST(what_is_put_is_got_as_it_was)
{
    json_t *json;

    start();
    json_decref(call("/v1/put", "{\"cache\":\"a\",\"key\":\"k\",\"value\":{\"x\":[1,null]}}", 200));
    json = call("/v1/get", "{\"cache\":\"a\",\"key\":\"k\"}", 200);
    ck_assert_str_eq(json_string_value(json_object_get(json, "outcome")), "value");
    ck_assert_str_eq(json_string_value(json_object_get(json, "source")), "fresh");
    ck_assert_uint_eq(json_array_size(json_object_get(json_object_get(json, "value"), "x")), 2);
    json_decref(json);
    json_decref(call("/v1/put",
                     "{\"cache\":\"b\",\"key\":{\"user_id\":\"u\",\"api_key_id\":\"k\"},"
                     "\"value\":{\"user_id\":\"u\",\"api_key_id\":\"k\",\"allowed\":true,"
                     "\"scopes\":[\"r\"],\"attributes\":{\"plan\":\"gold\"}}}",
                     200));
    json =
        call("/v1/get", "{\"cache\":\"b\",\"key\":{\"user_id\":\"u\",\"api_key_id\":\"k\"}}", 200);
    ck_assert_str_eq(json_string_value(json_object_get(
                         json_object_get(json_object_get(json, "value"), "attributes"), "plan")),
                     "gold");
    json_decref(json);
    json_decref(call("/v1/put", "{\"cache\":\"c\",\"key\":\"k\",\"value_base64\":\"/wA=\"}", 200));
    json = call("/v1/get", "{\"cache\":\"c\",\"key\":\"k\"}", 200);
    ck_assert_str_eq(json_string_value(json_object_get(json, "value_base64")), "/wA=");
    json_decref(json);
    json_decref(call("/v1/put", "{\"cache\":\"c\",\"key\":\"k\",\"outcome\":\"absent\"}", 200));
    json = call("/v1/get", "{\"cache\":\"c\",\"key\":\"k\"}", 200);
    ck_assert_str_eq(json_string_value(json_object_get(json, "outcome")), "absent");
    json_decref(json);
    json = call("/v1/invalidate", "{\"cache\":\"c\",\"keys\":[\"k\"]}", 200);
    ck_assert_int_eq(json_integer_value(json_object_get(json, "dropped")), 1);
    json_decref(json);
    json = call("/v1/get", "{\"cache\":\"c\",\"key\":\"k\"}", 200);
    ck_assert_str_eq(json_string_value(json_object_get(json, "outcome")), "not_cached");
    json_decref(json);
    stop();
}
END_TEST

START_TEST(a_wrong_call_is_told_what_would_be_right)
{
    static const struct {
        const char *target;
        const char *json;
        const char *sentence;
    } wrong[] = {
        {"/v1/get", "[]", "the body is no JSON object: it is a list"},
        {"/v1/get", "{\"key\":\"k\"}", "cache is missing; it is the name of one"},
        {"/v1/get", "{\"cache\":\"a\"}",
         "key is missing; write a text, or an object of user_id and api_key_id"},
        {"/v1/get", "{\"cache\":\"a\",\"key\":\"k\",\"ttl\":1}",
         "there is nothing named \"ttl\" in this call"},
        {"/v1/get", "{\"cache\":\"a\",\"key\":\"k\",\"max_age_ms\":-1}",
         "max_age_ms is no whole number of 0 or more"},
        {"/v1/load", "{\"cache\":\"a\",\"key\":\"k\",\"mode\":\"quick\"}",
         "mode is none; there are fresh, allow_stale, revalidate and peek"},
        {"/v1/put", "{\"cache\":\"c\",\"key\":\"k\"}",
         "write either value or value_base64, or the outcome absent"},
        {"/v1/put", "{\"cache\":\"c\",\"key\":\"k\",\"value\":1}",
         "value is a text, in a cache of bytes"},
        {"/v1/put", "{\"cache\":\"c\",\"key\":\"k\",\"value_base64\":\"*\"}",
         "value_base64 is no base64, with padding"},
        {"/v1/clear", "{}", "write the name of a cache, or \"all\": true for every one"},
        {"/v1/invalidate", "{\"cache\":\"c\",\"tags\":\"t\"}",
         "tags is a list of at most 256 texts"},
    };
    json_t *json;

    start();
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        json = call(wrong[i].target, wrong[i].json, 400);
        ck_assert_str_eq(error_of(json), wrong[i].sentence);
        json_decref(json);
    }
    json_decref(call("/v1/get", "{\"cache\":\"none\",\"key\":\"k\"}", 404));
    http_get(owner, "/v1/get", "", &answer);
    json_decref(body(405));
    ck_assert_str_eq(http_field(&answer, "Allow"), "POST");
    http_get(owner, "/nothing", "", &answer);
    json_decref(body(404));
    stop();
}
END_TEST

START_TEST(a_form_of_another_host_is_no_call)
{
    int fd;

    start();
    fd = http_open(owner);
    http_send(fd, "POST /v1/clear HTTP/1.1\r\nHost: h\r\nContent-Type: text/plain\r\n"
                  "Content-Length: 12\r\n\r\n{\"all\":true}");
    http_read(fd, &answer);
    json_decref(body(415));
    http_close(fd);
    ck_assert_uint_eq(daemon_metric(&d, "a", "clear"), 0);
    stop();
}
END_TEST

START_TEST(a_body_longer_than_message_max_is_refused)
{
    static char block[65536];
    int fd;

    start();
    memset(block, ' ', sizeof(block));
    fd = http_open(owner);
    http_send(fd,
              "POST /v1/get HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
              "Content-Length: %zu\r\n\r\n",
              sizeof(block) * 17);
    for (size_t i = 0; i < 17; i++) {
        http_send_bytes(fd, block, sizeof(block));
    }
    http_read(fd, &answer);
    json_decref(body(413));
    http_close(fd);
    stop();
}
END_TEST

START_TEST(status_shows_what_a_page_needs_and_no_key)
{
    json_t *json;
    json_t *cache;

    start();
    hgi_script_set(&d.script, "* value 1\n");
    json_decref(call("/v1/load", "{\"cache\":\"a\",\"key\":\"a secret\"}", 200));
    json_decref(call("/v1/put", "{\"cache\":\"a\",\"key\":\"a secret\",\"value\":2}", 200));
    json_decref(call("/v1/clear", "{\"cache\":\"a\"}", 200));
    http_get(token, "/v1/status", "", &answer);
    ck_assert_ptr_null(strstr(answer.body, "secret"));
    json = body(200);
    ck_assert_str_eq(json_string_value(json_object_get(json, "state")), "serving");
    ck_assert_uint_eq(json_array_size(json_object_get(json, "caches")), 3);
    cache = json_array_get(json_object_get(json, "caches"), 0);
    ck_assert_str_eq(json_string_value(json_object_get(cache, "name")), "a");
    ck_assert_int_eq(
        json_integer_value(json_object_get(json_object_get(cache, "counters"), "load")), 1);
    ck_assert_int_eq(
        json_integer_value(json_object_get(json_object_get(cache, "history"), "step_ms")), 10000);
    ck_assert_uint_eq(json_array_size(json_object_get(json, "events")), 2);
    ck_assert_str_eq(json_string_value(json_object_get(
                         json_array_get(json_object_get(json, "events"), 1), "kind")),
                     "clear");
    ck_assert_str_eq(json_string_value(json_object_get(
                         json_array_get(json_object_get(json, "loaders"), 0), "state")),
                     "running");
    json_decref(json);
    stop();
}
END_TEST

START_TEST(the_page_may_ask_this_server_only)
{
    const char *policy;

    start();
    http_get(owner, "/", "", &answer);
    ck_assert_int_eq(answer.status, 200);
    ck_assert_str_eq(http_field(&answer, "Content-Type"), "text/html; charset=utf-8");
    policy = http_field(&answer, "Content-Security-Policy");
    ck_assert_ptr_nonnull(policy);
    ck_assert_int_eq(strncmp(policy, "default-src 'none'; script-src 'self'; ", 39), 0);
    ck_assert_ptr_null(strstr(policy, "unsafe"));
    ck_assert_ptr_null(strstr(answer.body, "http://"));
    ck_assert_ptr_null(strstr(answer.body, "https://"));
    http_get(owner, "/../page.h", "", &answer);
    ck_assert_int_eq(answer.status, 404);
    stop();
}
END_TEST

START_TEST(many_requests_follow_each_other_on_one_connection)
{
    int fd;

    start();
    fd = http_open(owner);
    for (int i = 0; i < 200; i++) {
        http_send(fd, "GET /livez HTTP/1.1\r\nHost: h\r\n\r\n");
        http_read(fd, &answer);
        ck_assert_int_eq(answer.status, 200);
    }
    /* Sent at once, they are answered in their order. */
    http_send(fd, "GET /livez HTTP/1.1\r\nHost: h\r\n\r\nGET /none HTTP/1.1\r\nHost: h\r\n\r\n"
                  "HEAD /livez HTTP/1.1\r\nHost: h\r\n\r\n");
    http_read(fd, &answer);
    ck_assert_int_eq(answer.status, 200);
    http_read(fd, &answer);
    ck_assert_int_eq(answer.status, 404);
    http_close(fd);
    fd = http_open(owner);
    http_send(fd, "nonsense\r\n\r\n");
    http_read(fd, &answer);
    ck_assert(answer.status == 400 || answer.status == 0);
    http_close(fd);
    stop();
}
END_TEST

HGI_SUITE("http.operator", 60, health_is_ok_and_verbose_names_each_part,
          metrics_are_as_prometheus_wants_them,
          a_call_needs_the_right_of_a_token_or_an_owners_socket, what_is_put_is_got_as_it_was,
          a_wrong_call_is_told_what_would_be_right, a_form_of_another_host_is_no_call,
          a_body_longer_than_message_max_is_refused, status_shows_what_a_page_needs_and_no_key,
          the_page_may_ask_this_server_only, many_requests_follow_each_other_on_one_connection)
