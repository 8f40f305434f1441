/* SPDX-License-Identifier: Apache-2.0 */
#include "schema.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/kind.h"

/* By name, as sqlite_schema is read. A rowid table with its own index: values are of any size, and
 * WITHOUT ROWID writes five times the log at 1 KiB (docs/notes/002-snapshot.md). */
static const char *const tables[] = {
    "CREATE TABLE caches ("
    "id INTEGER PRIMARY KEY, "
    "name BLOB NOT NULL UNIQUE, "
    "cleared INTEGER NOT NULL, "
    "checksum INTEGER NOT NULL) STRICT",
    "CREATE TABLE meta ("
    "id INTEGER PRIMARY KEY CHECK (id = 1), "
    "key BLOB NOT NULL, "
    "high_water INTEGER NOT NULL, "
    "saved_ms INTEGER NOT NULL, "
    "checksum INTEGER NOT NULL) STRICT",
    "CREATE TABLE rows ("
    "id INTEGER PRIMARY KEY, "
    "cache INTEGER NOT NULL, "
    "key BLOB NOT NULL, "
    "outcome INTEGER NOT NULL, "
    "born INTEGER NOT NULL, "
    "saved_ms INTEGER NOT NULL, "
    "age_ms INTEGER NOT NULL, "
    "ttl_ms INTEGER NOT NULL, "
    "stale_ttl_ms INTEGER NOT NULL, "
    "expires_ms INTEGER NOT NULL, "
    "expires_left_ms INTEGER NOT NULL, "
    "over_ms INTEGER NOT NULL, "
    "checksum INTEGER NOT NULL, "
    "tags BLOB NOT NULL, "
    "etag BLOB NOT NULL, "
    "value BLOB NOT NULL, " /* last: the purge reads the columns before it, not its pages */
    "UNIQUE (cache, key)) STRICT",
};

const char *const hgi_schema_statements[HGI_SQL_STATEMENT_COUNT] = {
    [HGI_SQL_META_READ] = "SELECT key, high_water, saved_ms, checksum FROM meta WHERE id = 1",
    [HGI_SQL_META_WRITE] = "INSERT INTO meta VALUES (1, ?1, ?2, ?3, ?4) ON CONFLICT (id) DO UPDATE "
                           "SET key = ?1, high_water = ?2, saved_ms = ?3, checksum = ?4",
    [HGI_SQL_CACHES_READ] = "SELECT id, name, cleared, checksum FROM caches ORDER BY id",
    [HGI_SQL_CACHE_WRITE] = "INSERT INTO caches VALUES (?1, ?2, ?3, ?4) ON CONFLICT (id) DO UPDATE "
                            "SET cleared = ?3, checksum = ?4",
    [HGI_SQL_CACHES_UNUSED_DELETE] =
        "DELETE FROM caches WHERE NOT EXISTS (SELECT 1 FROM rows WHERE rows.cache = caches.id)",
    [HGI_SQL_ROW_WRITE] =
        "INSERT INTO rows (cache, key, outcome, born, saved_ms, age_ms, ttl_ms, stale_ttl_ms, "
        "expires_ms, expires_left_ms, over_ms, checksum, tags, etag, value) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15) "
        "ON CONFLICT (cache, key) DO UPDATE SET outcome = ?3, born = ?4, saved_ms = ?5, "
        "age_ms = ?6, ttl_ms = ?7, stale_ttl_ms = ?8, expires_ms = ?9, expires_left_ms = ?10, "
        "over_ms = ?11, checksum = ?12, tags = ?13, etag = ?14, value = ?15",
    [HGI_SQL_ROW_FORGET] = "DELETE FROM rows WHERE cache = ?1 AND key = ?2 AND born < ?3",
    [HGI_SQL_ROW_DELETE] = "DELETE FROM rows WHERE id = ?1",
    [HGI_SQL_ROWS_SCAN] =
        "SELECT id, cache, key, outcome, born, saved_ms, age_ms, ttl_ms, stale_ttl_ms, "
        "expires_ms, expires_left_ms, over_ms, checksum, tags, etag, value FROM rows WHERE id > ?1 "
        "ORDER BY id LIMIT ?2",
    /* In the order of the file, not of the index on (cache, key), which would seek for each row. */
    [HGI_SQL_TAGS_SCAN] = "SELECT id, born, tags FROM rows WHERE id > ?1 AND +cache = ?2 AND "
                          "born < ?3 AND tags <> x'' ORDER BY id",
    [HGI_SQL_ROWS_DROP] = "DELETE FROM rows WHERE cache = ?1",
    [HGI_SQL_ROWS_COUNT] = "SELECT count(*) FROM rows WHERE cache = ?1",
    [HGI_SQL_PORTION_END] = "SELECT max(id), count(*) FROM "
                            "(SELECT id FROM rows WHERE id > ?1 ORDER BY id LIMIT ?2)",
    [HGI_SQL_PORTION_PURGE] = "DELETE FROM rows WHERE id > ?1 AND id <= ?2 AND (over_ms < ?3 OR "
                              "born < (SELECT cleared FROM caches WHERE caches.id = rows.cache))",
};

