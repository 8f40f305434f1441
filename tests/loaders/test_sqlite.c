/* SPDX-License-Identifier: Apache-2.0 */
#include "child.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "proto/codec.h"

#define PLUGIN  HGI_BUILD_DIR "/lib/herdgate/sqlite.so"
#define BY_HASH "SELECT * FROM keys WHERE hash = ?1"

static struct child child;
static char folder[64];
static char path[96];
static sqlite3 *writer;
static struct hgi_arena arena;
static struct hg_auth auth;
static char sentence[HGI_FRAME_MESSAGE_MAX + 1];

/* A database with what the SQL makes in it; the writer stays open. */
static void make_database(const char *sql)
{
    snprintf(folder, sizeof(folder), "/tmp/herdgate-sqlite-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/keys.db", folder);
    ck_assert_int_eq(sqlite3_open(path, &writer), SQLITE_OK);
    ck_assert_msg(sqlite3_exec(writer, sql, NULL, NULL, NULL) == SQLITE_OK, "%s",
                  sqlite3_errmsg(writer));
}

static void drop_database(void)
{
    ck_assert_int_eq(sqlite3_close(writer), SQLITE_OK);
    unlink(path);
    ck_assert_int_eq(rmdir(folder), 0);
}

static const struct hgi_frame_ready *open_with(const char *option, const char *query)
{
    struct hgi_frame_setting settings[] = {
        {hg_slice_text("database"), hg_slice_text(path)},
        {hg_slice_text(option), hg_slice_text(query)},
    };

    return child_open(&child, PLUGIN, 2, settings, query ? 2 : 1);
}

static void copy_message(struct hg_slice message)
{
    snprintf(sentence, sizeof(sentence), "%.*s", (int)message.len,
             message.len ? (const char *)message.data : "");
}

static void start(const char *sql, const char *option, const char *query)
{
    const struct hgi_frame_ready *ready;

    make_database(sql);
    ready = open_with(option, query);
    copy_message(ready->message);
    ck_assert_msg(ready->status == HG_OK, "%s", sentence);
    hgi_arena_init(&arena, 65536);
}

static void finish(void)
{
    child_end(&child);
    hgi_arena_deinit(&arena);
    drop_database();
}

static void assert_refused(const char *option, const char *query, const char *wanted)
{
    const struct hgi_frame_ready *ready = open_with(option, query);

    copy_message(ready->message);
    ck_assert_int_eq(ready->status, HG_FAILED_PRECONDITION);
    ck_assert_msg(strstr(sentence, wanted) != NULL, "\"%s\" does not say \"%s\"", sentence, wanted);
    child_wait(&child);
    child_drop(&child);
}

static const struct hgi_frame_done *load_hash(uint64_t id, const char *hash,
                                              enum hg_value_type type)
{
    struct hg_key key = {.kind = HG_KEY_KEY_HASH, .bytes = hg_slice_text(hash)};

    child_load(&child, id, &key, type);
    return child_done(&child, id);
}

static void assert_failed(const struct hgi_frame_done *done, enum hg_status status,
                          const char *wanted)
{
    copy_message(done->message);
    ck_assert_int_eq(done->status, status);
    ck_assert_msg(strstr(sentence, wanted) != NULL, "\"%s\" does not say \"%s\"", sentence, wanted);
}

static const struct hgi_frame_done *load_auth(uint64_t id, const char *hash)
{
    const struct hgi_frame_done *done = load_hash(id, hash, HG_TYPE_AUTH);

    copy_message(done->message);
    ck_assert_msg(done->status == HG_OK, "%s", sentence);
    ck_assert_int_eq(hgi_auth_decode(done->value, &arena, &auth, sentence), HG_OK);
    return done;
}

START_TEST(the_column_tags_is_words_and_no_attribute)
{
    const struct hgi_frame_done *done;

    start("CREATE TABLE keys(hash, user_id, allowed, tags);"
          "INSERT INTO keys VALUES('h1', 'alice', 1, 'plan-gold, team-7 eu');"
          "INSERT INTO keys VALUES('h2', 'bob', 1, NULL)",
          "query_key_hash", "SELECT user_id, allowed, tags FROM keys WHERE hash = ?1");
    done = load_auth(1, "h1");
    ck_assert_uint_eq(done->tag_count, 3);
    ck_assert_slice_eq(done->tags[0], "plan-gold");
    ck_assert_slice_eq(done->tags[1], "team-7");
    ck_assert_slice_eq(done->tags[2], "eu");
    ck_assert_slice_eq(done->user, "alice");
    ck_assert_uint_eq(auth.attribute_count, 0);
    ck_assert_uint_eq(load_auth(2, "h2")->tag_count, 0);
    finish();
}
END_TEST

