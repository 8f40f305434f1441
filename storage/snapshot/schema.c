/* SPDX-License-Identifier: Apache-2.0 */
#include "schema.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/kind.h"

/* By name, as sqlite_schema is read. Rows lie many to a page, and pages are only ever added and
 * removed: with a row and an index entry for each key, sqlite alone took ten times as long
 * (docs/notes/002-snapshot.md). */
static const char *const tables[] = {
    "CREATE TABLE caches ("
    "id INTEGER PRIMARY KEY, "
    "name BLOB NOT NULL, "
    "cleared INTEGER NOT NULL, "
    "checksum INTEGER NOT NULL) STRICT",
    "CREATE TABLE forgotten ("
    "id INTEGER PRIMARY KEY, "
    "digest INTEGER NOT NULL, "
    "generation INTEGER NOT NULL, "
    "checksum INTEGER NOT NULL) STRICT",
    "CREATE TABLE meta ("
    "id INTEGER PRIMARY KEY CHECK (id = 1), "
    "mode INTEGER NOT NULL, "
    "salt BLOB NOT NULL, "
    "proof INTEGER NOT NULL, "
    "high_water INTEGER NOT NULL, "
    "saved_ms INTEGER NOT NULL, "
    "pages INTEGER NOT NULL, "
    "forgotten INTEGER NOT NULL, "
    "checksum INTEGER NOT NULL) STRICT",
    "CREATE TABLE pages ("
    "id INTEGER PRIMARY KEY, "
    "cache INTEGER NOT NULL, "
    "count INTEGER NOT NULL, "
    "head BLOB NOT NULL, "
    "rows BLOB NOT NULL) STRICT", /* last: who looks at heads does not read its pages */
};

/* Until version 3. */
#define OLD_CACHES                                                                                 \
    "CREATE TABLE caches ("                                                                        \
    "id INTEGER PRIMARY KEY, "                                                                     \
    "name BLOB NOT NULL UNIQUE, "                                                                  \
    "cleared INTEGER NOT NULL, "                                                                   \
    "checksum INTEGER NOT NULL) STRICT"
#define OLD_META                                                                                   \
    "CREATE TABLE meta ("                                                                          \
    "id INTEGER PRIMARY KEY CHECK (id = 1), "                                                      \
    "key BLOB NOT NULL, "                                                                          \
    "high_water INTEGER NOT NULL, "                                                                \
    "saved_ms INTEGER NOT NULL, "                                                                  \
    "checksum INTEGER NOT NULL) STRICT"
#define OLD_ROWS(etag)                                                                             \
    "CREATE TABLE rows ("                                                                          \
    "id INTEGER PRIMARY KEY, "                                                                     \
    "cache INTEGER NOT NULL, "                                                                     \
    "key BLOB NOT NULL, "                                                                          \
    "outcome INTEGER NOT NULL, "                                                                   \
    "born INTEGER NOT NULL, "                                                                      \
    "saved_ms INTEGER NOT NULL, "                                                                  \
    "age_ms INTEGER NOT NULL, "                                                                    \
    "ttl_ms INTEGER NOT NULL, "                                                                    \
    "stale_ttl_ms INTEGER NOT NULL, "                                                              \
    "expires_ms INTEGER NOT NULL, "                                                                \
    "expires_left_ms INTEGER NOT NULL, "                                                           \
    "over_ms INTEGER NOT NULL, "                                                                   \
    "checksum INTEGER NOT NULL, "                                                                  \
    "tags BLOB NOT NULL, " etag "value BLOB NOT NULL, "                                            \
    "UNIQUE (cache, key)) STRICT"

static const char *const tables_with_etags[] = {OLD_CACHES, OLD_META,
                                                OLD_ROWS("etag BLOB NOT NULL, ")};
static const char *const tables_with_tags[] = {OLD_CACHES, OLD_META, OLD_ROWS("")};

static const struct layout {
    int64_t version;
    const char *const *tables;
    size_t count;
} layouts[] = {
    {HGI_SCHEMA_VERSION, tables, HGI_COUNT_OF(tables)},
    {HGI_SCHEMA_ETAGS, tables_with_etags, HGI_COUNT_OF(tables_with_etags)},
    {HGI_SCHEMA_TAGS, tables_with_tags, HGI_COUNT_OF(tables_with_tags)},
};

