/* SPDX-License-Identifier: Apache-2.0 */
#include "child.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "backend.h"
#include "proto/codec.h"

#define PLUGIN       HGI_BUILD_DIR "/lib/herdgate/http.so"
#define SETTINGS_MAX 12

static struct child child;
static struct backend backend;
static struct hgi_arena arena;
static struct hg_auth auth;
static char port[16];
static char sentence[HGI_FRAME_MESSAGE_MAX + 1];
static struct hgi_frame_setting settings[SETTINGS_MAX];
static char texts[SETTINGS_MAX][256];
static size_t setting_count;

static void begin(void)
{
    const char *const argv[] = {"python3", HGI_SOURCE_DIR "/tests/loaders/http_server.py", NULL};

    backend_prepare(&backend, "http");
    backend_start(&backend, argv, port, sizeof(port));
    hgi_arena_init(&arena, 1 << 20);
    setting_count = 0;
}

static void set(const char *name, const char *value)
{
    ck_assert_uint_lt(setting_count, SETTINGS_MAX);
    snprintf(texts[setting_count], sizeof(texts[0]), "%s", value);
    settings[setting_count].name = hg_slice_text(name);
    settings[setting_count].value = hg_slice_text(texts[setting_count]);
    setting_count++;
}

static void set_path(const char *path)
{
    char url[192];

    snprintf(url, sizeof(url), "http://127.0.0.1:%s%s", port, path);
    set("url", url);
}

static void copy_message(struct hg_slice message)
{
    snprintf(sentence, sizeof(sentence), "%.*s", (int)message.len,
             message.len ? (const char *)message.data : "");
}

static void open_child(void)
{
    const struct hgi_frame_ready *ready = child_open(&child, PLUGIN, 2, settings, setting_count);

    copy_message(ready->message);
    ck_assert_msg(ready->status == HG_OK, "%s", sentence);
    ck_assert(ready->is_async);
}

static void close_child(void)
{
    child_end(&child);
    setting_count = 0;
}

static void end(void)
{
    backend_end(&backend, SIGKILL);
    backend_remove(&backend);
    hgi_arena_deinit(&arena);
}

static const struct hgi_frame_done *load(uint64_t id, const char *key, enum hg_value_type type)
{
    const struct hgi_frame_done *done;

    child_load_bytes(&child, id, key, type);
    done = child_done(&child, id);
    copy_message(done->message);
    return done;
}

static void assert_value(const char *key, enum hg_value_type type, const char *value)
{
    const struct hgi_frame_done *done = load(1, key, type);

    ck_assert_msg(done->status == HG_OK, "%s", sentence);
    ck_assert_int_eq(done->outcome, HG_VALUE);
    ck_assert_msg(
        done->value.len == strlen(value) && memcmp(done->value.data, value, done->value.len) == 0,
        "\"%.*s\" is not \"%s\"", (int)done->value.len, (const char *)done->value.data, value);
}

static void assert_holds(struct hg_slice value, const char *wanted)
{
    ck_assert_msg(memmem(value.data, value.len, wanted, strlen(wanted)) != NULL,
                  "\"%.*s\" does not hold \"%s\"", (int)value.len, (const char *)value.data,
                  wanted);
}

static void assert_fails(const char *key, enum hg_value_type type, enum hg_status status,
                         const char *wanted)
{
    const struct hgi_frame_done *done = load(1, key, type);

    ck_assert_int_eq(done->status, status);
    ck_assert_msg(strstr(sentence, wanted) != NULL, "\"%s\" does not say \"%s\"", sentence, wanted);
    ck_assert_msg(!strstr(sentence, "secret"), "\"%s\" tells", sentence);
}

static void assert_outcome(const char *key, enum hg_value_type type, enum hg_outcome outcome)
{
    const struct hgi_frame_done *done = load(1, key, type);

    ck_assert_msg(done->status == HG_OK, "%s", sentence);
    ck_assert_int_eq(done->outcome, outcome);
}

static const struct hgi_frame_done *load_auth(const char *key)
{
    const struct hgi_frame_done *done = load(1, key, HG_TYPE_AUTH);

    ck_assert_msg(done->status == HG_OK, "%s", sentence);
    ck_assert_int_eq(hgi_auth_decode(done->value, &arena, &auth, sentence), HG_OK);
    return done;
}

