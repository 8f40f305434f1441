/* SPDX-License-Identifier: Apache-2.0 */
/* config_lines: which line of which file a line of the whole text was, or who else said it.
 * Owns:     the files' names, the lines and the others' words, until close.
 * Threads:  one.
 * Limits:   those of the text.
 * Errors:   no memory is false, and nothing has changed.
 * Not here: reading the files (config_text). */
#ifndef HGI_SERVER_CONFIG_LINES_H
#define HGI_SERVER_CONFIG_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "herdgate/attr.h"

#define HGI_CONFIG_FILES_MAX 64u

struct hgi_config_line {
    size_t file;
    int line;
};

struct hgi_config_lines {
    char *files[HGI_CONFIG_FILES_MAX]; /* the first is the one that includes the others */
    size_t file_count;
    struct hgi_config_line *lines; /* of the text, from its first */
    size_t count;
    char **others; /* of who says what no file does; line -1 is the first */
    int other_count;
};

/* A text of one file with so many lines. */
HG_NODISCARD bool hgi_config_lines_open(struct hgi_config_lines *lines, const char *file,
                                        size_t count);
void hgi_config_lines_close(struct hgi_config_lines *lines);
/* The text now has the `count` lines of `file` between its lines `line` and the rest of `line`,
 * which is a line of its own. HGI_CONFIG_FILES_MAX files at most: false. */
HG_NODISCARD bool hgi_config_lines_insert(struct hgi_config_lines *lines, int line,
                                          const char *file, size_t count);
/* For what `other` says ("--set log_level=debug", "HERDGATED_LOG_LEVEL") and no line of the text.
 * *ret_line, below 0, is told in its place. */
HG_NODISCARD bool hgi_config_lines_add(struct hgi_config_lines *lines, const char *other,
                                       int *ret_line);
/* Line 0, and others' lines, are of the first file as a whole. */
struct hgi_config_line hgi_config_lines_at(const struct hgi_config_lines *lines, int line);
/* "FILE:LINE", or "FILE" for line 0, or who else says it. */
void hgi_config_lines_say(const struct hgi_config_lines *lines, int line, char *ret_text,
                          size_t size);
/* How a sentence about `from` points at `line`: "on line 3", "in FILE:3", "by OTHER". */
void hgi_config_lines_refer(const struct hgi_config_lines *lines, int from, int line,
                            char *ret_text, size_t size);

#endif