/* NULL: none that we know. */
static const struct layout *find_layout(int64_t version)
{
    for (size_t i = 0; i < HGI_COUNT_OF(layouts); i++) {
        if (layouts[i].version == version) {
            return &layouts[i];
        }
    }
    return NULL;
}

const char *const hgi_schema_statements[HGI_SQL_STATEMENT_COUNT] = {
    [HGI_SQL_META_READ] = "SELECT mode, salt, proof, high_water, saved_ms, pages, forgotten, "
                          "checksum FROM meta WHERE id = 1",
    [HGI_SQL_META_WRITE] =
        "INSERT INTO meta VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (id) DO UPDATE "
        "SET high_water = ?4, saved_ms = ?5, pages = ?6, forgotten = ?7, checksum = ?8",
    [HGI_SQL_COUNTS_READ] =
        "SELECT (SELECT count(*) FROM pages), (SELECT count(*) FROM forgotten), "
        "(SELECT coalesce(max(id), 0) FROM pages), "
        "(SELECT coalesce(max(id), 0) FROM forgotten)",
    [HGI_SQL_CACHES_READ] = "SELECT id, name, cleared, checksum FROM caches ORDER BY id",
    [HGI_SQL_CACHE_WRITE] = "INSERT INTO caches VALUES (?1, ?2, ?3, ?4) ON CONFLICT (id) DO UPDATE "
                            "SET cleared = ?3, checksum = ?4",
    [HGI_SQL_CACHES_UNUSED_DELETE] = "DELETE FROM caches WHERE id NOT IN (SELECT cache FROM pages)",
    [HGI_SQL_FORGOTTEN_WRITE] = "INSERT INTO forgotten VALUES (?1, ?2, ?3, ?4)",
    [HGI_SQL_FORGOTTEN_READ] =
        "SELECT id, digest, generation, checksum FROM forgotten WHERE id <= ?1",
    [HGI_SQL_FORGOTTEN_DELETE] = "DELETE FROM forgotten WHERE id <= ?1",
    [HGI_SQL_PAGE_WRITE] = "INSERT INTO pages VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (id) DO "
                           "UPDATE SET count = ?3, head = ?4, rows = ?5",
    [HGI_SQL_PAGE_DELETE] = "DELETE FROM pages WHERE id = ?1",
    [HGI_SQL_PAGE_NEXT] =
        "SELECT id, cache, count, head, rows FROM pages WHERE id > ?1 ORDER BY id LIMIT 1",
    [HGI_SQL_HEADS_SCAN] = "SELECT id, cache, count, head FROM pages WHERE id > ?1 ORDER BY id",
    [HGI_SQL_HEADS_SIZE] = "SELECT total(length(head)) FROM pages",
    [HGI_SQL_PAGES_DROP] = "DELETE FROM pages WHERE cache = ?1",
    [HGI_SQL_ROWS_COUNT] = "SELECT coalesce(sum(count), 0) FROM pages WHERE cache = ?1",
};

struct finding {
    const struct layout *layout; /* what is expected; NULL: not known */
    size_t count;
    bool is_wrong;
    char *why;
};

