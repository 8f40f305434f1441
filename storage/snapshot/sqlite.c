/* SPDX-License-Identifier: Apache-2.0 */
#include "sqlite.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"

#define ERROR_MAX 256u

/* Of the file's header (sqlite.org/fileformat2.html, 1.3.3). */
#define WRITE_VERSION_AT  18
#define WRITE_VERSION_WAL 2u

struct hgi_db {
    sqlite3 *handle;
    sqlite3_stmt **statements;
    size_t statement_count;
    bool is_full;
    bool is_unsafe;
    int log_pages;
    char error[ERROR_MAX];
};

static enum hgi_db_result kind_of(int code)
{
    switch (code & 0xff) {
    case SQLITE_OK:
    case SQLITE_DONE:
        return HGI_DB_OK;
    case SQLITE_ROW:
        return HGI_DB_ROW;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return HGI_DB_BUSY;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_ERROR: /* our statements are right: a file they do not fit is not ours */
        return HGI_DB_UNUSABLE;
    case SQLITE_IOERR:
        if (code == SQLITE_IOERR_SHORT_READ) {
            return HGI_DB_UNUSABLE;
        }
        if (code == SQLITE_IOERR_FSYNC || code == SQLITE_IOERR_DIR_FSYNC) {
            return HGI_DB_LOST;
        }
        return HGI_DB_FAILED;
    default:
        return HGI_DB_FAILED;
    }
}

/* Keeps the words of a failure: the next call on the connection, a rollback say, replaces them. */
static enum hgi_db_result settle(struct hgi_db *db, int code)
{
    enum hgi_db_result result = kind_of(code);
    bool is_of_system;
    int system_error;

