/* SPDX-License-Identifier: Apache-2.0 */
/* sqlite: the one connection, its settings, its prepared statements.
 * Owns:     the connection; the statements by their number.
 * Threads:  one at a time (opened NOMUTEX).
 * Limits:   HGI_DB_BOUND_MAX values a statement.
 * Errors:   every call says what kind of failure it was; hgi_db_text says it in words.
 * Not here: what the statements are (schema), what a failure means (snapshot). */
#ifndef HGI_STORAGE_SNAPSHOT_SQLITE_H
#define HGI_STORAGE_SNAPSHOT_SQLITE_H

#include "base/alloc.h"

enum hgi_db_result {
    HGI_DB_OK,
    HGI_DB_ROW,
    HGI_DB_BUSY,     /* another process has the file */
    HGI_DB_UNUSABLE, /* no database, or a damaged one */
    HGI_DB_LOST,     /* a sync failed: what was written before may be gone, though it reads back */
    HGI_DB_FAILED,   /* disk full, I/O error, read-only, no memory: later it may work */
};

/* A value for a statement's `?`. */
struct hgi_bound {
    bool is_bytes;
    int64_t number;
    struct hg_slice bytes;
};

static inline struct hgi_bound hgi_bound_number(int64_t number)
{
    return (struct hgi_bound){.number = number};
}

static inline struct hgi_bound hgi_bound_bytes(struct hg_slice bytes)
{
    return (struct hgi_bound){.is_bytes = true, .bytes = bytes};
}

struct hgi_db;

/* Opens an existing file and locks it for this process; reads nothing yet. *ret_db is given on
 * failure too (for its text), unless memory is out. */
HG_NODISCARD enum hgi_db_result hgi_db_open(const char *path, struct hgi_db **ret_db);
void hgi_db_close(struct hgi_db **db);
/* UNUSABLE: the header says that only a later sqlite may write the file. sqlite itself would open
 * it for reading, and refuse the first write. */
HG_NODISCARD enum hgi_db_result hgi_db_check_header(struct hgi_db *db);
/* What the last failure was; borrowed until the next call. */
const char *hgi_db_text(const struct hgi_db *db);

/* For a caller that has no memory for what it wants to bind: the text, and HGI_DB_FAILED. */
HG_NODISCARD enum hgi_db_result hgi_db_no_memory(struct hgi_db *db);

/* For one that found bytes in the file which nobody wrote: the text, and HGI_DB_UNUSABLE. */
HG_NODISCARD enum hgi_db_result hgi_db_damaged(struct hgi_db *db, const char *what);

/* Statements without values or rows. */
HG_NODISCARD enum hgi_db_result hgi_db_exec(struct hgi_db *db, const char *sql);
/* The number in the first column of the first row. */
HG_NODISCARD enum hgi_db_result hgi_db_read_number(struct hgi_db *db, const char *sql,
                                                   int64_t *ret_number);
/* The text in the first column of each row, until `visit` answers false. */
HG_NODISCARD enum hgi_db_result hgi_db_read_texts(struct hgi_db *db, const char *sql,
                                                  bool (*visit)(void *context, const char *text),
                                                  void *context);

/* Prepares texts[0..count): their numbers are what the calls below take. */
HG_NODISCARD enum hgi_db_result hgi_db_prepare(struct hgi_db *db, const char *const *texts,
                                               size_t count);
/* Binds and runs a statement that gives no rows. */
HG_NODISCARD enum hgi_db_result hgi_db_run(struct hgi_db *db, size_t statement,
                                           const struct hgi_bound *values, size_t count);
/* Binds; then hgi_db_next until it is not HGI_DB_ROW (HGI_DB_OK: no more rows), or hgi_db_end.
 * Bytes bound are borrowed until then. */
HG_NODISCARD enum hgi_db_result hgi_db_query(struct hgi_db *db, size_t statement,
                                             const struct hgi_bound *values, size_t count);
HG_NODISCARD enum hgi_db_result hgi_db_next(struct hgi_db *db, size_t statement);
void hgi_db_end(struct hgi_db *db, size_t statement);
int64_t hgi_db_number(struct hgi_db *db, size_t statement, int column);
/* Borrowed until the next hgi_db_next or hgi_db_end. */
struct hg_slice hgi_db_bytes(struct hgi_db *db, size_t statement, int column);

/* Rows that the last statement changed. */
int64_t hgi_db_changes(const struct hgi_db *db);

/* Its close leaves the log as it is. */
HG_NODISCARD enum hgi_db_result hgi_db_keep_log(struct hgi_db *db);
/* From here on no commit waits for the disk: a power cut, or one that fails, leaves no whole file.
 */
HG_NODISCARD enum hgi_db_result hgi_db_go_unsafe(struct hgi_db *db);
/* All that was written is on the disk; the only wait of an unsafe one. */
HG_NODISCARD enum hgi_db_result hgi_db_sync(struct hgi_db *db);

/* The file at its path is another, or none: what is written would be read by nobody. */
#define HGI_DB_MOVED "the file was removed or replaced while in use"
bool hgi_db_is_moved(struct hgi_db *db);
/* is_full: the commit waits for the disk. UNUSABLE also when it is moved. */
HG_NODISCARD enum hgi_db_result hgi_db_begin(struct hgi_db *db, bool is_full);
/* On failure nothing of the transaction stays. */
HG_NODISCARD enum hgi_db_result hgi_db_commit(struct hgi_db *db);
void hgi_db_rollback(struct hgi_db *db);

/* The write-ahead log into the file, then cut to nothing. May be ignored: the log stays whole. */
enum hgi_db_result hgi_db_checkpoint(struct hgi_db *db);
/* Pages in the log after the last commit. */
int hgi_db_log_pages(const struct hgi_db *db);

#endif
