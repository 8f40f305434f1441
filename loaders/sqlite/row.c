/* SPDX-License-Identifier: Apache-2.0 */
#include "row.h"

bool row_take(struct row *row, sqlite3_stmt *statement, const char *option)
{
    memset(row, 0, sizeof(*row));
    row->option = option;
    row->statement = statement;
    for (int i = 0; i < sqlite3_column_count(statement) && i < ROW_COLUMNS_MAX; i++) {
        row->values[i] = sqlite3_value_dup(sqlite3_column_value(statement, i));
        if (!row->values[i]) {
            row_release(row);
            return false;
        }
        row->column_count++;
    }
    return true;
}

void row_release(struct row *row)
{
    for (int i = 0; i < row->column_count; i++) {
        sqlite3_value_free(row->values[i]);
    }
    row->column_count = 0;
}

static struct hg_slice value_slice(sqlite3_value *value)
{
    const void *data = sqlite3_value_type(value) == SQLITE_BLOB ? sqlite3_value_blob(value)
                                                                : sqlite3_value_text(value);

    return hg_slice_of(data, data ? (size_t)sqlite3_value_bytes(value) : 0);
}

static void fill_column(const struct row *row, int i, struct column *ret_column)
{
    sqlite3_value *value = row->values[i];
    int type = sqlite3_value_type(value);

    *ret_column = (struct column){.name = sqlite3_column_name(row->statement, i)};
    if (!ret_column->name) {
        ret_column->name = ""; /* out of memory, and a name nobody asks for */
    }
    if (type == SQLITE_NULL) {
        return;
    }
    ret_column->kind = type == SQLITE_BLOB   ? COLUMN_BLOB
                       : type == SQLITE_TEXT ? COLUMN_TEXT
                                             : COLUMN_NUMBER;
    ret_column->number = sqlite3_value_double(value); /* before it becomes text */
    ret_column->bytes = value_slice(value);
}

void row_answer(const struct row *row, const struct hg_host_services *services,
                struct hg_load *load, const struct hg_load_request *request)
{
    struct columns columns = {.option = row->option, .count = (size_t)row->column_count};

    for (int i = 0; i < row->column_count; i++) {
        fill_column(row, i, &columns.columns[i]);
    }
    columns_answer(&columns, services, load, request);
}