struct finding {
    size_t count;
    bool is_wrong;
    char *why;
};

static bool compare_table(void *context, const char *sql)
{
    struct finding *finding = context;

    if (finding->count >= HGI_COUNT_OF(tables) || strcmp(sql, tables[finding->count]) != 0) {
        finding->is_wrong = true;
        return false;
    }
    finding->count++;
    return true;
}

static bool note_damage(void *context, const char *text)
{
    struct finding *finding = context;

    if (strcmp(text, "ok") != 0) {
        finding->is_wrong = true;
        snprintf(finding->why, HGI_SCHEMA_WHY_MAX, "it is damaged: %.200s", text);
    }
    return false;
}

static enum hgi_schema_state state_of(struct hgi_db *db, enum hgi_db_result result, char *ret_why)
{
    switch (result) {
    case HGI_DB_UNUSABLE:
        snprintf(ret_why, HGI_SCHEMA_WHY_MAX, "%.200s", hgi_db_text(db));
        return HGI_SCHEMA_UNUSABLE;
    case HGI_DB_BUSY:
        return HGI_SCHEMA_BUSY;
    default:
        return HGI_SCHEMA_FAILED;
    }
}

enum hgi_schema_state hgi_schema_check(struct hgi_db *db, char *ret_why)
{
    struct finding finding = {.why = ret_why};
    int64_t application = 0;
    int64_t version = 0;
    enum hgi_db_result result = hgi_db_check_header(db);

    if (result == HGI_DB_OK) {
        result = hgi_db_read_number(db, "PRAGMA application_id", &application);
    }
    if (result == HGI_DB_OK) {
        result = hgi_db_read_number(db, "PRAGMA user_version", &version);
    }
    if (result == HGI_DB_OK) {
        result = hgi_db_read_texts(
            db, "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name", compare_table,
            &finding);
    }
    if (result != HGI_DB_OK) {
        return state_of(db, result, ret_why);
    }
    if (application == 0 && version == 0 && finding.count == 0 && !finding.is_wrong) {
        return HGI_SCHEMA_EMPTY;
    }
    if (application != HGI_SCHEMA_APPLICATION) {
        snprintf(ret_why, HGI_SCHEMA_WHY_MAX,
                 "it is another program's database (application_id %" PRId64 ")", application);
        return HGI_SCHEMA_UNUSABLE;
    }
    if (version != HGI_SCHEMA_VERSION) {
        snprintf(ret_why, HGI_SCHEMA_WHY_MAX,
                 "it is of version %" PRId64 ", this program reads version %d", version,
                 HGI_SCHEMA_VERSION);
        return HGI_SCHEMA_UNUSABLE;
    }
    if (finding.is_wrong || finding.count != HGI_COUNT_OF(tables)) {
        snprintf(ret_why, HGI_SCHEMA_WHY_MAX, "its tables are not those of version %d",
                 HGI_SCHEMA_VERSION);
        return HGI_SCHEMA_UNUSABLE;
    }
    /* Not quick_check: a key damaged in the index alone would leave a row that an invalidation
     * does not find and a restore does. */
    result = hgi_db_read_texts(db, "PRAGMA integrity_check(1)", note_damage, &finding);
    if (result != HGI_DB_OK) {
        return state_of(db, result, ret_why);
    }
    return finding.is_wrong ? HGI_SCHEMA_UNUSABLE : HGI_SCHEMA_OURS;
}

enum hgi_db_result hgi_schema_use(struct hgi_db *db)
{
    enum hgi_db_result result = hgi_db_exec(db, "PRAGMA journal_mode = WAL");

    if (result == HGI_DB_OK) {
        result = hgi_db_prepare(db, hgi_schema_statements, HGI_SQL_STATEMENT_COUNT);
    }
    return result;
}

enum hgi_db_result hgi_schema_create(struct hgi_db *db, const struct hgi_meta *meta)
{
    char numbers[96];
    enum hgi_db_result result;

    /* 8 KiB: a key of 1 KiB still fits its index page; only settable while there is no table. */
    result = hgi_db_exec(db, "PRAGMA page_size = 8192; PRAGMA journal_mode = WAL");
    if (result == HGI_DB_OK) {
        result = hgi_db_begin(db, true);
    }
    for (size_t i = 0; i < HGI_COUNT_OF(tables) && result == HGI_DB_OK; i++) {
        result = hgi_db_exec(db, tables[i]);
    }
    if (result == HGI_DB_OK) {
        snprintf(numbers, sizeof(numbers), "PRAGMA application_id = %d; PRAGMA user_version = %d",
                 HGI_SCHEMA_APPLICATION, HGI_SCHEMA_VERSION);
        result = hgi_db_exec(db, numbers);
    }
    if (result == HGI_DB_OK) {
        result = hgi_db_prepare(db, hgi_schema_statements, HGI_SQL_STATEMENT_COUNT);
    }
    if (result == HGI_DB_OK) {
        result = hgi_meta_write(db, meta);
    }
    if (result == HGI_DB_OK) {
        return hgi_db_commit(db);
    }
    hgi_db_rollback(db);
    return result;
}