    if (result == HGI_DB_OK || result == HGI_DB_ROW) {
        return result;
    }
    /* Of other failures it is a number left over from before. */
    is_of_system = (code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_CANTOPEN;
    system_error = is_of_system && db->handle ? sqlite3_system_errno(db->handle) : 0;
    if (system_error) {
        snprintf(db->error, sizeof(db->error), "%s (%s)", sqlite3_errmsg(db->handle),
                 strerrordesc_np(system_error));
    } else {
        snprintf(db->error, sizeof(db->error), "%s",
                 db->handle ? sqlite3_errmsg(db->handle) : sqlite3_errstr(code));
    }
    return result;
}

static int note_log_pages(void *context, sqlite3 *handle, const char *name, int pages)
{
    struct hgi_db *db = context;

    (void)handle;
    (void)name;
    db->log_pages = pages;
    return SQLITE_OK;
}

/* Nothing of the file is trusted or read here; each setting that has a default on some build of
 * sqlite is said outright (research: Debian's differ from upstream's). */
static enum hgi_db_result configure(struct hgi_db *db)
{
    static const struct {
        int option;
        int value;
    } switches[] = {
        {SQLITE_DBCONFIG_DEFENSIVE, 1},
        {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
        {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
        {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
        {SQLITE_DBCONFIG_DQS_DDL, 0},
        {SQLITE_DBCONFIG_DQS_DML, 0},
    };

    for (size_t i = 0; i < HGI_COUNT_OF(switches); i++) {
        int code = sqlite3_db_config(db->handle, switches[i].option, switches[i].value, NULL);

        if (code != SQLITE_OK) {
            return settle(db, code);
        }
    }
    sqlite3_limit(db->handle, SQLITE_LIMIT_ATTACHED, 0);
    return hgi_db_exec(db,
                       "PRAGMA locking_mode = EXCLUSIVE;" /* before WAL: then there is no -shm */
                       "PRAGMA busy_timeout = 0;"
                       "PRAGMA cell_size_check = ON;"
                       "PRAGMA secure_delete = ON;" /* values are credentials */
                       "PRAGMA mmap_size = 0;"
                       "PRAGMA temp_store = MEMORY;"
                       "PRAGMA cache_size = -8192;"
                       "PRAGMA synchronous = FULL;"
                       "PRAGMA wal_autocheckpoint = 0;"
                       "PRAGMA journal_size_limit = 8388608;");
}

enum hgi_db_result hgi_db_open(const char *path, struct hgi_db **ret_db)
{
    struct hgi_db *db = hgi_alloc(&hgi_heap, sizeof(*db));
    enum hgi_db_result result;

    if (!db) {
        return HGI_DB_FAILED;
    }
    db->is_full = true;
    result = settle(db, sqlite3_open_v2(path, &db->handle,
                                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX |
                                            SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_NOFOLLOW,
                                        NULL));
    if (result == HGI_DB_OK) {
        result = configure(db);
    }
    if (result == HGI_DB_OK) {
        /* After wal_autocheckpoint, which sits in the same place. */
        sqlite3_wal_hook(db->handle, note_log_pages, db);
    }
    *ret_db = db;
    return result;
}

void hgi_db_close(struct hgi_db **db)
{
    struct hgi_db *gone = *db;

    if (!gone) {
        return;
    }
    for (size_t i = 0; i < gone->statement_count; i++) {
        sqlite3_finalize(gone->statements[i]);
    }
    hgi_free(&hgi_heap, gone->statements);
    sqlite3_close(gone->handle);
    hgi_free(&hgi_heap, gone);
    *db = NULL;
}

enum hgi_db_result hgi_db_check_header(struct hgi_db *db)
{
    unsigned char version = 0; /* also of a file still too short to have one */
    sqlite3_file *file = NULL;
    int code = sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_FILE_POINTER, &file);

    if (code == SQLITE_OK && file && file->pMethods) {
        code = file->pMethods->xRead(file, &version, sizeof(version), WRITE_VERSION_AT);
    }
    if (code != SQLITE_OK && code != SQLITE_IOERR_SHORT_READ) {
        return settle(db, code);
    }
    if (version > WRITE_VERSION_WAL) {
        snprintf(db->error, sizeof(db->error),
                 "it is damaged: its header has file format write version %u", version);
        return HGI_DB_UNUSABLE;
    }
    return HGI_DB_OK;
}

const char *hgi_db_text(const struct hgi_db *db)
{
    return db && db->error[0] ? db->error : "out of memory";
}

enum hgi_db_result hgi_db_no_memory(struct hgi_db *db)
{
    db->error[0] = '\0';
    return HGI_DB_FAILED;
}

enum hgi_db_result hgi_db_damaged(struct hgi_db *db, const char *what)
{
    snprintf(db->error, sizeof(db->error), "it is damaged: %s", what);
    return HGI_DB_UNUSABLE;
}

int64_t hgi_db_changes(const struct hgi_db *db)
{
    return sqlite3_changes(db->handle);
}

enum hgi_db_result hgi_db_exec(struct hgi_db *db, const char *sql)
{
    return settle(db, sqlite3_exec(db->handle, sql, NULL, NULL, NULL));
}

enum hgi_db_result hgi_db_read_number(struct hgi_db *db, const char *sql, int64_t *ret_number)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(db->handle, sql, -1, &statement, NULL);
    enum hgi_db_result result;

    if (code == SQLITE_OK) {
        code = sqlite3_step(statement);
    }
    result = settle(db, code);
    if (result == HGI_DB_ROW) {
        *ret_number = sqlite3_column_int64(statement, 0);
        result = HGI_DB_OK;
    }
    sqlite3_finalize(statement);
    return result;
}

enum hgi_db_result hgi_db_read_texts(struct hgi_db *db, const char *sql,
                                     bool (*visit)(void *context, const char *text), void *context)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(db->handle, sql, -1, &statement, NULL);
    enum hgi_db_result result;

    while (code == SQLITE_OK || code == SQLITE_ROW) {
        const unsigned char *text;

        code = sqlite3_step(statement);
        if (code != SQLITE_ROW) {
            break;
        }
        text = sqlite3_column_text(statement, 0);
        if (!visit(context, text ? (const char *)text : "")) {
            code = SQLITE_DONE;
        }
    }
    result = settle(db, code);
    sqlite3_finalize(statement);
    return result;
}

enum hgi_db_result hgi_db_prepare(struct hgi_db *db, const char *const *texts, size_t count)
{
    HGI_BUG_ON(db->statements);
    db->statements = hgi_alloc(&hgi_heap, count * sizeof(*db->statements));
    if (!db->statements) {
        return hgi_db_no_memory(db);
    }
    db->statement_count = count;
    for (size_t i = 0; i < count; i++) {
        int code = sqlite3_prepare_v3(db->handle, texts[i], -1, SQLITE_PREPARE_PERSISTENT,
                                      &db->statements[i], NULL);

        if (code != SQLITE_OK) {
            return settle(db, code);
        }
    }
    return HGI_DB_OK;
}

enum hgi_db_result hgi_db_query(struct hgi_db *db, size_t statement, const struct hgi_bound *values,
                                size_t count)
{
    sqlite3_stmt *stmt = db->statements[statement];

    for (size_t i = 0; i < count; i++) {
        int place = (int)i + 1;
        int code;

        if (values[i].is_bytes) {
            /* A NULL pointer would bind NULL, not the empty blob. */
            const void *data = values[i].bytes.data ? values[i].bytes.data : "";

            code = sqlite3_bind_blob64(stmt, place, data, values[i].bytes.len, SQLITE_STATIC);
        } else {
            code = sqlite3_bind_int64(stmt, place, values[i].number);
        }
        if (code != SQLITE_OK) {
            enum hgi_db_result result = settle(db, code);

            hgi_db_end(db, statement);
            return result;
        }
    }
    return HGI_DB_OK;
}

enum hgi_db_result hgi_db_next(struct hgi_db *db, size_t statement)
{
    enum hgi_db_result result = settle(db, sqlite3_step(db->statements[statement]));

