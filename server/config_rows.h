/* SPDX-License-Identifier: Apache-2.0 */
/* config_rows: a configuration as rows of text, each value as a file would say it.
 * Owns:     the rows and their texts, until deinit.
 * Threads:  one.
 * Limits:   none of its own.
 * Errors:   no memory is false.
 * Not here: reading a file (config), doing what has changed (lifecycle_reload).
 *
 * Printed, the rows are a configuration that says all that holds; two lists of them, in order, say
 * what differs. */
#ifndef HGI_SERVER_CONFIG_ROWS_H
#define HGI_SERVER_CONFIG_ROWS_H

#include <stdio.h>

#include "base/alloc.h"
#include "server/config.h"
#include "server/option.h"

struct hgi_config_row {
    const char *section; /* HGI_OPTION_SECTION_GLOBAL: outside of sections */
    const char *title;   /* NULL: it has none */
    const char *option;  /* NULL: that there is such a section */
    const char *name;    /* of an option("name", "value"), else NULL */
    const char *value;   /* NULL with option */
    const char *shown;   /* the same with secrets left out */
    bool is_live;        /* may change while the server runs */
};

struct hgi_config_rows {
    struct hgi_arena arena;
    struct hgi_config_row *rows; /* in the order of options.def and of the file */
    size_t count;
    size_t capacity;
};

enum hgi_config_change { HGI_CONFIG_ADDED, HGI_CONFIG_REMOVED, HGI_CONFIG_CHANGED };

/* Borrows names and titles from the configuration. */
HG_NODISCARD bool hgi_config_rows_init(struct hgi_config_rows *rows,
                                       const struct hgi_config *config);
void hgi_config_rows_deinit(struct hgi_config_rows *rows);
/* Puts both in order. Calls `differs` for each row that only one has, or both with other values; of
 * a section that only one has, for the section and not for what is in it. */
void hgi_config_rows_compare(struct hgi_config_rows *before, struct hgi_config_rows *after,
                             void (*differs)(void *context, const struct hgi_config_row *row,
                                             enum hgi_config_change change),
                             void *context);
/* `cache "auth": ttl`, `limits: idle`, `log_level`, `loader "keys"`. */
void hgi_config_row_name(const struct hgi_config_row *row, char *ret_text, size_t size);

/* All of it as a file that may be read again, without secrets. False: no memory. */
HG_NODISCARD bool hgi_config_print(FILE *out, const struct hgi_config *config);

#endif
