/* SPDX-License-Identifier: Apache-2.0 */
/* config_text: the file's text, made safe to parse.
 * Owns:     the text, and on which line each section begins, until close.
 * Threads:  one.
 * Limits:   HGI_CONFIG_TEXT_MAX bytes, of HGI_CONFIG_FILES_MAX files.
 * Errors:   one sentence with file and line.
 * Not here: what the words mean (config). This looks only at strings, comments and braces.
 *
 * libconfuse takes an unclosed last section, expands an unset ${X} to nothing, counts a line too
 * many for each C comment, keeps a half-read string in static state, and skips characters it does
 * not know. So the text is read through here first: what is wrong in that way is refused, and
 * comments are blanked, which leaves libconfuse with lines it counts right. */
#ifndef HGI_SERVER_CONFIG_TEXT_H
#define HGI_SERVER_CONFIG_TEXT_H

#include "base/alloc.h"
#include "server/config_lines.h"

#define HGI_CONFIG_TEXT_MAX (1024u * 1024u)
/* Stands for the $ of a ${NAME} in the text of a call, which libconfuse then leaves alone: the
 * value may be a secret, so who keeps it must know what it was called. In no file. */
#define HGI_CONFIG_VARIABLE '\x01'

/* One `name {` or `name "title" {` outside any other section. */
struct hgi_section_start {
    struct hg_slice name;
    int line;
};

struct hgi_config_text {
    char *text; /* NUL ended, comments blanked, with what it includes where it says so */
    struct hgi_config_lines lines;
    struct hgi_section_start *starts;
    size_t start_count;
    size_t start_capacity;
};

/* `ret_sentence`: HGI_CONFIG_SENTENCE_MAX bytes. On failure nothing is left open. */
HG_NODISCARD bool hgi_config_text_open(const char *path, bool may_include,
                                       struct hgi_config_text *ret_text, char *ret_sentence);
void hgi_config_text_close(struct hgi_config_text *text);
/* The line on which the `index`-th section of that name begins; 0: there are fewer. */
int hgi_config_text_line(const struct hgi_config_text *text, const char *name, size_t index);

#endif