    if (result != HGI_DB_ROW) {
        hgi_db_end(db, statement);
    }
    return result;
}

void hgi_db_end(struct hgi_db *db, size_t statement)
{
    /* The code is that of the last step, which was reported there. */
    (void)sqlite3_reset(db->statements[statement]);
    (void)sqlite3_clear_bindings(db->statements[statement]);
}

enum hgi_db_result hgi_db_run(struct hgi_db *db, size_t statement, const struct hgi_bound *values,
                              size_t count)
{
    enum hgi_db_result result = hgi_db_query(db, statement, values, count);

    if (result == HGI_DB_OK) {
        result = hgi_db_next(db, statement);
        HGI_BUG_ON(result == HGI_DB_ROW);
    }
    return result;
}

int64_t hgi_db_number(struct hgi_db *db, size_t statement, int column)
{
    return sqlite3_column_int64(db->statements[statement], column);
}

struct hg_slice hgi_db_bytes(struct hgi_db *db, size_t statement, int column)
{
    sqlite3_stmt *stmt = db->statements[statement];
    const void *data = sqlite3_column_blob(stmt, column);
    int len = sqlite3_column_bytes(stmt, column);

    return hg_slice_of(data, data && len > 0 ? (size_t)len : 0);
}

enum hgi_db_result hgi_db_keep_log(struct hgi_db *db)
{
    return settle(db, sqlite3_db_config(db->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL));
}

enum hgi_db_result hgi_db_go_unsafe(struct hgi_db *db)
{
    db->is_unsafe = true;
    return hgi_db_exec(db, "PRAGMA synchronous = OFF");
}

enum hgi_db_result hgi_db_sync(struct hgi_db *db)
{
    sqlite3_file *file = NULL;
    int code = sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_FILE_POINTER, &file);

    if (code == SQLITE_OK) {
        code = file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);
    }
    return settle(db, code);
}

/* sqlite itself looks for this only when it keeps no write-ahead log. */
bool hgi_db_is_moved(struct hgi_db *db)
{
    int moved = 0;

    return sqlite3_file_control(db->handle, NULL, SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK &&
           moved;
}

enum hgi_db_result hgi_db_begin(struct hgi_db *db, bool is_full)
{
    if (hgi_db_is_moved(db)) {
        snprintf(db->error, sizeof(db->error), HGI_DB_MOVED);
        return HGI_DB_UNUSABLE;
    }
    hgi_db_rollback(db); /* the last one's may have found no memory */
    if (!db->is_unsafe && db->is_full != is_full) {
        enum hgi_db_result result =
            hgi_db_exec(db, is_full ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");

        if (result != HGI_DB_OK) {
            return result;
        }
        db->is_full = is_full;
    }
    return hgi_db_exec(db, "BEGIN IMMEDIATE");
}

enum hgi_db_result hgi_db_commit(struct hgi_db *db)
{
    enum hgi_db_result result = hgi_db_exec(db, "COMMIT");

    if (result != HGI_DB_OK) {
        hgi_db_rollback(db);
    }
    return result;
}

void hgi_db_rollback(struct hgi_db *db)
{
    /* A full disk has often rolled back already; a second ROLLBACK would be an error of its own. */
    if (!sqlite3_get_autocommit(db->handle)) {
        (void)sqlite3_exec(db->handle, "ROLLBACK", NULL, NULL, NULL);
    }
}

enum hgi_db_result hgi_db_checkpoint(struct hgi_db *db)
{
    enum hgi_db_result result = settle(
        db, sqlite3_wal_checkpoint_v2(db->handle, "main", SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL));

    if (result == HGI_DB_OK) {
        db->log_pages = 0;
    }
    return result;
}

int hgi_db_log_pages(const struct hgi_db *db)
{
    return db->log_pages;
}
