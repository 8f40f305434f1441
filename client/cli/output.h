/* SPDX-License-Identifier: Apache-2.0 */
/* output: text for people, JSON for programs.
 * Owns:     a table's cells until deinit.
 * Threads:  one.
 * Limits:   HGI_TABLE_COLUMNS_MAX columns.
 * Errors:   no memory ends the process.
 * Not here: what is printed (the verbs, answer). */
#ifndef HGI_CLI_OUTPUT_H
#define HGI_CLI_OUTPUT_H

#include <jansson.h>
#include <stdio.h>

#include "base/bytes.h"

/* Sets `name`, or where the bytes are not UTF-8 `name`_base64. */
void hgi_json_set_bytes(json_t *object, const char *name, struct hg_slice bytes);
void hgi_json_set_number(json_t *object, const char *name, uint64_t number);
/* One line. Takes the value. */
void hgi_json_print(FILE *file, HG_TAKES json_t *value);

/* Control bytes, backslashes and what is not UTF-8 as \xNN: what a cache holds must not steer a
 * terminal. */
void hgi_print_escaped(FILE *file, struct hg_slice bytes);
bool hgi_is_utf8(struct hg_slice bytes);

#define HGI_TABLE_COLUMNS_MAX 16u
#define HGI_DURATION_MAX      32u

struct hgi_table {
    const char *alignment; /* one letter a column: l or r */
    char **cells;
    size_t count;
    size_t capacity;
};

/* alignment: borrowed, for example "lrr" for three columns. */
void hgi_table_init(struct hgi_table *table, const char *alignment);
/* The next cell, row by row, escaped; cut at 255 bytes. */
void hgi_table_add(struct hgi_table *table, const char *format, ...) HG_PRINTF(2, 3);
/* The same, as long as it is. */
void hgi_table_add_slice(struct hgi_table *table, struct hg_slice text);
/* A whole row of texts: as many as there are columns. */
void hgi_table_add_row(struct hgi_table *table, const char *const *cells);
/* To stdout, or to another file. */
void hgi_table_print(const struct hgi_table *table);
void hgi_table_write(FILE *file, const struct hgi_table *table);
void hgi_table_deinit(struct hgi_table *table);

/* "250ms", "1.5s", "3m", "2h", "4d": ret_text has HGI_DURATION_MAX bytes; returns it. */
const char *hgi_duration_text(uint64_t ms, char *ret_text);
/* "2026-11-30T19:12:40.318Z" of unix milliseconds: ret_text has HGI_DURATION_MAX bytes; returns it.
 */
const char *hgi_instant_text(int64_t unix_ms, char *ret_text);

#endif