/* The settings as they are, and one more: the plugin must say so. */
static void assert_refused(const char *name, const char *value, const char *wanted)
{
    const size_t before = setting_count;
    const struct hgi_frame_ready *ready;

    set(name, value);
    ready = child_open(&child, PLUGIN, 1, settings, setting_count);
    copy_message(ready->message);
    ck_assert_int_eq(ready->status, HG_FAILED_PRECONDITION);
    ck_assert_msg(strstr(sentence, wanted) != NULL, "\"%s\" does not say \"%s\"", sentence, wanted);
    child_wait(&child);
    child_drop(&child);
    setting_count = before;
}

START_TEST(a_status_is_an_answer_or_a_failure_that_says_which)
{
    begin();
    set_path("/status/{key}");
    set("preset", "body");
    open_child();
    assert_value("200", HG_TYPE_BYTES, "secret words of the server");
    assert_outcome("404", HG_TYPE_BYTES, HG_ABSENT);
    assert_outcome("410", HG_TYPE_BYTES, HG_ABSENT);
    assert_outcome("401", HG_TYPE_BYTES, HG_DENIED);
    assert_outcome("403", HG_TYPE_AUTH, HG_DENIED);
    assert_fails("500", HG_TYPE_BYTES, HG_UNAVAILABLE, "answered 500");
    assert_fails("503", HG_TYPE_BYTES, HG_UNAVAILABLE, "answered 503");
    assert_fails("429", HG_TYPE_BYTES, HG_UNAVAILABLE, "answered 429");
    assert_fails("400", HG_TYPE_BYTES, HG_FAILED_PRECONDITION, "answered 400");
    assert_fails("204", HG_TYPE_BYTES, HG_FAILED_PRECONDITION, "answered 204");
    assert_fails("304", HG_TYPE_BYTES, HG_FAILED_PRECONDITION, "answered 304");
    assert_fails("302", HG_TYPE_BYTES, HG_FAILED_PRECONDITION, "redirects_max");
    assert_fails("200", HG_TYPE_JSON, HG_INTERNAL, "wrong value");
    assert_fails("200", HG_TYPE_AUTH, HG_FAILED_PRECONDITION, "not of auth");
    close_child();
    end();
}
END_TEST

START_TEST(parts_of_a_key_are_written_safely)
{
    const struct hg_key pair = {.kind = HG_KEY_API_KEY_FEATURE,
                                .user_id = hg_slice_text("u&1"),
                                .api_key_id = hg_slice_text("k/2"),
                                .is_standalone = true};

    begin();
    set_path("/echo/{key}?q={key}&c={cache}");
    set("value", "/path");
    open_child();
    assert_value("a b/../c?d#e%", HG_TYPE_BYTES,
                 "/echo/a%20b%2F..%2Fc%3Fd%23e%25?q=a%20b%2F..%2Fc%3Fd%23e%25&c=a-cache");
    assert_value("\xc3\xa4\x01", HG_TYPE_BYTES, "/echo/%C3%A4%01?q=%C3%A4%01&c=a-cache");
    assert_fails("..", HG_TYPE_BYTES, HG_INVALID_ARGUMENT, "path of dots");
    child_load(&child, 7, &pair, HG_TYPE_BYTES);
    ck_assert_int_eq(child_done(&child, 7)->status, HG_INVALID_ARGUMENT);
    close_child();

    set_path("/echo/{user_id}/{api_key_id}/{standalone}");
    set("value", "/path");
    open_child();
    child_load(&child, 8, &pair, HG_TYPE_BYTES);
    ck_assert_slice_eq(child_done(&child, 8)->value, "/echo/u%261/k%2F2/1");
    assert_fails("plain", HG_TYPE_BYTES, HG_INVALID_ARGUMENT, "{user_id}");
    close_child();

    set_path("/echo");
    set("content_type", "application/json");
    set("body", "{\"t\":\"{key}\",\"x\":{}}");
    set("value", "/body");
    open_child();
    assert_value("a\"b\\\n", HG_TYPE_BYTES, "{\"t\":\"a\\\"b\\\\\\n\",\"x\":{}}");
    assert_fails("\xff", HG_TYPE_BYTES, HG_INVALID_ARGUMENT, "UTF-8");
    close_child();

    set_path("/echo");
    set("content_type", "application/json");
    set("body", "{\"u\":\"{user_id}\",\"alone\":{standalone}}");
    set("value", "/body");
    open_child();
    child_load(&child, 9, &pair, HG_TYPE_BYTES);
    ck_assert_slice_eq(child_done(&child, 9)->value, "{\"u\":\"u&1\",\"alone\":1}");
    close_child();

    set_path("/echo");
    set("body", "a={key}");
    set("value", "/body");
    open_child();
    assert_value("x&y=z", HG_TYPE_BYTES, "a=x%26y%3Dz");
    close_child();
    end();
}
END_TEST

