/* SPDX-License-Identifier: Apache-2.0 */
/* The postgres plugin and a PostgreSQL of the suite's own: unix socket only, as an unprivileged
 * user, for it does not run as root. */
#include "child.h"

#include <libpq-fe.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "backend.h"
#include "proto/codec.h"

#define PLUGIN       HGI_BUILD_DIR "/lib/herdgate/postgres.so"
#define SETTINGS_MAX 8
#define ECHO_KEYS    "SELECT k AS key, k AS value FROM unnest($1::text[]) k"
#define BY_HASH      "SELECT hash AS key, * FROM keys WHERE hash = ANY($1)"
#define WAIT_MS      20000

static struct backend database;
static char data[96];
static char connection[160];
static struct child child;
static struct hgi_arena arena;
static struct hg_auth auth;
static PGconn *writer;
static char sentence[HGI_FRAME_MESSAGE_MAX + 1];
static struct hgi_frame_setting settings[SETTINGS_MAX];
static size_t setting_count;

/* ---- the database ---- */

static void run_as_its_user(const char *const *argv, bool is_awaited)
{
    const char *all[24] = {"setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"};
    size_t count = getuid() == 0 ? 4 : 0;

    for (size_t i = 0; argv[i]; i++) {
        ck_assert_uint_lt(count + 1, sizeof(all) / sizeof(all[0]));
        all[count++] = argv[i];
    }
    all[count] = NULL;
    if (is_awaited) {
        backend_run(all);
    } else {
        backend_start(&database, all, NULL, 0);
    }
}

static void start_database(void)
{
    const char *const argv[] = {HGI_POSTGRES,
                                "-D",
                                data,
                                "-c",
                                "listen_addresses=",
                                "-k",
                                database.folder,
                                "-F",
                                "-c",
                                "log_min_messages=fatal",
                                "-c",
                                "logging_collector=off",
                                NULL};

    run_as_its_user(argv, false);
    backend_wait_socket(&database, ".s.PGSQL.5432");
}

static void make_database(void)
{
    const char *const initdb[] = {HGI_INITDB, "-D",         data,        "-U",
                                  "gate",     "-A",         "trust",     "-E",
                                  "UTF8",     "--locale=C", "--no-sync", "--no-instructions",
                                  NULL};
    const char *const own[] = {"chown", "postgres", database.folder, NULL};

    backend_prepare(&database, "postgres");
    snprintf(data, sizeof(data), "%s/data", database.folder);
    snprintf(connection, sizeof(connection), "host=%s dbname=postgres user=gate", database.folder);
    if (getuid() == 0) {
        backend_run(own);
    }
    run_as_its_user(initdb, true);
    start_database();
}

static void drop_database(void)
{
    backend_end(&database, SIGINT);
    backend_remove(&database);
}

/* Accepting begins before answering does. */
static void connect_writer(void)
{
    const struct timespec pause = {0, 5000000};

    for (int waited_ms = 0; waited_ms < WAIT_MS; waited_ms += 5) {
        writer = PQconnectdb(connection);
        if (PQstatus(writer) == CONNECTION_OK) {
            return;
        }
        PQfinish(writer);
        nanosleep(&pause, NULL);
    }
    ck_abort_msg("the database does not answer");
}

static void sql(const char *text)
{
    PGresult *result = PQexec(writer, text);
    ExecStatusType status = PQresultStatus(result);

    ck_assert_msg(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK, "%s",
                  PQerrorMessage(writer));
    PQclear(result);
}

/* ---- the plugin ---- */

static void set(const char *name, const char *value)
{
    ck_assert_uint_lt(setting_count, SETTINGS_MAX);
    settings[setting_count].name = hg_slice_text(name);
    settings[setting_count++].value = hg_slice_text(value);
}

static void begin(const char *schema)
{
    connect_writer();
    sql("SET client_min_messages = error; DROP SCHEMA public CASCADE; CREATE SCHEMA public");
    sql(schema);
    hgi_arena_init(&arena, 1 << 20);
    setting_count = 0;
    set("connection", connection);
}

static void copy_message(struct hg_slice message)
{
    snprintf(sentence, sizeof(sentence), "%.*s", (int)message.len,
             message.len ? (const char *)message.data : "");
}

static const struct hgi_frame_ready *open_child(void)
{
    const struct hgi_frame_ready *ready = child_open(&child, PLUGIN, 1, settings, setting_count);

    copy_message(ready->message);
    ck_assert_msg(ready->status == HG_OK, "%s", sentence);
    return ready;
}

