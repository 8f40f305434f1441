/* SPDX-License-Identifier: Apache-2.0 */
/* option: what the configuration file may say, one row each.
 * Owns:     the table (options.def), and how a time, a size, a count or a word is written.
 * Threads:  any; the table is constant.
 * Limits:   those in the rows.
 * Errors:   one sentence: what is wrong with the value and what would be right.
 * Not here: the file (config_text), sections (config), rules over two options (config_build). */
#ifndef HGI_SERVER_OPTION_H
#define HGI_SERVER_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "herdgate/attr.h"

enum hgi_option_kind {
    HGI_OPTION_TEXT,
    HGI_OPTION_PATH,            /* absolute */
    HGI_OPTION_PLUGIN,          /* an absolute path, or a name without a slash */
    HGI_OPTION_PATHS,           /* absolute, with ':' between them */
    HGI_OPTION_DIGEST,          /* 64 hexadecimal digits */
    HGI_OPTION_UIDS,            /* user ids, kept as text */
    HGI_OPTION_SETTING,         /* a call: option("name", "value") */
    HGI_OPTION_DURATION,        /* milliseconds, int64_t */
    HGI_OPTION_SIZE,            /* bytes, size_t */
    HGI_OPTION_COUNT,           /* uint32_t */
    HGI_OPTION_BIG_COUNT,       /* size_t */
    HGI_OPTION_PERCENT,         /* uint32_t */
    HGI_OPTION_DURATION_OR_OFF, /* int64_t; off is 0 */
    HGI_OPTION_REFRESH_AHEAD,   /* a percentage, uint32_t; off is 0, xfetch see below */
    /* one of some words, kept as an enum */
    HGI_OPTION_LOG_LEVEL,
    HGI_OPTION_LOG_FORMAT,
    HGI_OPTION_ACCESS,
    HGI_OPTION_SERVICES,
    HGI_OPTION_KEY_TYPE,
    HGI_OPTION_VALUE_TYPE,
    HGI_OPTION_MODE,
    HGI_OPTION_ON_ERROR,
    HGI_OPTION_ON_FENCED,
    HGI_OPTION_HTTP_SERVICES,
    HGI_OPTION_CREDENTIAL_HASH,
    HGI_OPTION_FACTS_FROM,
    HGI_OPTION_AUTHZ_FAIL,
    HGI_OPTION_SWITCH, /* on or off, kept as bool */
};

/* Parsed from refresh_ahead = "xfetch": no percentage, so it is not stored; config_build sets the
 * policy's flag. */
#define HGI_REFRESH_AHEAD_XFETCH INT64_C(-1)

struct hgi_option {
    const char *section; /* "global" for options outside a section */
    const char *name;
    enum hgi_option_kind kind;
    size_t offset;             /* of its field in the section's structure */
    const char *fallback;      /* see options.def */
    const char *fallback_auth; /* NULL: the same */
    const char *low;
    const char *high;
    const char *help;
};

/* text: borrowed from what was parsed. */
struct hgi_option_value {
    int64_t number;
    const char *text;
};

#define HGI_OPTION_SECTION_GLOBAL "global"

size_t hgi_option_count(void);
const struct hgi_option *hgi_option_at(size_t index);
/* NULL: the section has no such option. */
const struct hgi_option *hgi_option_find(const char *section, const char *name);

/* `ret_sentence` (HGI_SENTENCE_MAX bytes) on failure. */
HG_NODISCARD bool hgi_option_parse(const struct hgi_option *option, const char *text,
                                   struct hgi_option_value *ret_value, char *ret_sentence);
/* Stores the value in the field of `section_struct`, as wide as its kind says. */
void hgi_option_store(const struct hgi_option *option, const struct hgi_option_value *value,
                      void *section_struct);

/* "loader" for a name that only another section has; NULL: none has it. */
const char *hgi_option_home(const char *name);

/* May change while the server runs: a reload does it. */
bool hgi_option_is_live(const struct hgi_option *option);

#define HGI_OPTION_SHOWN_MAX 32u
/* What stands in its field of `section_struct`, as a file would say it: a text itself, or written
 * into ret_text (HGI_OPTION_SHOWN_MAX bytes). NULL: nothing does, or it is a list. */
const char *hgi_option_show(const struct hgi_option *option, const void *section_struct,
                            char *ret_text);

/* The word for the value of an enum; NULL: no such value, or none that a file may ask for. */
const char *hgi_option_word(enum hgi_option_kind kind, int value);
/* "share or each", "a, b or c": the words of a kind; empty if it has none. */
void hgi_option_words(enum hgi_option_kind kind, char *ret_list, size_t size);

#endif
