/* SPDX-License-Identifier: Apache-2.0 */
/* row: one row of a query, and what it says of a key.
 * Owns:     copies of the row's values, until release.
 * Threads:  one at a time.
 * Limits:   ROW_COLUMNS_MAX columns.
 * Errors:   a row that cannot be an answer ends its load with one sentence.
 * Not here: finding the row (sqlite). */
#ifndef HG_LOADERS_SQLITE_ROW_H
#define HG_LOADERS_SQLITE_ROW_H

#include <sqlite3.h>

#include "loaders/kit/columns.h"

#define ROW_COLUMNS_MAX COLUMNS_MAX

struct row {
    const char *option; /* of the query, for sentences */
    sqlite3_stmt *statement;
    int column_count;
    sqlite3_value *values[ROW_COLUMNS_MAX];
};

/* Copies the row the statement stands on; names are read from the statement later. */
HG_NODISCARD bool row_take(struct row *row, sqlite3_stmt *statement, const char *option);
void row_release(struct row *row);
/* Completes the load. A row with the etag of the old value is that value, unchanged. */
void row_answer(const struct row *row, const struct hg_host_services *services,
                struct hg_load *load, const struct hg_load_request *request);

#endif