START_TEST(a_request_carries_the_callers_trace)
{
    static const char trace[] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const struct hg_key key = {.kind = HG_KEY_BYTES, .bytes = hg_slice_text("k")};
    const struct hgi_frame_done *done;

    begin();
    set_path("/echo");
    set("value", "/headers");
    open_child();
    child_load_traced(&child, 1, &key, HG_TYPE_JSON, trace);
    done = child_done(&child, 1);
    assert_holds(done->value, trace);
    done = load(2, "k", HG_TYPE_JSON);
    ck_assert_ptr_null(memmem(done->value.data, done->value.len, "traceparent", 11));
    close_child();
    end();
}
END_TEST

START_TEST(a_request_carries_headers_and_credentials)
{
    char path[192];
    const struct hgi_frame_done *done;

    begin();
    backend_write(&backend, "token", "t0ken\n");
    snprintf(path, sizeof(path), "file:%s/token", backend.folder);
    set_path("/echo");
    set("value", "/headers");
    set("bearer", path);
    set("header_X-Key", "<{key}>");
    set("header_X-Secret", path);
    set("header_X-Empty", "");
    assert_refused("user", "gate", "two credentials");
    assert_refused("timeout_ms", "0", "from 1 to");
    snprintf(path, sizeof(path), "%s/token", backend.folder);
    ck_assert_int_eq(chmod(path, 0604), 0);
    assert_refused("ttl", "/x", "chmod o-rwx");
    ck_assert_int_eq(chmod(path, 0600), 0);
    open_child();
    done = load(1, "a key", HG_TYPE_JSON);
    assert_holds(done->value, "\"authorization\":\"Bearer t0ken\"");
    assert_holds(done->value, "\"x-key\":\"<a key>\"");
    assert_holds(done->value, "\"x-secret\":\"t0ken\"");
    assert_holds(done->value, "\"x-empty\":\"\"");
    assert_holds(done->value, "\"accept\":\"application/json\"");
    assert_fails("a\r\nX-Evil: 1", HG_TYPE_JSON, HG_INVALID_ARGUMENT, "control characters");
    close_child();
    end();
}
END_TEST

START_TEST(pointers_say_what_the_answer_is)
{
    const struct hgi_frame_done *done;

    begin();
    set_path("/document");
    set("value", "/found/name");
    set("ttl", "/ttl");
    set("expires_at", "/end");
    set("tags", "/tags");
    open_child();
    done = load(1, "k", HG_TYPE_BYTES);
    ck_assert_slice_eq(done->value, "alice");
    ck_assert_int_eq(done->ttl_ms, 1500);
    ck_assert_int_eq(done->expires_at_ms, INT64_C(4102444800000));
    ck_assert_uint_eq(done->tag_count, 2);
    ck_assert_slice_eq(done->tags[0], "gold");
    ck_assert_slice_eq(done->tags[1], "team-7");
    ck_assert(!done->no_store);
    assert_value("k", HG_TYPE_JSON, "\"alice\"");
    close_child();

    set_path("/document");
    set("value", "/found/n/1/a~1b");
    set("ttl", "/zero");
    set("tags", "/words");
    open_child();
    done = load(1, "k", HG_TYPE_BYTES);
    ck_assert_slice_eq(done->value, "deep");
    ck_assert_uint_eq(done->tag_count, 2);
    ck_assert_slice_eq(done->tags[1], "write");
    ck_assert(done->no_store);
    close_child();

    set_path("/document");
    set("value", "/found/none");
    open_child();
    assert_outcome("k", HG_TYPE_BYTES, HG_ABSENT);
    close_child();

    set_path("/document");
    set("value", "/found/nowhere");
    open_child();
    assert_fails("k", HG_TYPE_BYTES, HG_INTERNAL, "leads to nothing");
    close_child();

    set_path("/document");
    set("tags", "/bad");
    open_child();
    assert_fails("k", HG_TYPE_JSON, HG_INTERNAL, "\"tags\"");
    close_child();

    set_path("/document");
    set("ttl", "/words");
    open_child();
    assert_fails("k", HG_TYPE_JSON, HG_INTERNAL, "\"ttl\"");
    close_child();

    set_path("/raw/{key}");
    open_child();
    assert_value("{\"a\": [1]}", HG_TYPE_JSON, "{\"a\": [1]}");
    assert_value("\"text\"", HG_TYPE_BYTES, "text");
    assert_outcome("null", HG_TYPE_BYTES, HG_ABSENT);
    assert_fails("{\"a\":1,\"a\":2}", HG_TYPE_JSON, HG_INTERNAL, "no JSON");
    assert_fails("{", HG_TYPE_JSON, HG_INTERNAL, "no JSON");
    close_child();
    end();
}
END_TEST