static bool compare_table(void *context, const char *sql)
{
    struct finding *finding = context;

    if (!finding->layout || finding->count >= finding->layout->count ||
        strcmp(sql, finding->layout->tables[finding->count]) != 0) {
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

enum hgi_db_result hgi_schema_version(struct hgi_db *db, int64_t *ret_version)
{
    return hgi_db_read_number(db, "PRAGMA user_version", ret_version);
}

enum hgi_schema_state hgi_schema_look(struct hgi_db *db, char *ret_why)
{
    struct finding finding = {.why = ret_why};
    int64_t application = 0;
    int64_t version = 0;
    enum hgi_db_result result = hgi_db_check_header(db);

    if (result == HGI_DB_OK) {
        result = hgi_db_read_number(db, "PRAGMA application_id", &application);
    }
    if (result == HGI_DB_OK) {
        result = hgi_schema_version(db, &version);
    }
    if (result == HGI_DB_OK) {
        finding.layout = find_layout(version);
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
    if (!finding.layout) {
        snprintf(ret_why, HGI_SCHEMA_WHY_MAX,
                 "it is of version %" PRId64 ", this program reads version %d", version,
                 HGI_SCHEMA_VERSION);
        return HGI_SCHEMA_UNUSABLE;
    }
    if (finding.is_wrong || finding.count != finding.layout->count) {
        snprintf(ret_why, HGI_SCHEMA_WHY_MAX, "its tables are not those of version %" PRId64,
                 version);
        return HGI_SCHEMA_UNUSABLE;
    }
    return version == HGI_SCHEMA_VERSION ? HGI_SCHEMA_OURS : HGI_SCHEMA_OLDER;
}

/* `state`, or why not. */
static enum hgi_schema_state check_structure(struct hgi_db *db, const char *sql,
                                             enum hgi_schema_state state, char *ret_why)
{
    struct finding finding = {.why = ret_why};
    enum hgi_db_result result = hgi_db_read_texts(db, sql, note_damage, &finding);

    if (result != HGI_DB_OK) {
        return state_of(db, result, ret_why);
    }
    return finding.is_wrong ? HGI_SCHEMA_UNUSABLE : state;
}

enum hgi_schema_state hgi_schema_check_structure(struct hgi_db *db, char *ret_why)
{
    /* There is no index that quick_check would not compare with its table. */
    return check_structure(db, "PRAGMA quick_check(1)", HGI_SCHEMA_OURS, ret_why);
}

enum hgi_schema_state hgi_schema_check(struct hgi_db *db, char *ret_why)
{
    enum hgi_schema_state state = hgi_schema_look(db, ret_why);

    if (state == HGI_SCHEMA_OLDER) {
        /* A key damaged in the index alone would be a row that invalidations did not find. */
        return check_structure(db, "PRAGMA integrity_check(1)", state, ret_why);
    }
    return state == HGI_SCHEMA_OURS ? hgi_schema_check_structure(db, ret_why) : state;
}

enum hgi_db_result hgi_schema_verdict(enum hgi_schema_state state, char *ret_why)
{
    switch (state) {
    case HGI_SCHEMA_OURS:
        return HGI_DB_OK;
    case HGI_SCHEMA_EMPTY:
        snprintf(ret_why, HGI_SCHEMA_WHY_MAX, "it is empty");
        return HGI_DB_UNUSABLE;
    case HGI_SCHEMA_OLDER:
        snprintf(ret_why, HGI_SCHEMA_WHY_MAX,
                 "it is of a version before %d, which a server takes over when it starts",
                 HGI_SCHEMA_VERSION);
        return HGI_DB_UNUSABLE;
    case HGI_SCHEMA_UNUSABLE:
        return HGI_DB_UNUSABLE;
    case HGI_SCHEMA_BUSY:
        return HGI_DB_BUSY;
    case HGI_SCHEMA_FAILED:
        break;
    }
    return HGI_DB_FAILED;
}

enum hgi_db_result hgi_schema_use(struct hgi_db *db)
{
    enum hgi_db_result result = hgi_db_exec(db, "PRAGMA journal_mode = WAL");

    if (result == HGI_DB_OK) {
        result = hgi_db_prepare(db, hgi_schema_statements, HGI_SQL_STATEMENT_COUNT);
    }
    return result;
}

enum hgi_db_result hgi_schema_create(struct hgi_db *db, const char *journal,
                                     const struct hgi_meta *meta, const struct hgi_seal *seal)
{
    char numbers[96];
    enum hgi_db_result result;

    /* 8 KiB: a clear writes two or three of them, a page of rows nine. Only settable while there is
     * no table. */
    snprintf(numbers, sizeof(numbers), "PRAGMA page_size = 8192; PRAGMA journal_mode = %.8s",
             journal);
    result = hgi_db_exec(db, numbers);
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
        result = hgi_meta_write(db, meta, seal);
    }
    if (result == HGI_DB_OK) {
        return hgi_db_commit(db);
    }
    hgi_db_rollback(db);
    return result;
}