/* What the row says of a refresh that knows its old value with this etag. */
static const struct hgi_frame_done *refresh(uint64_t id, const char *hash, enum hg_value_type type,
                                            const char *etag)
{
    struct hg_key key = {.kind = HG_KEY_KEY_HASH, .bytes = hg_slice_text(hash)};

    child_load_old(&child, id, &key, type, "old", etag);
    return child_done(&child, id);
}

START_TEST(the_column_etag_confirms_what_it_was_given_with)
{
    const struct hgi_frame_done *done;

    start("CREATE TABLE keys(hash, value, allowed, etag, ttl_ms);"
          "INSERT INTO keys VALUES ('h', 'v', 1, 'v1', 7), ('plain', 'v', 1, NULL, 0),"
          "('revoked', NULL, 0, 'v1', 0);",
          "query_key_hash", BY_HASH);
    done = load_hash(1, "h", HG_TYPE_BYTES);
    ck_assert_slice_eq(done->value, "v");
    ck_assert_slice_eq(done->etag, "v1");
    done = refresh(2, "h", HG_TYPE_BYTES, "v1");
    ck_assert(done->is_unchanged);
    ck_assert_int_eq(done->ttl_ms, 7);
    ck_assert(refresh(3, "h", HG_TYPE_AUTH, "v1")->is_unchanged);
    done = refresh(4, "h", HG_TYPE_BYTES, "v0");
    ck_assert(!done->is_unchanged);
    ck_assert_slice_eq(done->value, "v");
    ck_assert(!refresh(5, "plain", HG_TYPE_BYTES, "")->is_unchanged);
    ck_assert_int_eq(refresh(6, "revoked", HG_TYPE_AUTH, "v1")->outcome, HG_DENIED);
    ck_assert_int_eq(refresh(7, "revoked", HG_TYPE_BYTES, "v1")->outcome, HG_ABSENT);
    finish();
}
END_TEST

START_TEST(a_row_becomes_an_auth_value)
{
    const struct hgi_frame_done *done;

    start("CREATE TABLE keys(hash, user_id, api_key_id, allowed, scopes, expires_at, ttl_ms, "
          "stale_ttl_ms, plan, note);"
          "INSERT INTO keys VALUES('h1', 'alice', 17, 1, 'read, write admin', 4102444800, 500, "
          "900, 'gold', NULL)",
          "query_key_hash",
          "SELECT user_id, api_key_id, allowed, scopes, expires_at, ttl_ms, "
          "stale_ttl_ms, plan, note FROM keys WHERE hash = ?1");
    done = load_auth(1, "h1");
    ck_assert_int_eq(done->outcome, HG_VALUE);
    ck_assert_int_eq(done->expires_at_ms, 4102444800000);
    ck_assert_int_eq(done->ttl_ms, 500);
    ck_assert_int_eq(done->stale_ttl_ms, 900);
    ck_assert_slice_eq(auth.user_id, "alice");
    ck_assert_slice_eq(auth.api_key_id, "17");
    ck_assert(auth.allowed);
    ck_assert_uint_eq(auth.scope_count, 3);
    ck_assert_slice_eq(auth.scopes[0], "read");
    ck_assert_slice_eq(auth.scopes[1], "write");
    ck_assert_slice_eq(auth.scopes[2], "admin");
    ck_assert_uint_eq(auth.attribute_count, 1);
    ck_assert_slice_eq(auth.attributes[0].name, "plan");
    ck_assert_slice_eq(auth.attributes[0].value, "gold");
    ck_assert_int_eq(auth.not_after_ms, 0);
    finish();
}
END_TEST

START_TEST(a_missing_row_is_absent)
{
    start("CREATE TABLE keys(hash, allowed)", "query_key_hash", BY_HASH);
    ck_assert_int_eq(load_hash(1, "nobody", HG_TYPE_AUTH)->outcome, HG_ABSENT);
    finish();
}
END_TEST

