/* SPDX-License-Identifier: Apache-2.0 */
/* config_secret: what a loader's option says that the file itself does not: ${NAME}, file:/path.
 * Owns:     nothing; texts come from the arena.
 * Threads:  one.
 * Limits:   HGI_SECRET_MAX bytes of a file.
 * Errors:   one sentence (HGI_SENTENCE_MAX bytes) without the value.
 * Not here: other options' ${NAME}, which libconfuse expands, for they are no secrets. */
#ifndef HGI_SERVER_CONFIG_SECRET_H
#define HGI_SERVER_CONFIG_SECRET_H

#include "base/alloc.h"

#define HGI_SECRET_MAX 65536u

struct hgi_secret {
    const char *text;
    const char *shown; /* how the file names it; a ${ of that has HGI_CONFIG_VARIABLE for its $ */
};

/* What file:/path is. */
enum hgi_secret_file {
    HGI_SECRET_IS_TEXT, /* a text like others */
    HGI_SECRET_IS_READ,
    HGI_SECRET_IS_REFUSED,
};

/* `text` as config_text has left it, where variables are known to be set, or have a default. A
 * file's last line end is not part of it; others must not be able to read it. */
HG_NODISCARD bool hgi_secret_read(struct hgi_arena *arena, const char *text,
                                  enum hgi_secret_file file, struct hgi_secret *ret_secret,
                                  char *ret_sentence);

#endif