START_TEST(an_auth_cache_is_told_who_and_whether)
{
    begin();
    set_path("/document");
    open_child();
    assert_fails("k", HG_TYPE_AUTH, HG_FAILED_PRECONDITION, "\"allowed\"");
    close_child();

    set_path("/document");
    set("allowed", "/yes");
    set("user_id", "/found/name");
    set("api_key_id", "/zero");
    set("scopes", "/words");
    set("expires_at", "/end");
    set("attribute_plan", "/tags");
    set("attribute_none", "/nowhere");
    open_child();
    ck_assert_slice_eq(load_auth("k")->user, "alice");
    ck_assert(auth.allowed);
    ck_assert_slice_eq(auth.user_id, "alice");
    ck_assert_slice_eq(auth.api_key_id, "0");
    ck_assert_uint_eq(auth.scope_count, 2);
    ck_assert_slice_eq(auth.scopes[0], "read");
    ck_assert_int_eq(auth.not_after_ms, INT64_C(4102444800000));
    ck_assert_uint_eq(auth.attribute_count, 1);
    ck_assert_slice_eq(auth.attributes[0].name, "plan");
    ck_assert_slice_eq(auth.attributes[0].value, "[\"gold\",\"team-7\"]");
    close_child();

    set_path("/document");
    set("allowed", "/no");
    open_child();
    assert_outcome("k", HG_TYPE_AUTH, HG_DENIED);
    close_child();

    set_path("/document");
    set("allowed", "/nowhere");
    open_child();
    assert_fails("k", HG_TYPE_AUTH, HG_INTERNAL, "neither true nor false");
    close_child();

    set_path("/document");
    set("allowed", "status");
    open_child();
    assert_outcome("k", HG_TYPE_AUTH, HG_VALUE);
    close_child();
    end();
}
END_TEST

static void set_introspection(const char *password)
{
    set_path("/introspect");
    set("preset", "introspection");
    set("user", "gate");
    set("password", password);
    set("attribute_client", "/client_id");
    open_child();
}

START_TEST(introspection_believes_only_what_is_active)
{
    const struct hgi_frame_done *done;

    begin();
    set_introspection("s3cret");
    done = load_auth("good");
    ck_assert_int_eq(done->outcome, HG_VALUE);
    ck_assert_int_eq(done->expires_at_ms, INT64_C(4102444800000));
    ck_assert_slice_eq(auth.user_id, "alice");
    ck_assert(auth.allowed);
    ck_assert_uint_eq(auth.scope_count, 2);
    ck_assert_slice_eq(auth.scopes[1], "write");
    ck_assert_uint_eq(auth.attribute_count, 1);
    ck_assert_slice_eq(auth.attributes[0].value, "app");
    ck_assert_int_eq(load(1, "over", HG_TYPE_AUTH)->expires_at_ms, 1000);
    assert_outcome("gone", HG_TYPE_AUTH, HG_ABSENT);
    assert_outcome("never heard of", HG_TYPE_AUTH, HG_ABSENT);
    assert_fails("odd", HG_TYPE_AUTH, HG_INTERNAL, "\"active\"");
    assert_fails("text", HG_TYPE_AUTH, HG_INTERNAL, "\"active\"");
    assert_fails("twice", HG_TYPE_AUTH, HG_INTERNAL, "no JSON");
    close_child();

    /* Refused is the loader, not the token: nobody is locked out for it. */
    set_introspection("wrong");
    assert_fails("good", HG_TYPE_AUTH, HG_UNAVAILABLE, "own credentials");
    close_child();
    end();
}
END_TEST