static void start(const char *schema, const char *option, const char *query)
{
    begin(schema);
    set(option, query);
    open_child();
}

static void finish(void)
{
    child_end(&child);
    hgi_arena_deinit(&arena);
    PQfinish(writer);
}

/* Log lines may come between. */
static const struct hgi_frame *read_no_log(void)
{
    while (child_read(&child)->kind == HGI_FRAME_LOG) {
    }
    return &child.frame;
}

static const struct hgi_frame_done *done_of(uint64_t id)
{
    ck_assert_int_eq(read_no_log()->kind, HGI_FRAME_DONE);
    ck_assert_uint_eq(child.frame.u.done.id, id);
    return &child.frame.u.done;
}

static const struct hgi_frame_done *load(uint64_t id, const char *key, enum hg_value_type type)
{
    const struct hgi_frame_done *done;

    child_load_bytes(&child, id, key, type);
    done = done_of(id);
    copy_message(done->message);
    return done;
}

static const struct hgi_frame_done *load_hash(uint64_t id, const char *hash,
                                              enum hg_value_type type)
{
    const struct hg_key key = {.kind = HG_KEY_KEY_HASH, .bytes = hg_slice_text(hash)};
    const struct hgi_frame_done *done;

    child_load(&child, id, &key, type);
    done = done_of(id);
    copy_message(done->message);
    return done;
}

static const struct hgi_frame_done *load_auth(uint64_t id, const char *hash)
{
    const struct hgi_frame_done *done = load_hash(id, hash, HG_TYPE_AUTH);

    ck_assert_msg(done->status == HG_OK, "%s", sentence);
    ck_assert_int_eq(hgi_auth_decode(done->value, &arena, &auth, sentence), HG_OK);
    return done;
}

static void assert_value(const struct hgi_frame_done *done, const char *value)
{
    copy_message(done->message);
    ck_assert_msg(done->status == HG_OK, "%d %s", done->status, sentence);
    ck_assert_int_eq(done->outcome, HG_VALUE);
    ck_assert_slice_eq(done->value, value);
}

static void assert_failed(const struct hgi_frame_done *done, enum hg_status status,
                          const char *wanted)
{
    ck_assert_int_eq(done->status, status);
    ck_assert_msg(strstr(sentence, wanted) != NULL, "\"%s\" does not say \"%s\"", sentence, wanted);
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

START_TEST(a_row_is_an_answer)
{
    const struct hgi_frame_done *done;

    start("CREATE TABLE keys(hash text, user_id text, allowed bool, scopes text, expires_at"
          " timestamptz, ttl_ms int, tags text, plan text, blob bytea);"
          "INSERT INTO keys VALUES"
          "('h1', 'alice', true, 'read write', '2100-01-01 00:00:00.5+00', 1500, 'gold', 'big',"
          " '\\x00ff'), ('h2', 'bob', false, NULL, NULL, NULL, NULL, NULL, NULL),"
          "('h3', 'eve', true, NULL, 'infinity', NULL, NULL, NULL, NULL),"
          "('h4', 'old', true, NULL, '-infinity', NULL, NULL, NULL, NULL),"
          "('h5', 'ides', true, NULL, '2044-03-15 00:00:00+00 BC', NULL, NULL, NULL, NULL)",
          "query_key_hash", BY_HASH);
    done = load_auth(1, "h1");
    ck_assert(auth.allowed);
    ck_assert_slice_eq(auth.user_id, "alice");
    ck_assert_uint_eq(auth.scope_count, 2);
    ck_assert_int_eq(done->expires_at_ms, INT64_C(4102444800500));
    ck_assert_int_eq(done->ttl_ms, 1500);
    ck_assert_uint_eq(done->tag_count, 1);
    ck_assert_slice_eq(done->tags[0], "gold");
    ck_assert_uint_eq(auth.attribute_count, 3); /* hash, plan and blob; key is none */
    ck_assert_slice_eq(auth.attributes[1].value, "big");
    ck_assert_uint_eq(auth.attributes[2].value.len, 2);
    ck_assert_int_eq(load_hash(2, "h2", HG_TYPE_AUTH)->outcome, HG_DENIED);
    ck_assert_int_ge(load_auth(3, "h3")->expires_at_ms, INT64_C(9000000000000000));
    ck_assert_int_eq(load_hash(4, "h4", HG_TYPE_AUTH)->expires_at_ms, 1);
    ck_assert_int_eq(load_hash(7, "h5", HG_TYPE_AUTH)->expires_at_ms, 1);
    ck_assert_int_eq(load_hash(5, "nobody", HG_TYPE_AUTH)->outcome, HG_ABSENT);
    assert_failed(load(6, "k", HG_TYPE_BYTES), HG_INVALID_ARGUMENT, "no query for a key of kind");
    finish();
}
END_TEST

START_TEST(keys_are_texts_whatever_is_in_them)
{
    static const char *const keys[] = {
        "a\"b", "a\\b",   "{a,b}", "NULL", "'; DROP TABLE keys; --", "\xc3\xa4\xf0\x9f\x98\x80",
        " a ",  "a\nb\tc"};

    start("SELECT 1", "query", ECHO_KEYS);
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        assert_value(load(i + 1, keys[i], HG_TYPE_BYTES), keys[i]);
    }
    assert_failed(load(20, "\xff", HG_TYPE_BYTES), HG_INVALID_ARGUMENT, "UTF-8");
    assert_failed(load(21, "\xed\xa0\x80", HG_TYPE_BYTES), HG_INVALID_ARGUMENT, "UTF-8");
    assert_failed(load(22, "\xc0\x80", HG_TYPE_BYTES), HG_INVALID_ARGUMENT, "UTF-8");
    assert_failed(load(23, "a\xf0\x9f", HG_TYPE_BYTES), HG_INVALID_ARGUMENT, "UTF-8");
    finish();
}
END_TEST