START_TEST(not_allowed_is_denied)
{
    start("CREATE TABLE keys(hash, allowed);"
          "INSERT INTO keys VALUES('no', 0), ('unsaid', NULL), ('yes', 1)",
          "query_key_hash", BY_HASH);
    ck_assert_int_eq(load_auth(1, "no")->outcome, HG_DENIED);
    ck_assert_int_eq(load_auth(2, "unsaid")->outcome, HG_DENIED);
    ck_assert_int_eq(load_auth(3, "yes")->outcome, HG_VALUE);
    finish();
}
END_TEST

START_TEST(not_after_ends_the_value)
{
    start("CREATE TABLE keys(hash, allowed, not_after, expires_at);"
          "INSERT INTO keys VALUES('h', 1, 4102444800, 4102444801), ('past', 1, 0, NULL)",
          "query_key_hash", BY_HASH);
    ck_assert_int_eq(load_auth(1, "h")->expires_at_ms, 4102444800000);
    /* Second 0 is long over; it must not be mistaken for "no end". */
    ck_assert_int_eq(load_auth(2, "past")->expires_at_ms, 1);
    finish();
}
END_TEST

START_TEST(a_column_of_the_wrong_type_is_an_error)
{
    start("CREATE TABLE keys(hash, allowed, expires_at, ttl_ms);"
          "INSERT INTO keys VALUES('a', 'true', NULL, NULL), ('b', 1, '2030-01-01', NULL), "
          "('c', 1, NULL, -1), ('d', 2, NULL, NULL)",
          "query_key_hash", BY_HASH);
    assert_failed(load_hash(1, "a", HG_TYPE_AUTH), HG_FAILED_PRECONDITION,
                  "option \"query_key_hash\": column allowed holds text; a number is right");
    assert_failed(load_hash(2, "b", HG_TYPE_AUTH), HG_FAILED_PRECONDITION,
                  "column expires_at holds text");
    assert_failed(load_hash(3, "c", HG_TYPE_AUTH), HG_FAILED_PRECONDITION,
                  "column ttl_ms is out of range");
    assert_failed(load_hash(4, "d", HG_TYPE_AUTH), HG_FAILED_PRECONDITION,
                  "column allowed must be 0 or 1");
    finish();
}
END_TEST

START_TEST(an_auth_cache_needs_the_column_allowed)
{
    start("CREATE TABLE keys(hash, user_id); INSERT INTO keys VALUES('h', 'alice')",
          "query_key_hash", BY_HASH);
    assert_failed(load_hash(1, "h", HG_TYPE_AUTH), HG_FAILED_PRECONDITION,
                  "an auth cache needs a column allowed");
    finish();
}
END_TEST

START_TEST(two_rows_for_one_key_are_an_error)
{
    start("CREATE TABLE keys(hash, allowed); INSERT INTO keys VALUES('h', 1), ('h', 1)",
          "query_key_hash", BY_HASH);
    assert_failed(load_hash(1, "h", HG_TYPE_AUTH), HG_FAILED_PRECONDITION, "more than one row");
    finish();
}
END_TEST

START_TEST(bytes_and_json_come_from_the_column_value)
{
    const struct hgi_frame_done *done;

    start("CREATE TABLE t(k, value, expires_at);"
          "INSERT INTO t VALUES('text', 'hello', 4102444800), ('blob', x'00ff', NULL), "
          "('number', 42, NULL), ('null', NULL, NULL), ('json', '{\"a\":1}', NULL)",
          "query", "SELECT value, expires_at FROM t WHERE k = ?1");
    child_load_bytes(&child, 1, "text", HG_TYPE_BYTES);
    done = child_done(&child, 1);
    ck_assert_slice_eq(done->value, "hello");
    ck_assert_int_eq(done->expires_at_ms, 4102444800000);
    child_load_bytes(&child, 2, "blob", HG_TYPE_BYTES);
    ck_assert_uint_eq(child_done(&child, 2)->value.len, 2);
    ck_assert_int_eq(memcmp(child.frame.u.done.value.data, "\x00\xff", 2), 0);
    child_load_bytes(&child, 3, "number", HG_TYPE_JSON);
    ck_assert_slice_eq(child_done(&child, 3)->value, "42");
    child_load_bytes(&child, 4, "null", HG_TYPE_BYTES);
    ck_assert_int_eq(child_done(&child, 4)->outcome, HG_ABSENT);
    child_load_bytes(&child, 5, "json", HG_TYPE_JSON);
    ck_assert_slice_eq(child_done(&child, 5)->value, "{\"a\":1}");
    child_load_bytes(&child, 6, "text", HG_TYPE_JSON);
    ck_assert_int_eq(child_done(&child, 6)->status, HG_INTERNAL);
    finish();
}
END_TEST

