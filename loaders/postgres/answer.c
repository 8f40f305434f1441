/* SPDX-License-Identifier: Apache-2.0 */
#include "answer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <time.h>

#include "loaders/kit/columns.h"

#define SENTENCE_MAX 256
#define NO_ROW       (-1)
#define MANY_ROWS    (-2)

/* Of pg_type.dat; they never change. */
enum { OID_BOOL = 16, OID_BYTEA = 17, OID_INT8 = 20, OID_INT2 = 21, OID_INT4 = 23 };
enum { OID_FLOAT4 = 700, OID_FLOAT8 = 701, OID_TIMESTAMPTZ = 1184, OID_NUMERIC = 1700 };

/* "2027-01-31 10:20:30.5+00", as the connection has it set; "infinity"; or before our era, with
 * " BC" behind, which is over whenever it was. */
static bool read_instant(const char *text, double *ret_seconds)
{
    struct tm day;
    double seconds;
    int len = 0;
    bool is_before;

    memset(&day, 0, sizeof(day));
    if (strcmp(text, "infinity") == 0 || strcmp(text, "-infinity") == 0) {
        *ret_seconds = text[0] == '-' ? 0 : 9e12;
        return true;
    }
    (void)sscanf(text, "%d-%d-%d %d:%d:%lf+00%n", &day.tm_year, &day.tm_mon, &day.tm_mday,
                 &day.tm_hour, &day.tm_min, &seconds, &len);
    is_before = len && strcmp(text + len, " BC") == 0;
    if (!len || (text[len] && !is_before)) {
        return false;
    }
    if (is_before) {
        *ret_seconds = 0;
        return true;
    }
    day.tm_year -= 1900;
    day.tm_mon -= 1;
    *ret_seconds = (double)timegm(&day) + seconds;
    return true;
}

/* False: no memory. *ret_blob is to be freed by PQfreemem. */
static bool fill_column(const PGresult *result, int row, int index, struct column *ret_column,
                        unsigned char **ret_blob)
{
    const char *text = PQgetvalue(result, row, index);
    size_t len = (size_t)PQgetlength(result, row, index);
    Oid type = PQftype(result, index);

    *ret_column = (struct column){.name = PQfname(result, index), .kind = COLUMN_TEXT};
    if (PQgetisnull(result, row, index)) {
        ret_column->kind = COLUMN_NULL;
        return true;
    }
    ret_column->bytes = hg_slice_of(text, len);
    if (type == OID_BYTEA) {
        ret_column->kind = COLUMN_BLOB;
        *ret_blob = PQunescapeBytea((const unsigned char *)text, &len);
        ret_column->bytes = hg_slice_of(*ret_blob, len);
        return *ret_blob != NULL;
    }
    if (type == OID_BOOL) {
        ret_column->kind = COLUMN_NUMBER;
        ret_column->number = text[0] == 't';
    } else if (type == OID_TIMESTAMPTZ) {
        ret_column->kind = read_instant(text, &ret_column->number) ? COLUMN_NUMBER : COLUMN_TEXT;
    } else if (type == OID_INT2 || type == OID_INT4 || type == OID_INT8 || type == OID_FLOAT4 ||
               type == OID_FLOAT8 || type == OID_NUMERIC) {
        ret_column->number = strtod(text, NULL);
        ret_column->kind = isfinite(ret_column->number) ? COLUMN_NUMBER : COLUMN_TEXT;
    }
    return true;
}

static void answer_one(struct job *job, struct job_load *load, const PGresult *result, int row)
{
    static const char *const beside[] = {ANSWER_KEY, ANSWER_NR, NULL};
    struct columns columns = {.option = settings_query_name(job->query), .beside = beside};
    unsigned char *blobs[COLUMNS_MAX] = {NULL};
    bool is_done = true;

    while (columns.count < (size_t)PQnfields(result) && is_done) {
        is_done = fill_column(result, row, (int)columns.count, &columns.columns[columns.count],
                              &blobs[columns.count]);
        columns.count++;
    }
    load->is_done = true;
    if (is_done) {
        columns_answer(&columns, job->services, load->load, load->request);
    } else {
        job->services->done_error(load->load, HG_RESOURCE_EXHAUSTED, "out of memory");
    }
    for (size_t i = 0; i < columns.count; i++) {
        PQfreemem(blobs[i]);
    }
}

static int column_of(const PGresult *result, const char *name)
{
    for (int i = 0; i < PQnfields(result); i++) {
        if (strcasecmp(PQfname(result, i), name) == 0) {
            return i;
        }
    }
    return -1;
}

/* Which load of the job the row says it is of; job->count: none. A load may be there twice, with
 * the same key: `from` is where to go on. */
