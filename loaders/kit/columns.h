/* SPDX-License-Identifier: Apache-2.0 */
/* columns: what the named columns of a row say of a key, for plugins that ask databases.
 * Owns:     nothing; names and values are borrowed for the call.
 * Threads:  any.
 * Limits:   COLUMNS_MAX columns.
 * Errors:   columns that are no answer end the load with one sentence.
 * Not here: rows of one database or another (the plugins). README.md of each says what the columns
 *           mean. */
#ifndef HG_LOADERS_KIT_COLUMNS_H
#define HG_LOADERS_KIT_COLUMNS_H

#include "herdgate/loader.h"

#define COLUMNS_MAX 64

enum column_kind { COLUMN_NULL, COLUMN_NUMBER, COLUMN_TEXT, COLUMN_BLOB };

struct column {
    const char *name;
    enum column_kind kind;
    struct hg_slice bytes; /* of all but NULL; a number as text */
    double number;
};

struct columns {
    const char *option;        /* of the query, for sentences */
    const char *const *beside; /* columns that are no attributes either, NULL at the end; or NULL */
    size_t count;
    struct column columns[COLUMNS_MAX];
};

/* NULL: there is none of this name, in whatever letters. */
const struct column *columns_find(const struct columns *columns, const char *name);
/* Completes the load. With the etag of the old value they are that value, unchanged. */
void columns_answer(const struct columns *columns, const struct hg_host_services *services,
                    struct hg_load *load, const struct hg_load_request *request);

#endif