START_TEST(the_parts_of_a_key_are_its_parameters)
{
    struct hg_key user = {.kind = HG_KEY_USER_API_KEY,
                          .user_id = hg_slice_text("u"),
                          .api_key_id = hg_slice_text("k")};
    struct hg_key feature = {.kind = HG_KEY_API_KEY_FEATURE,
                             .user_id = hg_slice_text("u"),
                             .api_key_id = hg_slice_text("k"),
                             .is_standalone = true};

    start("", "query", "SELECT ?1 || '-' || ?2 || '-' || coalesce(?3, 'none') AS value");
    child_load(&child, 1, &user, HG_TYPE_BYTES);
    ck_assert_slice_eq(child_done(&child, 1)->value, "u-k-none");
    child_load(&child, 2, &feature, HG_TYPE_BYTES);
    ck_assert_slice_eq(child_done(&child, 2)->value, "u-k-1");
    finish();
}
END_TEST

START_TEST(a_key_without_a_query_is_refused)
{
    struct hg_key user = {.kind = HG_KEY_USER_API_KEY,
                          .user_id = hg_slice_text("u"),
                          .api_key_id = hg_slice_text("k")};

    start("CREATE TABLE keys(hash, allowed)", "query_key_hash", BY_HASH);
    child_load(&child, 1, &user, HG_TYPE_AUTH);
    assert_failed(child_done(&child, 1), HG_INVALID_ARGUMENT,
                  "no query for a key of kind user_api_key");
    finish();
}
END_TEST

START_TEST(a_write_is_seen_by_the_next_load)
{
    start("CREATE TABLE keys(hash, allowed); INSERT INTO keys VALUES('h', 1)", "query_key_hash",
          BY_HASH);
    ck_assert_int_eq(load_auth(1, "h")->outcome, HG_VALUE);
    ck_assert_int_eq(sqlite3_exec(writer, "UPDATE keys SET allowed = 0", NULL, NULL, NULL),
                     SQLITE_OK);
    ck_assert_int_eq(load_auth(2, "h")->outcome, HG_DENIED);
    finish();
}
END_TEST