static size_t load_of(const struct job *job, const PGresult *result, int row, int nr, int key,
                      size_t from)
{
    if (nr >= 0) {
        long place = strtol(PQgetvalue(result, row, nr), NULL, 10);

        return from == 0 && place >= 1 && (size_t)place <= job->count ? (size_t)place - 1
                                                                      : job->count;
    }
    for (size_t i = from; i < job->count; i++) {
        const struct job_load *load = &job->loads[i];

        /* The request of one that is done is gone. */
        if (!load->is_done &&
            load->request->key.bytes.len == (size_t)PQgetlength(result, row, key) &&
            memcmp(load->request->key.bytes.data, PQgetvalue(result, row, key),
                   load->request->key.bytes.len) == 0) {
            return i;
        }
    }
    return job->count;
}

/* The row of each load. False: a row is of no load that was asked for. With `key`, one of a load
 * that was done meanwhile looks the same, and is none of that. */
static bool find_rows(const struct job *job, const PGresult *result, int nr, int key,
                      int ret_rows[JOB_LOADS_MAX])
{
    bool has_done = false;
    bool has_stray = false;

    for (size_t i = 0; i < job->count; i++) {
        ret_rows[i] = NO_ROW;
        has_done = has_done || job->loads[i].is_done;
    }
    for (int row = 0; row < PQntuples(result); row++) {
        size_t at = load_of(job, result, row, nr, key, 0);

        has_stray = has_stray || at == job->count;
        while (at < job->count) {
            ret_rows[at] = ret_rows[at] == NO_ROW ? row : MANY_ROWS;
            at = load_of(job, result, row, nr, key, at + 1);
        }
    }
    return !has_stray || (nr < 0 && has_done);
}

void answer_rows(struct job *job, const PGresult *result)
{
    int nr = column_of(result, ANSWER_NR);
    int key = column_of(result, ANSWER_KEY);
    int rows[JOB_LOADS_MAX];
    bool is_whole;

    if ((nr < 0 && key < 0) || PQnfields(result) > COLUMNS_MAX) {
        job_fail(job, HG_FAILED_PRECONDITION, "the query's columns have changed");
        return;
    }
    if (nr < 0 && job->kind != HG_KEY_BYTES && job->kind != HG_KEY_KEY_HASH) {
        job_fail(job, HG_FAILED_PRECONDITION,
                 "the query has no column " ANSWER_NR ", which keys of several parts need");
        return;
    }
    is_whole = find_rows(job, result, nr, key, rows);
    for (size_t i = 0; i < job->count; i++) {
        struct job_load *load = &job->loads[i];

        if (load->is_done) {
            continue;
        }
        if (rows[i] >= 0) {
            answer_one(job, load, result, rows[i]);
        } else if (rows[i] == MANY_ROWS) {
            /* Two rows for one key are two answers; to pick one would be to guess who somebody is.
             */
            load->is_done = true;
            job->services->done_error(load->load, HG_FAILED_PRECONDITION,
                                      "the query gave more than one row for one key");
        } else if (!is_whole) {
            load->is_done = true;
            job->services->done_error(load->load, HG_FAILED_PRECONDITION,
                                      "the query gave a row of a key that was not asked for, so "
                                      "that none can be said to be missing");
        } else {
            load->is_done = true;
            job->services->done_absent(load->load, NULL);
        }
    }
}

enum hg_status answer_fault(const PGresult *result, char *ret_sentence, size_t size)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);

    state = state ? state : "?????";
    /* What is wrong with the query itself; other words may quote what was asked for. */
    if (strncmp(state, "42", 2) == 0 || strncmp(state, "28", 2) == 0 ||
        strncmp(state, "3D", 2) == 0) {
        snprintf(ret_sentence, size, "the database says: %.180s", message ? message : state);
        return HG_FAILED_PRECONDITION;
    }
    if (strcmp(state, "57014") == 0) {
        snprintf(ret_sentence, size, "the query took longer than statement_timeout_ms allows");
        return HG_DEADLINE_EXCEEDED;
    }
    snprintf(ret_sentence, size, "the database refuses the query: SQLSTATE %.5s", state);
    /* Connection, resources, an operator's hand, a transaction worth another try. */
    return strncmp(state, "08", 2) == 0 || strncmp(state, "53", 2) == 0 ||
                   strncmp(state, "57", 2) == 0 || strncmp(state, "58", 2) == 0 ||
                   strncmp(state, "40", 2) == 0 || strncmp(state, "55", 2) == 0
               ? HG_UNAVAILABLE
           : strncmp(state, "22", 2) == 0 ? HG_INVALID_ARGUMENT
                                          : HG_INTERNAL;
}