START_TEST(loads_that_come_together_are_one_query)
{
    start("SELECT 1", "query",
          "SELECT k AS key, cardinality($1::text[])::text AS value FROM unnest($1::text[]) k");
    child_load_many(&child, 64);
    for (uint32_t i = 0; i < 64; i++) {
        ck_assert_int_eq(child_read(&child)->kind, HGI_FRAME_DONE);
        copy_message(child.frame.u.done.message);
        assert_value(&child.frame.u.done, "64");
    }
    finish();
}
END_TEST

START_TEST(a_row_says_of_which_key_it_is)
{
    const struct hg_key pair = {.kind = HG_KEY_USER_API_KEY,
                                .user_id = hg_slice_text("u"),
                                .api_key_id = hg_slice_text("k")};
    const struct hg_key feature = {.kind = HG_KEY_API_KEY_FEATURE,
                                   .user_id = hg_slice_text("u"),
                                   .api_key_id = hg_slice_text("k"),
                                   .is_standalone = true};

    begin("SELECT 1");
    set("query_user_api_key",
        "SELECT nr, u || '/' || k AS value FROM unnest($1::text[], $2::text[])"
        " WITH ORDINALITY AS asked(u, k, nr)");
    set("query_api_key_feature",
        "SELECT nr, k || s::text AS value FROM unnest($1::text[], $2::text[], $3::bool[])"
        " WITH ORDINALITY AS asked(u, k, s, nr)");
    set("query",
        "SELECT k AS key, v AS value FROM (VALUES ('one', '1'), ('two', '2'), ('two', '3'))"
        " AS rows(k, v) WHERE k = ANY($1) OR 'other' = ANY($1)");
    open_child();
    child_load(&child, 1, &pair, HG_TYPE_BYTES);
    assert_value(done_of(1), "u/k");
    child_load(&child, 2, &feature, HG_TYPE_BYTES);
    assert_value(done_of(2), "ktrue");
    assert_value(load(3, "one", HG_TYPE_BYTES), "1");
    assert_failed(load(4, "two", HG_TYPE_BYTES), HG_FAILED_PRECONDITION, "more than one row");
    ck_assert_int_eq(load(5, "three", HG_TYPE_BYTES)->outcome, HG_ABSENT);
    assert_failed(load(6, "other", HG_TYPE_BYTES), HG_FAILED_PRECONDITION, "not asked for");
    finish();
}
END_TEST

START_TEST(an_etag_confirms_what_is_there)
{
    const struct hg_key key = {.kind = HG_KEY_KEY_HASH, .bytes = hg_slice_text("h")};

    start(
        "CREATE TABLE keys(hash text, value text, etag int); INSERT INTO keys VALUES('h', 'v', 7)",
        "query_key_hash", BY_HASH);
    child_load_old(&child, 1, &key, HG_TYPE_BYTES, "v", "7");
    ck_assert(done_of(1)->is_unchanged);
    child_load_old(&child, 2, &key, HG_TYPE_BYTES, "v", "6");
    assert_value(done_of(2), "v");
    finish();
}
END_TEST

