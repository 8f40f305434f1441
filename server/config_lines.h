/* SPDX-License-Identifier: Apache-2.0 */
/* config_lines: which line of which file a line of the whole text was.
 * Owns:     the files' names and the lines, until close.
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
};

/* A text of one file with so many lines. */
HG_NODISCARD bool hgi_config_lines_open(struct hgi_config_lines *lines, const char *file,
                                        size_t count);
void hgi_config_lines_close(struct hgi_config_lines *lines);
/* The text now has the `count` lines of `file` between its lines `line` and the rest of `line`,
 * which is a line of its own. HGI_CONFIG_FILES_MAX files at most: false. */
HG_NODISCARD bool hgi_config_lines_insert(struct hgi_config_lines *lines, int line,
                                          const char *file, size_t count);
/* Line 0 is of the first file as a whole. */
struct hgi_config_line hgi_config_lines_at(const struct hgi_config_lines *lines, int line);
/* "FILE:LINE", or "FILE" for line 0. */
void hgi_config_lines_say(const struct hgi_config_lines *lines, int line, char *ret_text,
                          size_t size);
/* How a sentence about `from` points at `line`: "on line 3", or "in FILE:3". */
void hgi_config_lines_refer(const struct hgi_config_lines *lines, int from, int line,
                            char *ret_text, size_t size);

#endif