START_TEST(an_etag_spares_the_answer)
{
    const struct hg_key key = {.kind = HG_KEY_BYTES, .bytes = hg_slice_text("k")};
    const struct hgi_frame_done *done;

    begin();
    set_path("/{key}/2");
    open_child();
    child_load_old(&child, 1, &(struct hg_key){.kind = HG_KEY_BYTES, .bytes = {"versioned", 9}},
                   HG_TYPE_BYTES, "old", "\"v1\"");
    ck_assert(child_done(&child, 1)->is_unchanged);
    done = load(2, "versioned", HG_TYPE_BYTES);
    ck_assert_slice_eq(done->value, "value 1");
    ck_assert_slice_eq(done->etag, "\"v1\"");
    assert_value("revise", HG_TYPE_BYTES, "revised");
    child_load_old(&child, 3, &(struct hg_key){.kind = HG_KEY_BYTES, .bytes = {"versioned", 9}},
                   HG_TYPE_BYTES, "old", "\"v1\"");
    done = child_done(&child, 3);
    ck_assert(!done->is_unchanged);
    ck_assert_slice_eq(done->value, "value 2");
    close_child();

    /* A value that came without one is asked for anew, and so is one whose etag no header holds. */
    set_path("/echo");
    set("value", "/headers");
    open_child();
    child_load_old(&child, 4, &key, HG_TYPE_JSON, "old", "");
    done = child_done(&child, 4);
    ck_assert_ptr_null(memmem(done->value.data, done->value.len, "if-none-match", 13));
    child_load_old(&child, 5, &key, HG_TYPE_JSON, "old", "a\r\nX-Evil: 1");
    done = child_done(&child, 5);
    ck_assert_ptr_null(memmem(done->value.data, done->value.len, "evil", 4));
    close_child();
    end();
}
END_TEST

START_TEST(redirects_are_followed_only_if_told)
{
    begin();
    set_path("/redirect");
    set("value", "/path");
    open_child();
    assert_fails("k", HG_TYPE_BYTES, HG_FAILED_PRECONDITION, "answered 302");
    close_child();

    set_path("/redirect");
    set("value", "/path");
    set("redirects_max", "1");
    open_child();
    assert_value("k", HG_TYPE_BYTES, "/echo/landed");
    close_child();
    end();
}
END_TEST

START_TEST(an_answer_has_a_longest_length)
{
    begin();
    set_path("/long/{key}");
    set("response_max_bytes", "1002");
    open_child();
    assert_fails("1001", HG_TYPE_BYTES, HG_INTERNAL, "longer than 1002 bytes");
    ck_assert_uint_eq(load(2, "1000", HG_TYPE_BYTES)->value.len, 1000);
    close_child();
    end();
}
END_TEST

START_TEST(many_are_asked_at_once_and_in_one_thread)
{
    begin();
    set_path("/meet/64");
    set("connections_max", "64");
    open_child();
    child_load_many(&child, 64); /* the server answers none before all are there */
    for (uint32_t i = 0; i < 64; i++) {
        ck_assert_int_eq(child_read(&child)->kind, HGI_FRAME_DONE);
        ck_assert_int_eq(child.frame.u.done.status, HG_OK);
    }
    close_child();
    end();
}
END_TEST

START_TEST(who_does_not_answer_is_given_up)
{
    begin();
    set_path("/{key}/1");
    set("timeout_ms", "50");
    open_child();
    assert_fails("never", HG_TYPE_BYTES, HG_DEADLINE_EXCEEDED, "in time");
    close_child();

    set_path("/{key}/1");
    open_child();
    child_load_bytes(&child, 5, "never", HG_TYPE_BYTES);
    assert_value("meet", HG_TYPE_BYTES, "met"); /* the other one stands in nobody's way */
    child_cancel(&child, 5);
    ck_assert_int_eq(child_done(&child, 5)->status, HG_CANCELLED);
    backend_end(&backend, SIGKILL);
    assert_fails("k", HG_TYPE_BYTES, HG_UNAVAILABLE, "cannot be asked");
    close_child();
    backend_remove(&backend);
    hgi_arena_deinit(&arena);
}
END_TEST