START_TEST(a_locked_database_is_waited_for_and_then_unavailable)
{
    struct hg_key key = {.kind = HG_KEY_KEY_HASH, .bytes = hg_slice_text("h")};
    char canonical_sentence[HGI_SENTENCE_MAX];
    struct hgi_key canonical;
    struct hgi_frame load = {
        .kind = HGI_FRAME_LOAD,
        .u.load = {.id = 1, .value_type = HG_TYPE_AUTH, .attempt = 1, .remaining_ms = 50}};

    start("CREATE TABLE keys(hash, allowed); INSERT INTO keys VALUES('h', 1)", "query_key_hash",
          BY_HASH);
    ck_assert_int_eq(sqlite3_exec(writer, "BEGIN EXCLUSIVE", NULL, NULL, NULL), SQLITE_OK);
    ck_assert_int_eq(hgi_key_encode(HGI_KEYS_KEY_HASH, &key, &canonical, canonical_sentence),
                     HG_OK);
    load.u.load.key = hgi_key_slice(&canonical);
    child_send(&child, &load);
    assert_failed(child_done(&child, 1), HG_UNAVAILABLE, "locked");
    load.u.load.id = 2;
    load.u.load.remaining_ms = 8000;
    child_send(&child, &load);
    ck_assert_int_eq(sqlite3_exec(writer, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    ck_assert_int_eq(child_done(&child, 2)->outcome, HG_VALUE);
    finish();
}
END_TEST

START_TEST(a_long_query_stops_when_it_is_cancelled)
{
    start("", "query",
          "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
          "SELECT count(*) AS value FROM n");
    child_load_bytes(&child, 1, "k", HG_TYPE_BYTES);
    child_cancel(&child, 1);
    ck_assert_int_eq(child_done(&child, 1)->status, HG_CANCELLED);
    finish();
}
END_TEST

START_TEST(two_loads_run_on_two_connections)
{
    start("CREATE TABLE t(value); INSERT INTO t VALUES('quick')", "query",
          "SELECT CASE ?1 WHEN 'slow' THEN (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL "
          "SELECT i + 1 FROM n) SELECT count(*) FROM n) ELSE value END AS value FROM t");
    child_load_bytes(&child, 1, "slow", HG_TYPE_BYTES);
    child_load_bytes(&child, 2, "quick", HG_TYPE_BYTES);
    ck_assert_slice_eq(child_done(&child, 2)->value, "quick");
    child_cancel(&child, 1);
    ck_assert_int_eq(child_done(&child, 1)->status, HG_CANCELLED);
    finish();
}
END_TEST

START_TEST(a_wrong_query_is_refused_at_open)
{
    make_database("CREATE TABLE keys(hash, allowed)");
    assert_refused("query", "SELECT 1 FROM nowhere", "option \"query\": no such table: nowhere");
    assert_refused("query", "SELEC 1", "option \"query\": near \"SELEC\": syntax error");
    assert_refused("query", "SELECT 1; SELECT 2", "option \"query\" must be one SQL statement");
    assert_refused("query", "", "must be one SQL statement");
    assert_refused("query", "DELETE FROM keys", "option \"query\" must be a SELECT");
    assert_refused("query_key_hash", "SELECT ?1, ?2",
                   "option \"query_key_hash\" uses ?2, but its key has 1 part");
    assert_refused("query", "SELECT :hash", "uses :hash; a key's parts are ?1, ?2, ?3");
    assert_refused("query", NULL, "plugin sqlite needs a query");
    drop_database();
}
END_TEST

START_TEST(a_database_that_is_none_is_refused)
{
    FILE *file;

    make_database("");
    ck_assert_int_eq(sqlite3_close(writer), SQLITE_OK);
    file = fopen(path, "we");
    ck_assert_ptr_nonnull(file);
    fputs("this is a letter to the editor and not a database at all", file);
    for (int i = 0; i < 100; i++) {
        fputs("; it goes on and on", file);
    }
    fclose(file);
    assert_refused("query", "SELECT 1", "file is not a database");
    unlink(path);
    assert_refused("query", "SELECT 1", "unable to open database file");
    ck_assert_int_eq(access(path, F_OK), -1);
    snprintf(path, sizeof(path), "keys.db");
    assert_refused("query", "SELECT 1", "\"keys.db\" is not an absolute path");
    ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

/* In rollback mode a reader that keeps its transaction open keeps every writer out. */
static void write_soon(const char *sql)
{
    const struct timespec pause = {0, 2000000};

    for (int waited_ms = 0; sqlite3_exec(writer, sql, NULL, NULL, NULL) != SQLITE_OK;
         waited_ms += 2) {
        ck_assert_msg(waited_ms < 10000, "%s", sqlite3_errmsg(writer));
        nanosleep(&pause, NULL);
    }
}

START_TEST(several_keys_of_one_call_each_have_their_own_answer)
{
    start("CREATE TABLE t (k, value);"
          "INSERT INTO t VALUES ('k1', 'one'), ('k3', 'x'), ('k3', 'y'), ('k4', 'four')",
          "query", "SELECT value FROM t WHERE k = ?1");
    ck_assert_uint_eq(child.frame.u.ready.batch_max, 16);
    child_load_many(&child, 4);
    ck_assert_slice_eq(child_done(&child, 1)->value, "one");
    ck_assert_int_eq(child_done(&child, 2)->outcome, HG_ABSENT);
    ck_assert_int_eq(child_done(&child, 3)->status, HG_FAILED_PRECONDITION);
    ck_assert_slice_eq(child_done(&child, 4)->value, "four");
    write_soon("UPDATE t SET value = 'new' WHERE k = 'k1'");
    child_load_bytes(&child, 9, "k1", HG_TYPE_BYTES);
    ck_assert_slice_eq(child_done(&child, 9)->value, "new");
    finish();
}
END_TEST

HGI_SUITE("loaders.sqlite", 60, several_keys_of_one_call_each_have_their_own_answer,
          the_column_tags_is_words_and_no_attribute,
          the_column_etag_confirms_what_it_was_given_with, a_row_becomes_an_auth_value,
          a_missing_row_is_absent, not_allowed_is_denied, not_after_ends_the_value,
          a_column_of_the_wrong_type_is_an_error, an_auth_cache_needs_the_column_allowed,
          two_rows_for_one_key_are_an_error, bytes_and_json_come_from_the_column_value,
          the_parts_of_a_key_are_its_parameters, a_key_without_a_query_is_refused,
          a_write_is_seen_by_the_next_load, a_locked_database_is_waited_for_and_then_unavailable,
          a_long_query_stops_when_it_is_cancelled, two_loads_run_on_two_connections,
          a_wrong_query_is_refused_at_open, a_database_that_is_none_is_refused)