START_TEST(wrong_options_are_named)
{
    begin("CREATE TABLE keys(hash text, value text)");
    assert_refused("statement_timeout_ms", "1000", "needs a query");
    set("query", ECHO_KEYS);
    assert_refused("query_key_hash", "SELECT nothing AS key FROM keys",
                   "\"nothing\" does not exist");
    assert_refused("query_key_hash", "SELECT hash FROM keys WHERE hash = ANY($1)", "column key");
    assert_refused("query_key_hash", "SELECT $2::text AS key WHERE $1::text IS NOT NULL",
                   "uses $2, but its key has 1 part");
    assert_refused("query_key_hash", "DELETE FROM keys WHERE hash = ANY($1)", "must be a SELECT");
    assert_refused("query_key_hash", "SELECT 1 AS key; SELECT 2", "multiple commands");
    assert_refused("query_user_api_key", "SELECT $1::text[] AS key, $2::text[]", "column nr");
    assert_refused("connections", "0", "from 1 to 64");
    assert_refused("listen", " ", "names of channels");
    assert_refused("password", "file:relative", "absolute path");
    setting_count = 0;
    set("query", ECHO_KEYS);
    assert_refused("connection", "host=/x password=secret", "holds a password");
    ck_assert(!strstr(sentence, "secret"));
    assert_refused("connection", "host", "cannot be read");
    assert_refused("connection", "host=/nowhere/at/all dbname=x", "connection to server");
    hgi_arena_deinit(&arena);
    PQfinish(writer);
}
END_TEST

START_TEST(a_query_cannot_write)
{
    start("CREATE TABLE seen(k text);"
          "CREATE FUNCTION note(k text) RETURNS text LANGUAGE sql AS"
          " 'INSERT INTO seen VALUES(k) RETURNING k'",
          "query", "SELECT k AS key, note(k) AS value FROM unnest($1::text[]) k");
    assert_failed(load(1, "k", HG_TYPE_BYTES), HG_INTERNAL, "SQLSTATE 25006");
    finish();
}
END_TEST

START_TEST(a_query_that_takes_too_long_is_ended)
{
    begin("SELECT 1");
    set("query", "SELECT k AS key, pg_sleep(600)::text AS value FROM unnest($1::text[]) k");
    set("statement_timeout_ms", "300");
    open_child();
    assert_failed(load(1, "k", HG_TYPE_BYTES), HG_DEADLINE_EXCEEDED, "statement_timeout_ms");
    finish();
}
END_TEST

/* The writer holds a lock that the key "slow" waits for. */
static void start_locked(const char *connections)
{
    begin("SELECT 1");
    set("connections", connections);
    set("query", "SELECT k AS key, k AS value FROM unnest($1::text[]) k WHERE k <> 'slow' OR"
                 " pg_advisory_xact_lock_shared(1) IS NOT NULL");
    open_child();
    sql("SELECT pg_advisory_lock(1)");
}

START_TEST(a_slow_query_holds_up_no_other)
{
    start_locked("2");
    child_load_bytes(&child, 1, "slow", HG_TYPE_BYTES);
    assert_value(load(2, "quick", HG_TYPE_BYTES), "quick");
    assert_value(load(3, "quick", HG_TYPE_BYTES), "quick");
    sql("SELECT pg_advisory_unlock(1)");
    assert_value(done_of(1), "slow");
    finish();
}
END_TEST

/* Over one connection the next one waits behind it, until nobody wants the first. */
START_TEST(a_cancelled_query_makes_room_for_the_next)
{
    start_locked("1");
    child_load_bytes(&child, 1, "slow", HG_TYPE_BYTES);
    child_load_bytes(&child, 2, "quick", HG_TYPE_BYTES);
    child_cancel(&child, 1);
    ck_assert_int_eq(done_of(1)->status, HG_CANCELLED);
    assert_value(done_of(2), "quick");
    sql("SELECT pg_advisory_unlock(1)");
    finish();
}
END_TEST

START_TEST(who_comes_after_a_cancelled_query_does_not_wait_for_it)
{
    start_locked("1");
    child_load_bytes(&child, 1, "slow", HG_TYPE_BYTES);
    child_cancel(&child, 1);
    ck_assert_int_eq(done_of(1)->status, HG_CANCELLED);
    assert_value(load(2, "quick", HG_TYPE_BYTES), "quick");
    sql("SELECT pg_advisory_unlock(1)");
    finish();
}
END_TEST