START_TEST(its_health_is_the_servers)
{
    char url[64];
    struct hgi_frame question = {.kind = HGI_FRAME_HEALTH};

    begin();
    snprintf(url, sizeof(url), "http://127.0.0.1:%s/status/204", port);
    set_path("/echo");
    set("health_url", url);
    open_child();
    child_send(&child, &question);
    ck_assert_int_eq(child_read(&child)->kind, HGI_FRAME_HEALTH_REPLY);
    ck_assert_int_eq(child.frame.u.health.status, HG_OK);
    close_child();

    snprintf(url, sizeof(url), "http://127.0.0.1:%s/status/503", port);
    set_path("/echo");
    set("health_url", url);
    open_child();
    child_send(&child, &question);
    ck_assert_int_eq(child_read(&child)->kind, HGI_FRAME_HEALTH_REPLY);
    copy_message(child.frame.u.health.message);
    ck_assert_int_eq(child.frame.u.health.status, HG_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(sentence, "answers 503"));
    close_child();
    end();
}
END_TEST

START_TEST(wrong_options_are_named)
{
    backend_prepare(&backend, "http");
    setting_count = 0;
    assert_refused("url", "ftp://x/", "https://HOST/");
    assert_refused("url", "http:///x", "https://HOST/");
    assert_refused("url", "https://{key}.example/", "not in the host");
    assert_refused("url", "https://example{key}", "not in the host");
    assert_refused("url", "https://a:b@example/", "user and password");
    assert_refused("url", "https://example/{token}", "no place begins at \"{token}\"");
    set("url", "https://example/{key}");
    assert_refused("preset", "xml", "none of json, body, introspection");
    assert_refused("method", "PUT", "none of GET, POST");
    assert_refused("http", "3", "none of 1.1");
    assert_refused("value", "found", "no JSON pointer");
    assert_refused("attribute_x", "/a~2", "no JSON pointer");
    assert_refused("header_A B", "x", "no name of a header");
    assert_refused("header_A", "{nobody}", "no place begins");
    assert_refused("header_A", "a\nb", "one line");
    assert_refused("password", "x", "needs \"user\"");
    assert_refused("user", "a:b", "colon");
    assert_refused("password", "file:relative", "absolute path");
    assert_refused("password", "file:/nowhere/at/all", "No such file");
    assert_refused("ca_file", "relative.pem", "absolute path");
    assert_refused("ca_file", "/nowhere.pem", "No such file");
    assert_refused("client_cert", "/etc/passwd", "need each other");
    assert_refused("response_max_bytes", "64k", "whole number");
    assert_refused("redirects_max", "11", "from 0 to 10");
    assert_refused("content_type", "application/json", "POST");
    set("method", "POST");
    assert_refused("content_type", "text/plain", "written safely");
    set("content_type", "application/json");
    assert_refused("body", "{\"t\":{key}}", "not between quotes");
    assert_refused("body", "{\"t\":\"\\{key}\"}", "not between quotes");
    assert_refused("body", "{\"t\":\"{key}\"", "no JSON");
    assert_refused("body", "", "no JSON");
    backend_remove(&backend);
}
END_TEST

START_TEST(without_sockets_it_does_not_open)
{
    const struct hgi_frame_setting url = {hg_slice_text("url"), hg_slice_text("http://example/")};
    const struct hgi_frame_hello hello = {.plugin = hg_slice_text(PLUGIN),
                                          .workers = 1,
                                          .value_max_bytes = CHILD_VALUE_MAX,
                                          .settings = &url,
                                          .setting_count = 1,
                                          .confine = {.may_dump = true, .is_offline = true}};
    const struct hgi_frame_ready *ready = child_open_as(&child, &hello);

    copy_message(ready->message);
    ck_assert_int_eq(ready->status, HG_FAILED_PRECONDITION);
    ck_assert_ptr_nonnull(strstr(sentence, "network = off"));
    child_wait(&child);
    child_drop(&child);
}
END_TEST

HGI_SUITE("loaders.http", 60, a_status_is_an_answer_or_a_failure_that_says_which,
          parts_of_a_key_are_written_safely, a_request_carries_the_callers_trace,
          a_request_carries_headers_and_credentials, pointers_say_what_the_answer_is,
          an_auth_cache_is_told_who_and_whether, introspection_believes_only_what_is_active,
          an_etag_spares_the_answer, redirects_are_followed_only_if_told,
          an_answer_has_a_longest_length, many_are_asked_at_once_and_in_one_thread,
          who_does_not_answer_is_given_up, its_health_is_the_servers, wrong_options_are_named,
          without_sockets_it_does_not_open)
