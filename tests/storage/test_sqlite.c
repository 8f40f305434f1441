/* SPDX-License-Identifier: Apache-2.0 */
/* The connection: statements by number, transactions, what kind a failure is. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "hg_test.h"
#include "storage/snapshot/sqlite.h"

enum { WRITE, READ };
static const char *const texts[] = {"INSERT INTO t (n, b) VALUES (?, ?)",
                                    "SELECT n, b FROM t WHERE n >= ? ORDER BY n"};

struct fixture {
    char folder[64];
    char path[96];
    struct hgi_db *db;
};

static void setup(struct fixture *f)
{
    FILE *file;

    snprintf(f->folder, sizeof(f->folder), "/tmp/herdgate-db-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(f->folder));
    snprintf(f->path, sizeof(f->path), "%s/a.db", f->folder);
    file = fopen(f->path, "wb");
    ck_assert_ptr_nonnull(file);
    fclose(file);
    ck_assert_int_eq(hgi_db_open(f->path, &f->db), HGI_DB_OK);
    ck_assert_int_eq(hgi_db_exec(f->db, "CREATE TABLE t (n INTEGER, b BLOB)"), HGI_DB_OK);
    ck_assert_int_eq(hgi_db_prepare(f->db, texts, 2), HGI_DB_OK);
}

static void teardown(struct fixture *f)
{
    hgi_db_close(&f->db);
    ck_assert_ptr_null(f->db);
    unlink(f->path);
    ck_assert_int_eq(rmdir(f->folder), 0);
}

static void write_row(struct fixture *f, int64_t number, const char *text)
{
    struct hgi_bound values[] = {hgi_bound_number(number), hgi_bound_bytes(hg_slice_text(text))};

    ck_assert_int_eq(hgi_db_run(f->db, WRITE, values, 2), HGI_DB_OK);
}

static int64_t count(struct fixture *f)
{
    int64_t number = -1;

    ck_assert_int_eq(hgi_db_read_number(f->db, "SELECT count(*) FROM t", &number), HGI_DB_OK);
    return number;
}

START_TEST(what_was_bound_is_read_back_row_by_row)
{
    struct fixture f;
    struct hgi_bound from = hgi_bound_number(2);

    setup(&f);
    write_row(&f, 1, "one");
    write_row(&f, 2, "two");
    write_row(&f, 3, "");
    ck_assert_int_eq(hgi_db_query(f.db, READ, &from, 1), HGI_DB_OK);
    ck_assert_int_eq(hgi_db_next(f.db, READ), HGI_DB_ROW);
    ck_assert_int_eq(hgi_db_number(f.db, READ, 0), 2);
    ck_assert_slice_eq(hgi_db_bytes(f.db, READ, 1), "two");
    ck_assert_int_eq(hgi_db_next(f.db, READ), HGI_DB_ROW);
    ck_assert_uint_eq(hgi_db_bytes(f.db, READ, 1).len, 0);
    ck_assert_int_eq(hgi_db_next(f.db, READ), HGI_DB_OK);
    hgi_db_end(f.db, READ);
    teardown(&f);
}
END_TEST

START_TEST(a_transaction_stays_whole_or_leaves_nothing)
{
    struct fixture f;

    setup(&f);
    ck_assert_int_eq(hgi_db_begin(f.db, false), HGI_DB_OK);
    write_row(&f, 1, "one");
    hgi_db_rollback(f.db);
    ck_assert_int_eq(count(&f), 0);
    ck_assert_int_eq(hgi_db_begin(f.db, true), HGI_DB_OK);
    write_row(&f, 1, "one");
    write_row(&f, 2, "two");
    ck_assert_int_eq(hgi_db_commit(f.db), HGI_DB_OK);
    ck_assert_int_eq(count(&f), 2);
    teardown(&f);
}
END_TEST

START_TEST(a_file_that_is_no_database_or_not_ours_is_unusable)
{
    struct fixture f;
    struct hgi_db *other = NULL;
    enum hgi_db_result result;
    int64_t number;
    FILE *file;

    setup(&f);
    ck_assert_int_eq(hgi_db_exec(f.db, "SELECT 1 FROM elsewhere"), HGI_DB_UNUSABLE);
    ck_assert_msg(strstr(hgi_db_text(f.db), "no such table") != NULL, "%s", hgi_db_text(f.db));
    hgi_db_close(&f.db);
    file = fopen(f.path, "wb");
    ck_assert_ptr_nonnull(file);
    for (int i = 0; i < 100; i++) {
        ck_assert_int_ge(fputs("this is a letter, no database. ", file), 0);
    }
    ck_assert_int_eq(fclose(file), 0);
    result = hgi_db_open(f.path, &other);
    if (result == HGI_DB_OK) { /* it reads nothing yet */
        result = hgi_db_read_number(other, "SELECT count(*) FROM sqlite_master", &number);
    }
    ck_assert_int_eq(result, HGI_DB_UNUSABLE);
    hgi_db_close(&other);
    teardown(&f);
}
END_TEST

HGI_SUITE("storage.sqlite", 20, what_was_bound_is_read_back_row_by_row,
          a_transaction_stays_whole_or_leaves_nothing,
          a_file_that_is_no_database_or_not_ours_is_unusable)