/* How many queries the database holds up. */
static int count_held_up(void)
{
    PGresult *result =
        PQexec(writer, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted");
    int count;

    ck_assert_msg(PQresultStatus(result) == PGRES_TUPLES_OK, "%s", PQerrorMessage(writer));
    count = atoi(PQgetvalue(result, 0, 0));
    PQclear(result);
    return count;
}

/* The connection that ran it is given up for the one behind it, and that one asked for again alone.
 */
START_TEST(a_query_that_nobody_waits_for_is_not_sent_again)
{
    start_locked("1");
    child_load_bytes(&child, 1, "slow", HG_TYPE_BYTES);
    child_load_bytes(&child, 2, "quick", HG_TYPE_BYTES);
    child_cancel(&child, 1);
    ck_assert_int_eq(done_of(1)->status, HG_CANCELLED);
    assert_value(done_of(2), "quick");
    /* Had it been, this one would have waited behind it. */
    assert_value(load(3, "quick", HG_TYPE_BYTES), "quick");
    ck_assert_int_le(count_held_up(), 1);
    sql("SELECT pg_advisory_unlock(1)");
    finish();
}
END_TEST

START_TEST(a_lost_connection_costs_no_load)
{
    start_locked("1");
    child_load_bytes(&child, 1, "slow", HG_TYPE_BYTES);
    sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = "
        "'herdgate'");
    sql("SELECT pg_advisory_unlock(1)");
    assert_value(done_of(1), "slow");
    assert_value(load(2, "quick", HG_TYPE_BYTES), "quick");
    finish();
}
END_TEST

START_TEST(a_table_that_changes_is_read_anew)
{
    start("CREATE TABLE keys(hash text, value int); INSERT INTO keys VALUES('h', 1)",
          "query_key_hash", BY_HASH);
    assert_value(load_hash(1, "h", HG_TYPE_BYTES), "1");
    sql("ALTER TABLE keys ALTER value TYPE text USING 'n' || value, ADD more text");
    assert_value(load_hash(2, "h", HG_TYPE_BYTES), "n1");
    finish();
}
END_TEST

static const struct hgi_frame_invalidate *heard(void)
{
    ck_assert_int_eq(read_no_log()->kind, HGI_FRAME_INVALIDATE);
    return &child.frame.u.invalidate;
}

static void assert_heard_key(enum hg_key_kind kind, const char *first, const char *cache)
{
    const struct hgi_frame_invalidate *what = heard();
    struct hg_key key;

    ck_assert_int_eq(what->what, HG_INVALIDATED_KEY);
    ck_assert(hgi_key_decode(what->key, &key));
    ck_assert_int_eq(key.kind, kind);
    ck_assert_slice_eq(kind == HG_KEY_BYTES || kind == HG_KEY_KEY_HASH ? key.bytes : key.user_id,
                       first);
    ck_assert_slice_eq(what->cache, cache);
}

static void assert_heard_name(enum hg_invalidated kind, const char *name)
{
    ck_assert_int_eq(heard()->what, kind);
    ck_assert_slice_eq(child.frame.u.invalidate.name, name);
}

static void listen(void)
{
    begin("SELECT 1");
    set("query", ECHO_KEYS);
    set("listen", "changes, Other");
    ck_assert(open_child()->invalidates); /* whatever was cached while nobody listened */
}

START_TEST(a_notification_invalidates)
{
    listen();
    sql("NOTIFY changes, '{\"key\":\"k\",\"cache\":\"c\"}'");
    assert_heard_key(HG_KEY_BYTES, "k", "c");
    assert_heard_key(HG_KEY_KEY_HASH, "k", "c");
    sql("NOTIFY \"Other\", '{\"user_id\":\"u\",\"api_key_id\":\"a\"}'");
    assert_heard_key(HG_KEY_USER_API_KEY, "u", "");
    assert_heard_key(HG_KEY_API_KEY_FEATURE, "u", "");
    assert_heard_key(HG_KEY_API_KEY_FEATURE, "u", "");
    assert_heard_key(HG_KEY_API_KEY_FEATURE, "", "");
    sql("NOTIFY changes, '{\"tag\":\"gold\",\"user\":\"ann\"}'");
    assert_heard_name(HG_INVALIDATED_TAG, "gold");
    assert_heard_name(HG_INVALIDATED_USER, "ann");
    sql("NOTIFY changes, '{\"all\":true}'");
    ck_assert_int_eq(heard()->what, HG_INVALIDATED_ALL);
    finish();
}
END_TEST

START_TEST(a_notification_that_cannot_be_read_is_of_everything)
{
    static const char *const payloads[] = {"NOTIFY changes",
                                           "NOTIFY changes, 'k1'",
                                           "NOTIFY changes, '{\"kye\":\"k1\"}'",
                                           "NOTIFY changes, '{\"key\":7}'",
                                           "NOTIFY changes, '[\"k1\"]'",
                                           "NOTIFY changes, '{\"key\":\"k1\",\"user\":7}'",
                                           "NOTIFY changes, '{\"user_id\":7,\"api_key_id\":\"a\"}'",
                                           "NOTIFY changes, '{\"key\":\"k1\",\"all\":1}'"};

    listen();
    for (size_t i = 0; i < sizeof(payloads) / sizeof(payloads[0]); i++) {
        sql(payloads[i]);
        ck_assert_int_eq(heard()->what, HG_INVALIDATED_ALL);
        ck_assert_uint_eq(child.frame.u.invalidate.cache.len, 0);
    }
    finish();
}
END_TEST

/* What is notified while nobody listens is heard by nobody: so it is everything. */
START_TEST(after_a_gap_everything_is_invalidated)
{
    listen();
    sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'");
    ck_assert_int_eq(heard()->what, HG_INVALIDATED_ALL);
    sql("NOTIFY changes, '{\"tag\":\"gold\"}'");
    assert_heard_name(HG_INVALIDATED_TAG, "gold");
    finish();
}
END_TEST

START_TEST(a_database_that_is_away_comes_back)
{
    const struct timespec pause = {0, 5000000};
    struct hgi_frame question = {.kind = HGI_FRAME_HEALTH};
    const struct backend others = database;
    enum hg_status status;
    uint64_t id = 100;

    make_database(); /* one that nobody else needs */
    listen();
    PQfinish(writer);
    backend_end(&database, SIGINT);
    do { /* it sees its connections end one after the other */
        nanosleep(&pause, NULL);
        child_load_bytes(&child, ++id, "k", HG_TYPE_BYTES);
        ck_assert_int_eq(read_no_log()->kind, HGI_FRAME_DONE);
        status = child.frame.u.done.status;
    } while (status == HG_OK);
    copy_message(child.frame.u.done.message);
    assert_failed(&child.frame.u.done, HG_UNAVAILABLE, "the database cannot be reached");
    child_send(&child, &question);
    ck_assert_int_eq(read_no_log()->kind, HGI_FRAME_HEALTH_REPLY);
    copy_message(child.frame.u.health.message);
    ck_assert_int_eq(child.frame.u.health.status, HG_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(sentence, "no connection to the database"));
    start_database();
    ck_assert_int_eq(heard()->what, HG_INVALIDATED_ALL);
    do {
        nanosleep(&pause, NULL);
        child_load_bytes(&child, ++id, "k", HG_TYPE_BYTES);
        ck_assert_int_eq(read_no_log()->kind, HGI_FRAME_DONE);
    } while (child.frame.u.done.status == HG_UNAVAILABLE);
    assert_value(&child.frame.u.done, "k");
    child_end(&child);
    hgi_arena_deinit(&arena);
    drop_database();
    database = others;
}
END_TEST

int main(void)
{
    const struct hgi_suite_frame frame = {make_database, drop_database};
    const TTest *const tests[] = {a_row_is_an_answer,
                                  keys_are_texts_whatever_is_in_them,
                                  loads_that_come_together_are_one_query,
                                  a_row_says_of_which_key_it_is,
                                  an_etag_confirms_what_is_there,
                                  wrong_options_are_named,
                                  a_query_cannot_write,
                                  a_query_that_takes_too_long_is_ended,
                                  a_slow_query_holds_up_no_other,
                                  a_cancelled_query_makes_room_for_the_next,
                                  who_comes_after_a_cancelled_query_does_not_wait_for_it,
                                  a_query_that_nobody_waits_for_is_not_sent_again,
                                  a_lost_connection_costs_no_load,
                                  a_table_that_changes_is_read_anew,
                                  a_notification_invalidates,
                                  a_notification_that_cannot_be_read_is_of_everything,
                                  after_a_gap_everything_is_invalidated,
                                  a_database_that_is_away_comes_back};

    return hgi_suite_run_within(&frame, "loaders.postgres", tests, sizeof(tests) / sizeof(tests[0]),
                                60);
}
